//! Progress of a command: one bar on a terminal, from the first second on; nothing if standard error is piped.
//!
//! The progress of a command that reads its input once is the number of bytes read, even inside of a block. Other
//! commands report it by a [`ProgressPart`].

use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use trilith::bytes::{DownloadProgress, bytes_read};

/// Work that is over sooner needs no bar.
const SHOW_DELAY: Duration = Duration::from_secs(1);
/// Time between two steps of the bar.
const TICK_INTERVAL: Duration = Duration::from_millis(100);

/// Bytes that are to be read, as far as that is known.
static EXPECTED_BYTES: AtomicU64 = AtomicU64::new(0);
/// Bytes that came from servers.
static FETCHED_BYTES: AtomicU64 = AtomicU64::new(0);
/// Progress reported by the command: bytes done, and to do.
static DONE: AtomicU64 = AtomicU64::new(0);
static TOTAL: AtomicU64 = AtomicU64::new(0);
/// The bar, while a command runs that may show one.
static BAR: Mutex<Option<ProgressBar>> = Mutex::new(None);

/// A bar for the time of a command.
pub(crate) struct ProgressDisplay(Option<(Arc<AtomicBool>, std::thread::JoinHandle<()>)>);

impl ProgressDisplay {
    /// Shows how far a command is, if it takes a while and somebody looks.
    pub(crate) fn start_bar(doing: &str, quiet: bool) -> Self {
        if quiet || !std::io::stderr().is_terminal() {
            return Self(None);
        }
        for count in [&EXPECTED_BYTES, &FETCHED_BYTES, &DONE, &TOTAL] {
            count.store(0, Ordering::Relaxed);
        }
        let over = Arc::new(AtomicBool::new(false));
        let (seen, doing) = (over.clone(), doing.to_owned());
        Self(Some((over, std::thread::spawn(move || run_bar_updates(&doing, &seen)))))
    }
}

impl Drop for ProgressDisplay {
    fn drop(&mut self) {
        if let Some((over, thread)) = self.0.take() {
            over.store(true, Ordering::Relaxed);
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}

fn lock_bar() -> std::sync::MutexGuard<'static, Option<ProgressBar>> {
    BAR.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Moves the bar until the command is over.
fn run_bar_updates(doing: &str, over: &AtomicBool) {
    let (start, before) = (Instant::now(), bytes_read());
    while !over.load(Ordering::Relaxed) {
        std::thread::park_timeout(TICK_INTERVAL);
        if start.elapsed() >= SHOW_DELAY && !over.load(Ordering::Relaxed) {
            let read = bytes_read().saturating_sub(before).saturating_add(FETCHED_BYTES.load(Ordering::Relaxed));
            let (done, total) = bar_position(read);
            let mut bar = lock_bar();
            let bar = bar.get_or_insert_with(|| new_bar(doing, start));
            update_bar_style(bar, total);
            bar.set_position(done);
        }
    }
    if let Some(bar) = lock_bar().take() {
        bar.finish_and_clear();
    }
}

/// Returns the number of bytes done, and the total or 0 if that is unknown.
fn bar_position(read: u64) -> (u64, u64) {
    let (done, to_do) = (DONE.load(Ordering::Relaxed), TOTAL.load(Ordering::Relaxed));
    let (done, total) = if to_do > 0 { (done, to_do) } else { (read, EXPECTED_BYTES.load(Ordering::Relaxed)) };
    // Bytes that are read twice do not go further than the end.
    (if total > 0 { done.min(total) } else { done }, total)
}

fn new_bar(doing: &str, start: Instant) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr()).with_elapsed(start.elapsed());
    bar.set_message(doing.to_owned());
    bar
}

fn update_bar_style(bar: &ProgressBar, total: u64) {
    if bar.length() == Some(total) {
        return;
    }
    let template = match total {
        0 => "{msg} {spinner} {decimal_bytes} {decimal_bytes_per_sec}",
        _ => "{msg} {wide_bar} {percent}% {decimal_bytes}/{decimal_total_bytes} {decimal_bytes_per_sec}, {eta} left",
    };
    bar.set_length(total);
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
}

/// Does something that writes to the terminal without a bar in between.
pub(crate) fn with_bar_hidden<T>(write: impl FnOnce() -> T) -> T {
    match lock_bar().as_ref() {
        Some(bar) => bar.suspend(write),
        None => write(),
    }
}

/// Announces the number of bytes that will be read.
pub(crate) fn add_expected(bytes: u64) {
    EXPECTED_BYTES.fetch_add(bytes, Ordering::Relaxed);
}

/// A part of the work whose size is known.
pub(crate) struct ProgressPart {
    last_reported: AtomicU64,
}

impl ProgressPart {
    /// Adds to the bytes that are to be done.
    pub(crate) fn bytes(total: u64) -> Self {
        TOTAL.fetch_add(total, Ordering::Relaxed);
        Self { last_reported: AtomicU64::new(0) }
    }

    /// Adds to the bytes that are done.
    pub(crate) fn add(&self, bytes: u64) {
        self.last_reported.fetch_add(bytes, Ordering::Relaxed);
        DONE.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// Counts what comes from servers.
pub(crate) fn download_callback(quiet: bool) -> Option<DownloadProgress> {
    if quiet || !std::io::stderr().is_terminal() {
        return None;
    }
    Some(Arc::new(|bytes, _| {
        FETCHED_BYTES.fetch_add(bytes, Ordering::Relaxed);
    }))
}
