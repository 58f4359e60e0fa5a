//! The command line by examples: every `.case` file below `tests/cases` is run. The format is
//! described in `tests/cases/README.md`. `BLESS=1` writes what was said in place of what was expected.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may stop where things are not as expected")]
#![allow(clippy::print_stderr, clippy::disallowed_methods, reason = "tests report, and read files on their own")]

mod common;

use std::path::{Path, PathBuf};
use std::process::Stdio;

use common::{Ended, files, finish, in_parallel, repository, run, shared, trilith};

#[test]
fn cases_say_what_is_expected() {
    let folder = repository().join("tests/cases");
    let only = std::env::var("CASE").unwrap_or_default();
    let chosen: Vec<PathBuf> = files(&folder)
        .into_iter()
        .filter(|path| path.extension().is_some_and(|e| e == "case") && path.to_string_lossy().contains(&only))
        .collect();
    let bless = std::env::var_os("BLESS").is_some();
    let chosen = if bless || !only.is_empty() { chosen } else { common::sample("cases", chosen, 3) };
    let outcomes = in_parallel(&chosen, |path| one_case(path, bless).map_err(|e| format!("{}: {e}", relative(path))));
    let (mut faults, mut skipped) = (String::new(), 0);
    for outcome in outcomes {
        match outcome {
            Ok(Outcome::Passed) => {}
            Ok(Outcome::NoShared) => skipped += 1,
            Ok(Outcome::Differs(report)) | Err(report) => faults.push_str(&format!("{report}\n")),
        }
    }
    if skipped > 0 {
        eprintln!("skipped: {skipped} cases that use %shared, which is not there");
    }
    assert!(faults.is_empty(), "\n{faults}`cargo xtask bless` writes what was said; read the diff before you commit it");
}

enum Outcome {
    Passed,
    NoShared,
    Differs(String),
}

/// One line or group of lines of a case.
enum Part {
    /// A comment or an empty line, kept as it is.
    Text(String),
    /// A file to make: its name, its bytes, and the lines that say so.
    File {
        name: String,
        bytes: Vec<u8>,
        lines: Vec<String>,
    },
    Step(Step),
}

/// A command and what is expected of it.
struct Step {
    line: usize,
    command: String,
    stdout: Vec<String>,
    stderr: Vec<String>,
    status: String,
}

fn one_case(path: &Path, bless: bool) -> Result<Outcome, String> {
    let text = std::fs::read_to_string(path).map_err(|e| e.to_string())?;
    let mut parts = parse(&text)?;
    let shared = shared();
    if text.contains("%shared") && shared.is_none() {
        return Ok(Outcome::NoShared);
    }
    let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
    let tmp = folder.path().canonicalize().map_err(|e| e.to_string())?;
    let names = Names { tmp, here: path.parent().unwrap().to_path_buf(), shared };
    let mut report = String::new();
    for part in &mut parts {
        match part {
            Part::Text(_) => {}
            Part::File { name, bytes, .. } => {
                let file = names.tmp.join(&*name);
                let made = file.parent().map_or(Ok(()), std::fs::create_dir_all).and_then(|()| std::fs::write(&file, bytes));
                made.map_err(|e| format!("{name}: {e}"))?;
            }
            Part::Step(step) => {
                let place = format!("{}:{}", relative(path), step.line);
                let ended = execute(&step.command, &names).map_err(|e| format!("line {}: {e}", step.line))?;
                let stdout = lines(&names.generic(&String::from_utf8_lossy(&ended.stdout)), '|', '~');
                let stderr = lines(&names.generic(&ended.stderr), '!', '!');
                let status = ended.status.map_or_else(|e| e, |code| code.to_string());
                if status.parse().is_ok_and(|code: i32| code > 2) || status.parse::<i32>().is_err() {
                    report.push_str(&format!("{place}: $ {}\n  ended with {status}\n  {}\n", step.command, stderr.join("\n  ")));
                    continue;
                }
                let same = matches(&step.stdout, &stdout) && matches(&step.stderr, &stderr) && step.status == status;
                if !same && !bless {
                    let expected = shown(&step.stdout, &step.stderr, &step.status);
                    report.push_str(&format!(
                        "{place}: $ {}\n{}",
                        step.command,
                        difference(&expected, &shown(&stdout, &stderr, &status))
                    ));
                }
                if !same {
                    (step.stdout, step.stderr, step.status) = (stdout, stderr, status);
                }
            }
        }
    }
    if bless {
        let blessed = print(&parts);
        if blessed != text {
            std::fs::write(path, blessed).map_err(|e| e.to_string())?;
        }
    }
    Ok(if report.is_empty() { Outcome::Passed } else { Outcome::Differs(report) })
}

// ---- the format ----

fn parse(text: &str) -> Result<Vec<Part>, String> {
    let mut parts: Vec<Part> = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let rest = line.get(2..).unwrap_or("").to_owned();
        let at = |what: &str| format!("line {}: {what}", number + 1);
        match (line.chars().next(), parts.last_mut()) {
            (None | Some('#'), _) => parts.push(Part::Text(line.to_owned())),
            (Some('$'), _) => {
                parts.push(Part::Step(Step {
                    line: number + 1,
                    command: rest,
                    stdout: vec![],
                    stderr: vec![],
                    status: "0".into(),
                }));
            }
            (Some('='), _) => parts.push(Part::File { name: rest, bytes: vec![], lines: vec![line.to_owned()] }),
            (Some(mark @ ('|' | '~' | 'x')), Some(Part::File { bytes, lines, .. })) => {
                match mark {
                    'x' => bytes.extend(hexadecimal(&rest).map_err(|e| at(&e))?),
                    '|' => bytes.extend(format!("{rest}\n").bytes()),
                    _ => bytes.extend(rest.bytes()),
                }
                lines.push(line.to_owned());
            }
            (Some('|' | '~'), Some(Part::Step(step))) => step.stdout.push(line.to_owned()),
            (Some('!'), Some(Part::Step(step))) => step.stderr.push(line.to_owned()),
            (Some('?'), Some(Part::Step(step))) => step.status = rest.trim().to_owned(),
            _ => return Err(at("a line starts with `#`, `$`, `=`, or, after `$` or `=`, with `|`, `~`, `!`, `?`, `x`")),
        }
    }
    Ok(parts)
}

fn print(parts: &[Part]) -> String {
    let mut lines: Vec<String> = Vec::new();
    for part in parts {
        match part {
            Part::Text(line) => lines.push(line.clone()),
            Part::File { lines: own, .. } => lines.extend(own.iter().cloned()),
            Part::Step(step) => {
                lines.push(format!("$ {}", step.command));
                lines.extend(shown(&step.stdout, &step.stderr, &step.status));
            }
        }
    }
    lines.join("\n") + "\n"
}

/// What a step says, as the lines of a case.
fn shown(stdout: &[String], stderr: &[String], status: &str) -> Vec<String> {
    let status = (status != "0").then(|| format!("? {status}"));
    stdout.iter().chain(stderr).cloned().chain(status).collect()
}

/// Text as lines with a mark in front; `open` marks a last line that no line break ends.
fn lines(text: &str, mark: char, open: char) -> Vec<String> {
    let marked = |mark: char, line: &str| format!("{mark} {line}").trim_end_matches(' ').to_owned();
    let mut out: Vec<String> = text.strip_suffix('\n').unwrap_or(text).split('\n').map(|line| marked(mark, line)).collect();
    if text.is_empty() {
        out.clear();
    } else if !text.ends_with('\n')
        && let Some(last) = out.last_mut()
    {
        last.replace_range(..1, &open.to_string());
    }
    out
}

/// Whether lines are as expected: a line `...` stands for any lines, `[..]` in a line for any text.
fn matches(expected: &[String], found: &[String]) -> bool {
    match expected.split_first() {
        None => found.is_empty(),
        Some((line, rest)) if line.get(1..) == Some(" ...") => (0..=found.len()).any(|skip| matches(rest, &found[skip..])),
        Some((line, rest)) => found.split_first().is_some_and(|(first, others)| fits(line, first) && matches(rest, others)),
    }
}

fn fits(pattern: &str, line: &str) -> bool {
    let mut pieces = pattern.trim_end().split("[..]");
    let first = pieces.next().unwrap_or_default();
    let Some(mut rest) = line.strip_prefix(first) else { return false };
    let mut pieces = pieces.peekable();
    if pieces.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(piece) = pieces.next() {
        if pieces.peek().is_none() {
            return rest.ends_with(piece);
        }
        match rest.find(piece) {
            Some(at) => rest = &rest[at + piece.len()..],
            None => return false,
        }
    }
    true
}

fn difference(expected: &[String], found: &[String]) -> String {
    let same = expected.iter().zip(found).take_while(|(a, b)| fits(a, b)).count();
    let mut report = String::new();
    for line in expected[..same].iter().rev().take(3).rev() {
        report.push_str(&format!("    {line}\n"));
    }
    for (mark, list) in [('-', expected), ('+', found)] {
        for line in list[same..].iter().take(40) {
            report.push_str(&format!("  {mark} {line}\n"));
        }
    }
    report
}

// ---- running ----

/// The names that stand for places of this machine.
struct Names {
    tmp: PathBuf,
    here: PathBuf,
    shared: Option<PathBuf>,
}

impl Names {
    fn pairs(&self) -> impl Iterator<Item = (&'static str, String)> {
        let shared = self.shared.iter().map(|shared| ("%shared", shared.to_string_lossy().into_owned()));
        let own = [("%tmp", &self.tmp), ("%here", &self.here)].map(|(name, path)| (name, path.to_string_lossy().into_owned()));
        own.into_iter().chain(shared).chain([("%version", env!("CARGO_PKG_VERSION").to_owned())])
    }

    fn specific(&self, text: &str) -> String {
        self.pairs().fold(text.to_owned(), |text, (name, place)| text.replace(name, &place))
    }

    fn generic(&self, text: &str) -> String {
        self.pairs()
            .filter(|(name, _)| *name != "%version")
            .fold(text.to_owned(), |text, (name, place)| text.replace(&place, name))
    }
}

/// Runs one command line of a case.
fn execute(command: &str, names: &Names) -> Result<Ended, String> {
    let words = split(&names.specific(command))?;
    let stages: Vec<&[String]> = words.split(|word| word == "|").collect();
    let last = stages.len() - 1;
    let mut feed: Option<Vec<u8>> = None;
    let mut before: Option<std::process::Child> = None;
    for (index, stage) in stages.iter().enumerate() {
        let (mut words, mut input, mut output) = (Vec::new(), None, None);
        let mut rest = stage.iter();
        while let Some(word) = rest.next() {
            match word.as_str() {
                "<" => input = rest.next(),
                ">" => output = rest.next(),
                _ => words.push(word.as_str()),
            }
        }
        let variables = words.iter().take_while(|word| word.contains('=') && !word.starts_with('-')).count();
        let (variables, words) = words.split_at(variables);
        let Some((&name, arguments)) = words.split_first() else { return Err("no command".to_owned()) };
        if name != "trilith" {
            let said = built_in(name, arguments, &names.tmp)?;
            if index == last {
                return Ok(redirected(said, output, &names.tmp));
            }
            feed = Some(said.stdout);
            continue;
        }
        let mut program = trilith();
        program.current_dir(&names.tmp).args(arguments).envs(variables.iter().filter_map(|word| word.split_once('=')));
        if let Some(input) = input {
            program.stdin(std::fs::File::open(names.tmp.join(input)).map_err(|e| format!("{input}: {e}"))?);
        }
        if let Some(pipe) = before.as_mut().and_then(|child| child.stdout.take()) {
            program.stdin(Stdio::from(pipe));
        }
        if index < last && feed.is_none() {
            before = Some(program.stderr(Stdio::inherit()).spawn().map_err(|e| e.to_string())?);
        } else if index < last {
            feed = Some(run(program, feed.take()).stdout);
        } else {
            let ended = match feed.take() {
                Some(bytes) => run(program, Some(bytes)),
                None => finish(program.spawn().map_err(|e| e.to_string())?),
            };
            if let Some(mut earlier) = before.take() {
                let _ = earlier.wait();
            }
            return Ok(redirected(ended, output, &names.tmp));
        }
    }
    Err("no command".to_owned())
}

fn redirected(mut ended: Ended, output: Option<&String>, tmp: &Path) -> Ended {
    if let Some(name) = output {
        std::fs::write(tmp.join(name), std::mem::take(&mut ended.stdout)).expect("the temporary folder can be written");
    }
    ended
}

/// The few things besides `trilith` that a case may do with files.
fn built_in(name: &str, arguments: &[&str], tmp: &Path) -> Result<Ended, String> {
    let read = |name: &str| std::fs::read(tmp.join(name)).map_err(|e| format!("{name}: {e}"));
    let number = |text: &str| text.parse::<usize>().map_err(|_| format!("{text:?} is not a number"));
    let mut stdout = Vec::new();
    match (name, arguments) {
        ("cat", files) => {
            for file in files {
                stdout.extend(read(file)?);
            }
        }
        ("cmp", [a, b]) if read(a)? != read(b)? => stdout.extend(format!("{a} and {b} differ\n").bytes()),
        ("cmp", [_, _]) => {}
        ("ls", []) => {
            for path in files(tmp) {
                stdout.extend(format!("{}\n", path.strip_prefix(tmp).unwrap().display()).bytes());
            }
        }
        ("rm", [file]) => std::fs::remove_file(tmp.join(file)).map_err(|e| format!("{file}: {e}"))?,
        ("cut", [file, length]) => {
            let bytes = read(file)?;
            std::fs::write(tmp.join(file), bytes.get(..number(length)?).ok_or("it is shorter than that")?)
                .map_err(|e| e.to_string())?;
        }
        ("patch", [file, at, hex]) => {
            let (mut bytes, new) = (read(file)?, hexadecimal(hex)?);
            let at = number(at)?;
            bytes.get_mut(at..at + new.len()).ok_or("it is shorter than that")?.copy_from_slice(&new);
            std::fs::write(tmp.join(file), bytes).map_err(|e| e.to_string())?;
        }
        _ => return Err(format!("`{name}` with {} arguments is nothing that a case can run", arguments.len())),
    }
    Ok(Ended { stdout, stderr: String::new(), status: Ok(0) })
}

/// A command line as words; quotes of both kinds keep spaces, and nothing else is special.
fn split(line: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for c in line.chars() {
        match (quote, c) {
            (Some(open), _) if c == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, ' ') => words.extend(word.take()),
            _ => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    if quote.is_some() { Err("a quote is not closed".to_owned()) } else { Ok(words) }
}

/// `d3 42 4c4b 00*40`: bytes in hexadecimal, spaces where one likes, `*N` to repeat.
fn hexadecimal(text: &str) -> Result<Vec<u8>, String> {
    let mut out = Vec::new();
    for word in text.split_whitespace() {
        let (digits, times) = word.split_once('*').unwrap_or((word, "1"));
        let times: usize = times.parse().map_err(|_| format!("{word:?}: no number after `*`"))?;
        let pairs: Result<Vec<u8>, String> = (0..digits.len())
            .step_by(2)
            .map(|at| {
                digits
                    .get(at..at + 2)
                    .and_then(|pair| u8::from_str_radix(pair, 16).ok())
                    .ok_or(format!("{word:?} is not hexadecimal"))
            })
            .collect();
        out.extend(pairs?.repeat(times));
    }
    Ok(out)
}

fn relative(path: &Path) -> String {
    path.strip_prefix(repository()).unwrap_or(path).display().to_string()
}

#[test]
fn case_format_parse_print_round_trip() {
    assert_eq!(split(r#"trilith get "a b#/x" --slice '0:1' """#).unwrap(), ["trilith", "get", "a b#/x", "--slice", "0:1", ""]);
    assert_eq!(hexadecimal("d34c 00*3 ff").unwrap(), [0xd3, 0x4c, 0, 0, 0, 0xff]);
    let own = |text: &[&str]| text.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>();
    assert!(matches(&own(&["| a", "| ...", "| z [..] z"]), &own(&["| a", "| b", "| c", "| z 12 z"])));
    assert!(!matches(&own(&["| a", "| z"]), &own(&["| a", "| b", "| z"])));
    assert!(!fits("| 1[..]2", "| 12 3"));
    assert_eq!(lines("a\n\nb", '|', '~'), ["| a", "|", "~ b"]);
    assert!(lines("", '|', '~').is_empty());
    let case = "# why\n= a.txt\n| #ASDF\nx 00\n\n$ cat a.txt\n| #ASDF\n? 1\n";
    assert_eq!(print(&parse(case).unwrap()), case);
    assert!(parse("out of place").is_err());
}
