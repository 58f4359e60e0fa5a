//! The four documents of the ASDF family by the letter, with files put together byte by byte: what a document allows is
//! read, and `conform` reports what departs from it and nothing else.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may stop where things are not as expected"
)]

use std::sync::Arc;

use proptest::prelude::*;
use trilith::array::Array;
use trilith::asdf::{self, AsdfFile};
use trilith::assemble::{self, BlockCodec};
use trilith::bytes::{MemorySource, NoReferences};
use trilith::check::{ConformOptions, ConformityReport, StandardDocument, VerifyDepth, conform};
use trilith::file::open_asdf_bytes;
use trilith::{ErrorKind, Limits};

fn be(n: usize) -> [u8; 8] {
    (n as u64).to_be_bytes()
}

fn open(bytes: &[u8]) -> AsdfFile {
    open_asdf_bytes(bytes.to_vec()).unwrap_or_else(|e| panic!("{e}\n{}", bytes.escape_ascii()))
}

fn checked(bytes: &[u8], document: &str) -> ConformityReport {
    let source = Arc::new(MemorySource::new(bytes.to_vec(), "x.asdf"));
    let document = StandardDocument::from_name(document).unwrap();
    conform(source, Arc::new(NoReferences), document, &ConformOptions::default(), &Limits::default()).unwrap()
}

/// What departs from the document: section, sentence and message.
fn deviations(bytes: &[u8], document: &str) -> Vec<(&'static str, u16, String)> {
    let found = checked(bytes, document).deviations.into_iter();
    found.map(|deviation| (deviation.rule.section, deviation.rule.sentence, deviation.message)).collect()
}

/// A file of one document: its parts before the blocks.
fn head(document: &str, body: &str) -> Vec<u8> {
    let (line, prefix, root) = match document {
        "finf-0.1" => ("%FINF 0.1.0", "finf/0.1.0/", "core/finf"),
        "asdf-0.1-dev" => ("%ASDF 0.1.0", "asdf/0.1.0/", "core/asdf"),
        "asdf-0.1" => ("#ASDF 0.1.0", "asdf/0.1.0/", "core/asdf"),
        _ => ("#ASDF 1.0.0", "asdf/", "core/asdf-1.1.0"),
    };
    format!("{line}\n%YAML 1.1\n%TAG ! tag:stsci.edu:{prefix}\n--- !{root}\n{body}...\n").into_bytes()
}

/// How a block is stored, as its document has it.
#[derive(Debug, Clone, Copy)]
struct Stored<'a> {
    flags: u32,
    allocated: usize,
    memory: usize,
    checksum: &'a [u8],
    grown: u16,
    extra: u8,
}

/// A block of a document: its magic number and the fields that it lists, enlarged by `grown` bytes.
fn block(document: &str, how: Stored<'_>, data: &[u8]) -> Vec<u8> {
    let (mark, size): (&[u8], u16) = match document {
        "finf-0.1" => (b"\x89BLK", 40),
        "asdf-0.1-dev" => (b"\x89BLK", 44),
        "asdf-0.1" => (b"\xd3BLK", 36),
        _ => (b"\xd3BLK", 48),
    };
    let streamed = how.flags & 1 != 0;
    let sizes = if streamed { [be(0), be(0)] } else { [be(how.allocated), be(data.len())] }.concat();
    let flags = how.flags.to_be_bytes();
    let memory = be(if streamed { 0 } else { how.memory });
    let checksum = |len: usize| how.checksum.iter().copied().chain(std::iter::repeat(0)).take(len).collect::<Vec<u8>>();
    let fields = match document {
        "finf-0.1" => [&sizes[..], &checksum(8), &[0; 16]].concat(),
        "asdf-0.1-dev" => [&flags[..], &sizes, &checksum(8), &[0; 16]].concat(),
        "asdf-0.1" => [&flags[..], &sizes, &memory, &checksum(8)].concat(),
        _ => [&flags[..], &[0; 4], &sizes, &memory, &checksum(16)].concat(),
    };
    assert_eq!(fields.len(), usize::from(size));
    let mut bytes = [mark, &(size + how.grown).to_be_bytes(), &fields].concat();
    bytes.resize(bytes.len() + usize::from(how.grown), how.extra);
    bytes.extend_from_slice(data);
    if !streamed {
        bytes.resize(bytes.len() + how.allocated - data.len(), 0);
    }
    bytes
}

fn plain(document: &str, data: &[u8]) -> Vec<u8> {
    block(document, Stored { flags: 0, allocated: data.len(), memory: data.len(), checksum: &[], grown: 0, extra: 0 }, data)
}

fn array_of(document: &str, name: &str, source: i64, shape: &str) -> String {
    let key = if matches!(document, "finf-0.1" | "asdf-0.1-dev") { "dtype" } else { "datatype" };
    let tag = if document == "asdf-1.x" { "core/ndarray-1.1.0" } else { "core/ndarray" };
    format!("{name}: !{tag} {{source: {source}, {key}: uint8, byteorder: big, shape: {shape}}}\n")
}

const DOCUMENTS: [&str; 4] = ["finf-0.1", "asdf-0.1-dev", "asdf-0.1", "asdf-1.x"];

/// All four, "Block header": parsers "should not assume a fixed size of the header, but should obey the header_size".
#[test]
fn enlarged_block_headers_read_with_any_checksum() {
    let one = md5(b"\x01\x02\x03");
    for document in DOCUMENTS {
        for grown in trilith_sample::sample("sizes of block headers", (0..=65u16).collect(), 6) {
            for (first, data) in [("empty", &b""[..]), ("padded", b"\x07\x08"), ("full", b"\x07\x08\x09")] {
                for checksum in [&[][..], &one] {
                    for extra in [0, 0xff] {
                        let allocated = if first == "padded" { 20 } else { data.len() };
                        let sum = if checksum.is_empty() { Vec::new() } else { md5(data) };
                        let how = Stored { flags: 0, allocated, memory: data.len(), checksum: &sum, grown, extra };
                        let second = Stored { allocated: 3, memory: 3, checksum, ..how };
                        let body = array_of(document, "a", 1, "[3]");
                        let blocks = [block(document, how, data), block(document, second, &[1, 2, 3])].concat();
                        let bytes = [head(document, &body), blocks].concat();
                        let context = format!("{document} +{grown} {first} {} {extra}", checksum.len());
                        let array = open(&bytes).array_at("/a").unwrap_or_else(|e| panic!("{context}: {e}"));
                        assert_eq!(array.load::<u8>().unwrap(), [1, 2, 3], "{context}");
                        let found = deviations(&bytes, document);
                        assert!(found.is_empty(), "{context}: {found:?}");
                    }
                }
            }
            if document != "finf-0.1" {
                for extra in [0, 0xff] {
                    let how = Stored { flags: 1, allocated: 0, memory: 0, checksum: &[], grown, extra };
                    let bytes = [head(document, &array_of(document, "a", 0, "['*']")), block(document, how, &[1, 2, 3])].concat();
                    let array = open(&bytes).array_at("/a").unwrap_or_else(|e| panic!("{document} +{grown}: {e}"));
                    assert_eq!(array.load::<u8>().unwrap(), [1, 2, 3], "{document} +{grown} {extra}");
                    assert!(deviations(&bytes, document).is_empty(), "{document} +{grown} {extra}");
                }
            }
        }
    }
}

fn md5(bytes: &[u8]) -> Vec<u8> {
    // The two sums that the test needs, as md5sum prints them, and that of nothing.
    let hex = match bytes {
        [] => "d41d8cd98f00b204e9800998ecf8427e",
        [1, 2, 3] => "5289df737df57326fcdd22597afb1fac",
        [7, 8] => "31540cf0b21cd8513d3dbc7192d8cad1",
        _ => "591e40ba188fb59539b7cbff99f58215",
    };
    (0..16).map(|n| u8::from_str_radix(&hex[2 * n..2 * n + 2], 16).unwrap()).collect()
}

/// 0.1.0, "Block encoding": the chain states values, and each array that views them states its own byte order.
fn quantized(values: &[f64]) -> Vec<u8> {
    let mut chunk = vec![64];
    chunk.extend_from_slice(&0f64.to_be_bytes());
    chunk.extend_from_slice(&0.5f64.to_be_bytes());
    chunk.extend_from_slice(&be(values.len()));
    for value in values {
        chunk.extend_from_slice(&((value * 2.0) as i64).to_be_bytes());
    }
    let yaml = format!("--- [[quantize, {{dtype: 64, original_shape: [{}]}}]]\n...\n", values.len());
    let data = [yaml.as_bytes(), &chunk].concat();
    let how = Stored { flags: 2, allocated: data.len(), memory: values.len() * 8, checksum: &[], grown: 0, extra: 0 };
    block("asdf-0.1", how, &data)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// Every view of a quantized block has the values of its elements, in each byte order, and without a whole array beside it.
    #[test]
    fn views_of_quantized_blocks_have_their_values(
        len in 1usize..30, start in 0usize..30, step in 1i64..4, backwards: bool, little: bool, whole: bool, other: bool,
        axes in 1usize..3, turned: bool,
    ) {
        let values: Vec<f64> = (0..len).map(|n| n as f64 * 0.5 - 3.0).collect();
        let start = start % len;
        let step = if backwards { -step } else { step };
        let room = if backwards { start } else { len - 1 - start };
        let count = room / step.unsigned_abs() as usize + 1;
        let want: Vec<f64> = (0..count).map(|n| values[(start as i64 + n as i64 * step) as usize]).collect();
        let order = |little: bool| if little { "little" } else { "big" };
        let (shape, strides) = match axes {
            1 => (format!("[{count}]"), format!("[{}]", step * 8)),
            _ if turned => (format!("[{count}, 1]"), format!("[{}, {}]", step * 8, step * 8 * count as i64)),
            _ => (format!("[1, {count}]"), format!("[{}, {}]", step * 8 * count as i64, step * 8)),
        };
        let mut body = format!(
            "v: !core/ndarray {{source: 0, datatype: float64, byteorder: {}, shape: {shape}, offset: {}, strides: {strides}}}\n",
            order(little), start * 8,
        );
        if whole {
            body.push_str(&format!(
                "w: !core/ndarray {{source: 0, datatype: float64, byteorder: {}, shape: [{len}]}}\n", order(other),
            ));
        }
        let bytes = [head("asdf-0.1", &body), quantized(&values)].concat();
        let file = open(&bytes);
        if whole {
            prop_assert_eq!(file.array_at("/w").unwrap().load::<f64>().unwrap(), values);
        }
        prop_assert_eq!(file.array_at("/v").unwrap().load::<f64>().unwrap(), want.clone());
        prop_assert!(deviations(&bytes, "asdf-0.1").is_empty());
        // Copied as bytes they are right for every array, or refused.
        let mut out = std::io::Cursor::new(Vec::new());
        let target = asdf::Target::from_name("asdf-1.6").unwrap();
        let options = trilith::convert::ConvertOptions::default();
        match trilith::convert::convert_to(&file, target, &mut out, &options, trilith::Progress::default()) {
            Ok(_) => {
                let made = open(&out.into_inner());
                prop_assert_eq!(made.array_at("/v").unwrap().load::<f64>().unwrap(), want);
            }
            Err(error) => {
                prop_assert!(whole && little != other, "{}", error);
                prop_assert_eq!(error.kind(), ErrorKind::Unsupported);
            }
        }
    }
}

/// 1.x, "Block index": "the spec allows for extra unallocated space after the tree and between blocks", and the index is
/// "completely optional".
#[test]
fn unused_space_accepts_any_bytes() {
    let document = "asdf-1.x";
    let body = [array_of(document, "a", 0, "[3]"), array_of(document, "b", 1, "[3]"), array_of(document, "c", 2, "[1]")].concat();
    let noise: Vec<u8> = (0..200u8).map(|n| n.wrapping_mul(37)).collect();
    let gaps: [&[u8]; 9] =
        [b"", b" ", b"\0\0\0", b"unused space", b"BLK", b"x\xd3BLK", b"x\xd3BLK\0\x30junk", b".\xd3BLK\xff", &noise];
    for gap in gaps {
        for index in ["right", "stale", "none"] {
            let mut bytes = head(document, &body);
            let mut offsets = Vec::new();
            for data in [&[1, 2, 3][..], &[4, 5, 6], &[7]] {
                if !offsets.is_empty() {
                    bytes.extend_from_slice(gap);
                }
                offsets.push(bytes.len() + usize::from(index == "stale"));
                bytes.extend(plain(document, data));
            }
            if index != "none" {
                bytes.extend_from_slice(format!("#ASDF BLOCK INDEX\n%YAML 1.1\n--- {offsets:?}\n...\n").as_bytes());
            }
            let context = format!("{:?} {index}", gap.escape_ascii().to_string());
            let file = open(&bytes);
            for (path, want) in [("/a", &[1, 2, 3][..]), ("/b", &[4, 5, 6]), ("/c", &[7])] {
                let array = file.array_at(path).unwrap_or_else(|e| panic!("{context}: {e}"));
                assert_eq!(array.load::<u8>().unwrap(), want, "{context}");
            }
            if index != "stale" {
                assert_eq!(deviations(&bytes, document), [], "{context}");
            }
        }
    }
}

/// A block whose magic number or size is damaged is not unused space: those after it would go by wrong numbers.
#[test]
fn damaged_block_is_not_unused_space() {
    let document = "asdf-1.x";
    let body = [array_of(document, "a", 0, "[3]"), array_of(document, "b", 1, "[3]"), array_of(document, "c", 2, "[1]")].concat();
    let whole = |damage: &dyn Fn(&mut Vec<u8>, &mut Vec<u8>)| {
        let (mut first, mut second) = (plain(document, &[1, 2, 3]), plain(document, &[4, 5, 6]));
        damage(&mut first, &mut second);
        [head(document, &body), first, second, plain(document, &[7])].concat()
    };
    type Damage<'d> = &'d dyn Fn(&mut Vec<u8>, &mut Vec<u8>);
    let cases: [Damage<'_>; 3] =
        [&|_, second| second[1] = b'b', &|_, second| second[..30].fill(0xff), &|first, _| first[21] = 10];
    for (number, damage) in cases.iter().enumerate() {
        let bytes = whole(damage);
        let file = open(&bytes);
        for path in ["/b", "/c"] {
            let read = file.array_at(path).and_then(|array| array.load::<u8>());
            assert!(
                read.is_err() || read.as_deref().unwrap() == if path == "/b" { &[4, 5, 6][..] } else { &[7] },
                "{number} {path}"
            );
        }
        assert!(file.sections().all_blocks().is_err(), "{number}: nothing may be written from it");
    }
}

/// 0.1.0dev, 3.2: a reference "should be treated as having the same logical content as the target".
#[test]
fn references_within_ndarray_are_followed() {
    let body = "mask: !core/ndarray {data: [true, false, true], dtype: bool8}\n\
        shape: [3]\nn: 3\none: {$ref: \"#/n\"}\ntype: int16\ntable: [{name: x, dtype: {$ref: \"#/type\"}}]\nwords: [1, 2, 3]\n";
    let data = plain("asdf-0.1-dev", &[0, 1, 0, 2, 0, 3]);
    for (keys, want) in [
        ("source: 0, dtype: int16, byteorder: big, shape: [3], mask: {$ref: \"#/mask\"}", [None, Some(2), None]),
        ("source: 0, dtype: int16, byteorder: big, shape: {$ref: \"#/shape\"}", [Some(1), Some(2), Some(3)]),
        ("source: 0, dtype: int16, byteorder: big, shape: [{$ref: \"#/one\"}]", [Some(1), Some(2), Some(3)]),
        ("source: 0, dtype: {$ref: \"#/type\"}, byteorder: big, shape: [3]", [Some(1), Some(2), Some(3)]),
        ("source: 0, dtype: int16, byteorder: big, shape: [3], mask: {$ref: \"#/two\"}", [Some(1), None, Some(3)]),
        ("data: {$ref: \"#/words\"}", [Some(1), Some(2), Some(3)]),
        ("data: [1, {$ref: \"#/two\"}, {$ref: \"#/one\"}]", [Some(1), Some(2), Some(3)]),
    ] {
        let body = format!("a: !core/ndarray {{{keys}}}\ntwo: 2\n{body}");
        let bytes = [head("asdf-0.1-dev", &body), data.clone()].concat();
        let array = open(&bytes).array_at("/a").unwrap_or_else(|e| panic!("{keys}: {e}"));
        assert_eq!(masked(&array), want, "{keys}");
        assert_eq!(deviations(&bytes, "asdf-0.1-dev"), [], "{keys}");
    }
    let bytes = head("asdf-0.1-dev", "a: !core/ndarray {data: {$ref: \"#/a\"}}\n");
    assert!(open(&bytes).array_at("/a").is_err());
}

/// The elements as integers, masked ones as None.
fn masked(array: &Array) -> Vec<Option<i64>> {
    let marks = array.mask_bytes().unwrap().unwrap_or_else(|| vec![0; array.element_count() as usize]);
    let values = array.load_as::<i64>().unwrap();
    values.into_iter().zip(marks).map(|(value, mark)| (mark == 0).then_some(value)).collect()
}

/// 0.1.0dev, 4.1.3, inline-data: an item may be null, whatever else masks the array.
#[test]
fn null_in_inline_data_adds_to_mask() {
    for (mask, want) in [
        ("", [Some(1), None, Some(3)]),
        (", mask: -1", [Some(1), None, Some(3)]),
        (", mask: 3", [Some(1), None, None]),
        (", mask: 0", [Some(1), None, Some(3)]),
        (", mask: !core/ndarray [true, false, false]", [None, None, Some(3)]),
        (", mask: !core/ndarray {data: [false]}", [Some(1), None, Some(3)]),
    ] {
        let bytes = head("asdf-0.1-dev", &format!("a: !core/ndarray {{data: [1, null, 3]{mask}}}\n"));
        assert_eq!(masked(&open(&bytes).array_at("/a").unwrap()), want, "{mask}");
    }
    let table = "a: !core/ndarray {data: [[1, null], [null, b]], dtype: [uint8, [ascii, 2]], shape: [2]}\n";
    let error = open(&head("asdf-0.1-dev", table)).array_at("/a").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    let rows = "a: !core/ndarray {data: [[1, a], null], dtype: [uint8, [ascii, 2]], shape: [2]}\n";
    assert_eq!(open(&head("asdf-0.1-dev", rows)).array_at("/a").unwrap().mask_bytes().unwrap(), Some(vec![0, 1]));
}

/// 0.1.0, "Block encoding": "This YAML may have any length".
#[test]
fn chain_yaml_accepts_any_length() {
    for len in [0, 4000, 4096, 100_000, 3_000_000] {
        let yaml = format!("--- []\n#{}\n...\n", "x".repeat(len));
        let data = [yaml.as_bytes(), &[1, 2, 3]].concat();
        let how = Stored { flags: 2, allocated: data.len(), memory: 3, checksum: &[], grown: 0, extra: 0 };
        let bytes = [head("asdf-0.1", &array_of("asdf-0.1", "a", 0, "[3]")), block("asdf-0.1", how, &data)].concat();
        assert_eq!(open(&bytes).array_at("/a").unwrap().load::<u8>().unwrap(), [1, 2, 3], "{len}");
        assert_eq!(deviations(&bytes, "asdf-0.1"), [], "{len}");
    }
}

/// All, "Tree": a tree ends before the magic number of a block, with or without its end marker, in whatever text.
#[test]
fn tree_ends_directly_before_block_in_every_generation() {
    for document in DOCUMENTS {
        let whole = head(document, &format!("t: \"\u{249}BLK \u{20249}\u{e9}BLK\"\n{}", array_of(document, "a", 0, "[3]")));
        let tree = whole.strip_suffix(b"...\n").unwrap();
        for (end, conforms) in [("...\n", true), ("...\r\n", true), ("...", false), ("", false), ("... # end\n", false)] {
            for mark in [0x89, 0xd3] {
                let mut block = plain(document, &[1, 2, 3]);
                block[0] = mark;
                let bytes = [tree, end.as_bytes(), &block].concat();
                let context = format!("{document} {end:?} {mark:x}");
                let array = open(&bytes).array_at("/a").unwrap_or_else(|e| panic!("{context}: {e}"));
                assert_eq!(array.load::<u8>().unwrap(), [1, 2, 3], "{context}");
                let found = deviations(&bytes, document);
                let of_tree = found.iter().any(|(section, ..)| *section == "Tree" || *section == "2.2");
                assert_eq!(of_tree, !conforms, "{context}: {found:?}");
                assert!(!found.iter().any(|(.., message)| message.contains("UTF-8")), "{context}: {found:?}");
            }
        }
    }
}

/// 0.1.0dev, 4.1.3, shape: `*` is as many rows as there are, in whichever direction they go.
#[test]
fn streams_are_read_in_either_direction() {
    let document = "asdf-0.1-dev";
    let how = Stored { flags: 1, allocated: 0, memory: 0, checksum: &[], grown: 0, extra: 0 };
    let stream = block(document, how, &[0, 1, 2, 3, 4, 5, 6, 7]);
    let array = |keys: &str| {
        let body = format!("a: !core/ndarray {{source: -1, dtype: uint8, {keys}}}\n");
        open(&[head(document, &body), stream.clone()].concat()).array_at("/a").and_then(|array| array.load::<u8>())
    };
    assert_eq!(array("shape: ['*'], offset: 7, strides: [-1]").unwrap(), [7, 6, 5, 4, 3, 2, 1, 0]);
    assert_eq!(array("shape: ['*'], offset: 5, strides: [-2]").unwrap(), [5, 3, 1]);
    assert_eq!(array("shape: ['*', 2], offset: 7, strides: [-2, -1]").unwrap(), [7, 6, 5, 4, 3, 2, 1, 0]);
    assert_eq!(array("shape: ['*', 2], offset: 6, strides: [-2, 1]").unwrap(), [6, 7, 4, 5, 2, 3, 0, 1]);
    assert_eq!(array("shape: ['*'], offset: 1, strides: [2]").unwrap(), [1, 3, 5]);
    assert!(array("shape: ['*'], offset: 8, strides: [-1]").is_err());
    assert!(array("shape: ['*'], strides: [0]").is_err());
}

/// What departs from a document is reported once, by its sentence; what does not depart is not reported.
#[test]
fn deviations_are_seen_in_both_directions() {
    let (late, early) = ("asdf-1.x", "asdf-0.1-dev");
    let comments = |text: &str| {
        let whole = String::from_utf8(head(late, "a: 1\n")).unwrap();
        whole.replacen("%YAML", &format!("{text}%YAML"), 1).into_bytes()
    };
    assert_eq!(deviations(&comments(&"# some comment\n".repeat(6000)), late), []);
    assert_eq!(deviations(&comments(&format!("#{}\n", "x".repeat(100_000))), late), []);
    for break_ in ["\u{85}", "\u{2028}", "\u{2029}"] {
        for document in DOCUMENTS {
            let bytes = head(document, &format!("a: x{break_}b: 1\n"));
            let found = deviations(&bytes, document);
            assert!(found.iter().any(|(section, sentence, _)| matches!(*section, "Tree" | "2.2") && *sentence == 7), "{found:?}");
        }
    }
    let body = |text: &str| deviations(&head(early, text), early);
    assert_eq!(body("a: {$ref: \"#/\"}\n")[0].1, 6);
    assert_eq!(body("\"\": 1\na: {$ref: \"#/\"}\n"), []);
    assert_eq!(body("data: {$ref: \"#/t\"}\nt: !core/ndarray [1]\n"), []);
    assert_eq!(body("data: {$ref: \"#/t\"}\nt: 5\n")[0].0, "4.1.3");
    assert!(body("a: {$ref: null}\n")[0].2.contains("$ref is null"));
    assert!(body("a: {$ref: }\n")[0].2.contains("$ref is null"));
    assert_eq!(body("a: !core/ndarray {data: [1, 2], mask: !core/ndarray [true, true, true]}\n")[0].1, 58);
    let wide = |point: u32| {
        let body = "a: !core/ndarray {source: 0, dtype: [ucs4, 1], byteorder: big, shape: [1]}\n";
        deviations(&[head(early, body), plain(early, &point.to_be_bytes())].concat(), early)
    };
    assert_eq!(wide(0x10_ffff), []);
    for point in [0x11_0000, 0xd800, u32::MAX] {
        assert_eq!(wide(point)[0].1, 19, "{point:x}");
    }
}

/// 1.x, "Compression": the used bytes are one zlib stream.
#[test]
fn bytes_after_zlib_stream_are_deviation() {
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut encoder, &[1, 2, 3]).unwrap();
    let stream = encoder.finish().unwrap();
    for (behind, count) in [(&b""[..], 0), (b"\0", 1), (b"behind the stream", 1)] {
        let data = [&stream[..], behind].concat();
        let how = Stored { flags: 0, allocated: data.len(), memory: 3, checksum: &[], grown: 0, extra: 0 };
        let mut block = block("asdf-1.x", how, &data);
        block[10..14].copy_from_slice(b"zlib");
        let bytes = [head("asdf-1.x", &array_of("asdf-1.x", "a", 0, "[3]")), block].concat();
        assert_eq!(open(&bytes).array_at("/a").unwrap().load::<u8>().unwrap(), [1, 2, 3]);
        let found = deviations(&bytes, "asdf-1.x");
        assert_eq!(found.len(), count, "{found:?}");
    }
}

/// An index is YAML 1.1, whose integers may be written in other bases.
#[test]
fn index_offsets_accept_hexadecimal_and_octal() {
    let document = "asdf-1.x";
    let blocks = [head(document, &array_of(document, "a", 1, "[1]")), plain(document, &[1])].concat();
    let first = blocks.len() - 55;
    let whole = [blocks.clone(), plain(document, &[2])].concat();
    for list in [format!("[{first:#x}, 0{:o}]", blocks.len()), format!("[{first}, {:#x}]", blocks.len())] {
        let bytes = [whole.clone(), format!("#ASDF BLOCK INDEX\n%YAML 1.1\n--- {list}\n...\n").into_bytes()].concat();
        let file = open(&bytes);
        let report = file.sections().index_report();
        assert_eq!((report.valid, report.problem), (Some(true), None), "{list}");
        assert_eq!(deviations(&bytes, document), [], "{list}");
    }
}

/// 0.1.0, "Block encoding": an unknown encoding makes nothing else "invalid or inaccessible".
#[test]
fn unknown_encoding_leaves_verdict_none() {
    let yaml = b"--- [rice]\n...\nx";
    let how = Stored { flags: 2, allocated: yaml.len(), memory: 3, checksum: &[], grown: 0, extra: 0 };
    let bytes = [head("asdf-0.1", &array_of("asdf-0.1", "a", 0, "[3]")), block("asdf-0.1", how, yaml)].concat();
    for depth in [VerifyDepth::Structure, VerifyDepth::Decoded] {
        let report = trilith::check::verify(&open(&bytes), depth, trilith::Progress::default()).unwrap();
        assert_eq!(report.verdict(), None, "{:?}", report.problems());
    }
}

/// The rest of such a file converts: what cannot be decoded is left out when the caller asks, and listed.
#[test]
fn unknown_encoding_converts_remaining_content() {
    let yaml = b"--- [rice]\n...\nx";
    let how = |flags| Stored { flags, allocated: yaml.len(), memory: 3, checksum: &[], grown: 0, extra: 0 };
    let chain = block("asdf-0.1", how(2), yaml);
    let mut compressed = block("asdf-1.x", how(0), yaml);
    compressed[10..14].copy_from_slice(b"rice");
    let body = |document| {
        let arrays = [("a", 0, "[3]"), ("b", 1, "[2]")].map(|(name, block, shape)| array_of(document, name, block, shape));
        format!("{}list:\n- {}- 7\n", arrays.concat(), array_of(document, "c", 0, "[3]").replacen("c: ", "", 1))
    };
    let cases = [("asdf-0.1", &chain, "asdf-1.6"), ("asdf-1.x", &compressed, "asdf-0.1"), ("asdf-1.x", &compressed, "")];
    for (document, unknown, to) in cases {
        let bytes = [&head(document, &body(document)), &unknown[..], &plain(document, &[8, 9])].concat();
        let file = trilith::OpenOptions::default().open_bytes(bytes).unwrap();
        let mut options = trilith::convert::ConvertOptions::default();
        match to {
            "" => options.set_codec("zlib").unwrap(),
            to => options.to = trilith::convert::TargetForm::Generation(asdf::Target::from_name(to).unwrap()),
        }
        let mut out = std::io::Cursor::new(Vec::new());
        let refused = file.convert_into(&options, &mut out, trilith::Progress::default()).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Unsupported);
        assert!(refused.to_string().contains("--skip-unreadable"), "{refused}");
        options.skip_unreadable = true;
        let mut out = std::io::Cursor::new(Vec::new());
        let done = file.convert_into(&options, &mut out, trilith::Progress::default()).unwrap();
        let lost: Vec<_> = done.losses.iter().map(|loss| loss.path.as_deref()).collect();
        assert_eq!((done.written, lost), (true, vec![Some("/a"), Some("/list/0")]), "{document} to {to}");
        let new = open(&out.into_inner());
        assert_eq!(new.array_at("/b").unwrap().load::<u8>().unwrap(), [8, 9]);
        assert!(new.array_at("/a").is_err());
        let list = new.tree().root().get("list").unwrap();
        let items: Vec<_> = list.items().map(|item| item.text().into_owned()).collect();
        assert_eq!(items.last().map(String::as_str), Some("7"));
        let report = trilith::check::verify(&new, VerifyDepth::Decoded, trilith::Progress::default()).unwrap();
        assert_eq!(report.verdict(), Some(true), "{:?}", report.problems());
    }
}

/// 0.1.0, array-to-array encodings: "shape" of tile; FINF, Block header: the field `encoding`. The message names the place.
#[test]
fn encoding_problem_names_its_location() {
    let yaml = b"--- [[tile, {shape: [0]}]]\n...\nabc";
    let how = Stored { flags: 2, allocated: yaml.len(), memory: 3, checksum: &[], grown: 0, extra: 0 };
    let bytes = [head("asdf-0.1", &array_of("asdf-0.1", "a", 0, "[3]")), block("asdf-0.1", how, yaml)].concat();
    let found = deviations(&bytes, "asdf-0.1");
    assert!(found.iter().any(|(section, sentence, _)| section.contains("array-to-array") && *sentence == 4), "{found:?}");

    let start = head("finf-0.1", &array_of("finf-0.1", "a", 0, "[3]"));
    let mut stored = plain("finf-0.1", &[1, 2, 3]);
    let field = 6 + 8 + 8 + 8;
    stored[field..field + 4].copy_from_slice(b"zlib");
    let error = open(&[&start[..], &stored].concat()).array_at("/a").unwrap_err();
    assert!(error.to_string().contains("\"zlib\" in the field encoding of the block header"), "{error}");
    assert!(error.to_string().contains(&format!("byte {}", start.len() + field)), "{error}");
}

/// FINF, Exploded form: a block is written "including the block header"; the magic number of the document stays.
#[test]
fn documented_magic_number_is_kept() {
    for document in ["finf-0.1", "asdf-0.1-dev"] {
        let bytes = [head(document, &array_of(document, "a", 0, "[3]")), plain(document, &[1, 2, 3])].concat();
        let file = open(&bytes);
        let blocks: Vec<_> = file.sections().all_blocks().unwrap().into_iter().map(|block| (&file, block)).collect();
        for tree in [Some(file.tree().text()), None] {
            let mut out = std::io::Cursor::new(Vec::new());
            let options = asdf::WriteOptions::default();
            assemble::write(&file, tree, &blocks, &mut out, &options, BlockCodec::Keep).unwrap();
            let out = out.into_inner();
            assert!(out.windows(4).any(|window| window == b"\x89BLK"), "{document}");
            assert_eq!(deviations(&out, document), [], "{document}");
        }
    }
}

/// Schema core/ndarray-1.0.0, `dependencies: source: [shape, datatype, byteorder]`. A default would be a guess; FINF alone has
/// one, that of its code.
#[test]
fn incomplete_array_description_is_rejected() {
    let how = Stored { flags: 0, allocated: 4, memory: 4, checksum: &[], grown: 0, extra: 0 };
    let read = |document: &str, node: &str| {
        let mut bytes = head(
            document,
            &format!("a: !core/ndarray{} {{source: 0, {node}}}\n", if document == "asdf-1.x" { "-1.1.0" } else { "" }),
        );
        bytes.extend(block(document, how, &[1, 0, 2, 0]));
        let file = open(&bytes);
        let array = file.array_at("/a").and_then(|array| Ok((array.datatype().to_string(), array.load_as::<i64>()?)));
        (bytes, array)
    };
    for document in ["asdf-1.x", "asdf-0.1", "asdf-0.1-dev"] {
        let key = if document == "asdf-0.1-dev" { "dtype" } else { "datatype" };
        for (node, what) in [
            ("datatpye: int16, byteorder: little, shape: [2]", "datatpye: did you mean datatype?"),
            ("byteorder: little, shape: [2]", "no datatype"),
            ("KEY: null, byteorder: little, shape: [2]", "is null"),
            ("KEY: int16, shape: [2]", "no byteorder"),
            ("KEY: int16, byteorder: null, shape: [2]", "the byteorder of an ndarray is null"),
            ("KEY: int16, byteorder: little", "no shape"),
            ("KEY: int16, byteorder: little, shape: ~", "the shape of an ndarray is null"),
            ("KEY: int16, byteorder: little, shape: [2], offset: null", "the offset of an ndarray is null"),
            ("KEY: int16, byteorder: little, shape: [2], strides: null", "the strides of an ndarray is null"),
            ("KEY: int16, byteorder: little, shape: [2], mask: null", "the mask of an ndarray is null"),
            ("KEY: int16, byteorder: little, shape: [2], data: [7, 8]", "both source and data"),
            ("KEY: [{name: a, KEY: null}], byteorder: little, shape: [2]", "of a field is null"),
            ("KEY: [{name: a, KEY: int16, byteorder: null}], byteorder: little, shape: [2]", "the byteorder of a field is null"),
            ("KEY: [{name: a, datatpye: int16}], byteorder: little, shape: [2]", "datatpye: did you mean datatype?"),
            ("KEY: [{name: a, KEY: [{name: b}]}], byteorder: little, shape: [2]", "a field has no datatype"),
            ("KEY: [{name: a, KEY: uint8}, {name: b, KEY: int16}], shape: [1]", "no byteorder"),
        ] {
            let (bytes, array) = read(document, &node.replace("KEY", key));
            if (document, what) == ("asdf-0.1-dev", "no byteorder") {
                // Until October 2014 its programs left out a byteorder of big.
                let warnings = asdf::deviations(&open(&bytes)).unwrap();
                assert!(
                    warnings.iter().any(|warning| warning.contains("no byteorder, and is read as big-endian")),
                    "{warnings:?}"
                );
                assert!(!node.starts_with("KEY: int16") || array.is_ok_and(|(_, values)| values == [256, 512]), "{node}");
                continue;
            }
            let error = array.err().unwrap_or_else(|| panic!("{document}: {node}"));
            assert_eq!(error.kind(), ErrorKind::Malformed, "{error}");
            assert!(error.to_string().contains(what) || error.advice().is_some_and(|advice| advice.contains(what)), "{error}");
            let report = trilith::check::verify(&open(&bytes), VerifyDepth::Structure, trilith::Progress::default()).unwrap();
            assert!(!report.is_ok(), "{document}: {node}");
        }
        // Bytes have no order, and fields may have their own.
        for node in [
            "KEY: uint8, shape: [4]",
            "KEY: [ascii, 2], shape: [2]",
            "KEY: [{name: b, KEY: int16, byteorder: little}], shape: [2]",
        ] {
            let (_, array) = read(document, &node.replace("KEY", key));
            assert!(!array.err().is_some_and(|error| error.to_string().contains("byteorder")), "{document}: {node}");
        }
    }
    for node in ["datatpye: int16, byteorder: little, shape: [2]", "datatype: null, byteorder: little, shape: [2]"] {
        assert!(!checked(&read("asdf-1.x", node).0, "asdf-1.x").deviations.is_empty());
    }
    let (bytes, array) = read("finf-0.1", "shape: [4]");
    assert_eq!(array.unwrap(), ("uint8".to_owned(), vec![1, 0, 2, 0]));
    let report = trilith::check::verify(&open(&bytes), VerifyDepth::Structure, trilith::Progress::default()).unwrap();
    assert!(report.warnings.iter().any(|warning| warning.contains("no dtype")), "{:?}", report.warnings);
}

/// Schema core/ndarray: no key is null, with inline data neither. First tier.
#[test]
fn null_keys_of_inline_arrays_are_rejected() {
    for document in ["asdf-1.x", "asdf-0.1", "asdf-0.1-dev"] {
        let version = if document == "asdf-1.x" { "-1.1.0" } else { "" };
        for (node, key) in [
            ("data: [1, 2], datatype: null", "datatype"),
            ("data: [1, 2], shape: null", "shape"),
            ("data: [1, 2], mask: null", "mask"),
            ("data: [1, 2], source: null", "source"),
        ] {
            let bytes = head(document, &format!("a: !core/ndarray{version} {{{node}}}\n"));
            let error = open(&bytes).array_at("/a").unwrap_err();
            assert!(error.to_string().contains(&format!("the {key} of an ndarray is null")), "{document}: {error}");
            let report = trilith::check::verify(&open(&bytes), VerifyDepth::Structure, trilith::Progress::default()).unwrap();
            assert!(!report.is_ok(), "{document}: {node}");
        }
    }
}

/// RFC 3986, 3.5: a fragment does not belong to what a URI retrieves. First tier.
#[test]
fn source_fragment_names_same_file() {
    for source in ["x.asdf", "x.asdf#", "x.asdf#/a"] {
        let keys = format!("source: \"{source}\", datatype: uint8, byteorder: big, shape: [2]");
        let text = format!("!<tag:stsci.edu:asdf/core/ndarray-1.1.0> {{{keys}}}");
        let tree = trilith::Tree::parse(&text, &Default::default()).unwrap();
        let origin = asdf::Ndarray::parse(tree.root(), &Default::default()).unwrap().origin;
        assert_eq!(origin, asdf::ElementsOrigin::External("x.asdf".to_owned()), "{source}");
    }
}

/// Schema fits/fits-1.0.0, `required: [header]`: without the cards the scale of the elements is unknown. First tier.
#[test]
fn hdu_without_header_is_rejected() {
    const CARDS: &str = "[[SIMPLE, true], [BITPIX, 8], [NAXIS, 1], [NAXIS1, 3], [BSCALE, 2.0]]";
    let read = |tag: &str, header: &str| {
        let data = "data: !core/ndarray-1.1.0 {source: 0, datatype: uint8, byteorder: big, shape: [3]}";
        let mut bytes = head("asdf-1.x", &format!("fits: {tag}[{{{header}{data}}}]\n"));
        bytes.extend(plain("asdf-1.x", &[1, 2, 3]));
        let file = trilith::OpenOptions::default().open_bytes(bytes).unwrap();
        let read = file.array("/fits/0/data").and_then(|array| array.load_as::<f64>());
        let verified = file.verify(VerifyDepth::Structure, trilith::Progress::default()).unwrap();
        assert_eq!(verified.is_ok(), read.is_ok(), "{header}: {:?}", verified.problems());
        read
    };
    for tag in ["!fits/fits-1.0.0 ", "!fits/fits-1.1.0 ", "!<tag:astropy.org:astropy/fits/fits-1.0.0> "] {
        assert_eq!(read(tag, &format!("header: {CARDS}, ")).unwrap(), [2.0, 4.0, 6.0]);
        for header in
            [String::new(), format!("headre: {CARDS}, "), "header: null, ".to_owned(), "header: {BSCALE: 2.0}, ".to_owned()]
        {
            let error = read(tag, &header).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Malformed, "{header}: {error}");
            let is_misspelt = header.starts_with("headre");
            assert_eq!(error.advice().is_some_and(|advice| advice.contains("did you mean header?")), is_misspelt, "{header}");
        }
    }
    // Another list with this name is not a FITS file.
    assert_eq!(read("", "").unwrap(), [1.0, 2.0, 3.0]);
}

/// A key that is spelt nearly like one that decides how bytes are read is a warning of `verify`. First tier.
#[test]
fn misspelt_optional_keys_are_reported() {
    for (node, near) in [("ofset: 2", "offset"), ("stride: [4]", "strides"), ("maks: 1", "mask")] {
        let mut bytes = head(
            "asdf-1.x",
            &format!("a: !core/ndarray-1.1.0 {{source: 0, datatype: uint8, byteorder: big, shape: [2], {node}}}\n"),
        );
        bytes.extend(plain("asdf-1.x", &[1, 2, 3, 4, 5, 6]));
        let warnings = asdf::deviations(&open(&bytes)).unwrap();
        assert!(warnings.iter().any(|warning| warning.ends_with(&format!("did you mean {near}?"))), "{node}: {warnings:?}");
    }
    let mut bytes =
        head("asdf-1.x", "a: !core/ndarray-1.1.0 {source: 0, datatype: uint8, byteorder: big, shape: [2], unit: m}\n");
    bytes.extend(plain("asdf-1.x", &[1, 2]));
    assert!(asdf::deviations(&open(&bytes)).unwrap().is_empty());
}

/// 1.x, schema core/ndarray: `mask` is a number, a complex number or an ndarray. First tier.
#[test]
fn untagged_mask_masks_nothing() {
    for (document, masked) in [("asdf-1.x", false), ("asdf-0.1", true)] {
        let version = if document == "asdf-1.x" { "-1.1.0" } else { "" };
        let bytes = head(document, &format!("a: !core/ndarray{version} {{data: [1, 2], datatype: int16, mask: [1, 0]}}\n"));
        let array = open(&bytes).array_at("/a").unwrap();
        assert_eq!(array.mask().is_some(), masked, "{document}");
    }
}
