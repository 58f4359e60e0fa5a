//! `cargo xtask sanitize`: the tests of unsafe code under AddressSanitizer.

use std::process::Command;

use crate::command::{COMPLETE, SAMPLE, repository_root, run, run_for_output};

/// `cargo xtask sanitize [FILTER…]`: the tests of maps, files and codecs under AddressSanitizer.
pub(crate) fn run_sanitized_tests(arguments: &[String]) -> Result<(), String> {
    let said =
        run_for_output(Command::new("rustc").args(["+nightly", "-vV"])).map_err(|e| format!("no nightly compiler: {e}"))?;
    let host = said.lines().find_map(|line| line.strip_prefix("host: ")).ok_or("the compiler does not say its host")?;
    let mut tests = Command::new("cargo");
    tests.current_dir(repository_root()).env("RUSTUP_TOOLCHAIN", "nightly").env_remove("CARGO").env_remove("RUSTC");
    tests.env("RUSTFLAGS", "-Zsanitizer=address").env("ASAN_OPTIONS", "detect_leaks=0").env(SAMPLE, COMPLETE);
    set_c_flags(&mut tests);
    tests.args(["test", "--locked", "--package", "trilith", "--lib", "--target", host, "--target-dir"]);
    tests.arg(crate::command::target_dir().join("sanitize")).arg("--");
    let usual = ["bytes::", "codec::", "array::pages", "array::number"].map(str::to_owned);
    run(tests.args(if arguments.is_empty() { &usual[..] } else { arguments }))
}

/// The C of zstd is compiled by gcc, whose instrumentation does not fit the sanitizer of LLVM: it reported
/// reads of a constant table as reads of a dead stack.
pub(crate) fn set_c_flags(command: &mut Command) {
    if !run_for_output(Command::new("cc").arg("--version")).is_ok_and(|said| said.contains("clang")) {
        command.env("CFLAGS", "-fno-sanitize=all");
    }
}
