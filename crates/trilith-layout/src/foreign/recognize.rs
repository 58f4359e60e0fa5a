//! Recognition of files whose formats have no magic bytes, or share them with others.

use crate::bytes::{AccessCost, Source};
use crate::error::{Error, Result};

/// The longest header of a safetensors file that the library of the format reads.
pub(super) const MAX_SAFETENSORS_HEADER: u64 = 100_000_000;

/// Returns `true` if a file begins with the length of a JSON object, which is there and begins with a key.
pub(super) fn is_safetensors(start: &[u8], source: &dyn Source) -> bool {
    let Some((length, text)) = start.split_first_chunk::<8>() else { return false };
    let length = u64::from_le_bytes(*length);
    let begins = text.strip_prefix(b"{").is_some_and(|rest| {
        let next = rest.iter().find(|byte| !byte.is_ascii_whitespace());
        matches!(next, Some(b'"')) || (matches!(next, Some(b'}')) && length < 64)
    });
    begins && length <= MAX_SAFETENSORS_HEADER && length.checked_add(8).is_some_and(|end| end <= source.len())
}

/// Returns `true` if the first member of a zip archive is an array of numpy.
pub(super) fn is_npz(start: &[u8], _: &dyn Source) -> bool {
    let length = start.get(26..28).and_then(|bytes| bytes.try_into().ok()).map_or(0, u16::from_le_bytes);
    let name = start.get(30..30 + usize::from(length)).unwrap_or_default();
    start.starts_with(b"PK\x03\x04") && name.ends_with(b".npy")
}

/// Returns `true` for XML whose root, or the first element but some, is that of a VOTable.
pub(super) fn is_votable(start: &[u8], _: &dyn Source) -> bool {
    let text = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start).trim_ascii_start();
    text.starts_with(b"<") && text.windows(8).any(|window| window == b"<VOTABLE")
}

/// Returns `true` for XML whose root is that of a file of VTK.
pub(super) fn is_vtk_xml(start: &[u8], _: &dyn Source) -> bool {
    let text = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start).trim_ascii_start();
    let begins = |root: &[u8]| text.strip_prefix(root).is_some_and(|rest| rest.starts_with(b" ") || rest.starts_with(b">"));
    begins(b"<VTKFile") || text.starts_with(b"<?xml") && text.windows(8).any(|window| window == b"<VTKFile")
}

/// Returns `true` for the block of XML with which files of Leica begin: 0x70, its length, and `*`.
pub(super) fn is_lif(start: &[u8], _: &dyn Source) -> bool {
    start.starts_with(b"\x70\0\0\0") && start.get(8) == Some(&b'*')
}

/// Returns `true` for the header of MRC2014: `MAP ` and the mark of a byte order ("MRC2014 file format", words 53 and 54).
pub(super) fn is_mrc(start: &[u8], _: &dyn Source) -> bool {
    let found = start.get(208..214).and_then(|bytes| bytes.split_first_chunk::<4>());
    found.is_some_and(|(map, stamp)| map == b"MAP " && [b"\x44\x44", b"\x44\x41", b"\x11\x11"].iter().any(|mark| stamp == *mark))
}

/// Returns `true` for the footer of a file of ADIOS whose first bytes are data. It is not looked for on servers.
pub(super) fn is_adios_bp3(_: &[u8], source: &dyn Source) -> bool {
    const MINIFOOTER: u64 = 64;
    let mut end = [0; MINIFOOTER as usize];
    let Some(at) = source.len().checked_sub(MINIFOOTER).filter(|_| source.access().cost != AccessCost::Request) else {
        return false;
    };
    source.read_at(at, &mut end).is_ok() && end.windows(10).any(|window| window == b"ADIOS-BP v")
}

/// Returns `true` if a file begins with a version of pickles that programs write today, and ends as they do.
pub(super) fn is_pickle(start: &[u8], source: &dyn Source) -> bool {
    let mut last = [0];
    matches!(start, [0x80, 2..=5, ..])
        && source.len().checked_sub(1).is_some_and(|at| source.read_at(at, &mut last).is_ok() && last == [b'.'])
}

/// Returns `true` if a file is nothing but records of Fortran, whose lengths agree before and after each up to its
/// end.
pub(super) fn is_fortran(_: &[u8], source: &dyn Source) -> bool {
    RecordMarkers::detect(source).is_some()
}

/// Number of pieces that tell that a file has records; on a server each costs a request, so that fewer have to do.
const RECORDS_TO_CONFIRM: usize = 1 << 20;
const RECORDS_TO_CONFIRM_REMOTE: usize = 4;

/// The marks around records of Fortran: their bytes and order.
#[derive(Debug, Clone, Copy)]
pub(super) struct RecordMarkers {
    pub width: u64,
    is_big: bool,
}

impl RecordMarkers {
    /// The marks that agree in a file. One of its records must hold something: zeros would be any number of empty ones.
    pub(super) fn detect(source: &dyn Source) -> Option<Self> {
        let enough = if source.access().cost == AccessCost::Random { RECORDS_TO_CONFIRM } else { RECORDS_TO_CONFIRM_REMOTE };
        let all = [(4, false), (4, true), (8, false), (8, true)].map(|(width, is_big)| Self { width, is_big });
        all.into_iter().find(|marks| {
            let mut has_content = false;
            subrecords(source, *marks).take(enough).all(|piece| {
                piece.is_ok_and(|piece| {
                    has_content |= piece.len > 0;
                    true
                })
            }) && has_content
        })
    }

    /// Returns the datatype of the marks as a layout spells it.
    pub(super) fn layout_type(self) -> &'static str {
        match (self.width, self.is_big) {
            (4, false) => "<i4",
            (4, true) => ">i4",
            (_, false) => "<i8",
            (_, true) => ">i8",
        }
    }

    /// The length at a byte of the file, and whether it is negative.
    fn read_record_length(self, source: &dyn Source, at: u64) -> Result<(u64, bool)> {
        let mut bytes = [0; 8];
        let slot = bytes.get_mut(..self.width as usize).unwrap_or_default();
        source.read_at(at, slot)?;
        if self.is_big {
            slot.reverse();
        }
        let number = i64::from_le_bytes(bytes);
        let number = if self.width == 4 { i64::from(number as i32) } else { number };
        Ok((number.unsigned_abs(), number < 0))
    }
}

/// A record, or a piece of a long one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Subrecord {
    pub begin: u64,
    pub len: u64,
    /// `true` if the record goes on in the next piece.
    pub is_continued: bool,
}

/// The pieces of a file, up to its end or the first whose marks do not agree.
pub(super) fn subrecords(source: &dyn Source, marks: RecordMarkers) -> impl Iterator<Item = Result<Subrecord>> + '_ {
    let (mut at, mut goes_on, mut is_over) = (0u64, false, false);
    std::iter::from_fn(move || {
        if is_over || (at == source.len() && !goes_on) {
            return None;
        }
        let piece = subrecord(source, marks, at, goes_on);
        match &piece {
            Ok(piece) => {
                at = piece.begin + piece.len + marks.width;
                goes_on = piece.is_continued;
            }
            Err(_) => is_over = true,
        }
        Some(piece)
    })
}

fn subrecord(source: &dyn Source, marks: RecordMarkers, at: u64, follows: bool) -> Result<Subrecord> {
    let wrong = || Error::malformed("the lengths before and after a record do not agree").at_byte(at);
    let (len, is_continued) = marks.read_record_length(source, at)?;
    let begin = at + marks.width;
    let end = begin.checked_add(len).filter(|end| *end < source.len()).ok_or_else(wrong)?;
    let behind = marks.read_record_length(source, end)?;
    // A sign cannot be seen at a length of 0.
    if behind.0 != len || (behind.1 != follows && len > 0) {
        return Err(wrong());
    }
    Ok(Subrecord { begin, len, is_continued })
}

/// The first bytes of the superblock of HDF5.
const HDF5_SIGNATURE: &[u8; 8] = b"\x89HDF\r\n\x1a\n";

/// Returns the first byte offset of a superblock of HDF5 that a user block may end at: a power of two from `first` on.
fn find_superblock(source: &dyn Source, first: u64, last: u64) -> Option<u64> {
    // On a server each would be a request.
    if source.access().cost == AccessCost::Request {
        return None;
    }
    let mut places = std::iter::successors(Some(first), |at| at.checked_mul(2));
    let mut places = places.by_ref().take_while(|at| *at <= last && at.saturating_add(8) <= source.len());
    places.find(|at| {
        let mut bytes = [0; 8];
        source.read_at(*at, &mut bytes).is_ok() && &bytes == HDF5_SIGNATURE
    })
}

/// Returns `true` if the superblock of HDF5 follows a user block that is longer than the bytes read first.
pub(super) fn is_hdf5(start: &[u8], source: &dyn Source) -> bool {
    start.len() >= super::DETECT_LEN as usize && find_superblock(source, super::DETECT_LEN, u64::MAX).is_some()
}

/// Returns `true` if a file that begins as one of ASDF or FITS is a file of HDF5: these bytes are its user block. An HDF5 file that is
/// an array of an ASDF file comes after the header of a block.
pub fn has_user_block(source: &dyn Source) -> bool {
    /// User blocks that are longer are not looked for, so that opening a large file reads its beginning only.
    const MAX_USER_BLOCK: u64 = 64 << 10;
    let Some(at) = find_superblock(source, 512, MAX_USER_BLOCK) else { return false };
    let mut block = vec![0; at as usize];
    let is_block = |bytes: &[u8]| matches!(bytes, b"\xd3BLK" | b"\xd3BFF");
    source.read_at(0, &mut block).is_ok() && !block.windows(4).any(is_block)
}
