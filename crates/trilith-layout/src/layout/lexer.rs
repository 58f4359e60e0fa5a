//! Dudley text to tokens: one scanner for both dialects.
//!
//! A token is a kind and a place; names and numbers are looked at again only if they matter.
//! Comments are whitespace, except that `##` and `#:` are remembered, and each token has the number of
//! comments before it.

use super::model::{Byteorder, Dialect, Primitive};
use crate::span::Span;

/// The kind of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TokenKind {
    /// An unquoted name.
    Symbol,
    /// A quoted name.
    Quoted,
    Integer,
    Float,
    /// A primitive with `<`, `>` or `|` before it.
    Primitive,
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
    ArrowRight,
    /// `<-`
    ArrowLeft,
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
    pub kind: TokenKind,
    pub span: Span,
    /// Value of an integer, or length of a run of signs.
    pub value: i64,
    /// Number of special comments before this token.
    pub notes: u32,
}

impl Token {
    /// Returns `true` if it is a name, quoted or not.
    pub(super) fn is_name(self) -> bool {
        matches!(self.kind, TokenKind::Symbol | TokenKind::Quoted)
    }
}

/// The kind of token that a byte can begin; the scanner's one table.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ByteClass {
    Bad,
    Blank,
    Letter,
    Digit,
    Other,
}

static CLASS: [ByteClass; 256] = {
    let mut table = [ByteClass::Bad; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = match byte as u8 {
            b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c => ByteClass::Blank,
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => ByteClass::Letter,
            b'0'..=b'9' => ByteClass::Digit,
            b'!'..=b'~' => ByteClass::Other,
            _ => ByteClass::Bad,
        };
        byte += 1;
    }
    table
};

fn classify_byte(byte: u8) -> ByteClass {
    CLASS[byte as usize]
}

/// Returns `true` if a byte may be inside an unquoted name.
fn is_word(byte: u8) -> bool {
    matches!(classify_byte(byte), ByteClass::Letter | ByteClass::Digit)
}

/// Returns the places of the comments of a layout that are neither documentation nor attributes.
pub(super) fn plain_comments(text: &str, dialect: Dialect) -> Vec<Span> {
    let mut found = Vec::new();
    let mut lexer = Lexer::new(text, dialect);
    loop {
        lexer.take_plain_comments(&mut found);
        if lexer.next_token().kind == TokenKind::End {
            return found;
        }
    }
}

/// Returns `true` if a character that is not a letter or digit of ASCII may be inside an unquoted name of 2025: "legal C, python, or
/// javascript variable names … need not be quoted". Marks that combine with a letter are part of it.
fn is_name_character_2025(c: char) -> bool {
    c == '$' || !c.is_ascii() && (c.is_alphanumeric() || matches!(c, '\u{300}'..='\u{36f}' | '\u{200c}' | '\u{200d}'))
}

/// Scans a text for tokens.
pub(crate) struct Lexer<'t> {
    text: &'t str,
    position: usize,
    dialect: Dialect,
    /// The next token is the first.
    first_note: bool,
    /// The special comments met: from `##` or `#:` to the end of the line.
    pub notes: Vec<Span>,
}

impl<'t> Lexer<'t> {
    /// A scanner at the beginning of `text`, which is at most 4 GiB long.
    pub(super) fn new(text: &'t str, dialect: Dialect) -> Self {
        Self { text, position: 0, dialect, first_note: true, notes: Vec::new() }
    }

    /// A scanner for a part of `text`, such as the inside of a comment.
    pub(super) fn for_span(text: &'t str, span: Span, dialect: Dialect) -> Self {
        let text = text.get(..span.end as usize).unwrap_or(text);
        Self { text, position: span.start as usize, dialect, first_note: false, notes: Vec::new() }
    }

    fn byte_at(&self, at: usize) -> u8 {
        self.text.as_bytes().get(at).copied().unwrap_or(0)
    }

    /// A scanner that is where this one is; comments on its way are not remembered.
    pub(super) fn fork(&self) -> Self {
        Self { text: self.text, position: self.position, dialect: self.dialect, first_note: self.first_note, notes: Vec::new() }
    }

    /// The token after the one given last, without taking it.
    pub(super) fn peek_token(&self) -> Token {
        self.fork().next_token()
    }

    /// The next token; [`TokenKind::End`] for ever after the last.
    pub(super) fn next_token(&mut self) -> Token {
        self.skip_blank();
        let start = self.position;
        let notes = self.notes.len() as u32;
        let first = std::mem::replace(&mut self.first_note, false);
        let Some(&byte) = self.text.as_bytes().get(start) else {
            return Token { kind: TokenKind::End, span: Span::new_u32(start, start), value: 0, notes };
        };
        let mut value = 0;
        let kind = match classify_byte(byte) {
            ByteClass::Letter => {
                self.skip_word();
                TokenKind::Symbol
            }
            ByteClass::Digit => self.scan_number(start, &mut value),
            _ if self.dialect == Dialect::D2025 && self.has_letter_2025(start) => {
                self.skip_word();
                TokenKind::Symbol
            }
            _ if first && self.dialect == Dialect::D2025 && matches!(byte, b'<' | b'>') => {
                self.position += 1;
                TokenKind::Order
            }
            _ => self.scan_punctuation(byte, &mut value),
        };
        // A NUL inside quotes is the illegal character, not the quote.
        let start = if kind == TokenKind::BadCharacter { start + value as usize } else { start };
        Token { kind, span: Span::new_u32(start, self.position), value, notes }
    }

    fn skip_word(&mut self) {
        let bytes = self.text.as_bytes();
        let mut at = self.position;
        loop {
            while at < bytes.len() && is_word(bytes[at]) {
                at += 1;
            }
            // Names of 2025 may have letters beyond ASCII.
            if self.dialect != Dialect::D2025 || bytes.get(at).is_none_or(|byte| byte.is_ascii() && *byte != b'$') {
                break;
            }
            match self.text.get(at..).and_then(|rest| rest.chars().next()) {
                Some(c) if is_name_character_2025(c) => at += c.len_utf8(),
                _ => break,
            }
        }
        self.position = at;
    }

    /// Returns `true` if a name of 2025 begins with the character at a byte, which is not a letter of ASCII.
    fn has_letter_2025(&self, at: usize) -> bool {
        let first = self.text.get(at..).and_then(|rest| rest.chars().next());
        first.is_some_and(|c| c == '$' || !c.is_ascii() && c.is_alphabetic())
    }

    /// Skips whitespace and comments, remembering the special ones.
    fn skip_blank(&mut self) {
        let bytes = self.text.as_bytes();
        loop {
            while self.position < bytes.len() && classify_byte(bytes[self.position]) == ByteClass::Blank {
                self.position += 1;
            }
            if self.byte_at(self.position) != b'#' {
                return;
            }
            let start = self.position;
            let rest = bytes.get(start..).unwrap_or(&[]);
            let end = memchr::memchr2(b'\n', b'\r', rest).map_or(bytes.len(), |n| start + n);
            if matches!(self.byte_at(start + 1), b'#' | b':') && start + 1 < end {
                self.notes.push(Span::new_u32(start, end));
            }
            self.position = end;
        }
    }

    /// The comments between here and the next token that are neither documentation nor attributes; the lexer is after them.
    fn take_plain_comments(&mut self, found: &mut Vec<Span>) {
        let start = self.position;
        self.skip_blank();
        let mut at = start;
        for line in self.text.get(start..self.position).unwrap_or("").split_inclusive(['\n', '\r']) {
            let comment = line.trim_matches(|c: char| c.is_ascii_whitespace() || c == '\u{b}');
            let is_special = comment.len() > 1 && matches!(comment.as_bytes()[1], b'#' | b':');
            if comment.starts_with('#') && !is_special {
                let from = at + line.find('#').unwrap_or(0);
                found.push(Span::new_u32(from, from + comment.len()));
            }
            at += line.len();
        }
    }

    /// Takes one or two bytes of punctuation, a quoted name, a prefixed primitive or a run of signs.
    fn scan_punctuation(&mut self, byte: u8, value: &mut i64) -> TokenKind {
        let start = self.position;
        let next = self.byte_at(start + 1);
        self.position = start + 1;
        match byte {
            b'=' => TokenKind::Equal,
            b':' if next == b'=' && self.dialect == Dialect::D2025 => {
                self.position += 1;
                TokenKind::ColonEqual
            }
            b':' => TokenKind::Colon,
            b'[' => TokenKind::OpenBracket,
            b']' => TokenKind::CloseBracket,
            b'{' => TokenKind::OpenBrace,
            b'}' => TokenKind::CloseBrace,
            b'(' => TokenKind::OpenParen,
            b')' => TokenKind::CloseParen,
            b',' => TokenKind::Comma,
            b'/' => TokenKind::Slash,
            b'@' => TokenKind::At,
            b'%' => TokenKind::Percent,
            b'*' => TokenKind::Star,
            b'&' => TokenKind::Ampersand,
            b'?' => TokenKind::Question,
            b'.' if next == b'.' => {
                self.position += 1;
                TokenKind::DotDot
            }
            b'.' if next.is_ascii_digit() => self.scan_number(start, value),
            b'"' | b'\'' => self.scan_quoted_name(byte, value),
            b'<' if next == b'-' => {
                self.position += 1;
                TokenKind::ArrowLeft
            }
            b'<' | b'>' | b'|' => self.scan_prefixed_primitive(),
            b'+' | b'-' => self.scan_signs(byte, value),
            _ => {
                // The whole character, so that the next token begins on a boundary.
                self.position =
                    (start + 1..=self.text.len()).find(|&at| self.text.is_char_boundary(at)).unwrap_or(self.text.len());
                TokenKind::BadCharacter
            }
        }
    }

    /// QUOTED = '"' qchar* '"' | "'" qchar* "'"
    fn scan_quoted_name(&mut self, quote: u8, value: &mut i64) -> TokenKind {
        let bytes = self.text.as_bytes();
        let open = self.position - 1;
        let mut at = self.position;
        while let Some(n) = bytes.get(at..).and_then(|rest| memchr::memchr3(quote, b'\\', 0, rest)) {
            at += n;
            match bytes[at] {
                b'\\' if matches!(self.byte_at(at + 1), b'\\' | b'"' | b'\'') => at += 2,
                b'\\' => at += 1,
                0 => {
                    *value = (at - open) as i64;
                    self.position = at + 1;
                    return TokenKind::BadCharacter;
                }
                _ => {
                    self.position = at + 1;
                    return TokenKind::Quoted;
                }
            }
        }
        self.position = bytes.len();
        TokenKind::BadQuote
    }

    /// PRIM = [<>|] primitive, not followed by a letter, a digit or `_`
    fn scan_prefixed_primitive(&mut self) -> TokenKind {
        let start = self.position;
        self.skip_word();
        if Primitive::from_name(self.text.get(start..self.position).unwrap_or(""), self.dialect).is_some() {
            return TokenKind::Primitive;
        }
        self.position = start;
        TokenKind::BadPrefix
    }

    /// SUFFIX = '+'+ | '-'+, or a signed number, or `->`
    fn scan_signs(&mut self, sign: u8, value: &mut i64) -> TokenKind {
        let start = self.position - 1;
        let mut end = self.position;
        while self.byte_at(end) == sign {
            end += 1;
        }
        let next = self.byte_at(end);
        if end - start == 1 {
            if sign == b'-' && next == b'>' {
                self.position = end + 1;
                return TokenKind::ArrowRight;
            }
            if next.is_ascii_digit() || (next == b'.' && self.byte_at(end + 1).is_ascii_digit()) {
                return self.scan_number(start, value);
            }
        } else if next.is_ascii_digit() {
            // The last sign belongs to the number.
            end -= 1;
        }
        self.position = end;
        *value = (end - start) as i64;
        if sign == b'+' { TokenKind::Plus } else { TokenKind::Minus }
    }

    fn skip_digits(&mut self) -> usize {
        let from = self.position;
        while self.byte_at(self.position).is_ascii_digit() {
            self.position += 1;
        }
        self.position - from
    }

    /// INTEGER = [+-]? ( 0 | [1-9][0-9]* | 0[xX][0-9A-Fa-f]+ ); FLOAT has a point, an exponent or both
    fn scan_number(&mut self, start: usize, value: &mut i64) -> TokenKind {
        self.position = start + usize::from(matches!(self.byte_at(start), b'+' | b'-'));
        let digits = self.position;
        let hex = self.byte_at(digits) == b'0' && matches!(self.byte_at(digits + 1), b'x' | b'X');
        let mut float = false;
        if hex {
            self.position += 2;
            while self.byte_at(self.position).is_ascii_hexdigit() {
                self.position += 1;
            }
        } else {
            self.skip_digits();
            if self.byte_at(self.position) == b'.' && self.byte_at(self.position + 1) != b'.' {
                float = true;
                self.position += 1;
                self.skip_digits();
            }
            float |= self.skip_exponent();
        }
        let end = self.position;
        self.skip_word();
        if self.position != end {
            return TokenKind::BadNumber;
        }
        if float {
            return TokenKind::Float;
        }
        match parse_integer(self.text.get(start..end).unwrap_or("")) {
            Some(number) => {
                *value = number;
                TokenKind::Integer
            }
            None => TokenKind::BadNumber,
        }
    }

    /// exp = [eE] [+-]? digits
    fn skip_exponent(&mut self) -> bool {
        if !matches!(self.byte_at(self.position), b'e' | b'E') {
            return false;
        }
        let before = self.position;
        self.position += 1;
        if matches!(self.byte_at(self.position), b'+' | b'-') {
            self.position += 1;
        }
        if self.skip_digits() == 0 {
            self.position = before;
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
pub(crate) fn unquote_name(text: &str) -> std::borrow::Cow<'_, str> {
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
pub(crate) fn byteorder_of(prefix: u8) -> Option<Byteorder> {
    match prefix {
        b'<' => Some(Byteorder::Little),
        b'>' => Some(Byteorder::Big),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str, dialect: Dialect) -> Vec<TokenKind> {
        let mut lexer = Lexer::new(text, dialect);
        std::iter::from_fn(|| Some(lexer.next_token().kind).filter(|&k| k != TokenKind::End)).collect()
    }

    #[test]
    fn dot_dot_precedes_float() {
        assert_eq!(kinds("@16..", Dialect::D2026), [TokenKind::At, TokenKind::Integer, TokenKind::DotDot]);
        assert_eq!(kinds("1.5 .5 2. 3e4 -1e-3", Dialect::D2026), [TokenKind::Float; 5]);
    }

    #[test]
    fn sign_before_digit_joins_number() {
        assert_eq!(kinds("IMAX-1", Dialect::D2025), [TokenKind::Symbol, TokenKind::Integer]);
        assert_eq!(kinds("IMAX-- 1", Dialect::D2025), [TokenKind::Symbol, TokenKind::Minus, TokenKind::Integer]);
        assert_eq!(kinds("N--5", Dialect::D2025), [TokenKind::Symbol, TokenKind::Minus, TokenKind::Integer]);
    }

    #[test]
    fn order_2025_is_first_character_only() {
        assert_eq!(kinds("<i8 {", Dialect::D2025), [TokenKind::Order, TokenKind::Symbol, TokenKind::OpenBrace]);
        assert_eq!(kinds("x <i8", Dialect::D2025), [TokenKind::Symbol, TokenKind::Primitive]);
        assert_eq!(kinds("<i8", Dialect::D2026), [TokenKind::Primitive]);
        assert_eq!(kinds("<i8x", Dialect::D2026), [TokenKind::BadPrefix, TokenKind::Symbol]);
    }

    #[test]
    fn integers_reject_leading_zeros_and_overflow() {
        assert_eq!(parse_integer("0"), Some(0));
        assert_eq!(parse_integer("-0x10"), Some(-16));
        assert_eq!(parse_integer("-9223372036854775808"), Some(i64::MIN));
        assert_eq!(parse_integer("9223372036854775808"), None);
        assert_eq!(parse_integer("007"), None);
        assert_eq!(parse_integer("0x"), None);
        assert_eq!(kinds("3x 0x 08 1_0", Dialect::D2025), [TokenKind::BadNumber; 4]);
    }

    #[test]
    fn backslash_escapes_only_quotes_and_itself() {
        assert_eq!(unquote_name(r#""a\"b\\c\n""#), "a\"b\\c\\n");
        assert_eq!(kinds(r#" "a\" # b" 'x"y' "" "#, Dialect::D2025), [TokenKind::Quoted; 3]);
        assert_eq!(kinds("\"abc", Dialect::D2025), [TokenKind::BadQuote]);
    }

    #[test]
    fn special_comments_count_before_next_token() {
        let mut lexer = Lexer::new("a ## doc\n# plain\r#: k=1\rb", Dialect::D2025);
        assert_eq!(lexer.next_token().notes, 0);
        assert_eq!(lexer.next_token().notes, 2);
        assert_eq!(lexer.notes.len(), 2);
    }
}
