"""Opening trees: four shapes, beside the Rust reader of ASDF, bare event parsers and Python asdf; and validating them.

The programs measure themselves, in CPU seconds, the median of some openings in one process: start-up says nothing here. `trilith`,
`asdf-rs` and `asdf` open the whole file (header, tree, blocks), every node addressable afterwards; `saphyr` and `libyaml` run
through the events of its tree and keep nothing. Peak memory is that of the process, which holds the file twice.
"""

import struct

from harness import Work

HEAD = "#ASDF 1.0.0\n#ASDF_STANDARD 1.6.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n--- !core/asdf-1.1.0\n"
PYTHON = """
import io, json, sys, time, warnings
warnings.simplefilter("ignore")
import asdf
data = open(sys.argv[1], "rb").read()
asdf.open(io.BytesIO(b"#ASDF 1.0.0\\n%YAML 1.1\\n--- {}\\n...\\n"))  # what is loaded once
cpu, wall = time.process_time(), time.perf_counter()
f = asdf.open(io.BytesIO(data))
print(json.dumps({"cpu_s": time.process_time() - cpu, "wall_s": time.perf_counter() - wall}))
"""


def long_strings(n):
    return (
        f"key_{n}:\n  description: The quick brown fox jumps over the lazy dog and runs away from item number {n}\n"
        f"  title: 'Exposure {n} of the survey, taken in the second night of the run, with clouds'\n"
        f'  comment: "Calibrated with the master flat; residuals below {n} counts everywhere on the chip"\n'
    )


def small_maps(n):
    start = "maps:\n" if n == 0 else ""
    return f"{start}- id: {n}\n  x: {n % 97}.5\n  ok: true\n  name: n{n}\n  pos: {{a: 1, b: 2}}\n"


def arrays(n):
    return (
        f"array_{n}:\n  data: !core/ndarray-1.1.0\n    source: {n}\n    datatype: float64\n    byteorder: little\n"
        f"    shape: [2, 2]\n  unit: !unit/unit-1.0.0 Jy\n"
    )


def flow(n):
    """Wrapped as Python asdf does."""
    parts = [f"{k * 7 % 1000}.{(n * 31 + k) % 10000:04}" for k in range(200)]
    return f"row_{n}: [" + ",\n  ".join(", ".join(parts[i : i + 8]) for i in range(0, 200, 8)) + "]\n"


SHAPES = {"long-strings": long_strings, "small-maps": small_maps, "arrays": arrays, "flow": flow}


def make_shape(path, shape, megabytes, most):
    """A tree of so many MB, or of so many pieces; the arrays have their blocks."""
    parts, size, n = [HEAD], 0, 0
    while size < float(megabytes) * 1e6 and n < int(most):
        parts.append(SHAPES[shape](n))
        size += len(parts[-1])
        n += 1
    data = "".join([*parts, "...\n"]).encode()
    if shape == "arrays":
        data += (b"\xd3BLK" + struct.pack(">HI4sQQQ16s", 48, 0, bytes(4), 32, 32, 32, bytes(16)) + bytes(32)) * n
    with open(path, "wb") as file:
        file.write(data)


def works(bench):
    program = bench.peer("tree")
    megabytes = 1 if bench.small else 10
    found = []
    for shape in SHAPES:
        most = bench.count if shape == "arrays" else 1 << 40
        path = bench.file(f"tree-{shape}-{megabytes}-{most}.asdf", make_shape, shape, megabytes, most)

        def ours(reader, file=path):
            return [program, reader, file, 7]

        size = f"{most:,} arrays" if shape == "arrays" else f"{megabytes} MB"
        found.append(
            Work(
                f"tree-{shape}",
                f"open a tree of {size}: {shape}",
                {
                    "trilith": ours("trilith"),
                    "asdf-rs": ours("asdf-rs"),
                    "saphyr": ours("saphyr"),
                    "libyaml": ours("libyaml"),
                    "asdf": bench.python(PYTHON, path),
                },
                inner=True,
                wants={"asdf-rs": 3, "saphyr": 3, "asdf": 60},
            )
        )
        found.append(
            Work(
                f"valid-{shape}",
                f"validate the opened tree; opening it takes `times` of that: {shape}",
                {"validate": ours("validate"), "open": ours("trilith")},
                inner=True,
                wants={"open": 0.5},
            )
        )
    return found
