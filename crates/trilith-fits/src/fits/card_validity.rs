//! The characters, keywords and forms of values that FITS 4.0 allows in a card.
//!
//! Reading takes what can be understood, so that nothing here stops it; `verify` reports it.

use super::FitsFile;
use super::card::{Card, CardValue, RECORD_LEN};
use crate::error::Error;

/// Largest number of cards that are reported.
const MAX_REPORTED: usize = 1000;

impl FitsFile {
    /// Returns what is wrong with the cards of the headers, and with the filling after them.
    #[doc(hidden)]
    pub fn illegal_cards(&self) -> Vec<Error> {
        let nul = |hdu: &&super::Hdu| hdu.error().is_none() && super::padding::has_nul_filling(self, hdu).unwrap_or(false);
        let filled = self.hdus().iter().filter(nul).map(|hdu| {
            let label = hdu.index();
            Error::malformed(format!("HDU {label}: NUL bytes fill the header after END, expected blanks (section 4.4.1)"))
                .at_byte(hdu.start())
                .hint("an edit of the header writes blanks there")
        });
        let of = |hdu: &super::Hdu| {
            let label = hdu.index();
            let cards = hdu.header().cards().iter().enumerate();
            let wrong = cards.filter_map(move |(number, card)| Some((number, violation(card)?)));
            wrong.map(move |(number, what)| Error::malformed(format!("HDU {label}, card {number}: {what}"))).collect::<Vec<_>>()
        };
        self.hdus().iter().flat_map(of).chain(filled).take(MAX_REPORTED).collect()
    }
}

/// Returns what the standard does not allow in a card, if there is anything.
fn violation(card: &Card) -> Option<String> {
    let bytes = card.bytes();
    if let Some(byte) = bytes.iter().find(|byte| !matches!(byte, b' '..=b'~')) {
        return Some(format!("it has the byte 0x{byte:02x}, which is not a character of FITS headers (section 4.1.2)"));
    }
    let first = bytes.get(..RECORD_LEN).unwrap_or(bytes);
    let keyword = first.get(..8).unwrap_or(first).trim_ascii_end();
    let is_allowed = |byte: &u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'_');
    if !keyword.iter().all(is_allowed) {
        let keyword = String::from_utf8_lossy(keyword);
        return Some(format!("the keyword {keyword:?} has other characters than A to Z, 0 to 9, - and _ (section 4.1.2.1)"));
    }
    let is_value = !card.is_commentary()
        && (matches!(first.get(8..10), Some(b"= ")) || keyword == b"HIERARCH" && card.keyword() != "HIERARCH");
    let value =
        first.iter().position(|byte| *byte == b'=').and_then(|at| first.get(at + 1..)).filter(|_| is_value)?.trim_ascii_start();
    match (value.strip_prefix(b"'"), card.value()) {
        (Some(quoted), _) => {
            let name = card.keyword();
            (!is_closed(quoted)).then(|| format!("the string of {name} has no closing quote (section 4.2.1)"))
        }
        (None, CardValue::Text(text)) => {
            let name = card.keyword();
            Some(format!("the value {text} of {name} is neither a string in quotes nor a number, T or F (section 4.2)"))
        }
        _ => None,
    }
}

/// Returns `true` if one quote ends a string; two stand for one in it.
fn is_closed(quoted: &[u8]) -> bool {
    quoted.chunk_by(|a, b| (*a == b'\'') == (*b == b'\'')).any(|run| run.first() == Some(&b'\'') && run.len() % 2 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cards_are_held_against_chapter_4() {
        let said = |text: &[u8]| {
            let mut record = text.to_vec();
            record.resize(RECORD_LEN, b' ');
            violation(&Card::parse(&record)).unwrap_or_default()
        };
        let legal: [&[u8]; 15] = [
            b"SIMPLE  =                    T / conforms",
            b"A       = 'it''s' / it's",
            b"A       = ''",
            b"A       =",
            b"A       =  / nothing",
            b"A       = (1.0, -2)",
            b"A       = 1.5D3",
            b"A       = -7",
            b"COMMENT what / 'ever",
            b"HISTORY = nan",
            b"        blank",
            b"",
            b"HIERARCH ESO DET CHIP = 'EEV'",
            b"HIERARCH ESO DET N = 3",
            b"A-B_9   = F",
        ];
        for text in legal {
            assert_eq!(said(text), "", "{}", String::from_utf8_lossy(text));
        }
        let illegal: [(&[u8], &str); 11] = [
            (b"lower   = 1", "keyword \"lower\""),
            (b"BAD KEY = 1", "keyword \"BAD KEY\""),
            (b" A      = 1", "keyword \" A\""),
            (b"A       = unquoted / c", "unquoted of A"),
            (b"A       = nan", "nan of A"),
            (b"A       = TRUE", "TRUE of A"),
            (b"HIERARCH ESO X = none", "none of ESO X"),
            (b"A       = 'open / c", "closing quote"),
            (b"A       = 'a\nb'", "0x0a"),
            (b"A       = 'a\xf1b'", "0xf1"),
            (b"COMMENT tab\there", "0x09"),
        ];
        for (text, words) in illegal {
            assert!(said(text).contains(words), "{}: {}", String::from_utf8_lossy(text), said(text));
        }
    }
}
