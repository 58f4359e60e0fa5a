"""Large arrays by themselves, inside one process: reading into fresh memory, slicing, writing, beside numpy, h5py and zarr."""

from files import large
from harness import Work

# Each peer's program times `work` as ours do: the mean CPU and the best wall seconds of some runs.
TIMED = """
import json, os, sys, time
def timed(work, runs):
    wall, before = [], time.process_time()
    for _ in range(runs):
        start = time.perf_counter(); work(); wall.append(time.perf_counter() - start)
    print(json.dumps({'cpu_s': (time.process_time() - before) / runs, 'wall_s': min(wall)}))
"""


def make_npy(path, megabytes):
    import numpy as np

    with open(path, "wb") as f:
        np.save(f, np.round(np.random.default_rng(1).normal(100, 5, int(megabytes) << 17), 2))


def make_h5(path, megabytes):
    import h5py
    import numpy as np

    with h5py.File(path, "w") as f:
        f["a"] = np.round(np.random.default_rng(1).normal(100, 5, int(megabytes) << 17), 2)


def make_without_index(path, megabytes):
    """One large block, as `large` has it, and nothing behind it."""
    import asdf
    import numpy as np

    array = np.round(np.random.default_rng(1).normal(100, 5, int(megabytes) << 17), 2)
    asdf.AsdfFile({"a": array}).write_to(path, include_block_index=False)


def works(bench):
    peer, out, megabytes = bench.peer("bulk"), bench.out, bench.megabytes
    plain, lz4 = large(bench, "none"), large(bench, "lz4")
    npy = bench.file(f"large-{megabytes}.npy", make_npy, megabytes)
    h5 = bench.file(f"large-{megabytes}.h5", make_h5, megabytes)
    bare = bench.file(f"large-without-index-{megabytes}.asdf", make_without_index, megabytes)
    rows = megabytes << 17
    span = f"{rows // 2 + 5}:{rows // 2 + 5 + min(1 << 20, rows // 8)}"

    def python(module, body, runs, *words):
        return bench.python(f"{TIMED}\nimport numpy as np, {module}\n{body}\ntimed(work, {runs})", *words)

    numbers = f"a = np.sin(np.arange({rows}) * 1.1)\n"
    saved = numbers + "def work(): np.save(sys.argv[1], a)"
    h5_saved = numbers + "def work():\n  with h5py.File(sys.argv[1], 'w') as f: f['a'] = a"
    zarr_saved = numbers + "def work(): zarr.save_array(sys.argv[1], a)"
    asdf_saved = numbers + "def work(): asdf.AsdfFile({'a': a}).write_to(sys.argv[1])"
    return [
        Work(
            "load",
            f"{megabytes} MiB, not compressed, into fresh memory",
            {
                "trilith": [peer, "load", plain],
                "np.load": python("sys", "def work(): np.load(sys.argv[1])", 3, npy),
                "h5py": python("h5py", "def work(): h5py.File(sys.argv[1])['a'][...]", 3, h5),
                "asdf": python("asdf", "def work(): np.array(asdf.open(sys.argv[1])['a'])", 3, plain),
            },
            inner=True,
            by="wall_s",  # CPU seconds would count both threads
            wants={"np.load": 1, "h5py": 1},
        ),
        Work(
            "slice",
            f"8 MiB of {megabytes} MiB, file opened each time, 50 times",
            {
                "trilith": [peer, "slice", plain],
                "memmap": python("sys", f"def work(): np.load(sys.argv[1], mmap_mode='r')[{span}].copy()", 50, npy),
                "h5py": python("h5py", f"def work(): h5py.File(sys.argv[1])['a'][{span}]", 50, h5),
            },
            inner=True,
            by="wall_s",
            wants={"memmap": 1 / 1.3},
        ),
        Work(
            "slice-of-lz4",
            "the same of lz4 (asdf: twice)",
            {
                "trilith": [peer, "slice", lz4],
                "asdf": python("asdf", f"def work(): asdf.open(sys.argv[1])['a'][{span}].copy()", 2, lz4),
            },
            inner=True,
            by="wall_s",
            wants={"asdf": 100},
        ),
        Work(
            "open-bare",
            f"open {megabytes} MiB without a block index and find its blocks",
            {"trilith": [peer, "open", bare]},
            inner=True,
        ),
        Work(
            "save",
            f"write {megabytes} MiB, no checksum",
            {
                # numpy asks for large pages, which the system writes faster: the same for the numbers that ours are made of.
                "trilith": ["env", "GLIBC_TUNABLES=glibc.malloc.hugetlb=1", peer, "write", out / "t.asdf", megabytes],
                "np.save": python("sys", saved, 4, out / "p.npy"),
                "h5py": python("h5py", h5_saved, 2, out / "p.h5"),
                "zarr": python("zarr", zarr_saved, 1, out / "p.zarr"),
            },
            inner=True,
            by="wall_s",  # the first touch of memory counts as CPU time, and differs from run to run
            wants={"np.save": 0.9},
        ),
        Work(
            "save-md5",
            f"write {megabytes} MiB with MD5, beside MD5 alone",
            {
                "trilith": [peer, "write-md5", out / "t.asdf", megabytes],
                "MD5 alone": [peer, "md5", "none", megabytes],
                "asdf": python("asdf", asdf_saved, 2, out / "p.asdf"),
            },
            inner=True,
            by="wall_s",
            wants={"MD5 alone": 0.97},
        ),
    ]
