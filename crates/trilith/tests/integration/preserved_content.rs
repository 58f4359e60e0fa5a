//! What a file holds besides tree and blocks, and texts that would not be found again: kept when the file is written anew, or
//! refused.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test may stop where things are not as expected")]

use std::path::{Path, PathBuf};

use trilith::check::{self, VerifyDepth};
use trilith::convert::{ConvertOptions, rewrite};
use trilith::{Array, ArrayOptions, AsdfBuilder, ErrorKind, Limits, Progress, Target, TreePath, Value, open_asdf};
use trilith::{Change, SaveOptions};

fn path(text: &str) -> TreePath {
    TreePath::parse(text).unwrap()
}

/// A file with `a`, an array of so many blocks, and `key: value`.
fn sample(folder: &Path, blocks: usize, index: bool) -> PathBuf {
    let mut layout = trilith::asdf::WriteOptions::default();
    layout.index = index;
    let mut builder = AsdfBuilder::new(Target::latest()).with_options(layout);
    let mut tree = Value::map([("key", "value")]);
    for number in 0..blocks {
        let array = Array::from_slice(&[number as i32; 20], &[20]).unwrap();
        tree.set(format!("a{number}"), builder.array(&array, &ArrayOptions::default()).unwrap());
    }
    let path = folder.join(format!("{blocks}-{index}.asdf"));
    builder.write(&path, tree).unwrap();
    path
}

/// Sets a key to a text so long that the file is written anew.
fn rewritten(file: &Path) -> trilith::Result<()> {
    let file = open_asdf(file)?;
    let mut change = Change::new(&file);
    change.edit(|edit, _| edit.set(&path("/key"), &"long ".repeat(2000).into()))?;
    change.save(SaveOptions::default()).map(drop)
}

#[test]
fn trailing_bytes_abort_rewrite() {
    let folder = tempfile::tempdir().unwrap();
    let other = std::fs::read(sample(folder.path(), 1, true)).unwrap();
    for blocks in [0, 2] {
        for index in [true, false] {
            let file = sample(folder.path(), blocks, index);
            let alone = std::fs::read(&file).unwrap();
            for (what, behind) in
                [("a file", other.as_slice()), ("a text", b"# notes\n"), ("a block", &other[other.len() - 300..])]
            {
                // A block that follows tree or blocks is one of the file.
                if what == "a block" && (blocks == 0 || !index) {
                    continue;
                }
                let whole = [&alone, behind].concat();
                std::fs::write(&file, &whole).unwrap();
                let opened = open_asdf(&file).unwrap();
                assert!(opened.sections().blocks().is_ok(), "{what} behind {blocks} blocks: it can be read");
                if blocks > 0 {
                    assert_eq!(opened.array_at("/a1").unwrap().load::<i32>().unwrap(), [1; 20]);
                }
                assert!(!opened.warnings().is_empty(), "{what} behind {blocks} blocks, index: {index}");
                let done = rewritten(&file);
                let error = done.expect_err(&format!("{what} behind {blocks} blocks, index: {index}"));
                assert!(error.to_string().contains("rewriting the file would lose it"), "{what}, {blocks}, {index}: {error}");
                assert_eq!(std::fs::read(&file).unwrap(), whole);
            }
            // Blanks say nothing.
            for blanks in [&[0; 700][..], b"   ", b"\n", b"\r\n", b"  \n\n"] {
                // Behind a block, line ends may be what is left of another.
                if blanks.contains(&b'\n') && blocks > 0 && !index {
                    continue;
                }
                std::fs::write(&file, [&alone, blanks].concat()).unwrap();
                rewritten(&file).unwrap();
            }
        }
    }
}

#[test]
fn unrecognizable_tree_text_is_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let start = "%YAML 1.1\n--- !<tag:stsci.edu:asdf/core/asdf-1.1.0>\n";
    let wrong = [
        (format!("{start}b: 5\n"), "has no end"),
        (format!("{start}b: 5\n... # the end\n"), "has no end"),
        (format!("{start}b: 5\n ...\n"), "has no end"),
        (format!("{start}b: 5\r...\n"), "has no end"),
        (format!("{start}b: 5\n...\n# more\n"), "after the end of the tree, from line 5 on"),
        ("b: 5\n...\n".to_owned(), "begins with neither"),
        (format!("\u{feff}{start}b: 5\n...\n"), "begins with neither"),
        (format!("# first\n{start}b: 5\n...\n"), "begins with neither"),
        (" \n".to_owned(), "is empty"),
        (String::new(), "is empty"),
    ];
    for blocks in [0, 2] {
        let name = sample(folder.path(), blocks, true);
        let before = std::fs::read(&name).unwrap();
        for in_place in [true, false] {
            for (text, expected) in &wrong {
                let file = open_asdf(&name).unwrap();
                let done = trilith::tree::Tree::parse(text.clone(), &Limits::default()).and_then(|tree| {
                    let mut change = Change::new(&file);
                    change.replace_tree(tree)?;
                    let mut how = SaveOptions::default();
                    how.in_place = in_place;
                    change.save(how)
                });
                let error = done.unwrap_err();
                assert_eq!(error.kind(), ErrorKind::InvalidInput, "{text:?}: {error}");
                assert!(error.to_string().contains(expected), "{text:?}: {error}");
                assert_eq!(std::fs::read(&name).unwrap(), before);
            }
        }
        for right in [format!("{start}b: 5\n...\n"), format!("{start}b: 5\n...\n\n"), "--- {b: 5}\n...\n".to_owned()] {
            let file = open_asdf(&name).unwrap();
            let mut change = Change::new(&file);
            change.replace_tree(trilith::tree::Tree::parse(right, &Limits::default()).unwrap()).unwrap();
            change.save(SaveOptions::default()).unwrap();
            assert_eq!(open_asdf(&name).unwrap().tree().node_at_pointer("/b").unwrap().as_i64(), Some(5));
        }
    }
}

#[test]
fn edit_never_drops_line_end_before_end_marker() {
    for text in ["a: 1\rb: 2\n", "a: 1\u{2028}b: 2\n"] {
        let bytes = format!("#ASDF 1.0.0\n%YAML 1.1\n---\n{text}...\n").into_bytes();
        let file = trilith::open_asdf_bytes(bytes).unwrap();
        let mut change = Change::new(&file);
        if change.edit(|edit, _| edit.delete(&path("/b"))).is_err() {
            continue;
        }
        let mut out = std::io::Cursor::new(Vec::new());
        match change.write(&mut out, &Default::default()) {
            Ok(_) => assert_eq!(trilith::open_asdf_bytes(out.into_inner()).unwrap().tree().root().len(), 1, "{text:?}"),
            Err(error) => assert_eq!(error.kind(), ErrorKind::InvalidInput, "{text:?}: {error}"),
        }
    }
}

#[test]
fn replacing_array_by_mapping_drops_tag() {
    let folder = tempfile::tempdir().unwrap();
    let name = sample(folder.path(), 2, true);
    for (value, tag) in [(Value::map([("note", 1)]), None), (Value::map::<&str, i64>([]), None), (Value::from("text"), None)] {
        let file = open_asdf(&name).unwrap();
        let mut change = Change::new(&file);
        change.set("/a1", value).unwrap();
        let mut out = std::io::Cursor::new(Vec::new());
        change.write(&mut out, &Default::default()).unwrap();
        let changed = trilith::open_asdf_bytes(out.into_inner()).unwrap();
        assert_eq!(changed.tree().node_at_pointer("/a1").unwrap().tag(), tag);
        assert!(check::verify(&changed, VerifyDepth::Decoded, Default::default()).unwrap().is_ok());
    }
    // The meaning of other tags is not known, and the root stays one.
    let file = trilith::open_asdf_bytes(
        b"#ASDF 1.0.0\n%YAML 1.1\n--- !<tag:stsci.edu:asdf/core/asdf-1.1.0>\nsoft: !<x:software> {name: a, version: b}\n...\n"
            .to_vec(),
    )
    .unwrap();
    let mut change = Change::new(&file);
    change.set("/soft", Value::map([("name", "c"), ("author", "d")])).unwrap();
    assert_eq!(change.tree().unwrap().node_at_pointer("/soft").unwrap().tag(), Some("x:software"));
    change.set("", Value::map([("other", 1)])).unwrap();
    assert_eq!(change.tree().unwrap().root().tag(), Some("tag:stsci.edu:asdf/core/asdf-1.1.0"));
}

#[test]
fn comments_and_enlarged_block_headers_are_preserved() {
    let folder = tempfile::tempdir().unwrap();
    let name = sample(folder.path(), 2, false);
    let plain = std::fs::read(&name).unwrap();
    let comment = b"# caf\xe9, not UTF-8\n";
    let at = plain.windows(5).position(|w| w == b"%YAML").unwrap();
    let mut bytes = [&plain[..at], comment, &plain[at..]].concat();
    // The first block gets eight bytes more, which the space before it makes room for nowhere: they are put in.
    let mark = bytes.windows(4).position(|w| w == b"\xd3BLK").unwrap();
    bytes[mark + 5] = 56;
    let extra = b"\x01later\x00\xff";
    bytes.splice(mark + 54..mark + 54, extra.iter().copied());
    std::fs::write(&name, &bytes).unwrap();
    let check = |bytes: &[u8]| {
        let file = trilith::open_asdf_bytes(bytes.to_vec()).unwrap();
        assert_eq!(file.array_at("/a0").unwrap().load::<i32>().unwrap(), [0; 20]);
        assert_eq!(file.array_at("/a1").unwrap().load::<i32>().unwrap(), [1; 20]);
        let block = file.sections().block(0).unwrap();
        assert_eq!((block.header_size, block.extra_header.as_slice()), (56, &extra[..]));
        assert!(bytes.windows(comment.len()).any(|w| w == comment));
        assert_eq!(block.data_offset % 64, 0, "its data are aligned");
    };
    let file = open_asdf(&name).unwrap();
    let mut out = std::io::Cursor::new(Vec::new());
    rewrite(&file, file.tree().text(), &mut out, &ConvertOptions::default(), Default::default()).unwrap();
    check(&out.into_inner());
    rewritten(&name).unwrap();
    check(&std::fs::read(&name).unwrap());
    // A block that is encoded again loses the bytes of the header, and that is reported.
    let mut options = ConvertOptions::default();
    options.codec = trilith::convert::CodecChoice::Fixed(trilith_codec::codec::parse_name("lz4").unwrap().0);
    let done = rewrite(&file, file.tree().text(), std::io::Cursor::new(Vec::new()), &options, Default::default()).unwrap();
    assert!(done.notes.iter().any(|note| note.contains("the last 8 bytes of its header")), "{:?}", done.notes);
}

/// Bytes that no reader looks at.
const NOTES: [&[u8]; 2] = [b"# notes of an observer", &[0x80, 0x9f, 0xff, 1, 2, 3]];

/// Two arrays with content in the unused space after the tree and, if the generation finds the blocks after it, between them.
fn with_unused_content(target: &'static Target, notes: &[u8]) -> (Vec<u8>, usize) {
    let mut layout = trilith::asdf::WriteOptions::default();
    (layout.index, layout.align) = (false, Some(1));
    let mut builder = AsdfBuilder::new(target).with_options(layout);
    let mut tree = Value::map([("key", "value")]);
    for name in ["a0", "a1"] {
        tree.set(name, builder.array(&Array::from_slice(&[7i32; 20], &[20]).unwrap(), &ArrayOptions::default()).unwrap());
    }
    let mut bytes = std::io::Cursor::new(Vec::new());
    builder.write_to(&mut bytes, tree).unwrap();
    let mut bytes = bytes.into_inner();
    let file = trilith::open_asdf_bytes(bytes.clone()).unwrap();
    let between = file.sections().blocks().unwrap()[1].offset as usize;
    let after_tree = file.sections().tree().unwrap().end as usize;
    let has_gaps = target.generation().index;
    if has_gaps {
        bytes.splice(between..between, notes.iter().copied());
    }
    bytes.splice(after_tree..after_tree, notes.iter().copied());
    (bytes, 1 + usize::from(has_gaps))
}

fn count(bytes: &[u8], part: &[u8]) -> usize {
    bytes.windows(part.len()).filter(|window| *window == part).count()
}

/// Unused space may hold any content (ASDF 1.x, "Tree" and "Block index"). First tier.
#[test]
fn unused_content_is_kept_or_noted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.asdf");
    for name in ["finf-0.1", "asdf-0.1-dev", "asdf-0.1", "asdf-1.0", "asdf-1.6"] {
        let target = Target::from_name(name).unwrap();
        for notes in NOTES {
            let (bytes, spaces) = with_unused_content(target, notes);
            let expected = vec![7i32; 20];
            let check = |bytes: &[u8], arrays: &[&str], spaces: usize, what: &str| {
                assert_eq!(count(bytes, notes), spaces, "{name} {what}");
                let file = trilith::open_asdf_bytes(bytes.to_vec()).unwrap();
                for array in arrays {
                    assert_eq!(file.array_at(array).unwrap().load::<i32>().unwrap(), expected, "{name} {what} {array}");
                }
                assert!(check::verify(&file, VerifyDepth::Decoded, Default::default()).unwrap().is_ok(), "{name} {what}");
            };
            check(&bytes, &["/a0", "/a1"], spaces, "read");
            let source = trilith::open_asdf_bytes(bytes.clone()).unwrap();
            assert_eq!(source.sections().unused_content().unwrap().len(), spaces, "{name}");

            // An edit keeps it: in place, in the room that is there, in a file that grows, and with other blocks.
            type Edit = fn(&mut Change<'_>) -> trilith::Result<()>;
            let edits: [(&str, &[&str], Edit); 5] = [
                ("short", &["/a0", "/a1"], |change| change.set("/key", "v")),
                ("long", &["/a0", "/a1"], |change| change.set("/key", "long ".repeat(500))),
                ("first gone", &["/a1"], |change| change.delete("/a0")),
                ("last gone", &["/a0"], |change| change.delete("/a1")),
                ("more", &["/a0", "/a1", "/a2"], |change| {
                    change.insert_array("/a2", &Array::from_slice(&[7i32; 20], &[20])?, &ArrayOptions::default())
                }),
            ];
            for (what, arrays, edit) in edits {
                for in_place in [false, true] {
                    std::fs::write(&path, &bytes).unwrap();
                    let file = open_asdf(&path).unwrap();
                    let mut change = Change::new(&file);
                    edit(&mut change).unwrap();
                    let mut how = SaveOptions::default();
                    how.in_place = in_place;
                    change.save(how).unwrap();
                    check(&std::fs::read(&path).unwrap(), arrays, spaces, what);
                }
            }
            // Without blocks no unused space is left.
            std::fs::write(&path, &bytes).unwrap();
            let file = open_asdf(&path).unwrap();
            let mut change = Change::new(&file);
            change.delete("/a0").unwrap();
            change.delete("/a1").unwrap();
            assert_eq!(change.save(SaveOptions::default()).unwrap_err().kind(), ErrorKind::Unsupported, "{name}");
            assert_eq!(std::fs::read(&path).unwrap(), bytes, "{name}");

            // A conversion keeps it over the same name, and leaves it out of another file with a note.
            let mut options = ConvertOptions::default();
            options.set_codec(if target.generation().fields.compression.is_some() { "zlib" } else { "none" }).unwrap();
            let done = trilith::open(&path).unwrap().convert(&path, &options).unwrap();
            check(&std::fs::read(&path).unwrap(), &["/a0", "/a1"], spaces, "over itself");
            assert!(done.notes.iter().all(|note| !note.contains("unused")), "{name}: {:?}", done.notes);
            let other = folder.path().join("y.asdf");
            let done = trilith::open(&path).unwrap().convert(&other, &options).unwrap();
            check(&std::fs::read(&other).unwrap(), &["/a0", "/a1"], 0, "into another file");
            assert!(done.notes.iter().any(|note| note.contains("the content of unused space is left out")), "{name}");
            // A generation without a block index finds no block after such content.
            let mut options = ConvertOptions::default();
            options.to = trilith::convert::TargetForm::from_name("finf-0.1").unwrap();
            options.allow_loss = true;
            trilith::open(&path).unwrap().convert(&path, &options).unwrap();
            check(&std::fs::read(&path).unwrap(), &["/a0", "/a1"], spaces, "to FINF over itself");
        }
    }
}

/// First tier.
#[test]
fn blocks_of_unreadable_arrays_survive_conversion() {
    // Float16 becomes float32 in a block of its own; the other node keeps its source, whose bytes must not change.
    let halves = Array::from_slice(&[1.0f32, 2.0, 3.0].map(half::f16::from_f32), &[3]).unwrap();
    let mut builder = AsdfBuilder::new(Target::latest());
    let node = builder.array(&halves, &ArrayOptions::default()).unwrap();
    let mut unreadable = node.clone();
    unreadable.set("datatype", "float12");
    let mut out = std::io::Cursor::new(Vec::new());
    builder.write_to(&mut out, Value::map([("good", node), ("bad", unreadable)])).unwrap();
    let file = trilith::open_asdf_bytes(out.into_inner()).unwrap();
    let mut options = ConvertOptions::default();
    options.allow_loss = true;
    for target in ["asdf-1.5", "asdf-1.0", "asdf-0.1"] {
        let mut out = std::io::Cursor::new(Vec::new());
        trilith::convert::convert_to(&file, Target::from_name(target).unwrap(), &mut out, &options, Progress::default()).unwrap();
        let made = trilith::open_asdf_bytes(out.into_inner()).unwrap();
        assert_eq!(made.array_at("/good").unwrap().load::<f32>().unwrap(), [1.0, 2.0, 3.0], "{target}");
        let source = made.tree().node_at_pointer("/bad/source").unwrap().as_i64().unwrap();
        let (old, new) = (file.block_data(0).unwrap(), made.block_data(source).unwrap());
        let bytes = |source: &dyn trilith::bytes::Source| trilith::bytes::read_vec(source, 0, source.len(), &Limits::default());
        assert_eq!(bytes(&*new).unwrap(), bytes(&*old).unwrap(), "{target}");
    }
}
