"""Checksums of many blocks, and how much memory of its own a command takes on large files (mapped file pages do not count)."""

import subprocess
import time

from files import large
from harness import Table, Work

HASH = """
import hashlib, sys
with open(sys.argv[1], 'rb') as f:
    while b := f.read(16 << 20): hashlib.md5(b).digest()
"""


def make_blocks(path, megabytes):
    """64 blocks; their bytes are noise."""
    import asdf
    import numpy as np

    random, each = np.random.default_rng(1), (int(megabytes) << 20) // 64
    tree = {f"a{i:02}": np.frombuffer(random.bytes(each), "u1") for i in range(64)}
    asdf.AsdfFile(tree).write_to(path)


def works(bench):
    blocks = bench.file(f"blocks-{bench.megabytes}.asdf", make_blocks, bench.megabytes)
    peers = {"hashlib": bench.python(HASH, blocks)}
    return [
        Work(
            "verify",
            f"checksums of 64 blocks of {bench.megabytes // 64} MiB, all threads; hashlib on one",
            {"trilith": [bench.program, "verify", blocks], **peers},
            by="wall_s",
            wants={"hashlib": 5},
        ),
        Work(
            "verify-one",
            "the same, CPU time of one thread",
            {"trilith": [bench.program, "verify", blocks, "--threads", "1"], **peers},
            wants={"hashlib": 3},
        ),
    ]


def anonymous(command):
    """The most memory of its own that a command held, in MiB: looked at every 2 ms."""
    child = subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL)
    peak = 0
    while child.poll() is None:
        try:
            with open(f"/proc/{child.pid}/status") as status:
                peak = max([peak, *(int(line.split()[1]) for line in status if line.startswith("RssAnon"))])
        except (OSError, ValueError):
            break
        time.sleep(0.002)
    child.wait()
    return peak / 1024


def tables(bench):
    plain, lz4 = large(bench, "none"), large(bench, "lz4")
    bench.ready(plain, lz4)
    out, rows = bench.out / "t.asdf", []
    for path in (plain, lz4):
        for words in (["convert", path, out], ["convert", path, out, "--codec", "lz4"], ["convert", path, out, "--codec", "none"],
                      ["verify", path], ["verify", "--deep", path], ["digest", path]):
            peak = anonymous([bench.program, *words])
            out.unlink(missing_ok=True)
            said = " ".join(word if isinstance(word, str) else word.name for word in words)
            rows.append([said, f"{peak:.0f}", "met" if peak < 128 else "MISSED"])
    return [Table("Peak anonymous memory, below 128 MiB wanted", ["command", "MiB", "verdict"], rows)]
