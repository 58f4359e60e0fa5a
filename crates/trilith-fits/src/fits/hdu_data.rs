//! Parts of a new file: headers with arrays, and the keywords that an array needs.
//!
//! FITS Standard 4.0, sections 4.4.1 (mandatory keywords), 7.1 and 7.3.

use super::card::{Card, CardValue};
use super::hdu::{HduKind, data_size, read_bitpix};
use super::header::Header;
use super::masked_fill::MaskedWriter;
use super::scaling::{RowConversion, RowStep, Scaling, StoredNumber, ValueOp};
use super::{image, table};
use crate::array::{Array, Byteorder, Datatype, Field, element_count};
use crate::bytes::{SourceRef, to_usize};
use crate::error::{Error, Result};

/// The role of an HDU in its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HduRole {
    /// The primary HDU, the first.
    Primary,
    /// An extension, any other HDU.
    Extension,
}

impl HduRole {
    /// Returns the role of the HDU with a number.
    pub fn from_index(index: usize) -> Self {
        if index == 0 { Self::Primary } else { Self::Extension }
    }
}

/// A header and the array that goes with it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct HduData {
    /// The cards; those that say type and shape are made to fit the array when the part is written.
    pub header: Header,
    /// The data unit; None for an HDU without data.
    pub data: Option<Array>,
    /// The values of masked elements; None if the elements are written as they are stored.
    pub(super) masked_fill: Option<MaskedWriter>,
}

impl HduData {
    fn new(cards: Vec<Card>, data: Option<Array>) -> Self {
        Self::with_data(Header::new(cards), data)
    }

    /// A header with the array that goes with it.
    pub fn with_data(header: Header, data: Option<Array>) -> Self {
        Self { header, data, masked_fill: None }
    }

    /// A primary HDU, with an image or without data.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for an array that is not an image (see [`is_image`]).
    pub fn primary(image: Option<&Array>) -> Result<Self> {
        let mut cards = vec![Card::new("SIMPLE", true, "conforms to FITS standard")?];
        match image {
            Some(array) if !is_image(array.datatype()) => {
                return Err(Error::invalid_input(format!(
                    "the primary HDU of a FITS file holds images, not {}",
                    array.datatype()
                )));
            }
            Some(array) => cards.extend(image_cards(array)?),
            None => cards
                .extend([Card::new("BITPIX", 8i64, "array data type")?, Card::new("NAXIS", 0i64, "number of array dimensions")?]),
        }
        cards.push(Card::new("EXTEND", true, "")?);
        Ok(Self::new(cards, image.cloned()))
    }

    /// Makes an extension: an image, or a table for arrays that no image can hold (structs, text, booleans, complex
    /// numbers). [`losses`] lists the changes.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for datatypes that FITS cannot hold.
    pub fn extension(name: &str, array: &Array) -> Result<Self> {
        let mut cards = Vec::new();
        if is_image(array.datatype()) {
            cards.extend(extension_of(image_cards(array)?)?);
        } else {
            cards.push(Card::new("XTENSION", "BINTABLE", "binary table extension")?);
            cards.extend(table_cards(array, &column_types(&row_fields(array)?.0)?)?);
        }
        if !name.is_empty() {
            cards.push(Card::new("EXTNAME", name, "extension name")?);
        }
        Ok(Self::new(cards, Some(array.clone())))
    }

    /// An ASDF file as the last extension, in the form of today: a BINTABLE of one cell of bytes.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) if the bytes are more than an array can have.
    pub fn asdf(asdf: SourceRef) -> Result<Self> {
        let size = asdf.len();
        let integer = |keyword, value: u64, comment| Card::new(keyword, value, comment);
        let cards = vec![
            Card::new("XTENSION", "BINTABLE", "binary table extension")?,
            integer("BITPIX", 8, "array data type")?,
            integer("NAXIS", 2, "number of array dimensions")?,
            integer("NAXIS1", size, "length of dimension 1")?,
            integer("NAXIS2", 1, "length of dimension 2")?,
            integer("PCOUNT", 0, "number of group parameters")?,
            integer("GCOUNT", 1, "number of groups")?,
            integer("TFIELDS", 1, "number of table fields")?,
            Card::new("TTYPE1", "ASDF_METADATA", "")?,
            Card::new("TFORM1", format!("{size}B").as_str(), "")?,
            Card::new("EXTNAME", "ASDF", "extension name")?,
        ];
        let data = Array::new(asdf, 0, Datatype::Uint8, Byteorder::Big, vec![size])?;
        Ok(Self::new(cards, Some(data)))
    }
}

/// Returns `true` if elements of a type can be an image; all others go into tables.
pub fn is_image(datatype: &Datatype) -> bool {
    image_type(datatype).is_some()
}

/// Returns `true` if the data of a part are an image.
pub fn is_image_part(part: &HduData) -> bool {
    part.data.as_ref().is_some_and(|array| is_image(array.datatype()))
}

/// Returns `true` if a keyword describes the storage of a header or its data.
pub fn is_reserved(keyword: &str) -> bool {
    is_structural(keyword)
        || matches!(
            keyword,
            "END" | "CONTINUE" | "COMMENT" | "HISTORY" | "HIERARCH" | "EXTEND" | "EXTNAME" | "EXTVER" | "CHECKSUM"
        )
        || matches!(keyword, "DATASUM" | "INHERIT" | "EXTLEVEL" | "BUNIT")
}

/// Lists the losses and changes of an array that becomes a separate HDU.
pub fn losses(array: &Array) -> Vec<String> {
    let mut losses = Vec::new();
    let mut lost = |what: &str| losses.push(what.to_owned());
    if array.mask().is_some() {
        lost("the mask");
    }
    if array.shape().is_empty() {
        lost("the shape: FITS has no arrays without axes, so the array gets one axis of one element");
    }
    match array.datatype() {
        Datatype::Float16 => lost("float16, which becomes float32"),
        Datatype::Struct(fields) => {
            for (i, field) in fields.fields().iter().enumerate() {
                if matches!(field.datatype, Datatype::Float16 | Datatype::Complex32) {
                    lost(&format!("{} of field {}, which becomes twice as wide", field.datatype, field.name_or(i)));
                }
                if matches!(field.datatype, Datatype::Ucs4(_) | Datatype::Utf8(_)) {
                    lost(&format!("{} of field {}, which becomes ascii", field.datatype, field.name_or(i)));
                }
            }
            if array.shape().len() > 1 {
                lost("the shape: a FITS table has one axis");
            }
        }
        other if !is_image(other) => lost(&format!("an array of {other}, which becomes a table of one column")),
        _ => {}
    }
    losses
}

/// BITPIX, BZERO and conversion of an image.
fn image_type(datatype: &Datatype) -> Option<(i64, Option<CardValue>, ValueOp)> {
    let zero = |n: i128| Some(CardValue::Integer(n));
    Some(match datatype {
        Datatype::Uint8 => (8, None, ValueOp::Copy),
        Datatype::Int16 => (16, None, ValueOp::Copy),
        Datatype::Int32 => (32, None, ValueOp::Copy),
        Datatype::Int64 => (64, None, ValueOp::Copy),
        Datatype::Float32 => (-32, None, ValueOp::Copy),
        Datatype::Float64 => (-64, None, ValueOp::Copy),
        Datatype::Int8 => (8, zero(-128), ValueOp::FlipSign),
        Datatype::Uint16 => (16, zero(1 << 15), ValueOp::FlipSign),
        Datatype::Uint32 => (32, zero(1 << 31), ValueOp::FlipSign),
        Datatype::Uint64 => (64, zero(1 << 63), ValueOp::FlipSign),
        Datatype::Float16 => (-32, None, ValueOp::PromoteFloat),
        _ => return None,
    })
}

fn image_cards(array: &Array) -> Result<Vec<Card>> {
    let Some((bitpix, zero, _)) = image_type(array.datatype()) else { return Ok(Vec::new()) };
    cards_of_image(bitpix, zero, array.shape())
}

/// The cards of an image extension: those of an image, with what an extension has too.
pub(super) fn extension_of(mut cards: Vec<Card>) -> Result<Vec<Card>> {
    let is_after = |card: &Card| matches!(card.keyword(), "BSCALE" | "BZERO" | "BLANK");
    let place = cards.iter().position(is_after).unwrap_or(cards.len());
    cards.splice(
        place..place,
        [Card::new("PCOUNT", 0i64, "number of parameters")?, Card::new("GCOUNT", 1i64, "number of groups")?],
    );
    cards.insert(0, Card::new("XTENSION", "IMAGE", "Image extension")?);
    Ok(cards)
}

/// BITPIX, axes and offset of an image.
pub(super) fn cards_of_image(bitpix: i64, zero: Option<CardValue>, shape: &[u64]) -> Result<Vec<Card>> {
    let shape = if shape.is_empty() { &[1] } else { shape };
    let mut cards = vec![Card::new("BITPIX", bitpix, "array data type")?];
    cards.push(Card::new("NAXIS", shape.len() as u64, "number of array dimensions")?);
    for (i, len) in shape.iter().rev().enumerate() {
        cards.push(Card::new(&format!("NAXIS{}", i + 1), *len, "")?);
    }
    if let Some(zero) = zero {
        cards.push(Card::new("BSCALE", 1i64, "")?);
        cards.push(Card::new("BZERO", zero, "")?);
    }
    Ok(cards)
}

/// The form of storage of a field in a column.
#[derive(Debug, Clone)]
pub(super) struct ColumnType {
    /// The letter of TFORM.
    pub code: char,
    /// Repeat count of TFORM that one value takes.
    pub elements_per_cell: u64,
    /// TZERO.
    pub zero: Option<CardValue>,
    pub op: ValueOp,
    /// TNULL.
    pub null: Option<i64>,
}

impl ColumnType {
    /// Bytes of a value.
    pub(super) fn value_size(&self) -> Result<usize> {
        let unit = match self.code {
            'I' => 2,
            'J' | 'E' => 4,
            'K' | 'D' | 'C' => 8,
            'M' => 16,
            _ => 1,
        };
        Ok(to_usize(self.elements_per_cell)?.saturating_mul(unit))
    }
}

pub(super) fn column_types(fields: &[Field]) -> Result<Vec<ColumnType>> {
    fields.iter().map(column_type).collect()
}

fn column_type(field: &Field) -> Result<ColumnType> {
    let zero = |n: i128| Some(CardValue::Integer(n));
    let (code, each, zero, how) = match field.datatype {
        Datatype::Bool8 => ('L', 1, None, ValueOp::Text),
        Datatype::Uint8 => ('B', 1, None, ValueOp::Copy),
        Datatype::Int16 => ('I', 1, None, ValueOp::Copy),
        Datatype::Int32 => ('J', 1, None, ValueOp::Copy),
        Datatype::Int64 => ('K', 1, None, ValueOp::Copy),
        Datatype::Float32 => ('E', 1, None, ValueOp::Copy),
        Datatype::Float64 => ('D', 1, None, ValueOp::Copy),
        Datatype::Complex64 => ('C', 1, None, ValueOp::Copy),
        Datatype::Complex128 => ('M', 1, None, ValueOp::Copy),
        Datatype::Int8 => ('B', 1, zero(-128), ValueOp::FlipSign),
        Datatype::Uint16 => ('I', 1, zero(1 << 15), ValueOp::FlipSign),
        Datatype::Uint32 => ('J', 1, zero(1 << 31), ValueOp::FlipSign),
        Datatype::Uint64 => ('K', 1, zero(1 << 63), ValueOp::FlipSign),
        Datatype::Float16 => ('E', 1, None, ValueOp::PromoteFloat),
        Datatype::Complex32 => ('C', 1, None, ValueOp::PromoteFloat),
        Datatype::Ascii(n) | Datatype::Utf8(n) => ('A', n.into(), None, ValueOp::Copy),
        Datatype::Ucs4(n) => ('A', n.into(), None, ValueOp::Narrow),
        ref other => return Err(Error::invalid_input(format!("a FITS table has no columns of {other}"))),
    };
    Ok(ColumnType { code, elements_per_cell: each, zero, op: how, null: None })
}

/// The fields of the rows that an array becomes, and their number.
pub(super) fn row_fields(array: &Array) -> Result<(Vec<Field>, u64)> {
    if let Datatype::Struct(_) = array.datatype() {
        let Datatype::Struct(fields) = array.datatype().packed(Byteorder::Big) else { return Ok((Vec::new(), 0)) };
        return Ok((fields.fields().to_vec(), array.element_count()));
    }
    let (rows, inner) = array.shape().split_first().map_or((1, Vec::new()), |(rows, inner)| (*rows, inner.to_vec()));
    Ok((vec![Field::new("data", array.datatype().clone(), Byteorder::Big).with_shape(inner)], rows))
}

/// The columns of fresh rows: cards, and how the packed elements become rows.
pub(super) fn new_columns(fields: &[Field], types: &[ColumnType]) -> Result<(Vec<Card>, RowConversion)> {
    let (mut cards, mut rows) = (Vec::new(), RowConversion::default());
    for (i, (field, column)) in fields.iter().zip(types).enumerate() {
        let (code, each, how) = (column.code, column.elements_per_cell, column.op);
        let count = element_count(&field.shape)?;
        let repeat = count.checked_mul(each).ok_or_else(|| Error::invalid_input("a column has more than 2^64 bytes"))?;
        let n = i + 1;
        if let Some(name) = &field.name {
            cards.push(Card::new(&format!("TTYPE{n}"), name.as_str(), "")?);
        }
        let form = if repeat == 1 { code.to_string() } else { format!("{repeat}{code}") };
        cards.push(Card::new(&format!("TFORM{n}"), form.as_str(), "")?);
        if field.shape.len() > 1 || (code == 'A' && !field.shape.is_empty()) {
            let text = (code == 'A').then_some(each);
            let sizes: Vec<_> = text.into_iter().chain(field.shape.iter().rev().copied()).map(|n| n.to_string()).collect();
            cards.push(Card::new(&format!("TDIM{n}"), format!("({})", sizes.join(",")).as_str(), "")?);
        }
        if let Some(zero) = &column.zero {
            cards.push(Card::new(&format!("TZERO{n}"), zero.clone(), "")?);
        }
        if let Some(null) = column.null {
            cards.push(Card::new(&format!("TNULL{n}"), null, "")?);
        }
        let size = to_usize(field.datatype.item_size())?;
        let before = to_usize(count.saturating_mul(field.datatype.item_size()))?;
        let after = to_usize(count)?.saturating_mul(column.value_size()?);
        rows.steps.push(RowStep {
            op: how,
            from: rows.input_size..rows.input_size + before,
            to: rows.output_size..rows.output_size + after,
            size,
        });
        (rows.input_size, rows.output_size) = (rows.input_size + before, rows.output_size + after);
    }
    Ok((cards, rows))
}

/// Returns the conversion of the packed elements of an array to rows of a table. Values of one column are converted
/// one by one, since a row of them may be longer than the bytes that are read at once.
pub(super) fn new_table(array: &Array, types: &[ColumnType]) -> Result<RowConversion> {
    match (array.datatype(), types) {
        (Datatype::Struct(_), _) => Ok(new_columns(&row_fields(array)?.0, types)?.1),
        (datatype, [column]) => Ok(RowConversion::single_value(column.op, to_usize(datatype.item_size())?, column.value_size()?)),
        _ => Ok(RowConversion::default()),
    }
}

pub(super) fn table_cards(array: &Array, types: &[ColumnType]) -> Result<Vec<Card>> {
    let (fields, count) = row_fields(array)?;
    if fields.len() > 999 {
        return Err(Error::invalid_input(format!("a FITS table has at most 999 columns, not {}", fields.len())));
    }
    let (columns, rows) = new_columns(&fields, types)?;
    let mut cards = vec![
        Card::new("BITPIX", 8i64, "array data type")?,
        Card::new("NAXIS", 2i64, "number of array dimensions")?,
        Card::new("NAXIS1", rows.output_size as u64, "length of dimension 1")?,
        Card::new("NAXIS2", count, "length of dimension 2")?,
        Card::new("PCOUNT", 0i64, "number of group parameters")?,
        Card::new("GCOUNT", 1i64, "number of groups")?,
        Card::new("TFIELDS", fields.len() as u64, "number of table fields")?,
    ];
    cards.extend(columns);
    Ok(cards)
}

/// The header of a part as it must be written, and how the packed big-endian elements become the data unit.
pub(super) fn finalize(part: &HduData, role: HduRole) -> Result<(Header, RowConversion)> {
    let (header, is_primary) = (&part.header, role == HduRole::Primary);
    if let Some(masked) = &part.masked_fill {
        return Ok((header.clone(), masked.rows.clone()));
    }
    let begins = header.cards().first().map(Card::keyword) == Some(if is_primary { "SIMPLE" } else { "XTENSION" });
    let Some(array) = &part.data else {
        if begins && data_size(header).is_ok_and(|size| size == 0) {
            return Ok((header.clone(), RowConversion::default()));
        }
        let fresh =
            if is_primary { HduData::primary(None)? } else { HduData::extension("", &Array::from_slice::<u8>(&[], &[0])?)? };
        return Ok((merge_headers(&fresh.header, header), RowConversion::default()));
    };
    if begins && let Some(rows) = row_conversion(header, array)? {
        return Ok((header.clone(), rows));
    }
    if is_primary && !is_image(array.datatype()) {
        return Err(Error::invalid_input(format!("the primary HDU of a FITS file holds images, not {}", array.datatype())));
    }
    let fresh = if is_primary { HduData::primary(Some(array))? } else { HduData::extension("", array)? };
    let rows = match image_type(array.datatype()) {
        Some((bitpix, _, how)) => {
            RowConversion::single_value(how, to_usize(array.datatype().item_size())?, image::number_from_bitpix(bitpix).size())
        }
        None => new_table(array, &column_types(&row_fields(array)?.0)?)?,
    };
    Ok((merge_headers(&fresh.header, header), rows))
}

/// Lists the cards of a header that contradict its data, and that are corrected or left out. The list is empty if
/// the header is written unchanged.
///
/// # Errors
/// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for data that FITS cannot hold.
pub fn header_corrections(part: &HduData, role: HduRole) -> Result<Vec<String>> {
    let (settled, _) = finalize(part, role)?;
    let mut found = Vec::new();
    for card in part.header.cards().iter().filter(|card| is_structural(card.keyword())) {
        match settled.card(card.keyword()) {
            Some(new) if new.value() == card.value() => {}
            Some(new) => found.push(format!(
                "{} is {}, and is written as {}, which the data need",
                card.keyword(),
                card.value(),
                new.value()
            )),
            None => found.push(format!("{} = {} does not go with the data, and is left out", card.keyword(), card.value())),
        }
    }
    Ok(found)
}

/// Returns the conversion of the elements to the data unit that a header describes, or None if it describes
/// another.
fn row_conversion(header: &Header, array: &Array) -> Result<Option<RowConversion>> {
    let Ok(size) = data_size(header) else { return Ok(None) };
    let kind = super::hdu::parse_hdu_kind(header)?;
    if kind == HduKind::Image && array.shape().len() != 1 || array.datatype() != &Datatype::Uint8 || array.element_count() != size
    {
        return match kind {
            HduKind::Image => image_rows(header, array),
            HduKind::Table => table_rows(header, array),
            _ => Ok(None),
        };
    }
    // Bytes that are the whole data unit.
    if kind == HduKind::Image && read_bitpix(header, "BITPIX")? == 8 && image::read_image_scaling(header)? != Scaling::IDENTITY {
        return image_rows(header, array);
    }
    Ok(Some(RowConversion::single_value(ValueOp::Copy, 1, 1)))
}

fn image_rows(header: &Header, array: &Array) -> Result<Option<RowConversion>> {
    let number = image::number_from_bitpix(read_bitpix(header, "BITPIX")?);
    if image::read_image_shape(header, "")?.as_deref() != Some(array.shape()) {
        return Ok(None);
    }
    Ok(value_op(number, image::read_image_scaling(header)?, array.datatype())
        .map(|how| RowConversion::single_value(how, number.size(), number.size())))
}

/// Returns the conversion of values of a type to stored ones: unchanged, or with their sign changed.
fn value_op(number: StoredNumber, linear: Scaling, datatype: &Datatype) -> Option<ValueOp> {
    match image::unsigned_conversion(number, linear) {
        Some((how, meant)) if meant == *datatype => Some(how),
        // The stored type of what is meant to be unsigned would be read back as something else.
        Some(_) => None,
        None => (number.datatype() == *datatype).then_some(ValueOp::Copy),
    }
}

fn table_rows(header: &Header, array: &Array) -> Result<Option<RowConversion>> {
    let (Ok(columns), Datatype::Struct(_)) = (table::columns(header), array.datatype()) else { return Ok(None) };
    let width = super::hdu::require_unsigned(header, "NAXIS1")?;
    if [super::hdu::require_unsigned(header, "NAXIS2")?] != *array.shape() || header.integer("PCOUNT")?.unwrap_or(0) != 0 {
        return Ok(None);
    }
    let (stored, rows) = table::row_type(&columns, width)?;
    let (fields, _) = row_fields(array)?;
    if rows.input_size != rows.output_size || stored.item_size() != width || stored.fields().len() != fields.len() {
        return Ok(None);
    }
    let mut back = RowConversion { input_size: rows.output_size, output_size: rows.input_size, steps: Vec::new() };
    for ((step, old), new) in rows.steps.iter().zip(stored.fields()).zip(&fields) {
        let is_logical = new.datatype == Datatype::Bool8 && old.datatype == Datatype::Int8 && step.op == ValueOp::Copy;
        if new.shape != old.shape || (new.datatype != old.datatype && !is_logical) {
            return Ok(None);
        }
        let how = if is_logical { ValueOp::Text } else { step.op };
        back.steps.push(RowStep { op: how, from: step.to.clone(), to: step.from.clone(), size: step.size });
    }
    Ok(Some(back))
}

/// Returns `true` for a keyword that a fresh header sets again, or that its data make wrong.
pub fn is_structural(keyword: &str) -> bool {
    let name = keyword.trim_end_matches(|c: char| c.is_ascii_digit());
    matches!(
        name,
        "SIMPLE"
            | "XTENSION"
            | "BITPIX"
            | "NAXIS"
            | "PCOUNT"
            | "GCOUNT"
            | "GROUPS"
            | "TFIELDS"
            | "THEAP"
            | "BSCALE"
            | "BZERO"
            | "BLANK"
    ) || (name != keyword && matches!(name, "TTYPE" | "TFORM" | "TDIM" | "TSCAL" | "TZERO" | "TNULL" | "TDISP" | "TBCOL"))
}

/// A new header, followed by the other cards of the old one.
fn merge_headers(fresh: &Header, old: &Header) -> Header {
    let said = |keyword: &str| old.card(keyword).is_some();
    let mut cards: Vec<_> =
        fresh.cards().iter().filter(|card| is_structural(card.keyword()) || !said(card.keyword())).cloned().collect();
    cards.extend(old.cards().iter().filter(|card| !is_structural(card.keyword())).cloned());
    Header::new(cards)
}
