//! The Dudley layout language of July 2025.

use super::rule::{Check, Rule, rule};
use super::{Document, Law};
use crate::layout::{Code, Dialect};

const TEXT: &str = "edit the layout; trilith layout check shows the place";
const WHOLE: &str = "transfer the file again, as binary";

/// Dudley of 2025.
pub(super) static DOCUMENT: Document =
    Document { name: "dudley-2025", title: "Dudley layout language, 2025", rules: RULES, law: Law::Dudley(Dialect::D2025) };

#[rustfmt::skip]
static RULES: &[Rule] = &[
    rule("Data model", 8, Check::Inside, "each array is in the file, at the byte offset of the layout", "the file is truncated, or the layout describes another one"),
    grammar(1, Code::E201, "a dict holds declarations, navigation and nothing else"),
    grammar(1, Code::E202, "a name is followed by =, :, /, [ or {"),
    grammar(1, Code::E208, "each declaration is complete at the end of the layout"),
    grammar(1, Code::E319, "the language is that of 2025: no filters"),
    grammar(1, Code::E406, "addresses fit in 64 bits"),
    grammar(2, Code::E101, "a name in quotes has two quotes"),
    grammar(3, Code::E102, "a string that is neither a name nor punctuation is quoted"),
    grammar(4, Code::E205, "@ is followed by an address, % by 1, 2, 4, 8 or 16"),
    grammar(6, Code::E211, "the value of an attribute is a number, a string or a list of one kind"),
    grammar(7, Code::E308, "a parameter is declared once in a dict or struct"),
    grammar(8, Code::E306, "a parameter is declared before its use, in the dict or struct or one around it"),
    grammar(9, Code::E402, "the value of a stored parameter is -1, 0 or positive"),
    grammar(10, Code::E401, "a stored parameter is in the stream"),
    grammar(11, Code::E307, "the datatype of a parameter is i1, i2, i4 or i8, without a shape"),
    grammar(13, Code::E301, "a name is declared once in a dict"),
    grammar(16, Code::E212, ".. leads from a dict to the one around it"),
    grammar(22, Code::E206, "a list holds datatypes, dicts and lists, separated by commas"),
    grammar(22, Code::E302, "a name that is used again is of the same kind"),
    grammar(28, Code::E313, "an item repeated by *n has no separate address"),
    grammar(28, Code::E407, "n is a number or parameter that is not negative"),
    grammar(29, Code::E312, "[n] repeats the last item of a list that has one"),
    grammar(30, Code::E204, "a shape is dimensions separated by commas"),
    grammar(31, Code::E103, "a number is written in digits without leading zeros, and fits in 64 bits"),
    grammar(34, Code::E309, "a dimension is -1, 0 or positive"),
    grammar(38, Code::E104, "< and > precede a primitive datatype"),
    grammar(38, Code::E203, "a datatype is a primitive, a name or a struct"),
    grammar(38, Code::E305, "the name of a datatype is declared before its use"),
    grammar(39, Code::E207, "a struct holds parameters and data"),
    grammar(40, Code::E317, "a member is declared once in a struct"),
    grammar(45, Code::E316, "the name of a type is not that of a primitive with its byte order"),
    grammar(53, Code::E303, "a type is declared once in a layout"),
    grammar(54, Code::E209, "the summary block comes first"),
    grammar(54, Code::W3, "a layout with a summary block has its stored parameters there"),
    grammar(60, Code::W1, "a layout with a summary block has no addresses outside of structs"),
    grammar(60, Code::W2, "a layout with a summary block has no structs of indeterminate length"),
    grammar(62, Code::E304, "a primitive datatype is redefined before its first use"),
    grammar(63, Code::E403, "the byte order is given if it matters"),
    grammar(65, Code::E210, "the terminator is alone on its line"),
    rule("File signatures", 2, Check::LayoutEnd, "the layout follows all data", "rewrite the file with trilith convert"),
    rule("File signatures", 4, Check::Layout(Code::E404), "a native file begins with the signature of either byte order", WHOLE),
    rule("File signatures", 8, Check::Layout(Code::E405), "the second eight bytes are zero or the address of the layout in the file", WHOLE),
    rule("Primitive data types", 2, Check::Layout(Code::E310), "text has a dimension: the number of its characters", TEXT),
];

const fn grammar(sentence: u16, code: Code, text: &'static str) -> Rule {
    rule("Simplified grammar", sentence, Check::Layout(code), text, TEXT)
}
