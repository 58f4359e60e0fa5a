//! How far a command is, on a terminal: by bytes inside of one block too; and nothing where nobody looks.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may stop where things are not as expected")]
#![cfg(unix)]

mod common;

use std::process::{Command, Stdio};

use common::{run, say, trilith};
use trilith::asdf::{ArrayOptions, AsdfBuilder, Target};
use trilith::{Array, Value};

/// The numbers of the block: so many pieces of it that a fast machine, too, is still at several of them
/// after the time that the bar waits before it appears.
const COUNT: u32 = 8 << 20;

/// One plain block that takes seconds to compress.
fn one_block(path: &std::path::Path) {
    let mut state = 1u64;
    let mut numbers = vec![0u32; COUNT as usize];
    for number in &mut numbers {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        *number = (state >> 33) as u32;
    }
    let mut builder = AsdfBuilder::new(Target::latest());
    let data = builder.array(&Array::from_slice(&numbers, &[u64::from(COUNT)]).unwrap(), &ArrayOptions::default()).unwrap();
    builder.write(path, Value::map([("data", data)])).unwrap();
}

#[test]
fn long_command_reports_progress_within_block() {
    let folder = tempfile::tempdir().unwrap();
    one_block(&folder.path().join("x.asdf"));
    // Piped: not a word but the result.
    let mut piped = trilith();
    piped.current_dir(folder.path()).args(["convert", "x.asdf", "y.asdf", "--codec", "bzp2"]);
    let piped = run(piped, None);
    assert_eq!((piped.status.clone(), piped.stderr.lines().count()), (Ok(0), 1), "{}", piped.stderr);
    if Command::new("script").arg("--version").stdout(Stdio::null()).status().is_err() {
        assert!(std::env::var_os("CI").is_none(), "script is not installed, and CI is set");
        return say("skipped: a bar on a terminal, since script is not installed");
    }
    let mut shown = Command::new("script");
    let program = std::env::var("TRILITH_BIN").unwrap_or_else(|_| env!("CARGO_BIN_EXE_trilith").to_owned());
    shown.current_dir(folder.path()).args([
        "-qec",
        &format!("{program} convert x.asdf z.asdf --codec bzp2 --threads 1"),
        "/dev/null",
    ]);
    shown.env("TERM", "xterm").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let shown = run(shown, None);
    let text = String::from_utf8_lossy(&shown.stdout).into_owned();
    let mut seen: Vec<u32> = text
        .split('%')
        .filter_map(|part| part.rsplit(' ').next()?.parse().ok())
        .filter(|percent| (1..100).contains(percent))
        .collect();
    seen.dedup();
    assert!(seen.len() >= 2 && seen.is_sorted() && text.contains("left"), "{seen:?}\n{text}");
}
