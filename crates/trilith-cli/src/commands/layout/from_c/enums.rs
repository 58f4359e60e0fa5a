//! Enumerations of C: constants, and an integer of the size that a compiler gives it.

use trilith::Result;

use super::constant_expr::evaluate;
use super::lexer::TokenKind;
use super::{LayoutType, Parser};

/// The values of an enumeration.
#[derive(Debug, Default)]
struct ValueRange {
    least: i64,
    largest: i64,
    /// The first enumerator whose value is not known.
    unknown: Option<String>,
}

impl ValueRange {
    /// Returns the integer that holds these values: as GCC and Clang choose it, an int if they fit.
    fn integer_type(&self, is_packed: bool) -> &'static str {
        let (least, largest) = (self.least, self.largest);
        let fits = |from: i64, to: i64| from <= least && largest <= to;
        match () {
            () if is_packed && fits(0, 0xff) => "u1",
            () if is_packed && fits(-0x80, 0x7f) => "i1",
            () if is_packed && fits(0, 0xffff) => "u2",
            () if is_packed && fits(-0x8000, 0x7fff) => "i2",
            () if fits(i64::from(i32::MIN), i64::from(i32::MAX)) => "i4",
            () if fits(0, i64::from(u32::MAX)) => "u4",
            () => "i8",
        }
    }
}

impl Parser<'_> {
    /// `enum x {…}`, `enum x : type {…}` or `enum x`.
    pub(super) fn parse_enum(&mut self, depth: usize) -> Result<LayoutType> {
        let at = self.peek().map_or(0, |token| token.offset);
        let is_scoped = self.consume_if("class") || self.consume_if("struct");
        let mut attributes = self.parse_attributes()?;
        let tag = self.parse_tag()?;
        let mut underlying = is_scoped.then(|| LayoutType { name: "i4".to_owned(), is_char: false });
        // A bit field of an enumeration has a number after its colon.
        if self.peek_after(":").is_some_and(|token| token.kind == TokenKind::Identifier) && self.consume_if(":") {
            underlying = Some(LayoutType { is_char: false, ..self.parse_type(depth + 1)? });
        }
        if !self.consume_if("{") {
            let tag = tag.ok_or_else(|| self.unexpected_token("the name of an enumeration, or `{`"))?;
            let known = self.types.get(&format!("enum {tag}")).cloned().or(underlying);
            return known.ok_or_else(|| {
                self.unsupported_error(at, &format!("enum {tag}, which is not declared before or was left out,"))
            });
        }
        let values = self.parse_enumerators(is_scoped)?;
        attributes.add(self.parse_attributes()?);
        let made = match (underlying, &values.unknown) {
            (Some(underlying), _) => underlying,
            (None, Some(name)) => {
                return Err(self
                    .unsupported_error(at, &format!("the enumerator `{name}`, whose value is not known here,"))
                    .hint("the size of the enumeration depends on it; write it as a number"));
            }
            (None, None) => LayoutType { name: values.integer_type(attributes.is_packed).to_owned(), is_char: false },
        };
        if let Some(tag) = tag {
            self.types.insert(format!("enum {tag}"), made.clone());
            if is_scoped {
                self.types.insert(tag.to_owned(), made.clone());
            }
        }
        Ok(made)
    }

    /// Reads the enumerators up to the closing brace.
    fn parse_enumerators(&mut self, is_scoped: bool) -> Result<ValueRange> {
        let (mut range, mut next) = (ValueRange::default(), Some(0i64));
        while !self.consume_if("}") {
            let Some(token) = self.peek() else { return Err(self.unexpected_token("`}`")) };
            if token.kind == TokenKind::Directive {
                self.next_token();
                self.parse_directive(token)?;
                continue;
            }
            let name = self.parse_name()?;
            self.parse_attributes()?;
            if self.consume_if("=") {
                let (mut words, mut depth) = (Vec::new(), 0usize);
                while let Some(token) = self.peek().filter(|token| depth > 0 || !matches!(token.text, "," | "}")) {
                    match token.text {
                        "(" => depth += 1,
                        ")" => depth = depth.saturating_sub(1),
                        ";" => return Err(self.unexpected_token("`,` or `}`")),
                        _ => {}
                    }
                    words.push(token.text);
                    self.next_token();
                }
                next = evaluate(&words, &self.constants);
            }
            match next {
                Some(value) => {
                    (range.least, range.largest) = (range.least.min(value), range.largest.max(value));
                    if !is_scoped {
                        self.constants.insert(name.to_owned(), value);
                    }
                    next = value.checked_add(1);
                }
                None => drop(range.unknown.get_or_insert_with(|| name.to_owned())),
            }
            if !self.consume_if(",") && self.peek().is_none_or(|token| token.text != "}") {
                return Err(self.unexpected_token("`,` or `}`"));
            }
        }
        Ok(range)
    }
}
