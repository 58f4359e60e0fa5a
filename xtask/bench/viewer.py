"""The viewer as its page asks it: the first picture of a large image, tables far down, and what is fetched of files elsewhere."""

import http.client
import json
import pathlib
import subprocess
import sys
import time
import urllib.parse

from harness import Table

TESTS = pathlib.Path(__file__).resolve().parents[2] / "tests/remote"
SIDE = 16_384


def make_plane(path, codec):
    """1 GiB of float32 as measured: noise in the low bits."""
    import asdf
    import numpy as np

    random = np.random.default_rng(1)
    data = np.round(random.standard_normal((SIDE, SIDE), dtype="f4") * np.float32(5) + np.float32(100), 2)
    asdf.AsdfFile({"data": data}).write_to(path, all_array_compression=None if codec == "none" else codec)


def make_table(path):
    import asdf
    import numpy as np

    rows = np.zeros(10_000_000, [("id", "i8"), ("ra", "f8"), ("dec", "f8"), ("flux", "f4")])
    rows["id"] = np.arange(len(rows))
    asdf.AsdfFile({"table": rows}).write_to(path)


class Viewer:
    """A server of `trilith view`, and what its page asks."""

    def __init__(self, program, place):
        words = [program, "view", "--no-browser", "--quiet", place]
        self.child = subprocess.Popen([str(word) for word in words], stdout=subprocess.PIPE)
        self.address = urllib.parse.urlsplit(self.child.stdout.readline().decode().strip())

    def ask(self, name, **query):
        connection = http.client.HTTPConnection(self.address.hostname, self.address.port)
        connection.request("GET", f"{self.address.path}api/{name}?{urllib.parse.urlencode(query)}")
        answer = connection.getresponse()
        body = answer.read()
        if answer.status != 200:
            raise RuntimeError(f"{name}: {body[:200]}")
        return body

    def picture(self, path, sample=None):
        """What the page asks when somebody clicks on a large image; the seconds until it is there."""
        started = time.perf_counter()
        self.ask("item", file=0, path=path)
        share = json.loads(self.ask("look", file=0, path=path))["share"]
        first = {"sample": 1} if sample else {}
        cuts = json.loads(self.ask("levels", file=0, path=path, **first))
        whole = {"x": 0, "y": 0, "w": SIDE, "h": SIDE, "width": 1024, "height": 1024}
        self.ask("image", file=0, path=path, low=cuts["low"], high=cuts["high"], **whole, **first)
        return time.perf_counter() - started, share

    def peak(self):
        """The most memory that it had, in MiB."""
        lines = pathlib.Path(f"/proc/{self.child.pid}/status").read_text().splitlines()
        return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) / 1024

    def stop(self):
        self.child.kill()
        self.child.wait()


def tables(bench):
    planes = {codec: bench.file(f"plane-{codec}.asdf", make_plane, codec) for codec in ("lz4", "none")}
    table = bench.file("rows.asdf", make_table)
    bench.ready(*planes.values(), table)
    return [first_pictures(bench, planes), scrolling(bench, table), fetched(bench, planes)]


def first_pictures(bench, planes):
    rows = []
    for codec, path in planes.items():
        for what, sample in (("first look", True), ("all of it", False)):
            best = (float("inf"), 0, 0)
            for _ in range(bench.runs):
                viewer = Viewer(bench.program, path)
                try:
                    seconds, share = viewer.picture("/data", sample)
                    best = min(best, (seconds, share if sample else 1.0, viewer.peak()))
                finally:
                    viewer.stop()
            rows.append([f"1 GiB, {codec}: {what}", f"{best[1] * 100:.1f} %", f"{best[0]:.3f}", f"{best[2]:.0f}"])
    return Table("a picture of 1024 pixels after the click (the best of the runs)", ["picture", "rows", "wall s", "peak MiB"], rows)


def scrolling(bench, path):
    viewer = Viewer(bench.program, path)
    try:
        viewer.ask("table", file=0, path="/table", offset=0, limit=100)
        rows = []
        for first in (5_000_000, 9_000_000, 9_999_900):
            started = time.perf_counter()
            viewer.ask("table", file=0, path="/table", offset=first, limit=100)
            rows.append([f"row {first:,}", f"{(time.perf_counter() - started) * 1000:.1f}"])
    finally:
        viewer.stop()
    return Table("100 rows of a table of 10,000,000", ["from", "wall ms"], rows)


def fetched(bench, planes):
    sys.path.insert(0, str(TESTS))
    import servers

    if not servers.NGINX:
        return Table("fetched: no nginx on this machine", [], [])
    logs = bench.folder / "nginx"
    logs.mkdir(exist_ok=True)
    server = servers.Nginx(bench.folder, logs)
    rows = []

    def megabytes(mark):
        requests = server.since(mark)
        return [len(requests), f"{sum(sent for _, sent, _, _ in requests) / 1e6:.1f}"]

    try:
        for codec, path in planes.items():
            url = server.url(path.name)
            mark = server.mark()
            cutout = [bench.program, "show", f"{url}#/data", "--slice", "8000:8128,8000:8128", "-o", bench.out / "x.png"]
            subprocess.run([str(word) for word in cutout], check=True, capture_output=True)
            rows.append([f"1 GiB, {codec}: cutout of 128 x 128", *megabytes(mark), ""])
            mark = server.mark()
            viewer = Viewer(bench.program, url)
            try:
                seconds, share = viewer.picture("/data", sample=True)
            finally:
                viewer.stop()
            rows.append([f"1 GiB, {codec}: first look at {share * 100:.1f} % of the rows", *megabytes(mark), f"{seconds:.2f}"])
    finally:
        server.stop()
    return Table("fetched from nginx on loopback", ["work", "requests", "MB", "wall s"], rows)
