"""Dudley: one array of many out of a `.bd`, beside HDF5, in whole processes; layouts by themselves, inside of one."""

import subprocess

from harness import Table, Work
from many import make_h5


def make_bd(path, count):
    """A native file of as many arrays of 100 float32, its layout at its end."""
    import struct

    import numpy as np

    count = int(count)
    lines = []
    for i in range(count):
        if i % 100 == 0:
            lines.append(f"/ group{i // 100:03}/")
        lines.append(f"  array{i % 100:03} = f4[100]")
    with open(path, "wb") as f:
        f.write(b"\x8d<BD\r\n\x1a\n" + struct.pack("<q", 16 + 400 * count))
        for i in range(count):
            f.write(np.full(100, i, "<f4").tobytes())
        f.write("\n".join(lines).encode() + b"\n")


H5PY = "import sys, h5py\nwith h5py.File(sys.argv[1]) as f: print(f[sys.argv[2]][...])"


def works(bench):
    count = bench.count
    bd = bench.file(f"many-{count}.bd", make_bd, count)
    h5 = bench.file(f"many-{count}.h5", make_h5, count)
    item = f"/group{count // 200:03}/array050"
    return [
        Work(
            "layout-read-one",
            f"one array of 100 out of {count} in a .bd: the layout parsed, all addresses found",
            {"trilith": [bench.program, "get", f"{bd}#{item}"], "h5py": bench.python(H5PY, h5, item)},
            wants={"h5py": 1.0},
            count=True,
        ),
    ]


def tables(bench):
    """What `benches/layout_speed.rs` measures: the best of five, in CPU seconds of one thread."""
    command = ["cargo", "bench", "--locked", "--quiet", "--package", "trilith", "--bench", "layout_speed"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return [Table("Layouts of 1,000,000 variables; a template of 100 items for 100,000 records", ["what"], [[x] for x in said.splitlines()])]
