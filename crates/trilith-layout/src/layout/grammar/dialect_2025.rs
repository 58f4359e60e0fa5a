//! The grammar of 2025: one function for each production that it does not share.

use super::scope::Found;
use super::{Code, Frame, ItemId, ItemKind, Owner, Parse, Parser, Span, Step, T, Token, Type, TypeId, TypeKind};
use crate::layout::interner::Symbol;
use crate::layout::model::{MemberKind, Run};
use crate::layout::sizes;

impl Parser<'_> {
    /// dict_item = NAME … | '..' | '/'    and what may be in its place
    pub(super) fn dict_item_2025(&mut self, first: bool, is_element: bool) -> Parse {
        match self.token.kind {
            T::Symbol | T::Quoted => self.named_item_2025(),
            T::Minus if is_element => {
                self.expected(Code::E206, "an item, `,` or `]`", "a list cannot be open at the end of the layout")
            }
            T::Minus => self.terminator(),
            T::OpenBrace if is_element => self.expected(Code::E206, "an item, `,` or `]`", ""),
            T::OpenBrace if first => self.open_summary(),
            T::OpenBrace => {
                let message = "the summary block comes before all other declarations";
                self.fail(Code::E209.at(self.token.span, message).hint("a named type is written `name {`"))
            }
            _ => self.expected(Code::E201, "a dict item", self.item_hint_2025()),
        }
    }

    fn item_hint_2025(&self) -> &'static str {
        match self.token.kind {
            T::OpenParen => "2025 shapes use [ ]",
            T::Comma => "no commas between dict items",
            T::Ampersand => "referenced items (`&`) belong to the dialect of 2026",
            T::Into | T::From => "filters belong to the dialect of 2026",
            T::Integer | T::At | T::Percent => "",
            T::OpenBracket => "the shape comes after the datatype, before `@` and `%`",
            T::Star => "`*` repeats a list: `name [ … ]*n`",
            _ => "an item begins with a name, `..` or `/`",
        }
    }

    /// NAME '=' data | NAME '='? list | NAME list_repeat | NAME (':' | ':=') param | NAME '/' | NAME '{' … '}'
    fn named_item_2025(&mut self) -> Parse {
        let (name, symbol) = self.item_name();
        match self.token.kind {
            T::Equal => {
                self.bump();
                if self.at(T::OpenBracket) {
                    let list = self.named_list(name, symbol)?;
                    let open = self.bump();
                    return self.open_list(list, open.span, false);
                }
                let draft = self.begin_item(Owner::Dict, name, symbol);
                self.datatype(draft)
            }
            T::Colon | T::ColonEqual => self.param_item(name, symbol),
            T::Slash => {
                self.bump();
                self.open_dict(name, symbol)
            }
            T::OpenBracket => self.list_or_repeat(name, symbol),
            T::OpenBrace => self.begin_type(name, symbol),
            _ => {
                let hint = if self.at(T::OpenParen) { "2025 shapes use [ ]" } else { "" };
                self.expected(Code::E202, "one of `=`, `:`, `/`, `[` or `{` after a name", hint)
            }
        }
    }

    /// Section 2.2: `NAME [ X ]` repeats if X is an integer or the name of a parameter only.
    fn list_or_repeat(&mut self, name: Token, symbol: Symbol) -> Parse {
        let open = self.token.span;
        let next = self.peek();
        if next.kind == T::Integer {
            self.bump();
            return self.list_repeat(name, symbol, open);
        }
        if next.is_name() && self.second_is_close() {
            let word = self.symbol(next);
            let is_param = matches!(self.find_param(word), Found::Param(_));
            if !self.is_type(next) {
                if !is_param {
                    self.bump();
                    let token = self.bump();
                    self.unclosed.push(open);
                    self.unknown_type(token);
                    return Err(super::Stop);
                }
                self.bump();
                return self.list_repeat(name, symbol, open);
            }
            if is_param {
                let shown = self.layout.names.text(word).to_owned();
                let message = format!("`{shown}` is a type and a parameter: taken as the type");
                self.warn(Code::W5, next.span, message);
            }
        }
        let list = self.named_list(name, symbol)?;
        self.bump();
        self.open_list(list, open, false)
    }

    /// Returns `true` if the bracket here is followed by one token and `]`.
    fn second_is_close(&self) -> bool {
        let mut ahead = self.lexer.fork();
        ahead.next();
        ahead.next().kind == T::CloseBracket
    }

    /// Returns `true` if a name is a type, without using it.
    fn is_type(&mut self, token: Token) -> bool {
        let used = self.used;
        let found = self.find_type(token).is_some();
        self.used = used;
        found
    }

    /// terminator = '-'+, alone on its line: the rest of the text is not looked at.
    fn terminator(&mut self) -> Parse {
        let token = self.token;
        let end = token.span.end as usize;
        let rest = self.text.as_bytes().get(end..).unwrap_or(&[]);
        let blanks = rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        let newline = match rest.get(blanks) {
            None => 0,
            Some(b'\n') => 1,
            Some(b'\r') => 1 + usize::from(rest.get(blanks + 1) == Some(&b'\n')),
            Some(_) => {
                let at = (end + blanks) as u32;
                let width = self.text.get(end + blanks..).and_then(|text| text.chars().next()).map_or(1, char::len_utf8) as u32;
                self.bump();
                let message = "the `-` that end a layout must be alone on their line";
                return self.fail(Code::E210.at(Span::new(at, at + width), message));
            }
        };
        self.attach(token.notes as usize);
        self.layout.end = end + blanks + newline;
        self.layout.terminated = true;
        self.finished = true;
        Ok(())
    }

    // The summary block.

    /// summary = '{' member* '}'
    fn open_summary(&mut self) -> Parse {
        let open = self.bump();
        let step = self.layout.steps.len() as u32;
        self.layout.steps.push(Step::Summary { end: step + 1 });
        self.frames.push(Frame::Summary { open: open.span, step, members: Vec::new() });
        Ok(())
    }

    /// member = NAME '=' data | NAME (':' | ':=') param    of the summary: items of the root
    pub(super) fn summary_member(&mut self) -> Parse {
        match self.token.kind {
            T::CloseBrace => {
                self.close_summary();
                Ok(())
            }
            T::Symbol | T::Quoted => self.member_item(Owner::Dict),
            _ => self.expected(Code::E207, "a parameter or data of the summary, or `}`", ""),
        }
    }

    fn close_summary(&mut self) {
        let close = self.bump();
        let Some(Frame::Summary { open, step, members }) = self.frames.pop() else { return };
        let steps = self.layout.steps.len() as u32;
        if let Some(Step::Summary { end }) = self.layout.steps.get_mut(step as usize) {
            *end = steps;
        }
        let item = self.layout.add_item(ItemKind::Summary, Symbol::NONE, ItemId::NONE, Span::new(open.start, close.span.end));
        self.aim(item);
        let (mut align, mut dynamic) = (1, false);
        for member in &members {
            let of = match member.what {
                MemberKind::Data(what) => what.ty,
                MemberKind::Stored(param) => self.layout.param(param).ty,
                MemberKind::Fixed(_) => continue,
            };
            dynamic |= matches!(member.what, MemberKind::Stored(_));
            align = align.max(sizes::member_align(member.placement, self.layout.ty(of).align));
        }
        let run = Run { start: self.layout.members.len() as u32, len: members.len() as u32 };
        self.layout.members.extend(members);
        let id = TypeId(self.layout.types.len() as u32);
        let mut ty = Type { members: run, dynamic, ..Type::new(TypeKind::Struct, align, 1, item) };
        ty.size = sizes::constant_size(&self.layout, &ty);
        self.layout.types.push(ty);
        self.layout.summary = Some(id);
    }

    // Structs.

    /// member* '}'
    pub(super) fn member_2025(&mut self) -> Parse {
        match self.token.kind {
            T::CloseBrace => self.close_struct(),
            T::Symbol | T::Quoted => self.member_item(Owner::Member),
            _ => {
                let hint = match self.token.kind {
                    T::OpenParen => "2025 shapes use [ ]",
                    T::Comma => "no commas between members",
                    _ => "",
                };
                self.expected(Code::E207, "a member of the struct, or `}`", hint)
            }
        }
    }

    /// member = NAME '=' data | NAME (':' | ':=') param
    fn member_item(&mut self, owner: Owner) -> Parse {
        let (name, symbol) = self.item_name();
        match self.token.kind {
            T::Equal => self.data_item(owner, name, symbol),
            T::Colon | T::ColonEqual => self.param_item(name, symbol),
            _ => self.expected(Code::E207, "`=` or `:` after the name of a member", ""),
        }
    }

    // Lists.

    /// list_item = data | '/' dict_body | list
    pub(super) fn list_2025(&mut self) -> Parse {
        if !self.list_goes_on()? {
            return Ok(());
        }
        match self.token.kind {
            T::Slash => self.dict_element(),
            T::OpenBracket => self.list_element(),
            T::Prim | T::Symbol | T::Quoted | T::OpenBrace | T::Integer => self.data_element(),
            _ => self.expected(Code::E206, "a list element or `]`", self.bracket_hint()),
        }
    }
}
