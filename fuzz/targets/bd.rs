//! A Dudley file of any bytes: opening, listing and reading end with a result, say the same behind
//! another source, and what is written anew from what was read reads equal.
//!
//! An input that begins with `1` or `2` gets a header: its text up to a NUL is the layout, what follows
//! are the data. Any other is taken as it is.
#![no_main]

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use trilith::bytes::{MemorySource, SourceRef, WindowSource};
use trilith::dudley::{DudleyFile, NewStream, Signature};
use trilith::layout::{Byteorder, ResolvedType};
use trilith::{Limits, Result, check};

fuzz_target!(|bytes: &[u8]| {
    let bytes = made(bytes);
    let direct: SourceRef = Arc::new(MemorySource::new(bytes.clone(), "memory"));
    let mut padded = vec![0x8d; 5];
    padded.extend_from_slice(&bytes);
    let window = WindowSource::new(Arc::new(MemorySource::new(padded, "memory")), 5, bytes.len() as u64).expect("it lies inside");
    let (one, other) = (open(direct), open(Arc::new(window)));
    assert_eq!(one.is_ok(), other.is_ok(), "a window opens as the bytes themselves do");
    let (Ok(one), Ok(other)) = (one, other) else { return };
    let first = digests(&one);
    assert_eq!(first.as_ref().ok(), digests(&other).as_ref().ok());
    let Ok(items) = one.locate_items() else { return };
    if let Ok(outline) = items.outline() {
        for (name, id) in outline.children(trilith::dudley::ItemTreeId::ROOT) {
            let _ = (name, outline.kind(id), outline.children(id).len());
        }
    }
    if let Ok(first) = first
        && bytes.len() < 4096
    {
        written_anew(&one, &first);
    }
});

fn limits() -> Limits {
    let mut limits = Limits::default();
    for assignment in ["memory=16M", "nodes=20000", "items=200", "text=64K", "depth=60"] {
        limits.set(assignment).expect("these limits exist");
    }
    limits
}

fn made(input: &[u8]) -> Vec<u8> {
    let (Some(kind @ (b'1' | b'2')), Some(rest)) = (input.first(), input.get(1..)) else { return input.to_vec() };
    let at = rest.iter().position(|byte| *byte == 0).unwrap_or(rest.len());
    let (text, data) = rest.split_at(at);
    let order = if *kind == b'1' { Byteorder::Little } else { Byteorder::Big };
    let mut out = Signature::new(order, Some(16 + data.len() as u64)).bytes().to_vec();
    out.extend_from_slice(data);
    out.extend_from_slice(text);
    out
}

fn open(source: SourceRef) -> Result<DudleyFile> {
    DudleyFile::open(source, None, &limits())
}

type Digests = Vec<(String, Option<[u8; 32]>)>;

fn digests(file: &DudleyFile) -> Result<Digests> {
    let entries = check::digest(file)?;
    Ok(entries.into_iter().map(|entry| (entry.path, entry.digest.ok().map(|(_, digest)| digest.sha256))).collect())
}

/// Writes the file from its layout and its arrays; where nothing overlaps, it holds the same.
fn written_anew(file: &DudleyFile, expected: &Digests) {
    let Ok(items) = file.locate_items() else { return };
    let Some(signature) = file.signature() else { return };
    let plain = items.entries().all(|entry| {
        entry.is_ok_and(|entry| file.layout().filter_of(entry.item).is_none() && entry.resolved_type != ResolvedType::Dynamic)
    });
    let overlaps = items.evaluation().overlaps().map_or(true, |found| !found.is_empty());
    let Some(values) = items.evaluation().values().collect::<Option<Vec<i64>>>() else { return };
    if !plain || overlaps || items.evaluation().total().is_none_or(|total| total > 1 << 16) {
        return;
    }
    let mut new = NewStream::new(file.layout(), values);
    (new.order, new.limits) = (signature.order, limits());
    let mut out = std::io::Cursor::new(Vec::new());
    if new.write(&mut |entry| items.array(entry), &mut out).is_ok() {
        let again = open(Arc::new(MemorySource::new(out.into_inner(), "memory"))).expect("what was written opens");
        assert_eq!(&digests(&again).expect("what was written reads"), expected);
    }
}
