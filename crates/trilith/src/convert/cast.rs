//! Elements of a datatype that a generation lacks, as those of one that it has.

use std::sync::Arc;

use crate::array::{Array, ArrayElement, Byteorder, Datatype, PackedSource, StructType};
use crate::asdf::Target;
use crate::bytes::{Source, SourceOrigin, read_vec, to_usize};
use crate::error::{Error, Result};
use crate::limits::Limits;

/// The datatype that takes the place of one which `target` has no word for; None if it has.
///
/// # Errors
/// Returns [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) for a structure that becomes too large.
// Structures nest no deeper than the library allows, so this recursion is bounded.
pub(super) fn supported_datatype(datatype: &Datatype, target: &Target) -> Result<Option<Datatype>> {
    Ok(match datatype {
        Datatype::Float16 if !target.float16 => Some(Datatype::Float32),
        Datatype::Float128 => Some(Datatype::Float64),
        Datatype::Complex32 => Some(Datatype::Complex64),
        Datatype::Complex256 => Some(Datatype::Complex128),
        Datatype::Struct(structure) => {
            let mut fields = structure.fields().to_vec();
            let mut changed = false;
            for field in &mut fields {
                if let Some(datatype) = supported_datatype(&field.datatype, target)? {
                    field.datatype = datatype;
                    changed = true;
                }
            }
            if changed { Some(Datatype::Struct(Arc::new(StructType::packed_from(fields)?))) } else { None }
        }
        _ => None,
    })
}

/// Describes the change of the values of a datatype: `float16 becomes float32`, ….
pub(super) fn describe_cast(from: &Datatype, to: &Datatype) -> String {
    let mut parts: Vec<String> = Vec::new();
    for leaf in flatten(from, to) {
        let how = match leaf.from {
            Datatype::Float128 | Datatype::Complex256 => " (rounded to double precision)",
            _ => " (the values stay the same)",
        };
        let part = format!("the datatype {} becomes {}{how}", leaf.from.name(), leaf.to.name());
        if leaf.from != leaf.to && !parts.contains(&part) {
            parts.push(part);
        }
    }
    parts.join(", ")
}

/// Equal elements one after the other within an element of the array.
struct LeafRun {
    from: Datatype,
    to: Datatype,
    count: usize,
}

/// The simple elements that an element is made of, in order.
fn flatten(from: &Datatype, to: &Datatype) -> Vec<LeafRun> {
    let mut list = Vec::new();
    let mut todo = vec![(from.clone(), to.clone(), 1u64)];
    while let Some((from, to, count)) = todo.pop() {
        match (&from, &to) {
            (Datatype::Struct(old), Datatype::Struct(new)) => {
                let inner: Vec<_> = old
                    .fields()
                    .iter()
                    .zip(new.fields())
                    .map(|(old, new)| (old.datatype.clone(), new.datatype.clone(), old.count()))
                    .collect();
                for _ in 0..count {
                    todo.extend(inner.iter().rev().cloned());
                }
            }
            _ => list.push(LeafRun { from, to, count: usize::try_from(count).unwrap_or(usize::MAX) }),
        }
    }
    list
}

/// Turns canonical bytes (packed, little-endian) of one datatype into packed bytes of another.
pub(super) struct ElementCast {
    leaves: Vec<LeafRun>,
    order: Byteorder,
    from_size: usize,
    to_size: usize,
}

impl ElementCast {
    /// Creates a conversion from elements of `from` to those of `to`, its [`supported_datatype`], all in byte order `order`.
    pub(super) fn new(from: &Datatype, to: &Datatype, order: Byteorder) -> Result<Self> {
        Ok(Self {
            leaves: flatten(from, to),
            order,
            from_size: to_usize(from.packed_size())?,
            to_size: to_usize(to.packed_size())?,
        })
    }

    /// Changes whole elements.
    pub(super) fn cast_elements(&self, bytes: &[u8]) -> Result<Vec<u8>> {
        let rows = bytes.len().checked_div(self.from_size).unwrap_or(0);
        if let [only] = self.leaves.as_slice() {
            return cast_leaf_run(only, bytes.to_vec(), rows.saturating_mul(only.count), self.order);
        }
        let mut out = vec![0; rows.saturating_mul(self.to_size)];
        let (mut from_at, mut to_at) = (0, 0);
        for leaf in &self.leaves {
            let from_len = to_usize(leaf.from.packed_size())?.saturating_mul(leaf.count);
            let to_len = to_usize(leaf.to.packed_size())?.saturating_mul(leaf.count);
            let gathered: Vec<u8> = bytes
                .chunks_exact(self.from_size)
                .flat_map(|row| row.get(from_at..from_at + from_len).unwrap_or(&[]).iter().copied())
                .collect();
            let made = cast_leaf_run(leaf, gathered, rows.saturating_mul(leaf.count), self.order)?;
            for (row, part) in out.chunks_exact_mut(self.to_size).zip(made.chunks_exact(to_len.max(1))) {
                if let Some(to) = row.get_mut(to_at..to_at + to_len) {
                    to.copy_from_slice(part);
                }
            }
            from_at += from_len;
            to_at += to_len;
        }
        Ok(out)
    }
}

/// The packed elements of an array in the datatype that takes the place of theirs. They are made when they are read.
pub(super) struct CastSource {
    elements: PackedSource,
    cast: ElementCast,
    limits: Arc<Limits>,
}

impl CastSource {
    /// Returns the elements of `array` as those of `to`, in a byte order.
    pub(super) fn new(array: Array, to: &Datatype, order: Byteorder) -> Result<Self> {
        let cast = ElementCast::new(array.datatype(), to, order)?;
        let limits = array.limits().clone();
        Ok(Self { elements: PackedSource::new(array, Byteorder::Little), cast, limits })
    }
}

impl Source for CastSource {
    fn len(&self) -> u64 {
        let count = self.elements.len().checked_div(self.cast.from_size as u64).unwrap_or(0);
        count.saturating_mul(self.cast.to_size as u64)
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<()> {
        let (from_size, to_size) = (self.cast.from_size as u64, self.cast.to_size as u64);
        let (Some(first), end) = (offset.checked_div(to_size), offset.saturating_add(into.len() as u64)) else { return Ok(()) };
        let count = end.div_ceil(to_size) - first;
        let elements = read_vec(&self.elements, first * from_size, count * from_size, &self.limits)?;
        let bytes = self.cast.cast_elements(&elements)?;
        let start = to_usize(offset - first * to_size)?;
        let part = bytes.get(start..start + into.len());
        into.copy_from_slice(part.ok_or_else(|| Error::malformed("the array has fewer bytes").at_byte(offset))?);
        Ok(())
    }

    fn origin(&self) -> Option<SourceOrigin<'_>> {
        Some(SourceOrigin::Made(&self.elements))
    }
}

/// Equal elements side by side.
fn cast_leaf_run(leaf: &LeafRun, bytes: Vec<u8>, count: usize, order: Byteorder) -> Result<Vec<u8>> {
    let array = Array::from_bytes(bytes, leaf.from.clone(), Byteorder::Little, vec![count as u64])?;
    if leaf.from == leaf.to {
        return array.read_bytes(order);
    }
    fn load_canonical<T: ArrayElement>(array: &Array, order: Byteorder) -> Result<Vec<u8>> {
        Array::from_slice(&array.load_as::<T>()?, array.shape())?.read_bytes(order)
    }
    match leaf.to {
        Datatype::Float32 => load_canonical::<f32>(&array, order),
        Datatype::Float64 => load_canonical::<f64>(&array, order),
        Datatype::Complex64 => load_canonical::<num_complex::Complex<f32>>(&array, order),
        Datatype::Complex128 => load_canonical::<num_complex::Complex<f64>>(&array, order),
        _ => Err(Error::unsupported(format!("elements of {} as {}", leaf.from, leaf.to))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::Field;
    use half::f16;

    #[test]
    fn unsupported_fields_widen_and_others_keep_values() {
        let row = StructType::packed_from(vec![
            Field::new("n", Datatype::Uint16, Byteorder::Little),
            Field::new("x", Datatype::Float16, Byteorder::Little).with_shape(vec![2]),
            Field::new("s", Datatype::Ascii(3), Byteorder::Little),
        ])
        .unwrap();
        let from = Datatype::Struct(row.into());
        let to = supported_datatype(&from, Target::from_name("asdf-1.5").unwrap()).unwrap().unwrap();
        assert_eq!((from.packed_size(), to.packed_size()), (9, 13));
        assert!(supported_datatype(&from, Target::from_name("asdf-1.6").unwrap()).unwrap().is_none());
        let mut bytes = Vec::new();
        for n in 0..3u8 {
            bytes.extend([n, 1]);
            for x in [f32::from(n), -0.5] {
                bytes.extend(f16::from_f32(x).to_le_bytes());
            }
            bytes.extend(b"ab\0");
        }
        let out = ElementCast::new(&from, &to, Byteorder::Big).unwrap().cast_elements(&bytes).unwrap();
        assert_eq!(out.len(), 39);
        assert_eq!(out[13..26], [&[1, 1][..], &1f32.to_be_bytes(), &(-0.5f32).to_be_bytes(), b"ab\0"].concat());
    }

    #[test]
    fn long_doubles_become_doubles() {
        // 1.5 as an x86 number: the explicit leading bit, half a unit more, exponent 0x3fff.
        let mut bytes = 0xc000_0000_0000_0000u64.to_le_bytes().to_vec();
        bytes.extend([0xff, 0x3f, 0, 0, 0, 0, 0, 0]);
        let to = supported_datatype(&Datatype::Float128, Target::from_name("finf-0.1").unwrap()).unwrap().unwrap();
        let change = ElementCast::new(&Datatype::Float128, &to, Byteorder::Little).unwrap();
        assert_eq!(change.cast_elements(&bytes).unwrap(), 1.5f64.to_le_bytes());
        assert_eq!(
            describe_cast(&Datatype::Float128, &to),
            "the datatype float128 becomes float64 (rounded to double precision)"
        );
    }
}
