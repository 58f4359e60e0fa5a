"""Trilith and its peers do the same work in turns, on files made for it. Called by `cargo xtask bench`.

A group is a file of this folder: drop `NAME.py` in, and `cargo xtask bench NAME` runs it. It defines

    def works(bench):   # a `Bench`: where things lie and how large they should be
        return [Work("slice-plain", "8 MiB of 1 GiB", {"trilith": [bench.program, ...], "asdf": [...]}), ...]

or `tables(bench)` for figures of another kind, or both. A command is a list of words; its CPU and wall seconds and its peak
memory are measured from outside, start-up included, because that is what a script or a shell pays. Where a whole process says
nothing (a few microseconds, a warm buffer), a command of a work with `inner=True` measures itself and prints
`{"cpu_s": ..., "wall_s": ...}` as its last line. `bench.peer(NAME)` builds a program of `peers/`, a workspace of its own, so that
the crates which we compare with never enter our lock file; `bench.c_program(NAME)` one in C.

CPU seconds (user and system) are compared unless a work says `by="wall_s"`: wall times depend on what else the machine does.
"""

import argparse
import dataclasses
import datetime
import importlib
import importlib.metadata
import inspect
import json
import os
import pathlib
import platform
import re
import shutil
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
GROUPS = sorted(path.stem for path in HERE.glob("*.py") if path.name != "harness.py")


@dataclasses.dataclass
class Work:
    """The same work by several programs."""

    name: str
    what: str
    """In a few words, for the table."""
    commands: dict
    """Who -> the words of a command. The first one's figures are compared with each of the others'."""
    inner: bool = False
    """The commands measure themselves."""
    by: str = "cpu_s"
    """Which figure is compared: `cpu_s` or `wall_s`."""
    wants: dict = dataclasses.field(default_factory=dict)
    """Who -> how many times our figure theirs must be at least."""
    most: dict = dataclasses.field(default_factory=dict)
    """Figure -> what ours may be at most."""
    count: bool = False
    """Whether `--callgrind` counts the instructions of the first command: only for short work."""


@dataclasses.dataclass
class Table:
    """Figures that are no comparison of programs."""

    title: str
    columns: list
    rows: list


@dataclasses.dataclass
class Bench:
    """What a group needs to know."""

    program: str
    """The command `trilith`, as it is released."""
    folder: pathlib.Path
    """Where files that are made once lie."""
    small: bool
    runs: int
    _makers: dict = dataclasses.field(default_factory=dict)
    _built: bool = False

    @property
    def out(self):
        """An empty folder for what a command writes; emptied after each run."""
        path = self.folder / "out"
        path.mkdir(parents=True, exist_ok=True)
        return path

    @property
    def megabytes(self):
        """How large large data is."""
        return 64 if self.small else 1024

    @property
    def count(self):
        """How many many things are."""
        return 1000 if self.small else 10_000

    def file(self, name, make, *words):
        """The path of a file in the folder. Where it is missing, `make(path, *words)` writes it before it is first needed."""
        self._makers[str(self.folder / name)] = (make, words)
        return self.folder / name

    def ready(self, *words):
        """Makes the files and builds the programs among these words of a command, where they are missing."""
        for word in words:
            path = str(word).split("#")[0]
            for made in (path, os.path.dirname(path)):  # a file, or the folder that it is made in
                if made in self._makers and not os.path.exists(made):
                    self._make(pathlib.Path(made), *self._makers[made])
            if path.startswith(str(self.folder / "peers")) and not self._built:
                build = ["cargo", "build", "--locked", "--quiet", "--release", "--manifest-path", HERE / "peers/Cargo.toml"]
                subprocess.run([*build, "--target-dir", self.folder / "peers"], stdout=sys.stderr, check=False)
                self._built = True
            if path.startswith(str(self.folder / "c-programs")):
                self._make_c(pathlib.Path(path))

    def _make(self, path, make, words):
        # In a process of its own: the peak memory of a child is never less than that of its parent when it was started.
        print(f"making {path.name}", file=sys.stderr)
        part = path.with_name("part-" + path.name)
        group = pathlib.Path(inspect.getfile(make)).stem
        code = f"import sys; sys.path.insert(0, sys.argv[1]); import {group}; {group}.{make.__name__}(*sys.argv[2:])"
        subprocess.run([sys.executable, "-B", "-c", code, str(HERE), str(part), *map(str, words)], check=True)
        part.rename(path)

    def _make_c(self, path):
        path.parent.mkdir(exist_ok=True)
        build = ["cargo", "build", "--locked", "--quiet", "--profile", "dist", "--package", "trilith-c"]
        subprocess.run(build, stdout=sys.stderr, check=True)
        library = pathlib.Path(self.program).parent
        flags = ["-std=c99", "-O2", "-I", HERE.parents[1] / "crates/trilith-c/include", "-o", path]
        linked = ["-L", library, "-ltrilith", f"-Wl,-rpath,{library}"]
        subprocess.run(["cc", *flags, HERE / f"peers/programs/{path.name}.c", *linked], check=True)

    def python(self, code, *words):
        """A Python command."""
        return [sys.executable, "-W", "ignore", "-c", code, *words]

    def peer(self, name):
        """A program of `peers/`, built before it is first needed."""
        return str(self.folder / "peers/release" / name)

    def c_program(self, name):
        """A program of `peers/programs` in C, built before it is first needed, with the C library as it is released."""
        return str(self.folder / "c-programs" / name)


def measure(command, inner=False):
    """CPU seconds, wall seconds and peak MiB of one run; an error text where it fails."""
    started = time.perf_counter()
    said = subprocess.PIPE if inner else subprocess.DEVNULL
    child = subprocess.Popen([str(word) for word in command], stdout=said, stderr=subprocess.PIPE)
    printed = child.stdout.read().decode() if inner else ""
    problem = child.stderr.read().decode(errors="replace")
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    wall = time.perf_counter() - started
    if child.returncode:
        lines = problem.strip().splitlines() or [""]
        # A command of ours says first what is wrong, a Python program last.
        raise RuntimeError(f"ended with {child.returncode}: {lines[-1] if lines[0].startswith('Traceback') else lines[0]}")
    figures = {"cpu_s": usage.ru_utime + usage.ru_stime, "wall_s": wall, "peak_mib": usage.ru_maxrss / 1024}
    if inner:
        figures.update(json.loads(printed.strip().splitlines()[-1]))
    return figures


def instructions(command):
    """How many instructions a command takes, in thousands: the same on each run, whatever else the machine does."""
    valgrind = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
    done = subprocess.run([*valgrind, *map(str, command)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    found = re.search(rb"Collected : (\d+)", done.stderr)
    return int(found[1]) // 1000 if found and done.returncode == 0 else None


def medians(runs):
    return {key: statistics.median(run[key] for run in runs) for key in runs[0]}


def compare(work, bench):
    """Runs all commands in turns, so that a busy minute falls on each of them."""
    runs = {name: [] for name in work.commands}
    problems = {}
    for command in work.commands.values():
        bench.ready(*command)
    for _ in range(bench.runs):
        for name, command in work.commands.items():
            if name not in problems:
                try:
                    runs[name].append(measure(command, work.inner))
                except (RuntimeError, OSError, ValueError) as problem:
                    problems[name] = str(problem)
            clear(bench.out)
    result = {"what": work.what, "by": work.by, "runs": runs, "problems": problems}
    result["median"] = {name: medians(done) for name, done in runs.items() if done}
    first = next(iter(work.commands))
    own = result["median"].get(first)
    result["ratio"] = {
        name: their[work.by] / max(own[work.by], 1e-9) for name, their in result["median"].items() if own and name != first
    }
    result["wants"] = {} if bench.small else work.wants  # promised for full sizes
    promised = {} if bench.small or not own else work.most
    result["most"] = {figure: [most, own[figure] <= most] for figure, most in promised.items()}
    return result


def clear(folder):
    for left in folder.iterdir():
        shutil.rmtree(left) if left.is_dir() else left.unlink()


def processor():
    try:
        lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor()


def versions():
    """The peers from PyPI, as they are installed."""
    wanted = [re.split(r"[=\[]", line)[0] for line in (HERE / "requirements.txt").read_text().splitlines() if "==" in line]
    return {name: importlib.metadata.version(name) for name in wanted}


def show(report):
    print(f"{report['processor']}, {report['processors']} processors, load {report['load']:.1f}, {report['date']}")
    print(f"Python {report['python']}, " + ", ".join(f"{name} {version}" for name, version in report["peers"].items()))
    print("Medians; `times` is the peer's seconds (CPU, or wall where marked w) through the first one's\n")
    print(f"{'work':<16} {'who':<14} {'CPU s':>10} {'wall s':>10} {'peak MiB':>9} {'times':>9}")
    for name, row in report["works"].items():
        for who, figure in row["median"].items():
            times = ""
            if who in row["ratio"]:
                want = row["wants"].get(who)
                mark = "w" if row["by"] == "wall_s" else " "
                verdict = "" if want is None else f" (wanted {want:g}: {'met' if row['ratio'][who] >= want else 'MISSED'})"
                times = f"{row['ratio'][who]:8.2f}{mark}{verdict}"
            print(f"{name:<16} {who:<14} {seconds(figure['cpu_s'])} {seconds(figure['wall_s'])} {figure['peak_mib']:9.0f} {times}")
        for who, problem in row["problems"].items():
            print(f"{name:<16} {who:<14} {problem}")
        for figure, (most, is_met) in row["most"].items():
            print(f"{'':<16} {figure} at most {most:g}: {'met' if is_met else 'MISSED'}")
        print(f"{'':<16} {row['what']}")
    for table in report["tables"]:
        print(f"\n{table['title']}")
        lines = [table["columns"], *([format_cell(cell) for cell in row] for row in table["rows"])]
        widths = [max(len(str(line[i])) for line in lines) for i in range(len(table["columns"]))]
        for line in lines:
            print(" ".join(f"{cell:<{w}}" if i == 0 else f"{cell:>{w}}" for i, (cell, w) in enumerate(zip(line, widths))).rstrip())


def seconds(figure):
    return f"{figure:10.4f}" if figure >= 0.001 else f"{figure * 1e6:8.2f}us"


def format_cell(cell):
    return f"{cell:,.3g}" if isinstance(cell, float) else f"{cell:,}" if isinstance(cell, int) else str(cell)


def callgrind(works, bench):
    rows = []
    for work in works:
        if work.count:
            command = next(iter(work.commands.values()))
            bench.ready(*command)
            rows.append([work.name, instructions(command)])
    return Table("Thousands of instructions (callgrind, one thread at a time)", ["work", "instructions"], rows)


def main():
    options = argparse.ArgumentParser(prog="cargo xtask bench", description="Compares with the peers on files made for it.")
    options.add_argument("--program", required=True, help=argparse.SUPPRESS)
    options.add_argument("--folder", required=True, type=pathlib.Path, help=argparse.SUPPRESS)
    options.add_argument("--json", action="store_true", help="one JSON document with every run")
    options.add_argument("--small", action="store_true", help="64 MiB and 1,000 arrays in place of 1 GiB and 10,000")
    options.add_argument("--runs", type=int, default=3, help="how often each is run (3)")
    options.add_argument("--callgrind", action="store_true", help="count instructions only (needs valgrind)")
    options.add_argument("what", nargs="*", help=f"only these works or groups; the groups are {', '.join(GROUPS)}")
    chosen = options.parse_args()
    if chosen.callgrind and not shutil.which("valgrind"):
        options.error("--callgrind needs the program valgrind")
    sys.path.insert(0, str(HERE))
    sys.dont_write_bytecode = True
    # Cargo names folders of unoptimized libraries there, which would come before the one that a program was linked with.
    os.environ.pop("LD_LIBRARY_PATH", None)
    sys.modules["harness"] = sys.modules["__main__"]
    bench = Bench(chosen.program, chosen.folder, chosen.small, chosen.runs)
    clear(bench.out)
    # `remote` names remote_objects, too.
    of = {word: [group for group in GROUPS if group == word or group.startswith(f"{word}_")] for word in chosen.what}
    named = [group for groups in of.values() for group in groups]
    works, tables = [], []
    for group in GROUPS:
        # A name that is no group is a work of any of them.
        if chosen.what and group not in named and all(of.values()):
            continue
        module = importlib.import_module(group)
        found = module.works(bench) if hasattr(module, "works") else []
        works += [work for work in found if not chosen.what or group in named or work.name in chosen.what]
        if hasattr(module, "tables") and (not chosen.what or group in named) and not chosen.callgrind:
            tables.append(module.tables)
    unknown = [name for name in chosen.what if not of[name] and name not in [work.name for work in works]]
    if unknown:
        options.error(f"no work or group {unknown[0]!r}; the groups are {', '.join(GROUPS)}")
    report = {
        "date": datetime.date.today().isoformat(),
        "processor": processor(),
        "processors": os.cpu_count(),
        "load": os.getloadavg()[0],
        "python": platform.python_version(),
        "peers": versions(),
        "works": {},
        "tables": [],
    }
    if chosen.callgrind:
        report["tables"].append(dataclasses.asdict(callgrind(works, bench)))
    else:
        for work in works:
            print(f"measuring {work.name}", file=sys.stderr)
            report["works"][work.name] = compare(work, bench)
        report["tables"] += [dataclasses.asdict(table) for make in tables for table in make(bench)]
    print(json.dumps(report, indent=1)) if chosen.json else show(report)
    sys.exit(1 if any(row["problems"] for row in report["works"].values()) else 0)


if __name__ == "__main__":
    main()
