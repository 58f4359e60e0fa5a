"""Dudley from Python: layouts, streams, families, appending."""

import collections.abc
import copy
import pathlib
import pickle
import struct

import numpy as np
import pytest

import trilith

SIGNATURE = b"\x8d<BD\r\n\x1a\n" + bytes(8)


def test_a_layout_reads_any_file(tmp_path):
    raw = struct.pack("<i", 3) + np.arange(3.0).tobytes() + np.arange(6, dtype="<i2").tobytes()
    path = tmp_path / "raw.dat"
    path.write_bytes(raw)
    layout = trilith.Layout("N : <i4\nx = <f8[N] @4\ngroup/\n  y = <i2[2, N]\n  ## in m\n")
    assert layout.dialect == "2025" and "N : <i4" in str(layout) and "4 items" in repr(layout)
    assert layout.items() == [("N", "param"), ("x", "data"), ("group", "dict"), ("group/y", "data")]
    (tmp_path / "l.dud").write_text(layout.text)
    assert trilith.Layout.read(tmp_path / "l.dud") == layout == pickle.loads(pickle.dumps(layout))
    for given in (layout, tmp_path / "l.dud", str(tmp_path / "l.dud"), layout.text):
        for source in (path, raw, str(path)):
            with trilith.open(source, layout=given) as f:
                assert isinstance(f, trilith.File) and f["N"] == 3 and f.layout == layout
                np.testing.assert_array_equal(f["x"], [0, 1, 2])
                np.testing.assert_array_equal(f["group/y"][1], [3, 4, 5])
                assert f["group"]["y"].shape == (2, 3) and list(f) == ["N", "x", "group"]
    text, losses = layout.translate("2026")
    assert "dialect=2026" in text and isinstance(losses, list)
    again = pickle.loads(pickle.dumps(trilith.open(path, layout=layout)["group/y"].part(1)))
    assert again[:].tolist() == [3, 4, 5]
    with pytest.raises(trilith.FormatError, match="line 1"):
        trilith.Layout("x = nothing[")
    with pytest.raises(trilith.FormatError):
        trilith.open(raw[:10], layout=layout)["x"][:]
    with pytest.raises(TypeError):
        trilith.open(raw, layout=3)
    with pytest.raises(ValueError):
        layout.translate("2027")


def test_byteorder_of_what_the_layout_leaves_open():
    raw = np.arange(3, dtype=">i4").tobytes()
    assert trilith.open(raw, layout="x = i4[3]", byteorder="big")["x"][:].tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match="byteorder"):
        trilith.open(raw, layout="x = i4[3]", byteorder="middle")


TREE = {
    "t": np.arange(6.0).reshape(2, 3),
    "run": {"n": 4, "name": "a name", "z": np.ones(3, "c16"), "deep": {"empty": np.zeros((0, 3))}},
    "records": [{"a": np.arange(2), "b": np.array([b"x", b"y"])}, {"a": np.arange(3), "b": np.array([b"z"])}],
    "history": [np.zeros(4, "f4"), np.ones(4, "f4")],
    "struct": np.zeros(2, [("x", "i4"), ("y", "f8")]),
}


@pytest.mark.parametrize("version", ["dudley-2025", "dudley-2026"])
def test_trees_as_streams(tmp_path, version):
    path = tmp_path / "s.bd"
    trilith.write(path, TREE, version=version)
    with trilith.open(path) as f:
        assert f.format == version and isinstance(f, collections.abc.Mapping) and not f.closed
        np.testing.assert_array_equal(f["t"], TREE["t"])
        assert f["run/n"] == 4 and f["run"]["z"].dtype == "c16" and f["run/deep/empty"].shape == (0, 3)
        assert f["run/name"][()] == b"a name"
        records = f["records"]
        assert isinstance(records, collections.abc.Sequence) and len(records) == 2
        assert records[1]["a"][:].tolist() == [0, 1, 2] and records[-1]["b"][0] == b"z"
        assert f["records[0]/a"].shape == (2,) and [len(r) for r in records] == [2, 2]
        np.testing.assert_array_equal(f["history"][1], np.ones(4))
        assert len(f["history"][:1]) == 1 and f["struct"].dtype.names == ("x", "y")
        assert "run" in f and "run/n" in f and "nothing" not in f and f.get("nothing", 7) == 7
        assert list(f.keys()) == list(TREE) and len(f.items()) == 5 and len(list(f.values())) == 5
        copied = f.to_dict()
        assert copied["records"][0]["a"][1] == 1 and copied["run"]["n"] == 4
        assert "history: list of 2" in str(f) and "trilith.File" in f._repr_html_() and repr(f["run"]) and repr(records)
        for wrong in ("nothing", "run/nothing", 3):
            with pytest.raises(KeyError):
                f[wrong]
        with pytest.raises(IndexError):
            records[2]
        again = pickle.loads(pickle.dumps(f))
        np.testing.assert_array_equal(again["t"], TREE["t"])
        assert pickle.loads(pickle.dumps(records[1]["a"]))[:].tolist() == [0, 1, 2]
        kept = f["t"]
    assert f.closed and "closed" in repr(f)
    np.testing.assert_array_equal(kept, TREE["t"])
    with pytest.raises(ValueError, match="closed"):
        f["t"]
    # To ASDF and back.
    trilith.write(tmp_path / "s.asdf", {"stream": trilith.open(path).to_dict()})
    assert trilith.open(tmp_path / "s.asdf")["stream/records/1/a"][2] == 2
    trilith.write(tmp_path / "c.bd", trilith.open(path))
    assert trilith.open(tmp_path / "c.bd").to_dict().keys() == copied.keys()


def test_items_are_compared_copied_and_pickled(tmp_path):
    path = tmp_path / "s.bd"
    tree = {"t": [np.zeros(4), np.ones(4)], "n": {"a": 3, "x": np.arange(3), "in": {"l": [np.arange(2)]}}}
    trilith.write(path, tree)
    s, other = trilith.open(path), trilith.open(path.read_bytes())
    assert s["n"] == tree["n"] and other["n"] == tree["n"] and s["t"] == tree["t"] and s.tree == other.tree
    assert s["n"] == other["n"] and s["t"] == other["t"] and s["n"] != s["n/in"] and s["t"] != tree["t"][:1]
    for node in (s["n"], s["t"], s["n/in"], s["n/in/l"], s.tree):
        assert copy.deepcopy([node])[0] is node and copy.copy(node) is node
        again = pickle.loads(pickle.dumps(node))
        assert type(again) is type(node) and again == node
    with pytest.raises(TypeError, match="path"):
        pickle.dumps(other["n"])


def test_what_a_stream_cannot_hold(tmp_path):
    for tree in ({"a": None}, {"a": True}, {1: np.zeros(3)}):
        with pytest.raises((ValueError, NotImplementedError)):
            trilith.write(tmp_path / "x.bd", tree)
    with pytest.raises(ValueError, match="codec"):
        trilith.write(tmp_path / "x.bd", {"a": np.zeros(3)}, codec="lz4")
    assert not (tmp_path / "x.bd").exists()


def test_append(tmp_path):
    path = tmp_path / "a.bd"
    trilith.write(path, {"h": [np.arange(3.0)]})
    with trilith.open(path) as f:
        f.append("h", np.arange(6.0).reshape(2, 3) + 10)
        assert len(f["h"]) == 3 and f["h"][2][:].tolist() == [13, 14, 15]
        f.extend({"more": np.arange(4), "n": 3})
        assert f["more"][:].tolist() == [0, 1, 2, 3] and f["n"] == 3 and len(f["h"]) == 3
        with pytest.raises(ValueError):
            f.append("nothing", np.zeros((1, 2)))
    assert len(trilith.open(path)["h"]) == 3
    with pytest.raises(ValueError, match="path"):
        trilith.open(path.read_bytes()).append("h", np.zeros((1, 3)))


@pytest.fixture
def family(tmp_path):
    template = trilith.Layout("{ N : i8 }  rho = f8[N]  cells = {a = i4  b = i4}[N]  group/ t = f8 ..")
    counts = [3] * 5
    for k, n in enumerate(counts):
        cells = np.array([(k, i) for i in range(n)], [("a", "<i4"), ("b", "<i4")])
        rho = np.arange(n) + 10.0 * k
        (tmp_path / f"f{k}.bd").write_bytes(
            SIGNATURE + struct.pack("<q", n) + rho.tobytes() + cells.tobytes() + struct.pack("<d", k / 2)
        )
    names = np.array([f"f{k}.bd".encode() for k in range(5)])
    trilith.write(tmp_path / "catalog.bd", {"files": names, "records": np.array(counts, "i8")[:, None]})
    return tmp_path / "catalog.bd", template


def test_a_family_is_one_array(family, monkeypatch):
    catalog, template = family
    with trilith.open_set(catalog, layout=template) as f:
        assert isinstance(f, trilith.File) and f.files == [f"f{k}.bd" for k in range(5)] and f.layout == template
        assert list(f) == ["N", "rho", "cells", "group"] and list(f["group"]) == ["t"] and "rho" in f
        assert len(f) == 4 and "5 files" in repr(f)
        rho = f["rho"]
        assert rho.shape == (5, 3) and rho[3].tolist() == [30, 31, 32] and rho[:, 1].tolist() == [1, 11, 21, 31, 41]
        assert f["group/t"][:].tolist() == [0, 0.5, 1, 1.5, 2] and f["cells.b"].shape == (5, 3)
        assert f["cells"][4, 2].tolist() == (4, 2)
        text = pickle.dumps(rho.part(2))
        with pytest.raises(KeyError, match="rho"):
            f["nothing"]
    monkeypatch.chdir("/")
    assert pickle.loads(text)[:].tolist() == [20, 21, 22]


def test_a_file_that_is_not_there_is_masked(family):
    catalog, template = family
    (catalog.parent / "f3.bd").unlink()
    f = trilith.open_set(catalog, layout=template)
    assert f.omitted("rho") == ["f3.bd"] and f["rho"][2:4].tolist() == [[20, 21, 22], [None] * 3]
    assert np.isnan(np.asarray(f["rho"])[3]).all() and f["rho"][4].tolist() == [40, 41, 42]


def test_a_family_in_dask_and_xarray(family):
    pytest.importorskip("dask.array")
    xarray = pytest.importorskip("xarray")
    catalog, template = family
    assert trilith.open_set(catalog, layout=template)["rho"].to_dask(chunks=2).sum().compute() == sum(range(3)) * 5 + 300
    with xarray.open_dataset(catalog, engine="trilith", family=template.text, chunks={}) as ds:
        assert dict(ds.sizes) == {"record": 5, "N": 3} and ds.rho.dims == ("record", "N") and "N" not in ds
        np.testing.assert_array_equal(ds.rho.mean("record"), [20, 21, 22])
        assert ds.attrs["files"] == [f"f{k}.bd" for k in range(5)]
    with xarray.open_datatree(catalog, engine="trilith", family=template.text) as tree:
        assert tree["group/t"].dims == ("record",)


def test_a_stream_in_xarray(tmp_path):
    xarray = pytest.importorskip("xarray")
    pytest.importorskip("dask.array")
    trilith.write(tmp_path / "s.bd", TREE)
    with xarray.open_dataset(tmp_path / "s.bd") as ds:
        np.testing.assert_array_equal(ds.t, TREE["t"])
    with xarray.open_datatree(tmp_path / "s.bd", engine="trilith") as tree:
        assert tree["run"].attrs["n"] == 4 and tree["run/z"].dtype == "c16"
    (tmp_path / "r.dat").write_bytes(np.arange(4.0).tobytes())
    with xarray.open_dataset(tmp_path / "r.dat", engine="trilith", layout="x = <f8[4]") as ds:
        assert float(ds.x.sum()) == 6


def test_a_list_of_equal_arrays_is_one_array(tmp_path):
    path = tmp_path / "h.bd"
    trilith.write(path, {"te": [np.arange(3.0), np.arange(3.0) + 10]}, version="dudley-2025")
    with trilith.open(path) as f:
        te = f["te"]
        assert te[:, 0].tolist() == [0, 10] and te.array.shape == (2, 3)
        assert np.asarray(te).tolist() == [[0, 1, 2], [10, 11, 12]]
        assert len(te) == 2 and te[1][:].tolist() == [10, 11, 12]


# The state template of the document of the language.
RESTART = """{
  IMAX := i8    ## leading dimension of mesh arrays
  JMAX := i8    ## second dimension of mesh arrays
  NGROUP := i8  ## number of photon energy groups
  time = f8     ## (ns) simulation time
}  # summary completely specifies any file described by this layout
r = f8[JMAX, IMAX]  ## (um) radial node coordinates
z = f8[JMAX, IMAX]  ## (um) axial node coordinates
rho = f8[JMAX-, IMAX-]  ## (g/cc) zonal mass density
te = f8[JMAX-, IMAX-]   ## (eV) zonal temperature
gb = f8[NGROUP+]  ## (eV) group boundaries (also no data if NGROUP zero)
unu = f8[NGROUP, JMAX-, IMAX-]  ## (GJ/cc/eV) zonal radiation density
"""


def restart(n, imax, jmax, groups=0):
    nodes, zones = np.full((jmax, imax), float(n)), np.full((jmax - 1, imax - 1), n + 0.5)
    more = {"gb": np.arange(groups + 1.0), "unu": np.full((groups, jmax - 1, imax - 1), float(n))} if groups else {}
    return {"time": n / 10, "r": nodes, "z": -nodes, "rho": zones, "te": 2 * zones, **more}


def test_a_thousand_restart_files_are_one_array(tmp_path):
    (tmp_path / "run.dud").write_text(RESTART)
    layout = trilith.Layout(tmp_path / "run.dud")
    files = [tmp_path / f"r{n:04}.bd" for n in range(1000)]
    for n, file in enumerate(files):
        layout.write(file, IMAX=4, JMAX=3, NGROUP=0, **restart(n, 4, 3))
    layout.catalog(files, tmp_path / "c.bd")
    run = trilith.open_set(tmp_path / "c.bd", layout=layout)
    assert len(run.files) == 1000 and run.files[7] == "r0007.bd"
    assert run["rho"].shape == (1000, 2, 3)
    np.testing.assert_array_equal(run["rho"][:, 1, 2], np.arange(1000) + 0.5)
    np.testing.assert_allclose(run["time"][:], np.arange(1000) / 10)
    # One by one they say the same.
    with trilith.open(files[5]) as one:
        np.testing.assert_array_equal(one["te"][:], np.full((2, 3), 11.0))
        assert one["IMAX"] == 4


def test_a_layout_writes_files_of_any_size_and_says_what_is_wrong(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run.dud").write_text(RESTART)
    layout = trilith.Layout("run.dud")
    assert layout == trilith.Layout.read("run.dud")
    layout.write("a.bd", {"IMAX": 4, "/JMAX": 3}, NGROUP=2, **restart(1, 4, 3, groups=2))
    layout.write("b.bd", IMAX=5, JMAX=2, NGROUP=0, embed=False, byteorder="big", **restart(2, 5, 2))
    with trilith.open("a.bd") as a, trilith.open("b.bd", layout=layout) as b:
        assert a["unu"].shape == (2, 2, 3) and b["rho"][:].tolist() == [[2.5] * 4]
    layout.catalog(["a.bd", "b.bd"], "c.bd")
    with trilith.open("c.bd") as c:
        assert np.asarray(c["records"])[:].tolist() == [(4, 3, 2, 0.1), (5, 2, 0, 0.2)]
    before = (tmp_path / "a.bd").read_bytes()
    good = restart(1, 4, 3)
    for words, message in [
        ({"IMAX": 4, "JMAX": 3}, "NGROUP has no value"),
        ({"IMAX": 4, "JMAX": 3, "NGROUP": 0, "KMAX": np.zeros(2)}, "no item /KMAX"),
        ({"IMAX": 5, "JMAX": 3, "NGROUP": 0}, "the layout has float64"),
        ({"IMAX": 4, "JMAX": 3, "NGROUP": 1}, "no data were given for /gb"),
    ]:
        with pytest.raises(ValueError, match=message):
            layout.write("a.bd", **(good | words))
    with pytest.raises(TypeError):
        layout.write("a.bd", **(good | {"IMAX": 4.5, "JMAX": 3, "NGROUP": 0}))
    assert (tmp_path / "a.bd").read_bytes() == before
    # A file that ends before its data, and one outside of the folder of the catalog.
    (tmp_path / "b.bd").write_bytes((tmp_path / "b.bd").read_bytes()[:100])
    with pytest.raises(ValueError, match="b.bd: it has 100 bytes"):
        layout.catalog(["a.bd", "b.bd"], "d.bd")
    (tmp_path / "below").mkdir()
    with pytest.raises(ValueError, match="folder of the catalog"):
        layout.catalog(["a.bd"], "below/c.bd")
    with pytest.raises(FileNotFoundError):
        layout.catalog(["missing.bd"], "d.bd")
    with pytest.raises(FileNotFoundError):
        trilith.Layout("missing.dud")
    assert not (tmp_path / "d.bd").exists() and not (tmp_path / "below" / "c.bd").exists()


def test_a_catalog_carries_its_layout_and_what_its_files_are(tmp_path):
    layout = trilith.Layout("{ N : i8  time = f8 }\nrho = f8[N]\n")
    for n in range(3):
        layout.write(tmp_path / f"r{n}.bd", N=2, time=n / 2, rho=np.full(2, float(n)))
        data = np.int64(2).tobytes() + np.array([n / 2, n, n], "f8").tobytes()
        (tmp_path / f"r{n}.raw").write_bytes(data)
    for ending in ["bd", "raw"]:
        catalog = tmp_path / f"{ending}-c.bd"
        layout.catalog([tmp_path / f"r{n}.{ending}" for n in range(3)], catalog, byteorder="little")
        family = trilith.open_set(catalog)
        assert family.layout == layout and list(family) == ["N", "time", "rho"]
        assert trilith.open_set(catalog, files=[2, slice(0, 1)])["rho"][:, 0].tolist() == [2, 0]
        assert trilith.open_set(catalog, files=slice(1, None))["time"][:].tolist() == [0.5, 1]
        layout.catalog([tmp_path / f"r0.{ending}"], catalog.with_suffix(".few"), byteorder="little")
        layout.catalog(str(tmp_path / f"r*.{ending}"), catalog.with_suffix(".few"), add=True)
        assert trilith.open_set(catalog.with_suffix(".few"))["N"][:].tolist() == [2, 2, 2]
        assert family["rho"][:, 1].tolist() == [0, 1, 2]
        # What the summary block stores comes from the catalog.
        (tmp_path / f"r0.{ending}").unlink()
        assert trilith.open_set(catalog)["time"][:].tolist() == [0, 0.5, 1]
        xarray = pytest.importorskip("xarray")
        with xarray.open_dataset(catalog, engine="trilith", files=slice(1, 3)) as ds:
            assert ds.rho.dims == ("time", "N") and ds.time.values.tolist() == [0.5, 1] and ds.rho.values[:, 0].tolist() == [1, 2]
            assert ds.rho.sel(time=1).values.tolist() == [2, 2] and ds.sel(time=slice(0.6, 2)).sizes["time"] == 1
        with trilith.open(catalog) as itself:
            assert list(itself) == ["files", "records", "layout"]
    with pytest.raises(ValueError, match="not the catalog"):
        trilith.open(tmp_path / "r1.bd", layout=layout, files=1)
    # Another file of the same name, whose items are at other places.
    layout.write(tmp_path / "r1.bd", N=1, time=0.5, rho=np.ones(1))
    with pytest.raises(trilith.FormatError, match="r1.bd.*N is 1 in this file, but 2 in the catalog"):
        trilith.open_set(tmp_path / "bd-c.bd")["rho"][1]


def test_parameters_of_copies_and_structs_are_written_by_their_paths(tmp_path):
    layout = trilith.Layout("l [ / n : i2  v = f4[n] ]*2\nstring { COUNT : i4  \"\" = S1[COUNT] }\nname = string\n")
    one, two = np.ones(1, "f4"), np.ones(2, "f4")
    values = {"l[0]/n": 1, "l[0]/v": one, "l[1]/n": 2, "l[1]/v": two, "name.COUNT": 4, "name": np.array("abc")}
    layout.write(tmp_path / "l.bd", values)
    with trilith.open(tmp_path / "l.bd") as f:
        assert f["l[1]/n"] == 2 and f["l[1]/v"].shape == (2,) and f["name.COUNT"] == 4
    with pytest.raises(ValueError, match=r"no stored parameter l\[7\]/n"):
        layout.write(tmp_path / "l.bd", values | {"l[7]/n": 3})


def test_unicode_and_short_complex_numbers_are_those_of_numpy(tmp_path):
    layout = trilith.Layout("u = U1[6]  w = U2[3]  s = S1[4]  c = c4[2]")
    layout.write(tmp_path / "u.bd", u=np.array("h\u00e9\u20ac"), w=np.array("\u00e9"), s=np.array("ab"), c=np.array([1.5 - 2j, 1], "c8"))
    with trilith.open(tmp_path / "u.bd") as f:
        assert f["u"][()] == "h\u00e9\u20ac" and f["w"][()] == "\u00e9"
        assert f["c"][:].dtype == np.complex64 and f["c"][:].tolist() == [1.5 - 2j, 1]


def test_lists_and_records_are_written_by_their_names(tmp_path):
    layout = trilith.Layout('{ NREC := i8 }\nte = [f4[2]]\nte[1] te[1]\n"" = { t = f8  x = i4[2] }[NREC]\n')
    te = np.arange(6, dtype="f4").reshape(3, 2)
    layout.write(tmp_path / "x.bd", NREC=3, te=te, t=np.arange(3.0), x=np.arange(6, dtype="i4").reshape(3, 2))
    with trilith.open(tmp_path / "x.bd") as f:
        np.testing.assert_array_equal(f["te"][:, 1], [1, 3, 5])
        np.testing.assert_array_equal(f[""]["t"][:], [0, 1, 2])


def test_members_of_an_item_without_a_name(tmp_path):
    layout = trilith.Layout('{ NREC := i8 }\n"" = { t = f8  x = i4[2] }[NREC]\n')
    layout.write(tmp_path / "x.bd", NREC=2, t=np.arange(2.0), x=np.arange(4, dtype="i4").reshape(2, 2))
    with trilith.open(tmp_path / "x.bd") as f:
        assert f["t"][:].tolist() == [0, 1] and f["x"][1].tolist() == [2, 3] and "t" in f and "u" not in f
        assert f['""(1).x'][:].tolist() == [2, 3]
        with pytest.raises(KeyError):
            f["u"]


def test_integers_below_a_list_are_seen_again(tmp_path):
    trilith.write(tmp_path / "x.bd", {"v": [{"c": 1}, {"c": -5, "d": 2.5}], "n": {"q": 5}, "deep": [[{"a": {"b": 2**40}}]]})
    with trilith.open(tmp_path / "x.bd") as f:
        assert [int(f[f"v[{n}]/c"]) for n in range(2)] == [1, -5] and int(f["deep[0][0]/a/b"]) == 2**40
    for unseen in ([{}], [{"a": {}}], [[]], [{"a": 1.0, "b": []}]):
        with pytest.raises(ValueError, match="without items"):
            trilith.write(tmp_path / "y.bd", {"v": unseen})
    assert not (tmp_path / "y.bd").exists()


@pytest.fixture
def meshes(tmp_path):
    """Restart files of two mesh sizes, and their catalog."""
    layout = trilith.Layout(
        "{\n  nx : i8\n  ny : i8\n  time = f8  ## simulation time\n  #: unit=\"ns\"\n  cycle = i4\n}\n"
        "rho = f8[ny-,nx-]  ## density of the cells\n  #: unit=\"g/cc\"\nx = f4[nx]\ng/ groups = i2[nx,2] ..\nwhole = f8[2]\n"
    )
    for n, (nx, ny) in enumerate([(4, 3), (3, 4), (4, 3), (4, 3)]):
        rho = 100.0 * n + np.arange((nx - 1) * (ny - 1)).reshape(ny - 1, nx - 1)
        values = {"g/groups": np.zeros((nx, 2), "i2"), "whole": np.ones(2), "x": np.arange(nx, dtype="f4") + n}
        layout.write(tmp_path / f"r{n}.bd", values, nx=nx, ny=ny, time=n / 2, cycle=np.int32(10 * n), rho=rho)
    layout.catalog(str(tmp_path / "r?.bd"), tmp_path / "c.bd")
    return tmp_path / "c.bd"


def test_files_of_several_shapes_are_padded_joined_or_listed(meshes):
    with pytest.raises(KeyError, match=r"/rho has the shape \[2, 3\] in r0.bd and \[3, 2\] in r1.bd"):
        trilith.open_set(meshes)["rho"]
    padded = trilith.open_set(meshes, files="pad")["rho"]
    assert padded.shape == (4, 3, 3) and padded[1].tolist() == [[100, 101, None], [102, 103, None], [104, 105, None]]
    assert padded[:, 2, 0].tolist() == [None, 104, None, None] and padded[0:2, 1, 1].tolist() == [4, 103]
    assert np.isnan(np.asarray(padded)[0, 2]).all()
    joined = trilith.open_set(meshes, files=[slice(0, 2), "along=nx"])["x"]
    assert joined[:].tolist() == [0, 1, 2, 3, 1, 2, 3] and joined[3:5].tolist() == [3, 1] and joined.mask is None
    rows = trilith.open_set(meshes, files=[slice(2, 4), "along=nx-1"])["rho"]
    assert rows[:].tolist() == [[200, 201, 202, 300, 301, 302], [203, 204, 205, 303, 304, 305]]
    each = trilith.open_set(meshes, files="each")
    assert [array.shape for array in each["rho"]] == [(2, 3), (3, 2), (2, 3), (2, 3)]
    assert each["rho"][1][2, 1] == 105 and each["rho/1"][0].tolist() == [100, 101] and each["time"].shape == (4,)
    assert pickle.loads(pickle.dumps(padded.part(1)))[0].tolist() == [100, 101, None]
    for wrong in ("padded", ["pad", "each"]):
        with pytest.raises(ValueError):
            trilith.open_set(meshes, files=wrong)


def test_a_condition_chooses_files(meshes):
    f = trilith.open_set(meshes, where="time > 0.5 and nx == 4")
    assert f["cycle"][:].tolist() == [20, 30] and f["rho"][:, 0, 0].tolist() == [200, 300]
    assert pickle.loads(pickle.dumps(f["rho"]))[:, 0, 0].tolist() == [200, 300]
    for wrong, why in [("tim > 1", 'did you mean "time"'), ("time > 9", "none of the 4 files"), ("time >", "a value")]:
        with pytest.raises(ValueError, match=why):
            trilith.open_set(meshes, where=wrong)


def test_a_file_set_in_xarray_has_names_and_coordinates(meshes):
    xarray = pytest.importorskip("xarray")
    pytest.importorskip("dask.array")
    with pytest.warns(UserWarning, match="rho is left out"), xarray.open_dataset(meshes, engine="trilith") as ds:
        assert set(ds.data_vars) == {"whole"} and ds.whole.dims[0] == "time"
    with xarray.open_dataset(meshes, engine="trilith", files="pad", chunks={"time": 1}) as ds:
        assert ds.rho.dims == ("time", "ny-1", "nx-1") and ds.x.dims == ("time", "nx") and ds.cycle.dims == ("time",)
        assert set(ds.coords) == {"time", "cycle", "ny", "nx_length"} and ds.rho.chunks[0] == (1, 1, 1, 1)
        assert ds.rho.attrs["units"] == "g/cc" and ds.rho.attrs["long_name"] == "density of the cells"
        assert ds.time.attrs["units"] == "ns" and ds.time.attrs["long_name"] == "simulation time"
        assert ds.rho.sel(time=0.5).values[2, :2].tolist() == [104, 105] and np.isnan(ds.rho.sel(time=0.5).values[2, 2])
        assert ds.sel(time=slice(0.4, 1.2)).cycle.values.tolist() == [10, 20]
        assert ds.rho.mean(("ny-1", "nx-1")).values.tolist() == [2.5, 102.5, 202.5, 302.5]
        # A chunk of one file opens no other.
        (meshes.parent / "r3.bd").write_bytes(b"")
        assert ds.x.isel(time=0).values.tolist() == [0, 1, 2, 3]
    with xarray.open_datatree(meshes, engine="trilith", files=[slice(0, 1), slice(2, 3)]) as tree:
        assert tree["g/groups"].dims[:2] == ("time", "nx") and tree["rho"].sel(time=1).values[0, 0] == 200
    with xarray.open_dataset(meshes, engine="trilith", where="nx == 3", files=[slice(0, 4), "pad"]) as ds:
        assert ds.time.values.tolist() == [0.5] and ds.rho.shape == (1, 3, 2)
    (meshes.parent / "r.raw").write_bytes(np.arange(3, dtype=">f8").tobytes())
    with xarray.open_dataset(meshes.parent / "r.raw", engine="trilith", layout="x = f8[3]", byteorder="big") as ds:
        assert ds.x.values.tolist() == [0, 1, 2]
    # One file: the same names, and the time is a coordinate without a dimension.
    with xarray.open_dataset(meshes.parent / "r0.bd", engine="trilith") as ds:
        assert ds.rho.dims == ("ny-1", "nx-1") and float(ds.coords["time"]) == 0 and ds.attrs["nx"] == 4


def test_every_path_of_the_command_is_one_of_python(tmp_path):
    path = tmp_path / "p.bd"
    pairs = [np.arange(2.0), np.arange(2.0) + 5]
    tree = {"h": [{"t": pairs[0], "u": 1}, {"t": pairs[1], "u": 2}], "l": [pairs, pairs[:1]], "d": [{"m": pairs}, {"m": pairs}]}
    trilith.write(path, tree)
    with trilith.open(path) as f:
        # The same item of every dict of a list, and lists inside of lists and of dicts in a list.
        assert f["h/t"][:].tolist() == [[0, 1], [5, 6]] and f["h"]["t"][1, 1] == 6 and f["h/u"][:].tolist() == [1, 2]
        assert f["l"][0].array[:].tolist() == np.asarray(f["l"][0]).tolist() == [[0, 1], [5, 6]]
        assert np.asarray(f["d"][1]["m"]).shape == f["d[1]/m"].array.shape == (2, 2)
        with pytest.raises(ValueError, match="not an array"):
            f["h"].array
    layout = trilith.Layout("p [ {x = f4  y = i4} ]*2\ns { n : i4  v = f4[n] }\nz = s[2]\n")
    point = np.array([(1, 2), (3, 4)], [("x", "f4"), ("y", "i4")])
    one, two = np.ones(1, "f4"), np.full(2, 2, "f4")
    layout.write(path, {"p": point, "z(0).n": 1, "z(0).v": one, "z(1).n": 2, "z(1).v": two})
    with trilith.open(path) as f:
        assert f["p.x"][:].tolist() == [1, 3] and f["p[1].y"][()] == 4
        assert f["z(1).v"][:].tolist() == [2, 2] and f["z(1).n"] == 2


def test_several_variables_grow_together(tmp_path):
    path = tmp_path / "a.bd"
    trilith.Layout("t = [f8]\nr = [f8[2]]\n").write(path, t=np.arange(1.0), r=np.ones((1, 2)))
    with trilith.open(path) as f:
        f.append({"t": np.arange(2.0), "r": np.full((2, 2), 3.0)})
        assert f["t"].array[:].tolist() == [0, 0, 1] and f["r"][:, 0].tolist() == [1, 3, 3]
        with pytest.raises(ValueError, match="gets 1 records"):
            f.append({"t": np.arange(1.0), "r": np.ones((2, 2))})
    # A list of dicts, as a write of Python makes it.
    trilith.write(path, {"h": [{"t": np.arange(2.0), "u": 1}]})
    with trilith.open(path) as f:
        f.append({"h/t": np.full((2, 2), 7.0), "h/u": np.array([2, 3], f["h[0]/u"].dtype if hasattr(f["h[0]/u"], "dtype") else "i8")})
        assert f["h/t"][:, 0].tolist() == [0, 7, 7] and f["h/u"][:].tolist() == [1, 2, 3]


# A million records of the summary block of the document.
MILLION = 1_000_000


@pytest.mark.parametrize("text", ['"" = { NX : i8  time = f8 }', '"" = { NX = i8  time = f8 }'])
def test_a_million_records_are_one_array(tmp_path, text):
    rows = np.zeros(MILLION, [("NX", "<i8"), ("time", "<f8")])
    rows["time"] = np.arange(MILLION)
    (tmp_path / "r.bin").write_bytes(rows.tobytes())
    with trilith.open(tmp_path / "r.bin", layout=f"<\n{text}[{MILLION}]\n") as f:
        assert list(f) == [""] and f["time"][...].sum() == rows["time"].sum() and f[""].shape == (MILLION,)


def test_a_long_list_is_one_array_or_a_dict_of_arrays(tmp_path):
    (tmp_path / "l.bin").write_bytes(np.arange(2 * MILLION, dtype="<f8").tobytes())
    with trilith.open(tmp_path / "l.bin", layout=f"<\nl [ f8[2] ]*{MILLION}\n") as f:
        assert f["l"].shape == (MILLION, 2) and len(f["l"]) == MILLION and f["l"][-1].tolist() == [2e6 - 2, 2e6 - 1]
    with trilith.open(tmp_path / "l.bin", layout=f"<\nl [ / a = f8  g/ b = f8 ]*{MILLION}\n") as f:
        assert f["l/a"].shape == (MILLION,) and f["l"]["g"]["b"][-1] == 2e6 - 1 and f[f"l[{MILLION - 1}]/a"][()] == 2e6 - 2


def test_documentation_and_units_are_seen(tmp_path):
    layout = trilith.Layout(
        '{ N : i8  ## cells\n}\nte = f8[N]  ## (eV) temperature\n#: unit="eV"\ns = { x = f8  ## where\n#: unit="um"\n}[N]\n'
        't = [ f8[N] ]  ## history\n#: unit="ns"\n'
    )
    layout.write(tmp_path / "d.bd", N=2, te=np.ones(2), s=np.zeros(2, [("x", "f8")]), t=np.ones((1, 2)))
    layout.catalog([tmp_path / "d.bd"], tmp_path / "c.bd")
    with trilith.open(tmp_path / "d.bd") as f, trilith.open_set(tmp_path / "c.bd") as family:
        for te in (f["te"], family["te"]):
            assert (te.doc, te.unit) == ("(eV) temperature", "eV")
        assert (f["t"].doc, f["t"].unit) == ("history", "ns") and (f["s.x"].doc, f["s.x"].unit) == ("where", "um")
        assert f["te"].doc != f["s"].doc
    xarray = pytest.importorskip("xarray")
    for file in ("d.bd", "c.bd"):
        with xarray.open_dataset(tmp_path / file, engine="trilith") as ds:
            assert ds.te.attrs["long_name"] == "(eV) temperature" and ds.te.attrs["units"] == "eV"


def test_the_items_of_a_layout_are_those_of_files(tmp_path):
    assert trilith.Layout("T { a = f4 }\ng/ x = T\n/ l [ f8 ]\n").items() == [("g", "dict"), ("g/x", "data"), ("l", "list")]


def test_a_raw_family_keeps_its_byteorder(tmp_path):
    (tmp_path / "r0.raw").write_bytes(np.int64(1).tobytes() + np.ones(1).tobytes())
    layout = trilith.Layout("{ N : i8 }\nx = f8[N]\n")
    for order in (None, "little"):
        layout.catalog([tmp_path / "r0.raw"], tmp_path / "c.bd", byteorder=order)
        assert trilith.open_set(tmp_path / "c.bd")["x"][:].tolist() == [[1]]


PARTICLE = np.dtype([("w", "<f8"), ("id", "<i8"), ("v", "<f4", (3,)), ("kind", "S4")])
PARTICLES = """<
{ n : i8  time = f8 }
p = {w = f8 %1  id = i8 %1  v = f4[3] %1  kind = S1[4] %1}[n] %1
id = i8[n] %1
x = f8[n, 3] %1
small = i4[n] %1
"""


def particles(folder, counts):
    """The catalog of files with these counts of particles, whose identifiers no float holds."""
    folder.mkdir()
    for number, count in enumerate(counts):
        p = np.zeros(count, PARTICLE)
        p["w"], p["id"], p["v"], p["kind"] = 1, 2**53 + 1, [1, 2, 3], b"ion"
        data = np.int64(count).tobytes() + np.float64(number).tobytes() + p.tobytes() + p["id"].tobytes()
        data += np.ones((count, 3)).tobytes() + np.full(count, 7, "<i4").tobytes()
        (folder / f"f{number}.dat").write_bytes(data)
    layout = trilith.Layout(PARTICLES)
    layout.catalog(str(folder / "*.dat"), folder / "c.bd")
    return folder / "c.bd"


@pytest.mark.parametrize("chunks", [None, {}])
def test_padding_in_xarray_is_masked_and_changes_no_identifier(tmp_path, chunks):
    """First tier. Every kind of member: floats, integers of both sizes, arrays and strings."""
    xarray = pytest.importorskip("xarray")
    pytest.importorskip("dask.array")
    catalog, counts = particles(tmp_path / "d", (3, 1, 0, 2)), [3, 1, 0, 2]
    ds = xarray.open_dataset(catalog, engine="trilith", files="pad", chunks=chunks)
    assert set(ds.data_vars) == {"p.w", "p.id", "p.v", "p.kind", "id", "x", "small"} and "p" not in ds
    assert ds.n_length.values.tolist() == counts and "n_length" in ds.coords
    for name in ("p.w", "p.id", "p.kind", "id", "small"):
        assert ds[name].dims == ("time", "n") and ds[name].notnull().sum("n").values.tolist() == counts, name
    assert float(ds["p.w"].mean()) == 1.0 and ds["p.v"].shape == (4, 3, 3) and float(ds["p.v"].sum()) == 36
    for name in ("p.id", "id"):
        assert {value for value in ds[name].values.ravel().tolist() if value == value} == {2**53 + 1}, name
    assert ds["p.kind"].values[1].tolist()[0] == b"ion" and ds["p.v"][0, 2, 1] == 2 and ds["p.id"][1, 0] == 2**53 + 1
    assert pickle.loads(pickle.dumps(ds["p.v"])).equals(ds["p.v"])
    stored = xarray.open_dataset(catalog, engine="trilith", files="pad", chunks=chunks, mask_and_scale=False)
    assert stored.id.dtype == "i8" and stored.id.values[0].tolist() == [2**53 + 1] * 3
    with pytest.raises(NotImplementedError, match="masked array of records"):
        trilith.open_set(catalog, files="pad")["p"].to_xarray()


def test_padding_keeps_its_mask_on_other_ways(tmp_path):
    """First tier: numpy, dask and Zarr."""
    pytest.importorskip("dask.array")
    store = pytest.importorskip("trilith.zarr")
    catalog = particles(tmp_path / "d", (3, 1, 0, 2))
    f = trilith.open_set(catalog, files="pad")
    for name in ("p", "id", "small"):
        whole, lazy = f[name][...], f[name].to_dask(chunks=2).compute()
        for found in (whole, lazy, np.asanyarray(f[name])):
            mask = np.ma.getmaskarray(found)
            mask = mask["w"] if mask.dtype.names else mask
            assert (~mask).sum(1).tolist() == [3, 1, 0, 2], name
    with pytest.raises(NotImplementedError, match="is masked and of"):
        store.copy(catalog, tmp_path / "a.zarr", files="pad")
    trilith.write(tmp_path / "text.asdf", {"s": np.ma.array(["a", "b"], mask=[True, False]), "b": np.ma.array([True, False], mask=[1, 0])})
    with pytest.raises(NotImplementedError, match="no value for missing elements"):
        store.copy(tmp_path / "text.asdf", tmp_path / "b.zarr")


@pytest.mark.parametrize("counts", [(2, 0, 2), (2, 0, 1), (0, 2, 2)])
def test_a_file_without_particles_has_its_own_shape(tmp_path, counts):
    """First tier."""
    catalog = particles(tmp_path / "d", counts)
    each = trilith.open_set(catalog, files="each")
    for name, more in (("p", ()), ("id", ()), ("x", (3,)), ("small", ())):
        assert [np.asarray(one).shape for one in each[name]] == [(count, *more) for count in counts], name
        assert np.concatenate([np.asarray(one) for one in each[name]]).shape == (sum(counts), *more)
        assert each.omitted(name) == []
    padded = trilith.open_set(catalog, files="pad")
    for name in ("id", "x"):
        mask = np.ma.getmaskarray(padded[name][...])
        assert padded[name].shape[:2] == (3, 2) and (~mask).reshape(3, 2, -1)[:, :, 0].sum(1).tolist() == list(counts), name
    assert trilith.open_set(catalog, files="along=n")["id"][...].tolist() == [2**53 + 1] * sum(counts)
    f = trilith.open_set(catalog)
    if len(set(counts) - {0}) == 1:
        # A file that omits an item is masked, and named.
        with pytest.warns(UserWarning, match="1 file omits /id and is masked: f[01].dat"):
            assert f["id"].mask is not None
    else:
        with pytest.raises((KeyError, ValueError), match="has the shape"):
            f["id"]


def test_files_are_in_natural_order(tmp_path):
    """First tier. The order of a catalog, of what is added to it, and of a joined array."""
    folder = tmp_path / "d"
    folder.mkdir()
    layout = trilith.Layout("<\n{ n : i8 time = f8 }\nx = f8[n]\n")
    for number in (1, 2, 3, 9, 10, 11, 100):
        (folder / f"dump_{number}.dat").write_bytes(np.int64(1).tobytes() + np.array([-number, number], "<f8").tobytes())
    right = [1, 2, 3, 9, 10, 11, 100]
    paths = sorted(folder.glob("*.dat"))
    for files in (str(folder / "*.dat"), folder, paths):
        layout.catalog(files, folder / "c.bd")
        assert trilith.open_set(folder / "c.bd")["x"][:, 0].tolist() == right, files
    chosen = [paths[n] for n in (3, 0, 2)]
    layout.catalog(chosen, folder / "c.bd")
    assert trilith.open_set(folder / "c.bd").files == [path.name for path in chosen]
    layout.catalog(paths, folder / "c.bd", add=True)
    assert trilith.open_set(folder / "c.bd").files[:3] == [path.name for path in chosen]
    pytest.importorskip("xarray")
    for number in (1, 2, 10):
        trilith.write(folder / f"r{number}.asdf", {"x": np.array([number])})
    assert trilith.concat(str(folder / "r*.asdf"), "/x")[:, 0].values.tolist() == [1, 2, 10]
    assert [pathlib.Path(name).stem for name in trilith.table(str(folder / "r*.asdf"), {"x": "/x"})["file"]] == ["r1", "r2", "r10"]


def test_a_catalog_is_verified_with_its_files(tmp_path):
    """First tier."""
    catalog = particles(tmp_path / "d", (3, 1, 2, 2))
    assert trilith.open_set(catalog).verify() == [] and trilith.open_set(catalog).verify(deep=True) == []
    files = [catalog.parent / f"f{n}.dat" for n in range(4)]
    files[0].write_bytes(files[0].read_bytes()[:-1])
    files[1].write_bytes(files[1].read_bytes()[:12])
    files[2].write_bytes(np.int64(1).tobytes() + files[2].read_bytes()[8:])
    for deep in (False, True):
        found = trilith.open_set(catalog).verify(deep=deep)
        assert all(any(name in line for line in found) for name in ("f0.dat", "f1.dat", "f2.dat")), found
        assert not any("f3.dat" in line for line in found)
    with pytest.raises(ValueError, match="f0.dat: it has .*; f1.dat: "):
        trilith.Layout(PARTICLES).catalog(str(catalog.parent / "*.dat"), catalog.parent / "d.bd")
