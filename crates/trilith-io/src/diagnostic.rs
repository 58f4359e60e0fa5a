//! Findings in a file, with their places and remedies.
//!
//! One type holds everything that is reported and does not end the work: errors and warnings of a layout,
//! violations of a schema, text that a strict reader of YAML would refuse, units, and losses of a conversion or a
//! translation.

use std::fmt;

use crate::error::Error;
use crate::span::{Span, line_column};

/// The importance of a [`Diagnostic`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Severity {
    /// A rule is broken.
    Error,
    /// The content can be read, but a strict reader or writer refuses it, or something of it is lost.
    Warning,
    /// Good to know: a change of words, or something that could not be checked.
    Note,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "note",
        })
    }
}

/// One thing that was found, and where.
///
/// ```
/// use trilith_io::{Diagnostic, Severity};
/// let found = Diagnostic::new(Severity::Error, "parameter `N` is not in scope").code("E306").at_text((1, 8));
/// assert_eq!((found.code, found.line, found.column), ("E306", 1, 8));
/// assert_eq!(found.message, "parameter `N` is not in scope");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Diagnostic {
    /// The importance.
    pub severity: Severity,
    /// A stable name of the rule, such as `E306` of a layout or `duplicate-key` of a tree; "" if it has none.
    pub code: &'static str,
    /// The finding, in words.
    pub message: String,
    /// JSON Pointer of the node, or path of the item; `None` if it is about no item.
    pub path: Option<String>,
    /// Line within the file, from 1; 0 if it is not known.
    pub line: u32,
    /// Column in characters, from 1; 0 if it is not known.
    pub column: u32,
    /// The byte of the file, if nothing else is known.
    pub byte: Option<u64>,
    /// The text that it is about, within the text of the tree or the layout.
    pub span: Span,
    /// The expectation, in words; "" if the message is enough.
    pub expectation: String,
    /// URI and pointer of the rule of a schema; "" for a rule of the standard itself.
    pub schema: String,
    /// The probable intention, or a remedy.
    pub hint: Option<String>,
    /// `true` if what it is about can be used as if it were not there: nothing is lost, and nothing means something
    /// else.
    pub is_harmless: bool,
}

impl From<Diagnostic> for Error {
    fn from(found: Diagnostic) -> Self {
        let code = if found.code.is_empty() { String::new() } else { format!("{}: ", found.code) };
        let error = Error::malformed(format!("{code}{}", found.message)).at_text(found.line, found.column);
        match found.hint {
            Some(hint) => error.hint(hint),
            None => error,
        }
    }
}

impl Diagnostic {
    /// A diagnostic without a place. Errors are not harmless, warnings and notes are.
    pub fn new(severity: Severity, message: impl Into<String>) -> Self {
        Self {
            severity,
            code: "",
            message: message.into(),
            path: None,
            line: 0,
            column: 0,
            byte: None,
            span: Span::default(),
            expectation: String::new(),
            schema: String::new(),
            hint: None,
            is_harmless: severity != Severity::Error,
        }
    }

    /// Returns a loss when `path` is written in another form.
    #[doc(hidden)]
    pub fn loss(path: &(impl fmt::Display + ?Sized), message: impl Into<String>) -> Self {
        Self { path: Some(path.to_string()), ..Self::loss_without_path(message) }
    }

    /// Returns a loss that concerns no item.
    #[doc(hidden)]
    pub fn loss_without_path(message: impl Into<String>) -> Self {
        Self { is_harmless: false, ..Self::new(Severity::Warning, message) }
    }

    /// The path of the item, "" for the root and if it is about no item.
    pub fn path_text(&self) -> &str {
        self.path.as_deref().unwrap_or("")
    }

    /// Sets the name of the rule.
    #[doc(hidden)]
    pub fn code(mut self, code: &'static str) -> Self {
        self.code = code;
        self
    }

    /// Sets the path of the item.
    #[doc(hidden)]
    pub fn at_path(mut self, path: impl Into<String>) -> Self {
        self.path = Some(path.into());
        self
    }

    /// Sets the text that it is about.
    #[doc(hidden)]
    pub fn at_span(mut self, span: Span) -> Self {
        self.span = span;
        self
    }

    /// Sets the line and the column, as one pair.
    #[doc(hidden)]
    pub fn at_text(mut self, (line, column): (u32, u32)) -> Self {
        (self.line, self.column) = (line, column);
        self
    }

    /// Sets a remedy; an empty one is none.
    #[doc(hidden)]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into()).filter(|hint| !hint.is_empty());
        self
    }

    /// Sets a remedy, if there is one.
    #[doc(hidden)]
    pub fn opt_hint(mut self, hint: Option<String>) -> Self {
        self.hint = hint;
        self
    }

    /// Finds line and column of the span in `text`.
    #[doc(hidden)]
    pub fn locate(self, text: &str) -> Self {
        let at = line_column(text, self.span.start as usize);
        self.at_text(at)
    }

    /// The message with the line of `text` that it is about and a caret under the place.
    ///
    /// ```
    /// use trilith_io::{Diagnostic, Severity, Span};
    /// let found = Diagnostic::new(Severity::Error, "parameter `N` is not in scope").code("E306").at_span(Span::new(7, 8));
    /// assert_eq!(
    ///     found.locate("x = f8[N]").render("x = f8[N]", "x.dud"),
    ///     "error E306: parameter `N` is not in scope\n --> x.dud:1:8\n  |\n1 | x = f8[N]\n  |        ^\n"
    /// );
    /// ```
    pub fn render(&self, text: &str, file: &str) -> String {
        const MAX_LINE_WIDTH: usize = 160;
        let code = if self.code.is_empty() { String::new() } else { format!(" {}", self.code) };
        let mut out = format!("{}{code}: {}\n --> {file}:{}:{}\n", self.severity, self.message, self.line, self.column);
        let start = (self.span.start as usize).min(text.len());
        let from = text.get(..start).map_or(0, |head| head.rfind(['\n', '\r']).map_or(0, |n| n + 1));
        let line = text.get(from..).unwrap_or("");
        let line = line.split(['\n', '\r']).next().unwrap_or("");
        let column = self.column.saturating_sub(1) as usize;
        // A window of a long line, so that the caret is in sight.
        let skip = column.saturating_sub(MAX_LINE_WIDTH * 3 / 4);
        let shown: String = line.chars().skip(skip).take(MAX_LINE_WIDTH).map(replace_control_char).collect();
        let number = self.line.to_string();
        let margin = " ".repeat(number.len());
        let marked = self.span.slice(text).split(['\n', '\r']).next().unwrap_or("").chars().count();
        let carets = "^".repeat(marked.clamp(1, MAX_LINE_WIDTH.saturating_sub(column - skip).max(1)));
        out.push_str(&format!("{margin} |\n{number} | {shown}\n{margin} | {}{carets}\n", " ".repeat(column - skip)));
        if let Some(hint) = &self.hint {
            out.push_str(&format!("{margin} = help: {hint}\n"));
        }
        out
    }
}

/// Tabs count one column and control characters must not reach a terminal.
fn replace_control_char(c: char) -> char {
    if c.is_control() { ' ' } else { c }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = match self.path.as_deref() {
            None => None,
            Some("") => Some("the root"),
            path => path,
        };
        match (place, self.line) {
            (None, 0) => {}
            (None, line) => write!(f, "line {line}, column {}: ", self.column)?,
            (Some(path), 0) => write!(f, "{path}: ")?,
            (Some(path), line) => write!(f, "{path} (line {line}, column {}): ", self.column)?,
        }
        f.write_str(&self.message)?;
        if !self.expectation.is_empty() {
            write!(f, ", expected {}", self.expectation)?;
        }
        if let Some(hint) = &self.hint {
            write!(f, "; {hint}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn render_places_caret_under_span() {
        let text = "a = f8\nb = q9[2]\n";
        let found = Diagnostic::new(Severity::Error, "unknown type `q9`").code("E305").at_span(Span::new(11, 13)).locate(text);
        assert_eq!(found.render(text, "f"), "error E305: unknown type `q9`\n --> f:2:5\n  |\n2 | b = q9[2]\n  |     ^^\n");
    }

    #[test]
    fn display_shows_location_once() {
        let found = Diagnostic::new(Severity::Warning, "a key twice");
        assert_eq!(found.to_string(), "a key twice");
        assert_eq!(found.clone().at_text((2, 5)).to_string(), "line 2, column 5: a key twice");
        assert_eq!(found.clone().at_path("").to_string(), "the root: a key twice");
        assert_eq!(
            found.at_path("/a").at_text((2, 5)).hint("drop one").to_string(),
            "/a (line 2, column 5): a key twice; drop one"
        );
    }
}
