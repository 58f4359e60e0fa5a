//! A header: cards in their order, in blocks of 2880 bytes that END closes.
//!
//! FITS Standard 4.0, sections 3.3.1 and 4.1.

use std::sync::Arc;

use super::card::{Card, CardValue, RECORD_LEN, is_continued};
use crate::bytes::{Source, to_usize};
use crate::error::{Error, Result};
use crate::limits::Limits;

/// Bytes of one block: headers and data units are multiples of it.
pub const BLOCK_LEN: u64 = 2880;

/// The cards of one header, without END and the blanks after it.
///
/// ```
/// use trilith_fits::fits::{Card, Header};
/// let mut header = Header::default();
/// header.push(Card::new("SIMPLE", true, "")?);
/// header.push(Card::new("BITPIX", 8i64, "")?);
/// assert_eq!(header.integer("BITPIX")?, Some(8));
/// assert_eq!(header.to_bytes().len(), 2880);
/// # Ok::<(), trilith_fits::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Header {
    cards: Vec<Card>,
}

/// A header that may be without an END.
pub(super) struct PartialHeader {
    /// The existing cards.
    pub(super) header: Header,
    /// First byte after the last block.
    pub(super) end: u64,
    /// The reason why END was not found.
    pub(super) problem: Option<Error>,
}

impl Header {
    /// A header of these cards.
    pub fn new(cards: Vec<Card>) -> Self {
        Self { cards }
    }

    /// Reads the header at byte `at`. Also returns the byte after its last block.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) if the bytes end or stop being cards before
    /// END, [`ErrorKind::Limit`](crate::ErrorKind::Limit) for a header longer than [`Limits::text`] or
    /// [`Limits::items`] allow.
    pub fn read(source: &dyn Source, at: u64, limits: &Limits) -> Result<(Self, u64)> {
        let PartialHeader { header, end, problem } = Self::read_partial(source, at, limits)?;
        match problem {
            None => Ok((header, end)),
            Some(why) => Err(why),
        }
    }

    /// Does the same as [`Header::read`]. For a header without an END it returns the existing cards, and the error.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Limit`](crate::ErrorKind::Limit) and [`ErrorKind::Io`](crate::ErrorKind::Io) as
    /// [`Header::read`] does.
    pub(super) fn read_partial(source: &dyn Source, at: u64, limits: &Limits) -> Result<PartialHeader> {
        let (bytes, problem) = read_records(source, at, limits)?;
        let records: Arc<[u8]> = bytes.into();
        let mut cards = Vec::with_capacity(records.len() / RECORD_LEN);
        let mut start = 0;
        while let Some(rest) = records.get(start..).filter(|rest| !rest.is_empty()) {
            let mut len = RECORD_LEN;
            while rest.get(len..len + RECORD_LEN).is_some_and(|next| is_continued(&rest[..len], next)) {
                len += RECORD_LEN;
            }
            let end = start + len.min(rest.len());
            cards.push(Card::in_records(&records, start..end));
            start = end;
        }
        let end = at + (records.len() as u64 + RECORD_LEN as u64).next_multiple_of(BLOCK_LEN);
        Ok(PartialHeader { header: Self { cards }, end, problem })
    }

    /// The cards in their order.
    pub fn cards(&self) -> &[Card] {
        &self.cards
    }

    /// The first card of this keyword.
    pub fn card(&self, keyword: &str) -> Option<&Card> {
        self.cards.iter().find(|card| card.has_keyword(keyword))
    }

    /// Returns the string of a keyword, if its value is a string.
    pub fn text(&self, keyword: &str) -> Option<&str> {
        match self.card(keyword)?.value() {
            CardValue::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns `true` if a keyword is there and true.
    pub fn is_true(&self, keyword: &str) -> bool {
        self.card(keyword).is_some_and(|card| *card.value() == CardValue::Logical(true))
    }

    /// The whole number of a keyword, if the keyword is there.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) for anything but a whole number.
    pub fn integer(&self, keyword: &str) -> Result<Option<i64>> {
        let Some(card) = self.card(keyword) else { return Ok(None) };
        integer_of(card).map(Some)
    }

    /// The number of a keyword, if the keyword is there.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) for anything but a real number.
    pub fn float(&self, keyword: &str) -> Result<Option<f64>> {
        let Some(card) = self.card(keyword) else { return Ok(None) };
        number_of(card).map(Some)
    }

    /// Appends a card.
    pub fn push(&mut self, card: Card) {
        self.cards.push(card);
    }

    /// Replaces the value of a keyword where its card is, or puts a new card after that of the
    /// keyword `behind`, or else at the end.
    ///
    /// # Errors
    /// Returns the errors of [`Card::new`].
    pub fn set(&mut self, keyword: &str, value: impl Into<CardValue>, comment: &str, behind: &str) -> Result<()> {
        let value = value.into();
        if let Some(old) = self.cards.iter_mut().find(|card| card.keyword() == keyword) {
            if *old.value() != value {
                *old = Card::new(keyword, value, old.comment())?;
            }
            return Ok(());
        }
        let card = Card::new(keyword, value, comment)?;
        let place = self.cards.iter().rposition(|card| card.keyword() == behind);
        self.cards.insert(place.map_or(self.cards.len(), |at| at + 1), card);
        Ok(())
    }

    /// Puts another card in the place of the first one of a keyword; does nothing if there is none.
    pub(super) fn replace_card(&mut self, keyword: &str, card: Card) {
        if let Some(old) = self.cards.iter_mut().find(|card| card.keyword() == keyword) {
            *old = card;
        }
    }

    /// Removes the cards whose keyword `is` names.
    pub fn remove(&mut self, is: impl Fn(&str) -> bool) {
        self.cards.retain(|card| !is(card.keyword()));
    }

    /// The bytes of the header: the cards, END, and blanks up to a whole number of blocks.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes: Vec<u8> = self.cards.iter().flat_map(|card| card.bytes()).copied().collect();
        bytes.extend_from_slice(b"END");
        bytes.resize(bytes.len().next_multiple_of(BLOCK_LEN as usize), b' ');
        bytes
    }
}

pub(super) fn integer_of(card: &Card) -> Result<i64> {
    match card.value() {
        CardValue::Integer(n) => i64::try_from(*n).map_err(|_| type_error(card, "a whole number of 64 bits")),
        CardValue::Float(x) if x.fract() == 0.0 && x.abs() < 9e15 => Ok(*x as i64),
        _ => Err(type_error(card, "a whole number")),
    }
}

pub(super) fn number_of(card: &Card) -> Result<f64> {
    match card.value() {
        CardValue::Integer(n) => Ok(*n as f64),
        CardValue::Float(x) => Ok(*x),
        _ => Err(type_error(card, "a number")),
    }
}

#[cold]
fn type_error(card: &Card, expected: &str) -> Error {
    let found = match card.value() {
        CardValue::Undefined => "nothing".to_owned(),
        CardValue::Logical(value) => value.to_string(),
        CardValue::Integer(n) => n.to_string(),
        CardValue::Float(x) => x.to_string(),
        CardValue::Complex(re, im) => format!("({re}, {im})"),
        CardValue::Text(text) => format!("{text:?}"),
    };
    Error::malformed(format!("the FITS keyword {} is {found}, expected {expected}", card.keyword()))
}

/// The records of a header up to END, without it; if there is none, those that are there, and what is wrong.
fn read_records(source: &dyn Source, at: u64, limits: &Limits) -> Result<(Vec<u8>, Option<Error>)> {
    let mut bytes: Vec<u8> = Vec::new();
    let mut step = BLOCK_LEN;
    loop {
        let from = at.saturating_add(bytes.len() as u64);
        let n = source.len().saturating_sub(from).min(step) / RECORD_LEN as u64 * RECORD_LEN as u64;
        if n == 0 {
            return Ok((bytes, Some(Error::malformed("the FITS header has no END before the file ends").at_byte(at))));
        }
        if bytes.len() as u64 + n > limits.text || bytes.len() as u64 / RECORD_LEN as u64 > limits.items {
            let len = bytes.len();
            let what = format_args!("the FITS header has more than {len} bytes");
            return Err(Limits::exceeded_error("text", limits.text, what).at_byte(at));
        }
        let seen = bytes.len();
        bytes.resize(seen + to_usize(n)?, 0);
        source.read_at(from, bytes.get_mut(seen..).unwrap_or_default())?;
        for (i, record) in bytes.get(seen..).unwrap_or_default().chunks(RECORD_LEN).enumerate() {
            let keyword = record.get(..8).unwrap_or_default();
            if keyword == b"END     " {
                bytes.truncate(seen + i * RECORD_LEN);
                return Ok((bytes, None));
            }
            if !keyword.iter().all(|b| (0x20..0x7f).contains(b)) {
                let place = from + (i * RECORD_LEN) as u64;
                bytes.truncate(seen + i * RECORD_LEN);
                let why = Error::malformed("found a record that is not a FITS card before the END of the header");
                return Ok((bytes, Some(why.at_byte(place))));
            }
        }
        step = (step * 2).min(64 * BLOCK_LEN);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::MemorySource;

    fn read(bytes: Vec<u8>) -> Result<(Header, u64)> {
        Header::read(&MemorySource::new(bytes, "test"), 0, &Limits::default())
    }

    #[test]
    fn what_is_read_is_written_byte_for_byte() {
        let mut text = String::new();
        for card in
            ["SIMPLE  = T", "COMMENT  odd  spacing /", "", "LONG    = 'part one &'", "CONTINUE   'and two' / c", "X=3", "END"]
        {
            text.push_str(&format!("{card:80}"));
        }
        let mut bytes = text.into_bytes();
        bytes.resize(2880, b' ');
        let (header, end) = read(bytes.clone()).unwrap();
        assert_eq!((header.to_bytes(), end), (bytes, 2880));
        assert_eq!(header.text("LONG"), Some("part one and two"));
        assert_eq!(header.cards().len(), 5);
        assert!(header.is_true("SIMPLE"));
    }

    #[test]
    fn missing_end_is_err() {
        for bytes in [vec![b' '; 2880], vec![], vec![b' '; 50], vec![b' '; 100 * 2880], vec![0; 2880]] {
            assert_eq!(read(bytes).unwrap_err().kind(), crate::ErrorKind::Malformed);
        }
        let mut limits = Limits::default();
        limits.text = 10_000;
        let long = MemorySource::new(vec![b' '; 20_000], "test");
        assert_eq!(Header::read(&long, 0, &limits).unwrap_err().kind(), crate::ErrorKind::Limit);
    }

    #[test]
    fn end_card_may_fill_last_record_of_block() {
        let mut bytes = vec![b' '; 2880];
        bytes[2800..2803].copy_from_slice(b"END");
        let (header, end) = read(bytes).unwrap();
        assert_eq!((header.cards().len(), end), (35, 2880));
        // With one more card, END begins a separate block.
        let mut bytes = vec![b' '; 5760];
        bytes[2880..2883].copy_from_slice(b"END");
        let (header, end) = read(bytes.clone()).unwrap();
        assert_eq!((header.cards().len(), end), (36, 5760));
        assert_eq!(header.to_bytes(), bytes);
    }

    #[test]
    fn wrong_integer_err_names_keyword_and_value() {
        let header = Header::new(vec![Card::new("NAXIS", "two", "").unwrap()]);
        let text = header.integer("NAXIS").unwrap_err().to_string();
        assert!(text.contains("NAXIS") && text.contains("\"two\""), "{text}");
        assert_eq!(header.integer("BITPIX").unwrap(), None);
    }
}
