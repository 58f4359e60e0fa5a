//! Arrays added, replaced and removed in files of every generation: in place and as new files.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test may stop where things are not as expected, and looks at files as others do"
)]

use std::path::{Path, PathBuf};

use trilith::array::{Array, Byteorder, Datatype, Index, Mask};
use trilith::asdf::{ArrayOptions, AsdfBuilder, BlockOptions, FileWriter, GENERATIONS, TARGETS, Target, WriteOptions};
use trilith::bytes::{MemorySource, WriteBasis};
use trilith::{AsdfFile, ErrorKind, TreePath, Value, check, open_asdf};
use trilith::{Change, SaveOptions};

fn path(text: &str) -> TreePath {
    TreePath::parse(text).unwrap()
}

fn numbers(from: i32, count: i32) -> Array {
    Array::from_slice(&(from..from + count).collect::<Vec<_>>(), &[count as u64]).unwrap()
}

fn load(file: &AsdfFile, path: &str) -> Vec<i32> {
    file.array_at(path).unwrap_or_else(|e| panic!("{e}\n{}", file.tree().text())).load::<i32>().unwrap()
}

/// `a`, `b`, `view` of `a`, `c` of 100 numbers each, with room behind the tree.
fn sample(folder: &Path, target: &'static Target) -> PathBuf {
    let mut layout = WriteOptions::default();
    layout.tree_padding = 4096;
    let mut builder = AsdfBuilder::new(target).with_options(layout);
    let mut tree = Value::map::<&str, Value>([]);
    for (i, name) in ["a", "b", "c"].into_iter().enumerate() {
        let node = builder.array(&numbers(i as i32 * 1000, 100), &ArrayOptions::default()).unwrap();
        if name == "a" {
            tree.set("view", builder.view(&node, 4, &[3], None).unwrap());
        }
        tree.set(name, node);
    }
    let path = folder.join(format!("{}.asdf", target.name));
    builder.write(&path, tree).unwrap();
    path
}

/// Opens a file anew, and says that nothing is wrong with its structure.
fn opened(path: &Path) -> AsdfFile {
    let file = open_asdf(path).unwrap();
    let verified = check::verify(&file, check::VerifyDepth::Decoded, trilith::Progress::default()).unwrap();
    assert!(verified.is_ok(), "{verified:?}");
    assert_eq!(file.warnings(), Vec::<String>::new());
    file
}

fn quietly<'o>() -> SaveOptions<'o> {
    let mut how = SaveOptions::default();
    how.in_place = true;
    how
}

/// Makes a change in place, which must succeed, and opens the file anew.
fn in_place(path: &Path, make: impl FnOnce(&mut Change<'_>)) -> AsdfFile {
    let file = open_asdf(path).unwrap();
    let mut change = Change::new(&file);
    make(&mut change);
    assert!(change.save(quietly()).unwrap().in_place);
    drop(change);
    drop(file);
    let folder = path.parent().unwrap();
    assert!(!std::fs::read_dir(folder).unwrap().any(|e| e.unwrap().file_name().to_string_lossy().contains("journal")));
    opened(path)
}

#[test]
fn arrays_edit_in_place_in_every_target() {
    for target in TARGETS {
        let folder = tempfile::tempdir().unwrap();
        let path_of = sample(folder.path(), target);
        let size = |file: &AsdfFile| file.sections().source().len();
        let before = size(&open_asdf(&path_of).unwrap());
        // An array of the same size takes the place of the old one.
        let file = in_place(&path_of, |c| c.set_array(path("/b"), &numbers(-100, 100), &ArrayOptions::default()).unwrap());
        assert_eq!((load(&file, "/b")[0], load(&file, "/c")[99], size(&file)), (-100, 2099, before), "{}", target.name);
        assert_eq!(file.tree().node_at_pointer("/b").unwrap().tag(), file.tree().node_at_pointer("/a").unwrap().tag());
        // Larger: appended; the old place is empty.
        let file = in_place(&path_of, |c| c.set_array(path("/b"), &numbers(7, 200), &ArrayOptions::default()).unwrap());
        assert_eq!((load(&file, "/b")[199], load(&file, "/a")[5], load(&file, "/view")[0]), (206, 5, 1), "{}", target.name);
        let blocks = file.sections().blocks().unwrap();
        assert_eq!((blocks.len(), blocks[1].used, blocks[1].allocated >= 400), (4, 0, true));
        assert_eq!(file.sections().index_report().present, target.generation().index, "{}", target.name);
        let grown = size(&file);
        // Another that fits goes there.
        let file = in_place(&path_of, |c| c.insert_array(path("/d"), &numbers(50, 60), &ArrayOptions::default()).unwrap());
        assert_eq!((load(&file, "/d")[59], size(&file), file.sections().blocks().unwrap()[1].used), (109, grown, 240));
        assert_eq!(file.tree().node_at_pointer("/d/source").unwrap().as_i64(), Some(1));
        // `a` is shared with a view: its block stays when it goes.
        let file = in_place(&path_of, |c| c.delete(path("/a")).unwrap());
        assert_eq!((load(&file, "/view"), file.sections().blocks().unwrap()[0].used), (vec![1, 2, 3], 400));
        let file = in_place(&path_of, |c| {
            c.delete(path("/view")).unwrap();
            c.edit(|edit, _| edit.set(&path("/note"), &"x".into())).unwrap();
            c.set_array(
                path("/m"),
                &numbers(0, 3)
                    .with_mask(Mask::Array(std::sync::Arc::new(Array::from_slice(&[true, false, false], &[3]).unwrap())))
                    .unwrap(),
                &ArrayOptions::default(),
            )
            .unwrap();
        });
        assert_eq!(file.tree().node_at_pointer("/note").unwrap().text(), "x");
        let masked = file.array_at("/m").unwrap();
        assert_eq!(masked.mask_array().unwrap().unwrap().load::<bool>().unwrap(), [true, false, false], "{}", target.name);
        assert_eq!((load(&file, "/c")[0], load(&file, "/b")[0], load(&file, "/d")[0]), (2000, 7, 50));
        // A new file has no empty blocks.
        let mut change = Change::new(&file);
        change.delete(path("/c")).unwrap();
        let mut out = std::io::Cursor::new(Vec::new());
        change.write(&mut out, &WriteOptions::default()).unwrap();
        let file = trilith::open_asdf_bytes(out.into_inner()).unwrap();
        assert_eq!((load(&file, "/b")[0], load(&file, "/d")[0], load(&file, "/m")[2]), (7, 50, 2));
        assert!(file.sections().blocks().unwrap().iter().all(|block| block.used > 0));
        assert_eq!(file.sections().blocks().unwrap().len(), 4);
    }
}

/// Rows that no target writes: the header of the day, whatever the tree.
/// Python asdf writes an object that is at two paths as an anchor and an alias: a change at one path is none at the other.
#[test]
fn anchor_edit_keeps_aliases_in_every_target() {
    let folder = tempfile::tempdir().unwrap();
    for target in TARGETS {
        let mut layout = WriteOptions::default();
        layout.tree_padding = 4096;
        let mut builder = AsdfBuilder::new(target).with_options(layout);
        let array = builder.array(&numbers(0, 100), &ArrayOptions::default()).unwrap().anchored("id001");
        let map = Value::map([("k", Value::from(1))]).anchored("id002");
        let pairs = [("arr1", array), ("arr2", Value::alias("id001")), ("m1", map), ("m2", Value::alias("id002"))];
        let path_of = folder.path().join(format!("{}.asdf", target.name));
        builder.write(&path_of, Value::map(pairs)).unwrap();
        let original = std::fs::read(&path_of).unwrap();
        let check = |make: &dyn Fn(&mut Change<'_>), arr1: Option<i32>, blocks: usize| {
            std::fs::write(&path_of, &original).unwrap();
            let opened_here = open_asdf(&path_of).unwrap();
            let mut change = Change::new(&opened_here);
            make(&mut change);
            let mut out = std::io::Cursor::new(Vec::new());
            change.write(&mut out, &WriteOptions::default()).unwrap();
            let copy = trilith::open_asdf_bytes(out.into_inner()).unwrap();
            for file in [copy, in_place(&path_of, make)] {
                assert_eq!(load(&file, "/arr2"), (0..100).collect::<Vec<_>>(), "{}", target.name);
                assert_eq!(file.tree().node_at_pointer("/m2/k").unwrap().as_i64(), Some(1), "{}", target.name);
                assert_eq!(arr1.map(|_| load(&file, "/arr1")[0]), arr1, "{}", target.name);
                assert_eq!(file.sections().blocks().unwrap().len(), blocks, "{}", target.name);
            }
        };
        check(&|c| c.set_array(path("/arr1"), &numbers(7, 100), &ArrayOptions::default()).unwrap(), Some(7), 2);
        check(&|c| c.set(path("/arr1"), 5).unwrap(), None, 1);
        check(&|c| c.delete(path("/arr1")).unwrap(), None, 1);
        check(&|c| c.set(path("/m1"), 5).unwrap(), Some(0), 1);
        check(&|c| c.set(path("/m1"), Value::map([("k", Value::from(2))])).unwrap(), Some(0), 1);
        check(&|c| c.edit(|edit, _| edit.delete(&path("/m1"))).unwrap(), Some(0), 1);
    }
}

#[test]
fn blocks_of_every_row_are_replaced_in_place() {
    for row in GENERATIONS {
        let folder = tempfile::tempdir().unwrap();
        let path_of = folder.path().join("x.asdf");
        let micro = if row.major_version == 0 { "0.1.0" } else { "1.0.0" };
        let mut out = trilith::bytes::AtomicFile::create(&path_of, WriteBasis::Nothing).unwrap();
        let mut layout = WriteOptions::default();
        (layout.tree_padding, layout.align) = (500, Some(1));
        let mut writer = FileWriter::new(&mut out, row, layout);
        let key = row.tree.datatype_key;
        let node = |n: u8| format!("{n}: !{} {{source: {n}, {key}: int32, byteorder: little, shape: [2]}}\n", row.tree.ndarray);
        let text = format!("%YAML 1.1\n%TAG ! {}\n--- !{}\n{}{}...\n", row.tree.prefix, row.tree.root, node(0), node(1));
        writer.header(&format!("{} {micro}", row.token), &[], Some(&text)).unwrap();
        for n in 0..2u8 {
            writer.block(&MemorySource::new(vec![n, 0, 0, 0, n + 1, 0, 0, 0], "x"), &BlockOptions::default()).unwrap();
        }
        writer.finish().unwrap();
        out.commit().unwrap();
        let file = in_place(&path_of, |c| {
            c.set_array(path("/0"), &numbers(9, 2), &ArrayOptions::default()).unwrap();
            c.set_array(path("/1"), &numbers(5, 20), &ArrayOptions::default()).unwrap();
        });
        assert_eq!(file.sections().generation_name(), row.name);
        assert_eq!((load(&file, "/0"), load(&file, "/1")[19]), (vec![9, 10], 24), "{}", row.name);
        assert!(
            file.sections().blocks().unwrap().iter().all(|block| block.generation == row && block.header_size == row.fields.size)
        );
    }
}

#[test]
fn impossible_in_place_edit_rewrites_file() {
    let folder = tempfile::tempdir().unwrap();
    // No room for the tree.
    let path_of = folder.path().join("tight.asdf");
    let mut builder = AsdfBuilder::new(Target::latest());
    let node = builder.array(&numbers(0, 4), &ArrayOptions::streamed()).unwrap();
    builder.write(&path_of, Value::map([("rows", node)])).unwrap();
    let bytes = std::fs::read(&path_of).unwrap();
    let file = open_asdf(&path_of).unwrap();
    let mut change = Change::new(&file);
    change.insert_array(path("/new"), &numbers(1, 5), &ArrayOptions::default()).unwrap();
    assert!(!change.save(quietly()).unwrap().in_place);
    assert_ne!(std::fs::read(&path_of).unwrap(), bytes);
    let file = open_asdf(&path_of).unwrap();
    assert_eq!((load(&file, "/rows"), load(&file, "/new")), (vec![0, 1, 2, 3], vec![1, 2, 3, 4, 5]));
    assert!(file.sections().block(-1).unwrap().is_streamed());
    let mut change = Change::new(&file);
    change.insert_array(path("/newer"), &numbers(1, 5), &ArrayOptions::default()).unwrap();
    // In a new file, a streamed block stays the last.
    let mut out = std::io::Cursor::new(Vec::new());
    change.write(&mut out, &WriteOptions::default()).unwrap();
    let made = trilith::open_asdf_bytes(out.into_inner()).unwrap();
    assert_eq!((load(&made, "/rows"), load(&made, "/new")), (vec![0, 1, 2, 3], vec![1, 2, 3, 4, 5]));
    assert!(made.sections().block(-1).unwrap().is_streamed());
    let refused = change.set_array(path("/s"), &numbers(0, 1), &ArrayOptions::streamed()).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InvalidInput);
}

#[test]
fn file_without_blocks_gets_blocks_in_place() {
    let folder = tempfile::tempdir().unwrap();
    let path_of = folder.path().join("tree.asdf");
    std::fs::write(
        &path_of,
        "#ASDF 1.0.0\n#ASDF_STANDARD 1.6.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n--- !core/asdf-1.1.0\nx: 1\n...\n",
    )
    .unwrap();
    let file = in_place(&path_of, |c| {
        c.set_array(path("/a"), &numbers(3, 4), &ArrayOptions::default()).unwrap();
        c.set_array(path("/b"), &numbers(4, 4), &ArrayOptions::codec("zlib").unwrap()).unwrap();
    });
    assert_eq!((load(&file, "/a"), load(&file, "/b")), (vec![3, 4, 5, 6], vec![4, 5, 6, 7]));
    assert_eq!(file.sections().index_report().valid, Some(true));
    assert_eq!(file.sections().blocks().unwrap()[0].data_offset % 64, 0);
}

/// Whoever replaces a compressed array does not want a larger file, unless they say so.
#[test]
fn replacement_array_keeps_compression() {
    let folder = tempfile::tempdir().unwrap();
    let path_of = sample(folder.path(), Target::latest());
    let codec_of = |file: &AsdfFile, at: &str| {
        let number = file.tree().node_at_pointer(at).unwrap().get("source").unwrap().as_i64().unwrap();
        file.sections().block(number).unwrap().compression
    };
    in_place(&path_of, |c| c.set_array(path("/kept"), &numbers(0, 9), &ArrayOptions::codec("zlib").unwrap()).unwrap());
    let file = in_place(&path_of, |c| c.set_array(path("/kept"), &numbers(5, 4), &ArrayOptions::default()).unwrap());
    assert_eq!((codec_of(&file, "/kept"), load(&file, "/kept")), (*b"zlib", vec![5, 6, 7, 8]));
    let file = in_place(&path_of, |c| c.set_array(path("/kept"), &numbers(5, 4), &ArrayOptions::codec("none").unwrap()).unwrap());
    assert_eq!((codec_of(&file, "/kept"), load(&file, "/kept")), ([0; 4], vec![5, 6, 7, 8]));
}

/// The tier of this test is the first.
#[test]
fn save_report_states_size_of_written_file() {
    let folder = tempfile::tempdir().unwrap();
    let path_of = sample(folder.path(), Target::latest());
    let other = folder.path().join("other.asdf");
    let length = |path: &Path| std::fs::metadata(path).unwrap().len();
    let save = |how: SaveOptions<'_>| {
        let file = open_asdf(&path_of).unwrap();
        let mut change = Change::new(&file);
        change.edit(|edit, _| edit.set(&path("/new"), &Value::from(1))).unwrap();
        change.save(how).unwrap()
    };
    let mut how = SaveOptions::default();
    how.output = Some(trilith::SaveTarget::Path(other.as_path().into()));
    assert_eq!(save(how).size, length(&other));
    assert_eq!(save(SaveOptions::default()).size, length(&path_of));
    let saved = save(SaveOptions::in_place());
    assert_eq!((saved.in_place, saved.size), (true, 0));
}

/// A block that no ndarray names may be named by something else (asdf-zarr's map of chunks): numbers stay.
#[test]
fn unreferenced_blocks_keep_their_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let path_of = sample(folder.path(), Target::latest());
    let file = open_asdf(&path_of).unwrap();
    let mut edit = file.tree().edit();
    edit.set(&path("/b"), &Value::map([("chunk", 1)]).tagged("tag:example.org:map")).unwrap();
    assert!(trilith::asdf::tree_in_place(&file, edit.finish(file.limits()).unwrap().text()).unwrap());
    let file = opened(&path_of);
    let mut change = Change::new(&file);
    change.delete(path("/c")).unwrap();
    let mut out = std::io::Cursor::new(Vec::new());
    change.write(&mut out, &WriteOptions::default()).unwrap();
    let made = trilith::open_asdf_bytes(out.into_inner()).unwrap();
    assert_eq!(made.sections().blocks().unwrap().len(), 3);
    assert_eq!(load(&made, "/a")[1], 1);
}

/// Where the elements come from that are put into a file: all of these hold what `numbers(7, 60)` does.
fn origins(folder: &Path, file: &AsdfFile) -> Vec<(&'static str, Array)> {
    let (little, big) =
        (numbers(7, 60).read_bytes(Byteorder::Little).unwrap(), numbers(7, 60).read_bytes(Byteorder::Big).unwrap());
    let beside = |name: &str, bytes: &[u8], order| {
        std::fs::write(folder.join(name), bytes).unwrap();
        let source = trilith::bytes::open(folder.join(name), Default::default()).unwrap();
        Array::new(source, 4, Datatype::Int32, order, vec![60]).unwrap()
    };
    let padded = |bytes: &[u8]| [&[0xff; 4], bytes, &[0xff; 4]].concat();
    // Every second row of 120 rows.
    let spread: Vec<u8> = little.as_chunks::<4>().0.iter().flat_map(|n| [*n, [9; 4]].concat()).collect();
    let every_second = beside("spread", &padded(&spread), Byteorder::Little);
    let source = every_second.source().clone();
    let every_second = Array::strided(source, 4, Datatype::Int32, Byteorder::Little, vec![60], vec![8]).unwrap();
    vec![
        ("memory", numbers(7, 60)),
        ("another file", beside("plain", &padded(&little), Byteorder::Little)),
        ("another file, the other way round", beside("big", &padded(&big), Byteorder::Big)),
        ("parts of another file", every_second),
        // `own` holds them; it is the block that `a` gives up, and that `a` is then written into.
        ("the file itself", file.array_at("/own").unwrap()),
        ("the file itself, backwards", file.array_at("/turned").unwrap().slice(Index::parse_list("::-1").unwrap()).unwrap()),
    ]
}

#[test]
fn elements_from_any_source_are_copied_unchanged() {
    for (codec, is_in_place) in [(None, true), (None, false), (Some("zlib"), true), (Some("lz4"), false)] {
        for number in 0..6 {
            let folder = tempfile::tempdir().unwrap();
            let main = folder.path().join("x.asdf");
            let mut layout = WriteOptions::default();
            layout.tree_padding = 2000;
            let mut builder = AsdfBuilder::new(Target::latest()).with_options(layout);
            let own = builder.array(&numbers(7, 60), &ArrayOptions::default()).unwrap();
            let turned = Array::from_slice(&(7..67).rev().collect::<Vec<i32>>(), &[60]).unwrap();
            let turned = builder.array(&turned, &ArrayOptions::default()).unwrap();
            builder.write(&main, Value::map([("own", own), ("turned", turned)])).unwrap();
            let file = open_asdf(&main).unwrap();
            let (name, array) = origins(folder.path(), &file).swap_remove(number);
            let mut change = Change::new(&file);
            let options = codec.map_or_else(ArrayOptions::default, |codec| ArrayOptions::codec(codec).unwrap());
            // Both are replaced by the new one: what they were made of is written over while it is read.
            for path in ["/own", "/turned"] {
                change.set_array(path, &array, &options).unwrap();
            }
            let mut how = SaveOptions::default();
            how.in_place = is_in_place;
            assert_eq!(change.save(how).unwrap().in_place, is_in_place, "{name} {codec:?}");
            let file = opened(&main);
            let all: Vec<i32> = (7..67).collect();
            assert_eq!((load(&file, "/own"), load(&file, "/turned")), (all.clone(), all), "{name} {codec:?} {is_in_place}");
        }
    }
}

#[test]
fn concurrent_source_edit_aborts_save() {
    for is_in_place in [true, false] {
        let folder = tempfile::tempdir().unwrap();
        let main = sample(folder.path(), Target::latest());
        let before = std::fs::read(&main).unwrap();
        let file = open_asdf(&main).unwrap();
        let (name, array) = origins_of_a_file(folder.path());
        let mut change = Change::new(&file);
        change.set_array("/a", &array, &ArrayOptions::default()).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(20));
        std::fs::write(folder.path().join(name), vec![1; 248]).unwrap();
        let mut how = SaveOptions::default();
        how.in_place = is_in_place;
        let refused = change.save(how).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Io, "{refused}");
        assert!(refused.to_string().contains("changed by another process"), "{refused}");
        assert_eq!(std::fs::read(&main).unwrap(), before);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2, "no journal and no temporary file is left");
    }
}

/// An array whose elements lie in a file as they are to be stored.
fn origins_of_a_file(folder: &Path) -> (&'static str, Array) {
    let bytes = [&[0xff; 4][..], &numbers(7, 60).read_bytes(Byteorder::Little).unwrap(), &[0xff; 4]].concat();
    std::fs::write(folder.join("plain"), bytes).unwrap();
    let source = trilith::bytes::open(folder.join("plain"), Default::default()).unwrap();
    ("plain", Array::new(source, 4, Datatype::Int32, Byteorder::Little, vec![60]).unwrap())
}

#[test]
fn exploded_file_gets_separate_file_per_new_array() {
    let folder = tempfile::tempdir().unwrap();
    let main = folder.path().join("x.asdf");
    let mut layout = WriteOptions::default();
    layout.align = Some(1);
    let mut out = trilith::bytes::AtomicFile::create(folder.path().join("x0000.asdf"), WriteBasis::Nothing).unwrap();
    let mut writer = FileWriter::new(&mut out, Target::latest().generation(), layout);
    writer.header("#ASDF 1.0.0", &[], None).unwrap();
    let bytes = numbers(0, 4).read_bytes(Byteorder::Little).unwrap();
    writer.block(&MemorySource::new(bytes, "numbers"), &BlockOptions::default()).unwrap();
    writer.finish().unwrap();
    out.commit().unwrap();
    let text = "#ASDF 1.0.0\n#ASDF_STANDARD 1.6.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n--- !core/asdf-1.1.0\n\
        a: !core/ndarray-1.1.0 {source: x0000.asdf, datatype: int32, byteorder: little, shape: [4]}\n...\n";
    std::fs::write(&main, text).unwrap();
    let save = |make: &dyn Fn(&mut Change<'_>)| {
        let file = open_asdf(&main).unwrap();
        let mut change = Change::new(&file);
        make(&mut change);
        change.save(quietly()).unwrap();
        open_asdf(&main).unwrap()
    };
    let file = save(&|c| c.insert_array(path("/b"), &numbers(10, 3), &ArrayOptions::default()).unwrap());
    assert_eq!((load(&file, "/a"), load(&file, "/b")), (vec![0, 1, 2, 3], vec![10, 11, 12]));
    assert_eq!(file.tree().node_at_pointer("/b/source").unwrap().text(), "x0001.asdf");
    assert!(file.sections().blocks().unwrap().is_empty());
    // Replaced: the new file is there before the tree names it, the old one goes.
    let file = save(&|c| c.set_array(path("/a"), &numbers(20, 9), &ArrayOptions::default()).unwrap());
    assert_eq!((load(&file, "/a").len(), load(&file, "/b")[0]), (9, 10));
    assert!(!folder.path().join("x0000.asdf").exists() && folder.path().join("x0002.asdf").exists());
    let file = save(&|c| c.delete(path("/b")).unwrap());
    assert_eq!(load(&file, "/a")[0], 20);
    assert!(!folder.path().join("x0001.asdf").exists());
}

/// A file whose tree has these lines.
fn with_tree(lines: &str) -> AsdfFile {
    let text = format!("#ASDF 1.0.0\n#ASDF_STANDARD 1.6.0\n%YAML 1.1\n---\n{lines}...\n");
    trilith::open_asdf_bytes(text.into_bytes()).unwrap()
}

#[test]
fn combined_edits_eq_sequential_edits() {
    let lines = "a: 1\nlist: [1, 2, 3]\nempty: {}\nm: {x: 1, y: 2}\nref: &one {p: 1}\nsame: *one\nblock:\n- 1\n- 2\n";
    let edits: &[(&str, &str)] = &[
        ("set", "/a"),
        ("set", "/b"),
        ("set", "/b/c"),
        ("set", "/list/0"),
        ("delete", "/list/0"),
        ("set", "/list/0"),
        ("set", "/list/-"),
        ("set", "/list/-"),
        ("set", "/empty/p"),
        ("set", "/empty/q"),
        ("set", "/m/x"),
        ("delete", "/m/x"),
        ("set", "/m/x"),
        ("set", "/m/z"),
        ("set", "/ref/p"),
        ("set", "/same/p"),
        ("delete", "/block/0"),
        ("set", "/block/0"),
        ("delete", "/block/0"),
        ("set", "/a"),
        ("delete", "/a"),
        ("set", "/nowhere/a"),
        ("delete", "/nowhere"),
    ];
    let mut seed = 12345u64;
    let mut next = |n: usize| {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (seed >> 33) as usize % n
    };
    for round in 0..300 {
        let file = with_tree(lines);
        let (mut together, mut apart) = (Change::new(&file), Change::new(&file));
        for step in 0..1 + next(8) {
            let (verb, path) = edits[next(edits.len())];
            let value = Value::map([("v", (round * 10 + step) as i64)]);
            let make = |change: &mut Change<'_>| match verb {
                "delete" => change.delete(path),
                _ => change.set(path, value.clone()),
            };
            let done = make(&mut together);
            let checked = make(&mut apart).and_then(|()| apart.tree().map(drop));
            assert_eq!(done.is_ok(), checked.is_ok(), "{round}: {verb} {path}: {done:?} {checked:?}");
        }
        let text = |change: &mut Change<'_>| change.tree().unwrap().root().to_value(file.limits()).unwrap();
        assert_eq!(text(&mut together), text(&mut apart), "{round}");
    }
}

#[test]
fn many_values_take_less_than_ten_times_one() {
    let group = |g: usize| format!("g{g}:\n{}", (0..100).map(|n| format!("  key{n}: {n} # of {g}\n")).collect::<String>());
    let tree: String = (0..500).map(group).collect();
    assert!(tree.len() > 900_000);
    let file = trilith::file::open_asdf_bytes(format!("#ASDF 1.0.0\n%YAML 1.1\n---\n{tree}...\n").into_bytes()).unwrap();
    let time = |count: usize| {
        let begun = std::time::Instant::now();
        let mut change = Change::new(&file);
        for n in 0..count {
            change.set(format!("/g{}/key{}", n % 500, n / 500).as_str(), n as u64).unwrap();
        }
        assert_eq!(change.tree().unwrap().node_at_pointer("/g0/key0").unwrap().as_i64(), Some(0));
        begun.elapsed()
    };
    let best = |count| (0..3).map(|_| time(count)).min().unwrap();
    let (one, thousand) = (best(1), best(1000));
    assert!(thousand < one * 10, "{thousand:?} against {one:?}");
}

/// Empty keys, and elements of arrays by index, are refused. First tier.
#[test]
fn new_key_rejects_empty_and_array_index() {
    let text = "#ASDF 1.0.0\n#ASDF_STANDARD 1.5.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n--- !core/asdf-1.1.0\n\
        a: 1\nm: {b: 2}\nd: &d !core/ndarray-1.0.0\n  data: [1, 2]\n  datatype: int32\n  shape: [2]\ne: *d\n\
        f: !core/ndarray-1.0.0 {data: [1, 2]}\n...\n";
    let file = trilith::open_asdf_bytes(text.as_bytes().to_vec()).unwrap();
    for refused in ["/", "/m/", "/d/0", "/d/-", "/e/1", "/f/0"] {
        let mut change = Change::new(&file);
        let error = change.set(refused, 5).unwrap_err();
        assert_eq!(
            (error.kind(), change.insert(refused, 5).unwrap_err().kind()),
            (ErrorKind::InvalidInput, ErrorKind::InvalidInput),
            "{refused}"
        );
        assert!(error.to_string().contains(refused), "{error}");
    }
    for made in ["/b", "/m/c", "/d/data/0", "/f/shape", "/f/unit"] {
        Change::new(&file).set(made, 5).unwrap_or_else(|error| panic!("{made}: {error}"));
    }
}
