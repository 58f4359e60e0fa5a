//! From tokens to a model: what the grammars of both dialects share.
//!
//! The parser keeps its own stack of open dicts, lists and structs, so that no text can exhaust the
//! machine's. A production that fails reports why and returns [`Stop`]; the parser then skips to the
//! next item that can be made out.

mod attribute;
mod data;
mod declare;
mod hints;
pub(super) use hints::primitive_elsewhere;
mod dialect_2025;
mod dialect_2026;
mod error_recovery;
mod lists;
mod scope;
mod structs;

use std::collections::{HashMap, HashSet};

use super::diagnostic::Code;
use super::interner::{Mixer, Symbol};
use super::lexer::{Lexer, T, Token, unquote};
use super::model::Run;
use super::model::{
    Dialect, Dim, ItemId, ItemKind, Layout, Member, MemberKind, Note, ParamId, Placement, Primitive, Step, Type, TypeId, TypeKind,
};
use crate::Limits;
use crate::diagnostic::{Diagnostic, Severity};
use crate::error::{Error, Result};
use crate::span::Span;

/// A production failed and said why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stop;

/// The result of a production.
pub(super) type Parse<V = ()> = std::result::Result<V, Stop>;

/// The result of a parse.
pub(super) struct Outcome {
    pub layout: Layout,
    pub diagnostics: Vec<Diagnostic>,
}

/// An item being declared: its number and where it was named.
#[derive(Debug, Clone, Copy)]
pub(super) struct Draft {
    pub owner: Owner,
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
pub(super) enum Owner {
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
pub(super) struct Struct {
    /// The purpose of its datatype.
    pub draft: Draft,
    /// The item of the type.
    pub item: ItemId,
    pub open: Span,
    pub members: Vec<Member>,
    /// Names without a parameter yet.
    pub free: Vec<Symbol>,
    pub free_set: HashSet<Symbol, Mixer>,
    /// A member `""` that is text without dimension: an error unless this is a typedef.
    pub bare_text: Option<Span>,
    /// `@` of the last data member.
    pub placed: Option<Span>,
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
        holds: Holds,
        /// The element being declared or declared last, and its first step.
        element: ItemId,
        from: u32,
        /// The content of that element.
        element_holds: Holds,
    },
    Struct(Box<Struct>),
    /// The summary block: its members are items of the root.
    Summary {
        open: Span,
        step: u32,
        members: Vec<Member>,
    },
}

/// The effects of some steps of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Holds {
    /// `true` if the steps occupy the stream.
    pub places: bool,
    /// `true` if the steps contain stored parameters, which have to be read.
    pub dynamic: bool,
}

impl Holds {
    fn add(&mut self, other: Holds) {
        self.places |= other.places;
        self.dynamic |= other.dynamic;
    }
}

/// A dimension as read, before its name is looked up.
#[derive(Debug, Clone, Copy)]
pub(super) enum Written {
    Integer(i64),
    Name { symbol: Symbol, suffix: i8, span: Span },
}

/// The placement of an item, and the integer that gives it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Placed {
    pub placement: Placement,
    pub span: Span,
}

/// The item that comments belong to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Target {
    Item(ItemId),
    /// A name was read, but not yet what it names.
    Wait,
}

/// The state of a parse.
pub(super) struct Parser<'t> {
    pub text: &'t str,
    pub dialect: Dialect,
    limits: &'t Limits,
    lexer: Lexer<'t>,
    /// The next token, not taken yet.
    pub token: Token,
    sink: Vec<Diagnostic>,
    pub layout: Layout,
    pub frames: Vec<Frame>,
    target: Target,
    waiting: Vec<Span>,
    notes: Vec<Note>,
    notes_taken: usize,
    /// Primitives used without prefix (2025), by number.
    used: u32,
    /// The current item has been reported already.
    reported: bool,
    /// Brackets that the current item opened and did not close.
    pub unclosed: Vec<Span>,
    /// Names of items that failed: not to be reported again where they are used.
    failed: HashSet<Symbol, Mixer>,
    /// Names not found, for a hint when the whole text is known: which diagnostic, and the name.
    lost: Vec<(usize, Symbol, bool, ItemId)>,
    /// The remaining budget for instances of named types.
    budget: u64,
    /// Items of lists: where the steps of the last declared element begin and end.
    last_element: HashMap<ItemId, (u32, u32, Holds), Mixer>,
    /// Declared elements of lists (2026).
    elements: HashMap<ItemId, Vec<ItemId>, Mixer>,
    /// The dimensions of the shape read last.
    shape: Vec<Written>,
    /// Runs of dimensions, by hash: equal shapes are kept once.
    shapes: [Run; 64],
    /// The name of the item being parsed.
    named: Symbol,
    pub seen_item: bool,
    errors: usize,
    fatal: Option<Error>,
    finished: bool,
}

/// Number of items after which the size of the rest is estimated.
const FORESEE: usize = 4096;

/// Number of errors after which parsing ends.
const MOST_REPORTS: usize = 1000;

/// Parses `text` in `dialect`.
///
/// # Errors
/// Returns [`ErrorKind::Limit`](crate::ErrorKind::Limit) if a limit would be exceeded. Errors in the text are in
/// the diagnostics.
pub(super) fn parse(text: &str, dialect: Dialect, limits: &Limits) -> Result<Outcome> {
    let mut parser = Parser::new(text, dialect, limits);
    parser.run()?;
    parser.finish()
}

impl<'t> Parser<'t> {
    fn new(text: &'t str, dialect: Dialect, limits: &'t Limits) -> Self {
        let mut lexer = Lexer::new(text, dialect);
        let token = lexer.next();
        Self {
            text,
            dialect,
            limits,
            lexer,
            token,
            sink: Vec::new(),
            layout: Layout::empty(dialect, text.to_owned()),
            frames: vec![Frame::Dict {
                current: ItemId::ROOT,
                top: ItemId::ROOT,
                step: u32::MAX,
                depth: 0,
                open: Span::default(),
            }],
            target: Target::Item(ItemId::ROOT),
            waiting: Vec::new(),
            notes: Vec::new(),
            notes_taken: 0,
            used: 0,
            reported: false,
            unclosed: Vec::new(),
            failed: HashSet::default(),
            lost: Vec::new(),
            budget: limits.nodes,
            last_element: HashMap::default(),
            elements: HashMap::default(),
            shape: Vec::new(),
            shapes: [Run::default(); 64],
            named: Symbol::NONE,
            seen_item: false,
            errors: 0,
            fatal: None,
            finished: false,
        }
    }

    /// layout = ORDER? summary? dict_body (terminator | EOF)
    fn run(&mut self) -> Result<()> {
        if self.token.kind == T::Order {
            let token = self.bump();
            self.layout.order = super::lexer::order_of(token.span.slice(self.text).bytes().next().unwrap_or(0));
        }
        // Place of the last error: a second one at the same place must not be met a third time.
        let mut stuck = u32::MAX;
        let mut foreseen = false;
        while !self.finished {
            self.reported = false;
            self.unclosed.clear();
            self.named = Symbol::NONE;
            let done = self.step();
            if self.reported && self.named != Symbol::NONE {
                self.failed.insert(self.named);
            }
            if done == Err(Stop) {
                if let Some(error) = self.fatal.take() {
                    return Err(error);
                }
                if std::mem::replace(&mut stuck, self.token.span.start) == self.token.span.start {
                    self.bump();
                }
                self.recover();
            } else if self.reported && !self.finished && !self.goes_on() {
                // The rest of a failed item is not reported again.
                self.recover();
            }
            if self.errors >= MOST_REPORTS {
                break;
            }
            if self.layout.items.len() >= FORESEE && !std::mem::replace(&mut foreseen, true) {
                self.foresee();
            }
        }
        Ok(())
    }

    /// Makes room for as many items as the text seems to hold, so that large tables are not copied
    /// again and again while they grow.
    fn foresee(&mut self) {
        const MOST: usize = 4 << 20;
        let read = (self.token.span.start as usize).max(1);
        let more = |have: usize| {
            let all = (have as u128 * self.text.len() as u128 * 33 / 32 / read as u128) as usize;
            all.saturating_sub(have).min(MOST)
        };
        let layout = &mut self.layout;
        layout.items.reserve(more(layout.items.len()));
        layout.data.reserve(more(layout.data.len()));
        layout.dims.reserve(more(layout.dims.len()));
        layout.steps.reserve(more(layout.steps.len()));
        layout.found.reserve(more(layout.names.len()));
        layout.names.reserve(more(layout.names.len()));
    }

    /// Parses one item of the innermost open construct.
    fn step(&mut self) -> Parse {
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
    pub(super) fn bump(&mut self) -> Token {
        let token = self.token;
        self.attach(token.notes as usize);
        self.token = self.lexer.next();
        token
    }

    fn attach(&mut self, upto: usize) {
        while self.notes_taken < upto {
            let span = self.lexer.notes[self.notes_taken];
            self.notes_taken += 1;
            match self.target {
                Target::Wait => self.waiting.push(span),
                Target::Item(item) => self.note(item, span),
            }
        }
    }

    /// Comments belong to `item` from here on, those that waited too.
    pub(super) fn aim(&mut self, item: ItemId) {
        self.target = Target::Item(item);
        for span in std::mem::take(&mut self.waiting) {
            self.note(item, span);
        }
    }

    /// Comments wait until it is known what the name just taken names.
    fn hold(&mut self) {
        self.target = Target::Wait;
        self.waiting.clear();
    }

    /// The token after the next.
    pub(super) fn peek(&self) -> Token {
        self.lexer.peek()
    }

    pub(super) fn at(&self, kind: T) -> bool {
        self.token.kind == kind
    }

    /// Takes the next token if it is of this kind.
    pub(super) fn eat(&mut self, kind: T) -> Option<Token> {
        self.at(kind).then(|| self.bump())
    }

    /// The number of the name that a token spells.
    pub(super) fn symbol(&mut self, token: Token) -> Symbol {
        let name = unquote(token.span.slice(self.text));
        self.layout.names.intern(&name)
    }

    /// Returns the form of a token in messages.
    pub(super) fn shown(&self, token: Token) -> String {
        if token.kind == T::End {
            return "the end of the layout".into();
        }
        let text: String = token.span.slice(self.text).chars().take(40).collect();
        format!("`{text}`")
    }

    // Errors.

    /// Reports an error of the current item, unless it has one; parsing goes on.
    pub(super) fn report(&mut self, diagnostic: Diagnostic) {
        if !std::mem::replace(&mut self.reported, true) {
            self.errors += 1;
            self.sink.push(diagnostic);
        }
    }

    /// Reports and gives the current item up.
    pub(super) fn fail<V>(&mut self, diagnostic: Diagnostic) -> Parse<V> {
        self.report(diagnostic);
        Err(Stop)
    }

    pub(super) fn warn(&mut self, code: Code, span: Span, message: impl Into<String>) {
        if self.sink.len() < MOST_REPORTS * 2 {
            self.sink.push(code.at(span, message));
        }
    }

    /// The next token does not fit: what was expected there, under the code of the construct, unless
    /// the token is no token at all or the text is at its end.
    pub(super) fn expected<V>(&mut self, code: Code, what: &str, hint: &str) -> Parse<V> {
        let token = self.token;
        let found = self.shown(token);
        let lexical = |code: Code, message: String| code.at(token.span, message);
        let mut diagnostic = match token.kind {
            T::BadQuote => {
                let open = Span::new(token.span.start, token.span.start + 1);
                Code::E101.at(open, "the quote of this name is never closed")
            }
            T::BadNumber => {
                lexical(Code::E103, bad_number(token.span.slice(self.text))).hint(number_hint(token.span.slice(self.text)))
            }
            T::BadPrefix => lexical(Code::E104, format!("{found} is not followed by a primitive datatype"))
                .hint("a prefixed datatype is written like `<f8`, without blanks; that of a whole layout is first in it"),
            T::BadCharacter => lexical(Code::E102, format!("illegal character {}", self.character(token))),
            T::Question if code != Code::E204 => lexical(Code::E102, "illegal character `?`".into()),
            T::End => {
                let mut message = format!("end of the layout, expected {what}");
                if let Some(open) = self.innermost_open() {
                    let (line, column) = crate::span::line_column(self.text, open.start as usize);
                    message.push_str(&format!("; `{}` at {line}:{column} is still open", open.slice(self.text)));
                }
                lexical(Code::E208, message)
            }
            _ => lexical(code, format!("expected {what}, found {found}")),
        };
        if diagnostic.hint.is_none() && diagnostic.code == code.name() {
            diagnostic = diagnostic.hint(hint);
        }
        if diagnostic.hint.is_none() {
            diagnostic = diagnostic.hint(self.beginners_hint(token, code));
        }
        self.fail(diagnostic)
    }

    fn character(&self, token: Token) -> String {
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
    pub(super) fn charge_depth(&mut self, extra: u32) -> Parse {
        let depth = self.frames.len() + extra as usize;
        // Types of this depth are walked by recursion; no limit allows more than this.
        const MOST: u64 = 1000;
        let limit = self.limits.depth.min(MOST);
        if depth as u64 <= limit {
            return Ok(());
        }
        let at = crate::span::line_column(self.text, self.token.span.start as usize);
        self.fatal = Some(Limits::exceeded("depth", limit, format_args!("the layout nests {depth} deep")).at_text(at.0, at.1));
        Err(Stop)
    }

    /// Pays for `work` that can be much more than the text is long.
    pub(super) fn charge(&mut self, work: u64) -> Parse {
        match self.budget.checked_sub(work) {
            Some(rest) => {
                self.budget = rest;
                Ok(())
            }
            None => {
                let what = "instances of named types have too many members";
                self.fatal = Some(Limits::exceeded("nodes", self.limits.nodes, what));
                Err(Stop)
            }
        }
    }

    fn finish(mut self) -> Result<Outcome> {
        self.attach(self.token.notes as usize);
        self.explain_lost();
        let mut layout = self.layout;
        layout.notes = self.notes;
        super::sort_annotations::tidy(&mut layout.notes);
        self.sink.sort_by_key(|diagnostic| (diagnostic.span.start, (diagnostic.severity == Severity::Warning)));
        locate(&mut self.sink, self.text);
        if self.sink.iter().all(|diagnostic| diagnostic.is_harmless) {
            let broken = self.sink.iter().find(|d| [Code::W1, Code::W2, Code::W3].iter().any(|code| code.name() == d.code));
            layout.no_template = match (layout.summary, broken) {
                (Some(_), broken) => broken.map(|diagnostic| diagnostic.span),
                (None, _) => Some(Span::default()),
            };
            layout.plan = super::static_facts::Plan::of(&layout);
        }
        Ok(Outcome { layout, diagnostics: self.sink })
    }
}

/// Fills in lines and columns of diagnostics that are sorted by position, in one pass over the text.
pub(super) fn locate(diagnostics: &mut [Diagnostic], text: &str) {
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
