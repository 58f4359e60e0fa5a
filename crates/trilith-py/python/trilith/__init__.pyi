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
    """Joins the arrays at a path of many files to one lazy `xarray.DataArray`.

    Only the tree of each file is read at first. A task of dask opens the file that it reads. Needs xarray and dask.

    Parameters
    ----------
    files : str or iterable of paths
        Paths, or a pattern such as `"r????.asdf"`, whose matches are sorted.
    path : str
        Path of the array in each file.
    dim : str
        Name of the dimension that counts the files.
    dims : str or iterable of str, optional
        Names of the dimensions of each array. Without it they are those of `Array.to_xarray`.
    join : {"new", "existing"}
        Put the arrays along a new first dimension, or one after the other along the existing dimension `dim`.

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
        If the arrays differ in dtype or shape.
    NotImplementedError
        If an array has a mask.

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
def cutout(
    file: File | str | os.PathLike[str],
    path: str = "",
    *,
    sky: tuple[float, float],
    size: str | int | tuple[int, int],
    edge: Literal["fill", "trim", "skip"] = "fill",
    fill: float | None = None,
    only: Iterable[str] = (),
) -> File | None:
    """Returns the pixels around a position on the sky, as an open file in memory.

    The cutout of an ASDF file has all arrays of the shape of the image, their metadata, and coordinates that are right for the
    cutout. The cutout of a FITS file has its images with their headers. `write_to` saves it.

    Parameters
    ----------
    file : File, path or URL
        An open file, or one to open. Only the pixels of the cutout are read.
    path : str
        Path of the image; without it the array `data`, or the largest image that has coordinates.
    sky : tuple of float
        Longitude and latitude of the middle, in degrees, in the frame of the image.
    size : str, int or tuple of int
        Length of the sides: an angle such as `"30arcsec"` or `"0.5arcmin,1arcmin"`, or a number of pixels, for two lengths x
        first.
    edge : {"fill", "trim", "skip"}
        At the edge of the image: fill the pixels beyond, end there, or return None.
    fill : float, optional
        Value of pixels beyond the edge. By default NaN for floats, and 0 for integers.
    only : sequence of str
        Names of the arrays that the cutout has; all of the shape of the image by default.

    Returns
    -------
    File or None
        None if the position is outside of the image, or if the cutout reaches beyond its edge and `edge` is `"skip"`.

    Raises
    ------
    NotImplementedError
        If the image has no coordinates, or is in a file of another format.

    Examples
    --------
    >>> import numpy, trilith
    >>> header = {"ctype1": "RA---TAN", "ctype2": "DEC--TAN", "crpix1": 5, "crpix2": 5, "crval1": 10.0, "crval2": 20.0}
    >>> header |= {"cdelt1": -0.001, "cdelt2": 0.001}
    >>> f = trilith.open(trilith.dumps({"header": header, "data": numpy.arange(81.0).reshape(9, 9)}))
    >>> cutout = trilith.cutout(f, sky=(10.0, 20.0), size=3)
    >>> cutout["data"][...].tolist()
    [[30.0, 31.0, 32.0], [39.0, 40.0, 41.0], [48.0, 49.0, 50.0]]
    >>> [round(value, 6) for value in cutout["data"].wcs.pixel_to_world_values(1, 1)]
    [10.0, 20.0]
    """
def covering(
    files: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    lon: float,
    lat: float,
    *,
    radius: float = 0.0,
    hidden: bool = False,
    layout: Layout | str | os.PathLike[str] | None = None,
    byteorder: str | None = None,
    allow: Iterable[str] = (),
    remote: dict[str, Any] | None = None,
    storage_options: dict[str, Any] | None = None,
    errors: Literal["warn", "raise"] = "warn",
) -> list[str]:
    """Returns the files with an image that holds a position on the sky.

    Trilith computes it from the coordinates of the images. Values in the file, as `s_region`, do not count.

    Parameters
    ----------
    files : path, pattern, URL, or several of them
        As in `trilith.table`.
    lon, lat : float
        The position in degrees, in the frame of the images.
    radius : float
        Images within this angle of the position count, too. In degrees.
    hidden, layout, byteorder, allow, remote, storage_options, errors
        As in `trilith.table`.

    Returns
    -------
    list of str
        Names of the files, in order.

    Raises
    ------
    OSError, ValueError or NotImplementedError
        If a file cannot be read and `errors` is "raise".

    Examples
    --------
    >>> import numpy, tempfile, trilith
    >>> header = {"ctype1": "RA---TAN", "ctype2": "DEC--TAN", "crpix1": 2, "crpix2": 2, "crval2": 20.0, "cdelt1": -0.1, "cdelt2": 0.1}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for lon in (10.0, 30.0, 50.0):
    ...         tree = {"header": header | {"crval1": lon}, "data": numpy.zeros((3, 3))}
    ...         trilith.write(f"{folder}/r{lon:.0f}.asdf", tree)
    ...     found = trilith.covering(folder, 30.05, 20.0)
    >>> [name[-8:] for name in found]
    ['r30.asdf']
    """
def wcs(file: File | str | os.PathLike[str], path: str = "") -> WCS | None:
    """Returns the world coordinates of an array of a file; None if there are none.

    Trilith looks next to the array and above it for a GWCS (`meta/wcs`, `wcs`) or the keywords of a FITS header.

    Parameters
    ----------
    file : File or path
        An open file, or one to open.
    path : str
        Path of an array, of a GWCS or of a header; without it the array `data`, or the largest image that has coordinates.

    Returns
    -------
    WCS or None

    Raises
    ------
    NotImplementedError
        If a transform is not supported. The message has its tag.

    Examples
    --------
    >>> import trilith
    >>> header = {"ctype1": "WAVE", "cunit1": "um", "crpix1": 1, "crval1": 2.0, "cdelt1": 0.5}
    >>> f = trilith.open(trilith.dumps({"header": header, "flux": [1.0, 2.0, 3.0]}))
    >>> trilith.wcs(f, "flux").pixel_to_world_values(2)
    3.0
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
def table(
    files: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    columns: _Mapping[str, str],
    *,
    where: str | None = None,
    covers: tuple[float, ...] | None = None,
    each: str | None = None,
    sort: str | None = None,
    hidden: bool = False,
    layout: Layout | str | os.PathLike[str] | None = None,
    byteorder: str | None = None,
    allow: Iterable[str] = (),
    remote: dict[str, Any] | None = None,
    storage_options: dict[str, Any] | None = None,
    errors: Literal["warn", "raise"] = "warn",
) -> Table:
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
    covers : tuple of float, optional
        Keep files with an image that holds a position on the sky, (lon, lat) in degrees, or comes within a radius of it,
        (lon, lat, radius).
    each : str, optional
        The path of a list: each of its items has a row. The paths of columns then begin at the item, those with `//` at the root
        of the file.
    sort : str, optional
        Names of columns, with commas between them; `name:desc` puts the greatest first.
    hidden : bool
        Take hidden files in folders, too.
    layout, byteorder, allow, remote, storage_options
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
        If a path or a condition has an error.

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
def view(*files: File | str | os.PathLike[str], height: int = 600) -> View:
    """Shows files in the viewer.

    A notebook shows the viewer in a frame. The browser must be on the same machine as this process.

    Parameters
    ----------
    *files : File, str or os.PathLike
        Open files, paths, URLs or folders. A path may end in `#` and the path of the item to begin with.
    height : int
        Height of the frame in a notebook, in pixels.

    Returns
    -------
    View
        Its `address` is the URL for a browser.

    Raises
    ------
    ValueError
        If there is no file, or if the server cannot open one.

    Examples
    --------
    >>> import pathlib, tempfile, trilith
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "x.asdf"
    >>> trilith.write(path, {"a": [1, 2]})
    >>> viewer = trilith.view(path)
    >>> viewer.address.startswith("http://127.0.0.1:")
    True
    >>> viewer.close()
    """

class WCS:
    """World coordinates of an array: positions on the sky, wavelengths, times.

    `Array.wcs` and `trilith.wcs` return it. Its names are those of astropy's interface for coordinates (APE 14), but it needs no
    astropy. Pixels count from 0 at the middle of the first one, and x, the last axis of the array, comes first. A point without
    coordinates is NaN on every axis.

    >>> import trilith
    >>> header = {"ctype1": "RA---TAN", "ctype2": "DEC--TAN", "crpix1": 2, "crpix2": 1, "crval1": 10.0, "crval2": 20.0}
    >>> header |= {"cdelt1": -0.001, "cdelt2": 0.001, "naxis1": 3, "naxis2": 2}
    >>> f = trilith.open(trilith.dumps({"meta": header, "data": [[1, 2, 3], [4, 5, 6]]}))
    >>> wcs = trilith.wcs(f, "data")
    >>> lon, lat = wcs.pixel_to_world_values(1, 0)
    >>> round(lon, 9), round(lat, 9)
    (10.0, 20.0)
    >>> [round(float(x), 6) + 0 for x in wcs.world_to_pixel_values([10.0, 10.0], [20.0, 20.001])[1]]
    [0.0, 1.0]
    """

    def __init__(self, native: Any) -> None: ...
    @property
    def name(self) -> str:
        """Name of the coordinates; empty if they have none."""
    @property
    def frames(self) -> tuple[str, ...]:
        """Names of the frames, from the pixels to the world."""
    @property
    def pixel_n_dim(self) -> int:
        """Number of pixel axes."""
    @property
    def world_n_dim(self) -> int:
        """Number of world axes."""
    @property
    def pixel_axis_names(self) -> tuple[str, ...]:
        """Name of each pixel axis; empty if it has none."""
    @property
    def world_axis_names(self) -> tuple[str, ...]:
        """Name of each world axis; empty if it has none."""
    @property
    def world_axis_units(self) -> tuple[str, ...]:
        """Unit of each world axis; empty if it has none."""
    @property
    def world_axis_physical_types(self) -> tuple[str | None, ...]:
        """Physical type of each world axis in the vocabulary of the virtual observatory (UCD1+), or None."""
    @property
    def pixel_shape(self) -> tuple[int, ...] | None:
        """Number of pixels along each axis, x first; None if it is not known."""
    @property
    def array_shape(self) -> tuple[int, ...] | None:
        """Shape of the array, the reverse of `pixel_shape`."""
    @property
    def pixel_bounds(self) -> list[tuple[float, float] | None] | None:
        """Bounding box: the interval of each pixel axis, x first, ends included; None if there is no box."""
    @property
    def axis_correlation_matrix(self) -> numpy.typing.NDArray[numpy.bool_]:
        """Whether each world axis (rows) depends on each pixel axis (columns)."""
    @property
    def serialized_classes(self) -> bool:
        """False: `world_axis_object_classes` has classes, not their names."""
    @property
    def pixel_scale(self) -> float | None:
        """Length of a pixel in the middle, in seconds of arc; None without a sky."""
    @property
    def centre(self) -> tuple[float, float] | None:
        """Longitude and latitude of the middle, in degrees; None without a sky."""
    def pixel_to_world_values(self, *pixel_arrays: Any, with_bounding_box: bool = True) -> Any:
        """Returns world coordinates of pixels.

        Parameters
        ----------
        *pixel_arrays : numbers or arrays
            A coordinate for each pixel axis, x first. Arrays are broadcast.
        with_bounding_box : bool
            Whether pixels outside of the bounding box have no coordinates.

        Returns
        -------
        float, array or tuple of them
            A coordinate for each world axis, in the units of `world_axis_units`. With one axis, this coordinate alone.

        Raises
        ------
        ValueError
            If the number of coordinates is not that of the pixel axes.

        Examples
        --------
        >>> import trilith
        >>> header = {"ctype1": "RA---TAN", "ctype2": "DEC--TAN", "crpix1": 2, "crpix2": 1, "crval1": 10.0, "crval2": 20.0}
        >>> header |= {"cdelt1": -0.001, "cdelt2": 0.001, "naxis1": 3, "naxis2": 2}
        >>> wcs = trilith.wcs(trilith.open(trilith.dumps({"meta": header, "data": [[1, 2, 3], [4, 5, 6]]})), "data")
        >>> [round(value, 9) for value in wcs.pixel_to_world_values(1, 0)]
        [10.0, 20.0]
        """
    def world_to_pixel_values(
        self, *world_arrays: Any, with_bounding_box: bool = True, inverse: Literal["exact", "file"] = "exact"
    ) -> Any:
        """Returns pixels of world coordinates.

        Parameters
        ----------
        *world_arrays : numbers or arrays
            A coordinate for each world axis, in the units of `world_axis_units`. Arrays are broadcast.
        with_bounding_box : bool
            Whether pixels outside of the bounding box are NaN.
        inverse : {"exact", "file"}
            Iterate until the forward transform gives the world coordinates, or evaluate the inverse in the file, as gwcs does.

        Returns
        -------
        float, array or tuple of them
            A coordinate for each pixel axis, x first. With one axis, this coordinate alone.

        Raises
        ------
        ValueError
            If the number of coordinates is not that of the world axes.

        Examples
        --------
        >>> import trilith
        >>> header = {"ctype1": "RA---TAN", "ctype2": "DEC--TAN", "crpix1": 2, "crpix2": 1, "crval1": 10.0, "crval2": 20.0}
        >>> header |= {"cdelt1": -0.001, "cdelt2": 0.001, "naxis1": 3, "naxis2": 2}
        >>> wcs = trilith.wcs(trilith.open(trilith.dumps({"meta": header, "data": [[1, 2, 3], [4, 5, 6]]})), "data")
        >>> [round(float(value), 6) + 0 for value in wcs.world_to_pixel_values(10.0, 20.001)]
        [1.0, 1.0]
        """
    def array_index_to_world_values(self, *index_arrays: Any) -> Any:
        """Returns world coordinates of elements.

        Parameters
        ----------
        *index_arrays : numbers or arrays
            An index for each axis, in the order of the array.

        Returns
        -------
        float, array or tuple of them
            A coordinate for each world axis.

        Examples
        --------
        >>> import trilith
        >>> header = {"ctype1": "RA---TAN", "ctype2": "DEC--TAN", "crpix1": 2, "crpix2": 1, "crval1": 10.0, "crval2": 20.0}
        >>> header |= {"cdelt1": -0.001, "cdelt2": 0.001, "naxis1": 3, "naxis2": 2}
        >>> wcs = trilith.wcs(trilith.open(trilith.dumps({"meta": header, "data": [[1, 2, 3], [4, 5, 6]]})), "data")
        >>> [round(value, 9) for value in wcs.array_index_to_world_values(0, 1)]
        [10.0, 20.0]
        """
    def world_to_array_index_values(self, *world_arrays: Any) -> Any:
        """Returns the indices of the elements nearest to world coordinates.

        Parameters
        ----------
        *world_arrays : numbers or arrays
            A coordinate for each world axis.

        Returns
        -------
        int, array or tuple of them
            An index for each axis, in the order of the array.

        Examples
        --------
        >>> import trilith
        >>> header = {"ctype1": "RA---TAN", "ctype2": "DEC--TAN", "crpix1": 2, "crpix2": 1, "crval1": 10.0, "crval2": 20.0}
        >>> header |= {"cdelt1": -0.001, "cdelt2": 0.001, "naxis1": 3, "naxis2": 2}
        >>> wcs = trilith.wcs(trilith.open(trilith.dumps({"meta": header, "data": [[1, 2, 3], [4, 5, 6]]})), "data")
        >>> [int(index) for index in wcs.world_to_array_index_values(10.0, 20.001)]
        [1, 1]
        """
    def transform(self, from_frame: str, to_frame: str, *arrays: Any) -> Any:
        """Returns coordinates of one frame as those of another. No bounding box applies.

        From the world to the pixels, the inverse in the file is evaluated, or the analytic one.

        Parameters
        ----------
        from_frame, to_frame : str
            Names in `frames`.
        *arrays : numbers or arrays
            A coordinate for each axis of the first frame.

        Returns
        -------
        float, array or tuple of them
            A coordinate for each axis of the second frame.

        Raises
        ------
        ValueError
            If there is no such frame.

        Examples
        --------
        >>> import trilith
        >>> header = {"ctype1": "RA---TAN", "ctype2": "DEC--TAN", "crpix1": 2, "crpix2": 1, "crval1": 10.0, "crval2": 20.0}
        >>> header |= {"cdelt1": -0.001, "cdelt2": 0.001, "naxis1": 3, "naxis2": 2}
        >>> wcs = trilith.wcs(trilith.open(trilith.dumps({"meta": header, "data": [[1, 2, 3], [4, 5, 6]]})), "data")
        >>> [round(float(value), 9) for value in wcs.transform(wcs.frames[0], wcs.frames[-1], 1, 0)]
        [10.0, 20.0]
        """
    def footprint(self) -> numpy.typing.NDArray[numpy.float64] | None:
        """Returns the longitudes and latitudes of the corners, in degrees.

        The corners are those of the bounding box, else of the array: lower left, upper left, upper right, lower right.

        Returns
        -------
        numpy.ndarray or None
            An array of shape (4, 2). None if the coordinates are not on the sky.

        Examples
        --------
        >>> import trilith
        >>> header = {"ctype1": "RA---TAN", "ctype2": "DEC--TAN", "crpix1": 2, "crpix2": 1, "crval1": 10.0, "crval2": 20.0}
        >>> header |= {"cdelt1": -0.001, "cdelt2": 0.001, "naxis1": 3, "naxis2": 2}
        >>> wcs = trilith.wcs(trilith.open(trilith.dumps({"meta": header, "data": [[1, 2, 3], [4, 5, 6]]})), "data")
        >>> wcs.footprint().shape
        (4, 2)
        """
    def contains(self, lon: Any, lat: Any) -> Any:
        """Returns whether the image has a pixel at a position on the sky.

        The pixel must be inside the bounding box, or inside the array if there is no box.

        Parameters
        ----------
        lon, lat : numbers or arrays
            Positions in degrees, in the frame of the world. Arrays are broadcast.

        Returns
        -------
        bool or array of bool

        Examples
        --------
        >>> import trilith
        >>> header = {"ctype1": "RA---TAN", "ctype2": "DEC--TAN", "crpix1": 2, "crpix2": 1, "crval1": 10.0, "crval2": 20.0}
        >>> header |= {"cdelt1": -0.001, "cdelt2": 0.001, "naxis1": 3, "naxis2": 2}
        >>> wcs = trilith.wcs(trilith.open(trilith.dumps({"meta": header, "data": [[1, 2, 3], [4, 5, 6]]})), "data")
        >>> bool(wcs.contains(10.0, 20.0)), bool(wcs.contains(11.0, 20.0))
        (True, False)
        """
    def to_fits_header(self, order: int | None = None, max_error: float | None = None) -> dict[str, str | float | int]:
        """Returns the cards of a FITS header that describes the coordinates, as a dictionary that astropy takes.

        Tangent planes and other projections of FITS are exact. For the rest Trilith fits a tangent plane with SIP polynomials.

        Parameters
        ----------
        order : int, optional
            Degree of the polynomials; 1 for a tangent plane alone. By default the lowest that keeps `max_error`.
        max_error : float, optional
            Largest error in pixels. By default 0.001, or any if `order` is given.

        Returns
        -------
        dict
            Values by their keywords.

        Raises
        ------
        NotImplementedError
            If the coordinates are not those of an image of the sky, or if no degree is good enough.

        Examples
        --------
        >>> import numpy
        >>> import trilith
        >>> header = {"ctype1": "RA---TAN", "ctype2": "DEC--TAN", "crpix1": 2, "crpix2": 1.5, "crval1": 10.0, "crval2": 20.0}
        >>> header |= {"cdelt1": -0.001, "cdelt2": 0.001, "naxis1": 3, "naxis2": 2}
        >>> f = trilith.open(trilith.dumps({"meta": header, "data": numpy.ones((2, 3))}))
        >>> cards = f["data"].wcs.to_fits_header()
        >>> cards["CTYPE1"], round(cards["CRVAL2"], 6)
        ('RA---TAN', 20.0)
        """
    def jacobian(self, *pixel: float) -> numpy.typing.NDArray[numpy.float64]:
        """Returns the derivatives of the world coordinates by the pixel coordinates at a pixel.

        Parameters
        ----------
        *pixel : float
            A coordinate for each pixel axis, x first.

        Returns
        -------
        numpy.ndarray
            A row for each world axis, a column for each pixel axis.

        Examples
        --------
        >>> import trilith
        >>> header = {"ctype1": "RA---TAN", "ctype2": "DEC--TAN", "crpix1": 2, "crpix2": 1, "crval1": 10.0, "crval2": 20.0}
        >>> header |= {"cdelt1": -0.001, "cdelt2": 0.001, "naxis1": 3, "naxis2": 2}
        >>> wcs = trilith.wcs(trilith.open(trilith.dumps({"meta": header, "data": [[1, 2, 3], [4, 5, 6]]})), "data")
        >>> wcs.jacobian(1, 0).shape
        (2, 2)
        """
    @property
    def world_axis_object_components(self) -> list[tuple[str, Any, Any]]:
        """Parts of astropy's objects that the world axes are. Needs astropy."""
    @property
    def world_axis_object_classes(self) -> dict[str, tuple[Any, ...]]:
        """Classes of astropy's objects, with their arguments. Needs astropy."""

class View:
    """A viewer that a notebook shows in a frame. It ends with this process, or with `close()`."""

    address: str
    def __init__(self, words: Iterable[str], height: int) -> None: ...
    def close(self) -> None:
        """Ends the server.

        Examples
        --------
        >>> import pathlib, tempfile, trilith
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "x.asdf"
        >>> trilith.write(path, {"a": [1, 2]})
        >>> viewer = trilith.view(path)
        >>> viewer.close()
        """

class Pieces:
    """An array that is written piece by piece, because it does not fit into memory.

    `pieces` is iterated when the file is written, and gives arrays whose first axes make up that of
    `shape`. If the length of that is None, there may be any number: the array is written as the streamed
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
        """Returns the pieces of a dask array, computed one row of chunks after the other.

        Parameters
        ----------
        array : dask.array.Array
            The array.

        Returns
        -------
        Pieces

        Examples
        --------
        >>> import dask.array, trilith
        >>> pieces = trilith.Pieces.of_dask(dask.array.ones((4, 3), chunks=(2, 3)))
        >>> trilith.open(trilith.dumps({"a": pieces}))["a"].shape
        (4, 3)
        """
    def masks(self) -> Iterator[numpy.typing.NDArray[numpy.uint8]]:
        """Returns the mask of the written elements, piece by piece.

        Returns
        -------
        iterator of numpy.ndarray
            Arrays of uint8.

        Examples
        --------
        >>> import numpy, trilith
        >>> pieces = trilith.Pieces([numpy.ma.masked_equal([1, 2], 2)], (2,), "i4", masked=True)
        >>> trilith.open(trilith.dumps({"a": pieces}))["a"].masked().tolist()
        [1, None]
        """

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
    def __len__(self) -> int: ...
    def __getitem__(self, name: str) -> list[Any]: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

@final
class TaggedString(str):
    """A scalar with a tag, such as ``!unit/unit-1.0.0 m``: its text, and the whole tag.

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
