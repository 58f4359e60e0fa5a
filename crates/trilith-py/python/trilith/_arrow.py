"""Tables and columns in Arrow's C data interface, built by nanoarrow.

Arrow itself is 55 crates, and its interface is pointers: both are left to nanoarrow, a package of one
megabyte that is asked for where it is needed (`pip install trilith[arrow]`). Numbers are handed over in
place.
"""

import importlib
import re

import numpy

from ._trilith import Array, Sequence, _Keyed

_NUMBERS = {
    "i1": "int8", "i2": "int16", "i4": "int32", "i8": "int64", "u1": "uint8", "u2": "uint16", "u4": "uint32",
    "u8": "uint64", "f2": "half_float", "f4": "float", "f8": "double",
}  # fmt: skip


def c_schema(array):
    """The schema, as a capsule."""
    return _schema(array.dtype, array.shape[1:]).__arrow_c_schema__()


def c_array(array, requested_schema=None):
    """Schema and data, as capsules; another schema than the array's own is not offered."""
    return _whole(array).__arrow_c_array__()


def c_stream(array, requested_schema=None):
    """A stream of one batch, as a capsule."""
    return _stream(_whole(array))


def table_stream(mapping, requested_schema=None):
    """The columns of a mapping as a stream of one batch: a table of astropy, arrays of one length, or the table of an HDU."""
    data = mapping.get("data") if set(mapping) == {"header", "data"} else None
    is_hdu = isinstance(data, Array) and data.dtype.names is not None
    return c_stream(data) if is_hdu else _stream(_table(mapping))


def table_array(mapping, requested_schema=None):
    """The rows of a table as one array of structures: schema and data, as capsules."""
    return _table(mapping).__arrow_c_array__()


def _table(mapping):
    na = _nanoarrow()
    columns = dict(_columns(mapping))
    lengths = {column.length for column, _ in columns.values()}
    if len(lengths) != 1:
        raise TypeError("this mapping is not a table: it needs columns of equal length")
    schema = na.struct({name: _noted(column, notes) for name, (column, notes) in columns.items()})
    children = [column for column, _ in columns.values()]
    return na.c_array_from_buffers(schema, lengths.pop(), [None], null_count=0, children=children)


def _noted(column, notes):
    """The schema of a column with what else is known of it: the unit, the scale of times."""
    return column.schema.modify(metadata=notes) if notes else column.schema


def cells_stream(columns, types):
    """Columns of Python values, of which None is null, as a stream of one batch."""
    na = _nanoarrow()
    made = {name: _cells(values, types[name]) for name, values in columns.items()}
    schema = na.struct({name: column.schema for name, column in made.items()})
    length = len(next(iter(columns.values())))
    return _stream(na.c_array_from_buffers(schema, length, [None], null_count=0, children=[*made.values()]))


def _cells(values, kind):
    na = _nanoarrow()
    if kind == "null":
        return na.c_array_from_buffers(na.null(), len(values), [], null_count=len(values))
    missing = numpy.fromiter((value is None for value in values), "?", len(values))
    if kind == "text":
        nulls = int(missing.sum())
        valid = numpy.packbits(~missing, bitorder="little") if nulls else None
        buffers = [valid, *_joined([value or "" for value in values])]
        return na.c_array_from_buffers(na.large_string(), len(values), buffers, null_count=nulls)
    dtype = {"bool": "?", "int": "i8", "float": "f8"}[kind]
    return _column(numpy.fromiter((value or 0 for value in values), dtype, len(values)), missing)


def _columns(mapping):
    """Names, columns and notes of a table."""
    listed = mapping.get("columns") if _is(mapping, "table") else None
    if listed is None:
        for name, value in mapping.items():
            if isinstance(value, Array) and len(value.shape) > 0:
                yield str(name), (_whole(value), {})
            elif _is(value, "quantity") or _is(value, "time"):
                yield str(name), _column_of(name, value)
            elif (mapping.tag or name) and isinstance(value, (Array, _Keyed, Sequence)):
                raise TypeError(f"this mapping is not a table: {name!r} is not a column")
        return
    for number, column in enumerate(listed):
        name = _name(mapping, number, column)
        yield name, _column_of(name, column)


def _is(node, name):
    return isinstance(node, _Keyed) and (node.tag or "").rsplit("/", 1)[-1].startswith(f"{name}-")


def _column_of(name, column):
    """A column of astropy: it has its data, a quantity or a time its value."""
    held = column
    if isinstance(column, _Keyed):
        held = next((column[key] for key in ("data", "value") if key in column), None)
    if _is(column, "time") and isinstance(held, (Array, Sequence)):
        return _times(numpy.asarray(held), column)
    if not isinstance(held, Array):
        kind = getattr(column, "tag", None) or type(column).__name__
        raise NotImplementedError(
            f"column {name!r} is more than an array ({kind}), which Arrow has no type for: get the table with as_=\"asdf\""
        )
    unit, mask = (column.get("unit"), column.get("mask")) if isinstance(column, _Keyed) else (None, None)
    made = _whole(held) if mask is None else _column(numpy.asarray(held), numpy.asarray(mask, "?"))
    return made, {} if unit is None else {"unit": str(unit)}


_MOMENT = re.compile(r"(\d{4})-\d\d-\d\d(?:[T ]\d\d:\d\d:\d\d(?:\.(\d{1,9}))?)?", re.ASCII)
# Years that 64 bits of nanoseconds reach.
_NANOSECONDS = range(1678, 2262)


def _times(values, column):
    """Times of astropy: timestamps where each is a moment that these can hold, else what is written, with its format."""
    scale, kind = str(column.get("scale") or "utc"), column.get("format")
    notes = {"scale": scale}
    found = moments(values) if kind in (None, "iso", "isot") and values.ndim == 1 else None
    if found is None:
        return _column(values, None), notes if kind is None else {**notes, "format": str(kind)}
    na = _nanoarrow()
    # A timestamp with a time zone is in UTC; only the metadata name other scales.
    schema = na.timestamp(numpy.datetime_data(found.dtype)[0], timezone="UTC" if scale == "utc" else None)
    return na.c_array_from_buffers(schema, len(found), [None, found.view("i8")], null_count=0), notes


def moments(values):
    """Strings as datetime64 of the coarsest unit that holds them exactly; None if one is no moment of these."""
    values = values.astype("U") if values.dtype.kind == "S" else values
    found = [_MOMENT.fullmatch(text) for text in values.tolist()] if values.dtype.kind == "U" else []
    if not found or not all(found):
        return None
    unit = ("s", "ms", "us", "ns")[-(-max(len(one[2] or "") for one in found) // 3)]
    if unit == "ns" and not all(int(one[1]) in _NANOSECONDS for one in found):
        return None
    try:
        return numpy.array([one[0] for one in found], f"M8[{unit}]")
    except ValueError:
        # A leap second, say.
        return None


def _name(mapping, number, column):
    named = column.get("name") if isinstance(column, _Keyed) else None
    names = mapping.get("colnames") or []
    return str(named or (names[number] if number < len(names) else f"column {number}"))


def _stream(made):
    # nanoarrow has a function of the same name as the module.
    stream = importlib.import_module("nanoarrow.c_array_stream").CArrayStream
    stream = stream.from_c_arrays([made], made.schema, validate=False)
    return stream.__arrow_c_stream__()


def _nanoarrow():
    try:
        import nanoarrow
    except ImportError as error:
        raise ImportError("the Arrow interface needs nanoarrow: pip install trilith[arrow]") from error
    return nanoarrow


def _schema(dtype, row=()):
    """The schema of elements of a dtype; what has more axes than rows is lists of fixed size."""
    na = _nanoarrow()
    if dtype.subdtype is not None:
        return _schema(dtype.base, (*row, *dtype.shape))
    if row:
        made = na.fixed_size_list(_schema(dtype, row[1:]), row[0])
    elif dtype.names is not None:
        made = na.struct({name: _schema(dtype[name]) for name in dtype.names})
    elif dtype.kind in "SU":
        made = na.large_string()
    elif dtype.kind == "b":
        made = na.bool_()
    elif dtype.kind == "c":
        half = numpy.dtype(f"f{dtype.itemsize // 2}")
        made = na.struct({"real": _schema(half), "imag": _schema(half)})
    elif dtype.str[1:] in _NUMBERS:
        made = na.Schema(getattr(na.Type, _NUMBERS[dtype.str[1:]].upper()))
    else:
        raise NotImplementedError(f"Arrow has no type for {dtype}")
    return made


def _whole(array):
    """The rows of an array: a table where its elements have fields."""
    if len(array.shape) == 0:
        raise ValueError("an array without axes has no rows")
    if array.mask is not None:
        read = array.masked()
        # Where a row has fields, all of them are masked together.
        mask = numpy.ma.getmaskarray(read)
        mask = _rows(mask) if mask.dtype.names is not None else mask
        return _column(read.data, mask)
    return _column(numpy.asarray(array), None)


def _rows(mask):
    return mask[mask.dtype.names[0]] if mask.dtype.names else mask


def _column(data, mask):
    """An Arrow array of the elements along the first axis of a numpy array."""
    na = _nanoarrow()
    length, row = data.shape[0], data.shape[1:]
    schema = _schema(data.dtype, row)
    nulls, valid = 0, None
    if mask is not None and not row:
        nulls = int(mask.sum())
        valid = numpy.packbits(~mask, bitorder="little") if nulls else None
    if row:
        flat = data.reshape((length * row[0], *row[1:]))
        inner = None if mask is None else mask.reshape(flat.shape)
        buffers, children = [None], [_column(flat, inner)]
    elif data.dtype.names is not None:
        # A table may hold no missing rows: its columns hold missing values.
        buffers, children = [None], [_column(data[name], _widened(mask, data[name])) for name in data.dtype.names]
        nulls = 0
    elif data.dtype.kind == "c":
        buffers, children = [valid], [_column(data.real, None), _column(data.imag, None)]
    elif data.dtype.kind in "SU":
        buffers, children = [valid, *_texts(data)], []
    elif data.dtype.kind == "b":
        buffers, children = [valid, numpy.packbits(data, bitorder="little")], []
    else:
        buffers, children = [valid, numpy.require(data, requirements="CA")], []
    return na.c_array_from_buffers(schema, length, buffers, null_count=nulls, children=children)


def _widened(mask, data):
    if mask is None:
        return None
    return numpy.broadcast_to(mask.reshape(mask.shape + (1,) * (data.ndim - mask.ndim)), data.shape)


def _texts(data):
    """Offsets and bytes of strings, which are UTF-8."""
    return _joined([text.decode() if isinstance(text, bytes) else text for text in data.tolist()])


def _joined(texts):
    texts = [text.encode() for text in texts]
    offsets = numpy.zeros(len(texts) + 1, "i8")
    numpy.cumsum([len(text) for text in texts], out=offsets[1:])
    return offsets, b"".join(texts)
