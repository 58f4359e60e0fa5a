//! Parsing of bytes: detects the encoding and the dialect, then applies the grammar.

use super::diagnostic::DiagnosticCode;
use super::grammar;
use super::lexer::{Lexer, Token, TokenKind};
use super::model::{Dialect, Layout, Primitive, PrimitiveKind};
use crate::Limits;
use crate::diagnostic::{Diagnostic, Severity};
use crate::error::{Error, Result};
use crate::span::Span;

/// Options for parsing a layout.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ParseOptions {
    /// The dialect; otherwise it is found out.
    pub dialect: Option<Dialect>,
    /// Limits on the cost of the text.
    pub limits: Limits,
}

impl ParseOptions {
    /// The defaults for this dialect; None finds out which it is.
    pub fn with_dialect(dialect: impl Into<Option<Dialect>>) -> Self {
        Self { dialect: dialect.into(), ..Self::default() }
    }
}

/// The result of parsing a text.
#[derive(Debug)]
#[non_exhaustive]
pub struct ParseResult {
    /// The layout, if the text has no error.
    pub layout: Option<Layout>,
    /// Errors and warnings in the order of the text.
    pub diagnostics: Vec<Diagnostic>,
    /// The dialect, given or found out.
    pub dialect: Dialect,
    /// The text as decoded, which diagnostics refer to.
    pub text: String,
    /// Number of bytes of the input that belong to the layout: all, or those up to its terminator (2025).
    pub end: usize,
    /// `true` if a terminator ends it.
    pub terminated: bool,
    /// `true` if the dialect was neither given nor recorded in the text.
    pub is_guessed: bool,
}

impl ParseResult {
    /// Returns `true` if there are errors (not only warnings), bad attribute comments included.
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error)
    }

    /// The layout, if it can be used.
    ///
    /// # Errors
    /// Returns the first error of the text.
    pub fn into_layout(self) -> Result<Layout> {
        let Self { layout, diagnostics, .. } = self;
        layout.ok_or_else(|| {
            let first = diagnostics.into_iter().find(|found| !found.is_harmless);
            first.map_or_else(|| Error::malformed("the layout has errors"), Error::from)
        })
    }
}

/// Parses a layout of either dialect.
///
/// ```
/// use trilith_layout::layout::{self, ParseOptions};
/// let parsed = layout::parse(b"x: f8(3)\ny: g8\nz: f8[2]\n", &ParseOptions::default()).unwrap();
/// let codes: Vec<&str> = parsed.diagnostics.iter().map(|d| d.code).collect();
/// assert_eq!(codes, ["E305", "E201"]);
/// ```
///
/// # Errors
/// Returns [`ErrorKind::Limit`](crate::ErrorKind::Limit) if the text is longer or nests deeper than the limits
/// allow. Errors in the text are in the diagnostics.
pub fn parse(bytes: &[u8], options: &ParseOptions) -> Result<ParseResult> {
    let limit = options.limits.text.min(u64::from(u32::MAX) - 16);
    if bytes.len() as u64 > limit {
        // Bytes after a terminator need not be text and do not count.
        return Err(Limits::exceeded_error("text", limit, format_args!("the layout is {} bytes long", bytes.len())));
    }
    let bom = if bytes.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
    let bytes = bytes.get(bom..).unwrap_or(&[]);
    let error = match std::str::from_utf8(bytes) {
        Ok(text) => return parse_text(text.to_owned(), options).map(|parsed| ParseResult { end: parsed.end + bom, ..parsed }),
        Err(error) => error,
    };
    // Any bytes may follow the terminator of 2025.
    let valid = bytes.get(..error.valid_up_to()).map_or("", |head| std::str::from_utf8(head).unwrap_or(""));
    let head = parse_text(valid.to_owned(), options)?;
    let whole_line = head.end < valid.len() || valid.ends_with(['\n', '\r']);
    if head.terminated && whole_line {
        return Ok(ParseResult { end: head.end + bom, ..head });
    }
    let text = decode_single_byte_text(bytes);
    let mut parsed = parse_text(text, options)?;
    // Each character was one byte in the file, so the offset is a count of characters.
    parsed.end = parsed.text.get(..parsed.end).unwrap_or("").chars().count() + bom;
    let at = Span::new(0, 0);
    let message = format!("the text is not UTF-8 (byte {}): read as cp1252 or latin1", error.valid_up_to() + bom);
    parsed.diagnostics.insert(0, DiagnosticCode::W10.to_diagnostic(at, message).locate(&parsed.text));
    Ok(parsed)
}

impl Layout {
    /// Parses a layout that is expected to be right, of either dialect.
    ///
    /// # Errors
    /// Returns the first error of the text, and [`ErrorKind::Limit`](crate::ErrorKind::Limit) if a limit would be
    /// exceeded.
    pub fn read(bytes: &[u8]) -> Result<Layout> {
        let parsed = parse(bytes, &ParseOptions::default())?;
        parsed.into_layout()
    }
}

/// cp1252, or latin1 if a byte has no meaning in cp1252.
fn decode_single_byte_text(bytes: &[u8]) -> String {
    const CP1252_HIGH: [char; 32] = [
        '€', '\0', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\0', 'Ž', '\0', '\0', '‘', '’', '“', '”', '•', '–',
        '—', '˜', '™', 'š', '›', 'œ', '\0', 'ž', 'Ÿ',
    ];
    let latin1 = bytes.iter().any(|byte| matches!(byte, 0x81 | 0x8d | 0x8f | 0x90 | 0x9d));
    let character = |&byte: &u8| match byte {
        0x80..=0x9f if !latin1 => CP1252_HIGH[usize::from(byte - 0x80)],
        _ => char::from(byte),
    };
    bytes.iter().map(character).collect()
}

fn into_result(outcome: grammar::ParseOutcome, dialect: Dialect, text: String) -> ParseResult {
    let usable = outcome.diagnostics.iter().all(|diagnostic| diagnostic.is_harmless);
    let (end, terminated) = (outcome.layout.end, outcome.layout.terminated);
    ParseResult {
        terminated,
        is_guessed: false,
        layout: usable.then_some(outcome.layout),
        diagnostics: outcome.diagnostics,
        dialect,
        text,
        end,
    }
}

/// Section 7.7: the dialect given, recorded, evident, or the first that fits.
fn parse_text(text: String, options: &ParseOptions) -> Result<ParseResult> {
    let known = options.dialect.or_else(|| find_recorded_dialect(&text));
    let parsed = parse_as(text, known, options)?;
    Ok(ParseResult { is_guessed: known.is_none(), ..parsed })
}

fn parse_as(text: String, known: Option<Dialect>, options: &ParseOptions) -> Result<ParseResult> {
    let in_dialect = |dialect| grammar::parse_layout_text(&text, dialect, &options.limits);
    if let Some(dialect) = known {
        return Ok(into_result(in_dialect(dialect)?, dialect, text));
    }
    let is_good = |outcome: &grammar::ParseOutcome| outcome.diagnostics.iter().all(|diagnostic| diagnostic.is_harmless);
    match find_dialect_evidence(&text, None) {
        Some(Dialect::D2025) => Ok(into_result(in_dialect(Dialect::D2025)?, Dialect::D2025, text)),
        Some(Dialect::D2026) => {
            let outcome = in_dialect(Dialect::D2026)?;
            // A text of 2025 with a slip of 2026 in it.
            if !is_good(&outcome) && find_dialect_evidence(&text, Some(Dialect::D2025)).is_some() {
                return Ok(into_result(in_dialect(Dialect::D2025)?, Dialect::D2025, text));
            }
            Ok(into_result(outcome, Dialect::D2026, text))
        }
        None => {
            let mut old = in_dialect(Dialect::D2025)?;
            if is_good(&old) && !depends_on_dialect(&old.layout) {
                return Ok(into_result(old, Dialect::D2025, text));
            }
            let new = in_dialect(Dialect::D2026)?;
            match (is_good(&old), is_good(&new)) {
                (false, true) => {
                    let mut new = new;
                    new.diagnostics.extend(only_new(&old, &text));
                    new.diagnostics.sort_by_key(|diagnostic| diagnostic.span.start);
                    Ok(into_result(new, Dialect::D2026, text))
                }
                (true, true) => {
                    let span = old.layout.items.get(1).map_or(Span::default(), |item| item.span);
                    let message = "the text means one thing in 2025 and another in 2026: taken as 2025";
                    let warning =
                        DiagnosticCode::W9.to_diagnostic(span, message).hint("add `#: dialect=2025`, or name the dialect");
                    old.diagnostics.push(warning.locate(&text));
                    old.diagnostics.sort_by_key(|diagnostic| diagnostic.span.start);
                    Ok(into_result(old, Dialect::D2025, text))
                }
                _ => Ok(into_result(old, Dialect::D2025, text)),
            }
        }
    }
}

/// Returns the mistake that 2025 finds in a text that is right in 2026 only. If the grammar of 2025 has no such
/// words, the text belongs to 2026 because of them.
fn only_new(old: &grammar::ParseOutcome, text: &str) -> Option<Diagnostic> {
    let wrong = old.diagnostics.iter().find(|diagnostic| !diagnostic.is_harmless)?;
    // The rules for parameters differ in either dialect (E307): that tells them apart.
    let is_mistake = wrong.code.starts_with("E3") && wrong.code != DiagnosticCode::E307.name();
    // `..` above the top is nothing in 2026: it says as little of the dialect as a name that is declared twice.
    if !is_mistake && ![DiagnosticCode::E205.name(), DiagnosticCode::E212.name()].contains(&wrong.code) {
        return None;
    }
    let message =
        format!("the text does not declare its dialect, and is read as 2026: as 2025 it has {}: {}", wrong.code, wrong.message);
    let warning = DiagnosticCode::W9.to_diagnostic(wrong.span, message);
    Some(warning.hint("add `#: dialect=2026`, or `#: dialect=2025` and fix it").locate(text))
}

/// Returns `true` if the other dialect would read this layout differently: all but dicts and lists of data.
fn depends_on_dialect(layout: &Layout) -> bool {
    layout.items.iter().any(|item| {
        use super::model::ItemData as K;
        match item.kind {
            K::Param(_) | K::Summary | K::Member => true,
            K::Data(_) => item.name != super::interner::Symbol::NONE,
            _ => false,
        }
    })
}

/// The dialect that a root attribute `#: dialect=2025` gives, before the first item.
fn find_recorded_dialect(text: &str) -> Option<Dialect> {
    let mut lexer = Lexer::new(text, Dialect::D2026);
    lexer.next_token();
    for comment in &lexer.notes {
        let inside = Span::new(comment.start + 2, comment.end);
        if !comment.slice(text).starts_with("#:") {
            continue;
        }
        let mut part = Lexer::for_span(text, inside, Dialect::D2026);
        loop {
            let token = part.next_token();
            if token.kind == TokenKind::End {
                break;
            }
            if token.span.slice(text).trim_matches(['"', '\'']) != "dialect" || part.next_token().kind != TokenKind::Equal {
                continue;
            }
            if let Some(dialect) = Dialect::from_name(part.next_token().span.slice(text).trim_matches(['"', '\''])) {
                return Some(dialect);
            }
        }
    }
    None
}

/// The first sign of one dialect, or of a certain one, among the tokens.
fn find_dialect_evidence(text: &str, only: Option<Dialect>) -> Option<Dialect> {
    let mut lexer = Lexer::new(text, Dialect::D2025);
    let mut seen = [None; 4];
    let mut depth = 0usize;
    let mut weak = None;
    loop {
        let token = lexer.next_token();
        if token.kind == TokenKind::End {
            return weak.filter(|dialect| only.is_none_or(|only| only == *dialect));
        }
        let sign = sign_of(text, &seen, token, depth, &lexer);
        if let Some((dialect, strong)) = sign
            && only.is_none_or(|only| only == dialect)
        {
            if strong {
                return Some(dialect);
            }
            weak = Some(dialect);
        }
        match token.kind {
            TokenKind::OpenBracket | TokenKind::OpenBrace | TokenKind::OpenParen => depth += 1,
            TokenKind::CloseBracket | TokenKind::CloseBrace | TokenKind::CloseParen => depth = depth.saturating_sub(1),
            TokenKind::Minus if depth == 0 && is_terminator(text, token) => {
                return weak.filter(|dialect| only.is_none_or(|only| only == *dialect));
            }
            _ => {}
        }
        seen = [seen[1], seen[2], seen[3], Some(token)];
    }
}

/// Returns the dialect that a token after the four before it indicates, and whether that is certain.
fn sign_of(text: &str, seen: &[Option<Token>; 4], token: Token, depth: usize, lexer: &Lexer<'_>) -> Option<(Dialect, bool)> {
    const EVIDENCE_2025: Option<(Dialect, bool)> = Some((Dialect::D2025, true));
    const EVIDENCE_2026: Option<(Dialect, bool)> = Some((Dialect::D2026, true));
    let kind = |n: usize| seen[n].map(|token| token.kind);
    let is_name = |n: usize| seen[n].is_some_and(Token::is_name);
    let primitive = |token: Token| {
        let name = token.span.slice(text).trim_matches(['"', '\'']).trim_start_matches(['<', '>', '|']);
        Primitive::from_name(name, Dialect::D2025).filter(|_| token.is_name() || token.kind == TokenKind::Primitive)
    };
    let datatype = |n: usize| is_name(n) || matches!(kind(n), Some(TokenKind::Primitive | TokenKind::CloseBrace));
    match token.kind {
        TokenKind::Order => EVIDENCE_2025,
        TokenKind::OpenBrace if kind(3).is_none() || (kind(2).is_none() && kind(3) == Some(TokenKind::Order)) => EVIDENCE_2025,
        TokenKind::ColonEqual | TokenKind::Star => EVIDENCE_2025,
        TokenKind::OpenBracket if kind(3) == Some(TokenKind::Equal) => EVIDENCE_2025,
        TokenKind::OpenBracket if datatype(3) && kind(2) == Some(TokenKind::Equal) => EVIDENCE_2025,
        TokenKind::CloseBracket
            if kind(3) == Some(TokenKind::Integer)
                && kind(2) == Some(TokenKind::OpenBracket)
                && is_name(1)
                && kind(0) != Some(TokenKind::Colon) =>
        {
            // `list [3]` in 2025; in 2026 `[3` goes on.
            EVIDENCE_2025
        }
        TokenKind::Integer if kind(3) == Some(TokenKind::Colon) => EVIDENCE_2025,
        TokenKind::Equal
            if kind(2) == Some(TokenKind::OpenBrace)
                && seen[3].is_some_and(|name| name.span.len() == 2 && name.kind == TokenKind::Quoted) =>
        {
            EVIDENCE_2025
        }
        TokenKind::Minus if depth == 0 && is_terminator(text, token) => EVIDENCE_2025,
        TokenKind::OpenParen if datatype(3) => EVIDENCE_2026,
        TokenKind::Integer if kind(3) == Some(TokenKind::Equal) => EVIDENCE_2026,
        TokenKind::Colon if kind(3) == Some(TokenKind::OpenBrace) => EVIDENCE_2026,
        TokenKind::ArrowRight | TokenKind::ArrowLeft | TokenKind::Ampersand => EVIDENCE_2026,
        TokenKind::Percent | TokenKind::At | TokenKind::Slash | TokenKind::OpenBracket
            if kind(3) == Some(TokenKind::Integer)
                && matches!(kind(2), Some(TokenKind::OpenBracket | TokenKind::Comma))
                && depth > 0 =>
        {
            EVIDENCE_2026
        }
        TokenKind::Percent | TokenKind::At if matches!(kind(3), Some(TokenKind::OpenBracket | TokenKind::Comma)) => EVIDENCE_2026,
        TokenKind::Primitive | TokenKind::Symbol | TokenKind::Quoted
            if matches!(kind(3), Some(TokenKind::Colon | TokenKind::Equal)) =>
        {
            let primitive = primitive(token)?;
            if matches!(primitive.kind(), PrimitiveKind::Signed | PrimitiveKind::Unsigned | PrimitiveKind::Pointer) {
                return None;
            }
            if kind(3) == Some(TokenKind::Colon) {
                return EVIDENCE_2026;
            }
            // `= f8` of 2025, unless a shape of 2026 follows.
            (lexer.peek_token().kind != TokenKind::OpenParen).then_some((Dialect::D2025, false))
        }
        _ => None,
    }
}

/// Returns `true` if a run of `-` is alone to the end of its line.
fn is_terminator(text: &str, token: Token) -> bool {
    let rest = text.as_bytes().get(token.span.end as usize..).unwrap_or(&[]);
    matches!(rest.iter().find(|byte| !matches!(byte, b' ' | b'\t')), None | Some(b'\n' | b'\r'))
}
