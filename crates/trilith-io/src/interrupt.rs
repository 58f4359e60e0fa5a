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
const EVERY: Duration = Duration::from_millis(50);

thread_local! {
    static NOW: RefCell<Option<Work>> = const { RefCell::new(None) };
}

/// The work that this thread does.
#[derive(Clone)]
struct Work {
    over: Arc<AtomicBool>,
    /// Callback of the caller, on the thread that began the work; `None` on helper threads and if a flag ends the work.
    question: Option<Rc<Question>>,
}

struct Question {
    go_on: Box<dyn Fn() -> bool>,
    last: Cell<Instant>,
}

/// Does `work`, and calls `go_on` about every 50 milliseconds. If that returns false, the work soon fails, and its
/// output stays as it was before.
///
/// ```
/// use trilith_io::interrupt::{check, until};
/// let done = until(|| false, || loop {
///     if let Err(error) = check() {
///         return error;
///     }
/// });
/// assert_eq!(done.kind(), trilith_io::ErrorKind::Cancelled);
/// ```
pub fn until<R>(go_on: impl Fn() -> bool + 'static, work: impl FnOnce() -> R) -> R {
    let question = Question { go_on: Box::new(go_on), last: Cell::new(Instant::now()) };
    with(Some(Work { over: Arc::default(), question: Some(Rc::new(question)) }), work)
}

/// Does `work`, which fails soon once `flag` is true; any thread may set it.
///
/// ```
/// use std::sync::Arc;
/// use trilith_io::interrupt::{check, until_set};
/// let work = || (0..10).try_for_each(|_| check());
/// assert!(until_set(Arc::new(false.into()), work).is_ok());
/// assert!(until_set(Arc::new(true.into()), work).is_err());
/// ```
pub fn until_set<R>(flag: Arc<AtomicBool>, work: impl FnOnce() -> R) -> R {
    with(Some(Work { over: flag, question: None }), work)
}

/// Does `work` to its end whatever is asked: what undoes a change must not be given up.
pub(crate) fn never<R>(work: impl FnOnce() -> R) -> R {
    with(None, work)
}

/// Does `work` as the work `now`, and puts back what this thread did before.
fn with<R>(now: Option<Work>, work: impl FnOnce() -> R) -> R {
    struct Back(Option<Work>);
    impl Drop for Back {
        fn drop(&mut self) {
            NOW.with(|place| place.replace(self.0.take()));
        }
    }
    let _back = Back(NOW.with(|place| place.replace(now)));
    work()
}

/// Fails if the work of this thread is to end.
///
/// # Errors
/// Returns [`ErrorKind::Cancelled`] if the caller gave the work up.
pub fn check() -> Result<()> {
    // The callback may do other work on this thread, so nothing is borrowed during the call.
    let Some(work) = NOW.with(|now| now.borrow().clone()) else { return Ok(()) };
    if let Some(question) = &work.question
        && question.last.get().elapsed() >= EVERY
    {
        question.last.set(Instant::now());
        if !(question.go_on)() {
            work.over.store(true, Ordering::Relaxed);
        }
    }
    if work.over.load(Ordering::Relaxed) { Err(interrupted()) } else { Ok(()) }
}

/// Returns `true` if anybody may end the work of this thread.
#[doc(hidden)]
pub fn is_heard() -> bool {
    NOW.with(|now| now.borrow().is_some())
}

#[cold]
fn interrupted() -> Error {
    Error::new(ErrorKind::Cancelled, "cancelled")
}

/// State that a helper thread shares with the work of this thread.
pub(crate) struct Shared(Option<Arc<AtomicBool>>);

/// The work of this thread, for a helper.
pub(crate) fn shared() -> Shared {
    Shared(NOW.with(|now| now.borrow().as_ref().map(|work| work.over.clone())))
}

impl Shared {
    /// Does a helper's part of the work.
    pub(crate) fn help<R>(self, work: impl FnOnce() -> R) -> R {
        with(self.0.map(|over| Work { over, question: None }), work)
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
        let done: Result<Vec<()>> = until(|| false, || crate::threads::each((0..8).collect(), busy));
        assert_eq!(done.unwrap_err().kind(), ErrorKind::Cancelled);
        assert!(begun.elapsed() < Duration::from_secs(5));
        assert!(check().is_ok());
    }

    #[test]
    fn what_undoes_is_not_given_up() {
        until(
            || false,
            || {
                while check().is_ok() {}
                assert!(never(check).is_ok() && check().is_err());
            },
        );
    }
}
