"""Objects of other libraries go into a tree, and come out of it."""

import datetime
import io
import subprocess
import sys
import warnings

import numpy as np
import pytest

import trilith

asdf = pytest.importorskip("asdf")
pytest.importorskip("asdf_astropy")
pl = pytest.importorskip("polars")
pd = pytest.importorskip("pandas")
pa = pytest.importorskip("pyarrow")
xarray = pytest.importorskip("xarray")
da = pytest.importorskip("dask.array")

from astropy import coordinates, table, time  # noqa: E402
from astropy import units as u  # noqa: E402
from astropy.modeling import models  # noqa: E402


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def rich():
    made = table.QTable({"a": [1, 2, 3], "name": ["x", "yy", "z"], "q": [1.0, 2, 3] * u.m})
    made["t"] = time.Time(["2020-01-02T03:04:05", "2021-01-01", "2022-01-01"], scale="tai")
    made["c"] = coordinates.SkyCoord([1, 2, 3] * u.deg, [3, 4, 5] * u.deg)
    made["m"] = table.MaskedColumn([1, 2, 3], mask=[False, True, False])
    return made


OBJECTS = {
    "quantity": lambda: np.arange(6.0).reshape(2, 3) * u.m / u.s,
    "scalar": lambda: 5 * u.Jy,
    "unit": lambda: u.Unit("km / s"),
    "time": lambda: time.Time(["2020-01-02T03:04:05", "2021-01-01"], scale="tt"),
    "moment": lambda: time.Time("2020-01-02T03:04:05"),
    "delta": lambda: time.TimeDelta(3 * u.s),
    "coordinate": lambda: coordinates.SkyCoord([1, 2] * u.deg, [3, 4] * u.deg),
    "table": lambda: table.Table({"a": np.arange(3), "b": ["x", "yy", "z"]}),
    "qtable": rich,
    "model": lambda: models.Gaussian2D(1, 2, 3, 4, 5) | models.Scale(2.0),
}


def equal(one, other):
    if isinstance(one, table.Table):
        return one.colnames == other.colnames and all(equal(one[name], other[name]) for name in one.colnames)
    if isinstance(one, coordinates.SkyCoord):
        return equal(one.ra, other.ra) and equal(one.dec, other.dec)
    if hasattr(one, "parameters"):
        return (one.parameters == other.parameters).all()
    return bool(np.all(one == other)) and getattr(one, "unit", None) == getattr(other, "unit", None)


@pytest.mark.parametrize("name", OBJECTS)
def test_objects_of_astropy(tmp_path, name):
    made = OBJECTS[name]()
    path = tmp_path / "o.asdf"
    trilith.write(path, {"meta": {"it": made}, "list": [made]})
    with asdf.open(path) as af:
        assert type(af["meta"]["it"]) is type(made) and equal(af["meta"]["it"], made)
    with trilith.open(path) as f:
        for found in (f.get("meta/it", as_="asdf"), f.get("list/0", as_="asdf")):
            assert type(found) is type(made) and equal(found, made)
    # Set in a file that exists, in the words of its version.
    with trilith.open(path) as f:
        f["new"] = made
        f.update()
        assert equal(f.get("new", as_="asdf"), made)
    with asdf.open(path) as af:
        assert equal(af["new"], made)


def test_what_a_version_has_no_words_for_is_refused():
    for version in ("1.0", "finf-0.1"):
        with pytest.raises(NotImplementedError, match="Quantity"):
            trilith.dumps({"q": 5 * u.m}, version=version)
    assert trilith.open(trilith.dumps({"q": 5 * u.m}, version="1.2")).get("q", as_="asdf") == 5 * u.m


def test_only_what_is_asked_for_is_converted():
    f = trilith.open(trilith.dumps({"a": {"unit": u.m, "n": 3}, "b": np.arange(3), "text": "x"}))
    assert f.get("a", as_="asdf") == {"unit": u.m, "n": 3} and f.get("text", as_="asdf") == "x"
    assert type(f.get("b", as_="asdf")) is np.ndarray and f.get("nothing", 7, as_="asdf") == 7
    assert f["a"].get("unit", as_="asdf") == u.m
    with pytest.raises(ValueError, match="as_ is"):
        f.get("a", as_="astropy")


def test_a_tagged_value_keeps_its_tag():
    from asdf.tagged import TaggedDict, TaggedList, TaggedString

    tree = {"d": TaggedDict({"a": 1}, "asdf://x/d-1.0.0"), "l": TaggedList([1], "asdf://x/l-1.0.0")}
    tree["u"] = TaggedString("m")
    tree["u"]._tag = "asdf://x/u-1.0.0"
    f = trilith.open(trilith.dumps(tree))
    assert f["u"] == "m" and f["u"].tag == "asdf://x/u-1.0.0" and f["l"] == [1]
    assert f["d"].tag == "asdf://x/d-1.0.0" and f["l"].tag == "asdf://x/l-1.0.0" and f["d/a"] == 1


FRAMES = {
    "pandas": lambda: pd.DataFrame(
        {
            "i": [1, 2],
            "s": ["x", None],
            "f": [1.5, 2.5],
            "t": pd.to_datetime(["2020-01-01", "2021-01-01T00:00:00.5"], format="ISO8601"),
            "n": pd.array([2**60 + 1, None], dtype="Int64"),
            "c": pd.Categorical(["u", "v"]),
            "b": [True, False],
        }
    ),
    "polars": lambda: pl.DataFrame(
        {
            "i": [1, 2],
            "s": ["x", None],
            "f": [1.5, None],
            "t": [datetime.datetime(2020, 1, 1), datetime.datetime(2021, 1, 1, 0, 0, 0, 500000)],
            "n": [2**60 + 1, None],
            "c": pl.Series(["u", "v"], dtype=pl.Categorical),
            "b": [True, None],
        }
    ),
    "pyarrow": lambda: pa.table({"i": [1, 2], "n": [2**60 + 1, None], "s": ["x", None], "l": pa.array([[1, 2], [3, 4]], pa.list_(pa.int32(), 2))}),
}


@pytest.mark.parametrize("name", FRAMES)
def test_tables_of_frames(name):
    made = FRAMES[name]()
    data = trilith.dumps({"t": made})
    found = trilith.open(data)["t"]
    assert type(found) is trilith.Columns
    arrow = pa.table(found)
    expected = {
        "pandas": lambda: {key: [None if value is pd.NA or value != value else value for value in made[key]] for key in made if key != "t"},
        "polars": lambda: {key: made[key].to_list() for key in made.columns if key != "t"},
        "pyarrow": made.to_pydict if name == "pyarrow" else None,
    }[name]()
    for key, values in expected.items():
        assert arrow[key].to_pylist() == values, key
    if "t" in arrow.column_names:
        times = [datetime.datetime(2020, 1, 1), datetime.datetime(2021, 1, 1, 0, 0, 0, 500000)]
        assert [value.replace(tzinfo=None) for value in arrow["t"].to_pylist()] == times
    # For a reader with asdf-astropy it is a table of astropy.
    with asdf.open(io.BytesIO(data)) as af:
        assert isinstance(af["t"], table.Table) and af["t"].colnames == arrow.column_names
    assert isinstance(trilith.open(data).get("t", as_="asdf"), table.Table)


def test_units_of_arrow_are_kept():
    schema = pa.schema([pa.field("flux", pa.float64(), metadata={"unit": "Jy"})])
    f = trilith.open(trilith.dumps({"t": pa.table({"flux": [1.0]}, schema=schema)}))
    assert f["t/columns/0/unit"] == "Jy" and pa.table(f["t"]).schema.field("flux").metadata == {b"unit": b"Jy"}


def test_columns_and_values_of_frames():
    tree = {"a": pd.Series([1, 2]), "b": pl.Series([1, None]), "c": pa.array([1.5]), "d": pd.Timestamp("2020-01-01"), "e": pd.NA}
    f = trilith.open(trilith.dumps(tree))
    assert f["a"].tolist() == [1, 2] and f["b"].masked().tolist() == [1, None] and f["c"].tolist() == [1.5]
    assert f["d"] == datetime.datetime(2020, 1, 1) and f["e"] is None


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (lambda: pd.DataFrame({"a": [{}, 1]}), "'a' of dict, int cannot be written"),
        (lambda: pd.DataFrame({"a": [1]}, index=["x"]), "labels without a name"),
        (lambda: pl.DataFrame({"a": [datetime.datetime(2020, 1, 1), None]}), "times that are missing"),
        (lambda: pl.DataFrame({"a": [datetime.timedelta(1)]}), "'a' of timedelta64"),
        (lambda: pd.DataFrame([[1, 2]], columns=["a", "a"]), "same name"),
        (lambda: object(), "object cannot be written"),
    ],
)
def test_what_cannot_be_written_says_why(given, said):
    with pytest.raises(TypeError, match=said):
        trilith.dumps({"x": given()})


def test_an_index_with_a_name_is_a_column():
    frame = pd.DataFrame({"a": [1, 2]}, index=pd.Index(["x", "y"], name="key"))
    assert pa.table(trilith.open(trilith.dumps({"t": frame}))["t"]).to_pydict() == {"key": ["x", "y"], "a": [1, 2]}


def test_datasets_of_xarray_come_back(tmp_path):
    made = xarray.Dataset(
        {"v": (("y", "x"), np.ones((2, 3)), {"units": "m"}), "lazy": ("x", da.arange(3, chunks=2))},
        coords={"t": np.array(["2020-01-01T00:00:00.25", "2021-01-01"], "M8[ns]"), "y": [1, 2]},
        attrs={"title": "x", "n": 3},
    )
    tree = xarray.DataTree.from_dict({"/": made, "/below": xarray.Dataset({"b": ("x", [1, 2, 3])})})
    path = tmp_path / "d.asdf"
    trilith.write(path, {"ds": made, "da": made.v, "dt": tree, "bare": xarray.DataArray([1.0]), "variable": made.v.variable})
    with xarray.open_dataset(path, engine="trilith", group="ds") as found:
        xarray.testing.assert_identical(found.load(), made.compute())
    with xarray.open_datatree(path, engine="trilith", group="dt") as found:
        xarray.testing.assert_equal(found.to_dataset().load(), made.compute())
        assert found["below/b"].values.tolist() == [1, 2, 3]
    f = trilith.open(path)
    array = f["da/data"].to_xarray()
    assert array.dims == ("y", "x") and f["da/attrs/units"] == "m" and f["bare/data"].tolist() == [1.0]


def test_nothing_is_imported_for_what_is_plain():
    words = "import sys, trilith, numpy; trilith.dumps({'a': numpy.arange(3), 'b': {'c': [1, 'x', 2.5]}}); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", words], capture_output=True, text=True, check=True)
    assert not {"asdf", "astropy", "pandas", "polars", "pyarrow", "xarray", "dask"} & set(done.stdout.split())


def test_a_wcs_is_converted_alone(tmp_path):
    gwcs = pytest.importorskip("gwcs")
    from gwcs import coordinate_frames as frames

    detector = frames.Frame2D(name="detector", axes_names=("x", "y"), unit=(u.pix, u.pix))
    sky = frames.CelestialFrame(reference_frame=coordinates.ICRS(), name="sky")
    forward = (models.Shift(-10) & models.Shift(-20)) | models.Pix2Sky_TAN() | models.RotateNative2Celestial(5.6, -72.0, 180)
    wcs = gwcs.WCS([(detector, forward), (sky, None)])
    f = trilith.open(trilith.dumps({"meta": {"wcs": wcs}, "data": np.zeros((4, 5))}))
    found = f.get("meta/wcs", as_="asdf")
    assert type(found) is gwcs.WCS and found(3, 4) == wcs(3, 4)
    # The frame of the pixels names the axes of the array beside it.
    assert f["data"].to_xarray().dims == ("y", "x")


def test_labels_of_pandas_are_written_or_refused():
    named = pd.Series([1, 2], index=pd.Index(["x", "y"], name="key"), name="s")
    with trilith.open(trilith.dumps({"t": named})) as f:
        table = f.table("t") if hasattr(f, "table") else f["t"]
        assert [column["name"] for column in f.tree["t"]["columns"]] == ["key", "s"] and table is not None
    for labelled in (
        pd.Series([1, 2], index=["x", "y"]),
        pd.Series([1, 2], index=pd.RangeIndex(10, 14, 2)),
        pd.DataFrame({"a": [1, 2]}, index=pd.RangeIndex(10, 14, 2)),
        pd.DataFrame({"a": [1, 2]}, index=["x", "y"]),
    ):
        with pytest.raises(TypeError, match="labels without a name"):
            trilith.dumps({"t": labelled})
    frame = pd.DataFrame({"a": [1, 2]})
    frame.attrs["unit"] = "m"
    with pytest.warns(UserWarning, match="attrs"):
        trilith.dumps({"t": frame})
    assert np.asarray(trilith.open(trilith.dumps({"s": pd.Series([1, 2])}))["s"]).tolist() == [1, 2]
