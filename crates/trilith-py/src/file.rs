//! `trilith.open` and the open file.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use trilith::array::{Array, Byteorder, Datatype};
use trilith::asdf::AsdfFile;
use trilith::bytes::NoReferences;
use trilith::layout::Layout as Parsed;
use trilith::{digest, verify};

use crate::calm::calm;
use crate::errors::{About, Raise, raise_at};
use crate::family::Family;
use crate::held::Held;
use crate::home::Home;
use crate::layout::{self, Layout};
use crate::nodes::Place;
use crate::search::Conditions;
use crate::show;
use crate::source::{Origin, origin};
use crate::stream::{Opened, Stream};
use crate::{array, parts, tagged};

/// Opens a file of any family and generation: a path, an address (`https://…`, `s3://bucket/key`), the bytes of a
/// file, or a binary file object, those of fsspec and obstore among them.
///
/// Only the tree is read; arrays are read when they are asked for. With `memmap`, arrays of a local file
/// that are stored as they are can be had without a copy; another program that shortens the file while such
/// an array is in use ends this one, as with every memory map.
///
/// A native Dudley file (`.bd`) gives a `Stream`. With a `layout`, a `Layout` or the path of one, any file is a
/// stream under it; `byteorder`, "little" or "big", is that of whatever layout and file leave open. With
/// `family`, the layout of its files, a catalog gives a `Family`; with `raw` these files have no signature.
///
/// References out of a file may lead into its folder, and where one of `allow` says: a folder (`"../shared/"`, relative
/// to the working directory, or `"file:///data/"`), or addresses that begin so (`"https://data.example.org/"`).
/// `remote` holds options of docs/remote.md, such as `{"timeout": 5}`.
///
/// >>> import trilith
/// >>> with trilith.open(trilith.dumps({"exposure": 139.8})) as f:
/// ...     f["exposure"]
/// 139.8
#[pyfunction]
#[pyo3(signature = (source, *, memmap=true, layout=None, family=None, byteorder=None, allow=Vec::new(), remote=None, raw=false))]
#[allow(clippy::too_many_arguments, clippy::needless_pass_by_value, reason = "so the words of Python arrive")]
pub fn open<'py>(
    py: Python<'py>,
    source: &Bound<'py, PyAny>,
    memmap: bool,
    layout: Option<&Bound<'py, PyAny>>,
    family: Option<&Bound<'py, PyAny>>,
    byteorder: Option<&str>,
    allow: Vec<String>,
    remote: Option<&Bound<'py, PyDict>>,
    raw: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let byteorder = crate::source::order(byteorder)?;
    let (layout, template) = (layout::given(layout)?, layout::given(family)?);
    let text = |layout: &Option<Parsed>| layout.as_ref().map(|layout| layout.text().to_owned());
    // Another process may stand in another folder: the path is absolute.
    let allow = crate::remote::allowed(&allow)?;
    let opening = crate::remote::opening(memmap, &allow, remote)?.byteorder(byteorder);
    let home = Home { path: PathBuf::new(), memmap, layout: text(&layout), family: text(&template), byteorder, allow, raw };
    let opening = match &template {
        Some(template) => opening.family(template.clone()).raw(raw),
        None => opening.layout(layout),
    };
    let (opened, path) = match origin(source)? {
        Origin::Url(url) => (calm(py, || opening.open(&url))?, None),
        Origin::Path(path) => (calm(py, || opening.open(&path))?, Some(path)),
        Origin::Other(source) => (calm(py, || opening.open_source(source, Arc::new(NoReferences)))?, None),
    };
    let file = opened.map_err(|error| raise_at(&error, path.as_deref()))?;
    let home = path.as_ref().and_then(|path| std::path::absolute(path).ok()).map(|path| Arc::new(Home { path, ..home }));
    if let Some(template) = template {
        return Ok(Bound::new(py, Family { file, template: Layout(template, None), home })?.into_any());
    }
    if file.as_dudley().is_some() {
        let opened = py.detach(|| file.into_dudley().and_then(Opened::new)).or_raise(About::Argument)?;
        return Ok(Bound::new(py, Stream::new(opened, home, opening))?.into_any());
    }
    let file = file.into_asdf().or_raise(About::Argument)?;
    Ok(Bound::new(py, File { held: Held::new(file, path, opening), home })?.into_any())
}

/// An open file. It behaves like a dictionary of what is at the top of its tree.
///
/// >>> import trilith
/// >>> f = trilith.open(trilith.dumps({"a": {"b": [1, 2]}}))
/// >>> f["a/b/1"], f["a"]["b"][0]
/// (2, 1)
/// >>> f.close()
/// >>> f["a"]
/// Traceback (most recent call last):
/// ...
/// ValueError: this file is closed
#[pyclass(frozen, mapping, weakref, module = "trilith")]
pub struct File {
    held: Held,
    home: Option<Arc<Home>>,
}

impl File {
    pub fn opened(&self) -> PyResult<Arc<AsdfFile>> {
        self.held.opened()
    }

    fn top(&self) -> PyResult<Place> {
        Ok(Place::root(&self.opened()?, self.home.as_ref()))
    }

    fn root<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.top()?.into_mapping(py)
    }
}

#[pymethods]
impl File {
    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_args))]
    fn __exit__(&self, _args: &Bound<'_, PyAny>) {
        self.close();
    }

    /// Closes the file and drops changes that were not written. Arrays that were taken out of it, and
    /// everything made of them, stay valid.
    fn close(&self) {
        self.held.close();
    }

    /// Whether the file was closed.
    #[getter]
    fn closed(&self) -> bool {
        self.held.is_closed()
    }

    /// The path of the file, or what it was read from.
    #[getter]
    fn name(&self) -> PyResult<String> {
        Ok(self.opened()?.sections().source().name().to_owned())
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.opened()?;
        crate::home::reduce(self.home.as_deref(), py)
    }

    /// The absolute path of the file, or None where it was not opened by its path.
    #[getter]
    fn path(&self) -> Option<&OsStr> {
        self.home.as_ref().map(|home| home.path.as_os_str())
    }

    /// "rw" where `update()` can write changes, because the file was opened by its path; "r" otherwise.
    #[getter]
    fn mode(&self) -> &'static str {
        if self.held.path.is_some() { "rw" } else { "r" }
    }

    /// The entries of the file's history, the oldest first, each a dictionary with a `description` and a `time`.
    #[getter]
    fn history<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let (file, top) = (self.opened()?, self.top()?);
        trilith::change::history(file.tree()).into_iter().map(|node| top.copied(py, node)).collect()
    }

    /// The generation of the file, as `trilith info` names it: "asdf-1.x", "finf-0.1-hs43", ...
    #[getter]
    fn generation(&self) -> PyResult<&'static str> {
        Ok(self.opened()?.sections().generation_name())
    }

    /// The version of the ASDF standard that the file states, or None.
    #[getter]
    fn standard(&self) -> PyResult<Option<String>> {
        Ok(self.opened()?.sections().header().standard().map(str::to_owned))
    }

    /// Problems of the file that do not prevent reading it.
    #[getter]
    fn warnings(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let file = self.opened()?;
        Ok(py.detach(|| file.warnings().into_iter().chain(file.notes().remarks()).collect()))
    }

    /// The top of the tree: usually a `Mapping`.
    #[getter]
    fn tree<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Place::root(&self.opened()?, self.home.as_ref()).into_python(py)
    }

    /// The YAML text of the tree, byte for byte.
    #[getter]
    fn text(&self) -> PyResult<String> {
        Ok(self.opened()?.tree().text().to_owned())
    }

    fn __getitem__<'py>(&self, py: Python<'py>, key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.tree(py)?.get_item(key)
    }

    fn __contains__(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        self.tree(py)?.contains(key)
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        self.root(py)?.len()
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(self.tree(py)?.try_iter()?.into_any())
    }

    /// A view of the keys at the top.
    fn keys<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.root(py)?.call_method0("keys")
    }

    /// A view of the values at the top.
    fn values<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.root(py)?.call_method0("values")
    }

    /// A view of the pairs of key and value at the top.
    fn items<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.root(py)?.call_method0("items")
    }

    /// The value of a key or path, or `default`. With `as_="asdf"` it is the object that the installed converters of the
    /// `asdf` package make of it (a WCS, a quantity, a table), arrays read; nothing else of the tree is converted.
    #[pyo3(signature = (key, default=None, *, as_=None))]
    fn get<'py>(
        &self,
        py: Python<'py>,
        key: &Bound<'py, PyAny>,
        default: Option<Bound<'py, PyAny>>,
        as_: Option<&str>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let how = PyDict::new(py);
        how.set_item("as_", as_)?;
        self.root(py)?.call_method("get", (key, default), Some(&how))
    }

    /// Paths of what meets conditions.
    #[pyo3(name = "_search")]
    #[allow(clippy::needless_pass_by_value, reason = "so the words of Python arrive")]
    fn search(&self, py: Python<'_>, conditions: Conditions) -> PyResult<Vec<String>> {
        crate::search::paths(py, &self.top()?, &conditions)
    }

    /// A dictionary of the whole tree, in which arrays are still to be read.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.root(py)?.call_method0("to_dict")
    }

    /// What the file is made of: its generation, where tree and blocks lie, codecs and sizes in bytes.
    fn info<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let file = self.opened()?;
        let sections = file.sections();
        let blocks = py.detach(|| sections.blocks()).or_raise(About::Argument)?;
        let dict = PyDict::new(py);
        dict.set_item("file", sections.source().name())?;
        dict.set_item("generation", py.detach(|| sections.generation_name()))?;
        dict.set_item("header", &sections.header().line)?;
        dict.set_item("standard", sections.header().standard())?;
        dict.set_item("size", file.size())?;
        let tree = PyDict::new(py);
        if let Some(extent) = sections.tree() {
            tree.set_item("offset", extent.start)?;
            tree.set_item("length", extent.end - extent.start)?;
            tree.set_item("padding", sections.padding())?;
        }
        dict.set_item("tree", tree)?;
        let list = PyList::empty(py);
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
        dict.set_item("blocks", list)?;
        Ok(dict)
    }

    /// The decoded bytes of a block, by its number, as an array of uint8 that is still to be read. A
    /// streamed block is number -1, or the last.
    fn block(&self, py: Python<'_>, number: i64) -> PyResult<array::Array> {
        let file = self.opened()?;
        let made = py.detach(|| {
            let source = file.block_data(number)?;
            let len = source.len();
            Array::new(source, 0, Datatype::Uint8, Byteorder::NATIVE, vec![len])
        });
        Ok(array::Array::new(made.or_raise(About::Index)?, None, None))
    }

    /// The tree as Python's `asdf` parses it, and its blocks; None where only that package can say.
    #[pyo3(name = "_tagged")]
    fn tagged<'py>(
        &self,
        py: Python<'py>,
        mapping: Bound<'py, PyAny>,
        sequence: Bound<'py, PyAny>,
        text: Bound<'py, PyAny>,
    ) -> PyResult<Option<(Bound<'py, PyAny>, Bound<'py, PyList>)>> {
        let file = self.opened()?;
        let classes = tagged::Classes { mapping, sequence, text };
        let Some(tree) = tagged::tree(py, &file, &classes)? else { return Ok(None) };
        Ok(tagged::blocks(py, &file)?.map(|blocks| (tree, blocks)))
    }

    /// The text of the tree after what Python's `asdf` has tagged takes its place: see [`parts::tagged_toward`].
    #[pyo3(name = "_toward")]
    fn toward<'py>(&self, tree: &Bound<'py, PyAny>, classes: &Bound<'py, PyAny>) -> PyResult<Option<String>> {
        parts::tagged_toward(&*self.opened()?, tree, &tagged::Classes::of(classes)?)
    }

    /// The headers of the blocks, as Python's `asdf` has them; None where only that package can say.
    #[pyo3(name = "_headers")]
    fn headers<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyList>>> {
        tagged::blocks(py, &*self.opened()?)
    }

    /// Where the tree begins; None without one.
    #[getter]
    #[pyo3(name = "_tree_offset")]
    fn tree_offset(&self) -> PyResult<Option<u64>> {
        Ok(self.opened()?.sections().tree().map(|tree| tree.start))
    }

    /// Gives the file this tree, and blocks besides its own: see [`parts::become_parts`].
    #[pyo3(name = "_become")]
    fn become_parts<'py>(
        &self,
        py: Python<'py>,
        text: &str,
        added: Vec<parts::Given<'py>>,
    ) -> PyResult<(bool, Vec<Option<usize>>)> {
        parts::become_parts(py, &self.held, text, added)
    }

    /// Whether memory still holds what a block holds.
    #[pyo3(name = "_same")]
    fn is_same(&self, py: Python<'_>, number: i64, memory: &Bound<'_, PyAny>) -> PyResult<bool> {
        parts::is_same(py, &*self.opened()?, number, memory)
    }

    /// The SHA-256 of what each array holds, by its path. It does not depend on compression, byte order
    /// or generation. The digest of a mask is under the path of the mask.
    fn digest<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let file = self.opened()?;
        let dict = PyDict::new(py);
        for entry in calm(py, || digest::of(&*file))?.or_raise(About::Argument)? {
            let (_, sums) = entry.digest.map_err(|e| e.context(entry.path.clone())).or_raise(About::Argument)?;
            dict.set_item(&entry.path, hex(&sums.sha256))?;
            if let Some(mask) = sums.mask_sha256 {
                dict.set_item(format!("{}/mask", entry.path), hex(&mask))?;
            }
        }
        Ok(dict)
    }

    /// Checks structure and checksums; with `deep` every block is decoded as well. What is wrong, one
    /// line each: an empty list where nothing is.
    #[pyo3(signature = (*, deep=false))]
    fn verify(&self, py: Python<'_>, deep: bool) -> PyResult<Vec<String>> {
        let file = self.opened()?;
        let report = calm(py, || verify::verify(&file, deep, trilith::Progress::default()))?.or_raise(About::Argument)?;
        let blocks = report.blocks.iter().filter_map(|block| block.problem.as_ref()).map(ToString::to_string);
        let structure = report.structure.iter().map(ToString::to_string);
        let arrays = report.arrays.iter().map(|(path, error)| format!("{path}: {error}"));
        Ok(structure.chain(blocks).chain(arrays).collect())
    }

    /// Sets the value at a path, or adds a key, for the next `update()`; comments, key order and everything
    /// else of the tree stay. Arrays, also within dictionaries, get blocks of their own, with a `codec` and a
    /// `level` as `write` takes them; with `inline` they go into the tree.
    #[pyo3(signature = (path, value, *, inline=false, codec=None, level=None))]
    #[allow(clippy::too_many_arguments, reason = "they are keywords")]
    fn set(
        &self,
        py: Python<'_>,
        path: &str,
        value: &Bound<'_, PyAny>,
        inline: bool,
        codec: Option<&str>,
        level: Option<i32>,
    ) -> PyResult<()> {
        crate::edit::set(py, &self.held, path, value, inline, codec, level)
    }

    fn __setitem__(&self, py: Python<'_>, key: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        crate::edit::set(py, &self.held, &crate::edit::path(key)?, value, false, None, None)
    }

    fn __delitem__(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<()> {
        crate::edit::delete(py, &self.held, &crate::edit::path(key)?)
    }

    /// Removes what is at a path, with the comment on its line, for the next `update()`.
    fn delete(&self, py: Python<'_>, path: &str) -> PyResult<()> {
        crate::edit::delete(py, &self.held, path)
    }

    /// Gives the key at a path another name, at its place, for the next `update()`.
    fn rename(&self, py: Python<'_>, path: &str, name: String) -> PyResult<()> {
        crate::edit::rename(py, &self.held, path, name)
    }

    /// Adds an entry with this description and the current time to the history, for the next `update()`.
    fn add_history_entry(&self, py: Python<'_>, description: String) -> PyResult<()> {
        crate::edit::add_history(py, &self.held, description)
    }

    /// Writes the file with the changes that were made to it to another path or a binary file object, and leaves the file
    /// itself as it is. Blocks are copied as they are stored.
    fn write_to(&self, py: Python<'_>, target: &Bound<'_, PyAny>) -> PyResult<()> {
        crate::edit::write_to(py, &self.held, target)
    }

    /// Adds rows to a streamed array, at the end of the file; a crash leaves the old rows. `Pieces` of unknown
    /// length are written as such an array.
    fn append(&self, py: Python<'_>, path: &str, rows: &Bound<'_, PyAny>) -> PyResult<()> {
        crate::edit::append(py, &self.held, path, rows)
    }

    /// Writes the changes: in place under a rollback journal where the tree fits into its space, otherwise
    /// into a new file that takes the place of this one. No array is decoded.
    #[pyo3(signature = (*, in_place=true))]
    fn update(&self, py: Python<'_>, in_place: bool) -> PyResult<()> {
        crate::edit::update(py, &self.held, in_place)
    }

    fn __repr__(&self) -> String {
        match self.opened() {
            Ok(file) => {
                let tree = show::tree(file.tree().root(), "tree");
                format!("<trilith.File {}>\n{}", show::file(&file), tree.split_once('\n').map_or("", |(_, rest)| rest))
            }
            Err(_) => "<trilith.File, closed>".to_owned(),
        }
    }

    fn _repr_html_(&self, py: Python<'_>) -> String {
        match self.opened() {
            Ok(file) => {
                let tree = show::tree_html(file.tree().root(), &format!("trilith.File {}", show::file(&file)));
                tree + &py.detach(|| crate::picture::first_of(&file)).unwrap_or_default()
            }
            Err(_) => "<div class=\"trilith\"><b>trilith.File</b>, closed</div>".to_owned(),
        }
    }
}

/// Lower-case hexadecimal.
fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
