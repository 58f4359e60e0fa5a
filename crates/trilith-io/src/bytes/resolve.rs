//! Opening what a file refers to: external blocks, `$ref` targets, layouts next to a file.
//!
//! Only the caller decides what a reference may reach. [`DirectoryResolver`] is the sandbox for local files: the file's
//! own folder and those below it, and the folders that were allowed; no link that leads out of them.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::base_uri::{self, BaseUri};
use super::local::{LocalFile, LocalOptions};
use super::open::open_regular;
use super::source::SourceRef;
use crate::error::{Error, Result, SuggestedSetting};
use crate::limits::Limits;

/// Opens the target of a relative reference.
pub trait Resolve: Send + Sync {
    /// The bytes that `uri` (without fragment) names, and what resolves references found in them.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Limit`](crate::ErrorKind::Limit) if policy refuses it,
    /// [`ErrorKind::Io`](crate::ErrorKind::Io) if it does not exist.
    fn resolve(&self, uri: &str) -> Result<(SourceRef, Arc<dyn Resolve>)>;

    /// Does the same as [`Resolve::resolve`], if only these ranges of the bytes will be read. A remote file is then
    /// opened by the one request that fetches them.
    ///
    /// # Errors
    /// Returns the errors of [`Resolve::resolve`].
    fn resolve_parts(&self, uri: &str, ranges: &[Range<u64>]) -> Result<(SourceRef, Arc<dyn Resolve>)> {
        let _ = ranges;
        self.resolve(uri)
    }

    /// Returns the number of files that are worth opening in parallel: more than one if each needs waiting.
    fn parallelism(&self) -> usize {
        1
    }

    /// Returns the base of the relative references that this resolves.
    fn base(&self) -> BaseUri {
        BaseUri::None
    }

    /// Returns `true` if `uri` may be opened by its text alone: nothing is looked up.
    fn permits(&self, uri: &str) -> bool {
        let _ = uri;
        false
    }

    /// Returns `true` if `uri` is known to lead to nothing, as far as can be told at next to no cost: without a
    /// request.
    fn is_missing(&self, uri: &str) -> bool {
        let _ = uri;
        false
    }
}

/// Refuses everything: for bytes that came without a place.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoReferences;

impl Resolve for NoReferences {
    fn resolve(&self, uri: &str) -> Result<(SourceRef, Arc<dyn Resolve>)> {
        Err(Error::limit(format!("the reference {uri:?} leads out of bytes that have no folder")))
    }
}

/// The folder of a file and those below it, and further folders that were allowed.
///
/// References are read as in RFC 3986: relative to the file that holds them, `..`, absolute paths and `file:` URIs
/// included. Their targets are opened if they are in one of these folders after following links.
///
/// ```
/// use trilith_io::bytes::{DirectoryResolver, LocalOptions, Resolve};
/// let folder = DirectoryResolver::new(".", LocalOptions::default(), 8);
/// assert!(folder.resolve("../secret.asdf").is_err());
/// assert!(folder.resolve("/etc/passwd").is_err());
/// assert!(folder.resolve("http://example.org/x.asdf").is_err());
/// assert!(folder.permits("sub/../own.asdf"));
/// assert!(folder.allowing("..").permits("../secret.asdf"));
/// ```
#[derive(Debug, Clone)]
pub struct DirectoryResolver {
    /// The folder of the file, and the allowed folders.
    roots: Arc<[AllowedRoot]>,
    /// The folder of the file that holds the references.
    directory: PathBuf,
    options: LocalOptions,
    /// Number of files that may still refer to others, and the maximum.
    depth: u64,
    max_depth: u64,
}

/// A folder that may be read.
#[derive(Debug, Clone)]
struct AllowedRoot {
    /// The path as it was given, for messages.
    display: PathBuf,
    /// Absolute path with the links in its name.
    named_target: PathBuf,
    /// Absolute path without links.
    canonical: PathBuf,
}

impl AllowedRoot {
    fn new(folder: &Path) -> Self {
        Self::with_canonical(folder, base_uri::canonicalize(folder))
    }

    /// A folder whose path without links is known.
    fn with_canonical(folder: &Path, real: PathBuf) -> Self {
        let given = if folder.as_os_str().is_empty() { Path::new(".") } else { folder }.to_path_buf();
        Self { named_target: std::path::absolute(&given).unwrap_or_else(|_| real.clone()), display: given, canonical: real }
    }

    /// Returns the name of a path below the folder as it was given.
    fn display_path(&self, path: &Path) -> Option<PathBuf> {
        path.strip_prefix(&self.canonical).ok().map(|rest| self.display.join(rest))
    }
}

impl DirectoryResolver {
    /// A sandbox of `folder`; references may lead on from file to file `depth` times.
    pub fn new(folder: impl AsRef<Path>, options: LocalOptions, depth: u64) -> Self {
        Self::in_root(AllowedRoot::new(folder.as_ref()), options, depth)
    }

    /// Does the same as [`DirectoryResolver::new`], for the folder of an open file, whose links are not followed again.
    #[doc(hidden)]
    pub fn of_file(file: &LocalFile, folder: &Path, options: LocalOptions, depth: u64) -> Self {
        let root = file.parent_dir().map(|canonical| AllowedRoot::with_canonical(folder, canonical.to_path_buf()));
        Self::in_root(root.unwrap_or_else(|| AllowedRoot::new(folder)), options, depth)
    }

    fn in_root(own: AllowedRoot, options: LocalOptions, depth: u64) -> Self {
        Self { directory: own.canonical.clone(), roots: Arc::new([own]), options, depth, max_depth: depth }
    }

    /// Does the same as [`DirectoryResolver::new`], for bytes without a place: only absolute references have a
    /// meaning, and only allowed folders are opened.
    pub fn deny_all(options: LocalOptions, depth: u64) -> Self {
        Self { directory: PathBuf::new(), roots: Arc::new([]), options, depth, max_depth: depth }
    }

    /// Lets references lead into another folder, and those below it, too.
    #[must_use]
    pub fn allowing(self, folder: impl AsRef<Path>) -> Self {
        let more = self.roots.iter().cloned().chain([AllowedRoot::new(folder.as_ref())]).collect();
        Self { roots: more, ..self }
    }

    /// The path that a reference means, if its text stays inside.
    fn contained_path(&self, uri: &str) -> Result<PathBuf> {
        let refused = |why: &str| Error::limit(format!("the reference {uri:?} is refused: {why}"));
        let path = base_uri::resolve_local_path(&self.directory, uri).map_err(|why| match base_uri::uri_scheme(uri) {
            Some(scheme) if !scheme.eq_ignore_ascii_case("file") => {
                refused(why).setting("if you trust it", SuggestedSetting::Allow("addresses that begin so".to_owned()))
            }
            _ => refused(why),
        })?;
        if path.is_absolute()
            && self.roots.iter().any(|root| path.starts_with(&root.canonical) || path.starts_with(&root.named_target))
        {
            return Ok(path);
        }
        if !path.is_absolute() {
            return Err(refused("it leads out of bytes that have no folder"));
        }
        let folder = path.parent().unwrap_or(&path).display().to_string();
        let end = if folder.ends_with('/') { "" } else { "/" };
        Err(refused("it leads out of the file's folder")
            .setting("if you trust it", SuggestedSetting::Allow(format!("{folder}{end}"))))
    }
}

impl Resolve for DirectoryResolver {
    fn resolve(&self, uri: &str) -> Result<(SourceRef, Arc<dyn Resolve>)> {
        let refused = |why: &str| Error::limit(format!("the reference {uri:?} is refused: {why}"));
        let depth = self.depth.checked_sub(1).ok_or_else(|| {
            Limits::exceeded_error(
                "external_depth",
                self.max_depth,
                format_args!("the reference {uri:?} is refused: more files refer to each other"),
            )
        })?;
        let path = self.contained_path(uri)?;
        let called = self.roots.iter().find_map(|root| root.display_path(&path)).unwrap_or_else(|| path.clone());
        let doing = || format!("opening {}, which the file refers to", called.display());
        // Opening a pipe would wait for its writer.
        if std::fs::metadata(&path).is_ok_and(|m| !m.is_file()) {
            return Err(refused("it is not a regular file"));
        }
        #[allow(clippy::disallowed_methods, reason = "this module opens files")]
        let file = std::fs::File::open(&path).map_err(|e| Error::io(doing(), e))?;
        let metadata = file.metadata().map_err(|e| Error::io(doing(), e))?;
        if !metadata.is_file() {
            return Err(refused("it is not a regular file"));
        }
        // Checked on the file that is open already, so that a link swapped meanwhile changes nothing.
        let real = std::fs::canonicalize(&path).map_err(|e| Error::io(doing(), e))?;
        if !self.roots.iter().any(|root| real.starts_with(&root.canonical)) || !same_file(&metadata, &real) {
            return Err(refused("a link in it leads out of the file's folder"));
        }
        let current = path.parent().map_or_else(|| self.directory.clone(), base_uri::canonicalize);
        let source = open_regular(file, &metadata, &called, (real, false), self.options)?;
        Ok((source, Arc::new(Self { directory: current, depth, ..self.clone() })))
    }

    fn base(&self) -> BaseUri {
        if self.directory.is_absolute() { BaseUri::Folder(self.directory.clone()) } else { BaseUri::None }
    }

    fn permits(&self, uri: &str) -> bool {
        self.contained_path(uri).is_ok()
    }

    fn is_missing(&self, uri: &str) -> bool {
        let there = self.contained_path(uri).map(std::fs::metadata);
        there.is_ok_and(|there| there.is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound))
    }
}

/// A resolver for the references of a file whose text was written for another folder.
pub struct RebasedResolver {
    inner: Arc<dyn Resolve>,
    base: BaseUri,
}

impl RebasedResolver {
    /// `inner` is what resolves them where the file was, `base` where they begin now.
    pub fn new(inner: Arc<dyn Resolve>, base: BaseUri) -> Self {
        Self { inner, base }
    }

    fn to_absolute_uri(&self, uri: &str) -> String {
        self.base.join(uri).unwrap_or_else(|| uri.to_owned())
    }
}

impl Resolve for RebasedResolver {
    fn resolve(&self, uri: &str) -> Result<(SourceRef, Arc<dyn Resolve>)> {
        self.inner.resolve(&self.to_absolute_uri(uri))
    }

    fn resolve_parts(&self, uri: &str, ranges: &[Range<u64>]) -> Result<(SourceRef, Arc<dyn Resolve>)> {
        self.inner.resolve_parts(&self.to_absolute_uri(uri), ranges)
    }

    fn parallelism(&self) -> usize {
        self.inner.parallelism()
    }

    fn base(&self) -> BaseUri {
        self.base.clone()
    }

    fn permits(&self, uri: &str) -> bool {
        self.inner.permits(&self.to_absolute_uri(uri))
    }

    fn is_missing(&self, uri: &str) -> bool {
        self.inner.is_missing(&self.to_absolute_uri(uri))
    }
}

#[cfg(unix)]
fn same_file(open: &std::fs::Metadata, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    std::fs::symlink_metadata(path).is_ok_and(|there| there.dev() == open.dev() && there.ino() == open.ino())
}

#[cfg(not(unix))]
fn same_file(open: &std::fs::Metadata, path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|there| there.is_file() && there.len() == open.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    fn write(path: &Path) {
        std::fs::OpenOptions::new().create(true).truncate(true).write(true).open(path).unwrap();
    }

    #[test]
    fn references_stay_inside_folder_and_depth() {
        let outside = tempfile::tempdir().unwrap();
        let folder = outside.path().join("in");
        std::fs::create_dir_all(folder.join("deep")).unwrap();
        write(&outside.path().join("secret"));
        write(&folder.join("a b.asdf"));
        write(&folder.join("deep/c.asdf"));
        let sandbox = DirectoryResolver::new(&folder, LocalOptions::default(), 2);
        assert!(sandbox.resolve("a%20b.asdf").is_ok());
        let (_, inner) = sandbox.resolve("./deep/c.asdf").unwrap();
        assert!(inner.resolve("c.asdf").is_ok());
        for bad in
            ["../secret", "deep/../../secret", "/etc/passwd", "file:///etc/passwd", "http://x/y", "", "%2e%2e/secret", "deep"]
        {
            assert_eq!(sandbox.resolve(bad).err().map(|e| e.kind()), Some(ErrorKind::Limit), "{bad:?}");
        }
        assert_eq!(sandbox.resolve("missing.asdf").err().map(|e| e.kind()), Some(ErrorKind::Io));
        // The number of references in a chain is limited.
        let (_, second) = inner.resolve("c.asdf").unwrap();
        assert_eq!(second.resolve("c.asdf").err().map(|e| e.kind()), Some(ErrorKind::Limit));
    }

    #[cfg(unix)]
    #[test]
    fn symlink_out_is_refused_symlink_inside_is_followed() {
        let outside = tempfile::tempdir().unwrap();
        let folder = outside.path().join("in");
        std::fs::create_dir(&folder).unwrap();
        write(&outside.path().join("secret"));
        write(&folder.join("real.asdf"));
        std::os::unix::fs::symlink(outside.path().join("secret"), folder.join("out.asdf")).unwrap();
        std::os::unix::fs::symlink("real.asdf", folder.join("link.asdf")).unwrap();
        let sandbox = DirectoryResolver::new(&folder, LocalOptions::default(), 8);
        assert_eq!(sandbox.resolve("out.asdf").err().map(|e| e.kind()), Some(ErrorKind::Limit));
        assert!(sandbox.resolve("link.asdf").is_ok());
    }
}
