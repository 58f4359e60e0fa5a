//! The origin of an array, in words that another process can use: a path, a place, and the part that was cut out.

use std::path::PathBuf;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PySlice, PyTuple};
use trilith::dudley::{FileSelection, ParamSetting, ShapeMismatch};
use trilith::layout::Byteorder;

use crate::nodes::ItemRef;
use crate::scalar::import_value_helper;

/// A file of this machine, as it was opened.
#[derive(Debug)]
pub(crate) struct FileOrigin {
    /// Absolute.
    pub path: PathBuf,
    pub memmap: bool,
    /// The text of the layout that was handed in.
    pub layout: Option<String>,
    /// The text of the layout of the files, for the catalog of a file set.
    pub file_set_layout: Option<String>,
    /// `True` if a catalog was opened as the file that it is.
    pub catalog_only: bool,
    /// The byte order that was handed in.
    pub byteorder: Option<Byteorder>,
    /// `True` if the files of a file set have no signature.
    pub without_signature: bool,
    /// `True` if arrays have the elements that are stored.
    pub stored_values: bool,
    /// The files of a file set that were chosen.
    pub files: FileSelection,
    /// The values of fixed parameters of the layout in the files of a set.
    pub params: Vec<(String, ParamSetting)>,
    /// Places besides the folder of the file that references may lead to: absolute folders, and prefixes of URLs.
    pub allow: Vec<String>,
}

impl FileOrigin {
    /// The keywords of `trilith.open`, other than the defaults.
    pub(crate) fn open_keywords<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        if !self.memmap {
            dict.set_item("memmap", false)?;
        }
        for (name, text) in [("layout", &self.layout), ("family", &self.file_set_layout)] {
            if let Some(text) = text {
                dict.set_item(name, text)?;
            }
        }
        if self.catalog_only {
            dict.set_item("family", false)?;
        }
        for (name, is_set) in [("raw", self.without_signature), ("stored", self.stored_values)] {
            if is_set {
                dict.set_item(name, true)?;
            }
        }
        if !self.files.is_default() {
            let slice = py.get_type::<PySlice>();
            let files = PyList::empty(py);
            for range in &self.files.ranges {
                files.append(slice.call1((range.start, range.end))?)?;
            }
            match self.files.unequal {
                ShapeMismatch::Padded => files.append("pad")?,
                ShapeMismatch::PerFile => files.append("each")?,
                _ => {}
            }
            for name in &self.files.along {
                files.append(format!("along={name}"))?;
            }
            dict.set_item("files", files)?;
        }
        if !self.params.is_empty() {
            let params = PyDict::new(py);
            for (name, setting) in &self.params {
                match setting {
                    ParamSetting::Number(value) => params.set_item(name, value)?,
                    _ => params.set_item(name, "fill")?,
                }
            }
            dict.set_item("params", params)?;
        }
        if !self.allow.is_empty() {
            dict.set_item("allow", &self.allow)?;
        }
        match self.byteorder {
            Some(Byteorder::Little) => dict.set_item("byteorder", "little")?,
            Some(Byteorder::Big) => dict.set_item("byteorder", "big")?,
            None => {}
        }
        Ok(dict)
    }
}

/// Pickles an open file by the words that open it again.
///
/// # Errors
/// Returns `TypeError` if it was not opened by its path.
pub(crate) fn reduce_open_file<'py>(home: Option<&FileOrigin>, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
    let Some(home) = home else {
        return Err(PyTypeError::new_err("only a file that was opened by its path can be pickled"));
    };
    let words = (home.path.as_os_str(), home.open_keywords(py)?);
    Ok((import_value_helper(py, "opened")?, words).into_pyobject(py)?.into_any())
}

/// A way to an array: the item that it is, and the parts that were taken one of the other.
pub(crate) struct ArrayOrigin {
    pub item: ItemRef,
    indices: Vec<Py<PyAny>>,
}

impl ArrayOrigin {
    /// Returns the way to an item.
    pub(crate) fn for_item(place: ItemRef) -> Self {
        Self { item: place, indices: Vec::new() }
    }

    /// Returns `True` if it leads to a whole array, not to a part.
    pub(crate) fn is_entire_array(&self) -> bool {
        self.indices.is_empty()
    }

    /// Returns the way to a part of the array.
    pub(crate) fn index(&self, py: Python<'_>, index: &Bound<'_, PyAny>) -> Self {
        let parts = self.indices.iter().map(|part| part.clone_ref(py)).chain([index.clone().unbind()]).collect();
        Self { item: self.item.clone(), indices: parts }
    }

    /// Path, keywords of `open`, tree path and parts; nothing if no path leads there.
    pub(crate) fn pickle_args<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        let Some((home, at)) = self.item.home_and_path() else { return Ok(None) };
        let parts = PyTuple::new(py, &self.indices)?;
        let words = (home.path.as_os_str(), home.open_keywords(py)?, at, parts);
        words.into_pyobject(py).map(Some)
    }
}
