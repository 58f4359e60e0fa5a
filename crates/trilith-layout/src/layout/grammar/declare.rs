//! Finished items enter the model; parameters and dicts.

use super::data::below_minus_one;
use super::structs::bare_text;
use super::{
    Code, Dialect, Draft, Frame, Holds, ItemId, ItemKind, Member, MemberKind, Owner, ParamId, Parse, Parser, Placed, Placement,
    Primitive, Span, Step, T, Token, TypeId, TypeKind,
};
use crate::layout::interner::Symbol;
use crate::layout::model::{Data, Param, PrimitiveKind, Use};
use crate::layout::spec_decisions;

impl Parser<'_> {
    /// The name that an item begins with.
    pub(super) fn item_name(&mut self) -> (Token, Symbol) {
        let name = self.bump();
        self.hold();
        let symbol = self.symbol(name);
        self.named = symbol;
        (name, symbol)
    }

    /// The data after the sign that follows a name.
    pub(super) fn data_item(&mut self, owner: Owner, name: Token, symbol: Symbol) -> Parse {
        self.bump();
        let draft = self.begin_item(owner, name, symbol);
        self.datatype(draft)
    }

    /// The parameter after the sign that follows a name.
    pub(super) fn param_item(&mut self, name: Token, symbol: Symbol) -> Parse {
        self.bump();
        let draft = self.begin_item(Owner::Param, name, symbol);
        self.param(draft)
    }

    /// A new item of the open dict, or member of the struct on top.
    pub(super) fn begin_item(&mut self, owner: Owner, name: Token, symbol: Symbol) -> Draft {
        let parent = match self.frames.last() {
            Some(Frame::Struct(open)) => open.item,
            _ => self.dict(),
        };
        let item = self.layout.add_item(ItemKind::Pending, symbol, parent, name.span);
        self.aim(item);
        Draft { owner, item, name: name.span, symbol, type_span: name.span, ty: TypeId::NONE }
    }

    /// A data item or member whose text is complete: names are looked up, then it is declared.
    pub(super) fn complete(&mut self, draft: Draft, filter: u32, placed: Placed) -> Parse {
        let ty = self.bind_type(draft.ty, draft.type_span)?;
        let dims = self.bind_shape();
        let what = Use { ty, dims };
        if draft.owner == Owner::Summary {
            let name = self.layout.names.text(draft.symbol);
            let message = format!("`{name}` is not an integer: taken as data, `{name} = …`");
            self.warn(Code::W4, draft.type_span, message);
        }
        self.check_text(draft, what);
        match draft.owner {
            Owner::Member => self.add_member(draft, what, filter, placed),
            _ => self.add_data(draft, what, filter, placed),
        }
        Ok(())
    }

    /// E310 (2025): text has a dimension. The `""` member of a typedef is exempt, which only the
    /// closing brace can tell.
    fn check_text(&mut self, draft: Draft, what: Use) {
        let of = self.layout.ty(what.ty);
        if self.dialect == Dialect::D2026 || !of.text || of.rank > 0 || what.dims.len > 0 || draft.ty == TypeId::NONE {
            return;
        }
        let nameless = draft.owner == Owner::Member && self.layout.names.text(draft.symbol).is_empty();
        match self.frames.last_mut() {
            Some(Frame::Struct(open)) if nameless => open.bare_text = Some(draft.type_span),
            _ => self.report(bare_text(draft.type_span)),
        }
    }

    fn add_data(&mut self, draft: Draft, what: Use, filter: u32, placed: Placed) {
        let named = draft.symbol != Symbol::NONE;
        let key = (self.layout.item(draft.item).parent.0, draft.symbol.0);
        if let Some(&before) = self.layout.found.get(&key).filter(|_| named) {
            let name = self.layout.names.text(draft.symbol).to_owned();
            let kind = self.kind_name(before);
            let message = format!("`{name}` is {kind} already, declared at {}", self.place_of(before));
            return self.report(Code::E301.at(draft.name, message));
        }
        if named {
            self.layout.found.insert(key, draft.item);
        }
        let data = Data { what, placement: placed.placement, filter, reference: 0 };
        self.push_data(draft, data, placed);
    }

    /// Enters a data item whose name is free.
    pub(super) fn push_data(&mut self, draft: Draft, mut data: Data, placed: Placed) {
        let of = self.layout.ty(data.what.ty);
        let dynamic = of.dynamic || self.layout.filter(data.filter).is_some_and(|filter| filter.compresses);
        if dynamic {
            self.warn_template(Code::W2, draft.type_span, "a struct of indeterminate length");
        }
        self.mark(placed, Holds { places: true, dynamic });
        if draft.owner == Owner::Reference {
            data.reference = self.layout.references.len() as u32;
        }
        if let Some(Frame::Summary { members, .. }) = self.frames.last_mut() {
            members.push(Member {
                item: draft.item,
                what: MemberKind::Data(data.what),
                placement: data.placement,
                filter: data.filter,
            });
        }
        let id = crate::layout::model::DataId(self.layout.data.len() as u32);
        self.layout.data.push(data);
        self.layout.item_mut(draft.item).kind = ItemKind::Data(id);
        self.layout.steps.push(Step::Data(draft.item));
    }

    /// Records the content in the list around it, if there is one; W1 for an address in a template.
    fn mark(&mut self, placed: Placed, holds: Holds) {
        let at = matches!(placed.placement, Placement::At(_));
        if at {
            self.warn_template(Code::W1, placed.span, "an explicit address");
        }
        let around = self.frames.iter_mut().rev().find(|frame| !matches!(frame, Frame::Dict { step, .. } if *step != u32::MAX));
        if let Some(Frame::List { element_holds, placed: first, .. }) = around {
            element_holds.add(holds);
            if at {
                first.get_or_insert(placed.span);
            }
        }
    }

    fn warn_template(&mut self, code: Code, span: Span, what: &str) {
        let in_block = matches!(self.frames.last(), Some(Frame::Summary { .. }));
        if self.layout.summary.is_some() || in_block {
            self.warn(
                code,
                span,
                format!("{what} in a layout that begins with a summary block: it describes no family of files"),
            );
        }
    }

    /// Returns the kind of an item, for messages.
    pub(super) fn kind_name(&self, item: ItemId) -> &'static str {
        match self.layout.item(item).kind {
            ItemKind::Dict => "a dict",
            ItemKind::List => "a list",
            _ => "data",
        }
    }

    // Parameters.

    /// param = INTEGER | datatype placement?
    pub(super) fn param(&mut self, draft: Draft) -> Parse {
        if !self.at(T::Integer) {
            return self.datatype(draft);
        }
        let token = self.bump();
        if token.value < -1 {
            self.report(below_minus_one("fixed parameter", token));
        }
        if matches!(self.token.kind, T::At | T::Percent) {
            let message =
                format!("a fixed parameter is not in the stream and has no place there, found {}", self.shown(self.token));
            self.fail::<()>(Code::E205.at(self.token.span, message)).ok();
            self.add_param(draft, Some(token.value), Placed::default());
            return Err(super::Stop);
        }
        self.add_param(draft, Some(token.value), Placed::default());
        Ok(())
    }

    /// A stored parameter, from after its datatype on: E307 unless that is a scalar integer.
    pub(super) fn after_param_type(&mut self, mut draft: Draft) -> Parse {
        let in_summary = matches!(self.frames.last(), Some(Frame::Summary { .. }));
        let bracket = if self.dialect == Dialect::D2025 { T::OpenBracket } else { T::OpenParen };
        if draft.ty != TypeId::NONE && self.integer_of(draft.ty).is_none() {
            // `time : f8` is data (D12); an unsigned integer is still no parameter of 2025 (D31).
            if in_summary && !self.is_unsigned(draft.ty) {
                draft.owner = Owner::Summary;
                return self.after_data_type(draft);
            }
            let done: Parse = self.not_integer(draft, draft.type_span);
            if self.at(bracket) {
                return done;
            }
        } else if self.at(bracket) {
            return self.not_integer(draft, self.token.span);
        }
        let placed = self.placement_of()?;
        self.add_param(draft, None, placed);
        Ok(())
    }

    /// E307.
    pub(super) fn not_integer(&mut self, draft: Draft, span: Span) -> Parse {
        let name = self.layout.names.text(draft.symbol).to_owned();
        let types = match self.dialect {
            Dialect::D2025 => "i1, i2, i4 or i8",
            Dialect::D2026 => "an i or u type",
        };
        let unsigned = draft.ty != TypeId::NONE && span == draft.type_span && self.is_unsigned(draft.ty);
        let hint = match self.dialect {
            Dialect::D2025 if unsigned => {
                format!(
                    "parameters of 2025 are signed: `i` of the same size reads the same bytes; data is declared as `{name} = …`"
                )
            }
            Dialect::D2025 => format!("data is declared as `{name} = …`"),
            Dialect::D2026 => format!("data is declared as `{name}: …`"),
        };
        let message = format!("parameter `{name}` is not a scalar of {types}");
        self.fail(Code::E307.at(span, message).hint(hint))
    }

    /// Returns `true` if a datatype comes down to one unsigned integer.
    fn is_unsigned(&self, ty: TypeId) -> bool {
        let mut ty = ty;
        while let TypeKind::Alias(what) = self.layout.ty(ty).kind {
            ty = what.ty;
        }
        let kind = |primitive: Primitive| matches!(primitive.kind(), PrimitiveKind::Unsigned | PrimitiveKind::Pointer);
        matches!(self.layout.ty(ty).kind, TypeKind::Primitive(primitive, _) if kind(primitive))
    }

    /// Returns the primitive at the end of a chain of typedefs, if it is a legal type of a parameter.
    fn integer_of(&self, ty: TypeId) -> Option<Primitive> {
        let mut ty = ty;
        loop {
            let of = self.layout.ty(ty);
            match of.kind {
                TypeKind::Alias(what) if what.dims.len == 0 => ty = what.ty,
                TypeKind::Primitive(primitive, _) if primitive.is_param(self.dialect) => return Some(primitive),
                _ => return None,
            }
        }
    }

    fn add_param(&mut self, draft: Draft, fixed: Option<i64>, placed: Placed) {
        let owner = self.layout.item(draft.item).parent;
        let key = (owner.0, draft.symbol.0);
        if let Some(&before) =
            self.layout.found_params.get(&key).filter(|_| self.dialect == Dialect::D2025 && spec_decisions::PARAM_ONCE_2025)
        {
            let name = self.layout.names.text(draft.symbol).to_owned();
            let at = self.place_of(self.layout.param(before).item);
            let message = format!("parameter `{name}` is declared already, at {at}");
            return self.report(Code::E308.at(draft.name, message));
        }
        let id = ParamId(self.layout.params.len() as u32);
        self.layout.found_params.insert(key, id);
        let mut base = draft.ty;
        while let TypeKind::Alias(what) = self.layout.ty(base).kind {
            base = what.ty;
        }
        let (primitive, order) = match self.layout.ty(base).kind {
            TypeKind::Primitive(primitive, order) if fixed.is_none() => (primitive, order),
            _ => (Primitive::I8, None),
        };
        let varying = self.frames.iter().any(|frame| matches!(frame, Frame::List { .. } | Frame::Struct(_)));
        let placement = placed.placement;
        self.layout.params.push(Param { item: draft.item, fixed, ty: draft.ty, primitive, order, placement, varying });
        self.layout.item_mut(draft.item).kind = ItemKind::Param(id);
        let what = if fixed.is_some() { MemberKind::Fixed(id) } else { MemberKind::Stored(id) };
        let member = Member { item: draft.item, what, placement, filter: 0 };
        match self.frames.last_mut() {
            Some(Frame::Struct(open)) => return open.members.push(member),
            Some(Frame::Summary { members, .. }) => members.push(member),
            _ if fixed.is_none() => self.warn_template(Code::W3, draft.name, "a stored parameter outside the block"),
            _ => {}
        }
        if fixed.is_none() {
            self.mark(placed, Holds { places: true, dynamic: true });
        }
        self.layout.steps.push(Step::Param(draft.item));
    }

    // Dicts.

    /// NAME '/': opens or reopens a dict; E302 at the name of anything else.
    pub(super) fn open_dict(&mut self, name: Token, symbol: Symbol) -> Parse {
        let parent = self.dict();
        let dict = match self.layout.found.get(&(parent.0, symbol.0)).copied() {
            Some(known) if self.layout.item(known).kind == ItemKind::Dict => known,
            Some(known) => return self.other_kind(name, symbol, known, "dict"),
            None => {
                let dict = self.layout.add_item(ItemKind::Dict, symbol, parent, name.span);
                self.layout.found.insert((parent.0, symbol.0), dict);
                dict
            }
        };
        self.aim(dict);
        let mut below = 0;
        if let Some(Frame::Dict { current, depth, .. }) = self.frames.last_mut() {
            *current = dict;
            *depth += 1;
            below = *depth;
        }
        self.charge_depth(below)?;
        self.layout.steps.push(Step::Enter(dict));
        Ok(())
    }

    /// E302.
    pub(super) fn other_kind<V>(&mut self, name: Token, symbol: Symbol, known: ItemId, wanted: &str) -> Parse<V> {
        let shown = self.layout.names.text(symbol).to_owned();
        let kind = self.kind_name(known);
        let message = format!("`{shown}` is {kind}, declared at {}, not a {wanted}", self.place_of(known));
        self.fail(Code::E302.at(name.span, message))
    }

    /// An item of a dict, or what leaves or ends one.
    pub(super) fn dict_item(&mut self) -> Parse {
        let first = !std::mem::replace(&mut self.seen_item, true);
        let is_element = matches!(self.frames.last(), Some(Frame::Dict { step, .. }) if *step != u32::MAX);
        match self.token.kind {
            T::DotDot => return self.go_up(),
            T::Slash => self.go_top(),
            T::Comma | T::CloseBracket if is_element => self.close_element_dict(),
            T::End if !is_element => self.finished = true,
            _ if self.dialect == Dialect::D2025 => return self.dict_item_2025(first, is_element),
            _ => return self.dict_element_2026(first),
        }
        Ok(())
    }

    /// '..': back to the parent.
    pub(super) fn go_up(&mut self) -> Parse {
        let token = self.bump();
        if self.at(T::Slash) && self.token.span.start == token.span.end {
            self.warn(Code::W7, token.span, "`../` goes to the parent and then to the top, not to a name in the parent");
        }
        let Some(Frame::Dict { current, top, depth, .. }) = self.frames.last_mut() else { return Ok(()) };
        let above = current == top;
        if !above {
            *depth = depth.saturating_sub(1);
            *current = self.layout.items[current.index()].parent;
        }
        let dict = *current;
        if above && self.dialect == Dialect::D2025 && spec_decisions::UP_AT_TOP_IS_ERROR_2025 {
            self.report(Code::E212.at(token.span, "`..` at the top has no parent to go to"));
        }
        self.aim(dict);
        self.layout.steps.push(Step::Enter(dict));
        Ok(())
    }

    /// '/': back to the top of the tree: the root, or the dict that is an element of a list.
    pub(super) fn go_top(&mut self) {
        self.bump();
        let Some(Frame::Dict { current, top, depth, .. }) = self.frames.last_mut() else { return };
        *current = *top;
        *depth = 0;
        let dict = *top;
        self.aim(dict);
        self.layout.steps.push(Step::Enter(dict));
    }
}
