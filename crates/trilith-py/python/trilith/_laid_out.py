"""Metadata of a dataset from a layout, as xarray has it: attributes, decoded by the CF conventions.

Attributes have the datatypes of the file; strings stay strings.
"""

import contextlib
import re

import numpy
import xarray

from ._values import encoded

#: The arguments of `xarray.open_dataset` that say how to decode, and whether without a word.
DECODERS = ("mask_and_scale", "decode_times", "concat_characters", "use_cftime", "decode_timedelta", "decode_coords")

_FACTORS = {"scale_factor", "add_offset"}
# What netCDF-4 keeps for itself.
_OWN = {"_NCProperties", "_nc3_strict"}
# Attributes of a derived layout about the datatype.
_DATATYPES = {"enum_names", "enum_values"}


def attributes(what, *, is_stored=False):
    """The attributes of an array, a list or a dict, as the library of its format has them. A factor that is a string is a number,
    unless elements stay as they `is_stored`."""
    dtype = getattr(what, "dtype", None)
    attrs = what.attrs
    found = {}
    for name, value in attrs.items():
        if name in (_OWN if dtype is None else _DATATYPES):
            continue
        if name in _FACTORS and not is_stored and isinstance(value, str):
            value = _typed(value, numpy.dtype("f8"))
        elif name == "_FillValue" and dtype is not None and dtype.kind == "S" and isinstance(value, str):
            value = numpy.bytes_(encoded(value) or b"\0")
        elif name == "GDAL_NODATA" and dtype is not None and dtype.kind in "iuf" and "_FillValue" not in attrs:
            # The conventions of CF have another name for it.
            found["_FillValue"] = _typed(_number(value, dtype), dtype)
        elif isinstance(value, Exception):
            value = f"(unreadable: {value})"
        found[name] = "" if value is None else value
    if dtype is not None and dtype.kind == "i" and "m8[" in str(found.get("numpy_dtype")) and times(what) is None:
        found.setdefault("_FillValue", dtype.type(numpy.iinfo(dtype).min))
    if dtype is not None:
        # The attributes of other formats are those that they have.
        units = None if what._form == "derived" else what.unit
        for name, said in (("units", units), ("long_name", what.doc)):
            if said is not None and name not in found:
                found[name] = said.strip()
    return found


def _array(values):
    """Several numbers as an array of the smallest type that has all of them."""
    # numpy makes floats of integers of which some need a sign and others all 64 bits.
    is_unsigned = all(isinstance(one, int) and one >= 0 for one in values) and max(values) > 2**63 - 1
    return numpy.array(values, dtype="u8" if is_unsigned else None)


def factors(array):
    """The axis of the samples of an image that have different scales and offsets, these, and the number of no data; else None."""
    said = array._words.get("grid_factors")
    if not said or array.dtype.kind not in "iuf":
        return None
    try:
        found = numpy.array([float(one) for one in said]).reshape(-1, 2)
    except ValueError:
        found = numpy.array([[numpy.nan, numpy.nan]])
    if not numpy.isfinite(found).all():
        what = "open it with mask_and_scale=False to read the stored elements"
        raise NotImplementedError(f"/{array.path}: a scale or an offset that is not a finite number; {what}")
    nodata = array.attrs.get("GDAL_NODATA")
    missing = None if nodata is None else _typed(_number(nodata, array.dtype), array.dtype)
    return array._words["grid_dims"].index("sample"), found[:, 0], found[:, 1], missing


# The unit in which xarray takes dates and durations of a unit; those of others, such as attoseconds, stay as they are.
_UNITS = {"W": "s", "D": "s", "h": "s", "m": "s", "s": "s", "ms": "ms", "us": "us", "ns": "ns"}


def times(array):
    """The datatype of numpy that an array of dates or durations, or of structs with durations, has, and that which xarray takes; else
    None. Dates are strings of ISO 8601 in the array, durations are integers."""
    if array.dtype.kind == "S":
        said = array.attrs.get("numpy_dtype")
        if not isinstance(said, str) or not said.lstrip("<>=|").startswith("M8["):
            return None
        # Years and months are dates, too, whereas as durations they have no length.
        known = {"Y": "s", "M": "s", **_UNITS}.get(numpy.datetime_data(said)[0])
        return known and (array.dtype, numpy.dtype(f"M8[{known}]"))
    if array.dtype.kind not in "iV" or "grid_missing" not in array._words:
        return None
    said = array.attrs.get("numpy_dtype")
    if not isinstance(said, str) or "m8[" not in said:
        return None
    if array.dtype.kind == "V":
        members = (array._words.get("grid_missing") or ())[::2]
        found = _with_durations(array.dtype, {name: re.search(rf"(?:^| ){re.escape(name)}=(\S+)", said)[1] for name in members})
        return found, found
    known = _UNITS.get(numpy.datetime_data(said)[0])
    return known and (numpy.dtype(said).newbyteorder(array.dtype.byteorder), numpy.dtype(f"m8[{known}]"))


def _with_durations(dtype, members):
    """A datatype of structs in which the integers of these members, by their paths, are durations."""
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        return numpy.dtype((_with_durations(base, members), shape))
    if "" in members:
        return numpy.dtype(members[""]).newbyteorder(dtype.byteorder)
    if dtype.names is None or not members:
        return dtype
    formats = []
    for name in dtype.names:
        inner = {path[len(name) + 1 :]: said for path, said in members.items() if path == name or path.startswith(f"{name}.")}
        formats.append(_with_durations(dtype.fields[name][0], inner))
    offsets = [dtype.fields[name][1] for name in dtype.names]
    return numpy.dtype({"names": list(dtype.names), "formats": formats, "offsets": offsets, "itemsize": dtype.itemsize})


def _typed(value, dtype):
    """A value or several of this type; or of the type that they have if this one lacks them."""
    own = _array(value) if isinstance(value, list) else value
    try:
        # An integer type has no NaN: that shows below.
        with numpy.errstate(invalid="ignore"):
            typed = numpy.array(own, dtype="f8" if dtype.kind == "f" else None).astype(dtype, casting="unsafe")
    except (OverflowError, TypeError, ValueError):
        return own
    if dtype.kind != "f" and not (typed == own).all():
        return own
    return typed[()]


def _number(value, dtype):
    """A number that is written as a string; the string itself if the type has no such number."""
    if dtype.kind in "iu":
        with contextlib.suppress(TypeError, ValueError):
            return int(value)
    try:
        number = float(value)
    except (TypeError, ValueError):
        return value
    # Some programs write whole numbers as floats.
    return int(number) if dtype.kind in "iu" and number.is_integer() else number


def decoded(dataset, how):
    """The dataset by the conventions of CF, as xarray decodes that of any engine."""
    decoders = {name: value for name, value in how.items() if value is not None}
    return xarray.decode_cf(dataset, **decoders)
