//! Cancellation: every read of a file checks the flag.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use library::bytes::{Source, SourceOrigin, SourceRef};
use library::{Error, ErrorKind, Result};

use crate::error::{TRILITH_OK, TRILITH_USAGE, call, trilith_error};
use crate::handle::{free, get_ref, handle, write_out};

handle! {
    /// Ends calls that are under way. Any number of files may be opened with one, from any thread.
    trilith_cancel, b"tri:cncl", {
        flag: Arc<AtomicBool>,
    }
}

/// The error of a call that was cancelled.
pub fn cancelled() -> Error {
    Error::new(ErrorKind::Cancelled, "cancelled")
}

/// Bytes that are read only until the work is cancelled.
pub struct CancellableSource {
    inner: SourceRef,
    flag: Arc<AtomicBool>,
}

impl CancellableSource {
    /// Wraps a source, whose reads fail once the flag is set.
    pub fn new(inner: SourceRef, flag: Arc<AtomicBool>) -> Self {
        Self { inner, flag }
    }

    fn check_cancelled(&self) -> Result<()> {
        if self.flag.load(Ordering::Relaxed) { Err(cancelled()) } else { Ok(()) }
    }
}

impl Source for CancellableSource {
    fn len(&self) -> u64 {
        self.inner.len()
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<()> {
        self.check_cancelled()?;
        self.inner.read_at(offset, into)
    }

    fn view(&self, offset: u64, len: u64) -> Option<&[u8]> {
        // Without a view the caller falls back to `read_at`, which reports the cancellation.
        self.check_cancelled().ok()?;
        self.inner.view(offset, len)
    }

    fn prefetch(&self, ranges: &[Range<u64>]) -> Result<()> {
        self.check_cancelled()?;
        self.inner.prefetch(ranges)
    }

    fn stream(&self, range: Range<u64>, piece: usize, take: &mut dyn FnMut(&mut [u8]) -> Result<()>) -> Result<bool> {
        self.inner.stream(range, piece, &mut |bytes| {
            self.check_cancelled()?;
            take(bytes)
        })
    }

    fn origin(&self) -> Option<SourceOrigin<'_>> {
        Some(SourceOrigin::Same(&*self.inner))
    }
}

/// Makes a handle that cancels calls, for trilith_options_cancel.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trilith_cancel_new(out: *mut *mut trilith_cancel, error: *mut *mut trilith_error) -> i32 {
    call!(error, write_out(out, trilith_cancel::into_handle(Arc::default())))
}

/// Ends all calls that read a file which was opened with this: they return TRILITH_CANCELLED at their next read. From then on
/// those files cannot be read. Any thread, at any time, a signal handler included.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trilith_cancel_now(cancel: *const trilith_cancel) -> i32 {
    // SAFETY: the caller keeps the rules of the header. Nothing is allocated where the handle is right.
    match unsafe { get_ref(cancel) } {
        Ok(cancel) => {
            cancel.flag.store(true, Ordering::Relaxed);
            TRILITH_OK
        }
        Err(_) => TRILITH_USAGE,
    }
}

/// Frees it. Null is allowed. Files that were opened with it stay open and cannot be cancelled any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trilith_cancel_free(cancel: *mut trilith_cancel) {
    // SAFETY: the caller keeps the rules of the header.
    unsafe { free(cancel) }
}
