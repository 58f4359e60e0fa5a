"""Names of axes: what a file itself says, else what the conventions of an instrument say.

- A gwcs beside an array names the pixel axes of its first frame, in the order x, y: the axes of the array are the same
  names in the other order.
- Data models of Roman and JWST have images along `y` and `x`, before these `resultant`, or `integration` and `group`.
- What xarray wrote has its names beside it.
- A layout, and with it a file of another format, says them with `grid_dims`.
"""

from ._trilith import Array, Sequence, _Keyed

# Axes before those of the image, by telescope and their number.
_BEFORE = {
    "ROMAN": {1: ("resultant",)},
    "JWST": {1: ("integration",), 2: ("integration", "group")},
}
# Arrays whose first axis is something else.
_FIRST = {"context": "plane"}

_DATAMODELS = "asdf://stsci.edu/datamodels/"


def known(group):
    """What is known of the arrays in a group, to be handed to `of`."""
    if not isinstance(group, _Keyed):
        return None
    telescope = _telescope(group)
    names = _frame(group) or (("y", "x") if telescope else None)
    return None if names is None else (names, _BEFORE.get(telescope, {}))


def of(group, key, array):
    """The names of the axes of an array, or None where nothing says them; `group` is what `known` gives."""
    if group is None:
        return None
    names, before = group
    count = len(array.shape) - len(names)
    if count == 0:
        return names
    first = (_FIRST[key],) if count == 1 and key in _FIRST else before.get(count)
    return None if first is None else (*first, *names)


def written(node):
    """The names that stand beside an array, as xarray writes it; None where none do."""
    dims = node.get("dims") if isinstance(node, _Keyed) and isinstance(node.get("data"), Array) else None
    return tuple(map(str, dims)) if isinstance(dims, Sequence) and len(dims) == node["data"].ndim else None


def laid_out(array):
    """The names that the layout gives the axes of an array; an axis without a name has None. None where it gives none."""
    dims = array.attributes.get("grid_dims")
    if not isinstance(dims, list) or len(dims) != array.ndim:
        return None
    return tuple(str(name) or None for name in dims)


def _telescope(group):
    tag = group.tag or ""
    if tag.startswith(_DATAMODELS):
        return tag[len(_DATAMODELS) :].partition("/")[0].upper()
    named = group.get("meta/telescope")
    return str(named).upper() if isinstance(named, str) and str(named).upper() in _BEFORE else None


def _frame(group):
    """The names of the pixel axes of the group's WCS, in the order of an array."""
    for path in ("meta/wcs", "wcs"):
        names = group.get(f"{path}/steps/0/frame/axes_names") if path in group else None
        if isinstance(names, Sequence) and len(names) and all(isinstance(name, str) and name for name in names):
            return tuple(map(str, names))[::-1]
    return None
