//! Signals that end a command: the temporary files of what it writes are removed.

use std::sync::{Arc, Once};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::iterator::Signals;
use signal_hook::{flag, low_level};

/// Removes temporary files if a signal ends the process, and makes a file that is larger than allowed (`ulimit -f`) an error.
///
/// Without the thread that waits for them, signals end the process as they do any other.
pub(crate) fn install_handlers() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(start_signal_thread);
}

fn start_signal_thread() {
    // A handler makes the write itself fail, and the message then says why.
    let _ = flag::register(SIGXFSZ, Arc::default());
    let ignored = read_ignored_signals();
    let is_heard = |signal: &i32| ignored.map_or(*signal != SIGHUP, |ignored| ignored >> (signal - 1) & 1 == 0);
    let Ok(mut signals) = Signals::new([SIGINT, SIGTERM, SIGHUP].into_iter().filter(is_heard)) else { return };
    let _ = std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
        for signal in signals.forever() {
            trilith::bytes::remove_temporary_files();
            let _ = low_level::emulate_default_handler(signal);
        }
    });
}

/// Returns the signals that this process was started to ignore, as `nohup` does, or None if the system does not report it.
fn read_ignored_signals() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"))?;
    u64::from_str_radix(mask.trim(), 16).ok()
}
