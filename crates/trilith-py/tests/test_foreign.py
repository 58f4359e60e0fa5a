"""Files of other formats in Python: what xarray's own engines make of HDF5 and netCDF, and attributes."""

import itertools
import subprocess
import sys

import numpy as np
import pytest

import trilith

netCDF4 = pytest.importorskip("netCDF4")
xarray = pytest.importorskip("xarray")

PACKINGS = {
    "plain": {},
    "double": {"scale_factor": 0.25, "add_offset": 3.0},
    "single": {"scale_factor": np.float32(0.1), "add_offset": np.float32(-5)},
    "mixed": {"scale_factor": np.float32(0.1), "add_offset": 2.5},
    "factor": {"scale_factor": np.float32(0.01)},
    "missing": {"missing_value": 7},
    "unsigned": {"_Unsigned": "true", "scale_factor": 0.5},
}


def filled(file, is_version_4):
    """The variables of a test file, whose writer has the interface of netCDF4."""
    random = np.random.default_rng(7)
    for name, length in (("time", None), ("y", 4), ("x", 5), ("width", 6)):
        file.createDimension(name, length)
    file.title, file.version, file.history = "a title", np.int32(3), "first\nsecond"
    file.bounds = np.array([1.5, 2.5])
    time = file.createVariable("time", "f8", ("time",))
    time.units, time.calendar = "days since 2000-01-01", "standard"
    for name in ("y", "x"):
        axis = file.createVariable(name, "f4", (name,))
        axis.units, axis[:] = "degrees", np.arange({"y": 4, "x": 5}[name]) * 0.5
    for kind, (packing, said) in itertools.product(("i1", "i2", "i4", "f4", "f8"), PACKINGS.items()):
        if (packing, kind[0]) == ("unsigned", "f"):
            continue
        options = {"fill_value": np.array(5, kind)[()]} if is_version_4 or packing == "double" else {}
        variable = file.createVariable(f"{packing}_{kind}", kind, ("time", "y", "x"), **options)
        variable.set_auto_maskandscale(False)
        variable.long_name = f"{packing} of {kind}"
        for key, value in said.items():
            setattr(variable, key, np.array(value, kind)[()] if key == "missing_value" else value)
        variable[:3] = random.integers(0, 50, (3, 4, 5)).astype(kind)
        variable.coordinates = "place"
    time[:] = [0, 1.5, 31]
    place = file.createVariable("place", "S1", ("y", "width"))
    place[:] = np.frombuffer(b"abcdefghijklmnopqrstuvwx", "S1").reshape(4, 6)
    nans = file.createVariable("nans", "f4", ("x",), fill_value=np.float32("nan"))
    nans[:] = [1, np.nan, 3, 4, 5]
    elapsed = file.createVariable("elapsed", "i4", ("time",))
    elapsed.units, elapsed[:] = "hours", [1, 2, 3]
    file.createVariable("scalar", "f8", ())[...] = 2.5


def same(ours, theirs):
    """The variables, coordinates and attributes are the same."""
    assert set(ours.variables) == set(theirs.variables)
    assert set(ours.coords) == set(theirs.coords)
    assert dict(ours.sizes) == dict(theirs.sizes)
    same_attributes(ours.attrs, theirs.attrs)
    for name, expected in theirs.variables.items():
        found = ours.variables[name]
        assert found.dims == expected.dims, name
        assert found.dtype.newbyteorder("=") == expected.dtype.newbyteorder("="), name
        np.testing.assert_array_equal(found.values, expected.values, err_msg=name)
        same_attributes(found.attrs, expected.attrs, name)


def same_attributes(ours, theirs, name=""):
    # A text of several lines is a list of them in a layout.
    joined = {key: "\n".join(said) if key == "history" and not isinstance(said, str) else said for key, said in ours.items()}
    assert set(joined) == set(theirs), name
    for key, said in theirs.items():
        np.testing.assert_array_equal(joined[key], said, err_msg=f"{name} {key}")


FORMS = ["NETCDF3_CLASSIC", "NETCDF3_64BIT_OFFSET", "NETCDF3_64BIT_DATA", "NETCDF4_CLASSIC", "NETCDF4"]
WAYS = [{"decode_cf": False}, {"mask_and_scale": False}, {"decode_times": False}, {"decode_timedelta": True}]


@pytest.mark.parametrize(("form", "how"), [*((form, {}) for form in FORMS), *(("NETCDF4", how) for how in WAYS), (FORMS[0], WAYS[0])])
def test_the_variables_are_those_of_netcdf4(tmp_path, form, how):
    netcdf4 = pytest.importorskip("netCDF4")
    path = tmp_path / "x.nc"
    with netcdf4.Dataset(path, "w", format=form) as file:
        filled(file, form.startswith("NETCDF4"))
    engines = ["netcdf4"] if form == "NETCDF3_64BIT_DATA" else ["netcdf4", "scipy" if "3" in form else "h5netcdf"]
    for engine in engines:
        if engine not in xarray.backends.list_engines():
            continue
        with xarray.open_dataset(path, engine=engine, **how) as theirs, xarray.open_dataset(path, engine="trilith", **how) as ours:
            if how.get("decode_cf") is False and "3" in form:
                # Texts are texts already.
                theirs, ours = theirs.drop_vars("place").drop_dims("width", errors="ignore"), ours.drop_vars("place")
            same(ours, theirs)


def test_groups_have_the_dimensions_above(tmp_path):
    netcdf4 = pytest.importorskip("netCDF4")
    path = tmp_path / "g.nc"
    with netcdf4.Dataset(path, "w") as file:
        file.createDimension("x", 3)
        file.createVariable("x", "i4", ("x",))[:] = [1, 2, 3]
        group = file.createGroup("a/b")
        group.createDimension("n", 2)
        group.note = "below"
        group.createVariable("v", "f4", ("n", "x"), zlib=True, chunksizes=(1, 2))[:] = np.arange(6).reshape(2, 3)
    with xarray.open_datatree(path, engine="trilith") as ours, xarray.open_datatree(path, engine="netcdf4") as theirs:
        xarray.testing.assert_identical(ours["a/b/v"].to_dataset(), theirs["a/b/v"].to_dataset())
        assert ours["a/b"].attrs == theirs["a/b"].attrs == {"note": "below"}
        np.testing.assert_array_equal(ours["a/b"].coords["x"], [1, 2, 3])
    with xarray.open_dataset(path, engine="trilith", group="a/b") as ours:
        assert ours.v.dims == ("n", "x") and ours.attrs == {"note": "below"}


def test_what_h5py_wrote(tmp_path):
    h5py = pytest.importorskip("h5py")
    path = tmp_path / "x.h5"
    with h5py.File(path, "w") as file:
        file["named"] = np.zeros((2, 3))
        file["named"].dims[1].label = "columns"
        file["x"] = np.arange(3.0)
        file["x"].make_scale("x")
        file["named"].dims[1].attach_scale(file["x"])
        file["plain"] = np.arange(2, dtype=">i2")
        file["plain"].attrs["units"] = "m"
        file["plain"].attrs["range"] = np.array([1, 2])
        file["plain"].attrs["none"] = h5py.Empty("f4")
        file.attrs["title"] = "all"
    with xarray.open_dataset(path, engine="trilith") as ours:
        assert ours.named.dims == ("named_0", "x") and ours.attrs == {"title": "all"}
        assert ours.plain.dims == ("dim_0",) and ours.plain.attrs["units"] == "m"
        np.testing.assert_array_equal(ours.plain, [0, 1])
    file = trilith.open(path)
    assert file.attributes == {"title": "all"} and file["plain"].attributes["range"] == [1, 2]
    assert file["plain"].unit == "m" and set(file["named"].attrs) == {"DIMENSION_LABELS"}
    assert file["named"].to_xarray().dims == ("dim_0", "x") and file["plain"].to_xarray().attrs["units"] == "m"


def test_safetensors_and_npz_have_no_names(tmp_path):
    np.savez_compressed(tmp_path / "x.npz", a=np.arange(6).reshape(2, 3), **{"g/b": np.zeros(4)})
    with xarray.open_datatree(tmp_path / "x.npz", engine="trilith") as tree:
        assert tree["a"].dims == ("dim_0", "dim_1") and tree["g/b"].dims == ("dim_2",)
        np.testing.assert_array_equal(tree["a"][1], [3, 4, 5])


def test_attributes_of_trees_are_beside_their_arrays(tmp_path):
    trilith.write(tmp_path / "x.asdf", {"a": np.arange(3)})
    assert trilith.open(tmp_path / "x.asdf")["a"].attributes == {}


STRINGS = """
import resource, sys
import numpy, trilith
resource.setrlimit(resource.RLIMIT_DATA, (400 << 20, 400 << 20))
with trilith.open(sys.argv[1]) as f:
    array, strings = f["text"], [f"x{i}" for i in range(20_000)] + ["\u00e9" * 250_000]
    assert array.dtype == object and array.shape == (20_001,) and array.nbytes == 20_001 * array.itemsize < 1 << 20
    for read in (array[...], numpy.asarray(array), array.read(), numpy.array(list(array), object)):
        assert read.dtype == object and read.tolist() == strings
    assert array[5] == "x5" and array[-1] == strings[-1] and array[3:5].tolist() == ["x3", "x4"] and array[0:0].dtype == object
    assert array[[7, 1]].tolist() == ["x7", "x1"] and array.read(out=numpy.empty(20_001, object)).tolist() == strings
    assert len(f.digest()["/text"]) == 64 and f.to_dict()["text"].tolist() == strings
    assert "20001" in repr(array)
"""


def test_strings_of_variable_length_cost_what_they_hold(tmp_path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file.create_dataset("text", data=[f"x{i}" for i in range(20_000)] + ["\u00e9" * 250_000], dtype=h5py.string_dtype())
    subprocess.run([sys.executable, "-c", STRINGS, tmp_path / "x.h5"], check=True, timeout=60)
    with xarray.open_dataset(tmp_path / "x.h5", engine="trilith") as ours:
        assert ours["text"].values[19_999] == "x19999"


def conventions(path, kind):
    """A file with a variable for each convention of netCDF."""
    with netCDF4.Dataset(path, "w", format=kind) as file:
        file.history, file.Conventions, file.grid_label = "2020 made", "CF-1.8", "gn"
        file.setncatts({"lines": "one\ntwo\r\n", "single": np.float32(0.1), "numbers": np.array([1.5, np.nan]), "nan": "nan"})
        for name, length in {"time": None, "y": 3, "x": 4, "spatial": 3, "nchar": 5, "bnds": 2, "only": 7}.items():
            file.createDimension(name, length)

        def make(name, datatype, dims, values=None, said=None, **how):
            variable = file.createVariable(name, datatype, dims, **how)
            variable.setncatts(said or {})
            variable.set_auto_maskandscale(False)
            if values is not None:
                variable[...] = values

        make("time", "f8", ("time",), [0, 1.5], {"units": "days since 2000-01-01", "bounds": "time_bnds"})
        make("time_bnds", "f8", ("time", "bnds"), [[0, 1], [1, 2]])
        make("y", "f4", ("y",), [1, 2, 3], {"axis": "Y"})
        make("spatial", "S1", ("spatial",), np.array(list("xyz"), "S1"))
        make("label", "S1", ("time", "nchar"), netCDF4.stringtochar(np.array(["abc", "efghi"], "S5")), {"long_name": "label"})
        make("letter", "S1", (), "q")
        packed = {"scale_factor": np.float32(0.5), "add_offset": np.float32(2), "grid_mapping": "crs", "coordinates": "lat lon"}
        values = np.arange(24).reshape(2, 3, 4)
        make("packed", "i2", ("time", "y", "x"), values, packed, fill_value=3, **{"zlib": True} if kind == "NETCDF4" else {})
        make("wide", "i2", ("y", "x"), values[0], {"scale_factor": 0.1, "missing_value": np.int16(5)})
        make("unsigned", "i1", ("x",), [-1, 0, 1, 2], {"_Unsigned": "true"})
        make("lat", "f8", ("y", "x"), values[0], {"units": "degrees_north"})
        make("lon", "f8", ("y", "x"), values[1], {"units": "degrees_east"})
        make("crs", "i4", (), 0, {"grid_mapping_name": "lambert_conformal_conic", "standard_parallel": [25.0, 30.0]})
        make("flags", "i1", ("x",), [0, 1, 0, 1], {"flag_values": np.array([0, 1], "i1"), "flag_meanings": "a b"})
        make("lasting", "i4", ("x",), [1, 2, 3, 4], {"units": "seconds"})
        make("unwritten", "f4", ("x",))
        make("records", "i4", ("time",))
        if kind == "NETCDF4":
            make("strings", str, ("y",), np.array(["a", "longer", "é"], object))
            make("bnds", "f4", ("y",), 5)
            below = file.createGroup("g").createGroup("h")
            below.createDimension("z", 2)
            below.createVariable("deep", "u4", ("z", "y"), zlib=True)[:] = 7
            below["deep"].grid_mapping = "crs"
            kinds = file.createEnumType(np.uint8, "kinds_t", {"a": 0, "b": 1})
            make("kinds", kinds, ("x",), [0, 1, 0, 1])


@pytest.mark.parametrize("kind", ["NETCDF3_CLASSIC", "NETCDF3_64BIT_OFFSET", "NETCDF3_64BIT_DATA", "NETCDF4", "NETCDF4_CLASSIC"])
@pytest.mark.filterwarnings("ignore")
def test_xarray_gets_what_the_library_of_netcdf_gives(tmp_path, kind):
    path = tmp_path / "x.nc"
    conventions(path, kind)
    for how in ({}, {"decode_cf": False}, {"mask_and_scale": False}, {"concat_characters": False}, {"decode_coords": "all"}):
        with xarray.open_dataset(path, engine="netcdf4", **how) as theirs, xarray.open_dataset(path, engine="trilith", **how) as ours:
            xarray.testing.assert_identical(ours, theirs)
            assert ours.encoding["unlimited_dims"] == theirs.encoding["unlimited_dims"] == {"time"}
            for name, variable in theirs.variables.items():
                assert ours[name].dtype == variable.dtype, name
                for key in ("_FillValue", "scale_factor", "grid_mapping", "coordinates", "char_dim_name"):
                    assert ours[name].encoding.get(key) == variable.encoding.get(key), (name, key)
    theirs, ours = (xarray.open_groups(path, engine=engine) for engine in ("netcdf4", "trilith"))
    assert set(ours) == set(theirs)
    for name, group in theirs.items():
        xarray.testing.assert_identical(ours[name], group)


def test_files_that_refer_to_other_files(tmp_path, monkeypatch):
    h5py = pytest.importorskip("h5py")
    monkeypatch.chdir(tmp_path)
    data, inside = np.arange(24.0).reshape(4, 6), tmp_path / "in"
    inside.mkdir()
    with h5py.File("in/source.h5", "w") as file:
        file.create_dataset("packed", data=data, chunks=(2, 4), compression="gzip")
        file["packed"].attrs["units"] = "K"
    with h5py.File("outside.h5", "w") as file:
        file["secret"] = data
    with h5py.File("in/x.h5", "w") as file:
        file["linked"] = h5py.ExternalLink("source.h5", "/packed")
        file["secret"] = h5py.ExternalLink("../outside.h5", "/secret")
        file.create_dataset("raw", data=data, external=[("raw.bin", 0, 100), ("raw.bin", 200, 92)])
        layout = h5py.VirtualLayout((3, 6), "f8")
        layout[:2] = h5py.VirtualSource("source.h5", "packed", (4, 6))[1:4:2]
        file.create_virtual_dataset("virtual", layout, fillvalue=-1)
    # h5py takes the names of files of raw data from the folder of the process.
    with h5py.File("in/x.h5") as file:
        wanted = {name: file[name][()] for name in ("linked", "raw", "virtual")}
    (tmp_path / "raw.bin").rename(inside / "raw.bin")
    with trilith.open(inside / "x.h5") as file:
        for name, array in wanted.items():
            np.testing.assert_array_equal(file[name][...], array)
            np.testing.assert_array_equal(file[name][1:, ::-2], array[1:, ::-2])
        assert set(file) == {"linked", "raw", "secret", "virtual"} and file["linked"].unit == "K"
        with pytest.raises(Exception, match="outside.h5"):
            file["secret"][...]
    with trilith.open(inside / "x.h5", allow=[f"{tmp_path}/"]) as file:
        np.testing.assert_array_equal(file["secret"][...], data)
    with xarray.open_dataset(inside / "x.h5", engine="trilith", drop_variables=["secret"]) as ours:
        for name, array in wanted.items():
            np.testing.assert_array_equal(ours[name], array)


def test_long_doubles_and_dates_in_structs(tmp_path):
    h5py = pytest.importorskip("h5py")
    table = np.zeros(3, [("n", "i4"), ("x", np.longdouble), ("z", np.clongdouble, (2,))])
    table["n"], table["x"], table["z"] = [1, 2, 3], [0.5, -2, np.pi], 1 - 2j
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["table"] = table
        file["table"].attrs["x"] = table["x"]
    # Three numbers: what numpy leaves in the bytes beside one or two may look like the exponent of another form.
    dated = np.zeros(3, [("when", "M8[s]"), ("x", np.longdouble)])
    dated["when"], dated["x"] = np.datetime64("2020-02-29T12:00:00"), [1.5, -2, 0.25]
    np.save(tmp_path / "x.npy", dated)
    found = trilith.open(tmp_path / "x.h5")["table"]
    assert found.attributes["x"] == [0.5, -2, float(np.pi)]
    for name, dtype in {"n": "i4", "x": "f8", "z": "c16"}.items():
        np.testing.assert_array_equal(found[...][name], table[name].astype(dtype))
    found = trilith.open(tmp_path / "x.npy")["data"][...]
    assert found["when"].tolist() == [b"2020-02-29T12:00:00"] * 3 and found["x"].tolist() == [1.5, -2, 0.25]


def test_notebooks_show_a_picture_of_arrays_in_chunks_as_of_others(tmp_path):
    h5py = pytest.importorskip("h5py")
    tifffile, fits = pytest.importorskip("tifffile"), pytest.importorskip("astropy.io.fits")
    image = np.arange(64 * 64, dtype="f4").reshape(64, 64)
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["plain"] = image
        file.create_dataset("chunked", data=image, chunks=(16, 16))
        file.create_dataset("packed", data=image, chunks=(16, 16), compression="gzip", shuffle=True)
        file.create_dataset("scaled", data=image.astype("i2"), chunks=(16, 16)).attrs["scale_factor"] = 2.0
    with netCDF4.Dataset(tmp_path / "x.nc", "w") as file:
        file.createDimension("n", 64)
        file.createVariable("chunked", "f4", ("n", "n"), chunksizes=(16, 16), zlib=True)[:] = image
    tifffile.imwrite(tmp_path / "x.tif", image, tile=(16, 16), compression="zlib")
    fits.HDUList([fits.PrimaryHDU(), fits.CompImageHDU(image.astype("i4"))]).writeto(tmp_path / "x.fits")

    def pictures(file):
        arrays = [item for item in (file[path] for path in file) if isinstance(item, trilith.Array)]
        return [("<img" in array._repr_html_(), array.shape) for array in arrays]

    with trilith.open(tmp_path / "x.h5") as file:
        assert pictures(file) == [(True, (64, 64))] * 4
    with trilith.open(tmp_path / "x.nc") as file:
        assert pictures(file) == [(True, (64, 64))]
    for name, path in (("x.tif", "image"), ("x.fits", "fits/1/data")):
        with trilith.open(tmp_path / name) as file:
            assert "<img" in file[path]._repr_html_(), name
