//! The opener of files on this machine: links are followed, pipes kept, and journals looked for.

use super::file_name::shown_path;
use std::fs::{File, Metadata, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::journal::{self, JournalLookup};
use super::journal_view::PreUpdateSource;
use super::local::{LocalFile, LocalOptions, OpenedPath, leads_to_metadata};
use super::platform::file_identity;
use super::source::SourceRef;
use super::spool::spool;
use crate::error::{Error, Result};

/// Opens a local file; a pipe is read into a spool first.
///
/// # Errors
/// Returns [`ErrorKind::Io`](crate::ErrorKind::Io) if the operating system reports an error, and
/// [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for a folder or a device, which has no end.
pub fn open(path: impl AsRef<Path>, options: LocalOptions) -> Result<SourceRef> {
    let path = path.as_ref();
    let doing = || format!("opening {}", shown_path(path));
    // Opening is tried again if the file is replaced meanwhile.
    for _ in 0..100 {
        #[allow(clippy::disallowed_methods, reason = "this is the place that opens files")]
        let file = File::open(path).map_err(|e| add_writer_hint(path, Error::io(doing(), e)).with_missing_folder(path))?;
        let metadata = file.metadata().map_err(|e| Error::io(doing(), e))?;
        if metadata.is_dir() {
            return Err(Error::invalid_input(format!("{} is a directory", shown_path(path))));
        }
        if is_device(&metadata) {
            return Err(Error::invalid_input(format!("{} is a device", shown_path(path))).hint("give a file, or a pipe"));
        }
        if !metadata.is_file() {
            return spool(file, &path.to_string_lossy(), options.spool);
        }
        if let Some(real) = direct_path(path, &metadata) {
            return open_regular(file, &metadata, path, (real, true), options);
        }
        match std::fs::canonicalize(path) {
            Ok(real) if leads_to_metadata(&real, &metadata) => {
                return open_regular(file, &metadata, path, (real, false), options);
            }
            Ok(_) => {}
            // A descriptor of a file that has no name any more.
            Err(_) => return Ok(Arc::new(LocalFile::new(file, &metadata, path.to_string_lossy().into_owned(), options))),
        }
    }
    Err(Error::new(crate::ErrorKind::Io, "the file is replaced again and again").context(doing()).hint("try again"))
}

/// Returns the path of an open file with all links followed, if its name is no link.
fn direct_path(path: &Path, open: &Metadata) -> Option<PathBuf> {
    let folder = path.parent().map(|folder| if folder.as_os_str().is_empty() { Path::new(".") } else { folder })?;
    let real = std::fs::canonicalize(folder).ok()?.join(path.file_name()?);
    let named = std::fs::symlink_metadata(&real).ok()?;
    (named.is_file() && file_identity(&named) == file_identity(open)).then_some(real)
}

/// The one way in which a regular file becomes a source: `file`, opened at `given`, which leads to `real`; `is_direct` if the
/// name is no link.
///
/// An update that has not ended is not seen: if a journal is next to the file, the source is what the
/// file held before. A journal that does not belong to the file is a notice of the source.
///
/// # Errors
/// Returns [`ErrorKind::Io`](crate::ErrorKind::Io) if the operating system reports an error.
pub(super) fn open_regular(
    file: File,
    metadata: &Metadata,
    given: &Path,
    (real, is_direct): (PathBuf, bool),
    options: LocalOptions,
) -> Result<SourceRef> {
    let display = std::path::absolute(given).unwrap_or_else(|_| given.to_path_buf());
    let place = OpenedPath { display, canonical: real, is_direct };
    let found = journal::find_journal(&place.canonical, &file, metadata, options.memory)?;
    // The writer of a journal holds the lock as long as it works.
    let is_live = matches!(found, JournalLookup::Journal(_))
        && match file.try_lock_shared() {
            Ok(()) => file.unlock().is_err(),
            Err(error) => matches!(error, TryLockError::WouldBlock),
        };
    let source = LocalFile::new(file, metadata, given.to_string_lossy().into_owned(), options);
    Ok(match found {
        JournalLookup::Nothing => Arc::new(source.with_place(place, None)),
        JournalLookup::NotAJournal(why) => Arc::new(source.with_place(place, Some(why))),
        JournalLookup::Journal(journal) => {
            Arc::new(PreUpdateSource::new(Arc::new(source.with_place(place, None)), journal, is_live))
        }
    })
}

/// Adds to the error of a missing file whether a process is writing it.
#[cold]
fn add_writer_hint(path: &Path, error: Error) -> Error {
    match super::lock::draft_exists(path) {
        true => error.hint("other processes are writing it; open it after one of them has finished it"),
        false => error,
    }
}

/// Returns `true` if this is a disk, a terminal, or what makes zeros without end.
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

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "tests make files")]
mod tests {
    use super::super::SourceBacking;
    use super::*;

    fn write(path: &Path, bytes: &[u8]) {
        std::fs::write(path, bytes).unwrap();
    }

    fn open_default(path: &Path) -> SourceRef {
        open(path, LocalOptions::default()).unwrap()
    }

    #[test]
    fn change_while_file_is_opened_shows_at_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        write(&path, &[7; 100]);
        let source = open_default(&path);
        let local = source.backing().and_then(SourceBacking::local_file).unwrap();
        let mut bytes = [0; 8];
        assert!(local.check_once(|| source.read_at(0, &mut bytes)).is_ok());
        let done = local.check_once(|| {
            write(&path, &[8; 120]);
            source.read_at(50, &mut bytes)
        });
        assert_eq!((done.unwrap_err().kind(), bytes), (crate::ErrorKind::Io, [7; 8]));
        // Other reads are checked one by one, also those of another file in such a work.
        assert!(source.read_at(0, &mut bytes).is_err() && source.view(0, 8).is_none());
        write(&folder.path().join("y"), &[9; 10]);
        let other = open_default(&folder.path().join("y"));
        let other = other.backing().and_then(SourceBacking::local_file).unwrap();
        assert!(other.check_once(|| source.read_at(0, &mut bytes)).is_err());
    }

    #[test]
    fn view_of_small_and_large_file_eq_bytes() {
        let folder = tempfile::tempdir().unwrap();
        for len in [0, 1, 16 << 10, (16 << 10) + 1, 100_000] {
            let bytes: Vec<u8> = (0..len).map(|n| (n ^ (n >> 8)) as u8).collect();
            let path = folder.path().join(len.to_string());
            write(&path, &bytes);
            let source = open_default(&path);
            let part = len / 3..len;
            let view = source.view(part.start as u64, part.len() as u64);
            assert_eq!(view, bytes.get(part).filter(|_| len > 0), "{len}");
            assert!(source.view(1, len as u64).is_none());
            let mut read = vec![0; len];
            source.read_at(0, &mut read).unwrap();
            assert_eq!(read, bytes);
        }
    }

    #[cfg(unix)]
    #[test]
    fn link_has_no_folder_and_paths_no_links() {
        let folder = tempfile::tempdir().unwrap();
        let real = std::fs::canonicalize(folder.path()).unwrap();
        std::fs::create_dir(real.join("d")).unwrap();
        write(&real.join("d/x"), &[1; 3]);
        std::os::unix::fs::symlink("d", real.join("e")).unwrap();
        std::os::unix::fs::symlink("d/x", real.join("y")).unwrap();
        for (name, known) in [("d/x", Some("d")), ("e/x", Some("d")), ("e/../d/x", Some("d")), ("y", None)] {
            let source = open_default(&real.join(name));
            let local = source.backing().and_then(SourceBacking::local_file).unwrap();
            assert_eq!(local.path(), Some(&*real.join("d/x")), "{name}");
            assert_eq!(local.parent_dir(), known.map(|known| real.join(known)).as_deref(), "{name}");
        }
    }
}
