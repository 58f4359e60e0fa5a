//! Content of a FITS file that a tree with the arrays of some HDUs does not hold.

use std::collections::BTreeSet;

use super::card::Card;
use super::fits_file::FitsFile;
use super::hdu::{Hdu, HduKind};
use super::hdu_data::HduData;
use super::header::BLOCK_LEN;
use super::padding::{is_blank_after_end, is_padding};
use super::tiled_image::is_keyword;
use super::write::has_data;
use crate::diagnostic::Diagnostic;
use crate::error::Result;

/// Keywords of the layout of an HDU, which the datatype, the shape and the elements of its array say.
const LAYOUT_KEYWORDS: [&str; 17] = [
    "SIMPLE", "XTENSION", "BITPIX", "NAXIS", "EXTEND", "PCOUNT", "GCOUNT", "GROUPS", "TFIELDS", "THEAP", "BSCALE", "BZERO",
    "CHECKSUM", "DATASUM", "EXTNAME", "EXTVER", "END",
];
/// Keywords of the layout of an HDU that end in the number of an axis or column.
const INDEXED_KEYWORDS: [&str; 7] = ["NAXIS", "TTYPE", "TFORM", "TDIM", "TSCAL", "TZERO", "TBCOL"];

/// Returns what is lost if only the arrays of the HDUs `taken` (by number) leave the file, with the ASDF file in it: other HDUs,
/// and the cards with more than the storage of the data.
///
/// # Errors
/// Returns the errors of [`unassigned_bytes`].
///
/// `shown` are the HDUs that the tree is written with: what is in one of them says nothing more than the tree.
pub fn unused_content(fits: &FitsFile, taken: &BTreeSet<usize>, shown: &[HduData]) -> Result<Vec<Diagnostic>> {
    let mut losses = Vec::new();
    for hdu in fits.hdus().iter().filter(|hdu| !hdu.is_asdf()) {
        let path = format!("/fits/{}", hdu.index());
        let is_taken = taken.contains(&hdu.index());
        let same = |part: &&HduData| hdu.index() == 0 || part.header.text("EXTNAME").unwrap_or_default() == hdu.name();
        let part = shown.get(hdu.index()).filter(same);
        if !is_taken && !hdu.data().is_empty() && !part.map_or(Ok(false), |part| has_data(fits, hdu, part))? {
            losses.push(Diagnostic::loss(&path, format!("the data of {}: the tree does not name them", hdu.display_name())));
        }
        let cards: Vec<&str> = hdu
            .header()
            .cards()
            .iter()
            .filter(|card| is_significant(card, hdu) && !part.is_some_and(|part| part.header.cards().contains(card)))
            .map(Card::keyword)
            .collect();
        if let Some(first) = cards.first() {
            let n = cards.len();
            let named = if n == 1 { format!("the card {first}") } else { format!("{n} cards ({first}, …)") };
            losses.push(Diagnostic::loss(&format!("{path}/header"), format!("{named} of {}", hdu.display_name())));
        }
    }
    losses.extend(unassigned_bytes(fits)?);
    Ok(losses)
}

/// Returns `true` if a card has more than the storage of the data of its HDU.
fn is_significant(card: &Card, hdu: &Hdu) -> bool {
    let keyword = card.keyword();
    let stem = keyword.trim_end_matches(|c: char| c.is_ascii_digit());
    let is_blank = card.bytes().iter().all(|byte| *byte == b' ');
    let is_numbered = stem.len() < keyword.len() && INDEXED_KEYWORDS.contains(&stem);
    let is_tiles = hdu.kind() == HduKind::Tiles && is_keyword(keyword);
    !(is_blank || LAYOUT_KEYWORDS.contains(&keyword) || is_numbered || is_tiles)
}

/// Returns the bytes of the file that belong to no HDU and are not filling: after END, after data units, after the last HDU.
///
/// # Errors
/// Returns the errors of [`Source::read_at`](crate::bytes::Source::read_at).
pub fn unassigned_bytes(fits: &FitsFile) -> Result<Vec<Diagnostic>> {
    let mut losses = Vec::new();
    let len = fits.source().len();
    // An HDU whose data cannot be found has all bytes up to the next header, so none of them are spare.
    for hdu in fits.hdus().iter().filter(|hdu| hdu.error().is_none()) {
        let place = format!("/fits/{}", hdu.index());
        if !is_blank_after_end(fits, hdu)? {
            losses.push(Diagnostic::loss(&format!("{place}/header"), format!("the text after END of {}", hdu.display_name())));
        }
        let blank = if hdu.kind() == HduKind::TextTable { b' ' } else { 0 };
        if !is_padding(fits, hdu.data().end, hdu.end(), blank)? {
            let message = format!("the bytes after the data of {}, which fill its last block of {BLOCK_LEN}", hdu.display_name());
            losses.push(Diagnostic::loss(&place, message));
        }
    }
    let end = fits.hdus().last().map_or(0, Hdu::end);
    if !is_padding(fits, end, len, 0)? {
        losses.push(Diagnostic::loss_without_path(format!("{} bytes after the last HDU", len - end)));
    }
    Ok(losses)
}
