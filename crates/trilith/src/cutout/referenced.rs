//! HDUs that the coordinates of an image refer to: arrays of distortions, and tables of coordinates.

use super::is_sum;
use crate::error::Result;
use crate::fits::{Card, CardValue, FitsFile, Hdu, HduData, Header};
use crate::wcs::card_keywords;

/// Keywords of the parameters of a distortion in an array.
const PARAMETERS: [&str; 2] = ["DP", "D2IM"];

/// Copies of HDUs for the images of a cutout.
#[derive(Default)]
pub(super) struct ReferencedHdus {
    pub(super) parts: Vec<HduData>,
    copies: Vec<HduCopy>,
}

/// An HDU that was copied.
struct HduCopy {
    index: usize,
    /// Pixels by which the places in its array are moved.
    start: [i64; 2],
    version: i64,
}

impl ReferencedHdus {
    /// Copies the HDUs that a header refers to, for an image that begins at a pixel of the original. An array whose places move in two
    /// ways, because chips share it, gets another EXTVER.
    pub(super) fn copy(&mut self, fits: &FitsFile, start: &[i64], header: &mut Header) -> Result<()> {
        for reference in card_keywords(header).array_references() {
            let is_it = |hdu: &&Hdu| hdu.version() == reference.version && hdu.name().eq_ignore_ascii_case(&reference.extension);
            let Some(hdu) = fits.hdus().iter().find(is_it) else { continue };
            let start = match (&reference.column, start) {
                (None, [x, y, ..]) => [*x, *y],
                _ => [0, 0],
            };
            let same = self.copies.iter().find(|copy| copy.index == hdu.index() && copy.start == start);
            let version = match same {
                Some(copy) => copy.version,
                None => {
                    let is_taken = self.copies.iter().any(|copy| copy.index == hdu.index());
                    let largest = fits.hdus().iter().map(Hdu::version).chain(self.copies.iter().map(|copy| copy.version));
                    let version = if is_taken { largest.max().unwrap_or(0) + 1 } else { reference.version };
                    let cards = hdu.header().cards().iter().filter(|card| !is_sum(card));
                    let mut cards: Vec<Card> = cards.map(|card| move_card(card, start, version)).collect::<Result<_>>()?;
                    // Without a card the place is 0.
                    for (key, start) in ["CRVAL1", "CRVAL2"].into_iter().zip(start) {
                        if start != 0 && hdu.header().card(key).is_none() {
                            cards.push(Card::new(key, -(start as f64), "")?);
                        }
                    }
                    self.parts.push(HduData::with_data(Header::new(cards), fits.writable_array(hdu)?));
                    self.copies.push(HduCopy { index: hdu.index(), start, version });
                    version
                }
            };
            if version != reference.version {
                let cards = header.cards().iter().map(|card| renumber_card(card, &reference.extension, version));
                *header = Header::new(cards.collect::<Result<_>>()?);
            }
        }
        Ok(())
    }

    /// Returns `true` if an HDU was copied.
    pub(super) fn has(&self, index: usize) -> bool {
        self.copies.iter().any(|copy| copy.index == index)
    }
}

/// A card of an array in which the pixels are those of the cutout.
fn move_card(card: &Card, start: [i64; 2], version: i64) -> Result<Card> {
    let moved = match (card.keyword(), card.value()) {
        ("EXTVER", CardValue::Integer(_)) => return Card::new("EXTVER", version, card.comment()),
        ("CRVAL1" | "CRVAL2", CardValue::Integer(number)) => *number as f64,
        ("CRVAL1" | "CRVAL2", CardValue::Float(number)) => *number,
        _ => return Ok(card.clone()),
    };
    let start = if card.keyword() == "CRVAL1" { start[0] } else { start[1] };
    if start == 0 { Ok(card.clone()) } else { Card::new(card.keyword(), moved - start as f64, card.comment()) }
}

/// A card of an image whose array has another version.
fn renumber_card(card: &Card, extension: &str, version: i64) -> Result<Card> {
    let parameters = if extension == "WCSDVARR" { PARAMETERS[0] } else { PARAMETERS[1] };
    let is_numbered = |rest: &str| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit());
    match card.value() {
        CardValue::Text(text)
            if card.keyword().strip_prefix(parameters).is_some_and(is_numbered) && text.trim_start().starts_with("EXTVER:") =>
        {
            Card::new(card.keyword(), format!("EXTVER: {version}").as_str(), card.comment())
        }
        _ => Ok(card.clone()),
    }
}
