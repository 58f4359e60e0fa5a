//! The file, object or memory that bytes come from in the end.

use super::LocalFile;
use crate::error::Result;

/// The file, object or memory that the bytes of a [`Source`](super::Source) come from, however they are made of it.
///
/// ```
/// use trilith_io::bytes::{SourceBacking, open};
/// # let folder = std::env::temp_dir().join(format!("trilith-backing-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder)?;
/// let path = folder.join("x.raw");
/// std::fs::write(&path, [0; 100])?;
/// let source = open(&path, Default::default())?;
/// assert!(source.backing().is_some_and(|file| !file.is_changed()));
/// std::fs::write(&path, [0; 200])?;
/// assert!(source.backing().is_some_and(SourceBacking::is_changed));
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait SourceBacking {
    /// Returns the backing that answers what this one does not.
    fn inner_backing(&self) -> Option<&dyn SourceBacking> {
        None
    }

    /// Returns a word for what the file held when it was opened, which is another once the file is replaced or written to: what
    /// the server calls it, or its size and time. Returns None if nothing says so.
    fn content_version(&self) -> Option<String> {
        self.inner_backing()?.content_version()
    }

    /// Returns `true` if the file has become another since it was opened: written to, or replaced.
    fn is_changed(&self) -> bool {
        self.inner_backing().is_some_and(|inner| inner.is_changed())
    }

    /// Returns the file on this machine, if it is one.
    fn local_file(&self) -> Option<&LocalFile> {
        self.inner_backing()?.local_file()
    }

    /// Returns a remark for people about the file, such as an update that did not finish.
    fn notice(&self) -> Option<String> {
        self.inner_backing()?.notice()
    }

    /// Compares the bytes with the checksum that the file states for them, once.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) if they differ, and the errors of reading them.
    fn verify_checksum(&self) -> Result<()> {
        self.inner_backing().map_or(Ok(()), |inner| inner.verify_checksum())
    }
}
