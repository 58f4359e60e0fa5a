"""Python's `asdf` over Trilith: the same objects, lazily, and files that Trilith wrote."""

import ast
import collections
import copy
import datetime
import io
import pathlib
import subprocess
import sys
import warnings

import asdf
import hypothesis
import numpy as np
import pytest
import yaml
from asdf import yamlutil
from asdf._block.reader import ReadBlock
from asdf.tagged import TaggedDict, TaggedList, TaggedString
from asdf.tags.core.ndarray import NDArrayType
from hypothesis import strategies as st

import trilith
import trilith.asdf
from trilith import _asdf_hooks as hooks

RNG = np.random.default_rng(8)


def same(ours, theirs, seen=None):
    """Whether two trees are the same in every respect: classes, tags, order, identity."""
    seen = {} if seen is None else seen
    assert type(ours) is type(theirs), (ours, theirs)
    if id(ours) in seen:
        assert seen[id(ours)] == id(theirs)
        return
    assert getattr(ours, "_tag", None) == getattr(theirs, "_tag", None)
    if isinstance(ours, dict):
        seen[id(ours)] = id(theirs)
        assert list(ours) == list(theirs)
        assert [type(key) for key in ours] == [type(key) for key in theirs]
        for key in ours:
            same(ours[key], theirs[key], seen)
    elif isinstance(ours, list):
        seen[id(ours)] = id(theirs)
        assert len(ours) == len(theirs)
        for one, other in zip(ours, theirs, strict=True):
            same(one, other, seen)
    elif isinstance(ours, float):
        assert repr(ours) == repr(theirs)
    else:
        assert ours == theirs


def parsed(text):
    """Returns the result or exception of `asdf` for a text, and the result of Trilith, or None."""
    data = b"#ASDF 1.0.0\n#ASDF_STANDARD 1.6.0\n" + text.encode()
    try:
        theirs = yamlutil.load_tree(io.BytesIO(text.encode()))
    except Exception as error:
        theirs = error
    try:
        with trilith.open(data) as f:
            found = trilith._trilith._AsdfBridge(f).tagged(TaggedDict, TaggedList, TaggedString)
    except ValueError:
        found = None
    return None if found is None else found[0], theirs


HEAD = "%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n--- !core/asdf-1.1.0\n"


@pytest.mark.parametrize(
    "line",
    [
        "a: [1, 0x1F, 017, 0b101, 1_000, 190:20:30, 08, 0o17, -5, +5]",
        "a: [1.5, .5, -.5, 1e3, 1.0e+3, 5., .inf, -.Inf, .NaN, nan, 190:20:30.15, 1e-400]",
        "a: [yes, No, on, OFF, true, y, n, ~, null, Null, '', \"\"]",
        "a: [2001-12-14, 2001-12-14t21:59:43.10-05:00, 2001-12-14 21:59:43, 2002-02-30]",
        "a: {1: b, 2.5: c, true: d, ~: e, 2001-12-14: f}",
        "a: !!binary aGVsbG8=",
        "a: !!set {x, y}",
        "a: !!omap [x: 1, y: 2]",
        "a: !!omap\n- !!omap {x: 1}\n- !!omap {y: [1]}",
        "a: !!pairs [x: 1]",
        "a: !!str 12\nb: !!int '12'\nc: !!float 3\nd: !!seq [1]\ne: !!map {x: 1}",
        "a: !unit/unit-1.0.0 m\nb: !<asdf://x/y-1.0.0> {z: !core/complex-1.0.0 1+2j}\nc: !x [1, !y q]",
        "a: &x {b: 1}\nc: *x\nd: [*x, &y [1], *y]",
        "a: &x {b: *x}",
        "a: &x {b: 1, c: 2}\nd: {<<: *x, b: 3}",
        "a: {x: 1, x: 2}",
        "a: =\nb: <<",
        "a: {[1]: 2}",
        "a: {!x y: 2}",
        "a: !!python/none ''",
        "a: !!str [1]",
        "a: ! plain\nb: ! 12",
        "a: 'it''s'\nb: \"\\u00b5\\n\"\nc: |\n  x\n   y\nd: >-\n  x\n  y",
    ],
)
def test_scalars_and_collections_are_those_of_pyyaml(line):
    """Trilith says the same as asdf, or leaves it to asdf."""
    ours, theirs = parsed(HEAD + line + "\n...\n")
    if isinstance(theirs, Exception):
        assert ours is None
    elif ours is not None:
        same(ours, theirs)
    unusual = ("pairs", "a: =", "<<\n", "[1]: 2", "!x y", "python", "!!str [", "02-30", "! plain", "'12'")
    assert ours is not None or any(mark in line + "\n" for mark in unusual), line


def test_corpus_trees(corpus):
    seen = 0
    for path in sorted(corpus.glob("*/*.asdf")):
        text = path.read_bytes()
        if not text.startswith(b"#ASDF 1.") or b"%YAML" not in text:
            continue
        text = text[text.index(b"%YAML") :]
        theirs = yamlutil.load_tree(io.BytesIO(text[: text.index(b"\n...") + 5]))
        found = trilith._trilith._AsdfBridge(trilith.open(path)).tagged(TaggedDict, TaggedList, TaggedString)
        same(found[0], theirs)
        seen += 1
    assert seen > 20


def test_corpus_arrays(corpus):
    """Every array of every file that asdf opens, and every slice of it, with masks."""

    def arrays(tree, path=()):
        for key, value in tree.items() if isinstance(tree, dict) else enumerate(tree):
            if isinstance(value, (dict, list)):
                yield from arrays(value, (*path, key))
            elif isinstance(value, (np.ndarray, NDArrayType)):
                yield (*path, key)

    def at(tree, path):
        for key in path:
            tree = tree[key]
        return tree

    seen = 0
    for path in sorted(corpus.glob("*/*.asdf")):
        if not path.read_bytes().startswith(b"#ASDF 1.") or "recursive" in path.name or "overlapping" in path.name:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with asdf.open(path) as theirs, trilith.asdf.open(path) as ours:
                expected = {way: at(theirs.tree, way)[...] for way in arrays(theirs.tree)}
                for index in (Ellipsis, 0, slice(1, 2), slice(None, None, -1), -1):
                    with trilith.asdf.open(path) as fresh:  # a slice is the first that is asked of an array
                        for way, whole in expected.items():
                            if whole.ndim > 0 or index is Ellipsis:
                                np.testing.assert_array_equal(at(fresh.tree, way)[index], whole[index])
                for way, whole in expected.items():
                    found = at(ours.tree, way)[...]
                    assert type(found) is type(whole) and found.dtype == whole.dtype
                    np.testing.assert_array_equal(found, whole)
                    seen += 1
    assert seen > 50


@pytest.fixture(params=[None, "lz4", "zlib"])
def image(request, tmp_path):
    """A file that asdf wrote, and what it holds."""
    data = RNG.integers(0, 50, (1100, 1000), "i4")
    path = tmp_path / "image.asdf"
    asdf.AsdfFile({"data": data, "cut": data[10:20], "meta": {"b": 1, "a": [2]}}).write_to(
        path, all_array_compression=request.param
    )
    return path, data


def test_a_slice_reads_what_it_needs_and_is_a_view(image):
    path, data = image
    with trilith.asdf.open(path) as af:
        assert isinstance(af, asdf.AsdfFile) and isinstance(af["data"], NDArrayType)
        part = af["data"][100:103, ::-2]
        np.testing.assert_array_equal(part, data[100:103, ::-2])
        block = af._blocks.blocks[0]
        assert (len(block._missing) > 0) == (af.get_array_compression(part) in (None, "lz4"))
        part[:] = -1
        assert (af["data"][100:103, ::-2] == -1).all(), "slices share their memory"
        assert af["data"][7, 8] == data[7, 8] and af["data"][-1].sum() == data[-1].sum()
        assert af["data"][..., 5].shape == (1100,)
        expected = data.copy()
        expected[100:103, ::-2] = -1
        np.testing.assert_array_equal(af["data"], expected)
        with pytest.raises(IndexError):
            af["data"][1100]
    with trilith.asdf.open(path) as af:
        with pytest.raises(IndexError):
            af["data"][0, 0, 0]
        np.testing.assert_array_equal(af["data"][data > 48], data[data > 48])
        assert af["data"].sum() == data.sum()


def test_options_of_asdf(image):
    path, data = image
    with trilith.asdf.open(path, lazy_load=False) as af:
        assert type(af["data"]) is np.ndarray
    with trilith.asdf.open(path, lazy_tree=True) as af:
        assert type(af["meta"]).__name__ == "AsdfDictNode"
        np.testing.assert_array_equal(af["data"][3], data[3])
    with trilith.asdf.open(path, memmap=True) as af:
        stored = not af.get_array_compression(af["data"])
        np.testing.assert_array_equal(af["data"][3], data[3])
        assert af["data"][3].flags.writeable != stored
    with trilith.asdf.open(path, _force_raw_types=True) as af:
        assert af["data"]["source"] == 0
    with trilith.asdf.open(path, validate_checksums=True) as af:
        assert type(af._blocks.blocks[0]) is ReadBlock, "asdf checks checksums"
        np.testing.assert_array_equal(af["data"][3], data[3])
    with asdf.config_context() as config:
        config.validate_on_read = True
        with trilith.asdf.open(path) as af:
            assert isinstance(af, trilith.asdf.AsdfFile)
    with pytest.raises(ValueError):
        trilith.asdf.open(path, strict_extension_check=True, ignore_missing_extensions=True)
    with pytest.raises(FileNotFoundError):
        trilith.asdf.open(path.parent / "nothing.asdf")


def test_file_objects(image):
    path, data = image
    with path.open("rb") as file, trilith.asdf.open(file) as af:
        assert isinstance(af, trilith.asdf.AsdfFile)
        np.testing.assert_array_equal(af["data"][3:5], data[3:5])
    memory = io.BytesIO(path.read_bytes())
    with trilith.asdf.open(memory, mode="r") as af:
        np.testing.assert_array_equal(af["data"], data)
    memory.seek(0)
    with trilith.asdf.open(memory) as af:
        assert isinstance(af, trilith.asdf.AsdfFile)
        af["meta"]["b"] = 9
        af["data"][0] = 3
        # It is updated by asdf, in the same memory.
        af.update()
        assert (af["data"][0] == 3).all() and (af["data"][1:] == data[1:]).all()
    memory.seek(0)
    with asdf.open(memory, mode="r") as af:
        assert af["meta"]["b"] == 9 and (af["data"][0] == 3).all() and (af["data"][1:] == data[1:]).all()


def test_written_files_are_ours(image, tmp_path):
    path, data = image
    out = tmp_path / "out.asdf"
    with trilith.asdf.open(path) as af:
        codec = af.get_array_compression(af["data"])
        af["twice"] = af["data"]
        af["masked"] = np.ma.masked_less(data[:5], 10)
        af["meta"] = {"b": 1, "a": [2]}
        af["shared"] = af["meta"]
        af.write_to(out)
        af.write_to(tmp_path / "zlib.asdf", all_array_compression="zlib", compression_kwargs={"level": 1})
        af.write_to(tmp_path / "bzp2.asdf", all_array_compression="bzp2")
        af.write_to(tmp_path / "padded.asdf", pad_blocks=True)
        af.write_to(tmp_path / "old.asdf", version="1.5.0")
        memory = io.BytesIO()
        af.write_to(memory)
    ours = trilith.open(out)
    assert ours["asdf_library/name"] == "trilith" and ours.verify(deep=True) == []
    assert ours.info()["blocks"][0]["codec"] == codec
    assert list(ours["meta"]) == ["b", "a"], "keys in their order"
    assert ours.asdf.text.count("\n") > 10 and memory.getvalue() == out.read_bytes()
    assert trilith.open(tmp_path / "zlib.asdf").info()["blocks"][0]["codec"] == "zlib"
    with asdf.open(tmp_path / "bzp2.asdf", validate_checksums=True) as af:
        np.testing.assert_array_equal(af["data"], data)
        assert af.get_array_compression(af["data"]) == "bzp2"
    assert trilith.open(tmp_path / "padded.asdf")["asdf_library/name"] == "asdf", "asdf pads"
    assert trilith.open(tmp_path / "old.asdf").asdf.standard == "1.5.0"
    with asdf.config_context() as config:
        config.validate_on_read = True
        with asdf.open(out, validate_checksums=True) as af:
            np.testing.assert_array_equal(af["data"], data)
            np.testing.assert_array_equal(af["cut"], data[10:20])
            assert af["twice"] is af["data"] and af["shared"] is af["meta"]
            assert (af["masked"][...].mask == (data[:5] < 10)).all()


def test_a_mask_survives_what_asdf_loses(tmp_path):
    path, out = tmp_path / "m.asdf", tmp_path / "o.asdf"
    data = np.arange(6.0)
    asdf.AsdfFile({"m": np.ma.masked_greater(data, 3)}).write_to(path)
    with asdf.open(path) as af:
        af.write_to(out)
    assert trilith.open(out)["m"].mask is None, "asdf loses it"
    with trilith.asdf.open(path) as af:
        af.write_to(out)
    assert trilith.open(out)["m"].masked().count() == 4
    with trilith.asdf.open(path) as af:
        # Also where asdf itself writes what Trilith read.
        asdf.AsdfFile({"m": af["m"]}).write_to(out)
    assert trilith.open(out)["m"].masked().count() == 4


def test_comments_stay_where_asdf_loses_them(tmp_path):
    path, out = tmp_path / "c.asdf", tmp_path / "o.asdf"
    text = (
        "# what it is\nmeta:\n  zeta:   139.8   # seconds\n  alpha: {d: 1, c: 2}  # short\n  gone: 1 # with it\n"
        "# steps\nsteps:\n- dark # first\n- flat # second\nshared: &x {a: [1]}  # one\nagain: *x\n"
    )
    path.write_bytes(b"#ASDF 1.0.0\n#ASDF_STANDARD 1.6.0\n" + (HEAD + text + "...\n").encode())
    kept = text.replace("139.8", "1.5").replace("  gone: 1 # with it\n", "").replace("dark # first\n", "dark # first\n- new\n")
    for mode in ("r", "rw"):
        with trilith.asdf.open(path, mode=mode) as af:
            af["meta"]["zeta"] = 1.5
            af["meta"].pop("gone", None)
            if "new" not in af["steps"]:
                af["steps"].insert(1, "new")
            af["data"] = np.arange(3)
            af.write_to(out) if mode == "r" else af.update()
        written = trilith.open(out if mode == "r" else path)
        assert kept in written.asdf.text and written.verify(deep=True) == []
        with asdf.open(written.path) as af:
            assert af["data"].tolist() == [0, 1, 2] and af["meta"] == {"zeta": 1.5, "alpha": {"d": 1, "c": 2}}
            assert af["shared"] is af["again"]
    with trilith.asdf.open(path) as af:
        # One object in two places that were two: the tree is printed anew.
        af["one"] = af["two"] = {"a": 1}
        af["round"] = [1]
        af["round"].append(af["round"])
        af.write_to(out)
    with asdf.open(out) as af:
        assert af["one"] is af["two"] and af["meta"]["zeta"] == 1.5 and af["round"][1] is af["round"]


def test_update(image):
    path, data = image
    with trilith.asdf.open(path, mode="rw") as af:
        assert isinstance(af, trilith.asdf.AsdfFile)
        codec = af.get_array_compression(af["data"])
        af["data"][0] = 7
        af["new"] = np.arange(3)
        kept = af["cut"]
        af.update()
        af["meta"]["b"] = 3
        af.update()
        np.testing.assert_array_equal(kept, data[10:20])
        assert af._blocks.blocks[0].header["used_size"] > 0
    with asdf.open(path, validate_checksums=True) as af:
        assert (af["data"][0] == 7).all() and (af["data"][1:] == data[1:]).all()
        assert af["meta"]["b"] == 3 and af["new"][2] == 2
        assert af.get_array_compression(af["data"]) == codec
    with trilith.asdf.open(path) as af, pytest.raises(OSError):
        af.update()


def test_streamed_and_external_blocks_are_written_by_asdf(tmp_path):
    path = tmp_path / "s.asdf"
    with path.open("wb") as file:
        af = trilith.asdf.AsdfFile({"s": asdf.Stream([3], np.int32), "x": np.arange(3)})
        af.write_to(file)
        for n in range(4):
            file.write(np.full(3, n, np.int32).tobytes())
    with trilith.asdf.open(path) as af:
        assert af["s"].shape == (4, 3) and af["s"][2, 0] == 2
        af.set_array_storage(af["x"], "external")
        af.write_to(tmp_path / "e.asdf")
    with trilith.asdf.open(tmp_path / "e.asdf") as af:
        np.testing.assert_array_equal(af["x"], np.arange(3))
        np.testing.assert_array_equal(af["s"][3], [3, 3, 3])


def test_other_files_are_opened_by_asdf(tmp_path):
    assert b"!!pairs" in (odd := (HEAD + "a: !!pairs [x: 1]\n...\n").encode())
    (tmp_path / "odd.asdf").write_bytes(b"#ASDF 1.0.0\n#ASDF_STANDARD 1.6.0\n" + odd)
    with trilith.asdf.open(tmp_path / "odd.asdf") as af:
        assert not isinstance(af, trilith.asdf.AsdfFile)
    (tmp_path / "no.asdf").write_bytes(b"something else")
    with pytest.raises(ValueError, match="ASDF"):
        trilith.asdf.open(tmp_path / "no.asdf")


def test_asdf_in_fits(tmp_path):
    fits = pytest.importorskip("astropy.io.fits")
    data, own = np.arange(12, dtype=">f4").reshape(3, 4), np.arange(7)
    hdus = [fits.PrimaryHDU(), fits.ImageHDU(data, name="SCI"), fits.ImageHDU(np.arange(5, dtype=">i2"), name="DQ")]
    plain, path = tmp_path / "plain.fits", tmp_path / "x.fits"
    fits.HDUList(hdus).writeto(plain)
    inner = io.BytesIO()
    asdf.AsdfFile({"own": own, "when": datetime.datetime(2020, 2, 29), "sci": "there"}).write_to(inner)
    tree = b"sci: !core/ndarray-1.1.0 {source: 'fits:SCI,1', datatype: float32, byteorder: big, shape: [3, 4]}"
    inner = inner.getvalue()
    assert inner.count(b"sci: there") == 1
    column = fits.Column(name="ASDF_METADATA", format=f"{len(inner) - 10 + len(tree)}B", array=[list(inner.replace(b"sci: there", tree))])
    fits.HDUList([*hdus, fits.BinTableHDU.from_columns([column], name="ASDF")]).writeto(path)
    for given in (path, str(path), io.BytesIO(path.read_bytes()), path.open("rb")):
        with trilith.asdf.open(given) as af:
            assert isinstance(af, asdf.AsdfFile)
            np.testing.assert_array_equal(af["sci"], data)
            np.testing.assert_array_equal(af["own"], own)
            assert af["when"] == datetime.datetime(2020, 2, 29)
            if isinstance(given, pathlib.Path | str):
                assert af.uri == path.as_uri()
            with pytest.raises(OSError, match="update"):
                af.update()
    with pytest.raises(ValueError, match=r"FITS file with the mode 'rw'"):
        trilith.asdf.open(path, mode="rw")
    with pytest.raises(ValueError, match=r"ASDF file: it is a FITS file without an ASDF extension; use trilith\.open"):
        trilith.asdf.open(plain)
    assert trilith.open(plain)["fits/1/data"].shape == (3, 4)


def test_an_unknown_asdf_does_all_the_work(image, monkeypatch):
    path, data = image
    monkeypatch.setattr(asdf, "__version__", "9.1.0")
    with trilith.asdf.open(path) as af:
        assert not isinstance(af, trilith.asdf.AsdfFile)
        np.testing.assert_array_equal(af["data"], data)
    trilith.asdf.AsdfFile({"a": 1}).write_to(path)
    assert trilith.open(path)["asdf_library/name"] == "asdf"


def test_after_closing(image):
    path, data = image
    with trilith.asdf.open(path) as af:
        array, cut = af["data"], af["cut"]
        part = cut[2:4]
    np.testing.assert_array_equal(part, data[12:14])
    with pytest.raises(OSError):
        array[0]


def test_copies(image):
    path, data = image
    with trilith.asdf.open(path) as af:
        twin = copy.copy(af)
        other = asdf.AsdfFile(af)
        np.testing.assert_array_equal(twin["data"][2], data[2])
        np.testing.assert_array_equal(other["data"][2], data[2])
        found = af.search("data")
        assert found.paths == ["root['data']"] or "data" in found.paths[0]


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**62), 2**62)
    | st.floats()
    | st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]))
    | st.dates(datetime.date(1000, 1, 1))
    | st.binary(max_size=20),
    lambda inner: st.lists(inner, max_size=4)
    | st.dictionaries(st.text("abcxyz01 _-.", min_size=1, max_size=5), inner, max_size=4)
    | st.lists(inner, max_size=3).map(lambda items: collections.OrderedDict(enumerate(items))),
    max_leaves=15,
)


@hypothesis.settings(max_examples=150, deadline=None)
@hypothesis.given(st.dictionaries(st.text("abc", min_size=1), VALUES, max_size=5), st.booleans())
def test_what_pyyaml_dumps_is_parsed_the_same(tree, flow):
    text = yaml.dump(
        tree,
        Dumper=yamlutil.AsdfDumper,
        version=(1, 1),
        explicit_start=True,
        explicit_end=True,
        allow_unicode=True,
        default_flow_style=flow,
    )
    ours, theirs = parsed(text)
    if ours is not None:
        same(ours, theirs)


def test_every_private_name_that_is_used_is_in_the_one_file():
    """Only `_asdf_hooks.py` uses private parts of `asdf`, and they are listed here."""
    folder = pathlib.Path(trilith.__file__).parent
    private = set()
    for path in folder.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "asdf" and not node.level:
                names = [f"{node.module}.{alias.name}" for alias in node.names]
                private |= {(path.name, name) for name in names if "._" in name}
    assert {name for name, _ in private} == {"_asdf_hooks.py", "_asdf_write.py"}
    assert {name for _, name in private} == {
        "asdf._compression",
        "asdf._io",
        "asdf._block.manager.Manager",
        "asdf._block.manager.ReadBlocks",
        "asdf._block.reader.ReadBlock",
        "asdf._block.writer.WriteBlock",
        "asdf._core._converters.ndarray.NDArrayConverter",
        "asdf.extension._serialization_context.BlockAccess",
    }


def test_version_is_one_that_was_tested():
    assert hooks.tested(), asdf.__version__


def test_importing_trilith_does_not_import_asdf():
    code = "import sys, trilith; assert not {'asdf', 'dask', 'xarray', 'nanoarrow', 'pandas'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_everywhere(image):
    path, _ = image
    with trilith.asdf.everywhere(), asdf.open(path) as af:
        assert isinstance(af._blocks.blocks[0], hooks.Block) and type(af) is asdf.AsdfFile
        assert type(af["data"]) is NDArrayType
    with asdf.open(path) as af:
        assert not isinstance(af._blocks.blocks[0], hooks.Block)


LINES = st.text(alphabet=st.sampled_from("ab \n\x85\u2028\u2029'\":#-\u00e9"), max_size=12)


CLASSES = (TaggedDict, TaggedList, TaggedString)


def tagged_text(text, tag):
    made = TaggedString(text)
    made._tag = tag
    return made


def printed(tree, old=b"#ASDF 1.0.0\n#ASDF_STANDARD 1.6.0\n" + HEAD.encode() + b"old: 1\n...\n"):
    """The text that Trilith gives a tree in place of an old one, and the one of PyYAML, both parsed by the latter."""
    with trilith.open(old) as f:
        ours = trilith._trilith._AsdfBridge(f).merge_tagged(tree, CLASSES)
    handles = {"!": "tag:stsci.edu:asdf/"}
    theirs = yaml.dump_all([tree], Dumper=yamlutil.AsdfDumper, explicit_start=True, explicit_end=True, version=(1, 1), allow_unicode=True, sort_keys=False, tags=handles)
    return None if ours is None else yamlutil.load_tree(io.BytesIO(ours.encode())), yamlutil.load_tree(io.BytesIO(theirs.encode()))


@hypothesis.settings(max_examples=300, deadline=None)
@hypothesis.given(
    st.dictionaries(st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), min_size=1), VALUES, max_size=5),
    st.sampled_from(["core/asdf-1.1.0", "x"]),
)
def test_a_changed_tree_says_what_pyyaml_prints(tree, tag):
    tree = TaggedDict(tree, f"tag:stsci.edu:asdf/{tag}")
    ours, theirs = printed(tree)
    if ours is not None:
        same(ours, theirs)


def test_tagged_trees_say_what_pyyaml_prints():
    inner = TaggedDict({"b": 1, "a": [1, 2.5, None, True, -0.0, float("nan"), float("inf"), 2**70, -(2**63)]}, "asdf://x.org/y-1.0.0")
    inner.property_order = ["a", "z", "b"]
    tree = {
        "inner": inner,
        "list": TaggedList([tagged_text("1", "tag:stsci.edu:asdf/unit/unit-1.0.0"), (1, "2"), [], {}], "tag:stsci.edu:asdf/q"),
        "texts": ["", " a", "a: b", "- a", "yes", "1e3", "~", "=", "<<", "a\nb\n", "\u2028x", "\x85", "x #y", "&a", "*a", "!t", "%", "\t"],
        1: "number",
        None: "none",
        2.5: "half",
        True is None: "truth",
    }
    ours, theirs = printed(TaggedDict(tree, "tag:stsci.edu:asdf/core/asdf-1.1.0"))
    assert ours is not None and list(ours["inner"]) == ["a", "b"]
    same(ours, theirs)


@pytest.mark.parametrize(
    "value",
    [np.float32(1.5), np.int16(3), np.str_("x"), b"x", datetime.date(2001, 1, 1), collections.OrderedDict(a=1), {1}, 1j, {(1, 2): 3}, "\ud800"],
    ids=repr,
)
def test_what_pyyaml_alone_prints_is_left_to_it(value):
    with trilith.open(trilith.dumps({"a": 1})) as f:
        assert trilith._trilith._AsdfBridge(f).merge_tagged({"a": value}, CLASSES) is None
        shared = [1]
        assert trilith._trilith._AsdfBridge(f).merge_tagged({"a": shared, "b": shared}, CLASSES) is None
        assert trilith._trilith._AsdfBridge(f).merge_tagged({1: "a number", "1": "its text"}, CLASSES) is None


@hypothesis.settings(max_examples=400, deadline=None)
@hypothesis.given(LINES)
def test_the_line_breaks_of_yaml_1_1_in_what_asdf_writes(text):
    """Next line, line and paragraph separator are breaks in YAML 1.1 and letters in 1.2."""
    out = io.BytesIO()
    asdf.AsdfFile({"v": text, "k" + text: [1]}).write_to(out)
    with trilith.open(out.getvalue()) as f:
        assert f["v"] == text
        assert "k" + text in f.tree
    with asdf.open(io.BytesIO(trilith.dumps({"v": text, "k" + text: [1]}))) as f:
        assert f["v"] == text
        assert "k" + text in f.tree


@hypothesis.settings(max_examples=400, deadline=None)
@hypothesis.given(
    st.sampled_from(["plain", "'", '"', "|", "|-", "|+", ">", ">-", ">+"]),
    st.lists(st.sampled_from(["a", "b c", " ", "  d", "", "\u00e9"]), min_size=1, max_size=6),
    st.lists(st.sampled_from(["\n  ", "\x85  ", "\u2028  ", "\u2029  ", "\n\n  ", "\u2028\x85  "]), min_size=6, max_size=6),
)
def test_the_line_breaks_of_yaml_1_1_in_scalars_of_every_style(style, parts, breaks):
    body = "".join(part + cut for part, cut in zip(parts, breaks, strict=False)).rstrip(" \n\x85\u2028\u2029") or "a"
    text = {"plain": body.lstrip(), "'": f"'{body}'", '"': f'"{body}"'}.get(style, f"{style}\n  {body}")
    document = f"%YAML 1.1\n---\nv: {text}\nw: 1\n...\n"
    try:
        wanted = yaml.load(document, yaml.BaseLoader)
    except yaml.YAMLError:
        return
    try:
        f = trilith.open(b"#ASDF 1.0.0\n" + document.encode())
    except trilith.FormatError:
        return  # YAML 1.2, by which the structure is read, is stricter about indentation
    assert str(f["v"] if f["v"] is not None else "") == str(wanted["v"]), document
