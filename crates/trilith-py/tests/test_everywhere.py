"""Python's `asdf` with Trilith below it and no code changed: what is patched, what passes through, what is left to `asdf`."""

import contextlib
import functools
import importlib.util
import io
import itertools
import os
import subprocess
import sys
import threading
import time
import warnings

import asdf
import numpy as np
import pytest
import yaml
from asdf.exceptions import AsdfSerializationError
from asdf.extension import Compressor, Extension, TagDefinition
from asdf.tagged import TaggedDict, TaggedList, TaggedString
from asdf.tags.core.ndarray import NDArrayType
from asdf.yamlutil import AsdfLoader

import trilith
import trilith.asdf
from trilith import _asdf_hooks as hooks

RNG = np.random.default_rng(9)


def bridged(path):
    """Whether a file opened now is read by Trilith."""
    trilith.asdf.report(clear=True)
    with asdf.open(path):
        return trilith.asdf.report()[0].by == "trilith"


@pytest.fixture
def path(tmp_path):
    """A file of four arrays in as many codecs, written by asdf in another order than that of their keys."""
    af = asdf.AsdfFile({"z": RNG.integers(0, 9, 200_000), "d": np.arange(9.0), "b": np.arange(5000), "a": np.ones((64, 64), "f4")})
    af["meta"] = {"observer": "Ada", "seeing": 0.8}
    for name, codec in {"z": "lz4", "b": "bzp2", "a": "zlib"}.items():
        af.set_array_compression(af[name], codec)
    af.write_to(tmp_path / "x.asdf")
    return tmp_path / "x.asdf"


def stored(path):
    """The stored bytes of the blocks, each under where its array is."""
    with trilith.open(path) as f:
        tree, _ = trilith._trilith._AsdfBridge(f).tagged(TaggedDict, TaggedList, TaggedString)
        blocks, found = f.info()["blocks"], {}
        data = path.read_bytes()
        for name in f:
            if isinstance(f[name], trilith.Array):
                block = blocks[tree[name]["source"]]
                found[name] = (block["codec"], data[block["data_offset"] : block["data_offset"] + block["stored"]])
        return found


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_everywhere_is_left_in_any_order(path, order):
    entered = [trilith.asdf.everywhere(write=n == 1) for n in range(3)]
    for one in entered:
        one.__enter__()
    for count, n in enumerate(order):
        assert bridged(path) if count < 3 else True
        entered[n].__exit__(None, None, None)
    assert not trilith.asdf._use.active("read") and not trilith.asdf._use.active("write")
    assert trilith.asdf.report() is not None


def test_everywhere_is_that_of_all_threads_and_open_of_one(path):
    seen = []
    with trilith.asdf.everywhere():
        thread = threading.Thread(target=lambda: seen.append(bridged(path)))
        thread.start()
        thread.join()
    assert seen == [True]
    with trilith.asdf._use.here("read"):
        thread = threading.Thread(target=lambda: seen.append(trilith.asdf._use.active("read")))
        thread.start()
        thread.join()
    assert seen == [True, False]


def test_an_array_is_that_of_asdf(path):
    with asdf.open(path) as plain, trilith.asdf.everywhere(), asdf.open(path) as ours:
        assert type(ours) is asdf.AsdfFile and type(ours["z"]) is NDArrayType
        assert repr(ours["z"]) == repr(plain["z"]) and repr(ours.search("z")) == repr(plain.search("z"))
        assert (ours["z"][10:20] == plain["z"][10:20]).all()
    with trilith.asdf.everywhere(), asdf.open(path, memmap=True) as ours:
        assert type(ours["d"].base) is np.memmap


@pytest.mark.parametrize("touched", [None, "z", "d", "b", "a"])
@pytest.mark.parametrize("way", ["update", "write_to"])
def test_blocks_that_did_not_change_pass_through(path, tmp_path, touched, way):
    before = stored(path)
    with trilith.asdf.everywhere(write=True), asdf.open(path, mode="rw") as af:
        arrays = {name: af[name] for name in before}
        wanted = {name: np.array(array) for name, array in arrays.items() if name != "b"}
        wanted["b"] = np.arange(5000)
        if touched:
            arrays[touched].ravel()[3] = 77
            wanted[touched].ravel()[3] = 77
        af["meta"]["seeing"] = 0.7
        out = path if way == "update" else tmp_path / "out.asdf"
        af.update() if way == "update" else af.write_to(out)
        for name in wanted:
            np.testing.assert_array_equal(arrays[name], wanted[name])
            np.testing.assert_array_equal(af[name][...], wanted[name])
    after = stored(out)
    assert {name for name in before if before[name] != after[name]} == ({touched} if touched else set())
    assert {name: codec for name, (codec, _) in after.items()} == {name: codec for name, (codec, _) in before.items()}
    with asdf.open(out, validate_checksums=True) as af:
        assert af["meta"]["seeing"] == 0.7
        for name in wanted:
            np.testing.assert_array_equal(af[name], wanted[name])
    assert trilith.open(out).verify(deep=True) == []


def test_updates_one_after_the_other(path):
    with trilith.asdf.everywhere(write=True), asdf.open(path, mode="rw") as af:
        kept, gone = af["z"], af["d"]
        assert kept[7] == af["z"][7]
        for n in range(4):
            af["meta"]["seeing"] = float(n)
            af[f"new{n}"] = np.full(1000, n)
            if n == 1:
                del af["d"]
            if n == 2:
                af["a"] = af["a"][:2] * 2
            af.update()
            assert (af[f"new{n}"] == n).all()
        np.testing.assert_array_equal(gone, np.arange(9.0))
        values = np.array(kept)
    with asdf.open(path, validate_checksums=True) as af:
        np.testing.assert_array_equal(af["z"], values)
        assert af["new0"][5] == 0 and af["new3"][5] == 3 and (af["a"] == 2).all() and af["a"].shape == (2, 64)
        assert "d" not in af and af["meta"]["seeing"] == 3 and af.get_array_compression(af["z"]) == "lz4"


def test_a_header_edit_decodes_nothing(path):
    with trilith.asdf.everywhere(write=True), asdf.open(path, mode="rw") as af:
        af["meta"]["seeing"] = 0.25
        af.update()
        assert not any(block._missing == set() for block in af._blocks.blocks), "nothing was read"
        af["meta"]["seeing"] = 0.75
        inode = path.stat().st_ino
        af.update()
        assert path.stat().st_ino == inode, "in place"


class Upside(Compressor):
    """A codec that only `asdf` knows."""

    label = b"upsd"

    def compress(self, data, **kwargs):
        yield bytes(data)[::-1]

    def decompress(self, data, out, **kwargs):
        whole = b"".join(bytes(part) for part in data)[::-1]
        out[: len(whole)] = whole
        return len(whole)


class UpsideExtension(Extension):
    extension_uri = "asdf://example.org/extensions/upside-1.0.0"
    compressors = (Upside(),)


def test_codecs_of_extensions_are_read_and_written_by_asdf(tmp_path):
    path = tmp_path / "u.asdf"
    with asdf.config_context() as config:
        config.add_extension(UpsideExtension())
        asdf.AsdfFile({"a": np.arange(50)}).write_to(path, all_array_compression="upsd")
        with trilith.asdf.everywhere(write=True), asdf.open(path, mode="rw") as af:
            assert af["a"].sum() == 1225
            af["b"] = 1
            af.update()
        with asdf.open(path) as af:
            assert af["a"][49] == 49 and af["b"] == 1 and af.get_array_compression(af["a"]) == "upsd"


def test_what_cannot_be_written_is_said_by_asdf(tmp_path):
    with pytest.raises(AsdfSerializationError, match="not serializable"):
        trilith.asdf.AsdfFile({"o": object()}).write_to(tmp_path / "o.asdf")
    with trilith.asdf.everywhere(write=True), pytest.raises(ValueError, match="compresslevel"):
        asdf.AsdfFile({"a": np.arange(9)}).write_to(
            tmp_path / "o.asdf", all_array_compression="bzp2", compression_kwargs={"compresslevel": 9000}
        )


def test_arrays_go_into_files_of_asdf_in_any_context(path, tmp_path):
    with asdf.config_context():
        af = trilith.asdf.open(path)
    asdf.AsdfFile({"x": af["a"], "y": af["z"]}).write_to(tmp_path / "y.asdf")
    with asdf.open(tmp_path / "y.asdf") as other:
        np.testing.assert_array_equal(other["x"], af["a"])
        np.testing.assert_array_equal(other["y"], af["z"])


@pytest.mark.parametrize("asked", ["", "read", "write", "nonsense"])
def test_the_environment_decides(path, asked):
    code = (
        "import sys, trilith._asdf_start as start; found = start.extensions(); assert found == [];"
        "import asdf, sys; af = asdf.open(sys.argv[1]); import io; af.write_to(out := io.BytesIO());"
        "print(int('trilith._asdf_hooks' in sys.modules), int(b'name: trilith' in out.getvalue()))"
    )
    env = {**os.environ, "TRILITH_ASDF": asked}
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code, path], env=env, check=True, capture_output=True, text=True)
    assert done.stdout.split() == {"read": ["1", "0"], "write": ["1", "1"]}.get(asked, ["0", "0"])


def test_a_report_says_who_and_why(path):
    trilith.asdf.report(clear=True)
    with trilith.asdf.everywhere(write=True), asdf.open(path) as af:
        af.write_to(path.parent / "padded.asdf", pad_blocks=True)
    report = trilith.asdf.report(clear=True)
    assert [(line.action, line.by) for line in report] == [("open", "trilith"), ("write_to", "asdf")]
    assert "pads" in report[1].why and "asdf pads blocks" in str(report)
    assert str(trilith.asdf.report()) == "nothing was opened or written"


# The file of the package itself


def test_arrays_live_as_long_as_their_own_bytes(tmp_path):
    path = tmp_path / "x.asdf"
    trilith.write(path, {"a": np.arange(100_000), "z": np.arange(100_000) % 7, "pad": "x" * 4000}, codec="lz4")
    with trilith.open(path) as f:
        a, z = f["a"], f["z"]
        for n in range(3):
            f["pad"] = "y" * (100 + n)
            f["b"] = np.full(10_000, n)
            f.update()
            assert a[5] == 5 and z[99_999] == 99_999 % 7 and a[...].sum() == f["a"].sum()
            assert f["b"][0] == n


def test_a_codec_stays_where_an_array_is_replaced(tmp_path):
    path = tmp_path / "x.asdf"
    trilith.write(path, {"a": np.zeros(5000), "n": 1}, codec="lz4")
    for codec, wanted in ((None, "lz4"), ("zlib", "zlib"), (None, "zlib"), ("none", None)):
        with trilith.open(path) as f:
            f.set("/a", np.ones(6000), codec=codec)
            f.update()
        codecs = [block["codec"] for block in trilith.open(path).info()["blocks"] if block["stored"]]
        assert codecs == [wanted]


WRITES = """
import sys, time, trilith
with trilith.open(sys.argv[1]) as f:
    ends, n = time.monotonic() + 6, 0
    while time.monotonic() < ends:
        n += 1
        f["n"], f["text"] = n, "z" * (n % 300)
        f.update()
"""


def test_a_file_is_opened_while_another_process_changes_it(tmp_path):
    path = tmp_path / "x.asdf"
    trilith.write(path, {"a": np.arange(1000), "n": 0, "text": "z" * 300})
    writer = subprocess.Popen([sys.executable, "-c", WRITES, path])
    while writer.poll() is None:
        with trilith.open(path) as f:
            assert f["n"] >= 0
    assert writer.returncode == 0


SCHEMA = """%YAML 1.1
---
$schema: http://stsci.edu/schemas/yaml-schema/draft-01
id: asdf://example.org/schemas/{name}-1.0.0
{rule}
...
"""


def test_schemas_are_parsed_once_and_are_those_of_the_moment(tmp_path, monkeypatch):
    tag = "asdf://example.org/tags/thing-1.0.0"

    def setting(config, limit):
        rules = {"thing": "properties: {depth: {$ref: depth-1.0.0}}", "depth": f"maximum: {limit}"}
        schemas = {f"asdf://example.org/schemas/{name}-1.0.0": SCHEMA.format(name=name, rule=rule) for name, rule in rules.items()}
        config.add_resource_mapping({uri: text.encode() for uri, text in schemas.items()})
        described = TagDefinition(tag, schema_uris=["asdf://example.org/schemas/thing-1.0.0"])

        class Things(Extension):
            extension_uri = f"asdf://example.org/extensions/things-{limit}.0.0"
            tags = [described]

        config.add_extension(Things())

    parsed = []
    load = hooks._schema.__wrapped__
    monkeypatch.setattr(hooks, "_schema", functools.lru_cache(lambda content: parsed.append(content) or load(content)))
    with trilith.asdf.everywhere(write=True):
        for limit in (5, 3):
            with asdf.config_context() as config:
                setting(config, limit)
                asdf.schema._load_schema_cached.cache_clear()
                for n in range(3):
                    path = tmp_path / f"{limit}{n}.asdf"
                    asdf.AsdfFile({"thing": TaggedDict({"depth": limit}, tag)}).write_to(path)
                    asdf.open(path).close()
                with pytest.raises(asdf.exceptions.ValidationError):
                    asdf.AsdfFile({"thing": TaggedDict({"depth": limit + 1}, tag)}).validate()
    assert len(parsed) == len(set(parsed)) and any(b"maximum: 3" in content for content in parsed)


def test_every_schema_is_parsed_as_asdf_parses_it():
    resources = asdf.get_config().resource_manager
    left = []
    for uri in resources:
        content = resources[uri]
        expected = yaml.load(content, Loader=AsdfLoader)  # noqa: S506, a safe loader
        found = trilith._trilith._load_yaml(content, (TaggedDict, TaggedList, TaggedString))
        if found is None:
            left.append(uri)
            continue
        assert repr(found) == repr(expected), uri
    assert len(left) < len(list(resources)) / 20, left


@pytest.mark.parametrize("text", [b"a: [1", b"{a: 1, <<: 2}", b"a: =\n", b"\xff", b"a: &x !!unknown 1\n"])
def test_what_pyyaml_alone_can_say_of_a_schema_is_left_to_it(text):
    assert trilith._trilith._load_yaml(text, (TaggedDict, TaggedList, TaggedString)) is None


# --- updates that leave no block ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"memmap": True}, {"lazy_load": False}, {"validate_checksums": True}], ids=str)
@pytest.mark.parametrize("given", ["path", "open file", "bytes"])
@pytest.mark.parametrize("mode", ["read", "write"])
@pytest.mark.parametrize("change", ["inline", "deleted", "grown"])
def test_an_update_without_blocks_leaves_the_whole_tree(tmp_path, options, given, mode, change):
    """`asdf` cuts a file without blocks off where it was read last."""
    path = tmp_path / "x.asdf"
    asdf.AsdfFile({"a": np.arange(3), "keep": "precious", "l": list(range(50))}).write_to(path)
    memory = io.BytesIO(path.read_bytes())
    with contextlib.ExitStack() as stack:
        stack.enter_context(trilith.asdf.everywhere(write=mode == "write"))
        source = {"path": path, "open file": stack.enter_context(path.open("r+b")), "bytes": memory}[given]
        af = stack.enter_context(asdf.open(source, mode="rw", **options))
        if change == "inline":
            af.update(all_array_storage="inline")
        else:
            del af.tree["a"]
            if change == "grown":
                af["long"] = "text " * 2000
            af.update()
    content = memory.getvalue() if given == "bytes" else path.read_bytes()
    with asdf.open(io.BytesIO(content)) as af:
        assert af["keep"] == "precious" and af["l"] == list(range(50))
        assert ("a" in af) == (change == "inline") and (change != "grown" or af["long"] == "text " * 2000)
        assert change != "inline" or np.array(af["a"]).tolist() == [0, 1, 2]


@pytest.mark.parametrize("options", [{}, {"memmap": True}, {"lazy_load": False}, {"validate_checksums": True}], ids=str)
@pytest.mark.parametrize("way", ["write_to", "update"])
def test_masks_stay_however_a_file_is_opened(tmp_path, options, way):
    path = tmp_path / "x.asdf"
    trilith.write(path, {"m": np.ma.masked_array(np.arange(5.0), [0, 1, 0, 0, 1]), "other": np.arange(4)})
    with trilith.asdf.everywhere(write=True), asdf.open(path, mode="rw", **options) as af:
        af["x"] = 1
        del af.tree["other"]
        if way == "update":
            af.update()
        else:
            af.write_to(path.with_name("out.asdf"))
    with trilith.open(path if way == "update" else path.with_name("out.asdf")) as f:
        np.testing.assert_array_equal(f["m"][...].mask, [0, 1, 0, 0, 1])
        np.testing.assert_array_equal(f["m"][...].compressed(), [0, 2, 3])


def test_arrays_in_chunks_are_not_lost_where_nothing_knows_them(tmp_path):
    if importlib.util.find_spec("asdf_zarr") is not None:
        pytest.skip("asdf-zarr is installed, which knows them")
    plain, path = tmp_path / "plain.asdf", tmp_path / "x.asdf"
    trilith.write(plain, {"a": np.arange(12.0).reshape(3, 4), "b": 1})
    trilith.convert(plain, path, chunks=(2, 2))
    before = path.read_bytes()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with trilith.asdf.everywhere(write=True), asdf.open(path, mode="rw") as af:
            af["b"] = 2
            with pytest.raises(NotImplementedError, match="install asdf-zarr"):
                af.update()
            with pytest.raises(NotImplementedError, match="install asdf-zarr"):
                af.write_to(tmp_path / "y.asdf")
            del af.tree["a"]
            af.write_to(tmp_path / "z.asdf")
    assert path.read_bytes() == before and not (tmp_path / "y.asdf").exists()


@pytest.mark.parametrize("options", [{}, {"memmap": True}, {"validate_checksums": True}], ids=str)
def test_masks_stay_where_trilith_asdf_leaves_an_update_to_asdf(tmp_path, options):
    path = tmp_path / "x.asdf"
    trilith.write(path, {"m": np.ma.masked_array(np.arange(5.0), [0, 1, 0, 0, 1])})
    with trilith.asdf.open(path, mode="rw", **options) as af:
        af["x"] = 1
        af.update()
    np.testing.assert_array_equal(trilith.open(path)["m"][...].mask, [0, 1, 0, 0, 1])
