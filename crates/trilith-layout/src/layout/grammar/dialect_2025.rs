//! The grammar of 2025: one function for each production that it does not share.

use super::scope::DimName;
use super::{
    DiagnosticCode, Frame, ItemData, ItemId, LayoutParser, LayoutStep, ParseResult, Span, Token, TokenKind, TypeDef, TypeId,
    TypeKind, TypeOwner,
};
use crate::layout::interner::Symbol;
use crate::layout::model::{DimRun, ElementSlot, MemberKind};
use crate::layout::sizes;

impl LayoutParser<'_> {
    /// dict_item = NAME … | '..' | '/'    and what may be in its place
    pub(super) fn dict_item_2025(&mut self, first: bool, is_element: bool) -> ParseResult {
        match self.token.kind {
            TokenKind::Symbol | TokenKind::Quoted => self.named_item_2025(),
            TokenKind::Minus if is_element => self.fail_unexpected_token(
                DiagnosticCode::E206,
                "an item, `,` or `]`",
                "a list cannot be open at the end of the layout",
            ),
            TokenKind::Minus => self.parse_terminator(),
            TokenKind::OpenBrace if is_element => self.fail_unexpected_token(DiagnosticCode::E206, "an item, `,` or `]`", ""),
            TokenKind::OpenBrace if first => self.open_summary(),
            TokenKind::OpenBrace => {
                let message = "the summary block comes before all other declarations";
                self.fail_item(
                    DiagnosticCode::E209.to_diagnostic(self.token.span, message).hint("a named type is written `name {`"),
                )
            }
            _ => self.fail_unexpected_token(DiagnosticCode::E201, "a dict item", self.item_hint_2025()),
        }
    }

    fn item_hint_2025(&self) -> &'static str {
        match self.token.kind {
            TokenKind::OpenParen => "2025 shapes use [ ]",
            TokenKind::Comma => "no commas between dict items",
            TokenKind::Ampersand => "referenced items (`&`) belong to the dialect of 2026",
            TokenKind::ArrowRight | TokenKind::ArrowLeft => "filters belong to the dialect of 2026",
            TokenKind::Integer | TokenKind::At | TokenKind::Percent => "",
            TokenKind::OpenBracket => "the shape comes after the datatype, before `@` and `%`",
            TokenKind::Star => "`*` repeats a list: `name [ … ]*n`",
            _ => "an item begins with a name, `..` or `/`",
        }
    }

    /// NAME '=' data | NAME '='? list | NAME list_repeat | NAME (':' | ':=') param | NAME '/' | NAME '{' … '}'
    fn named_item_2025(&mut self) -> ParseResult {
        let (name, symbol) = self.item_name();
        match self.token.kind {
            TokenKind::Equal => {
                self.advance();
                if self.is_at_kind(TokenKind::OpenBracket) {
                    let list = self.named_list(name, symbol)?;
                    let open = self.advance();
                    return self.open_list(list, open.span, ElementSlot::Existing);
                }
                let draft = self.begin_item(TypeOwner::Dict, name, symbol);
                self.parse_datatype(draft)
            }
            TokenKind::Colon | TokenKind::ColonEqual => self.param_item(name, symbol),
            TokenKind::Slash => {
                self.advance();
                self.open_dict(name, symbol)
            }
            TokenKind::OpenBracket => self.list_or_repeat(name, symbol),
            TokenKind::OpenBrace => self.begin_type(name, symbol),
            _ => {
                let hint = if self.is_at_kind(TokenKind::OpenParen) { "2025 shapes use [ ]" } else { "" };
                self.fail_unexpected_token(DiagnosticCode::E202, "one of `=`, `:`, `/`, `[` or `{` after a name", hint)
            }
        }
    }

    /// Section 2.2: `NAME [ X ]` repeats if X is an integer or the name of a parameter only.
    fn list_or_repeat(&mut self, name: Token, symbol: Symbol) -> ParseResult {
        let open = self.token.span;
        let next = self.peek_token();
        if next.kind == TokenKind::Integer {
            self.advance();
            return self.list_repeat(name, symbol, open);
        }
        if next.is_name() && self.second_is_close() {
            let word = self.intern_token_name(next);
            let is_param = matches!(self.find_param(word), DimName::Param(_));
            if !self.is_type(next) {
                if !is_param {
                    self.advance();
                    let token = self.advance();
                    self.unclosed.push(open);
                    self.unknown_type(token);
                    return Err(super::ParseStopped);
                }
                self.advance();
                return self.list_repeat(name, symbol, open);
            }
            if is_param {
                let shown = self.layout.names.resolve(word).to_owned();
                let message = format!("`{shown}` is a type and a parameter: taken as the type");
                self.report_warning(DiagnosticCode::W5, next.span, message);
            }
        }
        let list = self.named_list(name, symbol)?;
        self.advance();
        self.open_list(list, open, ElementSlot::Existing)
    }

    /// Returns `true` if the bracket here is followed by one token and `]`.
    fn second_is_close(&self) -> bool {
        let mut ahead = self.lexer.fork();
        ahead.next_token();
        ahead.next_token().kind == TokenKind::CloseBracket
    }

    /// Returns `true` if a name is a type, without using it.
    fn is_type(&mut self, token: Token) -> bool {
        let used = self.used_dims;
        let found = self.find_type(token).is_some();
        self.used_dims = used;
        found
    }

    /// terminator = '-'+, alone on its line: the rest of the text is not looked at.
    fn parse_terminator(&mut self) -> ParseResult {
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
                self.advance();
                let message = "the `-` that end a layout must be alone on their line";
                return self.fail_item(DiagnosticCode::E210.to_diagnostic(Span::new(at, at + width), message));
            }
        };
        self.attach_comments(token.notes as usize);
        self.layout.end = end + blanks + newline;
        self.layout.terminated = true;
        self.finished = true;
        Ok(())
    }

    // The summary block.

    /// summary = '{' member* '}'
    fn open_summary(&mut self) -> ParseResult {
        let open = self.advance();
        let step = self.layout.steps.len() as u32;
        self.layout.steps.push(LayoutStep::Summary { end: step + 1 });
        self.frames.push(Frame::Summary { open: open.span, step, members: Vec::new() });
        Ok(())
    }

    /// member = NAME '=' data | NAME (':' | ':=') param    of the summary: items of the root
    pub(super) fn summary_member(&mut self) -> ParseResult {
        match self.token.kind {
            TokenKind::CloseBrace => {
                self.close_summary();
                Ok(())
            }
            TokenKind::Symbol | TokenKind::Quoted => self.member_item(TypeOwner::Dict),
            _ => self.fail_unexpected_token(DiagnosticCode::E207, "a parameter or data of the summary, or `}`", ""),
        }
    }

    fn close_summary(&mut self) {
        let close = self.advance();
        let Some(Frame::Summary { open, step, members }) = self.frames.pop() else { return };
        let steps = self.layout.steps.len() as u32;
        if let Some(LayoutStep::Summary { end }) = self.layout.steps.get_mut(step as usize) {
            *end = steps;
        }
        let item = self.layout.add_item(ItemData::Summary, Symbol::NONE, ItemId::NONE, Span::new(open.start, close.span.end));
        self.set_comment_target(item);
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
        let run = DimRun { start: self.layout.members.len() as u32, len: members.len() as u32 };
        self.layout.members.extend(members);
        let id = TypeId(self.layout.types.len() as u32);
        let mut ty = TypeDef { members: run, dynamic, ..TypeDef::new(TypeKind::Struct, align, 1, item) };
        ty.size = sizes::constant_size(&self.layout, &ty);
        self.layout.types.push(ty);
        self.layout.summary = Some(id);
    }

    // Structs.

    /// member* '}'
    pub(super) fn member_2025(&mut self) -> ParseResult {
        match self.token.kind {
            TokenKind::CloseBrace => self.close_struct(),
            TokenKind::Symbol | TokenKind::Quoted => self.member_item(TypeOwner::Member),
            _ => {
                let hint = match self.token.kind {
                    TokenKind::OpenParen => "2025 shapes use [ ]",
                    TokenKind::Comma => "no commas between members",
                    _ => "",
                };
                self.fail_unexpected_token(DiagnosticCode::E207, "a member of the struct, or `}`", hint)
            }
        }
    }

    /// member = NAME '=' data | NAME (':' | ':=') param
    fn member_item(&mut self, owner: TypeOwner) -> ParseResult {
        let (name, symbol) = self.item_name();
        match self.token.kind {
            TokenKind::Equal => self.data_item(owner, name, symbol),
            TokenKind::Colon | TokenKind::ColonEqual => self.param_item(name, symbol),
            _ => self.fail_unexpected_token(DiagnosticCode::E207, "`=` or `:` after the name of a member", ""),
        }
    }

    // Lists.

    /// list_item = data | '/' dict_body | list
    pub(super) fn list_2025(&mut self) -> ParseResult {
        if !self.list_continues()? {
            return Ok(());
        }
        match self.token.kind {
            TokenKind::Slash => self.dict_element(),
            TokenKind::OpenBracket => self.list_element(),
            TokenKind::Primitive | TokenKind::Symbol | TokenKind::Quoted | TokenKind::OpenBrace | TokenKind::Integer => {
                self.data_element()
            }
            _ => self.fail_unexpected_token(DiagnosticCode::E206, "a list element or `]`", self.bracket_hint()),
        }
    }
}
