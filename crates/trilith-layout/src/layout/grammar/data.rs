//! Data: datatype, shape, filter, placement.

use super::{Code, Dialect, Draft, Frame, Owner, Parse, Parser, Placed, Placement, Primitive, Span, T, Token, TypeId, Written};
use crate::diagnostic::Diagnostic;
use crate::layout::lexer::unquote;
use crate::layout::model::{Filter, Literal, PrimitiveKind, TypeKind};
use crate::layout::spec_decisions::SUFFIX_MAX;

impl Parser<'_> {
    /// datatype = PRIM | NAME | '{' … '}'
    pub(super) fn datatype(&mut self, mut draft: Draft) -> Parse {
        draft.type_span = self.token.span;
        match self.token.kind {
            T::Prim => {
                let token = self.bump();
                draft.ty = super::scope::prefixed(token.span.slice(self.text), self.dialect).unwrap_or(TypeId::NONE);
                self.after_datatype(draft)
            }
            T::Symbol | T::Quoted => {
                let token = self.bump();
                match self.find_type(token) {
                    Some(ty) => draft.ty = ty,
                    None => self.unknown_type(token),
                }
                self.after_datatype(draft)
            }
            T::OpenBrace => self.open_struct(draft),
            T::Integer => {
                let hint = match self.dialect {
                    Dialect::D2025 => "a fixed parameter is written `NAME : 3`",
                    Dialect::D2026 => "a fixed parameter is written `NAME = 3`",
                };
                self.expected(Code::E203, "a datatype", hint)
            }
            T::OpenParen if self.dialect == Dialect::D2025 => {
                self.expected(Code::E203, "a datatype", "2025 shapes use [ ], after the datatype")
            }
            _ => self.expected(Code::E203, "a datatype", ""),
        }
    }

    /// Parses the tokens after a datatype, by its purpose.
    pub(super) fn after_datatype(&mut self, draft: Draft) -> Parse {
        self.warn_pointer(draft);
        match draft.owner {
            Owner::Param => self.after_param_type(draft),
            _ => self.after_data_type(draft),
        }
    }

    /// W8, once for each use.
    fn warn_pointer(&mut self, draft: Draft) {
        if draft.ty.is_primitive()
            && let TypeKind::Primitive(primitive, _) = self.layout.ty(draft.ty).kind
            && primitive.kind() == PrimitiveKind::Pointer
        {
            let message = format!("`{primitive}` is not fully specified; `u{}` says the same", primitive.size());
            self.warn(Code::W8, draft.type_span, message);
        }
    }

    /// data = datatype shape? (cfilter | rfilter)? placement?    (from the shape on)
    pub(super) fn after_data_type(&mut self, draft: Draft) -> Parse {
        self.shape.clear();
        if draft.owner == Owner::Summary && self.at(T::OpenBracket) {
            return self.not_integer(draft, self.token.span);
        }
        let open = if self.dialect == Dialect::D2025 { T::OpenBracket } else { T::OpenParen };
        if self.at(open) {
            self.parse_shape(draft.owner)?;
        }
        let filter = match (self.dialect, self.token.kind) {
            (Dialect::D2025, T::Into | T::From) => return self.foreign_filter(),
            (Dialect::D2026, T::Into | T::From) if draft.owner != Owner::Reference => self.parse_filter(draft)?,
            _ => 0,
        };
        let placed = self.placement_of()?;
        self.complete(draft, filter, placed)
    }

    fn foreign_filter(&mut self) -> Parse {
        let message = format!("{} belongs to the dialect of 2026, this layout is of 2025", self.shown(self.token));
        self.fail(Code::E319.at(self.token.span, message).hint("store the array plain, or translate the layout to 2026"))
    }

    /// shape = '[' dim (',' dim)* ']'    (2026: parentheses)
    fn parse_shape(&mut self, owner: Owner) -> Parse {
        let open = self.bump();
        self.unclosed.push(open.span);
        let (close, shown) =
            if open.kind == T::OpenBracket { (T::CloseBracket, "`,` or `]`") } else { (T::CloseParen, "`,` or `)`") };
        loop {
            self.dim(owner)?;
            if self.eat(T::Comma).is_some() {
                continue;
            }
            if self.eat(close).is_some() {
                self.unclosed.pop();
                return Ok(());
            }
            let hint = self.dim_hint();
            return self.expected(Code::E204, shown, &hint);
        }
    }

    /// Returns the probable intention of the tokens after a dimension.
    fn dim_hint(&self) -> String {
        let Some(Written::Name { symbol, suffix, .. }) = self.shape.last() else { return String::new() };
        let name = self.layout.names.text(*symbol);
        // The sign in `N - 1` has already been read as a suffix.
        let value = if *suffix == -1 { self.token.value.saturating_neg() } else { self.token.value };
        match self.token.kind {
            T::Integer if value != 0 && value.unsigned_abs() <= 4 && (-1..=1).contains(suffix) => {
                let (sign, word) = if value < 0 { ("-", "minus") } else { ("+", "plus") };
                let size = value.unsigned_abs();
                format!("write {name}{} for {name} {word} {size}", sign.repeat(size as usize))
            }
            T::Integer => "a dimension is a number, or a name with + or - suffixes".into(),
            T::Question => "the suffix `?` is gone since 2025; a parameter of 0 or -1 means the same".into(),
            _ => String::new(),
        }
    }

    /// dim = INTEGER | NAME SUFFIX?
    fn dim(&mut self, owner: Owner) -> Parse {
        match self.token.kind {
            T::Integer => {
                let token = self.bump();
                if token.value < -1 {
                    self.report(below_minus_one("dimension", token));
                }
                self.shape.push(Written::Integer(token.value));
                Ok(())
            }
            T::Symbol | T::Quoted if owner == Owner::Reference => {
                let message = format!("the shape of a referenced item is of integers only, found {}", self.shown(self.token));
                self.fail(Code::E315.at(self.token.span, message))
            }
            T::Symbol | T::Quoted => {
                let token = self.bump();
                let symbol = self.symbol(token);
                let mut suffix = 0;
                if matches!(self.token.kind, T::Plus | T::Minus) {
                    let run = self.bump();
                    if run.value > SUFFIX_MAX {
                        let message = format!("{} suffixes, at most {SUFFIX_MAX} are possible", run.value);
                        self.report(Code::E318.at(run.span, message));
                    }
                    let size = run.value.min(SUFFIX_MAX) as i8;
                    suffix = if run.kind == T::Plus { size } else { -size };
                }
                self.shape.push(Written::Name { symbol, suffix, span: token.span });
                Ok(())
            }
            T::Question => self.expected(Code::E204, "a dimension", "the suffix `?` is gone since 2025"),
            _ => self.expected(Code::E204, "a dimension: an integer or the name of a parameter", ""),
        }
    }

    /// placement = '@' INTEGER | '%' INTEGER
    pub(super) fn placement_of(&mut self) -> Parse<Placed> {
        if !matches!(self.token.kind, T::At | T::Percent) {
            return Ok(Placed::default());
        }
        let sign = self.bump();
        if !self.at(T::Integer) {
            let what = if sign.kind == T::At { "an address after `@`" } else { "an alignment after `%`" };
            return self.expected(Code::E205, what, "");
        }
        let token = self.bump();
        let placement = if sign.kind == T::At { self.address(token) } else { self.alignment(token) };
        Ok(Placed { placement, span: token.span })
    }

    fn address(&mut self, token: Token) -> Placement {
        if token.value < 0 {
            self.report(Code::E205.at(token.span, format!("the address {} is negative", token.value)));
        }
        Placement::At(token.value.max(0) as u64)
    }

    /// The alignments that a dialect allows: 1, 2, 4, 8, 16 in 2025, 0 and every power of two in 2026.
    pub(super) fn alignment(&mut self, token: Token) -> Placement {
        let (fits, allowed) = match self.dialect {
            Dialect::D2025 => (matches!(token.value, 1 | 2 | 4 | 8 | 16), "1, 2, 4, 8 or 16"),
            Dialect::D2026 => (token.value == 0 || (token.value > 0 && token.value.count_ones() == 1), "0 or a power of two"),
        };
        if !fits {
            self.report(Code::E205.at(token.span, format!("the alignment {} is not {allowed}", token.value)));
            return Placement::Next;
        }
        if token.value == 0 { Placement::Next } else { Placement::Align(token.value as u64) }
    }

    /// cfilter = '->' NAME ( '(' arg (',' arg)* ')' )?    rfilter = '<-' NAME ( same )?
    fn parse_filter(&mut self, draft: Draft) -> Parse<u32> {
        let is_alias = matches!(self.frames.last(), Some(Frame::Struct(open)) if open.alias);
        if draft.owner == Owner::Member && !(is_alias && self.at(T::From)) {
            let message = format!("no filter {} inside a struct", self.shown(self.token));
            return self.fail(Code::E314.at(self.token.span, message).hint("put it on the array that has this type"));
        }
        let arrow = self.bump();
        if !self.token.is_name() {
            return self.expected(Code::E314, "the name of a filter", "");
        }
        let name = self.bump();
        let mut filter = Filter {
            compresses: arrow.kind == T::Into,
            name: unquote(name.span.slice(self.text)).into_owned(),
            arguments: Vec::new(),
        };
        let mut spans = Vec::new();
        if let Some(open) = self.eat(T::OpenParen) {
            self.unclosed.push(open.span);
            loop {
                self.argument(&mut filter.arguments, &mut spans)?;
                if self.eat(T::Comma).is_some() {
                    continue;
                }
                if self.eat(T::CloseParen).is_some() {
                    self.unclosed.pop();
                    break;
                }
                return self.expected(Code::E314, "`,` or `)`", "");
            }
        }
        if filter.compresses {
            self.check_filter(&filter, draft, name.span, &spans);
        }
        self.layout.filters.push(filter);
        Ok(self.layout.filters.len() as u32)
    }

    /// arg = INTEGER | FLOAT | QUOTED
    fn argument(&mut self, arguments: &mut Vec<Literal>, spans: &mut Vec<Span>) -> Parse {
        let token = self.token;
        let text = token.span.slice(self.text);
        arguments.push(match token.kind {
            T::Integer => Literal::Integer(token.value),
            T::Float => Literal::Float(super::attribute::parse_float(text)),
            T::Quoted => Literal::Text(unquote(text).into_owned()),
            _ => return self.expected(Code::E314, "a number or a quoted text", ""),
        });
        spans.push(token.span);
        self.bump();
        Ok(())
    }

    /// Section 11: arity, range and array type of the filters that we know.
    fn check_filter(&mut self, filter: &Filter, draft: Draft, name: Span, spans: &[Span]) {
        let range = match filter.name.as_str() {
            "zfp" => (f64::NEG_INFINITY, f64::INFINITY, true),
            "gzip" => (-1.0, 9.0, false),
            "jpeg" => (0.0, 95.0, false),
            "png" => (0.0, 9.0, false),
            _ => return,
        };
        let shown = &filter.name;
        if let Some(&span) = spans.get(1) {
            return self.report(Code::E314.at(span, format!("{shown} takes one argument at most")));
        }
        let problem = match filter.arguments.first() {
            Some(Literal::Integer(value)) if (*value as f64) < range.0 || (*value as f64) > range.1 => {
                Some(format!("the argument of {shown} must be in {}..{}, found {value}", range.0, range.1))
            }
            Some(Literal::Float(_)) if !range.2 => Some(format!("the argument of {shown} is an integer")),
            Some(Literal::Text(_)) => Some(format!("the argument of {shown} is a number")),
            _ => None,
        };
        if let (Some(problem), Some(&span)) = (problem, spans.first()) {
            return self.report(Code::E314.at(span, problem));
        }
        if let Some(problem) = self.unfit_for(&filter.name, draft.ty) {
            self.report(Code::E314.at(name, problem));
        }
    }

    /// Returns the reason why a filter cannot take an array of this type and of the shape read last.
    fn unfit_for(&self, filter: &str, ty: TypeId) -> Option<String> {
        if ty == TypeId::NONE || filter == "gzip" {
            return None;
        }
        let mut dims: Vec<Option<i64>> =
            self.shape.iter().map(|dim| if let Written::Integer(n) = dim { Some(*n) } else { None }).collect();
        let mut base = ty;
        while let TypeKind::Alias(what) = self.layout.ty(base).kind {
            dims.extend(what.dims.of(&self.layout.dims).iter().map(|dim| match dim {
                crate::layout::model::Dim::Fixed(n) => Some(*n),
                _ => None,
            }));
            base = what.ty;
        }
        // -1 removes a dimension, and a parameter may turn out to be -1.
        let known = dims.iter().filter(|dim| dim.is_some_and(|n| n >= 0)).count();
        let open = dims.iter().filter(|dim| dim.is_none()).count();
        let rank = |wanted: std::ops::RangeInclusive<usize>| (known..=known + open).any(|n| wanted.contains(&n));
        let primitive = match self.layout.ty(base).kind {
            TypeKind::Primitive(primitive, _) => Some(primitive),
            _ => None,
        };
        let is = |names: &[&str]| primitive.is_some_and(|p: Primitive| names.contains(&p.name()));
        let colors = |allowed: &[i64]| match dims.last() {
            Some(Some(n)) if known + open >= 3 && *n >= 0 => allowed.contains(n),
            _ => true,
        };
        let fits = match filter {
            "zfp" => primitive.is_some_and(|p| !p.is_text() && p.kind() != PrimitiveKind::Bool) && rank(0..=4),
            "jpeg" => is(&["u1"]) && rank(2..=3) && colors(&[3, 4]),
            "png" => is(&["u1", "u2"]) && rank(2..=3) && colors(&[3]),
            _ => true,
        };
        let wanted = match filter {
            "zfp" => "numbers of at most 4 dimensions",
            "jpeg" => "u1 of shape (NX,NY), (NX,NY,3) or (NX,NY,4)",
            _ => "u1 or u2 of shape (NX,NY) or (NX,NY,3)",
        };
        (!fits).then(|| format!("{filter} takes {wanted}"))
    }
}

/// E309 at a number.
pub(super) fn below_minus_one(what: &str, token: Token) -> Diagnostic {
    Code::E309.at(token.span, format!("the {what} {} is below -1", token.value)).hint("0 means no data, -1 removes the dimension")
}
