//! Lists: their elements, their repetition, dicts in them.

use super::scope::Found;
use super::{Code, Dialect, Draft, Frame, Holds, ItemId, ItemKind, Owner, Parse, Parser, Span, Step, T, Token, TypeId};
use crate::layout::interner::Symbol;
use crate::layout::model::{Count, Extension, Listing};

impl Parser<'_> {
    /// The list that `NAME '['` opens, new or known; E302 at the name of anything else.
    pub(super) fn named_list(&mut self, name: Token, symbol: Symbol) -> Parse<ItemId> {
        let parent = self.dict();
        match self.layout.found.get(&(parent.0, symbol.0)).copied() {
            Some(known) if self.layout.item(known).kind == ItemKind::List => Ok(known),
            Some(known) => self.other_kind(name, symbol, known, "list"),
            None => {
                let list = self.layout.add_item(ItemKind::List, symbol, parent, name.span);
                self.layout.found.insert((parent.0, symbol.0), list);
                Ok(list)
            }
        }
    }

    /// '[' of a list, taken already: its elements come next.
    pub(super) fn open_list(&mut self, list: ItemId, open: Span, fresh: bool) -> Parse {
        self.aim(list);
        self.charge_depth(1)?;
        let step = self.layout.steps.len() as u32;
        self.layout.steps.push(Step::List(Box::new(Listing {
            list,
            end: step + 1,
            count: Count::Once,
            span: open,
            elements: 0,
            fresh,
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
            holds: Holds::default(),
            element: ItemId::NONE,
            from: step + 1,
            element_holds: Holds::default(),
        });
        Ok(())
    }

    /// Parses the separator after an element: ',' or ']'. Returns `true` if an element is to be parsed.
    pub(super) fn list_goes_on(&mut self) -> Parse<bool> {
        let Some(Frame::List { expects, element, .. }) = self.frames.last() else { return Ok(false) };
        let (expects, element) = (*expects, *element);
        if self.at(T::CloseBracket) {
            self.end_element();
            self.close_list()?;
            return Ok(false);
        }
        if expects {
            return Ok(true);
        }
        if !self.at(T::Comma) {
            return self.expected(Code::E206, "`,` or `]` after a list element", self.bracket_hint());
        }
        self.bump();
        self.end_element();
        if let Some(Frame::List { expects, .. }) = self.frames.last_mut() {
            *expects = true;
        }
        if element != ItemId::NONE {
            self.aim(element);
        }
        Ok(false)
    }

    /// Returns the probable meaning of a bracket of the other dialect.
    pub(super) fn bracket_hint(&self) -> &'static str {
        match (self.dialect, self.token.kind) {
            (Dialect::D2025, T::OpenParen) => "2025 shapes use [ ]",
            (Dialect::D2026, T::OpenBracket) => "2026 shapes use ( )",
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
        let item = self.layout.add_item(ItemKind::Pending, Symbol::NONE, list, span);
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
            *element_holds = Holds::default();
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
    pub(super) fn data_element(&mut self) -> Parse {
        let span = self.token.span;
        // The element begins with its first token, which `datatype` takes.
        let item = self.begin_element(span);
        self.aim_after_next(item);
        self.datatype(Draft { owner: Owner::Element, item, name: span, symbol: Symbol::NONE, type_span: span, ty: TypeId::NONE })
    }

    /// '/' dict_body: an element that is a dict.
    pub(super) fn dict_element(&mut self) -> Parse {
        let open = self.bump();
        let dict = self.begin_element(open.span);
        self.layout.item_mut(dict).kind = ItemKind::Dict;
        self.open_element_dict(dict, open.span, true)
    }

    /// '[' … ']': an element that is a list.
    pub(super) fn list_element(&mut self) -> Parse {
        let open = self.bump();
        let list = self.begin_element(open.span);
        self.layout.item_mut(list).kind = ItemKind::List;
        self.open_list(list, open.span, true)
    }

    /// The body of a dict in a list comes next.
    pub(super) fn open_element_dict(&mut self, dict: ItemId, open: Span, fresh: bool) -> Parse {
        self.aim(dict);
        self.charge_depth(1)?;
        let step = self.layout.steps.len() as u32;
        self.layout.steps.push(Step::Element { dict, end: step + 1, fresh });
        self.frames.push(Frame::Dict { current: dict, top: dict, step, depth: 0, open });
        Ok(())
    }

    /// A ',' or ']' ends the dict that is an element of a list.
    pub(super) fn close_element_dict(&mut self) {
        let steps = self.layout.steps.len() as u32;
        if let Some(Frame::Dict { step, .. }) = self.frames.pop()
            && let Some(Step::Element { end, .. }) = self.layout.steps.get_mut(step as usize)
        {
            *end = steps;
        }
    }

    /// list = '[' … ']' ('*' count)?    (from the ']' on)
    fn close_list(&mut self) -> Parse {
        self.bump();
        let Some(Frame::List { item: list, step, mut placed, before, holds, .. }) = self.frames.pop() else { return Ok(()) };
        self.aim(list);
        let mut count = Count::Once;
        let mut count_span = Span::default();
        if self.dialect == Dialect::D2025 && self.eat(T::Star).is_some() {
            (count, count_span) = self.count(Code::E206)?;
            if let (Some(span), true) = (placed, !matches!(count, Count::Once | Count::Fixed(1))) {
                let message = "an address inside a repetition: all copies would have one byte offset";
                self.report(Code::E313.at(span, message).hint("use % or nothing"));
                // The list around need not say it again.
                placed = None;
            }
        }
        let steps = self.layout.steps.len() as u32;
        let now = self.layout.item(list).elements;
        if let Some(Step::List(this)) = self.layout.steps.get_mut(step as usize) {
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
    pub(super) fn count(&mut self, code: Code) -> Parse<(Count, Span)> {
        match self.token.kind {
            T::Integer => {
                let token = self.bump();
                if token.value < 0 {
                    self.negative_count(token.value, token.span);
                }
                Ok((Count::Fixed(token.value), token.span))
            }
            T::Symbol | T::Quoted => {
                let token = self.bump();
                let symbol = self.symbol(token);
                Ok((self.named_count(symbol, token.span), token.span))
            }
            _ => self.expected(code, "how often: an integer or the name of a parameter", ""),
        }
    }

    fn named_count(&mut self, symbol: Symbol, span: Span) -> Count {
        match self.find_param(symbol) {
            Found::Param(param) => {
                if let Some(value) = self.layout.param(param).fixed.filter(|value| *value < 0) {
                    self.negative_count(value, span);
                }
                Count::Param(param)
            }
            _ => {
                self.unknown_param(symbol, span);
                Count::Fixed(0)
            }
        }
    }

    fn negative_count(&mut self, value: i64, span: Span) {
        self.report(Code::E407.at(span, format!("the repeat count {value} is negative")));
    }

    /// NAME '[' X ']' if X is a count: appends copies of the last element; from X on.
    pub(super) fn list_repeat(&mut self, name: Token, symbol: Symbol, open: Span) -> Parse {
        let parent = self.dict();
        let list = match self.layout.found.get(&(parent.0, symbol.0)).copied() {
            Some(known) if self.layout.item(known).kind == ItemKind::List => known,
            Some(known) => return self.other_kind(name, symbol, known, "list"),
            None => return self.nothing_to_repeat(name, symbol),
        };
        let Some(&(from, to, holds)) = self.last_element.get(&list) else {
            return self.nothing_to_repeat(name, symbol);
        };
        self.aim(list);
        self.unclosed.push(open);
        let (count, span) = self.count(Code::E206)?;
        if !self.at(T::CloseBracket) {
            return self.expected(Code::E206, "`]` after a repeat count", "");
        }
        self.bump();
        self.unclosed.pop();
        let Holds { places, dynamic } = holds;
        self.layout.steps.push(Step::Extend(Box::new(Extension { list, from, to, count, span, places, dynamic })));
        let around = self.frames.iter_mut().rev().find(|frame| !matches!(frame, Frame::Dict { step, .. } if *step != u32::MAX));
        if let Some(Frame::List { element_holds, .. }) = around {
            element_holds.add(holds);
        }
        Ok(())
    }

    /// E312 at the name of a list (2025).
    fn nothing_to_repeat<V>(&mut self, name: Token, symbol: Symbol) -> Parse<V> {
        let shown = self.layout.names.text(symbol).to_owned();
        let message = format!("list `{shown}` has no element yet that could be repeated");
        self.fail(Code::E312.at(name.span, message).hint("a list is created by its elements: `name [f8]`"))
    }

    /// Comments before the next token belong to what they did; those after it to `item`.
    pub(super) fn aim_after_next(&mut self, item: ItemId) {
        let before = self.token.notes as usize;
        self.attach(before);
        self.aim(item);
    }

    /// Returns `true` if an item is data, for `i%0`.
    pub(super) fn is_data(&self, item: ItemId) -> bool {
        matches!(self.layout.item(item).kind, ItemKind::Data(_))
    }
}
