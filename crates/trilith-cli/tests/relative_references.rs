//! References keep their meaning: whatever writes a text into another folder, or to standard output, names from
//! there what it named before. Every command with an output, in several generations.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may stop where things are not as expected")]
#![allow(clippy::disallowed_methods, reason = "tests read and write files on their own")]

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use common::{run, trilith};
use serde_json::Value;

const TARGETS: [&str; 4] = ["asdf-1.6", "asdf-0.1", "asdf-0.1-dev", "finf-0.1"];

/// A command: its words, where IN, OUT, DIR and TREE stand for files; whether it takes arrays of others in; and the
/// file that it writes into a folder, where it does not write OUT.
struct Work {
    words: &'static [&'static str],
    takes_in: bool,
    writes: Option<&'static str>,
}

const fn work(words: &'static [&'static str]) -> Work {
    Work { words, takes_in: false, writes: None }
}

const WORKS: &[Work] = &[
    work(&["set", "IN#/x", "2", "-o", "OUT"]),
    work(&["set", "IN#/x", "--from", "rows.npy", "-o", "OUT"]),
    work(&["insert", "IN#/y", "{a: 1}", "-o", "OUT"]),
    work(&["delete", "IN#/x", "-o", "OUT"]),
    work(&["rename", "IN#/x", "z", "-o", "OUT"]),
    work(&["history", "add", "IN", "moved", "-o", "OUT"]),
    work(&["edit", "IN", "-o", "OUT"]),
    work(&["update", "IN", "-o", "OUT"]),
    work(&["update", "IN", "--from", "TREE", "-o", "OUT"]),
    work(&["repack", "IN", "OUT"]),
    work(&["repack", "IN", "OUT", "--order", "tree"]),
    work(&["convert", "IN", "OUT"]),
    work(&["convert", "IN", "OUT", "--to", "asdf-1.0"]),
    work(&["convert", "IN", "OUT", "--to", "asdf-1.6"]),
    work(&["convert", "IN", "OUT", "--to", "asdf-0.1-dev"]),
    work(&["convert", "IN", "OUT", "--to", "finf-0.1"]),
    work(&["repair", "IN", "-o", "OUT"]),
    Work { words: &["resolve", "IN", "OUT"], takes_in: true, writes: None },
    Work { words: &["implode", "IN", "-o", "OUT"], takes_in: true, writes: None },
    Work { words: &["explode", "IN", "-o", "DIR"], takes_in: false, writes: Some("m_exploded.asdf") },
];

fn block(data: &[u8]) -> Vec<u8> {
    let size = (data.len() as u64).to_be_bytes();
    [b"\xd3BLK\0\x30\0\0\0\0\0\0\0\0", &size[..], &size, &size, &[0; 16], data].concat()
}

fn array(source: &str) -> String {
    format!("!core/ndarray-1.1.0 {{source: {source}, datatype: uint8, byteorder: little, shape: [2]}}")
}

fn asdf(tree: &str, data: Option<&[u8]>) -> Vec<u8> {
    let head = "#ASDF 1.0.0\n#ASDF_STANDARD 1.6.0\n";
    let tree = match tree {
        "" => String::new(),
        tree => format!("%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n--- !core/asdf-1.1.0\n{tree}...\n"),
    };
    [head.as_bytes(), tree.as_bytes(), &data.map(block).unwrap_or_default()].concat()
}

/// `in/deep/m.asdf` refers to files beside it, below it and above it, itself and behind a `$ref`; other folders
/// have other files of the same names.
fn lay_out(root: &Path) {
    let put = |name: &str, bytes: Vec<u8>| {
        let path = root.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    };
    let mut tree = "x: 1\n".to_owned();
    for (key, uri) in
        [("own", "0"), ("beside", "blk.asdf"), ("below", "sub/blk.asdf"), ("above", "'../blk.asdf'"), ("odd", "'a%20b%3Ac.asdf'")]
    {
        tree.push_str(&format!("{key}: {} # kept\n", array(uri)));
    }
    for (key, uri) in [
        ("leaf", "sub/leaf.asdf#/data"),
        ("up", "../leaf.asdf#/data"),
        ("own_ref", "#/beside"),
        ("numbered", "./sub/leaf.asdf#/number"),
    ] {
        tree.push_str(&format!("{key}: {{$ref: '{uri}'}}\n"));
    }
    let leaf = format!("data: {}\nnumber: 7\n", array("blk.asdf"));
    for (folder, value) in [("in/deep", 1), ("in/deep/sub", 2), ("in", 3), ("out", 4), ("out/sub", 5), (".", 6)] {
        put(&format!("{folder}/blk.asdf"), asdf("", Some(&[value, 0])));
        put(&format!("{folder}/a b:c.asdf"), asdf("", Some(&[value, 9])));
        put(&format!("{folder}/leaf.asdf"), asdf(&leaf, None));
    }
    put("in/deep/m.asdf", asdf(&tree, Some(&[8, 8])));
    let head = "{'descr': '|u1', 'fortran_order': False, 'shape': (2,), }";
    put("rows.npy", [b"\x93NUMPY\x01\x00\x76\x00", format!("{head:<117}\n").as_bytes(), &[5, 5]].concat());
}

fn say(root: &Path, words: &[&str]) -> Vec<u8> {
    let mut command = trilith();
    command.current_dir(root).args(words).arg("--quiet").env("EDITOR", "sed -i /^x:/d");
    let ended = run(command, None);
    assert_eq!(ended.status, Ok(0), "{words:?}: {}", ended.stderr);
    ended.stdout
}

fn json(root: &Path, words: &[&str]) -> Value {
    serde_json::from_slice(&say(root, &[words, &["--json", "--allow", "."]].concat())).unwrap()
}

/// The digest of every array that the work does not change.
fn digests(root: &Path, file: &str) -> BTreeMap<String, String> {
    let said = json(root, &["digest", file]);
    assert_eq!(said["errors"], serde_json::json!({}), "{file}");
    let arrays = said["arrays"].as_object().unwrap().iter();
    arrays.filter(|(path, _)| *path != "/x").map(|(path, array)| (path.clone(), array["sha256"].to_string())).collect()
}

/// What the references to other files mean.
fn targets(root: &Path, file: &str) -> BTreeSet<String> {
    let said = json(root, &["refs", file]);
    let both = ["references", "sources"].into_iter().flat_map(|list| said[list].as_array().unwrap().clone());
    let own = |target: &str| target.contains("m.asdf") || target.contains("out.asdf") || target.contains("_exploded");
    both.filter_map(|found| found["target"].as_str().map(str::to_owned)).filter(|target| !own(target)).collect()
}

#[test]
fn moved_references_resolve_to_same_bytes() {
    let mut count = 0;
    let places = ["same folder", "other folder", "deeper folder", "standard output"];
    let cells = TARGETS.iter().flat_map(|target| places.map(|place| (*target, place))).collect();
    for (target, place) in common::sample("places of moved references", cells, 8) {
        let scratch = tempfile::tempdir().unwrap();
        let root = &scratch.path().canonicalize().unwrap();
        lay_out(root);
        // `resolve` copies nodes from files of the same version only.
        for file in ["in/deep/m.asdf", "in/deep/sub/leaf.asdf", "in/leaf.asdf"] {
            say(root, &["convert", file, file, "--to", target]);
        }
        let (expected, meant) = (digests(root, "in/deep/m.asdf"), targets(root, "in/deep/m.asdf"));
        assert_eq!((expected.len(), meant.len()), (8, 7), "{target}: {expected:?} {meant:?}");
        let above = format!("file://{}/in/blk.asdf", root.display());
        assert!(meant.contains(&above), "{target}: {meant:?}");
        std::fs::write(root.join("in/deep/TREE.yaml"), say(root, &["to-yaml", "in/deep/m.asdf"])).unwrap();
        let folder = match place {
            "same folder" => "in/deep",
            "deeper folder" => "in/deep/sub/more",
            _ => "out",
        };
        std::fs::create_dir_all(root.join(folder)).unwrap();
        for (number, Work { words, takes_in, writes }) in WORKS.iter().enumerate() {
            let written = writes.map_or_else(|| format!("{folder}/out.asdf"), |name| format!("{folder}/{name}"));
            if place == "standard output" && writes.is_some() {
                continue;
            }
            let out = if place == "standard output" { "-" } else { &written };
            let words: Vec<String> = words
                .iter()
                .map(|word| match *word {
                    "OUT" => out.to_owned(),
                    "DIR" => folder.to_owned(),
                    "TREE" => "in/deep/TREE.yaml".to_owned(),
                    word => word.replace("IN", "in/deep/m.asdf"),
                })
                .chain(["--allow".to_owned(), ".".to_owned()])
                .collect();
            let what = format!("{target}, {place}, {words:?}, work {number}");
            if writes.is_none() {
                // The output of the work before, which would be replaced only with --overwrite.
                let _ = std::fs::remove_file(root.join(&written));
            }
            let said = say(root, &words.iter().map(String::as_str).collect::<Vec<_>>());
            if out == "-" {
                std::fs::write(root.join(&written), said).unwrap();
            }
            assert_eq!(digests(root, &written), expected, "{what}");
            let found = targets(root, &written);
            if !takes_in {
                assert_eq!(found, meant, "{what}");
            }
            assert!(found.is_subset(&meant), "{what}: {found:?}");
            count += 1;
        }
    }
    common::say(&format!("references moved: {count} writes, every one led to the same bytes"));
}

#[test]
fn resolved_text_includes_arrays_of_other_files() {
    let scratch = tempfile::tempdir().unwrap();
    let root = &scratch.path().canonicalize().unwrap();
    lay_out(root);
    let text = say(root, &["to-yaml", "--resolve", "in/deep/m.asdf", "--allow", "."]);
    std::fs::write(root.join("out/text.asdf"), &text).unwrap();
    let (expected, found) = (digests(root, "in/deep/m.asdf"), {
        let said = json(root, &["get", "out/text.asdf#/leaf"]);
        assert_eq!(said, serde_json::json!([2, 0]), "{}", String::from_utf8_lossy(&text));
        json(root, &["refs", "out/text.asdf"])
    });
    assert_eq!(expected.len(), 8);
    assert_eq!(found["references"], serde_json::json!([]));
    for source in found["sources"].as_array().unwrap() {
        assert_eq!(source["source"], source["target"], "what is not taken in is absolute");
    }
    let tree = json(root, &["tree", "--resolve", "in/deep/m.asdf"]);
    assert_eq!(
        (&tree["leaf"], &tree["up"], &tree["numbered"]),
        (&serde_json::json!([2, 0]), &serde_json::json!([3, 0]), &serde_json::json!(7))
    );
    assert_eq!(tree["beside"]["source"], format!("file://{}/in/deep/blk.asdf", root.display()));
}

/// The standard's reading comes first; what writers of 2014 meant only where that leads out, and with a word.
#[test]
fn excess_parent_step_is_dropped_with_warning() {
    let scratch = tempfile::tempdir().unwrap();
    let root = scratch.path();
    lay_out(root);
    let tree = format!("a: {}\n", array("../blk.asdf"));
    let old = String::from_utf8(asdf(&tree, None)).unwrap().replace("#ASDF 1.0.0\n#ASDF_STANDARD 1.6.0\n", "%ASDF 0.1.0\n");
    let old = old
        .replace("asdf/\n--- !core/asdf-1.1.0", "asdf/0.1.0/\n--- !core/asdf")
        .replace("-1.1.0 {", " {")
        .replace("datatype", "dtype");
    std::fs::write(root.join("in/deep/old.asdf"), &old).unwrap();
    std::fs::write(root.join("in/deep/new.asdf"), asdf(&tree, None)).unwrap();
    let get = |words: &[&str]| {
        let mut command = trilith();
        command.current_dir(root).arg("get").args(words);
        let ended = run(command, None);
        (ended.status, String::from_utf8(ended.stdout).unwrap(), ended.stderr)
    };
    for allowed in [".", "in", "in/"] {
        assert_eq!(get(&["in/deep/old.asdf#/a", "--allow", allowed]), (Ok(0), "3 0\n".to_owned(), String::new()), "{allowed}");
        assert_eq!(get(&["in/deep/new.asdf#/a", "--allow", allowed]).1, "3 0\n", "{allowed}");
    }
    let (status, values, said) = get(&["in/deep/old.asdf#/a"]);
    assert_eq!((status, &*values), (Ok(0), "1 0\n"));
    assert!(said.starts_with("warning: ") && said.contains("\"../blk.asdf\" is read as \"blk.asdf\""), "{said}");
    let (status, values, said) = get(&["in/deep/new.asdf#/a"]);
    assert_eq!((status, &*values), (Ok(2), ""));
    assert!(said.contains("leads out of the file's folder") && said.contains("--allow"), "{said}");
}
