//! Meaning of the URIs of a tree, and the same tree for another folder.
//!
//! The `source` of an ndarray and a `$ref` are relative to the file that holds them. So code that writes a text
//! into another folder converts it here ([`AsdfFile::rebase`], [`rebase_tree`]): only the URIs change, and every
//! other byte stays.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::asdf_file::AsdfFile;
use super::walk;
use crate::bytes::{BaseUri, RebasedResolver, Resolve};
use crate::error::Result;
use crate::limits::Limits;
use crate::tree::{Node, Tree, Value};

/// A text of a tree that names another file.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct FileUri<'t> {
    /// The scalar.
    pub node: Node<'t>,
    /// The file, as written; "" for the file that it is in.
    pub uri: String,
    /// The part after the file: `#` and a pointer, or nothing.
    pub fragment: String,
    /// `true` if it is the source of an ndarray; otherwise it is a `$ref`.
    pub is_source: bool,
}

/// Every `$ref` of a tree, every `source` that is not a block of the file and no HDU of the FITS file around it, and the
/// `fileuri` of every core/externalarray.
///
/// # Errors
/// Returns [`ErrorKind::Limit`](crate::ErrorKind::Limit) for too many nodes.
pub fn uris<'t>(tree: &'t Tree, limits: &Limits) -> Result<Vec<FileUri<'t>>> {
    walk::check_count(tree, limits)?;
    Ok(collect_uris(tree, walk::with_source(tree)))
}

/// Returns the [`uris`] of a tree, whose ndarrays with their sources are known.
fn collect_uris<'t>(tree: &'t Tree, arrays: impl Iterator<Item = (Node<'t>, Node<'t>)>) -> Vec<FileUri<'t>> {
    let mut found = Vec::new();
    for (_, source) in arrays.filter(|(_, source)| source.as_i64().is_none()) {
        let text = source.text();
        if !text.starts_with("fits:") {
            found.push(FileUri { node: source, uri: text.into_owned(), fragment: String::new(), is_source: true });
        }
    }
    // In most trees only arrays name files, so the other nodes are skipped.
    let may_refer = tree.may_refer();
    let is_external = |tag: &str| tag.starts_with(EXTERNAL_ARRAY);
    for node in tree.tagged(|tag| may_refer || is_external(tag)) {
        if node.is_scalar() {
            continue;
        }
        if may_refer
            && let Some(value) = node.reference_value()
            && let Some(text) = value.as_str()
        {
            found.push(FileUri::split(value, &text));
        }
        if node.tag().is_some_and(is_external)
            && let Some(value) = node.get("fileuri").filter(|value| value.is_scalar())
        {
            found.push(FileUri::split(value, &value.text()));
        }
    }
    found
}

impl<'t> FileUri<'t> {
    /// A file and a fragment in one text.
    fn split(node: Node<'t>, text: &str) -> Self {
        let (uri, fragment) = text.split_at(text.find('#').unwrap_or(text.len()));
        Self { node, uri: uri.to_owned(), fragment: fragment.to_owned(), is_source: false }
    }
}

/// An array of another file by the name of that file (core/externalarray), which Trilith hands on unchanged.
const EXTERNAL_ARRAY: &str = "tag:stsci.edu:asdf/core/externalarray-";

/// The reference that is meant by one in a file whose references `resolve` resolves.
///
/// It is read by the rules of the standard. Only if that leads out of what may be opened, the writers of the file's time (2014 and
/// early 2015) put one `../` too many, and there is a file without it or no folder to look into, that one is dropped.
pub(super) fn reinterpret<'u>(resolve: &dyn Resolve, is_early: bool, uri: &'u str) -> &'u str {
    match uri.strip_prefix("../") {
        Some(rest) if is_early && !resolve.permits(uri) && (!resolve.permits(rest) || resolve.resolve(rest).is_ok()) => rest,
        _ => uri,
    }
}

/// Returns the tree with its references, which are `uris` and which `resolve` resolves, rewritten for the base `to`; `None` if no
/// reference changes. References that mean nothing, such as relative ones in a file from standard input, stay.
///
/// # Errors
/// Returns [`ErrorKind::Limit`](crate::ErrorKind::Limit) for too many nodes, and the errors of the edit.
pub(crate) fn rebase_tree<'t>(
    tree: &'t Tree,
    uris: impl FnOnce() -> Result<Vec<FileUri<'t>>>,
    limits: &Limits,
    is_early: bool,
    resolve: &dyn Resolve,
    to: &BaseUri,
) -> Result<Option<Tree>> {
    let from = resolve.base();
    if from == *to {
        return Ok(None);
    }
    let mut edit = tree.edit();
    let mut changed = false;
    for FileUri { node, uri, fragment, .. } in uris()? {
        if uri.is_empty() {
            continue;
        }
        let Some(absolute) = from.join(reinterpret(resolve, is_early, &uri)).filter(|absolute| *absolute != uri) else {
            continue;
        };
        let mut new = to.relative(&absolute);
        if is_early && new.starts_with("../") {
            // Kept from being taken for the one too many.
            new.insert_str(0, "./");
        }
        if new != uri {
            edit.replace_node(node, &Value::from(new + &fragment));
            changed = true;
        }
    }
    if changed { edit.finish(limits).map(Some) } else { Ok(None) }
}

/// Results of following references: remarks, and the files that were opened. Files that lead to each other share
/// it.
#[derive(Debug, Clone, Default)]
pub struct ReferenceLog(Arc<Mutex<ReferenceLogState>>);

#[derive(Debug, Default)]
struct ReferenceLogState {
    remarks: BTreeSet<String>,
    files: BTreeSet<String>,
}

impl ReferenceLog {
    fn lock(&self) -> MutexGuard<'_, ReferenceLogState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the remarks so far.
    pub fn remarks(&self) -> Vec<String> {
        self.lock().remarks.iter().cloned().collect()
    }

    /// The names of the files that were opened so far.
    pub fn files(&self) -> Vec<String> {
        self.lock().files.iter().cloned().collect()
    }

    /// Notes something about an array that was read.
    pub(crate) fn add_remark(&self, remark: String) {
        self.lock().remarks.insert(remark);
    }

    /// Notes that `uri`, in the file called `from`, was read as `meant` and led to the file called `to`.
    pub(super) fn add_reference(&self, from: &str, uri: &str, meant: &str, to: &str) {
        let mut followed = self.lock();
        followed.files.insert(to.to_owned());
        if uri != meant {
            followed.remarks.insert(format!("{from}: {uri:?} is read as {meant:?}: writers of its time put one ../ too many"));
        }
    }
}

impl AsdfFile {
    /// Returns the base of the relative references of the file.
    pub fn base(&self) -> BaseUri {
        self.resolver().base()
    }

    /// Returns the absolute URI of the file that a reference points to, or `None` if it points to no file.
    pub fn absolute(&self, uri: &str) -> Option<String> {
        self.base().join(reinterpret(&**self.resolver(), self.is_early(), uri))
    }

    /// The reference that is meant by `uri` in this file; see the [module](self).
    pub(crate) fn reinterpret<'u>(&self, uri: &'u str) -> &'u str {
        reinterpret(&**self.resolver(), self.is_early(), uri)
    }

    /// Rewrites the references of the tree so that they begin at `to`. Each reference still means and opens the
    /// same file.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Limit`](crate::ErrorKind::Limit) for too many nodes, and the errors of the edit.
    pub fn rebase(self, to: &BaseUri) -> Result<Self> {
        match self.rebase_text(self.tree(), to)? {
            Some(tree) => {
                let resolve = Arc::new(RebasedResolver::new(self.resolver().clone(), to.clone()));
                Ok(self.with_tree(tree, resolve))
            }
            None => Ok(self),
        }
    }

    /// Returns another tree for this file, with its references rewritten from the base of the file to the
    /// base `to`.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Limit`](crate::ErrorKind::Limit) for too many nodes, and the errors of the edit.
    pub fn rebase_text(&self, tree: &Tree, to: &BaseUri) -> Result<Option<Tree>> {
        rebase_tree(tree, || self.uris_of(tree), self.limits(), self.is_early(), &**self.resolver(), to)
    }

    /// Returns the [`uris`] of a tree for this file. The sources in the tree of the file are looked for once.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Limit`](crate::ErrorKind::Limit) for too many nodes.
    pub fn uris_of<'t>(&'t self, tree: &'t Tree) -> Result<Vec<FileUri<'t>>> {
        if std::ptr::eq(tree, self.tree()) {
            return Ok(collect_uris(tree, walk::ndarrays_with_source(self)?.into_iter()));
        }
        uris(tree, self.limits())
    }
}

/// Returns the first character that no URI has (RFC 3986, 2).
pub(crate) fn non_uri_character(uri: &str) -> Option<char> {
    uri.chars().find(|c| !c.is_ascii_graphic() || matches!(c, '"' | '<' | '>' | '\\' | '^' | '`' | '{' | '|' | '}'))
}

/// Returns the `source` of an ndarray that is not a URI as it is written, and the first character that a URI does not have.
pub(crate) fn find_non_uri_source(node: Node<'_>) -> Option<(String, char)> {
    let source = node.is_mapping().then(|| node.get("source")).flatten()?.as_str()?;
    let character = non_uri_character(&source).filter(|_| !source.starts_with("fits:"))?;
    Some((source.into_owned(), character))
}
