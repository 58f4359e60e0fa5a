"""Names of axes: from the neighbours of an array, its layout, or the conventions of its group."""

from ._trilith import Array, Sequence, _conventions, _Keyed


def said(group, arrays):
    """The names of the axes of arrays in a group, both by key; an axis without a name has None, and so has an array of
    which nothing is said.
    """
    names = {key: laid_out(array) for key, array in arrays.items()}
    left = [(key, array.ndim) for key, array in arrays.items() if names[key] is None]
    if left and isinstance(group, _Keyed):
        names.update(zip([key for key, _ in left], _conventions(group, left), strict=True))
    return names


def written(node):
    """Returns the names next to an array, as xarray writes them, or None."""
    dims = node.get("dims") if isinstance(node, _Keyed) and isinstance(node.get("data"), Array) else None
    return tuple(map(str, dims)) if isinstance(dims, Sequence) and len(dims) == node["data"].ndim else None


def laid_out(array):
    """The names that the layout gives the axes of an array; an axis without a name has None. None where it gives none."""
    names, _ = array._axes
    return names if any(names) and len(names) == array.ndim else None
