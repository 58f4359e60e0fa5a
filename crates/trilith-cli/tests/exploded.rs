//! Exploding, imploding, appending and changing in place, in every generation that can be written: the arrays
//! stay what they are, whatever file they lie in.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may stop where things are not as expected")]
#![allow(clippy::disallowed_methods, reason = "tests read and write files on their own")]

mod common;

use std::collections::BTreeMap;
use std::path::Path;

use common::{run, trilith};
use trilith::asdf::{FieldSlot, GENERATIONS, Generation};
use trilith::check::VerifyDepth;

const TARGETS: [&str; 10] =
    ["finf-0.1", "asdf-0.1-dev", "asdf-0.1", "asdf-1.0", "asdf-1.1", "asdf-1.2", "asdf-1.3", "asdf-1.4", "asdf-1.5", "asdf-1.6"];

/// Runs a command in a folder; it must end well. Gives what it printed.
fn say(folder: &Path, arguments: &[&str]) -> String {
    let mut command = trilith();
    command.current_dir(folder).args(arguments);
    // Several outputs of a test have one name.
    if matches!(arguments.first(), Some(&("convert" | "repack" | "resolve"))) {
        command.arg("--overwrite");
    }
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
fn every_target_explode_implode_round_trip() {
    for target in common::sample("forms taken apart", TARGETS.to_vec(), 4) {
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

        // Rows are added to the table in place, which is the purpose of the exploded form.
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

/// A block as a row of the generation table has it: its used bytes, flags and codec, and its size when decoded.
fn block_of(row: &Generation, stored: &[u8], flags: u32, codec: [u8; 4], codes: &[u8], decoded: u64) -> Vec<u8> {
    let fields = &row.fields;
    let mut header = vec![0; usize::from(fields.size)];
    let used = if flags & 1 != 0 { 0 } else { stored.len() as u64 };
    let size = if flags & 1 != 0 { 0 } else { decoded };
    let mut set = |slot: Option<FieldSlot>, value: &[u8]| {
        if let Some(slot) = slot {
            header[usize::from(slot.offset)..][..value.len()].copy_from_slice(value);
        }
    };
    set(fields.version, &[0, 1, 0]);
    set(fields.flags, &flags.to_be_bytes());
    set(fields.compression, &codec);
    set(Some(fields.allocated), &used.to_be_bytes());
    set(Some(fields.used), &used.to_be_bytes());
    set(fields.data_size, &size.to_be_bytes());
    set(fields.encoding, codes);
    [row.magic, &fields.size.to_be_bytes(), &header, stored].concat()
}

/// One zlib stream of these bytes, stored as they are.
fn zlib(bytes: &[u8]) -> Vec<u8> {
    let (mut a, mut b) = (1u32, 0u32);
    for byte in bytes {
        a = (a + u32::from(*byte)) % 65521;
        b = (b + a) % 65521;
    }
    let len = bytes.len() as u16;
    [&[0x78, 0x01, 1][..], &len.to_le_bytes(), &(!len).to_le_bytes(), bytes, &(b << 16 | a).to_be_bytes()].concat()
}

/// A file of a row: a plain array, one stored in every way that the row has, a stream where it has streams.
fn file_of(row: &Generation) -> Vec<u8> {
    let (key, prefix, ndarray) = (row.tree.datatype_key, row.tree.prefix, row.tree.ndarray);
    let version = if row.major_version == 0 { "0.1.0" } else { "1.0.0" };
    let mut tree = format!("{} {version}\n%YAML 1.1\n%TAG ! {prefix}\n--- !{}\n# kept\n", row.token, row.tree.root);
    let mut blocks = Vec::new();
    let mut add = |name: &str, shape: &str, block: Vec<u8>| {
        let source = blocks.len();
        tree.push_str(&format!("{name}: !{ndarray} {{source: {source}, {key}: int16, byteorder: little, shape: {shape}}}\n"));
        blocks.push(block);
    };
    let data = [1, 0, 2, 0, 3, 0, 4, 0];
    add("plain", "[2, 2]", block_of(row, &data, 0, [0; 4], &[], 8));
    if row.fields.compression.is_some() {
        add("zlib", "[4]", block_of(row, &zlib(&data), 0, *b"zlib", &[], 8));
    }
    if row.fields.encoding.is_some() && row.name == "asdf-0.1-hs44" {
        add("codes", "[4]", block_of(row, &zlib(&data), 0, [0; 4], b"z", 8));
    }
    if row.encoded {
        let chain = |text: &str, bytes: &[u8]| [format!("--- {text}\n...\n").as_bytes(), bytes].concat();
        add("zlib", "[4]", block_of(row, &chain("[zlib]", &zlib(&data)), 2, [0; 4], &[], 8));
        let tiles = [1, 0, 3, 0, 2, 0, 4, 0];
        let full = "[[tile, {shape: [2, 1], original_shape: [2, 2], item_size: 2}], zlib]";
        add("tiles", "[2, 2]", block_of(row, &chain(full, &zlib(&tiles)), 2, [0; 4], &[], 8));
        // The example of the document leaves two arguments to the ndarray.
        add("bare", "[2, 2]", block_of(row, &chain("[[tile, {shape: [2, 1]}]]", &tiles), 2, [0; 4], &[], 8));
    }
    if row.fields.flags.is_some() {
        add("stream", "['*', 2]", block_of(row, &data, 1, [0; 4], &[], 8));
    }
    tree.push_str("...\n");
    [tree.into_bytes(), blocks.concat()].concat()
}

/// FINF 0.1.0, 0.1.0 and 1.x, "Exploded form": "a user may explode the file, edit the YAML portion as a pure YAML file,
/// and implode the parts back together". Every block is then as it was, header and all.
#[test]
fn every_generation_explode_implode_keeps_blocks() {
    for row in GENERATIONS {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        std::fs::write(folder.join("x.asdf"), file_of(row)).unwrap();
        let before = digest(folder, "x.asdf");
        assert!(!before.is_empty());
        say(folder, &["explode", "x.asdf", "--quiet"]);
        let exploded = std::fs::read(folder.join("x_exploded.asdf")).unwrap();
        assert!(std::str::from_utf8(&exploded).is_ok_and(|text| text.ends_with("...\n")), "{}: more than YAML", row.name);
        assert_eq!(digest(folder, "x_exploded.asdf"), before, "{}", row.name);
        say(folder, &["implode", "x_exploded.asdf", "-o", "all.asdf", "--quiet"]);
        assert_eq!(digest(folder, "all.asdf"), before, "{}", row.name);
        let kinds = |name: &str| {
            let file = trilith::open_asdf(folder.join(name)).unwrap();
            let blocks = file.sections().blocks().unwrap();
            let kind =
                |b: &&trilith::asdf::Block| (b.generation.name, b.header_size, b.flags, b.compression, b.encoding_codes, b.used);
            blocks.iter().map(kind).collect::<Vec<_>>()
        };
        assert_eq!(kinds("all.asdf"), kinds("x.asdf"), "{}", row.name);
        let report = trilith::check::verify(
            &trilith::open_asdf(folder.join("all.asdf")).unwrap(),
            VerifyDepth::Decoded,
            trilith::Progress::default(),
        )
        .unwrap();
        assert!(report.is_ok(), "{}: {report:?}", row.name);
    }
}

/// The headers of the blocks of a file, magic number included, by what the blocks hold. The allocated size, which is not
/// copied, counts as 0.
fn headers(path: &Path) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let bytes = std::fs::read(path).unwrap();
    let file = trilith::open_asdf(path).unwrap();
    let blocks = file.sections().blocks().unwrap();
    let of_block = |block: &&trilith::asdf::Block| {
        let (start, data) = (usize::try_from(block.offset).unwrap(), usize::try_from(block.data_offset).unwrap());
        let end = data + usize::try_from(block.stored_len()).unwrap();
        let mut header = bytes[start..data].to_vec();
        let fields = header.len() - usize::from(block.header_size);
        header[fields + usize::from(block.generation.fields.allocated.offset)..][..8].fill(0);
        // The plain block and the stream hold the same.
        let kind = block.flags.to_be_bytes();
        ([&kind[..], &bytes[data..end]].concat(), header)
    };
    blocks.iter().map(of_block).collect()
}

/// FINF 0.1.0, "Exploded form": a block has "exactly the same content as the block in the original file (including the block
/// header)". It holds for every command that copies blocks, in every generation, with either magic number, and with the 8 bytes
/// of a checksum that nobody can compute.
#[test]
fn copying_commands_keep_early_block_headers() {
    for row in GENERATIONS {
        for magic in [row.magic, row.magic_documented] {
            let scratch = tempfile::tempdir().unwrap();
            let folder = scratch.path();
            let mut bytes = file_of(row);
            for at in (0..bytes.len()).filter(|at| bytes[*at..].starts_with(row.magic)).collect::<Vec<_>>() {
                bytes[at..at + magic.len()].copy_from_slice(magic);
                let fields = at + magic.len() + 2;
                if row.fields.checksum.len == 8 {
                    let sum = [0x0e, 0xe0, 0x64, 0x6c, 0x1c, 0x77, 0xd8, at as u8];
                    bytes[fields + usize::from(row.fields.checksum.offset)..][..8].copy_from_slice(&sum);
                }
                if let Some(version) = row.fields.version {
                    bytes[fields + usize::from(version.offset)..][..3].copy_from_slice(&[0, 1, 7]);
                }
            }
            std::fs::write(folder.join("x.asdf"), bytes).unwrap();
            let has_sums = row.fields.checksum.len == 16;
            let known = |path: &Path| {
                let mut headers = headers(path);
                // An MD5 is added to blocks that have none.
                let end = |header: &mut Vec<u8>| header.truncate(header.len() - if has_sums { 16 } else { 0 });
                headers.values_mut().for_each(end);
                headers
            };
            let before = known(&folder.join("x.asdf"));
            assert!(!before.is_empty());
            let text = "x".repeat(3000);
            say(folder, &["explode", "x.asdf", "-o", "parts", "--quiet"]);
            say(folder, &["implode", "parts/x_exploded.asdf", "-o", "imploded.asdf", "--quiet"]);
            say(folder, &["repack", "x.asdf", "repacked.asdf", "--quiet"]);
            say(folder, &["resolve", "x.asdf", "resolved.asdf", "--quiet"]);
            say(folder, &["repair", "x.asdf", "-o", "repaired.asdf", "--quiet"]);
            say(folder, &["set", "x.asdf#/note", &text, "-o", "set.asdf", "--quiet"]);
            for name in ["imploded", "repacked", "resolved", "repaired", "set"] {
                let after = known(&folder.join(format!("{name}.asdf")));
                assert_eq!(after, before, "{} {}: {name}", row.name, magic.escape_ascii());
            }
            let mut parts = BTreeMap::new();
            for entry in std::fs::read_dir(folder.join("parts")).unwrap() {
                parts.extend(known(&entry.unwrap().path()));
            }
            assert_eq!(parts, before, "{} {}: exploded", row.name, magic.escape_ascii());
            // New blocks of a file have the magic number of its old ones.
            for how in ["--in-place", "--no-in-place"] {
                let options = if how == "--in-place" { vec![how] } else { vec![] };
                std::fs::copy(folder.join("imploded.asdf"), folder.join("grown.asdf")).unwrap();
                if row.fields.flags.is_some() {
                    say(folder, &["delete", "grown.asdf#/stream", "--quiet"]);
                }
                say(folder, &["update", "grown.asdf", "--quiet"]);
                let insert = ["set", "grown.asdf#/new", "--from", "x.asdf#/plain", "--quiet"];
                say(folder, &[&insert[..], &options].concat());
                let bytes = std::fs::read(folder.join("grown.asdf")).unwrap();
                let file = trilith::open_asdf(folder.join("grown.asdf")).unwrap();
                for block in file.sections().blocks().unwrap() {
                    let found = &bytes[usize::try_from(block.offset).unwrap()..][..magic.len()];
                    assert_eq!(found, magic, "{} {how}: block {}", row.name, block.index);
                }
            }
        }
    }
}

/// Runs a command in a folder, however it ends.
fn ran(folder: &Path, arguments: &[&str]) -> common::Ended {
    let mut command = trilith();
    command.current_dir(folder).args(arguments);
    // Several outputs of a test have one name.
    if matches!(arguments.first(), Some(&("convert" | "repack" | "resolve"))) {
        command.arg("--overwrite");
    }
    run(command, None)
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn leftover_parts_without_tree_are_reported() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path();
    std::fs::write(folder.join("x.asdf"), sample()).unwrap();
    say(folder, &["explode", "x.asdf"]);
    // Killed before the file with the tree was in place.
    std::fs::remove_file(folder.join("x_exploded.asdf")).unwrap();
    std::fs::remove_file(folder.join("x_exploded0003.asdf")).unwrap();
    let before = names(folder);
    let ended = ran(folder, &["explode", "x.asdf"]);
    assert_eq!(ended.status, Ok(2), "{}", ended.stderr);
    assert!(ended.stderr.contains("no x_exploded.asdf names it: an explode that did not finish left it"), "{}", ended.stderr);
    assert_eq!(names(folder), before);
    say(folder, &["explode", "x.asdf", "--overwrite"]);
    assert_eq!(digest(folder, "x_exploded.asdf"), digest(folder, "x.asdf"));
    assert_eq!(names(folder).len(), 6);
}

#[test]
fn old_parts_stay_until_new_tree_exists() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path();
    std::fs::write(folder.join("x.asdf"), sample()).unwrap();
    say(folder, &["explode", "x.asdf"]);
    let first = names(folder);
    // Unchanged blocks keep the names of their parts.
    say(folder, &["explode", "x.asdf", "--overwrite"]);
    assert_eq!(names(folder), first);
    // One block is another: only that one gets another file.
    let mut other = sample();
    let at = other.windows(3).rposition(|bytes| bytes == [7, 8, 9]).unwrap();
    other[at] = 70;
    std::fs::write(folder.join("x.asdf"), &other).unwrap();
    let ended = ran(folder, &["explode", "x.asdf", "--overwrite", "--quiet", "--json"]);
    assert_eq!(ended.status, Ok(0), "{}", ended.stderr);
    assert_eq!(digest(folder, "x_exploded.asdf"), digest(folder, "x.asdf"));
    assert!(!folder.join("x_exploded0001.asdf").exists(), "{:?}", names(folder));
    let tree = std::fs::read_to_string(folder.join("x_exploded.asdf")).unwrap();
    for name in names(folder).iter().filter(|name| name.contains("_exploded0")) {
        assert!(tree.contains(name.as_str()), "{name}: {tree}");
    }
    // Parts that somebody else names stay.
    let outer = format!(
        "#ASDF 1.0.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n---\na: !core/ndarray-1.0.0 {{source: {}, datatype: uint8, shape: [3]}}\n...\n",
        "x_exploded0000.asdf"
    );
    std::fs::write(folder.join("y.asdf"), outer).unwrap();
    let before = std::fs::read(folder.join("x_exploded0000.asdf")).unwrap();
    let at = other.windows(4).rposition(|bytes| bytes == [0, 2, 0, 3]).unwrap();
    other[at] = 9;
    std::fs::write(folder.join("x.asdf"), &other).unwrap();
    let ended = ran(folder, &["explode", "x.asdf", "--overwrite"]);
    assert_eq!(ended.status, Ok(0), "{}", ended.stderr);
    assert!(ended.stderr.contains("x_exploded0000.asdf is left"), "{}", ended.stderr);
    assert_eq!(std::fs::read(folder.join("x_exploded0000.asdf")).unwrap(), before);
    assert_eq!(digest(folder, "x_exploded.asdf"), digest(folder, "x.asdf"));
}
