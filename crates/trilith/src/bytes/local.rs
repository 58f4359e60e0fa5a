//! Files on this machine: positioned reads, and maps where views are wanted.

use std::fs::{File, Metadata};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::SystemTime;

use super::map::Map;
use super::source::{Source, SourceRef, past_end};
use crate::error::{Error, Result};

/// How a local file is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct OpenOptions {
    /// Whether [`Source::view`] may map the file (regular files only). A file that another process
    /// truncates *while a view of it is in use* kills the process, as with every memory map.
    pub map: bool,
    /// How many bytes of a pipe are read: [`Limits::spool`](crate::Limits::spool).
    pub spool: u64,
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self { map: true, spool: crate::limits::Limits::default().spool }
    }
}

/// Opens a local file; a pipe is read into a spool first.
///
/// # Errors
/// [`Kind::Io`](crate::Kind::Io), [`Kind::Usage`](crate::Kind::Usage) for a folder or a device, which has no end.
pub fn open(path: impl AsRef<Path>, options: OpenOptions) -> Result<SourceRef> {
    let path = path.as_ref();
    let doing = || format!("opening {}", path.display());
    #[allow(clippy::disallowed_methods, reason = "this is the place that opens files")]
    let file = File::open(path).map_err(|e| Error::io(doing(), e))?;
    let metadata = file.metadata().map_err(|e| Error::io(doing(), e))?;
    if metadata.is_dir() {
        return Err(Error::usage(format!("{} is a directory", path.display())));
    }
    if is_device(&metadata) {
        return Err(Error::usage(format!("{} is a device", path.display())).hint("give a file, or a pipe"));
    }
    if !metadata.is_file() {
        return super::spool(file, &path.to_string_lossy(), options.spool);
    }
    let again = file.try_clone().map_err(|e| Error::io(doing(), e))?;
    let source = std::sync::Arc::new(LocalFile::new(file, &metadata, path.to_string_lossy().into_owned(), options).at(path));
    // An update that has not ended is not seen: the journal holds what was there before.
    super::journal::Before::of(source, path, &again)
}

/// A regular file, read by position; it notices when it changes underneath.
#[derive(Debug)]
pub struct LocalFile {
    file: File,
    name: String,
    size: u64,
    modified: Option<SystemTime>,
    /// Where it was opened; None for a file without a name.
    path: Option<PathBuf>,
    options: OpenOptions,
    map: OnceLock<Option<Map>>,
}

impl LocalFile {
    pub(super) fn new(file: File, metadata: &Metadata, name: String, options: OpenOptions) -> Self {
        let (size, modified) = (metadata.len(), metadata.modified().ok());
        Self { file, name, size, modified, path: None, options, map: OnceLock::new() }
    }

    /// Remembers the path that it was opened at.
    pub(super) fn at(mut self, path: &Path) -> Self {
        self.path = Some(path.to_path_buf());
        self
    }

    /// Whether size and modification time are still those of the moment it was opened.
    pub fn is_unchanged(&self) -> bool {
        self.file.metadata().is_ok_and(|now| now.len() == self.size && now.modified().ok() == self.modified)
    }

    #[cold]
    fn was_changed(&self) -> Error {
        Error::new(crate::Kind::Io, format!("{} was changed by another process while it was open", self.name))
            .hint("open it again")
    }
}

impl Source for LocalFile {
    fn len(&self) -> u64 {
        self.size
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<()> {
        if offset.checked_add(into.len() as u64).is_none_or(|end| end > self.size) {
            return Err(past_end(offset, into.len() as u64, self.size));
        }
        let read = super::disk::reading(&self.name, offset, into.len()).and_then(|()| read_exact_at(&self.file, offset, into));
        read.map_err(|error| {
            if error.kind() == std::io::ErrorKind::UnexpectedEof {
                Error::new(crate::Kind::Io, "the file was truncated while it was open").at_byte(offset)
            } else {
                Error::io(format!("reading {}", self.name), error).at_byte(offset)
            }
        })?;
        // After reading: what was read is then from before any change.
        if self.is_unchanged() { Ok(()) } else { Err(self.was_changed().at_byte(offset)) }
    }

    fn view(&self, offset: u64, len: u64) -> Option<&[u8]> {
        if !self.options.map || self.size == 0 || !self.is_unchanged() {
            return None;
        }
        let map = self.map.get_or_init(|| Map::new(&self.file).ok()).as_ref()?;
        let start = usize::try_from(offset).ok()?;
        let end = start.checked_add(usize::try_from(len).ok()?)?;
        map.bytes().get(start..end)
    }

    fn is_changed(&self) -> bool {
        let elsewhere = |path: &PathBuf| !super::replace::leads_to(path, &self.file);
        !self.is_unchanged() || self.path.as_ref().is_some_and(elsewhere)
    }

    fn name(&self) -> &str {
        &self.name
    }
}

/// Whether this is a disk, a terminal, or what makes zeros without end.
fn is_device(metadata: &Metadata) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        let kind = metadata.file_type();
        kind.is_char_device() || kind.is_block_device()
    }
    #[cfg(not(unix))]
    {
        let _ = metadata;
        false
    }
}

/// What tells a file from every other: device, number, and when it was made, since numbers are used again.
#[cfg(unix)]
pub(super) fn identity(metadata: &Metadata) -> [u64; 3] {
    use std::os::unix::fs::MetadataExt;
    let born = metadata.created().ok().and_then(|time| time.duration_since(SystemTime::UNIX_EPOCH).ok());
    [metadata.dev(), metadata.ino(), born.map_or(0, |born| born.as_nanos() as u64)]
}

/// What tells a file from another here: when it was made.
#[cfg(not(unix))]
pub(super) fn identity(metadata: &Metadata) -> [u64; 3] {
    let born = metadata.created().ok().and_then(|time| time.duration_since(SystemTime::UNIX_EPOCH).ok());
    [0, 0, born.map_or(0, |born| born.as_nanos() as u64)]
}

#[cfg(unix)]
pub(super) fn read_exact_at(file: &File, offset: u64, into: &mut [u8]) -> std::io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, into, offset)
}

#[cfg(windows)]
pub(super) fn read_exact_at(file: &File, mut offset: u64, mut into: &mut [u8]) -> std::io::Result<()> {
    while !into.is_empty() {
        let n = std::os::windows::fs::FileExt::seek_read(file, into, offset)?;
        if n == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        offset += n as u64;
        into = &mut into[n..];
    }
    Ok(())
}
