//! A file, followed by parts of other files, as one space of bytes: its metadata describe data in the file and data in other files
//! in the same way.

use std::ops::Range;

use super::backing::Backing;
use super::pieces::{Opaque, SourcePieces};
use super::source::by_runs;
use super::source::{Access, Source, SourceOrigin, SourceRef};
use crate::error::{Error, Result};

/// A part of another file.
pub struct Annex {
    /// Offset of the part in the space.
    pub at: u64,
    /// Offset of the part in its file.
    pub offset: u64,
    /// The number of its bytes.
    pub len: u64,
    /// The bytes of its file.
    pub source: SourceRef,
}

/// The space: the bytes of the file itself, then the parts, which may have gaps between them.
pub struct Annexed {
    own: SourceRef,
    others: Vec<Annex>,
    len: u64,
}

impl Annexed {
    /// Puts parts after a file.
    ///
    /// # Errors
    /// Returns `Malformed` if two parts overlap, or if one is longer than its file.
    pub fn new(own: SourceRef, mut others: Vec<Annex>) -> Result<Self> {
        others.sort_by_key(|annex| annex.at);
        let mut len = own.len();
        for annex in &others {
            let end = annex.offset.checked_add(annex.len);
            if annex.at < len || end.is_none_or(|end| end > annex.source.len()) {
                let name = annex.source.name();
                return Err(Error::malformed(format!("{} bytes from byte {} of {name} on do not fit", annex.len, annex.offset)));
            }
            len = annex.at.checked_add(annex.len).ok_or_else(|| Error::malformed("more than 2^64 bytes"))?;
        }
        Ok(Self { own, others, len })
    }

    /// The source and the byte of it that a byte of the space is, and how many follow there.
    fn place(&self, at: u64) -> Result<(&SourceRef, u64, u64)> {
        if at < self.own.len() {
            return Ok((&self.own, at, self.own.len() - at));
        }
        let number = self.others.partition_point(|annex| annex.at <= at);
        let annex = number.checked_sub(1).and_then(|number| self.others.get(number));
        let found = annex.map(|annex| (annex, at - annex.at)).filter(|(annex, inside)| *inside < annex.len);
        let (annex, inside) = found.ok_or_else(|| Error::malformed("no file has these bytes").at_byte(at))?;
        Ok((&annex.source, annex.offset.saturating_add(inside), annex.len - inside))
    }
}

impl Backing for Annexed {
    fn inner(&self) -> Option<&dyn Backing> {
        self.own.backing()
    }

    fn is_changed(&self) -> bool {
        let mut files = self.others.iter().map(|annex| &annex.source).chain([&self.own]);
        files.any(|source| source.backing().is_some_and(Backing::is_changed))
    }
}

impl Source for Annexed {
    fn len(&self) -> u64 {
        self.len
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<()> {
        let place = |at, wanted| self.place(at).map(|(source, from, count)| ((source, from), count.min(wanted)));
        by_runs(offset, into, place, |(source, from), now| source.read_at(from, now))
    }

    fn prefetch(&self, ranges: &[Range<u64>]) -> Result<()> {
        let inside = |from: u64, len: u64, shift: u64| -> Vec<Range<u64>> {
            let end = from.saturating_add(len);
            let cut =
                ranges.iter().map(|range| range.start.max(from)..range.end.min(end)).filter(|range| range.start < range.end);
            cut.map(|range| range.start - from + shift..range.end - from + shift).collect()
        };
        self.own.prefetch(&inside(0, self.own.len(), 0))?;
        for annex in self.others.iter().filter(|annex| annex.source.access().prefetch_helps) {
            annex.source.prefetch(&inside(annex.at, annex.len, annex.offset))?;
        }
        Ok(())
    }

    fn pieces(&self) -> Option<&dyn SourcePieces> {
        Some(&Opaque("the data are in other files, to which the file refers"))
    }

    fn origin(&self) -> Option<SourceOrigin<'_>> {
        Some(SourceOrigin::Made(&*self.own))
    }

    fn backing(&self) -> Option<&dyn Backing> {
        Some(self)
    }

    fn access(&self) -> Access {
        Access::join(self.others.iter().map(|annex| &annex.source).chain([&self.own]))
    }

    fn name(&self) -> &str {
        self.own.name()
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
        let annex = |at, offset, len| Annex { at, offset, len, source: memory(b"abcdef") };
        let space = Annexed::new(memory(b"01"), vec![annex(8, 0, 1), annex(2, 1, 3), annex(5, 5, 1)]).unwrap();
        assert_eq!(read_vec(&space, 0, 6, &Limits::default()).unwrap(), b"01bcdf");
        assert_eq!((read_vec(&space, 8, 1, &Limits::default()).unwrap(), space.len()), (b"a".to_vec(), 9));
        assert!(read_vec(&space, 5, 2, &Limits::default()).is_err() && encoding(&space).is_err());
        for wrong in [vec![annex(1, 0, 1)], vec![annex(2, 4, 3)], vec![annex(2, 0, 2), annex(3, 0, 1)]] {
            assert!(Annexed::new(memory(b"01"), wrong).is_err());
        }
    }
}
