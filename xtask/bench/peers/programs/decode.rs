//! Decoding into a warm buffer: `decode trilith|one|library CODEC MEGABYTES [BLOCKS]` encodes an image of noisy
//! float32, once for each of so many blocks, decodes it with all threads, with one, or with the library that does
//! the work, and prints seconds as the harness reads them. `none` is a copy.

use std::sync::Arc;
use std::time::Instant;

use trilith::Limits;
use trilith::bytes::{MemorySource, SourceRef};
use trilith_codec::codec::{CodecId, EncodeOptions, decoder, encode};
use trilith_io::threads::{map_parallel, set_threads};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match run(&words.iter().map(String::as_str).collect::<Vec<_>>()) {
        Ok(wall) => println!("{{\"cpu_s\": {wall}, \"wall_s\": {wall}}}"),
        Err(error) => {
            eprintln!("{error}");
            std::process::exit(1);
        }
    }
}

/// Noise around 100 with a few bits that matter, as detectors give.
fn image(megabytes: usize) -> Vec<u8> {
    let mut state = 88_172_645_463_325_252u64;
    let mut bytes = Vec::with_capacity(megabytes << 20);
    for _ in 0..megabytes << 18 {
        let mut sum = 0.0;
        for _ in 0..4 {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            sum += (state >> 40) as f32 / (1 << 24) as f32;
        }
        bytes.extend_from_slice(&(((sum - 2.0) * 8.66 + 100.0) * 64.0).round().to_bits().to_le_bytes());
    }
    bytes
}

fn run(words: &[&str]) -> Outcome<f64> {
    let [who, codec, megabytes, rest @ ..] = words else {
        return Err("decode trilith|one|library CODEC MEGABYTES [BLOCKS]".into());
    };
    let blocks: usize = rest.first().map_or(Ok(1), |word| word.parse())?;
    let raw = image(megabytes.parse()?);
    let mut into = vec![1u8; raw.len()];
    let part = raw.len() / blocks;
    let mut options = EncodeOptions::default();
    (options.item_size, options.total_len, options.multiple_frames) = (4, Some(part as u64), *codec == "zstd");
    let id = CodecId::from_name(codec).ok_or("a codec has at most four letters")?;
    let id = if *codec == "none" { CodecId::NONE } else { id };
    let stored: Vec<Vec<u8>> = raw.chunks(part).map(|block| encode(id, block, &options)).collect::<Result<_, _>>()?;
    let mut best = f64::INFINITY;
    for _ in 0..3 {
        into.fill(0);
        let seconds = match *who {
            "library" => library(codec, &stored, &mut into, part)?,
            who => {
                set_threads((who == "one").then_some(1));
                ours(id, &stored, &mut into, part)?
            }
        };
        if into != raw {
            return Err("decoded to something else".into());
        }
        best = best.min(seconds);
    }
    Ok(best)
}

fn ours(id: CodecId, stored: &[Vec<u8>], into: &mut [u8], part: usize) -> Outcome<f64> {
    let mut jobs = Vec::new();
    for (block, into) in stored.iter().zip(into.chunks_mut(part)) {
        let bytes: SourceRef = Arc::new(MemorySource::new(block.clone(), "memory"));
        jobs.push((decoder(id, bytes, into.len() as u64, &Limits::default())?, into));
    }
    let start = Instant::now();
    map_parallel(jobs, |(source, into)| source.read_at(0, into))?;
    Ok(start.elapsed().as_secs_f64())
}

/// What the library that decodes needs on one thread, without anything around it.
fn library(codec: &str, stored: &[Vec<u8>], into: &mut [u8], part: usize) -> Outcome<f64> {
    let start = Instant::now();
    for (block, into) in stored.iter().zip(into.chunks_mut(part)) {
        match codec {
            "none" => into.copy_from_slice(block),
            "lz4" => lz4(block, into)?,
            "zlib" => drop(flate2::Decompress::new(true).decompress(block, into, flate2::FlushDecompress::Finish)?),
            "bzp2" => drop(bzip2::Decompress::new(false).decompress(block, into)?),
            "zstd" => zstd_frames(block, into)?,
            "blsc" => drop(blusc::blosc1_decompress(block, into)),
            other => return Err(format!("no library for {other}").into()),
        }
    }
    Ok(start.elapsed().as_secs_f64())
}

/// Sub-blocks of Python asdf: length (big-endian), decoded length (little-endian), LZ4.
fn lz4(mut block: &[u8], mut into: &mut [u8]) -> Outcome<()> {
    while let Some((len, rest)) = block.split_first_chunk::<4>() {
        let (data, rest) = rest.split_at(u32::from_be_bytes(*len) as usize);
        let (size, data) = data.split_first_chunk::<4>().ok_or("cut short")?;
        let (now, later) = into.split_at_mut(u32::from_le_bytes(*size) as usize);
        lz4_flex::block::decompress_into(data, now)?;
        (block, into) = (rest, later);
    }
    Ok(())
}

fn zstd_frames(block: &[u8], into: &mut [u8]) -> Outcome<()> {
    let mut reader = zstd::stream::read::Decoder::with_buffer(block)?;
    std::io::Read::read_exact(&mut reader, into)?;
    Ok(())
}
