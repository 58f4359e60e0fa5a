"""The backend `trilith` of xarray: `xarray.open_dataset(path, engine="trilith")`, and `open_datatree`."""

import contextlib
import copy
import itertools
import os
import warnings

import numpy
import xarray
from xarray.backends import BackendArray, BackendEntrypoint
from xarray.core import indexing

from . import _chunks, _dims, _geotiff, _kept, _laid_out
from ._file_sets import _SETS, opened
from ._trilith import Array, FormatError, LimitError, Sequence, _AxisNames, _Keyed

#: Arguments of `trilith.open` and `trilith.open_set`.
_OPENING = ("memmap", "layout", "byteorder", "allow", "storage_options", *_SETS)
_SCALARS = (str, int, float, bool, complex, numpy.generic)


class TrilithBackendEntrypoint(BackendEntrypoint):
    """Arrays of a tree or a layout as variables, read lazily.

    A mapping is a group: its arrays are variables, so are its quantities, with their `units`; its scalars and lists of
    scalars are attributes. Dimensions are named by `dims={"data": ("y", "x")}`, else by a WCS in the group and the
    conventions of Roman and JWST (`y`, `x`). Without any of these, arrays of one shape in one group share `dim_0`,
    `dim_1`, ..., and those of the next shape have the numbers that follow; so do groups within a group. A dataset that
    `trilith.write` wrote comes back with its own names, coordinates and attributes.

    Masked elements become NaN, and integers with a mask become floats, as in xarray. Masked strings become objects, and so do
    masked integers of 64 bits in a file set, where they are identifiers that no float holds. `mask_and_scale=False` turns that off:
    elements are as they are stored. A masked array of records `p` is one variable for each member: `p.x`, `p.id`.

    HDF5, netCDF and what else is read under a layout has the names of its dimensions and its attributes, and is decoded
    by the CF conventions as xarray does it, which the arguments `decode_cf`, `mask_and_scale` and so on of xarray turn
    off. Elements of variable length are arrays in a variable of objects.

    A GeoTIFF has the coordinates `x`, `y` and `spatial_ref`, as in rioxarray. Smaller versions of its pages are left out.

    Under a layout, the parameters that are lengths of axes name these: `ny`, or `nx-1`. Values of the summary block are
    coordinates. If the lengths of such an axis differ between the files of a set, they are the coordinate `ny_length`.

    With `layout`, any file is opened under a layout of Dudley. A catalog is one dataset of all its files, whose first
    dimension counts them. Its name is that of the time in the summary block (a variable `time`, or one with the attribute
    `axis="T"`), otherwise `record`. `files`, `where`, `shape` and `raw` are those of `trilith.open_set`: `files=slice(0, 10)`
    and `where="time > 3.5"` choose some of the files, and `shape="pad"` or `shape="along=nx"` joins items of unequal shape. With
    one of these, `layout` is that of the files.
    """

    description = "ASDF, FINF and Dudley through Trilith"
    url = ""
    open_dataset_parameters = ("filename_or_obj", "drop_variables", *_laid_out.DECODERS, "group", "dims", *_OPENING)
    supports_groups = True

    def guess_can_open(self, filename_or_obj):
        """Whether it is the path of such a file."""
        if not isinstance(filename_or_obj, (str, os.PathLike)):
            return False
        return os.fspath(filename_or_obj).lower().endswith((".asdf", ".finf", ".bd"))

    def open_dataset(self, filename_or_obj, *, group=None, **how):
        """One group: the top, or that of a path."""
        asked = dict(how)
        node = _top(filename_or_obj, group, how)
        dataset = _opened(node, how, _AxisNames())
        if not dataset.variables:
            below = itertools.islice(_groups_with_arrays(node, (group or "").strip("/")), 3)
            if found := list(below) or list(itertools.islice(_groups_with_arrays(_top(filename_or_obj, None, asked), ""), 3)):
                what = "there is no array in this group; groups with arrays are"
                warnings.warn(f"{what} {', '.join(found)}: group={found[0]!r}", stacklevel=3)
        return dataset

    def open_groups_as_dict(self, filename_or_obj, *, group=None, **how):
        """All groups, by their paths."""
        groups, todo = {}, [("/", _top(filename_or_obj, group, how), _AxisNames())]
        while todo:
            path, node, above = todo.pop()
            axes = copy.copy(above)
            groups[path] = _opened(node, how, axes)
            below = node.get("children") if _is_written(node) else node
            for key, value in _readable(below, below) if below is not None else ():
                if _is_group(value) and _array(value) is None and isinstance(key, str) and "/" not in key:
                    todo.append((path.rstrip("/") + "/" + key, value, axes))
        return dict(sorted(groups.items()))

    def open_datatree(self, filename_or_obj, **options):
        """All groups as a tree."""
        return xarray.DataTree.from_dict(self.open_groups_as_dict(filename_or_obj, **options))


def _opened(node, how, axes):
    """The dataset of a group, with the arguments of `open_dataset`."""
    how = dict(how)
    drop, dims = how.pop("drop_variables", None), how.pop("dims", None)
    is_stored = how.get("mask_and_scale") is False or how.get("decode_cf") is False
    dataset, is_declared = _dataset(node, drop, dims, axes, is_stored=is_stored)
    if is_declared:
        # A time in seconds is selected by its number.
        numbers = {"decode_timedelta": False} if _is_set(node) or getattr(node, "_form", None) == "layout" else {}
        dataset = _laid_out.decoded(dataset, {**numbers, **how, "drop_variables": drop})
    # open_mfdataset calls it, whether there is anything to close or not.
    dataset.set_close(_nothing)
    return dataset


def _groups_with_arrays(node, path):
    """The paths of the groups below a mapping or a list that have arrays, in the order of the file."""
    for key, value in _below(node):
        place = f"{path}/{key}".lstrip("/")
        if _is_group(value) and any(_array(item) is not None for _, item in _below(value)):
            yield place
        yield from _groups_with_arrays(value, place)


def _below(node):
    """The items of a mapping or a list that can be read, with their keys or numbers."""
    keys = range(len(node)) if isinstance(node, Sequence) else node if _is_group(node) else ()
    for key in keys:
        with contextlib.suppress(NotImplementedError, FormatError, LimitError, ValueError, KeyError):
            yield key, node[key]


def _nothing():
    """Nothing to close: each array keeps what it reads from."""


def _top(source, group, how):
    """The group at a path of a file, or of a file set. Takes the arguments of `trilith.open` out of `how`."""
    opening = {name: how.pop(name) for name in _OPENING if name in how}
    file = opened(source, **opening)
    if file.layout is not None:
        # xarray applies what the attributes declare: once is enough.
        file = opened(source, **opening, stored=True)
    tree = file.tree
    return tree if group in (None, "", "/") else tree[group.strip("/")]


def _is_group(value):
    return not isinstance(value, (Array, *_SCALARS)) and hasattr(value, "items")


def _dataset(node, drop, dims, axes, *, is_stored=False):
    """The variables and attributes of a mapping, and whether attributes declare what the elements mean. Then variables of `drop` are
    still there, since the meaning of a variable depends on the others that have its dimensions. `axes` are the names of axes in the groups
    above. Masks are left out, and samples have no factors, if values are `is_stored`."""
    drop = {drop} if isinstance(drop, str) else set(drop or ())
    if _is_written(node):
        return _written(node, drop), False
    readable = dict(_readable(node, drop))
    laid_out, is_set = _is_laid_out(node), _is_set(node)
    # The attributes of an ASDF file are annotations: a file that was converted has those of its source.
    held = {} if laid_out or is_set else {str(key): _array(value) for key, value in readable.items()}
    annotated = {key for key, array in held.items() if array is not None and array.attrs}
    is_declared = laid_out or is_set or bool(annotated or node.attrs)
    drop = set() if is_declared else drop
    found = {str(key): value for key, value in readable.items() if key not in drop and _array(value) is not None}
    arrays = {key: _array(value) for key, value in found.items()}
    lists = dict(_lists(readable, drop)) if getattr(node, "_form", None) == "derived" else {}
    names = _dimensions(node, arrays, dims or {}, axes, lists)
    coordinates = {key for key, array in arrays.items() if array._axes[1]}
    # A parameter that is the length of a dimension is no variable.
    lengths = {key for key in coordinates for dims in names.values() if key in dims and key not in names[key]}
    coordinates -= lengths
    unequal = _unequal_lengths(arrays, lengths, names) if is_set else {}
    masks = None if is_stored else "exact" if is_set else "float"
    coordinates |= set(unequal)
    arrays = {key: array for key, array in arrays.items() if key not in lengths}
    declared = arrays if laid_out or is_set else {key: array for key, array in arrays.items() if key in annotated}
    said = {key: _laid_out.attributes(array, is_stored=is_stored) for key, array in declared.items()}
    is_derived = laid_out and node._form == "derived"
    hidden = _geotiff.overviews(arrays, said) if is_derived else ()
    variables = unequal
    for key, made in lists.items():
        own = {name: value for name, value in _laid_out.attributes(made.lists).items() if name != "list_shape"}
        variables[key] = xarray.Variable(names[key], indexing.LazilyIndexedArray(made), own)
    for key, array in arrays.items():
        if key in hidden:
            continue
        # A record without a member has no value that says so.
        for path, more in _members(array.dtype) if array.mask is not None and not is_stored else [((), ())]:
            name = ".".join((key, *path))
            dims = (*names[key], *(f"{name}_{axis}" for axis in range(len(more))))
            if name not in drop:
                attributes = _member_attributes(node, name) if path else said.get(key)
                variables[name] = _variable(array, dims, found[key], attributes, path, masks)
    unlimited = set()
    if laid_out:
        variables.update({key: _characters(array, variables[key]) for key, array in arrays.items() if key in variables})
        if not is_stored:
            variables.update({key: _samples(array, variables[key]) for key, array in arrays.items() if key in variables})
            variables.update({key: _masked(node, key, array, variables[key]) for key, array in arrays.items() if key in variables})
        unlimited.update(*(array._words.get("grid_unlimited") or () for array in arrays.values()))
    if is_derived:
        images = {key: array for key, array in arrays.items() if key in variables}
        placed, referenced = _geotiff.coordinates(node, images, said, names)
        placed = {key: variable for key, variable in placed.items() if key not in drop}
        for key in referenced if _geotiff.CRS in placed else ():
            variables[key].encoding["grid_mapping"] = _geotiff.CRS
        variables |= placed
        coordinates |= set(placed)
    attributes = _laid_out.attributes(node) if is_declared and not is_set else node.attrs if is_set else {}
    for key, value in readable.items():
        if is_derived:
            continue  # the lengths of dimensions
        if isinstance(value, _SCALARS):
            attributes[str(key)] = str(value) if isinstance(value, str) else value
        elif is_set and isinstance(value, Sequence):
            reason = "its shape differs between the files, and a list of arrays is no variable; open the set with shape=\"pad\" or \"along=AXIS\""
            warnings.warn(f"{key} is left out: {reason}", stacklevel=4)
        elif isinstance(value, Sequence) and str(key) not in lists:
            items = list(value)
            if items and all(isinstance(item, (str, int, float)) for item in items):
                attributes[str(key)] = items
    dataset = xarray.Dataset(variables, attrs=attributes).set_coords(coordinates)
    if laid_out:
        dataset.encoding["unlimited_dims"] = unlimited
    return dataset, is_declared


def _unequal_lengths(arrays, lengths, names):
    """The lengths of dimensions that differ between the files of a set, as variables: the axis has the largest or all of them."""
    found = {}
    for key in lengths:
        values = numpy.asarray(arrays[key])
        if values.size and (values != values.flat[0]).any() and f"{key}_length" not in arrays:
            found[f"{key}_length"] = xarray.Variable(names[key], values, {"long_name": f"{key} of each file"})
    return found


def _members(dtype):
    """The members of records, each as the names that lead to it and the shape of its values; the elements themselves where they
    have no members."""
    if dtype.names is None:
        return [((), ())]
    found = []
    for name in dtype.names:
        inner, shape = dtype[name].subdtype or (dtype[name], ())
        found += [((name, *path), (*shape, *more)) for path, more in _members(inner)]
    return found


def _member_attributes(node, path):
    """The attributes of a member of records, which are not those of the records."""
    try:
        return _laid_out.attributes(node[path])
    except (KeyError, ValueError, NotImplementedError):
        return {}


def _characters(array, variable):
    """A variable whose strings are characters along a dimension in its file: with that dimension, as its library has it."""
    name = array._words.get("grid_chars")
    if not isinstance(name, str) or array.dtype.kind != "S":
        return variable
    data = indexing.LazilyIndexedArray(_Characters(array))
    return xarray.Variable((*variable.dims, name), data, variable.attrs)


def _readable(node, drop):
    """The items of a mapping that can be read; of the others, unless they are dropped, a warning says why."""
    reasons = (NotImplementedError, FormatError, LimitError)
    if _is_set(node):
        # Files of other shapes, of which the other items are still good.
        reasons = (*reasons, ValueError, KeyError)
    for key in node:
        try:
            yield key, node[key]
        except reasons as error:
            if key not in drop:
                warnings.warn(f"{key} is left out: {error}", stacklevel=5)


def _lists(readable, drop):
    """The lists of arrays in a file of another format, by their names: elements of variable length."""
    for key, value in readable.items():
        if key in drop or not isinstance(value, Sequence):
            continue
        try:
            made = _Lists.of(value)
        except (NotImplementedError, FormatError, LimitError) as error:
            warnings.warn(f"{key} is left out: {error}", stacklevel=5)
            continue
        if made is not None:
            yield str(key), made


def _array(value):
    """The array that a variable is made of: the value itself, or that of a quantity; None for anything else."""
    if isinstance(value, Array):
        return value
    is_quantity = isinstance(value, _Keyed) and (value.tag or "").rpartition("/")[2].startswith("quantity-")
    held = value.get("value") if is_quantity else None
    return held if isinstance(held, Array) else None


def _is_laid_out(node):
    """Whether a layout says where its arrays are."""
    return getattr(node, "_form", None) in ("layout", "derived")


def _is_set(node):
    """Whether its arrays are those of a file set."""
    return getattr(node, "_form", None) == "set"


def _is_written(node):
    """Whether it is a dataset that `trilith.write` wrote."""
    return isinstance(node, _Keyed) and all(isinstance(node.get(key), _Keyed) for key in ("attrs", "coords", "data_vars"))


def _written(node, drop):
    parts = []
    for name in ("data_vars", "coords"):
        parts.append({key: _one(value) for key, value in node[name].items() if key not in drop})
    return xarray.Dataset(*parts, attrs=node["attrs"].to_dict())


def _one(value):
    """A variable that `trilith.write` wrote."""
    data = value["data"]
    attributes = value["attrs"].to_dict() if "attrs" in value else {}
    dims = tuple(map(str, value["dims"]))
    if isinstance(data, Array):
        return _variable(data, dims, data, attributes)
    if isinstance(data, _Keyed) and "value" in data:
        from . import _arrow

        texts = numpy.asarray(data["value"])
        moments = _arrow.moments(texts.reshape(-1))
        return xarray.Variable(dims, texts if moments is None else moments.reshape(texts.shape), attributes)
    return xarray.Variable(dims, data, attributes)


def _samples(array, variable):
    """A variable whose samples have different scales and offsets, for which xarray has no attribute: with its values."""
    factors = _laid_out.factors(array)
    if factors is None:
        return variable
    attributes = {name: value for name, value in variable.attrs.items() if name != "_FillValue"}
    return xarray.Variable(variable.dims, indexing.LazilyIndexedArray(_Samples(array, factors)), attributes, variable.encoding)


def _masked(node, key, array, variable):
    """A variable whose mask is a page of its file, for which xarray has no attribute: with NaN for the pixels that do not count. The
    number of no data does not count then."""
    if "grid_valid" not in array._words:
        return variable
    attributes = {name: value for name, value in variable.attrs.items() if name != "_FillValue"}
    factors = _laid_out.factors(array)
    image = _Lazy(array, masks=None) if factors is None else _Samples(array, (*factors[:3], None))
    is_scaled = not attributes.keys().isdisjoint(("scale_factor", "add_offset"))
    dtype = numpy.dtype("f8") if is_scaled else _with_missing(image.dtype, "float")
    valid = _kept.Kept(node[f"{key}@mask"])
    samples = None if valid.ndim == array.ndim else array._words["grid_dims"].index("sample")
    data = indexing.LazilyIndexedArray(_Masked(image, valid, samples, dtype))
    return xarray.Variable(variable.dims, data, attributes, variable.encoding)


def _dimensions(node, arrays, given, axes, lists):
    """Names of the axes of the arrays and lists of a group: those that were given, otherwise by the file and the conventions."""
    left = {key: array for key, array in arrays.items() if key not in given}
    said = _dims.said(node, left)
    left |= {key: made for key, made in lists.items() if key not in given}
    said |= {key: _dims.laid_out(made) for key, made in lists.items()}
    first = node._axes[0] if _is_set(node) else []
    named = axes.name([(key, array.shape, said[key]) for key, array in left.items()], first)
    names = {key: (names,) if isinstance(names, str) else tuple(names) for key, names in given.items()}
    return names | {key: tuple(names) for key, names in zip(left, named, strict=True)}


def _variable(array, dims, value, attributes=None, members=(), masks="float"):
    rows = _chunks.rows(array)
    # Whatever is one chunk may be cut anywhere.
    encoding = {} if rows is None or len(rows) < 2 else {"preferred_chunks": {dims[0]: rows}}
    attributes = dict(attributes or {})
    if attributes == {}:
        if array.unit is not None:
            attributes["units"] = str(array.unit)
        elif value is not array and value.tag:
            attributes["tag"] = value.tag
    return xarray.Variable(dims, indexing.LazilyIndexedArray(_Lazy(array, members, masks)), attributes, encoding)


def to_xarray(array, dims=None, name=None):
    """See `trilith.Array.to_xarray`."""
    group, key = array._above() or (None, None)
    if dims is None and key is not None:
        dims = _dims.written(group) if key == "data" else None
        if key == "value" and _array(group) is not None and (above := group._above()) is not None:
            # A quantity is in the group under a separate name.
            group, key = above
    if dims is None:
        said = _dims.said(group, {key: array})[key] or (None,) * array.ndim
        dims = tuple(name or f"dim_{axis}" for axis, name in enumerate(said))
    dims = (dims,) if isinstance(dims, str) else dims
    if len(dims) != array.ndim:
        raise ValueError(f"{len(dims)} names of dimensions for an array of {array.ndim} axes")
    masks = "exact" if _is_set(group) else "float"
    variable = _variable(array, tuple(dims), array, _laid_out.attributes(array), masks=masks)
    return xarray.DataArray(variable, name=key if name is None else name)


class _Lazy(BackendArray):
    """An array as xarray reads it, or a member of its records; pickled as the way to it. `masks` is the form of masked integers of
    64 bits, "float" or "exact", or None to read all elements as they are stored."""

    def __init__(self, array, members=(), masks="float", times=None):
        self.array = array if isinstance(array, _kept.Kept) else _kept.Kept(array)
        self.members, self.masks = members, masks
        self.masked = self.array.masked and masks is not None
        self.shape, dtype = self.array.shape, array.dtype
        for member in members:
            dtype, more = dtype[member].subdtype or (dtype[member], ())
            self.shape = (*self.shape, *more)
        self.times = _laid_out.times(array) if isinstance(array, Array) and not members else times
        if self.times is not None:
            self.dtype, self.masked = self.times[1], False
            return
        self.dtype = _with_missing(dtype, masks) if self.masked else dtype

    def __reduce__(self):
        return _Lazy, (self.array, self.members, self.masks, self.times)

    def __getitem__(self, key):
        return indexing.explicit_indexing_adapter(key, self.shape, indexing.IndexingSupport.BASIC, self._read)

    def _read(self, key):
        # With an ellipsis the result stays an array.
        read = self.array[(*key[: self.array.ndim], Ellipsis)]
        for member in self.members:
            read = read[member]
        if len(key) > self.array.ndim:
            read = read[(Ellipsis, *key[self.array.ndim :])]
        if self.times is not None:
            elements = numpy.asarray(numpy.ma.getdata(read), order="C")
            own = elements.astype("U") if self.dtype.kind == "M" else elements.view(self.times[0])
            return own.astype(self.dtype, copy=False)
        if not self.masked:
            return numpy.ma.getdata(read)
        if self.dtype.kind in "mM":
            return numpy.ma.asarray(read).filled(numpy.array("NaT", self.dtype))
        return numpy.ma.asarray(read).astype(self.dtype).filled(numpy.nan)


def _with_missing(dtype, masks):
    """The datatype of elements some of which are NaN."""
    if dtype.names is not None:
        raise NotImplementedError("a masked array of records is a variable for each member: open it with xarray.open_dataset")
    if dtype.kind in "cmM":
        return dtype
    # A float of 64 bits has room for integers of 53.
    is_float = dtype.kind in "bf" or dtype.kind in "iu" and (dtype.itemsize < 8 or masks == "float")
    return numpy.result_type(dtype, "f4") if is_float else numpy.dtype(object)


class _Characters(_Lazy):
    """An array of strings, with their characters along one more axis."""

    def __init__(self, array):
        super().__init__(array, masks=None)
        self.shape, self.dtype = (*self.shape, self.dtype.itemsize), numpy.dtype("S1")

    def __reduce__(self):
        return _Characters, (self.array,)

    def _read(self, key):
        texts = numpy.asarray(self.array[(*key[:-1], Ellipsis)])
        characters = numpy.ascontiguousarray(texts).view("S1").reshape(*texts.shape, self.shape[-1])
        return characters[..., key[-1]]


class _Lists(BackendArray):
    """Lists of variable length as elements of an array of objects; the lists of each further axis are lists in lists."""

    def __init__(self, lists, shape):
        self.lists, self.shape, self.dtype = lists, shape, numpy.dtype(object)

    @classmethod
    def of(cls, lists):
        """That of a list of arrays, or of lists of them; None for any other list."""
        shape, level, first = [], [lists], lists
        while isinstance(first, Sequence):
            lengths = {len(one) for one in level}
            if len(lengths) != 1:
                return None
            shape += lengths
            first = level[0][0] if shape[-1] else None
            if isinstance(first, Sequence):
                level = [inner for one in level for inner in one]
        if first is None:
            # The lengths of axes without elements are an attribute.
            said = lists.attrs.get("list_shape")
            return cls(lists, tuple(shape if said is None else numpy.atleast_1d(said).tolist()))
        return cls(lists, tuple(shape)) if isinstance(first, Array) else None

    @property
    def ndim(self):
        return len(self.shape)

    @property
    def _axes(self):
        return self.lists._axes

    def __getitem__(self, key):
        return indexing.explicit_indexing_adapter(key, self.shape, indexing.IndexingSupport.BASIC, self._read)

    def _read(self, key):
        shape = numpy.broadcast_to(False, self.shape)[(*key, Ellipsis)].shape
        flat = numpy.empty(numpy.prod(shape, dtype=int), object)
        for number, element in enumerate(_elements(self.lists, key)):
            flat[number] = element
        return flat.reshape(shape)


def _elements(lists, key):
    """The arrays in lists that an index with a number or a slice for each axis takes."""
    if not key:
        yield numpy.asarray(lists)
        return
    first, *rest = key
    for one in lists[first] if isinstance(first, slice) else [lists[first]]:
        yield from _elements(one, rest)


class _Samples(_Lazy):
    """An image whose samples have different scales and offsets."""

    def __init__(self, array, factors):
        super().__init__(array, masks=None)
        self.factors, self.dtype = factors, numpy.dtype("f8")

    def __reduce__(self):
        return _Samples, (self.array, self.factors)

    def _read(self, key):
        axis, scale, offset, missing = self.factors
        stored = numpy.ma.getdata(self.array[(*key, Ellipsis)])
        # Integers take their axes away.
        after = sum(not isinstance(one, (int, numpy.integer)) for one in key[axis + 1 :])
        scale, offset = (each[key[axis]].reshape(*numpy.shape(each[key[axis]]), *[1] * after) for each in (scale, offset))
        values = stored * scale + offset
        return values if missing is None else numpy.where((stored == missing) | ((stored != stored) & (missing != missing)), numpy.nan, values)


class _Masked(BackendArray):
    """An image with NaN for the pixels for which another array is 0. `samples` is the axis along which they share a pixel."""

    def __init__(self, image, valid, samples, dtype):
        self.image, self.valid, self.samples = image, valid, samples
        self.shape, self.dtype = image.shape, dtype

    def __getitem__(self, key):
        return indexing.explicit_indexing_adapter(key, self.shape, indexing.IndexingSupport.BASIC, self._read)

    def _read(self, key):
        pixels, is_each = key, True
        if self.samples is not None:
            pixels = (*key[: self.samples], *key[self.samples + 1 :])
            is_each = isinstance(key[self.samples], (int, numpy.integer))
        valid = numpy.asarray(self.valid[(*pixels, Ellipsis)]) != 0
        if not is_each:
            valid = numpy.expand_dims(valid, sum(not isinstance(one, (int, numpy.integer)) for one in key[: self.samples]))
        return numpy.where(valid, numpy.asarray(self.image._read(key), self.dtype), self.dtype.type(numpy.nan))
