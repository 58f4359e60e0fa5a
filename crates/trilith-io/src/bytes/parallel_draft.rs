//! A file that several processes write at once: a draft next to its target, finished or refused.
//!
//! One process lays the draft out and puts it next to its target, under a separate name. Others write into it, each
//! under a shared lock, and note in separate files what they have written, once it is on the disk. Finishing it
//! takes the exclusive lock. The first bytes belong to no format until then, so readers refuse the draft.
//!
//! The callers decide the content of the notes, and which process owns which part of the draft.

use std::fs::{File, TryLockError};
use std::hash::{BuildHasher, RandomState};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::atomic_file::AtomicFile;
use super::fs::{self, FsFile};
use super::lock::{WriteBasis, WriteLock, draft_path, lock_with_retry};
use super::platform::{process_number, read_exact_at};
use super::source::{Source, SourceRef, end_in_file};
use crate::error::{Error, ErrorKind, Result};
use crate::limits::Limits;

/// End of a note. A note that was cut off has no such end.
const LINE_END: &str = " .";

/// Begins the note of the state of the target when the draft was begun.
pub const TARGET: &str = "target";

/// The first byte of a draft, in the place of the `#` of ASDF.
const DRAFT_FIRST_BYTE: u8 = b'~';
/// Bytes at the start of a draft that may differ from those of the finished file.
const HEAD_LEN: usize = 8;

/// The first bytes of a draft of the ASDF family.
pub const ASDF_DRAFT_HEAD: &[u8] = &[DRAFT_FIRST_BYTE];

/// Returns the first bytes of a draft of a native Dudley file, in the place of its signature: its byte order and its number.
pub fn stream_draft(sign: u8, id: &[u8; 16]) -> [u8; HEAD_LEN] {
    [DRAFT_FIRST_BYTE, b'B', sign, id[0], id[1], id[2], id[3], id[4]]
}

/// Returns the number in the first bytes of a draft of a native Dudley file; None for any other file.
pub fn stream_id(head: &[u8; HEAD_LEN]) -> Option<[u8; 16]> {
    let [DRAFT_FIRST_BYTE, b'B', b'<' | b'>', number @ ..] = head else { return None };
    let mut id = [0; 16];
    id.iter_mut().zip(number).for_each(|(to, from)| *to = *from);
    Some(id)
}

/// Returns the first bytes of a file when it is finished.
fn finished_head(head: [u8; HEAD_LEN]) -> [u8; HEAD_LEN] {
    match head {
        [DRAFT_FIRST_BYTE, b'B', sign @ (b'<' | b'>'), ..] => [0x8d, sign, b'B', b'D', b'\r', b'\n', 0x1a, b'\n'],
        [DRAFT_FIRST_BYTE, a, b, c, d, e, f, g] => [b'#', a, b, c, d, e, f, g],
        done => done,
    }
}

/// The draft of a file.
#[derive(Debug, Clone)]
pub struct Draft {
    /// The target as the caller names it.
    target: PathBuf,
    /// The path of the draft.
    path: PathBuf,
}

impl Draft {
    /// Returns the draft of `target`. It need not exist.
    pub fn for_target(target: impl AsRef<Path>) -> Self {
        let target = target.as_ref();
        Self { target: target.to_path_buf(), path: draft_path(target) }
    }

    /// The target as the caller names it.
    pub fn target(&self) -> &Path {
        &self.target
    }

    /// Puts a draft next to its target, with what `lay_out` writes; it returns the first bytes of the draft. Also returns the
    /// [state](Draft::target_state) of the target when it was begun.
    ///
    /// # Errors
    /// Returns the errors of [`AtomicFile::create`] and those of `lay_out`, and
    /// [`ErrorKind::InvalidInput`] if there is a draft already.
    pub fn create(target: &Path, lay_out: impl FnOnce(&mut AtomicFile) -> Result<Vec<u8>>) -> Result<(Self, String)> {
        let draft = Self::for_target(target);
        let lock = WriteLock::acquire(target, WriteBasis::Nothing)?;
        let state = draft.target_state();
        let there = lock.locked_target;
        if std::fs::symlink_metadata(&draft.path).is_ok() {
            return Err(Error::invalid_input(format!("{} is being written already, and was not finished", target.display()))
                .hint(format!("finish or abort that first; it waits in {}", draft.path.display())));
        }
        let mut file = AtomicFile::create(&draft.path, WriteBasis::Missing)?;
        // Notes of an earlier draft that was put in place, but not forgotten.
        draft.remove_logs()?;
        if let Some((_, old)) = &there {
            file.copy_permissions(old)?;
        }
        let head = lay_out(&mut file)?;
        let fail = |e| Error::io(format!("writing {}", draft.path.display()), e);
        std::io::Seek::rewind(&mut file).and_then(|()| file.write_all(&head)).map_err(fail)?;
        file.commit()?;
        Ok((draft, state))
    }

    /// Returns a string for the state of the target. It changes when the target is replaced, removed or written to.
    pub fn target_state(&self) -> String {
        let Ok(found) = std::fs::metadata(&self.target) else { return "absent".to_owned() };
        let since = found.modified().ok().and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok()).unwrap_or_default();
        let [device, inode, part] = super::platform::file_identity(&found);
        format!("{device}-{inode}-{part}-{}-{}", found.len(), since.as_nanos())
    }

    /// Returns the content that the draft has when it is finished. Other processes may still write into it.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Io`] if there is no draft.
    pub fn read(&self) -> Result<SourceRef> {
        let (file, head) = self.open_head()?;
        let len = file.metadata().map_err(|e| self.to_write_error(e))?.len();
        Ok(Arc::new(DraftPreview { file, len, head, name: self.path.to_string_lossy().into_owned() }))
    }

    /// Returns the first bytes of the draft as they are now.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Io`] if there is no draft.
    pub fn head(&self) -> Result<[u8; HEAD_LEN]> {
        Ok(self.open_head()?.1)
    }

    /// Opens the draft to read it, with its first bytes.
    fn open_head(&self) -> Result<(File, [u8; HEAD_LEN])> {
        #[allow(clippy::disallowed_methods, reason = "its bytes change while it is open, which files in general must not")]
        let file = File::open(&self.path).map_err(|e| self.missing_error(e))?;
        let mut head = [0; HEAD_LEN];
        read_exact_at(&file, 0, &mut head).map_err(|e| self.to_write_error(e))?;
        Ok((file, head))
    }

    /// Opens the draft to write into it, together with others.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Io`] if it was finished or removed, or is being finished.
    pub fn open_shared(&self) -> Result<Writing> {
        let file = FsFile::open_existing(&self.path).map_err(|e| self.missing_error(e))?;
        self.lock_output(&file, File::try_lock_shared, "is being finished by another process")?;
        Ok(Writing { file, draft: self.clone() })
    }

    /// Opens the draft to finish it, while no other process writes into it.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Io`] if it was finished or removed, or if another process writes into it.
    pub fn open_exclusive(&self) -> Result<Writing> {
        let file = FsFile::open_existing(&self.path).map_err(|e| self.missing_error(e))?;
        self.lock_output(&file, File::try_lock, "is still being written by another process")?;
        Ok(Writing { file, draft: self.clone() })
    }

    fn lock_output(&self, file: &FsFile, lock: impl Fn(&File) -> Result<(), TryLockError>, busy: &str) -> Result<()> {
        match lock_with_retry(file.file(), lock) {
            Err(TryLockError::WouldBlock) => {
                return Err(Error::new(ErrorKind::Io, format!("{} {busy}", self.target.display())).hint("wait until it is done"));
            }
            // A file system without locks.
            Ok(()) | Err(TryLockError::Error(_)) => {}
        }
        match super::local::leads_to(&self.path, file.file()) {
            true => Ok(()),
            false => Err(self.missing_error(std::io::ErrorKind::NotFound.into())),
        }
    }

    /// Returns the notes of the writers of the draft with this number, line by line. A line that was cut off is
    /// left out.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Io`] if the operating system reports an error.
    pub fn read_log(&self, id: &str) -> Result<Vec<String>> {
        self.lines_of(&self.notes_of(id))
    }

    /// Returns the notes of the draft by any number: once its blocks have their checksums, it has none.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Io`] if the operating system reports an error.
    fn all_logs(&self) -> Result<Vec<String>> {
        self.lines_of(&self.all_of_notes())
    }

    fn lines_of(&self, prefix: &Path) -> Result<Vec<String>> {
        let most = Limits::default().memory;
        let mut lines = Vec::new();
        for path in self.files_of_notes(prefix)? {
            let text = super::atomic_file::read_text(&path, most)?;
            lines
                .extend(String::from_utf8_lossy(&text).lines().filter_map(|line| line.strip_suffix(LINE_END)).map(str::to_owned));
        }
        Ok(lines)
    }

    fn files_of_notes(&self, prefix: &Path) -> Result<Vec<PathBuf>> {
        let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let entries = std::fs::read_dir(folder).map_err(|e| self.to_write_error(e))?;
        let begins = |path: &Path| {
            let (name, start) = (path.file_name().unwrap_or_default(), prefix.file_name().unwrap_or_default());
            name.as_encoded_bytes().starts_with(start.as_encoded_bytes())
        };
        let paths = entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()));
        Ok(paths.map(|entry| entry.path()).filter(|path| begins(path)).collect())
    }

    /// The beginning of the paths of the notes of the draft with this number.
    fn notes_of(&self, id: &str) -> PathBuf {
        let mut path = self.path.clone().into_os_string();
        path.push(format!("-{id}-"));
        path.into()
    }

    /// Removes the draft with all notes.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Io`] if the operating system reports an error.
    pub fn remove(&self) -> Result<()> {
        super::atomic_file::remove(&self.path)?;
        self.remove_logs()
    }

    /// Removes all notes, those of earlier drafts of the same target too.
    fn remove_logs(&self) -> Result<()> {
        self.files_of_notes(&self.all_of_notes())?.iter().try_for_each(super::atomic_file::remove)
    }

    fn all_of_notes(&self) -> PathBuf {
        let mut prefix = self.path.clone().into_os_string();
        prefix.push("-");
        prefix.into()
    }

    /// Checks that the target is what it was when the draft was begun.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Io`] if another file was put there, or the operating system reports an error.
    pub fn check_target(&self) -> Result<()> {
        let (notes, state) = (self.all_logs()?, self.target_state());
        let mut before = notes.iter().filter_map(|line| line.strip_prefix(TARGET)).map(str::trim);
        if before.any(|before| before != state) {
            let message = format!("cannot replace {}: it was changed since writing began", self.target.display());
            return Err(
                Error::new(ErrorKind::Io, message).hint("move that file to another name and restore the previous one, or abort")
            );
        }
        Ok(())
    }

    #[cold]
    fn missing_error(&self, error: std::io::Error) -> Error {
        match error.kind() {
            std::io::ErrorKind::NotFound => Error::io(format!("writing {}", self.target.display()), error)
                .hint("that file was finished, aborted, or never begun"),
            _ => self.to_write_error(error),
        }
    }

    #[cold]
    fn to_write_error(&self, error: std::io::Error) -> Error {
        Error::io(format!("writing {}", self.target.display()), error)
    }
}

/// A draft that is open for writing, under its lock.
#[derive(Debug)]
pub struct Writing {
    file: FsFile,
    draft: Draft,
}

impl Writing {
    /// Fills `into` with what is there now.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Io`] if the operating system reports an error.
    pub fn read_at(&self, at: u64, into: &mut [u8]) -> Result<()> {
        read_exact_at(self.file.file(), at, into).map_err(|e| self.draft.to_write_error(e))
    }

    /// Writes at a place.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Io`] if the operating system reports an error.
    pub fn write_at(&mut self, at: u64, bytes: &[u8]) -> Result<()> {
        self.file.write_all_at(at, bytes).map_err(|e| self.draft.to_write_error(e))
    }

    /// Makes what was written last, then notes it, line by line.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Io`] if the operating system reports an error.
    pub fn append_log(&self, id: &str, lines: &[String]) -> Result<()> {
        self.file.sync_data().map_err(|e| self.draft.to_write_error(e))?;
        let mut path = self.draft.notes_of(id).into_os_string();
        path.push(note_writer_name());
        // In one piece: several threads may note something at once. Anything truncated before stays on a separate line.
        let text: String = lines.iter().flat_map(|line| ["\n", line, LINE_END, "\n"]).collect();
        fs::append_to_file(Path::new(&path), text.as_bytes()).map_err(|e| self.draft.to_write_error(e))
    }

    /// Makes everything last, then the draft a file that readers take, and puts it in place of the target.
    ///
    /// # Errors
    /// Returns the errors of [`AtomicFile::commit`] and [`Draft::check_target`]. The draft is then unchanged.
    pub fn publish(mut self) -> Result<Vec<String>> {
        self.file.sync_all().map_err(|e| self.draft.to_write_error(e))?;
        let adopted = AtomicFile::adopt_draft(&self.draft.target, &self.draft.path)?;
        // The check needs the lock of the target: another writer may have finished while this one was computing checksums.
        self.draft.check_target()?;
        let mut head = [0; HEAD_LEN];
        self.read_at(0, &mut head)?;
        self.write_at(0, &finished_head(head))?;
        match adopted.commit() {
            Ok(warnings) => {
                self.draft.remove_logs()?;
                Ok(warnings)
            }
            Err(error) => {
                // The head is restored only if the new file is not in place yet.
                if super::local::leads_to(&self.draft.path, self.file.file()) {
                    let _ = self.write_at(0, &head);
                }
                Err(error)
            }
        }
    }
}

/// A number that no other draft has.
pub fn new_id() -> [u8; 16] {
    let mut id = [0; 16];
    for half in id.chunks_exact_mut(8) {
        half.copy_from_slice(&RandomState::new().hash_one(process_number()).to_be_bytes());
    }
    // An id of zeros would mean that there is none.
    id[0] |= 1;
    id
}

/// Returns the name of this process in the names of its notes. A process that was forked has another one.
fn note_writer_name() -> String {
    static WRITER_ID: Mutex<Option<(u32, String)>> = Mutex::new(None);
    let mut known = WRITER_ID.lock().unwrap_or_else(PoisonError::into_inner);
    let number = process_number();
    if let Some((_, name)) = known.as_ref().filter(|(owner, _)| *owner == number) {
        return name.clone();
    }
    let name = new_id().iter().take(6).map(|byte| format!("{byte:02x}")).collect::<String>();
    *known = Some((number, name.clone()));
    name
}

/// A draft as the file that it will be. Others write into it all the time, so that it does not mind being changed.
struct DraftPreview {
    file: File,
    len: u64,
    /// The first bytes when it was opened.
    head: [u8; HEAD_LEN],
    name: String,
}

impl Source for DraftPreview {
    fn len(&self) -> u64 {
        self.len
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<()> {
        end_in_file(offset, into.len() as u64, self.len)?;
        read_exact_at(&self.file, offset, into).map_err(|e| Error::io(format!("reading {}", self.name), e))?;
        let from = usize::try_from(offset).unwrap_or(HEAD_LEN).min(HEAD_LEN);
        into.iter_mut().zip(finished_head(self.head).into_iter().skip(from)).for_each(|(to, byte)| *to = byte);
        Ok(())
    }

    fn name(&self) -> &str {
        &self.name
    }
}
