//! Every change to a file on disk, in one place: so that tests can record it, cut it off, and let it fail.
//!
//! [`AtomicFile`](super::AtomicFile) and [`JournaledUpdate`](super::JournaledUpdate) write through here. With the feature `fault-injection`,
//! which is for tests, a `FsObserver` sees each act before it happens and may refuse it; without it there is no such hook.

#[cfg(feature = "fault-injection")]
mod fault_injection;
#[cfg(not(feature = "fault-injection"))]
#[path = "fs/no_fault_injection.rs"]
mod fault_injection;

use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

#[cfg(feature = "fault-injection")]
pub use fault_injection::{FaultAction, FsObserver, set_observer};
use fault_injection::{is_watched, observe};

use super::writeback::Writeback;

/// An operation on a disk.
#[derive(Debug, Clone, Copy)]
#[cfg_attr(not(feature = "fault-injection"), allow(dead_code, reason = "no other process sees it"))]
pub enum FsOp<'a> {
    /// A new, empty file.
    Create(&'a Path),
    /// Bytes at a place of a file.
    Write(&'a Path, u64, &'a [u8]),
    /// A file gets another length.
    Resize(&'a Path, u64),
    /// The content of a file is made to last.
    Sync(&'a Path),
    /// A file takes the name of another.
    Rename(&'a Path, &'a Path),
    /// A file is removed.
    Remove(&'a Path),
    /// The names in a folder are made to last.
    SyncFolder(&'a Path),
    /// Number of bytes that are read at a place of a file.
    Read(&'a Path, u64, usize),
}

/// A file that is being written.
#[derive(Debug)]
pub(super) struct FsFile {
    file: File,
    path: PathBuf,
    /// None if the file existed before, or is not synced.
    writeback: Option<Writeback>,
}

impl FsFile {
    /// A new file, which must not exist yet.
    pub(super) fn create_new(path: &Path) -> io::Result<Self> {
        let file = observe(FsOp::Create(path), |_| OpenOptions::new().read(true).write(true).create_new(true).open(path))?;
        Ok(Self::with_writeback(file, path))
    }

    /// Does the same as [`FsFile::create_new`], for a file that only its owner may read.
    pub(super) fn create_private(path: &Path) -> io::Result<Self> {
        let file = observe(FsOp::Create(path), |_| {
            super::ownership::with_private_mode(OpenOptions::new().read(true).write(true).create_new(true)).open(path)
        })?;
        Ok(Self::with_writeback(file, path))
    }

    /// A file that is there, to be changed.
    pub(super) fn open_existing(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).write(true).open(path)?;
        Ok(Self { file, path: path.to_path_buf(), writeback: None })
    }

    /// A temporary file without a name; `path` is what it is written for.
    #[cfg(feature = "remote")]
    pub(super) fn anonymous_temp(path: &Path) -> io::Result<Self> {
        Ok(Self { file: super::anonymous_file()?, path: path.to_path_buf(), writeback: None })
    }

    fn with_writeback(file: File, path: &Path) -> Self {
        Self { file, path: path.to_path_buf(), writeback: Some(Writeback::default()) }
    }

    /// The file itself: to be read or locked.
    pub(super) fn file(&self) -> &File {
        &self.file
    }

    pub(super) fn write_all_at(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(at))?;
        self.write_all(bytes)
    }

    /// Asks the system to begin writing the bytes to its disk, if it can.
    pub(super) fn begin_writeback(&mut self) {
        if let Some(writeback) = &mut self.writeback {
            writeback.request(&mut self.file);
        }
    }

    pub(super) fn resize(&self, len: u64) -> io::Result<()> {
        retry_interrupted(|| observe(FsOp::Resize(&self.path, len), |_| self.file.set_len(len)))
    }

    pub(super) fn sync_all(&self) -> io::Result<()> {
        retry_interrupted(|| observe(FsOp::Sync(&self.path), |_| self.file.sync_all()))
    }

    /// Does the same as [`FsFile::sync_all`], for a file that existed before: syncs its bytes and its length. Its times
    /// may wait for the sync of its folder, which saves a transaction of the file system.
    pub(super) fn sync_data(&self) -> io::Result<()> {
        retry_interrupted(|| observe(FsOp::Sync(&self.path), |_| self.file.sync_data()))
    }
}

/// Adds bytes at the end of a file, which is made if there is none.
pub(super) fn append_to_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let file = observe(FsOp::Create(path), |_| OpenOptions::new().append(true).create(true).open(path))?;
    let at = file.metadata()?.len();
    let mut file = &file;
    observe(FsOp::Write(path, at, bytes), |most| file.write_all(bytes.get(..most).unwrap_or(bytes)))
}

impl Write for FsFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let at = if is_watched() { self.file.stream_position()? } else { 0 };
        let file = &mut self.file;
        let written = observe(FsOp::Write(&self.path, at, bytes), |most| file.write(bytes.get(..most).unwrap_or(bytes)))?;
        if let Some(writeback) = &mut self.writeback {
            writeback.count(&mut self.file, written);
        }
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Seek for FsFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

pub(super) fn rename_file(from: &Path, to: &Path) -> io::Result<()> {
    retry_interrupted(|| observe(FsOp::Rename(from, to), |_| std::fs::rename(from, to)))
}

pub(super) fn remove(path: &Path) -> io::Result<()> {
    retry_interrupted(|| observe(FsOp::Remove(path), |_| std::fs::remove_file(path)))
}

/// Reports a read to the watch, which may refuse it.
pub(super) fn observe_read(path: &str, at: u64, len: usize) -> io::Result<()> {
    if is_watched() { observe(FsOp::Read(Path::new(path), at, len), |_| Ok(())) } else { Ok(()) }
}

/// Makes the names in the folder of `path` last; not every system can, and then nothing is lost but the promise.
///
/// # Errors
/// Returns the error of the disk.
pub(super) fn sync_folder(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        #[allow(clippy::disallowed_methods, reason = "a folder, to be synced")]
        let Ok(open) = File::open(folder) else { return Ok(()) };
        retry_interrupted(|| {
            observe(FsOp::SyncFolder(folder), |_| match open.sync_all() {
                // Some file systems cannot sync a folder.
                Err(error) if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) => Ok(()),
                done => done,
            })
        })
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        Ok(())
    }
}

/// Repeats `work` until no signal interrupts it.
fn retry_interrupted<T>(mut work: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match work() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            done => return done,
        }
    }
}
