//! Two writers of one file: the first has read it and planned, the second writes and ends, the first goes on. It must
//! refuse, or keep what the second wrote: for every pair of operations.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::operations::{self, Prepare, Work};
use super::{Files, Place, alone, leftovers, read_folder, run};
use trilith::Target;
use trilith::bytes::fs::{FaultAction, FsObserver, FsOp, set_observer};
use trilith::bytes::{AtomicFile, SourceBacking, WriteBasis};

/// Runs the second writer before a read of the first.
struct Interloper {
    folder: std::path::PathBuf,
    /// The file that the first writes.
    main: std::path::PathBuf,
    words: &'static [&'static str],
    /// Before which read; the last one before anything is changed, where there are fewer.
    at: usize,
    reads: AtomicUsize,
    /// How many reads there were before the first change.
    planned: AtomicUsize,
    changed: AtomicBool,
    status: AtomicUsize,
    inside: AtomicBool,
}

const NOT_YET: usize = 999;

impl Interloper {
    fn new(folder: &Path, main: &str, words: &'static [&'static str], at: usize) -> Arc<Self> {
        Arc::new(Self {
            folder: folder.to_path_buf(),
            main: folder.join(main),
            words,
            at,
            reads: AtomicUsize::new(0),
            planned: AtomicUsize::new(0),
            changed: AtomicBool::new(false),
            status: AtomicUsize::new(NOT_YET),
            inside: AtomicBool::new(false),
        })
    }

    /// Whether the first holds the lock: what it reads from then on is what it checks.
    fn is_locked(&self) -> bool {
        let file = std::fs::File::open(&self.main);
        file.is_ok_and(|file| matches!(file.try_lock(), Err(std::fs::TryLockError::WouldBlock)))
    }
}

impl FsObserver for Interloper {
    fn intercept_act(&self, act: FsOp<'_>) -> FaultAction {
        if self.inside.load(Ordering::SeqCst) {
            return FaultAction::Proceed;
        }
        if !matches!(act, FsOp::Read(..)) || self.is_locked() {
            self.changed.store(true, Ordering::SeqCst);
            return FaultAction::Proceed;
        }
        if self.changed.load(Ordering::SeqCst) {
            return FaultAction::Proceed;
        }
        self.planned.fetch_add(1, Ordering::SeqCst);
        if self.reads.fetch_add(1, Ordering::SeqCst) == self.at && !self.words.is_empty() {
            self.inside.store(true, Ordering::SeqCst);
            let status = run(&self.folder, self.words);
            self.status.store(usize::from(status), Ordering::SeqCst);
            self.inside.store(false, Ordering::SeqCst);
        }
        FaultAction::Proceed
    }

    fn observe_act(&self, _: FsOp<'_>) {}
}

/// How many reads an operation makes before it changes anything.
fn reads(work: &Work, prepare: Prepare) -> usize {
    let place = Place::new();
    prepare(&place.folder, Target::latest());
    let nobody = Interloper::new(&place.folder, work.main, &[], 0);
    set_observer(Some(nobody.clone()));
    assert_eq!(run(&place.folder, work.words), 0, "{}", work.name);
    set_observer(None);
    nobody.planned.load(Ordering::SeqCst)
}

/// What the operations leave, one after the other.
fn one_after_the_other(works: &[&Work], prepare: Prepare) -> Option<Files> {
    let place = Place::new();
    prepare(&place.folder, Target::latest());
    let done = works.iter().all(|work| run(&place.folder, work.words) == 0);
    done.then(|| timeless(read_folder(&place.folder)))
}

/// A history says when it was written, which differs between runs.
fn timeless(mut files: Files) -> Files {
    for content in files.values_mut() {
        let mark: &[u8] = b"time: ";
        let places: Vec<usize> = content.windows(mark.len()).enumerate().filter(|(_, w)| *w == mark).map(|(at, _)| at).collect();
        for at in places {
            content.iter_mut().skip(at + mark.len()).take_while(|byte| **byte != b'\n').for_each(|byte| *byte = b'-');
        }
    }
    files
}

#[derive(Default)]
struct Counts {
    pairs: usize,
    refused: usize,
    both: usize,
    own_file: usize,
    lost: Vec<String>,
}

#[test]
fn finished_second_writer_is_never_overwritten() {
    let _alone = alone();
    let mut counts = Counts::default();
    for (prepare, works) in operations::groups() {
        let alone = |work: &&Work| one_after_the_other(&[work], prepare).expect("it is done when nobody disturbs it");
        let seconds: Vec<(&Work, Files)> = works.iter().map(|work| (*work, alone(work))).collect();
        for (number, first) in super::sample("matrix of second writers", works.iter().enumerate().collect(), 16) {
            let all = reads(first, prepare);
            for (other, (second, after)) in seconds.iter().enumerate() {
                // When all is read and planned, and for some in the middle of it.
                let middle = Some(all / 2).filter(|_| (number + other).is_multiple_of(12));
                for at in middle.into_iter().chain([all.saturating_sub(1)]) {
                    pair(first, second, after, prepare, at, &mut counts);
                }
            }
        }
    }
    super::common::say(&format!(
        "second writers that had finished: {} runs of two operations; the first was refused in {}, kept the second's change in {}, \
         wrote another file in {}; {} lost",
        counts.pairs,
        counts.refused,
        counts.both,
        counts.own_file,
        counts.lost.len()
    ));
    assert!(counts.lost.is_empty(), "{}", counts.lost.join("\n"));
    assert!(super::is_sampled() || counts.refused > 0 && counts.both + counts.own_file > 0);
}

fn pair(first: &Work, second: &Work, after_second: &Files, prepare: Prepare, at: usize, counts: &mut Counts) {
    let where_ = || format!("{} while {} ends before read {at}", first.name, second.name);
    let place = Place::new();
    prepare(&place.folder, Target::latest());
    let before = read_folder(&place.folder);
    let between = Interloper::new(&place.folder, first.main, second.words, at);
    set_observer(Some(between.clone()));
    let ended = std::panic::catch_unwind(|| run(&place.folder, first.words));
    set_observer(None);
    let Ok(status) = ended else {
        counts.lost.push(format!("{}: it panicked", where_()));
        return;
    };
    let second_ended = between.status.load(Ordering::SeqCst);
    if second_ended != 0 {
        counts.lost.push(format!("{}: the second writer ended with {second_ended}", where_()));
        return;
    }
    let found = timeless(read_folder(&place.folder));
    assert_eq!(leftovers(found.keys().map(String::as_str)), 0, "{}", where_());
    counts.pairs += 1;
    if status != 0 {
        // A part of an exploded file that was written and is named by nothing may be left.
        counts.refused += 1;
        if !after_second.iter().all(|(name, content)| found.get(name) == Some(content)) {
            counts.lost.push(format!("{}: refused, but what the second wrote is not there", where_()));
        }
        return;
    }
    // Done: as if one had begun when the other had ended.
    let is_as = |expected: Option<Files>| expected.is_some_and(|expected| expected == found);
    if is_as(one_after_the_other(&[second, first], prepare)) {
        counts.both += 1;
        return;
    }
    // It writes another file, from what it had read.
    let own = before.get(first.main).is_none_or(|_| first.main != second.main);
    if own && is_as(one_after_the_other(&[first, second], prepare)) {
        counts.own_file += 1;
    } else {
        counts.lost.push(format!("{}: both say that they are done, but one change is lost", where_()));
    }
}

/// Opens a file at the moment when an update of it is written, but its journal is still there.
struct Onlooker {
    path: std::path::PathBuf,
    seen: std::sync::Mutex<Option<trilith::bytes::SourceRef>>,
}

impl FsObserver for Onlooker {
    fn intercept_act(&self, act: FsOp<'_>) -> FaultAction {
        if matches!(act, FsOp::Remove(path) if path.to_string_lossy().ends_with("-journal")) {
            *self.seen.lock().unwrap() = trilith::bytes::open(&self.path, Default::default()).ok();
        }
        FaultAction::Proceed
    }

    fn observe_act(&self, _: FsOp<'_>) {}
}

#[test]
fn journal_reader_is_changed_after_update_ends() {
    let _alone = alone();
    let mut checked = 0;
    for work in operations::ALL.iter().filter(|work| (work.of)(Target::latest())) {
        let place = Place::new();
        let before = place.prepare(work, Target::latest());
        let path = place.folder.join(work.main);
        let onlooker = Arc::new(Onlooker { path: path.clone(), seen: std::sync::Mutex::new(None) });
        set_observer(Some(onlooker.clone()));
        assert_eq!(run(&place.folder, work.words), 0, "{}", work.name);
        set_observer(None);
        let Some(seen) = onlooker.seen.lock().unwrap().take() else { continue };
        let mut bytes = vec![0; seen.len() as usize];
        seen.read_at(0, &mut bytes).unwrap();
        assert!(before.get(work.main) == Some(&bytes), "{}: a mixture was read", work.name);
        assert!(seen.backing().is_some_and(SourceBacking::is_changed), "{}: the update has ended", work.name);
        let Err(refused) = AtomicFile::create(&path, WriteBasis::LockedBy(&*seen)) else {
            panic!("{}: its basis is old", work.name)
        };
        assert!(refused.to_string().contains("changed by another process"), "{refused}");
        checked += 1;
    }
    assert!(checked > 5, "{checked}");
}
