"""Metadata of a dataset from a layout, as xarray has it: attributes, decoded by the CF conventions.

Attributes of a layout are integers, floats, strings and lists of these. Numbers that describe elements have the type of these, if
it has them; strings stay strings.
"""

import numpy
import xarray

from ._values import encoded

#: The arguments of `xarray.open_dataset` that say how to decode, and whether without a word.
DECODERS = ("mask_and_scale", "decode_times", "concat_characters", "use_cftime", "decode_timedelta", "decode_coords")

# Attributes whose values are elements.
_ELEMENTS = {"_FillValue", "missing_value", "valid_min", "valid_max", "valid_range", "flag_values", "flag_masks"}
_FACTORS = {"scale_factor", "add_offset"}
# What netCDF-4 keeps for itself.
_OWN = {"_NCProperties", "_nc3_strict"}
# Attributes of a derived layout about the datatype.
_DATATYPES = {"enum_names", "enum_values"}


def attributes(what):
    """The attributes of an array or a dict, as the library of its format has them."""
    dtype = getattr(what, "dtype", None)
    words = {} if dtype is None else what._words
    types = dict.fromkeys(words.get("grid_float32") or (), "f4")
    integers = words.get("grid_integers") or ()
    types |= dict(zip(integers[::2], integers[1::2], strict=True))
    found = {}
    for name, value in what.attrs.items():
        if name in (_OWN if dtype is None else _DATATYPES):
            continue
        if name in _FACTORS:
            value = _typed(value, numpy.dtype(types.get(name, "f8")))
        elif name in _ELEMENTS and dtype is not None and dtype.kind in "iufb" and not _is_text(value):
            value = _typed(value, dtype)
        elif name == "_FillValue" and dtype is not None and dtype.kind == "S" and isinstance(value, str):
            value = numpy.bytes_(encoded(value) or b"\0")
        elif name == "GDAL_NODATA" and dtype is not None and dtype.kind in "iuf" and "_FillValue" not in what.attrs:
            # The conventions of CF have another name for it.
            found["_FillValue"] = _typed(_number(value, dtype), dtype)
        elif isinstance(value, list) and value and all(isinstance(one, (int, float)) for one in value):
            value = _array(value)
        found[name] = "" if value is None else value
    if dtype is not None:
        # The attributes of other formats are those that they have.
        units = None if what._form == "derived" else what.unit
        for name, said in (("units", units), ("long_name", what.doc)):
            if said is not None and name not in found:
                found[name] = said.strip()
    return found


def _is_text(value):
    """Whether it is a string, or a list with one."""
    return any(isinstance(one, str) for one in (value if isinstance(value, list) else [value]))


def _array(values):
    """Several numbers as an array of the smallest type that has all of them."""
    # numpy makes floats of integers of which some need a sign and others all 64 bits.
    is_unsigned = all(isinstance(one, int) and one >= 0 for one in values) and max(values) > 2**63 - 1
    return numpy.array(values, dtype="u8" if is_unsigned else None)


def _typed(value, dtype):
    """A value or several of this type; of their own type if this one does not have them."""
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
    try:
        return int(value) if dtype.kind in "iu" else float(value)
    except (TypeError, ValueError):
        return value


def decoded(dataset, how):
    """The dataset by the conventions of CF, as xarray decodes that of any engine."""
    decoders = {name: value for name, value in how.items() if value is not None}
    return xarray.decode_cf(dataset, **decoders)
