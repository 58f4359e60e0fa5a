//! Datatypes of the library and dtypes of numpy.

use std::sync::Arc;

use pyo3::exceptions::{PyNotImplementedError, PyTypeError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyList, PyString, PyTuple};
use trilith::array::{Byteorder, Datatype, Field, StructType};

/// The module `numpy`, imported once.
pub(crate) fn import_numpy(py: Python<'_>) -> PyResult<Bound<'_, PyModule>> {
    static NUMPY: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    Ok(NUMPY.get_or_try_init(py, || Ok::<_, PyErr>(py.import("numpy")?.unbind()))?.bind(py).clone())
}

/// The form of UTF-8 strings in numpy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Utf8Form {
    /// Objects: strings of Python, or bytes if they are not UTF-8.
    Objects,
    /// Bytes of UTF-8.
    Bytes,
}

/// The dtype of an array's elements as they are read: in the order of this machine, structures packed.
pub(crate) fn to_numpy<'py>(py: Python<'py>, datatype: &Datatype) -> PyResult<Bound<'py, PyAny>> {
    to_numpy_with(py, datatype, Utf8Form::Objects)
}

/// Does the same as [`to_numpy`], with a form of UTF-8 strings.
pub(crate) fn to_numpy_with<'py>(py: Python<'py>, datatype: &Datatype, utf8: Utf8Form) -> PyResult<Bound<'py, PyAny>> {
    // Each dtype of numbers is made once.
    static NUMBERS: PyOnceLock<Py<PyDict>> = PyOnceLock::new();
    let described = to_dtype_argument(py, datatype, utf8)?;
    let make = || import_numpy(py)?.call_method1(intern!(py, "dtype"), (&described,));
    if datatype.is_text() || matches!(datatype, Datatype::Struct(_)) {
        return make();
    }
    let known = NUMBERS.get_or_init(py, || PyDict::new(py).unbind()).bind(py);
    if let Some(dtype) = known.get_item(&described)? {
        return Ok(dtype);
    }
    let dtype = make()?;
    known.set_item(&described, &dtype)?;
    Ok(dtype)
}

/// Returns `true` for UTF-8 strings, and structs with some: the library hands them out only if some are not UTF-8.
pub(crate) fn has_utf8(datatype: &Datatype) -> bool {
    match datatype {
        // Structures nest no deeper than the library allows.
        Datatype::Struct(fields) => fields.fields().iter().any(|field| has_utf8(&field.datatype)),
        datatype => matches!(datatype, Datatype::Utf8(_)),
    }
}

/// Returns the argument from which `numpy.dtype` makes a dtype.
fn to_dtype_argument<'py>(py: Python<'py>, datatype: &Datatype, utf8: Utf8Form) -> PyResult<Bound<'py, PyAny>> {
    let name = match datatype {
        Datatype::Bool8 => "?".to_owned(),
        Datatype::Utf8(_) if utf8 == Utf8Form::Objects => "O".to_owned(),
        Datatype::Ascii(n) | Datatype::Utf8(n) => format!("S{n}"),
        Datatype::Ucs4(n) => format!("U{n}"),
        // numpy's long double is the same number on this processor only.
        Datatype::Float128 if cfg!(all(target_arch = "x86_64", unix)) => "g".to_owned(),
        Datatype::Complex256 if cfg!(all(target_arch = "x86_64", unix)) => "G".to_owned(),
        Datatype::Complex32 | Datatype::Ucs2(_) | Datatype::Float128 | Datatype::Complex256 => {
            return Err(PyNotImplementedError::new_err(format!("numpy has no datatype {datatype} on this machine")));
        }
        // Structures nest no deeper than the library allows.
        Datatype::Struct(fields) => return struct_description(py, fields, utf8),
        plain => plain.name().to_owned(),
    };
    Ok(PyString::new(py, &name).into_any())
}

fn struct_description<'py>(py: Python<'py>, fields: &StructType, utf8: Utf8Form) -> PyResult<Bound<'py, PyAny>> {
    let list = PyList::empty(py);
    for (i, field) in fields.fields().iter().enumerate() {
        let (name, inner) = (field.name_or(i), to_dtype_argument(py, &field.datatype, utf8)?);
        if field.shape.is_empty() {
            list.append((name, inner))?;
        } else {
            list.append((name, inner, PyTuple::new(py, &field.shape)?))?;
        }
    }
    Ok(list.into_any())
}

/// Returns `True` if an array in memory already has the form of [`to_numpy`].
pub(crate) fn is_native(datatype: &Datatype, order: Byteorder) -> bool {
    match datatype {
        // Any nonzero byte is true in a file, which numpy does not expect.
        Datatype::Bool8 => false,
        // Objects of Python are not in the file.
        Datatype::Utf8(_) => false,
        Datatype::Struct(fields) => {
            let packed = fields.packed(Byteorder::NATIVE);
            fields.item_size() == packed.item_size()
                && fields.fields().iter().zip(packed.fields()).all(|(a, b)| a.offset == b.offset)
                && fields.fields().iter().all(|field| is_native(&field.datatype, field.byteorder))
        }
        Datatype::Int8 | Datatype::Uint8 | Datatype::Ascii(_) => true,
        _ => order == Byteorder::NATIVE,
    }
}

/// Returns the alignment of elements in memory.
pub(crate) fn element_alignment(datatype: &Datatype) -> u64 {
    match datatype {
        Datatype::Struct(_) | Datatype::Ascii(_) | Datatype::Utf8(_) | Datatype::Bool8 => 1,
        Datatype::Ucs4(_) => 4,
        plain if plain.is_complex() => (plain.item_size() / 2).max(1),
        plain => plain.item_size().max(1),
    }
}

/// The datatype and byteorder of a numpy dtype, as its bytes are.
pub(crate) fn from_numpy(dtype: &Bound<'_, PyAny>) -> PyResult<(Datatype, Byteorder)> {
    let py = dtype.py();
    let order = match dtype.getattr(intern!(py, "byteorder"))?.extract::<String>()?.as_str() {
        ">" => Byteorder::Big,
        "<" => Byteorder::Little,
        _ => Byteorder::NATIVE,
    };
    let size: u64 = dtype.getattr(intern!(py, "itemsize"))?.extract()?;
    let unknown = || PyTypeError::new_err(format!("arrays of dtype {dtype} cannot be written"));
    let family = match dtype.getattr(intern!(py, "kind"))?.extract::<String>()?.as_str() {
        "b" => "bool",
        "i" => "int",
        "u" => "uint",
        "f" => "float",
        "c" => "complex",
        "S" => return Ok((Datatype::Ascii(u32::try_from(size).map_err(|_| unknown())?), order)),
        "U" => return Ok((Datatype::Ucs4(u32::try_from(size / 4).map_err(|_| unknown())?), order)),
        "V" if !dtype.getattr(intern!(py, "names"))?.is_none() => return Ok((struct_from(dtype, size)?, order)),
        _ => return Err(unknown()),
    };
    let datatype = Datatype::from_name(&format!("{family}{}", size * 8)).ok_or_else(unknown)?;
    Ok((datatype, order))
}

fn struct_from(dtype: &Bound<'_, PyAny>, size: u64) -> PyResult<Datatype> {
    let py = dtype.py();
    let all = dtype.getattr(intern!(py, "fields"))?;
    let mut fields = Vec::new();
    for name in dtype.getattr(intern!(py, "names"))?.try_iter()? {
        let name = name?;
        let entry = all.get_item(&name)?;
        let (inner, offset) = (entry.get_item(0)?, entry.get_item(1)?.extract::<u64>()?);
        let shape: Vec<u64> = inner.getattr(intern!(py, "shape"))?.extract()?;
        let (datatype, order) = from_numpy(&inner.getattr(intern!(py, "base"))?)?;
        fields.push(Field::new(name.extract::<String>()?, datatype, order).with_shape(shape).with_offset(offset));
    }
    let made = StructType::with_offsets(fields, size).map_err(|error| PyTypeError::new_err(error.to_string()))?;
    Ok(Datatype::Struct(Arc::new(made)))
}

/// Keyword arguments from names and values.
pub(crate) fn build_keyword_arguments<'py>(py: Python<'py>, pairs: &[(&str, Bound<'py, PyAny>)]) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (name, value) in pairs {
        dict.set_item(name, value)?;
    }
    Ok(dict)
}
