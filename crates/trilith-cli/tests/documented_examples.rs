//! Every command line that is written for people runs: the examples of `--help`, and those of README.md and docs/.
//!
//! They run in the folder that `trilith tour` makes, beside a few files made here under the names that the pages use.
//! The `console` blocks of a page run in a fresh folder, and the output below each `$` line is compared; a line `...` there
//! stands for any lines.
//! A line with `…`, ` [` before options or `|` between words is a scheme and not a line; so is one listed in [`SCHEMES`].

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may stop where things are not as expected")]
#![allow(clippy::disallowed_methods, reason = "tests make files on their own")]
#![cfg(unix)]

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;

use common::{repository, run, say, trilith};
use trilith::asdf::{ArrayOptions, AsdfBuilder, Target};
use trilith::{Array, Value};

/// A folder to run lines in, with the command first on the path.
struct Folder {
    kept: tempfile::TempDir,
}

impl Folder {
    fn new() -> Self {
        let kept = tempfile::tempdir().unwrap();
        std::fs::create_dir(kept.path().join("bin")).unwrap();
        let program = std::env::var_os("TRILITH_BIN").unwrap_or_else(|| env!("CARGO_BIN_EXE_trilith").into());
        std::os::unix::fs::symlink(program, kept.path().join("bin/trilith")).unwrap();
        let folder = Self { kept };
        folder.must("trilith tour . > tour.txt");
        folder
    }

    fn path(&self) -> &Path {
        self.kept.path()
    }

    /// Exit status and messages.
    fn line(&self, line: &str) -> (i32, String) {
        let ended = self.ended(line);
        (ended.0, ended.2)
    }

    /// Exit status, output and messages.
    fn ended(&self, line: &str) -> (i32, String, String) {
        // A command that goes on until it is interrupted is interrupted.
        if line.starts_with("trilith view ") {
            let (status, printed, said) = self.ended(&format!("timeout 1 {line} --no-browser"));
            return (if status == 124 { 0 } else { status.max(1) }, printed, said);
        }
        let mut shell = Command::new("bash");
        for (name, value) in trilith().get_envs() {
            match value {
                Some(value) => shell.env(name, value),
                None => shell.env_remove(name),
            };
        }
        let path = std::env::var("PATH").unwrap_or_default();
        shell
            .env("HOME", self.path())
            // An editor that changes nothing.
            .env("VISUAL", "true")
            .env("PATH", format!("{}:{path}", self.path().join("bin").display()))
            .current_dir(self.path());
        shell.stdin(std::process::Stdio::null()).stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
        shell.args(["-c", &format!("set -o pipefail; shopt -s nullglob; {line}")]);
        let ended = run(shell, None);
        (ended.status.unwrap_or(-1), String::from_utf8_lossy(&ended.stdout).into_owned(), ended.stderr)
    }

    fn must(&self, line: &str) {
        let (status, said) = self.line(line);
        assert_eq!(status, 0, "{line}\n{said}");
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// A .npy file of numbers from 0 on.
    fn npy(&self, name: &str, shape: &[u64]) {
        let count: u64 = shape.iter().product();
        let numbers: Vec<f64> = (0..count).map(|n| n as f64).collect();
        self.asdf("made.asdf", &numbers, shape, &ArrayOptions::default());
        self.must(&format!("trilith get made.asdf#/rows -o {name}"));
    }

    fn asdf(&self, name: &str, numbers: &[f64], shape: &[u64], how: &ArrayOptions) {
        let mut builder = AsdfBuilder::new(Target::latest());
        let rows = builder.array(&Array::from_slice(numbers, shape).unwrap(), how).unwrap();
        builder.write(self.path().join(name), Value::map([("rows", rows)])).unwrap();
    }
}

const SCHEMA: &str = "%YAML 1.1\n---\n$schema: \"http://stsci.edu/schemas/yaml-schema/draft-01\"\n\
     id: \"http://example.org/schemas/mine-1.0.0\"\ntype: object\n...\n";
const LINKED: &str = "#ASDF 1.0.0\n#ASDF_STANDARD 1.6.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n--- !core/asdf-1.1.0\n\
     part: {$ref: \"parts-of.asdf#/x\"}\n...\n";
const PARTS: &str =
    "#ASDF 1.0.0\n#ASDF_STANDARD 1.6.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n--- !core/asdf-1.1.0\nx: {y: 1}\n...\n";

/// The folder with what the examples and the pages name besides the files of the tour.
fn furnished() -> Folder {
    let folder = Folder::new();
    folder.write("my-schema.yaml", SCHEMA);
    folder.write("schemas/mine-1.0.0.yaml", SCHEMA);
    folder.write("linked.asdf", LINKED);
    folder.write("parts-of.asdf", PARTS);
    folder.write("records.h", "struct point { double x; int n; };\n");
    std::fs::write(folder.path().join("te.raw"), [0; 480]).unwrap();
    folder.write("point.dud", "{\n N : i8\n}\nx = f8[N]\n");
    folder.asdf("stream.asdf", &[0.0; 6], &[2, 3], &ArrayOptions::streamed());
    folder.npy("rows.npy", &[2, 3]);
    folder.npy("time.npy", &[1]);
    folder.npy("x3.npy", &[3]);
    folder.npy("new.npy", &[64, 64]);
    std::fs::create_dir(folder.path().join("arrays")).unwrap();
    folder.npy("arrays/x.npy", &[3]);
    folder.must("trilith to-yaml observation.asdf > tree.yaml");
    folder.must("head -c 500000 observation-plain.asdf > damaged.asdf");
    folder
}

#[test]
fn every_help_example_runs() {
    let folder = furnished();
    let mut faults = String::new();
    for (line, _) in trilith_cli::examples() {
        let (status, said) = folder.line(line);
        // A damaged file is recovered only in part.
        let expected = i32::from(line.contains("repair"));
        if status != expected {
            faults.push_str(&format!("{line}\n  exit status {status}: {said}\n"));
        }
    }
    assert!(faults.is_empty(), "{faults}");
    say(&format!("{} examples of --help ran", trilith_cli::examples().len()));
}

/// The words of each command and subcommand that is shown.
fn paths(command: &clap::Command, above: &[String]) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set() && sub.get_name() != "help") {
        let mut path = above.to_vec();
        path.push(sub.get_name().to_owned());
        found.push(path.clone());
        found.extend(paths(sub, &path));
    }
    found
}

/// clap replaces an n in braces by a line break, and a line may be cut in other ways.
#[test]
fn every_help_shows_its_examples_and_texts_whole() {
    let (mut faults, mut shown) = (String::new(), 0);
    let examples: Vec<&str> =
        trilith_cli::examples().iter().map(|(line, _)| line.strip_prefix("EDITOR=true ").unwrap_or(line)).collect();
    for path in paths(&trilith_cli::command(), &[]) {
        for option in ["-h", "--help"] {
            let mut command = trilith();
            command.args(&path).arg(option);
            let ended = run(command, None);
            let help = String::from_utf8_lossy(&ended.stdout).into_owned();
            let lines: Vec<&str> = help.lines().skip_while(|line| *line != "Examples:").skip(1).collect();
            let lines: Vec<&str> = lines.into_iter().take_while(|line| !line.is_empty()).collect();
            for pair in lines.chunks(2) {
                shown += 1;
                if !matches!(pair, [what, line] if what.starts_with("  ") && examples.contains(&line.trim_start())) {
                    faults.push_str(&format!("trilith {} {option}: {pair:?}\n", path.join(" ")));
                }
            }
        }
    }
    let mut command = trilith_cli::command();
    command.build();
    let mut open = vec![&command];
    while let Some(command) = open.pop() {
        open.extend(command.get_subcommands());
        let about = [command.get_about(), command.get_long_about(), command.get_after_help(), command.get_after_long_help()];
        let args = command.get_arguments().flat_map(|arg| [arg.get_help(), arg.get_long_help()]);
        for text in about.into_iter().chain(args).flatten().filter(|text| text.to_string().contains("{n}")) {
            faults.push_str(&format!("trilith {}: clap breaks the line in {text}\n", command.get_name()));
        }
    }
    assert!(faults.is_empty(), "{faults}");
    assert!(shown > 250, "{shown} examples are shown");
    say(&format!("{shown} examples are whole in the help"));
}

/// Lines that show a form, not a command.
const SCHEMES: &[&str] = &[
    "trilith info /dev/zero",
    "trilith get FILE",
    "trilith verify --conform SPECIFICATION FILE",
    // The folder in which lines run was made by it.
    "trilith tour .",
    // 400 MB: what it writes is what the small one writes, and more of it.
    "trilith tour large --large",
    "instrument | trilith stream",
];

/// What stands for a file in the pages, and a file that is one; by the page and then for all pages.
const NAMES: &[(&str, &str)] = &[
    ("'s3://bucket/night1/*.asdf' --sky 83.6,-5.4", "placed.asdf --sky 83.8,-5.4"),
    ("s3://bucket/cutouts/{stem}.fits", "cut_{stem}.fits"),
    ("image.asdf#/data' --slice 0:512,0:512 -o gs://bucket/", "observation.asdf#/observation/data' --slice 0:2,0:2 -o "),
    ("az://container/night1.parquet", "night1.parquet"),
    ("az://container/**/*.fits", "placed.asdf"),
    ("s3://bucket/night[12]/r*.asdf", "observation.asdf"),
    ("gs://bucket/2026/", "observation.asdf"),
    ("convert r0000101.asdf s3://bucket/r0000101.asdf", "convert observation.asdf uploaded.asdf"),
    ("s3://bucket/night1/*.asdf", "observation.asdf"),
    ("s3://bucket/**/*.asdf", "placed.asdf"),
    ("s3://bucket/night1/", "observation.asdf"),
    ("s3://bucket/night1.csv", "night1.csv"),
    ("convert r0000101.asdf gs://bucket/r0000101.asdf", "convert observation.asdf uploaded.asdf"),
    ("gs://bucket/night1/*.asdf", "observation.asdf"),
    ("gs://bucket/**/*.asdf", "placed.asdf"),
    ("gs://bucket/night1/", "observation.asdf"),
    ("gs://bucket/night1.csv", "night1.csv"),
    (
        "convert r0000101.asdf abfss://container@account.dfs.core.windows.net/r0000101.asdf",
        "convert observation.asdf uploaded.asdf",
    ),
    ("abfss://container@account.dfs.core.windows.net/night1/*.asdf", "observation.asdf"),
    ("abfss://container@account.dfs.core.windows.net/**/*.asdf", "placed.asdf"),
    ("abfss://container@account.dfs.core.windows.net/night1/", "observation.asdf"),
    ("abfss://container@account.dfs.core.windows.net/night1.csv", "night1.csv"),
    ("tree s3://bucket/r0000101.asdf", "tree observation.asdf"),
    ("tree gs://bucket/r0000101.asdf", "tree observation.asdf"),
    ("tree abfss://container@account.dfs.core.windows.net/r0000101.asdf", "tree observation.asdf"),
    ("gs://bucket/r0000101.asdf#/roman/data", "observation.asdf#/observation/data"),
    ("get 'r0000101.asdf#/roman/data' --slice", "get 'observation.asdf#/observation/data' --slice"),
    ("r0000101.asdf#/roman/data' --sky 270.01,66.01", "placed.asdf#/observation/data' --sky 83.8,-5.4"),
    ("s3://bucket/x.asdf#/roman/data", "observation.asdf#/observation/data"),
    ("s3://bucket/r0000101.asdf#/roman/data", "observation.asdf#/observation/data"),
    ("https://data.example.org/run/catalog.bd", "same.bd"),
    ("https://data.example.org/r0000101.asdf", "observation.asdf"),
];

/// A command line of a page.
struct Written {
    line: String,
    /// The output below it, if the page shows it.
    shown: Option<String>,
}

/// The lines of a page that begin with `trilith`: of code blocks, and of code within text.
fn lines(text: &str) -> Vec<Written> {
    let mut found: Vec<Written> = Vec::new();
    let mut fence = None;
    for line in text.lines() {
        if let Some(language) = line.trim_start().strip_prefix("```") {
            fence = if fence.is_none() { Some(language) } else { None };
            continue;
        }
        let fenced = fence.is_some();
        if fence == Some("console") {
            match (line.strip_prefix("$ "), found.last_mut()) {
                (Some(command), _) => found.push(Written { line: command.to_owned(), shown: Some(String::new()) }),
                (None, Some(Written { shown: Some(shown), .. })) => shown.push_str(&format!("{line}\n")),
                (None, _) => panic!("a console block begins with a line \"$ command\", not with {line:?}"),
            }
            continue;
        }
        let code = line.trim_start().trim_start_matches("$ ");
        if (fenced || line.starts_with("    ")) && is_command(code) {
            found.push(Written { line: without_remark(code), shown: None });
        } else if !fenced {
            let spans = line.split('`').skip(1).step_by(2).filter(|span| is_command(span));
            found.extend(spans.map(|span| Written { line: span.replace("\\|", "|"), shown: None }));
        }
    }
    found
}

/// The sources of a page in C, C++ and Fortran, each with its name, which is a comment in its first line.
fn sources(text: &str) -> Vec<(&str, String)> {
    let mut found = Vec::new();
    for (language, open, close) in [("c", "/* ", " */"), ("cpp", "// ", ""), ("fortran", "! ", "")] {
        for block in text.split(&format!("\n```{language}\n")).skip(1).filter_map(|rest| rest.split("\n```").next()) {
            let first = block.lines().next().unwrap_or_default();
            if let Some(name) = first.strip_prefix(open).and_then(|rest| rest.strip_suffix(close)) {
                found.push((name, format!("{block}\n")));
            }
        }
    }
    found
}

/// Whether `printed` is what a page shows, in which a line `...` stands for any number of lines.
fn is_shown(shown: &str, printed: &str) -> bool {
    let lines = |text: &str| -> Vec<String> { text.trim_end().lines().map(|line| line.trim_end().to_owned()).collect() };
    let (shown, printed) = (lines(shown), lines(printed));
    let parts: Vec<&[String]> = shown.split(|line| line == "...").collect();
    let ([first, .., last], rest) = (parts.as_slice(), printed.as_slice()) else { return shown == printed };
    let Some(rest) = rest.strip_prefix(*first).and_then(|rest| rest.strip_suffix(*last)) else { return false };
    let mut rest = rest;
    parts[1..parts.len() - 1].iter().filter(|part| !part.is_empty()).all(|part| {
        let found = rest.windows(part.len()).position(|window| window == *part);
        rest = found.map_or(&[][..], |at| &rest[at + part.len()..]);
        found.is_some()
    })
}

#[test]
fn shown_output_may_leave_out_lines() {
    assert!(is_shown("a\nb\n", "a\nb\n") && !is_shown("a\n", "a\nb\n"));
    assert!(is_shown("a\n...\n", "a\nb\nc\n") && is_shown("...\nb\n...\n", "a\nb\nc\n") && is_shown("...\nc\n", "a\nc\n"));
    assert!(!is_shown("a\n...\nx\n", "a\nb\n") && !is_shown("...\nx\n...\n", "a\nb\n"));
}

/// A line of ours, one that hands something to ours, or one that prepares files for those that follow.
fn is_command(code: &str) -> bool {
    let words: Vec<&str> = code.split(' ').collect();
    // Two words name a command; they are not a line.
    words.len() > 2 && (matches!(words[0], "trilith" | "cp" | "mkdir" | "head") || code.contains("| trilith "))
}

/// A line of code without what is said beside it, two spaces or a `#` away.
fn without_remark(line: &str) -> String {
    let (mut quote, mut spaces) = (None, 0);
    for (at, c) in line.char_indices() {
        match (quote, c) {
            (None, '\'' | '"') => quote = Some(c),
            (Some(open), c) if c == open => quote = None,
            (None, ' ') if spaces > 0 => return line[..at].trim_end().to_owned(),
            _ => {}
        }
        spaces = if c == ' ' { spaces + 1 } else { 0 };
    }
    line.to_owned()
}

fn is_scheme(line: &str) -> bool {
    let between_words = line.replace(" | ", " ").replace("||", "").contains('|');
    line.contains('…')
        || between_words
        || line.contains(" [") && !line.contains("'[")
        || SCHEMES.iter().any(|scheme| line.starts_with(scheme))
        || line.ends_with(" TEXT")
        || line.contains("| jq ") && !has("jq")
}

/// Whether a program is installed.
fn has(program: &str) -> bool {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&paths).any(|folder| folder.join(program).is_file())
}

fn pages() -> Vec<PathBuf> {
    let root = repository();
    let mut pages = vec![root.join("README.md")];
    pages.extend(common::files(&root.join("docs")).into_iter().filter(|path| path.extension().is_some_and(|e| e == "md")));
    pages
}

/// What a line needs besides, made before it runs: the names of the pages are short, and mean another file each time.
const BEFORE: &[(&str, &str)] = &[
    ("trilith info FILE --layout L.dud", "echo 'x = u1[8]' > L.dud"),
    ("trilith layout resolve L.dud", "printf '{ N : i8 }\\nx = f8[N]\\n' > L.dud"),
    ("trilith get FILE#/path", "cp flat.asdf FILE"),
    ("trilith info FILE#/path", "cp flat.asdf FILE"),
    ("trilith set FILE#/path VALUE", "printf '#ASDF 1.0.0\\n%%YAML 1.1\\n---\\npath: 1\\n...\\n' > FILE"),
    ("gcc -E", "printf 'struct mesh { int nx; } mesh;\\ndouble x[nx];\\n' > restart.h"),
    ("trilith layout new IN", "rm IN; cp -r arrays IN"),
    ("trilith layout describe x.asdf", "cp observation-plain.asdf x.asdf"),
    ("trilith layout from image.npy", "cp x3.npy image.npy"),
    (
        "trilith layout write L.dud OUT.bd --param N=3 --from x=x.npy y=y.npy",
        "printf '{ N : i8 }\\nx = f8[N]\\ny = f8[N]\\n' > L.dud; cp x3.npy x.npy; cp x3.npy y.npy",
    ),
    (
        "trilith layout catalog L.dud *.bd -o C.bd",
        "rm -f *.bd; cp runs/restart.dud L.dud; cp runs/step0001.bd runs/step0002.bd .",
    ),
    ("trilith get 'run.bd#/rho'", "cp rho.bd run.bd"),
    ("trilith append 'run.bd#/history/t'", "cp history.bd run.bd; cp time.npy ROWS.npy"),
    ("trilith append 'run.bd#/\"\"' ROWS.npy", "cp records.bd run.bd; cp record.npy ROWS.npy"),
    ("trilith append run.bd te=te.npy time=t.npy", "cp lists.bd run.bd; cp time.npy te.npy; cp time.npy t.npy"),
    ("trilith convert x.bd", "cp observation.bd x.bd; rm -f x.asdf y.bd"),
    ("trilith convert IN.bd", "cp observation.bd IN.bd"),
    ("trilith convert x.fits x.asdf", "cp observation.fits x.fits"),
    ("trilith convert x.asdf x.fits", "cp flat.asdf x.asdf; rm -f x.fits"),
    ("trilith convert x.asdf out.fits", "cp flat.asdf x.asdf; cp observation.fits base.fits"),
    ("trilith convert old.finf", "trilith convert flat.asdf old.finf --allow-loss"),
    ("trilith convert new.asdf old.asdf", "cp flat.asdf new.asdf"),
    ("trilith convert in.asdf out.asdf", "cp floats.asdf in.asdf"),
    ("trilith get x.fits", "cp cards.fits x.fits"),
    ("trilith get 'x.fits#/fits/1/data'", "cp observation.fits x.fits"),
    ("trilith get 'jwst_cal.fits#/data'", "trilith convert flat.asdf jwst_cal.fits"),
    ("trilith get 'image.fits#/fits/SCI/data'", "cp sci.fits image.fits"),
    ("trilith set 'x.fits", "cp cards.fits x.fits"),
    (
        "trilith set 'shared.asdf",
        "printf '#ASDF 1.0.0\\n%%YAML 1.1\\n---\\nfirst: &id001 {exposure: 10}\\ncopy: *id001\\n...\\n' > shared.asdf",
    ),
    (
        "trilith set 'jwst.fits",
        "printf '#ASDF 1.0.0\\n%%YAML 1.1\\n---\\nmeta: {instrument: {filter: F200W}}\\n...\\n' > j.asdf; rm -f jwst.fits; \
         trilith -q convert j.asdf jwst.fits; trilith -q set jwst.fits#/fits/0/header/FILTER F200W",
    ),
    ("trilith set x.fits", "cp cards.fits x.fits"),
    ("trilith sky x.fits", "rm -f x.fits; trilith -q convert placed.asdf x.fits"),
    ("trilith insert x.fits", "cp cards.fits x.fits"),
    ("trilith rm x.fits", "cp cards.fits x.fits"),
    ("trilith mv 'x.fits", "cp cards.fits x.fits"),
    ("trilith append FILE#/table", "cp stream.asdf FILE; trilith mv FILE#/rows table"),
    (
        "trilith get --catalog",
        "cp runs/restart.dud run.dud; rm -f same.bd; trilith -q layout catalog run.dud runs/step0000.bd runs/step0001.bd -o same.bd",
    ),
    (
        "trilith get /te --catalog",
        "cp runs/restart.dud run.dud; rm -f c.bd; trilith -q layout catalog run.dud runs/step0000.bd runs/step0001.bd -o c.bd",
    ),
    (
        "trilith get /NX --catalog",
        "cp runs/restart.dud run.dud; rm -f c.bd; trilith -q layout catalog run.dud runs/step0000.bd runs/step0001.bd -o c.bd",
    ),
    ("trilith convert IN OUT", "rm -rf IN; cp observation.asdf IN"),
    ("trilith verify --conform asdf-1.x image.asdf", "cp observation.asdf image.asdf"),
    ("trilith diff run.bd run.asdf", "cp observation.bd run.bd; trilith convert run.bd run.asdf --allow-loss"),
];

/// The file `counts.h5` of the pages, as h5py writes it: compressed, in base64.
const COUNTS: &str = "H4sIAAAAAAACA+3VvUoDQRAH8Jld71zXRC9BQQNCBCurVIHUF2IKIWBlb6Mgd2ruwMYHECufwUfwKXwDC99FZy57Ek1jEYvA/wdzy37cMLvNPI6Ho6bveOsc1T6D3t5s3gvrh7fHL5Px8MzQvWnPH6x5Q0wUb5EM9q7MXuuMI1qSg2Y6+EsJLS0hvsjLrJj2OfycLqWEp+frj6oEJuYjImOYbdhbC+PCvEGcuHrepUiqtN7JDSyT+/nKu2099vtejb5mjWhHN8vsqqB9ZkrkvMbsho6MfNc1V8hZrZ/Tv3nrPnQIAABWlHYJE7qWdqhIIg6dRBvJhoSX2JQ4SSenVVdJ5jpMOKtuLvMiz6bfud+38b4AAAAAAAAAq+YLMiTfnDAYAAA=";

/// The files `night1.fits` and `night2.fits` of docs/how-to/attributes.md, `exposure.fits` of astropy with `checksum=True`, `sums.h5` of h5py with `fletcher32=True`, and the files that the first Python block of docs/how-to/fits-tables.md, netcdf.md and geotiff.md writes: compressed, in base64.
const SUMMED: &[(&str, &str)] = &[
    (
        "night1.fits",
        "H4sIAAAAAAACA+3XvW7CMBQF4D7K3ZgoJKhVlw4BUuSqhEgxUiTUwS0GMSSObCOVt68JqlrU/JCKocP5lCnD0XXi4dyEzeOXkOiRKnAa0LvKN0pnhqyiJ8YTMlbka6HXVGnMeMzSmrwHlye0FgdaCyvIHgpJLaIgZQnV5A1dXr7P3qQmtflK3mUyNzuVm8q8MOVhNK09b2dhGnM2DyvyPP/2zs23Mq8kPwpl9lqSdcM1500DHlJ53p4/9O/7Q889Pfqz8rAAAAAAcDXHOpmwReT6GpsHs2N3+9nWBsQysZWuAdpTK23La+jP/ZF/5f7sd+/PZZ5Xkzfq/v3KPL92vs7iyWIZ8Yv2hUJokUkrtWnImzXleWd5W632hWndF3gUlPtCL5mw8tX5ffm+KbnIWn8vjZcR46d94flAv/KwLwAAAMC/cwMAAAAAABf7BH3FxfzAIQAA",
    ),
    (
        "night2.fits",
        "H4sIAAAAAAACA+3XP0/CQBjHcV/KszEh7RGNi0OBSs5IadIzaWIcTjkIQ3vN3ZHIu7eUGCX2DzUMDr/P2OGbu7bD8yR8ET+FRPdUQ9CI3nW+1iaz5DQ9cJGQdTJfSbOiWhMuYp429O7KnjRG7mklnSS3LxR1iIKUJ9TQ88pevsvelCG9/ipvM5Xbrc5tbS9MRRjNGu/bW5jGgi/Cmp7Prm/K873YV1IfhbY7o8iVh2vvzQIRUnXfAfPY7dDzhx4b0J9VlwUAAACAizmMkwlfRuW8xhfB/DC7/ZzWRsQzuVHlBOiOU2lXr2V+Ho7Zhedn1n9+rnp+Q2/c//1VPdZ4vt7i6fI5EmftC4U0MlNOGdvSm7f1/JPexuhdYTv3BREF1b4wSKa8enT6v3z/KbnMOj8vTZ4jLo77wuOefvWwLwAAAMC/cwUAAAAAAGf7BGEHpLfAIQAA",
    ),
    (
        "exposure.fits",
        "H4sIAAAAAAACA+2Xy2rCQBSGe7++xNm5ak2iCVroYozTOrRGYSJId6OZtlKSSC5Q376naunNeMHuej74CSTw5UzI4j9StLv3HOAaFuBDGYZx9BgnYQpZDDfCl5BmKgpUEsBCGsLvin6Br4Y+lSRqAoHKFGSTsYYVeKwvJBT4DPRFeTjQCcSPH+ZRqKN0FEfpQh/v+9xrFp53Y9wWd+9kr30NJWYHrab9UGf2gDO8lvBxGVrNHgyf9fAlzUPIx3hwHYBlWM6FaV5YNd+yrqqVK9OZ+5rMZ6jD+UrG/Fbpy+vKsy+XR6NsPev0sARBEARBEMSf8V4npeh42NdEm93yX31NhOpJg37NZq10lW9Zf65Yf9yfrc3789RnFviqm3+/qc8q8FU293XdTs/z19oXxipRoc50ki7x3S7zmd98T0mcj9MV8+H+4bE2f+/30hUL+v3nnxLhdCvPy/tdX0x9P2ezjUtjq31GMpf3nEZdsgaXdmPrfcZxaJ8hCIIgCALZmbGL2cPsYw4wh5gjzDHmBHOKOcOc7xAEQRAEQRDEP+YNd7Cu7sAhAAA=",
    ),
    (
        "sums.h5",
        "H4sIAAAAAAACA+v0cHHj5ZLiYubgYICB/1BgAhUygIqXFZ709PdwCWJiqGASQlYIA1xMDIwMDGyCDECKLTm/NK+keDPMUGcGaoADK6QYwU5gZGBkVGFgYGJiZGSGyrFAaQw+DwOjAAeMr8DACnQlMzc3BwMjE1QvhywDUJSJmZGZhYXRBNk+WKBMZBh8YGJGZTXDKBgFo2AUjIJRQC4A1tkMTNCKE1RJsgIxGxCzQytATiDmAmJukGInJhsAUYwE/TQIAAA=",
    ),
    (
        "events.h5",
        "H4sIAAAAAAACA+2YP0vDQBjGn7ukNU1TW4tSK4gdnDo5KW5tE2OoQsHBUeiirUMibQS3zs7iBxA/Qr+AQwdHB8F+Eyepd8mlBEV06CK8Pwhv7vLkzXN/OMh76zluwdwwNcNAwkzRWI/bO6r/bfr02vGcE44bXk4LE0wOBmSXIYI2uPbHSUYXC2KzYO//xUJRWtB7/XC4y9SrBwuy8Oi9jCMLDIxtA5wzpqlnuorf2hZYyUjaNWSESy1viBHoHBrjXNfMFo+1a2Up+zouqy6zZrAqH150+z5WalvzfBUDlZG4UykaVluqc7AgDA6CsBv2Ax/SQawoRa6VGj9FOYezmVCXgDPVaSMtGrWrd27TcwDDTMb6oJT375eTju0dWXvSSzZ2fu2LJUGVMWEB0RUvjxHlW4pv1aeB8Pyj7jadFpBMDtSWLKlYS7aoipXnySkIgiCI3zm0O8cM6iyeH8fqKBZc9YIw8Idz/bRIc0YQBEEQBEEQBEEQ/xH5zy+rtxnEZV1Zvc6qGoCsxuZSWlNc+VT7EyTIjldAGAAA",
    ),
    (
        "events2.h5",
        "H4sIAAAAAAACA+2YsUrDQBjH/3dpa5qmNhalKogdOnVyUtzaJsagQsHBUeiirUMqbQpuzj6ADyD6Bn0Bhw6ODkL7Jk5S73KXUhTRoYvw/SB8ucs/3/3vchzkuws8P29tWoZpImGqqa2r9o7uH0+e35qBd8pxw4vzwgSLgwGZZYhg9AbhMMnoY0Fs5d39v1goSAupdifq7zL96sGCLDwGr8PYAgNjFYBzxgz9LKXjt7YN5phJu4y0cGnkTDGDFIfBOE8ZVoMr7VpRyr7Oy67KrGmsyoeXrU6IlfL2LF/JROlW3KkU5Zp9JNVZ2BAGe92oFXW6IaQDpXBi13pA/BTlGk6nQu0A57rTxbxo/JSt+PXAA0wrmeuDVt6/X42abnBs70kvGeV8EIpPgg3GhAXEl/o8ZpxvSd3qoYHo4qPq170GkCwO9JZ0dCwnW1TH0svoDARBEMTvHLrNEwZ9Fs+OY30UC67b3agb9mf6SYHWjCAIgiAIgiAIgiD+I/KfX1Zv01BlXVm9zugagKzGZue0lrhyc+1P8zNpBUAYAAA=",
    ),
    (
        "sources.fits",
        "H4sIAAAAAAACA+3XTU+DMBjAcXy7e/T43DhOwCVeFse2ztQMtowuwWMn3VwyYCkscd/Cj+RHE4oajeCcI172/E5NSP55oBxajzqjAQFoQQkGDXiIo1kswwTSGPqUeZCkPAq4DKBUh7IR9St611mPS8k3EPCUQ7pZCdjCtX3qQUXvMutF63AqJMSz9/IiFFGyiKOktEd8Rtxe5fvuTMUQQgghhNDByI+THh26LdA71GV2Z0D0T48bMF1EXG4g5dOlAPGUFofTyt6/np/N3c/PqmeU9wwj6y1FNE8f895HCYwt85kV8zUremZ1b9QdTlz2q/vCXMbrFay45KFIhSx/39ufesb3XrJlP1ifkkHPK+9ZX3rFLzNbiGVQXWXsfkTUfuj07Sai7/M/s/5w7BS9O6ijl8+n9ld3bYfUM1/Rs+y65rNUrz+Y+PXMV/RILd9v4lJW9MK7zf697P6r9iHrecPJuEu8PXt4/0UIIfQHmqYdOZbRftZyx45lts/V8sSxrHZbLU+dK9O+UMszp2ncvGgIIYQQQggdplcfB029wCEAAA==",
    ),
    (
        "air.nc",
        "H4sIAAAAAAACA3VRy07DMBDc9MEjBJUDHHpBkbhwoKitENfSBlU9cOYaWYlTLDk2sl0kPgX+hL/iAziwTmywItXyKPHuaGY9zh7XEQD0EDGijxgYVlNoV58TA67f51KA4ySuNjTMcEe259GSqdTQ+pUqYnaq6ZxkUrxRYZgU2vMOs/VkdjubNn3rGfhGzjtx/8OdYEb/e1yU5F2nmomCpvPp/H4yneFu+weII6Q9BLNHDvv0Tku6VZTqXEhlXtr60OncBPf2Oe3TSbwOJdo4DeT27qwGYcpn19WyvDhfM86fCd+1YVpe9DNuZ+n4DNAnw+8xzrXNBanD/Odp3c0/0QXhNK9IYaRyGUWLrw+7Pq03KctcVpWm5i9D/wbBe/c2qw3A6glgiYXlGSINWCM4hzFcwhVcL77BpxjjHZr6L+xEaldoAgAA",
    ),
    (
        "dem.tif",
        "H4sIAAAAAAACA/P01GKYx8jAIMjAwMjMAGQwMAMxI5TNBMJQtgBIDsrmAGI2KBuEBRlZwDQIiCKJiyGZI46kRgZJjS0SOxhJPV8zD9gtt4C4qYWHgQ1IfwLi9e3MDApAWgmocGM7E4MckJ0EZDcuYQKraYBZAgZ2Dqg0ftDQIucIog/EhDrCxBjBLmJnYGCBsBmhNBPLxnYxkDzHxnZ2BjEGNg6QeJ8yAw+IrqhnAdOayuHuwQoWJgr6CqEhvgpV+XmpCsZGfjUQ0RoGXUsgYKiYw8jD8Pm/GaMFox2jIePHG+aMfFuZHjMIUSVW2hgJx4o4ibHygAkRKz+YELFSA2RvaOcBq9dgRsTQHiZEDN1iol/IUisVwAAAxnrQujADAAA=",
    ),
];

/// Lines that end in exit status 1 where all is well, since they show how a loss is refused or a deviation found.
const NO: &[&str] = &["trilith verify --conform asdf-1.x image.asdf", "trilith repair damaged.asdf"];

/// The files that the pages name.
fn named() -> Folder {
    let folder = furnished();
    let mut builder = AsdfBuilder::new(Target::latest());
    let numbers: Vec<f64> = (0..64 * 64).map(f64::from).collect();
    let array = builder.array(&Array::from_slice(&numbers, &[64, 64]).unwrap(), &ArrayOptions::default()).unwrap();
    builder.write(folder.path().join("flat.asdf"), Value::map([("data", array.clone()), ("path", array)])).unwrap();
    folder.must("mkdir -p .local/share/bash-completion/completions .zfunc .config/fish/completions");
    folder.must("cp flat.asdf floats.asdf; cp flat.asdf FILE; cp observation.fits jwst.fits");
    folder.must("cp observation.asdf A; cp observation-plain.asdf B; cp observation.asdf IN");
    folder.must("cp runs/restart.dud run.dud; cp runs/catalog.bd c.bd; cp runs/catalog.bd runs.bd; cp runs/*.bd .");
    folder.must("printf '{ N : i8 }\\nx = f8[N]\\n' > L.dud");
    folder.must("printf 'rho = f8[20]\\n' > rho.dud");
    folder.npy("rho.npy", &[20]);
    folder.must("trilith layout write rho.dud rho.bd --from /rho=rho.npy");
    std::fs::write(folder.path().join("history.bd"), native(&[1.0], 0, "history/\nt [f8]\n")).unwrap();
    std::fs::write(folder.path().join("lists.bd"), native(&[1.0, 2.0], 0, "te [f8]\ntime [f8]\n")).unwrap();
    std::fs::write(folder.path().join("records.bd"), native(&[1.0], 1, "{ NREC : i8 }\n\"\" = { time = f8 }[NREC]\n")).unwrap();
    folder.must("trilith get 'records.bd#/\"\"' -o record.npy");
    std::fs::write(folder.path().join("cards.fits"), cards()).unwrap();
    std::fs::write(folder.path().join("sci.fits"), image()).unwrap();
    folder.must(
        "trilith insert observation.asdf#/observation/meta/wcsinfo '{ctype1: RA---TAN, ctype2: DEC--TAN, crpix1: 128.5, crpix2: 128.5, \
         crval1: 83.8, crval2: -5.4, cdelt1: -3.0e-5, cdelt2: 3.0e-5}' -o placed.asdf",
    );
    folder.must("mkdir archive cutouts; cp observation.asdf observation-plain.asdf archive; touch archive/notes.txt");
    folder.must(&format!("base64 -d <<< {COUNTS} | gzip -d > x.h5; cp x.h5 y.h5"));
    folder.must("mkdir kept; cp *.bd kept; touch -d 2020-01-01 last-run; cp cards.fits a.fits; cp cards.fits b.fits; cp observation.asdf mine.asdf; cp cards.fits x.fits");
    // Files that the tutorial writes in Python.
    folder.write("points.dud", "{\n  N : <i8\n}\nx = <f8[N]\nv = <f4[N]\n");
    let mut points = 5u64.to_le_bytes().to_vec();
    points.extend((0..5).flat_map(|n| f64::from(n).to_le_bytes()));
    points.extend((0..5).flat_map(|n| (n as f32).to_le_bytes()));
    std::fs::write(folder.path().join("points.raw"), points).unwrap();
    folder
}

/// A native Dudley file: a stored parameter unless it is 0, numbers, and the layout behind them.
fn native(numbers: &[f64], parameter: u64, layout: &str) -> Vec<u8> {
    let mut data: Vec<u8> = if parameter == 0 { Vec::new() } else { parameter.to_le_bytes().to_vec() };
    data.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
    let mut bytes = b"\x8d<BD\r\n\x1a\n".to_vec();
    bytes.extend((16 + data.len() as u64).to_le_bytes());
    bytes.extend(data);
    bytes.extend(layout.as_bytes());
    bytes
}

/// A FITS file that is a header alone.
fn cards() -> Vec<u8> {
    let cards = [
        "SIMPLE  =                    T",
        "BITPIX  =                    8",
        "NAXIS   =                    0",
        "OBJECT  = 'M31     '",
        "EXPTIME =                 10.0 / [s]",
        "HIERARCH ESO DET CHIP = 'A'",
        "HISTORY bias done",
        "HISTORY dark done",
        "HISTORY fringes done",
        "END",
    ];
    header(&cards)
}

/// A FITS file with an image of 2 x 2 pixels in an extension SCI.
fn image() -> Vec<u8> {
    let mut bytes =
        header(&["SIMPLE  =                    T", "BITPIX  =                    8", "NAXIS   =                    0", "END"]);
    bytes.extend(header(&[
        "XTENSION= 'IMAGE   '",
        "BITPIX  =                    8",
        "NAXIS   =                    2",
        "NAXIS1  =                    2",
        "NAXIS2  =                    2",
        "PCOUNT  =                    0",
        "GCOUNT  =                    1",
        "EXTNAME = 'SCI     '",
        "END",
    ]));
    bytes.extend([1; 4]);
    bytes.resize(3 * 2880, 0);
    bytes
}

fn header(cards: &[&str]) -> Vec<u8> {
    let text: String = cards.iter().map(|card| format!("{card:<80}")).collect();
    format!("{text:<2880}").into_bytes()
}

#[test]
fn every_documentation_command_runs() {
    let folder = named();
    let (mut faults, mut ran, mut schemes) = (String::new(), 0, 0);
    for page in pages() {
        let text = std::fs::read_to_string(&page).unwrap();
        let fresh = std::cell::LazyCell::new(|| {
            let folder = Folder::new();
            folder.must(&format!("base64 -d <<< {COUNTS} | gzip -d > counts.h5"));
            for (name, content) in SUMMED.iter().filter(|(name, _)| text.contains(name)) {
                folder.must(&format!("base64 -d <<< {content} | gzip -d > {name}"));
            }
            sources(&text).iter().for_each(|(name, source)| folder.write(name, source));
            folder
        });
        for Written { line, shown } in lines(&text) {
            if shown.is_none() && is_scheme(&line) {
                schemes += 1;
                continue;
            }
            let name = page.file_name().unwrap().to_string_lossy();
            if let Some(shown) = shown {
                ran += 1;
                let (status, printed, _) = fresh.ended(&format!("{{ {line}\n}} 2>&1"));
                if !is_shown(&shown, &printed) {
                    faults.push_str(&format!("{name}: {line}\n  exit status {status}, and it prints:\n{printed}"));
                }
                continue;
            }
            let before = BEFORE.iter().find(|(start, _)| line.starts_with(start)).map_or("", |(_, before)| before);
            if !before.is_empty() {
                // A line before it may have wanted the folder without them.
                folder.must("cp -n kept/*.bd .");
                let (status, said) = folder.line(before);
                if status != 0 {
                    faults.push_str(&format!("{before}\n  exit status {status}: {said}\n"));
                }
            }
            let local = NAMES.iter().fold(line.clone(), |line, (name, here)| line.replace(name, here));
            // Another page has written the same file.
            let rewritten = ["trilith convert ", "trilith repack ", "trilith resolve "].iter().find_map(|start| {
                let rest = local.strip_prefix(start).filter(|_| !local.contains("--overwrite"))?;
                Some(format!("{start}--overwrite {rest}"))
            });
            let local = rewritten.unwrap_or(local);
            ran += 1;
            let (status, said) = folder.line(&local);
            if status != i32::from(NO.iter().any(|no| line.starts_with(no))) {
                faults.push_str(&format!("{name}: {line}\n  exit status {status}: {said}\n"));
            }
        }
    }
    assert!(faults.is_empty(), "{faults}");
    say(&format!("{ran} lines of README.md and docs/ ran, {schemes} are schemes"));
}
