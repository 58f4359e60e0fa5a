//! `trilith.convert`: a file in another form, as the command's `convert` writes it.

use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use trilith::convert::{ConvertOptions, To};

use crate::calm::calm;
use crate::errors::{About, Raise};
use crate::layout;
use crate::source::{Origin, order, origin};

/// Writes a file of any family in another form, to a path that is replaced only when all is written.
///
/// `to` is a generation such as "asdf-1.6" or "finf-0.1", or "dudley-2025" or "dudley-2026"; without it the ending of
/// `target` says what is written: `.asdf`, `.bd`, `.fits`, `.finf`. `codec` and `level` are those of `write`; "none"
/// stores blocks as they are, and without a codec they stay as they are stored. With `rows` blocks are compressed with lz4
/// in pieces of so many rows, each of which can be a chunk of Zarr; with `chunks`, the length of a chunk along each axis,
/// arrays with as many axes are cut into chunks, for readers with the package asdf-zarr. `stack` joins each list of
/// equal arrays of a Dudley file into one. What the new form cannot hold is an error, or with `allow_loss` the list that is
/// returned; with `skip_unreadable` items that cannot be read are left out, and are in that list. `layout`, `byteorder`, `allow`
/// and `remote` are those of `open`.
///
/// >>> import numpy, pathlib, tempfile, trilith
/// >>> folder = pathlib.Path(tempfile.mkdtemp())
/// >>> trilith.write(folder / "x.asdf", {"a": numpy.array([1.5, 2.5])})
/// >>> trilith.convert(folder / "x.asdf", folder / "x.bd")
/// []
/// >>> trilith.open(folder / "x.bd")["a"].tolist()
/// [1.5, 2.5]
#[pyfunction]
#[pyo3(signature = (source, target, *, to=None, codec=None, level=None, rows=None, chunks=None, stack=false, allow_loss=false, skip_unreadable=false, layout=None, byteorder=None, allow=Vec::new(), remote=None))]
#[allow(clippy::too_many_arguments, clippy::needless_pass_by_value, reason = "so the words of Python arrive")]
pub fn convert(
    py: Python<'_>,
    source: &Bound<'_, PyAny>,
    target: PathBuf,
    to: Option<&str>,
    codec: Option<&str>,
    level: Option<i32>,
    rows: Option<u64>,
    chunks: Option<Vec<u64>>,
    stack: bool,
    allow_loss: bool,
    skip_unreadable: bool,
    layout: Option<&Bound<'_, PyAny>>,
    byteorder: Option<&str>,
    allow: Vec<String>,
    remote: Option<&Bound<'_, PyDict>>,
) -> PyResult<Vec<String>> {
    let byteorder = order(byteorder)?;
    let opening = crate::remote::opening(true, &allow, remote)?.byteorder(byteorder).layout(layout::given(layout)?);
    let mut how = ConvertOptions::default();
    how.to = match to {
        Some(name) => To::named(name).or_raise(About::Argument)?,
        None => To::of_name(&target.to_string_lossy()),
    };
    if let Some(name) = codec {
        how.set_codec(name).or_raise(About::Argument)?;
    }
    (how.level, how.rows, how.stack, how.allow_loss, how.byteorder) = (level, rows, stack, allow_loss, byteorder);
    how.skip_unreadable = skip_unreadable;
    how.chunks = chunks;
    let given = origin(source)?;
    let done = calm(py, || {
        let file = match given {
            Origin::Url(url) => opening.open(&url),
            Origin::Path(path) => opening.open(&path),
            Origin::Other(source) => opening.open_source(source, std::sync::Arc::new(trilith::bytes::NoReferences)),
        };
        file?.convert(&target, &how)
    });
    let done = done?.or_raise(About::Argument)?;
    Ok(done.losses.iter().map(ToString::to_string).collect())
}
