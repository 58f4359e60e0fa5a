//! Annotations that follow their items: the entries of the mapping `annotations` are moved with an item, and go with it.

use super::pending::PendingEdit;
use crate::asdf::{annotations, ndarray};
use crate::layout::{REFERENCE_TYPE, SCALES_ATTRIBUTE};
use crate::tree::{Node, Tree, TreePath, Value, index_of};

/// The lists and mappings of the form of a layout in which paths of items are.
const LAYOUT_MAPPINGS: [&str; 3] = ["stored", "shapes", "types"];
const LAYOUT_PARAMETERS: &str = "parameters";

/// The path of an item after a step.
#[derive(Debug, PartialEq)]
enum PathFate {
    Same,
    Gone,
    Moved(TreePath),
}

/// A step together with the tree before it.
struct ItemStep<'t> {
    tree: &'t Tree,
    step: &'t PendingEdit,
    /// The place in its sequence that the step adds or removes, and the path of the sequence.
    shift: Option<(TreePath, usize)>,
}

/// Returns the steps by which the annotations follow a step, in the order in which they are made. `tree` is the one before it.
pub(super) fn annotation_steps(tree: &Tree, step: &PendingEdit) -> Vec<PendingEdit> {
    let Some((key, mapping)) = annotations::find(tree) else { return Vec::new() };
    let base = TreePath::root().join(key);
    // A change of the mapping, or of the whole tree, is meant as it is.
    if step.path().is_root() || base.leads_to(step.path()) {
        return Vec::new();
    }
    let step = ItemStep::new(tree, step);
    let mut steps = Vec::new();
    let scale = step.renamed_scale(mapping);
    for (key, entry) in mapping.entries().filter(|(key, entry)| key.is_scalar() && entry.is_mapping()) {
        let key = key.text();
        let Some(path) = entry_key(&key) else { continue };
        let at = base.join(&*key);
        if step.fate(&path) == PathFate::Gone {
            continue;
        }
        if let Some((old, new)) = &scale
            && step.sees_scale(&path, old)
        {
            let axes = entry.get("axes").filter(|axes| axes.is_sequence());
            let named =
                axes.iter().flat_map(|axes| axes.items()).enumerate().filter(|(_, axis)| axis.is_scalar() && axis.text() == *old);
            steps
                .extend(named.map(|(number, _)| PendingEdit::Set(at.join("axes").join(number.to_string()), new.as_str().into())));
        }
        if step.drops_axes(&path, entry) {
            steps.push(PendingEdit::Delete(at.join("axes")));
        }
        let attributes = entry.get("attributes").filter(|all| all.is_mapping());
        for (name, attribute) in attributes.iter().flat_map(|all| all.entries()).filter(|(name, _)| name.is_scalar()) {
            step.push_references(&at.join("attributes").join(&*name.text()), &name.text(), attribute, &mut steps);
        }
    }
    step.push_layout_steps(&base, mapping, &mut steps);
    step.push_key_steps(&base, mapping, &|key| entry_key(key), &mut steps);
    steps
}

/// Returns the paths of entries of a new tree whose items were in the old tree, and are gone.
pub(super) fn stale_entries(old: &Tree, new: &Tree) -> Vec<TreePath> {
    let Some((key, mapping)) = annotations::find(new) else { return Vec::new() };
    let keys = mapping.entries().filter(|(key, _)| key.is_scalar()).map(|(key, _)| key.text().into_owned());
    let is_stale = |key: &String| entry_key(key).is_some_and(|path| old.find(&path).is_some() && new.find(&path).is_none());
    keys.filter(is_stale).map(|text| TreePath::root().join(key).join(text)).collect()
}

/// Returns the path that a key of the mapping is; None for a key with another meaning.
fn entry_key(key: &str) -> Option<TreePath> {
    (key.is_empty() || key.starts_with('/')).then(|| TreePath::parse(key).ok()).flatten()
}

impl<'t> ItemStep<'t> {
    fn new(tree: &'t Tree, step: &'t PendingEdit) -> Self {
        let shift = || {
            let (above, key) = step.path().split_last()?;
            tree.find(&above).filter(|parent| parent.is_sequence())?;
            match step {
                PendingEdit::Delete(_) => Some((above, index_of(key)?)),
                PendingEdit::Insert(..) => Some((above, index_of(key)?)),
                _ => None,
            }
        };
        Self { tree, step, shift: shift() }
    }

    /// Returns the path of an item after the step.
    fn fate(&self, path: &TreePath) -> PathFate {
        let at = self.step.path();
        if let Some((list, number)) = &self.shift
            && list.leads_to(path)
            && let Some((key, rest)) = path.keys().get(list.keys().len()..).and_then(<[String]>::split_first)
            && let Some(index) = index_of(key)
        {
            let is_removed = matches!(self.step, PendingEdit::Delete(_));
            return match (is_removed, index) {
                (true, index) if index == *number => PathFate::Gone,
                (true, index) if index > *number => PathFate::Moved(join_all(list.join((index - 1).to_string()), rest)),
                (false, index) if index >= *number => PathFate::Moved(join_all(list.join((index + 1).to_string()), rest)),
                _ => PathFate::Same,
            };
        }
        if !at.leads_to(path) {
            return PathFate::Same;
        }
        let rest = path.keys().get(at.keys().len()..).unwrap_or_default();
        match self.step {
            PendingEdit::Delete(_) => PathFate::Gone,
            PendingEdit::Rename(_, name) => match at.split_last() {
                Some((above, _)) => PathFate::Moved(join_all(above.join(name.as_str()), rest)),
                None => PathFate::Same,
            },
            // The entry of an item that is no longer there is not that of a new one.
            PendingEdit::Insert(..) => PathFate::Gone,
            PendingEdit::Set(..) if self.tree.find(at).is_none() => PathFate::Gone,
            PendingEdit::Set(_, value) if find_item(value, rest).is_some() => PathFate::Same,
            PendingEdit::Set(..) => PathFate::Gone,
        }
    }

    /// Returns the old and the new name of an array that is renamed, if an axis has its name.
    fn renamed_scale(&self, mapping: Node<'_>) -> Option<(String, String)> {
        let PendingEdit::Rename(path, name) = self.step else { return None };
        let (_, old) = path.split_last()?;
        let node = self.tree.find(path).filter(|node| ndarray::is_ndarray(*node))?;
        let own = mapping.get(&path.to_string()).and_then(|entry| entry.get("axes"));
        let is_scale = match own.filter(|axes| axes.is_sequence()) {
            Some(axes) => axes.items().any(|axis| axis.is_scalar() && axis.text() == old),
            None => node.get("shape").is_some_and(|shape| shape.len() == 1),
        };
        is_scale.then(|| (old.to_owned(), name.clone()))
    }

    /// Returns `true` if an axis of this name is the renamed array for an item: no nearer group has an item of the name.
    fn sees_scale(&self, item: &TreePath, name: &str) -> bool {
        let Some((group, _)) = self.step.path().split_last() else { return false };
        let mut above = item.clone();
        while above.pop().is_some() {
            if above == group {
                return true;
            }
            if self.tree.find(&above.join(name)).is_some() {
                return false;
            }
        }
        false
    }

    /// Returns `true` if an item gets another value, which has not the axes of its entry.
    fn drops_axes(&self, path: &TreePath, entry: Node<'_>) -> bool {
        let PendingEdit::Set(at, value) = self.step else { return false };
        let Some(axes) = entry.get("axes").filter(|_| at.leads_to(path)) else { return false };
        let Some(value) = path.keys().get(at.keys().len()..).and_then(|rest| find_item(value, rest)) else { return false };
        let value = value.get("value").unwrap_or(value);
        let rank = match (value.get("shape"), value.get("data")) {
            (Some(shape), _) => shape.items().len(),
            (None, Some(data)) => nesting(data),
            (None, None) => nesting(value),
        };
        axes.len() != rank
    }

    /// Adds the steps by which the references of an attribute follow.
    fn push_references(&self, at: &TreePath, name: &str, attribute: Node<'_>, steps: &mut Vec<PendingEdit>) {
        if name == SCALES_ATTRIBUTE {
            let items: Vec<Node<'_>> = attribute.items().collect();
            let pairs = items.chunks(2).filter_map(|pair| if let [axis, path] = pair { Some((axis, path)) } else { None });
            let fates: Vec<_> = pairs.map(|(axis, path)| (axis.text(), path.text(), self.text_fate(&path.text()))).collect();
            if fates.iter().all(|(.., fate)| fate.is_none()) {
                return;
            }
            let kept = fates.into_iter().filter_map(|(axis, path, fate)| match fate {
                None => Some([axis.into_owned(), path.into_owned()]),
                Some(moved) => moved.map(|path| [axis.into_owned(), path]),
            });
            let kept: Vec<String> = kept.flatten().collect();
            steps.push(match kept.is_empty() {
                true => PendingEdit::Delete(at.clone()),
                false => PendingEdit::Set(at.clone(), Value::seq(kept).flow()),
            });
            return;
        }
        if !attribute.is_mapping() || attribute.tag().is_some() {
            return;
        }
        // A reference without an item is empty, as a null reference of HDF5.
        let text_step = |key: TreePath, node: Node<'_>| {
            let moved = self.text_fate(&node.text())?;
            Some(PendingEdit::Set(key, Value::from(moved.unwrap_or_default())))
        };
        let reference = attribute.get("reference").filter(|node| node.is_scalar());
        let is_list = attribute.get("datatype").is_some_and(|datatype| datatype.is_scalar() && datatype.text() == REFERENCE_TYPE);
        steps.extend(reference.and_then(|node| text_step(at.join("reference"), node)));
        let Some(value) = attribute.get("value").filter(|_| is_list || reference.is_some()) else { return };
        push_texts(&at.join("value"), value, &text_step, steps);
    }

    /// Returns the path of the item of a reference after the step, and None in it if the item goes; None if nothing changes.
    fn text_fate(&self, text: &str) -> Option<Option<String>> {
        if text.is_empty() {
            return None;
        }
        // A reference to a region has a selection after the path.
        let is_item = |path: &str| TreePath::parse(path).is_ok_and(|path| self.tree.find(&path).is_some());
        let (path, region) = match text.find('[') {
            Some(at) if !is_item(text) => text.split_at(at),
            _ => (text, ""),
        };
        let item = TreePath::parse(path).ok()?;
        match self.fate(&item) {
            PathFate::Same => None,
            // The reference may be older than the item.
            PathFate::Gone => self.tree.find(&item).map(|_| None),
            PathFate::Moved(moved) => Some(Some(format!("{}{region}", spelled_like(path, &moved)))),
        }
    }

    /// Adds the steps by which the form of a layout follows.
    fn push_layout_steps(&self, base: &TreePath, mapping: Node<'_>, steps: &mut Vec<PendingEdit>) {
        let Some(form) = mapping.get(annotations::LAYOUT_KEY).filter(|form| form.is_mapping()) else { return };
        let base = base.join(annotations::LAYOUT_KEY);
        if let Some(list) = form.get(LAYOUT_PARAMETERS).filter(|list| list.is_sequence()) {
            let at = base.join(LAYOUT_PARAMETERS);
            let fates: Vec<_> = list.items().map(|item| self.text_fate(&item.text())).collect();
            for (number, fate) in fates.into_iter().enumerate().rev() {
                let at = at.join(number.to_string());
                match fate {
                    None => {}
                    Some(None) => steps.push(PendingEdit::Delete(at)),
                    Some(Some(moved)) => steps.push(PendingEdit::Set(at, moved.into())),
                }
            }
        }
        for key in LAYOUT_MAPPINGS {
            if let Some(paths) = form.get(key).filter(|paths| paths.is_mapping()) {
                self.push_key_steps(&base.join(key), paths, &|key| TreePath::parse(key).ok(), steps);
            }
        }
    }

    /// Adds the steps by which the keys of a mapping follow that are paths of items.
    fn push_key_steps(
        &self,
        base: &TreePath,
        mapping: Node<'_>,
        read: &dyn Fn(&str) -> Option<TreePath>,
        steps: &mut Vec<PendingEdit>,
    ) {
        let mut moved = Vec::new();
        for (key, _) in mapping.entries().filter(|(key, _)| key.is_scalar()) {
            let key = key.text();
            let Some(path) = read(&key) else { continue };
            match self.fate(&path) {
                PathFate::Same => {}
                PathFate::Gone => steps.push(PendingEdit::Delete(base.join(&*key))),
                PathFate::Moved(to) => moved.push((self.place_of(&path), base.join(&*key), spelled_like(&key, &to))),
            }
        }
        // The items of a list move one after the other into a place that is free.
        moved.sort_by_key(|(number, ..)| *number);
        if matches!(self.step, PendingEdit::Insert(..)) {
            moved.reverse();
        }
        steps.extend(moved.into_iter().map(|(_, at, name)| PendingEdit::Rename(at, name)));
    }

    /// The place in the list that a step changes.
    fn place_of(&self, path: &TreePath) -> Option<usize> {
        let (list, _) = self.shift.as_ref()?;
        path.keys().get(list.keys().len()).and_then(|key| index_of(key))
    }
}

/// Adds a step for each text in nested lists.
fn push_texts(
    at: &TreePath,
    node: Node<'_>,
    step: &dyn Fn(TreePath, Node<'_>) -> Option<PendingEdit>,
    steps: &mut Vec<PendingEdit>,
) {
    if node.is_scalar() {
        steps.extend(step(at.clone(), node));
    } else if node.is_sequence() && !node.is_alias() {
        node.items().enumerate().for_each(|(number, item)| push_texts(&at.join(number.to_string()), item, step, steps));
    }
}

/// A path as the file spells others: with a slash at its start, or without.
fn spelled_like(known: &str, path: &TreePath) -> String {
    let text = path.to_string();
    if known.starts_with('/') { text } else { text.trim_start_matches('/').to_owned() }
}

fn join_all(path: TreePath, keys: &[String]) -> TreePath {
    keys.iter().fold(path, |path, key| path.join(key.as_str()))
}

/// Returns what a new value has at these keys: the value itself, an item below it, or a member of an array of structs.
fn find_item<'v>(value: &'v Value, keys: &[String]) -> Option<&'v Value> {
    keys.iter().try_fold(value, |at, key| {
        let member = || at.get("datatype")?.items().iter().find(|field| field.get("name").and_then(Value::as_str) == Some(key));
        let item = || index_of(key).and_then(|index| at.items().get(index));
        at.get(key).or_else(item).or_else(member)
    })
}

/// Number of axes of nested lists.
fn nesting(value: &Value) -> usize {
    let (mut value, mut depth) = (value, 0);
    while let Some(first) = value.items().first() {
        (value, depth) = (first, depth + 1);
    }
    depth
}
