//! Deviations of a file from its standard that every lenient program can read.
//!
//! ASDF 1.x, 0.1.0 and FINF 0.1.0, "Header", "Tree" and "Block header". Opening ignores these; checking reports
//! them.

use super::asdf_file::AsdfFile;
use super::block::Block;
use super::block_magic::mark_at;
use super::generation::tag_parts;
use crate::error::Result;

/// Returns the deviations from the standard, in words.
///
/// ```
/// use trilith::asdf::deviations;
/// let file = trilith::open_asdf_bytes(b"#ASDF 1.0\n%YAML 1.1\n--- {}\n...\n".to_vec())?;
/// assert!(deviations(&file)?[0].contains("expected three numbers"));
/// # Ok::<(), trilith::Error>(())
/// ```
///
/// # Errors
/// Returns the errors of [`AsdfSections::blocks`](super::AsdfSections::blocks).
pub fn find_deviations(file: &AsdfFile) -> Result<Vec<String>> {
    let sections = file.sections();
    let header = sections.header();
    let mut found = Vec::new();
    if !header.is_exact() {
        let reason = header.semantic_problem().map_or_else(String::new, |reason| format!(": {reason}"));
        let line = &header.line;
        found.push(format!("the header line is {line:?}{reason}, expected three numbers after one space, as in \"#ASDF 1.0.0\""));
    }
    if let (None, Some(first)) = (sections.tree(), sections.first_block())
        && first > header.end
    {
        let bytes = first - header.end;
        found
            .push(format!("{bytes} unused bytes before the first block: in a file without a tree it follows the header at once"));
    }
    let blocks = sections.blocks()?;
    let foreign = |block: &&&Block| {
        let row = block.generation;
        mark_at(&**sections.source(), block.offset).is_ok_and(|mark| mark != row.magic && mark != row.magic_documented)
    };
    let marked: Vec<&&Block> = blocks.iter().filter(foreign).collect();
    if let Some(which) = block_list(&marked) {
        let what = "the mark 89 42 4c 4b of older documents, expected d3 42 4c 4b: other programs find no block there";
        found.push(format!("{which}: {what}"));
    }
    let flagged: Vec<&&Block> = blocks.iter().filter(|block| block.unknown_flags() != 0).collect();
    if let (Some(which), Some(first)) = (block_list(&flagged), flagged.first()) {
        let (unknown, name) = (first.unknown_flags(), first.generation.name);
        found.push(format!("{which}: the flags {unknown:#x} are not defined in {name}, so their meaning is unknown"));
    }
    for (node, _) in super::walk::ndarrays_with_source(file)? {
        if let Some(assumption) = super::ndarray::find_assumption(node, file.limits()) {
            let (line, _) = node.line_column();
            found.push(format!("the array at line {line} has {assumption}"));
        }
    }
    for (node, _) in super::walk::ndarrays_with_source(file)? {
        if let Some((uri, character)) = super::uris::find_non_uri_source(node) {
            let (line, _) = node.line_column();
            let what = format!("the source {uri:?} of the array at line {line} has the character {character:?}");
            found.push(format!("{what}, which is written with % in a URI"));
        }
    }
    let described = file.tree().tagged(super::ndarray::is_ndarray_tag);
    for node in described.filter(|node| node.is_mapping() && !super::ndarray::is_chunked(*node)) {
        if let Some((key, near)) = super::ndarray::find_misspelt_key(node) {
            let (line, _) = node.line_column();
            found.push(format!("the array at line {line} has the key {key}, which means nothing: did you mean {near}?"));
        }
    }
    for node in file.tree().tagged(super::required_keys::needs_keys) {
        if let Some((key, near)) = super::required_keys::find_misspelt_key(node) {
            let (line, _) = node.line_column();
            found.push(format!("line {line} has the key {key}, which means nothing: did you mean {near}?"));
        }
    }
    Ok(found)
}

/// Returns the problem with the tag of the root, which "must always be" that of `core/asdf` (0.1.0dev, 3.1 "Tags").
pub(crate) fn root_deviations(file: &AsdfFile) -> Option<String> {
    file.sections().tree()?;
    let tag = file.tree().root().tag();
    if tag.and_then(tag_parts).is_some_and(|(name, _)| name == "core/asdf") {
        return None;
    }
    let dialect = &file.sections().header().candidate_generations.last()?.tree;
    let found = tag.map_or_else(|| "no tag".to_owned(), |tag| format!("the tag {tag}"));
    Some(format!("the root has {found}, expected {}{}", dialect.prefix, dialect.root))
}

/// `block 3`, or `block 3 and 5 others`.
fn block_list(blocks: &[&&Block]) -> Option<String> {
    let first = blocks.first()?;
    Some(match blocks.len() {
        1 => format!("block {}", first.index),
        n => format!("block {} and {} others", first.index, n - 1),
    })
}
