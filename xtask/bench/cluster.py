"""Many files and many processes: values of thousands of files in one pass, and a reduction on two worker processes of dask.

Each command is a Python process that has imported what it needs, and the cluster has been started, before it measures itself. dask
with asdf is written as one would to be fast: a task for each worker, which opens the file and decodes it there.
"""

from harness import Work

PROLOGUE = """
import json, os, pathlib, sys, time, warnings
warnings.simplefilter('ignore')
def measured(work):
    wall, cpu = time.perf_counter(), sum(os.times()[:4])
    work()
    print(json.dumps({"wall_s": time.perf_counter() - wall, "cpu_s": sum(os.times()[:4]) - cpu}))
"""

TABLE = (
    PROLOGUE
    + """
import trilith
columns = {name: path for name, path in zip("abcd", sys.argv[2:])}
def work():
    found = trilith.table(sys.argv[1], columns)
    assert len(found) == len(os.listdir(sys.argv[1])) and not found.errors
measured(work)
"""
)

LOOP = (
    PROLOGUE
    + """
import asdf
def at(tree, path):
    for key in path.strip('/').split('/'):
        tree = tree[key]
    return tree
def work():
    rows = []
    for path in sorted(pathlib.Path(sys.argv[1]).iterdir()):
        with asdf.open(path) as f:
            rows.append([at(f.tree, column) for column in sys.argv[2:]])
measured(work)
"""
)

CLUSTER = (
    PROLOGUE
    + """
import numpy
from distributed import Client, LocalCluster
def clustered(work):
    options = dict(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None)
    with LocalCluster(host="127.0.0.1", **options) as cluster, Client(cluster) as client:
        client.run(ready)
        measured(work)
"""
)

MEAN = (
    CLUSTER
    + """
import trilith
def ready():
    import trilith, dask.array
def work():
    mean = float(trilith.open(sys.argv[1])["a"].to_dask(chunks=(int(sys.argv[2]), -1)).mean(dtype="f8").compute())
    assert 99 < mean < 101, mean
if __name__ == "__main__":
    clustered(work)
"""
)

MEAN_ASDF = (
    CLUSTER
    + """
import asdf, dask
def ready():
    import asdf, lz4.block
def half(path, first):
    with asdf.open(path) as f:
        data = numpy.asarray(f["a"])
        rows = len(data) // 2
        return data[first * rows : (first + 1) * rows].mean(dtype="f8")
def work():
    mean = numpy.mean(dask.compute(*(dask.delayed(half)(sys.argv[1], first) for first in (0, 1))))
    assert 99 < mean < 101, mean
if __name__ == "__main__":
    clustered(work)
"""
)


def make_image(path, megabytes):
    """Rows of 4096 floats that compress a little."""
    import asdf
    import numpy as np

    rows = int(megabytes) * 64
    data = np.round(np.random.default_rng(1).normal(100, 5, (rows, 4096)).astype("f4") * 4) / 4
    asdf.AsdfFile({"a": data}).write_to(path, all_array_compression="lz4")


def works(bench):
    from table import make_small

    count, columns = bench.count, ["/meta/exposure", "/meta/filter", "/meta/count", "/meta/pointing/ra"]
    small = bench.file(f"table-small-{count}", make_small, count)
    image = bench.file(f"cluster-{bench.megabytes}.asdf", make_image, bench.megabytes)
    tables = {"trilith": bench.python(TABLE, small, *columns), "asdf": bench.python(LOOP, small, *columns)}
    means = {"trilith": bench.python(MEAN, image, 1024), "asdf": bench.python(MEAN_ASDF, image)}
    return [
        Work("cluster-table", f"four values of each of {count:,} small files", tables, inner=True, wants={"asdf": 20}),
        Work("cluster-mean", f"mean of {bench.megabytes:,} MiB of lz4 on two workers", means, inner=True, by="wall_s"),
    ]
