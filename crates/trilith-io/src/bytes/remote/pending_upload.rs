//! The uploads that this process has begun and not ended, so that a signal which ends it can give them up: a service keeps their
//! parts, and some charge for them.

use std::sync::{Condvar, Mutex, PoisonError};

use crate::error::Result;
use crate::threads::{for_each_concurrent, lock};

/// Gives an upload up. Returns `false` if the service did not answer.
pub(super) type AbortFn = Box<dyn FnOnce() -> bool + Send>;

/// An upload in the list of this process.
pub(super) struct PendingUpload(u64);

#[derive(Default)]
struct PendingUploads {
    next: u64,
    /// Number of requests on the way that begin an upload.
    starting: usize,
    /// Each with the name of the object and its end.
    open: Vec<(u64, String, AbortFn)>,
    /// `true` if a signal ends the process, which then begins no more uploads.
    is_ended: bool,
}

static UPLOADS: Mutex<PendingUploads> = Mutex::new(PendingUploads { next: 0, starting: 0, open: Vec::new(), is_ended: false });
static CHANGED: Condvar = Condvar::new();

impl PendingUpload {
    /// Begins an upload, and adds it to the list: a signal waits for the request that begins it. `start` returns what the upload needs,
    /// its name for messages, and what gives it up.
    pub(super) fn start<T>(start: impl FnOnce() -> Result<(T, String, AbortFn)>) -> Result<(T, Self)> {
        let mut uploads = lock(&UPLOADS);
        while uploads.is_ended {
            uploads = CHANGED.wait(uploads).unwrap_or_else(PoisonError::into_inner);
        }
        uploads.starting += 1;
        drop(uploads);
        let started = start();
        let mut uploads = lock(&UPLOADS);
        uploads.starting -= 1;
        CHANGED.notify_all();
        let (value, name, abort) = started?;
        let id = uploads.next;
        uploads.next += 1;
        uploads.open.push((id, name, abort));
        Ok((value, Self(id)))
    }

    /// Gives the upload up.
    pub(super) fn abort(&self) {
        if let Some((_, _, abort)) = self.take() {
            abort();
        }
    }

    fn take(&self) -> Option<(u64, String, AbortFn)> {
        let mut uploads = lock(&UPLOADS);
        let index = uploads.open.iter().position(|(id, ..)| *id == self.0)?;
        Some(uploads.open.swap_remove(index))
    }
}

impl Drop for PendingUpload {
    fn drop(&mut self) {
        self.take();
    }
}

/// Gives up every upload that this process has begun. For a program that a signal ends: a thread that begins another upload
/// afterwards waits for the end of the process. Returns the names of the objects whose parts the service may keep.
pub fn abort_uploads() -> Vec<String> {
    let mut uploads = lock(&UPLOADS);
    uploads.is_ended = true;
    while uploads.starting > 0 {
        uploads = CHANGED.wait(uploads).unwrap_or_else(PoisonError::into_inner);
    }
    let open = std::mem::take(&mut uploads.open);
    drop(uploads);
    let (count, failed) = (open.len(), Mutex::new(Vec::new()));
    let _ = for_each_concurrent(open, count, |(_, name, abort)| {
        if !abort() {
            lock(&failed).push(name);
        }
        Ok(())
    });
    failed.into_inner().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn signal_aborts_open_uploads_only() {
        let aborted = Arc::new(AtomicUsize::new(0));
        let start = |works: bool| {
            let aborted = aborted.clone();
            let abort: AbortFn = Box::new(move || {
                aborted.fetch_add(1, Ordering::Relaxed);
                works
            });
            PendingUpload::start(|| Ok(((), format!("s3://b/{works}"), abort))).map(|(_, pending)| pending)
        };
        drop(start(true));
        let (_open, _failing) = (start(true), start(false));
        assert_eq!(abort_uploads(), ["s3://b/false"]);
        assert_eq!(aborted.load(Ordering::Relaxed), 2);
        assert!(abort_uploads().is_empty());
    }
}
