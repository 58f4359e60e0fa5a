//! Changes in place that leave the old content or the new, even after a crash at any moment.
//!
//! Before the first byte changes, the bytes that will be overwritten and the length of the file are written to a
//! journal next to it and synced. The journal is removed after the last byte is synced. So a journal that is found
//! belongs to an update that did not finish: [`JournaledUpdate::recover`] undoes it, and readers see the old content
//! through it without writing anything.
//!
//! Order of writes: journal under another name, sync, rename, folder sync; file, sync; journal removed, folder
//! sync. So a journal under its final name is always whole.

use std::fs::{File, Metadata};
use std::io::Write;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::backing::SourceBacking;
use super::fs::{self, FsFile};
use super::journal_record::{JournalRecord, MAGIC};
use super::journal_view::SavedBytes;
use super::lock::{WriteBasis, WriteLock, sibling_path, temporary_path};
use super::open_files::UpdateGuard;
use super::origins::is_detached;
use super::ownership;
use super::platform::read_exact_at;
use super::source::Source;
use super::update::FileUpdate;
use crate::error::{Error, ErrorKind, Result};

/// A file that is being changed in place by an [`FileUpdate`], locked against other writers; its journal is
/// written. Dropped before it is committed, it leaves the update unfinished, as a crash does.
#[derive(Debug)]
pub struct JournaledUpdate {
    file: FsFile,
    lock: WriteLock,
    path: PathBuf,
    saved: SavedBytes,
    update: FileUpdate,
    /// The readers in this process that have the file open while it is changed.
    changing: Option<UpdateGuard>,
}

/// The file found next to another under the name of its journal.
#[derive(Debug)]
pub(super) enum JournalLookup {
    Nothing,
    /// The journal of the file.
    Journal(SavedBytes),
    /// A file that is not a journal, with a description for messages.
    NotAJournal(String),
}

/// The journal of a file: `.NAME.trilith-journal` next to it.
fn journal_path(path: &Path) -> PathBuf {
    sibling_path(path, ".trilith-journal")
}

/// Looks for the journal of `file`, which is at `path`. Its tables may take `memory` bytes.
///
/// # Errors
/// Returns [`ErrorKind::Io`] if a journal that may well be the file's cannot be read.
pub(super) fn find_journal(path: &Path, file: &File, metadata: &Metadata, memory: u64) -> Result<JournalLookup> {
    let path = journal_path(path);
    // Only a regular file is opened: a pipe would wait for its writer.
    let Ok(there) = std::fs::symlink_metadata(&path) else { return Ok(JournalLookup::Nothing) };
    let stranger = |why: &str| {
        Ok(JournalLookup::NotAJournal(format!(
            "{} is next to this file but {why}: the file is read unchanged, and cannot be written until you remove it",
            path.display()
        )))
    };
    if !there.is_file() {
        return stranger("is not a journal (not a regular file)");
    }
    if !ownership::is_trusted(&there, metadata) {
        return stranger("belongs to another user");
    }
    let fail = |e| Error::io(format!("reading the journal {}", path.display()), e);
    let journal = match ownership::no_follow(std::fs::OpenOptions::new().read(true)).open(&path) {
        Ok(journal) => journal,
        // The writer of the journal has just finished.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(JournalLookup::Nothing),
        Err(error) => return Err(fail(error)),
    };
    if !journal.metadata().is_ok_and(|open| open.is_file() && ownership::is_trusted(&open, metadata)) {
        return stranger("is not a journal");
    }
    let belongs = JournalRecord::read_tables(&journal, memory)
        .filter(|record| record.fits(&journal, file) == Some(true) && JournalRecord::checksum_ok(&journal) == Some(true));
    match belongs {
        Some(record) => Ok(JournalLookup::Journal(SavedBytes::new(journal, path, record))),
        None => stranger(
            "is not the journal of its present content (the file was replaced or restored since, or the journal is damaged)",
        ),
    }
}

/// Undoes an unfinished update of a locked file, if there is one; whether there was.
///
/// # Errors
/// Returns [`ErrorKind::Io`] if the operating system reports an error, and
/// [`ErrorKind::InvalidInput`] if something else has the name of the journal.
pub(super) fn roll_back_unfinished(lock: &WriteLock) -> Result<bool> {
    let Some((file, metadata)) = &lock.locked_target else { return Ok(false) };
    match find_journal(&lock.path, file, metadata, crate::Limits::default().memory)? {
        JournalLookup::Nothing => Ok(false),
        JournalLookup::Journal(saved) => {
            let fail = |e| Error::io(format!("undoing an update of {}", lock.path.display()), e);
            restore_old_bytes(&mut FsFile::open_existing(&lock.path).map_err(fail)?, &lock.path, &saved)?;
            Ok(true)
        }
        JournalLookup::NotAJournal(why) => Err(not_a_journal_error(&lock.path, &why)),
    }
}

/// Refuses to write if something else is under the name of the journal.
///
/// # Errors
/// Returns the errors of [`roll_back_unfinished`].
pub(super) fn check_is_journal(lock: &WriteLock) -> Result<()> {
    let Some((file, metadata)) = &lock.locked_target else { return Ok(()) };
    match find_journal(&lock.path, file, metadata, crate::Limits::default().memory)? {
        JournalLookup::NotAJournal(why) => Err(not_a_journal_error(&lock.path, &why)),
        JournalLookup::Nothing | JournalLookup::Journal(_) => Ok(()),
    }
}

#[cold]
fn not_a_journal_error(path: &Path, why: &str) -> Error {
    Error::invalid_input(why).context(format!("writing {}", path.display())).hint(format!(
        "if the file is as it should be, remove {}; if not, restore the file that it belongs to first",
        journal_path(path).display()
    ))
}

/// Puts the old bytes back and removes the journal.
fn restore_old_bytes(file: &mut FsFile, path: &Path, saved: &SavedBytes) -> Result<()> {
    let fail = |e| Error::io(format!("undoing an update of {}", path.display()), e);
    saved.for_each_old(|at, bytes| restore_changed_bytes(file, at, bytes)).map_err(fail)?;
    if file.file().metadata().map_err(fail)?.len() != saved.record.old_len {
        file.resize(saved.record.old_len).map_err(fail)?;
    }
    file.sync_all().map_err(fail)?;
    fs::remove(&journal_path(path)).map_err(fail)?;
    fs::sync_folder(path).map_err(fail)
}

/// Writes the old bytes that differ from those that are there. A limit of the size of files, which may have
/// stopped the update, would also stop the writing of bytes that it did not reach.
fn restore_changed_bytes(file: &mut FsFile, at: u64, old: &[u8]) -> std::io::Result<()> {
    let mut there = vec![0; old.len()];
    if read_exact_at(file.file(), at, &mut there).is_err() {
        return file.write_all_at(at, old);
    }
    let differs = |(old, there): (&u8, &u8)| old != there;
    let Some(first) = old.iter().zip(&there).position(differs) else { return Ok(()) };
    let last = old.iter().zip(&there).rposition(differs).unwrap_or(first);
    file.write_all_at(at + first as u64, old.get(first..=last).unwrap_or_default())
}

impl FileUpdate {
    /// Makes the changes in the file that `read` was opened from, and returns its new length.
    ///
    /// The file is locked, must still be what was read, and is restored if anything fails; a crash at any
    /// moment leaves the old content or the new.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Io`] if another process writes the file, has changed it since it
    /// was read, or the disk says no. [`ErrorKind::InvalidInput`] for what may not be changed in
    /// place: bytes that are not those of a file on this machine, a file that is read-only, that has other names
    /// (hard links), or that belongs to somebody else, and if something that is not its journal is under that
    /// name.
    pub fn commit(self, read: &dyn Source) -> Result<u64> {
        let mut journal = self.begin_commit(read)?;
        match journal.apply_changes() {
            Ok(()) => journal.commit(),
            Err(error) => {
                crate::interrupt::uninterrupted(|| journal.roll_back())?;
                Err(error)
            }
        }
    }

    /// The first half of [`FileUpdate::commit`]: the file is locked and its journal written, and nothing else.
    ///
    /// # Errors
    /// Returns the errors of [`FileUpdate::commit`].
    pub fn begin_commit(self, read: &dyn Source) -> Result<JournaledUpdate> {
        if is_detached(read) {
            return Err(Error::invalid_input("a file inside another file, or one that was unpacked, cannot be changed in place")
                .hint("rewrite the whole file"));
        }
        JournaledUpdate::begin_update(self, read)
    }
}

impl JournaledUpdate {
    /// Locks the file that was read, undoes an update that did not finish, compares what is there with what
    /// was read, and writes the journal.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Io`] if another process writes the file or has changed it, or if
    /// the operating system reports an error. Returns [`ErrorKind::InvalidInput`] for a file that
    /// may not be changed in place: see [`FileUpdate::commit`].
    pub(super) fn begin_update(update: FileUpdate, read: &dyn Source) -> Result<Self> {
        let local = read.backing().and_then(SourceBacking::local_file);
        let Some((given, real)) = local.and_then(|local| Some((local.given_path()?, local.path()?))) else {
            return Err(Error::invalid_input(format!("{} is not a file on this machine", read.name()))
                .hint("it cannot be changed in place: write to a new file"));
        };
        let fail = |e| Error::io(format!("updating {}", real.display()), e);
        let mut lock = WriteLock::acquire(given, WriteBasis::LockedBy(read))?;
        if let Some((_, metadata)) = &lock.locked_target {
            ownership::check_in_place(&lock.path, metadata)?;
        }
        // The read bytes are compared as long as they can be read: undoing changes the file under it.
        let expected = update.read_expected(read)?;
        roll_back_unfinished(&lock)?;
        let file = FsFile::open_existing(&lock.path).map_err(fail)?;
        if let Some((there, metadata)) = &mut lock.locked_target {
            *metadata = there.metadata().map_err(fail)?;
        }
        let old_len = file.file().metadata().map_err(fail)?.len();
        if old_len != read.len() || !expected.is_in(file.file()) {
            let message = format!("{} was changed by another process since it was read", lock.display_path.display());
            return Err(Error::new(ErrorKind::Io, message).hint("try again").with_contention());
        }
        let path = journal_path(&lock.path);
        let saved = write_journal(&update, &file, &lock, old_len)?;
        Ok(Self { file, lock, path, saved, update, changing: None })
    }

    /// Length of the file before the update.
    pub fn old_len(&self) -> u64 {
        self.saved.record.old_len
    }

    /// Makes the changes in the file.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Io`] if the operating system reports an error, and an error if
    /// the new content cannot be read.
    pub(super) fn apply_changes(&mut self) -> Result<()> {
        self.write_pieces(usize::MAX).map(drop)
    }

    /// Makes the changes in the file, but stops after this number of pieces, as a killed process does; whether that was all.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Io`] if the operating system reports an error, and an error if
    /// the new content cannot be read.
    pub fn write_pieces(&mut self, mut most: usize) -> Result<bool> {
        let fail = |e| Error::io(format!("updating {}", self.lock.path.display()), e);
        if let Some((_, before)) = &self.lock.locked_target {
            let touched = self.update.changed_ranges(&self.saved.record.regions, self.saved.record.old_len);
            self.changing.get_or_insert_with(|| UpdateGuard::begin_update(before, &touched));
        }
        let (file, mut whole) = (&mut self.file, true);
        let mut write = |at: u64, bytes: &[u8]| match most.checked_sub(1) {
            Some(left) => {
                most = left;
                file.write_all_at(at, bytes)
            }
            None => {
                whole = false;
                Ok(())
            }
        };
        self.saved.for_each_new(&mut write).map_err(fail)?;
        self.update.write_unsaved(self.saved.record.old_len, &mut |at, bytes| write(at, bytes).map_err(fail))?;
        Ok(whole)
    }

    /// Makes the update last.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Io`] if the operating system reports an error. The next opening
    /// of the file then undoes the update.
    pub(super) fn commit(mut self) -> Result<u64> {
        let path = self.lock.path.clone();
        let fail = |e| Error::io(format!("updating {}", path.display()), e);
        if let Some((_, before)) = &self.lock.locked_target {
            touch_mtime(self.file.file(), before);
        }
        self.file.sync_data().map_err(fail)?;
        fs::remove(&self.path).map_err(fail)?;
        self.notify_readers();
        fs::sync_folder(&path).map_err(|e| fail(e).context("the update is in place, but might not outlast a power failure"))?;
        Ok(self.saved.record.new_len)
    }

    /// Undoes the update.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Io`] if the operating system reports an error. The next opening
    /// of the file then undoes the update.
    pub fn roll_back(mut self) -> Result<()> {
        restore_old_bytes(&mut self.file, &self.lock.path, &self.saved)?;
        self.notify_readers();
        Ok(())
    }

    /// Reports to readers in this process that the file changes no more.
    fn notify_readers(&mut self) {
        if let (Some(changing), Ok(after)) = (self.changing.take(), self.file.file().metadata()) {
            changing.finish_update(&after);
        }
    }

    /// Undoes an update of `path` that did not finish, if there is one; whether there was.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Io`] if the file cannot be written or is being changed right now, [`ErrorKind::InvalidInput`]
    /// if something else is under the name of its journal.
    pub fn recover(path: impl AsRef<Path>) -> Result<bool> {
        let path = path.as_ref();
        let real = std::fs::canonicalize(path).map_err(|e| Error::io(format!("opening {}", path.display()), e))?;
        if std::fs::symlink_metadata(journal_path(&real)).is_err() {
            return Ok(false);
        }
        roll_back_unfinished(&WriteLock::acquire(path, WriteBasis::Nothing)?)
    }
}

/// Writes and syncs the journal of an update, and gives it its name.
fn write_journal(update: &FileUpdate, file: &FsFile, lock: &WriteLock, old_len: u64) -> Result<SavedBytes> {
    let path = journal_path(&lock.path);
    let fail = |e| Error::io(format!("writing {}", path.display()), e);
    let mut name = temporary_path(&lock.path, 0);
    for attempt in 1..1000 {
        if !name.exists() {
            break;
        }
        name = temporary_path(&lock.path, attempt);
    }
    let made = FsFile::create_private(&name).map_err(fail)?;
    let done = (|| {
        let mut out = HashingFile { file: made, hash: Sha256::new(), buffer: Vec::new() };
        // The lock shows a later writer that this file is in use.
        let _ = out.file.file().try_lock();
        out.append(MAGIC).map_err(fail)?;
        let record = update.save_changes(file.file(), old_len, &mut |bytes| out.append(bytes).map_err(fail))?;
        out.append(&record.to_bytes()).map_err(fail)?;
        let out = out.finish().map_err(fail)?;
        if let Some((_, metadata)) = &lock.locked_target {
            // Readers of the file must be able to read its old content, and no other user may.
            let _ = ownership::copy_ownership(out.file(), metadata, &path, &mut Vec::new());
            out.file().set_permissions(metadata.permissions()).map_err(fail)?;
        }
        out.sync_all().map_err(fail)?;
        fs::rename_file(&name, &path).map_err(fail)?;
        fs::sync_folder(&path).map_err(fail)?;
        let journal = ownership::no_follow(std::fs::OpenOptions::new().read(true)).open(&path).map_err(fail)?;
        Ok(SavedBytes::new(journal, path.clone(), record))
    })();
    if done.is_err() {
        let _ = fs::remove(&name);
        let _ = fs::remove(&path);
    }
    done
}

/// Gives a file a later time of modification than before. Clocks of file systems tick, and a reader that read the
/// file within the same tick must notice the change.
fn touch_mtime(file: &File, before: &Metadata) {
    let modified = |file: &File| file.metadata().and_then(|metadata| metadata.modified()).ok();
    let Ok(before) = before.modified() else { return };
    // Some file systems store times in seconds. Try larger steps until the time changes.
    for step in [1, 1_000, 1_000_000, 1_000_000_000, 2_000_000_000] {
        if modified(file).is_none_or(|now| now > before) {
            return;
        }
        let _ = file.set_modified(before + std::time::Duration::from_nanos(step));
    }
}

/// Number of bytes of a journal that are held before they are written.
const BUFFER_SIZE: usize = 64 << 10;

/// A file that ends with the hash of what is before; small pieces are written together.
struct HashingFile {
    file: FsFile,
    hash: Sha256,
    buffer: Vec<u8>,
}

impl HashingFile {
    fn append(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.hash.update(bytes);
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= BUFFER_SIZE { self.flush_buffer() } else { Ok(()) }
    }

    fn flush_buffer(&mut self) -> std::io::Result<()> {
        self.file.write_all(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }

    fn finish(mut self) -> std::io::Result<FsFile> {
        let sum = std::mem::take(&mut self.hash).finalize();
        self.buffer.extend_from_slice(&sum);
        self.flush_buffer()?;
        Ok(self.file)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::bytes::{AtomicFile, SourceRef, open, read_text};

    /// A folder with a file of this content.
    pub(crate) fn file(content: &[u8]) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.asdf");
        put(&path, content);
        (folder, path)
    }

    pub(crate) fn put(path: &Path, content: &[u8]) {
        let mut new = AtomicFile::create(path, WriteBasis::Nothing).unwrap();
        new.write_all(content).unwrap();
        new.commit().unwrap();
    }

    fn raw(path: &Path, content: &[u8]) {
        let mut options = std::fs::OpenOptions::new();
        options.create(true).truncate(true).write(true).open(path).unwrap().write_all(content).unwrap();
    }

    fn opened(path: &Path) -> SourceRef {
        open(path, Default::default()).unwrap()
    }

    fn seen(path: &Path) -> Vec<u8> {
        read_text(path, 1 << 30).unwrap()
    }

    /// Several sectors, with a change in the middle of the second and more at the end.
    fn sample() -> Vec<u8> {
        (0..3000u32).map(|n| (n * 7 % 251) as u8 + 1).collect()
    }

    fn update() -> FileUpdate {
        let mut update = FileUpdate::new();
        update.write(700, b"changed".to_vec());
        update.write(3000, vec![9; 2000]);
        update
    }

    /// An update that was killed after this number of pieces.
    fn killed(path: &Path, after: usize) {
        let mut journal = update().begin_commit(&*opened(path)).unwrap();
        journal.write_pieces(after).unwrap();
    }

    #[test]
    fn committed_update_leaves_new_content_without_journal() {
        let (folder, path) = file(&sample());
        assert_eq!(update().commit(&*opened(&path)).unwrap(), 5000);
        let mut expected = sample();
        expected.resize(5000, 9);
        expected[700..707].copy_from_slice(b"changed");
        assert_eq!(seen(&path), expected);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn next_writer_undoes_killed_update() {
        for after in 0..4 {
            let (folder, path) = file(&sample());
            killed(&path, after);
            assert_eq!(seen(&path), sample());
            let source = opened(&path);
            let mut middle = [0; 9];
            source.read_at(699, &mut middle).unwrap();
            assert_eq!(middle, sample()[699..708]);
            // A process that another test starts has the lock, too, from its fork to its exec.
            let notice = || opened(&path).backing().and_then(SourceBacking::notice).unwrap();
            let mut tries = (0..500).map(|_| notice()).inspect(|_| std::thread::sleep(std::time::Duration::from_millis(2)));
            assert!(tries.any(|notice| notice.contains("did not finish")));
            assert!(JournaledUpdate::recover(&path).unwrap());
            assert!(!JournaledUpdate::recover(&path).unwrap());
            assert_eq!(seen(&path), sample());
            assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
        }
    }

    #[test]
    fn journal_applies_to_copy_link_and_moved_folder() {
        let (folder, path) = file(&sample());
        killed(&path, 1);
        let (elsewhere, moved) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        for name in ["x.asdf", ".x.asdf.trilith-journal"] {
            std::fs::copy(folder.path().join(name), elsewhere.path().join(name)).unwrap();
        }
        let mut paths = vec![elsewhere.path().join("x.asdf")];
        #[cfg(unix)]
        {
            let link = moved.path().join("link");
            std::os::unix::fs::symlink(&path, &link).unwrap();
            paths.push(link);
        }
        for path in &paths {
            assert_eq!(seen(path), sample());
        }
        let there = moved.path().join("there");
        std::fs::rename(folder.path(), &there).unwrap();
        assert_eq!(seen(&there.join("x.asdf")), sample());
        assert!(JournaledUpdate::recover(&paths[0]).unwrap());
        assert_eq!(seen(&paths[0]), sample());
        std::fs::create_dir(folder.path()).unwrap();
    }

    #[test]
    fn restored_or_replaced_file_ignores_stale_journal() {
        let mut other = sample();
        other[10] ^= 1;
        let mut same_but_for_the_change = sample();
        same_but_for_the_change[703] ^= 0x55;
        let mut longer = sample();
        longer.resize(4000, 7);
        let mut shorter = sample();
        shorter.truncate(2999);
        for content in [vec![1; 3000], other, same_but_for_the_change, longer, shorter, Vec::new()] {
            let (folder, path) = file(&sample());
            killed(&path, 2);
            raw(&path, &content);
            let source = opened(&path);
            assert_eq!(seen(&path), content);
            assert!(
                source.backing().and_then(SourceBacking::notice).is_some_and(|notice| notice.contains(".trilith-journal")),
                "{:?}",
                source.backing().and_then(SourceBacking::notice)
            );
            for error in [
                JournaledUpdate::recover(&path).unwrap_err(),
                AtomicFile::create(&path, WriteBasis::Nothing).unwrap_err(),
                update().commit(&*source).unwrap_err(),
            ] {
                assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
                assert!(error.to_string().contains(".x.asdf.trilith-journal"), "{error}");
            }
            assert_eq!(seen(&path), content);
            assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2, "the journal stays");
        }
    }

    #[test]
    fn write_over_restored_old_content_removes_journal() {
        let (folder, path) = file(&sample());
        killed(&path, 9);
        raw(&path, &sample());
        put(&path, b"new");
        assert_eq!(seen(&path), b"new");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn foreign_file_at_journal_path_is_kept() {
        let huge = |path: &Path| {
            std::fs::OpenOptions::new().create(true).truncate(false).write(true).open(path).unwrap().set_len(4 << 30).unwrap();
        };
        let torn = |path: &Path| raw(path, &MAGIC[..]);
        let lies = |path: &Path| {
            let mut bytes = MAGIC.to_vec();
            bytes.extend([0xff; 40]);
            bytes.extend([0; 32]);
            raw(path, &bytes);
        };
        let folder_there = |path: &Path| std::fs::create_dir(path).unwrap();
        let makers: [&dyn Fn(&Path); 4] = [&huge, &torn, &lies, &folder_there];
        for make in makers {
            let (folder, path) = file(&sample());
            make(&journal_path(&path.canonicalize().unwrap()));
            assert_eq!(seen(&path), sample());
            assert!(opened(&path).backing().and_then(SourceBacking::notice).is_some());
            assert_eq!(JournaledUpdate::recover(&path).unwrap_err().kind(), ErrorKind::InvalidInput);
            assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
        }
    }

    #[cfg(unix)]
    #[test]
    fn links_and_pipes_at_journal_path_are_ignored() {
        let (folder, path) = file(&sample());
        let journal = journal_path(&path.canonicalize().unwrap());
        for target in ["/dev/zero", "nowhere", "x.asdf"] {
            std::os::unix::fs::symlink(target, &journal).unwrap();
            assert!(opened(&path).backing().and_then(SourceBacking::notice).is_some(), "{target}");
            assert_eq!(seen(&path), sample());
            std::fs::remove_file(&journal).unwrap();
        }
        assert!(std::process::Command::new("mkfifo").arg(&journal).status().unwrap().success());
        assert_eq!(seen(&path), sample());
        drop(folder);
    }

    #[cfg(unix)]
    #[test]
    fn hard_linked_file_rejects_update() {
        let (folder, path) = file(&sample());
        std::fs::hard_link(&path, folder.path().join("other")).unwrap();
        assert!(update().commit(&*opened(&path)).unwrap_err().to_string().contains("hard links"));
        assert_eq!(seen(&path), sample());
    }

    #[test]
    fn concurrent_writer_aborts_update() {
        let (_folder, path) = file(&sample());
        let read = opened(&path);
        let mut other = sample();
        other[0] ^= 1;
        put(&path, &other);
        assert!(update().commit(&*read).unwrap_err().to_string().contains("since it was read"));
        let read = opened(&path);
        let mut small = FileUpdate::new();
        small.write(5, b"x".to_vec());
        std::thread::sleep(std::time::Duration::from_millis(20));
        small.commit(&*opened(&path)).unwrap();
        let mut update = update();
        update.expect(0, other[..5].to_vec());
        assert!(update.commit(&*read).is_err());
        let mut wrong = FileUpdate::new();
        wrong.expect(0, b"something else".to_vec());
        assert!(wrong.commit(&*opened(&path)).is_err());
    }

    #[test]
    fn reader_during_update_notices_commit() {
        let (_folder, path) = file(&sample());
        let mut journal = update().begin_commit(&*opened(&path)).unwrap();
        journal.apply_changes().unwrap();
        let during = opened(&path);
        assert!(
            during.backing().and_then(SourceBacking::notice).is_some()
                && !during.backing().is_some_and(SourceBacking::is_changed)
        );
        journal.commit().unwrap();
        assert!(during.backing().is_some_and(SourceBacking::is_changed));
        let small = || {
            let mut update = FileUpdate::new();
            update.write(1, b"y".to_vec());
            update
        };
        assert!(small().commit(&*during).is_err());
        assert!(AtomicFile::create(&path, WriteBasis::LockedBy(&*during)).is_err());
        // Changes within one tick of the clock are noticed as well.
        for _ in 0..200 {
            let (first, second) = (opened(&path), opened(&path));
            small().commit(&*first).unwrap();
            assert!(
                second.backing().is_some_and(SourceBacking::is_changed)
                    && AtomicFile::create(&path, WriteBasis::LockedBy(&*second)).is_err()
            );
        }
    }

    #[test]
    fn scratch_is_not_saved_and_large_changes_are() {
        let content: Vec<u8> = (0..300_000u32).map(|n| (n % 255) as u8 + 1).collect();
        let (_folder, path) = file(&content);
        let mut update = FileUpdate::new();
        update.scratch(10_000..90_000);
        update.write(5_000, vec![7; 200_000]);
        update.write(100_000, vec![8; 10]);
        update.write_piece(300_000, &[1; 70_000]).unwrap();
        update.write_piece(370_000, &[2; 70_000]).unwrap();
        let mut journal = update.begin_commit(&*opened(&path)).unwrap();
        let size = std::fs::metadata(journal_path(&path.canonicalize().unwrap())).unwrap().len();
        assert!(size < 2 * 130_000, "{size}");
        journal.apply_changes().unwrap();
        let mut expected = content.clone();
        expected[5_000..205_000].fill(7);
        expected[100_000..100_010].fill(8);
        expected.extend([1; 70_000]);
        expected.extend([2; 70_000]);
        journal.commit().unwrap();
        assert_eq!(seen(&path), expected);
    }
}
