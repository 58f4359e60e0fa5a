//! `trilith.Layout`: the text with the byte offset of every array of a binary file.

use std::path::{Path, PathBuf};

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString};
use trilith::bytes::{self, LocalOptions, NewFile, NoReferences, WriteBasis, read_text};
use trilith::dudley::{
    Catalog, CatalogListing, DudleyFile, LayoutStorage, LayoutValues, ParamSetting, StreamOptions, native_order,
};
use trilith::file::{FileFinder, FileFormat, check_name};
use trilith::layout::{Byteorder, Dialect, ItemKind, Layout as Parsed, ParseOptions, parse};
use trilith::{Error, Limits};

use crate::detached::detach_interruptible;
use crate::dudley_items;
use crate::edit::issue_warnings;
use crate::errors::{IntoPyResult, UsageErrorKind, raise_at};
use crate::parallel::{ParallelWriter, to_absolute_path};

/// A layout: the byte offset of every array of a binary file, in the Dudley language.
///
/// `trilith.open(path, layout=...)` reads any file under one.
///
/// >>> import trilith
/// >>> layout = trilith.Layout("N : <i4  x = <f8[N]")
/// >>> layout.dialect, list(layout.items())
/// ('2025', [('N', 'param'), ('x', 'data')])
/// >>> f = trilith.open(bytes([2, 0, 0, 0, 0, 0, 0, 0]) + bytes(16), layout=layout)
/// >>> f["x"].shape, f["N"]
/// ((2,), 2)
///
/// One layout describes every file of a family: `Layout("run.dud").write("r0001.bd", N=2, x=...)` writes one of
/// them, and `catalog` lists many.
#[pyclass(frozen, weakref, module = "trilith")]
#[derive(Clone)]
pub(crate) struct Layout(pub Parsed, pub Option<PathBuf>);

/// Reads the text of a layout; the error is the first that was found, with its place.
fn read(text: &[u8]) -> trilith::Result<Parsed> {
    let mut options = ParseOptions::default();
    options.limits = Limits::from_env()?;
    parse(text, &options)?.into_layout()
}

/// Reads the values of fixed parameters: a number, or "fill".
pub(crate) fn parse_params(params: Option<&Bound<'_, PyDict>>) -> PyResult<Vec<(String, ParamSetting)>> {
    let mut parsed = Vec::new();
    for (name, value) in params.into_iter().flatten() {
        let setting = match value.extract::<i64>() {
            Ok(number) => ParamSetting::Number(number),
            Err(_) if value.extract::<String>().is_ok_and(|text| text == "fill") => ParamSetting::Fill,
            Err(_) => return Err(PyTypeError::new_err(format!("the value of a parameter is a number or \"fill\", not {value}"))),
        };
        parsed.push((name.extract()?, setting));
    }
    Ok(parsed)
}

#[pymethods]
impl Layout {
    #[new]
    fn new(py: Python<'_>, text: &Bound<'_, PyAny>) -> PyResult<Self> {
        let bytes = match text.cast::<PyBytes>() {
            Ok(bytes) => bytes.as_bytes().to_vec(),
            Err(_) => match text.extract::<String>() {
                Ok(text) if !is_path(&text) => text.into_bytes(),
                _ => return Self::read(py, text.extract()?),
            },
        };
        Ok(Self(py.detach(|| read(&bytes)).or_raise(UsageErrorKind::Argument)?, None))
    }

    /// Reads a layout from a file.
    ///
    /// Parameters
    /// ----------
    /// path : str or os.PathLike
    ///     The file with the text of the layout.
    ///
    /// Returns
    /// -------
    /// Layout
    ///
    /// Raises
    /// ------
    /// FormatError
    ///     If the text has an error. The message has line and column.
    ///
    /// Examples
    /// --------
    /// >>> import pathlib, tempfile, trilith
    /// >>> path = pathlib.Path(tempfile.mkdtemp()) / "x.dud"
    /// >>> _ = path.write_text("x = f8[3]")
    /// >>> trilith.Layout.read(path).items()
    /// [('x', 'data')]
    #[staticmethod]
    #[allow(clippy::needless_pass_by_value, reason = "it comes from Python")]
    fn read(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let made =
            py.detach(|| read(&read_text(&path, Limits::from_env()?.text)?).map_err(|e| e.context(path.display().to_string())));
        Ok(Self(made.map_err(|error| raise_at(&error, Some(&path)))?, Some(path)))
    }

    /// Writes a native file with this layout. An existing file is replaced when all is written.
    ///
    /// Each stored parameter needs an integer, and each item an array of the datatype and shape that the layout gives. A list needs its
    /// elements along the first axis. A member of `"" = {...}[NREC]` counts as an item.
    ///
    /// Parameters
    /// ----------
    /// path : str or os.PathLike
    ///     The file to write.
    /// values : dict, optional
    ///     Parameters and items by their paths, for names that are not keywords of Python.
    /// embed : bool
    ///     Put the layout at the end of the file.
    /// byteorder : {"little", "big"}, optional
    ///     The byte order, if the layout does not have it.
    /// raw : bool
    ///     Write the bytes of the layout alone, without the signature and the layout, as the program does that the layout
    ///     describes.
    /// **items
    ///     Parameters and items by their names.
    ///
    /// Raises
    /// ------
    /// ValueError
    ///     If a value is missing, or does not fit the layout.
    ///
    /// Examples
    /// --------
    /// >>> import numpy, tempfile, trilith
    /// >>> layout = trilith.Layout("{ N : i8 }  rho = f8[N]")
    /// >>> path = tempfile.mkdtemp() + "/r0001.bd"
    /// >>> layout.write(path, N=2, rho=numpy.array([1.5, 2.5]))
    /// >>> trilith.open(path)["rho"][:].tolist()
    /// [1.5, 2.5]
    #[pyo3(signature = (path, values=None, /, *, embed=true, byteorder=None, raw=false, **items))]
    #[allow(clippy::needless_pass_by_value, clippy::too_many_arguments, reason = "it comes from Python")]
    fn write(
        &self,
        py: Python<'_>,
        path: PathBuf,
        values: Option<&Bound<'_, PyDict>>,
        embed: bool,
        byteorder: Option<&str>,
        raw: bool,
        items: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        let format = if raw { FileFormat::Raw } else { FileFormat::Dudley };
        check_name(&path.to_string_lossy(), format, "choose another name").map_err(|error| raise_at(&error, Some(&path)))?;
        let (filling, order) = self.extract_filling(values, items, byteorder)?;
        let storage = match (raw, embed) {
            (true, _) => LayoutStorage::Raw,
            (false, true) => LayoutStorage::Embedded,
            (false, false) => LayoutStorage::Separate,
        };
        let done = detach_interruptible(py, || {
            let limits = Limits::from_env()?;
            let mut file = NewFile::create(&path, WriteBasis::Nothing)?;
            filling.write(&self.0, order, storage, &limits, &mut file.writer())?;
            file.commit().map(drop)
        })?;
        done.map_err(|error| raise_at(&error, Some(&path)))
    }

    /// Begins a native file with this layout that many processes write, as `trilith.create` does.
    ///
    /// Each `trilith.Reserved` gets its space, and everything else is written at once. Then each process writes the blocks of
    /// its domain with `write_region`.
    ///
    /// Parameters
    /// ----------
    /// path : str or os.PathLike
    ///     The path of the finished file.
    /// values : dict, optional
    ///     Parameters and items by their paths, for names that are not keywords of Python.
    /// byteorder : {"little", "big"}, optional
    ///     The byte order, if the layout does not have it.
    /// **items
    ///     Parameters and items by their names, with `trilith.Reserved` for the arrays that processes write.
    ///
    /// Returns
    /// -------
    /// ParallelWriter
    ///
    /// Raises
    /// ------
    /// OSError
    ///     If the file cannot be written, or if another writer has begun it.
    /// ValueError
    ///     If a value is missing or does not fit the layout, or if no `trilith.Reserved` is among them.
    ///
    /// Examples
    /// --------
    /// >>> import numpy, tempfile, trilith
    /// >>> layout = trilith.Layout("{ nx : i8  ny : i8 }  rho = f8[ny, nx]")
    /// >>> path = tempfile.mkdtemp() + "/run.bd"
    /// >>> work = layout.create(path, nx=4, ny=2, rho=trilith.Reserved((2, 4), "f8"))
    /// >>> for rank in range(2):  # in as many processes
    /// ...     work.write_region("rho", (slice(None), slice(2 * rank, 2 * rank + 2)), numpy.full((2, 2), float(rank)))
    /// >>> work.finish()
    /// >>> trilith.open(path)["rho"][0].tolist()
    /// [0.0, 0.0, 1.0, 1.0]
    #[pyo3(signature = (path, values=None, /, *, byteorder=None, **items))]
    #[allow(clippy::needless_pass_by_value, reason = "it comes from Python")]
    fn create(
        &self,
        py: Python<'_>,
        path: PathBuf,
        values: Option<&Bound<'_, PyDict>>,
        byteorder: Option<&str>,
        items: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<ParallelWriter> {
        let (filling, order) = self.extract_filling(values, items, byteorder)?;
        let path = to_absolute_path(path);
        let begun = detach_interruptible(py, || trilith::ParallelWriter::create_under(&path, &self.0, &filling, order))?;
        Ok(ParallelWriter { writer: begun.map_err(|error| raise_at(&error, Some(&path)))? })
    }

    /// Writes a catalog of files that have this layout, with the parameters of each file.
    ///
    /// The catalog holds the layout, so `trilith.open_set(path)` opens all files as one. Warnings name what is odd about a file: bytes
    /// after the data, a negative count, or a `time` that does not increase.
    ///
    /// Parameters
    /// ----------
    /// files : str, os.PathLike, or list of these
    ///     The files: paths, folders and patterns such as `"runs/*.bd"` in the folder of the catalog or below it, and URLs. To
    ///     read a catalog with URLs, allow them with `trilith.open(path, allow=["https://…/"])`.
    /// path : str or os.PathLike
    ///     The catalog to write.
    /// byteorder : {"little", "big"}, optional
    ///     The byte order of files without a signature, if the layout does not have it. By default it is found for each file by
    ///     its size and the expected values of the layout.
    /// add : bool
    ///     Keep the files that the catalog already lists, and add `files`.
    /// sort : str, optional
    ///     List the files in the order of this parameter or number of the summary block, such as `"time"`. By default the files of
    ///     a folder or a pattern are in natural order of their names (2 before 10).
    /// params : dict, optional
    ///     Values of fixed parameters of the layout in each file: `{"n": 5}`, or `{"n": "fill"}` for the number that follows from
    ///     the length of the file.
    ///
    /// Raises
    /// ------
    /// ValueError
    ///     If a file is outside of the folder of the catalog, or contradicts its parameters. For example, it ends before its data
    ///     end.
    ///
    /// Examples
    /// --------
    /// >>> import numpy, tempfile, trilith
    /// >>> folder = tempfile.mkdtemp()
    /// >>> layout = trilith.Layout("{ N : i8 }  rho = f8[N]")
    /// >>> for n in range(3):
    /// ...     layout.write(f"{folder}/r{n}.bd", N=2, rho=numpy.full(2, float(n)))
    /// >>> layout.catalog(f"{folder}/r*.bd", f"{folder}/runs.bd")
    /// >>> trilith.open_set(f"{folder}/runs.bd")["rho"][:, 0].tolist()
    /// [0.0, 1.0, 2.0]
    #[pyo3(signature = (files, path, *, byteorder=None, add=false, sort=None, params=None))]
    #[allow(clippy::needless_pass_by_value, reason = "it comes from Python")]
    #[allow(clippy::too_many_arguments, reason = "they are keywords")]
    fn catalog(
        &self,
        py: Python<'_>,
        files: &Bound<'_, PyAny>,
        path: PathBuf,
        byteorder: Option<&str>,
        add: bool,
        sort: Option<&str>,
        params: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        if add && sort.is_some() {
            return Err(PyValueError::new_err("sort and add exclude each other: write the whole catalog again to sort it"));
        }
        let order = crate::source::parse_byteorder(byteorder)?;
        let params = parse_params(params)?;
        let files = match files.extract::<PathBuf>() {
            Ok(file) => vec![file],
            Err(_) => files.try_iter()?.map(|file| file?.extract()).collect::<PyResult<Vec<PathBuf>>>()?,
        };
        let mut opened = None;
        let done = detach_interruptible(py, || {
            let limits = Limits::from_env()?;
            let known = add.then(|| DudleyFile::open(bytes::open(&path, LocalOptions::default())?, None, &limits)).transpose()?;
            let listed = known.as_ref().map(Catalog::read).transpose()?;
            // Files without a signature are in the byte order of the catalog, as those that it lists, unless it has one for each.
            let is_mixed = listed.as_ref().is_some_and(|listed| listed.byteorder_of(0).is_some());
            let of_catalog =
                known.as_ref().and_then(DudleyFile::signature).map(|signature| signature.order).filter(|_| !is_mixed);
            let mut how = StreamOptions::default();
            (how.layout, how.order, how.params) = (Some(self.0.clone()), order.or(of_catalog), params);
            listed.as_ref().map_or(Ok(()), |listed| listed.check_added_params(&how.params))?;
            let mut open = |path: &Path, how: StreamOptions| {
                opened = Some(path.to_path_buf());
                DudleyFile::open_with(trilith::OpenOptions::new().source(path)?.0, &NoReferences, how, &limits)
            };
            let named = FileFinder::new().all_files(true).all_named(files.iter().map(|file| bytes::name_of(file)), &path, add)?;
            let files = CatalogListing::files(&path, listed.as_ref(), named.iter().map(|name| bytes::path_of(name)))?;
            let files = match sort {
                Some(by) => CatalogListing::sort(files, by, &how, &mut open)?,
                None => files,
            };
            let listing = CatalogListing::read(&path, self.1.as_deref(), &files, &how, &mut open)?;
            let draft = listing.draft()?;
            let basis = known.as_ref().map_or(WriteBasis::Nothing, |known| WriteBasis::LockedBy(&**known.source()));
            let mut file = NewFile::create(&path, basis)?;
            draft.write(listing.native_byteorder().unwrap_or(native_order()), &limits, &mut file.writer())?;
            file.commit()?;
            trilith::Result::Ok(listing.warnings)
        })?;
        let raise = |error: Error| {
            let text = error.to_string();
            let text = text.strip_prefix("opening ").unwrap_or(&text);
            // An error about a listed file begins with its name.
            let mut listed = opened.iter().chain(&files);
            let is_subject =
                |file: &&PathBuf| text.strip_prefix(&*file.to_string_lossy()).is_some_and(|rest| rest.starts_with(": "));
            let subject = listed.find(is_subject).unwrap_or(&path);
            raise_at(&error, Some(subject))
        };
        issue_warnings(py, done.map_err(raise)?)
    }

    /// The dialect: "2025" or "2026".
    #[getter]
    fn dialect(&self) -> String {
        self.0.dialect().name().to_owned()
    }

    /// The text, as it was given.
    #[getter]
    fn text(&self) -> &str {
        self.0.text()
    }

    /// Returns the layout in another dialect.
    ///
    /// Parameters
    /// ----------
    /// dialect : {"2025", "2026"}
    ///     The other dialect.
    ///
    /// Returns
    /// -------
    /// tuple of str and list of str
    ///     The text, and a line for each thing that the dialect cannot express.
    ///
    /// Raises
    /// ------
    /// ValueError
    ///     If there is no such dialect.
    ///
    /// Examples
    /// --------
    /// >>> import trilith
    /// >>> text, lost = trilith.Layout("x = f8[3]").translate("2026")
    /// >>> lost
    /// []
    fn translate(&self, py: Python<'_>, dialect: &str) -> PyResult<(String, Vec<String>)> {
        let to = match dialect {
            "2025" => Dialect::D2025,
            "2026" => Dialect::D2026,
            _ => return Err(PyValueError::new_err(format!("unknown dialect {dialect:?}; known: 2025, 2026"))),
        };
        let made = py.detach(|| self.0.translate(to));
        Ok((made.text, made.losses.iter().map(|loss| loss.message.clone()).collect()))
    }

    /// Returns the items outside of lists.
    ///
    /// Returns
    /// -------
    /// list of tuple of str
    ///     The path of each item without the first `/`, and its kind: "dict", "list", "param" or "data".
    ///
    /// Examples
    /// --------
    /// >>> import trilith
    /// >>> trilith.Layout("N : <i4  x = <f8[N]").items()
    /// [('N', 'param'), ('x', 'data')]
    pub(crate) fn items(&self) -> Vec<(String, &'static str)> {
        let ids = (1..self.0.item_count()).filter_map(|at| self.0.item_at(at));
        let named = ids.filter_map(|id| {
            let kind = match self.0.kind(id) {
                ItemKind::Dict => "dict",
                ItemKind::List => "list",
                ItemKind::Param => "param",
                ItemKind::Data => "data",
                _ => return None,
            };
            // Elements of lists and members of structs have no separate path.
            let mut above = Some(id);
            while let Some(at) = above {
                self.0.name(at).or(if self.0.parent(at).is_none() { Some("") } else { None })?;
                if self.0.kind(at) == ItemKind::Type {
                    return None;
                }
                above = self.0.parent(at);
            }
            let path = self.0.path(id);
            Some((path.strip_prefix('/').unwrap_or(&path).to_owned(), kind))
        });
        named.collect()
    }

    fn __str__(&self) -> &str {
        self.0.text()
    }

    fn __repr__(&self) -> String {
        format!("<trilith.Layout of {}, {} items>", self.0.dialect(), self.0.item_count().saturating_sub(1))
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.0.text() == other.0.text()
    }

    fn __hash__(&self) -> u64 {
        use std::hash::{DefaultHasher, Hash, Hasher};
        let mut hasher = DefaultHasher::new();
        self.0.text().hash(&mut hasher);
        hasher.finish()
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> (Bound<'py, PyAny>, (Bound<'py, PyString>,)) {
        (slf.get_type().into_any(), (PyString::new(slf.py(), slf.get().0.text()),))
    }
}

impl Layout {
    /// The parameters and items that Python gave, and the byte order.
    fn extract_filling(
        &self,
        values: Option<&Bound<'_, PyDict>>,
        items: Option<&Bound<'_, PyDict>>,
        byteorder: Option<&str>,
    ) -> PyResult<(LayoutValues, Byteorder)> {
        let order = crate::source::parse_byteorder(byteorder)?.or(self.0.order()).unwrap_or(native_order());
        let mut filling = LayoutValues::default();
        for given in values.into_iter().chain(items) {
            for (name, value) in given {
                let name: String = name.extract()?;
                if LayoutValues::is_param(&self.0, &name) {
                    filling.params.push((name, value.extract()?));
                } else {
                    filling.data.push((name, dudley_items::array_or_reserved(&value)?));
                }
            }
        }
        Ok((filling, order))
    }
}

/// Returns `True` if a text is the path of a layout rather than a layout.
fn is_path(text: &str) -> bool {
    !text.contains(['=', ':', '\n']) && (text.ends_with(".dud") || (!text.is_empty() && Path::new(text).is_file()))
}

/// A layout that was handed in: as such, as the path of its file, or as its text.
pub(crate) fn parse_arg(layout: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Parsed>> {
    let Some(layout) = layout else { return Ok(None) };
    if let Ok(layout) = layout.cast::<Layout>() {
        return Ok(Some(layout.get().0.clone()));
    }
    if let Ok(text) = layout.cast::<PyString>()
        && text.to_str()?.contains(['=', ':', '\n'])
        && !Path::new(text.to_str()?).exists()
    {
        return Ok(Some(Layout::new(layout.py(), layout)?.0));
    }
    if layout.is_instance_of::<PyString>() || layout.hasattr("__fspath__")? {
        return Ok(Some(Layout::read(layout.py(), layout.extract()?)?.0));
    }
    let kind = layout.get_type().qualname()?;
    Err(PyTypeError::new_err(format!("a layout is a trilith.Layout or the path of its file, not {kind}")))
}
