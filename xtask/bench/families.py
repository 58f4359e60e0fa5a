"""One variable of many restart files of one layout in xarray: open and reduce it, beside `open_mfdataset` on netCDF4 files.

Both sets hold the same numbers: 12 variables of 1 kB and a time in each file. The time includes the start of Python and the imports.
"""

from harness import Work

CELLS = 128
NAMES = ["rho", "te", "ti", "tr", "ux", "uy", "uz", "bx", "by", "bz", "p", "e"]
LAYOUT = "{ n : <i8  time = <f8 }\n" + "".join(f"{name} = <f8[n]\n" for name in NAMES)


def numbers(row):
    import numpy as np

    return np.arange(len(NAMES) * CELLS, dtype="f8").reshape(len(NAMES), CELLS) + row


def make_raw(path, count):
    import pathlib

    import numpy as np
    import trilith

    folder = pathlib.Path(path)
    folder.mkdir()
    for row in range(int(count)):
        head = np.int64(CELLS).tobytes() + np.float64(row / 8).tobytes()
        (folder / f"r{row:05}.dat").write_bytes(head + numbers(row).tobytes())
    trilith.Layout(LAYOUT).catalog(str(folder / "r*.dat"), folder / "run.bd")


def make_netcdf(path, count):
    import pathlib

    import netCDF4

    folder = pathlib.Path(path)
    folder.mkdir()
    for row in range(int(count)):
        with netCDF4.Dataset(folder / f"r{row:05}.nc", "w") as file:
            file.createDimension("n", CELLS)
            file.createDimension("time", 1)
            file.createVariable("time", "f8", ("time",))[:] = row / 8
            for name, values in zip(NAMES, numbers(row), strict=True):
                file.createVariable(name, "f8", ("time", "n"))[:] = values


OURS = """
import sys, xarray
with xarray.open_dataset(sys.argv[1] + "/run.bd", engine="trilith", chunks={}) as ds:
    mean = float(ds.rho.mean())
assert mean == 63.5 + (ds.sizes["time"] - 1) / 2, mean
"""
THEIRS = """
import glob, sys, xarray
files = sorted(glob.glob(sys.argv[1] + "/*.nc"))
with xarray.open_mfdataset(files, engine="netcdf4", combine="nested", concat_dim="time", {more}) as ds:
    mean = float(ds.rho.mean())
assert mean == 63.5 + (ds.sizes["time"] - 1) / 2, mean
"""
# As the page of xarray on speed has it: nothing is compared, and only the variable is opened.
FAST = 'coords="minimal", data_vars="minimal", compat="override", join="override", preprocess=lambda ds: ds[["rho"]]'


def works(bench):
    raw = bench.file(f"families-{bench.count}-raw", make_raw, bench.count)
    netcdf = bench.file(f"families-{bench.count}-netcdf", make_netcdf, bench.count)
    return [
        Work(
            "families-xarray",
            f"open {bench.count:,} files of 13 variables with xarray, and reduce one of them",
            {
                "trilith": bench.python(OURS, raw),
                "open_mfdataset": bench.python(THEIRS.replace("{more}", FAST), netcdf),
            },
            by="wall_s",
            wants={"open_mfdataset": 10},
        ),
    ]
