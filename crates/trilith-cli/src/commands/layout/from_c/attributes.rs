//! Directives and attributes that change the places of members in C: `#pragma pack`, `__attribute__` and `[[…]]`.

use trilith::Result;

use super::Parser;
use super::lexer::{Token, TokenKind, tokenize_source};

/// The attributes of a struct or a member.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Attributes {
    /// `true` if members follow each other without padding.
    pub(super) is_packed: bool,
}

impl Attributes {
    /// Adds those after the closing brace.
    pub(super) fn add(&mut self, more: Attributes) {
        self.is_packed |= more.is_packed;
    }
}

/// Attributes that change no place.
const HARMLESS: &[&str] = &["unused", "maybe_unused", "nodiscard", "used", "deprecated", "may_alias", "nonstring", "designated_init", "visibility"];

impl<'t> Parser<'t> {
    /// Reads `__attribute__((…))` and `[[…]]`, any number of times.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Unsupported`](trilith::ErrorKind::Unsupported) for an attribute that may change places.
    pub(super) fn parse_attributes(&mut self) -> Result<Attributes> {
        let mut found = Attributes::default();
        while let Some(start) = self.peek_expanded()? {
            let (open, close) = match start.text {
                "__attribute__" | "__attribute" => ("(", ")"),
                "[" if self.peek_after("[").is_some_and(|next| next.text == "[") => ("[", "]"),
                _ => break,
            };
            if close == ")" {
                self.next_token();
            }
            self.expect_mark(open)?;
            self.expect_mark(open)?;
            while let Some(token) = self.peek_expanded()?.filter(|token| token.text != close) {
                self.next_token();
                match token.text.trim_matches('_') {
                    "" => {}
                    "packed" => found.is_packed = true,
                    name if HARMLESS.contains(&name) => self.skip_arguments(),
                    _ if token.kind != TokenKind::Identifier => {}
                    // `gnu::packed` is an attribute of the compiler.
                    _ if close == "]" && self.peek().is_some_and(|next| next.text == ":") => {}
                    name => {
                        let what = if close == "]" { format!("`[[{name}]]`") } else { format!("`__attribute__(({name}))`") };
                        return Err(self.unsupported_error(start.offset, &what));
                    }
                }
            }
            self.expect_mark(close)?;
            self.expect_mark(close)?;
        }
        Ok(found)
    }

    /// Reads attributes before a type, which pack nothing there.
    pub(super) fn parse_attributes_before_type(&mut self) -> Result<()> {
        let at = self.peek().map_or(self.text.len(), |token| token.offset);
        if self.parse_attributes()?.is_packed {
            return Err(self
                .unsupported_error(at, "the attribute `packed` before a type")
                .hint("write it after `struct`, or after the closing brace"));
        }
        Ok(())
    }

    /// Goes after the arguments of an attribute.
    fn skip_arguments(&mut self) {
        if self.consume_if("(") {
            while self.next_token().is_some_and(|token| token.text != ")") {}
        }
    }

    /// Reads `#pragma pack` with what follows these words: `(1)`, `(push, 1)`, `(push)`, `(pop)` or `()`.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Unsupported`](trilith::ErrorKind::Unsupported) for any other form.
    pub(super) fn parse_pack(&mut self, directive: Token<'t>, rest: &str) -> Result<()> {
        let found = tokenize_source(rest).unwrap_or_default();
        let words: Vec<&str> = found.iter().filter(|token| token.kind != TokenKind::Comment).map(|token| token.text).collect();
        let size = |word: &str| word.parse::<u64>().ok().filter(|size| matches!(size, 1 | 2 | 4 | 8 | 16));
        match words.as_slice() {
            ["(", ")"] => self.pack = None,
            ["(", "push", ")"] => self.outer_packs.push(self.pack),
            ["(", "pop", ")"] => self.pack = self.outer_packs.pop().flatten(),
            ["(", number, ")"] if size(number).is_some() => self.pack = size(number),
            ["(", "push", ",", number, ")"] if size(number).is_some() => {
                self.outer_packs.push(self.pack);
                self.pack = size(number);
            }
            _ => return Err(self.unsupported_error(directive.offset, &format!("`#pragma pack{}`", rest.trim_end()))),
        }
        Ok(())
    }
}
