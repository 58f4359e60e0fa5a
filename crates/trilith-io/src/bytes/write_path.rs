//! The place where a new file goes: a path, or an object in a bucket.

use std::path::{Path, PathBuf};

#[cfg(feature = "remote")]
use super::remote::RemoteOptions;

/// A place for a new file: a path, or the URL of an object with the options of its store.
///
/// ```
/// use trilith_io::bytes::{WritePath, RemoteOptions};
/// let here = WritePath::from("copy.asdf");
/// let mut options = RemoteOptions::from_env()?;
/// options.overwrite = true;
/// let there = WritePath::from("s3://bucket/copy.asdf").remote(options);
/// assert!(there.is_url() && !here.is_url());
/// # Ok::<(), trilith_io::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct WritePath {
    path: PathBuf,
    #[cfg(feature = "remote")]
    remote: RemoteOptions,
}

impl<P: AsRef<Path>> From<P> for WritePath {
    fn from(path: P) -> Self {
        Self {
            path: path.as_ref().to_path_buf(),
            #[cfg(feature = "remote")]
            remote: RemoteOptions::default(),
        }
    }
}

impl WritePath {
    /// Sets the options for object stores: credentials, and whether an object may be replaced.
    #[cfg(feature = "remote")]
    #[must_use]
    pub fn remote(mut self, remote: RemoteOptions) -> Self {
        self.remote = remote;
        self
    }

    /// Returns the path or the URL.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns `true` if this is a URL and not a file of this machine.
    pub fn is_url(&self) -> bool {
        self.as_url().is_some()
    }

    pub(super) fn as_url(&self) -> Option<&str> {
        self.path.to_str().filter(|text| super::is_url(text))
    }

    #[cfg(feature = "remote")]
    pub(super) fn remote_options(&self) -> &RemoteOptions {
        &self.remote
    }
}
