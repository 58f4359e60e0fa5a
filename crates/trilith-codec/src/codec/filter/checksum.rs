//! Checksums after a chunk: compared, and taken off.

use crate::error::{Error, Result};

/// HDF5's filter 3: four bytes, little-endian, over words of 16 bits.
pub(super) fn strip_fletcher32(bytes: Vec<u8>) -> Result<Vec<u8>> {
    taken_off(bytes, |body| {
        let sum = compute_fletcher32(body);
        // Files of HDF5 before 1.6.3 have the bytes of each half exchanged.
        [sum, (sum & 0x00ff_00ff) << 8 | (sum >> 8) & 0x00ff_00ff]
    })
}

/// The CRC of iSCSI, four bytes, little-endian.
pub(super) fn strip_crc32c(bytes: Vec<u8>) -> Result<Vec<u8>> {
    taken_off(bytes, |body| [compute_crc32c(body); 2])
}

/// The CRC of zip and gzip.
#[cfg(feature = "zlib")]
pub(super) fn compute_crc32(bytes: &[u8]) -> Result<u32> {
    let mut crc = flate2::Crc::new();
    crc.update(bytes);
    Ok(crc.sum())
}

#[cfg(not(feature = "zlib"))]
pub(super) fn compute_crc32(_: &[u8]) -> Result<u32> {
    Err(crate::codec::unsupported::missing_feature_error("zlib"))
}

fn taken_off(mut bytes: Vec<u8>, sums: impl FnOnce(&[u8]) -> [u32; 2]) -> Result<Vec<u8>> {
    let Some((body, stored)) = bytes.split_last_chunk::<4>() else {
        return Err(Error::malformed("the chunk is shorter than its checksum"));
    };
    let stored = u32::from_le_bytes(*stored);
    if !sums(body).contains(&stored) {
        return Err(Error::malformed(format!("the checksum of the chunk is not {stored:08x}, which is stored")));
    }
    let len = body.len();
    bytes.truncate(len);
    Ok(bytes)
}

fn compute_fletcher32(bytes: &[u8]) -> u32 {
    let (mut a, mut b) = (0u32, 0u32);
    let mut words = bytes.chunks_exact(2);
    let reduce = |sum: u32| (sum & 0xffff) + (sum >> 16);
    let mut count = 0u32;
    for word in &mut words {
        a += u32::from(word[0]) << 8 | u32::from(word[1]);
        b += a;
        count += 1;
        // The sums of 360 words cannot overflow 32 bits.
        if count == 360 {
            (a, b, count) = (reduce(a), reduce(b), 0);
        }
    }
    if let [last] = words.remainder() {
        (a, b) = (reduce(a), reduce(b));
        a += u32::from(*last) << 8;
        b += a;
    }
    (a, b) = (reduce(reduce(a)), reduce(reduce(b)));
    b << 16 | a
}

fn compute_crc32c(bytes: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = crc >> 1 ^ if crc & 1 == 1 { 0x82f6_3b78 } else { 0 };
        }
    }
    !crc
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_eq_published_values() {
        assert_eq!(compute_crc32c(b"123456789"), 0xe306_9283);
        // Fletcher's sum over big-endian words: 0x0102 + 0x0304, and 0x0102 + (0x0102 + 0x0304).
        assert_eq!(compute_fletcher32(&[1, 2, 3, 4]), 0x0508_0406);
        #[cfg(feature = "zlib")]
        assert_eq!(compute_crc32(b"123456789").unwrap(), 0xcbf4_3926);
        assert!(strip_crc32c(vec![1, 2, 3]).is_err() && strip_fletcher32(vec![0; 3]).is_err());
    }
}
