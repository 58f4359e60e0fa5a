"""Conversions for which Python has modules: dates, base 64, numbers of other libraries."""

import binascii
import datetime
import errno
import numbers
import os
import pathlib
import re
import sys
import tempfile
import threading
import typing
from collections import abc

import numpy

if typing.TYPE_CHECKING:
    import numpy.typing

from ._trilith import Sequence

# Bytes of a mask that are held in memory.
_PIECE = 4 << 20


@typing.final
class TaggedString(str):
    """A scalar with a tag, such as ``!unit/unit-1.0.0 m``: its text, and the whole tag.

    >>> import trilith
    >>> unit = trilith.TaggedString("m", "tag:stsci.edu:asdf/unit/unit-1.0.0")
    >>> f = trilith.open(trilith.dumps({"unit": unit}))
    >>> f["unit"], f["unit"].tag
    ('m', 'tag:stsci.edu:asdf/unit/unit-1.0.0')
    """

    __slots__ = ("tag",)
    tag: str

    def __new__(cls, text: str, tag: str) -> "TaggedString":
        self = super().__new__(cls, text)
        self.tag = tag
        return self

    def __reduce__(self):
        return TaggedString, (str(self), self.tag)


class Attributes(dict[str, typing.Any]):
    """The attributes of an item, by name: numpy scalars and arrays with the datatype of the file, strings, and None for an attribute
    without a value. The values of a name that repeats, such as COMMENT of FITS, are a list. The reason why an attribute cannot be read
    is an exception, which looking it up raises.

    Attributes
    ----------
    comments : dict of str
        The comments, by the names of the attributes that have one.
    units : dict of str
        The units of values, by the names of the attributes that have one.

    >>> import trilith
    >>> import numpy
    >>> layout = trilith.Layout("x = u1 #: gain=2.5, bits=12")
    >>> attrs = trilith.open(b"\\x01", layout=layout)["x"].attrs
    >>> attrs["gain"], attrs.all("bits"), attrs.to_dict()
    (np.float64(2.5), [np.int64(12)], {'gain': 2.5, 'bits': 12})
    """

    __slots__ = ("_ignores_case", "_repeated", "comments", "units")

    def __init__(self, *args: typing.Any, **kwargs: typing.Any) -> None:
        super().__init__(*args, **kwargs)
        self.comments: dict[str, str] = {}
        self.units: dict[str, str] = {}
        self._repeated: set[str] = set()
        self._ignores_case = False

    @classmethod
    def _of_rows(cls, rows, ignores_case):
        made = cls()
        made._ignores_case = ignores_case
        for name, value, comment, unit in rows:
            if name in made._repeated:
                dict.__getitem__(made, name).append(value)
            elif name in made:
                made._repeated.add(name)
                dict.__setitem__(made, name, [dict.__getitem__(made, name), value])
            else:
                dict.__setitem__(made, name, value)
            if comment is not None:
                made.comments.setdefault(name, comment)
            if unit is not None:
                made.units.setdefault(name, unit)
        return made

    def __getitem__(self, name: str) -> typing.Any:
        return _readable(super().__getitem__(name))

    def get(self, name: str, default: typing.Any = None) -> typing.Any:
        """Returns the value of an attribute, or a default if there is none of the name.

        Parameters
        ----------
        name : str
            The name of the attribute.
        default : object, optional
            The value for a name that is missing.

        Returns
        -------
        object
            The value, or `default`.

        Examples
        --------
        >>> import trilith
        >>> layout = trilith.Layout("x = u1 #: bits=12")
        >>> trilith.open(b"\\x01", layout=layout)["x"].attrs.get("gain", 1.0)
        1.0
        """
        return _readable(super().get(name, default))

    def __missing__(self, name):
        upper = name.upper() if self._ignores_case and isinstance(name, str) else name
        if upper != name and upper in self:
            return self[upper]
        raise KeyError(name)

    def all(self, name: str) -> list[typing.Any]:
        """Returns the values of a name, in the order of the file.

        Parameters
        ----------
        name : str
            The name of the attribute.

        Returns
        -------
        list
            One value for each attribute of that name; empty if there is none.

        Examples
        --------
        >>> import trilith
        >>> layout = trilith.Layout("x = u1 #: bits=12")
        >>> trilith.open(b"\\x01", layout=layout)["x"].attrs.all("bits")
        [np.int64(12)]
        """
        if name not in self:
            return []
        return list(self[name]) if name in self._repeated else [self[name]]

    def to_dict(self) -> dict[str, typing.Any]:
        """Returns the attributes as plain values of Python, for JSON.

        Returns
        -------
        dict
            Numbers, strings, lists and None; bytes in base 64.

        Examples
        --------
        >>> import trilith
        >>> layout = trilith.Layout("x = u1 #: bits=12")
        >>> trilith.open(b"\\x01", layout=layout)["x"].attrs.to_dict()
        {'bits': 12}
        """
        return {name: _plain(value) for name, value in self.items()}

    def __reduce__(self):
        state = (self.comments, self.units, self._repeated, self._ignores_case)
        return _attributes, (dict(self), *state)


def _attributes(values, comments, units, repeated, ignores_case):
    made = Attributes(values)
    made.comments, made.units, made._repeated, made._ignores_case = comments, units, repeated, ignores_case
    return made


def _readable(value):
    if isinstance(value, Exception):
        raise value.with_traceback(None)
    return value


def _plain(value):
    if isinstance(value, Exception):
        return f"(unreadable: {value})"
    if isinstance(value, (numpy.generic, numpy.ndarray)):
        value = value.tolist()
    if isinstance(value, list):
        return [_plain(one) for one in value]
    if isinstance(value, bytes):
        return binascii.b2a_base64(value, newline=False).decode()
    return str(value) if isinstance(value, complex) else value


@typing.final
class TaggedDict(dict[typing.Any, typing.Any]):
    """A dictionary with the tag of the mapping that it was, such as ``!unit/quantity-1.2.0``.

    >>> import trilith
    >>> f = trilith.open(trilith.dumps({"q": trilith.TaggedDict({"value": 2.0}, "tag:example.org:quantity-1.0.0")}))
    >>> changed = f.to_dict()
    >>> changed["q"]["value"] = 3.0
    >>> trilith.open(trilith.dumps(changed))["q"].tag
    'tag:example.org:quantity-1.0.0'
    """

    __slots__ = ("tag",)
    tag: str

    def __init__(self, pairs: typing.Any, tag: str) -> None:
        super().__init__(pairs)
        self.tag = tag

    def __reduce__(self):
        return TaggedDict, ((), self.tag), None, None, iter(self.items())


class TaggedList(list[typing.Any]):
    """A list with the tag of the sequence that it was."""

    __slots__ = ("tag",)
    tag: str

    def __init__(self, items: typing.Any, tag: str) -> None:
        super().__init__(items)
        self.tag = tag

    def __reduce__(self):
        return TaggedList, ((), self.tag), None, iter(self)


class Pieces:
    """An array that is written piece by piece, because it does not fit into memory.

    `pieces` is iterated when the file is written. It yields arrays that are concatenated along the first axis
    of `shape`. Use None for this length if it is not known: the array is written as the streamed
    last block of the file, and rows can be appended later. With `masked`, pieces may be masked arrays; their
    masks wait in a temporary file until the elements are written.

    >>> import numpy, trilith
    >>> rows = (numpy.full((10, 100), n, "f4") for n in range(3))
    >>> f = trilith.open(trilith.dumps({"a": trilith.Pieces(rows, (30, 100), "f4")}))
    >>> f["a"].shape, float(f["a"][-1, 0])
    ((30, 100), 2.0)
    """

    def __init__(
        self,
        pieces: abc.Iterable["numpy.typing.ArrayLike"],
        shape: tuple[int | None, ...],
        dtype: "numpy.typing.DTypeLike",
        *,
        masked: bool = False,
    ) -> None:
        self.streamed = shape[0] is None
        if self.streamed and masked:
            raise ValueError("a streamed array is the last block of its file and has no mask: say how many rows there are")
        self.masked = masked
        self._masks = None
        self.shape = (0 if self.streamed else shape[0], *shape[1:])
        self.dtype = numpy.dtype(dtype)
        self._pieces = pieces

    @classmethod
    def of_dask(cls, array: typing.Any) -> "Pieces":
        """Returns the pieces of a dask array, computed one row of chunks after the other.

        Parameters
        ----------
        array : dask.array.Array
            The array.

        Returns
        -------
        Pieces

        Examples
        --------
        >>> import dask.array, trilith
        >>> pieces = trilith.Pieces.of_dask(dask.array.ones((4, 3), chunks=(2, 3)))
        >>> trilith.open(trilith.dumps({"a": pieces}))["a"].shape
        (4, 3)
        """
        masked = isinstance(array._meta, numpy.ma.MaskedArray)
        if not array.ndim:
            return cls([array.compute()[numpy.newaxis]], (1,), array.dtype, masked=masked)
        rows = (array.blocks[number].compute() for number in range(array.numblocks[0]))
        return cls(rows, array.shape, array.dtype, masked=masked)

    def __iter__(self) -> abc.Iterator[typing.Any]:
        self._masks = tempfile.SpooledTemporaryFile(_PIECE) if self.masked else None
        for piece in self._pieces:
            if numpy.ma.is_masked(piece) and not self.masked:
                raise TypeError("a piece is masked: write the array as Pieces(..., masked=True)")
            elements = numpy.asarray(piece)
            if elements.shape[1:] != self.shape[1:] or not numpy.can_cast(elements.dtype, self.dtype, "same_kind"):
                raise ValueError(f"a piece of {elements.dtype} {elements.shape} in an array of {self.dtype} {self.shape}")
            elements = _fitting(elements, self.dtype)
            if self.masked:
                found = mask(piece)
                self._masks.write(bytes(elements.size) if found is None else flat(found))
            yield flat(elements)

    def masks(self) -> abc.Iterator["numpy.typing.NDArray[numpy.uint8]"]:
        """Returns the mask of the written elements, piece by piece.

        Returns
        -------
        iterator of numpy.ndarray
            Arrays of uint8.

        Examples
        --------
        >>> import numpy, trilith
        >>> pieces = trilith.Pieces([numpy.ma.masked_equal([1, 2], 2)], (2,), "i4", masked=True)
        >>> trilith.open(trilith.dumps({"a": pieces}))["a"].masked().tolist()
        [1, None]
        """
        with self._masks as masks:
            masks.seek(0)
            while piece := masks.read(_PIECE):
                yield numpy.frombuffer(piece, "u1")


def _fitting(elements, dtype):
    """The same values in another type. Floating-point numbers are rounded; nothing else may become another value."""
    if numpy.can_cast(elements.dtype, dtype, "safe"):
        return elements.astype(dtype, copy=False)
    with numpy.errstate(over="ignore", invalid="ignore"):
        made = elements.astype(dtype)
    is_same = numpy.isfinite(made) | ~numpy.isfinite(elements) if dtype.kind in "fc" else made == elements
    if not numpy.all(is_same):
        raise ValueError(f"a piece of {elements.dtype} has elements that {dtype} cannot hold")
    return made


class Reserved:
    """Space for an array whose elements many processes write: for the tree of `trilith.create`.

    >>> import trilith
    >>> trilith.Reserved((1000, 4088, 4088), "f4")
    <trilith.Reserved float32 (1000, 4088, 4088)>
    """

    def __init__(self, shape: int | abc.Iterable[int], dtype: "numpy.typing.DTypeLike") -> None:
        self.shape: tuple[int, ...] = tuple(map(int, shape)) if isinstance(shape, abc.Iterable) else (int(shape),)
        self.dtype: numpy.dtype[typing.Any] = numpy.dtype(dtype)

    def __repr__(self):
        return f"<trilith.Reserved {self.dtype} {self.shape}>"


# YAML 1.1, https://yaml.org/type/timestamp.html
_TIMESTAMP = re.compile(
    r"(\d{4})-(\d\d?)-(\d\d?)(?:(?:[Tt]|[ \t]+)(\d\d?):(\d\d):(\d\d)(?:\.(\d*))?(?:[ \t]*(?:(Z)|([-+])(\d\d?)(?::?(\d\d))?))?)?",
    re.ASCII,
)


def timestamp(text):
    """A date or a time as YAML 1.1 writes it; the text itself where there is no such day or moment."""
    found = _TIMESTAMP.fullmatch(text)
    if found is None:
        return text
    year, month, day, hour, minute, second, fraction, utc, sign, zone, minutes = found.groups()
    try:
        if hour is None:
            return datetime.date(int(year), int(month), int(day))
        offset = None
        if utc:
            offset = datetime.timezone.utc
        elif sign:
            behind = datetime.timedelta(hours=int(zone), minutes=int(minutes or 0))
            offset = datetime.timezone(-behind if sign == "-" else behind)
        micro = int(((fraction or "") + "000000")[:6])
        return datetime.datetime(int(year), int(month), int(day), int(hour), int(minute), int(second), micro, offset)
    except ValueError:
        return text


def binary(text):
    """The bytes of base 64."""
    try:
        return binascii.a2b_base64(text)
    except binascii.Error as error:
        raise ValueError(f"!!binary that is not base 64: {error}") from None


def base64(data):
    """Bytes as base 64."""
    return binascii.b2a_base64(data, newline=False).decode("ascii")


def strings(array, dtype):
    """Strings, or structs with some, in a dtype that has objects for UTF-8: each is str, or stays bytes if it is not UTF-8."""
    if dtype.names is not None:
        made = numpy.empty(array.shape, dtype)
        for name in dtype.names:
            made[name] = strings(array[name], dtype[name].base)
        return made
    if dtype.kind != "O":
        return array
    made = numpy.empty(array.size, object)
    made[:] = [_string(element) for element in array.ravel().tolist()]
    return made.reshape(array.shape)


def _string(data):
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data


def words(number):
    """Sign and 32-bit words, the least significant first, of an integer."""
    size = (abs(number).bit_length() + 31) // 32
    data = abs(number).to_bytes(size * 4, "little")
    return ("-" if number < 0 else "+"), numpy.frombuffer(data, "<u4")


def times(array):
    """The moments of a datetime64 array as ASCII text in the format "iso"."""
    if numpy.isnat(array).any():
        raise ValueError("NaT cannot be written: the time schema has no word for no time")
    text = numpy.datetime_as_string(array.astype("M8[us]") if numpy.datetime_data(array.dtype)[0] in "YMWDhms" else array)
    return numpy.char.replace(text, "T", " ").astype("S")


def mask(array):
    """The mask of a masked array, one boolean for each element, or None if nothing can be masked."""
    found = numpy.ma.getmask(array)
    if found is numpy.ma.nomask:
        return None
    if found.dtype.names is None:
        return found
    if found.size == 0:
        return numpy.zeros(found.shape, bool)
    every = numpy.concatenate([field.reshape(found.shape + (-1,)) for field in _fields(found)], axis=-1)
    some = every.any(axis=-1)
    if (every.all(axis=-1) != some).any():
        raise TypeError("a mask that differs between the fields of an element cannot be written")
    return some


def _fields(array):
    for name in array.dtype.names:
        field = array[name]
        if field.dtype.names is None:
            yield field
        else:
            yield from _fields(field)


def flat(array):
    """Returns the bytes of an array in C order, without a copy if they are consecutive."""
    plain = numpy.asarray(array, order="C")
    if type(plain) is not numpy.ndarray:
        plain = plain.view(numpy.ndarray)
    return plain.reshape(-1).view("u1")


def plain(value, standard=None):
    """Returns the form of a value of another library in a file of this version of the standard: ("timestamp", text),
    ("value", plainer value), ("tagged", (tag, plainer value)) or ("pieces", what `Pieces` are made of)."""
    if isinstance(value, datetime.datetime | datetime.date):
        return "timestamp", value.isoformat()
    if isinstance(value, numpy.datetime64):
        if numpy.isnat(value):
            return "value", None
        text = str(value.astype("M8[s]") if numpy.datetime_data(value.dtype)[0] in "hm" else value)
        return ("timestamp" if _TIMESTAMP.fullmatch(text) else "value"), text
    if isinstance(value, numpy.generic):
        item = value.item()
        if not isinstance(item, numpy.generic) and not isinstance(value, numpy.timedelta64):
            return "value", item
    elif isinstance(value, Pieces):
        return "pieces", (value, value.masks if value.masked else None, value.shape, value.dtype, value.streamed)
    elif isinstance(value, Reserved):
        return "reserved", (value.shape, value.dtype)
    elif isinstance(value, bytearray | memoryview):
        return "value", bytes(value)
    elif isinstance(value, os.PathLike):
        return "value", os.fspath(value)
    elif isinstance(value, numbers.Integral):
        return "value", int(value)
    elif isinstance(value, numbers.Real) and (float(value) == value or value != value):
        return "value", float(value)
    elif type(value).__module__.partition(".")[0] == "dask" and hasattr(value, "_meta"):
        return "pieces", plain(Pieces.of_dask(value))[1]
    elif (found := _object(value, standard)) is not None:
        return found
    elif isinstance(value, abc.Mapping):
        return "value", dict(value)
    elif isinstance(value, abc.Sequence):
        return "value", list(value)
    if type(value).__module__.partition(".")[0] == "astropy":
        kind = type(value).__qualname__
        raise TypeError(f"cannot write an astropy {kind}: its converter is not installed; run pip install 'trilith[asdf]'")
    if isinstance(value, numpy.ndarray):
        name = f"{type(value).__module__}.{type(value).__qualname__}"
        raise TypeError(f"{name} is more than a numpy array: write what it is made of, such as numpy.asarray(x) and its unit")
    hint = "; numpy.asarray(x) makes an array of it" if hasattr(value, "__array__") else ""
    raise TypeError(f"{type(value).__qualname__} cannot be written into a tree{hint}")


def has_converter(kind):
    """Whether the converters of the `asdf` package write objects of a class that is a dict, a list, a tuple or a str as well."""
    from . import _objects

    return _objects.has_converter(kind)


def _object(value, standard):
    from . import _objects

    return _objects.value(value, standard)


# What makes a frame of keys, or of whole rows, out of what is a table; how it reads one.
_READERS = {
    "pandas.core.frame": ("pandas.DataFrame", "pandas.DataFrame.from_arrow(x)"),
    "xarray.core.dataset": ("xarray.Dataset", "pandas.DataFrame.from_arrow(x).to_xarray()"),
    "xarray.structure.merge": ("xarray.Dataset", "pandas.DataFrame.from_arrow(x).to_xarray()"),
}


def check_reader(is_table=True):
    """Refuses to be read by what would take a mapping's keys for a table, or the rows of a table for its values."""
    frame = sys._getframe(1)
    if frame is not None and frame.f_globals.get("__name__") in ("_collections_abc", "collections.abc"):
        frame = frame.f_back
    reader = frame.f_globals.get("__name__") if frame is not None else None
    if reader in _READERS and (is_table or reader.startswith("pandas")):
        name, call = _READERS[reader]
        raise TypeError(f"{name}(x) does not read the columns of a table: use {call}")


def reduced(array):
    """Returns the pickle of an array: its path, or its elements if it has no path."""
    way = array._way()
    if way is None:
        from . import dumps

        return copied, (dumps({"array": array}),)
    return reopened, reopening(array, way)


def reopening(array, way):
    """Returns the arguments with which `reopened` finds this array."""
    dtype = array.dtype.str if array.dtype.names is None else array.dtype.descr
    return (*way, array.shape, dtype, array._version())


def resumed(path, id):
    """A file that many processes write, which was pickled."""
    from . import resume

    return resume(path, id=id)


def opened(path, keywords):
    """A file that was pickled, which is opened again."""
    from ._trilith import _open as open

    # A pickle names a file of this machine; it must not make the loading process fetch a URL.
    return open(pathlib.Path(path), **keywords)


def carried(node):
    """Returns the pickle of a mapping or sequence without a path."""
    from . import dumps

    return copied, (dumps({"array": node}),)


def copied(data):
    """An array, or a mapping or sequence, of a file that is nowhere else."""
    from ._trilith import _open as open

    if not isinstance(data, bytes):
        raise TypeError(f"expected the bytes of a file, found {type(data).__name__}")
    return open(data)["array"]


def found(path, keywords, place, parts):
    """A mapping or sequence at a place of a file."""
    return _find(path, keywords, place)


def same(one, other):
    """Whether two trees hold the same. Arrays do where shape, mask and elements are equal, as numpy compares them."""
    if _is_array(one) or _is_array(other):
        return _same_arrays(one, other)
    if isinstance(one, abc.Mapping) and isinstance(other, abc.Mapping):
        return len(one) == len(other) and all(key in other and same(value, other[key]) for key, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


def _is_array(value):
    return hasattr(value, "__array__") and not isinstance(value, (numpy.generic, Sequence))


def _same_arrays(one, other):
    if not _is_array(one) or not _is_array(other) or one.shape != other.shape:
        return False
    one, other = numpy.asanyarray(one), numpy.asanyarray(other)
    masks = numpy.ma.getmaskarray(one), numpy.ma.getmaskarray(other)
    if masks[0].dtype != masks[1].dtype or (masks[0] != masks[1]).any():
        return False
    return bool(numpy.all(numpy.ma.filled(one == other, True)))


def reopened(path, keywords, place, parts, shape, dtype, version=None):
    """The array at a place of a file, which must not have changed since it was this version."""
    array = _find(path, keywords, place)
    # A list that is one array.
    array = getattr(array, "array", array)
    for part in parts:
        array = array.part(part)
    if array.shape != shape or array.dtype != numpy.dtype(dtype):
        raise OSError(errno.EIO, f"{place} is {array.dtype} {array.shape} now, and was {dtype} {shape}", path)
    if version is not None and array._version() != version:
        raise OSError(errno.EIO, "the file was changed or replaced since it was opened: open it again, so that nothing is mixed", path)
    return array


def _find(path, keywords, place):
    """An array; the last files that a process opened stay open as long as they do not change."""
    state = os.stat(path)
    # Some keywords are lists.
    name = (path, repr(sorted(keywords.items())))
    key = (name, state.st_ino, state.st_size, state.st_mtime_ns)
    with _LOCK:
        file = _OPEN.pop(key, None)
        if file is None:
            for old in [old for old in _OPEN if old[0] == name]:
                del _OPEN[old]
            file = opened(path, keywords)
        # Last used, last thrown out.
        _OPEN[key] = file
        while len(_OPEN) > _MOST_OPEN:
            del _OPEN[next(iter(_OPEN))]
    tree = file.tree
    return tree if place == "" else tree[place]


_OPEN = {}
_MOST_OPEN = 32
_LOCK = threading.Lock()


def token(array):
    """Returns the identity of an array for dask: its path and the time of modification of the file."""
    way = array._way()
    if way is None:
        import uuid

        return uuid.uuid4().hex
    version = array._version()
    if version is None:
        found = os.stat(way[0])
        version = f"{found.st_size} {found.st_mtime_ns}"
    return (*map(str, way), version)


def encoded(text):
    """The bytes of a string that Trilith decoded without knowing its encoding; those of a single byte are one again."""
    if text.isascii() or len(text) > 1:
        return text.encode()
    for codec in ("cp1252", "latin-1"):
        try:
            return text.encode(codec)
        except UnicodeEncodeError:
            pass
    return text.encode()
