//! Scalars and attributes as Python values.

use std::borrow::Cow;

use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyComplex, PyDict, PyInt, PyList, PyString, PyType};
use trilith::Item;
use trilith::asdf::complex;
use trilith::tree::{Scalar, Value, ValueData};

use crate::errors::{FormatError, IntoPyResult, UsageErrorKind};

/// A class or function of the module `trilith._values`.
pub(crate) fn import_value_helper<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import(intern!(py, "trilith._values"))?.getattr(name)
}

/// The class of `trilith` that keeps a tag: `TaggedString`, `TaggedDict` or `TaggedList`.
pub(crate) fn tagged_class<'py>(py: Python<'py>, name: &'static str) -> PyResult<&'py Bound<'py, PyType>> {
    static TAGGED_CLASSES: [PyOnceLock<Py<PyType>>; 3] = [PyOnceLock::new(), PyOnceLock::new(), PyOnceLock::new()];
    let [text, mapping, sequence] = &TAGGED_CLASSES;
    let class = match name {
        "TaggedDict" => mapping,
        "TaggedList" => sequence,
        _ => text,
    };
    class.import(py, "trilith._values", name)
}

/// Returns the Python object for a scalar.
pub(crate) fn to_python<'py>(py: Python<'py>, item: &Item<'_>) -> PyResult<Bound<'py, PyAny>> {
    let foreign = item.metadata().tag.filter(|tag| !tag.starts_with("tag:yaml.org,2002:"));
    let Some(tag) = foreign else {
        return value_at(py, item.value().or_raise(UsageErrorKind::Key)?, || item.line_column());
    };
    let text = item.text().or_raise(UsageErrorKind::Key)?;
    if is_complex(tag)
        && let Some((re, im)) = complex(&text)
    {
        return Ok(PyComplex::from_doubles(py, re, im).into_any());
    }
    tagged_class(py, "TaggedString")?.call1((text, tag))
}

/// Returns the Python object for a value that is written at this line and column.
pub(crate) fn value_at<'py>(
    py: Python<'py>,
    read: Scalar<'_>,
    place: impl FnOnce() -> Option<(u32, u32)>,
) -> PyResult<Bound<'py, PyAny>> {
    scalar_to_python(py, read).map_err(|error| match place() {
        Some((line, _)) if error.is_instance_of::<PyValueError>(py) => {
            FormatError::new_err(format!("line {line}: {}", error.value(py)))
        }
        _ => error,
    })
}

/// Returns the Python object for a value without a tag.
pub(crate) fn scalar_to_python<'py>(py: Python<'py>, value: Scalar<'_>) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Scalar::Null => py.None().into_bound(py),
        Scalar::Bool(value) => value.into_pyobject(py)?.to_owned().into_any(),
        Scalar::Int(value) => value.into_pyobject(py)?.into_any(),
        Scalar::BigInt(digits) => digits_to_python_int(py, &digits)?,
        Scalar::Float(value) => value.into_pyobject(py)?.into_any(),
        Scalar::Str(text) => PyString::new(py, &text).into_any(),
        // A day that does not exist stays text.
        Scalar::Timestamp(text) => import_value_helper(py, "timestamp")?.call1((text,))?,
        Scalar::Binary(text) => import_value_helper(py, "binary")?.call1((text,))?,
    })
}

/// Returns `True` if a tag is that of core/complex, whatever the generation.
fn is_complex(tag: &str) -> bool {
    let Some(name) = tag.strip_prefix("tag:stsci.edu:") else { return false };
    let last = name.rsplit('/').next().unwrap_or(name);
    last == "complex" || last.starts_with("complex-")
}

/// An integer of any size from its decimal digits. Python refuses to read more than 4,300 at once.
pub(crate) fn digits_to_python_int<'py>(py: Python<'py>, digits: &str) -> PyResult<Bound<'py, PyAny>> {
    const BUFFER_SIZE: usize = 4000;
    let class = py.get_type::<PyInt>();
    if digits.len() <= BUFFER_SIZE {
        return class.call1((digits,));
    }
    let (negative, digits) = digits.strip_prefix('-').map_or((false, digits), |rest| (true, rest));
    let mut value = 0i32.into_pyobject(py)?.into_any();
    let ten = 10i32.into_pyobject(py)?;
    for piece in digits.as_bytes().chunks(BUFFER_SIZE) {
        let piece = String::from_utf8_lossy(piece);
        value = value.mul(ten.pow(piece.len(), py.None())?)?.add(class.call1((&*piece,))?)?;
    }
    if negative { value.neg() } else { Ok(value) }
}

/// The attributes of an item as a dictionary; one that is only there is None.
pub(crate) fn attributes_to_dict<'py>(py: Python<'py>, item: &Item<'_>) -> PyResult<Bound<'py, PyDict>> {
    values_to_dict(py, item.attributes().or_raise(UsageErrorKind::Argument)?)
}

/// The words of the layout about an item as a dictionary.
pub(crate) fn layout_attributes<'py>(py: Python<'py>, item: &Item<'_>) -> PyResult<Bound<'py, PyDict>> {
    values_to_dict(py, item.storage_attributes().or_raise(UsageErrorKind::Argument)?)
}

/// The names of the axes of an item, and whether it is a coordinate.
pub(crate) fn item_axes(item: &Item<'_>) -> PyResult<(Vec<Option<String>>, bool)> {
    let axes = item.axes().or_raise(UsageErrorKind::Argument)?;
    Ok((axes.names, axes.is_coordinate))
}

fn values_to_dict<'py>(py: Python<'py>, said: Vec<(Cow<'_, str>, Value)>) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (name, value) in said {
        dict.set_item(name, attribute_value(py, &value)?)?;
    }
    Ok(dict)
}

/// The value of an attribute: a number, a string, or a list.
fn attribute_value<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    Ok(match &value.data {
        ValueData::Bool(value) => value.into_pyobject(py)?.to_owned().into_any(),
        ValueData::Int(value) => value.into_pyobject(py)?.into_any(),
        ValueData::BigInt(digits) => digits_to_python_int(py, digits)?,
        ValueData::Float(value) => value.into_pyobject(py)?.into_any(),
        ValueData::Str(text) if value.is_binary() => import_value_helper(py, "binary")?.call1((text,))?,
        ValueData::Str(text) | ValueData::Plain(text) => text.into_pyobject(py)?.into_any(),
        ValueData::Seq(items) => {
            PyList::new(py, items.iter().map(|item| attribute_value(py, item)).collect::<PyResult<Vec<_>>>()?)?.into_any()
        }
        _ => py.None().into_bound(py),
    })
}
