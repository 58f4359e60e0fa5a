//! Files from parts that are ready: the text of a tree, and the bytes of its blocks.

use std::io::{BufWriter, Cursor, Seek, Write};
use std::path::PathBuf;

use numpy::{PyArray1, PyArrayMethods, PyReadonlyArray1};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use trilith::Limits;
use trilith::asdf::{BlockOptions, FileWriter, Target, WriteOptions};
use trilith::bytes::{AtomicFile, Basis};
use trilith::codec::CodecId;
use trilith::tree::Tree;

use crate::errors::{About, Raise};
use crate::write::form;

/// How many bytes a codec gets at once.
const PIECE: usize = 4 << 20;

/// A block that is to be written: its bytes, its codec as the file names it, and the level of that.
type Given<'py> = (Bound<'py, PyAny>, Option<[u8; 4]>, Option<i32>);

/// Writes a file with this tree (the whole YAML document) and these blocks, to a path or a file object.
#[pyfunction]
#[pyo3(name = "_write_parts", signature = (target, version, comments, text, blocks, *, checksums=true, index=true))]
#[allow(clippy::too_many_arguments, clippy::needless_pass_by_value, reason = "they are keywords, and lists of Python")]
pub fn write_parts<'py>(
    py: Python<'py>,
    target: &Bound<'py, PyAny>,
    version: &str,
    comments: Vec<String>,
    text: &str,
    blocks: Vec<Given<'py>>,
    checksums: bool,
    index: bool,
) -> PyResult<()> {
    let form = form(version)?;
    let mut held: Vec<(PyReadonlyArray1<'py, u8>, BlockOptions)> = Vec::with_capacity(blocks.len());
    for (bytes, codec, level) in blocks {
        let mut options = BlockOptions::default();
        options.codec = codec.filter(|codec| *codec != [0; 4]).map(CodecId);
        options.encode.level = level;
        let array = bytes.cast_into::<PyArray1<u8>>().map_err(|_| PyTypeError::new_err("a block is an array of uint8"))?;
        held.push((array.try_readonly()?, options));
    }
    let mut ready: Vec<(&[u8], BlockOptions)> = Vec::with_capacity(held.len());
    for (array, options) in &held {
        ready.push((array.as_slice()?, options.clone()));
    }
    let mut layout = WriteOptions::default();
    (layout.checksums, layout.index) = (checksums, index);
    if target.hasattr("write")? {
        let bytes = py.detach(|| {
            let mut out = Cursor::new(Vec::new());
            put(&mut out, form, layout, &comments, text, &ready)?;
            trilith::Result::Ok(out.into_inner())
        });
        target.call_method1("write", (PyBytes::new(py, &bytes.or_raise(About::Argument)?),))?;
        return Ok(());
    }
    let path: PathBuf = target.extract()?;
    let done = py.detach(|| {
        let mut file = AtomicFile::create(path, Basis::Nothing)?;
        put(BufWriter::with_capacity(1 << 20, &mut file), form, layout, &comments, text, &ready)?;
        file.commit().map(drop)
    });
    done.or_raise(About::Argument)
}

fn put<W: Write + Seek>(
    out: W,
    form: &'static Target,
    layout: WriteOptions,
    comments: &[String],
    text: &str,
    blocks: &[(&[u8], BlockOptions)],
) -> trilith::Result<()> {
    let mut writer = FileWriter::new(out, form.generation(), layout);
    let all: Vec<String> = form.comments().into_iter().chain(comments.iter().cloned()).collect();
    writer.header(form.header, &all, Some(text))?;
    for (bytes, options) in blocks {
        let mut options = options.clone();
        options.encode.total = Some(bytes.len() as u64);
        let mut block = writer.begin(&options)?;
        for piece in bytes.chunks(PIECE) {
            block.write(piece)?;
        }
        block.finish()?;
    }
    writer.finish()
}

/// The text of a tree in which all of `new` is said, and what `old` says as well stands as it does there, with
/// its comments; None where that cannot be.
#[pyfunction]
#[pyo3(name = "_toward")]
pub fn toward(py: Python<'_>, old: &str, new: &str) -> PyResult<Option<String>> {
    let made = py.detach(|| {
        let limits = Limits::from_env()?;
        let (old, new) = (Tree::parse(old, &limits)?, Tree::parse(new, &limits)?);
        Ok(old.toward(&new, &limits)?.map(|made| made.text().to_owned()))
    });
    made.or_raise(About::Argument)
}
