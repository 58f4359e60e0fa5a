"""Opening: small files of each format, many small arrays of one file, the start of the command, and the headers of many files.

`python` compares the package with Python's asdf. Here it is compared with safetensors, which does the least that a library can do: it
reads a JSON header and copies bytes.
"""

from bulk import TIMED
from files import PROLOGUE, many
from harness import Work

REPEATS = 2000
ARRAYS = 2000
CARDS = 80

OURS = TIMED + """
import trilith
path, key, runs = sys.argv[1], sys.argv[2], int(sys.argv[3])
def work():
    with trilith.open(path) as f: f[key][...]
work()
timed(work, runs)
"""
THEIRS = TIMED + """
from safetensors import safe_open
path, runs = sys.argv[1], int(sys.argv[2])
def work():
    with safe_open(path, "numpy") as f: f.get_tensor("data")
work()
timed(work, runs)
"""
OURS_MANY = TIMED + """
import trilith
def work():
    with trilith.open(sys.argv[1]) as f:
        for key in f["arrays"]: f["arrays"][key][...]
work()
timed(work, 20)
"""
THEIRS_MANY = TIMED + """
from safetensors import safe_open
def work():
    with safe_open(sys.argv[1], "numpy") as f:
        for key in f.keys(): f.get_tensor(key)
work()
timed(work, 20)
"""
GETHEADER = """
import pathlib, sys
from astropy.io.fits import getheader
for path in sorted(pathlib.Path(sys.argv[1]).glob("*.fits")):
    header = getheader(path)
    if "EXPTIME" in header: print(path, header["EXPTIME"])
"""


def make_small(path):
    """One array of 100 numbers, in the format of the name."""
    import numpy as np

    array, kind = np.arange(100.0), str(path).rsplit(".", 1)[1]
    if kind == "asdf":
        import asdf

        asdf.AsdfFile({"data": array}).write_to(path)
    elif kind == "h5":
        import h5py

        with h5py.File(path, "w") as f:
            f["data"] = array
    elif kind == "fits":
        from astropy.io import fits

        fits.PrimaryHDU(array).writeto(path)
    else:
        from safetensors.numpy import save_file

        save_file({"data": array}, path)


def make_arrays(path, count):
    import numpy as np

    arrays = {f"a{i}": np.full(16, i, "f4") for i in range(int(count))}
    if str(path).endswith(".asdf"):
        import asdf

        asdf.AsdfFile({"arrays": arrays}).write_to(path)
    else:
        from safetensors.numpy import save_file

        save_file(arrays, path)


def make_headers(path, count):
    """FITS files whose headers have as many cards as those of instruments."""
    import pathlib

    import numpy as np
    from astropy.io import fits

    folder = pathlib.Path(path)
    folder.mkdir()
    for number in range(int(count)):
        hdu = fits.PrimaryHDU(np.zeros((4, 4), "i2"))
        hdu.header["EXPTIME"] = (float(number), "exposure time")
        while len(hdu.header) < CARDS - 1:
            hdu.header[f"KEY{len(hdu.header)}"] = (len(hdu.header) * 1.5, "some comment")
        hdu.writeto(folder / f"f{number:05}.fits")


def works(bench):
    small = {kind: bench.file(f"small.{kind}", make_small) for kind in ("asdf", "h5", "fits", "safetensors")}
    theirs = bench.python(THEIRS, small["safetensors"], str(REPEATS))
    for kind, key in (("asdf", "data"), ("h5", "data"), ("fits", "fits/0/data")):
        commands = {"trilith": bench.python(OURS, small[kind], key, str(REPEATS)), "safetensors": theirs}
        what = f"open a small file (.{kind}) and read its array, {REPEATS:,} times"
        yield Work(f"opening-{kind}", what, commands, inner=True, wants={"safetensors": 0.5})
    ours, other = (bench.file(f"arrays-{ARRAYS}.{kind}", make_arrays, ARRAYS) for kind in ("asdf", "safetensors"))
    commands = {"trilith": bench.python(OURS_MANY, ours), "safetensors": bench.python(THEIRS_MANY, other)}
    yield Work("opening-arrays", f"read {ARRAYS:,} arrays of one file", commands, inner=True, wants={"safetensors": 0.5})
    yield Work(
        "opening-start",
        "start and print the version",
        {"trilith": [bench.program, "--version"], "true": ["true"]},
        by="wall_s",
        wants={"true": 0.32},
        count=True,
    )
    body = "print(len(f['group000']), f._blocks.blocks[-1].header['used_size'])"
    commands = {
        "trilith": [bench.program, "info", many(bench)],
        "asdf": bench.python(PROLOGUE + "f = asdf.open(sys.argv[1]); " + body, many(bench)),
    }
    yield Work("opening-info", f"`info` of {bench.count:,} arrays", commands, wants={"asdf": 100}, count=True)
    headers = bench.file(f"headers-{bench.count // 10}", make_headers, bench.count // 10)
    commands = {
        "trilith": [bench.program, "search", "--key", "EXPTIME", headers],
        "getheader": bench.python(GETHEADER, headers),
    }
    yield Work("opening-search", f"one card of {bench.count // 10:,} FITS files", commands, wants={"getheader": 20}, count=True)
