//! The tree as Python's `asdf` parses it, and as it prints one: dictionaries, lists and scalars, with the remaining
//! tags.
//!
//! Cases that only that package can decide (an odd key, a tag of YAML in an odd place, a number of numpy) are not
//! decided here: there is no tree then, and the caller lets `asdf` read or print it.

use std::collections::{HashMap, HashSet};

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PySet, PyString, PyTuple};
use trilith::Limits;
use trilith::asdf::{AsdfFile, is_ndarray};
use trilith::tree::{Node, NodeKind, Scalar, Tree, Value, ValueData};

use crate::errors::{IntoPyResult, UsageErrorKind};
use crate::{array, scalar};

/// Prefix of YAML's own types.
const CORE: &str = "tag:yaml.org,2002:";

/// The classes that keep a tag: for mappings, sequences and strings.
pub(crate) struct TaggedClasses<'py> {
    pub mapping: Bound<'py, PyAny>,
    pub sequence: Bound<'py, PyAny>,
    pub text: Bound<'py, PyAny>,
}

impl<'py> TaggedClasses<'py> {
    /// Returns those of a tuple: for mappings, sequences and strings.
    pub(crate) fn from_tuple(given: &Bound<'py, PyAny>) -> PyResult<Self> {
        let (mapping, sequence, text) = given.extract()?;
        Ok(Self { mapping, sequence, text })
    }
}

/// Returns the content below a node, with its arrays read, or nothing if only `asdf` can decide.
pub(crate) fn copy_content<'py>(
    py: Python<'py>,
    file: &AsdfFile,
    node: Node<'_>,
    classes: &TaggedClasses<'py>,
) -> CopyResult<'py> {
    TaggedCopier { py, classes, done: HashMap::new(), arrays: Some(file) }.copy_node(node)
}

/// A YAML text as `asdf` parses it, or nothing if PyYAML has to read it (and to say what is wrong with it).
#[pyfunction]
#[pyo3(name = "_load_yaml")]
pub(crate) fn load_yaml<'py>(py: Python<'py>, text: &[u8], classes: &Bound<'py, PyAny>) -> CopyResult<'py> {
    let parsed = std::str::from_utf8(text).ok().and_then(|text| Tree::parse(text, &Limits::default()).ok());
    let classes = TaggedClasses::from_tuple(classes)?;
    let Some(tree) = parsed else { return Ok(None) };
    TaggedCopier { py, classes: &classes, done: HashMap::new(), arrays: None }.copy_node(tree.root())
}

/// The tree of a file, or nothing if `asdf` has to read it.
pub(crate) fn load_tagged_tree<'py>(
    py: Python<'py>,
    file: &AsdfFile,
    classes: &TaggedClasses<'py>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    if file.sections().tree().is_none() {
        return Ok(None);
    }
    TaggedCopier { py, classes, done: HashMap::new(), arrays: None }.copy_node(file.tree().root())
}

struct TaggedCopier<'a, 'py> {
    py: Python<'py>,
    classes: &'a TaggedClasses<'py>,
    /// The object made of each node: aliases are the same object.
    done: HashMap<usize, Bound<'py, PyAny>>,
    /// The file whose arrays are read; none if they stay descriptions.
    arrays: Option<&'a AsdfFile>,
}

type CopyResult<'py> = PyResult<Option<Bound<'py, PyAny>>>;

impl<'py> TaggedCopier<'_, 'py> {
    /// The depth of a text is limited if it is parsed.
    fn copy_node(&mut self, node: Node<'_>) -> CopyResult<'py> {
        if node.kind() == NodeKind::Scalar {
            return self.copy_scalar(node);
        }
        let id = node.id().index();
        if let Some(done) = self.done.get(&id) {
            return Ok(Some(done.clone()));
        }
        if let Some(file) = self.arrays.filter(|_| is_ndarray(node)) {
            let array = self.py.detach(|| file.array(node)).or_raise_from(UsageErrorKind::Key, file.sections().source())?;
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
            (NodeKind::Sequence, "" | "seq") => self.copy_sequence(id, node, tag),
            (NodeKind::Sequence, "omap") => self.copy_ordered_mapping(id, node),
            (NodeKind::Mapping, "" | "map") => self.copy_mapping(id, node, tag),
            (NodeKind::Mapping, "set") => self.copy_set(id, node),
            _ => Ok(None),
        }
    }

    fn copy_scalar(&self, node: Node<'_>) -> CopyResult<'py> {
        // PyYAML decides what both mean.
        if matches!(node.source_text(), "=" | "<<") {
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
        let read = |node: Node<'_>| scalar::value_at(self.py, node.scalar(), || Some(node.line_column()));
        match node.scalar() {
            // A day that does not exist is an error there.
            Scalar::Timestamp(_) => {
                let made = read(node)?;
                Ok(Some(made).filter(|made| !made.is_instance_of::<PyString>()))
            }
            _ => read(node).map(Some),
        }
    }

    fn copy_sequence(&mut self, id: usize, node: Node<'_>, tag: Option<&str>) -> CopyResult<'py> {
        let list = PyList::empty(self.py);
        let made = match tag {
            Some(tag) => self.classes.sequence.call1((&list, tag))?,
            None => list.clone().into_any(),
        };
        self.done.insert(id, made.clone());
        for item in node.items() {
            let Some(item) = self.copy_node(item)? else { return Ok(None) };
            list.append(item)?;
        }
        Ok(Some(made))
    }

    fn copy_mapping(&mut self, id: usize, node: Node<'_>, tag: Option<&str>) -> CopyResult<'py> {
        let dict = PyDict::new(self.py);
        let made = match tag {
            Some(tag) => self.classes.mapping.call1((&dict, tag))?,
            None => dict.clone().into_any(),
        };
        self.done.insert(id, made.clone());
        for (key, value) in node.merged_entries() {
            let (Some(key), Some(value)) = (self.copy_key(key)?, self.copy_node(value)?) else { return Ok(None) };
            dict.set_item(key, value)?;
        }
        Ok(Some(made))
    }

    /// Returns a key: a scalar without an explicit tag.
    fn copy_key(&self, node: Node<'_>) -> CopyResult<'py> {
        if node.kind() != NodeKind::Scalar || node.tag().is_some_and(|tag| !tag.starts_with(CORE)) {
            return Ok(None);
        }
        self.copy_scalar(node)
    }

    fn copy_ordered_mapping(&mut self, id: usize, node: Node<'_>) -> CopyResult<'py> {
        let made = self.py.import(intern!(self.py, "collections"))?.getattr(intern!(self.py, "OrderedDict"))?.call0()?;
        self.done.insert(id, made.clone());
        for item in node.items() {
            let entries = if item.is_mapping() { item.merged_entries() } else { Vec::new() };
            let [(key, value)] = entries.as_slice() else { return Ok(None) };
            let (Some(key), Some(value)) = (self.copy_key(*key)?, self.copy_node(*value)?) else { return Ok(None) };
            made.set_item(key, value)?;
        }
        Ok(Some(made))
    }

    fn copy_set(&mut self, id: usize, node: Node<'_>) -> CopyResult<'py> {
        let made = PySet::empty(self.py)?;
        self.done.insert(id, made.clone().into_any());
        for (key, value) in node.merged_entries() {
            let Some(key) = self.copy_key(key)? else { return Ok(None) };
            if !value.is_null() {
                return Ok(None);
            }
            made.add(key)?;
        }
        Ok(Some(made.into_any()))
    }
}

/// The value that `asdf` prints of a tagged tree, or nothing if only it can say: one object in several places, say.
pub(crate) fn tagged_to_value<'py>(given: &Bound<'py, PyAny>, classes: &TaggedClasses<'py>) -> PyResult<Option<Value>> {
    FromTagged { classes, seen: HashSet::new(), depth: 0 }.tagged_to_value(given)
}

struct FromTagged<'a, 'py> {
    classes: &'a TaggedClasses<'py>,
    /// The collections so far: PyYAML gives an anchor to one that is met again.
    seen: HashSet<usize>,
    depth: usize,
}

/// Deeper trees are left to PyYAML.
const MAX_DEPTH: usize = 256;

impl<'py> FromTagged<'_, 'py> {
    fn tagged_to_value(&mut self, given: &Bound<'py, PyAny>) -> PyResult<Option<Value>> {
        let py = given.py();
        if let Ok(text) = given.cast_exact::<PyString>() {
            return Ok(text.to_str().ok().map(Value::from));
        }
        if given.is_none() {
            return Ok(Some(Value::null()));
        }
        if let Ok(value) = given.cast_exact::<PyBool>() {
            return Ok(Some(value.is_true().into()));
        }
        if given.is_exact_instance_of::<PyInt>() {
            let small = given.extract::<i64>().ok().map(Value::from);
            return small
                .map_or_else(|| Ok(Some(ValueData::BigInt(given.str()?.to_str()?.to_owned()).into())), |small| Ok(Some(small)));
        }
        if given.is_exact_instance_of::<PyFloat>() {
            return Ok(Some(given.extract::<f64>()?.into()));
        }
        let kind = given.get_type();
        if kind.is(&self.classes.text) {
            let data = given.getattr(intern!(py, "data"))?;
            let Some(text) = data.cast_exact::<PyString>().ok().and_then(|text| text.to_str().ok()) else { return Ok(None) };
            return Ok(Some(Value { tag: read_tag_attribute(given)?, ..Value::from(text) }));
        }
        if self.depth == MAX_DEPTH || !self.seen.insert(given.as_ptr() as usize) {
            return Ok(None);
        }
        self.depth += 1;
        let made = if kind.is(&self.classes.mapping) || kind.is(&self.classes.sequence) {
            let data = given.getattr(intern!(py, "data"))?;
            let made = match (data.cast_exact::<PyDict>(), data.cast_exact::<PyList>()) {
                (Ok(dict), _) => self.convert_mapping(dict, &given.getattr(intern!(py, "property_order"))?)?,
                (_, Ok(list)) => self.convert_sequence(list.iter())?,
                _ => None,
            };
            let style: Option<String> = given.getattr(intern!(py, "flow_style"))?.extract().unwrap_or_default();
            let tag = read_tag_attribute(given)?;
            made.map(|made| Value { tag, ..made }).map(|made| match style.as_deref() {
                Some("flow") => made.flow(),
                Some("block") => made.block(),
                _ => made,
            })
        } else if let Ok(dict) = given.cast_exact::<PyDict>() {
            self.convert_mapping(dict, &py.None().into_bound(py))?
        } else if let Ok(list) = given.cast_exact::<PyList>() {
            self.convert_sequence(list.iter())?
        } else if let Ok(tuple) = given.cast_exact::<PyTuple>() {
            self.convert_sequence(tuple.iter())?
        } else {
            None
        };
        self.depth -= 1;
        Ok(made)
    }

    fn convert_sequence(&mut self, items: impl Iterator<Item = Bound<'py, PyAny>>) -> PyResult<Option<Value>> {
        let items: Option<Vec<Value>> = items.map(|item| self.tagged_to_value(&item)).collect::<PyResult<_>>()?;
        Ok(items.map(Value::from))
    }

    /// The pairs: first those that a schema wants first.
    fn convert_mapping(&mut self, dict: &Bound<'py, PyDict>, first: &Bound<'py, PyAny>) -> PyResult<Option<Value>> {
        let first: Vec<Bound<'py, PyAny>> = if first.is_none() { Vec::new() } else { first.extract()? };
        let mut pairs = Vec::with_capacity(dict.len());
        for key in &first {
            if let Some(value) = dict.get_item(key)? {
                let (Some(key), Some(value)) = (self.convert_key(key)?, self.tagged_to_value(&value)?) else { return Ok(None) };
                pairs.push((key, value));
            }
        }
        for (key, value) in dict.iter() {
            let is_first = || first.iter().map(|one| one.eq(&key)).collect::<PyResult<Vec<_>>>();
            if !first.is_empty() && is_first()?.contains(&true) {
                continue;
            }
            let (Some(key), Some(value)) = (self.convert_key(&key)?, self.tagged_to_value(&value)?) else { return Ok(None) };
            pairs.push((key, value));
        }
        Ok(Some(ValueData::Map(pairs).into()))
    }

    /// A key, if it is a scalar without a tag.
    fn convert_key(&mut self, key: &Bound<'py, PyAny>) -> PyResult<Option<Value>> {
        Ok(self
            .tagged_to_value(key)?
            .filter(|key| key.tag.is_none() && !matches!(key.data, ValueData::Seq(_) | ValueData::Map(_))))
    }
}

/// The tag of a tagged object.
fn read_tag_attribute(given: &Bound<'_, PyAny>) -> PyResult<Option<String>> {
    given.getattr(intern!(given.py(), "_tag"))?.extract()
}

/// The blocks of a file as `asdf` describes them: a dictionary of its header fields, and where header and data begin.
pub(crate) fn describe_blocks<'py>(py: Python<'py>, file: &AsdfFile) -> PyResult<Option<Bound<'py, PyList>>> {
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
        list.append((fields, block.offset, block.data_offset))?;
    }
    Ok(Some(list))
}
