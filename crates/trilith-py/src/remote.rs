//! Remote files: addresses, and the handles of libraries that fetch them (fsspec, obstore).

use std::ops::Range;
use std::sync::Arc;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use trilith::bytes::{self, RangeFetcher, RemoteOptions, SourceRef, WritePath};
use trilith::file::ReferencePermissions;
use trilith::{Error, ErrorKind, Limits, OpenOptions, Result};

/// Takes over options of a server or store, as docs/remote.md or fsspec names them; those in `client_kwargs` count as its own.
fn apply_storage_options(options: &mut RemoteOptions, given: Option<&Bound<'_, PyDict>>) -> PyResult<()> {
    for (name, value) in given.into_iter().flatten() {
        let name = name.extract::<String>()?;
        let inner = value.cast::<PyDict>();
        match (name.as_str(), inner) {
            (_, _) if value.is_none() => {}
            ("client_kwargs", Ok(inner)) => apply_storage_options(options, Some(inner))?,
            // gcsfs takes the content of a file of credentials.
            ("token", Ok(inner)) => {
                let text = inner.py().import("json")?.call_method1("dumps", (inner,))?.extract::<String>()?;
                options.from_storage_options(&name, &text).map_err(usage_error)?;
            }
            _ => options.from_storage_options(&name, &text_of(&value)?).map_err(usage_error)?,
        }
    }
    Ok(())
}

#[allow(clippy::needless_pass_by_value, reason = "so it goes to map_err")]
fn usage_error(error: Error) -> PyErr {
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
pub(crate) fn normalize_allowed_prefixes(allow: &[String]) -> PyResult<Vec<String>> {
    let read = ReferencePermissions::read(allow).map_err(|error| pyo3::exceptions::PyValueError::new_err(error.to_string()))?;
    let folders = read.folders().iter().map(|folder| bytes::file_uri(folder));
    Ok(folders.chain(read.addresses().iter().cloned()).collect())
}

/// Returns the options for opening files: the environment, then those of the caller. Options for servers are read if `has_remote`, or
/// if references may lead to URLs.
pub(crate) fn open_options(allow: &[String], storage: Option<&Bound<'_, PyDict>>, has_remote: bool) -> PyResult<OpenOptions> {
    let limits = Limits::from_env().map_err(usage_error)?;
    let permissions = ReferencePermissions::read(allow).map_err(usage_error)?;
    let has_remote = has_remote || !permissions.addresses().is_empty();
    let opening = OpenOptions::new().limits(limits).allow(permissions);
    Ok(if has_remote { opening.remote(build_server_options(allow, storage)?) } else { opening })
}

/// Returns the options for servers and object stores: the environment, then those of the caller.
pub(crate) fn build_server_options(allow: &[String], storage: Option<&Bound<'_, PyDict>>) -> PyResult<RemoteOptions> {
    let mut options = RemoteOptions::from_env().map_err(usage_error)?;
    for prefix in ReferencePermissions::read(allow).map_err(usage_error)?.addresses() {
        options.allow(prefix).map_err(usage_error)?;
    }
    apply_storage_options(&mut options, storage)?;
    Ok(options)
}

/// Does the same as [`merge_deprecated`] for a function of the package, whose caller is warned.
#[pyfunction]
#[pyo3(name = "_merge_deprecated")]
#[allow(clippy::needless_pass_by_value, reason = "so the words of Python arrive")]
pub(crate) fn merge_deprecated_of_caller<'py>(
    py: Python<'py>,
    function: &str,
    storage_options: Option<Bound<'py, PyDict>>,
    deprecated: Bound<'py, PyDict>,
) -> PyResult<Option<Bound<'py, PyDict>>> {
    merge_deprecated(py, 2, function, storage_options, Some(&deprecated))
}

/// Returns the storage options with those of the argument `remote` of earlier versions, after a warning at this level of the stack.
///
/// # Errors
/// Returns `TypeError` for an argument of any other name.
pub(crate) fn merge_deprecated<'py>(
    py: Python<'py>,
    level: i32,
    function: &str,
    storage: Option<Bound<'py, PyDict>>,
    deprecated: Option<&Bound<'py, PyDict>>,
) -> PyResult<Option<Bound<'py, PyDict>>> {
    let mut all = storage;
    for (name, value) in deprecated.into_iter().flatten() {
        if name.extract::<String>()? != "remote" {
            return Err(unknown_argument(function, &name.extract::<String>()?));
        }
        warn_deprecated(py, level, &format!("the argument remote of trilith.{function} is an option of storage_options now"))?;
        all = merge_options(all, &value)?;
    }
    Ok(all)
}

/// Returns options with more of them, if there are any.
pub(crate) fn merge_options<'py>(
    options: Option<Bound<'py, PyDict>>,
    more: &Bound<'py, PyAny>,
) -> PyResult<Option<Bound<'py, PyDict>>> {
    if more.is_none() {
        return Ok(options);
    }
    let more = more.cast::<PyDict>().map_err(|_| PyTypeError::new_err("options of a server or a store are a dictionary"))?;
    let all = options.map_or_else(|| Ok(PyDict::new(more.py())), |options| options.copy())?;
    all.update(more.as_mapping())?;
    Ok(Some(all))
}

/// The error of Python for an argument that a function does not have.
pub(crate) fn unknown_argument(function: &str, name: &str) -> PyErr {
    PyTypeError::new_err(format!("{function}() got an unexpected keyword argument '{name}'"))
}

/// Warns of a word that has a successor, at this level of the stack: 1 is the caller of a function of Rust.
///
/// # Errors
/// Returns the warning as an exception if the program asks for that.
pub(crate) fn warn_deprecated(py: Python<'_>, level: i32, message: &str) -> PyResult<()> {
    let category = py.get_type::<pyo3::exceptions::PyDeprecationWarning>();
    PyErr::warn(py, &category, &std::ffi::CString::new(message)?, level)
}

/// Returns the place for a new file: a path, or a URL with the options of its store.
pub(crate) fn write_path(target: &Bound<'_, PyAny>, overwrite: bool, storage: Option<&Bound<'_, PyDict>>) -> PyResult<WritePath> {
    let path: std::path::PathBuf = target.extract()?;
    let mut options = build_server_options(&[], storage)?;
    options.overwrite |= overwrite;
    Ok(WritePath::from(path).remote(options))
}

/// Options of fsspec file systems that say nothing about where the bytes are.
const IGNORED_FSSPEC_OPTIONS: &[&str] = &[
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
fn native_url(given: &Bound<'_, PyAny>, fs: &Bound<'_, PyAny>, path: &str) -> PyResult<Option<(String, RemoteOptions)>> {
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
    for name in IGNORED_FSSPEC_OPTIONS {
        if given.contains(name)? {
            given.del_item(name)?;
        }
    }
    if module.starts_with("fsspec.") && !given.is_empty() {
        return Ok(None);
    }
    // An option that is not known here may be one that matters.
    Ok(build_server_options(&[], Some(&given)).ok().map(|options| (url, options)))
}

/// Returns the file of an fsspec handle (an open file, or the result of `fsspec.open`), read by ranges and not
/// through the handle: by the URL itself if that is known, else by the file system. Returns None if it is not such a handle.
pub(crate) fn open_fsspec_source(given: &Bound<'_, PyAny>) -> PyResult<Option<SourceRef>> {
    let (Ok(fs), Ok(path)) = (given.getattr("fs"), given.getattr("path")) else { return Ok(None) };
    if !fs.hasattr("cat_ranges")? || !fs.hasattr("cat_file")? || given.getattr("compression").is_ok_and(|c| !c.is_none()) {
        return Ok(None);
    }
    let Ok(path) = path.extract::<String>() else { return Ok(None) };
    if let Some((url, options)) = native_url(given, &fs, &path)?
        && let Ok((source, _)) = given.py().detach(|| bytes::open_url(&url, &options, 0))
    {
        return Ok(Some(source));
    }
    let size = match given.getattr("size").and_then(|size| size.extract::<u64>()) {
        Ok(size) => Some(size),
        Err(_) => fs.call_method1("size", (&path,))?.extract::<Option<u64>>()?,
    };
    let Some(size) = size else { return Ok(None) };
    let parts = FsspecFile { fs: fs.unbind(), path, size };
    Ok(Some(bytes::by_parts(Arc::new(parts), &build_server_options(&[], None)?)))
}

/// A file of an fsspec file system.
struct FsspecFile {
    fs: Py<PyAny>,
    path: String,
    size: u64,
}

impl FsspecFile {
    fn fetch_ranges(&self, py: Python<'_>, ranges: &[Range<u64>]) -> PyResult<Vec<Vec<u8>>> {
        let fs = self.fs.bind(py);
        if let [range] = ranges {
            let found = fs.call_method1("cat_file", (&self.path, range.start, range.end))?;
            return Ok(vec![copy_options(&found)?]);
        }
        let paths = PyList::new(py, ranges.iter().map(|_| &self.path))?;
        let starts: Vec<u64> = ranges.iter().map(|range| range.start).collect();
        let ends: Vec<u64> = ranges.iter().map(|range| range.end).collect();
        let how = PyDict::new(py);
        how.set_item("on_error", "raise")?;
        let found = fs.call_method("cat_ranges", (paths, starts, ends), Some(&how))?;
        found.try_iter()?.map(|item| copy_options(&item?)).collect()
    }
}

impl RangeFetcher for FsspecFile {
    fn size(&self) -> u64 {
        self.size
    }

    fn name(&self) -> &str {
        &self.path
    }

    fn fetch_ranges(&self, ranges: &[Range<u64>]) -> Result<Vec<Vec<u8>>> {
        Python::attach(|py| self.fetch_ranges(py, ranges))
            .map_err(|error| Error::new(ErrorKind::Io, error.to_string()).context(format!("reading {}", self.path)))
    }
}

/// The bytes of a `bytes` object, or of anything that lends its memory.
pub(crate) fn copy_options(given: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
    if let Ok(bytes) = given.cast::<PyBytes>() {
        return Ok(bytes.as_bytes().to_vec());
    }
    if given.is_none() || given.is_instance_of::<pyo3::types::PyString>() || given.is_instance_of::<pyo3::types::PyInt>() {
        return Err(PyTypeError::new_err("the file object does not read bytes"));
    }
    let copy = given.py().get_type::<PyBytes>().call1((given,))?.cast_into::<PyBytes>()?;
    Ok(copy.as_bytes().to_vec())
}
