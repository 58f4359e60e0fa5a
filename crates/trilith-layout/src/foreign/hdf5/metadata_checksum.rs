//! Checksums of metadata: Jenkins' lookup3, which HDF5 stores with each structure since version 1.8.
//!
//! HDF5 File Format Specification 3.0. A structure is compared when it is read by a check, or before its file is written in another
//! format. Plain reading compares none. Structures of older forms (object headers of version 1, B-trees of version 1, local and global heaps) have none.

use std::ops::Range;
use std::sync::{Arc, Mutex};

use crate::error::Error;
use crate::threads::lock;

/// The checksums that were compared while a file was read.
#[derive(Debug, Default)]
pub(super) struct ChecksumLedger {
    compared: Mutex<MetadataChecksums>,
}

/// The compared checksums of metadata.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct MetadataChecksums {
    /// The bytes of the file that each of them covers.
    pub ranges: Vec<Range<u64>>,
    /// The errors of those that differ.
    pub wrong: Vec<Error>,
}

/// Checksums that are counted; several readers of one file share it.
pub(super) type SharedLedger = Arc<ChecksumLedger>;

impl ChecksumLedger {
    /// Enters a comparison.
    pub(super) fn record(&self, range: Range<u64>, wrong: Option<Error>) {
        let mut compared = lock(&self.compared);
        compared.ranges.push(range);
        compared.wrong.extend(wrong);
    }

    /// Returns what was entered.
    pub(super) fn take(&self) -> MetadataChecksums {
        std::mem::take(&mut *lock(&self.compared))
    }
}

/// The checksum of bytes: `hashlittle` with the initial value 0.
pub(super) fn compute_lookup3(bytes: &[u8]) -> u32 {
    let start = 0xdead_beef_u32.wrapping_add(bytes.len() as u32);
    let (mut a, mut b, mut c) = (start, start, start);
    let word = |bytes: &[u8], at: usize| {
        let mut four = [0; 4];
        four.iter_mut().zip(bytes.get(at..).unwrap_or(&[])).for_each(|(to, from)| *to = *from);
        u32::from_le_bytes(four)
    };
    // The last 1 to 12 bytes are mixed in another way.
    let (whole, last) = bytes.split_at(bytes.len().saturating_sub(1) / 12 * 12);
    for twelve in whole.as_chunks::<12>().0 {
        a = a.wrapping_add(word(twelve, 0));
        b = b.wrapping_add(word(twelve, 4));
        c = c.wrapping_add(word(twelve, 8));
        a = a.wrapping_sub(c) ^ c.rotate_left(4);
        c = c.wrapping_add(b);
        b = b.wrapping_sub(a) ^ a.rotate_left(6);
        a = a.wrapping_add(c);
        c = c.wrapping_sub(b) ^ b.rotate_left(8);
        b = b.wrapping_add(a);
        a = a.wrapping_sub(c) ^ c.rotate_left(16);
        c = c.wrapping_add(b);
        b = b.wrapping_sub(a) ^ a.rotate_left(19);
        a = a.wrapping_add(c);
        c = c.wrapping_sub(b) ^ b.rotate_left(4);
        b = b.wrapping_add(a);
    }
    if last.is_empty() {
        return c;
    }
    a = a.wrapping_add(word(last, 0));
    b = b.wrapping_add(word(last, 4));
    c = c.wrapping_add(word(last, 8));
    c = (c ^ b).wrapping_sub(b.rotate_left(14));
    a = (a ^ c).wrapping_sub(c.rotate_left(11));
    b = (b ^ a).wrapping_sub(a.rotate_left(25));
    c = (c ^ b).wrapping_sub(b.rotate_left(16));
    a = (a ^ c).wrapping_sub(c.rotate_left(4));
    b = (b ^ a).wrapping_sub(a.rotate_left(14));
    (c ^ b).wrapping_sub(b.rotate_left(24))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// First tier. The driver of lookup3.c prints these values.
    #[test]
    fn lookup3_eq_published_values() {
        assert_eq!(compute_lookup3(b""), 0xdead_beef);
        assert_eq!(compute_lookup3(b"Four score and seven years ago"), 0x1777_0551);
    }
}
