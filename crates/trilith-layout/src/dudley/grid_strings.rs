//! Elements of a grid of which parts are made of what is stored: strings of variable length in place of what leads to them,
//! fixed ones without what pads them, and numbers that a filter decodes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use crate::bytes::{CodingStep, SourceRef, read_vec, to_usize};
use crate::codec::filter::FilterPipeline;
use crate::codec::global_heap::{self, Objects, uint};
use crate::error::{Error, Result};
use crate::layout::{ElementParts, PartKind};
use crate::limits::Limits;
use crate::threads::lock;

/// The description of elements with strings, as the attribute of parts has it.
#[derive(Debug)]
pub(super) struct GridStrings {
    /// Bytes of an element as it is stored, and as it is read.
    stored_size: usize,
    decoded_size: usize,
    /// Bytes of an address and of a length of the file, and the byte that is address 0.
    addresses: usize,
    lengths: usize,
    base: u64,
    parts: Vec<PartMove>,
    /// The filters of numbers.
    numbers: Vec<FilterPipeline>,
    /// The paths of references, by the bytes of the references.
    references: HashMap<Vec<u8>, Vec<u8>>,
    /// The collections of strings that were read, by their addresses.
    heap_cache: Mutex<HashMap<u64, Arc<Objects>>>,
}

/// Bytes of an element that go from one place to another.
#[derive(Debug, Clone, Copy)]
struct PartMove {
    kind: PartKind,
    from: usize,
    to: usize,
    len: usize,
}

impl GridStrings {
    /// Returns `true` if bytes of the elements are outside of their chunks.
    pub(super) fn has_heap_parts(&self) -> bool {
        self.parts.iter().any(|part| part.kind == PartKind::Heap)
    }

    /// The parts of elements of `size` bytes after reading. The filters of parts precede those of references.
    ///
    /// # Errors
    /// Returns `Malformed` if they do not fit.
    pub(super) fn new(parts: &ElementParts, filters: &[CodingStep], references: &[(Vec<u8>, String)], size: u64) -> Result<Self> {
        let wrong = || Error::malformed("the parts of the elements of an array do not fit the elements");
        let (stored, read) = (to_usize(parts.stored_size)?, to_usize(size)?);
        let (addresses, lengths) = (to_usize(parts.address_size)?, to_usize(parts.length_size)?);
        let references = references.iter().map(|(key, path)| (key.clone(), path.clone().into_bytes())).collect();
        let filters = FilterPipeline::from_steps(filters).split_filters();
        if filters.iter().filter_map(FilterPipeline::as_references).any(|(stored, read)| stored == 0 || read == 0) {
            return Err(wrong());
        }
        if stored == 0 || !(2..=8).contains(&addresses) || !(2..=8).contains(&lengths) {
            return Err(wrong());
        }
        let moves = parts.moves.iter().map(|part| {
            let (from, to, len) = (to_usize(part.from)?, to_usize(part.to)?, to_usize(part.len)?);
            let taken = match part.kind {
                PartKind::Heap => 8 + addresses,
                PartKind::Filter(at) => {
                    let stored = filters.get(to_usize(at)?).and_then(|filter| filter.stored_size(part.len));
                    to_usize(stored.ok_or_else(wrong)?)?
                }
                _ => len,
            };
            let fits = |at: usize, len: usize, most: usize| at.checked_add(len).is_some_and(|end| end <= most);
            let kind = part.kind;
            if fits(from, taken, stored) && fits(to, len, read) { Ok(PartMove { kind, from, to, len }) } else { Err(wrong()) }
        });
        let moves = moves.collect::<Result<_>>()?;
        Ok(Self {
            stored_size: stored,
            decoded_size: read,
            addresses,
            lengths,
            base: parts.base,
            parts: moves,
            numbers: filters,
            references,
            heap_cache: Mutex::default(),
        })
    }

    /// Returns the byte of the layout that is address 0.
    pub(super) fn base_offset(&self) -> u64 {
        self.base
    }

    /// Returns the number of stored bytes of an element.
    pub(super) fn element_size(&self) -> usize {
        self.stored_size
    }

    /// Returns the number of stored bytes for a number of bytes after reading.
    pub(super) fn stored_size(&self, size: u64) -> u64 {
        (size / (self.decoded_size as u64).max(1)).saturating_mul(self.stored_size as u64)
    }

    /// Returns the elements with their strings.
    ///
    /// # Errors
    /// Returns `Malformed` if there is no such string, `Limit`, and what reading returns.
    pub(super) fn decode_elements(&self, bytes: &[u8], size: u64, source: &SourceRef, limits: &Limits) -> Result<Vec<u8>> {
        limits.charge_memory(size, "a chunk")?;
        let mut out = vec![0; to_usize(size)?];
        for (from, to) in bytes.chunks_exact(self.stored_size).zip(out.chunks_exact_mut(self.decoded_size.max(1))) {
            for step in &self.parts {
                let found = from.get(step.from..).unwrap_or(&[]);
                let into = to.get_mut(step.to..).and_then(|to| to.get_mut(..step.len)).unwrap_or_default();
                match step.kind {
                    PartKind::Heap => copy_truncated(&self.read_string(found, into.len() as u64, source, limits)?, into),
                    PartKind::Filter(_) => {}
                    kind => copy_truncated(trim_padding(kind, found.get(..step.len).unwrap_or(found)), into),
                }
            }
        }
        for step in &self.parts {
            let PartKind::Filter(at) = step.kind else { continue };
            self.decode_element_part(*step, to_usize(at)?, bytes, &mut out, limits)?;
        }
        Ok(out)
    }

    /// Decodes one part of all elements by a filter.
    fn decode_element_part(&self, step: PartMove, at: usize, bytes: &[u8], out: &mut [u8], limits: &Limits) -> Result<()> {
        let Some(filter) = self.numbers.get(at).filter(|_| step.len > 0) else { return Ok(()) };
        let taken = to_usize(filter.stored_size(step.len as u64).unwrap_or(0))?;
        let elements = bytes.chunks_exact(self.stored_size);
        limits.charge_memory((elements.len() as u64).saturating_mul((taken + step.len) as u64), "a chunk")?;
        let size = (elements.len() as u64).saturating_mul(step.len as u64);
        let stored = elements.flat_map(|element| element.get(step.from..step.from + taken).unwrap_or(&[]));
        let stored: Vec<u8> = stored.copied().collect();
        let decoded = match filter.as_references() {
            Some(widths) => self.reference_paths(&stored, widths, to_usize(size)?)?,
            None => filter.decode(stored, 0, size, limits)?,
        };
        for (from, to) in decoded.chunks_exact(step.len).zip(out.chunks_exact_mut(self.decoded_size.max(1))) {
            copy_truncated(from, to.get_mut(step.to..).unwrap_or_default());
        }
        Ok(())
    }

    /// Returns the paths of references, each as wide as a string of the elements.
    fn reference_paths(&self, stored: &[u8], (width, read): (u64, u64), size: usize) -> Result<Vec<u8>> {
        let mut out = vec![0; size];
        let (width, read) = (to_usize(width)?.max(1), to_usize(read)?.max(1));
        for (reference, into) in stored.chunks_exact(width).zip(out.chunks_exact_mut(read)) {
            // A reference without a path leads nowhere.
            copy_truncated(self.references.get(reference).map_or(&[], Vec::as_slice), into);
        }
        Ok(out)
    }

    /// Returns the string to which a descriptor leads, up to a number of bytes. The descriptor has the number of bytes, the
    /// collection, and the object.
    fn read_string(&self, descriptor: &[u8], most: u64, source: &SourceRef, limits: &Limits) -> Result<Vec<u8>> {
        let field = |at, len| uint(descriptor, at, len).unwrap_or(0);
        let (count, address, index) = (field(0, 4), field(4, self.addresses), field(4 + self.addresses, 4));
        let undefined = u64::MAX >> (64 - 8 * self.addresses as u32);
        if count == 0 || address == 0 || address == undefined {
            return Ok(Vec::new());
        }
        let wrong = || Error::malformed(format!("no string {index} in the heap at address {address}"));
        let start = address.checked_add(self.base).ok_or_else(wrong)?;
        let known = lock(&self.heap_cache).get(&address).cloned();
        let objects = match known {
            Some(objects) => objects,
            None => {
                let head = read_vec(&**source, start, 8 + self.lengths as u64, limits)?;
                let size = global_heap::size(&head, self.lengths).ok_or_else(wrong)?;
                let bytes = read_vec(&**source, start, size, limits)?;
                let objects = Arc::new(global_heap::objects(&bytes, self.lengths));
                lock(&self.heap_cache).insert(address, Arc::clone(&objects));
                objects
            }
        };
        let (at, len) = objects.get(&index).copied().ok_or_else(wrong)?;
        read_vec(&**source, start.saturating_add(at), len.min(count).min(most), limits)
    }
}

/// Puts as many bytes as fit.
fn copy_truncated(from: &[u8], to: &mut [u8]) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
}

/// Returns a string without what pads it.
fn trim_padding(kind: PartKind, bytes: &[u8]) -> &[u8] {
    let end = match kind {
        PartKind::NulTerminated => bytes.iter().position(|byte| *byte == 0),
        PartKind::SpacePadded => Some(bytes.iter().rposition(|byte| !matches!(byte, b' ' | 0)).map_or(0, |last| last + 1)),
        PartKind::Bytes | PartKind::Heap | PartKind::Filter(_) => None,
    };
    bytes.get(..end.unwrap_or(bytes.len())).unwrap_or(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::MemorySource;
    use crate::layout::{Attribute, LayoutLiteral, StorageField};

    /// The parts that a layout spells with these numbers, and these filters and references.
    fn made(numbers: &[u64], words: &str, size: u64) -> Result<GridStrings> {
        let numbers = numbers.iter().map(|number| LayoutLiteral::Integer(*number as i64)).collect();
        let words = Attribute::Value(LayoutLiteral::Text(words.to_owned()));
        let parts = StorageField::from_attribute("grid_strings", &Attribute::List(numbers))?;
        let filters = StorageField::from_attribute("grid_numbers", &words)?;
        let (Some(StorageField::Parts(parts)), Some(StorageField::PartFilters(filters, references))) = (parts, filters) else {
            return Err(Error::malformed("no parts"));
        };
        GridStrings::new(&parts, &filters, &references, size)
    }

    #[test]
    fn strings_are_read_without_what_pads_them() {
        let source: SourceRef = Arc::new(MemorySource::new(Vec::new(), "x"));
        let read = |numbers: &[u64], bytes: &[u8], size| {
            made(numbers, "whole(3,0,24,1,0)", size)?.decode_elements(bytes, size, &source, &Limits::default())
        };
        assert_eq!(read(&[4, 8, 8, 0, 2, 0, 0, 4], b"a\0bc", 4).unwrap(), b"a\0\0\0");
        assert_eq!(read(&[4, 8, 8, 0, 3, 0, 0, 4], b"a b ", 4).unwrap(), b"a b\0");
        assert_eq!(read(&[4, 8, 8, 0, 0, 2, 0, 2, 0, 0, 2, 2], b"abcd", 4).unwrap(), b"cdab");
        assert_eq!(read(&[16, 8, 8, 0, 1, 0, 0, 2], &[0; 16], 2).unwrap(), [0, 0]);
        let numbers = made(&[4, 8, 8, 0, 4, 1, 0, 8], "whole(3,0,24,1,0)", 8).unwrap();
        let two = numbers.decode_elements(b"x\xfe\xff\xffx\x02\0\0", 16, &source, &Limits::default()).unwrap();
        assert_eq!(two, [-2i64, 2].map(i64::to_le_bytes).concat());
        let words = "references(2,3) references(1,3) | 0102=/a 09=/b%20c";
        let paths = made(&[3, 8, 8, 0, 4, 0, 0, 3, 5, 2, 3, 3], words, 6).unwrap();
        let two = paths.decode_elements(&[1, 2, 9, 0, 0, 7], 12, &source, &Limits::default()).unwrap();
        assert_eq!(two, b"/a\0/b \0\0\0\0\0\0");
        for words in ["references(0,3)", "references(2,0)", "references(2)", "references(2,3) | 1=/a", "references(2,3) | 01"] {
            assert!(made(&[2, 8, 8, 0, 4, 0, 0, 3], words, 3).is_err(), "{words}");
        }
        for wrong in [
            &[4, 8, 8, 0, 0, 2, 0, 4][..],
            &[4, 8, 8],
            &[4, 8, 8, 0, 1, 0, 0, 2],
            &[4, 8, 8, 0, 9, 0, 0, 2],
            &[4, 8, 8, 0, 4, 2, 0, 8],
            &[4, 8, 8, 0, 0],
        ] {
            assert!(read(wrong, b"abcd", 4).is_err(), "{wrong:?}");
        }
        let mut lost = [1, 0, 0, 0, 99, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0];
        assert!(read(&[16, 8, 8, 0, 1, 0, 0, 2], &lost, 2).is_err());
        lost[4] = 0;
        assert!(read(&[16, 8, 8, 0, 1, 0, 0, 2], &lost, 2).is_ok());
    }
}
