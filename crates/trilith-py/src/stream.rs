//! Dudley streams: dicts and lists of arrays where a layout says that they are.

use std::ffi::OsStr;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::exceptions::{PyIndexError, PyKeyError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PySlice, PyString, PyTuple};
use trilith::dudley::{DudleyFile, LayoutOrigin, Outline, OutlineId, Thing, append_draft, append_records, presented};
use trilith::layout::Attribute;
use trilith::{Limits, OpenOptions};

use crate::array::Array;
use crate::drafts;
use crate::errors::{About, Raise};
use crate::home::{Home, Way};
use crate::layout::Layout;
use crate::nodes::view;
use crate::scalar::helper;
use crate::show;
use crate::value::Collector;

/// A stream and its items.
pub struct Opened {
    pub file: DudleyFile,
}

impl Opened {
    /// Finds all items; none is read.
    pub fn new(file: DudleyFile) -> trilith::Result<Self> {
        file.outline()?;
        Ok(Self { file })
    }

    /// The items, which are known since it was opened.
    fn outline(&self) -> PyResult<&Outline> {
        self.file.outline().or_raise(About::Argument)
    }
}

/// An item of a stream.
#[derive(Clone)]
struct Spot {
    opened: Arc<Opened>,
    home: Option<Arc<Home>>,
    id: OutlineId,
    /// The way here, for messages and longer paths.
    path: String,
}

impl Spot {
    fn children(&self) -> Vec<(Option<&str>, OutlineId)> {
        let Ok(outline) = self.opened.outline() else { return Vec::new() };
        // An array that is named like the parameter beside it is what the name means.
        outline.children(self.id).into_iter().filter(|(_, id)| !outline.is_shadowed(self.id, *id)).collect()
    }

    fn attributes(&self) -> PyResult<Vec<(&str, &Attribute)>> {
        self.opened.file.attributes(self.id).or_raise(About::Key)
    }

    fn at(&self, id: OutlineId, step: &str) -> Self {
        Self { id, path: format!("{}{step}", self.path), opened: self.opened.clone(), home: self.home.clone() }
    }

    fn child(&self, key: &str) -> PyResult<Option<Self>> {
        if let Some((_, id)) = self.children().into_iter().find(|(name, _)| *name == Some(key)) {
            return Ok(Some(self.at(id, &format!("/{key}"))));
        }
        let path = format!("{}/{}", self.path, key.trim_start_matches('/'));
        let found = self.opened.outline()?.find(&path).or_raise(About::Key)?;
        Ok(found.map(|id| Self { id, path, opened: self.opened.clone(), home: self.home.clone() }))
    }

    /// A member of structs, which is an array that no outline lists: of the item that it names, or of the one without a
    /// name, whose members are presented as those of the dict.
    fn member<'py>(&self, py: Python<'py>, key: &str) -> PyResult<Option<Bound<'py, Array>>> {
        let path = format!("{}/{}", self.path, key.trim_start_matches('/'));
        let found = py.detach(|| {
            let items = self.opened.file.items()?;
            match items.located(&path)? {
                Some(_) => items.array_at(&path).map(Some),
                None => items.instance_at(&path),
            }
            .and_then(|array| array.as_ref().map(presented).transpose())
        });
        let Some(array) = found.or_raise(About::Key)? else { return Ok(None) };
        let way = self.home.as_ref().map(|home| Way::item(home, path));
        Bound::new(py, Array::new(array, None, way)).map(Some)
    }

    fn into_python<'py>(self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match self.opened.outline()?.thing(self.id) {
            Thing::Dict => Ok(Bound::new(py, Items(self))?.into_any()),
            Thing::List => Ok(Bound::new(py, Records(self))?.into_any()),
            Thing::Param(value, _) => Ok(value.into_pyobject(py)?.into_any()),
            Thing::Data(entry) => {
                let array = py.detach(|| presented(&self.opened.file.array_of(entry)?)).or_raise(About::Key)?;
                let way = self.home.as_ref().map(|home| Way::item(home, entry.path.clone()));
                let said = self.attributes()?.into_iter().map(|(name, said)| (name.to_owned(), said.clone())).collect();
                Ok(Bound::new(py, Array::new(array, None, way).with_attributes(said))?.into_any())
            }
            _ => Ok(py.None().into_bound(py)),
        }
    }

    /// How what stands here is pickled: as the way to it.
    fn reduced<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match self.home.as_ref().map(|home| Way::item(home, self.path.clone()).words(py)).transpose()?.flatten() {
            Some(way) => Ok((helper(py, "found")?, way).into_pyobject(py)?.into_any()),
            None => crate::home::reduce(None, py),
        }
    }

    fn describe(&self, lines: &mut Vec<String>, depth: usize) {
        const MOST: usize = 200;
        for (number, (name, id)) in self.children().into_iter().enumerate() {
            if lines.len() >= MOST {
                lines.push(format!("{}...", "  ".repeat(depth)));
                return;
            }
            let name = name.map_or_else(|| number.to_string(), str::to_owned);
            let Ok(outline) = self.opened.outline() else { return };
            let what = match outline.thing(id) {
                Thing::Dict => String::new(),
                Thing::List => format!(": list of {}", outline.children(id).len()),
                Thing::Param(value, _) => format!(": {value}"),
                Thing::Data(entry) => format!(": {} {:?}", entry.datatype, entry.shape),
                _ => ": null".to_owned(),
            };
            lines.push(format!("{}{name}{what}", "  ".repeat(depth)));
            if depth < 8 {
                self.at(id, "").describe(lines, depth + 1);
            }
        }
    }

    fn shown(&self, head: &str) -> String {
        let mut lines = vec![head.to_owned()];
        self.describe(&mut lines, 1);
        show::printable(&lines.join("\n"))
    }
}

/// An open Dudley stream. It behaves like a dictionary of the items of its root.
///
/// >>> import io, numpy, trilith
/// >>> out = io.BytesIO()
/// >>> trilith.write(out, {"t": numpy.arange(3.0), "run": {"n": 4}}, version="dudley-2025")
/// >>> with trilith.open(out.getvalue()) as f:
/// ...     f["t"][1], f["run/n"], list(f)
/// (np.float64(1.0), 4, ['t', 'run'])
#[pyclass(frozen, mapping, weakref, module = "trilith")]
pub struct Stream {
    state: Mutex<Option<Arc<Opened>>>,
    home: Option<Arc<Home>>,
    opening: OpenOptions,
}

impl Stream {
    pub fn new(opened: Opened, home: Option<Arc<Home>>, opening: OpenOptions) -> Self {
        Self { state: Mutex::new(Some(Arc::new(opened))), home, opening }
    }

    pub fn opened(&self) -> PyResult<Arc<Opened>> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.clone().ok_or_else(|| PyValueError::new_err("this file is closed"))
    }

    fn root(&self) -> PyResult<Items> {
        Ok(Items(Spot { opened: self.opened()?, home: self.home.clone(), id: OutlineId::ROOT, path: String::new() }))
    }

    /// Appends to the file, which is then opened anew.
    fn change(&self, py: Python<'_>, make: impl FnOnce(&Path) -> trilith::Result<()> + Send) -> PyResult<()> {
        let old = self.opened()?;
        let Some(home) = self.home.as_deref().filter(|home| home.layout.is_none()) else {
            return Err(PyValueError::new_err("only a native file that was opened by its path can be appended to"));
        };
        drop(old);
        let done = py.detach(|| {
            make(&home.path)?;
            Opened::new(self.opening.open(&home.path)?.into_dudley()?)
        });
        let opened = Arc::new(done.or_raise(About::Argument)?);
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = Some(opened);
        Ok(())
    }
}

#[pymethods]
impl Stream {
    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_args))]
    fn __exit__(&self, _args: &Bound<'_, PyAny>) {
        self.close();
    }

    /// Closes the file. Arrays that were taken out of it stay valid.
    fn close(&self) {
        let old = self.state.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(old);
    }

    /// Whether the file was closed.
    #[getter]
    fn closed(&self) -> bool {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).is_none()
    }

    /// The path of the file, or what it was read from.
    #[getter]
    fn name(&self) -> PyResult<String> {
        Ok(self.opened()?.file.source().name().to_owned())
    }

    /// The absolute path of the file, or None where it was not opened by its path.
    #[getter]
    fn path(&self) -> Option<&OsStr> {
        self.home.as_ref().map(|home| home.path.as_os_str())
    }

    /// "dudley-2025" or "dudley-2026".
    #[getter]
    fn generation(&self) -> PyResult<&'static str> {
        Ok(self.opened()?.file.generation_name())
    }

    /// Problems of the layout that do not prevent reading the file.
    #[getter]
    fn warnings(&self) -> PyResult<Vec<String>> {
        Ok(self.opened()?.file.warnings())
    }

    /// The layout: that in the file, that beside it, or that which was handed in.
    #[getter]
    fn layout(&self) -> PyResult<Layout> {
        Ok(Layout(self.opened()?.file.layout().clone(), None))
    }

    /// What the layout or the foreign file says about the whole, by name: numbers, texts, and lists of these.
    #[getter]
    fn attributes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.root()?.attributes(py)
    }

    /// The root dict.
    #[getter]
    fn tree<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(Bound::new(py, self.root()?)?.into_any())
    }

    /// Appends records to a list: each row of `rows` becomes one more of its last item. A crash leaves the
    /// old file or the new.
    fn append(&self, py: Python<'_>, path: &str, rows: &Bound<'_, PyAny>) -> PyResult<()> {
        let array = drafts::array(rows)?;
        let path = format!("/{}", path.trim_start_matches('/'));
        self.change(py, |file| append_records(file, &path, &array, &Limits::from_env()?).map(drop))
    }

    /// Appends items, a dictionary as `write` takes it, to the root dict of a file of the dialect 2025.
    fn extend(&self, py: Python<'_>, items: &Bound<'_, PyAny>) -> PyResult<()> {
        let mut collector = Collector::new(trilith::asdf::Target::newest(), 0);
        let value = collector.value(items)?;
        let draft = collector.ready()?.draft(&value).or_raise(About::Argument)?;
        self.change(py, |file| append_draft(file, &draft, &Limits::from_env()?).map(drop))
    }

    fn __getitem__<'py>(&self, py: Python<'py>, key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.root()?.__getitem__(py, key)
    }

    fn __contains__(&self, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        self.root()?.__contains__(key)
    }

    fn __len__(&self) -> PyResult<usize> {
        Ok(self.root()?.__len__())
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.root()?.__iter__(py)
    }

    /// A view of the names of the root dict.
    fn keys<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.tree(py)?.call_method0("keys")
    }

    /// A view of the items of the root dict.
    fn values<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.tree(py)?.call_method0("values")
    }

    /// A view of the pairs of name and item of the root dict.
    fn items<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.tree(py)?.call_method0("items")
    }

    /// The item of a name or path, or `default`.
    #[pyo3(signature = (key, default=None))]
    fn get<'py>(
        &self,
        py: Python<'py>,
        key: &Bound<'py, PyAny>,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.root()?.get(py, key, default)
    }

    /// A dictionary of all items, in which arrays are still to be read.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.tree(py)?.call_method0("to_dict")
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.opened()?;
        crate::home::reduce(self.home.as_deref(), py)
    }

    fn __repr__(&self) -> String {
        match self.root() {
            Ok(Items(spot)) => {
                let file = &spot.opened.file;
                spot.shown(&format!("<trilith.Stream {:?}: {}>", file.source().name(), file.generation_name()))
            }
            Err(_) => "<trilith.Stream, closed>".to_owned(),
        }
    }

    fn _repr_html_(&self) -> String {
        show::preformatted(&self.__repr__())
    }
}

/// A dict of a stream, which behaves like a dictionary that cannot be changed.
#[pyclass(frozen, mapping, weakref, module = "trilith")]
pub struct Items(Spot);

impl Items {
    fn find(&self, key: &Bound<'_, PyAny>) -> PyResult<Option<Spot>> {
        let Ok(key) = key.cast::<PyString>() else { return Ok(None) };
        self.0.child(key.to_str()?)
    }
}

#[pymethods]
impl Items {
    fn __getitem__<'py>(&self, py: Python<'py>, key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        if let Some(spot) = self.find(key)? {
            return spot.into_python(py);
        }
        if let Ok(name) = key.cast::<PyString>()
            && let Some(member) = self.0.member(py, name.to_str()?)?
        {
            return Ok(member.into_any());
        }
        let names: Vec<&str> = self.0.children().into_iter().filter_map(|(name, _)| name).take(12).collect();
        Err(PyKeyError::new_err(format!("there is no item {}; there are: {}", key.repr()?, names.join(", "))))
    }

    fn __contains__(&self, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        let Ok(name) = key.cast::<PyString>() else { return Ok(false) };
        Ok(self.find(key)?.is_some() || self.0.member(key.py(), name.to_str()?)?.is_some())
    }

    fn __len__(&self) -> usize {
        self.0.children().len()
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let names: Vec<&str> = self.0.children().into_iter().filter_map(|(name, _)| name).collect();
        Ok(PyList::new(py, names)?.try_iter()?.into_any())
    }

    /// What the layout or the foreign file says about the dict, by name: numbers, texts, and lists of these.
    #[getter]
    fn attributes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        crate::scalar::attributes(py, self.0.attributes()?)
    }

    /// Whether the file is of a foreign format, whose parameters are lengths of dimensions.
    #[getter]
    fn _is_derived(&self) -> bool {
        matches!(self.0.opened.file.origin(), LayoutOrigin::Derived(_))
    }

    /// A view of the names.
    fn keys<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        view(slf.py(), "KeysView")?.call1((slf,))
    }

    /// A view of the items.
    fn values<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        view(slf.py(), "ValuesView")?.call1((slf,))
    }

    /// A view of the pairs of name and item.
    fn items<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        view(slf.py(), "ItemsView")?.call1((slf,))
    }

    /// The item of a name or path, or `default`.
    #[pyo3(signature = (key, default=None))]
    fn get<'py>(
        &self,
        py: Python<'py>,
        key: &Bound<'py, PyAny>,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        match self.find(key)? {
            Some(spot) => spot.into_python(py),
            None => Ok(default.unwrap_or_else(|| py.None().into_bound(py))),
        }
    }

    /// A dictionary of it and all below it, in which arrays are still to be read.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (name, id) in self.0.children() {
            let name = name.unwrap_or_default();
            dict.set_item(name, plain(self.0.at(id, &format!("/{name}")).into_python(py)?)?)?;
        }
        Ok(dict)
    }

    fn __eq__<'py>(&self, py: Python<'py>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let other = match other.cast::<Self>() {
            Ok(other) => other.get().to_dict(py)?.into_any(),
            Err(_) if other.is_instance_of::<PyDict>() => other.clone(),
            Err(_) => return Ok(py.NotImplemented().into_bound(py)),
        };
        helper(py, "same")?.call1((self.to_dict(py)?, other))
    }

    fn __copy__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __deepcopy__<'py>(slf: Bound<'py, Self>, _memo: &Bound<'py, PyAny>) -> Bound<'py, Self> {
        slf
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.0.reduced(py)
    }

    fn __repr__(&self) -> String {
        self.0.shown(&format!("<trilith.Items of {}>", self.__len__()))
    }

    fn _repr_html_(&self) -> String {
        show::preformatted(&self.__repr__())
    }
}

/// Dictionaries and lists instead of what behaves like them. Layouts limit how deep they nest.
fn plain(value: Bound<'_, PyAny>) -> PyResult<Bound<'_, PyAny>> {
    let py = value.py();
    if value.is_instance_of::<Items>() {
        return value.call_method0(intern!(py, "to_dict"));
    }
    if value.is_instance_of::<Records>() {
        return value.call_method0(intern!(py, "to_list"));
    }
    Ok(value)
}

/// A list of a stream, which behaves like a list that cannot be changed.
#[pyclass(frozen, sequence, weakref, module = "trilith")]
pub struct Records(Spot);

#[pymethods]
impl Records {
    fn __len__(&self) -> usize {
        self.0.children().len()
    }

    fn __getitem__<'py>(&self, py: Python<'py>, index: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let ids = self.0.children();
        let element = |at: usize, id: OutlineId| self.0.at(id, &format!("[{at}]")).into_python(py);
        if let Ok(slice) = index.cast::<PySlice>() {
            let range = slice.indices(isize::try_from(ids.len()).unwrap_or(isize::MAX))?;
            let list = PyList::empty(py);
            let mut at = range.start;
            for _ in 0..range.slicelength {
                if let Some((number, (_, id))) = usize::try_from(at).ok().and_then(|at| Some((at, ids.get(at)?))) {
                    list.append(element(number, *id)?)?;
                }
                at += range.step;
            }
            return Ok(list.into_any());
        }
        if index.is_instance_of::<PyTuple>() {
            return self.array(py)?.into_any().get_item(index);
        }
        let at: i64 = index.extract()?;
        let place = if at < 0 { at.checked_add_unsigned(ids.len() as u64) } else { Some(at) };
        let found = place.and_then(|at| usize::try_from(at).ok()).and_then(|at| Some((at, ids.get(at)?.1)));
        match found {
            Some((at, id)) => element(at, id),
            None => Err(PyIndexError::new_err(format!("index {at} is outside a list of {} items", ids.len()))),
        }
    }

    /// The list as one array with a leading axis, where its items are equal: the same datatype and shape. An index
    /// with several axes, such as `[:, 0]`, is one into this array.
    ///
    /// Raises:
    ///     ValueError: the items are not equal.
    #[getter]
    fn array<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, Array>> {
        let made = py.detach(|| {
            let array = self.0.opened.file.items()?.stacked(&self.0.path)?;
            array.ok_or_else(|| trilith::Error::usage("an empty list has no datatype")).and_then(|array| presented(&array))
        });
        let way = self.0.home.as_ref().map(|home| Way::item(home, self.0.path.clone()));
        Bound::new(py, Array::new(made.or_raise(About::Argument)?, None, way))
    }

    #[pyo3(signature = (dtype=None, copy=None))]
    fn __array__<'py>(
        &self,
        py: Python<'py>,
        dtype: Option<Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.array(py)?.into_any().call_method1("__array__", (dtype, copy))
    }

    /// A list of the items and all below them, in which arrays are still to be read.
    fn to_list<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        for (at, (_, id)) in self.0.children().into_iter().enumerate() {
            list.append(plain(self.0.at(id, &format!("[{at}]")).into_python(py)?)?)?;
        }
        Ok(list)
    }

    fn __eq__<'py>(&self, py: Python<'py>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let other = match other.cast::<Self>() {
            Ok(other) => other.get().to_list(py)?.into_any(),
            Err(_) if other.is_instance_of::<PyList>() => other.clone(),
            Err(_) => return Ok(py.NotImplemented().into_bound(py)),
        };
        helper(py, "same")?.call1((self.to_list(py)?, other))
    }

    fn __copy__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __deepcopy__<'py>(slf: Bound<'py, Self>, _memo: &Bound<'py, PyAny>) -> Bound<'py, Self> {
        slf
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.0.reduced(py)
    }

    fn __repr__(&self) -> String {
        self.0.shown(&format!("<trilith.Records of {}>", self.__len__()))
    }

    fn _repr_html_(&self) -> String {
        show::preformatted(&self.__repr__())
    }
}
