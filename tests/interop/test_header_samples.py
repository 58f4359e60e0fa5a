"""The headers that astropy.wcs tests itself with: read as astropy reads them, both ways, or refused by name.

The peer is astropy.wcs with wcslib (FITS standard 4.0, papers I to III; the distortions of Hubble as astropy evaluates them).
"""

import gzip
import json
import pathlib
import re
import subprocess
import tempfile
import unittest
import warnings

import astropy.wcs
import numpy as np
from astropy import units
from astropy.io import fits
from astropy.wcs import WCS

import peer

SAMPLES = pathlib.Path(astropy.wcs.__file__).parent / "tests/data"
# No coordinates of an image: a table of events, with keywords of its columns.
WITHOUT = {"chandra-pixlist-wcs.hdr"}
# Positions, as the peer's own tests take them.
POINTS = 40


def read_header(path):
    """The header of a file of cards, with a newline after each or without one."""
    text = path.read_bytes()
    if b"\n" in text:
        return fits.Header.fromtextfile(path)
    return fits.Header.fromstring(text)


def sample_files(folder):
    """Files of each sample, made of their headers if they are no FITS file, with a name."""
    for path in sorted(SAMPLES.rglob("*")):
        name = path.relative_to(SAMPLES).as_posix()
        made = folder / (re.sub(r"\W", "_", name) + ".fits")
        if path.suffix == ".hdr":
            cards = read_header(path)
            count = max([cards.get("NAXIS", 0), cards.get("WCSAXES", 0)] + [int(key[5:]) for key in cards if re.fullmatch(r"CTYPE\d", key)])
            hdu = fits.PrimaryHDU(np.zeros([4] * count, "u1") if count else None)
            # "XTENSION" and lengths are those of another HDU.
            skipped = re.compile(r"XTENSION|SIMPLE|BITPIX|NAXIS\d*|PCOUNT|GCOUNT|EXTEND|TFIELDS|T(TYPE|FORM|DIM)\d+|BSCALE|BZERO|BLANK|END")
            hdu.header.extend(card for card in cards.cards if not skipped.fullmatch(card.keyword))
            hdu.writeto(made, output_verify="ignore")
        elif path.name.endswith(".gz"):
            made.write_bytes(gzip.decompress(path.read_bytes()))
        elif path.suffix == ".fits":
            made.write_bytes(path.read_bytes())
        else:
            continue
        yield name, made


def descriptions(path):
    """Number of an HDU, letter of a description in its header, and the peer's object or its refusal; with the file open."""
    with fits.open(path, output_verify="ignore") as hdus:
        for number, hdu in enumerate(hdus):
            letters = {found[1] for found in (re.fullmatch(r"CTYPE\d+([A-Z]?)", key) for key in hdu.header) if found}
            for letter in sorted(letters):
                try:
                    yield number, letter, WCS(hdu.header.copy(), hdus, key=letter or " ")
                except Exception as error:  # noqa: BLE001 (each of its refusals is one)
                    yield number, letter, error


def sky(path, number, letter, *arguments):
    key = ["--wcs-key", letter] if letter else []
    return subprocess.run([peer.PROGRAM, "sky", f"{path}#/fits/{number}", *key, *arguments], capture_output=True, text=True)


def as_words(points):
    return [",".join(map(repr, point)) for point in points.tolist()]


def as_numbers(output, count):
    """Points in JSON, null for one without coordinates."""
    return np.array([point or [np.nan] * count for point in json.loads(output)])


def columns(wcs, described):
    """Axes of the peer that the description has, in its order, and the factors to the units of the description."""
    kinds = [kind.split("-")[0] if kind[4:5] == "-" and axis in (wcs.wcs.lng, wcs.wcs.lat) else kind for axis, kind in enumerate(wcs.wcs.ctype)]
    kept, factors = [], []
    for axis in described["world_axes"]:
        name = axis["name"]
        names = [{own} if own.strip() else {kind, kind.split("-")[0], f"axis {n + 1}"} for n, (own, kind) in enumerate(zip(wcs.wcs.cname, kinds))]
        place = next(n for n, known in enumerate(names) if n not in kept and name in known)
        kept.append(place)
        own = str(wcs.wcs.cunit[place])
        factors.append(units.Unit(own).to(units.Unit(axis["unit"])) if own and axis["unit"] else 1.0)
    return kept, np.array(factors)


class Samples(unittest.TestCase):
    """Rest tier, as all of this folder."""

    def setUp(self):
        warnings.simplefilter("ignore")

    def test_sample_headers_are_read_as_by_astropy_or_refused_by_name(self):
        counts = {"equal": 0, "refused": 0, "both refuse": 0}
        with tempfile.TemporaryDirectory() as folder:
            for name, path in sample_files(pathlib.Path(folder)):
                for number, letter, wcs in descriptions(path):
                    with self.subTest(f"{name} HDU {number}{letter}"):
                        if name not in WITHOUT:
                            counts[self.compare(path, number, letter, wcs)] += 1
        print(counts)
        self.assertGreater(counts["equal"], 40)

    def compare(self, path, number, letter, wcs):
        if isinstance(wcs, Exception):
            done = sky(path, number, letter)
            self.assertIn(done.returncode, (0, 1, 2))
            return "both refuse"
        count = wcs.naxis
        near = np.array([x if np.isfinite(x) else 1.0 for x in wcs.wcs.crpix])
        pixels = np.random.default_rng(number).uniform(-60, 60, (POINTS, count)) + np.clip(near, -1e5, 1e5)
        try:
            world = wcs.all_pix2world(pixels, 0)
        except Exception:  # noqa: BLE001
            return "both refuse"
        done = sky(path, number, letter, "--json", "--", *as_words(pixels))
        if done.returncode == 2:
            cards = fits.getheader(path, number)
            named = set(re.findall(r"[A-Z][A-Z0-9_]+", done.stderr.split("header: ")[-1]))
            known = {key.split(".")[0] for key in cards}
            self.assertTrue(named & known, done.stderr)
            print("refused:", path.name, number, letter, done.stderr.strip())
            return "refused"
        described = json.loads(sky(path, number, letter, "--json").stdout)
        kept, factors = columns(wcs, described)
        found, wanted = as_numbers(done.stdout, len(kept)), world[:, kept] * factors
        self.assertEqual(found.shape, wanted.shape)
        # A point is null as a whole.
        wanted[~np.isfinite(wanted).all(axis=1)] = np.nan
        self.assertEqual(np.isfinite(found).tolist(), np.isfinite(wanted).tolist())
        off = found - wanted
        for column, axis in enumerate(kept):
            if axis == wcs.wcs.lng:
                off[:, column] = ((off[:, column] + 180) % 360 - 180) * np.cos(np.radians(wanted[:, kept.index(wcs.wcs.lat)]))
        bound = 1e-9 * np.maximum(1, np.abs(np.where([axis in (wcs.wcs.lng, wcs.wcs.lat) for axis in kept], 1.0, wanted)))
        if any("CSC" in kind for kind in wcs.wcs.ctype):
            bound = bound * 1000  # wcslib computes this projection with single precision
        worst = np.nan_to_num(np.abs(off) / bound).max(axis=0)
        self.assertLess(worst.max(), 1, f"{worst} of what is allowed; {found[0]}, expected {wanted[0]}")
        if len(kept) < count:
            self.assertIn("left out", sky(path, number, letter, "--json").stderr)
            return "equal"
        # The peer's inverse is less exact than the one that is tested, so the pixels are compared.
        is_good = np.isfinite(wanted).all(axis=1)
        back = sky(path, number, letter, "--json", "--pixel", "--", *as_words(found[is_good]))
        if is_good.any() and back.returncode != 2:
            again = as_numbers(back.stdout, count)
            same = np.isfinite(again).all(axis=1)
            self.assertGreater(same.sum(), 0.9 * is_good.sum(), back.stderr)
            self.assertLess(np.abs(again - pixels[is_good])[same].max(), 1e-6)
        elif is_good.any():
            self.assertIn("no inverse", back.stderr)
        return "equal"


if __name__ == "__main__":
    unittest.main()
