//! Long work: without the interpreter, and with an ear for Ctrl-C.

use std::cell::RefCell;
use std::rc::Rc;

use pyo3::prelude::*;
use trilith::interrupt;

/// Does work that may take long without holding the interpreter.
///
/// # Errors
/// Returns the exception of a signal handler, `KeyboardInterrupt` as a rule.
pub(crate) fn detach_interruptible<R: Send>(py: Python<'_>, work: impl FnOnce() -> R + Send) -> PyResult<R> {
    let (done, raised) = py.detach(|| {
        let raised = Rc::new(RefCell::new(None));
        let heard = raised.clone();
        let go_on = move || match Python::attach(|py| py.check_signals()) {
            Ok(()) => true,
            Err(error) => {
                *heard.borrow_mut() = Some(error);
                false
            }
        };
        let done = interrupt::with_callback(go_on, work);
        (done, raised.borrow_mut().take())
    });
    raised.map_or(Ok(done), Err)
}
