//! `trilith.create`: one file that many processes write.

use std::collections::BTreeMap;
use std::path::PathBuf;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use trilith::ParallelWriter as Writer;
use trilith::asdf::AsdfBuilder;
use trilith::dudley::native_order;

use crate::array::{IndexKind, parse_index};
use crate::detached::detach_interruptible;
use crate::dtype::to_numpy;
use crate::dudley_items::{self, array_options};
use crate::errors::{IntoPyResult, UsageErrorKind, raise_at};
use crate::scalar::import_value_helper;
use crate::to_value::ValueCollector;
use crate::write::resolve_target_and_dialect;

/// Creates a file that several processes can write to.
///
/// Each `trilith.Reserved` of the tree gets its space, and everything else is written at once. The new file is hidden next to
/// `path` until `finish()` puts it in place. A file at `path` stays until then, and no reader takes the hidden one for complete.
/// The writer can be pickled: processes that reach the same disk by the same path, on this machine or another, write regions of
/// the arrays.
///
/// Parameters
/// ----------
/// path : str or os.PathLike
///     The path of the finished file. Without `version` a path that ends in `.bd` becomes a native Dudley file. To write one
///     under a layout of your own, use `Layout.create`.
/// tree : dict
///     The tree, as in `write`, with `trilith.Reserved` for the arrays that processes write.
/// version : str, optional
///     Version of the ASDF standard, or "dudley-2025" or "dudley-2026" for a native Dudley file.
///
/// Returns
/// -------
/// ParallelWriter
///
/// Raises
/// ------
/// OSError
///     If the file cannot be written, or if another writer has begun it.
/// ValueError
///     If the tree has no `trilith.Reserved`.
///
/// Examples
/// --------
/// >>> import numpy, tempfile, trilith
/// >>> folder = tempfile.TemporaryDirectory()
/// >>> path = f"{folder.name}/cube.asdf"
/// >>> work = trilith.create(path, {"exposure": 139.8, "data": trilith.Reserved((4, 3), "f4")})
/// >>> for row in range(4):  # in as many processes
/// ...     work.write_region("data", row, numpy.full(3, row, "f4"))
/// >>> work.finish()
/// >>> trilith.open(path)["data"][2]
/// array([2., 2., 2.], dtype=float32)
#[pyfunction]
#[pyo3(signature = (path, tree, *, version=None))]
pub(crate) fn create<'py>(
    py: Python<'py>,
    path: PathBuf,
    tree: &Bound<'py, PyAny>,
    version: Option<&str>,
) -> PyResult<ParallelWriter> {
    let path = to_absolute_path(path);
    let (form, dialect) = resolve_target_and_dialect(&path.to_string_lossy(), version)?;
    let options = array_options(None, None)?;
    let mut collector = ValueCollector::new(form, 0);
    let value = collector.collect_value(tree)?;
    let ready = collector.detach_for(&value)?;
    let done = detach_interruptible(py, || {
        if let Some(dialect) = dialect {
            return Writer::create_draft(&path, &ready.to_draft(&value)?, dialect, native_order());
        }
        let mut builder = AsdfBuilder::new(form);
        let value = ready.placeholder_value(&mut builder, &options, value)?;
        Writer::create_from(&path, builder, value)
    });
    let writer = collector.or_pending_exception(done.and_then(|done| done.map_err(|error| raise_at(&error, Some(&path)))))?;
    Ok(ParallelWriter { writer })
}

/// Opens a file that `trilith.create` has begun, to write regions of it, to finish or to abort it.
///
/// Parameters
/// ----------
/// path : str or os.PathLike
///     The path of the finished file.
/// id : str, optional
///     The `id` of the writer, if it must be exactly that one.
///
/// Returns
/// -------
/// ParallelWriter
///
/// Raises
/// ------
/// OSError
///     If no such file was begun, or if it has another `id`.
///
/// Examples
/// --------
/// >>> import numpy, tempfile, trilith
/// >>> path = tempfile.mkdtemp() + "/x.asdf"
/// >>> work = trilith.create(path, {"data": trilith.Reserved((2, 3), "f4")})
/// >>> trilith.resume(path).write_region("data", ..., numpy.ones((2, 3), "f4"))
/// >>> work.finish()
/// >>> trilith.open(path)["data"].sum()
/// np.float32(6.0)
#[pyfunction]
#[pyo3(signature = (path, *, id=None))]
pub(crate) fn resume(py: Python<'_>, path: PathBuf, id: Option<&str>) -> PyResult<ParallelWriter> {
    let path = to_absolute_path(path);
    let opened = py.detach(|| match id {
        Some(id) => Writer::open_id(&path, id),
        None => Writer::open(&path),
    });
    Ok(ParallelWriter { writer: opened.map_err(|error| raise_at(&error, Some(&path)))? })
}

/// Makes a path absolute, because another process may have another working directory.
pub(crate) fn to_absolute_path(path: PathBuf) -> PathBuf {
    std::path::absolute(&path).unwrap_or(path)
}

/// A path of the tree, with or without a `/` at its beginning.
fn normalize_tree_path(path: &str) -> String {
    format!("/{}", path.trim_start_matches('/'))
}

/// A file that many processes write: see `trilith.create`. As a context manager it finishes the file at the end, and aborts
/// it if an exception is raised.
#[pyclass(frozen, module = "trilith")]
pub(crate) struct ParallelWriter {
    pub writer: Writer,
}

#[pymethods]
impl ParallelWriter {
    /// Path of the finished file.
    #[getter]
    fn path(&self) -> &std::ffi::OsStr {
        self.writer.path().as_os_str()
    }

    /// The identifier of this file, which no other file at the same path had or will have.
    #[getter]
    fn id(&self) -> String {
        self.writer.id()
    }

    /// The paths of the arrays that are reserved, each with shape and dtype.
    #[getter]
    fn arrays<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (path, array) in self.writer.arrays() {
            let shape = pyo3::types::PyTuple::new(py, array.shape())?;
            dict.set_item(path, (shape, to_numpy(py, array.datatype())?))?;
        }
        Ok(dict)
    }

    /// Number of elements of each array that were not written yet.
    #[getter]
    fn unwritten(&self, py: Python<'_>) -> PyResult<BTreeMap<String, u64>> {
        detach_interruptible(py, || self.writer.unwritten())?.or_raise_at(UsageErrorKind::Argument, Some(self.writer.path()))
    }

    /// Writes a region of an array. When it returns, the elements are on the disk.
    ///
    /// Any number of processes and threads may write at the same time, if their regions do not overlap. Whole rows of some megabytes
    /// are fastest.
    ///
    /// Parameters
    /// ----------
    /// path : str
    ///     The path of the array.
    /// region : int, slice, Ellipsis, or tuple of these
    ///     The region, as numpy takes it.
    /// data : array_like
    ///     The elements, with the shape of the region and the dtype of the array, in any byte order.
    ///
    /// Raises
    /// ------
    /// ValueError
    ///     If the data do not fit the region.
    /// OSError
    ///     If the file was finished, removed or begun again.
    ///
    /// Examples
    /// --------
    /// >>> import numpy, tempfile, trilith
    /// >>> path = tempfile.mkdtemp() + "/x.asdf"
    /// >>> work = trilith.create(path, {"data": trilith.Reserved((2, 3), "f4")})
    /// >>> work.write_region("data", 0, numpy.ones(3, "f4"))
    /// >>> work.unwritten
    /// {'/data': 3}
    fn write_region(&self, py: Python<'_>, path: &str, region: &Bound<'_, PyAny>, data: &Bound<'_, PyAny>) -> PyResult<()> {
        let IndexKind::Basic(indices, _) = parse_index(region)? else {
            return Err(PyTypeError::new_err("a region is named by numbers, slices and ..."));
        };
        let data = dudley_items::collect_array(data)?;
        let path = normalize_tree_path(path);
        detach_interruptible(py, || self.writer.write_region(&path, &indices, &data))?
            .or_raise_at(UsageErrorKind::Argument, Some(self.writer.path()))
    }

    /// Computes the checksums and puts the file in place. No process may be writing.
    ///
    /// Parameters
    /// ----------
    /// fill : number, optional
    ///     The value of elements that were not written. Without it such elements are an error.
    ///
    /// Raises
    /// ------
    /// ValueError
    ///     If elements were not written. The message has their number.
    ///
    /// Examples
    /// --------
    /// >>> import numpy, tempfile, trilith
    /// >>> path = tempfile.mkdtemp() + "/x.asdf"
    /// >>> work = trilith.create(path, {"data": trilith.Reserved((2, 3), "f4")})
    /// >>> work.write_region("data", 0, numpy.ones(3, "f4"))
    /// >>> work.finish(fill=0)
    /// >>> trilith.open(path)["data"].tolist()
    /// [[1.0, 1.0, 1.0], [0.0, 0.0, 0.0]]
    #[pyo3(signature = (*, fill=None))]
    fn finish(&self, py: Python<'_>, fill: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        if let Some(fill) = fill {
            for (path, array) in self.writer.arrays() {
                let value = crate::dtype::import_numpy(py)?.call_method1("full", ((), fill, to_numpy(py, array.datatype())?))?;
                let value = dudley_items::collect_array(&value)?;
                detach_interruptible(py, || self.writer.fill(path, &value))?
                    .or_raise_at(UsageErrorKind::Argument, Some(self.writer.path()))?;
            }
        }
        detach_interruptible(py, || self.writer.finish())?
            .or_raise_at(UsageErrorKind::Argument, Some(self.writer.path()))
            .map(drop)
    }

    /// Removes the unfinished file. A file that was at the path before stays.
    ///
    /// Raises
    /// ------
    /// OSError
    ///     If the file cannot be removed.
    ///
    /// Examples
    /// --------
    /// >>> import numpy, tempfile, trilith
    /// >>> path = tempfile.mkdtemp() + "/x.asdf"
    /// >>> work = trilith.create(path, {"data": trilith.Reserved((2, 3), "f4")})
    /// >>> work.abort()
    fn abort(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.writer.abort()).or_raise_at(UsageErrorKind::Argument, Some(self.writer.path()))
    }

    /// Returns one of the arrays as a target of assignments: `work["data"][0:10] = rows`. dask's `store` takes it, too.
    fn __getitem__<'py>(slf: Bound<'py, Self>, path: &str) -> PyResult<Bound<'py, PyAny>> {
        let (py, path) = (slf.py(), normalize_tree_path(path));
        let arrays = slf.get().arrays(py)?;
        let Some(known) = arrays.get_item(&path)? else {
            let names = PyList::new(py, arrays.keys())?;
            return Err(pyo3::exceptions::PyKeyError::new_err(format!("no array is reserved at {path}; there are: {names}")));
        };
        py.import("trilith._parallel")?.call_method1("Target", (slf, path, known))
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    #[pyo3(signature = (kind=None, *_args))]
    fn __exit__(&self, py: Python<'_>, kind: Option<&Bound<'_, PyAny>>, _args: &Bound<'_, PyAny>) -> PyResult<()> {
        if kind.is_none() { self.finish(py, None) } else { self.abort(py) }
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let words = (self.path(), self.id());
        Ok((import_value_helper(py, "resumed")?, words).into_pyobject(py)?.into_any())
    }

    fn __repr__(&self) -> String {
        let arrays: Vec<&str> = self.writer.arrays().map(|(path, _)| path).collect();
        format!("<trilith.ParallelWriter of {}: {}>", self.writer.path().display(), arrays.join(", "))
    }
}
