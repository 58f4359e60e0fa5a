"""Metadata of a dataset from a layout, as xarray has it: attributes, decoded by the CF conventions.

Attributes of a layout are integers, floats, strings and lists of these. Attributes that describe elements have their type, as
in the library of the format; strings that mean numbers, such as "nan", are numbers there.
"""

import numpy
import xarray

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
        elif name in _ELEMENTS and dtype is not None and dtype.kind in "iufb":
            value = _typed(value, dtype)
        elif name == "GDAL_NODATA" and dtype is not None and dtype.kind in "iuf" and "_FillValue" not in what.attrs:
            # The conventions of CF have another name for it.
            found["_FillValue"] = _typed(_number(value, dtype), dtype)
        elif isinstance(value, list) and value and all(isinstance(one, (int, float)) for one in value):
            value = numpy.array(value)
        found[name] = "" if value is None else value
    if dtype is not None:
        for name, said in (("units", what.unit), ("long_name", what.doc)):
            if said is not None and name not in found:
                found[name] = said.strip()
    return found


def _typed(value, dtype):
    """A value or several of this type; as they are where that would change them."""
    try:
        typed = numpy.array(value, dtype="f8" if dtype.kind == "f" else None).astype(dtype, casting="unsafe")
    except (TypeError, ValueError):
        return value
    if dtype.kind != "f" and not (typed == numpy.array(value)).all():
        return value
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
