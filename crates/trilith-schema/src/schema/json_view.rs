//! A node from the view of a schema: the JSON type, the tag and the equality that Python asdf gives it.

use std::collections::HashSet;

use crate::tree::{Node, NodeKind, Scalar, YamlScalarStyle};

/// Prefix of YAML's own tags.
pub(super) const YAML_TAG: &str = "tag:yaml.org,2002:";

/// A JSON type, or the lack of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum JsonType {
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

impl JsonType {
    /// The bits of the name that a schema gives to a type.
    pub(super) fn bits_of(name: &str) -> Option<u8> {
        Some(match name {
            "null" => JsonType::Null as u8,
            "boolean" => JsonType::Boolean as u8,
            "integer" => JsonType::Integer as u8,
            "number" => JsonType::Number as u8 | JsonType::Integer as u8,
            "string" => JsonType::String as u8,
            "array" => JsonType::Array as u8,
            "object" => JsonType::Object as u8,
            _ => return None,
        })
    }

    /// Returns the name of the type for messages.
    pub(super) fn display_name(self) -> &'static str {
        match self {
            JsonType::Null => "null",
            JsonType::Boolean => "a boolean",
            JsonType::Integer => "an integer",
            JsonType::Number => "a number",
            JsonType::String => "text",
            JsonType::Array => "a sequence",
            JsonType::Object => "a mapping",
            JsonType::DateTime => "a timestamp",
            JsonType::Other => "a date, binary data or a set",
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
pub(super) fn bindable_tag(node: Node<'_>) -> Option<&str> {
    node.tag().filter(|tag| !is_yaml(tag))
}

fn is_yaml(tag: &str) -> bool {
    const YAML_TYPE_NAMES: [&str; 12] =
        ["null", "bool", "int", "float", "binary", "timestamp", "omap", "pairs", "set", "str", "seq", "map"];
    tag.strip_prefix(YAML_TAG).is_some_and(|name| YAML_TYPE_NAMES.contains(&name))
}

/// The JSON type of a node.
#[inline]
pub(super) fn json_type_of_node(node: Node<'_>) -> JsonType {
    match node.kind() {
        NodeKind::Mapping => {
            if yaml_tag(node) == Some("set") {
                JsonType::Other
            } else {
                JsonType::Object
            }
        }
        NodeKind::Sequence => {
            if yaml_tag(node) == Some("omap") {
                JsonType::Object
            } else {
                JsonType::Array
            }
        }
        NodeKind::Scalar if is_surely_text(node) => JsonType::String,
        NodeKind::Scalar if is_surely_integer(node) => JsonType::Integer,
        NodeKind::Scalar => json_of_scalar(&node.scalar()),
    }
}

/// Returns `true` if a scalar is text as far as a look at its tag, its style and its beginning can tell.
#[inline]
pub(super) fn is_surely_text(node: Node<'_>) -> bool {
    node.tag().is_none()
        && if node.style() == Some(YamlScalarStyle::Plain) { surely_text(node.source_text()) } else { !node.is_nonspecific() }
}

/// Returns `true` if a scalar is a short decimal integer, as most that are not text.
#[inline]
fn is_surely_integer(node: Node<'_>) -> bool {
    if node.style() != Some(YamlScalarStyle::Plain) || node.tag().is_some() {
        return false;
    }
    let digits = node.source_text().as_bytes();
    (1..=18).contains(&digits.len())
        && (digits.len() == 1 || digits.first() != Some(&b'0'))
        && digits.iter().all(u8::is_ascii_digit)
}

pub(super) fn json_of_scalar(scalar: &Scalar<'_>) -> JsonType {
    match scalar {
        Scalar::Null => JsonType::Null,
        Scalar::Bool(_) => JsonType::Boolean,
        Scalar::Int(_) | Scalar::BigInt(_) => JsonType::Integer,
        Scalar::Float(_) => JsonType::Number,
        Scalar::Str(_) => JsonType::String,
        // A date alone has ten characters.
        Scalar::Timestamp(text) if text.len() > 10 => JsonType::DateTime,
        Scalar::Timestamp(_) | Scalar::Binary(_) => JsonType::Other,
    }
}

/// The tag that the `tag` keyword compares with: of an untagged node that of its type.
pub(super) fn compared_tag(node: Node<'_>) -> Option<std::borrow::Cow<'_, str>> {
    if let Some(tag) = bindable_tag(node) {
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
    if key.style() == Some(YamlScalarStyle::Plain) && key.tag().is_none() && surely_text(key.source_text()) {
        // A plain key is on one line, verbatim.
        return Some(key.source_text().into());
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
pub(super) enum InstanceNumber {
    Int(i128),
    Float(f64),
}

impl InstanceNumber {
    /// The number that a node is.
    pub(super) fn from_node(node: Node<'_>) -> Option<Self> {
        if !node.is_scalar() {
            return None;
        }
        Self::of_scalar(&node.scalar())
    }

    pub(super) fn of_scalar(scalar: &Scalar<'_>) -> Option<Self> {
        match scalar {
            Scalar::Int(value) => Some(InstanceNumber::Int(i128::from(*value))),
            Scalar::Float(value) => Some(InstanceNumber::Float(*value)),
            Scalar::BigInt(digits) => Some(
                digits
                    .parse()
                    .map(InstanceNumber::Int)
                    .unwrap_or_else(|_| InstanceNumber::Float(digits.parse().unwrap_or(f64::NAN))),
            ),
            _ => None,
        }
    }

    /// Exact comparison; None if one is not a number.
    pub(super) fn compare(self, other: Self) -> Option<std::cmp::Ordering> {
        match (self, other) {
            (InstanceNumber::Int(a), InstanceNumber::Int(b)) => Some(a.cmp(&b)),
            (InstanceNumber::Float(a), InstanceNumber::Float(b)) => a.partial_cmp(&b),
            (InstanceNumber::Int(a), InstanceNumber::Float(b)) => int_with_float(a, b),
            (InstanceNumber::Float(a), InstanceNumber::Int(b)) => int_with_float(b, a).map(std::cmp::Ordering::reverse),
        }
    }

    /// Returns `true` if it is a whole multiple of `of`, or None if Python would fail to tell.
    pub(super) fn is_multiple(self, of: Self) -> Option<bool> {
        match (self, of) {
            (_, InstanceNumber::Int(0)) => None,
            (InstanceNumber::Int(a), InstanceNumber::Int(b)) => a.checked_rem(b).map(|rest| rest == 0),
            (InstanceNumber::Float(a), InstanceNumber::Int(b)) => Some(a % b as f64 == 0.0),
            (a, InstanceNumber::Float(b)) => {
                let a = match a {
                    InstanceNumber::Int(a) => a as f64,
                    InstanceNumber::Float(a) => a,
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
pub(super) enum ObjectPairs<'t> {
    Plain(crate::tree::MappingEntries<'t>),
    Listed(std::vec::IntoIter<(Node<'t>, Node<'t>)>),
}

impl<'t> ObjectPairs<'t> {
    /// `odd` holds the mappings with merge keys or duplicates.
    #[inline]
    pub(super) fn from_node(node: Node<'t>, odd: &HashSet<u32>) -> Self {
        if node.is_mapping() && (odd.is_empty() || !odd.contains(&(node.id().index() as u32))) {
            return ObjectPairs::Plain(node.entries());
        }
        let listed: Vec<_> = match node.kind() {
            NodeKind::Mapping => node.merged_entries(),
            _ => node.items().filter_map(|item| item.entries().next()).collect(),
        };
        ObjectPairs::Listed(listed.into_iter())
    }
}

impl<'t> Iterator for ObjectPairs<'t> {
    type Item = (Node<'t>, Node<'t>);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        match self {
            ObjectPairs::Plain(entries) => entries.next(),
            ObjectPairs::Listed(list) => list.next(),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        match self {
            ObjectPairs::Plain(entries) => entries.size_hint(),
            ObjectPairs::Listed(list) => list.size_hint(),
        }
    }
}

/// The equality of a keyword, as in Python.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EqualityRule {
    /// `uniqueItems`: true and 1 differ at any depth, and so do tags.
    UniqueItems,
    /// `enum`: true and 1 differ only at the top, where tags do not count.
    EnumValue,
}

/// Returns `true` if two nodes are the same value. At most `budget` nodes are compared.
pub(super) fn deep_eq(a: Node<'_>, b: Node<'_>, rule: EqualityRule, budget: &mut u64) -> bool {
    deep_eq_at(a, b, rule, 0, budget)
}

/// Maximum depth of a comparison. Deeper values count as different.
pub(super) const MAX_DEPTH: usize = 128;

fn deep_eq_at(a: Node<'_>, b: Node<'_>, rule: EqualityRule, depth: usize, budget: &mut u64) -> bool {
    if depth > MAX_DEPTH || *budget == 0 {
        return false;
    }
    *budget -= 1;
    let (is_strict, is_top) = (rule == EqualityRule::UniqueItems, depth == 0);
    if (is_strict || !is_top) && bindable_tag(a) != bindable_tag(b) {
        return false;
    }
    let none = HashSet::new();
    match (json_type_of_node(a), json_type_of_node(b)) {
        (JsonType::Array, JsonType::Array) => {
            a.len() == b.len() && a.items().zip(b.items()).all(|(x, y)| deep_eq_at(x, y, rule, depth + 1, budget))
        }
        (JsonType::Object, JsonType::Object) => {
            let (left, right): (Vec<_>, Vec<_>) =
                (ObjectPairs::from_node(a, &none).collect(), ObjectPairs::from_node(b, &none).collect());
            left.len() == right.len()
                && left.iter().all(|(key, value)| {
                    right
                        .iter()
                        .find(|(other, _)| deep_eq_at(*key, *other, rule, depth + 1, budget))
                        .is_some_and(|(_, other)| deep_eq_at(*value, *other, rule, depth + 1, budget))
                })
        }
        (JsonType::Array | JsonType::Object, _) | (_, JsonType::Array | JsonType::Object) => false,
        _ => same_scalar(&a.scalar(), &b.scalar(), is_strict || is_top),
    }
}

fn same_scalar(a: &Scalar<'_>, b: &Scalar<'_>, apart: bool) -> bool {
    let number = |scalar: &Scalar<'_>| match scalar {
        Scalar::Bool(value) if !apart => Some(InstanceNumber::Int(i128::from(*value))),
        other => InstanceNumber::of_scalar(other),
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
        assert_eq!(InstanceNumber::Int(big + 1).compare(InstanceNumber::Float(big as f64)), Some(Greater));
        assert_eq!(InstanceNumber::Int(3).compare(InstanceNumber::Float(3.5)), Some(Less));
        assert_eq!(InstanceNumber::Float(3.0).compare(InstanceNumber::Int(3)), Some(Equal));
        assert_eq!(InstanceNumber::Int(-4).compare(InstanceNumber::Float(-3.5)), Some(Less));
        assert_eq!(InstanceNumber::Int(1).compare(InstanceNumber::Float(f64::INFINITY)), Some(Less));
        assert_eq!(InstanceNumber::Int(1).compare(InstanceNumber::Float(f64::NAN)), None);
    }

    #[test]
    fn enum_distinguishes_true_from_one_except_in_lists() {
        let tree = tree("[true, 1, 1.0, [true], [1], {a: 1, b: 2}, {b: 2, a: 1.0}]");
        let at = |n| tree.root().index(n).unwrap();
        let equal = |a, b, rule| deep_eq(at(a), at(b), rule, &mut 1000);
        let (listed, unique) = (EqualityRule::EnumValue, EqualityRule::UniqueItems);
        assert!(!equal(0, 1, listed) && equal(1, 2, listed) && equal(3, 4, listed) && equal(5, 6, listed));
        assert!(!equal(3, 4, unique) && equal(5, 6, unique));
    }

    #[test]
    fn types_are_those_of_python() {
        for (text, json_type, tag) in [
            ("!!omap [a: 1]", JsonType::Object, Some("omap")),
            ("!!set {a}", JsonType::Other, Some("set")),
            ("2001-12-14t21:59:43.10-05:00", JsonType::DateTime, None),
            ("2001-12-14", JsonType::Other, None),
            ("null", JsonType::Null, None),
            ("", JsonType::Null, None),
            ("!!binary aGk=", JsonType::Other, Some("str")),
            ("1.0", JsonType::Number, Some("float")),
            ("! '1'", JsonType::Integer, Some("int")),
        ] {
            let tree = tree(text);
            assert_eq!(json_type_of_node(tree.root()), json_type, "{text}");
            assert_eq!(compared_tag(tree.root()).as_deref(), tag.map(|t| format!("{YAML_TAG}{t}")).as_deref(), "{text}");
        }
        let tree = tree("!<tag:example.org:n> 5");
        assert_eq!(json_type_of_node(tree.root()), JsonType::String);
    }
}
