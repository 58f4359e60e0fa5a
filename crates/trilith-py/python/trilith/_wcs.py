"""`trilith.WCS`: world coordinates with the names of APE 14, which WCSAxes, reproject and astropy's wrappers take."""

import functools
import os
import sys
import warnings
from collections import abc
from typing import Any, Literal

import numpy

from ._sky import SkyFrameName, degrees
from ._trilith import Array, File, Layout, _cutout, _merge_deprecated, _wcs_at, _wcs_of_array
from ._trilith import open as _open


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

    def __init__(self, native: Any) -> None:
        self._native = native
        self._about = native.about()

    @property
    def __class__(self):  # noqa: D105
        # astropy checks whether an object has its low-level interface. The class is registered once astropy is imported.
        api = sys.modules.get("astropy.wcs.wcsapi")
        if api is not None:
            api.BaseLowLevelWCS.register(WCS)
        return WCS

    @property
    def name(self) -> str:
        """Name of the coordinates; empty if they have none."""
        return self._about["name"]

    @property
    def frames(self) -> tuple[str, ...]:
        """Names of the frames, from the pixels to the world."""
        return tuple(self._about["frames"])

    @property
    def pixel_n_dim(self) -> int:
        """Number of pixel axes."""
        return len(self._about["pixel_names"])

    @property
    def world_n_dim(self) -> int:
        """Number of world axes."""
        return len(self._about["world"])

    @property
    def pixel_axis_names(self) -> tuple[str, ...]:
        """Name of each pixel axis; empty if it has none."""
        return tuple(self._about["pixel_names"])

    @property
    def world_axis_names(self) -> tuple[str, ...]:
        """Name of each world axis; empty if it has none."""
        return tuple(name for name, _, _ in self._about["world"])

    @property
    def world_axis_units(self) -> tuple[str, ...]:
        """Unit of each world axis; empty if it has none."""
        return tuple(unit for _, unit, _ in self._about["world"])

    @property
    def world_axis_physical_types(self) -> tuple[str | None, ...]:
        """Physical type of each world axis in the vocabulary of the virtual observatory (UCD1+), or None."""
        return tuple(physical or None for _, _, physical in self._about["world"])

    @property
    def pixel_shape(self) -> tuple[int, ...] | None:
        """Number of pixels along each axis, x first; None if it is not known."""
        shape = self._about["shape"]
        return None if shape is None else tuple(shape)

    @property
    def array_shape(self) -> tuple[int, ...] | None:
        """Shape of the array, the reverse of `pixel_shape`."""
        shape = self.pixel_shape
        return None if shape is None else shape[::-1]

    @property
    def pixel_bounds(self) -> list[tuple[float, float] | None] | None:
        """Bounding box: the interval of each pixel axis, x first, ends included; None if there is no box."""
        bounds = self._about["bounds"]
        return None if bounds is None else [None if pair is None else tuple(pair) for pair in bounds]

    @property
    def axis_correlation_matrix(self) -> numpy.ndarray[Any, numpy.dtype[numpy.bool_]]:
        """Whether each world axis (rows) depends on each pixel axis (columns)."""
        return numpy.array(self._about["depends"], dtype=bool)

    @property
    def serialized_classes(self) -> bool:
        """False: `world_axis_object_classes` has classes, not their names."""
        return False

    @property
    def pixel_scale(self) -> float | None:
        """Length of a pixel in the middle, in seconds of arc; None without a sky."""
        return self._about["scale"]

    @property
    def centre(self) -> tuple[float, float] | None:
        """Longitude and latitude of the middle, in degrees; None without a sky."""
        centre = self._about["centre"]
        return None if centre is None else tuple(centre)

    def pixel_to_world_values(self, *pixel_arrays: Any, with_bounding_box: bool = True) -> Any:
        """Returns world coordinates of pixels.

        Parameters
        ----------
        *pixel_arrays : numbers, arrays or Quantity
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
        return self._convert(pixel_arrays, self.pixel_n_dim, False, with_bounding_box, "exact")

    def world_to_pixel_values(
        self, *world_arrays: Any, with_bounding_box: bool = True, inverse: Literal["exact", "file"] = "exact"
    ) -> Any:
        """Returns pixels of world coordinates.

        Parameters
        ----------
        *world_arrays : numbers, arrays or Quantity
            A coordinate for each world axis, in the units of `world_axis_units`. Arrays are broadcast. A Quantity is converted to
            that unit.
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
        return self._convert(world_arrays, self.world_n_dim, True, with_bounding_box, inverse)

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
        return self.pixel_to_world_values(*index_arrays[::-1])

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
        found = self.world_to_pixel_values(*world_arrays)
        with numpy.errstate(invalid="ignore"):
            nearest = [numpy.asarray(numpy.floor(numpy.asarray(pixel) + 0.5), dtype=int)[()] for pixel in self._several(found)]
        return nearest[0] if len(nearest) == 1 else tuple(nearest[::-1])

    def transform(self, from_frame: str, to_frame: str, *arrays: Any) -> Any:
        """Transforms coordinates between frames. No bounding box applies.

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
        columns, shape = _columns(arrays)
        return _shaped(self._native.between(from_frame, to_frame, columns), shape)

    def footprint(self) -> numpy.ndarray[Any, numpy.dtype[numpy.float64]] | None:
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
        found = self._native.footprint()
        return None if found is None else numpy.array(found)

    def contains(self, lon: Any, lat: Any = None) -> Any:
        """Returns whether the image has a pixel at a position on the sky.

        The pixel must be inside the bounding box, or inside the array if there is no box.

        Parameters
        ----------
        lon, lat : numbers or arrays
            Positions in degrees, in the frame of the world. Arrays are broadcast. A SkyCoord takes the place of both.

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
        if lat is None and hasattr(lon, "transform_to"):
            columns, shape = _columns((lon.icrs.ra.deg, lon.icrs.dec.deg))
            columns = self._native.convert_frame(*columns, "icrs", True)
        else:
            columns, shape = _columns((lon, lat))
        found = numpy.array(self._native.contains(*columns), dtype=bool).reshape(shape)
        return bool(found) if shape == () else found

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
        return {keyword: value for keyword, value, _ in self._native.fits_header(order, max_error)}

    def jacobian(self, *pixel: float) -> numpy.ndarray[Any, numpy.dtype[numpy.float64]]:
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
        return numpy.array(self._native.jacobian([float(x) for x in pixel]))

    @property
    def world_axis_object_components(self) -> list[tuple[str, Any, Any]]:
        """Parts of astropy's objects that the world axes are. Needs astropy."""
        return self._objects[0]

    @property
    def world_axis_object_classes(self) -> dict[str, tuple[Any, ...]]:
        """Classes of astropy's objects, with their arguments. Needs astropy."""
        return self._objects[1]

    @functools.cached_property
    def _objects(self) -> tuple[list[tuple[str, Any, Any]], dict[str, tuple[Any, ...]]]:
        from astropy import coordinates, time, units

        components: list[Any] = [None] * self.world_n_dim
        classes: dict[str, tuple[Any, ...]] = {}
        sky, frame = self._about["sky"], _FRAMES.get(self._about["reference"].upper())
        if sky is not None and frame is not None:
            axis_units = [units.Unit(self.world_axis_units[axis] or "deg") for axis in sky]
            name, letter = frame
            equinox = self._about["equinox"]
            made = getattr(coordinates, name)(**({} if equinox is None else {"equinox": f"{letter}{equinox!r}"}))
            classes["celestial"] = (coordinates.SkyCoord, (), {"frame": made, "unit": axis_units})
            for number, (axis, part, unit) in enumerate(zip(sky, ("lon", "lat"), axis_units, strict=True)):
                components[axis] = ("celestial", number, functools.partial(_angle, part=part, unit=unit))
        for axis, (name, unit, physical) in enumerate(self._about["world"]):
            if components[axis] is None and physical == "phys.polarization.stokes":
                key = _free_key("stokes", classes)
                classes[key] = (coordinates.StokesCoord, (), {})
                components[axis] = (key, 0, "value")
            elif components[axis] is None and self._about["times"][axis] is not None:
                key = _free_key("temporal", classes)
                moments = _Moments(*self._about["times"][axis], units.Unit(unit or "s"))
                classes[key] = (time.Time, (), {}, moments.of_offsets)
                components[axis] = (key, 0, moments.to_offsets)
            elif components[axis] is None:
                is_spectral = (physical or "").partition(".")[0] in ("em", "spect")
                key = _free_key("spectral", classes) if is_spectral else f"{name or 'axis'}_{axis}"
                kind = coordinates.SpectralCoord if is_spectral else units.Quantity
                classes[key] = (kind, (), {"unit": units.Unit(unit)})
                components[axis] = (key, 0, functools.partial(_value, unit=units.Unit(unit)))
        return components, classes

    @functools.cached_property
    def _high_level(self) -> Any:
        from astropy.wcs.wcsapi import HighLevelWCSWrapper

        return HighLevelWCSWrapper(self)

    @property
    def low_level_wcs(self) -> "WCS":
        """The coordinates themselves, as they have both interfaces of APE 14."""
        return self

    def pixel_to_world(self, *pixel_arrays: Any) -> Any:
        """Returns astropy's objects at pixels: SkyCoord, SpectralCoord, StokesCoord, Time or Quantity. Needs astropy.

        Parameters
        ----------
        *pixel_arrays : numbers or arrays
            A coordinate for each pixel axis, x first.

        Returns
        -------
        object or list of them
            With one object, this one alone.

        Examples
        --------
        >>> import trilith
        >>> header = {"ctype1": "WAVE", "cunit1": "um", "crpix1": 1, "crval1": 2.0, "cdelt1": 0.5}
        >>> wcs = trilith.wcs(trilith.open(trilith.dumps({"header": header, "flux": [1.0, 2.0, 3.0]})), "flux")
        >>> wcs.pixel_to_world(2)
        <SpectralCoord 3. um>
        """
        return self._high_level.pixel_to_world(*pixel_arrays)

    def world_to_pixel(self, *world_objects: Any) -> Any:
        """Returns pixels of astropy's objects, in any frame that they convert from. Needs astropy.

        Parameters
        ----------
        *world_objects : objects
            The objects that `pixel_to_world` returns.

        Returns
        -------
        float, array or tuple of them
            A coordinate for each pixel axis, x first. With one axis, this coordinate alone.

        Examples
        --------
        >>> import trilith
        >>> from astropy.coordinates import SpectralCoord
        >>> header = {"ctype1": "WAVE", "cunit1": "um", "crpix1": 1, "crval1": 2.0, "cdelt1": 0.5}
        >>> wcs = trilith.wcs(trilith.open(trilith.dumps({"header": header, "flux": [1.0, 2.0, 3.0]})), "flux")
        >>> float(wcs.world_to_pixel(SpectralCoord(2500.0, "nm")))
        1.0
        """
        return self._high_level.world_to_pixel(*world_objects)

    def array_index_to_world(self, *index_arrays: Any) -> Any:
        """Returns astropy's objects at elements. Needs astropy.

        Parameters
        ----------
        *index_arrays : numbers or arrays
            An index for each axis, in the order of the array.

        Returns
        -------
        object or list of them
            The objects of `pixel_to_world`.

        Examples
        --------
        >>> import trilith
        >>> header = {"ctype1": "WAVE", "cunit1": "um", "crpix1": 1, "crval1": 2.0, "cdelt1": 0.5}
        >>> wcs = trilith.wcs(trilith.open(trilith.dumps({"header": header, "flux": [1.0, 2.0, 3.0]})), "flux")
        >>> wcs.array_index_to_world(1)
        <SpectralCoord 2.5 um>
        """
        return self._high_level.array_index_to_world(*index_arrays)

    def world_to_array_index(self, *world_objects: Any) -> Any:
        """Returns the indices of the elements nearest to astropy's objects. Needs astropy.

        Parameters
        ----------
        *world_objects : objects
            The objects that `pixel_to_world` returns.

        Returns
        -------
        int, array or tuple of them
            An index for each axis, in the order of the array. With one axis, this index alone.

        Examples
        --------
        >>> import trilith
        >>> from astropy.coordinates import SpectralCoord
        >>> header = {"ctype1": "WAVE", "cunit1": "um", "crpix1": 1, "crval1": 2.0, "cdelt1": 0.5}
        >>> wcs = trilith.wcs(trilith.open(trilith.dumps({"header": header, "flux": [1.0, 2.0, 3.0]})), "flux")
        >>> int(wcs.world_to_array_index(SpectralCoord(2600.0, "nm")))
        1
        """
        return self._high_level.world_to_array_index(*world_objects)

    def _as_mpl_axes(self) -> tuple[Any, dict[str, Any]]:
        from astropy.visualization.wcsaxes import WCSAxes

        return WCSAxes, {"wcs": self}

    def _several(self, found: Any) -> tuple[Any, ...]:
        return found if isinstance(found, tuple) else (found,)

    def _convert(self, arrays: tuple[Any, ...], axes: int, to_pixels: bool, boxed: bool, inverse: str) -> Any:
        if len(arrays) != axes:
            raise ValueError(f"{len(arrays)} coordinates are given (expected {axes})")
        if all(type(value) in (float, int) for value in arrays):
            found = self._native.point(list(arrays), to_pixels, boxed, inverse)
            return found[0] if len(found) == 1 else tuple(found)
        units = self.world_axis_units if to_pixels else ("pix",) * axes
        columns, shape = _columns(tuple(map(_in_unit, arrays, units)))
        return _shaped(self._native.columns(columns, to_pixels, boxed, inverse), shape)

    def __repr__(self) -> str:
        axes = ", ".join(f"{name or 'axis'} [{unit}]" if unit else name or "axis" for name, unit, _ in self._about["world"])
        return f"<trilith.WCS {self._about['path']}: {' -> '.join(self.frames)}, {self.pixel_n_dim} pixel axes to {axes}>"


# Frames of astropy that need nothing else than their name and an equinox, with the letter of its years.
_FRAMES = {
    "BARYCENTRICMEANECLIPTIC": ("BarycentricMeanEcliptic", "J"),
    "ICRS": ("ICRS", ""),
    "FK5": ("FK5", "J"),
    "FK4": ("FK4", "B"),
    "FK4-NO-E": ("FK4NoETerms", "B"),
    "GALACTIC": ("Galactic", ""),
}


def _free_key(kind: str, classes: dict[str, Any]) -> str:
    """A key as gwcs makes it: with a number if there are several of a kind."""
    count = sum(key.rstrip("0123456789") == kind for key in classes)
    return f"{kind}{count}" if count else kind


class _Moments:
    """Moments as numbers of a time axis, and back."""

    def __init__(self, start: str, form: str, scale: str, place: tuple[float, float, float] | None, unit: Any) -> None:
        from astropy import coordinates, time

        location = None if place is None else coordinates.EarthLocation.from_geocentric(*place, unit="m")
        self._options = {"format": form or None, "scale": scale or None, "location": location}
        self._unit = unit
        # Without a start the numbers are moments themselves.
        self._start = time.Time(start, **self._options) if start else None

    def of_offsets(self, offsets: Any) -> Any:
        from astropy import time

        if isinstance(offsets, time.Time):
            return offsets
        return time.Time(offsets, **self._options) if self._start is None else self._start + time.TimeDelta(offsets * self._unit)

    def to_offsets(self, moments: Any) -> Any:
        if self._start is None:
            return moments.to_value(self._options["format"] or moments.format)
        return (moments - self._start).to_value(self._unit)


def _in_unit(values: Any, unit: str) -> Any:
    """The numbers of a Quantity in the unit of an axis. Numbers without a unit are in that unit already."""
    if not (hasattr(values, "unit") and hasattr(values, "to_value")):
        return values
    is_pixel = unit == "pix" and values.unit == ""
    return values.value if is_pixel else values.to_value(unit)


def _angle(coordinate: Any, part: str, unit: Any) -> Any:
    return getattr(coordinate.spherical, part).to_value(unit)


def _value(quantity: Any, unit: Any) -> Any:
    return quantity.to_value(unit)


def _columns(arrays: tuple[Any, ...]) -> tuple[list[numpy.ndarray], tuple[int, ...]]:
    made = numpy.broadcast_arrays(*[numpy.asarray(values, dtype=numpy.float64) for values in arrays])
    return [numpy.ascontiguousarray(values).reshape(-1) for values in made], made[0].shape if made else ()


def _shaped(columns: list[numpy.ndarray], shape: tuple[int, ...]) -> Any:
    made = [column.reshape(shape)[()] for column in columns]
    return made[0] if len(made) == 1 else tuple(made)


def wcs(file: File | str | os.PathLike[str], path: str = "", *, wcs_key: str = "") -> WCS | None:
    """Returns the world coordinates of an array of a file; None if there are none.

    Trilith looks next to the array and above it for a GWCS (`meta/wcs`, `wcs`) or the keywords of a FITS header.

    Parameters
    ----------
    file : File or path
        An open file, or one to open.
    path : str
        Path of an array, of a GWCS or of a header; without it the array `data`, or the largest image that has coordinates.
    wcs_key : str
        Letter of an alternate description of a FITS header, A to Z; by default the primary one.

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
    if isinstance(file, File):
        native = _wcs_at(file, path, wcs_key)
    else:
        with _open(file) as opened:
            native = _wcs_at(opened, path, wcs_key)
    return None if native is None else WCS(native)


def of_array(array: Array) -> WCS | None:
    """`Array.wcs`."""
    native = _wcs_of_array(array)
    return None if native is None else WCS(native)


def cutout(
    file: File | str | os.PathLike[str],
    path: str = "",
    *,
    sky: Any,
    size: str | int | tuple[int, int],
    edge: Literal["fill", "trim", "skip"] = "fill",
    fill: float | None = None,
    only: abc.Iterable[str] = (),
    sky_frame: SkyFrameName = "icrs",
    wcs_key: str = "",
) -> File | None:
    """Returns the pixels around a position on the sky, as an open file in memory.

    The cutout of an ASDF file has all arrays of the shape of the image, their metadata, and coordinates that are right for the
    cutout. The cutout of a FITS file has its images with their headers. `write_to` saves it.

    Parameters
    ----------
    file : File, path or URL
        An open file, or one to open. Only the pixels of the cutout are read.
    path : str
        Path of the image. Without it, the images that have coordinates are tried in their order, and the first one that has the
        position is cut.
    sky : tuple of float, or SkyCoord
        Longitude and latitude of the middle, in degrees.
    size : str, int or tuple of int
        Length of the sides: an angle such as `"30arcsec"` or `"0.5arcmin,1arcmin"`, or a number of pixels, for two lengths x
        first.
    edge : {"fill", "trim", "skip"}
        At the edge of the image: fill the pixels beyond, end there, or return None.
    fill : float, optional
        Value of pixels beyond the edge. By default NaN for floats, and 0 for integers.
    only : sequence of str
        Names of the arrays that the cutout has; all of the shape of the image by default.
    sky_frame : {"icrs", "fk5", "fk4", "galactic", "native"}
        Reference frame of the position, if it is not a SkyCoord. It is converted to the frame of the image; "native" is that
        frame.
    wcs_key : str
        Letter of an alternate description of FITS headers.

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
    if not isinstance(file, File):
        with _open(file) as opened:
            return cutout(
                opened, path, sky=sky, size=size, edge=edge, fill=fill, only=only, sky_frame=sky_frame, wcs_key=wcs_key
            )
    lengths = size if isinstance(size, str) else ",".join(f"{length}px" for length in (size if isinstance(size, tuple) else (size,)))
    names = [only] if isinstance(only, str) else list(only)
    place, sky_frame = degrees(sky, sky_frame)
    made = _cutout(file, path, list(place), lengths, edge, fill, names, sky_frame, wcs_key)
    if made is None:
        return None
    content, notes = made
    for note in notes:
        warnings.warn(note, stacklevel=2)
    return _open(content)


def covering(
    files: str | os.PathLike[str] | abc.Iterable[str | os.PathLike[str]],
    lon: Any,
    lat: float | None = None,
    *,
    radius: float = 0.0,
    sky_frame: SkyFrameName = "icrs",
    wcs_key: str = "",
    hidden: bool = False,
    layout: Layout | str | os.PathLike[str] | None = None,
    byteorder: str | None = None,
    allow: abc.Iterable[str] = (),
    storage_options: dict[str, Any] | None = None,
    errors: Literal["warn", "raise"] = "warn",
    **deprecated: Any,
) -> list[str]:
    """Returns the files with an image that holds a position on the sky.

    Trilith computes it from the coordinates of the images. Header values such as `s_region` are ignored.

    Parameters
    ----------
    files : path, pattern, URL, or several of them
        As in `trilith.table`.
    lon, lat : float, or SkyCoord
        The position in degrees. A SkyCoord takes the place of both.
    radius : float
        Images within this angle of the position count, too. In degrees.
    sky_frame, wcs_key, hidden, layout, byteorder, allow, storage_options, errors
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
    from ._table import table

    options: dict[str, Any] = {"hidden": hidden, "layout": layout, "byteorder": byteorder, "allow": allow}
    options["storage_options"] = _merge_deprecated("covering", storage_options, deprecated)
    options |= {"sky_frame": sky_frame, "wcs_key": wcs_key}
    position = (lon,) if lat is None else (lon, lat)
    return list(table(files, {}, covers=(*position, radius), errors=errors, **options)["file"])
