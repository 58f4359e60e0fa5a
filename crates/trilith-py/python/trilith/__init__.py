"""Self-describing scientific array files of many formats, fast and lazy.

Groups behave like dictionaries and lists, arrays like numpy's:

>>> import numpy, trilith
>>> data = trilith.dumps({"roman": {"data": numpy.arange(6).reshape(2, 3), "meta": {"exposure": 139.8}}})
>>> with trilith.open(data) as f:
...     image = f["roman/data"]
...     exposure = f["roman"]["meta"]["exposure"]
>>> image[0], exposure
(array([0, 1, 2]), 139.8)

=====================================  ==========================================================
Open a file of any format              `open`, which returns a `File`
Read a slice, a column of a table      `f["roman/data"][:10]`, `f["stars"]["flux"]` (`Array`)
Read an attribute or a FITS card       `f["fits/SCI@EXPTIME"]`, `f["fits/SCI"].attrs`
Write a file                           `write`, `dumps`; from several processes `create`, `resume`
Edit a file                            `f["meta/observer"] = "H. Leavitt"`, then `f.update()`
Convert a file                         `convert`
Values of many files as a table        `table`
Arrays of many files as one            `concat`; for the files of a Dudley catalog `open_set`
Coordinates on the sky                 `f["roman/data"].wcs` (`WCS`), `wcs`, `cutout`, `covering`
Look at an image or a plot             `show`, `view`
Describe a file of raw bytes           `Layout`
=====================================  ==========================================================
"""

from collections import abc as _abc
from typing import Any as _Any

from ._trilith import (
    Array,
    Asdf,
    Columns,
    File,
    FileSet,
    FormatError,
    Layout,
    LimitError,
    Mapping,
    ParallelWriter,
    Picture,
    Sequence,
    __version__,
    convert,
    create,
    open,
    resume,
    show,
    write,
)
from ._concat import concat
from ._file_sets import open_set
from ._table import Table, table
from ._values import Attributes, Pieces, Reserved, TaggedDict, TaggedList, TaggedString
from ._view import View, view
from ._wcs import WCS, covering, cutout, wcs

from . import _habits, _numpy  # isort: skip

__all__ = [
    "Array",
    "Asdf",
    "Columns",
    "File",
    "FileSet",
    "FormatError",
    "Layout",
    "LimitError",
    "Mapping",
    "ParallelWriter",
    "Picture",
    "Pieces",
    "Reserved",
    "Sequence",
    "Table",
    "Attributes",
    "TaggedDict",
    "TaggedList",
    "TaggedString",
    "View",
    "WCS",
    "__version__",
    "concat",
    "convert",
    "covering",
    "create",
    "cutout",
    "dumps",
    "open",
    "open_set",
    "resume",
    "show",
    "table",
    "view",
    "wcs",
    "write",
]

for _class in (Mapping, File):
    _abc.Mapping.register(_class)
_abc.Sequence.register(Sequence)


def dumps(
    tree: _abc.Mapping[_Any, _Any] | Mapping | Columns | File,
    *,
    codec: str | None = None,
    level: int | None = None,
    version: str | None = None,
    checksums: bool = True,
    inline: bool | int | None = None,
) -> bytes:
    """Returns the bytes of a file.

    Parameters
    ----------
    tree, codec, level, version, checksums, inline
        As in `write`.

    Returns
    -------
    bytes

    Raises
    ------
    ValueError
        If a value cannot be written, or if an option has no such value.

    Examples
    --------
    >>> import trilith
    >>> trilith.dumps({"a": 1}).startswith(b"#ASDF 1.0.0")
    True
    """
    import io

    out = io.BytesIO()
    write(out, tree, codec=codec, level=level, version=version, checksums=checksums, inline=inline)
    return out.getvalue()


def __getattr__(name):
    """Imports a module of the package when it is first used: `trilith.zarr` needs no separate import, but zarr."""
    if name in ("asdf", "virtual", "zarr"):
        import importlib

        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
