//! The grammar of 2026: one function for each production that it does not share.

use super::{Code, Draft, Frame, ItemId, ItemKind, Owner, Parse, Parser, T, Token, TypeId};
use crate::layout::interner::Symbol;
use crate::layout::model::{Data, Reference};
use crate::layout::spec_decisions;

impl Parser<'_> {
    /// dict_element = NAME … | '..' | '/' | '&' ref_item
    pub(super) fn dict_element_2026(&mut self, first: bool) -> Parse {
        match self.token.kind {
            T::Symbol | T::Quoted => self.named_element_2026(),
            T::Ampersand => self.ref_item(),
            // The opening of a 2025 layout is no stray character.
            T::BadPrefix if first => {
                let message = format!("expected a dict item, found {}", self.shown(self.token));
                self.fail(Code::E201.at(self.token.span, message).hint("2025 dialect?"))
            }
            _ => self.expected(Code::E201, "a dict item", self.item_hint_2026(first)),
        }
    }

    fn item_hint_2026(&self, first: bool) -> &'static str {
        match self.token.kind {
            T::OpenBracket => "2026 shapes use ( )",
            T::Comma => "no commas between dict items",
            T::OpenBrace | T::Minus => "2025 dialect?",
            T::Prim if first => "2025 dialect?",
            T::Star => "repetition with `*` belongs to the dialect of 2025; use `%0`",
            T::Percent => "the alignment of a type goes inside the braces: `{: T %8}`",
            T::Integer | T::At => "",
            _ => "an item begins with a name, `..`, `/` or `&`",
        }
    }

    /// NAME ( ':' data | '/' | '[' list_body? ']' | '{' struct_body? '}' | '=' param )
    fn named_element_2026(&mut self) -> Parse {
        let (name, symbol) = self.item_name();
        match self.token.kind {
            T::Colon => self.data_item(Owner::Dict, name, symbol),
            T::Equal => self.param_item(name, symbol),
            T::Slash => {
                self.bump();
                self.open_dict(name, symbol)
            }
            T::OpenBracket => {
                let list = self.named_list(name, symbol)?;
                let open = self.bump();
                self.open_list(list, open.span, false)
            }
            T::OpenBrace => self.begin_type(name, symbol),
            _ => {
                let hint = if self.at(T::OpenParen) { "a shape follows the datatype: `name: f8(3)`" } else { "" };
                self.expected(Code::E202, "one of `:`, `=`, `/`, `[` or `{` after a name", hint)
            }
        }
    }

    // Structs.

    /// struct_body = ':' datatype shape? rfilter? placement? | ( NAME ':' datatype shape? placement? )+
    pub(super) fn member_2026(&mut self) -> Parse {
        let (is_alias, is_first) = match self.frames.last() {
            Some(Frame::Struct(open)) => (open.alias, open.members.is_empty()),
            _ => (false, false),
        };
        match self.token.kind {
            T::CloseBrace => self.close_struct(),
            T::Colon if is_alias && is_first => {
                let colon = self.bump();
                let draft = self.begin_item(Owner::Member, colon, Symbol::NONE);
                self.aim(self.noted(draft));
                self.datatype(draft)
            }
            T::Symbol | T::Quoted if !is_alias => {
                let name = self.bump();
                self.hold();
                let symbol = self.symbol(name);
                self.named = symbol;
                if !self.at(T::Colon) {
                    let hint =
                        if self.at(T::Equal) { "structs of 2026 hold no parameters; data is written `name: type`" } else { "" };
                    return self.expected(Code::E207, "`:` after the name of a member", hint);
                }
                self.bump();
                let draft = self.begin_item(Owner::Member, name, symbol);
                self.datatype(draft)
            }
            _ => {
                let hint = match self.token.kind {
                    T::OpenBracket => "2026 shapes use ( )",
                    T::Comma => "no commas between members",
                    _ => "",
                };
                let what = if is_alias { "`}` after a typedef" } else { "a member of the struct, or `}`" };
                self.expected(Code::E207, what, hint)
            }
        }
    }

    // Lists.

    /// list_element = data | INTEGER? '[' … ']' | INTEGER? '/' dict_body | INTEGER? placement | ('&' ref_item)+
    pub(super) fn list_2026(&mut self) -> Parse {
        if !self.list_goes_on()? {
            return Ok(());
        }
        match self.token.kind {
            T::Integer => {
                let index = self.bump();
                match self.token.kind {
                    T::OpenBracket | T::Slash => self.extend_element(index),
                    T::At | T::Percent => self.copy_element(Some(index)),
                    _ => self.expected(Code::E206, "one of `[`, `/`, `@` or `%` after the index of a list element", ""),
                }
            }
            T::At | T::Percent => self.copy_element(None),
            T::Slash => self.dict_element(),
            T::OpenBracket => self.list_element(),
            T::Ampersand => self.ref_element(),
            T::Prim | T::Symbol | T::Quoted | T::OpenBrace => self.data_element(),
            _ => self.expected(Code::E206, "a list element or `]`", self.bracket_hint()),
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
    fn extend_element(&mut self, index: Token) -> Parse {
        let wanted = if self.at(T::OpenBracket) { ItemKind::List } else { ItemKind::Dict };
        let element = match self.element_at(index.value) {
            Some(element) if self.layout.item(element).kind == wanted => element,
            found => {
                let kind = if wanted == ItemKind::List { "list" } else { "dict" };
                let message = match found {
                    Some(other) => format!("element {} is {}, not a {kind}", index.value, self.kind_name(other)),
                    None => format!("the list has no element {}", index.value),
                };
                return self.fail(Code::E311.at(index.span, message));
            }
        };
        // The index is the first token of the element (section 9.1).
        self.aim(element);
        let open = self.bump();
        let step = self.layout.steps.len() as u32;
        self.begin_at(element, step);
        if open.kind == T::OpenBracket {
            self.open_list(element, open.span, false)
        } else {
            self.open_element_dict(element, open.span, false)
        }
    }

    /// Parses i@a, i%n, @a, %n: a copy of an element that is data, with a new placement.
    fn copy_element(&mut self, index: Option<Token>) -> Parse {
        let sign = self.token;
        let span = index.map_or(sign.span, |token| token.span);
        let found = self.element_at(index.map_or(-1, |token| token.value));
        let data = match found.filter(|&element| self.is_data(element)) {
            Some(element) => self.layout.data_of(element).cloned(),
            None => None,
        };
        let Some(data) = data else {
            let (code, message) = match (found, index) {
                (None, None) => (Code::E312, "the list has no element yet that could be repeated".to_owned()),
                (None, Some(token)) => (Code::E311, format!("the list has no element {}", token.value)),
                (Some(other), _) => (Code::E311, format!("only data can be repeated, this element is {}", self.kind_name(other))),
            };
            return self.fail(code.at(span, message));
        };
        let item = self.begin_element(span);
        match index {
            Some(_) => self.aim(item),
            None => self.aim_after_next(item),
        }
        let placed = self.placement_of()?;
        let filter = if spec_decisions::COPY_KEEPS_FILTER { data.filter } else { 0 };
        let draft = Draft { owner: Owner::Element, item, name: span, symbol: Symbol::NONE, type_span: span, ty: data.what.ty };
        let copy = Data { placement: placed.placement, filter, ..data };
        self.layout.copies.insert(item, index.map(|token| token.value));
        self.push_data(draft, copy, placed);
        Ok(())
    }

    // Referenced items.

    /// ('&' ref_item)+ as one element of a list, which takes no index.
    fn ref_element(&mut self) -> Parse {
        let step = self.layout.steps.len() as u32;
        self.begin_at(ItemId::NONE, step);
        while self.at(T::Ampersand) {
            self.ref_item()?;
        }
        Ok(())
    }

    /// ref_item = INTEGER* ref_datatype ref_shape? placement?
    fn ref_item(&mut self) -> Parse {
        let sign = self.bump();
        let item = self.layout.add_item(ItemKind::Pending, Symbol::NONE, ItemId::ROOT, sign.span);
        self.aim(item);
        if let Some(Frame::List { element, .. }) = self.frames.last_mut() {
            *element = item;
        }
        let mut ids = Vec::new();
        while let Some(token) = self.eat(T::Integer) {
            ids.push(token.value);
        }
        self.layout.references.push(Reference { item, ids });
        let mut draft = Draft {
            owner: Owner::Reference,
            item,
            name: sign.span,
            symbol: Symbol::NONE,
            type_span: self.token.span,
            ty: TypeId::NONE,
        };
        if !self.token.is_name() {
            return self.datatype(draft);
        }
        let token = self.bump();
        draft.ty = self.root_type(token);
        self.after_datatype(draft)
    }

    /// A type that a referenced item may have: of the root dict, or a primitive.
    fn root_type(&mut self, token: Token) -> TypeId {
        let symbol = self.symbol(token);
        if let Some(&ty) = self.layout.found_types.get(&(ItemId::ROOT.0, symbol.0)) {
            return ty;
        }
        let used = self.used;
        match self.find_type(token) {
            Some(ty) if ty.is_primitive() => ty,
            Some(_) => {
                self.used = used;
                let name = self.layout.names.text(symbol);
                let message = format!("type `{name}` is not of the root dict, as that of a referenced item must be");
                self.report(Code::E315.at(token.span, message));
                TypeId::NONE
            }
            None => {
                self.unknown_type(token);
                TypeId::NONE
            }
        }
    }
}
