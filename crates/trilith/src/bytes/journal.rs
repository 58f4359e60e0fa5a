//! Changing a file in place so that a crash at any moment leaves the old content or the new.
//!
//! Before the first byte changes, the bytes that will be overwritten and the length of the file are
//! written to a journal beside it and synced. It is removed after the last byte is synced. Who finds
//! a journal finds an update that did not end: [`Journal::recover`] undoes it, and readers see the
//! old content through it without writing anything.
//!
//! Order of writes: journal, sync, folder sync; file, sync; journal removed, folder sync.

use std::fs::{File, Permissions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::disk::{self, Output};
use super::local::identity;
use super::replace::{busy, leads_to};
use super::source::{Source, SourceRef, past_end};
use crate::error::{Error, Result};

const MARK: &[u8; 16] = b"trilith journal2";

/// Longest content of a journal that is believed.
const LONGEST: u64 = 4 << 30;

/// A file that is being changed in place, locked against other writers.
///
/// ```
/// use trilith::bytes::{Journal, Replace};
/// # let folder = std::env::temp_dir().join(format!("trilith-journal-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder).unwrap();
/// # let path = folder.join("x");
/// # let mut file = Replace::create(&path)?;
/// # std::io::Write::write_all(&mut file, b"one two three").unwrap();
/// # file.commit()?;
/// let mut update = Journal::begin(&path, &[4..7])?;
/// update.write_at(4, b"TWO")?;
/// update.commit()?;
/// # std::fs::remove_dir_all(&folder).unwrap();
/// # Ok::<(), trilith::Error>(())
/// ```
#[derive(Debug)]
pub struct Journal {
    file: Output,
    path: PathBuf,
    journal: PathBuf,
    allowed: Vec<Range<u64>>,
    old_len: u64,
}

/// What a journal holds.
#[derive(Debug, PartialEq, Eq)]
struct Saved {
    identity: [u64; 3],
    old_len: u64,
    regions: Vec<(u64, Vec<u8>)>,
}

impl Journal {
    /// Locks a file, undoes an update that did not end, and saves the `regions` that will be overwritten;
    /// what lies behind the end of the file may be appended to without being named.
    ///
    /// # Errors
    /// [`Kind::Io`](crate::Kind::Io) where another writer holds the lock or the disk says no.
    pub fn begin(path: impl AsRef<Path>, regions: &[Range<u64>]) -> Result<Self> {
        let path =
            std::fs::canonicalize(path.as_ref()).map_err(|e| Error::io(format!("opening {}", path.as_ref().display()), e))?;
        let fail = |e| Error::io(format!("updating {}", path.display()), e);
        let mut file = lock(&path).map_err(fail)?.ok_or_else(|| busy(&path))?;
        let journal = journal_path(&path);
        undo(&mut file, &path, &journal)?;
        let metadata = file.file().metadata().map_err(fail)?;
        let old_len = metadata.len();
        let mut saved = Saved { identity: identity(&metadata), old_len, regions: Vec::new() };
        for region in regions {
            if region.start > region.end || region.end > old_len {
                return Err(past_end(region.start, region.end.saturating_sub(region.start), old_len));
            }
            let mut bytes = vec![0; super::to_usize(region.end - region.start)?];
            file.seek(SeekFrom::Start(region.start)).and_then(|_| file.file().read_exact(&mut bytes)).map_err(fail)?;
            saved.regions.push((region.start, bytes));
        }
        let written = write_new(&journal, &saved.print(), metadata.permissions());
        if let Err(error) = written.and_then(|()| disk::sync_folder(&path)) {
            let _ = disk::remove(&journal);
            return Err(Error::io(format!("writing {}", journal.display()), error));
        }
        Ok(Self { file, path, journal, allowed: regions.to_vec(), old_len })
    }

    /// Length of the file before the update.
    pub fn old_len(&self) -> u64 {
        self.old_len
    }

    /// Lets bytes be overwritten that meant nothing before, such as unused space: they need not be saved.
    pub fn scratch(&mut self, region: Range<u64>) {
        self.allowed.push(region);
    }

    /// Overwrites bytes inside a saved (or [scratch](Journal::scratch)) region, or appends behind the old end.
    ///
    /// # Errors
    /// [`Kind::Usage`](crate::Kind::Usage) for bytes that were not saved, [`Kind::Io`](crate::Kind::Io).
    pub fn write_at(&mut self, at: u64, bytes: &[u8]) -> Result<()> {
        let end = at.saturating_add(bytes.len() as u64);
        // What runs over the old end is saved up to there.
        let last = end.min(self.old_len);
        let saved = at >= self.old_len || self.allowed.iter().any(|r| r.start <= at && last <= r.end);
        if !saved {
            return Err(Error::usage("an update wrote where nothing was saved").at_byte(at));
        }
        let fail = |e| Error::io(format!("updating {}", self.path.display()), e);
        self.file.write_all_at(at, bytes).map_err(fail)
    }

    /// Makes the update last.
    ///
    /// # Errors
    /// [`Kind::Io`](crate::Kind::Io); the next who opens the file undoes the update.
    pub fn commit(self) -> Result<()> {
        let fail = |e| Error::io(format!("updating {}", self.path.display()), e);
        self.file.sync().map_err(fail)?;
        disk::remove(&self.journal).map_err(fail)?;
        disk::sync_folder(&self.path)
            .map_err(|e| fail(e).context("the update is in place, but might not outlast a power failure"))
    }

    /// Undoes the update.
    ///
    /// # Errors
    /// [`Kind::Io`](crate::Kind::Io).
    pub fn roll_back(mut self) -> Result<()> {
        undo(&mut self.file, &self.path, &self.journal)
    }

    /// Undoes an update of `path` that did not end, if there is one; whether there was.
    ///
    /// # Errors
    /// [`Kind::Io`](crate::Kind::Io) where the file cannot be written or is being changed right now.
    pub fn recover(path: impl AsRef<Path>) -> Result<bool> {
        let path = path.as_ref();
        let journal = journal_path(path);
        if !journal.exists() {
            return Ok(false);
        }
        let fail = |e| Error::io(format!("undoing an update of {}", path.display()), e);
        let mut file = lock(path).map_err(fail)?.ok_or_else(|| busy(path))?;
        undo(&mut file, path, &journal)?;
        Ok(true)
    }
}

/// Opens a file to change it, locked; None where another writer holds the lock.
fn lock(path: &Path) -> std::io::Result<Option<Output>> {
    for _ in 0..100 {
        let file = Output::open(path)?;
        match file.file().try_lock() {
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(error),
            // Renamed over while we waited: the lock is on a file that is gone.
            Ok(()) if !leads_to(path, file.file()) => {}
            Ok(()) => return Ok(Some(file)),
        }
    }
    Ok(None)
}

/// The journal of a file: `.NAME.trilith-journal` beside it.
pub(super) fn journal_path(path: &Path) -> PathBuf {
    let mut name = std::ffi::OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(".trilith-journal");
    path.with_file_name(name)
}

/// Whoever may not read the file may not read what it held.
fn write_new(path: &Path, bytes: &[u8], permissions: Permissions) -> std::io::Result<()> {
    let mut file = Output::create_new(path)?;
    file.file().set_permissions(permissions)?;
    file.write_all(bytes)?;
    file.sync()
}

/// Puts the old bytes back if the journal is whole and of this file, then removes it.
fn undo(file: &mut Output, path: &Path, journal: &Path) -> Result<()> {
    let fail = |e| Error::io(format!("undoing an update of {}", path.display()), e);
    let Some(saved) = load(journal, file.file())? else { return Ok(()) };
    if let Some(saved) = saved {
        for (at, bytes) in &saved.regions {
            file.write_all_at(*at, bytes).map_err(fail)?;
        }
        file.resize(saved.old_len).map_err(fail)?;
        file.sync().map_err(fail)?;
    }
    disk::remove(journal).map_err(fail)?;
    disk::sync_folder(path).map_err(fail)
}

/// A journal: None where there is none, `Some(None)` where it is torn (nothing was changed yet) or of another file.
fn load(journal: &Path, file: &File) -> Result<Option<Option<Saved>>> {
    let fail = |e| Error::io(format!("reading {}", journal.display()), e);
    let mut bytes = Vec::new();
    #[allow(clippy::disallowed_methods, reason = "this module opens files")]
    match File::open(journal) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(fail(error)),
        Ok(from) => from.take(LONGEST).read_to_end(&mut bytes).map_err(fail)?,
    };
    let this = file.metadata().map(|metadata| identity(&metadata)).map_err(fail)?;
    Ok(Some(Saved::parse(&bytes).filter(|saved| saved.identity == this)))
}

impl Saved {
    fn print(&self) -> Vec<u8> {
        let mut bytes = MARK.to_vec();
        let [device, number, born] = self.identity;
        for number in [device, number, born, self.old_len, self.regions.len() as u64] {
            bytes.extend_from_slice(&number.to_be_bytes());
        }
        for (at, old) in &self.regions {
            bytes.extend_from_slice(&at.to_be_bytes());
            bytes.extend_from_slice(&(old.len() as u64).to_be_bytes());
            bytes.extend_from_slice(old);
        }
        let sum = Sha256::digest(&bytes);
        bytes.extend_from_slice(&sum);
        bytes
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let (body, sum) = bytes.split_at_checked(bytes.len().checked_sub(32)?)?;
        if Sha256::digest(body)[..] != *sum {
            return None;
        }
        let mut at = super::Cursor::new(body.strip_prefix(MARK)?, 0);
        let identity = [at.u64().ok()?, at.u64().ok()?, at.u64().ok()?];
        let (old_len, count) = (at.u64().ok()?, at.u64().ok()?);
        let mut regions = Vec::new();
        for _ in 0..count {
            let (start, len) = (at.u64().ok()?, at.u64().ok()?);
            regions.push((start, at.take(usize::try_from(len).ok()?).ok()?.to_vec()));
        }
        Some(Self { identity, old_len, regions })
    }
}

/// A file as it was before an update that has not ended, seen through its journal.
pub(super) struct Before {
    inner: SourceRef,
    saved: Saved,
}

impl Before {
    /// The old content where there is a journal of this very file, else the source itself.
    pub(super) fn of(inner: SourceRef, path: &Path, file: &File) -> Result<SourceRef> {
        match load(&journal_path(path), file) {
            Ok(Some(Some(saved))) => Ok(std::sync::Arc::new(Self { inner, saved })),
            Ok(_) => Ok(inner),
            Err(error) => Err(error),
        }
    }
}

impl Source for Before {
    fn len(&self) -> u64 {
        self.saved.old_len.min(self.inner.len())
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<()> {
        let end = offset.checked_add(into.len() as u64).filter(|end| *end <= self.len());
        let end = end.ok_or_else(|| past_end(offset, into.len() as u64, self.len()))?;
        self.inner.read_at(offset, into)?;
        for (at, old) in &self.saved.regions {
            let (from, to) = (offset.max(*at), end.min(at + old.len() as u64));
            if from < to {
                let (here, there) = ((from - offset) as usize, (from - at) as usize);
                let n = (to - from) as usize;
                into[here..here + n].copy_from_slice(&old[there..there + n]);
            }
        }
        Ok(())
    }

    fn origin(&self) -> Option<&dyn Source> {
        Some(&*self.inner)
    }

    fn notice(&self) -> Option<String> {
        let (count, size) = (self.saved.regions.len(), self.inner.len());
        Some(format!(
            "an update of this file did not end: what it held before is shown, and the next writer puts it back \
             ({count} places, {} of {size} bytes)",
            self.saved.old_len
        ))
    }

    fn name(&self) -> &str {
        self.inner.name()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Kind;
    use crate::bytes::{Replace, open, read_text};

    fn file(content: &[u8]) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.asdf");
        let mut new = Replace::create(&path).unwrap();
        new.write_all(content).unwrap();
        new.commit().unwrap();
        (folder, path)
    }

    #[test]
    fn an_update_that_ends_leaves_the_new_content_and_no_journal() {
        let (folder, path) = file(b"one two three");
        let mut update = Journal::begin(&path, &[4..7]).unwrap();
        update.write_at(4, b"TWO").unwrap();
        update.write_at(13, b" four").unwrap();
        update.commit().unwrap();
        assert_eq!(read_text(&path, 100).unwrap(), b"one TWO three four");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn an_update_that_was_killed_is_invisible_to_readers_and_undone_by_the_next_writer() {
        let (folder, path) = file(b"one two three");
        let mut update = Journal::begin(&path, &[4..7]).unwrap();
        update.write_at(4, b"TW").unwrap();
        update.write_at(13, b" fo").unwrap();
        drop(update);
        assert_eq!(read_text(&path, 100).unwrap(), b"one two three");
        let source = open(&path, Default::default()).unwrap();
        let mut middle = [0; 5];
        source.read_at(3, &mut middle).unwrap();
        assert_eq!(&middle, b" two ");
        assert!(Journal::recover(&path).unwrap());
        assert!(!Journal::recover(&path).unwrap());
        assert_eq!(std::fs::metadata(&path).unwrap().len(), 13);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_torn_journal_means_that_nothing_was_changed_yet() {
        let (_folder, path) = file(b"content");
        let whole = Saved { identity: [1, 2, 3], old_len: 3, regions: vec![(0, b"abc".to_vec())] }.print();
        let write = |bytes: &[u8]| {
            let permissions = std::fs::metadata(&path).unwrap().permissions();
            write_new(&journal_path(&path), bytes, permissions).unwrap();
        };
        for cut in 0..whole.len() {
            assert_eq!(Saved::parse(&whole[..cut]), None);
            write(&whole[..cut]);
            assert_eq!(read_text(&path, 100).unwrap(), b"content");
            Journal::recover(&path).unwrap();
        }
        // Whole, but of another file.
        write(&whole);
        Journal::recover(&path).unwrap();
        assert_eq!(read_text(&path, 100).unwrap(), b"content");
    }

    #[test]
    fn a_second_writer_is_refused_and_so_is_writing_what_was_not_saved() {
        let (_folder, path) = file(b"content");
        let mut first = Journal::begin(&path, &[0..3]).unwrap();
        assert_eq!(Journal::begin(&path, &[0..3]).unwrap_err().kind(), Kind::Io);
        assert_eq!(first.write_at(2, b"xx").unwrap_err().kind(), Kind::Usage);
        first.roll_back().unwrap();
        assert_eq!(read_text(&path, 100).unwrap(), b"content");
    }
}
