"""dask.distributed with worker processes: reductions, a worker that is killed, a file that is replaced, memory, writing."""

import contextlib
import os
import pathlib
import pickle
import resource
import signal
import sys
import time

import numpy as np
import pytest

import trilith

pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")
xarray = pytest.importorskip("xarray")
cloudpickle = pytest.importorskip("cloudpickle")

cloudpickle.register_pickle_by_value(sys.modules[__name__])

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no such signal here")
COUNT = 1000


@contextlib.contextmanager
def cluster(workers):
    import dask
    from distributed import Client, LocalCluster

    # A worker begins with the paths of this process, and finds this file there, wherever the tests are run from.
    sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
    # A killed worker's tasks are tried again somewhere else.
    with dask.config.set({"distributed.scheduler.allowed-failures": 10}):
        options = dict(n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None)
        with LocalCluster(host="127.0.0.1", **options) as workplace, Client(workplace) as client:
            yield client


@pytest.fixture(scope="module")
def client():
    with cluster(3) as client:
        yield client


@pytest.fixture
def fresh_client():
    """Workers that did nothing before: restarting those of a cluster sometimes waits for one that never returns."""
    with cluster(2) as client:
        yield client


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A thousand files, and what is in them."""
    folder = tmp_path_factory.mktemp("many")
    data = np.random.default_rng(1).normal(size=(COUNT, 8, 6)).astype("f4")
    for number, image in enumerate(data):
        trilith.write(folder / f"r{number:04}.asdf", {"te": image, "n": np.arange(3) + number}, codec="lz4" if number % 2 else None)
    return folder, data


@pytest.fixture
def few_open_files():
    """As many as some systems allow; several arrays a file would not fit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    here = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 64
    resource.setrlimit(resource.RLIMIT_NOFILE, (here + 256, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def kill_one(client, after):
    """Kills a worker a while after the work began."""
    pids = client.run(os.getpid)
    time.sleep(after)
    os.kill(next(iter(pids.values())), signal.SIGKILL)


def slow(block):
    time.sleep(0.1)
    return block


def test_reductions_over_a_thousand_files(client, files, few_open_files):
    folder, data = files
    te = trilith.concat(str(folder / "r*.asdf"), "/te", dim="time", dims=("y", "x"))
    assert te.sizes == {"time": COUNT, "y": 8, "x": 6}
    np.testing.assert_allclose(te.mean("time").compute(), data.mean(0), rtol=1e-5)
    np.testing.assert_array_equal(te.max(("y", "x")).compute(scheduler="threads"), data.max((1, 2)))
    dims = {"te": ("y", "x"), "n": ("i",)}
    options = dict(engine="trilith", combine="nested", concat_dim="time", dims=dims, chunks={})
    with xarray.open_mfdataset(str(folder / "r*.asdf"), **options) as ds:
        np.testing.assert_allclose(ds.te.mean("time").compute(), data.mean(0), rtol=1e-5)
        np.testing.assert_array_equal(ds.n[:, 2], np.arange(COUNT) + 2)


def test_the_graph_holds_ways_and_no_elements(files):
    folder, _ = files
    lazy = trilith.open(folder / "r0001.asdf")["te"].to_dask()
    assert len(cloudpickle.dumps(dict(lazy.__dask_graph__()))) < 5000
    ds = xarray.open_dataset(folder / "r0000.asdf", engine="trilith", chunks={})
    assert len(pickle.dumps(ds.te.variable)) < 5000


def test_many_files_are_opened_once(files, monkeypatch):
    from trilith import _values, _xarray

    folder, data = files
    opened = []

    def counted(function):
        def count(path, *arguments, **options):
            opened.append(os.path.basename(path))
            return function(path, *arguments, **options)

        return count

    monkeypatch.setattr(_xarray, "opened", counted(_xarray.opened))
    monkeypatch.setattr(_values, "opened", counted(_values.opened))
    dims = {"te": ("y", "x"), "n": ("i",)}
    options = dict(engine="trilith", combine="nested", concat_dim="time", dims=dims, chunks={})
    names = [f"r0{number:03}.asdf" for number in range(100)]
    with xarray.open_mfdataset([folder / name for name in names], **options) as ds:
        np.testing.assert_array_equal(ds.te.values, data[:100])
        assert int(ds.n.sum()) == 3 * sum(range(100)) + 300
    assert opened == names


def test_a_worker_that_is_killed_changes_no_result(client, files):
    folder, data = files
    te = trilith.concat(str(folder / "r0[0-2]*.asdf"), "/te", dim="time", dims=("y", "x"))
    future = client.compute(te.data.map_blocks(slow).sum(axis=0))
    kill_one(client, 1.5)
    np.testing.assert_allclose(future.result(timeout=240), data[:300].sum(0), rtol=1e-4)


@pytest.fixture
def large(tmp_path):
    data = (np.arange(128 << 20, dtype="u1") % 251).reshape(1024, -1)
    path = tmp_path / "large.asdf"
    trilith.write(path, {"a": data}, codec="lz4")
    return path, data


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def test_memory_is_bounded_by_chunks(fresh_client, large):
    client = fresh_client
    path, data = large
    lazy = trilith.open(path)["a"].to_dask(chunks=(32, data.shape[1]))
    small = lazy[:32].sum().compute()
    before = client.run(peak)
    assert small == data[:32].sum(dtype="u8")
    assert lazy.astype("f4").mean().compute() == pytest.approx(data.mean(), rel=1e-4)
    for worker, after in client.run(peak).items():
        # Chunks are 4 MiB, 16 MiB as floats; a worker holds a few of them.
        assert after - before[worker] < 96 << 20, "less than the array, which is 128 MiB, and 512 as floats"


def test_a_file_that_is_replaced_is_an_error_that_names_it(client, tmp_path):
    path = tmp_path / "x.asdf"
    trilith.write(path, {"a": np.zeros((60, 100))})
    lazy = trilith.open(path)["a"].to_dask(chunks=(1, 100))
    future = client.compute(lazy.map_blocks(slow).sum())
    time.sleep(0.6)
    trilith.write(path, {"a": np.ones((60, 100))})
    with pytest.raises(OSError, match="was changed or replaced since it was opened.*x.asdf"):
        future.result(timeout=120)
    # What was opened before keeps what it read from.
    with pytest.raises(OSError, match="open it again"):
        pickle.loads(pickle.dumps(lazy)).sum().compute()
    assert trilith.open(path)["a"].to_dask().sum().compute() == 6000


def test_workers_write_one_file_and_one_is_killed(client, tmp_path):
    path = tmp_path / "out.asdf"
    data = da.random.default_rng(3).normal(size=(96, 5000), chunks=(4, 1250))
    expected = data.compute(scheduler="threads")
    work = trilith.create(path, {"meta": {"made": "by three"}, "a": trilith.Reserved(data.shape, data.dtype)})
    stored = da.store(data.map_blocks(slow), work["a"], lock=False, compute=False)
    future = client.compute(stored)
    kill_one(client, 1.0)
    with pytest.raises((ValueError, OSError), match="never written|still being written"):
        work.finish()
    assert not path.exists()
    future.result(timeout=240)
    work.finish()
    f = trilith.open(path)
    assert f.verify(deep=True) == [] and f["meta/made"] == "by three"
    np.testing.assert_array_equal(f["a"].read(), expected)
    assert os.listdir(tmp_path) == ["out.asdf"]


def test_workers_write_the_blocks_of_their_domains_into_a_dudley_file(client, tmp_path):
    layout = trilith.Layout("{ nx : i8  ny : i8  time = f8 }\nrho = f8[ny, nx]  ## (g/cc) density\n")
    data = da.random.default_rng(4).normal(size=(48, 900), chunks=(12, 300))
    work = layout.create(tmp_path / "run.bd", nx=900, ny=48, time=1.5, rho=trilith.Reserved(data.shape, data.dtype))
    future = client.compute(da.store(data.map_blocks(slow), work["rho"], lock=False, compute=False))
    kill_one(client, 0.3)
    future.result(timeout=240)
    work.finish()
    with xarray.open_dataset(tmp_path / "run.bd", engine="trilith") as ds:
        np.testing.assert_array_equal(ds.rho, data.compute(scheduler="threads"))
        assert ds.rho.dims == ("ny", "nx") and float(ds.time) == 1.5
    assert os.listdir(tmp_path) == ["run.bd"]
