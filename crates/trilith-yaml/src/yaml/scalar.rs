//! Value of an untagged scalar: the rules of YAML 1.1 as Python's C loader applies them.
//!
//! `yes` is true but `y` is text; `017` is 15; `1e3` is text because a float needs a point and a signed exponent;
//! `190:20:30` counts in sixties.

use std::borrow::Cow;
use std::cmp::Ordering;

/// A resolved scalar.
///
/// Integers beyond 64 bits keep all their digits; timestamps and binary data keep their text.
#[derive(Debug, Clone, PartialEq)]
pub enum Scalar<'t> {
    /// `~`, `null` or nothing.
    Null,
    /// `true`, `yes`, `on`, …
    Bool(bool),
    /// An integer of 64 bits.
    Int(i64),
    /// A larger integer, as decimal digits with a sign only if negative.
    BigInt(String),
    /// A floating-point number.
    Float(f64),
    /// Text.
    Str(Cow<'t, str>),
    /// A date or a time with date, as written.
    Timestamp(Cow<'t, str>),
    /// `!!binary`: base 64, as written.
    Binary(Cow<'t, str>),
}

impl<'t> Scalar<'t> {
    /// Returns the value as text, numbers in their usual form.
    #[doc(hidden)]
    pub fn into_text(self) -> Cow<'t, str> {
        match self {
            Self::Null => "null".into(),
            Self::Bool(value) => value.to_string().into(),
            Self::Int(value) => value.to_string().into(),
            Self::BigInt(digits) => digits.into(),
            Self::Float(value) => format!("{value:?}").into(),
            Self::Str(text) | Self::Timestamp(text) | Self::Binary(text) => text,
        }
    }

    /// Compares two numbers exactly, with any number of digits. Returns None if one is not a number.
    ///
    /// ```
    /// use std::cmp::Ordering;
    /// use trilith_yaml::yaml::Scalar;
    /// assert_eq!(Scalar::Int((1 << 53) + 1).compare(&Scalar::Float(9_007_199_254_740_992.0)), Some(Ordering::Greater));
    /// assert_eq!(Scalar::Int(2).compare(&Scalar::BigInt("18446744073709551616".into())), Some(Ordering::Less));
    /// ```
    pub fn compare(&self, other: &Scalar<'_>) -> Option<Ordering> {
        match (self, other) {
            (Scalar::Int(a), Scalar::Int(b)) => Some(a.cmp(b)),
            (Scalar::Float(a), Scalar::Float(b)) => a.partial_cmp(b),
            (Scalar::Int(a), Scalar::Float(b)) => int_with_float(*a, *b),
            (Scalar::Float(a), Scalar::Int(b)) => int_with_float(*b, *a).map(Ordering::reverse),
            (Scalar::BigInt(a), Scalar::BigInt(b)) => Some(digits_with_digits(a, b)),
            (Scalar::BigInt(a), Scalar::Int(b)) => Some(digits_with_digits(a, &b.to_string())),
            (Scalar::Int(a), Scalar::BigInt(b)) => Some(digits_with_digits(&a.to_string(), b)),
            (Scalar::BigInt(a), Scalar::Float(b)) => digits_with_float(a, *b),
            (Scalar::Float(a), Scalar::BigInt(b)) => digits_with_float(b, *a).map(Ordering::reverse),
            _ => None,
        }
    }
}

/// Exactly, also if an integer has more digits than a float.
pub fn int_with_float(a: i64, b: f64) -> Option<Ordering> {
    const I64_END: f64 = 9_223_372_036_854_775_808.0;
    if b.is_nan() {
        return None;
    }
    if b >= I64_END {
        return Some(Ordering::Less);
    }
    if b < -I64_END {
        return Some(Ordering::Greater);
    }
    let whole = b.trunc();
    Some(a.cmp(&(whole as i64)).then_with(|| whole.partial_cmp(&b).unwrap_or(Ordering::Equal)))
}

/// Integers in decimal digits, without zeros in front.
fn digits_with_digits(a: &str, b: &str) -> Ordering {
    let (is_less, other_is_less) = (a.starts_with('-'), b.starts_with('-'));
    let size = |text: &str| text.trim_start_matches('-').len();
    match (is_less, other_is_less) {
        (true, false) => Ordering::Less,
        (false, true) => Ordering::Greater,
        (false, false) => size(a).cmp(&size(b)).then_with(|| a.cmp(b)),
        (true, true) => size(b).cmp(&size(a)).then_with(|| b.cmp(a)),
    }
}

/// An integer in decimal digits, of more than 64 bits, and a float: so large a float is a whole number.
fn digits_with_float(a: &str, b: f64) -> Option<Ordering> {
    if b.is_nan() {
        return None;
    }
    if b.is_infinite() {
        return Some(if b > 0.0 { Ordering::Less } else { Ordering::Greater });
    }
    Some(digits_with_digits(a, &format!("{:.0}", b.trunc())))
}

/// Integers with more characters than this stay text: turning them into decimal digits takes quadratic time.
const MAX_INTEGER_LEN: usize = 16_384;

/// Resolves the text of a plain scalar without a tag.
///
/// ```
/// use trilith_yaml::yaml::{Scalar, resolve};
/// assert_eq!(resolve("0x1F".into()), Scalar::Int(31));
/// assert_eq!(resolve("190:20:30".into()), Scalar::Int(685230));
/// assert_eq!(resolve("1e3".into()), Scalar::Str("1e3".into()));
/// ```
pub fn resolve(text: Cow<'_, str>) -> Scalar<'_> {
    match resolve_simple(&text) {
        Some(found) => found,
        None if is_timestamp(text.as_bytes()) => Scalar::Timestamp(text),
        None => Scalar::Str(text),
    }
}

/// Returns the value of `text` if that needs no text: null, bool, int, float.
fn resolve_simple(text: &str) -> Option<Scalar<'static>> {
    let Some(first) = text.bytes().next() else { return Some(Scalar::Null) };
    match first {
        b'~' | b'n' | b'N' if is_null(text) => Some(Scalar::Null),
        b'y' | b'Y' | b'n' | b'N' | b't' | b'T' | b'f' | b'F' | b'o' | b'O' => parse_boolean(text).map(Scalar::Bool),
        // Every float has a point, no integer has.
        b'0'..=b'9' | b'+' | b'-' | b'.' if text.as_bytes().contains(&b'.') => parse_float(text).map(Scalar::Float),
        b'0'..=b'9' | b'+' | b'-' => parse_integer(text),
        _ => None,
    }
}

/// Returns `true` if `text` is one of the words for nothing.
pub(crate) fn is_null(text: &str) -> bool {
    matches!(text, "" | "~" | "null" | "Null" | "NULL")
}

/// Returns the boolean that `text` is a word for.
pub(crate) fn parse_boolean(text: &str) -> Option<bool> {
    match text {
        "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => Some(true),
        "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => Some(false),
        _ => None,
    }
}

/// Returns the boolean of `!!bool`, whose words may have any casing.
pub(crate) fn boolean_of_any_case(text: &str) -> Option<bool> {
    parse_boolean(&text.to_ascii_lowercase())
}

/// The number of `!!float`, which may also be written as an integer or without a point.
pub(crate) fn any_float(text: &str) -> Option<f64> {
    let plain = text.replace('_', "");
    if plain.contains(':') {
        // A number in base 60, whose digits may have any size.
        return plain.split(':').try_fold(0.0, |sum, part| part.parse::<f64>().ok().map(|digit| sum * 60.0 + digit));
    }
    let decimal = plain.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'+' | b'-' | b'.' | b'e' | b'E'));
    if decimal { plain.parse().ok() } else { None }
}

/// The integer that `text` spells: decimal, `017`, `0x1F`, `0b101`, `1_000`, `190:20:30`.
pub(crate) fn parse_integer(text: &str) -> Option<Scalar<'static>> {
    let (negative, digits) = split_sign(text);
    let bytes = digits.as_bytes();
    // Most integers are short and decimal.
    if (1..=18).contains(&bytes.len()) && (bytes[0] != b'0' || bytes.len() == 1) && bytes.iter().all(u8::is_ascii_digit) {
        let value = bytes.iter().fold(0i64, |sum, b| sum * 10 + i64::from(b - b'0'));
        return Some(Scalar::Int(if negative { -value } else { value }));
    }
    if bytes.len() > MAX_INTEGER_LEN || !bytes.first()?.is_ascii_digit() {
        return None;
    }
    let (radix, body) = match bytes {
        [b'0', b'b', rest @ ..] => (2, rest),
        [b'0', b'x', rest @ ..] => (16, rest),
        [b'0', rest @ ..] if !rest.is_empty() => (8, rest),
        _ if bytes.contains(&b':') => return parse_sexagesimal(negative, digits),
        _ => (10, bytes),
    };
    let mut big = BigDecimalInt::default();
    let mut any = radix == 8;
    for &byte in body {
        if byte == b'_' {
            continue;
        }
        big.push(radix, char::from(byte).to_digit(radix)?);
        any = true;
    }
    any.then(|| big.into_scalar(negative))
}

/// `[1-9][0-9_]*(:[0-5]?[0-9])+`
fn parse_sexagesimal(negative: bool, digits: &str) -> Option<Scalar<'static>> {
    let mut parts = digits.split(':');
    let first = parts.next()?;
    if first.starts_with(['0', '_']) {
        return None;
    }
    let mut big = BigDecimalInt::default();
    for byte in first.bytes().filter(|b| *b != b'_') {
        big.push(10, char::from(byte).to_digit(10)?);
    }
    for part in parts {
        big.push(60, parse_base60_digit(part)?);
    }
    Some(big.into_scalar(negative))
}

/// `[0-5]?[0-9]`
fn parse_base60_digit(part: &str) -> Option<u32> {
    match part.as_bytes() {
        [a @ b'0'..=b'9'] => Some(u32::from(a - b'0')),
        [a @ b'0'..=b'5', b @ b'0'..=b'9'] => Some(u32::from(a - b'0') * 10 + u32::from(b - b'0')),
        _ => None,
    }
}

fn split_sign(text: &str) -> (bool, &str) {
    match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    }
}

/// A whole number of any size, in limbs of nine decimal digits, lowest first.
#[derive(Default)]
struct BigDecimalInt {
    value: u64,
    limbs: Vec<u32>,
}

impl BigDecimalInt {
    /// Multiplies by `radix` and adds `digit`.
    fn push(&mut self, radix: u32, digit: u32) {
        if self.limbs.is_empty() {
            match self.value.checked_mul(u64::from(radix)).and_then(|n| n.checked_add(u64::from(digit))) {
                Some(next) => {
                    self.value = next;
                    return;
                }
                None => {
                    let mut rest = self.value;
                    while rest > 0 {
                        self.limbs.push((rest % 1_000_000_000) as u32);
                        rest /= 1_000_000_000;
                    }
                }
            }
        }
        let mut carry = u64::from(digit);
        for limb in &mut self.limbs {
            let sum = u64::from(*limb) * u64::from(radix) + carry;
            *limb = (sum % 1_000_000_000) as u32;
            carry = sum / 1_000_000_000;
        }
        if carry > 0 {
            self.limbs.push(carry as u32);
        }
    }

    fn into_scalar(self, negative: bool) -> Scalar<'static> {
        if self.limbs.is_empty() {
            let small = if negative { 0i64.checked_sub_unsigned(self.value) } else { i64::try_from(self.value).ok() };
            if let Some(value) = small {
                return Scalar::Int(value);
            }
        }
        let mut text = String::from(if negative { "-" } else { "" });
        match self.limbs.split_last() {
            None => text.push_str(&self.value.to_string()),
            Some((top, rest)) => {
                text.push_str(&top.to_string());
                for limb in rest.iter().rev() {
                    text.push_str(&format!("{limb:09}"));
                }
            }
        }
        Scalar::BigInt(text)
    }
}

/// The floating-point number that `text` spells.
pub(crate) fn parse_float(text: &str) -> Option<f64> {
    match match_decimal_float(text.as_bytes()) {
        Some(false) => return text.parse().ok(),
        Some(true) => return text.replace('_', "").parse().ok(),
        None => {}
    }
    let (negative, body) = split_sign(text);
    let sign = if negative { -1.0 } else { 1.0 };
    match body {
        ".inf" | ".Inf" | ".INF" => Some(sign * f64::INFINITY),
        ".nan" | ".NaN" | ".NAN" if body.len() == text.len() => Some(f64::NAN),
        _ if body.contains(':') => sexagesimal_float(body).map(|value| sign * value),
        _ => None,
    }
}

/// Returns Some if `text` is `[-+]?[0-9][0-9_]*\.[0-9_]*([eE][-+][0-9]+)?` or, without a sign, `\.[0-9][0-9_]*`
/// with the same exponent: `true` if it has underscores. `-.5` is text.
fn match_decimal_float(text: &[u8]) -> Option<bool> {
    let mut at = usize::from(matches!(text.first(), Some(b'+' | b'-')));
    let mut underscores = false;
    let mut digits = |at: &mut usize| {
        let from = *at;
        while let Some(byte @ (b'0'..=b'9' | b'_')) = text.get(*at) {
            underscores |= *byte == b'_';
            *at += 1;
        }
        text.get(from).is_some_and(u8::is_ascii_digit)
    };
    let whole = at;
    let begins = digits(&mut at);
    if (!begins && at > 0) || whole > at || text.get(at) != Some(&b'.') {
        return None;
    }
    at += 1;
    let fraction = digits(&mut at);
    if !begins && !fraction {
        return None;
    }
    if let Some(b'e' | b'E') = text.get(at) {
        if !matches!(text.get(at + 1), Some(b'+' | b'-')) {
            return None;
        }
        let power = text.get(at + 2..)?;
        return (!power.is_empty() && power.iter().all(u8::is_ascii_digit)).then_some(underscores);
    }
    (at == text.len()).then_some(underscores)
}

/// `[0-9][0-9_]*(:[0-5]?[0-9])+\.[0-9_]*`
fn sexagesimal_float(body: &str) -> Option<f64> {
    let (whole, fraction) = body.split_once('.')?;
    if !fraction.bytes().all(|b| b.is_ascii_digit() || b == b'_') {
        return None;
    }
    let mut parts = whole.split(':');
    let first = parts.next()?;
    if !first.starts_with(|c: char| c.is_ascii_digit()) || !first.bytes().all(|b| b.is_ascii_digit() || b == b'_') {
        return None;
    }
    let mut value: f64 = first.replace('_', "").parse().ok()?;
    let mut last = 0;
    for part in parts {
        last = parse_base60_digit(part)?;
        value = value * 60.0 + f64::from(last);
    }
    let seconds: f64 = format!("{last}.{}", fraction.replace('_', "")).parse().ok()?;
    Some(value - f64::from(last) + seconds)
}

/// Returns the reason why the text of a scalar does not fit one of YAML's own tags, `int` or `binary`.
pub(crate) fn scalar_tag_problem(name: &str, text: &str) -> Option<String> {
    let fits = match name {
        "int" => parse_integer(text.trim()).is_some(),
        "float" => parse_float(text.trim()).or_else(|| any_float(text.trim())).is_some(),
        "bool" => boolean_of_any_case(text).is_some(),
        "null" => is_null(text),
        "binary" => is_base64(text),
        "timestamp" if is_timestamp(text.as_bytes()) => return calendar_problem(text),
        "timestamp" => false,
        _ => true,
    };
    let kind = match name {
        "int" => "an integer",
        "float" => "a number",
        "bool" => "a boolean",
        "null" => "null",
        "binary" => "base 64",
        _ => "a date or a time",
    };
    (!fits).then(|| format!("it is not {kind}"))
}

/// Returns `true` if `text` is base 64 with its padding, blanks aside (RFC 2045, section 6.8).
fn is_base64(text: &str) -> bool {
    let (mut count, mut padding) = (0usize, 0);
    for byte in text.bytes().filter(|byte| !byte.is_ascii_whitespace()) {
        match byte {
            b'=' => padding += 1,
            _ if padding > 0 => return false,
            byte if byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/') => {}
            _ => return false,
        }
        count += 1;
    }
    count % 4 == 0 && padding <= 2
}

/// Returns the reason why a date or a time, which has the form of one, does not exist.
pub(crate) fn calendar_problem(text: &str) -> Option<String> {
    let mut at = ShortCursor { text: text.as_bytes(), position: 0 };
    let [year, month, day] = [at.take_number(), at.take_number(), at.take_number()];
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if is_leap => 29,
        2 => 28,
        _ => return Some(format!("there is no month {month}")),
    };
    if year == 0 {
        return Some("there is no year 0".to_owned());
    }
    if day == 0 || day > days {
        return Some(format!("there is no day {day} in month {month} of {year}"));
    }
    if at.is_at_end() {
        return None;
    }
    let [hour, minute, second] = [at.take_number(), at.take_number(), at.take_number()];
    // Programs keep no leap seconds.
    if hour > 23 || minute > 59 || second > 59 {
        return Some(format!("there is no time {hour:02}:{minute:02}:{second:02}"));
    }
    if at.take_byte(b".") {
        at.take_digits(0, usize::MAX);
    }
    at.take_blanks();
    if at.take_byte(b"+-") {
        let hours = at.take_number();
        let minutes = if at.is_at_end() { 0 } else { at.take_number() };
        if hours * 60 + minutes >= 24 * 60 {
            return Some("its time zone is a day or more away".to_owned());
        }
    }
    None
}

/// Returns `true` if `text` is a date, or a date with a time of day.
pub(crate) fn is_timestamp(text: &[u8]) -> bool {
    let mut at = ShortCursor { text, position: 0 };
    if !(at.take_digits(4, 4) && at.take_byte(b"-")) {
        return false;
    }
    // The date alone has two digits each; with a time one is enough.
    if text.len() == 10 {
        return at.take_digits(2, 2) && at.take_byte(b"-") && at.take_digits(2, 2);
    }
    if !(at.take_digits(1, 2) && at.take_byte(b"-") && at.take_digits(1, 2)) {
        return false;
    }
    if !at.take_byte(b"Tt") && !at.take_blanks() {
        return false;
    }
    if !(at.take_digits(1, 2) && at.take_byte(b":") && at.take_digits(2, 2) && at.take_byte(b":") && at.take_digits(2, 2)) {
        return false;
    }
    if at.take_byte(b".") {
        at.take_digits(0, usize::MAX);
    }
    if at.is_at_end() {
        return true;
    }
    at.take_blanks();
    if at.take_byte(b"Z") {
        return at.is_at_end();
    }
    at.take_byte(b"+-")
        && at.take_digits(1, 2)
        && (at.is_at_end() || (at.take_byte(b":") && at.take_digits(2, 2) && at.is_at_end()))
}

/// A place in a short text.
struct ShortCursor<'t> {
    text: &'t [u8],
    position: usize,
}

impl ShortCursor<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.position).copied()
    }

    /// Takes `least` to `most` digits.
    fn take_digits(&mut self, least: usize, most: usize) -> bool {
        let from = self.position;
        while self.position - from < most && self.peek().is_some_and(|b| b.is_ascii_digit()) {
            self.position += 1;
        }
        self.position - from >= least
    }

    /// Takes the next number, of few digits, and what is before it.
    fn take_number(&mut self) -> u32 {
        while self.peek().is_some_and(|b| !b.is_ascii_digit()) {
            self.position += 1;
        }
        let mut number = 0u32;
        while let Some(digit) = self.peek().filter(u8::is_ascii_digit) {
            number = number.saturating_mul(10).saturating_add(u32::from(digit - b'0'));
            self.position += 1;
        }
        number
    }

    fn take_byte(&mut self, any: &[u8]) -> bool {
        let found = self.peek().is_some_and(|b| any.contains(&b));
        self.position += usize::from(found);
        found
    }

    fn take_blanks(&mut self) -> bool {
        let from = self.position;
        while self.take_byte(b" \t") {}
        self.position > from
    }

    fn is_at_end(&self) -> bool {
        self.position == self.text.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Scalar<'_> {
        resolve(text.into())
    }

    #[test]
    fn words_resolve_like_reference_loader() {
        for text in ["", "~", "null", "Null", "NULL"] {
            assert_eq!(of(text), Scalar::Null, "{text}");
        }
        for text in ["yes", "Yes", "YES", "on", "On", "ON", "true", "True", "TRUE"] {
            assert_eq!(of(text), Scalar::Bool(true), "{text}");
        }
        for text in ["y", "n", "Y", "N", "yEs", "nan", "inf", "<<", "=", "nuLL", "-", "+", ".", "-.", "_1", "a"] {
            assert_eq!(of(text), Scalar::Str(text.into()), "{text}");
        }
    }

    #[test]
    fn integers_in_every_base() {
        for (text, value) in [
            ("0", 0),
            ("017", 15),
            ("0x1F", 31),
            ("0b101", 5),
            ("1_000", 1000),
            ("190:20:30", 685_230),
            ("12:30", 750),
            ("-12:30", -750),
            ("+5", 5),
            ("-0", 0),
            ("0_7", 7),
            ("-9223372036854775808", i64::MIN),
        ] {
            assert_eq!(of(text), Scalar::Int(value), "{text}");
        }
        for text in ["0o17", "08", "0x", "0b", "0b_", "1:60", "01:30", "1 2", "1e3", "0xg"] {
            assert_eq!(of(text), Scalar::Str(text.into()), "{text}");
        }
    }

    #[test]
    fn integers_beyond_64_bits_keep_every_digit() {
        assert_eq!(of("9223372036854775808"), Scalar::BigInt("9223372036854775808".into()));
        assert_eq!(of("0xffffffffffffffffffffffff"), Scalar::BigInt("79228162514264337593543950335".into()));
        assert_eq!(of("-1_000_000_000_000_000_000_000"), Scalar::BigInt("-1000000000000000000000".into()));
        assert_eq!(of("02000000000000000000000"), Scalar::BigInt("18446744073709551616".into()));
    }

    #[test]
    fn floats_need_point_and_signed_exponent() {
        for (text, value) in [
            (".5", 0.5),
            ("5.", 5.0),
            ("1.0e+3", 1000.0),
            ("1.e-3", 0.001),
            ("-1.5", -1.5),
            ("1_0.5", 10.5),
            ("190:20:30.15", 685_230.15),
            (".inf", f64::INFINITY),
            ("-.Inf", f64::NEG_INFINITY),
            ("1:30.", 90.0),
        ] {
            assert_eq!(of(text), Scalar::Float(value), "{text}");
        }
        assert!(matches!(of(".NaN"), Scalar::Float(x) if x.is_nan()));
        for text in ["1e3", "1.0e3", "1e+3", "1e-400", "-.5", "-.nan", "._5", "1.5e", "1.5e+", "1.2.3", "+.5"] {
            assert_eq!(of(text), Scalar::Str(text.into()), "{text}");
        }
    }

    #[test]
    fn timestamps_keep_their_text() {
        for text in [
            "2002-12-14",
            "2001-12-14t21:59:43.10-05:00",
            "2001-12-14 21:59:43.10 -5",
            "2001-12-15 2:59:43.10",
            "2001-1-1T1:00:00Z",
        ] {
            assert_eq!(of(text), Scalar::Timestamp(text.into()), "{text}");
        }
        for text in ["2002-1-4", "2002-12-14T", "2002-12-14 21:59", "20021-12-14", "2001-12-14 21:59:43 x"] {
            assert_eq!(of(text), Scalar::Str(text.into()), "{text}");
        }
    }
}
