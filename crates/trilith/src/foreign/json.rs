//! JSON (RFC 8259), as the headers of foreign files hold it: read whole, with a limit to its depth.

use crate::error::{Error, Result};
use crate::limits::Limits;

/// A JSON value. Numbers are kept as they are written.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Json {
    Null,
    Bool(bool),
    Number(String),
    Text(String),
    List(Vec<Json>),
    /// In the order of the text; a key may be there twice.
    Object(Vec<(String, Json)>),
}

impl Json {
    /// Reads one value and nothing after it but space.
    ///
    /// # Errors
    /// [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) with the byte of the text,
    /// [`ErrorKind::Limit`](crate::ErrorKind::Limit) where it nests too deep.
    pub fn read(text: &str, limits: &Limits) -> Result<Self> {
        let mut parser = Parser { text, at: 0, limits, values: 0 };
        let value = parser.value(0)?;
        parser.space();
        if parser.at == text.len() { Ok(value) } else { Err(parser.wrong("the end")) }
    }

    pub fn get(&self, key: &str) -> Option<&Self> {
        match self {
            Self::Object(entries) => entries.iter().find(|(known, _)| known == key).map(|(_, value)| value),
            _ => None,
        }
    }

    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// A list of whole numbers.
    pub fn numbers(&self) -> Option<Vec<u64>> {
        match self {
            Self::List(items) => {
                items.iter().map(|item| if let Self::Number(n) = item { n.parse().ok() } else { None }).collect()
            }
            _ => None,
        }
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    limits: &'a Limits,
    /// How many values there were.
    values: u64,
}

impl Parser<'_> {
    fn rest(&self) -> &[u8] {
        self.text.as_bytes().get(self.at..).unwrap_or(&[])
    }

    fn space(&mut self) {
        self.at += self.rest().iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r')).count();
    }

    fn eat(&mut self, token: &str) -> bool {
        self.space();
        let found = self.rest().starts_with(token.as_bytes());
        self.at += if found { token.len() } else { 0 };
        found
    }

    fn expect(&mut self, token: &str) -> Result<()> {
        if self.eat(token) { Ok(()) } else { Err(self.wrong(token)) }
    }

    #[cold]
    fn wrong(&self, expected: &str) -> Error {
        let found = String::from_utf8_lossy(self.rest().get(..12).unwrap_or(self.rest())).into_owned();
        Error::malformed(format!("expected {expected} at byte {} of the JSON text, found {found:?}", self.at))
    }

    fn value(&mut self, depth: usize) -> Result<Json> {
        self.limits.charge_depth(depth, "the JSON text")?;
        self.values += 1;
        if self.values > self.limits.nodes {
            return Err(Limits::exceeded("nodes", self.limits.nodes, "the JSON text has more values"));
        }
        self.space();
        match self.rest().first().copied() {
            Some(b'"') => self.string().map(Json::Text),
            Some(b'{') => self.object(depth),
            Some(b'[') => self.list(depth),
            Some(b'-' | b'0'..=b'9') => {
                let is_part = |byte: &&u8| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E');
                let len = self.rest().iter().take_while(is_part).count();
                let number = String::from_utf8_lossy(self.rest().get(..len).unwrap_or(&[])).into_owned();
                self.at += len;
                Ok(Json::Number(number))
            }
            _ if self.eat("true") => Ok(Json::Bool(true)),
            _ if self.eat("false") => Ok(Json::Bool(false)),
            _ if self.eat("null") => Ok(Json::Null),
            _ => Err(self.wrong("a value")),
        }
    }

    fn list(&mut self, depth: usize) -> Result<Json> {
        self.expect("[")?;
        let mut items = Vec::new();
        if self.eat("]") {
            return Ok(Json::List(items));
        }
        loop {
            items.push(self.value(depth + 1)?);
            if !self.eat(",") {
                self.expect("]")?;
                return Ok(Json::List(items));
            }
        }
    }

    fn object(&mut self, depth: usize) -> Result<Json> {
        self.expect("{")?;
        let mut entries = Vec::new();
        if self.eat("}") {
            return Ok(Json::Object(entries));
        }
        loop {
            self.space();
            let key = self.string()?;
            self.expect(":")?;
            entries.push((key, self.value(depth + 1)?));
            if !self.eat(",") {
                self.expect("}")?;
                return Ok(Json::Object(entries));
            }
        }
    }

    fn string(&mut self) -> Result<String> {
        self.expect("\"")?;
        let mut out = String::new();
        loop {
            let plain = self.rest().iter().take_while(|byte| !matches!(byte, b'"' | b'\\' | 0..0x20)).count();
            out.push_str(self.text.get(self.at..self.at + plain).unwrap_or(""));
            self.at += plain;
            match self.rest().first() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(out);
                }
                Some(b'\\') => {
                    self.at += 1;
                    let c = self.escaped()?;
                    out.push(c);
                }
                _ => return Err(self.wrong("the end of a text")),
            }
        }
    }

    /// What stands behind a backslash.
    fn escaped(&mut self) -> Result<char> {
        let Some(kind) = self.rest().first().copied() else { return Err(self.wrong("a character")) };
        self.at += 1;
        Ok(match kind {
            b'n' => '\n',
            b't' => '\t',
            b'r' => '\r',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'"' | b'\\' | b'/' => char::from(kind),
            b'u' => {
                let first = self.unit()?;
                // A pair of surrogates is one character; half of one is none.
                if (0xd800..0xdc00).contains(&first) && self.rest().starts_with(b"\\u") {
                    self.at += 2;
                    let second = self.unit()?;
                    let joined =
                        second.checked_sub(0xdc00).filter(|low| *low < 0x400).map(|low| 0x10000 + ((first - 0xd800) << 10) + low);
                    return joined.and_then(char::from_u32).ok_or_else(|| self.wrong("a pair of surrogates"));
                }
                char::from_u32(first).ok_or_else(|| self.wrong("a character"))?
            }
            _ => return Err(self.wrong("an escape")),
        })
    }

    fn unit(&mut self) -> Result<u32> {
        let digits = self.text.get(self.at..self.at + 4).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let unit = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok()).ok_or_else(|| self.wrong("four hex digits"))?;
        self.at += 4;
        Ok(unit)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop")]
mod tests {
    use super::*;

    #[test]
    fn values_of_every_kind_are_read() {
        let read = |text: &str| Json::read(text, &Limits::default());
        let value = read(r#" {"a": [1, -2.5e3, true, null], "\u00e9\ud83d\ude00\n": "x\"y", "o": {}, "l": []} "#).unwrap();
        assert_eq!(value.get("é😀\n").and_then(Json::text), Some("x\"y"));
        assert_eq!(value.get("a").unwrap().numbers(), None);
        assert_eq!(read("[1,2]").unwrap().numbers(), Some(vec![1, 2]));
        for wrong in
            ["", "{", "[1,]", "{\"a\" 1}", "\"\\x\"", "\"\\ud800\"", "\"\\ud800\\u0041\"", "[1] 2", "\"a", "\"\\u00é\"", "nul"]
        {
            assert!(read(wrong).is_err(), "{wrong}");
        }
        assert!(read(&"[".repeat(100_000)).unwrap_err().to_string().contains("deep"));
    }
}
