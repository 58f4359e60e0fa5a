//! Scalars and attributes as Python values.

use pyo3::exceptions::{PyOverflowError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyComplex, PyDict, PyInt, PyList, PyString, PyTuple, PyType};
use trilith::Item;
use trilith::array::Datatype;
use trilith::array::attribute::{AttributeNumber, AttributeRole, AttributeValue, NumberValue};
use trilith::asdf::complex;
use trilith::file::{AddressTarget, part_value};
use trilith::layout::{Attribute, LayoutLiteral};
use trilith::tree::Scalar;

use crate::errors::{FormatError, IntoPyResult, UsageErrorKind, raise_from, to_python_error};

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
        return value_at(py, item.value().or_raise_from(UsageErrorKind::Key, item.backend().source())?, || item.line_column());
    };
    let text = item.text().or_raise_from(UsageErrorKind::Key, item.backend().source())?;
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

/// The attributes of an item, those of the HDU that holds it included, as a `trilith.Attributes`; one that is only there is None.
/// Attributes that the elements already follow are left out.
pub(crate) fn attributes_to_dict<'py>(py: Python<'py>, item: &Item<'_>) -> PyResult<Bound<'py, PyAny>> {
    let all = item.header().attributes().or_raise_from(UsageErrorKind::Argument, item.backend().source())?;
    let is_header = item.backend().family() == "fits";
    let rows = PyList::empty(py);
    for attribute in all.into_iter().filter(|attribute| is_header || attribute.role != AttributeRole::Applied) {
        // The mapping raises it when somebody asks for the value.
        let value = match attribute.value.unreadable() {
            Some(why) => {
                raise_from(why, UsageErrorKind::Argument, &**item.backend().source()).into_value(py).into_bound(py).into_any()
            }
            None => attribute_value(py, &attribute.value)?,
        };
        rows.append((attribute.name, value, attribute.comment, attribute.unit))?;
    }
    import_value_helper(py, "Attributes")?.call_method1("_of_rows", (rows, is_header))
}

/// An empty mapping of attributes.
pub(crate) fn no_attributes(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    import_value_helper(py, "Attributes")?.call0()
}

/// The words of the layout about an item as a dictionary.
pub(crate) fn layout_attributes<'py>(py: Python<'py>, item: &Item<'_>) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    if let Some((file, id)) = item.as_dudley() {
        for (name, said) in file.storage_attributes(id).or_raise_from(UsageErrorKind::Argument, file.source())? {
            dict.set_item(name, word_value(py, &said)?)?;
        }
    }
    Ok(dict)
}

/// The attribute, or the computed value, that an address leads to from an item; None if it leads to an item.
pub(crate) fn address_value<'py>(py: Python<'py>, item: &Item<'_>, text: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
    if !text.contains('@') {
        return Ok(None);
    }
    match py.detach(|| item.header().resolve_address(text)).or_raise_from(UsageErrorKind::Key, item.backend().source())? {
        AddressTarget::Attribute(_, attribute, part) => attribute_value(py, &part_value(&attribute, part)).map(Some),
        AddressTarget::Computed(item, value) => {
            let cell = py.detach(|| value.compute(&item)).or_raise_from(UsageErrorKind::Key, item.backend().source())?;
            crate::table::cell_to_python(py, &cell).map(Some)
        }
        _ => Ok(None),
    }
}

/// The names of the axes of an item, and whether it is a coordinate.
pub(crate) fn item_axes(item: &Item<'_>) -> PyResult<(Vec<Option<String>>, bool)> {
    let axes = item.axes().or_raise_from(UsageErrorKind::Argument, item.backend().source())?;
    Ok((axes.names, axes.is_coordinate))
}

/// A word of a layout: a number, a string, or a list.
fn word_value<'py>(py: Python<'py>, said: &Attribute) -> PyResult<Bound<'py, PyAny>> {
    let one = |literal: &LayoutLiteral| -> PyResult<Bound<'py, PyAny>> {
        Ok(match literal {
            LayoutLiteral::Integer(value) => value.into_pyobject(py)?.into_any(),
            LayoutLiteral::Large(digits) => digits_to_python_int(py, digits)?,
            LayoutLiteral::Float(value) => value.into_pyobject(py)?.into_any(),
            LayoutLiteral::Text(text) => text.into_pyobject(py)?.into_any(),
            LayoutLiteral::Bytes(bytes) => PyBytes::new(py, bytes).into_any(),
            _ => py.None().into_bound(py),
        })
    };
    Ok(match said {
        Attribute::Value(literal) => one(literal)?,
        Attribute::List(list) => PyList::new(py, list.iter().map(one).collect::<PyResult<Vec<_>>>()?)?.into_any(),
        _ => py.None().into_bound(py),
    })
}

/// The shape of nested lists of numbers; None if there is anything else in them, or their lengths differ.
fn number_shape(value: &AttributeValue) -> Option<Vec<usize>> {
    match value {
        AttributeValue::Number(_) | AttributeValue::Bool(_) => Some(Vec::new()),
        AttributeValue::List(values) => {
            let mut shapes = values.iter().map(number_shape);
            let inner = shapes.next()??;
            let is_regular = shapes.all(|other| other.as_ref() == Some(&inner));
            is_regular.then(|| std::iter::once(values.len()).chain(inner).collect())
        }
        _ => None,
    }
}

/// The value of an attribute: a scalar of numpy with the datatype of the file, a string, bytes, an array of numbers, or a list.
fn attribute_value<'py>(py: Python<'py>, value: &AttributeValue) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        AttributeValue::Text(text) | AttributeValue::Reference(text) => text.into_pyobject(py)?.into_any(),
        AttributeValue::Bytes(bytes) => PyBytes::new(py, bytes).into_any(),
        AttributeValue::Bool(value) => typed_number(py, value.into_pyobject(py)?.to_owned().into_any(), "bool")?,
        AttributeValue::Number(number) => typed_number(py, plain_number(py, number)?, numpy_name(&number.datatype))?,
        AttributeValue::List(values) => {
            let is_number = |value: &AttributeValue| matches!(value, AttributeValue::Number(_) | AttributeValue::Bool(_));
            let list = PyList::empty(py);
            if !values.is_empty() && values.iter().all(is_number) {
                for value in values {
                    list.append(match value {
                        AttributeValue::Number(number) => plain_number(py, number)?,
                        other => attribute_value(py, other)?,
                    })?;
                }
                let name = |value: &AttributeValue| match value {
                    AttributeValue::Number(number) => numpy_name(&number.datatype),
                    _ => "bool",
                };
                let mut names = values.iter().map(name);
                // numpy finds a datatype for numbers of several.
                let first = names.next().filter(|first| names.all(|name| name == *first));
                return py.import(intern!(py, "numpy"))?.call_method1(intern!(py, "array"), (list, first));
            }
            for value in values {
                list.append(attribute_value(py, value)?)?;
            }
            if number_shape(value).is_some_and(|shape| shape.len() > 1) {
                return py.import(intern!(py, "numpy"))?.call_method1(intern!(py, "array"), (list,));
            }
            list.into_any()
        }
        AttributeValue::Unreadable(why) => return Err(to_python_error(why, UsageErrorKind::Argument)),
        AttributeValue::Array(array) => {
            let elements = crate::array::load_array(py, array)?;
            if array.shape().is_empty() { elements.get_item(PyTuple::empty(py))? } else { elements }
        }
        _ => py.None().into_bound(py),
    })
}

/// The name of a datatype in numpy.
fn numpy_name(datatype: &Datatype) -> &'static str {
    if *datatype == Datatype::Bool8 { "bool" } else { datatype.name() }
}

/// A number of Python.
fn plain_number<'py>(py: Python<'py>, number: &AttributeNumber) -> PyResult<Bound<'py, PyAny>> {
    Ok(match number.value {
        NumberValue::Int(value) => value.into_pyobject(py)?.into_any(),
        NumberValue::Float(value) => value.into_pyobject(py)?.into_any(),
        NumberValue::Complex(re, im) => PyComplex::from_doubles(py, re, im).into_any(),
        _ => py.None().into_bound(py),
    })
}

/// A number as a scalar of numpy; an integer beyond 64 bits stays one of Python.
fn typed_number<'py>(py: Python<'py>, number: Bound<'py, PyAny>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    let typed = py.import(intern!(py, "numpy"))?.getattr(intern!(py, "dtype"))?.call1((name,))?.getattr(intern!(py, "type"))?;
    match typed.call1((&number,)) {
        Err(error) if error.is_instance_of::<PyOverflowError>(py) => Ok(number),
        made => made,
    }
}
