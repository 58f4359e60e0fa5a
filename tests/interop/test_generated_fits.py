"""Generated FITS files of every kind of HDU and compression: the values that astropy reads, in place and after conversion.

`cargo xtask campaign fits --cases 500` makes more files than the default.
"""

import collections
import io
import json
import os
import unittest
import warnings

import asdf
import numpy as np
import peer
from astropy.io import fits

warnings.simplefilter("ignore")

FILES = int(os.environ.get("TRILITH_CAMPAIGN", "40"))
SEED = int(os.environ.get("TRILITH_CAMPAIGN_SEED", "0"))
NUMBERS = ("u1", "i1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8")
#: Each compression with the types that astropy compresses by it.
METHODS = {
    "RICE_1": ("u1", "i2", "i4", "f4", "f8"), "GZIP_1": ("u1", "i2", "i4", "f4", "f8"), "GZIP_2": ("u1", "i2", "i4", "f4", "f8"),
    "HCOMPRESS_1": ("u1", "i2", "i4", "f4"), "PLIO_1": ("u1", "i2"), "NOCOMPRESS": ("i2", "f4"),
}  # fmt: skip


def numbers(random, code, shape):
    dtype = np.dtype(code)
    if dtype.kind == "f":
        values = random.normal(100, 20, shape).astype(dtype)
        if random.random() < 0.3 and values.size:
            values.flat[random.integers(values.size)] = np.nan
        return values
    info = np.iinfo(dtype)
    return random.integers(max(info.min, -(2**62)), min(info.max, 2**62), shape, endpoint=True).astype(dtype)


def image(random, name):
    shape = tuple(random.integers(1, 9, random.integers(1, 5)))
    hdu = fits.ImageHDU(numbers(random, random.choice(NUMBERS), shape), name=name)
    return hdu


def scaled(random, name):
    """Whole numbers with scale, offset and BLANK in any mixture."""
    hdu = fits.ImageHDU(random.integers(0, 100, (5, 7)).astype(random.choice(["u1", "i2", "i4"])), name=name)
    cards = {"BSCALE": float(random.choice([0.5, 0.1, 2.0])), "BZERO": float(random.choice([-7.0, 10.25])), "BLANK": 3}
    return hdu, {key: value for key, value in cards.items() if random.random() < 0.6}


def tiles(random, name):
    method = str(random.choice(list(METHODS)))
    code = str(random.choice(METHODS[method]))
    shape = tuple(int(n) for n in random.integers(8, 40, 2))
    data = random.normal(1000, 30, shape).astype(code) if np.dtype(code).kind == "f" else random.integers(0, 100, shape).astype(code)
    how = {"tile_shape": tuple(int(n) for n in random.integers(4, 12, 2))} if random.random() < 0.5 and method != "HCOMPRESS_1" else {}
    if method == "HCOMPRESS_1":
        how = {"tile_shape": shape}
    if np.dtype(code).kind == "f" and random.random() < 0.7:
        how |= {"quantize_method": int(random.choice([-1, 1, 2])), "dither_seed": int(random.integers(1, 10000))}
    return fits.CompImageHDU(data, name=name, compression_type=method, **how)


def table(random, name):
    rows = int(random.integers(0, 12))
    columns, cards, missing = [], {}, {}
    letters = {"B": "u1", "I": "i2", "J": "i4", "K": "i8", "E": "f4", "D": "f8", "C": "c8", "M": "c16"}
    for letter, code in letters.items():
        if random.random() < 0.5:
            continue
        width, null = int(random.choice([1, 2, 3, 6])), None
        values = numbers(random, "f4" if code[0] == "c" else code, (rows,) if width == 1 else (rows, width)).astype(code)
        if code[0] in "ui" and random.random() < 0.5:
            # One that is there, if there are rows.
            null = int(values.flat[0]) if values.size else 7
            missing[letter] = values == null
        columns.append(fits.Column(letter, f"{width}{letter}", array=values, null=null, dim="(2,3)" if width == 6 else None))
        if null is None and letter not in "CM" and random.random() < 0.3:
            # astropy 8.0.2 fails for other offsets of K than 2^63.
            zero = float(random.choice([0.0, 5.0])) if letter != "K" else 0.0
            cards |= {f"TSCAL{len(columns)}": float(random.choice([0.5, 0.1])), f"TZERO{len(columns)}": zero}
    for code, letter in (("i1", "B"), ("u2", "I"), ("u4", "J"), ("u8", "K")):
        if random.random() < 0.5:
            zero = -128 if code == "i1" else 1 << (8 * np.dtype(code).itemsize - 1)
            columns.append(fits.Column(code, f"2{letter}", bzero=zero, array=numbers(random, code, (rows, 2))))
    columns.append(fits.Column("flag", "L", array=random.random(rows) < 0.5))
    columns.append(fits.Column("bits", "11X", array=random.random((rows, 11)) < 0.5))
    columns.append(fits.Column("text", "7A", array=np.array(["abcdefg"[: int(n)] for n in random.integers(1, 8, rows)], "U7")))
    columns.append(fits.Column("texts", "6A", dim="(2,3)", array=np.full((rows, 3), "ab")))
    missing["flag"] = random.random(rows) < 0.3
    return Made(fits.BinTableHDU.from_columns(columns, name=name), cards, missing)


def ragged(random, name):
    """Columns of varying length, of all types; scaled, unsigned, with axes."""
    rows, columns, cards = int(random.integers(0, 5)), [], {}
    types = {"L": "?", "B": "u1", "I": "i2", "J": "i4", "K": "i8", "E": "f4", "D": "f8", "C": "c8", "M": "c16", "A": "S1"}
    for letter, code in types.items():
        if random.random() < 0.4:
            continue
        is_plane, cells = random.random() < 0.3 and letter != "A", np.empty(rows, object)
        for row in range(rows):
            count = int(random.choice([0, 6])) if is_plane else int(random.integers(0, 6))
            if code == "S1":
                cells[row] = np.array(list("abcdef"[:count]), "S1")
            else:
                base = code if code not in ("?", "c8", "c16") else "u1"
                cells[row] = (numbers(random, base, (count,)) % 2 == 1) if code == "?" else numbers(random, base, (count,)).astype(code)
        columns.append(fits.Column(letter, f"{random.choice(['P', 'Q'])}{letter}()", array=cells))
        if is_plane:
            cards[f"TDIM{len(columns)}"] = "'(2,3)'"
        if letter in "BIJKED" and random.random() < 0.4:
            cards[f"TSCAL{len(columns)}"] = float(random.choice([0.5, 0.1]))
        elif letter in "BIJK" and random.random() < 0.4:
            cards[f"TZERO{len(columns)}"] = -128 if letter == "B" else 1 << (8 * np.dtype(code).itemsize - 1)
    columns.append(fits.Column("id", "J", array=np.arange(rows)))
    return Made(fits.BinTableHDU.from_columns(columns, name=name), cards, {})


def letters(random, name):
    rows = int(random.integers(1, 9))  # astropy cannot write tables of text without rows
    whole = random.integers(-999, 999, rows)
    hdu = fits.TableHDU.from_columns([
        fits.Column("n", "I6", array=whole, null=str(whole[0])), fits.Column("w", "I12", array=whole * 10**7),
        fits.Column("x", "D20.10", array=random.normal(0, 1e6, rows), ascii=True),
        fits.Column("e", "E15.7", array=random.normal(0, 1e6, rows), ascii=True),
        fits.Column("f", "F12.3", array=random.normal(0, 1e3, rows), ascii=True),
        fits.Column("s", "A5", array=np.array(["abcde"[: int(n)] for n in random.integers(1, 6, rows)], "U5"))], name=name)
    return Made(hdu, {}, {"n": whole == whole[0]})


def empty(random, name):
    shape = tuple(int(n) for n in random.permutation([0, 3, 2])[: random.integers(1, 4)])
    return fits.ImageHDU(np.zeros(shape if 0 in shape else (*shape, 0), str(random.choice(NUMBERS))), name=name)


def groups(random, path):
    """Random groups, which are the first HDU of a file. astropy writes them to files only."""
    bitpix = int(random.choice([8, 16, 32, -32, -64]))
    code = {8: "u1", 16: "i2", 32: "i4", -32: "f4", -64: "f8"}[bitpix]
    count, names = int(random.integers(1, 6)), list(random.choice(["UU", "VV", "DATE", "date", "DATE", "BASELINE"], random.integers(1, 5)))
    shape = (count, *(int(n) for n in random.integers(1, 4, random.integers(2, 5))))
    with_names = fits.GroupData(numbers(random, code, shape) if code[0] == "f" else random.integers(0, 100, shape).astype(code), bitpix=bitpix,
                                parnames=names, pardata=[random.integers(0, 50, count).astype(code) for _ in names])
    fits.GroupsHDU(with_names).writeto(path, overwrite=True)
    cards = {"BSCALE": 0.5, "BZERO": 3.0} if random.random() < 0.5 else {}
    for at in range(len(names)):
        cards |= {f"PSCAL{at + 1}": 0.25} if random.random() < 0.4 else {}
        cards |= {f"PZERO{at + 1}": 12.5} if random.random() < 0.4 else {}
    return with_cards(bytearray(path.read_bytes()), {0: cards})


#: An HDU, the cards that astropy would apply when it writes, and what is missing in columns.
Made = collections.namedtuple("Made", "hdu cards missing", defaults=({}, {}))
KINDS = [image, scaled, tiles, table, ragged, letters, empty]


def with_cards(content, extra):
    for at, cards in extra.items():
        start = fits.open(io.BytesIO(content))[at].fileinfo()["hdrLoc"]
        end = next(n for n in range(start, len(content), 80) if content[n : n + 80] == b"END".ljust(80))
        if end % 2880 // 80 + len(cards) >= 36:
            content[end + 80 : end + 80] = b" " * 2880
        for keyword, value in cards.items():
            content[end : end + 80] = f"{keyword:<8}= {value:>20}".ljust(80).encode()
            end += 80
        content[end : end + 80] = b"END".ljust(80)
    return bytes(content)


def generated(number, path):
    """The bytes of a file with one HDU of each of three kinds, in turn; the same without the cards about its numbers; and what
    is missing in its columns."""
    random = np.random.default_rng(number if SEED == 0 else [SEED, number])
    if number % 8 == 7:
        content = groups(random, path)
        return content, content, [{}]
    hdus, extra, missing = [fits.PrimaryHDU(numbers(random, random.choice(NUMBERS), (3, 4)))], {}, [{}]
    for at in range(3):
        made = KINDS[(number + at) % len(KINDS)](random, f"X{at}")
        made = made if isinstance(made, Made) else Made(*made) if isinstance(made, tuple) else Made(made)
        extra[at + 1] = made.cards
        hdus.append(made.hdu)
        missing.append(made.missing)
    out = io.BytesIO()
    fits.HDUList(hdus).writeto(out)
    bare = out.getvalue()
    content = bytearray(with_cards(bytearray(bare), extra))
    with fits.open(io.BytesIO(content)) as opened:
        for hdu, marks in zip(opened, missing):
            # Logical values that are neither true nor false.
            for row in np.flatnonzero(marks.get("flag", [])):
                at = hdu.fileinfo()["datLoc"] + row * hdu.header["NAXIS1"] + hdu.data.dtype.fields["flag"][1]
                content[at] = 0
    return bytes(content), bare, missing


def plain(value):
    """What JSON has for an element."""
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    return {"NaN": np.nan, "Infinity": np.inf, "-Infinity": -np.inf}.get(value, value) if isinstance(value, str) else value


class Generated(peer.CaseWithoutAstropy):
    def same(self, found, want, missing=None):
        """Elements and types are equal. In images masked elements are NaN, in columns astropy has no mask."""
        found, want = np.ma.array(found[...]), np.asarray(want)
        if want.dtype.kind == "U":
            # Blanks at the end do not count; the widths of astropy's arrays of text vary with it.
            want = np.char.rstrip(np.char.encode(want, "ascii"), b" ")
            return self.assertEqual(np.ma.getdata(found).tolist(), want.tolist())
        if missing is not None:
            missing = missing.reshape(want.shape)
            hidden = np.ma.getmaskarray(found).reshape(want.shape)
            if np.ma.isMaskedArray(found) and found.mask is not np.ma.nomask:
                self.assertEqual(hidden.tolist(), missing.tolist())
            want, found = np.where(missing, 0, want), np.ma.array(np.where(missing.reshape(found.shape), 0, np.ma.getdata(found)))
        elif np.ma.is_masked(found):
            found = found.astype("f8").filled(np.nan)
        else:
            # astropy makes floats of signed bytes in tables.
            self.assertIn(np.ma.getdata(found).dtype.newbyteorder("="), [want.dtype.newbyteorder("="), np.dtype("i1")])
        np.testing.assert_array_equal(np.ma.getdata(found).reshape(want.shape), want)

    def same_ragged(self, found, hdu, bare, physical):
        """Cells of varying length. astropy scales them within their type, so that it reads the stored ones here."""
        for at, column in enumerate(hdu.columns, 1):
            for row, cell in enumerate(bare.data.field(column.name)):
                with self.subTest(column=column.name, row=row, physical=physical):
                    cells = found[column.name]
                    ours = cells[row]
                    if column.format[-2:] and "A(" in column.format:
                        text = ours if isinstance(ours, str) else np.asarray(ours).tobytes().rstrip(b"\0").decode("ascii")
                        self.assertEqual(text.replace("\0", ""), "".join(cell))
                        continue
                    scale, zero = hdu.header.get(f"TSCAL{at}", 1), hdu.header.get(f"TZERO{at}", 0)
                    want = np.asarray(cell)
                    if f"TDIM{at}" in hdu.header and want.size:
                        want = want.reshape(3, 2)
                    if zero and scale == 1:
                        want = want.astype(object) + int(zero)
                    elif (scale, zero) != (1, 0):
                        want = want.astype("f8") * scale + zero
                    if not physical and want.dtype.kind == "c":
                        texts = [complex(one.replace(" ", "").replace("i", "j")) for one in np.ravel(ours)]
                        ours = np.array(texts).reshape(want.shape)
                    ours = np.array(plain(ours), dtype=want.dtype) if not physical else np.asarray(ours)
                    # TDIM does not apply to a cell without values.
                    self.assertEqual(ours.shape if ours.size else (0,), want.shape if want.size else (0,))
                    want = want.reshape(ours.shape)
                    np.testing.assert_array_equal(ours, want)

    def test_values_are_those_of_astropy(self):
        path, out, saved = (self.folder / name for name in ("x.fits", "x.asdf", "x.npy"))
        counts = collections.Counter()
        for number in range(FILES):
            content, bare, missing = generated(number, path)
            path.write_bytes(content)
            peer.trilith("convert", path, out, "--physical", "--quiet")
            with asdf.open(out) as converted, fits.open(io.BytesIO(content)) as hdus, fits.open(io.BytesIO(bare)) as stored:
                for at, hdu in enumerate(hdus):
                    where, kind = f"{path}#/fits/{at}/data", type(hdu).__name__
                    there = converted[hdu.name]
                    there = there if hdu.data.dtype.names else there["data"]
                    with self.subTest(number=number, hdu=at, kind=kind):
                        if kind == "BinTableHDU" and any("P" in column.format or "Q" in column.format for column in hdu.columns):
                            counts["ragged"] += 1
                            self.same_ragged(json.loads(peer.trilith("tree", where, "--inline", "--json")), hdu, stored[at], False)
                            self.same_ragged(there, hdu, stored[at], True)
                            continue
                        counts[kind] += 1
                        peer.trilith("get", where, "-o", saved, "--quiet")
                        here, names = np.load(saved), hdu.data.dtype.names or (None,)
                        rows = json.loads(peer.trilith("get", where, "--json")) if missing[at] else []
                        for number_of, name in enumerate(names):
                            with self.subTest(column=name):
                                want = hdu.data if name is None else hdu.data.field(name)
                                if name == "DATA":
                                    # astropy 8.0.2 looks for BZEROS.
                                    want = want + hdu.header.get("BZERO", 0)
                                marks = missing[at].get(name)
                                self.same(here if name is None else here[name], want, marks)
                                self.same(there if name is None else there[name], want, marks)
                                if marks is not None:
                                    nulls = [[one is None for one in np.ravel(row[number_of])] for row in rows]
                                    self.assertEqual(np.ravel(nulls).tolist(), np.ravel(marks).tolist())
        print(f"{FILES} files: {dict(counts)}")


if __name__ == "__main__":
    unittest.main()
