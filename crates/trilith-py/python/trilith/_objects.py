"""Objects of other libraries as values of a tree, and values of a tree as objects of the `asdf` package's converters.

None of the libraries is imported here: a program that has an object has imported its library.
"""

import datetime
import functools
import sys
import types
import warnings

import numpy

# Tags of the standard and of astropy, which every reader of either supports.
_TABLE = "tag:astropy.org:astropy/table/table-1.0.0"
_COLUMN = "tag:stsci.edu:asdf/table/column-1.1.0"

# Kinds of numpy that a column may have.
_KINDS = "biufcSUM"


def classes():
    """Returns the classes of `asdf` for a mapping, a sequence and a string with a tag."""
    from asdf import tagged

    return tagged.TaggedDict, tagged.TaggedList, tagged.TaggedString


def made(tree, standard):
    """The object that the installed converters make of a tagged tree, in a file of this version of the standard."""
    import asdf
    from asdf import yamlutil

    return yamlutil.tagged_tree_to_custom_tree(tree, asdf.AsdfFile(version=_known(standard)))


def _known(standard):
    """The version of the standard, or None for the newest where `asdf` does not know it."""
    import asdf

    return standard if standard in asdf.versioning.supported_versions else None


def value(given, standard):
    """("value", plainer value) or ("tagged", (tag, plainer value)) of an object of another library; None where it is not
    known."""
    library = type(given).__module__.partition(".")[0]
    known = _LIBRARIES.get(library)
    found = None if known is None else known(given, sys.modules[library])
    return _of_asdf(given, standard) if found is None else found


# Tables


def _pandas(given, pandas):
    if isinstance(given, pandas.Series) and not _is_counted(given.index, pandas):
        if None in given.index.names:
            raise TypeError("the elements of this Series have labels without a name: write s.reset_index(), or s.to_numpy() without them")
        given = given.to_frame("values" if given.name is None else given.name)
    if isinstance(given, pandas.DataFrame):
        if given.attrs:
            warnings.warn("the attrs of a DataFrame are not written: store them under another key", stacklevel=2)
        if not _is_counted(given.index, pandas):
            names = [str(name) for name in given.index.names if name is not None]
            if len(names) != given.index.nlevels or {*names} & {*map(str, given.columns)}:
                raise TypeError("the rows of this DataFrame have labels without a name: write df.reset_index()")
            given = given.reset_index()
        return _table({str(name): _pandas_column(column) for name, column in given.items()}, len(given.columns))
    if isinstance(given, pandas.Series | pandas.Index):
        return "value", _pandas_column(given.to_series() if isinstance(given, pandas.Index) else given)
    if given is pandas.NaT or given is pandas.NA:
        return "value", None
    return None


def _is_counted(index, pandas):
    """Whether the labels of rows are their numbers, which go without saying."""
    return isinstance(index, pandas.RangeIndex) and index.start == 0 and index.step == 1 and index.name is None


def _pandas_column(column):
    missing = column.isna().to_numpy()
    dtype = column.dtype
    if getattr(dtype, "tz", None) is not None:
        column = column.dt.tz_convert("UTC").dt.tz_localize(None)
    elif hasattr(dtype, "categories"):
        column = column.astype(dtype.categories.dtype)
    plain = getattr(column.dtype, "numpy_dtype", None)
    if plain is not None and plain.kind in "biu" and missing.any():
        # What numpy has no missing value for becomes a floating-point number, which would lose digits.
        return numpy.ma.masked_array(column.to_numpy(dtype=plain, na_value=plain.type(0)), missing)
    elements = column.to_numpy()
    if elements.dtype.kind == "f" and column.dtype.kind == "f" and isinstance(column.dtype, numpy.dtype):
        # NaN is a separate value here.
        return elements
    return _masked(elements, missing, column.name)


def _polars(given, polars):
    if isinstance(given, polars.LazyFrame):
        given = given.collect()
    if isinstance(given, polars.DataFrame):
        return _table({name: _polars_column(given[name], polars) for name in given.columns}, given.width)
    return ("value", _polars_column(given, polars)) if isinstance(given, polars.Series) else None


def _polars_column(column, polars):
    missing = column.is_null().to_numpy()
    if isinstance(column.dtype, polars.Categorical | polars.Enum):
        column = column.cast(polars.String)
    if isinstance(column.dtype, polars.Datetime) and column.dtype.time_zone is not None:
        column = column.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
    if missing.any() and column.dtype.is_integer():
        column = column.fill_null(0)
    elif missing.any() and column.dtype == polars.Boolean:
        column = column.fill_null(False)
    return _masked(column.to_numpy(), missing, column.name)


def _pyarrow(given, pyarrow):
    if isinstance(given, pyarrow.RecordBatchReader):
        given = given.read_all()
    if isinstance(given, pyarrow.Table | pyarrow.RecordBatch):
        columns = {}
        for name, column in zip(given.schema.names, given.columns, strict=True):
            columns[name] = _pyarrow_column(column, name, pyarrow)
        units = {field.name: (field.metadata or {}).get(b"unit", b"").decode() for field in given.schema}
        return _table(columns, given.num_columns, units)
    if isinstance(given, pyarrow.Array | pyarrow.ChunkedArray):
        return "value", _pyarrow_column(given, "", pyarrow)
    return ("value", given.as_py()) if isinstance(given, pyarrow.Scalar) else None


def _pyarrow_column(column, name, pyarrow):
    column = column if isinstance(column, pyarrow.ChunkedArray) else pyarrow.chunked_array([column])
    missing, kind = column.is_null().to_numpy(), column.type
    if pyarrow.types.is_dictionary(kind):
        column = column.cast(kind.value_type)
    if missing.any() and pyarrow.types.is_integer(kind):
        column = column.fill_null(0)
    elif missing.any() and pyarrow.types.is_boolean(kind):
        column = column.fill_null(False)
    if pyarrow.types.is_fixed_size_list(kind) and not missing.any():
        flat = _pyarrow_column(column.combine_chunks().flatten(), name, pyarrow)
        return flat.reshape(len(column), kind.list_size, *flat.shape[1:])
    return _masked(column.to_numpy(), missing, name)


def _masked(elements, missing, name):
    """Elements as an array that can be written, masked where they are missing."""
    if elements.dtype.kind == "O":
        elements = _texts(elements, missing, name)
    if elements.dtype.kind not in _KINDS:
        raise TypeError(f"the column {name!r} of {elements.dtype} cannot be written: change its type first")
    if not missing.any():
        return elements
    if elements.dtype.kind == "M":
        raise TypeError(f"the column {name!r} has times that are missing, which cannot be written: fill them or leave them out")
    return numpy.ma.masked_array(elements, missing)


def _texts(elements, missing, name):
    """An array of a plain dtype of Python objects: strings, booleans and numbers."""
    kinds = {type(element) for element, gone in zip(elements, missing, strict=True) if not gone}
    if kinds <= {str}:
        return numpy.array(["" if gone else str(element) for element, gone in zip(elements, missing, strict=True)], "U")
    if kinds <= {bool, numpy.bool_}:
        return numpy.array([not gone and bool(element) for element, gone in zip(elements, missing, strict=True)], "?")
    if kinds <= {datetime.datetime, datetime.date} and not missing.any():
        return elements.astype("M8[us]")
    names = ", ".join(sorted(kind.__qualname__ for kind in kinds))
    raise TypeError(f"the column {name!r} of {names} cannot be written: its elements are not all strings, numbers or times")


def _table(columns, count, units=None):
    """A table as astropy has it, which is one for any reader of the standard with asdf-astropy."""
    if len(columns) != count:
        raise TypeError("two columns of this table have the same name")
    listed = []
    for name, data in columns.items():
        if data.dtype.kind == "M":
            # A separate time, as astropy writes it.
            listed.append(data)
            continue
        column = {"data": data, "name": name}
        if units and units.get(name):
            column["unit"] = units[name]
        listed.append(_Tagged(column, _COLUMN))
    return "tagged", (_TABLE, {"columns": listed, "colnames": list(columns), "qtable": False})


# Arrays with names


def _xarray(given, xarray):
    if isinstance(given, xarray.DataArray):
        return "value", _named(given)
    if isinstance(given, xarray.Variable):
        return "value", {"dims": list(given.dims), "attrs": dict(given.attrs), "data": given.data}
    if isinstance(given, xarray.Dataset):
        return "value", {
            "attrs": dict(given.attrs),
            "coords": {str(name): _variable(array) for name, array in given.coords.items()},
            "data_vars": {str(name): _variable(array) for name, array in given.data_vars.items()},
        }
    if isinstance(given, xarray.DataTree):
        node = dict(_xarray(given.to_dataset(inherit=False), xarray)[1])
        return "value", {**node, "children": dict(given.children)}
    return None


def _named(array):
    node = {**_variable(array), "coords": {str(name): _variable(other) for name, other in array.coords.items()}}
    return node if array.name is None else {**node, "name": str(array.name)}


def _variable(array):
    return {"dims": list(map(str, array.dims)), "attrs": dict(array.attrs), "data": array.variable.data}


_LIBRARIES = {"pandas": _pandas, "polars": _polars, "pyarrow": _pyarrow, "xarray": _xarray}


# Objects of the converters of the asdf package


class _Tagged:
    """A value with a tag."""

    def __init__(self, value, tag):
        self.value, self.tag = value, tag


def _of_asdf(given, standard):
    """An object as the converters of the `asdf` package write it; None where none knows it."""
    if isinstance(given, _Tagged):
        return "tagged", (given.tag, given.value)
    if not _may_be_converted(type(given)):
        return None
    if hasattr(given, "_tag") and type(given).__module__ == "asdf.tagged":
        return "tagged", (given._tag, given.data)
    try:
        import asdf
    except ImportError:
        return None
    known = _known(standard)
    if standard is not None and known is None:
        raise NotImplementedError(f"the asdf package does not write objects of standard {standard}")
    context = _Context(asdf.AsdfFile(version=known))
    manager, seen = context.extension_manager, set()
    while manager.handles_type(type(given)):
        if standard is None:
            name = f"{type(given).__module__}.{type(given).__qualname__}"
            raise NotImplementedError(f"{name} is written by the asdf package, which writes ASDF 1.x alone")
        converter = manager.get_converter_for_type(type(given))
        if converter in seen:
            raise TypeError(f"the converters of {type(given).__qualname__} call each other")
        seen.add(converter)
        tag = converter.select_tag(given, context)
        node = converter.to_yaml_tree(given, tag, context)
        if isinstance(node, types.GeneratorType):
            generator, node = node, next(node)
            for _ in generator:
                pass
        if tag is not None:
            # A scalar has its tag as text.
            return "tagged", (tag, node)
        given = node
    if not seen and standard is not None and asdf.AsdfFile().extension_manager.handles_type(type(given)):
        name = f"{type(given).__module__}.{type(given).__qualname__}"
        raise NotImplementedError(f"the converters that are installed write no {name} into a file of standard {standard}")
    return ("value", given) if seen else None


@functools.cache
def has_converter(kind):
    """Whether the `asdf` package writes objects of a class."""
    if kind.__module__ == "asdf.tagged":
        return True
    if not _may_be_converted(kind):
        return False
    try:
        import asdf
    except ImportError:
        return False
    return asdf.AsdfFile().extension_manager.handles_type(kind)


class _Context:
    """The context that a converter may use while it serializes an object."""

    url = None

    def __init__(self, file):
        self.version, self.extension_manager = file.version_string, file.extension_manager

    def __getattr__(self, name):
        raise NotImplementedError(f"an object whose converter writes blocks itself ({name}) is written by the asdf package alone")


def _may_be_converted(kind):
    """Whether a class may have a converter: the `asdf` package is imported for nothing otherwise."""
    return kind.__module__.partition(".")[0] not in ("builtins", "numpy", "datetime", "collections", "pathlib", "dask")
