"""Tables in Arrow's C data interface, as pandas, polars, DuckDB and pyarrow read them."""

import warnings

import numpy as np
import pytest

import trilith

pytest.importorskip("nanoarrow")

ROWS = np.zeros(
    4,
    [("id", "i4"), ("flux", ">f8"), ("name", "S5"), ("label", "U3"), ("ok", "?"), ("xyz", "f4", (3,)), ("z", "c8"), ("in", [("a", "i2")])],
)
ROWS["id"], ROWS["flux"] = range(4), [0.5, 1, np.nan, 2]
ROWS["name"], ROWS["label"] = [b"a", b"bb", b"", b"ccccc"], ["ä", "", "xyz", "q"]
ROWS["ok"][1], ROWS["xyz"], ROWS["z"] = True, np.arange(12).reshape(4, 3), 1 + 2j


@pytest.fixture(params=[None, "lz4"])
def f(request):
    tree = {
        "rows": ROWS,
        "masked": np.ma.array(ROWS[["id", "flux"]], mask=[(False,) * 2, (True,) * 2, (False,) * 2, (False,) * 2]),
        "x": np.arange(5, dtype="f2"),
        "m": np.ma.masked_less(np.arange(20), 2),
        "image": np.arange(6).reshape(2, 3),
        "columns": {"a": np.arange(3), "b": np.array(["x", "y", "z"])},
        "uneven": {"a": np.arange(3), "b": np.arange(4)},
        "none": np.zeros((0,), "i8"),
        "bad": np.array([b"\xff"]),
        "scalar": np.array(3.0),
    }
    return trilith.open(trilith.dumps(tree, codec=request.param))


def test_pyarrow(f):
    pa = pytest.importorskip("pyarrow")
    table = pa.table(f["rows"])
    table.validate(full=True)
    assert table.column_names == list(ROWS.dtype.names) and pa.schema(f["rows"]) == table.schema
    assert table["id"].to_pylist() == [0, 1, 2, 3] and table["ok"].to_pylist() == [False, True, False, False]
    assert table["name"].to_pylist() == ["a", "bb", "", "ccccc"] and table["label"].to_pylist() == ["ä", "", "xyz", "q"]
    assert table["xyz"].to_pylist()[3] == [9, 10, 11] and table["z"].to_pylist()[0] == {"real": 1, "imag": 2}
    assert table["in"].to_pylist()[0] == {"a": 0} and np.isnan(table["flux"].to_pylist()[2])
    assert pa.table(f["masked"])["id"].to_pylist() == [0, None, 2, 3]
    assert pa.array(f["m"]).to_pylist()[:3] == [None, None, 2] and pa.array(f["m"]).null_count == 2
    assert pa.array(f["x"]).type == pa.float16() and pa.array(f["none"]).to_pylist() == []
    assert pa.array(f["image"]).to_pylist() == [[0, 1, 2], [3, 4, 5]]
    assert pa.table(f["columns"]).to_pydict() == {"a": [0, 1, 2], "b": ["x", "y", "z"]}
    for name, kind in (("bad", ValueError), ("scalar", ValueError)):
        with pytest.raises(kind):
            pa.array(f[name])
    for name in ("uneven",):
        with pytest.raises(TypeError, match="not a table"):
            pa.table(f[name])


def test_pandas(f):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    frame = pandas.DataFrame.from_arrow(f["rows"])
    assert frame["id"].sum() == 6 and frame["name"][3] == "ccccc"


def test_polars(f):
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(f["rows"])
    assert frame["id"].sum() == 6 and frame["xyz"][2].to_list() == [6, 7, 8]
    assert polars.DataFrame(f["masked"])["id"].null_count() == 1


def test_duckdb(f):
    duckdb = pytest.importorskip("duckdb")
    rows = f["rows"]
    assert duckdb.sql("select sum(id), max(name) from rows where id > 1").fetchall() == [(5, "ccccc")]
    assert rows.shape == (4,)


def test_a_table_of_astropy(tmp_path):
    pytest.importorskip("asdf_astropy")
    pa = pytest.importorskip("pyarrow")
    import asdf
    from astropy import table, units

    made = table.QTable({"a": [1, 2, 3], "name": ["x", "yy", "z"], "q": [1.0, 2, 3] * units.m})
    made["m"] = table.MaskedColumn([1, 2, 3], mask=[False, True, False])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        asdf.AsdfFile({"t": made}).write_to(tmp_path / "t.asdf")
    found = pa.table(trilith.open(tmp_path / "t.asdf")["t"]).to_pydict()
    assert found["a"] == [1, 2, 3] and found["name"] == ["x", "yy", "z"] and found["q"] == [1, 2, 3]
    assert found["m"] == [1, None, 3]
