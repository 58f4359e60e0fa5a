//! JSON References: `{$ref: file.asdf#/a/b}` and where they lead.

use std::sync::Arc;

use super::node::{Node, NodeId};
use super::{Tree, TreePath};
use crate::error::{Error, ErrorKind, Result};
use crate::limits::Limits;
use crate::percent::leniently_decoded;

/// Maximum number of references in a chain, and of characters of their paths: more is a cycle.
const MAX_CHAIN_LEN: usize = 1000;
const MAX_PATH_CHARS: usize = 1 << 20;

/// A reference to a node of this file or of another one.
///
/// ```
/// use trilith_yaml::tree::NodeReference;
/// let reference = NodeReference::parse("other.asdf#/a%20b/0")?;
/// assert_eq!(reference.uri, "other.asdf");
/// assert_eq!(reference.path.keys(), ["a b", "0"]);
/// # Ok::<(), trilith_yaml::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct NodeReference {
    /// The file, as written; "" for the file that the reference is in.
    pub uri: String,
    /// The node in it; the root if the reference has no fragment.
    pub path: TreePath,
}

impl NodeReference {
    /// Parses `uri#pointer`; escapes (`%20`, `~0`, `~1`) are undone in the pointer, which may lack its first slash.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`] for a pointer with a wrong `~`.
    pub fn parse(text: &str) -> Result<Self> {
        let (uri, fragment) = text.split_once('#').unwrap_or((text, ""));
        Ok(Self { uri: uri.to_owned(), path: TreePath::parse(&leniently_decoded(fragment))? })
    }

    /// Returns `true` if it leads into another file.
    pub fn is_external(&self) -> bool {
        !self.uri.is_empty()
    }
}

impl std::fmt::Display for NodeReference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}#{}", self.uri, self.path)
    }
}

impl<'t> Node<'t> {
    /// The text of `$ref` if this is a reference: a mapping with that key and a text under it.
    pub fn reference_text(self) -> Option<std::borrow::Cow<'t, str>> {
        if !self.is_mapping() {
            return None;
        }
        self.reference_value()?.as_str()
    }

    /// Returns the value of `$ref`, of any kind.
    pub fn reference_value(self) -> Option<Node<'t>> {
        self.entries().filter(|(key, _)| key.is_key("$ref")).last().map(|(_, value)| value)
    }

    /// The reference that this node is, or `None` if it is none.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Malformed`] at this node for a pointer with a wrong `~`.
    pub fn reference(self) -> Result<Option<NodeReference>> {
        let Some(text) = self.reference_text() else { return Ok(None) };
        NodeReference::parse(&text).map(Some).map_err(|error| self.error(error.message()))
    }
}

impl Tree {
    /// Returns `true` if the text can hold a reference at all: the key `$ref`, which can also be written with escapes.
    pub fn may_refer(&self) -> bool {
        let text = self.text().as_bytes();
        memchr::memmem::find(text, b"$ref").is_some() || memchr::memchr(b'\\', text).is_some()
    }
}

/// The target of a reference.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ReferenceTarget {
    /// The other file's URI and tree; `None` for the tree that the reference is in.
    pub file: Option<(String, Arc<Tree>)>,
    /// The node in that tree.
    pub id: NodeId,
}

impl PartialEq for ReferenceTarget {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id && self.uri() == other.uri()
    }
}

impl ReferenceTarget {
    /// The node, given the tree that the reference is in.
    pub fn node<'t>(&'t self, own: &'t Tree) -> Option<Node<'t>> {
        self.file.as_ref().map_or(own, |(_, tree)| tree).node(self.id)
    }

    fn uri(&self) -> &str {
        self.file.as_ref().map_or("", |(uri, _)| uri)
    }
}

/// Opens the tree of another file: `base` is the URI of the referring file ("" for the first), `uri` what
/// it wrote. Returns the URI to know that file by, and its tree.
pub type TreeOpener<'f> = dyn FnMut(&str, &str) -> Result<(String, Arc<Tree>)> + 'f;

impl Tree {
    /// Every reference of the tree with its path, in document order; aliases are not entered.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Limit`] for more nodes than [`Limits::nodes`].
    pub fn references(&self, limits: &Limits) -> Result<Vec<(TreePath, Node<'_>)>> {
        let mut found = Vec::new();
        let mut text = 0;
        let mut walk = self.root().walk(limits).without_merge();
        while let Some(visit) = walk.try_next()? {
            if !visit.node.is_alias() && visit.node.reference_text().is_some() {
                let path = walk.path();
                limits.charge_text(&mut text, path.text_len(), "the paths of the references")?;
                found.push((path, visit.node));
            }
        }
        Ok(found)
    }

    /// Follows a reference of this tree to a node that is none itself, over chains and into other files.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Malformed`] for a path that leads nowhere or a chain that leads back,
    /// [`ErrorKind::Limit`] for more files in a row than [`Limits::external_depth`], and the errors of `open`.
    pub fn resolve(&self, reference: &NodeReference, limits: &Limits, open: &mut TreeOpener<'_>) -> Result<ReferenceTarget> {
        let mut trees = TreeCache { main_tree: self, limits, files: 0, opener: open };
        let start = ReferenceTarget { file: None, id: NodeId(0) };
        let root = trees.open_root(&start, &reference.uri)?;
        resolve_path(&mut trees, root, &reference.path).map_err(|error| error.context(format!("following {reference}")))
    }
}

/// Access to nodes for following references, in any file.
pub trait Places {
    /// A node and the file that it is in.
    type Place: Clone + PartialEq;

    /// The text of the `$ref` that a node is.
    fn find_reference(&self, at: &Self::Place) -> Option<String>;

    /// The root of the file that a node's reference names; "" is the node's own.
    ///
    /// # Errors
    /// Returns an error if that file cannot be opened.
    fn open_root(&mut self, at: &Self::Place, uri: &str) -> Result<Self::Place>;

    /// The child of a node under `key`, which is part of `path`.
    ///
    /// # Errors
    /// Returns an error if there is none.
    fn find_child(&self, at: &Self::Place, key: &str, path: &TreePath) -> Result<Self::Place>;
}

/// Goes along `path` from `start` to a node that is not a reference, through those on the way and at the end.
///
/// # Errors
/// Returns [`ErrorKind::Malformed`] for references that lead back to themselves, and
/// the errors of `places` with the reference that was being followed.
pub fn resolve_path<P: Places>(places: &mut P, start: P::Place, path: &TreePath) -> Result<P::Place> {
    let mut trail = ReferenceChain { paths: Vec::new(), length: 0, text: 0, remaining: 0, shortest: 0, brent_mark: None };
    trail.push(path.clone(), None);
    trail.resolve_path(places, start).map_err(|error| match trail.outermost_reference() {
        // The file asked for it, not the caller.
        Some(text) if error.kind().is_request() => error.with_kind(ErrorKind::Malformed).context(format!("$ref {text:?}")),
        Some(text) => error.context(format!("$ref {text:?}")),
        None => error,
    })
}

/// The paths that are being gone along, each begun before the one below it came to its end.
struct ReferenceChain<P> {
    paths: Vec<ChainStep>,
    length: usize,
    text: usize,
    /// Number of keys left to follow, and the least since the mark was set.
    remaining: usize,
    shortest: usize,
    /// A reference that was come by, and how many keys were left there: who comes by again goes in a circle.
    brent_mark: Option<(P, usize)>,
}

/// A path, how much of it is done, and the reference that it is from.
struct ChainStep {
    path: TreePath,
    consumed: usize,
    reference: Option<String>,
}

impl<P: Clone + PartialEq> ReferenceChain<P> {
    fn push(&mut self, path: TreePath, reference: Option<String>) {
        self.remaining += path.keys().len();
        self.text += path.keys().iter().map(|key| key.len() + 1).sum::<usize>();
        self.paths.push(ChainStep { path, consumed: 0, reference });
    }

    /// The first of the references that are being followed.
    fn outermost_reference(&self) -> Option<&String> {
        self.paths.iter().find_map(|leg| leg.reference.as_ref())
    }

    /// Returns `true` if the reference at `at` has been come by before, with the same keys to go.
    fn is_circle(&mut self, at: &P) -> bool {
        self.length += 1;
        let again =
            self.brent_mark.as_ref().is_some_and(|(mark, left)| *left == self.remaining && self.shortest >= *left && mark == at);
        if self.length.is_power_of_two() {
            self.brent_mark = Some((at.clone(), self.remaining));
            self.shortest = self.remaining;
        }
        again || self.length > MAX_CHAIN_LEN || self.text > MAX_PATH_CHARS
    }

    fn resolve_path(&mut self, places: &mut impl Places<Place = P>, start: P) -> Result<P> {
        let mut at = start;
        loop {
            while self.paths.last().is_some_and(|leg| leg.consumed == leg.path.keys().len()) {
                self.paths.pop();
            }
            if let Some(text) = places.find_reference(&at) {
                if self.is_circle(&at) {
                    self.paths.clear();
                    return Err(Error::malformed("the references lead in a circle, or through more than 1000 references"));
                }
                let (uri, path) = match NodeReference::parse(&text) {
                    Ok(reference) => (reference.uri, reference.path),
                    Err(error) => {
                        self.push(TreePath::root(), Some(text));
                        return Err(error);
                    }
                };
                self.push(path, Some(text));
                at = places.open_root(&at, &uri)?;
                continue;
            }
            let Some(leg) = self.paths.last_mut() else { return Ok(at) };
            let Some(key) = leg.path.keys().get(leg.consumed) else { continue };
            at = places.find_child(&at, key, &leg.path)?;
            leg.consumed += 1;
            self.remaining -= 1;
            self.shortest = self.shortest.min(self.remaining);
        }
    }
}

/// Trees that are opened as they are referred to.
struct TreeCache<'a, 'o, 'f> {
    main_tree: &'a Tree,
    limits: &'a Limits,
    files: u64,
    opener: &'o mut TreeOpener<'f>,
}

impl Places for TreeCache<'_, '_, '_> {
    type Place = ReferenceTarget;

    fn find_reference(&self, at: &ReferenceTarget) -> Option<String> {
        at.node(self.main_tree)?.reference_text().map(std::borrow::Cow::into_owned)
    }

    fn open_root(&mut self, at: &ReferenceTarget, uri: &str) -> Result<ReferenceTarget> {
        let mut file = at.file.clone();
        if !uri.is_empty() {
            self.files += 1;
            if self.files > self.limits.external_depth {
                let what = format_args!("references lead on through {} files", self.files);
                return Err(Limits::exceeded_error("external_depth", self.limits.external_depth, what));
            }
            file = Some((self.opener)(at.uri(), uri)?);
        }
        Ok(ReferenceTarget { file, id: NodeId(0) })
    }

    fn find_child(&self, at: &ReferenceTarget, key: &str, path: &TreePath) -> Result<ReferenceTarget> {
        let child = at.node(self.main_tree).and_then(|node| node.child(key)).map(Node::id);
        let missing =
            || Error::malformed(format!("the reference does not resolve: there is no {key:?}")).at_path(path.to_string());
        Ok(ReferenceTarget { file: at.file.clone(), id: child.ok_or_else(missing)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(text: &str) -> Tree {
        Tree::parse(text, &Limits::default()).unwrap()
    }

    fn resolve_path(tree: &Tree, text: &str) -> Result<String> {
        let mut open = |base: &str, uri: &str| {
            let text = match uri {
                "b.asdf" => "x: {$ref: 'c.asdf#y/0'}\n",
                "c.asdf" => "y: [7]\n",
                "loop.asdf" => "x: {$ref: 'loop.asdf#/x'}\n",
                _ => return Err(Error::invalid_input(format!("{base} asks for {uri}"))),
            };
            Ok((uri.to_owned(), Arc::new(self::tree(text))))
        };
        let target = tree.resolve(&NodeReference::parse(text)?, &Limits::default(), &mut open)?;
        Ok(target.node(tree).unwrap().source_text().to_owned())
    }

    #[test]
    fn references_are_split_and_unescaped() {
        let r = |text| NodeReference::parse(text).unwrap();
        assert_eq!(r("#/a~1b/m%7E0n").path.keys(), ["a/b", "m~n"]);
        assert_eq!(r("#a/b").path, r("#/a/b").path);
        assert_eq!(r("x.asdf").path, TreePath::root());
        assert!(r("#").path.is_root() && !r("#").is_external());
    }

    #[test]
    fn chains_forward_references_and_files_are_followed() {
        let t = tree("a: {$ref: '#/b'}\nb: {$ref: '#/c/0'}\nc: [{k: 1}]\nd: {$ref: 'b.asdf#/x'}\ne: {$ref: '#/a/k'}\n");
        assert_eq!(resolve_path(&t, "#/a").unwrap(), "{k: 1}");
        assert_eq!(resolve_path(&t, "#/e").unwrap(), "1");
        assert_eq!(resolve_path(&t, "#/a/k").unwrap(), "1");
        assert_eq!(resolve_path(&t, "#/d").unwrap(), "7");
        let found: Vec<_> = t.references(&Limits::default()).unwrap().iter().map(|(path, _)| path.to_string()).collect();
        assert_eq!(found, ["/a", "/b", "/d", "/e"]);
    }

    #[test]
    fn cycles_and_dead_ends_are_errors() {
        let t = tree("a: {$ref: '#/b'}\nb: {$ref: '#/a'}\nc: {$ref: '#/c/x'}\nd: {$ref: 'loop.asdf#/x'}\n");
        for text in ["#/a", "#/c", "#/zz", "#/a~"] {
            let kind = resolve_path(&t, text).unwrap_err().kind();
            assert!(matches!(kind, ErrorKind::Malformed | ErrorKind::InvalidInput), "{text}");
        }
        assert_eq!(resolve_path(&t, "#/d").unwrap_err().kind(), ErrorKind::Malformed);
        assert!(resolve_path(&t, "other.asdf").unwrap_err().to_string().contains("asks for other.asdf"));
    }
}
