//! A plain model of a tree: nodes and references to them, without any text.

use std::collections::HashMap;

use trilith_yaml::Limits;
use trilith_yaml::tree::{Node, NodeKind, Scalar, Tree, Value, ValueData};

/// A place in a collection: the node that it holds, and whether that is written elsewhere.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    pub node: usize,
    pub is_alias: bool,
}

#[derive(Debug, Clone)]
pub(crate) enum Kind {
    /// The type and the text.
    Scalar(String),
    Seq(Vec<Place>),
    Map(Vec<(Place, Place)>),
}

#[derive(Debug, Clone)]
pub(crate) struct Plain {
    pub kind: Kind,
    pub tag: Option<String>,
    /// What it goes by as a key.
    pub name: String,
    pub is_null: bool,
    pub is_merge: bool,
}

/// The nodes of a tree.
#[derive(Debug, Clone)]
pub(crate) struct Model {
    pub nodes: Vec<Plain>,
    pub root: usize,
}

/// Why the model has no result.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// The place is not there, is there already, or is merged in.
    NoPlace,
}

impl Model {
    pub(crate) fn of(tree: &Tree) -> Self {
        let mut model = Self { nodes: Vec::new(), root: 0 };
        let mut known = HashMap::new();
        model.root = model.take(tree.root(), &mut known).node;
        model
    }

    fn take(&mut self, node: Node<'_>, known: &mut HashMap<usize, usize>) -> Place {
        let id = node.id().index();
        if node.is_alias() {
            return Place { node: known[&id], is_alias: true };
        }
        let at = self.nodes.len();
        known.insert(id, at);
        let name = node.key_text().into_owned();
        let tag = node.tag().map(str::to_owned);
        self.nodes.push(Plain { kind: Kind::Seq(Vec::new()), tag, name, is_null: node.is_null(), is_merge: node.is_merge() });
        let kind = match node.kind() {
            NodeKind::Scalar => Kind::Scalar(scalar(&node.scalar(), &node.text())),
            NodeKind::Sequence => Kind::Seq(node.items().map(|item| self.take(item, known)).collect()),
            NodeKind::Mapping => {
                Kind::Map(node.entries().map(|(key, value)| (self.take(key, known), self.take(value, known))).collect())
            }
        };
        self.nodes[at].kind = kind;
        Place { node: at, is_alias: false }
    }

    /// Returns a text that is equal for equal trees, whatever the numbers of their nodes.
    pub(crate) fn canonical(&self) -> String {
        let mut out = String::new();
        self.write(Place { node: self.root, is_alias: false }, &mut HashMap::new(), &mut out);
        out
    }

    fn write(&self, place: Place, seen: &mut HashMap<usize, usize>, out: &mut String) {
        // The first place of a node has it, the others refer to it.
        if let Some(number) = seen.get(&place.node) {
            out.push_str(&format!("*{number}"));
            return;
        }
        let number = seen.len();
        seen.insert(place.node, number);
        let node = &self.nodes[place.node];
        if let Some(tag) = &node.tag {
            out.push_str(&format!("<{tag}>"));
        }
        match &node.kind {
            Kind::Scalar(text) => out.push_str(&format!("({text:?})")),
            Kind::Seq(items) => {
                out.push('[');
                for item in items {
                    self.write(*item, seen, out);
                    out.push(',');
                }
                out.push(']');
            }
            Kind::Map(pairs) => {
                out.push('{');
                for (key, value) in pairs {
                    self.write(*key, seen, out);
                    out.push(':');
                    self.write(*value, seen, out);
                    out.push(',');
                }
                out.push('}');
            }
        }
    }

    /// The places below a node that have a name: the key, or the number.
    pub(crate) fn children(&self, node: usize) -> Vec<(String, Place)> {
        match &self.nodes[node].kind {
            Kind::Scalar(_) => Vec::new(),
            Kind::Seq(items) => items.iter().enumerate().map(|(at, place)| (at.to_string(), *place)).collect(),
            Kind::Map(pairs) => pairs.iter().map(|(key, value)| (self.nodes[key.node].name.clone(), *value)).collect(),
        }
    }

    fn own(&self, node: usize, key: &str) -> Option<Place> {
        self.children(node).into_iter().filter(|(name, _)| name == key).map(|(_, place)| place).next_back()
    }

    fn merged(&self, node: usize, key: &str, depth: usize) -> Option<Place> {
        let Kind::Map(pairs) = &self.nodes[node].kind else { return None };
        let merges = pairs.iter().rev().filter(|(name, _)| depth < 20 && self.nodes[name.node].is_merge);
        for (_, value) in merges {
            let sources = match &self.nodes[value.node].kind {
                Kind::Map(_) => vec![value.node],
                Kind::Seq(items) => items.iter().map(|item| item.node).collect(),
                Kind::Scalar(_) => Vec::new(),
            };
            let found =
                sources.into_iter().find_map(|source| self.own(source, key).or_else(|| self.merged(source, key, depth + 1)));
            if found.is_some() {
                return found;
            }
        }
        None
    }

    /// The node at a path.
    pub(crate) fn find(&self, path: &[String]) -> Option<usize> {
        let mut at = self.root;
        for key in path {
            at = self.own(at, key).or_else(|| self.merged(at, key, 0))?.node;
        }
        Some(at)
    }

    fn add(&mut self, value: &Value) -> usize {
        let text = match &value.data {
            ValueData::Str(text) => text.clone(),
            ValueData::Int(number) => number.to_string(),
            ValueData::Bool(yes) => yes.to_string(),
            ValueData::Float(number) => format!("{number:?}"),
            _ => String::new(),
        };
        let typed = match &value.data {
            ValueData::Null => "null".to_owned(),
            ValueData::Bool(yes) => format!("bool {yes}"),
            ValueData::Int(number) => format!("int {number}"),
            ValueData::Float(number) => format!("float {number:?}"),
            _ => format!("text {text}"),
        };
        let kind = match &value.data {
            ValueData::Seq(items) => Kind::Seq(items.iter().map(|item| self.place(item)).collect()),
            ValueData::Map(pairs) => Kind::Map(pairs.iter().map(|(key, value)| (self.place(key), self.place(value))).collect()),
            _ if value.tag.is_some() => Kind::Scalar(format!("text {text}")),
            _ => Kind::Scalar(typed),
        };
        let is_null = matches!(value.data, ValueData::Null) && value.tag.is_none();
        self.nodes.push(Plain { kind, tag: value.tag.clone(), name: text, is_null, is_merge: false });
        self.nodes.len() - 1
    }

    fn place(&mut self, value: &Value) -> Place {
        Place { node: self.add(value), is_alias: false }
    }

    /// Puts a value where another is, and only there.
    fn put(&mut self, parent: Option<usize>, index: usize, value: &Value) {
        let old = match parent.map(|parent| &self.nodes[parent].kind) {
            None => Place { node: self.root, is_alias: false },
            Some(Kind::Seq(items)) => items[index],
            Some(Kind::Map(pairs)) => pairs[index].1,
            Some(Kind::Scalar(_)) => return,
        };
        let mut value = value.clone();
        let alike = match (&self.nodes[old.node].kind, &value.data) {
            (Kind::Seq(_), ValueData::Seq(_)) | (Kind::Map(_), ValueData::Map(_)) => true,
            (Kind::Scalar(_), ValueData::Seq(_) | ValueData::Map(_) | ValueData::Null) => false,
            (Kind::Scalar(_), _) => true,
            _ => false,
        };
        if value.tag.is_none() && alike && !old.is_alias {
            value.tag = self.nodes[old.node].tag.clone().filter(|tag| !tag.starts_with("tag:yaml.org,2002:"));
        }
        let new = self.add(&value);
        let place = Place { node: new, is_alias: false };
        match parent.map(|parent| &mut self.nodes[parent].kind) {
            Some(Kind::Seq(items)) => items[index] = place,
            Some(Kind::Map(pairs)) => pairs[index].1 = place,
            None => self.root = new,
            _ => {}
        }
    }

    fn index(&self, parent: usize, key: &str) -> Option<usize> {
        self.children(parent).iter().rposition(|(name, _)| name == key)
    }

    pub(crate) fn set(mut self, path: &[String], value: &Value) -> Result<Self, Refused> {
        let Some((key, above)) = path.split_last() else {
            self.put(None, 0, value);
            return Ok(self);
        };
        let parent = self.find(above).ok_or(Refused::NoPlace)?;
        match self.index(parent, key) {
            Some(index) => self.put(Some(parent), index, value),
            None => return self.insert(path, value),
        }
        Ok(self)
    }

    pub(crate) fn insert(mut self, path: &[String], value: &Value) -> Result<Self, Refused> {
        let (key, above) = path.split_last().ok_or(Refused::NoPlace)?;
        let parent = self.find(above).ok_or(Refused::NoPlace)?;
        if self.nodes[parent].is_null {
            return self.set(above, &Value::map([(key.as_str(), value.clone())]));
        }
        if matches!(self.nodes[parent].kind, Kind::Map(_)) && self.index(parent, key).is_some() {
            return Err(Refused::NoPlace);
        }
        let (name, new) = (self.place(&Value::from(key.as_str())), self.place(value));
        match &mut self.nodes[parent].kind {
            Kind::Scalar(_) => return Err(Refused::NoPlace),
            Kind::Map(pairs) => pairs.push((name, new)),
            Kind::Seq(items) => {
                let at = if key == "-" { items.len() } else { key.parse().map_err(|_| Refused::NoPlace)? };
                if at > items.len() {
                    return Err(Refused::NoPlace);
                }
                items.insert(at, new);
            }
        }
        Ok(self)
    }

    pub(crate) fn delete(mut self, path: &[String]) -> Result<Self, Refused> {
        let (key, above) = path.split_last().ok_or(Refused::NoPlace)?;
        let parent = self.find(above).ok_or(Refused::NoPlace)?;
        self.index(parent, key).ok_or(Refused::NoPlace)?;
        if self.merged(parent, key, 0).is_some() && key != "<<" {
            return Err(Refused::NoPlace);
        }
        let goes: Vec<bool> = self.children(parent).iter().map(|(name, _)| name == key).collect();
        let mut goes = goes.into_iter();
        match &mut self.nodes[parent].kind {
            Kind::Seq(items) => items.retain(|_| goes.next() != Some(true)),
            Kind::Map(pairs) => pairs.retain(|_| goes.next() != Some(true)),
            Kind::Scalar(_) => {}
        }
        Ok(self)
    }

    pub(crate) fn rename(mut self, path: &[String], new: &str) -> Result<Self, Refused> {
        let (key, above) = path.split_last().ok_or(Refused::NoPlace)?;
        let parent = self.find(above).ok_or(Refused::NoPlace)?;
        let is_map = matches!(self.nodes[parent].kind, Kind::Map(_));
        if !is_map || self.index(parent, key).is_none() || self.index(parent, new).is_some() {
            return Err(Refused::NoPlace);
        }
        if self.merged(parent, key, 0).is_some() && key != "<<" {
            return Err(Refused::NoPlace);
        }
        let names: Vec<bool> = self.children(parent).iter().map(|(name, _)| name == key).collect();
        for (at, _) in names.iter().enumerate().filter(|(_, named)| **named) {
            let place = self.place(&Value::from(new));
            if let Kind::Map(pairs) = &mut self.nodes[parent].kind {
                pairs[at].0 = place;
            }
        }
        Ok(self)
    }
}

fn scalar(scalar: &Scalar<'_>, text: &str) -> String {
    match scalar {
        Scalar::Null => "null".to_owned(),
        Scalar::Bool(yes) => format!("bool {yes}"),
        Scalar::Int(number) => format!("int {number}"),
        Scalar::Float(number) => format!("float {number:?}"),
        Scalar::Str(_) => format!("text {text}"),
        other => format!("{other:?}"),
    }
}

/// The tree of a text, with the limits of every test here.
pub(crate) fn parse(text: &str) -> trilith_yaml::Result<Tree> {
    Tree::parse(text, &Limits::default())
}
