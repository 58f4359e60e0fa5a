//! Problems of a layout, with their places and remedies.
//!
//! Errors and warnings of the grammar are collected, not thrown: a text with three mistakes yields three. Codes and
//! positions are those of section 12 of our specification of Dudley.

use std::fmt;

use crate::diagnostic::{Diagnostic, Severity};
use crate::span::Span;

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {
        /// The code of a [`Diagnostic`]: `E…` are errors, `W…` warnings.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum DiagnosticCode {
            $($(#[$doc])* $name),+
        }

        impl DiagnosticCode {
            /// All codes, errors first.
            pub const ALL: &'static [DiagnosticCode] = &[$(DiagnosticCode::$name),+];

            /// The code as it is shown, such as `E306`.
            pub fn name(self) -> &'static str {
                match self {
                    $(DiagnosticCode::$name => stringify!($name)),+
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
    /// The token cannot start a dict item.
    E201,
    /// Expected one of `= : / [ {` after a name.
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
    /// The list has no element to repeat.
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
    /// Too many signs (`+` or `-`) after the name of a dimension.
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

impl DiagnosticCode {
    /// Returns `true` if it is a warning only.
    pub fn is_warning(self) -> bool {
        self >= DiagnosticCode::W1
    }

    /// Returns `true` if a layout with it can still be used: warnings, and bad attribute comments.
    pub fn is_harmless(self) -> bool {
        self.is_warning() || self == DiagnosticCode::E211
    }
}

impl fmt::Display for DiagnosticCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl DiagnosticCode {
    /// A diagnostic whose line and column are not known yet.
    pub(crate) fn to_diagnostic(self, span: Span, message: impl Into<String>) -> Diagnostic {
        let severity = if self.is_warning() { Severity::Warning } else { Severity::Error };
        let mut found = Diagnostic::new(severity, message).code(self.name()).at_span(span);
        found.is_harmless = self.is_harmless();
        found
    }

    /// The code of a diagnostic of a layout.
    pub fn from_diagnostic(found: &Diagnostic) -> Option<Self> {
        Self::ALL.iter().find(|code| code.name() == found.code).copied()
    }
}
