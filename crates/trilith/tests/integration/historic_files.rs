//! What real code of each era wrote, in all its variations, as bytes put together by hand: every block header
//! under every dialect of the tree that was written with it, every datatype that its code knew, strides of any
//! sign, masks, inline data, streams, padding, the forms of the index, line ends, external files.
//!
//! The elements are known here independently of the library: each array comes with the bytes that its digest is
//! made of. Every file is read, converted to every form that can be written, and read again.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may stop anywhere")]

use std::collections::BTreeMap;
use std::io::Cursor;
use std::sync::Arc;

use sha2::{Digest as _, Sha256};
use trilith::asdf::{AsdfFile, TARGETS, Target};
use trilith::bytes::{MemorySource, NoReferences, Resolve, SourceRef};
use trilith::check::VerifyDepth;
use trilith::convert::{ConvertOptions, convert_to};
use trilith::file::open_asdf_source;
use trilith::{Error, Limits, Progress, Result, check, open_asdf_bytes};

/// One kind of file: its block header and the dialect of its tree.
#[derive(Debug, Clone, Copy)]
struct Era {
    /// What `info` calls it.
    name: &'static str,
    header: &'static str,
    comments: &'static str,
    prefix: &'static str,
    root: &'static str,
    ndarray: &'static str,
    key: &'static str,
    /// Whether byteorder is written although it is big.
    always_order: bool,
    /// The features of its code, see `FEATURES`.
    can: &'static str,
    head: Head,
}

/// The block header that an era wrote.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Head {
    A,
    B,
    C,
    E,
    F,
    G,
}

// Datatypes that code of an era could write: l(ong doubles), b(ool8 and masks), s(trings), t(ables), i(nline), *(streams),
// h(alf floats), z(ero strides), x (an index).
const ERAS: &[Era] = &[
    era("finf-0.1-hs43", "%FINF 0.1.0", "", FINF, "finf", "ndarray", "dtype", false, "l", Head::A),
    era("finf-0.1-hs40", "%FINF 0.1.0", "", FINF, "finf", "ndarray", "dtype", false, "l", Head::B),
    era("finf-0.1-hs40", "%FINF 0.1.0", "", FINF, "core/finf", "core/ndarray", "dtype", false, "l", Head::B),
    era("finf-0.1-hs44", "%FINF 0.1.0", "", FINF, "core/finf", "core/ndarray", "dtype", false, "lti*", Head::C),
    era("finf-0.1-hs44", "%FINF 0.1.0", "", FINF, "core/finf", "core/ndarray", "dtype", false, "bsti*", Head::C),
    era("asdf-0.1-dev", "%ASDF 0.1.0", "", DEV, "core/asdf", "core/ndarray", "dtype", false, "bsti*", Head::C),
    era("asdf-0.1-dev", "%ASDF 0.1.0", "", DEV, "core/asdf", "core/ndarray", "dtype", true, "bsti*", Head::C),
    era("asdf-0.1-hs44", "#ASDF 0.1.0", "", DEV, "core/asdf", "core/ndarray", "dtype", true, "bsti*", Head::C),
    era("asdf-0.1-hs44", "#ASDF 0.1.0", "", DEV, "core/asdf", "core/ndarray", "datatype", true, "bsti*", Head::C),
    era("asdf-0.1-hs36", "#ASDF 0.1.0", "", DEV, "core/asdf", "core/ndarray", "dtype", true, "bsti*", Head::E),
    era("asdf-0.1-hs36", "#ASDF 0.1.0", "", DEV, "core/asdf", "core/ndarray", "datatype", true, "bsti*", Head::E),
    era("asdf-0.1-hs40", "#ASDF 0.1.0", "", DEV, "core/asdf", "core/ndarray", "datatype", true, "bsti*", Head::F),
    era("asdf-0.1-hs48", "#ASDF 0.1.0", "", DEV, "core/asdf", "core/ndarray", "datatype", true, "bsti*", Head::G),
    era("asdf-0.1-hs48", "#ASDF 0.1.0", "", DEV, "core/asdf", "core/ndarray", "datatype", true, "bstix", Head::G),
    era(
        "asdf-0.1-hs48",
        "#ASDF 0.1.0",
        STD_010,
        ASDF,
        "core/asdf-0.1.0",
        "core/ndarray-0.1.0",
        "datatype",
        true,
        "bstix",
        Head::G,
    ),
    era("asdf-1.x", "#ASDF 1.0.0", STD_100, ASDF, "core/asdf-1.0.0", "core/ndarray-1.0.0", "datatype", true, "bsti*", Head::G),
    era("asdf-1.x", "#ASDF 1.0.0", STD_150, ASDF, "core/asdf-1.1.0", "core/ndarray-1.0.0", "datatype", true, "bstizx", Head::G),
    era("asdf-1.x", "#ASDF 1.0.0", STD_160, ASDF, "core/asdf-1.1.0", "core/ndarray-1.1.0", "datatype", true, "bstihzx", Head::G),
];
const FINF: &str = "tag:stsci.edu:finf/0.1.0/";
const DEV: &str = "tag:stsci.edu:asdf/0.1.0/";
const ASDF: &str = "tag:stsci.edu:asdf/";
const STD_010: &str = "#ASDF_STANDARD 0.1.0\n";
const STD_100: &str = "#ASDF_STANDARD 1.0.0\n";
const STD_150: &str = "#ASDF_STANDARD 1.5.0\n# This is an ASDF file <https://example.org>\n";
const STD_160: &str = "#ASDF_STANDARD 1.6.0\n";

#[expect(clippy::too_many_arguments, reason = "a row of the table above")]
const fn era(
    name: &'static str,
    header: &'static str,
    comments: &'static str,
    prefix: &'static str,
    root: &'static str,
    ndarray: &'static str,
    key: &'static str,
    always_order: bool,
    can: &'static str,
    head: Head,
) -> Era {
    Era { name, header, comments, prefix, root, ndarray, key, always_order, can, head }
}

/// An array: how the tree says it, its bytes, and what its digest is made of.
#[derive(Debug, Clone)]
struct Sample {
    name: String,
    /// The lines of its node behind the tag, without `source` and `byteorder`; `KEY` stands for dtype or datatype.
    keys: String,
    order: Option<&'static str>,
    data: Vec<u8>,
    /// Elements in C order, packed, little-endian; the mask, one byte each; the shape.
    elements: Vec<u8>,
    mask: Option<Vec<u8>>,
    shape: Vec<u64>,
    /// The datatype of an array whose values survive in another type only.
    lossy: bool,
}

impl Sample {
    fn new(name: &str, keys: &str, order: Option<&'static str>, data: Vec<u8>, elements: Vec<u8>, shape: &[u64]) -> Self {
        let (name, keys) = (name.to_owned(), keys.to_owned());
        Self { name, keys, order, data, elements, mask: None, shape: shape.to_vec(), lossy: false }
    }
}

/// Numbers of `width` bytes, counted up in a way that every byte differs.
fn numbers(count: usize, width: usize) -> Vec<Vec<u8>> {
    (0..count).map(|i| (0..width).map(|j| (i * 37 + j * 11 + 1) as u8).collect()).collect()
}

fn flat(items: &[Vec<u8>], big: bool) -> Vec<u8> {
    items.iter().flat_map(|item| if big { item.iter().rev().copied().collect() } else { item.clone() }).collect()
}

/// Everything that code of an era could write into blocks of its own.
fn samples(era: &Era) -> Vec<Sample> {
    let can = |feature: char| era.can.contains(feature);
    let mut list = Vec::new();
    let mut types: Vec<(&str, usize, usize)> = vec![
        ("int8", 1, 1),
        ("int16", 2, 1),
        ("int32", 4, 1),
        ("int64", 8, 1),
        ("uint8", 1, 1),
        ("uint16", 2, 1),
        ("uint32", 4, 1),
        ("uint64", 8, 1),
        ("float32", 4, 1),
        ("float64", 8, 1),
        ("complex64", 4, 2),
        ("complex128", 8, 2),
    ];
    if can('l') {
        types.extend([("float128", 16, 1), ("complex256", 16, 2)]);
    }
    if can('h') {
        types.push(("float16", 2, 1));
    }
    for (name, width, parts) in types {
        for order in ["little", "big"] {
            let mut items = numbers(6 * parts, width);
            if matches!(name, "float128" | "complex256") {
                // x86 numbers: 64 bits of mantissa with its highest bit set, 15 of exponent near 1, six of filling.
                for (i, item) in items.iter_mut().enumerate() {
                    item[..8].copy_from_slice(&((1u64 << 63) | (i as u64) << 40).to_le_bytes());
                    item[8..].copy_from_slice(&[i as u8, 0x40, 0, 0, 0, 0, 0, 0]);
                }
            }
            let data = flat(&items, order == "big");
            let keys = format!("KEY: {name}\nshape: [2, 3]");
            let mut sample = Sample::new(&format!("{name}_{order}"), &keys, Some(order), data, flat(&items, false), &[2, 3]);
            sample.lossy = matches!(name, "float128" | "complex256" | "float16");
            list.push(sample);
        }
    }
    list.extend(strided(can('z')));
    // Without elements, without axes, without shape and without type.
    let one = numbers(1, 4);
    list.push(Sample::new("scalar", "KEY: int32\nshape: []", Some("little"), flat(&one, false), flat(&one, false), &[]));
    list.push(Sample::new("empty", "KEY: float64\nshape: [0, 4]", Some("little"), Vec::new(), Vec::new(), &[0, 4]));
    if can('b') {
        list.push(Sample::new("bool8", "KEY: bool8\nshape: [4]", Some("big"), vec![0, 1, 1, 0], vec![0, 1, 1, 0], &[4]));
    }
    if can('s') {
        list.push(Sample::new("ascii", "KEY: [ascii, 3]\nshape: [2]", None, b"abcd\0\0".to_vec(), b"abcd\0\0".to_vec(), &[2]));
        let text: Vec<Vec<u8>> = "\u{e9}\u{1f600}x\0".chars().map(|c| (c as u32).to_le_bytes().to_vec()).collect();
        for order in ["little", "big"] {
            let data = flat(&text, order == "big");
            list.push(Sample::new(
                &format!("ucs4_{order}"),
                "KEY: [ucs4, 2]\nshape: [2]",
                Some(order),
                data,
                flat(&text, false),
                &[2],
            ));
        }
    }
    if can('t') {
        list.extend(tables(era));
    }
    list
}

/// Views: parts, steps, transposed, from the end, repeated.
fn strided(zero: bool) -> Vec<Sample> {
    let items = numbers(24, 2);
    let pick = |indices: &[usize]| indices.iter().flat_map(|i| items[*i].clone()).collect::<Vec<u8>>();
    let grid = |rows: &[usize], columns: &[usize]| -> Vec<usize> {
        rows.iter().flat_map(|r| columns.iter().map(move |c| r * 6 + c)).collect()
    };
    let mut views = vec![
        ("part", "shape: [2, 3]\noffset: 16\nstrides: [12, 2]", grid(&[1, 2], &[2, 3, 4]), vec![2, 3]),
        ("steps", "shape: [2, 2]\noffset: 2\nstrides: [24, 6]", grid(&[0, 2], &[1, 4]), vec![2, 2]),
        ("fortran", "shape: [6, 4]\nstrides: [2, 12]", (0..6).flat_map(|c| (0..4).map(move |r| r * 6 + c)).collect(), vec![6, 4]),
        ("column", "shape: [4]\noffset: 10\nstrides: [12]", grid(&[0, 1, 2, 3], &[5]), vec![4]),
        ("backwards", "shape: [24]\noffset: 46\nstrides: [-2]", (0..24).rev().collect(), vec![24]),
        ("mirrored", "shape: [4, 6]\noffset: 10\nstrides: [12, -2]", grid(&[0, 1, 2, 3], &[5, 4, 3, 2, 1, 0]), vec![4, 6]),
    ];
    if zero {
        views.push(("repeated", "shape: [3, 2]\nstrides: [0, 2]", vec![0, 1, 0, 1, 0, 1], vec![3, 2]));
    }
    let view = |(name, keys, indices, shape): (&str, &str, Vec<usize>, Vec<u64>)| {
        Sample::new(name, &format!("KEY: int16\n{keys}"), Some("little"), flat(&items, false), pick(&indices), &shape)
    };
    views.into_iter().map(view).collect()
}

/// Structures: byte orders mixed, nested, with shapes; FINF left out the byteorder of a big field.
fn tables(era: &Era) -> Vec<Sample> {
    let order = |order: &str| {
        if era.always_order || order == "little" { format!("byteorder: {order}, ") } else { String::new() }
    };
    let rows = numbers(3, 1 + 4 + 8 + 12 + 3);
    let (mut data, mut elements) = (Vec::new(), Vec::new());
    for row in &rows {
        let (a, rest) = row.split_at(1);
        let (b, rest) = rest.split_at(4);
        let (c, rest) = rest.split_at(8);
        let (d, text) = rest.split_at(12);
        elements.extend([a, b, c, d, text].concat());
        // b big, c little, d two by three big 16-bit numbers.
        let turned = |bytes: &[u8], width: usize| bytes.chunks(width).flat_map(|n| n.iter().rev().copied()).collect::<Vec<u8>>();
        data.extend([a, &turned(b, 4), c, &turned(d, 2), text].concat());
    }
    let text = if era.can.contains('s') { "- {KEY: [ascii, 3], name: text}" } else { "- {KEY: uint8, name: text, shape: [3]}" };
    let keys = format!(
        "KEY:\n- {{{}KEY: int8, name: a}}\n- {{{}KEY: float32, name: b}}\n- {{{}KEY: int64, name: c}}\n\
         - {{{}KEY: uint16, name: d, shape: [2, 3]}}\n{text}\nshape: [3]",
        order("big"),
        order("big"),
        order("little"),
        order("big")
    );
    let flat_order = if era.always_order { Some("big") } else { None };
    let mut list = vec![Sample::new("table", &keys, flat_order, data.clone(), elements.clone(), &[3])];
    let nested = format!(
        "KEY:\n- name: in\n  KEY:\n  - {{{}KEY: int8, name: a}}\n  - {{{}KEY: float32, name: b}}\n- {{{}KEY: int64, name: c}}\n\
         - {{{}KEY: uint16, name: d, shape: [2, 3]}}\n{text}\nshape: [3]",
        order("big"),
        order("big"),
        order("little"),
        order("big")
    );
    list.push(Sample::new("nested", &nested, flat_order, data, elements, &[3]));
    list
}

/// Bytes of one block.
fn block(head: Head, data: &[u8], allocated: usize, streamed: bool, compression: &[u8; 4]) -> Vec<u8> {
    let size = |n: usize| if streamed { [0; 8] } else { (n as u64).to_be_bytes() };
    let (allocated_size, used) = (size(allocated), size(data.len()));
    let flags = u32::from(streamed).to_be_bytes();
    let (magic, fields): (&[u8], Vec<u8>) = match head {
        Head::A => (b"\xd3BFF\r\n \n", [&[0, 1, 0][..], &allocated_size, &used, &[0; 24]].concat()),
        Head::B => (b"\xd3BLK", [&allocated_size[..], &used, &[0; 24]].concat()),
        Head::C => (b"\xd3BLK", [&flags[..], &allocated_size, &used, &[0; 24]].concat()),
        Head::E => (b"\xd3BLK", [&flags[..], &allocated_size, &used, &used, &[0; 8]].concat()),
        Head::F => (b"\xd3BLK", [&flags[..], compression, &allocated_size, &used, &used, &[0; 8]].concat()),
        Head::G => (b"\xd3BLK", [&flags[..], compression, &allocated_size, &used, &used, &[0; 16]].concat()),
    };
    let mut bytes = [magic, &(fields.len() as u16).to_be_bytes(), &fields, data].concat();
    // Bytes after the data are leftovers.
    bytes.extend(std::iter::repeat_n(0xa5, allocated.saturating_sub(data.len())));
    bytes
}

/// How a file is laid out besides.
#[derive(Debug, Clone, Copy)]
struct Layout {
    crlf: bool,
    padding: usize,
    slack: usize,
}

/// A file with all samples, inline arrays, masks and a stream, and what it must hold.
fn file(era: &Era, layout: Layout) -> (Vec<u8>, BTreeMap<String, Sample>) {
    let mut expected = BTreeMap::new();
    let (mut body, mut blocks) = (String::new(), Vec::new());
    let mut put = |sample: &Sample, source: &str, body: &mut String| {
        let order = sample.order.filter(|order| era.always_order || *order == "little");
        let order =
            order.or(era.always_order.then_some("big")).map(|order| format!("  byteorder: {order}\n")).unwrap_or_default();
        let keys = sample.keys.replace("KEY", era.key).replace('\n', "\n  ");
        body.push_str(&format!("{}: !{}\n  source: {source}\n{order}  {keys}\n", sample.name, era.ndarray));
        expected.insert(format!("/{}", sample.name), sample.clone());
    };
    for sample in samples(era) {
        put(&sample, &blocks.len().to_string(), &mut body);
        blocks.push(block(era.head, &sample.data, sample.data.len() + layout.slack, false, &[0; 4]));
        // A block that nothing refers to, holding the mark of a block and the words of an index.
        if blocks.len() == 5 {
            blocks.push(block(era.head, b"\xd3BLK\0\x30#ASDF BLOCK INDEX\n%YAML 1.1\n--- [1]\n...\n", 60, false, &[0; 4]));
        }
    }
    if era.can.contains('b') {
        // A mask in a block of its own.
        let items = numbers(4, 8);
        let tag = era.ndarray;
        let order = if era.always_order { "byteorder: big, " } else { "" };
        let (data, mask) = (blocks.len(), blocks.len() + 1);
        let keys = format!("KEY: float64\nshape: [2, 2]\nmask: !{tag} {{{order}KEY: bool8, shape: [2, 2], source: {mask}}}");
        let mut sample = Sample::new("masked", &keys, Some("little"), Vec::new(), flat(&items, false), &[2, 2]);
        sample.mask = Some(vec![0, 1, 1, 0]);
        put(&sample, &data.to_string(), &mut body);
        blocks.push(block(era.head, &flat(&items, false), 32, false, &[0; 4]));
        blocks.push(block(era.head, &[0, 1, 1, 0], 4, false, &[0; 4]));
    }
    if era.can.contains('*') {
        let rows = numbers(6, 4);
        let sample = Sample::new("stream", "KEY: int32\nshape: ['*', 2]", Some("big"), Vec::new(), flat(&rows, false), &[3, 2]);
        put(&sample, "-1", &mut body);
        // Half a row at the end was being written.
        blocks.push(block(era.head, &[flat(&rows, true), vec![9; 3]].concat(), 0, true, &[0; 4]));
    }
    if era.can.contains('i') {
        inline(era, &mut body, &mut expected);
    }
    body.push_str("nothing: null\ninner: {list: [1, {a: b}], text: 'a: b'}\n");
    if era.can.contains('x') {
        body.push_str("asdf_library: {name: pyasdf, version: 0.0.dev}\n");
    }
    let head = format!(
        "{}\n{}%YAML 1.1\n%TAG ! {}\n--- !{}\n{body}...\n{}",
        era.header,
        era.comments,
        era.prefix,
        era.root,
        " ".repeat(layout.padding)
    );
    let head = if layout.crlf { head.replace('\n', "\r\n") } else { head };
    let mut bytes = head.into_bytes();
    let mut offsets = Vec::new();
    for block in blocks {
        offsets.push(bytes.len().to_string());
        bytes.extend(block);
    }
    if era.can.contains('x') {
        let list = if layout.crlf { format!("--- [{}]", offsets.join(", ")) } else { format!("---\n- {}", offsets.join("\n- ")) };
        bytes.extend(format!("#ASDF BLOCK INDEX\n%YAML 1.1\n{list}\n...\n").bytes());
    }
    (bytes, expected)
}

/// Arrays in the tree: typed or not, of numbers, complex numbers, text, rows; masked by null.
fn inline(era: &Era, body: &mut String, expected: &mut BTreeMap<String, Sample>) {
    let key = era.key;
    let complex = match era.ndarray.rsplit_once("ndarray").map(|(_, version)| version) {
        Some("-0.1.0") => "core/complex-0.1.0",
        Some("-1.0.0" | "-1.1.0") => "core/complex-1.0.0",
        _ => "core/complex",
    };
    let mut add = |name: &str, text: String, elements: Vec<u8>, shape: &[u64], mask: Option<Vec<u8>>| {
        body.push_str(&format!("{name}: !{} {text}\n", era.ndarray));
        let mut sample = Sample::new(name, "", None, Vec::new(), elements, shape);
        sample.mask = mask;
        expected.insert(format!("/{name}"), sample);
    };
    let ints: Vec<u8> = [1i64, -2, 3, 4].iter().flat_map(|n| n.to_le_bytes()).collect();
    add("bare", "[[1, -2], [3, 4]]".to_owned(), ints.clone(), &[2, 2], None);
    add("data", format!("{{data: [[1, -2], [3, 4]], {key}: int64, shape: [2, 2]}}"), ints, &[2, 2], None);
    let small: Vec<u8> = [1i16, 0, 3].iter().flat_map(|n| n.to_le_bytes()).collect();
    add("holes", format!("{{data: [1, null, 3], {key}: int16}}"), small, &[3], Some(vec![0, 1, 0]));
    let floats: Vec<u8> = [1.5f64, f64::INFINITY, -0.0].iter().flat_map(|x| x.to_le_bytes()).collect();
    add("floats", "{data: [1.5, .inf, -0.0]}".to_owned(), floats, &[3], None);
    let pair: Vec<u8> = [1.0f64, 2.0, 0.0, -1.0].iter().flat_map(|x| x.to_le_bytes()).collect();
    add("pairs", format!("{{data: [!{complex} 1+2j, !{complex} -1j]}}"), pair, &[2], None);
    let words: Vec<u8> = ["ab\0", "c\u{3b1}d"].iter().flat_map(|t| t.chars()).flat_map(|c| (c as u32).to_le_bytes()).collect();
    add("words", "{data: [ab, \"c\\u03b1d\"]}".to_owned(), words, &[2], None);
    let row: Vec<u8> = [[1u8, 2, 0], [3, 4, 0]].concat();
    let fields = format!("[{{name: a, {key}: uint8}}, {{name: b, {key}: uint16, byteorder: little}}]");
    add("rows", format!("{{data: [[1, 2], [3, 4]], {key}: {fields}, shape: [2]}}"), row, &[2], None);
}

fn digests(file: &AsdfFile) -> BTreeMap<String, check::Digest> {
    let entry = |entry: check::DigestEntry| {
        let path = entry.path;
        (path.clone(), entry.digest.unwrap_or_else(|e| panic!("{path}: {e}")).1)
    };
    check::digest(file).unwrap().into_iter().map(entry).collect()
}

fn check(file: &AsdfFile, expected: &BTreeMap<String, Sample>, context: &str, with_lossy: bool) {
    let got = digests(file);
    for (path, sample) in expected.iter().filter(|(_, sample)| with_lossy || !sample.lossy) {
        let digest = got.get(path).unwrap_or_else(|| panic!("{context}: {path} is gone"));
        let array = file.array_at(path).unwrap();
        assert_eq!(array.shape(), sample.shape, "{context}: {path}");
        assert_eq!(digest.sha256[..], Sha256::digest(&sample.elements)[..], "{context}: {path}");
        let mask = sample.mask.as_ref().map(|mask| Sha256::digest(mask).to_vec());
        assert_eq!(digest.mask_sha256.map(|sum| sum.to_vec()), mask, "{context}: {path}: mask");
    }
    assert_eq!(got.len(), expected.len(), "{context}: {:?}", got.keys());
}

#[test]
fn every_array_reads_and_converts() {
    for (number, era) in ERAS.iter().enumerate() {
        for (i, layout) in
            [Layout { crlf: false, padding: 0, slack: 0 }, Layout { crlf: true, padding: 3000, slack: 7 }].into_iter().enumerate()
        {
            let context = format!("{number} {} {layout:?}", era.name);
            let (bytes, expected) = file(era, layout);
            let made = open_asdf_bytes(bytes.clone()).unwrap_or_else(|e| panic!("{context}: {e}"));
            assert_eq!(made.sections().generation_name(), era.name, "{context}");
            assert_eq!(made.warnings(), Vec::<String>::new(), "{context}");
            check(&made, &expected, &context, true);
            assert!(made.tree().node_at_pointer("/nothing").unwrap().is_null());
            // Every target is written as well, but only from the first layout, to save time.
            if i == 1 {
                continue;
            }
            for target in TARGETS {
                let mut options = ConvertOptions::default();
                options.allow_loss = true;
                let mut out = Cursor::new(Vec::new());
                let done = convert_to(&made, target, &mut out, &options, Progress::default())
                    .unwrap_or_else(|e| panic!("{context} {}: {e}", target.name));
                let lossy = expected.values().filter(|sample| sample.lossy).count();
                let keeps_half = target.float16 && era.can.contains('h');
                assert_eq!(done.losses.len(), if keeps_half { 0 } else { lossy }, "{context} {}: {:?}", target.name, done.losses);
                let new = open_asdf_bytes(out.into_inner()).unwrap();
                check(&new, &expected, &format!("{context} to {}", target.name), keeps_half);
                assert!(
                    check::verify(&new, VerifyDepth::Decoded, Progress::default()).unwrap().is_ok(),
                    "{context} {}",
                    target.name
                );
            }
        }
    }
}

/// A file cut to any length is read as far as it goes, or refused: never a wrong array, never a panic.
#[test]
fn files_cut_short_never_give_wrong_arrays() {
    for era in ERAS {
        let (bytes, expected) = file(era, Layout { crlf: false, padding: 10, slack: 3 });
        let step = bytes.len() / 40 + 1;
        for len in (0..bytes.len()).step_by(step) {
            let Ok(made) = open_asdf_bytes(bytes[..len].to_vec()) else { continue };
            for entry in check::digest(&made).unwrap_or_default() {
                // A stream is as long as its file.
                if let (Ok((_, digest)), Some(sample)) = (&entry.digest, expected.get(&entry.path))
                    && entry.path != "/stream"
                {
                    assert_eq!(
                        digest.sha256[..],
                        Sha256::digest(&sample.elements)[..],
                        "{} cut to {len}: {}",
                        era.name,
                        entry.path
                    );
                }
            }
        }
    }
}

/// A folder in memory.
#[derive(Debug, Clone)]
struct Folder(Arc<BTreeMap<String, Vec<u8>>>);

impl Resolve for Folder {
    fn resolve(&self, uri: &str) -> Result<(SourceRef, Arc<dyn Resolve>)> {
        let bytes = self.0.get(uri).ok_or_else(|| Error::limit(format!("{uri:?} is not there")))?;
        Ok((Arc::new(MemorySource::new(bytes.clone(), uri)), Arc::new(self.clone())))
    }
}

/// External blocks and references between files, as each era named them: `0.finf`, `base0000.asdf`, one `../`
/// too many until 2015-03, fragments without the leading slash, a file whose tree is missing or holds nothing but
/// the library's name, a tree-less file with an index.
#[test]
fn references_between_files_resolve_in_every_spelling() {
    for era in ERAS {
        let order = if era.always_order { "byteorder: big, " } else { "" };
        let node = |source: &str| format!("!{} {{{order}{}: uint8, shape: [3], source: {source}}}", era.ndarray, era.key);
        let up = if era.header == "#ASDF 1.0.0" { "" } else { "../" };
        let body = format!(
            "a: {}\nb: {}\nc: {}\nslash: {{$ref: '{up}target.asdf#/cool/f~0o~0o~1/a'}}\nplain: {{$ref: 'target.asdf#cool/f~0o~0o~1/a'}}\n\
             own: {{$ref: '#a'}}\nitem: {{$ref: 'target.asdf#list/1'}}\n",
            node("0.finf"),
            node(&format!("{up}base0000.asdf")),
            node("base0001.asdf")
        );
        let file = |body: &str| {
            format!("{}\n{}%YAML 1.1\n%TAG ! {}\n--- !{}\n{body}...\n", era.header, era.comments, era.prefix, era.root)
        };
        let external = |n: u8, tree: &str| {
            let mut bytes = format!("{}\n{}{tree}", era.header, era.comments).into_bytes();
            let at = bytes.len();
            bytes.extend(block(era.head, &[n, n + 1, n + 2], 3, false, &[0; 4]));
            if era.can.contains('x') {
                bytes.extend(format!("#ASDF BLOCK INDEX\n%YAML 1.1\n---\n- {at}\n...\n").bytes());
            }
            bytes
        };
        let library = format!("%YAML 1.1\n%TAG ! {}\n--- !{}\nasdf_library: {{name: pyasdf}}\n...\n", era.prefix, era.root);
        let target = format!("cool:\n  f~o~o/:\n    a: {}\nlist: [1, 42]\n", node("base0001.asdf"));
        let folder = Folder(Arc::new(BTreeMap::from([
            ("0.finf".to_owned(), external(1, "")),
            ("base0000.asdf".to_owned(), external(4, &library)),
            ("base0001.asdf".to_owned(), external(7, "")),
            ("target.asdf".to_owned(), file(&target).into_bytes()),
        ])));
        let open = |bytes: Vec<u8>| {
            open_asdf_source(Arc::new(MemorySource::new(bytes, "main")), Arc::new(folder.clone()), &Limits::default()).unwrap()
        };
        let main = open(file(&body).into_bytes());
        let holds = |file: &AsdfFile, context: &str| {
            for (path, first) in [("/a", 1), ("/b", 4), ("/c", 7), ("/slash", 7), ("/plain", 7), ("/own", 1)] {
                let array = file.array_at(path).unwrap_or_else(|e| panic!("{context} {path}: {e}"));
                assert_eq!(array.load::<u8>().unwrap(), [first, first + 1, first + 2], "{context} {path}");
            }
            let found = trilith::asdf::find(file, "/item").unwrap();
            assert_eq!(found.node(file).as_i64(), Some(42), "{context}");
        };
        holds(&main, era.name);
        for target in TARGETS {
            let mut out = Cursor::new(Vec::new());
            convert_to(&main, target, &mut out, &ConvertOptions::default(), Progress::default()).unwrap();
            holds(&open(out.into_inner()), &format!("{} to {}", era.name, target.name));
        }
    }
}

/// Trees without blocks: the document end at the very end of the file, DOS line ends, an empty mapping, nothing.
#[test]
fn trees_alone_end_in_every_way() {
    for era in ERAS {
        let start = format!("{}\n{}%YAML 1.1\n%TAG ! {}\n--- !{}", era.header, era.comments, era.prefix, era.root);
        let plain = Target::latest();
        for (text, keys) in [
            (format!("{start}\na: 1\n...\n"), 1),
            (format!("{start}\na: 1\n..."), 1),
            (format!("{start}\na: 1\n...\n\n   "), 1),
            (format!("{start} {{}}\n...\n"), 0),
            (format!("{start} {{}}\n..."), 0),
            (format!("{start} {{a: 1}}\n...\n").replace('\n', "\r\n"), 1),
            (format!("{}\n", era.header), 0),
            (format!("{}\r\n", era.header), 0),
        ] {
            let source = Arc::new(MemorySource::new(text.clone().into_bytes(), "x"));
            let made =
                open_asdf_source(source, Arc::new(NoReferences), &Limits::default()).unwrap_or_else(|e| panic!("{text:?}: {e}"));
            assert_eq!(made.tree().root().len(), keys, "{text:?}");
            let mut out = Cursor::new(Vec::new());
            convert_to(&made, plain, &mut out, &ConvertOptions::default(), Progress::default())
                .unwrap_or_else(|e| panic!("{text:?}: {e}"));
            let new = open_asdf_bytes(out.into_inner()).unwrap();
            assert_eq!(new.tree().node_at_pointer("/a").and_then(|node| node.as_i64()).is_some(), keys == 1, "{text:?}");
        }
    }
}

/// Keys without a value are refused: the schema requires their values.
#[test]
fn null_keys_are_refused_by_every_reader() {
    let body = "a: !core/ndarray-1.0.0 {source: null, data: [1, 2], datatype: uint8, mask: null, offset: null, strides: null, shape: null}\n\
        b: !core/ndarray-1.0.0 {source: 0, datatype: uint8, byteorder: big, shape: [2], mask: null, strides: null, offset: ~}\n";
    let head = |body: &str| format!("#ASDF 1.0.0\n%YAML 1.1\n%TAG ! {ASDF}\n--- !core/asdf-1.0.0\n{body}...\n");
    let file = |body: &str| [head(body).into_bytes(), block(Head::G, &[1, 2], 2, false, &[0; 4])].concat();
    let made = open_asdf_bytes(file(body)).unwrap();
    assert!(["/a", "/b"].iter().all(|path| made.array_at(path).is_err_and(|error| error.message().contains("ndarray is null"))));
    let nulls =
        ["source: null, ", ", mask: null, offset: null, strides: null, shape: null", ", mask: null, strides: null, offset: ~"];
    let made = open_asdf_bytes(file(&nulls.iter().fold(body.to_owned(), |body, null| body.replace(null, "")))).unwrap();
    for target in TARGETS {
        let mut out = Cursor::new(Vec::new());
        convert_to(&made, target, &mut out, &ConvertOptions::default(), Progress::default()).unwrap();
        let new = open_asdf_bytes(out.into_inner()).unwrap();
        assert_eq!(digests(&new), digests(&made), "{}", target.name);
    }
}
