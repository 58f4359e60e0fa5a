"""Virtual datasets: what VirtualiZarr, Icechunk and Kerchunk read out of a file by our references is what Trilith reads."""

import json
import subprocess
import sys
import warnings

import numpy as np
import pytest

import trilith

zarr = pytest.importorskip("zarr", minversion="3.1.6")
virtualizarr = pytest.importorskip("virtualizarr")
xarray = pytest.importorskip("xarray")
obstore = pytest.importorskip("obstore")
registry = pytest.importorskip("obspec_utils.registry")
import trilith.virtual  # noqa: E402

pytestmark = [
    pytest.mark.filterwarnings("ignore::zarr.errors.UnstableSpecificationWarning"),
    pytest.mark.filterwarnings("ignore:Numcodecs codecs"),
]

RNG = np.random.default_rng(5)
LONG = RNG.integers(0, 999, (4096, 512), "i4")
TYPES = {
    **{kind: RNG.integers(0, 99, (8, 5)).astype(kind) for kind in ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", ">i4")},
    **{kind: RNG.normal(size=(8, 5)).astype(kind) for kind in ("f2", "f4", "f8", ">f4", ">f8", "c8", "c16", ">c8")},
    "bool": RNG.integers(0, 2, (8, 5)).astype(bool),
    "scalar": np.array(2.5),
    "empty": np.zeros((0, 5)),
    "ascii": np.array([b"a", b"", b"xyz"]),
    "text": np.array(["", "\u03b1\u03b2", "c"]),
    "record": np.array([(1, 2.5), (3, -0.5)], [("n", "<i4"), ("x", "<f8")]),
}


def stores():
    return registry.ObjectStoreRegistry({"file://": obstore.store.LocalStore()})


def virtual(path, **options):
    """The group of Zarr that the references of a file are."""
    store = trilith.virtual.Parser(**options)(path.as_uri(), stores())
    return zarr.open_group(store, mode="r", zarr_format=3)


@pytest.mark.parametrize("codec", [None, "zlib", "bzp2", "zstd", "blsc"])
def test_every_type_with_every_codec_that_can_be_virtual(tmp_path, codec):
    trilith.write(tmp_path / "x.asdf", {"types": TYPES, "n": 3, "meta": {"x": [1, np.nan]}}, codec=codec)
    group = virtual(tmp_path / "x.asdf")
    assert group.attrs["n"] == 3 and group.attrs["meta"] == {"x": [1, "NaN"]}
    for name, expected in TYPES.items():
        found = group[f"types/{name}"]
        np.testing.assert_array_equal(found[...], expected, err_msg=name)
        assert found.dtype.newbyteorder("=") == expected.dtype.newbyteorder("="), name


@pytest.mark.parametrize(("codec", "options", "chunk"), [
    (None, {"rows": 64}, (64, 512)),
    (None, {"rows": {"a": 1}}, (1, 512)),
    (None, {}, (2048, 512)),
    ("lz4", {}, (128, 512)),
    ("zlib", {}, (4096, 512)),
])  # fmt: skip
def test_chunks(tmp_path, codec, options, chunk):
    trilith.write(tmp_path / "x.asdf", {"a": LONG, "t": np.arange(3.0)}, codec=codec)
    array = virtual(tmp_path / "x.asdf", skip_variables=["t"], **options)["a"]
    assert array.chunks == chunk
    np.testing.assert_array_equal(array[100:3000:7, 3:9], LONG[100:3000:7, 3:9])


def test_only_rows_that_divide_make_chunks(tmp_path):
    trilith.write(tmp_path / "x.asdf", {"a": np.zeros((100, 3))})
    with pytest.raises(ValueError, match="30 rows to a chunk.*divide 100.*try 25 or 50"):
        virtual(tmp_path / "x.asdf", rows=30)


@pytest.mark.parametrize("shape", [(4099, 700), (7, 1 << 20), (3, 5, 1 << 19), (1 << 21,), (1000003,)])
def test_chunks_of_any_shape_divide_it(tmp_path, shape):
    trilith.write(tmp_path / "x.asdf", {"a": np.arange(int(np.prod(shape)), dtype="u1").reshape(shape)})
    array = virtual(tmp_path / "x.asdf")["a"]
    assert all(length % chunk == 0 for length, chunk in zip(shape, array.chunks, strict=True))
    assert np.prod(array.chunks) <= 32 << 20
    np.testing.assert_array_equal(array[...], trilith.open(tmp_path / "x.asdf")["a"][:])


def test_what_lies_otherwise(tmp_path):
    asdf = pytest.importorskip("asdf")
    data = RNG.normal(size=(60, 40, 3))
    tree = {"columns": np.asfortranarray(data), "base": data, "rows": data[:, :20], "field": data[:, :, 1]}
    with asdf.config_context() as config:
        config.default_array_save_base = True
        asdf.AsdfFile(tree).write_to(tmp_path / "x.asdf")
    group = virtual(tmp_path / "x.asdf", skip_variables=["field"])
    for name in ("columns", "base", "rows"):
        np.testing.assert_array_equal(group[name][...], tree[name], err_msg=name)
    with pytest.raises(NotImplementedError, match="/field: its elements are not contiguous"):
        virtual(tmp_path / "x.asdf")
    (tmp_path / "y.raw").write_bytes(RNG.bytes(2000))
    with pytest.raises(NotImplementedError, match="/r: Zarr's records have no padding"):
        virtual(tmp_path / "y.raw", layout=trilith.Layout("r = { n = >i4 m = <f4 }[10] @0"))


def test_what_cannot_be_virtual_is_named_with_the_way_out(tmp_path):
    trilith.write(tmp_path / "x.asdf", {"odd": np.zeros((3000, 1023), "f4"), "i": np.arange(3)}, codec="lz4")
    with pytest.raises(NotImplementedError, match=r"trilith\.zarr\.Store reads them(.|\n)*/odd: its compressed pieces hold 64 rows each, which does not divide 3000"):
        virtual(tmp_path / "x.asdf")
    with pytest.warns(UserWarning, match="/odd: .* left out of the virtual dataset"):
        assert set(virtual(tmp_path / "x.asdf", refused="skip")) == {"i"}
    trilith.write(tmp_path / "t.asdf", {"a": np.arange(3)}, inline=True)
    with pytest.raises(NotImplementedError, match="/a: .*in the text of the tree"):
        virtual(tmp_path / "t.asdf")
    trilith.write(tmp_path / "f.asdf", {"a": np.arange(30_000)}, codec="lz4f")
    with pytest.raises(NotImplementedError, match="/a: no other program decodes"):
        virtual(tmp_path / "f.asdf")
    with pytest.raises(ValueError, match="refused is"):
        trilith.virtual.Parser(refused="no")
    with pytest.raises(KeyError, match="there is no group 'x'"):
        virtual(tmp_path / "x.asdf", group="x", refused="skip")


def test_masks_are_virtual_too(tmp_path):
    data = np.ma.masked_greater(np.arange(20, dtype="i2").reshape(4, 5), 12)
    trilith.write(tmp_path / "x.asdf", {"g": {"a": data}})
    group = virtual(tmp_path / "x.asdf", group="g", rows=2)
    np.testing.assert_array_equal(group["a_mask"][:], data.mask)
    np.testing.assert_array_equal(group["a"][:], data.data)


def hdf5(path):
    h5py = pytest.importorskip("h5py")
    data = RNG.normal(size=(12, 8)).astype("f4")
    with h5py.File(path, "w") as file:
        made = file.create_dataset("gz", data=data, chunks=(5, 3), compression="gzip", shuffle=True, fletcher32=True)
        made.attrs["units"] = "m"
        file["g/big"] = data.astype(">f8")
        file.create_dataset("sparse", (9, 9), "i4", chunks=(3, 3), fillvalue=7)[3:6, 3:6] = 1
    return {"gz": data, "g/big": data, "sparse": np.pad(np.ones((3, 3), "i4"), 3, constant_values=7)}


def test_hdf5_is_what_its_own_parser_makes_of_it(tmp_path):
    expected = hdf5(tmp_path / "x.h5")
    group = virtual(tmp_path / "x.h5")
    for name, data in expected.items():
        np.testing.assert_array_equal(group[name][...], data, err_msg=name)
    assert group["gz"].chunks == (5, 3) and group["gz"].attrs["units"] == "m"
    hdf = pytest.importorskip("virtualizarr.parsers").HDFParser()
    theirs = zarr.open_group(hdf((tmp_path / "x.h5").as_uri(), stores()), mode="r", zarr_format=3)
    np.testing.assert_array_equal(group["gz"][...], theirs["gz"][...])


def test_other_kinds_of_file(tmp_path):
    data = RNG.normal(size=(6, 8)).astype("f4")
    np.save(tmp_path / "x.npy", data)
    trilith.write(tmp_path / "x.bd", {"a": data}, version="dudley-2025")
    np.testing.assert_array_equal(virtual(tmp_path / "x.bd")["a"][:], data)
    [name] = virtual(tmp_path / "x.npy")
    np.testing.assert_array_equal(virtual(tmp_path / "x.npy")[name][:], data)
    netcdf4 = pytest.importorskip("netCDF4")
    with netcdf4.Dataset(tmp_path / "x.nc", "w") as file:
        file.createDimension("y", 6), file.createDimension("x", 8)
        made = file.createVariable("t", "i2", ("y", "x"), zlib=True, fill_value=-9)
        made.scale_factor = 0.5
        made[:] = np.ma.masked_less(np.round(data) * 0.5, -0.5)
    parser, address = trilith.virtual.Parser(), (tmp_path / "x.nc").as_uri()
    with virtualizarr.open_virtual_dataset(address, registry=stores(), parser=parser, loadable_variables=["t"]) as ours:
        with xarray.open_dataset(tmp_path / "x.nc", engine="netcdf4") as theirs:
            np.testing.assert_array_equal(ours["t"], theirs["t"])
            assert ours["t"].dims == ("y", "x")


def test_fits(tmp_path):
    fits = pytest.importorskip("astropy.io.fits")
    data = RNG.normal(size=(30, 20)).astype("f4")
    scaled = fits.ImageHDU(np.arange(100, dtype="u2").reshape(10, 10))
    fits.HDUList([fits.PrimaryHDU(data), scaled]).writeto(tmp_path / "x.fits")
    with pytest.warns(UserWarning, match="/fits/1/data: .*computed from stored values.*left out"):
        store = trilith.virtual.Parser(refused="skip")((tmp_path / "x.fits").as_uri(), stores())
    group = zarr.open_group(store, mode="r", zarr_format=3)
    found = [array[...] for _, array in group.members(max_depth=None) if isinstance(array, zarr.Array)]
    assert any(array.shape == data.shape and (array == data).all() for array in found)


def dataset(path):
    tree = {"te": RNG.normal(size=(40, 50)), "n": RNG.integers(0, 9, (40, 50)), "title": "run 7"}
    trilith.write(path, tree, codec="zstd")
    return tree


def test_icechunk_keeps_references_and_reads_them_back(tmp_path):
    icechunk = pytest.importorskip("icechunk")
    tree = dataset(tmp_path / "x.asdf")
    address = (tmp_path / "x.asdf").as_uri()
    prefix = f"{tmp_path.as_uri()}/"
    config = icechunk.RepositoryConfig.default()
    config.set_virtual_chunk_container(icechunk.VirtualChunkContainer(prefix, icechunk.local_filesystem_store(str(tmp_path))))
    local = getattr(icechunk.credentials, "Credentials", None)
    access = {prefix: getattr(local, "LocalFileSystemAccess", lambda: None)()}
    storage = icechunk.local_filesystem_storage(str(tmp_path / "repository"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        repository = icechunk.Repository.create(storage, config, authorize_virtual_chunk_access=icechunk.containers_credentials(access) if access[prefix] is None else access)
    session = repository.writable_session("main")
    with virtualizarr.open_virtual_dataset(address, registry=stores(), parser=trilith.virtual.Parser()) as ds:
        assert ds.attrs["title"] == "run 7" and ds["te"].dims == ("dim_0", "dim_1")
        ds.vz.to_icechunk(session.store)
    session.commit("the first run")
    size = sum(file.stat().st_size for file in (tmp_path / "repository").rglob("*") if file.is_file())
    assert size < 20_000, "no elements in it"
    with xarray.open_zarr(repository.readonly_session("main").store, consolidated=False) as ds:
        np.testing.assert_array_equal(ds["te"], tree["te"])
        np.testing.assert_array_equal(ds["n"], tree["n"])
        assert ds.attrs["title"] == "run 7"


def test_kerchunk_of_virtualizarr(tmp_path):
    kerchunk = pytest.importorskip("kerchunk")
    assert kerchunk
    tree = dataset(tmp_path / "x.asdf")
    with virtualizarr.open_virtual_dataset((tmp_path / "x.asdf").as_uri(), registry=stores(), parser=trilith.virtual.Parser()) as ds:
        ds.vz.to_kerchunk(str(tmp_path / "refs.json"), format="json")
    with xarray.open_dataset(str(tmp_path / "refs.json"), engine="kerchunk") as ds:
        np.testing.assert_array_equal(ds["te"], tree["te"])


def manifest(*words):
    return subprocess.run([sys.executable, "-m", "trilith", "manifest", *map(str, words)], capture_output=True, text=True)


@pytest.mark.parametrize("codec", [None, "zlib", "bzp2", "zstd", "blsc", "lz4"])
def test_references_of_the_command(tmp_path, codec):
    pytest.importorskip("kerchunk")
    types = {name: data for name, data in TYPES.items() if name != "empty"}
    tree = {"a": LONG, "types": types, "title": "run 7", "m": np.ma.masked_less(np.arange(6.0), 2)}
    trilith.write(tmp_path / "x.asdf", tree, codec=codec)
    done = manifest(tmp_path / "x.asdf", "-o", tmp_path / "refs.json")
    assert done.returncode == 0, done.stderr
    refs = json.loads((tmp_path / "refs.json").read_text())
    assert refs["version"] == 1
    group = zarr.open_group("reference://", mode="r", zarr_format=2, storage_options={"fo": str(tmp_path / "refs.json"), "asynchronous": False})
    np.testing.assert_array_equal(group["a"][...], LONG)
    np.testing.assert_array_equal(group["m_mask"][...], np.ma.getmaskarray(tree["m"]))
    for name, expected in types.items():
        np.testing.assert_array_equal(group[f"types/{name}"][...], expected, err_msg=name)
    with xarray.open_dataset(str(tmp_path / "refs.json"), engine="kerchunk") as ds:
        np.testing.assert_array_equal(ds["a"], LONG)
        assert ds.attrs["title"] == "run 7" and ds["a"].dims == ("dim_0", "dim_1")
    options = {"fo": str(tmp_path / "refs.json")}
    with xarray.open_zarr("reference://", group="types", storage_options=options, zarr_format=2, consolidated=True) as ds:
        np.testing.assert_array_equal(ds["f4"], TYPES["f4"])


def test_references_of_several_files_and_formats(tmp_path):
    pytest.importorskip("kerchunk")
    expected = hdf5(tmp_path / "h.h5")
    trilith.write(tmp_path / "x.asdf", {"a": LONG})
    done = manifest(tmp_path / "h.h5", tmp_path / "x.asdf", "--rows", 1, "-o", tmp_path / "refs.json")
    assert done.returncode == 0, done.stderr
    group = zarr.open_group("reference://", mode="r", zarr_format=2, storage_options={"fo": str(tmp_path / "refs.json")})
    np.testing.assert_array_equal(group["x/a"][5:9], LONG[5:9])
    assert group["x/a"].chunks == (1, 512)
    for name, data in expected.items():
        np.testing.assert_array_equal(group[f"h/{name}"][...], data, err_msg=name)


def test_what_the_command_refuses(tmp_path):
    trilith.write(tmp_path / "x.asdf", {"odd": np.zeros((3000, 1023), "f4"), "i": np.arange(3)}, codec="lz4")
    done = manifest(tmp_path / "x.asdf", "-o", tmp_path / "refs.json")
    assert done.returncode and "/odd" in done.stderr and "--skip" in done.stderr and not (tmp_path / "refs.json").exists()
    done = manifest(tmp_path / "x.asdf", "-o", tmp_path / "refs.json", "--skip")
    assert done.returncode == 0 and "/odd" in done.stderr
    done = manifest(tmp_path / "x.asdf", "-o", tmp_path / "refs.parquet")
    assert done.returncode and "to_kerchunk" in done.stderr


def test_characters_and_missing_strings_of_netcdf(tmp_path):
    """Tier: rest. The peer is netCDF4."""
    netcdf, xarray = pytest.importorskip("netCDF4"), pytest.importorskip("xarray")
    pytest.importorskip("fsspec")
    with netcdf.Dataset(tmp_path / "a.nc", "w") as f:
        f.createDimension("n", 3)
        f.createDimension("s", 5)
        f.createVariable("name", "S1", ("n", "s"))[:] = netcdf.stringtochar(np.array(["abc", "de", "fghij"], "S5"))
        f.createVariable("flag", "S1", ("n",))[:] = np.array([b"A", b"C", b"G"])
        f.createVariable("text", str, ("n",), fill_value="missing")[:2] = np.array(["q", "r"], object)
    assert manifest(tmp_path / "a.nc", "-o", tmp_path / "a.json").returncode == 0
    options = {"storage_options": {"fo": str(tmp_path / "a.json")}, "consolidated": False}
    with xarray.open_dataset("reference://", engine="zarr", backend_kwargs=options) as found:
        with xarray.open_dataset(tmp_path / "a.nc", engine="netcdf4") as wanted:
            xarray.testing.assert_equal(found, wanted)
