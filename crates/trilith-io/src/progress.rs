//! Progress of long work: bytes done, reported while it runs.

use std::fmt;

/// A progress callback. Any worker thread calls it with the number of bytes done.
///
/// The counts of one call add up to the processed bytes: decoded bytes if blocks are converted, stored bytes if
/// they are verified. `Progress::default()` reports to nothing.
///
/// ```
/// use std::sync::atomic::{AtomicU64, Ordering};
/// use trilith_io::Progress;
/// let done = AtomicU64::new(0);
/// let hear = |bytes| {
///     done.fetch_add(bytes, Ordering::Relaxed);
/// };
/// let progress = Progress::new(&hear);
/// progress.add(2880);
/// progress.add(80);
/// assert_eq!(done.into_inner(), 2960);
/// ```
#[derive(Clone, Copy, Default)]
pub struct Progress<'p>(Option<&'p (dyn Fn(u64) + Sync)>);

impl<'p> Progress<'p> {
    /// Reports to `hear` the bytes done since the last report.
    pub const fn new(hear: &'p (dyn Fn(u64) + Sync)) -> Self {
        Self(Some(hear))
    }

    /// Adds to the bytes that are done.
    pub fn add(self, bytes: u64) {
        if let Some(hear) = self.0 {
            hear(bytes);
        }
    }
}

impl fmt::Debug for Progress<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Progress(heard)" } else { "Progress(unheard)" })
    }
}
