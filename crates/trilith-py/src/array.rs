//! `trilith.Array`: an array that is read when and where it is asked for, and numpy's from then on.

use std::borrow::Cow;
use std::ffi::c_int;

use numpy::{PyArray1, PyArrayMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::{PyAttributeError, PyBufferError, PyIndexError, PyOverflowError, PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyComplex, PyDict, PyEllipsis, PyInt, PyList, PySlice, PyString, PyTuple};
use trilith::array::{Array as Described, Byteorder, Datatype, ElementValue, FloatText, Index, Mask};
use trilith::bytes::SourceBacking;
use trilith::file::Item;

use crate::array_origin::ArrayOrigin;
use crate::buffer::{self, BorrowedBuffer};
use crate::detached::detach_interruptible;
use crate::dtype::{
    Utf8Form, build_keyword_arguments, element_alignment, has_utf8, import_numpy, is_native, to_numpy, to_numpy_with,
};
use crate::errors::{IntoPyResult, UsageErrorKind};
use crate::nodes::ItemRef;
use crate::repr;
use crate::scalar::{self, import_value_helper};

/// An array of a file. Its elements are read when you index it.
///
/// Slicing reads only the necessary bytes and returns a new numpy array (a masked one if the array has a mask).
/// `numpy.asarray(a)` returns a read-only view of the file if the block is uncompressed and mapped, and a copy
/// otherwise. Both stay valid after the file is closed.
///
/// >>> import numpy, trilith
/// >>> with trilith.open(trilith.dumps({"a": numpy.arange(12).reshape(3, 4)})) as f:
/// ...     a = f["a"]
/// >>> a.shape, a.ndim, a.nbytes
/// ((3, 4), 2, 96)
/// >>> a[1, ::2]
/// array([4, 6])
///
/// Rows of a table are records. The name of a column reads it, and pandas, polars and pyarrow take the table by
/// Arrow's interface.
///
/// >>> rows = numpy.array([(1, 2.5), (2, 3.5)], dtype=[("id", "i4"), ("flux", "f8")])
/// >>> table = trilith.open(trilith.dumps({"stars": rows}))["stars"]
/// >>> table.dtype.names, table["flux"].tolist(), table[0].tolist()
/// (('id', 'flux'), [2.5, 3.5], (1, 2.5))
///
/// Operators and methods are numpy's. They read all elements, and skip masked ones.
///
/// >>> a.sum(), (a[0] + 1).tolist(), (a > 8).any()
/// (np.int64(66), [1, 2, 3, 4], np.True_)
#[pyclass(frozen, weakref, module = "trilith")]
pub(crate) struct Array {
    pub array: Described,
    way: Option<ArrayOrigin>,
}

impl Array {
    /// An array, and the way to it.
    pub(crate) fn new(array: Described, way: Option<ArrayOrigin>) -> Self {
        Self { array, way }
    }

    /// The item that the array is, if it is not a part of one.
    pub(crate) fn as_item(&self) -> Option<&Item<'static>> {
        self.way.as_ref().filter(|way| way.is_entire_array()).map(|way| &way.item.item)
    }

    /// The item that the array is, or is a part of.
    pub(crate) fn base_item(&self) -> Option<&Item<'static>> {
        self.item_place().map(|place| &place.item)
    }

    /// The item that the array is, or is a part of, with its file.
    fn item_place(&self) -> Option<&ItemRef> {
        self.way.as_ref().map(|way| &way.item)
    }
}

/// The dtype of the elements as they are read. Strings that padding would multiply are Python's.
fn dtype_of<'py>(py: Python<'py>, array: &Described) -> PyResult<Bound<'py, PyAny>> {
    if array.is_padded() { import_numpy(py)?.call_method1(intern!(py, "dtype"), ("O",)) } else { to_numpy(py, array.datatype()) }
}

/// Bytes of one element when it is read.
fn item_size(array: &Described) -> u64 {
    let is_object = array.is_padded() || matches!(array.datatype(), Datatype::Utf8(_));
    if is_object { size_of::<usize>() as u64 } else { array.datatype().packed_size() }
}

/// Strings of variable length as Python's, and as bytes those that are not in their declared encoding.
fn load_strings<'py>(py: Python<'py>, array: &Described) -> PyResult<Bound<'py, PyAny>> {
    let mut elements = Vec::new();
    let read = || {
        array.for_each_scalar(|element, _| {
            elements.push(element);
            Ok(())
        })
    };
    detach_interruptible(py, read)?.or_raise_from(UsageErrorKind::Argument, array.source())?;
    let list = PyList::empty(py);
    for element in elements {
        match element {
            ElementValue::Raw(bytes) => list.append(PyBytes::new(py, &bytes))?,
            text => list.append(text.text(FloatText::Shortest))?,
        }
    }
    let made = import_numpy(py)?.call_method1(intern!(py, "array"), (list, dtype_of(py, array)?))?;
    made.call_method1(intern!(py, "reshape"), (PyTuple::new(py, array.shape())?,))
}

/// A copy of the elements: a fresh array in C order and this machine's byte order.
pub(crate) fn load_array<'py>(py: Python<'py>, array: &Described) -> PyResult<Bound<'py, PyAny>> {
    if array.is_padded() {
        return load_strings(py, array);
    }
    let is_mixed = has_utf8(array.datatype());
    let form = if is_mixed { Utf8Form::Bytes } else { Utf8Form::Objects };
    let dtype = to_numpy_with(py, array.datatype(), form)?;
    array.charge().or_raise_from(UsageErrorKind::Argument, array.source())?;
    let shape = PyTuple::new(py, array.shape())?;
    // numpy makes text of at least one letter, for which nothing is read.
    let way = if array.nbytes() == 0 { intern!(py, "zeros") } else { intern!(py, "empty") };
    let made = import_numpy(py)?.call_method1(way, (shape, dtype))?;
    read_into(array, &made)?;
    if is_mixed { import_value_helper(py, "strings")?.call1((made, to_numpy(py, array.datatype())?)) } else { Ok(made) }
}

/// The bytes of a C-contiguous numpy array that has some.
pub(crate) fn view_bytes<'py>(array: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyArray1<u8>>> {
    let py = array.py();
    let is_flat = array.cast::<PyUntypedArray>().is_ok_and(|array| array.ndim() == 1);
    let flat = if is_flat { array.clone() } else { array.call_method1(intern!(py, "reshape"), (-1,))? };
    Ok(flat.call_method1(intern!(py, "view"), (to_numpy(py, &Datatype::Uint8)?,))?.cast_into()?)
}

/// Reads the elements into an array in C order whose dtype is that of [`to_numpy`].
fn read_into(array: &Described, into: &Bound<'_, PyAny>) -> PyResult<()> {
    let py = into.py();
    if array.nbytes() == 0 {
        return Ok(());
    }
    let memory = view_bytes(into)?;
    let mut bytes = memory.try_readwrite()?;
    let bytes = bytes.as_slice_mut()?;
    detach_interruptible(py, || array.read_bytes_into(bytes, Byteorder::NATIVE))?
        .or_raise_from(UsageErrorKind::Argument, array.source())
}

/// Does the same as [`borrow_buffer`], for programs that know no masks and need aligned memory.
fn borrow_unmasked_aligned<'py>(py: Python<'py>, array: &Described) -> PyResult<Option<Bound<'py, PyAny>>> {
    if array.mask().is_some() { Ok(None) } else { borrow_buffer(py, array, BufferAlignment::Element) }
}

/// Addresses of elements that a program can use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BufferAlignment {
    /// Any address.
    Any,
    /// Multiples of the alignment of an element.
    Element,
}

/// The elements in place, read-only; nothing if they are compressed, of the other byte order, not in memory, or not aligned.
pub(crate) fn borrow_buffer<'py>(
    py: Python<'py>,
    array: &Described,
    alignment: BufferAlignment,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    if array.nbytes() == 0 || !is_native(array.datatype(), array.byteorder()) {
        return Ok(None);
    }
    let extent = array.byte_range();
    let Some(lent) = py.detach(|| BorrowedBuffer::new(array.source(), extent.start, extent.end - extent.start)) else {
        return Ok(None);
    };
    let first = array.offset() - extent.start;
    if alignment == BufferAlignment::Element {
        let unit = element_alignment(array.datatype());
        let address = lent.start_address().map_or(1, |address| (address as u64).wrapping_add(first));
        let fits = |n: u64| n.is_multiple_of(unit);
        if !fits(address) || !array.strides().iter().all(|stride| fits(stride.unsigned_abs())) {
            return Ok(None);
        }
    }
    let arguments = [
        ("shape", PyTuple::new(py, array.shape())?.into_any()),
        ("dtype", to_numpy(py, array.datatype())?),
        ("buffer", Bound::new(py, lent)?.into_any()),
        ("offset", first.into_pyobject(py)?.into_any()),
        ("strides", PyTuple::new(py, array.strides())?.into_any()),
    ];
    import_numpy(py)?.getattr(intern!(py, "ndarray"))?.call((), Some(&build_keyword_arguments(py, &arguments)?)).map(Some)
}

/// The elements with their mask, if there is one.
pub(crate) fn masked<'py>(py: Python<'py>, array: &Described) -> PyResult<Bound<'py, PyAny>> {
    with_mask(array, load_array(py, array)?)
}

/// Returns elements that were read from an array as a masked array with its mask.
fn with_mask<'py>(array: &Described, data: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let py = data.py();
    let mask = detach_interruptible(py, || array.mask_array())?.or_raise_from(UsageErrorKind::Argument, array.source())?;
    let mut arguments = vec![("copy", PyBool::new(py, false).to_owned().into_any())];
    if let Some(mask) = mask {
        arguments.push(("mask", load_array(py, &mask)?));
    }
    let module = import_numpy(py)?.getattr(intern!(py, "ma"))?;
    module.getattr(intern!(py, "MaskedArray"))?.call((data,), Some(&build_keyword_arguments(py, &arguments)?))
}

/// Reads an array as a numpy array, masked if it has a mask.
pub(crate) fn read<'py>(py: Python<'py>, array: &Described) -> PyResult<Bound<'py, PyAny>> {
    if array.mask().is_some() { masked(py, array) } else { load_array(py, array) }
}

/// The meaning of an index.
pub(crate) enum IndexKind {
    /// A field, by its name.
    Field(String),
    /// Parts of axes; whether an axis may be left (`...`), so that the result stays an array.
    Basic(Vec<Index>, bool),
    /// Any other index that numpy accepts: the array is read first.
    Advanced,
}

/// A number of a slice; one beyond 64 bits is as good as the largest.
fn checked_index(given: &Bound<'_, PyAny>) -> PyResult<Option<i64>> {
    match given.extract::<Option<i64>>() {
        Err(error) if error.is_instance_of::<PyOverflowError>(given.py()) => {
            Ok(Some(if given.lt(0)? { -i64::MAX } else { i64::MAX }))
        }
        done => done,
    }
}

pub(crate) fn parse_index(index: &Bound<'_, PyAny>) -> PyResult<IndexKind> {
    if let Ok(name) = index.cast::<PyString>() {
        return Ok(IndexKind::Field(name.to_string()));
    }
    let items = match index.cast::<PyTuple>() {
        Ok(tuple) => tuple.iter().collect(),
        Err(_) => vec![index.clone()],
    };
    let mut parts = Vec::with_capacity(items.len());
    for item in items {
        if item.is_instance_of::<PyEllipsis>() {
            parts.push(Index::Ellipsis);
        } else if let Ok(slice) = item.cast::<PySlice>() {
            let bound = |name: &str| checked_index(&slice.getattr(name)?);
            let step = bound("step")?.unwrap_or(1);
            if step == 0 {
                return Err(PyValueError::new_err("slice step cannot be zero"));
            }
            parts.push(Index::Slice { start: bound("start")?, stop: bound("stop")?, step });
        } else if item.is_instance_of::<PyBool>() || item.is_instance_of::<PyList>() || item.is_none() {
            return Ok(IndexKind::Advanced);
        } else if let Ok(at) = item.extract::<i64>() {
            // A numpy array of one element counts as a number too, but means something else.
            if item.getattr_opt(intern!(item.py(), "ndim"))?.is_some_and(|ndim| ndim.extract::<usize>().is_ok_and(|n| n > 0)) {
                return Ok(IndexKind::Advanced);
            }
            parts.push(Index::Integer(at));
        } else if item.is_instance_of::<PyInt>() {
            return Err(PyIndexError::new_err(format!("index {item} is outside every axis")));
        } else {
            return Ok(IndexKind::Advanced);
        }
    }
    let open = parts.contains(&Index::Ellipsis);
    Ok(IndexKind::Basic(parts, open))
}

#[pymethods]
impl Array {
    /// Lengths of the axes.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.array.shape())
    }

    /// The numpy dtype of the elements as they are read: in the byte order of this machine. It is `object` for strings of
    /// variable length that would take many times as much memory if all were as long as the longest.
    #[getter]
    fn dtype<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        dtype_of(py, &self.array)
    }

    /// Number of axes.
    #[getter]
    fn ndim(&self) -> usize {
        self.array.shape().len()
    }

    /// Number of elements.
    #[getter]
    fn size(&self) -> u64 {
        self.array.element_count()
    }

    /// Bytes of all elements when they are read.
    #[getter]
    fn nbytes(&self) -> u64 {
        self.array.element_count().saturating_mul(item_size(&self.array))
    }

    /// The byte order in the file: "little" or "big".
    #[getter]
    fn byteorder(&self) -> &'static str {
        self.array.byteorder().name()
    }

    /// The tag of the node that describes the array, or None.
    #[getter]
    fn tag(&self) -> Option<String> {
        self.way.as_ref().filter(|way| way.is_entire_array())?.item.tag()
    }

    /// Bytes of one element when it is read.
    #[getter]
    fn itemsize(&self) -> u64 {
        item_size(&self.array)
    }

    /// Path of the node that describes the array, from the top of the tree; None if there is none.
    #[getter]
    fn path(&self) -> Option<String> {
        self.item_place()?.item.path()
    }

    /// Codec of its elements: "lz4", "zstd", ..., "plain", "inline" or "streamed"; None if it is not known.
    #[getter]
    fn codec(&self, py: Python<'_>) -> PyResult<Option<String>> {
        let Some(place) = self.item_place() else { return Ok(None) };
        py.detach(|| place.describe_storage()).or_raise_from(UsageErrorKind::Key, place.item.backend().source())
    }

    /// The attributes of the array, by name: numbers, strings, and lists of these. Those of FITS data are
    /// the header cards. An array of ASDF has none: its metadata are next to it.
    #[getter]
    fn attrs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match self.item_place() {
            Some(place) => scalar::attributes_to_dict(py, &place.item),
            None => scalar::no_attributes(py),
        }
    }

    /// The attributes, as `attrs`.
    #[getter]
    fn attributes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.attrs(py)
    }

    /// Declarations of the layout about the elements: the names of the axes, and the attributes that are 32-bit
    /// floats.
    #[getter]
    fn _words<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        match self.item_place() {
            Some(place) => scalar::layout_attributes(py, &place.item),
            None => Ok(PyDict::new(py)),
        }
    }

    /// The description of the file: "tree", "layout", "derived" or "set".
    #[getter]
    fn _form(&self) -> &'static str {
        self.item_place().map_or("tree", ItemRef::file_description_kind)
    }

    /// The names of the axes by the layout of the file, None for an axis without one (no names if it has none), and
    /// whether the array is a coordinate.
    #[getter]
    fn _axes(&self) -> PyResult<(Vec<Option<String>>, bool)> {
        let Some(place) = self.item_place() else { return Ok((Vec::new(), false)) };
        scalar::item_axes(&place.item)
    }

    /// The unit as the file spells it: that of the quantity or column that holds the array, or one among its
    /// attributes. None if there is none.
    #[getter]
    fn unit(&self) -> Option<String> {
        self.item_place()?.item.unit()
    }

    /// The documentation of the array in one line, as a layout or a FITS card has it; None where there is none.
    #[getter]
    fn doc(&self) -> Option<String> {
        self.item_place()?.item.metadata().comment.map(Cow::into_owned)
    }

    /// Marks of missing elements: an `Array` of bool, a number that they are equal to, or None.
    #[getter]
    fn mask<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(match self.array.mask() {
            Some(Mask::Nan) => f64::NAN.into_pyobject(py)?.into_any(),
            Some(Mask::Integer(n)) => n.into_pyobject(py)?.into_any(),
            Some(Mask::Float(x)) => x.into_pyobject(py)?.into_any(),
            Some(Mask::Complex(re, im)) => PyComplex::from_doubles(py, *re, *im).into_any(),
            Some(Mask::Array(mask)) => {
                let mask = detach_interruptible(py, || self.array.mask_array())?
                    .or_raise_from(UsageErrorKind::Argument, self.array.source())?
                    .unwrap_or_else(|| (**mask).clone());
                Bound::new(py, Array::new(mask, None))?.into_any()
            }
            _ => py.None().into_bound(py),
        })
    }

    /// Reads the elements without their mask.
    ///
    /// Parameters
    /// ----------
    /// out : numpy.ndarray, optional
    ///     An array of the same shape, to whose dtype the elements can be cast. The elements are written into it.
    ///
    /// Returns
    /// -------
    /// numpy.ndarray
    ///     `out`, or a new array.
    ///
    /// Raises
    /// ------
    /// ValueError
    ///     If `out` has another shape.
    /// FormatError
    ///     If the elements cannot be decoded.
    ///
    /// Examples
    /// --------
    /// >>> import numpy, trilith
    /// >>> a = trilith.open(trilith.dumps({"a": numpy.arange(3)}))["a"]
    /// >>> out = numpy.empty(3, "f4")
    /// >>> a.read(out=out).tolist()
    /// [0.0, 1.0, 2.0]
    #[pyo3(signature = (out=None))]
    fn read<'py>(&self, py: Python<'py>, out: Option<Bound<'py, PyAny>>) -> PyResult<Bound<'py, PyAny>> {
        let Some(out) = out else { return load_array(py, &self.array) };
        let Ok(shape) = out.getattr(intern!(py, "shape")).and_then(|shape| shape.extract::<Vec<u64>>()) else {
            return Err(PyTypeError::new_err(format!("out is a numpy array, not {}", out.get_type().qualname()?)));
        };
        if shape != self.array.shape() {
            return Err(PyValueError::new_err(format!("out has shape {shape:?}, the array {:?}", self.array.shape())));
        }
        let dtype = dtype_of(py, &self.array)?;
        let flags = out.getattr(intern!(py, "flags"))?;
        let direct = flags.getattr(intern!(py, "c_contiguous"))?.is_truthy()?
            && flags.getattr(intern!(py, "writeable"))?.is_truthy()?
            && out.getattr(intern!(py, "dtype"))?.eq(&dtype)?
            && !self.array.is_padded()
            && !has_utf8(self.array.datatype());
        if direct {
            read_into(&self.array, &out)?;
        } else {
            import_numpy(py)?.call_method1(intern!(py, "copyto"), (&out, load_array(py, &self.array)?))?;
        }
        Ok(out)
    }

    /// Returns the array as float32, if it has the bits of bfloat16 or float8 numbers.
    ///
    /// numpy has no such types, so these arrays are read as integers, and their attributes name the type. Any other array is returned
    /// unchanged.
    ///
    /// Returns
    /// -------
    /// Array
    ///
    /// Examples
    /// --------
    /// >>> import numpy, trilith
    /// >>> a = trilith.open(trilith.dumps({"a": numpy.arange(3)}))["a"]
    /// >>> a.widened().dtype
    /// dtype('int64')
    fn widened(slf: Bound<'_, Self>) -> PyResult<Bound<'_, Self>> {
        let this = slf.get();
        let Some(place) = this.item_place() else { return Ok(slf) };
        let array = place
            .item
            .decoder()
            .widen_small_floats(this.array.clone())
            .or_raise_from(UsageErrorKind::Argument, this.array.source())?;
        if array.datatype() == this.array.datatype() {
            return Ok(slf);
        }
        // No path leads to the widened array, so another process gets its elements.
        Bound::new(slf.py(), Self::new(array, None))
    }

    /// Reads the elements as a masked array.
    ///
    /// Returns
    /// -------
    /// numpy.ma.MaskedArray
    ///
    /// Raises
    /// ------
    /// FormatError
    ///     If the elements cannot be decoded.
    ///
    /// Examples
    /// --------
    /// >>> import numpy, trilith
    /// >>> a = trilith.open(trilith.dumps({"a": numpy.ma.masked_equal([1, 2, 3], 2)}))["a"]
    /// >>> a.masked().tolist()
    /// [1, None, 3]
    fn masked<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        masked(py, &self.array)
    }

    /// Returns a part of the array, whose elements are read later.
    ///
    /// Parameters
    /// ----------
    /// index : int, slice, Ellipsis, str, or tuple of these
    ///     The part, as numpy takes it, or the name of a field.
    ///
    /// Returns
    /// -------
    /// Array
    ///
    /// Raises
    /// ------
    /// IndexError
    ///     If the index does not fit the shape.
    ///
    /// Examples
    /// --------
    /// >>> import numpy, trilith
    /// >>> a = trilith.open(trilith.dumps({"a": numpy.arange(12).reshape(3, 4)}))["a"]
    /// >>> part = a.part(numpy.s_[1:, ::2])
    /// >>> part.shape, part[0].tolist()
    /// ((2, 2), [4, 6])
    fn part(&self, py: Python<'_>, index: &Bound<'_, PyAny>) -> PyResult<Self> {
        let array = match parse_index(index)? {
            IndexKind::Field(name) => self.array.field(&name).or_raise_from(UsageErrorKind::Key, self.array.source())?,
            IndexKind::Basic(parts, _) => self.array.slice(&parts).or_raise_from(UsageErrorKind::Index, self.array.source())?,
            IndexKind::Advanced => return Err(PyTypeError::new_err("a part is named by numbers, slices, ... or a field's name")),
        };
        Ok(Self::new(array, self.way.as_ref().map(|way| way.index(py, index))))
    }

    /// Returns a dask array, which reads its chunks later.
    ///
    /// A task stores only a path, a tree path and a range. It opens the file when it runs.
    ///
    /// Parameters
    /// ----------
    /// chunks : int, tuple or dict, optional
    ///     Chunks, as dask takes them. Without it they end where compressed sub-blocks of the block end.
    ///
    /// Returns
    /// -------
    /// dask.array.Array
    ///
    /// Raises
    /// ------
    /// ImportError
    ///     If dask is not installed.
    ///
    /// Examples
    /// --------
    /// >>> import numpy, trilith
    /// >>> f = trilith.open(trilith.dumps({"a": numpy.arange(12).reshape(3, 4)}))
    /// >>> f["a"].to_dask(chunks=(1, 4)).numblocks
    /// (3, 1)
    #[pyo3(signature = (chunks=None))]
    fn to_dask<'py>(slf: Bound<'py, Self>, chunks: Option<Bound<'py, PyAny>>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("trilith._dask")?.call_method1("to_dask", (slf, chunks))
    }

    /// Returns an `xarray.DataArray`, which is read later.
    ///
    /// Parameters
    /// ----------
    /// dims : str or iterable of str, optional
    ///     Names of the dimensions. Without it they are those of the file and the conventions of its instrument, else `dim_0`,
    ///     `dim_1`, ...
    /// name : str, optional
    ///     Name of the result. Without it, the key of the array.
    ///
    /// Returns
    /// -------
    /// xarray.DataArray
    ///
    /// Raises
    /// ------
    /// ImportError
    ///     If xarray is not installed.
    ///
    /// Examples
    /// --------
    /// >>> import numpy, trilith
    /// >>> f = trilith.open(trilith.dumps({"meta": {"telescope": "ROMAN"}, "data": numpy.zeros((4, 5))}))
    /// >>> f["data"].to_xarray().dims, f["data"].to_xarray(dims=("row", "column")).dims
    /// (('y', 'x'), ('row', 'column'))
    #[pyo3(signature = (dims=None, name=None))]
    fn to_xarray<'py>(
        slf: Bound<'py, Self>,
        dims: Option<Bound<'py, PyAny>>,
        name: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("trilith._xarray")?.call_method1("to_xarray", (slf, dims, name))
    }

    /// The world coordinates of the array, a `trilith.WCS`; None if there are none, and for a part of an array.
    ///
    /// >>> import numpy, trilith
    /// >>> header = {"ctype1": "WAVE", "cunit1": "um", "crpix1": 1, "crval1": 2.0, "cdelt1": 0.5}
    /// >>> f = trilith.open(trilith.dumps({"header": header, "flux": numpy.ones(3)}))
    /// >>> f["flux"].wcs.pixel_to_world_values(2)
    /// 3.0
    #[getter]
    fn wcs<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("trilith._wcs")?.call_method1("of_array", (slf,))
    }

    /// The parent of the array, and its key there; None without a parent.
    fn _above<'py>(&self, py: Python<'py>) -> PyResult<Option<(Bound<'py, PyAny>, String)>> {
        self.item_place().map_or(Ok(None), |place| place.parent(py))
    }

    /// Path, options, tree path and parts by which another process finds the array; None if it has no path.
    fn _way<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        self.way.as_ref().map_or(Ok(None), |way| way.pickle_args(py))
    }

    /// A word for the version of the file when it was opened; None if it has none, as for an array of several
    /// files.
    fn _version(&self) -> Option<String> {
        self.array.source().backing().and_then(SourceBacking::content_version)
    }

    /// The elements in the memory of the file, read-only; None if they are not there as numpy has them.
    fn _lent<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        if self.array.mask().is_some() { Ok(None) } else { borrow_buffer(py, &self.array, BufferAlignment::Any) }
    }

    /// Shape of the part that is decoded together, as in h5py and zarr; None if any part can be read alone.
    ///
    /// A block whose compressed pieces do not end at rows counts in whole rows, at least one. A block without
    /// pieces counts as a whole.
    ///
    /// >>> import numpy, trilith
    /// >>> f = trilith.open(trilith.dumps({"a": numpy.zeros((10, 4))}))
    /// >>> f["a"].chunks is None
    /// True
    /// >>> f = trilith.open(trilith.dumps({"a": numpy.zeros((10, 4))}, codec="zlib"))
    /// >>> f["a"].chunks
    /// (10, 4)
    #[getter]
    fn chunks<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        let chunk = detach_interruptible(py, || self.array.chunk_shape())?
            .or_raise_from(UsageErrorKind::Argument, self.array.source())?;
        chunk.map(|chunk| PyTuple::new(py, chunk)).transpose()
    }

    /// Lengths of parts of whole rows of about this number of bytes, which suit the storage of the array.
    fn _row_parts<'py>(&self, py: Python<'py>, bytes: u64) -> PyResult<Option<Bound<'py, PyTuple>>> {
        let parts = detach_interruptible(py, || self.array.row_parts(bytes))?
            .or_raise_from(UsageErrorKind::Argument, self.array.source())?;
        parts.map(|parts| PyTuple::new(py, parts)).transpose()
    }

    fn __reduce__<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        import_value_helper(slf.py(), "reduced")?.call1((slf,))
    }

    fn __dask_tokenize__<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        import_value_helper(slf.py(), "token")?.call1((slf,))
    }

    /// A table, or a column, in Arrow's C data interface: (schema, array).
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(slf: Bound<'py, Self>, requested_schema: Option<Bound<'py, PyAny>>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("trilith._arrow")?.call_method1("c_array", (slf, requested_schema))
    }

    /// A table in Arrow's C stream interface.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        slf: Bound<'py, Self>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("trilith._arrow")?.call_method1("c_stream", (slf, requested_schema))
    }

    /// The schema of the table, or of the column, in Arrow's C data interface; no data are read.
    fn __arrow_c_schema__(slf: Bound<'_, Self>) -> PyResult<Bound<'_, PyAny>> {
        slf.py().import("trilith._arrow")?.call_method1("c_schema", (slf,))
    }

    fn __getitem__<'py>(slf: &Bound<'py, Self>, index: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let (py, array) = (slf.py(), &slf.get().array);
        match parse_index(index)? {
            IndexKind::Field(name) => read(py, &array.field(&name).or_raise_from(UsageErrorKind::Key, array.source())?),
            IndexKind::Basic(parts, open) => {
                let part = array.slice(&parts).or_raise_from(UsageErrorKind::Index, array.source())?;
                let made = read(py, &part)?;
                if part.shape().is_empty() && !open { made.get_item(PyTuple::empty(py)) } else { Ok(made) }
            }
            IndexKind::Advanced => slf.py().import("trilith._numpy")?.call_method1("fancy", (slf, index)),
        }
    }

    fn __setitem__(&self, _index: &Bound<'_, PyAny>, _value: &Bound<'_, PyAny>) -> PyResult<()> {
        let message = "elements of an array in a file cannot be assigned: put a whole array in its place, f['data'] = new, and call update()";
        Err(PyTypeError::new_err(message))
    }

    fn __len__(&self) -> PyResult<usize> {
        let Some(rows) = self.array.shape().first() else {
            return Err(PyTypeError::new_err("len() of an array without axes"));
        };
        usize::try_from(*rows).map_err(|_| PyValueError::new_err("the first axis is longer than memory"))
    }

    #[pyo3(signature = (dtype=None, copy=None))]
    fn __array__<'py>(
        &self,
        py: Python<'py>,
        dtype: Option<Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if matches!(self.array.datatype(), Datatype::Struct(_)) {
            import_value_helper(py, "check_reader")?.call0()?;
        }
        let impossible = || PyValueError::new_err("the elements of this array cannot be had without a copy");
        let lent = if copy == Some(true) { None } else { borrow_buffer(py, &self.array, BufferAlignment::Any)? };
        let made = match lent {
            Some(lent) => lent,
            None if copy == Some(false) => return Err(impossible()),
            None => load_array(py, &self.array)?,
        };
        // numpy.asarray takes the elements alone, numpy.asanyarray and numpy.ma the mask too.
        let made = if self.array.mask().is_some() { with_mask(&self.array, made)? } else { made };
        let Some(dtype) = dtype else { return Ok(made) };
        let dtype = import_numpy(py)?.call_method1(intern!(py, "dtype"), (dtype,))?;
        if dtype.eq(made.getattr(intern!(py, "dtype"))?)? {
            return Ok(made);
        }
        if copy == Some(false) {
            return Err(impossible());
        }
        made.call_method1(intern!(py, "astype"), (dtype,))
    }

    #[getter]
    fn __array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let lent = borrow_unmasked_aligned(py, &self.array)?
            .ok_or_else(|| PyAttributeError::new_err("the elements of this array are not in memory in the form of numpy"))?;
        lent.getattr(intern!(py, "__array_interface__"))
    }

    #[pyo3(signature = (**options))]
    fn __dlpack__<'py>(&self, py: Python<'py>, options: Option<&Bound<'py, PyDict>>) -> PyResult<Bound<'py, PyAny>> {
        let name = intern!(py, "__dlpack__");
        if self.array.mask().is_some() {
            return Err(PyBufferError::new_err("DLPack has no masks: pass the result of read()"));
        }
        if let Some(lent) = borrow_buffer(py, &self.array, BufferAlignment::Element)? {
            // Consumers without support for read-only memory get a copy.
            match lent.call_method(name, (), options) {
                Err(error) if error.is_instance_of::<PyBufferError>(py) => {}
                done => return done,
            }
        }
        load_array(py, &self.array)?.call_method(name, (), options)
    }

    fn __dlpack_device__(&self) -> (i32, i32) {
        // kDLCPU
        (1, 0)
    }

    #[allow(unsafe_code, reason = "a slot of the buffer protocol, forwarded to numpy's")]
    unsafe fn __getbuffer__(slf: &Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        let py = slf.py();
        let lent = borrow_unmasked_aligned(py, &slf.get().array)?.ok_or_else(|| {
            PyBufferError::new_err("the elements of this array have a mask, or are not in memory; read() copies them")
        })?;
        // SAFETY: `view` and `flags` are those of the protocol.
        unsafe { buffer::forward_buffer(&lent, view, flags) }
    }

    fn __repr__(&self) -> String {
        format!("<trilith.Array {}>", repr::display_array(&self.array))
    }

    fn _repr_html_(&self, py: Python<'_>) -> String {
        let picture = py.detach(|| trilith_view::preview::html(&self.array, self.base_item())).unwrap_or_default();
        let attributes = self.item_place().map(|place| repr::attributes_html(&place.item)).unwrap_or_default();
        repr::array_html(&self.array, self.tag().as_deref()) + &attributes + &picture
    }
}
