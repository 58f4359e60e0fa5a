"""The attribute `filename` of the exceptions about a file, as Python's `open` sets it. First tier."""

import os

import numpy
import pytest

import trilith


@pytest.fixture
def folder(tmp_path):
    """A folder with a file of each fault: missing, foreign, truncated, over a limit, unsupported."""
    trilith.write(tmp_path / "good.asdf", {"a": numpy.arange(1000.0), "t": {"x": [1, 2], "y": [3, 4]}, "n": 1})
    content = (tmp_path / "good.asdf").read_bytes()
    (tmp_path / "short.asdf").write_bytes(content[: len(content) // 2])
    (tmp_path / "foreign.txt").write_bytes(b"text")
    (tmp_path / "damaged.bd").write_bytes(bytes.fromhex("8d3c42440d0a1a0a4000000000000000"))
    (tmp_path / "wrong.dud").write_text("x = f9[3]")
    (tmp_path / "a folder").mkdir()
    return tmp_path


OPENERS = {
    "open": trilith.open,
    "open_set": trilith.open_set,
    "convert": lambda path: trilith.convert(path, path.parent / "out.bd"),
    "table": lambda path: trilith.table([path], {"a": "/n"}, errors="raise"),
    "concat": lambda path: trilith.concat([path], "/a"),
    "wcs": lambda path: trilith.wcs(path, "/a"),
    "cutout": lambda path: trilith.cutout(path, "/a", sky=(1.0, 2.0), size=3),
    "covering": lambda path: trilith.covering([path], 1.0, 2.0, errors="raise"),
    "resume": trilith.resume,
    "Layout.read": trilith.Layout.read,
    "Layout.catalog": lambda path: trilith.Layout("<\n{ n : i8 }\nx = f8[n]\n").catalog([path], path.parent / "c.bd"),
}


@pytest.mark.parametrize("name", OPENERS)
@pytest.mark.parametrize("file", ["none.asdf", "foreign.txt", "damaged.bd", "a folder"])
def test_functions_that_open_name_file(folder, name, file):
    path = folder / file
    if name in ("table", "covering", "Layout.catalog") and file == "a folder":
        pytest.skip("a folder without files is an empty table")
    with pytest.raises((OSError, ValueError, NotImplementedError, KeyError)) as caught:
        OPENERS[name](path)
    assert os.fspath(caught.value.filename) == str(path), repr(caught.value)
    assert (caught.value.errno is not None) if isinstance(caught.value, OSError) else True
    assert str(caught.value).count(str(path)) <= 1


WRITERS = {
    "write": lambda path: trilith.write(path, {"a": 1}),
    "convert": lambda path: trilith.convert(path.parents[1] / "good.asdf", path),
    "create": lambda path: trilith.create(path, {"data": trilith.Reserved((2, 3), "f4")}),
    "save": lambda path: trilith.show(numpy.eye(3)).save(path),
    "layout": lambda path: trilith.Layout("x = <f8[3]").write(path, x=numpy.zeros(3)),
    "write_to": lambda path: trilith.open(path.parents[1] / "good.asdf").write_to(path),
}


@pytest.mark.parametrize("name", WRITERS)
def test_functions_that_write_name_file(folder, name):
    path = folder / "none" / ("x.png" if name == "save" else "x.bd" if name == "layout" else "x.asdf")
    with pytest.raises(FileNotFoundError) as caught:
        WRITERS[name](path)
    assert os.fspath(caught.value.filename) == str(path) and caught.value.errno
    wrong = folder / "good.asdf" / "x.asdf" if name != "save" else folder / "x.jpg"
    with pytest.raises((OSError, ValueError)) as caught:
        WRITERS[name](wrong)
    assert os.fspath(caught.value.filename) == str(wrong)


def test_errors_of_open_file_name_it(folder, monkeypatch):
    path = folder / "good.asdf"
    opened = trilith.open(path)
    errors = {
        KeyError: [lambda: opened["none"], lambda: opened["t"]["none"], lambda: opened["a@none"]],
        IndexError: [lambda: opened["a"][9999], lambda: opened["a"].part(9999)],
    }
    for kind, works in errors.items():
        for work in works:
            with pytest.raises(kind) as caught:
                work()
            assert caught.value.filename == str(path)
    with pytest.raises((KeyError, ValueError)) as caught:
        opened["none/below"] = 1
    assert caught.value.filename == str(path)
    short = trilith.open(folder / "short.asdf")
    for work in (lambda: short["a"][...], short.digest):
        with pytest.raises(trilith.FormatError) as caught:
            work()
        assert caught.value.filename == str(folder / "short.asdf")
    monkeypatch.setenv("TRILITH_LIMITS", "memory=10")
    with pytest.raises(trilith.LimitError) as caught:
        trilith.open(path)["a"][...]
    assert caught.value.filename == str(path)


def test_errors_without_file_have_no_filename():
    with pytest.raises(KeyError) as caught:
        trilith.open(trilith.dumps({"a": 1}))["b"]
    assert getattr(caught.value, "filename", None) is None
    with pytest.raises(trilith.FormatError) as caught:
        trilith.Layout("x = f9[3]")
    assert getattr(caught.value, "filename", None) is None
