//! Replacing a file so that a failure at any point leaves the old one whole.
//!
//! The new content goes to a temporary file beside the target; [`Replace::commit`] syncs it, renames
//! it over the target and syncs the folder. Whatever happens before the rename, the old file stands.

use std::fs::{File, TryLockError};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::disk::{self, Output};
use super::source::Source;
use crate::error::{Error, Kind, Result};

const MARK: &str = ".trilith-tmp";

/// A new file that takes the place of `target` when it is [committed](Replace::commit), or vanishes.
///
/// While it is being written it is locked, and so is the file that it will replace: a second writer is
/// refused. [`remove_stale`] removes what a killed process left.
#[derive(Debug)]
pub struct Replace {
    file: Option<Output>,
    temporary: PathBuf,
    target: PathBuf,
    /// The lock on the file that is there now.
    old: Option<File>,
}

impl Replace {
    /// Starts a new file beside `target`, removing what an earlier, killed run left there.
    ///
    /// # Errors
    /// [`Kind::Io`] when the folder cannot be written, or another process writes the same file.
    pub fn create(target: impl AsRef<Path>) -> Result<Self> {
        // A link stays a link: what it leads to is replaced.
        let given = target.as_ref();
        if given.to_str().is_some_and(super::is_url) {
            return Err(Error::usage("nothing can be written to an address").hint("write to a file of this machine"));
        }
        let target = std::fs::canonicalize(given).unwrap_or_else(|_| given.to_path_buf());
        let doing = || format!("writing {}", given.display());
        if target.is_dir() {
            return Err(Error::usage(format!("{} is a directory", given.display())));
        }
        // A device or a pipe would be gone, with a file in its place.
        if std::fs::metadata(&target).is_ok_and(|there| !there.is_file()) {
            return Err(Error::usage(format!("{} is no file that could be replaced", given.display())));
        }
        let name = target.file_name().ok_or_else(|| Error::usage(format!("{} has no file name", given.display())))?;
        if remove_stale(&target) {
            return Err(busy(given));
        }
        let old = lock_in_place(&target).map_err(|e| Error::io(doing(), e))?.ok_or_else(|| busy(given))?.file();
        for attempt in 0u32..1000 {
            let mut hidden = std::ffi::OsString::from(".");
            hidden.push(name);
            hidden.push(format!("{MARK}-{}-{attempt}", std::process::id()));
            let temporary = target.with_file_name(hidden);
            match Output::create_new(&temporary) {
                Ok(file) => {
                    // The lock tells a later run that this file is alive; without locks it is merely not removed.
                    let _ = file.file().try_lock();
                    if let Ok(old) = std::fs::metadata(&target) {
                        let _ = file.file().set_permissions(old.permissions());
                    }
                    return Ok(Self { file: Some(file), temporary, target, old });
                }
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(Error::io(doing(), error)),
            }
        }
        Err(Error::io(doing(), std::io::ErrorKind::AlreadyExists.into()))
    }

    /// Refuses to go on where `read`, from which the new content is made, is no longer what the target
    /// holds: another writer was faster, and what it wrote would be lost.
    ///
    /// # Errors
    /// [`Kind::Io`].
    pub fn unless_changed(self, read: &dyn Source) -> Result<Self> {
        if read.is_changed() {
            let message = format!("{} was changed by another process since it was read", self.target.display());
            return Err(Error::new(Kind::Io, message).hint("try again"));
        }
        Ok(self)
    }

    /// Makes the new file take the place of the target: sync, rename, sync of the folder.
    ///
    /// # Errors
    /// [`Kind::Io`]; the old file is then as it was, unless the message says that the new one is in place.
    pub fn commit(mut self) -> Result<()> {
        let fail = |e| Error::io(format!("writing {}", self.target.display()), e);
        let Some(file) = self.file.take() else { return Ok(()) };
        let done = file.sync().and_then(|()| {
            drop(file);
            disk::rename(&self.temporary, &self.target)
        });
        if let Err(error) = done {
            let _ = disk::remove(&self.temporary);
            return Err(fail(error));
        }
        // What a killed update of the old file left is about a file that is gone.
        let journal = super::journal::journal_path(&self.target);
        if journal.exists() {
            let _ = disk::remove(&journal);
        }
        self.old = None;
        disk::sync_folder(&self.target)
            .map_err(|e| fail(e).context("the new file is in place, but might not outlast a power failure"))
    }

    fn file(&mut self) -> std::io::Result<&mut Output> {
        self.file.as_mut().ok_or_else(|| std::io::ErrorKind::NotConnected.into())
    }
}

/// The lock on a file that is there, or that there is none.
pub(super) enum Locked {
    /// The file, locked.
    File(File),
    /// There is no file, or a system without locks.
    Nothing,
}

impl Locked {
    fn file(self) -> Option<File> {
        match self {
            Self::File(file) => Some(file),
            Self::Nothing => None,
        }
    }
}

/// Locks the file that a path leads to; None where another writer holds the lock.
fn lock_in_place(path: &Path) -> std::io::Result<Option<Locked>> {
    for _ in 0..100 {
        #[allow(clippy::disallowed_methods, reason = "opened for its lock only")]
        let file = match File::open(path) {
            Ok(file) => file,
            // Whether it can be replaced is for the folder to say.
            Err(_) => return Ok(Some(Locked::Nothing)),
        };
        if !file.metadata()?.is_file() {
            return Ok(Some(Locked::Nothing));
        }
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(_)) => return Ok(Some(Locked::Nothing)),
            // Renamed over while we waited: the lock is on a file that is gone.
            Ok(()) if !leads_to(path, &file) => {}
            Ok(()) => return Ok(Some(Locked::File(file))),
        }
    }
    Ok(None)
}

/// Whether a path still leads to this open file.
pub(super) fn leads_to(path: &Path, file: &File) -> bool {
    let here = file.metadata().map(|metadata| super::local::identity(&metadata));
    let there = std::fs::metadata(path).map(|metadata| super::local::identity(&metadata));
    matches!((here, there), (Ok(here), Ok(there)) if here == there)
}

/// The error for a file that another process writes.
#[cold]
pub(super) fn busy(path: &Path) -> Error {
    Error::new(Kind::Io, format!("{} is being changed by another process", path.display()))
        .hint("wait until it is done, then try again")
}

impl Drop for Replace {
    fn drop(&mut self) {
        if self.file.take().is_some() {
            let _ = disk::remove(&self.temporary);
        }
    }
}

impl Write for Replace {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.file()?.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.file()?.flush()
    }
}

impl Seek for Replace {
    fn seek(&mut self, to: SeekFrom) -> std::io::Result<u64> {
        self.file()?.seek(to)
    }
}

/// Removes a file; that it is not there is as good.
///
/// # Errors
/// [`Kind::Io`](crate::Kind::Io).
pub fn remove(path: impl AsRef<Path>) -> Result<()> {
    let path = path.as_ref();
    let done = disk::remove(path).and_then(|()| disk::sync_folder(path));
    match done {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(Error::io(format!("removing {}", path.display()), error))
        }
        _ => Ok(()),
    }
}

/// Removes temporary files of `target` that a killed process left; those being written are locked and stay.
/// Whether there is one of these.
pub fn remove_stale(target: &Path) -> bool {
    let (Some(folder), Some(name)) = (target.parent(), target.file_name()) else { return false };
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let prefix = format!(".{}{MARK}-", name.to_string_lossy());
    let Ok(entries) = std::fs::read_dir(folder) else { return false };
    let mut alive = false;
    for entry in entries.flatten() {
        if entry.file_name().to_string_lossy().starts_with(&prefix)
            && entry.file_type().is_ok_and(|kind| kind.is_file())
            && let Ok(file) = std::fs::OpenOptions::new().write(true).open(entry.path())
        {
            match file.try_lock() {
                Ok(()) => drop(disk::remove(&entry.path())),
                Err(TryLockError::WouldBlock) => alive = true,
                Err(TryLockError::Error(_)) => {}
            }
        }
    }
    alive
}

/// Reads a small text file (a layout, a schema, YAML for an edit) of at most `most` bytes.
///
/// # Errors
/// [`Kind::Io`](crate::Kind::Io), or [`Kind::Limit`](crate::Kind::Limit) when it is longer.
pub fn read_text(path: impl AsRef<Path>, most: u64) -> Result<Vec<u8>> {
    let path = path.as_ref();
    let source = super::open(path, super::OpenOptions { map: false, ..Default::default() })?;
    if source.len() > most {
        return Err(crate::Limits::exceeded("text", most, format_args!("{} has {} bytes", path.display(), source.len())));
    }
    let mut bytes = vec![0; super::to_usize(source.len())?];
    source.read_at(0, &mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dropped_replacement_leaves_the_old_file_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("x.asdf");
        std::fs::OpenOptions::new().create(true).write(true).truncate(true).open(&target).unwrap().write_all(b"old").unwrap();
        let mut new = Replace::create(&target).unwrap();
        new.write_all(b"half").unwrap();
        drop(new);
        assert_eq!(read_text(&target, 100).unwrap(), b"old");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_committed_replacement_takes_the_place_and_clears_what_a_killed_run_left() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("x.asdf");
        let stale = folder.path().join(format!(".x.asdf{MARK}-1-0"));
        std::fs::OpenOptions::new().create(true).write(true).truncate(true).open(&stale).unwrap();
        let mut new = Replace::create(&target).unwrap();
        new.write_all(b"new").unwrap();
        new.commit().unwrap();
        assert_eq!(read_text(&target, 100).unwrap(), b"new");
        assert!(!stale.exists());
    }

    #[test]
    fn a_second_writer_is_refused_whether_the_file_is_there_or_not() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("x.asdf");
        for _ in 0..2 {
            let mut first = Replace::create(&target).unwrap();
            let error = Replace::create(&target).unwrap_err();
            assert_eq!(error.kind(), Kind::Io);
            assert!(error.to_string().contains("is being changed by another process"), "{error}");
            first.write_all(b"first").unwrap();
            first.commit().unwrap();
        }
        // Both ways of writing know each other.
        let update = crate::bytes::Journal::begin(&target, &[0..1]).unwrap();
        assert!(Replace::create(&target).is_err());
        update.roll_back().unwrap();
        let replace = Replace::create(&target).unwrap();
        assert!(crate::bytes::Journal::begin(&target, &[0..1]).is_err());
        drop(replace);
        assert!(crate::bytes::Journal::begin(&target, &[0..1]).is_ok());
    }

    #[test]
    fn what_was_made_of_an_older_content_does_not_replace_a_newer_one() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("x.asdf");
        let write = |content: &[u8]| {
            let mut new = Replace::create(&target).unwrap();
            new.write_all(content).unwrap();
            new.commit().unwrap();
        };
        write(b"one");
        let read = crate::bytes::open(&target, Default::default()).unwrap();
        assert!(Replace::create(&target).unwrap().unless_changed(&*read).is_ok());
        write(b"two");
        assert!(read.is_changed());
        let error = Replace::create(&target).unwrap().unless_changed(&*read).unwrap_err();
        assert!(error.to_string().contains("since it was read"), "{error}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
