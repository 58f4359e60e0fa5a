//! The checksums of an HDU: CHECKSUM and DATASUM.
//!
//! FITS Standard 4.0, section 4.4.2.7 and appendix J.

use std::io::Write;
use std::ops::Range;
use std::sync::Arc;

use super::card::{Card, CardValue};
use super::hdu::{Hdu, HduKind};
use super::header::{BLOCK_LEN, Header};
use super::tiled_image::{TileChecksums, tile_checksums};
use crate::bytes::{PieceAccess, Source, SourceRef, for_each_piece, to_usize};
use crate::error::{ErrorKind, Result};
use crate::interrupt;
use crate::limits::Limits;

/// The keyword of the sum over the whole HDU, and what it holds while that sum is made.
const CHECKSUM_KEYWORD: &str = "CHECKSUM";
const ZERO_CHECKSUM: &str = "0000000000000000";
/// The keyword of the sum over the data unit.
const DATASUM_KEYWORD: &str = "DATASUM";
/// The keyword of the sum over the data unit that was compressed in tiles (FITS Standard 4.0, section 10.1.2). ZCHECKSUM is the sum
/// of a header that no longer exists, so nothing can be compared with it.
const ORIGINAL_DATASUM_KEYWORD: &str = "ZDATASUM";

/// Bytes that are read at once.
const BUFFER_SIZE: u64 = 4 << 20;
/// Bytes of decoded tiles that are summed at once.
const TILE_BUFFER_SIZE: usize = 1 << 20;

/// A sum of 32-bit words, big-endian, whose carries are added at the other end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct OnesComplementSum(u32);

impl OnesComplementSum {
    /// Adds bytes, which begin at a multiple of four; the last word is filled with zeros.
    fn add_bytes(&mut self, bytes: &[u8]) {
        let mut sum = u64::from(self.0);
        // The bytes of 256 words are added in lanes of 16 bits, which is as many as these hold: several words at once.
        for block in bytes.chunks(1024) {
            let (mut even, mut odd) = (0u32, 0u32);
            let (words, rest) = block.as_chunks::<4>();
            for word in words {
                let word = u32::from_le_bytes(*word);
                even += word & 0x00ff_00ff;
                odd += (word >> 8) & 0x00ff_00ff;
            }
            let (first, second) = (u64::from(even & 0xffff), u64::from(odd & 0xffff));
            sum += (first << 24) + (second << 16) + (u64::from(even >> 16) << 8) + u64::from(odd >> 16);
            let mut last = [0; 4];
            for (to, from) in last.iter_mut().zip(rest) {
                *to = *from;
            }
            sum += u64::from(u32::from_be_bytes(last));
        }
        while sum > u64::from(u32::MAX) {
            sum = (sum & u64::from(u32::MAX)) + (sum >> 32);
        }
        self.0 = u32::try_from(sum).unwrap_or(u32::MAX);
    }

    /// The sum over a part of a source; what is beyond its end counts as zeros.
    fn compute(source: &dyn Source, start: u64, end: u64) -> Result<Self> {
        let mut sum = Self::default();
        for_each_piece(source, start..end.min(source.len()), BUFFER_SIZE, PieceAccess::Borrow, &mut |piece| {
            interrupt::check()?;
            sum.add_bytes(piece);
            Ok(())
        })?;
        Ok(sum)
    }

    /// Returns `true` if two sums are equal; zero has two forms.
    fn is_equivalent(self, other: Self) -> bool {
        let plain = |sum: Self| if sum.0 == u32::MAX { 0 } else { sum.0 };
        plain(self) == plain(other)
    }
}

/// The value of a card that holds a sum.
#[derive(Debug, Clone, PartialEq)]
enum StatedSum<T> {
    Sum(T),
    /// The value is not a sum.
    Unreadable(CardValue),
}

/// The sums that a header states.
#[derive(Debug, Clone, Default)]
pub(super) struct Stated {
    /// The 16 characters of CHECKSUM.
    whole: Option<StatedSum<String>>,
    data: Option<StatedSum<OnesComplementSum>>,
}

/// Reads the value of a DATASUM. A blank value is an unknown sum.
fn read_data_sum(header: &Header, keyword: &str) -> Option<StatedSum<OnesComplementSum>> {
    let value = header.card(keyword).map(Card::value)?;
    let sum = match value {
        CardValue::Undefined => return None,
        CardValue::Text(text) if text.trim().is_empty() || is_md5(text) => return None,
        CardValue::Text(text) => text.trim().parse().ok(),
        CardValue::Integer(sum) => u32::try_from(*sum).ok(),
        CardValue::Float(sum) if sum.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(sum) => Some(*sum as u32),
        _ => None,
    };
    Some(sum.map_or_else(|| StatedSum::Unreadable(value.clone()), |sum| StatedSum::Sum(OnesComplementSum(sum))))
}

/// Returns `true` for the 32 digits of an MD5, which some archives store under these keywords.
fn is_md5(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|digit| digit.is_ascii_hexdigit())
}

/// Describes a value that is not a sum.
fn unreadable_sum(keyword: &str, value: &CardValue) -> String {
    let form = if keyword == CHECKSUM_KEYWORD { "16 letters and digits" } else { "a number of 32 bits" };
    let value = match value {
        CardValue::Text(text) => format!("{text:?}"),
        CardValue::Integer(number) => number.to_string(),
        other => format!("{other:?}"),
    };
    format!("{keyword} is {value}, expected {form}: the bytes cannot be compared")
}

impl Stated {
    /// The sums of a header. A blank value is an unknown sum, and a CHECKSUM with another version of the algorithm in CHECKVER is
    /// another sum than that of the standard.
    pub(super) fn from_header(header: &Header) -> Self {
        let is_other = header.text("CHECKVER").is_some_and(|version| !version.trim().eq_ignore_ascii_case("COMPLEMENT"));
        let whole = match header.card(CHECKSUM_KEYWORD).map(Card::value).filter(|_| !is_other) {
            None | Some(CardValue::Undefined) => None,
            Some(CardValue::Text(text)) if text.trim().is_empty() || is_md5(text) => None,
            Some(CardValue::Text(text)) if text.len() == ZERO_CHECKSUM.len() => Some(StatedSum::Sum(text.clone())),
            Some(value) => Some(StatedSum::Unreadable(value.clone())),
        };
        Self { whole, data: read_data_sum(header, DATASUM_KEYWORD) }
    }

    /// Returns `true` if no sum is stated.
    pub(super) fn is_empty(&self) -> bool {
        self.whole.is_none() && self.data.is_none()
    }

    /// Compares the sums with the bytes of an HDU, whose header is at `start`, and whose data unit is at `data`, up to the end of
    /// its last block. Returns the keyword of each, and what is wrong with it.
    ///
    /// # Errors
    /// Returns the errors of [`Source::read_at`].
    pub(super) fn compare_hdu(
        &self,
        source: &dyn Source,
        start: u64,
        data: Range<u64>,
    ) -> Result<Vec<(&'static str, Option<String>)>> {
        let mut compared = Vec::new();
        if self.is_empty() {
            return Ok(compared);
        }
        let mut found = OnesComplementSum::compute(source, data.start, data.end)?;
        match &self.data {
            None => {}
            Some(StatedSum::Sum(stated)) => {
                let wrong = || format!("{DATASUM_KEYWORD} is {}, but the data have {}", stated.0, found.0);
                compared.push((DATASUM_KEYWORD, (!found.is_equivalent(*stated)).then(wrong)));
            }
            Some(StatedSum::Unreadable(value)) => {
                compared.push((DATASUM_KEYWORD, Some(unreadable_sum(DATASUM_KEYWORD, value))));
            }
        }
        match &self.whole {
            None => {}
            Some(StatedSum::Sum(stated)) => {
                let header = OnesComplementSum::compute(source, start, data.start)?;
                found.add_bytes(&header.0.to_be_bytes());
                let wrong = || format!("{CHECKSUM_KEYWORD} is {stated}, but the HDU has another sum");
                compared.push((CHECKSUM_KEYWORD, (!found.is_equivalent(OnesComplementSum::default())).then(wrong)));
            }
            Some(StatedSum::Unreadable(value)) => {
                compared.push((CHECKSUM_KEYWORD, Some(unreadable_sum(CHECKSUM_KEYWORD, value))));
            }
        }
        Ok(compared)
    }
}

/// The checksums of the tiles of a compressed image, and of the image that was compressed.
pub(super) struct TileSums {
    stated: Option<StatedSum<OnesComplementSum>>,
    tiles: TileChecksums,
}

impl TileSums {
    /// The sums of a compressed HDU; None if it has none, or if its tiles cannot be found.
    pub(super) fn from_hdu(hdu: &Hdu, source: &SourceRef, limits: &Arc<Limits>) -> Option<Self> {
        let header = hdu.header();
        // DATASUM and CHECKSUM of the table cover the tiles as they are stored.
        let is_gzip = || header.text("ZCMPTYPE").is_some_and(|method| method.trim_start().starts_with("GZIP"));
        let has_gzip = || is_gzip() && Stated::from_header(header).is_empty();
        if hdu.kind() != HduKind::Tiles || !(header.card(ORIGINAL_DATASUM_KEYWORD).is_some() || has_gzip()) {
            return None;
        }
        let mut tiles = tile_checksums(hdu, source, limits).ok()?;
        tiles.has_crc &= has_gzip();
        let stated = read_data_sum(header, ORIGINAL_DATASUM_KEYWORD).filter(|_| tiles.is_lossless);
        (stated.is_some() || tiles.has_crc).then_some(Self { stated, tiles })
    }

    /// Decodes all tiles, and compares. Returns the kind of each sum, and what is wrong with it.
    ///
    /// # Errors
    /// Returns the errors of reading, but not those of tiles that do not decode.
    pub(super) fn compare(&self) -> Result<Vec<(&'static str, Option<String>)>> {
        let (mut sum, mut buffered) = (OnesComplementSum::default(), Vec::new());
        // The pieces are little-endian, and words of the sum are of four bytes.
        let size = to_usize(self.tiles.image.datatype().item_size())?;
        let decoded = self.tiles.image.for_each_piece(TILE_BUFFER_SIZE, |piece| {
            interrupt::check()?;
            buffered.extend_from_slice(piece);
            let whole = buffered.len() / 8 * 8;
            if let Some(words) = buffered.get_mut(..whole) {
                words.chunks_exact_mut(size).for_each(<[u8]>::reverse);
                sum.add_bytes(words);
            }
            buffered.drain(..whole);
            Ok(())
        });
        buffered.chunks_exact_mut(size).for_each(<[u8]>::reverse);
        sum.add_bytes(&buffered);
        let broken = match decoded {
            Ok(()) => None,
            Err(error) if error.kind() == ErrorKind::Malformed => Some(error.to_string()),
            // A tile that this library does not read has no sum that it could compare.
            Err(error) if error.kind() == ErrorKind::Unsupported => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut compared = Vec::new();
        if self.tiles.has_crc {
            compared.push(("CRC-32", broken.clone()));
        }
        let wrong = match &self.stated {
            None => return Ok(compared),
            Some(StatedSum::Unreadable(value)) => Some(unreadable_sum(ORIGINAL_DATASUM_KEYWORD, value)),
            Some(StatedSum::Sum(_)) if broken.is_some() => broken,
            Some(StatedSum::Sum(stated)) => (!sum.is_equivalent(*stated))
                .then(|| format!("{ORIGINAL_DATASUM_KEYWORD} is {}, but the decoded image has {}", stated.0, sum.0)),
        };
        compared.push((ORIGINAL_DATASUM_KEYWORD, wrong));
        Ok(compared)
    }
}

/// Returns `true` if [`update`] computes a sum.
pub(super) fn is_renewed(header: &Header, is_new: bool) -> bool {
    let stated = Stated::from_header(header);
    stated.whole.is_some() || is_new && stated.data.is_some()
}

/// Sets the checksums that a header states to those of its HDU, whose data unit is the bytes `start..end` of `data`, zeros
/// after them. DATASUM stays if the data are those that it was made of.
///
/// # Errors
/// Returns an error if the data cannot be read.
pub(super) fn update(header: &mut Header, data: &dyn Source, start: u64, end: u64, is_new: bool) -> Result<()> {
    if !is_renewed(header, is_new) {
        return Ok(());
    }
    let stated = Stated::from_header(header);
    let renews_data = is_new && stated.data.is_some();
    let sum = OnesComplementSum::compute(data, start, end)?;
    if renews_data {
        set_card(header, DATASUM_KEYWORD, &sum.0.to_string())?;
    }
    if stated.whole.is_some() {
        set_checksum(header, sum)?;
    }
    debug_assert_eq!(header.to_bytes().len() as u64 % BLOCK_LEN, 0, "a header fills its blocks");
    Ok(())
}

/// Adds what is written to the sum of a data unit.
#[derive(Debug, Default)]
pub(super) struct SumWriter {
    sum: OnesComplementSum,
    /// The first bytes of a word.
    pending: Vec<u8>,
}

impl Write for SumWriter {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let missing = self.pending.len().next_multiple_of(4) - self.pending.len();
        let (head, rest) = bytes.split_at(missing.min(bytes.len()));
        self.pending.extend_from_slice(head);
        if self.pending.len() == 4 {
            self.sum.add_bytes(&self.pending);
            self.pending.clear();
        }
        let (words, last) = rest.split_at(rest.len() / 4 * 4);
        self.sum.add_bytes(words);
        self.pending.extend_from_slice(last);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Computes the checksums of a header again that are not those of its HDU, whose whole data unit was written to `data`. A header whose
/// checksums are right keeps every byte.
///
/// # Errors
/// Returns the errors of [`Card::new`].
pub(super) fn correct(header: &mut Header, data: &SumWriter) -> Result<()> {
    let stated = Stated::from_header(header);
    let sum = data.sum;
    let fits = |stated: &StatedSum<OnesComplementSum>| matches!(stated, StatedSum::Sum(stated) if sum.is_equivalent(*stated));
    if stated.data.is_some_and(|stated| !fits(&stated)) {
        set_card(header, DATASUM_KEYWORD, &sum.0.to_string())?;
    }
    let Some(whole) = stated.whole else { return Ok(()) };
    let mut found = sum;
    found.add_bytes(&header.to_bytes());
    if matches!(whole, StatedSum::Unreadable(_)) || !found.is_equivalent(OnesComplementSum::default()) {
        set_checksum(header, sum)?;
    }
    Ok(())
}

/// Sets the CHECKSUM of a header to that of its HDU, whose data unit has this sum.
fn set_checksum(header: &mut Header, mut sum: OnesComplementSum) -> Result<()> {
    set_card(header, CHECKSUM_KEYWORD, ZERO_CHECKSUM)?;
    sum.add_bytes(&header.to_bytes());
    set_card(header, CHECKSUM_KEYWORD, &encode_checksum(!sum.0))
}

/// Gives the first card of a keyword another text; it keeps its place and its comment.
fn set_card(header: &mut Header, keyword: &str, text: &str) -> Result<()> {
    let comment = header.card(keyword).map(|card| card.comment().to_owned()).unwrap_or_default();
    let card = Card::new(keyword, CardValue::Text(text.to_owned()), &comment);
    // A comment that does not fit next to the value does not justify a wrong sum.
    let card = card.ok().filter(|card| card.bytes().len() == super::card::RECORD_LEN);
    let card = match card {
        Some(card) => card,
        None => Card::new(keyword, CardValue::Text(text.to_owned()), "")?,
    };
    header.replace_card(keyword, card);
    Ok(())
}

/// A sum as 16 letters and digits whose own sum it is (appendix J.2).
fn encode_checksum(sum: u32) -> String {
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
    fn encoded_matches_standard_and_sums_to_value() {
        // The example of appendix J.4.
        assert_eq!(encode_checksum(!868_229_149), "hcHjjc9ghcEghc9g");
        for sum in [0, 1, u32::MAX, 0x3a5b_405f, 0x1234_5678] {
            let text = encode_checksum(sum);
            assert!(text.bytes().all(|c| c.is_ascii_alphanumeric()), "{text}");
            let mut turned = text.into_bytes();
            turned.rotate_left(1);
            let mut found = OnesComplementSum::default();
            found.add_bytes(&turned);
            let mut zeros = OnesComplementSum::default();
            zeros.add_bytes(ZERO_CHECKSUM.as_bytes());
            zeros.add_bytes(&sum.to_be_bytes());
            assert_eq!(found, zeros);
        }
    }

    #[test]
    fn carries_come_round() {
        let mut sum = OnesComplementSum::default();
        sum.add_bytes(&[0xff, 0xff, 0xff, 0xff, 0, 0, 0, 2]);
        assert_eq!(sum, OnesComplementSum(2));
        sum.add_bytes(&[0, 0, 1]);
        assert_eq!(sum, OnesComplementSum(258));
    }

    #[test]
    fn sum_of_lanes_eq_sum_of_words() {
        let bytes: Vec<u8> = (0..10_007u32).map(|n| if n < 3000 { 0xff } else { ((n * n) >> 3) as u8 }).collect();
        for len in [0, 1, 3, 4, 1023, 1024, 1025, 2880, 4096, bytes.len()] {
            let (words, rest) = bytes[..len].as_chunks::<4>();
            let mut last = [0; 4];
            last[..rest.len()].copy_from_slice(rest);
            let mut expected = words.iter().chain([&last]).map(|word| u64::from(u32::from_be_bytes(*word))).sum::<u64>();
            while expected > u64::from(u32::MAX) {
                expected = (expected & u64::from(u32::MAX)) + (expected >> 32);
            }
            let mut sum = OnesComplementSum::default();
            sum.add_bytes(&bytes[..len]);
            assert_eq!(u64::from(sum.0), expected, "{len} bytes");
        }
    }

    /// FITS 4.0, section 4.4.2.7: a blank value is an unknown sum; any other value is 16 characters, or an unsigned integer.
    #[test]
    fn stated_ignores_blank_sums_and_keeps_unreadable() {
        let stated = |cards: &[(&str, CardValue)]| {
            Stated::from_header(&Header::new(
                cards.iter().map(|(keyword, value)| Card::new(keyword, value.clone(), "").unwrap()).collect(),
            ))
        };
        for value in [CardValue::Undefined, "".into(), "   ".into(), "d41d8cd98f00b204e9800998ecf8427e".into()] {
            assert!(stated(&[(CHECKSUM_KEYWORD, value.clone()), (DATASUM_KEYWORD, value)]).is_empty());
        }
        let source = MemorySource::new(vec![0; 5760], "x.fits");
        for value in [CardValue::Logical(true), "unknown".into(), "12 34".into(), (-1i64).into()] {
            let found = stated(&[(CHECKSUM_KEYWORD, value.clone()), (DATASUM_KEYWORD, value.clone())]);
            let compared = found.compare_hdu(&source, 0, 2880..5760).unwrap();
            assert!(compared.len() == 2 && compared.iter().all(|(_, wrong)| wrong.is_some()), "{value:?}");
        }
        let too_large = stated(&[(DATASUM_KEYWORD, "4294967296".into())]);
        assert!(matches!(too_large.data, Some(StatedSum::Unreadable(_))));
        let checksum = (CHECKSUM_KEYWORD, CardValue::from("hcHjjc9ghcEghc9g"));
        assert!(stated(&[checksum.clone(), ("CHECKVER", "OTHER".into())]).is_empty());
        assert!(stated(&[checksum, ("CHECKVER", "COMPLEMENT".into())]).whole.is_some());
        for value in [CardValue::from("12"), 12i64.into(), 12.0.into(), " 12 ".into()] {
            assert_eq!(stated(&[(DATASUM_KEYWORD, value)]).data, Some(StatedSum::Sum(OnesComplementSum(12))));
        }
        assert!(
            OnesComplementSum(0).is_equivalent(OnesComplementSum(u32::MAX))
                && !OnesComplementSum(0).is_equivalent(OnesComplementSum(1))
        );
    }

    /// First tier. FITS 4.0, section 4.4.2.7 and appendix J: the sum over an HDU is -0, and pieces of any length are words of the whole.
    #[test]
    fn corrected_sums_fit_and_right_sums_stay() {
        let bytes: Vec<u8> = (0..2880u32).map(|n| ((n * n) >> 3) as u8).collect();
        let data = MemorySource::new(bytes.clone(), "data");
        let expected = OnesComplementSum::compute(&data, 0, 2880).unwrap();
        for step in [1, 2, 3, 5, 7, 1000, 2880] {
            let mut sum = SumWriter::default();
            bytes.chunks(step).for_each(|piece| sum.write_all(piece).unwrap());
            assert_eq!(sum.sum, expected, "pieces of {step} bytes");
            for (checksum, datasum) in [(ZERO_CHECKSUM, "1"), ("unknown", "unknown"), ("hcHjjc9ghcEghc9g", "4294967296")] {
                let card = |keyword, text: &str| Card::new(keyword, text, "of old").unwrap();
                let mut header = Header::new(vec![card(CHECKSUM_KEYWORD, checksum), card(DATASUM_KEYWORD, datasum)]);
                correct(&mut header, &sum).unwrap();
                let file = MemorySource::new([header.to_bytes(), bytes.clone()].concat(), "x.fits");
                let compared = Stated::from_header(&header).compare_hdu(&file, 0, 2880..5760).unwrap();
                assert!(compared.len() == 2 && compared.iter().all(|(_, wrong)| wrong.is_none()), "{compared:?}");
                assert_eq!(header.card(CHECKSUM_KEYWORD).unwrap().comment(), "of old");
                let right = header.to_bytes();
                correct(&mut header, &sum).unwrap();
                assert_eq!(header.to_bytes(), right);
            }
        }
    }

    #[test]
    fn only_sums_that_are_there_are_renewed() {
        let data = MemorySource::new(vec![7; 100], "data");
        let mut header = Header::new(vec![Card::new("A", 1i64, "").unwrap()]);
        update(&mut header, &data, 0, 100, true).unwrap();
        assert_eq!(header.cards().len(), 1);
        header.push(Card::new(DATASUM_KEYWORD, "1", "of old").unwrap());
        update(&mut header, &data, 0, 100, false).unwrap();
        assert_eq!(header.text(DATASUM_KEYWORD), Some("1"));
        header.push(Card::new(CHECKSUM_KEYWORD, ZERO_CHECKSUM, "").unwrap());
        update(&mut header, &data, 0, 100, true).unwrap();
        assert_eq!(header.text(DATASUM_KEYWORD), Some("2947526575"));
        assert_eq!(header.card(DATASUM_KEYWORD).unwrap().comment(), "of old");
        let mut whole = OnesComplementSum::compute(&data, 0, 100).unwrap();
        whole.add_bytes(&header.to_bytes());
        assert_eq!(whole.0, u32::MAX);
    }
}
