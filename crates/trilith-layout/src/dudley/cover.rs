//! Signs that the end of a native file is missing. The format has no mark for the end of a layout, so a file that was cut
//! within it may read as one with fewer items.

use super::dudley_file::DudleyFile;
use super::signature::Signature;
use crate::bytes::read_vec;
use crate::error::Result;

/// Items begin at most at multiples of this, so that shorter gaps between them are padding.
const ALIGNMENT: u64 = 16;

/// Start of the layouts that this library writes.
pub const LAYOUT_START: &str = "#: dialect=";

/// Returns the number of lines that end a dict.
fn count_dict_ends(text: &str) -> usize {
    text.lines().filter(|line| line.trim() == "..").count()
}

impl DudleyFile {
    /// Returns the signs that a file was cut: bytes that belong to no item, a layout that does not end with a line break, and one
    /// that leaves a dict open. A complete file that Trilith wrote has none of them, but files of other programs may. `layout_at`
    /// is the byte offset of the layout, if it is in the file.
    ///
    /// If the cut is exactly after a line, and only attributes and arrays without elements followed it at the root, the file has
    /// no sign of it.
    ///
    /// # Errors
    /// Returns the errors of [`DudleyFile::locate_items`] and of reading.
    pub fn signs_of_a_cut(&self, layout_at: Option<u64>) -> Result<Vec<String>> {
        let len = self.source().len();
        let mut found: Vec<String> = self.describe_uncovered_bytes(layout_at.unwrap_or(len))?.into_iter().collect();
        if let Some(at) = layout_at.filter(|at| *at < len)
            && read_vec(&**self.source(), len - 1, 1, self.limits())? != b"\n"
        {
            found.push(format!(
                "the layout at byte {at} does not end with a line break, so that the end of the file may be missing"
            ));
        }
        if let Some(at) = layout_at {
            let text = self.layout().text();
            // The grammar lets the end of the text close dicts, but Trilith prints each end.
            let open = if text.starts_with(LAYOUT_START) {
                count_dict_ends(&self.layout().print()).saturating_sub(count_dict_ends(text))
            } else {
                0
            };
            if open > 0 {
                let dicts = if open == 1 { "a dict".to_owned() } else { format!("{open} dicts") };
                found.push(format!("the layout at byte {at} ends within {dicts}, so that the end of the file may be missing"));
            }
        }
        Ok(found)
    }

    /// Describes the bytes up to `end` that belong to no item, if there are any. Padding between items does not count.
    ///
    /// # Errors
    /// Returns the errors of [`DudleyFile::locate_items`].
    fn describe_uncovered_bytes(&self, end: u64) -> Result<Option<String>> {
        if self.has_grids() {
            return Ok(None);
        }
        let items = self.locate_items()?;
        let mut spans = Vec::new();
        for entry in items.entries() {
            let entry = entry?;
            if let Some((at, size)) = entry.address.and_then(|at| at.checked_add(self.base_offset())).zip(entry.nbytes) {
                spans.push((at, at.saturating_add(size)));
            }
        }
        spans.sort_unstable();
        let total = items.evaluation().total().and_then(|total| total.checked_add(self.base_offset())).unwrap_or(end);
        let (mut covered, mut first, mut count) = (Signature::SIGNATURE_LEN, None, 0u64);
        for (from, to) in spans.into_iter().chain([(total.min(end), total.min(end))]) {
            let gap = from.min(end).saturating_sub(covered);
            if gap >= ALIGNMENT {
                first.get_or_insert(covered);
                count = count.saturating_add(gap);
            }
            covered = covered.max(to);
        }
        // No padding precedes the layout, so every gap before it counts.
        let rest = end.saturating_sub(covered);
        if rest > 0 {
            first.get_or_insert(covered);
            count = count.saturating_add(rest);
        }
        Ok(first.map(|first| format!("{count} bytes belong to no item, from byte {first} on")))
    }
}
