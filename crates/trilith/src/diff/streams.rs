//! What differs between two Dudley streams: items, parameters, arrays, attributes.

use std::collections::HashMap;

use super::{DiffOptions, Difference, DifferenceKind, Differences};
use crate::dudley::{DudleyFile, Items, Outline, OutlineId, Thing};
use crate::error::Result;
use crate::layout::ItemId;
use crate::tree::TreePath;

/// Every difference between two Dudley streams, in the order of the first: where something lies, in which
/// byte order and under which datatype name is no difference, nor is documentation.
///
/// Paths are item paths; an attribute `unit` of `/t` is `/t#unit`. What [`DiffOptions::ignore`] names are
/// the same paths with `/` before the index of a list: `/list/3/x`.
///
/// ```
/// # use std::sync::Arc;
/// # use trilith::{Limits, bytes::MemorySource, diff::{DiffOptions, diff_streams}, dudley::DudleyFile, layout::Layout};
/// let open = |bytes: &[u8]| {
///     let layout = Layout::read(b"n = u1[2]")?;
///     DudleyFile::open(Arc::new(MemorySource::new(bytes.to_vec(), "x")), Some(layout), &Limits::default())
/// };
/// let found = diff_streams(&open(b"\x01\x02")?, &open(b"\x01\x05")?, &DiffOptions::default())?;
/// assert_eq!((found[0].path.as_str(), found[0].kind.name()), ("/n", "elements"));
/// # Ok::<(), trilith::Error>(())
/// ```
///
/// # Errors
/// As [`DudleyFile::items`], and what reading the arrays says.
pub fn diff_streams(a: &DudleyFile, b: &DudleyFile, options: &DiffOptions) -> Result<Vec<Difference>> {
    let _calls = (a.limits().call(), b.limits().call());
    let (a, b) = (a.items()?, b.items()?);
    let (left, right) = (a.outline()?, b.outline()?);
    let streams = Streams { a: Side { items: &a, outline: &left }, b: Side { items: &b, outline: &right } };
    let mut out = Differences { options, found: Vec::new() };
    // As many pairs as there are items, which opening the outlines has counted.
    let mut todo = vec![Pair { path: TreePath::root(), name: String::new(), a: OutlineId::ROOT, b: OutlineId::ROOT }];
    while let Some(pair) = todo.pop() {
        if out.is_ignored(&pair.path) {
            continue;
        }
        let mut children = streams.pair(&pair, &mut out)?;
        children.reverse();
        todo.extend(children);
    }
    Ok(out.found)
}

/// Two things of one path: as a tree path, and as an item path.
struct Pair {
    path: TreePath,
    name: String,
    a: OutlineId,
    b: OutlineId,
}

struct Side<'s> {
    items: &'s Items<'s>,
    outline: &'s Outline,
}

struct Streams<'s> {
    a: Side<'s>,
    b: Side<'s>,
}

impl Side<'_> {
    /// The children of a dict or list by name or number; parameters have names of their own.
    fn children(&self, id: OutlineId) -> Vec<((String, bool), OutlineId)> {
        let is_param = |id| matches!(self.outline.thing(id), Thing::Param(..));
        let named = self.outline.children(id).into_iter().enumerate();
        named.map(|(n, (name, id))| ((name.map_or_else(|| n.to_string(), str::to_owned), is_param(id)), id)).collect()
    }

    fn attributes(&self, item: Option<ItemId>) -> Vec<(String, String)> {
        let layout = self.items.file().layout();
        let item = item.into_iter().flat_map(|item| layout.attributes(item).map(move |said| (item, said)));
        // How the layout is written is not what it says.
        item.filter(|(item, (name, _))| !(*item == ItemId::ROOT && *name == "dialect"))
            .map(|(_, (name, value))| (name.to_owned(), value.to_string()))
            .collect()
    }
}

impl Streams<'_> {
    /// Compares two things but for their children, which are handed back in pairs.
    fn pair(&self, pair: &Pair, out: &mut Differences<'_>) -> Result<Vec<Pair>> {
        let (a, b) = (self.a.outline.thing(pair.a), self.b.outline.thing(pair.b));
        self.attributes(pair, out);
        // A member of a struct of unknown length has a path of its own kind, which only its entry knows.
        let path = match a {
            Thing::Data(entry) | Thing::Param(_, Some(entry)) => entry.path.as_str(),
            _ if pair.name.is_empty() => "/",
            _ => &pair.name,
        };
        match (a, b) {
            (Thing::Dict, Thing::Dict) | (Thing::List, Thing::List) => return Ok(self.children(pair, out)),
            (Thing::Data(a), Thing::Data(b)) => {
                let a = self.a.items.array(a).map_err(|e| e.context("the first file"))?;
                let b = self.b.items.array(b).map_err(|e| e.context("the second file"))?;
                out.arrays(path, &a, &b)?;
            }
            (Thing::Param(a, _), Thing::Param(b, _)) if a != b => {
                out.say(path.to_owned(), DifferenceKind::Value, Some(a.to_string()), Some(b.to_string()));
            }
            (Thing::Param(..), Thing::Param(..)) | (Thing::Null, Thing::Null) => {}
            (a, b) => out.say(path.to_owned(), DifferenceKind::Type, Some(word(a)), Some(word(b))),
        }
        Ok(Vec::new())
    }

    fn attributes(&self, pair: &Pair, out: &mut Differences<'_>) {
        let left = self.a.attributes(self.a.outline.item(pair.a));
        let right = self.b.attributes(self.b.outline.item(pair.b));
        let get = |list: &[(String, String)], name: &str| list.iter().find(|(known, _)| known == name).map(|(_, v)| v.clone());
        let mut said = Vec::new();
        for (name, a) in &left {
            match get(&right, name) {
                Some(b) if b == *a => {}
                Some(b) => said.push((name, DifferenceKind::Value, Some(a.clone()), Some(b))),
                None => said.push((name, DifferenceKind::Removed, Some(a.clone()), None)),
            }
        }
        for (name, b) in right.iter().filter(|(name, _)| get(&left, name).is_none()) {
            said.push((name, DifferenceKind::Added, None, Some(b.clone())));
        }
        for (name, kind, a, b) in said {
            out.say(format!("{}#{name}", pair.name), kind, a, b);
        }
    }

    fn children(&self, pair: &Pair, out: &mut Differences<'_>) -> Vec<Pair> {
        let (left, right) = (self.a.children(pair.a), self.b.children(pair.b));
        let is_list = self.a.outline.thing(pair.a) == Thing::List;
        let in_right: HashMap<&(String, bool), OutlineId> = right.iter().map(|(key, id)| (key, *id)).collect();
        let in_left: HashMap<&(String, bool), OutlineId> = left.iter().map(|(key, id)| (key, *id)).collect();
        let name = |key: &str| match is_list {
            true => format!("{}[{key}]", pair.name),
            false => format!("{}/{}", pair.name, crate::layout::quoted_name(key)),
        };
        let mut both = Vec::new();
        for (key, id) in &left {
            let path = pair.path.join(key.0.as_str());
            match in_right.get(key) {
                Some(other) => both.push(Pair { path, name: name(&key.0), a: *id, b: *other }),
                None if out.is_ignored(&path) => {}
                None => {
                    out.say(name(&key.0), DifferenceKind::Removed, Some(word(self.a.outline.thing(*id))), None);
                }
            }
        }
        for (key, id) in right.iter().filter(|(key, _)| !in_left.contains_key(key)) {
            if !out.is_ignored(&pair.path.join(key.0.as_str())) {
                out.say(name(&key.0), DifferenceKind::Added, None, Some(word(self.b.outline.thing(*id))));
            }
        }
        both
    }
}

/// What a thing is, in a few words.
fn word(thing: Thing<'_>) -> String {
    match thing {
        Thing::Dict => "dict".to_owned(),
        Thing::List => "list".to_owned(),
        Thing::Data(entry) => format!("{} {:?}", entry.datatype, entry.shape),
        Thing::Param(value, _) => format!("parameter {value}"),
        Thing::Null => "null".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::bytes::MemorySource;
    use crate::diff::ignored;
    use crate::layout::Layout;
    use crate::limits::Limits;

    fn open(layout: &str, bytes: &[u8]) -> DudleyFile {
        let layout = Layout::read(layout.as_bytes()).unwrap();
        DudleyFile::open(Arc::new(MemorySource::new(bytes.to_vec(), "x")), Some(layout), &Limits::default()).unwrap()
    }

    fn kinds(a: (&str, &[u8]), b: (&str, &[u8]), options: &DiffOptions) -> Vec<(String, &'static str)> {
        let found = diff_streams(&open(a.0, a.1), &open(b.0, b.1), options).unwrap();
        found.into_iter().map(|d| (d.path, d.kind.name())).collect()
    }

    #[test]
    fn how_a_stream_is_laid_out_is_no_difference() {
        let none = DiffOptions::default();
        let a = ("N : i1 #: unit=\"m\"\nx = <i2[N]\nl [u1, u1]", &[2, 0, 1, 0, 2, 0, 7, 8][..]);
        let b = ("l [u1]*2 ## another text\nx = >i2[2]\nN : 2 #: unit=\"m\"\n", &[7, 8, 0, 1, 0, 2][..]);
        assert!(kinds(a, b, &none).is_empty(), "{:?}", kinds(a, b, &none));
    }

    #[test]
    fn items_parameters_attributes_and_elements_are() {
        let none = DiffOptions::default();
        let a = ("N : 1\nx = u1 #: unit=\"m\", old\n\"a b\" = u1\nl [u1, / y = u1, u1]\n", &[1, 2, 3, 4, 5][..]);
        let b = ("N : 2\nx = u1 #: unit=\"s\", new=1\ng/ .. l [u1, / y = u1]\n\"a b\" = i1", &[1, 3, 9, 2][..]);
        let found = kinds(a, b, &none);
        let expected = [
            ("/l[2]", "removed"),
            ("/N", "value"),
            ("/x#unit", "value"),
            ("/x#old", "removed"),
            ("/x#new", "added"),
            ("/\"a b\"", "datatype"),
            ("/l[1]/y", "elements"),
        ];
        for (path, kind) in expected {
            assert!(found.contains(&(path.to_owned(), kind)), "{path} {kind}: {found:?}");
        }
        assert!(found.contains(&("/g".to_owned(), "added")));
        assert_eq!(found.len(), expected.len() + 1);
        let options = DiffOptions {
            ignore: ["/N", "/x", "/l/*", "/a b", "/g"].iter().map(|p| ignored(p).unwrap()).collect(),
            ..DiffOptions::default()
        };
        assert!(kinds(a, b, &options).is_empty());
        let tolerant = DiffOptions { atol: 1.0, ..DiffOptions::default() };
        assert!(kinds(("x = u1", &[1]), ("x = u1", &[2]), &tolerant).is_empty());
    }
}
