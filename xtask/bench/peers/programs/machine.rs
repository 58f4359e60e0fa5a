//! The limits of the machine: copying memory and MD5 of one stream, on one thread.
//!
//! `machine memcpy|fresh|md5 BYTES` prints seconds as the harness reads them.

use std::time::Instant;

use md5::{Digest as _, Md5};

fn main() {
    let words: Vec<String> = std::env::args().collect();
    let (Some(what), Some(len)) = (words.get(1), words.get(2).and_then(|word| word.parse::<usize>().ok())) else {
        eprintln!("machine memcpy|fresh|md5 BYTES");
        std::process::exit(2);
    };
    let from: Vec<u8> = (0..len).map(|i| (i as u32).wrapping_mul(2_654_435_761).to_le_bytes()[3]).collect();
    let mut into = if what == "memcpy" { vec![1u8; len] } else { Vec::new() };
    // The best of a few: what the machine can do, not what others leave of it.
    let mut best = f64::INFINITY;
    for _ in 0..5 {
        let start = Instant::now();
        match what.as_str() {
            "memcpy" => into.copy_from_slice(&from),
            "fresh" => into = from.clone(),
            _ => into = Md5::digest(&from).to_vec(),
        }
        best = best.min(start.elapsed().as_secs_f64());
        std::hint::black_box(&into);
    }
    println!("{{\"cpu_s\": {best}, \"wall_s\": {best}}}");
}
