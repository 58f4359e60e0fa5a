//! The branches of `#if`, `#ifdef` and their like that a compiler takes.
//!
//! A condition is evaluated for the macros of the source and of `-D`. One that depends on anything else is refused if it decides
//! about declarations: which of its branches a program was compiled with is not known here.

use std::collections::{HashMap, HashSet};

use trilith::{Error, Result, line_column};

use super::constant_expr::evaluate;
use super::symbol_table::SymbolTable;
use super::lexer::{TokenKind, Token, malformed_at, tokenize_source};

/// The part of a source that the preprocessor of a compiler leaves.
pub(super) struct PreprocessedSource<'t> {
    pub(super) tokens: Vec<Token<'t>>,
    /// Names that are macros only under a condition that cannot be evaluated.
    pub(super) unknown: HashSet<&'t str>,
    /// Names that were taken as undefined, as a compiler does.
    pub(super) notes: Vec<String>,
}

/// Returns the tokens in the branches that are taken. Macros stay as they are written.
///
/// # Errors
/// Returns [`ErrorKind::Malformed`](trilith::ErrorKind::Malformed) for a condition without end, and
/// [`ErrorKind::Unsupported`](trilith::ErrorKind::Unsupported) for one that cannot be evaluated, with its place.
pub(super) fn select_active_tokens<'t>(text: &str, all: &[Token<'t>]) -> Result<PreprocessedSource<'t>> {
    let macros = HashMap::from([("LAYOUT", Macro::Body(vec!["1"])), ("__cplusplus", Macro::Undefined)]);
    let unknown = HashSet::new();
    let (notes, open) = (Vec::new(), Vec::new());
    let mut reader = Reader { text, all, ends: find_endifs(all), macros, include: Include::None, unknown, notes, open };
    let mut kept = Vec::new();
    let mut at = 0;
    while let Some(token) = all.get(at) {
        at = match Directive::from_token(token) {
            Some(directive) => reader.process_directive(&directive, at, &mut kept)?,
            None => {
                if reader.is_active() {
                    kept.push(*token);
                }
                at + 1
            }
        };
    }
    match reader.open.last() {
        Some(open) => Err(malformed_at(text, open.at, "this condition has no `#endif`")),
        None => Ok(PreprocessedSource { tokens: kept, unknown: reader.unknown, notes: reader.notes }),
    }
}

/// A line that begins with `#`.
struct Directive<'t> {
    word: &'t str,
    rest: &'t str,
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// The word at the start of a text, and what follows it.
pub(super) fn split_first_word(text: &str) -> (&str, &str) {
    let text = text.trim_start();
    text.split_at_checked(text.find(|c| !is_word(c)).unwrap_or(text.len())).unwrap_or((text, ""))
}

impl<'t> Directive<'t> {
    fn from_token(token: &Token<'t>) -> Option<Self> {
        let (word, rest) = split_first_word(token.text.get(1..).filter(|_| token.kind == TokenKind::Directive)?);
        Some(Self { word, rest })
    }

    /// The words and signs after the name of the directive.
    fn argument_words(&self) -> Vec<&'t str> {
        let found = tokenize_source(self.rest).unwrap_or_default();
        found.iter().filter(|token| token.kind != TokenKind::Comment).map(|token| token.text).collect()
    }
}

/// The numbers of the `#endif` of all branches, by the numbers of the directives at which these begin.
fn find_endifs(all: &[Token<'_>]) -> HashMap<usize, usize> {
    let (mut found, mut open): (_, Vec<Vec<usize>>) = (HashMap::new(), Vec::new());
    for (number, directive) in all.iter().enumerate().filter_map(|(number, token)| Some((number, Directive::from_token(token)?))) {
        match directive.word {
            "if" | "ifdef" | "ifndef" => open.push(vec![number]),
            "elif" | "elifdef" | "elifndef" | "else" => open.last_mut().into_iter().for_each(|branches| branches.push(number)),
            "endif" => found.extend(open.pop().unwrap_or_default().into_iter().map(|branch| (branch, number))),
            _ => {}
        }
    }
    found
}

/// The meaning of a name for the preprocessor.
enum Macro<'t> {
    Body(Vec<&'t str>),
    Arguments,
    /// A name that is defined or not under a condition that cannot be evaluated.
    Unknown,
    Undefined,
}

/// The files that were included so far: they may define other names.
#[derive(PartialEq)]
enum Include {
    None,
    /// Headers of the standard library of C only.
    Standard,
    Other,
}

/// A condition whose `#endif` is still to come.
struct Open {
    at: usize,
    /// `true` if the tokens around it are taken.
    is_outer: bool,
    /// `true` while its present branch is taken.
    is_active: bool,
    /// `true` once a branch was taken.
    is_done: bool,
}

struct Reader<'a, 't> {
    text: &'a str,
    all: &'a [Token<'t>],
    ends: HashMap<usize, usize>,
    macros: HashMap<&'t str, Macro<'t>>,
    include: Include,
    unknown: HashSet<&'t str>,
    notes: Vec<String>,
    open: Vec<Open>,
}

/// The most words that a condition may become, and the most macros that one of them may come from.
const MAX_CONDITION_WORDS: usize = 10_000;
const DEPTH: usize = 64;

impl<'t> Reader<'_, 't> {
    fn is_active(&self) -> bool {
        self.open.last().is_none_or(|open| open.is_active)
    }

    /// Reads the directive at a token; returns the number of the token to go on with.
    fn process_directive(&mut self, directive: &Directive<'t>, at: usize, kept: &mut Vec<Token<'t>>) -> Result<usize> {
        let Some(token) = self.all.get(at) else { return Ok(at + 1) };
        match directive.word {
            "if" | "ifdef" | "ifndef" => {
                let is_outer = self.is_active();
                self.open.push(Open { at: token.offset, is_outer, is_active: false, is_done: false });
                return self.decide_branch(directive, at);
            }
            "elif" | "elifdef" | "elifndef" | "else" => {
                let missing = || malformed_at(self.text, token.offset, format!("`#{}` without `#if`", directive.word));
                self.open.last_mut().ok_or_else(missing)?.is_active = false;
                return self.decide_branch(directive, at);
            }
            "endif" => {
                let missing = || malformed_at(self.text, token.offset, "`#endif` without `#if`");
                self.open.pop().ok_or_else(missing)?;
                return Ok(at + 1);
            }
            _ if !self.is_active() => return Ok(at + 1),
            "define" => self.define_macro(directive.rest),
            "undef" => drop(self.macros.insert(split_first_word(directive.rest).0, Macro::Undefined)),
            "include" => self.record_include(directive.rest),
            "error" => return Err(malformed_at(self.text, token.offset, format!("#error {}", directive.rest.trim()))),
            _ => {}
        }
        kept.push(*token);
        Ok(at + 1)
    }

    fn define_macro(&mut self, rest: &'t str) {
        let (name, body) = split_first_word(rest);
        let words = Directive { word: "define", rest: body }.argument_words();
        // A parenthesis right after the name begins the arguments.
        self.macros.insert(name, if body.starts_with('(') { Macro::Arguments } else { Macro::Body(words) });
    }

    fn record_include(&mut self, rest: &str) {
        let name = rest.trim().strip_prefix('<').and_then(|name| name.split('>').next()).unwrap_or("");
        let name = name.trim_end_matches(".h");
        let is_standard = STANDARD.contains(&name) || name.strip_prefix('c').is_some_and(|name| STANDARD.contains(&name));
        if !is_standard {
            self.include = Include::Other;
        } else if self.include == Include::None {
            self.include = Include::Standard;
        }
    }

    /// Decides about the branch that begins at a token, unless one before it was taken.
    fn decide_branch(&mut self, directive: &Directive<'t>, at: usize) -> Result<usize> {
        let Some(open) = self.open.last() else { return Ok(at + 1) };
        if !open.is_outer || open.is_done {
            return Ok(at + 1);
        }
        let Some(is_true) = self.evaluate_condition(directive, at)? else { return self.skip_undecided_branches(at) };
        if let Some(open) = self.open.last_mut() {
            (open.is_active, open.is_done) = (is_true, is_true);
        }
        Ok(at + 1)
    }

    /// Returns whether a condition holds; None if that is not known.
    fn evaluate_condition(&mut self, directive: &Directive<'t>, at: usize) -> Result<Option<bool>> {
        let words = directive.argument_words();
        let name = match (directive.word, words.as_slice()) {
            ("else", _) => return Ok(Some(true)),
            ("ifdef" | "ifndef" | "elifdef" | "elifndef", [name, ..]) => vec!["defined", name],
            _ => words.clone(),
        };
        let absent = match (directive.word, words.as_slice()) {
            ("ifndef", [name, ..]) | ("if", ["!", "defined", name] | ["!", "defined", "(", name, ")"]) => Some(*name),
            _ => None,
        };
        let is_default = absent.is_some() && absent == self.next_define(at).map(|(name, _)| name);
        if is_default && self.is_guard(at) {
            return Ok(Some(true));
        }
        let mut undefined = Vec::new();
        let Some(plain) = self.resolve_condition_words(&name, &mut undefined) else { return Ok(None) };
        let Some(found) = evaluate(&plain, &SymbolTable::default()) else { return Ok(None) };
        // A condition that gives a name its default value needs no note.
        if !is_default && let Some(name) = undefined.first() {
            let (line, _) = line_column(self.text, self.all.get(at).map_or(0, |token| token.offset));
            self.notes.push(format!(
                "line {line}: {name} is not defined in this file, so that branch is taken; if the program is compiled with it, give -D {name}"
            ));
        }
        Ok(Some((found != 0) != directive.word.ends_with("ndef")))
    }

    /// The name and the value of the `#define` that follows a token at once.
    fn next_define(&self, at: usize) -> Option<(&'t str, &'t str)> {
        let next = self.all.get(at + 1..)?.iter().find(|token| token.kind != TokenKind::Comment)?;
        let directive = Directive::from_token(next).filter(|directive| directive.word == "define")?;
        Some(split_first_word(directive.rest))
    }

    /// Returns `true` if a condition that defines what it asks for keeps a file from being read twice.
    fn is_guard(&self, at: usize) -> bool {
        let is_empty = self.next_define(at).is_some_and(|(_, body)| body.trim().is_empty());
        let rest = self.all.get(self.find_endif(at)..).unwrap_or(&[]);
        is_empty || rest.iter().skip(1).all(|token| token.kind == TokenKind::Comment)
    }

    /// The number of the `#endif` of the condition of which a branch begins at a token.
    fn find_endif(&self, at: usize) -> usize {
        self.ends.get(&at).copied().unwrap_or(self.all.len())
    }

    /// The words of a condition as numbers and operators; None if the value of a name is not known. The names that are not
    /// defined go to `undefined`.
    fn resolve_condition_words(&self, words: &[&'t str], undefined: &mut Vec<&'t str>) -> Option<Vec<&'t str>> {
        // Words to expand, each with the names of the macros that it came from, which are not expanded again.
        let mut todo: Vec<(&str, Vec<&str>)> = Vec::new();
        let mut rest = words;
        while let Some((here, after)) = rest.split_first() {
            let (word, after) = match (*here, after) {
                ("defined", ["(", name, ")", after @ ..] | [name, after @ ..]) => {
                    (if self.is_defined(name, undefined)? { "1" } else { "0" }, after)
                }
                (here, after) => (here, after),
            };
            todo.push((word, Vec::new()));
            rest = after;
        }
        todo.reverse();
        let (mut out, mut count) = (Vec::new(), 0usize);
        while let Some((here, within)) = todo.pop() {
            count += 1;
            if count > MAX_CONDITION_WORDS || within.len() > DEPTH {
                return None;
            }
            if !here.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
                out.push(here);
                continue;
            }
            match self.macros.get(here) {
                Some(Macro::Body(body)) if !within.contains(&here) => {
                    let within: Vec<&str> = within.iter().copied().chain([here]).collect();
                    todo.extend(body.iter().rev().map(|word| (*word, within.clone())));
                }
                // A name without a meaning is 0.
                _ if self.is_defined(here, undefined)? => return None,
                _ => out.push("0"),
            }
        }
        Some(out)
    }

    /// Returns whether a name is a macro; None if other files may define it.
    fn is_defined(&self, name: &'t str, undefined: &mut Vec<&'t str>) -> Option<bool> {
        match self.macros.get(name) {
            Some(Macro::Body(_) | Macro::Arguments) => return Some(true),
            Some(Macro::Undefined) => return Some(false),
            Some(Macro::Unknown) => return None,
            None => {}
        }
        // The compiler defines names, too.
        let is_reserved = name.strip_prefix('_').is_some_and(|rest| rest.starts_with(|c: char| c == '_' || c.is_ascii_uppercase()));
        let is_open = match self.include {
            Include::None => false,
            Include::Standard => OF_STANDARD.iter().any(|start| name.starts_with(start)),
            Include::Other => true,
        };
        if is_reserved || is_open {
            return None;
        }
        undefined.push(name);
        Some(false)
    }

    /// Passes over the branches of a condition that cannot be evaluated, from this one on, if they declare nothing.
    fn skip_undecided_branches(&mut self, at: usize) -> Result<usize> {
        let end = self.find_endif(at);
        for token in self.all.get(at + 1..end).unwrap_or(&[]) {
            let directive = Directive::from_token(token);
            let is_harmless = match &directive {
                None => token.kind == TokenKind::Comment,
                Some(directive) => match directive.word {
                    // A constant of the layout would have two values.
                    "define" | "undef" => !matches!(self.macros.get(split_first_word(directive.rest).0), Some(Macro::Body(_))),
                    "pragma" => !directive.rest.trim_start().starts_with("pack"),
                    _ => true,
                },
            };
            if !is_harmless {
                return Err(self.undecidable_error(at));
            }
            match directive {
                Some(Directive { word: "define" | "undef", rest }) => {
                    self.macros.insert(split_first_word(rest).0, Macro::Unknown);
                    self.unknown.insert(split_first_word(rest).0);
                }
                Some(Directive { word: "include", rest }) => self.record_include(rest),
                _ => {}
            }
        }
        Ok(end)
    }

    fn undecidable_error(&self, at: usize) -> Error {
        let Some(token) = self.all.get(at) else { return malformed_at(self.text, 0, "a condition") };
        let (line, column) = line_column(self.text, token.offset);
        let shown: String = token.text.lines().next().unwrap_or("").chars().take(60).collect();
        Error::unsupported(format!("`{}`, which depends on more than the macros of this file, in C source", shown.trim_end()))
            .at_text(line, column)
            .hint(format!("define the name with -D NAME[=VALUE], or let the compiler decide: {COMPILER}"))
    }
}

/// The command that lets a compiler read a header first.
pub(super) const COMPILER: &str = "gcc -E -DLAYOUT h.h | trilith layout new -";

/// Headers of the standard library.
const STANDARD: &[&str] = &[
    "assert", "complex", "ctype", "errno", "fenv", "float", "inttypes", "iso646", "limits", "locale", "math", "setjmp", "signal",
    "stdalign", "stdarg", "stdatomic", "stdbool", "stddef", "stdint", "stdio", "stdlib", "stdnoreturn", "string", "strings", "tgmath",
    "threads", "time", "uchar", "unistd", "wchar", "wctype", "sys/types", "sys/time", "sys/stat",
];

/// The starts of the names that these define.
const OF_STANDARD: &[&str] = &[
    "INT", "UINT", "CHAR_", "SCHAR_", "UCHAR_", "SHRT_", "USHRT_", "LONG_", "ULONG_", "LLONG_", "ULLONG_", "SIZE_", "SSIZE_",
    "PTRDIFF_", "WCHAR_", "FLT_", "DBL_", "LDBL_", "M_", "PRI", "SCN", "NULL", "EOF", "BUFSIZ", "RAND_MAX", "PATH_MAX", "complex",
    "bool", "true", "false",
];
