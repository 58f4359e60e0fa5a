//! Streams assembled by hand from the document.

#![allow(clippy::disallowed_methods, reason = "tests write and read small files")]

mod families;
mod grids;

use std::io::Write as _;
use std::sync::Arc;

use super::*;
use crate::array::{Array, Byteorder, Datatype, Field, StructType};
use crate::bytes::MemorySource;
use crate::layout::{Layout, LayoutEntry};
use crate::{ErrorKind, Limits, Result};

/// A native file with its layout at the end; `data` begins at byte 16.
fn native(order: Byteorder, data: &[u8], layout: &str) -> Vec<u8> {
    let layout_at = Some(16 + data.len() as u64);
    let mut bytes = Signature { order, layout_offset: layout_at }.bytes().to_vec();
    bytes.extend_from_slice(data);
    bytes.extend_from_slice(layout.as_bytes());
    bytes
}

fn open(bytes: Vec<u8>) -> Result<DudleyFile> {
    DudleyFile::open(Arc::new(MemorySource::new(bytes, "x.bd")), None, &Limits::default())
}

fn under(bytes: &[u8], layout: &str) -> DudleyFile {
    let layout = Layout::read(layout.as_bytes()).unwrap();
    DudleyFile::open(Arc::new(MemorySource::new(bytes.to_vec(), "x")), Some(layout), &Limits::default()).unwrap()
}

fn f8(values: &[f64]) -> Vec<u8> {
    values.iter().flat_map(|x| x.to_le_bytes()).collect()
}

#[test]
fn parameters_decide_where_arrays_lie_in_both_orders() {
    let text = "NLAT : i4  NLON : i2  t = f8[NLAT-, NLON]  ## kelvin\n";
    for order in [Byteorder::Little, Byteorder::Big] {
        let is_little = order == Byteorder::Little;
        let mut data = if is_little { 3i32.to_le_bytes() } else { 3i32.to_be_bytes() }.to_vec();
        data.extend(if is_little { 2i16.to_le_bytes() } else { 2i16.to_be_bytes() });
        data.extend([0, 0]);
        for x in [1.0f64, 2.0, 3.0, 4.5] {
            data.extend(if is_little { x.to_le_bytes() } else { x.to_be_bytes() });
        }
        let file = open(native(order, &data, text)).unwrap();
        assert_eq!((file.base_offset(), file.generation_name()), (0, "dudley-2025"));
        let t = file.array_at("/t").unwrap();
        assert_eq!((t.offset(), t.shape()), (24, &[2, 2][..]));
        assert_eq!(t.load::<f64>().unwrap(), [1.0, 2.0, 3.0, 4.5]);
        assert_eq!(file.array_at("/NLAT").unwrap().load_as::<i64>().unwrap(), [3]);
    }
}

#[test]
fn order_character_overrides_signature_of_items_only() {
    let file = open(native(Byteorder::Big, &[1, 0], "<\nx = u2")).unwrap();
    assert_eq!(file.array_at("/x").unwrap().load::<u16>().unwrap(), [1]);
}

#[test]
fn addresses_of_2026_start_after_header() {
    let mut data = f8(&[1.5, 2.5]);
    data.extend([7, 8]);
    let file = open(native(Byteorder::Little, &data, "#: dialect=2026\nx: f8(2)\ny: u1(2) @16\n")).unwrap();
    assert_eq!((file.base_offset(), file.generation_name()), (16, "dudley-2026"));
    assert_eq!(file.array_at("/x").unwrap().offset(), 16);
    assert_eq!(file.array_at("/y").unwrap().load::<u8>().unwrap(), [7, 8]);
}

#[test]
fn struct_offsets_match_c_and_members_are_strided() {
    let mut data = Vec::new();
    for n in 0..3u8 {
        data.extend([n, 0, 0, 0, 0, 0, 0, 0]);
        data.extend(f8(&[f64::from(n), 10.0 + f64::from(n)]));
    }
    let file = open(native(Byteorder::Little, &data, "s = {a=u1 b=f8[2]}[3]")).unwrap();
    let s = file.array_at("/s").unwrap();
    let fields = s.datatype().as_struct().unwrap();
    assert_eq!((fields.item_size(), fields.fields()[1].offset, fields.fields()[1].shape.as_slice()), (24, 8, &[2][..]));
    assert_eq!(s.field("b").unwrap().load::<f64>().unwrap(), [0.0, 10.0, 1.0, 11.0, 2.0, 12.0]);
    let b = file.array_at("/s.b").unwrap();
    assert_eq!((b.shape(), b.strides()), (&[3, 2][..], &[24, 8][..]));
    assert_eq!(b.load::<f64>().unwrap(), [0.0, 10.0, 1.0, 11.0, 2.0, 12.0]);
    assert_eq!(file.array_at("/s.a").unwrap().load::<u8>().unwrap(), [0, 1, 2]);
}

#[test]
fn list_items_found_by_index_and_name() {
    let data: Vec<u8> = (0..12).collect();
    let file = open(native(Byteorder::Little, &data, "l = [u1[2], / x=u1 y=u1]*3")).unwrap();
    assert_eq!(file.array_at("/l[2]").unwrap().load::<u8>().unwrap(), [4, 5]);
    assert_eq!(file.array_at("/l[5]/y").unwrap().load::<u8>().unwrap(), [11]);
    assert_eq!(file.array_at("/l[6]").unwrap_err().kind(), ErrorKind::NotFound);
    let outline = file.locate_items().unwrap().outline().unwrap();
    let list = outline.find("/l").unwrap().unwrap();
    assert_eq!((outline.kind(list), outline.children(list).len()), (OutlineKind::List, 6));
}

#[test]
fn text_length_is_fastest_dimension() {
    let file = under(b"ab\0\0cd\x80\0", "s = S1[2, 4]");
    let s = file.array_at("/s").unwrap();
    assert_eq!((s.datatype(), s.shape()), (&Datatype::Ascii(4), &[2][..]));
    assert_eq!(decode_text(&s).unwrap().load_texts().unwrap(), ["ab", "cd€"]);
    let utf16 = under(&[0x3d, 0xd8, 0x00, 0xde, 0, 0], "s = <U2[3]").array_at("/s").unwrap();
    assert_eq!(utf16.load_texts().unwrap(), ["\u{1f600}"]);
}

#[test]
fn zero_empties_and_minus_one_drops_dimension() {
    let file = under(&[0, 0xff, 1, 2, 3], "A : i1  B : i1  none = u1[A, 5]  some = u1[B, 3]");
    assert_eq!(file.array_at("/none").unwrap().shape(), [0, 5]);
    let some = file.array_at("/some").unwrap();
    assert_eq!((some.shape(), some.load::<u8>().unwrap()), (&[3][..], vec![1, 2, 3]));
}

#[test]
fn structs_with_stored_parameters_are_seen_by_instance() {
    let bytes = [2, b'a', b'b', 1, b'c', 9];
    let file = under(&bytes, "string {N : i1  \"\" = S1[N]}  s = string[2]  end = u1");
    assert_eq!(file.array_at("/s(0).\"\"").unwrap().load_texts().unwrap(), ["ab"]);
    assert_eq!(file.array_at("/s(1)").unwrap().load_texts().unwrap(), ["c"]);
    assert_eq!(file.array_at("/end").unwrap().load::<u8>().unwrap(), [9]);
    assert_eq!(file.array_at("/s").unwrap_err().kind(), ErrorKind::Unsupported);
    let outline = file.locate_items().unwrap().outline().unwrap();
    let s = outline.find("/s").unwrap().unwrap();
    let strings = outline.children(s);
    assert_eq!((outline.kind(s), strings.len()), (OutlineKind::List, 2));
    assert!(matches!(outline.kind(strings[1].1), OutlineKind::Data(entry) if entry.shape == [1]));
}

#[test]
fn compressed_arrays_are_zlib_or_gzip() {
    let plain = f8(&[0.5; 100]);
    let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::new(6));
    zlib.write_all(&plain).unwrap();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::new(6));
    gzip.write_all(&plain).unwrap();
    for stored in [zlib.finish().unwrap(), gzip.finish().unwrap()] {
        let mut data = (stored.len() as i64).to_le_bytes().to_vec();
        data.extend(&stored);
        let good = open(native(Byteorder::Little, &data, "x: f8(10, 10) -> gzip\n")).unwrap();
        assert_eq!(good.array_at("/x").unwrap().load::<f64>().unwrap(), [0.5; 100]);
        // The data decode to more or to fewer bytes than the layout declares.
        for text in ["x: f8(99) -> gzip\n", "x: f8(101) -> gzip\n"] {
            let bad = open(native(Byteorder::Little, &data, text)).unwrap();
            assert!(bad.array_at("/x").and_then(|x| x.load::<f64>()).is_err(), "{text}");
        }
    }
    let file = under(&[3, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3], "x: <u1(3, 3) -> zfp\n");
    let error = DudleyFile::open_with(
        file.source().clone(),
        &crate::bytes::NoReferences,
        StreamOptions { layout: Some(file.layout().clone()), order: Some(Byteorder::Little), ..StreamOptions::default() },
        &Limits::default(),
    )
    .unwrap()
    .array_at("/x")
    .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("zfp"), "{error}");
}

#[test]
fn unknown_byte_order_is_err() {
    let file = under(&[1, 0, 2], "x = u2  y = u1 @2");
    assert!(file.array_at("/x").unwrap_err().to_string().contains("E403"));
    assert_eq!(file.array_at("/y").unwrap().load::<u8>().unwrap(), [2]);
}

#[test]
fn references_lead_to_items_by_number_or_value() {
    let file = under(&[1, 2, 77, 5, 6], "r: u1(3) <- ref\n& u1(1)\n& 77 u1(1)\n");
    let items = file.locate_items().unwrap();
    assert_eq!(items.referenced(1).unwrap().as_deref(), Some("&1"));
    assert_eq!(items.referenced(77).unwrap().as_deref(), Some("&2"));
    assert_eq!(items.referenced(0).unwrap(), None);
    assert!(items.referenced(3).is_err());
    assert_eq!(file.array_at("&2").unwrap().load::<u8>().unwrap(), [6]);
}

#[test]
fn hostile_streams_are_errors() {
    let text = "N : i8  s {M : i1 x = u1[M]}  a = f8[N, N]  l = [s]*N  z = c16[N]\n";
    for n in [i64::MAX, i64::MIN, -1, -2, 0, 1, 1 << 40] {
        let bytes = native(Byteorder::Little, &n.to_le_bytes(), text);
        for len in 0..bytes.len() {
            let mut limits = Limits::default();
            limits.items = 1000;
            let source = Arc::new(MemorySource::new(bytes[..len].to_vec(), "x.bd"));
            let Ok(file) = DudleyFile::open(source, None, &limits) else { continue };
            let Ok(items) = file.locate_items() else { continue };
            for entry in items.entries() {
                let Ok(entry) = entry else { break };
                if let Ok(array) = items.array(&entry) {
                    let _ = array.load_as::<f64>();
                }
            }
            let _ = items.outline();
        }
    }
}

fn saved(bytes: &[u8]) -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.bd");
    std::fs::write(&path, bytes).unwrap();
    (folder, path)
}

fn reopen(path: &std::path::Path) -> DudleyFile {
    open(std::fs::read(path).unwrap()).unwrap()
}

fn drawn(draft: &Draft, order: Byteorder) -> Vec<u8> {
    let mut out = std::io::Cursor::new(Vec::new());
    draft.write(order, &Limits::default(), &mut out).unwrap();
    out.into_inner()
}

fn written(layout: &str, params: Vec<i64>, order: Byteorder, data: DataSupplier<'_>) -> Result<Vec<u8>> {
    let layout = Layout::read(layout.as_bytes()).unwrap();
    let mut new = NewStream::new(&layout, params);
    new.order = order;
    let mut out = std::io::Cursor::new(Vec::new());
    new.write(data, &mut out)?;
    Ok(out.into_inner())
}

#[test]
fn write_under_layout_round_trip() {
    let fields = vec![
        Field::new("a", Datatype::Uint8, Byteorder::Little),
        Field::new("b", Datatype::Int16, Byteorder::Little).with_shape(vec![2]),
        Field::new("c", Datatype::Complex64, Byteorder::Little),
    ];
    let packed = Datatype::Struct(Arc::new(StructType::packed_from(fields).unwrap()));
    let bytes: Vec<u8> = (0..26).collect();
    let structs = Array::from_bytes(bytes, packed, Byteorder::Little, vec![2]).unwrap();
    for (text, base) in [
        ("N : i2  s = {a=u1 b=i2[2] c=c8}[N]  f = f4[N]  t = S1[3]", 0),
        ("N = i2  s: {a:u1 b:i2(2) c:c8}(N) f: f4(N) t: S1(3)", 16),
    ] {
        for order in [Byteorder::Little, Byteorder::Big] {
            let mut data = |entry: &LayoutEntry| match entry.path.as_str() {
                "/s" => Ok(structs.clone()),
                "/f" => Array::from_slice(&[1.5f32, -2.0], &[2]),
                _ => Array::from_bytes(b"abc".to_vec(), Datatype::Ascii(3), Byteorder::Little, vec![]),
            };
            let file = open(written(text, vec![2], order, &mut data).unwrap()).unwrap();
            assert_eq!((file.base_offset(), file.signature().unwrap().order), (base, order));
            let read = file.array_at("/s").unwrap();
            assert_eq!(read.read_bytes(Byteorder::Little).unwrap(), structs.read_bytes(Byteorder::Little).unwrap());
            assert_eq!(file.array_at("/f").unwrap().load::<f32>().unwrap(), [1.5, -2.0]);
            assert_eq!(file.array_at("/t").unwrap().load_texts().unwrap(), ["abc"]);
            assert_eq!(file.array_at("/N").unwrap().load_as::<i64>().unwrap(), [2]);
        }
    }
}

#[test]
fn compressed_arrays_are_written_with_their_lengths() {
    let text = "a: f8(100) -> gzip(6)\nb: i4(3)\n";
    let mut data = |entry: &LayoutEntry| match entry.path.as_str() {
        "/a" => Array::from_slice(&[2.5f64; 100], &[100]),
        _ => Array::from_slice(&[1i32, 2, 3], &[3]),
    };
    let bytes = written(text, vec![], Byteorder::Little, &mut data).unwrap();
    assert!(bytes.len() < 200, "{}", bytes.len());
    let file = open(bytes).unwrap();
    assert_eq!(file.array_at("/a").unwrap().load::<f64>().unwrap(), [2.5; 100]);
    assert_eq!(file.array_at("/b").unwrap().load::<i32>().unwrap(), [1, 2, 3]);
}

#[test]
fn data_unfit_for_layout_is_err() {
    let try_one = |text: &str, params: &[i64]| {
        written(text, params.to_vec(), Byteorder::Little, &mut |_| Array::from_slice(&[1.0f64, 2.0], &[2]))
            .unwrap_err()
            .to_string()
    };
    assert!(try_one("x = f4[2]", &[]).contains("float32"));
    assert!(try_one("x = f8[3]", &[]).contains("[3]"));
    assert!(try_one("x = f8[2] @8", &[]).contains("E410"));
    assert!(try_one("N : i1  x = f8[N]", &[]).contains("E409"));
    assert!(try_one("N : i1  x = f8[2]", &[200]).contains("E402"));
}

#[test]
fn data_alone_make_their_layout() {
    let numbers = |n: i32| Draft::data(Array::from_slice(&[n, n + 1], &[2]).unwrap());
    let mut group = Draft::dict([("t", numbers(3)), ("a b\"c", numbers(5))]);
    group.docs.push(" a group".into());
    group.attributes.push(("unit".into(), crate::layout::Attribute::Value(crate::layout::LayoutLiteral::Text("km".into()))));
    let list =
        Draft::list([numbers(7), Draft::dict([("x", numbers(9)), ("y", Draft::dict([("z", numbers(11))]))]), Draft::list([])]);
    let root = Draft::dict([
        ("first", numbers(1)),
        ("N", Draft::fixed_param(4)),
        ("group", group),
        ("list", list),
        ("last", numbers(13)),
    ]);
    for order in [Byteorder::Little, Byteorder::Big] {
        let file = open(drawn(&root, order)).unwrap();
        let paths = [
            ("/first", 1),
            ("/group/t", 3),
            ("/group/\"a b\\\"c\"", 5),
            ("/list[0]", 7),
            ("/list[1]/x", 9),
            ("/list[1]/y/z", 11),
            ("/last", 13),
        ];
        for (path, first) in paths {
            assert_eq!(file.array_at(path).unwrap().load::<i32>().unwrap(), [first, first + 1], "{path}");
        }
        let outline = file.locate_items().unwrap().outline().unwrap();
        let group = outline.find("/group").unwrap().unwrap();
        let item = outline.item(group).unwrap();
        assert_eq!(file.layout().docs(item).collect::<Vec<_>>(), [" a group"]);
        assert_eq!(file.layout().attributes(item).count(), 1);
        assert_eq!(outline.kind(outline.find("/N").unwrap().unwrap()), OutlineKind::Param(4, None));
    }
}

#[test]
fn append_records_overwrites_layout_at_end() {
    for text in ["time = [f8]  r = [f4[2]]", "#: dialect=2026\ntime [f8]  r [f4(2)]"] {
        let mut data = |entry: &LayoutEntry| match entry.path.as_str() {
            "/time[0]" => Array::from_slice(&[0.5f64], &[]),
            _ => Array::from_slice(&[1.0f32, 2.0], &[2]),
        };
        let bytes = written(text, vec![], Byteorder::Big, &mut data).unwrap();
        let (_folder, path) = saved(&bytes);
        let limits = Limits::default();
        append_records(&path, "/time", &Array::from_slice(&[1.5f64, 2.5], &[2]).unwrap(), &limits).unwrap();
        append_records(&path, "/r", &Array::from_slice(&[3.0f32, 4.0], &[1, 2]).unwrap(), &limits).unwrap();
        let file = reopen(&path);
        for (n, time) in [0.5, 1.5, 2.5].into_iter().enumerate() {
            assert_eq!(file.array_at(&format!("/time[{n}]")).unwrap().load::<f64>().unwrap(), [time]);
        }
        assert_eq!(file.array_at("/r[0]").unwrap().load::<f32>().unwrap(), [1.0, 2.0]);
        assert_eq!(file.array_at("/r[1]").unwrap().load::<f32>().unwrap(), [3.0, 4.0]);
        // Records that do not fit leave the file unchanged.
        let before = std::fs::read(&path).unwrap();
        assert!(append_records(&path, "/r", &Array::from_slice(&[3.0f64], &[1]).unwrap(), &limits).is_err());
        assert!(append_records(&path, "/none", &Array::from_slice(&[3.0f64], &[1]).unwrap(), &limits).is_err());
        assert_eq!(std::fs::read(&path).unwrap(), before);
    }
}

#[test]
fn append_draft_adds_items_to_root() {
    let one = Draft::dict([("a", Draft::data(Array::from_slice(&[1u8, 2, 3], &[3]).unwrap()))]);
    let (_folder, path) = saved(&drawn(&one, Byteorder::Little));
    let more = Draft::dict([("g", Draft::dict([("b", Draft::data(Array::from_slice(&[0.5f64], &[1]).unwrap()))]))]);
    append_draft(&path, &more, &Limits::default()).unwrap();
    let file = reopen(&path);
    assert_eq!(file.array_at("/a").unwrap().load::<u8>().unwrap(), [1, 2, 3]);
    let b = file.array_at("/g/b").unwrap();
    assert_eq!((b.offset(), b.load::<f64>().unwrap()), (24, vec![0.5]));
}

#[test]
fn catalog_locates_items_without_opening_files() {
    let template = Layout::read(b"{ NX : i4  NY : i8  time = f8 }  rho = f8[NX, NY]  te = f4[NX-]").unwrap();
    let record = vec![
        Field::new("NX", Datatype::Int32, Byteorder::Little),
        Field::new("NY", Datatype::Int64, Byteorder::Little).with_offset(8),
        Field::new("time", Datatype::Float64, Byteorder::Little).with_offset(16),
    ];
    let kind = Datatype::Struct(Arc::new(StructType::with_offsets(record, 24).unwrap()));
    let mut bytes = Vec::new();
    for (nx, ny) in [(2i64, 3i64), (5, 1), (0, 4)] {
        bytes.extend(nx.to_le_bytes());
        bytes.extend(ny.to_le_bytes());
        bytes.extend(0f64.to_le_bytes());
    }
    let records = Array::from_bytes(bytes, kind, Byteorder::Little, vec![3]).unwrap();
    let files = Array::from_texts(&["a.bd", "b.bd", "c.bd"], &[3]).unwrap();
    let draft = Draft::dict([("files", Draft::data(files)), ("records", Draft::data(records))]);
    let catalog = Catalog::read(&open(drawn(&draft, Byteorder::Little)).unwrap()).unwrap();
    let options =
        crate::layout::EvaluateOptions { is_native: true, byteorder: Some(Byteorder::Little), limits: Limits::default() };
    let mut places = Vec::new();
    catalog
        .locate(&template, "/te", &options, &mut |place| {
            places.push((place.file.to_owned(), place.offset, place.description()?.unwrap().shape));
            Ok(())
        })
        .unwrap();
    // 16 for the header; i4, i8 and f8 take 24 bytes; then rho.
    let expected = [("a.bd", Some(40 + 48), vec![1]), ("b.bd", Some(40 + 40), vec![4]), ("c.bd", None, vec![0])];
    assert_eq!(places, expected.map(|(file, at, shape)| (file.to_owned(), at, shape)));
    let plain = Layout::read(b"N : i4  x = u1[N]").unwrap();
    assert!(catalog.locate(&plain, "/x", &options, &mut |_| Ok(())).unwrap_err().to_string().contains("E408"));
}

#[cfg(feature = "png")]
#[test]
fn images_are_png_files_behind_their_length() {
    let layout = "a: u1(2,3) -> png  b: <u2(2,2,3) -> png(3)  c: >u2(1,2) -> png(0)  d: u1";
    let wide: Vec<u16> = (0..12).map(|n| n * 1000).collect();
    let mut supply = |entry: &LayoutEntry| match entry.path.as_str() {
        "/a" => Array::from_slice(&[1u8, 2, 3, 4, 5, 6], &[2, 3]),
        "/b" => Array::from_slice(&wide, &[2, 2, 3]),
        "/c" => Array::from_slice(&[0x102u16, 0x304], &[1, 2]),
        _ => Array::from_slice(&[7u8], &[]),
    };
    let bytes = written(layout, vec![], Byteorder::Little, &mut supply).unwrap();
    let file = open(bytes.clone()).unwrap();
    assert_eq!(file.array_at("/a").unwrap().load::<u8>().unwrap(), [1, 2, 3, 4, 5, 6]);
    assert_eq!(file.array_at("/b").unwrap().load_as::<u16>().unwrap(), wide);
    assert_eq!(file.array_at("/c").unwrap().load_as::<u16>().unwrap(), [0x102, 0x304]);
    assert_eq!(file.array_at("/d").unwrap().load::<u8>().unwrap(), [7]);
    let at = file.locate_items().unwrap().entry("/a").unwrap().address.unwrap() + 16;
    assert_eq!(bytes[at as usize..][..8], *b"\x89PNG\r\n\x1a\n");
    // An image of another size, and one that is cut.
    let wrong = under(&bytes, "a: u1(3,2) -> png");
    assert!(wrong.array_at("/a").and_then(|a| a.load::<u8>()).unwrap_err().to_string().contains("the layout has"));
    for cut in 0..60 {
        let mut broken = bytes.clone();
        broken[at as usize + cut] ^= 0x55;
        let _ = open(broken).and_then(|file| file.array_at("/a")?.load::<u8>());
    }
}

#[cfg(feature = "jpeg")]
#[test]
fn jpeg_files_are_read() {
    // 8 x 16 pixels of Pillow 12: the upper half 30, the lower 100.
    const IMAGE: &str = "\
        ff d8 ff e0 00 10 4a 46 49 46 00 01 01 00 00 01 00 01 00 00 ff db 00 43 \
        00 02 01 01 01 01 01 02 01 01 01 02 02 02 02 02 04 03 02 02 02 02 05 04 \
        04 03 04 06 05 06 06 06 05 06 06 06 07 09 08 06 07 09 07 06 06 08 0b 08 \
        09 0a 0a 0a 0a 0a 06 08 0b 0c 0b 0a 0c 09 0a 0a 0a ff c0 00 0b 08 00 08 \
        00 10 01 01 11 00 ff c4 00 15 00 01 01 00 00 00 00 00 00 00 00 00 00 00 \
        00 00 00 00 08 ff c4 00 18 10 00 02 03 00 00 00 00 00 00 00 00 00 00 00 \
        00 00 00 18 67 a5 e3 ff da 00 08 01 01 00 00 3f 00 80 d0 19 66 87 70 80 \
        cb 34 3b 9f ff d9";
    let image: Vec<u8> = IMAGE.split_whitespace().map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect();
    let mut data = (image.len() as i64).to_le_bytes().to_vec();
    data.extend(&image);
    let read = |data: &[u8], text: &str| open(native(Byteorder::Little, data, text))?.array_at("/x")?.load::<u8>();
    let pixels = read(&data, "x: u1(8, 16) -> jpeg(95)\n").unwrap();
    assert!(pixels[..64].iter().all(|pixel| pixel.abs_diff(30) < 2) && pixels[64..].iter().all(|pixel| pixel.abs_diff(100) < 2));
    assert!(read(&data, "x: u1(16, 8) -> jpeg\n").is_err() && read(&data, "x: u1(8, 16, 4) -> jpeg\n").is_err());
    for at in 8..data.len() {
        let mut broken = data.clone();
        broken[at] ^= 0x55;
        let _ = read(&broken, "x: u1(8, 16) -> jpeg\n");
    }
    let mut supply = |_: &LayoutEntry| Array::from_slice(&[0u8; 128], &[8, 16]);
    let error = written("x: u1(8, 16) -> jpeg", vec![], Byteorder::Little, &mut supply).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
}
