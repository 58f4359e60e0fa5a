//! Repair of any bytes, mostly of a whole file with damage: it ends, what it writes opens and has no fault of
//! structure, and repairing that loses nothing more.
#![no_main]

use std::io::Cursor;
use std::sync::{Arc, LazyLock};

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use trilith::asdf::WriteOptions;
use trilith::bytes::NoReferences;
use trilith::check::{RepairReport, VerifyDepth, salvage};
use trilith::tree::Value;
use trilith::{Array, ArrayOptions, AsdfBuilder, Target, check, file};
use trilith_fuzz::{limits, memory};

#[derive(Arbitrary, Debug)]
enum Input {
    Damaged { which: u8, changes: Vec<(u16, u8)>, cut: Option<u16>, hole: Option<(u16, u8)> },
    Bytes(Vec<u8>),
}

/// A file of each codec and some generations.
static WHOLE: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let codecs = ["zlib", "bzp2", "lz4", "lz4f", "zstd", "blsc"].map(|codec| (Target::latest(), Some(codec)));
    let old = ["finf-0.1", "asdf-0.1-dev", "asdf-0.1", "asdf-1.0"].map(|name| (Target::from_name(name).expect("it exists"), None));
    codecs.into_iter().chain(old).map(|(target, codec)| build(target, codec)).collect()
});

fn build(target: &'static Target, codec: Option<&str>) -> Vec<u8> {
    let mut how = WriteOptions::default();
    how.align = Some(1);
    let mut builder = AsdfBuilder::new(target).with_options(how);
    let values: Vec<i16> = (0..60).collect();
    let options = codec.map_or_else(ArrayOptions::default, |codec| ArrayOptions::codec(codec).expect("it exists"));
    let one = builder.array(&Array::from_slice(&values, &[20, 3]).expect("60 elements"), &options).expect("an array");
    let two =
        builder.array(&Array::from_slice(&values, &[60]).expect("60 elements"), &ArrayOptions::default()).expect("an array");
    let mut out = Cursor::new(Vec::new());
    builder.write_to(&mut out, Value::map([("one", one), ("name", "x".into()), ("two", two)])).expect("memory");
    out.into_inner()
}

fuzz_target!(|input: Input| {
    let bytes = match input {
        Input::Bytes(bytes) => bytes,
        Input::Damaged { which, changes, cut, hole } => {
            let mut bytes = WHOLE[usize::from(which) % WHOLE.len()].clone();
            for (at, to) in changes {
                let len = bytes.len();
                bytes[usize::from(at) % len] = to;
            }
            if let Some((at, len)) = hole {
                let start = usize::from(at) % bytes.len();
                let end = (start + usize::from(len)).min(bytes.len());
                bytes.drain(start..end);
            }
            bytes.truncate(cut.map_or(usize::MAX, usize::from));
            bytes
        }
    };
    let Some((_, written)) = repaired(&bytes) else { return };
    let file = file::open_asdf_source(memory(written.clone()), Arc::new(NoReferences), &limits()).expect("what was written opens");
    let report = check::verify(&file, VerifyDepth::Decoded, trilith::Progress::default()).expect("and can be verified");
    assert!(report.structure.is_empty(), "{:?}", report.structure);
    assert!(file.sections().index_report().problem.is_none());
    let (again, _) = repaired(&written).expect("it can be repaired again");
    assert!(again.arrays.is_empty(), "{again:?}");
    assert!(again.tree.is_none_or(|lost| lost.is_empty()));
});

fn repaired(bytes: &[u8]) -> Option<(RepairReport, Vec<u8>)> {
    let left = salvage(memory(bytes), &limits()).ok()?;
    let mut out = Cursor::new(Vec::new());
    left.write(&mut out).expect("memory can be written");
    Some((left.report().clone(), out.into_inner()))
}
