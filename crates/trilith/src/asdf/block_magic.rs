//! Block marks: where the first block begins, and whether there is one at a byte.
//!
//! ASDF 1.x, "Blocks": the first block is found by its mark, after a tree and whatever unused space follows it.

use memchr::memmem;

use super::block;
use super::generation::Generation;
use crate::bytes::{Source, SourceRef, read_vec};
use crate::error::Result;
use crate::limits::Limits;

/// Finds the first block from byte `from` on: the first magic bytes that the rows write.
///
/// The standards before 2015 spelt the magic bytes otherwise than the programs, and unused space may hold anything
/// but the magic bytes of the standard of the file. So a candidate without a sensible block header after it is
/// skipped if a block with the other magic bytes follows. If there is none, the candidate is the first block,
/// damaged.
///
/// # Errors
/// Returns [`ErrorKind::Io`](crate::ErrorKind::Io) if the operating system reports an error.
pub(super) fn first_block(source: &SourceRef, rows: &[&'static Generation], from: u64, limits: &Limits) -> Result<Option<u64>> {
    let Some(first) = next_block(source, rows, from, limits)? else { return Ok(None) };
    let mark = mark_at(&**source, first)?;
    // If all specifications of the header line have one mark only, it is that one.
    let is_certain = rows.iter().all(|row| row.magic == row.magic_documented && mark.starts_with(row.magic));
    if is_certain || block::is_credible(&**source, rows, first) {
        return Ok(Some(first));
    }
    let own = |mark: &[u8]| rows.iter().any(|row| row.magic == row.magic_documented && mark.starts_with(row.magic));
    let mut at = first + 1;
    while let Some(other) = next_block(source, rows, at, limits)? {
        let found = mark_at(&**source, other)?;
        if found.first() != mark.first() && (own(&found) || block::is_credible(&**source, rows, other)) {
            return Ok(Some(other));
        }
        at = other + 1;
    }
    Ok(Some(first))
}

/// The bytes of the mark at `at`.
pub(super) fn mark_at(source: &dyn Source, at: u64) -> Result<Vec<u8>> {
    let bytes = read_vec(source, at, source.len().saturating_sub(at).min(8), &Limits::default())?;
    let len = block::magic_len(&bytes).unwrap_or(0);
    Ok(bytes.get(..len).unwrap_or(&[]).to_vec())
}

/// Returns `true` if the mark at `at` is that of the document of one of `rows`, which no program wrote.
///
/// # Errors
/// Returns the errors of [`Source::read_at`].
pub(crate) fn is_as_documented(source: &dyn Source, rows: &[&'static Generation], at: u64) -> Result<bool> {
    let mark = mark_at(source, at)?;
    Ok(rows.iter().any(|row| row.magic != row.magic_documented && mark == row.magic_documented))
}

/// Returns `true` if there is a block mark at a byte.
pub(super) fn is_block(source: &dyn Source, at: Option<u64>) -> bool {
    let Some(at) = at.filter(|at| *at < source.len()) else { return false };
    let mut mark = [0; 8];
    let len = (source.len() - at).min(8) as usize;
    source.read_at(at, &mut mark[..len]).is_ok() && block::magic_len(&mark[..len]).is_some()
}

/// The first block mark from byte `from` on that one of `rows` writes, whatever is in between.
///
/// # Errors
/// Returns [`ErrorKind::Io`](crate::ErrorKind::Io) if the operating system reports an error.
pub(crate) fn next_block(source: &SourceRef, rows: &[&'static Generation], from: u64, limits: &Limits) -> Result<Option<u64>> {
    find_magic(source, rows, from, source.len(), limits)
}

/// The first block mark between `from` and `to` that one of `rows` writes.
fn find_magic(source: &SourceRef, rows: &[&'static Generation], from: u64, to: u64, limits: &Limits) -> Result<Option<u64>> {
    let drafts = rows.iter().any(|row| row.magic.len() == 8);
    let mut at = from;
    let mut step = 64;
    while at < to {
        // Eight more bytes, so that a mark across two reads is seen.
        let bytes = read_vec(&**source, at, (to - at).min(step + 8), limits)?;
        let is_mark = |pos: &usize| {
            let rest = &bytes[*pos..];
            block::magic_len(rest).is_some_and(|len| len == 4 || drafts)
        };
        let short = memmem::find_iter(&bytes, b"BLK").filter_map(|p| p.checked_sub(1)).find(is_mark);
        let long = drafts.then(|| memmem::find_iter(&bytes, b"BFF\r\n").filter_map(|p| p.checked_sub(1)).find(is_mark)).flatten();
        if let Some(pos) = short.into_iter().chain(long).min() {
            return Ok(Some(at + pos as u64));
        }
        at += step;
        step = (step * 8).min(4 << 20);
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::asdf::generation::find_candidate_generations;
    use crate::bytes::MemorySource;

    /// A block as the rows of `%ASDF` and FINF write it (44 bytes of fields), or those of 1.x (48).
    fn block(mark: &[u8], late: bool) -> Vec<u8> {
        let mut bytes = mark.to_vec();
        let size = 3u64.to_be_bytes();
        bytes.extend_from_slice(&(if late { 48u16 } else { 44 }).to_be_bytes());
        bytes.extend_from_slice(&[0; 4]);
        bytes.extend_from_slice(if late { &[0; 4] } else { &[] });
        bytes.extend_from_slice(&[size, size, if late { size } else { [0; 8] }].concat());
        bytes.extend_from_slice(&[0; 16]);
        bytes.extend_from_slice(b"abc");
        bytes
    }

    /// FINF 0.1.0, "Tree": the space "may be filled with any content (as long as it doesn't contain the block
    /// magic token)", that is the token of the same document.
    #[test]
    fn foreign_magic_in_unused_space_is_ignored() {
        let (d3, old) = (&b"\xd3BLK"[..], &b"\x89BLK"[..]);
        for (token, version, mark, other) in [
            ("%FINF", (0, 1, 0), d3, old),
            ("%FINF", (0, 1, 0), old, d3),
            ("%ASDF", (0, 1, 0), d3, old),
            ("%ASDF", (0, 1, 0), old, d3),
            ("#ASDF", (1, 0, 0), d3, old),
        ] {
            let rows = find_candidate_generations(token, version).unwrap();
            for junk in [&b" old   "[..], b"", b"\0\0\0\0", b"\0\x30\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"] {
                let mut bytes = b"  ".to_vec();
                bytes.extend_from_slice(&[other, junk].concat());
                let at = bytes.len() as u64;
                bytes.extend(block(mark, version.0 > 0));
                let source: SourceRef = std::sync::Arc::new(MemorySource::new(bytes, "test"));
                let found = first_block(&source, &rows, 0, &Limits::default()).unwrap();
                assert_eq!(found, Some(at), "{token} {} {}", mark.escape_ascii(), junk.escape_ascii());
            }
        }
    }

    #[test]
    fn damaged_first_block_stays_first() {
        for (token, version) in [("%FINF", (0, 1, 0)), ("%ASDF", (0, 1, 0)), ("#ASDF", (0, 1, 0)), ("#ASDF", (1, 0, 0))] {
            let mut bytes = block(b"\xd3BLK", version.0 > 0);
            bytes[12] = 0xff;
            bytes.extend(block(b"\xd3BLK", version.0 > 0));
            let source: SourceRef = std::sync::Arc::new(MemorySource::new(bytes, "test"));
            let rows = find_candidate_generations(token, version).unwrap();
            assert_eq!(first_block(&source, &rows, 0, &Limits::default()).unwrap(), Some(0), "{token}");
        }
    }
}
