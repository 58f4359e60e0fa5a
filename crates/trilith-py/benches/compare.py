"""The same work by Python's asdf and by trilith, in turns in one run: medians, and how many times faster.

    python benches/compare.py [--runs N] [--small]

Each figure is the median of N runs in one process (of N processes for import): seconds of CPU of all its
threads, and of the wall clock, which depends on what else the machine does.
"""

import argparse
import contextlib
import functools
import json
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
    """Seconds of CPU, of all threads, and of the wall clock."""
    start = time.process_time(), time.perf_counter()
    work()
    return {"cpu_s": time.process_time() - start[0], "wall_s": time.perf_counter() - start[1]}


def start_up(module):
    """Seconds of CPU that a new Python takes to import this, beyond numpy."""
    code = (
        "import numpy, time; start = time.process_time(), time.perf_counter()\n"
        f"import {module}; print(time.process_time() - start[0], time.perf_counter() - start[1])"
    )
    said = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True).stdout
    return dict(zip(("cpu_s", "wall_s"), map(float, said.split()), strict=True))


def content(small):
    """The content of the files, and their codecs."""
    rng = np.random.default_rng(8)
    side = 1024 if small else 4096
    noise = rng.normal(100, 5, (side, side)).astype("f4")
    # Of the size of an image of the Roman telescope, and as compressible as counts are.
    image = np.round(noise * 4) / 4
    return {
        "small": ({"meta": {"exposure": 139.8}, "data": np.arange(100.0)}, None),
        "tree": ({"items": [{"id": i, "name": f"item {i}", "xyz": [i, i + 0.5, -i]} for i in range(2_000 if small else 100_000)]}, None),
        "many": ({"arrays": {f"a{i}": np.full(16, i, "f4") for i in range(1_000 if small else 10_000)}}, None),
        "plain": ({"data": noise}, None),
        "lz4": ({"data": image}, "lz4"),
        "zlib": ({"data": image[: side // 4]}, "zlib"),
    }


def files(folder, small):
    """Makes the files, unless they are there."""
    made = content(small)
    for name, (tree, codec) in made.items():
        if not (folder / f"{name}.asdf").exists():
            asdf.AsdfFile(tree).write_to(folder / f"{name}.asdf", all_array_compression=codec)
    return made


def opening(function):
    def opened(path, use):
        with function(path) as f:
            return use(f)

    return opened


def work(folder, made):
    """Name, what, asdf's way, trilith's way."""
    middle = made["plain"][0]["data"].shape[0] // 2

    def both(name, what, path, theirs, ours=None, function=trilith.open, **options):
        path = folder / f"{path}.asdf"
        theirs_open = opening(functools.partial(asdf.open, **options))
        ours_open = opening(functools.partial(function, **options))
        return name, what, lambda: theirs_open(path, theirs), lambda: ours_open(path, ours or theirs)

    def row(f):
        return f["data"][middle : middle + 10].sum()

    def each(f):
        return sum(float(np.asarray(f["arrays"][key])[0]) for key in f["arrays"])

    yield both("open-small", "open a small file, one value", "small", lambda f: f["meta"]["exposure"])
    yield both("open-tree", "open a tree of 10 MB, one value", "tree", lambda f: f["items"][17]["id"])
    yield both("open-many", "open 10,000 arrays, read one", "many", lambda f: np.asarray(f["arrays"]["a77"]).sum())
    yield both("read-many", "open 10,000 arrays, read all", "many", each)
    yield both("slice-plain", "10 rows of 4096", "plain", row)
    yield both("slice-lz4", "10 rows of 4096, lz4", "lz4", row)
    yield both("read-plain", "all rows, a copy", "plain", lambda f: np.array(f["data"][...]), lambda f: f["data"][...])
    yield both("sum-plain", "sum of all rows", "plain", lambda f: f["data"][...].sum(), lambda f: np.asarray(f["data"]).sum())
    yield both("read-lz4", "all rows, lz4", "lz4", lambda f: f["data"][...])
    yield both("read-zlib", "all rows, zlib", "zlib", lambda f: f["data"][...])
    for codec in (None, "lz4"):
        tree = made["plain" if codec is None else "lz4"][0]
        yield (
            f"write-{codec or 'plain'}",
            f"write all rows, {codec or 'plain'}",
            lambda codec=codec, tree=tree: asdf.AsdfFile(tree).write_to(folder / "theirs.asdf", all_array_compression=codec),
            lambda codec=codec, tree=tree: trilith.write(folder / "ours.asdf", tree, codec=codec),
        )
    tree = made["many"][0]
    yield (
        "write-many",
        "write 10,000 arrays",
        lambda: asdf.AsdfFile(tree).write_to(folder / "theirs.asdf"),
        lambda: trilith.write(folder / "ours.asdf", tree),
    )
    try:
        from trilith.asdf import open as bridged
    except ImportError:
        return
    yield both("asdf-tree", "a tree of 10 MB as an AsdfFile", "tree", lambda f: f["items"][17]["id"], None, bridged)
    yield both("asdf-lazy", "the same with a lazy tree", "tree", lambda f: f["items"][17]["id"], None, bridged, lazy_tree=True)
    yield both("asdf-slice-lz4", "10 rows of 4096, lz4, of an AsdfFile", "lz4", row, None, bridged)


def median(runs, figure):
    return statistics.median(run[figure] for run in runs)


def report(name, what, theirs, ours):
    cpu = median(theirs, "cpu_s"), median(ours, "cpu_s")
    wall = median(theirs, "wall_s"), median(ours, "wall_s")
    ratio = cpu[0] / max(cpu[1], 1e-9)
    print(f"{name:<15} {what:<38} {cpu[0] * 1e3:>10.2f} {cpu[1] * 1e3:>10.3f} {ratio:>8.1f}", end="")
    print(f" {wall[0] * 1e3:>10.2f} {wall[1] * 1e3:>10.3f}", flush=True)


def one(options, folder):
    """One work by one of the two, for `cargo xtask bench python`: figures as JSON."""
    name, who = options.one
    if name == "import":
        runs = [start_up("asdf" if who == "asdf" else "trilith") for _ in range(options.runs)]
    else:
        theirs, ours = next(found[2:] for found in work(folder, files(folder, options.small)) if found[0] == name)
        do = theirs if who == "asdf" else ours
        do()
        runs = [clock(do) for _ in range(options.runs)]
    print(json.dumps({figure: median(runs, figure) for figure in ("cpu_s", "wall_s")}))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--small", action="store_true", help="files of a sixteenth of the size")
    parser.add_argument("--folder", type=pathlib.Path, help="where the files are made, or were")
    parser.add_argument("--one", nargs=2, metavar=("NAME", "WHO"), help="one work by asdf or by trilith: JSON")
    options = parser.parse_args()
    with contextlib.ExitStack() as stack:
        folder = options.folder or pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
        if options.one:
            one(options, folder)
            return
        print(f"asdf {asdf.__version__}, trilith {trilith.__version__}, numpy {np.__version__}, medians of {options.runs} runs\n")
        print(f"{'':<54} {'asdf':>10} {'trilith':>10} {'ratio':>8} {'asdf':>10} {'trilith':>10}")
        print(f"{'':<54} {'CPU ms':>10} {'CPU ms':>10} {'CPU':>8} {'wall ms':>10} {'wall ms':>10}")
        runs = range(options.runs)
        pairs = [(start_up("asdf"), start_up("trilith")) for _ in runs]
        report("import", "import, beyond numpy's own", *zip(*pairs, strict=True))
        for name, what, theirs, ours in work(folder, files(folder, options.small)):
            theirs(), ours()
            pairs = [(clock(theirs), clock(ours)) for _ in runs]
            report(name, what, *zip(*pairs, strict=True))


if __name__ == "__main__":
    main()
