//! The lock that every writer takes, and what is checked under it before a byte is written.
//!
//! Nothing here writes. [`WriteLock::acquire`] finds the file that a path leads to, locks it against other
//! writers, and compares it with what was read: a writer that finished in between is noticed.

use std::ffi::OsString;
use std::fs::{File, Metadata, TryLockError};
use std::path::{Path, PathBuf};
use std::time::Duration;

use sha2::{Digest, Sha256};

use super::backing::SourceBacking;
use super::fs;
use super::local::leads_to;
use super::platform::file_identity;
use super::source::Source;
use crate::error::{Error, ErrorKind, Result};

/// Addition to the name of the target that temporary files have.
pub(super) const TEMP_EXTENSION: &str = ".trilith-tmp";

/// The content that a new file was made from. A writer states it, so that nothing is lost that another writer
/// committed in the meantime.
///
/// ```
/// use trilith_io::bytes::{WriteBasis, AtomicFile, open};
/// # use std::io::Write as _;
/// # let folder = std::env::temp_dir().join(format!("trilith-basis-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder).unwrap();
/// # let path = folder.join("x");
/// let mut new = AtomicFile::create(&path, WriteBasis::Nothing)?;
/// new.write_all(b"one").unwrap();
/// new.commit()?;
///
/// let read = open(&path, Default::default())?;
/// AtomicFile::create(&path, WriteBasis::Nothing)?.commit()?; // another writer
/// assert!(AtomicFile::create(&path, WriteBasis::LockedBy(&*read)).is_err());
/// # std::fs::remove_dir_all(&folder).unwrap();
/// # Ok::<(), trilith_io::Error>(())
/// ```
#[derive(Clone, Copy)]
#[non_exhaustive]
pub enum WriteBasis<'s> {
    /// The content does not depend on the target. Any existing content is overwritten.
    Nothing,
    /// The target is a new file: nothing may be there.
    Missing,
    /// These bytes. If they are those of the target, by any name, they must not have changed.
    SameAs(&'s dyn Source),
    /// The file at the target itself: the path must still lead to the bytes that were read.
    LockedBy(&'s dyn Source),
}

/// A path that may be written to, locked against other writers.
#[derive(Debug)]
pub(super) struct WriteLock {
    /// The file itself: links are followed.
    pub path: PathBuf,
    /// The path as the caller gave it, for messages.
    pub display_path: PathBuf,
    /// The file that is there, with what the system said of it under the lock.
    pub locked_target: Option<(File, Metadata)>,
}

impl WriteLock {
    /// Finds and locks what `given` leads to, and compares it with what the new content was made from.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Io`] if another process writes or has changed the file, [`ErrorKind::InvalidInput`] for what
    /// cannot be written to: a folder, a device, a file that is read-only; [`ErrorKind::Unsupported`] for a URL.
    pub(super) fn acquire(given: &Path, basis: WriteBasis<'_>) -> Result<Self> {
        if given.to_str().is_some_and(super::is_url) {
            return Err(Error::unsupported(format!(
                "{} is not a file of this machine: an object is written as a whole",
                super::shown_path(given)
            ))
            .hint("write to a file of this machine, then convert it to the URL"));
        }
        let path = resolve_real_path(given);
        if path.is_dir() {
            return Err(Error::invalid_input(format!("{} is a directory", given.display())));
        }
        // A device or a pipe would be gone, with a file in its place.
        if std::fs::metadata(&path).is_ok_and(|there| !there.is_file()) {
            return Err(Error::invalid_input(format!("{} is not a regular file and cannot be replaced", given.display())));
        }
        if path.file_name().is_none() {
            return Err(Error::invalid_input(format!("{} has no file name", given.display())));
        }
        let there = lock_in_place(&path).map_err(|e| Error::io(format!("writing {}", given.display()), e))?;
        let there = there.ok_or_else(|| busy_error(given))?.into_file();
        if remove_stale_temporary(&path) {
            return Err(busy_error(given));
        }
        if there.as_ref().is_some_and(|(_, metadata)| metadata.permissions().readonly()) {
            return Err(Error::invalid_input(format!("{} is read-only", given.display()))
                .hint("make it writable first (chmod u+w), or write to another file"));
        }
        let lock = Self { path, display_path: given.to_path_buf(), locked_target: there };
        lock.check_basis(basis)?;
        Ok(lock)
    }

    /// Checks that the path still leads to the content that `basis` states was read.
    fn check_basis(&self, basis: WriteBasis<'_>) -> Result<()> {
        let (read, must_be) = match basis {
            WriteBasis::Nothing => return Ok(()),
            WriteBasis::Missing if self.locked_target.is_none() => return Ok(()),
            WriteBasis::Missing => {
                return Err(Error::invalid_input(format!("{} already exists", self.display_path.display()))
                    .hint("remove or rename it first"));
            }
            WriteBasis::SameAs(read) => (read, false),
            WriteBasis::LockedBy(read) => (read, true),
        };
        let Some(local) = read.backing().and_then(SourceBacking::local_file) else {
            return match must_be {
                true => Err(Error::invalid_input(format!(
                    "the content that was read did not come from {}",
                    self.display_path.display()
                ))
                .hint("write to another file")),
                false => Ok(()),
            };
        };
        let same_inode = self.locked_target.as_ref().is_some_and(|(_, there)| local.identity() == file_identity(there));
        let is_target = same_inode || local.path() == Some(self.path.as_path());
        if (is_target || must_be) && (!same_inode || read.backing().is_some_and(SourceBacking::is_changed)) {
            return Err(changed_error(&self.display_path));
        }
        Ok(())
    }

    /// Checks that the path still leads to the locked file, and that no process without a lock has written to it.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Io`] if it does not.
    pub(super) fn still_holds(&self) -> Result<()> {
        let holds = match &self.locked_target {
            None => std::fs::symlink_metadata(&self.path).is_err(),
            Some((file, before)) => {
                let same = |now: &Metadata| now.len() == before.len() && now.modified().ok() == before.modified().ok();
                leads_to(&self.path, file) && file.metadata().is_ok_and(|now| same(&now))
            }
        };
        if holds { Ok(()) } else { Err(changed_error(&self.display_path)) }
    }
}

/// The file that a path leads to: links are followed, also if the last one leads to nothing yet.
fn resolve_real_path(given: &Path) -> PathBuf {
    let mut path = given.to_path_buf();
    for _ in 0..40 {
        if let Ok(real) = std::fs::canonicalize(&path) {
            return real;
        }
        match std::fs::read_link(&path) {
            Ok(next) => path = path.parent().unwrap_or(Path::new("")).join(next),
            Err(_) => break,
        }
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match (std::fs::canonicalize(folder), path.file_name()) {
        (Ok(folder), Some(name)) => folder.join(name),
        _ => path,
    }
}

/// The lock on a file that is there, or that there is none.
enum LockKind {
    File(File, Metadata),
    /// The file does not exist.
    NoFile,
}

impl LockKind {
    fn into_file(self) -> Option<(File, Metadata)> {
        match self {
            Self::File(file, metadata) => Some((file, metadata)),
            Self::NoFile => None,
        }
    }
}

/// Locks a file, and waits a moment if it is locked: for an instant the locks of a program are also those of a
/// process that it starts, even if it has given them up.
pub(super) fn lock_with_retry(
    file: &File,
    lock: impl Fn(&File) -> std::result::Result<(), TryLockError>,
) -> std::result::Result<(), TryLockError> {
    const RETRY_INTERVAL: Duration = Duration::from_millis(5);
    for _ in 0..40 {
        match lock(file) {
            Err(TryLockError::WouldBlock) => std::thread::sleep(RETRY_INTERVAL),
            other => return other,
        }
    }
    lock(file)
}

/// Locks the file that a path leads to; None if another writer holds the lock.
fn lock_in_place(path: &Path) -> std::io::Result<Option<LockKind>> {
    for _ in 0..100 {
        #[allow(clippy::disallowed_methods, reason = "opened for its lock only")]
        let file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Some(LockKind::NoFile)),
            // A file that cannot be read may be written all the same.
            Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
                std::fs::OpenOptions::new().write(true).open(path)?
            }
            Err(error) => return Err(error),
        };
        match lock_with_retry(&file, File::try_lock) {
            Err(TryLockError::WouldBlock) => return Ok(None),
            // A file system without locks.
            Err(TryLockError::Error(_)) => {}
            // Renamed over while we waited: the lock is on a file that is gone.
            Ok(()) if !leads_to(path, &file) => continue,
            Ok(()) => {}
        }
        let metadata = file.metadata()?;
        return Ok(Some(LockKind::File(file, metadata)));
    }
    Ok(None)
}

/// The error for a file that another process writes.
#[cold]
pub(super) fn busy_error(path: &Path) -> Error {
    Error::new(ErrorKind::Io, format!("{} is being changed by another process", path.display()))
        .hint("wait until it is done, then try again")
        .with_contention()
}

/// The error for a file that is no longer what was read.
#[cold]
fn changed_error(path: &Path) -> Error {
    Error::new(ErrorKind::Io, format!("{} was changed by another process since it was read", path.display()))
        .hint("try again")
        .with_contention()
}

/// Does some work again while other processes change the file, for about ten seconds.
///
/// # Errors
/// Returns the errors of the work, and [`ErrorKind::Cancelled`] if the caller gave it up.
pub fn retry_if_replaced<T>(mut work: impl FnMut() -> Result<T>) -> Result<T> {
    const MAX_TRIES: u64 = 100;
    // Processes that wait for each other should not meet again.
    let own = u64::from(super::platform::process_number()) % 13;
    for count in 1..MAX_TRIES {
        match work() {
            Err(error) if error.is_contended() => {
                crate::interrupt::check()?;
                std::thread::sleep(Duration::from_millis((2 * count).min(100) + (own + count) % 13));
            }
            done => return done,
        }
    }
    work()
}

/// Longest name of a file that file systems take.
const MAX_NAME_LEN: usize = 255;

/// The beginning of the names of hidden files next to `path`: `.NAME` and the ending, or, if that would be
/// too long for a file name, a hash in the place of the name.
fn hidden_name(path: &Path, ending: &str) -> OsString {
    let name = path.file_name().unwrap_or_default();
    let mut hidden = OsString::from(".");
    // Space for the counter after the extension of temporary files.
    if name.len() + ending.len() + 32 > MAX_NAME_LEN {
        let digest = Sha256::digest(name.as_encoded_bytes());
        hidden.push(digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect::<String>());
    } else {
        hidden.push(name);
    }
    hidden.push(ending);
    hidden
}

/// The hidden file next to `path` with this ending.
pub(super) fn sibling_path(path: &Path, ending: &str) -> PathBuf {
    path.with_file_name(hidden_name(path, ending))
}

/// Returns the path of the draft of a file that many processes write, until it is finished. The names of its notes
/// add a dash and more.
pub(super) fn draft_path(path: &Path) -> PathBuf {
    sibling_path(&resolve_real_path(path), ".trilith-unfinished")
}

/// Returns `true` if many processes write a file at `path`, which has not been finished.
pub(super) fn draft_exists(path: &Path) -> bool {
    path.file_name().is_some() && std::fs::symlink_metadata(draft_path(path)).is_ok_and(|there| there.is_file())
}

/// The name of a temporary file next to `path`. The first one is the same for all writers, so that each finds that of another. The
/// others are for a folder in which a file of another user has it, or whose file system has no locks.
pub(super) fn temporary_path(path: &Path, attempt: u32) -> PathBuf {
    let mut name = hidden_name(path, TEMP_EXTENSION);
    if attempt > 0 {
        name.push(format!("-{}-{attempt}", super::platform::process_number()));
    }
    path.with_file_name(name)
}

/// Removes the temporary file of `target` that a killed process left. Returns `true` if a writer has it.
pub(super) fn remove_stale_temporary(target: &Path) -> bool {
    let temporary = temporary_path(target, 0);
    std::fs::symlink_metadata(&temporary).is_ok_and(|there| there.is_file()) && !remove_unlocked(&temporary)
}

/// Removes the temporary files of `target` with numbers of processes that were killed. Returns `true` if a writer has one of them.
pub(super) fn remove_numbered_temporaries(target: &Path) -> bool {
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut prefix = hidden_name(target, TEMP_EXTENSION);
    prefix.push("-");
    let Ok(entries) = std::fs::read_dir(folder) else { return false };
    let is_one = |entry: &std::fs::DirEntry| {
        let begins = entry.file_name().as_encoded_bytes().starts_with(prefix.as_encoded_bytes());
        begins && entry.file_type().is_ok_and(|kind| kind.is_file())
    };
    let found: Vec<PathBuf> = entries.flatten().filter(is_one).map(|entry| entry.path()).collect();
    found.iter().filter(|path| !remove_unlocked(path)).count() > 0
}

/// Removes a file if no process has a lock on it. Returns `false` if one has.
fn remove_unlocked(path: &Path) -> bool {
    // A file that cannot be opened is that of another user.
    let Ok(file) = std::fs::OpenOptions::new().write(true).open(path) else { return true };
    match lock_with_retry(&file, File::try_lock) {
        Ok(()) => {
            // The writer may have put the file in place meanwhile.
            if leads_to(path, &file) {
                let _ = fs::remove(path);
            }
            true
        }
        Err(TryLockError::WouldBlock) => false,
        Err(TryLockError::Error(_)) => true,
    }
}
