//! A file, followed by parts of other files, as one space of bytes: its metadata describe data in the file and data in other files
//! in the same way.

use std::ops::Range;

use super::backing::SourceBacking;
use super::pieces::{Opaque, PieceDecoding};
use super::source::split_runs;
use super::source::{Access, Source, SourceOrigin, SourceRef};
use crate::error::{Error, Result};

/// A part of another file.
pub struct ExternalPart {
    /// Offset of the part in the space.
    pub start: u64,
    /// Offset of the part in its file.
    pub offset: u64,
    /// The number of its bytes.
    pub len: u64,
    /// The bytes of its file.
    pub source: SourceRef,
}

/// The space: the bytes of the file itself, then the parts, which may have gaps between them.
pub struct ConcatenatedSource {
    main: SourceRef,
    parts: Vec<ExternalPart>,
    len: u64,
    /// The cost of the most expensive part, which each read asks for.
    access: Access,
}

impl ConcatenatedSource {
    /// Puts parts after a file.
    ///
    /// # Errors
    /// Returns `Malformed` if two parts overlap, or if one is longer than its file.
    pub fn new(own: SourceRef, mut others: Vec<ExternalPart>) -> Result<Self> {
        others.sort_by_key(|annex| annex.start);
        let mut len = own.len();
        for annex in &others {
            let end = annex.offset.checked_add(annex.len);
            if annex.start < len || end.is_none_or(|end| end > annex.source.len()) {
                let name = annex.source.name();
                return Err(Error::malformed(format!("{} bytes from byte {} of {name} on do not fit", annex.len, annex.offset)));
            }
            len = annex.start.checked_add(annex.len).ok_or_else(|| Error::malformed("more than 2^64 bytes"))?;
        }
        let access = Access::join(others.iter().map(|annex| &annex.source).chain([&own]));
        Ok(Self { main: own, parts: others, len, access })
    }

    /// The source and the byte of it that a byte of the space is, and how many follow there.
    fn locate(&self, at: u64) -> Result<(&SourceRef, u64, u64)> {
        if at < self.main.len() {
            return Ok((&self.main, at, self.main.len() - at));
        }
        let number = self.parts.partition_point(|annex| annex.start <= at);
        let annex = number.checked_sub(1).and_then(|number| self.parts.get(number));
        let found = annex.map(|annex| (annex, at - annex.start)).filter(|(annex, inside)| *inside < annex.len);
        let (annex, inside) = found.ok_or_else(|| Error::malformed("no file has these bytes").at_byte(at))?;
        Ok((&annex.source, annex.offset.saturating_add(inside), annex.len - inside))
    }
}

impl SourceBacking for ConcatenatedSource {
    fn inner_backing(&self) -> Option<&dyn SourceBacking> {
        self.main.backing()
    }

    fn is_changed(&self) -> bool {
        let mut files = self.parts.iter().map(|annex| &annex.source).chain([&self.main]);
        files.any(|source| source.backing().is_some_and(SourceBacking::is_changed))
    }
}

impl Source for ConcatenatedSource {
    fn len(&self) -> u64 {
        self.len
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<()> {
        let place = |at, wanted| self.locate(at).map(|(source, from, count)| ((source, from), count.min(wanted)));
        split_runs(offset, into, place, |(source, from), now| source.read_at(from, now))
    }

    fn prefetch(&self, ranges: &[Range<u64>]) -> Result<()> {
        let inside = |from: u64, len: u64, shift: u64| -> Vec<Range<u64>> {
            let end = from.saturating_add(len);
            let cut =
                ranges.iter().map(|range| range.start.max(from)..range.end.min(end)).filter(|range| range.start < range.end);
            cut.map(|range| range.start - from + shift..range.end - from + shift).collect()
        };
        self.main.prefetch(&inside(0, self.main.len(), 0))?;
        for annex in self.parts.iter().filter(|annex| annex.source.access().prefetch_helps) {
            annex.source.prefetch(&inside(annex.start, annex.len, annex.offset))?;
        }
        Ok(())
    }

    fn pieces(&self) -> Option<&dyn PieceDecoding> {
        Some(&Opaque("the data are in other files, to which the file refers"))
    }

    fn origin(&self) -> Option<SourceOrigin<'_>> {
        Some(SourceOrigin::Made(&*self.main))
    }

    fn backing(&self) -> Option<&dyn SourceBacking> {
        Some(self)
    }

    fn access(&self) -> Access {
        self.access
    }

    fn name(&self) -> &str {
        self.main.name()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::bytes::{MemorySource, encoding, read_vec};
    use crate::limits::Limits;

    #[test]
    fn parts_of_other_files_follow_own_bytes() {
        let memory = |bytes: &[u8]| -> SourceRef { Arc::new(MemorySource::new(bytes.to_vec(), "x")) };
        let annex = |at, offset, len| ExternalPart { start: at, offset, len, source: memory(b"abcdef") };
        let space = ConcatenatedSource::new(memory(b"01"), vec![annex(8, 0, 1), annex(2, 1, 3), annex(5, 5, 1)]).unwrap();
        assert_eq!(read_vec(&space, 0, 6, &Limits::default()).unwrap(), b"01bcdf");
        assert_eq!((read_vec(&space, 8, 1, &Limits::default()).unwrap(), space.len()), (b"a".to_vec(), 9));
        assert!(read_vec(&space, 5, 2, &Limits::default()).is_err() && encoding(&space).is_err());
        for wrong in [vec![annex(1, 0, 1)], vec![annex(2, 4, 3)], vec![annex(2, 0, 2), annex(3, 0, 1)]] {
            assert!(ConcatenatedSource::new(memory(b"01"), wrong).is_err());
        }
    }
}
