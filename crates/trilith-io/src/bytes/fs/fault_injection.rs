//! Observation of every change to a file, in tests.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use super::FsOp;

/// The treatment of an act.
#[derive(Debug)]
pub enum FaultAction {
    /// The act is done.
    Proceed,
    /// Only this number of bytes is written.
    ShortWrite(usize),
    /// The act fails with this error.
    Fail(io::Error),
}

/// An observer of every act.
pub trait FsObserver: Send + Sync {
    /// Called before an act.
    fn intercept_act(&self, act: FsOp<'_>) -> FaultAction;
    /// Called after an act that was done.
    fn observe_act(&self, act: FsOp<'_>);
}

static WATCHED: AtomicBool = AtomicBool::new(false);
static WATCH: RwLock<Option<Arc<dyn FsObserver>>> = RwLock::new(None);

/// Sets who sees every act of this process; for tests.
pub fn set_observer(by: Option<Arc<dyn FsObserver>>) {
    WATCHED.store(by.is_some(), Ordering::SeqCst);
    *WATCH.write().unwrap_or_else(PoisonError::into_inner) = by;
}

/// Returns `true` if somebody sees it.
pub(super) fn is_watched() -> bool {
    WATCHED.load(Ordering::Relaxed)
}

/// Does an act; `work` gets the number of bytes that may be written.
pub(super) fn observe<T>(act: FsOp<'_>, work: impl FnOnce(usize) -> io::Result<T>) -> io::Result<T> {
    if !is_watched() {
        return work(usize::MAX);
    }
    let by = WATCH.read().unwrap_or_else(PoisonError::into_inner).clone();
    let Some(by) = by else { return work(usize::MAX) };
    match by.intercept_act(act) {
        FaultAction::Fail(error) => Err(error),
        FaultAction::ShortWrite(most) => {
            let done = work(most)?;
            if let FsOp::Write(path, at, bytes) = act {
                by.observe_act(FsOp::Write(path, at, bytes.get(..most).unwrap_or(bytes)));
            }
            Ok(done)
        }
        FaultAction::Proceed => {
            let done = work(usize::MAX)?;
            by.observe_act(act);
            Ok(done)
        }
    }
}
