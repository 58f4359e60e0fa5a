//! The tree as Python's `asdf` parses it: dictionaries, lists and scalars, with the tags that are left.
//!
//! What only that package itself can say (an odd key, a tag of YAML in an odd place) is not decided
//! here: there is no tree then, and the caller lets `asdf` read the file.

use std::collections::HashMap;

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PySet, PyString, PyTuple};
use trilith::Limits;
use trilith::asdf::{AsdfFile, ndarray};
use trilith::tree::{Node, NodeKind, Scalar, Tree};

use crate::errors::{About, Raise};
use crate::{array, scalar};

/// What YAML itself calls its types.
const CORE: &str = "tag:yaml.org,2002:";

/// The classes that keep a tag: for mappings, sequences and texts.
pub struct Classes<'py> {
    pub mapping: Bound<'py, PyAny>,
    pub sequence: Bound<'py, PyAny>,
    pub text: Bound<'py, PyAny>,
}

impl<'py> Classes<'py> {
    /// Those of a tuple: for mappings, sequences and texts.
    pub fn of(given: &Bound<'py, PyAny>) -> PyResult<Self> {
        let (mapping, sequence, text) = given.extract()?;
        Ok(Self { mapping, sequence, text })
    }
}

/// What is below a node, with its arrays read; nothing where only `asdf` can say.
pub fn below<'py>(py: Python<'py>, file: &AsdfFile, node: Node<'_>, classes: &Classes<'py>) -> Made<'py> {
    Copier { py, classes, done: HashMap::new(), arrays: Some(file) }.copy(node)
}

/// A YAML text as `asdf` parses it, or nothing where PyYAML has to read it (and to say what is wrong with it).
#[pyfunction]
#[pyo3(name = "_load_yaml")]
pub fn load_yaml<'py>(py: Python<'py>, text: &[u8], classes: &Bound<'py, PyAny>) -> Made<'py> {
    let parsed = std::str::from_utf8(text).ok().and_then(|text| Tree::parse(text, &Limits::default()).ok());
    let classes = Classes::of(classes)?;
    let Some(tree) = parsed else { return Ok(None) };
    Copier { py, classes: &classes, done: HashMap::new(), arrays: None }.copy(tree.root())
}

/// The tree of a file, or nothing where `asdf` has to read it.
pub fn tree<'py>(py: Python<'py>, file: &AsdfFile, classes: &Classes<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
    if file.sections().tree().is_none() {
        return Ok(None);
    }
    Copier { py, classes, done: HashMap::new(), arrays: None }.copy(file.tree().root())
}

struct Copier<'a, 'py> {
    py: Python<'py>,
    classes: &'a Classes<'py>,
    /// What was made of a node: aliases are the same object.
    done: HashMap<usize, Bound<'py, PyAny>>,
    /// The file whose arrays are read; none where they stay descriptions.
    arrays: Option<&'a AsdfFile>,
}

type Made<'py> = PyResult<Option<Bound<'py, PyAny>>>;

impl<'py> Copier<'_, 'py> {
    /// The depth of a text is limited where it is parsed.
    fn copy(&mut self, node: Node<'_>) -> Made<'py> {
        if node.kind() == NodeKind::Scalar {
            return self.scalar(node);
        }
        let id = node.id().index();
        if let Some(done) = self.done.get(&id) {
            return Ok(Some(done.clone()));
        }
        if let Some(file) = self.arrays.filter(|_| ndarray::is_ndarray(node)) {
            let array = self.py.detach(|| file.array(node)).or_raise(About::Key)?;
            let made = array::read(self.py, &array)?;
            self.done.insert(id, made.clone());
            return Ok(Some(made));
        }
        let (core, tag) = match node.tag() {
            Some(tag) => match tag.strip_prefix(CORE) {
                Some(core) => (core, None),
                None => ("", Some(tag)),
            },
            None => ("", None),
        };
        match (node.kind(), core) {
            (NodeKind::Sequence, "" | "seq") => self.sequence(id, node, tag),
            (NodeKind::Sequence, "omap") => self.ordered(id, node),
            (NodeKind::Mapping, "" | "map") => self.mapping(id, node, tag),
            (NodeKind::Mapping, "set") => self.set(id, node),
            _ => Ok(None),
        }
    }

    fn scalar(&self, node: Node<'_>) -> Made<'py> {
        // What both stand for is PyYAML's own affair.
        if matches!(node.raw(), "=" | "<<") {
            return Ok(None);
        }
        match node.tag() {
            Some("!") => return Ok(None),
            Some(tag) if !tag.starts_with(CORE) => {
                let made = self.classes.text.call1((node.text(),))?;
                made.setattr(intern!(self.py, "_tag"), tag)?;
                return Ok(Some(made));
            }
            Some(tag) => {
                let plain = ["str", "int", "float", "bool", "null", "binary", "timestamp"];
                if !plain.contains(&&tag[CORE.len()..]) {
                    return Ok(None);
                }
            }
            None => {}
        }
        match node.scalar() {
            // A day that does not exist is an error there.
            Scalar::Timestamp(_) => {
                let made = scalar::to_python(self.py, node)?;
                Ok(Some(made).filter(|made| !made.is_instance_of::<PyString>()))
            }
            _ => scalar::to_python(self.py, node).map(Some),
        }
    }

    fn sequence(&mut self, id: usize, node: Node<'_>, tag: Option<&str>) -> Made<'py> {
        let list = PyList::empty(self.py);
        let made = match tag {
            Some(tag) => self.classes.sequence.call1((&list, tag))?,
            None => list.clone().into_any(),
        };
        self.done.insert(id, made.clone());
        for item in node.items() {
            let Some(item) = self.copy(item)? else { return Ok(None) };
            list.append(item)?;
        }
        Ok(Some(made))
    }

    fn mapping(&mut self, id: usize, node: Node<'_>, tag: Option<&str>) -> Made<'py> {
        let dict = PyDict::new(self.py);
        let made = match tag {
            Some(tag) => self.classes.mapping.call1((&dict, tag))?,
            None => dict.clone().into_any(),
        };
        self.done.insert(id, made.clone());
        for (key, value) in node.merged_entries() {
            let (Some(key), Some(value)) = (self.key(key)?, self.copy(value)?) else { return Ok(None) };
            dict.set_item(key, value)?;
        }
        Ok(Some(made))
    }

    /// A key: a scalar without a tag of its own.
    fn key(&self, node: Node<'_>) -> Made<'py> {
        if node.kind() != NodeKind::Scalar || node.tag().is_some_and(|tag| !tag.starts_with(CORE)) {
            return Ok(None);
        }
        self.scalar(node)
    }

    fn ordered(&mut self, id: usize, node: Node<'_>) -> Made<'py> {
        let made = self.py.import(intern!(self.py, "collections"))?.getattr(intern!(self.py, "OrderedDict"))?.call0()?;
        self.done.insert(id, made.clone());
        for item in node.items() {
            let entries = if item.is_mapping() { item.merged_entries() } else { Vec::new() };
            let [(key, value)] = entries.as_slice() else { return Ok(None) };
            let (Some(key), Some(value)) = (self.key(*key)?, self.copy(*value)?) else { return Ok(None) };
            made.set_item(key, value)?;
        }
        Ok(Some(made))
    }

    fn set(&mut self, id: usize, node: Node<'_>) -> Made<'py> {
        let made = PySet::empty(self.py)?;
        self.done.insert(id, made.clone().into_any());
        for (key, value) in node.merged_entries() {
            let Some(key) = self.key(key)? else { return Ok(None) };
            if !value.is_null() {
                return Ok(None);
            }
            made.add(key)?;
        }
        Ok(Some(made.into_any()))
    }
}

/// The blocks of a file as `asdf` describes them: a dictionary of its header fields, and where header and data begin.
pub fn blocks<'py>(py: Python<'py>, file: &AsdfFile) -> PyResult<Option<Bound<'py, PyList>>> {
    let Ok(found) = py.detach(|| file.sections().blocks()) else { return Ok(None) };
    let list = PyList::empty(py);
    for block in found {
        let fields = PyDict::new(py);
        fields.set_item("flags", u32::from(block.is_streamed()))?;
        fields.set_item("compression", pyo3::types::PyBytes::new(py, &block.compression))?;
        fields.set_item("allocated_size", if block.is_streamed() { 0 } else { block.allocated })?;
        fields.set_item("used_size", if block.is_streamed() { 0 } else { block.stored_len() })?;
        fields.set_item("data_size", if block.is_streamed() { 0 } else { block.decoded_len() })?;
        let checksum = block.checksum.as_deref().unwrap_or(&[0; 16]);
        fields.set_item("checksum", pyo3::types::PyBytes::new(py, checksum))?;
        list.append(PyTuple::new(
            py,
            [fields.into_any(), block.offset.into_pyobject(py)?.into_any(), block.data_offset.into_pyobject(py)?.into_any()],
        )?)?;
    }
    Ok(Some(list))
}
