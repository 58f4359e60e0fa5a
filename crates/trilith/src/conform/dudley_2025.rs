//! The Dudley layout language of July 2025.

use super::rule::{Check, ConformanceRule, new_rule};
use super::{RuleSubject, StandardDocument};
use crate::layout::{DiagnosticCode, Dialect};

const REMEDY_EDIT_LAYOUT: &str = "edit the layout; trilith layout check shows the place";
const REMEDY_TRANSFER: &str = "transfer the file again, as binary";

/// Dudley of 2025.
pub(super) static DOCUMENT: StandardDocument = StandardDocument {
    name: "dudley-2025",
    title: "Dudley layout language, 2025",
    rules: RULES,
    law: RuleSubject::Dudley(Dialect::D2025),
};

#[rustfmt::skip]
static RULES: &[ConformanceRule] = &[
    new_rule("Data model", 8, Check::ItemsInsideFile, "each array is in the file, at the byte offset of the layout", "the file is truncated, or the layout describes another one"),
    grammar_rule(1, DiagnosticCode::E201, "a dict holds declarations, navigation and nothing else"),
    grammar_rule(1, DiagnosticCode::E202, "a name is followed by =, :, /, [ or {"),
    grammar_rule(1, DiagnosticCode::E208, "each declaration is complete at the end of the layout"),
    grammar_rule(1, DiagnosticCode::E319, "the language is that of 2025: no filters"),
    grammar_rule(1, DiagnosticCode::E406, "addresses fit in 64 bits"),
    grammar_rule(2, DiagnosticCode::E101, "a name in quotes has two quotes"),
    grammar_rule(3, DiagnosticCode::E102, "a string that is neither a name nor punctuation is quoted"),
    grammar_rule(4, DiagnosticCode::E205, "@ is followed by an address, % by 1, 2, 4, 8 or 16"),
    grammar_rule(6, DiagnosticCode::E211, "the value of an attribute is a number, a string or a list"),
    grammar_rule(7, DiagnosticCode::E308, "a parameter is declared once in a dict or struct"),
    grammar_rule(8, DiagnosticCode::E306, "a parameter is declared before its use, in the dict or struct or one around it"),
    grammar_rule(9, DiagnosticCode::E402, "the value of a stored parameter is -1, 0 or positive"),
    grammar_rule(10, DiagnosticCode::E401, "a stored parameter is in the stream"),
    grammar_rule(11, DiagnosticCode::E307, "the datatype of a parameter is i1, i2, i4 or i8, without a shape"),
    grammar_rule(13, DiagnosticCode::E301, "a name is declared once in a dict"),
    grammar_rule(16, DiagnosticCode::E212, ".. leads from a dict to the one around it"),
    grammar_rule(22, DiagnosticCode::E206, "a list holds datatypes, dicts and lists, separated by commas"),
    grammar_rule(22, DiagnosticCode::E302, "a name that is used again is of the same kind"),
    grammar_rule(28, DiagnosticCode::E313, "an item repeated by *n has no separate address"),
    grammar_rule(28, DiagnosticCode::E407, "n is a number or parameter that is not negative"),
    grammar_rule(29, DiagnosticCode::E312, "[n] repeats the last item of a list that has one"),
    grammar_rule(30, DiagnosticCode::E204, "a shape is dimensions separated by commas"),
    grammar_rule(31, DiagnosticCode::E103, "a number is written in digits without leading zeros, and fits in 64 bits"),
    grammar_rule(34, DiagnosticCode::E309, "a dimension is -1, 0 or positive"),
    grammar_rule(38, DiagnosticCode::E104, "< and > precede a primitive datatype"),
    grammar_rule(38, DiagnosticCode::E203, "a datatype is a primitive, a name or a struct"),
    grammar_rule(38, DiagnosticCode::E305, "the name of a datatype is declared before its use"),
    grammar_rule(39, DiagnosticCode::E207, "a struct holds parameters and data"),
    grammar_rule(40, DiagnosticCode::E317, "a member is declared once in a struct"),
    grammar_rule(45, DiagnosticCode::E316, "the name of a type is not that of a primitive with its byte order"),
    grammar_rule(53, DiagnosticCode::E303, "a type is declared once in a layout"),
    grammar_rule(54, DiagnosticCode::E209, "the summary block comes first"),
    grammar_rule(62, DiagnosticCode::E304, "a primitive datatype is redefined before its first use"),
    grammar_rule(63, DiagnosticCode::E403, "the byte order is given if it matters"),
    grammar_rule(65, DiagnosticCode::E210, "the terminator is alone on its line"),
    new_rule("File signatures", 2, Check::LayoutEnd, "the layout follows all data", "rewrite the file with trilith convert"),
    new_rule("File signatures", 4, Check::Layout(DiagnosticCode::E404), "a native file begins with the signature of either byte order", REMEDY_TRANSFER),
    new_rule("File signatures", 8, Check::Layout(DiagnosticCode::E405), "the second eight bytes are zero or the address of the layout in the file", REMEDY_TRANSFER),
    new_rule("Primitive data types", 2, Check::Layout(DiagnosticCode::E310), "text has a dimension: the number of its characters", REMEDY_EDIT_LAYOUT),
];

const fn grammar_rule(sentence: u16, code: DiagnosticCode, text: &'static str) -> ConformanceRule {
    new_rule("Simplified grammar", sentence, Check::Layout(code), text, REMEDY_EDIT_LAYOUT)
}
