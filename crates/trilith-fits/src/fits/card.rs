//! One card of a header: keyword, value and comment, and the records of 80 bytes they are in.
//!
//! FITS Standard 4.0, sections 4.1 and 4.2; the CONTINUE convention of 4.2.1.2 and the registered
//! HIERARCH convention. A card keeps its bytes, so that what was read is written as it was.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use super::card_number;
use crate::error::{Error, Result};
use crate::tree::{Value, ValueData};

/// Bytes of one record of a header.
pub const RECORD_LEN: usize = 80;
/// Characters of text that a commentary record holds.
const COMMENTARY_LEN: usize = RECORD_LEN - 8;
/// Characters between the quotes of a record that another one continues.
const CONTINUED_LEN: usize = 67;

/// The value of a card.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum CardValue {
    /// The value field is blank.
    Undefined,
    /// `T` or `F`.
    Logical(bool),
    /// A whole number.
    Integer(i128),
    /// A number with a point or an exponent.
    Float(f64),
    /// A complex number: two numbers in parentheses.
    Complex(f64, f64),
    /// Text without its trailing blanks; of COMMENT, HISTORY and blank keywords too.
    Text(String),
}

/// Formats the value for people, a text in apostrophes as in a card.
impl std::fmt::Display for CardValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Undefined => f.write_str("without a value"),
            Self::Logical(yes) => f.write_str(if *yes { "T" } else { "F" }),
            Self::Integer(number) => write!(f, "{number}"),
            Self::Float(number) => write!(f, "{number}"),
            Self::Complex(re, im) => write!(f, "({re}, {im})"),
            Self::Text(text) => write!(f, "'{}'", text.replace('\'', "''")),
        }
    }
}

impl From<bool> for CardValue {
    fn from(value: bool) -> Self {
        Self::Logical(value)
    }
}

impl From<i64> for CardValue {
    fn from(value: i64) -> Self {
        Self::Integer(value.into())
    }
}

impl From<u64> for CardValue {
    fn from(value: u64) -> Self {
        Self::Integer(value.into())
    }
}

impl From<f64> for CardValue {
    fn from(value: f64) -> Self {
        Self::Float(value)
    }
}

impl From<&str> for CardValue {
    fn from(value: &str) -> Self {
        Self::Text(value.to_owned())
    }
}

impl CardValue {
    /// The value that is in a value field without quotes.
    pub(super) fn of_token(token: &str) -> Self {
        parse_token(token.trim())
    }
}

/// The value of a card that a person typed, as a value of a tree: `T`, `F`, a number, or else a string, with or without
/// the apostrophes of FITS (section 4.2).
///
/// ```
/// use trilith_fits::fits::typed_value;
/// use trilith_yaml::tree::Value;
/// assert_eq!(typed_value("1.5D3"), Value::from(1500.0));
/// assert_eq!(typed_value("010"), Value::from(10));
/// assert_eq!(typed_value("12:30:00"), Value::from("12:30:00"));
/// assert_eq!(typed_value("'010'"), Value::from("010"));
/// ```
pub fn typed_value(text: &str) -> Value {
    let typed = text.trim();
    if let Some(inner) = typed.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\''))
        && !inner.replace("''", "").contains('\'')
    {
        return Value::from(inner.replace("''", "'").trim_end_matches(' '));
    }
    match CardValue::of_token(typed) {
        CardValue::Undefined => Value::from(""),
        CardValue::Logical(value) => Value::from(value),
        CardValue::Integer(n) => i64::try_from(n).map_or_else(|_| ValueData::BigInt(n.to_string()).into(), Value::from),
        CardValue::Float(x) if x.is_finite() => Value::from(x),
        _ => Value::from(text),
    }
}

/// A keyword with its value and comment.
///
/// ```
/// use trilith_fits::fits::{Card, CardValue};
/// let card = Card::new("EXPTIME", 12.5, "seconds")?;
/// assert_eq!(card.bytes()[..40], *b"EXPTIME =                 12.5 / seconds");
/// assert_eq!(Card::parse(card.bytes()).value(), &CardValue::Float(12.5));
/// # Ok::<(), trilith_fits::Error>(())
/// ```
#[derive(Clone)]
pub struct Card {
    /// Records of the header that the card is in, which its cards share.
    records: Arc<[u8]>,
    /// The records of the card among them.
    range: Range<usize>,
    keyword: Keyword,
    /// Value and comment. Those of a card that was read are parsed when they are asked for.
    content: OnceLock<Box<CardContent>>,
}

/// The keyword of a card.
#[derive(Clone)]
enum Keyword {
    /// Characters of the first record of the card, all of ASCII.
    InRecord(Range<usize>),
    /// A keyword in other characters.
    Text(Box<str>),
}

impl Keyword {
    /// The keyword that is at a byte of its record, without the blanks around it.
    fn trimmed(text: Cow<'_, str>, offset: usize) -> Self {
        match text {
            Cow::Borrowed(text) => {
                let start = offset + text.len() - text.trim_start().len();
                Self::InRecord(start..start + text.trim().len())
            }
            Cow::Owned(text) => Self::Text(text.trim().into()),
        }
    }
}

/// Value and comment of a card.
#[derive(Clone, PartialEq)]
struct CardContent {
    value: CardValue,
    comment: String,
}

/// Compares the content and the bytes.
impl PartialEq for Card {
    fn eq(&self, other: &Self) -> bool {
        self.bytes() == other.bytes() && self.is_equivalent(other)
    }
}

impl std::fmt::Debug for Card {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut card = f.debug_struct("Card");
        card.field("keyword", &self.keyword()).field("value", self.value()).field("comment", &self.comment());
        card.finish_non_exhaustive()
    }
}

impl Card {
    /// A card in the fixed format: numbers end in column 30, text is at least 8 characters, long text
    /// goes on in CONTINUE records.
    ///
    /// Keywords longer than 8 characters or with blanks become HIERARCH cards; COMMENT, HISTORY and
    /// the blank keyword take text, in as many records as it needs.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for other characters than ASCII 32 to 126, which a
    /// header cannot hold (section 4.1.2), and for what does not fit into a record.
    pub fn new(keyword: &str, value: impl Into<CardValue>, comment: &str) -> Result<Self> {
        let (keyword, value) = (keyword.strip_prefix("HIERARCH ").unwrap_or(keyword).trim(), value.into());
        let standard = is_standard(keyword);
        let keyword = if standard { keyword.to_ascii_uppercase() } else { keyword.to_owned() };
        let printable = |c: char| matches!(c, ' '..='~');
        if keyword == "END" || keyword == "CONTINUE" || !keyword.chars().all(printable) || (!standard && keyword.contains('=')) {
            return Err(Error::invalid_input(format!("{keyword:?} cannot be a FITS keyword")));
        }
        let text = if let CardValue::Text(text) = &value { text.as_str() } else { "" };
        if !text.chars().chain(comment.chars()).all(printable) {
            return Err(Error::invalid_input(format!("value and comment of {keyword} can only be ASCII text in a FITS header")));
        }
        let bytes = format_records(&keyword, standard, &value, comment)?;
        Ok(Self::with_content(&keyword, value, comment.to_owned(), bytes))
    }

    /// A card whose content is known.
    fn with_content(keyword: &str, value: CardValue, comment: String, bytes: Vec<u8>) -> Self {
        let content = OnceLock::from(Box::new(CardContent { value, comment }));
        Self { range: 0..bytes.len(), records: bytes.into(), keyword: Keyword::Text(keyword.into()), content }
    }

    /// A blank record.
    pub fn new_blank() -> Self {
        Self::with_content("", CardValue::Text(String::new()), String::new(), vec![b' '; RECORD_LEN])
    }

    /// Reads one record and the CONTINUE records after it. Never fails: a value that is none of
    /// FITS's is taken as text. Bytes beyond ASCII are taken as Latin-1.
    pub fn parse(bytes: &[u8]) -> Self {
        Self::in_records(&Arc::from(bytes), 0..bytes.len())
    }

    /// Does the same as [`Card::parse`], for the bytes of a range of the records of a header.
    pub(super) fn in_records(records: &Arc<[u8]>, range: Range<usize>) -> Self {
        let bytes = records.get(range.clone()).unwrap_or_default();
        let keyword = split_record(bytes.get(..RECORD_LEN).unwrap_or(bytes)).0;
        Self { records: Arc::clone(records), range, keyword, content: OnceLock::new() }
    }

    /// Value and comment.
    fn content(&self) -> &CardContent {
        self.content.get_or_init(|| Box::new(CardContent::parse(self.bytes())))
    }

    /// The keyword; that of a HIERARCH card without the word HIERARCH.
    pub fn keyword(&self) -> &str {
        match &self.keyword {
            Keyword::InRecord(range) => {
                self.bytes().get(range.clone()).and_then(|word| std::str::from_utf8(word).ok()).unwrap_or("")
            }
            Keyword::Text(text) => text,
        }
    }

    /// Returns `true` if this is the keyword of the card.
    pub(super) fn has_keyword(&self, keyword: &str) -> bool {
        match &self.keyword {
            Keyword::InRecord(range) => {
                range.len() == keyword.len() && self.bytes().get(range.clone()) == Some(keyword.as_bytes())
            }
            Keyword::Text(text) => **text == *keyword,
        }
    }

    /// The value.
    pub fn value(&self) -> &CardValue {
        &self.content().value
    }

    /// Returns the text after the slash.
    pub fn comment(&self) -> &str {
        &self.content().comment
    }

    /// The records, a multiple of 80 bytes, as they were read or as [`Card::new`] makes them.
    pub fn bytes(&self) -> &[u8] {
        self.records.get(self.range.clone()).unwrap_or_default()
    }

    /// Returns `true` if keyword, value and comment are those of another card, however they are spelt.
    pub fn is_equivalent(&self, other: &Self) -> bool {
        self.keyword() == other.keyword() && self.content() == other.content()
    }

    /// Returns `true` if this is COMMENT, HISTORY or a blank keyword, which have text instead of a value.
    pub fn is_commentary(&self) -> bool {
        is_commentary(self.keyword())
    }
}

impl CardContent {
    /// Reads value and comment of a record and of the CONTINUE records after it.
    fn parse(bytes: &[u8]) -> Self {
        let mut records = bytes.chunks(RECORD_LEN);
        let first = records.next().unwrap_or_default();
        let (value, mut comment) = match split_record(first).1 {
            ValueField::Commentary(text) => (CardValue::Text(decode_latin1(trim_end_blanks(text)).into_owned()), String::new()),
            ValueField::Value(field) => parse_value(field),
        };
        let value = match value {
            CardValue::Text(mut text) if bytes.len() > RECORD_LEN => {
                for record in records {
                    let more = record.get(8..).unwrap_or_default();
                    if text.ends_with('&') {
                        text.pop();
                    }
                    let (part, part_comment) = parse_value(more);
                    if let CardValue::Text(part) = part {
                        text.push_str(&part);
                    }
                    if !part_comment.is_empty() {
                        if !comment.is_empty() {
                            comment.push(' ');
                        }
                        comment.push_str(&part_comment);
                    }
                }
                CardValue::Text(text)
            }
            value => value,
        };
        Self { value, comment }
    }
}

/// Returns `true` if the record after `card` continues it: its text ends in `&`, and the record is CONTINUE.
pub(super) fn is_continued(card: &[u8], next: &[u8]) -> bool {
    let last = card.get(card.len().saturating_sub(RECORD_LEN)..).unwrap_or_default();
    // A text that continues ends in `&`; looking for an `&` first spares the parsing.
    if !next.starts_with(b"CONTINUE") || next.get(8) == Some(&b'=') || !last.contains(&b'&') {
        return false;
    }
    let field = if last.starts_with(b"CONTINUE") {
        last.get(8..).unwrap_or_default()
    } else {
        match split_record(last).1 {
            ValueField::Value(field) => field,
            ValueField::Commentary(_) => return false,
        }
    };
    matches!(parse_value(field).0, CardValue::Text(text) if text.ends_with('&'))
}

fn is_commentary(keyword: &str) -> bool {
    matches!(keyword, "COMMENT" | "HISTORY" | "")
}

fn is_standard(keyword: &str) -> bool {
    keyword.len() <= 8 && keyword.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}

/// Decodes Latin-1, in which each byte is the number of its character. Text in ASCII, as nearly all is, stays where it is.
fn decode_latin1(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) if bytes.is_ascii() => Cow::Borrowed(text),
        _ => Cow::Owned(bytes.iter().map(|b| char::from(*b)).collect()),
    }
}

/// Blanks that are compared at once, since they are half of most records.
const BLANKS: [u8; 8] = *b"        ";

fn trim_start_blanks(mut bytes: &[u8]) -> &[u8] {
    while let Some(rest) = bytes.strip_prefix(&BLANKS) {
        bytes = rest;
    }
    let start = bytes.iter().position(|b| *b != b' ').unwrap_or(bytes.len());
    bytes.get(start..).unwrap_or_default()
}

fn trim_end_blanks(mut bytes: &[u8]) -> &[u8] {
    while let Some(rest) = bytes.strip_suffix(&BLANKS) {
        bytes = rest;
    }
    bytes.iter().rposition(|b| *b != b' ').map_or(&[], |last| bytes.get(..=last).unwrap_or_default())
}

enum ValueField<'a> {
    Value(&'a [u8]),
    Commentary(&'a [u8]),
}

/// Keyword and value field of a first record.
fn split_record(record: &[u8]) -> (Keyword, ValueField<'_>) {
    let (head, rest) = record.split_at_checked(8).unwrap_or((record, &[]));
    let head = decode_latin1(head);
    let word = head.trim_end();
    if word == "HIERARCH" {
        let long = rest.iter().position(|b| *b == b'=').filter(|at| !rest[..*at].contains(&b'\''));
        if let Some((name, value)) = long.and_then(|at| rest.split_at_checked(at)) {
            return (Keyword::trimmed(decode_latin1(name), 8), ValueField::Value(value.get(1..).unwrap_or_default()));
        }
    }
    let field = match rest {
        [b'=', value @ ..] if !is_commentary(word) => ValueField::Value(value),
        _ => ValueField::Commentary(rest),
    };
    let keyword = match &head {
        Cow::Borrowed(_) => Keyword::InRecord(0..word.len()),
        Cow::Owned(_) => Keyword::Text(word.into()),
    };
    (keyword, field)
}

/// Value and comment of a value field.
fn parse_value(field: &[u8]) -> (CardValue, String) {
    let field = trim_start_blanks(field);
    if let Some(quoted) = field.strip_prefix(b"'") {
        let (text, rest) = parse_quoted(quoted);
        return (CardValue::Text(text), comment_of(rest));
    }
    let slash = memchr::memchr(b'/', field).unwrap_or(field.len());
    let (token, rest) = field.split_at(slash);
    (parse_token(decode_latin1(trim_end_blanks(token)).trim()), comment_of(rest))
}

/// The text up to the closing quote, without trailing blanks, and what is after it.
fn parse_quoted(quoted: &[u8]) -> (String, &[u8]) {
    let mut from = 0;
    let end = loop {
        match memchr::memchr(b'\'', quoted.get(from..).unwrap_or_default()) {
            None => break quoted.len(),
            // Two apostrophes are one in the text.
            Some(at) if quoted.get(from + at + 1) == Some(&b'\'') => from += at + 2,
            Some(at) => break from + at,
        }
    };
    let text = decode_latin1(trim_end_blanks(quoted.get(..end).unwrap_or_default()));
    let text = if from > 0 { text.replace("''", "'") } else { text.into_owned() };
    (text, quoted.get(end + 1..).unwrap_or_default())
}

fn comment_of(rest: &[u8]) -> String {
    let slash = memchr::memchr(b'/', rest).map_or(rest.len(), |at| at + 1);
    decode_latin1(trim_start_blanks(trim_end_blanks(rest.get(slash..).unwrap_or_default()))).into_owned()
}

fn parse_token(token: &str) -> CardValue {
    match token {
        "" => return CardValue::Undefined,
        "T" => return CardValue::Logical(true),
        "F" => return CardValue::Logical(false),
        _ => {}
    }
    if let Some((re, im)) = token.strip_prefix('(').and_then(|t| t.strip_suffix(')')).and_then(|t| t.split_once(','))
        && let (Some(re), Some(im)) = (card_number::parse_number(re.trim()), card_number::parse_number(im.trim()))
    {
        return CardValue::Complex(re, im);
    }
    if let Ok(whole) = token.parse::<i128>() {
        return CardValue::Integer(whole);
    }
    card_number::parse_number(token).map_or_else(|| CardValue::Text(token.to_owned()), CardValue::Float)
}

/// The records of a card.
fn format_records(keyword: &str, standard: bool, value: &CardValue, comment: &str) -> Result<Vec<u8>> {
    if is_commentary(keyword) {
        return format_commentary(keyword, value, comment);
    }
    let head = if standard { format!("{keyword:8}= ") } else { format!("HIERARCH {keyword} = ") };
    let mut shown = match value {
        CardValue::Undefined => String::new(),
        CardValue::Logical(true) => format!("{:>20}", "T"),
        CardValue::Logical(false) => format!("{:>20}", "F"),
        CardValue::Integer(n) => format!("{n:>20}"),
        CardValue::Float(x) => format!("{:>20}", card_number::print_number(*x)?),
        CardValue::Complex(re, im) => {
            format!("{:>20}", format!("({}, {})", card_number::print_number(*re)?, card_number::print_number(*im)?))
        }
        CardValue::Text(text) if text.is_empty() => "''".to_owned(),
        CardValue::Text(text) => format!("{:20}", format!("'{:8}'", text.replace('\'', "''"))),
    };
    if !standard {
        shown = shown.trim().to_owned();
    }
    let behind = if comment.is_empty() { String::new() } else { format!(" / {comment}") };
    let line = format!("{head}{shown}{behind}").into_bytes();
    if line.len() <= RECORD_LEN {
        return Ok(pad_to_record(line));
    }
    if head.chars().count() + 8 > RECORD_LEN {
        return Err(Error::invalid_input(format!("the keyword {keyword} is too long for a record of 80 bytes")));
    }
    match value {
        CardValue::Text(text) => Ok(format_long(&head, &text.replace('\'', "''"), comment)),
        _ => Err(Error::invalid_input(format!("value and comment of {keyword} need {} bytes, a record has 80", line.len()))
            .hint("make the comment shorter")),
    }
}

fn pad_to_record(mut record: Vec<u8>) -> Vec<u8> {
    record.resize(record.len().next_multiple_of(RECORD_LEN).max(RECORD_LEN), b' ');
    record
}

/// Text in several records: `KEY = 'begin &'`, `CONTINUE  'end' / comment`.
fn format_long(head: &str, quoted: &str, comment: &str) -> Vec<u8> {
    let first = (CONTINUED_LEN + 10).saturating_sub(head.chars().count()).max(2);
    let pieces = split_text(quoted, first, CONTINUED_LEN);
    let mut out = Vec::new();
    for (i, piece) in pieces.iter().enumerate() {
        let head = if i == 0 { head } else { "CONTINUE  " };
        let goes_on = if i + 1 < pieces.len() || !comment.is_empty() { "&" } else { "" };
        out.extend(pad_to_record(format!("{head}'{piece}{goes_on}'").into_bytes()));
    }
    let comments = if comment.is_empty() { Vec::new() } else { split_text(comment, 64, 64) };
    for (i, piece) in comments.iter().enumerate() {
        let goes_on = if i + 1 < comments.len() { "&" } else { "" };
        out.extend(pad_to_record(format!("CONTINUE  '{goes_on}' / {}", piece.trim_end()).into_bytes()));
    }
    out
}

/// Cuts text into pieces of at most this number of characters, after a blank if there is one.
fn split_text(text: &str, first: usize, others: usize) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    let (mut pieces, mut from, mut most) = (Vec::new(), 0, first);
    while from < chars.len() {
        let mut to = (from + most).min(chars.len());
        if to < chars.len() {
            let cut = chars.get(from..to).and_then(|part| part.iter().rposition(|c| *c == ' '));
            to = cut.map_or(to, |at| from + at + 1);
            // A pair of quotes means one quote and must stay together; blanks before a cut are kept by the `&`.
            let quotes = chars.get(from..to).map_or(0, |part| part.iter().rev().take_while(|c| **c == '\'').count());
            if quotes % 2 == 1 && to > from + 1 {
                to -= 1;
            }
        }
        pieces.push(chars.get(from..to).unwrap_or_default().iter().collect());
        (from, most) = (to, others);
    }
    pieces
}

fn format_commentary(keyword: &str, value: &CardValue, comment: &str) -> Result<Vec<u8>> {
    let text = match value {
        CardValue::Text(text) => text.as_bytes(),
        CardValue::Undefined => &[],
        _ => return Err(Error::invalid_input(format!("{keyword:?} takes text, not a value"))),
    };
    if !comment.is_empty() {
        return Err(Error::invalid_input(format!("{keyword:?} takes text and no comment")));
    }
    let mut out = Vec::new();
    for piece in text.chunks(COMMENTARY_LEN) {
        let mut record = format!("{keyword:8}").into_bytes();
        record.extend_from_slice(piece);
        out.extend(pad_to_record(record));
    }
    if out.is_empty() {
        out = pad_to_record(format!("{keyword:8}").into_bytes());
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(text: &str) -> Vec<u8> {
        pad_to_record(text.chars().map(|c| c as u8).collect())
    }

    fn parsed(text: &str) -> (String, CardValue, String) {
        let card = Card::parse(&record(text));
        (card.keyword().to_owned(), card.value().clone(), card.comment().to_owned())
    }

    #[test]
    fn value_type_follows_section_4_2() {
        let value = |text: &str| parsed(text).1;
        assert_eq!(value("A       =                    T / yes"), CardValue::Logical(true));
        assert_eq!(value("A       = F"), CardValue::Logical(false));
        assert_eq!(value("A       =                  -42"), CardValue::Integer(-42));
        assert_eq!(value("A       = 9223372036854775808"), CardValue::Integer(1 << 63));
        assert_eq!(value("A       =              1.5D+03 /"), CardValue::Float(1500.0));
        assert_eq!(value("A       = 1."), CardValue::Float(1.0));
        assert_eq!(value("A       = (1.0, -2)"), CardValue::Complex(1.0, -2.0));
        assert_eq!(value("A       =                      / c"), CardValue::Undefined);
        assert_eq!(value("A       = 'it''s  '           / c"), CardValue::Text("it's".into()));
        assert_eq!(value("A       = '  lead'"), CardValue::Text("  lead".into()));
        assert_eq!(value("A       = 'a/b' / c"), CardValue::Text("a/b".into()));
        assert_eq!(value("A       = nan"), CardValue::Text("nan".into()));
        assert_eq!(parsed("A       = 'a/b' /  c ").2, "c");
        assert_eq!(parsed("A       = 'open"), ("A".into(), CardValue::Text("open".into()), String::new()));
    }

    #[test]
    fn commentary_keeps_its_text_and_has_no_value() {
        assert_eq!(parsed("HISTORY = 1 / x"), ("HISTORY".into(), CardValue::Text("= 1 / x".into()), String::new()));
        assert_eq!(parsed("COMMENT   two blanks"), ("COMMENT".into(), CardValue::Text("  two blanks".into()), String::new()));
        assert_eq!(parsed("          text").1, CardValue::Text("  text".into()));
        assert_eq!(Card::parse(&[b' '; 80]), Card::new_blank());
    }

    #[test]
    fn hierarch_keyword_excludes_hierarch() {
        let read = parsed("HIERARCH ESO DET CHIP = 'EEV' / chip");
        assert_eq!(read, ("ESO DET CHIP".into(), CardValue::Text("EEV".into()), "chip".into()));
        let made = Card::new("ESO DET CHIP", "EEV", "chip").unwrap();
        assert_eq!(made.bytes(), record("HIERARCH ESO DET CHIP = 'EEV     ' / chip"));
    }

    #[test]
    fn keyword_is_known_without_value() {
        for (text, keyword) in [
            ("EXPTIME = 1", "EXPTIME"),
            ("A\u{e9}      = 1", "A\u{e9}"),
            ("COMMENT\u{a0}= 1", "COMMENT"),
            ("HIERARCH  ESO X = 1", "ESO X"),
            ("HIERARCH A\u{e9} = 1", "A\u{e9}"),
            ("HIERARCH 'A=1", "HIERARCH"),
            ("END", "END"),
            ("", ""),
        ] {
            let card = Card::parse(&record(text));
            assert_eq!((card.keyword(), card.has_keyword(keyword)), (keyword, true), "{text}");
            assert!(card.content.get().is_none() && !card.has_keyword("OTHER"));
            assert_eq!(card, card.clone());
        }
        assert!(Card::parse(&record("COMMENT\u{a0}= 1")).is_commentary());
        let made = Card::new("exptime", 1i64, "").unwrap();
        assert_eq!(made, Card::parse(made.bytes()));
        assert_ne!(made, Card::parse(&record("EXPTIME = 1")));
        assert!(made.is_equivalent(&Card::parse(&record("EXPTIME = 1"))));
    }

    #[test]
    fn new_card_has_fixed_format() {
        let made = |keyword, value: CardValue, comment| Card::new(keyword, value, comment).unwrap().bytes().to_vec();
        assert_eq!(made("SIMPLE", true.into(), "c"), record("SIMPLE  =                    T / c"));
        assert_eq!(made("EXTNAME", "SCI".into(), "c"), record("EXTNAME = 'SCI     '           / c"));
        assert_eq!(made("E", "".into(), ""), record("E       = ''"));
        assert_eq!(made("U", CardValue::Undefined, "c"), record("U       =  / c"));
        assert_eq!(made("F", 1e22.into(), ""), record("F       =                1E+22"));
        assert_eq!(made("HISTORY", "h".into(), ""), record("HISTORY h"));
        assert_eq!(made("HISTORY", "x".repeat(100).as_str().into(), "").len(), 160);
    }

    #[test]
    fn new_rejects_content_invalid_in_cards() {
        assert!(Card::new("END", 1i64, "").is_err());
        assert!(Card::new("A", 1i64, &"c".repeat(60)).is_err());
        assert!(Card::new("A", "\u{3b1}", "").is_err());
        assert!(Card::new("A", "a\nb", "").is_err());
        assert!(Card::new("A=B C", 1i64, "").is_err());
        assert!(Card::new("A", f64::NAN, "").is_err());
        assert!(Card::new(&"long words ".repeat(8), "x".repeat(90).as_str(), "").is_err());
    }

    #[test]
    fn long_text_is_continued_and_reads_back() {
        for text in ["word ".repeat(40) + "end", "x".repeat(300), "it's ".repeat(50) + "&", "'".repeat(140)] {
            for comment in ["", "a comment", "many words of comment ".repeat(9).trim_end()] {
                let card = Card::new("LONGSTR", text.as_str(), comment).unwrap();
                assert!(card.bytes().len() > 160);
                for pair in card.bytes().chunks(RECORD_LEN).collect::<Vec<_>>().windows(2) {
                    assert!(is_continued(pair[0], pair[1]));
                }
                let read = Card::parse(card.bytes());
                assert_eq!((read.value(), read.comment()), (&CardValue::Text(text.clone()), comment));
            }
        }
    }
}
