"""Pickling, dask, and three worker processes of which one is killed in the middle."""

import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

import trilith

da = pytest.importorskip("dask.array")


@pytest.fixture(params=[None, "lz4"])
def image(request, tmp_path):
    data = np.random.default_rng(3).integers(0, 99, (3000, 1100), "i4")
    path = tmp_path / "i.asdf"
    masked = np.ma.masked_greater(data[:50], 90)
    record = np.zeros(5, [("x", "i4"), ("y", "f8", (2,))])
    trilith.write(path, {"a": {"data": data}, "m": masked, "r": record, "s": np.array(3.0)}, codec=request.param)
    return path, data, masked


def test_arrays_are_pickled_as_ways_to_them(image, monkeypatch):
    path, data, masked = image
    monkeypatch.chdir(path.parent)
    with trilith.open(path.name) as f:
        whole, part = f["a/data"], f["a/data"].part(np.s_[5:10, ::2]).part(np.s_[1:])
        texts = [pickle.dumps(array) for array in (whole, part, f["m"], f["r"].part("y"))]
    assert all(len(text) < 600 for text in texts), "no elements in it"
    monkeypatch.chdir("/")
    again = [pickle.loads(text) for text in texts]
    np.testing.assert_array_equal(again[0], data)
    np.testing.assert_array_equal(again[1], data[5:10, ::2][1:])
    assert (again[2].masked().mask == masked.mask).all()
    assert again[3].shape == (5, 2) and pickle.loads(pickle.dumps(again[1])).shape == (4, 550)


def test_other_arrays_are_pickled_with_their_elements():
    f = trilith.open(trilith.dumps({"a": np.ma.masked_less(np.arange(5.0), 2)}))
    again = pickle.loads(pickle.dumps(f["a"]))
    assert again.masked().count() == 3


def test_a_file_that_changed_meanwhile_is_noticed(image):
    path, _, _ = image
    text = pickle.dumps(trilith.open(path)["a/data"])
    trilith.write(path, {"a": {"data": np.zeros(3)}})
    with pytest.raises(OSError, match="is float64"):
        pickle.loads(text)
    os.remove(path)
    with pytest.raises(FileNotFoundError):
        pickle.loads(text)


def test_to_dask(image):
    path, data, masked = image
    f = trilith.open(path)
    lazy = f["a/data"].to_dask(chunks=(700, 500))
    assert lazy.chunks == ((700, 700, 700, 700, 200), (500, 500, 100)) and lazy.dtype == data.dtype
    np.testing.assert_array_equal(lazy[100:2000:7, ::-3].compute(scheduler="synchronous"), data[100:2000:7, ::-3])
    assert lazy.sum().compute(scheduler="threads") == data.sum()
    assert f["a/data"].to_dask(chunks=(700, 500)).name == lazy.name, "the same work has the same name"
    assert f["m"].to_dask(chunks=10).sum().compute() == masked.sum()
    assert f["s"].to_dask().compute() == 3 and f["r"].to_dask()["x"].compute().tolist() == [0] * 5
    f.close()
    assert lazy.max().compute(scheduler="synchronous") == data.max()


def test_chunks_end_where_pieces_end(image):
    import dask

    path, data, _ = image
    array = trilith.open(path)["a/data"]
    compressed = trilith.open(path).info()["blocks"][0]["codec"] == "lz4"
    row = 4400
    # Pieces are of whole rows.
    piece = (256 << 10) // row * row
    assert array.chunks == ((piece // row, 1100) if compressed else None)
    with dask.config.set({"array.chunk-size": "5MB"}):
        rows, columns = array.to_dask().chunks
    assert columns == (1100,) and sum(rows) == 3000 and len(rows) > 1
    if compressed:
        ends = np.cumsum(rows)[:-1] * row
        assert ((ends - ends // piece * piece) < row).all(), "the first row that begins in another piece"
    np.testing.assert_array_equal(array.to_dask().compute(scheduler="synchronous"), data)


KILL = """
import os, signal, sys, time
import numpy as np
import trilith
from dask.distributed import Client, LocalCluster, wait

def slow(block):
    time.sleep(0.15)
    return block * 2

def main():
    data = trilith.open(sys.argv[1])["a/data"].to_dask(chunks=(150, 1100))
    options = dict(n_workers=3, threads_per_worker=1, processes=True, dashboard_address=None)
    with LocalCluster(host="127.0.0.1", **options) as cluster, Client(cluster) as client:
        pids = list(client.run(os.getpid).values())
        assert len(set(pids)) == 3
        result = client.compute(data.map_blocks(slow).sum(axis=1))
        time.sleep(0.8)
        assert not result.done(), "still in the middle"
        os.kill(pids[0], signal.SIGKILL)
        np.save(sys.argv[2], result.result(timeout=120))
        assert pids[0] not in client.run(os.getpid).values()

if __name__ == "__main__":
    main()
"""


def test_a_cluster_that_loses_a_worker_gives_the_same(image, tmp_path):
    pytest.importorskip("distributed")
    path, data, _ = image
    script = tmp_path / "kill.py"
    script.write_text(KILL)
    subprocess.run([sys.executable, script, path, tmp_path / "r.npy"], check=True, timeout=300, cwd=tmp_path)
    np.testing.assert_array_equal(np.load(tmp_path / "r.npy"), (data * 2).sum(axis=1))
