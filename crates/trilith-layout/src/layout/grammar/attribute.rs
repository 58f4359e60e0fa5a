//! Special comments: `##` documentation and `#:` attributes (section 9 of our specification).

use std::sync::OnceLock;

use super::{Annotation, DiagnosticCode, Dialect, ItemId, LayoutParser, Lexer, Token, TokenKind, unquote_name};
use crate::diagnostic::Diagnostic;
use crate::layout::model::{AnnotationKind, Attribute, BLANKS, LayoutLiteral, StorageNote};
use crate::layout::storage_field::StorageField;
use crate::span::Span;

/// The value after the `=` of an attribute.
enum AttributeValue {
    Single(Attribute),
    /// A list that is empty or has values of several kinds, up to here.
    Other(u32),
}

impl LayoutParser<'_> {
    /// Gives a special comment to an item.
    pub(super) fn attach_comment(&mut self, item: ItemId, comment: Span) {
        let text = comment.slice(self.text);
        let inside = Span::new(comment.start + 2, comment.end.max(comment.start + 2));
        if text.starts_with("##") {
            let kept = inside.slice(self.text).trim_end_matches(BLANKS).len() as u32;
            self.notes.push(Annotation { item, said: AnnotationKind::Doc(Span::new(inside.start, inside.start + kept)) });
        } else if let Err(diagnostic) = self.parse_attributes(item, inside) {
            self.sink.push(*diagnostic);
        }
    }

    /// attributes = (NAME ('=' value)? ','?)*
    fn parse_attributes(&mut self, item: ItemId, inside: Span) -> Result<(), Box<Diagnostic>> {
        let mut lexer = Lexer::for_span(self.text, inside, Dialect::D2026);
        let mut token = lexer.next_token();
        while token.kind != TokenKind::End {
            // An unreadable value is kept as it is written.
            let start = token.span.start;
            let rest = Annotation { item, said: AnnotationKind::Raw(Span::new(start, inside.end)) };
            if !token.is_name() {
                self.notes.push(rest);
                return Err(self.invalid_value(token, "the name of an attribute").into());
            }
            let name = self.intern_token_name(token);
            token = lexer.next_token();
            let mut said = AnnotationKind::Attribute(name, Attribute::Flag);
            if token.kind == TokenKind::Equal {
                token = lexer.next_token();
                said = match self.attribute_value(&mut lexer, token) {
                    Ok(AttributeValue::Single(value)) => AnnotationKind::Attribute(name, value),
                    Ok(AttributeValue::Other(end)) => AnnotationKind::Raw(Span::new(start, end)),
                    Err(diagnostic) => {
                        self.notes.push(rest);
                        return Err(diagnostic);
                    }
                };
                token = lexer.next_token();
            }
            self.notes.push(Annotation { item, said: self.typed_note(said) });
            if token.kind == TokenKind::Comma {
                token = lexer.next_token();
            }
        }
        Ok(())
    }

    /// An attribute as the property that it spells. One whose value does not fit stays an attribute, and is refused when the property
    /// is needed.
    fn typed_note(&self, said: AnnotationKind) -> AnnotationKind {
        let AnnotationKind::Attribute(name, value) = said else { return said };
        match StorageField::from_attribute(self.layout.names.resolve(name), &value) {
            Ok(Some(field)) => AnnotationKind::Storage(name, Box::new(StorageNote { field, spelled: OnceLock::from(value) })),
            _ => AnnotationKind::Attribute(name, value),
        }
    }

    /// A list of 2025 may be empty or have values of several kinds: "The avalue can be a number, string, or [,] list".
    ///
    /// value = INTEGER | FLOAT | QUOTED | '[' v (',' v)* ']'
    fn attribute_value(&mut self, lexer: &mut Lexer<'_>, token: Token) -> Result<AttributeValue, Box<Diagnostic>> {
        if token.kind != TokenKind::OpenBracket {
            return self.parse_scalar(token).map(|value| AttributeValue::Single(Attribute::Value(value)));
        }
        let mut list: Vec<LayoutLiteral> = Vec::new();
        let mut is_mixed = false;
        let is_2025 = self.dialect == Dialect::D2025;
        loop {
            let token = lexer.next_token();
            if is_2025 && list.is_empty() && token.kind == TokenKind::CloseBracket {
                return Ok(AttributeValue::Other(token.span.end));
            }
            let value = self.parse_scalar(token)?;
            let is_whole = |value: &LayoutLiteral| matches!(value, LayoutLiteral::Integer(_) | LayoutLiteral::Large(_));
            let is_other = |first: &LayoutLiteral| {
                std::mem::discriminant(first) != std::mem::discriminant(&value) && !(is_whole(first) && is_whole(&value))
            };
            let was_mixed = is_mixed;
            if !is_mixed && list.first().is_some_and(is_other) {
                // The list is read to its end, because the attributes after it still count.
                is_mixed = true;
            }
            if is_mixed && !is_2025 && !was_mixed {
                self.sink.push(
                    DiagnosticCode::E211
                        .to_diagnostic(token.span, "the values of this list are not all of one kind")
                        .hint("all integers, all floats (write 1.0) or all strings"),
                );
            }
            list.push(value);
            let token = lexer.next_token();
            match token.kind {
                TokenKind::Comma => {}
                TokenKind::CloseBracket if is_mixed => return Ok(AttributeValue::Other(token.span.end)),
                TokenKind::CloseBracket => return Ok(AttributeValue::Single(Attribute::List(list))),
                _ => return Err(self.invalid_value(token, "`,` or `]`").into()),
            }
        }
    }

    fn parse_scalar(&self, token: Token) -> Result<LayoutLiteral, Box<Diagnostic>> {
        let text = token.span.slice(self.text);
        match token.kind {
            TokenKind::Integer => Ok(LayoutLiteral::Integer(token.value)),
            TokenKind::BadNumber if is_large(text) => Ok(LayoutLiteral::Large(text.trim_start_matches('+').to_owned())),
            TokenKind::Float => Ok(LayoutLiteral::Float(parse_float(text))),
            TokenKind::Quoted => Ok(LayoutLiteral::Text(unquote_name(text).into_owned())),
            TokenKind::Symbol => {
                Err(self.invalid_value(token, "a value").hint(format!("a text needs quotes: \"{text}\"")).into())
            }
            _ => Err(self.invalid_value(token, "a value").into()),
        }
    }

    fn invalid_value(&self, token: Token, what: &str) -> Diagnostic {
        let found = if token.kind == TokenKind::End { "the end of the comment".into() } else { self.display_token(token) };
        DiagnosticCode::E211.to_diagnostic(token.span, format!("attribute comment: expected {what}, found {found}"))
    }
}

/// The value of a FLOAT, whose form the scanner has checked.
pub(super) fn parse_float(text: &str) -> f64 {
    text.parse().unwrap_or(f64::NAN)
}

/// Returns `true` for a decimal number without leading zeros.
fn is_large(text: &str) -> bool {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    !digits.starts_with('0') && digits.bytes().all(|byte| byte.is_ascii_digit())
}
