//! Going on after an error, and hints that need the whole text.

use super::{Dialect, Frame, ItemId, ItemKind, Parser, T, Target};
use crate::layout::interner::Symbol;
use crate::span::line_column;
use crate::suggest::nearest;

impl Parser<'_> {
    /// Skips to the next NAME followed by one of `= : / [ {` at the same bracket depth, or to where
    /// what is open goes on or ends.
    pub(super) fn recover(&mut self) {
        let mut depth = self.unclosed.len();
        loop {
            match self.token.kind {
                T::End => {
                    self.finished = true;
                    return;
                }
                T::OpenBracket | T::OpenBrace | T::OpenParen => depth += 1,
                T::CloseBracket | T::CloseBrace | T::CloseParen | T::Comma if depth == 0 => {
                    let resumes = self.resumes_at_closer();
                    if resumes {
                        break;
                    }
                }
                T::CloseBracket | T::CloseBrace | T::CloseParen => depth -= 1,
                T::Symbol | T::Quoted if depth == 0 && self.resumes_at_name() => break,
                // A shape that was never closed ends where a line begins like an item.
                T::Symbol | T::Quoted if depth == self.unclosed.len() && self.begins_line() && self.resumes_at_name() => break,
                T::BadQuote => {
                    self.bump();
                    continue;
                }
                _ => {}
            }
            self.bump();
        }
        self.target = match self.frames.last() {
            Some(Frame::Dict { current, .. }) => Target::Item(*current),
            Some(Frame::List { item, .. }) => Target::Item(*item),
            Some(Frame::Struct(frame)) => Target::Item(frame.item),
            _ => Target::Item(ItemId::ROOT),
        };
        self.waiting.clear();
    }

    /// Returns `true` if the next token is the first of its line.
    fn begins_line(&self) -> bool {
        let before = self.text.get(..self.token.span.start as usize).unwrap_or("");
        before.trim_end_matches([' ', '\t']).ends_with(['\n', '\r'])
    }

    /// Returns `true` if the next token may follow a complete item of what is open.
    pub(super) fn goes_on(&self) -> bool {
        let kind = self.token.kind;
        match self.frames.last() {
            Some(Frame::List { .. }) => matches!(kind, T::Comma | T::CloseBracket | T::End),
            Some(Frame::Struct(_) | Frame::Summary { .. }) => {
                matches!(kind, T::CloseBrace | T::End) || (self.token.is_name() && self.resumes_at_name())
            }
            Some(Frame::Dict { step, .. }) if matches!(kind, T::Comma | T::CloseBracket) => *step != u32::MAX,
            _ => {
                matches!(kind, T::DotDot | T::Slash | T::End | T::Minus | T::Ampersand)
                    || (self.token.is_name() && self.resumes_at_name())
            }
        }
    }

    /// Returns `true` if the bracket or comma here ends the failed item, or what holds it.
    fn resumes_at_closer(&mut self) -> bool {
        let kind = self.token.kind;
        match self.frames.last_mut() {
            Some(Frame::List { expects, .. }) => {
                *expects = false;
                matches!(kind, T::Comma | T::CloseBracket)
            }
            Some(Frame::Dict { step, .. }) => *step != u32::MAX && matches!(kind, T::Comma | T::CloseBracket),
            Some(Frame::Struct(_) | Frame::Summary { .. }) => kind == T::CloseBrace,
            None => false,
        }
    }

    /// Returns `true` if the name here begins an item of what is open.
    fn resumes_at_name(&self) -> bool {
        let next = self.peek().kind;
        match self.frames.last() {
            Some(Frame::List { .. }) => false,
            Some(Frame::Struct(open)) if open.alias => false,
            _ => {
                // `f8[10]` after something broken is its datatype, not a list of that name.
                let word = self.token.span.slice(self.text);
                let before = self.text.get(..self.token.span.start as usize).unwrap_or("");
                if before.ends_with(['.', '-']) {
                    return false;
                }
                if next == T::OpenBracket && !self.begins_line() && crate::layout::Primitive::named(word, self.dialect).is_some()
                {
                    return false;
                }
                let begins = matches!(next, T::Equal | T::Colon | T::Slash | T::OpenBracket | T::OpenBrace);
                begins || (next == T::ColonEqual && self.dialect == Dialect::D2025)
            }
        }
    }

    /// Adds to each "unknown" what only the whole text can tell: declared later, elsewhere, or nearly
    /// of that name.
    pub(super) fn explain_lost(&mut self) {
        for (at, symbol, is_type, scope) in std::mem::take(&mut self.lost).into_iter().take(200) {
            let hint = self.explain(symbol, is_type, scope);
            if let (Some(hint), Some(diagnostic)) = (hint, self.sink.get_mut(at)) {
                diagnostic.hint = Some(hint);
            }
        }
    }

    fn explain(&self, symbol: Symbol, is_type: bool, scope: ItemId) -> Option<String> {
        let layout = &self.layout;
        let name = layout.names.text(symbol);
        let is_kind = |kind: ItemKind| matches!((kind, is_type), (ItemKind::Param(_), false) | (ItemKind::Type(_), true));
        // The scope's own chain first: what is found there was declared too late.
        let mut chain = vec![];
        let mut dict = scope;
        while dict != ItemId::NONE && chain.len() < 2000 {
            chain.push(dict);
            dict = layout.item(dict).parent;
        }
        let same = layout.items.iter().filter(|item| item.name == symbol && is_kind(item.kind));
        let (mut later, mut elsewhere) = (None, None);
        for item in same.take(1000) {
            let found = if chain.contains(&item.parent) || (is_type && self.dialect == Dialect::D2025) {
                &mut later
            } else {
                &mut elsewhere
            };
            found.get_or_insert(item);
        }
        let what = if is_type { "type" } else { "parameter" };
        if let Some(item) = later {
            let (line, column) = line_column(self.text, item.span.start as usize);
            return Some(format!("declared at {line}:{column}, must come before its use"));
        }
        if let Some(item) = elsewhere {
            let place = layout.static_path(item.parent);
            return Some(format!("the {what} `{name}` of {place} is not visible here"));
        }
        let other =
            layout.items.iter().find(|item| item.name == symbol && !matches!(item.kind, ItemKind::Pending | ItemKind::Summary));
        if let Some(item) = other {
            let (line, column) = line_column(self.text, item.span.start as usize);
            return Some(format!("`{name}` at {line}:{column} is not a {what}"));
        }
        let known = layout.items.iter().filter(|item| is_kind(item.kind)).map(|item| layout.names.text(item.name));
        if is_type && let Some(hint) = super::hints::foreign_type(name, self.dialect) {
            return Some(hint);
        }
        let primitives =
            is_type.then(|| (0..crate::layout::Primitive::COUNT).map(|n| crate::layout::Primitive::numbered(n).name()));
        nearest(name, known.chain(primitives.into_iter().flatten())).map(|near| format!("did you mean `{near}`?"))
    }
}
