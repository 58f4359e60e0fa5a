//! From tokens to a model: what the grammars of both dialects share.
//!
//! The parser keeps its own stack of open dicts, lists and structs, so that no text can exhaust the
//! machine's. A production that fails reports why and returns [`ParseStopped`]; the parser then skips to the
//! next item that can be made out.

mod attribute;
mod data;
mod declare;
mod hints;
pub(super) use hints::foreign_primitive;
mod dialect_2025;
mod dialect_2026;
mod error_recovery;
mod lists;
mod scope;
mod structs;

use std::collections::{HashMap, HashSet};

use super::diagnostic::DiagnosticCode;
use super::interner::{NameHasher, Symbol};
use super::lexer::{Lexer, Token, TokenKind, unquote_name};
use super::model::DimRun;
use super::model::{
    Annotation, Dialect, Dim, ItemData, ItemId, Layout, LayoutStep, MemberKind, ParamId, Placement, Primitive, StructMember,
    TypeDef, TypeId, TypeKind,
};
use crate::Limits;
use crate::diagnostic::{Diagnostic, Severity};
use crate::error::{Error, Result};
use crate::span::Span;

/// A production failed and said why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ParseStopped;

/// The result of a production.
pub(super) type ParseResult<V = ()> = std::result::Result<V, ParseStopped>;

/// The result of a parse.
pub(super) struct ParseOutcome {
    pub layout: Layout,
    pub diagnostics: Vec<Diagnostic>,
}

/// An item being declared: its number and where it was named.
#[derive(Debug, Clone, Copy)]
pub(super) struct Draft {
    pub owner: TypeOwner,
    pub item: ItemId,
    /// The name, or the first token of an element.
    pub name: Span,
    pub symbol: Symbol,
    /// The datatype token.
    pub type_span: Span,
    pub ty: TypeId,
}

/// The construct that a datatype is parsed for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TypeOwner {
    /// A data array of a dict.
    Dict,
    /// A data element of a list.
    Element,
    /// A member of the struct on top of the stack.
    Member,
    /// A parameter of a dict or of the struct on top of the stack.
    Param,
    /// A referenced item (2026).
    Reference,
    /// A named type.
    Named,
    /// The summary block, or `name : f8` in it.
    Summary,
}

/// A struct whose body is being parsed.
pub(super) struct OpenStruct {
    /// The purpose of its datatype.
    pub draft: Draft,
    /// The item of the type.
    pub item: ItemId,
    pub open: Span,
    pub members: Vec<StructMember>,
    /// Names without a parameter yet.
    pub free_dims: Vec<Symbol>,
    pub free_set: HashSet<Symbol, NameHasher>,
    /// A member `""` that is text without dimension: an error unless this is a typedef.
    pub bare_text: Option<Span>,
    /// `@` of the last data member.
    pub has_placed_member: Option<Span>,
    /// Began with `:` (2026).
    pub alias: bool,
}

/// An open construct.
pub(super) enum Frame {
    Dict {
        current: ItemId,
        /// The root, or the dict that is an element of a list.
        top: ItemId,
        /// Step of the dict, if it is an element of a list.
        step: u32,
        depth: u32,
        open: Span,
    },
    List {
        item: ItemId,
        step: u32,
        open: Span,
        /// An element may be here; otherwise a comma or the end.
        expects: bool,
        /// The first `@` in it.
        placed: Option<Span>,
        /// Elements declared before the bracket.
        before: u32,
        /// The content of the bracket so far.
        holds: StepEffects,
        /// The element being declared or declared last, and its first step.
        element: ItemId,
        from: u32,
        /// The content of that element.
        element_holds: StepEffects,
    },
    Struct(Box<OpenStruct>),
    /// The summary block: its members are items of the root.
    Summary {
        open: Span,
        step: u32,
        members: Vec<StructMember>,
    },
}

/// The effects of some steps of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct StepEffects {
    /// `true` if the steps occupy the stream.
    pub places: bool,
    /// `true` if the steps contain stored parameters, which have to be read.
    pub dynamic: bool,
}

impl StepEffects {
    fn add(&mut self, other: StepEffects) {
        self.places |= other.places;
        self.dynamic |= other.dynamic;
    }
}

/// A dimension as read, before its name is looked up.
#[derive(Debug, Clone, Copy)]
pub(super) enum RawDim {
    Integer(i64),
    Name { symbol: Symbol, suffix: i8, span: Span },
}

/// The placement of an item, and the integer that gives it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ParsedPlacement {
    pub placement: Placement,
    pub span: Span,
}

/// The item that comments belong to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CommentTarget {
    Item(ItemId),
    /// A name was read, but not yet what it names.
    Pending,
}

/// The state of a parse.
pub(super) struct LayoutParser<'t> {
    pub text: &'t str,
    pub dialect: Dialect,
    limits: &'t Limits,
    lexer: Lexer<'t>,
    /// The next token, not taken yet.
    pub token: Token,
    sink: Vec<Diagnostic>,
    pub layout: Layout,
    pub frames: Vec<Frame>,
    target: CommentTarget,
    pending_comments: Vec<Span>,
    notes: Vec<Annotation>,
    notes_taken: usize,
    /// Primitives used without prefix (2025), by number.
    used_dims: u32,
    /// The current item has been reported already.
    reported: bool,
    /// Brackets that the current item opened and did not close.
    pub unclosed: Vec<Span>,
    /// Names of items that failed: not to be reported again where they are used.
    failed: HashSet<Symbol, NameHasher>,
    /// Names not found, for a hint when the whole text is known: which diagnostic, and the name.
    skipped_from: Vec<(usize, Symbol, bool, ItemId)>,
    /// The remaining budget for instances of named types.
    budget: u64,
    /// Items of lists: where the steps of the last declared element begin and end.
    last_element: HashMap<ItemId, (u32, u32, StepEffects), NameHasher>,
    /// Declared elements of lists (2026).
    elements: HashMap<ItemId, Vec<ItemId>, NameHasher>,
    /// The dimensions of the shape read last.
    shape: Vec<RawDim>,
    /// Runs of dimensions, by hash: equal shapes are kept once.
    shapes: [DimRun; 64],
    /// The name of the item being parsed.
    comment_target: Symbol,
    pub has_items: bool,
    errors: usize,
    stop_reason: Option<Error>,
    finished: bool,
}

/// Number of items after which the size of the rest is estimated.
const ESTIMATE_AFTER_ITEMS: usize = 4096;

/// Number of errors after which parsing ends.
const MAX_REPORTS: usize = 1000;

/// Parses `text` in `dialect`.
///
/// # Errors
/// Returns [`ErrorKind::Limit`](crate::ErrorKind::Limit) if a limit would be exceeded. Errors in the text are in
/// the diagnostics.
pub(super) fn parse_layout_text(text: &str, dialect: Dialect, limits: &Limits) -> Result<ParseOutcome> {
    let mut parser = LayoutParser::new(text, dialect, limits);
    parser.run()?;
    parser.finish()
}

impl<'t> LayoutParser<'t> {
    fn new(text: &'t str, dialect: Dialect, limits: &'t Limits) -> Self {
        let mut lexer = Lexer::new(text, dialect);
        let token = lexer.next_token();
        Self {
            text,
            dialect,
            limits,
            lexer,
            token,
            sink: Vec::new(),
            layout: Layout::new_empty(dialect, text.to_owned()),
            frames: vec![Frame::Dict {
                current: ItemId::ROOT,
                top: ItemId::ROOT,
                step: u32::MAX,
                depth: 0,
                open: Span::default(),
            }],
            target: CommentTarget::Item(ItemId::ROOT),
            pending_comments: Vec::new(),
            notes: Vec::new(),
            notes_taken: 0,
            used_dims: 0,
            reported: false,
            unclosed: Vec::new(),
            failed: HashSet::default(),
            skipped_from: Vec::new(),
            budget: limits.nodes,
            last_element: HashMap::default(),
            elements: HashMap::default(),
            shape: Vec::new(),
            shapes: [DimRun::default(); 64],
            comment_target: Symbol::NONE,
            has_items: false,
            errors: 0,
            stop_reason: None,
            finished: false,
        }
    }

    /// layout = ORDER? summary? dict_body (terminator | EOF)
    fn run(&mut self) -> Result<()> {
        if self.token.kind == TokenKind::Order {
            let token = self.advance();
            self.layout.order = super::lexer::byteorder_of(token.span.slice(self.text).bytes().next().unwrap_or(0));
        }
        // Place of the last error: a second one at the same place must not be met a third time.
        let mut stuck = u32::MAX;
        let mut foreseen = false;
        while !self.finished {
            self.reported = false;
            self.unclosed.clear();
            self.comment_target = Symbol::NONE;
            let done = self.parse_open_item();
            if self.reported && self.comment_target != Symbol::NONE {
                self.failed.insert(self.comment_target);
            }
            if done == Err(ParseStopped) {
                if let Some(error) = self.stop_reason.take() {
                    return Err(error);
                }
                if std::mem::replace(&mut stuck, self.token.span.start) == self.token.span.start {
                    self.advance();
                }
                self.recover();
            } else if self.reported && !self.finished && !self.can_continue() {
                // The rest of a failed item is not reported again.
                self.recover();
            }
            if self.errors >= MAX_REPORTS {
                break;
            }
            if self.layout.items.len() >= ESTIMATE_AFTER_ITEMS && !std::mem::replace(&mut foreseen, true) {
                self.reserve_estimate();
            }
        }
        Ok(())
    }

    /// Makes room for as many items as the text seems to hold, so that large tables are not copied
    /// again and again while they grow.
    fn reserve_estimate(&mut self) {
        const UPPER_BOUND: usize = 4 << 20;
        let read = (self.token.span.start as usize).max(1);
        let more = |have: usize| {
            let all = (have as u128 * self.text.len() as u128 * 33 / 32 / read as u128) as usize;
            all.saturating_sub(have).min(UPPER_BOUND)
        };
        self.layout.reserve(more);
    }

    /// Parses one item of the innermost open construct.
    fn parse_open_item(&mut self) -> ParseResult {
        match (self.frames.last(), self.dialect) {
            (Some(Frame::Dict { .. }) | None, _) => self.dict_item(),
            (Some(Frame::List { .. }), Dialect::D2025) => self.list_2025(),
            (Some(Frame::List { .. }), Dialect::D2026) => self.list_2026(),
            (Some(Frame::Struct(_)), Dialect::D2025) => self.member_2025(),
            (Some(Frame::Struct(_)), Dialect::D2026) => self.member_2026(),
            (Some(Frame::Summary { .. }), _) => self.summary_member(),
        }
    }

    // Tokens and comments.

    /// Takes the next token; the comments before it belong to the target in force.
    pub(super) fn advance(&mut self) -> Token {
        let token = self.token;
        self.attach_comments(token.notes as usize);
        self.token = self.lexer.next_token();
        token
    }

    fn attach_comments(&mut self, upto: usize) {
        while self.notes_taken < upto {
            let span = self.lexer.notes[self.notes_taken];
            self.notes_taken += 1;
            match self.target {
                CommentTarget::Pending => self.pending_comments.push(span),
                CommentTarget::Item(item) => self.attach_comment(item, span),
            }
        }
    }

    /// Comments belong to `item` from here on, those that waited too.
    pub(super) fn set_comment_target(&mut self, item: ItemId) {
        self.target = CommentTarget::Item(item);
        for span in std::mem::take(&mut self.pending_comments) {
            self.attach_comment(item, span);
        }
    }

    /// Comments wait until it is known what the name just taken names.
    fn defer_comments(&mut self) {
        self.target = CommentTarget::Pending;
        self.pending_comments.clear();
    }

    /// The token after the next.
    pub(super) fn peek_token(&self) -> Token {
        self.lexer.peek_token()
    }

    pub(super) fn is_at_kind(&self, kind: TokenKind) -> bool {
        self.token.kind == kind
    }

    /// Takes the next token if it is of this kind.
    pub(super) fn consume_if(&mut self, kind: TokenKind) -> Option<Token> {
        self.is_at_kind(kind).then(|| self.advance())
    }

    /// The number of the name that a token spells.
    pub(super) fn intern_token_name(&mut self, token: Token) -> Symbol {
        let name = unquote_name(token.span.slice(self.text));
        self.layout.names.intern(&name)
    }

    /// Returns the form of a token in messages.
    pub(super) fn display_token(&self, token: Token) -> String {
        if token.kind == TokenKind::End {
            return "the end of the layout".into();
        }
        let text: String = token.span.slice(self.text).chars().take(40).collect();
        format!("`{text}`")
    }

    // Errors.

    /// Reports an error of the current item, unless it has one; parsing goes on.
    pub(super) fn report_error(&mut self, diagnostic: Diagnostic) {
        if !std::mem::replace(&mut self.reported, true) {
            self.errors += 1;
            self.sink.push(diagnostic);
        }
    }

    /// Reports and gives the current item up.
    pub(super) fn fail_item<V>(&mut self, diagnostic: Diagnostic) -> ParseResult<V> {
        self.report_error(diagnostic);
        Err(ParseStopped)
    }

    pub(super) fn report_warning(&mut self, code: DiagnosticCode, span: Span, message: impl Into<String>) {
        if self.sink.len() < MAX_REPORTS * 2 {
            self.sink.push(code.to_diagnostic(span, message));
        }
    }

    /// The next token does not fit: what was expected there, under the code of the construct, unless
    /// the token is not a token at all or the text is at its end.
    pub(super) fn fail_unexpected_token<V>(&mut self, code: DiagnosticCode, what: &str, hint: &str) -> ParseResult<V> {
        let token = self.token;
        let found = self.display_token(token);
        let lexical = |code: DiagnosticCode, message: String| code.to_diagnostic(token.span, message);
        let mut diagnostic = match token.kind {
            TokenKind::BadQuote => {
                let open = Span::new(token.span.start, token.span.start + 1);
                DiagnosticCode::E101.to_diagnostic(open, "the quote of this name is never closed")
            }
            TokenKind::BadNumber => lexical(DiagnosticCode::E103, bad_number(token.span.slice(self.text)))
                .hint(number_hint(token.span.slice(self.text))),
            TokenKind::BadPrefix => lexical(DiagnosticCode::E104, format!("{found} is not followed by a primitive datatype"))
                .hint("a prefixed datatype is written like `<f8`, without blanks; that of a whole layout is first in it"),
            TokenKind::BadCharacter => {
                lexical(DiagnosticCode::E102, format!("illegal character {}", self.display_character(token)))
            }
            TokenKind::Question if code != DiagnosticCode::E204 => lexical(DiagnosticCode::E102, "illegal character `?`".into()),
            TokenKind::End => {
                let mut message = format!("end of the layout, expected {what}");
                if let Some(open) = self.innermost_open() {
                    let (line, column) = crate::span::line_column(self.text, open.start as usize);
                    message.push_str(&format!("; `{}` at {line}:{column} is still open", open.slice(self.text)));
                }
                lexical(DiagnosticCode::E208, message)
            }
            _ => lexical(code, format!("expected {what}, found {found}")),
        };
        if diagnostic.hint.is_none() && diagnostic.code == code.name() {
            diagnostic = diagnostic.hint(hint);
        }
        if diagnostic.hint.is_none() {
            diagnostic = diagnostic.hint(self.token_hint(token, code));
        }
        self.fail_item(diagnostic)
    }

    fn display_character(&self, token: Token) -> String {
        match token.span.slice(self.text).chars().next() {
            Some(c) if c.is_control() || c.is_whitespace() => format!("U+{:04X}", c as u32),
            Some(c) => format!("`{c}`"),
            None => "of an impossible kind".into(),
        }
    }

    fn innermost_open(&self) -> Option<Span> {
        self.unclosed.last().copied().or_else(|| {
            self.frames.iter().rev().find_map(|frame| match frame {
                Frame::Dict { open, .. } => (!open.is_empty()).then_some(*open),
                Frame::List { open, .. } | Frame::Summary { open, .. } => Some(*open),
                Frame::Struct(frame) => Some(frame.open),
            })
        })
    }

    /// Refuses to nest deeper than the limit.
    pub(super) fn charge_depth(&mut self, extra: u32) -> ParseResult {
        let depth = self.frames.len() + extra as usize;
        // Types of this depth are walked by recursion; no limit allows more than this.
        const UPPER_BOUND: u64 = 1000;
        let limit = self.limits.depth.min(UPPER_BOUND);
        if depth as u64 <= limit {
            return Ok(());
        }
        let at = crate::span::line_column(self.text, self.token.span.start as usize);
        self.stop_reason =
            Some(Limits::exceeded_error("depth", limit, format_args!("the layout nests {depth} deep")).at_text(at.0, at.1));
        Err(ParseStopped)
    }

    /// Pays for `work` that can be much more than the text is long.
    pub(super) fn charge_work(&mut self, work: u64) -> ParseResult {
        match self.budget.checked_sub(work) {
            Some(rest) => {
                self.budget = rest;
                Ok(())
            }
            None => {
                let what = "instances of named types have too many members";
                self.stop_reason = Some(Limits::exceeded_error("nodes", self.limits.nodes, what));
                Err(ParseStopped)
            }
        }
    }

    fn finish(mut self) -> Result<ParseOutcome> {
        self.attach_comments(self.token.notes as usize);
        self.explain_skipped();
        let mut layout = self.layout;
        layout.notes = self.notes;
        super::sort_annotations::sort_annotations(&mut layout.notes);
        self.sink.sort_by_key(|diagnostic| (diagnostic.span.start, (diagnostic.severity == Severity::Warning)));
        locate_diagnostics(&mut self.sink, self.text);
        if self.sink.iter().all(|diagnostic| diagnostic.is_harmless) {
            let broken = self
                .sink
                .iter()
                .find(|d| [DiagnosticCode::W1, DiagnosticCode::W2, DiagnosticCode::W3].iter().any(|code| code.name() == d.code));
            layout.template_obstacle = match (layout.summary, broken) {
                (Some(_), broken) => broken.map(|diagnostic| diagnostic.span),
                (None, _) => Some(Span::default()),
            };
            layout.plan = super::static_facts::StaticFacts::compute(&layout);
        }
        Ok(ParseOutcome { layout, diagnostics: self.sink })
    }
}

/// Fills in lines and columns of diagnostics that are sorted by position, in one pass over the text.
pub(super) fn locate_diagnostics(diagnostics: &mut [Diagnostic], text: &str) {
    let (mut line, mut start, mut at) = (1u32, 0usize, 0usize);
    let bytes = text.as_bytes();
    for diagnostic in diagnostics {
        let upto = (diagnostic.span.start as usize).min(bytes.len());
        for n in memchr::memchr2_iter(b'\n', b'\r', bytes.get(at..upto).unwrap_or(&[])) {
            let n = at + n;
            if bytes[n] == b'\r' && bytes.get(n + 1) == Some(&b'\n') {
                continue;
            }
            line = line.saturating_add(1);
            start = n + 1;
        }
        at = at.max(upto);
        let head = bytes.get(start..upto).unwrap_or(&[]);
        let column = head.iter().filter(|byte| (**byte & 0xc0) != 0x80).count() as u32;
        (diagnostic.line, diagnostic.column) = (line, column + 1);
    }
}

fn bad_number(text: &str) -> String {
    let digits = text.trim_start_matches(['+', '-']);
    if digits.bytes().all(|b| b.is_ascii_digit()) {
        if digits.starts_with('0') {
            return format!("the integer `{text}` has leading zeros");
        }
        let shown: String = text.chars().take(40).collect();
        return format!("the integer `{shown}` does not fit 64 bits");
    }
    let shown: String = text.chars().take(40).collect();
    format!("`{shown}` is not a number")
}

fn number_hint(text: &str) -> &'static str {
    let digits = text.trim_start_matches(['+', '-']);
    if digits.starts_with('0') && digits.len() > 1 && digits.bytes().all(|b| b.is_ascii_digit()) {
        "write it without the zeros; `0x` begins a hexadecimal number"
    } else {
        ""
    }
}
