//! The opener of files on this machine: links are followed, pipes kept, and journals looked for.

use super::file_name::shown_path;
use std::fs::{File, Metadata, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::journal::{self, JournalLookup};
use super::journal_view::PreUpdateSource;
use super::local::{LocalFile, LocalOptions, OpenedPath, leads_to};
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
        match std::fs::canonicalize(path) {
            Ok(real) if leads_to(&real, &file) => return open_regular(file, &metadata, path, real, options),
            Ok(_) => {}
            // A descriptor of a file that has no name any more.
            Err(_) => return Ok(Arc::new(LocalFile::new(file, &metadata, path.to_string_lossy().into_owned(), options))),
        }
    }
    Err(Error::new(crate::ErrorKind::Io, "the file is replaced again and again").context(doing()).hint("try again"))
}

/// The one way in which a regular file becomes a source: `file`, opened at `given`, which leads to `real`.
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
    real: PathBuf,
    options: LocalOptions,
) -> Result<SourceRef> {
    let place = OpenedPath { display: std::path::absolute(given).unwrap_or_else(|_| given.to_path_buf()), canonical: real };
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
