//! What every command writes: with `--json` one document, never over what it reads, and never over what nobody asked
//! it to replace. The commands are taken from the program's own list, so that a new one cannot be forgotten.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may stop where things are not as expected")]
#![allow(clippy::disallowed_methods, reason = "tests read and write files on their own")]

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use common::{Ended, in_parallel, run, sample, trilith};
use serde_json::Value;

/// Each subcommand with arguments for `--json`: one file in, one document out.
const JSON: &[&[&str]] = &[
    &["info", "x.asdf"],
    &["info", "x.bd"],
    &["info", "x.fits"],
    &["tree", "x.asdf"],
    &["tree", "x.bd"],
    &["check", "x.asdf"],
    &["check", "x.bd"],
    &["header", "x.asdf"],
    &["header", "x.bd"],
    &["get", "x.asdf#/a"],
    &["get", "x.asdf#/a", "-o", "a.npy"],
    &["get", "x.asdf#/meta"],
    &["get", "x.asdf#/meta", "-o", "a.json"],
    &["get", "x.asdf#/meta/name"],
    &["get", "x.asdf#/a", "--explain"],
    &["get", "x.bd#/a", "-o", "b.npy"],
    &["blocks", "x.asdf"],
    &["digest", "x.asdf"],
    &["verify", "x.asdf"],
    &["validate", "x.asdf"],
    &["describe", "x.asdf#/meta"],
    &["search", "x.asdf", "--key", "name"],
    &["diff", "x.asdf", "x.asdf"],
    &["stats", "x.asdf"],
    &["stats", "x.bd#/a", "--bins", "4"],
    &["show", "x.asdf#/rows"],
    &["show", "x.asdf#/rows", "-o", "rows.png"],
    &["show", "x.asdf#/a", "-o", "a.svg"],
    &["refs", "x.asdf"],
    &["resolve", "x.asdf", "resolved.asdf"],
    &["convert", "x.asdf", "converted.asdf"],
    &["convert", "x.asdf", "by-rows.asdf", "--rows", "2"],
    &["convert", "x.asdf", "in-chunks.asdf", "--chunks", "2"],
    &["convert", "x.asdf", "old.asdf", "--to", "asdf-0.1"],
    &["convert", "x.asdf", "made.bd", "--allow-loss"],
    &["convert", "x.asdf", "made.fits"],
    &["convert", "x.fits", "of-fits.asdf"],
    &["convert", "x.bd", "of-stream.asdf"],
    &["convert", "x.bd", "again.bd"],
    &["convert", "x.asdf", "embedded.fits", "--embed", "x.fits"],
    &["repack", "x.asdf", "packed.asdf"],
    &["repair", "x.asdf", "-o", "repaired.asdf"],
    &["explode", "x.asdf", "-o", "parts"],
    &["implode", "x.asdf", "-o", "whole.asdf"],
    &["to-yaml", "x.asdf"],
    &["to-yaml", "x.asdf", "--inline", "--resolve"],
    &["set", "x.asdf#/meta/name", "b"],
    &["set", "x.asdf#/meta/name", "c", "--in-place"],
    &["set", "x.asdf#/meta/name", "b", "-o", "set.asdf"],
    &["insert", "x.asdf#/new", "1"],
    &["rm", "x.asdf#/new"],
    &["mv", "x.asdf#/meta/name", "title"],
    &["edit", "x.asdf"],
    &["update", "x.asdf"],
    &["append", "x.asdf#/rows", "rows.npy"],
    &["stream", "streamed.asdf#/t", "--dtype", "uint8", "--row-shape", "2", "--from", "pair.npy"],
    &["sky", "sky.asdf"],
    &["cutout", "sky.asdf", "--sky", "10,20", "--size", "1px", "-o", "cut.asdf"],
    &["table", "x.asdf", "-c", "n=/n"],
    &["manifest", "x.asdf", "-o", "refs.json"],
    &["history", "add", "x.asdf", "text"],
    &["schema", "check", "schemas"],
    &["layout", "check", "l.dud"],
    &["layout", "code", "l.dud", "--lang", "python"],
    &["layout", "resolve", "l.dud"],
    &["layout", "print", "l.dud"],
    &["layout", "print", "l.dud", "-o", "printed.dud"],
    &["layout", "translate", "l.dud", "--to", "2026"],
    &["layout", "translate", "l.dud", "--to", "2026", "-o", "translated.dud"],
    &["layout", "describe", "x.asdf"],
    &["layout", "describe", "x.asdf", "-o", "described.dud"],
    &["layout", "new", "rows.npy"],
    &["layout", "new", "rows.npy", "-o", "new.dud", "--data", "new.bd"],
    &["layout", "from", "rows.npy"],
    &["layout", "from", "rows.npy", "-o", "derived.dud"],
    &["layout", "write", "l.dud", "written.bd", "--from", "a=pair.npy"],
    &["layout", "catalog", "n.dud", "n.bd", "-o", "c.bd"],
    &["layout", "catalog", "n.dud", "--check", "c.bd"],
    &["layout", "locate", "n.dud", "--catalog", "c.bd", "/a"],
    &["tour", "tour"],
    &["completions", "bash"],
    &["man"],
];

/// Each command that writes a file, with an output that is one of its inputs.
const ONTO_INPUT: &[&[&str]] = &[
    &["get", "x.asdf#/a", "-o", "x.asdf", "--format", "raw"],
    &["get", "x.asdf#/a", "-o", "link.asdf", "--format", "raw"],
    &["get", "x.asdf#/a", "-o", "hard.asdf", "--format", "raw"],
    &["get", "x.asdf#/a", "-o", "deep/../x.asdf", "--format", "raw"],
    &["get", "x.asdf#/meta", "-o", "link.asdf", "--format", "json"],
    &["get", "x.bd#/a", "-o", "x.bd", "--format", "raw"],
    &["get", "x.bd#/", "-o", "x.bd", "--format", "json"],
    &["show", "x.asdf#/rows", "-o", "x.asdf"],
    &["sky", "sky.asdf", "--points", "points.csv", "-o", "points.csv"],
    &["cutout", "x.asdf", "--sky", "10,20", "--size", "3px", "-o", "x.asdf"],
    &["cutout", "x.asdf", "--sky", "10,20", "--size", "3px", "-o", "link.asdf"],
    &["table", "x.asdf", "-c", "n=/n", "-o", "x.asdf"],
    &["table", "x.asdf", "-c", "n=/n", "-o", "hard.asdf"],
    &["manifest", "x.asdf", "-o", "x.asdf"],
    &["manifest", "x.asdf", "-o", "hard.asdf"],
    &["resolve", "x.asdf", "x.asdf"],
    &["resolve", "x.asdf", "hard.asdf"],
    &["convert", "x.asdf", "x.asdf", "--codec", "zlib"],
    &["convert", "x.asdf", "link.asdf"],
    &["convert", "main.asdf", "part.asdf"],
    &["convert", "x.asdf", "other.asdf", "--embed", "x.fits"],
    &["repack", "x.asdf", "x.asdf"],
    &["repack", "main.asdf", "part.asdf"],
    &["repack", "main.asdf", "deep/part.asdf"],
    &["repair", "x.asdf", "-o", "x.asdf"],
    &["explode", "main.asdf", "-o", ".", "--overwrite"],
    &["implode", "main.asdf", "-o", "part.asdf"],
    &["implode", "x.asdf", "-o", "x.asdf"],
    &["set", "x.asdf#/meta/name", "b", "-o", "hard.asdf"],
    &["set", "x.asdf#/meta/name", "--from", "other.asdf#/a", "-o", "other.asdf"],
    &["set", "main.asdf#/n", "1", "-o", "part.asdf"],
    &["insert", "main.asdf#/n2", "1", "-o", "part.asdf"],
    &["rm", "main.asdf#/n", "-o", "part.asdf"],
    &["mv", "main.asdf#/n", "m", "-o", "part.asdf"],
    &["edit", "main.asdf", "-o", "part.asdf"],
    &["update", "main.asdf", "-o", "part.asdf"],
    &["history", "add", "main.asdf", "text", "-o", "part.asdf"],
    &["layout", "print", "l.dud", "-o", "l.dud"],
    &["layout", "code", "l.dud", "--lang", "c", "-o", "l.dud", "--overwrite"],
    &["layout", "translate", "l.dud", "--to", "2025", "-o", "l.dud"],
    &["layout", "describe", "x.asdf", "-o", "x.asdf"],
    &["layout", "from", "rows.npy", "-o", "rows.npy"],
    &["layout", "write", "l.dud", "l.dud", "--from", "a=pair.npy", "--overwrite"],
    &["layout", "write", "l.dud", "pair.bd", "--from", "a=pair.npy", "--overwrite"],
    &["layout", "catalog", "n.dud", "n.bd", "-o", "n.bd", "--overwrite"],
    &["layout", "new", "c.h", "-o", "c.h", "--overwrite"],
    &["layout", "new", "c.h", "-o", "c.dud", "--overwrite"],
];

/// Commands that write files without being told a name of one.
const NO_OUTPUT: &[&str] = &["append", "tour"];

fn say(folder: &Path, words: &[&str]) -> Ended {
    let mut command = trilith();
    command.current_dir(folder).args(words).env("EDITOR", "sed -i /^n:/d");
    run(command, None)
}

fn done(folder: &Path, words: &[&str]) {
    let ended = say(folder, &[words, &["--quiet"]].concat());
    assert_eq!(ended.status, Ok(0), "{words:?}: {}", ended.stderr);
}

fn asdf(tree: &str, block: &[u8]) -> Vec<u8> {
    let tree = match tree {
        "" => String::new(),
        tree => format!("%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n--- !core/asdf-1.1.0\n{tree}...\n"),
    };
    let size = (block.len() as u64).to_be_bytes();
    let block = if block.is_empty() {
        Vec::new()
    } else {
        [b"\xd3BLK\0\x30\0\0\0\0\0\0\0\0", &size[..], &size, &size, &[0; 16], block].concat()
    };
    [b"#ASDF 1.0.0\n#ASDF_STANDARD 1.6.0\n", tree.as_bytes(), &block].concat()
}

fn lay_out(folder: &Path) {
    let put = |name: &str, bytes: &[u8]| std::fs::write(folder.join(name), bytes).unwrap();
    let array =
        |source: &str| format!("!core/ndarray-1.1.0 {{source: {source}, datatype: uint8, byteorder: little, shape: [2]}}");
    let mut whole = asdf(
        &format!(
            "meta: {{name: M31}}\nn: 1\na: {}\nrows: !core/ndarray-1.1.0 {{source: -1, datatype: uint8, byteorder: little, shape: ['*', 2]}}\n",
            array("0")
        ),
        &[1, 2],
    );
    whole.extend([b"\xd3BLK\0\x30\0\0\0\x01", &[0; 4][..], &[0; 24], &[0; 16], &[7, 8]].concat());
    put("x.asdf", &whole);
    put("other.asdf", &asdf(&format!("a: {}\n", array("0")), &[3, 4]));
    put("part.asdf", &asdf("", &[5, 6]));
    put("main.asdf", &asdf(&format!("n: 1\na: {}\n", array("part.asdf")), b""));
    std::os::unix::fs::symlink("x.asdf", folder.join("link.asdf")).unwrap();
    std::fs::hard_link(folder.join("x.asdf"), folder.join("hard.asdf")).unwrap();
    std::fs::create_dir(folder.join("deep")).unwrap();
    std::os::unix::fs::symlink("../part.asdf", folder.join("deep/part.asdf")).unwrap();
    std::fs::create_dir(folder.join("schemas")).unwrap();
    put(
        "schemas/s-1.0.0.yaml",
        b"%YAML 1.1\n---\n$schema: http://stsci.edu/schemas/yaml-schema/draft-01\nid: asdf://e.org/s-1.0.0\ntype: object\n...\n",
    );
    put("l.dud", b"a = u1[2]\n");
    put("c.h", b"struct p { int a; };\nstruct p parts[2];\n");
    std::fs::hard_link(folder.join("c.h"), folder.join("c.dud")).unwrap();
    let head = "{'descr': '|u1', 'fortran_order': False, 'shape': (1, 2), }";
    put("rows.npy", &[b"\x93NUMPY\x01\x00\x76\x00", format!("{head:<117}\n").as_bytes(), &[5, 5]].concat());
    let head = "{'descr': '|u1', 'fortran_order': False, 'shape': (2,), }";
    put("pair.npy", &[b"\x93NUMPY\x01\x00\x76\x00", format!("{head:<117}\n").as_bytes(), &[5, 5]].concat());
    std::fs::hard_link(folder.join("pair.npy"), folder.join("pair.bd")).unwrap();
    let sky = "data: !core/ndarray-1.1.0 [[1, 2], [3, 4]]\n\
        meta: {ctype1: RA---TAN, ctype2: DEC--TAN, crpix1: 1, crpix2: 1, crval1: 10.0, crval2: 20.0, cdelt1: -0.001, cdelt2: 0.001}\n";
    put("sky.asdf", &asdf(sky, b""));
    put("points.csv", b"x,y\n0,0\n");
    put("n.dud", b"{ N : i8 }\na = u1[N]\n");
    done(folder, &["layout", "write", "n.dud", "n.bd", "--param", "N=2", "--from", "a=pair.npy", "--bare"]);
    done(folder, &["convert", "other.asdf", "x.bd"]);
    done(folder, &["convert", "other.asdf", "x.fits"]);
}

/// Every command that does something, as its words.
fn commands() -> BTreeSet<Vec<String>> {
    let command = trilith_cli::command();
    let shown = |command: &clap::Command| -> Vec<clap::Command> {
        command.get_subcommands().filter(|sub| !sub.is_hide_set()).cloned().collect()
    };
    let mut all = BTreeSet::new();
    for sub in shown(&command) {
        let name = sub.get_name().to_owned();
        let below = shown(&sub);
        if below.is_empty() {
            all.insert(vec![name]);
        } else {
            all.extend(below.iter().map(|below| vec![name.clone(), below.get_name().to_owned()]));
        }
    }
    all
}

/// Commands that go on until they are interrupted: tests/browser asks for their documents.
const ENDLESS: &[&str] = &["view"];

fn begins(words: &[&str], command: &[String]) -> bool {
    words.len() >= command.len() && words.iter().zip(command).all(|(a, b)| a == b)
}

#[test]
fn with_json_every_command_prints_one_document() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path();
    lay_out(folder);
    let all = commands();
    assert!(all.len() > 30, "{all:?}");
    for command in all.iter().filter(|command| !ENDLESS.contains(&command[0].as_str())) {
        assert!(JSON.iter().any(|words| begins(words, command)), "{command:?}: no arguments for --json in this test");
    }
    for words in JSON {
        let ended = say(folder, &[words, &["--json"][..]].concat());
        assert!(matches!(ended.status, Ok(0 | 1)), "{words:?}: {}", ended.stderr);
        let documents: Vec<_> = serde_json::Deserializer::from_slice(&ended.stdout).into_iter::<Value>().collect();
        let said = String::from_utf8_lossy(&ended.stdout);
        assert!(matches!(&documents[..], [Ok(_)]), "{words:?}: {} documents: {said}", documents.len());
    }
}

#[test]
fn no_command_destroys_what_it_reads() {
    let mut refused = 0;
    for command in commands() {
        let ended = say(Path::new("."), &[&command.iter().map(String::as_str).collect::<Vec<_>>()[..], &["--help"]].concat());
        let help = String::from_utf8(ended.stdout).unwrap();
        let writes = ["--output", "<OUT>"].iter().any(|word| help.contains(word));
        let known = ONTO_INPUT.iter().any(|words| begins(words, &command)) || NO_OUTPUT.contains(&command[0].as_str());
        assert!(!writes || known, "{command:?} writes a file: add it to this test");
    }
    for words in ONTO_INPUT {
        let scratch = tempfile::tempdir().unwrap();
        let folder = scratch.path();
        lay_out(folder);
        let digest = |name: &str| (name.to_owned(), say(folder, &["digest", name]).stdout);
        let state = || ["x.asdf", "hard.asdf", "other.asdf", "main.asdf", "x.bd"].map(digest);
        let layouts = || {
            let files = ["c.h", "n.bd", "n.dud", "pair.npy"].map(|name| std::fs::read(folder.join(name)).unwrap());
            (say(folder, &["layout", "resolve", "l.dud"]).stdout, files)
        };
        let (before, layouts_before) = (state(), layouts());
        let part = std::fs::read(folder.join("part.asdf")).unwrap();
        let ended = say(folder, words);
        assert!(matches!(ended.status, Ok(0 | 2)), "{words:?}: {}", ended.stderr);
        // An array that is replaced on purpose is none that is lost.
        assert_eq!(state(), before, "{words:?}");
        assert_eq!(layouts(), layouts_before, "{words:?}");
        assert_eq!(std::fs::read(folder.join("part.asdf")).unwrap(), part, "{words:?}");
        assert!(folder.join("link.asdf").is_symlink(), "{words:?}");
        if ended.status == Ok(2) {
            assert!(
                ended.stderr.contains("would be lost") || ended.stderr.contains("its extension means"),
                "{words:?}: {}",
                ended.stderr
            );
            refused += 1;
        }
    }
    common::say(&format!("outputs that are inputs: {} tried, {refused} refused, 0 destroyed", ONTO_INPUT.len()));
}

/// Commands that find the names of their outputs themselves, besides those above.
const NAMED_BY_THEM: &[&[&str]] = &[
    &["explode", "x.asdf"],
    &["explode", "x.asdf#/a"],
    &["implode", "main.asdf"],
    &["implode", "x.asdf#/a"],
    &["set", "main.asdf#/a", "--from", "pair.npy"],
    &["insert", "main.asdf#/b", "--from", "pair.npy"],
    &["insert", "main.asdf#/b", "--from", "pair.npy", "--in-place"],
    &["repair", "x.asdf"],
    &["tour"],
];

/// Every file of a folder and those below it.
fn files(folder: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.insert(path);
        }
    }
    found
}

#[test]
fn no_command_replaces_unnamed_files() {
    let laid_out = || {
        let scratch = tempfile::tempdir().unwrap();
        lay_out(scratch.path());
        scratch
    };
    let inside = |folder: &Path| -> BTreeSet<PathBuf> {
        files(folder).iter().map(|path| path.strip_prefix(folder).unwrap().to_path_buf()).collect()
    };
    let (mut tried, mut names) = (0, 0);
    for words in JSON.iter().chain(NAMED_BY_THEM) {
        let scratch = laid_out();
        let before = inside(scratch.path());
        say(scratch.path(), words);
        // Files that it made under a name that is none of its words.
        let made: Vec<PathBuf> = inside(scratch.path())
            .difference(&before)
            .filter(|path| !words.iter().any(|word| Path::new(word) == *path))
            .cloned()
            .collect();
        // All of them, and the last one alone: without a check the ones before it would be written by then.
        let last = made.len().saturating_sub(1);
        for mine in [&made[..], &made[last..]].into_iter().take(made.len()) {
            let scratch = laid_out();
            let own = |path: &Path| format!("my own {}", path.display());
            for path in mine {
                let path = scratch.path().join(path);
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(&path, own(&path)).unwrap();
            }
            let ended = say(scratch.path(), words);
            assert!(matches!(ended.status, Ok(0..=2)), "{words:?}: {}", ended.stderr);
            for path in mine.iter().map(|path| scratch.path().join(path)) {
                let now = std::fs::read(&path).unwrap_or_default();
                assert!(now == own(&path).as_bytes(), "{words:?}: {} was replaced", path.display());
            }
            tried += 1;
        }
        names += made.len();
    }
    assert!(names >= 20, "{names}");
    common::say(&format!("outputs that nobody named: {names} names, {tried} tried with a file there, 0 replaced"));
}

/// Files of a numbered series that hold more than a block, or that others use, are somebody's own.
#[test]
fn only_own_parts_are_removed_and_reported() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path();
    lay_out(folder);
    let array = "!core/ndarray-1.1.0 {source: 0, datatype: uint8, byteorder: little, shape: [2]}";
    let put = |name: &str, bytes: &[u8]| std::fs::write(folder.join(name), bytes).unwrap();
    for (command, key) in [("delete", "x"), ("set", "x")] {
        for (part, goes) in [(asdf("", &[1, 2]), true), (asdf(&format!("title: my own\ndata: {array}\n"), &[1, 2]), false)] {
            for in_place in [false, true] {
                put("night0001.asdf", &part);
                let tree = format!("{key}: {}\ny: 1\n", array.replace("source: 0", "source: night0001.asdf"));
                put("night.asdf", &asdf(&tree, b""));
                let mut words = vec![command, "night.asdf#/x"];
                words.extend((command == "set").then_some(["5", "--replace"]).into_iter().flatten());
                words.extend(in_place.then_some("--in-place"));
                let ended = say(folder, &words);
                assert_eq!(ended.status, Ok(0), "{words:?}: {}", ended.stderr);
                assert_eq!(folder.join("night0001.asdf").exists(), !goes, "{words:?}");
                assert!(ended.stderr.contains("night0001.asdf"), "{words:?}: {}", ended.stderr);
                assert!(ended.stderr.contains(if goes { "removed" } else { "is left" }), "{words:?}: {}", ended.stderr);
            }
        }
    }
}

/// Slips of the command line: a missing argument, another order, a pattern of two files, a misspelt option, a path that is
/// left out.
const SLIPS: &[&[&str]] = &[
    &["convert", "x.asdf", "other.asdf"],
    &["convert", "x.fits", "y.fits"],
    &["convert", "x.asdf", "x.bd"],
    &["convert", "x.asdf"],
    &["convert", "x.asdf", "other.asdf", "part.asdf"],
    &["convert", "x.asdf", "y.fits", "--embed", "x.fits"],
    &["repack", "x.asdf", "other.asdf"],
    &["repack", "x.asdf"],
    &["repack", "x.asdf", "other.asdf", "part.asdf"],
    &["resolve", "main.asdf", "other.asdf"],
    &["resolve", "main.asdf"],
    &["set", "x.asdf#/a", "5"],
    &["set", "x.asdf#/a", "[1, 2]", "--in-place"],
    &["set", "nested.asdf#/group", "5"],
    &["set", "x.asdf#/n", "--in_place"],
    &["set", "x.asdf#/n", "-x"],
    &["set", "x.asdf#/n", "--in-place"],
    &["set", "x.asdf#/n", "-5x"],
    &["set", "x.asdf", "5"],
    &["set", "5", "x.asdf#/n"],
    &["set", "x.asdf", "other.asdf"],
    &["set", "x.asdf#/n"],
    &["set", "x.fits#/fits/0/header/NEW", "--in_place"],
    &["set", "x.asdf#/a", "300", "--fill"],
    &["set", "x.asdf#/n", "5", "--fill"],
    &["insert", "x.asdf#/new", "--string_"],
    &["insert", "x.asdf#/new"],
    &["insert", "x.asdf", "other.asdf"],
    &["rm", "x.asdf"],
    &["rm", "x.asdf", "other.asdf"],
    &["rm", "x.asdf#/n", "x.asdf#/a"],
    &["delete", "x.asdf"],
    &["mv", "x.asdf", "other.asdf"],
    &["mv", "x.asdf#/n", "a/b"],
    &["mv", "x.asdf#/n"],
    &["rename", "x.asdf", "other.asdf"],
    &["edit", "x.asdf", "other.asdf"],
    &["edit", "-o", "other.asdf", "x.asdf"],
    &["update", "-o", "other.asdf", "x.asdf"],
    &["update", "x.asdf", "other.asdf"],
    &["append", "x.asdf", "rows.npy"],
    &["append", "rows.npy", "x.asdf#/rows"],
    &["append", "x.asdf#/rows"],
    &["stream", "x.asdf", "--from", "pair.npy"],
    &["stream", "x.asdf", "other.asdf"],
    &["stream", "--from", "x.asdf#/rows", "pair.npy", "--dtype", "uint8", "--row-shape", "2"],
    &["append", "x.asdf#/rows", "other.asdf"],
    &["append", "x.bd", "n.bd"],
    &["history", "add", "x.asdf"],
    &["history", "add", "x.asdf", "other.asdf"],
    &["history", "add", "-o", "other.asdf", "x.asdf", "text"],
    &["history", "add", "a text", "x.asdf"],
    &["repair", "x.asdf"],
    &["repair", "x.asdf", "other.asdf"],
    &["repair", "-o", "other.asdf", "x.asdf"],
    &["repair", "-o", "x.asdf"],
    &["implode", "main.asdf", "other.asdf"],
    &["implode", "-o", "other.asdf", "main.asdf"],
    &["explode", "x.asdf", "other.asdf"],
    &["explode", "x.asdf", "-o", "other.asdf"],
    &["convert", "-o", "other.asdf", "x.asdf"],
    &["convert", "-o", "other.asdf", "x.asdf", "sky.asdf"],
    &["convert", "missing.asdf", "x.asdf"],
    &["convert", "x.asdf", "deep/part.asdf", "-o", "{stem}.asdf.gz", "--to", "asdf-9"],
    &["repack", "-o", "other.asdf", "x.asdf"],
    &["repack", "missing.asdf", "x.asdf"],
    &["layout", "write", "l.dud", "x.bd", "--from", "a=pair.npy"],
    &["layout", "write", "l.dud", "n.dud", "--from", "a=pair.npy"],
    &["layout", "write", "l.dud"],
    &["layout", "new", "-o", "l.dud", "rows.npy"],
    &["layout", "from", "-o", "l.dud", "n.dud"],
    &["layout", "from", "rows.npy", "pair.npy"],
    &["layout", "print", "-o", "l.dud", "n.dud"],
    &["layout", "print", "l.dud", "n.dud"],
    &["layout", "translate", "-o", "l.dud", "n.dud", "--to", "2026"],
    &["layout", "describe", "-o", "other.asdf", "x.asdf"],
    &["layout", "describe", "x.asdf", "other.asdf"],
    &["layout", "code", "-o", "l.dud", "n.dud", "--lang", "c"],
    &["layout", "catalog", "n.dud", "n.bd", "x.bd"],
    &["layout", "catalog", "n.dud", "n.bd", "-o", "x.bd"],
    &["sky", "sky.asdf", "--in_place"],
    &["sky", "sky.asdf", "-o", "points.csv", "more.csv"],
    &["sky", "sky.asdf", "--points", "-o", "points.csv", "more.csv"],
    &["cutout", "sky.asdf", "x.asdf", "--sky", "10,20", "--size", "1px", "-o", "other.asdf"],
    &["cutout", "-o", "other.asdf", "sky.asdf", "--sky", "10,20", "--size", "1px"],
    &["get", "x.asdf#/a", "other.asdf#/a", "-o", "y.fits"],
    &["get", "-o", "rows.npy", "pair.npy", "--format", "npy"],
    &["get", "-o", "rows.npy"],
    &["show", "-o", "x.fits", "y.fits"],
    &["manifest", "-o", "x.asdf", "other.asdf"],
    &["manifest", "x.asdf", "other.asdf"],
    &["table", "-o", "points.csv", "more.csv", "-c", "n=/n"],
    &["table", "x.asdf", "other.asdf"],
    &["tour", "x.asdf"],
    &["tour", "."],
];

/// In the first tier.
#[test]
fn mistaken_arguments_keep_all_files() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path();
    lay_out(folder);
    for (from, to) in [("x.fits", "y.fits"), ("points.csv", "more.csv"), ("x.asdf", "observation.asdf")] {
        std::fs::copy(folder.join(from), folder.join(to)).unwrap();
    }
    let array = "!core/ndarray-1.1.0 {source: 0, datatype: uint8, byteorder: little, shape: [2]}";
    std::fs::write(folder.join("nested.asdf"), asdf(&format!("group: {{deep: [{array}]}}\n"), &[1, 2])).unwrap();
    let files = || {
        let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let files = entries.filter(|path| path.is_file());
        files.map(|path| (std::fs::read(&path).unwrap(), path)).collect::<BTreeSet<_>>()
    };
    for command in commands() {
        let help = say(Path::new("."), &[&command.iter().map(String::as_str).collect::<Vec<_>>()[..], &["--help"]].concat());
        let help = String::from_utf8(help.stdout).unwrap();
        let writes = ["--output", "<OUT>", "--in-place"].iter().any(|word| help.contains(word));
        let is_tried = SLIPS.iter().any(|words| begins(words, &command));
        assert!(!writes && !NO_OUTPUT.contains(&command[0].as_str()) || is_tried, "{command:?} writes a file: add its slips");
    }
    let before = files();
    for words in SLIPS {
        let ended = say(folder, words);
        assert_eq!(ended.status, Ok(2), "{words:?}: {}", ended.stderr);
        assert_eq!(files(), before, "{words:?}");
    }
    // What is meant is done: numbers, values after --, --replace, --overwrite, and outputs that hold nothing.
    std::fs::write(folder.join("empty.asdf"), b"").unwrap();
    std::fs::write(folder.join("notes.asdf"), b"dear diary").unwrap();
    for words in [
        &["set", "x.asdf#/n", "-5"][..],
        &["set", "x.asdf#/n", "-1.5e3"],
        &["set", "x.asdf#/n", "-.inf"],
        &["set", "--quiet", "x.asdf#/n", "--", "--in_place"],
        &["set", "x.asdf#/a", "5", "--fill"],
        &["set", "other.asdf#/a", "5", "--replace"],
        &["get", "-oa.npy", "x.asdf#/a"],
        &["get", "x.asdf#/a", "-ob.npy", "-s0:1"],
        &["get", "-s0:1", "x.asdf#/a", "-ob.npy"],
        &["stats", "-s0:1", "x.asdf#/a"],
        &["convert", "x.asdf", "other.asdf", "-o", "{stem}-copy.asdf"],
        &["repack", "-o{stem}-packed.asdf", "x.asdf", "other.asdf"],
        &["repack", "x.asdf", "-o", "one.asdf"],
        &["insert", "x.asdf#/new", "-7"],
        &["sky", "sky.asdf", "--no-bounding-box", "-1,-1"],
        &["convert", "x.asdf", "x.asdf"],
        &["convert", "x.asdf", "empty.asdf"],
        &["convert", "x.asdf", "notes.asdf"],
        &["convert", "x.asdf", "y.fits", "--overwrite"],
        &["repack", "x.asdf", "nested.asdf", "--overwrite"],
    ] {
        let ended = say(folder, words);
        assert_eq!(ended.status, Ok(0), "{words:?}: {}", ended.stderr);
    }
    for name in ["x-copy.asdf", "other-copy.asdf", "x-packed.asdf", "other-packed.asdf", "one.asdf"] {
        assert!(folder.join(name).is_file(), "{name}");
    }
}

/// The words of a command in another order, without one of them, and with a second file.
fn slips_of(words: &[&'static str]) -> Vec<Vec<&'static str>> {
    // The words of the command itself stay.
    let first = if ["history", "layout", "schema"].contains(&words[0]) { 2 } else { 1 };
    let mut slips = Vec::new();
    for at in first..words.len() {
        let (mut shorter, mut longer) = (words.to_vec(), words.to_vec());
        shorter.remove(at);
        longer.insert(at, "other.asdf");
        slips.extend([shorter, longer]);
        for other in at + 1..words.len() {
            let mut swapped = words.to_vec();
            swapped.swap(at, other);
            slips.push(swapped);
        }
    }
    slips.push([words, &["other.asdf"]].concat());
    slips
}

/// A slip changes at most the files that the command was to write. First tier: a sample.
#[test]
fn shuffled_words_change_no_other_file() {
    let contents = |folder: &Path| {
        let files = files(folder).into_iter().filter(|path| !path.is_symlink());
        files.map(|path| (path.clone(), std::fs::read(path).unwrap())).collect::<BTreeMap<_, _>>()
    };
    let mut all = Vec::new();
    for words in JSON.iter().filter(|words| words[0] != "tour") {
        all.extend(slips_of(words).into_iter().map(|slip| (*words, slip)));
    }
    let all = sample("shuffled words", all, 8);
    let failed = in_parallel(&all, |(words, slip)| {
        let scratch = tempfile::tempdir().unwrap();
        let folder = scratch.path();
        lay_out(folder);
        let before = contents(folder);
        say(folder, words);
        // The outputs are there now: they may be written again, and no other file.
        let laid_out = contents(folder);
        let is_own = |path: &Path| before.get(path) != laid_out.get(path);
        let ended = say(folder, slip);
        let after = contents(folder);
        let changed = laid_out.iter().filter(|(path, content)| after.get(*path) != Some(*content) && !is_own(path));
        let changed: Vec<_> = changed.map(|(path, _)| path.file_name().unwrap_or_default().to_owned()).collect();
        // The files of an edit, and the file after `-o`, are those that the user named to be changed.
        let is_edit = ["set", "insert", "rm", "mv", "edit", "update", "append", "history"].contains(&words[0]);
        let named = |name: &str| {
            let is_file = |word: &&str| word.split('#').next() == Some(name);
            name == "hard.asdf" || is_edit && slip.iter().any(is_file) || slip.windows(2).any(|pair| pair == ["-o", name])
        };
        let is_named = changed.iter().all(|name| name.to_str().is_some_and(named));
        let is_right = matches!(ended.status, Ok(0..=2)) && (changed.is_empty() || is_named && ended.status == Ok(0));
        (!is_right).then(|| format!("{slip:?} ended with {:?} and changed {changed:?}", ended.status))
    });
    let failed: Vec<String> = failed.into_iter().flatten().collect();
    assert!(failed.is_empty(), "{} of {}:\n{}", failed.len(), all.len(), failed.join("\n"));
}
