//! The checksums of an HDU: CHECKSUM and DATASUM.
//!
//! FITS Standard 4.0, section 4.4.2.7 and appendix J.

use super::card::{Card, CardValue};
use super::header::{BLOCK, Header};
use crate::bytes::{Source, in_pieces};
use crate::error::Result;

/// The keyword of the sum over the whole HDU, and what it holds while that sum is made.
const WHOLE: &str = "CHECKSUM";
const NOTHING: &str = "0000000000000000";
/// The keyword of the sum over the data unit.
const DATA: &str = "DATASUM";

/// Bytes that are read at once.
const PIECE: u64 = 4 << 20;

/// A sum of 32-bit words, big-endian, whose carries are added at the other end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Sum(u32);

impl Sum {
    /// Adds bytes, which begin at a multiple of four; the last word is filled with zeros.
    fn add(&mut self, bytes: &[u8]) {
        let mut sum = u64::from(self.0);
        let mut words = bytes.chunks_exact(4);
        for word in &mut words {
            sum += u64::from(word.try_into().map_or(0, u32::from_be_bytes));
        }
        let mut last = [0; 4];
        for (to, from) in last.iter_mut().zip(words.remainder()) {
            *to = *from;
        }
        sum += u64::from(u32::from_be_bytes(last));
        while sum > u64::from(u32::MAX) {
            sum = (sum & u64::from(u32::MAX)) + (sum >> 32);
        }
        self.0 = u32::try_from(sum).unwrap_or(u32::MAX);
    }

    /// The sum over a part of a source; what is beyond its end counts as zeros.
    fn of(source: &dyn Source, start: u64, end: u64) -> Result<Self> {
        let mut sum = Self::default();
        in_pieces(source, start..end.min(source.len()), PIECE, false, &mut |piece| {
            sum.add(piece);
            Ok(())
        })?;
        Ok(sum)
    }
}

/// Sets the checksums that a header has to those of its HDU, whose data unit is the bytes `start..end` of `data`, zeros
/// after them. DATASUM stays if the data are those that it was made of.
///
/// # Errors
/// Returns an error if the data cannot be read.
pub(super) fn renew(header: &mut Header, data: &dyn Source, start: u64, end: u64, is_new: bool) -> Result<()> {
    let renews_data = is_new && header.card(DATA).is_some();
    if header.card(WHOLE).is_none() && !renews_data {
        return Ok(());
    }
    let mut sum = Sum::of(data, start, end)?;
    if renews_data {
        put(header, DATA, &sum.0.to_string())?;
    }
    if header.card(WHOLE).is_some() {
        put(header, WHOLE, NOTHING)?;
        sum.add(&header.to_bytes());
        put(header, WHOLE, &encoded(!sum.0))?;
    }
    debug_assert_eq!(header.to_bytes().len() as u64 % BLOCK, 0, "a header fills its blocks");
    Ok(())
}

/// Gives the first card of a keyword another text; it keeps its place and its comment.
fn put(header: &mut Header, keyword: &str, text: &str) -> Result<()> {
    let comment = header.card(keyword).map(|card| card.comment().to_owned()).unwrap_or_default();
    let card = Card::new(keyword, CardValue::Text(text.to_owned()), &comment);
    // A comment that does not fit next to the value is no reason to leave a wrong sum.
    let card = card.ok().filter(|card| card.bytes().len() == super::card::RECORD);
    let card = match card {
        Some(card) => card,
        None => Card::new(keyword, CardValue::Text(text.to_owned()), "")?,
    };
    header.replace(keyword, card);
    Ok(())
}

/// A sum as 16 letters and digits whose own sum it is (appendix J.2).
fn encoded(sum: u32) -> String {
    let mut letters = [[0u8; 4]; 4];
    for (byte, column) in sum.to_be_bytes().into_iter().zip(&mut letters) {
        let (quarter, rest) = (byte / 4 + b'0', byte % 4);
        *column = [quarter + rest, quarter, quarter, quarter];
        // Signs between digits and letters are passed over, two by two so that the sum stays.
        while let Some([a, b]) = column.as_chunks_mut::<2>().0.iter_mut().find(|pair| pair.iter().any(|c| is_sign(*c))) {
            (*a, *b) = (*a + 1, *b - 1);
        }
    }
    // The text begins at the twelfth byte of its card, one byte before a word does.
    let text = |i: usize| letters.get(i % 4).and_then(|column| column.get(i / 4)).map_or('0', |c| char::from(*c));
    (0..16).map(|i| text((i + 15) % 16)).collect()
}

fn is_sign(c: u8) -> bool {
    matches!(c, 0x3a..=0x40 | 0x5b..=0x60)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::MemorySource;

    #[test]
    fn encoding_is_that_of_the_standard() {
        // The example of appendix J.4.
        assert_eq!(encoded(!868_229_149), "hcHjjc9ghcEghc9g");
        for sum in [0, 1, u32::MAX, 0x3a5b_405f, 0x1234_5678] {
            let text = encoded(sum);
            assert!(text.bytes().all(|c| c.is_ascii_alphanumeric()), "{text}");
            let mut turned = text.into_bytes();
            turned.rotate_left(1);
            let mut found = Sum::default();
            found.add(&turned);
            let mut zeros = Sum::default();
            zeros.add(NOTHING.as_bytes());
            zeros.add(&sum.to_be_bytes());
            assert_eq!(found, zeros);
        }
    }

    #[test]
    fn carries_come_round() {
        let mut sum = Sum::default();
        sum.add(&[0xff, 0xff, 0xff, 0xff, 0, 0, 0, 2]);
        assert_eq!(sum, Sum(2));
        sum.add(&[0, 0, 1]);
        assert_eq!(sum, Sum(258));
    }

    #[test]
    fn only_sums_that_are_there_are_renewed() {
        let data = MemorySource::new(vec![7; 100], "data");
        let mut header = Header::new(vec![Card::new("A", 1i64, "").unwrap()]);
        renew(&mut header, &data, 0, 100, true).unwrap();
        assert_eq!(header.cards().len(), 1);
        header.push(Card::new(DATA, "1", "of old").unwrap());
        renew(&mut header, &data, 0, 100, false).unwrap();
        assert_eq!(header.text(DATA), Some("1"));
        header.push(Card::new(WHOLE, "x", "").unwrap());
        renew(&mut header, &data, 0, 100, true).unwrap();
        assert_eq!(header.text(DATA), Some("2947526575"));
        assert_eq!(header.card(DATA).unwrap().comment(), "of old");
        let mut whole = Sum::of(&data, 0, 100).unwrap();
        whole.add(&header.to_bytes());
        assert_eq!(whole.0, u32::MAX);
    }
}
