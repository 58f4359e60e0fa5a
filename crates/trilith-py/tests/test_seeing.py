"""Arrays as pictures: what `show` gives, what notebooks show, and the viewer in a frame."""

import base64
import re
import subprocess
import sys
import time
import urllib.error
import urllib.request
import zlib

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


def rows_of(png):
    """The shades of a grey PNG without filters other than none and sub, up, average, Paeth: row by row from the top."""
    data, at, size, packed = png, 8, None, b""
    while at < len(data):
        length, name = int.from_bytes(data[at : at + 4], "big"), data[at + 4 : at + 8]
        body = data[at + 8 : at + 8 + length]
        size = (int.from_bytes(body[:4], "big"), int.from_bytes(body[4:8], "big")) if name == b"IHDR" else size
        packed += body if name == b"IDAT" else b""
        at += 12 + length
    raw, (width, height) = zlib.decompress(packed), size
    above, rows = bytes(width), []
    for number in range(height):
        kind, line = raw[number * (width + 1)], raw[number * (width + 1) + 1 : (number + 1) * (width + 1)]
        row = bytearray()
        for x, byte in enumerate(line):
            left, up, corner = row[x - 1] if x else 0, above[x], above[x - 1] if x else 0
            guess = left + up - corner
            paeth = min((left, up, corner), key=lambda near: abs(guess - near))
            row.append((byte + (0, left, up, (left + up) // 2, paeth)[kind]) % 256)
        rows.append(bytes(row))
        above = rows[-1]
    return rows


@pytest.mark.parametrize("form", ["x.asdf", "x.fits"])
def test_the_first_row_has_one_place_in_all_pictures(tmp_path, form):
    """Tier 1 (cli.md, fourth round): lower for FITS images and arrays with sky coordinates, else upper."""
    image = numpy.arange(12, dtype="f4").reshape(4, 3)
    meta = {"ctype1": "RA---TAN", "ctype2": "DEC--TAN", "crpix1": 2, "crpix2": 2, "crval1": 10.0, "crval2": 20.0}
    meta |= {"cdelt1": -0.001, "cdelt2": 0.001}
    trilith.write(tmp_path / "sky.asdf", {"sky": {"data": image, "meta": meta}, "plain": image})
    source, path = tmp_path / "sky.asdf", "sky/data"
    if form == "x.fits":
        source, path = tmp_path / form, "fits/0/data"
        header = [["SIMPLE", True]]
        trilith.write(tmp_path / "f.asdf", {"fits": [{"header": header, "data": image}]})
        text = (tmp_path / "f.asdf").read_bytes().replace(b"fits:\n", b"fits: !<tag:astropy.org:astropy/fits/fits-1.0.0>\n", 1)
        (tmp_path / "f.asdf").write_bytes(text)
        trilith.convert(tmp_path / "f.asdf", source)
    upper = rows_of(trilith.show(image, interval="minmax")._repr_png_())
    with trilith.open(source) as f:
        assert rows_of(trilith.show(f[path], interval="minmax")._repr_png_()) == upper[::-1]
        assert rows_of(trilith.show(f[path], interval="minmax", origin="upper")._repr_png_()) == upper
        small = base64.b64decode(re.search(r"base64,([^\"]+)", f[path]._repr_html_())[1])
        assert rows_of(small)[0][0] > rows_of(small)[-1][0]
        with pytest.raises(ValueError, match="auto, upper, lower"):
            trilith.show(f[path], origin="left")
    with trilith.open(tmp_path / "sky.asdf") as f:
        assert rows_of(trilith.show(f["plain"], interval="minmax")._repr_png_()) == upper
        assert rows_of(trilith.show(f["plain"], interval="minmax", origin="lower")._repr_png_()) == upper[::-1]
    command = [sys.executable, "-m", "trilith"]
    words = ["show", f"{source}#/{path}", "--interval", "minmax", "-o", tmp_path / "shown.png"]
    subprocess.run([*command, *words], check=True)
    assert rows_of((tmp_path / "shown.png").read_bytes()) == upper[::-1]
    if form == "x.asdf":
        for origin, expected in (("auto", upper[::-1]), ("upper", upper)):
            out = tmp_path / f"{origin}.png"
            words = ["cutout", f"{source}#/{path}", "--sky", "10,20.0005", "--size", "3px,4px", "--edge", "trim", "--origin", origin, "-o", out]
            subprocess.run([*command, *words], check=True)
            shown = rows_of(out.read_bytes())
            assert (shown[0][0] > shown[-1][0]) == (expected[0][0] > expected[-1][0])
