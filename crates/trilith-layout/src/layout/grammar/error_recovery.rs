//! Going on after an error, and hints that need the whole text.

use super::{CommentTarget, Dialect, Frame, ItemData, ItemId, LayoutParser, TokenKind};
use crate::layout::interner::Symbol;
use crate::span::line_column;
use crate::suggest::nearest;

impl LayoutParser<'_> {
    /// Skips to the next NAME followed by one of `= : / [ {` at the same bracket depth, or to where
    /// what is open goes on or ends.
    pub(super) fn recover(&mut self) {
        let mut depth = self.unclosed.len();
        loop {
            match self.token.kind {
                TokenKind::End => {
                    self.finished = true;
                    return;
                }
                TokenKind::OpenBracket | TokenKind::OpenBrace | TokenKind::OpenParen => depth += 1,
                TokenKind::CloseBracket | TokenKind::CloseBrace | TokenKind::CloseParen | TokenKind::Comma if depth == 0 => {
                    let resumes = self.resumes_at_closer();
                    if resumes {
                        break;
                    }
                }
                TokenKind::CloseBracket | TokenKind::CloseBrace | TokenKind::CloseParen => depth -= 1,
                TokenKind::Symbol | TokenKind::Quoted if depth == 0 && self.resumes_at_name() => break,
                // A shape that was never closed ends where a line begins like an item.
                TokenKind::Symbol | TokenKind::Quoted
                    if depth == self.unclosed.len() && self.begins_line() && self.resumes_at_name() =>
                {
                    break;
                }
                TokenKind::BadQuote => {
                    self.advance();
                    continue;
                }
                _ => {}
            }
            self.advance();
        }
        self.target = match self.frames.last() {
            Some(Frame::Dict { current, .. }) => CommentTarget::Item(*current),
            Some(Frame::List { item, .. }) => CommentTarget::Item(*item),
            Some(Frame::Struct(frame)) => CommentTarget::Item(frame.item),
            _ => CommentTarget::Item(ItemId::ROOT),
        };
        self.pending_comments.clear();
    }

    /// Returns `true` if the next token is the first of its line.
    fn begins_line(&self) -> bool {
        let before = self.text.get(..self.token.span.start as usize).unwrap_or("");
        before.trim_end_matches([' ', '\t']).ends_with(['\n', '\r'])
    }

    /// Returns `true` if the next token may follow a complete item of what is open.
    pub(super) fn can_continue(&self) -> bool {
        let kind = self.token.kind;
        match self.frames.last() {
            Some(Frame::List { .. }) => matches!(kind, TokenKind::Comma | TokenKind::CloseBracket | TokenKind::End),
            Some(Frame::Struct(_) | Frame::Summary { .. }) => {
                matches!(kind, TokenKind::CloseBrace | TokenKind::End) || (self.token.is_name() && self.resumes_at_name())
            }
            Some(Frame::Dict { step, .. }) if matches!(kind, TokenKind::Comma | TokenKind::CloseBracket) => *step != u32::MAX,
            _ => {
                matches!(kind, TokenKind::DotDot | TokenKind::Slash | TokenKind::End | TokenKind::Minus | TokenKind::Ampersand)
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
                matches!(kind, TokenKind::Comma | TokenKind::CloseBracket)
            }
            Some(Frame::Dict { step, .. }) => *step != u32::MAX && matches!(kind, TokenKind::Comma | TokenKind::CloseBracket),
            Some(Frame::Struct(_) | Frame::Summary { .. }) => kind == TokenKind::CloseBrace,
            None => false,
        }
    }

    /// Returns `true` if the name here begins an item of what is open.
    fn resumes_at_name(&self) -> bool {
        let next = self.peek_token().kind;
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
                if next == TokenKind::OpenBracket
                    && !self.begins_line()
                    && crate::layout::Primitive::from_name(word, self.dialect).is_some()
                {
                    return false;
                }
                let begins = matches!(
                    next,
                    TokenKind::Equal | TokenKind::Colon | TokenKind::Slash | TokenKind::OpenBracket | TokenKind::OpenBrace
                );
                begins || (next == TokenKind::ColonEqual && self.dialect == Dialect::D2025)
            }
        }
    }

    /// Adds to each "unknown" what only the whole text can tell: declared later, elsewhere, or nearly
    /// of that name.
    pub(super) fn explain_skipped(&mut self) {
        for (at, symbol, is_type, scope) in std::mem::take(&mut self.skipped_from).into_iter().take(200) {
            let hint = self.explain_unknown_name(symbol, is_type, scope);
            if let (Some(hint), Some(diagnostic)) = (hint, self.sink.get_mut(at)) {
                diagnostic.hint = Some(hint);
            }
        }
    }

    fn explain_unknown_name(&self, symbol: Symbol, is_type: bool, scope: ItemId) -> Option<String> {
        let layout = &self.layout;
        let name = layout.names.resolve(symbol);
        let is_kind = |kind: ItemData| matches!((kind, is_type), (ItemData::Param(_), false) | (ItemData::Type(_), true));
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
            layout.items.iter().find(|item| item.name == symbol && !matches!(item.kind, ItemData::Pending | ItemData::Summary));
        if let Some(item) = other {
            let (line, column) = line_column(self.text, item.span.start as usize);
            return Some(format!("`{name}` at {line}:{column} is not a {what}"));
        }
        let known = layout.items.iter().filter(|item| is_kind(item.kind)).map(|item| layout.names.resolve(item.name));
        if is_type && let Some(hint) = super::hints::foreign_type(name, self.dialect) {
            return Some(hint);
        }
        let primitives =
            is_type.then(|| (0..crate::layout::Primitive::COUNT).map(|n| crate::layout::Primitive::from_index(n).name()));
        nearest(name, known.chain(primitives.into_iter().flatten())).map(|near| format!("did you mean `{near}`?"))
    }
}
