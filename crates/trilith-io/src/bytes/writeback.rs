//! Bytes on their way to a disk while more are written.

use std::fs::File;
#[cfg(target_os = "linux")]
use std::io::Seek;

/// Bytes that are written before the system is asked to begin with them.
#[cfg(target_os = "linux")]
const MIN_WRITEBACK: u64 = 2 << 20;

/// Asks the system to begin writing the bytes of a file to its disk while more are written, if it can (Linux). The sync at the
/// end then waits for few of them. It is no sync: nothing is known to be on the disk before that.
#[derive(Debug, Default)]
pub(super) struct Writeback {
    /// Bytes written since the last request.
    #[cfg(target_os = "linux")]
    written: u64,
    /// End of the bytes that were requested already.
    #[cfg(target_os = "linux")]
    begun: u64,
}

impl Writeback {
    /// Counts bytes that were written before the position of a file.
    #[cfg(target_os = "linux")]
    pub(super) fn count(&mut self, file: &mut File, bytes: usize) {
        self.written += bytes as u64;
        if self.written >= MIN_WRITEBACK {
            self.request(file);
        }
    }

    /// Asks for the bytes before the position of a file.
    #[cfg(target_os = "linux")]
    pub(super) fn request(&mut self, file: &mut File) {
        use rustix::fs::{Advice, fadvise};
        self.written = 0;
        let Ok(end) = file.stream_position() else { return };
        let range = std::num::NonZeroU64::new(end.saturating_sub(self.begun));
        if range.is_some() {
            // Linux begins to write the range and gives up the memory of what is on the disk, which nothing of it is so soon.
            // `sync_file_range` does the first part alone, but has no safe form.
            let _ = fadvise(&*file, self.begun, range, Advice::DontNeed);
            self.begun = end;
        }
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn count(&mut self, _: &mut File, _: usize) {}

    #[cfg(not(target_os = "linux"))]
    pub(super) fn request(&mut self, _: &mut File) {}
}
