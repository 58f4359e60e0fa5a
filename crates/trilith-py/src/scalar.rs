//! Scalars of the tree as Python values.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyComplex, PyDict, PyInt, PyList, PyString, PyType};
use trilith::asdf::complex;
use trilith::layout::{Attribute, Literal};
use trilith::tree::{Node, Scalar};

use crate::errors::FormatError;

/// A class or function of the module `trilith._values`.
pub fn helper<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import(intern!(py, "trilith._values"))?.getattr(name)
}

/// `trilith.TaggedString`.
pub fn tagged_string(py: Python<'_>) -> PyResult<&Bound<'_, PyType>> {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    CLASS.import(py, "trilith._values", "TaggedString")
}

/// What a scalar node is in Python.
pub fn to_python<'py>(py: Python<'py>, node: Node<'_>) -> PyResult<Bound<'py, PyAny>> {
    let foreign = node.tag().filter(|tag| !tag.starts_with("tag:yaml.org,2002:"));
    if let Some(tag) = foreign {
        let text = node.text();
        if is_complex(tag)
            && let Some((re, im)) = complex(&text)
        {
            return Ok(PyComplex::from_doubles(py, re, im).into_any());
        }
        return tagged_string(py)?.call1((text, tag));
    }
    Ok(match node.scalar() {
        Scalar::Null => py.None().into_bound(py),
        Scalar::Bool(value) => value.into_pyobject(py)?.to_owned().into_any(),
        Scalar::Int(value) => value.into_pyobject(py)?.into_any(),
        Scalar::BigInt(digits) => integer(py, &digits)?,
        Scalar::Float(value) => value.into_pyobject(py)?.into_any(),
        Scalar::Str(text) => PyString::new(py, &text).into_any(),
        // A day that does not exist stays text.
        Scalar::Timestamp(text) => helper(py, "timestamp")?.call1((text,))?,
        Scalar::Binary(text) => {
            let bytes = helper(py, "binary")?.call1((text,));
            bytes.map_err(|e| FormatError::new_err(format!("line {}: {}", node.line_column().0, e.value(py))))?
        }
    })
}

/// Whether a tag is that of core/complex, whatever the generation.
fn is_complex(tag: &str) -> bool {
    let Some(name) = tag.strip_prefix("tag:stsci.edu:") else { return false };
    let last = name.rsplit('/').next().unwrap_or(name);
    last == "complex" || last.starts_with("complex-")
}

/// An integer of any size from its decimal digits. Python refuses to read more than 4,300 at once.
pub fn integer<'py>(py: Python<'py>, digits: &str) -> PyResult<Bound<'py, PyAny>> {
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

/// Attributes of a layout as a dictionary; one that is only there is None.
pub fn attributes<'py, 's>(
    py: Python<'py>,
    said: impl IntoIterator<Item = (&'s str, &'s Attribute)>,
) -> PyResult<Bound<'py, PyDict>> {
    let word = |word: &Literal| -> PyResult<Bound<'py, PyAny>> {
        Ok(match word {
            Literal::Integer(value) => value.into_pyobject(py)?.into_any(),
            Literal::Float(value) => value.into_pyobject(py)?.into_any(),
            Literal::Text(text) => text.into_pyobject(py)?.into_any(),
            _ => py.None().into_bound(py),
        })
    };
    let dict = PyDict::new(py);
    for (name, said) in said {
        let value = match said {
            Attribute::Value(value) => word(value)?,
            Attribute::List(values) => PyList::new(py, values.iter().map(word).collect::<PyResult<Vec<_>>>()?)?.into_any(),
            _ => py.None().into_bound(py),
        };
        dict.set_item(name, value)?;
    }
    Ok(dict)
}
