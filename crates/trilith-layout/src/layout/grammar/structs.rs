//! Struct bodies and named types.

use super::{
    DiagnosticCode, Dialect, Draft, Frame, HashSet, ItemData, ItemId, LayoutParser, LayoutStep, MemberKind, OpenStruct,
    ParseResult, ParsedPlacement, Placement, Primitive, Span, StructMember, Token, TokenKind, TypeDef, TypeId, TypeKind,
    TypeOwner,
};
use crate::diagnostic::Diagnostic;
use crate::layout::interner::Symbol;
use crate::layout::model::{DimRun, GLOBAL_SCOPE, TypeUse};
use crate::layout::sizes;

impl LayoutParser<'_> {
    /// A named type, at its NAME; E316, E303, E304 before the body is parsed.
    pub(super) fn begin_type(&mut self, name: Token, symbol: Symbol) -> ParseResult {
        let text = self.layout.names.resolve(symbol).to_owned();
        if name.kind == TokenKind::Quoted && super::scope::parse_prefixed_primitive(&text, self.dialect).is_some() {
            let message = format!("`{text}` is a primitive and cannot be declared");
            return self.fail_item(DiagnosticCode::E316.to_diagnostic(name.span, message).hint("redefine it without the prefix"));
        }
        let dict = self.current_dict();
        let owner = if self.dialect == Dialect::D2025 { GLOBAL_SCOPE } else { dict.0 };
        if let Some(&before) = self.layout.found_types.get(&(owner, symbol.0)) {
            let at = self.position_text(self.layout.ty(before).item);
            let mut diagnostic =
                DiagnosticCode::E303.to_diagnostic(name.span, format!("type `{text}` is declared already, at {at}"));
            if self.dialect == Dialect::D2025 {
                diagnostic = diagnostic.hint("types of 2025 have one name space for the whole layout");
            }
            return self.fail_item(diagnostic);
        }
        if let Some(primitive) = Primitive::from_name(&text, self.dialect) {
            let here = self.dialect == Dialect::D2025 || dict == ItemId::ROOT;
            if here && self.used_dims & (1 << primitive.index()) != 0 {
                let message = format!("`{text}` is redefined after it has been used");
                return self
                    .fail_item(DiagnosticCode::E304.to_diagnostic(name.span, message).hint("declare it before its first use"));
            }
        }
        let item = self.layout.add_item(ItemData::Pending, symbol, dict, name.span);
        self.set_comment_target(item);
        let draft =
            Draft { owner: TypeOwner::Named, item, name: name.span, symbol, type_span: self.token.span, ty: TypeId::NONE };
        self.open_struct(draft)
    }

    /// '{' of a struct: its members come next.
    pub(super) fn open_struct(&mut self, draft: Draft) -> ParseResult {
        if draft.owner == TypeOwner::Reference {
            let message = "a referenced item has a primitive or a type of the root dict, found `{`";
            return self.fail_item(DiagnosticCode::E315.to_diagnostic(self.token.span, message));
        }
        self.charge_depth(1)?;
        let open = self.advance();
        let item = match draft.owner {
            TypeOwner::Named => draft.item,
            _ => self.layout.add_item(ItemData::Pending, Symbol::NONE, draft.item, open.span),
        };
        let alias = self.dialect == Dialect::D2026 && self.is_at_kind(TokenKind::Colon);
        self.frames.push(Frame::Struct(Box::new(OpenStruct {
            draft,
            item,
            open: open.span,
            members: Vec::new(),
            free_dims: Vec::new(),
            free_set: HashSet::default(),
            bare_text: None,
            has_placed_member: None,
            alias,
        })));
        Ok(())
    }

    /// '}' of a struct: what it is for goes on.
    pub(super) fn close_struct(&mut self) -> ParseResult {
        self.advance();
        let Some(Frame::Struct(open)) = self.frames.pop() else { return Ok(()) };
        let mut draft = open.draft;
        self.set_comment_target(self.comment_item(draft));
        self.comment_target = draft.symbol;
        let mut own_align = 0;
        if draft.owner == TypeOwner::Named {
            own_align = self.opt_type_align()?;
        }
        let ty = self.made_type(*open, own_align)?;
        if draft.owner == TypeOwner::Named {
            return self.end_type(draft, ty);
        }
        draft.ty = ty;
        self.after_datatype(draft)
    }

    /// The item that comments on this one belong to: a typedef has no member that could be documented.
    pub(super) fn comment_item(&self, draft: Draft) -> ItemId {
        let mut draft = draft;
        for frame in self.frames.iter().rev() {
            match frame {
                Frame::Struct(open) if draft.owner == TypeOwner::Member && draft.symbol == Symbol::NONE => draft = open.draft,
                _ => break,
            }
        }
        draft.item
    }

    /// ('%' INTEGER)? after the brace of a named type (2025); `@` is wrong there in both dialects.
    fn opt_type_align(&mut self) -> ParseResult<u64> {
        if self.is_at_kind(TokenKind::At) {
            let message = "a type has no address, found `@`";
            return self.fail_item(
                DiagnosticCode::E205
                    .to_diagnostic(self.token.span, message)
                    .hint("place its instances, or give its alignment with %"),
            );
        }
        if !self.is_at_kind(TokenKind::Percent) || self.dialect == Dialect::D2026 {
            return Ok(0);
        }
        Ok(match self.placement_of()?.placement {
            Placement::Align(align) => align,
            _ => 0,
        })
    }

    /// The type that a finished body declares.
    #[allow(clippy::needless_pass_by_value, reason = "an open struct ends here")]
    fn made_type(&mut self, open: OpenStruct, own_align: u64) -> ParseResult<TypeId> {
        let data = |member: &&StructMember| matches!(member.what, MemberKind::Data(_));
        let stored = open.members.iter().any(|member| matches!(member.what, MemberKind::Stored(_)));
        let mut only = open.members.iter().filter(data);
        let single = only.next().filter(|_| only.next().is_none()).copied();
        let nameless = |member: &StructMember| self.layout.names.resolve(self.layout.item(member.item).name).is_empty();
        let typedef = single.filter(|member| open.alias || (self.dialect == Dialect::D2025 && nameless(member)));
        if let (Some(span), None) = (open.bare_text, typedef) {
            self.report_error(bare_text(span));
        }
        let mut ty = self.blank_type(&open);
        ty.typedef = typedef.is_some();
        if let Some(StructMember { what: MemberKind::Data(what), placement, .. }) = typedef {
            let of = self.layout.ty(what.ty);
            (ty.text, ty.inlining_rank) = (of.text, of.inlining_rank.saturating_add(what.dims.len));
            if !stored {
                if let Some(span) = open.has_placed_member {
                    self.report_error(
                        DiagnosticCode::E205.to_diagnostic(span, "a typedef has no address").hint("place its instances"),
                    );
                }
                let of = self.layout.ty(what.ty);
                ty.kind = TypeKind::Alias(what);
                ty.align = sizes::member_align(placement, of.align);
                ty.dynamic = of.dynamic;
            }
        }
        if ty.kind == TypeKind::Struct && open.members.iter().all(|member| matches!(member.what, MemberKind::Fixed(_))) {
            ty.kind = TypeKind::Null;
        }
        ty.declared_align = own_align;
        if own_align != 0 {
            ty.align = own_align;
        }
        ty.size = sizes::constant_size(&self.layout, &ty);
        let id = TypeId(self.layout.types.len() as u32);
        self.layout.types.push(ty);
        self.layout.item_mut(open.item).kind = ItemData::Type(id);
        Ok(id)
    }

    /// A struct with the members of `open`: alignment, depth and what is free.
    fn blank_type(&mut self, open: &OpenStruct) -> TypeDef {
        let (mut align, mut depth, mut dynamic) = (1, 0, false);
        for member in &open.members {
            let (of, of_depth, of_dynamic) = match member.what {
                MemberKind::Data(what) => {
                    let of = self.layout.ty(what.ty);
                    (of.align, of.depth, of.dynamic)
                }
                MemberKind::Stored(param) => (self.layout.ty(self.layout.param(param).ty).align, 0, true),
                MemberKind::Fixed(_) => continue,
            };
            align = align.max(sizes::member_align(member.placement, of));
            depth = depth.max(of_depth);
            dynamic |= of_dynamic;
        }
        let members = DimRun { start: self.layout.members.len() as u32, len: open.members.len() as u32 };
        self.layout.members.extend_from_slice(&open.members);
        let free = DimRun { start: self.layout.free.len() as u32, len: open.free_dims.len() as u32 };
        self.layout.free.extend_from_slice(&open.free_dims);
        TypeDef { members, free, dynamic, ..TypeDef::new(TypeKind::Struct, align, depth + 1, open.item) }
    }

    /// A named type is known from here on.
    fn end_type(&mut self, draft: Draft, ty: TypeId) -> ParseResult {
        self.charge_depth(self.layout.ty(ty).depth)?;
        let owner = if self.dialect == Dialect::D2025 { GLOBAL_SCOPE } else { self.current_dict().0 };
        self.layout.found_types.insert((owner, draft.symbol.0), ty);
        self.layout.steps.push(LayoutStep::Type(draft.item));
        let name = self.layout.names.resolve(draft.symbol);
        if let Some(primitive) = Primitive::from_name(name, self.dialect) {
            let mut base = ty;
            let mut rank = 0;
            while let TypeKind::Alias(what) = self.layout.ty(base).kind {
                rank += what.dims.len;
                base = what.ty;
            }
            let same = matches!(self.layout.ty(base).kind, TypeKind::Primitive(p, _) if p.kind() == primitive.kind() && p.size() == primitive.size());
            if !same || rank > 0 {
                let message = format!("`{name}` becomes something of another kind or size");
                self.report_warning(DiagnosticCode::W6, draft.name, message);
            }
        }
        Ok(())
    }

    /// A member of the struct on top is complete.
    pub(super) fn add_member(&mut self, draft: Draft, what: TypeUse, filter: u32, placed: ParsedPlacement) {
        let named = draft.symbol != Symbol::NONE;
        let Some(Frame::Struct(open)) = self.frames.last_mut() else { return };
        let key = (open.item.0, draft.symbol.0);
        if let Some(&before) = self.layout.name_scope.get(&key).filter(|_| named) {
            let name = self.layout.names.resolve(draft.symbol);
            let at = self.position_text(before);
            let message = format!("member `{name}` is declared already, at {at}");
            return self.report_error(DiagnosticCode::E317.to_diagnostic(draft.name, message));
        }
        if named {
            self.layout.name_scope.insert(key, draft.item);
        }
        if let Placement::At(_) = placed.placement {
            open.has_placed_member = Some(placed.span);
        }
        open.members.push(StructMember { item: draft.item, what: MemberKind::Data(what), placement: placed.placement, filter });
        self.layout.item_mut(draft.item).kind = ItemData::Member;
    }

    /// "3:5" of an item, for messages about what was declared before.
    pub(super) fn position_text(&self, item: ItemId) -> String {
        let (line, column) = crate::span::line_column(self.text, self.layout.item(item).span.start as usize);
        format!("{line}:{column}")
    }
}

/// E310 at a datatype.
pub(super) fn bare_text(span: Span) -> Diagnostic {
    DiagnosticCode::E310
        .to_diagnostic(span, "text needs at least one dimension, its length")
        .hint("write [1] for a single character")
}
