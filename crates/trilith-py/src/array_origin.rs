//! The origin of an array, in words that another process can use: a path, a place, and the part that was cut out.

use std::path::PathBuf;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PySlice, PyTuple};
use trilith::dudley::{Selection, Unequal};
use trilith::layout::Byteorder;

use crate::nodes::Place;
use crate::scalar::helper;

/// A file of this machine, as it was opened.
#[derive(Debug)]
pub(crate) struct Home {
    /// Absolute.
    pub path: PathBuf,
    pub memmap: bool,
    /// The text of the layout that was handed in.
    pub layout: Option<String>,
    /// The text of the layout of the files, for the catalog of a file set.
    pub family: Option<String>,
    /// `True` if a catalog was opened as the file that it is.
    pub itself: bool,
    /// The byte order that was handed in.
    pub byteorder: Option<Byteorder>,
    /// `True` if the files of a file set have no signature.
    pub raw: bool,
    /// `True` if arrays have the elements that are stored.
    pub stored: bool,
    /// The files of a file set that were chosen.
    pub files: Selection,
    /// Places besides the folder of the file that references may lead to: absolute folders, and prefixes of URLs.
    pub allow: Vec<String>,
}

impl Home {
    /// The keywords of `trilith.open`, other than the defaults.
    pub(crate) fn keywords<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        if !self.memmap {
            dict.set_item("memmap", false)?;
        }
        for (name, text) in [("layout", &self.layout), ("family", &self.family)] {
            if let Some(text) = text {
                dict.set_item(name, text)?;
            }
        }
        if self.itself {
            dict.set_item("family", false)?;
        }
        for (name, is_set) in [("raw", self.raw), ("stored", self.stored)] {
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
                Unequal::Padded => files.append("pad")?,
                Unequal::Each => files.append("each")?,
                _ => {}
            }
            for name in &self.files.along {
                files.append(format!("along={name}"))?;
            }
            dict.set_item("files", files)?;
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
pub(crate) fn reduce<'py>(home: Option<&Home>, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
    let Some(home) = home else {
        return Err(PyTypeError::new_err("only a file that was opened by its path can be pickled"));
    };
    let words = (home.path.as_os_str(), home.keywords(py)?);
    Ok((helper(py, "opened")?, words).into_pyobject(py)?.into_any())
}

/// A way to an array: the item that it is, and the parts that were taken one of the other.
pub(crate) struct Way {
    pub place: Place,
    parts: Vec<Py<PyAny>>,
}

impl Way {
    /// Returns the way to an item.
    pub(crate) fn to(place: Place) -> Self {
        Self { place, parts: Vec::new() }
    }

    /// Returns `True` if it leads to a whole array, not to a part.
    pub(crate) fn is_whole(&self) -> bool {
        self.parts.is_empty()
    }

    /// Returns the way to a part of the array.
    pub(crate) fn part(&self, py: Python<'_>, index: &Bound<'_, PyAny>) -> Self {
        let parts = self.parts.iter().map(|part| part.clone_ref(py)).chain([index.clone().unbind()]).collect();
        Self { place: self.place.clone(), parts }
    }

    /// Path, keywords of `open`, tree path and parts; nothing if no path leads there.
    pub(crate) fn words<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        let Some((home, at)) = self.place.address() else { return Ok(None) };
        let parts = PyTuple::new(py, &self.parts)?;
        let words = (home.path.as_os_str(), home.keywords(py)?, at, parts);
        words.into_pyobject(py).map(Some)
    }
}
