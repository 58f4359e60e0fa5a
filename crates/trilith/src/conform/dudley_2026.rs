//! The Dudley layout language of 2026, by the numbers of our specification of Dudley.

use super::rule::{Check, ConformanceRule, new_rule};
use super::{RuleSubject, StandardDocument};
use crate::layout::{DiagnosticCode, Dialect};

const REMEDY_EDIT_LAYOUT: &str = "edit the layout; trilith layout check shows the place";
const REMEDY_TRANSFER: &str = "transfer the file again, as binary";

/// Dudley of 2026.
pub(super) static DOCUMENT: StandardDocument = StandardDocument {
    name: "dudley-2026",
    title: "Dudley layout language, 2026",
    rules: RULES,
    law: RuleSubject::Dudley(Dialect::D2026),
};

#[rustfmt::skip]
static RULES: &[ConformanceRule] = &[
    rule("1.1", 1, DiagnosticCode::W10, "the layout is UTF-8 text"),
    rule("1.3", 1, DiagnosticCode::E101, "a name in quotes has two quotes"),
    rule("1.3", 1, DiagnosticCode::E102, "a string that is neither a name nor punctuation is quoted"),
    rule("1.3", 1, DiagnosticCode::E103, "an integer has no leading zeros, and fits in 64 bits"),
    rule("1.3", 1, DiagnosticCode::E104, "<, > and | precede a primitive datatype"),
    rule("1.4", 3, DiagnosticCode::E316, "the name of a type is not that of a primitive with its byte order"),
    rule("3", 1, DiagnosticCode::E201, "a dict holds declarations, navigation and nothing else"),
    rule("3", 1, DiagnosticCode::E202, "a name is followed by :, =, /, [ or {"),
    rule("3", 1, DiagnosticCode::E203, "a datatype is a primitive, a name or a struct"),
    rule("3", 1, DiagnosticCode::E204, "a shape is dimensions in parentheses, separated by commas"),
    rule("3", 1, DiagnosticCode::E205, "@ is followed by an address, % by 0 or a power of two"),
    rule("3", 1, DiagnosticCode::E206, "a list holds data, dicts, lists, copies and references, separated by commas"),
    rule("3", 1, DiagnosticCode::E207, "a struct is one type without a name, or named members"),
    rule("3", 1, DiagnosticCode::E208, "each declaration is complete at the end of the layout"),
    rule("3", 1, DiagnosticCode::E307, "the datatype of a parameter is a scalar integer"),
    rule("3.2", 1, DiagnosticCode::E311, "the element that is extended is there, and of the kind"),
    rule("3.3", 1, DiagnosticCode::E312, "the element that is copied is there"),
    rule("3.4", 1, DiagnosticCode::E315, "a referenced item has a shape of integers, and a type of the root"),
    rule("4.3", 1, DiagnosticCode::E301, "a name is declared once in a dict"),
    rule("4.3", 2, DiagnosticCode::E302, "a name that is used again is of the same kind"),
    rule("4.3", 3, DiagnosticCode::E303, "a type is declared once in a dict"),
    rule("4.3", 6, DiagnosticCode::E317, "a member is declared once in a struct"),
    rule("4.4", 2, DiagnosticCode::E306, "a parameter is declared before its use, in the dict or one around it"),
    rule("4.5", 2, DiagnosticCode::E305, "the name of a datatype is declared before its use"),
    rule("4.6", 3, DiagnosticCode::E304, "a primitive datatype is redefined before its first use"),
    rule("5.1", 1, DiagnosticCode::E309, "a dimension, and a fixed parameter, is -1, 0 or positive"),
    rule("5.1", 2, DiagnosticCode::E318, "at most 31 signs follow the name of a dimension"),
    rule("5.1", 4, DiagnosticCode::E402, "the value of a stored parameter is -1, 0 or positive"),
    rule("5.8", 1, DiagnosticCode::E401, "a stored parameter is in the stream"),
    rule("5.11", 1, DiagnosticCode::E406, "addresses fit in 64 bits"),
    rule("6", 6, DiagnosticCode::E403, "the byte order is given if it matters"),
    new_rule("7.1", 1, Check::Layout(DiagnosticCode::E405), "bytes 8 to 15 are zero or the address of the layout in the file", REMEDY_TRANSFER),
    new_rule("7.3", 3, Check::ItemsInsideFile, "each array is in the file, at the byte offset of the layout", "the file is truncated, or the layout describes another one"),
    new_rule("7.4", 3, Check::LayoutEnd, "the layout follows all data", "rewrite the file with trilith convert"),
    new_rule("7.5", 1, Check::Layout(DiagnosticCode::E404), "a native file begins with the signature of either byte order", REMEDY_TRANSFER),
    rule("9.3", 1, DiagnosticCode::E211, "the value of an attribute is a number, a string or a list of one kind"),
    rule("11", 2, DiagnosticCode::E314, "a filter has the arguments and the datatype that it takes"),
    new_rule("11", 5, Check::FilteredData, "compressed data decode to the size of the array", "the bytes are damaged"),
];

const fn rule(section: &'static str, sentence: u16, code: DiagnosticCode, text: &'static str) -> ConformanceRule {
    new_rule(section, sentence, Check::Layout(code), text, REMEDY_EDIT_LAYOUT)
}
