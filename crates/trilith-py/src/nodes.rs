//! The tree: places in it, and sequences that behave like lists.

use std::collections::HashMap;
use std::sync::Arc;

use pyo3::exceptions::{PyIndexError, PyKeyError, PyNotImplementedError, PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyInt, PyList, PySlice, PyString, PyType};
use trilith::asdf::walk::{self, Found};
use trilith::asdf::{AsdfFile, expand, ndarray};
use trilith::file::{Item, Place as At};
use trilith::tree::{Node, NodeKind, TreePath};

use crate::array::Array;
use crate::errors::{About, LimitError, Raise};
use crate::home::{Home, Way};
use crate::mapping::{Columns, Keyed, Mapping};
use crate::{scalar, show, tagged};

/// A node of an open file.
#[derive(Clone)]
pub struct Place {
    pub file: Arc<AsdfFile>,
    home: Option<Arc<Home>>,
    found: Found,
}

impl Place {
    /// The root of a file's tree, and where the file lies.
    pub fn root(file: &Arc<AsdfFile>, home: Option<&Arc<Home>>) -> Self {
        Self { file: file.clone(), home: home.cloned(), found: Found::root(file) }
    }

    /// The file and the tree path of the node, where it stands in a file of this machine.
    pub fn address(&self) -> Option<(Arc<Home>, String)> {
        if !std::ptr::eq(self.found.file(&self.file), &raw const *self.file) {
            return None;
        }
        Some((self.home.clone()?, self.file.tree().path_of(self.node().id())?.to_string()))
    }

    /// The node itself.
    pub fn node(&self) -> Node<'_> {
        self.found.node(&self.file)
    }

    /// Another node of the same tree.
    pub fn at(&self, node: Node<'_>) -> Self {
        Self { file: self.file.clone(), home: self.home.clone(), found: self.found.with(node) }
    }

    /// The node itself, or what it refers to.
    pub fn followed(self, py: Python<'_>) -> PyResult<Self> {
        if self.node().is_scalar() {
            return Ok(self);
        }
        let found = py.detach(|| walk::follow(&self.file, &self.found)).or_raise(About::Key)?;
        Ok(Self { found, ..self })
    }

    /// The child under a key, references followed.
    fn child(&self, py: Python<'_>, key: &str) -> PyResult<Option<Self>> {
        self.node().child(key).map(|node| self.at(node).followed(py)).transpose()
    }

    /// The node that a path leads to from here: a key with `/` in it counts before a path.
    pub fn find(&self, py: Python<'_>, path: &str) -> PyResult<Option<Self>> {
        if let Some(child) = self.child(py, path)? {
            return Ok(Some(child));
        }
        if !path.contains('/') {
            return Ok(None);
        }
        let mut at = self.clone();
        for key in TreePath::parse(path).or_raise(About::Key)?.keys() {
            match at.child(py, key)? {
                Some(child) => at = child,
                None => return Ok(None),
            }
        }
        Ok(Some(at))
    }

    /// What is missing, and what there is instead where the path ends.
    pub fn key_error(&self, py: Python<'_>, path: &str) -> PyErr {
        let (mut at, mut key) = (self.clone(), path.to_owned());
        for step in TreePath::parse(path).iter().flat_map(TreePath::keys) {
            key.clone_from(step);
            match at.child(py, step) {
                Ok(Some(child)) => at = child,
                _ => break,
            }
        }
        let node = at.node();
        let hint = if node.is_mapping() {
            let keys: Vec<_> = node.entries().take(12).map(|(key, _)| key.text().into_owned()).collect();
            format!("there are: {}", keys.join(", "))
        } else if node.is_sequence() {
            format!("it is a list of {} items", node.len())
        } else {
            "it is a scalar".to_owned()
        };
        let place = if path == key { "here".to_owned() } else { format!("on the way {path:?}") };
        PyKeyError::new_err(format!("there is no {key:?} {place}; {hint}"))
    }

    /// Whether this is an integer written as words.
    fn is_integer(&self) -> bool {
        let node = self.node();
        node.is_mapping() && node.tag().is_some_and(|tag| tag.starts_with("tag:stsci.edu:asdf/core/integer-"))
    }

    /// What the node is in Python: an array, a scalar's value, a mapping or a sequence.
    pub fn into_python<'py>(self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let node = self.node();
        if ndarray::is_ndarray(node) {
            let array = py.detach(|| self.found.file(&self.file).array(node)).or_raise(About::Key)?;
            return Ok(Bound::new(py, Array::new(array, node.tag().map(str::to_owned), Some(Way::node(&self))))?.into_any());
        }
        if self.is_integer() {
            let digits = py.detach(|| expand::integer(self.found.file(&self.file), node)).or_raise(About::Key)?;
            return scalar::integer(py, &digits);
        }
        match node.kind() {
            NodeKind::Scalar => scalar::to_python(py, node),
            NodeKind::Mapping => self.into_mapping(py),
            NodeKind::Sequence => Ok(Bound::new(py, Sequence(self))?.into_any()),
        }
    }

    /// A mapping, or a table of astropy.
    pub fn into_mapping(self, py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        let node = self.node();
        let is_table = node.tag().and_then(|tag| tag.rsplit('/').next()).is_some_and(|name| name.starts_with("table-"));
        if is_table && node.get("columns").is_some_and(Node::is_sequence) {
            return Ok(Bound::new(py, PyClassInitializer::from(Keyed(self)).add_subclass(Columns))?.into_any());
        }
        Ok(Bound::new(py, PyClassInitializer::from(Keyed(self)).add_subclass(Mapping))?.into_any())
    }

    /// Dictionaries and lists of it with the tags that are left, in which arrays were read.
    pub fn tagged<'py>(&self, py: Python<'py>, classes: &tagged::Classes<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        tagged::below(py, self.found.file(&self.file), self.node(), classes)
    }

    /// The object that the converters of the `asdf` package make of it.
    pub fn converted<'py>(&self, py: Python<'py>, form: &str) -> PyResult<Bound<'py, PyAny>> {
        if form != "asdf" {
            return Err(PyValueError::new_err(format!("as_ is \"asdf\", not {form:?}")));
        }
        let module = py.import("trilith._objects")?;
        let classes = tagged::Classes::of(&module.call_method0("classes")?)?;
        let Some(tree) = self.tagged(py, &classes)? else {
            return Err(PyNotImplementedError::new_err(
                "only the asdf package reads this tree: open the file with trilith.asdf.open",
            ));
        };
        module.call_method1("made", (tree, self.backend().sections().header().standard()))
    }

    /// Another node of the same tree as dictionaries and lists.
    pub fn copied<'py>(&self, py: Python<'py>, node: Node<'_>) -> PyResult<Bound<'py, PyAny>> {
        Copier::new().copy(py, self.at(node))
    }

    /// The file that the node is in.
    pub fn backend(&self) -> &AsdfFile {
        self.found.file(&self.file)
    }

    /// The path of the node in its file.
    pub fn path(&self) -> Option<String> {
        self.backend().tree().path_of(self.node().id()).map(|path| path.to_string())
    }

    /// What holds the node, and its key there.
    pub fn above<'py>(&self, py: Python<'py>) -> PyResult<Option<(Bound<'py, PyAny>, String)>> {
        let tree = self.backend().tree();
        let Some(path) = tree.path_of(self.node().id()) else { return Ok(None) };
        let Some((above, key)) = path.split_last() else { return Ok(None) };
        let Some(node) = tree.find(&above) else { return Ok(None) };
        Ok(Some((self.at(node).into_python(py)?, key.to_owned())))
    }

    /// The node as an item of its file.
    pub fn item(&self) -> Item<'_> {
        Item::new(self.backend(), At::Node(self.node().id().index()))
    }

    /// How its array is stored, as a listing names it.
    pub fn storage(&self) -> trilith::Result<String> {
        Ok(self.item().describe()?.storage)
    }

    /// How what stands here is pickled: as the way to it, or as its values where no path leads there.
    pub fn reduced<'py>(&self, slf: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        match Way::node(self).words(py)? {
            Some(way) => Ok((scalar::helper(py, "found")?, way).into_pyobject(py)?.into_any()),
            None => scalar::helper(py, "carried")?.call1((slf,)),
        }
    }

    /// The pairs of a mapping as YAML 1.1 reads them, or the items of a sequence.
    pub fn children(&self) -> Vec<(Option<Node<'_>>, Node<'_>)> {
        let node = self.node();
        if node.is_sequence() {
            return node.items().map(|item| (None, item)).collect();
        }
        node.merged_entries().into_iter().map(|(key, value)| (Some(key), value)).collect()
    }

    fn values<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        self.children().into_iter().map(|(_, node)| self.at(node).followed(py)?.into_python(py)).collect()
    }
}

/// A key in Python; one that is no scalar is its text.
pub fn key<'py>(py: Python<'py>, node: Node<'_>) -> PyResult<Bound<'py, PyAny>> {
    if node.is_scalar() { scalar::to_python(py, node) } else { Ok(PyString::new(py, node.raw()).into_any()) }
}

/// Copies what lies below a place into dictionaries and lists; what stands twice is one object.
pub struct Copier {
    done: HashMap<(usize, usize), Py<PyAny>>,
    depth: u64,
}

impl Copier {
    /// Copies nothing yet.
    pub fn new() -> Self {
        Self { done: HashMap::new(), depth: 0 }
    }

    /// A place and what is below it.
    pub fn copy<'py>(&mut self, py: Python<'py>, place: Place) -> PyResult<Bound<'py, PyAny>> {
        let node = place.node();
        if node.is_scalar() || ndarray::is_ndarray(node) || place.is_integer() {
            return place.into_python(py);
        }
        let id = (std::ptr::from_ref(place.found.file(&place.file)) as usize, node.id().index());
        if let Some(done) = self.done.get(&id) {
            return Ok(done.bind(py).clone());
        }
        // References can nest deeper than the text does.
        self.depth += 1;
        if self.depth > place.file.limits().depth {
            return Err(LimitError::new_err("references nest too deep to be copied into dictionaries and lists"));
        }
        let made = if node.is_sequence() {
            let list = PyList::empty(py);
            self.done.insert(id, list.clone().into_any().unbind());
            for (_, item) in place.children() {
                list.append(self.copy(py, place.at(item).followed(py)?)?)?;
            }
            list.into_any()
        } else {
            let dict = PyDict::new(py);
            self.done.insert(id, dict.clone().into_any().unbind());
            for (name, value) in place.children() {
                let name = name.map_or_else(|| Ok(py.None().into_bound(py)), |name| key(py, name))?;
                dict.set_item(name, self.copy(py, place.at(value).followed(py)?)?)?;
            }
            dict.into_any()
        };
        self.depth -= 1;
        Ok(made)
    }
}

/// A class of `collections.abc`.
pub fn view<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyType>> {
    Ok(py.import(intern!(py, "collections.abc"))?.getattr(name)?.cast_into()?)
}

/// A sequence of the tree, which behaves like a list that cannot be changed.
///
/// >>> import trilith
/// >>> f = trilith.open(trilith.dumps({"filters": ["F062", "F087", {"name": "F106"}]}))
/// >>> f["filters"][0], f["filters"][-1]["name"], len(f["filters"])
/// ('F062', 'F106', 3)
/// >>> f["filters"][:2]
/// ['F062', 'F087']
#[pyclass(frozen, sequence, weakref, module = "trilith")]
pub struct Sequence(pub Place);

#[pymethods]
impl Sequence {
    /// The whole tag of the node, or None.
    #[getter]
    fn tag(&self) -> Option<String> {
        self.0.node().tag().map(str::to_owned)
    }

    fn __getitem__<'py>(&self, py: Python<'py>, index: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        if let Ok(path) = index.cast::<PyString>() {
            let path = path.to_str()?;
            let place = self.0.find(py, path)?.ok_or_else(|| self.0.key_error(py, path))?;
            return place.into_python(py);
        }
        let node = self.0.node();
        let len = node.len();
        if let Ok(slice) = index.cast::<PySlice>() {
            let range = slice.indices(isize::try_from(len).unwrap_or(isize::MAX))?;
            let items: Vec<Node<'_>> = node.items().collect();
            let list = PyList::empty(py);
            let mut at = range.start;
            for _ in 0..range.slicelength {
                if let Some(item) = usize::try_from(at).ok().and_then(|at| items.get(at)) {
                    list.append(self.0.at(*item).followed(py)?.into_python(py)?)?;
                }
                at += range.step;
            }
            return Ok(list.into_any());
        }
        let Ok(at) = index.extract::<i64>() else {
            let kind = index.get_type().qualname()?;
            return Err(PyTypeError::new_err(format!("list indices must be integers, slices or paths, not {kind}")));
        };
        let place = if at < 0 { at.checked_add_unsigned(len as u64) } else { Some(at) };
        let item = place.and_then(|at| usize::try_from(at).ok()).and_then(|at| node.index(at));
        let item = item.ok_or_else(|| PyIndexError::new_err(format!("index {at} is outside a list of {len} items")))?;
        self.0.at(item).followed(py)?.into_python(py)
    }

    fn __len__(&self) -> usize {
        self.0.node().len()
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(PyList::new(py, self.0.values(py)?)?.try_iter()?.into_any())
    }

    fn __contains__(&self, py: Python<'_>, value: &Bound<'_, PyAny>) -> PyResult<bool> {
        PyList::new(py, self.0.values(py)?)?.contains(value)
    }

    /// The first index of a value.
    fn index(&self, py: Python<'_>, value: &Bound<'_, PyAny>) -> PyResult<usize> {
        PyList::new(py, self.0.values(py)?)?.index(value)
    }

    /// How often a value occurs.
    fn count<'py>(&self, py: Python<'py>, value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyInt>> {
        Ok(PyList::new(py, self.0.values(py)?)?.call_method1(intern!(py, "count"), (value,))?.cast_into()?)
    }

    /// A list of the items and all below them, in which arrays are still to be read.
    fn to_list<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Copier::new().copy(py, self.0.clone())
    }

    fn __eq__<'py>(&self, py: Python<'py>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let other = match other.cast::<Sequence>() {
            Ok(other) => other.get().to_list(py)?,
            Err(_) if other.is_instance_of::<PyList>() => other.clone(),
            Err(_) => return Ok(py.NotImplemented().into_bound(py)),
        };
        scalar::helper(py, "same")?.call1((self.to_list(py)?, other))
    }

    fn __add__<'py>(&self, py: Python<'py>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        if !other.is_instance_of::<PyList>() && !other.is_instance_of::<Self>() {
            return Ok(py.NotImplemented().into_bound(py));
        }
        let list = PyList::new(py, self.0.values(py)?)?;
        list.call_method1(intern!(py, "extend"), (other,))?;
        Ok(list.into_any())
    }

    fn __radd__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyList>) -> PyResult<Bound<'py, PyAny>> {
        let list = PyList::new(slf.py(), other.iter())?;
        list.call_method1(intern!(slf.py(), "extend"), (slf,))?;
        Ok(list.into_any())
    }

    fn __copy__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __deepcopy__<'py>(slf: Bound<'py, Self>, _memo: &Bound<'py, PyAny>) -> Bound<'py, Self> {
        slf
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.get().0.reduced(slf)
    }

    fn __repr__(&self) -> String {
        show::tree(self.0.node(), "trilith.Sequence")
    }

    fn _repr_html_(&self) -> String {
        show::tree_html(self.0.node(), "trilith.Sequence")
    }
}
