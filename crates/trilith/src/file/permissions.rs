//! Places that the references of a file may lead to.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::bytes::{self, DirectoryResolver, LocalFile, LocalOptions, Resolve};
use crate::error::{Error, Result};
use crate::limits::Limits;

/// Places that references of a file may lead to, in addition to the folder of the file: local folders, and URLs.
///
/// ```
/// use trilith::file::ReferencePermissions;
/// assert!(ReferencePermissions::read(["..", "https://data.example.org/shared/"]).is_ok());
/// assert!(ReferencePermissions::read(["no-such-folder/"]).is_err());
/// ```
#[derive(Debug, Clone, Default)]
pub struct ReferencePermissions {
    folders: Vec<PathBuf>,
    addresses: Vec<String>,
}

impl ReferencePermissions {
    /// Reads a list of permissions: `DIR/` (relative to the working directory), `file:///DIR/`, or a prefix of URLs, such as
    /// `https://host/folder/`, `s3://bucket/` or `https://`.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for what is neither a folder that is there nor an
    /// address.
    pub fn read<T: AsRef<str>>(list: impl IntoIterator<Item = T>) -> Result<Self> {
        let mut read = Self::default();
        for text in list {
            let text = text.as_ref();
            if bytes::is_url(text) {
                read.addresses.push(text.to_owned());
            } else {
                read.folders.push(allowed_folder(text)?);
            }
        }
        Ok(read)
    }

    /// The folders, absolute.
    pub fn folders(&self) -> &[PathBuf] {
        &self.folders
    }

    /// Prefixes of URLs.
    pub fn addresses(&self) -> &[String] {
        &self.addresses
    }

    /// Returns a resolver for the references of a local file, without references to URLs. The path `-` is standard
    /// input, which has no folder.
    pub fn resolver(&self, path: &Path, options: LocalOptions, limits: &Limits) -> Arc<dyn Resolve> {
        self.resolver_of(path, None, options, limits)
    }

    /// Does the same as [`ReferencePermissions::resolver`], for a file that may be open.
    pub(super) fn resolver_of(
        &self,
        path: &Path,
        file: Option<&LocalFile>,
        options: LocalOptions,
        limits: &Limits,
    ) -> Arc<dyn Resolve> {
        let folder = path.parent().unwrap_or(Path::new("."));
        let own = match file {
            _ if path == Path::new("-") => DirectoryResolver::deny_all(options, limits.external_depth),
            Some(file) => DirectoryResolver::of_file(file, folder, options, limits.external_depth),
            None => DirectoryResolver::new(folder, options, limits.external_depth),
        };
        Arc::new(self.folders.iter().fold(own, DirectoryResolver::allowing))
    }
}

/// A folder that a person allows.
fn allowed_folder(text: &str) -> Result<PathBuf> {
    let hint = "write --allow DIR/, file:///DIR/, https://HOST/FOLDER/ or s3://BUCKET/";
    let folder =
        bytes::folder_named(text).map_err(|why| Error::invalid_input(format!("{text:?} allows nothing: {why}")).hint(hint))?;
    if !folder.is_dir() {
        let message = format!("{text:?} allows nothing: there is no folder {}", folder.display());
        return Err(Error::invalid_input(message).hint(hint));
    }
    Ok(folder)
}
