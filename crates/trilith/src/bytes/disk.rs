//! Every change to a file on disk, in one place: so that tests can record it, cut it off, and let it fail.
//!
//! [`Replace`](super::Replace) and [`Journal`](super::Journal) write through here. A [`Watch`] sees each act
//! before it happens and may refuse it; outside of tests there is none, which costs one look at a flag.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

/// One thing that is done to a disk.
#[derive(Debug, Clone, Copy)]
pub enum Act<'a> {
    /// A new, empty file.
    Create(&'a Path),
    /// Bytes at a place of a file.
    Write(&'a Path, u64, &'a [u8]),
    /// Another length.
    Resize(&'a Path, u64),
    /// The content of a file is made to last.
    Sync(&'a Path),
    /// A file takes the name of another.
    Rename(&'a Path, &'a Path),
    /// A file is removed.
    Remove(&'a Path),
    /// The names in a folder are made to last.
    SyncFolder(&'a Path),
    /// So many bytes are read at a place of a file.
    Read(&'a Path, u64, usize),
}

/// What becomes of an act.
#[derive(Debug)]
pub enum Answer {
    /// It is done.
    Go,
    /// Only so many bytes are written.
    Short(usize),
    /// It fails.
    Fail(io::Error),
}

/// Who sees every act.
pub trait Watch: Send + Sync {
    /// Called before an act.
    fn before(&self, act: Act<'_>) -> Answer;
    /// Called after an act that was done.
    fn after(&self, act: Act<'_>);
}

static WATCHED: AtomicBool = AtomicBool::new(false);
static WATCH: RwLock<Option<Arc<dyn Watch>>> = RwLock::new(None);

/// Sets who sees every act of this process; for tests.
pub fn watch(by: Option<Arc<dyn Watch>>) {
    WATCHED.store(by.is_some(), Ordering::SeqCst);
    *WATCH.write().unwrap_or_else(PoisonError::into_inner) = by;
}

/// Does an act; `work` gets the number of bytes that may be written.
fn act<T>(act: Act<'_>, work: impl FnOnce(usize) -> io::Result<T>) -> io::Result<T> {
    if !WATCHED.load(Ordering::Relaxed) {
        return work(usize::MAX);
    }
    let by = WATCH.read().unwrap_or_else(PoisonError::into_inner).clone();
    let Some(by) = by else { return work(usize::MAX) };
    match by.before(act) {
        Answer::Fail(error) => Err(error),
        Answer::Short(most) => {
            let done = work(most)?;
            if let Act::Write(path, at, bytes) = act {
                by.after(Act::Write(path, at, bytes.get(..most).unwrap_or(bytes)));
            }
            Ok(done)
        }
        Answer::Go => {
            let done = work(usize::MAX)?;
            by.after(act);
            Ok(done)
        }
    }
}

/// A file that is being written.
#[derive(Debug)]
pub(super) struct Output {
    file: File,
    path: PathBuf,
}

impl Output {
    /// A new file, which must not exist yet.
    pub(super) fn create_new(path: &Path) -> io::Result<Self> {
        let file = act(Act::Create(path), |_| OpenOptions::new().read(true).write(true).create_new(true).open(path))?;
        Ok(Self { file, path: path.to_path_buf() })
    }

    /// As [`Output::create_new`], for nobody but its owner.
    pub(super) fn create_private(path: &Path) -> io::Result<Self> {
        let file = act(Act::Create(path), |_| {
            super::owner::private(OpenOptions::new().read(true).write(true).create_new(true)).open(path)
        })?;
        Ok(Self { file, path: path.to_path_buf() })
    }

    /// A file that is there, to be changed.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).write(true).open(path)?;
        Ok(Self { file, path: path.to_path_buf() })
    }

    /// The file itself: to be read or locked.
    pub(super) fn file(&self) -> &File {
        &self.file
    }

    pub(super) fn write_all_at(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(at))?;
        self.write_all(bytes)
    }

    pub(super) fn resize(&self, len: u64) -> io::Result<()> {
        again(|| act(Act::Resize(&self.path, len), |_| self.file.set_len(len)))
    }

    pub(super) fn sync(&self) -> io::Result<()> {
        again(|| act(Act::Sync(&self.path), |_| self.file.sync_all()))
    }

    /// As [`Output::sync`], for a file that was there before: its bytes and its length last. Its times may wait for the
    /// sync of its folder, which spares a transaction of the file system.
    pub(super) fn sync_data(&self) -> io::Result<()> {
        again(|| act(Act::Sync(&self.path), |_| self.file.sync_data()))
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let at = if WATCHED.load(Ordering::Relaxed) { self.file.stream_position()? } else { 0 };
        let file = &mut self.file;
        act(Act::Write(&self.path, at, bytes), |most| file.write(bytes.get(..most).unwrap_or(bytes)))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Seek for Output {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

pub(super) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    again(|| act(Act::Rename(from, to), |_| std::fs::rename(from, to)))
}

pub(super) fn remove(path: &Path) -> io::Result<()> {
    again(|| act(Act::Remove(path), |_| std::fs::remove_file(path)))
}

/// Tells the watch of a read, which it may refuse.
pub(super) fn reading(path: &str, at: u64, len: usize) -> io::Result<()> {
    if WATCHED.load(Ordering::Relaxed) { act(Act::Read(Path::new(path), at, len), |_| Ok(())) } else { Ok(()) }
}

/// Makes the names in the folder of `path` last; not every system can, and then nothing is lost but the promise.
///
/// # Errors
/// A disk that says no.
pub(super) fn sync_folder(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        #[allow(clippy::disallowed_methods, reason = "a folder, to be synced")]
        let Ok(open) = File::open(folder) else { return Ok(()) };
        again(|| {
            act(Act::SyncFolder(folder), |_| match open.sync_all() {
                // Some file systems do not know how to sync a folder.
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

/// Once more where a signal came in between.
fn again<T>(mut work: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match work() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            done => return done,
        }
    }
}
