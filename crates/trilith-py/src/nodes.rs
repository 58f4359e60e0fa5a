//! Items of a file in Python: mappings, lists and scalars of every format.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use pyo3::exceptions::{PyIndexError, PyNotImplementedError, PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyInt, PyList, PySlice, PyString, PyTuple, PyType};
use trilith::dudley::{DudleyFile, LayoutOrigin};
use trilith::file::{FileSet, Item, ItemKind, ItemLocation as At, integer_digits, is_same_file, missing_item_error};
use trilith::tree::Scalar;

use crate::array::Array;
use crate::array_origin::{ArrayOrigin, FileOrigin};
use crate::errors::{IntoPyResult, LimitError, UsageErrorKind, raise_from};
use crate::mapping::{Mapping, MappingBase, TableMapping};
use crate::{asdf_tagged, repr, scalar};

/// An item of an open file, and the file on this machine that it is in.
#[derive(Clone)]
pub(crate) struct ItemRef {
    pub item: Item<'static>,
    origin: Option<Arc<FileOrigin>>,
}

impl ItemRef {
    /// The root of a file.
    pub(crate) fn from_file_root(file: &trilith::File, home: Option<&Arc<FileOrigin>>) -> Self {
        Self { item: file.shared_root(), origin: home.cloned() }
    }

    /// The file and the path in it by which another process finds the item.
    pub(crate) fn home_and_path(&self) -> Option<(Arc<FileOrigin>, String)> {
        Some((self.origin.clone()?, self.item.path()?))
    }

    /// Returns a node for another item, of this file or one that it refers to.
    pub(crate) fn for_item(&self, item: Item<'static>) -> Self {
        let home = self.origin.clone().filter(|_| is_same_file(&item, &self.item));
        Self { item, origin: home }
    }

    /// The item itself, or what it refers to.
    pub(crate) fn resolve_reference(self, py: Python<'_>) -> PyResult<Self> {
        if self.item.kind() != ItemKind::Reference {
            return Ok(self);
        }
        let found = py.detach(|| self.item.resolve()).or_raise_from(UsageErrorKind::Key, self.item.backend().source())?;
        Ok(self.for_item(found))
    }

    /// The item that a key or a path leads to from here.
    pub(crate) fn find_by_path(&self, py: Python<'_>, path: &str) -> PyResult<Option<Self>> {
        let found = py.detach(|| self.item.find(path)).or_raise_from(UsageErrorKind::Key, self.item.backend().source())?;
        Ok(found.map(|item| self.for_item(item)))
    }

    /// The error for a path that leads nowhere.
    pub(crate) fn key_error(&self, path: &str) -> PyErr {
        raise_from(&missing_item_error(&self.item, path), UsageErrorKind::Key, &**self.item.backend().source())
    }

    /// The whole tag of the item.
    pub(crate) fn tag(&self) -> Option<String> {
        self.node_tag().map(str::to_owned)
    }

    /// Returns `true` for a mapping whose tag is not that of an integer, which is stored as an array of words.
    pub(crate) fn is_plain_mapping(&self) -> bool {
        let may_be_integer = |tag: &str| tag.contains("integer");
        self.item.kind() == ItemKind::Mapping && !self.node_tag().is_some_and(may_be_integer)
    }

    /// The whole tag of the item in a tree; only trees have tags.
    fn node_tag(&self) -> Option<&str> {
        self.item.as_asdf()?.1.tag()
    }

    /// Returns the Python object for the item: an array, a scalar's value, a mapping or a sequence.
    pub(crate) fn into_python<'py>(self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match self.item.kind() {
            ItemKind::Array => Ok(Bound::new(py, self.array(py)?)?.into_any()),
            ItemKind::List => Ok(Bound::new(py, Sequence(self))?.into_any()),
            ItemKind::Mapping if self.is_plain_mapping() => self.into_mapping(py),
            ItemKind::Mapping => {
                match py.detach(|| integer_digits(&self.item)).or_raise_from(UsageErrorKind::Key, self.item.backend().source())? {
                    Some(digits) => scalar::digits_to_python_int(py, &digits),
                    None => self.into_mapping(py),
                }
            }
            ItemKind::Reference => self.resolve_reference(py)?.into_python(py),
            _ => scalar::to_python(py, &self.item),
        }
    }

    /// The array that the item is.
    fn array(self, py: Python<'_>) -> PyResult<Array> {
        let array = py.detach(|| self.item.decoder().read()).or_raise_from(UsageErrorKind::Key, self.item.backend().source())?;
        let any: &dyn std::any::Any = self.item.backend();
        if array.mask().is_some()
            && let (Some(set), Some(path)) = (any.downcast_ref::<FileSet>(), self.item.path())
        {
            crate::edit::issue_warnings(
                py,
                py.detach(|| set.remarks(&path)).or_raise_from(UsageErrorKind::Key, self.item.backend().source())?,
            )?;
        }
        Ok(Array::new(array, Some(ArrayOrigin::for_item(self))))
    }

    /// A mapping, or a table of astropy.
    pub(crate) fn into_mapping(self, py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        let name = self.node_tag().and_then(|tag| tag.rsplit('/').next());
        let is_table = name.is_some_and(|name| name.starts_with("table-"));
        if is_table && matches!(self.item.get("columns"), Ok(Some(columns)) if columns.kind() == ItemKind::List) {
            return Ok(Bound::new(py, PyClassInitializer::from(MappingBase(self)).add_subclass(TableMapping))?.into_any());
        }
        Ok(Bound::new(py, PyClassInitializer::from(MappingBase(self)).add_subclass(Mapping))?.into_any())
    }

    /// Dictionaries and lists of it with the tags that are left, in which arrays were read.
    pub(crate) fn to_tagged_tree<'py>(
        &self,
        py: Python<'py>,
        classes: &asdf_tagged::TaggedClasses<'py>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some((file, node)) = self.item.as_asdf() else { return Ok(None) };
        asdf_tagged::copy_content(py, file, node, classes)
    }

    /// The object that the converters of the `asdf` package make of it.
    pub(crate) fn convert_with_asdf<'py>(&self, py: Python<'py>, form: &str) -> PyResult<Bound<'py, PyAny>> {
        if form != "asdf" {
            return Err(PyValueError::new_err(format!("as_ is \"asdf\", not {form:?}")));
        }
        let module = py.import("trilith._objects")?;
        let classes = asdf_tagged::TaggedClasses::from_tuple(&module.call_method0("classes")?)?;
        let (Some(tree), Some((file, _))) = (self.to_tagged_tree(py, &classes)?, self.item.as_asdf()) else {
            return Err(PyNotImplementedError::new_err(
                "only the asdf package reads this tree: open the file with trilith.asdf.open",
            ));
        };
        module.call_method1("made", (tree, file.sections().header().standard()))
    }

    /// The item and all below it as dictionaries and lists.
    pub(crate) fn to_builtin_containers<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        DeepCopier::new().copy_item(py, self.clone())
    }

    /// Returns the parent of the item, and its key there.
    pub(crate) fn parent<'py>(&self, py: Python<'py>) -> PyResult<Option<(Bound<'py, PyAny>, String)>> {
        let Some((above, key)) = self.item.parent() else { return Ok(None) };
        Ok(Some((self.for_item(above).into_python(py)?, key)))
    }

    /// Returns the storage of its array in the words of a listing, or the filter for a file without a tree.
    pub(crate) fn describe_storage(&self) -> trilith::Result<Option<String>> {
        let found = self.item.describe()?;
        Ok(if self.item.as_asdf().is_some() { Some(found.storage) } else { found.filter })
    }

    /// Returns the description of the file: "tree", "layout", "derived" for the layout of another format, or "set"
    /// for a file set.
    pub(crate) fn file_description_kind(&self) -> &'static str {
        let any: &dyn std::any::Any = self.item.backend();
        match any.downcast_ref::<DudleyFile>() {
            Some(file) if matches!(file.origin(), LayoutOrigin::Derived(_)) => "derived",
            Some(_) => "layout",
            None if any.is::<FileSet>() => "set",
            None => "tree",
        }
    }

    /// Pickles the item: as the path to it, or as its values if no path leads there.
    pub(crate) fn reduce_for_pickle<'py>(&self, slf: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        match ArrayOrigin::for_item(self.clone()).pickle_args(py)? {
            Some(way) => Ok((scalar::import_value_helper(py, "found")?, way).into_pyobject(py)?.into_any()),
            None if self.item.as_asdf().is_none() => crate::array_origin::reduce_open_file(None, py),
            None => scalar::import_value_helper(py, "carried")?.call1((slf,)),
        }
    }

    /// The pairs of a mapping, or the items of a sequence.
    pub(crate) fn members(&self) -> PyResult<Vec<(Option<Scalar<'_>>, Self)>> {
        let members = self.item.keyed_children().or_raise_from(UsageErrorKind::Key, self.item.backend().source())?;
        Ok(members.into_iter().map(|(key, item)| (key, self.for_item(item))).collect())
    }

    /// Returns the number of members.
    pub(crate) fn len(&self) -> PyResult<usize> {
        Ok(self.item.keyed_children().or_raise_from(UsageErrorKind::Key, self.item.backend().source())?.len())
    }

    fn child_values<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        self.members()?.into_iter().map(|(_, place)| place.resolve_reference(py)?.into_python(py)).collect()
    }
}

/// Copies what is below an item into dictionaries and lists; an item that several places refer to is one object.
pub(crate) struct DeepCopier {
    memo: HashMap<(usize, usize), Py<PyAny>>,
    depth: u64,
}

impl DeepCopier {
    /// Copies nothing yet.
    pub(crate) fn new() -> Self {
        Self { memo: HashMap::new(), depth: 0 }
    }

    /// An item and what is below it.
    pub(crate) fn copy_item<'py>(&mut self, py: Python<'py>, place: ItemRef) -> PyResult<Bound<'py, PyAny>> {
        let kind = place.item.kind();
        if !kind.is_collection()
            || integer_digits(&place.item).or_raise_from(UsageErrorKind::Key, place.item.backend().source())?.is_some()
        {
            return place.into_python(py);
        }
        let id = match place.item.location() {
            At::Node(number) => Some((std::ptr::from_ref(place.item.backend()).cast::<()>() as usize, *number)),
            _ => None,
        };
        if let Some(done) = id.and_then(|id| self.memo.get(&id)) {
            return Ok(done.bind(py).clone());
        }
        // References can nest deeper than the text does.
        self.depth += 1;
        if self.depth > place.item.backend().limits().depth {
            return Err(LimitError::new_err("references nest too deep to be copied into dictionaries and lists"));
        }
        let mut keep = |made: &Bound<'py, PyAny>| id.map(|id| self.memo.insert(id, made.clone().unbind()));
        let made = if kind == ItemKind::List {
            let list = match place.tag() {
                Some(tag) => scalar::tagged_class(py, "TaggedList")?.call1(((), tag))?.cast_into::<PyList>()?,
                None => PyList::empty(py),
            };
            keep(&list);
            for (_, item) in place.members()? {
                list.append(self.copy_item(py, item.resolve_reference(py)?)?)?;
            }
            list.into_any()
        } else {
            let dict = match place.tag() {
                Some(tag) => scalar::tagged_class(py, "TaggedDict")?.call1(((), tag))?.cast_into::<PyDict>()?,
                None => PyDict::new(py),
            };
            keep(&dict);
            for (name, value) in place.members()? {
                let name = name.map_or_else(|| Ok(py.None().into_bound(py)), |name| scalar::scalar_to_python(py, name))?;
                if dict.contains(&name)? {
                    let message =
                        format!("cannot make a dictionary: two keys of the mapping are equal in Python ({})", name.repr()?);
                    return Err(PyValueError::new_err(message));
                }
                dict.set_item(name, self.copy_item(py, value.resolve_reference(py)?)?)?;
            }
            dict.into_any()
        };
        self.depth -= 1;
        Ok(made)
    }
}

/// A class of `collections.abc`.
pub(crate) fn import_abc_class<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyType>> {
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
pub(crate) struct Sequence(pub ItemRef);

#[pymethods]
impl Sequence {
    /// The whole tag of the node, or None.
    #[getter]
    fn tag(&self) -> Option<String> {
        self.0.tag()
    }

    /// The attributes of the list, by name.
    #[getter]
    fn attrs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        scalar::attributes_to_dict(py, &self.0.item)
    }

    /// The documentation of the list in one line, as a layout has it; None where there is none.
    #[getter]
    fn doc(&self) -> Option<String> {
        self.0.item.metadata().comment.map(Cow::into_owned)
    }

    /// The unit of its items, among its attributes; None where there is none.
    #[getter]
    fn unit(&self) -> Option<String> {
        self.0.item.unit()
    }

    /// The names of the axes of the list and of the lists in it, and `false`.
    #[getter]
    fn _axes(&self) -> PyResult<(Vec<Option<String>>, bool)> {
        scalar::item_axes(&self.0.item)
    }

    /// The description of the file: "tree", "layout", "derived" or "set".
    #[getter]
    fn _form(&self) -> &'static str {
        self.0.file_description_kind()
    }

    /// The list as one array with a leading axis, if its items are equal: the same datatype and shape. An index
    /// with several axes, such as `[:, 0]`, is one into this array.
    ///
    /// Raises
    /// ------
    /// ValueError
    ///     If the items are not equal.
    #[getter]
    fn array<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, Array>> {
        let array = py
            .detach(|| self.0.item.decoder().decode_text(self.0.item.as_array()?))
            .or_raise_from(UsageErrorKind::Argument, self.0.item.backend().source())?;
        Bound::new(py, Array::new(array, Some(ArrayOrigin::for_item(self.0.clone()))))
    }

    #[pyo3(signature = (dtype=None, copy=None))]
    fn __array__<'py>(
        &self,
        py: Python<'py>,
        dtype: Option<Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if self.0.item.flags().is_history {
            return self.array(py)?.into_any().call_method1("__array__", (dtype, copy));
        }
        let arguments = crate::dtype::build_keyword_arguments(py, &[("dtype", dtype.into_pyobject(py)?.into_any())])?;
        crate::dtype::import_numpy(py)?
            .getattr(intern!(py, "array"))?
            .call((PyList::new(py, self.0.child_values(py)?)?,), Some(&arguments))
    }

    fn __getitem__<'py>(&self, py: Python<'py>, index: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        if let Ok(path) = index.cast::<PyString>() {
            let path = path.to_str()?;
            return self.0.find_by_path(py, path)?.ok_or_else(|| self.0.key_error(path))?.into_python(py);
        }
        if index.is_instance_of::<PyTuple>() {
            return self.array(py)?.into_any().get_item(index);
        }
        let slice = index.cast::<PySlice>();
        let Ok(at) = index.extract::<i64>() else {
            let Ok(slice) = slice else {
                let kind = index.get_type().qualname()?;
                return Err(PyTypeError::new_err(format!("list indices must be integers, slices or paths, not {kind}")));
            };
            let items = self.0.members()?;
            let range = slice.indices(isize::try_from(items.len()).unwrap_or(isize::MAX))?;
            let list = PyList::empty(py);
            let mut at = range.start;
            for _ in 0..range.slicelength {
                if let Some((_, item)) = usize::try_from(at).ok().and_then(|at| items.get(at)) {
                    list.append(item.clone().resolve_reference(py)?.into_python(py)?)?;
                }
                at += range.step;
            }
            return Ok(list.into_any());
        };
        let len = if at < 0 { self.0.len()? as u64 } else { 0 };
        let place = at.checked_add_unsigned(len).and_then(|at| usize::try_from(at).ok());
        let item = place
            .map(|at| self.0.item.get(&at.to_string()))
            .transpose()
            .or_raise_from(UsageErrorKind::Key, self.0.item.backend().source())?
            .flatten();
        match item {
            Some(item) => self.0.for_item(item).into_python(py),
            None => Err(PyIndexError::new_err(format!("index {at} is outside a list of {} items", self.0.len()?))),
        }
    }

    fn __len__(&self) -> PyResult<usize> {
        self.0.len()
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(PyList::new(py, self.0.child_values(py)?)?.try_iter()?.into_any())
    }

    fn __contains__(&self, py: Python<'_>, value: &Bound<'_, PyAny>) -> PyResult<bool> {
        PyList::new(py, self.0.child_values(py)?)?.contains(value)
    }

    /// Returns the first index of a value.
    ///
    /// Parameters
    /// ----------
    /// value : object
    ///     The value.
    ///
    /// Returns
    /// -------
    /// int
    ///
    /// Raises
    /// ------
    /// ValueError
    ///     If the value is not in the sequence.
    ///
    /// Examples
    /// --------
    /// >>> import trilith
    /// >>> trilith.open(trilith.dumps({"filters": ["F062", "F087"]}))["filters"].index("F087")
    /// 1
    fn index(&self, py: Python<'_>, value: &Bound<'_, PyAny>) -> PyResult<usize> {
        PyList::new(py, self.0.child_values(py)?)?.index(value)
    }

    /// Returns the number of occurrences of a value.
    ///
    /// Parameters
    /// ----------
    /// value : object
    ///     The value.
    ///
    /// Returns
    /// -------
    /// int
    ///
    /// Examples
    /// --------
    /// >>> import trilith
    /// >>> trilith.open(trilith.dumps({"filters": ["F062", "F087"]}))["filters"].count("F062")
    /// 1
    fn count<'py>(&self, py: Python<'py>, value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyInt>> {
        Ok(PyList::new(py, self.0.child_values(py)?)?.call_method1(intern!(py, "count"), (value,))?.cast_into()?)
    }

    /// Returns the sequence and everything below it as lists and dictionaries.
    ///
    /// Arrays in it are still `Array`s, whose elements are read later.
    ///
    /// Returns
    /// -------
    /// list
    ///
    /// Examples
    /// --------
    /// >>> import trilith
    /// >>> trilith.open(trilith.dumps({"filters": ["F062", {"name": "F106"}]}))["filters"].to_list()
    /// ['F062', {'name': 'F106'}]
    fn to_list<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.0.to_builtin_containers(py)
    }

    fn __eq__<'py>(&self, py: Python<'py>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let other = match other.cast::<Sequence>() {
            Ok(other) => other.get().to_list(py)?,
            Err(_) if other.is_instance_of::<PyList>() => other.clone(),
            Err(_) => return Ok(py.NotImplemented().into_bound(py)),
        };
        scalar::import_value_helper(py, "same")?.call1((self.to_list(py)?, other))
    }

    fn __add__<'py>(&self, py: Python<'py>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        if !other.is_instance_of::<PyList>() && !other.is_instance_of::<Self>() {
            return Ok(py.NotImplemented().into_bound(py));
        }
        let list = PyList::new(py, self.0.child_values(py)?)?;
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
        slf.get().0.reduce_for_pickle(slf)
    }

    fn __repr__(&self) -> String {
        repr::display_item(&self.0.item, "trilith.Sequence")
    }

    fn __str__(&self) -> String {
        repr::display_tree(&self.0.item, "trilith.Sequence")
    }

    fn _repr_html_(&self) -> String {
        repr::tree_html(&self.0.item, "trilith.Sequence")
    }
}
