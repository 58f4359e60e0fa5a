//! Whatever happens while a file is written, it holds the old content or the new, never a mixture: for every
//! operation of the command, in every generation, at every moment, in every order in which a disk may have
//! kept what was not synced; with a disk that is full or fails; and with the process killed.
//!
//! `TRILITH_CAMPAIGN` is the number of processes that are killed (default 300). `cargo xtask campaign crash --cases N` sets it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may stop where something is not as expected")]
#![allow(clippy::disallowed_methods, reason = "a test lays out files of its own")]
#![cfg(target_os = "linux")]

#[path = "../common/mod.rs"]
mod common;
mod disk;
mod kill;
mod leftover_journal;
mod operations;
mod readers;
mod second_writer;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use common::{is_sampled, sample};
use disk::{Event, Fault, Recorder, State, read_folder};
use operations::Work;
use readers::Readers;
use trilith::bytes::{AtomicFile, JournaledUpdate, LocalOptions, WriteBasis, fs::set_observer};
use trilith::{Target, asdf::TARGETS};

/// The watch is one for the whole process, and so is the working folder.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    let guard = ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    set_observer(None);
    guard
}

/// A folder for the files.
struct Place {
    above: tempfile::TempDir,
    folder: PathBuf,
}

impl Place {
    fn new() -> Self {
        // In memory where there is such a place: nothing here depends on a real disk.
        let base = Path::new("/dev/shm");
        let above = if base.is_dir() { tempfile::tempdir_in(base) } else { tempfile::tempdir() }.unwrap();
        let folder = above.path().join("folder");
        std::fs::create_dir(&folder).unwrap();
        Self { folder: folder.canonicalize().unwrap(), above }
    }

    fn prepare(&self, work: &Work, target: &'static Target) -> BTreeMap<String, Vec<u8>> {
        (work.prepare)(&self.folder, target);
        read_folder(&self.folder)
    }
}

/// Runs the command in a folder; its exit status.
fn run(folder: &Path, words: &[&str]) -> u8 {
    std::env::set_current_dir(folder).unwrap();
    let words = ["trilith", "--quiet"].iter().chain(words).map(OsString::from);
    trilith_cli::run(words)
}

/// What a reader sees of a file: what it holds, or that there is none.
fn seen(folder: &Path, name: &str) -> Option<Vec<u8>> {
    let path = folder.join(name);
    if !path.exists() {
        return None;
    }
    let source = trilith::bytes::open(&path, LocalOptions::default()).unwrap_or_else(|e| panic!("{name}: {e}"));
    let mut bytes = vec![0; source.len() as usize];
    source.read_at(0, &mut bytes).unwrap_or_else(|e| panic!("{name}: {e}"));
    Some(bytes)
}

type Files = BTreeMap<String, Vec<u8>>;

/// Checks that every file is as before or as after; whether the main one is new.
fn old_or_new(folder: &Path, work: &Work, old: &Files, new: &Files, where_: &dyn Fn() -> String) -> bool {
    let main = seen(folder, work.main);
    let is_new = main.as_ref() == new.get(work.main);
    assert!(is_new || main.as_ref() == old.get(work.main), "{}: {} is neither old nor new", where_(), work.main);
    for name in old.keys().chain(new.keys()) {
        let content = seen(folder, name);
        let (is_old, as_after) = (content.as_ref() == old.get(name), content.as_ref() == new.get(name));
        assert!(as_after || is_old, "{}: {name} is neither old nor new", where_());
        // Files that the new one no longer names may still be there.
        let is_left = !new.contains_key(name);
        assert!(
            as_after || is_left || !is_new || old.get(work.main) == new.get(work.main),
            "{}: {name} is older than {}",
            where_(),
            work.main
        );
    }
    is_new
}

/// What is left beside the files: temporary ones and journals.
fn leftovers<'n>(names: impl Iterator<Item = &'n str>) -> usize {
    names.filter(|name| name.contains(".trilith-")).count()
}

/// Whether more than one journal or more than one temporary file is left of the same file.
fn too_many<'n>(names: impl Iterator<Item = &'n str>) -> bool {
    let kind = |name: &'n str| name.split_once(".trilith-").map(|(file, rest)| (file, rest.starts_with("tmp")));
    let mut files: Vec<(&str, bool)> = names.filter_map(kind).collect();
    let all = files.len();
    files.sort_unstable();
    files.dedup();
    files.len() < all
}

/// Clears what a killed process left, as the next writer does.
fn next_writer(folder: &Path, names: &[String]) {
    for name in names {
        let path = folder.join(name);
        if path.exists() {
            JournaledUpdate::recover(&path).unwrap_or_else(|e| panic!("{name}: {e}"));
        }
        drop(AtomicFile::create(&path, WriteBasis::Nothing).unwrap_or_else(|e| panic!("{name}: {e}")));
    }
}

#[derive(Default, Debug)]
struct Counts {
    runs: usize,
    cuts: usize,
    states: usize,
    reordered: usize,
    in_recovery: usize,
    old: usize,
    new: usize,
    readers: readers::Counts,
}

#[test]
fn cuts_and_reordering_leave_old_or_new_content() {
    let _alone = alone();
    let mut counts = Counts::default();
    let pairs =
        TARGETS.iter().flat_map(|target| operations::ALL.iter().filter(|work| (work.of)(target)).map(move |work| (work, target)));
    for (work, target) in sample("crash matrix", pairs.collect(), 16) {
        crash(work, target, &mut counts);
    }
    common::say(&format!(
        "crash matrix: of {} operations x {} generations {} runs; {} cuts, {} states, of them {} reordered or torn, \
         {} in the middle of a recovery; {} old, {} new, 0 mixtures",
        operations::ALL.len(),
        TARGETS.len(),
        counts.runs,
        counts.cuts,
        counts.states,
        counts.reordered,
        counts.in_recovery,
        counts.old,
        counts.new,
    ));
    let by = counts.readers;
    common::say(&format!(
        "read after each of these crashes: {} times by a link, {} times through a reference; {} times in a copy of the folder, {} \
         times in a copy on another disk; 0 mixtures",
        by.by_links, by.by_references, by.in_copies, by.on_other_disks
    ));
    // In each run both were seen, and more states than there are cuts: see `crash`.
    assert!(is_sampled() || counts.reordered > counts.cuts && counts.in_recovery > counts.runs, "{counts:?}");
}

fn crash(work: &Work, target: &'static Target, counts: &mut Counts) {
    let place = Place::new();
    let old = place.prepare(work, target);
    let recorder = Arc::new(Recorder::new(&place.folder, None));
    set_observer(Some(recorder.clone()));
    let status = run(&place.folder, work.words);
    set_observer(None);
    assert_eq!(status, 0, "{} of {}", work.name, target.name);
    let new = read_folder(&place.folder);
    assert!(old != new || work.name == "update", "{} of {} changes something", work.name, target.name);
    assert_eq!(leftovers(new.keys().map(String::as_str)), 0);
    let story = recorder.story(&old);
    assert!(!story.left_pending(), "{} of {}: something is not synced at the end", work.name, target.name);
    counts.runs += 1;
    counts.cuts += story.events.len() + 1;
    let roots: Vec<String> = old.keys().chain(new.keys()).cloned().collect();
    let mut last_journal: Option<(usize, State)> = None;
    let mut readers = Readers::new(place.above.path(), &place.folder);
    let before = (counts.old, counts.new);
    story.crashes(|crash| {
        let where_ = || format!("{} of {}, cut {} of {}", work.name, target.name, crash.cut, story.events.len());
        crash.state.lay_out(&place.folder);
        let is_new = old_or_new(&place.folder, work, &old, &new, &where_);
        assert!(is_new || crash.cut < story.events.len(), "{}: done, but not there", where_());
        assert!(!too_many(crash.state.names()), "{}: more than one is left of a file", where_());
        if crash.state.names().any(|name| name.contains("journal")) {
            last_journal = Some((crash.cut, crash.state.clone()));
        }
        readers.check(work.main, &where_);
        next_writer(&place.folder, &roots);
        assert_eq!(old_or_new(&place.folder, work, &old, &new, &where_), is_new, "{}: recovery changed it", where_());
        assert_eq!(leftovers(read_folder(&place.folder).keys().map(String::as_str)), 0, "{}", where_());
        counts.states += 1;
        counts.reordered += usize::from(crash.reordered);
        *(if is_new { &mut counts.new } else { &mut counts.old }) += 1;
    });
    counts.readers.add(readers.counts);
    let is_changed = old.get(work.main) != new.get(work.main);
    assert!(counts.new > before.1, "{} of {}: never new", work.name, target.name);
    assert!(counts.old > before.0 || !is_changed, "{} of {}: never old", work.name, target.name);
    if let Some((cut, state)) = last_journal {
        crash_in_recovery(work, &place, &state, &old, &new, cut, counts);
    }
}

/// The next writer is killed too, while it puts the old bytes back.
fn crash_in_recovery(work: &Work, place: &Place, state: &State, old: &Files, new: &Files, cut: usize, counts: &mut Counts) {
    state.lay_out(&place.folder);
    let before = read_folder(&place.folder);
    let recorder = Arc::new(Recorder::new(&place.folder, None));
    set_observer(Some(recorder.clone()));
    JournaledUpdate::recover(place.folder.join(work.main)).unwrap();
    set_observer(None);
    let story = recorder.story(&before);
    assert!(!story.left_pending(), "{}: something of the recovery is not synced", work.name);
    story.crashes(|crash| {
        let where_ = || format!("{}, cut {cut}, then cut {} of the recovery", work.name, crash.cut);
        crash.state.lay_out(&place.folder);
        old_or_new(&place.folder, work, old, new, &where_);
        next_writer(&place.folder, &[work.main.to_owned()]);
        old_or_new(&place.folder, work, old, new, &where_);
        counts.in_recovery += 1;
    });
}

#[test]
fn failing_disk_leaves_old_or_new_content() {
    let _alone = alone();
    let (mut tried, mut refused) = (0, 0);
    let mut generations = BTreeSet::new();
    // The newest target of each generation: what is done to the disk hangs on no more.
    let newest: Vec<_> = TARGETS.iter().rev().filter(|target| generations.insert(target.generation().name)).collect();
    // A history has the time of writing, so two runs differ.
    let is_tried = |work: &&Work, target| (work.of)(target) && !work.name.starts_with("history");
    let pairs = newest
        .iter()
        .flat_map(|target| operations::ALL.iter().filter(move |work| is_tried(work, target)).map(move |work| (work, *target)));
    for (work, target) in sample("matrix of failing disks", pairs.collect(), 16) {
        let place = Place::new();
        let old = place.prepare(work, target);
        let recorder = Arc::new(Recorder::new(&place.folder, None));
        set_observer(Some(recorder.clone()));
        assert_eq!(run(&place.folder, work.words), 0, "{}", work.name);
        set_observer(None);
        let new = read_folder(&place.folder);
        let (acts, reads) = recorder.counts();
        let faults = [Fault::Full, Fault::Broken, Fault::Interrupted, Fault::Short].map(|fault| (fault, acts));
        for (fault, count) in faults.into_iter().chain([(Fault::Unreadable, reads)]) {
            for at in 0..count {
                tried += 1;
                refused += usize::from(!fails(work, target, &old, &new, fault, at));
            }
        }
    }
    common::say(&format!(
        "failing disk: {} generations, {tried} faults, {refused} of them refused the operation, 0 mixtures",
        generations.len()
    ));
}

/// Runs an operation on a disk that fails; whether it was done all the same.
fn fails(work: &Work, target: &'static Target, old: &Files, new: &Files, fault: Fault, at: usize) -> bool {
    let place = Place::new();
    place.prepare(work, target);
    let where_ = || format!("{} of {}, {fault:?} at act {at}", work.name, target.name);
    set_observer(Some(Arc::new(Recorder::new(&place.folder, Some((at, fault))))));
    let status = run(&place.folder, work.words);
    set_observer(None);
    let is_new = old_or_new(&place.folder, work, old, new, &where_);
    if status == 0 {
        assert!(is_new, "{}: said to be done", where_());
    }
    if matches!(fault, Fault::Interrupted | Fault::Short) {
        assert_eq!(status, 0, "{}", where_());
    }
    assert!(!too_many(read_folder(&place.folder).keys().map(String::as_str)), "{}", where_());
    // The disk is mended: the next run does it, and nothing is left.
    let again = run(&place.folder, work.words);
    assert!(again == 0 || is_new, "{}: the next run ended with {again}", where_());
    next_writer(&place.folder, &[work.main.to_owned()]);
    assert_eq!(leftovers(read_folder(&place.folder).keys().map(String::as_str)), 0, "{}", where_());
    status == 0
}

#[test]
fn recorder_detects_missing_sync() {
    // A writer that forgets the sync before the rename must be found out.
    let place = Place::new();
    std::fs::write(place.folder.join("x"), b"old").unwrap();
    let old = read_folder(&place.folder);
    let recorder = Recorder::new(&place.folder, None);
    let (temporary, target) = (place.folder.join("t"), place.folder.join("x"));
    {
        use trilith::bytes::fs::{FsObserver as _, FsOp};
        std::fs::write(&temporary, b"new").unwrap();
        recorder.observe_act(FsOp::Create(&temporary));
        recorder.observe_act(FsOp::Write(&temporary, 0, b"new"));
        std::fs::rename(&temporary, &target).unwrap();
        recorder.observe_act(FsOp::Rename(&temporary, &target));
    }
    let story = recorder.story(&old);
    assert!(story.events.iter().any(|event| matches!(event, Event::Names(_))) && story.left_pending());
    let mut mixtures = 0;
    story.crashes(|crash| {
        crash.state.lay_out(&place.folder);
        let content = seen(&place.folder, "x");
        mixtures += usize::from(![Some(b"old".to_vec()), Some(b"new".to_vec())].contains(&content));
    });
    assert!(mixtures > 0);
}
