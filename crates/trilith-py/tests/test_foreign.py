"""Files of other formats in Python: what xarray's own engines make of HDF5 and netCDF, and attributes."""

import itertools
import json
import pickle
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
    assert file.attrs == {"title": "all"} and file["plain"].attributes["range"].tolist() == [1, 2]
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
    assert found.attributes["x"].tolist() == [0.5, -2, float(np.pi)]
    for name, dtype in {"n": "i4", "x": "f8", "z": "c16"}.items():
        np.testing.assert_array_equal(found[...][name], table[name].astype(dtype))
    found = trilith.open(tmp_path / "x.npy")["data"][...]
    assert found["when"].tolist() == [b"2020-02-29T12:00:00"] * 3 and found["x"].tolist() == [1.5, -2, 0.25]


FORMATS = ["NETCDF3_CLASSIC", "NETCDF3_64BIT_DATA", "NETCDF4", "NETCDF4_CLASSIC"]


def both(path, **how):
    """The dataset of the library of netCDF and ours."""
    return (xarray.open_dataset(path, engine=engine, **how).load() for engine in ("netcdf4", "trilith"))


def referred(path, folder):
    """The dataset that xarray makes of the manifest of a file."""
    pytest.importorskip("kerchunk")
    words = [sys.executable, "-m", "trilith", "manifest", str(path), "-o", str(folder / "refs.json")]
    subprocess.run(words, check=True, capture_output=True)
    return xarray.open_dataset(str(folder / "refs.json"), engine="kerchunk").load()


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("names", [["Bern", "Basel"], ["Bern", "Zürich", "Łódź"]])
def test_text_that_xarray_wrote(tmp_path, kind, names):
    """Rest."""
    made = xarray.Dataset({"t": ("station", np.arange(len(names)) * 0.5)}, coords={"station": names})
    made["label"] = ("station", names[::-1])
    path, encoding = tmp_path / "x.nc", {"dtype": "S1"}
    how = {} if kind.startswith("NETCDF3") else {"encoding": {"station": encoding, "label": encoding}}
    made.to_netcdf(path, format=kind, engine="netcdf4", **how)
    for decoding in ({}, {"decode_cf": False}, {"concat_characters": False}):
        theirs, ours = both(path, **decoding)
        xarray.testing.assert_identical(ours, theirs)
    assert ours.station.dims == theirs.station.dims
    plain = trilith.open(path)["label"][...].tolist()
    assert [name.decode() if isinstance(name, bytes) else name for name in plain] == names[::-1]
    theirs, ours = both(path)
    assert ours.station.values.tolist() == names
    assert xarray.open_zarr(trilith.zarr.Store(path), consolidated=False).label.values.tolist() == names[::-1]
    assert referred(path, tmp_path).label.values.tolist() == names[::-1]


def test_text_of_no_declared_encoding_in_python(tmp_path):
    """Rest."""
    h5py = pytest.importorskip("h5py")
    said = {b"Z\xc3\xbcrich": "Zürich", b"25 \xb0C": "25 °C", b"10 \x80": "10 €", b"x": "x"}
    array, texts = np.array(list(said)), list(said.values())
    np.save(tmp_path / "a.npy", array)
    np.savez(tmp_path / "a.npz", data=array)
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["data"] = array
        file.create_dataset("variable", data=list(said), dtype=h5py.string_dtype("ascii"))
        file.create_dataset("one", data=array[1], dtype=h5py.string_dtype("ascii"))
        typed = np.dtype([("s", h5py.string_dtype("ascii")), ("i", "i4")])
        file["struct"] = np.array([(text, 1) for text in said], dtype=typed)
        file["data"].attrs["a"], file["data"].attrs["all"] = np.bytes_(array[1]), array
    for name in ("a.npy", "a.npz", "a.h5"):
        with trilith.open(tmp_path / name) as file:
            assert file["data"][...].tolist() == texts and file["data"][1:3].tolist() == texts[1:3], name
        # Stored elements are the bytes.
        with trilith.open(tmp_path / name, physical=False) as file:
            assert file["data"].dtype == array.dtype and file["data"][...].tolist() == array.tolist(), name
    with trilith.open(tmp_path / "a.h5") as file:
        assert file["variable"][...].tolist() == texts and file["one"][...].item() == texts[1]
        assert file["struct"][...]["s"].tolist() == texts
        assert file["data"].attrs == {"a": texts[1], "all": texts}


def test_strings_of_another_encoding_are_bytes(tmp_path):
    """Rest."""
    h5py = pytest.importorskip("h5py")
    path, wrong = tmp_path / "a.h5", b"25 \xb0C"
    stored, texts = [b"ok", "µ".encode(), wrong], ["ok", "µ", wrong]
    fixed, variable = h5py.string_dtype("utf-8", 8), h5py.string_dtype("utf-8")
    typed = np.dtype([("v", variable), ("f", fixed), ("i", "i4"), ("n", [("q", fixed, (2,))])])
    with h5py.File(path, "w") as file:
        file.create_dataset("variable", data=stored, dtype=variable)
        file.create_dataset("fixed", data=np.array(stored, "S8").astype(fixed), dtype=fixed)
        file.create_dataset("struct", data=np.array([(text, text, i, ((text, b"y"),)) for i, text in enumerate(stored)], typed))
        file.create_dataset("one", data=wrong, dtype=variable)
        file.attrs.create("one", wrong, dtype=variable)
        file.attrs.create("all", np.array(stored, object), dtype=variable)
    for how in ({}, {"stored": True}):
        with trilith.open(path, **how) as file:
            for name in ("variable", "fixed"):
                array = file[name]
                assert array.dtype == object and array[...].tolist() == texts and array[:2].tolist() == texts[:2], name
                assert np.asarray(array).tolist() == array.masked().tolist() == texts
                out = np.empty(3, object)
                assert array.read(out=out).tolist() == texts and pickle.loads(pickle.dumps(array))[...].tolist() == texts
            struct = file["struct"][...]
            assert struct["v"].tolist() == struct["f"].tolist() == texts and struct["i"].tolist() == [0, 1, 2]
            assert struct["n"]["q"].tolist() == [[text, "y"] for text in texts]
            assert file["one"][...].item() == wrong and file.attrs == {"one": wrong, "all": texts}
    dataset = xarray.open_dataset(path, engine="trilith")
    assert dataset.variable.values.tolist() == dataset.fixed.values.tolist() == texts and dataset.attrs["one"] == wrong
    # Zarr has no datatype for both.
    dataset = xarray.open_zarr(trilith.zarr.Store(path), consolidated=False)
    assert dataset.variable.values.tolist() == dataset.fixed.values.tolist() == stored


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("encoding", ["utf-8", "latin-1", "cp1252", "ascii"])
def test_declared_encoding(tmp_path, kind, encoding):
    """Rest."""
    path, texts = tmp_path / "x.nc", ["Bern", "plain" if encoding == "ascii" else "Zürich é"]
    with netCDF4.Dataset(path, "w", format=kind) as file:
        file.createDimension("x", 2)
        file.createDimension("n", 10)
        made = file.createVariable("text", "S1", ("x", "n"))
        made.set_auto_chartostring(False)
        made[:] = np.array([text.encode(encoding) for text in texts], "S10").view("S1").reshape(2, 10)
        made.setncattr("_Encoding", encoding)
    theirs, ours = both(path)
    xarray.testing.assert_identical(ours, theirs)
    with trilith.open(path) as file, trilith.open(path, physical=False) as stored:
        found = file["text"][...]
        assert (found.astype(str) if found.dtype.kind == "S" else found).tolist() == texts
        assert stored["text"][...].tolist() == [text.encode(encoding) for text in texts]
    for dataset in (xarray.open_zarr(trilith.zarr.Store(path), consolidated=False), referred(path, tmp_path)):
        assert dataset.text.values.astype(str).tolist() == texts
    trilith.convert(path, tmp_path / "x.asdf")
    assert trilith.open(tmp_path / "x.asdf")["text"][...].astype(str).tolist() == texts


def test_list_of_strings_names_its_datatype(tmp_path):
    """Rest."""
    fits = pytest.importorskip("astropy.io.fits")
    cells = np.array([np.array(list("abc")), np.array(list("hello"))], object)
    numbers = np.array([np.array([1, 2], "i2"), np.array([3], "i2")], object)
    columns = [fits.Column("NAME", "PA()", array=cells), fits.Column("I", "PI()", array=numbers)]
    fits.BinTableHDU.from_columns(columns).writeto(tmp_path / "a.fits")
    with trilith.open(tmp_path / "a.fits") as file:
        data = file["fits"][1]["data"]
        assert str(data["NAME"]) == "<trilith.Sequence of 2>\n  0: ascii[3] (), 3 B\n  1: ascii[5] (), 5 B"
        assert str(data["I"]) == "<trilith.Sequence of 2>\n  0: int16 (2,), 4 B\n  1: int16 (1,), 2 B"


@pytest.mark.parametrize("kind", FORMATS)
def test_fill_values_of_characters(tmp_path, kind):
    """Rest."""
    path = tmp_path / "x.nc"
    with netCDF4.Dataset(path, "w", format=kind) as file:
        for name, length in (("x", 3), ("n", 4), ("time", None)):
            file.createDimension(name, length)
        for fill in (" ", "0", "\0"):
            name = f"qc_{ord(fill)}"
            file.createVariable(name, "S1", ("x",), fill_value=fill)[:] = np.array([b"1", fill, b"3"], "S1")
            file.createVariable(f"{name}_text", "S1", ("x", "n"), fill_value=fill)[0] = np.array(list("ab") + [fill] * 2, "S1")
        file.createVariable("records", "S1", ("time", "n"), fill_value="-")[:2] = np.array([list("abcd"), list("----")], "S1")
        file.createVariable("count", "i2", ("x",))[:] = 1
    for how in ({}, {"decode_cf": False}, {"mask_and_scale": False}, {"concat_characters": False}):
        theirs, ours = both(path, **how)
        xarray.testing.assert_identical(ours, theirs)
        for name in theirs:
            assert type(ours[name].encoding.get("_FillValue")) is type(theirs[name].encoding.get("_FillValue")), name
    theirs, found = next(both(path)), referred(path, tmp_path)
    for name in ("qc_32", "qc_48", "qc_0", "qc_0_text"):
        assert found[name].isnull().values.tolist() == theirs[name].isnull().values.tolist(), name


@pytest.mark.parametrize("kind", FORMATS)
def test_a_unit_is_no_units(tmp_path, kind):
    """Rest."""
    path = tmp_path / "x.nc"
    with netCDF4.Dataset(path, "w", format=kind) as file:
        file.createDimension("x", 2)
        for name, unit in (("a", "m"), ("b", "days since 2000-01-01"), ("c", "days")):
            variable = file.createVariable(name, "f8", ("x",))
            variable[:], variable.unit = [1, 2], unit
    theirs, ours = both(path)
    xarray.testing.assert_identical(ours, theirs)
    assert trilith.open(path)["a"].unit == "m"
    for found in (xarray.open_zarr(trilith.zarr.Store(path), consolidated=False), referred(path, tmp_path)):
        assert [(found[name].attrs, found[name].dtype.kind) for name in "ab"] == [({"unit": theirs[name].unit}, "f") for name in "ab"]
    trilith.convert(path, tmp_path / "x.asdf")
    assert "units" not in str(trilith.open(tmp_path / "x.asdf").tree.to_dict())


@pytest.mark.parametrize("kind", FORMATS)
def test_marks_that_do_not_fit_stay_what_they_are(tmp_path, kind):
    """Rest."""
    path = tmp_path / "x.nc"
    said = {
        "missing_value": ["-999", "nan", 300.5, np.int32(1000)],
        "valid_max": ["90.0", np.float64(0.5)],
        "valid_min": ["-90", np.int32(-1000)],
        "valid_range": ["0, 5", np.array([0.5, 1.5]), np.array([-1000, 1000], "i4")],
        "flag_values": ["0 1", np.array([0, 1000], "i4")],
    }
    names = []
    with netCDF4.Dataset(path, "w", format=kind) as file:
        file.createDimension("x", 2)
        for typed, (attribute, values) in itertools.product(("i1", "i2", "f4"), said.items()):
            for number, value in enumerate(values):
                names.append(f"{typed}_{attribute}_{number}")
                variable = file.createVariable(names[-1], typed, ("x",), fill_value=False)
                variable.set_auto_maskandscale(False)
                variable[:] = [1, 2]
                variable.setncattr(attribute, value)
                variable.other = "5.5"
    for how in ({"decode_cf": False}, {"mask_and_scale": False}, {}):
        if how:
            theirs, ours = both(path, **how)
        else:
            # xarray refuses some of these marks, whoever reads them.
            left = [name for name in names if "missing_value" in name and name.endswith(("_2", "_3"))]
            theirs, ours = both(path, drop_variables=left)
        for name in theirs:
            xarray.testing.assert_equal(ours[name], theirs[name])
            for key, value in theirs[name].attrs.items():
                assert np.array_equal(ours[name].attrs[key], value), (name, key)
                assert isinstance(value, str) == isinstance(ours[name].attrs[key], str), (name, key)
    with netCDF4.Dataset(path) as theirs, trilith.open(path) as ours:
        for name in names:
            attribute = name.split("_", 1)[1].rpartition("_")[0]
            text = isinstance(theirs[name].getncattr(attribute), str)
            assert not text or ours[name].attrs[attribute] == theirs[name].getncattr(attribute), name


@pytest.mark.parametrize("kind", ["NETCDF3_64BIT_DATA", "NETCDF4"])
@pytest.mark.filterwarnings("ignore")
def test_numbers_of_64_bits_without_a_sign(tmp_path, kind):
    """Rest."""
    path, most = tmp_path / "x.nc", 2**64 - 1
    said = {
        "fill": {"_FillValue": np.uint64(most)},
        "missing": {"missing_value": np.uint64(most)},
        "several": {"missing_value": np.array([1, most], "u8")},
        "above": {"valid_max": np.uint64(2**63)},
        "range": {"valid_range": np.array([2, 2**63], "u8")},
        "flags": {"flag_masks": np.array([1, 2**63], "u8")},
    }
    with netCDF4.Dataset(path, "w", format=kind) as file:
        file.createDimension("x", 4)
        file.largest = np.uint64(most)
        for name, attributes in said.items():
            variable = file.createVariable(name, "u8", ("x",), fill_value=attributes.get("_FillValue"))
            variable.set_auto_mask(False)
            variable[:] = np.array([1, most, 3, 2**63 + 1], "u8")
            variable.setncatts({key: value for key, value in attributes.items() if key != "_FillValue"})
    for how in ({}, {"decode_cf": False}):
        theirs, ours = both(path, **how)
        xarray.testing.assert_identical(ours, theirs)
    found = referred(path, tmp_path)
    xarray.testing.assert_equal(found.fill, next(both(path)).fill)
    assert trilith.zarr.open(path)["fill"].attrs["_FillValue"] == most
    with netCDF4.Dataset(path) as theirs, trilith.open(path) as ours, trilith.open(path, physical=False) as stored:
        assert ours.attrs["largest"] == most
        for name, attributes in said.items():
            assert ours[name].masked().tolist() == theirs[name][:].tolist(), name
            for key, value in attributes.items():
                assert np.array_equal(stored[name].attrs[key], value.tolist()), name
    for name in ("x.asdf", "x.bd"):
        trilith.convert(path, tmp_path / name)
    assert trilith.open(tmp_path / "x.asdf").attributes["largest"] == trilith.open(tmp_path / "x.bd").attributes["largest"] == most
    assert trilith.open(tmp_path / "x.bd")["flags"].attrs["flag_masks"].tolist() == [1, 2**63]
    with pytest.importorskip("asdf").open(tmp_path / "x.asdf") as file:
        assert file["annotations"][""]["attributes"]["largest"]["value"] == most


def unmarked(path, kind):
    """Takes away the marks by which the library of netCDF knows its files."""
    h5py = pytest.importorskip("h5py")
    with h5py.File(path, "r+") as file:
        for name in ("_NCProperties", *(("_nc3_strict",) if kind == "old" else ())):
            file.attrs.pop(name, None)


@pytest.mark.parametrize("kind", ["dimensions", "coordinates", "groups", "classic", "late", "scalars"])
def test_netcdf_without_properties(tmp_path, kind):
    """Rest."""
    path = tmp_path / "x.nc"
    with netCDF4.Dataset(path, "w", format="NETCDF4_CLASSIC" if kind == "classic" else "NETCDF4") as file:
        group = file.createGroup("g") if kind == "groups" else file
        if kind == "late":
            file.createVariable("number", "f8", ())
        for name in ("x", "time"):
            group.createDimension(name, None if name == "time" else 3)
            if kind in ("coordinates", "late"):
                group.createVariable(name, "f8", (name,))[:] = [1, 2, 3]
        for typed in ("i2", "i4", "f4", "f8", *(("i8", "u2", "u4", "u8") if kind != "classic" else ())):
            group.createVariable(f"{typed}_x", typed, ("x",))[:1] = 1
            group.createVariable(f"{typed}_time", typed, ("time", "x"))[:2, :1] = 1
    unmarked(path, kind)
    with netCDF4.Dataset(path) as theirs, trilith.open(path) as ours:
        theirs, ours = (theirs["g"], ours["g"]) if kind == "groups" else (theirs, ours)
        for name, variable in theirs.variables.items():
            found = ours[name].masked()
            assert np.ma.getmaskarray(found).tolist() == np.ma.getmaskarray(variable[...]).tolist(), name
            assert found.tolist() == variable[...].tolist(), name


@pytest.mark.parametrize("track_order", [False, True])
def test_hdf5_is_not_netcdf(tmp_path, track_order):
    """Rest."""
    h5py = pytest.importorskip("h5py")
    fills = {"f4": 9.969209968386869e36, "f8": 9.969209968386869e36, "i2": -32767, "i4": -2147483647, "u8": 2**64 - 2}
    with h5py.File(tmp_path / "x.h5", "w", track_order=track_order) as file:
        file["x"] = np.arange(2.0)
        file["x"].make_scale("x")
        for typed, fill in fills.items():
            file[typed] = np.array([1, fill], typed)
            file[typed].dims[0].attach_scale(file["x"])
    with trilith.open(tmp_path / "x.h5") as file:
        for typed, fill in fills.items():
            assert file[typed].mask is None and file[typed][1] == np.array(fill, typed), typed


@pytest.mark.parametrize("kind", ["NETCDF3_CLASSIC", "NETCDF4"])
def test_coordinates_of_two_dimensions(tmp_path, kind):
    """Rest."""
    path = tmp_path / "x.nc"
    with netCDF4.Dataset(path, "w", format=kind) as file:
        for name, length in (("station", 2), ("n", 3), ("v", 5)):
            file.createDimension(name, length)
        file.createVariable("station", "S1", ("station", "n"))[:] = np.array([list("abc"), list("def")], "S1")
        file.createVariable("v", "f4", ("v", "n"))[:] = 1
        file.createVariable("temp", "f4", ("station",))[:] = 1
    for how in ({"concat_characters": False}, {"decode_cf": False}):
        theirs, ours = both(path, **how)
        xarray.testing.assert_identical(ours, theirs)


RECORDS = {"i1": {}, "u1": {}, "i2": {}, "u4": {}, "i8": {}, "u8": {}, "f4": {}, "f8": {"fill_value": -9.0}, str: {}}


@pytest.mark.parametrize("form", ["short", "coordinate", "short coordinate", "groups", "deflated", "one chunk", "unfilled"])
def test_records_that_were_never_written(tmp_path, form):
    """An unlimited dimension has one length, and what was not written has the fill value, as netCDF4 and its engine have it."""
    path = tmp_path / "x.nc"
    with netCDF4.Dataset(path, "w") as file:
        if form == "unfilled":
            file.set_fill_off()
        file.createDimension("obs", None)
        file.createDimension("x", 2)
        group = file.createGroup("g").createGroup("h") if form == "groups" else file
        options = {"zlib": True} if form == "deflated" else {"chunksizes": (64, 2)} if form == "one chunk" else {}
        for kind, own in RECORDS.items():
            name = "text" if kind is str else kind
            for count in (0, 1, 3):
                where = file if (count, kind) == (3, "i2") or form != "groups" else group
                variable = where.createVariable(f"{name}_{count}", kind, ("obs", "x"), **({} if kind is str else {**(own if form != "unfilled" else {}), **options}))
                if form == "groups" and count == 3 and kind != "i2":
                    count = 2
                for row in range(count):
                    variable[row] = np.array(["a", "bc"], object) if kind is str else [1, 2]
        if "coordinate" in form:
            file.createVariable("obs", "f8", ("obs",))[:] = np.arange(1 if "short" in form else 4)
    length = 4 if form == "coordinate" else 3
    with netCDF4.Dataset(path) as theirs, trilith.open(path) as ours:
        for where, group in [("", theirs), *([("g/h/", theirs["g/h"])] if form == "groups" else [])]:
            for name, variable in group.variables.items():
                wanted, found = variable[:], ours[where + name][...]
                assert found.shape == wanted.shape and found.shape[0] == length, name
                if form != "unfilled" or wanted.dtype.itemsize > 1:
                    np.testing.assert_array_equal(np.ma.getmaskarray(found), np.ma.getmaskarray(wanted), name)
                hidden = np.ma.getmaskarray(wanted)
                np.testing.assert_array_equal(np.ma.getdata(found)[~hidden], np.ma.getdata(wanted)[~hidden], name)
    for group in ("/", "/g/h") if form == "groups" else ("/",):
        theirs = xarray.open_dataset(path, engine="netcdf4", group=group)
        ours = xarray.open_dataset(path, engine="trilith", group=group)
        assert dict(ours.sizes) == dict(theirs.sizes) or form == "groups"
        for name, variable in theirs.variables.items():
            assert (ours[name].dims, ours[name].shape) == (variable.dims, variable.shape), name
            if variable.dtype.kind in "iuf":
                np.testing.assert_array_equal(ours[name].values, variable.values, name)
    with trilith.open(path) as source:
        trilith.convert(path, tmp_path / "x.asdf")
        with trilith.open(tmp_path / "x.asdf") as made:
            for name in source.tree:
                if isinstance(source[name], trilith.Array) and source[name].dtype.kind in "iuf":
                    np.testing.assert_array_equal(np.ma.getdata(source[name][...]), np.ma.getdata(made[name][...]))
                    # A declared fill value stays an attribute of the stored elements.
                    if not name.startswith("f8"):
                        np.testing.assert_array_equal(np.ma.getmaskarray(source[name][...]), np.ma.getmaskarray(made[name][...]))


def test_lists_of_variable_length(tmp_path):
    """Rest. NC_VLEN is an array of objects in xarray, whose axes are nested lists elsewhere."""
    path = tmp_path / "x.nc"
    with netCDF4.Dataset(path, "w") as file:
        for name, length in (("n", 2), ("m", 3), ("z", None), ("t", None)):
            file.createDimension(name, length)
        kind = file.createVLType("f4", "kind")
        one, two = file.createVariable("one", kind, ("n",)), file.createVariable("two", kind, ("n", "m"))
        one[0], one[1], one.units = np.arange(2, dtype="f4"), np.arange(3, dtype="f4"), "m"
        two[0, 0], two[1, 2] = np.arange(1, dtype="f4"), np.arange(4, dtype="f4")
        file.createVariable("empty", kind, ("z", "n"))
        file.createVariable("short", kind, ("t", "n"))[0, 0] = np.arange(2, dtype="f4")
        file.createVariable("long", "f4", ("t",))[:3] = 1
    wanted = {
        "one": [[0, 1], [0, 1, 2]],
        "two": [[[0], [], []], [[], [], [0, 1, 2, 3]]],
        "short": [[[0, 1], []], [[], []], [[], []]],
        "empty": [],
    }

    def plain(value):
        return [plain(one) for one in value] if getattr(value, "dtype", object) == object else value.tolist()

    with xarray.open_dataset(path, engine="trilith") as ours:
        assert {name: ours[name].dims for name in wanted} == {"one": ("n",), "two": ("n", "m"), "short": ("t", "n"), "empty": ("z", "n")}
        assert ours["empty"].shape == (0, 2) and ours["one"].attrs == {"units": "m"}
        assert {name: plain(ours[name].values) for name in wanted} == wanted
        assert ours["two"][1, 2].values.item().tolist() == [0, 1, 2, 3] and plain(ours["two"][::-1, 0].values) == [[], [0]]
        assert plain(pickle.loads(pickle.dumps(ours))["two"].values) == wanted["two"]
        with xarray.open_dataset(path, engine="netcdf4") as theirs:
            assert plain(ours["two"].values) == [[cell.tolist() for cell in row] for row in theirs["two"].values]
    command = [sys.executable, "-m", "trilith"]
    for name, lists in wanted.items():
        shown = subprocess.run([*command, "get", f"{path}#/{name}", "--json"], capture_output=True, text=True, check=True)
        assert json.loads(shown.stdout) == lists, name
    with trilith.open(path) as file:
        assert [[cell[...].tolist() for cell in row] for row in file["two"]] == wanted["two"]
        assert file["empty"].attrs.to_dict() == {"list_shape": [0, 2]}
    trilith.convert(path, tmp_path / "x.asdf")
    assert [[cell[...].tolist() for cell in row] for row in trilith.open(tmp_path / "x.asdf")["two"]] == wanted["two"]
    said = subprocess.run([*command, "manifest", path, "-o", tmp_path / "m.json"], capture_output=True, text=True, check=True)
    assert [f"/{name}: its lists" in said.stderr for name in ("one", "two", "short", "long")] == [True, True, True, False]


@pytest.mark.parametrize("kind", FORMATS)
def test_dimensions_without_variables(tmp_path, kind):
    """Rest. They are parameters, in copies too."""
    path = tmp_path / "x.nc"
    lengths = {"unused": 7, "grow": 2, "x": 2, "other": 3}
    with netCDF4.Dataset(path, "w", format=kind) as file:
        for name, length in lengths.items():
            file.createDimension(name, None if name == "grow" else length)
        file.createVariable("record", "f4", ("grow",))[:] = [1, 2]
        file.createVariable("x", "f4", ("x",))[:] = [3, 4]
        # The name of a dimension, and not its coordinates.
        file.createVariable("other", "f4", ("x",))[:] = [5, 6]
    for suffix in ("asdf", "bd", "fits"):
        trilith.convert(path, tmp_path / f"x.{suffix}", allow_loss=suffix == "fits")
    for name in ("x.nc", "x.asdf", "x.bd", "x.fits"):
        with trilith.open(tmp_path / name) as file:
            assert (file["unused"], file["grow"]) == (7, 2), name
            assert file["x"][...].tolist() == [3, 4] and file["other"][...].tolist() == [5, 6], name
        shown = subprocess.run([sys.executable, "-m", "trilith", "tree", tmp_path / name], capture_output=True, text=True, check=True)
        assert "other (parameter): 3" in shown.stdout, name
    theirs, ours = both(path)
    xarray.testing.assert_identical(ours, theirs)


@pytest.mark.parametrize("kind", FORMATS)
def test_copies_mask_elements_that_were_never_written(tmp_path, kind):
    """Rest."""
    path = tmp_path / "x.nc"
    with netCDF4.Dataset(path, "w", format=kind) as file:
        file.createDimension("x", 3)
        file.createVariable("part", "f4", ("x",))[0] = 1
        file.createVariable("none", "i2", ("x",))
        file.createVariable("all", "i2", ("x",))[:] = 1
    trilith.convert(path, tmp_path / "x.asdf")
    with netCDF4.Dataset(path) as theirs, trilith.open(tmp_path / "x.asdf") as ours:
        for name in ("part", "none", "all"):
            assert ours[name].masked().tolist() == theirs[name][:].tolist(), name
        assert ours["all"].mask is None


@pytest.mark.parametrize("kind", ["NETCDF3_64BIT_DATA", "NETCDF4"])
@pytest.mark.filterwarnings("ignore")
def test_marks_keep_their_types(tmp_path, kind):
    """Rest. `decode_cf=False` too."""
    path, types = tmp_path / "x.nc", ("i1", "u2", "i4", "i8", "f4", "f8")
    with netCDF4.Dataset(path, "w", format=kind) as file:
        file.createDimension("x", 2)
        for elements, typed, name in itertools.product(types, types, ("missing_value", "valid_min", "valid_range", "flag_values")):
            variable = file.createVariable(f"{elements}_{typed}_{name}", elements, ("x",))
            variable.set_auto_maskandscale(False)
            variable[:] = [1, 2]
            variable.setncattr(name, np.array([1, 2], typed) if name in ("valid_range", "flag_values") else np.array(1, typed)[()])
        file.createVariable("text", "i2", ("x",)).scale_factor = "0.5"
    for how in ({"decode_cf": False}, {"mask_and_scale": False}, {}):
        theirs, ours = both(path, drop_variables=[] if how else ["text"], **how)
        for name in theirs:
            xarray.testing.assert_equal(ours[name], theirs[name])
            assert ours[name].dtype == theirs[name].dtype, name
            for key, value in theirs[name].attrs.items():
                assert type(ours[name].attrs[key]) is type(value), (name, key)
                assert np.asarray(ours[name].attrs[key]).dtype == np.asarray(value).dtype, (name, key)


@pytest.mark.parametrize("longest", ["coordinate", "variable"])
@pytest.mark.parametrize("place", ["before", "after"])
def test_coordinates_of_two_unlimited_dimensions(tmp_path, longest, place):
    """Rest. No scale of HDF5 lists a coordinate variable among its users."""
    path = tmp_path / "x.nc"
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("s", 2)
        file.createDimension("t", None)
        names = [("s", ("s", "t")), ("v", ("t",))]
        for name, dims in names if place == "before" else names[::-1]:
            count = 3 if (name == "s") == (longest == "coordinate") else 1
            file.createVariable(name, "f4", dims)[...] = np.ones((2, count) if name == "s" else count)
    with netCDF4.Dataset(path) as theirs, trilith.open(path) as ours:
        assert {name: ours[name].shape for name in "sv"} == {name: theirs[name].shape for name in "sv"} == {"s": (2, 3), "v": (3,)}
    theirs, ours = both(path)
    assert {name: ours[name].dims for name in "sv"} == {name: theirs[name].dims for name in "sv"}


def test_zarr_has_records_that_were_never_written(tmp_path):
    zarr = pytest.importorskip("zarr")
    path = tmp_path / "x.nc"
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("obs", None)
        for name, count in (("a", 3), ("b", 1), ("c", 0)):
            file.createVariable(name, "f4", ("obs",), fill_value=-9)[:] = np.arange(count)
    group = trilith.zarr.open(path)
    assert isinstance(group, zarr.Group) and {name: group[name].shape for name in "abc"} == {name: (3,) for name in "abc"}
    assert np.nan_to_num(group["b"][...], nan=-9).tolist() == [0, -9, -9]


@pytest.mark.parametrize("suffix", ["npy", "npz"])
def test_durations_are_durations(tmp_path, suffix):
    """`NaT` is masked in an array, and is `NaT` for xarray, which has a datatype for most units."""
    data = np.array([[1, "NaT", 3], [4, 5, -6]], "m8[s]")
    for dtype in ("m8[s]", ">m8[s]", "m8[ns]", "m8[D]", "m8[25s]", "m8[M]"):
        path, stored = tmp_path / f"x.{suffix}", data.view("i8").view(dtype.replace(">", "")).astype(dtype)
        np.save(path, stored) if suffix == "npy" else np.savez(path, data=stored)
        found = trilith.open(path)["data"]
        assert found[...].tolist() == [[1, None, 3], [4, 5, -6]]
        for ours in (xarray.open_dataset(path, engine="trilith")["data"], found.to_xarray()):
            assert ours.isnull().values.tolist() == [[False, True, False], [False] * 3], dtype
            wanted = stored if dtype != "m8[M]" else np.where(np.isnat(stored), np.nan, stored.astype("i8"))
            np.testing.assert_array_equal(ours.values, wanted)
            np.testing.assert_array_equal(ours[1, 1:].values, wanted[1, 1:])
    table = np.zeros(2, [("n", "i4"), ("u", [("t", "m8[s]"), ("k", "i2")])])
    table["u"]["t"] = [7, np.timedelta64("NaT")]
    np.save(tmp_path / "x.npy", table)
    found = trilith.open(tmp_path / "x.npy")["data"]
    assert np.ma.getmaskarray(found[...]["u"]["t"]).tolist() == [False, True]
    np.testing.assert_array_equal(xarray.open_dataset(tmp_path / "x.npy", engine="trilith")["data"].values["u"]["t"], table["u"]["t"])


def test_scale_and_offset_of_geotiff(tmp_path):
    """As rioxarray with mask_and_scale, and for bands that differ, which it refuses."""
    rasterio = pytest.importorskip("rasterio")
    data = np.arange(24, dtype="i2").reshape(2, 3, 4)
    for scales, offsets in (((0.5, 0.5), (2, 2)), ((0.5, 0.001), (0, 5))):
        for how in ("pixel", "band"):
            path = tmp_path / "x.tif"
            affine = rasterio.transform.from_origin(0, 3, 1, 1)
            size = {"count": 2, "height": 3, "width": 4, "dtype": "int16", "nodata": 5, "interleave": how, "transform": affine}
            with rasterio.open(path, "w", driver="GTiff", **size) as file:
                file.write(data)
                file.scales, file.offsets = scales, offsets
            wanted = np.where(data == 5, np.nan, data * np.reshape(scales, (2, 1, 1)) + np.reshape(offsets, (2, 1, 1)))
            stored = data
            if how == "pixel":
                wanted, stored = np.moveaxis(wanted, 0, -1), np.moveaxis(data, 0, -1)
            np.testing.assert_allclose(np.ma.filled(trilith.open(path)["image"][...], np.nan), wanted)
            np.testing.assert_array_equal(trilith.open(path, physical=False)["image"][...], stored)
            ours = xarray.open_dataset(path, engine="trilith")["image"]
            np.testing.assert_allclose(ours.values, wanted)
            np.testing.assert_allclose(ours[1, 1:, ::2].values, wanted[1, 1:, ::2])
            np.testing.assert_allclose(ours[..., 1].values, wanted[..., 1])
            raw = xarray.open_dataset(path, engine="trilith", mask_and_scale=False)["image"]
            np.testing.assert_array_equal(raw.values, stored)


def _geotiff(path, transform, crs="EPSG:32632", count=1, has_mask=False, has_levels=False, **options):
    """A GeoTIFF of 40 by 33 pixels; returns what rasterio reads, with the axis of the bands last, if there are several."""
    rasterio = pytest.importorskip("rasterio")
    random = np.random.default_rng(5)
    size = {"count": count, "height": 40, "width": 33, "dtype": "int16", "crs": crs, "transform": transform}
    with rasterio.Env(GDAL_TIFF_INTERNAL_MASK=True):
        with rasterio.open(path, "w", driver="GTiff", **size, **options) as file:
            file.write(random.integers(0, 9, (count, 40, 33)).astype("i2"))
            if has_mask:
                file.write_mask(random.random((40, 33)) < 0.6)
        if has_levels:
            with rasterio.open(path, "r+") as file:
                file.build_overviews([2, 4])
    with rasterio.open(path) as file:
        read = file.read(masked=True)
    return read[0] if count == 1 else np.moveaxis(read, 0, -1)


def test_geotiff_in_xarray_has_coordinates_of_rioxarray(tmp_path):
    """In the rest of the tests, as this module."""
    affine = pytest.importorskip("rasterio").transform
    path = tmp_path / "x.tif"
    north, south = affine.from_origin(5e5, 6e6, 10, 20), affine.Affine(10, 0, 5e5, 0, 10, 6e6)
    for transform, crs, is_point in itertools.product((north, south), ("EPSG:32632", "EPSG:4326", None), (False, True)):
        wanted = _geotiff(path, transform, crs, interleave="pixel", count=2)
        if is_point:
            with pytest.importorskip("rasterio").open(path, "r+") as file:
                file.update_tags(AREA_OR_POINT="Point")
        opened = xarray.open_dataset(path, engine="trilith")
        assert list(opened.data_vars) == ["image"] and set(opened.coords) == {"x", "y", "spatial_ref"}
        assert opened["image"].encoding["grid_mapping"] == "spatial_ref"
        np.testing.assert_array_equal(opened["image"].values, wanted)
        np.testing.assert_allclose(opened.x, transform.c + (np.arange(33) + 0.5) * transform.a, rtol=1e-15)
        np.testing.assert_allclose(opened.y, transform.f + (np.arange(40) + 0.5) * transform.e, rtol=1e-15)
        assert opened.spatial_ref.attrs.get("spatial_ref") == crs
        numbers = [float(number) for number in opened.spatial_ref.attrs["GeoTransform"].split()]
        assert numbers == list(transform.to_gdal())
        assert opened.sel(x=5e5 + 15, y=opened.y[3], method="nearest")["image"].values.tolist() == wanted[3, 1].tolist()
    # A rotated grid has no coordinates along its axes, but its transformation.
    rotated = affine.Affine(10, 2, 5e5, 1, -10, 6e6)
    _geotiff(path, rotated)
    opened = xarray.open_dataset(path, engine="trilith")
    assert set(opened.coords) == {"spatial_ref"}
    assert [float(number) for number in opened.spatial_ref.attrs["GeoTransform"].split()] == list(rotated.to_gdal())
    # Without tags there is nothing to say.
    pytest.importorskip("tifffile").imwrite(path, np.zeros((4, 5), "u1"))
    assert not xarray.open_dataset(path, engine="trilith").coords
    assert set(xarray.open_dataset(path, engine="trilith", drop_variables="x").coords) == set()


def test_geotiff_in_xarray_equals_rioxarray(tmp_path):
    """If rioxarray is installed: coordinates, CRS, transformation and masked values. In the rest of the tests, as this module."""
    rioxarray = pytest.importorskip("rioxarray")
    affine = pytest.importorskip("rasterio").transform
    path = tmp_path / "x.tif"
    for transform, crs, has_mask in (
        (affine.from_origin(5e5, 6e6, 10, 20), "EPSG:32632", True),
        (affine.from_origin(5, 50, 0.1, 0.3), "EPSG:4326", False),
        (affine.Affine(10, 2, 5e5, 1, -10, 6e6), "EPSG:3857", True),
    ):
        _geotiff(path, transform, crs, has_mask=has_mask, nodata=None if has_mask else 5)
        theirs = rioxarray.open_rasterio(path, mask_and_scale=True).squeeze("band", drop=True)
        ours = xarray.open_dataset(path, engine="trilith")["image"]
        np.testing.assert_array_equal(ours.values, theirs.values)
        assert ours.rio.crs == theirs.rio.crs and ours.rio.transform() == theirs.rio.transform()
        for name in {"x", "y"} & set(ours.coords):
            np.testing.assert_array_equal(ours[name], theirs[name])


def test_masks_and_smaller_versions_of_tiff_in_xarray(tmp_path):
    """In the rest of the tests, as this module."""
    affine = pytest.importorskip("rasterio").transform
    path = tmp_path / "x.tif"
    for count, how, nodata in itertools.product((1, 3), ("pixel", "band"), (None, 5)):
        read = _geotiff(path, affine.from_origin(0, 3, 1, 1), count=count, has_mask=True, has_levels=True, interleave=how, nodata=nodata)
        wanted = np.moveaxis(read, -1, 0) if how == "band" and count > 1 else read
        found = trilith.open(path)["page0"][...]
        np.testing.assert_array_equal(np.ma.getmaskarray(found), wanted.mask)
        np.testing.assert_array_equal(found.filled(0), wanted.filled(0))
        assert not np.ma.isMaskedArray(trilith.open(path, physical=False)["page0"][...])
        (ours,) = xarray.open_dataset(path, engine="trilith").data_vars.values()
        values = wanted.astype("f4").filled(np.nan)
        np.testing.assert_array_equal(ours.values, values)
        for key in ((1, slice(2, 9, 2)), (Ellipsis, 0), (slice(1, 3), Ellipsis, slice(1, 2))):
            np.testing.assert_array_equal(ours[key].values, values[key])
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(ours)).values, values)
        (raw,) = xarray.open_dataset(path, engine="trilith", mask_and_scale=False).data_vars.values()
        np.testing.assert_array_equal(raw.values, wanted.data)
    # With a scale, and with scales that differ.
    for scales in ((0.5, 0.5), (0.5, 0.25)):
        read = _geotiff(path, affine.from_origin(0, 3, 1, 1), count=2, has_mask=True, interleave="pixel", nodata=5)
        with pytest.importorskip("rasterio").open(path, "r+") as file:
            file.scales, file.offsets = scales, (1, 2)
        values = (read * np.array(scales) + [1, 2]).filled(np.nan)
        np.testing.assert_array_equal(xarray.open_dataset(path, engine="trilith")["image"].values, values)
        np.testing.assert_array_equal(trilith.open(path)["image"][...].filled(np.nan), values)


def test_stores_of_zarr_are_named(tmp_path):
    """In the rest of the tests, as this module."""
    for name in (".zgroup", ".zarray", "zarr.json"):
        store = tmp_path / f"{name}.zarr"
        store.mkdir()
        (store / name).write_text("{}")
        with pytest.raises(NotImplementedError, match="is a Zarr store; read it with zarr"):
            trilith.open(store)


def test_links_that_lead_back(tmp_path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["x"] = np.arange(3)
        group = file.create_group("g")
        group["y"], group[".."], group["hard"] = np.arange(4), h5py.SoftLink("/"), group
    with trilith.open(tmp_path / "x.h5") as file:
        assert file["g"][".."] is None and set(file["g"]) == {"y", "..", "hard"}
        assert file["g/hard/y"][...].tolist() == [0, 1, 2, 3]
        assert file["g/y"][...].tolist() == [0, 1, 2, 3]
    assert trilith.convert(tmp_path / "x.h5", tmp_path / "x.asdf") == []
    assert list(xarray.open_datatree(tmp_path / "x.h5", engine="trilith").groups) == ["/", "/g"]


def test_circular_link_raises_its_reason(tmp_path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["x"], file["loop"] = np.arange(3), h5py.SoftLink("/loop")
    with trilith.open(tmp_path / "x.h5") as file:
        assert set(file) == {"x", "loop"} and file["x"][...].tolist() == [0, 1, 2]
        with pytest.raises(trilith.FormatError, match="more than 16 links"):
            file["loop"][...]


def test_attribute_of_lists_is_list_of_arrays(tmp_path):
    h5py = pytest.importorskip("h5py")
    lists = np.empty(2, object)
    lists[0], lists[1] = np.array([1], "i4"), np.array([2, 3], "i4")
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["x"] = 1
        file["x"].attrs.create("lists", lists, dtype=h5py.vlen_dtype(np.dtype("i4")))
    with h5py.File(tmp_path / "x.h5") as file:
        expected = file["x"].attrs["lists"]
    with trilith.open(tmp_path / "x.h5") as file:
        found = file["x"].attrs["lists"]
    assert [(one.dtype, one.tolist()) for one in found] == [(one.dtype, one.tolist()) for one in expected]


def test_unreadable_attribute_raises_its_reason(tmp_path):
    h5py = pytest.importorskip("h5py")
    path = tmp_path / "x.h5"
    with h5py.File(path, "w") as file:
        file["d"] = [1, 2]
        file["d"].attrs["s"], file["d"].attrs["n"] = "hello text here", 3
    whole = bytearray(path.read_bytes())
    at = whole.rindex((15).to_bytes(4, "little"), 0, whole.index(b"hello text here") - 16)
    whole[at : at + 4] = (10**6).to_bytes(4, "little")
    path.write_bytes(whole)
    with trilith.open(path) as file:
        attrs = file["d"].attrs
        assert set(attrs) == {"s", "n"} and attrs["n"] == 3 and file["d"][...].tolist() == [1, 2]
        for read in (lambda: attrs["s"], lambda: attrs.get("s"), lambda: attrs.all("s"), lambda: file["d@s"]):
            with pytest.raises(trilith.FormatError, match="1000000 bytes are expected"):
                read()
        assert attrs.to_dict()["n"] == 3 and attrs.to_dict()["s"].startswith("(unreadable: ")
        assert set(pickle.loads(pickle.dumps(attrs))) == {"s", "n"}


def test_hdf5_references_and_dates(tmp_path):
    h5py = pytest.importorskip("h5py")
    dates = np.array(["2020-01-01", "NaT"], "M8[ns]")
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["x"], file["g/y"] = np.arange(6).reshape(2, 3), 1
        file["cells"] = np.array([[file["x"].ref, file["g/y"].ref, h5py.Reference()]], dtype=h5py.ref_dtype)
        file["regions"] = np.array([file["x"].regionref[1, :2]], dtype=h5py.regionref_dtype)
        rows = np.zeros(2, [("r", h5py.ref_dtype), ("n", "i2")])
        rows[0], rows[1] = (file["g"].ref, 3), (file["x"].ref, 4)
        file["rows"] = rows
        file.create_dataset("dates", data=dates.astype(h5py.opaque_dtype(dates.dtype)))
        lists = file.create_dataset("lists", (2, 2), dtype=h5py.vlen_dtype("i4"))
        lists[1, 0] = [1, 2, 3]
        file["x"].attrs["r"], file["x"].attrs["region"] = file["g"].ref, file["x"].regionref[1, :2]
    np.save(tmp_path / "d.npy", dates)
    for stored in False, True:
        with trilith.open(tmp_path / "x.h5", physical=not stored) as file:
            assert file["cells"][...].tolist() == [["/x", "/g/y", ""]]
            assert file[str(file["cells"][0, 1])][...] == 1
            assert file["regions"][...].tolist() == ["/x[1:2,0:2]"]
            assert file["rows"][...].tolist() == [(b"/g", 3), (b"/x", 4)]
            assert file["lists"][1][0][...].tolist() == [1, 2, 3] and len(file["lists"]) == 2
            assert (file["x"].attrs["r"], file["x"].attrs["region"]) == ("/g", "/x[1:2,0:2]")
            with trilith.open(tmp_path / "d.npy", physical=not stored) as other:
                np.testing.assert_array_equal(file["dates"][...], other["data"][...])
                assert file["dates"].attrs["numpy_dtype"] == other["data"].attrs["numpy_dtype"] == "<M8[ns]"


def test_dates_of_numpy_are_dates_in_xarray(tmp_path):
    """First tier. xarray has seconds, milliseconds, microseconds and nanoseconds; numpy converts dates of other units to them."""
    xarray, h5py = pytest.importorskip("xarray"), pytest.importorskip("h5py")
    with h5py.File(tmp_path / "x.h5", "w") as file:
        for unit in "Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns":
            dates = np.array([["2024-02-29", "NaT"]], "M8[D]").astype(f"M8[{unit}]")
            np.save(tmp_path / f"{unit}.npy", dates)
            file.create_dataset(f"at_{unit}", data=dates.astype(h5py.opaque_dtype(dates.dtype)))
    with xarray.open_dataset(tmp_path / "x.h5", engine="trilith") as found:
        for unit in "Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns":
            with xarray.open_dataset(tmp_path / f"{unit}.npy", engine="trilith") as other:
                expected = np.load(tmp_path / f"{unit}.npy")
                for variable in found[f"at_{unit}"], other["data"]:
                    assert variable.dtype == (expected.dtype if unit in ("s", "ms", "us", "ns") else "M8[s]")
                    np.testing.assert_array_equal(variable, expected)
                    assert np.isnat(variable[0, 1].values) and variable[0, 0].values == expected[0, 0]


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


def test_notebook_shows_attributes_and_cards(tmp_path):
    """The HTML of files and arrays has the attributes of HDF5 and the cards of FITS, as their libraries read them. Rest."""
    h5py, fits = pytest.importorskip("h5py"), pytest.importorskip("astropy.io.fits")
    with h5py.File(tmp_path / "a.h5", "w") as f:
        f["x"] = np.arange(3)
        f["x"].attrs["units"] = "mJy<"
        f.attrs["title"] = "a run"
    with trilith.open(tmp_path / "a.h5") as f:
        assert "<b>@units</b>: mJy&lt;" in f["x"]._repr_html_()
        assert "<b>@units</b>: mJy&lt;" in f._repr_html_() and "<b>@title</b>: a run" in f._repr_html_()
    image = fits.ImageHDU(np.zeros((2, 3), "f4"), name="SCI")
    image.header["EXPTIME"] = (12.5, "[s] exposure")
    fits.HDUList([fits.PrimaryHDU(), image]).writeto(tmp_path / "a.fits")
    with trilith.open(tmp_path / "a.fits") as f:
        assert "<b>@EXPTIME</b>: 12.5 s / " in f._repr_html_()
