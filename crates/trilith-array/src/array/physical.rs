//! Arrays with the values that are meant: elements are converted when they are read, in pieces and on all cores, and what is
//! missing becomes a mask, which reads the stored elements when somebody asks for it.

use std::ops::Range;
use std::sync::Arc;

use super::copy_program::CopyProgram;
use super::datatype::{Byteorder, Datatype};
use super::handle::Array;
use super::index::Index;
use super::mask::Mask;
use super::shape::element_count;
use super::struct_type::{Field, StructType};
use super::value_decoding::{FieldDecoding, MissingRule, ValueDecoding, ValueTransform};
use crate::bytes::{Access, PieceDecoding, Source, SourceOrigin, end_in, stored_ranges, to_usize};
use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::threads::map_parallel;

/// Bytes that one thread converts at once: both sides fit into the second cache.
const BUFFER_SIZE: u64 = 256 << 10;
/// Bytes of stored elements that are read at once from a source that decodes several pieces at the same time.
const READ_AHEAD: u64 = 16 << 20;

/// Returns the physical values of an array. `meanings` has one entry for the whole array, or one for each field of its
/// structures. If they declare nothing, this is the array itself.
///
/// # Errors
/// Returns `Malformed` if the result has more than 2^63 bytes.
pub fn physical(array: &Array, meanings: &[ValueDecoding]) -> Result<Array> {
    if meanings.iter().all(ValueDecoding::is_stored) {
        return Ok(array.clone());
    }
    if let [ValueDecoding { transform: ValueTransform::Identity, missing_rules: missing }] = meanings
        && let [MissingRule::Equal(number)] = missing.as_slice()
        && let Some(mask) = number.mask_rule(&array.datatype)
    {
        // The elements stay where they are.
        return array.clone().without_mask().with_missing(mask);
    }
    let outside = Field::without_name(array.datatype.clone(), Byteorder::NATIVE);
    let (is_struct, stored) = match &array.datatype {
        Datatype::Struct(fields) if meanings.len() == fields.fields().len() => (true, fields.fields().to_vec()),
        _ => (false, vec![outside]),
    };
    let (mut parts, mut from, mut to, mut marks) = (Vec::new(), 0u64, 0u64, 0u64);
    let (mut fields, mut flags) = (Vec::new(), Vec::new());
    for (field, meaning) in stored.iter().zip(meanings) {
        let (datatype, shape) = meaning.type_of(&field.datatype, &field.shape);
        let count = element_count(&shape)?;
        let too_large = || Error::malformed("an element has more than 2^63 bytes");
        let before = field.count().checked_mul(field.datatype.packed_size()).ok_or_else(too_large)?;
        let after = count.checked_mul(datatype.packed_size()).ok_or_else(too_large)?;
        let leaves = count.checked_mul(datatype.flags()?.packed_size()).ok_or_else(too_large)?;
        parts.push(FieldDecoding {
            meaning: meaning.clone(),
            stored: field.datatype.clone(),
            from: to_usize_range(from, before)?,
            to: to_usize_range(to, after)?,
            mask_index: to_usize_range(marks, leaves)?,
        });
        (from, to, marks) = (from + before, to + after, marks + leaves);
        let named = |datatype: Datatype| {
            let made = Field { name: field.name.clone(), ..Field::without_name(datatype, Byteorder::NATIVE) };
            made.with_shape(shape.clone())
        };
        flags.push(named(datatype.flags()?));
        fields.push(named(datatype));
    }
    let has_missing = meanings.iter().any(|meaning| !meaning.missing_rules.is_empty());
    let of = |mut fields: Vec<Field>| -> Result<Datatype> {
        match (is_struct, fields.pop()) {
            (false, Some(field)) => Ok(field.datatype),
            (_, last) => {
                fields.extend(last);
                Ok(Datatype::Struct(Arc::new(StructType::packed_from(fields)?)))
            }
        }
    };
    let (datatype, mask_type) = (of(fields)?, of(flags)?);
    let bare = array.clone().without_mask();
    let size = to_usize(from)?;
    let shared = Arc::new(PhysicalShared {
        program: CopyProgram::new(&bare.datatype, bare.byteorder, Byteorder::NATIVE)?,
        array: bare,
        parts,
        item_size: size,
    });
    let values = PhysicalSource { shared: Arc::clone(&shared), size: to, is_mask: false };
    let made = values.into_array(datatype)?;
    if !has_missing {
        return match &array.mask {
            Some(Mask::Array(mask)) => made.with_mask(Mask::Array(Arc::clone(mask))),
            _ => Ok(made),
        };
    }
    let marks = PhysicalSource { shared, size: marks, is_mask: true };
    made.with_missing(Mask::Array(Arc::new(marks.into_array(mask_type)?)))
}

fn to_usize_range(start: u64, len: u64) -> Result<Range<usize>> {
    let start = to_usize(start)?;
    Ok(start..start.saturating_add(to_usize(len)?))
}

/// The stored array with what is declared about it: for values and mask alike.
struct PhysicalShared {
    array: Array,
    program: CopyProgram,
    parts: Vec<FieldDecoding>,
    /// Bytes of a packed stored element.
    item_size: usize,
}

/// The values that are meant, or the mask, in C order.
struct PhysicalSource {
    shared: Arc<PhysicalShared>,
    /// Bytes of an element.
    size: u64,
    is_mask: bool,
}

impl PhysicalShared {
    /// Returns `true` if many small reads cost no more than a large one.
    fn is_cheap_random_access(&self) -> bool {
        let source = &self.array.source;
        self.array.is_c_contiguous() && source.access() == Access::RANDOM
    }

    /// The stored elements from one number in C order on, packed, in the byte order of this machine.
    fn read_stored(&self, first: u64, count: u64, into: &mut [u8]) -> Result<()> {
        let array = &self.array;
        if array.is_c_contiguous() {
            let offset = array.offset.saturating_add(first.saturating_mul(array.datatype.item_size()));
            let stride = i64::try_from(array.datatype.item_size()).unwrap_or(i64::MAX);
            let part = Array { offset, shape: vec![count], strides: vec![stride], mask: None, ..array.clone() };
            return part.read_program_into(&self.program, into);
        }
        let row = array.shape.iter().skip(1).fold(1u64, |n, len| n.saturating_mul(*len)).max(1);
        let (start, end) = (first / row, first.saturating_add(count).div_ceil(row));
        let bound = |n| i64::try_from(n).ok();
        let rows = array.slice([Index::Slice { start: bound(start), stop: bound(end), step: 1 }])?;
        array.limits.charge_memory(rows.nbytes(), "the rows of an array")?;
        let mut bytes = vec![0; to_usize(rows.nbytes())?];
        rows.read_program_into(&self.program, &mut bytes)?;
        let from = to_usize((first - start.saturating_mul(row)).saturating_mul(self.item_size as u64))?;
        let found = bytes.get(from..from.saturating_add(into.len()));
        into.copy_from_slice(found.ok_or_else(|| Error::malformed("an array ends before its elements"))?);
        Ok(())
    }
}

impl PhysicalSource {
    /// Returns an array of them, with the chunks of the stored array.
    fn into_array(self, datatype: Datatype) -> Result<Array> {
        let (shared, size) = (Arc::clone(&self.shared), self.size);
        let Array { shape, limits, chunking, .. } = &shared.array;
        let chunking = chunking.as_ref().map(|chunking| Arc::new(chunking.for_computed_elements(shared.item_size as u64, size)));
        let made = Array::new(Arc::new(self), 0, datatype, Byteorder::NATIVE, shape.clone())?;
        Ok(Array { chunking, ..made.with_limits(Arc::clone(limits)) })
    }

    fn element_count(&self) -> u64 {
        self.shared.array.element_count()
    }

    /// Converts whole elements, which begin with number `first`.
    fn convert_elements(&self, first: u64, from: &[u8], to: &mut [u8]) -> Result<()> {
        let shared = &*self.shared;
        let place = |part: &FieldDecoding| if self.is_mask { part.mask_index.clone() } else { part.to.clone() };
        let size = to_usize(self.size)?;
        let one = |part: &FieldDecoding, from: &[u8], to: &mut [u8]| {
            if self.is_mask { part.mark_missing(from, to) } else { part.convert_elements(first, from, to) }
        };
        if let [part] = shared.parts.as_slice()
            && !matches!(part.meaning.transform, ValueTransform::Flags { .. })
        {
            return one(part, from, to);
        }
        for (from, to) in from.chunks_exact(shared.item_size.max(1)).zip(to.chunks_exact_mut(size.max(1))) {
            for part in &shared.parts {
                if let (Some(from), Some(to)) = (from.get(part.from.clone()), to.get_mut(place(part))) {
                    one(part, from, to)?;
                }
            }
        }
        Ok(())
    }

    /// Elements that begin with number `first`, into memory of whole ones.
    fn read_elements(&self, first: u64, into: &mut [u8]) -> Result<()> {
        let (size, stored) = (to_usize(self.size.max(1))?, self.shared.item_size.max(1));
        let at_once = to_usize((BUFFER_SIZE / self.size.max(stored as u64)).max(1))?;
        if self.shared.is_cheap_random_access() {
            let firsts = (first..).step_by(at_once);
            let jobs: Vec<(u64, &mut [u8])> = firsts.zip(into.chunks_mut(at_once.saturating_mul(size))).collect();
            let work = |(first, part): (u64, &mut [u8])| {
                let count = part.len() / size;
                let mut bytes = vec![0; count.saturating_mul(stored)];
                self.shared.read_stored(first, count as u64, &mut bytes)?;
                self.convert_elements(first, &bytes, part)
            };
            return if jobs.len() < 4 { jobs.into_iter().try_for_each(work) } else { map_parallel(jobs, work).map(drop) };
        }
        let portion = self.shared.array.layer_bytes().min(self.shared.array.limits.memory / 8);
        let many = to_usize((READ_AHEAD.max(portion) / stored as u64).max(1))?;
        let (mut first, mut bytes) = (first, Vec::new());
        for part in into.chunks_mut(many.saturating_mul(size)) {
            let count = part.len() / size;
            bytes.resize(count.saturating_mul(stored), 0);
            self.shared.read_stored(first, count as u64, &mut bytes)?;
            let jobs = bytes.chunks(at_once.saturating_mul(stored)).zip(part.chunks_mut(at_once.saturating_mul(size)));
            let jobs = (first..).step_by(at_once).zip(jobs).collect();
            map_parallel(jobs, |(first, (from, to))| self.convert_elements(first, from, to))?;
            first += count as u64;
        }
        Ok(())
    }

    /// The bytes of the inner source that a range is made of.
    fn stored_range(&self, range: &Range<u64>) -> Vec<Range<u64>> {
        let size = self.size.max(1);
        let (first, last) = (range.start / size, range.end.div_ceil(size).min(self.element_count()));
        let array = &self.shared.array;
        if array.is_c_contiguous() {
            let at = |n: u64| array.offset.saturating_add(n.saturating_mul(array.datatype.item_size()));
            return vec![at(first)..at(last.max(first))];
        }
        let row = array.shape.iter().skip(1).fold(1u64, |n, len| n.saturating_mul(*len)).max(1);
        let bound = |n| i64::try_from(n).ok();
        let index = Index::Slice { start: bound(first / row), stop: bound(last.div_ceil(row)), step: 1 };
        array.slice([index]).map_or_else(|_| vec![array.byte_range()], |rows| rows.plan(0))
    }
}

impl PieceDecoding for PhysicalSource {
    fn stored_ranges(&self, range: Range<u64>) -> Result<Vec<Range<u64>>> {
        let mut stored = Vec::new();
        for range in self.stored_range(&range) {
            stored.extend(stored_ranges(&*self.shared.array.source, range)?);
        }
        Ok(stored)
    }
}

impl Source for PhysicalSource {
    fn len(&self) -> u64 {
        self.element_count().saturating_mul(self.size)
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<()> {
        end_in("array", offset, into.len() as u64, self.len())?;
        if into.is_empty() {
            return Ok(());
        }
        let limits: &Limits = &self.shared.array.limits;
        limits.charge_memory(self.size.max(self.shared.item_size as u64), "an element")?;
        // The array that these bytes are the elements of counts them.
        trilith_io::interrupt::check()?;
        let (size, mut first, skip) = (to_usize(self.size)?, offset / self.size, to_usize(offset % self.size)?);
        let mut rest = into;
        let mut one = Vec::new();
        let mut part_of = |first: u64, skip: usize, to: &mut [u8]| -> Result<()> {
            one.resize(size, 0);
            self.read_elements(first, &mut one)?;
            let found = one.get(skip..skip.saturating_add(to.len()));
            to.copy_from_slice(found.ok_or_else(|| Error::malformed("an element ends before its bytes"))?);
            Ok(())
        };
        if skip > 0 {
            let count = rest.len().min(size - skip);
            let (now, later) = std::mem::take(&mut rest).split_at_mut(count);
            part_of(first, skip, now)?;
            (rest, first) = (later, first + 1);
        }
        let whole = rest.len() / size * size;
        let (now, last) = rest.split_at_mut(whole);
        if !now.is_empty() {
            self.read_elements(first, now)?;
        }
        if last.is_empty() { Ok(()) } else { part_of(first + (whole / size) as u64, 0, last) }
    }

    fn available_len(&self) -> u64 {
        let source = &self.shared.array.source;
        if source.available_len() >= source.len() {
            return self.len();
        }
        let row = self.shared.array.shape.iter().skip(1).fold(self.size, |n, len| n.saturating_mul(*len));
        self.shared.array.rows_within(source.available_len()).map_or(self.len(), |rows| rows.saturating_mul(row).min(self.len()))
    }

    fn prefetch(&self, ranges: &[Range<u64>]) -> Result<()> {
        let needed: Vec<_> = ranges.iter().flat_map(|range| self.stored_range(range)).collect();
        self.shared.array.source.prefetch(&needed)
    }

    fn origin(&self) -> Option<SourceOrigin<'_>> {
        Some(SourceOrigin::Made(&*self.shared.array.source))
    }

    fn pieces(&self) -> Option<&dyn PieceDecoding> {
        Some(self)
    }
}
