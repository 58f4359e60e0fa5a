"""Arrays of asdf-zarr: the package writes and Trilith reads, Trilith writes and the package reads."""

import itertools
import pathlib
import sys
import warnings

import asdf
import numcodecs
import numpy as np
import pytest
import zarr

sys.path.append(str(pathlib.Path(__file__).parents[1] / "interop"))
from peer import sha256, trilith, trilith_json

random = np.random.default_rng(9)
DTYPES = [
    "i1", "<u2", ">i2", "<i4", ">u4", "<i8", ">u8", "<f2", ">f4", "<f4", "<f8", ">f8", "<c8", ">c16", "?", "S5", "<U3", ">U2",
    [("x", "<f4"), ("n", ">i2")], [("t", "S3"), ("v", "<f8", (2,))],
]  # fmt: skip
COMPRESSORS = {
    "none": None,
    "zlib": numcodecs.Zlib(),
    "gzip": numcodecs.GZip(),
    "zstd": numcodecs.Zstd(),
    "lz4": numcodecs.LZ4(),
    "bz2": numcodecs.BZ2(),
    **{f"blosc {c} {s}": numcodecs.Blosc(c, shuffle=s) for c in ("lz4", "lz4hc", "zstd", "zlib") for s in (0, 1, 2)},
}
SHAPES = [((7,), (3,)), ((5, 7), (2, 3)), ((4, 6), (4, 6)), ((3, 4, 5), (2, 4, 2)), ((2, 2), (5, 3)), ((0, 3), (1, 3))]


def elements(dtype, shape):
    """Elements of which no two are alike, as far as the type goes."""
    dtype = np.dtype(dtype)
    if dtype.names:
        made = np.zeros(shape, dtype)
        for name in dtype.names:
            base, inner = dtype[name].subdtype or (dtype[name], ())
            made[name] = elements(base, (*shape, *inner))
        return made
    numbers = random.integers(0, 100, shape)
    if dtype.kind in "SU":
        return numbers.astype("U").astype(dtype)
    return (numbers + (1j * numbers if dtype.kind == "c" else 0)).astype(dtype)


def array(data, chunks, missing=(), **options):
    """The array in the peer's form; `missing` are chunks that are never written."""
    made = zarr.create(
        data.shape, chunks=chunks, dtype=data.dtype, store=zarr.storage.KVStore({}), **{"fill_value": None, **options}
    )
    expected = np.full(data.shape, made.fill_value, data.dtype) if made.fill_value is not None else np.zeros_like(data)
    for place in itertools.product(*(range(-(-n // c)) for n, c in zip(data.shape, chunks))):
        if place not in missing:
            part = tuple(slice(i * c, (i + 1) * c) for i, c in zip(place, chunks))
            made[part] = data[part]
            expected[part] = data[part]
    return made, expected


def write(path, arrays, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        asdf.AsdfFile(arrays).write_to(path, **options)


def digests(path):
    return {name.strip("/"): entry.get("sha256") for name, entry in trilith_json("digest", path)["arrays"].items()}


def check_read(path, made):
    """Writes arrays by the peer, and compares all digests: of its file, and with blocks that are compressed as well."""
    write(path, {name: pair[0] for name, pair in made.items()} | {"plain": np.arange(3)})
    compressed = path.with_name("compressed.asdf")
    trilith("convert", path, compressed, "--codec", "zlib")
    for file in (path, compressed):
        found = digests(file)
        for name, (_, expected) in made.items():
            assert found[name] == sha256(expected), (name, file)
        trilith("verify", "--deep", file)


def test_every_datatype_and_order_is_read(tmp_path):
    made = {}
    for number, (dtype, order, (shape, chunks)) in enumerate(itertools.product(DTYPES, "CF", SHAPES)):
        made[f"a{number}"] = array(elements(dtype, shape), chunks, order=order, compressor=None)
    check_read(tmp_path / "x.asdf", made)


def test_every_compressor_and_filter_is_read(tmp_path):
    made, data = {}, elements("<i4", (50, 33))
    for number, (compressor, order) in enumerate(itertools.product(COMPRESSORS.values(), "CF")):
        made[f"c{number}"] = array(data, (16, 10), compressor=compressor, order=order)
    big = elements(">i8", (9, 9))
    made["delta"] = array(data, (16, 10), filters=[numcodecs.Delta("<i4")], compressor=numcodecs.Zlib())
    made["delta, big"] = array(big, (4, 4), filters=[numcodecs.Delta(">i8")], compressor=None)
    made["shuffle"] = array(data, (16, 10), filters=[numcodecs.Shuffle(4)], compressor=numcodecs.LZ4())
    made["both"] = array(data, (16, 10), filters=[numcodecs.Delta("<i4"), numcodecs.Shuffle(4)], order="F")
    check_read(tmp_path / "x.asdf", made)


def test_chunks_that_were_never_written_are_the_fill_value(tmp_path):
    fills = [
        ("<i2", [None, 0, -7]), (">u8", [2**62 + 1]), ("<f4", [None, 0.5, np.nan, np.inf, -np.inf]), ("<f2", [0.1]),
        ("<c16", [1 - 2j, complex(np.nan, 1)]), ("?", [True]), ("S4", [b"ab"]), ("<U3", ["\u00e4b"]),
        ([("x", "<f4"), ("n", ">i2")], [np.array((1.5, 2), [("x", "<f4"), ("n", ">i2")])[()]]),
    ]  # fmt: skip
    made = {}
    for number, (dtype, fill, order) in enumerate((d, f, o) for d, fs in fills for f in fs for o in "CF"):
        made[f"a{number}"] = array(elements(dtype, (5, 7)), (2, 3), {(0, 1), (2, 2)}, fill_value=fill, order=order)
    check_read(tmp_path / "x.asdf", made)


def test_what_is_not_read_is_refused_by_name_and_the_rest_is_read(tmp_path):
    path, data = tmp_path / "x.asdf", elements("<f4", (4, 4))
    made = {
        "scaled": array(data, (2, 2), filters=[numcodecs.FixedScaleOffset(0, 10, "<f4", "<i2")])[0],
        "times": zarr.array(np.array(["2026-01-01"], "M8[D]"), store=zarr.storage.KVStore({})),
        "outside": zarr.open(zarr.storage.DirectoryStore(tmp_path / "z"), mode="w", shape=(2,), dtype="i4"),
        "fine": np.arange(5),
    }
    write(path, made)
    for name, why in {"scaled": "fixedscaleoffset", "times": "M8[D]", "outside": "outside of the file"}.items():
        with pytest.raises(AssertionError, match=why.replace("[", r"\[")):
            trilith("get", f"{path}#/{name}")
    assert trilith("get", f"{path}#/fine", "--json")
    trilith("info", path)
    # They are carried along, and the package reads them again.
    trilith("convert", path, tmp_path / "y.asdf", "--codec", "zlib")
    trilith("set", f"{tmp_path / 'y.asdf'}#/more", "1", "--in-place")
    with asdf.open(tmp_path / "y.asdf") as f:
        assert (f["scaled"][:] == data.round(1)).all() and f["times"][0] == made["times"][0]


def check_written(path, expected):
    """Whether the package reads what Trilith wrote."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", asdf.exceptions.AsdfWarning)
        warnings.filterwarnings("ignore", category=asdf.exceptions.AsdfPackageVersionWarning, message=".*core-1.6.0.*")
        with asdf.open(path) as f:
            for name, data in expected.items():
                assert isinstance(f[name], zarr.core.Array), name
                np.testing.assert_array_equal(f[name][...], data, err_msg=name)


@pytest.mark.parametrize("codec", [None, "none", "zlib", "bzp2", "lz4", "auto"])
@pytest.mark.parametrize(("shape", "chunks"), [pair for pair in SHAPES if 0 not in pair[0]])
def test_what_is_written_in_chunks_is_read(tmp_path, codec, shape, chunks):
    data = {f"a{number}": elements(dtype, shape) for number, dtype in enumerate(DTYPES)}
    path, new = tmp_path / "x.asdf", tmp_path / "y.asdf"
    write(path, data | {"other": np.arange(16.0).reshape(2, 2, 2, 2)}, all_array_compression="zlib")
    trilith("convert", path, new, "--chunks", ",".join(map(str, chunks)), *(["--codec", codec] if codec else []))
    assert digests(new) == digests(path)
    trilith("verify", "--deep", new)
    check_written(new, data)


def test_files_of_the_package_survive_every_change(tmp_path):
    path, data = tmp_path / "x.asdf", elements("<f4", (5, 7))
    made, expected = array(data, (2, 3), {(1, 1)}, fill_value=-1, compressor=numcodecs.Zlib())
    write(path, {"a": made, "b": np.arange(100.0), "c": np.arange(10)})
    trilith("delete", f"{path}#/b", "--in-place")
    check_written(path, {"a": expected})
    np.save(tmp_path / "new.npy", np.arange(200))
    trilith("insert", f"{path}#/d", "--from", tmp_path / "new.npy", "--in-place")
    check_written(path, {"a": expected})
    trilith("set", f"{path}#/title", "x" * 5000, "-o", tmp_path / "y.asdf")
    check_written(tmp_path / "y.asdf", {"a": expected})
    trilith("repack", tmp_path / "y.asdf", tmp_path / "z.asdf")
    check_written(tmp_path / "z.asdf", {"a": expected})
    trilith("convert", tmp_path / "z.asdf", tmp_path / "w.asdf", "--to", "asdf-1.5", "--codec", "zlib")
    check_written(tmp_path / "w.asdf", {"a": expected})
    trilith("convert", tmp_path / "w.asdf", tmp_path / "plain.finf", "--to", "finf-0.1")
    assert digests(tmp_path / "plain.finf")["a"] == sha256(expected)
