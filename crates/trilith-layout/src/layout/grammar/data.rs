//! Data: datatype, shape, filter, placement.

use super::{
    DiagnosticCode, Dialect, Draft, Frame, LayoutParser, ParseResult, ParsedPlacement, Placement, Primitive, RawDim, Span, Token,
    TokenKind, TypeId, TypeOwner,
};
use crate::diagnostic::Diagnostic;
use crate::layout::lexer::unquote_name;
use crate::layout::model::{LayoutFilter, LayoutLiteral, PrimitiveKind, TypeKind};
use crate::layout::spec_decisions::SUFFIX_MAX;

impl LayoutParser<'_> {
    /// datatype = PRIM | NAME | '{' … '}'
    pub(super) fn parse_datatype(&mut self, mut draft: Draft) -> ParseResult {
        draft.type_span = self.token.span;
        match self.token.kind {
            TokenKind::Primitive => {
                let token = self.advance();
                draft.ty =
                    super::scope::parse_prefixed_primitive(token.span.slice(self.text), self.dialect).unwrap_or(TypeId::NONE);
                self.after_datatype(draft)
            }
            TokenKind::Symbol | TokenKind::Quoted => {
                let token = self.advance();
                match self.find_type(token) {
                    Some(ty) => draft.ty = ty,
                    None => self.unknown_type(token),
                }
                self.after_datatype(draft)
            }
            TokenKind::OpenBrace => self.open_struct(draft),
            TokenKind::Integer => {
                let hint = match self.dialect {
                    Dialect::D2025 => "a fixed parameter is written `NAME : 3`",
                    Dialect::D2026 => "a fixed parameter is written `NAME = 3`",
                };
                self.fail_unexpected_token(DiagnosticCode::E203, "a datatype", hint)
            }
            TokenKind::OpenParen if self.dialect == Dialect::D2025 => {
                self.fail_unexpected_token(DiagnosticCode::E203, "a datatype", "2025 shapes use [ ], after the datatype")
            }
            _ => self.fail_unexpected_token(DiagnosticCode::E203, "a datatype", ""),
        }
    }

    /// Parses the tokens after a datatype, by its purpose.
    pub(super) fn after_datatype(&mut self, draft: Draft) -> ParseResult {
        self.warn_pointer(draft);
        match draft.owner {
            TypeOwner::Param => self.after_param_type(draft),
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
            self.report_warning(DiagnosticCode::W8, draft.type_span, message);
        }
    }

    /// data = datatype shape? (cfilter | rfilter)? placement?    (from the shape on)
    pub(super) fn after_data_type(&mut self, draft: Draft) -> ParseResult {
        self.shape.clear();
        if draft.owner == TypeOwner::Summary && self.is_at_kind(TokenKind::OpenBracket) {
            return self.not_integer(draft, self.token.span);
        }
        let open = if self.dialect == Dialect::D2025 { TokenKind::OpenBracket } else { TokenKind::OpenParen };
        if self.is_at_kind(open) {
            self.parse_shape(draft.owner)?;
        }
        let filter = match (self.dialect, self.token.kind) {
            (Dialect::D2025, TokenKind::ArrowRight | TokenKind::ArrowLeft) => return self.foreign_filter(),
            (Dialect::D2026, TokenKind::ArrowRight | TokenKind::ArrowLeft) if draft.owner != TypeOwner::Reference => {
                self.parse_filter(draft)?
            }
            _ => 0,
        };
        let placed = self.placement_of()?;
        self.commit_draft(draft, filter, placed)
    }

    fn foreign_filter(&mut self) -> ParseResult {
        let message = format!("{} belongs to the dialect of 2026, this layout is of 2025", self.display_token(self.token));
        self.fail_item(
            DiagnosticCode::E319
                .to_diagnostic(self.token.span, message)
                .hint("store the array plain, or translate the layout to 2026"),
        )
    }

    /// shape = '[' dim (',' dim)* ']'    (2026: parentheses)
    fn parse_shape(&mut self, owner: TypeOwner) -> ParseResult {
        let open = self.advance();
        self.unclosed.push(open.span);
        let (close, shown) = if open.kind == TokenKind::OpenBracket {
            (TokenKind::CloseBracket, "`,` or `]`")
        } else {
            (TokenKind::CloseParen, "`,` or `)`")
        };
        loop {
            self.parse_dim(owner)?;
            if self.consume_if(TokenKind::Comma).is_some() {
                continue;
            }
            if self.consume_if(close).is_some() {
                self.unclosed.pop();
                return Ok(());
            }
            let hint = self.dim_hint();
            return self.fail_unexpected_token(DiagnosticCode::E204, shown, &hint);
        }
    }

    /// Returns the probable intention of the tokens after a dimension.
    fn dim_hint(&self) -> String {
        let Some(RawDim::Name { symbol, suffix, .. }) = self.shape.last() else { return String::new() };
        let name = self.layout.names.resolve(*symbol);
        // The sign in `N - 1` has already been read as a suffix.
        let value = if *suffix == -1 { self.token.value.saturating_neg() } else { self.token.value };
        match self.token.kind {
            TokenKind::Integer if value != 0 && value.unsigned_abs() <= 4 && (-1..=1).contains(suffix) => {
                let (sign, word) = if value < 0 { ("-", "minus") } else { ("+", "plus") };
                let size = value.unsigned_abs();
                format!("write {name}{} for {name} {word} {size}", sign.repeat(size as usize))
            }
            TokenKind::Integer => "a dimension is a number, or a name with + or - suffixes".into(),
            TokenKind::Question => "the suffix `?` is gone since 2025; a parameter of 0 or -1 means the same".into(),
            _ => String::new(),
        }
    }

    /// dim = INTEGER | NAME SUFFIX?
    fn parse_dim(&mut self, owner: TypeOwner) -> ParseResult {
        match self.token.kind {
            TokenKind::Integer => {
                let token = self.advance();
                if token.value < -1 {
                    self.report_error(below_minus_one_error("dimension", token));
                }
                self.shape.push(RawDim::Integer(token.value));
                Ok(())
            }
            TokenKind::Symbol | TokenKind::Quoted if owner == TypeOwner::Reference => {
                let message =
                    format!("the shape of a referenced item is of integers only, found {}", self.display_token(self.token));
                self.fail_item(DiagnosticCode::E315.to_diagnostic(self.token.span, message))
            }
            TokenKind::Symbol | TokenKind::Quoted => {
                let token = self.advance();
                let symbol = self.intern_token_name(token);
                let mut suffix = 0;
                if matches!(self.token.kind, TokenKind::Plus | TokenKind::Minus) {
                    let run = self.advance();
                    if run.value > SUFFIX_MAX {
                        let message = format!("{} suffixes, at most {SUFFIX_MAX} are possible", run.value);
                        self.report_error(DiagnosticCode::E318.to_diagnostic(run.span, message));
                    }
                    let size = run.value.min(SUFFIX_MAX) as i8;
                    suffix = if run.kind == TokenKind::Plus { size } else { -size };
                }
                self.shape.push(RawDim::Name { symbol, suffix, span: token.span });
                Ok(())
            }
            TokenKind::Question => {
                self.fail_unexpected_token(DiagnosticCode::E204, "a dimension", "the suffix `?` is gone since 2025")
            }
            _ => self.fail_unexpected_token(DiagnosticCode::E204, "a dimension: an integer or the name of a parameter", ""),
        }
    }

    /// placement = '@' INTEGER | '%' INTEGER
    pub(super) fn placement_of(&mut self) -> ParseResult<ParsedPlacement> {
        if !matches!(self.token.kind, TokenKind::At | TokenKind::Percent) {
            return Ok(ParsedPlacement::default());
        }
        let sign = self.advance();
        if !self.is_at_kind(TokenKind::Integer) {
            let what = if sign.kind == TokenKind::At { "an address after `@`" } else { "an alignment after `%`" };
            return self.fail_unexpected_token(DiagnosticCode::E205, what, "");
        }
        let token = self.advance();
        let placement = if sign.kind == TokenKind::At { self.parse_address(token) } else { self.parse_alignment(token) };
        Ok(ParsedPlacement { placement, span: token.span })
    }

    fn parse_address(&mut self, token: Token) -> Placement {
        if token.value < 0 {
            self.report_error(DiagnosticCode::E205.to_diagnostic(token.span, format!("the address {} is negative", token.value)));
        }
        Placement::At(token.value.max(0) as u64)
    }

    /// The alignments that a dialect allows: 1, 2, 4, 8, 16 in 2025, 0 and every power of two in 2026.
    pub(super) fn parse_alignment(&mut self, token: Token) -> Placement {
        let (fits, allowed) = match self.dialect {
            Dialect::D2025 => (matches!(token.value, 1 | 2 | 4 | 8 | 16), "1, 2, 4, 8 or 16"),
            Dialect::D2026 => (token.value == 0 || (token.value > 0 && token.value.count_ones() == 1), "0 or a power of two"),
        };
        if !fits {
            self.report_error(
                DiagnosticCode::E205.to_diagnostic(token.span, format!("the alignment {} is not {allowed}", token.value)),
            );
            return Placement::Next;
        }
        if token.value == 0 { Placement::Next } else { Placement::Align(token.value as u64) }
    }

    /// cfilter = '->' NAME ( '(' arg (',' arg)* ')' )?    rfilter = '<-' NAME ( same )?
    fn parse_filter(&mut self, draft: Draft) -> ParseResult<u32> {
        let is_alias = matches!(self.frames.last(), Some(Frame::Struct(open)) if open.alias);
        if draft.owner == TypeOwner::Member && !(is_alias && self.is_at_kind(TokenKind::ArrowLeft)) {
            let message = format!("no filter {} inside a struct", self.display_token(self.token));
            return self.fail_item(
                DiagnosticCode::E314.to_diagnostic(self.token.span, message).hint("put it on the array that has this type"),
            );
        }
        let arrow = self.advance();
        if !self.token.is_name() {
            return self.fail_unexpected_token(DiagnosticCode::E314, "the name of a filter", "");
        }
        let name = self.advance();
        let mut filter = LayoutFilter {
            compresses: arrow.kind == TokenKind::ArrowRight,
            name: unquote_name(name.span.slice(self.text)).into_owned(),
            arguments: Vec::new(),
        };
        let mut spans = Vec::new();
        if let Some(open) = self.consume_if(TokenKind::OpenParen) {
            self.unclosed.push(open.span);
            loop {
                self.parse_argument(&mut filter.arguments, &mut spans)?;
                if self.consume_if(TokenKind::Comma).is_some() {
                    continue;
                }
                if self.consume_if(TokenKind::CloseParen).is_some() {
                    self.unclosed.pop();
                    break;
                }
                return self.fail_unexpected_token(DiagnosticCode::E314, "`,` or `)`", "");
            }
        }
        if filter.compresses {
            self.check_filter(&filter, draft, name.span, &spans);
        }
        self.layout.filters.push(filter);
        Ok(self.layout.filters.len() as u32)
    }

    /// arg = INTEGER | FLOAT | QUOTED
    fn parse_argument(&mut self, arguments: &mut Vec<LayoutLiteral>, spans: &mut Vec<Span>) -> ParseResult {
        let token = self.token;
        let text = token.span.slice(self.text);
        arguments.push(match token.kind {
            TokenKind::Integer => LayoutLiteral::Integer(token.value),
            TokenKind::Float => LayoutLiteral::Float(super::attribute::parse_float(text)),
            TokenKind::Quoted => LayoutLiteral::Text(unquote_name(text).into_owned()),
            _ => return self.fail_unexpected_token(DiagnosticCode::E314, "a number or a quoted text", ""),
        });
        spans.push(token.span);
        self.advance();
        Ok(())
    }

    /// Section 11: arity, range and array type of the filters that we know.
    fn check_filter(&mut self, filter: &LayoutFilter, draft: Draft, name: Span, spans: &[Span]) {
        let range = match filter.name.as_str() {
            "zfp" => (f64::NEG_INFINITY, f64::INFINITY, true),
            "gzip" => (-1.0, 9.0, false),
            "jpeg" => (0.0, 95.0, false),
            "png" => (0.0, 9.0, false),
            _ => return,
        };
        let shown = &filter.name;
        if let Some(&span) = spans.get(1) {
            return self.report_error(DiagnosticCode::E314.to_diagnostic(span, format!("{shown} takes one argument at most")));
        }
        let problem = match filter.arguments.first() {
            Some(LayoutLiteral::Integer(value)) if (*value as f64) < range.0 || (*value as f64) > range.1 => {
                Some(format!("the argument of {shown} must be in {}..{}, found {value}", range.0, range.1))
            }
            Some(LayoutLiteral::Float(_)) if !range.2 => Some(format!("the argument of {shown} is an integer")),
            Some(LayoutLiteral::Text(_)) => Some(format!("the argument of {shown} is a number")),
            _ => None,
        };
        if let (Some(problem), Some(&span)) = (problem, spans.first()) {
            return self.report_error(DiagnosticCode::E314.to_diagnostic(span, problem));
        }
        if let Some(problem) = self.unfit_for(&filter.name, draft.ty) {
            self.report_error(DiagnosticCode::E314.to_diagnostic(name, problem));
        }
    }

    /// Returns the reason why a filter cannot take an array of this type and of the shape read last.
    fn unfit_for(&self, filter: &str, ty: TypeId) -> Option<String> {
        if ty == TypeId::NONE || filter == "gzip" {
            return None;
        }
        let mut dims: Vec<Option<i64>> =
            self.shape.iter().map(|dim| if let RawDim::Integer(n) = dim { Some(*n) } else { None }).collect();
        let mut base = ty;
        while let TypeKind::Alias(what) = self.layout.ty(base).kind {
            dims.extend(what.dims.slice(&self.layout.dims).iter().map(|dim| match dim {
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
pub(super) fn below_minus_one_error(what: &str, token: Token) -> Diagnostic {
    DiagnosticCode::E309
        .to_diagnostic(token.span, format!("the {what} {} is below -1", token.value))
        .hint("0 means no data, -1 removes the dimension")
}
