//! Completions in the shells themselves: bash and zsh on a terminal, with the Tab key, and fish by what it would offer.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may stop where things are not as expected")]
#![allow(clippy::disallowed_methods, reason = "tests make files on their own")]
#![cfg(unix)]

mod common;

use std::path::Path;
use std::process::{Command, Stdio};

use common::{run, say, trilith};

const FILE: &str = "#ASDF 1.0.0\n#ASDF_STANDARD 1.6.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n--- !core/asdf-1.1.0\n\
     observation:\n  catalogue: [1, 2]\n  meta: {filter: F158, exposure: 139.8}\n\"two words\": 1\n...\n";

/// What is typed before Tab, and what stands there then.
const LINES: &[(&str, &str)] = &[
    ("trilith veri", "trilith verify "),
    ("trilith get obs", "trilith get observation.asdf "),
    ("trilith get observation.asdf#/obs", "trilith get observation.asdf#/observation"),
    ("trilith ls observation.asdf#/observation/meta/fi", "trilith ls observation.asdf#/observation/meta/filter"),
    ("trilith observation.asdf#/obs", "trilith observation.asdf#/observation"),
    ("trilith convert a b --codec zs", "trilith convert a b --codec zstd "),
    ("trilith convert a b --codec=zs", "trilith convert a b --codec=zstd "),
    ("trilith convert a b --to asdf-1.5", "trilith convert a b --to asdf-1.5 "),
    ("trilith get x --limit dep", "trilith get x --limit depth="),
    ("trilith get observation.asdf#/observation@ki", "trilith get observation.asdf#/observation@kind"),
    ("trilith table observation.asdf -c f=/observation/meta/fi", "trilith table observation.asdf -c f=/observation/meta/filter"),
    ("trilith get 'observation.asdf#/observation/cat", "trilith get 'observation.asdf#/observation/catalogue"),
];

/// A folder with a file, the scripts, and the command on the path; None, and said so, where there is no such shell.
fn folder(shell: &str, helper: &str) -> Option<tempfile::TempDir> {
    for program in [shell, helper] {
        let found = Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        if found.is_err() {
            assert!(std::env::var_os("CI").is_none(), "{program} is not installed, and CI is set");
            say(&format!("skipped: completions in {shell}, since {program} is not installed"));
            return None;
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let program = std::env::var_os("TRILITH_BIN").unwrap_or_else(|| env!("CARGO_BIN_EXE_trilith").into());
    std::fs::create_dir(folder.path().join("bin")).unwrap();
    std::os::unix::fs::symlink(program, folder.path().join("bin/trilith")).unwrap();
    std::fs::write(folder.path().join("observation.asdf"), FILE).unwrap();
    let mut command = trilith();
    command.args(["completions", shell]);
    let script = run(command, None);
    assert_eq!(script.status, Ok(0), "{}", script.stderr);
    std::fs::write(folder.path().join("script"), script.stdout).unwrap();
    Some(folder)
}

/// What a command prints in a folder.
fn printed(folder: &Path, program: &str, words: &[&str], input: Option<String>) -> String {
    let mut command = Command::new(program);
    let path = std::env::var("PATH").unwrap_or_default();
    command.args(words).current_dir(folder).env("PATH", format!("{}:{path}", folder.join("bin").display()));
    command.env("TERM", "dumb").env("HOME", folder).env("COLUMNS", "200").env("LC_ALL", "C.UTF-8");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let ended = run(command, input.map(String::into_bytes));
    String::from_utf8_lossy(&ended.stdout).replace('\r', "\n")
}

/// Without what the line editor does to the cursor.
fn shown(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '\u{8}' => drop(out.pop()),
            '\\' => {}
            c => out.push(c),
        }
    }
    out
}

fn check(shell: &str, said: &str) {
    let said = shown(said);
    for (typed, expected) in LINES {
        // A shell may add a space after a complete word, or close a quote.
        let ends = ["|", " |", "'|"].map(|end| format!("{}{end}", expected.trim_end()));
        assert!(ends.iter().any(|end| said.contains(end)), "{shell}: {typed}\n{said}");
    }
    say(&format!("{} lines completed in {shell}", LINES.len()));
}

#[test]
fn bash_completes_commands_values_files_and_keys() {
    let Some(folder) = folder("bash", "script") else { return };
    // The keys come when the shell waits for them, as from somebody at a keyboard; `|` marks where the cursor is.
    let setup = "PS1='> '; bind 'set bell-style none'; source ./script\n";
    let mut typing = String::from("sleep 1; cat setup; sleep 1;");
    for (typed, _) in LINES {
        typing.push_str(&format!("printf '%s\\t' \"{typed}\"; sleep 1; printf '|'; sleep 0.2; printf '\\025';"));
    }
    typing.push_str("printf 'exit\\n'");
    std::fs::write(folder.path().join("setup"), setup).unwrap();
    let line = format!("({typing}) | script -qec 'bash --norc -i' /dev/null");
    check("bash", &printed(folder.path(), "bash", &["-c", &line], None));
}

#[test]
fn zsh_completes_commands_values_files_and_keys() {
    let Some(folder) = folder("zsh", "zsh") else { return };
    std::fs::rename(folder.path().join("script"), folder.path().join("_trilith")).unwrap();
    let mut program = "zmodload zsh/zpty; zpty z zsh -f -i\nsay() { zpty -w -n z \"$1\"; sleep $2 }\n\
         say $'PS1=\"> \"; fpath=($PWD $fpath); autoload -Uz compinit; compinit -D -u; unsetopt beep\\n' 2\n"
        .to_owned();
    for (typed, _) in LINES {
        program.push_str(&format!("say \"{typed}\"$'\\t' 1; say '|' 0.2; say $'\\x15' 0.3\n"));
    }
    program.push_str("say $'exit\\n' 0.3\nwhile zpty -r -t z line; do print -r -- $line; done\n");
    std::fs::write(folder.path().join("keys.zsh"), program).unwrap();
    check("zsh", &printed(folder.path(), "zsh", &["-f", "keys.zsh"], None));
}

#[test]
fn fish_offers_commands_values_files_and_keys() {
    let Some(folder) = folder("fish", "fish") else { return };
    let mut program = "source ./script\n".to_owned();
    for (typed, _) in LINES {
        program.push_str(&format!("echo (complete -C \"{typed}\" | string replace -r '\\t.*' '')\n"));
    }
    std::fs::write(folder.path().join("keys.fish"), program).unwrap();
    let said = printed(folder.path(), "fish", &["keys.fish"], None);
    for ((typed, expected), offered) in LINES.iter().zip(said.lines()) {
        let word = expected.trim_end().rsplit([' ', '\'']).next().unwrap();
        assert!(offered.split(' ').any(|one| one == word), "fish: {typed}: {offered:?}, not {word:?}");
    }
    assert_eq!(said.lines().count(), LINES.len(), "{said}");
    say(&format!("{} lines completed in fish", LINES.len()));
}
