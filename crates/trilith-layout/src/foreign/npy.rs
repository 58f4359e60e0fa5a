//! `.npy` files of numpy: one array, named `data`.

use std::sync::Arc;

use super::layout_text::{LayoutText, placed_bytes, spell};
use super::struct_strings::{self, Member};
use crate::array::{Array, Byteorder, Datatype, Named, NamedKind, Partly};
use crate::bytes::SourceRef;
use crate::codec::filter::number_formats;
use crate::error::{Error, Result};
use crate::layout::{Literal, MISSING};
use crate::limits::Limits;

/// The duration that numpy calls `NaT`: a missing one.
const NAT: i64 = i64::MIN;

/// The layout of a `.npy` file. Columns are said by `grid_order`, since the language has rows alone.
pub(super) fn derive(source: &SourceRef, limits: &Limits) -> Result<String> {
    let read = read(source.clone(), limits)?;
    let mut text = LayoutText::new("a .npy file", limits);
    declare(&read, 0, "data", &mut text)?;
    text.finish()
}

/// Reads the header of a `.npy` file; the columns that a layout has no datatype for are left out.
pub(super) fn read(source: SourceRef, limits: &Limits) -> Result<Partly> {
    let known = |datatype: &Datatype| spell(datatype, Byteorder::Little, &[], &mut String::new());
    Array::from_npy_partly(source, limits, &known)
}

/// An array whose `.npy` file begins at a byte of the file. A column that cannot be read is the item `NAME@COLUMN`.
pub(super) fn declare((array, missing, named): &Partly, start: u64, name: &str, text: &mut LayoutText) -> Result<()> {
    let (shape, offset) = (array.shape(), start.saturating_add(array.offset()));
    let made = Made::of(array, named)?;
    let (outer, bytes) = axes(array, named);
    if !made.filter.is_empty() || !made.strings.is_empty() {
        if array.is_empty() {
            text.array(name, &made.datatype, Byteorder::Little, shape, offset)?;
        } else {
            text.item(name, &placed_bytes(array.nbytes_stored(), offset))?;
            made.write(array, named, "", text)?;
        }
    } else if array.is_c_contiguous() {
        text.array(name, array.datatype(), array.byteorder(), shape, offset)?;
    } else {
        // The bytes are declared in rows, with the axes reversed; the attributes give the axes and their order.
        let turned: Vec<u64> = outer.iter().rev().chain(bytes).copied().collect();
        text.array(name, array.datatype(), array.byteorder(), &turned, offset)?;
        made.write(array, named, "", text)?;
    }
    said(named, text)?;
    unreadable(missing, name, text)
}

/// The elements of an array, and how they are made of what is stored.
pub(super) struct Made {
    pub datatype: Datatype,
    order: Byteorder,
    /// The filter that makes all of an element, if there is one.
    filter: String,
    /// The attributes of structs of which parts are made.
    strings: Vec<u64>,
    numbers: Vec<String>,
}

impl Made {
    /// Finds how the elements of an array are made.
    ///
    /// # Errors
    /// Returns `Unsupported` for dates in units that are not known, and for structs of too many parts.
    pub(super) fn of(array: &Array, named: &[Named]) -> Result<Self> {
        let mut found = Vec::new();
        for named in named {
            if let Some((word, datatype)) = word(named)? {
                found.push((named.at, word, datatype));
            }
        }
        let (datatype, order) = (array.datatype().clone(), array.byteorder());
        let kept = Self { datatype, order, filter: String::new(), strings: Vec::new(), numbers: Vec::new() };
        match (&kept.datatype, found.as_slice()) {
            (_, []) => Ok(kept),
            (Datatype::Struct(fields), found) => {
                let (read, parts) = struct_strings::shown(fields, 0, &|field, at| {
                    let known = matches!(field.datatype, Datatype::Int64 | Datatype::Ascii(_));
                    let place = found.iter().position(|(place, ..)| *place == at && known);
                    Ok(match place.and_then(|number| Some((number, found.get(number)?))) {
                        Some((number, (_, _, datatype))) => Member::numbers(datatype.clone(), field.shape.clone(), number),
                        None => Member::Kept,
                    })
                })?;
                // No string is in a heap, so the sizes of an address and of a length, 8 and 8, are not used.
                let strings = [fields.item_size(), 8, 8, 0].into_iter().chain(parts.into_iter().flatten()).collect();
                let numbers = found.iter().map(|(_, word, _)| word.clone()).collect();
                Ok(Self { datatype: Datatype::Struct(Arc::new(read)), strings, numbers, ..kept })
            }
            (_, [(_, word, datatype), ..]) => {
                Ok(Self { datatype: datatype.clone(), order: Byteorder::Little, filter: word.clone(), ..kept })
            }
        }
    }

    /// Writes an array as a grid of one chunk, with the filters of that; `stored` are those that come after.
    pub(super) fn write(&self, array: &Array, named: &[Named], stored: &str, text: &mut LayoutText) -> Result<()> {
        let (outer, bytes) = axes(array, named);
        text.grid(outer, outer)?;
        text.elements(&self.datatype, self.order, bytes)?;
        if !array.is_c_contiguous() {
            text.attribute("grid_order", "F")?;
        }
        let words = format!("{} {stored}", self.filter);
        if !words.trim().is_empty() {
            text.attribute("grid_filters", words.trim())?;
        }
        if self.strings.is_empty() { Ok(()) } else { struct_strings::write(&self.strings, &self.numbers, text) }
    }
}

/// The axes of an array, and that of the bytes of opaque elements, which are in order even in columns.
fn axes<'a>(array: &'a Array, named: &[Named]) -> (&'a [u64], &'a [u64]) {
    let is_opaque = named.iter().any(|named| named.column.is_empty() && matches!(named.kind, NamedKind::Opaque));
    let shape = array.shape();
    shape.split_at(shape.len().saturating_sub(usize::from(is_opaque)))
}

/// The filter that makes something of elements, and what comes out.
fn word(named: &Named) -> Result<Option<(String, Datatype)>> {
    let is_big = u8::from(named.order == Byteorder::Big);
    Ok(match &named.kind {
        NamedKind::Durations | NamedKind::Opaque => None,
        NamedKind::Dates(times, name) => {
            let unit = number_formats::unit(name)
                .ok_or_else(|| Error::unsupported(format!("cannot read dates in the unit {name:?}")))?;
            Some((format!("dates({is_big},{times},{unit})"), Datatype::with_length("ascii", number_formats::DATE as u64)?))
        }
        NamedKind::Long(width, is_complex) => {
            let datatype = if *is_complex { Datatype::Complex128 } else { Datatype::Float64 };
            // x87 80-bit format. The header does not state it; the filter `float` checks the numbers.
            Some((format!("float({width},{is_big},79,64,15,0,64,16383,2)"), datatype))
        }
    })
}

/// The attribute that tells of what numpy has other datatypes for, and that of the durations that are missing.
pub(super) fn said(named: &[Named], text: &mut LayoutText) -> Result<()> {
    let durations: Vec<&Named> = named.iter().filter(|named| matches!(named.kind, NamedKind::Durations)).collect();
    match durations.as_slice() {
        [] => {}
        [whole] if whole.column.is_empty() => text.attribute(MISSING, NAT)?,
        columns => {
            let pairs = columns.iter().flat_map(|named| [named.column.clone(), NAT.to_string()]);
            text.attribute(MISSING, pairs.map(Literal::Text).collect::<Vec<_>>())?;
        }
    }
    let said =
        |named: &Named| if named.column.is_empty() { named.name.clone() } else { format!("{}={}", named.column, named.name) };
    let all: Vec<String> = named.iter().map(said).collect();
    if all.is_empty() { Ok(()) } else { text.attribute("numpy_dtype", all.join(" ").as_str()) }
}

/// The columns of an array that cannot be read.
pub(super) fn unreadable(missing: &[(String, Error)], name: &str, text: &mut LayoutText) -> Result<()> {
    missing.iter().try_for_each(|(column, why)| text.unreadable(&format!("{name}@{column}"), why))
}
