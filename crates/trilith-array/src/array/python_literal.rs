//! A parser for the few Python literals that a `.npy` header needs: strings, numbers, booleans, tuples, lists and
//! one dictionary.

use crate::error::{Error, Result};

/// Maximum depth of nested brackets.
const MAX_DEPTH: usize = 64;

/// A Python literal; tuples are lists.
#[derive(Debug, Clone, PartialEq)]
#[doc(hidden)]
pub enum PyLiteral {
    Text(String),
    Int(u64),
    Bool(bool),
    List(Vec<PyLiteral>),
    Dict(Vec<(String, PyLiteral)>),
}

impl PyLiteral {
    pub fn as_u64(&self) -> Option<u64> {
        match self {
            Self::Int(n) => Some(*n),
            _ => None,
        }
    }

    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The value of a key of a dictionary.
    pub fn entry(&self, key: &str) -> Option<&Self> {
        match self {
            Self::Dict(entries) => entries.iter().find(|(known, _)| known == key).map(|(_, value)| value),
            _ => None,
        }
    }
}

/// A string in single quotes.
pub(super) fn quote_python_string(text: &str) -> String {
    let mut out = String::from("'");
    for c in text.chars() {
        match c {
            '\'' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\0' => out.push_str("\\x00"),
            c => out.push(c),
        }
    }
    out.push('\'');
    out
}

/// Reads one literal and nothing after it.
pub(super) fn parse_literal(text: &str) -> Result<PyLiteral> {
    let mut parser = LiteralParser { text, at: 0 };
    let value = parser.parse_value(0)?;
    parser.skip_whitespace();
    if parser.at == text.len() { Ok(value) } else { Err(parser.unexpected("the end")) }
}

struct LiteralParser<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> LiteralParser<'a> {
    fn remaining_text(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or("")
    }

    fn skip_whitespace(&mut self) {
        let rest = self.remaining_text();
        self.at += rest.len() - rest.trim_start().len();
    }

    /// Skips space, and `token` if it comes next.
    fn consume_if(&mut self, token: &str) -> bool {
        self.skip_whitespace();
        let found = self.remaining_text().starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }

    fn unexpected(&self, expected: &str) -> Error {
        let found: String = self.remaining_text().chars().take(12).collect();
        Error::malformed(format!("expected {expected} at character {}, found {found:?}", self.at))
    }

    /// value: STRING | NUMBER | "True" | "False" | "(" values ")" | "[" values "]" | "{" (STRING ":" value) … "}"
    fn parse_value(&mut self, depth: usize) -> Result<PyLiteral> {
        if depth > MAX_DEPTH {
            return Err(Error::limit(format!("brackets nest more than {MAX_DEPTH} deep")));
        }
        self.skip_whitespace();
        match self.remaining_text().as_bytes().first() {
            Some(b'\'' | b'"') => self.parse_string().map(PyLiteral::Text),
            Some(b'0'..=b'9') => self.parse_number(),
            Some(b'(') => self.parse_list("(", ")", depth),
            Some(b'[') => self.parse_list("[", "]", depth),
            Some(b'{') => self.parse_dict(depth),
            _ if self.consume_if("True") => Ok(PyLiteral::Bool(true)),
            _ if self.consume_if("False") => Ok(PyLiteral::Bool(false)),
            _ => Err(self.unexpected("a value")),
        }
    }

    fn parse_number(&mut self) -> Result<PyLiteral> {
        let digits = self.remaining_text().bytes().take_while(u8::is_ascii_digit).count();
        let number = self.remaining_text()[..digits].parse().map_err(|_| self.unexpected("a number below 2^64"))?;
        self.at += digits;
        // Python 2 wrote long integers with an L.
        self.consume_if("L");
        Ok(PyLiteral::Int(number))
    }

    fn parse_list(&mut self, open: &str, close: &str, depth: usize) -> Result<PyLiteral> {
        self.consume_if(open);
        let mut values = Vec::new();
        while !self.consume_if(close) {
            values.push(self.parse_value(depth + 1)?);
            if !self.consume_if(",") {
                if !self.consume_if(close) {
                    return Err(self.unexpected("a comma"));
                }
                break;
            }
        }
        // (x) without a comma is x alone, which a shape never is and a name may be.
        Ok(PyLiteral::List(values))
    }

    fn parse_dict(&mut self, depth: usize) -> Result<PyLiteral> {
        self.consume_if("{");
        let mut entries = Vec::new();
        while !self.consume_if("}") {
            self.skip_whitespace();
            let key = self.parse_string()?;
            if !self.consume_if(":") {
                return Err(self.unexpected("a colon"));
            }
            entries.push((key, self.parse_value(depth + 1)?));
            if !self.consume_if(",") {
                if !self.consume_if("}") {
                    return Err(self.unexpected("a comma"));
                }
                break;
            }
        }
        Ok(PyLiteral::Dict(entries))
    }

    fn parse_string(&mut self) -> Result<String> {
        let mut chars = self.remaining_text().char_indices();
        let Some((_, quote @ ('\'' | '"'))) = chars.next() else { return Err(self.unexpected("a string")) };
        let mut out = String::new();
        while let Some((at, c)) = chars.next() {
            if c == quote {
                self.at += at + 1;
                return Ok(out);
            }
            if c != '\\' {
                out.push(c);
                continue;
            }
            let hex = |chars: &mut std::str::CharIndices<'_>, digits: usize| {
                let code: String = chars.take(digits).map(|(_, c)| c).collect();
                u32::from_str_radix(&code, 16).ok().and_then(char::from_u32)
            };
            let escaped = match chars.next().map(|(_, c)| c) {
                Some('x') => hex(&mut chars, 2),
                Some('u') => hex(&mut chars, 4),
                Some('U') => hex(&mut chars, 8),
                Some('n') => Some('\n'),
                Some('r') => Some('\r'),
                Some('t') => Some('\t'),
                other => other,
            };
            out.push(escaped.ok_or_else(|| self.unexpected("a character after the backslash"))?);
        }
        Err(self.unexpected("the end of a string"))
    }
}
