"""Values that are in two places, and files that a slip would cost: what Python warns of, and what it refuses.

In the rest of the tests.
"""

import hashlib
import io
import json
import re
import subprocess
import sys
import warnings

import numpy as np
import pytest
import trilith

asdf = pytest.importorskip("asdf")
fits = pytest.importorskip("astropy.io.fits")


@pytest.fixture
def shared(tmp_path):
    """A file in which an array and a mapping have two names each."""
    array, node = np.arange(4.0), {"k": 1, "deep": {"j": [1, 2]}}
    path = tmp_path / "shared.asdf"
    asdf.AsdfFile({"a": array, "b": array, "m": node, "n": {"o": node}}).write_to(path)
    return path


def names(path):
    with asdf.open(path) as file:
        return {key: np.array(file[key]).tolist() for key in ("a", "b") if key in file.tree}, file.tree.get("m"), file["n"]["o"]


def test_new_value_of_one_name_leaves_other_name(shared, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with trilith.open(shared) as file:
            file["a"] = np.zeros(4)
            file["m"] = 5
            file.update()
    assert names(shared) == ({"a": [0.0] * 4, "b": [0.0, 1.0, 2.0, 3.0]}, 5, {"k": 1, "deep": {"j": [1, 2]}})
    with trilith.open(shared) as file:
        del file["a"]
        file.update()
    assert names(shared)[0] == {"b": [0.0, 1.0, 2.0, 3.0]}


@pytest.mark.parametrize("target", ["path", "buffer", "itself"])
def test_edit_inside_of_shared_mapping_warns(shared, tmp_path, target):
    with trilith.open(shared) as file:
        file["n/o/deep/j/0"] = 9
        with pytest.warns(UserWarning, match="/n/o is also /m"):
            if target == "itself":
                file.update()
                result = shared
            elif target == "path":
                file.write_to(tmp_path / "new.asdf")
                result = tmp_path / "new.asdf"
            else:
                out = io.BytesIO()
                file.write_to(out)
                (tmp_path / "new.asdf").write_bytes(out.getvalue())
                result = tmp_path / "new.asdf"
    _, node, other = names(result)
    assert node == other == {"k": 1, "deep": {"j": [9, 2]}}


def test_conversion_replaces_data_only_on_request(tmp_path):
    for name in ("a", "b"):
        trilith.write(tmp_path / f"{name}.asdf", {"name": name, "data": np.arange(3)})
    formats = {"b.asdf": "asdf", "b.dat": "asdf", "b.fits": "fits", "b.bd": "bd", "b.npy.asdf": "npy"}
    np.save(tmp_path / "x.npy", np.arange(3))
    (tmp_path / "b.npy.asdf").write_bytes((tmp_path / "x.npy").read_bytes())
    trilith.convert(tmp_path / "b.asdf", tmp_path / "b.fits", allow_loss=True)
    trilith.convert(tmp_path / "b.asdf", tmp_path / "b.bd", allow_loss=True)
    (tmp_path / "b.dat").write_bytes((tmp_path / "b.asdf").read_bytes())
    for name in formats:
        target = tmp_path / name
        before = target.read_bytes()
        with pytest.raises(ValueError, match="already exists, and its data would be lost; give overwrite=True"):
            trilith.convert(tmp_path / "a.asdf", target, allow_loss=True)
        if target.suffix == ".asdf":
            with trilith.open(tmp_path / "a.asdf") as file, pytest.raises(ValueError, match="overwrite=True"):
                file.write_to(target)
        assert target.read_bytes() == before
        trilith.convert(tmp_path / "a.asdf", target, allow_loss=True, overwrite=True)
        assert target.read_bytes() != before
    # The source itself, a link to it, and files without data may be replaced.
    trilith.convert(tmp_path / "a.asdf", tmp_path / "a.asdf", codec="zlib")
    (tmp_path / "link.asdf").symlink_to("a.asdf")
    trilith.convert(tmp_path / "a.asdf", tmp_path / "link.asdf", codec="none")
    (tmp_path / "empty.asdf").write_bytes(b"")
    (tmp_path / "notes.asdf").write_text("dear diary")
    for name in ("empty.asdf", "notes.asdf", "new.asdf"):
        trilith.convert(tmp_path / "a.asdf", tmp_path / name)
        assert trilith.open(tmp_path / name)["name"] == "a"
    with trilith.open(tmp_path / "a.asdf") as file:
        file.write_to(tmp_path / "new.asdf", overwrite=True)


def jwst(path, flavour="F200W"):
    """A file as stdatamodels writes it: cards, an image, and a tree with both and the SHA-256 of the headers."""
    hdus = fits.HDUList([fits.PrimaryHDU(), fits.ImageHDU(np.ones((2, 2), "f4"), name="SCI")])
    hdus[0].header["FILTER"] = flavour
    hdus[0].header["TARG_RA"] = 10.25
    hdus[0].header["NINTS"] = 3
    hdus[0].header["EXTEND"] = True
    headers = "".join(str(hdu.header) for hdu in hdus)
    tree = {
        "_fits_hash": hashlib.sha256(headers.encode()).hexdigest(),
        "meta": {"instrument": {"filter": flavour}, "target": {"ra": 10.25}, "exposure": {"nints": 3, "groups": 3}},
    }
    buffer = io.BytesIO()
    asdf.AsdfFile(tree).write_to(buffer)
    text = buffer.getvalue().replace(
        b"\nmeta:",
        b"\nsci: !core/ndarray-1.1.0 {source: 'fits:SCI,1', datatype: float32, byteorder: big, shape: [2, 2]}\nmeta:",
    )
    column = fits.Column(name="ASDF_METADATA", format=f"{len(text)}B", array=[np.frombuffer(text, "u1")])
    hdus.append(fits.BinTableHDU.from_columns([column], name="ASDF"))
    hdus.writeto(path)


@pytest.fixture
def embedded(tmp_path):
    path = tmp_path / "jwst.fits"
    jwst(path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert trilith.open(path).warnings == []
    return path


def test_changed_headers_around_tree_are_reported(embedded):
    fits.setval(embedded, "FILTER", value="F444W")
    with pytest.warns(UserWarning, match="_fits_hash does not fit"):
        file = trilith.open(embedded)
    assert any("_fits_hash" in warning for warning in file.warnings)
    assert file["meta/instrument/filter"] == "F200W"


@pytest.mark.parametrize(
    ("path", "value", "stale"),
    [
        ("meta/instrument/filter", "F444W", r"card FILTER of HDU 0 \(PRIMARY\) \('F200W'\)"),
        ("meta/target/ra", 11.5, r"card TARG_RA of HDU 0 \(PRIMARY\)"),
        ("meta/exposure/nints", 4, r"card NINTS of HDU 0"),
        ("sci", np.zeros((2, 2), "f4"), r"HDU 1 \(SCI\) keeps its data, which /sci no longer shows"),
    ],
)
def test_edit_of_tree_names_card_with_old_value(embedded, path, value, stale):
    with trilith.open(embedded) as file:
        file[path] = value
        with pytest.warns(UserWarning, match=stale):
            file.update()


@pytest.mark.parametrize(
    ("keyword", "value", "stale"),
    [
        ("FILTER", "F444W", "/meta/instrument/filter .F200W.; _fits_hash does not fit"),
        ("TARG_RA", 1.5, "/meta/target/ra"),
        ("NINTS", 4, "/meta/exposure/nints"),
    ],
)
def test_edit_of_card_names_node_with_old_value(embedded, keyword, value, stale):
    words = ["set", f"{embedded}#/fits/0/header/{keyword}", str(value), "--json"]
    ended = subprocess.run([sys.executable, "-m", "trilith", *words], capture_output=True, text=True, check=True)
    warned = json.loads(ended.stdout)["warnings"]
    assert len(warned) == 1 and re.search(stale, warned[0]), warned
    assert re.search(stale, ended.stderr)
    # The file now differs from the sum in its tree.
    ended = subprocess.run(
        [sys.executable, "-m", "trilith", "get", f"{embedded}#/meta/instrument/filter"], capture_output=True, text=True, check=True
    )
    assert "_fits_hash does not fit" in " ".join(ended.stderr.split())


def test_equal_edit_of_both_halves_is_silent(embedded):
    with trilith.open(embedded) as file:
        file["meta/exposure/groups"] = 7  # no card has this name, and others have 3 by chance
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            file.update()
