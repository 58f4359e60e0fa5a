"""Files of many small arrays: opening, listing, reading one, writing, in whole processes and inside of one."""

from bulk import TIMED
from files import make_many, many
from harness import Work


def make_safetensors(path, count):
    import numpy as np
    from safetensors.numpy import save_file

    save_file({f"group{i // 100:03}/array{i % 100:03}": np.full(100, i, "f4") for i in range(int(count))}, path)


def make_h5(path, count):
    import h5py
    import numpy as np

    with h5py.File(path, "w") as f:
        for i in range(int(count)):
            f[f"group{i // 100:03}/array{i % 100:03}"] = np.full(100, i, "f4")


def make_zarr(path, count):
    import numpy as np
    import zarr

    store = zarr.storage.ZipStore(path, mode="w")
    root = zarr.create_group(store)
    for i in range(int(count)):
        root.create_array(f"group{i // 100:03}/array{i % 100:03}", data=np.full(100, i, "f4"))
    store.close()


SAFETENSORS = """
import sys; from safetensors import safe_open
with safe_open(sys.argv[1], 'numpy') as f:
    for k in f.keys():
        s = f.get_slice(k); print(k, s.get_dtype(), s.get_shape())
"""
SAFETENSORS_IN = TIMED + """
from safetensors import safe_open
def work():
    with safe_open(sys.argv[1], 'numpy') as f:
        for k in f.keys():
            s = f.get_slice(k); k, s.get_dtype(), s.get_shape()
timed(work, 20)
"""
H5PY = """
import sys, h5py
with h5py.File(sys.argv[1]) as f:
    for g in f:
        for n, a in f[g].items(): print(g, n, a.dtype, a.shape)
"""
ZARR = """
import sys, zarr
root = zarr.open_group(zarr.storage.ZipStore(sys.argv[1], mode='r'), mode='r')
for name, group in root.groups():
    for n, a in group.arrays(): print(name, n, a.dtype, a.shape)
"""


def works(bench):
    peer, out, count = bench.peer("many"), bench.out, bench.count
    file = many(bench)
    fewer = bench.file(f"many-{count // 10}.asdf", make_many, count // 10)
    tensors = bench.file(f"many-{count}.safetensors", make_safetensors, count)
    h5 = bench.file(f"many-{count}.h5", make_h5, count)
    zarr = bench.file(f"many-{count // 10}.zarr.zip", make_zarr, count // 10)
    return [
        Work(
            "many-list",
            f"open and list {count:,} arrays, whole processes (zarr: a tenth of them)",
            {
                "trilith": [bench.program, "tree", file],
                "safetensors": bench.python(SAFETENSORS, tensors),
                "h5py": bench.python(H5PY, h5),
                "zarr": bench.python(ZARR, zarr),
            },
            wants={"safetensors": 1},
        ),
        Work(
            "many-list-in",
            f"open and list {count:,} arrays, inside a process, 20 times (safetensors: from PyPI, and its bare crate)",
            {
                "trilith": [peer, "trilith", "list", file],
                "asdf-rs": [peer, "asdf-rs", "list", file],
                "safetensors": bench.python(SAFETENSORS_IN, tensors),
                "its crate": [peer, "safetensors", "list", tensors],
            },
            inner=True,
            wants={"asdf-rs": 3, "safetensors": 1},
        ),
        Work(
            "many-read-one",
            f"read one of {count:,} arrays of an open file; one of {count // 10:,}",
            {"trilith": [peer, "trilith", "read-one", file], "of fewer": [peer, "trilith", "read-one", fewer]},
            inner=True,
            wants={"of fewer": 0.8},
        ),
        Work(
            "many-write",
            f"write {count:,} arrays with checksums, inside a Rust process, 5 times",
            {
                "trilith": [peer, "trilith", "write", out / "t.asdf", count],
                "asdf-rs": [peer, "asdf-rs", "write", out / "r.asdf", count],
            },
            inner=True,
            wants={"asdf-rs": 1},
        ),
    ]
