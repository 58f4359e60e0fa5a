//! Attributes: metadata of an item, each with a name, a typed value, a comment and a unit.
//!
//! Cards of FITS headers, attributes of HDF5 and netCDF, tags of TIFF and attributes of layouts are all read into this one form.

use std::fmt;
use std::sync::Arc;

use trilith_io::bytes::base64;
use trilith_io::error::Error;

use crate::array::scalar::float_text;
use crate::array::{Array, Datatype, ElementValue, FloatPrecision, FloatText, NestedEvent, complex_text, json_text};

/// One attribute of an item.
///
/// ```
/// use trilith_array::array::attribute::{AttributeNumber, AttributeValue, ItemAttribute};
/// let gain = ItemAttribute::new("gain", AttributeNumber::from(2.5)).with_comment("electrons per count");
/// assert_eq!(gain.value.to_string(), "2.5");
/// assert_eq!(gain.value.datatype_name(), "float64");
/// assert!(matches!(gain.value, AttributeValue::Number(_)));
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ItemAttribute {
    /// The name, as the file has it. Names may repeat: a FITS header has many cards COMMENT.
    pub name: String,
    /// The value with its datatype.
    pub value: AttributeValue,
    /// The comment next to the value.
    pub comment: Option<String>,
    /// The unit of the value.
    pub unit: Option<String>,
    /// The part that the attribute has in the file.
    pub role: AttributeRole,
    /// The record of the file that holds it, if that is text: the card of a FITS header, 80 characters a record.
    pub record: Option<Box<str>>,
}

/// The value of an attribute.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum AttributeValue {
    /// No value: an undefined card of FITS, a null dataspace of HDF5, a flag of a layout.
    Empty,
    /// A boolean.
    Bool(bool),
    /// A text.
    Text(String),
    /// Bytes that are not text in their declared encoding.
    Bytes(Vec<u8>),
    /// A number with its datatype.
    Number(AttributeNumber),
    /// The path of another item of the file.
    Reference(String),
    /// Several values along one axis.
    List(Vec<AttributeValue>),
    /// An array of several axes, or of many elements; its elements are read when somebody asks for them.
    Array(Box<Array>),
    /// A value that cannot be read, with the reason. It is equal to no other value.
    Unreadable(Arc<Error>),
}

/// A number with its datatype, and the names of its values if the datatype is an enumeration.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct AttributeNumber {
    /// The number.
    pub value: NumberValue,
    /// The datatype in the file.
    pub datatype: Datatype,
    /// The names of an enumeration.
    pub names: Option<Arc<EnumNames>>,
}

/// The names of the values of an enumeration.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EnumNames(pub Vec<(String, i128)>);

/// The value of a number.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum NumberValue {
    /// An integer.
    Int(i128),
    /// A floating-point number.
    Float(f64),
    /// A complex number.
    Complex(f64, f64),
}

/// The part that an attribute has in its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum AttributeRole {
    /// Metadata of the user.
    #[default]
    Own,
    /// A declaration that the physical elements already follow: `scale_factor`, `_FillValue`, `BSCALE`.
    Applied,
    /// A word about the place or the form of the elements: `NAXIS`, `TFORM1`, `DIMENSION_LIST`.
    Structure,
}

/// Compares numbers by value, where NaN is equal to itself.
impl PartialEq for NumberValue {
    fn eq(&self, other: &Self) -> bool {
        let same = |a: f64, b: f64| a == b || a.is_nan() && b.is_nan();
        match (*self, *other) {
            (Self::Int(a), Self::Int(b)) => a == b,
            (Self::Float(a), Self::Float(b)) => same(a, b),
            (Self::Complex(a, b), Self::Complex(c, d)) => same(a, c) && same(b, d),
            (Self::Int(int), Self::Float(float)) | (Self::Float(float), Self::Int(int)) => int as f64 == float,
            _ => false,
        }
    }
}

/// Compares values; arrays are equal if their elements and shapes are.
impl PartialEq for AttributeValue {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Empty, Self::Empty) => true,
            (Self::Bool(a), Self::Bool(b)) => a == b,
            (Self::Text(a), Self::Text(b)) | (Self::Reference(a), Self::Reference(b)) => a == b,
            (Self::Bytes(a), Self::Bytes(b)) => a == b,
            (Self::Number(a), Self::Number(b)) => a.value == b.value,
            (Self::List(a), Self::List(b)) => a == b,
            (Self::Array(a), Self::Array(b)) => {
                a.shape() == b.shape()
                    && a.datatype().is_equivalent(b.datatype())
                    && matches!((array_text(a), array_text(b)), (Ok(a), Ok(b)) if a == b)
            }
            _ => false,
        }
    }
}

impl ItemAttribute {
    /// Returns an attribute of the user.
    pub fn new(name: impl Into<String>, value: impl Into<AttributeValue>) -> Self {
        Self { name: name.into(), value: value.into(), comment: None, unit: None, role: AttributeRole::Own, record: None }
    }

    /// Returns the attribute with a comment; an empty one is none.
    #[must_use]
    pub fn with_comment(mut self, comment: &str) -> Self {
        self.comment = Some(comment.to_owned()).filter(|comment| !comment.is_empty());
        self
    }

    /// Returns the attribute with a role.
    #[must_use]
    pub fn with_role(mut self, role: AttributeRole) -> Self {
        self.role = role;
        self
    }

    /// Returns `true` unless the attribute tells no more than the elements and their description: without
    /// [`AttributeRole::Structure`], and without [`AttributeRole::Applied`].
    pub fn is_visible(&self) -> bool {
        self.role == AttributeRole::Own
    }
}

impl AttributeNumber {
    /// Returns a number of a datatype.
    pub fn new(value: NumberValue, datatype: Datatype) -> Self {
        Self { value, datatype, names: None }
    }

    /// Returns the name of an enumeration for the value.
    pub fn enum_name(&self) -> Option<&str> {
        let NumberValue::Int(value) = self.value else { return None };
        let names = self.names.as_ref()?;
        names.0.iter().find(|(_, known)| *known == value).map(|(name, _)| name.as_str())
    }
}

impl From<i64> for AttributeNumber {
    fn from(value: i64) -> Self {
        Self::new(NumberValue::Int(value.into()), Datatype::Int64)
    }
}

impl From<f64> for AttributeNumber {
    fn from(value: f64) -> Self {
        Self::new(NumberValue::Float(value), Datatype::Float64)
    }
}

impl From<AttributeNumber> for AttributeValue {
    fn from(number: AttributeNumber) -> Self {
        Self::Number(number)
    }
}

impl From<&str> for AttributeValue {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl NumberValue {
    /// Returns the number as one of a datatype; None if the datatype does not hold it. Fractions are rounded to the nearest number.
    fn fitted(self, datatype: &Datatype) -> Option<Self> {
        let rounded = |number: f64| match datatype {
            Datatype::Float16 => half::f16::from_f64(number).to_f64(),
            Datatype::Float32 | Datatype::Complex64 => f64::from(number as f32),
            _ => number,
        };
        let is_near = |number: f64| rounded(number).is_finite() || !number.is_finite();
        match (self, datatype.integer_range()) {
            (Self::Int(whole), Some((low, high))) => (low..=high).contains(&whole).then_some(self),
            (Self::Int(whole), None) if datatype.is_float() => {
                let float = rounded(whole as f64);
                (float as i128 == whole && whole != i128::MAX).then_some(Self::Float(float))
            }
            (Self::Float(float), None) if datatype.is_float() => is_near(float).then(|| Self::Float(rounded(float))),
            (Self::Complex(re, im), None) if datatype.is_complex() => {
                (is_near(re) && is_near(im)).then(|| Self::Complex(rounded(re), rounded(im)))
            }
            _ => None,
        }
    }

    /// Returns the datatype of a number whose file states none.
    fn plain_datatype(self) -> Datatype {
        match self {
            Self::Int(whole) if i64::try_from(whole).is_ok() => Datatype::Int64,
            Self::Int(_) => Datatype::Uint64,
            Self::Float(_) => Datatype::Float64,
            Self::Complex(..) => Datatype::Complex128,
        }
    }
}

impl AttributeValue {
    /// Returns a number as a value with the datatype in the file, and the names of an enumeration. If that datatype cannot
    /// represent the number, the number stays exact, and its datatype is `int64`, `uint64`, `float64` or `complex128`.
    ///
    /// ```
    /// use trilith_array::array::{Datatype, attribute::{AttributeValue, NumberValue}};
    /// let typed = |value, datatype| AttributeValue::from_number(value, Some(&datatype), None).datatype_name();
    /// assert_eq!(typed(NumberValue::Int(300), Datatype::Int16), "int16");
    /// assert_eq!(typed(NumberValue::Int(300), Datatype::Uint8), "int64");
    /// assert_eq!(typed(NumberValue::Float(0.5), Datatype::Int16), "float64");
    /// ```
    pub fn from_number(value: NumberValue, stated: Option<&Datatype>, names: Option<&Arc<EnumNames>>) -> Self {
        if let (NumberValue::Int(bit @ 0..=1), Some(Datatype::Bool8)) = (value, stated) {
            return Self::Bool(bit == 1);
        }
        if let Some((stated, fitted)) = stated.and_then(|stated| Some((stated, value.fitted(stated)?))) {
            return Self::Number(AttributeNumber { value: fitted, datatype: stated.clone(), names: names.cloned() });
        }
        Self::Number(AttributeNumber::new(value, value.plain_datatype()))
    }

    /// Returns an array as nested lists of its elements, and any other value unchanged. The values of a struct are a list.
    ///
    /// # Errors
    /// Returns an error if the elements cannot be read, and [`ErrorKind::Limit`](crate::ErrorKind::Limit) if there are too many.
    pub fn to_lists(&self) -> crate::Result<Self> {
        let Self::Array(array) = self else { return Ok(self.clone()) };
        let most = array.limits().nodes;
        if array.element_count() > most {
            return Err(crate::Limits::exceeded_error("nodes", most, "an attribute has more elements"));
        }
        let (mut open, mut done) = (Vec::new(), Self::Empty);
        array.for_each_nested(|step| {
            let value = match step {
                NestedEvent::Open => {
                    open.push(Vec::new());
                    return Ok(());
                }
                NestedEvent::Close => Self::List(open.pop().unwrap_or_default()),
                NestedEvent::Element(element) => Self::from_element(element, array.datatype()),
                _ => Self::Empty,
            };
            match open.last_mut() {
                Some(list) => list.push(value),
                None => done = value,
            }
            Ok(())
        })?;
        Ok(done)
    }

    /// Returns an element of an array, or a part of one; structs nest no deeper than the library allows.
    fn from_element(element: ElementValue, datatype: &Datatype) -> Self {
        let number = |value| Self::from_number(value, Some(datatype), None);
        match element {
            ElementValue::Int(whole) => number(NumberValue::Int(whole.into())),
            ElementValue::Uint(whole) => number(NumberValue::Int(whole.into())),
            ElementValue::Float(float, _) => number(NumberValue::Float(float)),
            ElementValue::Complex(re, im, _) => number(NumberValue::Complex(re, im)),
            ElementValue::Bool(value) => Self::Bool(value),
            ElementValue::Text(text) => Self::Text(text),
            ElementValue::Raw(bytes) => Self::Bytes(bytes),
            ElementValue::Missing => Self::Empty,
            ElementValue::Struct(parts) => Self::List(Self::struct_parts(parts, datatype)),
            ElementValue::List(parts) => Self::List(parts.into_iter().map(|part| Self::from_element(part, datatype)).collect()),
        }
    }

    fn struct_parts(parts: Vec<ElementValue>, datatype: &Datatype) -> Vec<Self> {
        let fields = datatype.as_struct().map_or(&[][..], |fields| fields.fields());
        let typed = parts.into_iter().enumerate();
        typed.map(|(at, part)| Self::from_element(part, fields.get(at).map_or(datatype, |field| &field.datatype))).collect()
    }

    /// Returns the reason if the value, or a part of it, cannot be read. The elements of arrays are not read for it. Lists nest no deeper
    /// than the file allows.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use trilith_array::{Error, array::attribute::AttributeValue};
    /// let bad = AttributeValue::Unreadable(Arc::new(Error::malformed("it is cut short")));
    /// assert_eq!(bad.to_string(), "(unreadable: it is cut short)");
    /// assert_eq!(bad.to_json(), r#"{"$error":{"kind":"malformed","message":"it is cut short"}}"#);
    /// assert_ne!(bad, bad.clone());
    /// assert!(AttributeValue::List(vec!["a".into(), bad]).unreadable().is_some());
    /// ```
    pub fn unreadable(&self) -> Option<&Error> {
        match self {
            Self::Unreadable(why) => Some(why),
            Self::List(values) => values.iter().find_map(Self::unreadable),
            _ => None,
        }
    }

    /// Returns the text, if the value is one, or the path that a reference has.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) | Self::Reference(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the name of the datatype: `int16`, `text`, `bool8`, `reference`, `unreadable`; of a list that of its values, and `mixed` if they
    /// differ.
    pub fn datatype_name(&self) -> String {
        match self {
            Self::Empty => "empty".to_owned(),
            Self::Unreadable(_) => "unreadable".to_owned(),
            Self::Bool(_) => Datatype::Bool8.name().to_owned(),
            Self::Text(_) => "text".to_owned(),
            Self::Bytes(_) => "bytes".to_owned(),
            Self::Reference(_) => "reference".to_owned(),
            Self::Number(number) => number.datatype.to_string(),
            Self::Array(array) => array.datatype().to_string(),
            Self::List(values) => {
                let mut names = values.iter().map(Self::datatype_name);
                let Some(first) = names.next() else { return "empty".to_owned() };
                if names.all(|name| name == first) { first } else { "mixed".to_owned() }
            }
        }
    }
}

/// Formats the number with the fewest digits that its datatype needs.
impl fmt::Display for AttributeNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let precision = match self.datatype {
            Datatype::Float16 | Datatype::Complex32 => FloatPrecision::Half,
            Datatype::Float32 | Datatype::Complex64 => FloatPrecision::Single,
            _ => FloatPrecision::Double,
        };
        match self.value {
            NumberValue::Int(number) => write!(f, "{number}"),
            NumberValue::Float(number) => f.write_str(&float_text(number, precision, FloatText::Shortest)),
            NumberValue::Complex(re, im) => f.write_str(&complex_text(re, im, precision, FloatText::Shortest)),
        }
    }
}

/// Formats the value in one line: a text as it is, the strings of a list in quotes.
impl fmt::Display for AttributeValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) | Self::Reference(text) => f.write_str(text),
            other => f.write_str(&other.literal_text()),
        }
    }
}

impl AttributeValue {
    /// Returns the value in one line, a text in quotes.
    pub fn literal_text(&self) -> String {
        match self {
            Self::Empty => String::new(),
            Self::Bool(value) => value.to_string(),
            Self::Text(text) | Self::Reference(text) => json_text(text),
            Self::Bytes(bytes) => format!("0x{}", bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>()),
            Self::Number(number) => match number.enum_name() {
                Some(name) => format!("{number} ({name})"),
                None => number.to_string(),
            },
            Self::List(values) => format!("[{}]", values.iter().map(Self::literal_text).collect::<Vec<_>>().join(", ")),
            Self::Array(array) => array_text(array).unwrap_or_else(|why| unreadable_text(&why)),
            Self::Unreadable(why) => unreadable_text(why),
        }
    }

    /// Returns the value as JSON: numbers in full, a number without one as a string, a reference as `{"reference": "/path"}`, a value
    /// of an enumeration as `{"value": 1, "name": "ON"}`, bytes as `{"base64": …}`, no value as `null`, and the reason why a value cannot
    /// be read as `{"$error": {"kind": "malformed", "message": …}}`.
    ///
    /// ```
    /// use trilith_array::array::attribute::AttributeValue;
    /// let value = AttributeValue::List(vec!["a".into(), AttributeValue::Empty, AttributeValue::Reference("/x".into())]);
    /// assert_eq!(value.to_json(), r#"["a",null,{"reference":"/x"}]"#);
    /// ```
    pub fn to_json(&self) -> String {
        match self {
            Self::Empty => "null".to_owned(),
            Self::Bool(value) => value.to_string(),
            Self::Text(text) => json_text(text),
            Self::Reference(path) => format!("{{\"reference\":{}}}", json_text(path)),
            Self::Bytes(bytes) => format!("{{\"base64\":{}}}", json_text(&base64(bytes))),
            Self::Number(number) => match (number.value, number.enum_name()) {
                (_, Some(name)) => format!("{{\"value\":{number},\"name\":{}}}", json_text(name)),
                (NumberValue::Int(_), None) => number.to_string(),
                (NumberValue::Float(float), None) if float.is_nan() => "\"NaN\"".to_owned(),
                (NumberValue::Float(float), None) if float.is_infinite() => {
                    if float > 0.0 { "\"Infinity\"" } else { "\"-Infinity\"" }.to_owned()
                }
                (NumberValue::Float(_), None) => number.to_string(),
                (NumberValue::Complex(..), None) => json_text(&number.to_string()),
            },
            Self::Unreadable(why) => {
                let (kind, message) = (json_text(why.kind().name()), json_text(why.message()));
                format!("{{\"$error\":{{\"kind\":{kind},\"message\":{message}}}}}")
            }
            Self::List(values) => format!("[{}]", values.iter().map(Self::to_json).collect::<Vec<_>>().join(",")),
            Self::Array(array) if array.element_count() > MAX_SHOWN_ELEMENTS => json_text(&self.literal_text()),
            Self::Array(_) => {
                let text = self.literal_text();
                if text.starts_with(['[', '{', '"', '-']) || text.starts_with(|c: char| c.is_ascii_digit()) {
                    text
                } else {
                    json_text(&text)
                }
            }
        }
    }
}

/// The reason why a value cannot be read, in one line.
fn unreadable_text(why: &Error) -> String {
    format!("(unreadable: {})", why.message())
}

/// Elements of an array that one line shows.
const MAX_SHOWN_ELEMENTS: u64 = 4096;

/// Returns the elements of a small array as nested lists; of a large one its description.
fn array_text(array: &Array) -> crate::Result<String> {
    if array.element_count() > MAX_SHOWN_ELEMENTS {
        return Ok(format!("{} {:?}", array.datatype(), array.shape()));
    }
    let mut text = Vec::new();
    array.write_json(&mut text, FloatText::Shortest)?;
    Ok(String::from_utf8_lossy(&text).trim_end().to_owned())
}
