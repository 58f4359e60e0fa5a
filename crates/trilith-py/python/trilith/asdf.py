"""Python's `asdf` with Trilith below it: real `asdf.AsdfFile` objects, faster and lazier.

`open` parses the tree and reads the blocks with Trilith, and leaves everything else to the `asdf`
package: its converters and those of astropy, gwcs or roman_datamodels make the objects, its schemas
validate, its `info` and `search` show. Files are written by Trilith, in the order of the keys.

>>> import io, numpy, trilith, trilith.asdf
>>> file = io.BytesIO(trilith.dumps({"data": numpy.arange(4)}))
>>> with trilith.asdf.open(file, mode="r") as af:
...     type(af).__mro__[1], int(af["data"].sum())
(<class 'asdf._asdf.AsdfFile'>, 6)

What Trilith cannot do as `asdf` does it, it lets `asdf` do: see `open`.
"""

import contextlib as _contextlib
import functools as _functools

import asdf as _asdf

from . import _asdf_hooks as _hooks
from ._asdf_hooks import AsdfFile

__all__ = ["AsdfFile", "everywhere", "open"]

# Before anybody puts `open` in its place.
_open = _asdf.open


@_functools.wraps(_open)
def open(fd, uri=None, mode=None, *args, **kwargs):
    """Opens a file as `asdf.open` does, with the same arguments, and returns an `asdf.AsdfFile`.

    The tree is parsed by Trilith, and blocks are read by it when their arrays are asked for; a slice of an
    array that is stored as it is or with lz4 reads what it needs. Slices are views of the array, as always.

    These are opened by `asdf` itself: other places than local files and seekable file objects, files
    without a tree, `mode="rw"` for file objects or with `memmap`, `validate_checksums`, a tree in which
    YAML's rarer types stand in unusual places, and every version of `asdf` that this was not tested with
    (tested: 5.4 and 6.0).
    """
    made = _hooks.opened(fd, uri, mode, args, kwargs)
    return _open(fd, uri, mode, *args, **kwargs) if made is None else made


@_contextlib.contextmanager
def everywhere():
    """While this lasts, `asdf.open` is `trilith.asdf.open`, so that other packages open files through it.

    >>> import asdf, trilith.asdf
    >>> with trilith.asdf.everywhere():
    ...     asdf.open is trilith.asdf.open
    True
    """
    before = _asdf.open
    _asdf.open = open
    try:
        yield
    finally:
        _asdf.open = before
