//! The mapping `annotations` of a tree: what a file of another format says about its items, where a tree has no place for it.
//!
//! The mapping is at the root. Its key `schema` holds [`SCHEMA_URI`], and nothing else makes it one: data may have a key
//! `annotations`, and the mapping then has another. The keys that begin with a slash are paths of the tree, and the empty key is
//! the root. docs/annotations.md specifies the form.

use super::{AsdfFile, big_integer};
use crate::error::Result;
use crate::limits::Limits;
use crate::tree::{Node, Tree, TreePath, Value, ValueData};
use crate::yaml::Scalar;

/// The key of the identifier in the mapping.
pub(crate) const SCHEMA_KEY: &str = "schema";
/// The identifier: the URI of the schema that describes the mapping.
pub(crate) const SCHEMA_URI: &str = "asdf://trilith/schemas/annotations-1.0.0";
/// The key of the form of a layout in the mapping.
pub(crate) const LAYOUT_KEY: &str = "layout";
/// The names that the mapping may have at the root: the first that no item has.
const ROOT_KEYS: [&str; 9] = [
    "annotations",
    "annotations_2",
    "annotations_3",
    "annotations_4",
    "annotations_5",
    "annotations_6",
    "annotations_7",
    "annotations_8",
    "annotations_9",
];

/// One attribute of an item.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct AttributeEntry {
    pub name: String,
    pub value: Value,
    /// The name of its datatype, if it is not the one that the value has in a tree.
    pub datatype: Option<String>,
    pub comment: Option<String>,
    pub unit: Option<String>,
    /// The names of the values of an enumeration.
    pub names: Vec<(String, Value)>,
    /// The path of the item that it refers to.
    pub reference: Option<String>,
}

impl AttributeEntry {
    /// An attribute without a comment.
    pub(crate) fn new(name: impl Into<String>, value: impl Into<Value>) -> Self {
        let (name, value) = (name.into(), value.into());
        Self { name, value, datatype: None, comment: None, unit: None, names: Vec::new(), reference: None }
    }

    /// The value as it is, or a mapping with everything that belongs to it if the value alone says less.
    fn into_value(self) -> Value {
        let datatype = self.datatype.filter(|name| !is_implied(&self.value, name));
        let is_alone = datatype.is_none()
            && self.comment.is_none()
            && self.unit.is_none()
            && self.names.is_empty()
            && self.reference.is_none()
            && (!matches!(self.value.data, ValueData::Map(_)) || self.value.tag.is_some());
        if is_alone {
            return self.value;
        }
        let mut all = Value::map([("value", self.value)]);
        let parts = [("datatype", datatype), ("comment", self.comment), ("unit", self.unit), ("reference", self.reference)];
        for (key, text) in parts {
            if let Some(text) = text {
                all.set(key, text);
            }
        }
        if !self.names.is_empty() {
            all.set("names", Value::map(self.names));
        }
        all.flow()
    }

    fn from_node(name: String, node: Node<'_>, limits: &Limits) -> Result<Self> {
        if !node.is_mapping() || node.tag().is_some() {
            return Ok(Self::new(name, read_value(node, limits)?));
        }
        let text = |key: &str| node.get(key).filter(|text| text.is_scalar()).map(|text| text.text().into_owned());
        let value = node.get("value").map_or_else(|| Ok(Value::null()), |value| read_value(value, limits))?;
        let names = node.get("names").filter(|names| names.is_mapping()).map_or_else(Vec::new, Node::pairs);
        Ok(Self {
            name,
            value,
            datatype: text("datatype"),
            comment: text("comment"),
            unit: text("unit"),
            reference: text("reference"),
            names: names
                .into_iter()
                .map(|(key, value)| Ok((key.text().into_owned(), value.to_value(limits)?)))
                .collect::<Result<_>>()?,
        })
    }
}

/// A value of the mapping, or nested lists of values, with integers beyond 64 bits as such. A tree limits the depth of lists.
fn read_value(node: Node<'_>, limits: &Limits) -> Result<Value> {
    if let Some(digits) = big_integer::decode(node) {
        return Ok(Value::from(ValueData::BigInt(digits)));
    }
    let is_plain = |item: Node<'_>| item.is_scalar() && item.tag().is_none();
    if node.is_sequence() && node.tag().is_none() && !node.is_alias() && !node.items().all(is_plain) {
        return Ok(Value::seq(node.items().map(|item| read_value(item, limits)).collect::<Result<Vec<_>>>()?).flow());
    }
    node.to_value(limits)
}

/// Returns `true` if a reader of the tree gives a value this datatype anyway.
fn is_implied(value: &Value, datatype: &str) -> bool {
    match &value.data {
        ValueData::Bool(_) => matches!(datatype, "bool" | "bool8"),
        ValueData::Int(_) => datatype == "int64",
        ValueData::Float(_) => datatype == "float64",
        ValueData::Str(_) => datatype == "string",
        ValueData::Seq(items) => !items.is_empty() && items.iter().all(|item| is_implied(item, datatype)),
        _ => false,
    }
}

/// Metadata of one item.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ItemAnnotation {
    /// Documentation, with its lines.
    pub doc: Option<String>,
    pub unit: Option<String>,
    /// The names of the axes of an array.
    pub axes: Vec<Option<String>>,
    /// The names of the values of an array.
    pub enumeration: Vec<(String, Value)>,
    pub attributes: Vec<AttributeEntry>,
}

impl ItemAnnotation {
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    pub(crate) fn into_value(self) -> Value {
        let mut all = Value::map::<&str, Value>([]);
        for (key, text) in [("doc", self.doc), ("unit", self.unit)] {
            if let Some(text) = text {
                all.set(key, text);
            }
        }
        if self.axes.iter().any(Option::is_some) {
            all.set("axes", Value::seq(self.axes).flow());
        }
        if !self.enumeration.is_empty() {
            all.set("enumeration", Value::map(self.enumeration).flow());
        }
        if !self.attributes.is_empty() {
            all.set("attributes", Value::map(self.attributes.into_iter().map(|one| (one.name.clone(), one.into_value()))));
        }
        all
    }

    /// Reads the value of a path in the mapping.
    pub(crate) fn from_node(node: Node<'_>, limits: &Limits) -> Result<Self> {
        let text = |key: &str| node.get(key).filter(|text| text.is_scalar()).map(|text| text.text().into_owned());
        let pairs = |key: &str| node.get(key).filter(|map| map.is_mapping()).map_or_else(Vec::new, Node::pairs);
        let axes = node.get("axes").filter(|axes| axes.is_sequence());
        Ok(Self {
            doc: text("doc"),
            unit: text("unit"),
            axes: axes.iter().flat_map(|axes| axes.items()).map(axis_name).collect(),
            enumeration: pairs("enumeration")
                .into_iter()
                .map(|(name, value)| Ok((name.text().into_owned(), value.to_value(limits)?)))
                .collect::<Result<_>>()?,
            attributes: pairs("attributes")
                .into_iter()
                .map(|(name, value)| AttributeEntry::from_node(name.text().into_owned(), value, limits))
                .collect::<Result<_>>()?,
        })
    }
}

/// The name of an axis; None for one without a name.
fn axis_name(node: Node<'_>) -> Option<String> {
    (!node.is_null()).then(|| node.text().into_owned())
}

/// Adds the mapping to the root of a tree, under the first name that no item has. `items` are the annotations by path, and
/// `layout` is the form of a layout. Returns `false` if items have all names.
pub(crate) fn insert(root: &mut Value, items: Vec<(String, ItemAnnotation)>, layout: Option<Value>) -> bool {
    let Some(key) = ROOT_KEYS.into_iter().find(|key| root.get(key).is_none()) else { return false };
    let mut all = vec![(Value::from(SCHEMA_KEY), Value::from(SCHEMA_URI))];
    all.extend(layout.map(|layout| (Value::from(LAYOUT_KEY), layout)));
    let items = items.into_iter().filter(|(_, item)| !item.is_empty());
    all.extend(items.map(|(path, item)| (Value::from(path), item.into_value())));
    root.set(key, Value::from(ValueData::Map(all)));
    true
}

/// Returns the mapping of a tree, with its key.
pub(crate) fn find(tree: &Tree) -> Option<(&'static str, Node<'_>)> {
    let root = tree.root();
    if !root.is_mapping() {
        return None;
    }
    ROOT_KEYS.into_iter().filter_map(|key| Some((key, root.get(key)?))).find(|(_, node)| is_annotations(*node))
}

/// Returns `true` if a node has the identifier of the mapping.
fn is_annotations(node: Node<'_>) -> bool {
    let is_uri =
        |id: Node<'_>| id.is_scalar() && id.tag().is_none() && matches!(id.scalar(), Scalar::Str(uri) if uri == SCHEMA_URI);
    node.is_mapping() && node.tag().is_none() && node.get(SCHEMA_KEY).is_some_and(is_uri)
}

/// Returns the path whose entry the item of a path has. The numbers of a quantity have the entry of the quantity.
pub(crate) fn entry_path(tree: &Tree, mapping: Node<'_>, path: &TreePath) -> Option<TreePath> {
    let has_entry = |path: &TreePath| mapping.get(&path.to_string()).is_some_and(|entry| entry.is_mapping());
    if has_entry(path) {
        return Some(path.clone());
    }
    let (above, _) = path.split_last().filter(|(_, key)| *key == "value")?;
    tree.find(&above)?.get("unit")?;
    has_entry(&above).then_some(above)
}

impl AsdfFile {
    /// Returns the entry of the mapping for the item of a node.
    pub(crate) fn annotation(&self, node: Node<'_>) -> Option<Node<'_>> {
        let mapping = self.annotations()?;
        let path = self.tree().path_of(node.id())?;
        mapping.get(&entry_path(self.tree(), mapping, &path)?.to_string())
    }
}
