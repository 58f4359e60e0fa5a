"""Arrays as pictures: what `show` gives, what notebooks show, and the viewer in a frame."""

import subprocess
import sys
import time
import urllib.error
import urllib.request

import numpy
import pytest

import trilith

PNG = b"\x89PNG\r\n\x1a\n"


@pytest.mark.parametrize("dtype", ["u1", "i2", ">i4", "f4", ">f8", "?", "c8"])
def test_arrays_of_files_and_of_numpy_are_shown_alike(dtype):
    data = (numpy.arange(300).reshape(15, 20) % 7).astype(dtype)
    with trilith.open(trilith.dumps({"a": data})) as f:
        ours, theirs = trilith.show(f["a"], interval="minmax"), trilith.show(data, interval="minmax")
    assert ours._repr_png_() == theirs._repr_png_()
    assert ours._repr_png_().startswith(PNG) and ours._repr_svg_() is None
    assert ours.range == (0.0, 1.0 if dtype == "?" else 6.0)


def test_a_picture_is_saved_under_the_ending_that_it_is(tmp_path):
    image, line = trilith.show(numpy.eye(9), cmap="viridis", origin="lower", width=40), trilith.show(numpy.arange(9.0))
    image.save(tmp_path / "x.png")
    line.save(tmp_path / "x.SVG")
    assert (tmp_path / "x.png").read_bytes() == image._repr_png_()
    assert (tmp_path / "x.SVG").read_text() == line._repr_svg_() and line._repr_png_() is None and line.range is None
    with pytest.raises(ValueError, match="needs the extension .png"):
        image.save(tmp_path / "x.svg")
    for wrong in ({"interval": "none"}, {"cmap": "none"}, {"stretch": "none"}, {"origin": "none"}, {"resample": "none"}):
        with pytest.raises(ValueError):
            trilith.show(numpy.eye(3), **wrong)
    with pytest.raises(ValueError):
        trilith.show(numpy.array(["a", "b"]))


def test_notebooks_have_a_small_picture_and_text_stays_text():
    tree = {"<script>": "<img src=x onerror=y>", "a": numpy.arange(12.0).reshape(3, 4), "b": numpy.arange(3)}
    with trilith.open(trilith.dumps(tree)) as f:
        for html in (f["a"]._repr_html_(), f._repr_html_()):
            assert "data:image/png;base64," in html and "<th>greatest</th><td>11" in html
            assert "<script>" not in html and "onerror=y>" not in html
        assert "<img" not in f["b"]._repr_html_()


def answer(address):
    try:
        with urllib.request.urlopen(address, timeout=10) as response:
            return response.status, response.headers
    except urllib.error.HTTPError as error:
        return error.code, error.headers


def test_the_viewer_is_embedded_and_ends_with_what_shows_it(tmp_path):
    path = tmp_path / "a.asdf"
    trilith.write(path, {"a": numpy.eye(4)})
    with trilith.open(path) as f:
        view = trilith.view(f, height=300)
    assert f'src="{view.address}"' in view._repr_html_() and 'height="300"' in view._repr_html_()
    status, headers = answer(view.address)
    assert status == 200 and "X-Frame-Options" not in headers
    view.close()
    with pytest.raises(OSError):
        answer(view.address)
    with pytest.raises(ValueError, match="no file"):
        trilith.view()
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match="no file"):
        trilith.view(tmp_path / "empty")
    # A process that is killed takes its server with it.
    code = "import sys, time, trilith; print(trilith.view(sys.argv[1]).address, flush=True); time.sleep(60)"
    child = subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE)
    address = child.stdout.readline().decode().strip()
    assert answer(address)[0] == 200
    child.kill()
    child.wait()
    child.stdout.close()
    for _ in range(300):
        try:
            answer(address)
        except OSError:
            return
        time.sleep(0.1)
    pytest.fail("the server goes on")


def test_notebook_shows_rows_of_tables():
    """A notebook shows the first rows of a table. First tier."""
    records = numpy.zeros(30, dtype=[("name", "U8"), ("flux", "f4"), ("at", "f8", (2,))])
    records["name"], records["flux"] = [f"<{n}>" for n in range(30)], numpy.arange(30) / 3
    html = trilith.open(trilith.dumps({"t": records}))["t"]._repr_html_()
    assert html.count("<tr>") == 21 and "20 of 30 rows" in html and "<th>flux</th>" in html
    assert "&lt;19&gt;" in html and "&lt;20&gt;" not in html and "0.33333334" in html
    short = trilith.open(trilith.dumps({"t": records[:3]}))["t"]._repr_html_()
    assert short.count("<tr>") == 4 and "rows" not in short
