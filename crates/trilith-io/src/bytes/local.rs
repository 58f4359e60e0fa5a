//! Files on this machine: positioned reads, and maps if views are wanted.

use std::cell::Cell;
use std::fs::{File, Metadata};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

use super::backing::SourceBacking;
use super::mmap::Mmap;
use super::open_files::{BorrowGuard, OpenFileEntry};
use super::platform::{file_identity, read_exact_at};
use super::source::{Source, end_in_file};
use crate::error::{Error, Result};
use crate::limits::Limits;

/// Options for opening a local file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct LocalOptions {
    /// `true` if [`Source::view`] may map the file (regular files only). A file that another process truncates
    /// *while a view of it is in use* kills the process, as with every memory map.
    pub memory_map: bool,
    /// Maximum number of bytes read from a pipe: [`Limits::spool`](crate::Limits::spool).
    pub spool: u64,
    /// Maximum memory for the list of a journal next to the file: [`Limits::memory`](crate::Limits::memory).
    pub memory: u64,
}

impl LocalOptions {
    /// Returns the options that `limits` allow.
    pub fn from_limits(limits: &Limits) -> Self {
        Self { memory_map: true, spool: limits.spool, memory: limits.memory }
    }
}

impl Default for LocalOptions {
    fn default() -> Self {
        Self::from_limits(&Limits::default())
    }
}

/// Number of bytes read at once near the start of a file. A header, a tree and the section after it are read in
/// small pieces. A file of that size is not mapped: a map costs more than the read.
const HEAD_READ_SIZE: u64 = 16 << 10;
/// Number of bytes of a larger file that are read at once for its first bytes: of many files only the signature is read.
const START_READ_SIZE: u64 = 4 << 10;

/// Bytes that this process has read from files, without those of views.
static BYTES_READ: AtomicU64 = AtomicU64::new(0);

thread_local! {
    /// `true` if the bytes that this thread reads are read a second time for the work.
    static UNCOUNTED: Cell<bool> = const { Cell::new(false) };
    /// The file that this thread opens, by its address: see [`LocalFile::check_once`].
    static OPENED_FILE: Cell<*const LocalFile> = const { Cell::new(std::ptr::null()) };
}

/// Does `work`, whose reads on this thread [`bytes_read`] leaves out: the bytes are read once more for the work itself.
pub(crate) fn without_counting<R>(work: impl FnOnce() -> R) -> R {
    let before = UNCOUNTED.replace(true);
    let done = work();
    UNCOUNTED.set(before);
    done
}

/// Returns the number of bytes that this process has read from local files so far, for a progress display.
/// Temporary files count, and bytes seen through maps do not.
pub fn bytes_read() -> u64 {
    BYTES_READ.load(Ordering::Relaxed)
}

/// The place from which a file was opened.
#[derive(Debug)]
pub(super) struct OpenedPath {
    /// The path as it was given, made absolute.
    pub display: PathBuf,
    /// The file that this led to.
    pub canonical: PathBuf,
    /// `true` if the last part of the path is no link.
    pub is_direct: bool,
}

/// A regular file, read by position; it notices when it changes underneath.
#[derive(Debug)]
pub struct LocalFile {
    file: File,
    name: String,
    size: u64,
    modified: Option<SystemTime>,
    /// The bytes that are still unchanged, if this process changes the file.
    reader: Arc<OpenFileEntry>,
    /// The place from which it was opened; None for a file without a name.
    place: Option<OpenedPath>,
    /// A remark about the file, if there is one.
    notice: Option<String>,
    options: LocalOptions,
    map: OnceLock<Option<Mmap>>,
    /// The first [`START_READ_SIZE`] bytes of a larger file, as they were when it was opened.
    start_buffer: OnceLock<Box<[u8]>>,
    /// The first [`HEAD_READ_SIZE`] bytes, as they were when it was opened.
    head_buffer: OnceLock<Box<[u8]>>,
}

impl LocalFile {
    pub(super) fn new(file: File, metadata: &Metadata, name: String, options: LocalOptions) -> Self {
        let (size, modified) = (metadata.len(), metadata.modified().ok());
        let reader = OpenFileEntry::new(metadata);
        let (map, head) = (OnceLock::new(), OnceLock::new());
        Self {
            file,
            name,
            size,
            modified,
            reader,
            place: None,
            notice: None,
            options,
            map,
            start_buffer: OnceLock::new(),
            head_buffer: head,
        }
    }

    /// Adds the place where the file was found, and a remark if something there is odd.
    pub(super) fn with_place(mut self, place: OpenedPath, notice: Option<String>) -> Self {
        (self.place, self.notice) = (Some(place), notice);
        self
    }

    /// The file that its name led to, with all links followed; None for one without a name.
    pub fn path(&self) -> Option<&Path> {
        self.place.as_ref().map(|place| place.canonical.as_path())
    }

    /// The folder of the name that it was opened by, with all links followed; None if the name is a link.
    pub fn parent_dir(&self) -> Option<&Path> {
        self.place.as_ref().filter(|place| place.is_direct)?.canonical.parent()
    }

    /// The absolute path of the name that it was opened by; None for a file without one.
    pub fn given_path(&self) -> Option<&Path> {
        self.place.as_ref().map(|place| place.display.as_path())
    }

    /// Returns `true` if this user may change the file in place: it has one name and belongs to the user, or the user is root.
    pub fn is_changeable_in_place(&self) -> bool {
        self.file.metadata().is_ok_and(|metadata| super::ownership::check_in_place(Path::new(&self.name), &metadata).is_ok())
    }

    /// Returns `true` if this is the same file as another, whatever names they were opened by.
    pub fn is_same_file(&self, other: &Self) -> bool {
        self.identity() == other.identity()
    }

    /// Returns `true` if a path leads to this file: as its own, through a link, or by a second name.
    pub fn is_at_path(&self, path: &Path) -> bool {
        self.path().is_some_and(|own| is_one_file(own, path))
    }

    /// Marks bytes of the file that are shown outside of this library, as a view of NumPy does: until the mark is dropped, no
    /// update in place of this process writes over them.
    pub fn borrow_ranges(&self, ranges: Vec<std::ops::Range<u64>>) -> BorrowGuard {
        BorrowGuard::new(&self.reader, ranges)
    }

    /// Returns `true` if some of these bytes of the file are shown, by whatever handle of this process: see
    /// [`LocalFile::borrow_ranges`].
    pub fn is_borrowed(&self, range: &std::ops::Range<u64>) -> bool {
        super::open_files::is_borrowed(self.identity(), range)
    }

    pub(super) fn identity(&self) -> [u64; 3] {
        self.file.metadata().map(|metadata| file_identity(&metadata)).unwrap_or_default()
    }

    /// Returns `true` if size and modification time are still those of the moment it was opened. Bytes that an
    /// update of this process left as they were can be read even if they are not.
    pub fn is_unchanged(&self) -> bool {
        self.file.metadata().is_ok_and(|now| self.has_stamp(&now))
    }

    fn has_stamp(&self, now: &Metadata) -> bool {
        now.len() == self.size && now.modified().ok() == self.modified
    }

    /// Does `work`, which reads pieces of the first bytes of the file. It is compared with its state at the time of opening once, at the
    /// end, and not after each of these reads.
    ///
    /// # Errors
    /// Returns the errors of `work`, and [`ErrorKind::Io`](crate::ErrorKind::Io) if the file was changed meanwhile.
    pub fn check_once<R>(&self, work: impl FnOnce() -> Result<R>) -> Result<R> {
        struct RestoreGuard(*const LocalFile);
        impl Drop for RestoreGuard {
            fn drop(&mut self) {
                OPENED_FILE.set(self.0);
            }
        }
        let outer = RestoreGuard(OPENED_FILE.replace(self));
        let done = work()?;
        drop(outer);
        if self.reader.is_unchanged(&self.file, 0..HEAD_READ_SIZE.min(self.size)) { Ok(done) } else { Err(self.was_changed()) }
    }

    /// The first bytes, at least up to `end`, as they were when the file was opened; None if they cannot be read or have changed.
    fn head(&self, end: u64) -> Option<&[u8]> {
        let (buffer, size) = if self.size > HEAD_READ_SIZE && end <= START_READ_SIZE {
            (&self.start_buffer, START_READ_SIZE)
        } else {
            (&self.head_buffer, self.size.min(HEAD_READ_SIZE))
        };
        if let Some(head) = self.head_buffer.get().or_else(|| buffer.get()) {
            return Some(head);
        }
        let mut head = vec![0; size as usize];
        self.read_from_file(0, &mut head).ok()?;
        let is_unchanged = self.reader.is_unchanged(&self.file, 0..size);
        is_unchanged.then(|| &**buffer.get_or_init(|| head.into()))
    }

    /// Bytes as they are in the file now.
    fn read_from_file(&self, offset: u64, into: &mut [u8]) -> Result<()> {
        let read = super::fs::observe_read(&self.name, offset, into.len()).and_then(|()| read_exact_at(&self.file, offset, into));
        if !UNCOUNTED.get() {
            BYTES_READ.fetch_add(into.len() as u64, Ordering::Relaxed);
        }
        read.map_err(|error| {
            if error.kind() == std::io::ErrorKind::UnexpectedEof {
                Error::new(crate::ErrorKind::Io, "the file was truncated while it was open").at_byte(offset)
            } else {
                Error::io(format!("reading {}", self.name), error).at_byte(offset)
            }
        })
    }

    #[cold]
    fn was_changed(&self) -> Error {
        // If the whole file is the work of this process, so are these bytes.
        let by = if self.reader.is_unchanged_by_others(&self.file) { "an update of this process" } else { "another process" };
        Error::new(crate::ErrorKind::Io, format!("{} was changed by {by} while it was open", self.name))
            .hint("open it again")
            .with_contention()
    }
}

/// Returns `true` if two paths lead to one file: as the same path, through a link, or by a second name.
pub fn is_one_file(a: &Path, b: &Path) -> bool {
    find_same_file(a, [b]).is_some()
}

/// Finds the first of some paths that leads to the same file as `path`, by the rule of [`is_one_file`].
pub fn find_same_file<P: AsRef<Path>>(path: &Path, among: impl IntoIterator<Item = P>) -> Option<P> {
    let mut among = among.into_iter();
    if cfg!(unix) {
        let identity = |path: &Path| std::fs::metadata(path).ok().map(|metadata| file_identity(&metadata));
        let own = identity(path)?;
        return among.find(|other| identity(other.as_ref()) == Some(own));
    }
    // Other systems have no file numbers here: the paths count.
    let own = std::fs::canonicalize(path).ok()?;
    among.find(|other| std::fs::canonicalize(other).is_ok_and(|other| other == own))
}

impl SourceBacking for LocalFile {
    fn content_version(&self) -> Option<String> {
        let since = self.modified?.duration_since(SystemTime::UNIX_EPOCH).ok()?;
        Some(format!("{} bytes of {}.{:09}", self.size, since.as_secs(), since.subsec_nanos()))
    }

    fn is_changed(&self) -> bool {
        let Ok(now) = self.file.metadata() else { return true };
        !self.has_stamp(&now) || self.path().is_some_and(|path| !leads_to_metadata(path, &now))
    }

    fn local_file(&self) -> Option<&LocalFile> {
        Some(self)
    }

    fn notice(&self) -> Option<String> {
        self.notice.clone()
    }
}

impl Source for LocalFile {
    fn len(&self) -> u64 {
        self.size
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<()> {
        let range = offset..end_in_file(offset, into.len() as u64, self.size)?;
        crate::interrupt::check()?;
        let head = if range.end <= HEAD_READ_SIZE { self.head(range.end) } else { None };
        match head.and_then(|head| head.get(range.start as usize..range.end as usize)) {
            Some(bytes) => {
                into.copy_from_slice(bytes);
                if std::ptr::eq(OPENED_FILE.get(), self) {
                    return Ok(());
                }
            }
            None => self.read_from_file(offset, into)?,
        }
        // The check follows the read: if nothing has changed by now, the bytes that were read are unchanged too.
        if self.reader.is_unchanged(&self.file, range) { Ok(()) } else { Err(self.was_changed().at_byte(offset)) }
    }

    fn read_parts(&self, parts: &mut [(u64, &mut [u8])]) -> Result<()> {
        let (mut from, mut to) = (u64::MAX, 0);
        for (offset, into) in parts.iter_mut() {
            to = to.max(end_in_file(*offset, into.len() as u64, self.size)?);
            from = from.min(*offset);
            crate::interrupt::check()?;
            self.read_from_file(*offset, into)?;
        }
        if from > to || self.reader.is_unchanged(&self.file, from..to) {
            return Ok(());
        }
        // The change may be between them.
        let is_touched = |(offset, into): &&(u64, &mut [u8])| {
            !self.reader.is_unchanged(&self.file, *offset..offset.saturating_add(into.len() as u64))
        };
        parts.iter().find(is_touched).map_or(Ok(()), |(offset, _)| Err(self.was_changed().at_byte(*offset)))
    }

    fn view(&self, offset: u64, len: u64) -> Option<&[u8]> {
        let range = offset..offset.checked_add(len)?;
        if !self.options.memory_map || self.size == 0 || !self.reader.is_unchanged(&self.file, range) {
            return None;
        }
        let bytes = match self.size <= HEAD_READ_SIZE {
            true => self.head(self.size)?,
            false => self.map.get_or_init(|| Mmap::new(&self.file).ok()).as_ref()?.as_slice(),
        };
        let start = usize::try_from(offset).ok()?;
        let end = start.checked_add(usize::try_from(len).ok()?)?;
        bytes.get(start..end)
    }

    fn backing(&self) -> Option<&dyn SourceBacking> {
        Some(self)
    }

    fn name(&self) -> &str {
        &self.name
    }
}

/// Returns `true` if a path still leads to this open file.
pub(super) fn leads_to(path: &Path, file: &File) -> bool {
    file.metadata().is_ok_and(|open| leads_to_metadata(path, &open))
}

/// Does the same as [`leads_to`], by the metadata of the open file.
pub(super) fn leads_to_metadata(path: &Path, open: &Metadata) -> bool {
    std::fs::metadata(path).is_ok_and(|there| file_identity(&there) == file_identity(open))
}
