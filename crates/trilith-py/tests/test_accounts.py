"""Every byte is accounted for: short writes, views under updates, tags, keys of two types, damaged blocks."""

import contextlib
import io
import os
import pathlib
import sys

import asdf
import numpy as np
import pytest

import trilith
import trilith.asdf


class Short(io.RawIOBase):
    """A file object that takes a limited number of bytes at once."""

    def __init__(self, most, answer=None):
        self.most, self.answer, self.taken = most, answer, bytearray()

    def writable(self):
        return True

    def write(self, data):
        if self.answer is not None:
            return None if self.answer == "none" else 0
        part = bytes(data[: self.most])
        self.taken += part
        return len(part)


WRITERS = {
    "write": lambda out, path: trilith.write(out, {"a": np.arange(5000), "t": "text"}),
    "write zlib": lambda out, path: trilith.write(out, {"a": np.arange(5000)}, codec="zlib"),
    "write bd": lambda out, path: trilith.write(out, {"a": np.arange(5000)}, version="dudley-2025"),
    "write_to": lambda out, path: trilith.open(path).write_to(out),
    "bridge": lambda out, path: bridge().write_to(out),
    "bridge zlib": lambda out, path: bridge().write_to(out, all_array_compression="zlib"),
    "bridge inline": lambda out, path: bridge().write_to(out, all_array_storage="inline"),
}


def bridge():
    """A file of the asdf package that Trilith writes, always with the same history."""
    return trilith.asdf.AsdfFile({"a": np.arange(5000), "t": "text"})


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("most", [1, 7, 4096, 1 << 30])
def test_a_file_object_that_takes_a_part_gets_everything(tmp_path, name, most):
    path = tmp_path / "x.asdf"
    trilith.write(path, {"a": np.arange(50), "t": "text"})
    whole, short = io.BytesIO(), Short(most)
    if most == 1:
        most = 3
    WRITERS[name](whole, path)
    WRITERS[name](short, path)
    assert bytes(short.taken) == whole.getvalue()


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize(("answer", "error"), [("none", BlockingIOError), ("zero", OSError)])
def test_a_file_object_that_takes_nothing_is_an_error(tmp_path, name, answer, error):
    path = tmp_path / "x.asdf"
    trilith.write(path, {"a": np.arange(50)})
    with pytest.raises(error):
        WRITERS[name](Short(10, answer), path)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems have no such names")
def test_a_name_that_is_not_utf_8_is_read_and_written(tmp_path):
    path = os.path.join(tmp_path, os.fsdecode(b"bad\xff.asdf"))
    trilith.write(path, {"a": np.arange(3)})
    with trilith.open(path) as f:
        assert f["a"][...].tolist() == [0, 1, 2]
        f["b"] = 1
        f.update()
    with asdf.open(path) as af:
        assert af["b"] == 1
    assert os.listdir(os.fsencode(tmp_path)) == [b"bad\xff.asdf"]


def test_a_pipe_that_does_not_block_is_an_error():
    read, write = os.pipe()
    os.set_blocking(write, False)
    with os.fdopen(read, "rb"), open(write, "wb", buffering=0) as out, pytest.raises(OSError):
        trilith.write(out, {"a": np.zeros(1_000_000, "u1")})


@pytest.mark.parametrize("codec", [None, "zlib"])
def test_views_keep_their_values_under_an_update(tmp_path, codec):
    path = tmp_path / "x.asdf"
    before = np.arange(1000.0)
    trilith.write(path, {"a": before, "b": before + 1}, codec=codec)
    f = trilith.open(path)
    views = [np.asarray(f["a"]), np.asarray(f["a"])[10:20], np.asarray(f["b"])]
    for n in range(4):
        f["a"] = -before * (n + 1)
        f.update()
        assert np.array_equal(views[0], before) and np.array_equal(views[1], before[10:20])
        assert np.array_equal(views[2], before + 1)
        assert np.array_equal(np.asarray(f["a"]), -before * (n + 1))
    f.close()
    with asdf.open(path) as again:
        assert np.array_equal(again["a"], -before * 4)


def test_a_copy_keeps_the_tags_of_mappings_and_lists(tmp_path):
    text = (
        b"#ASDF 1.0.0\n#ASDF_STANDARD 1.6.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n--- !core/asdf-1.1.0\n"
        b"q: !unit/quantity-1.2.0 {value: 2.0, unit: !unit/unit-1.0.0 m}\n"
        b"l: !<tag:example.org:list-1.0.0> [1, {deep: !<tag:example.org:map-1.0.0> {a: 1}}]\n...\n"
    )
    f = trilith.open(text)
    copy = f.to_dict()
    assert type(copy["q"]) is trilith.TaggedDict and isinstance(copy["q"], dict)
    assert type(copy["l"]) is trilith.TaggedList and copy["l"] == [1, {"deep": {"a": 1}}]
    copy["q"]["value"] = 3.0
    copy["l"].append(2)
    path = tmp_path / "x.asdf"
    trilith.write(path, copy)
    again = trilith.open(path)
    assert again["q"].tag == "tag:stsci.edu:asdf/unit/quantity-1.2.0"
    assert again["l"].tag == "tag:example.org:list-1.0.0" and len(again["l"]) == 3
    assert again["l"][1]["deep"].tag == "tag:example.org:map-1.0.0"
    with asdf.open(path, _force_raw_types=True) as raw:
        assert raw["q"]._tag == "tag:stsci.edu:asdf/unit/quantity-1.2.0"
    for version in ["1.0", "1.3", "1.6"]:
        trilith.write(path, copy, version=version)
        with asdf.open(path, _force_raw_types=True) as raw:
            assert raw["l"][0] == 1


def test_keys_of_two_types_are_two_keys(tmp_path):
    with pytest.raises(ValueError, match="two keys"):
        trilith.dumps({"v": {1: "a", "1": "b"}})
    with pytest.raises(ValueError, match="two keys"):
        trilith.dumps({"v": [{True: "a", "true": "b"}]})
    text = b"#ASDF 1.0.0\n%YAML 1.1\n--- {v: {1: one, true: yes, '2': two}}\n...\n"
    f = trilith.open(text)
    written = trilith.open(trilith.dumps({"m": f["v"]}))
    assert [str(key) for key in written["m"]] == ["1", "True", "2"]
    with pytest.raises(ValueError, match="two keys"):
        f.to_dict()
    both = trilith.open(b"#ASDF 1.0.0\n%YAML 1.1\n--- {v: {1: a, '1': b}}\n...\n")
    assert both.to_dict()["v"] == {1: "a", "1": "b"}


@pytest.mark.parametrize("name", ["x.fits", "x.h5", "x.npy", "x.csv", "x.asdf.zip", "x.json"])
def test_a_name_that_promises_another_format_is_refused(tmp_path, name):
    with pytest.raises(ValueError, match="is not a format that Trilith writes|its extension means"):
        trilith.write(tmp_path / name, {"a": 1})
    assert not (tmp_path / name).exists()
    with pytest.raises(ValueError, match="is not a format that Trilith writes|its extension means"):
        trilith.write(tmp_path / "x.asdf", {"a": np.zeros(2)}, version="dudley-2025")


def damaged(path):
    trilith.write(path, {"a": np.arange(5000), "note": "short"})
    content = bytearray(path.read_bytes())
    at = content.index(np.arange(100, 110).tobytes())
    content[at] ^= 4
    path.write_bytes(content)
    return path


def verifies(path):
    with trilith.open(path) as f:
        return not f.verify()


@pytest.mark.filterwarnings("ignore")
def test_nothing_vouches_for_a_damaged_block(tmp_path):
    out = tmp_path / "o.asdf"
    path = damaged(tmp_path / "x.asdf")
    assert not verifies(path)
    f = trilith.open(path)
    long = "a note that does not fit " * 200
    for write in [
        lambda: trilith.write(out, {"a": f["a"]}),
        lambda: trilith.write(out, f),
        lambda: trilith.write(out, f.to_dict(), codec="zlib"),
        lambda: trilith.write(tmp_path / "o.bd", {"a": f["a"]}),
        lambda: trilith.write(io.BytesIO(), {"a": f["a"]}),
    ]:
        with pytest.raises(Exception, match="damaged"):
            write()
    f["note"] = long
    with pytest.warns(UserWarning, match="damaged"):
        f.write_to(out)
    assert not verifies(out)
    with pytest.warns(UserWarning, match="damaged"):
        f.update()
    assert not verifies(path)


LONG = "a note that does not fit " * 200

# How the bridge writes: with `asdf` alone at work wherever Trilith leaves it to that, too.
BRIDGE = {
    "write_to": lambda ff, out: ff.write_to(out),
    "write_to zlib": lambda ff, out: ff.write_to(out, all_array_compression="zlib"),
    "write_to bzp2": lambda ff, out: ff.write_to(out, all_array_compression="bzp2"),
    "write_to padded": lambda ff, out: ff.write_to(out, pad_blocks=True),
    "write_to another version": lambda ff, out: ff.write_to(out, version="1.3.0"),
    "write_to external": lambda ff, out: ff.write_to(out, all_array_storage="external"),
    "write_to inline": lambda ff, out: ff.write_to(out, all_array_storage="inline"),
    "write_to a file object": lambda ff, out: ff.write_to(io.BytesIO()),
    "update": lambda ff, out: ff.update(),
    "update zlib": lambda ff, out: ff.update(all_array_compression="zlib"),
    "a slice": lambda ff, out: asdf.AsdfFile({"s": ff["a"][50:200]}).write_to(out),
    "in another tree": lambda ff, out: asdf.AsdfFile({"s": ff["a"]}).write_to(out),
    "update with a slice": lambda ff, out: (ff.tree.__setitem__("s", ff["a"][::2]), ff.update()),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("codec", [None, "zlib"])
@pytest.mark.parametrize("memmap", [False, True])
@pytest.mark.parametrize("reads", [False, True])
def test_the_bridge_vouches_for_no_damaged_block(tmp_path, codec, memmap, reads):
    compared = 0
    for name, write in BRIDGE.items():
        for touched in [False, True]:
            for is_damaged in [False, True]:
                # A map of `asdf` through which programs write cannot be told from damage, nor a block of another file of `asdf`.
                is_alone = not reads and name in ("a slice", "in another tree")
                is_written_through = not reads and memmap and codec is None and "update" in name
                if is_damaged and (is_alone or is_written_through) or touched and not is_damaged:
                    continue
                path, out = tmp_path / "x.asdf", tmp_path / "o.asdf"
                for old in tmp_path.glob("*.asdf"):
                    old.unlink()
                trilith.write(path, {"a": np.arange(5000), "b": np.arange(10), "note": "short"}, codec=codec)
                if is_damaged:
                    content = bytearray(path.read_bytes())
                    at = content.index(np.arange(100, 110).tobytes()) if codec is None else content.index(b"\xd3BLK") + 54 + 3000
                    content[at] ^= 4
                    path.write_bytes(content)
                    assert name != "write_to" or not verifies(path)
                before = path.read_bytes()
                failed = None
                with (
                    trilith.asdf.everywhere(write=True) if reads else contextlib.nullcontext(),
                    asdf.open(path, mode="rw" if "update" in name else "r", memmap=memmap) as ff,
                    trilith.asdf.everywhere(write=True),
                ):
                    try:
                        if touched:
                            ff["a"][110]
                        ff["note"] = LONG
                        write(ff, out)
                    except Exception as error:
                        failed = error
                written = [file for file in tmp_path.glob("*.asdf") if file != path or file.read_bytes() != before]
                where = name, touched, is_damaged, failed
                if is_damaged:
                    assert not [file for file in written if b"ndarray" in file.read_bytes() and verifies(file)], where
                    assert failed is not None or written, where
                    assert failed is None or "damaged" in str(failed) or codec is not None, where
                else:
                    assert failed is None and all(verifies(file) for file in written), where
                compared += 1
    assert compared >= 20


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("memmap", [False, True])
def test_views_of_a_damaged_block_get_no_new_checksum(tmp_path, memmap):
    f = trilith.open(damaged(tmp_path / "x.asdf"), memmap=memmap)
    out = tmp_path / "o.asdf"
    view = np.asarray(f["a"])
    if not memmap:
        assert view.flags.owndata
        return
    for tree in [{"a": view}, {"a": view[5:500]}, {"a": view.reshape(50, 100).T}, {"a": np.ma.array(view, mask=view > 7)}]:
        with pytest.raises(ValueError, match="damaged"):
            trilith.write(out, tree)
        with trilith.asdf.everywhere(write=True), pytest.raises(ValueError, match="damaged"):
            asdf.AsdfFile(tree).write_to(out)
        assert not out.exists()
    # A copy is the program's own.
    trilith.write(out, {"a": view.copy()})
