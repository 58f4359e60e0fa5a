//! Large fresh memory without its usual cost.
//!
//! A system hands out memory in pages of 4 KiB and clears each when it is first touched, which for
//! gigabytes costs more than reading them. Anonymous maps can ask for pages of 2 MiB instead; the
//! memory of a `Vec` cannot. (numpy asks for them too.) What is written to a file from large pages
//! is copied faster as well.

use std::fmt;
use std::ops::Deref;

use memmap2::MmapMut;

/// From this size on large pages are worth asking for.
const LARGE: usize = 8 << 20;

/// This many zero bytes on large pages; None where they are few, or the system has no memory of this kind.
pub(crate) fn large_pages(size: usize) -> Option<MmapMut> {
    if size < LARGE {
        return None;
    }
    let map = MmapMut::map_anon(size).ok()?;
    #[cfg(target_os = "linux")]
    let _ = map.advise(memmap2::Advice::HugePage); // Without large pages it is merely slower.
    Some(map)
}

/// Bytes in memory of their own.
pub(super) enum Memory {
    Vec(Vec<u8>),
    Map(MmapMut),
}

impl Memory {
    /// A copy, on large pages where they pay.
    pub(super) fn copy_of(bytes: &[u8]) -> Self {
        match large_pages(bytes.len()) {
            Some(mut map) => {
                map.copy_from_slice(bytes);
                Self::Map(map)
            }
            None => Self::Vec(bytes.to_vec()),
        }
    }
}

impl Deref for Memory {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Vec(bytes) => bytes,
            Self::Map(map) => map,
        }
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_hold_the_same_bytes_however_many() {
        for size in [0, 1, LARGE - 1, LARGE, LARGE + 4097] {
            let bytes: Vec<u8> = (0..size).map(|i| (i % 251) as u8).collect();
            let copy = Memory::copy_of(&bytes);
            assert_eq!(matches!(copy, Memory::Map(_)), size >= LARGE);
            assert!(copy[..] == bytes[..]);
        }
    }
}
