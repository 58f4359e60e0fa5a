"""FITS files compared with astropy: one keyword of many files, the checksums of an image, and a slice of a large one, as whole processes."""

from harness import Work

SIDE = 4096
KEYWORD = """
import glob, sys
from astropy.io import fits
with open(sys.argv[2], "w") as out:
    for path in sorted(glob.glob(sys.argv[1] + "/*.fits")):
        print(path, fits.getval(path, "EXPTIME"), sep=",", file=out)
"""
SUMS = """
import sys, warnings
from astropy.io import fits
warnings.simplefilter("error")  # a wrong checksum is a warning
with fits.open(sys.argv[1], checksum=True) as hdus:
    len(hdus)
"""
SLICE = """
import sys
import numpy as np
from astropy.io import fits
with fits.open(sys.argv[1]) as hdus:
    np.ascontiguousarray(hdus[0].section[int(sys.argv[2]) : int(sys.argv[3])]).tofile(sys.argv[4])
"""


def make_many(path, count):
    import pathlib

    import numpy as np
    from astropy.io import fits

    folder = pathlib.Path(path)
    folder.mkdir()
    for number in range(int(count)):
        hdu = fits.PrimaryHDU(np.zeros((4, 4), "f4"))
        for card in range(72):
            hdu.header[f"KEY{card}"] = (card / 8, "a card of the header")
        hdu.header["EXPTIME"] = (number / 2, "[s] exposure time")
        hdu.writeto(folder / f"n{number:05}.fits")


def make_sums(path):
    import numpy as np
    from astropy.io import fits

    image = np.random.default_rng(1).normal(1000, 20, (SIDE, SIDE)).astype("f4")
    fits.PrimaryHDU(image).writeto(path, checksum=True)


def make_large(path, megabytes):
    import numpy as np
    from astropy.io import fits

    rows = int(megabytes) * (1 << 20) // (4 * SIDE)
    image = np.random.default_rng(2).normal(100, 5, (rows, SIDE)).astype("f4")
    fits.PrimaryHDU(image).writeto(path)


def works(bench):
    count = bench.count // 10
    many = bench.file(f"fits-{count}", make_many, count)
    sums = bench.file("sums.fits", make_sums)
    large = bench.file(f"large-{bench.megabytes}.fits", make_large, bench.megabytes)
    first, some = bench.megabytes * (1 << 20) // (8 * SIDE), (8 << 20) // (4 * SIDE)
    table, raw = bench.out / "x.csv", bench.out / "x.raw"
    return [
        Work(
            "fits-keyword",
            f"one keyword of each of {count} files",
            {"trilith": [bench.program, "table", many, "-c", "exptime=/fits/0@EXPTIME", "-o", table], "astropy": bench.python(KEYWORD, many, table)},
        ),
        Work(
            "fits-sums",
            "CHECKSUM and DATASUM of 64 MiB",
            {"trilith": [bench.program, "verify", sums], "astropy": bench.python(SUMS, sums)},
        ),
        Work(
            "fits-slice",
            f"8 MiB of {bench.megabytes} MiB",
            {
                "trilith": [bench.program, "get", f"{large}#/fits/0/data", "--slice", f"{first}:{first + some}", "-o", raw],
                "astropy": bench.python(SLICE, large, str(first), str(first + some), raw),
            },
        ),
    ]
