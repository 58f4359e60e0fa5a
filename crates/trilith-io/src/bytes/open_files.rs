//! Files that are open in this process, and the changes that the process itself makes to them.
//!
//! A reader of a file must notice if the file changes under it. An update in place by this very process knows which
//! bytes it touches: it reports them to all readers of the file here, and all other bytes stay valid for them.

use std::collections::BTreeMap;
use std::fs::{File, Metadata};
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::SystemTime;

use super::platform::file_identity;
use super::source::coalesce_ranges;

/// Size and time of modification, to detect that a file was changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileStamp {
    len: u64,
    modified: Option<SystemTime>,
}

impl FileStamp {
    pub(super) fn from_metadata(metadata: &Metadata) -> Self {
        Self { len: metadata.len(), modified: metadata.modified().ok() }
    }
}

/// State of an open file: which bytes are unchanged since it was opened.
#[derive(Debug)]
pub(super) struct OpenFileEntry(Mutex<OpenFileState>);

#[derive(Debug)]
struct OpenFileState {
    /// The stamp that the file must have.
    stamp: FileStamp,
    /// Bytes that this process changed since it was opened, sorted and apart from each other.
    changed: Vec<Range<u64>>,
    /// `true` if this process changes it right now.
    is_updating: bool,
    /// Bytes that somebody outside of this library sees, such as an array of NumPy over a map.
    borrowed: Vec<Range<u64>>,
}

/// Bytes of an open file that somebody outside of this library sees, until this is dropped: they are not written over by this
/// process.
#[derive(Debug)]
pub struct BorrowGuard {
    reader: Arc<OpenFileEntry>,
    ranges: Vec<Range<u64>>,
}

impl BorrowGuard {
    /// Marks these bytes of a file.
    pub(super) fn new(reader: &Arc<OpenFileEntry>, ranges: Vec<Range<u64>>) -> Self {
        lock_ignoring_poison(&reader.0).borrowed.extend(ranges.iter().cloned());
        Self { reader: reader.clone(), ranges }
    }
}

impl Drop for BorrowGuard {
    fn drop(&mut self) {
        let mut state = lock_ignoring_poison(&self.reader.0);
        for range in &self.ranges {
            if let Some(at) = state.borrowed.iter().position(|shown| shown == range) {
                state.borrowed.swap_remove(at);
            }
        }
    }
}

/// Returns `true` if somebody outside of this library sees some of these bytes of a file.
pub(super) fn is_borrowed(id: [u64; 3], range: &Range<u64>) -> bool {
    let readers: Vec<_> = lock_ignoring_poison(&OPEN_FILES)
        .get(&id)
        .map(|entry| entry.readers.iter().filter_map(Weak::upgrade).collect())
        .unwrap_or_default();
    let is_seen = |reader: &Arc<OpenFileEntry>| {
        lock_ignoring_poison(&reader.0).borrowed.iter().any(|shown| shown.start < range.end && range.start < shown.end)
    };
    readers.iter().any(is_seen)
}

/// Files that are open in this process, by their identity.
static OPEN_FILES: Mutex<BTreeMap<[u64; 3], FileReaders>> = Mutex::new(BTreeMap::new());

#[derive(Debug, Default)]
struct FileReaders {
    readers: Vec<Weak<OpenFileEntry>>,
    /// The ranges that are being changed right now.
    current_stamp: Option<Vec<Range<u64>>>,
}

fn lock_ignoring_poison<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl OpenFileEntry {
    /// Registers a new reader of a file.
    pub(super) fn new(metadata: &Metadata) -> Arc<Self> {
        let mut open = lock_ignoring_poison(&OPEN_FILES);
        let entry = open.entry(file_identity(metadata)).or_default();
        let (changed, at_work) = (entry.current_stamp.clone().unwrap_or_default(), entry.current_stamp.is_some());
        let reader = Arc::new(Self(Mutex::new(OpenFileState {
            stamp: FileStamp::from_metadata(metadata),
            changed,
            is_updating: at_work,
            borrowed: Vec::new(),
        })));
        entry.readers.retain(|reader| reader.strong_count() > 0);
        entry.readers.push(Arc::downgrade(&reader));
        // Files that are no longer open are removed now and then.
        if open.len() > 64 && open.len().is_power_of_two() {
            open.retain(|_, entry| entry.current_stamp.is_some() || entry.readers.iter().any(|reader| reader.strong_count() > 0));
        }
        reader
    }

    /// Returns `true` if the file is as this process left it.
    pub(super) fn is_unchanged_by_others(&self, file: &File) -> bool {
        let state = lock_ignoring_poison(&self.0);
        state.is_updating || file.metadata().is_ok_and(|now| FileStamp::from_metadata(&now) == state.stamp)
    }

    /// Returns `true` if these bytes of the file are what they were when it was opened.
    pub(super) fn is_unchanged(&self, file: &File, range: Range<u64>) -> bool {
        // The stamp is read before the lock is taken, so it shows no update that begins in between.
        let now = file.metadata().map(|metadata| FileStamp::from_metadata(&metadata));
        let state = lock_ignoring_poison(&self.0);
        let is_touched = state.changed.iter().any(|changed| changed.start < range.end && range.start < changed.end);
        if is_touched || state.is_updating {
            return !is_touched;
        }
        if now.is_ok_and(|now| now == state.stamp) {
            return true;
        }
        // An update of this process may have ended between the look and the lock.
        file.metadata().is_ok_and(|now| FileStamp::from_metadata(&now) == state.stamp)
    }
}

/// An update in place while it is made: every source of this process has its ranges.
#[derive(Debug)]
pub(super) struct UpdateGuard {
    id: [u64; 3],
    readers: Vec<Arc<OpenFileEntry>>,
}

impl UpdateGuard {
    /// Announces that these bytes of a file, which has this stamp, will be changed.
    pub(super) fn begin_update(before: &Metadata, ranges: &[Range<u64>]) -> Self {
        let id = file_identity(before);
        let mut open = lock_ignoring_poison(&OPEN_FILES);
        let entry = open.entry(id).or_default();
        entry.current_stamp = Some(ranges.to_vec());
        let readers: Vec<_> = entry.readers.iter().filter_map(Weak::upgrade).collect();
        let stamp = FileStamp::from_metadata(before);
        let is_current = |reader: &Arc<OpenFileEntry>| {
            let mut state = lock_ignoring_poison(&reader.0);
            let is_current = state.stamp == stamp;
            if is_current {
                state.is_updating = true;
                state.changed = coalesce_ranges(state.changed.drain(..).chain(ranges.iter().cloned()).collect(), 0);
            }
            is_current
        };
        Self { id, readers: readers.into_iter().filter(is_current).collect() }
    }

    /// Reports that the update is made, or undone, and the new stamp of the file.
    pub(super) fn finish_update(self, after: &Metadata) {
        let mut open = lock_ignoring_poison(&OPEN_FILES);
        let late = open.get_mut(&self.id).map(|entry| {
            entry.current_stamp = None;
            entry.readers.iter().filter_map(Weak::upgrade).collect::<Vec<_>>()
        });
        for reader in self.readers.iter().chain(late.iter().flatten()) {
            let mut state = lock_ignoring_poison(&reader.0);
            if state.is_updating {
                (state.stamp, state.is_updating) = (FileStamp::from_metadata(after), false);
            }
        }
    }
}

impl Drop for UpdateGuard {
    fn drop(&mut self) {
        if let Some(entry) = lock_ignoring_poison(&OPEN_FILES).get_mut(&self.id) {
            entry.current_stamp = None;
        }
        // If it was not finished, the file differs from their expectation.
        for reader in &self.readers {
            lock_ignoring_poison(&reader.0).is_updating = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{AtomicFile, FileUpdate, LocalOptions, SourceBacking, WriteBasis, open};
    use super::*;
    use std::io::Write as _;

    #[test]
    fn own_update_keeps_other_bytes_readable() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        let mut new = AtomicFile::create(&path, WriteBasis::Nothing).unwrap();
        new.write_all(&[7; 100_000]).unwrap();
        new.commit().unwrap();
        let first = open(&path, LocalOptions::default()).unwrap();
        let mut bytes = [0; 8];
        for (round, at) in [1000, 50_000, 1000].into_iter().enumerate() {
            // Each update comes from a reader that opened the file after the last one.
            let read = open(&path, LocalOptions::default()).unwrap();
            let mut update = FileUpdate::new();
            update.write(at, vec![round as u8; 100]);
            update.commit(&*read).unwrap();
            for source in [&first, &read] {
                source.read_at(0, &mut bytes).unwrap();
                assert_eq!(bytes, [7; 8]);
                assert!(source.view(99_000, 8).is_some() && source.backing().is_some_and(SourceBacking::is_changed));
                assert!(source.read_at(at + 50, &mut bytes).is_err() && source.view(at, 10).is_none());
            }
            assert!(first.read_at(1010, &mut bytes).is_err());
        }
        // A change from outside this library makes all bytes invalid.
        let mut other = std::fs::OpenOptions::new().append(true).open(&path).unwrap();
        other.write_all(b"more").unwrap();
        assert!(first.read_at(0, &mut bytes).is_err());
    }

    #[test]
    fn ranges_are_joined() {
        assert_eq!(coalesce_ranges(vec![5..7, 0..2, 2..3, 9..9, 6..8], 0), [0..3, 5..8]);
    }
}
