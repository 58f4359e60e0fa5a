//! Output of `info` and `blocks` for a file of the ASDF family.

use serde_json::{Value, json};
use trilith_io::suggest::hex;
use trilith::Result;
use trilith::asdf::{AsdfFile, Block, FitsContainer};
use trilith::file::hdu_summaries;

use crate::json::codec_json;
use crate::session::Session;
use crate::output::{Output, TextTable, display_size};

/// Returns `true` for a FITS file without an ASDF file in it, which is shown as a list of its HDUs.
fn is_fits_without_asdf(file: &AsdfFile) -> bool {
    // HDU 0 never holds an ASDF file.
    file.container().is_some_and(|container| container.hdu == 0)
}

/// The facts as JSON.
pub(crate) fn info_json(name: &str, file: &AsdfFile) -> Result<Value> {
    let sections = file.sections();
    if is_fits_without_asdf(file) {
        let count = file.tree().node_at_pointer("/fits").map_or(0, |list| list.len());
        return Ok(json!({
            "file": name, "family": "fits", "generation": "fits", "header": null, "standard": null, "comments": [],
            "container": null, "tree": null, "blocks": [],
            "block_index": {"present": false, "valid": null, "problem": null}, "hdus": count,
            "hdu_list": hdu_summaries(file).map(|hdu| json!({
                "number": hdu.number, "kind": hdu.kind, "name": hdu.name, "version": hdu.version, "cards": hdu.cards,
                "bitpix": hdu.bitpix, "compression": hdu.compression, "axes": hdu.axes,
            })).collect::<Vec<_>>(),
            "size": file.size(),
        }));
    }
    let base = file.container().map_or(0, |container| container.offset);
    let mut blocks = Vec::new();
    for block in sections.blocks()? {
        blocks.push(block_json(file, block, base));
    }
    let tree = sections
        .tree()
        .map(|tree| json!({"offset": base + tree.start, "length": tree.end - tree.start, "padding": sections.padding()}));
    let index = sections.index_report();
    Ok(json!({
        "file": name,
        "family": sections.generation().map_or("asdf", |g| g.family),
        "generation": sections.generation_name(),
        "header": sections.header().line,
        "standard": sections.header().standard(),
        "comments": sections.header().comments,
        "container": file.container().map(|FitsContainer { hdu, offset, .. }| json!({"kind": "fits", "hdu": hdu, "offset": offset})),
        "tree": tree,
        "blocks": blocks,
        "block_index": {"present": index.present, "valid": index.valid, "problem": index.problem},
        "size": file.size(),
    }))
}

/// Returns a block as JSON; offsets count from the start of the outer file.
pub(crate) fn block_json(file: &AsdfFile, block: &Block, base: u64) -> Value {
    let mut value = json!({
        "index": block.index,
        "offset": base + block.offset,
        "header_size": block.header_size,
        "data_offset": base + block.data_offset,
        "flags": block.flags,
        "compression": codec_json(block.compression),
        "encoding": file.encoding_names(block),
        "allocated": block.allocated,
        "used": block.used,
        "data_size": block.data_size,
        "checksum": block.checksum.as_deref().map(hex),
    });
    if let Some(stored) = block.stored_size {
        (value["streamed"], value["stored_size"]) = (json!(true), json!(stored));
    }
    value
}

/// Prints the facts and the first blocks as text.
pub(crate) fn print_asdf_info(out: &mut Output, name: &str, file: &AsdfFile, session: &Session<'_>) -> Result<()> {
    let sections = file.sections();
    if is_fits_without_asdf(file) {
        let list = file.tree().node_at_pointer("/fits");
        out.name_value_lines([("file", name), ("kind", "FITS"), ("size", &display_size(file.size()))])?;
        out.name_value_lines([("HDUs", list.map_or(0, |list| list.len()))])?;
        out.write_line("")?;
        let mut table = TextTable::new(&[">HDU", "kind", "name", ">version", ">cards", "data", "axes"]);
        for hdu in hdu_summaries(file) {
            table.push_row(vec![
                hdu.number.to_string(),
                hdu.kind,
                hdu.name.unwrap_or_default(),
                hdu.version.map_or_else(String::new, |version| version.to_string()),
                hdu.cards.to_string(),
                match (hdu.bitpix, hdu.compression) {
                    (Some(bitpix), Some(compression)) => format!("{bitpix}, {compression}"),
                    (bitpix, _) => bitpix.unwrap_or_default(),
                },
                hdu.axes.iter().map(u64::to_string).collect::<Vec<_>>().join(" x "),
            ]);
        }
        return table.print(out);
    }
    let base = file.container().map_or(0, |container| container.offset);
    let mut facts = vec![("file", name.to_owned()), ("generation", sections.generation_name().to_owned())];
    facts.push(("header", sections.header().line.clone()));
    if let Some(standard) = sections.header().standard() {
        facts.push(("standard", standard.to_owned()));
    }
    if let Some(row) = sections.generation().filter(|_| session.args.verbose > 0) {
        facts.push(("written", row.written.to_owned()));
    }
    if let Some(container) = file.container() {
        facts.push(("inside", format!("FITS, HDU {} (byte {})", container.hdu, container.offset)));
    }
    facts.push(("size", display_size(file.size())));
    facts.push(match sections.tree() {
        Some(tree) => {
            let padding = match sections.padding() {
                0 => String::new(),
                n => format!(", then {} unused", display_size(n)),
            };
            ("tree", format!("{} at byte {}{padding}", display_size(tree.end - tree.start), base + tree.start))
        }
        None => ("tree", "none".to_owned()),
    });
    let blocks = sections.blocks()?;
    let decoded: u64 = blocks.iter().fold(0, |sum, b| sum.saturating_add(b.decoded_len()));
    let stored: u64 = blocks.iter().fold(0, |sum, b| sum.saturating_add(b.stored_len()));
    facts.push((
        "blocks",
        match blocks.len() {
            0 => "none".to_owned(),
            n if decoded == stored => format!("{n}, {}", display_size(stored)),
            n => format!("{n}, {} stored, {} decoded", display_size(stored), display_size(decoded)),
        },
    ));
    let index = sections.index_report();
    facts.push((
        "block index",
        match (index.present, index.problem) {
            (false, _) => "none".to_owned(),
            (true, None) => "valid".to_owned(),
            (true, Some(problem)) => format!("invalid: {problem}"),
        },
    ));
    out.name_value_lines(facts)?;
    if !blocks.is_empty() {
        out.write_line("")?;
        block_table(file, &blocks, if session.args.verbose > 0 { usize::MAX } else { 20 }).print(out)?;
        if blocks.len() > 20 && session.args.verbose == 0 {
            out.write_line(&format!("... and {} more (trilith info --blocks lists them all)", blocks.len() - 20))?;
        }
    }
    Ok(())
}

/// The blocks as aligned text, at most `most` of them.
pub(crate) fn block_table(file: &AsdfFile, blocks: &[&Block], most: usize) -> TextTable {
    let base = file.container().map_or(0, |container| container.offset);
    let mut table = TextTable::new(&[">block", ">byte", "codec", ">stored", ">decoded", ">ratio", "checksum"]);
    for block in blocks.iter().take(most) {
        let (stored, decoded) = (block.stored_len(), block.decoded_len());
        let codec = match file.encoding_names(block) {
            Some(chain) => chain.join("+"),
            None if block.is_streamed() => "streamed".to_owned(),
            None => codec_json(block.compression).as_str().unwrap_or("-").to_owned(),
        };
        let ratio =
            if block.is_uncompressed() || stored == 0 { String::new() } else { format!("{:.2}", decoded as f64 / stored as f64) };
        let checksum = block.checksum.as_deref().map_or("-".to_owned(), |sum| hex(&sum[..sum.len().min(4)]) + "…");
        table.push_row(vec![block.index.to_string(), (base + block.offset).to_string(), codec, display_size(stored), display_size(decoded), ratio, checksum]);
    }
    table
}
