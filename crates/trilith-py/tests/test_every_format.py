"""One file, one mapping, one sequence and one array, whatever the format is."""

import collections.abc
import pickle

import numpy as np
import pytest

import trilith

DATA = np.arange(12, dtype="f4").reshape(3, 4)


def asdf(folder):
    trilith.write(folder / "x.asdf", {"data": DATA, "group": {"n": 4}, "list": [DATA, DATA]})
    return {"source": folder / "x.asdf"}


def dudley(folder):
    trilith.write(folder / "x.bd", {"data": DATA, "group": {"n": 4}, "list": [DATA, DATA]})
    return {"source": folder / "x.bd"}


def hdf5(folder):
    h5py = pytest.importorskip("h5py")
    with h5py.File(folder / "x.h5", "w") as file:
        file["data"] = DATA
        file["data"].attrs["units"] = "K"
        file.attrs["title"] = "a title"
        file["group/inner"] = DATA[0]
        file["group"].attrs["n"] = 4
    return {"source": folder / "x.h5"}


def netcdf(folder):
    netcdf4 = pytest.importorskip("netCDF4")
    with netcdf4.Dataset(folder / "x.nc", "w") as file:
        file.createDimension("y", 3)
        file.createDimension("x", 4)
        file.createVariable("y", "f8", ("y",))[:] = np.arange(3)
        file.createVariable("data", "f4", ("y", "x"))[:] = DATA
    return {"source": folder / "x.nc"}


def fits(folder):
    module = pytest.importorskip("astropy.io.fits")
    primary = module.PrimaryHDU()
    primary.header["OBSERVER"] = "H. Leavitt"
    primary.header["HISTORY"] = "one"
    primary.header["HISTORY"] = "two"
    module.HDUList([primary, module.ImageHDU(DATA.astype("f4"), name="SCI")]).writeto(folder / "x.fits")
    return {"source": folder / "x.fits"}


def file_set(folder):
    layout = trilith.Layout("{ N := i8 }  data = f4[N, 4]  group/ n = f8 ..")
    for n in range(3):
        layout.write(folder / f"f{n}.bd", {"group/n": np.float64(n)}, N=3, data=DATA)
    layout.catalog([folder / f"f{n}.bd" for n in range(3)], folder / "c.bd")
    return {"source": folder / "c.bd", "layout": layout}


@pytest.fixture(params=[asdf, dudley, hdf5, netcdf, fits, file_set], ids=lambda make: make.__name__)
def opened(request, tmp_path):
    how = request.param(tmp_path)
    opener = trilith.open_set if request.param is file_set else trilith.open
    with opener(how.pop("source"), **how) as f:
        yield request.param.__name__, f


def arrays(f):
    found = {}
    f.visititems(lambda path, value: found.__setitem__(path, value) if isinstance(value, trilith.Array) else None)
    return found


def test_the_classes_are_those_of_every_format(opened):
    name, f = opened
    assert type(f) is (trilith.FileSet if name == "file_set" else trilith.File) and type(f.tree) is trilith.Mapping
    assert isinstance(f, collections.abc.Mapping) and list(f) == list(f.tree) == list(f.keys()) and len(f) == len(list(f.items()))
    assert (f.asdf is not None) == (name in ("asdf", "fits")) == (f.layout is None)
    assert arrays(f) and all(type(a) is trilith.Array for a in arrays(f).values())
    kinds = (trilith.Mapping, trilith.Sequence, trilith.Array, str, int, float, bool, type(None))
    assert f.visititems(lambda path, value: None if isinstance(value, kinds) else (path, value)) is None


def test_paths_lead_to_what_is_visited_and_found(opened):
    _, f = opened
    seen = []
    f.visititems(lambda path, value: seen.append(path))
    assert seen and len(seen) == len(set(seen))
    for path in seen:
        assert path in f and type(f[path]) is type(f.get(path)), path
    found = f.search(shape=(None,) * 2)
    assert found.keys() == {"/" + path.lstrip("/") for path, a in arrays(f).items() if a.ndim == 2}
    for key, value in f.items():
        if isinstance(value, trilith.Mapping):
            value.visititems(lambda path, below: seen.remove(f"{key}/{path}"))


def test_names_that_are_no_paths_are_not_in_a_file(opened):
    _, f = opened
    for name in ("nothing", "", "no/thing", "data/nothing", "a[", "a[x]", "~2", "a(", '"', "data.", "[0]x", 3, None):
        if name == "" and "" in f.tree.keys():
            continue
        assert f.get(name, "other") == "other" or name == "", name
        assert name not in f or name == "", name
        if name != "":
            with pytest.raises(KeyError):
                f[name]


def test_files_are_checked_summed_and_described(opened):
    name, f = opened
    assert f.verify() == f.verify(deep=True) == []
    sums = f.digest()
    assert sums and all(len(total) == 64 for total in sums.values())
    facts = f.info()
    assert facts["size"] > 0 and facts["file"] == f.name and facts["format"] == f.format and facts["family"]
    assert isinstance(f.attrs, dict) and all(isinstance(a.attrs, dict) for a in arrays(f).values())
    if name == "hdf5":
        assert f.attrs == {"title": "a title"} and f["group"].attrs == {"n": 4} and f["data"].attrs == {"units": "K"}
        assert f["data"].unit == "K" and facts["format"] == "HDF5" and f["group"].search(shape=(4,)).keys() == {"/inner"}
    if name == "fits":
        header, data = f["fits/1"].attrs, f["fits/1/data"].attrs
        assert f.attrs["OBSERVER"] == "H. Leavitt" and header == data and header["EXTNAME"] == "SCI" and header["NAXIS1"] == 4
        assert f.attrs["HISTORY"] == ["one", "two"] and f["fits"].attrs == {}
    if name == "file_set":
        assert f.attrs["files"] == f.files == ["f0.bd", "f1.bd", "f2.bd"]


def test_what_is_read_is_what_was_written(opened):
    name, f = opened
    array = next(a for a in arrays(f).values() if a.ndim >= 2)
    expected = np.stack([DATA] * 3) if name == "file_set" else DATA
    assert np.array_equal(array[...], expected) and np.array_equal(pickle.loads(pickle.dumps(array))[...], expected)
    assert pickle.loads(pickle.dumps(f)).tree == f.tree
    copied = f.to_dict()
    assert list(copied) == list(f) and isinstance(f.to_json(), str) and name and repr(f) and f._repr_html_()


def test_what_cannot_be_edited_says_what_can(opened):
    name, f = opened
    if name == "asdf":
        f["new"] = 1
        f.update()
        assert f["new"] == 1 and f.mode == "rw"
    elif name == "fits":
        f["fits/0/header/OBSERVER"] = "C. Payne"
        f.update()
        assert f["fits/0/header/OBSERVER"] == f.attrs["OBSERVER"] == "C. Payne" and f.mode == "rw"
        f["new"] = 1
        with pytest.raises(NotImplementedError, match="header cards"):
            f.update()
    else:
        assert f.mode == "r" and f.asdf is None
        for edit in (lambda: f.__setitem__("new", 1), lambda: f.__delitem__("data"), lambda: f.rename("/data", "x")):
            with pytest.raises(NotImplementedError, match="ASDF"):
                edit()


def test_rows_by_a_list_of_indices(opened):
    _, f = opened
    for array in arrays(f).values():
        if array.ndim and len(array) > 1:
            rows = [1, 0, -1, 1]
            assert np.array_equal(array[rows], array[...][rows]) and array[rows].flags.writeable


def test_fits_cards_are_set_by_attribute_names(tmp_path):
    # Tier: the card is read back by astropy.
    module = pytest.importorskip("astropy.io.fits")
    path = fits(tmp_path)["source"]
    with trilith.open(path) as f:
        f["fits/0@OBSERVER"] = "W. Fleming"
        f["/fits/SCI@EXPTIME"] = 7.5
        f.set("fits/SCI/header/GAIN", 2)
        f.update()
        with pytest.raises(KeyError):
            f["fits/NOSUCH@EXPTIME"] = 1
    with module.open(path) as hdus:
        assert hdus[0].header["OBSERVER"] == "W. Fleming"
        assert hdus["SCI"].header["EXPTIME"] == 7.5 and hdus["SCI"].header["GAIN"] == 2
        np.testing.assert_array_equal(hdus["SCI"].data, DATA)
    with trilith.open(path) as f:
        del f["fits/SCI@GAIN"]
        f.update()
        assert "GAIN" not in f["fits/SCI"].attrs and f["fits/SCI@EXPTIME"] == 7.5


def test_attributes_of_trees_are_not_new_keys():
    with trilith.open(trilith.dumps({"data": DATA})) as f, pytest.raises(NotImplementedError, match="the attribute of that name"):
        f["data@unit"] = "Jy"


def test_fits_header_is_one_line_of_text(tmp_path):
    f = trilith.open(fits(tmp_path)["source"])
    text = str(f)
    assert "header: 7 cards" in text and "SIMPLE" not in text, text
    assert "\n    0: PRIMARY\n" in text and ", IMAGE\n" in text, text
    assert "header: 8 cards" in text or "header: 9 cards" in text or "cards" in text.split("header: 7 cards")[1]
    assert "data: float32 (3, 4), 48 B" in text
    html = f._repr_html_()
    assert "@OBSERVER" in html and html.count("W. Fleming") + html.count("H. Leavitt") == 1


def test_annotations_of_trees_follow_their_items(tmp_path):
    # Tier: the attributes and dimensions of h5py, after a conversion to ASDF.
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "x.h5", "w") as file:
        data = file.create_dataset("run/data", data=np.arange(6).reshape(2, 3))
        data.attrs["units"], data.attrs["low"], data.attrs["name"] = "m", np.int16(1), "counts"
        scale = file.create_dataset("run/x", data=np.arange(3.0))
        scale.make_scale("x")
        data.dims[1].attach_scale(scale)
    trilith.convert(tmp_path / "x.h5", tmp_path / "x.asdf")
    with trilith.open(tmp_path / "x.asdf") as f:
        with pytest.raises(NotImplementedError, match="/annotations/~1run~1data/attributes/units"):
            f["run/data@units"] = "cm"
        with pytest.raises(NotImplementedError, match="/annotations/~1run~1data/attributes/name"):
            del f["run/data@name"]
        f["annotations/~1run~1data/attributes/units"] = "cm"
        f.rename("run/x", "lon")
        f.rename("run", "night")
        f.update()
    with trilith.open(tmp_path / "x.asdf") as f:
        attrs = f["night/data"].attrs
        assert list(f["night"]) == ["data", "lon"] and attrs["units"] == "cm" and attrs["low"].dtype == np.int16
    xarray = pytest.importorskip("xarray")
    assert xarray.open_dataset(tmp_path / "x.asdf", engine="trilith", group="night")["data"].dims[1] == "lon"


def test_assignments_that_change_no_file_say_how(tmp_path):
    path = tmp_path / "x.asdf"
    trilith.write(path, {"data": DATA, "meta": {"a": 1}})
    with trilith.open(path) as f:
        with pytest.raises(TypeError, match=r"f\['data'\] = new"):
            f["data"][0, 0] = 9
        with pytest.raises(TypeError, match="update"):
            f["meta"]["a"] = 2
    np.save(tmp_path / "x.npy", DATA)
    with trilith.open(tmp_path / "x.npy") as f, pytest.raises(NotImplementedError, match="headers of FITS files"):
        f["data"] = DATA
