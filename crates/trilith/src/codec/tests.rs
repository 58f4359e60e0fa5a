//! Laws that hold for every codec.

use std::sync::Arc;

use proptest::prelude::*;

use super::*;

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
    Arc::new(Slice::new(bytes, "test"))
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
    assert_eq!(error.kind(), crate::Kind::Unsupported);
    assert!(error.message().contains("br\\\\x01"), "{error}");
}

#[test]
fn claims_beyond_the_ratio_are_refused_before_anything_is_read() {
    for codec in CODECS {
        let error = open(codec.id, &[0; 64], usize::MAX / 2).err().unwrap();
        assert_eq!(error.kind(), crate::Kind::Limit, "{}", codec.id);
    }
}

#[test]
fn too_short_and_too_long_are_malformed() {
    for codec in CODECS {
        let data = mixed(300_000, 3);
        let stored = encode(codec.id, &data, &EncodeOptions::default()).unwrap();
        for claimed in [299_999, 300_001, 299_000, 301_000] {
            let error = decode_all(codec.id, &stored, claimed).expect_err("another length");
            assert_eq!(error.kind(), crate::Kind::Malformed, "{} {claimed}: {error}", codec.id);
            let source = open(codec.id, &stored, claimed).unwrap();
            assert!(stream_source(&*source, &mut |_| Ok(())).is_err(), "{} {claimed}", codec.id);
        }
    }
}

#[test]
fn writes_may_be_cut_anywhere() {
    for codec in CODECS {
        let data = mixed(5_000_000, 11);
        let options = EncodeOptions { total: Some(data.len() as u64), item_size: 4, ..EncodeOptions::default() };
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
fn lz4_reads_only_the_sub_blocks_of_a_slice() {
    let data = mixed(20 << 20, 9);
    let options = EncodeOptions { row_bytes: Some(3_000_000), item_size: 4, ..EncodeOptions::default() };
    let stored = encode(CodecId(*b"lz4\0"), &data, &options).unwrap();
    let source = open(CodecId(*b"lz4\0"), &stored, data.len()).unwrap();
    let ranges = source.stored(3_000_000..6_000_000).unwrap();
    let first = u64::from(u32::from_be_bytes(stored[..4].try_into().unwrap()));
    assert_eq!(ranges.len(), 1);
    assert_eq!(ranges[0].start, 4 + first + 8);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_range_is_a_slice_of_the_whole(id in ids(), len in 1usize..300_000, seed: u64, ranges in proptest::collection::vec(any::<(u32, u32)>(), 1..8)) {
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

    #[test]
    fn broken_bytes_give_errors_or_bytes(id in ids(), len in 1usize..60_000, seed: u64, hits in proptest::collection::vec(any::<(u32, u8)>(), 1..6), keep: u32) {
        let data = mixed(len, seed);
        let mut stored = encode(id, &data, &EncodeOptions { item_size: 4, ..EncodeOptions::default() }).unwrap();
        for (at, byte) in hits {
            let at = at as usize % stored.len();
            // Often near the front, where the headers are.
            let at = if byte & 1 == 0 { at % 40 % stored.len() } else { at };
            stored[at] = byte;
        }
        let _ = decode_all(id, &stored, len);
        stored.truncate(keep as usize % (stored.len() + 1));
        let _ = decode_all(id, &stored, len);
    }
}
