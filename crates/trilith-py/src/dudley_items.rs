//! Python values as the items of a Dudley stream.

use std::io::Cursor;

use pyo3::exceptions::{PyNotImplementedError, PyValueError};
use pyo3::prelude::*;
use trilith::array::Array;
use trilith::asdf::{ArrayOptions, Target};
use trilith::bytes::{AtomicFile, Basis, WritePath};
use trilith::dudley::{Draft, native_order};
use trilith::layout::Dialect;
use trilith::tree::{Data, Value};
use trilith::{Error, Limits, Result};
use trilith_codec::codec;

use crate::errors::{About, Raise};
use crate::to_value::{Collector, Ready};

/// Returns one array of Python's, with its mask. A caller without a place for a mask refuses it. No caller has a
/// place for a unit.
pub(crate) fn array(given: &Bound<'_, PyAny>) -> PyResult<Array> {
    let mut collector = Collector::new(Target::newest(), 0);
    let numpy = crate::dtype::numpy(given.py())?;
    if given.hasattr("to_value")? && given.hasattr("unit")? {
        let unit = given.getattr("unit")?.str()?;
        if unit.len()? > 0 {
            let message = format!("a layout has no place for the unit {unit}; pass only the numbers, as to_value returns them");
            return Err(PyNotImplementedError::new_err(message));
        }
    }
    let is_masked = numpy.getattr("ma")?.call_method1("isMaskedArray", (given,))?.is_truthy()?;
    let array = if is_masked { given.clone() } else { numpy.call_method1("asarray", (given,))? };
    let value = collector.value(&array)?;
    collector.ready()?.whole(&value).or_raise(About::Argument)
}

/// Returns one array of Python's, or the space that a `trilith.Reserved` reserves.
pub(crate) fn array_or_space(given: &Bound<'_, PyAny>) -> PyResult<Array> {
    let kind = given.py().import("trilith._values")?.getattr("Reserved")?;
    if !given.is_instance(&kind)? {
        return array(given);
    }
    let mut collector = Collector::new(Target::newest(), 0);
    let value = collector.value(given)?;
    let space = collector.ready()?.reserved(&value);
    space.unwrap_or_else(|| Err(Error::invalid_input("this is not a Reserved"))).or_raise(About::Argument)
}

impl Ready<'_> {
    /// Returns the items of a stream: integers are fixed parameters, other numbers and strings are arrays without
    /// axes. Below a list, if parameters are not seen again, integers are arrays as well.
    pub(crate) fn draft(&self, value: &Value) -> Result<Draft> {
        self.item(value, 0, false)
    }

    fn item(&self, value: &Value, depth: usize, below_list: bool) -> Result<Draft> {
        // The collector accepts values up to this nesting depth.
        if depth > 256 {
            return Err(Error::invalid_input("the items nest too deep"));
        }
        if let Some(array) = self.reserved(value).or_else(|| self.stored(value)) {
            return Ok(Draft::data(array?));
        }
        match &value.data {
            Data::Map(pairs) => {
                let mut items = Vec::with_capacity(pairs.len());
                for (key, item) in pairs {
                    let name = key.as_str().ok_or_else(|| Error::invalid_input("the name of an item is text"))?;
                    let item = match item.data {
                        Data::Int(number) if below_list && self.stored(item).is_none() => {
                            Draft::data(Array::from_slice(&[number], &[])?)
                        }
                        _ => self.item(item, depth + 1, below_list)?,
                    };
                    items.push((name.to_owned(), item));
                }
                if below_list && items.is_empty() {
                    return Err(unseen());
                }
                Ok(Draft::dict(items))
            }
            Data::Seq(items) if below_list && items.is_empty() => Err(unseen()),
            Data::Seq(items) => {
                Ok(Draft::list(items.iter().map(|item| self.item(item, depth + 1, true)).collect::<Result<Vec<_>>>()?))
            }
            Data::Int(number) => Ok(Draft::param(*number)),
            Data::Float(number) => Ok(Draft::data(Array::from_slice(&[*number], &[])?)),
            Data::Str(text) => Ok(Draft::data(Array::from_texts(std::slice::from_ref(text), &[])?)),
            _ => Err(Error::invalid_input("a Dudley file holds only dictionaries, lists, arrays, numbers and strings")),
        }
    }
}

#[cold]
fn unseen() -> Error {
    Error::invalid_input("a list of a stream holds no dictionary and no list without items: it would not be seen again")
}

/// The dialect that a version names, if it is one of Dudley's.
pub(crate) fn dialect(version: &str) -> Option<Dialect> {
    version.strip_prefix("dudley-").and_then(Dialect::named)
}

/// A native file, as its bytes.
pub(crate) fn to_bytes(ready: &Ready<'_>, value: &Value, dialect: Dialect) -> Result<Vec<u8>> {
    let mut out = Cursor::new(Vec::new());
    ready.draft(value)?.write_as(dialect, native_order(), &Limits::from_env()?, &mut out)?;
    Ok(out.into_inner())
}

/// A native file, at a path.
pub(crate) fn write(ready: &Ready<'_>, value: &Value, dialect: Dialect, place: WritePath) -> Result<()> {
    let draft = ready.draft(value)?;
    let mut file = AtomicFile::create(place, Basis::Nothing)?;
    draft.write_as(dialect, native_order(), &Limits::from_env()?, &mut file)?;
    file.commit().map(drop)
}

/// Returns the form of storage of arrays, by the name of a codec and its level.
///
/// # Errors
/// Returns `ValueError` for an unknown codec.
pub(crate) fn array_options(codec: Option<&str>, level: Option<i32>) -> PyResult<ArrayOptions> {
    let mut options = match codec {
        None => ArrayOptions::default(),
        Some(name) => known(name)?,
    };
    options.level = level;
    Ok(options)
}

/// The options for a codec that there is: an argument is checked although no array may need it.
fn known(name: &str) -> PyResult<ArrayOptions> {
    let options = ArrayOptions::codec(name).or_raise(About::Argument)?;
    match options.codec {
        Some(codec) if codec.is_none() || codec::opt_codec(codec).is_some() => Ok(options),
        _ => {
            let names: Vec<String> = codec::CODECS.iter().map(|codec| codec.id.to_string()).collect();
            Err(PyValueError::new_err(format!("unknown codec {name:?}; known: none, {}", names.join(", "))))
        }
    }
}
