//! Dudley text to tokens: one scanner for both dialects.
//!
//! A token is a kind and a place; names and numbers are looked at again only if they matter.
//! Comments are whitespace, except that `##` and `#:` are remembered, and each token has the number of
//! comments before it.

use super::model::{Byteorder, Dialect, Primitive};
use crate::span::Span;

/// The kind of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum T {
    /// An unquoted name.
    Symbol,
    /// A quoted name.
    Quoted,
    Integer,
    Float,
    /// A primitive with `<`, `>` or `|` before it.
    Prim,
    /// A run of `+`, not followed by a digit.
    Plus,
    /// A run of `-`, not followed by a digit.
    Minus,
    Equal,
    Colon,
    ColonEqual,
    OpenBracket,
    CloseBracket,
    OpenBrace,
    CloseBrace,
    OpenParen,
    CloseParen,
    Comma,
    Slash,
    DotDot,
    At,
    Percent,
    Star,
    Ampersand,
    /// `->`
    Into,
    /// `<-`
    From,
    /// The byte order character that opens a layout of 2025.
    Order,
    /// `?`, which no dialect has any more: known only to say so.
    Question,
    /// Unterminated quoted name.
    BadQuote,
    /// A character that means nothing here.
    BadCharacter,
    /// A number that is none.
    BadNumber,
    /// `<`, `>` or `|` without a primitive.
    BadPrefix,
    /// The end of the text.
    End,
}

/// A token: what, where, its value if an integer, and the special comments met so far.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Token {
    pub kind: T,
    pub span: Span,
    /// Value of an integer, or length of a run of signs.
    pub value: i64,
    /// Number of special comments before this token.
    pub notes: u32,
}

impl Token {
    /// Returns `true` if it is a name, quoted or not.
    pub(super) fn is_name(self) -> bool {
        matches!(self.kind, T::Symbol | T::Quoted)
    }
}

/// The kind of token that a byte can begin; the scanner's one table.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Bad,
    Blank,
    Letter,
    Digit,
    Other,
}

static CLASS: [Class; 256] = {
    let mut table = [Class::Bad; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = match byte as u8 {
            b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c => Class::Blank,
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => Class::Letter,
            b'0'..=b'9' => Class::Digit,
            b'!'..=b'~' => Class::Other,
            _ => Class::Bad,
        };
        byte += 1;
    }
    table
};

fn class(byte: u8) -> Class {
    CLASS[byte as usize]
}

/// Returns `true` if a byte may be inside an unquoted name.
fn is_word(byte: u8) -> bool {
    matches!(class(byte), Class::Letter | Class::Digit)
}

/// Scans a text for tokens.
pub(crate) struct Lexer<'t> {
    text: &'t str,
    at: usize,
    dialect: Dialect,
    /// The next token is the first.
    first: bool,
    /// The special comments met: from `##` or `#:` to the end of the line.
    pub notes: Vec<Span>,
}

impl<'t> Lexer<'t> {
    /// A scanner at the beginning of `text`, which is at most 4 GiB long.
    pub(super) fn new(text: &'t str, dialect: Dialect) -> Self {
        Self { text, at: 0, dialect, first: true, notes: Vec::new() }
    }

    /// A scanner for a part of `text`, such as the inside of a comment.
    pub(super) fn part(text: &'t str, span: Span, dialect: Dialect) -> Self {
        let text = text.get(..span.end as usize).unwrap_or(text);
        Self { text, at: span.start as usize, dialect, first: false, notes: Vec::new() }
    }

    fn byte(&self, at: usize) -> u8 {
        self.text.as_bytes().get(at).copied().unwrap_or(0)
    }

    /// A scanner that is where this one is; comments on its way are not remembered.
    pub(super) fn fork(&self) -> Self {
        Self { text: self.text, at: self.at, dialect: self.dialect, first: self.first, notes: Vec::new() }
    }

    /// The token after the one given last, without taking it.
    pub(super) fn peek(&self) -> Token {
        self.fork().next()
    }

    /// The next token; [`T::End`] for ever after the last.
    pub(super) fn next(&mut self) -> Token {
        self.skip_blank();
        let start = self.at;
        let notes = self.notes.len() as u32;
        let first = std::mem::replace(&mut self.first, false);
        let Some(&byte) = self.text.as_bytes().get(start) else {
            return Token { kind: T::End, span: Span::of(start, start), value: 0, notes };
        };
        let mut value = 0;
        let kind = match class(byte) {
            Class::Letter => {
                self.skip_word();
                T::Symbol
            }
            Class::Digit => self.number(start, &mut value),
            _ if first && self.dialect == Dialect::D2025 && matches!(byte, b'<' | b'>') => {
                self.at += 1;
                T::Order
            }
            _ => self.punctuation(byte, &mut value),
        };
        // A NUL inside quotes is the illegal character, not the quote.
        let start = if kind == T::BadCharacter { start + value as usize } else { start };
        Token { kind, span: Span::of(start, self.at), value, notes }
    }

    fn skip_word(&mut self) {
        let bytes = self.text.as_bytes();
        let mut at = self.at;
        while at < bytes.len() && is_word(bytes[at]) {
            at += 1;
        }
        self.at = at;
    }

    /// Skips whitespace and comments, remembering the special ones.
    fn skip_blank(&mut self) {
        let bytes = self.text.as_bytes();
        loop {
            while self.at < bytes.len() && class(bytes[self.at]) == Class::Blank {
                self.at += 1;
            }
            if self.byte(self.at) != b'#' {
                return;
            }
            let start = self.at;
            let rest = bytes.get(start..).unwrap_or(&[]);
            let end = memchr::memchr2(b'\n', b'\r', rest).map_or(bytes.len(), |n| start + n);
            if matches!(self.byte(start + 1), b'#' | b':') && start + 1 < end {
                self.notes.push(Span::of(start, end));
            }
            self.at = end;
        }
    }

    /// Takes one or two bytes of punctuation, a quoted name, a prefixed primitive or a run of signs.
    fn punctuation(&mut self, byte: u8, value: &mut i64) -> T {
        let start = self.at;
        let next = self.byte(start + 1);
        self.at = start + 1;
        match byte {
            b'=' => T::Equal,
            b':' if next == b'=' && self.dialect == Dialect::D2025 => {
                self.at += 1;
                T::ColonEqual
            }
            b':' => T::Colon,
            b'[' => T::OpenBracket,
            b']' => T::CloseBracket,
            b'{' => T::OpenBrace,
            b'}' => T::CloseBrace,
            b'(' => T::OpenParen,
            b')' => T::CloseParen,
            b',' => T::Comma,
            b'/' => T::Slash,
            b'@' => T::At,
            b'%' => T::Percent,
            b'*' => T::Star,
            b'&' => T::Ampersand,
            b'?' => T::Question,
            b'.' if next == b'.' => {
                self.at += 1;
                T::DotDot
            }
            b'.' if next.is_ascii_digit() => self.number(start, value),
            b'"' | b'\'' => self.quoted(byte, value),
            b'<' if next == b'-' => {
                self.at += 1;
                T::From
            }
            b'<' | b'>' | b'|' => self.prefixed(),
            b'+' | b'-' => self.signs(byte, value),
            _ => {
                // The whole character, so that the next token begins on a boundary.
                self.at = (start + 1..=self.text.len()).find(|&at| self.text.is_char_boundary(at)).unwrap_or(self.text.len());
                T::BadCharacter
            }
        }
    }

    /// QUOTED = '"' qchar* '"' | "'" qchar* "'"
    fn quoted(&mut self, quote: u8, value: &mut i64) -> T {
        let bytes = self.text.as_bytes();
        let open = self.at - 1;
        let mut at = self.at;
        while let Some(n) = bytes.get(at..).and_then(|rest| memchr::memchr3(quote, b'\\', 0, rest)) {
            at += n;
            match bytes[at] {
                b'\\' if matches!(self.byte(at + 1), b'\\' | b'"' | b'\'') => at += 2,
                b'\\' => at += 1,
                0 => {
                    *value = (at - open) as i64;
                    self.at = at + 1;
                    return T::BadCharacter;
                }
                _ => {
                    self.at = at + 1;
                    return T::Quoted;
                }
            }
        }
        self.at = bytes.len();
        T::BadQuote
    }

    /// PRIM = [<>|] primitive, not followed by a letter, a digit or `_`
    fn prefixed(&mut self) -> T {
        let start = self.at;
        self.skip_word();
        if Primitive::named(self.text.get(start..self.at).unwrap_or(""), self.dialect).is_some() {
            return T::Prim;
        }
        self.at = start;
        T::BadPrefix
    }

    /// SUFFIX = '+'+ | '-'+, or a signed number, or `->`
    fn signs(&mut self, sign: u8, value: &mut i64) -> T {
        let start = self.at - 1;
        let mut end = self.at;
        while self.byte(end) == sign {
            end += 1;
        }
        let next = self.byte(end);
        if end - start == 1 {
            if sign == b'-' && next == b'>' {
                self.at = end + 1;
                return T::Into;
            }
            if next.is_ascii_digit() || (next == b'.' && self.byte(end + 1).is_ascii_digit()) {
                return self.number(start, value);
            }
        } else if next.is_ascii_digit() {
            // The last sign belongs to the number.
            end -= 1;
        }
        self.at = end;
        *value = (end - start) as i64;
        if sign == b'+' { T::Plus } else { T::Minus }
    }

    fn skip_digits(&mut self) -> usize {
        let from = self.at;
        while self.byte(self.at).is_ascii_digit() {
            self.at += 1;
        }
        self.at - from
    }

    /// INTEGER = [+-]? ( 0 | [1-9][0-9]* | 0[xX][0-9A-Fa-f]+ ); FLOAT has a point, an exponent or both
    fn number(&mut self, start: usize, value: &mut i64) -> T {
        self.at = start + usize::from(matches!(self.byte(start), b'+' | b'-'));
        let digits = self.at;
        let hex = self.byte(digits) == b'0' && matches!(self.byte(digits + 1), b'x' | b'X');
        let mut float = false;
        if hex {
            self.at += 2;
            while self.byte(self.at).is_ascii_hexdigit() {
                self.at += 1;
            }
        } else {
            self.skip_digits();
            if self.byte(self.at) == b'.' && self.byte(self.at + 1) != b'.' {
                float = true;
                self.at += 1;
                self.skip_digits();
            }
            float |= self.exponent();
        }
        let end = self.at;
        self.skip_word();
        if self.at != end {
            return T::BadNumber;
        }
        if float {
            return T::Float;
        }
        match parse_integer(self.text.get(start..end).unwrap_or("")) {
            Some(number) => {
                *value = number;
                T::Integer
            }
            None => T::BadNumber,
        }
    }

    /// exp = [eE] [+-]? digits
    fn exponent(&mut self) -> bool {
        if !matches!(self.byte(self.at), b'e' | b'E') {
            return false;
        }
        let before = self.at;
        self.at += 1;
        if matches!(self.byte(self.at), b'+' | b'-') {
            self.at += 1;
        }
        if self.skip_digits() == 0 {
            self.at = before;
            return false;
        }
        true
    }
}

/// The value of an integer of the grammar, `None` if it has leading zeros or does not fit.
pub(crate) fn parse_integer(text: &str) -> Option<i64> {
    let (negative, digits) = match text.as_bytes().first()? {
        b'-' => (true, text.get(1..)?),
        b'+' => (false, text.get(1..)?),
        _ => (false, text),
    };
    let magnitude = match digits.get(..2) {
        Some("0x" | "0X") => u64::from_str_radix(digits.get(2..)?, 16).ok()?,
        _ if digits.len() > 1 && digits.starts_with('0') => return None,
        _ => digits.parse::<u64>().ok()?,
    };
    if negative { 0i64.checked_sub_unsigned(magnitude) } else { i64::try_from(magnitude).ok() }
}

/// The name that a token spells: quotes removed, `\\`, `\"` and `\'` undone.
pub(crate) fn unquote(text: &str) -> std::borrow::Cow<'_, str> {
    if !text.starts_with(['"', '\'']) {
        return text.into();
    }
    let inside = text.get(1..text.len().saturating_sub(1)).unwrap_or("");
    if !inside.contains('\\') {
        return inside.into();
    }
    let mut out = String::with_capacity(inside.len());
    let mut characters = inside.chars().peekable();
    while let Some(c) = characters.next() {
        match (c, characters.peek()) {
            ('\\', Some(&next @ ('\\' | '"' | '\''))) => {
                characters.next();
                out.push(next);
            }
            _ => out.push(c),
        }
    }
    out.into()
}

/// Returns `true` if a name may be written without quotes.
pub(crate) fn is_symbol(name: &str) -> bool {
    name.bytes().all(is_word) && name.bytes().next().is_some_and(|b| !b.is_ascii_digit())
}

/// A name as a layout or an item path spells it: in double quotes unless it is a symbol.
///
/// ```
/// use trilith_layout::layout::quoted_name;
/// assert_eq!((quoted_name("te").as_str(), quoted_name("a b").as_str()), ("te", "\"a b\""));
/// ```
pub fn quoted_name(name: &str) -> String {
    let mut out = String::new();
    push_name(&mut out, name);
    out
}

/// Appends a name as it would be written: with double quotes unless it is a symbol.
pub(crate) fn push_name(out: &mut String, name: &str) {
    if is_symbol(name) {
        out.push_str(name);
        return;
    }
    out.push('"');
    for c in name.chars() {
        if matches!(c, '"' | '\\') {
            out.push('\\');
        }
        out.push(c);
    }
    out.push('"');
}

/// The order that an order character or a prefix means; `|` means none.
pub(crate) fn order_of(prefix: u8) -> Option<Byteorder> {
    match prefix {
        b'<' => Some(Byteorder::Little),
        b'>' => Some(Byteorder::Big),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str, dialect: Dialect) -> Vec<T> {
        let mut lexer = Lexer::new(text, dialect);
        std::iter::from_fn(|| Some(lexer.next().kind).filter(|&k| k != T::End)).collect()
    }

    #[test]
    fn dot_dot_precedes_float() {
        assert_eq!(kinds("@16..", Dialect::D2026), [T::At, T::Integer, T::DotDot]);
        assert_eq!(kinds("1.5 .5 2. 3e4 -1e-3", Dialect::D2026), [T::Float; 5]);
    }

    #[test]
    fn sign_before_digit_joins_number() {
        assert_eq!(kinds("IMAX-1", Dialect::D2025), [T::Symbol, T::Integer]);
        assert_eq!(kinds("IMAX-- 1", Dialect::D2025), [T::Symbol, T::Minus, T::Integer]);
        assert_eq!(kinds("N--5", Dialect::D2025), [T::Symbol, T::Minus, T::Integer]);
    }

    #[test]
    fn order_2025_is_first_character_only() {
        assert_eq!(kinds("<i8 {", Dialect::D2025), [T::Order, T::Symbol, T::OpenBrace]);
        assert_eq!(kinds("x <i8", Dialect::D2025), [T::Symbol, T::Prim]);
        assert_eq!(kinds("<i8", Dialect::D2026), [T::Prim]);
        assert_eq!(kinds("<i8x", Dialect::D2026), [T::BadPrefix, T::Symbol]);
    }

    #[test]
    fn integers_reject_leading_zeros_and_overflow() {
        assert_eq!(parse_integer("0"), Some(0));
        assert_eq!(parse_integer("-0x10"), Some(-16));
        assert_eq!(parse_integer("-9223372036854775808"), Some(i64::MIN));
        assert_eq!(parse_integer("9223372036854775808"), None);
        assert_eq!(parse_integer("007"), None);
        assert_eq!(parse_integer("0x"), None);
        assert_eq!(kinds("3x 0x 08 1_0", Dialect::D2025), [T::BadNumber; 4]);
    }

    #[test]
    fn backslash_escapes_only_quotes_and_itself() {
        assert_eq!(unquote(r#""a\"b\\c\n""#), "a\"b\\c\\n");
        assert_eq!(kinds(r#" "a\" # b" 'x"y' "" "#, Dialect::D2025), [T::Quoted; 3]);
        assert_eq!(kinds("\"abc", Dialect::D2025), [T::BadQuote]);
    }

    #[test]
    fn special_comments_count_before_next_token() {
        let mut lexer = Lexer::new("a ## doc\n# plain\r#: k=1\rb", Dialect::D2025);
        assert_eq!(lexer.next().notes, 0);
        assert_eq!(lexer.next().notes, 2);
        assert_eq!(lexer.notes.len(), 2);
    }
}
