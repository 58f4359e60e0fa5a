"""Positions on the sky in other frames, alternate descriptions, chips, lists of points, and coordinates that other packages write:
against astropy and gwcs. (The rest tier.)"""

import json
import pathlib
import subprocess
import tempfile
import unittest
import warnings

import asdf
import numpy as np
from astropy import units as u
from astropy.coordinates import SkyCoord
from astropy.io import fits
from astropy.modeling import models
from astropy.table import Table
from astropy.wcs import WCS
from astropy.wcs.wcsapi import SlicedLowLevelWCS
from gwcs import coordinate_frames, selector
from gwcs import wcs as gwcs

import peer

PLACE = SkyCoord(150.1, 2.2, unit="deg", frame="icrs")
FRAMES = {
    "icrs": ({"RADESYS": "ICRS"}, "icrs", "RA---TAN DEC--TAN"),
    "fk5": ({"RADESYS": "FK5", "EQUINOX": 2000.0}, "fk5", "RA---TAN DEC--TAN"),
    "fk5 of 1975": ({"RADESYS": "FK5", "EQUINOX": 1975.0}, "fk5 J1975", "RA---TAN DEC--TAN"),
    "fk4": ({"EQUINOX": 1950.0}, "fk4", "RA---TAN DEC--TAN"),
    "fk4 without e-terms": ({"RADESYS": "FK4-NO-E", "EQUINOX": 1950.0}, "fk4noeterms", "RA---TAN DEC--TAN"),
    "galactic": ({}, "galactic", "GLON-CAR GLAT-CAR"),
    "ecliptic": ({}, "barycentricmeanecliptic", "ELON-TAN ELAT-TAN"),
}


def native(name):
    """PLACE in a frame, as longitude and latitude in degrees."""
    _, frame, _ = FRAMES[name]
    if " " in frame:
        from astropy.coordinates import FK5

        found = PLACE.transform_to(FK5(equinox="J1975"))
    else:
        found = PLACE.transform_to(frame)
    return float(found.spherical.lon.deg), float(found.spherical.lat.deg)


def header(place, cards=None, kinds="RA---TAN DEC--TAN", key="", step=1e-3, size=21):
    made = fits.Header()
    for axis, (kind, value, delta) in enumerate(zip(kinds.split(), place, (-step, step), strict=True), 1):
        made.update({f"CTYPE{axis}{key}": kind, f"CRVAL{axis}{key}": value, f"CDELT{axis}{key}": delta, f"CRPIX{axis}{key}": (size + 1) / 2})
    for name, value in (cards or {}).items():
        made[name] = value
    return made


def image(place, cards=None, kinds="RA---TAN DEC--TAN", size=21):
    # The projections of GLON and CAR are those around a reference point on the equator.
    made = header(place, cards, kinds, size=size)
    if "CAR" in kinds:
        made["CRVAL2"] = 0.0
        made["CRPIX2"] = (size + 1) / 2 - place[1] / 1e-3
    return fits.PrimaryHDU(np.arange(size * size, dtype="i4").reshape(size, size), made)


class SkyPositions(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        warnings.simplefilter("ignore")

    def files_of_frames(self):
        for name, (cards, _, kinds) in FRAMES.items():
            image(native(name), cards, kinds).writeto(self.folder / f"{name.replace(' ', '_')}.fits", overwrite=True)
        return sorted(self.folder.glob("*.fits"))

    def test_position_is_found_in_every_frame(self):
        files = self.files_of_frames()
        at = f"{float(PLACE.ra.deg)!r},{float(PLACE.dec.deg)!r}"
        found = peer.trilith("table", *files, "--covers", at, "--json").decode().split("\n")
        self.assertEqual(len([line for line in found if line]), len(files))
        galactic = ",".join(repr(x) for x in native("galactic"))
        found = peer.trilith("table", *files, "--covers", galactic, "--sky-frame", "galactic", "--json").decode().split("\n")
        self.assertEqual(len([line for line in found if line]), len(files))
        for path, name in ((self.folder / f"{name.replace(' ', '_')}.fits", name) for name in FRAMES):
            own = ",".join(repr(x) for x in native(name))
            for position, frame in ((at, "icrs"), (own, "native"), (galactic, "galactic")):
                words = ["--sky", position, "--sky-frame", frame, "--size", "1px"]
                with self.subTest(name=name, frame=frame):
                    self.assertEqual(peer.trilith("get", f"{path}#/fits/0/data", *words).split(), [b"220"])
                    out = self.folder / "out.npy"
                    peer.trilith("cutout", path, *words, "-o", out, "--overwrite")
                    self.assertEqual(np.load(out).tolist(), [[220]])

    def test_printed_positions_are_those_of_astropy(self):
        for path, name in ((path, path.stem.replace("_", " ")) for path in self.files_of_frames()):
            for frame in ("icrs", "fk5", "fk4", "galactic"):
                [[lon, lat]] = peer.trilith_json("sky", path, "10,10", "--to-frame", frame)
                wanted = PLACE.transform_to(frame).spherical
                apart = SkyCoord(lon, lat, unit="deg").separation(SkyCoord(wanted.lon, wanted.lat)).deg
                with self.subTest(name=name, frame=frame):
                    self.assertLess(apart, 1e-8)
                about = peer.trilith_json("sky", path, "--to-frame", frame)
                self.assertEqual(about["reference"].lower(), frame)
                self.assertLess(abs(about["centre"][1] - lat), 1e-9)

    def test_frame_without_conversion_takes_native_positions(self):
        path = self.folder / "gappt.fits"
        image((10.0, 20.0), {"RADESYS": "GAPPT"}).writeto(path)
        self.assertIn(b"gappt", peer.trilith("table", path, "--covers", "10,20"))
        peer.trilith("sky", path, "1,1", "--to-frame", "icrs", status=2)

    def test_alternate_descriptions_equal_astropy(self):
        primary, other, linear = header((10.0, 20.0)), header((200.0, -30.0), kinds="GLON-SIN GLAT-SIN", key="B"), header((5.0, 6.0), kinds="X Y", key="P")
        made = fits.PrimaryHDU(np.zeros((21, 21), "u1"), primary)
        made.header.update(other)
        made.header.update(linear)
        for name, value in {"PC1_1B": 0.8, "PC1_2B": -0.6, "PC2_1B": 0.6, "PC2_2B": 0.8, "PV2_1B": 0.1, "LONPOLEB": 170.0}.items():
            made.header[name] = value
        made.header.update(header((30.0, 40.0), {"CROTA2C": 30.0}, key="C"))
        path = self.folder / "alternates.fits"
        made.writeto(path)
        for key in ("", "B", "C", "P"):
            wanted = WCS(made.header, key=key or " ").all_pix2world([[3.0, 7.0], [20.0, 0.5]], 0)
            found = peer.trilith_json("sky", path, "3,7", "20,0.5", *(["--wcs-key", key] if key else []))
            np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-9)
        self.assertIn(b"with key Q", self.said("sky", path, "--wcs-key", "Q"))
        place = WCS(made.header, key="B").all_pix2world([[10.0, 10.0]], 0)[0]
        words = ["--sky-frame", "native", "--wcs-key", "B"]
        position = ",".join(repr(float(x)) for x in place)
        self.assertIn(b"alternates", peer.trilith("table", path, "--covers", position, *words))
        out = self.folder / "cut.fits"
        peer.trilith("cutout", path, "--sky", position, "--size", "5px", *words, "-o", out)
        with fits.open(out) as cut:
            for key in " BCP":
                moved = WCS(cut[0].header, key=key).all_pix2world([[2.0, 2.0]], 0)
                np.testing.assert_allclose(moved, WCS(made.header, key=key).all_pix2world([[10.0, 10.0]], 0), rtol=0, atol=1e-10)

    def run_any(self, *arguments):
        """Runs the command, which may end with 0 or 1."""
        ended = subprocess.run([peer.PROGRAM, *map(str, arguments)], capture_output=True, timeout=60, check=False)
        self.assertIn(ended.returncode, (0, 1), ended.stderr)

    def said(self, *arguments):
        ended = subprocess.run([peer.PROGRAM, *map(str, arguments)], capture_output=True, timeout=60, check=False)
        self.assertEqual(ended.returncode, 2)
        return ended.stderr

    def test_each_chip_is_cut_at_its_position(self):
        hdus = [fits.PrimaryHDU()]
        for number, place in enumerate([(10.0, 20.0), (10.004, 20.003), (50.0, 20.0)]):
            data = (1000 * number + np.arange(441)).astype("i4").reshape(21, 21)
            hdus += [fits.ImageHDU(data, header(place), name="SCI", ver=number + 1)]
        hdus.append(fits.ImageHDU(np.arange(441, dtype="u1").reshape(21, 21), name="MASK"))
        path, out = self.folder / "chips.fits", self.folder / "cut.fits"
        fits.HDUList(hdus).writeto(path)
        peer.trilith("cutout", path, "--sky", "10.001,20.002", "--size", "3px", "-o", out)
        with fits.open(out) as cut:
            self.assertEqual([(hdu.name, hdu.header.get("EXTVER", 1)) for hdu in cut[1:]], [("SCI", 1), ("SCI", 2), ("MASK", 1)])
            for hdu, whole in zip(cut[1:3], hdus[1:3], strict=True):
                lon, lat = WCS(hdu.header).all_pix2world(1.0, 1.0, 0)
                self.assertLess(abs(lon - 10.001) + abs(lat - 20.002), 1e-3)
                x, y = (int(round(float(v))) for v in WCS(whole.header).all_world2pix(lon, lat, 0))
                np.testing.assert_array_equal(hdu.data, whole.data[y - 1 : y + 2, x - 1 : x + 2])

    def test_points_come_from_tables(self):
        ra, dec = [10.0, 10.003, 10.001], [20.0, 19.996, 20.002]
        path = self.folder / "image.fits"
        image((10.0, 20.0)).writeto(path)
        table = Table({"id": ["a", "b", "c"], "RA": ra * u.deg, "Dec": dec * u.deg})
        table.write(self.folder / "points.fits")
        radians = Table({"ra": np.radians(ra) * u.rad, "dec": np.radians(dec) * u.rad})
        radians.write(self.folder / "radians.fits")
        hours = Table({"ra": np.array(ra) / 15 * u.hourangle, "dec": np.array(dec) * 60 * u.arcmin})
        asdf.AsdfFile({"catalog": {"sources": hours}}).write_to(self.folder / "hours.asdf")
        asdf.AsdfFile({"t": np.array(list(zip(ra, dec, strict=True)), dtype=[("ra", "f8"), ("dec", "f8")])}).write_to(self.folder / "structured.asdf")
        (self.folder / "points.jsonl").write_text("".join(json.dumps({"ra": a, "dec": d}) + "\n" for a, d in zip(ra, dec, strict=True)))
        (self.folder / "points.csv").write_text("id,ra,dec\n" + "".join(f"s,{a},{d}\n" for a, d in zip(ra, dec, strict=True)))
        for extension in ("parquet", "arrow", "csv", "jsonl"):
            peer.trilith("table", f"{self.folder / 'points.fits'}#/fits/1/data", "-o", self.folder / f"rows.{extension}")
        sources = ["points.fits", "points.fits#/fits/1/data", "radians.fits", "hours.asdf", "hours.asdf#/catalog/sources", "structured.asdf"]
        sources += ["points.jsonl", "points.csv", *(f"rows.{extension}" for extension in ("parquet", "arrow", "csv", "jsonl"))]
        wanted = np.array(WCS(fits.getheader(path)).all_world2pix(ra, dec, 0)).T
        for source in sources:
            with self.subTest(source=source):
                out = self.folder / "pixels.npy"
                peer.trilith("sky", path, "--pixel", "--points", self.folder / source, "-o", out, "--overwrite")
                np.testing.assert_allclose(np.load(out), wanted, rtol=0, atol=1e-6)
                peer.trilith("cutout", path, "--points", self.folder / source, "--size", "1px", "-o", self.folder / "cut_{n}.npy", "--overwrite")
                found = [int(np.load(self.folder / f"cut_{n}.npy").item()) for n in range(3)]
                self.assertEqual(found, [int(round(y)) * 21 + int(round(x)) for x, y in wanted])

    def test_coordinates_of_asdf_astropy_equal_astropy(self):
        cards = header((10.0, 20.0))
        cards.update({"CTYPE1": "RA---TAN-SIP", "CTYPE2": "DEC--TAN-SIP", "A_ORDER": 2, "B_ORDER": 2, "A_2_0": 1e-4, "B_0_2": 2e-4})
        cube = header((10.0, 20.0))
        cube.update({"CTYPE3": "FREQ", "CRVAL3": 1e9, "CDELT3": 1e6, "CRPIX3": 1.0, "CUNIT3": "Hz"})
        plain, whole, three = WCS(header((10.0, 20.0))), WCS(cards), WCS(cube)
        plain.pixel_shape = (21, 21)
        three.pixel_shape = (21, 21, 5)
        for name, wcs, axes in [
            ("plain", plain, 2), ("sip", whole, 2), ("cube", three, 3),
            ("slice", SlicedLowLevelWCS(plain, [slice(4, 12), slice(3, 9)]), 2),
            ("plane", SlicedLowLevelWCS(three, [2, slice(None), slice(5, None)]), 2),
            ("line", SlicedLowLevelWCS(three, [slice(1, None), 3, 4]), 1),
        ]:
            path = self.folder / f"{name}.asdf"
            asdf.AsdfFile({"image": {"data": np.zeros((5,) * axes), "wcs": wcs}}).write_to(path)
            pixel = (2.0, 3.5, 1.25)[:axes]
            wanted = np.atleast_1d(wcs.pixel_to_world_values(*pixel))
            [found] = peer.trilith_json("sky", f"{path}#/image/data", ",".join(map(str, pixel)), "--no-bounding-box")
            with self.subTest(name=name):
                np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-10)
        out = self.folder / "cut.asdf"
        asdf.AsdfFile({"data": np.arange(441.0).reshape(21, 21), "wcs": plain}).write_to(self.folder / "whole.asdf")
        peer.trilith("cutout", self.folder / "whole.asdf", "--sky", "10.001,20.002", "--size", "3px", "-o", out)
        with asdf.open(out) as cut:
            x, y = (int(round(float(v))) for v in plain.world_to_pixel_values(*cut["wcs"].pixel_to_world_values(1, 1)))
            self.assertEqual(float(cut["data"][1, 1]), y * 21 + x)
            self.assertEqual(tuple(cut["wcs"].pixel_shape), (3, 3))

    def test_selected_transforms_equal_gwcs(self):
        labels = np.zeros((8, 10), "i4")
        labels[:, 1:4], labels[:, 5:9] = 1, 2
        maps = {
            1: models.Mapping((0, 1, 0)) | models.Shift(1.0) & models.Scale(2.0) & models.Shift(7.0),
            2: models.Mapping((0, 1, 0)) | models.Shift(-3.0) & models.Scale(0.5) & models.Scale(0.1),
        }
        outputs = ("a", "b", "w")
        by_value = selector.LabelMapperDict(
            ("x", "y"), {2.0: models.Mapping((0,), n_inputs=2) | models.Const1D(1.0), 6.0: models.Mapping((0,), n_inputs=2) | models.Const1D(2.0)},
            models.Mapping((0,), n_inputs=2), atol=0.3,
        )
        by_range = selector.LabelMapperRange(
            ("x", "y"), {(1.0, 4.0): models.Mapping((0,), n_inputs=2) | models.Const1D(1.0), (5.0, 8.0): models.Mapping((0,), n_inputs=2) | models.Const1D(2.0)},
            models.Mapping((0,), n_inputs=2),
        )
        detector = coordinate_frames.Frame2D(name="detector", unit=(u.pix, u.pix))
        world = coordinate_frames.CoordinateFrame(3, ["SPATIAL"] * 3, (0, 1, 2), unit=(u.deg, u.deg, u.um), name="world")
        x, y = np.meshgrid(np.linspace(0, 9.4, 23), np.linspace(-0.4, 7.4, 17))
        for name, mapper in {"array": selector.LabelMapperArray(labels), "dict": by_value, "range": by_range}.items():
            chosen = selector.RegionsSelector(("x", "y"), outputs, maps, mapper)
            wcs = gwcs.WCS([(detector, chosen), (world, None)])
            path = self.folder / f"{name}.asdf"
            asdf.AsdfFile({"data": np.zeros((8, 10)), "wcs": wcs}).write_to(path)
            points = self.folder / "points.npy"
            np.save(points, np.array([x.ravel(), y.ravel()]).T)
            out = self.folder / "world.npy"
            self.run_any("sky", f"{path}#/wcs", "--points", points, "-o", out, "--overwrite")
            wanted = np.array(chosen(x.ravel(), y.ravel())).T
            with self.subTest(name=name):
                np.testing.assert_allclose(np.load(out), wanted, rtol=1e-12, equal_nan=True)
                self.assertTrue(np.isfinite(wanted).any())

    def test_zpn_equals_wcslib(self):
        random = np.random.default_rng(11)
        for case in range(40):
            made = header((float(random.uniform(0, 360)), float(random.uniform(-80, 80))), kinds="RA---ZPN DEC--ZPN", step=float(random.choice([1e-3, 0.3])))
            terms = [0.0, 1.0, *random.uniform(-0.3, 0.3, random.integers(0, 6))]
            for number, value in enumerate(terms):
                made[f"PV2_{number}"] = float(value)
            path = self.folder / f"zpn{case}.fits"
            fits.PrimaryHDU(np.zeros((21, 21), "u1"), made).writeto(path)
            places = random.uniform(-150, 150, (30, 2))
            points, out = self.folder / "points.npy", self.folder / "world.npy"
            np.save(points, places)
            self.run_any("sky", path, "--points", points, "-o", out, "--overwrite")
            found, wanted = np.load(out), WCS(made).all_pix2world(places, 0)
            with self.subTest(terms=terms):
                np.testing.assert_array_equal(np.isnan(found), np.isnan(wanted))
                away = (found - wanted + 180) % 360 - 180
                away[:, 0] *= np.cos(np.radians(wanted[:, 1]))
                self.assertLess(np.nanmax(np.abs(away), initial=0.0), 1e-9)


if __name__ == "__main__":
    unittest.main()
