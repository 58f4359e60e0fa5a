"""Columns of tables and units of items in Python. Tier: rest."""

import pickle

import numpy as np
import pytest

import trilith

fits = pytest.importorskip("astropy.io.fits")
h5py = pytest.importorskip("h5py")
asdf = pytest.importorskip("asdf")


def write_table(path):
    """A FITS table with a unit, a scale, a mask and a column of variable length."""
    columns = [
        fits.Column("Flux", "E", unit="Jy", array=[1.0, 2.0, np.nan]),
        fits.Column("id", "J", null=-1, array=[1, -1, 3]),
        fits.Column("t", "I", unit="s", array=np.array([0, 1, 2], "i2")),
    ]
    ragged = fits.Column("spec", "PE()", unit="W", array=np.array([np.arange(2.0), np.arange(1.0), np.arange(3.0)], object))
    for name, more in (("plain.fits", []), ("ragged.fits", [ragged])):
        fits.BinTableHDU.from_columns([*columns, *more], name="CAT").writeto(path / name)
        for keyword, value in (("TSCAL3", 0.5), ("TZERO3", 10.0)):
            fits.setval(path / name, keyword, value=value, ext=1)


def test_fits_columns_have_unit_mask_and_scale(tmp_path):
    write_table(tmp_path)
    for name in ("plain.fits", "ragged.fits"):
        with trilith.open(tmp_path / name) as f:
            flux, number, time = (f[f"fits/CAT/data/{column}"] for column in ("Flux", "id", "t"))
            assert (flux.unit, number.unit, time.unit) == ("Jy", None, "s")
            np.testing.assert_array_equal(flux[:], np.array([1, 2, np.nan], "f4"))
            assert flux.mask is None and time.mask is None and number.mask is not None
            assert number[:].tolist() == [1, None, 3] and time[:].tolist() == [10, 10.5, 11] and time[1:].tolist() == [10.5, 11]
            assert f["fits/1/data"]["id"].tolist() == [1, None, 3] if name == "plain.fits" else "id" in f["fits/1/data"]
            with pytest.raises(KeyError, match="Flux"):
                f["fits/1/data/flx"]
            assert "fits/1/data/Flux" in f and "fits/1/data/flx" not in f
            again = pickle.loads(pickle.dumps(flux))
            assert again.unit == "Jy" and again[:2].tolist() == [1, 2]
    with trilith.open(tmp_path / "ragged.fits") as f:
        assert f["fits/1/data/spec"].unit == "W" and f["fits/1/data/spec/2"].tolist() == [0, 1, 2]


def test_columns_of_records_and_members(tmp_path):
    records = np.array([(1, 2.5, (0.5, b"a")), (3, 4.5, (1.5, b"bc"))], [("n", "i4"), ("x", "f8"), ("p", [("y", "f8"), ("s", "S2")])])
    with h5py.File(tmp_path / "x.h5", "w") as f:
        f["g/t"] = records
        text = np.empty(2, [("s", h5py.string_dtype()), ("n", "i4")])
        text["s"], text["n"] = ["\u00e4", "bcd"], [1, 2]
        f["text"] = text
    np.save(tmp_path / "x.npy", records)
    asdf.AsdfFile({"t": records}).write_to(tmp_path / "x.asdf")
    for name, path in (("x.h5", "g/t"), ("x.npy", "data"), ("x.asdf", "t")):
        with trilith.open(tmp_path / name) as f:
            assert f[f"{path}/n"].tolist() == [1, 3] and f[f"{path}/p/y"].tolist() == [0.5, 1.5], name
            assert [str(np.array(text).astype("U")) for text in f[f"{path}/p/s"].tolist()] == ["a", "bc"]
    with trilith.open(tmp_path / "x.h5") as f:
        assert f["text/s"].tolist() == ["\u00e4", "bcd"] and f["text/n"].tolist() == [1, 2]


def test_units_of_images_and_quantities(tmp_path):
    units = pytest.importorskip("astropy.units")
    pytest.importorskip("asdf_astropy")
    hdu = fits.PrimaryHDU(np.ones((2, 3), "f4"))
    hdu.header["BUNIT"] = "MJy/sr"
    hdu.writeto(tmp_path / "i.fits")
    asdf.AsdfFile({"q": [1.0, 2.0] * units.m}).write_to(tmp_path / "q.asdf")
    with trilith.open(tmp_path / "i.fits") as f:
        assert f["fits/0/data"].unit == "MJy/sr"
    with trilith.open(tmp_path / "q.asdf") as f:
        assert f["q"].unit == "m" and f["q/value"].unit == "m"
    # The header of a FITS file that became ASDF goes with its array.
    trilith.convert(tmp_path / "i.fits", tmp_path / "i.asdf")
    with trilith.open(tmp_path / "i.asdf") as f:
        assert f["fits/0/data"].unit == "MJy/sr"


def test_hdus_are_indexed_as_their_data(tmp_path):
    image = np.arange(12, dtype="f4").reshape(3, 4)
    write_table(tmp_path)
    fits.HDUList([fits.PrimaryHDU(), fits.ImageHDU(image, name="SCI")]).writeto(tmp_path / "i.fits")
    with trilith.open(tmp_path / "i.fits") as f:
        hdu = f["fits/SCI"]
        for index in (0, slice(1, None), (slice(None), 2), ([0, 2], 1), image > 5, ..., np.array([2, 0])):
            np.testing.assert_array_equal(hdu[index], image[index])
        assert hdu["data"].shape == (3, 4) and list(hdu) == ["header", "data"]
        with pytest.raises(KeyError):
            f["fits/0"][0]
    with trilith.open(tmp_path / "plain.fits") as f:
        table = f["fits/CAT"]
        assert table[1:]["t"].tolist() == [10.5, 11] and table[np.array([True, False, True])]["id"].tolist() == [1, 3]
    with trilith.open(trilith.dumps({"meta": {"a": 1}})) as f, pytest.raises(KeyError, match="a"):
        f["meta"][np.array([1, 2])]
