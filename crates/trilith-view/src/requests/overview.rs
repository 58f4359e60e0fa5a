//! Facts about the files: names, kinds, blocks, and the result of verifying them.

use serde_json::{Value, json};
use trilith::bytes::display_name;
use trilith::check::VerifyDepth;
use trilith::dudley::LayoutOrigin;
use trilith::file::ArrayEntry;
use trilith::{File, Result};
use trilith_io::suggest::hex;

use super::items::datatype_text;
use super::{ViewerRequest, ViewerSession};

/// `files`: the names, and what can be chosen.
pub(super) fn answer_files(session: &ViewerSession, request: &ViewerRequest) -> Result<Value> {
    let (offset, limit) = request.page_offset_limit(1000, 10_000)?;
    let first = usize::try_from(offset).unwrap_or(usize::MAX);
    let last = first.saturating_add(usize::try_from(limit).unwrap_or(usize::MAX)).min(session.len());
    let name = |index: usize| {
        session.name_and_place(index).map(|(name, place)| json!({"index": index, "name": name, "place": display_name(&place)}))
    };
    let files: Vec<Value> = (first..last).filter_map(name).collect();
    Ok(json!({
        "files": files, "count": session.len(), "version": env!("CARGO_PKG_VERSION"),
        "choices": super::picture::list_choices(),
    }))
}

/// `file`: what a file is.
pub(super) fn answer_file(session: &ViewerSession, request: &ViewerRequest) -> Result<Value> {
    let opened = session.requested_file(request)?;
    let file = &opened.file;
    let mut said = json!({
        "family": file.family(), "format": file.format(), "container": null, "size": file.source().len(), "warnings": file.warnings(), "image": file.image().ok().flatten(),
        "name": session.name_and_place(request.number_parameter("file")?.unwrap_or(0)).map(|(name, _)| name),
    });
    let is_fits = file.as_asdf().is_some_and(|asdf| asdf.container().is_some());
    let is_derived = file.as_dudley().is_some_and(|stream| matches!(stream.origin(), LayoutOrigin::Derived(_)));
    let text = match (file.family(), is_derived) {
        ("fits", _) => "Headers as a tree",
        (_, true) => "Derived layout",
        _ => "Source",
    };
    said["names"] = json!({"header": if is_fits { "Header" } else { "Attributes" }, "source": text});
    if let (Some(asdf), Some(object)) = (file.as_asdf(), said.as_object_mut()) {
        let sections = asdf.sections();
        if let Some(container) = asdf.container() {
            // The size is that of the outer file.
            object.insert("size".to_owned(), json!(asdf.size()));
            object.insert("container".to_owned(), json!((container.hdu > 0).then_some("FITS")));
        }
        if file.family() == "fits" {
            return Ok(said);
        }
        object.insert("generation".to_owned(), json!(sections.generation_name()));
        object.insert("header".to_owned(), json!(sections.header().line));
        object.insert("standard".to_owned(), json!(asdf.standard()));
        object.insert("blocks".to_owned(), json!(sections.blocks().map(|blocks| blocks.len()).ok()));
    }
    Ok(said)
}

/// `blocks`: the stored pieces of a file of the ASDF family, or the arrays of any other, a page of them.
pub(super) fn answer_blocks(session: &ViewerSession, request: &ViewerRequest) -> Result<Value> {
    let (offset, limit) = request.page_offset_limit(500, 5000)?;
    let (skip, take) = (usize::try_from(offset).unwrap_or(usize::MAX), usize::try_from(limit).unwrap_or(usize::MAX));
    let opened = session.requested_file(request)?;
    let Some(asdf) = opened.file.as_asdf() else { return list_arrays(&opened.file, skip, take) };
    let base = asdf.container().map_or(0, |container| container.offset);
    let blocks = asdf.sections().blocks()?;
    let rows: Vec<Value> = blocks
        .iter()
        .skip(skip)
        .take(take)
        .map(|block| {
            let chain = asdf.encoding_names(block).map(|chain| chain.join("+"));
            json!([
                block.index,
                base.saturating_add(block.offset),
                chain.unwrap_or_else(|| trilith::asdf::codec_name(block)),
                block.used,
                block.data_size,
                block.allocated,
                block.checksum.as_deref().map(hex),
            ])
        })
        .collect();
    let columns = ["block", "byte", "codec", "used", "data", "allocated", "checksum"];
    Ok(json!({"count": blocks.len(), "offset": offset, "columns": columns, "rows": rows}))
}

fn list_arrays(file: &File, skip: usize, take: usize) -> Result<Value> {
    let all = file.arrays()?;
    let row = |entry: &ArrayEntry<'_>| match entry.item.as_ref().ok().and_then(|item| item.describe().ok()) {
        Some(found) => {
            json!([
                entry.path,
                found.offset,
                datatype_text(&found.datatype),
                format!("{:?}", found.shape),
                found.nbytes,
                found.storage
            ])
        }
        None => json!([entry.path, null, null, null, null, "cannot be read"]),
    };
    let rows: Vec<Value> = all.iter().skip(skip).take(take).map(row).collect();
    let columns = ["item", "byte", "datatype", "shape", "bytes", "stored"];
    Ok(json!({"count": all.len(), "offset": skip, "columns": columns, "rows": rows}))
}

/// `verify`: checksums and structure; with `deep=1` every array is decoded.
pub(super) fn answer_verify(session: &ViewerSession, request: &ViewerRequest) -> Result<Value> {
    let opened = session.requested_file(request)?;
    let depth = if request.is_parameter_set("deep") { VerifyDepth::Decoded } else { VerifyDepth::Structure };
    let report = opened.file.verify(depth, trilith::Progress::default())?;
    let checked = report.blocks.iter().filter(|block| block.checksum_of.is_some()).count();
    Ok(json!({
        "valid": report.is_ok(), "blocks": report.blocks.len(), "checked": checked, "problems": report.problems(),
        "warnings": report.warnings,
    }))
}
