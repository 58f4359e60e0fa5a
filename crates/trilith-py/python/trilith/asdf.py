"""Python's `asdf` with Trilith below it: real `asdf.AsdfFile` objects, faster and lazier.

`open` parses the tree and reads the blocks with Trilith, and leaves everything else to the `asdf`
package: its converters and those of astropy, gwcs or roman_datamodels make the objects, its schemas
validate, its `info` and `search` show. Files are written by Trilith, in the order of the keys.

>>> import io, numpy, trilith, trilith.asdf
>>> file = io.BytesIO(trilith.dumps({"data": numpy.arange(4)}))
>>> with trilith.asdf.open(file, mode="r") as af:
...     type(af).__mro__[1], int(af["data"].sum())
(<class 'asdf._asdf.AsdfFile'>, 6)

Trilith hands over to `asdf` whatever it cannot do in the same way: `report` lists these calls and the reasons. With `everywhere`, or the
environment variable `TRILITH_ASDF`, programs that know only `asdf` use it too.
"""

import functools as _functools

import asdf as _asdf

from . import _asdf_hooks as _hooks
from . import _asdf_use as _use
from ._asdf_use import Done, Report, report
from ._asdf_write import AsdfFile

__all__ = ["AsdfFile", "Done", "Report", "everywhere", "open", "report"]

_hooks.install()


@_functools.wraps(_asdf.open)
def open(fd, *args, **kwargs):
    """Opens a file as `asdf.open` does, with the same arguments, and returns an `asdf.AsdfFile`.

    The tree is parsed by Trilith, and blocks are read by it when their arrays are asked for; a slice of an
    array that is stored as it is or with lz4 reads what it needs. Slices are views of the array, as always.

    These are read by `asdf` itself: other places than local files and seekable file objects, files without a
    tree, files in which something is wrong, a tree in which YAML's rarer types stand in unusual places, and
    everything with a version of `asdf` that this was not tested with (tested: 5.4 and 6.0). Of a file that Trilith
    reads, blocks with `validate_checksums`, uncompressed ones with `memmap`, and those in a codec that an extension of
    `asdf` brings are read by `asdf`.
    """
    with _use.here("read"):
        made = _asdf.open(fd, *args, **kwargs)
    if getattr(made._blocks, "_trilith", None) is not None:
        made.__class__ = AsdfFile
    return made


def everywhere(*, write=False):
    """While this lasts, `asdf.open` reads with Trilith in the whole process, so that other packages do.

    With `write`, `write_to` and `update` of every `asdf.AsdfFile` write with it too. Any number of these may be entered,
    in any threads, and left in any order. The environment variable `TRILITH_ASDF=read`, or `write`, does the same for
    a whole program, without a change of its code.

    >>> import asdf, io, trilith.asdf
    >>> out = io.BytesIO()
    >>> with trilith.asdf.everywhere(write=True):
    ...     asdf.AsdfFile({"a": 1}).write_to(out)
    >>> b"name: trilith" in out.getvalue()
    True
    """
    return _use.everywhere("read", "write") if write else _use.everywhere("read")
