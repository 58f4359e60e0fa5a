//! The block index: what was printed reads back, wherever it stands; any other text ends with a list, a
//! reason, or nothing; and no accepted list contradicts the rules of the standard.
#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use trilith::asdf::{BlockIndex, find_index, print_index};
use trilith_fuzz::{limits, memory};

#[derive(Arbitrary, Debug)]
struct Input {
    before: Vec<u8>,
    offsets: Vec<u64>,
    zeros: u8,
    text: Vec<u8>,
    first: u64,
}

fuzz_target!(|input: Input| {
    let limits = limits();
    // Printed: found again behind bytes that are no text.
    let mut bytes = input.before.clone();
    bytes.push(0xff);
    let at = bytes.len() as u64;
    bytes.extend_from_slice(print_index(&input.offsets).as_bytes());
    bytes.resize(bytes.len() + usize::from(input.zeros), 0);
    let found = find_index(&*memory(bytes), 0, &limits).expect("memory can be read").expect("an index stands there");
    assert_eq!((found.offset, found.entries.clone()), (at, Ok(input.offsets.clone())));
    check(&found, input.first);
    if let Some(first) = input.offsets.first() {
        check(&found, *first);
    }
    // Anything, with and without the words in front.
    for head in [&b""[..], b"#ASDF BLOCK INDEX\n", b"\xff#ASDF BLOCK INDEX\n%YAML 1.1\n---\n", b"\xd3IDX # ASDF BLOCK INDEX\n"] {
        let bytes = [head, &input.text].concat();
        let len = bytes.len() as u64;
        if let Some(found) = find_index(&*memory(bytes), input.first.min(len), &limits).expect("memory can be read") {
            assert!(found.offset < len);
            check(&found, input.first);
        }
    }
});

fn check(found: &BlockIndex, first: u64) {
    if let Ok(entries) = found.check(first) {
        assert_eq!(entries.first(), Some(&first));
        assert!(entries.windows(2).all(|pair| pair[1] - pair[0] >= 54));
        assert!(entries.iter().all(|entry| *entry < found.offset));
    }
}
