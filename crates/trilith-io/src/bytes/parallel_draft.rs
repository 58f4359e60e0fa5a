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
use super::fs::{self, Output};
use super::lock::{Basis, Lock, draft_of, lock_soon};
use super::platform::{process_number, read_exact_at};
use super::source::{Source, SourceRef, end_in_file};
use crate::error::{Error, ErrorKind, Result};
use crate::limits::Limits;

/// End of a note. A note that was cut off has no such end.
const END: &str = " .";

/// Begins the note of the state of the target when the draft was begun.
pub const TARGET: &str = "target";

/// The first byte of a draft, in the place of the `#` of ASDF.
const MARK: u8 = b'~';
/// Bytes at the start of a draft that may differ from those of the finished file.
const HEAD: usize = 8;

/// The first bytes of a draft of the ASDF family.
pub const TREE_DRAFT: &[u8] = &[MARK];

/// Returns the first bytes of a draft of a native Dudley file, in the place of its signature: its byte order and its number.
pub fn stream_draft(sign: u8, id: &[u8; 16]) -> [u8; HEAD] {
    [MARK, b'B', sign, id[0], id[1], id[2], id[3], id[4]]
}

/// Returns the number in the first bytes of a draft of a native Dudley file; None for any other file.
pub fn stream_id(head: &[u8; HEAD]) -> Option<[u8; 16]> {
    let [MARK, b'B', b'<' | b'>', number @ ..] = head else { return None };
    let mut id = [0; 16];
    id.iter_mut().zip(number).for_each(|(to, from)| *to = *from);
    Some(id)
}

/// Returns the first bytes of a file when it is finished.
fn finished(head: [u8; HEAD]) -> [u8; HEAD] {
    match head {
        [MARK, b'B', sign @ (b'<' | b'>'), ..] => [0x8d, sign, b'B', b'D', b'\r', b'\n', 0x1a, b'\n'],
        [MARK, a, b, c, d, e, f, g] => [b'#', a, b, c, d, e, f, g],
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
    /// The draft of `target`, whether it is there or not.
    pub fn of(target: impl AsRef<Path>) -> Self {
        let target = target.as_ref();
        Self { target: target.to_path_buf(), path: draft_of(target) }
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
    /// [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if there is a draft already.
    pub fn create(target: &Path, lay_out: impl FnOnce(&mut AtomicFile) -> Result<Vec<u8>>) -> Result<(Self, String)> {
        let draft = Self::of(target);
        let lock = Lock::acquire(target, Basis::Nothing)?;
        let state = draft.target_state();
        let there = lock.there;
        if std::fs::symlink_metadata(&draft.path).is_ok() {
            return Err(Error::invalid_input(format!("{} is being written already, and was not finished", target.display()))
                .hint(format!("finish or abort that first; it waits in {}", draft.path.display())));
        }
        let mut file = AtomicFile::create(&draft.path, Basis::Absent)?;
        // Notes of an earlier draft that was put in place, but not forgotten.
        draft.forget()?;
        if let Some((_, old)) = &there {
            file.look_like(old)?;
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
        let [device, inode, part] = super::platform::identity(&found);
        format!("{device}-{inode}-{part}-{}-{}", found.len(), since.as_nanos())
    }

    /// The draft as it will be when it is finished, whatever is being written into it.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Io`] if there is no draft.
    pub fn read(&self) -> Result<SourceRef> {
        let (file, head) = self.opened()?;
        let len = file.metadata().map_err(|e| self.failed(e))?.len();
        Ok(Arc::new(Laid { file, len, head, name: self.path.to_string_lossy().into_owned() }))
    }

    /// Returns the first bytes of the draft as they are now.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Io`] if there is no draft.
    pub fn head(&self) -> Result<[u8; HEAD]> {
        Ok(self.opened()?.1)
    }

    /// Opens the draft to read it, with its first bytes.
    fn opened(&self) -> Result<(File, [u8; HEAD])> {
        #[allow(clippy::disallowed_methods, reason = "its bytes change while it is open, which files in general must not")]
        let file = File::open(&self.path).map_err(|e| self.gone(e))?;
        let mut head = [0; HEAD];
        read_exact_at(&file, 0, &mut head).map_err(|e| self.failed(e))?;
        Ok((file, head))
    }

    /// Opens the draft to write into it, together with others.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Io`] if it was finished or removed, or is being finished.
    pub fn share(&self) -> Result<Writing> {
        let file = Output::open(&self.path).map_err(|e| self.gone(e))?;
        self.locked(&file, File::try_lock_shared, "is being finished by another process")?;
        Ok(Writing { file, draft: self.clone() })
    }

    /// Opens the draft to finish it, while no other process writes into it.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Io`] if it was finished or removed, or if another process writes into it.
    pub fn alone(&self) -> Result<Writing> {
        let file = Output::open(&self.path).map_err(|e| self.gone(e))?;
        self.locked(&file, File::try_lock, "is still being written by another process")?;
        Ok(Writing { file, draft: self.clone() })
    }

    fn locked(&self, file: &Output, lock: impl Fn(&File) -> Result<(), TryLockError>, busy: &str) -> Result<()> {
        match lock_soon(file.file(), lock) {
            Err(TryLockError::WouldBlock) => {
                return Err(Error::new(ErrorKind::Io, format!("{} {busy}", self.target.display())).hint("wait until it is done"));
            }
            // A file system without locks.
            Ok(()) | Err(TryLockError::Error(_)) => {}
        }
        match super::local::leads_to(&self.path, file.file()) {
            true => Ok(()),
            false => Err(self.gone(std::io::ErrorKind::NotFound.into())),
        }
    }

    /// Returns the notes of the writers of the draft with this number, line by line. A line that was cut off is
    /// left out.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Io`] if the operating system reports an error.
    pub fn notes(&self, id: &str) -> Result<Vec<String>> {
        self.lines_of(&self.notes_of(id))
    }

    /// Returns the notes of the draft by any number: once its blocks have their checksums, it has none.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Io`] if the operating system reports an error.
    fn all_notes(&self) -> Result<Vec<String>> {
        self.lines_of(&self.all_of_notes())
    }

    fn lines_of(&self, prefix: &Path) -> Result<Vec<String>> {
        let most = Limits::default().memory;
        let mut lines = Vec::new();
        for path in self.files_of_notes(prefix)? {
            let text = super::atomic_file::read_text(&path, most)?;
            lines.extend(String::from_utf8_lossy(&text).lines().filter_map(|line| line.strip_suffix(END)).map(str::to_owned));
        }
        Ok(lines)
    }

    fn files_of_notes(&self, prefix: &Path) -> Result<Vec<PathBuf>> {
        let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let entries = std::fs::read_dir(folder).map_err(|e| self.failed(e))?;
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
        self.forget()
    }

    /// Removes all notes, those of earlier drafts of the same target too.
    fn forget(&self) -> Result<()> {
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
        let (notes, state) = (self.all_notes()?, self.target_state());
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
    fn gone(&self, error: std::io::Error) -> Error {
        match error.kind() {
            std::io::ErrorKind::NotFound => Error::io(format!("writing {}", self.target.display()), error)
                .hint("that file was finished, aborted, or never begun"),
            _ => self.failed(error),
        }
    }

    #[cold]
    fn failed(&self, error: std::io::Error) -> Error {
        Error::io(format!("writing {}", self.target.display()), error)
    }
}

/// A draft that is open for writing, under its lock.
#[derive(Debug)]
pub struct Writing {
    file: Output,
    draft: Draft,
}

impl Writing {
    /// Fills `into` with what is there now.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Io`] if the operating system reports an error.
    pub fn read_at(&self, at: u64, into: &mut [u8]) -> Result<()> {
        read_exact_at(self.file.file(), at, into).map_err(|e| self.draft.failed(e))
    }

    /// Writes at a place.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Io`] if the operating system reports an error.
    pub fn write_at(&mut self, at: u64, bytes: &[u8]) -> Result<()> {
        self.file.write_all_at(at, bytes).map_err(|e| self.draft.failed(e))
    }

    /// Makes what was written last, then notes it, line by line.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Io`] if the operating system reports an error.
    pub fn note(&self, id: &str, lines: &[String]) -> Result<()> {
        self.file.sync_data().map_err(|e| self.draft.failed(e))?;
        let mut path = self.draft.notes_of(id).into_os_string();
        path.push(writer());
        // In one piece: several threads may note something at once. Anything truncated before stays on a separate line.
        let text: String = lines.iter().flat_map(|line| ["\n", line, END, "\n"]).collect();
        fs::append(Path::new(&path), text.as_bytes()).map_err(|e| self.draft.failed(e))
    }

    /// Makes everything last, then the draft a file that readers take, and puts it in place of the target.
    ///
    /// # Errors
    /// Returns the errors of [`AtomicFile::commit`] and [`Draft::check_target`]. The draft is then unchanged.
    pub fn put_in_place(mut self) -> Result<Vec<String>> {
        self.file.sync().map_err(|e| self.draft.failed(e))?;
        let adopted = AtomicFile::adopt(&self.draft.target, &self.draft.path)?;
        // The check needs the lock of the target: another writer may have finished while this one was computing checksums.
        self.draft.check_target()?;
        let mut head = [0; HEAD];
        self.read_at(0, &mut head)?;
        self.write_at(0, &finished(head))?;
        match adopted.commit() {
            Ok(warnings) => {
                self.draft.forget()?;
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
fn writer() -> String {
    static WRITER: Mutex<Option<(u32, String)>> = Mutex::new(None);
    let mut known = WRITER.lock().unwrap_or_else(PoisonError::into_inner);
    let number = process_number();
    if let Some((_, name)) = known.as_ref().filter(|(owner, _)| *owner == number) {
        return name.clone();
    }
    let name = new_id().iter().take(6).map(|byte| format!("{byte:02x}")).collect::<String>();
    *known = Some((number, name.clone()));
    name
}

/// A draft as the file that it will be. Others write into it all the time, so that it does not mind being changed.
struct Laid {
    file: File,
    len: u64,
    /// The first bytes when it was opened.
    head: [u8; HEAD],
    name: String,
}

impl Source for Laid {
    fn len(&self) -> u64 {
        self.len
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<()> {
        end_in_file(offset, into.len() as u64, self.len)?;
        read_exact_at(&self.file, offset, into).map_err(|e| Error::io(format!("reading {}", self.name), e))?;
        let from = usize::try_from(offset).unwrap_or(HEAD).min(HEAD);
        into.iter_mut().zip(finished(self.head).into_iter().skip(from)).for_each(|(to, byte)| *to = byte);
        Ok(())
    }

    fn name(&self) -> &str {
        &self.name
    }
}
