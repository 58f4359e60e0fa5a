//! Every layout in `tests/cases/layout` says in its own comments what it must come to.
//!
//! A line `# RUN: --params 4,3 --order little --native --dialect 2025` at the top gives the options of
//! `layout resolve`. Lines `#> …` at the end are what is expected, compared as text: one line for each
//! error or warning (`E306 3:14`), or for each entry (`path kind address datatype shape nbytes =value`,
//! `-` for null), then `total N next N`. `BLESS=1` rewrites them.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use trilith::layout::{self, ByteOrder, Dialect, Fault, Options, ParseOptions, Supply};

#[derive(Default)]
struct Run {
    parse: ParseOptions,
    options: Options,
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
            "--native" => run.options.native = true,
            "--docs" => run.docs = true,
            "--total" => run.total = true,
            "--params" => run.params = Some(words.next().unwrap().split(',').map(|n| n.parse().unwrap()).collect()),
            "--dialect" => run.parse.dialect = Dialect::named(words.next().unwrap()),
            "--order" if words.next() == Some("little") => run.options.order = Some(ByteOrder::Little),
            "--order" => run.options.order = Some(ByteOrder::Big),
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
        for diagnostic in parsed.diagnostics.iter().filter(|d| !d.code.is_warning()) {
            writeln!(out, "{} {}:{}", diagnostic.code, diagnostic.line, diagnostic.column).unwrap();
        }
        return out;
    };
    for diagnostic in &parsed.diagnostics {
        writeln!(out, "{} {}:{}", diagnostic.code, diagnostic.line, diagnostic.column).unwrap();
    }
    let evaluated = match &run.params {
        Some(values) => found.evaluate_with(&run.options, values),
        None => found.evaluate(&run.options, |request| Ok(if request.is_length { Supply::Unknown } else { Supply::Missing })),
    };
    match evaluated {
        Err(Fault::Text(d)) => writeln!(out, "{} {}:{}", d.code, d.line, d.column).unwrap(),
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
    out
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
#[allow(clippy::disallowed_methods)]
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
