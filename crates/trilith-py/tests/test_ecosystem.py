"""Objects of astropy, gwcs and roman_datamodels come out of their converters, from files that Trilith reads."""

import copy
import warnings

import asdf
import numpy as np
import pytest

import trilith
import trilith.asdf

astropy_units = pytest.importorskip("astropy.units")
pytest.importorskip("asdf_astropy")

from astropy import coordinates, table, time  # noqa: E402
from astropy import units as u  # noqa: E402
from astropy.io import fits  # noqa: E402
from astropy.modeling import models  # noqa: E402


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def objects():
    rng = np.random.default_rng(1)
    return {
        "quantity": rng.normal(size=(4, 5)) * u.m / u.s,
        "scalar": 5 * u.Jy,
        "unit": u.Unit("km / s"),
        "time": time.Time(["2020-01-02T03:04:05", "2021-01-01"], scale="utc"),
        "delta": time.TimeDelta(3 * u.s),
        "coordinate": coordinates.SkyCoord([1, 2] * u.deg, [3, 4] * u.deg, frame="icrs"),
        "table": table.Table({"a": np.arange(3), "b": ["x", "yy", "z"], "c": np.arange(3.0)}),
        "qtable": table.QTable({"a": np.arange(3) * u.s}),
        "masked": table.Table({"m": table.MaskedColumn([1, 2, 3], mask=[0, 1, 0])}),
        "fits": fits.HDUList([fits.PrimaryHDU(), fits.ImageHDU(np.arange(6.0).reshape(2, 3), name="SCI")]),
        "model": models.Gaussian2D(1, 2, 3, 4, 5) | models.Scale(2.0),
        "polynomial": models.Polynomial2D(2, c0_0=1, c1_1=2),
    }


def equal(one, other):
    if isinstance(one, fits.HDUList):
        return len(one) == len(other) and (one["SCI"].data == other["SCI"].data).all()
    if isinstance(one, table.Table):
        return one.colnames == other.colnames and all(equal(np.asarray(one[n]), np.asarray(other[n])) for n in one.colnames)
    if isinstance(one, coordinates.SkyCoord):
        return equal(one.ra, other.ra) and equal(one.dec, other.dec)
    if hasattr(one, "parameters"):
        return type(one) is type(other) and (one.parameters == other.parameters).all()
    return bool(np.all(one == other))


@pytest.mark.parametrize("lazy_tree", [False, True])
@pytest.mark.parametrize("codec", [None, "lz4"])
def test_astropy(tmp_path, lazy_tree, codec):
    made = objects()
    asdf.AsdfFile(made).write_to(tmp_path / "a.asdf", all_array_compression=codec)
    with trilith.asdf.open(tmp_path / "a.asdf", lazy_tree=lazy_tree) as af:
        assert isinstance(af, trilith.asdf.AsdfFile)
        for name, expected in made.items():
            assert type(af[name]) is type(expected), name
            assert equal(af[name], expected), name
        af.write_to(tmp_path / "b.asdf")
    assert trilith.open(tmp_path / "b.asdf")["asdf_library/name"] == "trilith"
    for opened in (asdf.open, trilith.asdf.open):
        with opened(tmp_path / "b.asdf") as af:
            af.validate()
            for name, expected in made.items():
                assert type(af[name]) is type(expected) and equal(af[name], expected), name


def test_gwcs(tmp_path):
    gwcs = pytest.importorskip("gwcs")
    from gwcs import coordinate_frames as frames

    detector = frames.Frame2D(name="detector", axes_names=("x", "y"), unit=(u.pix, u.pix))
    sky = frames.CelestialFrame(reference_frame=coordinates.ICRS(), name="sky")
    turn = models.AffineTransformation2D(np.array([[1e-5, 2e-6], [-2e-6, 1e-5]]))
    forward = (
        models.Shift(-10) & models.Shift(-20) | turn | models.Pix2Sky_TAN() | models.RotateNative2Celestial(5.6, -72.0, 180)
    )
    wcs = gwcs.WCS([(detector, forward), (sky, None)])
    # One model that stands twice is one object in the file.
    asdf.AsdfFile({"wcs": wcs, "again": wcs, "part": turn}).write_to(tmp_path / "w.asdf")
    with trilith.asdf.open(tmp_path / "w.asdf") as af:
        assert af["wcs"](3, 4) == wcs(3, 4) and af["again"] is af["wcs"]
        af.write_to(tmp_path / "v.asdf")
    with asdf.open(tmp_path / "v.asdf") as af:
        assert af["wcs"](3, 4) == wcs(3, 4) and af["again"] is af["wcs"]
        assert repr(af["wcs"]) == repr(wcs)


@pytest.fixture
def roman(tmp_path):
    rdm = pytest.importorskip("roman_datamodels.datamodels")
    model = rdm.ImageModel.create_fake_data(shape=(512, 512))
    model.data = np.random.default_rng(2).normal(100, 5, (512, 512)).astype("f4")
    model.dq = np.zeros((512, 512), "u4")
    path = tmp_path / "roman.asdf"
    model.save(path)
    return rdm, path, model


def test_roman_opens_through_trilith(roman, tmp_path):
    rdm, path, model = roman
    with trilith.asdf.open(path, lazy_tree=True) as af, rdm.open(af) as opened:
        assert type(opened) is rdm.ImageModel
        np.testing.assert_array_equal(opened.data[10:12], model.data[10:12])
    with trilith.asdf.everywhere(), rdm.open(path) as opened:
        # The file is asdf's own, and what reads it is said here.
        assert type(opened) is rdm.ImageModel and type(opened._asdf) is asdf.AsdfFile
        assert trilith.asdf.report()[-1].by == "trilith"
        assert opened.meta.filename == "roman.asdf"
        part = opened.data[100:110]
        np.testing.assert_array_equal(part, model.data[100:110])
        np.testing.assert_array_equal(opened.data, model.data)
        assert opened.validate() is None
        expected = opened.meta.exposure.start_time
        twin = opened.copy()
        out = tmp_path / "again.asdf"
        opened.save(out)
    assert twin.data[1, 1] == model.data[1, 1]
    with rdm.open(out) as again:
        np.testing.assert_array_equal(again.data, model.data)
        assert again.meta.exposure.start_time == expected
        assert type(again) is rdm.ImageModel


def test_a_roman_file_keeps_everything(roman, tmp_path):
    rdm, path, _ = roman
    with trilith.asdf.open(path) as af:
        before = copy.deepcopy(af["roman"]["meta"]["wcsinfo"])
        af.write_to(tmp_path / "o.asdf")
    one, other = trilith.open(path), trilith.open(tmp_path / "o.asdf")
    assert {k: v for k, v in one.digest().items()} == other.digest()
    assert list(one["roman"]) == list(other["roman"])
    with rdm.open(tmp_path / "o.asdf") as model:
        assert type(model) is rdm.ImageModel
        assert dict(model.meta.wcsinfo.items()).keys() == dict(before.items()).keys()
