//! Files on this machine: positioned reads, and maps where views are wanted.

use std::fs::{File, Metadata};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

use super::journal::Found;
use super::map::Map;
use super::source::{Source, SourceRef, past_end};
use super::system::read_exact_at;
use crate::error::{Error, Result};
use crate::limits::Limits;

/// How a local file is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct LocalOptions {
    /// Whether [`Source::view`] may map the file (regular files only). A file that another process
    /// truncates *while a view of it is in use* kills the process, as with every memory map.
    pub map: bool,
    /// How many bytes of a pipe are read: [`Limits::spool`](crate::Limits::spool).
    pub spool: u64,
    /// How much memory the list of a journal beside the file may take: [`Limits::memory`](crate::Limits::memory).
    pub memory: u64,
}

impl LocalOptions {
    /// What `limits` allow.
    pub fn within(limits: &Limits) -> Self {
        Self { map: true, spool: limits.spool, memory: limits.memory }
    }
}

impl Default for LocalOptions {
    fn default() -> Self {
        Self::within(&Limits::default())
    }
}

/// Bytes that this process has read from files, without those of views.
static READ: AtomicU64 = AtomicU64::new(0);

/// How many bytes this process has read from files of this machine so far, temporary ones included, without what was
/// seen through maps: for showing how far a long piece of work is.
pub fn bytes_read() -> u64 {
    READ.load(Ordering::Relaxed)
}

/// Opens a local file; a pipe is read into a spool first.
///
/// # Errors
/// [`Kind::Io`](crate::Kind::Io), [`Kind::Usage`](crate::Kind::Usage) for a folder or a device, which has no end.
pub fn open(path: impl AsRef<Path>, options: LocalOptions) -> Result<SourceRef> {
    let path = path.as_ref();
    let doing = || format!("opening {}", path.display());
    // Again where the file is replaced while it is being opened.
    for _ in 0..100 {
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
        match std::fs::canonicalize(path) {
            Ok(real) if leads_to(&real, &file) => return open_regular(file, &metadata, path, real, options),
            Ok(_) => {}
            // A descriptor of a file that has no name any more.
            Err(_) => return Ok(Arc::new(LocalFile::new(file, &metadata, path.to_string_lossy().into_owned(), options))),
        }
    }
    Err(Error::new(crate::Kind::Io, "the file is replaced again and again").context(doing()).hint("try again"))
}

/// The one way in which a regular file becomes a source: `file`, opened at `given`, which leads to `real`.
///
/// An update that has not ended is not seen: where a journal lies beside the file, the source is what the
/// file held before. A journal that does not belong to the file is a [notice](Source::notice).
///
/// # Errors
/// [`Kind::Io`](crate::Kind::Io).
pub(super) fn open_regular(
    file: File,
    metadata: &Metadata,
    given: &Path,
    real: PathBuf,
    options: LocalOptions,
) -> Result<SourceRef> {
    let place = Place { given: std::path::absolute(given).unwrap_or_else(|_| given.to_path_buf()), real };
    let found = super::journal::find(&place.real, &file, metadata, options.memory)?;
    let mut source = LocalFile::new(file, metadata, given.to_string_lossy().into_owned(), options);
    source.place = Some(place);
    Ok(match found {
        Found::Nothing => Arc::new(source),
        Found::Stranger(why) => {
            source.notice = Some(why);
            Arc::new(source)
        }
        Found::Journal(journal) => Arc::new(super::before::Before::new(Arc::new(source), journal)),
    })
}

/// Where a file was opened.
#[derive(Debug)]
struct Place {
    /// As its name was given, made absolute.
    given: PathBuf,
    /// The file that this led to.
    real: PathBuf,
}

/// A regular file, read by position; it notices when it changes underneath.
#[derive(Debug)]
pub struct LocalFile {
    file: File,
    name: String,
    size: u64,
    modified: Option<SystemTime>,
    /// Where it was opened; None for a file without a name.
    place: Option<Place>,
    /// What is odd about it.
    notice: Option<String>,
    options: LocalOptions,
    map: OnceLock<Option<Map>>,
}

impl LocalFile {
    pub(super) fn new(file: File, metadata: &Metadata, name: String, options: LocalOptions) -> Self {
        let (size, modified) = (metadata.len(), metadata.modified().ok());
        Self { file, name, size, modified, place: None, notice: None, options, map: OnceLock::new() }
    }

    /// The file that its name led to, with all links followed; None for one without a name.
    pub fn path(&self) -> Option<&Path> {
        self.place.as_ref().map(|place| place.real.as_path())
    }

    /// The absolute path of the name that it was opened by; None for a file without one.
    pub fn given_path(&self) -> Option<&Path> {
        self.place.as_ref().map(|place| place.given.as_path())
    }

    pub(super) fn identity(&self) -> [u64; 3] {
        self.file.metadata().map(|metadata| identity(&metadata)).unwrap_or_default()
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
        READ.fetch_add(into.len() as u64, Ordering::Relaxed);
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
        !self.is_unchanged() || self.path().is_some_and(|path| !leads_to(path, &self.file))
    }

    fn local(&self) -> Option<&LocalFile> {
        Some(self)
    }

    fn notice(&self) -> Option<String> {
        self.notice.clone()
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

/// Whether a path still leads to this open file.
pub(super) fn leads_to(path: &Path, file: &File) -> bool {
    let here = file.metadata().map(|metadata| identity(&metadata));
    let there = std::fs::metadata(path).map(|metadata| identity(&metadata));
    matches!((here, there), (Ok(here), Ok(there)) if here == there)
}
