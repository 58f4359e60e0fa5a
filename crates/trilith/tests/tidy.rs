//! Small rules of the house that no compiler holds: every module opens with `//!`, no line ends in
//! spaces, no file grows into a second subject unnoticed, no text names somebody's own machine.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may stop where the source is not as expected")]

use std::path::{Path, PathBuf};

/// How long a Rust file may be before its tests.
const MAX_LINES: usize = 600;

/// Files that may be longer, each with the reason.
const LONGER: &[(&str, &str)] = &[
    ("crates/trilith-wcs/src/transform.rs", "one type for all transforms, each with its evaluation and its way back"),
    ("crates/trilith-py/src/array.rs", "the one class for arrays, whose docstrings are much of it"),
    ("crates/trilith-py/src/file.rs", "the one class for files, whose docstrings are most of it"),
    ("crates/trilith-py/src/to_value.rs", "what Python objects are in a tree: one case after the other"),
    (
        "crates/trilith-layout/src/dudley/dudley_file.rs",
        "one file under a layout: its items, their arrays and what cannot be read",
    ),
    ("crates/trilith/src/change/mod.rs", "the one type for changes, with an example for each method"),
    ("crates/trilith-array/src/array/read.rs", "the ways in which elements leave an array"),
    ("crates/trilith-array/src/array/value_decoding.rs", "the declarations of formats about elements, one after the other"),
    ("crates/trilith-io/src/bytes/journal.rs", "one journal: its record, its undoing and its checks"),
    ("crates/trilith-layout/src/layout/builder.rs", "one builder of layouts, item by item"),
    ("crates/trilith/tests/integration/wcs.rs", "descriptions of coordinates, with one test for each kind"),
    ("crates/trilith-cli/tests/outputs.rs", "what commands write and where, one test for each way of losing a file"),
    ("crates/trilith/tests/floors.rs", "one check of all floors, with the list of circles and their reasons"),
    ("crates/trilith/src/convert/translate.rs", "one walk over a tree that is written for another standard"),
    ("crates/trilith/src/convert/fits.rs", "FITS becomes a tree in three forms, whose parts are the same"),
    ("crates/trilith/src/asdf/write.rs", "one file after the other part of it: header, tree, unused space, blocks and index"),
    ("crates/trilith/src/file/item.rs", "the one type for items, with an example for each method"),
    (
        "crates/trilith/src/convert/dudley_asdf.rs",
        "a stream becomes a tree and a tree a stream: each step stands beside its way back",
    ),
    ("crates/trilith/src/wcs/transforms.rs", "one match from the tags of transforms to their readers"),
    ("crates/trilith/src/asdf/sections.rs", "one walk finds tree, blocks, index and what lies between them"),
    ("crates/trilith-cli/src/commands/layout/from_c.rs", "one parser of C declarations: its rules call each other"),
    (
        "crates/trilith/tests/integration/conformance_bytes.rs",
        "tests alone: one for each sentence of the documents, from the same parts of files",
    ),
    ("crates/trilith-fits/src/fits/tests.rs", "tests alone: FITS files assembled card by card, one test after the other"),
    ("crates/trilith-layout/src/layout/model.rs", "the object model of one document: its kinds refer to each other"),
    (
        "crates/trilith-layout/src/layout/storage_field.rs",
        "the properties of items: the spelling of each stands beside its reading",
    ),
    ("crates/trilith-layout/src/layout/print.rs", "two dialects of one printer: a production stands beside its twin"),
    (
        "crates/trilith/tests/integration/generations.rs",
        "the matrix of all pairs and the bytes built by hand that it is checked with",
    ),
    (
        "crates/trilith-cli/tests/documented_examples.rs",
        "one test: files, names and forms that pages use, and the lines that run",
    ),
    ("crates/trilith-yaml/src/tree/node.rs", "one type: all that a node of the tree is asked"),
    ("crates/trilith-layout/src/layout/evaluator.rs", "one loop that places items; its steps read best side by side"),
];

/// Beginnings of paths that exist on one machine only.
const LOCAL: &[&str] =
    &[concat!("/wo", "rk/"), concat!("/ho", "me/"), concat!("/ro", "ot/"), concat!("/Us", "ers/"), concat!("C:\\Us", "ers")];

/// Kinds of files that people write by hand. Expected outputs (`.case`) may hold any text.
const WRITTEN: &[&str] = &["rs", "md", "toml", "py", "sh", "yml", "yaml"];

#[test]
fn every_module_says_what_it_is() {
    let silent: Vec<_> = texts("rs").filter(|(_, text)| !text.starts_with("//!")).map(|(path, _)| path).collect();
    assert!(silent.is_empty(), "these do not open with `//!`: {silent:#?}");
}

#[test]
fn no_line_ends_in_spaces() {
    let faults = lines_where(|line| line.ends_with([' ', '\t', '\r']));
    assert!(faults.is_empty(), "trailing whitespace:\n{faults}");
}

#[test]
fn texts_name_no_local_path() {
    let faults = lines_where(|line| LOCAL.iter().any(|local| line.contains(local)));
    assert!(faults.is_empty(), "paths that exist on one machine only:\n{faults}");
}

#[test]
fn long_files_need_reason() {
    for (path, text) in texts("rs") {
        let before_tests = text.lines().take_while(|line| *line != "#[cfg(test)]").count();
        let excused = LONGER.iter().any(|(file, _)| Path::new(file) == path);
        assert!(
            before_tests <= MAX_LINES || excused,
            "{}: {before_tests} lines before its tests, more than {MAX_LINES}: split it by subject, or give a reason in tests/tidy.rs",
            path.display()
        );
    }
    for (file, reason) in LONGER {
        assert!(repository().join(file).exists() && !reason.is_empty(), "{file} is excused, but is gone or has no reason");
    }
}

#[test]
fn every_published_package_holds_licences() {
    for (path, text) in texts("toml") {
        let published = text.starts_with("[package]") && !text.lines().any(|line| line == "publish = false");
        let is_wheel = path == Path::new("crates/trilith-py/Cargo.toml");
        if !published && !is_wheel {
            continue;
        }
        for name in ["LICENSE-MIT", "LICENSE-APACHE"] {
            let copy = repository().join(path.with_file_name(name));
            let text = |path: &Path| std::fs::read_to_string(path).ok();
            assert!(
                text(&copy).is_some() && text(&copy) == text(&repository().join(name)),
                "{} is not the file of that name in the root: copy it",
                copy.display()
            );
        }
    }
}

fn lines_where(fault: impl Fn(&str) -> bool) -> String {
    let mut faults = String::new();
    for kind in WRITTEN {
        for (path, text) in texts(kind) {
            for (number, line) in text.split('\n').enumerate().filter(|(_, line)| fault(line)) {
                faults.push_str(&format!("  {}:{}: {}\n", path.display(), number + 1, line.trim()));
            }
        }
    }
    faults
}

/// Path (from the repository's root) and text of every file with this extension.
fn texts(extension: &str) -> impl Iterator<Item = (PathBuf, String)> {
    let root = repository();
    let mut folders = vec![root.clone()];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() {
                // Made by tools (or by git), not written here.
                if !matches!(name.as_str(), "target" | "corpus" | "artifacts" | "__pycache__") && !name.starts_with('.') {
                    folders.push(path);
                }
            } else if path.extension().is_some_and(|e| e == extension) {
                found.push(path);
            }
        }
    }
    found.sort();
    found.into_iter().map(move |path| (path.strip_prefix(&root).unwrap().to_path_buf(), std::fs::read_to_string(&path).unwrap()))
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}
