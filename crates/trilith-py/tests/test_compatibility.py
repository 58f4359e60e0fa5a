"""Arrays that earlier versions pickled. Rest tier."""

import json
import os
import pathlib
import pickle
import shutil

import numpy as np
import pytest

FOLDER = pathlib.Path(__file__).resolve().parents[3] / "tests/compatibility"


@pytest.mark.parametrize("version", [path.name for path in FOLDER.iterdir() if path.is_dir()])
def test_pickled_arrays_of_earlier_versions_are_read(version, tmp_path):
    folder = tmp_path / "files"
    shutil.copytree(FOLDER / version, folder)
    for path in folder.iterdir():
        os.utime(path, (1700000000, 1700000000))
    pickles = json.loads((folder / "pickles.json").read_text())
    assert pickles
    for name, case in pickles.items():
        array = pickle.loads(case["pickle"].replace("FOLDER", str(folder)).encode("ascii"))
        assert np.ma.asarray(array[...]).tolist() == case["values"], name
