"""Opening and reading: trees like dictionaries, arrays like numpy's."""

import collections.abc
import copy
import datetime
import inspect
import io
import math
import os
import pathlib
import pickle
import random
import threading

import asdf
import numpy as np
import pytest

import trilith

HEAD = "#ASDF 1.0.0\n#ASDF_STANDARD 1.6.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n--- !core/asdf-1.1.0\n"


def tree_of(text):
    """A file with this tree."""
    return trilith.open((HEAD + text + "...\n").encode())


@pytest.fixture
def cube(tmp_path):
    """A file with arrays of several kinds, and what they hold."""
    rng = np.random.default_rng(8)
    arrays = {
        "f4": rng.normal(size=(6, 7, 8)).astype("f4"),
        "i2": rng.integers(-99, 99, (5, 9)).astype("i2"),
        "c16": rng.normal(size=(4, 3)) + 1j,
        "f2": np.arange(10, dtype="f2"),
        "bool": rng.integers(0, 2, (3, 5)).astype(bool),
        "S": np.array([b"ab", b"c", b""], "S3"),
        "U": np.array(["µ", "ab\U0001f600", ""]),
        "struct": np.array([(1, [1.5, 2.5], b"x"), (2, [3.5, 4.5], b"yz")], [("i", "i4"), ("v", "f8", (2,)), ("s", "S2")]),
        "zero": np.array(2.5),
        "empty": np.zeros((0, 4), "u1"),
    }
    path = tmp_path / "cube.asdf"
    trilith.write(path, arrays)
    return path, arrays


def test_sources(tmp_path):
    """A path, a pathlib path, bytes and what is like them, a file object."""
    path = tmp_path / "a.asdf"
    trilith.write(path, {"a": np.arange(5)})
    data = path.read_bytes()
    with open(path, "rb") as stream:
        sources = [str(path), path, data, bytearray(data), memoryview(data), io.BytesIO(data), stream]
        for source in sources:
            with trilith.open(source) as f:
                assert f["a"][1:3].tolist() == [1, 2], type(source)
    with pytest.raises(TypeError, match="expected a path, bytes"):
        trilith.open(5)


def test_a_file_object_that_fails_says_so():
    class Failing(io.BytesIO):
        def read(self, size=-1):
            raise OSError("the tape is torn")

    with pytest.raises(OSError, match="the tape is torn"):
        trilith.open(Failing(trilith.dumps({"a": 1})))


def test_mappings_behave_like_dictionaries():
    f = tree_of("b: {y: 1, x: [1, {k: v}]}\na/c: 3\n1: one\ntrue: yes\n")
    assert isinstance(f, collections.abc.Mapping) and isinstance(f["b"], collections.abc.Mapping)
    assert list(f) == ["b", "a/c", 1, True]
    assert list(f["b"].keys()) == ["y", "x"] and len(f["b"]) == 2
    assert f["b/x/1/k"] == f["/b/x/1/k"] == f["b"]["x"][1]["k"] == "v"
    assert f["a/c"] == 3, "a key that holds a slash comes first"
    assert f[1] == "one"
    assert "b" in f and "b/x/0" in f and "b/z" not in f and 7 not in f
    assert f.get("b/z") is None and f.get("b/z", 5) == 5
    assert dict(f["b"].items())["y"] == 1 and 1 in f["b"].values()
    assert f["b"] == {"y": 1, "x": [1, {"k": "v"}]} and f["b"] == f["b"] and f["b"] != {}
    assert f["b"].to_dict() == {"y": 1, "x": [1, {"k": "v"}]}
    assert dict(**f["b"]) == f["b"]
    with pytest.raises(KeyError, match="no .*z.* here; there are: y, x"):
        f["b"]["z"]
    with pytest.raises(KeyError, match="no .*q.* on the way .*b/q/r.*; there are: y, x"):
        f["b/q/r"]


def test_sequences_behave_like_lists():
    s = tree_of("s: [a, b, {k: 1}, 4]\n")["s"]
    assert isinstance(s, collections.abc.Sequence)
    assert len(s) == 4 and s[0] == "a" and s[-1] == 4 and s[2]["k"] == 1 and s["2/k"] == 1
    assert s[1:] == ["b", {"k": 1}, 4] and s[::-2] == [4, "b"] and list(s)[3] == 4
    assert "b" in s and "z" not in s and s.index("b") == 1 and s.count(4) == 1
    assert s == ["a", "b", {"k": 1}, 4] and s.to_list()[2] == {"k": 1}
    with pytest.raises(IndexError):
        s[4]
    with pytest.raises(TypeError):
        s[1.5]


def test_scalars_are_what_yaml_1_1_says():
    f = tree_of(
        "n: ~\nt: yes\ni: 0x1F\no: 017\ns: 190:20:30\nbig: -123456789012345678901234567890\nf: 1.5e+3\ntext: 1e3\n"
        "q: '5'\ninf: -.inf\nnan: .nan\nb: !!binary aGk=\nc: !core/complex-1.0.0 1-2j\nu: !unit/unit-1.0.0 m\n"
    )
    assert f["n"] is None and f["t"] is True and f["i"] == 31 and f["o"] == 15 and f["s"] == 685230
    assert f["big"] == -123456789012345678901234567890
    assert f["f"] == 1500.0 and f["text"] == "1e3" and f["q"] == "5" and f["inf"] == -math.inf and math.isnan(f["nan"])
    assert f["b"] == b"hi" and f["c"] == 1 - 2j
    unit = f["u"]
    assert unit == "m" and unit.tag == "tag:stsci.edu:asdf/unit/unit-1.0.0"
    assert pickle.loads(pickle.dumps(unit)).tag == unit.tag


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2001-12-14", datetime.date(2001, 12, 14)),
        ("2001-12-14t21:59:43.10-05:00", datetime.datetime(2001, 12, 14, 21, 59, 43, 100000, datetime.timezone(-datetime.timedelta(hours=5)))),
        ("2001-12-14 21:59:43.10 -5", datetime.datetime(2001, 12, 14, 21, 59, 43, 100000, datetime.timezone(-datetime.timedelta(hours=5)))),
        ("2001-12-15 2:59:43Z", datetime.datetime(2001, 12, 15, 2, 59, 43, 0, datetime.timezone.utc)),
        ("2001-02-30", "2001-02-30"),
    ],
)
def test_timestamps(text, value):
    assert tree_of(f"t: {text}\n")["t"] == value


def test_integers_of_any_size():
    for number in [2**63, -(2**64), 10**3000, -(3**9000)]:
        assert trilith.open(trilith.dumps({"n": number}))["n"] == number


def test_aliases_references_and_merges():
    f = tree_of("a: &x {k: [1, 2]}\nb: *x\nc: {$ref: '#/a/k'}\nd: {<<: *x, m: 3}\n")
    assert f["b/k/1"] == 2 and f["c"] == [1, 2] and f["d"] == {"m": 3, "k": [1, 2]}
    whole = f.to_dict()
    assert whole["a"] is whole["b"] and whole["c"] is whole["a"]["k"]


def test_circles_are_circles_in_a_dictionary():
    f = tree_of("a: {b: {$ref: '#/a'}}\n")
    whole = f.to_dict()
    assert whole["a"]["b"] is whole["a"]
    with pytest.raises(trilith.FormatError, match="circle"):
        tree_of("a: {$ref: '#/a'}\n")["a"]


def test_references_into_other_files_stay_in_the_folder(tmp_path):
    (tmp_path / "in").mkdir()
    trilith.write(tmp_path / "out.asdf", {"a": 1})
    trilith.write(tmp_path / "in" / "near.asdf", {"a": np.arange(3)})
    trilith.write(tmp_path / "in" / "f.asdf", {"near": {"$ref": "near.asdf#/a"}, "out": {"$ref": "../out.asdf#/a"}})
    f = trilith.open(tmp_path / "in" / "f.asdf")
    assert f["near"][...].tolist() == [0, 1, 2]
    with pytest.raises(trilith.LimitError):
        f["out"]
    assert "out" in f


def test_arrays_say_what_they_are(cube):
    path, arrays = cube
    f = trilith.open(path)
    for name, expected in arrays.items():
        array = f[name]
        assert isinstance(array, trilith.Array)
        assert array.shape == expected.shape and array.ndim == expected.ndim and array.size == expected.size
        assert array.dtype == expected.dtype and array.nbytes == expected.nbytes, name
        assert array.tag == "tag:stsci.edu:asdf/core/ndarray-1.1.0" and array.mask is None


@pytest.mark.parametrize("codec", [None, "zlib", "bzp2", "lz4", "zstd", "blsc", "lz4f"])
@pytest.mark.parametrize("kind", ["path", "bytes", "unmapped"])
def test_arrays_hold_what_was_written(cube, codec, kind):
    path, arrays = cube
    trilith.write(path, arrays, codec=codec)
    source, options = (path.read_bytes(), {}) if kind == "bytes" else (path, {"memmap": kind == "path"})
    with trilith.open(source, **options) as f:
        for name, expected in arrays.items():
            for found in (np.asarray(f[name]), f[name][...], f[name].read()):
                assert found.dtype == expected.dtype and found.shape == expected.shape, name
                assert found.tobytes() == expected.tobytes(), name


INDICES = [
    np.s_[0],
    np.s_[-1, 2],
    np.s_[1, 2, 3],
    np.s_[1:5:2, ::-1],
    np.s_[..., 0],
    np.s_[...],
    np.s_[1, ..., -1],
    np.s_[:, 3:3],
    np.s_[np.int64(2), np.uint8(1)],
    np.s_[[0, 2]],
    np.s_[:, [1, 3], 0],
    np.s_[np.array([1, 2]), :],
    np.s_[None, 1],
    np.s_[True],
    (),
]


@pytest.mark.parametrize("codec", [None, "lz4"])
@pytest.mark.parametrize("index", INDICES, ids=str)
def test_slices_are_those_of_numpy(cube, codec, index):
    path, arrays = cube
    trilith.write(path, {"f4": arrays["f4"]}, codec=codec)
    expected = arrays["f4"][index]
    found = trilith.open(path)["f4"][index]
    assert type(found) is type(expected)
    np.testing.assert_array_equal(found, expected)
    assert found.dtype == expected.dtype


def test_boolean_masks_and_fields(cube):
    f = trilith.open(cube[0])
    f4, struct = cube[1]["f4"], cube[1]["struct"]
    np.testing.assert_array_equal(f["f4"][f4 > 0], f4[f4 > 0])
    np.testing.assert_array_equal(f["struct"]["v"], struct["v"])
    np.testing.assert_array_equal(f["struct"][["i", "s"]], struct[["i", "s"]])
    assert f["struct"][1] == struct[1] and f["struct"].part("v").part(np.s_[1, 0])[()] == 3.5
    assert f["zero"][()] == 2.5 and f["zero"][...].shape == ()
    assert [row.tolist() for row in f["i2"]] == cube[1]["i2"].tolist()


@pytest.mark.parametrize("codec", [None, "lz4"])
def test_law_an_index_gives_what_numpy_gives(codec):
    """Lists, arrays, booleans, numbers, slices, None and ... in any mixture; errors included."""
    rng = random.Random(8)
    data = np.arange(4 * 6 * 5).reshape(4, 6, 5)
    masked = np.ma.masked_where(data % 3 == 0, data)
    f = trilith.open(trilith.dumps({"x": data, "m": masked}, codec=codec))

    def item(length):
        def place():
            return rng.randrange(-length - (rng.random() < 0.05), length)

        return rng.choice(
            [
                place(),
                np.int64(place()),
                np.array(place()),
                slice(rng.choice([None, *range(-8, 8)]), rng.choice([None, *range(-8, 8)]), rng.choice([None, 1, 2, -1, -2])),
                [place() for _ in range(rng.randrange(4))],
                np.array([[place(), place(), place()], [place(), place(), place()]], "i2"),
                np.array(rng.choices([True, False], k=length)),
                rng.choices([True, False], k=length),
                None,
                Ellipsis,
                rng.choice([True, np.array(False), 1.5]),
            ]
        )

    def outcome(array, index):
        try:
            return array[index]
        except Exception as error:
            return type(error)

    for _ in range(1500):
        index = tuple(item(length) for length in (4, 6, 5, 5)[: rng.randrange(5)])
        index = rng.choice([index, np.array(rng.choices([True, False], k=24)).reshape(4, 6), index[0] if index else ()])
        for array, given in ((f["x"], data), (f["m"], masked)):
            found, expected = outcome(array, index), outcome(given, index)
            if isinstance(expected, type):
                assert isinstance(found, type) and issubclass(found, expected), repr(index)
                continue
            assert type(found) is type(expected) and np.shape(found) == np.shape(expected), repr(index)
            assert (np.ma.getmaskarray(found) == np.ma.getmaskarray(expected)).all(), repr(index)
            assert np.ma.allequal(found, expected), repr(index)


def test_rows_far_apart_are_read_alone():
    class Counted(io.BytesIO):
        count = 0

        def read(self, size=-1):
            Counted.count += size
            return super().read(size)

    data = np.arange(2**20).reshape(2**12, 2**8)
    f = trilith.open(Counted(trilith.dumps({"x": data, "m": np.ma.masked_less(data, 1000)})))
    Counted.count = 0
    places = [4000, -1, 5, 6, 5]
    np.testing.assert_array_equal(f["x"][places], data[places])
    np.testing.assert_array_equal(f["x"][places, 3:5], data[places, 3:5])
    assert Counted.count < data.nbytes / 10
    assert f["m"][places].mask.sum() == 0 and f["m"][[0, 4000, 1]].mask.sum() == 512
    with pytest.raises(IndexError, match="out of bounds"):
        f["x"][[0, 2**12]]


def test_indices_of_any_size():
    a = trilith.open(trilith.dumps({"a": np.arange(5)}))["a"]
    assert a[-(10**30) : 10**30].tolist() == [0, 1, 2, 3, 4] and a[10**30 : None : -(10**30)].tolist() == [4]
    with pytest.raises(IndexError):
        a[10**30]


def test_arrays_do_what_numpy_does(cube):
    path, arrays = cube
    f = trilith.open(path)
    a, x = f["f4"], arrays["f4"]
    for found, expected in (
        (a + 1, x + 1),
        (2 / a, 2 / x),
        (a - a, x - x),
        (x * a, x * x),
        (-a, -x),
        (abs(a), abs(x)),
        (a > 0, x > 0),
        (a == x, x == x),
        (a != 0, x != 0),
        (f["i2"] // 2 % 3, arrays["i2"] // 2 % 3),
        (~f["bool"] | True, ~arrays["bool"] | True),
        (divmod(f["i2"], 7)[1], arrays["i2"] % 7),
        (f["i2"] @ f["i2"].T, arrays["i2"] @ arrays["i2"].T),
        (a.mean(axis=0), x.mean(axis=0)),
        (a.astype("f8"), x.astype("f8")),
        (a.T, x.T),
        (a.reshape(-1), x.reshape(-1)),
        (f["c16"].imag, arrays["c16"].imag),
        (np.sqrt(f["c16"]), np.sqrt(arrays["c16"])),
        (np.maximum(a, 0), np.maximum(x, 0)),
        (f["struct"] == f["struct"], arrays["struct"] == arrays["struct"]),
        (f["S"] == b"c", arrays["S"] == b"c"),
    ):
        np.testing.assert_array_equal(found, expected)
        assert isinstance(found, np.ndarray) and found.dtype == expected.dtype
    assert a.tolist() == x.tolist() and a.tobytes() == x.tobytes() and float(a.max()) == x.max()
    assert x[0, 0, 0] in a and 1e9 not in a
    a.T[0] = 0
    a.reshape(-1)[0] = 0
    assert (a == x).all(), "what they give is the caller's own"
    assert float(f["zero"]) == 2.5 and int(f["zero"]) == 2 and bool(f["zero"])
    one = trilith.open(trilith.dumps({"n": np.array(3)}))["n"]
    assert "abcd"[one] == "d" and np.arange(9)[one] == 3
    for wrong in (lambda: bool(a), lambda: float(a), lambda: int(f["empty"]), lambda: hash(a), lambda: np.add(1, 1, out=a)):
        with pytest.raises((TypeError, ValueError)):
            wrong()
    with pytest.raises(AttributeError):
        a.sort()
    with pytest.raises(TypeError):
        iter(f["zero"])


def test_a_masked_element_is_no_number():
    f = trilith.open(trilith.dumps({"m": np.ma.masked_array([5.0], [1]), "x": np.array([5])}))
    assert np.isnan(float(f["m"])) and float(f["x"]) == 5
    with pytest.raises(ValueError, match="masked"):
        int(f["m"])


def test_arrays_of_a_file_say_where():
    f = trilith.open(trilith.dumps({"x": np.arange(4), "here": np.array([True, False, True, False])}))
    assert f["x"].sum(where=f["here"]) == 2
    assert np.add.reduce(np.arange(4), where=f["here"]) == 2


def test_a_mask_is_not_lost_on_the_way_to_numpy():
    given = np.ma.masked_array([1.0, 100.0, 3.0], [0, 1, 0])
    a = trilith.open(trilith.dumps({"a": given}))["a"]
    assert a.sum() == np.sum(a) == np.ma.sum(a) == 4 and a.mean() == np.mean(a) == 2
    plus = given + 1
    for found in (a + 1, 1 + a, np.add(a, 1), np.ones(3) + a, np.ma.ones(3) + a, np.asanyarray(a) + 1, np.ma.asarray(a) + 1):
        assert isinstance(found, np.ma.MaskedArray)
        np.testing.assert_array_equal(found.mask, plus.mask)
        assert found.sum() == plus.sum()
    assert np.ma.getmaskarray(a).tolist() == [False, True, False]
    assert type(np.asarray(a)) is np.ndarray and not np.asarray(a, copy=False).flags.writeable
    assert "--" in str(np.ma.asarray(a))
    for export in (memoryview, np.from_dlpack):
        with pytest.raises(BufferError, match="mask"):
            export(a)


def test_nodes_are_compared_copied_and_pickled(tmp_path):
    path = tmp_path / "n.asdf"
    tree = {"d": {"x": np.arange(3), "m": np.ma.masked_array([1, 2], [0, 1]), "l": [1, {"a": trilith.TaggedString("m", "!u")}]}}
    trilith.write(path, tree)
    data = path.read_bytes()
    for source in (path, data):
        f = trilith.open(source)
        d = f["d"]
        assert d == f["d"] and d == trilith.open(data)["d"] and not d != f["d"]
        assert d == {"x": np.arange(3), "m": tree["d"]["m"], "l": [1, {"a": "m"}]}
        for other in ({"x": np.arange(4)}, {"x": 3}, {}):
            assert d != {**d.to_dict(), **other} or not other
        assert d != {**d.to_dict(), "m": np.array([1, 2])} and d != {}
        assert copy.copy(d) is d and copy.deepcopy({"d": d, "x": d["x"]})["d"] is d
        for node in (d, d["l"], f.tree):
            again = pickle.loads(pickle.dumps(node))
            assert type(again) is type(node) and again == node
        assert pickle.loads(pickle.dumps(d["l"]))[1]["a"].tag == "!u"
        assert list((d | {"y": 1}).items())[-1] == ("y", 1) and list({"y": 1} | d)[0] == "y"
        assert d["l"][:1] + d["l"] == [1, *d["l"]] and d["l"] + [2] == [*d["l"], 2]
        with pytest.raises(TypeError):
            d["l"] + 1
        with pytest.raises(TypeError):
            d | 1


def test_a_part_is_lazy_until_it_is_read(cube):
    part = trilith.open(cube[0])["f4"].part(np.s_[1:3, ..., ::2])
    assert isinstance(part, trilith.Array) and part.shape == (2, 7, 4)
    np.testing.assert_array_equal(part[1], cube[1]["f4"][2, :, ::2])
    np.testing.assert_array_equal(np.asarray(part), cube[1]["f4"][1:3, ..., ::2])


def test_wrong_indices(cube):
    f = trilith.open(cube[0])
    for index in (99, (0, 0, 0, 0), (Ellipsis, Ellipsis)):
        with pytest.raises(IndexError):
            f["f4"][index]
    with pytest.raises(KeyError, match="the fields are i, v, s"):
        f["struct"]["nothing"]
    with pytest.raises(ValueError, match="zero"):
        f["f4"][::0]
    with pytest.raises(TypeError):
        len(f["zero"])


def test_no_copy_of_plain_blocks_even_after_closing(cube):
    path, arrays = cube
    with trilith.open(path) as f:
        array = f["f4"]
        view = np.asarray(array)
    assert f.closed
    assert not view.flags.writeable and not view.flags.owndata
    assert np.shares_memory(view, np.asarray(array))
    assert memoryview(array).readonly and memoryview(array).format == "f"
    assert array.__array_interface__["data"][1] is True
    np.testing.assert_array_equal(np.from_dlpack(array), arrays["f4"])
    assert array.__dlpack_device__() == (1, 0)
    os.remove(path)
    del f, array
    np.testing.assert_array_equal(view, arrays["f4"])


def test_copies_where_they_are_asked_for_or_needed(cube):
    path, arrays = cube
    array = trilith.open(path)["f4"]
    copy = np.array(array)
    copy[0] = 0
    assert copy.flags.writeable and np.asarray(array, dtype="f8").dtype == "f8"
    assert np.asarray(array, copy=False).base is not None
    trilith.write(path, arrays, codec="zlib")
    packed = trilith.open(path)["f4"]
    assert np.asarray(packed).flags.writeable
    for fail in (lambda: np.asarray(packed, copy=False), lambda: packed.__array__(copy=False)):
        with pytest.raises(ValueError):
            fail()
    with pytest.raises(BufferError):
        memoryview(packed)
    assert not hasattr(packed, "__array_interface__")
    np.testing.assert_array_equal(np.from_dlpack(packed), arrays["f4"])


def test_blocks_that_are_not_aligned_are_lent_to_numpy_only(tmp_path):
    """numpy knows what to do with any address; who takes a bare pointer may not."""
    path = tmp_path / "a.asdf"
    for padding in range(8):
        asdf.AsdfFile({"pad": "x" * padding, "a": np.arange(5.0)}).write_to(path)
        array = trilith.open(path)["a"]
        view = np.asarray(array)
        assert view.tolist() == [0, 1, 2, 3, 4] and not view.flags.writeable
        if view.flags.aligned:
            assert memoryview(array).tolist() == [0, 1, 2, 3, 4]
        else:
            with pytest.raises(BufferError):
                memoryview(array)
        assert np.from_dlpack(array).tolist() == [0, 1, 2, 3, 4]


def test_slices_are_the_callers_own(cube):
    row = trilith.open(cube[0])["f4"][0]
    row[:] = 0
    assert trilith.open(cube[0])["f4"][0].any()


def test_reading_into_memory(cube):
    path, arrays = cube
    array = trilith.open(path)["f4"]
    out = np.empty(array.shape, array.dtype)
    assert array.read(out=out) is out
    np.testing.assert_array_equal(out, arrays["f4"])
    wide = np.empty((6, 7, 16))[:, :, ::2]
    np.testing.assert_array_equal(array.read(wide), arrays["f4"].astype("f8"))
    with pytest.raises(ValueError, match="shape"):
        array.read(np.empty(3))
    for wrong in (np.empty(array.shape, "i1"), [1, 2]):
        with pytest.raises(TypeError):
            array.read(wrong)
    frozen = np.empty(array.shape, array.dtype)
    frozen.flags.writeable = False
    with pytest.raises(ValueError):
        array.read(frozen)


def test_big_endian_comes_in_the_order_of_this_machine():
    data = trilith.dumps({"a": np.arange(4, dtype=">i4")})
    array = trilith.open(data)["a"]
    assert array.byteorder == "big" and array.dtype == np.dtype("i4")
    assert np.asarray(array).tolist() == [0, 1, 2, 3]


def test_masks():
    def inline(mask):
        return tree_of(f"a: !core/ndarray-1.1.0 {{data: [1.0, -999.0, .nan], datatype: float64, mask: {mask}}}\n")["a"]

    assert inline("-999")[...].mask.tolist() == [False, True, False]
    assert inline(".nan")[...].mask.tolist() == [False, False, True]
    assert inline("-999").mask == -999 and math.isnan(inline(".nan").mask)
    given = np.ma.array(np.arange(6).reshape(2, 3), mask=[[0, 1, 0], [0, 0, 1]])
    array = trilith.open(trilith.dumps({"a": given}))["a"]
    assert array.mask[...].tolist() == given.mask.tolist()
    assert array[1].mask.tolist() == [False, False, True] and array[0, 1] is np.ma.masked
    assert array.masked().filled(-1).tolist() == given.filled(-1).tolist()
    assert type(np.asarray(array)) is np.ndarray and array.read().tolist() == given.data.tolist()
    plain = trilith.open(trilith.dumps({"a": np.arange(3)}))["a"]
    assert type(plain[...]) is np.ndarray and plain.masked().mask is np.ma.nomask


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(IsADirectoryError):
        trilith.open(tmp_path)
    with pytest.raises(IsADirectoryError):
        trilith.write(tmp_path, {})


def test_errors_are_those_that_python_expects(tmp_path):
    with pytest.raises(FileNotFoundError):
        trilith.open(tmp_path / "nothing.asdf")
    with pytest.raises(NotImplementedError):
        trilith.open(b"not a file of this kind")
    with pytest.raises(trilith.FormatError):
        trilith.open(b"#ASDF 1.0.0\n%YAML 1.1\n---\na: [1\n...\n")
    assert issubclass(trilith.FormatError, ValueError) and issubclass(trilith.LimitError, ValueError)
    missing = tree_of("a: !core/ndarray-1.1.0 {source: 3, datatype: int8, shape: [2]}\n")
    with pytest.raises(trilith.FormatError):
        missing["a"]


@pytest.mark.parametrize(
    ("keys", "key"),
    [
        ("datatpye: float64, byteorder: little, shape: [2]", "datatype"), ("datatype: int16, shape: [2]", "byteorder"),
        ("datatype: int16, byteorder: null, shape: [2]", "byteorder"), ("datatype: int16, byteorder: big", "shape"),
        ("datatype: int16, byteorder: big, shape: [2], data: [1, 2]", "data"),
    ],
)  # fmt: skip
def test_incomplete_descriptions_of_arrays_are_refused(keys, key):
    """The schema of ndarray, dependencies: source needs shape, datatype and byteorder. First tier."""
    file = tree_of(f"a: !core/ndarray-1.1.0 {{source: 0, {keys}}}\n")
    with pytest.raises(trilith.FormatError, match=key):
        file["a"]


def test_limits_come_from_the_environment(monkeypatch):
    data = trilith.dumps({"a": np.zeros(10_000)}, codec="zlib")
    monkeypatch.setenv("TRILITH_LIMITS", "memory=8k")
    with pytest.raises(trilith.LimitError, match="memory=8192"):
        trilith.open(data)["a"].read()
    monkeypatch.setenv("TRILITH_LIMITS", "nonsense=1")
    with pytest.raises(ValueError, match="nonsense"):
        trilith.open(data)


def test_a_closed_file(cube):
    f = trilith.open(cube[0])
    node = f.tree
    f.close()
    f.close()
    for use in (lambda: f["f4"], lambda: list(f), lambda: f.info(), lambda: "a" in f):
        with pytest.raises(ValueError, match="closed"):
            use()
    assert "closed" in repr(f) and "closed" in f._repr_html_()
    assert node["i2"].shape == (5, 9), "what was taken out of it stays"


def test_representations_touch_no_data_and_escape():
    f = tree_of(
        "<b>&x: '\"<script>'\na: !core/ndarray-1.1.0 {source: 9, datatype: float32, byteorder: big, shape: [4, 5]}\n"
        "r: {$ref: 'nowhere.asdf#/x'}\nm: {k: \"a\\e[31m\"}\n"
    )
    text, html = str(f), f._repr_html_()
    assert "a: float32 (4, 5), 80 B" in text and "r: -> nowhere.asdf#/x" in text and "\x1b" not in text + html
    assert "<script>" not in html and "&lt;script&gt;" in html and "&lt;b&gt;&amp;x" in html
    assert html.count("<ul>") == html.count("</ul>") and html.count("<li>") == html.count("</li>")
    assert "asdf-1.x" in text and "1.6.0" in text
    long = tree_of("".join(f"k{i}: {{a: {{b: [{i}]}}}}\n" for i in range(999)))
    assert len(str(long).splitlines()) < 60 and "…" in str(long)
    assert repr(long["k0"]) == "<trilith.Mapping of 1: a>" and "…" in repr(long.tree) and len(repr(long.tree)) < 120
    assert len(repr(f).splitlines()) == 1 and "asdf-1.x" in repr(f)
    numbers = tree_of("s: [1, 2]\n")["s"]
    assert repr(numbers) == "<trilith.Sequence of 2>" and str(numbers) == "<trilith.Sequence of 2>\n  0: 1\n  1: 2"
    array = trilith.open(trilith.dumps({"a": np.zeros((2, 3))}))["a"]
    assert repr(array) == "<trilith.Array float64 (2, 3), 48 B>" and "float64" in array._repr_html_()


def test_info_digest_and_verify(tmp_path):
    path = tmp_path / "a.asdf"
    image = np.arange(2000, dtype="i4")
    trilith.write(path, {"a": image, "m": np.ma.array([1, 2], mask=[0, 1])}, codec="zlib")
    f = trilith.open(path)
    info = f.info()
    assert info["standard"] == f.asdf.standard == "1.6.0" and info["format"] == f.format == "asdf-1.x"
    assert info["size"] == path.stat().st_size and [b["codec"] for b in info["blocks"]] == ["zlib"] * 3
    assert info["blocks"][0]["decoded"] == 8000
    sums = f.digest()
    assert list(sums) == ["/a", "/m", "/m/mask"]
    trilith.write(tmp_path / "b.asdf", {"a": image.astype(">i4")})
    assert trilith.open(tmp_path / "b.asdf").digest()["/a"] == sums["/a"]
    assert f.verify() == [] and f.verify(deep=True) == []
    plain = trilith.dumps({"a": image})
    data = bytearray(plain)
    data[trilith.open(plain).info()["blocks"][0]["data_offset"] + 8] ^= 1
    assert "checksum" in trilith.open(bytes(data)).verify()[0]
    assert "no end" in trilith.open(HEAD.encode() + b"a: 1\n").verify()[0]


def test_many_readers_of_one_file(cube):
    """Threads that read, slice and follow paths in one open file get what one alone gets."""
    path, arrays = cube
    rng = np.random.default_rng(3)
    arrays = arrays | {"large": rng.integers(0, 9, (64, 64, 64)).astype("u2")}
    for codec, as_object in ((None, False), ("lz4", False), ("zlib", False), ("lz4", True)):
        trilith.write(path, arrays, codec=codec)
        f = trilith.open(io.BytesIO(path.read_bytes()) if as_object else path)
        failures = []

        def read(seed):
            rng = np.random.default_rng(seed)
            try:
                for _ in range(30):
                    name = rng.choice(list(arrays))
                    expected, array = arrays[name], f[name]
                    assert array[...].tobytes() == expected.tobytes()
                    if expected.ndim == 3:
                        at = int(rng.integers(0, expected.shape[0]))
                        np.testing.assert_array_equal(array[at, ::3], expected[at, ::3])
                    np.asarray(array)
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=read, args=(seed,)) for seed in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failures


def test_the_interpreter_is_free_while_a_block_is_decoded():
    """Another thread gets to run in Python while one large block is decoded."""
    data = trilith.dumps({"a": np.zeros(30_000_000, "u1")}, codec="bzp2")
    array = trilith.open(data)["a"]
    done, turns = threading.Event(), []

    def count():
        while not done.is_set():
            turns.append(1)
            done.wait(0.0005)

    thread = threading.Thread(target=count)
    thread.start()
    before = len(turns)
    array.read()
    during = len(turns) - before
    done.set()
    thread.join()
    assert during > 3


def test_files_of_every_generation(corpus):
    """Everything in the sample folders that opens, opens here too, and its digests can be made."""
    opened = 0
    for path in sorted(corpus.rglob("*")):
        if path.suffix not in (".asdf", ".finf", ".fits") or not path.is_file() or path.stat().st_size > 4 << 20:
            continue
        try:
            with trilith.open(path) as f:
                repr(f), f._repr_html_(), f.info()
                opened += 1
        except (ValueError, NotImplementedError, OSError):
            continue
    assert opened > 50


def test_python_asdf_reads_the_same(corpus):
    """Trees and arrays of the files that asdf 6.0.0 wrote."""

    seen = set()

    def same(ours, theirs):
        if isinstance(theirs, (dict, list)):
            if id(theirs) in seen:
                return
            seen.add(id(theirs))
        if isinstance(ours, trilith.Array):
            mine, other = ours[...], np.asanyarray(theirs[...] if hasattr(theirs, "shape") else theirs)
            assert mine.shape == other.shape
            if isinstance(mine, np.ma.MaskedArray):
                np.testing.assert_array_equal(np.ma.getmaskarray(mine), np.ma.getmaskarray(other))
                mine, other = mine.filled(), np.ma.array(other).filled(mine.fill_value)
            np.testing.assert_array_equal(mine, other.astype(mine.dtype))
        elif isinstance(ours, collections.abc.Mapping):
            theirs = theirs if isinstance(theirs, collections.abc.Mapping) else vars(theirs)
            for key in ours:
                if key in theirs and key not in ("asdf_library", "history"):
                    same(ours[key], theirs[key])
        elif isinstance(ours, trilith.Sequence):
            assert len(ours) == len(theirs)
            for mine, other in zip(ours, theirs):
                same(mine, other)
        elif isinstance(ours, float) and math.isnan(ours):
            assert math.isnan(theirs)
        else:
            assert ours == theirs or str(ours) == str(theirs)

    compared = 0
    for path in sorted((corpus / "asdf-6.0.0-std-1.6.0").rglob("*.asdf")):
        try:
            with asdf.config_context() as config:
                # Trees as they are written, not objects of astropy.
                for package in {extension.package_name for extension in config.extensions} - {"asdf", None}:
                    config.remove_extension(package=package)
                theirs = asdf.open(path)
        except Exception:
            continue
        with theirs, trilith.open(path) as ours:
            try:
                plain = {key: theirs.tree[key] for key in theirs.tree}
            except Exception:
                continue
            same(ours.tree, plain)
            compared += 1
    assert compared > 5


def test_text_without_letters_is_empty():
    text = (
        "#ASDF 1.0.0\n#ASDF_STANDARD 1.6.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n--- !core/asdf-1.1.0\n"
        "a: !core/ndarray-1.1.0 {source: 0, datatype: [ascii, 0], byteorder: little, shape: [3]}\n...\n"
    )
    block = b"\xd3BLK\x00\x30" + bytes(48)
    for _ in range(20):
        assert trilith.open(text.encode() + block)["a"][...].tolist() == [b""] * 3


def test_errors_name_file_once(tmp_path):
    """Errors of the operating system have the attributes of those of Python's `open`. First tier."""
    trilith.write(tmp_path / "b.asdf", {"a": 1})
    works = (
        trilith.open,
        lambda path: trilith.write(path, {"a": 1}),
        lambda path: trilith.convert(path, tmp_path / "c.asdf"),
        lambda path: trilith.convert(tmp_path / "b.asdf", path),
    )
    for work in works:
        missing = tmp_path / "none" / "a.asdf"
        with pytest.raises(FileNotFoundError) as caught:
            work(missing)
        with pytest.raises(FileNotFoundError) as expected:
            open(missing)
        assert (caught.value.errno, caught.value.filename) == (expected.value.errno, str(missing))
        assert str(caught.value).count("a.asdf") == 1 and f"the folder {missing.parent} does not exist" in str(caught.value)
    with pytest.raises(IsADirectoryError) as caught:
        trilith.open(tmp_path)
    assert caught.value.filename == str(tmp_path)
    damaged = tmp_path / "damaged.bd"
    damaged.write_bytes(bytes.fromhex("8d3c42440d0a1a0a4000000000000000"))
    with pytest.raises(trilith.FormatError, match=r"damaged\.bd: E405: .*truncated"):
        trilith.open(damaged)


def test_open_has_seven_parameters(tmp_path):
    names = list(inspect.signature(trilith.open).parameters)
    assert names == ["source", "memmap", "layout", "byteorder", "allow", "storage_options", "physical"]
    with pytest.raises(TypeError, match="unexpected keyword argument 'mode'"):
        trilith.open(trilith.dumps({"a": 1}), mode="r")


def test_options_of_servers_are_storage_options(tmp_path):
    trilith.write(tmp_path / "x.asdf", {"a": [1, 2]})
    options = {"timeout": 5, "in_flight": 2, "anon": True}
    trilith.open(tmp_path / "x.asdf", storage_options=options)
    trilith.convert(tmp_path / "x.asdf", tmp_path / "y.asdf", storage_options=options)
    assert trilith.table(tmp_path / "x.asdf", {"a": "/a/0"}, storage_options=options)["a"] == [1]
    with pytest.raises(ValueError, match="storage option \"nothing\""):
        trilith.open(tmp_path / "x.asdf", storage_options={"nothing": 1})
    for function, arguments in [
        (trilith.open, (tmp_path / "x.asdf",)),
        (trilith.convert, (tmp_path / "x.asdf", tmp_path / "z.asdf")),
        (trilith.table, (tmp_path / "x.asdf", {"a": "/a/0"})),
        (trilith.covering, (tmp_path / "x.asdf", 0.0, 0.0)),
    ]:
        with pytest.warns(DeprecationWarning, match=f"argument remote of trilith.{function.__name__} .*storage_options"):
            function(*arguments, remote={"timeout": 5})
        with pytest.raises(TypeError, match="unexpected keyword argument 'remotes'"):
            function(*arguments, remotes={})


def test_members_of_earlier_versions_warn():
    f = trilith.open(trilith.dumps({"a": np.arange(100.0)}))
    for name, now in [("text", f.asdf.text), ("standard", f.asdf.standard), ("history", f.asdf.history), ("attributes", f.attrs)]:
        with pytest.warns(DeprecationWarning, match=f"File.{name} is File"):
            assert getattr(f, name) == now
        assert name not in dir(f)
    with pytest.warns(DeprecationWarning, match="File.generation is File.format"):
        assert f.generation == f.format == "asdf-1.x"
    with pytest.warns(DeprecationWarning, match="File.block is File.asdf.block"):
        assert f.block(0).nbytes == f.asdf.block(0).nbytes
    with pytest.raises(AttributeError, match="nothing"):
        f.nothing
