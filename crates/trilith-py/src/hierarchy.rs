//! The base of `trilith.zarr` and `trilith.virtual`: files as groups and arrays, and the places of their chunks.

use numpy::{PyArray1, PyArrayMethods};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyTuple};
use trilith::Result;
use trilith::array::{Byteorder, utf8_as_bytes};
use trilith::bytes::SourceBacking;
use trilith::file::Backend;
use trilith::hierarchy::{ArrayAxes, DimensionConventions, DimensionNames, Hierarchy, JsonValue, Node, StatedNames, numcodec};

use crate::array::{Array, view_bytes};
use crate::detached::detach_interruptible;
use crate::dtype::has_utf8;
use crate::errors::{IntoPyResult, UsageErrorKind};
use crate::file::File;
use crate::mapping::MappingBase;

/// Does something with what an open file is made on.
fn with_backend<R: Send>(opened: &Bound<'_, PyAny>, work: impl FnOnce(&dyn Backend) -> Result<R> + Send) -> PyResult<R> {
    let Ok(file) = opened.cast::<File>() else {
        return Err(PyTypeError::new_err(format!("expected an open file, found {}", opened.get_type().qualname()?)));
    };
    let file = file.get().trilith_file()?;
    detach_interruptible(opened.py(), || work(file.backend()))?.or_raise_from(UsageErrorKind::Argument, file.source())
}

/// A node: path, attributes, array, names of its axes, path of its mask, and the value that marks missing elements.
type NodeTuple<'py> =
    (String, Bound<'py, PyDict>, Option<Bound<'py, Array>>, Vec<String>, Option<String>, Option<Bound<'py, PyAny>>);

/// Nodes, and what cannot be reached with the reason.
type NodesAndProblems<'py> = (Vec<NodeTuple<'py>>, Vec<(String, String)>);

fn to_tuple(py: Python<'_>, node: Node) -> PyResult<NodeTuple<'_>> {
    let attributes = PyDict::new(py);
    for (name, value) in &node.attributes {
        attributes.set_item(name, json_to_python(py, value)?)?;
    }
    // Zarr has no objects: strings that are not in their declared encoding are bytes there, and so are the others.
    let array = match node.array {
        Some(array) if has_utf8(array.datatype()) => {
            Some(utf8_as_bytes(&array).or_raise_from(UsageErrorKind::Argument, array.source())?)
        }
        array => array,
    };
    let array = array.map(|array| Bound::new(py, Array::new(array, None))).transpose()?;
    let missing = node.missing.as_ref().map(|missing| json_to_python(py, missing)).transpose()?;
    Ok((node.path, attributes, array, node.dimensions, node.mask, missing))
}

/// A value of JSON. Trees nest no deeper than the library allows.
fn json_to_python<'py>(py: Python<'py>, value: &JsonValue) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        JsonValue::Bool(value) => value.into_pyobject(py)?.to_owned().into_any(),
        JsonValue::Int(value) => value.into_pyobject(py)?.into_any(),
        JsonValue::BigNumber(digits) => crate::scalar::digits_to_python_int(py, digits)?,
        JsonValue::Float(value) => value.into_pyobject(py)?.into_any(),
        JsonValue::Text(text) => text.into_pyobject(py)?.into_any(),
        JsonValue::List(items) => {
            let items = items.iter().map(|item| json_to_python(py, item)).collect::<PyResult<Vec<_>>>()?;
            PyList::new(py, items)?.into_any()
        }
        JsonValue::Map(pairs) => {
            let dict = PyDict::new(py);
            for (name, value) in pairs {
                dict.set_item(name, json_to_python(py, value)?)?;
            }
            dict.into_any()
        }
        _ => py.None().into_bound(py),
    })
}

/// The nodes of an open file, and what cannot be reached with the reason.
#[pyfunction]
pub(crate) fn _hierarchy<'py>(opened: &Bound<'py, PyAny>) -> PyResult<NodesAndProblems<'py>> {
    let found = with_backend(opened, Hierarchy::of_backend)?;
    let rows = found.nodes.into_iter().map(|node| to_tuple(opened.py(), node)).collect::<PyResult<_>>()?;
    Ok((rows, found.problems.into_iter().map(|(path, error)| (path, error.to_string())).collect()))
}

/// The names that the arrays of these keys and numbers of axes have by what their group says; None if nothing says them.
#[pyfunction]
#[allow(clippy::needless_pass_by_value, reason = "it comes from Python")]
pub(crate) fn _conventions(group: &Bound<'_, MappingBase>, arrays: Vec<(String, usize)>) -> PyResult<Vec<Option<Vec<String>>>> {
    let place = &group.get().0;
    detach_interruptible(group.py(), || {
        let found = DimensionConventions::detect(&place.item);
        arrays.iter().map(|(key, axes)| found.as_ref()?.names(key, *axes)).collect()
    })
}

/// Compares names of files in natural order: negative if the first is before the other.
#[pyfunction]
pub(crate) fn _natural(one: &str, other: &str) -> i8 {
    trilith_io::glob::natural(one, other) as i8
}

/// Names of the axes of arrays in a group and the groups below it.
#[pyclass(name = "_AxisNames", module = "trilith._trilith")]
#[derive(Default)]
pub(crate) struct AxisNameCache(DimensionNames);

#[pymethods]
impl AxisNameCache {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// Returns a copy of the axis names, with which a group below begins.
    fn __copy__(&self) -> Self {
        Self(self.0.clone())
    }

    /// The names of the axes of arrays: each is a key, a shape, and what is said of its axes. `first` are the names of the
    /// first axes of all.
    #[allow(clippy::needless_pass_by_value, reason = "it comes from Python")]
    fn name(&mut self, arrays: Vec<(String, Vec<u64>, StatedNames)>, first: Vec<String>) -> Vec<Vec<String>> {
        let arrays: Vec<_> =
            arrays.iter().map(|(key, shape, said)| ArrayAxes { key, shape, stated_names: said.clone() }).collect();
        self.0.assign_names(&arrays, &first)
    }
}

/// Returns the name of an open file, a word for its version when it was opened, and whether it has changed since.
#[pyfunction]
pub(crate) fn _state(opened: &Bound<'_, PyAny>) -> PyResult<(String, Option<String>, bool)> {
    with_backend(opened, |backend| {
        let source = backend.source();
        Ok((
            source.name().to_owned(),
            source.backing().and_then(SourceBacking::content_version),
            source.backing().is_some_and(SourceBacking::is_changed),
        ))
    })
}

/// Returns the places of the chunks of an array: the name of their file, the lengths of a chunk, whether its
/// elements are in Fortran order, codecs of numcodecs, offsets and lengths (0 if a chunk was never written), an
/// element that was never written, and the byte order if there is one.
#[pyfunction]
#[pyo3(signature = (array, rows=None))]
pub(crate) fn _manifest<'py>(array: &Bound<'py, Array>, rows: Option<u64>) -> PyResult<Bound<'py, PyTuple>> {
    let py = array.py();
    let described = &array.get().array;
    let found = detach_interruptible(py, || described.manifest(rows))?.or_raise(UsageErrorKind::Argument)?;
    let codecs: Result<Vec<Option<JsonValue>>> = found.steps.iter().map(numcodec).collect();
    let codecs = codecs.or_raise(UsageErrorKind::Argument)?;
    let codecs = codecs.iter().flatten().map(|codec| json_to_python(py, codec)).collect::<PyResult<Vec<_>>>()?;
    let order = described.uniform_byteorder().map(Byteorder::name);
    let range = |place: &Option<std::ops::Range<u64>>| place.clone().unwrap_or(0..0);
    let starts = PyArray1::from_iter(py, found.ranges.iter().map(|place| range(place).start));
    let lengths = PyArray1::from_iter(py, found.ranges.iter().map(|place| range(place).end - range(place).start));
    let fill = PyBytes::new(py, &found.fill_value);
    (found.file, found.chunk, found.is_column_major, codecs, starts, lengths, fill, order).into_pyobject(py)
}

/// Returns for each array the lengths of tiles of about `bytes` bytes, which can be decoded with little waste.
#[pyfunction]
#[allow(clippy::needless_pass_by_value, reason = "it comes from Python")]
pub(crate) fn _tiles(py: Python<'_>, arrays: Vec<Bound<'_, Array>>, bytes: u64) -> PyResult<Vec<Vec<u64>>> {
    let described: Vec<_> = arrays.iter().map(|array| array.get().array.clone()).collect();
    detach_interruptible(py, || trilith::Array::tile_shapes(&described, bytes))?.or_raise(UsageErrorKind::Argument)
}

/// Reads parts of arrays, each into a C-contiguous array of its shape and dtype: their bytes are requested together.
#[pyfunction]
#[allow(clippy::needless_pass_by_value, reason = "they come from Python")]
pub(crate) fn _read_together(py: Python<'_>, parts: Vec<(Bound<'_, Array>, Bound<'_, PyAny>)>) -> PyResult<()> {
    let parts: Vec<_> = parts.iter().map(|(part, out)| (&part.get().array, out)).filter(|(part, _)| part.nbytes() > 0).collect();
    let outs = parts.iter().map(|(_, out)| view_bytes(out)).collect::<PyResult<Vec<_>>>()?;
    let mut outs = outs.iter().map(|out| Ok(out.try_readwrite()?)).collect::<PyResult<Vec<_>>>()?;
    let outs = outs.iter_mut().map(|out| Ok(out.as_slice_mut()?)).collect::<PyResult<Vec<_>>>()?;
    let parts = parts.into_iter().map(|(part, _)| part).zip(outs).collect();
    detach_interruptible(py, || trilith::array::read_all(parts, Byteorder::NATIVE))?.or_raise(UsageErrorKind::Argument)
}
