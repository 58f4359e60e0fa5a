//! Bytes of a file for which the file states a checksum.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use super::backing::SourceBacking;
use super::source::{Source, SourceOrigin, SourceRef};
use crate::error::Result;

/// Compares the checksum of the part of a file that a byte is in, if the format has one for it.
pub type PartCheck = Arc<dyn Fn(&SourceRef, u64) -> Result<()> + Send + Sync>;

/// The bytes of another source, some of which have a checksum that [`SourceBacking::verify_checksum`] compares.
pub struct ChecksummedSource<F> {
    bytes: SourceRef,
    compare: F,
    /// The comparison, made once.
    compared: OnceLock<Result<()>>,
}

impl<F: Fn(&SourceRef) -> Result<()>> ChecksummedSource<F> {
    /// Reads are those of `bytes`; `compare` returns an error if the checksum differs.
    pub fn new(bytes: SourceRef, compare: F) -> Self {
        Self { bytes, compare, compared: OnceLock::new() }
    }
}

impl<F: Fn(&SourceRef) -> Result<()> + Send + Sync> Source for ChecksummedSource<F> {
    fn len(&self) -> u64 {
        self.bytes.len()
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<()> {
        self.bytes.read_at(offset, into)
    }

    fn read_parts(&self, parts: &mut [(u64, &mut [u8])]) -> Result<()> {
        self.bytes.read_parts(parts)
    }

    fn view(&self, offset: u64, len: u64) -> Option<&[u8]> {
        self.bytes.view(offset, len)
    }

    fn stream(&self, range: Range<u64>, piece: usize, take: &mut dyn FnMut(&mut [u8]) -> Result<()>) -> Result<bool> {
        self.bytes.stream(range, piece, take)
    }

    fn origin(&self) -> Option<SourceOrigin<'_>> {
        Some(SourceOrigin::Same(&*self.bytes))
    }

    fn backing(&self) -> Option<&dyn SourceBacking> {
        Some(self)
    }
}

impl<F: Fn(&SourceRef) -> Result<()> + Send + Sync> SourceBacking for ChecksummedSource<F> {
    fn inner_backing(&self) -> Option<&dyn SourceBacking> {
        self.bytes.backing()
    }

    fn verify_checksum(&self) -> Result<()> {
        match self.compared.get_or_init(|| super::without_counting(|| (self.compare)(&self.bytes))) {
            Ok(()) => Ok(()),
            Err(error) => Err(error.copy()),
        }
    }
}
