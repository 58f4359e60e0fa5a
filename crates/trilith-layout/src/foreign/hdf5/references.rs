//! References to objects and to parts of datasets: the paths and the selections that are read in place of the addresses.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::datatype::LayoutDatatype;
use super::file::{FieldReader, Hdf5File};
use super::linked_file::LinkedFile;
use super::virtual_dataset::{DataspaceSelection, read_selection};
use crate::array::{Datatype, StructType, undeclared_text};
use crate::bytes::{CodingStep, to_usize};
use crate::error::{Error, Result};
use crate::foreign::struct_strings::MAX_PARTS;

/// Boxes or points of a selection that are listed; of more only the number is named.
const MAX_LISTED: usize = 256;

/// Bytes of paths for each byte of the file; more are read as addresses.
const MAX_RATIO: u64 = 1032;

/// References in an element: the first one, if the member is an array.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ReferencePart {
    pub offset: u64,
    /// Bytes of a reference.
    pub size: u64,
    pub form: ReferenceForm,
}

/// The form in which a reference is stored.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum ReferenceForm {
    /// The address of an object.
    Object,
    /// The place in a heap of the address of a dataset and of a selection.
    Region,
    /// The form of HDF5 1.12, for objects, regions and attributes.
    Revised,
}

/// The numbers of the kinds of references in the form of HDF5 1.12.
mod revised {
    pub(super) const OBJECT: u64 = 2;
    pub(super) const REGION: u64 = 3;
    pub(super) const ATTRIBUTE: u64 = 4;
    /// The flag of references to other files.
    pub(super) const EXTERNAL: u64 = 1;
}

impl ReferenceForm {
    /// Returns `true` if the bytes of a reference are the last axis of the elements that are stored.
    pub(super) fn has_byte_axis(self) -> bool {
        self != Self::Object
    }

    /// Returns a description of such references.
    pub(super) fn description(self) -> &'static str {
        match self {
            Self::Object => "references to objects",
            Self::Region => "references to regions",
            Self::Revised => "references to objects, regions or attributes",
        }
    }

    /// Returns the address of the object to which a reference leads; `None` for a null reference, and for one to a part of an object.
    pub(super) fn object_address(self, file: &Hdf5File, stored: &[u8]) -> Result<Option<u64>> {
        let mut fields = file.field_reader(stored, 0);
        match self {
            Self::Object | Self::Region => fields.read_address(),
            Self::Revised => match (fields.uint(1)?, fields.uint(1)? & revised::EXTERNAL) {
                (revised::OBJECT, 0) => read_token(&mut fields).map(Some),
                _ => Ok(None),
            },
        }
    }
}

impl ReferencePart {
    /// The references of the type in a struct, whose member begins at a byte.
    pub(super) fn at_offset(self, by: u64) -> Self {
        Self { offset: self.offset.saturating_add(by), ..self }
    }
}

/// The paths of the references of an array.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ReferenceTable {
    /// Bytes of the longest path.
    pub length: u64,
    /// The sizes of references that occur: each has a filter.
    sizes: Vec<u64>,
    /// The references, each with its path.
    entries: Vec<(Vec<u8>, String)>,
}

impl ReferenceTable {
    /// Returns the filters of the references.
    pub(super) fn filters(&self) -> impl Iterator<Item = CodingStep> + '_ {
        self.sizes.iter().map(|size| CodingStep::new("references", vec![*size, self.length]))
    }

    /// Returns the number of the filter for references of a size.
    pub(super) fn filter_index(&self, size: u64) -> Option<usize> {
        self.sizes.iter().position(|known| *known == size)
    }

    /// Returns the references, each with its path.
    pub(super) fn entries(&self) -> &[(Vec<u8>, String)] {
        &self.entries
    }
}

impl LayoutDatatype {
    /// Finds the paths to which references in elements lead, so that they are read as strings. `bytes` are the elements as they are
    /// stored. Strings that would be far larger than the file are not made.
    ///
    /// # Errors
    /// Returns `Unsupported` for structs with too many references, and `Limit` if the paths are too long.
    pub(super) fn resolve_references(&mut self, at: &LinkedFile, bytes: &[u8]) -> Result<()> {
        let mut places = Vec::new();
        if let Some(fields) = self.datatype.as_struct() {
            self.reference_places(fields, 0, &[0], &mut places)?;
        } else {
            places.extend(self.references.iter().map(|part| (*part, 0)));
        }
        let stored = match self.datatype {
            Datatype::Struct(_) => self.datatype.item_size(),
            _ => self.references.first().map_or(1, |part| part.size),
        };
        let (mut found, mut length, mut sum) = (BTreeMap::new(), 1, 0u64);
        for element in bytes.chunks_exact(to_usize(stored)?.max(1)) {
            for (part, place) in &places {
                let key = element.get(to_usize(*place)?..).and_then(|rest| rest.get(..usize::try_from(part.size).ok()?));
                let Some(key) = key.filter(|key| !found.contains_key(*key)) else { continue };
                let text = reference_text(at, part.form, key);
                at.file.limits.charge_text(&mut sum, text.len() + 2 * key.len() + 2, "the paths of references")?;
                length = length.max(text.len() as u64);
                found.insert(key.to_vec(), text);
            }
        }
        let count = (bytes.len() as u64 / stored.max(1)).saturating_mul(places.len() as u64);
        if count.saturating_mul(length) > at.file.len().saturating_mul(MAX_RATIO) {
            return Ok(());
        }
        let mut sizes: Vec<u64> = self.references.iter().map(|part| part.size).collect();
        sizes.sort_unstable();
        sizes.dedup();
        let entries = found.into_iter().filter(|(_, text)| !text.is_empty()).collect();
        self.paths = Some(ReferenceTable { length, sizes, entries });
        Ok(())
    }

    /// The places in an element of all references. The depth is that of the datatype.
    fn reference_places(
        &self,
        fields: &StructType,
        first: u64,
        starts: &[u64],
        all: &mut Vec<(ReferencePart, u64)>,
    ) -> Result<()> {
        for field in fields.fields() {
            let at = first.saturating_add(field.offset);
            let part = self.references.iter().find(|part| part.offset == at).copied();
            let bytes = field.count().saturating_mul(field.datatype.item_size());
            let (count, size) = match (&field.datatype, part) {
                (Datatype::Struct(_), _) => (field.count(), field.datatype.item_size()),
                (_, Some(part)) => (bytes / part.size.max(1), part.size),
                _ => continue,
            };
            if count.saturating_mul(starts.len() as u64).saturating_add(all.len() as u64) > MAX_PARTS as u64 {
                return Err(Error::unsupported(format!("structs with more than {MAX_PARTS} references")));
            }
            let places = starts.iter().flat_map(|start| {
                (0..count).map(move |n| start.saturating_add(field.offset).saturating_add(n.saturating_mul(size)))
            });
            let places: Vec<u64> = places.collect();
            match (&field.datatype, part) {
                (Datatype::Struct(inner), _) => self.reference_places(inner, at, &places, all)?,
                (_, Some(part)) => all.extend(places.into_iter().map(|place| (part, place))),
                _ => {}
            }
        }
        Ok(())
    }
}

/// The address of an object, with the number of its bytes before it.
fn read_token(fields: &mut FieldReader<'_>) -> Result<u64> {
    let len = fields.uint(1)?;
    if !(1..=8).contains(&len) {
        return Err(Error::unsupported(format!("a reference with an address of {len} bytes")));
    }
    fields.uint(to_usize(len)?)
}

fn object_path(at: &LinkedFile, address: u64) -> String {
    at.object_paths().get(&address).cloned().unwrap_or_else(|| format!("address {address}"))
}

/// Returns the text of a reference in the form of HDF5 1.12.
fn revised_text(at: &LinkedFile, stored: &[u8]) -> Result<String> {
    let mut fields = at.file.field_reader(stored, 0);
    let (kind, flags) = (fields.uint(1)?, fields.uint(1)?);
    if kind == 0 {
        return Ok(String::new());
    }
    if flags & revised::EXTERNAL != 0 {
        return Err(Error::unsupported("a reference to another file"));
    }
    if kind == revised::OBJECT {
        return Ok(object_path(at, read_token(&mut fields)?));
    }
    let (len, heap, index) = (fields.uint(4)?, fields.read_defined_address("a reference")?, fields.uint(4)?);
    let (place, stored_len) = at.heaps.locate_object(&at.file, heap, index)?;
    let bytes = at.file.read_bytes(place, len.min(stored_len))?;
    let mut fields = at.file.field_reader(&bytes, place);
    let path = object_path(at, read_token(&mut fields)?);
    match kind {
        revised::REGION => {
            // The length of the selection and its axes, which the selection has, too.
            fields.skip(8)?;
            Ok(format!("{path}{}", read_selection(&mut fields)?.to_text()))
        }
        revised::ATTRIBUTE => {
            let len = to_usize(fields.uint(2)?)?;
            Ok(format!("{path}@{}", undeclared_text(fields.take_bytes(len)?)))
        }
        kind => Err(Error::unsupported(format!("a reference of the kind {kind}"))),
    }
}

/// Returns the path to which a reference leads, with the selection if it leads to a region, and with the name if it leads to an
/// attribute; no text for a null reference.
pub(super) fn reference_text(at: &LinkedFile, form: ReferenceForm, stored: &[u8]) -> String {
    if form == ReferenceForm::Revised {
        return revised_text(at, stored).unwrap_or_else(|why| format!("a reference that cannot be read: {why}"));
    }
    let path = |address: u64| object_path(at, address);
    let mut fields = at.file.field_reader(stored, 0);
    let Some(address) = fields.read_address().ok().flatten().filter(|address| *address != 0) else { return String::new() };
    if form == ReferenceForm::Object {
        return path(address);
    }
    let mut region = || -> Result<String> {
        let index = fields.uint(4)?;
        let (place, len) = at.heaps.locate_object(&at.file, address, index)?;
        let bytes = at.file.read_bytes(place, len)?;
        let mut fields = at.file.field_reader(&bytes, place);
        let object = fields.read_defined_address("the dataset of a region")?;
        Ok(format!("{}{}", path(object), read_selection(&mut fields)?.to_text()))
    };
    region().unwrap_or_else(|_| format!("a region that cannot be read, at address {address}"))
}

impl DataspaceSelection {
    /// Returns the selection as slices in brackets, one pair of brackets for each box or point.
    fn to_text(&self) -> String {
        let boxes = |count: usize, what: &str, one: &dyn Fn(usize) -> String| {
            if count > MAX_LISTED { format!("[{count} {what}]") } else { (0..count).map(one).collect() }
        };
        match self {
            Self::All => "[...]".to_owned(),
            Self::None => "[]".to_owned(),
            Self::Points(points) => {
                boxes(points.len(), "points", &|n| bracket_axes(points.get(n).into_iter().flatten().map(u64::to_string)))
            }
            Self::Boxes(all) => boxes(all.len(), "boxes", &|n| {
                bracket_axes(all.get(n).into_iter().flatten().map(|(start, len)| slice_text(*start, 1, *len)))
            }),
            Self::Hyperslab(spans) => {
                // Blocks of one element at equal distances are a slice with a step; larger ones are separate boxes.
                let counts: Vec<u64> = spans
                    .iter()
                    .map(|[_, stride, count, block]| if *block == 1 || stride == block { 1 } else { *count })
                    .collect();
                let all = counts.iter().fold(1u64, |n, count| n.saturating_mul(*count));
                boxes(usize::try_from(all).unwrap_or(usize::MAX), "boxes", &|n| {
                    let places = crate::array::unravel(n as u64, &counts);
                    bracket_axes(spans.iter().zip(&counts).zip(places).map(|(([start, stride, count, block], boxes), place)| {
                        match (*boxes, *block) {
                            (1, block) if block == *stride => slice_text(*start, 1, block.saturating_mul(*count)),
                            (1, 1) => slice_text(*start, *stride, *count),
                            (_, block) => slice_text(start.saturating_add(place.saturating_mul(*stride)), 1, block),
                        }
                    }))
                })
            }
        }
    }
}

fn bracket_axes(axes: impl Iterator<Item = String>) -> String {
    format!("[{}]", axes.collect::<Vec<_>>().join(","))
}

/// Elements of an axis as a slice: START:STOP:STEP.
fn slice_text(start: u64, step: u64, count: u64) -> String {
    let last = start.saturating_add(count.saturating_sub(1).saturating_mul(step));
    let mut text = format!("{start}:{}", last.saturating_add(1));
    if step > 1 && count > 1 {
        let _ = write!(text, ":{step}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selections_are_written_as_slices() {
        for (selection, text) in [
            (DataspaceSelection::All, "[...]"),
            (DataspaceSelection::None, "[]"),
            (DataspaceSelection::Points(vec![vec![1, 2], vec![0, 3]]), "[1,2][0,3]"),
            (DataspaceSelection::Boxes(vec![vec![(1, 2), (0, 3)], vec![(5, 1), (2, 2)]]), "[1:3,0:3][5:6,2:4]"),
            (DataspaceSelection::Hyperslab(vec![[1, 1, 1, 2], [0, 2, 2, 1]]), "[1:3,0:3:2]"),
            (DataspaceSelection::Hyperslab(vec![[1, 3, 4, 3]]), "[1:13]"),
            (DataspaceSelection::Hyperslab(vec![[0, 5, 2, 2], [1, 1, 1, 1]]), "[0:2,1:2][5:7,1:2]"),
            (DataspaceSelection::Hyperslab(vec![[0, 5, 2000, 2]]), "[2000 boxes]"),
            (DataspaceSelection::Points(vec![vec![0]; 300]), "[300 points]"),
        ] {
            assert_eq!(selection.to_text(), text);
        }
    }
}
