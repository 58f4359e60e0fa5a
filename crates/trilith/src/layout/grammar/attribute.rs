//! Special comments: `##` documentation and `#:` attributes (section 9 of our specification).

use super::{Code, Diagnostic, Dialect, ItemId, Lexer, Note, Parser, T, Token, unquote};
use crate::layout::model::{Attribute, Said, Scalar};
use crate::span::Span;

impl Parser<'_> {
    /// Gives a special comment to an item.
    pub(super) fn note(&mut self, item: ItemId, comment: Span) {
        let text = comment.slice(self.text);
        let inside = Span::new(comment.start + 2, comment.end.max(comment.start + 2));
        if text.starts_with("##") {
            let kept = inside.slice(self.text).trim_end_matches([' ', '\t', '\u{b}', '\u{c}']).len() as u32;
            self.notes.push(Note { item, said: Said::Doc(Span::new(inside.start, inside.start + kept)) });
        } else if let Err(diagnostic) = self.attributes(item, inside) {
            self.sink.push(diagnostic);
        }
    }

    /// attributes = (NAME ('=' value)? ','?)*
    fn attributes(&mut self, item: ItemId, inside: Span) -> Result<(), Diagnostic> {
        let mut lexer = Lexer::part(self.text, inside, Dialect::D2026);
        let mut token = lexer.next();
        while token.kind != T::End {
            // What cannot be read is kept as it is written.
            let rest = Note { item, said: Said::Raw(Span::new(token.span.start, inside.end)) };
            if !token.is_name() {
                self.notes.push(rest);
                return Err(self.unfit(token, "the name of an attribute"));
            }
            let name = self.symbol(token);
            token = lexer.next();
            let mut value = Attribute::Flag;
            if token.kind == T::Equal {
                token = lexer.next();
                value = match self.attribute_value(&mut lexer, token) {
                    Ok(value) => value,
                    Err(diagnostic) => {
                        self.notes.push(rest);
                        return Err(diagnostic);
                    }
                };
                token = lexer.next();
            }
            self.notes.push(Note { item, said: Said::Attribute(name, value) });
            if token.kind == T::Comma {
                token = lexer.next();
            }
        }
        Ok(())
    }

    /// value = INTEGER | FLOAT | QUOTED | '[' v (',' v)* ']'
    fn attribute_value(&mut self, lexer: &mut Lexer<'_>, token: Token) -> Result<Attribute, Diagnostic> {
        if token.kind != T::OpenBracket {
            return self.scalar(token).map(Attribute::Value);
        }
        let mut list: Vec<Scalar> = Vec::new();
        let mut is_mixed = false;
        loop {
            let token = lexer.next();
            let value = self.scalar(token)?;
            let is_other = |first: &Scalar| std::mem::discriminant(first) != std::mem::discriminant(&value);
            if !is_mixed && list.first().is_some_and(is_other) {
                // The values are plain all the same: they are kept, and so is what follows.
                is_mixed = true;
                self.sink.push(
                    Diagnostic::new(Code::E211, token.span, "the values of this list are not all of one kind")
                        .hint("all integers, all floats (write 1.0) or all strings"),
                );
            }
            list.push(value);
            let token = lexer.next();
            match token.kind {
                T::Comma => {}
                T::CloseBracket => return Ok(Attribute::List(list)),
                _ => return Err(self.unfit(token, "`,` or `]`")),
            }
        }
    }

    fn scalar(&self, token: Token) -> Result<Scalar, Diagnostic> {
        let text = token.span.slice(self.text);
        match token.kind {
            T::Integer => Ok(Scalar::Integer(token.value)),
            T::Float => Ok(Scalar::Float(parse_float(text))),
            T::Quoted => Ok(Scalar::Text(unquote(text).into_owned())),
            T::Symbol => Err(self.unfit(token, "a value").hint(format!("a text needs quotes: \"{text}\""))),
            _ => Err(self.unfit(token, "a value")),
        }
    }

    fn unfit(&self, token: Token, what: &str) -> Diagnostic {
        let found = if token.kind == T::End { "the end of the comment".into() } else { self.shown(token) };
        Diagnostic::new(Code::E211, token.span, format!("attribute comment: expected {what}, found {found}"))
    }
}

/// The value of a FLOAT, whose form the scanner has checked.
pub(super) fn parse_float(text: &str) -> f64 {
    text.parse().unwrap_or(f64::NAN)
}
