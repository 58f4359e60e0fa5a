//! The command against the sample files of `../shared/corpus`: what it says of each file is compared
//! with what the file's writer (or an independent decoder) says. `cargo xtask test corpus` runs these.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may stop where things are not as expected")]
#![allow(clippy::print_stderr, clippy::disallowed_methods, reason = "tests report, and read files on their own")]

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use common::{Ended, files, in_parallel, run, shared, trilith};
use serde_json::Value;
use trilith::check::VerifyDepth;

/// What must agree today: beginning of the folder's name, extension of the file.
/// Everything else is tried and counted, and does not fail the test.
const READ_TODAY: &[(&str, &str)] = &[
    ("asdf-1", "asdf"),
    ("asdf-2", "asdf"),
    ("asdf-6", "asdf"),
    ("asdf100-", "asdf"),
    ("reference-1.6.0", "asdf"),
    ("finf-", "finf"),
    ("pasdf-", "asdf"),
    ("asdf010-", "asdf"),
    ("asdf-1", "fits"),
    ("asdf100-", "fits"),
];

/// The folder below `corpus` that a sample stands in with its kind, and whether it must be read today.
fn folder(corpus: &Path, sample: &Path) -> (String, bool) {
    let inside = sample.strip_prefix(corpus).unwrap();
    let folder = inside.components().next().unwrap().as_os_str().to_string_lossy().into_owned();
    let extension = sample.extension().unwrap_or_default().to_string_lossy();
    let today = READ_TODAY.iter().any(|(name, kind)| folder.starts_with(name) && *kind == extension);
    (format!("{folder}/*.{extension}"), today)
}

/// Every sample with an expectation beside it.
fn samples(corpus: &Path) -> Vec<(PathBuf, Value)> {
    let mut found = Vec::new();
    for path in files(corpus) {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if name.ends_with(".expect.json") || name.ends_with(".observed.json") {
            let expected: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
            let sample = path.with_file_name(Path::new(expected["file"].as_str().unwrap()).file_name().unwrap());
            assert!(sample.exists(), "{} describes a file that is not there", path.display());
            found.push((sample, expected));
        }
    }
    found
}

fn corpus() -> Option<PathBuf> {
    let found = shared().map(|shared| shared.join("corpus"));
    if found.is_none() {
        eprintln!("skipped: no ../shared/corpus beside the repository (TRILITH_SHARED names another place)");
    }
    found
}

#[test]
fn corpus_files_hold_what_their_writers_wrote() {
    let Some(corpus) = corpus() else { return };
    let samples = samples(&corpus);
    let faults = in_parallel(&samples, |(sample, expected)| compare(sample, expected));

    let mut table: BTreeMap<(String, bool), (usize, usize)> = BTreeMap::new();
    let mut report = String::new();
    for ((sample, _), faults) in samples.iter().zip(&faults) {
        let (folder, today) = folder(&corpus, sample);
        let row = table.entry((folder, today)).or_default();
        row.0 += 1;
        row.1 += usize::from(faults.is_empty());
        if today {
            for fault in faults {
                report.push_str(&format!("  {}: {fault}\n", sample.strip_prefix(&corpus).unwrap().display()));
            }
        }
    }
    eprintln!("{:<44} {:>5} {:>6}", "folder", "files", "agree");
    for ((folder, today), (files, agree)) in &table {
        let note = match (today, agree == files) {
            (true, _) => "",
            (false, true) => "  all agree: enter it in READ_TODAY",
            (false, false) => "  (later)",
        };
        eprintln!("{folder:<44} {files:>5} {agree:>6}{note}");
    }
    assert!(report.is_empty(), "these differ from what was written:\n{report}");
    assert!(table.keys().any(|(_, today)| *today), "the corpus has none of the folders that must be read");
}

/// All differences between what the command says of a sample and what is expected.
fn compare(sample: &Path, expected: &Value) -> Vec<String> {
    let mut faults = Vec::new();
    match json("digest", sample, &[]) {
        Ok(said) => compare_arrays(&said, expected, &mut faults),
        Err(fault) => faults.push(fault),
    }
    if expected.pointer("/layout/header_line").is_some() {
        match json("info", sample, &[]) {
            Ok(said) => compare_layout(&said, &expected["layout"], &mut faults),
            Err(fault) => faults.push(fault),
        }
    }
    compare_scalars(sample, expected, &mut faults);
    faults
}

/// Runs a command with `--json` on a sample; an error unless it says yes.
fn json(command: &str, sample: &Path, options: &[&str]) -> Result<Value, String> {
    let text = text(command, sample, options)?;
    serde_json::from_str(&text).map_err(|e| format!("{command} --json: not one JSON document: {e}"))
}

fn text(command: &str, sample: &Path, options: &[&str]) -> Result<String, String> {
    let mut program = trilith();
    program.arg(command).arg(sample).arg("--json").args(options);
    let ended = run(program, None);
    match ended.status {
        Ok(0) => String::from_utf8(ended.stdout).map_err(|_| format!("{command} --json: not UTF-8")),
        _ => Err(format!("{command} --json: status {:?}: {}", ended.status, said(&ended))),
    }
}

/// The first words of what a command said, for a message.
fn said(ended: &Ended) -> String {
    let text =
        if ended.stderr.trim().is_empty() { String::from_utf8_lossy(&ended.stdout).into_owned() } else { ended.stderr.clone() };
    text.trim().chars().take(300).collect()
}

fn compare_arrays(said: &Value, expected: &Value, faults: &mut Vec<String>) {
    let none = serde_json::Map::new();
    let ours = said["arrays"].as_object().unwrap_or(&none);
    let theirs = expected["arrays"].as_object().unwrap_or(&none);
    let paths: BTreeSet<&String> = ours.keys().chain(theirs.keys()).collect();
    for path in paths {
        let (Some(our), Some(their)) = (ours.get(path), theirs.get(path)) else {
            let problem = if ours.contains_key(path) { "is not an array of this file" } else { "is missing" };
            faults.push(format!("digest: {path} {problem}"));
            continue;
        };
        for (our_name, their_name) in
            [("datatype", "dtype"), ("shape", "shape"), ("sha256", "sha256_le"), ("mask_sha256", "mask_sha256")]
        {
            let (our, their) = (without_byteorder(&our[our_name]), without_byteorder(&their[their_name]));
            if our != their {
                faults.push(format!("digest: {path}: {our_name} is {our}, expected {their}"));
            }
        }
    }
    if let Some(errors) = said["errors"].as_object().filter(|errors| !errors.is_empty()) {
        faults.push(format!("digest: errors: {}", serde_json::to_string(errors).unwrap()));
    }
}

fn without_byteorder(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            map.iter().filter(|(k, _)| *k != "byteorder").map(|(k, v)| (k.clone(), without_byteorder(v))).collect()
        }
        Value::Array(list) => list.iter().map(without_byteorder).collect(),
        other => other.clone(),
    }
}

fn compare_layout(said: &Value, layout: &Value, faults: &mut Vec<String>) {
    let mut check = |name: &str, our: Value, their: Value| {
        if our != their {
            faults.push(format!("info: {name} is {our}, expected {their}"));
        }
    };
    check("header", said["header"].clone(), layout["header_line"].clone());
    if layout.get("comments").is_some() {
        check("comments", said["comments"].clone(), layout["comments"].clone());
    }
    if layout["has_tree"] == Value::Bool(false) {
        check("tree", said["tree"].clone(), Value::Null);
    } else {
        let end = said["tree"]["offset"].as_u64().zip(said["tree"]["length"].as_u64()).map(|(offset, length)| offset + length);
        check("end of the tree", end.into(), layout["tree_end"].clone());
    }
    if layout.get("padding_after_tree").is_some() {
        check("tree.padding", said["tree"]["padding"].clone(), layout["padding_after_tree"].clone());
    }
    if layout.get("file_size").is_some() {
        check("size", said["size"].clone(), layout["file_size"].clone());
    }
    if layout.get("block_index").is_some() {
        check("block_index.present", said["block_index"]["present"].clone(), true.into());
    }
    let none = Vec::new();
    let theirs = layout["blocks"].as_array().unwrap_or(&none);
    if !theirs.iter().any(|block| block.get("...").is_some()) {
        check("number of blocks", said["blocks"].as_array().map(Vec::len).into(), theirs.len().into());
    }
    // A shortened list has a note in place of the omitted blocks; the ones after it are not numbered.
    for (index, their) in theirs.iter().take_while(|block| block.get("...").is_none()).enumerate() {
        let our = &said["blocks"][index];
        check(&format!("block {index}: index"), our["index"].clone(), index.into());
        for (name, their) in their.as_object().unwrap() {
            let (our_name, their) = match name.as_str() {
                "offset" | "header_size" | "data_offset" | "flags" | "allocated" | "used" | "data_size" => {
                    (name.as_str(), their.clone())
                }
                "memory_size" => ("data_size", their.clone()),
                "streamed_bytes" => ("stored_size", their.clone()),
                "compression" | "checksum" => (name.as_str(), or_null(their)),
                "encoding" => (name.as_str(), chain(&or_null(their))),
                _ => continue, // `magic` is not a field of `info`; `encoding_yaml` has words of its own
            };
            check(&format!("block {index}: {our_name}"), our[our_name].clone(), their);
        }
        if their.get("compression").is_none() {
            check(&format!("block {index}: compression"), our["compression"].clone(), Value::Null);
        }
    }
}

/// "", 0 and all zeros mean that there is none.
fn or_null(value: &Value) -> Value {
    match value {
        Value::String(text) if text.bytes().all(|b| b == b'0') => Value::Null,
        Value::Number(number) if number.as_u64() == Some(0) => Value::Null,
        other => other.clone(),
    }
}

/// The early codes of an encoding as the list of its steps.
fn chain(codes: &Value) -> Value {
    let Value::String(codes) = codes else { return codes.clone() };
    codes.chars().map(|code| if code == 'z' { "zlib" } else { "sparse" }).map(Value::from).collect()
}

fn compare_scalars(sample: &Path, expected: &Value, faults: &mut Vec<String>) {
    let none = serde_json::Map::new();
    let scalars = expected["scalars"].as_object().unwrap_or(&none);
    let integers = expected["integers"].as_object().unwrap_or(&none);
    if scalars.is_empty() && integers.is_empty() {
        return;
    }
    let tree = match json("tree", sample, &[]) {
        Ok(tree) => tree,
        Err(fault) => return faults.push(fault),
    };
    for (path, their) in scalars {
        let (kind, value) = (their["type"].as_str().unwrap_or_default(), &their["value"]);
        match tree.pointer(path) {
            None if their["may_be_absent"] == Value::Bool(true) => {}
            None => faults.push(format!("tree: {path} is missing, expected {value}")),
            Some(our) if our == value && kind_of(our) == kind => {}
            Some(our) => faults.push(format!("tree: {path} is {our}, expected {value} ({kind})")),
        }
    }
    // Integers of any length would lose digits in a parsed document: look at its text.
    if !integers.is_empty() {
        match text("tree", sample, &["--inline"]) {
            Ok(text) => {
                let packed: String = text.split_whitespace().collect();
                for (path, digits) in integers {
                    let (name, digits) = (path.rsplit('/').next().unwrap(), digits.as_str().unwrap());
                    let entry = format!("\"{name}\":{digits}");
                    if !packed.split(&entry).skip(1).any(|rest| rest.starts_with([',', '}'])) {
                        faults.push(format!("tree --inline: {path} is not {digits}"));
                    }
                }
            }
            Err(fault) => faults.push(fault),
        }
    }
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float",
        Value::Number(_) => "int",
        Value::String(_) => "str",
        Value::Array(_) => "list",
        Value::Object(_) => "map",
    }
}

#[test]
fn corpus_files_cut_short_never_panic() {
    let Some(corpus) = corpus() else { return };
    let cuts: Vec<(PathBuf, usize)> = files(&corpus)
        .into_iter()
        .filter(|path| path.extension().is_some_and(|e| e == "asdf" || e == "finf" || e == "fits"))
        .flat_map(|path| {
            let size = std::fs::metadata(&path).unwrap().len() as usize;
            (0..size).step_by(97).map(move |length| (path.clone(), length))
        })
        .collect();
    let faults = in_parallel(&cuts, |(sample, length)| {
        let bytes = std::fs::read(sample).unwrap();
        let fault = panics(&bytes[..*length])?;
        Some(format!("  {} cut to {length} bytes: {fault}", sample.strip_prefix(&corpus).unwrap().display()))
    });
    let faults: Vec<String> = faults.into_iter().flatten().collect();
    eprintln!("{} cut files tried", cuts.len());
    assert!(faults.is_empty(), "{} cut files end in a panic:\n{}", faults.len(), faults[..faults.len().min(20)].join("\n"));
}

/// What is wrong with the way in which these bytes are refused, if anything.
fn panics(bytes: &[u8]) -> Option<String> {
    let tried = std::panic::catch_unwind(|| {
        if let Ok(file) = trilith::file::open_asdf_bytes(bytes.to_vec()) {
            let _ = trilith::check::digest(&file);
            let _ = trilith::check::verify(&file, VerifyDepth::Decoded, trilith::Progress::default());
        }
    });
    tried.err().map(|what| what.downcast_ref::<String>().cloned().unwrap_or_else(|| "a panic".to_owned()))
}
