//! `trilith.convert`: a file in another form, as the command's `convert` writes it.

use std::path::Path;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use trilith::convert::{ConvertOptions, TargetForm};
use trilith::file::{FileFormat, check_name, is_read_from};

use crate::detached::detach_interruptible;
use crate::errors::{IntoPyResult, UsageErrorKind, raise_at};
use crate::layout;
use crate::source::{detect_origin, parse_byteorder};
use crate::write::check_overwrite;

/// Converts a file to another format, version or codec.
///
/// The target is replaced only when everything is written. It may be the source.
///
/// Parameters
/// ----------
/// source : str, os.PathLike, bytes or file object
///     The file, as in `open`.
/// target : str or os.PathLike
///     The new file. Without `to` its extension selects the format: `.asdf`, `.bd`, `.fits` or `.finf`.
/// to : str, optional
///     The format version, such as "asdf-1.6", "finf-0.1", "dudley-2025" or "dudley-2026".
/// codec : str, optional
///     Codec of the blocks, as in `write`; "none" stores them uncompressed. Without it blocks keep their codec.
/// level : int, optional
///     Compression level.
/// rows : int, optional
///     Compress blocks with lz4 in pieces of this number of rows, each of which can be a Zarr chunk.
/// chunks : tuple of int, optional
///     Length of a chunk along each axis. Arrays with this number of axes are cut into chunks, for readers with the
///     package asdf-zarr.
/// stack : bool
///     Join each list of equal arrays of a Dudley file into one array.
/// allow_loss : bool
///     Write the file even if the new form cannot hold everything. Otherwise that is an error.
/// skip_unreadable : bool
///     Leave out items that cannot be read.
/// overwrite : bool
///     Replace a file that exists and holds data of any format that is read, or an object, if the target is its URL. A source may
///     always be replaced by its new form.
/// layout, byteorder, allow, storage_options
///     As in `open`.
///
/// Returns
/// -------
/// list of str
///     The losses, and the items that were left out.
///
/// Raises
/// ------
/// ValueError
///     If the target cannot hold everything and `allow_loss` is not set; the message lists the losses. If its extension means
///     another format, such as .npy. If it holds data and `overwrite` is not set.
/// NotImplementedError
///     If the conversion is not supported.
/// OSError
///     If a file cannot be read or written.
///
/// Examples
/// --------
/// >>> import numpy, pathlib, tempfile, trilith
/// >>> folder = pathlib.Path(tempfile.mkdtemp())
/// >>> trilith.write(folder / "x.asdf", {"a": numpy.array([1.5, 2.5])})
/// >>> trilith.convert(folder / "x.asdf", folder / "x.bd")
/// []
/// >>> trilith.open(folder / "x.bd")["a"].tolist()
/// [1.5, 2.5]
#[pyfunction]
#[pyo3(signature = (source, target, *, to=None, codec=None, level=None, rows=None, chunks=None, stack=false, allow_loss=false, skip_unreadable=false, overwrite=false, layout=None, byteorder=None, allow=Vec::new(), storage_options=None, **deprecated), text_signature = "(source, target, *, to=None, codec=None, level=None, rows=None, chunks=None, stack=False, allow_loss=False, skip_unreadable=False, overwrite=False, layout=None, byteorder=None, allow=(), storage_options=None)")]
#[allow(clippy::too_many_arguments, clippy::needless_pass_by_value, reason = "so the words of Python arrive")]
pub(crate) fn convert(
    py: Python<'_>,
    source: &Bound<'_, PyAny>,
    target: &Bound<'_, PyAny>,
    to: Option<&str>,
    codec: Option<&str>,
    level: Option<i32>,
    rows: Option<u64>,
    chunks: Option<Vec<u64>>,
    stack: bool,
    allow_loss: bool,
    skip_unreadable: bool,
    overwrite: bool,
    layout: Option<&Bound<'_, PyAny>>,
    byteorder: Option<&str>,
    allow: Vec<String>,
    storage_options: Option<Bound<'_, PyDict>>,
    deprecated: Option<&Bound<'_, PyDict>>,
) -> PyResult<Vec<String>> {
    let storage = crate::remote::merge_deprecated(py, 1, "convert", storage_options, deprecated)?;
    let storage = storage.as_ref();
    let byteorder = parse_byteorder(byteorder)?;
    let opening = crate::remote::open_options(&allow, storage, true)?.byteorder(byteorder).layout(layout::parse_arg(layout)?);
    let target = crate::remote::write_path(target, overwrite, storage)?;
    let mut how = ConvertOptions::default();
    how.to = match to {
        Some(name) => TargetForm::from_name(name).or_raise(UsageErrorKind::Argument)?,
        None => TargetForm::of_name(&target.path().to_string_lossy()),
    };
    if to.is_none() {
        check_name(&target.path().to_string_lossy(), FileFormat::from(&how.to), "choose another name")
            .map_err(|error| raise_at(&error, Some(target.path())))?;
    }
    if let Some(name) = codec {
        how.set_codec(name).or_raise(UsageErrorKind::Argument)?;
    }
    (how.level, how.rows, how.stack, how.allow_loss, how.byteorder) = (level, rows, stack, allow_loss, byteorder);
    how.skip_unreadable = skip_unreadable;
    how.chunks = chunks;
    let given = detect_origin(source)?;
    let (read, written) = (given.path().map(Path::to_path_buf), target.path().to_path_buf());
    let file = detach_interruptible(py, || given.open(&opening))?.map_err(|error| raise_at(&error, read.as_deref()))?;
    let done = detach_interruptible(py, || {
        if !is_read_from(file.source(), target.path()) {
            check_overwrite(target.path(), overwrite)?;
        }
        file.convert(target, &how)
    });
    let done = done?.map_err(|error| raise_at(&error, Some(&written)))?;
    Ok(done.losses.iter().map(ToString::to_string).collect())
}
