"""`trilith.concat`: one array of many files."""

import concurrent.futures
import errno
import functools
import glob
import os
from collections import abc
from typing import Any, Literal

from ._trilith import Array, _natural, open

# Files that are opened side by side: more than cores, since servers let one wait.
_AT_ONCE = 16
# Attributes that say what the numbers mean, so that those of all files have to be equal.
_MEANINGS = ("units", "calendar")


def concat(
    files: str | abc.Iterable[str | os.PathLike[str]],
    path: str,
    dim: str = "file",
    *,
    dims: str | abc.Iterable[str] | None = None,
    join: Literal["new", "existing"] = "new",
) -> Any:
    """Joins the array at a path in many files into one lazy `xarray.DataArray`.

    Only the tree of each file is read at first. A task of dask opens the file that it reads. Masked elements are NaN, and integers
    with a mask are floats, as `xarray.open_mfdataset` has them. Needs xarray and dask.

    Parameters
    ----------
    files : str or iterable of paths
        Paths, or a pattern such as `"r????.asdf"`, whose matches are sorted.
    path : str
        Path of the array in each file.
    dim : str
        Name of the dimension along which the arrays are joined.
    dims : str or iterable of str, optional
        Names of the dimensions of each array. Without it they are those of `Array.to_xarray`.
    join : {"new", "existing"}
        If the arrays have the dimension `dim`, they are put one after the other along it, otherwise along a new first dimension. With
        "existing", arrays without this dimension are an error.

    Returns
    -------
    xarray.DataArray

    Raises
    ------
    FileNotFoundError
        If no file matches.
    KeyError
        If a file has no such item.
    ValueError
        If the arrays differ in dtype or shape, or in an attribute that says what the numbers mean: `units` and `calendar`.
    NotImplementedError
        If an array of records has a mask.

    Examples
    --------
    >>> import numpy, tempfile, trilith
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for n in range(3):
    ...         trilith.write(f"{folder}/r{n}.asdf", {"te": numpy.full((4, 5), n)})
    ...     te = trilith.concat(f"{folder}/r?.asdf", "/te", dim="time", dims=("y", "x"))
    ...     sizes, last = dict(te.sizes), int(te[-1, 0, 0])
    >>> sizes, last
    ({'time': 3, 'y': 4, 'x': 5}, 2)
    """
    import xarray

    if join not in ("new", "existing"):
        raise ValueError(f'join is "new" or "existing", not {join!r}')
    order = functools.cmp_to_key(_natural)
    names = sorted(glob.glob(files, recursive=True), key=order) if isinstance(files, str) else [os.fspath(name) for name in files]
    if not names:
        raise FileNotFoundError(errno.ENOENT, "no file matches the pattern or the list", files if isinstance(files, str) else None)
    with concurrent.futures.ThreadPoolExecutor(_AT_ONCE) as pool:
        parts, dtypes = zip(*pool.map(lambda name: _part(name, path, dims), names), strict=True)
    if join == "existing" and dim not in parts[0].dims:
        raise _named(ValueError(f"{path} has no dimension {dim!r}; there are: {', '.join(map(str, parts[0].dims))}"), names[0])
    # A mask in some of the files only makes floats of all.
    differing = next((n for n, dtype in zip(names, dtypes, strict=True) if dtype != dtypes[0]), None)
    if differing is not None:
        raise _named(ValueError(f"{differing}: {path} has another dtype than in {names[0]}"), differing)
    for name, part in zip(names, parts, strict=True):
        if odd := next((word for word in _MEANINGS if str(part.attrs.get(word)) != str(parts[0].attrs.get(word))), None):
            what = f"{name}: {path} has {odd}={part.attrs.get(odd)!r}, and {parts[0].attrs.get(odd)!r} in {names[0]}"
            is_time = " since " in str(part.attrs.get("units"))
            hint = '; xarray.open_mfdataset(files, engine="trilith") joins the dates' if is_time else ""
            raise _named(ValueError(what + hint), name)
    if join == "new" and any(part.shape != parts[0].shape for part in parts):
        other = next(n for n, part in zip(names, parts, strict=True) if part.shape != parts[0].shape)
        raise _named(ValueError(f"{other}: {path} has another shape than in {names[0]}"), other)
    return xarray.concat(parts, dim)


def _named(error, name):
    """The error with the name of its file, as errors of the operating system have it."""
    error.filename = name
    return error


def _part(name, path, dims):
    """The array at a path of one file, to be read later, and the dtype of its elements in the file."""
    with open(name) as file:
        array = file[path]
        if not isinstance(array, Array):
            raise _named(TypeError(f"{name}: {path} is not an array"), name)
        part, lazy = array.to_xarray(dims), array.to_dask()
        if array.mask is None:
            return part.copy(data=lazy), array.dtype
        # xarray reads masked elements as NaN.
        return part.chunk(dict(zip(part.dims, lazy.chunks, strict=True))), array.dtype
