//! Mappings of the tree, which behave like dictionaries, and tables among them.

use std::borrow::Cow;

use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};

use crate::nodes::{ItemRef, import_abc_class};
use crate::search::Conditions;
use crate::{repr, scalar};

/// The common base of the mappings of a tree.
#[pyclass(frozen, mapping, subclass, weakref, module = "trilith", name = "_Keyed")]
pub(crate) struct MappingBase(pub ItemRef);

/// A mapping of the tree, which behaves like a dictionary that cannot be changed.
///
/// A path such as `"roman/meta"` leads on from here; keys are in the order of the file.
///
/// >>> import trilith
/// >>> f = trilith.open(trilith.dumps({"roman": {"meta": {"exposure": 139.8}}}))
/// >>> f["roman"]["meta"]["exposure"], f["roman/meta/exposure"]
/// (139.8, 139.8)
/// >>> "meta" in f["roman"], len(f["roman"]), f["roman"].get("nothing", 0)
/// (True, 1, 0)
#[pyclass(frozen, mapping, extends = MappingBase, module = "trilith")]
pub(crate) struct Mapping;

/// A table of astropy in the tree: a mapping with its `columns`, which other libraries take as the table.
///
/// `polars.DataFrame(t)`, `pyarrow.table(t)`, `pandas.DataFrame.from_arrow(t)` and DuckDB read the columns, with units and
/// time scales in the metadata of Arrow. It has all methods of `Mapping`, but is not a
/// `collections.abc.Mapping`: these libraries would then take its keys for the columns. `f.get(path, as_="asdf")` gives the object of astropy.
///
/// >>> import polars, trilith
/// >>> stars = polars.DataFrame({"id": [1, 2], "flux": [9.5, None]})
/// >>> f = trilith.open(trilith.dumps({"stars": stars}))
/// >>> type(f["stars"]).__name__, f["stars/columns/1/name"]
/// ('Columns', 'flux')
/// >>> polars.DataFrame(f["stars"]).equals(stars)
/// True
#[pyclass(frozen, mapping, extends = MappingBase, name = "Columns", module = "trilith")]
pub(crate) struct TableMapping;

#[pymethods]
impl TableMapping {
    /// The rows as an array of structures in Arrow's C data interface: (schema, array).
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(slf: Bound<'py, Self>, requested_schema: Option<Bound<'py, PyAny>>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("trilith._arrow")?.call_method1("table_array", (slf, requested_schema))
    }

    /// Refuses: columns of different types are not a single array.
    #[pyo3(signature = (dtype=None, copy=None))]
    fn __array__(&self, dtype: Option<Bound<'_, PyAny>>, copy: Option<bool>) -> PyResult<()> {
        let _ = (dtype, copy);
        Err(PyTypeError::new_err(
            "a table has separate columns, and is not one array: use pandas.DataFrame.from_arrow(x) or pyarrow.table(x)",
        ))
    }
}

impl MappingBase {
    /// A part of the data of an HDU, which counts as its data where somebody indexes it as an array. None for any other mapping.
    fn data_part<'py>(&self, py: Python<'py>, index: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
        if self.0.item.as_array().is_err() {
            return Ok(None);
        }
        let data = self.find_by_key(py, &PyString::new(py, "data"))?;
        data.map(|place| place.into_python(py)?.get_item(index)).transpose()
    }
}

#[pymethods]
impl MappingBase {
    /// The whole tag of the node, or None.
    #[getter]
    fn tag(&self) -> Option<String> {
        self.0.tag()
    }

    /// The attributes of the mapping, by name: numbers, strings, and lists of these. Those of a FITS HDU are
    /// the header cards. A mapping of ASDF has none.
    #[getter]
    fn attrs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        scalar::attributes_to_dict(py, &self.0.item)
    }

    /// The attributes, as `attrs`.
    #[getter]
    fn attributes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.attrs(py)
    }

    /// The documentation of the mapping in one line, as a layout has it; None where there is none.
    #[getter]
    fn doc(&self) -> Option<String> {
        self.0.item.metadata().comment.map(Cow::into_owned)
    }

    /// The unit of the mapping, if it is a quantity or a column, or among its attributes; None where there is none.
    #[getter]
    fn unit(&self) -> Option<String> {
        self.0.item.unit()
    }

    /// The names of the first axes of all arrays in the mapping, and `false`.
    #[getter]
    fn _axes(&self) -> PyResult<(Vec<Option<String>>, bool)> {
        scalar::item_axes(&self.0.item)
    }

    /// The description of the file: "tree", "layout", "derived" or "set".
    #[getter]
    fn _form(&self) -> &'static str {
        self.0.file_description_kind()
    }

    fn __setitem__(&self, _key: &Bound<'_, PyAny>, _value: &Bound<'_, PyAny>) -> PyResult<()> {
        let message = "items are assigned by their paths from the root: f['meta/observer'] = value, and then f.update()";
        Err(PyTypeError::new_err(message))
    }

    pub(crate) fn __getitem__<'py>(&self, py: Python<'py>, key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let is_name = key.is_instance_of::<PyString>();
        if !is_name && let Some(part) = self.data_part(py, key)? {
            return Ok(part);
        }
        match self.find_by_key(py, key)? {
            Some(place) => place.into_python(py),
            None => {
                let text = key.str()?.to_string();
                let found = if is_name { scalar::address_value(py, &self.0.item, &text)? } else { None };
                found.ok_or_else(|| self.0.key_error(&text))
            }
        }
    }

    fn __contains__(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        let Ok(text) = key.cast::<PyString>() else { return Ok(self.find_by_key(py, key)?.is_some()) };
        // The target of a reference does not matter for whether it is here.
        let item = &self.0.item;
        let is_here = |text: &str| matches!(item.backend().child(item.location(), text), Ok(Some(_)));
        Ok(text.to_str().is_ok_and(|text| is_here(text) || matches!(self.0.find_by_path(py, text), Ok(Some(_)))))
    }

    pub(crate) fn __len__(&self) -> PyResult<usize> {
        self.0.len()
    }

    fn __iter__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        scalar::import_value_helper(py, "check_reader")?.call1((slf.is_instance_of::<TableMapping>(),))?;
        let members = slf.get().0.members()?;
        let keys = members.into_iter().filter_map(|(name, _)| name).map(|name| scalar::scalar_to_python(py, name));
        let keys = keys.collect::<PyResult<Vec<_>>>()?;
        Ok(PyList::new(py, keys)?.try_iter()?.into_any())
    }

    /// Returns a view of the keys.
    ///
    /// Returns
    /// -------
    /// collections.abc.KeysView
    ///
    /// Examples
    /// --------
    /// >>> import trilith
    /// >>> f = trilith.open(trilith.dumps({"meta": {"a": 1, "b": "x"}}))
    /// >>> list(f["meta"].keys())
    /// ['a', 'b']
    fn keys<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        import_abc_class(slf.py(), "KeysView")?.call1((slf,))
    }

    /// Returns a view of the values.
    ///
    /// Returns
    /// -------
    /// collections.abc.ValuesView
    ///
    /// Examples
    /// --------
    /// >>> import trilith
    /// >>> f = trilith.open(trilith.dumps({"meta": {"a": 1, "b": "x"}}))
    /// >>> list(f["meta"].values())
    /// [1, 'x']
    fn values<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        import_abc_class(slf.py(), "ValuesView")?.call1((slf,))
    }

    /// Returns a view of the pairs of key and value.
    ///
    /// Returns
    /// -------
    /// collections.abc.ItemsView
    ///
    /// Examples
    /// --------
    /// >>> import trilith
    /// >>> f = trilith.open(trilith.dumps({"meta": {"a": 1, "b": "x"}}))
    /// >>> list(f["meta"].items())
    /// [('a', 1), ('b', 'x')]
    fn items<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        import_abc_class(slf.py(), "ItemsView")?.call1((slf,))
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
    /// >>> meta = trilith.open(trilith.dumps({"meta": {"exposure": 139.8}}))["meta"]
    /// >>> meta.get("exposure"), meta.get("filter", "none")
    /// (139.8, 'none')
    #[pyo3(signature = (key, default=None, *, as_=None))]
    fn get<'py>(
        &self,
        py: Python<'py>,
        key: &Bound<'py, PyAny>,
        default: Option<Bound<'py, PyAny>>,
        as_: Option<&str>,
    ) -> PyResult<Bound<'py, PyAny>> {
        match (self.find_by_key(py, key)?, as_) {
            (Some(place), None) => place.into_python(py),
            (Some(place), Some(form)) => place.convert_with_asdf(py, form),
            (None, _) => Ok(default.unwrap_or_else(|| py.None().into_bound(py))),
        }
    }

    /// The parent of the mapping, and its key there; None at the top.
    fn _above<'py>(&self, py: Python<'py>) -> PyResult<Option<(Bound<'py, PyAny>, String)>> {
        self.0.parent(py)
    }

    /// Paths below this mapping, of what meets conditions.
    #[pyo3(name = "_search")]
    #[allow(clippy::needless_pass_by_value, reason = "so the words of Python arrive")]
    fn search(&self, py: Python<'_>, conditions: Conditions) -> PyResult<Vec<String>> {
        crate::search::find_paths(py, &self.0, &conditions)
    }

    /// A table in Arrow's C stream interface: one of astropy, or arrays of one length.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        slf: Bound<'py, Self>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("trilith._arrow")?.call_method1("table_stream", (slf, requested_schema))
    }

    /// Returns the mapping and everything below it as dictionaries and lists.
    ///
    /// Arrays in it are still `Array`s, whose elements are read later.
    ///
    /// Returns
    /// -------
    /// dict
    ///
    /// Examples
    /// --------
    /// >>> import trilith
    /// >>> trilith.open(trilith.dumps({"meta": {"filters": ["F106"]}}))["meta"].to_dict()
    /// {'filters': ['F106']}
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.0.to_builtin_containers(py)
    }

    fn __eq__<'py>(&self, py: Python<'py>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let other = match other.cast::<Self>() {
            Ok(other) => other.get().to_dict(py)?,
            Err(_) if other.is_instance_of::<PyDict>() => other.clone(),
            Err(_) => return Ok(py.NotImplemented().into_bound(py)),
        };
        scalar::import_value_helper(py, "same")?.call1((self.to_dict(py)?, other))
    }

    fn __or__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        if !other.hasattr(intern!(py, "keys"))? {
            return Ok(py.NotImplemented().into_bound(py));
        }
        let dict = PyDict::from_sequence(&slf.call_method0(intern!(py, "items"))?.try_iter()?.into_any())?;
        dict.call_method1(intern!(py, "update"), (other,))?;
        Ok(dict.into_any())
    }

    fn __ror__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyDict>) -> PyResult<Bound<'py, PyDict>> {
        let dict = other.copy()?;
        dict.call_method1(intern!(slf.py(), "update"), (slf,))?;
        Ok(dict)
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

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        Ok(repr::display_item(&slf.get().0.item, &format!("trilith.{}", slf.get_type().name()?)))
    }

    fn __str__(slf: &Bound<'_, Self>) -> PyResult<String> {
        Ok(repr::display_tree(&slf.get().0.item, &format!("trilith.{}", slf.get_type().name()?)))
    }

    fn _repr_html_(slf: &Bound<'_, Self>) -> PyResult<String> {
        Ok(repr::tree_html(&slf.get().0.item, &format!("trilith.{}", slf.get_type().name()?)))
    }
}

impl MappingBase {
    fn find_by_key(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<Option<ItemRef>> {
        if let Ok(text) = key.cast::<PyString>() {
            return self.0.find_by_path(py, text.to_str()?);
        }
        for (name, value) in self.0.members()? {
            if let Some(name) = name
                && scalar::scalar_to_python(py, name)?.eq(key).unwrap_or(false)
            {
                return value.resolve_reference(py).map(Some);
            }
        }
        Ok(None)
    }
}
