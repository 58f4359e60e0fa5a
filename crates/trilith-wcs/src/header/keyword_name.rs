//! Names of keywords, packed into integers that are built and compared without allocation.

use std::fmt;

/// The name of a keyword: up to 16 bytes, the first one highest, so that names sort as strings do. No keyword about coordinates is
/// longer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct KeywordName(u128);

const MAX_LEN: usize = 16;

impl KeywordName {
    /// Returns the name in capitals, without spaces around it; `None` if it is too long.
    pub(super) fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        (text.len() <= MAX_LEN && !text.contains('\0')).then(|| Self::default().with_text(text))
    }

    /// Returns the name with a number after it: `CRPIX1`.
    pub(super) fn numbered(name: &str, number: usize) -> Self {
        Self::default().with_text(name).with_number(number)
    }

    /// Returns the name with two numbers after it: `PC1_2`.
    pub(super) fn paired(name: &str, first: usize, second: usize) -> Self {
        Self::numbered(name, first).with_text("_").with_number(second)
    }

    /// Returns the name with a text after it, in capitals. Bytes beyond the longest name are left out.
    pub(super) fn with_text(self, text: &str) -> Self {
        text.bytes().fold(self, Self::with_byte)
    }

    fn with_number(self, number: usize) -> Self {
        let before = if number > 9 { self.with_number(number / 10) } else { self };
        before.with_byte(b'0' + (number % 10) as u8)
    }

    fn with_byte(self, byte: u8) -> Self {
        // Bytes are appended at the first that is zero.
        let free = self.0.trailing_zeros() / 8 * 8;
        if free == 0 {
            return self;
        }
        Self(self.0 | u128::from(byte.to_ascii_uppercase()) << (free - 8))
    }

    /// Calls a function with the text.
    pub(super) fn with_str<R>(self, f: impl FnOnce(&str) -> R) -> R {
        let bytes = self.0.to_be_bytes();
        let len = MAX_LEN - self.0.trailing_zeros() as usize / 8;
        f(bytes.get(..len).and_then(|bytes| std::str::from_utf8(bytes).ok()).unwrap_or_default())
    }

    /// Returns `true` if the name begins with another.
    pub(super) fn starts_with(self, start: Self) -> bool {
        let rest = start.0.trailing_zeros() / 8 * 8;
        rest >= u128::BITS || self.0 >> rest == start.0 >> rest
    }
}

impl fmt::Display for KeywordName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.with_str(|text| f.write_str(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// First tier.
    #[test]
    fn names_are_their_texts() {
        for text in ["", "A", "CRPIX1", "D2IM1.EXTVER", "ABCDEFGHIJKLMNOP", "É"] {
            assert_eq!(KeywordName::new(text).map(|name| name.to_string()).as_deref(), Some(text));
        }
        assert_eq!(KeywordName::new(" crval2 "), Some(KeywordName::numbered("CRVAL", 2)));
        assert_eq!(KeywordName::paired("PV", 10, 203).to_string(), "PV10_203");
        assert_eq!([KeywordName::new("ABCDEFGHIJKLMNOPQ"), KeywordName::new("A\0B")], [None, None]);
        let mut names = ["B", "AB", "A", "A_1", "A1", "A10", "A2"];
        let mut packed = names.map(KeywordName::new);
        names.sort_unstable();
        packed.sort_unstable();
        assert_eq!(packed.map(|name| name.map_or_else(String::new, |name| name.to_string())), names);
        let starts = |text: &str, start: &str| KeywordName::new(text).zip(KeywordName::new(start)).map(|(a, b)| a.starts_with(b));
        assert_eq!((starts("CRPIX1", "CRPIX"), starts("CRPI", "CRPIX"), starts("A", "")), (Some(true), Some(false), Some(true)));
    }
}
