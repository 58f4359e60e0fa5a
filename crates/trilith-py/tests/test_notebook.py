"""The notebook runs as an astronomer runs it, in an empty folder."""

import json
import os
import pathlib
import sys

import pytest

nbclient = pytest.importorskip("nbclient")
nbformat = pytest.importorskip("nbformat")
for needed in ("ipykernel", "gwcs", "asdf_astropy", "polars", "xarray", "dask", "nanoarrow"):
    pytest.importorskip(needed)

NOTEBOOK = pathlib.Path(__file__).parents[3] / "docs" / "tutorials" / "evening.ipynb"


@pytest.mark.skipif(not NOTEBOOK.exists(), reason="no docs above the tests")
def test_the_notebook(tmp_path, monkeypatch):
    # The kernel is this Python, whatever others the machine knows; its settings stay out of the home folder.
    monkeypatch.setenv("JUPYTER_CONFIG_DIR", str(tmp_path / "jupyter"))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(path for path in sys.path if path))
    kernel = tmp_path / "data" / "kernels" / "python3"
    kernel.mkdir(parents=True)
    words = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    (kernel / "kernel.json").write_text(json.dumps({"argv": words, "display_name": "Python 3", "language": "python"}))
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path / "data"))
    folder = tmp_path / "work"
    folder.mkdir()
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(folder)}}).execute()
    shown = {cell["source"]: said(cell) for cell in notebook.cells if cell["cell_type"] == "code"}

    def of(words):
        return next(text for source, text in shown.items() if words in source)

    assert "roman/meta/filter" in of("Completer") and "/roman/meta/exposure" in of("f.search(")
    assert "SkyCoord (ICRS)" in of("pixel_to_world(column") and "61831." in of("start.mjd")
    assert "Picture of float32 (17, 17)" in of("trilith.show(cutout") and "(512, 512)" in of("field.save")
    pictures = [output["data"] for cell in notebook.cells for output in cell.get("outputs", []) if "data" in output]
    assert sum("image/png" in data for data in pictures) >= 2 and (folder / "field.png").read_bytes()[1:4] == b"PNG"
    assert "flux" in of("pl.DataFrame") and "five brightest" in of("observer") and "F158" in of("observer")
    assert "ra" in of("asdf.open") and abs(float(of("stack.mean")) - 1) < 1e-3


def said(cell):
    """Returns the output of a cell, as text."""
    parts = [output.get("text", "") or output.get("data", {}).get("text/plain", "") for output in cell["outputs"]]
    return "\n".join(parts)
