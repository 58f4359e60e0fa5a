//! Laws of writing in parallel: any partition in any order gives the array; nothing else is taken for complete.

#![allow(clippy::disallowed_methods, reason = "a test lays out separate files")]

use std::path::PathBuf;

use proptest::prelude::*;

use super::*;
use crate::array::{Byteorder, Datatype};
use crate::error::ErrorKind;
use crate::threads::map_parallel;
use crate::verify::VerifyDepth;

/// Returns the numbers that any partition must give.
fn numbers(shape: &[u64]) -> Array {
    let count = shape.iter().product::<u64>() as i32;
    Array::from_slice(&(1..=count).collect::<Vec<_>>(), shape).unwrap()
}

fn begin(path: &PathBuf, shape: &[u64], order: Byteorder) -> ParallelWriter {
    let mut writer = AsdfWriter::new();
    writer.set("/before", &1).unwrap();
    writer.reserve("/group/a", &Datatype::Int32, order, shape).unwrap();
    writer.slice("/whole", &[1.5f64, 2.5], &[2]).unwrap();
    ParallelWriter::create(path, writer).unwrap()
}

/// A folder, and a file in it that is being written.
fn begun(shape: &[u64]) -> (tempfile::TempDir, PathBuf, ParallelWriter) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.asdf");
    let begun = begin(&path, shape, Byteorder::Little);
    (folder, path, begun)
}

fn ints(path: &PathBuf) -> Vec<i32> {
    crate::open(path).unwrap().array("/group/a").unwrap().load().unwrap()
}

fn names(folder: &tempfile::TempDir) -> Vec<String> {
    let mut names: Vec<String> =
        std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// A partition of an array: its first axis cut anywhere, and each part by columns, by strides, backwards, or whole.
fn partition() -> impl Strategy<Value = (Vec<u64>, Vec<Vec<Index>>)> {
    let shape = prop::collection::vec(1..=5u64, 1..=3);
    (shape, prop::collection::vec((1..=3i64, 0..4u8), 1..6), any::<u64>()).prop_map(|(shape, cuts, seed)| {
        let mut regions = Vec::new();
        let (mut from, len) = (0, shape[0] as i64);
        let mut cuts = cuts.into_iter().cycle();
        while from < len {
            let (rows, how) = cuts.next().unwrap();
            let to = (from + rows).min(len);
            let rows = Index::from(from..to);
            let last = shape.len() - 1;
            match how {
                0 => regions.push(vec![rows]),
                1 => regions.extend((from..to).map(|row| vec![Index::Integer(row - len), Index::Ellipsis])),
                2 if last > 0 => {
                    regions.extend([0i64, 1].map(|start| vec![rows, Index::Ellipsis, Index::from(start..).with_step(2)]));
                }
                _ => {
                    let back = Index::Slice { start: Some(to - 1), stop: (from > 0).then(|| from - 1), step: -1 };
                    regions.push(vec![back]);
                }
            }
            from = to;
        }
        // Regions may be written in any order, so they are shuffled.
        let count = regions.len();
        for n in 0..count {
            regions.swap(n, (seed.wrapping_mul(n as u64 + 7) % count as u64) as usize);
        }
        (shape, regions)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
    #[test]
    fn partition_written_by_threads_eq_array((shape, regions) in partition(), is_big in any::<bool>()) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.asdf");
        let order = if is_big { Byteorder::Big } else { Byteorder::Little };
        let begun = begin(&path, &shape, order);
        let all = numbers(&shape);
        map_parallel(regions, |region| {
            let own = ParallelWriter::open_id(&path, &begun.id())?;
            own.write_region("/group/a", &region, &all.slice(&region)?)
        }).unwrap();
        begun.finish().unwrap();
        let file = crate::open(&path).unwrap();
        let array = file.array("/group/a").unwrap();
        prop_assert_eq!(array.byteorder(), order);
        prop_assert_eq!(array.load::<i32>().unwrap(), all.load::<i32>().unwrap());
        prop_assert_eq!(file.array("/whole").unwrap().load::<f64>().unwrap(), [1.5, 2.5]);
        prop_assert!(file.verify(VerifyDepth::Decoded, crate::Progress::default()).unwrap().is_ok());
        prop_assert_eq!(names(&folder), ["x.asdf"]);
    }
}

#[test]
fn unfinished_file_is_rejected_and_abort_keeps_old() {
    let (folder, path, begun) = begun(&[4, 3]);
    let error = crate::open(&path).unwrap_err();
    assert!(error.kind() == ErrorKind::Io && error.to_string().contains("other processes are writing it"), "{error}");
    let draft = folder.path().join(".x.asdf.trilith-unfinished");
    let error = crate::open(&draft).unwrap_err();
    assert!(error.kind() == ErrorKind::Unsupported && error.to_string().contains("is unfinished"), "{error}");

    begun.write_region("/group/a", [Index::from(0..3)], &numbers(&[3, 3])).unwrap();
    assert_eq!(begun.unwritten().unwrap()["/group/a"], 3);
    let error = begun.finish().unwrap_err();
    assert!(error.kind() == ErrorKind::InvalidInput && error.to_string().contains("3 elements"), "{error}");
    assert!(crate::open(&path).is_err());
    let error = ParallelWriter::create(&path, AsdfWriter::new()).unwrap_err();
    assert!(error.to_string().contains("is being written already"), "{error}");

    // Partial notes of a killed process do not count.
    use std::io::Write as _;
    let notes = names(&folder).into_iter().find(|name| name.contains("-unfinished-")).unwrap();
    let mut torn = std::fs::OpenOptions::new().append(true).open(folder.path().join(notes)).unwrap();
    torn.write_all(b"0 3:1:1 0:3:1").unwrap();
    assert_eq!(begun.unwritten().unwrap()["/group/a"], 3);

    assert_eq!(begun.fill("/group/a", &Array::from_slice(&[-1i32], &[]).unwrap()).unwrap(), 3);
    begun.finish().unwrap();
    assert_eq!(ints(&path), [1, 2, 3, 4, 5, 6, 7, 8, 9, -1, -1, -1]);
    assert_eq!(names(&folder), ["x.asdf"]);

    // A second file over the first, aborted.
    let again = begin(&path, &[2, 2], Byteorder::Big);
    again.write_region("/group/a", [Index::from(0..1)], &numbers(&[1, 2])).unwrap();
    assert_eq!(crate::open(&path).unwrap().array("/group/a").unwrap().shape(), [4, 3]);
    again.abort().unwrap();
    assert_eq!(names(&folder), ["x.asdf"]);
    assert_eq!(crate::open(&path).unwrap().array("/group/a").unwrap().shape(), [4, 3]);
}

#[test]
fn late_writer_changes_nothing() {
    let (_folder, path, first) = begun(&[2]);
    let late = ParallelWriter::open(&path).unwrap();
    first.write_region("/group/a", [Index::ALL], &numbers(&[2])).unwrap();
    first.finish().unwrap();
    let wrong = Array::from_slice(&[7i32, 7], &[2]).unwrap();
    assert!(
        late.write_region("/group/a", [Index::ALL], &wrong)
            .unwrap_err()
            .to_string()
            .contains("finished, aborted, or never begun")
    );
    assert!(late.finish().is_err());
    // Another file is begun under the same name.
    let second = begin(&path, &[2], Byteorder::Little);
    let error = late.write_region("/group/a", [Index::ALL], &wrong).unwrap_err();
    assert!(error.to_string().contains("begun again"), "{error}");
    assert!(late.abort().is_err() && late.finish().is_err());
    assert_eq!(second.unwritten().unwrap()["/group/a"], 2);
    assert_eq!(ints(&path), [1, 2]);
    second.abort().unwrap();
}

#[test]
fn nobody_finishes_while_somebody_writes() {
    let (_folder, _, begun) = begun(&[2]);
    begun.write_region("/group/a", [Index::ALL], &numbers(&[2])).unwrap();
    let writing = begun.draft.open_shared().unwrap();
    let error = begun.finish().unwrap_err();
    assert!(error.to_string().contains("still being written"), "{error}");
    drop(writing);
    let alone = begun.draft.open_exclusive().unwrap();
    let error = begun.write_region("/group/a", [Index::ALL], &numbers(&[2])).unwrap_err();
    assert!(error.to_string().contains("being finished"), "{error}");
    drop(alone);
    begun.finish().unwrap();
}

#[test]
fn mismatched_region_err_states_mismatch() {
    let (folder, path, begun) = begun(&[4, 3]);
    let said = |index: Vec<Index>, data: &Array| begun.write_region("/group/a", index, data).unwrap_err().to_string();
    let text = said(vec![Index::from(0..2)], &numbers(&[3, 2]));
    assert!(text.contains("[3, 2]") && text.contains("[2, 3]"), "{text}");
    let text = said(vec![Index::from(0..1)], &Array::from_slice(&[1i64, 2, 3], &[1, 3]).unwrap());
    assert!(text.contains("int64") && text.contains("int32"), "{text}");
    let masked = numbers(&[4, 3]).with_mask(crate::array::Mask::Integer(3)).unwrap();
    assert!(said(vec![], &masked).contains("mask"));
    assert!(said(vec![Index::Integer(4)], &numbers(&[3])).contains("outside axis 0"));
    let text = begun.write_region("/whole", [], &numbers(&[2])).unwrap_err().to_string();
    assert!(text.contains("reserved are: /group/a"), "{text}");
    // An empty region is valid, too; big-endian data are swapped.
    begun.write_region("/group/a", [Index::from(2..2)], &numbers(&[0, 3])).unwrap();
    let big = Array::from_bytes([0, 0, 1, 2].repeat(12), Datatype::Int32, Byteorder::Big, vec![4, 3]).unwrap();
    begun.write_region("/group/a", [], &big).unwrap();
    begun.finish().unwrap();
    assert_eq!(ints(&path), [258; 12]);

    assert!(
        ParallelWriter::create(&path, AsdfWriter::new()).unwrap_err().to_string().contains("no array of the file is reserved")
    );
    let mut alone = AsdfWriter::new();
    alone.reserve("/a", &Datatype::Int8, Byteorder::NATIVE, &[2]).unwrap();
    assert!(alone.write(&path).unwrap_err().to_string().contains("reserved for other processes"));
    let mut early = AsdfWriter::generation("finf-0.1").unwrap();
    early.reserve("/a", &Datatype::Int8, Byteorder::NATIVE, &[2]).unwrap();
    assert_eq!(ParallelWriter::create(&path, early).unwrap_err().kind(), ErrorKind::Unsupported);
    assert_eq!(names(&folder), ["x.asdf"]);
}

#[test]
fn scalar_and_empty_arrays_finish() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.asdf");
    let mut writer = AsdfWriter::new();
    writer.reserve("/one", &Datatype::Float64, Byteorder::Big, &[]).unwrap();
    writer.reserve("/none", &Datatype::Float64, Byteorder::Big, &[0, 3]).unwrap();
    let begun = ParallelWriter::create(&path, writer).unwrap();
    assert_eq!(begun.unwritten().unwrap(), [("/none".to_owned(), 0), ("/one".to_owned(), 1)].into());
    assert!(begun.finish().is_err());
    begun.write_region("/one", [], &Array::from_slice(&[2.5f64], &[]).unwrap()).unwrap();
    begun.finish().unwrap();
    assert_eq!(crate::open(&path).unwrap().array("/one").unwrap().load::<f64>().unwrap(), [2.5]);
}

#[test]
fn next_writer_finishes_sealed_file_after_crash() {
    let (folder, path, begun) = begun(&[3]);
    begun.write_region("/group/a", [], &numbers(&[3])).unwrap();
    begun.write_checksums(&mut begun.draft.open_exclusive().unwrap()).unwrap();
    assert!(crate::open(&path).is_err());
    let next = ParallelWriter::open(&path).unwrap();
    assert!(next.arrays().next().is_none());
    assert!(next.write_region("/group/a", [], &numbers(&[3])).unwrap_err().to_string().contains("finish it"));
    next.finish().unwrap();
    assert_eq!(ints(&path), [1, 2, 3]);
    assert_eq!(names(&folder), ["x.asdf"]);
}

#[test]
fn finish_rejects_target_changed_meanwhile() {
    for (was_there, is_sealed) in [(false, false), (false, true), (true, false), (true, true)] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.asdf");
        let other = |number: i64| {
            let mut writer = AsdfWriter::new();
            writer.set("/other", &number).unwrap();
            writer.write(&path).unwrap();
        };
        if was_there {
            other(1);
        }
        let begun = begin(&path, &[3], Byteorder::Little);
        begun.write_region("/group/a", [], &numbers(&[3])).unwrap();
        if is_sealed {
            // The process that was finishing it was killed.
            begun.write_checksums(&mut begun.draft.open_exclusive().unwrap()).unwrap();
        }
        other(2);
        let before = std::fs::read(&path).unwrap();
        for _ in 0..2 {
            let error = ParallelWriter::open(&path).unwrap().finish().unwrap_err();
            assert!(error.kind() == ErrorKind::Io && error.to_string().contains("it was changed since writing began"), "{error}");
            assert_eq!(std::fs::read(&path).unwrap(), before, "{was_there} {is_sealed}");
        }
        // A copy with the same bytes is another file, too.
        std::fs::rename(&path, folder.path().join("moved.asdf")).unwrap();
        if was_there {
            std::fs::copy(folder.path().join("moved.asdf"), &path).unwrap();
            assert!(ParallelWriter::open(&path).unwrap().finish().is_err());
            ParallelWriter::open(&path).unwrap().abort().unwrap();
            assert_eq!(names(&folder), ["moved.asdf", "x.asdf"]);
        } else {
            ParallelWriter::open(&path).unwrap().finish().unwrap();
            assert_eq!(ints(&path), [1, 2, 3]);
            assert_eq!(names(&folder), ["moved.asdf", "x.asdf"]);
        }
    }
}

#[test]
fn concurrent_commit_aborts_put_in_place() {
    let (folder, path, begun) = begun(&[3]);
    begun.write_region("/group/a", [], &numbers(&[3])).unwrap();
    let mut writing = begun.draft.open_exclusive().unwrap();
    begun.draft.check_target().unwrap();
    begun.write_checksums(&mut writing).unwrap();
    std::fs::write(&path, "somebody else's").unwrap();
    let error = writing.publish().unwrap_err();
    assert!(error.to_string().contains("it was changed since writing began"), "{error}");
    assert_eq!(std::fs::read(&path).unwrap(), b"somebody else's");
    std::fs::remove_file(&path).unwrap();
    ParallelWriter::open(&path).unwrap().finish().unwrap();
    assert_eq!(names(&folder), ["x.asdf"]);
}
