//! Datatypes that may replace the one that a schema demands: the safe casts of NumPy, and datatype and number of
//! dimensions of an ndarray node.

use super::json_view::{JsonType, bindable_tag, json_type_of_node};
use crate::tree::{Node, Scalar};

/// The simple datatypes, in the order of the columns of [`SAFE_CASTS`].
pub(super) const DATATYPES: [&str; 14] = [
    "bool8",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "float32",
    "float64",
    "complex64",
    "complex128",
];

/// For each simple datatype, a mask of the datatypes that hold all its values. Bit n is the datatype `DATATYPES[n]`.
const SAFE_CASTS: [u16; 14] = [
    0b11111111111111, // bool8
    0b11111000011110, // int8
    0b11110000011100, // int16
    0b10100000011000, // int32
    0b10100000010000, // int64
    0b11111111111100, // uint8
    0b11110111011000, // uint16
    0b10100110010000, // uint32
    0b10100100000000, // uint64
    0b11111000000000, // float16
    0b11110000000000, // float32
    0b10100000000000, // float64
    0b11000000000000, // complex64
    0b10000000000000, // complex128
];

/// Number of characters of a string that holds every value.
const STRING_WIDTHS: [u64; 14] = [5, 4, 6, 11, 21, 3, 5, 10, 20, 32, 32, 32, 64, 64];

/// A datatype, as far as casting needs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CastKind {
    /// `DATATYPES[n]`.
    Simple(usize),
    Ascii(u64),
    Ucs4(u64),
    /// Fields: datatype and shape.
    Struct(Vec<(CastKind, Vec<u64>)>),
}

/// Maximum depth of nested structured datatypes.
const MAX_DEPTH: usize = 32;

impl CastKind {
    /// Reads a datatype as a tree or a schema writes it; None if there is no such datatype.
    pub(super) fn from_node(node: Node<'_>) -> Option<Self> {
        Self::read_at(node, 0)
    }

    fn read_at(node: Node<'_>, depth: usize) -> Option<Self> {
        if depth > MAX_DEPTH {
            return None;
        }
        match json_type_of_node(node) {
            JsonType::String => DATATYPES.iter().position(|name| *name == node.text()).map(CastKind::Simple),
            JsonType::Array => {
                if let Some(text) = text_type(node) {
                    return Some(text);
                }
                node.items().map(|field| Self::read_field(field, depth)).collect::<Option<_>>().map(CastKind::Struct)
            }
            _ => None,
        }
    }

    fn read_field(node: Node<'_>, depth: usize) -> Option<(CastKind, Vec<u64>)> {
        if !node.is_mapping() {
            return Self::read_at(node, depth + 1).map(|kind| (kind, Vec::new()));
        }
        let shape = match node.get("shape") {
            Some(shape) if shape.is_sequence() => shape.items().map(Node::as_u64).collect::<Option<_>>()?,
            _ => Vec::new(),
        };
        Some((Self::read_at(node.get("datatype")?, depth + 1)?, shape))
    }

    /// Returns the datatype in the spelling of the standard.
    pub(super) fn spec_name(&self) -> String {
        match self {
            CastKind::Simple(at) => DATATYPES.get(*at).copied().unwrap_or("").to_owned(),
            CastKind::Ascii(n) => format!("[ascii, {n}]"),
            CastKind::Ucs4(n) => format!("[ucs4, {n}]"),
            CastKind::Struct(fields) => {
                let fields: Vec<_> = fields.iter().map(|(kind, _)| kind.spec_name()).collect();
                format!("[{}]", fields.join(", "))
            }
        }
    }

    /// Returns `true` if every value of this datatype is one of `to`.
    pub(super) fn casts_to(&self, to: &CastKind) -> bool {
        match (self, to) {
            (CastKind::Simple(a), CastKind::Simple(b)) => SAFE_CASTS.get(*a).is_some_and(|safe| safe >> b & 1 == 1),
            // A length of 0 is any length.
            (_, CastKind::Ascii(0)) if !matches!(self, CastKind::Struct(_) | CastKind::Ucs4(_)) => true,
            (_, CastKind::Ucs4(0)) if !matches!(self, CastKind::Struct(_)) => true,
            (CastKind::Simple(a), CastKind::Ascii(n) | CastKind::Ucs4(n)) => {
                STRING_WIDTHS.get(*a).is_some_and(|width| width <= n)
            }
            (CastKind::Ascii(a), CastKind::Ascii(b) | CastKind::Ucs4(b)) | (CastKind::Ucs4(a), CastKind::Ucs4(b)) => a <= b,
            (CastKind::Struct(a), CastKind::Struct(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(from, to)| Self::field_casts(from, to))
            }
            _ => false,
        }
    }

    /// A subarray casts to one of the same shape, a scalar to any.
    fn field_casts(from: &(CastKind, Vec<u64>), to: &(CastKind, Vec<u64>)) -> bool {
        from.0.casts_to(&to.0) && (from.1 == to.1 || from.1.is_empty())
    }
}

/// `[ascii, n]` and `[ucs4, n]`.
fn text_type(node: Node<'_>) -> Option<CastKind> {
    if node.len() != 2 {
        return None;
    }
    let (name, length) = (node.index(0)?.as_str()?, node.index(1)?.as_u64()?);
    match &*name {
        "ascii" => Some(CastKind::Ascii(length)),
        "ucs4" => Some(CastKind::Ucs4(length)),
        _ => None,
    }
}

/// The common type of the elements of inline data: NumPy's choice for a nested list.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct InlineType {
    any: bool,
    boolean: bool,
    integer: bool,
    negative: bool,
    /// Beyond int64.
    wide: bool,
    float: bool,
    /// An element, such as a timestamp, that fits no datatype.
    other: bool,
    text: Option<u64>,
}

/// Number of dimensions and datatype of inline data; None if the list is ragged or holds what no array can.
pub(super) fn inspect_inline_data(data: Node<'_>) -> Option<(u64, CastKind)> {
    let mut elements = InlineType::default();
    let mut shape = Vec::new();
    // Items of a sequence that are still to be visited, and their depth.
    let mut stack = vec![(data, 0usize)];
    let mut leaves: Option<usize> = None;
    let mut budget = data.tree().node_count().saturating_mul(4);
    while let Some((node, depth)) = stack.pop() {
        budget = budget.checked_sub(1)?;
        if json_type_of_node(node) == JsonType::Array {
            match shape.get(depth) {
                None => shape.push(node.len()),
                Some(known) if *known == node.len() => {}
                Some(_) => return None,
            }
            if leaves.is_some_and(|at| depth >= at) || depth > MAX_DEPTH {
                return None;
            }
            if node.is_empty() {
                leaves = leaves.or(Some(depth + 1));
            }
            stack.extend(node.items().map(|item| (item, depth + 1)));
            continue;
        }
        if *leaves.get_or_insert(depth) != depth {
            return None;
        }
        elements.add_element(node);
    }
    elements.into_kind().map(|kind| (shape.len() as u64, kind))
}

impl InlineType {
    fn add_element(&mut self, node: Node<'_>) {
        // A null is masked, and counts as 0.
        self.any = true;
        if bindable_tag(node).is_some() {
            self.see_text(node.text().chars().count() as u64);
            return;
        }
        match node.scalar() {
            Scalar::Null if node.is_scalar() => self.integer = true,
            Scalar::Bool(_) => self.boolean = true,
            Scalar::Int(value) => {
                self.integer = true;
                self.negative |= value < 0;
            }
            Scalar::BigInt(digits) if digits.parse::<u64>().is_ok() => self.wide = true,
            Scalar::Float(_) => self.float = true,
            Scalar::Str(text) => self.see_text(text.chars().count() as u64),
            _ => self.other = true,
        }
    }

    fn see_text(&mut self, length: u64) {
        self.text = Some(self.text.unwrap_or(0).max(length));
    }

    fn into_kind(self) -> Option<CastKind> {
        const BOOL: usize = 0;
        const INT64: usize = 4;
        const UINT64: usize = 8;
        const FLOAT64: usize = 11;
        if self.other {
            return None;
        }
        let number = if self.float || !self.any || (self.wide && (self.negative || self.integer)) {
            FLOAT64
        } else if self.wide {
            UINT64
        } else if self.integer {
            INT64
        } else {
            BOOL
        };
        Some(match self.text {
            None => CastKind::Simple(number),
            Some(length) => {
                let numbers = self.float || self.wide || self.integer || self.boolean;
                let least = if numbers { STRING_WIDTHS.get(number).copied().unwrap_or(0) } else { 1 };
                CastKind::Ucs4(length.max(least))
            }
        })
    }
}

/// The number of dimensions of an ndarray node; None if it does not say.
pub(super) fn count_dimensions(node: Node<'_>) -> Option<u64> {
    match json_type_of_node(node) {
        JsonType::Array => inspect_inline_data(node).map(|(n, _)| n),
        JsonType::Object => match (node.get("shape"), node.get("data")) {
            (Some(shape), _) => Some(shape.len() as u64),
            (None, Some(data)) => inspect_inline_data(data).map(|(n, _)| n),
            _ => None,
        },
        _ => None,
    }
}

/// The datatype of an ndarray node: as it is written, or what its inline data are.
pub(super) enum NodeDatatype<'t> {
    Written(Node<'t>),
    Inferred(CastKind),
    None,
}

pub(super) fn find_datatype(node: Node<'_>) -> NodeDatatype<'_> {
    let inferred = |data| inspect_inline_data(data).map_or(NodeDatatype::None, |(_, kind)| NodeDatatype::Inferred(kind));
    match json_type_of_node(node) {
        JsonType::Array => inferred(node),
        JsonType::Object => match (node.get("datatype"), node.get("data")) {
            (Some(datatype), _) => NodeDatatype::Written(datatype),
            (None, Some(data)) => inferred(data),
            _ => NodeDatatype::None,
        },
        _ => NodeDatatype::None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::Limits;
    use crate::tree::Tree;

    fn kind(text: &str) -> CastKind {
        CastKind::from_node(Tree::parse(text, &Limits::default()).unwrap().root()).unwrap()
    }

    /// NumPy 2: `can_cast(a, b, "safe")`, every pair.
    #[test]
    fn casts_are_safe_where_numpy_says_so() {
        let table = [
            ("int8", "int8 int16 int32 int64 float16 float32 float64 complex64 complex128"),
            ("int16", "int16 int32 int64 float32 float64 complex64 complex128"),
            ("int32", "int32 int64 float64 complex128"),
            ("int64", "int64 float64 complex128"),
            ("uint8", "int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128"),
            ("uint16", "int32 int64 uint16 uint32 uint64 float32 float64 complex64 complex128"),
            ("uint32", "int64 uint32 uint64 float64 complex128"),
            ("uint64", "uint64 float64 complex128"),
            ("float16", "float16 float32 float64 complex64 complex128"),
            ("float32", "float32 float64 complex64 complex128"),
            ("float64", "float64 complex128"),
            ("complex64", "complex64 complex128"),
            ("complex128", "complex128"),
        ];
        for (from, to) in table {
            let allowed: Vec<_> = to.split(' ').collect();
            for name in DATATYPES {
                assert_eq!(kind(from).casts_to(&kind(name)), allowed.contains(&name), "{from} to {name}");
            }
        }
        assert!(DATATYPES.iter().all(|name| kind("bool8").casts_to(&kind(name))));
    }

    #[test]
    fn strings_widen_and_structs_convert_by_field() {
        for (from, to, safe) in [
            ("[ascii, 4]", "[ucs4, 4]", true),
            ("[ascii, 5]", "[ucs4, 4]", false),
            ("[ucs4, 4]", "[ascii, 4]", false),
            ("[ascii, 4]", "[ascii, 0]", true),
            ("int8", "[ascii, 4]", true),
            ("int16", "[ascii, 4]", false),
            ("[int8, float32]", "[{name: a, datatype: int16}, float64]", true),
            ("[int8]", "[int16, int16]", false),
            ("[{datatype: int32, shape: [2]}]", "[{datatype: int64, shape: [2]}]", true),
            ("[{datatype: int32, shape: [2]}]", "[int64]", false),
            ("[int32]", "int64", false),
        ] {
            assert_eq!(kind(from).casts_to(&kind(to)), safe, "{from} to {to}");
        }
    }

    #[test]
    fn inline_data_are_what_numpy_makes_of_them() {
        for (text, found) in [
            ("[1, 2]", Some((1, "int64"))),
            ("[[1, 2.5], [3, 4]]", Some((2, "float64"))),
            ("[true, false]", Some((1, "bool8"))),
            ("[1, a]", Some((1, "[ucs4, 21]"))),
            ("[true, a]", Some((1, "[ucs4, 5]"))),
            ("[abc, a]", Some((1, "[ucs4, 3]"))),
            ("[9223372036854775808]", Some((1, "uint64"))),
            ("[9223372036854775808, 1]", Some((1, "float64"))),
            ("[18446744073709551616]", None),
            ("[]", Some((1, "float64"))),
            ("[[1, 2], [3]]", None),
            ("[[1], 2]", None),
        ] {
            let tree = Tree::parse(text, &Limits::default()).unwrap();
            assert_eq!(inspect_inline_data(tree.root()), found.map(|(n, name)| (n, kind(name))), "{text}");
        }
    }
}
