//! Arguments of `trilith.open`: a path, bytes, or a file object.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyByteArray, PyBytes, PyMemoryView, PyString};
use trilith::bytes::{NoReferences, Source, SourceBacking, SourceRef};
use trilith::layout::Byteorder;
use trilith::{Error, File, OpenOptions, Result};

/// The origin of a file.
pub(crate) enum SourceKind {
    /// A file of this machine.
    Path(PathBuf),
    /// An address of a remote file.
    Url(String),
    /// Another source, with a separate name.
    Other(SourceRef),
}

impl SourceKind {
    /// Opens it.
    pub(crate) fn open(self, opening: &OpenOptions) -> Result<File> {
        match self {
            Self::Url(url) => opening.open(url),
            Self::Path(path) => opening.open(path),
            Self::Other(source) => opening.open_source(source, Arc::new(NoReferences)),
        }
    }

    /// Returns `true` unless the bytes come from a server.
    pub(crate) fn is_local(&self) -> bool {
        !matches!(self, Self::Url(_))
    }

    /// The path, if the file was named by one.
    pub(crate) fn path(&self) -> Option<&Path> {
        if let Self::Path(path) = self { Some(path) } else { None }
    }
}

/// Tells what was handed to `open`.
pub(crate) fn detect_origin(given: &Bound<'_, PyAny>) -> PyResult<SourceKind> {
    if let Ok(bytes) = given.cast::<PyBytes>() {
        return Ok(SourceKind::Other(Arc::new(PyBytesSource { bytes: bytes.clone().into() })));
    }
    if given.is_instance_of::<PyByteArray>() || given.is_instance_of::<PyMemoryView>() {
        let copy = given.py().get_type::<PyBytes>().call1((given,))?.cast_into::<PyBytes>()?;
        return Ok(SourceKind::Other(Arc::new(PyBytesSource { bytes: copy.into() })));
    }
    if let Some(url) = given.extract::<String>().ok().filter(|text| trilith::bytes::is_url(text)) {
        return Ok(SourceKind::Url(url));
    }
    if given.is_instance_of::<PyString>() || given.hasattr("__fspath__")? {
        return Ok(SourceKind::Path(given.extract()?));
    }
    if let Some(source) = crate::remote::open_fsspec_source(given)? {
        return Ok(SourceKind::Other(source));
    }
    if given.hasattr("read")? && given.hasattr("seek")? {
        return Ok(SourceKind::Other(Arc::new(PyFileSource::new(given)?)));
    }
    Err(PyTypeError::new_err(format!(
        "expected a path, bytes, or a binary file object that can seek, found {}",
        given.get_type().qualname()?
    )))
}

/// The memory of a `bytes` object, which is kept alive.
struct PyBytesSource {
    bytes: PyBackedBytes,
}

impl Source for PyBytesSource {
    fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<()> {
        let part = self.view(offset, into.len() as u64);
        into.copy_from_slice(part.ok_or_else(|| short_read_error(offset, into.len(), self.len()))?);
        Ok(())
    }

    fn view(&self, offset: u64, len: u64) -> Option<&[u8]> {
        let start = usize::try_from(offset).ok()?;
        self.bytes.get(start..start.checked_add(usize::try_from(len).ok()?)?)
    }

    fn name(&self) -> &str {
        "bytes"
    }
}

#[cold]
fn short_read_error(offset: u64, len: usize, size: u64) -> Error {
    Error::malformed(format!("the file ends at byte {size}, but {len} bytes are expected from byte {offset} on")).at_byte(offset)
}

/// A Python file object. It is read in its place, and its opener closes it.
struct PyFileSource {
    /// The lock is taken without holding the interpreter, and covers seeking and reading.
    object: Mutex<Py<PyAny>>,
    len: u64,
    name: String,
}

impl PyFileSource {
    fn new(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let len = object.call_method1("seek", (0, 2))?.extract()?;
        let name = object.getattr("name").ok().and_then(|name| name.extract::<String>().ok());
        Ok(Self { object: Mutex::new(object.clone().unbind()), len, name: name.unwrap_or_else(|| "file object".to_owned()) })
    }

    fn read_exact_at(object: &Py<PyAny>, offset: u64, into: &mut [u8]) -> PyResult<()> {
        Python::attach(|py| {
            let object = object.bind(py);
            object.call_method1("seek", (offset,))?;
            let mut done = 0;
            while let Some(rest) = into.get_mut(done..).filter(|rest| !rest.is_empty()) {
                let read = object.call_method1("read", (rest.len(),))?;
                let bytes = crate::remote::copy_options(&read)?;
                if bytes.is_empty() || bytes.len() > rest.len() {
                    return Err(pyo3::exceptions::PyEOFError::new_err("the file object ended early"));
                }
                rest[..bytes.len()].copy_from_slice(&bytes);
                done += bytes.len();
            }
            Ok(())
        })
    }
}

impl SourceBacking for PyFileSource {}

impl Source for PyFileSource {
    fn len(&self) -> u64 {
        self.len
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<()> {
        if offset.checked_add(into.len() as u64).is_none_or(|end| end > self.len) {
            return Err(short_read_error(offset, into.len(), self.len));
        }
        let object = self.object.lock().unwrap_or_else(PoisonError::into_inner);
        Self::read_exact_at(&object, offset, into)
            .map_err(|error| Error::new(trilith::ErrorKind::Io, error.to_string()).context(format!("reading {}", self.name)))
    }

    fn backing(&self) -> Option<&dyn SourceBacking> {
        Some(self)
    }

    fn name(&self) -> &str {
        &self.name
    }
}

/// The byte order that a keyword names.
pub(crate) fn parse_byteorder(name: Option<&str>) -> PyResult<Option<Byteorder>> {
    match name {
        None => Ok(None),
        Some("little") => Ok(Some(Byteorder::Little)),
        Some("big") => Ok(Some(Byteorder::Big)),
        Some(other) => Err(PyValueError::new_err(format!("unknown byteorder {other:?}; known: little, big"))),
    }
}
