//! Signals that end a command: the temporary files of what it writes are removed, and uploads given up.

use std::sync::{Arc, Once, mpsc};
use std::time::Duration;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::iterator::Signals;
use signal_hook::{flag, low_level};
use trilith::bytes::display_name;

/// Time for giving uploads up, before a signal ends the process anyway.
const ABORT_LIMIT: Duration = Duration::from_secs(5);

/// Removes temporary files and the parts of uploads if a signal ends the process, and makes a file that is larger than allowed (`ulimit -f`) an error.
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
            abort_uploads();
            let _ = low_level::emulate_default_handler(signal);
        }
    });
}

/// Gives up the uploads of this process, and says if a service may keep their parts.
fn abort_uploads() {
    let (sender, receiver) = mpsc::channel();
    let helper = std::thread::Builder::new().name("uploads".to_owned()).spawn(move || {
        let _ = sender.send(trilith::bytes::abort_uploads());
    });
    if helper.is_err() {
        return;
    }
    match receiver.recv_timeout(ABORT_LIMIT) {
        Ok(names) => {
            for name in names {
                let name = display_name(&name);
                warn(&format!("cannot remove the parts of the upload of {name}: the service refuses the request and keeps them"));
            }
        }
        Err(_) => warn("cannot remove the parts of an upload: the service does not answer, and keeps them"),
    }
}

fn warn(message: &str) {
    crate::output::eprint_line(&format!("warning: {message}"));
}

/// Returns the signals that this process was started to ignore, as `nohup` does, or None if the system does not report it.
fn read_ignored_signals() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"))?;
    u64::from_str_radix(mask.trim(), 16).ok()
}
