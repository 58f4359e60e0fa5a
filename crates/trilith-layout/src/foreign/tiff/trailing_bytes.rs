//! The parts of a TIFF file that no image is made of, and that no tag holds.

use super::ifd::{Ifd, TiffFile, Values};
use super::{Page, id};
use crate::bytes::{AccessCost, read_vec};
use crate::error::Result;

/// Tags that lead to directories which are not read, with the names of these.
const OTHER_DIRECTORIES: &[(u64, &str)] = &[(34665, "EXIF"), (34853, "GPS")];
/// Strips and tiles of a directory whose ends are looked at; of a larger image the bytes after the last one are not known.
const MAX_CHUNKS: u64 = 1 << 12;
/// Bytes after the last strip or tile that mean nothing: GDAL repeats the last four of a tile there.
const MAX_PADDING: u64 = 4;
/// The compression that keeps tables elsewhere in the file.
const COMPRESSION_OLD_JPEG: u64 = 6;

/// Returns the parts of a file that its layout does not describe, in words.
///
/// # Errors
/// Returns an error if the file cannot be read.
pub(super) fn find_omissions(file: &TiffFile<'_>, pages: &[Page]) -> Result<Vec<String>> {
    let all = || pages.iter().flat_map(|page| std::iter::once(&page.directory).chain(&page.sub_ifds));
    let all = || all().flat_map(|directory| std::iter::once(directory).chain(directory.mask.as_deref()));
    let others = OTHER_DIRECTORIES.iter().filter(|(id, _)| all().any(|directory| directory.find_tag(*id).is_some()));
    let mut found: Vec<String> = others.map(|(id, name)| format!("the {name} metadata, to which the tag {id} leads")).collect();
    // On a server, this would cost requests whenever the file is opened.
    if !found.is_empty() || file.source().access().cost != AccessCost::Random {
        return Ok(found);
    }
    let mut end = Some(0);
    for directory in all() {
        end = end.zip(end_of_directory(file, directory)).map(|(one, two)| u64::max(one, two));
    }
    let Some(end) = end else { return Ok(found) };
    let len = file.len().saturating_sub(end);
    if len > MAX_PADDING && read_vec(&**file.source(), end, len.min(1 << 16), file.limits)?.iter().any(|byte| *byte != 0) {
        found.push(format!("the last {len} bytes, to which no tag leads"));
    }
    Ok(found)
}

/// Returns the byte after everything that a directory leads to; None if that is not known.
fn end_of_directory(file: &TiffFile<'_>, directory: &Ifd) -> Option<u64> {
    // Stacks of ImageJ and of tifffile have images without directories.
    if let Some(tag) = directory.find_tag(id::IMAGE_DESCRIPTION)
        && let Ok(Values::Text(text)) = file.read_tag_values(tag)
        && (text.starts_with("ImageJ") || text.contains("truncated"))
    {
        return None;
    }
    if directory.read_first_integer(file, id::COMPRESSION, 1).ok()? == COMPRESSION_OLD_JPEG {
        return None;
    }
    let mut end = directory.end(file);
    for (starts, lengths) in [(id::STRIP_OFFSETS, id::STRIP_BYTE_COUNTS), (id::TILE_OFFSETS, id::TILE_BYTE_COUNTS)] {
        if directory.find_tag(starts).is_none() {
            continue;
        }
        if directory.find_tag(starts)?.count > MAX_CHUNKS {
            return None;
        }
        let (starts, lengths) = (directory.numbers(file, starts).ok()??, directory.numbers(file, lengths).ok()??);
        for (start, len) in starts.iter().zip(&lengths) {
            if *len == 0 && *start != 0 {
                return None;
            }
            end = end.max(start.saturating_add(*len));
        }
    }
    Some(end)
}
