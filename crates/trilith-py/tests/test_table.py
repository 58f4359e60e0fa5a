"""pyarrow, polars and DuckDB read the output of `trilith table`."""

import json
import subprocess
import sys

import pytest

import trilith

pyarrow = pytest.importorskip("pyarrow")
from pyarrow import ipc, parquet  # noqa: E402

COLUMNS = ["filter=/meta/filter", "time=/meta/time", "count=/meta/count", "good=/meta/good", "shape=/data@shape", "top=/data@max"]


@pytest.fixture
def archive(tmp_path):
    import numpy

    folder = tmp_path / "archive"
    folder.mkdir()
    for number in range(20):
        meta = {"filter": "F158" if number % 2 else "F184", "time": number / 4, "count": number, "good": number != 3}
        if number == 5:
            del meta["filter"]
        trilith.write(folder / f"r{number:02}.asdf", {"meta": meta, "data": numpy.arange(number + 1)})
    return folder


def table(archive, output, *words):
    columns = [word for column in COLUMNS for word in ("-c", column)]
    program = [sys.executable, "-m", "trilith", "table", str(archive), *columns, "-o", str(output), *words]
    subprocess.run(program, check=True)


def check(found):
    assert found["file"][3].endswith("r03.asdf")
    assert found["filter"][:7] == ["F184", "F158", "F184", "F158", "F184", None, "F184"]
    assert found["time"] == [number / 4 for number in range(20)]
    assert found["count"] == list(range(20))
    assert found["good"] == [number != 3 for number in range(20)]
    assert found["top"] == list(range(20))


def test_parquet_and_arrow_are_read_with_their_types(archive, tmp_path):
    table(archive, tmp_path / "t.parquet")
    table(archive, tmp_path / "t.arrow")
    kept = parquet.read_table(tmp_path / "t.parquet")
    types = {name: str(kind) for name, kind in zip(kept.schema.names, kept.schema.types)}
    assert (types["time"], types["count"], types["good"], types["filter"]) == ("double", "int64", "bool", "string")
    check(kept.to_pydict())
    with ipc.open_file(tmp_path / "t.arrow") as reader:
        check(reader.read_all().to_pydict())
    polars = pytest.importorskip("polars")
    check(polars.read_parquet(tmp_path / "t.parquet").to_dict(as_series=False))
    check(polars.read_ipc(tmp_path / "t.arrow").to_dict(as_series=False))


def test_csv_and_json_lines_say_the_same(archive, tmp_path):
    table(archive, tmp_path / "t.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "t.jsonl").read_text().splitlines()]
    check({name: [row[name] for row in rows] for name in rows[0]})
    table(archive, tmp_path / "t.csv")
    polars = pytest.importorskip("polars")
    check(polars.read_csv(tmp_path / "t.csv").to_dict(as_series=False))


def test_where_is_what_a_database_finds(archive, tmp_path):
    duckdb = pytest.importorskip("duckdb")
    table(archive, tmp_path / "t.parquet")
    for ours, sql in [
        ('filter == "F184" and time > 2', "filter = 'F184' and time > 2"),
        ("not (count < 7 or good == false)", "not (count < 7 or good = false)"),
        ('filter != "F184"', "filter <> 'F184'"),
        ("count >= 4 and count <= 4.5", "count >= 4 and count <= 4.5"),
    ]:
        table(archive, tmp_path / "w.jsonl", "--where", ours)
        rows = [json.loads(line)["count"] for line in (tmp_path / "w.jsonl").read_text().splitlines()]
        found = duckdb.sql(f"select count from '{tmp_path / 't.parquet'}' where {sql} order by count").fetchall()
        assert rows == [count for (count,) in found], ours
    # The line of the page about many files.
    found = duckdb.sql(
        f"select filter, count(*), max(top) from '{tmp_path / 't.parquet'}' group by filter order by filter nulls last"
    ).fetchall()
    assert found == [("F158", 9, 19), ("F184", 10, 18), (None, 1, 5)]
