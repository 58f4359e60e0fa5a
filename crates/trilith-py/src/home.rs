//! Where an array came from, in words that another process can use: a path, a place, and what was cut out.

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use trilith::layout::Byteorder;

use crate::nodes::Place;
use crate::scalar::helper;

/// A file of this machine, as it was opened.
#[derive(Debug)]
pub struct Home {
    /// Absolute.
    pub path: PathBuf,
    pub memmap: bool,
    /// The text of the layout that was handed in, for a Dudley stream.
    pub layout: Option<String>,
    /// The text of the layout of the files, for the catalog of a family.
    pub family: Option<String>,
    /// The byte order that was handed in.
    pub byteorder: Option<Byteorder>,
    /// Whether the files of a family have no signature.
    pub raw: bool,
    /// Where references may lead besides the folder of the file: absolute folders, and beginnings of addresses.
    pub allow: Vec<String>,
}

impl Home {
    /// The keywords of `trilith.open`, other than the defaults.
    pub fn keywords<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        if !self.memmap {
            dict.set_item("memmap", false)?;
        }
        for (name, text) in [("layout", &self.layout), ("family", &self.family)] {
            if let Some(text) = text {
                dict.set_item(name, text)?;
            }
        }
        if self.raw {
            dict.set_item("raw", true)?;
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

/// How an open file is pickled: by the words that open it again.
///
/// # Errors
/// `TypeError` where it was not opened by its path.
pub fn reduce<'py>(home: Option<&Home>, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
    let Some(home) = home else {
        return Err(PyTypeError::new_err("only a file that was opened by its path can be pickled"));
    };
    let words = (home.path.as_os_str(), home.keywords(py)?);
    Ok((helper(py, "opened")?, words).into_pyobject(py)?.into_any())
}

/// Where in it.
#[derive(Clone)]
enum Spot {
    Node(Place),
    Item(Arc<Home>, String),
}

/// A way to an array: the place where it is described, and the parts that were taken one of the other.
pub struct Way {
    spot: Spot,
    parts: Vec<Py<PyAny>>,
}

impl Way {
    /// To what a node of a tree describes.
    pub fn node(place: &Place) -> Self {
        Self { spot: Spot::Node(place.clone()), parts: Vec::new() }
    }

    /// To an item of a stream.
    pub fn item(home: &Arc<Home>, path: impl Into<String>) -> Self {
        Self { spot: Spot::Item(home.clone(), path.into()), parts: Vec::new() }
    }

    /// The node of a tree that describes the array.
    pub fn place(&self) -> Option<&Place> {
        match &self.spot {
            Spot::Node(place) => Some(place),
            Spot::Item(..) => None,
        }
    }

    /// The path of the array in its file.
    pub fn path(&self) -> Option<String> {
        match &self.spot {
            Spot::Node(place) => place.path(),
            Spot::Item(_, path) => Some(path.clone()),
        }
    }

    /// On to a part of the array there.
    pub fn part(&self, py: Python<'_>, index: &Bound<'_, PyAny>) -> Self {
        let parts = self.parts.iter().map(|part| part.clone_ref(py)).chain([index.clone().unbind()]).collect();
        Self { spot: self.spot.clone(), parts }
    }

    /// Path, keywords of `open`, tree path and parts; nothing where no path leads there.
    pub fn words<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        let (home, at) = match &self.spot {
            Spot::Item(home, path) => (home.clone(), path.clone()),
            Spot::Node(place) => match place.address() {
                Some(found) => found,
                None => return Ok(None),
            },
        };
        let parts = PyTuple::new(py, &self.parts)?;
        let words = (home.path.as_os_str(), home.keywords(py)?, at, parts);
        words.into_pyobject(py).map(Some)
    }
}
