"""`trilith.open` with addresses, and with what fsspec and obstore open."""

import pathlib

import numpy as np
import pytest

trilith = pytest.importorskip("trilith")
fsspec = pytest.importorskip("fsspec")


def same(file, small):
    for name, part in small["parts"].items():
        assert (np.asarray(file[name]) == np.frombuffer(part, "<i2")).all()
        assert (np.asarray(file[name][1000:1100:7]) == np.frombuffer(part, "<i2")[1000:1100:7]).all()


def test_an_address(web, small):
    with trilith.open(web.url("small.asdf")) as file:
        same(file, small)
        assert file.name == web.url("small.asdf")
    with pytest.raises(OSError, match="404"):
        trilith.open(web.url("none.asdf"))


def test_options_and_allowed_prefixes(web, folder, small):
    (folder / "py").mkdir(exist_ok=True)
    main = folder / "py/main.asdf"
    main.write_text("#ASDF 1.0.0\n#ASDF_STANDARD 1.6.0\n%YAML 1.1\n--- \nr: {$ref: '../small.asdf#/title'}\n...\n")
    url = web.url("py/main.asdf")
    with pytest.raises(ValueError):
        trilith.open(url, remote={"nothing": 1})
    file = trilith.open(url, allow=[web.url("")], remote={"timeout": 5, "in_flight": 2})
    assert str(file["r"]) and "small" in str(file.to_dict()) or file["r"] == "small"


def test_fsspec_handles_are_read_by_ranges(web, image):
    url = web.url("image.asdf")
    for handle in (fsspec.open(url), fsspec.filesystem("http").open(url)):
        with web.counted() as requests:
            file = trilith.open(handle)
            part = np.asarray(file["data"][100:110, 5:50])
        assert (part == image["data"][100:110, 5:50]).all()
        assert sum(sent for _, sent, _, _ in requests) < 1 << 20, requests


def test_fsspec_of_other_places(small, scratch):
    memory = fsspec.filesystem("memory")
    memory.pipe("/small.asdf", pathlib.Path(small["path"]).read_bytes())
    same(trilith.open(memory.open("/small.asdf")), small)
    same(trilith.open(fsspec.open(str(small["path"]))), small)


def test_obstore_handles(web, small):
    obstore = pytest.importorskip("obstore")
    from obstore.store import HTTPStore

    store = HTTPStore.from_url(web.url(""), client_options={"allow_http": True})
    same(trilith.open(obstore.open_reader(store, "small.asdf")), small)
