"""Generated FITS files of every kind of HDU and compression: the values that astropy reads, in place and after conversion.

`TRILITH_FITS_FILES=500` makes more files than the default.
"""

import io
import os
import unittest
import warnings

import asdf
import numpy as np
import peer
from astropy.io import fits

warnings.simplefilter("ignore")

FILES = int(os.environ.get("TRILITH_FITS_FILES", "40"))
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
    rows = int(random.integers(1, 12))
    columns = []
    letters = {"B": "u1", "I": "i2", "J": "i4", "K": "i8", "E": "f4", "D": "f8", "C": "c8", "M": "c16"}
    for letter, code in letters.items():
        if random.random() < 0.5:
            width = int(random.integers(1, 4))
            shape = (rows,) if width == 1 else (rows, width)
            base = numbers(random, "f4" if code[0] == "c" else code, shape).astype(code)
            columns.append(fits.Column(letter, f"{width}{letter}", array=base))
    columns.append(fits.Column("u", "I", bzero=1 << 15, array=random.integers(0, 1 << 16, rows).astype("u2")))
    columns.append(fits.Column("flag", "L", array=random.random(rows) < 0.5))
    columns.append(fits.Column("bits", "11X", array=random.random((rows, 11)) < 0.5))
    columns.append(fits.Column("text", "7A", array=np.array(["abcdefg"[: int(n)] for n in random.integers(1, 8, rows)])))
    return fits.BinTableHDU.from_columns(columns, name=name)


def letters(random, name):
    rows = int(random.integers(1, 9))
    return fits.TableHDU.from_columns([
        fits.Column("n", "I6", array=random.integers(-999, 999, rows)), fits.Column("x", "D20.10", array=random.normal(0, 1e6, rows), ascii=True),
        fits.Column("s", "A5", array=np.array(["abcde"[: int(n)] for n in random.integers(1, 6, rows)]))], name=name)


KINDS = [image, scaled, tiles, table, letters]


def generated(number):
    """The bytes of a file with one HDU of each of three kinds, in turn."""
    random = np.random.default_rng(number)
    hdus, extra = [fits.PrimaryHDU(numbers(random, random.choice(NUMBERS), (3, 4)))], {}
    for at in range(3):
        made = KINDS[(number + at) % len(KINDS)](random, f"X{at}")
        if isinstance(made, tuple):
            made, cards = made
            extra[at + 1] = cards
        hdus.append(made)
    out = io.BytesIO()
    fits.HDUList(hdus).writeto(out)
    content = bytearray(out.getvalue())
    # astropy would apply these cards when it writes them.
    for at, cards in extra.items():
        start = fits.open(io.BytesIO(content))[at].fileinfo()["hdrLoc"]
        end = next(n for n in range(start, len(content), 80) if content[n : n + 80] == b"END".ljust(80))
        for keyword, value in cards.items():
            content[end : end + 80] = f"{keyword:<8}= {value:>20}".ljust(80).encode()
            end += 80
        content[end : end + 80] = b"END".ljust(80)
    return bytes(content)


class Generated(peer.CaseWithoutAstropy):
    def same(self, found, want):
        """Elements and types are equal; masked elements are NaN."""
        found, want = np.ma.array(found[...]), np.asarray(want)
        if want.dtype.kind == "U":
            # Blanks at the end do not count; the widths of astropy's arrays of text vary with it.
            want = np.char.rstrip(np.char.encode(want, "ascii"), b" ")
            return self.assertEqual(np.ma.getdata(found).tolist(), want.tolist())
        if np.ma.is_masked(found):
            found = found.astype("f8").filled(np.nan)
        else:
            self.assertEqual(np.ma.getdata(found).dtype.newbyteorder("="), want.dtype.newbyteorder("="))
        np.testing.assert_array_equal(np.ma.getdata(found).reshape(want.shape), want)

    def test_values_are_those_of_astropy(self):
        path, out, saved = (self.folder / name for name in ("x.fits", "x.asdf", "x.npy"))
        for number in range(FILES):
            content = generated(number)
            path.write_bytes(content)
            peer.trilith("convert", path, out, "--physical", "--quiet")
            with asdf.open(out) as converted, fits.open(io.BytesIO(content)) as hdus:
                for at, hdu in enumerate(hdus):
                    peer.trilith("get", f"{path}#/fits/{at}/data", "-o", saved, "--quiet")
                    here, there = np.load(saved), converted[hdu.name]
                    names = hdu.data.dtype.names or (None,)
                    for name in names:
                        with self.subTest(number=number, hdu=at, kind=type(hdu).__name__, column=name):
                            want = hdu.data if name is None else hdu.data.field(name)
                            self.same(here if name is None else here[name], want)
                            self.same(there if name is None else there[name], want)


if __name__ == "__main__":
    unittest.main()
