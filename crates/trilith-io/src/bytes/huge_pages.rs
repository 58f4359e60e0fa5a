//! Large fresh memory without its usual cost.
//!
//! A system hands out memory in pages of 4 KiB and clears each when it is first touched, which for
//! gigabytes costs more than reading them. Programs can ask for pages of 2 MiB instead. (numpy
//! does.) What is written to a file from large pages is copied faster as well.

use std::fmt;
use std::ops::{Deref, DerefMut};

use memmap2::MmapMut;

use crate::error::{Error, Result};

/// Smallest number of bytes for which large pages pay.
const MIN_HUGE_BYTES: usize = 8 << 20;

/// A large page, or a part of one: a multiple of every small one.
const HUGE_PAGE_SIZE: usize = 2 << 20;

/// Separately allocated bytes on large pages.
pub struct HugePageBuffer {
    map: MmapMut,
    len: usize,
}

/// Returns zero bytes on large pages; `None` if `size` is small, or the system has no memory of this kind.
pub fn large_pages(size: usize) -> Option<HugePageBuffer> {
    if size < MIN_HUGE_BYTES { None } else { on_large_pages(size) }
}

fn on_large_pages(size: usize) -> Option<HugePageBuffer> {
    // A range that begins and ends with a large page is made of nothing else.
    let map = MmapMut::map_anon(size.checked_next_multiple_of(HUGE_PAGE_SIZE)?).ok()?;
    #[cfg(target_os = "linux")]
    let _ = map.advise(memmap2::Advice::HugePage); // Without large pages it is merely slower.
    Some(HugePageBuffer { map, len: size })
}

impl Deref for HugePageBuffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.map.get(..self.len).unwrap_or_default()
    }
}

impl DerefMut for HugePageBuffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        self.map.get_mut(..self.len).unwrap_or_default()
    }
}

/// Requests large pages for the memory of a `Vec`, if they are many: before anything is written there.
#[cfg_attr(
    target_os = "linux",
    allow(unsafe_code, reason = "advice about pages, of which only whole ones of this `Vec` are named")
)]
pub fn prefer_large_pages<T>(memory: &mut Vec<T>) {
    #[cfg(target_os = "linux")]
    {
        let size = memory.capacity().saturating_mul(size_of::<T>());
        let start: *mut u8 = memory.as_mut_ptr().cast();
        let skipped = start.align_offset(HUGE_PAGE_SIZE);
        let whole = size.saturating_sub(skipped) / HUGE_PAGE_SIZE * HUGE_PAGE_SIZE;
        if size < MIN_HUGE_BYTES || whole == 0 {
            return;
        }
        // SAFETY: the pages are within memory that the `Vec` owns, since the bytes before the first whole one and after
        // the last is left out; the advice changes neither what they hold nor whether they can be read and written.
        let _ = unsafe { rustix::mm::madvise(start.wrapping_add(skipped).cast(), whole, rustix::mm::Advice::LinuxHugepage) };
    }
    #[cfg(not(target_os = "linux"))]
    let _ = memory;
}

/// Separately allocated bytes.
pub enum HugePageMemory {
    /// Bytes of the allocator.
    Vec(Vec<u8>),
    /// Pages of the system.
    Map(HugePageBuffer),
}

impl HugePageMemory {
    /// This many zero bytes, on large pages if they pay.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Limit`](crate::ErrorKind::Limit) if the system does not have that much.
    pub fn zeroed(size: usize) -> Result<Self> {
        if let Some(map) = large_pages(size) {
            return Ok(Self::Map(map));
        }
        let bytes = bytemuck::allocation::try_zeroed_vec(size);
        bytes.map(Self::Vec).map_err(|()| Error::limit(format!("no memory for {size} bytes")))
    }

    /// Does the same as [`HugePageMemory::zeroed`], for short-lived bytes: fewer of them are then worth a large page.
    ///
    /// # Errors
    /// Returns the errors of [`HugePageMemory::zeroed`].
    pub fn scratch(size: usize) -> Result<Self> {
        if size >= HUGE_PAGE_SIZE / 2
            && let Some(map) = on_large_pages(size)
        {
            return Ok(Self::Map(map));
        }
        Self::zeroed(size)
    }

    /// A copy, on large pages if they pay.
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

impl Deref for HugePageMemory {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Vec(bytes) => bytes,
            Self::Map(map) => map,
        }
    }
}

impl DerefMut for HugePageMemory {
    fn deref_mut(&mut self) -> &mut [u8] {
        match self {
            Self::Vec(bytes) => bytes,
            Self::Map(map) => map,
        }
    }
}

impl fmt::Debug for HugePageMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copy_eq_original_for_every_size() {
        for size in [0, 1, MIN_HUGE_BYTES - 1, MIN_HUGE_BYTES, MIN_HUGE_BYTES + 4097] {
            let bytes: Vec<u8> = (0..size).map(|i| (i % 251) as u8).collect();
            let copy = HugePageMemory::copy_of(&bytes);
            assert_eq!(matches!(copy, HugePageMemory::Map(_)), size >= MIN_HUGE_BYTES);
            assert!(copy[..] == bytes[..]);
        }
    }

    #[test]
    fn asking_for_large_pages_changes_nothing_else() {
        for size in [0, 1, MIN_HUGE_BYTES - 1, MIN_HUGE_BYTES, MIN_HUGE_BYTES + 4097, 3 * MIN_HUGE_BYTES] {
            let mut bytes: Vec<u8> = (0..size).map(|i| (i % 251) as u8).collect();
            prefer_large_pages(&mut bytes);
            bytes.resize(2 * size, 7);
            assert!(bytes.iter().take(size).enumerate().all(|(i, byte)| *byte == (i % 251) as u8));
            let mut empty = Vec::<[u64; 5]>::with_capacity(size / 40);
            prefer_large_pages(&mut empty);
            empty.push([size as u64; 5]);
            assert_eq!(empty[0], [size as u64; 5]);
        }
        prefer_large_pages(&mut vec![(); 5]);
    }
}
