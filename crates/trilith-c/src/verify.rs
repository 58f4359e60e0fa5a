//! Verification of a file, and digests of its content.

use std::ffi::{c_char, c_void};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use library::Progress;
use library::check::VerifyDepth;

use crate::array::trilith_progress;
use crate::cancel::cancelled;
use crate::error::{call, trilith_error};
use crate::handle::{check_out_pointer, get_ref, write_out};
use crate::open::trilith_file;
use crate::strings::into_c_string;

/// A program's function and its pointer, called by one thread at a time.
struct ProblemCallback {
    callback: trilith_progress,
    user_data: Mutex<*mut c_void>,
    stopped: AtomicBool,
}

// SAFETY: the header requires a function that may be called from any thread; the mutex lets one call it at a time.
unsafe impl Sync for ProblemCallback {}

impl ProblemCallback {
    fn report_problem(&self, bytes: u64) {
        let Some(hear) = self.callback else { return };
        let user = self.user_data.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        // SAFETY: the function is the caller's, with the pointer that came with it.
        if unsafe { hear(*user, bytes) } != 0 {
            self.stopped.store(true, Ordering::Relaxed);
        }
    }
}

/// Checks a file: structure, blocks, checksums, and that every array can be read; if `deep` is not 0, that every
/// block decodes. `problems` gets one line for each, or an empty string if there are none. Free it with
/// trilith_string_free. `hear`, which may be null, receives the number of checked bytes. Its result is used only at
/// the end; to end the work early, open the file with trilith_options_cancel.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trilith_verify(
    file: *const trilith_file,
    deep: i32,
    hear: trilith_progress,
    user: *mut c_void,
    problems: *mut *mut c_char,
    error: *mut *mut trilith_error,
) -> i32 {
    call!(error, {
        check_out_pointer(problems)?;
        let file = &get_ref(file)?.file;
        let heard = ProblemCallback { callback: hear, user_data: Mutex::new(user), stopped: AtomicBool::new(false) };
        let tell = |bytes| heard.report_problem(bytes);
        let depth = if deep == 0 { VerifyDepth::Structure } else { VerifyDepth::Decoded };
        let report = file.verify(depth, Progress::new(&tell))?;
        if heard.stopped.load(Ordering::Relaxed) {
            return Err(cancelled());
        }
        write_out(problems, into_c_string(&report.problems().join("\n")))
    })
}
