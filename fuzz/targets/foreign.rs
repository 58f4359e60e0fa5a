//! Files of other formats: bytes behind the mark of each. Deriving a layout ends within the limits; a layout that is derived
//! is one, and what it describes can be digested or refused.
#![no_main]

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use trilith::OpenOptions;
use trilith::bytes::NoReferences;
use trilith_layout::foreign;
use trilith_fuzz::{limits, memory};

const MARKS: [&[u8]; 11] = [
    b"\x93NUMPY\x01\0",
    b"PK\x03\x04",
    b"CDF\x01\0\0\0",
    b"CDF\x02\xff\xff\xff\xff",
    b"CDF\x05\0\0\0\0\0\0\0",
    b"!<<PDB:II>>!\n",
    b"\x40\0\0\0\0\0\0\0{\"",
    b"\x08\0\0\0",
    b"II*\0\x08\0\0\0",
    b"MM\0+\0\x08\0\0\0\0\0\0\0\0\0\x10",
    b"",
];

fuzz_target!(|bytes: &[u8]| {
    let Some((which, rest)) = bytes.split_first() else { return };
    let mut file = MARKS[usize::from(*which) % MARKS.len()].to_vec();
    file.extend_from_slice(rest);
    let (source, limits) = (memory(file), limits());
    let Ok(Some(derived)) = foreign::derive(&source, &limits) else { return };
    assert!(derived.text.len() as u64 <= limits.text);
    let Ok(file) = OpenOptions::new().limits(limits).open_source(source, Arc::new(NoReferences)) else { return };
    for entry in file.digest().unwrap_or_default() {
        let _ = entry.digest;
    }
});
