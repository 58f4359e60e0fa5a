//! What is shown on a terminal fits into it and uses it; what other programs read is whole.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may stop where things are not as expected")]
#![allow(clippy::disallowed_methods, reason = "tests make files on their own")]
#![cfg(unix)]

mod common;

use std::path::Path;
use std::process::{Command, Stdio};

use common::{run, say, trilith};

/// What a command shows on a terminal of this width.
fn shown(folder: &Path, width: usize, words: &str) -> String {
    let mut shown = Command::new("script");
    let program = std::env::var("TRILITH_BIN").unwrap_or_else(|_| env!("CARGO_BIN_EXE_trilith").to_owned());
    shown.current_dir(folder).args(["-qec", &format!("stty rows 24 cols {width}; {program} {words}"), "/dev/null"]);
    shown.env("TERM", "xterm").env("NO_COLOR", "1").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    String::from_utf8_lossy(&run(shown, None).stdout).replace('\r', "")
}

#[test]
fn tables_and_trees_fill_terminal_width() {
    if Command::new("script").arg("--version").stdout(Stdio::null()).status().is_err() {
        assert!(std::env::var_os("CI").is_none(), "script is not installed, and CI is set");
        return say("skipped: widths of terminals, since script is not installed");
    }
    let folder = tempfile::tempdir().unwrap();
    let (long, word) = ("long ".repeat(60), "w".repeat(150));
    for name in ["a-name-that-goes-on/for-a-while/and-ends-in-a-number-0001.asdf", "b.asdf"] {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let text = format!(
            "#ASDF 1.0.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n--- !core/asdf-1.1.0\nlong: {long}\nword: {word}\nn: 12345\n\
             list: [{}]\ndeep: {{er: {{still: {word}}}}}\n...\n",
            ["\"abcdefghijklmnopqrst\""; 12].join(", ")
        );
        std::fs::write(path, text).unwrap();
    }
    let longest = |text: &str| text.lines().map(|line| line.chars().count()).max().unwrap_or(0);
    for command in ["tree b.asdf --tags", "table . -c word=/word -c n=/n -c long=/long"] {
        for width in [40, 80, 200] {
            let text = shown(folder.path(), width, command);
            assert!(longest(&text) <= width, "{command} in {width}:\n{text}");
            assert!(longest(&text) >= width - 1, "{command} leaves room in {width}:\n{text}");
            assert!(text.contains("12345") && text.contains('…'), "{command} in {width}:\n{text}");
        }
    }
    // Output that would run through a terminal for minutes is not begun.
    let zeros = "#ASDF 1.0.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n--- !core/asdf-1.1.0\n\
                 x: !core/ndarray-1.1.0 {source: 0, datatype: uint8, shape: [400, 400], strides: [0, 0], byteorder: little}\n...\n";
    let mut bytes = zeros.as_bytes().to_vec();
    bytes.extend(b"\xd3BLK\0\x30");
    bytes.extend([0; 8]);
    (0..3).for_each(|_| bytes.extend(1u64.to_be_bytes()));
    bytes.extend([0; 17]);
    std::fs::write(folder.path().join("zeros.asdf"), bytes).unwrap();
    let text = shown(folder.path(), 80, "get zeros.asdf#/x");
    assert!(text.contains("160000 elements") && text.contains("--slice"), "{text}");
    assert!(shown(folder.path(), 80, "get zeros.asdf#/x --slice 0:2,0:3").contains("0 0 0"));
    // Another program gets all of it.
    let mut piped = trilith();
    piped.current_dir(folder.path()).args(["table", ".", "-c", "word=/word", "-c", "long=/long"]);
    let text = String::from_utf8_lossy(&run(piped, None).stdout).into_owned();
    assert!(text.contains(&word) && text.contains(long.trim()) && !text.contains('…'), "{text}");
}

/// Commands whose text for people is recorded in `terminal/`, with files that an earlier version wrote.
const COMMANDS: &[(&str, &str)] = &[
    ("tree-hdf5", "tree run.h5"),
    ("tree-asdf", "tree arrays.asdf-1.6.asdf"),
    ("info-hdf5", "info run.h5"),
    ("info-asdf", "info arrays.asdf-1.6.asdf --blocks"),
    ("stats-hdf5", "stats run.h5"),
    ("stats-fits", "stats image.fits"),
    ("table-rows", "table run.h5#/run/record"),
    ("table-files", "table run.h5 image.fits one.npy -c shape=/run/counts@shape -c kind=@kind -c title=/@title"),
    ("header-fits", "header image.fits"),
    ("header-hdf5", "header run.h5"),
    ("diff", "diff run.h5 t4.nc"),
];

#[test]
fn text_on_three_terminal_widths_is_recorded() {
    if Command::new("script").arg("--version").stdout(Stdio::null()).status().is_err() {
        assert!(std::env::var_os("CI").is_none(), "script is not installed, and CI is set");
        return say("skipped: text on terminals, since script is not installed");
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let samples = folder.join("../../tests/compatibility/51ec5374");
    let mut wrong = Vec::new();
    for (name, command) in COMMANDS {
        for width in [60, 80, 120] {
            let text = shown(&samples, width, command);
            // The cards of FITS are 80 characters by the standard, and are copied from the terminal.
            let is_free = command.starts_with("header") || text.lines().any(|line| line.starts_with("warning: "));
            let longest = text.lines().map(|line| line.chars().count()).max().unwrap_or(0);
            assert!(is_free || longest <= width, "{command} in {width}:\n{text}");
            let path = folder.join(format!("tests/terminal/{name}.{width}.txt"));
            if std::env::var_os("BLESS").is_some() {
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(&path, &text).unwrap();
            } else if std::fs::read_to_string(&path).unwrap_or_default() != text {
                wrong.push(format!("{command} in {width} columns differs from {}:\n{text}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
