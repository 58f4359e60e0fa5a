//! The keywords of a header, and which of them change positions.

use std::collections::BTreeMap;

use super::keyword_name::KeywordName;
use super::{ArrayReference, HeaderParser, MAX_AXES, ReferencedArray};
use crate::wcs::Wcs;
use crate::{Error, Result, WcsLimits};

/// Use of a keyword that changes positions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Use {
    /// The keyword is read, and its number is that of an axis.
    Axis,
    /// The keyword is read, and its numbers are those of a row and a column of the matrix.
    Matrix,
    /// The keyword is read.
    Read,
    /// The keyword is that of a distortion, of this kind, or of its parameters. Headers that have it are refused if the distortion of the
    /// axis is not in an array of another HDU.
    Lookup(&'static str),
    /// Headers that have it as a number or a string are refused.
    Refused(&'static str),
    /// Headers whose string begins so are refused. wcslib ignores any other value.
    RefusedAs(&'static [&'static str], &'static str),
}

const DISTORTION: &str = "the distortion";
const PLATE: &str = "the plate solution of the Digitized Sky Survey";

/// All keywords that change positions or name their frame: those that wcslib and astropy.wcs read for the primary description. `#`
/// is a number. Any other keyword has no effect on positions.
const TABLE: &[(&str, Use)] = &[
    ("CTYPE#", Use::Axis),
    ("CRPIX#", Use::Axis),
    ("CRVAL#", Use::Axis),
    ("CDELT#", Use::Axis),
    ("CUNIT#", Use::Axis),
    ("CNAME#", Use::Axis),
    ("PC#_#", Use::Matrix),
    ("CD#_#", Use::Matrix),
    ("CROTA#", Use::Read),
    ("PV#_#", Use::Read),
    ("PS#_#", Use::Read),
    ("PROJP#", Use::Read),
    ("WCSAXES", Use::Read),
    ("LONPOLE", Use::Read),
    ("LATPOLE", Use::Read),
    ("RADESYS", Use::Read),
    ("RADECSYS", Use::Read),
    ("EQUINOX", Use::Read),
    ("EPOCH", Use::Read),
    ("VELREF", Use::Read),
    ("A_ORDER", Use::Read),
    ("B_ORDER", Use::Read),
    ("AP_ORDER", Use::Read),
    ("BP_ORDER", Use::Read),
    ("A_#_#", Use::Read),
    ("B_#_#", Use::Read),
    ("AP_#_#", Use::Read),
    ("BP_#_#", Use::Read),
    ("CPDIS#", Use::Lookup("CPDIS")),
    ("CQDIS#", Use::RefusedAs(&[""], DISTORTION)),
    ("DP#", Use::Lookup("CPDIS")),
    ("DQ#", Use::RefusedAs(&[""], DISTORTION)),
    ("D2IMDIS#", Use::Lookup("D2IMDIS")),
    ("AXISCORR", Use::Read),
    ("WAT1_#", Use::RefusedAs(&["wtype=tnx", "wtype=zpx"], DISTORTION)),
    ("WAT2_#", Use::RefusedAs(&["wtype=tnx", "wtype=zpx"], DISTORTION)),
    ("AMDX#", Use::Refused(PLATE)),
    ("AMDY#", Use::Refused(PLATE)),
    ("PLTRAH", Use::Refused(PLATE)),
    ("PLTRAM", Use::Refused(PLATE)),
    ("PLTRAS", Use::Refused(PLATE)),
    ("PLTDECSN", Use::Refused(PLATE)),
    ("PLTDECD", Use::Refused(PLATE)),
    ("PLTDECM", Use::Refused(PLATE)),
    ("PLTDECS", Use::Refused(PLATE)),
];

/// Keywords that have alternates, with a letter at the end.
const ALTERNATES: &[&str] = &[
    "CTYPE#", "CRPIX#", "CRVAL#", "CDELT#", "CUNIT#", "CNAME#", "PC#_#", "CD#_#", "CROTA#", "PV#_#", "PS#_#", "WCSAXES",
    "LONPOLE", "LATPOLE", "RADESYS", "EQUINOX", "WCSNAME", "CQDIS#", "DQ#",
];
/// Keywords without alternates that are about all descriptions.
const COMMON: &[&str] = &[
    "NAXIS", "NAXIS#", "VELREF", "CPDIS#", "DP#", "D2IMDIS#", "D2IM#", "AXISCORR", "MJDREF", "MJDREFI", "MJDREFF", "JDREF",
    "JDREFI", "JDREFF", "DATEREF", "TIMESYS", "TREFPOS", "OBSGEO-X", "OBSGEO-Y", "OBSGEO-Z",
];
/// Keywords of alternates that are refused.
const REFUSED_ALTERNATES: &[&str] = &["CPDIS#", "DP#"];
/// Keywords whose strings are records, `FIELD: number`.
const RECORDS: &[&str] = &["DP#", "DQ#", "D2IM#"];
/// Keywords that name the header of an array to which others refer.
const NAMES: &[&str] = &["EXTNAME", "EXTVER"];
/// Keywords of SIP.
const SIP: &[&str] = &["A_ORDER", "B_ORDER", "AP_ORDER", "BP_ORDER", "A_#_#", "B_#_#", "AP_#_#", "BP_#_#"];

/// The second characters of keywords in the tables, as bits counted from the blank, by the first character, counted from `A`.
const STARTS: [u64; 26] = {
    let mut starts = [0; 26];
    let tables: [&[&str]; 4] = [ALTERNATES, COMMON, NAMES, SIP];
    let mut table = 0;
    while table < tables.len() {
        let mut at = 0;
        while at < tables[table].len() {
            add_start(&mut starts, tables[table][at]);
            at += 1;
        }
        table += 1;
    }
    let mut at = 0;
    while at < TABLE.len() {
        add_start(&mut starts, TABLE[at].0);
        at += 1;
    }
    starts
};

const fn add_start(starts: &mut [u64; 26], pattern: &str) {
    let pattern = pattern.as_bytes();
    starts[(pattern[0] - b'A') as usize] |= 1 << (pattern[1] - b' ');
}

/// The keywords of a header, by their names in capitals.
#[derive(Debug, Clone, Default)]
pub struct HeaderKeywords {
    numbers: BTreeMap<KeywordName, f64>,
    texts: BTreeMap<KeywordName, String>,
    pub(super) arrays: BTreeMap<ArrayReference, ReferencedArray>,
    /// The keyword of an alternate description that is refused.
    refused: Option<String>,
}

impl HeaderKeywords {
    /// Returns `false` if a keyword has no effect on coordinates, by its first two characters. Its value need not be read then.
    ///
    /// ```
    /// assert!(trilith_wcs::HeaderKeywords::may_read("CRVAL1"));
    /// assert!(!trilith_wcs::HeaderKeywords::may_read("FILTER"));
    /// ```
    pub fn may_read(key: &str) -> bool {
        let [first, second, ..] = key.trim_start().as_bytes() else { return false };
        let starts = STARTS.get(usize::from(first.to_ascii_uppercase().wrapping_sub(b'A'))).copied().unwrap_or_default();
        starts.checked_shr(u32::from(second.to_ascii_uppercase().wrapping_sub(b' '))).is_some_and(|rest| rest & 1 == 1)
    }

    /// Takes in a number.
    pub fn insert_number(&mut self, key: &str, value: f64) {
        if !Self::may_read(key) {
            return;
        }
        self.numbers.extend(normalize_keyword(key).map(|key| (key, value)));
    }

    /// Takes in a text. That of a record, as `DP1 = 'AXIS.1: 2'`, is also the number of the keyword `DP1.AXIS.1`.
    pub fn insert_text(&mut self, key: &str, value: &str) {
        let Some(key) = normalize_keyword(key).filter(|_| Self::may_read(key)) else { return };
        if is_of_form(RECORDS, key)
            && let Some((field, number)) = value.split_once(": ")
            && let Ok(number) = number.trim().parse()
        {
            self.numbers.insert(key.with_text(".").with_text(field.trim()), number);
        }
        self.texts.insert(key, value.trim().to_owned());
    }

    /// Returns `true` if a keyword is there.
    pub fn has(&self, key: &str) -> bool {
        KeywordName::new(key).is_some_and(|key| self.numbers.contains_key(&key) || self.texts.contains_key(&key))
    }

    /// Returns the keywords of an alternate description, `A` to `Z`, as those of a primary one (FITS standard 4.0, section 8.2.1).
    ///
    /// Terms of SIP have no alternates, so that they are those of each description.
    #[must_use]
    pub fn alternate(&self, key: char) -> Self {
        let mut found = Self::default();
        let primary = |name: KeywordName, patterns: &[&'static str]| {
            let name = name.with_str(|name| KeywordName::new(name.strip_suffix(key.to_ascii_uppercase())?))?;
            is_of_form(patterns, name).then_some(name)
        };
        found.refused = self.texts.keys().find(|name| primary(**name, REFUSED_ALTERNATES).is_some()).map(KeywordName::to_string);
        let is_common = |name: KeywordName| {
            let name = name.with_str(|name| KeywordName::new(name.split_once('.').map_or(name, |(name, _)| name)));
            name.is_some_and(|name| is_of_form(COMMON, name) || is_of_form(SIP, name))
        };
        let name_in_primary = |name: KeywordName| primary(name, ALTERNATES).or(is_common(name).then_some(name));
        found.numbers.extend(self.numbers.iter().filter_map(|(name, value)| Some((name_in_primary(*name)?, *value))));
        for (name, text) in self.texts.iter().filter_map(|(name, text)| Some((name_in_primary(*name)?, text))) {
            name.with_str(|name| found.insert_text(name, text));
        }
        found
    }

    /// Returns the letters of the alternate descriptions.
    pub fn alternates(&self) -> Vec<char> {
        let has = |key: &char| {
            let is_it = |name: &str| name.strip_suffix(*key).is_some_and(|name| match_keyword_pattern("CTYPE#", name).is_some());
            self.texts.keys().any(|name| name.with_str(is_it))
        };
        ('A'..='Z').filter(has).collect()
    }

    pub(super) fn get(&self, key: &str) -> Option<f64> {
        self.number_value(KeywordName::new(key)?)
    }

    pub(super) fn number_value(&self, key: KeywordName) -> Option<f64> {
        debug_assert!(key.with_str(Self::may_read), "{key} is in no table");
        self.numbers.get(&key).copied()
    }

    pub(super) fn text_value(&self, key: &str) -> &str {
        KeywordName::new(key).map_or("", |key| self.keyword_text(key))
    }

    pub(super) fn keyword_text(&self, key: KeywordName) -> &str {
        debug_assert!(key.with_str(Self::may_read), "{key} is in no table");
        self.texts.get(&key).map_or("", String::as_str)
    }

    /// Returns the first keyword of some patterns whose value is not zero.
    pub(super) fn find_nonzero_keyword(&self, patterns: &[&'static str]) -> Option<KeywordName> {
        let mut all = patterns.iter().flat_map(|pattern| of_form(&self.numbers, pattern));
        all.find(|(_, value, _)| **value != 0.0).map(|(key, ..)| key)
    }

    /// Numbers and values of `PVi_m` of an axis, which counts from 0.
    pub(super) fn pv_parameters(&self, axis: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        let of_axis = of_form(&self.numbers, "PV#_#").filter(move |(.., numbers)| numbers[0] == axis + 1);
        of_axis.map(|(_, value, numbers)| (numbers[1], *value))
    }

    /// Powers, of one digit, and values of the terms of a polynomial of SIP: `A_p_q`.
    pub(super) fn sip_terms<'k>(&'k self, name: &'k str) -> impl Iterator<Item = ([usize; 2], f64)> + 'k {
        let pattern = SIP.iter().filter(|pattern| pattern.strip_suffix("_#_#") == Some(name));
        let terms = pattern.flat_map(|pattern| of_form(&self.numbers, pattern));
        terms.filter(|(key, ..)| key.with_str(str::len) == name.len() + "_p_q".len()).map(|(_, value, powers)| (powers, *value))
    }

    /// Returns the coordinates that the keywords give; `None` if they give none.
    ///
    /// Axes whose values are not in proportion to pixels (`FREQ-F2W`, `WAVE-TAB`) are left out, and [`Wcs::left_out`] names them.
    ///
    /// # Errors
    /// Returns [`Error::Unsupported`] for a projection, a distortion, a unit or a keyword that this crate does not evaluate, and
    /// [`Error::Invalid`] for keywords that contradict each other.
    pub fn wcs(&self, limits: &WcsLimits) -> Result<Option<Wcs>> {
        let is_axis = |axis: &usize| (1..=MAX_AXES).contains(axis);
        let axes_of = |pattern| {
            let texts = of_form(&self.texts, pattern).map(|(.., numbers)| numbers[0]);
            texts.chain(of_form(&self.numbers, pattern).map(|(.., numbers)| numbers[0])).filter(is_axis).max()
        };
        let Some(named) = axes_of("CTYPE#").max(axes_of("CRPIX#")) else { return Ok(None) };
        if of_form(&self.texts, "CTYPE#").all(|(_, kind, numbers)| kind.is_empty() || !is_axis(&numbers[0])) {
            return Ok(None);
        }
        self.ensure_keywords_supported()?;
        let count = named.max(self.most_axis());
        let count = self.get("WCSAXES").map_or(count, |axes| axes as usize).clamp(count, MAX_AXES);
        HeaderParser::new(self, count, limits).build_wcs().map(Some)
    }

    /// Number of the last axis that a keyword is about. A keyword about an axis that the array does not have moves no pixel,
    /// unless it is an element of the matrix off its diagonal.
    fn most_axis(&self) -> usize {
        let known = self.get("NAXIS").map_or(MAX_AXES, |axes| axes as usize);
        let mut most = 0;
        for (pattern, meaning) in TABLE {
            let mut count = |[row, column]: [usize; 2], value: f64| {
                let axis = row.max(column);
                let has_effect = axis <= known || (*meaning == Use::Matrix && row != column && value != 0.0);
                if has_effect && axis <= MAX_AXES {
                    most = most.max(axis);
                }
            };
            if matches!(meaning, Use::Axis | Use::Matrix) {
                of_form(&self.numbers, pattern).for_each(|(_, value, numbers)| count(numbers, *value));
                of_form(&self.texts, pattern).for_each(|(.., numbers)| count(numbers, 0.0));
            }
        }
        most
    }

    /// Refuses keywords that change positions and are not read.
    fn ensure_keywords_supported(&self) -> Result<()> {
        if let Some(key) = &self.refused {
            return Err(Error::Unsupported(format!("{DISTORTION} of {key}")));
        }
        for (pattern, meaning) in TABLE {
            let number = || of_form(&self.numbers, pattern).map(|(key, ..)| key).next();
            let text = |starts: &[&str]| {
                let is_so = |text: &str| starts.iter().any(|start| text.to_ascii_lowercase().starts_with(start));
                of_form(&self.texts, pattern).find(|(_, text, _)| is_so(text)).map(|(key, ..)| key)
            };
            let (what, found) = match meaning {
                Use::Refused(what) => (what, number().or_else(|| text(&[""]))),
                Use::RefusedAs(starts, what) => (what, text(starts)),
                Use::Lookup(kind) => {
                    let is_unread = |numbers: [usize; 2]| numbers[0] > 2 || !self.is_lookup(kind, numbers[0]);
                    let mut keys = of_form(&self.texts, pattern).filter(|(.., numbers)| is_unread(*numbers));
                    (&DISTORTION, keys.next().map(|(key, ..)| key))
                }
                Use::Axis | Use::Matrix | Use::Read => continue,
            };
            if let Some(key) = found {
                return Err(Error::Unsupported(format!("{what} of {key}")));
            }
        }
        Ok(())
    }
}

/// The keywords of a pattern, with their values and numbers.
fn of_form<'k, V>(
    keys: &'k BTreeMap<KeywordName, V>,
    pattern: &'static str,
) -> impl Iterator<Item = (KeywordName, &'k V, [usize; 2])> {
    debug_assert!(HeaderKeywords::may_read(pattern), "{pattern} is in no table");
    let start = KeywordName::default().with_text(pattern.split('#').next().unwrap_or(pattern));
    let all = keys.range(start..).take_while(move |(key, _)| key.starts_with(start));
    all.filter_map(move |(key, value)| Some((*key, value, key.with_str(|key| match_keyword_pattern(pattern, key))?)))
}

/// Returns `true` if a keyword has the form of one of some patterns.
fn is_of_form(patterns: &[&'static str], key: KeywordName) -> bool {
    key.with_str(|key| patterns.iter().any(|pattern| match_keyword_pattern(pattern, key).is_some()))
}

/// A keyword in capitals, the numbers of a matrix or parameter without zeros in front: `PC001002` and `PC01_02` are `PC1_2`. `None` for
/// one that is longer than any about coordinates.
fn normalize_keyword(key: &str) -> Option<KeywordName> {
    let packed = KeywordName::new(key)?;
    let key = key.trim();
    let is_known = |name: &str| ["PC", "CD", "PV", "PS"].into_iter().find(|known| known.eq_ignore_ascii_case(name));
    let Some((name, rest)) = key.split_at_checked(2).and_then(|(name, rest)| Some((is_known(name)?, rest))) else {
        return Some(packed);
    };
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let (one, two) = match rest.split_once('_') {
        Some((one, two)) if is_number(one) && is_number(two) => (one, two),
        None if matches!(name, "PC" | "CD") && rest.len() == 6 && is_number(rest) => rest.split_at(3),
        _ => return Some(packed),
    };
    let trimmed = |digits: &str, name: KeywordName| match digits.trim_start_matches('0') {
        "" => name.with_text("0"),
        digits => name.with_text(digits),
    };
    Some(trimmed(two, trimmed(one, KeywordName::default().with_text(name)).with_text("_")))
}

/// Numbers of a keyword that has the form of a pattern; 0 for one that the pattern lacks.
fn match_keyword_pattern(pattern: &str, key: &str) -> Option<[usize; 2]> {
    let (mut rest, mut numbers, mut at) = (key.as_bytes(), [0; 2], 0);
    for byte in pattern.bytes() {
        if byte == b'#' {
            let digits = rest.iter().take_while(|b| b.is_ascii_digit()).count();
            let (number, after) = rest.split_at_checked(digits).filter(|_| digits > 0)?;
            let append = |sum: usize, digit: &u8| sum.checked_mul(10)?.checked_add(usize::from(digit - b'0'));
            *numbers.get_mut(at)? = number.iter().try_fold(0, append)?;
            (rest, at) = (after, at + 1);
        } else {
            rest = rest.strip_prefix(&[byte])?;
        }
    }
    rest.is_empty().then_some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_keywords_have_many_spellings() {
        for (key, wanted) in [
            ("PC001002", "PC1_2"),
            ("cd010001", "CD10_1"),
            ("PC01_02", "PC1_2"),
            ("PV02_01", "PV2_1"),
            ("PV1_0", "PV1_0"),
            ("CDELT1", "CDELT1"),
            ("PC1_1A", "PC1_1A"),
            ("PCOUNT", "PCOUNT"),
            ("CD1-1", "CD1-1"),
            ("PV001002", "PV001002"),
            ("é", "é"),
        ] {
            assert_eq!(normalize_keyword(key).map(|key| key.to_string()).as_deref(), Some(wanted));
        }
    }

    #[test]
    fn patterns_have_numbers() {
        assert_eq!(match_keyword_pattern("CTYPE#", "CTYPE12"), Some([12, 0]));
        assert_eq!(match_keyword_pattern("PC#_#", "PC1_23"), Some([1, 23]));
        for (pattern, key) in
            [("CTYPE#", "CTYPE"), ("CTYPE#", "CTYPE1A"), ("PC#_#", "PC1_"), ("PLTRAH", "PLTRAHX"), ("DP#", "DPIX")]
        {
            assert_eq!(match_keyword_pattern(pattern, key), None, "{pattern} {key}");
        }
    }

    #[test]
    fn refused_table_keywords_are_named() {
        for (pattern, meaning) in TABLE {
            let mut keywords = HeaderKeywords::default();
            keywords.insert_text("CTYPE1", "RA---TAN");
            keywords.insert_text("CTYPE2", "DEC--TAN");
            let key = pattern.replace('#', "1");
            match meaning {
                Use::Refused(_) => keywords.insert_number(&key, 1.0),
                Use::RefusedAs(starts, _) => keywords.insert_text(&key, &format!("{} more", starts[0])),
                Use::Lookup(_) => keywords.insert_text(&key, "TPD"),
                _ => continue,
            }
            let error = keywords.wcs(&WcsLimits::default()).unwrap_err();
            assert!(matches!(&error, Error::Unsupported(text) if text.contains(&key)), "{key}: {error}");
        }
    }
}
