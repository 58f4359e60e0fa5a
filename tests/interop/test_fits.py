"""FITS files of astropy through Trilith and back: the same bytes, and the same values in between."""

import gzip
import io
import pathlib
import subprocess
import tempfile
import unittest
import warnings

import asdf
import h5py
import numpy as np
import peer
from astropy.io import fits

warnings.simplefilter("ignore")

BITPIX = ("u1", ">i2", ">i4", ">i8", ">f4", ">f8")


def headers():
    """Cards that are hard to keep: long text, HIERARCH, odd numbers, odd spacing, commentary, blanks."""
    header = fits.Header()
    header["OBJECT"] = ("O'Neill's star", "a name with quotes")
    header["LONGTEXT"] = ("x & y " * 40, "text over several CONTINUE cards")
    header["LONGNOTE"] = (7, "a comment that is far too long for the eighty characters of its card " * 2)
    header["HIERARCH ESO INS MODE NAME"] = ("deep", "of ESO")
    header["HIERARCH lower case key"] = 3.5
    header["HIERARCH ESO TEL AIRM START"] = 1.0234567890123
    header["LOGICAL"] = (True, "")
    header["NOTHING"] = (None, "undefined")
    header["EMPTY"] = ("", "no text")
    header["BLANKS"] = ("   lead", "blanks in front count")
    header["LARGE"] = (2**63 + 1, "more than 63 bits")
    header["SMALL"] = 1e-300
    header["COMPLEX"] = (1.5 - 2j, "both halves")
    header["PERCENT"] = ("50 % / half", "a slash in the text")
    header["DATE-OBS"] = "2015-01-01T00:00:00.000"
    header["NO"] = ("yes", "YAML would read truth values")
    header.add_comment("a comment " * 20)
    header.add_history("what was done " * 12)
    header.add_blank()
    header.append(fits.Card.fromstring("ODD     =   1.50D+03/close to the number"))
    header.append(fits.Card.fromstring("FREE    = 'short'/at once"))
    header.append(fits.Card.fromstring("HEXLIKE =                 0001 / zeros in front"))
    header.append(fits.Card.fromstring("NOVALUE   no equals sign here"))
    return header


def image(code, shape=(3, 4, 5), seed=3):
    random = np.random.default_rng(seed)
    if np.dtype(code).kind == "f":
        data = random.normal(0, 100, shape).astype(code)
        data.flat[:4] = np.nan, np.inf, -np.inf, -0.0
        return data
    bounds = np.iinfo(np.dtype(code))
    return random.integers(bounds.min, bounds.max, shape, dtype=np.dtype(code).newbyteorder("="), endpoint=True).astype(code)


def images():
    """Every BITPIX, in primary and extension, with and without scale and blank."""
    yield "headers", fits.HDUList([fits.PrimaryHDU(header=headers()), fits.ImageHDU(image(">i2"), headers(), name="SCI")])
    for code in BITPIX:
        yield code, fits.HDUList([fits.PrimaryHDU(image(code)), fits.ImageHDU(image(code, (7,)), name="ONE")])
    for code in ("i1", "u2", "u4", "u8"):
        yield code, fits.HDUList([fits.PrimaryHDU(image(code))])
    scaled = fits.PrimaryHDU(image(">i2"))
    scaled.header["BSCALE"], scaled.header["BZERO"], scaled.header["BLANK"] = 0.25, -7.5, -32768
    yield "scaled", fits.HDUList([scaled])
    scaled = fits.ImageHDU(image(">f8"))
    scaled.header["BSCALE"], scaled.header["BZERO"] = 3.0, 1e6
    yield "scaled floats", fits.HDUList([fits.PrimaryHDU(), scaled])
    yield "none", fits.HDUList([fits.PrimaryHDU()])
    hdus = [fits.PrimaryHDU(), *(fits.ImageHDU(image(">i2", (2, 2), n), name="SCI", ver=n) for n in (1, 2, 3))]
    yield "versions", fits.HDUList(hdus)


def columns():
    """Columns of every TFORM but those in the heap."""
    random = np.random.default_rng(4)
    rows = 5
    numbers = {"B": "u1", "I": ">i2", "J": ">i4", "K": ">i8", "E": ">f4", "D": ">f8", "C": ">c8", "M": ">c16"}
    for letter, code in numbers.items():
        data = random.integers(0, 100, (rows, 3)).astype(code)
        yield fits.Column(letter.lower(), letter, array=data[:, 0], unit="m")
        yield fits.Column(f"{letter.lower()}3", f"3{letter}", array=data)
    yield fits.Column("flag", "L", array=np.array([True, False, True, True, False]))
    yield fits.Column("flags", "4L", array=random.integers(0, 2, (rows, 4)).astype(bool))
    yield fits.Column("bits", "11X", array=random.integers(0, 2, (rows, 11)).astype(bool))
    yield fits.Column("text", "7A", array=np.array(["", "a", "abcdefg", "b c", "x  "]))
    yield fits.Column("texts", "12A", dim="(4,3)", array=np.full((rows, 3), "abc"))
    yield fits.Column("square", "6E", dim="(3,2)", array=random.normal(size=(rows, 2, 3)).astype(">f4"))
    yield fits.Column("nothing", "0D", array=np.zeros((rows, 0)))
    yield fits.Column("u2", "I", bzero=32768, array=np.arange(rows, dtype="u2") + 40000)
    yield fits.Column("u4", "J", bzero=2**31, array=np.arange(rows, dtype="u4") + 2**31)
    yield fits.Column("u8", "K", bzero=2**63, array=np.arange(rows, dtype="u8") + 2**63)
    yield fits.Column("i1", "B", bzero=-128, array=np.arange(rows, dtype="i1") - 3)
    yield fits.Column("null", "J", null=-99, disp="I8", array=np.array([1, -99, 3, 4, 5]))


WORDS = ("", "a", "word", "two", "x y")


def ragged(rows=5):
    """Columns in the heap: P and Q, of every letter that they can have."""
    letters = {"B": "u1", "I": ">i2", "J": ">i4", "K": ">i8", "E": ">f4", "D": ">f8", "C": ">c8", "M": ">c16"}
    for code, dtype in letters.items():
        data = np.empty(rows, object)
        for n in range(rows):
            data[n] = (np.arange(n % 4) + n).astype(dtype)
        yield fits.Column(f"p{code.lower()}", f"P{code}()", array=data)
        yield fits.Column(f"q{code.lower()}", f"Q{code}()", array=data)
    text = np.empty(rows, object)
    text[:] = [np.array(list(word), "S1") for word in WORDS]
    yield fits.Column("pa", "PA()", array=text)
    flags = np.empty(rows, object)
    flags[:] = [np.array([n % 2 == 0] * n) for n in range(rows)]
    yield fits.Column("pl", "PL()", array=flags)


def scaled_table():
    """A column with TSCAL and TZERO, which astropy computes with when it writes: the cards are put in after."""
    content = written(fits.HDUList([fits.PrimaryHDU(), fits.BinTableHDU.from_columns([
        fits.Column("raw", "I", unit="adu", null=-1, array=np.array([1, -1, 300]))])]))
    for old, new in ((b"TUNIT1  = 'adu     '", b"TSCAL1  =                  0.5"), (b"TNULL1  =", b"TZERO1  =")):
        content = content.replace(old.ljust(30), new.ljust(30)) if old[5:6] == b"1" else content.replace(old, new)
    return content


def tables():
    yield "columns", fits.HDUList([fits.PrimaryHDU(), fits.BinTableHDU.from_columns(list(columns()), name="ROWS")])
    plain = [fits.Column("id", "J", array=np.arange(5)), *ragged()]
    yield "heap", fits.HDUList([fits.PrimaryHDU(), fits.BinTableHDU.from_columns(plain, name="RAGGED")])
    empty = fits.BinTableHDU.from_columns([fits.Column("a", "J", array=np.zeros(0, "i4"))])
    yield "no rows", fits.HDUList([fits.PrimaryHDU(), empty])
    text = [fits.Column("n", "I6", array=np.arange(4)), fits.Column("x", "E15.7", array=np.linspace(0, 1, 4), ascii=True),
            fits.Column("s", "A5", array=np.array(["a", "bb", "ccc", ""]))]
    yield "text", fits.HDUList([fits.PrimaryHDU(), fits.TableHDU.from_columns(text)])


def written(hdus):
    out = io.BytesIO()
    hdus.writeto(out, output_verify="ignore")
    return out.getvalue()


def compressed():
    """Images in tiles, by every method, whole numbers and floats, with tiles cut at the edges."""
    random = np.random.default_rng(8)
    smooth = (np.add.outer(np.arange(37) * 3, np.arange(53) ** 2 // 10) + random.integers(0, 9, (37, 53))).astype(">i4")
    mask = np.zeros((37, 53), ">i2")
    mask[3:9, 10:30], mask[20], mask[:, 7] = 5, 1, 4095
    mask[30, 40:] = np.arange(13) * 300
    for method in ("RICE_1", "GZIP_1", "GZIP_2", "HCOMPRESS_1", "NOCOMPRESS"):
        for code in (">i2", ">i4"):
            yield f"{method} {code}", fits.CompImageHDU(smooth.astype(code), compression_type=method, tile_shape=(16, 20))
        yield f"{method} whole", fits.CompImageHDU(smooth, compression_type=method, tile_shape=(37, 53))
        yield f"{method} negative", fits.CompImageHDU(-smooth, compression_type=method, tile_shape=(10, 53))
        if method != "NOCOMPRESS":
            floats = (smooth / 7).astype(">f4")
            yield f"{method} floats", fits.CompImageHDU(floats, compression_type=method, tile_shape=(16, 20), quantize_level=4)
    yield "HCOMPRESS_1 lossy", fits.CompImageHDU(smooth, compression_type="HCOMPRESS_1", tile_shape=(37, 53), hcomp_scale=3)
    yield "HCOMPRESS_1 noise", fits.CompImageHDU(random.integers(-30000, 30000, (37, 53)).astype(">i4"),
                                                 compression_type="HCOMPRESS_1", tile_shape=(37, 53))
    yield "PLIO_1", fits.CompImageHDU(mask, compression_type="PLIO_1", tile_shape=(8, 53))
    yield "PLIO_1 long", fits.CompImageHDU(np.tile(mask, (4, 40)), compression_type="PLIO_1")


def around(content, form, tree):
    """The FITS file with an ASDF file in it, in one of the three forms that were written."""
    hdus = fits.open(io.BytesIO(content))
    data = np.frombuffer(tree, "u1")
    if form == "BINTABLE":
        cell = fits.Column("ASDF_METADATA", f"{len(data)}B", array=data[None])
        hdus.append(fits.BinTableHDU.from_columns([cell], name="ASDF"))
        return written(hdus)
    hdus.append(fits.ImageHDU(data, name="ASDF"))
    content = written(hdus)
    if form == "XTENSION":
        at = content.rindex(b"XTENSION= 'IMAGE   '")
        content = content[:at] + b"XTENSION= 'ASDF    '" + content[at + 20:]
    return content


class Fits(peer.CaseWithoutAstropy):
    def there_and_back(self, name, content):
        """x.fits -> x.asdf -> y.fits has the bytes of x.fits; gives the ASDF file."""
        source, middle, back = (self.folder / f"x{n}" for n in (".fits", ".asdf", "-back.fits"))
        source.write_bytes(content)
        peer.trilith("convert", source, middle, "--quiet")
        peer.trilith("convert", middle, back, "--quiet")
        if back.read_bytes() != content:
            ours, theirs = back.read_bytes(), content
            at = next((n for n, (a, b) in enumerate(zip(ours, theirs)) if a != b), min(len(ours), len(theirs)))
            card = at // 80 * 80
            self.fail(f"{name}: byte {at} of {len(theirs)} ({len(ours)} came back): "
                      f"{theirs[card:card + 80]!r} became {ours[card:card + 80]!r}")
        return middle

    def test_images_come_back_byte_for_byte(self):
        for name, hdus in images():
            with self.subTest(name):
                content = written(hdus)
                middle = self.there_and_back(name, content)
                with asdf.open(middle, validate_checksums=True) as opened:
                    opened.validate()
                with fits.open(io.BytesIO(content), do_not_scale_image_data=True, uint=False) as expected:
                    self.assertEqual(len(peer.trilith_json("tree", middle)["fits"]), len(expected))

    def test_tables_come_back_byte_for_byte(self):
        for name, hdus in tables():
            with self.subTest(name):
                self.there_and_back(name, written(hdus))

    def test_tables_of_which_numbers_are_scaled_come_back(self):
        self.there_and_back("scaled", scaled_table())

    def array_of(self, path, pointer):
        """An array of a file, as the command saves it."""
        return np.load(io.BytesIO(peer.trilith("get", f"{path}#{pointer}", "-o", "-", "--format", "npy")))

    def test_columns_of_varying_length_can_be_read(self):
        content = written(dict(tables())["heap"])
        middle = self.there_and_back("heap", content)
        with fits.open(io.BytesIO(content)) as expected, asdf.open(middle, lazy_load=False) as opened:
            rows = expected["RAGGED"].data
            for name, cells in opened["fits_heap"]["1"].items():
                for row, cell in enumerate(cells):
                    want = rows[name][row]
                    if name == "pa":
                        self.assertEqual(b"".join(item or b" " for item in cell.ravel()).decode(), WORDS[row])
                    elif name == "pl":
                        self.assertEqual([item == b"T" for item in cell], list(want))
                    else:
                        self.assertEqual(cell.dtype.newbyteorder("="), want.dtype.newbyteorder("="))
                        self.assertTrue(np.array_equal(cell, want), (name, row))
            self.assertEqual(len(opened["fits_heap"]["1"]), 18)

    def test_images_are_those_of_astropy(self):
        """As they are meant; unsigned numbers as such."""
        for name, hdus in images():
            with self.subTest(name):
                path = self.folder / "x.fits"
                path.write_bytes(written(hdus))
                with fits.open(path) as opened:
                    for number, hdu in enumerate(opened):
                        if hdu.data is None:
                            continue
                        got = self.array_of(path, f"/fits/{number}/data")
                        self.assertEqual(got.dtype.newbyteorder("="), hdu.data.dtype.newbyteorder("="))
                        self.assertTrue(np.array_equal(got, hdu.data, equal_nan=got.dtype.kind == "f"))

    TREE = b"#ASDF 1.0.0\n#ASDF_STANDARD 1.5.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n--- !core/asdf-1.1.0\n"

    def test_sources_in_all_three_forms_give_what_astropy_gives(self):
        """Scaled and unsigned images, tables, and the tiles of every method, as they are meant."""
        hdus = [fits.PrimaryHDU()]
        for name, list_of in (*images(), *tables()):
            if name in ("headers", "none", "text", "no rows", "versions"):
                continue
            hdus += [fits.ImageHDU(h.data, h.header, name=f"A{len(hdus)}") if isinstance(h, fits.PrimaryHDU) else h
                     for h in list_of if h.data is not None]
        hdus += [hdu for _, hdu in compressed()]
        for number, hdu in enumerate(hdus[1:]):
            hdu.name = f"H{number}"
        content = written(fits.HDUList(hdus))
        entries, expected = [], {}
        with fits.open(io.BytesIO(content)) as opened:
            for number, hdu in enumerate(opened[1:]):
                # What the tree says of type and shape is what the HDU has; numbers stand for unnamed HDUs.
                source = f"fits:H{number},1" if number % 2 else f"fits:{number + 1}"
                entries.append(f"a{number}: !core/ndarray-1.0.0 {{source: '{source}', datatype: uint8, byteorder: big, shape: []}}")
                expected[f"/a{number}"] = hdu.data
            tree = self.TREE + "\n".join(entries).encode() + b"\n...\n"
            for form in ("BINTABLE", "IMAGE", "XTENSION"):
                path = self.folder / f"{form}.fits"
                path.write_bytes(around(content, form, tree))
                taken = self.folder / f"{form}.asdf"
                peer.trilith("convert", path, taken, "--quiet", "--allow-loss")
                peer.trilith("convert", path, self.folder / "old.asdf", "--to", "asdf-1.2", "--quiet", "--allow-loss")
                for pointer, want in expected.items():
                    for file in (path, taken, self.folder / "old.asdf") if form == "BINTABLE" else (path,):
                        with self.subTest(form=form, pointer=pointer, file=file.name):
                            self.compare(self.array_of(file, pointer), want)

    def compare(self, got, want):
        if got.dtype.names:
            for name in got.dtype.names:
                field = want.field(name)
                if field.dtype.kind == "O":
                    continue
                if field.dtype.kind == "U":
                    field = np.char.encode(np.asarray(field), "ascii")
                    self.assertTrue(np.array_equal(np.char.rstrip(got[name]), np.char.rstrip(field)), name)
                else:
                    self.assertTrue(np.array_equal(got[name].reshape(field.shape), field), name)
            return
        self.assertEqual(got.shape, want.shape)
        self.assertEqual(got.dtype.kind, want.dtype.kind)
        self.assertTrue(np.array_equal(got, want, equal_nan=got.dtype.kind == "f"))

    def test_what_is_embedded_is_found_by_astropy_and_python(self):
        """convert --embed: every HDU keeps its bytes, and the ASDF file in the last one is whole."""
        base, source, out = (self.folder / name for name in ("base.fits", "x.asdf", "out.fits"))
        sci, table = image(">i2", (4, 5)), np.zeros(3, [("a", ">i4"), ("b", ">f8")])
        table["a"] = 1, 2, 3
        content = written(fits.HDUList([fits.PrimaryHDU(header=headers()), fits.ImageHDU(sci, name="SCI"),
                                        fits.ImageHDU(sci + 1, name="SCI", ver=2), fits.BinTableHDU(table, name="CAT")]))
        base.write_bytes(content)
        other = np.arange(7.0)
        asdf.AsdfFile({"second": sci + 1, "first": sci, "cat": table, "other": other, "n": 5}).write_to(source)
        peer.trilith("convert", source, out, "--embed", base, "--quiet")
        self.assertEqual(out.read_bytes()[:len(content)], content)
        with fits.open(out) as opened:
            opened.verify("exception")
            self.assertEqual(opened[-1].name, "ASDF")
            inner = opened["ASDF"].data[0][0].tobytes()
        with asdf.open(io.BytesIO(inner), _force_raw_types=True) as opened:
            self.assertEqual(opened["first"]["source"], "fits:SCI,1")
            self.assertEqual(opened["second"]["source"], "fits:SCI,2")
            self.assertEqual(opened["cat"]["source"], "fits:CAT,1")
            self.assertEqual(opened["n"], 5)
        for pointer, want in (("/first", sci), ("/second", sci + 1), ("/cat", table), ("/other", other)):
            self.assertTrue(np.array_equal(self.array_of(out, pointer), want), pointer)
        # Once more over it: the ASDF file is replaced.
        peer.trilith("convert", source, self.folder / "twice.fits", "--embed", out, "--quiet")
        self.assertEqual((self.folder / "twice.fits").read_bytes(), out.read_bytes())

    def test_arrays_of_asdf_become_hdus_that_astropy_reads(self):
        source, out = self.folder / "x.asdf", self.folder / "x.fits"
        tree = {"data": image(">f4"), "dq": image("u2"), "cat": np.zeros(3, [("a", "<i4"), ("b", "<f8", (2,))])}
        asdf.AsdfFile(tree).write_to(source)
        peer.trilith("convert", source, out, "--quiet")
        with fits.open(out) as opened:
            opened.verify("exception")
            self.assertTrue(np.array_equal(opened[0].data, tree["data"], equal_nan=True))
            self.assertTrue(np.array_equal(opened["DQ"].data, tree["dq"]))
            self.assertTrue(np.array_equal(opened["CAT"].data["b"], tree["cat"]["b"]))

    def judged(self, path):
        """A FITS file that astropy finds nothing wrong with, its checksums included; gives its HDUs."""
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            content = path.read_bytes()
            content = gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content
            opened = fits.open(io.BytesIO(content), checksum=True, lazy_load_hdus=False)
            opened.verify("exception")
            return opened

    def edited(self):
        """A FITS file with every kind of card and with checksums."""
        primary = fits.PrimaryHDU(image(">i2"), header=headers())
        for keyword in ("ODD", "FREE", "HEXLIKE", "NOVALUE"):
            del primary.header[keyword]
        rows = [fits.Column("id", "J", array=np.arange(5)), *ragged()]
        hdus = fits.HDUList([primary, fits.ImageHDU(image(">f4"), name="SCI"), fits.BinTableHDU.from_columns(rows, name="RAGGED")])
        path = self.folder / "edited.fits"
        hdus.writeto(path, checksum=True)
        self.judged(path)
        return path

    def test_cards_are_changed_in_place(self):
        """The bytes are those of a file that is written whole, and only the header is written. Rest."""
        edits = [("set", "EXPTIME", "99.5"), ("set", "OBJECT", "'M 31'"), ("insert", "ADDED", "[1, 'with a comment']"), ("rm", "ADDED", None),
                 ("set", "TEXT", "'" + "long " * 30 + "'")]  # fmt: skip
        for sums in (False, True):
            image = fits.ImageHDU(np.arange(20000, dtype="i2"), name="SCI")
            image.header["EXPTIME"], image.header["OBJECT"] = (12.5, "[s] exposure"), "a star"
            path, other = self.folder / f"in-place-{sums}.fits", self.folder / f"whole-{sums}.fits"
            fits.HDUList([fits.PrimaryHDU(), image]).writeto(path, checksum=sums)
            other.write_bytes(path.read_bytes())
            for command, keyword, value in edits:
                words = [] if value is None else [value]
                node = path.stat().st_ino
                ended = subprocess.run([peer.PROGRAM, command, f"{path}#/fits/1/header/{keyword}", *words, "--in-place", "-v"], capture_output=True, check=True)
                self.assertIn(b" in place", ended.stderr)
                self.assertEqual(path.stat().st_ino, node)
                peer.trilith(command, f"{other}#/fits/1/header/{keyword}", *words)
                self.assertEqual(path.read_bytes(), other.read_bytes(), (command, keyword))
                self.judged(path)
            for number in range(60):
                peer.trilith("insert", f"{path}#/fits/1/header/K{number}", "1", "--in-place")
            # It has one more block of cards now.
            self.assertEqual(self.judged(path)[1].header["K59"], 1)
            self.assertIn(path.stat().st_size - other.stat().st_size, (2880, 5760))
            damaged = bytearray(path.read_bytes())
            damaged[-2000] ^= 1
            path.write_bytes(damaged)
            ended = subprocess.run([peer.PROGRAM, "set", f"{path}#/fits/1/header/EXPTIME", "1", "--in-place"], capture_output=True, check=False)
            self.assertEqual(ended.returncode == 0, not sums, ended.stderr)

    def test_edited_cards_are_what_astropy_reads(self):
        path = self.edited()
        values = {"OBJECT": "M 31", "EXPTIME": 12.5, "COUNT": -7, "SMALL": 1e-300, "HUGE": 1.7976931348623157e308,
                  "THIRD": 1 / 3, "FLAG": False, "QUOTE": "it's 'quoted'", "AMPER": "ends in &", "TEXT": "word & 'x' " * 30,
                  "ESO INS MODE NAME": "shallow", "NEW LONG KEYWORD": 4, "EMPTY": "x", "NOTHING": 3, "DATE-OBS": "2016-01-01T00:00:00"}
        before = self.judged(path)
        for keyword, value in values.items():
            text = {True: "T", False: "F"}[value] if isinstance(value, bool) else repr(value)
            if isinstance(value, float):
                text = f"{value:.17e}"
            if isinstance(value, str):
                text = "'" + value.rstrip().replace("'", "''") + "'"
            peer.trilith("set", f"{path}#/fits/0/header/{keyword}", text)
            after = self.judged(path)
            want = value.rstrip() if isinstance(value, str) else value
            self.assertEqual(after[0].header[keyword], want, keyword)
            self.assertEqual(type(after[0].header[keyword]), type(want), keyword)
            if keyword in before[0].header:
                self.assertEqual(after[0].header.comments[keyword], before[0].header.comments[keyword], keyword)
        peer.trilith("set", f"{path}#/fits/0/header/COMPLEX", "(2.5, -1.0)")
        peer.trilith("set", f"{path}#/fits/0/header/BOTH", "[5, with a comment]")
        peer.trilith("insert", f"{path}#/fits/0/header/HISTORY", "one more")
        peer.trilith("delete", f"{path}#/fits/0/header/PERCENT")
        peer.trilith("rename", f"{path}#/fits/0/header/BLANKS", "LEADING")
        peer.trilith("set", f"{path}#/fits/2/header/TUNIT1", "m")
        after = self.judged(path)
        self.assertEqual(after[0].header["COMPLEX"], 2.5 - 1j)
        self.assertEqual((after[0].header["BOTH"], after[0].header.comments["BOTH"]), (5, "with a comment"))
        self.assertEqual(after[0].header["HISTORY"][-1], "one more")
        self.assertNotIn("PERCENT", after[0].header)
        self.assertEqual(after[0].header["LEADING"], "   lead")
        self.assertEqual(after[2].columns[0].unit, "m")
        for old, new in zip(before, after):
            self.assertEqual(old.data.tobytes(), new.data.tobytes())
        # What astropy kept it keeps still: every card that was not edited.
        touched = {*values, "COMPLEX", "BOTH", "HISTORY", "PERCENT", "BLANKS", "LEADING", "CHECKSUM"}
        cards = [[card.image for card in hdus[0].header.cards if card.keyword not in touched] for hdus in (before, after)]
        self.assertEqual(*cards)

    def test_sums_of_a_changed_asdf_hdu_are_right(self):
        """The ASDF file grows in an HDU that has checksums, packed by gzip and not."""
        source = io.BytesIO()
        asdf.AsdfFile({"a": np.arange(9), "n": 1}).write_to(source)
        for name in ("sums.fits", "sums.fits.gz"):
            for form in ("BINTABLE", "IMAGE"):
                path = self.folder / name
                content = around(written(fits.HDUList([fits.PrimaryHDU(image(">i2"))])), form, source.getvalue())
                fits.open(io.BytesIO(content)).writeto(path, checksum=True, overwrite=True)
                peer.trilith("set", f"{path}#/n", "x" * 5000)
                np.save(self.folder / "new.npy", np.arange(4000))
                peer.trilith("insert", f"{path}#/new", "--from", self.folder / "new.npy")
                hdus = self.judged(path)
                self.assertIn("DATASUM", hdus[-1].header)
                inner = hdus[-1].data[0][0] if form == "BINTABLE" else hdus[-1].data
                with asdf.open(io.BytesIO(inner.tobytes())) as opened:
                    self.assertEqual(opened["n"], "x" * 5000)
                    self.assertTrue(np.array_equal(opened["new"], np.arange(4000)))
                    self.assertTrue(np.array_equal(opened["a"], np.arange(9)))
                self.assertEqual(path.read_bytes()[:2] == b"\x1f\x8b", name.endswith(".gz"))



def summed():
    """HDUs of every kind, as they are before astropy computes their sums."""
    rows = np.array([(1, 2.5, b"ab"), (3, 4.5, b"cd")], [("n", ">i4"), ("x", ">f8"), ("s", "S4")])
    scaled = fits.ImageHDU(image(">i2"), name="SCALED")
    scaled.header["BSCALE"], scaled.header["BZERO"] = 0.25, -7.5
    heap = [fits.Column("v", "PJ()", array=np.array([np.arange(3), np.arange(5)], object)), fits.Column("n", "J", array=[1, 2])]
    text = [fits.Column("a", "I6", array=[1, 2, 3]), fits.Column("t", "A5", array=["x", "y", "z"])]
    groups = fits.GroupData(image(">f4", (2, 3, 3)), parnames=["U"], pardata=[np.arange(2.0)], bitpix=-32)
    yield "primary", [fits.PrimaryHDU(image(">f4"))]
    yield "header alone", [fits.PrimaryHDU()]
    yield "groups", [fits.GroupsHDU(groups)]
    yield "image", [fits.PrimaryHDU(), fits.ImageHDU(image(">i4", (200,)), name="SCI")]
    yield "unsigned", [fits.PrimaryHDU(), fits.ImageHDU(image("u2", (200,)), name="SCI")]
    yield "scaled", [fits.PrimaryHDU(), scaled]
    yield "table", [fits.PrimaryHDU(), fits.BinTableHDU(rows, name="T")]
    yield "heap", [fits.PrimaryHDU(), fits.BinTableHDU.from_columns(heap, name="T")]
    yield "text table", [fits.PrimaryHDU(), fits.TableHDU.from_columns(text, name="T")]
    for method in ("RICE_1", "GZIP_1", "PLIO_1"):
        tiles = fits.CompImageHDU(np.arange(4096, dtype="i2").reshape(64, 64) % 97, compression_type=method, name="C")
        yield method, [fits.PrimaryHDU(), tiles]


class Sums(peer.CaseWithoutAstropy):
    """CHECKSUM and DATASUM (FITS 4.0, section 4.4.2.7) are compared; rest of the tests."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def made(self, hdus, sums=True):
        path = self.folder / "x.fits"
        hdus[-1].header["GAIN"] = (1.25, "a card")
        fits.HDUList(hdus).writeto(path, checksum=sums, overwrite=True)
        return path

    def places(self, path):
        """Bytes of the last HDU: in a card, after END, the first and the last of its data, and in what fills its last block."""
        with fits.open(path, disable_image_compression=True) as file:
            info = file[-1].fileinfo()
        header = path.read_bytes()[info["hdrLoc"] : info["datLoc"]]
        yield "card", info["hdrLoc"] + header.index(b"1.25")
        if header.endswith(b" " * 80):
            yield "end", info["datLoc"] - 1
        if info["datSpan"]:
            yield "first", info["datLoc"]
            yield "middle", info["datLoc"] + info["datSpan"] // 2
            yield "filling", info["datLoc"] + info["datSpan"] - 1

    def peer_says(self, path):
        with fits.open(path, disable_image_compression=True) as file:
            return [(hdu.verify_checksum(), hdu.verify_datasum()) for hdu in file]

    def refuses(self, path, number, reason):
        """Every command that writes bytes of the HDU."""
        before, out = path.read_bytes(), self.folder / "out"
        for ending, *options in ((".asdf",), (".asdf", "--physical"), (".bd",), (".bd", "--physical"), (".asdf", "--codec", "zlib")):
            peer.trilith("convert", path, out.with_suffix(ending), *options, status=2)
            self.assertFalse(out.with_suffix(ending).exists())
        peer.trilith("convert", path, out.with_suffix(".fits"), status=1)
        self.assertFalse(out.with_suffix(".fits").exists())
        for words in (["set", "GAIN", "2"], ["set", "NEW", "x"], ["insert", "NEW", "x"], ["rename", "GAIN", "TAKEN"], ["delete", "GAIN"]):
            command, keyword, *value = words
            said = subprocess.run(
                [peer.PROGRAM, command, f"{path}#/fits/{number}/header/{keyword}", *value], capture_output=True, check=False
            )
            self.assertEqual(said.returncode, 2, words)
            self.assertIn(f"HDU {number}".encode(), said.stderr)
            self.assertIn(reason, said.stderr)
            self.assertEqual(path.read_bytes(), before)

    def test_a_flipped_bit_is_seen_in_every_kind_of_hdu_and_in_none_of_its_bytes_vouched_for(self):
        for kind, hdus in summed():
            path = self.made(hdus)
            self.assertTrue(peer.trilith_json("verify", path)["valid"])
            content, number = path.read_bytes(), len(hdus) - 1
            for place, at in list(self.places(path)):
                damaged = bytearray(content)
                damaged[at] ^= 4
                path.write_bytes(damaged)
                with self.subTest(kind=kind, place=place):
                    # astropy sums the cards that it read, without what follows END.
                    self.assertEqual(0 in self.peer_says(path)[number], place != "end")
                    report = peer.trilith_json("verify", path, status=1)
                    wrong = {(sum["where"], sum["kind"]) for sum in report["checksums"] if not sum["ok"]}
                    sums = {"card": ["CHECKSUM"], "end": ["CHECKSUM"]}.get(place, ["CHECKSUM", "DATASUM"])
                    self.assertEqual(wrong, {(f"/fits/{number}", sum) for sum in sums})
                    self.refuses(path, number, b"text after END" if place == "end" else b"SUM")

    def test_other_hdus_can_be_edited_and_damage_stays_visible(self):
        hdus = [fits.PrimaryHDU(), fits.ImageHDU(image(">i4"), name="A"), fits.ImageHDU(image(">i2"), name="B")]
        path = self.made(hdus)
        content = bytearray(path.read_bytes())
        with fits.open(path) as file:
            content[file[1].fileinfo()["datLoc"] + 3] ^= 1
        path.write_bytes(content)
        said = subprocess.run([peer.PROGRAM, "set", f"{path}#/fits/B/header/GAIN", "3"], capture_output=True, check=True)
        self.assertRegex(said.stderr, rb"HDU 1 \(A\) of .* is damaged: DATASUM .*; it keeps this checksum")
        peer.trilith("repack", path, self.folder / "r.fits", status=1)
        peer.trilith("repack", path, self.folder / "r.fits", "--allow-loss")
        self.assertEqual((self.folder / "r.fits").read_bytes(), path.read_bytes())
        self.assertEqual(self.peer_says(path), [(1, 1), (0, 0), (1, 1)])
        peer.trilith("get", f"{path}#/fits/B/data", "-o", self.folder / "b.npy")
        peer.trilith("get", f"{path}#/fits/A/data", "-o", self.folder / "a.npy", status=2)
        peer.trilith("get", f"{path}#/fits/A/data", "--slice", "0:1", "-o", self.folder / "a.npy")
        peer.trilith("stats", path)
        copy = self.folder / "copy.fits"
        peer.trilith("convert", path, copy, "--allow-loss")
        self.assertEqual(copy.read_bytes(), path.read_bytes())
        out = self.folder / "out.asdf"
        done = peer.trilith_json("convert", path, out, "--skip-unreadable")
        self.assertEqual({loss["path"] for loss in done["losses"]}, {"/fits/1/header", "/fits/1/data"})
        peer.trilith("delete", f"{path}#/fits/A/header/CHECKSUM")
        self.assertEqual(self.peer_says(path)[1], (2, 0))
        peer.trilith("delete", f"{path}#/fits/A/header/DATASUM")
        out.unlink()
        peer.trilith("convert", path, out)

    def test_sums_in_gzip_files_and_around_asdf_files(self):
        path = self.made([fits.PrimaryHDU(), fits.ImageHDU(image(">i4"), name="SCI")])
        content = bytearray(path.read_bytes())
        content[-2000] ^= 1
        packed = self.folder / "x.fits.gz"
        packed.write_bytes(gzip.compress(path.read_bytes()))
        self.assertEqual(
            [sum["kind"] for sum in peer.trilith_json("verify", packed)["checksums"]],
            ["CRC-32", "DATASUM", "CHECKSUM", "DATASUM", "CHECKSUM"],
        )
        packed.write_bytes(gzip.compress(bytes(content)))
        peer.trilith("verify", packed, status=1)
        peer.trilith("convert", packed, self.folder / "y.asdf", status=2)
        peer.trilith("set", f"{packed}#/fits/1/header/NEW", 1, status=2)
        asdf.AsdfFile({"a": np.arange(100), "n": 5}).write_to(self.folder / "in.asdf")
        both = self.folder / "both.fits"
        peer.trilith("convert", self.folder / "in.asdf", both, "--embed", path)
        with fits.open(both, mode="update", checksum=True) as file:
            for hdu in file:
                hdu.add_checksum()
        self.assertTrue(peer.trilith_json("verify", both)["valid"])
        sound = both.read_bytes()
        damaged = bytearray(sound)
        at = sound.index(b"n: 5")
        damaged[at + 3] ^= 1
        both.write_bytes(damaged)
        peer.trilith("verify", both, status=1)
        peer.trilith("convert", both, self.folder / "z.asdf", status=2)
        for words in (["set", "#/n", "7"], ["insert", "#/m", "7"], ["delete", "#/n"]):
            peer.trilith(words[0], f"{both}{words[1]}", *words[2:], status=2)
        self.assertEqual(both.read_bytes(), bytes(damaged))
        # Its own HDU is right, another one is not.
        damaged = bytearray(sound)
        with fits.open(both) as file:
            damaged[file["SCI"].fileinfo()["datLoc"]] ^= 1
        both.write_bytes(damaged)
        peer.trilith("set", f"{both}#/n", 8)
        self.assertEqual([all(sums) for sums in self.peer_says(both)], [True, False, True])

    def test_a_file_may_have_one_sum_or_unknown_ones(self):
        hdus = [fits.PrimaryHDU(), fits.ImageHDU(image(">i4", (200,)), name="SCI")]
        path = self.made(hdus, "datasum")
        self.assertEqual({sum["kind"] for sum in peer.trilith_json("verify", path)["checksums"]}, {"DATASUM"})
        content = bytearray(path.read_bytes())
        content[-2000] ^= 1
        path.write_bytes(content)
        peer.trilith("verify", path, status=1)
        peer.trilith("convert", path, self.folder / "y.asdf", status=2)
        peer.trilith("set", f"{path}#/fits/1/header/GAIN", 2)
        peer.trilith("verify", path, status=1)
        for number, value in enumerate(("", "   ", None, "d41d8cd98f00b204e9800998ecf8427e")):
            hdus = [fits.PrimaryHDU(), fits.ImageHDU(image(">i4", (200,)), name="SCI")]
            hdus[1].header["CHECKSUM"] = value
            hdus[1].header["DATASUM"] = value
            path = self.made(hdus, False)
            with self.subTest(value=value):
                self.assertIn(b"OK (no checksums: structure only)", peer.trilith("verify", path))
                peer.trilith("set", f"{path}#/fits/1/header/GAIN", 2)
                with fits.open(path) as file:
                    self.assertEqual(file[1].header["CHECKSUM"] or "", (value or "").rstrip())
                peer.trilith("convert", path, self.folder / f"y{number}.asdf")

    def test_cutouts_of_damaged_images_are_refused(self):
        hdu = fits.PrimaryHDU(image(">f4", (64, 64)))
        for axis, (ctype, value) in enumerate((("RA---TAN", 10.0), ("DEC--TAN", 20.0)), 1):
            hdu.header.update({f"CTYPE{axis}": ctype, f"CRVAL{axis}": value, f"CRPIX{axis}": 32.5, f"CDELT{axis}": 1e-4})
        path = self.made([hdu])
        names = ("c.fits", "c.npy")
        for name in names:
            peer.trilith("cutout", path, "--sky", "10,20", "--size", "5px", "-o", self.folder / name)
            (self.folder / name).unlink()
        content = bytearray(path.read_bytes())
        content[-9000] ^= 1
        path.write_bytes(content)
        for name in names:
            peer.trilith("cutout", path, "--sky", "10,20", "--size", "5px", "-o", self.folder / name, status=2)
            self.assertFalse((self.folder / name).exists())


class Characters(peer.CaseWithoutAstropy):
    """FITS 4.0, section 4.1.2: a header holds ASCII 32 to 126; rest of the tests."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def sources(self):
        odd = np.zeros(2, [("\u00e9", "<f8"), ("b", "<i4")])
        np.save(self.folder / "struct.npy", odd)
        np.savez(self.folder / "names.npz", **{"\u00e9": np.arange(3), "a": odd, "g/\u03b1": np.arange(2.0)})
        np.savez_compressed(self.folder / "packed.npz", **{"\u00e9": np.arange(3), "a": odd})
        tree = {
            "\u00e9": 1, "text": "caf\u00e9", "data": np.arange(6.0).reshape(2, 3), "f\u00e9": np.arange(3),
            "meta": {"unit": "\u00b5m", "\u03b1": "x", "ok": "plain"}, "del": "a\x7fb",
        }
        asdf.AsdfFile(tree).write_to(self.folder / "tree.asdf")
        with h5py.File(self.folder / "x.h5", "w") as file:
            file["d\u00e9"] = np.arange(3)
            file["d"] = np.arange(4.0)
            file["d"].attrs["units"] = "\u00b5m"
            file["d"].attrs["\u00e9"] = "caf\u00e9"
            file["d"].attrs["latin"] = np.bytes_("caf\u00e9".encode("latin-1"))
            file["c"] = odd
            file.attrs["title"] = "\u00e9"
            file["g\u00e9/x"] = np.arange(2)
        return sorted(path for path in self.folder.iterdir())

    def test_no_conversion_writes_other_characters_into_a_header(self):
        for source in self.sources():
            target = source.with_suffix(".fits")
            with self.subTest(source=source.name):
                peer.trilith("convert", source, target, "--allow-loss")
                peer.trilith("verify", target)
                with fits.open(target) as file:
                    for hdu in file:
                        content = target.read_bytes()[hdu.fileinfo()["hdrLoc"] : hdu.fileinfo()["datLoc"]]
                        self.assertTrue(all(32 <= byte < 127 for byte in content))

    def test_a_list_of_cards_with_others_is_refused_by_name(self):
        for card in (["OBJECT", "caf\u00e9"], ["OBJECT", "x", "\u00b5m"], ["OBJ\u00c9", 1], ["HISTORY", "\u00e9"], ["OBJECT", "a\x7f"]):
            header = [["SIMPLE", True], ["BITPIX", 8], ["NAXIS", 0], card]
            asdf.AsdfFile({"fits": [{"header": header}]}).write_to(self.folder / "x.asdf")
            peer.trilith("convert", self.folder / "x.asdf", self.folder / "x.fits", status=2)
            self.assertFalse((self.folder / "x.fits").exists())

    def test_edits_of_cards_refuse_others(self):
        path = self.folder / "x.fits"
        hdu = fits.PrimaryHDU()
        hdu.header["OBJECT"] = ("M31", "a galaxy")
        hdu.writeto(path)
        before = path.read_bytes()
        for words in (["set", "OBJECT", "caf\u00e9"], ["set", "NEW", "\u03b1"], ["insert", "NEW", "\u00e9"], ["set", "OBJECT/2", "\u00b5m"],
                      ["rename", "OBJECT", "OBJ\u00c9"], ["set", "\u00c9", "1"], ["set", "HISTORY", "\u00e9"]):
            command, keyword, value = words
            peer.trilith(command, f"{path}#/fits/0/header/{keyword}", value, status=2)
            self.assertEqual(path.read_bytes(), before)

if __name__ == "__main__":
    unittest.main()
