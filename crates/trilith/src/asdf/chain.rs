//! Encoding chains as a file states them: the YAML in front of the data, or the codes of the branch.
//!
//! ASDF 0.1.0, "Block encoding"; generation E0 wrote one ASCII code a step into the block header.

use memchr::memmem;

use super::block::Block;
use super::ndarray::Ndarray;
use crate::bytes::{Source, SourceRef, read_vec};
use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::tree::{Node, Origin, Tree};

/// Longest YAML of a chain that is looked at.
const LONGEST: u64 = 1 << 20;

/// One step: its name and its arguments.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Stated {
    /// `tile`, `quantize`, `zlib`, …
    pub name: String,
    /// Numbers and lists of numbers by name.
    pub arguments: Vec<(String, Vec<u64>)>,
}

/// The steps of a block, in the order of encoding, and where its data begin.
///
/// # Errors
/// [`Kind::Malformed`](crate::Kind::Malformed) where the YAML is broken.
pub fn read(block: &Block, stored: &dyn Source, limits: &Limits) -> Result<(Vec<Stated>, u64)> {
    if !block.is_encoded() {
        let named = block.codes.iter().take_while(|code| **code != 0).map(|code| {
            let name = match code {
                b'z' => "zlib".to_owned(),
                b's' => "sparse".to_owned(),
                other => (*other as char).escape_default().to_string(),
            };
            Stated { name, arguments: Vec::new() }
        });
        return Ok((named.collect(), 0));
    }
    let text = read_vec(stored, 0, stored.len().min(LONGEST), limits)?;
    let end = find_end(&text)
        .ok_or_else(|| Error::malformed("the YAML of the encoding chain has no end marker (...)").at_byte(block.data_offset))?;
    let tree = Tree::parse_bytes(text[..end].to_vec(), Origin { byte: block.data_offset, line: 1 }, limits)
        .map_err(|e| e.context("the encoding chain"))?;
    let root = tree.root();
    if !root.is_sequence() {
        return Err(Error::malformed("the encoding chain is no list").at_byte(block.data_offset));
    }
    let steps = root.items().map(step).collect::<Result<Vec<_>>>().map_err(|e| e.context("the encoding chain"))?;
    Ok((steps, end as u64))
}

/// The byte behind the line of the end marker.
fn find_end(text: &[u8]) -> Option<usize> {
    memmem::find_iter(text, b"\n...").find_map(|at| match text.get(at + 4..)? {
        [b'\n', ..] => Some(at + 5),
        [b'\r', b'\n', ..] => Some(at + 6),
        [] => Some(text.len()),
        _ => None,
    })
}

/// A name, or a pair of name and arguments.
fn step(node: Node<'_>) -> Result<Stated> {
    if node.is_scalar() {
        return Ok(Stated { name: node.text().into_owned(), arguments: Vec::new() });
    }
    let mut items = node.items();
    let name =
        items.next().filter(|n| n.is_scalar()).ok_or_else(|| node.error("a step is a name, or a name and its arguments"))?;
    let mut arguments = Vec::new();
    if let Some(given) = items.next() {
        for (key, value) in given.entries() {
            let numbers = if value.is_sequence() {
                value.items().map(Node::as_u64).collect()
            } else {
                Some(value.as_u64().into_iter().collect())
            };
            let numbers: Option<Vec<u64>> = numbers;
            arguments.push((key.text().into_owned(), numbers.unwrap_or_default()));
        }
    }
    Ok(Stated { name: name.text().into_owned(), arguments })
}

/// The names of the steps; None for a block without a chain or with one that cannot be read.
pub fn names(block: &Block, source: &SourceRef, limits: &Limits) -> Option<Vec<String>> {
    if !block.is_encoded() && block.codes == [0; 16] {
        return None;
    }
    let stored = block.stored(source).ok()?;
    let (steps, _) = read(block, &*stored, limits).ok()?;
    Some(steps.into_iter().map(|step| step.name).collect())
}

/// The decoded bytes of a block with a chain.
///
/// # Errors
/// [`Kind::Unsupported`](crate::Kind::Unsupported) naming the first step that is unknown.
pub fn decoder(block: &Block, stored: SourceRef, array: Option<&Ndarray<'_>>, limits: &Limits) -> Result<SourceRef> {
    let (steps, _) = read(block, &*stored, limits)?;
    let _ = array;
    let names: Vec<_> = steps.into_iter().map(|s| s.name).collect();
    Err(Error::unsupported(format!("the encoding chain [{}]", names.join(", "))))
}
