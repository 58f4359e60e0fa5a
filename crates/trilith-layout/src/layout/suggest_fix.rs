//! Corrections of common mistakes in a layout, each proved by reading the corrected text.

use std::ops::Range;

use super::{Dialect, ParseOptions, ParseResult, Primitive, parse};
use crate::diagnostic::{Diagnostic, Severity};
use crate::error::Result;
use crate::limits::Limits;
use crate::suggest::nearest;

/// Bytes of the longest text, and numbers of mistakes and of edits for each, that are tried.
const MAX_TEXT_LEN: usize = 1 << 18;
const MAX_MISTAKES: usize = 20;
const MAX_EDITS: usize = 16;

/// A line of a layout without the mistake that is in it.
///
/// ```
/// let text = "x = float64[3]";
/// let found = trilith_layout::layout::parse(text.as_bytes(), &Default::default())?;
/// let corrections = found.corrections(&Default::default())?;
/// assert_eq!(corrections[0].as_ref().map(|one| one.text.as_str()), Some("x = f8[3]"));
/// # Ok::<(), trilith_layout::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LineCorrection {
    /// The line, counted from 1. It may be another than that of the diagnostic.
    pub line: u32,
    /// The line as it should be written, without its indentation.
    pub text: String,
    /// The whole layout with that line.
    pub layout: String,
}

/// A replacement of some bytes.
struct TextEdit {
    at: Range<usize>,
    by: String,
}

impl ParseResult {
    /// Returns a correction for each diagnostic. It is `None` for a warning, and for an error without one certain correction.
    ///
    /// A correction removes this error and causes no other error or warning. If several edits of the text do that, the one that
    /// removes the most errors is the correction. If there is no such edit, there is no correction.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Limit`](crate::ErrorKind::Limit) if a limit would be exceeded.
    pub fn corrections(&self, limits: &Limits) -> Result<Vec<Option<LineCorrection>>> {
        let mut left = if self.text.len() > MAX_TEXT_LEN { 0 } else { MAX_MISTAKES };
        let code = without_remarks(&self.text);
        let correction = |found: &Diagnostic| {
            if found.severity != Severity::Error || left == 0 {
                return Ok(None);
            }
            left -= 1;
            self.find_correction(found, &code, limits)
        };
        self.diagnostics.iter().map(correction).collect()
    }

    fn find_correction(&self, found: &Diagnostic, code: &str, limits: &Limits) -> Result<Option<LineCorrection>> {
        let mut how = ParseOptions::with_dialect(self.dialect);
        how.limits = limits.clone();
        let before = error_list(self);
        let mut best: Vec<(usize, usize, String)> = Vec::new();
        for edit in propose_edits(&self.text, code, found, self.dialect).into_iter().take(MAX_EDITS) {
            let mut layout = self.text.clone();
            if layout.get(edit.at.clone()).is_none() {
                continue;
            }
            layout.replace_range(edit.at.clone(), &edit.by);
            let parsed = parse(layout.as_bytes(), &how)?;
            let after = error_list(&parsed);
            let is_new = |one: &(&str, &str)| count_same_messages(&after, one) > count_same_messages(&before, one);
            if after.len() >= before.len() || after.iter().any(is_new) || parsed.terminated != self.terminated {
                continue;
            }
            // An edit after which this error is still at its place is not a correction.
            let this = (found.code, found.message.as_str());
            if count_same_messages(&after, &this) >= count_same_messages(&before, &this)
                || best.iter().any(|(.., known)| is_same(known, &layout))
            {
                continue;
            }
            best.push((after.len(), edit.at.start + edit.by.len(), layout));
        }
        let Some(least) = best.iter().map(|(errors, ..)| *errors).min() else { return Ok(None) };
        let mut sure = best.into_iter().filter(|(errors, ..)| *errors == least);
        let (Some((_, end, layout)), None) = (sure.next(), sure.next()) else { return Ok(None) };
        let head = layout.get(..end).unwrap_or("");
        let start = head.rfind('\n').map_or(0, |at| at + 1);
        let text = layout.get(start..).unwrap_or("").split(['\n', '\r']).next().unwrap_or("").trim().to_owned();
        let line = 1 + head.bytes().filter(|byte| *byte == b'\n').count() as u32;
        Ok(Some(LineCorrection { line, text, layout }))
    }
}

/// The codes and messages of what is wrong, and of warnings.
fn error_list(parsed: &ParseResult) -> Vec<(&str, &str)> {
    parsed.diagnostics.iter().map(|found| (found.code, place_free(&found.message))).collect()
}

/// Returns `true` if two layouts differ in blanks only.
fn is_same(a: &str, b: &str) -> bool {
    a.split_ascii_whitespace().flat_map(str::chars).eq(b.split_ascii_whitespace().flat_map(str::chars))
}

/// A message without the places of other items in it, which an edit moves.
fn place_free(message: &str) -> &str {
    message.split("; `").next().unwrap_or(message)
}

fn count_same_messages(all: &[(&str, &str)], one: &(&str, &str)) -> usize {
    all.iter().filter(|known| known.0 == one.0 && known.1 == place_free(one.1)).count()
}

/// The text with blanks in place of comments and of what is between quotes, byte for byte.
fn without_remarks(text: &str) -> String {
    let (mut quote, mut is_comment) = (None, false);
    let blank = |c: char| {
        match (quote, c) {
            (_, '\n' | '\r') => (quote, is_comment) = (None, false),
            _ if is_comment => {}
            (Some(open), _) => {
                if c == open {
                    quote = None;
                    return "\"".to_owned();
                }
            }
            (None, '"' | '\'') => {
                quote = Some(c);
                return "\"".to_owned();
            }
            (None, '#') => is_comment = true,
            (None, _) => return c.to_string(),
        }
        if matches!(c, '\n' | '\r') { c.to_string() } else { " ".repeat(c.len_utf8()) }
    };
    text.chars().map(blank).collect()
}

/// The edits that may correct an error.
fn propose_edits(text: &str, code: &str, found: &Diagnostic, dialect: Dialect) -> Vec<TextEdit> {
    let (at, end) = (found.span.start as usize, found.span.end as usize);
    let (Some(word), Some(before), Some(rest)) = (text.get(at..end), code.get(..at), code.get(end..)) else { return Vec::new() };
    let last = before.trim_end().len();
    let line = before.rfind('\n').map_or(0, |start| start + 1);
    let stop = end + rest.find(['\n', '\r']).unwrap_or(rest.len());
    let is_integer = !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
    let mut out = Vec::new();
    let mut edit = |at: Range<usize>, by: &str| out.push(TextEdit { at, by: by.to_owned() });
    if matches!(found.code, "E305" | "E306") {
        similar_names(word, code).into_iter().for_each(|name| edit(at..end, &name));
    }
    // A name that is data and should be a parameter.
    if found.code == "E306" {
        declared_as_data(code, word).into_iter().for_each(|sign| edit(sign..sign + 1, ":"));
    }
    // Parameters of 2025 are signed.
    if let ("E307", Some(size)) = (found.code, word.strip_prefix('u')) {
        edit(at..end, &format!("i{size}"));
    }
    // `:=` is for parameters.
    if found.code == "E307" && before.trim_end().ends_with(":=") {
        edit(last - 2..last, "=");
    }
    // `N - 1` is `N-`.
    if let ("E204", Some((from, to, suffix))) = (found.code, sum_at(code, at)) {
        edit(from..to, &suffix);
    }
    // `double x[N]` of C.
    let kind = before.split_whitespace().next_back().unwrap_or("");
    let own = if kind == "float" { Some("f4") } else { super::grammar::foreign_primitive(kind) };
    if let ("E202", Some(own)) = (found.code, own) {
        let shape = rest.split(['\n', '\r', ';']).next().unwrap_or("").trim_end();
        let semicolon = rest
            .get(shape.len()..)
            .map_or(0, |rest| rest.len() - rest.trim_start_matches([' ', '\t']).trim_start_matches(';').len());
        let by = format!("{word}{}{own}{}", if dialect == Dialect::D2025 { " = " } else { ": " }, shape.trim_start());
        edit(last - kind.len()..end + shape.len() + semicolon, &by);
    }
    // `[N][M]` is `[N, M]`.
    if found.code == "E201" && word == "[" && before.trim_end().ends_with(']') {
        edit(last - 1..end, ", ");
    }
    // `=` and `:` in place of each other.
    if matches!(found.code, "E203" | "E305" | "E307" | "E201" | "E202" | "E207")
        && let Some(sign) = code.get(line..stop).and_then(|line| line.find([':', '='])).map(|found| line + found)
        && !code.get(sign + 1..).is_some_and(|after| after.starts_with(['=', ':']))
    {
        let is_colon = code.get(sign..).is_some_and(|after| after.starts_with(':'));
        let is_apart = code.get(..sign).is_some_and(|head| head.ends_with([' ', '\t']));
        let is_data = !is_colon && dialect == Dialect::D2026;
        let start = if is_data { code.get(..sign).map_or(sign, |head| head.trim_end_matches([' ', '\t']).len()) } else { sign };
        edit(
            start..sign + 1,
            match (is_colon, is_apart) {
                (true, true) => "=",
                (true, false) => " =",
                (false, _) => ":",
            },
        );
    }
    match found.code {
        "E103" if is_integer => edit(at..end, word.trim_start_matches('0')),
        "E104" => {
            edit(end..end + rest.len() - rest.trim_start_matches([' ', '\t']).len(), "");
            let len = rest.find(|c: char| !c.is_alphanumeric()).unwrap_or(rest.len());
            similar_names(rest.get(..len).unwrap_or(""), code).into_iter().for_each(|name| edit(end..end + len, &name));
        }
        // A name, and what is said of it.
        "E202" => {
            edit(last..at, " = ");
            edit(last..at, ": ");
            edit(last..last, " {");
        }
        // The address of an item.
        "E201" | "E207" if is_integer => edit(at..at, "@"),
        _ => {}
    }
    // A layout has no separators between items, so the comma or semicolon is removed.
    if matches!((found.code, word), ("E201" | "E207" | "E102", "," | ";")) {
        edit(at..end, if rest.starts_with([' ', '\t', '\n', '\r']) || rest.is_empty() { "" } else { " " });
    }
    // Brackets of the other dialect, of which one is missing, or that are missing.
    let (open, close) = if dialect == Dialect::D2025 { ("[", "]") } else { ("(", ")") };
    if matches!(found.code, "E201" | "E203" | "E204" | "E207" | "E206" | "E208") {
        if let Some(other) = word.strip_prefix(['(', '[']).and_then(|_| code.get(end..stop)?.find([')', ']'])) {
            edit(at..end + other + 1, &format!("{open}{}{close}", text.get(end..end + other).unwrap_or("")));
        }
        if code.get(at..stop).is_some_and(|rest| rest.contains(close)) {
            edit(last..at, open);
        }
        let line_end = code.get(line..stop).map_or(last, |text| line + text.trim_end().len());
        [last, line_end].into_iter().for_each(|place| edit(place..place, close));
        edit(last..last, "]");
    }
    if matches!(found.code, "E207" | "E208" | "E201" | "E202" | "E302" | "E305" | "E317")
        && let Some(opened) = unclosed_brace(before).filter(|_| !before.trim().is_empty())
    {
        find_closing_offsets(code, opened, at).into_iter().for_each(|place| edit(place..place, " }"));
    }
    out
}

/// The places of the `=` of data of this name.
fn declared_as_data(code: &str, name: &str) -> Vec<usize> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let place = |(at, _): (usize, &str)| {
        let end = at + name.len();
        let rest = code.get(end..)?;
        let sign = end + rest.len() - rest.trim_start().len();
        let is_whole = !code.get(..at)?.ends_with(is_part) && !rest.starts_with(is_part);
        (is_whole && code.get(sign..)?.starts_with('=')).then_some(sign)
    };
    if name.is_empty() { Vec::new() } else { code.match_indices(name).filter_map(place).collect() }
}

/// The sum of a name and a number around a place: from the end of the name on, to the end of the number, and the suffixes that
/// mean it.
fn sum_at(code: &str, at: usize) -> Option<(usize, usize, String)> {
    let before = code.get(..at)?;
    let from = before.trim_end_matches([' ', '\t', '+', '-']).len();
    let rest = code.get(from..)?;
    let end = rest.find([',', ']', ')', '\n', '\r'])?;
    let sum = rest.get(..end)?;
    let sign = sum.trim_start().chars().next().filter(|sign| matches!(sign, '+' | '-'))?;
    let count = sum.trim_start().get(1..)?.trim().parse::<usize>().ok().filter(|count| (1..=31).contains(count))?;
    let is_name = before.get(..from)?.ends_with(|c: char| c.is_alphanumeric() || c == '_');
    is_name.then(|| (from, from + end, sign.to_string().repeat(count)))
}

/// The names that an unknown one may be meant to be.
fn similar_names(word: &str, code: &str) -> Vec<String> {
    let bare = word.trim_start_matches(['<', '>', '|', '%']);
    let prefix = word.get(..word.len() - bare.len()).unwrap_or("");
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let mut names: Vec<&str> =
        code.split(|c| !is_part(c)).filter(|name| name.starts_with(|c: char| !c.is_ascii_digit())).collect();
    names.sort_unstable();
    names.dedup();
    names.retain(|name| *name != bare);
    let primitives: Vec<&str> = (0..Primitive::COUNT).map(|number| Primitive::from_index(number).name()).collect();
    let all = || names.iter().copied().chain(primitives.iter().copied());
    let mut found: Vec<&str> = all().filter(|name| name.eq_ignore_ascii_case(bare)).collect();
    found.extend(super::grammar::foreign_primitive(bare));
    // The next character tells the kind of a name: `{` a type, `:` and `=` a parameter.
    for signs in [['{', '{'], [':', '=']] {
        let declares = |name: &&str| {
            code.match_indices(*name).any(|(at, _)| {
                let after = code.get(at + name.len()..).unwrap_or("");
                !code.get(..at).unwrap_or("").ends_with(is_part) && after.trim_start().starts_with(signs)
            })
        };
        found.extend(nearest(bare, names.iter().copied().filter(declares)));
    }
    // `f16` is not a misspelled `c16`: the letter tells the kind.
    let is_kind = |name: &&str| {
        let digits =
            |name: &str| name.get(1..).is_some_and(|size| !size.is_empty() && size.bytes().all(|byte| byte.is_ascii_digit()));
        !(digits(bare) && name.get(..1) != bare.get(..1))
    };
    found.extend(nearest(bare, primitives.iter().copied().filter(is_kind)));
    found.into_iter().map(|name| format!("{prefix}{name}")).collect()
}

/// The place of the last `{` that no `}` closes.
fn unclosed_brace(code: &str) -> Option<usize> {
    let mut open = Vec::new();
    for (at, c) in code.char_indices() {
        match c {
            '{' => open.push(at),
            '}' => drop(open.pop()),
            _ => {}
        }
    }
    open.pop()
}

/// The ends of the lines after an open brace at which it may end: before lines that are indented no more than its line, and
/// at the end of the text.
fn find_closing_offsets(code: &str, opened: usize, at: usize) -> Vec<usize> {
    let indent = |line: &str| line.len() - line.trim_start_matches([' ', '\t']).len();
    let start = code.get(..opened).and_then(|head| head.rfind('\n')).map_or(0, |at| at + 1);
    let own = code.get(start..).map_or(0, |line| indent(line.split('\n').next().unwrap_or("")));
    let (mut places, mut last, mut from) = (Vec::new(), opened + 1, start);
    for line in code.get(start..).unwrap_or("").split_inclusive('\n') {
        let is_blank = line.trim().is_empty();
        if from > opened && !is_blank && indent(line) <= own {
            places.push(last);
        }
        if !is_blank {
            last = from + line.trim_end().len();
        }
        from += line.len();
    }
    places.push(last);
    // The nearest to the error are tried.
    places.sort_by_key(|place| place.abs_diff(at));
    places.dedup();
    places.truncate(MAX_EDITS / 2);
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Mistakes, and the corrected line of each; `-` if none is known for sure.
    const MAX_MISTAKES: &[(Dialect, &str, &str)] = &[
        (Dialect::D2025, "x = float64[3]", "x = f8[3]"),
        (Dialect::D2025, "x = >Int32[3]", "x = >i4[3]"),
        (Dialect::D2025, "x = F8[3]", "x = f8[3]"),
        (Dialect::D2025, "name = char[8]", "name = S1[8]"),
        (Dialect::D2025, "Particle { m = f8 }\np = particle[3]", "p = Particle[3]"),
        (Dialect::D2025, "Particle { m = f8 }\np = Partcle[3]", "p = Particle[3]"),
        (Dialect::D2025, "nlat : 3\nx = f8[nlta]", "x = f8[nlat]"),
        (Dialect::D2025, "NLAT : 3\nx = f8[nlat] ## rows", "x = f8[NLAT] ## rows"),
        (Dialect::D2025, "n : 3\nx : f8[n]", "x = f8[n]"),
        (Dialect::D2025, "n = 3\nx = f8[n]", "n : 3"),
        (Dialect::D2025, "x f8[3]", "x = f8[3]"),
        (Dialect::D2025, "n : 3\nx = f8[n-1]", "x = f8[n-]"),
        (Dialect::D2025, "n : 3\nx = f8[n - 1, 2]", "x = f8[n-, 2]"),
        (Dialect::D2025, "n : 3\nx = f8[2, n+2]", "x = f8[2, n++]"),
        (Dialect::D2025, "{ n : u4 }\nx = f8[n]", "{ n : i4 }"),
        (Dialect::D2025, "{ n = i4 }\nx = f8[n]", "{ n : i4 }"),
        (Dialect::D2025, "n = i4\nx = f8[n]", "n : i4"),
        (Dialect::D2025, "n : 3\nx := f8[n]", "x = f8[n]"),
        (Dialect::D2025, "n : 3\nx = f8[n][2]", "x = f8[n, 2]"),
        (Dialect::D2025, "n : 3\ndouble x[n];", "x = f8[n]"),
        (Dialect::D2025, "n : 3\nfloat rho[n, 2]\ny = f8", "rho = f4[n, 2]"),
        (Dialect::D2025, "x = f16[3]", "-"),
        (Dialect::D2026, "n = 3\nx: f8(n-1)", "x: f8(n-)"),
        (Dialect::D2025, "x = f8[3] 128", "x = f8[3] @128"),
        (Dialect::D2025, "x = f8[3], y = f8", "x = f8[3] y = f8"),
        (Dialect::D2025, "x = f8[3];\ny = f8", "x = f8[3]"),
        (Dialect::D2025, "R { a = f8, b = f8 }\nx = R[2]", "R { a = f8 b = f8 }"),
        (Dialect::D2025, "x = f8(3)", "x = f8[3]"),
        (Dialect::D2025, "x = f8[3\ny = f8", "x = f8[3]"),
        (Dialect::D2025, "x = f8 3]\ny = f8", "x = f8[3]"),
        (Dialect::D2025, "R\n  a = f8\n}\nx = R[2]", "R {"),
        (Dialect::D2025, "R {\n  a = f8\n  b = i4[3]\nx = R[2]\n", "b = i4[3] }"),
        (Dialect::D2025, "R {\n  a = f8\n  b = i4[3]\n", "b = i4[3] }"),
        (Dialect::D2025, "x = f8[007]", "x = f8[7]"),
        (Dialect::D2025, "x = < f8", "x = <f8"),
        (Dialect::D2025, "x = f8[n]", "-"),
        (Dialect::D2025, "x = whatever", "-"),
        (Dialect::D2025, "n i4", "-"),
        (Dialect::D2026, "x: float32(3)", "x: f4(3)"),
        (Dialect::D2026, "x: f8[3]", "x: f8(3)"),
        (Dialect::D2026, "x = f8(3)", "x: f8(3)"),
        (Dialect::D2026, "x f8(3)", "x: f8(3)"),
        (Dialect::D2026, "x: f8(3) 128", "x: f8(3) @128"),
        (Dialect::D2026, "x: f8(3), y: f8", "x: f8(3) y: f8"),
        (Dialect::D2026, "x: f8(3\ny: f8", "x: f8(3)"),
        (Dialect::D2026, "x: F8(3)", "x: f8(3)"),
    ];

    #[test]
    fn corrections_remove_mistake() {
        let mut wrong = Vec::new();
        for (dialect, text, line) in MAX_MISTAKES {
            let how = ParseOptions::with_dialect(*dialect);
            let parsed = parse(text.as_bytes(), &how).unwrap();
            assert!(parsed.has_errors(), "{text}");
            let made = parsed.corrections(&Limits::default()).unwrap();
            let first = made.iter().flatten().next();
            if first.map_or("-", |one| &one.text) != *line {
                wrong.push(format!("{dialect:?} {text:?}: {first:?}, expected {line:?}: {:?}", parsed.diagnostics));
            }
            if let Some(first) = first {
                let again = parse(first.layout.as_bytes(), &how).unwrap();
                assert!(again.diagnostics.is_empty(), "{text}: {}: {:?}", first.layout, again.diagnostics);
                assert_eq!(first.layout.lines().nth(first.line as usize - 1).map(str::trim), Some(first.text.as_str()));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    #[test]
    fn one_mistake_of_many_is_corrected_by_itself() {
        let parsed = parse(b"x = float64\ny = nothing\nz = F4", &ParseOptions::with_dialect(Dialect::D2025)).unwrap();
        let made = parsed.corrections(&Limits::default()).unwrap();
        let lines: Vec<_> = made.iter().map(|one| one.as_ref().map(|one| (one.line, one.text.as_str()))).collect();
        assert_eq!(lines, [Some((1, "x = f8")), None, Some((3, "z = f4"))]);
    }
}
