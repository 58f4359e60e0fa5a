//! Scalars and attributes as Python values.

use std::borrow::Cow;

use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyComplex, PyDict, PyInt, PyList, PyString, PyType};
use trilith::Item;
use trilith::asdf::complex;
use trilith::tree::{Data, Scalar, Value};

use crate::errors::{About, FormatError, Raise};

/// A class or function of the module `trilith._values`.
pub(crate) fn helper<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import(intern!(py, "trilith._values"))?.getattr(name)
}

/// The class of `trilith` that keeps a tag: `TaggedString`, `TaggedDict` or `TaggedList`.
pub(crate) fn tagged_class<'py>(py: Python<'py>, name: &'static str) -> PyResult<&'py Bound<'py, PyType>> {
    static CLASSES: [PyOnceLock<Py<PyType>>; 3] = [PyOnceLock::new(), PyOnceLock::new(), PyOnceLock::new()];
    let [text, mapping, sequence] = &CLASSES;
    let class = match name {
        "TaggedDict" => mapping,
        "TaggedList" => sequence,
        _ => text,
    };
    class.import(py, "trilith._values", name)
}

/// Returns the Python object for a scalar.
pub(crate) fn to_python<'py>(py: Python<'py>, item: &Item<'_>) -> PyResult<Bound<'py, PyAny>> {
    let foreign = item.notes().tag.filter(|tag| !tag.starts_with("tag:yaml.org,2002:"));
    let Some(tag) = foreign else {
        return written(py, item.value().or_raise(About::Key)?, || item.line_column());
    };
    let text = item.text().or_raise(About::Key)?;
    if is_complex(tag)
        && let Some((re, im)) = complex(&text)
    {
        return Ok(PyComplex::from_doubles(py, re, im).into_any());
    }
    tagged_class(py, "TaggedString")?.call1((text, tag))
}

/// Returns the Python object for a value that is written at this line and column.
pub(crate) fn written<'py>(
    py: Python<'py>,
    read: Scalar<'_>,
    place: impl FnOnce() -> Option<(u32, u32)>,
) -> PyResult<Bound<'py, PyAny>> {
    value(py, read).map_err(|error| match place() {
        Some((line, _)) if error.is_instance_of::<PyValueError>(py) => {
            FormatError::new_err(format!("line {line}: {}", error.value(py)))
        }
        _ => error,
    })
}

/// Returns the Python object for a value without a tag.
pub(crate) fn value<'py>(py: Python<'py>, value: Scalar<'_>) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Scalar::Null => py.None().into_bound(py),
        Scalar::Bool(value) => value.into_pyobject(py)?.to_owned().into_any(),
        Scalar::Int(value) => value.into_pyobject(py)?.into_any(),
        Scalar::BigInt(digits) => integer(py, &digits)?,
        Scalar::Float(value) => value.into_pyobject(py)?.into_any(),
        Scalar::Str(text) => PyString::new(py, &text).into_any(),
        // A day that does not exist stays text.
        Scalar::Timestamp(text) => helper(py, "timestamp")?.call1((text,))?,
        Scalar::Binary(text) => helper(py, "binary")?.call1((text,))?,
    })
}

/// Returns `True` if a tag is that of core/complex, whatever the generation.
fn is_complex(tag: &str) -> bool {
    let Some(name) = tag.strip_prefix("tag:stsci.edu:") else { return false };
    let last = name.rsplit('/').next().unwrap_or(name);
    last == "complex" || last.starts_with("complex-")
}

/// An integer of any size from its decimal digits. Python refuses to read more than 4,300 at once.
pub(crate) fn integer<'py>(py: Python<'py>, digits: &str) -> PyResult<Bound<'py, PyAny>> {
    const PIECE: usize = 4000;
    let class = py.get_type::<PyInt>();
    if digits.len() <= PIECE {
        return class.call1((digits,));
    }
    let (negative, digits) = digits.strip_prefix('-').map_or((false, digits), |rest| (true, rest));
    let mut value = 0i32.into_pyobject(py)?.into_any();
    let ten = 10i32.into_pyobject(py)?;
    for piece in digits.as_bytes().chunks(PIECE) {
        let piece = String::from_utf8_lossy(piece);
        value = value.mul(ten.pow(piece.len(), py.None())?)?.add(class.call1((&*piece,))?)?;
    }
    if negative { value.neg() } else { Ok(value) }
}

/// The attributes of an item as a dictionary; one that is only there is None.
pub(crate) fn attributes<'py>(py: Python<'py>, item: &Item<'_>) -> PyResult<Bound<'py, PyDict>> {
    dict(py, item.attributes().or_raise(About::Argument)?)
}

/// The words of the layout about an item as a dictionary.
pub(crate) fn words<'py>(py: Python<'py>, item: &Item<'_>) -> PyResult<Bound<'py, PyDict>> {
    dict(py, item.words().or_raise(About::Argument)?)
}

/// The names of the axes of an item, and whether it is a coordinate.
pub(crate) fn axes(item: &Item<'_>) -> PyResult<(Vec<Option<String>>, bool)> {
    let axes = item.axes().or_raise(About::Argument)?;
    Ok((axes.names, axes.is_coordinate))
}

fn dict<'py>(py: Python<'py>, said: Vec<(Cow<'_, str>, Value)>) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (name, value) in said {
        dict.set_item(name, plain(py, &value)?)?;
    }
    Ok(dict)
}

/// The value of an attribute: a number, a string, or a list.
fn plain<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    Ok(match &value.data {
        Data::Bool(value) => value.into_pyobject(py)?.to_owned().into_any(),
        Data::Int(value) => value.into_pyobject(py)?.into_any(),
        Data::BigInt(digits) => integer(py, digits)?,
        Data::Float(value) => value.into_pyobject(py)?.into_any(),
        Data::Str(text) | Data::Plain(text) => text.into_pyobject(py)?.into_any(),
        Data::Seq(items) => PyList::new(py, items.iter().map(|item| plain(py, item)).collect::<PyResult<Vec<_>>>()?)?.into_any(),
        _ => py.None().into_bound(py),
    })
}
