"""Types of the native half. `tests/test_stubs.py` holds this file and the module together."""

import os
import sys
from collections.abc import ItemsView, Iterator, KeysView, ValuesView
from collections.abc import Iterable as _Iterable
from collections.abc import Mapping as _Mapping
from types import EllipsisType
from collections.abc import Callable as _Callable
from typing import Any, BinaryIO, Literal, SupportsIndex, TypeAlias, TypeVar, final

import numpy
import numpy.typing

_Several: TypeAlias = str | _Iterable[str] | None
_Conditions: TypeAlias = tuple[list[str], list[str], str | None, str | None, str | None, str | None]
_Part: TypeAlias = SupportsIndex | slice | EllipsisType
_T = TypeVar("_T")
_Index: TypeAlias = str | _Part | tuple[_Part, ...]

__all__ = [
    "Array",
    "Asdf",
    "Columns",
    "File",
    "FormatError",
    "Layout",
    "LimitError",
    "Mapping",
    "Sequence",
    "_Keyed",
    "__version__",
    "_command",
    "_table",
    "_toward",
    "_check_view",
    "_write_parts",
    "convert",
    "open",
    "write",
]

__version__: str

class FormatError(ValueError):
    """The file breaks the rules of its format."""
class LimitError(ValueError):
    """The file exceeds a safety limit. Increase the limit with TRILITH_LIMITS."""

@final
class Array:
    """An array of a file. Its elements are read when you index it.

    Slicing reads only the necessary bytes and returns a new numpy array (a masked one if the array has a mask).
    `numpy.asarray(a)` returns a read-only view of the file if the block is uncompressed and mapped, and a copy
    otherwise. Both stay valid after the file is closed.

    >>> import numpy, trilith
    >>> with trilith.open(trilith.dumps({"a": numpy.arange(12).reshape(3, 4)})) as f:
    ...     a = f["a"]
    >>> a.shape, a.ndim, a.nbytes
    ((3, 4), 2, 96)
    >>> a[1, ::2]
    array([4, 6])

    Operators and methods are numpy's. They read all elements, and skip masked ones.

    >>> a.sum(), (a[0] + 1).tolist(), (a > 8).any()
    (np.int64(66), [1, 2, 3, 4], np.True_)
    """

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the axes."""
    @property
    def dtype(self) -> numpy.dtype[Any]:
        """The numpy dtype of the elements as they are read: in the byte order of this machine. It is `object` for strings of
        variable length that would take many times as much memory if all were as long as the longest.
        """
    @property
    def ndim(self) -> int:
        """Number of axes."""
    @property
    def size(self) -> int:
        """Number of elements."""
    @property
    def nbytes(self) -> int:
        """Bytes of all elements when they are read."""
    @property
    def byteorder(self) -> str:
        """The byte order in the file: "little" or "big"."""
    @property
    def tag(self) -> str | None:
        """The tag of the node that describes the array, or None."""
    @property
    def mask(self) -> Array | int | float | complex | None:
        """Marks of missing elements: an `Array` of bool, a number that they are equal to, or None."""
    def read(self, out: numpy.typing.NDArray[Any] | None = None) -> numpy.typing.NDArray[Any]:
        """Reads the elements without their mask.

        Parameters
        ----------
        out : numpy.ndarray, optional
            An array of the same shape, to whose dtype the elements can be cast. The elements are written into it.

        Returns
        -------
        numpy.ndarray
            `out`, or a new array.

        Raises
        ------
        ValueError
            If `out` has another shape.
        FormatError
            If the elements cannot be decoded.

        Examples
        --------
        >>> import numpy, trilith
        >>> a = trilith.open(trilith.dumps({"a": numpy.arange(3)}))["a"]
        >>> out = numpy.empty(3, "f4")
        >>> a.read(out=out).tolist()
        [0.0, 1.0, 2.0]
        """
    def widened(self) -> Array:
        """Returns the array as float32, if it has the bits of bfloat16 or float8 numbers.

        numpy has no such types, so these arrays are read as integers, and their attributes name the type. Any other array is returned
        unchanged.

        Returns
        -------
        Array

        Examples
        --------
        >>> import numpy, trilith
        >>> a = trilith.open(trilith.dumps({"a": numpy.arange(3)}))["a"]
        >>> a.widened().dtype
        dtype('int64')
        """
    def masked(self) -> numpy.ma.MaskedArray[Any, Any]:
        """Reads the elements as a masked array.

        Returns
        -------
        numpy.ma.MaskedArray

        Raises
        ------
        FormatError
            If the elements cannot be decoded.

        Examples
        --------
        >>> import numpy, trilith
        >>> a = trilith.open(trilith.dumps({"a": numpy.ma.masked_equal([1, 2, 3], 2)}))["a"]
        >>> a.masked().tolist()
        [1, None, 3]
        """
    def part(self, index: _Index) -> Array:
        """Returns a part of the array, whose elements are read later.

        Parameters
        ----------
        index : int, slice, Ellipsis, str, or tuple of these
            The part, as numpy takes it, or the name of a field.

        Returns
        -------
        Array

        Raises
        ------
        IndexError
            If the index does not fit the shape.

        Examples
        --------
        >>> import numpy, trilith
        >>> a = trilith.open(trilith.dumps({"a": numpy.arange(12).reshape(3, 4)}))["a"]
        >>> part = a.part(numpy.s_[1:, ::2])
        >>> part.shape, part[0].tolist()
        ((2, 2), [4, 6])
        """
    def to_dask(self, chunks: Any = None) -> Any:
        """Returns a dask array, which reads its chunks later.

        A task stores only a path, a tree path and a range. It opens the file when it runs.

        Parameters
        ----------
        chunks : int, tuple or dict, optional
            Chunks, as dask takes them. Without it they end where compressed sub-blocks of the block end.

        Returns
        -------
        dask.array.Array

        Raises
        ------
        ImportError
            If dask is not installed.

        Examples
        --------
        >>> import numpy, trilith
        >>> f = trilith.open(trilith.dumps({"a": numpy.arange(12).reshape(3, 4)}))
        >>> f["a"].to_dask(chunks=(1, 4)).numblocks
        (3, 1)
        """
    def to_xarray(self, dims: str | _Iterable[str] | None = None, name: str | None = None) -> Any:
        """Returns an `xarray.DataArray`, which is read later.

        Parameters
        ----------
        dims : str or iterable of str, optional
            Names of the dimensions. Without it they are those of the file and the conventions of its instrument, else `dim_0`,
            `dim_1`, ...
        name : str, optional
            Name of the result. Without it, the key of the array.

        Returns
        -------
        xarray.DataArray

        Raises
        ------
        ImportError
            If xarray is not installed.

        Examples
        --------
        >>> import numpy, trilith
        >>> f = trilith.open(trilith.dumps({"meta": {"telescope": "ROMAN"}, "data": numpy.zeros((4, 5))}))
        >>> f["data"].to_xarray().dims, f["data"].to_xarray(dims=("row", "column")).dims
        (('y', 'x'), ('row', 'column'))
        """
    @property
    def itemsize(self) -> int:
        """Bytes of one element when it is read."""
    @property
    def path(self) -> str | None:
        """Path of the node that describes the array, from the top of the tree; None if there is none."""
    @property
    def chunks(self) -> tuple[int, ...] | None:
        """Shape of the part that is decoded together, as in h5py and zarr; None if any part can be read alone.

        A block whose compressed pieces do not end at rows counts in whole rows, at least one. A block without
        pieces counts as a whole.

        >>> import numpy, trilith
        >>> f = trilith.open(trilith.dumps({"a": numpy.zeros((10, 4))}))
        >>> f["a"].chunks is None
        True
        >>> f = trilith.open(trilith.dumps({"a": numpy.zeros((10, 4))}, codec="zlib"))
        >>> f["a"].chunks
        (10, 4)
        """
    @property
    def codec(self) -> str | None:
        """Codec of its elements: "lz4", "zstd", ..., "plain", "inline" or "streamed"; None if it is not known."""
    @property
    def attrs(self) -> dict[str, Any]:
        """The attributes of the array, by name: numbers, strings, and lists of these. Those of FITS data are
        the header cards. An array of ASDF has none: its metadata are next to it.
        """
    @property
    def attributes(self) -> dict[str, Any]:
        """The attributes, as `attrs`."""
    @property
    def _words(self) -> dict[str, Any]: ...
    @property
    def _axes(self) -> tuple[list[str | None], bool]: ...
    @property
    def unit(self) -> str | None:
        """The unit as the file spells it: that of the quantity or column that holds the array, or one among its
        attributes. None if there is none.
        """
    @property
    def doc(self) -> str | None:
        """The documentation of the array in one line, as a layout or a FITS card has it; None where there is none."""
    @property
    def wcs(self) -> Any:
        """The world coordinates of the array, a `trilith.WCS`; None if there are none, and for a part of an array.

        >>> import numpy, trilith
        >>> header = {"ctype1": "WAVE", "cunit1": "um", "crpix1": 1, "crval1": 2.0, "cdelt1": 0.5}
        >>> f = trilith.open(trilith.dumps({"header": header, "flux": numpy.ones(3)}))
        >>> f["flux"].wcs.pixel_to_world_values(2)
        3.0
        """
    def _above(self) -> tuple[Any, str] | None: ...
    def _way(self) -> tuple[str, bool, str | None, str, tuple[Any, ...]] | None: ...
    def _version(self) -> str | None: ...
    def _lent(self) -> numpy.typing.NDArray[Any] | None: ...
    def _row_parts(self, bytes: int) -> tuple[int, ...] | None: ...
    def __dask_tokenize__(self) -> Any: ...
    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def __arrow_c_schema__(self) -> object: ...
    def __getitem__(self, key: Any, /) -> Any: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> numpy.typing.NDArray[Any]: ...
    @property
    def __array_interface__(self) -> dict[str, Any]: ...
    def __dlpack__(self, **options: Any) -> Any: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...
    if sys.version_info >= (3, 12):
        def __buffer__(self, flags: int, /) -> memoryview: ...
    # What numpy does, see _numpy.py.
    @property
    def oindex(self) -> Any:
        """Reads the block where places of each axis cross: `a.oindex[[1, 3], :, [0, 5]]`, as zarr has it.

        >>> import numpy, trilith
        >>> a = trilith.open(trilith.dumps({"a": numpy.arange(12).reshape(3, 4)}))["a"]
        >>> a.oindex[[0, 2], [1, 3]].tolist()
        [[1, 3], [9, 11]]
        """
    @property
    def vindex(self) -> Any:
        """Reads elements by their coordinates: `a.vindex[[1, 3], [0, 5]]`, as zarr has it.

        >>> import numpy, trilith
        >>> a = trilith.open(trilith.dumps({"a": numpy.arange(12).reshape(3, 4)}))["a"]
        >>> a.vindex[[0, 2], [1, 3]].tolist()
        [1, 11]
        """
    def all(self, *args: Any, **options: Any) -> Any:
        """Same as `numpy.ndarray.all`. Reads all elements."""
    def any(self, *args: Any, **options: Any) -> Any:
        """Same as `numpy.ndarray.any`. Reads all elements."""
    def argmax(self, *args: Any, **options: Any) -> Any:
        """Same as `numpy.ndarray.argmax`. Reads all elements."""
    def argmin(self, *args: Any, **options: Any) -> Any:
        """Same as `numpy.ndarray.argmin`. Reads all elements."""
    def argsort(self, *args: Any, **options: Any) -> Any:
        """Same as `numpy.ndarray.argsort`. Reads all elements."""
    def astype(self, *args: Any, **options: Any) -> Any:
        """Same as `numpy.ndarray.astype`. Reads all elements."""
    def clip(self, *args: Any, **options: Any) -> Any:
        """Same as `numpy.ndarray.clip`. Reads all elements."""
    def compress(self, *args: Any, **options: Any) -> Any:
        """Same as `numpy.ndarray.compress`. Reads all elements."""
    def copy(self, *args: Any, **options: Any) -> Any:
        """Same as `numpy.ndarray.copy`. Reads all elements."""
    def cumprod(self, *args: Any, **options: Any) -> Any:
        """Same as `numpy.ndarray.cumprod`. Reads all elements."""
    def cumsum(self, *args: Any, **options: Any) -> Any:
        """Same as `numpy.ndarray.cumsum`. Reads all elements."""
    def dot(self, *args: Any, **options: Any) -> Any:
        """Same as `numpy.ndarray.dot`. Reads all elements."""
    def flatten(self, *args: Any, **options: Any) -> Any:
        """Same as `numpy.ndarray.flatten`. Reads all elements."""
    def item(self, *args: Any, **options: Any) -> Any:
        """Same as `numpy.ndarray.item`. Reads all elements."""
    def max(self, *args: Any, **options: Any) -> Any:
        """Same as `numpy.ndarray.max`. Reads all elements."""
    def mean(self, *args: Any, **options: Any) -> Any:
        """Same as `numpy.ndarray.mean`. Reads all elements."""
    def min(self, *args: Any, **options: Any) -> Any:
        """Same as `numpy.ndarray.min`. Reads all elements."""
    def nonzero(self, *args: Any, **options: Any) -> Any:
        """Same as `numpy.ndarray.nonzero`. Reads all elements."""
    def prod(self, *args: Any, **options: Any) -> Any:
        """Same as `numpy.ndarray.prod`. Reads all elements."""
    def repeat(self, *args: Any, **options: Any) -> Any:
        """Same as `numpy.ndarray.repeat`. Reads all elements."""
    def round(self, *args: Any, **options: Any) -> Any:
        """Same as `numpy.ndarray.round`. Reads all elements."""
    def searchsorted(self, *args: Any, **options: Any) -> Any:
        """Same as `numpy.ndarray.searchsorted`. Reads all elements."""
    def std(self, *args: Any, **options: Any) -> Any:
        """Same as `numpy.ndarray.std`. Reads all elements."""
    def sum(self, *args: Any, **options: Any) -> Any:
        """Same as `numpy.ndarray.sum`. Reads all elements."""
    def take(self, *args: Any, **options: Any) -> Any:
        """Same as `numpy.ndarray.take`. Reads all elements."""
    def tobytes(self, *args: Any, **options: Any) -> Any:
        """Same as `numpy.ndarray.tobytes`. Reads all elements."""
    def tolist(self, *args: Any, **options: Any) -> Any:
        """Same as `numpy.ndarray.tolist`. Reads all elements."""
    def trace(self, *args: Any, **options: Any) -> Any:
        """Same as `numpy.ndarray.trace`. Reads all elements."""
    def var(self, *args: Any, **options: Any) -> Any:
        """Same as `numpy.ndarray.var`. Reads all elements."""
    def conj(self, *args: Any, **options: Any) -> Any:
        """Same as `numpy.ndarray.conj`. Reads all elements."""
    def conjugate(self, *args: Any, **options: Any) -> Any:
        """Same as `numpy.ndarray.conjugate`. Reads all elements."""
    def diagonal(self, *args: Any, **options: Any) -> Any:
        """Same as `numpy.ndarray.diagonal`. Reads all elements."""
    def ravel(self, *args: Any, **options: Any) -> Any:
        """Same as `numpy.ndarray.ravel`. Reads all elements."""
    def reshape(self, *args: Any, **options: Any) -> Any:
        """Same as `numpy.ndarray.reshape`. Reads all elements."""
    def squeeze(self, *args: Any, **options: Any) -> Any:
        """Same as `numpy.ndarray.squeeze`. Reads all elements."""
    def swapaxes(self, *args: Any, **options: Any) -> Any:
        """Same as `numpy.ndarray.swapaxes`. Reads all elements."""
    def transpose(self, *args: Any, **options: Any) -> Any:
        """Same as `numpy.ndarray.transpose`. Reads all elements."""
    @property
    def T(self) -> numpy.typing.NDArray[Any]:
        """Same as `numpy.ndarray.T`. Reads all elements."""
    @property
    def imag(self) -> numpy.typing.NDArray[Any]:
        """Same as `numpy.ndarray.imag`. Reads all elements."""
    @property
    def real(self) -> numpy.typing.NDArray[Any]:
        """Same as `numpy.ndarray.real`. Reads all elements."""
    def __add__(self, other: Any, /) -> Any: ...
    def __radd__(self, other: Any, /) -> Any: ...
    def __sub__(self, other: Any, /) -> Any: ...
    def __rsub__(self, other: Any, /) -> Any: ...
    def __mul__(self, other: Any, /) -> Any: ...
    def __rmul__(self, other: Any, /) -> Any: ...
    def __truediv__(self, other: Any, /) -> Any: ...
    def __rtruediv__(self, other: Any, /) -> Any: ...
    def __floordiv__(self, other: Any, /) -> Any: ...
    def __rfloordiv__(self, other: Any, /) -> Any: ...
    def __mod__(self, other: Any, /) -> Any: ...
    def __rmod__(self, other: Any, /) -> Any: ...
    def __divmod__(self, other: Any, /) -> Any: ...
    def __rdivmod__(self, other: Any, /) -> Any: ...
    def __pow__(self, other: Any, /) -> Any: ...
    def __rpow__(self, other: Any, /) -> Any: ...
    def __matmul__(self, other: Any, /) -> Any: ...
    def __rmatmul__(self, other: Any, /) -> Any: ...
    def __lshift__(self, other: Any, /) -> Any: ...
    def __rlshift__(self, other: Any, /) -> Any: ...
    def __rshift__(self, other: Any, /) -> Any: ...
    def __rrshift__(self, other: Any, /) -> Any: ...
    def __and__(self, other: Any, /) -> Any: ...
    def __rand__(self, other: Any, /) -> Any: ...
    def __xor__(self, other: Any, /) -> Any: ...
    def __rxor__(self, other: Any, /) -> Any: ...
    def __or__(self, other: Any, /) -> Any: ...
    def __ror__(self, other: Any, /) -> Any: ...
    def __lt__(self, other: Any, /) -> Any: ...
    def __le__(self, other: Any, /) -> Any: ...
    def __gt__(self, other: Any, /) -> Any: ...
    def __ge__(self, other: Any, /) -> Any: ...
    def __eq__(self, other: object, /) -> Any: ...
    def __ne__(self, other: object, /) -> Any: ...
    def __neg__(self) -> Any: ...
    def __pos__(self) -> Any: ...
    def __abs__(self) -> Any: ...
    def __invert__(self) -> Any: ...
    def __int__(self) -> int: ...
    def __float__(self) -> float: ...
    def __complex__(self) -> complex: ...
    def __index__(self) -> int: ...
    def __bool__(self) -> bool: ...
    def __contains__(self, value: Any, /) -> bool: ...
    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any: ...
    def __copy__(self) -> Array: ...
    def __deepcopy__(self, memo: Any, /) -> Array: ...
    __hash__: None  # type: ignore[assignment]
    _baseclass: type[numpy.ndarray[Any, Any]]
    @property
    def _mask(self) -> Any: ...
    def _repr_html_(self) -> str: ...

class _Keyed:
    """The common base of the mappings of a tree."""

    @property
    def tag(self) -> str | None:
        """The whole tag of the node, or None."""
    @property
    def attrs(self) -> dict[str, Any]:
        """The attributes of the mapping, by name: numbers, strings, and lists of these. Those of a FITS HDU are
        the header cards. A mapping of ASDF has none.
        """
    @property
    def doc(self) -> str | None:
        """The documentation of the mapping in one line, as a layout has it; None where there is none."""
    @property
    def attributes(self) -> dict[str, Any]:
        """The attributes, as `attrs`."""
    @property
    def _axes(self) -> tuple[list[str | None], bool]: ...
    @property
    def _form(self) -> str: ...
    def __getitem__(self, key: Any, /) -> Any: ...
    def __contains__(self, key: Any, /) -> bool: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Any]: ...
    def keys(self) -> KeysView[Any]:
        """Returns a view of the keys.

        Returns
        -------
        collections.abc.KeysView

        Examples
        --------
        >>> import trilith
        >>> f = trilith.open(trilith.dumps({"meta": {"a": 1, "b": "x"}}))
        >>> list(f["meta"].keys())
        ['a', 'b']
        """
    def values(self) -> ValuesView[Any]:
        """Returns a view of the values.

        Returns
        -------
        collections.abc.ValuesView

        Examples
        --------
        >>> import trilith
        >>> f = trilith.open(trilith.dumps({"meta": {"a": 1, "b": "x"}}))
        >>> list(f["meta"].values())
        [1, 'x']
        """
    def items(self) -> ItemsView[Any, Any]:
        """Returns a view of the pairs of key and value.

        Returns
        -------
        collections.abc.ItemsView

        Examples
        --------
        >>> import trilith
        >>> f = trilith.open(trilith.dumps({"meta": {"a": 1, "b": "x"}}))
        >>> list(f["meta"].items())
        [('a', 1), ('b', 'x')]
        """
    def get(self, key: Any, default: Any = None, *, as_: Literal["asdf"] | None = None) -> Any:
        """Returns the value of a key or path.

        Parameters
        ----------
        key : str
            A key, or a path.
        default : object
            The value if there is no such item.
        as_ : {"asdf"}, optional
            Return the object that the installed converters of the `asdf` package make of it: a WCS, a quantity, a table.
            Its arrays are read. Nothing else of the tree is converted.

        Returns
        -------
        object
            An `Array`, `Mapping`, `Sequence` or value of Python.

        Raises
        ------
        ImportError
            If `as_` is "asdf" and the package `asdf` is not installed.

        Examples
        --------
        >>> import trilith
        >>> meta = trilith.open(trilith.dumps({"meta": {"exposure": 139.8}}))["meta"]
        >>> meta.get("exposure"), meta.get("filter", "none")
        (139.8, 'none')
        """
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def to_dict(self) -> dict[Any, Any]:
        """Returns the mapping and everything below it as dictionaries and lists.

        Arrays in it are still `Array`s, whose elements are read later.

        Returns
        -------
        dict

        Examples
        --------
        >>> import trilith
        >>> trilith.open(trilith.dumps({"meta": {"filters": ["F106"]}}))["meta"].to_dict()
        {'filters': ['F106']}
        """
    def __or__(self, other: Any, /) -> dict[Any, Any]: ...
    def __ror__(self, other: dict[Any, Any], /) -> dict[Any, Any]: ...
    def __copy__(self) -> _Keyed: ...
    def __deepcopy__(self, memo: Any, /) -> _Keyed: ...
    def __eq__(self, other: object, /) -> bool: ...
    def _repr_html_(self) -> str: ...
    def _above(self) -> tuple[Any, str] | None: ...
    def _search(self, conditions: _Conditions) -> list[str]: ...
    # See _habits.py.
    def _ipython_key_completions_(self) -> list[str]: ...
    def search(
        self,
        key: _Several = None,
        value: _Several | float = None,
        *,
        path: str | None = None,
        tag: str | None = None,
        datatype: str | None = None,
        shape: str | _Iterable[int | None] | None = None,
    ) -> dict[str, Any]:
        """Returns the items that meet all conditions. Arrays are not read.

        Parameters
        ----------
        key : str or list of str, optional
            Regular expressions that the key must match.
        value : str, float or list of str, optional
            Regular expressions that the value must match, a number, or a comparison such as `">100"`.
        path : str, optional
            A pattern for the path, such as `"/roman/*/time"` or `"**/time"`.
        tag : str, optional
            A pattern for the tag, such as `"**unit-1.*"`.
        datatype : str, optional
            The datatype of an array.
        shape : tuple of int, optional
            The shape of an array. None matches any length.

        Returns
        -------
        dict
            The values by their paths.

        Raises
        ------
        ValueError
            If there is no condition, or if a regular expression has an error.

        Examples
        --------
        >>> import numpy, trilith
        >>> tree = {"meta": {"exposure": {"time": 139.8, "start_time": "2028-01-01"}}, "data": numpy.zeros((4, 5), "f4")}
        >>> f = trilith.open(trilith.dumps(tree))
        >>> f.search("time")
        {'/meta/exposure/time': 139.8, '/meta/exposure/start_time': '2028-01-01'}
        >>> f.search(value=">100")
        {'/meta/exposure/time': 139.8}
        >>> list(f.search(shape=(None, 5), datatype="float32"))
        ['/data']
        """
    def visititems(self, func: _Callable[[str, Any], _T | None]) -> _T | None:
        """Calls a function for each item below, in the order of the file, until it returns something other than None.

        Parameters
        ----------
        func : callable
            A function of a path and a value.

        Returns
        -------
        object
            The result that ended the calls, or None.

        Raises
        ------
        Exception
            The exceptions of `func`.

        Examples
        --------
        >>> import numpy, trilith
        >>> f = trilith.open(trilith.dumps({"roman": {"meta": {"filter": "F106"}, "data": numpy.zeros(3)}}))
        >>> f["roman"].visititems(lambda path, value: print(path))
        meta
        meta/filter
        data
        >>> f.visititems(lambda path, value: path if isinstance(value, trilith.Array) else None)
        'roman/data'
        """
    def to_json(self, *, inline: bool = False, indent: int | None = None) -> str:
        """Returns a mapping, a list or the whole tree as JSON.

        Numbers that are not finite are the strings "NaN", "Infinity" and "-Infinity". Dates, complex numbers and bytes (base 64) are
        strings.

        Parameters
        ----------
        inline : bool
            Write the elements of arrays, masked ones as null. Otherwise an array is its datatype and shape.
        indent : int, optional
            Number of spaces for each level. Without it the result is one line.

        Returns
        -------
        str

        Raises
        ------
        ValueError
            If the tree contains itself.

        Examples
        --------
        >>> import numpy, trilith
        >>> f = trilith.open(trilith.dumps({"meta": {"seeing": float("nan")}, "data": numpy.arange(3, dtype="i2")}))
        >>> f["meta"].to_json()
        '{"seeing": "NaN"}'
        >>> f.to_json(inline=True).endswith('"data": [0, 1, 2]}')
        True
        """

@final
class Mapping(_Keyed):
    """A mapping of the tree, which behaves like a dictionary that cannot be changed.

    A path such as `"roman/meta"` leads on from here; keys are in the order of the file.

    >>> import trilith
    >>> f = trilith.open(trilith.dumps({"roman": {"meta": {"exposure": 139.8}}}))
    >>> f["roman"]["meta"]["exposure"], f["roman/meta/exposure"]
    (139.8, 139.8)
    >>> "meta" in f["roman"], len(f["roman"]), f["roman"].get("nothing", 0)
    (True, 1, 0)
    """

@final
class Columns(_Keyed):
    """A table of astropy in the tree: a mapping with its `columns`, which other libraries take as the table.

    `polars.DataFrame(t)`, `pyarrow.table(t)`, `pandas.DataFrame.from_arrow(t)` and DuckDB read the columns, with units and
    time scales in the metadata of Arrow. It has all methods of `Mapping`, but is not a
    `collections.abc.Mapping`: these libraries would then take its keys for the columns. `f.get(path, as_="asdf")` gives the object of astropy.

    >>> import polars, trilith
    >>> stars = polars.DataFrame({"id": [1, 2], "flux": [9.5, None]})
    >>> f = trilith.open(trilith.dumps({"stars": stars}))
    >>> type(f["stars"]).__name__, f["stars/columns/1/name"]
    ('Columns', 'flux')
    >>> polars.DataFrame(f["stars"]).equals(stars)
    True
    """

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> numpy.typing.NDArray[Any]: ...
    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]: ...

@final
class Sequence:
    """A sequence of the tree, which behaves like a list that cannot be changed.

    >>> import trilith
    >>> f = trilith.open(trilith.dumps({"filters": ["F062", "F087", {"name": "F106"}]}))
    >>> f["filters"][0], f["filters"][-1]["name"], len(f["filters"])
    ('F062', 'F106', 3)
    >>> f["filters"][:2]
    ['F062', 'F087']
    """

    @property
    def tag(self) -> str | None:
        """The whole tag of the node, or None."""
    @property
    def attrs(self) -> dict[str, Any]:
        """The attributes of the list, by name."""
    @property
    def doc(self) -> str | None:
        """The documentation of the list in one line, as a layout has it; None where there is none."""
    @property
    def unit(self) -> str | None:
        """The unit of its items, among its attributes; None where there is none."""
    @property
    def array(self) -> Array:
        """The list as one array with a leading axis, if its items are equal: the same datatype and shape. An index
        with several axes, such as `[:, 0]`, is one into this array.

        Raises
        ------
        ValueError
            If the items are not equal.
        """
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> numpy.typing.NDArray[Any]: ...
    def __getitem__(self, key: Any, /) -> Any: ...
    def __contains__(self, key: Any, /) -> bool: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Any]: ...
    def index(self, value: Any) -> int:
        """Returns the first index of a value.

        Parameters
        ----------
        value : object
            The value.

        Returns
        -------
        int

        Raises
        ------
        ValueError
            If the value is not in the sequence.

        Examples
        --------
        >>> import trilith
        >>> trilith.open(trilith.dumps({"filters": ["F062", "F087"]}))["filters"].index("F087")
        1
        """
    def count(self, value: Any) -> int:
        """Returns the number of occurrences of a value.

        Parameters
        ----------
        value : object
            The value.

        Returns
        -------
        int

        Examples
        --------
        >>> import trilith
        >>> trilith.open(trilith.dumps({"filters": ["F062", "F087"]}))["filters"].count("F062")
        1
        """
    def to_list(self) -> list[Any]:
        """Returns the sequence and everything below it as lists and dictionaries.

        Arrays in it are still `Array`s, whose elements are read later.

        Returns
        -------
        list

        Examples
        --------
        >>> import trilith
        >>> trilith.open(trilith.dumps({"filters": ["F062", {"name": "F106"}]}))["filters"].to_list()
        ['F062', {'name': 'F106'}]
        """
    def __add__(self, other: Any, /) -> list[Any]: ...
    def __radd__(self, other: list[Any], /) -> list[Any]: ...
    def __copy__(self) -> Sequence: ...
    def __deepcopy__(self, memo: Any, /) -> Sequence: ...
    def __eq__(self, other: object, /) -> bool: ...
    def _repr_html_(self) -> str: ...
    # See _habits.py.
    def to_json(self, *, inline: bool = False, indent: int | None = None) -> str:
        """Returns a mapping, a list or the whole tree as JSON.

        Numbers that are not finite are the strings "NaN", "Infinity" and "-Infinity". Dates, complex numbers and bytes (base 64) are
        strings.

        Parameters
        ----------
        inline : bool
            Write the elements of arrays, masked ones as null. Otherwise an array is its datatype and shape.
        indent : int, optional
            Number of spaces for each level. Without it the result is one line.

        Returns
        -------
        str

        Raises
        ------
        ValueError
            If the tree contains itself.

        Examples
        --------
        >>> import numpy, trilith
        >>> f = trilith.open(trilith.dumps({"meta": {"seeing": float("nan")}, "data": numpy.arange(3, dtype="i2")}))
        >>> f["meta"].to_json()
        '{"seeing": "NaN"}'
        >>> f.to_json(inline=True).endswith('"data": [0, 1, 2]}')
        True
        """

@final
class File:
    """An open file of any format. It behaves like a dictionary of the items at its root.

    Groups are mappings, lists are sequences, and arrays are `Array`s, in every format. A path such as
    `"roman/data"` leads to an item below. `asdf` and `layout` give access to the properties of single formats.

    Examples
    --------
    >>> import io, numpy, trilith
    >>> f = trilith.open(trilith.dumps({"a": {"b": [1, 2]}}))
    >>> f["a/b/1"], f["a"]["b"][0]
    (2, 1)
    >>> f.close()
    >>> f["a"]
    Traceback (most recent call last):
    ...
    ValueError: this file is closed
    >>> out = io.BytesIO()
    >>> trilith.write(out, {"t": numpy.arange(3.0), "run": {"n": 4}}, version="dudley-2025")
    >>> with trilith.open(out.getvalue()) as f:
    ...     f["t"][1], f["run/n"], list(f), f.search(value=4)
    (np.float64(1.0), 4, ['t', 'run'], {'/run/n': 4})
    """

    def __enter__(self) -> File: ...
    def __exit__(self, *_args: Any) -> None: ...
    def close(self) -> None:
        """Closes the file and drops changes that were not written.

        Arrays that were taken out of it stay valid, and so do results made of them. A second call does nothing.

        Examples
        --------
        >>> import trilith
        >>> f = trilith.open(trilith.dumps({"a": [1, 2]}))
        >>> f.close()
        >>> f.closed
        True
        """
    @property
    def closed(self) -> bool:
        """`True` if the file was closed."""
    @property
    def name(self) -> str:
        """The path of the file, or the source that it was read from."""
    @property
    def path(self) -> str | None:
        """The absolute path of the file, or None if it was not opened by its path."""
    @property
    def mode(self) -> str:
        """"rw" if `update()` can write changes: the file has a tree and was opened by its path. "r" otherwise."""
    @property
    def asdf(self) -> Asdf | None:
        """The parts of the file that only the ASDF family has: tree text, history, blocks. None for other formats."""
    @property
    def layout(self) -> Layout | None:
        """The layout of the file, of the files of a file set, or derived from the metadata of another format. None for a
        file with a tree.
        """
    @property
    def files(self) -> list[str]:
        """The names of the files of a file set, as its catalog has them. Empty for any other file."""
    def omitted(self, key: str) -> list[str]:
        """Returns the files of a file set that are masked in an item, because they omit it or are missing.

        Parameters
        ----------
        key : str
            The name of the item.

        Returns
        -------
        list of str
            Names as in `files`. Empty for any other file.

        Raises
        ------
        ValueError
            If the file is closed.

        Examples
        --------
        >>> import trilith
        >>> trilith.open(trilith.dumps({"a": [1, 2]})).omitted("a")
        []
        """
    @property
    def attrs(self) -> dict[str, Any]:
        """The attributes of the root, by name: numbers, strings, and lists of these."""
    @property
    def doc(self) -> str | None:
        """The documentation of the file in one line, as its layout has it; None where there is none."""
    @property
    def attributes(self) -> dict[str, Any]:
        """The attributes of the root, as `attrs`."""
    @property
    def history(self) -> list[dict[str, Any]]:
        """The entries of the history of the file, the oldest first, each a dictionary with a `description` and a `time`."""
    @property
    def generation(self) -> str:
        """The version of the format, as `trilith info` names it: "asdf-1.x", "finf-0.1-hs43", "dudley-2025", ..."""
    @property
    def standard(self) -> str | None:
        """The version of the ASDF standard that the file states, or None."""
    @property
    def warnings(self) -> list[str]:
        """Problems of the file that do not prevent reading it."""
    @property
    def tree(self) -> Any:
        """The root item: usually a `Mapping`."""
    @property
    def text(self) -> str:
        """The YAML text of the tree, byte for byte."""
    def __getitem__(self, key: Any, /) -> Any: ...
    def __contains__(self, key: Any, /) -> bool: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Any]: ...
    def keys(self) -> KeysView[Any]:
        """Returns a view of the keys at the root.

        Returns
        -------
        collections.abc.KeysView

        Raises
        ------
        ValueError
            If the file is closed.

        Examples
        --------
        >>> import trilith
        >>> f = trilith.open(trilith.dumps({"a": 1, "b": "x"}))
        >>> list(f.keys())[-2:]
        ['a', 'b']
        """
    def values(self) -> ValuesView[Any]:
        """Returns a view of the values at the root.

        Returns
        -------
        collections.abc.ValuesView

        Raises
        ------
        ValueError
            If the file is closed.

        Examples
        --------
        >>> import trilith
        >>> f = trilith.open(trilith.dumps({"a": 1, "b": "x"}))
        >>> list(f.values())[-2:]
        [1, 'x']
        """
    def items(self) -> ItemsView[Any, Any]:
        """Returns a view of the pairs of key and value at the root.

        Returns
        -------
        collections.abc.ItemsView

        Raises
        ------
        ValueError
            If the file is closed.

        Examples
        --------
        >>> import trilith
        >>> f = trilith.open(trilith.dumps({"a": 1, "b": "x"}))
        >>> list(f.items())[-2:]
        [('a', 1), ('b', 'x')]
        """
    def get(self, key: Any, default: Any = None, *, as_: Literal["asdf"] | None = None) -> Any:
        """Returns the value of a key or path.

        Parameters
        ----------
        key : str
            A key, or a path.
        default : object
            The value if there is no such item.
        as_ : {"asdf"}, optional
            Return the object that the installed converters of the `asdf` package make of it: a WCS, a quantity, a table.
            Its arrays are read. Nothing else of the tree is converted.

        Returns
        -------
        object
            An `Array`, `Mapping`, `Sequence` or value of Python.

        Raises
        ------
        ImportError
            If `as_` is "asdf" and the package `asdf` is not installed.

        Examples
        --------
        >>> import trilith
        >>> f = trilith.open(trilith.dumps({"meta": {"exposure": 139.8}}))
        >>> f.get("meta/exposure"), f.get("meta/filter", "none")
        (139.8, 'none')
        """
    def to_dict(self) -> dict[Any, Any]:
        """Returns the tree as dictionaries and lists.

        Arrays in it are still `Array`s, whose elements are read later.

        Returns
        -------
        dict

        Raises
        ------
        ValueError
            If the file is closed.

        Examples
        --------
        >>> import trilith
        >>> trilith.open(trilith.dumps({"meta": {"filters": ["F106"]}})).to_dict()["meta"]
        {'filters': ['F106']}
        """
    def info(self) -> dict[str, Any]:
        """Describes how the file is stored.

        Returns
        -------
        dict
            `file`, `family`, `generation` and `size` in bytes. For the ASDF family also `header`, `standard`, and the place
            of the `tree` and of each of the `blocks`. For a file under a layout `dialect`, `byteorder`, and `format` if
            the layout is derived from the metadata of another format.

        Raises
        ------
        ValueError
            If the file is closed.

        Examples
        --------
        >>> import numpy, trilith
        >>> info = trilith.open(trilith.dumps({"a": numpy.zeros(1000)}, codec="lz4")).info()
        >>> info["generation"], info["blocks"][0]["codec"]
        ('asdf-1.x', 'lz4')
        """
    def block(self, number: int) -> Array:
        """Returns the decoded bytes of a block as an array of uint8.

        Parameters
        ----------
        number : int
            The number of the block. A streamed block is number -1, or the last.

        Returns
        -------
        Array

        Raises
        ------
        ValueError
            If there is no such block.

        Examples
        --------
        >>> import numpy, trilith
        >>> f = trilith.open(trilith.dumps({"a": numpy.arange(3, dtype="u1")}))
        >>> f.block(0).tolist()
        [0, 1, 2]
        """
    def _tagged(self, mapping: Any, sequence: Any, text: Any) -> tuple[Any, list[Any]] | None: ...
    def _toward(self, tree: Any, classes: Any) -> str | None: ...
    def _headers(self) -> list[Any] | None: ...
    @property
    def _tree_offset(self) -> int | None: ...
    def _become(self, text: str, added: list[Any]) -> tuple[bool, list[int | None]]: ...
    def _same(self, number: int, memory: Any) -> bool: ...
    def _check_block(self, number: int) -> None: ...
    def digest(self) -> dict[str, str]:
        """Returns the SHA-256 of the elements of each array.

        The sums do not depend on compression, byte order or format.

        Returns
        -------
        dict of str
            Sums by the paths of the arrays. The sum of a mask is at the path of the mask.

        Raises
        ------
        FormatError
            If an array cannot be decoded.

        Examples
        --------
        >>> import numpy, trilith
        >>> tree = {"a": numpy.arange(3.0)}
        >>> plain, small = (trilith.open(trilith.dumps(tree, codec=codec)) for codec in (None, "zlib"))
        >>> plain.digest() == small.digest(), list(plain.digest())
        (True, ['/a'])
        """
    def verify(self, *, deep: bool = False) -> list[str]:
        """Checks the structure of the file and its checksums.

        Parameters
        ----------
        deep : bool
            Decode every block and array as well.

        Returns
        -------
        list of str
            The problems. Empty if there are none.

        Raises
        ------
        ValueError
            If the file is closed.

        Examples
        --------
        >>> import numpy, trilith
        >>> data = bytearray(trilith.dumps({"a": numpy.zeros(100)}))
        >>> trilith.open(bytes(data)).verify()
        []
        >>> data[-100] ^= 1
        >>> len(trilith.open(bytes(data)).verify()) > 0
        True
        """
    def set(
        self, path: str, value: Any, *, inline: bool = False, codec: str | None = None, level: int | None = None
    ) -> None:
        """Sets the value at a path, or adds a key, for the next `update()`.

        Comments, key order and everything else of the tree stay. Arrays get separate blocks, also those within dictionaries.

        Parameters
        ----------
        path : str
            The path of the item.
        value : object
            The new value, as `write` takes it.
        inline : bool
            Put arrays into the tree, not into blocks.
        codec : str, optional
            Codec of the arrays, as in `write`.
        level : int, optional
            Level of the codec.

        Raises
        ------
        ValueError
            If the file is closed, or cannot be changed.

        Examples
        --------
        >>> import tempfile, trilith
        >>> path = tempfile.mkdtemp() + "/x.asdf"
        >>> trilith.write(path, {"meta": {"filter": "F106", "seeing": 0.8}})
        >>> with trilith.open(path) as f:
        ...     f.set("/meta/filter", "F158")
        ...     f.update()
        >>> with trilith.open(path) as f:
        ...     f["meta/filter"]
        'F158'
        """
    def __setitem__(self, key: str, value: Any, /) -> None: ...
    def __delitem__(self, key: str, /) -> None: ...
    def delete(self, path: str) -> None:
        """Removes the item at a path, with the comment on its line, for the next `update()`.

        Parameters
        ----------
        path : str
            The path of the item.

        Raises
        ------
        KeyError
            If there is no such item.

        Examples
        --------
        >>> import tempfile, trilith
        >>> path = tempfile.mkdtemp() + "/x.asdf"
        >>> trilith.write(path, {"meta": {"filter": "F106", "seeing": 0.8}})
        >>> with trilith.open(path) as f:
        ...     f.delete("/meta/seeing")
        ...     f.update()
        >>> with trilith.open(path) as f:
        ...     f["meta"].to_dict()
        {'filter': 'F106'}
        """
    def rename(self, path: str, name: str) -> None:
        """Renames the key at a path, for the next `update()`. The item keeps its place.

        Parameters
        ----------
        path : str
            The path of the item.
        name : str
            The new key.

        Raises
        ------
        KeyError
            If there is no such item.

        Examples
        --------
        >>> import tempfile, trilith
        >>> path = tempfile.mkdtemp() + "/x.asdf"
        >>> trilith.write(path, {"meta": {"filter": "F106", "seeing": 0.8}})
        >>> with trilith.open(path) as f:
        ...     f.rename("/meta/filter", "band")
        ...     f.update()
        >>> with trilith.open(path) as f:
        ...     list(f["meta"])
        ['band', 'seeing']
        """
    def add_history_entry(self, description: str) -> None:
        """Adds an entry with the current time to the history, for the next `update()`.

        Parameters
        ----------
        description : str
            The text of the entry.

        Raises
        ------
        ValueError
            If the file is closed, or cannot be changed.

        Examples
        --------
        >>> import tempfile, trilith
        >>> path = tempfile.mkdtemp() + "/x.asdf"
        >>> trilith.write(path, {"meta": {"filter": "F106", "seeing": 0.8}})
        >>> with trilith.open(path) as f:
        ...     f.add_history_entry("flat field done")
        ...     f.update()
        >>> with trilith.open(path) as f:
        ...     f.history[0]["description"]
        'flat field done'
        """
    def write_to(
        self,
        target: str | os.PathLike[str] | BinaryIO,
        *,
        overwrite: bool = False,
        storage_options: dict[str, Any] | None = None,
    ) -> None:
        """Writes the file, with its changes, to another path. The file itself stays unchanged.

        Blocks are copied as they are stored.

        Parameters
        ----------
        target : str, os.PathLike or binary file object
            The new file, as in `write`: a path, the URL of an object, or an object with `write`.
        overwrite : bool
            Replace an object that exists, if the target is the URL of one. A file is always replaced.
        storage_options : dict, optional
            Credentials and places of the object store, as in `open`.

        Raises
        ------
        OSError
            If the target cannot be written.

        Examples
        --------
        >>> import io, trilith
        >>> out = io.BytesIO()
        >>> with trilith.open(trilith.dumps({"filter": "F106"})) as f:
        ...     f.write_to(out)
        >>> trilith.open(out.getvalue())["filter"]
        'F106'
        """
    def append(self, path: str | _Mapping[str, numpy.typing.ArrayLike], rows: numpy.typing.ArrayLike | None = None) -> None:
        """Appends rows to an array, or records to a list, and writes them at once.

        After a crash the file has the old rows.

        Parameters
        ----------
        path : str or dict
            The path of a streamed array, the last one of an ASDF file, as `Pieces` of unknown length make it. In a Dudley
            file, the path of a list, each row becoming one more item. A dict of paths and rows appends records of several
            variables of a Dudley file, all or none of them.
        rows : array_like, optional
            The rows, unless `path` is a dict.

        Raises
        ------
        NotImplementedError
            If the array cannot grow.

        Examples
        --------
        >>> import numpy, tempfile, trilith
        >>> path = tempfile.mkdtemp() + "/log.asdf"
        >>> trilith.write(path, {"log": trilith.Pieces([numpy.zeros((2, 3))], (None, 3), "f8")})
        >>> with trilith.open(path) as f:
        ...     f.append("log", numpy.ones((1, 3)))
        ...     f["log"].shape
        (3, 3)
        """
    def extend(self, items: _Mapping[str, Any]) -> None:
        """Appends items to the root of a Dudley file of the dialect 2025, and writes them at once.

        Parameters
        ----------
        items : dict
            The items, as `write` takes them.

        Raises
        ------
        NotImplementedError
            If the file has a tree. Set the items, and call `update()`.

        Examples
        --------
        >>> import numpy, tempfile, trilith
        >>> path = tempfile.mkdtemp() + "/run.bd"
        >>> trilith.write(path, {"t": numpy.arange(3.0)}, version="dudley-2025")
        >>> with trilith.open(path) as f:
        ...     f.extend({"x": numpy.zeros(2)})
        ...     list(f)
        ['t', 'x']
        """
    def update(self, *, in_place: bool = True) -> None:
        """Writes the changes into the file. No array is decoded.

        Parameters
        ----------
        in_place : bool
            Change the bytes of the file, with a rollback journal, if the tree fits into its space. Otherwise, or with False, a new
            file replaces this one.

        Raises
        ------
        OSError
            If another program changed the file since it was read, or if it cannot be written.

        Examples
        --------
        >>> import tempfile, trilith
        >>> path = tempfile.mkdtemp() + "/x.asdf"
        >>> trilith.write(path, {"meta": {"filter": "F106", "seeing": 0.8}})
        >>> with trilith.open(path) as f:
        ...     f["meta/seeing"] = 0.7
        ...     f.update()
        >>> with trilith.open(path) as f:
        ...     f["meta/seeing"]
        0.7
        """
    def _repr_html_(self) -> str: ...
    def _search(self, conditions: _Conditions) -> list[str]: ...
    # See _habits.py.
    def _ipython_key_completions_(self) -> list[str]: ...
    def search(
        self,
        key: _Several = None,
        value: _Several | float = None,
        *,
        path: str | None = None,
        tag: str | None = None,
        datatype: str | None = None,
        shape: str | _Iterable[int | None] | None = None,
    ) -> dict[str, Any]:
        """Returns the items that meet all conditions. Arrays are not read.

        Parameters
        ----------
        key : str or list of str, optional
            Regular expressions that the key must match.
        value : str, float or list of str, optional
            Regular expressions that the value must match, a number, or a comparison such as `">100"`.
        path : str, optional
            A pattern for the path, such as `"/roman/*/time"` or `"**/time"`.
        tag : str, optional
            A pattern for the tag, such as `"**unit-1.*"`.
        datatype : str, optional
            The datatype of an array.
        shape : tuple of int, optional
            The shape of an array. None matches any length.

        Returns
        -------
        dict
            The values by their paths.

        Raises
        ------
        ValueError
            If there is no condition, or if a regular expression has an error.

        Examples
        --------
        >>> import numpy, trilith
        >>> tree = {"meta": {"exposure": {"time": 139.8, "start_time": "2028-01-01"}}, "data": numpy.zeros((4, 5), "f4")}
        >>> f = trilith.open(trilith.dumps(tree))
        >>> f.search("time")
        {'/meta/exposure/time': 139.8, '/meta/exposure/start_time': '2028-01-01'}
        >>> f.search(value=">100")
        {'/meta/exposure/time': 139.8}
        >>> list(f.search(shape=(None, 5), datatype="float32"))
        ['/data']
        """
    def visititems(self, func: _Callable[[str, Any], _T | None]) -> _T | None:
        """Calls a function for each item below, in the order of the file, until it returns something other than None.

        Parameters
        ----------
        func : callable
            A function of a path and a value.

        Returns
        -------
        object
            The result that ended the calls, or None.

        Raises
        ------
        Exception
            The exceptions of `func`.

        Examples
        --------
        >>> import numpy, trilith
        >>> f = trilith.open(trilith.dumps({"roman": {"meta": {"filter": "F106"}, "data": numpy.zeros(3)}}))
        >>> f["roman"].visititems(lambda path, value: print(path))
        meta
        meta/filter
        data
        >>> f.visititems(lambda path, value: path if isinstance(value, trilith.Array) else None)
        'roman/data'
        """
    def to_json(self, *, inline: bool = False, indent: int | None = None) -> str:
        """Returns a mapping, a list or the whole tree as JSON.

        Numbers that are not finite are the strings "NaN", "Infinity" and "-Infinity". Dates, complex numbers and bytes (base 64) are
        strings.

        Parameters
        ----------
        inline : bool
            Write the elements of arrays, masked ones as null. Otherwise an array is its datatype and shape.
        indent : int, optional
            Number of spaces for each level. Without it the result is one line.

        Returns
        -------
        str

        Raises
        ------
        ValueError
            If the tree contains itself.

        Examples
        --------
        >>> import numpy, trilith
        >>> f = trilith.open(trilith.dumps({"meta": {"seeing": float("nan")}, "data": numpy.arange(3, dtype="i2")}))
        >>> f["meta"].to_json()
        '{"seeing": "NaN"}'
        >>> f.to_json(inline=True).endswith('"data": [0, 1, 2]}')
        True
        """

@final
class Asdf:
    """The parts of an open file that only the ASDF family has: tree text, history, blocks.

    Examples
    --------
    >>> import trilith
    >>> f = trilith.open(trilith.dumps({"a": 1}))
    >>> f.asdf.standard, f.asdf.history, f.asdf.text.splitlines()[-2:]
    ('1.6.0', [], ['a: 1', '...'])
    """

    @property
    def text(self) -> str:
        """The YAML text of the tree, byte for byte."""
    @property
    def standard(self) -> str | None:
        """The version of the ASDF standard that the file states, or None."""
    @property
    def history(self) -> list[dict[str, Any]]:
        """The entries of the history, the oldest first, each a dictionary with a `description` and a `time`."""
    def add_history_entry(self, description: str) -> None:
        """Adds an entry with the current time to the history, for the next `update()`.

        Parameters
        ----------
        description : str
            The text of the entry.

        Raises
        ------
        ValueError
            If the file is closed, or cannot be changed.

        Examples
        --------
        >>> import tempfile, trilith
        >>> path = tempfile.mkdtemp() + "/x.asdf"
        >>> trilith.write(path, {"meta": {"filter": "F106", "seeing": 0.8}})
        >>> with trilith.open(path) as f:
        ...     f.asdf.add_history_entry("flat field done")
        ...     f.update()
        >>> with trilith.open(path) as f:
        ...     f.asdf.history[0]["description"]
        'flat field done'
        """
    def block(self, number: int) -> Array:
        """Returns the decoded bytes of a block as an array of uint8.

        Parameters
        ----------
        number : int
            The number of the block. A streamed block is number -1, or the last.

        Returns
        -------
        Array

        Raises
        ------
        ValueError
            If there is no such block.

        Examples
        --------
        >>> import numpy, trilith
        >>> f = trilith.open(trilith.dumps({"a": numpy.arange(3, dtype="u1")}))
        >>> f.asdf.block(0).tolist()
        [0, 1, 2]
        """

@final
class Picture:
    """A picture of an array, as `show` returns it. A notebook draws it."""

    @property
    def range(self) -> tuple[float, float] | None:
        """The numbers that have the first and the last colour; None of a plot, and of an array of colours."""
    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the picture to a file.

        Parameters
        ----------
        path : str or os.PathLike
            The file: `.png` for an image, `.svg` for a plot.

        Raises
        ------
        ValueError
            If the extension does not fit the picture.

        Examples
        --------
        >>> import numpy, pathlib, tempfile, trilith
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "x.png"
        >>> trilith.show(numpy.eye(3)).save(path)
        >>> path.read_bytes()[1:4]
        b'PNG'
        """
    def _repr_png_(self) -> bytes | None: ...
    def _repr_svg_(self) -> str | None: ...

@final
class ParallelWriter:
    """A file that many processes write: see `trilith.create`. As a context manager it finishes the file at the end, and aborts
    it if an exception is raised.
    """

    @property
    def path(self) -> str:
        """The path of the file that is to be."""
    @property
    def id(self) -> str:
        """The identifier of this file, which no other file at the same path had or will have."""
    @property
    def arrays(self) -> dict[str, tuple[tuple[int, ...], numpy.dtype[Any]]]:
        """The paths of the arrays that are reserved, each with shape and dtype."""
    @property
    def unwritten(self) -> dict[str, int]:
        """Number of elements of each array that were not written yet."""
    def write_region(self, path: str, region: Any, data: numpy.typing.ArrayLike) -> None:
        """Writes a region of an array. When it returns, the elements are on the disk.

        Any number of processes and threads may write at the same time, if their regions do not overlap. Whole rows of some megabytes
        are fastest.

        Parameters
        ----------
        path : str
            The path of the array.
        region : int, slice, Ellipsis, or tuple of these
            The region, as numpy takes it.
        data : array_like
            The elements, with the shape of the region and the dtype of the array, in any byte order.

        Raises
        ------
        ValueError
            If the data do not fit the region.
        OSError
            If the file was finished, removed or begun again.

        Examples
        --------
        >>> import numpy, tempfile, trilith
        >>> path = tempfile.mkdtemp() + "/x.asdf"
        >>> work = trilith.create(path, {"data": trilith.Reserved((2, 3), "f4")})
        >>> work.write_region("data", 0, numpy.ones(3, "f4"))
        >>> work.unwritten
        {'/data': 3}
        """
    def finish(self, *, fill: Any = None) -> None:
        """Computes the checksums and puts the file in place. No process may be writing.

        Parameters
        ----------
        fill : number, optional
            The value of elements that were not written. Without it such elements are an error.

        Raises
        ------
        ValueError
            If elements were not written. The message has their number.

        Examples
        --------
        >>> import numpy, tempfile, trilith
        >>> path = tempfile.mkdtemp() + "/x.asdf"
        >>> work = trilith.create(path, {"data": trilith.Reserved((2, 3), "f4")})
        >>> work.write_region("data", 0, numpy.ones(3, "f4"))
        >>> work.finish(fill=0)
        >>> trilith.open(path)["data"].tolist()
        [[1.0, 1.0, 1.0], [0.0, 0.0, 0.0]]
        """
    def abort(self) -> None:
        """Removes the unfinished file. A file that was at the path before stays.

        Raises
        ------
        OSError
            If the file cannot be removed.

        Examples
        --------
        >>> import numpy, tempfile, trilith
        >>> path = tempfile.mkdtemp() + "/x.asdf"
        >>> work = trilith.create(path, {"data": trilith.Reserved((2, 3), "f4")})
        >>> work.abort()
        """
    def __getitem__(self, path: str) -> Any: ...
    def __enter__(self) -> ParallelWriter: ...
    def __exit__(self, kind: type[BaseException] | None = None, *_args: object) -> None: ...

@final
class Layout:
    """A layout: the byte offset of every array of a binary file, in the Dudley language.

    `trilith.open(path, layout=...)` reads any file under one.

    >>> import trilith
    >>> layout = trilith.Layout("N : <i4  x = <f8[N]")
    >>> layout.dialect, list(layout.items())
    ('2025', [('N', 'param'), ('x', 'data')])
    >>> f = trilith.open(bytes([2, 0, 0, 0, 0, 0, 0, 0]) + bytes(16), layout=layout)
    >>> f["x"].shape, f["N"]
    ((2,), 2)

    One layout describes every file of a family: `Layout("run.dud").write("r0001.bd", N=2, x=...)` writes one of
    them, and `catalog` lists many.
    """

    def __new__(cls, text: str | bytes | os.PathLike[str]) -> Layout: ...
    @staticmethod
    def read(path: str | os.PathLike[str]) -> Layout:
        """Reads a layout from a file.

        Parameters
        ----------
        path : str or os.PathLike
            The file with the text of the layout.

        Returns
        -------
        Layout

        Raises
        ------
        FormatError
            If the text has an error. The message has line and column.

        Examples
        --------
        >>> import pathlib, tempfile, trilith
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "x.dud"
        >>> _ = path.write_text("x = f8[3]")
        >>> trilith.Layout.read(path).items()
        [('x', 'data')]
        """
    @property
    def dialect(self) -> str:
        """The dialect: "2025" or "2026"."""
    @property
    def text(self) -> str:
        """The text, as it was given."""
    def write(
        self,
        path: str | os.PathLike[str],
        values: dict[str, Any] | None = None,
        /,
        *,
        embed: bool = True,
        byteorder: str | None = None,
        **items: int | numpy.typing.ArrayLike,
    ) -> None:
        """Writes a native file with this layout. An existing file is replaced when all is written.

        Each stored parameter needs an integer, and each item an array of the datatype and shape that the layout gives. A list needs its
        elements along the first axis. A member of `"" = {...}[NREC]` counts as an item.

        Parameters
        ----------
        path : str or os.PathLike
            The file to write.
        values : dict, optional
            Parameters and items by their paths, for names that are not keywords of Python.
        embed : bool
            Put the layout at the end of the file.
        byteorder : {"little", "big"}, optional
            The byte order, if the layout does not have it.
        **items
            Parameters and items by their names.

        Raises
        ------
        ValueError
            If a value is missing, or does not fit the layout.

        Examples
        --------
        >>> import numpy, tempfile, trilith
        >>> layout = trilith.Layout("{ N : i8 }  rho = f8[N]")
        >>> path = tempfile.mkdtemp() + "/r0001.bd"
        >>> layout.write(path, N=2, rho=numpy.array([1.5, 2.5]))
        >>> trilith.open(path)["rho"][:].tolist()
        [1.5, 2.5]
        """
    def create(
        self,
        path: str | os.PathLike[str],
        values: dict[str, Any] | None = None,
        /,
        *,
        byteorder: str | None = None,
        **items: Any,
    ) -> ParallelWriter:
        """Begins a native file with this layout that many processes write, as `trilith.create` does.

        Each `trilith.Reserved` gets its space, and everything else is written at once. Then each process writes the blocks of
        its domain with `write_region`.

        Parameters
        ----------
        path : str or os.PathLike
            The path of the finished file.
        values : dict, optional
            Parameters and items by their paths, for names that are not keywords of Python.
        byteorder : {"little", "big"}, optional
            The byte order, if the layout does not have it.
        **items
            Parameters and items by their names, with `trilith.Reserved` for the arrays that processes write.

        Returns
        -------
        ParallelWriter

        Raises
        ------
        OSError
            If the file cannot be written, or if another writer has begun it.
        ValueError
            If a value is missing or does not fit the layout, or if no `trilith.Reserved` is among them.

        Examples
        --------
        >>> import numpy, tempfile, trilith
        >>> layout = trilith.Layout("{ nx : i8  ny : i8 }  rho = f8[ny, nx]")
        >>> path = tempfile.mkdtemp() + "/run.bd"
        >>> work = layout.create(path, nx=4, ny=2, rho=trilith.Reserved((2, 4), "f8"))
        >>> for rank in range(2):  # in as many processes
        ...     work.write_region("rho", (slice(None), slice(2 * rank, 2 * rank + 2)), numpy.full((2, 2), float(rank)))
        >>> work.finish()
        >>> trilith.open(path)["rho"][0].tolist()
        [0.0, 0.0, 1.0, 1.0]
        """
    def catalog(
        self,
        files: str | os.PathLike[str] | _Iterable[str | os.PathLike[str]],
        path: str | os.PathLike[str],
        *,
        byteorder: str | None = None,
        add: bool = False,
    ) -> None:
        """Writes a catalog of files that have this layout, with the parameters of each file.

        The catalog holds the layout, so `trilith.open(path)` opens all files as one.

        Parameters
        ----------
        files : str, os.PathLike, or list of these
            The files: paths, folders and patterns such as `"runs/*.bd"` in the folder of the catalog or below it, and URLs. To
            read a catalog with URLs, allow them with `trilith.open(path, allow=["https://…/"])`.
        path : str or os.PathLike
            The catalog to write.
        byteorder : {"little", "big"}, optional
            The byte order of files without a signature, if the layout does not have it.
        add : bool
            Keep the files that the catalog already lists, and add `files`.

        Raises
        ------
        ValueError
            If a file is outside of the folder of the catalog, or contradicts its parameters. For example, it ends before its data
            end.

        Examples
        --------
        >>> import numpy, tempfile, trilith
        >>> folder = tempfile.mkdtemp()
        >>> layout = trilith.Layout("{ N : i8 }  rho = f8[N]")
        >>> for n in range(3):
        ...     layout.write(f"{folder}/r{n}.bd", N=2, rho=numpy.full(2, float(n)))
        >>> layout.catalog(f"{folder}/r*.bd", f"{folder}/runs.bd")
        >>> trilith.open(f"{folder}/runs.bd")["rho"][:, 0].tolist()
        [0.0, 1.0, 2.0]
        """
    def translate(self, dialect: str) -> tuple[str, list[str]]:
        """Returns the layout in another dialect.

        Parameters
        ----------
        dialect : {"2025", "2026"}
            The other dialect.

        Returns
        -------
        tuple of str and list of str
            The text, and a line for each thing that the dialect cannot express.

        Raises
        ------
        ValueError
            If there is no such dialect.

        Examples
        --------
        >>> import trilith
        >>> text, lost = trilith.Layout("x = f8[3]").translate("2026")
        >>> lost
        []
        """
    def items(self) -> list[tuple[str, str]]:
        """Returns the items outside of lists.

        Returns
        -------
        list of tuple of str
            The path of each item without the first `/`, and its kind: "dict", "list", "param" or "data".

        Examples
        --------
        >>> import trilith
        >>> trilith.Layout("N : <i4  x = <f8[N]").items()
        [('N', 'param'), ('x', 'data')]
        """
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

_Source: TypeAlias = str | os.PathLike[str] | bytes | bytearray | memoryview | BinaryIO
_Layout: TypeAlias = Layout | str | os.PathLike[str]

def open(
    source: _Source,
    *,
    memmap: bool = True,
    layout: _Layout | None = None,
    family: _Layout | bool | None = None,
    byteorder: str | None = None,
    allow: _Iterable[str] = (),
    remote: dict[str, Any] | None = None,
    storage_options: dict[str, Any] | None = None,
    raw: bool = False,
    stored: bool = False,
    files: int | slice | str | list[int | slice | str] | None = None,
    where: str | None = None,
) -> File:
    """Opens a file of any format.

    Only the metadata are read. Arrays are read when they are indexed.

    Parameters
    ----------
    source : str, os.PathLike, bytes or file object
        A path, a URL (`https://…`, `s3://bucket/key`, `gs://…`, `az://…`), the bytes of a file, or a binary file
        object, also of fsspec and obstore.
    memmap : bool
        Map a local file into memory, so that uncompressed arrays need no copy. If another program shortens the
        file while such an array is in use, the process ends, as with every memory map.
    layout : Layout, str or os.PathLike, optional
        The layout under which the bytes are read: a `Layout`, its path, or its text.
    family : Layout, str, os.PathLike or bool, optional
        The layout of the files of a file set, whose catalog `source` is. A catalog that holds the layout needs none. Each
        item is then one array, whose first axis counts the files. `True` requires such a catalog, and `False` opens it as
        the file that it is, with its lists of names and parameters.
    byteorder : {"little", "big"}, optional
        The byte order, if neither the layout nor the file has it.
    allow : list of str
        Places outside of the folder of the file to which references may lead: folders (`"../shared/"`, relative to the
        working directory, or `"file:///data/"`), or the beginnings of URLs (`"https://data.example.org/"`).
    remote : dict, optional
        Options for remote files, such as `{"timeout": 5}`; docs/remote.md lists them.
    storage_options : dict, optional
        Credentials and places of an object store, with the names that fsspec uses: `{"anon": True}`, `{"profile": "mine"}`,
        `{"account_name": "mine"}`. They go before the environment.
    raw : bool
        The files of the file set have no signature, if the catalog does not record it.
    stored : bool
        Give the elements of arrays as the file stores them. Otherwise they are physical values: scale, offset and the like
        are applied, and missing values are masked.
    files : slice, int, str, or list of these, optional
        The files of the file set to take, counted from 0 as in its catalog, such as `slice(0, 10)` or `[3, 5]`. A string is the
        form of items whose shape differs between the files: `"pad"` masks the elements that a file does not have, `"each"`
        gives a list with the array of each file, and `"along=nx"` joins items along the axis of this name.
    where : str, optional
        Of these files only those whose values in the summary block meet this condition, such as `"time > 3.5"`.

    Returns
    -------
    File

    Raises
    ------
    FormatError
        If the file breaks the rules of its format.
    NotImplementedError
        If the format, or something that the file needs, is not supported.
    OSError
        If the file cannot be read.

    Examples
    --------
    >>> import trilith
    >>> with trilith.open(trilith.dumps({"exposure": 139.8})) as f:
    ...     f["exposure"]
    139.8
    """
def write(
    target: str | os.PathLike[str] | BinaryIO,
    tree: _Mapping[Any, Any] | _Keyed | File,
    *,
    codec: str | None = None,
    level: int | None = None,
    version: str | None = None,
    checksums: bool = True,
    inline: bool | int | None = None,
    overwrite: bool = False,
    storage_options: dict[str, Any] | None = None,
) -> None:
    """Writes a file.

    A path is replaced only when everything is written. The URL of an object (`s3://bucket/key`, `gs://`, `az://`) is uploaded
    when everything is written. It must not exist, unless `overwrite` is set.

    Parameters
    ----------
    target : str, os.PathLike or binary file object
        The path of the file, or an object with `write`. Without `version` a path that ends in `.bd` becomes a native Dudley
        file, anything else ASDF 1.6.
    tree : dict
        Dictionaries, lists, scalars and arrays.
    codec : {"zlib", "bzp2", "lz4", "zstd", "blsc", "lz4f"}, optional
        Codec of the arrays. Without it arrays are stored uncompressed, so that reading them needs no copy.
    level : int, optional
        Level of the codec.
    version : str, optional
        Version of the ASDF standard, "1.0" to "1.6", or "dudley-2025" or "dudley-2026" for a native Dudley file.
    checksums : bool
        Store a checksum of each block.
    inline : bool or int, optional
        Put arrays of up to this number of elements into the tree; `True` means all.
    overwrite : bool
        Replace an object that exists, if the target is the URL of one. A file is always replaced.
    storage_options : dict, optional
        Credentials and places of the object store, as in `open`.

    Raises
    ------
    ValueError
        If the name of the file belongs to another format, such as `.fits` or `.h5`. Use `convert` to write FITS.

    Examples
    --------
    >>> import io, numpy, trilith
    >>> out = io.BytesIO()
    >>> trilith.write(out, {"data": numpy.zeros((2, 3), "f4"), "unit": "m"}, codec="lz4")
    >>> trilith.open(out)["data"].shape
    (2, 3)
    """
def create(path: str | os.PathLike[str], tree: Any, *, version: str | None = None) -> ParallelWriter:
    """Begins a file that many processes write.

    Each `trilith.Reserved` of the tree gets its space, and everything else is written at once. The new file is hidden next to
    `path` until `finish()` puts it in place. A file at `path` stays until then, and no reader takes the hidden one for complete.
    The writer can be pickled: processes that reach the same disk by the same path, on this machine or another, write regions of
    the arrays.

    Parameters
    ----------
    path : str or os.PathLike
        The path of the finished file. Without `version` a path that ends in `.bd` becomes a native Dudley file. To write one
        under a layout of your own, use `Layout.create`.
    tree : dict
        The tree, as in `write`, with `trilith.Reserved` for the arrays that processes write.
    version : str, optional
        Version of the ASDF standard, or "dudley-2025" or "dudley-2026" for a native Dudley file.

    Returns
    -------
    ParallelWriter

    Raises
    ------
    OSError
        If the file cannot be written, or if another writer has begun it.
    ValueError
        If the tree has no `trilith.Reserved`.

    Examples
    --------
    >>> import numpy, tempfile, trilith
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = f"{folder.name}/cube.asdf"
    >>> work = trilith.create(path, {"exposure": 139.8, "data": trilith.Reserved((4, 3), "f4")})
    >>> for row in range(4):  # in as many processes
    ...     work.write_region("data", row, numpy.full(3, row, "f4"))
    >>> work.finish()
    >>> trilith.open(path)["data"][2]
    array([2., 2., 2.], dtype=float32)
    """
def resume(path: str | os.PathLike[str], *, id: str | None = None) -> ParallelWriter:
    """Opens a file that `trilith.create` has begun, to write regions of it, to finish or to abort it.

    Parameters
    ----------
    path : str or os.PathLike
        The path of the finished file.
    id : str, optional
        The `id` of the writer, if it must be exactly that one.

    Returns
    -------
    ParallelWriter

    Raises
    ------
    OSError
        If no such file was begun, or if it has another `id`.

    Examples
    --------
    >>> import numpy, tempfile, trilith
    >>> path = tempfile.mkdtemp() + "/x.asdf"
    >>> work = trilith.create(path, {"data": trilith.Reserved((2, 3), "f4")})
    >>> trilith.resume(path).write_region("data", ..., numpy.ones((2, 3), "f4"))
    >>> work.finish()
    >>> trilith.open(path)["data"].sum()
    np.float32(6.0)
    """
def convert(
    source: _Source,
    target: str | os.PathLike[str],
    *,
    to: str | None = None,
    codec: str | None = None,
    level: int | None = None,
    rows: int | None = None,
    chunks: tuple[int, ...] | list[int] | None = None,
    stack: bool = False,
    allow_loss: bool = False,
    skip_unreadable: bool = False,
    overwrite: bool = False,
    layout: _Layout | None = None,
    byteorder: str | None = None,
    allow: _Iterable[str] = (),
    remote: dict[str, Any] | None = None,
    storage_options: dict[str, Any] | None = None,
) -> list[str]:
    """Converts a file to another format, version or codec.

    The target is replaced only when everything is written. It may be the source.

    Parameters
    ----------
    source : str, os.PathLike, bytes or file object
        The file, as in `open`.
    target : str or os.PathLike
        The new file. Without `to` its extension selects the format: `.asdf`, `.bd`, `.fits` or `.finf`.
    to : str, optional
        The format version, such as "asdf-1.6", "finf-0.1", "dudley-2025" or "dudley-2026".
    codec : str, optional
        Codec of the blocks, as in `write`; "none" stores them uncompressed. Without it blocks keep their codec.
    level : int, optional
        Level of the codec.
    rows : int, optional
        Compress blocks with lz4 in pieces of this number of rows, each of which can be a Zarr chunk.
    chunks : tuple of int, optional
        Length of a chunk along each axis. Arrays with this number of axes are cut into chunks, for readers with the
        package asdf-zarr.
    stack : bool
        Join each list of equal arrays of a Dudley file into one array.
    allow_loss : bool
        Write the file even if the new form cannot hold everything. Otherwise that is an error.
    skip_unreadable : bool
        Leave out items that cannot be read.
    overwrite : bool
        Replace an object that exists, if the target is the URL of one. A file is always replaced.
    layout, byteorder, allow, remote, storage_options
        As in `open`.

    Returns
    -------
    list of str
        The losses, and the items that were left out.

    Raises
    ------
    ValueError
        If the target cannot hold everything and `allow_loss` is not set. The message lists the losses.
    NotImplementedError
        If the conversion is not supported.
    OSError
        If a file cannot be read or written.

    Examples
    --------
    >>> import numpy, pathlib, tempfile, trilith
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> trilith.write(folder / "x.asdf", {"a": numpy.array([1.5, 2.5])})
    >>> trilith.convert(folder / "x.asdf", folder / "x.bd")
    []
    >>> trilith.open(folder / "x.bd")["a"].tolist()
    [1.5, 2.5]
    """
def show(
    array: Any,
    *,
    interval: str = "zscale",
    range: tuple[float, float] | None = None,
    stretch: str = "linear",
    cmap: str = "gray",
    resample: str = "mean",
    width: int | None = None,
    origin: str = "upper",
) -> Picture:
    """Draws an array.

    An array of two axes becomes an image, and one of one axis a plot. Of an array with more axes the first plane is drawn. A
    notebook shows the result.

    Parameters
    ----------
    array : Array or array_like
        An array of a file, of which only the needed part is read, or any array that numpy takes.
    interval : str
        Numbers that have the first and the last colour: "minmax", "zscale", "percentile:P" or "percentile:LO,HI".
    range : tuple of float, optional
        These two numbers, in place of `interval`.
    stretch : str
        Scale of the numbers between them: "linear", "sqrt", "log", "asinh" or "power:P".
    cmap : str
        Colour map. Add `_r` to reverse it.
    resample : {"mean", "max", "nearest"}
        Reduction of several elements to one pixel.
    width : int, optional
        Width in pixels.
    origin : {"upper", "lower"}
        Place of the first row.

    Returns
    -------
    Picture
        Its method `save` writes it to a file.

    Raises
    ------
    ValueError
        If an option has no such value, or if the array has no elements to draw.

    Examples
    --------
    >>> import numpy, trilith
    >>> picture = trilith.show(numpy.arange(12.0).reshape(3, 4), interval="minmax", cmap="viridis")
    >>> picture
    <trilith.Picture of float64 (3, 4), 96 B>
    >>> picture.range
    (0.0, 11.0)
    """
def _check_view(array: Any) -> None:
    """Compares the checksum of the block that a NumPy array is a view of: see [`check_lent`]."""
def _write_parts(
    target: str | os.PathLike[str] | BinaryIO,
    version: str,
    comments: list[str],
    text: str,
    blocks: list[tuple[numpy.typing.NDArray[Any], bytes | None, int | None]],
    *,
    checksums: bool = True,
    index: bool = True,
) -> None: ...
def _table(
    files: list[str],
    columns: list[tuple[str, str]],
    condition: str | None,
    covers: tuple[float, float, float] | None,
    each: str | None,
    sort: str | None,
    hidden: bool,
    layout: _Layout | None,
    byteorder: str | None,
    allow: list[str],
    remote: dict[str, Any] | None,
    storage_options: dict[str, Any] | None,
) -> tuple[list[str], list[str], list[list[Any]], list[tuple[str, Exception]], list[str]]:
    """The table of `trilith.table`, column by column."""
def _decodes(label: bytes) -> bool:
    """Returns `True` if blocks of this codec, as the file names it, can be read."""
def _load_yaml(text: bytes, classes: tuple[type, type, type]) -> Any:
    """A YAML text as `asdf` parses it, or nothing if PyYAML has to read it (and to say what is wrong with it)."""
def _toward(old: str, new: str) -> str | None:
    """The text of a tree with the content of `new`. Everything that `old` has as well keeps its text, with
    its comments; None if that cannot be.
    """
def _command(words: list[str]) -> int:
    """Runs the command `trilith` with these words, its own name first, and returns its exit status."""
def _hierarchy(
    opened: File,
) -> tuple[list[tuple[str, dict[str, Any], Array | None, list[str], str | None, Any]], list[tuple[str, str]]]:
    """The nodes of an open file, and what cannot be reached with the reason."""
def _conventions(group: _Keyed, arrays: list[tuple[str, int]]) -> list[list[str] | None]:
    """The names that the arrays of these keys and numbers of axes have by what their group says; None if nothing says them."""
class _AxisNames:
    """Names of the axes of arrays in a group and the groups below it."""

    def __new__(cls) -> _AxisNames: ...
    def __copy__(self) -> _AxisNames:
        """Those that a group below begins with."""
    def name(self, arrays: list[tuple[str, tuple[int, ...], list[str | None] | None]], first: list[str]) -> list[list[str]]:
        """The names of the axes of arrays: each is a key, a shape, and what is said of its axes. `first` are the names of the
        first axes of all.
        """

@final
class _Wcs:
    """Coordinates of a file, for columns of numbers."""

    def columns(
        self, points: list[numpy.typing.NDArray[numpy.float64]], to_pixels: bool, boxed: bool, inverse: str
    ) -> list[numpy.typing.NDArray[numpy.float64]]:
        """World coordinates of pixels, or pixels of world coordinates: a contiguous column for each axis."""
    def point(self, point: list[float], to_pixels: bool, boxed: bool, inverse: str) -> list[float]:
        """The same for one point."""
    def between(
        self, start: str, end: str, points: list[numpy.typing.NDArray[numpy.float64]]
    ) -> list[numpy.typing.NDArray[numpy.float64]]:
        """Points brought from one frame to another."""
    def contains(self, lon: numpy.typing.NDArray[numpy.float64], lat: numpy.typing.NDArray[numpy.float64]) -> list[bool]:
        """Returns `true` for each of some positions that a pixel has."""
    def jacobian(self, pixel: list[float]) -> list[list[float]]:
        """Derivatives of the world coordinates at a pixel, row by row."""
    def footprint(self) -> list[list[float]] | None:
        """Corners of the extent on the sky, in degrees."""
    def fits_header(self, order: int | None, max_error: float | None) -> list[tuple[str, Any, str]]:
        """Cards of a FITS header: keyword, value and comment."""
    def about(self) -> dict[str, Any]:
        """Describes the coordinates, by name."""
def _cutout(
    opened: File, path: str, sky: list[float], size: str, edge: str, fill: float | None, only: list[str]
) -> tuple[bytes, list[str]] | None:
    """The pixels around a position, as the bytes of a file, and remarks about them; None if there is no cutout."""
def _wcs_at(opened: File, path: str) -> _Wcs | None:
    """The coordinates at a path of an open file."""
def _wcs_of_array(array: Array) -> _Wcs | None:
    """The coordinates of an array."""
def _state(opened: File) -> tuple[str, str | None, bool]:
    """Returns the name of an open file, a word for its version when it was opened, and whether it has changed since."""
def _manifest(
    array: Array, rows: int | None = None
) -> tuple[str, list[int], bool, list[dict[str, Any]], numpy.typing.NDArray[numpy.uint64], numpy.typing.NDArray[numpy.uint64], bytes, str | None]:
    """Returns the places of the chunks of an array: the name of their file, the lengths of a chunk, whether its
    elements are in Fortran order, codecs of numcodecs, offsets and lengths (0 if a chunk was never written), an
    element that was never written, and the byte order if there is one.
    """
def _tiles(arrays: list[Array], bytes: int) -> list[list[int]]:
    """For each array the lengths of parts of about `bytes` bytes that can be decoded with little waste."""
def _read_together(parts: list[tuple[Array, numpy.typing.NDArray[Any]]]) -> None:
    """Reads parts of arrays, each into a C-contiguous array of its shape and dtype: their bytes are requested together."""
