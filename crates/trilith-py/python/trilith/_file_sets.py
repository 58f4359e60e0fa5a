"""The files of a set as one."""

from __future__ import annotations

import os
from typing import Any, BinaryIO

from ._trilith import FileSet, Layout, _open


#: Arguments of `open_set` that `open` does not have, and the name that the layout of the files had before.
_SETS = ("files", "where", "shape", "raw", "params", "family")


def opened(source, **options):
    """The file or the file set that these arguments of `open` or `open_set` mean."""
    given = [name for name in _SETS if options.get(name) is not None and options[name] is not False]
    if not given:
        only_set = [name for name in ("shape", "files", "where", "params") if name in options]
        return _open(source, **{name: value for name, value in options.items() if name not in only_set})
    family = options.pop("family", None)
    if family is not None and family is not True:
        options["layout"] = family
    shape = options.pop("shape", None)
    return open_set(source, shape="error" if shape is None else shape, **options)


def open_set(
    catalog: str | os.PathLike[str] | bytes | BinaryIO,
    *,
    layout: Layout | str | os.PathLike[str] | None = None,
    files: int | slice | str | list[int | slice | str] | None = None,
    where: str | None = None,
    shape: str | list[str] = "error",
    raw: bool = False,
    params: dict[str, int | str] | None = None,
    **options: Any,
) -> FileSet:
    """Opens the files that a Dudley catalog lists as one: each item is one array, whose first axis counts the files.

    Nothing but the catalog is read. A slice of an array opens only the files that hold it. `concat` joins arrays of files that no
    catalog lists.

    Parameters
    ----------
    catalog : str, os.PathLike, bytes or file object
        The catalog, as `trilith layout catalog` or `Layout.catalog` writes it.
    layout : Layout, str or os.PathLike, optional
        The layout of the files, if the catalog does not hold it.
    files : slice, int, str such as "0:10", or list of these, optional
        The files to take, counted from 0 as in the catalog.
    where : str, optional
        Of these files only those whose values in the summary block meet this condition, such as `"time > 3.5"`.
    shape : {"error", "pad", "each", "along=AXIS"} or list of str
        The form of an item whose shape differs between the files. `"pad"` masks the elements that a file does not have,
        `"each"` gives a list with the array of each file, and `"along=nx"` joins items along the axis of this name. By
        default such an item is an error.
    raw : bool
        The files have no signature, if the catalog does not record it.
    params : dict, optional
        Values of fixed parameters of the layout in each file: `{"n": 5}`, or `{"n": "fill"}` for the number that follows from
        the length of each file. `Layout.catalog(..., params=)` records them in the catalog. The values are an item, `f["n"]`.
    **options
        Arguments of `trilith.open`, such as `byteorder` and `storage_options`.

    Returns
    -------
    FileSet

    Raises
    ------
    ValueError
        If the file is no catalog, or if `shape` has another value.

    Examples
    --------
    >>> import numpy, pathlib, tempfile, trilith
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> layout = trilith.Layout("{ n : i8  time = f8 }  x = f8[n]")
    >>> for step, n in enumerate([2, 3]):
    ...     layout.write(folder / f"r{step}.bd", n=n, time=float(step), x=numpy.arange(float(n)))
    >>> layout.catalog(folder / "r*.bd", folder / "run.bd")
    >>> trilith.open_set(folder / "run.bd", shape="pad")["x"][...]
    masked_array(
      data=[[0.0, 1.0, --],
            [0.0, 1.0, 2.0]],
      mask=[[False, False,  True],
            [False, False, False]],
      fill_value=1e+20)
    >>> [x.shape for x in trilith.open_set(folder / "run.bd", shape="each")["x"]]
    [(2,), (3,)]
    >>> trilith.open_set(folder / "run.bd", shape="along=n", where="time < 1")["x"].shape
    (2,)
    """
    if options.get("family") is not None:
        raise TypeError("the layout of the files is the argument layout of open_set")
    options.pop("family", None)
    chosen: list[int | slice | str] = [] if files is None else list(files) if isinstance(files, (list, tuple)) else [files]
    words = [word.strip() for part in ([shape] if isinstance(shape, str) else shape) for word in part.split(",")]
    for word in words:
        if word != "error" and word not in ("pad", "each") and not word.startswith("along="):
            raise ValueError(f'shape is "error", "pad", "each" or "along=AXIS", not {word!r}')
    chosen += [word for word in words if word != "error"]
    family: Any = True if layout is None else layout
    return _open(catalog, family=family, files=chosen or None, where=where, raw=raw, params=params, **options)
