//! The text of one schema, and those of its parts that have a separate URI.

use std::collections::HashMap;

use super::uri::{resolve_uri_reference, split_fragment};
use crate::bytes::percent_decode;
use crate::tree::{Node, NodeId, Tree, TreePath};

/// A schema document.
#[derive(Debug)]
pub(super) struct SchemaDocument {
    pub(super) uri: String,
    pub(super) tree: Tree,
    /// The parts with an `id`, by their whole URI.
    named: HashMap<String, NodeId>,
}

impl SchemaDocument {
    pub(super) fn new(uri: &str, tree: Tree) -> Self {
        let named = named_parts(&tree, uri);
        Self { uri: uri.to_owned(), tree, named }
    }

    /// Returns the part that a URI names, in this document or by an `id`, and its base URI.
    pub(super) fn node_named(&self, uri: &str, whole: &str, fragment: &str) -> Option<(NodeId, String)> {
        if let Some(node) = self.named.get(uri) {
            return Some((*node, whole.to_owned()));
        }
        let root = if whole == self.uri { self.tree.root() } else { self.tree.node(*self.named.get(whole)?)? };
        if fragment.is_empty() {
            return Some((root.id(), whole.to_owned()));
        }
        let path = TreePath::parse(&percent_decode(fragment).filter(|pointer| pointer.starts_with('/'))?).ok()?;
        // An `id` on the way changes what references below it are relative to.
        let (mut node, mut base) = (root, whole.to_owned());
        for key in path.keys() {
            if let Some(id) = own_id(node) {
                base = resolve_uri_reference(&base, &id);
            }
            node = if node.is_sequence() { node.index(key.parse().ok()?)? } else { node.get(key)? };
        }
        Some((node.id(), base))
    }
}

/// The `id` of a part; next to a `$ref` it is ignored.
fn own_id(node: Node<'_>) -> Option<std::borrow::Cow<'_, str>> {
    node.get("id").filter(|_| node.is_mapping() && node.get("$ref").is_none()).and_then(Node::as_str)
}

/// The parts of a document that have an `id` (draft-04 core, 7.2), by their whole URI.
fn named_parts(tree: &Tree, uri: &str) -> HashMap<String, NodeId> {
    /// Keys that hold values and no schemas.
    const VALUE_KEYWORDS: [&str; 3] = ["enum", "default", "examples"];
    let mut named = HashMap::new();
    let mut todo = vec![(tree.root(), uri.to_owned())];
    while let Some((node, mut base)) = todo.pop() {
        if node.is_alias() {
            continue;
        }
        if let Some(id) = own_id(node) {
            let whole = resolve_uri_reference(&base, &id);
            named.entry(whole.trim_end_matches('#').to_owned()).or_insert_with(|| node.id());
            base = split_fragment(&whole).0.to_owned();
        }
        todo.extend(node.items().map(|item| (item, base.clone())));
        let parts = node.entries().filter(|(key, _)| !VALUE_KEYWORDS.contains(&&*key.text()));
        todo.extend(parts.map(|(_, value)| (value, base.clone())));
    }
    named
}
