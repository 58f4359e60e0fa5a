//! Every layout in `tests/cases/layout` says in its own comments what it must come to.
//!
//! A line `# RUN: --params 4,3 --order little --native --dialect 2025` at the top gives the options of
//! `layout resolve`. Lines `#> …` at the end are what is expected, compared as text: one line for each
//! error or warning (`E306 3:14`), or for each entry (`path kind address datatype shape nbytes =value`,
//! `-` for null), then `total N next N`. `BLESS=1` rewrites them.

#![allow(clippy::panic, clippy::print_stdout, clippy::disallowed_methods, reason = "tests report, and read files on their own")]
#![allow(clippy::unwrap_used, reason = "a case that cannot be read is a failed test")]

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use trilith_layout::layout::{self, Byteorder, Dialect, EvaluateOptions, EvaluationError, ParseOptions, SuppliedValue};

#[derive(Default)]
struct Run {
    parse: ParseOptions,
    options: EvaluateOptions,
    params: Option<Vec<i64>>,
    docs: bool,
    total: bool,
}

fn run_line(text: &str) -> Run {
    let mut run = Run::default();
    let Some(line) = text.lines().find_map(|line| line.strip_prefix("# RUN:")) else { return run };
    let mut words = line.split_whitespace();
    while let Some(word) = words.next() {
        match word {
            "--native" => run.options.is_native = true,
            "--docs" => run.docs = true,
            "--total" => run.total = true,
            "--params" => run.params = Some(words.next().unwrap().split(',').map(|n| n.parse().unwrap()).collect()),
            "--dialect" => run.parse.dialect = Dialect::from_name(words.next().unwrap()),
            "--order" if words.next() == Some("little") => run.options.byteorder = Some(Byteorder::Little),
            "--order" => run.options.byteorder = Some(Byteorder::Big),
            other => panic!("unknown option {other} in {line}"),
        }
    }
    run
}

fn null(value: Option<u64>) -> String {
    value.map_or("-".into(), |value| value.to_string())
}

/// What a layout comes to, as lines.
fn outcome(text: &[u8], run: &Run) -> String {
    let parsed = layout::parse(text, &run.parse).unwrap();
    let mut out = String::new();
    let Some(found) = &parsed.layout else {
        for diagnostic in parsed.diagnostics.iter().filter(|d| d.severity == trilith_io::Severity::Error) {
            writeln!(out, "{} {}:{}", diagnostic.code, diagnostic.line, diagnostic.column).unwrap();
        }
        return out;
    };
    for diagnostic in &parsed.diagnostics {
        writeln!(out, "{} {}:{}", diagnostic.code, diagnostic.line, diagnostic.column).unwrap();
    }
    let evaluated = match &run.params {
        Some(values) => found.evaluate_with(&run.options, values),
        None => found.evaluate(&run.options, |request| {
            Ok(if request.is_length { SuppliedValue::Unknown } else { SuppliedValue::Missing })
        }),
    };
    match evaluated {
        Err(EvaluationError::Text(d)) => writeln!(out, "{} {}:{}", d.code, d.line, d.column).unwrap(),
        Err(fault) => writeln!(out, "{fault}").unwrap(),
        Ok(evaluation) => {
            for entry in evaluation.entries().take(if run.total { 0 } else { 200 }) {
                let entry = match entry {
                    Ok(entry) => entry,
                    Err(fault) => {
                        writeln!(out, "{fault}").unwrap();
                        break;
                    }
                };
                let shape: Vec<String> = entry.shape.iter().map(u64::to_string).collect();
                let (address, nbytes) = (null(entry.address), null(entry.nbytes));
                let (kind, datatype, shape) = (entry.kind.name(), &entry.datatype, shape.join(","));
                write!(out, "{} {kind} {address} {datatype} [{shape}] {nbytes}", entry.path).unwrap();
                match entry.value {
                    Some(value) => writeln!(out, " ={value}").unwrap(),
                    None => writeln!(out).unwrap(),
                }
                let alone = evaluation.find(&entry.path).unwrap();
                if alone.as_ref() != Some(&entry) && alone.as_ref().is_none_or(|other| other.path != entry.path) {
                    writeln!(out, "find: {alone:?}").unwrap();
                }
            }
            writeln!(out, "total {} next {}", null(evaluation.total()), null(evaluation.next())).unwrap();
        }
    }
    if run.docs {
        docs(found, &mut out);
    }
    if !run.total {
        printed(found, run, &mut out);
    }
    out
}

/// The laws of the printer: a print is a fix-point and means the same; a faithful translation too.
fn printed(found: &layout::Layout, run: &Run, out: &mut String) {
    let again = |text: &str, dialect| {
        let parsed = layout::parse(text.as_bytes(), &ParseOptions::with_dialect(dialect)).unwrap();
        parsed.layout.ok_or_else(|| format!("{text}{:?}", parsed.diagnostics))
    };
    let first = found.print();
    match again(&first, found.dialect()) {
        Err(problem) => writeln!(out, "print: {problem}").unwrap(),
        Ok(second) => {
            if second.print() != first {
                writeln!(out, "print: {first}again: {}", second.print()).unwrap();
            }
            if entries(found, run) != entries(&second, run) || notes(found) != notes(&second) {
                writeln!(out, "print changed the layout: {first}").unwrap();
            }
        }
    }
    let other = if found.dialect() == Dialect::D2025 { Dialect::D2026 } else { Dialect::D2025 };
    let translation = found.translate(other);
    if !translation.is_faithful() {
        return;
    }
    match again(&translation.text, other) {
        Err(problem) => writeln!(out, "translate: {problem}").unwrap(),
        Ok(second) if run.options.is_native => drop(second),
        Ok(second) => {
            let (old, new) = (entries(found, run), entries(&second, run));
            if let Some((old, new)) = old.iter().zip(&new).find(|(old, new)| old != new) {
                writeln!(out, "translate: {}old: {old}\nnew: {new}", translation.text).unwrap();
            } else if old.len() != new.len() {
                writeln!(out, "translate: {}{} and {} entries", translation.text, old.len(), new.len()).unwrap();
            }
        }
    }
}

fn entries(found: &layout::Layout, run: &Run) -> Vec<String> {
    let mut options = run.options.clone();
    options.byteorder = options.byteorder.or(found.order());
    let evaluated = match &run.params {
        Some(values) => found.evaluate_with(&options, values),
        None => found
            .evaluate(&options, |request| Ok(if request.is_length { SuppliedValue::Unknown } else { SuppliedValue::Missing })),
    };
    let Ok(evaluated) = evaluated else { return Vec::new() };
    // Names may change and references become items: what lies where may not.
    evaluated
        .entries()
        .take(1000)
        .filter_map(Result::ok)
        .map(|e| {
            format!(
                "{:?} {:?} {} {:?} {:?} {:?}",
                e.kind,
                e.address,
                e.datatype.replace("p4", "u4").replace("p8", "u8"),
                e.shape,
                e.nbytes,
                e.value
            )
        })
        .collect()
}

fn notes(found: &layout::Layout) -> Vec<String> {
    let mut out = String::new();
    docs(found, &mut out);
    let mut lines: Vec<String> = out.lines().map(String::from).collect();
    lines.sort();
    lines
}

fn docs(found: &layout::Layout, out: &mut String) {
    for id in (0..found.item_count()).filter_map(|at| found.item_at(at)) {
        for line in found.docs(id) {
            writeln!(out, "doc {}:{line}", found.path(id)).unwrap();
        }
        for (name, value) in found.attributes(id) {
            writeln!(out, "attribute {} {name}={value}", found.path(id)).unwrap();
        }
    }
}

fn cases(folder: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.map(|entry| entry.unwrap().path()) {
        if entry.is_dir() {
            cases(&entry, found);
        } else if entry.extension().is_some_and(|e| e == "dud") {
            found.push(entry);
        }
    }
}

#[test]
fn every_layout_comes_to_what_it_says() {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/cases/layout"));
    let mut files = Vec::new();
    cases(folder, &mut files);
    files.sort();
    assert!(!files.is_empty(), "no cases in {}", folder.display());
    let bless = std::env::var_os("BLESS").is_some();
    let mut failures = String::new();
    for file in &files {
        let bytes = fs::read(file).unwrap();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let expected: String = text.lines().filter_map(|line| line.strip_prefix("#> ")).map(|line| format!("{line}\n")).collect();
        let got = outcome(&bytes, &run_line(&text));
        if got == expected {
            continue;
        }
        if bless {
            let end = bytes.windows(3).position(|w| w == b"#> ").unwrap_or(bytes.len());
            let mut new = bytes[..end].to_vec();
            for line in got.lines() {
                new.extend_from_slice(format!("#> {line}\n").as_bytes());
            }
            fs::write(file, new).unwrap();
        } else {
            let got: String = got.lines().take(60).map(|line| format!("{line}\n")).collect();
            write!(failures, "--- {}\nexpected:\n{expected}got:\n{got}", file.display()).unwrap();
        }
    }
    assert!(failures.is_empty(), "\n{failures}");
    println!("{} layouts", files.len());
}

/// The texts of all cases about Dudley, each with its name.
fn said(folder: &Path, found: &mut String) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for path in entries.map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            said(&path, found);
        } else {
            let text = String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned();
            write!(found, "{}\n{text}\n", path.file_stem().unwrap().to_string_lossy()).unwrap();
        }
    }
}

/// Whether `mark`, such as `D7` or `5.1`, stands in `text` as a word of its own.
fn is_cited(text: &str, mark: &str) -> bool {
    text.match_indices(mark).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let mut after = text[at + mark.len()..].chars();
        let next = after.next();
        let goes_on =
            next.is_some_and(char::is_alphanumeric) || (next == Some('.') && after.next().is_some_and(|c| c.is_ascii_digit()));
        !goes_on && !before.is_some_and(|c| c.is_alphanumeric() || c == '.')
    })
}

/// The marks at the beginnings of lines of the specification: its sections, and the decisions of section 13.
fn rules(specification: &str) -> Vec<String> {
    let mut found: Vec<String> = (1..=35).map(|n| format!("D{n}")).collect();
    for line in specification.lines() {
        let head = line.split(' ').next().unwrap_or("");
        let is_section = head
            .split_once('.')
            .is_some_and(|(major, minor)| !minor.is_empty() && (major.to_owned() + minor).bytes().all(|b| b.is_ascii_digit()));
        // 14.6 says what is out of scope.
        if is_section && head != "14.6" {
            found.push(head.to_owned());
        }
    }
    found
}

#[test]
fn cases_cite_every_rule_and_code() {
    let cases = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/cases"));
    let mut text = String::new();
    said(&cases.join("layout"), &mut text);
    said(&cases.join("dudley"), &mut text);
    let codes = layout::DiagnosticCode::ALL.iter().map(|code| code.name().to_owned());
    let specification = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/spec/dudley.md"));
    let specification = fs::read_to_string(specification).unwrap_or_else(|_| {
        println!("skipped: the sections of the specification, since ../shared is not there");
        String::new()
    });
    let missing: Vec<String> = codes.chain(rules(&specification)).filter(|mark| !is_cited(&text, mark)).collect();
    assert!(missing.is_empty(), "no case cites {missing:?}");
}
