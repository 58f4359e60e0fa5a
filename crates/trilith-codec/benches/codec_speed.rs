//! How fast the codecs are here: MB of decoded bytes a second, the best of a few, with one
//! thread (its CPU time) and with as many as the machine has (by the clock), on a noisy image. `codec_speed [MiB] [ID…]`.

#![allow(clippy::print_stdout, clippy::expect_used, reason = "a program that prints, and stops when something is wrong")]

use std::sync::Arc;
use std::time::Instant;

use trilith_codec::Limits;
use trilith_codec::codec::{BloscCodec, CODECS, CodecId, EncodeOptions, ShuffleMode, decoder, encoder, set_threads};
use trilith_io::bytes::MemorySource;

/// Normally distributed noise around a sky of 100, with stars, as big-endian float32; or the same
/// as int16.
fn image(items: usize, wide: bool) -> Vec<u8> {
    let mut state = 1u64;
    let mut uniform = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1u64 << 24) as f32
    };
    let mut bytes = Vec::with_capacity(items * 4);
    for at in 0..items {
        let gauss = (0..12).map(|_| uniform()).sum::<f32>() - 6.0;
        let star = if at % 4099 < 3 { 3000.0 * uniform() } else { 0.0 };
        let value = 100.0 + 5.0 * gauss + star;
        if wide {
            bytes.extend_from_slice(&value.to_be_bytes());
        } else {
            bytes.extend_from_slice(&(value as i16).to_be_bytes());
        }
    }
    bytes
}

/// Seconds for which this thread has been running, where the system tells (Linux).
fn busy() -> Option<f64> {
    #[allow(clippy::disallowed_methods, reason = "no file of the library's")]
    let text = std::fs::read("/proc/thread-self/schedstat").ok()?;
    let text = String::from_utf8(text).ok()?;
    Some(text.split_whitespace().next()?.parse::<f64>().ok()? / 1e9)
}

/// The shortest time of several: of the clock, or of this thread where it does all the work, which
/// a busy machine does not disturb.
fn best(times: usize, alone: bool, mut work: impl FnMut()) -> f64 {
    (0..times)
        .map(|_| {
            let (start, before) = (Instant::now(), busy());
            work();
            match (before, busy()) {
                (Some(before), Some(after)) if alone => after - before,
                _ => start.elapsed().as_secs_f64(),
            }
        })
        .fold(f64::INFINITY, f64::min)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let mib: usize = args.first().map_or(Ok(64), |n| n.parse())?;
    let wanted: Vec<_> = args.iter().skip(1).filter_map(|name| CodecId::from_name(name)).collect();
    let cores = std::thread::available_parallelism()?.get();
    let usual = EncodeOptions::default;
    let mut rows: Vec<(String, CodecId, EncodeOptions)> =
        CODECS.iter().map(|codec| (codec.id.to_string(), codec.id, usual())).collect();
    let blsc = CodecId(*b"blsc");
    for (name, blosc, shuffle) in [
        ("blsc lz4, no shuffle", BloscCodec::Lz4, ShuffleMode::None),
        ("blsc lz4, bits", BloscCodec::Lz4, ShuffleMode::Bits),
        ("blsc zstd, bytes", BloscCodec::Zstd, ShuffleMode::Bytes),
    ] {
        let mut options = usual();
        (options.blosc, options.shuffle) = (blosc, shuffle);
        rows.push((name.into(), blsc, options));
    }
    let mut options = usual();
    options.multiple_frames = true;
    rows.push(("zstd, frames".into(), CodecId(*b"zstd"), options));
    for (kind, wide) in [("float32", true), ("int16", false)] {
        let item_size = if wide { 4 } else { 2 };
        let data = image((mib << 20) / item_size, wide);
        println!("\n{mib} MiB of {kind}       ratio   encode 1  encode {cores}   decode 1  decode {cores}  (MB/s)");
        for (name, id, options) in &rows {
            if !wanted.is_empty() && !wanted.contains(id) {
                continue;
            }
            let mut options = options.clone();
            (options.item_size, options.total_len) = (item_size, Some(data.len() as u64));
            let slow = name == "bzp2";
            let mut stored = Vec::new();
            let mut speeds = Vec::new();
            for threads in [1, cores] {
                set_threads(Some(threads));
                let seconds = best(if slow { 1 } else { 3 }, threads == 1, || {
                    stored.clear();
                    let mut encoder = encoder(*id, &options).expect("known");
                    encoder.write(&data, &mut stored).expect("memory");
                    encoder.finish(&mut stored).expect("memory");
                });
                speeds.push(data.len() as f64 / seconds / 1e6);
            }
            let source: Arc<MemorySource> = Arc::new(MemorySource::new(stored.clone(), "memory"));
            let mut back = vec![0; data.len()];
            for threads in [1, cores] {
                set_threads(Some(threads));
                let seconds = best(if slow { 1 } else { 5 }, threads == 1, || {
                    let block = decoder(*id, source.clone(), data.len() as u64, &Limits::default()).expect("known");
                    block.read_at(0, &mut back).expect("sound");
                });
                speeds.push(data.len() as f64 / seconds / 1e6);
            }
            assert!(back == data, "{name}: wrong bytes");
            let ratio = data.len() as f64 / stored.len() as f64;
            println!("{name:22} {ratio:7.2} {:10.0} {:9.0} {:10.0} {:9.0}", speeds[0], speeds[1], speeds[2], speeds[3]);
        }
    }
    Ok(())
}
