"""HDF5 files beside h5py: listing many datasets, a slice and the whole of a large one in chunks, a cutout through HTTP.

Whole processes are compared by wall time, since decoding on all cores is what is measured; start-up is included on both sides.
What is served comes from nginx on loopback, whose log counts bytes and requests.
"""

import json
import pathlib
import subprocess
import sys
import time

from harness import Table, Work, measure
from many import H5PY, make_h5

TESTS = pathlib.Path(__file__).resolve().parents[2] / "tests/remote"
ROW = 4096
READ = """
import sys, h5py
with h5py.File(sys.argv[1]) as f:
    d = f["data"]
    d[int(sys.argv[2]):int(sys.argv[3])]
"""
CUTOUT = """
import sys, fsspec, h5py
with fsspec.open(sys.argv[1], block_size=int(sys.argv[2])) as handle, h5py.File(handle) as f:
    f["data"][2000:2100, 1000:1100]
"""


def make_chunks(path, megabytes):
    import h5py
    import numpy as np

    rows = int(megabytes) * (1 << 20) // (4 * ROW)
    random = np.random.default_rng(5)
    with h5py.File(path, "w") as f:
        data = f.create_dataset("data", (rows, ROW), "f4", chunks=(256, 256), compression="gzip", compression_opts=4, shuffle=True)
        for at in range(0, rows, 256):
            # As noisy as an image of the sky.
            data[at : at + 256] = np.round(random.normal(100, 5, (min(256, rows - at), ROW)) * 8) / 8


def works(bench):
    many = bench.file(f"many-{bench.count}.h5", make_h5, bench.count)
    chunks = bench.file(f"chunks-{bench.megabytes}.h5", make_chunks, bench.megabytes)
    rows = bench.megabytes * (1 << 20) // (4 * ROW)
    first, some = rows // 2, (8 << 20) // (4 * ROW)

    def get(start, end):
        return [bench.program, "get", f"{chunks}#/data", "--slice", f"{start}:{end}", "-o", bench.out / "x.raw"]

    def peer(start, end):
        return bench.python(READ, chunks, str(start), str(end))

    return [
        Work(
            "hdf5-list",
            f"{bench.count} datasets, opened and listed",
            {"trilith": [bench.program, "tree", many], "h5py": bench.python(H5PY, many)},
            by="wall_s",
            wants={"h5py": 5},
        ),
        Work(
            "hdf5-slice",
            f"8 MiB of {bench.megabytes} MiB, shuffle and deflate, chunks of 256 x 256",
            {"trilith": get(first, first + some), "h5py": peer(first, first + some)},
            by="wall_s",
            wants={"h5py": 3},
        ),
        Work(
            "hdf5-whole",
            "the whole of it; ours is written into a file",
            {"trilith": get(0, rows), "h5py": peer(0, rows)},
            by="wall_s",
            wants={"h5py": 1.5},
        ),
    ]


def tables(bench):
    sys.path.insert(0, str(TESTS))
    import servers

    if not servers.NGINX:
        return [Table("foreign: no nginx on this machine", [], [])]
    chunks = bench.folder / f"chunks-{bench.megabytes}.h5"
    bench.file(chunks.name, make_chunks, bench.megabytes)
    bench.ready(chunks)
    logs = bench.folder / "nginx"
    logs.mkdir(exist_ok=True)
    server = servers.Nginx(bench.folder, logs)
    url = server.url(chunks.name)
    cutout = f"{url}#/data", "--slice", "2000:2100,1000:1100"
    local = f"{chunks}#/data", *cutout[1:]
    said = subprocess.run([bench.program, "get", *local, "--explain", "--json"], capture_output=True, check=True)
    wanted = json.loads(said.stdout)["stored_bytes"]
    commands = {
        "trilith": [bench.program, "get", *cutout, "-o", bench.out / "x.raw"],
        "trilith, metadata alone": [bench.program, "info", url],
        "h5py, blocks of 64 KiB": bench.python(CUTOUT, url, str(64 << 10)),
        "h5py, blocks of 5 MiB": bench.python(CUTOUT, url, str(5 << 20)),
    }
    rows = []
    try:
        for who, command in commands.items():
            mark, started = server.mark(), time.perf_counter()
            measure(command)
            requests = server.since(mark)
            rows.append([who, len(requests), sum(sent for _, sent, _, _ in requests) / 1e6, time.perf_counter() - started])
    finally:
        server.stop()
    title = f"foreign: a cutout of 100 x 100 through HTTP, whose chunks have {wanted / 1e6:.3f} MB"
    return [Table(title, ["who", "requests", "MB", "wall s"], rows)]
