//! Exploding, imploding, appending and changing in place, in every generation that can be written: the arrays
//! stay what they are, whatever file they lie in.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may stop where things are not as expected")]
#![allow(clippy::disallowed_methods, reason = "tests read and write files on their own")]

mod common;

use std::collections::BTreeMap;
use std::path::Path;

use common::{run, trilith};

const TARGETS: [&str; 10] =
    ["finf-0.1", "asdf-0.1-dev", "asdf-0.1", "asdf-1.0", "asdf-1.1", "asdf-1.2", "asdf-1.3", "asdf-1.4", "asdf-1.5", "asdf-1.6"];

/// Runs a command in a folder; it must end well. Gives what it printed.
fn say(folder: &Path, arguments: &[&str]) -> String {
    let mut command = trilith();
    command.current_dir(folder).args(arguments);
    let ended = run(command, None);
    assert_eq!(ended.status, Ok(0), "{arguments:?}: {}", ended.stderr);
    String::from_utf8(ended.stdout).unwrap()
}

/// Digest, datatype and shape of every array, by path.
fn digest(folder: &Path, file: &str) -> BTreeMap<String, String> {
    let told = say(folder, &["digest", file]);
    told.lines().map(|line| line.rsplit_once("  ").unwrap()).map(|(said, path)| (path.to_owned(), said.to_owned())).collect()
}

fn block(data: &[u8], streamed: bool) -> Vec<u8> {
    let size = if streamed { [0; 8] } else { (data.len() as u64).to_be_bytes() };
    let flags = u32::from(streamed).to_be_bytes();
    [b"\xd3BLK\0\x30", &flags[..], &[0; 4], &size, &size, &size, &[0; 16], data].concat()
}

/// Plain and masked arrays, two views of one block, a record array, a streamed table.
fn sample() -> Vec<u8> {
    let tree = "#ASDF 1.0.0\n#ASDF_STANDARD 1.5.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n--- !core/asdf-1.1.0\n\
        a: !core/ndarray-1.0.0 {source: 0, datatype: int16, byteorder: big, shape: [2, 2]}\n\
        view: !core/ndarray-1.0.0 {source: 0, datatype: int16, byteorder: big, shape: [2], strides: [-4], offset: 4}\n\
        masked: !core/ndarray-1.0.0\n  source: 1\n  datatype: uint8\n  byteorder: little\n  shape: [3]\n  \
        mask: !core/ndarray-1.0.0 {source: 2, datatype: bool8, byteorder: little, shape: [3]}\n\
        table: !core/ndarray-1.0.0\n  source: -1\n  datatype:\n  - {name: n, datatype: uint8, byteorder: big}\n  \
        - {name: x, datatype: uint16, byteorder: big}\n  byteorder: big\n  shape: ['*']\n# kept\ninline: !core/ndarray-1.0.0 [1, 2]\n...\n";
    let blocks = [
        block(&[0, 1, 0, 2, 0, 3, 0, 4], false),
        block(&[7, 8, 9], false),
        block(&[0, 1, 0], false),
        block(&[1, 0, 2, 3, 0, 4], true),
    ];
    [tree.as_bytes(), &blocks.concat()].concat()
}

/// Rows {n, x} as numpy writes them: (5, 6), (7, 8), little-endian.
fn rows() -> Vec<u8> {
    let mut head = "{'descr': [('n', '|u1'), ('x', '<u2')], 'fortran_order': False, 'shape': (2,), }".to_owned();
    while !(10 + head.len() + 1).is_multiple_of(64) {
        head.push(' ');
    }
    head.push('\n');
    [b"\x93NUMPY\x01\x00", &(head.len() as u16).to_le_bytes()[..], head.as_bytes(), &[5, 6, 0, 7, 8, 0]].concat()
}

#[test]
fn every_form_survives_being_taken_apart_and_put_together() {
    for target in TARGETS {
        let scratch = tempfile::tempdir().unwrap();
        let folder = scratch.path();
        std::fs::write(folder.join("old.asdf"), sample()).unwrap();
        std::fs::write(folder.join("rows.npy"), rows()).unwrap();
        say(folder, &["convert", "old.asdf", "x.asdf", "--to", target, "--quiet"]);
        let expected = digest(folder, "x.asdf");
        assert_eq!(expected.len(), 5, "{target}");

        // All of it, and back.
        say(folder, &["explode", "x.asdf", "-o", "all", "--quiet"]);
        assert_eq!(std::fs::read_dir(folder.join("all")).unwrap().count(), 5, "{target}");
        assert_eq!(digest(folder, "all/x_exploded.asdf"), expected, "{target}: exploded");
        // The file with the tree is text alone.
        let text = String::from_utf8(std::fs::read(folder.join("all/x_exploded.asdf")).unwrap()).unwrap();
        assert!(text.contains("# kept") && text.ends_with("...\n"), "{target}: {text}");
        say(folder, &["implode", "all/x_exploded.asdf", "-o", "back.asdf", "--quiet"]);
        assert_eq!(digest(folder, "back.asdf"), expected, "{target}: imploded");
        assert_eq!(say(folder, &["diff", "x.asdf", "back.asdf", "--ignore", "/table/source"]), "", "{target}");

        // One array: its block leaves (with its mask), the others stay.
        for (item, files) in [("/view", 2), ("/masked", 3), ("/table", 2)] {
            let name = format!("one{}", item.replace('/', "-"));
            say(folder, &["explode", &format!("x.asdf#{item}"), "-o", &name, "--quiet"]);
            assert_eq!(std::fs::read_dir(folder.join(&name)).unwrap().count(), files, "{target}{item}");
            let main = format!("{name}/x_exploded.asdf");
            assert_eq!(digest(folder, &main), expected, "{target}: {item} exploded");
            say(folder, &["implode", &main, "-o", "one.asdf", "--quiet"]);
            assert_eq!(digest(folder, "one.asdf"), expected, "{target}: {item} imploded");
        }
        // One array of an exploded file taken in, the others left where they are.
        say(folder, &["implode", "all/x_exploded.asdf#/masked", "-o", "all/some.asdf", "--quiet"]);
        assert_eq!(digest(folder, "all/some.asdf"), expected, "{target}: one imploded");

        // Rows are added to the table where it lies: what the documents give exploded form for.
        for (main, holder) in [("all/x_exploded.asdf", "all/x_exploded0003.asdf"), ("x.asdf", "x.asdf")] {
            let before = std::fs::metadata(folder.join(holder)).unwrap().len();
            say(folder, &["append", &format!("{main}#/table"), "rows.npy", "--quiet"]);
            assert_eq!(std::fs::metadata(folder.join(holder)).unwrap().len(), before + 6, "{target}");
            let table = say(folder, &["get", &format!("{main}#/table"), "--json"]);
            assert_eq!(table.split_whitespace().collect::<String>(), "[[1,2],[3,4],[5,6],[7,8]]", "{target}");
            assert_eq!(digest(folder, main)["/view"], expected["/view"]);
        }
        say(folder, &["implode", "all/x_exploded.asdf", "-o", "grown.asdf", "--quiet"]);
        assert_eq!(digest(folder, "grown.asdf"), digest(folder, "x.asdf"), "{target}: grown");
        say(folder, &["append", "grown.asdf#/table", "rows.npy", "--quiet"]);

        // In place: room first, then an array that is larger, one that goes, and the tree alone.
        say(folder, &["update", "back.asdf", "--in-place", "--quiet"]);
        let answer = say(folder, &["set", "back.asdf#/masked", "--from", "x.asdf#/view", "--in-place", "--json"]);
        let without_stream = say(folder, &["blocks", "back.asdf"]);
        assert!(answer.contains("\"changed\": true"), "{target}: {answer}");
        let changed = digest(folder, "back.asdf");
        assert_eq!((&changed["/masked"], &changed["/a"]), (&expected["/view"], &expected["/a"]), "{target}: {without_stream}");
        say(folder, &["delete", "back.asdf#/masked", "--in-place", "--quiet"]);
        say(folder, &["set", "back.asdf#/note", "text", "--in-place", "--quiet"]);
        say(folder, &["verify", "--deep", "back.asdf"]);
        say(folder, &["repack", "back.asdf", "packed.asdf", "--order", "tree", "--quiet"]);
        assert_eq!(digest(folder, "packed.asdf"), digest(folder, "back.asdf"), "{target}: packed");
        assert_eq!(digest(folder, "packed.asdf").len(), 4, "{target}");
    }
}
