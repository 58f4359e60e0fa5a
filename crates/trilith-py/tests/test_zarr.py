"""Files as groups of Zarr: values, attributes and names are those of Trilith, whatever the kind of file and the codec."""

import asyncio
import json
import os
import pathlib
import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest

import trilith

zarr = pytest.importorskip("zarr", minversion="3.1.6")
import trilith.zarr  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:The data type:zarr.errors.UnstableSpecificationWarning", "ignore::zarr.errors.UnstableSpecificationWarning")

RNG = np.random.default_rng(21)
RECORD = np.array([(1, 2.5, b"ab"), (3, -0.5, b"c")], [("n", "i4"), ("x", "f8"), ("s", "S2")])
TYPES = {
    **{kind: RNG.integers(0, 99, (7, 5)).astype(kind) for kind in ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", ">i4", ">u2")},
    **{kind: RNG.normal(size=(7, 5)).astype(kind) for kind in ("f2", "f4", "f8", ">f4", ">f8")},
    **{kind: (RNG.normal(size=(7, 5)) + 1j).astype(kind) for kind in ("c8", "c16", ">c16")},
    "bool": RNG.integers(0, 2, 9).astype(bool),
    "ascii": np.array([b"a", b"", b"xyz"]),
    "text": np.array(["", "\u03b1\u03b2", "c"]),
    "record": RECORD,
    "empty": np.zeros((0, 4), "f4"),
    "hollow": np.zeros((3, 0, 2), "i2"),
    "scalar": np.array(2.5),
    "long": np.arange(70_000, dtype="i4").reshape(70, 1000),
}
CODECS = [None, "zlib", "bzp2", "lz4", "lz4f", "zstd", "blsc"]
VERSIONS = ["asdf-1.6", "asdf-1.0", "asdf-0.1", "finf-0.1"]


def plain(value):
    """A value of a tree as JSON has it."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return str(value) if isinstance(value, str) else value


def same(group, tree, path=""):
    """A group holds a tree, and nothing else."""
    attributes, names = dict(group.attrs), set(group)
    for key, value in tree.items():
        if isinstance(value, np.ndarray | trilith.Array):
            found = group[key]
            expected = value[...] if isinstance(value, trilith.Array) else value
            expected = expected.data if isinstance(expected, np.ma.MaskedArray) else expected
            np.testing.assert_array_equal(found[...], expected, err_msg=f"{path}/{key}")
            assert found.shape == expected.shape and found.dtype.newbyteorder("=") == expected.dtype.newbyteorder("="), f"{path}/{key}"
            names.discard(key)
            names.discard(f"{key}_mask")
        elif key in names:
            below = value if isinstance(value, dict) else {str(number): item for number, item in enumerate(value)}
            same(group[key], below, f"{path}/{key}")
            names.discard(key)
        else:
            assert attributes.pop(key) == plain(value), f"{path}/{key}"
    assert not names and not attributes, path


TREE = {
    "meta": {"exposure": 139.8, "name": "Ada", "none": None, "flag": True, "list": [1, [2.5, "x"], {"a": {}}], "big": 2**70},
    "list": [{"data": np.arange(3), "n": 1}, 7, np.ones(2)],
    "a/b": np.arange(4),
    "..": {"__x": np.arange(2)},
    "types": TYPES,
}


def refilled(tree):
    """The names of a tree as Zarr stores them."""
    names = {"a/b": "a%2Fb", "..": "%2E.", "__x": "%5F_x"}
    if isinstance(tree, dict):
        return {names.get(key, key): refilled(value) for key, value in tree.items()}
    return [refilled(item) for item in tree] if isinstance(tree, list) else tree


@pytest.mark.parametrize("codec", CODECS)
def test_a_tree_is_its_group_with_every_codec(tmp_path, codec):
    trilith.write(tmp_path / "x.asdf", TREE, codec=codec)
    group = trilith.zarr.open(tmp_path / "x.asdf")
    own = {key: value for key, value in dict(group.attrs).items() if key in ("asdf_library", "history")}
    same(group, {**refilled(TREE), **own})


@pytest.mark.parametrize("version", VERSIONS)
def test_every_generation(tmp_path, version):
    tree = {"types": {key: value for key, value in TYPES.items() if key not in ("f2", "text")}, "n": 3}
    trilith.write(tmp_path / "x.asdf", tree, version=version)
    with trilith.open(tmp_path / "x.asdf") as file:
        same(trilith.zarr.open(tmp_path / "x.asdf"), file.to_dict())


def test_inline_arrays(tmp_path):
    trilith.write(tmp_path / "x.asdf", {"a": np.arange(5.0), "t": np.array(["a", "bc"])}, inline=True)
    group = trilith.zarr.open(tmp_path / "x.asdf")
    assert group["a"][:].tolist() == [0, 1, 2, 3, 4] and group["t"][:].tolist() == ["a", "bc"]


@pytest.mark.parametrize("chunks", [None, 3, (2, 400), {"long": (70, 1)}])
def test_chunks_are_those_that_are_asked_for(tmp_path, chunks):
    trilith.write(tmp_path / "x.asdf", {"long": TYPES["long"]}, codec="lz4")
    array = trilith.zarr.open(tmp_path / "x.asdf", chunks=chunks)["long"]
    assert array.chunks == {3: (3, 1000), (2, 400): (2, 400)}.get(chunks if not isinstance(chunks, dict) else None, (70, 1) if chunks else (70, 1000))
    np.testing.assert_array_equal(array[...], TYPES["long"])
    np.testing.assert_array_equal(array[5:50:3, 17:401], TYPES["long"][5:50:3, 17:401])
    with pytest.raises(ValueError, match="do not fit /long"):
        trilith.zarr.open(tmp_path / "x.asdf", chunks={"long": (1, 2, 3)})


@pytest.mark.parametrize(("codec", "rows"), [("lz4", 1024), ("zlib", 3000), (None, 1024)])
def test_chunks_end_where_pieces_end(tmp_path, codec, rows):
    data = RNG.integers(0, 999, (3000, 1024), "i4")
    trilith.write(tmp_path / "x.asdf", {"a": data}, codec=codec)
    array = trilith.zarr.open(tmp_path / "x.asdf")["a"]
    assert array.chunks == (rows, 1024)
    np.testing.assert_array_equal(array[1000:1030, 5], data[1000:1030, 5])


def masked(tmp_path):
    values = np.arange(12, dtype="i2").reshape(4, 3)
    tree = {"a": np.ma.masked_greater(values, 8), "f": np.ma.masked_less(values.astype("f4"), 2), "a_mask": np.arange(2)}
    trilith.write(tmp_path / "m.asdf", tree)
    return tmp_path / "m.asdf", tree


def test_masks_are_arrays_beside(tmp_path):
    path, tree = masked(tmp_path)
    group = trilith.zarr.open(path)
    assert set(group) == {"a", "f", "a_mask", "a_mask_", "f_mask"}
    np.testing.assert_array_equal(group["a_mask_"][:], tree["a"].mask)
    np.testing.assert_array_equal(group["f_mask"][1:], tree["f"].mask[1:])
    np.testing.assert_array_equal(group["a"][:], tree["a"].data)
    assert group["a"].metadata.dimension_names == group["a_mask_"].metadata.dimension_names


@pytest.mark.parametrize("value", [None, -7])
def test_or_masks_are_filled(tmp_path, value):
    path, tree = masked(tmp_path)
    group = trilith.zarr.open(path, masks="fill", fill_value=value)
    assert set(group) == {"a", "f", "a_mask"}
    fill = -(2**15) if value is None else value
    np.testing.assert_array_equal(group["a"][:], tree["a"].filled(fill))
    assert group["a"].fill_value == fill
    np.testing.assert_array_equal(group["f"][:], tree["f"].filled(np.nan if value is None else value))
    xarray = pytest.importorskip("xarray")
    with xarray.open_zarr(trilith.zarr.Store(path, masks="fill", fill_value=value)) as ds:
        np.testing.assert_array_equal(np.isnan(ds.a), tree["a"].mask)
        np.testing.assert_array_equal(np.isnan(ds.f), tree["f"].mask)
    with pytest.raises(ValueError, match="masks is"):
        trilith.zarr.open(path, masks="no")


def test_a_value_that_marks_what_is_missing_is_one_of_xarray(tmp_path):
    xarray = pytest.importorskip("xarray")
    text = "#ASDF 1.0.0\n%YAML 1.1\n---\n"
    for name, value, mask in (("i", "[1, 2, 3]", "2"), ("x", "[1.5, .nan, 3]", ".nan")):
        text += f"{name}: !<tag:stsci.edu:asdf/core/ndarray-1.0.0> {{data: {value}, mask: {mask}, datatype: {'int64' if name == 'i' else 'float64'}}}\n"
    (tmp_path / "v.asdf").write_text(text + "...\n")
    with xarray.open_zarr(trilith.zarr.Store(tmp_path / "v.asdf")) as ds:
        assert np.isnan(ds.i).values.tolist() == [False, True, False] == np.isnan(ds.x).values.tolist()


def test_records_with_arrays_in_them_are_groups(tmp_path):
    data = np.zeros(5, [("x", "i4"), ("y", "f8", (2,)), ("z", [("w", "u1", 3)])])
    data["y"] = RNG.normal(size=(5, 2))
    trilith.write(tmp_path / "r.asdf", {"r": data})
    group = trilith.zarr.open(tmp_path / "r.asdf")
    np.testing.assert_array_equal(group["r/y"][:], data["y"])
    np.testing.assert_array_equal(group["r/z/w"][:], data["z"]["w"])
    assert group["r/y"].metadata.dimension_names[0] == group["r/x"].metadata.dimension_names[0]


def test_short_complex_numbers_are_complex64():
    layout = trilith.Layout("a = <f8[2] @0 b = <c4[2] @0")
    group = trilith.zarr.open(bytes(16), layout)
    assert set(group) == {"a", "b"} and group["b"].dtype == np.complex64


def test_streams_of_dudley(tmp_path):
    tree = {"t": np.arange(3.0), "run": {"rho": np.ones((2, 3), ">f4"), "n": 4}, "history": [{"x": np.full(2, n)} for n in range(3)]}
    trilith.write(tmp_path / "x.bd", tree, version="dudley-2025")
    group = trilith.zarr.open(tmp_path / "x.bd")
    assert group["t"][:].tolist() == [0, 1, 2] and dict(group["run"].attrs) == {"n": 4}
    np.testing.assert_array_equal(group["run/rho"][:], 1)
    layout = "N : <i4\nx = <f8[N]\n#: units=\"m\"\n#: grid_dims=[\"row\"]\n"
    raw = np.int32(2).tobytes() + bytes(4) + np.array([1.5, 2.5]).tobytes()
    (tmp_path / "x.raw").write_bytes(raw)
    array = trilith.zarr.open(tmp_path / "x.raw", trilith.Layout(layout))["x"]
    assert array[:].tolist() == [1.5, 2.5] and array.attrs["units"] == "m" and array.metadata.dimension_names == ("row",)


def test_families(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    layout = trilith.Layout("{ N : i8 } te = f4[2,N] g/ rho = f8[N]")
    for n in range(4):
        layout.write(f"r{n}.bd", {"g/rho": np.full(5, float(n)), "te": np.full((2, 5), n, "f4")}, N=5)
    layout.catalog([f"r{n}.bd" for n in range(4)], "runs.bd")
    group = trilith.zarr.open("runs.bd", family=layout)
    assert group["te"].shape == (4, 2, 5) and group["te"].metadata.dimension_names[::2] == ("record", "N")
    np.testing.assert_array_equal(group["te"][:, 1, 2], range(4))
    np.testing.assert_array_equal(group["g/rho"][2], 2)


def test_a_file_set_becomes_one_store(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    layout = trilith.Layout(
        "{ nx : i8  time = f8  ## simulation time\n #: unit=\"ns\"\n cycle = i4 }\nrho = f8[nx-]  ## density\n#: unit=\"g/cc\"\ng/ v = i2[nx]\n"
    )
    for n, nx in enumerate([4, 3, 4]):
        values = {"g/v": np.arange(nx, dtype="i2"), "rho": np.full(nx - 1, float(n))}
        layout.write(f"r{n}.bd", values, nx=nx, time=n / 2, cycle=np.int32(n))
    layout.catalog("r?.bd", "c.bd")
    group = trilith.zarr.copy("c.bd", "c.zarr", files="pad")
    assert group["rho"].metadata.dimension_names == ("time", "nx-1") and dict(group["rho"].attrs)["long_name"] == "density"
    np.testing.assert_array_equal(group["rho"][:], [[0, 0, 0], [1, 1, np.nan], [2, 2, 2]])
    xarray = pytest.importorskip("xarray")
    with xarray.open_zarr("c.zarr", consolidated=False) as ds:
        assert ds.rho.attrs["units"] == "g/cc" and ds.time.values.tolist() == [0, 0.5, 1] and "cycle" in ds.coords
        assert ds.rho.sel(time=0.5).values[:2].tolist() == [1, 1]
    with pytest.raises(FileExistsError):
        trilith.zarr.copy("c.bd", "c.zarr", files="pad")


def test_a_file_with_a_broken_block_still_shows_the_others(tmp_path):
    trilith.write(tmp_path / "x.asdf", {"a": np.arange(3000), "b": np.arange(5)}, codec="lz4")
    data = bytearray((tmp_path / "x.asdf").read_bytes())
    at = trilith.open(tmp_path / "x.asdf").info()["blocks"][0]["data_offset"]
    data[at : at + 40] = b"\xff" * 40
    (tmp_path / "x.asdf").write_bytes(data)
    group = trilith.zarr.open(tmp_path / "x.asdf")
    assert group["b"][:].tolist() == [0, 1, 2, 3, 4]
    with pytest.raises(trilith.FormatError):
        group["a"][:]


def foreign(tmp_path):
    """Files of other formats, each with its variables."""
    data = RNG.normal(size=(6, 8)).astype("f4")
    np.save(tmp_path / "x.npy", data)
    yield tmp_path / "x.npy", {}
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "x.h5", "w") as file:
        group = file.create_group("g")
        group.attrs["n"] = 3
        made = group.create_dataset("gz", data=data, chunks=(4, 3), compression="gzip", shuffle=True, fletcher32=True)
        made.attrs["units"] = "m"
        file["big"] = data.astype(">f8")
        file.create_dataset("sparse", (9, 9), "i4", chunks=(3, 3), fillvalue=7)[3:6, 3:6] = 1
    yield tmp_path / "x.h5", {}
    fits = pytest.importorskip("astropy.io.fits")
    table = fits.BinTableHDU.from_columns([fits.Column("n", "J", array=[1, 2]), fits.Column("v", "3E", array=np.ones((2, 3)))])
    fits.HDUList([fits.PrimaryHDU(data), fits.CompImageHDU(np.arange(100, dtype="i2").reshape(10, 10)), table]).writeto(tmp_path / "x.fits")
    yield tmp_path / "x.fits", {}


def arrays(node, path=""):
    """All arrays of an open file by their paths."""
    for key, value in node.items() if hasattr(node, "items") else enumerate(node):
        name = f"{path}/{key}".lstrip("/")
        if isinstance(value, trilith.Array):
            yield name, value
        elif hasattr(value, "items") or isinstance(value, trilith.Sequence):
            yield from arrays(value, name)


def test_files_of_other_formats(tmp_path):
    for path, options in foreign(tmp_path):
        group, count = trilith.zarr.open(path, **options), 0
        for name, array in arrays(trilith.open(path, **options).tree):
            if array.dtype.names is None:
                np.testing.assert_array_equal(group[name][...], np.ma.getdata(array[...]), err_msg=f"{path.name} {name}")
                count += 1
            else:
                for field in array.dtype.names:
                    found = group[name][field][...] if isinstance(group[name], zarr.Group) else group[name][...][field]
                    np.testing.assert_array_equal(found, array[...][field])
        assert count, path
    group = trilith.zarr.open(tmp_path / "x.h5")
    with pytest.importorskip("h5py").File(tmp_path / "x.h5") as file:
        assert trilith.open(tmp_path / "x.h5")["g/gz"].chunks == file["g/gz"].chunks
    assert group["g/gz"].chunks == (6, 8) and group["g/gz"].attrs["units"] == "m" and dict(group["g"].attrs) == {"n": 3}


def test_datasets_are_those_of_the_engine_of_xarray(tmp_path):
    xarray = pytest.importorskip("xarray")
    pixels = RNG.normal(size=(4, 5))
    tree = {"meta": {"telescope": "ROMAN", "exposure": 139.8}, "data": pixels, "dq": np.zeros((4, 5), "u4"), "edge": np.zeros((2, 5)), "w": np.zeros(9)}
    trilith.write(tmp_path / "r.asdf", {"roman": tree, "other": {"a": np.zeros((9, 3))}})
    store = trilith.zarr.Store(tmp_path / "r.asdf")
    with xarray.open_zarr(store, group="roman") as ours, xarray.open_dataset(tmp_path / "r.asdf", engine="trilith", group="roman") as theirs:
        assert {name: ours[name].dims for name in ours} == {name: theirs[name].dims for name in theirs}
        # Missing values are masks, which a Zarr store has as arrays of their own.
        values = ours.load().drop_vars([name for name in ours if name.endswith("_mask")])
        xarray.testing.assert_equal(values, theirs.load())
        assert ours.attrs["meta"] == tree["meta"]
    with xarray.open_datatree(store, engine="zarr") as ours:
        np.testing.assert_array_equal(ours["roman/data"], pixels)
        assert ours["other/a"].shape == (9, 3)


def test_a_dataset_of_xarray_comes_back(tmp_path):
    xarray = pytest.importorskip("xarray")
    made = xarray.Dataset(
        {"te": (("time", "y"), RNG.normal(size=(3, 2)), {"units": "eV"}), "n": ((), 4)},
        {"time": np.arange(3), "label": ("y", np.array(["a", "b"]))},
        {"title": "x"},
    )
    trilith.write(tmp_path / "d.asdf", {"d": made})
    with xarray.open_zarr(trilith.zarr.Store(tmp_path / "d.asdf"), group="d") as found:
        xarray.testing.assert_identical(found.load(), made)


def test_netcdf_is_decoded_by_its_conventions(tmp_path):
    xarray = pytest.importorskip("xarray")
    netcdf4 = pytest.importorskip("netCDF4")
    with netcdf4.Dataset(tmp_path / "x.nc", "w") as file:
        file.title = "a title"
        file.createDimension("time", 3)
        time = file.createVariable("time", "f8", ("time",))
        time.units = "days since 2000-01-01"
        time[:] = [0, 1.5, 31]
        packed = file.createVariable("t", "i2", ("time",), zlib=True, fill_value=-9)
        packed.scale_factor, packed.add_offset = 0.5, 3.0
        packed[:] = np.ma.masked_equal([4.0, 5.0, 6.0], 5.0)
        nans = file.createVariable("nans", "f4", ("time",), fill_value=np.float32("nan"))
        nans[:] = [1, np.nan, 3]
    with xarray.open_zarr(trilith.zarr.Store(tmp_path / "x.nc")) as ours, xarray.open_dataset(tmp_path / "x.nc", engine="netcdf4") as theirs:
        # Missing values are masks, which a Zarr store has as arrays of their own.
        values = ours.load().drop_vars([name for name in ours if name.endswith("_mask")])
        xarray.testing.assert_equal(values, theirs.load())
        assert ours.attrs == theirs.attrs and ours.t.dims == ("time",)


def test_dask_and_processes(tmp_path):
    da = pytest.importorskip("dask.array")
    data = RNG.normal(size=(600, 1000))
    trilith.write(tmp_path / "x.asdf", {"a": data}, codec="lz4")
    store = trilith.zarr.Store(tmp_path / "x.asdf", chunks=100)
    assert len(pickle.dumps(store)) < 700 and pickle.loads(pickle.dumps(store)) == store
    lazy = da.from_zarr(zarr.open_array(store, path="a", mode="r"))
    assert lazy.chunks[0] == (100,) * 6
    for scheduler in ("threads", "processes"):
        np.testing.assert_allclose(lazy.mean().compute(scheduler=scheduler, num_workers=2), data.mean())


def test_a_file_that_was_replaced_is_an_error_that_names_it(tmp_path):
    path = tmp_path / "x.asdf"
    trilith.write(path, {"a": np.zeros(1000)})
    store = trilith.zarr.Store(path)
    text, group = pickle.dumps(store), zarr.open_group(store, mode="r")
    assert group["a"][3] == 0
    trilith.write(path, {"a": np.ones(1000)})
    with pytest.raises(OSError, match=r"was replaced or written to.*x\.asdf"):
        group["a"][3]
    with pytest.raises(OSError, match=r"another than when the store was made.*x\.asdf"):
        pickle.loads(text)
    with pytest.raises(TypeError, match="opened by a path"):
        pickle.dumps(trilith.zarr.Store(path.read_bytes()))


def test_threads_and_loops_share_a_store(tmp_path):
    data = RNG.integers(0, 9, (64, 64))
    trilith.write(tmp_path / "x.asdf", {"a": data}, codec="zstd")
    store = trilith.zarr.Store(tmp_path / "x.asdf", chunks=(8, 8))
    array, wrong = zarr.open_array(store, path="a", mode="r"), []

    async def all_chunks():
        keys = [f"a/c/{n}/{m}" for n in range(8) for m in range(8)]
        return [np.frombuffer((await got).to_bytes(), "i8") for got in map(store.get, keys)]

    def work():
        if not (array[...] == data).all() or (asyncio.run(all_chunks())[9] != data[8:16, 8:16].ravel()).any():
            wrong.append(threading.get_ident())

    threads = [threading.Thread(target=work) for _ in range(8)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert not wrong


def test_keys(tmp_path):
    trilith.write(tmp_path / "x.asdf", {"g": {"c": {"c": np.arange(10)}}, "s": np.array(1.5), "n": 3})
    store = trilith.zarr.Store(tmp_path / "x.asdf", chunks=4)

    async def look():
        keys = [key async for key in store.list()]
        below = [name async for name in store.list_dir("g/c")]
        dirs = [name async for name in store.list_dir("g/c/c/c")]
        there = [await store.exists(key) for key in keys]
        gone = [await store.get(key) for key in ("g/c/c/c/3", "g/c/c/c/00", "g/c/c/c", "x/zarr.json", ".zgroup", "g/c", "c/0", "")]
        part = await store.get("g/c/c/c/1", byte_range=zarr.abc.store.RangeByteRequest(8, 24))
        last = await store.get("g/c/c/c/1", byte_range=zarr.abc.store.SuffixByteRequest(8))
        rest = await store.get("s/c", byte_range=zarr.abc.store.OffsetByteRequest(4))
        return keys, below, dirs, there, gone, part, last, rest

    keys, below, dirs, there, gone, part, last, rest = asyncio.run(look())
    assert all(there) and set(keys) == {"zarr.json", "g/zarr.json", "g/c/zarr.json", "g/c/c/zarr.json", "g/c/c/c/0", "g/c/c/c/1", "g/c/c/c/2", "s/zarr.json", "s/c"}
    assert below == ["zarr.json", "c"] and sorted(dirs) == ["0", "1", "2"] and gone == [None] * 8
    assert np.frombuffer(part.to_bytes(), "i8").tolist() == [5, 6] and np.frombuffer(last.to_bytes(), "i8").tolist() == [7]
    assert rest.to_bytes() == np.float64(1.5).tobytes()[4:]
    root = json.loads(asyncio.run(store.get("zarr.json")).to_bytes())
    assert set(root["consolidated_metadata"]["metadata"]) == {"g", "g/c", "g/c/c", "s"} and root["attributes"]["n"] == 3
    for change in (store.set("a", None), store.delete("a")):
        with pytest.raises(ValueError):
            asyncio.run(change)
    with pytest.raises(ValueError, match="not written through its store"):
        store.with_read_only(False)


SELECTIONS = [
    np.s_[...],
    np.s_[13:61, 7:9],
    np.s_[::7, ::-1][:1],
    np.s_[5:50:3, 39:2:1],
    np.s_[5:50:3, 2:39:5],
    np.s_[44],
    np.s_[:, 3],
    np.s_[44, 3],
    np.s_[-1, -40:],
    np.s_[0:0],
    np.s_[69:70, 39:40],
]
CUT = {
    "whole rows": 16,
    "a grid": (16, 9),
    "one": (70, 40),
    "as stored": None,
}


@pytest.mark.parametrize("cut", CUT)
@pytest.mark.parametrize("codec", [None, "lz4", "zlib"])
def test_a_part_is_what_numpy_has_there(tmp_path, cut, codec):
    data = RNG.normal(size=(70, 40)).astype(">f4")
    trilith.write(tmp_path / "x.asdf", {"a": data, "m": np.ma.masked_less(data, 0), "r": np.array([(n, n / 2) for n in range(70)], "i4,f8")}, codec=codec)
    chunks = CUT[cut]
    group = trilith.zarr.open(tmp_path / "x.asdf", chunks=chunks and {name: chunks for name in ("a", "m", "m_mask")})
    filled = trilith.zarr.open(tmp_path / "x.asdf", masks="fill", fill_value=-9, chunks=chunks and {"m": chunks})["m"]
    for at in SELECTIONS:
        np.testing.assert_array_equal(group["a"][at], data[at], err_msg=str(at))
        np.testing.assert_array_equal(group["m_mask"][at], (data < 0)[at], err_msg=str(at))
        np.testing.assert_array_equal(filled[at], np.where(data < 0, np.float32(-9), data)[at], err_msg=str(at))
    rows, columns = [69, 3, 3, 16], [39, 0, 8]
    np.testing.assert_array_equal(group["a"].oindex[rows, columns], data[np.ix_(rows, columns)])
    np.testing.assert_array_equal(group["a"].oindex[rows, 4:30:3], data[rows, 4:30:3])
    np.testing.assert_array_equal(group["a"].oindex[5, columns], data[5, columns])
    np.testing.assert_array_equal(group["a"].oindex[rows, 7], data[rows, 7])
    np.testing.assert_array_equal(filled.oindex[rows, columns], np.where(data < 0, np.float32(-9), data)[np.ix_(rows, columns)])
    np.testing.assert_array_equal(group["a"].vindex[[1, 69, 17], [2, 39, 0]], data[[1, 69, 17], [2, 39, 0]])
    np.testing.assert_array_equal(group["a"].vindex[data > 1], data[data > 1])
    np.testing.assert_array_equal(group["r"]["f1"] if isinstance(group["r"], zarr.Group) else group["r"][5:9]["f1"], np.arange(5, 9) / 2)


def test_only_what_is_asked_for_is_read(tmp_path):
    whole = np.zeros((512, 512))
    trilith.write(tmp_path / "x.asdf", {"a": whole})
    array = trilith.zarr.open(tmp_path / "x.asdf", chunks=(512, 512))["a"]
    asked = []
    read = trilith.zarr._read_together
    trilith.zarr._read_together = lambda parts: asked.extend(part.shape for part, _ in parts) or read(parts)
    try:
        array[3:10, 5:7]
        # The smallest box around numbers of rows and columns.
        array.oindex[[9, 3, 5], [6, 5]]
        array.vindex[[300, 302], [7, 9]]
    finally:
        trilith.zarr._read_together = read
    assert asked == [(7, 2), (7, 2), (3, 3)]


def test_masks_by_value_and_by_an_array_are_filled(tmp_path):
    data = np.array([[1.0, np.nan, 3], [4, 5, np.nan]])
    (tmp_path / "x.asdf").write_text(
        "#ASDF 1.0.0\n#ASDF_STANDARD 1.5.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n--- !core/asdf-1.1.0\n"
        "nan: !core/ndarray-1.0.0 {data: [[1.0, .nan, 3.0], [4.0, 5.0, .nan]], datatype: float64, mask: .nan}\n"
        "number: !core/ndarray-1.0.0 {data: [[1, 7, 3], [4, 5, 7]], datatype: uint8, mask: 7}\n"
        "beyond: !core/ndarray-1.0.0 {data: [[1, 7, 3], [4, 5, 7]], datatype: uint8, mask: -7}\n"
        "rows: !core/ndarray-1.0.0\n  data: [[1, 7, 3], [4, 5, 7]]\n  datatype: int16\n"
        "  mask: !core/ndarray-1.0.0 {data: [[0, 1, 0], [0, 0, 1]], datatype: uint8}\n...\n"
    )
    group = trilith.zarr.open(tmp_path / "x.asdf", masks="fill", fill_value=9, chunks=(1, 2))
    # Where the file has a value for what is missing, that stays, and is what Zarr calls the fill value.
    for name, value in (("nan", np.nan), ("number", 7), ("rows", 9)):
        expected = np.where(np.isnan(data), value, [[1, 7, 3], [4, 5, 7]])
        np.testing.assert_array_equal(group[name][...], expected, err_msg=name)
        np.testing.assert_array_equal(group[name][:, 1], expected[:, 1], err_msg=name)
        np.testing.assert_equal(group[name].fill_value, value)
    # A value that no element can have is no fill value.
    np.testing.assert_array_equal(group["beyond"][...], [[1, 7, 3], [4, 5, 7]])


def test_tasks_that_are_cancelled_leave_the_store_as_it_was(tmp_path):
    trilith.write(tmp_path / "x.asdf", {"a": np.arange(12.0).reshape(3, 4)})
    store = trilith.zarr.Store(tmp_path / "x.asdf", chunks=(1, 4))

    async def cancelled():
        waiting = asyncio.create_task(store.get("a/c/0/0"))
        await asyncio.sleep(0)
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        return (await asyncio.wait_for(store.get("a/c/1/0"), 30)).to_bytes()

    assert asyncio.run(cancelled()) == np.arange(4.0, 8).tobytes()


@pytest.mark.skipif(not hasattr(asyncio, "eager_task_factory"), reason="before Python 3.12 no task begins at once")
def test_tasks_that_begin_at_once_are_read_together(tmp_path):
    trilith.write(tmp_path / "x.asdf", {"a": np.arange(12.0).reshape(3, 4)})
    store = trilith.zarr.Store(tmp_path / "x.asdf", chunks=(1, 4))

    async def together():
        asyncio.get_running_loop().set_task_factory(asyncio.eager_task_factory)
        tasks = [asyncio.create_task(store.get(f"a/c/{row}/0")) for row in range(3)]
        return b"".join(found.to_bytes() for found in await asyncio.wait_for(asyncio.gather(*tasks), 30))

    assert asyncio.run(together()) == np.arange(12.0).tobytes()


def test_each_of_several_fails_by_itself_and_an_error_of_all_is_one(tmp_path):
    """If a block is damaged the others are read. A missing server is not contacted for each."""
    trilith.write(tmp_path / "x.asdf", {"a": np.zeros((300, 300)), "b": np.ones((4, 4))}, codec="zlib")
    content = bytearray((tmp_path / "x.asdf").read_bytes())
    at = content.index(b"\xd3BLK") + 54 + 20
    content[at : at + 40] = b"\xff" * 40
    (tmp_path / "x.asdf").write_bytes(content)
    store = trilith.zarr.Store(tmp_path / "x.asdf")

    async def both():
        return await asyncio.gather(store.get("a/c/0/0"), store.get("b/c/0/0"), return_exceptions=True)

    broken, whole = asyncio.run(both())
    assert isinstance(broken, ValueError) and whole.to_bytes() == np.ones((4, 4)).tobytes()

    calls = []

    def gone(parts):
        calls.append(len(parts))
        raise OSError("no such server")

    read, trilith.zarr._read_together = trilith.zarr._read_together, gone
    try:
        assert [type(error) for error in asyncio.run(both())] == [OSError, OSError]
    finally:
        trilith.zarr._read_together = read
    assert calls == [2]


def test_what_is_copied_out_of_a_store_is_read_without_trilith(tmp_path):
    xarray = pytest.importorskip("xarray")
    data = RNG.normal(size=(30, 20))
    trilith.write(tmp_path / "x.asdf", {"a": data})
    group = trilith.zarr.open(tmp_path / "x.asdf", chunks=(7, 6))
    assert [codec.to_dict()["name"] for codec in group["a"].metadata.codecs] == ["bytes"]
    with xarray.open_zarr(group.store) as ds:
        ds.to_zarr(tmp_path / "copy.zarr", zarr_format=3)
    store = trilith.zarr.Store(tmp_path / "x.asdf", chunks=(7, 6))

    async def files():
        for key in [key async for key in store.list()]:
            (tmp_path / "raw.zarr" / key).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / "raw.zarr" / key).write_bytes((await store.get(key)).to_bytes())

    asyncio.run(files())
    code = """
import sys, zarr
for path in sys.argv[1:]:
    print(zarr.open_group(path, mode="r")["a"][...].sum())
assert "trilith" not in sys.modules
"""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code, tmp_path / "copy.zarr", tmp_path / "raw.zarr"], check=True, capture_output=True, text=True)
    assert np.allclose([float(line) for line in done.stdout.split()], data.sum())
    pickled = pickle.loads(pickle.dumps(group["a"]))
    np.testing.assert_array_equal(pickled[3:20, 4:5], data[3:20, 4:5])


def test_each_chunk_fails_by_itself(tmp_path):
    data = RNG.integers(0, 99, (3000, 1024), "i4")
    trilith.write(tmp_path / "x.asdf", {"a": data}, codec="lz4")
    raw = bytearray((tmp_path / "x.asdf").read_bytes())
    at = trilith.open(tmp_path / "x.asdf").info()["blocks"][0]["data_offset"]
    raw[at + 8 : at + 60] = b"\xff" * 52
    (tmp_path / "x.asdf").write_bytes(raw)
    store = trilith.zarr.Store(tmp_path / "x.asdf", chunks=(1024, 512))

    async def all_chunks(keys):
        return await asyncio.gather(*map(store.get, keys), return_exceptions=True)

    async def cancelled():
        tasks = [asyncio.create_task(store.get(f"a/c/{n}/0")) for n in (1, 2)]
        await asyncio.sleep(0)
        tasks[0].cancel()
        return await asyncio.gather(*tasks, return_exceptions=True)

    first, other, second, nothing = asyncio.run(all_chunks(["a/c/0/0", "a/c/0/1", "a/c/1/1", "a/c/9/9"]))
    assert isinstance(first, trilith.FormatError) and isinstance(other, trilith.FormatError) and nothing is None
    np.testing.assert_array_equal(np.frombuffer(second.to_bytes(), "i4").reshape(1024, 512), data[1024:2048, 512:])
    gone, left = asyncio.run(cancelled())
    assert isinstance(gone, asyncio.CancelledError)
    np.testing.assert_array_equal(np.frombuffer(left.to_bytes(), "i4").reshape(1024, 512)[: 3000 - 2048], data[2048:, :512])


def test_zarr_is_imported_only_when_it_is_asked_for():
    code = "import sys, trilith; assert not {'zarr', 'virtualizarr', 'numcodecs'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


# --- remote files ---------------------------------------------------------------------------------------------------

REMOTE = pathlib.Path(__file__).parents[3] / "tests/remote/web.py"


@pytest.fixture
def served(tmp_path):
    """A server of a folder, and what was asked of it."""
    sys.path.insert(0, str(REMOTE.parent))
    try:
        import web
    finally:
        sys.path.remove(str(REMOTE.parent))
    server = web.Server(tmp_path, 0, tmp_path / "log", "a:b")
    asked = []

    class Noting(web.Handler):
        def answer(self, body):
            # Before the answer: whoever has it sees its request in the list.
            asked.append(self.headers.get("Range", "-"))
            super().answer(body)

    server.RequestHandlerClass = Noting
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}/", asked
    server.shutdown()
    server.server_close()


def total(asked):
    """Returns the number of bytes that these headers `Range` request."""
    ranges = [part.split("-") for header in asked for part in header.removeprefix("bytes=").split(",")]
    return sum(int(last) - int(first) + 1 for first, last in ranges)


@pytest.mark.parametrize("codec", [None, "lz4"])
def test_a_remote_cutout_costs_what_get_costs(tmp_path, served, codec):
    url, asked = served
    data = RNG.integers(0, 9999, (4096, 1024), "i4")
    trilith.write(tmp_path / "x.asdf", {"meta": {"n": 1}, "a": data}, codec=codec)
    cutout = np.s_[1024:3072] if codec else np.s_[1024:1536]
    with trilith.open(url + "x.asdf") as file:
        expected = file["a"][cutout]
    direct = list(asked)
    asked.clear()
    array = trilith.zarr.open(url + "x.asdf")["a"]
    np.testing.assert_array_equal(array[cutout], expected)
    # Where the lengths of pieces are looked for, a guess may be wider by one place.
    assert len(asked) == len(direct) and abs(total(asked) - total(direct)) <= 128 << 10, (asked, direct)


def test_a_remote_file_that_was_replaced(tmp_path, served):
    url, _ = served
    trilith.write(tmp_path / "x.asdf", {"a": np.zeros(400_000)})
    store = trilith.zarr.Store(url + "x.asdf")
    text, array = pickle.dumps(store), zarr.open_array(store, path="a", mode="r")
    assert pickle.loads(text) == store and array[0] == 0
    os.utime(tmp_path / "x.asdf", ns=(1, 1))
    with pytest.raises(OSError, match=r"x\.asdf"):
        array[300_000]
    with pytest.raises(OSError, match=r"another than when the store was made.*x\.asdf"):
        pickle.loads(text)


def test_modules_of_the_package_need_no_import_of_their_own():
    code = "import trilith; print(trilith.zarr.open.__name__, trilith.asdf.__name__); trilith.nothing"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ended.stdout == "open trilith.asdf\n" and "no attribute 'nothing'" in ended.stderr, ended
