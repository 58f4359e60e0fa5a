//! `trilith.open` and the open file.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyAttributeError, PyNotImplementedError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PySlice};
use trilith::Limits;
use trilith::asdf::Target;
use trilith::check::VerifyDepth;
use trilith::dudley::{DudleyFile, FileSelection, ParamSetting, StreamOptions, append_draft, append_variables};
use trilith::layout::{Byteorder, Layout as Parsed};
use trilith_io::suggest::hex;

use crate::array_origin::FileOrigin;
use crate::asdf::Asdf;
use crate::detached::detach_interruptible;
use crate::errors::{IntoPyResult, UsageErrorKind, raise_at};
use crate::file_set::FileSet;
use crate::layout::{self, Layout};
use crate::mapping::MappingBase;
use crate::nodes::ItemRef;
use crate::open_file::{self, OpenFile};
use crate::remote::{unknown_argument, warn_deprecated};
use crate::search::Conditions;
use crate::source::detect_origin;
use crate::to_value::ValueCollector;
use crate::{dudley_items, repr, scalar};

/// Opens a file of any format.
///
/// Only the metadata are read. Arrays are read when they are indexed. Exceptions about a file have its name in `filename`.
///
/// Parameters
/// ----------
/// source : str, os.PathLike, bytes or file object
///     A path, a URL (`https://…`, `s3://bucket/key`, `gs://…`, `az://…`), the bytes of a file, or a binary file
///     object, also of fsspec and obstore.
/// memmap : bool
///     Map a local file into memory, so that uncompressed arrays need no copy. If another program shortens the
///     file while such an array is in use, the process ends, as with every memory map.
/// layout : Layout, str or os.PathLike, optional
///     The layout under which the bytes are read: a `Layout`, its path, or its text.
/// byteorder : {"little", "big"}, optional
///     The byte order, if neither the layout nor the file has it.
/// allow : list of str
///     Places outside of the folder of the file to which references may lead: folders (`"../shared/"`, relative to the
///     working directory, or `"file:///data/"`), or the beginnings of URLs (`"https://data.example.org/"`).
/// storage_options : dict, optional
///     Options of a server or an object store: credentials and places by the names that fsspec uses (`{"anon": True}`,
///     `{"profile": "mine"}`, `{"account_name": "mine"}`), and those of docs/remote.md, such as `{"timeout": 5}`. They go before the
///     environment.
/// physical : bool
///     Give physical values: scale, offset and the like are applied, and missing values are masked. With `False`, arrays have
///     the elements that the file stores.
///
/// Returns
/// -------
/// File
///
/// Raises
/// ------
/// FormatError
///     If the file breaks the rules of its format.
/// NotImplementedError
///     If the format, or something that the file needs, is not supported.
/// OSError
///     If the file cannot be read.
///
/// Examples
/// --------
/// >>> import trilith
/// >>> with trilith.open(trilith.dumps({"exposure": 139.8})) as f:
/// ...     f["exposure"]
/// 139.8
#[pyfunction]
#[pyo3(signature = (source, *, memmap=true, layout=None, byteorder=None, allow=Vec::new(), storage_options=None, physical=true, **deprecated), text_signature = "(source, *, memmap=True, layout=None, byteorder=None, allow=(), storage_options=None, physical=True)")]
#[allow(clippy::too_many_arguments, clippy::needless_pass_by_value, reason = "so the words of Python arrive")]
pub(crate) fn open<'py>(
    py: Python<'py>,
    source: &Bound<'py, PyAny>,
    memmap: bool,
    layout: Option<&Bound<'py, PyAny>>,
    byteorder: Option<&str>,
    allow: Vec<String>,
    storage_options: Option<Bound<'py, PyDict>>,
    physical: bool,
    deprecated: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, File>> {
    let (layout, byteorder) = (layout::parse_arg(layout)?, crate::source::parse_byteorder(byteorder)?);
    let set = FileSetArguments { catalog_only: true, ..FileSetArguments::default() };
    let mut arguments = OpenArguments { memmap, layout, byteorder, allow, storage_options, physical, set };
    for (name, value) in deprecated.into_iter().flatten() {
        let name: String = name.extract()?;
        let place = match name.as_str() {
            "remote" => "an option of storage_options",
            "stored" => "physical=False",
            "family" | "files" | "where" | "raw" => "an argument of trilith.open_set",
            _ => return Err(unknown_argument("open", &name)),
        };
        warn_deprecated(py, 1, &format!("the argument {name} of trilith.open is {place} now"))?;
        arguments.set(&name, &value)?;
    }
    arguments.open(py, source)
}

/// Opens a file or a file set, with the arguments of both, and with those of earlier versions, which pickled arrays have.
#[pyfunction]
#[pyo3(name = "_open", signature = (source, **arguments))]
pub(crate) fn open_any<'py>(
    py: Python<'py>,
    source: &Bound<'py, PyAny>,
    arguments: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, File>> {
    let mut read = OpenArguments::default();
    for (name, value) in arguments.into_iter().flatten() {
        let name: String = name.extract()?;
        if !read.set(&name, &value)? {
            return Err(unknown_argument("open", &name));
        }
    }
    read.open(py, source)
}

/// The arguments of `trilith.open` and `trilith.open_set`.
struct OpenArguments<'py> {
    memmap: bool,
    layout: Option<Parsed>,
    byteorder: Option<Byteorder>,
    allow: Vec<String>,
    storage_options: Option<Bound<'py, PyDict>>,
    physical: bool,
    set: FileSetArguments,
}

/// The arguments that only a file set has.
#[derive(Default)]
struct FileSetArguments {
    /// `True` if a catalog is opened as the file that it is.
    catalog_only: bool,
    /// `True` if the file must be a catalog.
    required: bool,
    /// The layout of the files, if the catalog does not hold it.
    layout: Option<Parsed>,
    files: FileSelection,
    /// `True` if the files have no signature.
    raw: bool,
    /// Values of fixed parameters of the layout in each file.
    params: Vec<(String, ParamSetting)>,
}

impl Default for OpenArguments<'_> {
    fn default() -> Self {
        Self {
            memmap: true,
            layout: None,
            byteorder: None,
            allow: Vec::new(),
            storage_options: None,
            physical: true,
            set: FileSetArguments::default(),
        }
    }
}

impl<'py> OpenArguments<'py> {
    /// Sets one of them by its name; returns `False` if there is none.
    fn set(&mut self, name: &str, value: &Bound<'py, PyAny>) -> PyResult<bool> {
        let given = Some(value).filter(|value| !value.is_none());
        match name {
            "memmap" => self.memmap = value.is_truthy()?,
            "layout" => self.layout = layout::parse_arg(given)?,
            "byteorder" => {
                let name: Option<String> = value.extract()?;
                self.byteorder = crate::source::parse_byteorder(name.as_deref())?;
            }
            "allow" => self.allow = value.try_iter()?.map(|place| place?.extract()).collect::<PyResult<_>>()?,
            "storage_options" | "remote" => {
                self.storage_options = crate::remote::merge_options(self.storage_options.take(), value)?;
            }
            "physical" => self.physical = value.is_truthy()?,
            "stored" => self.physical &= !value.is_truthy()?,
            "raw" => self.set.raw = value.is_truthy()?,
            "files" => {
                let condition = self.set.files.condition.take();
                self.set.files = parse_selection(given)?;
                self.set.files.condition = condition;
            }
            "where" => self.set.files.condition = value.extract()?,
            "params" => {
                let wrong = || PyTypeError::new_err("params is a dictionary of names and numbers, or \"fill\"");
                self.set.params = layout::parse_params(given.map(|given| given.cast()).transpose().map_err(|_| wrong())?)?;
            }
            "family" => match given.map(|value| (value, value.extract::<bool>())) {
                Some((_, Ok(is_set))) => (self.set.catalog_only, self.set.required) = (!is_set, is_set),
                Some((value, Err(_))) => {
                    (self.set.catalog_only, self.set.required, self.set.layout) = (false, true, layout::parse_arg(Some(value))?);
                }
                None => {}
            },
            _ => return Ok(false),
        }
        // The other words of a set say what to do with its files, and no more.
        self.set.catalog_only &= !(matches!(name, "raw" | "files" | "where") && given.is_some());
        Ok(true)
    }

    /// Opens the file.
    fn open(self, py: Python<'py>, source: &Bound<'py, PyAny>) -> PyResult<Bound<'py, File>> {
        let Self { memmap, layout, byteorder, allow, storage_options, physical, set } = self;
        let FileSetArguments { catalog_only, required, layout: template, files, raw, params } = set;
        let text = |layout: &Option<Parsed>| layout.as_ref().map(|layout| layout.text().to_owned());
        // Another process may have another working directory, so the paths of folders become absolute.
        let allow = crate::remote::normalize_allowed_prefixes(&allow)?;
        let source = detect_origin(source)?;
        let has_remote = storage_options.is_some() || !source.is_local();
        let opening = crate::remote::open_options(&allow, storage_options.as_ref(), has_remote)?
            .memory_map(memmap)
            .byteorder(byteorder)
            .layout_params(params.clone())
            .stored_values(!physical);
        let (path, layout_text) = (PathBuf::new(), text(&layout));
        let home = FileOrigin {
            path,
            memmap,
            layout: layout_text,
            file_set_layout: None,
            catalog_only,
            byteorder,
            allow,
            without_signature: raw,
            stored_values: !physical,
            files,
            params,
        };
        let opening = if required { opening.file_set_layout(template) } else { opening.layout(layout) };
        let opening = opening.without_signature(raw).select_files(home.files.clone()).open_catalog_only(catalog_only);
        let path = source.path().map(Path::to_path_buf);
        let opened = detach_interruptible(py, || source.open(&opening))?;
        let file = opened.map_err(|error| raise_at(&error, path.as_deref()))?;
        let template = file.as_family().map(|family| family.template().clone());
        // No other file can be a catalog.
        let is_dudley = file.as_dudley().is_some_and(|file| file.signature().is_some() && !file.is_foreign());
        let catalog_only = catalog_only && is_dudley;
        let mut home = FileOrigin { file_set_layout: text(&template), catalog_only, ..home };
        let is_conditional = home.files.condition.is_some();
        if let Some(set) = file.as_family().filter(|_| is_conditional) {
            // The files are fixed here, so that another process takes the same ones, whatever values they have then.
            home.files.ranges = set.rows().iter().map(|rows| Some(rows.start)..Some(rows.end)).collect();
            home.files.condition = None;
        }
        let home =
            path.as_ref().and_then(|path| std::path::absolute(path).ok()).map(|path| Arc::new(FileOrigin { path, ..home }));
        let file = py.detach(|| open_file::ensure_layout_outline(file)).map_err(|error| raise_at(&error, path.as_deref()))?;
        let remarks = file.as_asdf().map(|file| file.reference_log().remarks()).unwrap_or_default();
        crate::edit::issue_warnings(py, remarks)?;
        let is_set = file.as_family().is_some();
        let opened = PyClassInitializer::from(File { held: Arc::new(OpenFile::new(file, path, opening)), home });
        if is_set { Ok(Bound::new(py, opened.add_subclass(FileSet))?.into_super()) } else { Bound::new(py, opened) }
    }
}

/// Reads which files of a file set are chosen: a number, a slice, a string, or a list of these.
fn parse_selection(files: Option<&Bound<'_, PyAny>>) -> PyResult<FileSelection> {
    let mut selection = FileSelection::default();
    if let Some(files) = files {
        add_selection(files, &mut selection)?;
    }
    Ok(selection)
}

fn add_selection(files: &Bound<'_, PyAny>, selection: &mut FileSelection) -> PyResult<()> {
    let wrong = || PyTypeError::new_err("files= takes numbers of files, slices without a step, and strings such as \"pad\"");
    if let Ok(text) = files.extract::<String>() {
        return text.split(',').try_for_each(|word| selection.add(word.trim())).or_raise(UsageErrorKind::Argument);
    }
    if let Ok(number) = files.extract::<usize>() {
        selection.ranges.push(Some(number)..Some(number + 1));
        return Ok(());
    }
    if files.is_instance_of::<PySlice>() {
        let end = |name: &str| files.getattr(name)?.extract::<Option<usize>>().map_err(|_| wrong());
        return match files.getattr("step")?.extract::<Option<usize>>() {
            Ok(None | Some(1)) => {
                selection.ranges.push(end("start")?..end("stop")?);
                Ok(())
            }
            _ => Err(wrong()),
        };
    }
    for one in files.try_iter().map_err(|_| wrong())? {
        add_selection(&one?, selection)?;
    }
    Ok(())
}

/// An open file of any format. It behaves like a dictionary of the items at its root.
///
/// Groups are mappings, lists are sequences, and arrays are `Array`s, in every format. A path such as
/// `"roman/data"` leads to an item below, and `"fits/SCI@EXPTIME"` to an attribute of one: FITS cards, attributes of HDF5,
/// tags of TIFF. An HDU is indexed as its data: `f["fits/SCI"][:10]`, `f["fits/CAT"]["flux"]`. Methods of
/// arrays, such as `mean` and `wcs`, are those of `f["fits/SCI/data"]`. `print(f)` shows the items, `list(f)` the names at the root,
/// and `visititems` goes through all of them.
///
/// Items of an ASDF file and cards of a FITS file can be set and deleted (`f["meta/seeing"] = 0.7`, `del f["meta/draft"]`).
/// `update()` writes these changes into the file, and `write_to()` writes them to another one. `asdf` and `layout` give
/// access to the properties of single formats.
///
/// Examples
/// --------
/// >>> import io, numpy, trilith
/// >>> f = trilith.open(trilith.dumps({"a": {"b": [1, 2]}}))
/// >>> f["a/b/1"], f["a"]["b"][0]
/// (2, 1)
/// >>> f.close()
/// >>> f["a"]
/// Traceback (most recent call last):
/// ...
/// ValueError: this file is closed
/// >>> out = io.BytesIO()
/// >>> trilith.write(out, {"t": numpy.arange(3.0), "run": {"n": 4}}, version="dudley-2025")
/// >>> with trilith.open(out.getvalue()) as f:
/// ...     f["t"][1], f["run/n"], list(f), f.search(value=4)
/// (np.float64(1.0), 4, ['t', 'run'], {'/run/n': 4})
#[pyclass(frozen, mapping, weakref, subclass, module = "trilith")]
pub(crate) struct File {
    held: Arc<OpenFile>,
    home: Option<Arc<FileOrigin>>,
}

impl File {
    pub(crate) fn trilith_file(&self) -> PyResult<trilith::File> {
        self.held.file()
    }

    /// The file as it is open, with its changes.
    pub(crate) fn open_file(&self) -> &Arc<OpenFile> {
        &self.held
    }

    /// The parts that only a file of the ASDF family has.
    pub(crate) fn asdf_sections(&self) -> Asdf {
        Asdf { held: self.held.clone(), home: self.home.clone() }
    }

    fn root_ref(&self) -> PyResult<ItemRef> {
        Ok(ItemRef::from_file_root(&self.trilith_file()?, self.home.as_ref()))
    }

    fn root_mapping<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.root_ref()?.into_mapping(py)
    }

    /// Appends records of several variables.
    fn append_all(&self, py: Python<'_>, variables: &Bound<'_, PyAny>) -> PyResult<()> {
        let Ok(variables) = variables.cast::<PyDict>() else {
            return Err(PyTypeError::new_err("append() takes a path and rows, or a dict of paths and rows"));
        };
        if self.trilith_file()?.as_asdf().is_some() {
            return Err(PyNotImplementedError::new_err("rows of a file with a tree are appended to one array at a time"));
        }
        let mut all = Vec::with_capacity(variables.len());
        for (path, rows) in variables.iter() {
            let path: String = path.extract()?;
            all.push((format!("/{}", path.trim_start_matches('/')), dudley_items::collect_array(&rows)?));
        }
        self.append_dudley(py, |file, how| append_variables(file, &all, how, &Limits::from_env()?).map(drop))
    }

    /// Appends to a file without a tree, which is then opened again.
    fn append_dudley(
        &self,
        py: Python<'_>,
        make: impl FnOnce(&Path, &StreamOptions) -> trilith::Result<()> + Send,
    ) -> PyResult<()> {
        let file = self.trilith_file()?;
        let is_raw = file.as_dudley().is_some_and(|file| file.signature().is_none() && !file.is_foreign());
        let can_grow = |home: &&FileOrigin| home.file_set_layout.is_none() && (home.layout.is_none() || is_raw);
        let Some(home) = self.home.as_deref().filter(can_grow) else {
            return Err(PyValueError::new_err("only a Dudley file that was opened by its path can be appended to"));
        };
        // A file without signature is read under the same layout again.
        let mut how = StreamOptions::default();
        if let Some(file) = file.as_dudley().filter(|_| home.layout.is_some()) {
            (how.layout, how.order) = (Some(file.layout().clone()), file.byteorder());
        }
        drop(file);
        let done = detach_interruptible(py, || {
            let _turn = self.held.write_lock();
            make(&home.path, &how)?;
            trilith::bytes::retry_if_replaced(|| self.held.reopen(&home.path))
        });
        done?.or_raise_at(UsageErrorKind::Argument, Some(&home.path))
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

    /// Closes the file and drops changes that were not written.
    ///
    /// Arrays that were taken out of it stay valid, and so do results made of them. A second call does nothing.
    ///
    /// Examples
    /// --------
    /// >>> import trilith
    /// >>> f = trilith.open(trilith.dumps({"a": [1, 2]}))
    /// >>> f.close()
    /// >>> f.closed
    /// True
    fn close(&self) {
        self.held.close();
    }

    /// `True` if the file was closed.
    #[getter]
    fn closed(&self) -> bool {
        self.held.is_closed()
    }

    /// The path of the file, or the source that it was read from.
    #[getter]
    fn name(&self) -> PyResult<String> {
        Ok(self.trilith_file()?.source().name().to_owned())
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.trilith_file()?;
        crate::array_origin::reduce_open_file(self.home.as_deref(), py)
    }

    /// The absolute path of the file, or None if it was not opened by its path.
    #[getter]
    fn path(&self) -> Option<&OsStr> {
        self.home.as_ref().map(|home| home.path.as_os_str())
    }

    /// "rw" if `update()` can write changes: the file has a tree and was opened by its path. "r" otherwise.
    #[getter]
    fn mode(&self) -> &'static str {
        let is_editable = self.held.path.is_some() && self.trilith_file().is_ok_and(|file| file.as_asdf().is_some());
        if is_editable { "rw" } else { "r" }
    }

    /// The parts of the file that only the ASDF family has: tree text, history, blocks. None for other formats.
    #[getter]
    fn asdf(&self) -> PyResult<Option<Asdf>> {
        Ok(self.trilith_file()?.as_asdf().map(|_| self.asdf_sections()))
    }

    /// The layout of the file, of the files of a file set, or derived from the metadata of another format. None for a
    /// file with a tree.
    #[getter]
    fn layout(&self) -> PyResult<Option<Layout>> {
        let file = self.trilith_file()?;
        let layout = file.as_dudley().map(DudleyFile::layout).or_else(|| file.as_family().map(|set| set.template()));
        Ok(layout.map(|layout| Layout(layout.clone(), None)))
    }

    /// The attributes of the root, by name: numbers, strings, and lists of these.
    #[getter]
    fn attrs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        scalar::attributes_to_dict(py, &self.root_ref()?.item)
    }

    /// The documentation of the file in one line, as its layout has it; None where there is none.
    #[getter]
    fn doc(&self) -> PyResult<Option<String>> {
        Ok(self.root_ref()?.item.metadata().comment.map(Cow::into_owned))
    }

    /// The format, as `trilith info` names it: "FITS", "HDF5", "asdf-1.x", "finf-0.1-hs43", "dudley-2025", ...
    #[getter]
    fn format(&self) -> PyResult<String> {
        Ok(self.trilith_file()?.format().to_owned())
    }

    /// Problems of the file that do not prevent reading it.
    #[getter]
    fn warnings(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let file = self.trilith_file()?;
        let remarks = || file.as_asdf().map(|file| file.reference_log().remarks()).unwrap_or_default();
        Ok(py.detach(|| file.warnings().into_iter().chain(remarks()).collect()))
    }

    /// The root item: usually a `Mapping`.
    #[getter]
    fn tree<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.root_ref()?.into_python(py)
    }

    /// Finds members that earlier versions had, after a warning.
    fn __getattr__<'py>(slf: &Bound<'py, Self>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let place = match name {
            "attributes" => "attrs",
            "generation" => "format",
            "text" | "standard" | "history" | "block" | "add_history_entry" => "asdf",
            "files" => "trilith.FileSet",
            _ => return Err(PyAttributeError::new_err(format!("'trilith.File' object has no attribute {name:?}"))),
        };
        let file = slf.get();
        let message = match place {
            "asdf" => format!("File.{name} is File.asdf.{name} now"),
            "trilith.FileSet" => format!("only a trilith.FileSet has {name} now"),
            place => format!("File.{name} is File.{place} now"),
        };
        warn_deprecated(py, 1, &message)?;
        let is_asdf = file.trilith_file()?.as_asdf().is_some();
        match name {
            "attributes" => slf.getattr("attrs"),
            "generation" => file.trilith_file()?.generation().into_bound_py_any(py),
            "files" => Ok(PyList::empty(py).into_any()),
            "history" if !is_asdf => Ok(PyList::empty(py).into_any()),
            "standard" if !is_asdf => Ok(py.None().into_bound(py)),
            _ => file.asdf_sections().into_bound_py_any(py)?.getattr(name),
        }
    }

    fn __getitem__<'py>(&self, py: Python<'py>, key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let root = self.root_ref()?;
        if root.is_plain_mapping() { MappingBase(root).__getitem__(py, key) } else { root.into_python(py)?.get_item(key) }
    }

    fn __contains__(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        self.tree(py)?.contains(key)
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        self.root_mapping(py)?.len()
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(self.tree(py)?.try_iter()?.into_any())
    }

    /// Returns a view of the keys at the root.
    ///
    /// Returns
    /// -------
    /// collections.abc.KeysView
    ///
    /// Raises
    /// ------
    /// ValueError
    ///     If the file is closed.
    ///
    /// Examples
    /// --------
    /// >>> import trilith
    /// >>> f = trilith.open(trilith.dumps({"a": 1, "b": "x"}))
    /// >>> list(f.keys())[-2:]
    /// ['a', 'b']
    fn keys<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.root_mapping(py)?.call_method0("keys")
    }

    /// Returns a view of the values at the root.
    ///
    /// Returns
    /// -------
    /// collections.abc.ValuesView
    ///
    /// Raises
    /// ------
    /// ValueError
    ///     If the file is closed.
    ///
    /// Examples
    /// --------
    /// >>> import trilith
    /// >>> f = trilith.open(trilith.dumps({"a": 1, "b": "x"}))
    /// >>> list(f.values())[-2:]
    /// [1, 'x']
    fn values<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.root_mapping(py)?.call_method0("values")
    }

    /// Returns a view of the pairs of key and value at the root.
    ///
    /// Returns
    /// -------
    /// collections.abc.ItemsView
    ///
    /// Raises
    /// ------
    /// ValueError
    ///     If the file is closed.
    ///
    /// Examples
    /// --------
    /// >>> import trilith
    /// >>> f = trilith.open(trilith.dumps({"a": 1, "b": "x"}))
    /// >>> list(f.items())[-2:]
    /// [('a', 1), ('b', 'x')]
    fn items<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.root_mapping(py)?.call_method0("items")
    }

    /// Returns the value of a key or path.
    ///
    /// Parameters
    /// ----------
    /// key : str
    ///     A key, or a path.
    /// default : object
    ///     The value if there is no such item.
    /// as_ : {"asdf"}, optional
    ///     Return the object that the installed converters of the `asdf` package make of it: a WCS, a quantity, a table.
    ///     Its arrays are read. Nothing else of the tree is converted.
    ///
    /// Returns
    /// -------
    /// object
    ///     An `Array`, `Mapping`, `Sequence` or value of Python.
    ///
    /// Raises
    /// ------
    /// ImportError
    ///     If `as_` is "asdf" and the package `asdf` is not installed.
    ///
    /// Examples
    /// --------
    /// >>> import trilith
    /// >>> f = trilith.open(trilith.dumps({"meta": {"exposure": 139.8}}))
    /// >>> f.get("meta/exposure"), f.get("meta/filter", "none")
    /// (139.8, 'none')
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
        self.root_mapping(py)?.call_method("get", (key, default), Some(&how))
    }

    /// Paths of what meets conditions.
    #[pyo3(name = "_search")]
    #[allow(clippy::needless_pass_by_value, reason = "so the words of Python arrive")]
    fn search(&self, py: Python<'_>, conditions: Conditions) -> PyResult<Vec<String>> {
        crate::search::find_paths(py, &self.root_ref()?, &conditions)
    }

    /// Returns the tree as dictionaries and lists.
    ///
    /// Arrays in it are still `Array`s, whose elements are read later.
    ///
    /// Returns
    /// -------
    /// dict
    ///
    /// Raises
    /// ------
    /// ValueError
    ///     If the file is closed.
    ///
    /// Examples
    /// --------
    /// >>> import trilith
    /// >>> trilith.open(trilith.dumps({"meta": {"filters": ["F106"]}})).to_dict()["meta"]
    /// {'filters': ['F106']}
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.root_mapping(py)?.call_method0("to_dict")
    }

    /// Describes how the file is stored.
    ///
    /// Returns
    /// -------
    /// dict
    ///     `file`, `family`, `format` (as the attribute of that name) and `size` in bytes. For the ASDF family also `header`,
    ///     `standard`, and the place of the `tree` and of each of the `blocks`. For a file under a layout `dialect` and
    ///     `byteorder`.
    ///
    /// Raises
    /// ------
    /// ValueError
    ///     If the file is closed.
    ///
    /// Examples
    /// --------
    /// >>> import numpy, trilith
    /// >>> info = trilith.open(trilith.dumps({"a": numpy.zeros(1000)}, codec="lz4")).info()
    /// >>> info["format"], info["blocks"][0]["codec"]
    /// ('asdf-1.x', 'lz4')
    fn info<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let file = self.trilith_file()?;
        let dict = PyDict::new(py);
        dict.set_item("file", file.source().name())?;
        dict.set_item("family", file.family())?;
        dict.set_item("format", file.format())?;
        dict.set_item("size", file.source().len())?;
        let (tree, blocks) = self.asdf_sections().extend_info(py, &dict)?;
        dict.set_item("tree", tree)?;
        dict.set_item("blocks", blocks)?;
        if let Some(file) = file.as_dudley() {
            dict.set_item("dialect", file.layout().dialect().name())?;
            dict.set_item("byteorder", file.byteorder().map(|order| order.name()))?;
        }
        Ok(dict)
    }

    /// Returns the SHA-256 of the elements of each array.
    ///
    /// The sums do not depend on compression, byte order or format.
    ///
    /// Returns
    /// -------
    /// dict of str
    ///     Sums by the paths of the arrays. The sum of a mask is at the path of the mask.
    ///
    /// Raises
    /// ------
    /// FormatError
    ///     If an array cannot be decoded.
    ///
    /// Examples
    /// --------
    /// >>> import numpy, trilith
    /// >>> tree = {"a": numpy.arange(3.0)}
    /// >>> plain, small = (trilith.open(trilith.dumps(tree, codec=codec)) for codec in (None, "zlib"))
    /// >>> plain.digest() == small.digest(), list(plain.digest())
    /// (True, ['/a'])
    fn digest<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let file = self.trilith_file()?;
        let dict = PyDict::new(py);
        for entry in detach_interruptible(py, || file.digest())?.or_raise_from(UsageErrorKind::Argument, file.source())? {
            let (_, sums) =
                entry.digest.map_err(|e| e.context(entry.path.clone())).or_raise_from(UsageErrorKind::Argument, file.source())?;
            dict.set_item(&entry.path, hex(&sums.sha256))?;
            if let Some(mask) = sums.mask_sha256 {
                dict.set_item(format!("{}/mask", entry.path), hex(&mask))?;
            }
        }
        Ok(dict)
    }

    /// Checks the structure of the file and its checksums, and for a catalog also the files that it lists.
    ///
    /// Parameters
    /// ----------
    /// deep : bool
    ///     Decode every block and array as well.
    ///
    /// Returns
    /// -------
    /// list of str
    ///     The problems. Empty if there are none.
    ///
    /// Raises
    /// ------
    /// ValueError
    ///     If the file is closed.
    ///
    /// Examples
    /// --------
    /// >>> import numpy, trilith
    /// >>> data = bytearray(trilith.dumps({"a": numpy.zeros(100)}))
    /// >>> trilith.open(bytes(data)).verify()
    /// []
    /// >>> data[-100] ^= 1
    /// >>> len(trilith.open(bytes(data)).verify()) > 0
    /// True
    #[pyo3(signature = (*, deep=false))]
    fn verify(&self, py: Python<'_>, deep: bool) -> PyResult<Vec<String>> {
        let file = self.trilith_file()?;
        let depth = if deep { VerifyDepth::Decoded } else { VerifyDepth::Structure };
        // A catalog is right if it is that of its files.
        let verify = || self.held.open_set_of_catalog(&file)?.unwrap_or(file).verify(depth, trilith::Progress::default());
        Ok(detach_interruptible(py, verify)?.or_raise_at(UsageErrorKind::Argument, self.held.path.as_deref())?.problems())
    }

    /// Sets the value at a path, or adds a key, for the next `update()`.
    ///
    /// Comments, key order and everything else of the tree stay. Arrays get separate blocks, also those within dictionaries. In a
    /// file under a layout, also one without a signature, the elements of an item are replaced in their place.
    ///
    /// Parameters
    /// ----------
    /// path : str
    ///     The path of the item.
    /// value : object
    ///     The new value, as `write` takes it. In a file under a layout a number, or an array of the datatype and shape of the item.
    /// inline : bool
    ///     Put arrays into the tree, not into blocks.
    /// codec : str, optional
    ///     Codec of the arrays, as in `write`.
    /// level : int, optional
    ///     Compression level.
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
    /// ...     f.set("/meta/filter", "F158")
    /// ...     f.update()
    /// >>> with trilith.open(path) as f:
    /// ...     f["meta/filter"]
    /// 'F158'
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
        crate::edit::set_value(py, &self.held, path, value, &crate::edit::ValueStorage { inline, codec, level })
    }

    fn __setitem__(&self, py: Python<'_>, key: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let path = crate::edit::extract_key_path(key)?;
        crate::edit::set_value(py, &self.held, &path, value, &crate::edit::ValueStorage::default())
    }

    fn __delitem__(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<()> {
        crate::edit::delete_item(py, &self.held, &crate::edit::extract_key_path(key)?)
    }

    /// Removes the item at a path, with the comment on its line, for the next `update()`.
    ///
    /// Parameters
    /// ----------
    /// path : str
    ///     The path of the item.
    ///
    /// Raises
    /// ------
    /// KeyError
    ///     If there is no such item.
    ///
    /// Examples
    /// --------
    /// >>> import tempfile, trilith
    /// >>> path = tempfile.mkdtemp() + "/x.asdf"
    /// >>> trilith.write(path, {"meta": {"filter": "F106", "seeing": 0.8}})
    /// >>> with trilith.open(path) as f:
    /// ...     f.delete("/meta/seeing")
    /// ...     f.update()
    /// >>> with trilith.open(path) as f:
    /// ...     f["meta"].to_dict()
    /// {'filter': 'F106'}
    fn delete(&self, py: Python<'_>, path: &str) -> PyResult<()> {
        crate::edit::delete_item(py, &self.held, path)
    }

    /// Renames the key at a path, for the next `update()`. The item keeps its place.
    ///
    /// Parameters
    /// ----------
    /// path : str
    ///     The path of the item.
    /// name : str
    ///     The new key.
    ///
    /// Raises
    /// ------
    /// KeyError
    ///     If there is no such item.
    ///
    /// Examples
    /// --------
    /// >>> import tempfile, trilith
    /// >>> path = tempfile.mkdtemp() + "/x.asdf"
    /// >>> trilith.write(path, {"meta": {"filter": "F106", "seeing": 0.8}})
    /// >>> with trilith.open(path) as f:
    /// ...     f.rename("/meta/filter", "band")
    /// ...     f.update()
    /// >>> with trilith.open(path) as f:
    /// ...     list(f["meta"])
    /// ['band', 'seeing']
    fn rename(&self, py: Python<'_>, path: &str, name: String) -> PyResult<()> {
        crate::edit::rename_key(py, &self.held, path, name)
    }

    /// Writes the file, with its changes, to another path. The file itself stays unchanged.
    ///
    /// Blocks are copied as they are stored.
    ///
    /// Parameters
    /// ----------
    /// target : str, os.PathLike or binary file object
    ///     The new file, as in `write`: a path, the URL of an object, or an object with `write`.
    /// overwrite : bool
    ///     Replace a file that exists and holds data of any format that is read, or an object, if the target is its URL.
    /// storage_options : dict, optional
    ///     Credentials and places of the object store, as in `open`.
    ///
    /// Raises
    /// ------
    /// ValueError
    ///     If the target holds data and `overwrite` is not set.
    /// OSError
    ///     If the target cannot be written.
    ///
    /// Examples
    /// --------
    /// >>> import io, trilith
    /// >>> out = io.BytesIO()
    /// >>> with trilith.open(trilith.dumps({"filter": "F106"})) as f:
    /// ...     f.write_to(out)
    /// >>> trilith.open(out.getvalue())["filter"]
    /// 'F106'
    #[pyo3(signature = (target, *, overwrite=false, storage_options=None))]
    fn write_to(
        &self,
        py: Python<'_>,
        target: &Bound<'_, PyAny>,
        overwrite: bool,
        storage_options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        crate::edit::write_to(py, &self.held, target, overwrite, storage_options)
    }

    /// Appends rows to an array, or records to a list, and writes them at once.
    ///
    /// After a crash the file has the old rows.
    ///
    /// Parameters
    /// ----------
    /// path : str or dict
    ///     The path of a streamed array, the last one of an ASDF file, as `Pieces` of unknown length make it. In a Dudley
    ///     file, the path of a list, each row becoming one more item. A dict of paths and rows appends records of several
    ///     variables of a Dudley file, all or none of them.
    /// rows : array_like, optional
    ///     The rows, unless `path` is a dict.
    ///
    /// Raises
    /// ------
    /// NotImplementedError
    ///     If the array cannot grow.
    ///
    /// Examples
    /// --------
    /// >>> import numpy, tempfile, trilith
    /// >>> path = tempfile.mkdtemp() + "/log.asdf"
    /// >>> trilith.write(path, {"log": trilith.Pieces([numpy.zeros((2, 3))], (None, 3), "f8")})
    /// >>> with trilith.open(path) as f:
    /// ...     f.append("log", numpy.ones((1, 3)))
    /// ...     f["log"].shape
    /// (3, 3)
    #[pyo3(signature = (path, rows=None))]
    fn append(&self, py: Python<'_>, path: &Bound<'_, PyAny>, rows: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let Some(rows) = rows else { return self.append_all(py, path) };
        let path: &str = path.extract()?;
        if self.trilith_file()?.as_asdf().is_some() {
            return crate::edit::append_array_rows(py, &self.held, path, rows);
        }
        let array = dudley_items::collect_array(rows)?;
        let path = format!("/{}", path.trim_start_matches('/'));
        self.append_dudley(py, |file, how| append_variables(file, &[(path, array)], how, &Limits::from_env()?).map(drop))
    }

    /// Appends items to the root of a Dudley file of the dialect 2025, and writes them at once.
    ///
    /// Parameters
    /// ----------
    /// items : dict
    ///     The items, as `write` takes them.
    ///
    /// Raises
    /// ------
    /// NotImplementedError
    ///     If the file has a tree. Set the items, and call `update()`.
    ///
    /// Examples
    /// --------
    /// >>> import numpy, tempfile, trilith
    /// >>> path = tempfile.mkdtemp() + "/run.bd"
    /// >>> trilith.write(path, {"t": numpy.arange(3.0)}, version="dudley-2025")
    /// >>> with trilith.open(path) as f:
    /// ...     f.extend({"x": numpy.zeros(2)})
    /// ...     list(f)
    /// ['t', 'x']
    fn extend(&self, py: Python<'_>, items: &Bound<'_, PyAny>) -> PyResult<()> {
        if self.trilith_file()?.as_asdf().is_some() {
            return Err(PyNotImplementedError::new_err("a file with a tree gets items by f[key] = value and f.update()"));
        }
        let mut collector = ValueCollector::new(Target::latest(), 0);
        let value = collector.collect_value(items)?;
        let draft = collector.detach()?.to_draft(&value).or_raise(UsageErrorKind::Argument)?;
        self.append_dudley(py, |file, how| {
            if how.layout.is_some() {
                return Err(trilith::Error::unsupported("a file whose layout is outside of it gets no more items")
                    .hint("append() adds records to its last array"));
            }
            append_draft(file, &draft, &Limits::from_env()?).map(drop)
        })
    }

    /// Writes the changes into the file. No array is decoded.
    ///
    /// Parameters
    /// ----------
    /// in_place : bool
    ///     Change the bytes of the file, with a rollback journal, if the tree fits into its space. Otherwise, or with False, a new
    ///     file replaces this one.
    ///
    /// Raises
    /// ------
    /// OSError
    ///     If another program changed the file since it was read, or if it cannot be written.
    ///
    /// Examples
    /// --------
    /// >>> import tempfile, trilith
    /// >>> path = tempfile.mkdtemp() + "/x.asdf"
    /// >>> trilith.write(path, {"meta": {"filter": "F106", "seeing": 0.8}})
    /// >>> with trilith.open(path) as f:
    /// ...     f["meta/seeing"] = 0.7
    /// ...     f.update()
    /// >>> with trilith.open(path) as f:
    /// ...     f["meta/seeing"]
    /// 0.7
    #[pyo3(signature = (*, in_place=true))]
    fn update(&self, py: Python<'_>, in_place: bool) -> PyResult<()> {
        crate::edit::save_staged_steps(py, &self.held, in_place)
    }

    fn __repr__(&self) -> String {
        match self.trilith_file() {
            Ok(file) => format!("<trilith.File {}>", repr::display_file(&file)),
            Err(_) => "<trilith.File, closed>".to_owned(),
        }
    }

    fn __str__(&self) -> String {
        match self.trilith_file() {
            Ok(file) => {
                let tree = repr::display_tree(&file.root(), "tree");
                format!("<trilith.File {}>\n{}", repr::display_file(&file), tree.split_once('\n').map_or("", |(_, rest)| rest))
            }
            Err(_) => "<trilith.File, closed>".to_owned(),
        }
    }

    fn _repr_html_(&self, py: Python<'_>) -> String {
        match self.trilith_file() {
            Ok(file) => repr::file_html(&file) + &py.detach(|| crate::picture::image_of(&file)).unwrap_or_default(),
            Err(_) => "<div class=\"trilith\"><b>trilith.File</b>, closed</div>".to_owned(),
        }
    }
}
