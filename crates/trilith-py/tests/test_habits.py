"""Methods of dictionaries, h5py, zarr and asdf."""

import copy
import gc
import io
import json
import os
import types
import weakref

import numpy as np
import pytest

import trilith

TREE = {
    "roman": {
        "meta": {"exposure": {"time": 139.8, "start": "2028-01-01"}, "filter": "F106", "a/b": 1},
        "data": np.arange(20, dtype="f4").reshape(4, 5),
        "list": [1, {"time": 2}, [3]],
    },
    "text": "x",
}


@pytest.fixture
def path(tmp_path):
    trilith.write(tmp_path / "h.asdf", TREE)
    return tmp_path / "h.asdf"


def typed(monkeypatch, text):
    shell = types.SimpleNamespace(Completer=types.SimpleNamespace(text_until_cursor=text))
    monkeypatch.setitem(__import__("sys").modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))


def test_completion_of_keys_and_paths(path, monkeypatch):
    f = trilith.open(path)
    monkeypatch.delitem(__import__("sys").modules, "IPython", raising=False)
    assert f._ipython_key_completions_() == list(f) and f["roman"]._ipython_key_completions_() == ["meta", "data", "list"]
    for before, found in {
        'f["': list(f),
        'f["ro': list(f),
        'x = f["roman/': ["roman/meta", "roman/data", "roman/list"],
        "f['roman/meta/ex": ["roman/meta/exposure", "roman/meta/filter", "roman/meta/a/b"],
        'f["roman/list/': ["roman/list/0", "roman/list/1", "roman/list/2"],
        'f["nothing/': list(f),
    }.items():
        typed(monkeypatch, before)
        assert f._ipython_key_completions_() == found, before


def test_completion_in_ipython(path):
    core = pytest.importorskip("IPython.core.completer")
    inputs = types.SimpleNamespace()
    assert inputs is not None
    completer = core.IPCompleter(namespace={"f": trilith.open(path)})
    completer.use_jedi = False
    _, found = completer.complete(line_buffer='f["te', cursor_pos=5)
    assert any("text" in one for one in found)


def test_search(path):
    f = trilith.open(path)
    assert f.search("time") == {"/roman/meta/exposure/time": 139.8, "/roman/list/1/time": 2}
    assert f.search("time", path="**/meta/**") == {"/roman/meta/exposure/time": 139.8}
    assert f.search(value=139.8) == f.search(value=">100") == {"/roman/meta/exposure/time": 139.8}
    assert list(f.search(shape=(4, None))) == list(f.search(shape="4,*")) == ["/roman/data"]
    assert list(f.search(datatype="float32", key=["^d", "a$"])) == ["/roman/data"]
    assert f.search(tag="**ndarray-*").keys() == {"/roman/data"} and f.search("nothing") == {}
    assert f["roman/meta"].search("time") == {"/exposure/time": 139.8}
    assert f.search("a/b") == {"/roman/meta/a~1b": 1}
    for wrong in ({}, {"key": "("}, {"shape": "x"}):
        with pytest.raises(ValueError):
            f.search(**wrong)


def test_visititems(path):
    f = trilith.open(path)
    seen = {}
    assert f["roman"].visititems(seen.__setitem__) is None
    assert list(seen)[:3] == ["meta", "meta/exposure", "meta/exposure/time"] and seen["list/2/0"] == 3
    assert isinstance(seen["data"], trilith.Array) and seen["meta/a~1b"] == 1
    assert f.visititems(lambda place, value: place if value == "F106" else None) == "roman/meta/filter"


def test_an_alias_is_visited_and_not_entered():
    f = trilith.open(b"#ASDF 1.0.0\n%YAML 1.1\n--- {a: &a {b: 1}, c: *a, d: &d [*d]}\n...\n")
    seen = []
    f.visititems(lambda place, value: seen.append(place))
    assert seen == ["a", "a/b", "c", "d", "d/0"]


def test_history_rename_and_write_to(path, tmp_path, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    before = path.read_bytes()
    with trilith.open(path) as f:
        assert f.asdf.history == [] and f.mode == "rw"
        f.asdf.add_history_entry("flat-fielded")
        f.asdf.add_history_entry("flagged")
        f.rename("/roman/meta/filter", "band")
        f["n"] = 1
        f.write_to(tmp_path / "copy.asdf")
        out = io.BytesIO()
        f.write_to(out)
        assert path.read_bytes() == before, "the file itself stays"
        for other in (tmp_path / "copy.asdf", out.getvalue()):
            copied = trilith.open(other)
            assert [entry["description"] for entry in copied.asdf.history] == ["flat-fielded", "flagged"]
            assert str(copied.asdf.history[0]["time"]) == "1970-01-01 00:00:00" and copied["n"] == 1
            assert list(copied["roman/meta"]) == ["exposure", "band", "a/b"] and copied.verify(deep=True) == []
        f.update()
        assert f["roman/meta/band"] == "F106" and len(f.asdf.history) == 2
        with pytest.raises(KeyError):
            f.rename("/roman/meta/nothing", "x")
        (tmp_path / "link.asdf").symlink_to(path)
        for own in (path, tmp_path / "link.asdf"):
            with pytest.raises(ValueError, match="the file itself"):
                f.write_to(own)
    assert trilith.open(before).mode == "r"
    with pytest.raises(OSError):
        trilith.open(path).write_to(tmp_path / "no" / "where.asdf")


def test_a_copy_of_what_was_opened_from_bytes(path, tmp_path):
    f = trilith.open(path.read_bytes())
    f.write_to(tmp_path / "copy.asdf")
    assert (trilith.open(tmp_path / "copy.asdf")["roman/data"] == TREE["roman"]["data"]).all()


def test_weak_references(path):
    f = trilith.open(path)
    for thing in (f, f["roman"], f["roman/list"], f["roman/data"]):
        assert weakref.ref(thing)() is thing
    gone = weakref.ref(f["roman"])
    gc.collect()
    assert gone() is None
    assert copy.copy(f["roman"]) == f["roman"]


def test_json(path):
    f = trilith.open(path)
    meta = {"exposure": {"time": 139.8, "start": "2028-01-01"}, "filter": "F106", "a/b": 1}
    assert json.loads(f["roman/meta"].to_json()) == meta
    found = json.loads(f.to_json())
    assert found["roman"]["data"] == {"datatype": "float32", "shape": [4, 5]} and found["text"] == "x"
    assert json.loads(f["roman"].to_json(inline=True))["data"] == TREE["roman"]["data"].tolist()
    assert f["roman/list"].to_json() == '[1, {"time": 2}, [3]]'
    odd = trilith.open(
        trilith.dumps(
            {"nan": float("nan"), "inf": [-np.inf], "z": 1 + 2j, "b": b"xy", "m": np.ma.masked_equal([1, 2], 1), 5: True, "big": 2**80}
        )
    )
    found = json.loads(odd.tree.to_json(inline=True))
    assert found["nan"] == "NaN" and found["inf"] == ["-Infinity"] and found["b"] == "eHk=" and found["m"] == [None, 2]
    assert found["z"] == "1+2j" and found["5"] is True and found["big"] == 2**80


@pytest.mark.parametrize(
    ("codec", "chunks"), [(None, None), ("zlib", (3000, 1000)), ("lz4", (65, 1000)), ("zstd", (262, 1000)), ("bzp2", (3000, 1000))]
)
def test_what_an_array_is_stored_as(codec, chunks):
    data = np.arange(3000 * 1000, dtype="f4").reshape(3000, 1000)
    a = trilith.open(trilith.dumps({"x": {"y": data}}, codec=codec))["x/y"]
    assert a.codec == (codec or "plain") and a.path == "/x/y" and a.itemsize == 4 and a.unit is None
    if codec in (None, "zlib", "lz4"):
        assert a.chunks == chunks
    assert a.chunks is None or len(a.chunks) == 2
    small = trilith.open(trilith.dumps({"x": np.arange(3)}, inline=True))["x"]
    assert small.codec == "inline"
    assert small.part(slice(1)).path == "/x"


def test_the_unit_beside_an_array():
    a = np.arange(3.0)
    f = trilith.open(trilith.dumps({"q": {"value": a, "unit": "m"}, "c": {"data": a, "unit": "Jy"}, "no": {"other": a, "unit": "s"}}))
    assert (f["q/value"].unit, f["c/data"].unit, f["no/other"].unit) == ("m", "Jy", None)


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("codec", [None, "lz4"])
def test_oindex_and_vindex(codec, masked):
    data = np.arange(120).reshape(4, 5, 6)
    data = np.ma.masked_equal(data, 7) if masked else data
    a = trilith.open(trilith.dumps({"a": data}, codec=codec))["a"]
    crossing = [
        (([3, 1], slice(None), [0, 5]), np.ix_([3, 1], range(5), [0, 5])),
        (([0, 0, -1],), np.ix_([0, 0, -1], range(5), range(6))),
        ((..., [True] * 3 + [False] * 3), np.ix_(range(4), range(5), range(3))),
        ((slice(None, None, -2), [1]), np.ix_([3, 1], [1], range(6))),
        (([], 2), (np.zeros((0, 1), int), 2, slice(None))),
    ]
    for index, plain in crossing:
        found, expected = a.oindex[index], data[plain].squeeze(1) if index == ([], 2) else data[plain]
        assert found.shape == expected.shape and np.ma.allequal(found, expected), index
    assert np.ma.allequal(a.oindex[2, [1, 4]], data[2][[1, 4]])
    for index in (([3, 1], [0, 4], 2), (2, [1], [0]), ([[0, 1], [2, 3]], [[0], [1]], 0)):
        assert np.ma.allequal(a.vindex[index], data[index]), index
    for wrong in ([9], (0, 0, 0, 0), ([[1]],), None, ([True],)):
        with pytest.raises(IndexError):
            a.oindex[wrong]
    with pytest.raises(IndexError, match="slices"):
        a.vindex[0, :, [1]]


def test_modes_and_paths_of_streams(tmp_path):
    trilith.write(tmp_path / "s.bd", {"te": np.arange(3.0)})
    with trilith.open(tmp_path / "s.bd") as s:
        assert s._ipython_key_completions_() == ["te"] and s["te"].path == "/te" and s["te"].codec is None
        assert json.loads(s.to_json(inline=True)) == {"te": [0, 1, 2]}
        assert os.path.samefile(s.path, tmp_path / "s.bd")
