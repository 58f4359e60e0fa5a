//! Progress bars: on a terminal, for work that takes a while; none when stderr is piped.

use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::options::Options;

/// A bar that counts bytes.
pub struct Progress(ProgressBar);

impl Progress {
    /// A bar of so many bytes.
    pub fn bytes(doing: &'static str, total: u64, options: &Options) -> Self {
        let bar = ProgressBar::new(total);
        if options.quiet || total < 32 << 20 || !std::io::stderr().is_terminal() {
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
