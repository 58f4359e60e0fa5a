"""Tables of a file in pandas, polars, pyarrow, xarray and DuckDB: taken as they are, or refused with the call that takes them."""

import collections.abc
import datetime
import warnings

import numpy as np
import pytest

import trilith

pl = pytest.importorskip("polars")
pd = pytest.importorskip("pandas")
pa = pytest.importorskip("pyarrow")
xarray = pytest.importorskip("xarray")
pytest.importorskip("asdf_astropy")

import asdf  # noqa: E402
from astropy import coordinates, table, time  # noqa: E402
from astropy import units as u  # noqa: E402

ROWS = np.array([(1, 2.5, b"x"), (2, 3.5, b"yy")], [("a", "i4"), ("b", ">f8"), ("c", "S3")])


@pytest.fixture(scope="module")
def f(tmp_path_factory):
    """Every kind of table that a file may hold."""
    rich = table.QTable({"a": [1, 2, 3], "name": ["x", "yy", "z"], "q": [1.0, 2, 3] * u.m})
    rich["m"] = table.MaskedColumn([1, 2, 3], mask=[False, True, False])
    sky = table.Table({"a": [1, 2]})
    sky["c"] = coordinates.SkyCoord([1, 2] * u.deg, [3, 4] * u.deg)
    tree = {
        "astropy": rich,
        "rows": ROWS,
        "columns": {"a": np.arange(3), "b": np.arange(3.0)},
        "quantities": {"a": [1.0, 2] * u.s, "b": np.arange(2)},
        "sky": sky,
    }
    path = tmp_path_factory.mktemp("frames") / "t.asdf"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        asdf.AsdfFile(tree).write_to(path)
    return trilith.open(path)


TABLES = ["astropy", "rows", "columns"]
EXPECTED = {
    "astropy": {"a": [1, 2, 3], "name": ["x", "yy", "z"], "q": [1.0, 2.0, 3.0], "m": [1, None, 3]},
    "rows": {"a": [1, 2], "b": [2.5, 3.5], "c": ["x", "yy"]},
    "columns": {"a": [0, 1, 2], "b": [0.0, 1.0, 2.0]},
}


@pytest.mark.parametrize("name", TABLES)
def test_every_table_is_taken(f, name):
    assert pl.DataFrame(f[name]).to_dict(as_series=False) == EXPECTED[name]
    assert pa.table(f[name]).to_pydict() == EXPECTED[name]
    frame = pd.DataFrame.from_arrow(f[name])
    assert list(frame.columns) == list(EXPECTED[name]) and frame["a"].tolist() == EXPECTED[name]["a"]
    if name != "columns":
        assert pa.array(f[name]).to_pylist()[0] == {key: values[0] for key, values in EXPECTED[name].items()}


@pytest.mark.parametrize("name", TABLES)
def test_pandas_refuses_with_the_right_call(f, name):
    with pytest.raises(TypeError, match=r"use pandas.DataFrame.from_arrow\(x\)"):
        pd.DataFrame(f[name])


def test_xarray_refuses_a_table_and_takes_what_it_can(f):
    with pytest.raises(TypeError, match="pandas.DataFrame.from_arrow"):
        xarray.Dataset(f["astropy"])
    with pytest.raises(TypeError, match="not one array"):
        xarray.DataArray(f["astropy"])
    assert xarray.Dataset(f["columns"])["b"].values.tolist() == [0, 1, 2]
    assert xarray.DataArray(f["rows"]["b"]).values.tolist() == [2.5, 3.5]


def test_a_table_is_a_mapping_in_all_but_name(f):
    found = f["astropy"]
    assert type(found) is trilith.Columns and list(found) == ["colnames", "columns", "qtable"]
    assert not isinstance(found, collections.abc.Mapping) and isinstance(f["columns"], collections.abc.Mapping)
    assert found["columns/0/name"] == "a" and dict(found)["qtable"] is True and found == found.to_dict()
    again = trilith.open(trilith.dumps({"t": found}))["t"]
    assert type(again) is trilith.Columns and again == found and again.tag == found.tag


def test_units_are_in_the_metadata(f):
    schema = pa.table(f["astropy"]).schema
    assert schema.field("q").metadata == {b"unit": b"m"} and schema.field("a").metadata is None
    made = pa.table(f["quantities"])
    assert made.schema.field("a").metadata == {b"unit": b"s"} and made.to_pydict() == {"a": [1, 2], "b": [0, 1]}


def test_what_arrow_cannot_hold_is_refused_with_the_right_call(f):
    for take in (pl.DataFrame, pa.table, pd.DataFrame.from_arrow):
        with pytest.raises(NotImplementedError, match="'c' is more than an array.*as_="):
            take(f["sky"])
    assert isinstance(f.get("sky", as_="asdf"), table.Table)


UTC = datetime.timezone.utc
MOMENTS = [
    (["2020-01-02T03:04:05.000", "2021-01-01T00:00:00.000"], "utc", pa.timestamp("ms", "UTC"), {}),
    (["2020-01-02 03:04:05.123456", "2021-01-01"], "utc", pa.timestamp("us", "UTC"), {}),
    (["2020-01-02T03:04:05"], "tai", pa.timestamp("s"), {}),
    (["2020-01-02T03:04:05.123456789"], "tt", pa.timestamp("ns"), {}),
    # A leap second is no moment of Arrow's; nor is a year that nanoseconds do not reach.
    (["2016-12-31T23:59:60.000"], "utc", pa.large_string(), {}),
    (["1500-01-01T00:00:00.123456789"], "tai", pa.large_string(), {}),
    ([58849.5, 58850.0], "utc", pa.float64(), {b"format": b"mjd"}),
]


@pytest.mark.parametrize(("values", "scale", "kind", "notes"), MOMENTS)
def test_times_are_timestamps_where_that_is_exact(values, scale, kind, notes):
    tag = "tag:stsci.edu:asdf/time/time-1.1.0"
    node = {"value": np.array(values), "scale": scale}
    if notes:
        node["format"] = notes[b"format"].decode()
    from asdf.tagged import TaggedDict

    found = pa.table(trilith.open(trilith.dumps({"t": {"when": TaggedDict(node, tag)}}))["t"])
    field = found.schema.field("when")
    assert field.type == kind and field.metadata == {b"scale": scale.encode(), **notes}
    if pa.types.is_timestamp(kind):
        assert [np.datetime64(value.replace(" ", "T")) for value in values] == list(found["when"].to_numpy())
    else:
        assert found["when"].to_pylist() == values


def test_times_of_astropy(tmp_path):
    made = table.Table({"t": time.Time(["2020-01-02T03:04:05", "2021-01-01"], scale="tai")})
    found = pa.table(trilith.open(trilith.dumps({"t": made}))["t"])
    assert found.schema.field("t").type == pa.timestamp("ms") and found.schema.field("t").metadata == {b"scale": b"tai"}
    frame = pl.DataFrame(trilith.open(trilith.dumps({"t": made}))["t"])
    assert frame["t"][0] == datetime.datetime(2020, 1, 2, 3, 4, 5)


def test_hdu_is_its_table_and_its_image(tmp_path):
    """An HDU counts as its data where a table or an image is asked for. First tier."""
    fits = pytest.importorskip("astropy.io.fits")
    image = np.arange(12, dtype="f4").reshape(3, 4)
    fits.HDUList([fits.PrimaryHDU(), fits.BinTableHDU(ROWS, name="CAT"), fits.ImageHDU(image, name="SCI")]).writeto(tmp_path / "x.fits")
    opened = trilith.open(tmp_path / "x.fits")
    assert pa.table(opened["fits/CAT"]).to_pylist() == pa.table(opened["fits/CAT/data"]).to_pylist()
    assert pd.DataFrame.from_arrow(opened["fits/CAT"])["a"].tolist() == [1, 2]
    assert repr(trilith.show(opened["fits/SCI"])) == repr(trilith.show(opened["fits/SCI/data"]))
    with pytest.raises(TypeError):
        pa.table(opened["fits/SCI"])
    with pytest.raises(ValueError, match="array"):
        trilith.show(opened["fits/0"])
