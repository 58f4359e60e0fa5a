//! Python values as the items of a Dudley stream.

use std::io::Cursor;

use pyo3::exceptions::{PyNotImplementedError, PyValueError};
use pyo3::prelude::*;
use trilith::array::Array;
use trilith::asdf::{ArrayOptions, Target};
use trilith::bytes::{NewFile, WriteBasis, WritePath};
use trilith::dudley::{Draft, native_order};
use trilith::layout::Dialect;
use trilith::tree::{Value, ValueData};
use trilith::{Error, Limits, Result};
use trilith_codec::codec;

use crate::errors::{IntoPyResult, UsageErrorKind};
use crate::to_value::{DetachedArrays, ValueCollector};

/// Returns one array of Python's, with its mask. A caller without a place for a mask refuses it. No caller has a
/// place for a unit.
pub(crate) fn collect_array(given: &Bound<'_, PyAny>) -> PyResult<Array> {
    let mut collector = ValueCollector::new(Target::latest(), 0);
    let numpy = crate::dtype::import_numpy(given.py())?;
    if given.hasattr("to_value")? && given.hasattr("unit")? {
        let unit = given.getattr("unit")?.str()?;
        if unit.len()? > 0 {
            let message = format!("a layout has no place for the unit {unit}; pass only the numbers, as to_value returns them");
            return Err(PyNotImplementedError::new_err(message));
        }
    }
    let is_masked = numpy.getattr("ma")?.call_method1("isMaskedArray", (given,))?.is_truthy()?;
    let array = if is_masked { given.clone() } else { numpy.call_method1("asarray", (given,))? };
    let value = collector.collect_value(&array)?;
    collector.detach()?.entire_array(&value).or_raise(UsageErrorKind::Argument)
}

/// Returns one array of Python's, or the space that a `trilith.Reserved` reserves.
pub(crate) fn array_or_reserved(given: &Bound<'_, PyAny>) -> PyResult<Array> {
    let kind = given.py().import("trilith._values")?.getattr("Reserved")?;
    if !given.is_instance(&kind)? {
        return collect_array(given);
    }
    let mut collector = ValueCollector::new(Target::latest(), 0);
    let value = collector.collect_value(given)?;
    let space = collector.detach()?.reserved_array(&value);
    space.unwrap_or_else(|| Err(Error::invalid_input("this is not a Reserved"))).or_raise(UsageErrorKind::Argument)
}

/// Collections around an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DraftContext {
    /// Dicts only.
    Dicts,
    /// At least one list.
    List,
}

impl DetachedArrays<'_> {
    /// Returns the items of a stream: integers are fixed parameters, other numbers and strings are arrays without
    /// axes. Below a list, if parameters are not seen again, integers are arrays as well.
    pub(crate) fn to_draft(&self, value: &Value) -> Result<Draft> {
        self.to_item_draft(value, 0, DraftContext::Dicts)
    }

    fn to_item_draft(&self, value: &Value, depth: usize, context: DraftContext) -> Result<Draft> {
        let below_list = context == DraftContext::List;
        // The collector accepts values up to this nesting depth.
        if depth > 256 {
            return Err(Error::invalid_input("the items nest too deep"));
        }
        if let Some(array) = self.reserved_array(value).or_else(|| self.stored_array(value)) {
            return Ok(Draft::data(array?));
        }
        match &value.data {
            ValueData::Map(pairs) => {
                let mut items = Vec::with_capacity(pairs.len());
                for (key, item) in pairs {
                    let name = key.as_str().ok_or_else(|| Error::invalid_input("the name of an item is text"))?;
                    let item = match item.data {
                        ValueData::Int(number) if below_list && self.stored_array(item).is_none() => {
                            Draft::data(Array::from_slice(&[number], &[])?)
                        }
                        _ => self.to_item_draft(item, depth + 1, context)?,
                    };
                    items.push((name.to_owned(), item));
                }
                if below_list && items.is_empty() {
                    return Err(unsupported_value());
                }
                Ok(Draft::dict(items))
            }
            ValueData::Seq(items) if below_list && items.is_empty() => Err(unsupported_value()),
            ValueData::Seq(items) => {
                let drafts = items.iter().map(|item| self.to_item_draft(item, depth + 1, DraftContext::List));
                Ok(Draft::list(drafts.collect::<Result<Vec<_>>>()?))
            }
            ValueData::Int(number) => Ok(Draft::fixed_param(*number)),
            ValueData::Float(number) => Ok(Draft::data(Array::from_slice(&[*number], &[])?)),
            ValueData::Str(text) => Ok(Draft::data(Array::from_texts(std::slice::from_ref(text), &[])?)),
            _ => Err(Error::invalid_input("a Dudley file holds only dictionaries, lists, arrays, numbers and strings")),
        }
    }
}

#[cold]
fn unsupported_value() -> Error {
    Error::invalid_input("a list of a stream holds no dictionary and no list without items: it would not be seen again")
}

/// The dialect that a version names, if it is one of Dudley's.
pub(crate) fn parse_dialect_version(version: &str) -> Option<Dialect> {
    version.strip_prefix("dudley-").and_then(Dialect::from_name)
}

/// A native file, as its bytes.
pub(crate) fn to_bytes(ready: &DetachedArrays<'_>, value: &Value, dialect: Dialect) -> Result<Vec<u8>> {
    let mut out = Cursor::new(Vec::new());
    ready.to_draft(value)?.write_as(dialect, native_order(), &Limits::from_env()?, &mut out)?;
    Ok(out.into_inner())
}

/// A native file, at a path.
pub(crate) fn write_native_file(ready: &DetachedArrays<'_>, value: &Value, dialect: Dialect, place: WritePath) -> Result<()> {
    let draft = ready.to_draft(value)?;
    let mut file = NewFile::create_regular(place, WriteBasis::Nothing)?;
    draft.write_as(dialect, native_order(), &Limits::from_env()?, &mut file.writer())?;
    file.commit().map(drop)
}

/// Returns the form of storage of arrays, by the name of a codec and its level.
///
/// # Errors
/// Returns `ValueError` for an unknown codec.
pub(crate) fn array_options(codec: Option<&str>, level: Option<i32>) -> PyResult<ArrayOptions> {
    let mut options = match codec {
        None => ArrayOptions::default(),
        Some(name) => codec_options(name)?,
    };
    options.level = level;
    Ok(options)
}

/// The options for a codec that there is: an argument is checked although no array may need it.
fn codec_options(name: &str) -> PyResult<ArrayOptions> {
    let options = ArrayOptions::codec(name).or_raise(UsageErrorKind::Argument)?;
    match options.codec {
        Some(codec) if codec.is_none() || codec::opt_codec(codec).is_some() => Ok(options),
        _ => {
            let names: Vec<String> = codec::CODECS.iter().map(|codec| codec.id.to_string()).collect();
            Err(PyValueError::new_err(format!("unknown codec {name:?}; known: none, {}", names.join(", "))))
        }
    }
}
