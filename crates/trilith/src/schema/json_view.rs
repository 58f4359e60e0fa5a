//! A node from the view of a schema: the JSON type, the tag and the equality that Python asdf gives it.

use std::collections::HashSet;

use crate::tree::{Node, NodeKind, Scalar, Style};

/// Prefix of YAML's own tags.
pub(super) const YAML_TAG: &str = "tag:yaml.org,2002:";

/// A JSON type, or the lack of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Json {
    Null = 1,
    Boolean = 2,
    Integer = 4,
    Number = 8,
    String = 16,
    Array = 32,
    Object = 64,
    /// A date with a time of day: a string only if the schema has `format: date-time`.
    DateTime = 128,
    /// A date, bytes or a set: no JSON type has it.
    Other = 0,
}

impl Json {
    /// The bits of the name that a schema gives to a type.
    pub(super) fn bits_of(name: &str) -> Option<u8> {
        Some(match name {
            "null" => Json::Null as u8,
            "boolean" => Json::Boolean as u8,
            "integer" => Json::Integer as u8,
            "number" => Json::Number as u8 | Json::Integer as u8,
            "string" => Json::String as u8,
            "array" => Json::Array as u8,
            "object" => Json::Object as u8,
            _ => return None,
        })
    }

    /// Returns the name of the type for messages.
    pub(super) fn words(self) -> &'static str {
        match self {
            Json::Null => "null",
            Json::Boolean => "a boolean",
            Json::Integer => "an integer",
            Json::Number => "a number",
            Json::String => "text",
            Json::Array => "a sequence",
            Json::Object => "a mapping",
            Json::DateTime => "a timestamp",
            Json::Other => "a date, binary data or a set",
        }
    }
}

/// YAML's own tag of a node, without the prefix; None for a tag of another kind.
fn yaml_tag(node: Node<'_>) -> Option<&str> {
    match node.tag() {
        None => Some(""),
        Some(tag) => tag.strip_prefix(YAML_TAG),
    }
}

/// Returns the tag of a node, if a schema may be bound to it.
#[inline]
pub(super) fn own_tag(node: Node<'_>) -> Option<&str> {
    node.tag().filter(|tag| !is_yaml(tag))
}

fn is_yaml(tag: &str) -> bool {
    const KNOWN: [&str; 12] =
        ["null", "bool", "int", "float", "binary", "timestamp", "omap", "pairs", "set", "str", "seq", "map"];
    tag.strip_prefix(YAML_TAG).is_some_and(|name| KNOWN.contains(&name))
}

/// The JSON type of a node.
#[inline]
pub(super) fn json(node: Node<'_>) -> Json {
    match node.kind() {
        NodeKind::Mapping => {
            if yaml_tag(node) == Some("set") {
                Json::Other
            } else {
                Json::Object
            }
        }
        NodeKind::Sequence => {
            if yaml_tag(node) == Some("omap") {
                Json::Object
            } else {
                Json::Array
            }
        }
        NodeKind::Scalar if is_surely_text(node) => Json::String,
        NodeKind::Scalar if is_surely_integer(node) => Json::Integer,
        NodeKind::Scalar => json_of_scalar(&node.scalar()),
    }
}

/// Returns `true` if a scalar is text as far as a look at its tag, its style and its beginning can tell.
#[inline]
pub(super) fn is_surely_text(node: Node<'_>) -> bool {
    node.tag().is_none() && if node.style() == Some(Style::Plain) { surely_text(node.raw()) } else { !node.is_nonspecific() }
}

/// Returns `true` if a scalar is a short decimal integer, as most that are no text.
#[inline]
fn is_surely_integer(node: Node<'_>) -> bool {
    if node.style() != Some(Style::Plain) || node.tag().is_some() {
        return false;
    }
    let digits = node.raw().as_bytes();
    (1..=18).contains(&digits.len())
        && (digits.len() == 1 || digits.first() != Some(&b'0'))
        && digits.iter().all(u8::is_ascii_digit)
}

pub(super) fn json_of_scalar(scalar: &Scalar<'_>) -> Json {
    match scalar {
        Scalar::Null => Json::Null,
        Scalar::Bool(_) => Json::Boolean,
        Scalar::Int(_) | Scalar::BigInt(_) => Json::Integer,
        Scalar::Float(_) => Json::Number,
        Scalar::Str(_) => Json::String,
        // A date alone has ten characters.
        Scalar::Timestamp(text) if text.len() > 10 => Json::DateTime,
        Scalar::Timestamp(_) | Scalar::Binary(_) => Json::Other,
    }
}

/// The tag that the `tag` keyword compares with: of an untagged node that of its type.
pub(super) fn compared_tag(node: Node<'_>) -> Option<std::borrow::Cow<'_, str>> {
    if let Some(tag) = own_tag(node) {
        return Some(tag.into());
    }
    let name = match node.kind() {
        NodeKind::Mapping if yaml_tag(node) == Some("set") => "set",
        NodeKind::Mapping => "map",
        NodeKind::Sequence if yaml_tag(node) == Some("omap") => "omap",
        NodeKind::Sequence => "seq",
        NodeKind::Scalar => match node.scalar() {
            // In Python asdf no tag pattern matches these values, not even one that matches any tag.
            Scalar::Null | Scalar::Timestamp(_) => return None,
            Scalar::Bool(_) => "bool",
            Scalar::Int(_) | Scalar::BigInt(_) => "int",
            Scalar::Float(_) => "float",
            Scalar::Str(_) | Scalar::Binary(_) => "str",
        },
    };
    Some(format!("{YAML_TAG}{name}").into())
}

/// The text of a key, if it is a string.
#[inline]
pub(super) fn key_text(key: Node<'_>) -> Option<std::borrow::Cow<'_, str>> {
    if key.style() == Some(Style::Plain) && key.tag().is_none() && surely_text(key.raw()) {
        // A plain key is on one line, verbatim.
        return Some(key.raw().into());
    }
    match key.scalar() {
        Scalar::Str(text) if key.is_scalar() => Some(text),
        _ => None,
    }
}

/// Returns `true` if a plain scalar is surely text, as far as its length and its first byte can tell.
#[inline]
pub(super) fn surely_text(text: &str) -> bool {
    match text.as_bytes().first() {
        None => false,
        // No word for a boolean or null is longer than `false`.
        Some(b'n' | b'N' | b'y' | b'Y' | b't' | b'T' | b'f' | b'F' | b'o' | b'O') => text.len() > 5,
        Some(b) => !matches!(b, b'0'..=b'9' | b'+' | b'-' | b'.' | b'~' | b'=' | b'<'),
    }
}

/// A number of either kind.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Number {
    Int(i128),
    Float(f64),
}

impl Number {
    /// The number that a node is.
    pub(super) fn of(node: Node<'_>) -> Option<Self> {
        if !node.is_scalar() {
            return None;
        }
        Self::of_scalar(&node.scalar())
    }

    pub(super) fn of_scalar(scalar: &Scalar<'_>) -> Option<Self> {
        match scalar {
            Scalar::Int(value) => Some(Number::Int(i128::from(*value))),
            Scalar::Float(value) => Some(Number::Float(*value)),
            Scalar::BigInt(digits) => {
                Some(digits.parse().map(Number::Int).unwrap_or_else(|_| Number::Float(digits.parse().unwrap_or(f64::NAN))))
            }
            _ => None,
        }
    }

    /// Exact comparison; None if one is not a number.
    pub(super) fn compare(self, other: Self) -> Option<std::cmp::Ordering> {
        match (self, other) {
            (Number::Int(a), Number::Int(b)) => Some(a.cmp(&b)),
            (Number::Float(a), Number::Float(b)) => a.partial_cmp(&b),
            (Number::Int(a), Number::Float(b)) => int_with_float(a, b),
            (Number::Float(a), Number::Int(b)) => int_with_float(b, a).map(std::cmp::Ordering::reverse),
        }
    }

    /// Returns `true` if it is a whole multiple of `of`, or None if Python would fail to tell.
    pub(super) fn is_multiple(self, of: Self) -> Option<bool> {
        match (self, of) {
            (_, Number::Int(0)) => None,
            (Number::Int(a), Number::Int(b)) => a.checked_rem(b).map(|rest| rest == 0),
            (Number::Float(a), Number::Int(b)) => Some(a % b as f64 == 0.0),
            (a, Number::Float(b)) => {
                let a = match a {
                    Number::Int(a) => a as f64,
                    Number::Float(a) => a,
                };
                let quotient = a / b;
                if quotient.is_finite() { Some(quotient.trunc() == quotient) } else { None }
            }
        }
    }
}

fn int_with_float(a: i128, b: f64) -> Option<std::cmp::Ordering> {
    use std::cmp::Ordering::{Greater, Less};
    if b.is_nan() {
        return None;
    }
    // Beyond the range of i128 the sign of `b` decides.
    if b >= 1.7e38 {
        return Some(Less);
    }
    if b <= -1.7e38 {
        return Some(Greater);
    }
    let whole = b.floor();
    Some(a.cmp(&(whole as i128)).then(if b > whole { Less } else { std::cmp::Ordering::Equal }))
}

/// The pairs of an object: of a mapping as YAML 1.1 reads them, of an `!!omap` those of its items.
pub(super) enum Pairs<'t> {
    Plain(crate::tree::Entries<'t>),
    Listed(std::vec::IntoIter<(Node<'t>, Node<'t>)>),
}

impl<'t> Pairs<'t> {
    /// `odd` holds the mappings with merge keys or duplicates.
    #[inline]
    pub(super) fn of(node: Node<'t>, odd: &HashSet<u32>) -> Self {
        if node.is_mapping() && (odd.is_empty() || !odd.contains(&(node.id().index() as u32))) {
            return Pairs::Plain(node.entries());
        }
        let listed: Vec<_> = match node.kind() {
            NodeKind::Mapping => node.merged_entries(),
            _ => node.items().filter_map(|item| item.entries().next()).collect(),
        };
        Pairs::Listed(listed.into_iter())
    }
}

impl<'t> Iterator for Pairs<'t> {
    type Item = (Node<'t>, Node<'t>);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Pairs::Plain(entries) => entries.next(),
            Pairs::Listed(list) => list.next(),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        match self {
            Pairs::Plain(entries) => entries.size_hint(),
            Pairs::Listed(list) => list.size_hint(),
        }
    }
}

/// Returns `true` if two nodes are the same value. With `strict`, true and 1 differ at any depth (`uniqueItems`);
/// without, only at the top (`enum`), as in Python. At most `budget` nodes are compared.
pub(super) fn same(a: Node<'_>, b: Node<'_>, strict: bool, budget: &mut u64) -> bool {
    // The tag of the instance itself does not count in an enum.
    same_at(a, b, strict, true, 0, budget)
}

/// Maximum depth of a comparison. Deeper values count as different.
pub(super) const DEPTH: usize = 128;

fn same_at(a: Node<'_>, b: Node<'_>, strict: bool, top: bool, depth: usize, budget: &mut u64) -> bool {
    if depth > DEPTH || *budget == 0 {
        return false;
    }
    *budget -= 1;
    if (strict || !top) && own_tag(a) != own_tag(b) {
        return false;
    }
    let none = HashSet::new();
    match (json(a), json(b)) {
        (Json::Array, Json::Array) => {
            a.len() == b.len() && a.items().zip(b.items()).all(|(x, y)| same_at(x, y, strict, false, depth + 1, budget))
        }
        (Json::Object, Json::Object) => {
            let (left, right): (Vec<_>, Vec<_>) = (Pairs::of(a, &none).collect(), Pairs::of(b, &none).collect());
            left.len() == right.len()
                && left.iter().all(|(key, value)| {
                    right
                        .iter()
                        .find(|(other, _)| same_at(*key, *other, strict, false, depth + 1, budget))
                        .is_some_and(|(_, other)| same_at(*value, *other, strict, false, depth + 1, budget))
                })
        }
        (Json::Array | Json::Object, _) | (_, Json::Array | Json::Object) => false,
        _ => same_scalar(&a.scalar(), &b.scalar(), strict || top),
    }
}

fn same_scalar(a: &Scalar<'_>, b: &Scalar<'_>, apart: bool) -> bool {
    let number = |scalar: &Scalar<'_>| match scalar {
        Scalar::Bool(value) if !apart => Some(Number::Int(i128::from(*value))),
        other => Number::of_scalar(other),
    };
    match (number(a), number(b)) {
        (Some(x), Some(y)) => x.compare(y) == Some(std::cmp::Ordering::Equal),
        _ => a == b,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::Limits;
    use crate::tree::Tree;

    fn tree(text: &str) -> Tree {
        Tree::parse(text, &Limits::default()).unwrap()
    }

    #[test]
    fn integers_and_floats_compare_exactly() {
        use std::cmp::Ordering::{Equal, Greater, Less};
        let big = 1i128 << 53;
        assert_eq!(Number::Int(big + 1).compare(Number::Float(big as f64)), Some(Greater));
        assert_eq!(Number::Int(3).compare(Number::Float(3.5)), Some(Less));
        assert_eq!(Number::Float(3.0).compare(Number::Int(3)), Some(Equal));
        assert_eq!(Number::Int(-4).compare(Number::Float(-3.5)), Some(Less));
        assert_eq!(Number::Int(1).compare(Number::Float(f64::INFINITY)), Some(Less));
        assert_eq!(Number::Int(1).compare(Number::Float(f64::NAN)), None);
    }

    #[test]
    fn enum_distinguishes_true_from_one_except_in_lists() {
        let tree = tree("[true, 1, 1.0, [true], [1], {a: 1, b: 2}, {b: 2, a: 1.0}]");
        let at = |n| tree.root().index(n).unwrap();
        let equal = |a, b, strict| same(at(a), at(b), strict, &mut 1000);
        assert!(!equal(0, 1, false) && equal(1, 2, false) && equal(3, 4, false) && equal(5, 6, false));
        assert!(!equal(3, 4, true) && equal(5, 6, true));
    }

    #[test]
    fn types_are_those_of_python() {
        for (text, json_type, tag) in [
            ("!!omap [a: 1]", Json::Object, Some("omap")),
            ("!!set {a}", Json::Other, Some("set")),
            ("2001-12-14t21:59:43.10-05:00", Json::DateTime, None),
            ("2001-12-14", Json::Other, None),
            ("null", Json::Null, None),
            ("", Json::Null, None),
            ("!!binary aGk=", Json::Other, Some("str")),
            ("1.0", Json::Number, Some("float")),
            ("! '1'", Json::Integer, Some("int")),
        ] {
            let tree = tree(text);
            assert_eq!(json(tree.root()), json_type, "{text}");
            assert_eq!(compared_tag(tree.root()).as_deref(), tag.map(|t| format!("{YAML_TAG}{t}")).as_deref(), "{text}");
        }
        let tree = tree("!<tag:example.org:n> 5");
        assert_eq!(json(tree.root()), Json::String);
    }
}
