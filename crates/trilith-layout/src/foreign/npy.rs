//! `.npy` files of numpy: one array, named `data`.

use std::sync::Arc;

use super::struct_strings::{self, MemberTreatment};
use crate::array::{Array, Byteorder, Datatype, DeclaredNumber, PartialArray, UnsupportedDtype, UnsupportedKind};
use crate::bytes::{CodingStep, SourceRef};
use crate::codec::filter::number_formats;
use crate::error::{Error, Result};
use crate::layout::{ElementParts, ItemSpec, Layout, LayoutBuilder, LayoutLiteral, LibraryFill, StorageField};
use crate::limits::Limits;

/// The duration that numpy calls `NaT`: a missing one.
const NAT: i64 = i64::MIN;

/// The layout of a `.npy` file. An attribute states columns, since the language has rows alone.
pub(super) fn derive_layout(source: &SourceRef, limits: &Limits) -> Result<Layout> {
    let read = read_npy_header(source.clone(), limits)?;
    let mut builder = LayoutBuilder::new("a .npy file", limits);
    declare_npy_array(&read, 0, "data", &mut builder)?;
    Ok(builder.finish())
}

/// Reads the header of a `.npy` file; the columns that a layout has no datatype for are left out.
pub(super) fn read_npy_header(source: SourceRef, limits: &Limits) -> Result<PartialArray> {
    let known = |datatype: &Datatype| ItemSpec::from_datatype(datatype, Byteorder::Little, &[]).map(drop);
    Array::from_npy_partly(source, limits, &known)
}

/// An array whose `.npy` file begins at a byte of the file. A column that cannot be read is the item `NAME@COLUMN`.
pub(super) fn declare_npy_array(
    (array, missing, named): &PartialArray,
    start: u64,
    name: &str,
    builder: &mut LayoutBuilder,
) -> Result<()> {
    let (shape, offset) = (array.shape(), start.saturating_add(array.offset()));
    let made = NpyMapping::from_array(array, named)?;
    let (outer, bytes) = split_opaque_axis(array, named);
    if made.filter.is_some() || made.parts.is_some() {
        if array.is_empty() {
            builder.write_array(name, &made.datatype, Byteorder::Little, shape, offset)?;
        } else {
            builder.write_item(name, &ItemSpec::bytes(array.nbytes_stored()).with_offset(offset))?;
            made.write_grid(array, named, [], builder)?;
        }
    } else if array.is_c_contiguous() {
        builder.write_array(name, array.datatype(), array.byteorder(), shape, offset)?;
    } else {
        // The bytes are declared in rows, with the axes reversed; the attributes give the axes and their order.
        let turned: Vec<u64> = outer.iter().rev().chain(bytes).copied().collect();
        builder.write_array(name, array.datatype(), array.byteorder(), &turned, offset)?;
        made.write_grid(array, named, [], builder)?;
    }
    write_dtype_note(named, builder)?;
    write_unreadable_columns(missing, name, builder)
}

/// The elements of an array, and how they are made of what is stored.
pub(super) struct NpyMapping {
    pub datatype: Datatype,
    order: Byteorder,
    /// The filter that makes all of an element, if there is one.
    filter: Option<CodingStep>,
    /// The parts of which structs are made, and the filters of these.
    parts: Option<ElementParts>,
    part_filters: Vec<CodingStep>,
}

impl NpyMapping {
    /// Finds how the elements of an array are made.
    ///
    /// # Errors
    /// Returns `Unsupported` for dates in units that are not known, and for structs of too many parts.
    pub(super) fn from_array(array: &Array, named: &[UnsupportedDtype]) -> Result<Self> {
        let mut found = Vec::new();
        for named in named {
            if let Some((filter, datatype)) = conversion(named)? {
                found.push((named.offset, filter, datatype));
            }
        }
        let (datatype, order) = (array.datatype().clone(), array.byteorder());
        let kept = Self { datatype, order, filter: None, parts: None, part_filters: Vec::new() };
        match (&kept.datatype, found.as_slice()) {
            (_, []) => Ok(kept),
            (Datatype::Struct(fields), found) => {
                let (read, parts) = struct_strings::decoded_struct(fields, 0, &|field, at| {
                    let known = matches!(field.datatype, Datatype::Int64 | Datatype::Ascii(_));
                    let place = found.iter().position(|(place, ..)| *place == at && known);
                    Ok(match place.and_then(|number| Some((number, found.get(number)?))) {
                        Some((number, (_, _, datatype))) => {
                            MemberTreatment::numbers(datatype.clone(), field.shape.clone(), number)
                        }
                        None => MemberTreatment::Kept,
                    })
                })?;
                // No string is in a heap, so the sizes of an address and of a length, 8 and 8, are not used.
                let parts =
                    ElementParts { stored_size: fields.item_size(), address_size: 8, length_size: 8, base: 0, moves: parts };
                let part_filters = found.iter().map(|(_, filter, _)| filter.clone()).collect();
                Ok(Self { datatype: Datatype::Struct(Arc::new(read)), parts: Some(parts), part_filters, ..kept })
            }
            (_, [(_, filter, datatype), ..]) => {
                Ok(Self { datatype: datatype.clone(), order: Byteorder::Little, filter: Some(filter.clone()), ..kept })
            }
        }
    }

    /// Writes an array as a grid of one chunk, with the filters of that; `stored` are those that come after.
    pub(super) fn write_grid(
        &self,
        array: &Array,
        named: &[UnsupportedDtype],
        stored: impl IntoIterator<Item = CodingStep>,
        builder: &mut LayoutBuilder,
    ) -> Result<()> {
        let (outer, bytes) = split_opaque_axis(array, named);
        builder.write_grid_shape(outer, outer)?;
        builder.write_element_type(&self.datatype, self.order, bytes)?;
        if !array.is_c_contiguous() {
            builder.write_field(StorageField::ColumnMajor(true))?;
        }
        builder.write_filters(self.filter.iter().cloned().chain(stored).collect())?;
        self.parts.iter().try_for_each(|parts| builder.write_parts(parts, &self.part_filters, &[]))
    }
}

/// The axes of an array, and that of the bytes of opaque elements, which are in order even in columns.
fn split_opaque_axis<'a>(array: &'a Array, named: &[UnsupportedDtype]) -> (&'a [u64], &'a [u64]) {
    let is_opaque = named.iter().any(|named| named.field.is_empty() && matches!(named.kind, UnsupportedKind::Opaque));
    let shape = array.shape();
    shape.split_at(shape.len().saturating_sub(usize::from(is_opaque)))
}

/// The filter that makes something of elements, and what comes out.
pub(super) fn conversion(named: &UnsupportedDtype) -> Result<Option<(CodingStep, Datatype)>> {
    let is_big = u64::from(named.order == Byteorder::Big);
    Ok(match &named.kind {
        UnsupportedKind::Title | UnsupportedKind::Durations | UnsupportedKind::Opaque => None,
        UnsupportedKind::Dates(times, name) => {
            let unit = number_formats::unit_index(name)
                .ok_or_else(|| Error::unsupported(format!("cannot read dates in the unit {name:?}")))?;
            let filter = CodingStep::new("dates", vec![is_big, *times, unit]);
            Some((filter, Datatype::with_length("ascii", number_formats::DATE_LEN as u64)?))
        }
        UnsupportedKind::LongDouble(width, is_complex) => {
            let datatype = if *is_complex { Datatype::Complex128 } else { Datatype::Float64 };
            // x87 80-bit format. The header does not state it; the filter `float` checks the numbers.
            Some((CodingStep::new("float", vec![*width, is_big, 79, 64, 15, 0, 64, 16383, 2]), datatype))
        }
    })
}

/// The attributes about what only numpy has: datatypes, titles of columns, and durations that are missing.
pub(super) fn write_dtype_note(named: &[UnsupportedDtype], builder: &mut LayoutBuilder) -> Result<()> {
    let durations: Vec<&UnsupportedDtype> =
        named.iter().filter(|named| matches!(named.kind, UnsupportedKind::Durations)).collect();
    match durations.as_slice() {
        [] => {}
        [whole] if whole.field.is_empty() => builder.write_library_fill(DeclaredNumber::Int(NAT.into()))?,
        columns => {
            let members = columns.iter().map(|named| (named.field.clone(), DeclaredNumber::Int(NAT.into())));
            builder.write_field(StorageField::LibraryFill(LibraryFill::Members(members.collect())))?;
        }
    }
    let (titles, named): (Vec<&UnsupportedDtype>, Vec<&UnsupportedDtype>) =
        named.iter().partition(|named| matches!(named.kind, UnsupportedKind::Title));
    if !titles.is_empty() {
        let pairs = titles.iter().flat_map(|titled| [titled.field.clone(), titled.name.clone()]);
        builder.write_attribute("numpy_titles", pairs.map(LayoutLiteral::Text).collect::<Vec<_>>())?;
    }
    let said = |named: &UnsupportedDtype| {
        if named.field.is_empty() { named.name.clone() } else { format!("{}={}", named.field, named.name) }
    };
    let all: Vec<String> = named.into_iter().map(said).collect();
    if all.is_empty() { Ok(()) } else { builder.write_attribute("numpy_dtype", all.join(" ").as_str()) }
}

/// The columns of an array that cannot be read.
pub(super) fn write_unreadable_columns(missing: &[(String, Error)], name: &str, builder: &mut LayoutBuilder) -> Result<()> {
    missing.iter().try_for_each(|(column, why)| builder.write_unreadable_item(&format!("{name}@{column}"), why))
}
