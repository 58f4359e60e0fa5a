//! Progress bars: on a terminal, for work that takes a while; none when stderr is piped.

use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use trilith::bytes::Watch;

/// A bar that counts bytes.
pub struct Progress(ProgressBar);

impl Progress {
    /// A bar of so many bytes, unless nobody is to be told.
    pub fn bytes(doing: &'static str, total: u64, quiet: bool) -> Self {
        OTHER.store(true, Ordering::Relaxed);
        let bar = ProgressBar::new(total);
        if quiet || total < 32 << 20 || !std::io::stderr().is_terminal() {
            bar.set_draw_target(ProgressDrawTarget::hidden());
        } else if let Ok(style) =
            ProgressStyle::with_template("{msg} {wide_bar} {decimal_bytes}/{decimal_total_bytes} {decimal_bytes_per_sec} {eta}")
        {
            bar.set_style(style);
        }
        bar.set_message(doing);
        Self(bar)
    }

    /// So many more bytes are done.
    pub fn add(&self, bytes: u64) {
        self.0.inc(bytes);
    }

    /// So many bytes are done in all.
    pub fn at(&self, bytes: u64) {
        self.0.set_position(bytes);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// Whether a bar of [`Progress`] is there: two would overwrite each other.
static OTHER: AtomicBool = AtomicBool::new(false);
/// A download that is over sooner needs no bar.
const SOON: Duration = Duration::from_secs(1);

/// Counts what comes from servers, on a terminal, from the first second on.
pub fn watch(quiet: bool) -> Option<Watch> {
    if quiet || !std::io::stderr().is_terminal() {
        return None;
    }
    let start = Instant::now();
    let state: Mutex<(u64, Option<Download>)> = Mutex::new((0, None));
    Some(Arc::new(move |bytes, total| {
        let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
        state.0 += bytes;
        if start.elapsed() < SOON || OTHER.load(Ordering::Relaxed) {
            return;
        }
        let done = state.0;
        state.1.get_or_insert_with(|| Download::new(total)).0.set_position(done);
    }))
}

/// A bar that goes away when the file is closed.
struct Download(ProgressBar);

impl Download {
    fn new(total: Option<u64>) -> Self {
        let (bar, template) = match total {
            Some(total) => {
                (ProgressBar::new(total), "{msg} {wide_bar} {decimal_bytes}/{decimal_total_bytes} {decimal_bytes_per_sec} {eta}")
            }
            None => (ProgressBar::new_spinner(), "{msg} {spinner} {decimal_bytes} {decimal_bytes_per_sec}"),
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.set_message("fetching");
        Self(bar)
    }
}

impl Drop for Download {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
