"""`trilith.table`: values of many files, as lists and as Arrow."""

import signal
import subprocess
import sys
import threading
import time
import warnings

import numpy
import pytest

import trilith

COLUMNS = {
    "filter": "/meta/filter",
    "time": "/meta/time",
    "count": "/meta/count",
    "good": "/meta/good",
    "nothing": "/meta/nothing",
    "shape": "/data@shape",
    "top": "/data@max",
    "a=b, c": "/meta/mixed",
}


@pytest.mark.parametrize("extension", ["parquet", "arrow"])
def test_integers_beyond_2_to_the_53_are_exact_in_binary_tables(tmp_path, extension):
    pyarrow = pytest.importorskip("pyarrow")
    parquet, ipc = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pyarrow.ipc")
    numbers = {"odd": 2**53 + 1, "negative": -(2**53) - 1, "most": 2**63 - 1, "half": 0.5, "unsigned": 2**64 - 1, "long": 3**50}
    for name, number in numbers.items():
        (tmp_path / f"{name}.asdf").write_text(f"#ASDF 1.0.0\n%YAML 1.1\n--- {{n: {number}}}\n...\n")
    # A column of numbers that no type has together is text, with all digits.
    chosen = [("odd", "negative", "most"), ("odd", "half"), ("odd", "unsigned"), ("unsigned",), ("long", "negative"), ("most", "half")]
    for names in chosen:
        out = tmp_path / f"out.{extension}"
        files = [str(tmp_path / f"{name}.asdf") for name in names]
        subprocess.run([sys.executable, "-m", "trilith", "table", *files, "-c", "n=/n", "-o", out], check=True, capture_output=True)
        made = parquet.read_table(out) if extension == "parquet" else ipc.open_file(out).read_all()
        found = made["n"].to_pylist()
        want = [numbers[name] for name in names]
        assert found == (want if made["n"].type == pyarrow.int64() else [str(number) for number in want]), names
        assert made["n"].type == (pyarrow.int64() if set(names) <= {"odd", "negative", "most"} else pyarrow.string())


@pytest.fixture
def archive(tmp_path):
    folder = tmp_path / "archive"
    folder.mkdir()
    for number in range(20):
        meta = {
            "filter": "F158" if number % 2 else "Fä184",
            "time": number / 4 if number % 2 else number,
            "count": number,
            "good": number != 3,
            "mixed": "x" if number == 7 else number,
            "list": [{"name": "a"}, {"name": "b"}],
        }
        if number == 5:
            del meta["filter"], meta["count"], meta["good"], meta["time"]
        trilith.write(folder / f"r{number:02}.asdf", {"meta": meta, "data": numpy.arange(number + 1)})
    return folder


def made(archive, **options):
    with pytest.warns(UserWarning, match="the column a=b, c has int and text"):
        return trilith.table(archive, COLUMNS, **options)


def expected(column):
    def at(number):
        if number == 5 and column in ("filter", "count", "good", "time"):
            return None
        return {
            "filter": "F158" if number % 2 else "Fä184",
            "time": number / 4 if number % 2 else float(number),
            "count": number,
            "good": number != 3,
            "nothing": None,
            "shape": f"[{number + 1}]",
            "top": number,
            "a=b, c": "x" if number == 7 else str(number),
        }[column]

    return [at(number) for number in range(20)]


def test_columns_keep_their_types_and_order(archive):
    found = made(archive)
    assert found.names == ["file", *COLUMNS] and len(found) == 20 and not found.errors
    kinds = ["text", "text", "float", "int", "bool", "null", "text", "int", "text"]
    assert list(found.types.values()) == kinds
    for column in COLUMNS:
        assert found[column] == expected(column), column
    assert [type(value) for value in found["time"][:2]] == [float, float]
    assert found["file"][3].endswith("r03.asdf") and found.rows()[2]["count"] == 2
    with pytest.raises(KeyError, match="no column 'tim'"):
        found["tim"]
    assert "20 rows" in repr(found) and found._repr_html_().count("<tr>") == 21


def test_rows_are_chosen_sorted_and_of_lists(archive):
    found = trilith.table(str(archive), {"n": "/meta/count"}, where="n >= 4 and n < 8", sort="n:desc")
    assert found["n"] == [7, 6, 4]
    names = {"name": "/name", "n": "//meta/count", "i": "@index"}
    listed = trilith.table(archive / "r02.asdf", names, each="/meta/list")
    assert listed.rows() == [
        {"file": str(archive / "r02.asdf"), "name": "a", "n": 2, "i": 0},
        {"file": str(archive / "r02.asdf"), "name": "b", "n": 2, "i": 1},
    ]


def test_files_are_names_patterns_and_several(archive):
    count = {"n": "/meta/count"}
    assert trilith.table(f"{archive}/r0[1-3].asdf", count)["n"] == [1, 2, 3]
    assert trilith.table([archive / "r09.asdf", f"{archive}/r01.asdf"], count)["n"] == [9, 1]
    assert trilith.table((path for path in archive.glob("r1?.asdf")), count, sort="n")["n"] == list(range(10, 20))
    with pytest.raises(ValueError, match="no file of a known format"):
        trilith.table([], count)
    for wrong in ({"where": "m > 3"}, {"sort": "m"}, {"each": "list"}, {"errors": "ignore"}):
        with pytest.raises(ValueError):
            trilith.table(archive, count, **wrong)
    with pytest.raises(ValueError, match="does not begin with /"):
        trilith.table(archive, {"n": "count"})
    with pytest.raises(TypeError):
        trilith.table(archive, ["/meta/count"])


def test_a_file_that_cannot_be_read_is_said(archive):
    (archive / "r04.asdf").write_text("text")
    with pytest.warns(UserWarning, match="1 file could not be read, the first of them .*r04.asdf"):
        found = trilith.table(archive, {"n": "/meta/count"})
    assert len(found) == 19 and list(found.errors) == [str(archive / "r04.asdf")]
    assert isinstance(found.errors[str(archive / "r04.asdf")], (NotImplementedError, ValueError))
    with pytest.raises((NotImplementedError, ValueError)) as raised:
        trilith.table(archive, {"n": "/meta/count"}, errors="raise")
    assert any("r04.asdf" in note for note in raised.value.__notes__)
    with pytest.warns(UserWarning, match="2 files"):
        trilith.table([archive, archive / "missing.asdf"], {"n": "/meta/count"})


def test_arrow_has_the_same(archive):
    pytest.importorskip("nanoarrow")
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table(made(archive))
    table.validate(full=True)
    kinds = ["large_string", "large_string", "double", "int64", "bool", "null", "large_string", "int64", "large_string"]
    assert [str(kind) for kind in table.schema.types] == kinds
    for column in COLUMNS:
        assert table[column].to_pylist() == expected(column), column
    assert pyarrow.table(trilith.table(archive, {"n": "/meta/count"}, where="n > 99")).num_rows == 0


def test_pandas_polars_and_duckdb_take_it(archive):
    pytest.importorskip("nanoarrow")
    found = made(archive)
    polars = pytest.importorskip("polars")
    assert polars.DataFrame(found)["count"].to_list() == expected("count")
    pandas = pytest.importorskip("pandas")
    assert pandas.DataFrame.from_arrow(found)["top"].tolist() == expected("top")
    duckdb = pytest.importorskip("duckdb")
    assert duckdb.sql("select max(top), sum(count) from found").fetchall() == [(19, 185)]


def test_layouts_are_those_of_open(tmp_path):
    for number in range(3):
        (tmp_path / f"raw{number}.bin").write_bytes(bytes([number, 2]))
    (tmp_path / "notes.dud").write_text("x = u1[2]")
    found = trilith.table(tmp_path, {"least": "/x@min"}, layout="x = u1[2]")
    assert found["least"] == [0, 1, 2]


def test_other_threads_go_on_and_an_interruption_is_heard(archive):
    """A pipe without a writer keeps a file from ever being read."""
    import os

    pipe = archive / "r30.asdf"
    os.mkfifo(pipe)
    code = f"import trilith\nprint('begun', flush=True)\ntrilith.table({str(pipe)!r}, {{'n': '/n'}})"
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert child.stdout.readline() == b"begun\n"
    time.sleep(0.5)
    child.send_signal(signal.SIGINT)
    try:
        _, problem = child.communicate(timeout=20)
    finally:
        child.kill()
    assert b"KeyboardInterrupt" in problem

    counted, stop = [0], threading.Event()

    def count():
        while not stop.is_set():
            counted[0] += 1
            time.sleep(0)

    other = threading.Thread(target=count)
    other.start()
    pipe.unlink()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        before = counted[0]
        for _ in range(20):
            trilith.table(archive, COLUMNS)
        after = counted[0]
    stop.set()
    other.join()
    assert after > before
