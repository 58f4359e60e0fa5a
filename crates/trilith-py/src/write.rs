//! `trilith.write`: a new file from dictionaries, lists, scalars and numpy arrays.

use std::io::Cursor;
use std::path::Path;

use pyo3::exceptions::{PyBlockingIOError, PyOSError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyMemoryView, PySlice};
use trilith::asdf::{ArrayOptions, AsdfBuilder, Target, WriteOptions};
use trilith::file::{FileFormat, check_name, check_replaced};
use trilith::layout::Dialect;
use trilith::tree::Value;
use trilith::{OpenOptions, SuggestedSetting};

use crate::detached::detach_interruptible;
use crate::dudley_items::{self, array_options};
use crate::errors::{IntoPyResult, UsageErrorKind, raise_at};
use crate::file::File;
use crate::to_value::{CyclePolicy, DetachedArrays, ValueCollector};

/// Writes a file.
///
/// A path is replaced only when everything is written. The URL of an object (`s3://bucket/key`, `gs://`, `az://`) is uploaded
/// when everything is written. It must not exist, unless `overwrite` is set.
///
/// Parameters
/// ----------
/// target : str, os.PathLike or binary file object
///     The path of the file, or an object with `write`. Without `version` a path that ends in `.bd` becomes a native Dudley
///     file, anything else ASDF 1.6.
/// tree : dict
///     Dictionaries, lists, scalars and arrays.
/// codec : {"zlib", "bzp2", "lz4", "zstd", "blsc", "lz4f"}, optional
///     Codec of the arrays. Without it arrays are stored uncompressed, so that reading them needs no copy.
/// level : int, optional
///     Compression level.
/// version : str, optional
///     Version of the ASDF standard, "1.0" to "1.6", or "dudley-2025" or "dudley-2026" for a native Dudley file.
/// checksums : bool
///     Store a checksum of each block.
/// inline : bool or int, optional
///     Put arrays of up to this number of elements into the tree; `True` means all.
/// overwrite : bool
///     Replace an object that exists, if the target is the URL of one. A file is always replaced.
/// storage_options : dict, optional
///     Credentials and places of the object store, as in `open`.
///
/// Raises
/// ------
/// ValueError
///     If the name of the file belongs to another format, such as `.fits` or `.h5`. Use `convert` to write FITS.
///
/// Examples
/// --------
/// >>> import io, numpy, trilith
/// >>> out = io.BytesIO()
/// >>> trilith.write(out, {"data": numpy.zeros((2, 3), "f4"), "unit": "m"}, codec="lz4")
/// >>> trilith.open(out)["data"].shape
/// (2, 3)
#[pyfunction]
#[pyo3(signature = (target, tree, *, codec=None, level=None, version=None, checksums=true, inline=None, overwrite=false, storage_options=None))]
#[allow(clippy::too_many_arguments, reason = "they are keywords")]
pub(crate) fn write<'py>(
    py: Python<'py>,
    target: &Bound<'py, PyAny>,
    tree: &Bound<'py, PyAny>,
    codec: Option<&str>,
    level: Option<i32>,
    version: Option<&str>,
    checksums: bool,
    inline: Option<&Bound<'_, PyAny>>,
    overwrite: bool,
    storage_options: Option<&Bound<'_, PyDict>>,
) -> PyResult<()> {
    let (form, dialect) =
        resolve_target_and_dialect(&target.str().map_or_else(|_| String::new(), |name| name.to_string()), version)?;
    if dialect.is_some() && (codec.is_some() || level.is_some() || inline.is_some()) {
        return Err(PyValueError::new_err("a Dudley file takes no codec, level or inline"));
    }
    let options = array_options(codec, level)?;
    let cycles = if dialect.is_some() { CyclePolicy::Refused } else { CyclePolicy::Aliased };
    let mut collector = ValueCollector::new(form, extract_inline_threshold(inline)?).with_cycles(cycles);
    let mut value = match tree.cast::<File>() {
        Ok(file) => collector.collect_value(&file.getattr("tree")?)?,
        Err(_) => collector.collect_value(tree)?,
    };
    // The root is that of the file that is written, in its own version.
    value.tag = value.tag.filter(|tag| !tag.starts_with("tag:stsci.edu:") || !tag.contains("core/asdf"));
    let ready = collector.detach_for(&value)?;
    let mut layout = WriteOptions::default();
    layout.checksums = checksums;
    if target.hasattr("write")? {
        let bytes = detach_interruptible(py, || match dialect {
            Some(dialect) => dudley_items::to_bytes(&ready, &value, dialect),
            None => to_bytes(form, layout, &ready, &options, value),
        });
        let bytes = bytes.and_then(|bytes| bytes.or_raise(UsageErrorKind::Argument));
        let bytes = collector.or_pending_exception(bytes)?;
        return write_all(target, &bytes);
    }
    let place = crate::remote::write_path(target, overwrite, storage_options)?;
    let path = place.path().to_path_buf();
    let written = if dialect.is_some() { FileFormat::Dudley } else { FileFormat::Asdf };
    check_name(&path.to_string_lossy(), written, "choose another name, or convert the file that is written")
        .map_err(|error| raise_at(&error, Some(&path)))?;
    let done = detach_interruptible(py, || {
        if let Some(dialect) = dialect {
            return dudley_items::write_native_file(&ready, &value, dialect, place);
        }
        let mut builder = AsdfBuilder::new(form).with_options(layout);
        let value = ready.placeholder_value(&mut builder, &options, value)?;
        builder.write(place, value)
    });
    collector.or_pending_exception(done.and_then(|done| done.map_err(|error| raise_at(&error, Some(&path)))))
}

/// Refuses to replace a file that holds data, unless `overwrite` is set.
pub(crate) fn check_overwrite(path: &Path, overwrite: bool) -> trilith::Result<()> {
    if overwrite {
        return Ok(());
    }
    check_replaced(path, &[], &OpenOptions::new()).map_err(|error| error.setting("", SuggestedSetting::Overwrite))
}

/// Writes all bytes to a file object of Python: again and again, as long as it takes less than it is given.
///
/// # Errors
/// Returns the exceptions of its `write`, `BlockingIOError` if it returns None, and `OSError` if it takes nothing.
pub(crate) fn write_all(target: &Bound<'_, PyAny>, bytes: &[u8]) -> PyResult<()> {
    let py = target.py();
    let all = PyBytes::new(py, bytes);
    let mut rest = all.clone().into_any();
    let mut left = bytes.len();
    while left > 0 {
        let taken = target.call_method1(intern!(py, "write"), (&rest,))?;
        if taken.is_none() && is_of_asdf_io(target)? {
            return Ok(());
        }
        if taken.is_none() {
            let message =
                format!("the file object took none of the last {left} bytes now (write returned None); the file is not whole");
            return Err(PyBlockingIOError::new_err(message));
        }
        let taken: usize = taken.extract()?;
        if taken == 0 || taken > left {
            let message = format!("write returned {taken} for {left} bytes; the file is not whole");
            return Err(PyOSError::new_err(message));
        }
        left -= taken;
        let view = PyMemoryView::from(&all)?;
        rest = view.get_item(PySlice::new(py, isize::try_from(bytes.len() - left)?, isize::try_from(bytes.len())?, 1))?;
    }
    Ok(())
}

/// Returns `true` for a file object of the asdf package, whose `write` takes everything and returns nothing.
fn is_of_asdf_io(target: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(target.get_type().module()?.to_string().starts_with("asdf."))
}

fn to_bytes(
    form: &'static Target,
    layout: WriteOptions,
    ready: &DetachedArrays<'_>,
    options: &ArrayOptions,
    value: Value,
) -> trilith::Result<Vec<u8>> {
    let mut builder = AsdfBuilder::new(form).with_options(layout);
    let value = ready.placeholder_value(&mut builder, options, value)?;
    let mut out = Cursor::new(Vec::new());
    builder.write_to(&mut out, value)?;
    Ok(out.into_inner())
}

/// The target of a file of this name in a version, and the dialect of a Dudley file.
pub(crate) fn resolve_target_and_dialect(name: &str, version: Option<&str>) -> PyResult<(&'static Target, Option<Dialect>)> {
    let is_dudley = FileFormat::from_extension(name) == Some(FileFormat::Dudley);
    let version = version.unwrap_or(if is_dudley { "dudley-2025" } else { "1.6" });
    match dudley_items::parse_dialect_version(version) {
        Some(dialect) => Ok((Target::latest(), Some(dialect))),
        None => Ok((resolve_target(version)?, None)),
    }
}

/// The form of a version: `1.6`, `1.6.0` or `asdf-1.6`.
pub(crate) fn resolve_target(version: &str) -> PyResult<&'static Target> {
    let short = version.strip_suffix(".0").filter(|short| short.contains('.')).unwrap_or(version);
    let name = if short.starts_with(|c: char| c.is_ascii_digit()) { format!("asdf-{short}") } else { short.to_owned() };
    Target::from_name(&name).or_raise(UsageErrorKind::Argument)
}

/// Arrays of up to this number of elements go into the tree.
fn extract_inline_threshold(inline: Option<&Bound<'_, PyAny>>) -> PyResult<u64> {
    match inline {
        None => Ok(0),
        Some(given) => match given.cast::<PyBool>() {
            Ok(all) => Ok(if all.is_true() { u64::MAX } else { 0 }),
            Err(_) => given.extract(),
        },
    }
}
