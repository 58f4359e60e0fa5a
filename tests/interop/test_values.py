"""What files declare about their numbers, by every way of declaring it: the values that astropy, netCDF4 and tifffile give."""

import io
import itertools
import json
import unittest
import warnings

import asdf
import netCDF4
import numpy as np
import peer
import rasterio
import tifffile
from astropy.io import fits

warnings.simplefilter("ignore")


def card(keyword, value):
    return f"{keyword:<8}= {value:>20}".ljust(80).encode()


def written(hdus, cards=(), number=0):
    """The bytes of a file, with cards put into the header of an HDU that astropy would apply or refuse when it writes."""
    out = io.BytesIO()
    fits.HDUList(hdus).writeto(out, output_verify="ignore")
    content = out.getvalue()
    if not cards:
        return content
    starts = [info["hdrLoc"] for info in (hdu.fileinfo() for hdu in fits.open(io.BytesIO(content)))]
    end = content.index(b"END".ljust(80), starts[number])
    while end % 80:
        end = content.index(b"END".ljust(80), end + 1)
    text = b"".join(card(*one) for one in cards)
    # Blanks after END make room.
    return content[:end] + text + content[end:end + 80] + content[end + 80 + len(text):]


def images():
    """Each BITPIX with each way of declaring values."""
    ways = {
        "plain": [], "scale": [("BSCALE", 0.5)], "both": [("BSCALE", 0.1), ("BZERO", 10.0)], "zero": [("BZERO", -7)],
        "blank": [("BLANK", 3)], "all": [("BSCALE", 0.25), ("BZERO", 3.0), ("BLANK", 3)],
    }
    for code, zero in (("u1", -128), (">i2", 1 << 15), (">i4", 1 << 31), (">i8", 1 << 63), (">f4", None), (">f8", None)):
        data = np.arange(12).reshape(3, 4).astype(code)
        for name, cards in ways.items():
            yield f"{code} {name}", written([fits.PrimaryHDU(data)], cards)
        if zero is not None:
            yield f"{code} unsigned", written([fits.PrimaryHDU(data)], [("BZERO", zero)])


def columns():
    numbers = {"B": "u1", "I": ">i2", "J": ">i4", "K": ">i8", "E": ">f4", "D": ">f8"}
    for letter, code in numbers.items():
        yield fits.Column(letter, letter, array=np.arange(5).astype(code))
        yield fits.Column(letter + "3", f"3{letter}", array=np.arange(15).reshape(5, 3).astype(code))
    yield fits.Column("flag", "L", array=np.array([True, False, True, True, False]))
    yield fits.Column("bits", "11X", array=np.arange(55).reshape(5, 11) % 3 == 0)
    yield fits.Column("text", "7A", array=np.array(["", "a", "abcdefg", "b c", "x"]))
    yield fits.Column("u2", "I", bzero=1 << 15, array=np.arange(5, dtype="u2") + 40000)
    yield fits.Column("u8", "K", bzero=1 << 63, array=np.arange(5, dtype="u8") + 2**63)
    yield fits.Column("null", "J", null=-99, array=np.array([1, -99, 3, 4, 5]))


class Values(peer.CaseWithoutAstropy):
    def saved(self, path, pointer, *options):
        """Elements and mask, as the command gives them; missing numbers are null in JSON."""
        data = np.load(io.BytesIO(peer.trilith("get", f"{path}#{pointer}", "-o", "-", "--format", "npy", "--quiet", *options)))
        nested = json.loads(peer.trilith("get", f"{path}#{pointer}", "--json", *options))
        return data, nested

    def file(self, name, content):
        path = self.folder / name
        path.write_bytes(content)
        return path

    def places(self, content):
        """The file as it is, and as a `fits` list of an ASDF file."""
        path, copy = self.file("x.fits", content), self.folder / "x.asdf"
        peer.trilith("convert", path, copy, "--quiet")
        return path, copy

    def test_images(self):
        for name, content in images():
            want = fits.open(io.BytesIO(content))[0].data
            blank = "blank" in name or "all" in name
            for path in self.places(content):
                with self.subTest(name, path=path.name):
                    data, nested = self.saved(path, "/fits/0/data")
                    if name != ">i8 blank":
                        self.assertEqual(data.dtype.newbyteorder("="), want.dtype.newbyteorder("="))
                        np.testing.assert_array_equal(data, want)
                    flat = [value for row in nested for value in row]
                    self.assertEqual([at for at, value in enumerate(flat) if value is None], [3] if blank and "f" not in name else [])
                    found = peer.trilith_json("stats", f"{path}#/fits/0/data")["arrays"][0]
                    self.assertAlmostEqual(found["max"], float(np.nanmax(want)), places=5)
                    self.assertEqual(found["masked"], 1 if blank and "f" not in name else 0)

    def test_columns(self):
        cards = [("TSCAL1", 0.5), ("TZERO1", 3), ("TSCAL3", 2.5), ("TZERO11", 1.25), ("TNULL5", 2), ("TSCAL9", 4.0)]
        for extra in ((), cards):
            content = written([fits.PrimaryHDU(), fits.BinTableHDU.from_columns(list(columns()))], extra, 1)
            want = fits.open(io.BytesIO(content))[1].data
            for path in self.places(content):
                data, nested = self.saved(path, "/fits/1/data")
                for at, name in enumerate(want.names):
                    with self.subTest(name, path=path.name, scaled=bool(extra)):
                        theirs = np.asarray(want.field(name))
                        if theirs.dtype.kind == "U":
                            theirs = np.char.encode(theirs, "ascii")
                        np.testing.assert_array_equal(data[name].reshape(theirs.shape), theirs)
                        missing = [row for row, values in enumerate(nested) if values[at] is None]
                        self.assertEqual(missing, {"null": [1], "J": [2] if extra else []}.get(name, []))

    def test_logical_bytes_and_text_beyond_nul(self):
        content = written([fits.PrimaryHDU(), fits.BinTableHDU.from_columns([
            fits.Column("l", "L", array=np.array([True, False, True])), fits.Column("s", "9A", array=np.array(["abc"] * 3))])])
        at = content.index(b"Tabc")
        content = content[:at] + b"\0s0000\0\xff\xff " + content[at + 10:]
        for path in self.places(content):
            _, nested = self.saved(path, "/fits/1/data")
            self.assertEqual(nested, [[None, "s0000"], [False, "abc"], [True, "abc"]])

    def test_text_tables(self):
        text = [fits.Column("n", "I6", null="-1", array=np.arange(4) - 1), fits.Column("w", "I11", array=np.arange(4) * 10**9),
                fits.Column("x", "D15.7", array=np.linspace(0, 1e9, 4), ascii=True), fits.Column("s", "A5", array=np.array(["a", "bb", "ccc", ""]))]
        content = written([fits.PrimaryHDU(), fits.TableHDU.from_columns(text)])
        want = fits.open(io.BytesIO(content))[1].data
        for path in self.places(content):
            data, nested = self.saved(path, "/fits/1/data")
            for name in "nwx":
                self.assertEqual(data[name].dtype.newbyteorder("="), want[name].dtype.newbyteorder("="), name)
                np.testing.assert_array_equal(data[name][1:], want[name][1:])
            self.assertEqual([row[0] for row in nested], [None, 0, 1, 2])
            self.assertEqual([row[3] for row in nested], ["a", "bb", "ccc", ""])

    def test_random_groups(self):
        groups = fits.GroupData(np.arange(100.0).reshape(10, 1, 1, 2, 5), bitpix=-32, parnames=["abc", "xyz"],
                                pardata=[np.arange(10) + 0.1, 42])
        # astropy writes groups to files only.
        fits.GroupsHDU(groups).writeto(self.folder / "groups.fits")
        content = (self.folder / "groups.fits").read_bytes()
        want = fits.open(io.BytesIO(content))[0].data
        for path in self.places(content):
            data, _ = self.saved(path, "/fits/0/data")
            for name in ("abc", "xyz"):
                np.testing.assert_array_equal(data[name], want.par(name))
            np.testing.assert_array_equal(data["DATA"], want["DATA"])

    def test_compressed_images_are_images(self):
        data = (np.add.outer(np.arange(37) * 3, np.arange(53) ** 2 // 10)).astype("i4")
        for method in ("RICE_1", "GZIP_1", "GZIP_2", "HCOMPRESS_1"):
            for kind in ("i2", "i4", "f4"):
                content = written([fits.PrimaryHDU(), fits.CompImageHDU(data.astype(kind), compression_type=method, name="SCI")])
                want = fits.open(io.BytesIO(content))[1].data
                for path in self.places(content):
                    with self.subTest(method, kind=kind, path=path.name):
                        found, _ = self.saved(path, "/fits/1/data")
                        self.assertEqual(found.dtype.kind, want.dtype.kind)
                        np.testing.assert_array_equal(found, want)

    def test_columns_of_varying_length_are_lists(self):
        rows = np.empty(3, object)
        rows[:] = [np.arange(n, dtype="f4") for n in (0, 2, 3)]
        text = np.empty(3, object)
        text[:] = [np.array(list(word), "S1") for word in ("abc", "", "x")]
        content = written([fits.PrimaryHDU(), fits.BinTableHDU.from_columns([
            fits.Column("p", "PE()", array=rows), fits.Column("t", "PA()", array=text), fits.Column("id", "J", array=np.arange(3))])])
        path = self.file("x.fits", content)
        for at, row in enumerate(rows):
            self.assertEqual(json.loads(peer.trilith("get", f"{path}#/fits/1/data/p/{at}", "--json")), list(row))
        self.assertEqual(json.loads(peer.trilith("get", f"{path}#/fits/1/data/t/0", "--json")), "abc")
        # A column, or the table, shows the elements as those of other formats do.
        lists = {"p": [list(row) for row in rows], "t": ["abc", "", "x"], "id": [0, 1, 2]}
        for column, want in lists.items():
            self.assertEqual(json.loads(peer.trilith("get", f"{path}#/fits/1/data/{column}", "--json")), want)
        self.assertEqual(json.loads(peer.trilith("get", f"{path}#/fits/1/data", "--json")), lists)
        self.assertEqual(json.loads(peer.trilith("get", f"{path}#/fits/1/data/id", "--json")), [0, 1, 2])

    def test_empty_arrays_stay(self):
        empty = fits.BinTableHDU.from_columns([fits.Column("Foo", "I", bzero=1 << 15, array=np.zeros(0, "u2"))])
        content = written([fits.PrimaryHDU(), empty, fits.ImageHDU(np.zeros((3, 0), ">i2"))])
        path, copy = self.places(content)
        for file in (path, copy):
            digests = peer.trilith_json("digest", file)["arrays"]
            self.assertEqual(digests["/fits/1/data"]["datatype"], [{"name": "Foo", "datatype": "uint16"}])
            self.assertEqual((digests["/fits/1/data"]["shape"], digests["/fits/2/data"]["shape"]), ([0], [3, 0]))
        peer.trilith("convert", copy, self.folder / "back.fits", "--quiet")
        self.assertEqual((self.folder / "back.fits").read_bytes(), content)

    def test_stored_elements(self):
        path = self.file("x.fits", dict(images())[">i2 all"])
        data, nested = self.saved(path, "/fits/0/data", "--stored")
        np.testing.assert_array_equal(data, np.arange(12).reshape(3, 4))
        self.assertEqual(nested, np.arange(12).reshape(3, 4).tolist())

    def test_physical_arrays_are_what_astropy_reads(self):
        content = written([fits.PrimaryHDU(np.arange(4, dtype=">i2")), fits.ImageHDU(np.arange(6, dtype=">i2"), name="SCI"),
                           fits.BinTableHDU.from_columns(list(columns()), name="ROWS")], [("BSCALE", 0.5), ("BLANK", 2)], 1)
        path, out = self.file("x.fits", content), self.folder / "p.asdf"
        said = peer.trilith("convert", path, self.folder / "kept.asdf", "--json")
        self.assertTrue(any("/fits/1/data" in note for note in json.loads(said)["notes"]))
        peer.trilith("convert", path, out, "--physical", "--quiet")
        with asdf.open(out) as opened, fits.open(io.BytesIO(content)) as want:
            np.testing.assert_array_equal(np.ma.filled(np.ma.masked_array(opened["SCI"]["data"]), np.nan), want["SCI"].data)
            np.testing.assert_array_equal(opened["PRIMARY"]["data"], want[0].data)
            self.assertIn(["EXTNAME", "SCI", "extension name"], opened["SCI"]["header"])
            np.testing.assert_array_equal(opened["ROWS"]["u8"], want["ROWS"].data["u8"])
            self.assertEqual(np.ma.getmaskarray(np.ma.masked_array(opened["ROWS"]["null"])).tolist(), [False, True, False, False, False])

    def test_a_tree_as_fits(self):
        """Half floats, masked elements and scalars are what astropy reads; nothing of the tree is lost on the way back."""
        mask = np.array([False, True, False, False, True])
        numbers = {code: np.ma.masked_array((np.arange(5) * 20).astype(code), mask) for code in
                   ("u1", "i1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", ">i2", ">f8")}
        numbers["full"] = np.ma.masked_array(np.arange(256).astype("u1"), np.arange(256) > 300)
        numbers["taken"] = np.ma.masked_array(np.array([-32768, 32767, 5], "i2"), [False, False, True])
        tree = {"exptime": 12.5, "object": "M31", "good": True, "dark": None, "meta": {"telescop": "HST", "optical_element": "F1"},
                "list": [1, 2], "nan": float("nan"), "data": np.ma.masked_array(np.arange(6, dtype="i2").reshape(2, 3), np.arange(6).reshape(2, 3) == 4),
                "half": np.arange(4, dtype="f2"), "flags": np.array([[True, False], [False, False]]), "z": np.arange(3) * (1 + 2j),
                "greek": np.array(["\u03b1", "b"]), "text": np.array(["abc", "d"]), **{f"m_{code}": array for code, array in numbers.items()}}
        source, out, back = (self.folder / name for name in ("t.asdf", "t.fits", "back.asdf"))
        asdf.AsdfFile(tree).write_to(source)
        said = json.loads(peer.trilith("convert", source, out, "--json"))["notes"]
        for path in ("/half", "/data", "/m_u2"):
            self.assertEqual(len([note for note in said if note.startswith(f"{path}:")]), 1, path)
        self.assertTrue(any("/greek" in note and "/list" in note and "/nan" in note for note in said), said)
        with fits.open(out) as opened:
            opened.verify("exception")
            header = opened[0].header
            found = [header[key] for key in ("EXPTIME", "OBJECT", "GOOD", "TELESCOP", "META OPTICAL_ELEMENT")]
            self.assertEqual(found, [12.5, "M31", True, "HST", "F1"])
            np.testing.assert_array_equal(opened[0].data, [[0, 1, 2], [3, np.nan, 5]])
            self.assertEqual(opened["HALF"].data.dtype, ">f4")
            np.testing.assert_array_equal(opened["HALF"].data, tree["half"])
            np.testing.assert_array_equal(opened["FLAGS"].data["data"], tree["flags"])
            np.testing.assert_array_equal(opened["Z"].data["data"], tree["z"])
            self.assertEqual(opened["TEXT"].data["data"].tolist(), ["abc", "d"])
            for code, array in numbers.items():
                with self.subTest(code):
                    data = opened[f"M_{code}".upper()].data
                    np.testing.assert_array_equal(data, np.ma.filled(array.astype("f8"), np.nan))
        peer.trilith("convert", out, back, "--quiet")
        self.assertEqual(peer.trilith_json("digest", back)["arrays"], peer.trilith_json("digest", source)["arrays"])
        with asdf.open(source) as first, asdf.open(back) as second:
            for name in ("exptime", "object", "meta", "list"):
                self.assertEqual(first[name], second[name])

    def test_other_formats_as_fits(self):
        path, out = self.folder / "p.nc", self.folder / "p.fits"
        with netCDF4.Dataset(path, "w") as made:
            made.createDimension("x", 4)
            packed = made.createVariable("t", "i2", ("x",), fill_value=-999)
            packed.scale_factor, packed.add_offset, packed.units = 0.5, 10.0, "K"
            packed[:] = np.ma.masked_array([10, 11, 12, 13.0], [False, False, True, False])
            made.createVariable("h", "f4", ("x",))[:] = np.arange(4)
        kept = json.loads(peer.trilith("convert", path, self.folder / "p.asdf", "--json"))
        self.assertTrue(any("/t" in note and "--physical" in note for note in kept["notes"]), kept)
        self.assertFalse(any("/h" in note for note in kept["notes"]), kept)
        peer.trilith("convert", path, self.folder / "p.bd", "--quiet")
        peer.trilith("convert", path, self.folder / "v.asdf", "--physical", "--quiet")
        with asdf.open(self.folder / "v.asdf") as opened:
            np.testing.assert_array_equal(np.ma.filled(opened["t"], np.nan), [10, 11, np.nan, 13])
        for given in (path, self.folder / "v.asdf"):
            peer.trilith("convert", given, out, "--quiet")
            with fits.open(out) as opened:
                np.testing.assert_array_equal(opened["T"].data, [10, 11, np.nan, 13])
                self.assertEqual(opened["T"].header["BUNIT"], "K")
                np.testing.assert_array_equal(opened["H"].data, np.arange(4))
        peer.trilith("convert", self.folder / "v.asdf", self.folder / "w.fits", "--quiet")
        np.save(self.folder / "n.npy", np.arange(6, dtype="f4").reshape(2, 3))
        tifffile.imwrite(self.folder / "n.tif", np.arange(6, dtype="u2").reshape(2, 3))
        stream = self.folder / "n.bd"
        peer.trilith("convert", self.folder / "n.npy", stream, "--quiet")
        for given, name in ((self.folder / "n.npy", 0), (self.folder / "n.tif", "IMAGE"), (stream, 0)):
            peer.trilith("convert", given, out, "--quiet")
            with fits.open(out) as opened:
                np.testing.assert_array_equal(opened[name].data, np.arange(6).reshape(2, 3))

    def test_digests_of_missing_elements_are_zero(self):
        path = self.file("x.fits", dict(images())[">i2 all"])
        want = fits.open(path)[0].data
        found = peer.trilith_json("digest", path)["arrays"]["/fits/0/data"]
        self.assertEqual(found["sha256"], peer.sha256(np.nan_to_num(want, nan=0)))
        self.assertEqual(found["mask_sha256"], peer.sha256(np.isnan(want).astype("u1")))

    def test_an_hdu_by_its_name(self):
        content = written([fits.PrimaryHDU(), *(fits.ImageHDU(np.full(2, n, "i2"), name="SCI", ver=n) for n in (1, 2))])
        path = self.file("x.fits", content)
        for name, number in (("SCI", 1), ("SCI,2", 2), ("2", 2)):
            self.assertEqual(json.loads(peer.trilith("get", f"{path}#/fits/{name}/data", "--json")), [number, number])

    def test_hdus_are_listed_as_fitsinfo_does(self):
        tiles = fits.CompImageHDU(np.zeros((7, 9), "i2"), name="TILES")
        content = written([fits.PrimaryHDU(np.zeros((2, 3), "f4")), tiles,
                           fits.BinTableHDU.from_columns([fits.Column("x", "J", array=np.arange(3))], name="ROWS")])
        path = self.file("x.fits", content)
        found = peer.trilith_json("info", path)["hdu_list"]
        with fits.open(path) as opened:
            for ours, theirs in zip(found, opened.info(output=False), strict=True):
                number, name, version, kind, _, shape, *_ = theirs
                self.assertEqual((ours["number"], ours["name"] or "PRIMARY", ours["version"] or 1), (number, name, version))
                if "Image" in kind or kind == "PrimaryHDU":
                    self.assertEqual((tuple(ours["axes"]), int(ours["bitpix"])), (shape, opened[number].header["BITPIX"]))
                    self.assertNotEqual(ours["kind"], "BINTABLE")
                self.assertEqual(ours["compression"], "RICE_1" if kind == "CompImageHDU" else None)

    def test_verify_reports_illegal_cards(self):
        whole = written([fits.PrimaryHDU(np.arange(4, dtype="i2"))])
        end = whole.index(b"END".ljust(80))
        for card in (b"lower   = 1", b"QUOTED  = unquotedliteral", b"VALUE   = nan", b"LINES   = 'a\nb'", b"LATIN   = 'a\xf1b'",
                     b"BAD KEY = 1", b"OPEN    = 'abc"):
            path = self.file("x.fits", whole[:end] + card.ljust(80) + b"END".ljust(80) + whole[end + 160:])
            with self.subTest(card):
                said = peer.trilith("verify", path, status=1).decode()
                self.assertIn("HDU 0, card 5", said)
                # That does not keep the elements from being read.
                self.assertEqual(json.loads(peer.trilith("get", f"{path}#/fits/0/data", "--json")), [0, 1, 2, 3])
        for card in (b"NUMBER  = 1.5D3 / it's", b"TEXT    = 'it''s' / o'clock", b"HIERARCH ESO X = 'y'", b"EMPTY   ="):
            path = self.file("x.fits", whole[:end] + card.ljust(80) + b"END".ljust(80) + whole[end + 160:])
            with self.subTest(card):
                peer.trilith("verify", path)

    def test_netcdf(self):
        """As netCDF4 with auto_maskandscale."""
        ways = {
            "plain": {}, "scale": {"scale_factor": 0.5}, "offset": {"add_offset": 10.0},
            "both": {"scale_factor": np.float32(0.25), "add_offset": np.float32(3)},
            "fill": {"_FillValue": 3}, "missing": {"missing_value": 4}, "two": {"missing_value": [1, 2]},
            "range": {"valid_range": [2, 9]}, "min": {"valid_min": 5}, "max": {"valid_max": 6},
            "all": {"scale_factor": 0.1, "add_offset": -1.0, "_FillValue": 3, "valid_min": 1},
            "unsigned": {"_Unsigned": "true"}, "unsigned scaled": {"_Unsigned": "true", "scale_factor": 0.5, "_FillValue": -1},
        }
        for form in ("NETCDF4", "NETCDF3_CLASSIC"):
            path = self.folder / f"{form}.nc"
            with netCDF4.Dataset(path, "w", format=form) as made:
                made.createDimension("x", 12)
                for code in ("i1", "i2", "i4", "f4", "f8"):
                    for name, said in ways.items():
                        if code[0] == "f" and "unsigned" in name:
                            continue
                        said = {key: np.array(value, code) if key not in ("scale_factor", "add_offset", "_Unsigned") else value
                                for key, value in said.items()}
                        fill = said.pop("_FillValue", None)
                        variable = made.createVariable(f"{code}_{name.replace(' ', '_')}", code, ("x",), fill_value=fill)
                        variable.set_auto_maskandscale(False)
                        variable.setncatts(said)
                        values = np.arange(12)
                        values[11] = -1
                        variable[:] = values.astype(code)
            with netCDF4.Dataset(path) as opened:
                for name, variable in opened.variables.items():
                    with self.subTest(name, form=form):
                        want = variable[:]
                        data, nested = self.saved(path, f"/{name}")
                        mask = np.array([value is None for value in nested])
                        self.assertEqual(mask.tolist(), np.ma.getmaskarray(want).tolist())
                        self.assertEqual(data.dtype.newbyteorder("="), want.dtype.newbyteorder("="))
                        np.testing.assert_array_equal(data[~mask], np.ma.getdata(want)[~mask])

    def test_types_of_factors(self):
        """The type of elements and factors, as netCDF4 has it, for each type of both."""
        codes = "i1 i2 i4 i8 u1 u2 u4 u8 f4 f8".split()
        ways = {
            "scale": (2, None), "offset": (None, 3), "both": (2, 3), "neutral": (1, 0), "one": (1, None), "zero": (None, 0),
        }
        for form in ("NETCDF4", "NETCDF3_64BIT_DATA"):
            path = self.folder / f"{form}.nc"
            with netCDF4.Dataset(path, "w", format=form) as made:
                made.createDimension("x", 4)
                for code, kind in itertools.product(codes, codes):
                    pairs = {}
                    for way, both in ways.items():
                        named = zip(("scale_factor", "add_offset"), both, strict=True)
                        pairs[way] = {key: np.array(value, kind)[()] for key, value in named if value is not None}
                    for other in ("i2", "u1", "f4", "f8"):
                        pairs[f"with_{other}"] = {"scale_factor": np.array(2, kind)[()], "add_offset": np.array(3, other)[()]}
                    for way, said in pairs.items():
                        variable = made.createVariable(f"{code}_{kind}_{way}", code, ("x",))
                        variable.set_auto_maskandscale(False)
                        variable.setncatts(said)
                        variable[:] = np.array([0, 1, 7, 50], code)
            found = peer.trilith_json("digest", path)
            self.assertEqual(found["errors"], {})
            count = 0
            with netCDF4.Dataset(path) as opened:
                for name, variable in opened.variables.items():
                    want = np.ma.getdata(variable[:])
                    stored, kind, way = name.split("_", 2)
                    if way == "neutral" and not (np.dtype(kind).kind == "f" or np.result_type(stored, kind) == kind):
                        # That type does not have all stored numbers, and netCDF4 changes those.
                        want = want.astype(stored)
                    with self.subTest(name, form=form):
                        one = found["arrays"][f"/{name}"]
                        self.assertEqual((one["datatype"], one["sha256"]), (want.dtype.name, peer.sha256(want)))
                        count += 1
            self.assertEqual(count, 1000)

    def test_factors_that_are_too_large_for_their_type(self):
        """netCDF4 lets such numbers wrap around."""
        path = self.folder / "x.nc"
        with netCDF4.Dataset(path, "w") as made:
            made.createDimension("x", 2)
            variable = made.createVariable("a", "i1", ("x",))
            variable.set_auto_maskandscale(False)
            variable.scale_factor = np.int8(2)
            variable[:] = [1, 100]
        self.assertEqual(peer.trilith_json("get", f"{path}#/a", "--stored"), [1, 100])
        with self.assertRaisesRegex(AssertionError, "100 . 2 . 0 is beyond int8.*--stored"):
            peer.trilith("get", f"{path}#/a")

    def test_tiff_nodata(self):
        path = self.folder / "n.tif"
        tifffile.imwrite(path, np.arange(12, dtype="i2").reshape(3, 4), extratags=[(42113, "s", 0, "5", True)])
        _, nested = self.saved(path, "/image")
        self.assertEqual(nested, [[0, 1, 2, 3], [4, None, 6, 7], [8, 9, 10, 11]])

    def test_scale_and_offset_of_gdal(self):
        """What rasterio says of the bands, applied after the stored number is compared with that of no data."""
        random = np.random.default_rng(3)
        affine = dict(crs="EPSG:32632", transform=rasterio.transform.from_origin(5e5, 6e6, 10, 10))
        one, many = ((0.001,) * 3, (2.0,) * 3), ((0.5, 1.0, 0.001), (0.0, -3.0, 5.0))
        for kind, (scales, offsets), how, nodata in itertools.product(
            ("u1", "i2", "u4", "f4", "f8"), (one, many), ("pixel", "band", "tiles"), (None, 5)
        ):
            path = self.folder / "g.tif"
            data = random.integers(0, 9, (3, 40, 33)).astype(kind)
            form = dict(tiled=True, blockxsize=16, blockysize=16, compress="deflate") if how == "tiles" else dict(interleave=how)
            size = dict(count=3, height=40, width=33, dtype=np.dtype(kind).name, nodata=nodata)
            with rasterio.open(path, "w", driver="GTiff", **size, **form, **affine) as file:
                file.write(data)
                file.scales, file.offsets = scales, offsets
                if how == "tiles":
                    file.build_overviews([2])
            with rasterio.open(path) as file:
                factors = [np.array(each).reshape(3, 1, 1) for each in (file.scales, file.offsets)]
                wanted = file.read(masked=True).astype("f8") * factors[0] + factors[1]
            name = "/image" if how != "tiles" else "/page0"
            with self.subTest(kind, scales=scales, how=how, nodata=nodata):
                found = np.ma.masked_invalid(np.array(peer.trilith_json("get", f"{path}#{name}"), dtype="f8"))
                found = found if how == "band" else np.moveaxis(found, -1, 0)
                np.testing.assert_allclose(found.filled(np.nan), wanted.filled(np.nan), rtol=1e-12)
                part = peer.trilith_json("get", f"{path}#{name}", "--slice", "1:3,2:9:3,:2")
                rows = wanted if how == "band" else np.moveaxis(wanted, 0, -1)
                np.testing.assert_allclose(np.array(part, dtype="f8"), rows[1:3, 2:9:3, :2].filled(np.nan), rtol=1e-12)
                stored = np.array(peer.trilith_json("get", f"{path}#{name}", "--stored"))
                np.testing.assert_array_equal(stored if how == "band" else np.moveaxis(stored, -1, 0), data)
                peer.trilith("convert", "--physical", path, self.folder / "g.asdf", "--overwrite")
                with asdf.open(self.folder / "g.asdf") as file:
                    made = np.ma.getdata(file[name[1:]][...]) if nodata is None else np.ma.filled(file[name[1:]][...], np.nan)
                np.testing.assert_allclose(made, rows.filled(np.nan), rtol=1e-12)
                notes = peer.trilith_json("convert", path, self.folder / "s.asdf", "--overwrite")["notes"]
                self.assertIn(name, notes[0])
                peer.trilith("verify", "--deep", path)
                if how == "tiles":
                    with rasterio.open(path, overview_level=0) as file:
                        smaller = file.read(masked=True).astype("f8") * factors[0] + factors[1]
                    found = np.array(peer.trilith_json("get", f"{path}#/page1"), dtype="f8")
                    np.testing.assert_allclose(np.moveaxis(found, -1, 0), smaller.filled(np.nan), rtol=1e-12)

    def test_mask_pages_of_gdal(self):
        """A mask page is the mask of its image in every command, in place of the number of no data, as GDAL has it."""
        random = np.random.default_rng(4)
        affine = dict(crs="EPSG:32632", transform=rasterio.transform.from_origin(5e5, 6e6, 10, 10))
        for count, how, nodata, is_scaled in itertools.product((1, 3), ("pixel", "band"), (None, 5), (False, True)):
            path, made = self.folder / "m.tif", self.folder / "m.asdf"
            size = dict(count=count, height=40, width=33, dtype="int16", nodata=nodata, interleave=how)
            with rasterio.Env(GDAL_TIFF_INTERNAL_MASK=True), rasterio.open(path, "w", driver="GTiff", **size, **affine) as file:
                file.write(random.integers(0, 9, (count, 40, 33)).astype("i2"))
                file.write_mask(random.random((40, 33)) < 0.7)
                if is_scaled:
                    file.scales, file.offsets = (0.5,) * count, (2,) * count
            with rasterio.open(path) as file:
                stored = file.read(masked=True)
            if count == 1:
                stored = stored[0]
            elif how == "pixel":
                stored = np.moveaxis(stored, 0, -1)
            wanted = stored * 0.5 + 2 if is_scaled else stored
            with self.subTest(count=count, how=how, nodata=nodata, is_scaled=is_scaled):
                self.assertEqual(list(peer.trilith_json("tree", path)), ["image"])
                self.assertEqual(peer.trilith_json("get", f"{path}#/image"), wanted.tolist())
                self.assertEqual(peer.trilith_json("get", f"{path}#/image", "--stored"), stored.data.tolist())
                part = peer.trilith_json("get", f"{path}#/image", "--slice", "1,3:20:2")
                self.assertEqual(part, wanted[1, 3:20:2].tolist())
                (said,) = peer.trilith_json("stats", f"{path}#/image")["arrays"]
                self.assertEqual((said["masked"], said["min"], said["max"]), (np.ma.count_masked(wanted), wanted.min(), wanted.max()))
                peer.trilith("verify", "--deep", path)
                # The mask goes into ASDF with stored and with physical values.
                for options, expected in (([], stored), (["--physical"], wanted)):
                    peer.trilith("convert", path, made, *options, "--overwrite")
                    self.assertEqual(peer.trilith_json("get", f"{made}#/image"), expected.tolist())
                    with asdf.open(made) as file:
                        np.testing.assert_array_equal(np.ma.getmaskarray(file["image"][...]), expected.mask)
                peer.trilith("diff", path, made)
                peer.trilith("convert", path, self.folder / "m.fits", "--overwrite", "--allow-loss")
                self.assertEqual(peer.trilith_json("get", f"{self.folder / 'm.fits'}#/image"), wanted.tolist())
                with self.assertRaisesRegex(AssertionError, "a mask page"):
                    peer.trilith("manifest", path, "-o", self.folder / "m.json")

    def test_mask_pages_of_several_images(self):
        """Each image has the mask of its size, and one that fits no image stays a page."""
        images = [np.arange(12, dtype="u1").reshape(3, 4) + number for number in range(2)]
        masks = [np.where(image % 3 == 0, 0, 255).astype("u1") for image in images]
        path = self.folder / "p.tif"
        with tifffile.TiffWriter(path) as file:
            for image, mask in zip(images, masks, strict=True):
                file.write(image, metadata=None)
                file.write(mask, subfiletype=1, metadata=None, compression="zlib")
            file.write(np.ones((5, 5), "u1"), subfiletype=1, metadata=None)
        with tifffile.TiffFile(path, mode="r+b") as file:
            for page in (file.pages[1], file.pages[3], file.pages[4]):
                page.tags["NewSubfileType"].overwrite(4)
        self.assertEqual(list(peer.trilith_json("tree", path)), ["page0", "page2", "page4"])
        for name, image, mask in zip(("page0", "page2"), images, masks, strict=True):
            wanted = np.ma.array(image, mask=mask == 0).tolist()
            self.assertEqual(peer.trilith_json("get", f"{path}#/{name}"), wanted)
        # A mask that cannot be read makes its image unreadable, and no other.
        with tifffile.TiffFile(path, mode="r+b") as file:
            file.pages[1].tags["Compression"].overwrite(34925)
        with self.assertRaisesRegex(AssertionError, "tiff:lzma"):
            peer.trilith("get", f"{path}#/page0")
        self.assertEqual(peer.trilith_json("get", f"{path}#/page0", "--stored"), images[0].tolist())
        self.assertEqual(peer.trilith_json("get", f"{path}#/page2"), np.ma.array(images[1], mask=masks[1] == 0).tolist())

    def test_scales_that_cannot_be_applied_are_refused_by_name(self):
        item = '<GDALMetadata><Item name="SCALE" sample="0" role="scale">{}</Item></GDALMetadata>'
        for kind, scale in (("f2", "0.5"), ("c8", "0.5"), ("i2", "ten"), ("i2", "inf")):
            path = self.folder / "r.tif"
            tifffile.imwrite(path, np.ones((2, 3), kind), extratags=[(42112, "s", 0, item.format(scale), True)], metadata=None)
            with self.subTest(kind, scale=scale):
                self.assertEqual(len(peer.trilith_json("get", f"{path}#/image", "--stored")), 2)
                with self.assertRaisesRegex(AssertionError, "scale and offset.*--stored"):
                    peer.trilith("get", f"{path}#/image")

    def test_durations_that_are_missing(self):
        nat = np.timedelta64("NaT")
        plain = np.array([[1, "NaT", 3], [4, 5, "NaT"]], "m8[s]")
        struct = np.zeros(2, [("n", "i4"), ("t", "m8[ms]"), ("u", [("k", "i2"), ("t", "m8[D]", (2,))], (2,))])
        struct["t"][0] = struct["u"]["t"][1, 0, 1] = nat
        struct["n"] = [7, 8]
        makers = {
            "plain": plain, "big": plain.astype(">m8[s]"), "columns": np.asfortranarray(plain), "months": plain.astype("i8").view("m8[M]"),
            "none": np.arange(3).astype("m8[s]"), "struct": struct,
        }  # fmt: skip
        for name, data in makers.items():
            paths = [self.folder / f"t.{suffix}" for suffix in ("npy", "npz", "zip.npz")]
            np.save(paths[0], data)
            np.savez(paths[1], data=data)
            np.savez_compressed(paths[2], data=data)
            wanted = [[7, None, [[0, [0, 0]], [0, [0, 0]]]], [8, 0, [[0, [0, None]], [0, [0, 0]]]]]
            if name == "none":
                wanted = [0, 1, 2]
            elif name != "struct":
                wanted = [[1, None, 3], [4, 5, None]]
            for path in paths:
                with self.subTest(name, path=path.name):
                    self.assertEqual(peer.trilith_json("get", f"{path}#/data"), wanted)
                    peer.trilith("verify", "--deep", path)
                    if name != "struct":
                        (said,) = peer.trilith_json("stats", f"{path}#/data")["arrays"]
                        self.assertEqual((said["min"], said["max"]), (0, 2) if name == "none" else (1, 5))
                        peer.trilith("convert", path, self.folder / "t.asdf", "--overwrite")
                        self.assertEqual(peer.trilith_json("get", f"{self.folder / 't.asdf'}#/data"), wanted)
                        if path != paths[2]:
                            # What Zarr knows as the fill value is missing for xarray.
                            peer.trilith("manifest", path, "-o", self.folder / "t.json", "--overwrite")
                            said = json.loads((self.folder / "t.json").read_text())["refs"]["data/.zarray"]
                            self.assertEqual(json.loads(said)["fill_value"], -(2**63))
                    if name != "none":
                        notes = peer.trilith_json("convert", path, self.folder / "t.bd", "--overwrite")["notes"]
                        self.assertIn("the stored values of /data are kept", notes[0])


if __name__ == "__main__":
    unittest.main()
