//! Remote files: addresses, and the handles of libraries that fetch them (fsspec, obstore).

use std::ops::Range;
use std::sync::Arc;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use trilith::bytes::{self, Parts, RemoteOptions, SourceRef, WritePath};
use trilith::file::Permissions;
use trilith::{Error, ErrorKind, Limits, OpenOptions, Result};

/// Returns the options for remote files: the environment, then those of the caller.
pub(crate) fn options(allow: &[String], remote: Option<&Bound<'_, PyDict>>) -> PyResult<RemoteOptions> {
    let mut options = RemoteOptions::from_env().map_err(wrong)?;
    for prefix in Permissions::read(allow).map_err(wrong)?.addresses() {
        options.allow(prefix).map_err(wrong)?;
    }
    for (name, value) in remote.into_iter().flatten() {
        options.set(&format!("{}={}", name.extract::<String>()?.replace('_', "-"), text_of(&value)?)).map_err(wrong)?;
    }
    Ok(options)
}

/// Takes over options of a store as fsspec names them; those in `client_kwargs` count as its own.
fn store(options: &mut RemoteOptions, given: Option<&Bound<'_, PyDict>>) -> PyResult<()> {
    for (name, value) in given.into_iter().flatten() {
        let name = name.extract::<String>()?;
        let inner = value.cast::<PyDict>();
        match (name.as_str(), inner) {
            (_, _) if value.is_none() => {}
            ("client_kwargs", Ok(inner)) => store(options, Some(inner))?,
            // gcsfs takes the content of a file of credentials.
            ("token", Ok(inner)) => {
                let text = inner.py().import("json")?.call_method1("dumps", (inner,))?.extract::<String>()?;
                options.storage(&name, &text).map_err(wrong)?;
            }
            _ => options.storage(&name, &text_of(&value)?).map_err(wrong)?,
        }
    }
    Ok(())
}

#[allow(clippy::needless_pass_by_value, reason = "so it goes to map_err")]
fn wrong(error: Error) -> PyErr {
    pyo3::exceptions::PyValueError::new_err(error.to_string())
}

/// The value of an option as text: `yes` and `no` for booleans.
fn text_of(value: &Bound<'_, PyAny>) -> PyResult<String> {
    match value.extract::<bool>() {
        Ok(truth) => Ok((if truth { "yes" } else { "no" }).to_owned()),
        Err(_) => value.str()?.extract(),
    }
}

/// Returns the places that a caller allows references to lead to, in a form that means the same in every folder.
pub(crate) fn allowed(allow: &[String]) -> PyResult<Vec<String>> {
    let read = Permissions::read(allow).map_err(|error| pyo3::exceptions::PyValueError::new_err(error.to_string()))?;
    let folders = read.folders().iter().map(|folder| bytes::file_uri(folder));
    Ok(folders.chain(read.addresses().iter().cloned()).collect())
}

/// Returns the options for opening files: the environment, then those of the caller.
pub(crate) fn opening(
    memmap: bool,
    allow: &[String],
    remote: Option<&Bound<'_, PyDict>>,
    storage: Option<&Bound<'_, PyDict>>,
) -> PyResult<OpenOptions> {
    let limits = Limits::from_env().map_err(wrong)?;
    let opening = OpenOptions::new().limits(limits).map(memmap).allow(Permissions::read(allow).map_err(wrong)?);
    Ok(opening.remote(servers(allow, remote, storage)?))
}

/// Returns the options for servers and object stores: the environment, then those of the caller.
pub(crate) fn servers(
    allow: &[String],
    remote: Option<&Bound<'_, PyDict>>,
    storage: Option<&Bound<'_, PyDict>>,
) -> PyResult<RemoteOptions> {
    let mut options = options(allow, remote)?;
    store(&mut options, storage)?;
    Ok(options)
}

/// Returns the place for a new file: a path, or a URL with the options of its store.
pub(crate) fn place(
    target: &Bound<'_, PyAny>,
    overwrite: bool,
    remote: Option<&Bound<'_, PyDict>>,
    storage: Option<&Bound<'_, PyDict>>,
) -> PyResult<WritePath> {
    let path: std::path::PathBuf = target.extract()?;
    let mut options = servers(&[], remote, storage)?;
    options.overwrite |= overwrite;
    Ok(WritePath::from(path).remote(options))
}

/// Options of fsspec file systems that say nothing about where the bytes are.
const OF_FSSPEC: &[&str] = &[
    "asynchronous",
    "cache_regions",
    "cache_type",
    "consistency",
    "default_block_size",
    "default_cache_type",
    "default_fill_cache",
    "listings_expiry_time",
    "loop",
    "skip_instance_cache",
    "use_listings_cache",
];

/// Returns the URL of a file of an fsspec file system, with the options of its store, if Trilith would ask the same service in
/// the same way.
fn direct(given: &Bound<'_, PyAny>, fs: &Bound<'_, PyAny>, path: &str) -> PyResult<Option<(String, RemoteOptions)>> {
    let module = fs.get_type().module()?.extract::<String>()?;
    // A class of somebody else's, or a cache around another file system, may do more than the name of its protocol says.
    let url = match module.as_str() {
        "s3fs.core" => format!("s3://{path}"),
        "gcsfs.core" => format!("gs://{path}"),
        "adlfs.spec" => format!("az://{path}"),
        "fsspec.implementations.http" => path.to_owned(),
        _ => return Ok(None),
    };
    if given.getattr("version_id").is_ok_and(|version| !version.is_none()) || fs.getattr("storage_args")?.is_truthy()? {
        return Ok(None);
    }
    let given = fs.getattr("storage_options")?.cast_into::<PyDict>()?.copy()?;
    for name in OF_FSSPEC {
        if given.contains(name)? {
            given.del_item(name)?;
        }
    }
    if module.starts_with("fsspec.") && !given.is_empty() {
        return Ok(None);
    }
    // An option that is not known here may be one that matters.
    Ok(servers(&[], None, Some(&given)).ok().map(|options| (url, options)))
}

/// Returns the file of an fsspec handle (an open file, or the result of `fsspec.open`), read by ranges and not
/// through the handle: by the URL itself if that is known, else by the file system. Returns None if it is no such handle.
pub(crate) fn fsspec(given: &Bound<'_, PyAny>) -> PyResult<Option<SourceRef>> {
    let (Ok(fs), Ok(path)) = (given.getattr("fs"), given.getattr("path")) else { return Ok(None) };
    if !fs.hasattr("cat_ranges")? || !fs.hasattr("cat_file")? || given.getattr("compression").is_ok_and(|c| !c.is_none()) {
        return Ok(None);
    }
    let Ok(path) = path.extract::<String>() else { return Ok(None) };
    if let Some((url, options)) = direct(given, &fs, &path)?
        && let Ok((source, _)) = given.py().detach(|| bytes::open_url(&url, &options, 0))
    {
        return Ok(Some(source));
    }
    let size = match given.getattr("size").and_then(|size| size.extract::<u64>()) {
        Ok(size) => Some(size),
        Err(_) => fs.call_method1("size", (&path,))?.extract::<Option<u64>>()?,
    };
    let Some(size) = size else { return Ok(None) };
    let parts = Filesystem { fs: fs.unbind(), path, size };
    Ok(Some(bytes::by_parts(Arc::new(parts), &options(&[], None)?)))
}

/// A file of an fsspec file system.
struct Filesystem {
    fs: Py<PyAny>,
    path: String,
    size: u64,
}

impl Filesystem {
    fn ask(&self, py: Python<'_>, ranges: &[Range<u64>]) -> PyResult<Vec<Vec<u8>>> {
        let fs = self.fs.bind(py);
        if let [range] = ranges {
            let found = fs.call_method1("cat_file", (&self.path, range.start, range.end))?;
            return Ok(vec![copied(&found)?]);
        }
        let paths = PyList::new(py, ranges.iter().map(|_| &self.path))?;
        let starts: Vec<u64> = ranges.iter().map(|range| range.start).collect();
        let ends: Vec<u64> = ranges.iter().map(|range| range.end).collect();
        let how = PyDict::new(py);
        how.set_item("on_error", "raise")?;
        let found = fs.call_method("cat_ranges", (paths, starts, ends), Some(&how))?;
        found.try_iter()?.map(|item| copied(&item?)).collect()
    }
}

impl Parts for Filesystem {
    fn size(&self) -> u64 {
        self.size
    }

    fn name(&self) -> &str {
        &self.path
    }

    fn fetch(&self, ranges: &[Range<u64>]) -> Result<Vec<Vec<u8>>> {
        Python::attach(|py| self.ask(py, ranges))
            .map_err(|error| Error::new(ErrorKind::Io, error.to_string()).context(format!("reading {}", self.path)))
    }
}

/// The bytes of a `bytes` object, or of anything that lends its memory.
pub(crate) fn copied(given: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
    if let Ok(bytes) = given.cast::<PyBytes>() {
        return Ok(bytes.as_bytes().to_vec());
    }
    if given.is_none() || given.is_instance_of::<pyo3::types::PyString>() || given.is_instance_of::<pyo3::types::PyInt>() {
        return Err(PyTypeError::new_err("the file object does not read bytes"));
    }
    let copy = given.py().get_type::<PyBytes>().call1((given,))?.cast_into::<PyBytes>()?;
    Ok(copy.as_bytes().to_vec())
}
