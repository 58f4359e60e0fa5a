//! Families of files: one item of all of them as one array.

use std::ffi::OsStr;
use std::sync::Arc;

use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyList;
use trilith::File;
use trilith::file::Series;

use crate::array::Array;
use crate::errors::{About, Raise};
use crate::home::{Home, Way};
use crate::layout::Layout;
use crate::nodes::view;

/// A family of files of one layout: each item is one array, whose first axis counts the files.
///
/// `trilith.open(catalog, family=layout)` opens one; where each item of each file lies follows from the
/// catalog, so that a slice opens only the files that hold it.
#[pyclass(frozen, mapping, weakref, module = "trilith")]
pub struct Family {
    pub file: File,
    pub template: Layout,
    pub home: Option<Arc<Home>>,
}

impl Family {
    fn series(&self) -> PyResult<&Series> {
        self.file.as_family().ok_or_else(|| PyValueError::new_err("this is not the catalog of a family"))
    }

    fn names(&self) -> PyResult<Vec<String>> {
        Ok(self.series()?.names())
    }
}

#[pymethods]
impl Family {
    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_args))]
    fn __exit__(&self, _args: &Bound<'_, PyAny>) {}

    /// The files, as the catalog names them.
    #[getter]
    fn files(&self) -> PyResult<Vec<String>> {
        Ok(self.series()?.catalog().files().to_vec())
    }

    /// The layout of the files.
    #[getter]
    fn layout(&self) -> Layout {
        self.template.clone()
    }

    /// The absolute path of the catalog.
    #[getter]
    fn path(&self) -> Option<&OsStr> {
        self.home.as_ref().map(|home| home.path.as_os_str())
    }

    /// The family itself: a mapping of arrays.
    #[getter]
    fn tree(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __getitem__(&self, py: Python<'_>, key: &str) -> PyResult<Array> {
        let path = format!("/{}", key.trim_start_matches('/'));
        let names = self.names()?;
        // A member of structs is named behind its item.
        let item = path.split('.').next().unwrap_or(&path).trim_start_matches('/');
        if !names.iter().any(|name| name == item) {
            return Err(PyKeyError::new_err(format!("there is no item {key:?}; there are: {}", names.join(", "))));
        }
        let made = py.detach(|| self.file.array(&path));
        let way = self.home.as_ref().map(|home| Way::item(home, path));
        Ok(Array::new(made.or_raise(About::Key)?, None, way))
    }

    fn __contains__(&self, key: &str) -> PyResult<bool> {
        Ok(self.names()?.iter().any(|name| name == key.trim_start_matches('/')))
    }

    fn __len__(&self) -> PyResult<usize> {
        Ok(self.names()?.len())
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(PyList::new(py, self.names()?)?.try_iter()?.into_any())
    }

    /// The files that are masked in an item, because they omit it or are not there.
    fn omitted(&self, py: Python<'_>, key: &str) -> PyResult<Vec<String>> {
        let series = self.series()?;
        let found = py.detach(|| series.omitted(&format!("/{}", key.trim_start_matches('/'))));
        Ok(found.or_raise(About::Key)?.into_iter().map(|one| one.file).collect())
    }

    /// A view of the names of the items.
    fn keys<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        view(slf.py(), "KeysView")?.call1((slf,))
    }

    /// A view of the arrays.
    fn values<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        view(slf.py(), "ValuesView")?.call1((slf,))
    }

    /// A view of the pairs of name and array.
    fn items<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        view(slf.py(), "ItemsView")?.call1((slf,))
    }

    fn __repr__(&self) -> PyResult<String> {
        Ok(format!("<trilith.Family of {} files: {}>", self.series()?.catalog().len(), self.names()?.join(", ")))
    }
}
