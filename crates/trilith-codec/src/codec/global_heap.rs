//! Collections of the global heap of HDF5: numbered objects, one after the other.

use std::collections::HashMap;

/// The objects of a collection by their numbers: where each begins in the collection, and how many bytes it has.
pub type Objects = HashMap<u64, (u64, u64)>;

/// The first bytes of a collection.
pub const SIGNATURE: &[u8; 4] = b"GCOL";

/// Returns how many bytes a collection has, by its first bytes and the bytes of a length; `None` if it is none.
pub fn size(head: &[u8], lengths: usize) -> Option<u64> {
    head.starts_with(SIGNATURE).then_some(())?;
    uint(head, 8, lengths)
}

/// Returns the objects of a collection, whose lengths are numbers of `width` bytes.
pub fn objects(bytes: &[u8], lengths: usize) -> Objects {
    let mut found = HashMap::new();
    let mut at = 8 + lengths;
    while let (Some(index), Some(len)) = (uint(bytes, at, 2), uint(bytes, at + 8, lengths)) {
        if index == 0 {
            break;
        }
        let begin = at + 8 + lengths;
        // A length may be wrong, and what is allocated for a string depends on it.
        let inside = bytes.len().saturating_sub(begin) as u64;
        found.insert(index, (begin as u64, len.min(inside)));
        let padded = usize::try_from(len).ok().and_then(|len| len.checked_next_multiple_of(8));
        // The last one need not be padded.
        at = begin.saturating_add(padded.unwrap_or(usize::MAX)).min(bytes.len());
    }
    found
}

/// Returns a little-endian number of at most 8 bytes.
pub fn uint(bytes: &[u8], at: usize, len: usize) -> Option<u64> {
    let mut word = [0; 8];
    let found = bytes.get(at..at.checked_add(len)?)?;
    word.iter_mut().zip(found).for_each(|(to, from)| *to = *from);
    Some(u64::from_le_bytes(word))
}
