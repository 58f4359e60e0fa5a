"""Cutouts of FITS images that are scaled or compressed: astropy finds the pixels of the image in them. (The rest tier.)"""

import gzip
import itertools
import pathlib
import tempfile
import unittest
import warnings

import numpy as np
from astropy.io import fits
from astropy.wcs import WCS

import peer

SKY = {"CTYPE1": "RA---TAN", "CTYPE2": "DEC--TAN", "CRPIX1": 30.0, "CRPIX2": 30.0, "CRVAL1": 10.0, "CRVAL2": 20.0, "CDELT1": -1e-3, "CDELT2": 1e-3}
# Inside, and beyond two edges.
PLACES = ((30, 30), (1, 1), (39, 51))
SCALES = ({}, {"BSCALE": 0.5, "BZERO": 10.0}, {"BZERO": 10.0}, {"BSCALE": 0.1}, {"BLANK": 7}, {"BSCALE": 0.5, "BZERO": -3.0, "BLANK": 100})


def header(**cards):
    made = fits.Header()
    for key, value in {**SKY, **cards}.items():
        made[key] = value
    return made


class FitsCutouts(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        warnings.simplefilter("ignore")

    def write(self, hdus, name="image.fits"):
        path = self.folder / name
        fits.HDUList(hdus).writeto(path, overwrite=True)
        return path

    def where(self, path, hdu, place):
        with fits.open(path) as file:
            lon, lat = WCS(file[hdu].header, naxis=2).all_pix2world([place[0]], [place[1]], 1)
        return ["--sky", f"{float(lon[0])!r},{float(lat[0])!r}", "--size", "5px"]

    def check(self, path, hdus, missing, forms=("fits", "asdf", "npy"), places=PLACES):
        """The pixels of each HDU in cutouts of these forms; `missing` is beyond the edge."""
        with fits.open(path) as file:
            wanted = {hdu: np.array(file[hdu].data).astype("f8") for hdu in hdus}
            headers = {hdu: file[hdu].header.copy() for hdu in hdus}
        # The FITS file as ASDF has the same pixels at the same positions.
        converted = path.with_suffix(".asdf")
        peer.trilith("convert", path, converted, "--quiet")
        for place, form, source in itertools.product(places, forms, (path, converted)):
            out = self.folder / f"out.{form}"
            made = peer.trilith_json("cutout", source, *self.where(path, hdus[0], place), "-o", out, "--overwrite")
            (x, y), (width, height) = made["start"][:2], made["shape"][:2]
            for hdu in hdus if form != "npy" else hdus[:1]:
                pad = [(0, 0)] * (wanted[hdu].ndim - 2) + [(9, 9)] * 2
                whole = np.pad(wanted[hdu], pad, constant_values=missing)[..., y + 9 : y + 9 + height, x + 9 : x + 9 + width]
                with self.subTest(place=place, form=form, hdu=hdu, source=source.suffix):
                    if form == "fits":
                        with fits.open(out) as file:
                            file.verify("exception")
                            self.assertIsInstance(file[hdu], (fits.PrimaryHDU, fits.ImageHDU))
                            found, cards = np.array(file[hdu].data), file[hdu].header
                            self.assertEqual((cards["CRPIX1"], cards["CRPIX2"]), (30 - x, 30 - y))
                            self.assertEqual([key for key in cards if key.startswith(("Z", "TFORM", "TTYPE")) and key != "ZENITH"], [])
                            kept = {key: headers[hdu].get(key) for key in ("OBJECT", "EXTNAME", "ZENITH")}
                            self.assertEqual({key: cards.get(key) for key in kept}, kept)
                    elif form == "asdf":
                        peer.trilith("get", f"{out}#/fits/{hdu}/data", "-o", self.folder / "got.npy", "--overwrite")
                        found = np.load(self.folder / "got.npy")
                    else:
                        found = np.load(out)
                    np.testing.assert_array_equal(found.astype("f8"), whole)

    def test_scaled_images_keep_their_values(self):
        random = np.random.default_rng(1)
        for dtype, cards in itertools.product(("u1", "i2", "i4", "f4", "f8"), SCALES):
            if dtype[0] == "f" and "BLANK" in cards:
                continue
            stored = (random.normal(0, 9, (51, 39)) if dtype[0] == "f" else random.integers(0, 120, (51, 39))).astype(dtype)
            made = [make(stored.copy(), header(OBJECT="M 31")) for make in (fits.PrimaryHDU, fits.ImageHDU)]
            for hdu, (key, value) in itertools.product(made, cards.items()):
                hdu.header[key] = value
            with self.subTest(dtype, **cards):
                forms = ("fits", "asdf", "npy") if dtype == "i2" else ("fits",)
                self.check(self.write(made), (0, 1), np.nan if cards or dtype[0] == "f" else 0, forms)

    def test_the_cards_and_the_stored_numbers_stay(self):
        hdu = fits.PrimaryHDU(np.arange(51 * 39, dtype="i2").reshape(51, 39), header())
        for key, value in {"BSCALE": 0.5, "BZERO": 10.0, "BLANK": 7}.items():
            hdu.header[key] = value
        path = self.write([hdu])
        packed = path.with_suffix(".fits.gz")
        packed.write_bytes(gzip.compress(path.read_bytes()))
        for source in (path, packed):
            peer.trilith("cutout", source, *self.where(path, 0, (1, 1)), "-o", self.folder / "out.fits", "--quiet", "--overwrite")
            with fits.open(self.folder / "out.fits", do_not_scale_image_data=True) as file:
                self.assertEqual([file[0].header[key] for key in ("BITPIX", "BSCALE", "BZERO", "BLANK")], [16, 0.5, 10.0, 7])
                np.testing.assert_array_equal(file[0].data[:3, :3], [[7, 7, 7], [7, 7, 7], [7, 7, 0]])

    def test_a_missing_pixel_needs_a_free_number_or_a_wider_one(self):
        for dtype, low, high, bitpix in (("u1", 0, 255, 16), ("u1", 0, 254, 8), ("i2", -32768, 32767, 32), ("i2", -32767, 32767, 16)):
            stored = np.full((51, 39), low, dtype)
            stored[::2] = high
            hdu = fits.ImageHDU(stored, header())
            hdu.header["BSCALE"] = 2.0
            with self.subTest(dtype, low=low, high=high):
                path = self.write([fits.PrimaryHDU(), hdu])
                self.check(path, (1,), np.nan)
                self.assertEqual(fits.getheader(self.folder / "out.fits", 1)["BITPIX"], bitpix)

    def test_a_value_for_pixels_beyond_the_edge_is_a_physical_one(self):
        stored = np.arange(51 * 39, dtype="i2").reshape(51, 39)
        for cards, fill, wanted in (
            ({"BSCALE": 0.5, "BZERO": 10.0, "BLANK": 7}, 12, 12),
            ({"BSCALE": 0.1}, 0.3, 0.3),
            ({"BSCALE": 0.5, "BZERO": 10.0, "BLANK": 7}, "nan", np.nan),
            ({"BSCALE": 0.5, "BZERO": 10.0}, "nan", np.nan),
            ({}, 5, 5),
            ({"BSCALE": 0.5, "BZERO": 10.0}, 10.2, None),
            ({"BSCALE": 0.5, "BZERO": 10.0}, 1e6, None),
            ({"BSCALE": 0.5, "BZERO": 10.0, "BLANK": 7}, 13.5, None),
            ({}, "nan", None),
        ):
            hdu = fits.PrimaryHDU(stored.copy(), header())
            for key, value in cards.items():
                hdu.header[key] = value
            path = self.write([hdu])
            for form in ("fits", "npy") if wanted is not None else ("fits",):
                out = self.folder / f"out.{form}"
                words = ["cutout", path, *self.where(path, 0, (1, 1)), "--fill", fill, "-o", out, "--overwrite", "--quiet"]
                with self.subTest(form, fill=fill, **cards):
                    if wanted is None:
                        with self.assertRaisesRegex(AssertionError, "ended with 2, .* cannot fill with"):
                            peer.trilith(*words)
                        continue
                    peer.trilith(*words)
                    found = fits.getdata(out) if form == "fits" else np.load(out)
                    np.testing.assert_allclose(found.astype("f8")[0], np.full(5, wanted), rtol=1e-6)

    def test_unsigned_numbers_stay(self):
        for dtype in ("i1", "u2", "u4", "u8"):
            stored = np.random.default_rng(2).integers(0, 120, (51, 39)).astype(dtype)
            with self.subTest(dtype):
                self.check(self.write([fits.PrimaryHDU(), fits.ImageHDU(stored, header())]), (1,), 0)

    def compressed(self):
        random = np.random.default_rng(3)
        for dtype, method in itertools.product(("u1", "i2", "i4", "u2", "f4", "f8"), ("RICE_1", "GZIP_1", "GZIP_2", "HCOMPRESS_1", "PLIO_1")):
            if method == "PLIO_1" and dtype[0] != "u" and dtype != "i2" or (method, dtype) == ("PLIO_1", "u2"):
                continue
            data = (random.normal(100, 9, (51, 39)) if dtype[0] == "f" else random.integers(0, 120, (51, 39))).astype(dtype)
            if dtype[0] == "f":
                data[27:31, 29] = np.nan
            for more in ({}, {"quantize_method": 1, "dither_seed": 5}, {"quantize_method": 2, "dither_seed": 5}) if dtype[0] == "f" else ({},):
                yield dtype, fits.CompImageHDU(data, header(OBJECT="M 31", ZENITH=4.5), name="SCI", compression_type=method, **more)

    def test_compressed_images_become_plain_ones(self):
        for dtype, hdu in self.compressed():
            with self.subTest(dtype, method=hdu.compression_type):
                forms = ("fits", "asdf", "npy") if hdu.compression_type == "RICE_1" else ("fits",)
                self.check(self.write([fits.PrimaryHDU(), hdu]), (1,), np.nan if dtype[0] == "f" else 0, forms, PLACES[::2])

    def test_compressed_images_that_are_scaled_keep_their_cards(self):
        random = np.random.default_rng(4)
        integers, floats = random.integers(0, 120, (51, 39)).astype("i2"), random.normal(100, 9, (51, 39)).astype("f4")
        for data, cards in [(integers, cards) for cards in SCALES[1:]] + [(floats, {"BSCALE": 2.0, "BZERO": 5.0})]:
            path = self.write([fits.PrimaryHDU(), fits.CompImageHDU(data, header(), name="SCI")])
            with fits.open(path, disable_image_compression=True, mode="update") as file:
                file[1].header.update(cards)
            with self.subTest(**cards):
                self.check(path, (1,), np.nan)

    def test_a_compressed_cube_and_a_plain_image_of_its_shape(self):
        data = np.random.default_rng(5).integers(0, 120, (3, 51, 39)).astype("i4")
        cube = header(CTYPE3="WAVE", CRPIX3=1.0, CRVAL3=5.0, CDELT3=0.5)
        path = self.write([fits.PrimaryHDU(), fits.CompImageHDU(data, cube, name="A", tile_shape=(1, 10, 39)), fits.ImageHDU(data + 1, cube, name="B")])
        self.check(path, (1, 2), 0)

    def test_positions_of_compressed_images_are_those_of_the_image(self):
        for dtype, hdu in self.compressed():
            plain = self.write([fits.PrimaryHDU(), fits.ImageHDU(hdu.data, hdu.header, name="SCI")], "plain.fits")
            path = self.write([fits.PrimaryHDU(), hdu])
            copy = self.folder / "copy.asdf"
            peer.trilith("convert", path, copy, "--quiet", "--overwrite")
            with self.subTest(dtype, method=hdu.compression_type):
                wanted = peer.trilith_json("sky", plain)
                for file in (path, copy, f"{path}#/fits/SCI/data"):
                    found = peer.trilith_json("sky", file)
                    self.assertEqual(found["pixel_shape"], [39, 51])
                    self.assertEqual({key: found[key] for key in ("centre", "footprint")}, {key: wanted[key] for key in ("centre", "footprint")})
                lon, lat = wanted["centre"]
                listed = peer.trilith("table", plain, path, copy, "--covers", f"{lon},{lat}", "-c", "f=@footprint", "-c", "c=@centre", "-c", "s=@scale")
                rows = [line.split(maxsplit=1)[1:] for line in listed.decode().splitlines()[1:]]
                self.assertEqual(len(rows), 3)
                self.assertEqual(rows[0], rows[1])
                self.assertEqual(rows[0], rows[2])


if __name__ == "__main__":
    unittest.main()
