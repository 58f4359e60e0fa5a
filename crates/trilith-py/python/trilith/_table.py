"""`trilith.table`: values of many files as one table."""

import html
import os
import warnings
from collections import abc
from typing import Any, Literal

from ._sky import SkyFrameName, degrees
from ._trilith import Layout, _merge_deprecated, _table


def table(
    files: str | os.PathLike[str] | abc.Iterable[str | os.PathLike[str]],
    columns: abc.Mapping[str, str],
    *,
    where: str | None = None,
    covers: Any = None,
    sky_frame: SkyFrameName = "icrs",
    wcs_key: str = "",
    each: str | None = None,
    sort: str | None = None,
    hidden: bool = False,
    layout: Layout | str | os.PathLike[str] | None = None,
    byteorder: str | None = None,
    allow: abc.Iterable[str] = (),
    storage_options: dict[str, Any] | None = None,
    errors: Literal["warn", "raise"] = "warn",
    **deprecated: Any,
) -> "Table":
    """Returns values of many files as one table: a row for each file, a column for each path.

    A file that cannot be read is skipped with a warning, and `Table.errors` holds the exception. The files are read in parallel,
    without the interpreter lock. pandas, polars, pyarrow and DuckDB take the result directly, by Arrow's C stream interface
    (`pip install 'trilith[arrow]'`).

    Parameters
    ----------
    files : path or iterable of paths
        A file, a folder (with all below it), a pattern (`"archive/**/*.asdf"`), a URL, or several of them.
    columns : dict of str
        The name of each column, and the path of its values. After a path, `@shape`, `@ndim`, `@size`, `@nbytes`, `@dtype`,
        `@codec`, `@min`, `@max` and `@mean` query an array, `@unit`, `@tag` and `@kind` any item, and `@centre`, `@footprint`
        (degrees) and `@scale` (arcsec) the coordinates of an image. The first column is `file`. A missing value is null. Integers
        with floats become floats, any other mixture becomes text, with a warning.
    where : str, optional
        Keep rows that meet a condition, such as `'exposure > 100 and filter == "F158"'`.
    covers : tuple of float, or SkyCoord, optional
        Keep files with an image that holds a position on the sky, (lon, lat) in degrees, or comes within a radius of it,
        (lon, lat, radius). (SkyCoord, radius) is allowed as well.
    sky_frame : {"icrs", "fk5", "fk4", "galactic", "native"}
        Reference frame of the position, if it is not a SkyCoord. It is converted to the frame of each image; "native" is that frame.
    wcs_key : str
        Letter of an alternate description of FITS headers.
    each : str, optional
        The path of a list: each of its items has a row. The paths of columns then begin at the item, those with `//` at the root
        of the file.
    sort : str, optional
        Names of columns, with commas between them; `name:desc` puts the greatest first.
    hidden : bool
        Take hidden files in folders, too.
    layout, byteorder, allow, storage_options
        As in `open`.
    errors : {"warn", "raise"}
        "raise" raises the exception of the first file that cannot be read.

    Returns
    -------
    Table

    Raises
    ------
    OSError, ValueError or NotImplementedError
        If a file cannot be read and `errors` is "raise".
    ValueError
        If a path or a condition has an error, or if a condition compares numbers with text in all rows.

    Examples
    --------
    >>> import tempfile, trilith
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for number, seconds in enumerate([139.8, 60, None]):
    ...         trilith.write(f"{folder}/r{number}.asdf", {"meta": {"exposure": seconds, "filter": "F158"}})
    ...     found = trilith.table(folder, {"exposure": "/meta/exposure", "band": "/meta/filter"}, where="exposure > 50")
    >>> found["exposure"], found["band"], found.names
    ([139.8, 60.0], ['F158', 'F158'], ['file', 'exposure', 'band'])
    """
    storage_options = _merge_deprecated("table", storage_options, deprecated)
    if errors not in ("warn", "raise"):
        raise ValueError(f'errors is "warn" or "raise", not {errors!r}')
    if not isinstance(columns, abc.Mapping):
        raise TypeError("columns is a dictionary of names and paths, such as {'exposure': '/meta/exposure'}")
    names = [os.fsdecode(files)] if isinstance(files, (str, bytes, os.PathLike)) else [os.fsdecode(name) for name in files]
    places = [(str(name), str(place)) for name, place in columns.items()]
    position, sky_frame = (None, sky_frame) if covers is None else _cone(covers, sky_frame)
    found = _table(names, places, where, position, sky_frame, wcs_key, each, sort, hidden, layout, byteorder, list(allow), storage_options)
    made = Table(*found[:4])
    if made.errors and errors == "raise":
        name, error = next(iter(made.errors.items()))
        error.add_note(f"in {name}")
        raise error
    for text in found[4]:
        warnings.warn(text, stacklevel=2)
    if made.errors:
        name, error = next(iter(made.errors.items()))
        count = f"{len(made.errors)} files" if len(made.errors) > 1 else "1 file"
        warnings.warn(f"{count} could not be read, the first of them {name}: {error}", stacklevel=2)
    return made


def _cone(covers: Any, frame: str) -> tuple[tuple[float, float, float], str]:
    """Longitude, latitude and radius, and the frame."""
    if hasattr(covers, "transform_to"):
        covers = (covers,)
    if covers and hasattr(covers[0], "transform_to"):
        place, frame = degrees(covers[0], frame)
        covers = (*place, *covers[1:])
    lon, lat, radius = (*map(float, covers), 0.0)[:3]
    if len(covers) not in (2, 3) or not -90 <= lat <= 90 or not radius >= 0:
        raise ValueError(f"covers is (lon, lat) or (lon, lat, radius) in degrees, not {covers!r}")
    return (lon, lat, radius), frame


class Table:
    """A table that `trilith.table` made. Its columns are lists: `table["exposure"]`."""

    def __init__(
        self, names: list[str], types: list[str], columns: list[list[Any]], errors: list[tuple[str, Exception]]
    ) -> None:
        self._columns = dict(zip(names, columns, strict=True))
        self._types = dict(zip(names, types, strict=True))
        self._errors = dict(errors)

    @property
    def names(self) -> list[str]:
        """The names of the columns; the first is `file`."""
        return list(self._columns)

    @property
    def types(self) -> dict[str, str]:
        """The type of each column by its name: `null`, `bool`, `int`, `float` or `text`."""
        return dict(self._types)

    @property
    def errors(self) -> dict[str, Exception]:
        """The files that could not be read, with the exception of each."""
        return dict(self._errors)

    def to_dict(self) -> dict[str, list[Any]]:
        """Returns the columns as a dictionary of lists.

        Returns
        -------
        dict of list

        Examples
        --------
        >>> import tempfile, trilith
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     trilith.write(f"{folder}/a.asdf", {"exposure": 60})
        ...     table = trilith.table(folder, {"exposure": "/exposure"})
        >>> table.to_dict()["exposure"]
        [60]
        """
        return {name: list(column) for name, column in self._columns.items()}

    def rows(self) -> list[dict[str, Any]]:
        """Returns the rows as dictionaries.

        Returns
        -------
        list of dict

        Examples
        --------
        >>> import tempfile, trilith
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     trilith.write(f"{folder}/a.asdf", {"exposure": 60})
        ...     table = trilith.table(folder, {"exposure": "/exposure"})
        >>> [row["exposure"] for row in table.rows()]
        [60]
        """
        return [dict(zip(self._columns, row, strict=True)) for row in zip(*self._columns.values(), strict=True)]

    def __len__(self) -> int:
        return len(self._columns["file"])

    def __getitem__(self, name: str) -> list[Any]:
        try:
            return list(self._columns[name])
        except KeyError:
            raise KeyError(f"there is no column {name!r}; there are: {', '.join(self.names)}") from None

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        from . import _arrow

        return _arrow.cells_stream(self._columns, self._types)

    def __repr__(self) -> str:
        columns = ", ".join(f"{name}: {kind}" for name, kind in self._types.items())
        return f"<trilith.Table of {len(self)} row{'' if len(self) == 1 else 's'}: {columns}>"

    def _repr_html_(self) -> str:
        def line(tag, cells):
            return "<tr>" + "".join(f"<{tag}>{html.escape('' if c is None else str(c))}</{tag}>" for c in cells) + "</tr>"

        shown = [list(column[:20]) for column in self._columns.values()]
        body = "".join(line("td", row) for row in zip(*shown, strict=True))
        rest = f"<p>{len(self) - 20} more rows</p>" if len(self) > 20 else ""
        return f"<table><thead>{line('th', self._columns)}</thead><tbody>{body}</tbody></table>{rest}"
