"""Remote files: requests, bytes and wall time against nginx on loopback, counted by its log, beside Python asdf through fsspec and curl.

A full read is compared with curl like with like: into nothing, into a file of the same folder, and hashed.
"""

import pathlib
import sys
import time

from harness import Table, measure

TESTS = pathlib.Path(__file__).resolve().parents[2] / "tests/remote"
ASDF = """
import sys, warnings
warnings.simplefilter("ignore")
import asdf, fsspec, numpy
url, name, first, count = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
with fsspec.open(url) as handle, asdf.open(handle, lazy_load=True, memmap=False) as file:
    if count:
        numpy.array(file[name][first:first + count])
"""
CUTOUTS = """
import random, sys
import numpy, trilith
url, chosen = sys.argv[1], random.Random(4)
data = {}
for _ in range(100):
    y, x = chosen.randrange(4088 - 32), chosen.randrange(4088 - 32)
    numpy.asarray(data[y : y + 32, x : x + 32])
"""
ASDF_CUTOUTS = """
import random, sys, warnings
warnings.simplefilter("ignore")
import asdf, fsspec, numpy
chosen = random.Random(4)
with fsspec.open(sys.argv[1]) as handle, asdf.open(handle, lazy_load=True, memmap=False) as file:
    data = file["data"]
    for _ in range(100):
        y, x = chosen.randrange(4088 - 32), chosen.randrange(4088 - 32)
        numpy.array(data[y : y + 32, x : x + 32])
"""


def tables(bench):
    sys.path.insert(0, str(TESTS))
    import files
    import servers

    if not servers.NGINX:
        return [Table("remote: no nginx on this machine", [], [])]
    served = bench.folder / "served"
    served.mkdir(exist_ok=True)
    logs = bench.folder / "nginx"
    logs.mkdir(exist_ok=True)
    for name, make in (("large.asdf", files.large_lz4), ("plain.asdf", files.large_plain), ("image.asdf", files.image)):
        if not (served / name).exists():
            make(served / name)
    server = servers.Nginx(served, logs)
    count = (8 << 20) // 8

    def get(name, item, first, size):
        return [bench.program, "get", server.url(name) + f"#/{item}", "--slice", f"{first}:{first + size}", "-o", bench.out / "x.raw"]

    def asdf(name, item="", first=0, size=0):
        return bench.python(ASDF, server.url(name), item, first, size)

    whole, image = server.url("plain.asdf"), server.url("image.asdf")
    plain, lz4 = (500 << 20) // 8, (37 << 20) // 2
    works = [
        ("open and look, 16 lz4 blocks", [bench.program, "info", server.url("large.asdf")], asdf("large.asdf")),
        ("8 MiB of 1 GiB, plain", get("plain.asdf", "data", plain, count), asdf("plain.asdf", "data", plain, count)),
        ("8 MiB of 84 MiB, lz4", get("large.asdf", "a9", lz4, count * 4), asdf("large.asdf", "a9", lz4, count * 4)),
        ("100 cutouts of 32 x 32 of 4088 x 4088", bench.python(CUTOUTS.format("trilith.open(url)['data']"), image), bench.python(ASDF_CUTOUTS, image)),
        ("1 GiB to nowhere", shell(bench.program, "get", whole + "#/data", "--format", "raw"), shell("curl", "--silent", "--fail", whole)),
        (
            "1 GiB into a file",
            [bench.program, "get", whole + "#/data", "-o", bench.out / "x.raw"],
            ["curl", "--silent", "--fail", "-o", bench.out / "y.raw", whole],
        ),
        ("1 GiB hashed (SHA-256)", [bench.program, "digest", whole], ["sh", "-c", f"curl --silent --fail {whole} | sha256sum"]),
    ]
    rows = []
    try:
        for what, ours, theirs in works:
            best = {}
            for _ in range(bench.runs):
                for who, command in (("trilith", ours), ("curl" if command_is_curl(theirs) else "asdf", theirs)):
                    mark = server.mark()
                    started = time.perf_counter()
                    figures = measure(command)
                    wall = time.perf_counter() - started
                    requests = server.since(mark)
                    found = (wall, figures["cpu_s"], len(requests), sum(sent for _, sent, _, _ in requests) / 1e6)
                    best[who] = min(best.get(who, found), found)
            for who, (wall, cpu, asked, sent) in best.items():
                rows.append([what, who, asked, f"{sent:.2f}", f"{wall:.3f}", f"{cpu:.3f}"])
    finally:
        server.stop()
    return [Table("remote: the best of the runs", ["work", "who", "requests", "MB", "wall s", "CPU s"], rows)]


def command_is_curl(command):
    return any("curl" in str(word) for word in command)


def shell(*words):
    """A command whose output goes nowhere, without a pipe between."""
    return ["sh", "-c", 'exec "$@" > /dev/null', "sh", *words]
