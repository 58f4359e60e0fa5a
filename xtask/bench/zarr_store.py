"""Opening a file as a group of Zarr and reading a cutout of it, beside VirtualiZarr's parser of HDF5 on the same data.

What is measured begins behind the imports, which differ by far, and ends with the elements in memory. Each run is a fresh process.
"""

import os

from harness import Work

SIDE = 4088
READ = """
import json, resource, sys, time
path = sys.argv[1]
{imports}
start, used = time.perf_counter(), time.process_time()
{work}
cutout = group["data"][2000:2512, 1000:1512]
print(json.dumps({{"cpu_s": time.process_time() - used, "wall_s": time.perf_counter() - start}}))
assert cutout.shape == (512, 512)
"""
OURS = READ.format(imports="import trilith.zarr", work="group = trilith.zarr.open(path)")
THEIRS = READ.format(
    imports="""
import pathlib, obstore.store, virtualizarr.parsers, zarr
from obspec_utils.registry import ObjectStoreRegistry
""",
    work="""
registry = ObjectStoreRegistry({"file://": obstore.store.LocalStore()})
store = virtualizarr.parsers.HDFParser()(pathlib.Path(path).as_uri(), registry)
group = zarr.open_group(store, mode="r", zarr_format=3)
""",
)


def pixels():
    import numpy as np

    # As noisy as an image of the sky.
    return (np.round(np.random.default_rng(5).normal(100, 5, (SIDE, SIDE)) * 8) / 8).astype("f4")


def make_lz4(path):
    import trilith

    trilith.write(path, {"data": pixels()}, codec="lz4")


def make_chunks(path):
    import trilith

    make_lz4(path + ".whole")
    trilith.convert(path + ".whole", path, chunks=(512, 512), codec="lz4")
    os.remove(path + ".whole")


def make_h5(path):
    import h5py

    with h5py.File(path, "w") as file:
        # Chunks as h5py chooses them.
        file.create_dataset("data", data=pixels(), compression="gzip")


def works(bench):
    lz4 = bench.file("zarr-image.asdf", make_lz4)
    chunks = bench.file("zarr-image-chunks.asdf", make_chunks)
    h5 = bench.file("zarr-image.h5", make_h5)
    commands = {
        "trilith": bench.python(OURS, lz4),
        "trilith, in chunks": bench.python(OURS, chunks),
        "trilith, the HDF5 file": bench.python(OURS, h5),
        "virtualizarr": bench.python(THEIRS, h5),
    }
    what = f"open and 512 x 512 of {SIDE} x {SIDE} through Zarr: lz4, and gzip in HDF5"
    yield Work("zarr-cutout", what, commands, inner=True, by="wall_s", wants={"virtualizarr": 5})
