//! The Dudley layout language of July 2025.

use super::rule::{Check, ConformanceRule, new_rule};
use super::{RuleSubject, StandardDocument};
use crate::layout::{Code, Dialect};

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
    grammar_rule(1, Code::E201, "a dict holds declarations, navigation and nothing else"),
    grammar_rule(1, Code::E202, "a name is followed by =, :, /, [ or {"),
    grammar_rule(1, Code::E208, "each declaration is complete at the end of the layout"),
    grammar_rule(1, Code::E319, "the language is that of 2025: no filters"),
    grammar_rule(1, Code::E406, "addresses fit in 64 bits"),
    grammar_rule(2, Code::E101, "a name in quotes has two quotes"),
    grammar_rule(3, Code::E102, "a string that is neither a name nor punctuation is quoted"),
    grammar_rule(4, Code::E205, "@ is followed by an address, % by 1, 2, 4, 8 or 16"),
    grammar_rule(6, Code::E211, "the value of an attribute is a number, a string or a list of one kind"),
    grammar_rule(7, Code::E308, "a parameter is declared once in a dict or struct"),
    grammar_rule(8, Code::E306, "a parameter is declared before its use, in the dict or struct or one around it"),
    grammar_rule(9, Code::E402, "the value of a stored parameter is -1, 0 or positive"),
    grammar_rule(10, Code::E401, "a stored parameter is in the stream"),
    grammar_rule(11, Code::E307, "the datatype of a parameter is i1, i2, i4 or i8, without a shape"),
    grammar_rule(13, Code::E301, "a name is declared once in a dict"),
    grammar_rule(16, Code::E212, ".. leads from a dict to the one around it"),
    grammar_rule(22, Code::E206, "a list holds datatypes, dicts and lists, separated by commas"),
    grammar_rule(22, Code::E302, "a name that is used again is of the same kind"),
    grammar_rule(28, Code::E313, "an item repeated by *n has no separate address"),
    grammar_rule(28, Code::E407, "n is a number or parameter that is not negative"),
    grammar_rule(29, Code::E312, "[n] repeats the last item of a list that has one"),
    grammar_rule(30, Code::E204, "a shape is dimensions separated by commas"),
    grammar_rule(31, Code::E103, "a number is written in digits without leading zeros, and fits in 64 bits"),
    grammar_rule(34, Code::E309, "a dimension is -1, 0 or positive"),
    grammar_rule(38, Code::E104, "< and > precede a primitive datatype"),
    grammar_rule(38, Code::E203, "a datatype is a primitive, a name or a struct"),
    grammar_rule(38, Code::E305, "the name of a datatype is declared before its use"),
    grammar_rule(39, Code::E207, "a struct holds parameters and data"),
    grammar_rule(40, Code::E317, "a member is declared once in a struct"),
    grammar_rule(45, Code::E316, "the name of a type is not that of a primitive with its byte order"),
    grammar_rule(53, Code::E303, "a type is declared once in a layout"),
    grammar_rule(54, Code::E209, "the summary block comes first"),
    grammar_rule(54, Code::W3, "a layout with a summary block has its stored parameters there"),
    grammar_rule(60, Code::W1, "a layout with a summary block has no addresses outside of structs"),
    grammar_rule(60, Code::W2, "a layout with a summary block has no structs of indeterminate length"),
    grammar_rule(62, Code::E304, "a primitive datatype is redefined before its first use"),
    grammar_rule(63, Code::E403, "the byte order is given if it matters"),
    grammar_rule(65, Code::E210, "the terminator is alone on its line"),
    new_rule("File signatures", 2, Check::LayoutEnd, "the layout follows all data", "rewrite the file with trilith convert"),
    new_rule("File signatures", 4, Check::Layout(Code::E404), "a native file begins with the signature of either byte order", REMEDY_TRANSFER),
    new_rule("File signatures", 8, Check::Layout(Code::E405), "the second eight bytes are zero or the address of the layout in the file", REMEDY_TRANSFER),
    new_rule("Primitive data types", 2, Check::Layout(Code::E310), "text has a dimension: the number of its characters", REMEDY_EDIT_LAYOUT),
];

const fn grammar_rule(sentence: u16, code: Code, text: &'static str) -> ConformanceRule {
    new_rule("Simplified grammar", sentence, Check::Layout(code), text, REMEDY_EDIT_LAYOUT)
}
