//! The grammar of 2026: one function for each production that it does not share.

use super::{DiagnosticCode, Draft, Frame, ItemData, ItemId, LayoutParser, ParseResult, Token, TokenKind, TypeId, TypeOwner};
use crate::layout::interner::Symbol;
use crate::layout::model::{DataItem, ElementSlot, RefTarget};
use crate::layout::spec_decisions;

impl LayoutParser<'_> {
    /// dict_element = NAME … | '..' | '/' | '&' ref_item
    pub(super) fn dict_element_2026(&mut self, first: bool) -> ParseResult {
        match self.token.kind {
            TokenKind::Symbol | TokenKind::Quoted => self.named_element_2026(),
            TokenKind::Ampersand => self.ref_item(),
            // The opening of a 2025 layout is not a stray character.
            TokenKind::BadPrefix if first => {
                let message = format!("expected a dict item, found {}", self.display_token(self.token));
                self.fail_item(DiagnosticCode::E201.to_diagnostic(self.token.span, message).hint("2025 dialect?"))
            }
            _ => self.fail_unexpected_token(DiagnosticCode::E201, "a dict item", self.item_hint_2026(first)),
        }
    }

    fn item_hint_2026(&self, first: bool) -> &'static str {
        match self.token.kind {
            TokenKind::OpenBracket => "2026 shapes use ( )",
            TokenKind::Comma => "no commas between dict items",
            TokenKind::OpenBrace | TokenKind::Minus => "2025 dialect?",
            TokenKind::Primitive if first => "2025 dialect?",
            TokenKind::Star => "repetition with `*` belongs to the dialect of 2025; use `%0`",
            TokenKind::Percent => "the alignment of a type goes inside the braces: `{: T %8}`",
            TokenKind::Integer | TokenKind::At => "",
            _ => "an item begins with a name, `..`, `/` or `&`",
        }
    }

    /// NAME ( ':' data | '/' | '[' list_body? ']' | '{' struct_body? '}' | '=' param )
    fn named_element_2026(&mut self) -> ParseResult {
        let (name, symbol) = self.item_name();
        match self.token.kind {
            TokenKind::Colon => self.data_item(TypeOwner::Dict, name, symbol),
            TokenKind::Equal => self.param_item(name, symbol),
            TokenKind::Slash => {
                self.advance();
                self.open_dict(name, symbol)
            }
            TokenKind::OpenBracket => {
                let list = self.named_list(name, symbol)?;
                let open = self.advance();
                self.open_list(list, open.span, ElementSlot::Existing)
            }
            TokenKind::OpenBrace => self.begin_type(name, symbol),
            _ => {
                let hint = if self.is_at_kind(TokenKind::OpenParen) { "a shape follows the datatype: `name: f8(3)`" } else { "" };
                self.fail_unexpected_token(DiagnosticCode::E202, "one of `:`, `=`, `/`, `[` or `{` after a name", hint)
            }
        }
    }

    // Structs.

    /// struct_body = ':' datatype shape? rfilter? placement? | ( NAME ':' datatype shape? placement? )+
    pub(super) fn member_2026(&mut self) -> ParseResult {
        let (is_alias, is_first) = match self.frames.last() {
            Some(Frame::Struct(open)) => (open.alias, open.members.is_empty()),
            _ => (false, false),
        };
        match self.token.kind {
            TokenKind::CloseBrace => self.close_struct(),
            TokenKind::Colon if is_alias && is_first => {
                let colon = self.advance();
                let draft = self.begin_item(TypeOwner::Member, colon, Symbol::NONE);
                self.set_comment_target(self.comment_item(draft));
                self.parse_datatype(draft)
            }
            TokenKind::Symbol | TokenKind::Quoted if !is_alias => {
                let name = self.advance();
                self.defer_comments();
                let symbol = self.intern_token_name(name);
                self.comment_target = symbol;
                if !self.is_at_kind(TokenKind::Colon) {
                    let hint = if self.is_at_kind(TokenKind::Equal) {
                        "structs of 2026 hold no parameters; data is written `name: type`"
                    } else {
                        ""
                    };
                    return self.fail_unexpected_token(DiagnosticCode::E207, "`:` after the name of a member", hint);
                }
                self.advance();
                let draft = self.begin_item(TypeOwner::Member, name, symbol);
                self.parse_datatype(draft)
            }
            _ => {
                let hint = match self.token.kind {
                    TokenKind::OpenBracket => "2026 shapes use ( )",
                    TokenKind::Comma => "no commas between members",
                    _ => "",
                };
                let what = if is_alias { "`}` after a typedef" } else { "a member of the struct, or `}`" };
                self.fail_unexpected_token(DiagnosticCode::E207, what, hint)
            }
        }
    }

    // Lists.

    /// list_element = data | INTEGER? '[' … ']' | INTEGER? '/' dict_body | INTEGER? placement | ('&' ref_item)+
    pub(super) fn list_2026(&mut self) -> ParseResult {
        if !self.list_continues()? {
            return Ok(());
        }
        match self.token.kind {
            TokenKind::Integer => {
                let index = self.advance();
                match self.token.kind {
                    TokenKind::OpenBracket | TokenKind::Slash => self.extend_element(index),
                    TokenKind::At | TokenKind::Percent => self.copy_element(Some(index)),
                    _ => self.fail_unexpected_token(
                        DiagnosticCode::E206,
                        "one of `[`, `/`, `@` or `%` after the index of a list element",
                        "",
                    ),
                }
            }
            TokenKind::At | TokenKind::Percent => self.copy_element(None),
            TokenKind::Slash => self.dict_element(),
            TokenKind::OpenBracket => self.list_element(),
            TokenKind::Ampersand => self.ref_element(),
            TokenKind::Primitive | TokenKind::Symbol | TokenKind::Quoted | TokenKind::OpenBrace => self.data_element(),
            _ => self.fail_unexpected_token(DiagnosticCode::E206, "a list element or `]`", self.bracket_hint()),
        }
    }

    /// The declared element of the list on top with this index, from its end if negative.
    fn element_at(&self, index: i64) -> Option<ItemId> {
        let Some(Frame::List { item, .. }) = self.frames.last() else { return None };
        let elements = self.elements.get(item)?;
        let at = if index < 0 { index.checked_add(elements.len() as i64)? } else { index };
        elements.get(usize::try_from(at).ok()?).copied()
    }

    /// i[..] or i/..: an element goes on.
    fn extend_element(&mut self, index: Token) -> ParseResult {
        let wanted = if self.is_at_kind(TokenKind::OpenBracket) { ItemData::List } else { ItemData::Dict };
        let element = match self.element_at(index.value) {
            Some(element) if self.layout.item(element).kind == wanted => element,
            found => {
                let kind = if wanted == ItemData::List { "list" } else { "dict" };
                let message = match found {
                    Some(other) => format!("element {} is {}, not a {kind}", index.value, self.kind_name(other)),
                    None => format!("the list has no element {}", index.value),
                };
                return self.fail_item(DiagnosticCode::E311.to_diagnostic(index.span, message));
            }
        };
        // The index is the first token of the element (section 9.1).
        self.set_comment_target(element);
        let open = self.advance();
        let step = self.layout.steps.len() as u32;
        self.begin_at(element, step);
        if open.kind == TokenKind::OpenBracket {
            self.open_list(element, open.span, ElementSlot::Existing)
        } else {
            self.open_element_dict(element, open.span, ElementSlot::Existing)
        }
    }

    /// Parses i@a, i%n, @a, %n: a copy of an element that is data, with a new placement.
    fn copy_element(&mut self, index: Option<Token>) -> ParseResult {
        let sign = self.token;
        let span = index.map_or(sign.span, |token| token.span);
        let found = self.element_at(index.map_or(-1, |token| token.value));
        let data = match found.filter(|&element| self.is_data(element)) {
            Some(element) => self.layout.data_of(element).cloned(),
            None => None,
        };
        let Some(data) = data else {
            let (code, message) = match (found, index) {
                (None, None) => (DiagnosticCode::E312, "the list has no element yet that could be repeated".to_owned()),
                (None, Some(token)) => (DiagnosticCode::E311, format!("the list has no element {}", token.value)),
                (Some(other), _) => {
                    (DiagnosticCode::E311, format!("only data can be repeated, this element is {}", self.kind_name(other)))
                }
            };
            return self.fail_item(code.to_diagnostic(span, message));
        };
        let item = self.begin_element(span);
        match index {
            Some(_) => self.set_comment_target(item),
            None => self.comment_target_after_next(item),
        }
        let placed = self.placement_of()?;
        let filter = if spec_decisions::COPY_KEEPS_FILTER { data.filter } else { 0 };
        let draft =
            Draft { owner: TypeOwner::Element, item, name: span, symbol: Symbol::NONE, type_span: span, ty: data.what.ty };
        let copy = DataItem { placement: placed.placement, filter, ..data };
        self.layout.copies.insert(item, index.map(|token| token.value));
        self.push_data(draft, copy, placed);
        Ok(())
    }

    // Referenced items.

    /// ('&' ref_item)+ as one element of a list, which takes no index.
    fn ref_element(&mut self) -> ParseResult {
        let step = self.layout.steps.len() as u32;
        self.begin_at(ItemId::NONE, step);
        while self.is_at_kind(TokenKind::Ampersand) {
            self.ref_item()?;
        }
        Ok(())
    }

    /// ref_item = INTEGER* ref_datatype ref_shape? placement?
    fn ref_item(&mut self) -> ParseResult {
        let sign = self.advance();
        let item = self.layout.add_item(ItemData::Pending, Symbol::NONE, ItemId::ROOT, sign.span);
        self.set_comment_target(item);
        if let Some(Frame::List { element, .. }) = self.frames.last_mut() {
            *element = item;
        }
        let mut ids = Vec::new();
        while let Some(token) = self.consume_if(TokenKind::Integer) {
            ids.push(token.value);
        }
        self.layout.references.push(RefTarget { item, ids });
        let mut draft = Draft {
            owner: TypeOwner::Reference,
            item,
            name: sign.span,
            symbol: Symbol::NONE,
            type_span: self.token.span,
            ty: TypeId::NONE,
        };
        if !self.token.is_name() {
            return self.parse_datatype(draft);
        }
        let token = self.advance();
        draft.ty = self.root_type(token);
        self.after_datatype(draft)
    }

    /// A type that a referenced item may have: of the root dict, or a primitive.
    fn root_type(&mut self, token: Token) -> TypeId {
        let symbol = self.intern_token_name(token);
        if let Some(&ty) = self.layout.found_types.get(&(ItemId::ROOT.0, symbol.0)) {
            return ty;
        }
        let used = self.used_dims;
        match self.find_type(token) {
            Some(ty) if ty.is_primitive() => ty,
            Some(_) => {
                self.used_dims = used;
                let name = self.layout.names.resolve(symbol);
                let message = format!("type `{name}` is not of the root dict, as that of a referenced item must be");
                self.report_error(DiagnosticCode::E315.to_diagnostic(token.span, message));
                TypeId::NONE
            }
            None => {
                self.unknown_type(token);
                TypeId::NONE
            }
        }
    }
}
