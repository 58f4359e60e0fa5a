//! Conversion of items to nodes.

use std::collections::HashSet;

use super::array_metadata::{Leaf, has_lengths, of_dict};
use super::dimension_names::{AxisNames, Conventions, Said, find};
use super::node_names::{apart, stored_name};
use super::{Hierarchy, Json, Node, is_family};
use crate::array::Mask;
use crate::error::{Error, Result};
use crate::file::{Item, ItemKind, Place};
use crate::limits::Limits;

/// The parts of a dataset of xarray, as it is in a tree.
const WRITTEN: [&str; 3] = ["attrs", "coords", "data_vars"];

/// The result for an item.
pub(super) enum Built {
    Value(Json),
    Array(Box<Leaf>),
    Group(Group),
    /// The item cannot be read; the reason is among the problems.
    Missing,
}

/// A group before its place is known.
#[derive(Default)]
pub(super) struct Group {
    attributes: Vec<(String, Json)>,
    /// Children of the group, in the order of the file.
    below: Vec<(String, Built)>,
    known: Option<Conventions>,
}

impl Group {
    /// Puts what is at a path into groups of the names on the way.
    fn insert(&mut self, path: &str, built: Built) {
        let Some((first, rest)) = path.split_once('/') else {
            self.below.push((path.to_owned(), built));
            return;
        };
        let known = self.below.iter().position(|(name, built)| name == first && matches!(built, Built::Group(_)));
        let at = known.unwrap_or_else(|| {
            self.below.push((first.to_owned(), Built::Group(Self::default())));
            self.below.len() - 1
        });
        if let Some((_, Built::Group(group))) = self.below.get_mut(at) {
            group.insert(rest, built);
        }
    }
}

/// Goes through the items of a file.
pub(super) struct Walk<'l> {
    limits: &'l Limits,
    left: u64,
    /// The mappings and lists that are being gone through.
    above: Vec<(usize, usize)>,
    pub problems: Vec<(String, Error)>,
}

impl<'l> Walk<'l> {
    pub(super) fn new(limits: &'l Limits) -> Self {
        Self { limits, left: limits.nodes, above: Vec::new(), problems: Vec::new() }
    }

    /// Converts an item. References are followed.
    pub(super) fn item(&mut self, item: &Item<'_>, path: &str) -> Result<Built> {
        let spent = || Limits::exceeded("nodes", self.limits.nodes, "the file has more items");
        self.left = self.left.checked_sub(1).ok_or_else(spent)?;
        self.limits.charge_depth(self.above.len(), "the tree")?;
        if item.kind() == ItemKind::Reference {
            return match item.follow() {
                Ok(found) => self.item(&found, path),
                Err(error) => Ok(self.problem(path, error)),
            };
        }
        match item.kind() {
            ItemKind::Array => Ok(match Leaf::of(item) {
                Ok(leaf) => Built::Array(Box::new(leaf)),
                Err(error) => self.problem(path, error),
            }),
            ItemKind::Mapping | ItemKind::List => self.entered(item, path),
            _ => Ok(match item.value() {
                Ok(value) => Built::Value(Json::of(value)),
                Err(error) => self.problem(path, error),
            }),
        }
    }

    /// Leaves out an item that cannot be read, and reports it.
    fn problem(&mut self, path: &str, error: Error) -> Built {
        self.problems.push((path.to_owned(), error));
        Built::Missing
    }

    /// A mapping or a list.
    fn entered(&mut self, item: &Item<'_>, path: &str) -> Result<Built> {
        let number = match item.place() {
            Place::Node(number) => *number,
            Place::Located { .. } => usize::MAX,
        };
        let here = (std::ptr::from_ref(item.backend()).cast::<()>() as usize, number);
        if self.above.contains(&here) {
            let error = Error::unsupported("it contains itself, which neither JSON nor Zarr can express");
            return Ok(self.problem(path, error));
        }
        self.above.push(here);
        let built = self.collection(item, path);
        self.above.pop();
        built
    }

    fn collection(&mut self, item: &Item<'_>, path: &str) -> Result<Built> {
        if let Some(digits) = item.integer().ok().flatten() {
            return Ok(Built::Value(Json::Digits(digits)));
        }
        if is_quantity(item)
            && let Some(held) = find(item, &["value"]).filter(|held| held.kind() == ItemKind::Array)
        {
            return self.quantity(item, &held, path);
        }
        if WRITTEN.iter().all(|name| find(item, &[name]).is_some_and(|part| part.kind() == ItemKind::Mapping)) {
            return self.written(item, path).map(Built::Group);
        }
        if item.is_history()
            && let Ok(array) = item.as_array()
        {
            return Ok(Built::Array(Box::new(Leaf::new(item.presented(array)?, Vec::new(), None))));
        }
        self.children(item, path)
    }

    /// A mapping or a list by what is in it.
    fn children(&mut self, item: &Item<'_>, path: &str) -> Result<Built> {
        let is_list = item.kind() == ItemKind::List;
        let (without_numbers, is_family) = (has_lengths(item), is_family(item.backend()));
        let mut group = Group { attributes: of_dict(item), ..Group::default() };
        let mut values = Vec::new();
        for (number, (name, child)) in item.children()?.into_iter().enumerate() {
            let name = name.map_or_else(|| number.to_string(), |name| name.into_owned());
            if without_numbers && child.kind() == ItemKind::Scalar {
                continue;
            }
            match self.item(&child, &format!("{path}/{name}"))? {
                Built::Value(value) => values.push((name, value)),
                // The other items of a list keep their numbers.
                Built::Missing if is_list => values.push((name, Json::Null)),
                Built::Missing => {}
                // The items of a family are paths.
                below if is_family => group.insert(&name, below),
                below => group.below.push((name, below)),
            }
        }
        if group.below.is_empty() && !self.above.is_empty() && self.above.len() > 1 {
            return Ok(Built::Value(match is_list {
                true => Json::List(values.into_iter().map(|(_, value)| value).collect()),
                false => Json::Map(group.attributes.into_iter().chain(values).collect()),
            }));
        }
        group.attributes.extend(values);
        group.known = Conventions::of(item);
        Ok(Built::Group(group))
    }

    fn quantity(&mut self, item: &Item<'_>, held: &Item<'_>, path: &str) -> Result<Built> {
        let unit = find(item, &["unit"]).and_then(|unit| unit.text().ok().map(|text| text.into_owned()));
        let mut built = self.item(held, &format!("{path}/value"))?;
        if let (Built::Array(leaf), Some(unit)) = (&mut built, unit) {
            leaf.attributes.retain(|(name, _)| name != "tag" && name != "units");
            leaf.attributes.push(("units".to_owned(), Json::Text(unit)));
        }
        Ok(built)
    }

    /// A dataset of xarray: its variables by their own names.
    fn written(&mut self, item: &Item<'_>, path: &str) -> Result<Group> {
        let mut group = Group::default();
        let mut coordinates = Vec::new();
        for part in WRITTEN {
            let Some(found) = find(item, &[part]) else { continue };
            for (name, child) in found.children()? {
                let name = name.map_or_else(String::new, |name| name.into_owned());
                let path = format!("{path}/{part}/{name}");
                if part == "attrs" {
                    self.value_or_below(&child, name, &path, &mut group)?;
                    continue;
                }
                let Some(leaf) = self.variable(&child, &path)? else { continue };
                if part == "coords" && leaf.said.as_deref() != Some(&[Some(name.clone())]) {
                    coordinates.push(name.clone());
                }
                group.below.push((name, Built::Array(Box::new(leaf))));
            }
        }
        if !coordinates.is_empty() {
            group.attributes.push(("coordinates".to_owned(), Json::Text(coordinates.join(" "))));
        }
        if let Some(children) = find(item, &["children"]) {
            for (name, child) in children.children()? {
                let name = name.map_or_else(String::new, |name| name.into_owned());
                let path = format!("{path}/children/{name}");
                self.value_or_below(&child, name, &path, &mut group)?;
            }
        }
        Ok(group)
    }

    fn value_or_below(&mut self, item: &Item<'_>, name: String, path: &str, group: &mut Group) -> Result<()> {
        match self.item(item, path)? {
            Built::Value(value) => group.attributes.push((name, value)),
            Built::Missing => {}
            below => group.below.push((name, below)),
        }
        Ok(())
    }

    /// A variable of such a dataset: its elements, the names of its axes, and its attributes.
    fn variable(&mut self, item: &Item<'_>, path: &str) -> Result<Option<Leaf>> {
        let texts = |item: Item<'_>| -> Option<Vec<Option<String>>> {
            item.children().ok()?.iter().map(|(_, name)| Some(Some(name.text().ok()?.into_owned()))).collect()
        };
        let said: Said = find(item, &["dims"]).and_then(texts);
        let held = find(item, &["data", "value"]).or_else(|| find(item, &["data"]));
        let array = match held.map(|held| held.as_array().and_then(|array| held.presented(array))) {
            Some(Ok(array)) => array,
            Some(Err(error)) => {
                self.problem(path, error);
                return Ok(None);
            }
            None => {
                self.problem(path, Error::malformed("a variable of a dataset without its data"));
                return Ok(None);
            }
        };
        let attributes = match find(item, &["attrs"]) {
            Some(attributes) => match self.item(&attributes, path)? {
                Built::Value(Json::Map(pairs)) => pairs,
                _ => Vec::new(),
            },
            None => Vec::new(),
        };
        Ok(Some(Leaf::new(array, attributes, said)))
    }
}

fn is_quantity(item: &Item<'_>) -> bool {
    item.notes().tag.and_then(|tag| tag.rsplit('/').next()).is_some_and(|name| name.starts_with("quantity-"))
}

impl Hierarchy {
    /// Adds what a file became, `first` being the names of the first axes of all its arrays.
    pub(super) fn add_root(&mut self, root: Built, first: &[String]) {
        let group = match root {
            Built::Group(group) => group,
            Built::Array(leaf) => Group { below: vec![("data".to_owned(), Built::Array(leaf))], ..Group::default() },
            Built::Value(value) => Group { attributes: vec![("value".to_owned(), value)], ..Group::default() },
            Built::Missing => Group::default(),
        };
        self.add("", group, AxisNames::default(), first);
    }

    // Groups nest no deeper than `Limits::depth`.
    fn add(&mut self, path: &str, group: Group, mut given: AxisNames, first: &[String]) {
        let within = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}/{name}") };
        self.nodes.push(Node::new(path.to_owned(), group.attributes));
        let mut taken = HashSet::new();
        let (mut leaves, mut groups) = (Vec::new(), Vec::new());
        for (key, built) in group.below {
            let name = apart(stored_name(&key), &mut taken);
            match built {
                Built::Array(leaf) => leaves.push((key, name, leaf)),
                Built::Group(group) => groups.push((name, group)),
                Built::Value(_) | Built::Missing => {}
            }
        }
        let known = group.known.as_ref();
        let said: Vec<(&str, &[u64], Said)> =
            leaves.iter().map(|(key, _, leaf)| (key.as_str(), leaf.array.shape(), leaf.said_in(key, known))).collect();
        let dimensions = given.name(&said, first);
        // A parameter that is a length of the arrays is no variable: xarray has one meaning for a name.
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
            root.attributes.push(("coordinates".to_owned(), Json::Text(coordinates.join(" "))));
        }
        let kept = leaves.into_iter().zip(dimensions).zip(is_left_out).filter(|(_, is_left_out)| !is_left_out);
        let mut masks = Vec::new();
        for ((_, name, leaf), dimensions) in kept.map(|(leaf, _)| leaf) {
            let mut node = Node::new(within(&name), leaf.attributes);
            if let Some(Mask::Array(_)) = leaf.array.mask() {
                let mask = within(&apart(format!("{name}_mask"), &mut taken));
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
            self.add(&within(&name), group, given.clone(), first);
        }
    }
}
