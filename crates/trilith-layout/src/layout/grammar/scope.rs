//! Lookup of the parameter or type of a name, and instances of types with free dimensions.

use super::{
    DiagnosticCode, Dialect, Dim, Frame, ItemData, ItemId, LayoutParser, MemberKind, ParamId, ParseResult, Primitive, RawDim,
    StructMember, Token, TokenKind, TypeDef, TypeId, TypeKind, TypeOwner,
};
use crate::layout::interner::Symbol;
use crate::layout::model::{DimRun, GLOBAL_SCOPE, TypeUse};
use crate::layout::sizes;
use crate::span::Span;

/// The meaning of a dimension name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DimName {
    Param(ParamId),
    /// A dimension that is bound where the named type is used (2025).
    FreeDim,
    Nothing,
}

impl LayoutParser<'_> {
    /// The open dict that new items go to.
    pub(super) fn current_dict(&self) -> ItemId {
        self.frames
            .iter()
            .rev()
            .find_map(|frame| match frame {
                Frame::Dict { current, .. } => Some(*current),
                _ => None,
            })
            .unwrap_or(ItemId::ROOT)
    }

    /// The dicts around `dict`, from itself to the root, lists left out.
    fn enclosing_dicts(&self, dict: ItemId) -> impl Iterator<Item = ItemId> + '_ {
        let mut next = dict;
        std::iter::from_fn(move || {
            while next != ItemId::NONE {
                let this = next;
                let item = self.layout.item(this);
                next = item.parent;
                if item.kind == ItemData::Dict {
                    return Some(this);
                }
            }
            None
        })
    }

    /// Section 4.4: the structs around, then the dicts around.
    pub(super) fn find_param(&self, name: Symbol) -> DimName {
        for frame in self.frames.iter().rev() {
            match frame {
                Frame::Struct(open) => {
                    if let Some(&param) = self.layout.found_params.get(&(open.item.0, name.0)) {
                        return DimName::Param(param);
                    }
                    if open.draft.owner == TypeOwner::Named && self.dialect == Dialect::D2025 {
                        return DimName::FreeDim;
                    }
                }
                _ => break,
            }
        }
        let found =
            self.enclosing_dicts(self.current_dict()).find_map(|dict| self.layout.found_params.get(&(dict.0, name.0)).copied());
        found.map_or(DimName::Nothing, DimName::Param)
    }

    /// Section 4.5: what a datatype name means; notes the use of a primitive.
    pub(super) fn find_type(&mut self, token: Token) -> Option<TypeId> {
        if self.layout.found_types.is_empty() && token.kind == TokenKind::Symbol {
            // Fast path: most layouts declare no types.
            let primitive = Primitive::from_name(token.span.slice(self.text), self.dialect)?;
            if self.frames.len() < 2 || !self.is_recursive_name(primitive.name()) {
                self.used_dims |= 1 << primitive.index();
            }
            return Some(TypeId::from_primitive(primitive, 0));
        }
        let symbol = self.intern_token_name(token);
        let declared = match self.dialect {
            Dialect::D2025 => self.layout.found_types.get(&(GLOBAL_SCOPE, symbol.0)).copied(),
            Dialect::D2026 if self.layout.found_types.is_empty() => None,
            Dialect::D2026 => self
                .enclosing_dicts(self.current_dict())
                .find_map(|dict| self.layout.found_types.get(&(dict.0, symbol.0)).copied()),
        };
        if declared.is_some() {
            return declared;
        }
        let name = self.layout.names.resolve(symbol);
        if let Some(primitive) = Primitive::from_name(name, self.dialect) {
            if !self.is_recursive(symbol) {
                self.used_dims |= 1 << primitive.index();
            }
            return Some(TypeId::from_primitive(primitive, 0));
        }
        if token.kind == TokenKind::Quoted { parse_prefixed_primitive(name, self.dialect) } else { None }
    }

    /// Returns `true` if the type of this name is being declared.
    fn is_recursive(&self, name: Symbol) -> bool {
        self.frames.iter().any(
            |frame| matches!(frame, Frame::Struct(open) if open.draft.owner == TypeOwner::Named && open.draft.symbol == name),
        )
    }

    fn is_recursive_name(&mut self, name: &str) -> bool {
        let symbol = self.layout.names.intern(name);
        self.is_recursive(symbol)
    }

    /// E305 at a datatype name.
    pub(super) fn unknown_type(&mut self, token: Token) {
        let symbol = self.intern_token_name(token);
        if self.failed.contains(&symbol) {
            // The faulty declaration of this type was reported, which covers everything that needs the type.
            self.suppress_errors();
            return;
        }
        let name = self.layout.names.resolve(symbol).to_owned();
        let fresh = !self.reported;
        self.report_error(DiagnosticCode::E305.to_diagnostic(token.span, format!("unknown type `{name}`")));
        if fresh {
            self.skipped_from.push((self.sink.len() - 1, symbol, true, self.current_dict()));
        }
    }

    /// E306 at a dimension, a count or the name of a type with free dimensions.
    pub(super) fn unknown_param(&mut self, symbol: Symbol, span: Span) {
        if self.failed.contains(&symbol) {
            self.suppress_errors();
            return;
        }
        let name = self.layout.names.resolve(symbol);
        let mut message = format!("parameter `{name}` is not in scope");
        if span.slice(self.text).trim_matches(['"', '\'']) != name {
            message.push_str(", but this type needs it");
        }
        let fresh = !self.reported;
        self.report_error(DiagnosticCode::E306.to_diagnostic(span, message));
        if fresh {
            self.skipped_from.push((self.sink.len() - 1, symbol, false, self.current_dict()));
        }
    }

    /// The current item cannot be used, but the reason has been reported with another.
    fn suppress_errors(&mut self) {
        self.reported = true;
    }

    /// Looks the names of the shape read last up, and appends its dimensions to the model.
    pub(super) fn bind_shape(&mut self) -> DimRun {
        let start = self.layout.dims.len() as u32;
        for at in 0..self.shape.len() {
            let dim = match self.shape[at] {
                RawDim::Integer(value) => Dim::Fixed(value),
                RawDim::Name { symbol, suffix, span } => match self.find_param(symbol) {
                    DimName::Param(param) => Dim::Param { param, suffix },
                    DimName::FreeDim => {
                        self.note_free(symbol);
                        Dim::Unbound { name: symbol, suffix }
                    }
                    DimName::Nothing => {
                        self.unknown_param(symbol, span);
                        Dim::Fixed(0)
                    }
                },
            };
            self.layout.dims.push(dim);
        }
        self.shared_run(start)
    }

    /// The dimensions from `start` on as a run, an earlier one if it is equal.
    fn shared_run(&mut self, start: u32) -> DimRun {
        let dims = &mut self.layout.dims;
        let run = DimRun { start, len: dims.len() as u32 - start };
        if run.len == 0 || run.len > 8 {
            return run;
        }
        let mut hash = 0usize;
        for &dim in run.slice(dims) {
            let word = match dim {
                Dim::Fixed(value) => value as usize,
                Dim::Param { param, suffix } => (param.0 as usize) << 8 ^ suffix as usize ^ 0x80,
                Dim::Unbound { name, suffix } => (name.0 as usize) << 8 ^ suffix as usize ^ 0x40,
            };
            hash = (hash ^ word).wrapping_mul(0x9e37_79b9);
        }
        let slot = &mut self.shapes[(hash >> 7) & 63];
        if slot.len == run.len && slot.slice(dims) == run.slice(dims) {
            dims.truncate(start as usize);
        } else {
            *slot = run;
        }
        *slot
    }

    /// The struct on top needs a parameter of this name where it is used.
    fn note_free(&mut self, name: Symbol) {
        if let Some(Frame::Struct(open)) = self.frames.last_mut()
            && open.free_set.insert(name)
        {
            open.free_dims.push(name);
        }
    }

    /// The instance of a type whose free dimensions are bound here (2025); E306 at `span` if one
    /// cannot be.
    pub(super) fn bind_type(&mut self, ty: TypeId, span: Span) -> ParseResult<TypeId> {
        let free = self.layout.ty(ty).free;
        if free.len == 0 {
            return Ok(ty);
        }
        self.charge_work(u64::from(free.len))?;
        let mut bound = Vec::with_capacity(free.len as usize);
        for name in free.slice(&self.layout.free).to_vec() {
            let found = self.find_param(name);
            match found {
                DimName::FreeDim => self.note_free(name),
                DimName::Nothing => self.unknown_param(name, span),
                DimName::Param(_) => {}
            }
            bound.push((name, found));
        }
        bound.sort_unstable_by_key(|(name, _)| *name);
        self.instantiate_type(ty, &bound)
    }

    /// The type with its free names replaced; made once for each set of parameters.
    fn instantiate_type(&mut self, ty: TypeId, bound: &[(Symbol, DimName)]) -> ParseResult<TypeId> {
        let declared = self.layout.ty(ty).clone();
        if declared.free.len == 0 || !declared.free.slice(&self.layout.free).iter().any(|&name| is_param(bound, name)) {
            return Ok(ty);
        }
        let mut mine: Vec<(Symbol, DimName)> =
            declared.free.slice(&self.layout.free).iter().map(|&name| (name, find_binding(bound, name))).collect();
        mine.sort_unstable_by_key(|(name, _)| *name);
        let key: Box<[u32]> =
            mine.iter().map(|(_, found)| if let DimName::Param(param) = found { param.0 } else { u32::MAX }).collect();
        if let Some(&made) = self.layout.instances.get(&(ty, key.clone())) {
            return Ok(made);
        }
        self.charge_work(u64::from(declared.members.len) + mine.len() as u64)?;
        let mut made = TypeDef { origin: if declared.origin == TypeId::NONE { ty } else { declared.origin }, ..declared.clone() };
        if let TypeKind::Alias(what) = declared.kind {
            made.kind = TypeKind::Alias(self.instance_use(what, &mine)?);
        }
        let mut members: Vec<StructMember> = declared.members.slice(&self.layout.members).to_vec();
        for member in &mut members {
            if let MemberKind::Data(what) = member.what {
                member.what = MemberKind::Data(self.instance_use(what, &mine)?);
            }
        }
        made.members = DimRun { start: self.layout.members.len() as u32, len: members.len() as u32 };
        self.layout.members.extend(members);
        let start = self.layout.free.len() as u32;
        self.layout.free.extend(mine.iter().filter(|(_, found)| *found == DimName::FreeDim).map(|(name, _)| *name));
        made.free = DimRun { start, len: self.layout.free.len() as u32 - start };
        made.size = sizes::constant_size(&self.layout, &made);
        let id = TypeId(self.layout.types.len() as u32);
        self.layout.types.push(made);
        self.layout.instances.insert((ty, key), id);
        Ok(id)
    }

    fn instance_use(&mut self, what: TypeUse, bound: &[(Symbol, DimName)]) -> ParseResult<TypeUse> {
        let ty = self.instantiate_type(what.ty, bound)?;
        let dims = what.dims.slice(&self.layout.dims);
        if !dims.iter().any(|dim| matches!(dim, Dim::Unbound { name, .. } if is_param(bound, *name))) {
            return Ok(TypeUse { ty, dims: what.dims });
        }
        let made: Vec<Dim> = dims
            .iter()
            .map(|&dim| match dim {
                Dim::Unbound { name, suffix } => match find_binding(bound, name) {
                    DimName::Param(param) => Dim::Param { param, suffix },
                    _ => dim,
                },
                _ => dim,
            })
            .collect();
        self.charge_work(made.len() as u64)?;
        let run = DimRun { start: self.layout.dims.len() as u32, len: made.len() as u32 };
        self.layout.dims.extend(made);
        Ok(TypeUse { ty, dims: run })
    }
}

fn find_binding(bound: &[(Symbol, DimName)], name: Symbol) -> DimName {
    bound
        .binary_search_by_key(&name, |(known, _)| *known)
        .ok()
        .and_then(|at| bound.get(at))
        .map_or(DimName::FreeDim, |(_, found)| *found)
}

fn is_param(bound: &[(Symbol, DimName)], name: Symbol) -> bool {
    matches!(find_binding(bound, name), DimName::Param(_))
}

/// The primitive that a name with a prefix denotes, such as `<i4` in quotes.
pub(super) fn parse_prefixed_primitive(name: &str, dialect: Dialect) -> Option<TypeId> {
    let prefix = *name.as_bytes().first().filter(|byte| matches!(byte, b'<' | b'>' | b'|'))?;
    Primitive::from_name(name.get(1..)?, dialect).map(|primitive| TypeId::from_primitive(primitive, prefix))
}
