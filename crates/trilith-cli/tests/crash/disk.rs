//! A disk that remembers: what an operation does to the files of one folder, and every state that a crash
//! may leave.
//!
//! The rules are those of POSIX, at their worst. What was written to a file since its last sync may have
//! reached the disk in part and in any order; so may new, renamed and removed names since the last sync of
//! the folder. A rename takes place as a whole or not at all. A write may be torn.

use std::collections::BTreeMap;
use std::io::{Error, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use trilith::bytes::fs::{FaultAction, FsObserver, FsOp};

/// Bytes that a disk writes as one.
const SECTOR: u64 = 512;

/// What was done to the folder; files go by number, since their names change.
#[derive(Debug, Clone)]
pub(crate) enum Event {
    Write(usize, u64, Vec<u8>),
    Resize(usize, u64),
    Sync(usize),
    /// The file that each name leads to from now on.
    Names(Vec<(String, Option<usize>)>),
    SyncFolder,
}

/// How an act is made to fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// No space left, at this act and all that follow.
    Full,
    /// The disk fails, at this act alone.
    Broken,
    /// A signal came in between, once.
    Interrupted,
    /// Half of the bytes are written.
    Short,
    /// A read fails, at this read and all that follow.
    Unreadable,
}

/// Watches a folder, and lets an act fail where that is asked for.
pub(crate) struct Recorder {
    folder: PathBuf,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    events: Vec<Event>,
    names: BTreeMap<String, usize>,
    /// The content of each file when it was first seen.
    files: Vec<Vec<u8>>,
    acts: usize,
    reads: usize,
    fault: Option<(usize, Fault)>,
}

impl Recorder {
    /// Knows the files that are in `folder`.
    pub(crate) fn new(folder: &Path, fault: Option<(usize, Fault)>) -> Self {
        let mut inner = Inner { fault, ..Inner::default() };
        for (name, content) in read_folder(folder) {
            let number = inner.files.len();
            inner.names.insert(name, number);
            inner.files.push(content);
        }
        Self { folder: folder.to_path_buf(), inner: Mutex::new(inner) }
    }

    /// How many acts that change something, and how many reads there were.
    pub(crate) fn counts(&self) -> (usize, usize) {
        let inner = self.inner.lock().expect("no thread panics");
        (inner.acts, inner.reads)
    }

    /// What happened, from which state.
    pub(crate) fn story(&self, start: &BTreeMap<String, Vec<u8>>) -> Story {
        let inner = self.inner.lock().expect("no thread panics");
        let files: Vec<Vec<u8>> = inner.files.clone();
        let mut names = BTreeMap::new();
        for (number, name) in start.keys().enumerate() {
            names.insert(name.clone(), number);
        }
        Story { events: inner.events.clone(), names, files }
    }

    fn name(&self, path: &Path) -> Option<String> {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let folder = folder.canonicalize().ok()?;
        (folder == self.folder).then(|| path.file_name().map(|name| name.to_string_lossy().into_owned()))?
    }
}

impl FsObserver for Recorder {
    fn intercept_act(&self, act: FsOp<'_>) -> FaultAction {
        let mut inner = self.inner.lock().expect("no thread panics");
        let at = if let FsOp::Read(..) = act { &mut inner.reads } else { &mut inner.acts };
        let now = *at;
        *at += 1;
        let Some((when, fault)) = inner.fault else { return FaultAction::Proceed };
        let due = now == when;
        let fail = |kind: ErrorKind| FaultAction::Fail(Error::from(kind));
        match (fault, act) {
            (Fault::Unreadable, FsOp::Read(..)) if now >= when => FaultAction::Fail(Error::from_raw_os_error(5)),
            (Fault::Unreadable, _) | (_, FsOp::Read(..)) => FaultAction::Proceed,
            (Fault::Full, FsOp::Create(_) | FsOp::Write(..)) if now >= when => fail(ErrorKind::StorageFull),
            (Fault::Broken, _) if due => FaultAction::Fail(Error::from_raw_os_error(5)),
            (Fault::Interrupted, FsOp::Create(_)) => FaultAction::Proceed,
            (Fault::Interrupted, _) if due => fail(ErrorKind::Interrupted),
            (Fault::Short, FsOp::Write(_, _, bytes)) if due && bytes.len() > 1 => FaultAction::ShortWrite(bytes.len() / 2),
            _ => FaultAction::Proceed,
        }
    }

    fn observe_act(&self, act: FsOp<'_>) {
        let mut inner = self.inner.lock().expect("no thread panics");
        let file = |inner: &Inner, path: &Path| self.name(path).and_then(|name| inner.names.get(&name).copied());
        let event = match act {
            FsOp::Create(path) => {
                let Some(name) = self.name(path) else { return };
                let number = inner.files.len();
                inner.files.push(Vec::new());
                inner.names.insert(name.clone(), number);
                Event::Names(vec![(name, Some(number))])
            }
            FsOp::Write(path, at, bytes) => {
                let Some(number) = file(&inner, path) else { return };
                inner.events.extend(sectors(at, bytes).map(|(at, bytes)| Event::Write(number, at, bytes.to_vec())));
                return;
            }
            FsOp::Resize(path, len) => match file(&inner, path) {
                Some(number) => Event::Resize(number, len),
                None => return,
            },
            FsOp::Sync(path) => match file(&inner, path) {
                Some(number) => Event::Sync(number),
                None => return,
            },
            FsOp::Rename(from, to) => {
                let (Some(from), Some(to)) = (self.name(from), self.name(to)) else { return };
                let Some(number) = inner.names.remove(&from) else { return };
                inner.names.insert(to.clone(), number);
                Event::Names(vec![(from, None), (to, Some(number))])
            }
            FsOp::Remove(path) => {
                let Some(name) = self.name(path) else { return };
                inner.names.remove(&name);
                Event::Names(vec![(name, None)])
            }
            FsOp::SyncFolder(_) => Event::SyncFolder,
            FsOp::Read(..) => return,
        };
        inner.events.push(event);
    }
}

/// A disk keeps sectors: those of one large write may be kept in any order, or not at all.
fn sectors(at: u64, bytes: &[u8]) -> impl Iterator<Item = (u64, &[u8])> {
    let mut done = 0;
    std::iter::from_fn(move || {
        let start = at + done as u64;
        let len = (SECTOR - start % SECTOR).min((bytes.len() - done) as u64) as usize;
        let sector = bytes.get(done..done + len).filter(|sector| !sector.is_empty())?;
        done += len;
        Some((start, sector))
    })
}

/// The files of a folder by name.
pub(crate) fn read_folder(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(folder).expect("the folder can be listed").flatten();
    let files = entries.filter(|entry| entry.path().is_file());
    files
        .map(|entry| (entry.file_name().to_string_lossy().into_owned(), std::fs::read(entry.path()).expect("it can be read")))
        .collect()
}

/// What happened to a folder.
pub(crate) struct Story {
    pub events: Vec<Event>,
    names: BTreeMap<String, usize>,
    files: Vec<Vec<u8>>,
}

/// What is on the disk: which file each name leads to, and what each file holds.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct State {
    names: BTreeMap<String, usize>,
    files: Vec<Vec<u8>>,
}

impl State {
    fn apply(&mut self, event: &Event) {
        match event {
            Event::Write(file, at, bytes) => {
                let (content, start) = (&mut self.files[*file], *at as usize);
                content.resize(content.len().max(start + bytes.len()), 0);
                content[start..start + bytes.len()].copy_from_slice(bytes);
            }
            Event::Resize(file, len) => self.files[*file].resize(*len as usize, 0),
            Event::Names(changes) => {
                for (name, file) in changes {
                    match file {
                        Some(file) => drop(self.names.insert(name.clone(), *file)),
                        None => drop(self.names.remove(name)),
                    }
                }
            }
            Event::Sync(_) | Event::SyncFolder => {}
        }
    }

    /// The names that there are.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.names.keys().map(String::as_str)
    }

    /// Lays the state out in the folder, with new files: nothing depends on which ones they are.
    pub(crate) fn lay_out(&self, folder: &Path) {
        for entry in std::fs::read_dir(folder).expect("the folder can be listed").flatten() {
            std::fs::remove_file(entry.path()).expect("it can be removed");
        }
        for (name, file) in &self.names {
            std::fs::write(folder.join(name), &self.files[*file]).expect("it can be written");
        }
    }
}

/// What a crash leaves.
pub(crate) struct Crash {
    /// Before which event.
    pub cut: usize,
    /// Whether this is more than the plain prefix: some of what was not synced is missing or torn.
    pub reordered: bool,
    pub state: State,
}

impl Story {
    /// Hands over every state that a crash may leave, each once for each cut; the last cut is behind the end.
    pub(crate) fn crashes(&self, mut take: impl FnMut(Crash)) {
        let mut durable = State { names: self.names.clone(), files: self.files.clone() };
        let mut pending: Vec<Event> = Vec::new();
        for cut in 0..=self.events.len() {
            for (which, state) in variants(&durable, &pending) {
                take(Crash { cut, reordered: which, state });
            }
            let Some(event) = self.events.get(cut) else { break };
            let (mut synced, mut rest) = (Vec::new(), Vec::new());
            for waiting in pending.drain(..) {
                let done = match (event, &waiting) {
                    (Event::Sync(file), Event::Write(of, ..) | Event::Resize(of, _)) => file == of,
                    (Event::SyncFolder, Event::Names(_)) => true,
                    _ => false,
                };
                if done { synced.push(waiting) } else { rest.push(waiting) }
            }
            synced.iter().for_each(|event| durable.apply(event));
            pending = rest;
            if !matches!(event, Event::Sync(_) | Event::SyncFolder) {
                pending.push(event.clone());
            }
        }
    }

    /// What is not synced at the end.
    pub(crate) fn left_pending(&self) -> bool {
        let mut last = None;
        self.crashes(|crash| {
            if crash.cut == self.events.len() {
                last = Some(last.map_or(1, |n| n + 1));
            }
        });
        last != Some(1)
    }
}

/// Up to so many events every choice of them is tried.
const ALL_CHOICES: usize = 7;

/// The states in which some of what is pending has reached the disk: whether it is more than the prefix, and the state.
fn variants(durable: &State, pending: &[Event]) -> Vec<(bool, State)> {
    let n = pending.len();
    let mut choices: Vec<Vec<bool>> = Vec::new();
    if n <= ALL_CHOICES {
        choices.extend((0..1usize << n).map(|bits| (0..n).map(|i| bits >> i & 1 == 1).collect()));
    } else {
        choices.push(vec![false; n]);
        for i in 0..n {
            choices.push((0..n).map(|j| j <= i).collect());
            choices.push((0..n).map(|j| j == i).collect());
            choices.push((0..n).map(|j| j != i).collect());
        }
        let mut seed = 0x9e37_79b9_7f4a_7c15u64 ^ n as u64;
        for _ in 0..64 {
            choices.push((0..n).map(|_| random(&mut seed) & 1 == 1).collect());
        }
    }
    let mut states: Vec<(bool, State)> = Vec::new();
    let mut add = |events: &mut dyn Iterator<Item = &Event>, whole: bool| {
        let mut state = durable.clone();
        events.for_each(|event| state.apply(event));
        states.push((!whole, state));
    };
    for choice in &choices {
        let chosen = || pending.iter().zip(choice).filter(|(_, taken)| **taken).map(|(event, _)| event);
        add(&mut chosen(), choice.iter().all(|taken| *taken));
        if n <= ALL_CHOICES {
            // In the other order, where two of them touch the same bytes.
            let mut turned: Vec<&Event> = chosen().collect();
            turned.reverse();
            add(&mut turned.into_iter(), false);
        }
    }
    // The last or any other write torn in the middle.
    for (place, event) in pending.iter().enumerate() {
        if let Event::Write(file, at, bytes) = event
            && bytes.len() > 1
        {
            for part in [1, bytes.len() / 2, bytes.len() - 1] {
                let torn = Event::Write(*file, *at, bytes[..part].to_vec());
                let events: Vec<Event> =
                    pending.iter().enumerate().map(|(i, e)| if i == place { torn.clone() } else { e.clone() }).collect();
                add(&mut events.iter(), false);
                add(&mut events[..=place].iter(), false);
            }
        }
    }
    states.sort_by(|a, b| a.1.cmp(&b.1).then(a.0.cmp(&b.0)));
    states.dedup_by(|a, b| a.1 == b.1);
    states
}

/// Numbers that look random and are the same in every run.
pub(crate) fn random(seed: &mut u64) -> u64 {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    *seed
}
