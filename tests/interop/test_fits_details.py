"""Details of FITS files that programs write differently: filling, undefined cards, old logical columns, truncated files. (The rest tier.)"""

import gzip
import json
import pathlib
import subprocess
import tempfile
import unittest
import warnings

import asdf
import numpy as np
import peer
from astropy.io import fits
from astropy.wcs import WCS


def card(keyword, value):
    return str(fits.Card(keyword, value)).encode()


def table(path, columns, rows, data, heap=b"", **cards):
    """A binary table of these TFORMs, byte by byte."""
    primary = b"".join([card("SIMPLE", True), card("BITPIX", 8), card("NAXIS", 0), card("EXTEND", True)]) + b"END"
    header = [("XTENSION", "BINTABLE"), ("BITPIX", 8), ("NAXIS", 2), ("NAXIS1", len(data) // rows), ("NAXIS2", rows),
              ("PCOUNT", len(heap)), ("GCOUNT", 1), ("TFIELDS", len(columns))]
    for number, form in enumerate(columns, 1):
        header += [(f"TTYPE{number}", f"c{number}"), (f"TFORM{number}", form)]
    header += cards.items()
    block = lambda content, fill: content + fill * (-len(content) % 2880)  # noqa: E731
    text = b"".join(card(*pair) for pair in header) + b"END"
    path.write_bytes(block(primary, b" ") + block(text, b" ") + block(data + heap, b"\0"))


class FitsDetails(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        warnings.simplefilter("ignore")

    def column(self, path, name="c1"):
        return peer.trilith_json("get", f"{path}#/fits/1/data/{name}" if name else f"{path}#/fits/1/data")

    def test_smaller_tdim_leaves_filling_out(self):
        path = self.folder / "x.fits"
        for form, code in (("6E", ">f4"), ("6I", ">i2"), ("6K", ">i8"), ("6L", "S1")):
            for dim, count in (("(2,2)", 4), ("(5)", 5), ("(1,3)", 3)):
                values = np.array([b"T", b"F"] * 6) if form == "6L" else np.arange(12).astype(code)
                table(path, [form], 2, values.tobytes(), TDIM1=dim)
                shape = tuple(int(n) for n in dim.strip("()").split(","))[::-1]
                wanted = values.reshape(2, 6)[:, :count].reshape(2, *shape)
                wanted = wanted == b"T" if form == "6L" else wanted
                with self.subTest(form=form, dim=dim):
                    np.testing.assert_array_equal(self.column_values(path), wanted)
                    # astropy takes the rows to be as long as the elements in use.
                    np.testing.assert_array_equal(np.ravel(fits.getdata(path, 1)["c1"][0]), values[:count] == b"T" if form == "6L" else values[:count])
                    # The file comes back as it was.
                    peer.trilith("convert", path, self.folder / "x.asdf")
                    peer.trilith("convert", self.folder / "x.asdf", self.folder / "y.fits")
                    self.assertEqual((self.folder / "y.fits").read_bytes(), path.read_bytes())
        # Lengths that need more elements than there are mean nothing.
        table(path, ["6E"], 1, np.arange(6, dtype=">f4").tobytes(), TDIM1="(3,3)")
        self.assertEqual(self.column_values(path), [[0, 1, 2, 3, 4, 5]])

    def column_values(self, path):
        return peer.trilith_json("get", f"{path}#/fits/1/data", "--field", "c1")

    def test_offset_of_integers_is_rounded_once(self):
        path = self.folder / "x.fits"
        stored = np.array([2**53 + 1, -(2**53) - 1, 7, 2**62 + 1], ">i8")
        for zero in (5, -3, 2**40 + 1):
            table(path, ["1K"], 4, stored.tobytes(), TZERO1=zero)
            self.assertEqual(self.column_values(path), [float(int(n) + zero) for n in stored])
            image = fits.PrimaryHDU(stored.astype("i8"))
            image.writeto(path, overwrite=True)
            with fits.open(path, mode="update", do_not_scale_image_data=True) as file:
                file[0].header["BZERO"] = zero
            self.assertEqual(peer.trilith_json("get", f"{path}#/fits/0/data"), [float(int(n) + zero) for n in stored])
        # The offset of unsigned integers.
        table(path, ["1K"], 4, stored.tobytes(), TZERO1=2**63)
        self.assertEqual(self.column_values(path), [int(n) + 2**63 for n in stored])

    def test_undefined_cards_are_null(self):
        path = self.folder / "x.fits"
        hdu = fits.PrimaryHDU(np.arange(3))
        hdu.header["A"], hdu.header["B"], hdu.header["C"] = (None, "comment"), None, ""
        hdu.writeto(path)
        for name in ("x.fits", "x.asdf"):
            file = self.folder / name
            for keyword, value in (("A", None), ("B", None), ("C", "")):
                self.assertEqual(peer.trilith_json("get", f"{file}#/fits/0/header/{keyword}"), value, (name, keyword))
            row = peer.trilith_json("table", file, "-c", "A=/fits/0/header/A", "-c", "C=/fits/0/header/C")
            self.assertEqual((row["A"], row["C"]), (None, ""))
            peer.trilith("convert", path, self.folder / "x.asdf")
        with asdf.open(self.folder / "x.asdf") as file:
            self.assertIn(file["fits"][0].header["A"], (None, fits.card.UNDEFINED))
        peer.trilith("convert", self.folder / "x.asdf", self.folder / "y.fits")
        self.assertEqual((self.folder / "y.fits").read_bytes(), path.read_bytes())
        peer.trilith("insert", f"{path}#/fits/0/header/D", "")
        peer.trilith("set", f"{path}#/fits/0/header/A", "5")
        header = fits.getheader(path)
        self.assertEqual((header["D"], str(header.cards["D"])[:13], header["A"]), ("", "D       = '' ", 5))

    def test_zeros_may_follow_gzip_members(self):
        content = self.folder / "x.fits"
        fits.PrimaryHDU(np.arange(1000)).writeto(content)
        path = self.folder / "x.fits.gz"
        packed = gzip.compress(content.read_bytes())
        for bytes_ in (packed + bytes(100), packed + bytes(100_000), gzip.compress(content.read_bytes()[:2880]) + bytes(7) + gzip.compress(content.read_bytes()[2880:])):
            path.write_bytes(bytes_)
            self.assertEqual(gzip.decompress(bytes_), content.read_bytes())
            self.assertEqual(peer.trilith_json("get", f"{path}#/fits/0/data"), list(range(1000)))
        path.write_bytes(packed + bytes(10) + b"x")
        peer.trilith("get", f"{path}#/fits/0/data", status=2)

    def test_nul_filling_is_reported_and_mended(self):
        path = self.folder / "x.fits"
        fits.PrimaryHDU(np.arange(3)).writeto(path)
        content = bytearray(path.read_bytes())
        end = content.index(b"END     ") + 80
        content[end:2880] = bytes(2880 - end)
        path.write_bytes(content)
        said = subprocess.run([peer.PROGRAM, "verify", path], capture_output=True, check=False)
        self.assertEqual(said.returncode, 1)
        self.assertIn(b"NUL bytes fill the header after END", said.stdout + said.stderr)
        peer.trilith("insert", f"{path}#/fits/0/header/D", "1")
        peer.trilith("verify", path)
        with fits.open(path) as file:
            file.verify("exception")
            self.assertEqual(file[0].header["D"], 1)

    def test_logical_heaps_of_old_astropy(self):
        path = self.folder / "x.fits"
        cells = lambda *lengths: np.array([(n, sum(lengths[:at])) for at, n in enumerate(lengths)], ">i4").tobytes()  # noqa: E731
        for heap, wanted in (
            (bytes([1, 0, 1, 0, 0]), [[True, False, True], [False, False]]),
            (b"TFT\0F", [[True, False, True], [None, False]]),
            (bytes(5), [[None] * 3, [None] * 2]),
            (b"T\1F\0\0", [[True, None, False], [None, None]]),
        ):
            for letter, kind in (("P", ">i4"), ("Q", ">i8")):
                table(path, [f"1{letter}L(3)"], 2, np.frombuffer(cells(3, 2), ">i4").astype(kind).tobytes(), heap)
                self.assertEqual(self.column(path), wanted, (letter, heap))
        table(path, ["1PL(3)"], 2, cells(3, 2), bytes([1, 0, 1, 0, 0]))
        self.assertEqual([row.tolist() for row in fits.getdata(path, 1)["c1"]], [[True, False, True], [False, False]])

    def test_rows_before_end_of_truncated_file(self):
        path = self.folder / "x.fits"
        data = np.arange(19200, dtype="f4").reshape(120, 160)
        rows = np.zeros(2000, [("a", "i4"), ("b", "f8")])
        rows["a"] = np.arange(2000)
        for hdu, number in ((fits.ImageHDU(data, name="SCI"), 30_000), (fits.BinTableHDU(rows), 15_000), (fits.ImageHDU(data.astype("i2"), name="S"), 20_000)):
            if number == 20_000:
                hdu.header["BSCALE"] = 0.5
            fits.HDUList([fits.PrimaryHDU(), hdu]).writeto(path, overwrite=True)
            path.write_bytes(path.read_bytes()[:number])
            with self.subTest(hdu=hdu.name):
                head = peer.trilith_json("get", f"{path}#/fits/1/data", "--slice", "0:2")
                self.assertEqual(len(head), 2)
                for command in (("get", f"{path}#/fits/1/data"), ("verify", path), ("digest", path)):
                    said = subprocess.run([peer.PROGRAM, *map(str, command)], capture_output=True, text=True, check=False)
                    self.assertNotEqual(said.returncode, 0, command)
                    self.assertRegex(said.stdout + said.stderr, rf"x\.fits.* truncated.* byte {number}", command)

    def test_sections_move_with_cutouts(self):
        path, out = self.folder / "x.fits", self.folder / "o.fits"
        hdu = fits.PrimaryHDU(np.arange(2400).reshape(40, 60))
        sky = {"CTYPE1": "RA---TAN", "CTYPE2": "DEC--TAN", "CRPIX1": 30.0, "CRPIX2": 20.0, "CRVAL1": 10.0, "CRVAL2": 20.0, "CDELT1": -1e-3, "CDELT2": 1e-3}
        sections = {"DATASEC": "[11:60,1:40]", "BIASSEC": "[1:10,1:40]", "CCDSEC": "[101:150,1:40]", "DETSEC": "[150:101,1:40]", "AMPSEC": "[1:9,1:9]"}
        for keyword, value in {**sky, **sections, "LTV1": -5.0, "LTM1_1": 1.0}.items():
            hdu.header[keyword] = value
        hdu.writeto(path)
        said = subprocess.run([peer.PROGRAM, "cutout", path, "--sky", "10,20", "--size", "9px", "-o", out], capture_output=True, text=True, check=True)
        header, pixels = fits.getheader(out), fits.getdata(out)
        y, x = divmod(int(pixels[0, 0]), 60)
        width, height = pixels.shape[1], pixels.shape[0]
        self.assertEqual(header["DATASEC"], f"[1:{width},1:{height}]")
        self.assertEqual(header["CCDSEC"], f"[{101 + x - 10}:{101 + x - 10 + width - 1},{y + 1}:{y + height}]")
        self.assertEqual(header["DETSEC"], f"[{150 - (x - 10)}:{150 - (x - 10) - width + 1},{y + 1}:{y + height}]")
        self.assertEqual((header["LTV1"], header["CRPIX1"]), (-5.0 - x, 30.0 - x))
        self.assertFalse({"BIASSEC", "AMPSEC"} & set(header))
        self.assertRegex(said.stderr, "BIASSEC, AMPSEC of HDU 0 left out")
        np.testing.assert_allclose(WCS(header).pixel_to_world_values(0, 0), WCS(fits.getheader(path)).pixel_to_world_values(x, y))


class HduPairs(unittest.TestCase):
    """HDUs are compared with those of the same EXTNAME and EXTVER, wherever they are. The peer is what was written."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def diff(self, *options):
        words = [peer.PROGRAM, "diff", "a.fits", "b.fits", "--json", *options]
        done = subprocess.run(words, capture_output=True, check=False, cwd=self.folder)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        return {(one["path"], one["kind"]) for one in json.loads(done.stdout)["differences"]}

    def write_both(self, a, b, embed=False):
        for name, hdus in (("a.fits", a), ("b.fits", b)):
            path = self.folder / name
            made = [fits.PrimaryHDU()]
            for extension, version, value in hdus:
                hdu = fits.ImageHDU(np.full(3, value, "i2"), name=extension or None, ver=version)
                hdu.header["VALUE"] = value
                made.append(hdu)
            fits.HDUList(made).writeto(path, overwrite=True)
            if embed:
                inner = self.folder / "inner.asdf"
                asdf.AsdfFile({"meta": 1}).write_to(inner)
                peer.trilith("convert", inner, self.folder / "out.fits", "--embed", path)
                (self.folder / "out.fits").replace(path)

    def test_missing_hdu_is_reported_and_others_are_paired(self):
        for embed in (False, True):
            with self.subTest(embed=embed):
                self.write_both([("SCI", 1, 1), ("ERR", 1, 2), ("DQ", 1, 3)], [("SCI", 1, 1), ("DQ", 1, 3)], embed)
                self.assertEqual(self.diff(), {("/fits/2", "removed")})
                self.write_both([("SCI", 1, 1), ("DQ", 1, 3)], [("NEW", 1, 9), ("SCI", 1, 1), ("DQ", 1, 3)], embed)
                self.assertEqual(self.diff(), {("/fits/1", "added")})

    def test_pairs_by_name_version_and_number(self):
        self.write_both([("SCI", 1, 1), ("SCI", 2, 2), ("", 1, 3)], [("", 1, 3), ("SCI", 2, 2), ("SCI", 1, 1)])
        self.assertEqual(self.diff(), set())
        self.write_both([("A", 1, 1), ("SCI", 1, 2)], [("SCI", 1, 4), ("A", 1, 1)])
        self.assertEqual(self.diff(), {("/fits/2@VALUE", "value"), ("/fits/2/data", "elements")})
        # Another name at the same place is a card that differs.
        self.write_both([("A", 1, 1)], [("B", 1, 1)])
        self.assertEqual(self.diff(), {("/fits/1@EXTNAME", "value")})

    def test_patterns_name_hdus(self):
        self.write_both([("SCI", 1, 1), ("ERR", 1, 2)], [("SCI", 1, 5), ("ERR", 1, 2), ("DQ", 1, 3)])
        self.assertEqual(self.diff("--ignore", "/fits/SCI@VALUE"), {("/fits/1/data", "elements"), ("/fits/3", "added")})
        self.assertEqual(self.diff("--ignore", "/fits/sci", "--ignore", "/fits/DQ"), set())
        found = peer.trilith("search", self.folder / "a.fits", "--path", "/fits/ERR,1@VALUE").decode()
        self.assertEqual(found.partition("#")[2].strip(), "/fits/2@VALUE: 2")


class NamesAndSizes(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def test_edit_beyond_size_limit_leaves_file(self):
        """The undo of an edit meets the same limit of the size of files, and has nothing to do beyond it."""
        path, new = self.folder / "x.asdf", self.folder / "n.npy"
        asdf.AsdfFile({"a": np.arange(100_000.0), "b": 1}).write_to(path)
        np.save(new, np.arange(100_000.0) + 1)
        before = path.read_bytes()
        for words in ("insert --in-place x.asdf#/z --from n.npy", "set --in-place x.asdf#/a --from n.npy", "set --in-place x.asdf#/a --replace --from n.npy"):
            line = f'ulimit -f 300; exec "$0" {words}'
            said = subprocess.run(["sh", "-c", line, peer.PROGRAM], capture_output=True, text=True, check=False, cwd=self.folder)
            self.assertEqual(said.returncode, 2, said.stderr)
            self.assertEqual(path.read_bytes(), before, words)
            self.assertEqual({name.name for name in self.folder.iterdir()}, {"x.asdf", "n.npy"}, words)
        peer.trilith("insert", f"{path}#/z", "--from", new)
        peer.trilith("verify", path)

    def test_raw_file_of_string_is_utf8(self):
        path = self.folder / "x.asdf"
        asdf.AsdfFile({"t": "Zürich 日本", "e": "", "n": 5}).write_to(path)
        for key, wanted in (("t", "Zürich 日本".encode()), ("e", b"")):
            for name in ("t.raw", "t.unknown"):
                peer.trilith("get", f"{path}#/{key}", "-o", self.folder / name)
                self.assertEqual((self.folder / name).read_bytes(), wanted)
        self.assertEqual(peer.trilith("get", f"{path}#/t", "--format", "raw"), "Zürich 日本".encode())


if __name__ == "__main__":
    unittest.main()
