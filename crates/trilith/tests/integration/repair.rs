//! Repair: what is saved of files that are cut off or damaged opens and verifies, and nothing is made up.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop where something is not as expected")]

use std::io::Cursor;
use std::sync::Arc;

use trilith::bytes::{MemorySource, NoReferences};
use trilith::check::{ArrayState, BlockState, RepairReport, VerifyDepth, salvage};
use trilith::{Array, ArrayOptions, AsdfBuilder, AsdfFile, Limits, Target, Value, check, open_asdf_bytes};

fn whole(codec: Option<&str>, target: &'static Target) -> Vec<u8> {
    let mut builder = AsdfBuilder::new(target);
    let values: Vec<i32> = (0..3000).collect();
    let options = codec.map_or_else(ArrayOptions::default, |codec| ArrayOptions::codec(codec).unwrap());
    let one = builder.array(&Array::from_slice(&values, &[300, 10]).unwrap(), &ArrayOptions::default()).unwrap();
    let two = builder.array(&Array::from_slice(&values, &[1000, 3]).unwrap(), &options).unwrap();
    let three = builder.array(&Array::from_slice(&[7u8; 50], &[50]).unwrap(), &ArrayOptions::default()).unwrap();
    let tree = Value::map([("one", one), ("two", two), ("three", three), ("name", "x".into()), ("list", Value::seq([1, 2]))]);
    let mut out = Cursor::new(Vec::new());
    builder.write_to(&mut out, tree).unwrap();
    out.into_inner()
}

/// What is left, and the file that is written, which must open and verify.
fn repaired(bytes: &[u8]) -> (RepairReport, AsdfFile) {
    let mut left = salvage(Arc::new(MemorySource::new(bytes.to_vec(), "test")), &Limits::default()).unwrap();
    let mut out = Cursor::new(Vec::new());
    left.write(&mut out).unwrap();
    left.verified(Arc::new(NoReferences)).unwrap();
    assert_eq!(left.report().verify_problems, Some(vec![]));
    let file = open_asdf_bytes(out.into_inner()).unwrap();
    let report = check::verify(&file, VerifyDepth::Decoded, trilith::Progress::default()).unwrap();
    assert!(report.is_ok(), "{report:?}");
    (left.report().clone(), file)
}

fn offsets(bytes: &[u8]) -> Vec<u64> {
    open_asdf_bytes(bytes.to_vec()).unwrap().sections().blocks().unwrap().iter().map(|block| block.offset).collect()
}

#[test]
fn undamaged_file_of_any_generation_stays_unchanged() {
    for target in trilith::asdf::TARGETS {
        let bytes = whole(None, target);
        let (report, file) = repaired(&bytes);
        assert!(report.is_whole(), "{}: {report:?}", target.name);
        let digests = |file: &AsdfFile| -> Vec<_> {
            check::digest(file).unwrap().into_iter().map(|entry| (entry.path, entry.digest.unwrap().1)).collect()
        };
        assert_eq!(digests(&open_asdf_bytes(bytes).unwrap()), digests(&file), "{}", target.name);
    }
}

#[test]
fn cut_file_keeps_everything_before_cut() {
    for target in ["finf-0.1", "asdf-0.1-dev", "asdf-0.1", "asdf-1.0", "asdf-1.6"] {
        let bytes = whole(None, Target::from_name(target).unwrap());
        let starts = offsets(&bytes);
        for cut in (starts[0] as usize + 60..bytes.len() - 100).step_by(997) {
            let (report, file) = repaired(&bytes[..cut]);
            let one = file.tree().node_at_pointer("/one").unwrap();
            if cut as u64 > starts[1] {
                assert_eq!(file.array(one).unwrap().load::<i32>().unwrap(), (0..3000).collect::<Vec<_>>(), "{target} {cut}");
            } else if one.is_null() {
                // Not even one row.
                assert!(report.arrays.iter().any(|(path, fate)| path == "/one" && matches!(fate, ArrayState::Lost(_))));
            } else {
                let rows = file.array(one).unwrap().load::<i32>().unwrap();
                assert_eq!(rows, (0..rows.len() as i32).collect::<Vec<_>>(), "{target} {cut}");
                assert!(
                    report
                        .arrays
                        .iter()
                        .any(|(path, fate)| path == "/one" && matches!(fate, ArrayState::Truncated { total: 300, .. }))
                );
            }
            assert!(!report.is_whole());
        }
    }
}

#[test]
fn cut_compressed_block_keeps_decodable_rows() {
    for codec in ["zlib", "bzp2", "lz4", "lz4f", "zstd", "blsc"] {
        let bytes = whole(Some(codec), Target::latest());
        let starts = offsets(&bytes);
        let cut = (starts[1] + (starts[2] - starts[1]) * 3 / 4) as usize;
        let (report, file) = repaired(&bytes[..cut]);
        match report.arrays.iter().find(|(path, _)| path == "/two") {
            Some((_, ArrayState::Truncated { rows, total: 1000 })) => {
                let values = file.array_at("/two").unwrap().load::<i32>().unwrap();
                assert_eq!(values, (0..*rows as i32 * 3).collect::<Vec<_>>(), "{codec}");
            }
            // A block that was compressed as one piece is lost as one.
            Some((_, ArrayState::Lost(_))) => assert!(file.tree().node_at_pointer("/two").unwrap().is_null(), "{codec}"),
            other => panic!("{codec}: {other:?}"),
        }
        assert!(file.tree().node_at_pointer("/three").unwrap().is_null());
    }
}

#[test]
fn damaged_middle_header_loses_only_its_block() {
    let bytes = whole(None, Target::latest());
    let starts = offsets(&bytes);
    let index = bytes.windows(17).rposition(|w| w == b"#ASDF BLOCK INDEX").unwrap();
    for keep_index in [true, false] {
        let mut broken = bytes.clone();
        if !keep_index {
            broken.truncate(index);
        }
        broken[starts[1] as usize..starts[1] as usize + 54].fill(0x55);
        let (report, file) = repaired(&broken);
        assert_eq!(report.blocks.len(), 3, "{report:?}");
        assert!(matches!(report.blocks[1].fate, BlockState::Lost(_)));
        assert_eq!(report.arrays.len(), 1);
        assert!(file.tree().node_at_pointer("/two").unwrap().is_null());
        assert_eq!(file.array_at("/three").unwrap().load::<u8>().unwrap(), [7; 50]);
    }
    // A wrong size alone: the next block tells where this one ends.
    let mut broken = bytes.clone();
    broken[starts[0] as usize + 14..starts[0] as usize + 38].fill(0xff);
    let (_, file) = repaired(&broken);
    assert_eq!(file.array_at("/one").unwrap().load::<i32>().unwrap().len(), 3000);
}

#[test]
fn damaged_tree_lines_are_dropped_and_named() {
    let bytes = whole(None, Target::latest());
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let at = text.find("name: x").unwrap();
    let mut broken = bytes.clone();
    broken[at..at + 7].copy_from_slice(b"na: \"\x01x");
    let (report, file) = repaired(&broken);
    assert!(!report.tree.unwrap().is_empty());
    assert_eq!(file.array_at("/one").unwrap().shape(), [300, 10]);
    // Without a header, and cut inside the tree.
    let (report, _) = repaired(&bytes[12..]);
    assert!(report.notes.iter().any(|note| note.contains("header")), "{report:?}");
    let (report, file) = repaired(&bytes[..at]);
    assert!(report.tree.unwrap().iter().any(|(_, why)| why.contains("end of the tree")));
    assert!(file.tree().node_at_pointer("/one").unwrap().is_null());
    assert!(salvage(Arc::new(MemorySource::new(vec![0; 100], "zeros")), &Limits::default()).is_err());
}

#[test]
fn bytes_that_changed_are_kept_and_reported() {
    let mut bytes = whole(None, Target::latest());
    let data = offsets(&bytes)[0] as usize + 400;
    bytes[data] ^= 1;
    let mut left = salvage(Arc::new(MemorySource::new(bytes, "test")), &Limits::default()).unwrap();
    let written = left.verified(Arc::new(NoReferences)).unwrap();
    let report = left.report();
    assert_eq!(report.blocks[0].fate, BlockState::Damaged);
    assert!(report.arrays.is_empty() && !report.is_whole());
    // The wrong checksum is kept, so it fails in the written file too.
    assert_eq!(report.verify_problems.as_ref().unwrap().len(), 1);
    let file = trilith::file::open_asdf_source(written, Arc::new(NoReferences), &Limits::default()).unwrap();
    assert!(!check::verify(&file, VerifyDepth::Structure, trilith::Progress::default()).unwrap().is_ok());
}

#[test]
fn file_with_missing_bytes_opens_after_salvage() {
    for name in ["finf-0.1", "asdf-0.1", "asdf-1.6"] {
        let mut options = trilith::asdf::WriteOptions::default();
        options.align = Some(1);
        let mut builder = AsdfBuilder::new(Target::from_name(name).unwrap()).with_options(options);
        let one = builder.array(&Array::from_slice(&[1i16, 2, 3, 4], &[2, 2]).unwrap(), &ArrayOptions::default()).unwrap();
        let mut out = Cursor::new(Vec::new());
        builder.write_to(&mut out, Value::map([("one", one), ("name", "x: y".into())])).unwrap();
        let bytes = out.into_inner();
        for start in trilith_sample::sample("missing bytes", (0..bytes.len()).collect(), 8) {
            for len in [1, 2, 5, 20, 60, 151, 200] {
                let mut broken = bytes.clone();
                broken.drain(start..(start + len).min(bytes.len()));
                let Ok(left) = salvage(Arc::new(MemorySource::new(broken, "test")), &Limits::default()) else { continue };
                let mut out = Cursor::new(Vec::new());
                left.write(&mut out).unwrap();
                let bytes = out.into_inner();
                let opened = open_asdf_bytes(bytes.clone());
                let file = opened.unwrap_or_else(|e| panic!("{name}, {start}, {len}: {e}\n{}", String::from_utf8_lossy(&bytes)));
                assert!(
                    check::verify(&file, VerifyDepth::Decoded, trilith::Progress::default()).unwrap().structure.is_empty(),
                    "{name}, {start}, {len}"
                );
            }
        }
    }
}

#[test]
fn file_with_wrong_byte_gets_valid_index() {
    for codec in ["zlib", "zstd"] {
        let mut options = trilith::asdf::WriteOptions::default();
        options.align = Some(1);
        let mut builder = AsdfBuilder::new(Target::latest()).with_options(options);
        let values: Vec<i16> = (0..60).collect();
        let packed = ArrayOptions::codec(codec).unwrap();
        let one = builder.array(&Array::from_slice(&values, &[20, 3]).unwrap(), &packed).unwrap();
        let two = builder.array(&Array::from_slice(&values, &[60]).unwrap(), &ArrayOptions::default()).unwrap();
        let mut out = Cursor::new(Vec::new());
        builder.write_to(&mut out, Value::map([("one", one), ("name", "x".into()), ("two", two)])).unwrap();
        let bytes = out.into_inner();
        for at in trilith_sample::sample("wrong bytes", (0..bytes.len()).collect(), 8) {
            for value in [0x04, 0x59, 0x83, 0xff] {
                let mut broken = bytes.clone();
                broken[at] = value;
                let Ok(left) = salvage(Arc::new(MemorySource::new(broken, "test")), &Limits::default()) else { continue };
                let mut out = Cursor::new(Vec::new());
                left.write(&mut out).unwrap();
                let file = open_asdf_bytes(out.into_inner()).unwrap_or_else(|e| panic!("{codec}, {at}, {value}: {e}"));
                let report = file.sections().index_report();
                assert!(report.problem.is_none(), "{codec}, {at}, {value}: {report:?} {:?}", left.report());
            }
        }
    }
}

/// A tree with one block of 40 bytes.
fn with_tree(tree: &str) -> Vec<u8> {
    let mut builder = AsdfBuilder::new(Target::latest());
    let node = builder.array(&Array::from_slice(&[7u8; 40], &[40]).unwrap(), &ArrayOptions::default()).unwrap();
    let mut out = Cursor::new(Vec::new());
    builder.write_to(&mut out, Value::map([("data", node)])).unwrap();
    let bytes = out.into_inner();
    let text = open_asdf_bytes(bytes.clone()).unwrap().tree().text().to_owned();
    let block = offsets(&bytes)[0] as usize;
    let head = text.replace("...", &format!("{tree}\n..."));
    let mut all = format!("#ASDF 1.0.0\n#ASDF_STANDARD 1.6.0\n{head}").into_bytes();
    all.extend_from_slice(&bytes[block..block + 54 + 40]);
    all
}

/// A file whose block is encoded by a chain, with the words of the chain or the bytes of its data changed.
fn with_chain(damage: impl Fn(&mut Vec<u8>)) -> Vec<u8> {
    let file = open_asdf_bytes(whole(None, Target::latest())).unwrap();
    let mut how = trilith::convert::ConvertOptions::default();
    how.encode = Some(trilith::asdf::parse_chain("[[tile, {shape: [50, 5]}], zlib]", &Limits::default()).unwrap());
    let mut out = Cursor::new(Vec::new());
    trilith::convert::convert_to(&file, Target::from_name("asdf-0.1").unwrap(), &mut out, &how, trilith::Progress::default())
        .unwrap();
    let mut bytes = out.into_inner();
    damage(&mut bytes);
    bytes
}

#[test]
fn nothing_is_claimed_that_verifying_does_not_confirm() {
    let nd = "!core/ndarray-1.1.0";
    let find = |bytes: &[u8], word: &[u8]| bytes.windows(word.len()).position(|window| window == word).unwrap();
    let cases = [
        (
            "encoding chain",
            with_chain(|bytes| {
                let at = find(bytes, b"tile");
                bytes[at + 1] = b'y';
            }),
        ),
        (
            "deflate data",
            with_chain(|bytes| {
                let at = find(bytes, &[0x78, 0x9c]);
                bytes[at + 2..at + 20].fill(0xff);
            }),
        ),
        ("fits source", with_tree(&format!("a: {nd} {{source: 'fits:1', datatype: uint8, shape: [4]}}"))),
        ("external source", with_tree(&format!("a: {nd} {{source: other.asdf, datatype: uint8, shape: [4], byteorder: big}}"))),
        ("junk source", with_tree(&format!("a: {nd} {{source: ']junk[', datatype: uint8, shape: [4], byteorder: big}}"))),
        (
            "mask shape",
            with_tree(&format!(
                "a: {nd} {{source: 0, datatype: uint8, byteorder: big, shape: [40], \
                 mask: {nd} {{source: 0, datatype: bool8, byteorder: big, shape: [7]}}}}"
            )),
        ),
        ("ragged inline", with_tree(&format!("a: {nd} {{data: [[1, 2], [3]], datatype: int8, shape: [2, 2]}}"))),
    ];
    for (name, bytes) in cases {
        let mut left = salvage(Arc::new(MemorySource::new(bytes, "test")), &Limits::default()).unwrap();
        assert!(!left.report().is_whole(), "{name}: nobody has verified it yet");
        let written = left.verified(Arc::new(NoReferences)).unwrap();
        let file = trilith::file::open_asdf_source(written, Arc::new(NoReferences), &Limits::default()).unwrap();
        let found = check::verify(&file, VerifyDepth::Decoded, trilith::Progress::default()).unwrap();
        let report = left.report();
        assert_eq!(report.verify_problems, Some(found.problems()), "{name}");
        let lost = !report.arrays.is_empty() || report.blocks.iter().any(|block| block.fate != BlockState::Whole);
        assert!(!report.is_whole() && (lost || !found.is_ok()), "{name}: {report:?}");
    }
}

#[test]
fn second_pass_over_cut_file_loses_nothing() {
    for target in trilith::asdf::TARGETS {
        let mut builder = AsdfBuilder::new(target);
        let values: Vec<i16> = (0..60).collect();
        let one = builder.array(&Array::from_slice(&values, &[20, 3]).unwrap(), &ArrayOptions::default()).unwrap();
        let two = builder.array(&Array::from_slice(&values, &[60]).unwrap(), &ArrayOptions::default()).unwrap();
        let mut out = Cursor::new(Vec::new());
        builder.write_to(&mut out, Value::map([("one", one), ("name", "x".into()), ("two", two)])).unwrap();
        let bytes = out.into_inner();
        for cut in trilith_sample::sample("cuts", (0..bytes.len()).collect(), 8) {
            let salvaged = |bytes: Vec<u8>| salvage(Arc::new(MemorySource::new(bytes, "test")), &Limits::default());
            let Ok(left) = salvaged(bytes[..cut].to_vec()) else { continue };
            let mut out = Cursor::new(Vec::new());
            left.write(&mut out).unwrap();
            let again = salvaged(out.into_inner()).unwrap();
            let report = again.report();
            assert!(report.arrays.is_empty(), "{} cut at {cut}: {report:?}\nfirst: {:?}", target.name, left.report());
            assert!(report.tree.as_ref().is_none_or(Vec::is_empty), "{} cut at {cut}: {report:?}", target.name);
        }
    }
}
