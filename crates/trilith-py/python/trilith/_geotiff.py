"""The geographic part of a TIFF file as xarray has it: which pages are variables, their coordinates, and their reference system.

The tags are those of the OGC GeoTIFF standard 1.1. Coordinates are those of the centres of pixels, as rioxarray has them.
"""

import numpy
import xarray

#: The name of the variable with the reference system, which rioxarray looks for.
CRS = "spatial_ref"

# Keys of the directory of a GeoTIFF, and values of them.
_MODEL, _RASTER, _GEODETIC, _PROJECTED = 1024, 1025, 2048, 3072
_IS_PROJECTED, _PIXEL_IS_POINT, _USER_DEFINED = 1, 2, 32767
# Elements of the longest coordinate: they are made when the file is opened.
_MAX_COORDINATES = 1 << 27


def overviews(arrays, said):
    """The names of the pages that are smaller versions of another page of these arrays; `said` are their attributes."""
    kinds = {key: attributes.get("NewSubfileType", 0) for key, attributes in said.items() if "PhotometricInterpretation" in attributes}
    small = {key for key, kind in kinds.items() if isinstance(kind, (int, numpy.integer)) and kind & 1}
    full = [_size(arrays[key]) for key in kinds if key not in small]
    return {key for key in small if any(_is_overview(_size(arrays[key]), size) for size in full)}


def _axes(array):
    """The numbers of the axes y and x; None if an array has not both."""
    dims = list(array._words.get("grid_dims") or ())
    return (dims.index("y"), dims.index("x")) if {"y", "x"} <= set(dims) else None


def _size(array):
    axes = _axes(array)
    return None if axes is None else tuple(array.shape[axis] for axis in axes)


def _is_overview(size, full):
    """Whether lengths are those of a full image, divided by one number and rounded."""
    if size is None or full is None or any(small > large for small, large in zip(size, full, strict=True)):
        return False
    low = max(large / (small + 1) for small, large in zip(size, full, strict=True))
    high = min(large / (small - 1) if small > 1 else large for small, large in zip(size, full, strict=True))
    return low <= high


def coordinates(node, arrays, said, names):
    """The coordinates of images, by their names, and the images that have a reference system. Axes that several images share have
    coordinates if these agree."""
    found, conflicts, referenced = {}, set(), {}
    for key, array in arrays.items():
        axes = _axes(array)
        tags = _tags(node, key, said[key])
        if axes is None or not tags:
            continue
        affine, crs = _affine(tags), _crs(tags)
        if affine is None and crs is None:
            continue
        referenced[key] = {} if crs is None else {"spatial_ref": f"EPSG:{crs}", "epsg_code": crs}
        if affine is None:
            continue
        referenced[key]["GeoTransform"] = " ".join(str(float(number)) for number in affine)
        x, dx, rx, y, ry, dy = affine
        if rx or ry:
            # Neither axis has one coordinate.
            continue
        for axis, start, step in zip(axes, (y, x), (dy, dx), strict=True):
            # In the order of operations of rioxarray, so that datasets align.
            if array.shape[axis] > _MAX_COORDINATES:
                continue
            values = numpy.arange(array.shape[axis]) * step + (0.5 * step + start)
            dim = names[key][axis]
            if dim in arrays or (dim in found and not numpy.array_equal(found[dim].values, values)):
                conflicts.add(dim)
            found[dim] = xarray.Variable((dim,), values)
    found = {dim: variable for dim, variable in found.items() if dim not in conflicts}
    systems = list(referenced.values())
    if CRS in arrays or not systems or any(other != systems[0] for other in systems):
        return found, set()
    return found | {CRS: xarray.Variable((), numpy.int64(0), systems[0])}, set(referenced)


def _tags(node, key, attributes):
    """The tags of an image about coordinates, each as a list; long ones are items."""
    found = {}
    for name in ("ModelPixelScale", "ModelTiepoint", "ModelTransformation", "GeoKeyDirectory"):
        value = attributes.get(name)
        if value is None and f"{key}@{name}" in node:
            value = node[f"{key}@{name}"]
        if value is not None:
            found[name] = numpy.atleast_1d(numpy.asarray(value)).ravel().tolist()
    return found


def _affine(tags):
    """The six numbers of GDAL from the corner of the first pixel on; None if there are none, or points that tell them."""
    scale, tie, matrix = (tags.get(name, ()) for name in ("ModelPixelScale", "ModelTiepoint", "ModelTransformation"))
    if len(scale) >= 2 and scale[0] and scale[1]:
        if len(tie) < 6:
            return None
        # As GDAL has it, rows go south whatever the sign is.
        affine = [0.0, scale[0], 0.0, 0.0, 0.0, -abs(scale[1])]
        affine[0], affine[3] = tie[3] - tie[0] * affine[1], tie[4] - tie[1] * affine[5]
    elif len(matrix) == 16:
        affine = [matrix[at] for at in (3, 0, 1, 7, 4, 5)]
    else:
        return None
    if _keys(tags).get(_RASTER) == _PIXEL_IS_POINT:
        affine[0] -= (affine[1] + affine[2]) / 2
        affine[3] -= (affine[4] + affine[5]) / 2
    return affine


def _keys(tags):
    """The keys whose values are short integers."""
    numbers = tags.get("GeoKeyDirectory", ())
    return {numbers[at]: numbers[at + 3] for at in range(4, len(numbers) - 3, 4) if numbers[at + 1] == 0}


def _crs(tags):
    """The EPSG code of the reference system; None if the file describes its own, or none."""
    keys = _keys(tags)
    code = keys.get(_PROJECTED if keys.get(_MODEL) == _IS_PROJECTED else _GEODETIC, 0)
    return code if 1024 <= code < _USER_DEFINED else None
