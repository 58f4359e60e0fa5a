//! What the tests of the command share: running it with a time limit, and finding the sample files.

#![allow(dead_code, reason = "each test program uses a part of it")]

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

#[allow(unused_imports, reason = "each test program uses a part of it")]
pub(crate) use trilith_sample::{is_sampled, sample};

/// No command of the tests has reason to take longer, however slow the machine.
const TIME_LIMIT: Duration = Duration::from_secs(120);

/// What a command said, and how it ended.
pub(crate) struct Ended {
    pub stdout: Vec<u8>,
    pub stderr: String,
    /// `Err` where a signal or the time limit ended it.
    pub status: Result<i32, String>,
}

/// The command under test, with an environment that does not depend on the machine.
pub(crate) fn trilith() -> Command {
    let program = std::env::var_os("TRILITH_BIN").unwrap_or_else(|| env!("CARGO_BIN_EXE_trilith").into());
    let mut command = Command::new(program);
    for name in ["TRILITH_LIMITS", "CLICOLOR_FORCE", "FORCE_COLOR"] {
        command.env_remove(name);
    }
    command.env("NO_COLOR", "1").env("COLUMNS", "100").env("TZ", "UTC").env("LC_ALL", "C.UTF-8");
    // The time in a file is the same in every run.
    command.env("SOURCE_DATE_EPOCH", "1700000000");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Runs a command to its end, with `input` through a pipe if there is any.
pub(crate) fn run(mut command: Command, input: Option<Vec<u8>>) -> Ended {
    if input.is_some() {
        command.stdin(Stdio::piped());
    }
    let mut child = command.spawn().expect("the command starts");
    if let (Some(input), Some(mut pipe)) = (input, child.stdin.take()) {
        // A command that does not read its input closes the pipe: that is not a fault.
        std::thread::spawn(move || std::io::Write::write_all(&mut pipe, &input));
    }
    finish(child)
}

/// Waits for a command and takes what it says; kills it after the time limit.
pub(crate) fn finish(mut child: Child) -> Ended {
    let stdout = reader(child.stdout.take());
    let stderr = reader(child.stderr.take());
    let start = Instant::now();
    let mut pause = Duration::from_micros(500);
    let status = loop {
        match child.try_wait().expect("the command can be waited for") {
            Some(status) => break code(status),
            None if start.elapsed() > TIME_LIMIT => {
                let _ = child.kill();
                let _ = child.wait();
                break Err(format!("it did not end in {} s", TIME_LIMIT.as_secs()));
            }
            None => std::thread::sleep(pause),
        }
        pause = (pause * 2).min(Duration::from_millis(20));
    };
    let stdout = stdout.join().unwrap_or_default();
    let stderr = String::from_utf8_lossy(&stderr.join().unwrap_or_default()).into_owned();
    Ended { stdout, stderr, status }
}

fn code(status: ExitStatus) -> Result<i32, String> {
    status.code().ok_or_else(|| format!("it was ended by a signal: {status}"))
}

fn reader(stream: Option<impl Read + Send + 'static>) -> std::thread::JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut stream) = stream {
            let _ = stream.read_to_end(&mut bytes);
        }
        bytes
    })
}

/// Prints a figure that is worth seeing also where all tests pass: the harness keeps back what `println!` says.
pub(crate) fn say(figure: &str) {
    let _ = std::io::Write::write_all(&mut std::io::stderr(), format!("{figure}\n").as_bytes());
}

/// The repository's root.
pub(crate) fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository is there")
}

/// The folder of material beside the repository: `TRILITH_SHARED`, or `shared` in a folder above.
pub(crate) fn shared() -> Option<PathBuf> {
    let set = std::env::var_os("TRILITH_SHARED").map(PathBuf::from);
    let above: Vec<PathBuf> = repository().ancestors().skip(1).map(|folder| folder.join("shared")).collect();
    set.into_iter().chain(above).find(|folder| folder.join("corpus").is_dir())
}

/// Every file below `folder`, sorted.
pub(crate) fn files(folder: &Path) -> Vec<PathBuf> {
    let mut folders = vec![folder.to_path_buf()];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display())) {
            let path = entry.expect("the folder can be listed").path();
            if path.is_dir() { folders.push(path) } else { found.push(path) }
        }
    }
    found.sort();
    found
}

/// Does `work` on every item, on as many threads as there are processors, and keeps the order.
pub(crate) fn in_parallel<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = std::sync::atomic::AtomicUsize::new(0);
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    let mut done: Vec<(usize, R)> = std::thread::scope(|scope| {
        let worker = || {
            let mut mine = Vec::new();
            loop {
                let at = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                let Some(item) = items.get(at) else { return mine };
                mine.push((at, work(item)));
            }
        };
        let handles: Vec<_> = (0..threads).map(|_| scope.spawn(worker)).collect();
        handles.into_iter().flat_map(|handle| handle.join().expect("no test thread panics")).collect()
    });
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, result)| result).collect()
}
