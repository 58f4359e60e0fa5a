"""Operators and methods that numpy evaluates, and indices other than numbers and slices.

It is put into `trilith.Array` here, because it is nothing but numpy with the elements read first: with their mask
where there is one, so that a sum leaves out what is masked.
"""

import functools
import operator

import numpy

from ._trilith import Array

# Functions that return new arrays or numbers, so that elements may be used in place.
_READING = (
    "all any argmax argmin argsort astype clip compress copy cumprod cumsum dot flatten item max mean "
    "min nonzero prod repeat round searchsorted std sum take tobytes tolist trace var"
).split()
# What gives another view of the same memory, which has to be the caller's own.
_VIEWING = "conj conjugate diagonal ravel reshape squeeze swapaxes transpose".split()
_PROPERTIES = "T imag real".split()

_BINARY = "add sub mul truediv floordiv mod divmod pow matmul lshift rshift and xor or".split()
_COMPARING = "lt le eq ne gt ge".split()
_UNARY = "neg pos abs invert".split()


def elements(array):
    """Returns all elements, in place if possible, and masked if the array has a mask."""
    return numpy.asanyarray(array)


def _read(value):
    return elements(value) if isinstance(value, Array) else value


def _method(name, viewing):
    def method(self, *args, **options):
        read = {option: _read(value) for option, value in options.items()}
        return getattr(self[...] if viewing else elements(self), name)(*map(_read, args), **read)

    return _named(method, name, f"Same as `numpy.ndarray.{name}`. Reads all elements.")


def _named(function, name, text):
    function.__name__, function.__qualname__, function.__doc__ = name, f"Array.{name}", text
    return function


def _operator(name):
    do = divmod if name == "divmod" else getattr(operator, f"__{name}__")
    return (lambda self, other: do(elements(self), _read(other))), (lambda self, other: do(other, elements(self)))


def _single(convert):
    def method(self):
        if self.size != 1:
            raise TypeError(f"an array of {self.size} elements is not a single number")
        single = elements(self)
        if numpy.ma.is_masked(single):
            if convert is float:
                return float("nan")
            raise ValueError("the element is masked")
        return convert(single.item())

    return method


def _bool(self):
    if self.size != 1:
        raise ValueError(f"the truth of an array of {self.size} elements is ambiguous: use a.any() or a.all()")
    return bool(elements(self))


def _contains(self, value):
    return bool((elements(self) == value).any())


def _iter(self):
    """The items along the first axis, some MiB of them read at once."""
    if not self.shape:
        raise TypeError("iteration over an array without axes")
    rows = self.shape[0]
    step = max(1, rows * (16 << 20) // max(1, self.nbytes))
    return (row for start in range(0, rows, step) for row in self[start : start + step])


def _ufunc(self, ufunc, method, *inputs, **options):
    if any(isinstance(out, Array) for out in options.get("out", ())):
        raise TypeError("an array of a file cannot be written into")
    read = {option: _read(value) for option, value in options.items()}
    return getattr(ufunc, method)(*map(_read, inputs), **read)


def _mask(self):
    # numpy.ma looks here.
    return numpy.ma.nomask if self.mask is None else numpy.ma.getmask(self.masked())


def fancy(array, index):
    """Returns the result of numpy for indices with lists, arrays and booleans. Reads only the part that holds it."""
    given = index if isinstance(index, tuple) else (index,)
    if any(isinstance(item, list) and item and isinstance(item[0], str) for item in given):
        # Names of fields.
        return array[...][index]
    if any(isinstance(item, (list, numpy.ndarray)) for item in given) and (mapped := array._lent()) is not None:
        # Where places are many, numpy takes them fastest, and reads no more than the pages that hold them.
        return mapped[index]
    items = [_places(item) for item in given]
    plain = tuple(items) if isinstance(index, tuple) else items[0]
    # numpy reports the fault of the index on an array without memory.
    numpy.broadcast_to(numpy.int8(0), array.shape)[plain]
    # A boolean array covers as many axes as it has, and selects the places with True.
    items = [part for item in items for part in (item.nonzero() if _is_array(item, "b") and item.ndim else (item,))]
    if not all(item is None or item is Ellipsis or isinstance(item, slice | int) or _is_array(item, "iu") for item in items):
        return array[...][plain]
    axes = sum(item is not None and item is not Ellipsis for item in items)
    if not any(item is Ellipsis for item in items):
        items.append(Ellipsis)
    at, ranges, rest = 0, [], []
    for item in items:
        if item is None:
            rest.append(None)
            continue
        if item is Ellipsis:
            ranges.append(Ellipsis)
            rest.append(Ellipsis)
            at += array.ndim - axes
            continue
        part, left = (item, slice(None)) if isinstance(item, slice) else _around(item, array.shape[at])
        ranges.append(part)
        rest.append(left)
        at += 1
    if _is_array(rest[0], "iu") and rest[0].ndim == 1:
        return _rows(array, ranges, rest)
    return array[tuple(ranges)][tuple(rest)]


class _Indexer:
    """`array.oindex` and `array.vindex`, as zarr has them."""

    def __init__(self, array, read):
        self._array, self._read = array, read

    def __getitem__(self, index):
        return self._read(self._array, index if isinstance(index, tuple) else (index,))


def _orthogonal(array, index):
    """Places of each axis by themselves: the block where they cross."""
    items = _spread(array, [_places(item) for item in index])
    ranges, rest = [], []
    for item, length in zip(items, array.shape, strict=True):
        if _is_array(item, "b"):
            if item.shape != (length,):
                raise IndexError(f"{item.shape} booleans for an axis of {length}")
            item = item.nonzero()[0]
        if not isinstance(item, (int, slice)) and not (_is_array(item, "iu") and item.ndim == 1):
            raise IndexError("each axis of oindex takes a number, a slice, or a list of numbers or booleans")
        # numpy reports the fault of the index on an axis without memory.
        numpy.broadcast_to(numpy.int8(0), (length,))[item]
        part, left = (item, slice(None)) if isinstance(item, slice) else _around(item, length)
        ranges.append(part)
        rest.append(left)
    read = array[tuple(ranges)]
    for axis in reversed(range(len(rest))):
        # From the last axis on, so that an axis which goes moves none that is still to be cut.
        read = read[(slice(None),) * axis + (rest[axis],)]
    return read


def _pointwise(array, index):
    """Places by their coordinates on all axes, one after the other."""
    items = _spread(array, [_places(item) for item in index])
    if any(isinstance(item, slice) for item in items):
        raise IndexError("vindex takes a number or an array of numbers for each axis; slices are those of the array itself")
    return fancy(array, tuple(numpy.broadcast_arrays(*items)))


def _spread(array, items):
    """One index for each axis."""
    dots = [number for number, item in enumerate(items) if item is Ellipsis]
    if len(dots) > 1 or any(item is None for item in items):
        raise IndexError("an index has one ... at most, and no new axes")
    missing = array.ndim - len(items) + len(dots)
    if missing < 0:
        raise IndexError(f"{len(items) - len(dots)} indices for an array of {array.ndim} axes")
    at = dots[0] if dots else len(items)
    return [*items[:at], *[slice(None)] * missing, *items[at + len(dots) :]]


def _rows(array, ranges, rest):
    """Rows at some places, without those between them where they are many."""
    wanted, places = numpy.unique(rest[0], return_inverse=True)
    first, stop = ranges[0].start, ranges[0].stop
    if len(wanted) * 4 >= stop - first:
        return array[tuple(ranges)][tuple(rest)]
    ends = [0, *(numpy.flatnonzero(numpy.diff(wanted) > 1) + 1).tolist(), len(wanted)]
    runs = [slice(first + int(wanted[a]), first + int(wanted[b - 1]) + 1) for a, b in zip(ends, ends[1:], strict=False)]
    together = numpy.concatenate if array.mask is None else numpy.ma.concatenate
    return together([array[(run, *ranges[1:])] for run in runs])[(places, *rest[1:])]


def _places(item):
    """An index as an int or an array, where it is not a slice, ... or None."""
    if item is None or item is Ellipsis or isinstance(item, slice):
        return item
    if isinstance(item, int) and not isinstance(item, bool):
        return item
    made = numpy.asarray(item)
    return made.astype("i8") if made.size == 0 and isinstance(item, list) else made


def _is_array(item, kinds):
    return isinstance(item, numpy.ndarray) and item.dtype.kind in kinds


def _around(places, length):
    """The range of an axis that holds places, and where they are in it."""
    if isinstance(places, int) or places.ndim == 0:
        at = int(places) % length
        return slice(at, at + 1), 0
    if places.size == 0:
        return slice(0, 0), places
    places = numpy.where(places < 0, places + length, places).astype("i8")
    first = int(places.min())
    return slice(first, int(places.max()) + 1), places - first


_OINDEX = """Reads the block where places of each axis cross: `a.oindex[[1, 3], :, [0, 5]]`, as zarr has it.

>>> import numpy, trilith
>>> a = trilith.open(trilith.dumps({"a": numpy.arange(12).reshape(3, 4)}))["a"]
>>> a.oindex[[0, 2], [1, 3]].tolist()
[[1, 3], [9, 11]]
"""

_VINDEX = """Reads elements by their coordinates: `a.vindex[[1, 3], [0, 5]]`, as zarr has it.

>>> import numpy, trilith
>>> a = trilith.open(trilith.dumps({"a": numpy.arange(12).reshape(3, 4)}))["a"]
>>> a.vindex[[0, 2], [1, 3]].tolist()
[1, 11]
"""


def _itself(self, memo=None):
    """Returns the array, because nothing changes it."""
    return self


def _install():
    for name in (*_READING, *_VIEWING):
        setattr(Array, name, _method(name, name in _VIEWING))
    for name in _PROPERTIES:
        read = functools.partial(lambda name, self: getattr(self[...], name), name)
        setattr(Array, name, property(read, doc=f"Same as `numpy.ndarray.{name}`. Reads all elements."))
    for name in _BINARY:
        forward, back = _operator(name)
        setattr(Array, f"__{name}__", _named(forward, f"__{name}__", None))
        setattr(Array, f"__r{name}__", _named(back, f"__r{name}__", None))
    for name in _COMPARING:
        setattr(Array, f"__{name}__", _named(_operator(name)[0], f"__{name}__", None))
    for name in _UNARY:
        do = getattr(operator, f"__{name}__")
        setattr(Array, f"__{name}__", functools.partialmethod(lambda self, do: do(elements(self)), do))
    for name, convert in {"int": int, "float": float, "complex": complex, "index": operator.index}.items():
        setattr(Array, f"__{name}__", _named(_single(convert), f"__{name}__", None))
    # Elements are compared, because nothing cheaper distinguishes the arrays.
    Array.__hash__ = None
    Array.__bool__, Array.__contains__, Array.__iter__, Array.__array_ufunc__ = _bool, _contains, _iter, _ufunc
    Array.oindex = property(lambda self: _Indexer(self, _orthogonal), doc=_OINDEX)
    Array.vindex = property(lambda self: _Indexer(self, _pointwise), doc=_VINDEX)
    Array._mask, Array._baseclass = property(_mask), numpy.ndarray
    Array.__copy__ = Array.__deepcopy__ = _itself


_install()
