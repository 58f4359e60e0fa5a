//! Struct bodies and named types.

use super::{
    Code, Dialect, Draft, Frame, HashSet, ItemId, ItemKind, Member, MemberKind, Owner, Parse, Parser, Placed, Placement,
    Primitive, Span, Step, Struct, T, Token, Type, TypeId, TypeKind,
};
use crate::diagnostic::Diagnostic;
use crate::layout::interner::Symbol;
use crate::layout::model::{Run, Use};
use crate::layout::sizes;

impl Parser<'_> {
    /// A named type, at its NAME; E316, E303, E304 before the body is parsed.
    pub(super) fn begin_type(&mut self, name: Token, symbol: Symbol) -> Parse {
        let text = self.layout.names.text(symbol).to_owned();
        if name.kind == T::Quoted && super::scope::prefixed(&text, self.dialect).is_some() {
            let message = format!("`{text}` is a primitive and cannot be declared");
            return self.fail(Code::E316.at(name.span, message).hint("redefine it without the prefix"));
        }
        let dict = self.dict();
        let owner = if self.dialect == Dialect::D2025 { super::scope::GLOBAL } else { dict.0 };
        if let Some(&before) = self.layout.found_types.get(&(owner, symbol.0)) {
            let at = self.place_of(self.layout.ty(before).item);
            let mut diagnostic = Code::E303.at(name.span, format!("type `{text}` is declared already, at {at}"));
            if self.dialect == Dialect::D2025 {
                diagnostic = diagnostic.hint("types of 2025 have one name space for the whole layout");
            }
            return self.fail(diagnostic);
        }
        if let Some(primitive) = Primitive::named(&text, self.dialect) {
            let here = self.dialect == Dialect::D2025 || dict == ItemId::ROOT;
            if here && self.used & (1 << primitive.number()) != 0 {
                let message = format!("`{text}` is redefined after it has been used");
                return self.fail(Code::E304.at(name.span, message).hint("declare it before its first use"));
            }
        }
        let item = self.layout.add_item(ItemKind::Pending, symbol, dict, name.span);
        self.aim(item);
        let draft = Draft { owner: Owner::Named, item, name: name.span, symbol, type_span: self.token.span, ty: TypeId::NONE };
        self.open_struct(draft)
    }

    /// '{' of a struct: its members come next.
    pub(super) fn open_struct(&mut self, draft: Draft) -> Parse {
        if draft.owner == Owner::Reference {
            let message = "a referenced item has a primitive or a type of the root dict, found `{`";
            return self.fail(Code::E315.at(self.token.span, message));
        }
        self.charge_depth(1)?;
        let open = self.bump();
        let item = match draft.owner {
            Owner::Named => draft.item,
            _ => self.layout.add_item(ItemKind::Pending, Symbol::NONE, draft.item, open.span),
        };
        let alias = self.dialect == Dialect::D2026 && self.at(T::Colon);
        self.frames.push(Frame::Struct(Box::new(Struct {
            draft,
            item,
            open: open.span,
            members: Vec::new(),
            free: Vec::new(),
            free_set: HashSet::default(),
            bare_text: None,
            placed: None,
            alias,
        })));
        Ok(())
    }

    /// '}' of a struct: what it is for goes on.
    pub(super) fn close_struct(&mut self) -> Parse {
        self.bump();
        let Some(Frame::Struct(open)) = self.frames.pop() else { return Ok(()) };
        let mut draft = open.draft;
        self.aim(self.noted(draft));
        self.named = draft.symbol;
        let mut own_align = 0;
        if draft.owner == Owner::Named {
            own_align = self.opt_type_align()?;
        }
        let ty = self.made_type(*open, own_align)?;
        if draft.owner == Owner::Named {
            return self.end_type(draft, ty);
        }
        draft.ty = ty;
        self.after_datatype(draft)
    }

    /// The item that comments on this one belong to: a typedef has no member that could be documented.
    pub(super) fn noted(&self, draft: Draft) -> ItemId {
        let mut draft = draft;
        for frame in self.frames.iter().rev() {
            match frame {
                Frame::Struct(open) if draft.owner == Owner::Member && draft.symbol == Symbol::NONE => draft = open.draft,
                _ => break,
            }
        }
        draft.item
    }

    /// ('%' INTEGER)? after the brace of a named type (2025); `@` is wrong there in both dialects.
    fn opt_type_align(&mut self) -> Parse<u64> {
        if self.at(T::At) {
            let message = "a type has no address, found `@`";
            return self.fail(Code::E205.at(self.token.span, message).hint("place its instances, or give its alignment with %"));
        }
        if !self.at(T::Percent) || self.dialect == Dialect::D2026 {
            return Ok(0);
        }
        Ok(match self.placement_of()?.placement {
            Placement::Align(align) => align,
            _ => 0,
        })
    }

    /// The type that a finished body declares.
    #[allow(clippy::needless_pass_by_value, reason = "an open struct ends here")]
    fn made_type(&mut self, open: Struct, own_align: u64) -> Parse<TypeId> {
        let data = |member: &&Member| matches!(member.what, MemberKind::Data(_));
        let stored = open.members.iter().any(|member| matches!(member.what, MemberKind::Stored(_)));
        let mut only = open.members.iter().filter(data);
        let single = only.next().filter(|_| only.next().is_none()).copied();
        let nameless = |member: &Member| self.layout.names.text(self.layout.item(member.item).name).is_empty();
        let typedef = single.filter(|member| open.alias || (self.dialect == Dialect::D2025 && nameless(member)));
        if let (Some(span), None) = (open.bare_text, typedef) {
            self.report(bare_text(span));
        }
        let mut ty = self.blank_type(&open);
        ty.typedef = typedef.is_some();
        if let Some(Member { what: MemberKind::Data(what), placement, .. }) = typedef {
            let of = self.layout.ty(what.ty);
            (ty.text, ty.rank) = (of.text, of.rank.saturating_add(what.dims.len));
            if !stored {
                if let Some(span) = open.placed {
                    self.report(Code::E205.at(span, "a typedef has no address").hint("place its instances"));
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
        ty.own_align = own_align;
        if own_align != 0 {
            ty.align = own_align;
        }
        ty.size = sizes::constant_size(&self.layout, &ty);
        let id = TypeId(self.layout.types.len() as u32);
        self.layout.types.push(ty);
        self.layout.item_mut(open.item).kind = ItemKind::Type(id);
        Ok(id)
    }

    /// A struct with the members of `open`: alignment, depth and what is free.
    fn blank_type(&mut self, open: &Struct) -> Type {
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
        let members = Run { start: self.layout.members.len() as u32, len: open.members.len() as u32 };
        self.layout.members.extend_from_slice(&open.members);
        let free = Run { start: self.layout.free.len() as u32, len: open.free.len() as u32 };
        self.layout.free.extend_from_slice(&open.free);
        Type { members, free, dynamic, ..Type::new(TypeKind::Struct, align, depth + 1, open.item) }
    }

    /// A named type is known from here on.
    fn end_type(&mut self, draft: Draft, ty: TypeId) -> Parse {
        self.charge_depth(self.layout.ty(ty).depth)?;
        let owner = if self.dialect == Dialect::D2025 { super::scope::GLOBAL } else { self.dict().0 };
        self.layout.found_types.insert((owner, draft.symbol.0), ty);
        self.layout.steps.push(Step::Type(draft.item));
        let name = self.layout.names.text(draft.symbol);
        if let Some(primitive) = Primitive::named(name, self.dialect) {
            let mut base = ty;
            let mut rank = 0;
            while let TypeKind::Alias(what) = self.layout.ty(base).kind {
                rank += what.dims.len;
                base = what.ty;
            }
            let same = matches!(self.layout.ty(base).kind, TypeKind::Primitive(p, _) if p.kind() == primitive.kind() && p.size() == primitive.size());
            if !same || rank > 0 {
                let message = format!("`{name}` becomes something of another kind or size");
                self.warn(Code::W6, draft.name, message);
            }
        }
        Ok(())
    }

    /// A member of the struct on top is complete.
    pub(super) fn add_member(&mut self, draft: Draft, what: Use, filter: u32, placed: Placed) {
        let named = draft.symbol != Symbol::NONE;
        let Some(Frame::Struct(open)) = self.frames.last_mut() else { return };
        let key = (open.item.0, draft.symbol.0);
        if let Some(&before) = self.layout.found.get(&key).filter(|_| named) {
            let name = self.layout.names.text(draft.symbol);
            let at = self.place_of(before);
            let message = format!("member `{name}` is declared already, at {at}");
            return self.report(Code::E317.at(draft.name, message));
        }
        if named {
            self.layout.found.insert(key, draft.item);
        }
        if let Placement::At(_) = placed.placement {
            open.placed = Some(placed.span);
        }
        open.members.push(Member { item: draft.item, what: MemberKind::Data(what), placement: placed.placement, filter });
        self.layout.item_mut(draft.item).kind = ItemKind::Member;
    }

    /// "3:5" of an item, for messages about what was declared before.
    pub(super) fn place_of(&self, item: ItemId) -> String {
        let (line, column) = crate::span::line_column(self.text, self.layout.item(item).span.start as usize);
        format!("{line}:{column}")
    }
}

/// E310 at a datatype.
pub(super) fn bare_text(span: Span) -> Diagnostic {
    Code::E310.at(span, "text needs at least one dimension, its length").hint("write [1] for a single character")
}
