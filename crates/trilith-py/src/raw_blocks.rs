//! Files from parts that are ready: the text of a tree, and the bytes of its blocks.

use std::io::{Cursor, Seek, Write};
use std::path::PathBuf;

use numpy::{PyArray1, PyArrayMethods, PyReadonlyArray1};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use trilith::Limits;
use trilith::SaveOptions;
use trilith::asdf::{AsdfFile, BlockOptions, FileWriter, Target, WriteOptions};
use trilith::bytes::{NewFile, Source, WriteBasis, verify_backing};
use trilith::tree::Tree;
use trilith::tree::{PrintOptions, print_document};
use trilith_codec::codec::{self, CodecId};

use crate::asdf_tagged::{self, TaggedClasses};
use crate::buffer::verify_borrowed;
use crate::detached::detach_interruptible;
use crate::edit::issue_warnings;
use crate::errors::{IntoPyResult, UsageErrorKind, raise_at};
use crate::file::File;
use crate::open_file::OpenFile;
use crate::write::{resolve_target, write_all};

/// Number of bytes that a codec gets at once.
const BUFFER_SIZE: usize = 4 << 20;

/// A block that is to be written: its bytes, or a file and the number of the block there, which is then copied as it is
/// stored; its codec as the file names it, and the level of that.
pub(crate) type BlockInput<'py> = (Bound<'py, PyAny>, Option<[u8; 4]>, Option<i32>);

/// The source of the bytes of a block.
enum BlockSource<'py> {
    Memory(PyReadonlyArray1<'py, u8>, BlockOptions),
    Stored(trilith::File, i64),
}

/// The content of a block, borrowed so that the interpreter need not be held.
#[derive(Clone, Copy)]
enum OwnedBlockSource<'a> {
    Memory(&'a [u8], &'a BlockOptions),
    Stored(&'a AsdfFile, i64),
}

impl<'py> BlockSource<'py> {
    fn new((given, codec, level): BlockInput<'py>) -> PyResult<Self> {
        if let Ok((file, number)) = given.extract::<(Bound<'py, File>, i64)>() {
            return Ok(Self::Stored(file.get().trilith_file()?, number));
        }
        let mut options = BlockOptions::default();
        options.codec = codec.filter(|codec| *codec != [0; 4]).map(CodecId);
        options.encode.level = level;
        let array = given.cast_into::<PyArray1<u8>>().map_err(|_| PyTypeError::new_err("a block is an array of uint8"))?;
        options.encode.total_len = Some(array.len()? as u64);
        Ok(Self::Memory(array.try_readonly()?, options))
    }

    fn detach(&self) -> PyResult<OwnedBlockSource<'_>> {
        Ok(match self {
            Self::Memory(array, options) => OwnedBlockSource::Memory(array.as_slice()?, options),
            Self::Stored(file, number) => {
                OwnedBlockSource::Stored(file.edit().or_raise_from(UsageErrorKind::Argument, file.source())?.file(), *number)
            }
        })
    }
}

impl OwnedBlockSource<'_> {
    /// Returns the number of bytes from memory that are stored uncompressed, or 0.
    fn uncompressed_size(&self) -> u64 {
        match self {
            Self::Memory(bytes, options) if options.codec.is_none() => bytes.len() as u64,
            _ => 0,
        }
    }
}

/// Writes a file with this tree (the whole YAML document) and these blocks, to a path or a file object.
///
/// The caller has compared the checksums of blocks that are copied ([`check_block`]).
#[pyfunction]
#[pyo3(name = "_write_parts", signature = (target, version, comments, text, blocks, *, checksums=true, index=true))]
#[allow(clippy::too_many_arguments, clippy::needless_pass_by_value, reason = "they are keywords, and lists of Python")]
pub(crate) fn write_parts<'py>(
    py: Python<'py>,
    target: &Bound<'py, PyAny>,
    version: &str,
    comments: Vec<String>,
    text: &str,
    blocks: Vec<BlockInput<'py>>,
    checksums: bool,
    index: bool,
) -> PyResult<()> {
    let form = resolve_target(version)?;
    let held = blocks.into_iter().map(BlockSource::new).collect::<PyResult<Vec<_>>>()?;
    let ready = held.iter().map(BlockSource::detach).collect::<PyResult<Vec<_>>>()?;
    let mut layout = WriteOptions::default();
    (layout.checksums, layout.index) = (checksums, index);
    // Programs that cut a file at its first block expect nothing between the tree and that.
    layout.align = Some(1);
    if target.hasattr("write")? {
        let bytes = detach_interruptible(py, || {
            let mut out = Cursor::new(Vec::new());
            write_file(&mut out, form, layout, &comments, text, &ready)?;
            trilith::Result::Ok(out.into_inner())
        });
        return write_all(target, &bytes?.or_raise(UsageErrorKind::Argument)?);
    }
    let path: PathBuf = target.extract()?;
    let written = path.clone();
    let done = detach_interruptible(py, || {
        let mut file = NewFile::create_regular(path, WriteBasis::Nothing)?;
        file.reserve(ready.iter().map(OwnedBlockSource::uncompressed_size).sum())?;
        write_file(file.writer(), form, layout, &comments, text, &ready)?;
        file.commit().map(drop)
    });
    done?.map_err(|error| raise_at(&error, Some(&written)))
}

fn write_file<W: Write + Seek>(
    out: W,
    form: &'static Target,
    layout: WriteOptions,
    comments: &[String],
    text: &str,
    blocks: &[OwnedBlockSource<'_>],
) -> trilith::Result<()> {
    let mut writer = FileWriter::new(out, form.generation(), layout);
    let all: Vec<String> = form.comments().into_iter().chain(comments.iter().cloned()).collect();
    writer.header(form.header, &all, Some(text))?;
    for block in blocks {
        match *block {
            OwnedBlockSource::Memory(bytes, options) => {
                let mut block = writer.begin_block(options)?;
                for piece in bytes.chunks(BUFFER_SIZE) {
                    block.write(piece)?;
                }
                block.finish()?;
            }
            OwnedBlockSource::Stored(file, number) => {
                let block = file.sections().block(number)?;
                writer.copy(&block.stored_source(file.sections().source())?, block)?;
            }
        }
    }
    writer.finish().map(drop)
}

/// Gives an open file another tree, which calls its blocks by their numbers and `added` by those that follow; says whether
/// that was done in place, and which number each block has now (None: it is gone). The caller has compared the checksums of
/// blocks that are copied ([`check_block`]).
///
/// # Errors
/// Returns the errors of [`Change::save`].
pub(crate) fn become_parts<'py>(
    py: Python<'py>,
    file: &OpenFile,
    text: &str,
    added: Vec<BlockInput<'py>>,
) -> PyResult<(bool, Vec<Option<usize>>)> {
    let path = file.writable_path()?;
    let held = added.into_iter().map(BlockSource::new).collect::<PyResult<Vec<_>>>()?;
    let ready = held.iter().map(BlockSource::detach).collect::<PyResult<Vec<_>>>()?;
    let done = detach_interruptible(py, || {
        let _turn = file.write_lock();
        let (opened, _) = file.current_file_and_tree()?;
        let mut change = opened.edit()?;
        let known = change.file().sections().blocks()?.len();
        for block in &ready {
            match *block {
                OwnedBlockSource::Memory(bytes, options) => {
                    change.add_block(options, |out| bytes.chunks(BUFFER_SIZE).try_for_each(out))?;
                }
                OwnedBlockSource::Stored(other, number) => {
                    let data = other.block_data(number)?;
                    let mut options = BlockOptions::default();
                    options.codec = Some(CodecId(other.sections().block(number)?.compression)).filter(|codec| codec.0 != [0; 4]);
                    change.add_block(&options, |out| for_each_piece(&*data, |_, piece| out(piece).map(|()| true)).map(drop))?;
                }
            }
        }
        change.set_tree(Tree::parse(text, opened.limits())?);
        let saved = change.save(SaveOptions::in_place())?;
        file.reopen(path)?;
        let numbers = (0..known + ready.len()).map(|number| saved.block_numbers.get(&(number as i64)).copied()).collect();
        trilith::Result::Ok((saved.in_place, numbers, saved.warnings))
    });
    let (in_place, numbers, warnings) = done?.or_raise_at(UsageErrorKind::Argument, file.path.as_deref())?;
    issue_warnings(py, warnings)?;
    Ok((in_place, numbers))
}

/// Compares the checksum of the block that a NumPy array is a view of: see [`verify_borrowed`].
#[pyfunction]
#[pyo3(name = "_check_view")]
pub(crate) fn check_view(array: &Bound<'_, PyAny>) -> PyResult<()> {
    verify_borrowed(array)
}

/// Compares the checksum that a block of a file states with its bytes.
///
/// # Errors
/// Returns `FormatError` if the block is damaged, and an error if it cannot be read.
pub(crate) fn check_block(py: Python<'_>, file: &AsdfFile, number: i64) -> PyResult<()> {
    let checked = detach_interruptible(py, || {
        let sections = file.sections();
        verify_backing(&*sections.block(number)?.stored_source(sections.source())?)
    });
    checked?.or_raise_from(UsageErrorKind::Argument, file.sections().source())
}

/// Returns `True` if memory has the same bytes as a block of a file.
///
/// # Errors
/// Returns an error if the block cannot be read.
pub(crate) fn is_same(py: Python<'_>, file: &AsdfFile, number: i64, memory: &Bound<'_, PyAny>) -> PyResult<bool> {
    let array = memory.cast::<PyArray1<u8>>().map_err(|_| PyTypeError::new_err("a block is an array of uint8"))?;
    let array = array.try_readonly()?;
    let bytes = array.as_slice()?;
    let same = detach_interruptible(py, || {
        let data = file.block_data(number)?;
        if data.len() != bytes.len() as u64 {
            return Ok(false);
        }
        for_each_piece(&*data, |at, piece| Ok(bytes.get(at..at + piece.len()) == Some(piece)))
    });
    same?.or_raise_from(UsageErrorKind::Argument, file.sections().source())
}

/// Hands over the bytes of a source piece by piece, until `take` has had enough; whether it took all.
fn for_each_piece(data: &dyn Source, mut take: impl FnMut(usize, &[u8]) -> trilith::Result<bool>) -> trilith::Result<bool> {
    let (len, mut at) = (data.len(), 0);
    let mut buffer = vec![0; BUFFER_SIZE.min(usize::try_from(len).unwrap_or(BUFFER_SIZE))];
    while at < len {
        let count = buffer.len().min(usize::try_from(len - at).unwrap_or(BUFFER_SIZE));
        let piece = buffer.get_mut(..count).unwrap_or(&mut []);
        data.read_at(at, piece)?;
        if !take(usize::try_from(at).unwrap_or(usize::MAX), piece)? {
            return Ok(false);
        }
        at += count as u64;
    }
    Ok(true)
}

/// Returns `True` if blocks of this codec, as the file names it, can be read.
#[pyfunction]
#[pyo3(name = "_decodes")]
pub(crate) fn decodes(label: [u8; 4]) -> bool {
    label == [0; 4] || codec::opt_codec(CodecId(label)).is_some()
}

/// The text of a tree with the content of `new`. Everything that `old` has as well keeps its text, with
/// its comments; None if that cannot be.
#[pyfunction]
#[pyo3(name = "_toward")]
pub(crate) fn toward(py: Python<'_>, old: &str, new: &str) -> PyResult<Option<String>> {
    let made = py.detach(|| {
        let limits = Limits::from_env()?;
        merge_checked(&Tree::parse(old, &limits)?, new, &limits)
    });
    made.or_raise(UsageErrorKind::Argument)
}

/// Does the same as [`toward`], for the tree of a file and one that `asdf` has tagged. Returns None, too, if only
/// `asdf` can print it.
///
/// # Errors
/// Returns an error if the file was closed, and the exceptions of Python for the tree.
pub(crate) fn merge_tagged<'py>(
    file: &AsdfFile,
    tree: &Bound<'py, PyAny>,
    classes: &TaggedClasses<'py>,
) -> PyResult<Option<String>> {
    let Some(value) = asdf_tagged::tagged_to_value(tree, classes)? else { return Ok(None) };
    let made = tree.py().detach(|| merge_checked(file.tree(), &print_document(&value, &PrintOptions::default()), file.limits()));
    made.or_raise(UsageErrorKind::Argument)
}

fn merge_checked(old: &Tree, new: &str, limits: &Limits) -> trilith::Result<Option<String>> {
    Ok(old.merge_from(&Tree::parse(new, limits)?, limits)?.map(Tree::into_text))
}
