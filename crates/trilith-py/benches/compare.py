"""The same work by Python's asdf and by trilith, in turns in one run: medians, and how many times faster.

    python benches/compare.py [--runs N] [--small]

Each figure is the median of N runs in one process (of N processes for import), wall time.
"""

import argparse
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
import warnings

import asdf
import numpy as np

import trilith

warnings.simplefilter("ignore")


def clock(work):
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def start_up(module):
    """Seconds that a new Python takes to import this, beyond numpy."""
    code = f"import numpy, time; start = time.perf_counter(); import {module}; print(time.perf_counter() - start)"
    return float(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True).stdout)


def files(folder, small):
    rng = np.random.default_rng(8)
    side = 1024 if small else 4096
    noise = rng.normal(100, 5, (side, side)).astype("f4")
    image = (noise * 4).astype("i2")
    made = {
        "small": ({"meta": {"exposure": 139.8}, "data": np.arange(100.0)}, None),
        "tree": ({"items": [{"id": i, "name": f"item {i}", "xyz": [i, i + 0.5, -i]} for i in range(2_000 if small else 100_000)]}, None),
        "many": ({"arrays": {f"a{i}": np.full(16, i, "f4") for i in range(1_000 if small else 10_000)}}, None),
        "plain": ({"data": noise}, None),
        "lz4": ({"data": image}, "lz4"),
        "zlib": ({"data": image[: side // 4]}, "zlib"),
    }
    for name, (tree, codec) in made.items():
        asdf.AsdfFile(tree).write_to(folder / f"{name}.asdf", all_array_compression=codec)
    return made


def open_theirs(path, use):
    with asdf.open(path) as f:
        return use(f)


def open_ours(path, use):
    with trilith.open(path) as f:
        return use(f)


def work(folder, made):
    """Name, asdf's way, trilith's way."""
    middle = made["plain"][0]["data"].shape[0] // 2

    def both(name, path, theirs, ours=None):
        path = folder / f"{path}.asdf"
        return name, lambda: open_theirs(path, theirs), lambda: open_ours(path, ours or theirs)

    yield both("open small", "small", lambda f: f["meta"]["exposure"])
    yield both("open large tree", "tree", lambda f: f["items"][17]["id"])
    yield both("open many arrays, one read", "many", lambda f: np.asarray(f["arrays"]["a77"]).sum())
    yield both("open many arrays, all read", "many", lambda f: sum(float(np.asarray(f["arrays"][k])[0]) for k in f["arrays"]))
    yield both("slice plain, 10 rows", "plain", lambda f: f["data"][middle : middle + 10].sum())
    yield both("slice lz4, 10 rows", "lz4", lambda f: f["data"][middle : middle + 10].sum())
    yield both("read all plain", "plain", lambda f: np.array(f["data"][...]), lambda f: f["data"][...])
    yield both("sum all plain", "plain", lambda f: f["data"][...].sum(), lambda f: np.asarray(f["data"]).sum())
    yield both("read all lz4", "lz4", lambda f: f["data"][...])
    yield both("read all zlib", "zlib", lambda f: f["data"][...])
    for codec in (None, "lz4"):
        tree = made["plain" if codec is None else "lz4"][0]
        yield (
            f"write {codec or 'plain'}",
            lambda codec=codec, tree=tree: asdf.AsdfFile(tree).write_to(folder / "theirs.asdf", all_array_compression=codec),
            lambda codec=codec, tree=tree: trilith.write(folder / "ours.asdf", tree, codec=codec),
        )
    tree = made["many"][0]
    yield (
        "write many arrays",
        lambda: asdf.AsdfFile(tree).write_to(folder / "theirs.asdf"),
        lambda: trilith.write(folder / "ours.asdf", tree),
    )


def report(name, theirs, ours):
    theirs, ours = statistics.median(theirs), statistics.median(ours)
    print(f"{name:<28} {theirs * 1e3:>12.2f} {ours * 1e3:>12.3f} {theirs / ours:>9.1f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--small", action="store_true", help="files of a sixteenth of the size")
    options = parser.parse_args()
    print(f"asdf {asdf.__version__}, trilith {trilith.__version__}, numpy {np.__version__}, medians of {options.runs} runs\n")
    print(f"{'':<28} {'asdf ms':>12} {'trilith ms':>12} {'ratio':>9}")
    runs = range(options.runs)
    pairs = [(start_up("asdf"), start_up("trilith")) for _ in runs]
    report("import, beyond numpy's own", [pair[0] for pair in pairs], [pair[1] for pair in pairs])
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for name, theirs, ours in work(folder, files(folder, options.small)):
            theirs(), ours()
            pairs = [(clock(theirs), clock(ours)) for _ in runs]
            report(name, [pair[0] for pair in pairs], [pair[1] for pair in pairs])


if __name__ == "__main__":
    main()
