//! One header with its data unit: what it is, where it is, how long it is.
//!
//! FITS Standard 4.0, sections 4.4.1, 6 and 7.

use std::ops::Range;
use std::sync::Arc;

use super::card::Card;
use super::header::{BLOCK_LEN, Header};
use crate::error::{Error, Result};
use crate::suggest::nearest;

/// The kind of the data unit of an HDU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum HduKind {
    /// An array of numbers: the primary HDU and IMAGE extensions.
    Image,
    /// A table of binary rows (BINTABLE).
    Table,
    /// An image in tiles, compressed into a table (ZIMAGE).
    Tiles,
    /// A table of binary rows in tiles, compressed into a table (ZTABLE).
    CompressedTable,
    /// A table of text (TABLE).
    TextTable,
    /// Random groups, which the standard deprecates.
    Groups,
    /// Bytes of another kind of extension.
    Other,
}

/// A header and its data unit.
#[derive(Debug, Clone)]
pub struct Hdu {
    pub(super) number: usize,
    pub(super) header: Header,
    pub(super) kind: HduKind,
    pub(super) start: u64,
    pub(super) data: Range<u64>,
    /// The reason why its data cannot be found.
    pub(super) problem: Option<Arc<Error>>,
}

impl Hdu {
    /// An HDU whose header is at `start`, with the kind and the place of its data unit.
    pub(super) fn new(number: usize, header: Header, start: u64, (kind, data): (HduKind, Range<u64>)) -> Self {
        Self { number, header, kind, start, data, problem: None }
    }

    /// An HDU whose header does not tell where its data end: all up to the next header belongs to it.
    pub(super) fn unreadable(number: usize, header: Header, start: u64, data: Range<u64>, why: Error) -> Self {
        Self { number, header, kind: HduKind::Other, start, data, problem: Some(Arc::new(why)) }
    }

    /// Returns the reason if the data of the HDU cannot be found.
    pub fn error(&self) -> Option<&Error> {
        self.problem.as_deref()
    }

    /// Returns the index of the HDU in the file, from 0.
    pub fn index(&self) -> usize {
        self.number
    }

    /// Returns the header of the HDU.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Returns the kind of its data unit.
    pub fn kind(&self) -> HduKind {
        self.kind
    }

    /// EXTNAME; the primary HDU without one is called PRIMARY.
    pub fn name(&self) -> &str {
        self.header.text("EXTNAME").map_or(if self.number == 0 { "PRIMARY" } else { "" }, str::trim)
    }

    /// EXTVER, which is 1 unless it is given.
    pub fn version(&self) -> i64 {
        self.header.integer("EXTVER").ok().flatten().unwrap_or(1)
    }

    /// The byte of the file at which the header begins.
    pub fn start(&self) -> u64 {
        self.start
    }

    /// The bytes of the file that are the data unit, without the filling of its last block.
    pub fn data(&self) -> Range<u64> {
        self.data.clone()
    }

    /// The byte after the filling of the last block.
    pub fn end(&self) -> u64 {
        let size = self.data.end - self.data.start;
        let whole = size.checked_next_multiple_of(BLOCK_LEN).unwrap_or(u64::MAX);
        self.data.start.saturating_add(whole)
    }

    /// Returns `true` if this contains an ASDF file: EXTNAME (or, in the oldest files, XTENSION) is ASDF.
    pub fn is_asdf(&self) -> bool {
        self.number > 0
            && self.problem.is_none()
            && (self.name().eq_ignore_ascii_case("ASDF") || self.header.text("XTENSION") == Some("ASDF"))
    }

    /// Returns its name for messages.
    #[doc(hidden)]
    pub fn display_name(&self) -> String {
        match self.name() {
            "" => format!("HDU {}", self.number),
            name => format!("HDU {} ({name})", self.number),
        }
    }
}

/// Returns the kind and the place of the data unit that begins at `start` and that a header describes.
pub(super) fn locate_data(header: &Header, start: u64) -> Result<(HduKind, Range<u64>)> {
    let kind = parse_hdu_kind(header)?;
    let end = start.checked_add(data_size(header)?).ok_or_else(|| Error::malformed("the data unit ends beyond byte 2^64"))?;
    Ok((kind, start..end))
}

pub(super) fn parse_hdu_kind(header: &Header) -> Result<HduKind> {
    let Some(extension) = header.text("XTENSION") else {
        let groups = header.is_true("GROUPS") && header.integer("NAXIS1")? == Some(0);
        return Ok(if groups { HduKind::Groups } else { HduKind::Image });
    };
    Ok(match extension.trim() {
        "IMAGE" | "IUEIMAGE" => HduKind::Image,
        "BINTABLE" | "A3DTABLE" if header.is_true("ZIMAGE") => HduKind::Tiles,
        "BINTABLE" | "A3DTABLE" if header.is_true("ZTABLE") => HduKind::CompressedTable,
        "BINTABLE" | "A3DTABLE" => HduKind::Table,
        "TABLE" => HduKind::TextTable,
        _ => HduKind::Other,
    })
}

/// The lengths of the axes NAXIS1, NAXIS2, … in this order, which is that of Fortran.
///
/// # Errors
/// Returns [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) if one is missing or negative.
pub(super) fn read_axis_lengths(header: &Header, prefix: &str) -> Result<Vec<u64>> {
    let count = require_unsigned(header, &format!("{prefix}NAXIS"))?;
    if count > 999 {
        return Err(Error::malformed(format!("NAXIS is {count}, at most 999 axes are possible")));
    }
    (1..=count).map(|i| require_unsigned(header, &format!("{prefix}NAXIS{i}"))).collect()
}

/// A whole number that must be there and not negative.
pub(super) fn require_unsigned(header: &Header, keyword: &str) -> Result<u64> {
    let Some(n) = header.integer(keyword)? else {
        return Err(missing_card_error(header, keyword));
    };
    u64::try_from(n).map_err(|_| Error::malformed(format!("the FITS keyword {keyword} is {n}, expected 0 or more")))
}

/// Bits of one element; negative for floats.
pub(super) fn read_bitpix(header: &Header, keyword: &str) -> Result<i64> {
    match header.integer(keyword)? {
        Some(n @ (8 | 16 | 32 | 64 | -32 | -64)) => Ok(n),
        Some(n) => Err(Error::malformed(format!("the FITS keyword {keyword} is {n}, expected 8, 16, 32, 64, -32 or -64"))),
        None => Err(missing_card_error(header, keyword)),
    }
}

/// The error for a card that a header lacks, with a keyword that is spelled nearly so.
#[cold]
pub(super) fn missing_card_error(header: &Header, keyword: &str) -> Error {
    let error = Error::malformed(format!("the FITS header has no {keyword}"));
    let is_near = |card: &&Card| nearest(card.keyword(), [keyword]).is_some() && !is_sibling(card.keyword(), keyword);
    match header.cards().iter().find(is_near) {
        Some(card) => error.hint(format!("{}: did you mean {keyword}?", card.keyword())),
        None => error,
    }
}

/// Returns `true` if two keywords differ only in their numbers: `NAXIS1` and `NAXIS2`, or `NAXIS`.
fn is_sibling(a: &str, b: &str) -> bool {
    let stem = |keyword: &'_ str| keyword.trim_end_matches(|c: char| c.is_ascii_digit()).to_owned();
    stem(a) == stem(b)
}

/// Bytes of the data unit: |BITPIX| / 8 * GCOUNT * (PCOUNT + NAXIS1 * NAXIS2 * …), section 4.4.1.
pub(super) fn data_size(header: &Header) -> Result<u64> {
    let bytes = read_bitpix(header, "BITPIX")?.unsigned_abs() / 8;
    let mut axes = read_axis_lengths(header, "")?;
    let groups = parse_hdu_kind(header)? == HduKind::Groups;
    if groups && !axes.is_empty() {
        axes.remove(0);
    }
    if axes.is_empty() {
        return Ok(0);
    }
    let count = if axes.contains(&0) { Some(0) } else { axes.iter().try_fold(1u64, |n, len| n.checked_mul(*len)) };
    // A primary HDU has neither keyword, even if its header has them.
    let has_counts = groups || header.card("XTENSION").is_some();
    let optional = |keyword, default| match header.integer(keyword) {
        Ok(None) => Ok(default),
        Ok(Some(_)) => require_unsigned(header, keyword),
        Err(error) => Err(error),
    };
    let (pcount, gcount) = if has_counts { (optional("PCOUNT", 0)?, optional("GCOUNT", 1)?) } else { (0, 1) };
    count
        .and_then(|n| n.checked_add(pcount))
        .and_then(|n| n.checked_mul(gcount))
        .and_then(|n| n.checked_mul(bytes))
        .filter(|n| *n <= i64::MAX as u64)
        .ok_or_else(|| Error::malformed(format!("a data unit of axes {axes:?} is larger than 2^63 bytes")))
}
