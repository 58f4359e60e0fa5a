//! Replacement of a file that leaves the old one whole if anything fails.
//!
//! The new content goes to a temporary file next to the target. [`AtomicFile::commit`] syncs it, renames it over
//! the target and syncs the folder. Until the rename the old file stays unchanged.
//!
//! For an object in a bucket the content waits in a temporary file without a name, and the commit uploads it.

use std::fs::{Metadata, TryLockError};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

#[cfg(any(feature = "remote", test))]
use super::backing::SourceBacking;
use super::fs::{self, FsFile};
use super::local::LocalOptions;
use super::local::leads_to;
use super::lock::{WriteBasis, WriteLock, busy_error, remove_numbered_temporaries, remove_stale_temporary, temporary_path};
#[cfg(feature = "remote")]
use super::remote::Upload;
use super::source::SourceRef;
use super::temporary::TemporaryGuard;
use super::write_path::WritePath;
use super::{journal, ownership};
use crate::error::{Error, Result};

/// A new file that replaces `target` when it is [committed](AtomicFile::commit), and is removed otherwise.
///
/// The new file and the file that it replaces are locked until then, so a second writer gets an error. The new file keeps mode,
/// owner, group and extended attributes of the old file, and only its owner may read it until it is in place. The next writer of
/// the same target removes the file of a killed process.
///
/// An object in a bucket is uploaded when it is committed. It must not exist, unless
/// [`RemoteOptions::overwrite`](super::RemoteOptions) is set. Then it must still be the object that existed when the work began.
#[derive(Debug)]
pub struct AtomicFile {
    file: Option<FsFile>,
    place: Destination,
    warnings: Vec<String>,
    /// `true` if it stays if it cannot be put in place: it was not made here.
    is_committed: bool,
    /// Keeps the temporary file among those that a signal removes, until it is in place.
    listed: Option<TemporaryGuard>,
}

/// The place that the content goes to.
#[allow(clippy::large_enum_variant, reason = "there is one for each file that is written")]
#[derive(Debug)]
enum Destination {
    /// A file of this machine.
    Local {
        temporary: PathBuf,
        /// The target, and the lock on the file that is there now.
        lock: WriteLock,
    },
    /// An object in a bucket.
    #[cfg(feature = "remote")]
    Remote(Box<Upload>),
}

impl AtomicFile {
    /// Starts a new file next to `target`, removing what an earlier, killed run left there. `basis` says what
    /// the new content is made from.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Io`](crate::ErrorKind::Io) if the folder cannot be written, another process writes the
    /// same file, or the file is no longer what was read. [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for a
    /// target that cannot be replaced: a folder, a device, an object that exists, a file that is read-only or whose owner
    /// the new file could not have, and if something that is not its journal is under that name.
    /// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for the URL of a web server.
    pub fn create(target: impl Into<WritePath>, basis: WriteBasis<'_>) -> Result<Self> {
        let target = target.into();
        if let Some(url) = target.as_url() {
            return Self::remote(url, &target, basis);
        }
        let given = target.path();
        // A link stays a link: what it leads to is replaced.
        let lock = WriteLock::acquire(given, basis).map_err(|error| error.with_missing_folder(given))?;
        journal::check_is_journal(&lock)?;
        let doing = || format!("writing {}", super::shown_path(given));
        let (mut attempt, mut is_cleared) = (0u32, false);
        while attempt < 1000 {
            let temporary = temporary_path(&lock.path, attempt);
            let made = TemporaryGuard::create(&temporary, || match &lock.locked_target {
                Some(_) => FsFile::create_private(&temporary),
                None => FsFile::create_new(&temporary),
            });
            match made {
                Ok((file, listed)) => {
                    // The lock shows another writer that this file is in use. One that looked before the lock has removed it.
                    let is_taken = match file.file().try_lock() {
                        Ok(()) => !leads_to(&temporary, file.file()),
                        Err(TryLockError::WouldBlock) => true,
                        // A file system without locks.
                        Err(TryLockError::Error(_)) => false,
                    };
                    if is_taken {
                        return Err(busy_error(given));
                    }
                    let mut new = Self::local(file, temporary, lock, Some(listed));
                    new.keep_owner()?;
                    return Ok(new);
                }
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                    // After the second time the name is that of another user, or the file system has no locks.
                    let is_first = attempt == 0;
                    if is_first && (remove_stale_temporary(&lock.path) || is_cleared && remove_numbered_temporaries(&lock.path)) {
                        return Err(busy_error(given));
                    }
                    attempt += u32::from(!is_first || is_cleared);
                    is_cleared = true;
                }
                Err(error) => return Err(Error::io(doing(), error).with_missing_folder(given)),
            }
        }
        Err(Error::io(doing(), std::io::ErrorKind::AlreadyExists.into()))
    }

    /// Requests space for N bytes, as [`preallocate`](super::preallocate) does.
    ///
    /// # Errors
    /// Returns the errors of [`preallocate`](super::preallocate).
    pub fn reserve(&self, bytes: u64) -> Result<()> {
        self.file.as_ref().map_or(Ok(()), |file| super::preallocate(file.file(), bytes))
    }

    /// A file that is complete next to `target` already, to be put in its place: it stays where it is if that fails.
    ///
    /// # Errors
    /// Returns the errors of [`AtomicFile::create`].
    pub(super) fn adopt_draft(target: &Path, made: &Path) -> Result<Self> {
        let lock = WriteLock::acquire(target, WriteBasis::Nothing)?;
        journal::check_is_journal(&lock)?;
        let file = FsFile::open_existing(made).map_err(|e| Error::io(format!("writing {}", target.display()), e))?;
        let mut new = Self::local(file, made.to_path_buf(), lock, None);
        new.keep_owner()?;
        Ok(new)
    }

    /// A file that is being written. It stays where it is if it is not listed.
    fn local(file: FsFile, temporary: PathBuf, lock: WriteLock, listed: Option<TemporaryGuard>) -> Self {
        let is_kept = listed.is_none();
        Self {
            file: Some(file),
            place: Destination::Local { temporary, lock },
            warnings: Vec::new(),
            is_committed: is_kept,
            listed,
        }
    }

    /// Starts an object in a bucket.
    #[cfg(feature = "remote")]
    fn remote(url: &str, target: &WritePath, basis: WriteBasis<'_>) -> Result<Self> {
        let options = target.remote_options();
        let replace = options.overwrite && !matches!(basis, WriteBasis::Missing);
        // A new form of the same object must be made from what is there.
        let version = match basis {
            WriteBasis::SameAs(read) | WriteBasis::LockedBy(read) if read.name() == url => {
                read.backing().and_then(SourceBacking::content_version)
            }
            _ => None,
        };
        let upload = Upload::start_upload(url, options, replace, version.as_deref())?;
        let file = FsFile::anonymous_temp(target.path()).map_err(|e| Error::io("making a temporary file", e))?;
        Ok(Self {
            file: Some(file),
            place: Destination::Remote(Box::new(upload)),
            warnings: Vec::new(),
            is_committed: false,
            listed: None,
        })
    }

    #[cfg(not(feature = "remote"))]
    fn remote(_: &str, _: &WritePath, _: WriteBasis<'_>) -> Result<Self> {
        Err(Error::unsupported("this build writes no remote files").hint("build it with the feature remote"))
    }

    /// Gives the new file the owner of the one that it will replace.
    fn keep_owner(&mut self) -> Result<()> {
        let (Some(file), Some(lock)) = (&self.file, self.place.local_lock()) else { return Ok(()) };
        match &lock.locked_target {
            Some((_, old)) => ownership::copy_ownership(file.file(), old, &lock.display_path, &mut self.warnings),
            None => Ok(()),
        }
    }

    /// Gives the new file the owner and permissions of another, so that no other user may read it.
    ///
    /// # Errors
    /// Returns the errors of [`AtomicFile::create`].
    pub(super) fn copy_permissions(&mut self, old: &Metadata) -> Result<()> {
        let (Some(file), Some(lock)) = (&self.file, self.place.local_lock()) else { return Ok(()) };
        let given = lock.display_path.clone();
        ownership::copy_ownership(file.file(), old, &given, &mut self.warnings)?;
        file.file().set_permissions(old.permissions()).map_err(|e| Error::io(format!("writing {}", given.display()), e))
    }

    /// Returns the content written so far, to be read before it is put into place.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Io`](crate::ErrorKind::Io) if the operating system reports an error.
    pub fn reread_source(&self) -> Result<SourceRef> {
        match (&self.place, &self.file) {
            (Destination::Local { temporary, .. }, _) => super::open(temporary, LocalOptions::default()),
            #[cfg(feature = "remote")]
            (Destination::Remote(upload), Some(file)) => super::spool::reopen_unnamed_file(file.file(), &upload.display_url()),
            #[cfg(feature = "remote")]
            (Destination::Remote(_), None) => Err(Error::io("reading a temporary file", std::io::ErrorKind::NotConnected.into())),
        }
    }

    /// Asks the system to begin writing the content to its disk, if it can.
    pub(super) fn begin_writeback(&mut self) {
        if let Some(file) = &mut self.file {
            file.begin_writeback();
        }
    }

    /// Makes the new file take the place of the target: sync, rename, sync of the folder; or uploads the object. Returns
    /// warnings about what the new file could not keep of the old one.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Io`](crate::ErrorKind::Io) if the operating system or the service reports an error. The old file
    /// is then unchanged, unless the message says that the new one is in place. Returns
    /// [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if another writer has made the object meanwhile.
    pub fn commit(self) -> Result<Vec<String>> {
        let (mut warnings, done) = Self::commit_all(vec![self]);
        done.map(|()| warnings.pop().unwrap_or_default())
    }

    /// Makes each new file take the place of its target, in their order, as [`AtomicFile::commit`] does. All files are synced before
    /// the first is renamed, and a folder once for all of its files, so that a disk has less to write. Returns the warnings of each
    /// file that is in place, and the first error. No file after that of the error is put in place.
    ///
    /// # Errors
    /// Returns the errors of [`AtomicFile::commit`].
    pub fn commit_all(mut files: Vec<Self>) -> (Vec<Vec<String>>, Result<()>) {
        let mut outcome = Ok(());
        for at in 0..files.len() {
            outcome = files.get_mut(at).map_or(Ok(()), Self::sync_content);
            if outcome.is_err() {
                files.truncate(at);
                break;
            }
        }
        let mut committed = Vec::with_capacity(files.len());
        let mut folders: Vec<(PathBuf, PathBuf)> = Vec::new();
        for mut file in files {
            match file.put_in_place() {
                Ok(folder) => {
                    folders.extend(folder.filter(|(path, _)| !folders.iter().any(|(known, _)| known.parent() == path.parent())));
                    committed.push(std::mem::take(&mut file.warnings));
                }
                Err(error) => {
                    outcome = Err(error);
                    break;
                }
            }
        }
        for (path, given) in folders {
            let synced = fs::sync_folder(&path).map_err(|error| {
                let error = Error::io(format!("writing {}", given.display()), error);
                error.context("the new file is in place, but might not outlast a power failure")
            });
            outcome = outcome.and(synced);
        }
        (committed, outcome)
    }

    /// Makes the content last, before the rename: copies attributes, syncs, and checks the lock.
    fn sync_content(&mut self) -> Result<()> {
        let (Some(file), Some(lock)) = (&self.file, self.place.local_lock()) else { return Ok(()) };
        if let Some((old, metadata)) = &lock.locked_target {
            ownership::copy_xattrs(file.file(), old, metadata, &lock.display_path, &mut self.warnings)?;
        }
        file.sync_all().map_err(|e| Error::io(format!("writing {}", lock.display_path.display()), e))?;
        lock.still_holds()
    }

    /// Renames the synced file, or uploads the object. Returns the path of the file, whose folder is to be synced, and the path
    /// that messages name.
    fn put_in_place(&mut self) -> Result<Option<(PathBuf, PathBuf)>> {
        let Some(file) = self.file.take() else { return Ok(None) };
        let (temporary, lock) = match &mut self.place {
            Destination::Local { temporary, lock } => (temporary, lock),
            #[cfg(feature = "remote")]
            Destination::Remote(upload) => return upload.commit(file.file()).map(|()| None),
        };
        let checked = match leads_to(temporary, file.file()) {
            // The journal of an update that did not finish is about the old file: it goes before that does.
            true => lock.still_holds().and_then(|()| journal::roll_back_unfinished(lock)),
            false => Err(busy_error(&lock.display_path)),
        };
        if let Err(error) = checked {
            self.file = Some(file);
            return Err(error);
        }
        // Only Unix renames a file that is open. There the lock lasts, so that no other writer takes the file for a stale one.
        let locked = cfg!(unix).then_some(file);
        if let Err(error) = fs::rename_file(temporary, &lock.path) {
            if locked.is_none() && !self.is_committed {
                let _ = fs::remove(temporary);
            }
            self.file = locked;
            return Err(Error::io(format!("writing {}", lock.display_path.display()), error));
        }
        lock.locked_target = None;
        // Another writer may use the name from now on.
        self.listed = None;
        Ok(Some((lock.path.clone(), lock.display_path.clone())))
    }

    fn output_mut(&mut self) -> std::io::Result<&mut FsFile> {
        self.file.as_mut().ok_or_else(|| std::io::ErrorKind::NotConnected.into())
    }
}

impl Destination {
    fn local_lock(&self) -> Option<&WriteLock> {
        match self {
            Self::Local { lock, .. } => Some(lock),
            #[cfg(feature = "remote")]
            Self::Remote(_) => None,
        }
    }
}

impl Drop for AtomicFile {
    fn drop(&mut self) {
        let Some(file) = self.file.take().filter(|_| !self.is_committed) else { return };
        match &self.place {
            // Another writer may have the name, where locks do not hold.
            Destination::Local { temporary, .. } if leads_to(temporary, file.file()) => {
                // Only Unix removes a file that is open. There the lock lasts, so that no other writer takes the name before.
                let _locked = cfg!(unix).then_some(file);
                let _ = fs::remove(temporary);
                self.listed = None;
            }
            _ => {}
        }
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.output_mut()?.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.output_mut()?.flush()
    }
}

impl Seek for AtomicFile {
    fn seek(&mut self, to: SeekFrom) -> std::io::Result<u64> {
        self.output_mut()?.seek(to)
    }
}

/// Removes a file; that it is not there is as good.
///
/// # Errors
/// Returns [`ErrorKind::Io`](crate::ErrorKind::Io) if the operating system reports an error.
pub fn remove(path: impl AsRef<Path>) -> Result<()> {
    let path = path.as_ref();
    let done = fs::remove(path).and_then(|()| fs::sync_folder(path));
    match done {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(Error::io(format!("removing {}", path.display()), error))
        }
        _ => Ok(()),
    }
}

/// Reads a small text file (a layout, a schema, YAML for an edit) of at most `most` bytes.
///
/// # Errors
/// Returns [`ErrorKind::Io`](crate::ErrorKind::Io) if the operating system reports an error, and
/// [`ErrorKind::Limit`](crate::ErrorKind::Limit) if the file is longer.
pub fn read_text(path: impl AsRef<Path>, most: u64) -> Result<Vec<u8>> {
    let path = path.as_ref();
    let source = super::open(path, LocalOptions { memory_map: false, ..Default::default() })?;
    if source.len() > most {
        return Err(crate::Limits::exceeded_error("text", most, format_args!("{} has {} bytes", path.display(), source.len())));
    }
    let mut bytes = vec![0; super::to_usize(source.len())?];
    source.read_at(0, &mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::super::journal::tests::{file, put};
    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn dropped_replacement_keeps_only_old_file() {
        let (folder, target) = file(b"old");
        let mut new = AtomicFile::create(&target, WriteBasis::Nothing).unwrap();
        new.write_all(b"half").unwrap();
        drop(new);
        assert_eq!(read_text(&target, 100).unwrap(), b"old");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn commit_replaces_target_and_removes_stale_temporary() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("x.asdf");
        let stale = folder.path().join(".x.asdf.trilith-tmp");
        std::fs::OpenOptions::new().create(true).write(true).truncate(true).open(&stale).unwrap();
        put(&target, b"new");
        assert_eq!(read_text(&target, 100).unwrap(), b"new");
        assert!(!stale.exists());
    }

    #[cfg(unix)]
    #[test]
    fn extended_attributes_survive() {
        use rustix::fs::{XattrFlags, getxattr, setxattr};
        let (_folder, target) = file(b"old");
        if setxattr(&target, "user.origin", b"telescope", XattrFlags::empty()).is_err() {
            #[allow(clippy::print_stdout, reason = "what is not tested is said")]
            {
                println!("skipped: the temporary folder is on a file system without extended attributes");
            }
            return;
        }
        let mut new = AtomicFile::create(&target, WriteBasis::Nothing).unwrap();
        new.write_all(b"new").unwrap();
        assert_eq!(new.commit().unwrap(), Vec::<String>::new());
        let mut value = [0; 64];
        let len = getxattr(&target, "user.origin", &mut value[..]).unwrap();
        assert_eq!(value.get(..len), Some(&b"telescope"[..]));
        assert_eq!(read_text(&target, 100).unwrap(), b"new");
    }

    #[test]
    fn second_writer_is_refused_for_any_target() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("x.asdf");
        for _ in 0..2 {
            let mut first = AtomicFile::create(&target, WriteBasis::Nothing).unwrap();
            let error = AtomicFile::create(&target, WriteBasis::Nothing).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Io);
            assert!(error.to_string().contains("is being changed by another process"), "{error}");
            first.write_all(b"first").unwrap();
            first.commit().unwrap();
        }
        // Updates and replacements exclude each other.
        let read = crate::bytes::open(&target, Default::default()).unwrap();
        let begin = || crate::bytes::FileUpdate::new().begin_commit(&*read);
        let update = begin().unwrap();
        assert!(AtomicFile::create(&target, WriteBasis::Nothing).is_err());
        drop(update);
        assert!(super::super::JournaledUpdate::recover(&target).unwrap());
        let read = crate::bytes::open(&target, Default::default()).unwrap();
        let begin = || crate::bytes::FileUpdate::new().begin_commit(&*read);
        let replace = AtomicFile::create(&target, WriteBasis::Nothing).unwrap();
        assert!(begin().is_err());
        drop(replace);
        assert!(begin().is_ok());
    }

    #[test]
    fn content_is_whole_after_early_writeback() {
        let (_folder, target) = file(b"old");
        let bytes: Vec<u8> = (0..9 << 20u32).map(|n| (n * 7) as u8).collect();
        let mut new = AtomicFile::create(&target, WriteBasis::Nothing).unwrap();
        bytes.chunks(1_000_000).for_each(|piece| new.write_all(piece).unwrap());
        // A writer fills in a header.
        new.seek(SeekFrom::Start(5)).unwrap();
        new.write_all(b"header").unwrap();
        new.seek(SeekFrom::End(0)).unwrap();
        new.write_all(&bytes[..3 << 20]).unwrap();
        new.commit().unwrap();
        let found = read_text(&target, 20 << 20).unwrap();
        assert!(found[..5] == bytes[..5] && &found[5..11] == b"header");
        assert!(found[11..bytes.len()] == bytes[11..] && found[bytes.len()..] == bytes[..3 << 20]);
    }

    #[test]
    fn stale_basis_is_refused_for_same_target() {
        let (folder, target) = file(b"one");
        let read = crate::bytes::open(&target, Default::default()).unwrap();
        assert!(AtomicFile::create(&target, WriteBasis::LockedBy(&*read)).is_ok());
        put(&target, b"two");
        assert!(read.backing().is_some_and(SourceBacking::is_changed));
        for basis in [WriteBasis::LockedBy(&*read), WriteBasis::SameAs(&*read)] {
            let error = AtomicFile::create(&target, basis).unwrap_err();
            assert!(error.to_string().contains("since it was read"), "{error}");
        }
        // Another file may still be made from the old content.
        assert!(AtomicFile::create(folder.path().join("y"), WriteBasis::SameAs(&*read)).is_ok());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn foreign_rename_aborts_commit() {
        let (folder, target) = file(b"one");
        let mut new = AtomicFile::create(&target, WriteBasis::Nothing).unwrap();
        new.write_all(b"new").unwrap();
        let other = folder.path().join("other");
        put(&other, b"theirs");
        std::fs::rename(&other, &target).unwrap();
        assert!(new.commit().unwrap_err().to_string().contains("changed by another process"));
        assert_eq!(read_text(&target, 100).unwrap(), b"theirs");
        // A target that did not exist at first is checked, too.
        let fresh = folder.path().join("fresh");
        let new = AtomicFile::create(&fresh, WriteBasis::Nothing).unwrap();
        put(&other, b"theirs");
        std::fs::rename(&other, &fresh).unwrap();
        assert!(new.commit().is_err());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn racing_writers_of_new_file_leave_one_whole() {
        let folder = tempfile::tempdir().unwrap();
        let start = std::sync::Barrier::new(4);
        for round in 0..50 {
            let target = folder.path().join(format!("{round}"));
            let write = |id: u8| {
                start.wait();
                let mut new = AtomicFile::create(&target, WriteBasis::Nothing)?;
                (0..3).try_for_each(|_| new.write_all(&[id; 1000])).unwrap();
                new.commit()
            };
            let results: Vec<_> = std::thread::scope(|scope| {
                let write = &write;
                let threads: Vec<_> = (0..4).map(|id| scope.spawn(move || write(id))).collect();
                threads.into_iter().map(|thread| thread.join().unwrap()).collect()
            });
            assert!(results.iter().any(Result::is_ok));
            assert!(results.iter().filter_map(|result| result.as_ref().err()).all(Error::is_contended), "{results:?}");
            let found = read_text(&target, 10_000).unwrap();
            assert!(found.len() == 3000 && found.iter().all(|byte| *byte == found[0]));
            assert!(results[usize::from(found[0])].is_ok());
            assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), round + 1);
        }
    }

    #[test]
    fn name_of_another_writer_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("x");
        let begin = || AtomicFile::create(&target, WriteBasis::Nothing).unwrap();
        for is_committed in [true, false] {
            let lost = begin();
            // A writer on another machine, where locks do not hold.
            std::fs::remove_file(temporary_path(&target, 0)).unwrap();
            let mut other = begin();
            other.write_all(b"whole").unwrap();
            if is_committed {
                assert!(lost.commit().unwrap_err().is_contended());
            } else {
                drop(lost);
            }
            other.commit().unwrap();
            assert_eq!(read_text(&target, 100).unwrap(), b"whole");
            std::fs::remove_file(&target).unwrap();
        }
        // A name that no file can take.
        std::fs::create_dir(temporary_path(&target, 0)).unwrap();
        put(&folder.path().join("killed"), b"");
        std::fs::rename(folder.path().join("killed"), folder.path().join(".x.trilith-tmp-1-1")).unwrap();
        begin().commit().unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn group_ends_at_first_file_that_fails() {
        let folder = tempfile::tempdir().unwrap();
        let path = |n: usize| folder.path().join(format!("{n}"));
        let begin = |n: usize| {
            let mut new = AtomicFile::create(path(n), WriteBasis::Nothing).unwrap();
            new.write_all(b"new").unwrap();
            new
        };
        let (warnings, done) = AtomicFile::commit_all((0..3).map(begin).collect());
        assert!(done.is_ok() && warnings == vec![Vec::<String>::new(); 3]);
        assert!((0..3).all(|n| read_text(path(n), 100).unwrap() == b"new"));
        let files = (3..7).map(begin).collect();
        put(&path(7), b"theirs");
        std::fs::rename(path(7), path(5)).unwrap();
        let (warnings, done) = AtomicFile::commit_all(files);
        assert!(done.unwrap_err().to_string().contains("changed by another process"));
        assert_eq!(warnings.len(), 2);
        let names: Vec<_> = (0..8).filter(|n| path(*n).exists()).collect();
        assert_eq!(names, [0, 1, 2, 3, 4, 5]);
        assert_eq!(read_text(path(5), 100).unwrap(), b"theirs");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), names.len());
        assert!(AtomicFile::commit_all(Vec::new()).1.is_ok());
    }

    #[cfg(unix)]
    #[test]
    fn replacement_is_private_then_takes_target_mode() {
        use std::os::unix::fs::{MetadataExt, PermissionsExt};
        let (_folder, target) = file(b"old");
        for mode in [0o600, 0o640, 0o644, 0o755] {
            std::fs::set_permissions(&target, std::fs::Permissions::from_mode(mode)).unwrap();
            let new = AtomicFile::create(&target, WriteBasis::Nothing).unwrap();
            assert_eq!(new.file.as_ref().unwrap().file().metadata().unwrap().mode() & 0o777, 0o600);
            new.commit().unwrap();
            assert_eq!(std::fs::metadata(&target).unwrap().mode() & 0o777, mode);
        }
        std::fs::set_permissions(&target, std::fs::Permissions::from_mode(0o444)).unwrap();
        assert!(AtomicFile::create(&target, WriteBasis::Nothing).unwrap_err().to_string().contains("read-only"));
    }

    #[cfg(unix)]
    #[test]
    fn replacement_keeps_valid_and_dangling_symlinks() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("sub")).unwrap();
        let (link, target) = (folder.path().join("link"), folder.path().join("sub/x.asdf"));
        std::os::unix::fs::symlink("sub/x.asdf", &link).unwrap();
        for content in [b"one", b"two"] {
            put(&link, content);
            assert!(link.is_symlink());
            assert_eq!(read_text(&target, 100).unwrap(), content);
        }
    }

    #[test]
    fn longest_file_names_are_replaced_and_updated() {
        let folder = tempfile::tempdir().unwrap();
        for len in [200, 223, 224, 238, 239, 255] {
            let target = folder.path().join("n".repeat(len));
            put(&target, b"content");
            let read = crate::bytes::open(&target, Default::default()).unwrap();
            let mut update = crate::bytes::FileUpdate::new();
            update.write(0, b"C".to_vec());
            let mut journal = update.begin_commit(&*read).unwrap();
            journal.apply_changes().unwrap();
            drop(journal);
            assert_eq!(read_text(&target, 100).unwrap(), b"content");
            put(&target, b"another");
            std::fs::remove_file(&target).unwrap();
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
