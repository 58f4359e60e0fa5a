//! Python values as values of the tree, and the arrays among them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use numpy::{PyArray1, PyArrayMethods, PyReadonlyArray1};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyComplex, PyDict, PyDictMethods, PyFloat, PyInt, PyList, PyString, PyTuple};
use trilith::array::{Array, Byteorder, Datatype, FloatPrecision, FloatText, Mask, complex_text};
use trilith::asdf::{ArrayOptions, AsdfBuilder, Target};
use trilith::tree::{Value, ValueData};
use trilith::{Error, Result};

use crate::array::Array as PyArray;
use crate::buffer::verify_borrowed;
use crate::dtype::{from_numpy, import_numpy};
use crate::mapping::MappingBase;
use crate::nodes::{ItemRef, Sequence};
use crate::scalar::{import_value_helper, tagged_class};

/// Maximum depth of nested dictionaries and lists.
const MAX_DEPTH: usize = 256;

/// The tag of the placeholder of an array until the file is put together; no tag of a file begins like this.
const PLACEHOLDER_TAG: &str = "\0array";

/// The bytes of a numpy array in C order; none if it has no bytes.
type ContiguousBytes<'py> = Option<PyReadonlyArray1<'py, u8>>;

/// An array in pieces, as `trilith._values` takes it apart: what gives pieces, what gives masks, shape, dtype,
/// whether it is streamed.
type PieceCallbacks<'py> = (Bound<'py, PyAny>, Option<Bound<'py, PyAny>>, Vec<u64>, Bound<'py, PyAny>, bool);

/// The elements of an array that is still somewhere else: type, byte order and shape.
struct ArrayForm {
    datatype: Datatype,
    order: Byteorder,
    shape: Vec<u64>,
}

/// Place of the elements of an array in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ArrayPlacement {
    /// The tree.
    Inline,
    /// A block.
    Block,
}

/// Handling of a collection that contains itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CyclePolicy {
    /// It gets an anchor, and an alias where it occurs in itself.
    Aliased,
    /// It is an error.
    Refused,
}

/// A collection that is being gone through.
struct OpenCollection {
    /// Identity of the object.
    id: usize,
    /// Name of its anchor, once it has occurred in itself.
    anchor: Option<String>,
}

/// An array among the values.
enum CollectedArray<'py> {
    /// A source of elements, piece by piece, when they are written; and whether rows can be appended later.
    Streamed {
        pieces: Bound<'py, PyAny>,
        /// A source of their masks, used afterwards.
        masks: Option<Bound<'py, PyAny>>,
        form: ArrayForm,
        streamed: bool,
    },
    Numpy {
        bytes: ContiguousBytes<'py>,
        form: ArrayForm,
        mask: Option<ContiguousBytes<'py>>,
        placement: ArrayPlacement,
    },
    TrilithArray {
        array: Array,
        placement: ArrayPlacement,
    },
    /// Space for elements that other processes write.
    Reserved(ArrayForm),
}

/// Turns Python values into values of the tree and collects the arrays among them.
pub(crate) struct ValueCollector<'py> {
    target: &'static Target,
    inline: u64,
    items: Vec<CollectedArray<'py>>,
    /// Arrays by identity. An array that occurs twice is stored once.
    seen: HashMap<usize, usize>,
    references: Vec<Bound<'py, PyAny>>,
    /// The collections that are being gone through.
    open_collections: Vec<OpenCollection>,
    cycles: CyclePolicy,
    /// Number of the anchors.
    anchors: usize,
    /// The exception that Python raised for the pieces of an array.
    pending_exception: PendingException,
}

/// An exception that waits to be raised, because the library knows none.
pub(crate) type PendingException = Arc<Mutex<Option<PyErr>>>;

impl<'py> ValueCollector<'py> {
    /// Values for a file of this form; arrays of at most `inline` elements go into the tree, none if it is 0.
    pub(crate) fn new(target: &'static Target, inline: u64) -> Self {
        Self {
            target,
            inline,
            items: Vec::new(),
            seen: HashMap::new(),
            references: Vec::new(),
            open_collections: Vec::new(),
            cycles: CyclePolicy::Refused,
            anchors: 0,
            pending_exception: PendingException::default(),
        }
    }

    /// Returns the collector with a handling of collections that contain themselves.
    pub(crate) fn with_cycles(mut self, cycles: CyclePolicy) -> Self {
        self.cycles = cycles;
        self
    }

    /// Raises what Python raised while pieces were asked for, rather than what the library made of it.
    pub(crate) fn or_pending_exception<T>(&self, done: PyResult<T>) -> PyResult<T> {
        let waiting = self.pending_exception.lock().unwrap_or_else(PoisonError::into_inner).take();
        done.map_err(|error| waiting.unwrap_or(error))
    }

    /// Returns the place of an array with this number of elements: by default a block.
    fn placement(&self, size: u64) -> ArrayPlacement {
        if self.inline > 0 && size <= self.inline { ArrayPlacement::Inline } else { ArrayPlacement::Block }
    }

    fn with_tag_prefix(&self, name: &str) -> String {
        format!("{}{name}", self.target.tree.prefix)
    }

    /// A value of the tree.
    pub(crate) fn collect_value(&mut self, given: &Bound<'py, PyAny>) -> PyResult<Value> {
        let py = given.py();
        if given.is_none() {
            return Ok(Value::null());
        }
        if let Some(alias) = self.find_open_alias(given)? {
            return Ok(alias);
        }
        if let Ok(value) = given.cast::<PyBool>() {
            return Ok(value.is_true().into());
        }
        if given.is_instance_of::<PyInt>() {
            return self.collect_integer(given);
        }
        if given.is_instance_of::<PyFloat>() {
            return Ok(given.extract::<f64>()?.into());
        }
        if let Ok(text) = given.cast::<PyString>()
            && !is_asdf_object(given)?
        {
            let value = Value::from(text.to_str()?);
            if given.is_instance(tagged_class(py, "TaggedString")?)? {
                return Ok(value.tagged(own_tag(given)?));
            }
            return Ok(value);
        }
        if given.is_instance_of::<PyBytes>() {
            let text: String = import_value_helper(py, "base64")?.call1((given,))?.extract()?;
            return Ok(Value::from(text).tagged("tag:yaml.org,2002:binary"));
        }
        if let Ok(value) = given.cast::<PyComplex>() {
            let text = complex_text(value.real(), value.imag(), FloatPrecision::Double, FloatText::Shortest);
            return Ok(Value::from(text).tagged(self.with_tag_prefix("core/complex-1.0.0")));
        }
        if let Ok(dict) = given.cast::<PyDict>()
            && !is_asdf_object(given)?
        {
            let tag = if given.is_instance(tagged_class(py, "TaggedDict")?)? { Some(own_tag(given)?) } else { None };
            return Ok(Value { tag, ..self.enter_collection(given, |this| this.collect_mapping(dict))? });
        }
        if (given.is_instance_of::<PyList>() || given.is_instance_of::<PyTuple>()) && !is_asdf_object(given)? {
            let tag = if given.is_instance(tagged_class(py, "TaggedList")?)? { Some(own_tag(given)?) } else { None };
            return Ok(Value { tag, ..self.enter_collection(given, |this| this.collect_sequence(given))? });
        }
        if let Ok(mapping) = given.cast::<MappingBase>() {
            let place = &mapping.get().0;
            return Ok(Value { tag: place.tag(), ..self.enter_collection(given, |this| this.collect_file_mapping(py, place))? });
        }
        if let Ok(sequence) = given.cast::<Sequence>() {
            let tag = sequence.get().0.tag();
            return Ok(Value { tag, ..self.enter_collection(given, |this| this.collect_sequence(given))? });
        }
        if let Ok(array) = given.cast::<PyArray>() {
            let array = array.get().array.clone();
            let placement = self.placement(array.element_count());
            return Ok(self.push_item(given, CollectedArray::TrilithArray { array, placement }));
        }
        let module = import_numpy(py)?;
        if given.is_instance(&module.getattr(intern!(py, "ndarray"))?)? {
            return self.collect_array(given);
        }
        self.convert_by_python(given)
    }

    /// Converts values that Python's own modules know better: dates, paths, numbers and collections of other
    /// libraries.
    fn convert_by_python(&mut self, given: &Bound<'py, PyAny>) -> PyResult<Value> {
        let plain = import_value_helper(given.py(), "plain")?.call1((given, self.target.standard))?;
        let (kind, value): (String, Bound<'py, PyAny>) = plain.extract()?;
        match kind.as_str() {
            "timestamp" => Ok(Value::plain_scalar(value.extract::<String>()?)),
            "pieces" => {
                let (pieces, masks, shape, dtype, streamed): PieceCallbacks<'py> = value.extract()?;
                let (datatype, order) = from_numpy(&dtype)?;
                Ok(self.push_item(
                    given,
                    CollectedArray::Streamed { pieces, masks, form: ArrayForm { datatype, order, shape }, streamed },
                ))
            }
            "reserved" => {
                let (shape, dtype): (Vec<u64>, Bound<'py, PyAny>) = value.extract()?;
                let (datatype, order) = from_numpy(&dtype)?;
                Ok(self.push_item(given, CollectedArray::Reserved(ArrayForm { datatype: datatype.packed(order), order, shape })))
            }
            "tagged" => {
                let (tag, node): (String, Bound<'py, PyAny>) = value.extract()?;
                let made = self.enter_collection(given, |this| this.collect_value(&node))?;
                self.references.push(node);
                Ok(Value { tag: Some(tag), ..made })
            }
            _ => self.enter_collection(given, |this| this.collect_value(&value)),
        }
    }

    /// Returns the alias of a collection that is being gone through; `None` for any other object.
    fn find_open_alias(&mut self, given: &Bound<'py, PyAny>) -> PyResult<Option<Value>> {
        let id = given.as_ptr() as usize;
        let Some(open) = self.open_collections.iter_mut().find(|open| open.id == id) else { return Ok(None) };
        if self.cycles == CyclePolicy::Refused {
            return Err(PyValueError::new_err("a tree that contains itself is written by write() and dumps() as ASDF only"));
        }
        if open.anchor.is_none() {
            self.anchors += 1;
            open.anchor = Some(format!("id{:03}", self.anchors));
        }
        Ok(open.anchor.as_deref().map(Value::alias))
    }

    /// Goes into a collection. One that contains itself gets an anchor. The top of a tree gets none, as the asdf package writes it: a
    /// tree below it that is the same object is written once more.
    fn enter_collection(&mut self, given: &Bound<'py, PyAny>, go: impl FnOnce(&mut Self) -> PyResult<Value>) -> PyResult<Value> {
        if self.open_collections.len() >= MAX_DEPTH {
            return Err(PyValueError::new_err(format!("the tree nests more than {MAX_DEPTH} deep")));
        }
        let id = if self.open_collections.is_empty() { 0 } else { given.as_ptr() as usize };
        self.open_collections.push(OpenCollection { id, anchor: None });
        let value = go(self);
        match self.open_collections.pop().and_then(|open| open.anchor) {
            Some(name) => value.map(|value| value.anchored(name)),
            None => value,
        }
    }

    fn collect_mapping(&mut self, dict: &Bound<'py, PyDict>) -> PyResult<Value> {
        self.collect_pairs(&dict.items().into_any())
    }

    fn collect_pairs(&mut self, items: &Bound<'py, PyAny>) -> PyResult<Value> {
        let mut pairs = Vec::new();
        for pair in items.try_iter()? {
            let (key, value): (Bound<'py, PyAny>, Bound<'py, PyAny>) = pair?.extract()?;
            let key = self.collect_key(&key)?;
            pairs.push((key, self.collect_value(&value)?));
        }
        Ok(ValueData::Map(pairs).into())
    }

    /// The pairs of a mapping of a file: no dictionary in between, in which `1` and `true` would be one key.
    fn collect_file_mapping(&mut self, py: Python<'py>, place: &ItemRef) -> PyResult<Value> {
        let mut pairs = Vec::new();
        for (name, value) in place.members()? {
            let Some(name) = name else { continue };
            let name = self.collect_key(&crate::scalar::scalar_to_python(py, name)?)?;
            pairs.push((name, self.collect_value(&value.resolve_reference(py)?.into_python(py)?)?));
        }
        Ok(ValueData::Map(pairs).into())
    }

    fn collect_key(&mut self, key: &Bound<'py, PyAny>) -> PyResult<Value> {
        let simple =
            key.is_none() || key.is_instance_of::<PyString>() || key.is_instance_of::<PyInt>() || key.is_instance_of::<PyFloat>();
        if !simple {
            return Err(PyTypeError::new_err(format!("a key is text or a number, not {}", key.get_type().qualname()?)));
        }
        self.collect_value(key)
    }

    fn collect_sequence(&mut self, items: &Bound<'py, PyAny>) -> PyResult<Value> {
        let items: Vec<Value> = items.try_iter()?.map(|item| self.collect_value(&item?)).collect::<PyResult<_>>()?;
        Ok(items.into())
    }

    /// An integer; one of more than 64 bits as core/integer, if the standard has that.
    fn collect_integer(&mut self, given: &Bound<'py, PyAny>) -> PyResult<Value> {
        if let Ok(value) = given.extract::<i64>() {
            return Ok(value.into());
        }
        let (sign, words): (String, Bound<'py, PyAny>) = import_value_helper(given.py(), "words")?.call1((given,))?.extract()?;
        let tag = self
            .target
            .tag_for("tag:stsci.edu:asdf/core/integer-0")
            .ok_or_else(|| PyValueError::new_err(format!("{} has no integers of more than 64 bits", self.target.name)))?;
        let words = self.numpy_item(&words, None, ArrayPlacement::Inline)?;
        let words = self.push_item(given, words);
        Ok(Value::map([("words", words), ("sign", sign.into())]).tagged(tag))
    }

    fn collect_array(&mut self, given: &Bound<'py, PyAny>) -> PyResult<Value> {
        let py = given.py();
        let id = given.as_ptr() as usize;
        if let Some(number) = self.seen.get(&id) {
            return Ok(placeholder_value(*number));
        }
        // Array types of other packages add what numpy does not know (a unit, say), which would be lost silently.
        if !given.get_type().module()?.to_str()?.starts_with("numpy") {
            return self.convert_by_python(given);
        }
        let kind: String = given.getattr(intern!(py, "dtype"))?.getattr(intern!(py, "kind"))?.extract()?;
        if kind == "M" {
            let text = import_value_helper(py, "times")?.call1((given,))?;
            let value = self.collect_array(&text)?;
            self.references.push(text);
            let node = Value::map([("value", value), ("format", "iso".into()), ("scale", "utc".into())]);
            return Ok(node.tagged(self.with_tag_prefix(time_tag(self.target))));
        }
        let ma = import_numpy(py)?.getattr(intern!(py, "ma"))?;
        let (data, mask) = if given.is_instance(&ma.getattr(intern!(py, "MaskedArray"))?)? {
            (ma.call_method1(intern!(py, "getdata"), (given,))?, import_value_helper(py, "mask")?.call1((given,))?)
        } else {
            (given.clone(), py.None().into_bound(py))
        };
        let placement = self.placement(given.getattr(intern!(py, "size"))?.extract()?);
        let item = self.numpy_item(&data, Some(&mask).filter(|mask| !mask.is_none()), placement)?;
        Ok(self.push_item(given, item))
    }

    fn numpy_item(
        &self,
        data: &Bound<'py, PyAny>,
        mask: Option<&Bound<'py, PyAny>>,
        placement: ArrayPlacement,
    ) -> PyResult<CollectedArray<'py>> {
        let py = data.py();
        let (datatype, order) = from_numpy(&data.getattr(intern!(py, "dtype"))?)?;
        let shape = data.getattr(intern!(py, "shape"))?.extract()?;
        let mask = mask.map(contiguous_bytes).transpose()?;
        let form = ArrayForm { datatype, order, shape };
        Ok(CollectedArray::Numpy { bytes: contiguous_bytes(data)?, form, mask, placement })
    }

    fn push_item(&mut self, given: &Bound<'py, PyAny>, item: CollectedArray<'py>) -> Value {
        self.seen.insert(given.as_ptr() as usize, self.items.len());
        // Kept, so that no other object gets the same address.
        self.references.push(given.clone());
        self.items.push(item);
        placeholder_value(self.items.len() - 1)
    }

    /// Returns the arrays of a tree, whose top must be a dictionary.
    pub(crate) fn detach_for(&self, tree: &Value) -> PyResult<DetachedArrays<'_>> {
        match tree.data {
            ValueData::Map(_) => self.detach(),
            _ => Err(PyTypeError::new_err("the top of a tree is a dictionary")),
        }
    }

    /// The arrays as they are needed without the interpreter.
    pub(crate) fn detach(&self) -> PyResult<DetachedArrays<'_>> {
        let mut arrays = Vec::with_capacity(self.items.len());
        for item in &self.items {
            arrays.push(match item {
                CollectedArray::Streamed { pieces, masks, form, streamed } => {
                    let (pieces, failed) = (pieces.clone().unbind(), self.pending_exception.clone());
                    let masks = masks.clone().map(Bound::unbind);
                    DetachedArray::Streamed { pieces, masks, form, streamed: *streamed, failed }
                }
                CollectedArray::TrilithArray { array, placement } => DetachedArray::TrilithArray { array, placement: *placement },
                CollectedArray::Reserved(form) => DetachedArray::Reserved(form),
                CollectedArray::Numpy { bytes, form, mask, placement } => {
                    let mask = mask.as_ref().map(as_byte_slice).transpose()?;
                    DetachedArray::Bytes { bytes: as_byte_slice(bytes)?, form, mask, placement: *placement }
                }
            });
        }
        Ok(DetachedArrays(arrays))
    }
}

/// The tag that a tagged value of ours has.
fn own_tag(given: &Bound<'_, PyAny>) -> PyResult<String> {
    given.getattr(intern!(given.py(), "tag"))?.extract()
}

/// Returns `true` for a dictionary, list, tuple or string that is an object of the `asdf` package or of its converters.
fn is_asdf_object(given: &Bound<'_, PyAny>) -> PyResult<bool> {
    let class = given.get_type();
    if class.is(given.py().get_type::<PyDict>())
        || class.is(given.py().get_type::<PyList>())
        || class.is(given.py().get_type::<PyTuple>())
        || class.is(given.py().get_type::<PyString>())
    {
        return Ok(false);
    }
    import_value_helper(given.py(), "has_converter")?.call1((class,))?.extract()
}

/// The tag of a time: the oldest that the manifests of the standard name, which every reader knows.
fn time_tag(target: &Target) -> &'static str {
    match target.standard {
        Some(standard) if standard >= "1.6.0" => "time/time-1.2.0",
        Some(standard) if standard >= "1.1.0" => "time/time-1.1.0",
        _ => "time/time-1.0.0",
    }
}

/// The bytes of an array in C order.
fn contiguous_bytes<'py>(array: &Bound<'py, PyAny>) -> PyResult<ContiguousBytes<'py>> {
    let py = array.py();
    if array.getattr(intern!(py, "nbytes"))?.extract::<u64>()? == 0 {
        return Ok(None);
    }
    verify_borrowed(array)?;
    let bytes = import_value_helper(py, "flat")?.call1((array,))?;
    Ok(Some(bytes.cast_into::<PyArray1<u8>>()?.try_readonly()?))
}

fn as_byte_slice<'a>(held: &'a ContiguousBytes<'_>) -> PyResult<&'a [u8]> {
    match held {
        Some(array) => Ok(array.as_slice()?),
        None => Ok(&[]),
    }
}

fn placeholder_value(number: usize) -> Value {
    Value::from(number as u64).tagged(PLACEHOLDER_TAG)
}

/// Returns the item of a place, if the value is one.
fn placeholder_item<'l, T>(list: &'l [T], value: &Value) -> Option<Result<&'l T>> {
    value.tag.as_deref().filter(|tag| *tag == PLACEHOLDER_TAG)?;
    let found = value.as_i64().and_then(|number| list.get(usize::try_from(number).ok()?));
    Some(found.ok_or_else(|| Error::invalid_input("a tag that begins with NUL")))
}

/// An array that can be written while the interpreter is not held.
enum DetachedArray<'a> {
    Streamed { pieces: Py<PyAny>, masks: Option<Py<PyAny>>, form: &'a ArrayForm, streamed: bool, failed: PendingException },
    Bytes { bytes: &'a [u8], form: &'a ArrayForm, mask: Option<&'a [u8]>, placement: ArrayPlacement },
    TrilithArray { array: &'a Array, placement: ArrayPlacement },
    Reserved(&'a ArrayForm),
}

/// The arrays of a tree, without Python.
pub(crate) struct DetachedArrays<'a>(Vec<DetachedArray<'a>>);

impl<'a> DetachedArrays<'a> {
    /// Adds the arrays to a file, and puts their nodes into the tree.
    pub(crate) fn placeholder_value(
        &self,
        builder: &mut AsdfBuilder<'a>,
        options: &ArrayOptions,
        mut value: Value,
    ) -> Result<Value> {
        let mut nodes = vec![Value::null(); self.0.len()];
        // A streamed block is the last of its file.
        for last in [false, true] {
            for (stored, node) in self.0.iter().zip(&mut nodes) {
                if last == matches!(stored, DetachedArray::Streamed { streamed: true, .. }) {
                    *node = add_stored_array(stored, builder, options)?;
                }
            }
        }
        replace_placeholders(&mut value, &nodes)?;
        Ok(value)
    }

    /// The space of a placeholder, if it is one for elements that other processes write.
    pub(crate) fn reserved_array(&self, value: &Value) -> Option<Result<Array>> {
        match placeholder_item(&self.0, value)?.ok()? {
            DetachedArray::Reserved(form) => {
                Some(trilith::dudley::reserved(form.datatype.clone(), form.order, form.shape.clone()))
            }
            _ => None,
        }
    }

    /// The array of a placeholder.
    pub(crate) fn stored_array(&self, value: &Value) -> Option<Result<Array>> {
        Some(placeholder_item(&self.0, value)?.and_then(DetachedArray::owned_array).map(|(array, _)| array))
    }

    /// The array that a value is.
    pub(crate) fn entire_array(&self, value: &Value) -> Result<Array> {
        self.stored_array(value).ok_or_else(|| Error::invalid_input("this is not an array"))?
    }

    /// The value without the arrays that need blocks, and those with the paths where they belong.
    pub(crate) fn extract_arrays(&self, target: &'static Target, mut value: Value) -> Result<(Value, PlacedArrays)> {
        let mut found = Vec::new();
        self.extract(target, &mut value, &mut Vec::new(), &mut found)?;
        Ok((value, found))
    }

    fn extract(
        &self,
        target: &'static Target,
        value: &mut Value,
        path: &mut Vec<String>,
        found: &mut PlacedArrays,
    ) -> Result<()> {
        if let Some(stored) = placeholder_item(&self.0, value) {
            let (array, placement) = stored?.owned_array()?;
            match placement {
                ArrayPlacement::Inline => *value = AsdfBuilder::new(target).array(&array, &ArrayOptions::inline())?,
                ArrayPlacement::Block => {
                    found.push((path.clone(), array));
                    *value = Value::null();
                }
            }
            return Ok(());
        }
        let children: Vec<(String, &mut Value)> = match &mut value.data {
            ValueData::Seq(items) => items.iter_mut().enumerate().map(|(i, item)| (i.to_string(), item)).collect(),
            ValueData::Map(pairs) => pairs.iter_mut().map(|(key, item)| (key_text(key), item)).collect(),
            _ => return Ok(()),
        };
        for (key, child) in children {
            path.push(key);
            self.extract(target, child, path, found)?;
            path.pop();
        }
        Ok(())
    }
}

/// Arrays and the keys that lead to them.
pub(crate) type PlacedArrays = Vec<(Vec<String>, Array)>;

/// A key as a path names it.
fn key_text(key: &Value) -> String {
    match &key.data {
        ValueData::Str(text) | ValueData::Plain(text) | ValueData::BigInt(text) => text.clone(),
        ValueData::Int(number) => number.to_string(),
        ValueData::Bool(value) => value.to_string(),
        ValueData::Float(value) => value.to_string(),
        _ => "null".to_owned(),
    }
}

impl DetachedArray<'_> {
    /// Returns an array with its elements, and the place where it goes.
    fn owned_array(&self) -> Result<(Array, ArrayPlacement)> {
        match *self {
            DetachedArray::TrilithArray { array, placement } => Ok((array.clone(), placement)),
            DetachedArray::Bytes { bytes, form, mask, placement } => {
                let mut array = Array::from_bytes(bytes.to_vec(), form.datatype.clone(), form.order, form.shape.clone())?;
                if let Some(mask) = mask {
                    let mask = Array::from_bytes(mask.to_vec(), Datatype::Bool8, form.order, form.shape.clone())?;
                    array = array.with_mask(Mask::Array(Arc::new(mask)))?;
                }
                Ok((array, placement))
            }
            DetachedArray::Reserved(_) => Err(Error::invalid_input("a Reserved array is for trilith.create")),
            DetachedArray::Streamed { .. } => {
                Err(Error::unsupported("an array in pieces cannot be put into a file that exists: write a new file with it"))
            }
        }
    }
}

/// Asks Python for the pieces of an array, one after the other.
fn request_pieces(pieces: &Py<PyAny>, failed: &PendingException, take: &mut PieceSink<'_>) -> Result<()> {
    let raised = |error: PyErr| {
        let said = Error::invalid_input(format!("a piece of an array: {error}"));
        *failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
        said
    };
    let begin = |py: Python<'_>| {
        let pieces: &Bound<'_, PyAny> = pieces.bind(py);
        // Masks are a method, which is called when their turn has come.
        if pieces.is_callable() { pieces.call0()?.try_iter() } else { pieces.try_iter() }.map(Bound::unbind)
    };
    let next = Python::attach(begin).map_err(raised)?;
    loop {
        let piece = Python::attach(|py| {
            let Some(piece) = next.bind(py).clone().next() else { return Ok(None) };
            // Copied, so that the interpreter is free while it is encoded.
            let held = piece?.cast_into::<PyArray1<u8>>()?.try_readonly()?;
            PyResult::Ok(Some(held.as_slice()?.to_vec()))
        });
        match piece.map_err(raised)? {
            Some(bytes) => take(&bytes)?,
            None => return Ok(()),
        }
    }
}

fn add_stored_array<'a>(stored: &DetachedArray<'a>, builder: &mut AsdfBuilder<'a>, options: &ArrayOptions) -> Result<Value> {
    match *stored {
        DetachedArray::Streamed { ref pieces, ref masks, form: ArrayForm { datatype, order, shape }, streamed, ref failed } => {
            let mut how = options.clone();
            if streamed {
                (how.streamed, how.codec) = (true, None);
            }
            let asked = |what: &Py<PyAny>| {
                let (what, failed) = (Python::attach(|py| what.clone_ref(py)), failed.clone());
                move |take: &mut PieceSink<'_>| request_pieces(&what, &failed, take)
            };
            let mut node = builder.array_in_pieces(datatype, *order, shape, &how, asked(pieces))?;
            if let Some(masks) = masks {
                // Blocks are written in their order: the masks are there when they are asked for.
                node.set("mask", builder.array_in_pieces(&Datatype::Bool8, *order, shape, options, asked(masks))?);
            }
            return Ok(node);
        }
        DetachedArray::Reserved(form) => return builder.reserve(&form.datatype, form.order, &form.shape),
        DetachedArray::Bytes { bytes, form: ArrayForm { datatype, order, shape }, mask, placement: ArrayPlacement::Block } => {
            let is_packed = match datatype {
                Datatype::Struct(_) => *datatype == datatype.packed(*order),
                _ => true,
            };
            if is_packed {
                let mut node = builder.array_of_bytes(datatype, *order, shape, options, bytes)?;
                if let Some(mask) = mask {
                    node.set("mask", builder.array_of_bytes(&Datatype::Bool8, *order, shape, options, mask)?);
                }
                return Ok(node);
            }
        }
        _ => {}
    }
    let (array, placement) = stored.owned_array()?;
    let options = match placement {
        ArrayPlacement::Inline => ArrayOptions::inline(),
        ArrayPlacement::Block => options.clone(),
    };
    builder.array(&array, &options)
}

/// A callback that takes the pieces of an array.
type PieceSink<'t> = dyn FnMut(&[u8]) -> Result<()> + 't;

/// Puts the nodes of arrays in their places; values nest no deeper than [`MAX_DEPTH`].
fn replace_placeholders(value: &mut Value, nodes: &[Value]) -> Result<()> {
    if let Some(node) = placeholder_item(nodes, value) {
        *value = node?.clone();
        return Ok(());
    }
    match &mut value.data {
        ValueData::Seq(items) => items.iter_mut().try_for_each(|item| replace_placeholders(item, nodes)),
        ValueData::Map(pairs) => pairs.iter_mut().try_for_each(|(_, item)| replace_placeholders(item, nodes)),
        _ => Ok(()),
    }
}
