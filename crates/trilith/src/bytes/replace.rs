//! Replacing a file so that a failure at any point leaves the old one whole.
//!
//! The new content goes to a temporary file beside the target; [`Replace::commit`] syncs it, renames
//! it over the target and syncs the folder. Whatever happens before the rename, the old file stands.

use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

const MARK: &str = ".trilith-tmp";

/// A new file that takes the place of `target` when it is [committed](Replace::commit), or vanishes.
///
/// While it is being written it is locked; [`remove_stale`] removes what a killed process left.
#[derive(Debug)]
pub struct Replace {
    file: Option<File>,
    temporary: PathBuf,
    target: PathBuf,
}

impl Replace {
    /// Starts a new file beside `target`, removing what an earlier, killed run left there.
    ///
    /// # Errors
    /// [`Kind::Io`](crate::Kind::Io) when the folder cannot be written.
    pub fn create(target: impl AsRef<Path>) -> Result<Self> {
        // A link stays a link: what it leads to is replaced.
        let given = target.as_ref();
        let target = std::fs::canonicalize(given).unwrap_or_else(|_| given.to_path_buf());
        let doing = || format!("writing {}", given.display());
        if target.is_dir() {
            return Err(Error::usage(format!("{} is a directory", given.display())));
        }
        let name = target.file_name().ok_or_else(|| Error::usage(format!("{} has no file name", given.display())))?;
        remove_stale(&target);
        for attempt in 0u32..1000 {
            let mut hidden = std::ffi::OsString::from(".");
            hidden.push(name);
            hidden.push(format!("{MARK}-{}-{attempt}", std::process::id()));
            let temporary = target.with_file_name(hidden);
            match std::fs::OpenOptions::new().read(true).write(true).create_new(true).open(&temporary) {
                Ok(file) => {
                    // The lock tells a later run that this file is alive; without locks it is merely not removed.
                    let _ = file.try_lock();
                    if let Ok(old) = std::fs::metadata(&target) {
                        let _ = file.set_permissions(old.permissions());
                    }
                    return Ok(Self { file: Some(file), temporary, target });
                }
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(Error::io(doing(), error)),
            }
        }
        Err(Error::io(doing(), std::io::ErrorKind::AlreadyExists.into()))
    }

    /// Makes the new file take the place of the target: sync, rename, sync of the folder.
    ///
    /// # Errors
    /// [`Kind::Io`](crate::Kind::Io); the old file is then as it was.
    pub fn commit(mut self) -> Result<()> {
        let fail = |e| Error::io(format!("writing {}", self.target.display()), e);
        let Some(file) = self.file.take() else { return Ok(()) };
        let done = file.sync_all().and_then(|()| {
            drop(file);
            std::fs::rename(&self.temporary, &self.target)
        });
        if let Err(error) = done {
            let _ = std::fs::remove_file(&self.temporary);
            return Err(fail(error));
        }
        sync_folder(&self.target);
        Ok(())
    }

    fn file(&self) -> std::io::Result<&File> {
        self.file.as_ref().ok_or_else(|| std::io::ErrorKind::NotConnected.into())
    }
}

impl Drop for Replace {
    fn drop(&mut self) {
        if self.file.take().is_some() {
            let _ = std::fs::remove_file(&self.temporary);
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
    match std::fs::remove_file(path.as_ref()) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(Error::io(format!("removing {}", path.as_ref().display()), error))
        }
        _ => Ok(()),
    }
}

/// Removes temporary files of `target` that a killed process left; those being written are locked and stay.
pub fn remove_stale(target: &Path) {
    let (Some(folder), Some(name)) = (target.parent(), target.file_name()) else { return };
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let prefix = format!(".{}{MARK}-", name.to_string_lossy());
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        if entry.file_name().to_string_lossy().starts_with(&prefix)
            && let Ok(file) = std::fs::OpenOptions::new().write(true).open(entry.path())
            && file.try_lock().is_ok()
        {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// Makes a rename in the folder of `target` last; not every system can, and then nothing is lost but the promise.
pub(super) fn sync_folder(target: &Path) {
    #[cfg(unix)]
    if let Some(folder) = target.parent() {
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        #[allow(clippy::disallowed_methods, reason = "a folder, to be synced")]
        if let Ok(folder) = File::open(folder) {
            let _ = folder.sync_all();
        }
    }
    #[cfg(not(unix))]
    let _ = target;
}

/// Reads a small text file (a layout, a schema, YAML for an edit) of at most `most` bytes.
///
/// # Errors
/// [`Kind::Io`](crate::Kind::Io), or [`Kind::Limit`](crate::Kind::Limit) when it is longer.
pub fn read_text(path: impl AsRef<Path>, most: u64) -> Result<Vec<u8>> {
    let path = path.as_ref();
    let source = super::open(path, super::OpenOptions { map: false })?;
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
}
