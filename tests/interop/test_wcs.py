"""World coordinates under the pointer of the viewer, against astropy.wcs."""

import contextlib
import json
import pathlib
import subprocess
import tempfile
import unittest
import urllib.parse
import urllib.request
import warnings

import asdf
import numpy as np
from astropy.io import fits
from astropy.wcs import WCS, InvalidTransformError

import peer

CODES = ["TAN", "SIN", "ARC", "STG", "ZEA", "CAR", "CEA", "MER", "SFL", "PAR", "MOL", "AIT"]
PLACES = [(0.0, 0.0), (10.5, 20.25), (359.9, -89.0), (123.0, 66.0), (83.6, 90.0), (270.0, -45.0)]
SHAPE = (40, 60)


def header(code, place, names=("RA", "DEC"), scale=0.4):
    """The header of a sky that is somewhat turned."""
    cards = fits.Header()
    cards.update(CTYPE1=f"{names[0]:-<4}-{code}", CTYPE2=f"{names[1]:-<4}-{code}", CUNIT1="deg", CUNIT2="deg")
    cards.update(CRPIX1=20.5, CRPIX2=33.0, CRVAL1=place[0], CRVAL2=place[1], CDELT1=-scale, CDELT2=scale)
    cards.update(PC1_1=0.9, PC1_2=-0.2, PC2_1=0.25, PC2_2=1.1)
    return cards


def headers():
    """What instruments write, each with a name."""
    for code in CODES:
        for number, place in enumerate(PLACES):
            yield f"{code.lower()}-{number}", header(code, place)
    for lonpole in (0.0, 45.0, 180.0, 200.0):
        for code in ("TAN", "CAR", "AIT"):
            cards = header(code, (10.0, 20.0))
            cards["LONPOLE"] = lonpole
            yield f"lonpole-{code.lower()}-{int(lonpole)}", cards
    cards = header("CAR", (10.0, 20.0))
    cards.update(LONPOLE=30.0, LATPOLE=-90.0)
    yield "latpole", cards
    cards = header("CEA", (10.0, 0.0))
    cards["PV2_1"] = 0.75
    yield "cea-lambda", cards
    cards = header("TAN", (10.0, 20.0), names=("GLON", "GLAT"))
    yield "galactic", cards
    cards = header("TAN", (100.0, -300.0), names=("HPLN", "HPLT"), scale=2.4)
    cards.update(CUNIT1="arcsec", CUNIT2="arcsec")
    yield "sun", cards
    cards = header("TAN", (10.0, 20.0))
    for key in ("PC1_1", "PC1_2", "PC2_1", "PC2_2", "CDELT1", "CDELT2"):
        del cards[key]
    cards.update(CD1_1=-1e-4, CD1_2=2e-5, CD2_1=1e-5, CD2_2=1e-4)
    yield "cd", cards
    cards = cards.copy()
    cards.update(CTYPE1="RA---TAN-SIP", CTYPE2="DEC--TAN-SIP", A_ORDER=3, B_ORDER=2, A_0_2=1e-4, A_2_0=-3e-4, A_1_1=2e-5, A_0_3=1e-6)
    cards.update(B_0_2=-2e-4, B_1_1=3e-5, B_2_0=1e-5)
    yield "sip", cards
    cards = header("TAN", (10.0, 20.0))
    for key in ("PC1_1", "PC1_2", "PC2_1", "PC2_2"):
        del cards[key]
    cards.update(CROTA2=33.0)
    yield "crota", cards
    cards = header("TAN", (10.0, 20.0))  # latitude first
    cards.update(CTYPE1="DEC--TAN", CTYPE2="RA---TAN", CRVAL1=20.0, CRVAL2=10.0)
    yield "turned-over", cards
    cards = fits.Header()
    cards.update(CTYPE1="WAVE", CUNIT1="m", CRPIX1=1.0, CRVAL1=2.0, CDELT1=0.01, CTYPE2="TIME", CUNIT2="s", CRPIX2=5.0, CRVAL2=-3.0, CDELT2=0.5)
    yield "linear", cards


def cube():
    """Two axes of the sky and one of frequency, in an order that is not the usual one."""
    cards = fits.Header()
    cards.update(CTYPE1="RA---SIN", CTYPE3="DEC--SIN", CTYPE2="FREQ", CUNIT1="deg", CUNIT3="deg", CUNIT2="Hz")
    cards.update(CRPIX1=20.5, CRPIX2=2.0, CRPIX3=10.0, CRVAL1=187.0, CRVAL2=1.4e9, CRVAL3=12.0, CDELT1=-0.01, CDELT2=1e6, CDELT3=0.01)
    return cards


@contextlib.contextmanager
def viewer(folder):
    """The server of the viewer; asks it."""
    server = subprocess.Popen([peer.PROGRAM, "view", "--no-browser", "--json", str(folder)], stdout=subprocess.PIPE)
    try:
        text = b""
        while True:
            line = server.stdout.readline()
            assert line, f"trilith view ended: {text!r}"
            text += line
            with contextlib.suppress(json.JSONDecodeError):
                address = json.loads(text)["address"]
                break

        def ask(name, **words):
            query = urllib.parse.urlencode(words)
            with urllib.request.urlopen(f"{address}api/{name}?{query}", timeout=60) as answer:
                return json.load(answer)

        files = ask("files")["files"]
        numbers = {pathlib.PurePath(file["name"]).name: file["index"] for file in files}
        yield lambda name, path, index: ask("wcs", file=numbers[name], path=path, index=",".join(map(str, index)))["coordinates"]
    finally:
        server.terminate()
        server.wait()
        server.stdout.close()


class WorldCoordinates(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def near(self, found, wanted, wcs, what):
        """Coordinates are those of astropy, where it has any."""
        self.assertEqual(len(found), len(wanted), what)
        for axis, (coordinate, value) in enumerate(zip(found, wanted)):
            if not np.isfinite(value):
                self.assertIsNone(coordinate["value"], f"{what}: {coordinate}, expected none")
                continue
            self.assertIsNotNone(coordinate["value"], f"{what}: no {coordinate['name']}, expected {value}")
            off = coordinate["value"] - value
            if axis == wcs.wcs.lng:
                latitude = wanted[wcs.wcs.lat]
                off = ((off + 180) % 360 - 180) * np.cos(np.radians(latitude))
            self.assertLess(abs(off), 1e-9 * max(1.0, abs(value)), f"{what}, axis {axis + 1}: {coordinate['value']}, expected {value}")

    def test_coordinates_are_those_of_astropy(self):
        pixels = [(0, 0), (39, 59), (32, 19), (7, 41), (20, 20), (33, 1)]
        made = dict(headers())
        for name, cards in made.items():
            hdus = [fits.PrimaryHDU(), fits.ImageHDU(np.zeros(SHAPE, "f4"), cards, name="SCI")]
            fits.HDUList(hdus).writeto(self.folder / f"{name}.fits")
            # As sunpy, dkist and the products of JWST keep a header: a dictionary beside the array, also in small letters.
            tree = {"data": np.zeros(SHAPE, "f4"), "meta": {"wcsinfo": {key.lower(): value for key, value in cards.items()}}}
            asdf.AsdfFile(tree).write_to(self.folder / f"{name}.asdf")
        with viewer(self.folder) as ask, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for name, cards in made.items():
                try:
                    wcs = WCS(cards)
                except InvalidTransformError:
                    self.assertIsNone(ask(f"{name}.asdf", "/data", (1, 1)), name)
                    continue
                for row, column in pixels:
                    wanted = wcs.all_pix2world([[column, row]], 0)[0]
                    for file, path in ((f"{name}.fits", "/fits/1/data"), (f"{name}.asdf", "/data")):
                        found = ask(file, path, (row, column))
                        self.assertIsNotNone(found, f"{file} has no coordinates")
                        self.near(found, wanted, wcs, f"{file} at {row}, {column}")

    def test_a_cube_has_three_coordinates(self):
        fits.PrimaryHDU(np.zeros((8, 5, 30), "f4"), cube()).writeto(self.folder / "cube.fits")
        wcs = WCS(cube())
        with viewer(self.folder) as ask:
            for index in [(0, 0, 0), (7, 4, 29), (3, 1, 20)]:
                found = ask("cube.fits", "/fits/0/data", index)
                self.near(found, wcs.all_pix2world([index[::-1]], 0)[0], wcs, f"cube at {index}")
            self.assertEqual([axis["name"] for axis in found], ["RA", "FREQ", "DEC"])

    def test_what_is_not_known_is_not_guessed(self):
        doubtful = {
            "zpn": {"CTYPE1": "RA---ZPN", "CTYPE2": "DEC--ZPN"},
            "plate": {"AMDX1": 67.2, "AMDY1": 67.2},  # the plate solution of the Digitized Sky Survey
            "singular": {"CDELT1": 0.0},
            "sip": {"A_ORDER": 2, "A_2_0": 1e-4},  # a distortion that CTYPE does not name
            "unit": {"CUNIT1": "furlong"},
        }
        for name, change in doubtful.items():
            cards = header("TAN", (10.0, 20.0))
            cards.update(change)
            asdf.AsdfFile({"data": np.zeros(SHAPE, "f4"), "header": dict(cards)}).write_to(self.folder / f"{name}.asdf")
        asdf.AsdfFile({"data": np.zeros(SHAPE, "f4")}).write_to(self.folder / "plain.asdf")
        with viewer(self.folder) as ask:
            for name in (*doubtful, "plain"):
                self.assertIsNone(ask(f"{name}.asdf", "/data", (1, 1)), name)


if __name__ == "__main__":
    unittest.main()
