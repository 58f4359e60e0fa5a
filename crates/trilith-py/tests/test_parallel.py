"""One file that many processes write: any partition gives the array, and nothing else is ever taken for complete."""

import os
import pickle
import random
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import trilith

RECORD = [("x", ">i2"), ("y", "f4", (2,)), ("name", "S3")]
DTYPES = ["bool", "i1", "u2", ">i4", "i8", "u8", "f2", ">f4", "f8", "c8", ">c16", "S5", "U3", RECORD]


def sample(dtype, shape):
    """Different bytes in every element, if the dtype has enough of them."""
    dtype = np.dtype(dtype)
    rng = np.random.default_rng(5)
    if dtype.kind in "SU":
        return np.array([f"{n % 997}" for n in range(int(np.prod(shape)))], dtype).reshape(shape)
    if dtype.names:
        made = np.zeros(shape, dtype)
        made["x"], made["y"] = rng.integers(-99, 99, shape), rng.normal(size=(*shape, 2))
        made["name"] = sample("S3", shape)
        return made
    return rng.integers(0, 2 if dtype.kind == "b" else 99, shape).astype(dtype)


def unfinished(path):
    """Returns the files next to a file."""
    return sorted(name for name in os.listdir(path.parent) if name != path.name)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_regions_of_every_dtype(tmp_path, dtype):
    path, data = tmp_path / "x.asdf", sample(dtype, (7, 5, 3))
    work = trilith.create(path, {"meta": {"n": 1}, "whole": np.arange(3), "cube": trilith.Reserved(data.shape, data.dtype)})
    regions = [np.s_[:2], np.s_[2:4, ::2], np.s_[2:4, 1::2], np.s_[4, ..., 0], np.s_[4, :, 1:], np.s_[6:4:-1, :, ::-1]]
    random.Random(1).shuffle(regions)
    for region in regions:
        part = data[region]
        work.write_region("/cube", region, part if part.dtype.names else part.astype(part.dtype.newbyteorder()))
    assert work.unwritten == {"/cube": 0}
    work.finish()
    assert unfinished(path) == []
    with trilith.open(path) as f:
        assert f.verify(deep=True) == [] and f["meta/n"] == 1
        np.testing.assert_array_equal(f["cube"].read(), data)
    asdf = pytest.importorskip("asdf")
    with asdf.open(path, validate_checksums=True) as af:
        np.testing.assert_array_equal(np.asarray(af["cube"]), data)
        assert af["whole"].tolist() == [0, 1, 2]


WORKER = """
import sys
import numpy as np
import trilith

path, number, count, pause = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
work = trilith.resume(path)
shape, dtype = work.arrays["/cube"]
data = np.arange(np.prod(shape), dtype=dtype).reshape(shape) + 1
print("ready", flush=True)
for row in range(number, shape[0], count):
    work.write_region("cube", row, data[row])
"""


def start(path, number, count):
    return subprocess.Popen([sys.executable, "-c", WORKER, path, str(number), str(count), "0"], stdout=subprocess.PIPE)


def test_processes_write_one_array(tmp_path):
    path, shape = tmp_path / "x.asdf", (40, 50, 6)
    work = trilith.create(path, {"cube": trilith.Reserved(shape, ">i4")})
    workers = [start(path, number, 4) for number in range(4)]
    assert [worker.wait(60) for worker in workers] == [0] * 4
    trilith.resume(path).finish()
    np.testing.assert_array_equal(trilith.open(path)["cube"].read(), np.arange(12000).reshape(shape) + 1)
    with pytest.raises(OSError, match="finished, aborted"):
        work.finish()


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no such signal here")
def test_a_killed_worker_leaves_the_file_refused_or_complete(tmp_path):
    shape, ends = (64, 256, 64), set()
    data = np.arange(np.prod(shape), dtype="i4").reshape(shape) + 1
    for attempt in range(6):
        path = tmp_path / f"{attempt}.asdf"
        trilith.create(path, {"cube": trilith.Reserved(shape, "i4")})
        worker = start(path, 0, 1)
        assert worker.stdout.readline() == b"ready\n"
        time.sleep(0.012 * attempt)
        worker.kill()
        worker.wait(60)
        work = trilith.resume(path)
        left = work.unwritten["/cube"]
        assert left % (256 * 64) == 0, "a row was noted whole or not at all"
        ends.add(left > 0)
        if left:
            with pytest.raises(ValueError, match=f"{left} elements never written"):
                work.finish()
            with pytest.raises(FileNotFoundError, match="other processes are writing it"):
                trilith.open(path)
            with pytest.raises(NotImplementedError, match="is unfinished"):
                trilith.open(tmp_path / f".{path.name}.trilith-unfinished")
            # Another worker does it all again: nobody knows what the first had done.
            assert start(path, 0, 1).wait(60) == 0
        work.finish()
        np.testing.assert_array_equal(trilith.open(path)["cube"].read(), data)
        assert trilith.open(path).verify(deep=True) == []
    assert True in ends, "at least one was killed in the middle"
    assert not [name for name in os.listdir(tmp_path) if "unfinished" in name]


def test_fill_and_abort(tmp_path):
    path = tmp_path / "x.asdf"
    with trilith.create(path, {"a": trilith.Reserved(4, "f4"), "n": trilith.Reserved((2, 2), "i2")}) as work:
        work["a"][1:3] = np.array([1, 2], "f4")
        work["n"][...] = np.array([[1, 2], [3, 4]], "i2")
        with pytest.raises(ValueError, match="/a"):
            work.finish()
        work.write_region("a", np.s_[::3], np.array([np.nan, 3], "f4"))
    assert trilith.open(path)["n"].tolist() == [[1, 2], [3, 4]]
    work = trilith.create(path, {"a": trilith.Reserved((2, 3), "f4"), "b": trilith.Reserved((), "i8")})
    work["a"][:, 1] = np.array([5, 6], "f4")
    work.finish(fill=-1)
    f = trilith.open(path)
    assert f["a"].tolist() == [[-1, 5, -1], [-1, 6, -1]] and f["b"].read() == -1
    with pytest.raises(ZeroDivisionError), trilith.create(path, {"a": trilith.Reserved(1, "i1")}):
        1 / 0
    assert trilith.open(path)["b"].read() == -1 and unfinished(path) == []


def test_what_does_not_fit_is_an_error(tmp_path):
    path = tmp_path / "x.asdf"
    work = trilith.create(path, {"a": trilith.Reserved((4, 3), "f4")})
    for region, data, kind, text in (
        (np.s_[:2], np.zeros((3, 3), "f4"), ValueError, r"shape \[3, 3\] for a region of shape \[2, 3\]"),
        (np.s_[0], np.zeros(3, "f8"), ValueError, "data of float64 for an array of float32"),
        (np.s_[0], np.ma.masked_equal(np.zeros(3, "f4"), 0), NotImplementedError, "mask"),
        ([0, 1], np.zeros((2, 3), "f4"), TypeError, "numbers, slices"),
        (9, np.zeros(3, "f4"), ValueError, "outside axis 0"),
    ):
        with pytest.raises(kind, match=text):
            work.write_region("a", region, data)
    with pytest.raises(ValueError, match="reserved are: /a"):
        work.write_region("b", 0, np.zeros(3, "f4"))
    with pytest.raises(KeyError, match="/a"):
        work["b"]
    with pytest.raises(ValueError, match="is being written already"):
        trilith.create(path, {"a": trilith.Reserved(1, "i1")})
    with pytest.raises(ValueError, match="trilith.create"):
        trilith.write(tmp_path / "y.asdf", {"a": trilith.Reserved(1, "i1")})
    with pytest.raises(ValueError, match="no array of the file is reserved"):
        trilith.create(tmp_path / "y.asdf", {"a": 1})
    late = pickle.loads(pickle.dumps(work))
    assert late.id == work.id and late.arrays == {"/a": ((4, 3), np.dtype("f4"))} and "/a" in repr(late)
    work.abort()
    with pytest.raises(OSError, match="finished, aborted"):
        late.write_region("a", 0, np.zeros(3, "f4"))
    with pytest.raises(FileNotFoundError):
        trilith.resume(path)
    assert os.listdir(tmp_path) == []


def test_blocks_of_a_domain_decomposition_in_a_dudley_file(tmp_path):
    layout = trilith.Layout("{ nx : i8  ny : i4  time = f8 }\nx = f4[nx]\nrho = f8[ny, nx]  ## (g/cc) density\nz = c16[ny-]\n")
    path, whole = tmp_path / "run.bd", np.arange(24.0).reshape(4, 6)
    given = dict(nx=6, ny=4, time=0.5, x=np.arange(6, dtype="f4"))
    work = layout.create(path, given, rho=trilith.Reserved(whole.shape, "f8"), z=trilith.Reserved(3, "c16"))
    assert work.arrays == {"/rho": ((4, 6), np.dtype("f8")), "/z": ((3,), np.dtype("c16"))}
    for region in (np.s_[:2, :4], np.s_[2:, 4:], np.s_[:2, 4:], np.s_[2:, :4]):
        pickle.loads(pickle.dumps(work)).write_region("rho", region, whole[region].astype(">f8"))
    work["z"][:2] = np.array([1j, 2j])
    with pytest.raises(ValueError, match="1 element never written"):
        work.finish()
    with pytest.raises(FileNotFoundError, match="other processes are writing it"):
        trilith.open(path)
    with pytest.raises(NotImplementedError, match="unfinished"):
        trilith.open(tmp_path / ".run.bd.trilith-unfinished")
    work.finish(fill=0)
    assert unfinished(path) == []
    layout.write(tmp_path / "at-once.bd", given, rho=whole, z=np.array([1j, 2j, 0]))
    assert path.read_bytes() == (tmp_path / "at-once.bd").read_bytes()
    with pytest.raises(ValueError, match="no elements, only space"):
        layout.write(tmp_path / "x.bd", given, rho=trilith.Reserved(whole.shape, "f8"), z=np.zeros(3, "c16"))
    # Without a layout, as of write.
    tree = {"n": 3, "g": {"a b": trilith.Reserved((2, 3), ">i2"), "t": np.arange(2.0)}, "l": [trilith.Reserved(2, "i1"), np.zeros(2, "i1")]}
    for version in (None, "dudley-2026"):
        work = trilith.create(tmp_path / "t.bd", tree, version=version)
        assert list(work.arrays) == ['/g/"a b"', "/l[0]"]
        work.write_region('/g/"a b"', np.s_[:, ::2], np.array([[1, 2], [3, 4]], "i2"))
        work.write_region("l[0]", ..., np.array([5, 6], "i1"))
        work.finish(fill=-1) if version is None else work.abort()
    with trilith.open(tmp_path / "t.bd") as f:
        assert f["g"]["a b"].tolist() == [[1, -1, 2], [3, -1, 4]] and f["l"][0].tolist() == [5, 6] and f["n"] == 3
    with pytest.raises(ValueError, match="is not a format that Trilith writes|its extension means"):
        trilith.create(tmp_path / "x.h5", {"a": trilith.Reserved(1, "i1")})
    assert sorted(os.listdir(tmp_path)) == ["at-once.bd", "run.bd", "t.bd"]


def test_dask_stores_into_it(tmp_path):
    da = pytest.importorskip("dask.array")
    data = np.random.default_rng(2).normal(size=(60, 40)).astype("f4")
    lazy = da.from_array(data, chunks=(16, 15)) * 2
    work = trilith.create(tmp_path / "x.asdf", {"a": trilith.Reserved(lazy.shape, lazy.dtype)})
    target = pickle.loads(pickle.dumps(work["a"]))
    assert (target.shape, target.dtype, target.ndim) == ((60, 40), np.dtype("f4"), 2)
    da.store(lazy, target, lock=False, scheduler="threads")
    work.finish()
    np.testing.assert_array_equal(trilith.open(tmp_path / "x.asdf")["a"].read(), data * 2)


@pytest.mark.parametrize("codec", [None, "lz4", "zlib"])
def test_chunks_of_a_grid_are_what_everyone_cuts_along(tmp_path, codec):
    """Zarr, dask and `chunks` agree, for every kind of chunks."""
    dask, zarr = pytest.importorskip("dask"), pytest.importorskip("trilith.zarr")
    data = (np.arange(300 * 200) // 7).astype("i4").reshape(300, 200)
    trilith.write(tmp_path / "x.asdf", {"a": data, "square": data[:200]})
    trilith.convert(tmp_path / "x.asdf", tmp_path / "y.asdf", chunks=(64, 50), codec=codec)
    with trilith.open(tmp_path / "y.asdf") as f:
        assert f["a"].chunks == f["square"].chunks == (64, 50)
        group = zarr.open(tmp_path / "y.asdf")
        rows, columns = group["a"].chunks
        assert rows % 64 == 0 or rows == 300, "whole chunks"
        assert columns % 50 == 0
        np.testing.assert_array_equal(group["a"][...], data)
        with dask.config.set({"array.chunk-size": "60kB"}):
            lazy = f["a"].to_dask()
        assert lazy.chunks == ((64, 64, 64, 64, 44), (200,))
        np.testing.assert_array_equal(lazy.compute(scheduler="synchronous"), data)


def test_pieces_of_rows_are_read_by_asdf_and_by_zarrs_codec(tmp_path):
    """Not parallel itself, but for it: each piece of the block is a chunk."""
    asdf, lz4 = pytest.importorskip("asdf"), pytest.importorskip("lz4.block")
    data = (np.arange(100 * 33) // 7).astype("i4").reshape(100, 33)
    trilith.write(tmp_path / "x.asdf", {"a": data, "line": np.arange(50.0), "f": np.asfortranarray(data)})
    trilith.convert(tmp_path / "x.asdf", tmp_path / "y.asdf", rows=10)
    with asdf.open(tmp_path / "y.asdf", validate_checksums=True) as af:
        np.testing.assert_array_equal(np.asarray(af["a"]), data)
        np.testing.assert_array_equal(np.asarray(af["line"]), np.arange(50.0))
    f = trilith.open(tmp_path / "y.asdf")
    assert f["a"].chunks == (10, 33) and f["line"].chunks == (10,) and f["a"].to_dask(chunks=(10, 33)).sum().compute() == data.sum()
    block = f.info()["blocks"][0]
    stored = (tmp_path / "y.asdf").read_bytes()[block["data_offset"] :][: block["stored"]]
    for number in range(10):
        length = int.from_bytes(stored[:4], "big")
        # What numcodecs.LZ4 stores: the length, little-endian, and the block.
        chunk = np.frombuffer(lz4.decompress(stored[4 : 4 + length]), "<i4").reshape(10, 33)
        np.testing.assert_array_equal(chunk, data[10 * number : 10 * number + 10])
        stored = stored[4 + length :]
    assert stored == b""
