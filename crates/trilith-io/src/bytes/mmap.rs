//! Memory maps.
#![allow(unsafe_code, reason = "mapping a file is unsafe: another process can change the bytes; see `Map`")]

use std::fs::File;

/// A read-only map of a whole regular file.
///
/// Another process can change or truncate the file under a map; then the bytes change, or reading
/// them kills the process. [`LocalFile`](super::LocalFile) therefore compares size and modification
/// time before it hands out a slice, and nothing here reads through a map what it can copy instead.
#[derive(Debug)]
pub(super) struct Mmap(memmap2::Mmap);

impl Mmap {
    pub(super) fn new(file: &File) -> std::io::Result<Self> {
        // SAFETY: the slice is only handed out as `&[u8]` of plain bytes, for which every bit
        // pattern is valid, and only after `LocalFile` has seen that size and time are unchanged.
        // The remaining risk (a change while a view is held) is documented on `LocalOptions::memory_map`.
        unsafe { memmap2::Mmap::map(file) }.map(Self)
    }

    pub(super) fn as_slice(&self) -> &[u8] {
        &self.0
    }
}
