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


# The signature is that of `asdf`, the documentation is not.
@_functools.wraps(_asdf.open, assigned=())
def open(fd, *args, **kwargs):
    """Opens a file as `asdf.open` does, with the same arguments, and returns an `asdf.AsdfFile`.

    Trilith parses the tree, and reads a block when its array is used. A slice of an uncompressed or lz4 array reads only the bytes that it
    needs, and is still a view of the array.

    `asdf` itself reads other sources than local files and seekable file objects, files without a tree, files with faults, trees with
    rare forms of YAML, and everything with a version of `asdf` that was not tested (tested: 5.4 and 6.0). It also reads
    blocks with `validate_checksums`, uncompressed blocks with `memmap`, and codecs that an extension of `asdf` brings.

    A FITS file with an ASDF extension, as JWST has them, is opened for reading: its tree, with the arrays of the HDUs that the tree
    refers to. All of them are read into memory; `trilith.open` reads them when they are used.

    Parameters
    ----------
    fd : str, pathlib.Path or file object
        The file.
    *args, **kwargs
        The other arguments of `asdf.open`.

    Returns
    -------
    asdf.AsdfFile

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If the file is not a valid ASDF file, or a FITS file is to be changed.

    Examples
    --------
    >>> import io, numpy, trilith.asdf
    >>> with trilith.asdf.open(io.BytesIO(trilith.dumps({"data": numpy.arange(4)})), mode="r") as af:
    ...     int(af["data"].sum())
    6
    """
    if _hooks.is_fits(fd):
        fd, args, kwargs = _hooks.of_fits(fd, args, kwargs)
    with _use.here("read"):
        made = _asdf.open(fd, *args, **kwargs)
    if getattr(made._blocks, "_trilith", None) is not None:
        made.__class__ = AsdfFile
    return made


def everywhere(*, write=False):
    """Makes `asdf.open` read with Trilith in the whole process, as long as the context lasts.

    Any number of these contexts may be entered, in any threads, and left in any order. The environment variable `TRILITH_ASDF=read`, or
    `write`, does the same for a whole program, without a change of its code.

    Parameters
    ----------
    write : bool
        Let `write_to` and `update` of every `asdf.AsdfFile` write with Trilith, too.

    Returns
    -------
    context manager

    Raises
    ------
    ImportError
        If the package `asdf` is not installed, on the import of `trilith.asdf`.

    Examples
    --------
    >>> import asdf, io, trilith.asdf
    >>> out = io.BytesIO()
    >>> with trilith.asdf.everywhere(write=True):
    ...     asdf.AsdfFile({"a": 1}).write_to(out)
    >>> b"name: trilith" in out.getvalue()
    True
    """
    return _use.everywhere("read", "write") if write else _use.everywhere("read")
