//! Every generation into every other, and files of rows that no code ever wrote, built by hand.
//!
//! The matrix writes a tree with every datatype and storage in each form there is, converts each into
//! each other, and compares digests. The files built by hand follow the documents byte for byte
//! (`asdf-0.1.0-file-layout.rst`, `finf-0.1.0-file-layout.rst` and the block headers of the table of
//! generations): for `quantize`, the mark 0x89, enlarged block headers and the 8-byte mark of the
//! document there is no real file, since no program wrote them; those tests say so.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    reason = "a test may stop where things are not as expected"
)]

use std::collections::BTreeMap;
use std::io::Cursor;
use std::sync::Arc;

use half::f16;
use trilith::array::{Array, Byteorder, Datatype, Field, Mask, StructType};
use trilith::asdf::{ArrayOptions, AsdfBuilder, AsdfFile, FitsArrays, FitsContainer, GENERATIONS, TARGETS, Target};
use trilith::bytes::{MemorySource, Resolve, SourceRef};
use trilith::convert::{CodecChoice, ConversionPlan, ConvertOptions, convert_to};
use trilith::file::open_asdf_bytes;
use trilith::tree::Value;
use trilith::{Error, ErrorKind, Limits, Result, check};

type Digests = BTreeMap<String, (String, Vec<u64>, check::Digest)>;

fn digests(file: &AsdfFile) -> Digests {
    let entry = |entry: check::DigestEntry| {
        let (array, digest) = entry.digest.unwrap_or_else(|e| panic!("{}: {e}", entry.path));
        let plain = array.datatype().packed(Byteorder::Little);
        (entry.path, (plain.to_string(), array.shape().to_vec(), digest))
    };
    check::digest(file).unwrap().into_iter().map(entry).collect()
}

fn converted(file: &AsdfFile, target: &str, options: &ConvertOptions) -> Result<(Vec<u8>, Vec<String>)> {
    let mut out = Cursor::new(Vec::new());
    let done = convert_to(file, Target::from_name(target)?, &mut out, options, trilith::Progress::default())?;
    Ok((out.into_inner(), done.losses.iter().map(ToString::to_string).collect()))
}

/// Converts without loss.
fn to(file: &AsdfFile, target: &str) -> AsdfFile {
    let (bytes, losses) = converted(file, target, &ConvertOptions::default()).unwrap_or_else(|e| panic!("{target}: {e}"));
    assert!(losses.is_empty(), "{target}: {losses:?}");
    open(bytes)
}

fn open(bytes: Vec<u8>) -> AsdfFile {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(600)]).into_owned();
    open_asdf_bytes(bytes).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// An array of every simple datatype that all generations have.
fn simple_arrays() -> Vec<(&'static str, Array)> {
    let floats = [0.0, -0.0, 1.5, -1e300, f64::NAN, f64::INFINITY];
    let complexes: Vec<_> = floats.iter().map(|x| num_complex::Complex::new(*x, -*x)).collect();
    let halves: Vec<_> = complexes.iter().map(|c| num_complex::Complex::new(c.re as f32, c.im as f32)).collect();
    let text = Array::from_bytes(b"ab\0cde".to_vec(), Datatype::Ascii(3), Byteorder::Big, vec![2]).unwrap();
    let wide: Vec<u8> = "a\0µß".chars().flat_map(|c| u32::from(c).to_be_bytes()).collect();
    vec![
        ("int8", Array::from_slice(&[i8::MIN, 0, 1], &[3]).unwrap()),
        ("int16", Array::from_slice(&[i16::MIN, 0, 1], &[3]).unwrap()),
        ("int32", Array::from_slice(&[i32::MIN, 0, 1, 2], &[2, 2]).unwrap()),
        ("int64", Array::from_slice(&[i64::MIN, 0, i64::MAX], &[3]).unwrap()),
        ("uint8", Array::from_slice(&[0u8, 255], &[2]).unwrap()),
        ("uint16", Array::from_slice(&[0u16, 65535], &[2]).unwrap()),
        ("uint32", Array::from_slice(&[0u32, u32::MAX], &[2]).unwrap()),
        ("uint64", Array::from_slice(&[0u64, u64::MAX], &[1, 2, 1]).unwrap()),
        ("float32", Array::from_slice(&floats.map(|x| x as f32), &[2, 3]).unwrap()),
        ("float64", Array::from_slice(&floats, &[3, 2]).unwrap()),
        ("complex64", Array::from_slice(&halves, &[6]).unwrap()),
        ("complex128", Array::from_slice(&complexes, &[6]).unwrap()),
        ("bool8", Array::from_slice(&[true, false, true], &[3]).unwrap()),
        ("ascii", text),
        ("ucs4", Array::from_bytes(wide, Datatype::Ucs4(2), Byteorder::Big, vec![2]).unwrap()),
        ("empty", Array::from_slice::<f32>(&[], &[0, 3]).unwrap()),
    ]
}

fn table() -> Array {
    let inner = StructType::packed_from(vec![
        Field::new("p", Datatype::Uint8, Byteorder::Big),
        Field::new("q", Datatype::Float32, Byteorder::Big).with_shape(vec![2]),
    ]);
    let row = StructType::packed_from(vec![
        Field::new("x", Datatype::Int32, Byteorder::Big),
        Field::new("s", Datatype::Ascii(2), Byteorder::Big),
        Field::new("in", Datatype::Struct(Arc::new(inner.unwrap())), Byteorder::Big),
    ]);
    let bytes: Vec<u8> = (0..45).collect();
    Array::from_bytes(bytes, Datatype::Struct(Arc::new(row.unwrap())), Byteorder::Big, vec![3]).unwrap()
}

/// A file with every datatype and storage, as `target` has them.
fn everything(target: &'static Target) -> AsdfFile {
    let mut builder = AsdfBuilder::new(target);
    let mut tree = Value::map::<&str, Value>([]);
    let codec = if target.generation().fields.compression.is_some() { Some("zlib") } else { None };
    for (name, array) in simple_arrays() {
        for order in [Byteorder::Little, Byteorder::Big] {
            let mut options = ArrayOptions::default();
            options.byteorder = Some(order);
            tree.set(format!("{name}_{order}"), builder.array(&array, &options).unwrap());
        }
        // The tree holds no integers above 63 bits.
        if !matches!(name, "empty" | "uint64") {
            tree.set(format!("{name}_inline"), builder.array(&array, &ArrayOptions::inline()).unwrap());
        }
        if let Some(codec) = codec {
            tree.set(format!("{name}_zlib"), builder.array(&array, &ArrayOptions::codec(codec).unwrap()).unwrap());
        }
    }
    if target.float16 {
        let half = Array::from_slice(&[f16::from_f32(0.1), f16::INFINITY, f16::NEG_ZERO], &[3]).unwrap();
        tree.set("float16", builder.array(&half, &ArrayOptions::default()).unwrap());
        tree.set("float16_inline", builder.array(&half, &ArrayOptions::inline()).unwrap());
    }
    tree.set("table", builder.array(&table(), &ArrayOptions::default()).unwrap());
    tree.set("table_inline", builder.array(&table(), &ArrayOptions::inline()).unwrap());
    let numbers = Array::from_slice(&(0..24).map(f64::from).collect::<Vec<_>>(), &[4, 6]).unwrap();
    let base = builder.array(&numbers, &ArrayOptions::default()).unwrap();
    tree.set("view", builder.view(&base, 16, &[3, 2], Some(&[48, 16])).unwrap());
    tree.set("turned", builder.view(&base, 232 - 48, &[4, 3], Some(&[-48, -8])).unwrap());
    tree.set("base", base);
    let marks = Array::from_slice(&[true, false, false, true], &[2, 2]).unwrap();
    let square = || Array::from_slice(&[1.0f64, f64::NAN, 3.0, 4.0], &[2, 2]).unwrap();
    for (name, mask) in
        [("array", Mask::Array(Arc::new(marks))), ("nan", Mask::Nan), ("number", Mask::Float(3.0)), ("whole", Mask::Integer(4))]
    {
        let masked = square().with_mask(mask).unwrap();
        tree.set(format!("mask_{name}"), builder.array(&masked, &ArrayOptions::default()).unwrap());
    }
    let masked = square().with_mask(Mask::Nan).unwrap();
    tree.set("mask_inline", builder.array(&masked, &ArrayOptions::inline()).unwrap());
    let pairs = [num_complex::Complex::new(1.0f64, 2.0), num_complex::Complex::new(0.5, 0.0)];
    let masked = Array::from_slice(&pairs, &[2]).unwrap().with_mask(Mask::Complex(1.0, 2.0)).unwrap();
    tree.set("mask_complex", builder.array(&masked, &ArrayOptions::default()).unwrap());
    let rows = Array::from_slice(&(0..10i16).collect::<Vec<_>>(), &[5, 2]).unwrap();
    tree.set("rows", builder.array(&rows, &ArrayOptions::streamed()).unwrap());
    tree.set("nested", Value::map([("text", Value::from("a: b")), ("list", Value::seq([1, 2]))]));
    let mut out = Cursor::new(Vec::new());
    builder.write_to(&mut out, tree).unwrap();
    open(out.into_inner())
}

#[test]
fn every_form_into_every_other_keeps_every_value() {
    for from in TARGETS {
        let file = everything(from);
        let expected = digests(&file);
        for into in TARGETS {
            let mut options = ConvertOptions::default();
            if from.float16 && !into.float16 {
                let refused = converted(&file, into.name, &options).unwrap_err();
                assert_eq!(refused.kind(), ErrorKind::InvalidInput);
                for path in ["/float16: the datatype float16 becomes float32", "/float16_inline: the datatype"] {
                    assert!(refused.to_string().contains(path), "{refused}");
                }
                options.allow_loss = true;
            }
            let (bytes, losses) =
                converted(&file, into.name, &options).unwrap_or_else(|e| panic!("{} {}: {e}", from.name, into.name));
            assert_eq!(losses.len(), if options.allow_loss { 2 } else { 0 }, "{losses:?}");
            let made = open(bytes);
            assert_eq!(made.sections().generation().unwrap().name, into.generation, "{}", from.name);
            assert_eq!(made.sections().header().standard(), into.standard);
            assert_eq!(made.tree().root().tag().unwrap(), format!("{}{}", into.tree.prefix, into.tree.root));
            let got = digests(&made);
            for (path, want) in &expected {
                let got = got.get(path).unwrap_or_else(|| panic!("{} -> {}: {path} is gone", from.name, into.name));
                if options.allow_loss && path.starts_with("/float16") {
                    let wide = Array::from_slice(&[f16::from_f32(0.1).to_f32(), f32::INFINITY, -0.0], &[3]).unwrap();
                    assert_eq!(got.2, check::Digest::compute(&wide).unwrap(), "{path}");
                } else {
                    assert_eq!(got, want, "{} -> {}: {path}", from.name, into.name);
                }
            }
            assert_eq!(got.len(), expected.len());
            assert_eq!(made.tree().node_at_pointer("/nested/text").unwrap().text(), "a: b");
            assert_eq!(made.tree().node_at_pointer("/mask_complex/mask").unwrap().tag().unwrap(), into.complex_tag());
            assert!(made.sections().blocks().unwrap().last().unwrap().is_streamed());
            let verified = check::verify(&made, check::VerifyDepth::Decoded, trilith::Progress::default()).unwrap();
            assert!(verified.is_ok(), "{} -> {}: {verified:?}", from.name, into.name);
        }
    }
}

#[test]
fn compressed_blocks_become_chains_only_when_asked() {
    let file = everything(Target::latest());
    let mut options = ConvertOptions::default();
    options.allow_loss = true;
    let plain = open(converted(&file, "asdf-0.1", &options).unwrap().0);
    assert!(plain.sections().blocks().unwrap().iter().all(|block| block.is_uncompressed()));
    options.codec = CodecChoice::from_name("zlib").unwrap();
    let (bytes, _) = converted(&file, "asdf-0.1", &options).unwrap();
    let made = open(bytes);
    let blocks = made.sections().blocks().unwrap();
    let (last, others) = blocks.split_last().unwrap();
    assert!(last.is_streamed() && !last.has_encoding_chain());
    assert!(others.iter().all(|block| made.encoding_names(block).as_deref() == Some(&["zlib".to_owned()])));
    let (got, want) = (digests(&made), digests(&plain));
    assert_eq!(got, want);
    // Back again: a chain is not a codec of the newest form, so its blocks are plain.
    assert_eq!(digests(&to(&made, "asdf-1.6")), want);
    for target in ["finf-0.1", "asdf-0.1-dev"] {
        assert_eq!(converted(&file, target, &options).unwrap_err().kind(), ErrorKind::InvalidInput);
    }
    options.codec = CodecChoice::from_name("lz4").unwrap();
    let refused = converted(&file, "asdf-0.1", &options).unwrap_err();
    assert!(refused.to_string().contains("cannot hold blocks compressed with lz4"), "{refused}");
}

fn image(shape: &[u64]) -> AsdfFile {
    let count = shape.iter().product::<u64>();
    let noise = |i: u64| (i.wrapping_mul(6364136223846793005) >> 40) as f32 / 1e6;
    let values: Vec<f32> = (0..count).map(|i| if i == 5 { f32::NAN } else { 100.0 + noise(i) }).collect();
    let mut builder = AsdfBuilder::new(Target::latest());
    let mut options = ArrayOptions::default();
    options.byteorder = Some(Byteorder::Big);
    let data = builder.array(&Array::from_slice(&values, shape).unwrap(), &options).unwrap();
    let flags = builder.array(&Array::from_slice(&[1u8, 2, 3], &[3]).unwrap(), &ArrayOptions::default()).unwrap();
    let mut out = Cursor::new(Vec::new());
    builder.write_to(&mut out, Value::map([("data", data), ("flags", flags)])).unwrap();
    open(out.into_inner())
}

fn chain(text: &str) -> ConvertOptions {
    let mut options = ConvertOptions::default();
    options.encode = Some(trilith::asdf::parse_chain(text, &Limits::default()).unwrap());
    options
}

#[test]
fn tiles_round_trip_any_rank_with_partial_edges() {
    for (shape, tile) in
        [(&[37u64][..], "[8]"), (&[33, 18], "[8, 8]"), (&[5, 7, 9], "[2, 3, 4]"), (&[2, 3, 4, 5], "[2, 2, 2, 2]")]
    {
        let file = image(shape);
        for text in [format!("[[tile, {{shape: {tile}}}]]"), format!("[[tile, {{shape: {tile}}}], zlib]")] {
            let mut out = Cursor::new(Vec::new());
            let plan = ConversionPlan::new(&file, Target::from_name("asdf-0.1").unwrap(), &chain(&text)).unwrap();
            assert!(plan.losses().is_empty());
            let done = plan.write(&mut out, trilith::Progress::default()).unwrap();
            // The flags have one axis: only a tile of one fits them.
            assert_eq!(done.notes.len(), usize::from(shape.len() > 1), "{:?}", done.notes);
            let made = open(out.into_inner());
            assert!(made.sections().blocks().unwrap()[0].has_encoding_chain());
            assert_eq!(digests(&made), digests(&file), "{text} of {shape:?}");
            assert_eq!(digests(&to(&made, "asdf-1.6")), digests(&file));
            assert_eq!(digests(&to(&made, "asdf-0.1")), digests(&file));
        }
    }
}

#[test]
fn quantize_loss_reports_largest_error() {
    let file = image(&[40, 40]);
    let mut options = chain("[[tile, {shape: [16, 16]}], [quantize, {quality: 4}], zlib]");
    let refused = converted(&file, "asdf-0.1", &options).unwrap_err().to_string();
    assert!(refused.contains("/data: quantize changes values, by at most "), "{refused}");
    options.allow_loss = true;
    let (bytes, losses) = converted(&file, "asdf-0.1", &options).unwrap();
    let told: f64 = losses[0].rsplit(' ').next().unwrap().parse().unwrap();
    let made = open(bytes);
    let [before, after] = [&file, &made].map(|file| file.array_at("/data").unwrap().load::<f32>().unwrap());
    assert!(after[5].is_nan());
    let differences = before.iter().zip(&after).map(|(a, b)| f64::from(*a) - f64::from(*b));
    let largest = differences.filter(|d| !d.is_nan()).fold(0.0, |most: f64, d| most.max(d.abs()));
    assert_eq!(largest, told);
    assert!(told > 0.0 && told < 1.5, "{told}");
    assert_eq!(digests(&file)["/flags"], digests(&made)["/flags"]);
    assert_eq!(digests(&to(&made, "asdf-1.6")), digests(&made));
}

#[test]
fn encoding_chains_reject_unsupported_target_or_encoding() {
    let file = image(&[4, 4]);
    let refused = |target, text: &str| {
        let error = converted(&file, target, &chain(text)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        error.to_string()
    };
    assert!(refused("asdf-1.6", "[zlib]").contains("has no encoding chains"));
    assert!(refused("asdf-0.1", "[sparse]").contains("not one of ASDF 0.1.0"));
    assert!(refused("asdf-0.1", "[rice]").contains("not one of ASDF 0.1.0"));
    assert!(refused("asdf-0.1", "[zlib, [tile, {shape: [2, 2]}]]").contains("works on an array"));
}

// Files built by hand.

/// A block: mark, header of `size` bytes beginning with `fields`, and data.
fn block(mark: &[u8], size: u16, fields: &[&[u8]], data: &[u8]) -> Vec<u8> {
    let mut header = fields.concat();
    header.resize(usize::from(size), 0);
    [mark, &size.to_be_bytes(), &header, data].concat()
}

fn be(n: usize) -> [u8; 8] {
    (n as u64).to_be_bytes()
}

/// A block of generation E whose data are the YAML of a chain and the encoded bytes.
fn encoded(chain: &str, bytes: &[u8], memory: usize) -> Vec<u8> {
    let data = [format!("--- {chain}\n...\n").as_bytes(), bytes].concat();
    let sizes = [be(data.len()), be(data.len()), be(memory)].concat();
    block(b"\xd3BLK", 36, &[&2u32.to_be_bytes(), &sizes, &[0; 8]], &data)
}

fn file(header: &str, prefix: &str, root: &str, body: &str, blocks: &[Vec<u8>]) -> Vec<u8> {
    let head = format!("{header}\n%YAML 1.1\n%TAG ! {prefix}\n--- !{root}\n{body}...\n");
    [head.into_bytes(), blocks.concat()].concat()
}

fn asdf_010(body: &str, blocks: &[Vec<u8>]) -> AsdfFile {
    open(file("#ASDF 0.1.0", "tag:stsci.edu:asdf/0.1.0/", "core/asdf", body, blocks))
}

fn node(name: &str, source: usize, datatype: &str, shape: &str) -> String {
    format!("{name}: !core/ndarray {{source: {source}, datatype: {datatype}, byteorder: little, shape: {shape}}}\n")
}

/// No code wrote quantize: the bits are those of the document, "Built-in array-to-binary encodings".
#[test]
fn quantized_data_match_documented_packing() {
    let chunk = |bits: u8, offset: f64, scale: f64, count: usize, packed: &[u8]| {
        [&[bits][..], &offset.to_be_bytes(), &scale.to_be_bytes(), &be(count), packed].concat()
    };
    // Five values of 5 bits: 3, -1, 15, -16, 0, packed 00011 11111 01111 10000 00000 and filled with zeros.
    let first = chunk(5, 10.0, 0.5, 5, &[0b0001_1111, 0b1101_1111, 0b0000_0000, 0]);
    let second = chunk(1, f64::NAN, 0.0, 2, &[0]);
    // One value of 64 bits.
    let third = chunk(64, 0.0, 1.0, 1, &(-2i64).to_be_bytes());
    let bytes = [first, second, third].concat();
    let want = [11.5, 9.5, 17.5, 2.0, 10.0, f32::NAN, f32::NAN, -2.0];
    let arguments = ["[[quantize, {dtype: 32, original_shape: [2, 4]}]]", "[[quantize, {quality: 4}]]", "[quantize]"];
    for chain in arguments {
        let made = asdf_010(&node("a", 0, "float32", "[2, 4]"), &[encoded(chain, &bytes, 32)]);
        for file in [&made, &to(&made, "asdf-1.6"), &to(&made, "finf-0.1")] {
            let got = file.array_at("/a").unwrap().load::<f32>().unwrap();
            let same = got.iter().zip(&want).all(|(a, b)| a == b || a.is_nan() && b.is_nan());
            assert!(same, "{chain}: {got:?}");
        }
    }
    // These chunks also decode to doubles.
    let made = asdf_010(&node("a", 0, "float64", "[8]"), &[encoded("[quantize]", &bytes, 64)]);
    assert_eq!(made.array_at("/a").unwrap().load::<f64>().unwrap()[..5], [11.5, 9.5, 17.5, 2.0, 10.0]);
}

#[test]
fn missing_tile_arguments_default_to_ndarray() {
    // 3 by 3 in tiles of 2 by 2; padding is 255.
    let tiles = [[0, 1, 3, 4], [2, 255, 5, 255], [6, 7, 255, 255], [8, 255, 255, 255]].concat();
    let body = format!(
        "part: !core/ndarray {{source: 0, datatype: uint8, byteorder: big, shape: [3], offset: 1, strides: [3]}}\n{}",
        node("a", 0, "uint8", "[3, 3]")
    );
    for chain in [
        "[[tile, {shape: [2, 2]}]]",
        "[[tile, {shape: [2, 2], item_size: 1, original_shape: [3, 3]}], null]",
        "- - tile\n  - item_size: 1\n    shape: [2, 2]",
    ] {
        let chain = if chain.starts_with('-') { format!("\n{chain}") } else { chain.to_owned() };
        let made = asdf_010(&body, &[encoded(&chain, &tiles, 9)]);
        // The view of a column is asked for first, and says nothing of the whole.
        assert_eq!(made.array_at("/part").unwrap().load::<u8>().unwrap(), [1, 4, 7]);
        assert_eq!(made.array_at("/a").unwrap().load::<u8>().unwrap(), (0..9).collect::<Vec<u8>>());
        assert_eq!(digests(&to(&made, "asdf-1.6")), digests(&made));
    }
}

/// The branch cut an edge tile in a later dimension by a flat resize: its elements first, packed, then
/// zeros. Not even the branch read that back. By the document, which we follow, other values come out.
#[test]
fn tiles_with_flat_padding_bug_follow_document() {
    // [[0, 1, 2], [3, 4, 5]] in tiles of 2 by 2: the second tile should be 2 . 5 . but is 2 5 0 0.
    let made = asdf_010(&node("a", 0, "uint8", "[2, 3]"), &[encoded("[[tile, {shape: [2, 2]}]]", &[0, 1, 3, 4, 2, 5, 0, 0], 6)]);
    assert_eq!(made.array_at("/a").unwrap().load::<u8>().unwrap(), [0, 1, 2, 3, 4, 0]);
}

#[test]
fn unknown_encoding_is_named_and_rest_is_usable() {
    let body = [node("a", 0, "uint8", "[3]"), node("b", 1, "uint8", "[2]"), "c: 1\n".to_owned()].concat();
    let plain = block(b"\xd3BLK", 36, &[&[0; 4], &be(2), &be(2), &be(2)], &[7, 8]);
    let made = asdf_010(&body, &[encoded("[[rice, {x: 1}], zlib]", b"???", 3), plain]);
    let error = made.array_at("/a").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("unknown encoding \"rice\""), "{error}");
    assert_eq!(made.array_at("/b").unwrap().load::<u8>().unwrap(), [7, 8]);
    assert_eq!(made.tree().node_at_pointer("/c").unwrap().as_i64(), Some(1));
    // Copied as it is within its generation, refused elsewhere.
    let copy = to(&made, "asdf-0.1");
    assert_eq!(copy.encoding_names(copy.sections().blocks().unwrap()[0]).unwrap(), ["rice", "zlib"]);
    let error = converted(&made, "asdf-1.6", &ConvertOptions::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
}

#[test]
fn wrong_chain_order_and_streamed_chains_are_malformed() {
    let read = |block: Vec<u8>| asdf_010(&node("a", 0, "uint8", "[4]"), &[block]).array_at("/a").unwrap_err();
    let error = read(encoded("[zlib, [tile, {shape: [2]}]]", b"x", 4));
    assert_eq!(error.kind(), ErrorKind::Malformed);
    assert!(error.to_string().contains("tile works on an array"), "{error}");
    let streamed = block(b"\xd3BLK", 36, &[&3u32.to_be_bytes()], b"--- [zlib]\n...\nx");
    assert!(read(streamed).to_string().contains("exclude each other"));
    let error = read(encoded("{zlib: 1}", b"x", 4));
    assert!(error.to_string().contains("not a list"), "{error}");
}

#[test]
fn branch_codes_decode_as_chains() {
    // `s`, the non-zero bytes of 0 0 5 0 9, then all ones.
    let sparse = [5u64, 2 << 8 | 5, 4 << 8 | 9, u64::MAX].map(u64::to_be_bytes).concat();
    let fields = |codes: &[u8]| [&[0; 4][..], &be(32), &be(32), &be(0), codes].concat();
    let made = asdf_010(&node("a", 0, "uint8", "[5]"), &[block(b"\xd3BLK", 44, &[&fields(b"s")], &sparse)]);
    assert_eq!(made.sections().generation_name(), "asdf-0.1-hs44-codes");
    assert_eq!(made.array_at("/a").unwrap().load::<u8>().unwrap(), [0, 0, 5, 0, 9]);
    for target in TARGETS {
        assert_eq!(digests(&to(&made, target.name)), digests(&made), "{}", target.name);
    }
    let unknown = asdf_010(&node("a", 0, "uint8", "[5]"), &[block(b"\xd3BLK", 44, &[&fields(b"q")], &sparse)]);
    assert_eq!(unknown.array_at("/a").unwrap_err().kind(), ErrorKind::Unsupported);
}

/// Header line, name, mark behind its first byte, header size, fields.
type Row = (&'static str, &'static str, &'static [u8], u16, Vec<u8>);

/// No code wrote 0x89, nor enlarged a header: the bytes are the documents'.
#[test]
fn documented_magic_and_enlarged_headers_are_read() {
    let three = [be(3), be(3)].concat();
    let flags = [0u8; 4];
    let g = [&flags[..], &[0; 4], &three, &be(3)].concat();
    let rows: [Row; 8] = [
        ("%FINF 0.1.0", "finf-0.1-hs43", b"BFF\x0d\x0a\x1a\x0a", 43, [&[0, 1, 0][..], &three].concat()),
        ("%FINF 0.1.0", "finf-0.1-hs40", b"BLK", 40, three.clone()),
        ("%FINF 0.1.0", "finf-0.1-hs44", b"BLK", 44, [&flags[..], &three].concat()),
        ("%ASDF 0.1.0", "asdf-0.1-dev", b"BLK", 44, [&flags[..], &three].concat()),
        ("#ASDF 0.1.0", "asdf-0.1-hs44", b"BLK", 44, [&flags[..], &three].concat()),
        ("#ASDF 0.1.0", "asdf-0.1-hs36", b"BLK", 36, [&flags[..], &three, &be(3)].concat()),
        ("#ASDF 0.1.0", "asdf-0.1-hs40", b"BLK", 40, g.clone()),
        ("#ASDF 1.0.0", "asdf-1.x", b"BLK", 48, g),
    ];
    let (early, late) = ("tag:stsci.edu:finf/0.1.0/", "tag:stsci.edu:asdf/0.1.0/");
    for (header, name, mark, size, fields) in rows {
        let prefix = if header.starts_with("%FINF") { early } else { late };
        let body = "a: !core/ndarray {source: 1, dtype: uint8, shape: [3]}\n";
        for (first, grown) in [(0x89, 0u16), (0xd3, 0), (0xd3, 4), (0x89, 8), (0xd3, 12), (0xd3, 4096), (0x89, 100)] {
            // F with eight more bytes is G without a checksum, byte for byte.
            let name = if name == "asdf-0.1-hs40" && grown >= 8 { "asdf-0.1-hs48" } else { name };
            let mut mark = [&[first][..], mark].concat();
            if name == "finf-0.1-hs43" && first == 0xd3 {
                // The byte that code wrote: a blank, but the document had 0x1a.
                mark[6] = b' ';
            }
            let blocks = [[1, 2, 3], [4, 5, 6]].map(|data| block(&mark, size + grown, &[&fields], &data));
            let bytes = file(header, prefix, "core/finf", body, &blocks);
            let made = open(bytes);
            assert_eq!(made.sections().generation_name(), name, "{header} {mark:?} {grown}");
            let array = made.array_at("/a").unwrap_or_else(|e| panic!("{name} {first:x} {grown}: {e}"));
            assert_eq!(array.load::<u8>().unwrap(), [4, 5, 6], "{name}");
            let newest = to(&made, "asdf-1.6");
            assert_eq!(digests(&newest), digests(&made));
        }
    }
}

/// Enlarged headers are also read for a block with an encoding chain, and for a streamed block.
#[test]
fn encoded_and_streamed_blocks_accept_enlarged_headers() {
    for grown in [0u16, 4, 8, 12, 64, 1000] {
        let zlib = |bytes: &[u8]| {
            let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
            std::io::Write::write_all(&mut encoder, bytes).unwrap();
            encoder.finish().unwrap()
        };
        let data = [b"--- [zlib]\n...\n".as_slice(), &zlib(&[7, 8, 9])].concat();
        let fields = [&2u32.to_be_bytes()[..], &be(data.len()), &be(data.len()), &be(3)].concat();
        let chained = block(b"\xd3BLK", 36 + grown, &[&fields], &data);
        let body = [node("a", 0, "uint8", "[3]"), node("b", 1, "uint8", "[2]")].concat();
        let streamed = block(b"\xd3BLK", 36 + grown, &[&1u32.to_be_bytes()], &[1, 2]);
        let made = asdf_010(&body, &[chained, streamed]);
        assert_eq!(made.sections().generation_name(), "asdf-0.1-hs36", "{grown}");
        assert_eq!(made.array_at("/a").unwrap().load::<u8>().unwrap(), [7, 8, 9], "{grown}");
        assert_eq!(made.array_at("/b").unwrap().load::<u8>().unwrap(), [1, 2], "{grown}");
    }
}

/// The block header and the mark that each document describes, written on request: FINF 0.1.0 has a header of
/// 40 bytes (8 + 8 + 8 + 16) without flags behind 89 42 4c 4b, 0.1.0dev one of 44 behind the same mark, 0.1.0 and 1.x
/// ("block_magic_token") have d3 42 4c 4b.
#[test]
fn documented_block_header_is_written_on_request() {
    let file = everything(Target::from_name("asdf-1.5").unwrap());
    let mut options = ConvertOptions::default();
    options.write_options.align = Some(1);
    for (target, programs, document) in [
        ("finf-0.1", b"\xd3BLK\0\x2c", b"\x89BLK\0\x28"),
        ("asdf-0.1-dev", b"\xd3BLK\0\x2c", b"\x89BLK\0\x2c"),
        ("asdf-0.1", b"\xd3BLK\0\x24", b"\xd3BLK\0\x24"),
        ("asdf-1.0", b"\xd3BLK\0\x30", b"\xd3BLK\0\x30"),
        ("asdf-1.6", b"\xd3BLK\0\x30", b"\xd3BLK\0\x30"),
    ] {
        for (documented, mark, other) in [(false, programs, document), (true, document, programs)] {
            options.write_options.as_documented = documented;
            let (bytes, _) = converted(&file, target, &options).unwrap();
            let has = |mark: &[u8; 6]| bytes.windows(6).any(|window| window == mark);
            assert!(has(mark) && (mark == other || !has(other)), "{target} {documented}");
            assert_eq!(digests(&open(bytes)), digests(&file), "{target} {documented}");
        }
    }
}

/// FINF 0.1.0, "Block header" has no flags, and so no stream: its rows get sizes and a shape.
#[test]
fn streamed_block_gets_sizes_if_flags_are_missing() {
    let fields = [&1u32.to_be_bytes()[..], &be(0), &be(0)].concat();
    for (shape, source) in [("['*', 2]", -1), ("['*', 2]", 1), ("[3, 2]", 1)] {
        let body = format!(
            "a: !core/ndarray {{source: 0, dtype: uint8, byteorder: big, shape: [1]}}\n\
             b: !core/ndarray {{source: {source}, dtype: uint8, byteorder: big, shape: {shape}}}\n"
        );
        let sized = block(b"\xd3BLK", 44, &[&[0; 4], &be(1), &be(1)], &[9]);
        let blocks = [sized, block(b"\xd3BLK", 44, &[&fields], &[1, 2, 3, 4, 5, 6])];
        let made = open(file("%ASDF 0.1.0", "tag:stsci.edu:asdf/0.1.0/", "core/asdf", &body, &blocks));
        let mut options = ConvertOptions::default();
        options.write_options.as_documented = true;
        let (bytes, losses) = converted(&made, "finf-0.1", &options).unwrap();
        assert!(losses.is_empty(), "{losses:?}");
        let new = open(bytes);
        assert_eq!(digests(&new), digests(&made), "{shape} {source}");
        assert!(new.tree().text().contains("source: 1, dtype: uint8, byteorder: big, shape: [3, 2]"), "{}", new.tree().text());
        assert!(new.sections().blocks().unwrap().iter().all(|block| block.header_size == 40 && !block.is_streamed()));
    }
}

#[test]
fn finf_long_doubles_read_raw_and_as_f64() {
    // 1.5 and -2 as x86 numbers, little-endian in 16 bytes.
    let number = |mantissa: u64, head: u16| [&mantissa.to_le_bytes()[..], &head.to_le_bytes(), &[0; 6]].concat();
    let data = [number(0xc << 60, 0x3fff), number(1 << 63, 0xc000)].concat();
    let fields = [&[0; 4][..], &be(32), &be(32)].concat();
    let body = "a: !core/ndarray {source: 0, dtype: float128, byteorder: little, shape: [2]}\n\
        c: !core/ndarray\n  source: 0\n  dtype: complex256 # a pair\n  byteorder: little\n  shape: [1]\n";
    let blocks = [block(b"\xd3BLK", 44, &[&fields], &data)];
    let made = open(file("%FINF 0.1.0", "tag:stsci.edu:finf/0.1.0/", "core/finf", body, &blocks));
    let array = made.array_at("/a").unwrap();
    assert_eq!((array.datatype(), array.read_bytes(Byteorder::Little).unwrap()), (&Datatype::Float128, data));
    assert_eq!(array.load_as::<f64>().unwrap(), [1.5, -2.0]);
    let mut options = ConvertOptions::default();
    for target in TARGETS {
        options.allow_loss = false;
        let refused = converted(&made, target.name, &options).unwrap_err().to_string();
        assert!(refused.contains("/a: the datatype float128 becomes float64") && refused.contains("/c: the datatype complex256"));
        options.allow_loss = true;
        let (bytes, losses) = converted(&made, target.name, &options).unwrap();
        assert_eq!(losses.len(), 2);
        let new = open(bytes);
        assert_eq!(new.array_at("/a").unwrap().load::<f64>().unwrap(), [1.5, -2.0]);
        let pair = num_complex::Complex::new(1.5, -2.0);
        assert_eq!(new.array_at("/c").unwrap().load::<num_complex::Complex<f64>>().unwrap(), [pair]);
        assert!(new.tree().text().contains("complex128 # a pair"), "{}", new.tree().text());
    }
}

#[test]
fn changed_array_leaves_shared_block() {
    let half = |x: f32| f16::from_f32(x).to_le_bytes();
    let data = [half(0.5), half(-1.0), half(2.0), half(4.0)].concat();
    let fields = [&[0; 4][..], &[0; 4], &be(8), &be(8), &be(8)].concat();
    let stream = block(b"\xd3BLK", 48, &[&1u32.to_be_bytes()], &[1, 0, 2, 0]);
    let body = "h: !core/ndarray-1.1.0 {source: 0, datatype: float16, byteorder: little, shape: [2], offset: 2, strides: [4], mask: 0.1}\n\
        raw: !core/ndarray-1.1.0 {source: 0, datatype: uint16, byteorder: little, shape: [4]}\n\
        rows: !core/ndarray-1.1.0 {source: -1, datatype: uint16, byteorder: little, shape: ['*']}\n\
        again: !core/ndarray-1.1.0 {source: 1, datatype: uint16, byteorder: little, shape: [2]}\n\
        row:\n- !core/ndarray-1.1.0\n  source: 0\n  datatype:\n  - {name: x, datatype: float16}\n  - name: y\n    datatype: uint16\n  \
        byteorder: little\n  shape: [2]\n";
    let blocks = [block(b"\xd3BLK", 48, &[&fields], &data), stream];
    let made = open(file("#ASDF 1.0.0", "tag:stsci.edu:asdf/", "core/asdf-1.1.0", body, &blocks));
    let mut options = ConvertOptions::default();
    options.allow_loss = true;
    for target in ["asdf-1.5", "asdf-0.1", "finf-0.1"] {
        let (bytes, losses) = converted(&made, target, &options).unwrap();
        assert_eq!(losses.len(), 2, "{losses:?}");
        let new = open(bytes);
        assert_eq!(new.array_at("/h").unwrap().load::<f32>().unwrap(), [-1.0, 4.0]);
        for path in ["/raw", "/rows", "/again"] {
            assert_eq!(digests(&new)[path], digests(&made)[path], "{path}: {}", new.tree().text());
        }
        let row = new.array_at("/row/0").unwrap();
        assert_eq!(row.datatype().packed_size(), 6);
        assert_eq!(row.element(&[1]).unwrap().json(trilith::array::FloatText::AsDouble), "[2.0, 17408]");
        // 0.1 masked what was 0.1 as a half.
        let mask = new.tree().node_at_pointer("/h/mask").unwrap().as_f64().unwrap();
        assert_eq!(mask, f16::from_f32(0.1).to_f64());
    }
}

#[test]
fn comments_order_and_unknown_tags_survive_both_ways() {
    let text = "#ASDF 1.0.0\n#ASDF_STANDARD 1.5.0\n# made by hand\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n%TAG !x! tag:example.org:x/\n\
        --- !core/asdf-1.1.0\n\
        # of the history\n\
        history: # the past\n  entries:\n  - !core/history_entry-1.0.0 {description: made, time: 2020-01-02 03:04:05}\n  # how\n  \
        extensions:\n  - !core/extension_metadata-1.0.0\n    extension_class: asdf.BuiltinExtension\n    software: {name: asdf, version: 2.8.0}\n\
        zeta: !x!thing {b: 1, a: !core/complex-1.0.0 1+2j}\n\
        wcs: !<tag:stsci.edu:gwcs/wcs-1.0.0> {name: w} # kept\n\
        t: !time/time-1.1.0 2020-01-01\n\
        unit: !unit/unit-1.0.0 m s-1\n\
        list: [1, 2,   3]\nnothing: null\n...\n";
    let made = open(text.as_bytes().to_vec());
    let old = to(&made, "finf-0.1");
    let tree = old.tree();
    assert!(tree.text().contains("# made by hand\n--- !core/finf\n# of the history\n# how\nhistory:"), "{}", tree.text());
    for kept in [
        "zeta: !x!thing {b: 1, a: !core/complex 1+2j}",
        "wcs: !<tag:stsci.edu:gwcs/wcs-1.0.0> {name: w} # kept",
        "t: !<tag:stsci.edu:asdf/time/time-1.1.0> 2020-01-01",
        "unit: !unit/unit m s-1",
        "list: [1, 2,   3]\nnothing: null\n",
    ] {
        assert!(tree.text().contains(kept), "{kept}\n{}", tree.text());
    }
    let said = "extension asdf.BuiltinExtension of asdf 2.8.0";
    assert_eq!(tree.node_at_pointer("/history/1/description").unwrap().text(), said);
    let back = to(&old, "asdf-1.5");
    let limits = Limits::default();
    for path in ["/history", "/zeta", "/wcs", "/t", "/unit", "/list"] {
        let [a, b] = [&made, &back].map(|file| file.tree().node_at_pointer(path).unwrap().to_value(&limits).unwrap());
        assert_eq!(a, b, "{path}\n{}", back.tree().text());
    }
    // From one standard to another: the tags that it has only.
    let text = to(&made, "asdf-1.6").tree().text().to_owned();
    assert_eq!(text, made.tree().text().replace("time-1.1.0", "time-1.2.0"));
}

#[test]
fn references_gain_slash_and_lose_extra_parent_step() {
    let body = "target: {a: [10, 20]}\nin: {$ref: '#target/a/1'}\nout: {$ref: '../other.asdf#x~1y'}\nall: {$ref: other.asdf}\n\
        e: !core/ndarray {source: ../ext0000.asdf, dtype: uint8, shape: [2]}\n";
    let made = asdf_010(body, &[]);
    let new = to(&made, "asdf-1.6");
    let said = |path: &str| new.tree().node_at_pointer(path).unwrap().text().into_owned();
    assert_eq!(said("/in/$ref"), "#/target/a/1");
    assert_eq!(said("/out/$ref"), "other.asdf#/x~1y");
    assert_eq!(said("/all/$ref"), "other.asdf");
    assert_eq!(said("/e/source"), "ext0000.asdf");
    assert!(new.tree().text().contains("byteorder: big, datatype: uint8"));
    // Within the old eras they stay, and what a new file means by ../ is not taken for one too many.
    assert!(to(&made, "finf-0.1").tree().text().contains("../other.asdf#x~1y"));
    let up = open(
        b"#ASDF 1.0.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n--- !core/asdf-1.1.0\nup: {$ref: '../a.asdf#/b'}\n...\n".to_vec(),
    );
    let old = to(&up, "asdf-0.1");
    assert_eq!(old.tree().node_at_pointer("/up/$ref").unwrap().text(), "./../a.asdf#/b");
}

#[test]
fn discouraged_content_is_copied_with_note() {
    let made = asdf_010("1.5: a\nnull: b\nyes: c\n7: d\nlarge: 99999999999999999999\n", &[]);
    let notes = |target| {
        let plan = ConversionPlan::new(&made, Target::from_name(target).unwrap(), &ConvertOptions::default()).unwrap();
        plan.write(Cursor::new(Vec::new()), trilith::Progress::default()).unwrap().notes
    };
    let told = notes("asdf-1.6");
    assert!(told[0].contains("2 keys") && told[0].contains("/1.5") && told[1].contains("/large"), "{told:?}");
    assert!(notes("asdf-0.1").is_empty());
}

/// External files of 2014: header line and block, no tree.
#[test]
fn external_files_without_tree_read_and_convert() {
    #[derive(Debug)]
    struct Beside(Vec<u8>);
    impl Resolve for Beside {
        fn resolve(&self, uri: &str) -> Result<(SourceRef, Arc<dyn Resolve>)> {
            match uri {
                "ext0000.asdf" => Ok((Arc::new(MemorySource::new(self.0.clone(), uri)), Arc::new(trilith::bytes::NoReferences))),
                other => Err(Error::limit(format!("{other} is not there"))),
            }
        }
    }
    let fields = [&[0; 4][..], &be(2), &be(2)].concat();
    let external = [b"%ASDF 0.1.0\n".to_vec(), block(b"\xd3BLK", 44, &[&fields], &[8, 9])].concat();
    let body = "e: !core/ndarray {source: ../ext0000.asdf, dtype: uint8, shape: [2]}\n";
    let main = file("%ASDF 0.1.0", "tag:stsci.edu:asdf/0.1.0/", "core/asdf", body, &[]);
    let with = |main: Vec<u8>, external: Vec<u8>| {
        let source: SourceRef = Arc::new(MemorySource::new(main, "main"));
        AsdfFile::open(source, &Limits::default()).unwrap().with_resolver(Arc::new(Beside(external)))
    };
    let made = with(main, external.clone());
    assert_eq!(made.array_at("/e").unwrap().load::<u8>().unwrap(), [8, 9]);
    let block_file = open(external.clone());
    for target in TARGETS {
        let (bytes, losses) = converted(&block_file, target.name, &ConvertOptions::default()).unwrap();
        assert!(losses.is_empty());
        if target.standard.is_none() {
            // The header of the day, not one enlarged for alignment.
            let hs = target.generation().fields.size.to_be_bytes();
            assert_eq!(bytes[target.header.len() + 1..][4..6], hs);
        }
        let (new, _) = converted(&made, target.name, &ConvertOptions::default()).unwrap();
        assert_eq!(with(new, bytes).array_at("/e").unwrap().load::<u8>().unwrap(), [8, 9], "{}", target.name);
    }
}

#[test]
fn flat_dialect_and_omitted_keys_are_completed() {
    let body = "a: !ndarray\n  dtype: float32\n  shape: [1]\n  source: 0\nb: !ndarray {shape: [4], source: 0}\nz: !complex 1-1j\n\
        t: !ndarray\n  shape: [1]\n  source: 0\n  dtype:\n  - name: x\n    dtype: int16\n  - {dtype: uint8, name: y}\n  - {dtype: int8, name: z}\n";
    let fields = [be(4), be(4)].concat();
    let blocks = [block(b"\xd3BLK", 40, &[&fields], &[0x3f, 0xc0, 0, 1])];
    let made = open(file("%FINF 0.1.0", "tag:stsci.edu:finf/0.1.0/", "finf", body, &blocks));
    let new = to(&made, "asdf-1.0");
    assert_eq!(digests(&new), digests(&made));
    let text = new.tree().text();
    assert!(text.contains("a: !core/ndarray-1.0.0\n  byteorder: big\n  datatype: float32\n  shape: [1]\n"), "{text}");
    assert!(text.contains("b: !core/ndarray-1.0.0 {shape: [4], byteorder: big, datatype: uint8, source: 0}"), "{text}");
    assert!(text.contains("z: !core/complex-1.0.0 1-1j"), "{text}");
    assert!(
        text.contains("  byteorder: big\n  datatype:\n  - name: x\n    datatype: int16\n  - {datatype: uint8, name: y}"),
        "{text}"
    );
    assert!(text.starts_with("%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n--- !core/asdf-1.0.0\n"));
}

#[test]
fn merged_and_aliased_descriptions_translate_at_definition() {
    let body = "base: &b {dtype: uint8, byteorder: little}\nm: !core/ndarray {<<: *b, source: 0, shape: [3]}\n\
        d: !core/ndarray &d\r\n  dtype: &t [ascii, 3]\r\n  source: 0\r\n  shape: [1]\r\ne: !core/ndarray {source: 0, dtype: *t, shape: [1]}\n\
        f: *d\n? dtype\n: !core/ndarray\n  ? dtype\n  : int8\n  ? source\n  : 0\n  ? shape\n  : [2]\n";
    let fields = [&[0; 4][..], &be(3), &be(3)].concat();
    let made = asdf_010(body, &[block(b"\xd3BLK", 44, &[&fields], b"abc")]);
    let before = digests(&made);
    assert_eq!(before.len(), 5);
    for target in TARGETS {
        let new = to(&made, target.name);
        assert_eq!(digests(&new), before, "{}", new.tree().text());
        let named = |path: &str| new.tree().node_at_pointer(path).unwrap().get(target.tree.datatype_key).is_some();
        assert!(["/m", "/d", "/e", "/f", "/dtype"].into_iter().all(named), "{}", new.tree().text());
    }
}

/// Inside a FITS file, an array may be the data of an HDU, which does not come along.
#[test]
fn surrounding_fits_arrays_are_copied() {
    struct Hdu;
    impl FitsArrays for Hdu {
        fn hdu_array(&self, spec: &str) -> Result<Array> {
            assert_eq!(spec, "SCI,1");
            Array::from_bytes(vec![0, 1, 0, 2], Datatype::Int16, Byteorder::Big, vec![2])
        }
    }
    let body = "a: !core/ndarray-1.0.0 {source: 'fits:SCI,1', datatype: int16, byteorder: big, shape: [2]}\n\
        b: !core/ndarray-1.0.0 {source: 0, datatype: uint8, byteorder: little, shape: [1]}\n";
    let fields = [&[0; 8][..], &be(1), &be(1), &be(1)].concat();
    let bytes = file("#ASDF 1.0.0", "tag:stsci.edu:asdf/", "core/asdf-1.0.0", body, &[block(b"\xd3BLK", 48, &[&fields], &[9])]);
    let made = open(bytes).with_container(FitsContainer { hdu: 2, offset: 0, size: 9999 }, Arc::new(Hdu));
    for target in TARGETS {
        let new = to(&made, target.name);
        assert_eq!(new.array_at("/a").unwrap().load::<i16>().unwrap(), [1, 2]);
        assert_eq!(new.tree().node_at_pointer("/a/source").unwrap().as_i64(), Some(1));
        assert_eq!(new.array_at("/b").unwrap().load::<u8>().unwrap(), [9]);
    }
}

/// The index of one branch of July 2015.
#[test]
fn early_index_form_is_read() {
    let body = [node("a", 0, "uint8", "[1]"), node("b", 1, "uint8", "[1]")].concat();
    let fields = [&[0; 8][..], &be(1), &be(1), &be(1)].concat();
    let blocks = [[1u8], [2]].map(|data| block(b"\xd3BLK", 48, &[&fields], &data));
    let mut bytes = file("#ASDF 0.1.0", "tag:stsci.edu:asdf/0.1.0/", "core/asdf", &body, &blocks);
    let first = bytes.len() - 2 * blocks[0].len();
    bytes.extend(format!("{}\n{}\n", first, first + blocks[0].len()).bytes());
    let at = first + 2 * blocks[0].len();
    bytes.splice(at..at, b"\xd3IDX # ASDF BLOCK INDEX\n".iter().copied());
    let made = open(bytes);
    assert_eq!(made.sections().index_report().valid, Some(true));
    assert_eq!(made.array_at("/b").unwrap().load::<u8>().unwrap(), [2]);
    assert_eq!(digests(&to(&made, "asdf-1.6")), digests(&made));
}

#[test]
fn architecture_page_table_matches_code() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../ARCHITECTURE.md");
    let Ok(page) = std::fs::read_to_string(path) else {
        eprintln!("skipped: no ARCHITECTURE.md beside the crates");
        return;
    };
    let rows: Vec<Vec<&str>> = page
        .lines()
        .map(|line| line.split('|').map(str::trim).collect::<Vec<_>>())
        .filter(|cells| GENERATIONS.iter().any(|row| cells.get(1) == Some(&&*format!("`{}`", row.name))))
        .collect();
    assert_eq!(rows.len(), GENERATIONS.len());
    for (cells, row) in rows.iter().zip(GENERATIONS) {
        assert_eq!(cells[1], format!("`{}`", row.name));
        assert!(cells[2].starts_with(&format!("`{} {}.", row.token, row.major_version)), "{cells:?}");
        assert_eq!(cells[3].contains("BFF"), row.magic.len() == 8, "{cells:?}");
        assert_eq!(cells[4], row.fields.size.to_string());
        assert_eq!(cells[7], row.written);
    }
}

/// A tree of standard 1.6 with a node of each kind whose tag differs between the standards.
fn standard_tree(body: &str) -> AsdfFile {
    let head = "#ASDF 1.0.0\n#ASDF_STANDARD 1.6.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n--- !core/asdf-1.1.0\n";
    open(format!("{head}{body}...\n").into_bytes())
}

/// Manifests core-1.0.0 to core-1.6.0: a file of a standard has the tags of that standard, or a loss names them. First tier.
#[test]
fn tags_of_target_standard_are_written() {
    let made = standard_tree(
        "q: !unit/quantity-1.3.0 {unit: !unit/unit-1.0.0 m, value: 2.5}\nt: !time/time-1.4.0 \"2000-01-01T00:00:00.000\"\n\
         f: !fits/fits-1.2.0 [{header: [[SIMPLE, true]]}]\n\
         i: !core/integer-1.1.0 {sign: \"+\", words: !core/ndarray-1.1.0 {data: [1, 0, 1], datatype: uint32, shape: [3]}}\n\
         c: !table/table-1.2.0 {columns: [!table/column-1.2.0 {name: x, data: !core/ndarray-1.1.0 [1, 2]}]}\n",
    );
    for target in TARGETS.iter().filter(|target| target.standard.is_some()) {
        let mut options = ConvertOptions::default();
        options.allow_loss = true;
        let (bytes, losses) = converted(&made, target.name, &options).unwrap();
        let missing = match target.name {
            "asdf-1.0" => vec!["integer-1.1.0", "quantity-1.3.0"],
            "asdf-1.1" | "asdf-1.2" => vec!["integer-1.1.0"],
            _ => Vec::new(),
        };
        for tag in &missing {
            assert!(
                losses.iter().any(|loss| loss.contains(tag) && loss.contains("has none for it")),
                "{}: {losses:?}",
                target.name
            );
        }
        assert_eq!(losses.len(), missing.len(), "{}: {losses:?}", target.name);
        assert_eq!(converted(&made, target.name, &ConvertOptions::default()).is_err(), !missing.is_empty());
        let new = open(bytes);
        let mut validator = check::Validator::new(check::SchemaSet::bundled());
        let report = validator.validate(new.tree(), target.standard).unwrap();
        assert!(report.is_valid(), "{}: {:?}", target.name, report.problems);
        assert_eq!(report.notes, missing.len(), "{}: {:?}", target.name, report.problems);
        assert_eq!(
            to(&to(&made, "asdf-1.5"), "asdf-1.6").tree().root().get("q").unwrap().tag().unwrap().rsplit('/').next(),
            Some("quantity-1.2.0")
        );
    }
    // A quantity of an array has no form that its schema accepts before 1.0.
    let array = standard_tree("q: !unit/quantity-1.3.0 {unit: !unit/unit-1.0.0 m, value: !core/ndarray-1.1.0 [1.0, 2.0]}\n");
    let refused = converted(&array, "asdf-0.1", &ConvertOptions::default()).unwrap_err().to_string();
    assert!(refused.contains("/q/value"), "{refused}");
}

/// Schema core/asdf: `asdf_library` "Describes the ASDF library that produced the file". First tier.
#[test]
fn converted_trees_name_their_library() {
    let made = standard_tree("asdf_library: !core/software-1.0.0 {name: asdf, version: 6.0.0}\na: 1\n");
    for target in TARGETS.iter().filter(|target| target.standard.is_some_and(|standard| standard != "1.6.0")) {
        let new = to(&made, target.name);
        assert_eq!(new.tree().node_at_pointer("/asdf_library/name").unwrap().text(), "trilith", "{}", target.name);
        assert_eq!(new.tree().node_at_pointer("/a").unwrap().as_i64(), Some(1));
    }
}

/// YAML 1.1, 3.3.3: content that does not fit its tag becomes what it looks like, as a loss. First tier.
#[test]
fn misfitting_content_converts_as_listed_loss() {
    let made = standard_tree(
        "a: !!int abc\nb: 2001-02-30\nc: !!map [1]\nd: !!seq {x: 1}\ne: \"\\ud83d\\ude00\"\nf: ! 2001-02-30\ng: !!omap {x: 1}\nh: !!int 5\n",
    );
    for target in TARGETS {
        let refused = converted(&made, target.name, &ConvertOptions::default()).unwrap_err().to_string();
        assert!(refused.contains("/a: the content \"abc\" does not fit the YAML tag !!int"), "{refused}");
        let mut options = ConvertOptions::default();
        options.allow_loss = true;
        let (bytes, losses) = converted(&made, target.name, &options).unwrap();
        assert_eq!(losses.len(), 6, "{losses:?}");
        let new = open(bytes);
        new.tree().check_tags().unwrap_or_else(|error| panic!("{error}\n{}", new.tree().text()));
        assert!(!new.tree().warnings().iter().any(|warning| warning.code == "surrogate-escape"), "{}", new.tree().text());
        let text = |path: &str| new.tree().node_at_pointer(path).unwrap().as_str().map(std::borrow::Cow::into_owned);
        assert_eq!([text("/a"), text("/b"), text("/f")], ["abc", "2001-02-30", "2001-02-30"].map(|text| Some(text.to_owned())));
        assert_eq!(text("/e").as_deref(), Some("\u{1F600}"));
        assert_eq!(new.tree().node_at_pointer("/h").unwrap().as_i64(), Some(5));
    }
}
