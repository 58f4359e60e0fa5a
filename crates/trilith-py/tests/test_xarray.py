"""The backend of xarray: lazy variables, groups, chunks."""

import pickle

import numpy as np
import pytest

import trilith

xarray = pytest.importorskip("xarray")
pytest.importorskip("dask.array")


@pytest.fixture(params=[None, "lz4"])
def path(request, tmp_path):
    data = np.random.default_rng(4).normal(size=(700, 900)).astype("f4")
    tree = {
        "roman": {
            "meta": {"exposure": 139.8, "filter": "F106", "tags": ["a", "b"], "wcs": {"crpix": np.arange(2.0)}},
            "data": data,
            "dq": np.ma.masked_less(np.arange(700 * 900, dtype="i2").reshape(700, 900), 5),
            "edge": np.zeros((3, 700), "f2"),
        },
        "text": "top",
        "none": None,
        "flags": np.array([True, False]),
    }
    path = tmp_path / "x.asdf"
    trilith.write(path, tree, codec=request.param)
    return path, data


def test_it_is_found_as_engine():
    assert "trilith" in xarray.backends.list_engines()
    backend = xarray.backends.list_engines()["trilith"]
    assert backend.guess_can_open("a/b.asdf") and backend.guess_can_open("b.BD") and not backend.guess_can_open("a.nc")


def test_open_dataset(path):
    path, data = path
    with xarray.open_dataset(path, group="roman") as ds:
        assert list(ds) == ["data", "dq", "edge"] and ds.sizes == {"dim_0": 700, "dim_1": 900, "dim_2": 3, "dim_3": 700}
        assert not ds.data.variable._in_memory, "lazy"
        np.testing.assert_array_equal(ds.data[5, ::-3], data[5, ::-3])
        np.testing.assert_array_equal(ds.data.isel(dim_0=[3, 1, 3], dim_1=slice(2, 9, 2)), data[[3, 1, 3], 2:9:2])
        np.testing.assert_array_equal(ds.data.isel(dim_0=xarray.DataArray([1, 2], dims="p"), dim_1=xarray.DataArray([3, 4], dims="p")), data[[1, 2], [3, 4]])
        assert ds.dq.dtype == "f4" and int(ds.dq.isnull().sum()) == 700 * 900 - int((ds.dq >= 5).sum())
        assert float(ds.data[2, 3]) == data[2, 3]
        again = pickle.loads(pickle.dumps(ds))
        np.testing.assert_array_equal(again.data[1], data[1])
    with xarray.open_dataset(path, engine="trilith") as ds:
        assert ds.attrs["text"] == "top" and ds.flags.dtype == bool and list(ds) == ["flags"]
    options = {"dims": {"data": ("y", "x"), "dq": ("y", "x")}, "drop_variables": "edge"}
    with xarray.open_dataset(path, engine="trilith", group="/roman", **options) as ds:
        assert ds.data.dims == ("y", "x") and "edge" not in ds and ds.sizes == {"y": 700, "x": 900}
    with pytest.raises(KeyError):
        xarray.open_dataset(path, engine="trilith", group="nothing")


def test_open_datatree(path):
    path, data = path
    with xarray.open_datatree(path, engine="trilith") as tree:
        assert tree["roman/meta"].attrs == {"exposure": 139.8, "filter": "F106", "tags": ["a", "b"]}
        np.testing.assert_array_equal(tree["roman/meta/wcs/crpix"], [0, 1])
        np.testing.assert_array_equal(tree["roman/data"][7], data[7])
    with xarray.open_datatree(path, engine="trilith", group="roman/meta") as tree:
        assert tree.attrs["filter"] == "F106" and "wcs" in tree.children


@pytest.mark.filterwarnings("ignore:The specified chunks")
def test_chunks(path):
    path, data = path
    with xarray.open_dataset(path, engine="trilith", group="roman", chunks={}) as ds:
        assert ds.data.chunks is not None
        np.testing.assert_array_equal(ds.data.mean("dim_0").compute(scheduler="threads"), data.mean(0))
    with xarray.open_dataset(path, engine="trilith", group="roman", chunks={"dim_0": 100}) as ds:
        assert ds.data.chunks[0] == (100,) * 7
        np.testing.assert_array_equal(ds.data.isel(dim_1=3), data[:, 3])
