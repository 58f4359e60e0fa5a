"""Cutouts and FITS headers of images with a GWCS: gwcs, wcslib and AST find the positions of the image in them."""

import pathlib
import tempfile
import unittest
import warnings

import asdf
import numpy as np
import starlink.Ast
import starlink.Atl
import test_gwcs as trees
from astropy.io import fits
from astropy.wcs import WCS

import peer

CONDITIONS = starlink.Ast.FitsChan().AllWarnings


def box_of(wcs):
    box = wcs.bounding_box
    return box.bounding_box(order="F") if hasattr(box, "bounding_box") else box


class Images(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def image(self, wcs, data, **others):
        path = self.folder / "image.asdf"
        asdf.AsdfFile({"roman": {"meta": {"wcs": wcs}, "data": data, **others}}).write_to(path, all_array_compression="lz4")
        return path

    def check_header(self, hdu, wcs, first=(0, 0)):
        """The positions of an HDU whose first pixel is this one of the image, by wcslib and by AST, neither of which warns."""
        size = hdu.header["NAXIS1"], hdu.header["NAXIS2"]
        x, y = (grid.ravel() for grid in np.meshgrid(*(np.linspace(-0.5, n - 0.5, 41) for n in size)))
        wanted = wcs(x + first[0], y + first[1], with_bounding_box=False)
        step = wcs(x + first[0] + 0.1, y + first[1], with_bounding_box=False)
        pixel = trees.apart(wanted, step) * 10
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            read = WCS(hdu.header)
            self.assertLess((trees.apart(read.all_pix2world(x, y, 0), wanted) / pixel).max(), 1e-3)
            back = read.all_world2pix(*wanted, 0)
        self.assertLess(np.hypot(back[0] - x, back[1] - y).max(), 1e-3)
        channel = starlink.Ast.FitsChan(starlink.Atl.PyFITSAdapter(hdu), None, f"Warnings={CONDITIONS}")
        found = np.degrees(channel.read().tran([x + 1, y + 1]))
        # It adds what it has to say to the header.
        self.assertEqual([card for card in channel if card.startswith("ASTWARN")], [])
        self.assertLess((trees.apart(found, wanted) / pixel).max(), 1e-3)

    def test_converted_images_have_their_positions(self):
        for make, is_exact in ((trees.roman, False), (trees.nircam, False), (trees.resampled, True)):
            for seed in range(2):
                with self.subTest(make.__name__, seed=seed):
                    wcs = make(seed)
                    (_, right), (_, top) = box_of(wcs)
                    image = self.image(wcs, np.zeros((int(top + 0.5), int(right + 0.5)), "u1"))
                    out = self.folder / "out.fits"
                    peer.trilith("convert", image, out, "--quiet")
                    with fits.open(out) as file:
                        header = file[1].header
                        self.assertEqual(header["CTYPE1"], "RA---TAN" if is_exact else "RA---TAN-SIP")
                        self.assertLessEqual(header.get("SIPMXERR", 0), 1e-3)
                        self.check_header(file[1], wcs)
                    peer.trilith("convert", image, out, "--quiet", "--no-wcs")
                    self.assertNotIn("CTYPE1", fits.getheader(out, 1))

    def test_cutouts_have_their_positions_beyond_every_edge(self):
        wcs, pad = trees.chebyshev(1), 200
        right, top = (high for _, high in box_of(wcs))
        data = np.random.default_rng(3).normal(100, 5, (int(top + 0.5), int(right + 0.5))).astype("f4")
        flags = (data > 100).astype("u4")
        image = self.image(wcs, data, dq=flags)
        wide = np.pad(data, pad, constant_values=np.nan), np.pad(flags, pad)
        places = [(x, y, size) for x in (3.2, 400.3, right - 2.1) for y in (2.9, 500.0, top - 1.9) for size in ("60px", "61px,31px")]
        for x, y, size in places:
            with self.subTest(x=x, y=y, size=size):
                sky = wcs(x, y)
                where = ["--sky", f"{float(sky[0])!r},{float(sky[1])!r}", "--size", size]
                out = self.folder / "out.asdf"
                made = peer.trilith_json("cutout", f"{image}#/roman/data", *where, "-o", out)
                left, low = made["start"]
                with asdf.open(out) as file:
                    found, cut = file["roman"]["data"][:], file["roman"]["meta"]["wcs"]
                    height, width = found.shape
                    self.assertEqual([width, height], [int(length.removesuffix("px")) for length in (size.split(",") * 2)[:2]])
                    window = np.s_[low + pad : low + pad + height, left + pad : left + pad + width]
                    np.testing.assert_array_equal(found, wide[0][window])
                    np.testing.assert_array_equal(file["roman"]["dq"][:], wide[1][window])
                    self.assertEqual(box_of(cut), ((-0.5, width - 0.5), (-0.5, height - 0.5)))
                    self.assertEqual(tuple(cut.pixel_shape), (width, height))
                    # The target is at its pixel, and that is in the middle.
                    self.assertLess(trees.apart(cut(x - left, y - low), sky), 1e-12)
                    self.assertLessEqual(max(abs(x - left - (width - 1) / 2), abs(y - low - (height - 1) / 2)), 0.5 + 1e-6)
                out = self.folder / "out.fits"
                peer.trilith("cutout", f"{image}#/roman/data", *where, "-o", out, "--quiet")
                with fits.open(out) as file:
                    np.testing.assert_array_equal(file[1].data, wide[0][window])
                    self.check_header(file[1], wcs, (left, low))


if __name__ == "__main__":
    unittest.main()
