//! The attributes `grid_…` of the layout language: how arrays are stored, and what their axes and elements mean.
//!
//! Readers of other formats write them with the methods of [`LayoutBuilder`], and the attributes of
//! an array in chunks are read as [`GridAttributes`].

use std::collections::HashMap;

use super::builder::LayoutBuilder;
use super::detect::{ParseOptions, parse};
use super::escape::read_own;
use super::grid_words::{
    CHARS_ATTRIBUTE, CHUNKING_WORDS, COLUMN_ATTRIBUTE, DIMS_ATTRIBUTE, ENDS_ATTRIBUTE, FACTORS_ATTRIBUTE, FILES_AT_ATTRIBUTE,
    FILES_ATTRIBUTE, FILL_ATTRIBUTE, GRID_PREFIX, OFFSETS_ATTRIBUTE, PART_ATTRIBUTE, PARTS_ATTRIBUTE, SLABS_ATTRIBUTE,
    SOURCES_ATTRIBUTE, UNLIMITED_ATTRIBUTE, VALID_ATTRIBUTE, find_unknown_word, word,
};
use super::model::{Attribute, ItemId, Layout, LayoutLiteral};
use super::note_value::{NoteValue, hex_text, integer_literal};
use super::param_request::EvaluateOptions;
use super::primitive::Dialect;
use super::resolved_type::ResolvedType;
use crate::array::{Byteorder, Datatype};
use crate::bytes::to_usize;
use crate::error::{Error, Result};
use crate::limits::Limits;

/// The storage of an array in chunks, as its attributes state it.
#[derive(Debug)]
pub struct GridAttributes<'a> {
    /// The lengths of the axes, without those of the elements.
    pub shape: Vec<u64>,
    /// The lengths of a chunk.
    pub chunk: Vec<u64>,
    /// The type of an element as the language writes it; `None` if it is that of the item.
    pub element_type: Option<&'a str>,
    /// The filters of the chunks.
    pub filters: &'a str,
    /// Bytes that go before those of each chunk.
    pub header_bytes: Vec<u8>,
    /// `true` if chunks at the edges have only the elements of the array.
    pub trims_edges: bool,
    /// `true` if the first axis is contiguous.
    pub is_column_major: bool,
    /// The filters that each chunk skipped, as bits.
    pub masks: Vec<u64>,
    /// The parts of which elements are made, and the filters of these.
    pub parts: Option<(Vec<u64>, &'a str)>,
    /// The table of the chunks in the file.
    pub table: Option<GridTable<'a>>,
    /// The paths of the arrays of which it is put together, and the numbers of their elements.
    pub sources: Option<(Vec<String>, Vec<u64>)>,
    fill: Option<&'a LayoutLiteral>,
}

/// The columns of a table of chunks.
#[derive(Debug)]
pub struct GridTable<'a> {
    /// The path of the byte offsets; the item itself if it is empty.
    pub offsets: &'a str,
    /// The path of the lengths.
    pub lengths: Option<&'a str>,
    /// The path of the filters that each chunk skipped.
    pub masks: Option<&'a str>,
    /// The byte from which offsets count.
    pub base: u64,
}

/// A type, the dimensions that come with it, and its text.
pub type TypeAndDims = (ResolvedType, Vec<u64>, String);

impl Layout {
    /// Returns `true` if the layout may have arrays in chunks.
    #[doc(hidden)]
    pub fn may_have_grids(&self) -> bool {
        CHUNKING_WORDS.iter().any(|name| self.has_attribute_name(name))
    }

    /// Returns the attributes of an array in chunks by their names; `None` for another item. Of several with one name the last counts.
    #[doc(hidden)]
    pub fn grid_attributes(&self, item: ItemId) -> Option<HashMap<String, Attribute>> {
        let stated = self.attributes(item).filter(|(name, _)| name.starts_with(GRID_PREFIX));
        let stated: HashMap<String, Attribute> = stated.map(|(name, value)| (name.to_owned(), value.clone())).collect();
        CHUNKING_WORDS.iter().any(|name| stated.contains_key(*name)).then_some(stated)
    }

    /// Returns `true` if items may be marked as parts of other ones.
    #[doc(hidden)]
    pub fn may_have_parts(&self) -> bool {
        self.has_attribute_name(PART_ATTRIBUTE)
    }

    /// Returns `true` if an item is marked as a part of another one.
    #[doc(hidden)]
    pub fn is_part(&self, item: ItemId) -> bool {
        self.attributes(item).any(|(name, _)| name == PART_ATTRIBUTE)
    }

    /// Returns `true` if the elements of an array have strings of variable length as parts.
    #[doc(hidden)]
    pub fn has_varlen_parts(&self, item: ItemId) -> bool {
        let parts = self.attributes(item).find(|(name, _)| *name == PARTS_ATTRIBUTE);
        // The first of the four numbers of a member is 1 if that is a string of variable length.
        matches!(parts, Some((_, Attribute::List(numbers)))
            if numbers.iter().skip(4).step_by(4).any(|kind| *kind == LayoutLiteral::Integer(1)))
    }
}

impl<'a> GridAttributes<'a> {
    /// Reads the attributes of an array in chunks.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) if an attribute is missing, not known, or not what it has to be, and
    /// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for attributes of a scale.
    pub fn parse(attributes: &'a HashMap<String, Attribute>) -> Result<Self> {
        if let Some(name) = word::REFUSED.into_iter().find(|name| attributes.contains_key(*name)) {
            return Err(Error::unsupported(format!("a grid of chunks with the attribute {name}")));
        }
        let values = AttributeMap(attributes);
        values.check_complete()?;
        let (shape, chunk) = (values.lengths(word::SHAPE)?, values.lengths(word::CHUNK)?);
        if shape.len() != chunk.len() || chunk.contains(&0) {
            return Err(Error::malformed(format!("{} {chunk:?} does not fit {} {shape:?}", word::CHUNK, word::SHAPE)));
        }
        let has_masks = matches!(attributes.get(word::MASK), Some(Attribute::List(_)));
        let header_bytes = match values.string(word::HEAD)? {
            None => Vec::new(),
            Some(text) => hex_bytes(text)
                .ok_or_else(|| Error::malformed(format!("{} is not written as \"0x\" and the digits of bytes", word::HEAD)))?,
        };
        let parts = match attributes.contains_key(PARTS_ATTRIBUTE) {
            true => Some((values.lengths(PARTS_ATTRIBUTE)?, values.string(word::NUMBERS)?.unwrap_or(""))),
            false => None,
        };
        let fill = match attributes.get(word::FILL) {
            None => None,
            Some(Attribute::Value(fill)) => Some(fill),
            Some(_) => return Err(Error::malformed(format!("{} is not one value", word::FILL))),
        };
        Ok(Self {
            shape,
            chunk,
            element_type: values.string(word::TYPE)?,
            filters: values.string(word::FILTERS)?.unwrap_or(""),
            header_bytes,
            trims_edges: values.is_second_word(word::EDGE, ["full", "cut"])?,
            is_column_major: values.is_second_word(word::ORDER, ["C", "F"])?,
            masks: if has_masks { values.lengths(word::MASK)? } else { Vec::new() },
            parts,
            table: values.table(has_masks)?,
            sources: values.sources()?,
            fill,
        })
    }

    /// Returns the type of elements with the dimensions that come with it; `None` if it is that of the item.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) if the attribute is not a type.
    pub fn resolve_type(text: &str, limits: &Limits) -> Result<TypeAndDims> {
        let wrong = || Error::malformed(format!("{} {text:?} is not a datatype such as \"<f8\"", word::TYPE));
        if text.contains(['\n', '#', '@']) && !text.starts_with('{') {
            return Err(wrong());
        }
        let mut options = ParseOptions::with_dialect(Dialect::D2025);
        options.limits = limits.clone();
        let layout = parse(format!("x = {text} @0").as_bytes(), &options)?.into_layout().map_err(|_| wrong())?;
        let found = layout.evaluate_with(&EvaluateOptions::default(), &[])?;
        let entry = found.find("/x")?.filter(|entry| entry.resolved_type != ResolvedType::Dynamic).ok_or_else(wrong)?;
        Ok((entry.resolved_type, entry.shape, entry.datatype))
    }

    /// Returns the bytes of an element that was never written. `stored_size` is the number of bytes before its parts are decoded: a fill
    /// value may be as it is stored.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) if the fill value is not an element of the datatype.
    pub fn fill_bytes(&self, datatype: &Datatype, order: Byteorder, stored_size: usize) -> Result<Vec<u8>> {
        let size = to_usize(datatype.item_size())?;
        let Some(fill) = self.fill else { return Ok(vec![0; stored_size]) };
        let wrong = || Error::malformed(format!("{} {fill} is not an element of the type {datatype}", word::FILL));
        if let LayoutLiteral::Text(text) = fill
            && text.starts_with("0x")
        {
            return hex_bytes(text).filter(|bytes| [size, stored_size].contains(&bytes.len())).ok_or_else(wrong);
        }
        let float = match fill {
            LayoutLiteral::Integer(value) => *value as f64,
            LayoutLiteral::Float(value) => *value,
            LayoutLiteral::Text(text) | LayoutLiteral::Large(text) => text.parse().map_err(|_| wrong())?,
            LayoutLiteral::Bytes(_) => return Err(wrong()),
        };
        let bytes = match (datatype, fill) {
            (Datatype::Float16, _) => half::f16::from_f64(float).to_le_bytes().to_vec(),
            (Datatype::Float32, _) => (float as f32).to_le_bytes().to_vec(),
            (Datatype::Float64, _) => float.to_le_bytes().to_vec(),
            (_, LayoutLiteral::Integer(_) | LayoutLiteral::Large(_)) if size <= 8 && datatype.as_struct().is_none() => {
                let integer = fill.to_string().parse::<i128>().map_err(|_| wrong())?;
                let bytes = integer.to_le_bytes();
                bytes.get(..size).unwrap_or(&bytes).to_vec()
            }
            _ => return Err(wrong()),
        };
        Ok(if order == Byteorder::Big { bytes.into_iter().rev().collect() } else { bytes })
    }
}

/// Attributes by their names.
struct AttributeMap<'a>(&'a HashMap<String, Attribute>);

impl<'a> AttributeMap<'a> {
    /// Refuses words that are not known, and words without another one that they need: a default would be a guess at how the
    /// elements are stored.
    fn check_complete(&self) -> Result<()> {
        let mut names: Vec<&str> = self.0.keys().map(String::as_str).collect();
        names.sort_unstable();
        if let Some((name, near)) = names.iter().find_map(|name| Some((name, find_unknown_word(name)?))) {
            // The error is copied with the item, and copies have no hint.
            let hint = near.map_or_else(String::new, |near| format!(": did you mean {near}?"));
            return Err(Error::malformed(format!("{name} is no attribute of an array in chunks{hint}")));
        }
        let needed = [
            ("an array in chunks", word::SHAPE),
            ("an array in chunks", word::CHUNK),
            (SOURCES_ATTRIBUTE, SLABS_ATTRIBUTE),
            (SLABS_ATTRIBUTE, SOURCES_ATTRIBUTE),
            (word::NUMBERS, PARTS_ATTRIBUTE),
        ];
        let is_missing =
            |(by, name): &(&str, &str)| (!by.starts_with(GRID_PREFIX) || self.0.contains_key(*by)) && !self.0.contains_key(*name);
        match needed.iter().find(|row| is_missing(row)) {
            Some((by, name)) => Err(Error::malformed(format!("{by} has no {name}")).hint(format!("add {name} to the layout"))),
            None => Ok(()),
        }
    }

    fn lengths(&self, name: &str) -> Result<Vec<u64>> {
        let wrong = || Error::malformed(format!("{name} is not a list of lengths"));
        let length = |value: &LayoutLiteral| match value {
            LayoutLiteral::Integer(value) => u64::try_from(*value).map_err(|_| wrong()),
            _ => Err(wrong()),
        };
        match self.0.get(name) {
            Some(Attribute::List(list)) => list.iter().map(length).collect(),
            // An array without axes has no numbers in brackets.
            Some(Attribute::Flag) => Ok(Vec::new()),
            Some(Attribute::Value(LayoutLiteral::Text(text))) if text.is_empty() => Ok(Vec::new()),
            _ => Err(wrong()),
        }
    }

    fn string(&self, name: &str) -> Result<Option<&'a str>> {
        match self.0.get(name) {
            None => Ok(None),
            Some(Attribute::Value(LayoutLiteral::Text(text))) => Ok(Some(text)),
            Some(_) => Err(Error::malformed(format!("{name} is not a text in quotes"))),
        }
    }

    /// Returns `true` for the second of two words, and `false` for the first or if the attribute is left out.
    fn is_second_word(&self, name: &str, words: [&str; 2]) -> Result<bool> {
        match self.string(name)? {
            None => Ok(false),
            Some(text) if text == words[0] => Ok(false),
            Some(text) if text == words[1] => Ok(true),
            Some(text) => Err(Error::malformed(format!("{name} is {text:?}, expected {}", words.join(" or ")))),
        }
    }

    fn table(&self, has_masks: bool) -> Result<Option<GridTable<'a>>> {
        let Some(offsets) = self.string(OFFSETS_ATTRIBUTE)? else {
            let is_column = matches!(self.0.get(word::MASK), Some(Attribute::Value(_)));
            let mut without = [word::BYTES, word::BASE].into_iter().filter(|name| self.0.contains_key(*name));
            let without = without.next().or(is_column.then_some(word::MASK));
            return without.map_or(Ok(None), |name| {
                let message = format!("{name} without {OFFSETS_ATTRIBUTE}, which names the column of byte offsets");
                Err(Error::malformed(message))
            });
        };
        let base = match self.0.get(word::BASE) {
            None => Some(0),
            Some(Attribute::Value(LayoutLiteral::Integer(number))) => u64::try_from(*number).ok(),
            Some(_) => None,
        };
        let base = base.ok_or_else(|| Error::malformed(format!("{} is not a byte of the file", word::BASE)))?;
        let masks = if has_masks { None } else { self.string(word::MASK)? };
        Ok(Some(GridTable { offsets, lengths: self.string(word::BYTES)?, masks, base }))
    }

    fn sources(&self) -> Result<Option<(Vec<String>, Vec<u64>)>> {
        let wrong = || Error::malformed(format!("{SOURCES_ATTRIBUTE} is not a list of paths"));
        let path = |value: &LayoutLiteral| match value {
            LayoutLiteral::Text(path) => Ok(read_own(path).into_owned()),
            _ => Err(wrong()),
        };
        match self.0.get(SOURCES_ATTRIBUTE) {
            None => Ok(None),
            Some(Attribute::List(list)) => {
                Ok(Some((list.iter().map(path).collect::<Result<_>>()?, self.lengths(SLABS_ATTRIBUTE)?)))
            }
            Some(_) => Err(wrong()),
        }
    }
}

/// The bytes of digits such as `0x00ff`.
fn hex_bytes(text: &str) -> Option<Vec<u8>> {
    let digits = text.strip_prefix("0x")?;
    let pair = |n: usize| digits.get(2 * n..2 * n + 2).and_then(|pair| u8::from_str_radix(pair, 16).ok());
    (0..digits.len().div_ceil(2)).map(pair).collect()
}

/// Strings as they are in a list.
fn text_list<S: Into<String>>(texts: impl IntoIterator<Item = S>) -> Vec<LayoutLiteral> {
    texts.into_iter().map(|text| LayoutLiteral::Text(text.into())).collect()
}

/// The attributes of the preceding item.
///
/// # Errors
/// All return the errors of [`LayoutBuilder::write_attribute`].
impl LayoutBuilder {
    /// Marks the item as an array of this shape, in chunks of that one.
    pub(crate) fn write_grid_shape(&mut self, shape: &[u64], chunk: &[u64]) -> Result<()> {
        self.write_attribute(word::SHAPE, shape)?;
        self.write_attribute(word::CHUNK, chunk)
    }

    /// The type of elements, as the language writes it.
    pub(crate) fn write_type_text(&mut self, text: &str) -> Result<()> {
        self.write_attribute(word::TYPE, text)
    }

    /// The filters of the chunks; nothing if there are none.
    pub(crate) fn write_filters(&mut self, filters: &str) -> Result<()> {
        let filters = filters.trim();
        if filters.is_empty() { Ok(()) } else { self.write_attribute(word::FILTERS, filters) }
    }

    /// The bytes of an element that was never written.
    pub(crate) fn write_fill_bytes(&mut self, bytes: &[u8]) -> Result<()> {
        self.write_attribute(word::FILL, hex_text(bytes).as_str())
    }

    /// The value of an element that was never written.
    pub(crate) fn write_fill_value(&mut self, value: impl Into<NoteValue>) -> Result<()> {
        self.write_attribute(word::FILL, value)
    }

    /// Bytes that go before those of each chunk.
    pub(crate) fn write_chunk_header(&mut self, bytes: &[u8]) -> Result<()> {
        self.write_attribute(word::HEAD, hex_text(bytes).as_str())
    }

    /// States that chunks at the edges have only the elements of the array.
    pub(crate) fn write_trimmed_edges(&mut self) -> Result<()> {
        self.write_attribute(word::EDGE, "cut")
    }

    /// States that the first axis is contiguous.
    pub(crate) fn write_column_major(&mut self) -> Result<()> {
        self.write_attribute(word::ORDER, "F")
    }

    /// The table of the chunks, which the item is: it has the byte offsets, and an item of this name the lengths.
    pub(crate) fn write_chunk_table(&mut self, lengths: &str) -> Result<()> {
        self.write_attribute(OFFSETS_ATTRIBUTE, "")?;
        self.write_attribute(word::BYTES, format!("/{lengths}").as_str())
    }

    /// The parts of which elements are made, and the filters of these.
    pub(crate) fn write_parts(&mut self, parts: &[u64], filters: &[String]) -> Result<()> {
        self.write_attribute(PARTS_ATTRIBUTE, parts)?;
        if filters.is_empty() { Ok(()) } else { self.write_attribute(word::NUMBERS, filters.join(" ").as_str()) }
    }

    /// The paths of the arrays of which the item is put together, and the numbers of their elements.
    pub(crate) fn write_sources(&mut self, paths: Vec<String>, slabs: &[u64]) -> Result<()> {
        self.write_attribute(SOURCES_ATTRIBUTE, text_list(paths))?;
        self.write_attribute(SLABS_ATTRIBUTE, slabs)
    }

    /// Marks the item as a part of another one, which is not shown.
    pub(crate) fn write_part_mark(&mut self) -> Result<()> {
        self.write_attribute(PART_ATTRIBUTE, NoteValue(Attribute::Flag))
    }

    /// The column of the structs which the item is.
    pub(crate) fn write_column(&mut self, member: &str) -> Result<()> {
        self.write_attribute(COLUMN_ATTRIBUTE, member)
    }

    /// The fill value of a library, which is masked unless the file states another one.
    pub(crate) fn write_library_fill(&mut self, value: impl Into<NoteValue>) -> Result<()> {
        self.write_attribute(FILL_ATTRIBUTE, value)
    }

    /// The bytes of a struct at which strings begin that end at their first NUL.
    pub(crate) fn write_string_starts(&mut self, starts: &[u64]) -> Result<()> {
        self.write_attribute(ENDS_ATTRIBUTE, starts)
    }

    /// A scale and an offset for each sample.
    pub(crate) fn write_sample_factors(&mut self, factors: &[(f64, f64)]) -> Result<()> {
        let numbers = factors.iter().flat_map(|(scale, offset)| [LayoutLiteral::Float(*scale), LayoutLiteral::Float(*offset)]);
        self.write_attribute(FACTORS_ATTRIBUTE, numbers.collect::<Vec<_>>())
    }

    /// The path of the mask page of an image.
    pub(crate) fn write_mask_path(&mut self, path: &str) -> Result<()> {
        self.write_attribute(VALID_ATTRIBUTE, path)
    }

    /// The names of the axes.
    pub(crate) fn write_dims<S: Into<String>>(&mut self, names: impl IntoIterator<Item = S>) -> Result<()> {
        self.write_attribute(DIMS_ATTRIBUTE, text_list(names))
    }

    /// The names of the axes without an end.
    pub(crate) fn write_unlimited_dims<S: Into<String>>(&mut self, names: impl IntoIterator<Item = S>) -> Result<()> {
        self.write_attribute(UNLIMITED_ATTRIBUTE, text_list(names))
    }

    /// The axis that became the length of strings.
    pub(crate) fn write_string_axis(&mut self, name: &str) -> Result<()> {
        self.write_attribute(CHARS_ATTRIBUTE, name)
    }

    /// Other files, and for each its first byte here, its first byte there and its length.
    pub(super) fn write_files(&mut self, parts: &[(String, [u64; 3])]) -> Result<()> {
        let places: Vec<LayoutLiteral> = parts.iter().flat_map(|(_, place)| place.map(integer_literal)).collect();
        self.write_attribute(FILES_ATTRIBUTE, text_list(parts.iter().map(|(file, _)| file.clone())))?;
        self.write_attribute(FILES_AT_ATTRIBUTE, places)
    }
}
