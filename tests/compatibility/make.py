#!/usr/bin/env python3
"""Write the files of a version, and what its commands printed of them.

    python3 tests/compatibility/make.py TRILITH FOLDER

TRILITH is the command of that version. The Python that runs this script has the package of the same version, with h5py, netCDF4,
astropy, tifffile and numpy. FOLDER gets the name of the commit. It is written once for a commit, and is not written again afterwards:
later versions read it. `strace` is needed for the file whose update was interrupted.
"""

import contextlib
import json
import os
import pathlib
import pickle
import shutil
import subprocess
import sys

import numpy as np

ENVIRONMENT = {
    **{name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ},
    "NO_COLOR": "1", "COLUMNS": "100", "TZ": "UTC", "LC_ALL": "C.UTF-8", "SOURCE_DATE_EPOCH": "1700000000",
}

# Each command that prints JSON of one file, and the commands whose text other programs read. `{}` is the file.
COMMANDS = [
    "info {} --json", "tree {} --json", "tree {} --json --inline", "blocks {} --json", "digest {} --json", "verify {} --json",
    "verify --deep {} --json", "validate {} --json", "search {} --key . --json", "stats {}#/ --json", "diff {} {} --json", "sky {} --json",
    "refs {} --json", "get {}#/ --json", "to-yaml {} --json", "to-yaml {}", "describe {} --json", "table {} -c path=/ --json",
    "layout from {} --json", "layout from {}", "layout resolve {} --json", "manifest {} --skip --json -o -", "history {} --json",
    "show {}#/ --json",
]


def hdf5(path):
    import h5py

    with h5py.File(path, "w", track_order=True) as f:
        f.attrs["title"] = "run 7"
        f.attrs["gain"] = np.float32(1.5)
        f.attrs["flags"] = np.array([1, 2, 3], "i2")
        f.attrs["matrix"] = np.arange(6, dtype="u1").reshape(2, 3)
        run = f.create_group("run", track_order=True)
        counts = run.create_dataset("counts", data=np.arange(24, dtype=">i4").reshape(4, 6), chunks=(2, 4), compression="gzip", shuffle=True)
        counts.attrs["units"] = "adu"
        run["x"] = np.linspace(0, 1, 6)
        run["x"].make_scale("x")
        counts.dims[1].attach_scale(run["x"])
        run["small"] = np.arange(5, dtype="f2")
        run["name"] = "probe"
        run["names"] = np.array([b"ab", b"c"], "S3")
        run["words"] = np.array(["one", "three"], h5py.string_dtype())
        run.create_dataset("lists", (2,), h5py.vlen_dtype("i4"))
        run["lists"][0], run["lists"][1] = [1, 2], [3]
        record = np.zeros(3, [("t", "f8"), ("label", "S4"), ("v", "i2", (2,))])
        record["t"], record["label"] = [1, 2, 3], [b"a", b"bb", b"c"]
        run["record"] = record
        run.create_dataset("state", data=[0, 1, 0], dtype=h5py.enum_dtype({"OFF": 0, "ON": 1}, "i1"))
        run.create_dataset("gaps", (6, 4), "i2", chunks=(2, 4), fillvalue=-1)[2:4] = 7
        run["link"] = h5py.SoftLink("/run/counts")
        run.attrs["main"] = run["counts"].ref


def netcdf(path, form):
    import netCDF4

    with netCDF4.Dataset(path, "w", format=form) as f:
        f.title = "temperatures"
        f.createDimension("time", None)
        f.createDimension("x", 3)
        time = f.createVariable("time", "f8", ("time",))
        time.units, time.calendar = "days since 2000-01-01", "standard"
        time[:] = [0, 1]
        t = f.createVariable("t", "i2", ("time", "x"), fill_value=-99)
        t.set_auto_maskandscale(False)
        t.scale_factor, t.add_offset, t.units = 0.5, 10.0, "K"
        t[:] = [[1, 2, -99], [4, 5, 6]]
        f.createVariable("x", "f4", ("x",))[:] = [1, 2, 3]
        f.createVariable("letters", "S1", ("x",))[:] = [b"a", b"b", b"c"]


def fits(path):
    from astropy.io import fits as io

    image = io.ImageHDU(np.arange(20, dtype="i2").reshape(4, 5), name="SCI")
    image.header.update({"BSCALE": 0.5, "BZERO": 10.0, "BUNIT": "adu", "EXPTIME": (500.0, "[s] exposure"), "CTYPE1": "RA---TAN",
                         "CTYPE2": "DEC--TAN", "CRVAL1": 10.0, "CRVAL2": 20.0, "CRPIX1": 3.0, "CRPIX2": 2.0, "CDELT1": -0.01,
                         "CDELT2": 0.01, "CUNIT1": "deg", "CUNIT2": "deg"})
    columns = [io.Column("ID", "J", array=[1, 2, 3]), io.Column("FLUX", "E", unit="mJy", array=[1.5, 2.5, 3.5]),
               io.Column("NAME", "5A", array=["a", "bb", "ccc"])]
    table = io.BinTableHDU.from_columns(columns, name="CAT")
    packed = io.CompImageHDU(np.arange(64, dtype="i4").reshape(8, 8), name="PACKED", compression_type="RICE_1")
    primary = io.PrimaryHDU()
    primary.header["OBJECT"] = "M31"
    primary.header.add_history("made for a test")
    # The name of the file that astropy remembers has no influence on the bytes.
    io.HDUList([primary, image, table, packed]).writeto(path)


def tiff(path):
    import tifffile

    with tifffile.TiffWriter(path) as file:
        file.write(np.arange(48, dtype="u2").reshape(6, 8), rowsperstrip=2, compression="zlib", description="six rows", metadata=None,
                   extratags=[(42113, "s", 0, "5", True)], software="none", datetime="2020:01:01 00:00:00")


def npz(path):
    record = np.zeros(3, [("x", "i4"), ("y", "f8", (2,))])
    record["x"] = [1, 2, 3]
    np.savez(path, a=np.arange(10.0), b=np.arange(6, dtype=">i2").reshape(2, 3), record=record, s=np.array(["é", "abc"]))


def main():
    program, folder = str(pathlib.Path(sys.argv[1]).resolve()), pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True)
    os.chdir(folder)

    def trilith(*words, check=True, prefix=()):
        done = subprocess.run([*prefix, program, *words], env=ENVIRONMENT, capture_output=True, stdin=subprocess.DEVNULL)
        if check and done.returncode:
            raise SystemExit(f"{words}: status {done.returncode}: {done.stderr.decode()}")
        return done

    # Files of other programs.
    hdf5("run.h5")
    netcdf("t3.nc", "NETCDF3_CLASSIC")
    netcdf("t4.nc", "NETCDF4")
    fits("image.fits")
    tiff("page.tif")
    npz("arrays.npz")
    np.save("one.npy", np.arange(12, dtype="f4").reshape(3, 4))

    # Trees with the mapping `dudley`, layouts in files, FITS files with a tree, and each generation.
    for name in ["run.h5", "t3.nc", "t4.nc", "page.tif", "arrays.npz", "one.npy"]:
        trilith("convert", name, f"{name}.asdf", "--allow-loss", "--quiet")
        trilith("convert", name, f"{name}.bd", "--allow-loss", "--quiet")
        (pathlib.Path(f"{name}.dud")).write_bytes(trilith("layout", "from", name).stdout)
    trilith("convert", "image.fits", "image.fits.asdf", "--quiet")
    trilith("convert", "image.fits", "image.physical.asdf", "--physical", "--quiet", "--allow-loss")
    trilith("convert", "run.h5.asdf", "run.h5.fits", "--allow-loss", "--quiet")
    for target in ["finf-0.1", "asdf-0.1-dev", "asdf-0.1", "asdf-1.0", "asdf-1.5", "asdf-1.6"]:
        trilith("convert", "arrays.npz.asdf", f"arrays.{target}.asdf", "--to", target, "--allow-loss", "--quiet")
    trilith("convert", "arrays.npz.asdf", "arrays.encoded.asdf", "--to", "asdf-0.1", "--encode", "[zlib]", "--allow-loss", "--quiet")
    for codec in ["zlib", "bzp2", "lz4", "zstd", "blsc"]:
        trilith("convert", "arrays.npz.asdf", f"arrays.{codec}.asdf", "--codec", codec, "--quiet")
    trilith("convert", "arrays.npz.asdf", "arrays.chunks.asdf", "--chunks", "1,2", "--quiet")

    # Trees that this version edited: anchors, history, arrays.
    pathlib.Path("edited.asdf").write_text(
        "#ASDF 1.0.0\n#ASDF_STANDARD 1.6.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n--- !core/asdf-1.1.0\n"
        "# a comment\na: &shared {x: 1}\nb: *shared\nlist: [1, two, 3.5]\n...\n")
    trilith("insert", "edited.asdf#/data", "--from", "one.npy", "--in-place", "--quiet")
    trilith("set", "edited.asdf#/list/1", "2", "--in-place", "--quiet")
    trilith("history", "add", "edited.asdf", "an entry", "--in-place", "--quiet", check=False)

    # Exploded files.
    trilith("explode", "arrays.npz.asdf", "-o", "exploded", "--quiet")

    # File sets: files without a signature, under a layout, and their catalog.
    for number, count in enumerate([2, 3]):
        part = np.array([count], "<i8").tobytes() + np.array([0.5 * number], "<f8").tobytes()
        pathlib.Path(f"dump{number}.raw").write_bytes(part + np.arange(count, dtype="<f8").tobytes())
    pathlib.Path("dump.dud").write_text('| { N : i8  time : f8 }  ## the parameters\n| rho = f8[N] #: unit="g/cc"\n'.replace("| ", ""))
    trilith("layout", "catalog", "dump.dud", "dump0.raw", "dump1.raw", "-o", "dumps.bd", "--byteorder", "little", "--quiet")

    # A file whose update in place was interrupted: the journal beside it is complete, the file is not.
    shutil.copy("edited.asdf", "interrupted.asdf")
    words = ["set", "interrupted.asdf#/a/x", "2", "--in-place", "--quiet"]
    for name, number in [("unlink", 1), ("unlinkat", 1), ("rename", 1)]:
        trilith(*words, check=False, prefix=("strace", "-f", "-o", "/dev/null", "-e", f"inject={name}:signal=KILL:when={number}"))
        if any("journal" in path.name for path in pathlib.Path().iterdir()):
            break
    else:
        raise SystemExit("no journal was left")

    # Pickled arrays. The folder is a word that the reader replaces: pickles of protocol 0 are lines of text.
    import trilith as package

    pickles = {}
    for path in pathlib.Path().glob("*.*"):
        os.utime(path, (1700000000, 1700000000))  # a pickled array knows when its file was changed
    for name, path in [("arrays.npz.asdf", "a"), ("arrays.npz.asdf", "b"), ("run.h5", "run/counts"), ("t4.nc", "t"), ("image.fits", "fits/1/data")]:
        with package.open(name) as file:
            text = pickle.dumps(file[path], protocol=0).decode("ascii")
            pickles[f"{name}#/{path}"] = {"pickle": text.replace(str(pathlib.Path().resolve()), "FOLDER"), "values": np.ma.asarray(file[path][...]).tolist()}
    pathlib.Path("pickles.json").write_text(json.dumps(pickles, indent=1, default=lambda b: b.decode()) + "\n")

    # The output of each command.
    recorded = pathlib.Path("recorded")
    recorded.mkdir()
    for path in sorted(pathlib.Path().iterdir()):
        if path.is_dir() or path.name.startswith(".") or path.suffix in (".raw", ".json", ".dud"):
            continue
        outputs = {}
        for command in COMMANDS:
            done = trilith(*[word.format(path.name) for word in command.split()], check=False)
            outputs[command] = {"status": done.returncode}
            with contextlib.suppress(UnicodeDecodeError):
                text = done.stdout.decode().replace(str(pathlib.Path().resolve()), "FOLDER")
                try:
                    outputs[command]["json"] = json.loads(text)
                except ValueError:
                    if text:
                        outputs[command]["text"] = text
        (recorded / f"{path.name}.json").write_text(json.dumps(outputs, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
