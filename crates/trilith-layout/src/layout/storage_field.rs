//! Properties of items that are not attributes in their file: how an array is stored, and what its axes and elements mean.
//!
//! A property is a typed field of the model. The language spells it as an attribute `grid_…`, which only this module makes and
//! reads ([`StorageField::to_attribute`], [`StorageField::from_attribute`]).

use std::fmt;

use super::escape::{own_value, read_own, read_value};
use super::grid_words::{
    CHARS_ATTRIBUTE, COLUMN_ATTRIBUTE, DIMS_ATTRIBUTE, ENDS_ATTRIBUTE, FACTORS_ATTRIBUTE, FILES_AT_ATTRIBUTE, FILES_ATTRIBUTE,
    FILL_ATTRIBUTE, FILL_VALUE_ATTRIBUTE, FLOAT32_ATTRIBUTE, GRID_PREFIX, INTEGERS_ATTRIBUTE, OFFSETS_ATTRIBUTE,
    OMISSIONS_ATTRIBUTE, PART_ATTRIBUTE, PARTS_ATTRIBUTE, SCALE_NAME_ATTRIBUTE, SCALES_ATTRIBUTE, SLABS_ATTRIBUTE,
    SOURCES_ATTRIBUTE, UNLIMITED_ATTRIBUTE, UNREADABLE, USER_BLOCK_ATTRIBUTE, VALID_ATTRIBUTE, word,
};
use super::item_spec::ItemSpec;
use super::model::{Attribute, LayoutLiteral};
use super::note_value::{hex_text, integer_literal};
use crate::array::{Datatype, DeclaredNumber};
use crate::bytes::CodingStep;
use crate::error::{Error, ErrorKind, Result};
use crate::percent::strictly_decoded;

/// A property of an item.
#[derive(Debug, Clone, PartialEq)]
pub enum StorageField {
    /// The lengths of the axes of an array in chunks, without those of its elements.
    Shape(Vec<u64>),
    /// The lengths of a chunk.
    Chunk(Vec<u64>),
    /// The type of an element.
    ElementType(ElementType),
    /// The filters of the chunks.
    Filters(Vec<CodingStep>),
    /// The value of an element that was never written.
    Fill(FillValue),
    /// The filters that each chunk skipped, as bits.
    Masks(Vec<u64>),
    /// The column with the filters that each chunk skipped.
    MaskColumn(String),
    /// Bytes that go before those of each chunk.
    ChunkHeader(Vec<u8>),
    /// `true` if chunks at the edges have only the elements of the array.
    TrimmedEdges(bool),
    /// `true` if the first axis is contiguous.
    ColumnMajor(bool),
    /// The column with the byte offsets of the chunks; the item itself if it is empty.
    OffsetColumn(String),
    /// The column with the lengths of the chunks.
    LengthColumn(String),
    /// The byte from which the offsets of the chunks count.
    OffsetBase(u64),
    /// The parts of which elements are made.
    Parts(ElementParts),
    /// The filters of parts, and the paths of references by their bytes.
    PartFilters(Vec<CodingStep>, Vec<(Vec<u8>, String)>),
    /// The paths of the arrays of which an array is put together.
    Sources(Vec<String>),
    /// The elements of these arrays and their places.
    Slabs(Vec<u64>),
    /// The item is a part of another one, and is not shown.
    Part,
    /// The member of the structs which the item is.
    Column(String),
    /// The fill value of a library, which is masked unless the file states another one.
    LibraryFill(LibraryFill),
    /// The bytes of a struct at which strings begin that end at their first NUL.
    StringStarts(Vec<u64>),
    /// A scale and an offset for each sample.
    SampleFactors(Vec<(f64, f64)>),
    /// The path of the array that is 0 for each pixel that is missing.
    MaskPath(String),
    /// The fill value of a dataset.
    FillValue(LayoutLiteral),
    /// The name that a dimension scale states for itself.
    ScaleName(String),
    /// The scales of axes that have several: the number of the axis, and the path of the scale.
    Scales(Vec<(String, String)>),
    /// The bytes of a file before its data.
    UserBlock(Vec<u8>),
    /// The parts of the file that the layout does not describe, in words.
    Omissions(Vec<String>),
    /// The names of the axes.
    Dims(Vec<String>),
    /// The name of the axis that became the length of strings.
    StringAxis(String),
    /// The names of the axes without an end.
    UnlimitedDims(Vec<String>),
    /// The attributes that are numbers of 32 bits.
    Float32Attributes(Vec<String>),
    /// The attributes that are integers of another datatype than `int64`.
    IntegerAttributes(Vec<(String, Datatype)>),
    /// Other files as relative references.
    Files(Vec<String>),
    /// The first byte of each of these files in the layout and in the file, and its length.
    FilePlaces(Vec<[u64; 3]>),
    /// The reason for which the item cannot be read.
    Unreadable(UnreadableReason),
}

/// The type of an element of an array in chunks.
#[derive(Debug, Clone)]
pub enum ElementType {
    /// The type as a program declares it.
    #[doc(hidden)]
    Declared(DeclaredType),
    /// The type as the text of a layout spells it.
    Written(String),
}

/// The type of an element, as a program declares it.
#[derive(Debug, Clone)]
#[doc(hidden)]
pub struct DeclaredType(pub(super) ItemSpec);

impl fmt::Display for ElementType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Declared(DeclaredType(spec)) => write!(f, "{spec}"),
            Self::Written(text) => f.write_str(text),
        }
    }
}

/// Types are equal if the language spells them alike.
impl PartialEq for ElementType {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Declared(DeclaredType(a)), Self::Declared(DeclaredType(b))) => a == b,
            (a, b) => a.to_string() == b.to_string(),
        }
    }
}

/// The value of an element that was never written.
#[derive(Debug, Clone)]
pub enum FillValue {
    /// The bytes of the element.
    Bytes(Vec<u8>),
    /// A number.
    Number(DeclaredNumber),
}

/// NaN is equal to NaN.
impl PartialEq for FillValue {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Bytes(a), Self::Bytes(b)) => a == b,
            (Self::Number(a), Self::Number(b)) => a == b || a.float().is_nan() && b.float().is_nan(),
            _ => false,
        }
    }
}

/// The fill value of a library.
#[derive(Debug, Clone, PartialEq)]
pub enum LibraryFill {
    /// The fill values of an array of numbers.
    Numbers(Vec<DeclaredNumber>),
    /// The fill values of members of structs, by the names of the members.
    Members(Vec<(String, DeclaredNumber)>),
}

/// The parts of which the elements of an array are made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ElementParts {
    /// Bytes of an element as it is stored.
    pub stored_size: u64,
    /// Bytes of an address of the file.
    pub address_size: u64,
    /// Bytes of a length of the file.
    pub length_size: u64,
    /// The byte of the layout that is address 0.
    pub base: u64,
    /// The parts in their order.
    pub moves: Vec<PartMove>,
}

/// Bytes of an element that go from one place to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartMove {
    /// The treatment of the bytes.
    pub kind: PartKind,
    /// The first byte in the stored element.
    pub from: u64,
    /// The first byte in the element that is read.
    pub to: u64,
    /// The number of bytes that are read.
    pub len: u64,
}

/// The treatment of the bytes of a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PartKind {
    /// The bytes are copied unchanged.
    Bytes,
    /// A string in a heap: the bytes say where.
    Heap,
    /// A string up to a NUL.
    NulTerminated,
    /// A string before spaces.
    SpacePadded,
    /// Numbers that the filter of this number decodes.
    Filter(u64),
}

/// The reason for which an item cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreadableReason {
    /// The kind of the error.
    pub kind: ErrorKind,
    /// The message of the error.
    pub message: String,
    /// The hint of the error.
    pub hint: Option<String>,
}

impl UnreadableReason {
    /// The reason that an error has.
    pub fn from_error(error: &Error) -> Self {
        Self { kind: error.kind(), message: error.message().to_owned(), hint: error.advice() }
    }

    /// Returns the error.
    pub fn to_error(&self) -> Error {
        let error = Error::new(self.kind, self.message.clone());
        match &self.hint {
            Some(hint) => error.hint(hint.clone()),
            None => error,
        }
    }
}

impl PartKind {
    /// The kind of a number in a layout.
    pub(crate) fn from_number(number: u64) -> Self {
        match number {
            0 => Self::Bytes,
            1 => Self::Heap,
            2 => Self::NulTerminated,
            3 => Self::SpacePadded,
            other => Self::Filter(other - 4),
        }
    }

    fn kind_number(self) -> u64 {
        match self {
            Self::Bytes => 0,
            Self::Heap => 1,
            Self::NulTerminated => 2,
            Self::SpacePadded => 3,
            Self::Filter(number) => number.saturating_add(4),
        }
    }
}

impl PartMove {
    /// The move of four numbers: kind, first byte before and after, and length.
    pub(crate) fn from_numbers([kind, from, to, len]: [u64; 4]) -> Self {
        Self { kind: PartKind::from_number(kind), from, to, len }
    }
}

impl ElementParts {
    /// Reads the numbers of a layout; None if they are too many or too few.
    pub(crate) fn from_numbers(numbers: &[u64]) -> Option<Self> {
        let ([stored_size, address_size, length_size, base], moves) = numbers.split_first_chunk()?;
        let (moves, []) = moves.as_chunks::<4>() else { return None };
        let moves = moves.iter().map(|numbers| PartMove::from_numbers(*numbers)).collect();
        Some(Self { stored_size: *stored_size, address_size: *address_size, length_size: *length_size, base: *base, moves })
    }

    fn to_numbers(&self) -> Vec<u64> {
        let first = [self.stored_size, self.address_size, self.length_size, self.base];
        first
            .into_iter()
            .chain(self.moves.iter().flat_map(|part| [part.kind.kind_number(), part.from, part.to, part.len]))
            .collect()
    }
}

impl StorageField {
    /// Returns the name that the language has for the property.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Shape(_) => word::SHAPE,
            Self::Chunk(_) => word::CHUNK,
            Self::ElementType(_) => word::TYPE,
            Self::Filters(_) => word::FILTERS,
            Self::Fill(_) => word::FILL,
            Self::Masks(_) | Self::MaskColumn(_) => word::MASK,
            Self::ChunkHeader(_) => word::HEAD,
            Self::TrimmedEdges(_) => word::EDGE,
            Self::ColumnMajor(_) => word::ORDER,
            Self::OffsetColumn(_) => OFFSETS_ATTRIBUTE,
            Self::LengthColumn(_) => word::BYTES,
            Self::OffsetBase(_) => word::BASE,
            Self::Parts(_) => PARTS_ATTRIBUTE,
            Self::PartFilters(..) => word::NUMBERS,
            Self::Sources(_) => SOURCES_ATTRIBUTE,
            Self::Slabs(_) => SLABS_ATTRIBUTE,
            Self::Part => PART_ATTRIBUTE,
            Self::Column(_) => COLUMN_ATTRIBUTE,
            Self::LibraryFill(_) => FILL_ATTRIBUTE,
            Self::StringStarts(_) => ENDS_ATTRIBUTE,
            Self::SampleFactors(_) => FACTORS_ATTRIBUTE,
            Self::MaskPath(_) => VALID_ATTRIBUTE,
            Self::FillValue(_) => FILL_VALUE_ATTRIBUTE,
            Self::ScaleName(_) => SCALE_NAME_ATTRIBUTE,
            Self::Scales(_) => SCALES_ATTRIBUTE,
            Self::UserBlock(_) => USER_BLOCK_ATTRIBUTE,
            Self::Omissions(_) => OMISSIONS_ATTRIBUTE,
            Self::Dims(_) => DIMS_ATTRIBUTE,
            Self::StringAxis(_) => CHARS_ATTRIBUTE,
            Self::UnlimitedDims(_) => UNLIMITED_ATTRIBUTE,
            Self::Float32Attributes(_) => FLOAT32_ATTRIBUTE,
            Self::IntegerAttributes(_) => INTEGERS_ATTRIBUTE,
            Self::Files(_) => FILES_ATTRIBUTE,
            Self::FilePlaces(_) => FILES_AT_ATTRIBUTE,
            Self::Unreadable(_) => UNREADABLE,
        }
    }

    /// Returns the value of the attribute by which the language spells the property.
    pub fn to_attribute(&self) -> Attribute {
        let value = match self {
            Self::Shape(lengths) | Self::Chunk(lengths) | Self::Masks(lengths) | Self::Slabs(lengths) => integers(lengths),
            Self::StringStarts(starts) => integers(starts),
            Self::Parts(parts) => integers(&parts.to_numbers()),
            Self::FilePlaces(places) => integers(places.as_flattened()),
            Self::ElementType(typed) => string(typed.to_string()),
            Self::Filters(filters) => string(join_steps(filters)),
            Self::Fill(FillValue::Bytes(bytes)) | Self::ChunkHeader(bytes) => string(hex_text(bytes)),
            Self::Fill(FillValue::Number(number)) => Attribute::Value(number_literal(*number)),
            Self::TrimmedEdges(is_trimmed) => string(if *is_trimmed { "cut" } else { "full" }),
            Self::ColumnMajor(is_column_major) => string(if *is_column_major { "F" } else { "C" }),
            Self::OffsetBase(base) => Attribute::Value(integer_literal(*base)),
            Self::PartFilters(filters, references) => string(part_filters_text(filters, references)),
            Self::MaskColumn(text) | Self::OffsetColumn(text) | Self::LengthColumn(text) | Self::Column(text) => string(text),
            Self::MaskPath(text) | Self::ScaleName(text) | Self::StringAxis(text) => string(text),
            Self::Sources(texts) | Self::Dims(texts) | Self::UnlimitedDims(texts) | Self::Files(texts) => strings(texts),
            Self::Omissions(texts) | Self::Float32Attributes(texts) => strings(texts),
            Self::Scales(pairs) => strings(pairs.iter().flat_map(|(axis, path)| [axis, path])),
            Self::IntegerAttributes(pairs) => {
                strings(pairs.iter().flat_map(|(name, datatype)| [name.clone(), datatype.name().to_owned()]))
            }
            Self::Part => Attribute::Flag,
            Self::LibraryFill(LibraryFill::Numbers(numbers)) => match numbers.as_slice() {
                [only] => Attribute::Value(number_literal(*only)),
                all => Attribute::List(all.iter().map(|number| number_literal(*number)).collect()),
            },
            Self::LibraryFill(LibraryFill::Members(pairs)) => {
                strings(pairs.iter().flat_map(|(member, number)| [member.clone(), number_literal(*number).to_string()]))
            }
            Self::SampleFactors(factors) => {
                let numbers = factors.iter().flat_map(|(scale, offset)| [*scale, *offset]);
                Attribute::List(numbers.map(LayoutLiteral::Float).collect())
            }
            Self::FillValue(value) => Attribute::Value(value.clone()),
            Self::UserBlock(bytes) => Attribute::Value(LayoutLiteral::Bytes(bytes.clone())),
            Self::Unreadable(UnreadableReason { kind, message, hint }) => {
                strings([kind.name(), message.as_str()].into_iter().chain(hint.as_deref()))
            }
        };
        match own_value(value) {
            // The language has no empty lists.
            Attribute::List(values) if values.is_empty() => Attribute::Value(LayoutLiteral::Text(String::new())),
            value => value,
        }
    }

    /// Reads an attribute of a layout; None for one that is not a property.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) if the value is not what the property has to be.
    pub fn from_attribute(name: &str, value: &Attribute) -> Result<Option<Self>> {
        if !name.starts_with(GRID_PREFIX) {
            return Ok(None);
        }
        let said = SpelledAttribute { name, value };
        Ok(Some(match name {
            word::SHAPE => Self::Shape(said.lengths()?),
            word::CHUNK => Self::Chunk(said.lengths()?),
            word::TYPE => Self::ElementType(ElementType::Written(said.string()?)),
            word::FILTERS => Self::Filters(CodingStep::parse_list(&said.string()?)?),
            word::FILL => Self::Fill(said.fill_value()?),
            word::MASK if matches!(value, Attribute::List(_)) => Self::Masks(said.lengths()?),
            word::MASK => Self::MaskColumn(said.string()?),
            word::HEAD => Self::ChunkHeader(said.hex_bytes()?),
            word::EDGE => Self::TrimmedEdges(said.is_second_word(["full", "cut"])?),
            word::ORDER => Self::ColumnMajor(said.is_second_word(["C", "F"])?),
            OFFSETS_ATTRIBUTE => Self::OffsetColumn(said.string()?),
            word::BYTES => Self::LengthColumn(said.string()?),
            word::BASE => Self::OffsetBase(said.offset_base()?),
            PARTS_ATTRIBUTE => Self::Parts(said.parts()?),
            word::NUMBERS => said.part_filters()?,
            SOURCES_ATTRIBUTE => Self::Sources(said.list_of_strings("a list of paths")?),
            SLABS_ATTRIBUTE => Self::Slabs(said.lengths()?),
            PART_ATTRIBUTE => Self::Part,
            COLUMN_ATTRIBUTE => Self::Column(said.string()?),
            FILL_ATTRIBUTE => Self::LibraryFill(said.library_fill()?),
            ENDS_ATTRIBUTE => Self::StringStarts(said.lengths()?),
            FACTORS_ATTRIBUTE => Self::SampleFactors(said.sample_factors()?),
            VALID_ATTRIBUTE => Self::MaskPath(said.string()?),
            FILL_VALUE_ATTRIBUTE => match read_value(value) {
                Attribute::Value(literal) => Self::FillValue(literal),
                Attribute::Flag | Attribute::List(_) => return Err(said.unexpected_error("one value")),
            },
            SCALE_NAME_ATTRIBUTE => Self::ScaleName(said.string()?),
            SCALES_ATTRIBUTE => Self::Scales(said.pairs()?),
            USER_BLOCK_ATTRIBUTE => match read_value(value) {
                Attribute::Value(LayoutLiteral::Bytes(bytes)) => Self::UserBlock(bytes),
                _ => Self::UserBlock(said.string()?.into_bytes()),
            },
            OMISSIONS_ATTRIBUTE => Self::Omissions(said.list_of_strings("a list of strings")?),
            DIMS_ATTRIBUTE => Self::Dims(said.list_of_strings("a list of names")?),
            CHARS_ATTRIBUTE => Self::StringAxis(said.string()?),
            UNLIMITED_ATTRIBUTE => Self::UnlimitedDims(said.list_of_strings("a list of names")?),
            FLOAT32_ATTRIBUTE => Self::Float32Attributes(said.strings_or_string()?),
            INTEGERS_ATTRIBUTE => Self::IntegerAttributes(said.integer_attributes()?),
            FILES_ATTRIBUTE => Self::Files(said.strings_or_string()?),
            FILES_AT_ATTRIBUTE => Self::FilePlaces(said.places()?),
            UNREADABLE => Self::Unreadable(said.reason()),
            _ => return Ok(None),
        }))
    }
}

fn string(text: impl Into<String>) -> Attribute {
    Attribute::Value(LayoutLiteral::Text(text.into()))
}

fn strings<S: Into<String>>(texts: impl IntoIterator<Item = S>) -> Attribute {
    Attribute::List(texts.into_iter().map(|text| LayoutLiteral::Text(text.into())).collect())
}

fn integers(numbers: &[u64]) -> Attribute {
    Attribute::List(numbers.iter().map(|number| integer_literal(*number)).collect())
}

fn number_literal(number: DeclaredNumber) -> LayoutLiteral {
    match number {
        DeclaredNumber::Int(value) => integer_literal(value),
        DeclaredNumber::Float(value) => LayoutLiteral::Float(value),
    }
}

fn join_steps(steps: &[CodingStep]) -> String {
    steps.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

/// Filters of parts as a layout spells them: the references with their paths follow a bar.
fn part_filters_text(filters: &[CodingStep], references: &[(Vec<u8>, String)]) -> String {
    let entry = |(key, path): &(Vec<u8>, String)| {
        let digits = hex_text(key);
        let mut text = format!("{}=", digits.trim_start_matches("0x"));
        for c in path.chars() {
            if c == '%' || c.is_whitespace() || c.is_control() {
                let mut bytes = [0; 4];
                c.encode_utf8(&mut bytes).bytes().for_each(|byte| text.push_str(&format!("%{byte:02X}")));
            } else {
                text.push(c);
            }
        }
        text
    };
    let filters = join_steps(filters);
    if references.is_empty() {
        return filters;
    }
    let entries = references.iter().map(entry).collect::<Vec<_>>().join(" ");
    if filters.is_empty() { format!("| {entries}") } else { format!("{filters} | {entries}") }
}

/// Reads the digits of a reference and its path: `f814000000000000=/run/hits`.
fn parse_reference(entry: &str) -> Option<(Vec<u8>, String)> {
    let (digits, path) = entry.split_once('=')?;
    Some((digit_bytes(digits)?, strictly_decoded(path)?))
}

/// The bytes of digits such as `00ff`.
fn digit_bytes(digits: &str) -> Option<Vec<u8>> {
    let pair = |n: usize| digits.get(2 * n..2 * n + 2).and_then(|pair| u8::from_str_radix(pair, 16).ok());
    (0..digits.len().div_ceil(2)).map(pair).collect()
}

/// A number, or a text that is one, as GDAL writes it.
fn parse_number(literal: &LayoutLiteral) -> Option<DeclaredNumber> {
    match literal {
        LayoutLiteral::Integer(number) => Some(DeclaredNumber::Int((*number).into())),
        LayoutLiteral::Large(digits) => digits.parse().ok().map(DeclaredNumber::Int),
        LayoutLiteral::Float(number) => Some(DeclaredNumber::Float(*number)),
        LayoutLiteral::Text(text) => DeclaredNumber::from_text(text),
        LayoutLiteral::Bytes(_) => None,
    }
}

/// An attribute as the text of a layout spells it.
struct SpelledAttribute<'a> {
    name: &'a str,
    value: &'a Attribute,
}

impl SpelledAttribute<'_> {
    fn unexpected_error(&self, expected: &str) -> Error {
        Error::malformed(format!("{} is not {expected}", self.name))
    }

    fn literals(&self) -> &[LayoutLiteral] {
        match self.value {
            Attribute::List(list) => list,
            Attribute::Value(value) => std::slice::from_ref(value),
            Attribute::Flag => &[],
        }
    }

    fn is_empty_list(&self) -> bool {
        matches!(self.value, Attribute::Value(LayoutLiteral::Text(text)) if text.is_empty())
    }

    fn length(&self, value: &LayoutLiteral) -> Result<u64> {
        let number = match value {
            LayoutLiteral::Integer(value) => u64::try_from(*value).ok(),
            LayoutLiteral::Large(digits) => digits.parse().ok(),
            _ => None,
        };
        number.ok_or_else(|| self.unexpected_error("a list of lengths"))
    }

    fn lengths(&self) -> Result<Vec<u64>> {
        match self.value {
            Attribute::List(list) => list.iter().map(|value| self.length(value)).collect(),
            // An array without axes has no numbers in brackets.
            Attribute::Flag => Ok(Vec::new()),
            Attribute::Value(_) if self.is_empty_list() => Ok(Vec::new()),
            Attribute::Value(_) => Err(self.unexpected_error("a list of lengths")),
        }
    }

    fn string(&self) -> Result<String> {
        match self.value {
            Attribute::Value(LayoutLiteral::Text(text)) => Ok(read_own(text).into_owned()),
            _ => Err(self.unexpected_error("a text in quotes")),
        }
    }

    fn list_of_strings(&self, expected: &str) -> Result<Vec<String>> {
        match self.value {
            Attribute::List(_) => self.strings_or_string(),
            _ if self.is_empty_list() => Ok(Vec::new()),
            _ => Err(self.unexpected_error(expected)),
        }
    }

    fn strings_or_string(&self) -> Result<Vec<String>> {
        if self.is_empty_list() {
            return Ok(Vec::new());
        }
        let text = |literal: &LayoutLiteral| match literal {
            LayoutLiteral::Text(text) => read_own(text).into_owned(),
            other => other.to_string(),
        };
        Ok(self.literals().iter().map(text).collect())
    }

    fn pairs(&self) -> Result<Vec<(String, String)>> {
        let all = self.list_of_strings("a list of pairs")?;
        let (pairs, []) = all.as_chunks::<2>() else { return Err(self.unexpected_error("a list of pairs")) };
        Ok(pairs.iter().map(|[first, second]| (first.clone(), second.clone())).collect())
    }

    fn integer_attributes(&self) -> Result<Vec<(String, Datatype)>> {
        let typed =
            |(name, datatype): (String, String)| Some((name, Datatype::from_name(&datatype).filter(Datatype::is_integer)?));
        self.pairs()?
            .into_iter()
            .map(typed)
            .collect::<Option<_>>()
            .ok_or_else(|| self.unexpected_error("a list of names and datatypes"))
    }

    fn hex_bytes(&self) -> Result<Vec<u8>> {
        let text = self.string()?;
        let bytes = text.strip_prefix("0x").and_then(digit_bytes);
        bytes.ok_or_else(|| self.unexpected_error("written as \"0x\" and the digits of bytes"))
    }

    fn fill_value(&self) -> Result<FillValue> {
        let Attribute::Value(literal) = self.value else { return Err(self.unexpected_error("one value")) };
        let number = match literal {
            LayoutLiteral::Text(text) if text.starts_with("0x") => return self.hex_bytes().map(FillValue::Bytes),
            LayoutLiteral::Text(text) => text.parse().ok().map(DeclaredNumber::Float),
            other => parse_number(other),
        };
        number.map(FillValue::Number).ok_or_else(|| self.unexpected_error("a number, or \"0x\" and the digits of bytes"))
    }

    /// Returns `true` for the second of two words, and `false` for the first.
    fn is_second_word(&self, words: [&str; 2]) -> Result<bool> {
        let text = self.string()?;
        let place = words.iter().position(|word| *word == text);
        let wrong = || Error::malformed(format!("{} is {text:?}, expected {}", self.name, words.join(" or ")));
        place.map(|place| place == 1).ok_or_else(wrong)
    }

    fn offset_base(&self) -> Result<u64> {
        match self.value {
            Attribute::Value(number) => self.length(number).map_err(|_| self.unexpected_error("a byte of the file")),
            Attribute::Flag | Attribute::List(_) => Err(self.unexpected_error("a byte of the file")),
        }
    }

    fn parts(&self) -> Result<ElementParts> {
        ElementParts::from_numbers(&self.lengths()?)
            .ok_or_else(|| self.unexpected_error("the description of the parts of elements"))
    }

    fn part_filters(&self) -> Result<StorageField> {
        let text = self.string()?;
        let (filters, references) = text.split_once('|').unwrap_or((&text, ""));
        let references: Option<Vec<(Vec<u8>, String)>> = references.split_whitespace().map(parse_reference).collect();
        let references = references.ok_or_else(|| self.unexpected_error("a list of filters, references and their paths"))?;
        Ok(StorageField::PartFilters(CodingStep::parse_list(filters)?, references))
    }

    fn library_fill(&self) -> Result<LibraryFill> {
        let wrong = || self.unexpected_error("a number, or a list of members and numbers");
        let said = read_value(self.value);
        let list = match &said {
            Attribute::Flag => &[],
            Attribute::Value(one) => std::slice::from_ref(one),
            Attribute::List(list) => list.as_slice(),
        };
        // A single number may be a string, and the members of structs are named by strings.
        if !matches!((&said, list), (Attribute::List(_), [LayoutLiteral::Text(_), ..])) {
            return list.iter().map(parse_number).collect::<Option<_>>().map(LibraryFill::Numbers).ok_or_else(wrong);
        }
        let (pairs, []) = list.as_chunks::<2>() else { return Err(wrong()) };
        let pair = |[member, number]: &[LayoutLiteral; 2]| match member {
            LayoutLiteral::Text(member) => Some((member.clone(), parse_number(number)?)),
            _ => None,
        };
        pairs.iter().map(pair).collect::<Option<_>>().map(LibraryFill::Members).ok_or_else(wrong)
    }

    fn sample_factors(&self) -> Result<Vec<(f64, f64)>> {
        let wrong = || self.unexpected_error("a list of a scale and an offset for each sample");
        let Attribute::List(list) = read_value(self.value) else { return Err(wrong()) };
        let numbers: Vec<f64> = list.iter().filter_map(parse_number).map(DeclaredNumber::float).collect();
        let (pairs, rest) = numbers.as_chunks::<2>();
        if numbers.len() != list.len() || !rest.is_empty() {
            return Err(wrong());
        }
        Ok(pairs.iter().map(|[scale, offset]| (*scale, *offset)).collect())
    }

    fn places(&self) -> Result<Vec<[u64; 3]>> {
        let numbers = match self.literals() {
            _ if self.is_empty_list() => Vec::new(),
            all => all.iter().map(|number| self.length(number)).collect::<Result<Vec<_>>>()?,
        };
        let (places, []) = numbers.as_chunks::<3>() else { return Err(self.unexpected_error("three numbers for each file")) };
        Ok(places.to_vec())
    }

    fn reason(&self) -> UnreadableReason {
        let text = |at: usize| match self.literals().get(at) {
            Some(LayoutLiteral::Text(text)) => Some(read_own(text).into_owned()),
            _ => None,
        };
        UnreadableReason {
            kind: text(0).and_then(|name| ErrorKind::from_name(&name)).unwrap_or(ErrorKind::Malformed),
            message: text(1).unwrap_or_else(|| "the layout gives no reason".into()),
            hint: text(2),
        }
    }
}
