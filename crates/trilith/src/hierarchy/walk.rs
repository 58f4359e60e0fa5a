//! Conversion of items to nodes.

use std::collections::HashSet;

use super::array_metadata::{LeafArray, has_lengths, of_dict};
use super::dimension_names::{ArrayAxes, DimensionConventions, DimensionNames, StatedNames, find_descendant};
use super::node_names::{make_unique, stored_name};
use super::{Hierarchy, JsonValue, Node, is_file_set};
use crate::array::Mask;
use crate::error::{Error, Result};
use crate::file::{Item, ItemKind, ItemLocation, integer_digits};
use crate::limits::Limits;

/// The parts of a dataset of xarray, as it is in a tree.
const XARRAY_DATASET_KEYS: [&str; 3] = ["attrs", "coords", "data_vars"];

/// The result for an item.
pub(super) enum BuiltNode {
    Value(JsonValue),
    Array(Box<LeafArray>),
    Group(GroupBuilder),
    /// The item cannot be read; the reason is among the problems.
    Missing,
}

/// A group before its place is known.
#[derive(Default)]
pub(super) struct GroupBuilder {
    attributes: Vec<(String, JsonValue)>,
    /// Children of the group, in the order of the file.
    children: Vec<(String, BuiltNode)>,
    conventions: Option<DimensionConventions>,
}

impl GroupBuilder {
    /// Puts what is at a path into groups of the names on the way.
    fn insert(&mut self, path: &str, built: BuiltNode) {
        let Some((first, rest)) = path.split_once('/') else {
            self.children.push((path.to_owned(), built));
            return;
        };
        let known = self.children.iter().position(|(name, built)| name == first && matches!(built, BuiltNode::Group(_)));
        let at = known.unwrap_or_else(|| {
            self.children.push((first.to_owned(), BuiltNode::Group(Self::default())));
            self.children.len() - 1
        });
        if let Some((_, BuiltNode::Group(group))) = self.children.get_mut(at) {
            group.insert(rest, built);
        }
    }
}

/// Goes through the items of a file.
pub(super) struct HierarchyWalk<'l> {
    limits: &'l Limits,
    remaining: u64,
    /// The mappings and lists that are being gone through.
    open_groups: Vec<(usize, usize)>,
    pub problems: Vec<(String, Error)>,
    /// The paths of lists of arrays in files of other formats.
    pub lists: Vec<String>,
}

impl<'l> HierarchyWalk<'l> {
    pub(super) fn new(limits: &'l Limits) -> Self {
        Self { limits, remaining: limits.nodes, open_groups: Vec::new(), problems: Vec::new(), lists: Vec::new() }
    }

    /// Converts an item. References are followed.
    pub(super) fn convert_item(&mut self, item: &Item<'_>, path: &str) -> Result<BuiltNode> {
        let spent = || Limits::exceeded_error("nodes", self.limits.nodes, "the file has more items");
        self.remaining = self.remaining.checked_sub(1).ok_or_else(spent)?;
        self.limits.charge_depth(self.open_groups.len(), "the tree")?;
        if item.kind() == ItemKind::Reference {
            return match item.resolve() {
                Ok(found) => self.convert_item(&found, path),
                Err(error) => Ok(self.report_problem(path, error)),
            };
        }
        match item.kind() {
            ItemKind::Array => Ok(match LeafArray::from_item(item) {
                Ok(leaf) => BuiltNode::Array(Box::new(leaf)),
                Err(error) => self.report_problem(path, error),
            }),
            ItemKind::Mapping | ItemKind::List => self.walk_collection(item, path),
            _ => Ok(match item.value() {
                Ok(value) => BuiltNode::Value(JsonValue::from_scalar(value)),
                Err(error) => self.report_problem(path, error),
            }),
        }
    }

    /// Leaves out an item that cannot be read, and reports it.
    fn report_problem(&mut self, path: &str, error: Error) -> BuiltNode {
        self.problems.push((path.to_owned(), error));
        BuiltNode::Missing
    }

    /// A mapping or a list.
    fn walk_collection(&mut self, item: &Item<'_>, path: &str) -> Result<BuiltNode> {
        let number = match item.location() {
            ItemLocation::Node(number) => *number,
            ItemLocation::Array { .. } => usize::MAX,
        };
        let here = (std::ptr::from_ref(item.backend()).cast::<()>() as usize, number);
        if self.open_groups.contains(&here) {
            let error = Error::unsupported("it contains itself, which neither JSON nor Zarr can express");
            return Ok(self.report_problem(path, error));
        }
        self.open_groups.push(here);
        let built = self.convert_collection(item, path);
        self.open_groups.pop();
        built
    }

    fn convert_collection(&mut self, item: &Item<'_>, path: &str) -> Result<BuiltNode> {
        if let Some(digits) = integer_digits(item).ok().flatten() {
            return Ok(BuiltNode::Value(JsonValue::BigNumber(digits)));
        }
        if is_quantity(item) {
            if let Err(error) = item.check_required_keys() {
                return Ok(self.report_problem(path, error));
            }
            if let Some(held) = find_descendant(item, &["value"]).filter(|held| held.kind() == ItemKind::Array) {
                return self.convert_quantity(item, &held, path);
            }
        }
        if XARRAY_DATASET_KEYS
            .iter()
            .all(|name| find_descendant(item, &[name]).is_some_and(|part| part.kind() == ItemKind::Mapping))
        {
            return self.xarray_dataset(item, path).map(BuiltNode::Group);
        }
        // Lists of variable length whose lengths happen to be equal are still lists: the names are those of their axes.
        let names = item.axes()?.names;
        if item.flags().is_history
            && let Ok(array) = item.as_array()
            && (names.is_empty() || names.len() == array.shape().len())
        {
            return Ok(BuiltNode::Array(Box::new(LeafArray::new(item.decoder().decode_text(array)?, Vec::new(), None))));
        }
        self.convert_children(item, path)
    }

    /// A mapping or a list by what is in it.
    fn convert_children(&mut self, item: &Item<'_>, path: &str) -> Result<BuiltNode> {
        let is_list = item.kind() == ItemKind::List;
        let (without_numbers, is_family) = (has_lengths(item), is_file_set(item.backend()));
        let mut group = GroupBuilder { attributes: of_dict(item), ..GroupBuilder::default() };
        let mut values = Vec::new();
        let inner_lists = self.lists.len();
        for (number, (name, child)) in item.children()?.into_iter().enumerate() {
            let name = name.map_or_else(|| number.to_string(), |name| name.into_owned());
            if without_numbers && child.kind() == ItemKind::Scalar {
                continue;
            }
            match self.convert_item(&child, &format!("{path}/{name}"))? {
                BuiltNode::Value(value) => values.push((name, value)),
                // The other items of a list keep their numbers.
                BuiltNode::Missing if is_list => values.push((name, JsonValue::Null)),
                BuiltNode::Missing => {}
                // The items of a family are paths.
                below if is_family => group.insert(&name, below),
                below => group.children.push((name, below)),
            }
        }
        if group.children.is_empty() && !self.open_groups.is_empty() && self.open_groups.len() > 1 {
            return Ok(BuiltNode::Value(match is_list {
                true => JsonValue::List(values.into_iter().map(|(_, value)| value).collect()),
                false => JsonValue::Map(group.attributes.into_iter().chain(values).collect()),
            }));
        }
        if is_list && without_numbers {
            // Lists in a list are parts of it.
            self.lists.truncate(inner_lists);
            self.lists.push(path.to_owned());
        }
        group.attributes.extend(values);
        group.conventions = DimensionConventions::detect(item);
        Ok(BuiltNode::Group(group))
    }

    fn convert_quantity(&mut self, item: &Item<'_>, held: &Item<'_>, path: &str) -> Result<BuiltNode> {
        let unit = find_descendant(item, &["unit"]).and_then(|unit| unit.text().ok().map(|text| text.into_owned()));
        let mut built = self.convert_item(held, &format!("{path}/value"))?;
        if let (BuiltNode::Array(leaf), Some(unit)) = (&mut built, unit) {
            leaf.attributes.retain(|(name, _)| name != "tag" && name != "units");
            leaf.attributes.push(("units".to_owned(), JsonValue::Text(unit)));
        }
        Ok(built)
    }

    /// A dataset of xarray: its variables by their own names.
    fn xarray_dataset(&mut self, item: &Item<'_>, path: &str) -> Result<GroupBuilder> {
        let mut group = GroupBuilder::default();
        let mut coordinates = Vec::new();
        for part in XARRAY_DATASET_KEYS {
            let Some(found) = find_descendant(item, &[part]) else { continue };
            for (name, child) in found.children()? {
                let name = name.map_or_else(String::new, |name| name.into_owned());
                let path = format!("{path}/{part}/{name}");
                if part == "attrs" {
                    self.add_value_or_group(&child, name, &path, &mut group)?;
                    continue;
                }
                let Some(leaf) = self.convert_variable(&child, &path)? else { continue };
                if part == "coords" && leaf.said.as_deref() != Some(&[Some(name.clone())]) {
                    coordinates.push(name.clone());
                }
                group.children.push((name, BuiltNode::Array(Box::new(leaf))));
            }
        }
        if !coordinates.is_empty() {
            group.attributes.push(("coordinates".to_owned(), JsonValue::Text(coordinates.join(" "))));
        }
        if let Some(children) = find_descendant(item, &["children"]) {
            for (name, child) in children.children()? {
                let name = name.map_or_else(String::new, |name| name.into_owned());
                let path = format!("{path}/children/{name}");
                self.add_value_or_group(&child, name, &path, &mut group)?;
            }
        }
        Ok(group)
    }

    fn add_value_or_group(&mut self, item: &Item<'_>, name: String, path: &str, group: &mut GroupBuilder) -> Result<()> {
        match self.convert_item(item, path)? {
            BuiltNode::Value(value) => group.attributes.push((name, value)),
            BuiltNode::Missing => {}
            below => group.children.push((name, below)),
        }
        Ok(())
    }

    /// A variable of such a dataset: its elements, the names of its axes, and its attributes.
    fn convert_variable(&mut self, item: &Item<'_>, path: &str) -> Result<Option<LeafArray>> {
        let texts = |item: Item<'_>| -> Option<Vec<Option<String>>> {
            item.children().ok()?.iter().map(|(_, name)| Some(Some(name.text().ok()?.into_owned()))).collect()
        };
        let said: StatedNames = find_descendant(item, &["dims"]).and_then(texts);
        let held = find_descendant(item, &["data", "value"]).or_else(|| find_descendant(item, &["data"]));
        let array = match held.map(|held| held.as_array().and_then(|array| held.decoder().decode_text(array))) {
            Some(Ok(array)) => array,
            Some(Err(error)) => {
                self.report_problem(path, error);
                return Ok(None);
            }
            None => {
                self.report_problem(path, Error::malformed("a variable of a dataset without its data"));
                return Ok(None);
            }
        };
        let attributes = match find_descendant(item, &["attrs"]) {
            Some(attributes) => match self.convert_item(&attributes, path)? {
                BuiltNode::Value(JsonValue::Map(pairs)) => pairs,
                _ => Vec::new(),
            },
            None => Vec::new(),
        };
        Ok(Some(LeafArray::new(array, attributes, said)))
    }
}

fn is_quantity(item: &Item<'_>) -> bool {
    item.metadata().tag.and_then(|tag| tag.rsplit('/').next()).is_some_and(|name| name.starts_with("quantity-"))
}

impl Hierarchy {
    /// Adds what a file became, `first` being the names of the first axes of all its arrays.
    pub(super) fn add_root(&mut self, root: BuiltNode, first: &[String]) {
        let group = match root {
            BuiltNode::Group(group) => group,
            BuiltNode::Array(leaf) => {
                GroupBuilder { children: vec![("data".to_owned(), BuiltNode::Array(leaf))], ..GroupBuilder::default() }
            }
            BuiltNode::Value(value) => GroupBuilder { attributes: vec![("value".to_owned(), value)], ..GroupBuilder::default() },
            BuiltNode::Missing => GroupBuilder::default(),
        };
        self.add_group("", group, DimensionNames::default(), first);
    }

    // Groups nest no deeper than `Limits::depth`.
    fn add_group(&mut self, path: &str, group: GroupBuilder, mut given: DimensionNames, first: &[String]) {
        let within = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}/{name}") };
        self.nodes.push(Node::new(path.to_owned(), group.attributes));
        let mut taken = HashSet::new();
        let (mut leaves, mut groups) = (Vec::new(), Vec::new());
        for (key, built) in group.children {
            let name = make_unique(stored_name(&key), &mut taken);
            match built {
                BuiltNode::Array(leaf) => leaves.push((key, name, leaf)),
                BuiltNode::Group(group) => groups.push((name, group)),
                BuiltNode::Value(_) | BuiltNode::Missing => {}
            }
        }
        let known = group.conventions.as_ref();
        let axes = leaves.iter().map(|(key, _, leaf)| ArrayAxes {
            key,
            shape: leaf.array.shape(),
            stated_names: leaf.stated_names(key, known),
        });
        let dimensions = given.assign_names(&axes.collect::<Vec<_>>(), first);
        // A parameter that is a length of the arrays is not a variable: xarray has one meaning for a name.
        let used: HashSet<&String> = dimensions.iter().flatten().collect();
        let is_length = |key: &str, dims: &[String]| used.contains(&key.to_owned()) && !dims.iter().any(|dim| dim == key);
        let is_left_out: Vec<bool> =
            leaves.iter().zip(&dimensions).map(|((key, _, leaf), dims)| leaf.is_coordinate && is_length(key, dims)).collect();
        let mut coordinates = Vec::new();
        for (((_, name, leaf), dims), is_left_out) in leaves.iter().zip(&dimensions).zip(&is_left_out) {
            if leaf.is_coordinate && !is_left_out && !matches!(dims.as_slice(), [only] if only == name) {
                coordinates.push(name.as_str());
            }
        }
        if let (Some(root), false) = (self.nodes.last_mut(), coordinates.is_empty())
            && !root.attributes.iter().any(|(name, _)| name == "coordinates")
        {
            root.attributes.push(("coordinates".to_owned(), JsonValue::Text(coordinates.join(" "))));
        }
        let kept = leaves.into_iter().zip(dimensions).zip(is_left_out).filter(|(_, is_left_out)| !is_left_out);
        let mut masks = Vec::new();
        for ((_, name, leaf), dimensions) in kept.map(|(leaf, _)| leaf) {
            let mut node = Node::new(within(&name), leaf.attributes);
            if let Some(Mask::Array(_)) = leaf.array.mask() {
                let mask = within(&make_unique(format!("{name}_mask"), &mut taken));
                masks.push((mask.clone(), leaf.array.clone(), dimensions.clone()));
                node.mask = Some(mask);
            }
            (node.array, node.dimensions, node.missing) = (Some(leaf.array), dimensions, leaf.missing);
            self.nodes.push(node);
        }
        for (path, array, dimensions) in masks {
            match array.mask_array() {
                Ok(Some(mask)) => {
                    let mut node = Node::new(path, Vec::new());
                    (node.array, node.dimensions) = (Some(mask), dimensions);
                    self.nodes.push(node);
                }
                Ok(None) => {}
                Err(error) => self.problems.push((path, error)),
            }
        }
        for (name, group) in groups {
            self.add_group(&within(&name), group, given.clone(), first);
        }
    }
}
