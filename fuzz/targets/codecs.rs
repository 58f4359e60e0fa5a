//! Codecs: what was encoded decodes to the same however it was cut, a part read is that part of the whole,
//! and bytes that nobody encoded end with an error or with as many bytes as were claimed.
#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use trilith::bytes::stored_ranges;
use trilith_codec::codec::{BloscCodec, CODECS, Codec, EncodeOptions, ShuffleMode, decoder, encoder};
use trilith_fuzz::{limits, memory};

#[derive(Arbitrary, Debug)]
struct Input {
    codec: u8,
    what: What,
    reads: Vec<(u16, u16)>,
}

#[derive(Arbitrary, Debug)]
enum What {
    /// Bytes, repeated so that they become some chunks long, encoded in pieces.
    Encode { bytes: Vec<u8>, times: u8, cuts: Vec<u16>, options: Options },
    /// Stored bytes as they come.
    Decode { stored: Vec<u8>, claimed: u32 },
    /// Encoded bytes with some of them changed.
    Mutate { bytes: Vec<u8>, options: Options, changes: Vec<(u16, u8)>, cut: Option<u16>, claimed: Option<u32> },
}

#[derive(Arbitrary, Debug)]
struct Options {
    level: Option<u8>,
    item_size: u8,
    row_bytes: Option<u16>,
    told: bool,
    shuffle: u8,
    blosc: u8,
    frames: bool,
}

fuzz_target!(|input: Input| {
    let codec = &CODECS[usize::from(input.codec) % CODECS.len()];
    match input.what {
        What::Encode { bytes, times, cuts, options } => {
            let data = bytes.repeat(usize::from(times).max(1));
            let data = &data[..data.len().min(300_000)];
            let Some(stored) = encode(codec, data, &cuts, &options) else { return };
            assert_eq!(encode(codec, data, &[], &options).as_deref(), Some(&stored[..]), "cuts change nothing");
            let mut generous = limits();
            for name in ["zlib_ratio=1000000", "lz4_ratio=1000000", "bzip2_ratio=100000000", "ratio=1000000"] {
                generous.set(name).expect("the limit exists");
            }
            let source = decoder(codec.id, memory(stored), data.len() as u64, &generous).expect("our own bytes decode");
            for (at, len) in &input.reads {
                let start = usize::from(*at) % (data.len() + 1);
                let mut part = vec![0; (data.len() - start).min(usize::from(*len))];
                source.read_at(start as u64, &mut part).expect("a part can be read");
                assert!(part == data[start..start + part.len()], "a part is that part of the whole");
                stored_ranges(&*source, start as u64..(start + part.len()) as u64).expect("what a part costs can be told");
            }
            let mut whole = vec![0; data.len()];
            source.read_at(0, &mut whole).expect("the whole can be read");
            assert!(whole == data, "decoded as encoded");
        }
        What::Decode { stored, claimed } => any(codec, stored, u64::from(claimed % (1 << 20)), &input.reads),
        What::Mutate { bytes, options, changes, cut, claimed } => {
            let Some(mut stored) = encode(codec, &bytes, &[], &options) else { return };
            for (at, to) in changes {
                let len = stored.len();
                if let Some(byte) = stored.get_mut(usize::from(at) % len.max(1)) {
                    *byte = to;
                }
            }
            if let Some(cut) = cut {
                stored.truncate(usize::from(cut));
            }
            any(codec, stored, u64::from(claimed.map_or(bytes.len() as u32, |n| n % (1 << 20))), &input.reads);
        }
    }
});

fn encode(codec: &Codec, data: &[u8], cuts: &[u16], how: &Options) -> Option<Vec<u8>> {
    let mut options = EncodeOptions::default();
    // High levels of bzip2 and zstd are slow, not different.
    options.level = how.level.map(|level| i32::from(level % 10));
    options.item_size = usize::from(how.item_size).max(1);
    options.row_bytes = how.row_bytes.map(u64::from);
    options.total_len = how.told.then_some(data.len() as u64);
    options.shuffle = [ShuffleMode::None, ShuffleMode::Bytes, ShuffleMode::Bits][usize::from(how.shuffle % 3)];
    options.blosc = [BloscCodec::Lz4, BloscCodec::Zlib, BloscCodec::Zstd][usize::from(how.blosc % 3)];
    options.multiple_frames = how.frames;
    // A level that the codec does not have.
    let mut encoder = encoder(codec.id, &options).ok()?;
    let (mut out, mut rest) = (Vec::new(), data);
    for cut in cuts {
        let (piece, after) = rest.split_at(usize::from(*cut).min(rest.len()));
        // A codec may need to know the length beforehand.
        encoder.write(piece, &mut out).ok()?;
        rest = after;
    }
    encoder.write(rest, &mut out).ok()?;
    encoder.finish(&mut out).ok()?;
    Some(out)
}

fn any(codec: &Codec, stored: Vec<u8>, claimed: u64, reads: &[(u16, u16)]) {
    let Ok(source) = decoder(codec.id, memory(stored), claimed, &limits()) else { return };
    assert_eq!(source.len(), claimed);
    let mut whole = vec![0; claimed as usize];
    let done = source.read_at(0, &mut whole);
    for (at, len) in reads {
        let start = u64::from(*at).min(claimed);
        let mut part = vec![0; (claimed - start).min(u64::from(*len)) as usize];
        let read = source.read_at(start, &mut part);
        let _ = stored_ranges(&*source, start..start + part.len() as u64);
        if done.is_ok() && read.is_ok() {
            assert!(part == whole[start as usize..start as usize + part.len()], "a part is that part of the whole");
        }
    }
}
