//! Encoding chains: the laws of each step, bytes built by hand from the document, and the sample files.

#![allow(clippy::single_range_in_vec_init, reason = "ranges are what is compared")]
//! Chains against bytes made by hand from the document, against real files, and against themselves.

use proptest::prelude::*;

use super::super::tests::mixed;
use super::*;

fn source(bytes: Vec<u8>) -> SourceRef {
    Arc::new(MemorySource::new(bytes, "test"))
}

fn tiles(shape: &[u64]) -> ChainStep {
    ChainStep::Tile { shape: shape.to_vec(), original_shape: None, item_size: None }
}

fn quantize(quality: f64, dither: bool) -> ChainStep {
    ChainStep::Quantize { bits: None, original_shape: None, quality: Some(quality), dither }
}

fn array(shape: &[u64], item_size: u64) -> BlockArray {
    BlockArray { shape: shape.to_vec(), item_size, big_endian: false }
}

fn encode(steps: &[ChainStep], data: &[u8], array: &BlockArray, cut: usize) -> Vec<u8> {
    let mut out = Vec::new();
    let mut encoder = encoder(steps, array, &Limits::default()).unwrap();
    for part in data.chunks(cut.max(1)) {
        encoder.write(part, &mut out).unwrap();
    }
    encoder.finish(&mut out).unwrap();
    out
}

fn decode(steps: &[ChainStep], stored: Vec<u8>, len: Option<u64>, array: &BlockArray) -> Result<Vec<u8>> {
    let order = if array.big_endian { Byteorder::Big } else { Byteorder::Little };
    let source = decoder(steps, source(stored), len, Some(array), order, &Limits::default())?;
    let mut bytes = vec![0; source.len() as usize];
    source.read_at(0, &mut bytes)?;
    Ok(bytes)
}

/// Returns a chunk in the form that the specification describes.
fn chunk(bits: u8, offset: f64, scale: f64, count: u64, packed: &[u8]) -> Vec<u8> {
    let mut bytes = vec![bits];
    bytes.extend_from_slice(&offset.to_be_bytes());
    bytes.extend_from_slice(&scale.to_be_bytes());
    bytes.extend_from_slice(&count.to_be_bytes());
    bytes.extend_from_slice(packed);
    bytes
}

fn floats(bytes: &[u8]) -> Vec<f64> {
    bytes.as_chunks::<8>().0.iter().map(|b| f64::from_le_bytes(*b)).collect()
}

#[test]
fn quantized_values_by_hand() {
    // Built from the document by hand, since no program ever wrote any.
    // 3 bits: 3, -1, -4, 0, 2 = 011 111 100 000 010 and one bit of padding.
    let mut stored = chunk(3, 10.0, 0.5, 5, &[0b0111_1110, 0b0000_0100]);
    // 64 bits, then 1 bit: 0 and -1, then a chunk of no values, then NaN and infinity as offsets.
    stored.extend(chunk(64, 0.0, 1.0, 1, &i64::MIN.to_be_bytes()));
    stored.extend(chunk(1, 0.25, 2.0, 2, &[0b0100_0000]));
    stored.extend(chunk(7, 0.0, 0.0, 0, &[]));
    stored.extend(chunk(1, f64::NAN, 0.0, 2, &[0]));
    stored.extend(chunk(1, f64::NEG_INFINITY, 0.0, 1, &[0]));
    let array = array(&[11], 8);
    let found = floats(&decode(&[quantize(4.0, false)], stored, Some(88), &array).unwrap());
    assert_eq!(found[..8], [11.5, 9.5, 8.0, 10.0, 11.0, -9_223_372_036_854_775_808.0, 0.25, -1.75]);
    assert!(found[8].is_nan() && found[9].is_nan());
    assert_eq!(found[10], f64::NEG_INFINITY);
}

#[test]
fn quantized_float32_is_rounded_once() {
    let stored = chunk(16, 0.1, 0.3, 2, &[0, 7, 0xff, 0xfe]);
    let big = BlockArray { big_endian: true, ..array(&[2], 4) };
    let found = decode(&[quantize(4.0, false)], stored, Some(8), &big).unwrap();
    let expected: Vec<u8> = [7.0 * 0.3 + 0.1, -2.0 * 0.3 + 0.1].iter().flat_map(|v: &f64| (*v as f32).to_be_bytes()).collect();
    assert_eq!(found, expected);
}

#[test]
fn broken_quantized_data_is_malformed() {
    let array = array(&[2], 8);
    for stored in [
        chunk(0, 0.0, 1.0, 2, &[0]),
        chunk(0, 0.0, 1.0, 1, &[]),
        chunk(65, 0.0, 1.0, 2, &[0; 17]),
        chunk(8, 0.0, 1.0, 3, &[0; 3]),
        chunk(8, 0.0, 1.0, 1, &[0]),
        chunk(8, 0.0, 1.0, 2, &[0]),
        chunk(8, 0.0, 1.0, u64::MAX, &[0]),
        chunk(8, 0.0, 1.0, 2, &[0, 0, 0]),
        vec![8, 0],
    ] {
        let error = decode(&[quantize(4.0, false)], stored.clone(), Some(16), &array).expect_err("broken");
        assert_eq!(error.kind(), ErrorKind::Malformed, "{stored:?}: {error}");
    }
}

#[test]
fn tiles_by_hand() {
    // 3 by 5 in tiles of 2 by 2: six tiles, padded at two edges.
    let steps = [tiles(&[2, 2])];
    let stored = encode(&steps, b"abcdefghijklmno", &array(&[3, 5], 1), 4);
    assert_eq!(stored, b"abfgcdhie\0j\0kl\0\0mn\0\0o\0\0\0");
    let all = decode(&steps, stored, Some(15), &array(&[3, 5], 1)).unwrap();
    assert_eq!(all, b"abcdefghijklmno");
}

#[test]
fn oversized_tile_exceeds_memory_limit() {
    let mut limits = Limits::default();
    limits.memory = 64 << 20;
    let error = encoder(&[tiles(&[255, 255, 255, 255])], &array(&[1, 2, 1, 2], 1), &limits).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Limit);
}

#[test]
fn slice_reads_only_its_tiles() {
    let steps = [tiles(&[32, 32])];
    let array = array(&[64, 64], 4);
    let source =
        decoder(&steps, source(vec![0; 64 * 64 * 4]), Some(64 * 64 * 4), Some(&array), array.byteorder(), &Limits::default())
            .unwrap();
    // Row 33, columns 40 to 50: row 1 of the last tile.
    let start = (33 * 64 + 40) * 4;
    let tile = 3 * 32 * 32 * 4 + (32 + 8) * 4;
    assert_eq!(stored_ranges(&*source, start..start + 40).unwrap(), vec![tile..tile + 40]);
}

#[test]
fn steps_out_of_order_are_malformed() {
    for steps in
        [vec![ChainStep::Zlib, tiles(&[2])], vec![quantize(4.0, false), tiles(&[2])], vec![ChainStep::Zlib, ChainStep::Sparse]]
    {
        assert_eq!(check(&steps).unwrap_err().kind(), ErrorKind::Malformed, "{steps:?}");
    }
    for steps in [vec![], vec![tiles(&[2]), quantize(4.0, false), ChainStep::Zlib], vec![ChainStep::Zlib, ChainStep::Zlib]] {
        assert!(check(&steps).is_ok(), "{steps:?}");
    }
}

#[test]
fn arguments_that_do_not_fit_are_malformed() {
    let huge = u64::MAX / 2;
    for (shape, of, item) in
        [(vec![2], vec![3, 5], 1), (vec![0, 2], vec![3, 5], 1), (vec![2, 2], vec![3, 5], 0), (vec![huge, huge], vec![3, 5], 1)]
    {
        let error = decode(&[tiles(&shape)], vec![0; 24], Some(15), &array(&of, item)).expect_err("wrong");
        assert_eq!(error.kind(), ErrorKind::Malformed, "{shape:?}: {error}");
    }
    let error = decoder(&[tiles(&[2])], source(vec![0; 4]), Some(4), None, Byteorder::Little, &Limits::default()).err().unwrap();
    assert!(error.message().contains("original_shape is missing"), "{error}");
}

/// A smooth image with noise of standard deviation 2 and a few sources.
fn image(n: usize, seed: u64) -> Vec<f64> {
    let noise = mixed(8 * n, seed | 1);
    let mut state = 1u64;
    (0..n)
        .map(|at| {
            let mut sum = 0.0;
            for _ in 0..12 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(u64::from(noise[at]) + 1);
                sum += (state >> 11) as f64 / (1u64 << 53) as f64;
            }
            100.0 + at as f64 / 50.0 + 2.0 * (sum - 6.0) + if at % 997 == 0 { 5_000.0 } else { 0.0 }
        })
        .collect()
}

/// ASDF 0.1.0, "quantize": `encoded_bits` is an "unsigned 8-bit integer"; with 0 of them each value is the offset.
#[test]
fn zero_bit_values_eq_offset() {
    let stored = [chunk(0, 7.0, 1.0, 3, &[]), chunk(8, 1.0, 2.0, 2, &[3, 0xff]), chunk(0, -0.5, 0.0, 1, &[])].concat();
    let back = floats(&decode(&[quantize(4.0, false)], stored, Some(48), &array(&[6], 8)).unwrap());
    assert_eq!(back, [7.0, 7.0, 7.0, 7.0, -1.0, -0.5]);
}

/// ASDF 0.1.0, "quantize": `dtype` "representing the bits in the original floating-point values", and
/// `original_shape` "the shape of the original array".
#[test]
fn quantize_arguments_contradicting_array_are_malformed() {
    let stored = chunk(0, 7.0, 1.0, 6, &[]);
    let step = |bits, shape: Option<&[u64]>| {
        [ChainStep::Quantize { bits, original_shape: shape.map(<[u64]>::to_vec), quality: None, dither: false }]
    };
    for (bits, shape, said) in [
        (Some(64), None, "dtype 64, but the elements of the array have 32 bits"),
        (Some(32), Some(&[7u64][..]), "original_shape [7], but the block has 24 bytes"),
        (None, Some(&[u64::MAX, 3][..]), "original_shape"),
    ] {
        let error = decode(&step(bits, shape), stored.clone(), Some(24), &array(&[6], 4)).unwrap_err();
        assert!(error.kind() == ErrorKind::Malformed && error.message().contains(said), "{error}");
    }
    for (bits, shape) in [(Some(32), Some(&[2u64, 3][..])), (None, Some(&[6][..])), (Some(32), None), (None, None)] {
        assert!(decode(&step(bits, shape), stored.clone(), Some(24), &array(&[6], 4)).is_ok(), "{bits:?} {shape:?}");
    }
    // After tiling, `original_shape` may be the shape of the array or that of all tiles.
    let tile = ChainStep::Tile { shape: vec![4], original_shape: None, item_size: None };
    let stored = chunk(0, 7.0, 1.0, 8, &[]);
    for (shape, is_ok) in [(vec![6], true), (vec![8], true), (vec![2, 4], true), (vec![7], false)] {
        let steps = [tile.clone(), step(Some(32), Some(&shape))[0].clone()];
        assert_eq!(decode(&steps, stored.clone(), Some(24), &array(&[6], 4)).is_ok(), is_ok, "{shape:?}");
    }
}

/// ASDF 0.1.0, "tile": tiles at the edges "are padded", and "extra values are discarded upon decoding".
#[test]
fn edge_tile_padding_adds_no_bits() {
    let bits_of = |rows: u64, columns: u64, tile: u64| {
        let values = image((rows * columns) as usize, 5);
        let data: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        let array = array(&[rows, columns], 8);
        let steps = [tiles(&[tile, tile]), quantize(4.0, false)];
        let stored = encode(&steps, &data, &array, 1000);
        let back = floats(&decode(&steps, stored.clone(), Some(data.len() as u64), &array).unwrap());
        let worst = values.iter().zip(&back).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(worst < 1.0, "{rows} {columns}: {worst}");
        let (mut at, mut bits) = (0, Vec::new());
        while at < stored.len() {
            bits.push(stored[at]);
            let count = u64::from_be_bytes(stored[at + 17..at + 25].try_into().unwrap());
            at += 25 + (count * u64::from(stored[at])).div_ceil(8) as usize;
        }
        bits
    };
    for (rows, columns) in [(40, 37), (33, 64), (64, 33), (37, 5), (70, 70)] {
        let bits = bits_of(rows, columns, 32);
        assert!(bits.iter().all(|bits| *bits <= 20), "{rows} {columns}: {bits:?}");
    }
}

#[test]
fn noise_estimate_matches_image_noise() {
    let noise = quantize::noise_sigma(&image(50_000, 3));
    assert!((1.9..2.1).contains(&noise), "{noise}");
}

#[test]
fn quantization_error_is_at_most_half_step() {
    let values = image(40_000, 9);
    let data: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
    let array = array(&[200, 200], 8);
    let noise = quantize::noise_sigma(&values);
    for (quality, dither, most) in [(4.0, false, 0.5), (16.0, false, 0.5), (4.0, true, 1.0)] {
        let steps = [quantize(quality, dither), ChainStep::Zlib];
        let stored = encode(&steps, &data, &array, 77_777);
        assert!(stored.len() * 3 < data.len(), "{}", stored.len());
        let back = floats(&decode(&steps, stored, Some(data.len() as u64), &array).unwrap());
        let step = noise / quality;
        let worst = values.iter().zip(&back).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(worst <= step * most * 1.000_001 && worst > step * most * 0.8, "{worst} of {step}");
        let mean = values.iter().zip(&back).map(|(a, b)| a - b).sum::<f64>() / values.len() as f64;
        assert!(mean.abs() < step / 50.0, "{mean}");
    }
}

#[test]
fn constants_and_non_finite_values_round_trip() {
    let values = [7.25, 7.25, f64::NAN, f64::NAN, f64::INFINITY, f64::INFINITY, f64::NEG_INFINITY, 7.25];
    let data: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
    let array = array(&[8], 8);
    let steps = [quantize(4.0, true)];
    let back = floats(&decode(&steps, encode(&steps, &data, &array, 5), Some(64), &array).unwrap());
    for (a, b) in values.iter().zip(back) {
        assert!(a.is_nan() && b.is_nan() || *a == b, "{a} {b}");
    }
}

#[test]
fn sparse_by_hand() {
    let mut stored = Vec::new();
    for word in [6u64, 1 << 8 | 9, 5 << 8 | 255, u64::MAX] {
        stored.extend_from_slice(&word.to_be_bytes());
    }
    let data = [0, 9, 0, 0, 0, 255];
    let array = array(&[6], 1);
    assert_eq!(encode(&[ChainStep::Sparse], &data, &array, 4), stored);
    assert_eq!(decode(&[ChainStep::Sparse], stored.clone(), None, &array).unwrap(), data);
    assert_eq!(decode(&[ChainStep::Sparse], stored[..24].to_vec(), Some(6), &array).unwrap_err().kind(), ErrorKind::Malformed);
    assert_eq!(decode(&[ChainStep::Sparse], stored, Some(7), &array).unwrap_err().kind(), ErrorKind::Malformed);
}

/// The blocks of a file whose headers are of `size` bytes, and their used bytes.
fn blocks(bytes: &[u8], size: usize) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut found = Vec::new();
    let mut at = bytes.windows(4).position(|w| w == b"\xd3BLK");
    while let Some(start) = at {
        let head = &bytes[start + 6..start + 6 + size];
        let number = |from: usize| u64::from_be_bytes(head[from..from + 8].try_into().unwrap()) as usize;
        let data = start + 6 + size;
        found.push((head.to_vec(), bytes[data..data + number(12)].to_vec()));
        let next = data + number(4);
        at = (bytes.get(next..next + 4) == Some(b"\xd3BLK")).then_some(next);
    }
    found
}

fn digest(bytes: &[u8]) -> String {
    use sha2::Digest;
    sha2::Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn historic_branch_files_decode() {
    let Some(corpus) = trilith_sample::corpus() else { return };
    let read = |name: &str| crate::bytes::read_text(corpus.join(name), 1 << 30).unwrap();
    // Letters in a header of 44 bytes; no decoded size.
    let bytes = read("asdf010-encoded-a-2015-01-05-hs44-codes/enc_sparse.asdf");
    let (head, stored) = blocks(&bytes, 44).swap_remove(0);
    let steps: Vec<_> = head[28..44].iter().take_while(|code| **code != 0).map(|code| ChainStep::from_code(*code)).collect();
    assert_eq!(steps, [ChainStep::Sparse]);
    assert_eq!(decode(&steps, stored, None, &array(&[40, 36], 8)).unwrap().len(), 40 * 36 * 8);
    let bytes = read("asdf010-encoded-a-2015-01-05-hs44-codes/enc_zlib.asdf");
    let (_, stored) = blocks(&bytes, 44).swap_remove(0);
    assert_eq!(decode(&[ChainStep::Zlib], stored, None, &array(&[16, 16], 8)).unwrap().len(), 16 * 16 * 8);
    // YAML after a header of 36 bytes.
    let bytes = read("asdf010-encoded-c-2015-01-12-hs36-yaml/enc_tile_rows_partial.asdf");
    let (_, stored) = blocks(&bytes, 36).swap_remove(0);
    let end = stored.windows(5).position(|w| w == b"\n...\n").unwrap() + 5;
    let steps = [ChainStep::Tile { shape: vec![8, 8], original_shape: Some(vec![42, 32]), item_size: Some(4) }, ChainStep::Zlib];
    let found = decode(&steps, stored[end..].to_vec(), Some(42 * 32 * 4), &array(&[42, 32], 4)).unwrap();
    assert_eq!(digest(&found), "c9e26e93117dfe282e6589730a113da0ca261423566aa7c4db6f7d5bc599551a");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn tiles_of_any_rank_come_back(dims in proptest::collection::vec((0u64..9, 1u64..6), 0..5), item in 1u64..9, cut in 1usize..400, zlib: bool, ranges in proptest::collection::vec(any::<(u32, u32)>(), 1..6)) {
        let shape: Vec<u64> = dims.iter().map(|d| d.0).collect();
        let tile: Vec<u64> = dims.iter().map(|d| d.1).collect();
        let array = array(&shape, item);
        let len = shape.iter().product::<u64>() * item;
        let data: Vec<u8> = (0..len).map(|n| (n * 7 + n / 256) as u8).collect();
        let mut steps = vec![tiles(&tile)];
        if zlib {
            steps.push(ChainStep::Zlib);
        }
        let stored = encode(&steps, &data, &array, cut);
        let source = decoder(&steps, source(stored.clone()), Some(len), Some(&array), array.byteorder(), &Limits::default()).unwrap();
        for (a, b) in ranges {
            let (a, b) = (u64::from(a) % (len + 1), u64::from(b) % (len + 1));
            let (from, to) = (a.min(b) as usize, a.max(b) as usize);
            let mut part = vec![0; to - from];
            source.read_at(from as u64, &mut part).unwrap();
            prop_assert_eq!(&part, &data[from..to]);
            stored_ranges(&*source, from as u64..to as u64).unwrap();
        }
        prop_assert_eq!(decode(&steps, stored, Some(len), &array).unwrap(), data);
    }

    #[test]
    fn chains_round_trip_and_broken_bytes_never_panic(which in 0usize..6, seed: u64, hits in proptest::collection::vec(any::<(u16, u8)>(), 0..5), keep: u16) {
        let chains = [
            vec![ChainStep::Zlib],
            vec![ChainStep::Sparse],
            vec![ChainStep::Sparse, ChainStep::Zlib],
            vec![ChainStep::Zlib, ChainStep::Zlib],
            vec![tiles(&[5, 7]), ChainStep::Zlib],
            vec![tiles(&[5, 7]), quantize(4.0, false), ChainStep::Zlib],
        ];
        let steps = &chains[which];
        let array = array(&[23, 31], 4);
        let data = mixed(23 * 31 * 4, seed);
        let mut stored = encode(steps, &data, &array, 1000);
        let back = decode(steps, stored.clone(), Some(data.len() as u64), &array).unwrap();
        if which < 5 {
            prop_assert_eq!(&back, &data);
            if which < 4 {
                prop_assert_eq!(decode(steps, stored.clone(), None, &array).unwrap(), data);
            }
        }
        for (at, byte) in hits {
            let at = usize::from(at) % stored.len();
            stored[at] = byte;
        }
        let _ = decode(steps, stored.clone(), Some(back.len() as u64), &array);
        let _ = decode(steps, stored.clone(), None, &array);
        stored.truncate(usize::from(keep) % (stored.len() + 1));
        let _ = decode(steps, stored, Some(back.len() as u64), &array);
    }

    #[test]
    fn quantized_range_eq_slice_of_whole(seed: u64, n in 1usize..3000, quality in 0.5f64..1000.0, ranges in proptest::collection::vec(any::<(u16, u16)>(), 1..6)) {
        let mut values = image(n, seed);
        for at in (0..n).step_by(37) {
            values[at] = if seed & 1 == 0 { f64::NAN } else { f64::INFINITY };
        }
        let data: Vec<u8> = values.iter().flat_map(|v| (*v as f32).to_le_bytes()).collect();
        let array = array(&[n as u64], 4);
        let steps = [quantize(quality, false)];
        let stored = encode(&steps, &data, &array, 333);
        let whole = decode(&steps, stored.clone(), Some(data.len() as u64), &array).unwrap();
        let source = decoder(&steps, source(stored), Some(data.len() as u64), Some(&array), array.byteorder(), &Limits::default()).unwrap();
        for (a, b) in ranges {
            let (a, b) = (usize::from(a) % (data.len() + 1), usize::from(b) % (data.len() + 1));
            let (from, to) = (a.min(b), a.max(b));
            let mut part = vec![0; to - from];
            source.read_at(from as u64, &mut part).unwrap();
            prop_assert_eq!(&part, &whole[from..to]);
        }
    }
}

/// Found by the fuzz target `chains`: it was written, but could not be read again.
#[test]
fn encoder_rejects_floats_larger_than_elements() {
    let steps = [ChainStep::Quantize { bits: Some(64), original_shape: None, quality: None, dither: false }];
    let array = BlockArray { shape: vec![], item_size: 1, big_endian: false };
    assert_eq!(encoder(&steps, &array, &Limits::default()).err().map(|error| error.kind()), Some(ErrorKind::InvalidInput));
}
