"""Types of what `trilith` offers. `tests/test_stubs.py` holds this file and the module together."""

import os
from collections.abc import Iterable, Iterator
from collections.abc import Mapping as _Mapping
from typing import Any, Literal, final

import numpy
import numpy.typing

from ._trilith import (
    Array as Array,
    Asdf as Asdf,
    Columns as Columns,
    File as File,
    FormatError as FormatError,
    Layout as Layout,
    LimitError as LimitError,
    Mapping as Mapping,
    ParallelWriter as ParallelWriter,
    Picture as Picture,
    Sequence as Sequence,
    __version__ as __version__,
    convert as convert,
    create as create,
    open as open,
    resume as resume,
    show as show,
    write as write,
)

def concat(
    files: str | Iterable[str | os.PathLike[str]],
    path: str,
    dim: str = "file",
    *,
    dims: str | Iterable[str] | None = None,
    join: Literal["new", "existing"] = "new",
) -> Any:
    """The arrays at a path of many files as one `xarray.DataArray`, which reads them when it is computed.

    `files` are paths, or a pattern such as `"r????.asdf"`, whose matches are sorted. The arrays are put along a new first
    dimension `dim`, or with `join="existing"` one after the other along the dimension of that name. `dims` names the
    dimensions of each array; without it they are those of `Array.to_xarray`. Needs xarray and dask.

    Only the tree of each file is read at first; a task of dask opens the file that it reads.

    >>> import numpy, tempfile, trilith
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for n in range(3):
    ...         trilith.write(f"{folder}/r{n}.asdf", {"te": numpy.full((4, 5), n)})
    ...     te = trilith.concat(f"{folder}/r?.asdf", "/te", dim="time", dims=("y", "x"))
    ...     sizes, last = dict(te.sizes), int(te[-1, 0, 0])
    >>> sizes, last
    ({'time': 3, 'y': 4, 'x': 5}, 2)
    """
def dumps(
    tree: _Mapping[Any, Any] | Mapping | Columns | File,
    *,
    codec: str | None = None,
    level: int | None = None,
    version: str | None = None,
    checksums: bool = True,
    inline: bool | int | None = None,
) -> bytes:
    """The bytes of a file, as `write` writes it with the same options.

    >>> import trilith
    >>> trilith.dumps({"a": 1}).startswith(b"#ASDF 1.0.0")
    True
    """
def table(
    files: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    columns: _Mapping[str, str],
    *,
    where: str | None = None,
    each: str | None = None,
    sort: str | None = None,
    hidden: bool = False,
    layout: Layout | str | os.PathLike[str] | None = None,
    byteorder: str | None = None,
    allow: Iterable[str] = (),
    remote: dict[str, Any] | None = None,
    errors: Literal["warn", "raise"] = "warn",
) -> Table:
    """Values of many files as one table: a row for each file, a column for each path.

    `files` is a file, a folder (with all below it), a pattern (`"archive/**/*.asdf"`), an address, or several of
    them. `columns` maps the name of each column to the path of its values; behind a path, `@shape`, `@ndim`, `@size`,
    `@nbytes`, `@dtype`, `@codec`, `@min`, `@max` and `@mean` ask about an array, `@unit`, `@tag` and `@kind` about any
    item. The first column is `file`. What a file does not have is null; integers with floats become floats, any
    other mixture becomes text, with a warning.

    `where` keeps rows that meet a condition, such as `'exposure > 100 and filter == "F158"'`. `sort` is the name of a
    column, several with commas between, the greatest first with `:desc`. `each` is the path of a list, and gives a row
    for each of its items; the paths of columns then begin at the item, those with `//` at the root of the file.
    `hidden` takes hidden files in folders too. `layout`, `byteorder`, `allow` and `remote` are those of `open`.

    A file that cannot be read is skipped with a warning, and `Table.errors` holds the exception. With
    `errors="raise"` the first of them is raised.

    The files are read side by side, without the interpreter lock. The result goes to pandas, polars, pyarrow and
    DuckDB as it is, by Arrow's C stream interface (`pip install trilith[arrow]`).

    >>> import tempfile, trilith
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for number, seconds in enumerate([139.8, 60, None]):
    ...         trilith.write(f"{folder}/r{number}.asdf", {"meta": {"exposure": seconds, "filter": "F158"}})
    ...     found = trilith.table(folder, {"exposure": "/meta/exposure", "band": "/meta/filter"}, where="exposure > 50")
    >>> found["exposure"], found["band"], found.names
    ([139.8, 60.0], ['F158', 'F158'], ['file', 'exposure', 'band'])
    """
def view(*files: File | str | os.PathLike[str], height: int = 600) -> View:
    """Shows files in the viewer: a notebook has it in a frame of so many pixels, and its `address` opens it in a browser.

    Each is an open file, a path, an address, or a folder; behind `#` a path may have the item to begin with. The browser
    must be on the same machine as this process.
    """

class View:
    """A viewer that a notebook shows in a frame. It ends with this process, or with `close()`."""

    address: str
    def __init__(self, words: Iterable[str], height: int) -> None: ...
    def close(self) -> None:
        """Ends the server."""

class Pieces:
    """An array that is written piece by piece, because it does not fit into memory.

    `pieces` is gone through when the file is written, and gives arrays whose first axes make up that of
    `shape`. Where the length of that is None, there may be any number: the array is written as the streamed
    last block of the file, and rows can be appended later. With `masked`, pieces may be masked arrays; their
    masks wait in a temporary file until the elements are written.

    >>> import numpy, trilith
    >>> rows = (numpy.full((10, 100), n, "f4") for n in range(3))
    >>> f = trilith.open(trilith.dumps({"a": trilith.Pieces(rows, (30, 100), "f4")}))
    >>> f["a"].shape, float(f["a"][-1, 0])
    ((30, 100), 2.0)
    """

    def __init__(
        self,
        pieces: Iterable[numpy.typing.ArrayLike],
        shape: tuple[int | None, ...],
        dtype: numpy.typing.DTypeLike,
        *,
        masked: bool = False,
    ) -> None: ...
    @classmethod
    def of_dask(cls, array: Any) -> Pieces:
        """The rows of a dask array, computed one row of chunks after the other."""
    def masks(self) -> Iterator[numpy.typing.NDArray[numpy.uint8]]:
        """The mask of what was written, piece by piece."""

class Reserved:
    """Space for an array whose elements many processes write: for the tree of `trilith.create`.

    >>> import trilith
    >>> trilith.Reserved((1000, 4088, 4088), "f4")
    <trilith.Reserved float32 (1000, 4088, 4088)>
    """

    shape: tuple[int, ...]
    dtype: numpy.dtype[Any]
    def __init__(self, shape: int | Iterable[int], dtype: numpy.typing.DTypeLike) -> None: ...

class Table:
    """A table that `trilith.table` made. Its columns are lists: `table["exposure"]`."""

    @property
    def names(self) -> list[str]:
        """The names of the columns; the first is `file`."""
    @property
    def types(self) -> dict[str, str]:
        """The type of each column by its name: `null`, `bool`, `int`, `float` or `text`."""
    @property
    def errors(self) -> dict[str, Exception]:
        """The files that could not be read, with the exception of each."""
    def to_dict(self) -> dict[str, list[Any]]:
        """A dictionary of the columns."""
    def rows(self) -> list[dict[str, Any]]:
        """The rows, each a dictionary."""
    def __len__(self) -> int: ...
    def __getitem__(self, name: str) -> list[Any]: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

@final
class TaggedString(str):
    """A scalar with a tag of its own, such as ``!unit/unit-1.0.0 m``: its text, and the whole tag.

    >>> import trilith
    >>> unit = trilith.TaggedString("m", "tag:stsci.edu:asdf/unit/unit-1.0.0")
    >>> f = trilith.open(trilith.dumps({"unit": unit}))
    >>> f["unit"], f["unit"].tag
    ('m', 'tag:stsci.edu:asdf/unit/unit-1.0.0')
    """

    tag: str
    def __new__(cls, text: str, tag: str) -> TaggedString: ...

class TaggedDict(dict[Any, Any]):
    """A dictionary with the tag of the mapping that it was, such as ``!unit/quantity-1.2.0``.

    >>> import trilith
    >>> f = trilith.open(trilith.dumps({"q": trilith.TaggedDict({"value": 2.0}, "tag:example.org:quantity-1.0.0")}))
    >>> changed = f.to_dict()
    >>> changed["q"]["value"] = 3.0
    >>> trilith.open(trilith.dumps(changed))["q"].tag
    'tag:example.org:quantity-1.0.0'
    """

    tag: str
    def __init__(self, pairs: Any, tag: str) -> None: ...

class TaggedList(list[Any]):
    """A list with the tag of the sequence that it was."""

    tag: str
    def __init__(self, items: Any, tag: str) -> None: ...
