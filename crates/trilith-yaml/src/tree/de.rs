//! Nodes into a program's own types, by serde.

use std::cell::Cell;
use std::fmt;

use serde::de::{self, DeserializeSeed, Visitor};

use super::children::collect_merged_pairs;
use super::node::{Node, NodeKind};
use super::{Scalar, Tree};
use crate::error::{Error, Location, Result};
use crate::limits::Limits;

/// Maximum depth of a type in the tree: types that contain themselves are read by recursion.
const MAX_DEPTH: u32 = 200;

/// Reads a node, and all below it, into a custom type.
///
/// Aliases are followed, merge keys applied, tags ignored but for YAML's own.
///
/// ```
/// use trilith_yaml::{Limits, tree::{Tree, from_node}};
/// #[derive(serde::Deserialize)]
/// struct SeriesPoint { x: f64, label: Option<String> }
/// let tree = Tree::parse("p: {x: 1, label: ~}\n", &Limits::default())?;
/// let point: SeriesPoint = from_node(tree.node_at_pointer("/p").unwrap())?;
/// assert_eq!((point.x, point.label), (1.0, None));
/// # Ok::<(), trilith_yaml::Error>(())
/// ```
///
/// # Errors
/// Returns [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) with line and column if the tree does not fit the
/// type, and [`ErrorKind::Limit`](crate::ErrorKind::Limit) if it nests deeper than 200 levels or aliases expand to
/// 10 million nodes.
pub fn from_node<T: de::DeserializeOwned>(node: Node<'_>) -> Result<T> {
    let budget = Cell::new(Limits::default().nodes);
    T::deserialize(NodeDeserializer { node, depth: 0, budget: &budget, is_key: false }).map_err(|problem| problem.0)
}

/// Our error in the form that serde needs.
#[derive(Debug)]
pub(super) struct DeError(pub Error);

impl fmt::Display for DeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for DeError {}

impl de::Error for DeError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self(Error::malformed(message.to_string()))
    }
}

#[derive(Clone, Copy)]
struct NodeDeserializer<'t, 'b> {
    node: Node<'t>,
    depth: u32,
    budget: &'b Cell<u64>,
    is_key: bool,
}

impl<'t, 'b> NodeDeserializer<'t, 'b> {
    /// Charges this node and returns the settings for those below it.
    fn child_settings(self) -> Result<Self, DeError> {
        let left = self.budget.get();
        if left == 0 {
            let limit = Limits::default().nodes;
            return Err(DeError(Limits::exceeded_error("nodes", limit, "the tree, aliases expanded, has more nodes")));
        }
        self.budget.set(left - 1);
        if self.depth >= MAX_DEPTH {
            return Err(DeError(Error::limit(format!("the tree nests more than {MAX_DEPTH} deep for this type"))));
        }
        Ok(Self { depth: self.depth + 1, is_key: false, ..self })
    }

    /// Adds the place of a problem, unless that is known.
    fn at_node<T>(self, result: Result<T, DeError>) -> Result<T, DeError> {
        result.map_err(|DeError(error)| {
            if *error.location() != Location::Unknown {
                return DeError(error);
            }
            let (line, column) = self.node.line_column();
            DeError(error.at_text(line, column))
        })
    }

    fn visit_scalar<V: Visitor<'t>>(self, visitor: V) -> Result<V::Value, DeError> {
        match self.node.scalar() {
            Scalar::Null => visitor.visit_unit(),
            Scalar::Bool(value) => visitor.visit_bool(value),
            Scalar::Int(value) => match u64::try_from(value) {
                Ok(value) => visitor.visit_u64(value),
                Err(_) => visitor.visit_i64(value),
            },
            Scalar::BigInt(digits) => {
                if let Ok(value) = digits.parse() {
                    visitor.visit_u64(value)
                } else if let Ok(value) = digits.parse() {
                    visitor.visit_u128(value)
                } else if let Ok(value) = digits.parse() {
                    visitor.visit_i128(value)
                } else {
                    visitor.visit_string(digits)
                }
            }
            Scalar::Float(value) => visitor.visit_f64(value),
            Scalar::Str(text) | Scalar::Timestamp(text) | Scalar::Binary(text) => visit_text(text, visitor),
        }
    }
}

fn visit_text<'t, V: Visitor<'t>>(text: std::borrow::Cow<'t, str>, visitor: V) -> Result<V::Value, DeError> {
    match text {
        std::borrow::Cow::Borrowed(text) => visitor.visit_borrowed_str(text),
        std::borrow::Cow::Owned(text) => visitor.visit_string(text),
    }
}

impl<'t> de::Deserializer<'t> for NodeDeserializer<'t, '_> {
    type Error = DeError;

    fn deserialize_any<V: Visitor<'t>>(self, visitor: V) -> Result<V::Value, DeError> {
        let below = self.at_node(self.child_settings())?;
        let found = match self.node.kind() {
            NodeKind::Scalar => self.visit_scalar(visitor),
            NodeKind::Sequence => visitor.visit_seq(SeqReader { items: self.node.items(), below }),
            NodeKind::Mapping => {
                let mut left = self.budget.get();
                let pairs = collect_merged_pairs(self.node, &mut left);
                self.budget.set(left);
                visitor.visit_map(MapReader { pairs: pairs.into_iter(), value: None, below })
            }
        };
        self.at_node(found)
    }

    fn deserialize_option<V: Visitor<'t>>(self, visitor: V) -> Result<V::Value, DeError> {
        if self.node.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'t>>(self, _: &'static str, visitor: V) -> Result<V::Value, DeError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'t>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DeError> {
        let below = self.at_node(self.child_settings())?;
        let found = match self.node.kind() {
            NodeKind::Mapping if self.node.len() == 1 => match self.node.merged_entries().first() {
                Some((key, value)) => visitor.visit_enum(VariantReader { name: *key, value: Some(*value), below }),
                None => Err(de::Error::custom("expected a mapping of one key")),
            },
            NodeKind::Scalar => visitor.visit_enum(VariantReader { name: self.node, value: None, below }),
            _ => Err(de::Error::custom("expected a text or a mapping of one key")),
        };
        self.at_node(found)
    }

    fn deserialize_str<V: Visitor<'t>>(self, visitor: V) -> Result<V::Value, DeError> {
        // A key is text whatever it looks like.
        if self.is_key && self.node.is_scalar() {
            return visit_text(self.node.text(), visitor);
        }
        self.deserialize_any(visitor)
    }

    fn deserialize_string<V: Visitor<'t>>(self, visitor: V) -> Result<V::Value, DeError> {
        self.deserialize_str(visitor)
    }

    fn deserialize_identifier<V: Visitor<'t>>(self, visitor: V) -> Result<V::Value, DeError> {
        self.deserialize_str(visitor)
    }

    fn deserialize_ignored_any<V: Visitor<'t>>(self, visitor: V) -> Result<V::Value, DeError> {
        visitor.visit_unit()
    }

    serde::forward_to_deserialize_any! {
        <W: Visitor<'t>>
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char bytes byte_buf unit unit_struct seq tuple
        tuple_struct map struct
    }
}

struct SeqReader<'t, 'b> {
    items: super::SequenceItems<'t>,
    below: NodeDeserializer<'t, 'b>,
}

impl<'t> de::SeqAccess<'t> for SeqReader<'t, '_> {
    type Error = DeError;

    fn next_element_seed<T: DeserializeSeed<'t>>(&mut self, seed: T) -> Result<Option<T::Value>, DeError> {
        let Some(node) = self.items.next() else { return Ok(None) };
        let reader = NodeDeserializer { node, ..self.below };
        reader.at_node(seed.deserialize(reader)).map(Some)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.items.len())
    }
}

struct MapReader<'t, 'b> {
    pairs: std::vec::IntoIter<(Node<'t>, Node<'t>)>,
    value: Option<Node<'t>>,
    below: NodeDeserializer<'t, 'b>,
}

impl<'t> de::MapAccess<'t> for MapReader<'t, '_> {
    type Error = DeError;

    fn next_key_seed<K: DeserializeSeed<'t>>(&mut self, seed: K) -> Result<Option<K::Value>, DeError> {
        let Some((key, value)) = self.pairs.next() else { return Ok(None) };
        self.value = Some(value);
        let reader = NodeDeserializer { node: key, is_key: true, ..self.below };
        reader.at_node(seed.deserialize(reader)).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'t>>(&mut self, seed: V) -> Result<V::Value, DeError> {
        let node = self.value.take().ok_or_else(|| de::Error::custom("a value was asked for before its key"))?;
        let reader = NodeDeserializer { node, ..self.below };
        reader.at_node(seed.deserialize(reader))
    }
}

/// An enum: a text names a variant without content, a mapping of one key names one with it.
struct VariantReader<'t, 'b> {
    name: Node<'t>,
    value: Option<Node<'t>>,
    below: NodeDeserializer<'t, 'b>,
}

impl<'t, 'b> de::EnumAccess<'t> for VariantReader<'t, 'b> {
    type Error = DeError;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'t>>(self, seed: V) -> Result<(V::Value, Self), DeError> {
        let name = seed.deserialize(NodeDeserializer { node: self.name, is_key: true, ..self.below })?;
        Ok((name, self))
    }
}

impl<'t, 'b> VariantReader<'t, 'b> {
    fn content_reader(&self) -> Result<NodeDeserializer<'t, 'b>, DeError> {
        let node = self.value.ok_or_else(|| de::Error::custom("this variant needs content: expected a mapping of one key"))?;
        Ok(NodeDeserializer { node, ..self.below })
    }
}

impl<'t> de::VariantAccess<'t> for VariantReader<'t, '_> {
    type Error = DeError;

    fn unit_variant(self) -> Result<(), DeError> {
        match self.value {
            Some(value) if !value.is_null() => Err(de::Error::custom("this variant has no content")),
            _ => Ok(()),
        }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'t>>(self, seed: T) -> Result<T::Value, DeError> {
        seed.deserialize(self.content_reader()?)
    }

    fn tuple_variant<V: Visitor<'t>>(self, _: usize, visitor: V) -> Result<V::Value, DeError> {
        de::Deserializer::deserialize_any(self.content_reader()?, visitor)
    }

    fn struct_variant<V: Visitor<'t>>(self, _: &'static [&'static str], visitor: V) -> Result<V::Value, DeError> {
        de::Deserializer::deserialize_any(self.content_reader()?, visitor)
    }
}

impl Tree {
    /// Reads the whole tree into a custom type, as [`from_node`] does.
    ///
    /// # Errors
    /// Returns the errors of [`from_node`].
    pub fn read_into<T: de::DeserializeOwned>(&self) -> Result<T> {
        from_node(self.root())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::ErrorKind;

    #[derive(serde::Deserialize, Debug, PartialEq)]
    #[serde(rename_all = "lowercase")]
    enum Order {
        Little,
        Other(u8),
        Pair { a: i32 },
    }

    #[derive(serde::Deserialize, Debug, PartialEq)]
    struct Array {
        source: i64,
        shape: Vec<u64>,
        byteorder: Order,
        #[serde(default)]
        extra: BTreeMap<String, serde_json::Value>,
    }

    fn read<T: de::DeserializeOwned>(text: &str) -> Result<T> {
        Tree::parse(text, &Limits::default()).unwrap().read_into()
    }

    #[test]
    fn structs_enums_and_maps_are_filled() {
        let array: Array = read(
            "!x\nbase: 1\n<<: {source: -1}\nshape: [0x10, 18446744073709551615]\nbyteorder: little\nextra: {1: [~, yes, 1.5]}\n",
        )
        .unwrap();
        assert_eq!(array.shape, [16, u64::MAX]);
        assert_eq!((array.source, array.byteorder), (-1, Order::Little));
        assert_eq!(array.extra["1"], serde_json::json!([null, true, 1.5]));
        assert_eq!(read::<Vec<Order>>("- {other: 3}\n- pair: {a: 1}\n").unwrap(), [Order::Other(3), Order::Pair { a: 1 }]);
    }

    #[test]
    fn what_does_not_fit_says_where() {
        let error = read::<Array>("source: 1\nshape: [1, x]\nbyteorder: little\n").unwrap_err();
        assert_eq!(error.location(), &Location::Text { line: 2, column: 12 });
        assert_eq!(error.kind(), ErrorKind::Malformed);
        assert!(read::<Array>("source: 1\n").unwrap_err().to_string().contains("shape"));
    }

    #[test]
    fn endless_trees_end() {
        assert_eq!(read::<serde_json::Value>("&a [*a]").unwrap_err().kind(), ErrorKind::Limit);
    }
}
