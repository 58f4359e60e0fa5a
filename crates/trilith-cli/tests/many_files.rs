//! Every reading command on many files: in a folder, by a pattern, from a list, by name; where one of them is foreign,
//! malformed or missing, it is reported and the others go on.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may stop where things are not as expected")]
#![allow(clippy::disallowed_methods, reason = "a test makes files on its own")]

mod common;

use std::path::Path;

use common::{Ended, in_parallel, run, trilith};
use serde_json::Value;

/// The reading commands, with what stands behind each name and before all of them.
const COMMANDS: &[(&str, &str, &[&str])] = &[
    ("info", "", &[]),
    ("tree", "", &[]),
    ("tree", "#/meta", &[]),
    ("get", "#/meta/filter", &[]),
    ("get", "#/t", &[]),
    ("stats", "#/t", &[]),
    ("blocks", "", &[]),
    ("digest", "", &[]),
    ("verify", "", &[]),
    ("validate", "", &[]),
    ("search", "", &["--key", "filter"]),
    ("refs", "", &[]),
];

#[derive(Debug, Clone, Copy, PartialEq)]
enum Way {
    Folder,
    Pattern,
    List,
    Several,
    One,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum State {
    Good,
    Foreign,
    Malformed,
    Missing,
}

const WAYS: [Way; 5] = [Way::Folder, Way::Pattern, Way::List, Way::Several, Way::One];
const STATES: [State; 4] = [State::Good, State::Foreign, State::Malformed, State::Missing];
const NAMES: [&str; 4] = ["d/a.asdf", "d/b.asdf", "d/c.asdf", "d/sub/e.asdf"];

fn good(filter: &str) -> String {
    format!(
        "#ASDF 1.0.0\n#ASDF_STANDARD 1.6.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n--- !core/asdf-1.1.0\n\
         meta: {{exposure: 139.8, filter: {filter}}}\nt: !core/ndarray-1.1.0 {{data: [1, 2], datatype: int16}}\n...\n"
    )
}

/// Four files, the third of which is in this state.
fn lay_out(folder: &Path, state: State) {
    std::fs::create_dir_all(folder.join("d/sub")).unwrap();
    for name in NAMES {
        std::fs::write(folder.join(name), good(name.get(2..3).unwrap())).unwrap();
    }
    let bad = folder.join(NAMES[2]);
    match state {
        State::Good => {}
        State::Foreign => std::fs::write(bad, "only text\n").unwrap(),
        State::Malformed => std::fs::write(bad, "#ASDF 1.0.0\n%YAML 1.1\n--- {a: [1\n...\n").unwrap(),
        State::Missing => {
            std::fs::remove_file(&bad).unwrap();
            // In a folder and by a pattern, a link that leads nowhere.
            #[cfg(unix)]
            std::os::unix::fs::symlink("nowhere", bad).unwrap();
        }
    }
    std::fs::write(folder.join("d/notes.txt"), "notes\n").unwrap();
    std::fs::write(folder.join("d/.hidden.asdf"), "hidden\n").unwrap();
    std::fs::write(folder.join("list"), NAMES.join("\n")).unwrap();
}

fn words(command: &str, behind: &str, before: &[&str], way: Way, is_json: bool) -> Vec<String> {
    let mut words: Vec<String> = vec![command.to_owned()];
    words.extend(before.iter().map(|word| (*word).to_owned()));
    match way {
        Way::Folder => words.push(format!("d{behind}")),
        Way::Pattern => words.push(format!("d/**/*.asdf{behind}")),
        Way::List => words.extend(["--files-from".to_owned(), "list".to_owned()]),
        Way::Several => words.extend(NAMES.iter().map(|name| format!("{name}{behind}"))),
        Way::One => words.push(format!("{}{behind}", NAMES[2])),
    }
    words.extend(is_json.then(|| "--json".to_owned()));
    words
}

fn status_of(command: &str, state: State) -> i32 {
    match state {
        State::Good => 0,
        State::Malformed if matches!(command, "digest" | "verify" | "validate") => 1,
        _ => 2,
    }
}

fn ask(folder: &Path, words: &[String]) -> Ended {
    let mut command = trilith();
    command.current_dir(folder).args(words);
    run(command, None)
}

#[test]
fn one_bad_file_never_stops_run() {
    let cells: Vec<_> = STATES
        .into_iter()
        .flat_map(|state| WAYS.into_iter().map(move |way| (state, way)))
        .flat_map(|(state, way)| COMMANDS.iter().map(move |command| (state, way, command)))
        // A list names files, with their paths where the command takes some.
        .filter(|(_, way, (_, behind, _))| *way != Way::List || behind.is_empty())
        .collect();
    let faults = in_parallel(&cells, |(state, way, (command, behind, before))| {
        let folder = tempfile::tempdir().unwrap();
        lay_out(folder.path(), *state);
        let mut faults = Vec::new();
        for is_json in [false, true] {
            let words = words(command, behind, before, *way, is_json);
            let ended = ask(folder.path(), &words);
            let mut fault = |what: &str| {
                let out = String::from_utf8_lossy(&ended.stdout);
                faults.push(format!("{state:?} {way:?}: {}: {what}\n{out}{}", words.join(" "), ended.stderr));
            };
            if ended.status != Ok(status_of(command, *state)) {
                fault(&format!("exit status {:?}", ended.status));
            }
            let out = String::from_utf8(ended.stdout.clone()).unwrap();
            match (is_json, *way) {
                (true, Way::One) => check_document(&out, *state, &mut fault),
                (true, _) => check_lines(&out, command, *state, &mut fault),
                (false, Way::One) => {}
                (false, _) if matches!(*command, "refs") => {}
                (false, _) => {
                    for name in NAMES.iter().filter(|name| **name != NAMES[2] || *state == State::Good) {
                        if !out.contains(name) {
                            fault(&format!("nothing of {name}"));
                        }
                    }
                }
            }
            if *state != State::Good && *way != Way::One && !(ended.stderr.contains(NAMES[2]) || out.contains(NAMES[2])) {
                fault("the bad file is not named");
            }
            if (*way == Way::Folder) != ended.stderr.contains("1 other file was skipped") {
                fault("other files");
            }
            if out.contains("hidden") {
                fault("a hidden file");
            }
        }
        faults.join("\n")
    });
    let faults: Vec<_> = faults.into_iter().filter(|fault| !fault.is_empty()).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// One plain file gives one document over several lines, or nothing.
fn check_document(out: &str, state: State, fault: &mut impl FnMut(&str)) {
    if out.is_empty() && state != State::Good {
        return;
    }
    if let Err(error) = serde_json::from_str::<Value>(out) {
        fault(&format!("no document: {error}"));
    }
}

/// Several give one line each, in their order; the bad one an error, or an answer where that is one.
fn check_lines(out: &str, command: &str, state: State, fault: &mut impl FnMut(&str)) {
    let lines: Vec<Value> = match out.lines().map(serde_json::from_str).collect() {
        Ok(lines) => lines,
        Err(error) => return fault(&format!("a line is no document: {error}")),
    };
    let files: Vec<_> = lines.iter().map(|line| line["file"].as_str().unwrap_or("")).collect();
    if files != NAMES {
        fault(&format!("lines of {files:?}"));
    }
    for (line, name) in lines.iter().zip(NAMES) {
        let is_bad = name == NAMES[2] && state != State::Good && status_of(command, state) == 2;
        if line.get("error").is_some() != is_bad {
            fault(&format!("an error of {name}: {line}"));
        }
        let kind = match state {
            State::Foreign => "unsupported",
            State::Malformed => "malformed",
            _ => "io",
        };
        if is_bad && (line["error"]["kind"] != kind || line["error"]["message"].as_str().is_none_or(str::is_empty)) {
            fault(&format!("{line}"));
        }
    }
}

#[test]
fn of_2002_files_one_is_text() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("many")).unwrap();
    for at in 0..2002 {
        let text = if at == 402 { "only text\n".to_owned() } else { good("f158") };
        std::fs::write(folder.path().join(format!("many/{at:04}.asdf")), text).unwrap();
    }
    for command in ["verify", "validate", "digest", "info"] {
        let ended = ask(folder.path(), &[command.to_owned(), "--json".to_owned(), "many".to_owned()]);
        assert_eq!(ended.status, Ok(2), "{command}: {}", ended.stderr);
        let out = String::from_utf8(ended.stdout).unwrap();
        let lines: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines.len(), 2002, "{command}");
        for (at, line) in lines.iter().enumerate() {
            assert_eq!(line["file"], format!("many/{at:04}.asdf"), "{command}");
            assert_eq!(line.get("error").is_some(), at == 402, "{command}: {line}");
        }
    }
    let words = ["table", "many", "-c", "filter=/meta/filter", "-o", "-", "--format", "jsonl"].map(str::to_owned);
    let ended = ask(folder.path(), &words);
    assert_eq!(ended.status, Ok(2), "{}", ended.stderr);
    assert!(ended.stderr.contains("many/0402.asdf"), "{}", ended.stderr);
    let rows = String::from_utf8(ended.stdout).unwrap();
    let rows: Vec<Value> = rows.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(rows.len(), 2001);
    assert!(rows.iter().all(|row| row["filter"] == "f158" && row["file"] != "many/0402.asdf"), "{:?}", rows.first());
}

#[test]
fn names_come_from_standard_input() {
    let folder = tempfile::tempdir().unwrap();
    lay_out(folder.path(), State::Good);
    for (list, words) in [
        ("d/a.asdf\r\n\nd/b.asdf", &["info", "--files-from", "-"][..]),
        ("d/a.asdf\0d/b.asdf\0", &["info", "--files-from", "-", "-0"]),
        ("d/b.asdf\0", &["info", "-0", "--files-from", "-", "d/a.asdf"]),
        ("d/a.asdf#/meta\nd/b.asdf#/meta/filter\n", &["get", "--files-from", "-"]),
    ] {
        let mut command = trilith();
        command.current_dir(folder.path()).args(words).arg("--json");
        let ended = run(command, Some(list.as_bytes().to_vec()));
        assert_eq!(ended.status, Ok(0), "{words:?}: {}", ended.stderr);
        let out = String::from_utf8(ended.stdout).unwrap();
        let files: Vec<_> = out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["file"].clone()).collect();
        assert_eq!(files, ["d/a.asdf", "d/b.asdf"], "{words:?}");
    }
}

#[test]
fn large_results_keep_their_order() {
    let folder = tempfile::tempdir().unwrap();
    for at in 0..6 {
        // The first are the largest, so that the others have to wait.
        let numbers: Vec<_> = (0..400_000 - 60_000 * at).map(|n| (n % 100).to_string()).collect();
        let tree = format!("#ASDF 1.0.0\n%YAML 1.1\n--- {{t: [{}], last: {at}}}\n...\n", numbers.join(", "));
        std::fs::write(folder.path().join(format!("{at}.asdf")), tree).unwrap();
    }
    for threads in ["1", "3"] {
        let words = ["tree", "--json", ".", "--threads", threads].map(str::to_owned);
        let ended = ask(folder.path(), &words);
        assert_eq!(ended.status, Ok(0), "{}", ended.stderr);
        let out = String::from_utf8(ended.stdout).unwrap();
        let last: Vec<_> = out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["tree"]["last"].clone()).collect();
        assert_eq!(last, [0, 1, 2, 3, 4, 5]);
    }
}
