"""Cutouts of FITS images beside those of astropy: pixels and positions of every compression, scale, edge and chip. (The rest tier.)"""

import itertools
import os
import pathlib
import random
import tempfile
import unittest
import warnings

import numpy as np
from astropy.coordinates import SkyCoord
from astropy.io import fits
from astropy.nddata import Cutout2D, NoOverlapError
from astropy.wcs import WCS

import peer

# The number of kinds of files, of which there are fewer than 50, and the seed of their choice.
FILES = int(os.environ.get("TRILITH_CAMPAIGN", "8"))
SEED = int(os.environ.get("TRILITH_CAMPAIGN_SEED", "7"))
SHAPE = (43, 57)
SIZE = (8, 11)
# Number of pixels that each chip is moved along both axes.
CHIPS = ((0.0, 0.0), (6.25, -4.5), (-21.0, 17.75))
# Inside, on each edge, in a corner, and beyond the image.
PLACES = ((28.3, 21.1), (0.4, 20.2), (55.8, 20.9), (30.1, -2.2), (29.7, 41.6), (1.2, 42.3), (-40.0, 10.0))
# Pixels of cutouts whose positions are compared.
CHECKED = ((0.0, 0.0), (4.25, 2.5))
SCALES = {
    "u1": ({}, {"BSCALE": 0.5, "BZERO": 10.0, "BLANK": 7}),
    "i2": ({}, {"BSCALE": 0.5, "BZERO": 10.0, "BLANK": 7}, {"BZERO": 32768}),
    "i4": ({}, {"BSCALE": 0.25, "BZERO": -3.0}),
    "f4": ({}, {"BSCALE": 2.0, "BZERO": 1.0}),
}
# PLIO_1 takes no negative numbers, and HCOMPRESS_1 loses digits of floats.
COMPRESSIONS = (None, "RICE_1", "GZIP_1", "GZIP_2", "HCOMPRESS_1", "PLIO_1")


def header(shift):
    """Coordinates of a chip: a turned image that is distorted."""
    made = fits.Header()
    made.update(CTYPE1="RA---TAN-SIP", CTYPE2="DEC--TAN-SIP", CRPIX1=28.0 + shift[0], CRPIX2=22.0 + shift[1], CRVAL1=83.6, CRVAL2=-5.4)
    made.update(CD1_1=-8e-5, CD1_2=3e-5, CD2_1=3.1e-5, CD2_2=8.2e-5, A_ORDER=2, B_ORDER=2, A_2_0=3e-5, A_1_1=-2e-5, B_0_2=4e-5)
    return made


def make_chip(numbers, dtype, cards, compression, shift):
    """A chip as astropy writes it."""
    stored = numbers.normal(0, 9, SHAPE).astype(dtype) if dtype == "f4" else numbers.integers(0, 100, SHAPE).astype(dtype)
    if compression:
        hdu = fits.CompImageHDU(stored, header(shift), compression_type=compression, tile_shape=(11, 19), quantize_level=0, name="SCI")
    else:
        hdu = fits.ImageHDU(stored, header(shift), name="SCI")
    for key, value in cards.items():
        hdu.header[key] = value
    return hdu


def kinds_of_files():
    """Datatype, compression and scale of each kind of file that FITS has."""
    kinds = []
    for dtype, compression in itertools.product(SCALES, COMPRESSIONS):
        for cards in SCALES[dtype]:
            if not (compression and dtype == "f4" and (compression in ("HCOMPRESS_1", "PLIO_1", "RICE_1") or cards)):
                kinds.append((dtype, compression, cards))
    return kinds


def has_missing(hdu):
    """Whether the pixels of an image can be missing: those of unsigned integers cannot."""
    is_scaled = "BSCALE" in hdu.header or hdu.header.get("BZERO", 32768) != 32768
    return hdu.header["BITPIX"] < 0 or is_scaled


def is_inside(cutout):
    """Whether a cutout ends at no edge of its image."""
    return all(part.stop - part.start == length for part, length in zip(cutout.slices_original, SIZE, strict=True))


def cut_by_astropy(hdu, sky, mode):
    """The cutout of an HDU, as floats; None if the position is beyond the image."""
    data, wcs = np.array(hdu.data).astype("f8"), WCS(hdu.header)
    try:
        return Cutout2D(data, sky, SIZE, wcs, mode=mode, fill_value=np.nan)
    except NoOverlapError:
        return None


class BesideCutout2D(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        warnings.simplefilter("ignore")

    def test_pixels_and_positions_equal_those_of_astropy(self):
        numbers = np.random.default_rng(SEED)
        kinds = kinds_of_files()
        for dtype, compression, cards in random.Random(SEED).sample(kinds, min(FILES, len(kinds))):
            path = self.folder / "chips.fits"
            chips = [make_chip(numbers, dtype, cards, compression, shift) for shift in CHIPS]
            for ver, chip in enumerate(chips, 1):
                chip.ver = ver
            fits.HDUList([fits.PrimaryHDU(), *chips]).writeto(path, overwrite=True)
            with self.subTest(dtype, compression=compression, **cards):
                count = self.compare_file(path, ("fits", "asdf", "npy") if dtype == "i2" else ("fits",))
                self.assertGreater(count, 20)

    def compare_file(self, path, forms):
        """Compares all cutouts of a file, and returns how many images were compared."""
        count = 0
        with fits.open(path) as file:
            places = WCS(file[1].header).all_pix2world(np.array(PLACES), 0)
            points = self.folder / "points.csv"
            points.write_text("ra,dec\n" + "".join(f"{float(ra)!r},{float(dec)!r}\n" for ra, dec in places))
            for edge, form in itertools.product(("fill", "trim", "skip"), forms):
                for old in self.folder.glob("cut_*"):
                    old.unlink()
                size = f"{SIZE[1]}px,{SIZE[0]}px"
                words = ["cutout", f"{path}#/fits/1/data", "--points", points, "--size", size, "--edge", edge]
                # A position beyond the image is exit status 1.
                peer.trilith(*words, "-o", self.folder / ("cut_{n}." + form), "--quiet", status=1)
                for number, (ra, dec) in enumerate(places):
                    wanted = [cut_by_astropy(hdu, SkyCoord(ra, dec, unit="deg"), "trim" if edge == "trim" else "partial") for hdu in file[1:]]
                    if edge == "skip" and wanted[0] is not None and not is_inside(wanted[0]):
                        wanted = [None]
                    with self.subTest(edge=edge, form=form, number=number):
                        count += self.compare_cutout(self.folder / f"cut_{number}.{form}", wanted, has_missing=has_missing(file[1]))
        return count

    def compare_cutout(self, path, wanted, has_missing):
        """Compares the images in one file, and returns how many there are."""
        self.assertEqual(path.exists(), wanted[0] is not None)
        if wanted[0] is None:
            return 0
        fill = np.nan if has_missing else 0
        if path.suffix == ".fits":
            with fits.open(path) as file:
                found = {hdu.ver: (np.array(hdu.data).astype("f8"), WCS(hdu.header).all_pix2world(CHECKED, 0)) for hdu in file[1:]}
        elif path.suffix == ".asdf":
            found = {}
            # Chips beyond the position are left out.
            for place, ver in enumerate((ver for ver, cutout in enumerate(wanted, 1) if cutout is not None), 1):
                item = f"{path}#/fits/{place}/data"
                peer.trilith("get", item, "-o", self.folder / "got.npy", "--overwrite")
                positions = peer.trilith_json("sky", item, *(f"{x},{y}" for x, y in CHECKED))
                found[ver] = np.load(self.folder / "got.npy").astype("f8"), np.array(positions)
        else:
            found = {1: (np.load(path).astype("f8"), None)}
            wanted = wanted[:1]
        self.assertEqual(sorted(found), [ver for ver, cutout in enumerate(wanted, 1) if cutout is not None])
        for ver, (data, positions) in found.items():
            cutout = wanted[ver - 1]
            np.testing.assert_array_equal(data, np.where(np.isnan(cutout.data), fill, cutout.data))
            if positions is not None:
                np.testing.assert_allclose(positions, cutout.wcs.all_pix2world(CHECKED, 0), rtol=0, atol=1e-9)
        return len(found)


if __name__ == "__main__":
    unittest.main()
