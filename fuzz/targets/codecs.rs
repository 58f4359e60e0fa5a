//! Codecs: what was encoded decodes to the same, a part read is that part of the whole, and bytes
//! that nobody encoded end with an error or with as many bytes as were claimed.
#![no_main]

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use trilith::Limits;
use trilith::bytes::{Slice, SourceRef};
use trilith::codec::{CODECS, EncodeOptions, decoder, encode};

fuzz_target!(|input: (u8, u16, u16, Vec<u8>)| {
    let (which, at, claimed, bytes) = input;
    let codec = &CODECS[usize::from(which) % CODECS.len()];
    let mut limits = Limits::default();
    limits.set("memory=64M").expect("the limit exists");
    let memory = |bytes: Vec<u8>| -> SourceRef { Arc::new(Slice::new(bytes, "memory")) };

    let stored = encode(codec.id, &bytes, &EncodeOptions::default()).expect("any bytes can be encoded");
    let mut generous = limits.clone();
    for name in ["zlib_ratio=1000000", "lz4_ratio=1000000", "bzip2_ratio=100000000", "ratio=1000000"] {
        generous.set(name).expect("the limit exists");
    }
    let source = decoder(codec.id, memory(stored), bytes.len() as u64, &generous).expect("our own bytes decode");
    let start = usize::from(at) % (bytes.len() + 1);
    let mut part = vec![0; (bytes.len() - start).min(usize::from(claimed))];
    source.read_at(start as u64, &mut part).expect("a part can be read");
    assert_eq!(part, bytes[start..start + part.len()]);
    let mut whole = vec![0; bytes.len()];
    source.read_at(0, &mut whole).expect("the whole can be read");
    assert_eq!(whole, bytes);

    if let Ok(source) = decoder(codec.id, memory(bytes), u64::from(claimed), &limits) {
        assert_eq!(source.len(), u64::from(claimed));
        let _ = source.read_at(0, &mut vec![0; usize::from(claimed)]);
    }
});
