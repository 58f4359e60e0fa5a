//! `trilith stream` as a process: rows are in the file in time, and a process that is killed leaves whole rows.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may stop where something is not as expected")]
#![allow(clippy::disallowed_methods, reason = "a test lays out files of its own")]
#![cfg(unix)]

mod common;

use std::io::Write as _;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

const ROW: usize = 6;

fn stream(folder: &Path, words: &[&str]) -> Child {
    let mut command = common::trilith();
    command.current_dir(folder).args(["stream", "x.asdf#/t", "--dtype", "int16", "--row-shape", "3"]).args(words);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// Rows of which each holds its number three times.
fn rows(range: std::ops::Range<i16>) -> Vec<u8> {
    range.flat_map(|n| [n; 3]).flat_map(i16::to_ne_bytes).collect()
}

/// The rows that a reader sees, each of which must be whole and the next.
fn seen(folder: &Path) -> usize {
    let path = folder.join("x.asdf");
    if !path.exists() {
        return 0;
    }
    let read = || trilith::open(&path)?.array("/t")?.load::<i16>();
    // A reader gets an error if the file grows, and opens it again.
    let values = loop {
        match read() {
            Ok(values) => break values,
            Err(error) => assert!(error.to_string().contains("open it again"), "{error}"),
        }
    };
    for (n, row) in values.chunks(3).enumerate() {
        assert_eq!(row, [n as i16; 3], "row {n}");
    }
    assert_eq!(values.len() * 2 % ROW, 0);
    values.len() / 3
}

fn wait_for(count: usize, folder: &Path) {
    let begun = Instant::now();
    while seen(folder) < count {
        assert!(begun.elapsed() < Duration::from_secs(60), "{count} rows do not come");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn pending_rows_are_written_without_further_input() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = stream(folder.path(), &["--every-seconds", "0.05"]);
    let mut pipe = child.stdin.take().unwrap();
    // The last one is not whole yet.
    pipe.write_all(&rows(0..5)[..5 * ROW - 1]).unwrap();
    pipe.flush().unwrap();
    wait_for(4, folder.path());
    assert_eq!(seen(folder.path()), 4);
    pipe.write_all(&rows(0..5)[5 * ROW - 1..]).unwrap();
    pipe.flush().unwrap();
    wait_for(5, folder.path());
    drop(pipe);
    assert!(child.wait().unwrap().success());
    assert_eq!(seen(folder.path()), 5);
}

#[test]
fn killed_process_keeps_whole_rows_and_last_checkpoint() {
    for round in 0..24u64 {
        let folder = tempfile::tempdir().unwrap();
        let mut child = stream(folder.path(), &["--every-bytes", "600", "--every-seconds", "0.001"]);
        let mut pipe = child.stdin.take().unwrap();
        let feeder = std::thread::spawn(move || {
            for from in (0..30_000).step_by(50) {
                // Pieces that end anywhere in a row.
                for piece in rows(from..from + 50).chunks(77) {
                    if pipe.write_all(piece).is_err() {
                        return;
                    }
                }
            }
        });
        let before = if round % 2 == 0 {
            wait_for(round as usize * 20 + 1, folder.path());
            seen(folder.path())
        } else {
            std::thread::sleep(Duration::from_millis(round * 5));
            0
        };
        child.kill().unwrap();
        child.wait().unwrap();
        feeder.join().unwrap();
        let left = seen(folder.path());
        assert!(left >= before, "{left} rows are left of {before}");
        // It continues after them.
        let mut again = stream(folder.path(), &[]);
        again.stdin.take().unwrap().write_all(&rows(left as i16..left as i16 + 10)).unwrap();
        assert!(again.wait().unwrap().success(), "round {round}");
        assert_eq!(seen(folder.path()), left + 10);
        let names: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["x.asdf"], "round {round}");
    }
}
