//! JSON References: `{$ref: file.asdf#/a/b}` and where they lead.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use super::node::{Node, NodeId};
use super::{Scalar, Tree, TreePath};
use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::yaml::percent_decoded;

/// How many references in a row are followed before they count as a cycle.
const LONGEST_CHAIN: usize = 1000;

/// A reference to a node of this file or of another one.
///
/// ```
/// use trilith::tree::Reference;
/// let reference = Reference::parse("other.asdf#/a%20b/0")?;
/// assert_eq!(reference.uri, "other.asdf");
/// assert_eq!(reference.path.keys(), ["a b", "0"]);
/// # Ok::<(), trilith::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Reference {
    /// The file, as written; "" for the file that the reference stands in.
    pub uri: String,
    /// The node in it; the root where the reference has no fragment.
    pub path: TreePath,
}

impl Reference {
    /// Parses `uri#pointer`; escapes (`%20`, `~0`, `~1`) are undone in the pointer, which may lack its first slash.
    ///
    /// # Errors
    /// [`Kind::Usage`](crate::Kind::Usage) for a pointer with a wrong `~`.
    pub fn parse(text: &str) -> Result<Self> {
        let (uri, fragment) = text.split_once('#').unwrap_or((text, ""));
        Ok(Self { uri: uri.to_owned(), path: TreePath::parse(&percent_decoded(fragment))? })
    }

    /// Whether it leads into another file.
    pub fn is_external(&self) -> bool {
        !self.uri.is_empty()
    }
}

impl std::fmt::Display for Reference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}#{}", self.uri, self.path)
    }
}

impl<'t> Node<'t> {
    /// The text of `$ref` where this is a reference: a mapping with that key and a text under it.
    pub fn reference_text(self) -> Option<std::borrow::Cow<'t, str>> {
        if !self.is_mapping() {
            return None;
        }
        let value = self.entries().filter(|(key, _)| key.is_key("$ref")).last()?.1;
        match value.scalar() {
            Scalar::Str(text) if value.is_scalar() => Some(text),
            _ => None,
        }
    }

    /// The reference that this node is, or `None` where it is none.
    ///
    /// # Errors
    /// [`Kind::Malformed`](crate::Kind::Malformed) at this node for a pointer with a wrong `~`.
    pub fn reference(self) -> Result<Option<Reference>> {
        let Some(text) = self.reference_text() else { return Ok(None) };
        Reference::parse(&text).map(Some).map_err(|error| self.error(error.message()))
    }
}

/// Where a reference led.
#[derive(Debug, Clone)]
pub struct Target {
    /// The other file's URI and tree; `None` for the tree that the reference stands in.
    pub file: Option<(String, Arc<Tree>)>,
    /// The node in that tree.
    pub id: NodeId,
}

impl Target {
    /// The node, given the tree that the reference stands in.
    pub fn node<'t>(&'t self, own: &'t Tree) -> Option<Node<'t>> {
        self.file.as_ref().map_or(own, |(_, tree)| tree).node(self.id)
    }

    fn uri(&self) -> &str {
        self.file.as_ref().map_or("", |(uri, _)| uri)
    }
}

/// Opens the tree of another file: `base` is the URI of the file that asks ("" for the first), `uri` what
/// it wrote. Returns the URI to know that file by, and its tree.
pub type OpenTree<'f> = dyn FnMut(&str, &str) -> Result<(String, Arc<Tree>)> + 'f;

impl Tree {
    /// Every reference of the tree with its path, in document order; aliases are not entered.
    ///
    /// # Errors
    /// [`Kind::Limit`](crate::Kind::Limit) for more nodes than [`Limits::nodes`].
    pub fn references(&self, limits: &Limits) -> Result<Vec<(TreePath, Node<'_>)>> {
        let mut found = Vec::new();
        let mut walk = self.root().walk(limits).as_written();
        while let Some(visit) = walk.step()? {
            if !visit.node.is_alias() && visit.node.reference_text().is_some() {
                found.push((walk.path(), visit.node));
            }
        }
        Ok(found)
    }

    /// Follows a reference of this tree to a node that is none itself, over chains and into other files.
    ///
    /// # Errors
    /// [`Kind::Malformed`](crate::Kind::Malformed) for a path that leads nowhere or a chain that leads back,
    /// [`Kind::Limit`](crate::Kind::Limit) for more files in a row than [`Limits::external_depth`], and what `open` returns.
    pub fn resolve(&self, reference: &Reference, limits: &Limits, open: &mut OpenTree<'_>) -> Result<Target> {
        let mut at = Target { file: None, id: NodeId(0) };
        let mut keys: VecDeque<String> = VecDeque::new();
        let mut seen = HashSet::new();
        let (mut files, mut hops) = (0, 0);
        let mut next = Some(reference.clone());
        loop {
            if let Some(reference) = next.take() {
                hops += 1;
                if hops > LONGEST_CHAIN {
                    return Err(cycle(&reference));
                }
                if reference.is_external() {
                    files += 1;
                    if files > limits.external_depth {
                        let what = format_args!("references lead on through {files} files");
                        return Err(Limits::exceeded("external_depth", limits.external_depth, what));
                    }
                    at.file = Some(open(at.uri(), &reference.uri)?);
                }
                at.id = NodeId(0);
                for key in reference.path.keys().iter().rev() {
                    keys.push_front(key.clone());
                }
            }
            let node = at.node(self).ok_or_else(|| Error::malformed("the tree of a referenced file is empty"))?;
            if let Some(reference) = node.reference()? {
                if !seen.insert((at.uri().to_owned(), node.id(), keys.len())) {
                    return Err(cycle(&reference));
                }
                next = Some(reference);
                continue;
            }
            let Some(key) = keys.pop_front() else { return Ok(at) };
            let child = node.child(&key).map(Node::id);
            at.id = child.ok_or_else(|| {
                Error::malformed(format!("the reference {reference} leads nowhere: there is no {key:?}"))
                    .at_path(self.path_of(node.id()).filter(|_| at.file.is_none()).unwrap_or_default().to_string())
            })?;
        }
    }
}

#[cold]
fn cycle(reference: &Reference) -> Error {
    Error::malformed(format!("the reference {reference} leads back to itself"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Kind;

    fn tree(text: &str) -> Tree {
        Tree::parse(text, &Limits::default()).unwrap()
    }

    fn follow(tree: &Tree, text: &str) -> Result<String> {
        let mut open = |base: &str, uri: &str| {
            let text = match uri {
                "b.asdf" => "x: {$ref: 'c.asdf#y/0'}\n",
                "c.asdf" => "y: [7]\n",
                "loop.asdf" => "x: {$ref: 'loop.asdf#/x'}\n",
                _ => return Err(Error::usage(format!("{base} asks for {uri}"))),
            };
            Ok((uri.to_owned(), Arc::new(self::tree(text))))
        };
        let target = tree.resolve(&Reference::parse(text)?, &Limits::default(), &mut open)?;
        Ok(target.node(tree).unwrap().raw().to_owned())
    }

    #[test]
    fn references_are_split_and_unescaped() {
        let r = |text| Reference::parse(text).unwrap();
        assert_eq!(r("#/a~1b/m%7E0n").path.keys(), ["a/b", "m~n"]);
        assert_eq!(r("#a/b").path, r("#/a/b").path);
        assert_eq!(r("x.asdf").path, TreePath::root());
        assert!(r("#").path.is_root() && !r("#").is_external());
    }

    #[test]
    fn chains_forward_references_and_files_are_followed() {
        let t = tree("a: {$ref: '#/b'}\nb: {$ref: '#/c/0'}\nc: [{k: 1}]\nd: {$ref: 'b.asdf#/x'}\ne: {$ref: '#/a/k'}\n");
        assert_eq!(follow(&t, "#/a").unwrap(), "{k: 1}");
        assert_eq!(follow(&t, "#/e").unwrap(), "1");
        assert_eq!(follow(&t, "#/a/k").unwrap(), "1");
        assert_eq!(follow(&t, "#/d").unwrap(), "7");
        let found: Vec<_> = t.references(&Limits::default()).unwrap().iter().map(|(path, _)| path.to_string()).collect();
        assert_eq!(found, ["/a", "/b", "/d", "/e"]);
    }

    #[test]
    fn cycles_and_dead_ends_are_errors() {
        let t = tree("a: {$ref: '#/b'}\nb: {$ref: '#/a'}\nc: {$ref: '#/c/x'}\nd: {$ref: 'loop.asdf#/x'}\n");
        for text in ["#/a", "#/c", "#/zz", "#/a~"] {
            let kind = follow(&t, text).unwrap_err().kind();
            assert!(matches!(kind, Kind::Malformed | Kind::Usage), "{text}");
        }
        assert_eq!(follow(&t, "#/d").unwrap_err().kind(), Kind::Malformed);
        assert!(follow(&t, "other.asdf").unwrap_err().to_string().contains("asks for other.asdf"));
    }
}
