"""Every projection of FITS, with turned axes and random parameters, against wcslib, both ways."""

import pathlib
import subprocess
import tempfile
import unittest
import warnings

import numpy as np
from astropy.io import fits
from astropy.wcs import WCS, InvalidTransformError

import peer

CODES = (
    "AZP SZP TAN STG SIN ARC ZEA AIR CYP CEA CAR MER SFL PAR MOL AIT COP COE COD COO BON PCO TSC CSC QSC HPX XPH".split()
)
SHAPE = (180, 240)
# wcslib computes CSC by polynomials of single precision, which are no inverse of each other; AIR iterates to fewer digits.
COARSE = {"CSC": 1e-6, "AIR": 1e-9}


def parameters(code, random):
    """Values of PVi_m that the projection takes."""
    u = random.uniform
    return {
        "AZP": lambda: {1: u(0.5, 3), 2: u(-30, 30)},
        "SZP": lambda: {1: u(1.5, 3), 2: u(0, 360), 3: u(50, 90)},
        "SIN": lambda: {1: u(-0.3, 0.3), 2: u(-0.3, 0.3)},
        "AIR": lambda: {1: u(30, 90)},
        "CYP": lambda: {1: u(0.5, 2), 2: u(0.5, 1)},
        "CEA": lambda: {1: u(0.3, 1)},
        "COP": lambda: {1: u(30, 60), 2: u(-20, 20)},
        "COE": lambda: {1: u(30, 60), 2: u(-20, 20)},
        "COD": lambda: {1: u(30, 60), 2: u(-20, 20)},
        "COO": lambda: {1: u(30, 60), 2: u(-20, 20)},
        "BON": lambda: {1: u(20, 70)},
        "HPX": lambda: {1: 4, 2: 3},
    }.get(code, dict)()


def header(code, number):
    """The header of an image somewhere on the sky, its axes turned, with LONPOLE and LATPOLE in some."""
    random = np.random.default_rng([number, CODES.index(code)])
    cards = fits.Header()
    cards.update(CTYPE1=f"RA---{code}", CTYPE2=f"DEC--{code}", CUNIT1="deg", CUNIT2="deg")
    cards.update(CRPIX1=random.uniform(0, SHAPE[1]), CRPIX2=random.uniform(0, SHAPE[0]))
    cards.update(CRVAL1=random.uniform(0, 360), CRVAL2=random.uniform(-80, 80))
    if number % 3 == 1:
        cards["LONPOLE"] = random.uniform(0, 360)
    if number % 3 == 2:
        cards["LATPOLE"] = random.uniform(-90, 90)
    angle, scale = random.uniform(0, 2 * np.pi), 10.0 ** random.uniform(-3, -0.5)
    turn = scale * np.array([[-np.cos(angle), np.sin(angle) * 1.1], [np.sin(angle), np.cos(angle) * 0.9]])
    names = ("CD", 1.0) if number % 2 else ("PC", scale)
    for i in range(2):
        for j in range(2):
            cards[f"{names[0]}{i + 1}_{j + 1}"] = turn[i, j] / names[1]
        if names[0] == "PC":
            cards[f"CDELT{i + 1}"] = scale
    for m, value in parameters(code, random).items():
        cards[f"PV2_{m}"] = value
    return cards


def sky(folder, file, points, *words):
    """The points that the command computes."""
    np.save(folder / "in.npy", points)
    command = [peer.PROGRAM, "sky", f"{file}#/fits/0/data", "--points", str(folder / "in.npy"), "-o", str(folder / "out.npy"), "-q", *words]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stderr
    return np.load(folder / "out.npy")


def apart(one, other):
    """Angles between positions, in degrees."""
    (a, b), (c, d) = np.radians(one).T, np.radians(other).T
    return np.degrees(2 * np.arcsin(np.sqrt(np.sin((d - b) / 2) ** 2 + np.cos(b) * np.cos(d) * np.sin((c - a) / 2) ** 2)))


class Projections(unittest.TestCase):
    def test_positions_and_pixels_are_those_of_wcslib(self):
        random = np.random.default_rng(7)
        pixels = np.column_stack([random.uniform(-0.5, SHAPE[1] - 0.5, 300), random.uniform(-0.5, SHAPE[0] - 0.5, 300)])
        with tempfile.TemporaryDirectory() as name, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            folder = pathlib.Path(name)
            for code in CODES:
                tried = 0
                for number in range(6):
                    cards = header(code, number)
                    try:
                        wcs = WCS(cards)
                        wanted = wcs.wcs_pix2world(pixels, 0)
                    except InvalidTransformError:
                        continue
                    tried += 1
                    what = f"{code} {number}"
                    file = folder / f"{code}{number}.fits"
                    fits.PrimaryHDU(np.zeros(SHAPE, "u1"), cards).writeto(file)
                    found = sky(folder, file, pixels)
                    there = np.isfinite(wanted).all(axis=1)
                    have = np.isfinite(found).all(axis=1)
                    self.assertEqual(list(np.flatnonzero(there != have)), [], f"{what}: points with coordinates in one only")
                    if there.any():
                        self.assertLess(apart(found[there], wanted[there]).max(), COARSE.get(code, 1e-10), what)
                        # The inverse is exact for what wcslib gives, too.
                        scale = np.sqrt(abs(np.linalg.det(wcs.pixel_scale_matrix)))
                        back = sky(folder, file, wanted[there], "--pixel")
                        again = sky(folder, file, back, "--no-bounding-box")
                        room = max(1e-11, 2 * COARSE.get(code, 0))
                        self.assertLess(apart(again, wanted[there]).max(), room, f"{what}: round trip, {scale} deg a pixel")
                self.assertGreater(tried, 0, code)


if __name__ == "__main__":
    unittest.main()
