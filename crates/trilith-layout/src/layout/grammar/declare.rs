//! Finished items enter the model; parameters and dicts.

use super::data::below_minus_one_error;
use super::structs::bare_text;
use super::{
    DiagnosticCode, Dialect, Draft, Frame, ItemData, ItemId, LayoutParser, LayoutStep, MemberKind, ParamId, ParseResult,
    ParsedPlacement, Placement, Primitive, Span, StepEffects, StructMember, Token, TokenKind, TypeId, TypeKind, TypeOwner,
};
use crate::layout::interner::Symbol;
use crate::layout::model::{DataItem, ParamItem, PrimitiveKind, TypeUse};
use crate::layout::spec_decisions;

impl LayoutParser<'_> {
    /// The name that an item begins with.
    pub(super) fn item_name(&mut self) -> (Token, Symbol) {
        let name = self.advance();
        self.defer_comments();
        let symbol = self.intern_token_name(name);
        self.comment_target = symbol;
        (name, symbol)
    }

    /// The data after the sign that follows a name.
    pub(super) fn data_item(&mut self, owner: TypeOwner, name: Token, symbol: Symbol) -> ParseResult {
        self.advance();
        let draft = self.begin_item(owner, name, symbol);
        self.parse_datatype(draft)
    }

    /// The parameter after the sign that follows a name.
    pub(super) fn param_item(&mut self, name: Token, symbol: Symbol) -> ParseResult {
        self.advance();
        let draft = self.begin_item(TypeOwner::Param, name, symbol);
        self.parse_param(draft)
    }

    /// A new item of the open dict, or member of the struct on top.
    pub(super) fn begin_item(&mut self, owner: TypeOwner, name: Token, symbol: Symbol) -> Draft {
        let parent = match self.frames.last() {
            Some(Frame::Struct(open)) => open.item,
            _ => self.current_dict(),
        };
        let item = self.layout.add_item(ItemData::Pending, symbol, parent, name.span);
        self.set_comment_target(item);
        Draft { owner, item, name: name.span, symbol, type_span: name.span, ty: TypeId::NONE }
    }

    /// A data item or member whose text is complete: names are looked up, then it is declared.
    pub(super) fn commit_draft(&mut self, draft: Draft, filter: u32, placed: ParsedPlacement) -> ParseResult {
        let ty = self.bind_type(draft.ty, draft.type_span)?;
        let dims = self.bind_shape();
        let what = TypeUse { ty, dims };
        if draft.owner == TypeOwner::Summary {
            let name = self.layout.names.resolve(draft.symbol);
            let message = format!("`{name}` is not an integer: taken as data, `{name} = …`");
            self.report_warning(DiagnosticCode::W4, draft.type_span, message);
        }
        self.check_text(draft, what);
        match draft.owner {
            TypeOwner::Member => self.add_member(draft, what, filter, placed),
            _ => self.add_data(draft, what, filter, placed),
        }
        Ok(())
    }

    /// E310 (2025): text has a dimension. The `""` member of a typedef is exempt, which only the
    /// closing brace can tell.
    fn check_text(&mut self, draft: Draft, what: TypeUse) {
        let of = self.layout.ty(what.ty);
        if self.dialect == Dialect::D2026 || !of.text || of.inlining_rank > 0 || what.dims.len > 0 || draft.ty == TypeId::NONE {
            return;
        }
        let nameless = draft.owner == TypeOwner::Member && self.layout.names.resolve(draft.symbol).is_empty();
        match self.frames.last_mut() {
            Some(Frame::Struct(open)) if nameless => open.bare_text = Some(draft.type_span),
            _ => self.report_error(bare_text(draft.type_span)),
        }
    }

    fn add_data(&mut self, draft: Draft, what: TypeUse, filter: u32, placed: ParsedPlacement) {
        let named = draft.symbol != Symbol::NONE;
        let key = (self.layout.item(draft.item).parent.0, draft.symbol.0);
        if let Some(&before) = self.layout.name_scope.get(&key).filter(|_| named) {
            let name = self.layout.names.resolve(draft.symbol).to_owned();
            let kind = self.kind_name(before);
            let message = format!("`{name}` is {kind} already, declared at {}", self.position_text(before));
            return self.report_error(DiagnosticCode::E301.to_diagnostic(draft.name, message));
        }
        if named {
            self.layout.name_scope.insert(key, draft.item);
        }
        let data = DataItem { what, placement: placed.placement, filter, reference: 0 };
        self.push_data(draft, data, placed);
    }

    /// Enters a data item whose name is free.
    pub(super) fn push_data(&mut self, draft: Draft, mut data: DataItem, placed: ParsedPlacement) {
        let of = self.layout.ty(data.what.ty);
        let dynamic = of.dynamic || self.layout.find_filter(data.filter).is_some_and(|filter| filter.compresses);
        if dynamic {
            self.warn_template(DiagnosticCode::W2, draft.type_span, "a struct of indeterminate length");
        }
        self.mark_list_effects(placed, StepEffects { places: true, dynamic });
        if draft.owner == TypeOwner::Reference {
            data.reference = self.layout.references.len() as u32;
        }
        if let Some(Frame::Summary { members, .. }) = self.frames.last_mut() {
            members.push(StructMember {
                item: draft.item,
                what: MemberKind::Data(data.what),
                placement: data.placement,
                filter: data.filter,
            });
        }
        let id = crate::layout::model::DataId(self.layout.data.len() as u32);
        self.layout.data.push(data);
        self.layout.item_mut(draft.item).kind = ItemData::Data(id);
        self.layout.steps.push(LayoutStep::Data(draft.item));
    }

    /// Records the content in the list around it, if there is one; W1 for an address in a template.
    fn mark_list_effects(&mut self, placed: ParsedPlacement, holds: StepEffects) {
        let at = matches!(placed.placement, Placement::At(_));
        if at {
            self.warn_template(DiagnosticCode::W1, placed.span, "an explicit address");
        }
        let around = self.frames.iter_mut().rev().find(|frame| !matches!(frame, Frame::Dict { step, .. } if *step != u32::MAX));
        if let Some(Frame::List { element_holds, placed: first, .. }) = around {
            element_holds.add(holds);
            if at {
                first.get_or_insert(placed.span);
            }
        }
    }

    fn warn_template(&mut self, code: DiagnosticCode, span: Span, what: &str) {
        let in_block = matches!(self.frames.last(), Some(Frame::Summary { .. }));
        if self.layout.summary.is_some() || in_block {
            self.report_warning(
                code,
                span,
                format!("{what} in a layout that begins with a summary block: it describes no family of files"),
            );
        }
    }

    /// Returns the kind of an item, for messages.
    pub(super) fn kind_name(&self, item: ItemId) -> &'static str {
        match self.layout.item(item).kind {
            ItemData::Dict => "a dict",
            ItemData::List => "a list",
            _ => "data",
        }
    }

    // Parameters.

    /// param = INTEGER | datatype placement?
    pub(super) fn parse_param(&mut self, draft: Draft) -> ParseResult {
        if !self.is_at_kind(TokenKind::Integer) {
            return self.parse_datatype(draft);
        }
        let token = self.advance();
        if token.value < -1 {
            self.report_error(below_minus_one_error("fixed parameter", token));
        }
        if matches!(self.token.kind, TokenKind::At | TokenKind::Percent) {
            let message = format!(
                "a fixed parameter is not in the stream and has no place there, found {}",
                self.display_token(self.token)
            );
            self.fail_item::<()>(DiagnosticCode::E205.to_diagnostic(self.token.span, message)).ok();
            self.add_param(draft, Some(token.value), ParsedPlacement::default());
            return Err(super::ParseStopped);
        }
        self.add_param(draft, Some(token.value), ParsedPlacement::default());
        Ok(())
    }

    /// A stored parameter, from after its datatype on: E307 unless that is a scalar integer.
    pub(super) fn after_param_type(&mut self, mut draft: Draft) -> ParseResult {
        let in_summary = matches!(self.frames.last(), Some(Frame::Summary { .. }));
        let bracket = if self.dialect == Dialect::D2025 { TokenKind::OpenBracket } else { TokenKind::OpenParen };
        if draft.ty != TypeId::NONE && self.integer_of(draft.ty).is_none() {
            // `time : f8` is data (D12); an unsigned integer is still no parameter of 2025 (D31).
            if in_summary && !self.is_unsigned(draft.ty) {
                draft.owner = TypeOwner::Summary;
                return self.after_data_type(draft);
            }
            let done: ParseResult = self.not_integer(draft, draft.type_span);
            if self.is_at_kind(bracket) {
                return done;
            }
        } else if self.is_at_kind(bracket) {
            return self.not_integer(draft, self.token.span);
        }
        let placed = self.placement_of()?;
        self.add_param(draft, None, placed);
        Ok(())
    }

    /// E307.
    pub(super) fn not_integer(&mut self, draft: Draft, span: Span) -> ParseResult {
        let name = self.layout.names.resolve(draft.symbol).to_owned();
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
        self.fail_item(DiagnosticCode::E307.to_diagnostic(span, message).hint(hint))
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

    fn add_param(&mut self, draft: Draft, fixed: Option<i64>, placed: ParsedPlacement) {
        let owner = self.layout.item(draft.item).parent;
        let key = (owner.0, draft.symbol.0);
        if let Some(&before) =
            self.layout.found_params.get(&key).filter(|_| self.dialect == Dialect::D2025 && spec_decisions::PARAM_ONCE_2025)
        {
            let name = self.layout.names.resolve(draft.symbol).to_owned();
            let at = self.position_text(self.layout.param(before).item);
            let message = format!("parameter `{name}` is declared already, at {at}");
            return self.report_error(DiagnosticCode::E308.to_diagnostic(draft.name, message));
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
        self.layout.params.push(ParamItem {
            item: draft.item,
            fixed_value: fixed,
            ty: draft.ty,
            primitive,
            order,
            placement,
            is_redeclared: varying,
        });
        self.layout.item_mut(draft.item).kind = ItemData::Param(id);
        let what = if fixed.is_some() { MemberKind::Fixed(id) } else { MemberKind::Stored(id) };
        let member = StructMember { item: draft.item, what, placement, filter: 0 };
        match self.frames.last_mut() {
            Some(Frame::Struct(open)) => return open.members.push(member),
            Some(Frame::Summary { members, .. }) => members.push(member),
            _ if fixed.is_none() => self.warn_template(DiagnosticCode::W3, draft.name, "a stored parameter outside the block"),
            _ => {}
        }
        if fixed.is_none() {
            self.mark_list_effects(placed, StepEffects { places: true, dynamic: true });
        }
        self.layout.steps.push(LayoutStep::Param(draft.item));
    }

    // Dicts.

    /// NAME '/': opens or reopens a dict; E302 at the name of anything else.
    pub(super) fn open_dict(&mut self, name: Token, symbol: Symbol) -> ParseResult {
        let parent = self.current_dict();
        let dict = match self.layout.name_scope.get(&(parent.0, symbol.0)).copied() {
            Some(known) if self.layout.item(known).kind == ItemData::Dict => known,
            Some(known) => return self.redeclared_kind_error(name, symbol, known, "dict"),
            None => {
                let dict = self.layout.add_item(ItemData::Dict, symbol, parent, name.span);
                self.layout.name_scope.insert((parent.0, symbol.0), dict);
                dict
            }
        };
        self.set_comment_target(dict);
        let mut below = 0;
        if let Some(Frame::Dict { current, depth, .. }) = self.frames.last_mut() {
            *current = dict;
            *depth += 1;
            below = *depth;
        }
        self.charge_depth(below)?;
        self.layout.steps.push(LayoutStep::Enter(dict));
        Ok(())
    }

    /// E302.
    pub(super) fn redeclared_kind_error<V>(
        &mut self,
        name: Token,
        symbol: Symbol,
        known: ItemId,
        wanted: &str,
    ) -> ParseResult<V> {
        let shown = self.layout.names.resolve(symbol).to_owned();
        let kind = self.kind_name(known);
        let message = format!("`{shown}` is {kind}, declared at {}, not a {wanted}", self.position_text(known));
        self.fail_item(DiagnosticCode::E302.to_diagnostic(name.span, message))
    }

    /// An item of a dict, or what leaves or ends one.
    pub(super) fn dict_item(&mut self) -> ParseResult {
        let first = !std::mem::replace(&mut self.has_items, true);
        let is_element = matches!(self.frames.last(), Some(Frame::Dict { step, .. }) if *step != u32::MAX);
        match self.token.kind {
            TokenKind::DotDot => return self.leave_dict(),
            TokenKind::Slash => self.leave_to_top(),
            TokenKind::Comma | TokenKind::CloseBracket if is_element => self.close_element_dict(),
            TokenKind::End if !is_element => self.finished = true,
            _ if self.dialect == Dialect::D2025 => return self.dict_item_2025(first, is_element),
            _ => return self.dict_element_2026(first),
        }
        Ok(())
    }

    /// '..': back to the parent.
    pub(super) fn leave_dict(&mut self) -> ParseResult {
        let token = self.advance();
        if self.is_at_kind(TokenKind::Slash) && self.token.span.start == token.span.end {
            self.report_warning(
                DiagnosticCode::W7,
                token.span,
                "`../` goes to the parent and then to the top, not to a name in the parent",
            );
        }
        let Some(Frame::Dict { current, top, depth, .. }) = self.frames.last_mut() else { return Ok(()) };
        let above = current == top;
        if !above {
            *depth = depth.saturating_sub(1);
            *current = self.layout.items[current.index()].parent;
        }
        let dict = *current;
        if above && self.dialect == Dialect::D2025 && spec_decisions::UP_AT_TOP_IS_ERROR_2025 {
            self.report_error(DiagnosticCode::E212.to_diagnostic(token.span, "`..` at the top has no parent to go to"));
        }
        self.set_comment_target(dict);
        self.layout.steps.push(LayoutStep::Enter(dict));
        Ok(())
    }

    /// '/': back to the top of the tree: the root, or the dict that is an element of a list.
    pub(super) fn leave_to_top(&mut self) {
        self.advance();
        let Some(Frame::Dict { current, top, depth, .. }) = self.frames.last_mut() else { return };
        *current = *top;
        *depth = 0;
        let dict = *top;
        self.set_comment_target(dict);
        self.layout.steps.push(LayoutStep::Enter(dict));
    }
}
