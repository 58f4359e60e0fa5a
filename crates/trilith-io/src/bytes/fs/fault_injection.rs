//! Observation of every change to a file, in tests.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use super::Act;

/// The treatment of an act.
#[derive(Debug)]
pub enum Answer {
    /// The act is done.
    Go,
    /// Only this number of bytes is written.
    Short(usize),
    /// The act fails with this error.
    Fail(io::Error),
}

/// An observer of every act.
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

/// Returns `true` if somebody sees it.
pub(super) fn is_watched() -> bool {
    WATCHED.load(Ordering::Relaxed)
}

/// Does an act; `work` gets the number of bytes that may be written.
pub(super) fn act<T>(act: Act<'_>, work: impl FnOnce(usize) -> io::Result<T>) -> io::Result<T> {
    if !is_watched() {
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
