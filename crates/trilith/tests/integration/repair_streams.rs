//! Repair of native Dudley files: what is saved of one that is cut off, or has lost its layout, verifies, and nothing is
//! made up.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop where something is not as expected")]

use std::collections::BTreeMap;
use std::io::Cursor;
use std::sync::Arc;

use trilith::bytes::{MemorySource, NoReferences, read_vec};
use trilith::check::{ArrayState, RepairReport, salvage_stream};
use trilith::dudley::{DudleyFile, RewriteOptions};
use trilith::layout::{Byteorder, Dialect, Layout, ResolvedType, StreamEntryKind};
use trilith::{ErrorKind, Limits, Result};

const LAYOUT: &str = "NX : i4\nrho = f4[NX, 2]\ngroup/ te = i2[NX] ..\ns { N : i2  x = u1[N] }\nparts = s[3]\n\
                      point = { a = u1  b = f8 }[2]\nt = [u2[2]]\nt[2]\nrun [ / time = i4 te = f8 ]\nrun [2]\n";

/// A file of every kind of item, whose bytes count.
fn file(order: Byteorder, dialect: Dialect) -> Vec<u8> {
    let number = |n: i32, size: usize| {
        let (little, big) = (n.to_le_bytes(), n.to_be_bytes());
        if order == Byteorder::Little { little[..size].to_vec() } else { big[4 - size..].to_vec() }
    };
    let mut bytes = b"\x8d<BD\r\n\x1a\n\0\0\0\0\0\0\0\0".to_vec();
    bytes[1] = order.sign() as u8;
    bytes.extend(number(3, 4));
    bytes.extend((0..30).map(|n| n + 1));
    for n in 0..3 {
        bytes.resize(bytes.len().next_multiple_of(2), 0);
        bytes.extend(number(n, 2));
        bytes.extend((0..n).map(|k| (10 * n + k) as u8));
    }
    bytes.extend((0..200).map(|n| (n % 120) as u8));
    let file = DudleyFile::open(
        Arc::new(MemorySource::new(bytes, "x")),
        Some(Layout::read(LAYOUT.as_bytes()).unwrap()),
        &Limits::default(),
    );
    let mut how = RewriteOptions::default();
    how.dialect = Some(dialect);
    let mut out = Cursor::new(Vec::new());
    file.unwrap().rewrite(&how, &mut out).unwrap();
    out.into_inner()
}

/// The elements of each array, in one byte order.
fn arrays(bytes: &[u8]) -> BTreeMap<String, Vec<u8>> {
    let file = DudleyFile::open(Arc::new(MemorySource::new(bytes.to_vec(), "x")), None, &Limits::default()).unwrap();
    let items = file.locate_items().unwrap();
    let entries = items.entries().map(Result::unwrap);
    let data = entries.filter(|entry| entry.kind == StreamEntryKind::Data && entry.resolved_type != ResolvedType::Dynamic);
    data.map(|entry| {
        let mut elements = Vec::new();
        let array = items.array(&entry).unwrap();
        array
            .for_each_piece_in(Byteorder::Little, 1 << 20, &mut |piece| {
                elements.extend_from_slice(piece);
                Ok(())
            })
            .unwrap();
        // An instance of a struct becomes a dict.
        (entry.path.replace(['(', '['], "<").replace(").", "</").replace("]/", "</").replace([')', ']'], ""), elements)
    })
    .collect()
}

fn repaired(bytes: &[u8], layout: Option<&Layout>) -> Result<(RepairReport, Vec<u8>)> {
    let source: trilith::bytes::SourceRef = Arc::new(MemorySource::new(bytes.to_vec(), "x.bd"));
    let mut left = salvage_stream(&source, layout.cloned(), &NoReferences, &Limits::default())?;
    let written = left.verified()?;
    Ok((left.report().clone(), read_vec(&*written, 0, written.len(), &Limits::default())?))
}

#[test]
fn cut_file_keeps_complete_rows_and_elements() {
    for (order, dialect) in
        [Byteorder::Little, Byteorder::Big].into_iter().zip([Dialect::D2025; 2]).chain([(Byteorder::Little, Dialect::D2026)])
    {
        let layout = if dialect == Dialect::D2025 { LAYOUT.to_owned() } else { "x: i4(5)\ny: <u2(4,2)\nz: f8\n".to_owned() };
        let bytes = if dialect == Dialect::D2025 {
            file(order, dialect)
        } else {
            let layout = Layout::read(layout.as_bytes()).unwrap();
            let data: Vec<u8> = (0..60).collect();
            let mut whole = b"\x8d<BD\r\n\x1a\n\0\0\0\0\0\0\0\0".to_vec();
            whole.extend(data);
            let file = DudleyFile::open(Arc::new(MemorySource::new(whole, "x")), Some(layout), &Limits::default()).unwrap();
            let mut out = Cursor::new(Vec::new());
            file.rewrite(&RewriteOptions::default(), &mut out).unwrap();
            out.into_inner()
        };
        let whole = DudleyFile::open(Arc::new(MemorySource::new(bytes.clone(), "x")), None, &Limits::default()).unwrap();
        let (text, all) = (whole.layout().clone(), arrays(&bytes));
        let (report, same) = repaired(&bytes, None).unwrap();
        assert!(report.is_whole() && same == bytes, "{report:?}");
        let end = whole.signature().unwrap().layout_offset.unwrap() as usize;
        let mut saved = 0;
        for cut in 16..end {
            let (report, written) = repaired(&bytes[..cut], Some(&text)).unwrap();
            assert_eq!(report.verify_problems, Some(vec![]), "{dialect:?} cut at {cut}: {report:?}");
            let left = arrays(&written);
            for (path, elements) in &left {
                assert!(all.get(path).is_some_and(|all| all.starts_with(elements)), "{cut}: {path} {:?} {all:?}", left.keys());
            }
            let now = left.values().map(Vec::len).sum();
            assert!(now >= saved, "{dialect:?}: less is left of {cut} bytes than of one less");
            saved = now;
            // Missing parts are reported, and a second repair loses nothing.
            let lost = report.arrays.iter().any(|(_, fate)| matches!(fate, ArrayState::Truncated { .. } | ArrayState::Lost(_)));
            assert_eq!(lost, left != all, "{cut}: {report:?}");
            let (again, same) = repaired(&written, None).unwrap();
            assert!(again.is_whole() && same == written, "{cut}: {again:?}");
        }
        // In the layout: the text is not there, and none is made up. Lines that are left may describe fewer items.
        for cut in end + 1..bytes.len() {
            match repaired(&bytes[..cut], None) {
                Ok((report, written)) => {
                    let is_complete = arrays(&written) == all;
                    assert!(!report.is_whole() || is_complete, "{cut}: {report:?}");
                    assert!(written.len() >= end && written[16..end] == bytes[16..end], "{cut}");
                }
                Err(error) => assert_eq!(error.kind(), ErrorKind::Malformed, "{cut}: {error}"),
            }
        }
    }
}

#[test]
fn layout_is_found_despite_wrong_header_offset() {
    for order in [Byteorder::Little, Byteorder::Big] {
        let bytes = file(order, Dialect::D2025);
        let all = arrays(&bytes);
        let at = bytes.windows(11).rposition(|window| window == b"#: dialect=").unwrap();
        for wrong in (0..bytes.len() + 40).filter(|wrong| *wrong != at) {
            let mut broken = bytes.clone();
            let address = wrong as u64;
            broken[8..16].copy_from_slice(&if order == Byteorder::Little {
                address.to_le_bytes()
            } else {
                address.to_be_bytes()
            });
            // If it leads into the layout, another one may begin there; otherwise it is the same.
            match repaired(&broken, None) {
                Ok((report, written)) if wrong < at || wrong >= bytes.len() => {
                    assert_eq!(arrays(&written), all, "{wrong}: {report:?}");
                    assert_eq!(report.is_whole(), wrong == 0 || !(16..at).contains(&wrong), "{wrong}: {report:?}");
                }
                Ok(_) => {}
                Err(error) => panic!("{wrong}: {error}"),
            }
        }
    }
}

/// The format has no mark for the end of a layout, so a layout that lost its last lines reads as one with fewer items. Bytes
/// that no item covers, and a layout without a line break at its end, show it.
#[test]
fn file_cut_in_layout_is_not_whole() {
    for dialect in [Dialect::D2025, Dialect::D2026] {
        for layout in [
            "a = f8[10]\nb = i4[6]\n",
            "n = u1\nm = u1\n",
            "g / x = f4[2] y = <i2[3] ..\nz = f8\n",
            "l = [i2[2]]\nl [2]\nq = u1[1]\n",
        ] {
            let mut bytes = b"\x8d<BD\r\n\x1a\n\0\0\0\0\0\0\0\0".to_vec();
            bytes.extend((0..200).map(|n| n % 7));
            let layout = Layout::read(layout.as_bytes()).unwrap();
            let file = DudleyFile::open(Arc::new(MemorySource::new(bytes, "x")), Some(layout), &Limits::default()).unwrap();
            let mut how = RewriteOptions::default();
            how.dialect = Some(dialect);
            let mut out = Cursor::new(Vec::new());
            file.rewrite(&how, &mut out).unwrap();
            let bytes = out.into_inner();
            let all = arrays(&bytes);
            assert!(repaired(&bytes, None).unwrap().0.is_whole());
            for cut in 16..bytes.len() {
                let mut zeros = bytes[..cut].to_vec();
                zeros.resize(bytes.len(), 0);
                for damaged in [&bytes[..cut], &zeros] {
                    match repaired(damaged, None) {
                        Ok((report, written)) => {
                            assert!(!report.is_whole() || arrays(&written) == all, "{dialect:?} {cut}: {report:?}");
                        }
                        Err(error) => assert_eq!(error.kind(), ErrorKind::Malformed, "{cut}: {error}"),
                    }
                }
            }
        }
    }
}
