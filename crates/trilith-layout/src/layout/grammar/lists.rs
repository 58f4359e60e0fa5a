//! Lists: their elements, their repetition, dicts in them.

use super::scope::DimName;
use super::{
    DiagnosticCode, Dialect, Draft, Frame, ItemData, ItemId, LayoutParser, LayoutStep, ParseResult, Span, StepEffects, Token,
    TokenKind, TypeId, TypeOwner,
};
use crate::layout::interner::Symbol;
use crate::layout::model::{ElementSlot, Extension, ListSteps, RepeatCount};

impl LayoutParser<'_> {
    /// The list that `NAME '['` opens, new or known; E302 at the name of anything else.
    pub(super) fn named_list(&mut self, name: Token, symbol: Symbol) -> ParseResult<ItemId> {
        let parent = self.current_dict();
        match self.layout.name_scope.get(&(parent.0, symbol.0)).copied() {
            Some(known) if self.layout.item(known).kind == ItemData::List => Ok(known),
            Some(known) => self.redeclared_kind_error(name, symbol, known, "list"),
            None => {
                let list = self.layout.add_item(ItemData::List, symbol, parent, name.span);
                self.layout.name_scope.insert((parent.0, symbol.0), list);
                Ok(list)
            }
        }
    }

    /// '[' of a list, taken already: its elements come next.
    pub(super) fn open_list(&mut self, list: ItemId, open: Span, slot: ElementSlot) -> ParseResult {
        self.set_comment_target(list);
        self.charge_depth(1)?;
        let step = self.layout.steps.len() as u32;
        self.layout.steps.push(LayoutStep::List(Box::new(ListSteps {
            list,
            end: step + 1,
            count: RepeatCount::Once,
            span: open,
            elements: 0,
            slot,
            places: false,
            dynamic: false,
        })));
        self.frames.push(Frame::List {
            item: list,
            step,
            open,
            expects: true,
            placed: None,
            before: self.layout.item(list).elements,
            holds: StepEffects::default(),
            element: ItemId::NONE,
            from: step + 1,
            element_holds: StepEffects::default(),
        });
        Ok(())
    }

    /// Parses the separator after an element: ',' or ']'. Returns `true` if an element is to be parsed.
    pub(super) fn list_continues(&mut self) -> ParseResult<bool> {
        let Some(Frame::List { expects, element, .. }) = self.frames.last() else { return Ok(false) };
        let (expects, element) = (*expects, *element);
        if self.is_at_kind(TokenKind::CloseBracket) {
            self.end_element();
            self.close_list()?;
            return Ok(false);
        }
        if expects {
            return Ok(true);
        }
        if !self.is_at_kind(TokenKind::Comma) {
            return self.fail_unexpected_token(DiagnosticCode::E206, "`,` or `]` after a list element", self.bracket_hint());
        }
        self.advance();
        self.end_element();
        if let Some(Frame::List { expects, .. }) = self.frames.last_mut() {
            *expects = true;
        }
        if element != ItemId::NONE {
            self.set_comment_target(element);
        }
        Ok(false)
    }

    /// Returns the probable meaning of a bracket of the other dialect.
    pub(super) fn bracket_hint(&self) -> &'static str {
        match (self.dialect, self.token.kind) {
            (Dialect::D2025, TokenKind::OpenParen) => "2025 shapes use [ ]",
            (Dialect::D2026, TokenKind::OpenBracket) => "2026 shapes use ( )",
            _ => "",
        }
    }

    /// The first token of a list element: a new item of the list.
    pub(super) fn begin_element(&mut self, span: Span) -> ItemId {
        let step = self.layout.steps.len() as u32;
        let Some(Frame::List { item: list, .. }) = self.frames.last() else { return ItemId::ROOT };
        let list = *list;
        let position = self.layout.item(list).elements;
        self.layout.item_mut(list).elements = position.saturating_add(1);
        let item = self.layout.add_item(ItemData::Pending, Symbol::NONE, list, span);
        self.layout.item_mut(item).position = position;
        if self.dialect == Dialect::D2026 {
            self.elements.entry(list).or_default().push(item);
        }
        self.begin_at(item, step);
        item
    }

    /// The list on top goes on with this item, new or known.
    pub(super) fn begin_at(&mut self, item: ItemId, step: u32) {
        if let Some(Frame::List { element, from, element_holds, expects, .. }) = self.frames.last_mut() {
            (*element, *from, *expects) = (item, step, false);
            *element_holds = StepEffects::default();
        }
    }

    /// The element that is before a ',' or ']' is complete.
    fn end_element(&mut self) {
        let steps = self.layout.steps.len() as u32;
        if let Some(Frame::List { item, element, from, element_holds, holds, expects, .. }) = self.frames.last_mut()
            && !*expects
            && *element != ItemId::NONE
        {
            holds.add(*element_holds);
            self.last_element.insert(*item, (*from, steps, *element_holds));
        }
    }

    /// A data element of a list.
    pub(super) fn data_element(&mut self) -> ParseResult {
        let span = self.token.span;
        // The element begins with its first token, which `datatype` takes.
        let item = self.begin_element(span);
        self.comment_target_after_next(item);
        self.parse_datatype(Draft {
            owner: TypeOwner::Element,
            item,
            name: span,
            symbol: Symbol::NONE,
            type_span: span,
            ty: TypeId::NONE,
        })
    }

    /// '/' dict_body: an element that is a dict.
    pub(super) fn dict_element(&mut self) -> ParseResult {
        let open = self.advance();
        let dict = self.begin_element(open.span);
        self.layout.item_mut(dict).kind = ItemData::Dict;
        self.open_element_dict(dict, open.span, ElementSlot::New)
    }

    /// '[' … ']': an element that is a list.
    pub(super) fn list_element(&mut self) -> ParseResult {
        let open = self.advance();
        let list = self.begin_element(open.span);
        self.layout.item_mut(list).kind = ItemData::List;
        self.open_list(list, open.span, ElementSlot::New)
    }

    /// The body of a dict in a list comes next.
    pub(super) fn open_element_dict(&mut self, dict: ItemId, open: Span, slot: ElementSlot) -> ParseResult {
        self.set_comment_target(dict);
        self.charge_depth(1)?;
        let step = self.layout.steps.len() as u32;
        self.layout.steps.push(LayoutStep::Element { dict, end: step + 1, slot });
        self.frames.push(Frame::Dict { current: dict, top: dict, step, depth: 0, open });
        Ok(())
    }

    /// A ',' or ']' ends the dict that is an element of a list.
    pub(super) fn close_element_dict(&mut self) {
        let steps = self.layout.steps.len() as u32;
        if let Some(Frame::Dict { step, .. }) = self.frames.pop()
            && let Some(LayoutStep::Element { end, .. }) = self.layout.steps.get_mut(step as usize)
        {
            *end = steps;
        }
    }

    /// list = '[' … ']' ('*' count)?    (from the ']' on)
    fn close_list(&mut self) -> ParseResult {
        self.advance();
        let Some(Frame::List { item: list, step, mut placed, before, holds, .. }) = self.frames.pop() else { return Ok(()) };
        self.set_comment_target(list);
        let mut count = RepeatCount::Once;
        let mut count_span = Span::default();
        if self.dialect == Dialect::D2025 && self.consume_if(TokenKind::Star).is_some() {
            (count, count_span) = self.parse_count(DiagnosticCode::E206)?;
            if let (Some(span), true) = (placed, !matches!(count, RepeatCount::Once | RepeatCount::Fixed(1))) {
                let message = "an address inside a repetition: all copies would have one byte offset";
                self.report_error(DiagnosticCode::E313.to_diagnostic(span, message).hint("use % or nothing"));
                // The list around need not say it again.
                placed = None;
            }
        }
        let steps = self.layout.steps.len() as u32;
        let now = self.layout.item(list).elements;
        if let Some(LayoutStep::List(this)) = self.layout.steps.get_mut(step as usize) {
            (this.end, this.count, this.span) = (steps, count, count_span);
            (this.elements, this.places, this.dynamic) = (now - before, holds.places, holds.dynamic);
        }
        // The content of a list that is an element counts for the list around.
        let around = self.frames.iter_mut().rev().find(|frame| !matches!(frame, Frame::Dict { step, .. } if *step != u32::MAX));
        if let Some(Frame::List { element_holds, placed: first, .. }) = around {
            element_holds.add(holds);
            if let Some(span) = placed {
                first.get_or_insert(span);
            }
        }
        Ok(())
    }

    /// count = INTEGER | NAME
    pub(super) fn parse_count(&mut self, code: DiagnosticCode) -> ParseResult<(RepeatCount, Span)> {
        match self.token.kind {
            TokenKind::Integer => {
                let token = self.advance();
                if token.value < 0 {
                    self.negative_count(token.value, token.span);
                }
                Ok((RepeatCount::Fixed(token.value), token.span))
            }
            TokenKind::Symbol | TokenKind::Quoted => {
                let token = self.advance();
                let symbol = self.intern_token_name(token);
                Ok((self.named_count(symbol, token.span), token.span))
            }
            _ => self.fail_unexpected_token(code, "how often: an integer or the name of a parameter", ""),
        }
    }

    fn named_count(&mut self, symbol: Symbol, span: Span) -> RepeatCount {
        match self.find_param(symbol) {
            DimName::Param(param) => {
                if let Some(value) = self.layout.param(param).fixed_value.filter(|value| *value < 0) {
                    self.negative_count(value, span);
                }
                RepeatCount::Param(param)
            }
            _ => {
                self.unknown_param(symbol, span);
                RepeatCount::Fixed(0)
            }
        }
    }

    fn negative_count(&mut self, value: i64, span: Span) {
        self.report_error(DiagnosticCode::E407.to_diagnostic(span, format!("the repeat count {value} is negative")));
    }

    /// NAME '[' X ']' if X is a count: appends copies of the last element; from X on.
    pub(super) fn list_repeat(&mut self, name: Token, symbol: Symbol, open: Span) -> ParseResult {
        let parent = self.current_dict();
        let list = match self.layout.name_scope.get(&(parent.0, symbol.0)).copied() {
            Some(known) if self.layout.item(known).kind == ItemData::List => known,
            Some(known) => return self.redeclared_kind_error(name, symbol, known, "list"),
            None => return self.nothing_to_repeat(name, symbol),
        };
        let Some(&(from, to, holds)) = self.last_element.get(&list) else {
            return self.nothing_to_repeat(name, symbol);
        };
        self.set_comment_target(list);
        self.unclosed.push(open);
        let (count, span) = self.parse_count(DiagnosticCode::E206)?;
        if !self.is_at_kind(TokenKind::CloseBracket) {
            return self.fail_unexpected_token(DiagnosticCode::E206, "`]` after a repeat count", "");
        }
        self.advance();
        self.unclosed.pop();
        let StepEffects { places, dynamic } = holds;
        self.layout.steps.push(LayoutStep::Extend(Box::new(Extension { list, from, to, count, span, places, dynamic })));
        let around = self.frames.iter_mut().rev().find(|frame| !matches!(frame, Frame::Dict { step, .. } if *step != u32::MAX));
        if let Some(Frame::List { element_holds, .. }) = around {
            element_holds.add(holds);
        }
        Ok(())
    }

    /// E312 at the name of a list (2025).
    fn nothing_to_repeat<V>(&mut self, name: Token, symbol: Symbol) -> ParseResult<V> {
        let shown = self.layout.names.resolve(symbol).to_owned();
        let message = format!("list `{shown}` has no element yet that could be repeated");
        self.fail_item(
            DiagnosticCode::E312.to_diagnostic(name.span, message).hint("a list is created by its elements: `name [f8]`"),
        )
    }

    /// Comments before the next token belong to what they did; those after it to `item`.
    pub(super) fn comment_target_after_next(&mut self, item: ItemId) {
        let before = self.token.notes as usize;
        self.attach_comments(before);
        self.set_comment_target(item);
    }

    /// Returns `true` if an item is data, for `i%0`.
    pub(super) fn is_data(&self, item: ItemId) -> bool {
        matches!(self.layout.item(item).kind, ItemData::Data(_))
    }
}
