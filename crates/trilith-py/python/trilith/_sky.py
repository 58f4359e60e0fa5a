"""Positions on the sky that are given to functions: numbers in degrees, or astropy's SkyCoord."""

from typing import Any, Literal

SkyFrameName = Literal["icrs", "fk5", "fk4", "galactic", "native"]


def degrees(position: Any, frame: str) -> tuple[tuple[float, float], str]:
    """Longitude and latitude in degrees, and their frame. A SkyCoord is converted to ICRS."""
    if hasattr(position, "transform_to"):
        from astropy.coordinates import ICRS

        found = position.transform_to(ICRS())
        if not found.isscalar:
            raise ValueError("the SkyCoord has several positions (expected one)")
        return (float(found.ra.deg), float(found.dec.deg)), "icrs"
    lon, lat = position
    return (float(lon), float(lat)), frame
