//! The parts of a file that only the ASDF family has.

use std::sync::Arc;

use pyo3::exceptions::PyNotImplementedError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use trilith::array::{Array, Byteorder, Datatype};
use trilith::asdf::AsdfFile;
use trilith::file::ItemLocation as At;
use trilith_io::suggest::hex;

use crate::array;
use crate::array_origin::FileOrigin;
use crate::errors::{IntoPyResult, UsageErrorKind};
use crate::nodes::ItemRef;
use crate::open_file::OpenFile;

/// The parts of an open file that only the ASDF family has: tree text, history, blocks.
///
/// Examples
/// --------
/// >>> import trilith
/// >>> f = trilith.open(trilith.dumps({"a": 1}))
/// >>> f.asdf.standard, f.asdf.history, f.asdf.text.splitlines()[-2:]
/// ('1.6.0', [], ['a: 1', '...'])
#[pyclass(frozen, module = "trilith")]
pub(crate) struct Asdf {
    pub held: Arc<OpenFile>,
    pub home: Option<Arc<FileOrigin>>,
}

/// The file as one of the ASDF family.
pub(crate) fn asdf_of(file: &trilith::File) -> PyResult<&AsdfFile> {
    let wrong = || {
        let (name, family) = (file.source().name(), file.family());
        PyNotImplementedError::new_err(format!(
            "only files of the ASDF family have a tree and blocks; {name} is of the family {family}"
        ))
    };
    file.as_asdf().ok_or_else(wrong)
}

impl Asdf {
    /// Adds header and standard to what `info` says, and returns the place of the tree and the blocks.
    pub(crate) fn extend_info<'py>(
        &self,
        py: Python<'py>,
        dict: &Bound<'py, PyDict>,
    ) -> PyResult<(Bound<'py, PyDict>, Bound<'py, PyList>)> {
        let file = self.held.file()?;
        let (tree, list) = (PyDict::new(py), PyList::empty(py));
        let Some(file) = file.as_asdf() else { return Ok((tree, list)) };
        let sections = file.sections();
        let blocks = py.detach(|| sections.blocks()).or_raise_from(UsageErrorKind::Argument, sections.source())?;
        dict.set_item("header", &sections.header().line)?;
        dict.set_item("standard", sections.header().standard())?;
        dict.set_item("size", file.size())?;
        if let Some(extent) = sections.tree() {
            tree.set_item("offset", extent.start)?;
            tree.set_item("length", extent.end - extent.start)?;
            tree.set_item("padding", sections.padding())?;
        }
        for block in blocks {
            let entry = PyDict::new(py);
            entry.set_item("index", block.index)?;
            entry.set_item("offset", block.offset)?;
            entry.set_item("data_offset", block.data_offset)?;
            let codec = String::from_utf8_lossy(&block.compression).trim_end_matches('\0').to_owned();
            entry.set_item("codec", Some(codec).filter(|codec| !codec.is_empty()))?;
            entry.set_item("encoding", py.detach(|| file.encoding_names(block)))?;
            entry.set_item("stored", block.stored_len())?;
            entry.set_item("decoded", block.decoded_len())?;
            entry.set_item("streamed", block.is_streamed())?;
            entry.set_item("checksum", block.checksum.as_deref().map(hex))?;
            list.append(entry)?;
        }
        Ok((tree, list))
    }
}

#[pymethods]
impl Asdf {
    /// The YAML text of the tree, byte for byte.
    #[getter]
    pub(crate) fn text(&self) -> PyResult<String> {
        Ok(asdf_of(&self.held.file()?)?.tree().text().to_owned())
    }

    /// The version of the ASDF standard that the file states, or None.
    #[getter]
    pub(crate) fn standard(&self) -> PyResult<Option<String>> {
        Ok(asdf_of(&self.held.file()?)?.sections().header().standard().map(str::to_owned))
    }

    /// The entries of the history, the oldest first, each a dictionary with a `description` and a `time`.
    #[getter]
    pub(crate) fn history<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let file = self.held.file()?;
        let top = ItemRef::from_file_root(&file, self.home.as_ref());
        let entries = trilith::change::history(asdf_of(&file)?.tree()).into_iter();
        entries.map(|node| top.for_item(top.item.with_location(At::Node(node.id().index()))).to_builtin_containers(py)).collect()
    }

    /// Adds an entry with the current time to the history, for the next `update()`.
    ///
    /// Parameters
    /// ----------
    /// description : str
    ///     The text of the entry.
    ///
    /// Raises
    /// ------
    /// ValueError
    ///     If the file is closed, or cannot be changed.
    ///
    /// Examples
    /// --------
    /// >>> import tempfile, trilith
    /// >>> path = tempfile.mkdtemp() + "/x.asdf"
    /// >>> trilith.write(path, {"meta": {"filter": "F106", "seeing": 0.8}})
    /// >>> with trilith.open(path) as f:
    /// ...     f.asdf.add_history_entry("flat field done")
    /// ...     f.update()
    /// >>> with trilith.open(path) as f:
    /// ...     f.asdf.history[0]["description"]
    /// 'flat field done'
    pub(crate) fn add_history_entry(&self, py: Python<'_>, description: String) -> PyResult<()> {
        crate::edit::add_history(py, &self.held, description)
    }

    /// Returns the decoded bytes of a block as an array of uint8.
    ///
    /// Parameters
    /// ----------
    /// number : int
    ///     The number of the block. A streamed block is number -1, or the last.
    ///
    /// Returns
    /// -------
    /// Array
    ///
    /// Raises
    /// ------
    /// ValueError
    ///     If there is no such block.
    ///
    /// Examples
    /// --------
    /// >>> import numpy, trilith
    /// >>> f = trilith.open(trilith.dumps({"a": numpy.arange(3, dtype="u1")}))
    /// >>> f.asdf.block(0).tolist()
    /// [0, 1, 2]
    pub(crate) fn block(&self, py: Python<'_>, number: i64) -> PyResult<array::Array> {
        let file = self.held.file()?;
        let file = asdf_of(&file)?;
        let made = py.detach(|| {
            let source = file.block_data(number)?;
            let len = source.len();
            Array::new(source, 0, Datatype::Uint8, Byteorder::NATIVE, vec![len])
        });
        Ok(array::Array::new(made.or_raise_from(UsageErrorKind::Index, file.sections().source())?, None))
    }
}
