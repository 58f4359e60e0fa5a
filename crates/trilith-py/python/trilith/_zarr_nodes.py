"""The groups and arrays of a file, as the metadata of Zarr v3 describe them. Only this module knows the requirements of Zarr and
xarray beyond the content of the file: types by name, full chunks, the spelling of a value that marks missing elements."""

import base64
import collections
import functools
import math
import struct
import sys
import warnings

import numpy

from ._trilith import _hierarchy, _tiles

#: Bytes of a chunk where the file leaves it open.
TILE = 4 << 20


class Node:
    """A group, or an array with how it is cut into chunks."""

    def __init__(self, path, attributes, array=None, dims=(), mask=None, missing=None):
        self.path, self.attributes, self.array = path, attributes, array
        self.dims, self.mask, self.missing = tuple(dims), mask, missing
        self.dtype = None if array is None else _dtype(array)
        if self.missing is not None and not _holds(self.dtype, self.missing):
            self.missing = None
        self.chunks = None
        #: The value that what is masked gets, where masks are filled.
        self.fill = None

    @property
    def shape(self):
        """Lengths of the axes."""
        return self.array.shape

    @property
    def name(self):
        """The last part of the path."""
        return self.path.rpartition("/")[2]

    @property
    def counts(self):
        """Returns the number of chunks along each axis."""
        return tuple(-(-length // chunk) for length, chunk in zip(self.shape, self.chunks, strict=True))

    def part(self, index):
        """The place of a chunk in the array: slices that end where the array ends."""
        ends = zip(index, self.chunks, self.shape, strict=True)
        return tuple(slice(at * chunk, min((at + 1) * chunk, length)) for at, chunk, length in ends)


class Tree:
    """All nodes of an open file by their paths, and what Zarr cannot hold, by path with the reason."""

    def __init__(self, file):
        rows, problems = _hierarchy(file)
        self.nodes, self.refused = {}, dict(problems)
        # The names right below each group, in order.
        self._below = collections.defaultdict(dict)
        for path, attributes, array, dims, mask, missing in rows:
            try:
                self._add(path, attributes, array, dims, mask, missing)
            except (NotImplementedError, ValueError) as error:
                self.refused[path] = str(error)

    def _add(self, path, attributes, array, dims, mask, missing):
        node = Node(path, attributes, array, dims, mask, missing)
        if array is None or not _has_subarrays(node.dtype):
            if array is not None:
                type_of(node.dtype)
            self._put(node)
            return
        # Zarr's structs have no arrays in them: each field is an array of a group.
        self._put(Node(path, attributes))
        for name in node.dtype.names:
            field = array.part(name)
            more = tuple(f"{node.name}_{name}_{axis}" for axis in range(field.ndim - array.ndim))
            self._add(f"{path}/{name.replace('/', '%2F')}", {}, field, (*dims, *more), mask, None)

    def _put(self, node):
        self.nodes[node.path] = node
        if node.path:
            self._below[node.path.rpartition("/")[0]][node.name] = None

    def remove(self, path):
        """Leaves a node out, where there is one."""
        if self.nodes.pop(path, None) is not None:
            self._below[path.rpartition("/")[0]].pop(path.rpartition("/")[2], None)

    def warn(self, stacklevel=2):
        """Says what is left out."""
        for path, reason in self.refused.items():
            warnings.warn(f"/{path.lstrip('/')} is left out: {reason}", stacklevel=stacklevel + 1)

    def below(self, path):
        """The names of the nodes right below a group."""
        return list(self._below.get(path, ()))


def _dtype(array):
    """Returns the dtype of the elements as they are read. Strings without characters have one, because Zarr has none."""
    dtype = array.dtype
    return numpy.dtype(f"{dtype.kind}1") if dtype.kind in "SU" and dtype.itemsize == 0 else dtype


def _holds(dtype, value):
    """Whether an element can have this value: one that none has marks nothing."""
    if dtype is None or dtype.kind not in "iu" or not isinstance(value, (int, float)):
        return True
    limits = numpy.iinfo(dtype)
    return limits.min <= value <= limits.max


def _has_subarrays(dtype):
    """Whether a field of a record is an array, or a record that has such a field."""
    if dtype.names is None:
        return False
    fields = [dtype[name] for name in dtype.names]
    return any(field.subdtype is not None or _has_subarrays(field) for field in fields)


#: The types that the specification of Zarr v3 has itself, which are called as in numpy, with their zeros.
_CORE = {
    "bool": False,
    **{f"{sign}int{bits}": 0 for sign in ("", "u") for bits in (8, 16, 32, 64)},
    **{f"float{bits}": 0.0 for bits in (16, 32, 64)},
    **{f"complex{bits}": [0.0, 0.0] for bits in (64, 128)},
}


@functools.lru_cache(256)
def type_of(dtype):
    """The name of a dtype in Zarr v3, and the value of chunks that were never written."""
    if (zero := _CORE.get(dtype.name)) is not None:
        return dtype.name, zero
    from zarr.dtype import parse_data_type

    if dtype.itemsize > 16 and dtype.kind in "fc" or dtype.kind == "f" and dtype.itemsize > 8:
        raise NotImplementedError(f"Zarr has no type for {dtype} of {8 * dtype.itemsize} bits")
    with warnings.catch_warnings():
        # The caller asked for the type, so a warning about other programs is not needed.
        warnings.simplefilter("ignore")
        kind = parse_data_type(dtype, zarr_format=3)
        return kind.to_json(zarr_format=3), kind.to_json_scalar(kind.default_scalar(), zarr_format=3)


def cut(nodes, chunks):
    """Decides the chunks of arrays, by what was asked for or else by how each is stored."""
    left = []
    for node in nodes:
        asked = chunks.get(node.path) if isinstance(chunks, dict) else chunks
        if isinstance(asked, int):
            asked = (asked, *node.shape[1:]) if node.shape else ()
        if asked is None or not isinstance(chunks, dict) and len(asked) != len(node.shape):
            left.append(node)
            continue
        if len(asked) != len(node.shape) or any(length < 1 for length in asked):
            raise ValueError(f"chunks {tuple(asked)} do not fit /{node.path}, whose shape is {node.shape}")
        node.chunks = tuple(max(1, min(chunk, length)) for chunk, length in zip(asked, node.shape, strict=True))
    for node, tiles in zip(left, _tiles([node.array for node in left], TILE), strict=True):
        node.chunks = tuple(tiles)


def document(node, codecs=None, fill=None):
    """The document `zarr.json` of a node."""
    attributes = attributes_of(node)
    if node.array is None:
        return {"zarr_format": 3, "node_type": "group", "attributes": attributes}
    data_type, zero = type_of(node.dtype)
    if fill is None:
        fill = zero if node.missing is None else number(node.missing)
    return {
        "zarr_format": 3,
        "node_type": "array",
        "shape": list(node.shape),
        "data_type": data_type,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": list(node.chunks)}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": fill,
        "codecs": codecs or [order(node.dtype, sys.byteorder)],
        "attributes": attributes,
        "dimension_names": list(node.dims),
        "storage_transformers": [],
    }


def order(dtype, byteorder):
    """The codec that makes elements out of bytes."""
    plain = dtype.names is None and (dtype.itemsize == 1 or dtype.kind in "SV")
    return {"name": "bytes"} if plain else {"name": "bytes", "configuration": {"endian": byteorder}}


def number(value):
    """A floating-point number as documents of Zarr have it."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value


def attributes_of(node):
    """The attributes of a node, with that which marks what is missing as xarray writes it in Zarr v3."""
    found = dict(node.attributes)
    if node.array is None:
        return found
    if "_FillValue" not in found:
        return found
    value = found["_FillValue"]
    value = value[0] if isinstance(value, list) and len(value) == 1 else value
    kind = node.dtype.kind
    if kind == "f" and isinstance(value, (int, float)):
        # As the elements have it: 0.1 is another number in 32 bits.
        value = base64.standard_b64encode(struct.pack("<d", node.dtype.type(value))).decode()
    elif kind in "iu" and isinstance(value, float) and value.is_integer():
        value = int(value)
    elif kind == "S":
        # xarray decodes no such value in Zarr v3, and would refuse the whole group.
        del found["_FillValue"]
        return found
    found["_FillValue"] = value
    return found
