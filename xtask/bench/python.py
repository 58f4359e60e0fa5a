"""The Python package against Python's asdf, inside of one process each: what a notebook or a pipeline pays."""

import sys

from bulk import TIMED
from harness import Work

COMPARE = "crates/trilith-py/benches/compare.py"

# Name, what, how many times faster it must be.
WORKS = [
    ("import", "import, beyond numpy's own", None),
    ("open-small", "open a small file, one value", 10),
    ("open-tree", "open a tree of 10 MB, one value", 10),
    ("open-many", "open 10,000 arrays, read one", 10),
    ("read-many", "open 10,000 arrays, read all", None),
    ("slice-plain", "10 rows of 4096", None),
    ("slice-lz4", "10 rows of 4096, lz4", 20),
    ("read-plain", "all rows, a copy", None),
    ("sum-plain", "sum of all rows", None),
    ("read-lz4", "all rows, lz4", None),
    ("read-zlib", "all rows, zlib", None),
    ("write-plain", "write all rows", None),
    ("write-lz4", "write all rows, lz4", None),
    ("write-many", "write 10,000 arrays", None),
    ("asdf-tree", "a tree of 10 MB as an AsdfFile", None),
    ("asdf-lazy", "the same with a lazy tree", None),
    ("asdf-slice-lz4", "10 rows of 4096, lz4, of an AsdfFile", None),
]

ROWS = TIMED + """
import numpy
path, count = sys.argv[1], int(sys.argv[2])
wanted = sorted(numpy.random.default_rng(5).choice(count, count // 10, replace=False).tolist())
array = open_file(path)["a"]
def work(): array[wanted]
work()
timed(work, 20)
"""


# Values for writing, as many MiB as the second word says.
NUMBERS = TIMED + "import hashlib, numpy\na = numpy.random.default_rng(5).random(int(sys.argv[2]) << 17)\n"
MD5 = NUMBERS + "def work(): hashlib.md5(a).digest()\ntimed(work, 9)"
SAVE = NUMBERS + "def work(): numpy.save(sys.argv[1], a)\ntimed(work, 9)"
ONE, EIGHT = "{'a': a}", "{f'a{i}': part for i, part in enumerate(numpy.split(a, 8))}"

READ = TIMED + "import trilith\ndef work():\n  with trilith.open(sys.argv[1]) as f: f[sys.argv[2]][...]\ntimed(work, 3)"
READ_ASDF = TIMED + "import asdf, numpy\ndef work():\n  with asdf.open(sys.argv[1]) as f: numpy.array(f['a'])\ntimed(work, 3)"


def bzip2(path, megabytes):
    import asdf
    import numpy as np

    noise = np.random.default_rng(7).normal(100, 5, int(megabytes) << 18).astype("f4")
    asdf.AsdfFile({"a": noise}).write_to(path, all_array_compression="bzp2")


def rows(path, count):
    import asdf
    import h5py
    import numpy as np

    array = np.random.default_rng(5).random((int(count), 1000)).astype("f4")
    if str(path).endswith(".h5"):
        with h5py.File(path, "w") as f:
            f["a"] = array
    else:
        asdf.AsdfFile({"a": array}).write_to(path)


def works(bench):
    folder = bench.folder / "python"
    folder.mkdir(exist_ok=True)
    options = ["--folder", str(folder), "--runs", "3", *(["--small"] if bench.small else [])]

    def command(name, who):
        return [sys.executable, "-B", COMPARE, "--one", name, who, *options]

    for name, what, least in WORKS:
        commands = {who: command(name, who) for who in ("trilith", "asdf")}
        yield Work(f"python-{name}", what, commands, inner=True, wants={"asdf": least} if least else {})

    yield from writing(bench, 8 if bench.small else 64)
    yield reading(bench)

    count = 1000 if bench.small else 10_000
    ours, theirs = (bench.file(f"rows-{count}.{kind}", rows, count) for kind in ("asdf", "h5"))
    commands = {
        "trilith": bench.python("from trilith import open as open_file" + ROWS, ours, count),
        "h5py": bench.python("from h5py import File as open_file" + ROWS, theirs, count),
    }
    yield Work("python-rows", f"{count // 10:,} rows of {count:,} by a list of indices, array open", commands, inner=True, wants={"h5py": 1})


def writing(bench, megabytes):
    """A new file, synced and put into place, beside what bounds it."""

    def work(name, what, tree, peer, code, wanted, options=""):
        write = f"import trilith\ndef work(): trilith.write(sys.argv[1], {tree}{options})\ntimed(work, 9)"
        commands = {
            "trilith": bench.python(NUMBERS + write, bench.out / "t.asdf", megabytes),
            peer: bench.python(code, bench.out / "p.npy", megabytes),
        }
        return Work(f"python-{name}", what, commands, inner=True, by="wall_s", wants={peer: wanted})

    yield work("write-one", f"write {megabytes} MiB as one array, beside MD5 of it", ONE, "MD5 alone", MD5, 0.91)
    yield work("write-eight", f"write {megabytes} MiB as 8 arrays, beside MD5 of all", EIGHT, "MD5 alone", MD5, 1.9)
    options = ", checksums=False"
    yield work("write-unhashed", f"write {megabytes} MiB without checksums", ONE, "np.save", SAVE, 0.6, options)


def reading(bench):
    """All values of a block of bzip2."""
    megabytes = 8 if bench.small else 128
    path = bench.file(f"noise-{megabytes}.asdf", bzip2, megabytes)
    commands = {"trilith": bench.python(READ, path, "a"), "asdf": bench.python(READ_ASDF, path)}
    return Work("python-bzip2", f"{megabytes} MiB of bzip2", commands, inner=True, by="wall_s", wants={"asdf": 1.8})
