//! Copies of files that are cut: each command that copies all of a file refuses one that is known to be incomplete, or says so.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test may stop where things are not as expected")]

use std::io::Cursor;

use trilith::asdf::{TARGETS, WriteOptions};
use trilith::assemble::{BlockCodec, BlockOrder, RepackPlan, plan_explode};
use trilith::convert::{ConvertOptions, TargetForm};
use trilith::{Array, ArrayOptions, AsdfBuilder, OpenOptions, Progress, Target, Value};

/// A file with two arrays in blocks, and keys after them.
fn sample(target: &'static Target, codec: Option<&str>) -> Vec<u8> {
    let mut builder = AsdfBuilder::new(target);
    let how = codec.map_or_else(ArrayOptions::default, |codec| ArrayOptions::codec(codec).unwrap());
    let mut tree = Value::map([("first", "text")]);
    for name in ["a", "b"] {
        let array = Array::from_slice(&[7i32; 40], &[5, 8]).unwrap();
        tree.set(name, builder.array(&array, &how).unwrap());
    }
    tree.set("last", Value::seq([1, 2, 3]));
    let mut out = Cursor::new(Vec::new());
    builder.write_to(&mut out, tree).unwrap();
    out.into_inner()
}

/// The forms that a copy is written in.
fn forms() -> Vec<ConvertOptions> {
    let mut unchanged = ConvertOptions::default();
    let mut recoded = ConvertOptions::default();
    recoded.set_codec("lz4").unwrap();
    let mut all = vec![unchanged.clone(), recoded];
    for to in [TargetForm::Fits, TargetForm::Dudley(None), TargetForm::from_name("asdf-1.6").unwrap()] {
        unchanged.to = to;
        unchanged.allow_loss = true;
        all.push(unchanged.clone());
    }
    all
}

/// First tier. Every generation, cut at many places.
#[test]
fn copy_of_cut_file_is_refused_or_noted() {
    for target in TARGETS {
        for codec in [None, Some("zlib")] {
            let encoded = target.generation().fields.compression.is_some();
            if codec.is_some() && !encoded {
                continue;
            }
            let whole = sample(target, codec);
            let index = b"#ASDF BLOCK INDEX";
            let end = whole.windows(index.len()).position(|part| part == index).unwrap_or(whole.len());
            for cut in (0..end).step_by(7).chain(end - 3..end) {
                let open = || OpenOptions::new().open_bytes(whole[..cut].to_vec());
                let Ok(file) = open() else { continue };
                let label = format!("{}, {codec:?}, cut at {cut} of {}", target.name, whole.len());
                for options in forms() {
                    let mut out = Cursor::new(Vec::new());
                    match file.convert_into(&options, &mut out, Progress::default()) {
                        Ok(done) => assert!(done.notes.iter().any(|note| note.contains("may be truncated")), "{label}: {done:?}"),
                        Err(error) => assert!(!error.to_string().is_empty()),
                    }
                }
                let file = open().unwrap().into_asdf().unwrap();
                let notes = file.sections().copy_notes(false).unwrap_or_default();
                let is_noted = notes.iter().any(|note| note.contains("may be truncated"));
                let repacked = RepackPlan::plan(&file, BlockOrder::Blocks, false)
                    .and_then(|plan| plan.write(&mut Cursor::new(Vec::new()), &WriteOptions::default(), BlockCodec::Keep));
                assert!(is_noted || repacked.is_err(), "{label}: repack");
                // A block that is cut is noticed when it is written.
                let has_blocks = file.sections().blocks().is_ok_and(|blocks| blocks.len() == 2);
                let exploded = plan_explode(&file, None, false, |n| n.to_string());
                assert!(is_noted || has_blocks || exploded.is_err(), "{label}: explode");
            }
        }
    }
}

/// First tier. A block that is missing is named with the path of its array, and can be left out.
#[test]
fn missing_blocks_are_named_or_left_out() {
    for target in TARGETS {
        let whole = sample(target, None);
        let magic = target.generation().magic;
        let first = whole.windows(magic.len()).position(|part| part == magic).unwrap();
        let file = OpenOptions::new().open_bytes(whole[..first].to_vec()).unwrap();
        for mut options in forms() {
            let mut convert = |skip: bool| {
                options.skip_unreadable = skip;
                file.convert_into(&options, &mut Cursor::new(Vec::new()), Progress::default())
            };
            let error = convert(false).unwrap_err().to_string();
            assert!(error.contains("/a: there is no block 0: the file has 0"), "{}: {error}", target.name);
            let done = convert(true).unwrap();
            let left: Vec<String> =
                done.losses.iter().map(ToString::to_string).filter(|loss| loss.contains("no block")).collect();
            assert_eq!(left.len(), 2, "{}: {left:?}", target.name);
            assert!(left[0].starts_with("/a: ") && left[1].starts_with("/b: "), "{left:?}");
        }
    }
}

/// First tier. A tree ends before the magic number of a block without its marker, which copies do not hide.
#[test]
fn missing_end_marker_before_block_is_noted() {
    let whole = sample(Target::latest(), None);
    let end = whole.windows(5).position(|part| part == b"\n...\n").unwrap() + 1;
    let first = whole.iter().position(|byte| *byte == 0xd3).unwrap();
    let file = OpenOptions::new().open_bytes([&whole[..end], &whole[first..]].concat()).unwrap();
    let done = file.convert_into(&ConvertOptions::default(), &mut Cursor::new(Vec::new()), Progress::default()).unwrap();
    assert!(done.notes.iter().any(|note| note.contains("no end marker")), "{done:?}");
}
