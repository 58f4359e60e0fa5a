"""Images of the sky in cubes and in headers that leave keywords out, coordinates that several arrays share, and units of longitude:
regions and cutouts against astropy and gwcs. (The rest tier.)"""

import itertools
import pathlib
import subprocess
import tempfile
import unittest
import warnings

import asdf
import numpy as np
from astropy import coordinates, time
from astropy import units as u
from astropy.io import fits
from astropy.modeling import models
from astropy.wcs import WCS
from gwcs import coordinate_frames
from gwcs import wcs as gwcs

import peer

AXES = {
    "ra": ("RA---TAN", 150.0, -0.01, 25.5, 50),
    "dec": ("DEC--TAN", 22.0, 0.01, 20.5, 40),
    "freq": ("FREQ", 1.4e9, 1e6, 1.0, 5),
    "stokes": ("STOKES", 1.0, 1.0, 1.0, 2),
    "log": ("WAVE-LOG", 5e-7, 1e-9, 1.0, 6),
}
ORDERS = [order for names in (("ra", "dec"), ("ra", "dec", "freq"), ("ra", "dec", "log")) for order in itertools.permutations(names)]
ORDERS += [("stokes", "freq", "dec", "ra"), ("ra", "stokes", "freq", "dec"), ("freq", "ra", "stokes", "dec"), ("dec", "freq", "ra", "stokes")]


def cube(*names, **cards):
    """An image of rising numbers whose axes are these, first to last of FITS."""
    header = fits.Header()
    for axis, (kind, value, step, pixel, _) in enumerate(map(AXES.get, names), 1):
        header.update({f"CTYPE{axis}": kind, f"CRVAL{axis}": value, f"CDELT{axis}": step, f"CRPIX{axis}": pixel})
    shape = [AXES[name][-1] for name in names][::-1]
    header.update({name: value for name, value in cards.items() if value is not None})
    for name in (name for name, value in cards.items() if value is None):
        header.remove(name, ignore_missing=True)
    return fits.PrimaryHDU(np.arange(np.prod(shape), dtype="f4").reshape(shape), header)


def frame(*axes):
    return coordinate_frames.CoordinateFrame(len(axes), ["SPATIAL"] * len(axes), tuple(range(len(axes))), name="detector", unit=[u.pix] * len(axes))


def tangent(scale=0.01, at=(30.0, 10.0), x=24.5, y=19.5):
    shift = models.Shift(-x) & models.Shift(-y) | models.Scale(scale) & models.Scale(scale)
    return shift | models.Pix2Sky_TAN() | models.RotateNative2Celestial(*at, 180.0)


def sky(axes=(0, 1), name="icrs", **more):
    return coordinate_frames.CelestialFrame(name=name, axes_order=axes, reference_frame=more.pop("reference_frame", coordinates.ICRS()), **more)


class SkyCase(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        warnings.simplefilter("ignore")

    def covers(self, path, lon, lat, *words, radius=""):
        found = peer.trilith("--quiet", "table", path, "--covers", f"{lon!r},{lat!r}{radius}", *words, "--json")
        return bool(found.strip())

    def positions(self, path, pixels, item=""):
        """The coordinates of pixels, x first."""
        words = [",".join(repr(float(x)) for x in pixel) for pixel in pixels]
        return np.array(peer.trilith_json("--quiet", "sky", f"{path}{item}", *words), dtype=float)

    def check_cutout(self, path, pixel, size=(5, 3), suffix="fits", item=""):
        """Cuts around a pixel of the image: its elements and coordinates are those of the parent."""
        parent = self.positions(path, [pixel], item)[0]
        about = peer.trilith_json("--quiet", "sky", f"{path}{item}")
        kinds = [axis["type"] or "" for axis in about["world_axes"]]
        at = [next(float(value) for value, kind in zip(parent, kinds) if kind.endswith(ends)) for ends in ((".ra", ".lon"), (".dec", ".lat"))]
        out = self.folder / f"out.{suffix}"
        made = peer.trilith_json("--quiet", "cutout", f"{path}{item}", "--sky", f"{at[0]!r},{at[1]!r}", "--sky-frame", "native", "--size", f"{size[0]}px,{size[1]}px", "-o", out, "--overwrite")
        local = [x - first for x, first in zip(pixel, made["start"])] + list(pixel[len(made["start"]) :])
        found = self.positions(out, [local], item if suffix == "asdf" else "")[0]
        np.testing.assert_allclose(found, parent, rtol=1e-9, atol=1e-9)
        return out, made["start"]


class FitsImages(SkyCase):
    def test_cubes_of_every_order_equal_astropy(self):
        for names in ORDERS:
            path = self.folder / f"{'_'.join(names)}.fits"
            hdu = cube(*names)
            hdu.writeto(path)
            known = [name for name in names if name != "log"]
            plain = WCS(cube(*known).header)
            x, y = names.index("ra"), names.index("dec")
            corners = [(-0.4, -0.4), (49.4, 39.4), (-0.4, 39.4), (24.0, 19.0)]
            for across, up in corners:
                pixel = [2.0 if name in ("freq", "log") else 0.0 for name in names]
                pixel[x], pixel[y] = across, up
                world = plain.all_pix2world([[pixel[names.index(name)] for name in known]], 0)[0]
                lon, lat = float(world[known.index("ra")]), float(world[known.index("dec")])
                with self.subTest(names=names, pixel=pixel):
                    self.assertTrue(self.covers(path, lon, lat))
                    self.assertFalse(self.covers(path, lon, lat + 1.0))
            with self.subTest(names=names):
                about = peer.trilith_json("--quiet", "sky", path)
                self.assertAlmostEqual(about["scale"], 36.0, 4)
                wanted = []
                for pixel[x], pixel[y] in itertools.product((-0.5, 49.5), (-0.5, 39.5)):
                    world = plain.all_pix2world([[pixel[names.index(name)] for name in known]], 0)[0]
                    wanted.append((world[known.index("ra")], world[known.index("dec")]))
                np.testing.assert_allclose(sorted(map(tuple, about["footprint"])), sorted(wanted), atol=1e-9)
                pixel = [2.0 if name in ("freq", "log") else 0.0 for name in names]
                pixel[x], pixel[y] = 30.0, 11.0
                out, start = self.check_cutout(path, pixel)
                ranges = tuple(slice(first, first + (5 if axis == min(x, y) else 3 if axis == max(x, y) else AXES[names[axis]][-1])) for axis, first in enumerate(start))
                np.testing.assert_array_equal(fits.getdata(out), hdu.data[ranges[::-1]])

    def test_radius_reaches_images_in_cubes(self):
        for names in ORDERS:
            path = self.folder / "cube.fits"
            cube(*names).writeto(path, overwrite=True)
            with self.subTest(names=names):
                self.assertFalse(self.covers(path, 150.0, 22.4))
                self.assertTrue(self.covers(path, 150.0, 22.4, radius=",0.3deg"))
                self.assertFalse(self.covers(path, 150.0, 22.4, radius=",0.1deg"))

    def test_cutouts_move_keywords_that_are_left_out(self):
        primary = {"CTYPE1A": "RA---TAN", "CTYPE2A": "DEC--TAN", "CRVAL1A": 150.0, "CRVAL2A": 22.0, "CDELT1A": -0.01, "CDELT2A": 0.01, "CRPIX2A": 3.0}
        variants = [{}, {"CRPIX1": None}, {"CRPIX2": None}, {"CRPIX1": None, "CRPIX2": None}, {"CRPIX1": "25.5"}, primary]
        for cards, compressed in itertools.product(variants, (False, True)):
            hdu = cube("ra", "dec", **cards)
            path = self.folder / "image.fits"
            hdus = fits.HDUList([hdu]) if not compressed else fits.HDUList([fits.PrimaryHDU(), fits.CompImageHDU(hdu.data, hdu.header)])
            hdus.writeto(path, overwrite=True)
            with self.subTest(cards=cards, compressed=compressed):
                out, start = self.check_cutout(path, (30.0, 11.0))
                image = fits.getdata(path, -1)
                np.testing.assert_array_equal(fits.getdata(out), image[start[1] : start[1] + 3, start[0] : start[0] + 5])
                for key in "", *("A" if "CTYPE1A" in cards else ""):
                    old, new = WCS(hdu.header, key=key or " "), WCS(fits.getheader(out, -1), key=key or " ")
                    np.testing.assert_allclose(new.all_pix2world([[1, 1]], 0), old.all_pix2world([[1 + start[0], 1 + start[1]]], 0), atol=1e-9)
                if not compressed:
                    converted = self.folder / "image.asdf"
                    for words in ([], ["--physical"]):
                        peer.trilith("--quiet", "convert", path, converted, "--overwrite", "--allow-loss", *words)
                        self.check_cutout(converted, (30.0, 11.0))
        for cards in ({"LTM1_1": 0.5, "LTM2_2": 0.5}, {"LTV1": -5.0}):
            path = self.folder / "binned.fits"
            cube("ra", "dec", **cards).writeto(path)
            out, start = self.check_cutout(path, (30.0, 11.0))
            header = fits.getheader(out)
            self.assertEqual([header["LTV1"], header["LTV2"]], [cards.get("LTV1", 0.0) - start[0], -start[1]])
            path.unlink()

    def test_axes_that_the_array_lacks_are_one_pixel_long(self):
        more = {"CTYPE3": "FREQ", "CRVAL3": 1e9, "CDELT3": 1e6, "CRPIX3": 1.0, "CTYPE4": "STOKES", "CRVAL4": 1.0, "CDELT4": 1.0, "CRPIX4": 1.0}
        for cards in (more, {"WCSAXES": 4} | more, {"WCSAXES": 3}):
            path = self.folder / "flat.fits"
            hdu = cube("ra", "dec", **cards)
            hdu.writeto(path, overwrite=True)
            axes = 4 if "CTYPE4" in cards else 3
            pixel = [30.0, 11.0] + [0.0] * (axes - 2)
            lon, lat = (float(x) for x in WCS(hdu.header).all_pix2world([pixel], 0)[0][:2])
            with self.subTest(cards=list(cards)):
                self.assertTrue(self.covers(path, lon, lat))
                self.assertEqual(peer.trilith("--quiet", "get", f"{path}#/fits/0/data", "--sky", f"{lon!r},{lat!r}", "--size", "1px").split(), [b"580.0"])
                out, _ = self.check_cutout(path, pixel)
                self.assertEqual(fits.getdata(out)[1, 2], hdu.data[11, 30])

    def test_headers_without_data_say_nothing_about_axes(self):
        for names in (("ra", "dec"), ("ra", "dec", "freq")):
            hdu = cube(*names)
            world = WCS(hdu.header)
            for has_shape in (False, True):
                world.pixel_shape = hdu.data.shape[::-1] if has_shape else None
                for key in ("data", "sci"):
                    path = self.folder / "object.asdf"
                    asdf.AsdfFile({key: hdu.data, "wcs": world}).write_to(path)
                    with self.subTest(names=names, has_shape=has_shape, key=key):
                        self.assertEqual(peer.trilith_json("--quiet", "sky", f"{path}#/{key}")["pixel_shape"], list(hdu.data.shape[::-1]))
                        pixel = [30.0, 11.0, 2.0][: len(names)]
                        out, start = self.check_cutout(path, pixel, suffix="asdf", item=f"#/{key}")
                        with asdf.open(out) as file:
                            ranges = tuple(slice(first, first + n) for first, n in zip(start, (5, 3, 5)))
                            np.testing.assert_array_equal(file[key], hdu.data[ranges[::-1]])

    def test_image_that_cannot_be_cut_does_not_end_the_search(self):
        line = fits.ImageHDU(np.zeros(10, "f4"), fits.Header({"CTYPE1": "WAVE", "CRVAL1": 1e-6, "CDELT1": 1e-9, "CRPIX1": 1.0}))
        coupled = cube("ra", "dec", "freq", CRVAL1=200.0, PC1_3=0.5)
        plain = cube("ra", "dec")
        image = fits.ImageHDU(plain.data, plain.header)
        out, path = self.folder / "out.npy", self.folder / "several.fits"
        for first in (line, fits.ImageHDU(coupled.data, coupled.header)):
            fits.HDUList([fits.PrimaryHDU(), first, image]).writeto(path, overwrite=True)
            peer.trilith("--quiet", "cutout", path, "--sky", "150,22", "--size", "3px", "-o", out, "--overwrite")
            self.assertEqual(np.load(out).shape, (3, 3))

    def test_position_chooses_the_chip(self):
        first, second = cube("ra", "dec"), cube("ra", "dec", CRVAL1=151.0)
        path = self.folder / "chips.fits"
        fits.HDUList([fits.PrimaryHDU(), fits.ImageHDU(first.data, first.header, "SCI"), fits.ImageHDU(second.data[:30], second.header, "WIDE")]).writeto(path)
        for lon, wanted in ((150.0, first.data[19, 24]), (151.0, second.data[19, 24])):
            out = self.folder / "out.npy"
            peer.trilith("--quiet", "cutout", path, "--sky", f"{lon},21.995", "--size", "1px", "-o", out, "--overwrite")
            self.assertLessEqual(abs(np.load(out)[0, 0] - wanted), 51)
        answer = subprocess.run([peer.PROGRAM, "cutout", str(path), "--sky", "152,22", "--size", "1px", "-o", str(out), "--overwrite"], capture_output=True)
        self.assertEqual(answer.returncode, 1, answer.stderr)

    def test_no_header_has_a_latitude_beyond_a_pole(self):
        path = self.folder / "pole.fits"
        cube("ra", "dec", CRVAL2=95.0).writeto(path)
        answer = subprocess.run([peer.PROGRAM, "sky", str(path), "0,0"], capture_output=True)
        self.assertEqual(answer.returncode, 2)
        self.assertIn(b"CRVAL2", answer.stderr)


class GwcsImages(SkyCase):
    def save(self, name="cube.asdf", **tree):
        path = self.folder / name
        asdf.AsdfFile(tree).write_to(path)
        return path

    def test_cutouts_of_cubes_equal_gwcs(self):
        wave = models.Scale(0.1) | models.Shift(2.0)
        stokes = models.Shift(1.0)
        spectral = lambda at: coordinate_frames.SpectralFrame(axes_order=(at,), unit=u.um, name="wave")  # noqa: E731
        cases = {
            "last": (tangent() & wave, [sky((0, 1)), spectral(2)], (4, 40, 50)),
            "first": (wave & tangent(), [spectral(0), sky((1, 2))], (40, 50, 4)),
            "four": (tangent() & wave & stokes, [sky((0, 1)), spectral(2), coordinate_frames.StokesFrame(axes_order=(3,))], (2, 4, 40, 50)),
        }
        for name, (transform, frames, shape) in cases.items():
            world = coordinate_frames.CompositeFrame(frames, name="world")
            for boxed in (False, True):
                made = gwcs.WCS([(frame(*shape), transform), (world, None)])
                if boxed:
                    made.bounding_box = tuple((-0.5, n - 0.5) for n in shape[::-1])
                data = np.arange(np.prod(shape), dtype="f4").reshape(shape)
                path = self.save(data=data, wcs=made)
                pixel = [1.0, 30.0, 11.0] if name == "first" else [30.0, 11.0] + [1.0] * (len(shape) - 2)
                with self.subTest(name=name, boxed=boxed):
                    out, start = self.check_cutout(path, pixel, suffix="asdf")
                    with asdf.open(out) as file:
                        local = [x - first for x, first in zip(pixel, start)]
                        found, wanted = file["wcs"](*local, with_bounding_box=False), made(*pixel, with_bounding_box=False)
                        np.testing.assert_allclose(np.array(found, dtype=float), np.array(wanted, dtype=float), atol=1e-9)
                        index = tuple(int(x) for x in local[::-1])
                        self.assertEqual(file["data"][index], data[tuple(int(x) for x in pixel[::-1])])

    def test_quantities_anywhere_make_the_shift_one(self):
        later = models.Identity(2) | models.Multiply(36 * u.arcsec / u.pix) & models.Multiply(36 * u.arcsec / u.pix)
        later = later | models.Shift(30 * u.deg) & models.Shift(10 * u.deg)
        made = gwcs.WCS([(frame(1, 1), models.Identity(2)), (coordinate_frames.Frame2D(name="middle", unit=(u.pix, u.pix)), later), (sky(), None)])
        path = self.save(data=np.zeros((40, 50), "f4"), wcs=made)
        out, start = self.check_cutout(path, (30.0, 11.0), suffix="asdf")
        with asdf.open(out) as file:
            found = file["wcs"](30.0 - start[0], 11.0 - start[1])
            np.testing.assert_allclose(np.array(found, dtype=float), np.array(made(30.0, 11.0), dtype=float), atol=1e-9)

    def test_coordinates_that_others_share_stay(self):
        make = lambda: gwcs.WCS([(frame(1, 1), tangent()), (sky(), None)])  # noqa: E731
        image, other = np.arange(2000, dtype="f4").reshape(40, 50), np.ones((30, 20), "f4")
        shared, transform = make(), tangent()
        transform.bounding_box = ((-0.5, 39.5), (-0.5, 49.5))
        header = {"CTYPE1": "RA---TAN", "CTYPE2": "DEC--TAN", "CRPIX1": 25.5, "CRPIX2": 20.5, "CRVAL1": 30.0, "CRVAL2": 10.0, "CDELT1": 0.01, "CDELT2": 0.01}
        two = [gwcs.WCS([(frame(1, 1), transform), (sky(), None)]) for _ in range(2)]
        cases = {
            "objects": ({"a": {"data": image, "wcs": shared}, "c": {"data": image + 1, "meta": {"wcs": shared}}}, "a", "c"),
            "other shape": ({"a": {"data": image, "wcs": shared}, "c": {"cat": other, "wcs": shared}}, "a", "c"),
            "anchor elsewhere": ({"a": {"cat": other, "wcs": shared}, "c": {"data": image, "wcs": shared}}, "c", "a"),
            "transforms": ({"a": {"data": image, "wcs": two[0]}, "c": {"cat": other, "wcs": two[1]}}, "a", "c"),
            "headers": ({"a": {"data": image, "header": header}, "c": {"cat": other, "header": header}}, "a", "c"),
            "metadata": ({"a": {"data": image, "meta": (meta := {"wcs": shared})}, "c": {"cat": other, "meta": meta}}, "a", "c"),
        }
        for name, (tree, cut, kept) in cases.items():
            path = self.save(**tree)
            place = "meta/wcs" if "meta" in tree[kept] else "header" if "header" in tree[kept] else "wcs"
            before = self.positions(path, [(0, 0), (3, 5)], f"#/{kept}/{place}")
            with self.subTest(name=name):
                out, _ = self.check_cutout(path, (30.0, 11.0), suffix="asdf", item=f"#/{cut}/data")
                np.testing.assert_allclose(self.positions(out, [(0, 0), (3, 5)], f"#/{kept}/{place}"), before, atol=1e-12)

    def test_longitudes_of_every_turn_are_one_place(self):
        linear = models.Shift(-180.0) & models.Shift(-45.0) | models.Scale(1.0) & models.Scale(0.5)
        made = gwcs.WCS([(frame(1, 1), linear), (sky(reference_frame=coordinates.Galactic(), name="galactic"), None)])
        path = self.save(data=np.arange(90 * 360, dtype="f4").reshape(90, 360), wcs=made)
        for pixel, lon in (((120, 45), -60.0), ((120, 45), 300.0), ((240, 45), 60.0)):
            with self.subTest(lon=lon):
                self.assertTrue(self.covers(path, lon, 0.0, "--sky-frame", "galactic"))
                place = coordinates.SkyCoord(lon * u.deg, 0 * u.deg, frame="galactic").icrs
                self.assertTrue(self.covers(path, float(place.ra.deg), float(place.dec.deg)))
                found = peer.trilith("--quiet", "get", f"{path}#/data", "--sky", f"{float(place.ra.deg)!r},{float(place.dec.deg)!r}", "--size", "1px")
                self.assertEqual(float(found.split()[0]), pixel[1] * 360 + pixel[0])

    def test_units_of_longitude_and_latitude_may_differ(self):
        for units, factor in (((u.arcsec, u.deg), 3600.0), ((u.deg, u.arcmin), 1.0), ((u.hourangle, u.deg), 1 / 15)):
            second = 60.0 if units[1] == u.arcmin else 1.0
            transform = tangent() | models.Scale(factor) & models.Scale(second)
            made = gwcs.WCS([(frame(1, 1), transform), (sky(unit=units), None)])
            path = self.save(data=np.zeros((40, 50), "f4"), wcs=made)
            wanted = tangent()(30.0, 11.0)
            with self.subTest(units=units):
                np.testing.assert_allclose(self.positions(path, [(30.0, 11.0)])[0], wanted, atol=1e-9)
                self.assertTrue(self.covers(path, *map(float, wanted)))
                self.check_cutout(path, (30.0, 11.0), suffix="asdf")

    def test_equinoxes_of_every_format_are_those_of_astropy(self):
        moments = [time.Time(2451545.0, format="jd"), time.Time(42413.0, format="mjd"), time.Time("1975-06-01T00:00:00"), time.Time(1991.25, format="decimalyear"), time.Time("B1950")]
        for moment, kind in itertools.product(moments, (coordinates.FK5, coordinates.FK4)):
            reference = kind(equinox=moment) if kind is coordinates.FK5 else kind(equinox=moment, obstime=moment)
            made = gwcs.WCS([(frame(1, 1), tangent()), (sky(reference_frame=reference, name="world"), None)])
            path = self.save(data=np.zeros((40, 50), "f4"), wcs=made)
            wanted = coordinates.SkyCoord(*tangent()(30.0, 11.0), unit="deg", frame=reference).icrs
            [[lon, lat]] = peer.trilith_json("--quiet", "sky", path, "30,11", "--to-frame", "icrs")
            with self.subTest(moment=moment, kind=kind.__name__):
                self.assertLess(wanted.separation(coordinates.SkyCoord(lon, lat, unit="deg")).arcsec, 1e-3)

    def test_stated_extent_of_another_array_does_not_count(self):
        for shape in ((30, 20), (500, 400)):
            made = gwcs.WCS([(frame(1, 1), tangent()), (sky(), None)])
            made.pixel_shape = shape
            path = self.save(data=np.arange(2000, dtype="f4").reshape(40, 50), wcs=made)
            lon, lat = (float(x) for x in tangent()(45.0, 35.0))
            with self.subTest(shape=shape):
                self.assertTrue(self.covers(path, lon, lat))
                self.check_cutout(path, (45.0, 35.0), suffix="asdf")

    def test_coordinates_of_ndcube_around_others_are_refused(self):
        made = gwcs.WCS([(frame(1, 1), tangent()), (sky(), None)])
        path = self.save(cube={"data": np.zeros((40, 50), "f4"), "wcs": {"wcs": made, "factor": [2, 2], "offset": [0, 0]}})
        text = path.read_bytes().replace(b"  wcs:\n    factor", b"  wcs: !<tag:sunpy.org:ndcube/resampledwcs-1.0.0>\n    factor", 1)
        self.assertIn(b"resampledwcs", text)
        # The tag moves the blocks, which the index says.
        path.write_bytes(text[: text.index(b"#ASDF BLOCK INDEX")])
        for item in ("", "#/cube/data"):
            answer = subprocess.run([peer.PROGRAM, "sky", f"{path}{item}", "0,0"], capture_output=True)
            self.assertEqual(answer.returncode, 2, item)
            self.assertIn(b"resampledwcs", answer.stderr)


if __name__ == "__main__":
    unittest.main()
