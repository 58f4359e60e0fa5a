//! What is wrong with a layout, where, and what to do about it.
//!
//! Errors and warnings of the grammar are collected, not thrown: a text with three mistakes yields
//! three. Codes and positions are those of section 12 of our specification of Dudley.

use std::fmt;

use crate::error::Error;
use crate::span::{Span, line_column};

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {
        /// The code of a [`Diagnostic`]: `E…` are errors, `W…` warnings.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum Code {
            $($(#[$doc])* $name),+
        }

        impl Code {
            /// All codes, errors first.
            pub const ALL: &'static [Code] = &[$(Code::$name),+];

            /// The code as it is shown, such as `E306`.
            pub fn name(self) -> &'static str {
                match self {
                    $(Code::$name => stringify!($name)),+
                }
            }
        }
    };
}

codes! {
    /// Unterminated quoted name.
    E101,
    /// Illegal character.
    E102,
    /// Bad integer.
    E103,
    /// `<`, `>` or `|` not followed by a primitive.
    E104,
    /// This cannot start a dict item.
    E201,
    /// After a name expected one of `= : / [ {`.
    E202,
    /// Expected a datatype.
    E203,
    /// Bad shape.
    E204,
    /// Bad placement.
    E205,
    /// Bad list.
    E206,
    /// Bad struct or summary member.
    E207,
    /// End of layout.
    E208,
    /// Summary block not first.
    E209,
    /// Terminator not alone.
    E210,
    /// Bad attribute comment.
    E211,
    /// `..` above the top.
    E212,
    /// Data name used twice.
    E301,
    /// Name is something of another kind.
    E302,
    /// Type declared twice.
    E303,
    /// Primitive redefined after its first use.
    E304,
    /// Unknown type.
    E305,
    /// Parameter not in scope.
    E306,
    /// Datatype of a parameter is not a scalar integer.
    E307,
    /// Parameter declared twice.
    E308,
    /// Dimension or fixed parameter below -1.
    E309,
    /// Text without a dimension.
    E310,
    /// List element of that index or kind does not exist.
    E311,
    /// Nothing to repeat.
    E312,
    /// `@` inside a repetition.
    E313,
    /// Bad filter.
    E314,
    /// Restriction of a referenced item.
    E315,
    /// Reserved name.
    E316,
    /// Struct member declared twice.
    E317,
    /// Too many `+` or `-`.
    E318,
    /// Construct of the other dialect.
    E319,
    /// Stream too short for a parameter.
    E401,
    /// Value of a parameter out of range.
    E402,
    /// Byte order unknown.
    E403,
    /// Bad signature.
    E404,
    /// Bad layout address in the header.
    E405,
    /// An address or size does not fit 64 bits.
    E406,
    /// Negative repeat count.
    E407,
    /// The layout is not a template.
    E408,
    /// Wrong number of parameters.
    E409,
    /// Writing would hit the header.
    E410,
    /// Template with an explicit address.
    W1,
    /// Template with structs of indeterminate length.
    W2,
    /// Template with a stored parameter outside its summary.
    W3,
    /// `name : f8` in a summary means `name = f8`.
    W4,
    /// A name is a type and a parameter.
    W5,
    /// A primitive became something of another kind or size.
    W6,
    /// `../` goes to the top.
    W7,
    /// `p4` and `p8` are mentioned by the document only in passing.
    W8,
    /// The text means different things in the two dialects.
    W9,
    /// The text is not UTF-8.
    W10,
    /// Items overlap.
    W11,
}

impl Code {
    /// Whether it is a warning only.
    pub fn is_warning(self) -> bool {
        self >= Code::W1
    }

    /// Whether a layout with it can still be used: warnings, and bad attribute comments.
    pub fn is_harmless(self) -> bool {
        self.is_warning() || self == Code::E211
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One error or warning about a layout.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Diagnostic {
    /// Which rule.
    pub code: Code,
    /// The bytes of the (decoded) text that it is about.
    pub span: Span,
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
    /// What was found and what was expected.
    pub message: String,
    /// What to do about it, or "".
    pub hint: String,
}

impl Diagnostic {
    /// A diagnostic whose line and column are not known yet.
    pub(crate) fn new(code: Code, span: Span, message: impl Into<String>) -> Self {
        Self { code, span, line: 0, column: 0, message: message.into(), hint: String::new() }
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = hint.into();
        self
    }

    pub(crate) fn locate(mut self, text: &str) -> Self {
        (self.line, self.column) = line_column(text, self.span.start as usize);
        self
    }

    /// The message with the line of `text` that it is about and a caret under the place.
    ///
    /// ```
    /// use trilith::layout::{self, ParseOptions};
    /// let parsed = layout::parse(b"x = f8[N]", &ParseOptions::default()).unwrap();
    /// assert_eq!(
    ///     parsed.diagnostics[0].render(&parsed.text, "x.dud"),
    ///     "error E306: parameter `N` is not in scope\n --> x.dud:1:8\n  |\n1 | x = f8[N]\n  |        ^\n"
    /// );
    /// ```
    pub fn render(&self, text: &str, file: &str) -> String {
        const WIDTH: usize = 160;
        let severity = if self.code.is_warning() { "warning" } else { "error" };
        let mut out = format!("{severity} {}: {}\n --> {file}:{}:{}\n", self.code, self.message, self.line, self.column);
        let start = (self.span.start as usize).min(text.len());
        let from = text.get(..start).map_or(0, |head| head.rfind(['\n', '\r']).map_or(0, |n| n + 1));
        let line = text.get(from..).unwrap_or("");
        let line = line.split(['\n', '\r']).next().unwrap_or("");
        let column = self.column.saturating_sub(1) as usize;
        // A window of a long line, so that the caret is in sight.
        let skip = column.saturating_sub(WIDTH * 3 / 4);
        let shown: String = line.chars().skip(skip).take(WIDTH).map(visible).collect();
        let number = self.line.to_string();
        let margin = " ".repeat(number.len());
        let marked = self.span.slice(text).split(['\n', '\r']).next().unwrap_or("").chars().count();
        let carets = "^".repeat(marked.clamp(1, WIDTH.saturating_sub(column - skip).max(1)));
        out.push_str(&format!("{margin} |\n{number} | {shown}\n{margin} | {}{carets}\n", " ".repeat(column - skip)));
        if !self.hint.is_empty() {
            out.push_str(&format!("{margin} = help: {}\n", self.hint));
        }
        out
    }
}

/// Tabs count one column and control characters must not reach a terminal.
fn visible(c: char) -> char {
    if c.is_control() { ' ' } else { c }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)
    }
}

impl From<Diagnostic> for Error {
    fn from(diagnostic: Diagnostic) -> Self {
        let error = Error::malformed(diagnostic.to_string()).at_text(diagnostic.line, diagnostic.column);
        if diagnostic.hint.is_empty() { error } else { error.hint(diagnostic.hint) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_caret_stands_under_the_place() {
        let text = "a = f8\nb = q9[2]\n";
        let shown = Diagnostic::new(Code::E305, Span::new(11, 13), "unknown type `q9`").locate(text).render(text, "f");
        assert_eq!(shown, "error E305: unknown type `q9`\n --> f:2:5\n  |\n2 | b = q9[2]\n  |     ^^\n");
    }
}
