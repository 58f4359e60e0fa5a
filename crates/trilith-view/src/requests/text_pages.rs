//! The text of a file with line numbers, and long strings of the tree: by pages, so that megabytes of it stay
//! fluid.

use std::sync::Arc;

use serde_json::{Value, json};
use trilith::bytes::read_vec;
use trilith::{Error, File, Result};

use super::session::lock;
use super::{OpenFile, ViewerRequest, ViewerSession};

/// Maximum number of bytes of one line that are shown.
const MAX_LINE_BYTES: usize = 4000;
/// Maximum number of lines in one answer.
const MAX_LINES: u64 = 2000;

/// A text, and where its lines begin.
pub(super) struct LineIndex {
    text: String,
    starts: Vec<u32>,
    name: &'static str,
}

impl LineIndex {
    fn new(bytes: Vec<u8>, what: &'static str) -> Self {
        let text = String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
        let mut starts = vec![0];
        starts
            .extend(text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').filter_map(|(at, _)| u32::try_from(at + 1).ok()));
        // The text after the last line break is a line only if there is something.
        if starts.last().is_some_and(|last| *last as usize == text.len()) && starts.len() > 1 {
            starts.pop();
        }
        Self { text, starts, name: what }
    }

    fn line_text(&self, number: usize) -> Option<String> {
        let start = *self.starts.get(number)? as usize;
        let end = self.starts.get(number + 1).map_or(self.text.len(), |end| *end as usize);
        let line = self.text.get(start..end)?.trim_end_matches(['\n', '\r']);
        let cut = (0..=MAX_LINE_BYTES.min(line.len())).rev().find(|end| line.is_char_boundary(*end)).unwrap_or(0);
        Some(if cut < line.len() { format!("{} …", line.get(..cut).unwrap_or("")) } else { line.to_owned() })
    }

    fn page_as_json(&self, offset: u64, limit: u64) -> Value {
        let first = usize::try_from(offset).unwrap_or(usize::MAX);
        let last = first.saturating_add(usize::try_from(limit).unwrap_or(usize::MAX)).min(self.starts.len());
        let lines: Vec<String> = (first..last).filter_map(|number| self.line_text(number)).collect();
        json!({"what": self.name, "count": self.starts.len(), "offset": offset, "lines": lines})
    }
}

/// `lines`: the text of the file, lines counted from 0.
pub(super) fn answer_lines(session: &ViewerSession, request: &ViewerRequest) -> Result<Value> {
    let (offset, limit) = request.page_offset_limit(200, MAX_LINES)?;
    let opened = session.requested_file(request)?;
    Ok(text_of(&opened)?.page_as_json(offset, limit))
}

/// The text of a file: header and tree, or the layout.
fn text_of(opened: &OpenFile) -> Result<Arc<LineIndex>> {
    if let Some(known) = lock(&opened.lines).as_ref() {
        return Ok(known.clone());
    }
    let made = Arc::new(read_text(&opened.file)?);
    *lock(&opened.lines) = Some(made.clone());
    Ok(made)
}

fn read_text(file: &File) -> Result<LineIndex> {
    if let Some(asdf) = file.as_asdf() {
        let sections = asdf.sections();
        if asdf.container().is_some_and(|container| container.hdu == 0) {
            return Ok(LineIndex::new(asdf.tree().text().as_bytes().to_vec(), "the headers of the FITS file, as a tree"));
        }
        let end = sections.tree().map_or(sections.header().end, |tree| tree.end);
        let limits = file.limits();
        if end > limits.text {
            return Err(trilith::Limits::exceeded_error("text", limits.text, format_args!("the tree has {end} bytes")));
        }
        return Ok(LineIndex::new(read_vec(&**sections.source(), 0, end, limits)?, "header and tree"));
    }
    if let Some(stream) = file.as_dudley() {
        if stream.is_foreign() {
            let listed = stream.with_listed_chunks()?;
            return Ok(LineIndex::new(listed.layout().text().as_bytes().to_vec(), "layout"));
        }
        return Ok(LineIndex::new(stream.layout().text().as_bytes().to_vec(), "layout"));
    }
    Err(Error::unsupported(format!("a {} file has no text", file.family())))
}

/// `text`: a text of the tree by its lines.
pub(super) fn answer_text(session: &ViewerSession, request: &ViewerRequest) -> Result<Value> {
    let (offset, limit) = request.page_offset_limit(200, MAX_LINES)?;
    let opened = session.requested_file(request)?;
    let item = opened.file.item(request.text_parameter("path"))?;
    let text = item.text()?;
    Ok(LineIndex::new(text.as_bytes().to_vec(), "text").page_as_json(offset, limit))
}
