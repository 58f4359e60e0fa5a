"""Python asdf and Trilith do the same work in turns, on files made for it. Called by `cargo xtask bench`.

Every figure is of a whole process, start-up included, because that is what a script or a shell pays; the work `start` tells how
much of it is start-up. CPU seconds (user and system) are compared, since wall times depend on what else the machine does.
"""

import argparse
import datetime
import importlib.metadata
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import time

PROLOGUE = "import sys, warnings; warnings.simplefilter('ignore'); import asdf, numpy as np\n"
LIST = "[print(k, n, a.dtype, a.shape) for k, g in f.tree.items() if k[:5] == 'group' for n, a in g.items()]"
CODECS = ("none", "zlib", "bzp2", "lz4", "lz4f", "zstd", "blsc")


def files(folder, small):
    """The paths of the files by name, and their size; makes those that are missing."""
    megabytes, count = (64, 1000) if small else (1024, 10_000)
    paths = {name: folder / f"{name}-{megabytes}-{count}.asdf" for name in ("plain", "lz4", "zlib", "many", "image")}
    if not all(path.exists() for path in paths.values()):
        # In a process of its own: the peak memory of a child is never less than that of its parent when it was started.
        words = [sys.executable, __file__, "--make", *map(str, paths.values()), str(megabytes), str(count)]
        subprocess.run(words, check=True)
    return paths, megabytes


def make(plain, lz4, zlib, many, image, megabytes, count):
    """Writes the files with Python asdf."""
    import asdf
    import numpy as np

    random = np.random.default_rng(1)
    # Numbers as measured: noise in the low bits, so that compression has something to do and not everything to win.
    array = np.round(random.normal(100, 5, int(megabytes) << 17), 2)
    asdf.AsdfFile({"a": array}).write_to(plain)
    asdf.AsdfFile({"a": array}).write_to(lz4, all_array_compression="lz4")
    asdf.AsdfFile({"a": array[: len(array) // 8]}).write_to(zlib, all_array_compression="zlib")
    tree = {}
    for i in range(int(count)):
        tree.setdefault(f"group{i // 100:03}", {})[f"array{i % 100:03}"] = np.full(100, i, "f4")
    asdf.AsdfFile(tree).write_to(many)
    pixels = random.normal(100, 5, (1024, 1024)).astype("f4")
    counts = np.clip(random.poisson(100, (1024, 1024)), 0, 32767).astype("i2")
    asdf.AsdfFile({"float32": pixels, "int16": counts}).write_to(image)


def works(program, paths, megabytes, out):
    """Name -> (what, Trilith's command, Python's commands by name)."""
    rows = megabytes << 17
    start, length = rows // 2 + 5, min(1 << 20, rows // 8)  # 8 MiB of float64 in the middle
    span = f"{start}:{start + length}"
    opened = "f = asdf.open(sys.argv[1]{}); "

    def python(body, path, *rest, options=""):
        return [sys.executable, "-c", PROLOGUE + opened.format(options) + body, path, *rest]

    take = f"np.save(sys.argv[2], f['a'][{span}])"
    return {
        "start": (
            "nothing but starting",
            [program, "--version"],
            {"asdf": [sys.executable, "-c", PROLOGUE]},
        ),
        "list": (
            f"open {paths['many'].name} and list its arrays",
            [program, "tree", paths["many"]],
            {"asdf": python(LIST, paths["many"])},
        ),
        "slice-plain": (
            f"{length * 8 >> 20} MiB of {megabytes} MiB, not compressed",
            [program, "get", f"{paths['plain']}#/a", "--slice", span, "-o", out / "t.npy"],
            {
                "asdf": python(take, paths["plain"], out / "p.npy"),
                "asdf memmap": python(take, paths["plain"], out / "p.npy", options=", memmap=True"),
            },
        ),
        "slice-lz4": (
            f"{length * 8 >> 20} MiB of {megabytes} MiB, lz4",
            [program, "get", f"{paths['lz4']}#/a", "--slice", span, "-o", out / "t.npy"],
            {"asdf": python(take, paths["lz4"], out / "p.npy")},
        ),
        **{
            f"read-{name}": (
                f"all of {paths[name].name} to a .npy file",
                [program, "get", f"{paths[name]}#/a", "-o", out / "t.npy"],
                {"asdf": python("np.save(sys.argv[2], f['a'][...])", paths[name], out / "p.npy")},
            )
            for name in ("plain", "lz4", "zlib")
        },
        **{
            f"write-{codec}": (
                f"read {paths['plain'].name}, write with MD5, codec {codec}",
                [program, "convert", paths["plain"], out / "t.asdf", "--codec", codec],
                {
                    "asdf": python(
                        f"f.write_to(sys.argv[2], all_array_compression={None if codec == 'none' else codec!r})",
                        paths["plain"],
                        out / "p.asdf",
                    )
                },
            )
            for codec in ("none", "lz4")
        },
    }


def measure(command):
    """CPU seconds, wall seconds and peak MiB of one run; an error text where it fails."""
    started = time.perf_counter()
    child = subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    said = child.stderr.read().decode(errors="replace")
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    wall = time.perf_counter() - started
    if child.returncode:
        lines = said.strip().splitlines() or [""]
        # A command of ours says first what is wrong, a Python program last.
        raise RuntimeError(f"ended with {child.returncode}: {lines[-1] if lines[0].startswith('Traceback') else lines[0]}")
    return {"cpu_s": usage.ru_utime + usage.ru_stime, "wall_s": wall, "peak_mib": usage.ru_maxrss / 1024}


def medians(runs):
    return {key: statistics.median(run[key] for run in runs) for key in runs[0]}


def compare(what, ours, theirs, count, out):
    """Runs all commands in turns, so that a busy minute falls on each of them."""
    commands = {"trilith": ours, **theirs}
    runs = {name: [] for name in commands}
    problems = {}
    for _ in range(count):
        for name, command in commands.items():
            if name not in problems:
                try:
                    runs[name].append(measure(command))
                except (RuntimeError, OSError) as problem:
                    problems[name] = str(problem)
            for left in out.iterdir():
                left.unlink()
    result = {"what": what, "runs": runs, "median": {n: medians(r) for n, r in runs.items() if r}, "problems": problems}
    own = result["median"].get("trilith")
    result["ratio"] = {
        name: their["cpu_s"] / max(own["cpu_s"], 1e-4) for name, their in result["median"].items() if own and name != "trilith"
    }
    return result


def sizes(program, path, out):
    """Bytes of the image file after converting with each codec."""
    table = {}
    for codec in CODECS:
        target = out / f"{codec}.asdf"
        try:
            measure([program, "convert", path, target, "--codec", codec])
            table[codec] = target.stat().st_size
        except (RuntimeError, OSError) as problem:
            table[codec] = str(problem)
        target.unlink(missing_ok=True)
    return table


def processor():
    try:
        lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor()


def show(report):
    print(f"{report['processor']}, {report['processors']} processors, {report['date']}", end="; ")
    print(f"Python {report['python']}, asdf {report['asdf']}")
    print("CPU seconds of whole processes, median; `times` is the peer's through Trilith's\n")
    print(f"{'work':<12} {'who':<12} {'CPU s':>9} {'wall s':>9} {'peak MiB':>9} {'times':>8}")
    for name, row in report["works"].items():
        for who, figure in row["median"].items():
            times = f"{row['ratio'][who]:8.1f}" if who in row["ratio"] else ""
            print(f"{name:<12} {who:<12} {figure['cpu_s']:9.3f} {figure['wall_s']:9.3f} {figure['peak_mib']:9.0f} {times}")
        for who, problem in row["problems"].items():
            print(f"{name:<12} {who:<12} {problem}")
        print(f"{'':<12} {row['what']}")
    if report["sizes"]:
        print("\nsize of an image file (float32 and int16, 1024 x 1024) by codec")
        for codec, size in report["sizes"].items():
            print(f"{codec:<12} {size if isinstance(size, str) else format(size, '12,')}")


def main():
    if sys.argv[1:2] == ["--make"]:
        return make(*sys.argv[2:])
    options = argparse.ArgumentParser(prog="cargo xtask bench", description=__doc__)
    options.add_argument("--program", required=True, help=argparse.SUPPRESS)
    options.add_argument("--folder", required=True, type=pathlib.Path, help=argparse.SUPPRESS)
    options.add_argument("--json", action="store_true", help="one JSON document with every run")
    options.add_argument("--small", action="store_true", help="64 MiB and 1,000 arrays in place of 1 GiB and 10,000")
    options.add_argument("--runs", type=int, default=5, help="how often each is run (5)")
    options.add_argument("work", nargs="*", help="only these works, `sizes` among them")
    chosen = options.parse_args()
    out = chosen.folder / "out"
    out.mkdir(parents=True, exist_ok=True)
    paths, megabytes = files(chosen.folder, chosen.small)
    table = works(chosen.program, paths, megabytes, out)
    unknown = [name for name in chosen.work if name not in table and name != "sizes"]
    if unknown:
        options.error(f"no work {unknown[0]!r}; there are {', '.join(table)}, sizes")
    picked = {name: row for name, row in table.items() if not chosen.work or name in chosen.work}
    report = {
        "date": datetime.date.today().isoformat(),
        "processor": processor(),
        "processors": os.cpu_count(),
        "python": platform.python_version(),
        "asdf": importlib.metadata.version("asdf"),
        "works": {name: compare(*row, chosen.runs, out) for name, row in picked.items()},
        "sizes": sizes(chosen.program, paths["image"], out) if not chosen.work or "sizes" in chosen.work else {},
    }
    if chosen.json:
        print(json.dumps(report, indent=1))
    else:
        show(report)
    failed = any(row["problems"] for row in report["works"].values()) or any(isinstance(s, str) for s in report["sizes"].values())
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
