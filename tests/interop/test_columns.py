"""Columns of tables as items in every format, the rows of `table FILE#/path`, and compressed FITS tables.

Tier: rest. The peers are astropy, h5py, netCDF4, numpy and asdf; fpack of CFITSIO wrote `PACKED`.
"""

import base64
import csv
import gzip
import json
import pathlib
import struct
import tempfile
import unittest

import asdf
import astropy.units as u
import h5py
import netCDF4
import numpy as np
import peer
from astropy.io import fits
from astropy.table import MaskedColumn, QTable

# A table of 90 rows, compressed by fpack 1.7.0 with CFITSIO 4.2.0: GZIP_1, GZIP_2 and RICE_1.
PACKED = """
H4sIAAAAAAACA+2ZfWwTZRzHn73IhoBTJ5Ihpk+A2Y2wtL2uL2MB6brbuK3tCr3qqMbt2t7WzrXdri3axBcMkMnLCCoMIVHmdIbXaNApC9kMLJF/3LIQZ/bi
UFERgSmvI2BgXu+OdSVXxuzFP/S+6aX3vNznvr8+T5/fkzsLZjQbUAiXQh7hUAYdPm+Vj/L4YcAHizDcAv0BwuskKCfkVQGGm7HyGDwtzSMoighBJxEgYCBU
R8JJZNKVYxYYgyened6gx05S0Fd1h+z2kF6/2+f18/LQchw1FcaMd8rSr0D1pRarcSmUokpCV4w8o0MRG3NI6WYZXFFohQ4X6XjRH/TAYB0dOOmEiBxR5ygU
OYgWR5AlKs0SlZzjFepwHY2j/UkjYUZOZewvF/S6A/dHZYIVJUqUKFGiRIkSJZjC20kLVmai92sFmAnXFRhQ6YRmGbS7vQQVggHCXktC8uUAuzmNyftX98/I
1PfPDE/By1Mowrxa0lsdcIV54ySomMQfEsOfIgYPic0z68usJpyXp1Gpo+KtpnzBOlhHUISHDJAUf7zFsXmsv7t4/knGAy/CUEOhhZ+nieKxU6bKTdY6Y1Nx
fLUZZcZDWstVSeOZz3hR2Sojy1OsLMhC1Nlx8sL+mPGVugXzh4z7y82N15/VhOEszy+Iv3C8SoZXI1i8yvF4FXnK7Ph4JqvBoOSfzzmafxhvLuOPFCzeXIHH
l+WVhIQaXxXDcwgWr2o8XpVSiP+bmuGtEcyfOjL/tPHOv7A/DcMjBPOniaxXijj9oeW4SWdEwzycx59sQgr30nljUp6N2RLc4/lawOX2Q/pDQIfPU0eRfj/p
5JZ+fh5mQA2oiY+XF/08jPK9RJO9kCQcLhhw8wNtXELn4SFK1dTzuY1L6DH9TTGf27iEfh/P/+4rn9si+c0gxPyzRfIRJhiPXe9LBOOx6x8qGI9dr/SC8dj1
BSkViseuB4hcroufp6cXLHa+FNswc4Xi7vXgzr82PI+J2mof5Q64PLDKR9EttUGPl4+HRHiIEDx2vqzC9Kgw/nIF9qcSmKcWmKcRbnwnvA+wFTvLnYX2Z230
YaePeN8HKOjkiyBquVZ8HyBKlChRokT9vwVYzQXRWnxX/THuuyi6PSGFK6u4spIrf8mVXVy5j/1KlEg2pzJnyUkz6v0zPpiVCNYv+GyRja6JtPx1+dZve8a2
LL7wfMXe7ouVeWbHJVK/dVpfBhhMOH77c7rP2NjYjVdAKngYQLAcrE2gq576kDlJBMl0PUhQzWVO2A5g+t7eOz0T6b7GIuYk6cdwFQDpK5vB+MUA7G7kKOGL
QfK3rnvdJuMiD5i9GCTW5EY8Rt1mQrBDX0lSR0eGUlr2lmoWarPk81yVzcu65ckJQFYiy3MlTOzrqKys/DTlp2mpI+DXfJAB6xumpc5ybt2ftKGhy3Vk5pmr
iaBzWUZjb9QNRk7+jhwnwIZLkuGx4HrzwvyBlsNkxeGGC0dTr50wvhuq/uZGXef7oZ51WUeS29szaxrtTx/scuuoh3rOnN1zRfLq6Hm/pWtnmeTcqY59oWun
B94pTvtjuD348+CO0jn7e97Ls9af7n9LnzI6kj3U5hhqMj7x3aHVbS3OgbfRGWdmz/6le9cOpWNwO5Z++OvGDJW9f5su6SZ5FTvftyBz33M7TdOfHGzb+HrS
cDc41/xAlO3+N6avXT4z+dj2j75oun1M3SRfA6/Mc17flf5Dp/Q1x2j+Zckp64Mnj5bUb+nYFOo/8NibHSX1/QceP3Gwo2QjXWzoqKGLuxt6tj1an/ax9oJ1
s37OodDZkexHrldu6nqhTfv9OlXarUWZLRWt4caupeVXej9ZNf+mVZhGqrXi1prWxX+ai4AoUaJEiRIl6j+mvwHmP53mAC0AAA==
"""

RECORDS = np.array([(1, 2.5, b"x", [1, 2]), (3, 4.5, b"yy", [3, 4])], [("n", "i4"), ("x", "f8"), ("s", "S3"), ("v", "i2", 2)])


def write_formats(folder):
    """Writes a table in each format, and returns the name of each file, the path of its table, and the units of its columns."""
    columns = [
        fits.Column("n", "J", array=RECORDS["n"], unit="s", null=3),
        fits.Column("x", "D", array=RECORDS["x"], unit="Jy"),
        fits.Column("s", "3A", array=RECORDS["s"]),
        fits.Column("v", "2I", array=RECORDS["v"]),
    ]
    ragged = fits.Column("p", "PE()", unit="W", array=np.array([np.arange(2.0), np.arange(1.0)], object))
    fits.BinTableHDU.from_columns(columns, name="CAT").writeto(folder / "plain.fits")
    fits.BinTableHDU.from_columns([*columns, ragged], name="CAT").writeto(folder / "ragged.fits")
    text = [fits.Column("n", "I4", array=RECORDS["n"], unit="s"), fits.Column("x", "F8.3", array=RECORDS["x"], unit="Jy")]
    fits.TableHDU.from_columns(text, name="CAT").writeto(folder / "text.fits")
    with h5py.File(folder / "x.h5", "w") as f:
        f["run/t"] = RECORDS
        f["run/t"].attrs["units"] = "m"
        f["run/chunked"] = f.create_dataset("c", data=RECORDS, chunks=(1,), compression="gzip")
    with netCDF4.Dataset(folder / "x.nc", "w") as f:
        f.createDimension("rows", 2)
        kind = f.createCompoundType(np.dtype([("n", "i4"), ("x", "f8")]), "kind")
        f.createVariable("t", kind, ("rows",))[:] = RECORDS[["n", "x"]].astype([("n", "i4"), ("x", "f8")])
    np.save(folder / "x.npy", RECORDS)
    table = QTable({"x": RECORDS["x"] * u.Jy, "s": ["x", "yy"]})
    table["n"] = MaskedColumn([1, 3], mask=[False, True], unit="s")
    asdf.AsdfFile({"t": table, "r": RECORDS}).write_to(folder / "x.asdf")
    peer.trilith("convert", folder / "x.npy", folder / "x.bd")
    both = {"n": "s", "x": "Jy"}
    return [
        ("plain.fits", "/fits/CAT/data", both),
        ("plain.fits", "/fits/1/data", both),
        ("ragged.fits", "/fits/CAT/data", both),
        ("text.fits", "/fits/1/data", both),
        ("x.h5", "/run/t", {}),
        ("x.h5", "/run/chunked", {}),
        ("x.nc", "/t", {}),
        ("x.npy", "/data", {}),
        ("x.asdf", "/t", both),
        ("x.asdf", "/r", {}),
        ("x.bd", "/data", {}),
    ]


class Columns(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def test_every_format_has_columns_as_items(self):
        for name, path, units in write_formats(self.folder):
            with self.subTest(name=name, path=path):
                file = self.folder / name
                masked = name in ("plain.fits", "ragged.fits") or path == "/t" and name == "x.asdf"
                numbers = peer.trilith("get", f"{file}#{path}/n", "--format", "json")
                self.assertEqual(json.loads(numbers), [1, None if masked else 3])
                self.assertEqual(peer.trilith("get", f"{file}#{path}/x").split(), [b"2.5", b"4.5"])
                self.assertEqual(peer.trilith("get", f"{file}#{path}/x", "--slice", "1:").split(), [b"4.5"])
                self.assertEqual(peer.trilith("get", f"{file}#{path}/n.x", status=1), b"")
                (statistics,) = peer.trilith_json("stats", f"{file}#{path}/x")["arrays"]
                self.assertEqual((statistics["min"], statistics["max"]), (2.5, 4.5))
                (digest,) = peer.trilith_json("digest", f"{file}#{path}/x")["arrays"].values()
                self.assertEqual(digest["sha256"], peer.sha256(RECORDS["x"]))
                places = [f"m={path}/x@mean", f"u={path}/x@unit", f"k={path}/n@unit"]
                cells = peer.trilith("table", file, *(f"-c{place}" for place in places), "--format", "csv").decode()
                row = next(csv.DictReader(cells.splitlines()))
                self.assertEqual((row["m"], row["u"], row["k"]), ("3.5", units.get("x", ""), units.get("n", "")))
                described = peer.trilith_json("info", f"{file}#{path}/x")
                self.assertEqual((described["shape"], described["nbytes"], described.get("unit")), ([2], 16, units.get("x")))
                peer.trilith("diff", f"{file}#{path}/x", f"{self.folder / 'plain.fits'}#/fits/1/data/x")
                peer.trilith("diff", f"{file}#{path}/n", f"{self.folder / 'plain.fits'}#/fits/1/data/x", status=1)

    def test_table_prints_rows_of_every_format(self):
        for name, path, units in write_formats(self.folder):
            with self.subTest(name=name, path=path):
                item = f"{self.folder / name}#{path}"
                rows = [json.loads(line) for line in peer.trilith("table", item, "--json").splitlines()]
                self.assertEqual([row["x"] for row in rows], [2.5, 4.5])
                picked = peer.trilith("table", item, "-c", "x", "--where", "x > 3", "--json").splitlines()
                self.assertEqual([json.loads(line) for line in picked], [{"x": 4.5}])
                head = peer.trilith("table", item, "-c", "x", "-n", "1").decode().splitlines()
                self.assertEqual([line.strip() for line in head], [f"x [{units['x']}]" if units else "x", "2.5"])
                out = self.folder / "rows.csv"
                peer.trilith("table", item, "-c", "x", "--rows", "1:", "-o", out)
                self.assertEqual(out.read_text(), "x\n4.5\n")
                peer.trilith("table", item, "-c", "y", status=2)
                out.unlink()

    def test_cells_of_several_values_are_lists(self):
        write_formats(self.folder)
        line = peer.trilith("table", f"{self.folder / 'ragged.fits'}#/fits/1/data", "--json", "--rows", "0")
        self.assertEqual(json.loads(line), {"n": 1, "x": 2.5, "s": "x", "v": [1, 2], "p": [0.0, 1.0]})
        unit = peer.trilith("table", self.folder / "ragged.fits", "-cu=/fits/1/data/p@unit", "--format", "csv")
        self.assertEqual(unit.split(b",")[-1].strip(), b"W")

    def test_key_goes_before_column(self):
        table = {"columns": [{"name": "meta", "data": [1, 2]}, {"name": "a", "data": [3, 4]}], "meta": {"k": 5}}
        text = f"#ASDF 1.0.0\n%YAML 1.1\n--- {{t: !<tag:stsci.edu:asdf/core/table-1.0.0> {json.dumps(table)}}}\n...\n"
        file = self.folder / "t.asdf"
        file.write_text(text)
        self.assertEqual(peer.trilith("get", f"{file}#/t/meta/k"), b"5\n")
        self.assertEqual(json.loads(peer.trilith("get", f"{file}#/t/a", "--format", "json")), [3, 4])

    def test_images_and_quantities_have_units(self):
        hdu = fits.ImageHDU(np.ones((2, 3), "f4"), name="SCI")
        hdu.header["BUNIT"] = "MJy/sr"
        fits.HDUList([fits.PrimaryHDU(), hdu]).writeto(self.folder / "i.fits")
        asdf.AsdfFile({"q": [1.0, 2.0] * u.m, "s": 3 * u.s}).write_to(self.folder / "q.asdf")
        for name, path, unit in (("i.fits", "/fits/SCI/data", "MJy/sr"), ("q.asdf", "/q", "m"), ("q.asdf", "/q/value", "m"), ("q.asdf", "/s", "s")):
            cells = peer.trilith("table", self.folder / name, f"-cu={path}@unit", "--format", "csv").decode().splitlines()
            self.assertEqual(cells[1].split(",")[1], unit, path)


def rice(values, size):
    """The Rice code of integers without compression of the differences: each block states that they are stored whole."""
    bits = {1: (3, 7), 2: (4, 15), 4: (5, 26)}[size]
    out, last = f"{values[0] & (1 << 8 * size) - 1:0{8 * size}b}", values[0]
    for start in range(0, len(values), 32):
        out += f"{bits[1]:0{bits[0]}b}"
        for value in values[start : start + 32]:
            step = (value - last + (1 << 8 * size - 1)) % (1 << 8 * size) - (1 << 8 * size - 1)
            out += f"{step << 1 if step >= 0 else ~(step << 1):0{8 * size}b}"[-8 * size :]
            last = value
    out += "0" * (-len(out) % 8)
    return bytes(int(out[at : at + 8], 2) for at in range(0, len(out), 8))


def shuffled(values):
    return gzip.compress(values.view("u1").reshape(len(values), -1).T.tobytes())


def compressed_table(columns, tile, count, **cards):
    """A FITS file with a compressed table, as FITS 4.0 section 10.3 has it: (name, ZFORM, ZCTYP, the bytes of each tile)."""
    heap, rows = b"", b""
    for at in range(-(-count // tile)):
        for *_, tiles in columns:
            rows += struct.pack(">qq", len(tiles[at]), len(heap))
            heap += tiles[at]
    width, tiles = 16 * len(columns), -(-count // tile)
    found = [("XTENSION", "BINTABLE"), ("BITPIX", 8), ("NAXIS", 2), ("NAXIS1", width), ("NAXIS2", tiles), ("PCOUNT", len(heap))]
    found += [("GCOUNT", 1), ("TFIELDS", len(columns)), ("ZTABLE", True), ("ZTILELEN", tile), ("ZNAXIS2", count), *cards.items()]
    for at, (name, form, method, _) in enumerate(columns, 1):
        found += [(f"TTYPE{at}", name), (f"TFORM{at}", "1QB"), (f"ZFORM{at}", form), (f"ZCTYP{at}", method)]
    primary = [("SIMPLE", True), ("BITPIX", 8), ("NAXIS", 0), ("EXTEND", True)]
    parts = ["".join(str(fits.Card(*card)) for card in cards) + "END" for cards in (primary, found)]
    head = b"".join(part.encode().ljust(-(-len(part) // 2880) * 2880) for part in parts)
    data = rows + heap
    return head + data.ljust(-(-len(data) // 2880) * 2880, b"\0")


class CompressedTables(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = pathlib.Path(folder.name) / "z.fits"

    def rows(self, path="/fits/1/data", *options):
        lines = peer.trilith("table", f"{self.file}#{path}", "--json", *options).splitlines()
        return [json.loads(line) for line in lines]

    def test_table_of_fpack_is_decoded(self):
        self.file.write_bytes(gzip.decompress(base64.b64decode(PACKED)))
        rows = self.rows()
        self.assertEqual(len(rows), 90)
        for k, row in enumerate(rows):
            integers = {"l": k % 3 == 0, "i": k % 9 * 700 - 3000, "j": None if k < 7 else k // 7 * 100003 - 7, "a": f"s{k % 3}"}
            self.assertEqual(row, {**integers, "e": k % 8 / 8 - 1, "c": f"{k % 5}+0.5j", "v": [k % 4 << 40, -k]})
        self.assertIn(b"checksums", peer.trilith("verify", "--deep", self.file))
        self.assertIn(b"7 columns, GZIP_1, GZIP_2, RICE_1  235 x 90", peer.trilith("info", self.file))
        for options in (["--physical"], []):
            out = self.file.with_name("o.asdf")
            peer.trilith("convert", self.file, out, *options)
            path = "/T/e" if options else "/fits/1/data/e"
            values = json.loads(peer.trilith("get", f"{out}#{path}", "--format", "json"))
            self.assertEqual(values, [k % 8 / 8 - 1 for k in range(90)])

    def test_tiles_of_every_method_are_decoded(self):
        data = {
            "B": (np.arange(70) * 3).astype(">u1"),
            "I": (np.arange(70) * -400).astype(">i2"),
            "J": (np.arange(70) * 30_000_001).astype(">i4"),
            "K": (np.arange(70) << 50).astype(">i8"),
            "E": (np.arange(70) / 3).astype(">f4"),
            "D": (np.arange(70) / 7).astype(">f8"),
        }
        columns = []
        for form, values in data.items():
            tiles = [values[at : at + 32] for at in (0, 32, 64)]
            columns.append((f"{form}g1", form, "GZIP_1", [gzip.compress(tile.tobytes()) for tile in tiles]))
            columns.append((f"{form}g2", form, "GZIP_2", [shuffled(np.ascontiguousarray(tile)) for tile in tiles]))
            columns.append((f"{form}no", form, "NOCOMPRESS", [tile.tobytes() for tile in tiles]))
            if form in "BIJ":
                size = values.dtype.itemsize
                columns.append((f"{form}r1", form, "RICE_1", [rice([int(value) for value in tile], size) for tile in tiles]))
        width = sum(data[form].dtype.itemsize for _, form, *_ in columns)
        self.file.write_bytes(compressed_table(columns, 32, 70, ZNAXIS1=width))
        for name, form, *_ in columns:
            values = json.loads(peer.trilith("get", f"{self.file}#/fits/1/data/{name}", "--format", "json"))
            np.testing.assert_array_equal(np.array(values).astype(data[form].dtype), data[form], name)
        part = peer.trilith("get", f"{self.file}#/fits/1/data/Jr1", "--slice", "31:66:17", "--format", "json")
        self.assertEqual(json.loads(part), data["J"][31:66:17].tolist())

    def test_other_compression_is_refused_by_name(self):
        packed = [gzip.compress(b"\0" * 8)]
        for form, method, word in (("1PJ(3)", "GZIP_1", b"variable length"), ("1D", "RICE_1", b"RICE_1"), ("1J", "BZIP2", b"BZIP2")):
            self.file.write_bytes(compressed_table([("a", form, method, packed)], 1, 1, ZNAXIS1=8))
            for command in (["get", f"{self.file}#/fits/1/data"], ["convert", self.file, self.file.with_name("o.asdf"), "--physical"]):
                ended = peer.subprocess.run([peer.PROGRAM, *map(str, command)], capture_output=True, check=False)
                self.assertEqual(ended.returncode, 2, (form, command))
                self.assertIn(word, ended.stderr)
                self.assertIn(b"funpack", ended.stderr)

    def test_damaged_tiles_are_malformed(self):
        good = gzip.compress(np.arange(8, dtype=">i4").tobytes())
        for tiles in ([good[:-12]], [good[:4]], [b""], [gzip.compress(b"\0" * 31)], [gzip.compress(b"\0" * 33)]):
            self.file.write_bytes(compressed_table([("a", "J", "GZIP_1", tiles)], 8, 8, ZNAXIS1=4))
            peer.trilith("get", f"{self.file}#/fits/1/data/a", status=1 if tiles == [] else 2)


class HduData(unittest.TestCase):
    """An HDU stands for its data where an array or a table is asked for, as `hdul["SCI"].data` does."""

    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.file = self.folder / "x.fits"
        image = fits.ImageHDU(np.arange(12, dtype="i2").reshape(3, 4), name="SCI")
        image.header["BUNIT"] = "ct/s"
        packed = fits.CompImageHDU(np.arange(20, dtype="f4").reshape(4, 5), name="ZIP")
        table = fits.BinTableHDU(RECORDS, name="CAT")
        fits.HDUList([fits.PrimaryHDU(), image, packed, table]).writeto(self.file)

    def test_computed_values(self):
        with fits.open(self.file) as hdus:
            for name in ("SCI", "ZIP"):
                data = hdus[name].data
                for word, value in (("shape", list(data.shape)), ("ndim", data.ndim), ("size", data.size), ("max", data.max())):
                    self.assertEqual(json.loads(peer.trilith("get", f"{self.file}#/fits/{name}@{word}")), value, (name, word))
        self.assertEqual(peer.trilith("get", f"{self.file}#/fits/SCI@unit"), b"ct/s\n")
        run = peer.subprocess.run([peer.PROGRAM, "get", f"{self.file}#/fits/0@shape"], capture_output=True, check=False)
        self.assertEqual((run.returncode, run.stdout), (0, b"\n"))
        self.assertIn(b"has no shape", run.stderr)

    def test_slices_rows_and_columns(self):
        with fits.open(self.file) as hdus:
            part = json.loads(peer.trilith("get", f"{self.file}#/fits/SCI", "-s", "1:3,::2", "--format", "json"))
            self.assertEqual(part, hdus["SCI"].data[1:3, ::2].tolist())
            column = json.loads(peer.trilith("get", f"{self.file}#/fits/CAT/x", "--format", "json"))
            self.assertEqual(column, hdus["CAT"].data["x"].tolist())
        rows = peer.trilith("table", f"{self.file}#/fits/CAT", "--json")
        self.assertEqual(rows, peer.trilith("table", f"{self.file}#/fits/CAT/data", "--json"))
        self.assertEqual([json.loads(row)["n"] for row in rows.splitlines()], [1, 3])


if __name__ == "__main__":
    unittest.main()
