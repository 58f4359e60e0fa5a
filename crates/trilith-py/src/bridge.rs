//! The bridge to Python's `asdf`: the methods of an open file that only its hooks call.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::asdf::asdf_of;
use crate::asdf_tagged::{TaggedClasses, describe_blocks, load_tagged_tree};
use crate::file::File;
use crate::open_file::OpenFile;
use crate::raw_blocks;

/// An open file as the hooks of `trilith.asdf` see it: its tagged tree, and its blocks by their numbers.
#[pyclass(frozen, name = "_AsdfBridge", module = "trilith._trilith")]
pub(crate) struct AsdfBridge {
    held: Arc<OpenFile>,
}

#[pymethods]
impl AsdfBridge {
    #[new]
    fn new(file: &File) -> Self {
        Self { held: file.open_file().clone() }
    }

    /// Returns the tree as Python's `asdf` parses it, and its blocks; None if only that package can say.
    fn tagged<'py>(
        &self,
        py: Python<'py>,
        mapping: Bound<'py, PyAny>,
        sequence: Bound<'py, PyAny>,
        text: Bound<'py, PyAny>,
    ) -> PyResult<Option<(Bound<'py, PyAny>, Bound<'py, PyList>)>> {
        let file = self.held.file()?;
        let classes = TaggedClasses { mapping, sequence, text };
        let Some(tree) = load_tagged_tree(py, asdf_of(&file)?, &classes)? else { return Ok(None) };
        Ok(describe_blocks(py, asdf_of(&file)?)?.map(|blocks| (tree, blocks)))
    }

    /// Returns the text of the tree after what Python's `asdf` has tagged takes its place: see [`raw_blocks::merge_tagged`].
    fn merge_tagged<'py>(&self, tree: &Bound<'py, PyAny>, classes: &Bound<'py, PyAny>) -> PyResult<Option<String>> {
        raw_blocks::merge_tagged(asdf_of(&self.held.file()?)?, tree, &TaggedClasses::from_tuple(classes)?)
    }

    /// Returns the headers of the blocks, as Python's `asdf` has them; None if only that package can say.
    fn block_headers<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyList>>> {
        describe_blocks(py, asdf_of(&self.held.file()?)?)
    }

    /// Offset of the tree in bytes; None without one.
    #[getter]
    fn tree_offset(&self) -> PyResult<Option<u64>> {
        Ok(asdf_of(&self.held.file()?)?.sections().tree().map(|tree| tree.start))
    }

    /// Gives the file this tree, and blocks besides its own: see [`raw_blocks::become_parts`].
    fn become_parts<'py>(
        &self,
        py: Python<'py>,
        text: &str,
        added: Vec<raw_blocks::BlockInput<'py>>,
    ) -> PyResult<(bool, Vec<Option<usize>>)> {
        raw_blocks::become_parts(py, &self.held, text, added)
    }

    /// Returns `True` if memory has the same bytes as a block.
    fn is_same(&self, py: Python<'_>, number: i64, memory: &Bound<'_, PyAny>) -> PyResult<bool> {
        raw_blocks::is_same(py, asdf_of(&self.held.file()?)?, number, memory)
    }

    /// Compares the checksum of a block with its bytes: see [`raw_blocks::check_block`].
    fn check_block(&self, py: Python<'_>, number: i64) -> PyResult<()> {
        raw_blocks::check_block(py, asdf_of(&self.held.file()?)?, number)
    }
}
