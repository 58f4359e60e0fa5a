//! Laws that hold for every codec.
#![allow(clippy::single_range_in_vec_init, reason = "ranges are what is compared")]

use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::bytes::{decode_unit_len, stored_ranges};
use trilith_sample::{is_sampled, sample};

fn ids() -> impl Strategy<Value = CodecId> {
    proptest::sample::select(CODECS.iter().map(|codec| codec.id).collect::<Vec<_>>())
}

/// Bytes with runs, repeats and noise, so that codecs have something to find.
pub(super) fn mixed(len: usize, seed: u64) -> Vec<u8> {
    let mut state = seed | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let mut bytes = Vec::with_capacity(len);
    while bytes.len() < len {
        let run = (next() % 700) as usize + 1;
        match next() % 4 {
            0 => bytes.extend(std::iter::repeat_n(next() as u8, run)),
            1 => bytes.extend((0..run).map(|_| next() as u8)),
            2 => bytes.extend((0..run).map(|at| (at / 3) as u8)),
            _ => {
                let from = (next() as usize) % (bytes.len() + 1);
                let again = bytes[from..bytes.len().min(from + run)].to_vec();
                bytes.extend(again);
            }
        }
    }
    bytes.truncate(len);
    bytes
}

fn slice(bytes: Vec<u8>) -> SourceRef {
    Arc::new(MemorySource::new(bytes, "test"))
}

fn open(id: CodecId, stored: &[u8], len: usize) -> Result<SourceRef> {
    decoder(id, slice(stored.to_vec()), len as u64, &Limits::default())
}

fn decode_all(id: CodecId, stored: &[u8], len: usize) -> Result<Vec<u8>> {
    let source = open(id, stored, len)?;
    let mut bytes = vec![0; len];
    source.read_at(0, &mut bytes)?;
    Ok(bytes)
}

/// Encodes with writes of these lengths, over and over.
fn encode_cut(id: CodecId, data: &[u8], cuts: &[usize], options: &EncodeOptions) -> Vec<u8> {
    let mut out = Vec::new();
    let mut encoder = encoder(id, options).unwrap();
    let mut rest = data;
    let mut cuts = cuts.iter().cycle();
    while !rest.is_empty() {
        let (now, later) = rest.split_at((*cuts.next().unwrap()).clamp(1, rest.len()));
        encoder.write(now, &mut out).unwrap();
        rest = later;
    }
    encoder.finish(&mut out).unwrap();
    out
}

/// The lengths at which something changes.
const LENGTHS: &[usize] =
    &[0, 1, 2, 3, 7, 100, 4095, 70_000, 262_143, 262_144, 262_145, 1_000_000, 4 << 20, (4 << 20) + 1, 9_000_001];

#[test]
fn every_length_comes_back() {
    for codec in CODECS {
        for len in LENGTHS {
            let data = mixed(*len, *len as u64 + 7);
            let stored = encode(codec.id, &data, &EncodeOptions::default()).unwrap();
            assert!(decode_all(codec.id, &stored, *len).unwrap() == data, "{} of {len} bytes", codec.id);
        }
    }
}

#[test]
fn constant_bytes_come_back() {
    for codec in CODECS {
        let data = vec![0; 10_000_000];
        let stored = encode(codec.id, &data, &EncodeOptions::default()).unwrap();
        assert!(stored.len() < 100_000, "{}: {}", codec.id, stored.len());
        assert!(decode_all(codec.id, &stored, data.len()).unwrap() == data, "{}", codec.id);
    }
}

#[test]
fn unknown_codecs_are_named() {
    let error = open(CodecId(*b"br\x01\0"), b"", 0).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.message().contains("br\\\\x01"), "{error}");
}

#[test]
fn claimed_length_beyond_ratio_is_rejected_before_reading() {
    for codec in CODECS {
        let error = open(codec.id, &[0; 64], usize::MAX / 2).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Limit, "{}", codec.id);
    }
}

#[test]
fn too_short_and_too_long_are_malformed() {
    for codec in CODECS {
        let data = mixed(300_000, 3);
        let stored = encode(codec.id, &data, &EncodeOptions::default()).unwrap();
        for claimed in [299_999, 300_001, 299_000, 301_000] {
            let error = decode_all(codec.id, &stored, claimed).expect_err("another length");
            assert_eq!(error.kind(), ErrorKind::Malformed, "{} {claimed}: {error}", codec.id);
            let source = open(codec.id, &stored, claimed).unwrap();
            assert!(stream_source(&*source, &mut |_| Ok(())).is_err(), "{} {claimed}", codec.id);
        }
    }
}

#[test]
fn writes_may_be_cut_anywhere() {
    for codec in CODECS {
        let data = mixed(5_000_000, 11);
        let options = EncodeOptions { total_len: Some(data.len() as u64), item_size: 4, ..EncodeOptions::default() };
        let whole = encode_cut(codec.id, &data, &[data.len()], &options);
        for cuts in [&[1, 70_000, 3][..], &[4096], &[900_000, 1], &[5 << 20]] {
            assert!(encode_cut(codec.id, &data, cuts, &options) == whole, "{} {cuts:?}", codec.id);
        }
    }
}

#[test]
fn rows_forward_then_back() {
    for codec in CODECS {
        let data = mixed(6_000_000, 5);
        let stored = encode(codec.id, &data, &EncodeOptions::default()).unwrap();
        let source = open(codec.id, &stored, data.len()).unwrap();
        let mut row = vec![0; 60_000];
        for at in (0..100).chain([99, 3, 50, 0]) {
            source.read_at(at * 60_000, &mut row).unwrap();
            assert!(row == data[at as usize * 60_000..][..60_000], "{} row {at}", codec.id);
        }
    }
}

#[test]
fn lz4_slice_reads_only_its_sub_blocks() {
    let data = mixed(20 << 20, 9);
    let options = EncodeOptions { row_bytes: Some(3_000_000), item_size: 4, ..EncodeOptions::default() };
    let stored = encode(CodecId(*b"lz4\0"), &data, &options).unwrap();
    let source = open(CodecId(*b"lz4\0"), &stored, data.len()).unwrap();
    let ranges = stored_ranges(&*source, 3_000_000..6_000_000).unwrap();
    let first = u64::from(u32::from_be_bytes(stored[..4].try_into().unwrap()));
    assert_eq!(ranges.len(), 1);
    assert_eq!(ranges[0].start, 4 + first + 8);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn piece_len_holds_for_every_piece_in_range(
        whole in 1usize..6, size in 1usize..3000, other in 1usize..3000, last in 1usize..3000, range: (u32, u32),
    ) {
        let lz4 = CodecId(*b"lz4\0");
        // Equal pieces, then one that may differ, then some more.
        let lengths: Vec<usize> = std::iter::repeat_n(size, whole).chain([other, size, last]).collect();
        let (mut data, mut stored, mut borders) = (Vec::new(), Vec::new(), vec![0]);
        for len in &lengths {
            let piece = mixed(*len, 5);
            stored.extend(encode(lz4, &piece, &EncodeOptions::default()).unwrap());
            data.extend(piece);
            borders.push(data.len() as u64);
        }
        let (a, b) = (u64::from(range.0) % data.len() as u64, u64::from(range.1) % data.len() as u64);
        let range = a.min(b)..a.max(b) + 1;
        let source = open(lz4, &stored, data.len()).unwrap();
        let expected = borders.windows(2).filter(|pair| pair[0] < range.end && pair[1] > range.start).all(|pair| {
            pair[0] % size as u64 == 0 && (pair[1] - pair[0] == size as u64 || pair[1] == data.len() as u64)
        });
        prop_assert_eq!(decode_unit_len(&*source, range).unwrap(), expected.then_some(size as u64));
    }

    #[test]
    fn range_read_eq_slice_of_whole(id in ids(), len in 1usize..300_000, seed: u64, ranges in proptest::collection::vec(any::<(u32, u32)>(), 1..8)) {
        let data = mixed(len, seed);
        let stored = encode(id, &data, &EncodeOptions { item_size: 4, ..EncodeOptions::default() }).unwrap();
        let source = open(id, &stored, len).unwrap();
        for (a, b) in ranges {
            let (a, b) = (a as usize % (len + 1), b as usize % (len + 1));
            let (from, to) = (a.min(b), a.max(b));
            let mut part = vec![0; to - from];
            source.read_at(from as u64, &mut part).unwrap();
            prop_assert!(part == data[from..to], "{} {}..{}", id, from, to);
        }
    }
}

/// Returns the parameters that an encoder may get, besides a codec.
fn variants() -> Vec<(CodecId, EncodeOptions)> {
    let mut all = Vec::new();
    let usual = EncodeOptions::default;
    for codec in CODECS {
        for item_size in [1, 4] {
            all.push((codec.id, EncodeOptions { item_size, row_bytes: Some(9_000), ..usual() }));
        }
    }
    for blosc in [BloscCodec::Lz4, BloscCodec::Zlib, BloscCodec::Zstd] {
        for shuffle in [ShuffleMode::None, ShuffleMode::Bytes, ShuffleMode::Bits] {
            for item_size in [1, 2, 4, 7, 8, 16, 40] {
                all.push((CodecId(*b"blsc"), EncodeOptions { blosc, shuffle, item_size, ..usual() }));
            }
        }
    }
    for level in [1, 9] {
        for id in [*b"zlib", *b"bzp2", *b"zstd", *b"blsc"] {
            all.push((CodecId(id), EncodeOptions { level: Some(level), ..usual() }));
        }
    }
    all.push((CodecId(*b"zlib"), EncodeOptions { level: Some(0), ..usual() }));
    all.push((CodecId(*b"zstd"), EncodeOptions { multiple_frames: true, row_bytes: Some(1_000_000), ..usual() }));
    if cfg!(not(feature = "zstd")) {
        all.retain(|(id, options)| *id != CodecId(*b"zstd") && options.blosc != BloscCodec::Zstd);
    }
    all
}

#[test]
fn every_variant_comes_back() {
    for (id, options) in sample("variants of codecs", variants(), 8) {
        for len in [0, 1, 127, 128, 1023, 4097, 262_144, 262_152, 900_001] {
            let data = mixed(len, 77 + len as u64);
            let stored = encode(id, &data, &options).unwrap();
            assert!(decode_all(id, &stored, len).unwrap() == data, "{id} {options:?} of {len} bytes");
            let again =
                encode_cut(id, &data, &[4097, 50_000, 1], &EncodeOptions { total_len: Some(len as u64), ..options.clone() });
            assert!(again == stored, "{id} {options:?} of {len} bytes depends on how it is cut");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    /// Encoded by one thread or by several, and however it is cut: the same bytes, and one stream that decodes to the input.
    #[test]
    fn encoded_bytes_eq_with_any_thread_count(which in any::<proptest::sample::Index>(), len in 0usize..2_500_000, seed: u64, cut in 1usize..1_000_000, threads in 2usize..5) {
        let variants = variants();
        let (id, options) = which.get(&variants);
        let data = mixed(len, seed);
        set_threads(Some(1));
        let one = encode(*id, &data, options).unwrap();
        set_threads(Some(threads));
        let many = encode_cut(*id, &data, &[cut], &EncodeOptions { total_len: Some(len as u64), ..options.clone() });
        prop_assert!(one == many, "{} {:?} of {} bytes cut at {}", id, options, len, cut);
        prop_assert!(decode_all(*id, &one, len).unwrap() == data);
        set_threads(None);
        if *id == CodecId(*b"zlib") && len > 0 {
            let mut whole = vec![0; len];
            let mut stream = flate2::Decompress::new(true);
            let status = stream.decompress(&one, &mut whole, flate2::FlushDecompress::Finish).unwrap();
            prop_assert!(status == flate2::Status::StreamEnd && stream.total_in() == one.len() as u64 && whole == data);
        }
    }
}

#[test]
fn consecutive_bzip2_streams_decode_as_one_block() {
    let data = mixed(3_000_000, 31);
    let mut stored = Vec::new();
    for part in data.chunks(700_000) {
        stored.extend(encode(CodecId(*b"bzp2"), part, &EncodeOptions::default()).unwrap());
    }
    assert!(decode_all(CodecId(*b"bzp2"), &stored, data.len()).unwrap() == data);
}

#[test]
fn parallel_bzip2_is_what_libbz2_writes() {
    use std::io::Write as _;
    let mut runs = Vec::new();
    for n in 0..2_500u32 {
        runs.extend(std::iter::repeat_n((n % 5) as u8, (n * 7 % 1300) as usize));
    }
    for data in [mixed(4_000_000, 41), runs, vec![7; 3_000_000], Vec::new(), vec![1]] {
        for level in [1, 9] {
            let mut theirs = ::bzip2::write::BzEncoder::new(Vec::new(), ::bzip2::Compression::new(level));
            theirs.write_all(&data).unwrap();
            let options = EncodeOptions { level: Some(level as i32), ..EncodeOptions::default() };
            assert!(encode(CodecId(*b"bzp2"), &data, &options).unwrap() == theirs.finish().unwrap());
        }
    }
}

#[test]
fn false_bzip2_mark_keeps_result() {
    // The mark of a block, put into the data of a block: here it only can be made to fail, since
    // the coded bits are what they are; what counts is that both ways agree.
    let data = mixed(2_000_000, 51);
    let stored = encode(CodecId(*b"bzp2"), &data, &EncodeOptions { level: Some(1), ..EncodeOptions::default() }).unwrap();
    for at in (1_000..stored.len() - 6).step_by(stored.len() / 23) {
        let mut broken = stored.clone();
        broken[at..at + 6].copy_from_slice(&[0x31, 0x41, 0x59, 0x26, 0x53, 0x59]);
        let source = open(CodecId(*b"bzp2"), &broken, data.len()).unwrap();
        let mut together = 0;
        let result = stream_source(&*source, &mut |piece| {
            together += piece.len();
            Ok(())
        });
        let mut serial = ::bzip2::read::MultiBzDecoder::new(&broken[..]);
        let theirs = std::io::copy(&mut serial, &mut std::io::sink());
        assert_eq!(result.is_ok(), theirs.is_ok(), "mark at {at}");
    }
}

#[cfg(feature = "zstd")]
#[test]
fn zstd_frames_are_read_by_slices() {
    let data = mixed(20 << 20, 61);
    let options = EncodeOptions { multiple_frames: true, ..EncodeOptions::default() };
    let stored = encode(CodecId(*b"zstd"), &data, &options).unwrap();
    let source = open(CodecId(*b"zstd"), &stored, data.len()).unwrap();
    let needed: u64 = stored_ranges(&*source, 5 << 20..6 << 20).unwrap().iter().map(|range| range.end - range.start).sum();
    assert!(needed < stored.len() as u64 / 3, "{needed} of {}", stored.len());
    // A block of one frame is one piece.
    let stored = encode(CodecId(*b"zstd"), &data, &EncodeOptions::default()).unwrap();
    let source = open(CodecId(*b"zstd"), &stored, data.len()).unwrap();
    assert_eq!(stored_ranges(&*source, 0..1).unwrap(), [0..stored.len() as u64]);
}

#[test]
fn wrong_total_is_invalid_input() {
    for id in [*b"lz4f", *b"blsc"] {
        let mut out = Vec::new();
        let mut encoder = encoder(CodecId(id), &EncodeOptions { total_len: Some(5), ..EncodeOptions::default() }).unwrap();
        encoder.write(b"four", &mut out).unwrap();
        assert_eq!(encoder.finish(&mut out).unwrap_err().kind(), ErrorKind::InvalidInput);
    }
}

#[test]
fn blosc_refuses_two_gibibytes() {
    let options = EncodeOptions { total_len: Some(1 << 31), ..EncodeOptions::default() };
    assert_eq!(encoder(CodecId(*b"blsc"), &options).err().unwrap().kind(), ErrorKind::Unsupported);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// The crate blusc, written by others, as judge: it reads ours, and we read its.
    #[test]
    fn blusc_agrees(len in 1usize..200_000, seed: u64, item in proptest::sample::select(vec![1usize, 2, 3, 4, 8, 17]), shuffle in 0u8..3, inner in proptest::sample::select(vec![0u8, 1, 3, 4, 5])) {
        // If the number of items is not a multiple of 8, c-blosc 1 leaves the bits alone, and blusc
        // (like c-blosc 2) does not: there c-blosc 1 is right, checked with the package `blosc`.
        // If the first byte of a word is its highest, blusc shuffles bits in another order than the definition gives,
        // by which shuffle.rs tests ours.
        let shuffle = if cfg!(target_endian = "big") { shuffle % 2 } else { shuffle };
        let item = if shuffle == 2 { item.next_power_of_two().min(8) } else { item };
        let len = if shuffle == 2 { len.next_multiple_of(8 * item) } else { len };
        let data = mixed(len, seed);
        let id = CodecId(*b"blsc");
        let mut params = blusc::BLOSC2_CPARAMS_DEFAULTS;
        params.compcode = inner;
        params.typesize = item as i32;
        params.filters = [0, 0, 0, 0, 0, shuffle];
        let context = blusc::blosc2_create_cctx(params);
        let mut theirs = vec![0; len + 100_000];
        let n = blusc::blosc1_compress_ctx(&context, &data, &mut theirs);
        prop_assert!(n > 0);
        theirs.truncate(n as usize);
        prop_assert!(decode_all(id, &theirs, len).unwrap() == data, "theirs");
        let options = EncodeOptions { item_size: item, shuffle: [ShuffleMode::None, ShuffleMode::Bytes, ShuffleMode::Bits][shuffle as usize], ..EncodeOptions::default() };
        let ours = encode(id, &data, &options).unwrap();
        let mut back = vec![0; len];
        prop_assert_eq!(blusc::blosc1_decompress(&ours, &mut back), len as i32);
        prop_assert!(back == data, "ours");
    }
}

/// Breaks stored bytes for as long as `seconds`, and compares one thread with several.
fn hammer(seconds: u64) {
    let start = std::time::Instant::now();
    let mut seed = 1u64;
    let variants = variants();
    while start.elapsed().as_secs() < seconds {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(99);
        let mut next = {
            let noise = mixed(64, seed >> 8);
            let mut at = 0;
            move || {
                at += 1;
                usize::from(noise[at % 64]) << 8 | usize::from(noise[(at * 7 + 3) % 64])
            }
        };
        let (id, options) = &variants[next() % variants.len()];
        // Now and then long enough for several bzip2 blocks of level 1.
        let len = if next() % 8 == 0 { 600_000 } else { next() % 20_000 + 1 };
        let data = mixed(len, seed);
        let mut stored = encode(*id, &data, options).unwrap();
        for _ in 0..next() % 4 {
            let at = (next() << 8 | next()) % stored.len();
            let at = if next() % 2 == 0 { at % 48 % stored.len() } else { at };
            stored[at] ^= 1 << (next() % 8);
        }
        if next() % 4 == 0 {
            stored.truncate(next() % (stored.len() + 1));
        }
        let claimed = if next() % 4 == 0 { len + next() % 3 } else { len };
        let decoded = |threads| {
            set_threads(Some(threads));
            decode_all(*id, &stored, claimed)
        };
        let (one, many) = (decoded(1), decoded(3));
        assert_eq!(one.as_ref().ok(), many.as_ref().ok(), "{id} {options:?}, seed {seed}");
        if let (Err(one), Err(many)) = (one, many) {
            assert_eq!(one.kind(), many.kind(), "{id} {options:?}, seed {seed}: {one} / {many}");
        }
    }
    set_threads(None);
}

/// Runs for the number of seconds in TRILITH_SOAK; else for three, or for one in a sampled run.
#[test]
fn broken_bytes_decode_eq_with_any_thread_count() {
    hammer(std::env::var("TRILITH_SOAK").ok().and_then(|seconds| seconds.parse().ok()).unwrap_or(if is_sampled() {
        1
    } else {
        3
    }));
}
