//! Files made to do harm: each is read in a process of its own that may have one GiB of memory and ten seconds
//! of the processor, and must end with the kind of error that it deserves; then every command reads it, and
//! lets no control character of it through.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may stop where something is not as expected")]
#![allow(clippy::disallowed_methods, reason = "a test lays out files of its own")]
#![cfg(target_os = "linux")]

mod blocks;
#[path = "../common/mod.rs"]
mod common;
mod cpu_cost;
mod make;
mod many;
mod names;
mod other_formats;
mod trees;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

use make::{Case, Cases, Expect, Role};
use trilith::bytes::{self, LocalOptions};
use trilith::check::{SchemaSet, Validator, VerifyDepth};
use trilith::dudley::DudleyFile;
use trilith::file;
use trilith::fits::FitsFile;
use trilith::layout::Layout;
use trilith::{Error, ErrorKind, Limits, check};

/// Address space of a child, in KiB, with that of its threads. What is asked of it is far less; this stops what is not.
const MEMORY_KIB: u64 = (2 << 20) + (1 << 18);
/// What it may really use.
const PEAK_KIB: u64 = 1 << 20;
/// Seconds of the processor. A debug build of the slowest case takes 7 on a machine that does nothing else.
const SECONDS: u64 = if cfg!(debug_assertions) { 30 } else { 10 };
/// A tenth of the default limits on nodes, for debug builds, which are more than ten times slower.
const LESS: &str = "nodes=1000000,expansion=100000";

fn cases() -> Vec<Case> {
    let mut cases = Cases(Vec::new());
    blocks::all(&mut cases);
    trees::all(&mut cases);
    other_formats::all(&mut cases);
    cpu_cost::all(&mut cases);
    cases.0
}

/// Lays a case out: `in/x.asdf` and what is beside it.
fn lay_out(case: &Case, above: &Path) -> std::path::PathBuf {
    let folder = above.join("in");
    std::fs::create_dir_all(&folder).unwrap();
    for (name, content) in &case.beside {
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }
    for (name, to) in &case.links {
        std::os::unix::fs::symlink(to, folder.join(name)).unwrap();
    }
    let name = match case.role {
        Role::File => "x.asdf",
        Role::Schema => "x.yaml",
        Role::Layout => "x.dud",
    };
    std::fs::write(folder.join(name), &case.bytes).unwrap();
    folder.join(name)
}

/// `program` with these limits, set by the shell.
fn limited(program: &Path, limits: Option<&str>) -> Command {
    let mut command = Command::new("sh");
    let script = format!("ulimit -v {MEMORY_KIB}; ulimit -t {SECONDS}; exec \"$0\" \"$@\"");
    command.args(["-c", &script]).arg(program).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // Two threads on every machine, because each needs separate address space.
    command.env("TRILITH_THREADS", "2").env("RAYON_NUM_THREADS", "2").env_remove("TRILITH_LIMITS").env("NO_COLOR", "1");
    // A release build keeps to the defaults.
    if cfg!(debug_assertions) {
        command.env("TRILITH_LIMITS", limits.unwrap_or(LESS));
    }
    command
}

#[test]
fn every_file_gives_expected_error_within_bounds() {
    let cases = cases();
    let mut names: Vec<&str> = cases.iter().map(|case| case.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), cases.len(), "each case has a name of its own");
    assert!(cases.len() >= 200, "{} cases", cases.len());
    let cases = common::sample("hostile files", cases, 16);
    let results = common::in_parallel(&cases, |case| {
        let above = tempfile::tempdir().unwrap();
        judge(case, &lay_out(case, above.path()))
    });
    let (mut faults, mut slowest, mut largest) = (Vec::new(), (0, ""), (0, ""));
    for (case, result) in cases.iter().zip(results) {
        match result {
            Ok((ticks, peak)) => {
                slowest = slowest.max((ticks, case.name.as_str()));
                largest = largest.max((peak, case.name.as_str()));
            }
            Err(fault) => faults.push(format!("{}: {fault}", case.name)),
        }
    }
    common::say(&format!(
        "{} hostile files; most memory {} MB ({}), most time {:.2} s ({})",
        cases.len(),
        largest.0 / 1024,
        largest.1,
        slowest.0 as f64 / 100.0,
        slowest.1
    ));
    assert!(faults.is_empty(), "{} of {}:\n{}", faults.len(), cases.len(), faults.join("\n"));
}

/// Reads a case in a child; its time (1/100 s) and peak memory (KiB), or what is wrong.
fn judge(case: &Case, path: &Path) -> Result<(u64, u64), String> {
    let mut child = limited(&std::env::current_exe().unwrap(), case.limits);
    child.args(["--exact", "child", "--ignored", "--nocapture"]).env("HOSTILE", path);
    let output = child.output().map_err(|e| e.to_string())?;
    let (said, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let line = said.lines().find_map(|line| line.split_once("RESULT ")).map(|(_, result)| result);
    let line = line.ok_or_else(|| format!("ended with {}: {}", output.status, errors.lines().take(3).collect::<String>()))?;
    let mut words = line.split(' ');
    let mut number = || words.next().and_then(|word| word.parse::<u64>().ok()).unwrap_or(u64::MAX);
    let (ticks, peak) = (number(), number());
    let found: Vec<&str> = words.collect();
    let named = |kind: ErrorKind| found.contains(&format!("{kind:?}").as_str());
    let right = match case.expect {
        Expect::Fine => found.is_empty(),
        Expect::Ends => true,
        Expect::Fails(kind) => named(kind),
        Expect::Either(one, other) => named(one) || named(other),
    };
    if !right {
        return Err(format!(
            "expected {:?}, found {found:?} {}",
            case.expect,
            said.lines().filter(|l| l.contains("ERROR")).take(2).collect::<String>()
        ));
    }
    if peak > PEAK_KIB || ticks > SECONDS * 100 {
        return Err(format!("{} MB of memory, {:.1} s", peak / 1024, ticks as f64 / 100.0));
    }
    Ok((ticks, peak))
}

/// What the child does: everything that reads.
#[test]
#[ignore = "the child of the test above"]
fn child() {
    let Some(path) = std::env::var_os("HOSTILE") else { return };
    let mut kinds = BTreeMap::new();
    for error in examine(Path::new(&path)) {
        println!("ERROR {:?} {error}", error.kind());
        kinds.insert(format!("{:?}", error.kind()), ());
    }
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    let ticks: u64 = fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap();
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let peak = peak.split_whitespace().next().unwrap();
    let kinds: String = kinds.keys().map(|kind| format!(" {kind}")).collect();
    println!("RESULT {ticks} {peak}{kinds}");
}

/// Every error of a file.
fn examine(path: &Path) -> Vec<Error> {
    let limits = Limits::from_env().unwrap().for_command(std::fs::metadata(path).map_or(0, |file| file.len()));
    let mut errors = Vec::new();
    let done = match path.extension().and_then(|e| e.to_str()) {
        Some("yaml") => schema(path, &limits, &mut errors),
        Some("dud") => layout(path, &limits, &mut errors),
        _ => any(path, &limits, &mut errors),
    };
    errors.extend(done.err());
    errors
}

fn any(path: &Path, limits: &Limits, errors: &mut Vec<Error>) -> trilith::Result<()> {
    let options = LocalOptions::default();
    let source = bytes::open(path, options)?;
    let mut start = [0; 9];
    if source.len() > 9 && source.read_at(0, &mut start).is_ok() && &start == b"SIMPLE  =" {
        // An unknown table is kept as bytes; `verify` reports the fault.
        let fits = FitsFile::open(source.clone(), limits)?;
        errors.extend(
            fits.hdus().iter().filter_map(|hdu| fits.array(hdu).and_then(|array| array.read_bytes(array.byteorder())).err()),
        );
    }
    let opened = trilith::OpenOptions::new().limits(limits.clone()).open(path)?;
    for entry in opened.digest()? {
        errors.extend(entry.digest.err());
    }
    let Some(file) = opened.as_asdf() else { return Ok(()) };
    let _ = (file.warnings(), file.tree().warnings().len());
    let report = opened.verify(VerifyDepth::Decoded, trilith::Progress::default())?;
    errors.extend(report.structure);
    errors.extend(report.blocks.into_iter().filter_map(|block| block.problem));
    let references = file.tree().references(limits)?;
    for (path, _) in &references {
        errors.extend(opened.item(&path.to_string()).err());
    }
    let mut validator = Validator::new(SchemaSet::bundled());
    validator.validate(file.tree(), None).map(drop)
}

fn stream(file: &DudleyFile, errors: &mut Vec<Error>) -> trilith::Result<()> {
    for entry in check::digest(file)? {
        errors.extend(entry.digest.err());
    }
    Ok(())
}

fn schema(path: &Path, limits: &Limits, errors: &mut Vec<Error>) -> trilith::Result<()> {
    let text = bytes::read_text(path, limits.text)?;
    let text = String::from_utf8(text).map_err(|_| Error::malformed("not UTF-8"))?;
    let tree = file::open_asdf(path.with_file_name("tree.asdf"))?;
    let mut validator = Validator::new(SchemaSet::bundled());
    validator.add_custom(&text, "x.yaml")?;
    let report = validator.validate(tree.tree(), None)?;
    errors.extend(report.problems.into_iter().filter(|p| p.message.contains("schema")).map(|p| Error::malformed(p.message)));
    Ok(())
}

fn layout(path: &Path, limits: &Limits, errors: &mut Vec<Error>) -> trilith::Result<()> {
    let layout = Layout::read(&bytes::read_text(path, limits.text)?)?;
    let source = bytes::open(path.with_file_name("data.bin"), LocalOptions::default())?;
    stream(&DudleyFile::open(source, Some(layout), limits)?, errors)
}

#[test]
fn no_command_prints_control_characters() {
    let program = Path::new(env!("CARGO_BIN_EXE_trilith"));
    let cases: Vec<Case> =
        cases().into_iter().filter(|case| case.bytes.len() < 3 << 20 && !case.name.starts_with("sandbox: source")).collect();
    let cases = common::sample("hostile files for every command", cases, 48);
    let faults = common::in_parallel(&cases, |case| {
        let above = tempfile::tempdir().unwrap();
        let path = lay_out(case, above.path());
        let file = path.file_name().unwrap().to_str().unwrap();
        commands(case.role).iter().filter_map(|words| command(program, &path, words, file, case)).collect::<Vec<_>>()
    });
    let faults: Vec<String> = faults.into_iter().flatten().collect();
    assert!(faults.is_empty(), "{}:\n{}", faults.len(), faults.join("\n"));
}

/// The words of the commands that read, `FILE` for the file.
fn commands(role: Role) -> &'static [&'static [&'static str]] {
    match role {
        Role::File => &[
            &["info", "FILE"],
            &["info", "--json", "FILE"],
            &["tree", "FILE"],
            &["tree", "--json", "FILE"],
            &["tree", "--tags", "FILE"],
            &["blocks", "--json", "FILE"],
            &["verify", "--deep", "-v", "FILE"],
            &["validate", "--json", "FILE"],
            &["search", "FILE", "a"],
            &["refs", "FILE"],
            &["diff", "FILE", "FILE"],
            &["get", "FILE#/a"],
            &["stats", "FILE"],
            &["show", "FILE"],
            &["to-yaml", "FILE"],
            &["repair", "FILE", "-o", "repaired.asdf"],
            &["digest", "FILE"],
            &["layout", "describe", "FILE"],
            &["to-yaml", "--inline", "FILE"],
            &["to-yaml", "--resolve", "FILE"],
            &["resolve", "FILE", "resolved.asdf"],
            &["convert", "--to", "dudley-2026", "--allow-loss", "FILE", "converted.bd"],
        ],
        Role::Schema => &[&["validate", "--schema", "FILE", "tree.asdf"], &["schema", "check", "FILE"]],
        Role::Layout => &[
            &["layout", "check", "FILE"],
            &["info", "--layout", "FILE", "data.bin"],
            &["layout", "print", "FILE"],
            &["tree", "--json", "--layout", "FILE", "data.bin"],
        ],
    }
}

/// Runs a command; what is wrong with how it ends or with what it prints.
fn command(program: &Path, path: &Path, words: &[&str], file: &str, case: &Case) -> Option<String> {
    let words: Vec<String> = words.iter().map(|word| word.replace("FILE", file)).collect();
    let output = limited(program, case.limits).current_dir(path.parent().unwrap()).args(&words).output().unwrap();
    let shown = format!("{}: trilith {}", case.name, words.join(" "));
    match output.status.code() {
        Some(0..=2) => {}
        _ => {
            let errors = String::from_utf8_lossy(&output.stderr).chars().take(300).collect::<String>();
            return Some(format!("{shown}: ended with {}: {errors}", output.status));
        }
    }
    // The text of the tree is printed unchanged, except on a terminal: see below.
    let streams = [("stdout", &output.stdout), ("stderr", &output.stderr)];
    for (stream, bytes) in streams.into_iter().filter(|(stream, _)| *stream != "stdout" || words[0] != "to-yaml") {
        let Ok(text) = std::str::from_utf8(bytes) else { return Some(format!("{shown}: {stream} is not UTF-8")) };
        let bad = |c: &char| {
            (c.is_control() && !matches!(c, '\n' | '\t')) || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
        };
        if let Some(c) = text.chars().find(bad) {
            return Some(format!("{shown}: {c:?} in {stream}"));
        }
    }
    None
}

#[test]
fn terminal_output_escapes_bidi_controls_of_tree() {
    let folder = tempfile::tempdir().unwrap();
    let tree = "%YAML 1.1\n---\na\u{202e}b: \u{2066}x\u{2069}\n...\n";
    std::fs::write(folder.path().join("x.asdf"), format!("#ASDF 1.0.0\n{tree}")).unwrap();
    let words = format!("{} to-yaml x.asdf", env!("CARGO_BIN_EXE_trilith"));
    let script = |command: &str| Command::new("script").current_dir(folder.path()).args(["-qec", command, "/dev/null"]).output();
    let Ok(output) = script(&words) else { return println!("skipped: no program `script` for a terminal") };
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("\\u{202e}") && !text.contains('\u{202e}'), "{text:?}");
}
