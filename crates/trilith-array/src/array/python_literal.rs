//! A parser for the few Python literals that a `.npy` header needs: strings, numbers, booleans, tuples, lists and
//! one dictionary.

use crate::error::{Error, Result};

/// Maximum depth of nested brackets.
const DEPTH: usize = 64;

/// A Python literal; tuples are lists.
#[derive(Debug, Clone, PartialEq)]
#[doc(hidden)]
pub enum Literal {
    Text(String),
    Int(u64),
    Bool(bool),
    List(Vec<Literal>),
    Dict(Vec<(String, Literal)>),
}

impl Literal {
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
pub(super) fn quote(text: &str) -> String {
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
pub(super) fn parse(text: &str) -> Result<Literal> {
    let mut parser = Parser { text, at: 0 };
    let value = parser.value(0)?;
    parser.space();
    if parser.at == text.len() { Ok(value) } else { Err(parser.wrong("the end")) }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Parser<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or("")
    }

    fn space(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
    }

    /// Skips space, and `token` if it comes next.
    fn eat(&mut self, token: &str) -> bool {
        self.space();
        let found = self.rest().starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }

    fn wrong(&self, expected: &str) -> Error {
        let found: String = self.rest().chars().take(12).collect();
        Error::malformed(format!("expected {expected} at character {}, found {found:?}", self.at))
    }

    /// value: STRING | NUMBER | "True" | "False" | "(" values ")" | "[" values "]" | "{" (STRING ":" value) … "}"
    fn value(&mut self, depth: usize) -> Result<Literal> {
        if depth > DEPTH {
            return Err(Error::limit(format!("brackets nest more than {DEPTH} deep")));
        }
        self.space();
        match self.rest().as_bytes().first() {
            Some(b'\'' | b'"') => self.string().map(Literal::Text),
            Some(b'0'..=b'9') => self.number(),
            Some(b'(') => self.list("(", ")", depth),
            Some(b'[') => self.list("[", "]", depth),
            Some(b'{') => self.dict(depth),
            _ if self.eat("True") => Ok(Literal::Bool(true)),
            _ if self.eat("False") => Ok(Literal::Bool(false)),
            _ => Err(self.wrong("a value")),
        }
    }

    fn number(&mut self) -> Result<Literal> {
        let digits = self.rest().bytes().take_while(u8::is_ascii_digit).count();
        let number = self.rest()[..digits].parse().map_err(|_| self.wrong("a number below 2^64"))?;
        self.at += digits;
        // Python 2 wrote long integers with an L.
        self.eat("L");
        Ok(Literal::Int(number))
    }

    fn list(&mut self, open: &str, close: &str, depth: usize) -> Result<Literal> {
        self.eat(open);
        let mut values = Vec::new();
        while !self.eat(close) {
            values.push(self.value(depth + 1)?);
            if !self.eat(",") {
                if !self.eat(close) {
                    return Err(self.wrong("a comma"));
                }
                break;
            }
        }
        // (x) without a comma is x alone, which a shape never is and a name may be.
        Ok(Literal::List(values))
    }

    fn dict(&mut self, depth: usize) -> Result<Literal> {
        self.eat("{");
        let mut entries = Vec::new();
        while !self.eat("}") {
            self.space();
            let key = self.string()?;
            if !self.eat(":") {
                return Err(self.wrong("a colon"));
            }
            entries.push((key, self.value(depth + 1)?));
            if !self.eat(",") {
                if !self.eat("}") {
                    return Err(self.wrong("a comma"));
                }
                break;
            }
        }
        Ok(Literal::Dict(entries))
    }

    fn string(&mut self) -> Result<String> {
        let mut chars = self.rest().char_indices();
        let Some((_, quote @ ('\'' | '"'))) = chars.next() else { return Err(self.wrong("a string")) };
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
            out.push(escaped.ok_or_else(|| self.wrong("a character after the backslash"))?);
        }
        Err(self.wrong("the end of a string"))
    }
}
