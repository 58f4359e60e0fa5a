//! Special comments: `##` documentation and `#:` attributes (section 9 of our specification).

use super::{Code, Dialect, ItemId, Lexer, Note, Parser, T, Token, unquote};
use crate::diagnostic::Diagnostic;
use crate::layout::model::{Attribute, Literal, Said};
use crate::span::Span;

/// The value after the `=` of an attribute.
enum Value {
    Plain(Attribute),
    /// A list of values of several kinds, up to here.
    Mixed(u32),
}

impl Parser<'_> {
    /// Gives a special comment to an item.
    pub(super) fn note(&mut self, item: ItemId, comment: Span) {
        let text = comment.slice(self.text);
        let inside = Span::new(comment.start + 2, comment.end.max(comment.start + 2));
        if text.starts_with("##") {
            let kept = inside.slice(self.text).trim_end_matches([' ', '\t', '\u{b}', '\u{c}']).len() as u32;
            self.notes.push(Note { item, said: Said::Doc(Span::new(inside.start, inside.start + kept)) });
        } else if let Err(diagnostic) = self.attributes(item, inside) {
            self.sink.push(*diagnostic);
        }
    }

    /// attributes = (NAME ('=' value)? ','?)*
    fn attributes(&mut self, item: ItemId, inside: Span) -> Result<(), Box<Diagnostic>> {
        let mut lexer = Lexer::part(self.text, inside, Dialect::D2026);
        let mut token = lexer.next();
        while token.kind != T::End {
            // An unreadable value is kept as it is written.
            let start = token.span.start;
            let rest = Note { item, said: Said::Raw(Span::new(start, inside.end)) };
            if !token.is_name() {
                self.notes.push(rest);
                return Err(self.unfit(token, "the name of an attribute").into());
            }
            let name = self.symbol(token);
            token = lexer.next();
            let mut said = Said::Attribute(name, Attribute::Flag);
            if token.kind == T::Equal {
                token = lexer.next();
                said = match self.attribute_value(&mut lexer, token) {
                    Ok(Value::Plain(value)) => Said::Attribute(name, value),
                    Ok(Value::Mixed(end)) => Said::Raw(Span::new(start, end)),
                    Err(diagnostic) => {
                        self.notes.push(rest);
                        return Err(diagnostic);
                    }
                };
                token = lexer.next();
            }
            self.notes.push(Note { item, said });
            if token.kind == T::Comma {
                token = lexer.next();
            }
        }
        Ok(())
    }

    /// value = INTEGER | FLOAT | QUOTED | '[' v (',' v)* ']'
    fn attribute_value(&mut self, lexer: &mut Lexer<'_>, token: Token) -> Result<Value, Box<Diagnostic>> {
        if token.kind != T::OpenBracket {
            return self.scalar(token).map(|value| Value::Plain(Attribute::Value(value)));
        }
        let mut list: Vec<Literal> = Vec::new();
        let mut is_mixed = false;
        loop {
            let token = lexer.next();
            let value = self.scalar(token)?;
            let is_whole = |value: &Literal| matches!(value, Literal::Integer(_) | Literal::Large(_));
            let is_other = |first: &Literal| {
                std::mem::discriminant(first) != std::mem::discriminant(&value) && !(is_whole(first) && is_whole(&value))
            };
            if !is_mixed && list.first().is_some_and(is_other) {
                // The list is read to its end, because the attributes after it still count.
                is_mixed = true;
                self.sink.push(
                    Code::E211
                        .at(token.span, "the values of this list are not all of one kind")
                        .hint("all integers, all floats (write 1.0) or all strings"),
                );
            }
            list.push(value);
            let token = lexer.next();
            match token.kind {
                T::Comma => {}
                T::CloseBracket if is_mixed => return Ok(Value::Mixed(token.span.end)),
                T::CloseBracket => return Ok(Value::Plain(Attribute::List(list))),
                _ => return Err(self.unfit(token, "`,` or `]`").into()),
            }
        }
    }

    fn scalar(&self, token: Token) -> Result<Literal, Box<Diagnostic>> {
        let text = token.span.slice(self.text);
        match token.kind {
            T::Integer => Ok(Literal::Integer(token.value)),
            T::BadNumber if is_large(text) => Ok(Literal::Large(text.trim_start_matches('+').to_owned())),
            T::Float => Ok(Literal::Float(parse_float(text))),
            T::Quoted => Ok(Literal::Text(unquote(text).into_owned())),
            T::Symbol => Err(self.unfit(token, "a value").hint(format!("a text needs quotes: \"{text}\"")).into()),
            _ => Err(self.unfit(token, "a value").into()),
        }
    }

    fn unfit(&self, token: Token, what: &str) -> Diagnostic {
        let found = if token.kind == T::End { "the end of the comment".into() } else { self.shown(token) };
        Code::E211.at(token.span, format!("attribute comment: expected {what}, found {found}"))
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
