//! Files that earlier versions wrote are read as before: every command that prints JSON prints what it printed then, except for the
//! changes that are listed with a reason.
//!
//! First tier, as a sample; the rest runs all commands on all files.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may stop where things are not as expected")]
#![allow(clippy::disallowed_methods, reason = "a test makes files on its own")]

mod common;

use std::collections::BTreeSet;
use std::fs::FileTimes;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use common::{files, in_parallel, repository, run, sample, trilith};
use serde_json::{Map, Value, json};

/// The folder with one folder for each earlier version.
fn folder() -> PathBuf {
    repository().join("tests/compatibility")
}

/// A folder with a copy of the files of a version, so that a journal beside a file is not used up.
fn copied(version: &Path) -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    let written = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
    for path in files(version) {
        let target = copy.path().join(path.strip_prefix(version).unwrap());
        std::fs::create_dir_all(target.parent().unwrap()).unwrap();
        std::fs::copy(&path, &target).unwrap();
        let file = std::fs::File::options().write(true).open(&target).unwrap();
        file.set_times(FileTimes::new().set_modified(written)).unwrap();
    }
    copy
}

/// Runs a recorded command, and returns its status and output in the form of the record.
fn output(command: &str, file: &str, folder: &Path) -> Value {
    let mut program = trilith();
    program.current_dir(folder).args(command.split_whitespace().map(|word| word.replace("{}", file)));
    let ended = run(program, None);
    let mut found = Map::from_iter([("status".to_owned(), json!(ended.status.unwrap()))]);
    if let Ok(text) = String::from_utf8(ended.stdout) {
        let text = text.replace(folder.to_str().unwrap(), "FOLDER");
        match serde_json::from_str::<Value>(&text) {
            Ok(value) => drop(found.insert("json".to_owned(), value)),
            Err(_) if text.is_empty() => {}
            Err(_) => drop(found.insert("text".to_owned(), text.into())),
        }
    }
    found.into()
}

/// A line of `changes.txt`: which outputs of which version changed, and why.
struct Change {
    file: Beginning,
    command: Beginning,
}

/// A text, or the beginning of texts if it ends with `*`.
#[derive(Debug)]
struct Beginning(String);

impl Beginning {
    fn matches(&self, text: &str) -> bool {
        self.0.strip_suffix('*').map_or(text == self.0, |beginning| text.starts_with(beginning))
    }
}

/// The lines of the list of changes of a version: files, commands, and a reason.
fn changes(version: &Path) -> Vec<Change> {
    let text = std::fs::read_to_string(version.join("changes.txt")).unwrap_or_default();
    let lines = text.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty());
    let parts = lines.map(|line| line.split('|').map(str::trim).collect::<Vec<_>>());
    parts
        .map(|parts| {
            let [file, command, reason] = parts[..] else { panic!("{parts:?}: expected FILES | COMMANDS | REASON") };
            assert!(!reason.is_empty(), "{file} | {command}: no reason");
            Change { file: Beginning(file.to_owned()), command: Beginning(command.to_owned()) }
        })
        .collect()
}

/// An object in a JSON file, or an empty one if there is no file.
fn object(path: &Path) -> Map<String, Value> {
    std::fs::read(path).map(|text| serde_json::from_slice(&text).unwrap()).unwrap_or_default()
}

#[test]
fn command_output_matches_recorded_version() {
    let versions = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir());
    for version in versions {
        let copy = copied(&version);
        let listed = changes(&version);
        let mut cases = Vec::new();
        for path in files(&version.join("recorded")) {
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            cases.extend(object(&path).into_iter().map(|(command, then)| (name.clone(), command, then)));
        }
        let is_blessed = std::env::var_os("BLESS").is_some();
        let cases = if is_blessed { cases } else { sample("outputs of earlier versions", cases, 8) };
        let now = in_parallel(&cases, |(file, command, _)| output(command, file, copy.path()));
        let mut wrong = Vec::new();
        let mut blessed = std::collections::BTreeMap::<String, Map<String, Value>>::new();
        for ((file, command, then), now) in cases.iter().zip(now) {
            let changed = object(&version.join("changed").join(format!("{file}.json"))).get(command).cloned();
            if now == *then {
                continue;
            }
            blessed.entry(file.clone()).or_default().insert(command.clone(), now.clone());
            if !listed.iter().any(|change| change.file.matches(file) && change.command.matches(command)) {
                wrong.push(format!("{file}: {command}: no line of changes.txt allows that this differs: {now:.400}"));
            } else if !is_blessed && changed.as_ref() != Some(&now) {
                wrong.push(format!("{file}: {command}: differs from what is in `changed`: {now:.400}"));
            }
        }
        if is_blessed {
            let target = version.join("changed");
            let _ = std::fs::remove_dir_all(&target);
            for (file, commands) in blessed {
                std::fs::create_dir_all(&target).unwrap();
                let text = serde_json::to_string_pretty(&Value::from(commands)).unwrap();
                std::fs::write(target.join(format!("{file}.json")), text + "\n").unwrap();
            }
        }
        assert!(wrong.is_empty(), "{}:\n{}", version.display(), wrong.join("\n"));
    }
}

#[test]
fn every_listed_change_is_one() {
    for version in std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()) {
        let changed: BTreeSet<(String, String)> = files_if_any(&version.join("changed"))
            .iter()
            .flat_map(|path| {
                let file = path.file_stem().unwrap().to_str().unwrap().to_owned();
                object(path).into_iter().map(move |(command, _)| (file.clone(), command))
            })
            .collect();
        for change in changes(&version) {
            let is_used = changed.iter().any(|(file, command)| change.file.matches(file) && change.command.matches(command));
            assert!(is_used, "{}: {} | {} fits no change", version.display(), change.file.0, change.command.0);
        }
    }
}

/// Every file below `folder`, which may be missing.
fn files_if_any(folder: &Path) -> Vec<PathBuf> {
    if folder.is_dir() { files(folder) } else { Vec::new() }
}
