//! Cooperative cancellation of long work, by polling a callback or a flag.
//!
//! Work that reads, decodes, encodes or copies calls [`check`] before each piece. Helper threads receive the
//! answer. The callback itself runs on the thread that began the work.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::error::{Error, ErrorKind, Result};

/// Time between two calls of the callback.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

thread_local! {
    static NOW: RefCell<Option<CurrentWork>> = const { RefCell::new(None) };
}

/// The work that this thread does.
#[derive(Clone)]
struct CurrentWork {
    is_cancelled: Arc<AtomicBool>,
    /// Callback of the caller, on the thread that began the work; `None` on helper threads and if a flag ends the work.
    question: Option<Rc<CancelQuery>>,
}

struct CancelQuery {
    callback: Box<dyn Fn() -> bool>,
    last_asked: Cell<Instant>,
}

/// Does `work`, and calls `go_on` about every 50 milliseconds. If that returns false, the work soon fails, and its
/// output stays as it was before.
///
/// ```
/// use trilith_io::interrupt::{check, with_callback};
/// let done = with_callback(|| false, || loop {
///     if let Err(error) = check() {
///         return error;
///     }
/// });
/// assert_eq!(done.kind(), trilith_io::ErrorKind::Cancelled);
/// ```
pub fn with_callback<R>(go_on: impl Fn() -> bool + 'static, work: impl FnOnce() -> R) -> R {
    let question = CancelQuery { callback: Box::new(go_on), last_asked: Cell::new(Instant::now()) };
    with_work(Some(CurrentWork { is_cancelled: Arc::default(), question: Some(Rc::new(question)) }), work)
}

/// Does `work`, which fails soon once `flag` is true; any thread may set it.
///
/// ```
/// use std::sync::Arc;
/// use trilith_io::interrupt::{check, with_flag};
/// let work = || (0..10).try_for_each(|_| check());
/// assert!(with_flag(Arc::new(false.into()), work).is_ok());
/// assert!(with_flag(Arc::new(true.into()), work).is_err());
/// ```
pub fn with_flag<R>(flag: Arc<AtomicBool>, work: impl FnOnce() -> R) -> R {
    with_work(Some(CurrentWork { is_cancelled: flag, question: None }), work)
}

/// Does `work` to its end whatever is asked: what undoes a change must not be given up.
pub(crate) fn uninterrupted<R>(work: impl FnOnce() -> R) -> R {
    with_work(None, work)
}

/// Does `work` as a part of the work of this thread: [`end_part`] ends it and what its helpers do, and nothing else.
pub(crate) fn with_part<R>(work: impl FnOnce() -> R) -> R {
    let whole = NOW.with(|now| now.borrow().clone());
    with_callback(move || whole.as_ref().is_none_or(|whole| whole.check().is_ok()), work)
}

/// Ends the part of the work that this thread does ([`with_part`]).
pub(crate) fn end_part() {
    NOW.with(|now| now.borrow().iter().for_each(|part| part.is_cancelled.store(true, Ordering::Relaxed)));
}

/// Does `work` as the work `now`, and puts back what this thread did before.
fn with_work<R>(now: Option<CurrentWork>, work: impl FnOnce() -> R) -> R {
    struct RestoreGuard(Option<CurrentWork>);
    impl Drop for RestoreGuard {
        fn drop(&mut self) {
            NOW.with(|place| place.replace(self.0.take()));
        }
    }
    let _back = RestoreGuard(NOW.with(|place| place.replace(now)));
    work()
}

/// Fails if the work of this thread is to end.
///
/// # Errors
/// Returns [`ErrorKind::Cancelled`] if the caller gave the work up.
pub fn check() -> Result<()> {
    // The callback may do other work on this thread, so nothing is borrowed during the call.
    let work = NOW.with(|now| now.borrow().clone());
    work.map_or(Ok(()), |work| work.check())
}

impl CurrentWork {
    fn check(&self) -> Result<()> {
        if let Some(question) = &self.question
            && question.last_asked.get().elapsed() >= POLL_INTERVAL
        {
            question.last_asked.set(Instant::now());
            if !(question.callback)() {
                self.is_cancelled.store(true, Ordering::Relaxed);
            }
        }
        if self.is_cancelled.load(Ordering::Relaxed) { Err(cancelled_error()) } else { Ok(()) }
    }
}

/// Returns `true` if anybody may end the work of this thread.
#[doc(hidden)]
pub fn is_cancellable() -> bool {
    NOW.with(|now| now.borrow().is_some())
}

#[cold]
fn cancelled_error() -> Error {
    Error::new(ErrorKind::Cancelled, "cancelled")
}

/// State that a helper thread shares with the work of this thread.
pub(crate) struct SharedWork(Option<Arc<AtomicBool>>);

/// The work of this thread, for a helper.
pub(crate) fn share_work() -> SharedWork {
    SharedWork(NOW.with(|now| now.borrow().as_ref().map(|work| work.is_cancelled.clone())))
}

impl SharedWork {
    /// Does a helper's part of the work.
    pub(crate) fn run_as_helper<R>(self, work: impl FnOnce() -> R) -> R {
        with_work(self.0.map(|over| CurrentWork { is_cancelled: over, question: None }), work)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cancel_reaches_helper_threads() {
        let begun = Instant::now();
        let busy = |_: u32| {
            loop {
                check()?;
                std::thread::sleep(Duration::from_millis(1));
            }
        };
        let done: Result<Vec<()>> = with_callback(|| false, || crate::threads::map_parallel((0..8).collect(), busy));
        assert_eq!(done.unwrap_err().kind(), ErrorKind::Cancelled);
        assert!(begun.elapsed() < Duration::from_secs(5));
        assert!(check().is_ok());
    }

    #[test]
    fn what_undoes_is_not_given_up() {
        with_callback(
            || false,
            || {
                while check().is_ok() {}
                assert!(uninterrupted(check).is_ok() && check().is_err());
            },
        );
    }
}
