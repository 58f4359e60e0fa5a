"""The backend of xarray: lazy variables, groups, chunks."""

import pickle
import subprocess
import sys

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


def test_names_of_dimensions_by_convention(tmp_path):
    pixels = {"data": np.zeros((4, 5)), "ramp": np.zeros((2, 4, 5)), "cube": np.zeros((3, 2, 4, 5)), "edge": np.zeros((2, 5)), "v": np.zeros(3)}
    for telescope, expected in {
        "ROMAN": {"data": ("y", "x"), "ramp": ("resultant", "y", "x"), "edge": ("edge_y", "x")},
        "JWST": {"ramp": ("integration", "y", "x"), "cube": ("integration_", "group", "y", "x")},
        "HST": {"data": ("dim_0", "dim_1")},
    }.items():
        path = tmp_path / f"{telescope}.asdf"
        trilith.write(path, {"meta": {"telescope": telescope}, **pixels})
        with xarray.open_dataset(path, engine="trilith") as ds:
            for name, dims in expected.items():
                # A name that would have two lengths is that of one array.
                own = tuple(f"{name}_{dim[:-1]}" if dim.endswith("_") else dim for dim in dims)
                assert ds[name].dims == own, name
        with xarray.open_dataset(path, engine="trilith", dims={"data": ("row", "column")}) as ds:
            assert ds.data.dims == ("row", "column")
    f = trilith.open(tmp_path / "ROMAN.asdf")
    assert f["data"].to_xarray().dims == ("y", "x") and f["v"].to_xarray().dims == ("dim_0",)
    array = f["data"].to_xarray(dims=("a", "b"), name="n")
    assert array.dims == ("a", "b") and array.name == "n" and not array.variable._in_memory
    with pytest.raises(ValueError, match="1 names of dimensions"):
        f["data"].to_xarray(dims="a")


def test_roman(tmp_path):
    rdm = pytest.importorskip("roman_datamodels.datamodels")
    rdm.ImageModel.create_fake_data(shape=(64, 64)).save(tmp_path / "r.asdf")
    with xarray.open_dataset(tmp_path / "r.asdf", engine="trilith", group="roman") as ds:
        assert ds.data.dims == ds.dq.dims == ds.err.dims == ("y", "x")


def test_quantities_are_variables_with_units(tmp_path):
    units = pytest.importorskip("astropy.units")
    trilith.write(tmp_path / "q.asdf", {"flux": np.ones(3) * units.Jy, "n": np.arange(3)})
    with xarray.open_dataset(tmp_path / "q.asdf", engine="trilith") as ds:
        assert ds.flux.attrs == {"units": "Jy"} and ds.flux.values.tolist() == [1, 1, 1] and ds.flux.dims == ds.n.dims
    assert trilith.open(tmp_path / "q.asdf")["flux/value"].to_xarray().attrs == {"units": "Jy"}


def test_concat(tmp_path):
    for n in range(4):
        trilith.write(tmp_path / f"r{n}.asdf", {"te": np.full((2, 3), n, "f4"), "m": np.ma.masked_equal([n], 1), "s": np.zeros(n)})
    te = trilith.concat(str(tmp_path / "r?.asdf"), "/te", dim="time", dims=("y", "x"))
    assert te.dims == ("time", "y", "x") and te.chunks is not None and te.dtype == "f4"
    np.testing.assert_array_equal(te[:, 1, 2], range(4))
    names = [tmp_path / "r2.asdf", tmp_path / "r0.asdf"]
    long = trilith.concat(names, "te", dim="dim_0", join="existing")
    np.testing.assert_array_equal(long[:, 0], [2, 2, 0, 0])
    for path, options, kind in (
        ("s", {}, ValueError),
        ("te", {"join": "existing"}, ValueError),
        ("te", {"join": "x"}, ValueError),
        ("nothing", {}, KeyError),
    ):
        with pytest.raises(kind):
            trilith.concat(str(tmp_path / "r?.asdf"), path, **options)
    with pytest.raises(FileNotFoundError):
        trilith.concat(str(tmp_path / "x*.asdf"), "te")
    np.testing.assert_array_equal(trilith.concat(str(tmp_path / "r?.asdf"), "m", dim="n")[:, 0], [0, np.nan, 2, 3])


def test_concat_joins_masked_and_scaled_variables(tmp_path):
    """Tier: rest. The peers are netCDF4, scipy and h5netcdf through xarray, and astropy."""
    values = np.arange(12, dtype="f8").reshape(2, 2, 3)
    values[0, 1, 2] = np.nan
    encodings = {
        "plain": ("netcdf4", {"_FillValue": None}),
        "fill": ("netcdf4", {"_FillValue": -999.0}),
        "scaled": ("netcdf4", {"dtype": "i2", "scale_factor": 0.5, "add_offset": 10.0, "_FillValue": -1}),
        "classic": ("scipy", {"dtype": "i2", "scale_factor": 0.5, "_FillValue": -1}),
        "hdf5": ("h5netcdf", {"dtype": "i4", "_FillValue": -1}),
    }
    for name, (engine, encoding) in encodings.items():
        for n in range(2):
            data = xarray.Dataset({"te": (("time", "y", "x"), values[n : n + 1])})
            data.to_netcdf(tmp_path / f"{name}{n}.nc", engine=engine, encoding={"te": encoding})
        for options in ({}, {"chunks": {}}):
            wanted = xarray.open_mfdataset(
                str(tmp_path / f"{name}?.nc"), engine=engine, combine="nested", concat_dim="time", **options
            )["te"]
            found = trilith.concat(str(tmp_path / f"{name}?.nc"), "/te", dim="time", join="existing")
            assert found.chunks is not None and found.dims == wanted.dims, name
            np.testing.assert_array_equal(found.values, wanted.values, name)
    ints = xarray.Dataset({"te": (("time", "x"), np.array([[1, 2]], "i4"))})
    for n in range(2):
        ints.to_netcdf(tmp_path / f"int{n}.nc", engine="netcdf4")
    te = trilith.concat(str(tmp_path / "int?.nc"), "/te", dim="time", join="existing")
    np.testing.assert_array_equal(te.values, [[1, 2], [1, 2]])


def test_concat_joins_blank_pixels(tmp_path):
    """Tier: rest. The peer is astropy."""
    fits = pytest.importorskip("astropy.io.fits")
    for n in range(2):
        hdu = fits.PrimaryHDU(np.array([[1, -1], [3, 4 + n]], "i2"))
        hdu.header["BLANK"] = -1
        hdu.writeto(tmp_path / f"i{n}.fits")
    found = trilith.concat(str(tmp_path / "i?.fits"), "/fits/0/data", dim="night").values
    np.testing.assert_array_equal(found, [fits.getdata(tmp_path / f"i{n}.fits") for n in range(2)])


def test_concat_refuses_numbers_of_other_units(tmp_path):
    """Tier: first. Times that are counted from other dates, and packed variables, whose factors may differ."""
    xarray, pandas = pytest.importorskip("xarray"), pytest.importorskip("pandas")
    for n in range(2):
        data = xarray.Dataset({"te": ("time", [1.0, 2.0])}, {"time": pandas.date_range(f"2026-01-0{1 + 2 * n}", periods=2)})
        data.to_netcdf(tmp_path / f"t{n}.nc", engine="h5netcdf", encoding={"te": {"dtype": "i2", "scale_factor": 0.5 / (n + 1)}})
    files = str(tmp_path / "t?.nc")
    with pytest.raises(ValueError, match="t1.nc: /time has units='days since 2026-01-03.*open_mfdataset"):
        trilith.concat(files, "/time", dim="time")
    np.testing.assert_array_equal(trilith.concat(files, "/te", dim="time").values, [1, 2, 1, 2])
    with xarray.open_mfdataset(files, engine="trilith") as joined:
        np.testing.assert_array_equal(joined.time.values, pandas.date_range("2026-01-01", periods=4))


@pytest.mark.parametrize("physical", [(), ("--physical",)])
def test_converted_dataset_is_decoded_as_its_source(tmp_path, physical):
    """Tier: rest. The attributes of a netCDF file are annotations of the ASDF file that it is converted to."""
    xarray, pandas = pytest.importorskip("xarray"), pytest.importorskip("pandas")
    variables = {"te": (("time", "x"), np.arange(6.0).reshape(2, 3), {"long_name": "temperature", "units": "K"})}
    wanted = xarray.Dataset(variables, {"time": pandas.date_range("2026-01-01", periods=2)})
    source, converted = tmp_path / "a.nc", tmp_path / "a.asdf"
    wanted.to_netcdf(source, engine="h5netcdf", encoding={"te": {"dtype": "i2", "scale_factor": 0.5, "_FillValue": -9}})
    subprocess.run([sys.executable, "-m", "trilith", "convert", "-q", *physical, source, converted], check=True)
    with xarray.open_dataset(converted, engine="trilith") as found:
        xarray.testing.assert_equal(found, wanted)
        assert found.te.attrs == wanted.te.attrs


def test_group_without_arrays_names_those_that_have_some(tmp_path):
    """Tier: first."""
    xarray = pytest.importorskip("xarray")
    trilith.write(tmp_path / "a.asdf", {"run": {"night": {"x": np.arange(3)}}, "note": "text"})
    with pytest.warns(UserWarning, match="groups with arrays are run/night: group='run/night'"):
        xarray.open_dataset(tmp_path / "a.asdf", engine="trilith")
    (tmp_path / "a.asdf").write_bytes(trilith.dumps({"empty": {"note": "text"}, "run": {"x": np.arange(3)}}))
    with pytest.warns(UserWarning, match="groups with arrays are run: group='run'"):
        xarray.open_dataset(tmp_path / "a.asdf", engine="trilith", group="empty")


def test_cards_of_an_hdu_without_data_are_attributes(tmp_path):
    """Tier: rest. The peer is astropy."""
    xarray, fits = pytest.importorskip("xarray"), pytest.importorskip("astropy.io.fits")
    primary = fits.PrimaryHDU()
    primary.header["EXPTIME"] = 350.0
    fits.HDUList([primary, fits.ImageHDU(np.zeros((2, 3)), name="SCI")]).writeto(tmp_path / "a.fits")
    with pytest.warns(UserWarning, match="groups with arrays are fits/1"):
        assert xarray.open_dataset(tmp_path / "a.fits", engine="trilith", group="fits/0").attrs["EXPTIME"] == 350.0


def test_dropped_variables_change_no_others(tmp_path):
    """Tier: rest. The peer is netCDF4: xarray joins characters along a dimension that only strings have."""
    xarray, netcdf = pytest.importorskip("xarray"), pytest.importorskip("netCDF4")
    with netcdf.Dataset(tmp_path / "a.nc", "w") as f:
        f.createDimension("x", 3)
        f.createVariable("t", "f4", ("x",))[:] = [1, 2, 3]
        f.createVariable("flag", "S1", ("x",))[:] = np.array([b"A", b"B", b"C"])
    found, wanted = (xarray.open_dataset(tmp_path / "a.nc", engine=e, drop_variables=["t"]) for e in ("trilith", "netcdf4"))
    xarray.testing.assert_identical(found, wanted)
