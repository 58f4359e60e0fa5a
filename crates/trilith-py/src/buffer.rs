//! The one module of the package with `unsafe` (but for the slot in `array.rs` that calls it): bytes of a source lent to Python's
//! buffer protocol.
#![allow(unsafe_code, reason = "the buffer protocol hands out raw pointers")]

use std::ffi::c_int;

use pyo3::exceptions::PyBufferError;
use pyo3::prelude::*;
use pyo3::{ffi, intern};
use trilith::bytes::{BorrowGuard, SourceBacking, SourceRef, stored_ranges, verify_backing};

use crate::detached::detach_interruptible;
use crate::errors::{IntoPyResult, UsageErrorKind};

/// Bytes that a source holds in memory, kept alive as long as anybody uses them; read-only.
#[pyclass(frozen, module = "trilith", name = "_Lent")]
pub(crate) struct BorrowedBuffer {
    source: SourceRef,
    offset: u64,
    len: u64,
    /// Guard that keeps this process from updating these bytes in place.
    _shown: Option<BorrowGuard>,
}

impl BorrowedBuffer {
    /// Returns a range of the source, or `None` if it is not in memory.
    pub(crate) fn new(source: &SourceRef, offset: u64, len: u64) -> Option<Self> {
        source.view(offset, len)?;
        let ranges = || stored_ranges(&**source, offset..offset.saturating_add(len)).ok();
        let shown = source.backing().and_then(SourceBacking::local_file).and_then(|local| Some(local.borrow_ranges(ranges()?)));
        Some(Self { source: source.clone(), offset, len, _shown: shown })
    }

    /// The address of the first byte, for the alignment.
    pub(crate) fn start_address(&self) -> Option<usize> {
        Some(self.source.view(self.offset, self.len)?.as_ptr() as usize)
    }
}

#[pymethods]
impl BorrowedBuffer {
    unsafe fn __getbuffer__(slf: &Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        let lent = slf.get();
        let bytes = lent.source.view(lent.offset, lent.len);
        let bytes = bytes.ok_or_else(|| PyBufferError::new_err("the file was changed or cannot be mapped any more"))?;
        let len = ffi::Py_ssize_t::try_from(bytes.len()).map_err(|_| PyBufferError::new_err("more than 2^63 bytes"))?;
        // SAFETY: `view` is the consumer's, as the protocol says. The slice borrows the source, which
        // this object owns and never replaces (it is frozen), and the buffer holds this object. It is
        // exported read-only, so no consumer writes through the pointer.
        let done = unsafe { ffi::PyBuffer_FillInfo(view, slf.as_ptr(), bytes.as_ptr().cast_mut().cast(), len, 1, flags) };
        if done == 0 { Ok(()) } else { Err(PyErr::fetch(slf.py())) }
    }
}

/// Compares the checksum of the block that a NumPy array is a view of. Arrays with separate memory have none.
///
/// # Errors
/// Returns `FormatError` if the block is damaged.
pub(crate) fn verify_borrowed(array: &Bound<'_, PyAny>) -> PyResult<()> {
    let py = array.py();
    let mut at = array.clone();
    loop {
        if let Ok(lent) = at.cast::<BorrowedBuffer>() {
            let source = lent.get().source.clone();
            return detach_interruptible(py, || verify_backing(&*source))?.or_raise_from(UsageErrorKind::Argument, &source);
        }
        let base = at.getattr_opt(intern!(py, "base"))?.filter(|base| !base.is_none());
        match base.map_or_else(|| at.getattr_opt(intern!(py, "obj")), |base| Ok(Some(base)))? {
            Some(owner) if !owner.is_none() => at = owner,
            _ => return Ok(()),
        }
    }
}

/// Answers a request for a buffer of one object with the buffer of another.
///
/// # Safety
/// `view` is what the buffer protocol handed to `__getbuffer__`.
pub(crate) unsafe fn forward_buffer(to: &Bound<'_, PyAny>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
    // SAFETY: both are what the protocol says; the exporter noted in the view is `to`, which it keeps alive.
    let done = unsafe { ffi::PyObject_GetBuffer(to.as_ptr(), view, flags) };
    if done == 0 { Ok(()) } else { Err(PyErr::fetch(to.py())) }
}
