"""`trilith.WCS`: coordinates of arrays with the names of APE 14, without astropy and for it."""

import io
import subprocess
import sys
import warnings

import numpy
import pytest

import trilith

HEADER = {"ctype1": "RA---TAN", "ctype2": "DEC--TAN", "crpix1": 30.5, "crpix2": 20.5, "crval1": 10.0, "crval2": 80.0}
HEADER |= {"cd1_1": -1e-3, "cd1_2": 2e-4, "cd2_1": 1e-4, "cd2_2": 1.1e-3, "radesys": "ICRS"}
SHAPE = (40, 60)


@pytest.fixture
def file():
    return trilith.open(trilith.dumps({"sci": {"header": HEADER, "data": numpy.zeros(SHAPE)}, "other": numpy.zeros(3)}))


def wave():
    header = {"ctype1": "WAVE", "cunit1": "um", "crpix1": 1, "crval1": 2.0, "cdelt1": 0.5}
    return trilith.wcs(trilith.open(trilith.dumps({"header": header, "flux": numpy.ones(5)})), "flux")


def test_an_array_has_its_coordinates(file):
    wcs = file["sci/data"].wcs
    assert isinstance(wcs, trilith.WCS)
    assert (wcs.pixel_n_dim, wcs.world_n_dim, wcs.pixel_shape, wcs.array_shape) == (2, 2, SHAPE[::-1], SHAPE)
    assert wcs.world_axis_units == ("deg", "deg") and wcs.world_axis_physical_types == ("pos.eq.ra", "pos.eq.dec")
    assert wcs.pixel_bounds is None and wcs.axis_correlation_matrix.all() and not wcs.serialized_classes
    assert file["other"].wcs is None and trilith.wcs(file, "other") is None
    # A part has other pixels, so it has none rather than wrong ones.
    assert file["sci/data"].part(slice(2, 4)).wcs is None
    with pytest.raises(KeyError):
        trilith.wcs(file, "nowhere")


def test_an_axis_that_is_left_out_is_a_warning():
    cards = HEADER | {"ctype3": "WAVE-LOG", "crval3": 5.0, "cd3_3": 0.1}
    data = numpy.zeros((2, *SHAPE))
    opened = trilith.open(trilith.dumps({"sci": {"header": cards, "data": data}}))
    with pytest.warns(UserWarning, match="axis 3 is left out.*WAVE-LOG"):
        wcs = trilith.wcs(opened, "sci/data")
    assert (wcs.pixel_n_dim, wcs.world_n_dim) == (3, 2)
    with pytest.warns(UserWarning, match="WAVE-LOG"):
        assert opened["sci/data"].wcs.world_n_dim == 2
    # Those of the AIPS convention are in proportion to pixels.
    cards |= {"ctype3": "VELO-LSR", "velref": 257}
    wcs = trilith.wcs(trilith.open(trilith.dumps({"sci": {"header": cards, "data": data}})), "sci/data")
    assert wcs.world_n_dim == 3 and abs(wcs.pixel_to_world_values(0, 0, 9)[2] - 6.0) < 1e-12
    assert trilith.wcs(trilith.open(trilith.dumps({"sci": {"header": HEADER | {"epoch": 1950.0, "radesys": ""}, "data": data[0]}})), "sci/data")._about["reference"] == "FK4"
    with pytest.raises(trilith.FormatError, match="CDELT3 = 2"):
        trilith.wcs(trilith.open(trilith.dumps({"header": HEADER | {"ctype3": "WAVE", "cdelt3": 2.0}, "data": data})), "data")


def test_values_have_the_shape_of_what_is_given(file):
    wcs = trilith.wcs(file)
    lon, lat = wcs.pixel_to_world_values(29.5, 19.5)
    assert isinstance(lon, float) and abs(lon - 10) < 1e-12 and abs(lat - 80) < 1e-12
    x, y = numpy.meshgrid(numpy.arange(4), numpy.arange(3))
    sky = wcs.pixel_to_world_values(x, y)
    assert [part.shape for part in sky] == [(3, 4)] * 2
    back = wcs.world_to_pixel_values(*sky)
    assert numpy.abs(back[0] - x).max() < 1e-8 and numpy.abs(back[1] - y).max() < 1e-8
    assert wcs.pixel_to_world_values(1, numpy.arange(5.0)[::2])[0].shape == (3,)
    assert wcs.pixel_to_world_values([], [])[0].shape == (0,)
    index = wcs.array_index_to_world_values(2, 1)
    assert index == wcs.pixel_to_world_values(1, 2)
    assert tuple(map(int, wcs.world_to_array_index_values(*index))) == (2, 1)
    assert wave().pixel_to_world_values(2) == 3.0 and list(wave().pixel_to_world_values([0, 1])) == [2.0, 2.5]
    with pytest.raises(ValueError, match="expected 2"):
        wcs.pixel_to_world_values(1)
    with pytest.raises(ValueError, match="exact"):
        wcs.world_to_pixel_values(1, 2, inverse="other")


def test_regions_and_derivatives(file):
    wcs = trilith.wcs(file)
    corners = wcs.footprint()
    assert corners.shape == (4, 2)
    assert wcs.contains(10.0, 80.0) is True and wcs.contains(190.0, -80.0) is False
    assert list(wcs.contains([10.0, 12.0], 80.0)) == [True, False]
    matrix = wcs.jacobian(29.5, 19.5)
    assert abs(matrix[1, 1] - 1.1e-3) < 1e-8 and abs(matrix[0, 0] * numpy.cos(numpy.radians(80)) + 1e-3) < 1e-8
    assert abs(wcs.pixel_scale / 3600 - numpy.sqrt(1.1e-6 + 2e-8)) < 1e-6
    assert wave().footprint() is None and wave().pixel_scale is None
    with pytest.raises(NotImplementedError, match="sky"):
        wave().contains(1, 2)
    there = wcs.transform("pixel", "world", 1.0, 2.0)
    assert there == wcs.pixel_to_world_values(1, 2)


def test_nothing_of_astropy_is_needed():
    code = f"""
import sys, numpy, trilith
f = trilith.open(trilith.dumps({{"header": {HEADER!r}, "data": numpy.zeros((4, 6))}}))
w = f["data"].wcs
w.pixel_to_world_values(1, 2), w.footprint(), repr(w)
assert not [name for name in sys.modules if name.startswith("astropy")]
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_files_that_hold_a_position(tmp_path):
    for number in range(8):
        trilith.write(tmp_path / f"r{number}.asdf", {"header": HEADER | {"crval1": 10.0 + number}, "data": numpy.zeros(SHAPE)})
    trilith.write(tmp_path / "plain.asdf", {"data": numpy.zeros(3), "s_region": "POLYGON 0 0 90 0 90 90"})
    assert [name[-7:] for name in trilith.covering(tmp_path, 13.0, 80.0)] == ["r3.asdf"]
    assert [name[-7:] for name in trilith.covering(tmp_path, 13.0, 80.0, radius=0.2)] == ["r2.asdf", "r3.asdf", "r4.asdf"]
    found = trilith.table(tmp_path, {"scale": "@scale", "centre": "/data@centre"}, covers=(13.0, 80.0))
    assert len(found["scale"]) == 1 and abs(found["scale"][0] - 3.82) < 0.1 and found["centre"][0].startswith("[13.0")
    with pytest.raises(ValueError, match="covers"):
        trilith.table(tmp_path, {}, covers=(13.0, 100.0))


def test_a_cutout_is_a_file_with_coordinates_of_its_own(file, tmp_path):
    wcs = file["sci/data"].wcs
    lon, lat = wcs.pixel_to_world_values(10, 30)
    cutout = trilith.cutout(file, sky=(lon, lat), size="5px,3px", fill=-1)
    assert isinstance(cutout, trilith.File) and cutout["sci/data"].shape == (3, 5) and "other" in cutout
    assert numpy.allclose(cutout["sci/data"].wcs.pixel_to_world_values(2, 1), (lon, lat), rtol=0, atol=1e-12)
    cutout.write_to(tmp_path / "cut.asdf")
    assert trilith.open(tmp_path / "cut.asdf")["sci/data"].shape == (3, 5)
    lon, lat = wcs.pixel_to_world_values(0, 0)
    filled = trilith.cutout(file, "sci/data", sky=(lon, lat), size=(3, 3), fill=-1)["sci/data"]
    assert filled[...].tolist() == [[-1, -1, -1], [-1, 0, 0], [-1, 0, 0]]
    assert numpy.allclose(filled.wcs.pixel_to_world_values(1, 1), (lon, lat), rtol=0, atol=1e-12)
    assert trilith.cutout(file, sky=(lon, lat), size=3, edge="trim")["sci/data"].shape == (2, 2)
    assert trilith.cutout(file, sky=(lon, lat), size=3, edge="skip") is None
    assert trilith.cutout(file, sky=(200.0, -10.0), size=3) is None
    path = tmp_path / "x.asdf"
    path.write_bytes(trilith.dumps({"header": HEADER, "data": numpy.zeros(SHAPE), "err": numpy.ones(SHAPE)}))
    only = trilith.cutout(path, sky=(lon, lat), size=3, only="err")
    assert "err" in only and "header" in only and "data" not in only
    for wrong in ({"size": "3 stones"}, {"size": 3, "edge": "wrap"}):
        with pytest.raises(ValueError):
            trilith.cutout(file, sky=(lon, lat), **wrong)
    with pytest.raises(NotImplementedError):
        trilith.cutout(trilith.open(trilith.dumps({"data": numpy.zeros(SHAPE)})), sky=(lon, lat), size=3)


def test_fits_images_that_are_scaled_or_compressed(tmp_path):
    """The pixels and the extent of the image, not of what is stored. (The rest tier.)"""
    fits = pytest.importorskip("astropy.io.fits")
    stored = numpy.arange(64 * 40, dtype="i2").reshape(64, 40)
    header = fits.Header()
    for key, value in {"CTYPE1": "RA---TAN", "CTYPE2": "DEC--TAN", "CRPIX1": 2, "CRPIX2": 2, "CRVAL1": 10.0, "CRVAL2": 20.0, "CDELT1": -1e-3, "CDELT2": 1e-3}.items():
        header[key] = value
    scaled = fits.ImageHDU(stored, header)
    for key, value in {"BSCALE": 0.5, "BZERO": 10.0, "BLANK": 41}.items():
        scaled.header[key] = value
    for name, hdu in (("scaled", scaled), ("compressed", fits.CompImageHDU(stored, header))):
        path = tmp_path / f"{name}.fits"
        fits.HDUList([fits.PrimaryHDU(), hdu]).writeto(path)
        wanted = fits.getdata(path, 1)[0:3, 0:3].astype("f8")
        with trilith.open(path) as file:
            wcs = file["fits/1/data"].wcs
            assert wcs.pixel_shape == (40, 64) and len(wcs.footprint()) == 4
            assert bool(wcs.contains(*wcs.pixel_to_world_values(39, 63)))
            inside = trilith.cutout(file, sky=wcs.pixel_to_world_values(1, 1), size="3px")
            numpy.testing.assert_array_equal(numpy.asarray(inside["fits/1/data"]).astype("f8"), wanted)
            inside.write_to(tmp_path / "out.fits", overwrite=True)
            numpy.testing.assert_array_equal(fits.getdata(tmp_path / "out.fits", 1).astype("f8"), wanted)
            beyond = numpy.asarray(trilith.cutout(file, sky=wcs.pixel_to_world_values(0, 0), size="3px")["fits/1/data"]).astype("f8")
            assert numpy.isnan(beyond[0]).all() if name == "scaled" else not beyond[0].any()
            numpy.testing.assert_array_equal(beyond[1:, 1:], wanted[:2, :2])
            lon, lat = wcs.pixel_to_world_values(35, 60)
        assert trilith.covering([path], float(lon), float(lat)) == [str(path)]


def test_the_cards_of_a_header(file):
    cards = file["sci/data"].wcs.to_fits_header()
    assert cards["CTYPE1"] == "RA---TAN" and cards["CRPIX1"] == 30.5 and cards["RADESYS"] == "ICRS"
    with pytest.raises(NotImplementedError):
        wave().to_fits_header()
    astropy = pytest.importorskip("astropy.wcs")
    x, y = numpy.meshgrid(numpy.arange(60), numpy.arange(40))
    found = astropy.WCS(cards).pixel_to_world_values(x, y)
    assert numpy.abs(numpy.array(found) - numpy.array(trilith.wcs(file).pixel_to_world_values(x, y))).max() < 1e-11


def test_astropy_takes_it(file):
    pytest.importorskip("astropy")
    from astropy.io import fits
    from astropy.wcs import WCS
    from astropy.wcs.wcsapi import BaseLowLevelWCS, HighLevelWCSWrapper, SlicedLowLevelWCS

    wcs = trilith.wcs(file)
    assert isinstance(wcs, BaseLowLevelWCS) and isinstance(wcs, trilith.WCS)
    peer = WCS(fits.Header({name.upper(): value for name, value in HEADER.items()}))
    high = HighLevelWCSWrapper(wcs)
    sky = high.pixel_to_world(numpy.arange(4), numpy.arange(4))
    assert sky.separation(peer.pixel_to_world(numpy.arange(4), numpy.arange(4))).deg.max() < 1e-12
    assert numpy.abs(high.world_to_pixel(sky)[0] - numpy.arange(4)).max() < 1e-8
    assert high.array_index_to_world(2, 1).separation(peer.array_index_to_world(2, 1)).deg < 1e-12
    sliced = SlicedLowLevelWCS(wcs, numpy.s_[5:, 3:])
    assert numpy.allclose(sliced.pixel_to_world_values(0, 0), wcs.pixel_to_world_values(3, 5), rtol=0, atol=0)
    spectrum = HighLevelWCSWrapper(wave()).pixel_to_world(2)
    assert spectrum.to_value("um") == 3.0
    # Both interfaces are those of one object, as in astropy and gwcs.
    assert wcs.low_level_wcs is wcs
    assert (wcs.pixel_to_world(numpy.arange(4), numpy.arange(4)) == sky).all()
    assert numpy.abs(wcs.world_to_pixel(sky.galactic)[0] - numpy.arange(4)).max() < 1e-8
    assert wcs.array_index_to_world(2, 1) == high.array_index_to_world(2, 1)
    assert [int(index) for index in wcs.world_to_array_index(wcs.array_index_to_world(2, 1))] == [2, 1]
    assert wave().pixel_to_world(2) == spectrum


def test_axes_are_drawn_with_it(file):
    pytest.importorskip("astropy")
    pyplot = pytest.importorskip("matplotlib.pyplot")
    import matplotlib

    matplotlib.use("Agg")
    axes = pyplot.subplot(projection=trilith.wcs(file))
    axes.imshow(numpy.zeros(SHAPE))
    axes.figure.canvas.draw()
    assert [coord.coord_type for coord in axes.coords] == ["longitude", "latitude"]


def test_reproject_takes_it(file):
    reproject = pytest.importorskip("reproject")
    wcs = trilith.wcs(file)
    image = numpy.arange(float(numpy.prod(SHAPE))).reshape(SHAPE)
    same, footprint = reproject.reproject_interp((image, wcs), wcs, shape_out=SHAPE)
    assert numpy.nanmax(numpy.abs(same - image)) < 1e-3 and footprint.mean() > 0.9


def test_positions_are_icrs_or_sky_coordinates(tmp_path):
    """First tier. The same place of the sky, in images of three frames."""
    coordinates = pytest.importorskip("astropy.coordinates")
    header = {"crpix1": 2, "crpix2": 2, "cdelt1": -0.1, "cdelt2": 0.1, "naxis1": 3, "naxis2": 3}
    place = coordinates.SkyCoord(150.0, 2.0, unit="deg")
    for name, frame, kinds in [("icrs", "icrs", "RA DEC"), ("fk4", "fk4", "RA DEC"), ("gal", "galactic", "GLON GLAT")]:
        own = place.transform_to(frame).spherical
        lon, lat = kinds.split()
        cards = {"ctype1": f"{lon:-<4}-TAN", "ctype2": f"{lat:-<4}-TAN", "crval1": own.lon.deg, "crval2": own.lat.deg}
        cards |= {"radesys": "FK4", "equinox": 1950.0} if frame == "fk4" else {}
        tree = {"header": header | {key: float(v) if not isinstance(v, str) else v for key, v in cards.items()}}
        trilith.write(tmp_path / f"{name}.asdf", tree | {"data": numpy.arange(9.0).reshape(3, 3)})
        with trilith.open(tmp_path / f"{name}.asdf") as f:
            for sky, words in [((150.0, 2.0), {}), (place, {}), (place.galactic, {}), ((own.lon.deg, own.lat.deg), {"sky_frame": "native"})]:
                cut = trilith.cutout(f, sky=sky, size=1, **words)
                assert cut["data"][...].tolist() == [[4.0]], (name, sky)
            assert f["data"].wcs.contains(place) and not f["data"].wcs.contains(coordinates.SkyCoord(10.0, 2.0, unit="deg"))
    assert len(trilith.covering(tmp_path, 150.0, 2.0)) == 3
    assert len(trilith.covering(tmp_path, place)) == 3
    assert len(trilith.table(tmp_path, {}, covers=(place, 0.1))["file"]) == 3
    assert [name[-8:] for name in trilith.covering(tmp_path, place.galactic.l.deg, place.galactic.b.deg, sky_frame="native")] == ["gal.asdf"]
    with pytest.raises(ValueError, match="frame"):
        trilith.covering(tmp_path, 1.0, 2.0, sky_frame="moon")


def of_header(**cards):
    return trilith.wcs(trilith.open(trilith.dumps({"header": cards, "flux": numpy.ones(5)})), "flux")


LINE = {"CUNIT1": "s", "CRPIX1": 1.0, "CRVAL1": 100.0, "CDELT1": 2.0}
STARTS = [
    {"MJDREFI": 51544.0, "MJDREFF": 0.00074287037037037, "TIMESYS": "TT"},
    {"MJDREF": 55555.25},
    {"DATEREF": "2005-06-07T01:02:03", "TIMESYS": "UTC"},
    {},
    {"TREFPOS": "GEOCENTER", "MJDREF": 5e4},
    {"TREFPOS": "TOPOCENTER", "MJDREF": 5e4, "OBSGEO-X": -5464008.0, "OBSGEO-Y": -2493679.0, "OBSGEO-Z": 2150656.0},
]


@pytest.mark.parametrize("kind", ["TIME", "UTC", "TAI", "TDB", "GPS", "UT1", "TCB", "GMT", "TDT"])
@pytest.mark.parametrize("start", STARTS, ids=lambda start: next(iter(start), "none"))
def test_time_axes_are_moments(kind, start):
    """FITS standard 4.0, section 9, as `astropy.wcs` reads it. Tier: rest."""
    pytest.importorskip("astropy.wcs")
    from astropy.wcs import WCS

    if kind == "GPS" and "DATEREF" in start:
        pytest.skip("GPS from a date is a Quantity")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted = WCS({"CTYPE1": kind, "NAXIS": 1, **LINE, **start}).pixel_to_world([3.0, 4.0])
        wcs = of_header(CTYPE1=kind, **LINE, **start)
        found = wcs.pixel_to_world([3.0, 4.0])
        assert found.scale == wanted.scale
        assert (found.location is None) == (wanted.location is None)
        numpy.testing.assert_allclose((found - wanted).sec, 0.0, atol=1e-6)
        numpy.testing.assert_allclose(wcs.world_to_pixel(wanted), [3.0, 4.0], atol=1e-6)


@pytest.mark.filterwarnings("ignore")
def test_time_axes_of_gwcs_are_moments():
    """`TemporalFrame` of gwcs gives the same moments. Tier: rest."""
    asdf, gwcs = pytest.importorskip("asdf"), pytest.importorskip("gwcs")
    from astropy import units as u
    from astropy.modeling import models
    from astropy.time import Time
    from gwcs import coordinate_frames as frames

    pixels = frames.CoordinateFrame(2, ["PIXEL"] * 2, (0, 1), unit=[u.pix] * 2, name="pixels")
    starts = [Time("2011-01-01T00:00:00"), Time(55000.25, format="mjd", scale="tai"), Time("J2000"), Time(1234.5, format="unix")]
    for start in [*starts, Time([], format="mjd")]:
        for unit in (u.s, u.day):
            world = frames.CompositeFrame([frames.TemporalFrame(start, unit=unit), frames.SpectralFrame(unit=u.m, axes_order=(1,))])
            peer = gwcs.WCS([(pixels, models.Scale(10.0) & models.Scale(2.0)), (world, None)])
            content = io.BytesIO()
            asdf.AsdfFile({"wcs": peer}).write_to(content)
            wcs = trilith.wcs(trilith.open(content.getvalue()), "wcs")
            wanted, found = peer.pixel_to_world(2.0, 1.0), wcs.pixel_to_world(2.0, 1.0)
            assert found[0].scale == wanted[0].scale and abs((found[0] - wanted[0]).sec) < 1e-6
            numpy.testing.assert_allclose(wcs.world_to_pixel(*wanted), (2.0, 1.0), rtol=1e-9)


def test_quantities_are_converted_to_the_units_of_axes():
    """Astropy's interface takes numbers in the units of the axes; a unit that is given must not be dropped."""
    u = pytest.importorskip("astropy.units")
    wcs = wave()
    assert wcs.pixel_to_world_values(2.0 * u.pix) == wcs.pixel_to_world_values(u.Quantity(2.0)) == 3.0
    numpy.testing.assert_allclose(wcs.world_to_pixel_values(3000.0 * u.nm), 2.0)
    with pytest.raises(ValueError):
        wcs.pixel_to_world_values(2.0 * u.Jy)
    with pytest.raises(ValueError):
        wcs.world_to_pixel_values(3.0 * u.s)


def test_physical_types_are_those_of_astropy():
    """Tier: rest."""
    pytest.importorskip("astropy.wcs")
    from astropy.wcs import WCS
    from astropy.wcs.wcsapi.fitswcs import CTYPE_TO_UCD1

    others = {"HPLN": "HPLT", "HGLN": "HGLT", "CRLN": "CRLT", "RA": "DEC", "GLON": "GLAT", "ELON": "ELAT", "TLON": "TLAT"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for kind in set(CTYPE_TO_UCD1) - set(others.values()):
            cards = {"CTYPE1": kind, "CRPIX1": 1.0, "CRVAL1": 1.0, "CDELT1": 1.0}
            if kind in others:
                cards |= {"CRPIX2": 1.0, "CRVAL2": 1.0, "CDELT2": 1.0}
                cards["CTYPE1"], cards["CTYPE2"] = (f"{name}{'-' * (5 - len(name))}TAN" for name in (kind, others[kind]))
            wanted, found = WCS(cards), of_header(**cards)
            assert list(found.world_axis_physical_types) == list(wanted.world_axis_physical_types), kind


def test_alternate_descriptions_have_letters():
    """First tier."""
    header = {"ctype1": "WAVE", "cunit1": "um", "crpix1": 1, "crval1": 2.0, "cdelt1": 0.5}
    header |= {"ctype1B": "VRAD", "crpix1B": 1.0, "crval1B": 100.0, "cdelt1B": 10.0}
    f = trilith.open(trilith.dumps({"header": header, "flux": [1.0, 2.0, 3.0]}))
    assert trilith.wcs(f, "flux").pixel_to_world_values(2) == 3.0
    assert trilith.wcs(f, "flux", wcs_key="B").pixel_to_world_values(2) == 120.0
    assert trilith.wcs(f, "flux", wcs_key="C") is None
    with pytest.raises(ValueError, match="letter"):
        trilith.wcs(f, "flux", wcs_key="BC")


def header_objects():
    """Objects of astropy.wcs with SIP and with the arrays of a distortion, each with pixels inside."""
    from astropy.io import fits
    from astropy.wcs import WCS
    from astropy.wcs.wcsapi import SlicedLowLevelWCS

    sky = {"CTYPE1": "RA---TAN", "CTYPE2": "DEC--TAN", "CRPIX1": 5.0, "CRPIX2": 6.0, "CRVAL1": 10.0, "CRVAL2": 20.0, "CDELT1": -0.01, "CDELT2": 0.01}
    cards = fits.Header()
    cards.update(sky | {"CTYPE1": "RA---TAN-SIP", "CTYPE2": "DEC--TAN-SIP", "A_ORDER": 2, "B_ORDER": 2, "A_2_0": 1e-3, "B_1_1": -2e-3})
    sip = WCS(cards)
    sip.pixel_shape = (20, 10)
    yield "sip", sip, (3.0, 4.0)
    yield "slice", SlicedLowLevelWCS(sip, numpy.s_[2:8, 3:12]), (3.0, 4.0)
    cards = fits.Header()
    cards.update(sky)
    arrays = []
    for axis in (1, 2):
        array = fits.ImageHDU(numpy.random.default_rng(axis).normal(size=(3, 4)).astype("f4"), name="WCSDVARR", ver=axis)
        array.header.update(CRPIX1=1.0, CRPIX2=1.0, CRVAL1=1.0, CRVAL2=1.0, CDELT1=5.0, CDELT2=5.0)
        arrays.append(array)
        cards[f"CPDIS{axis}"] = "LOOKUP"
        cards.update({f"DP{axis}.EXTVER": axis, f"DP{axis}.NAXES": 2, f"DP{axis}.AXIS.1": 1, f"DP{axis}.AXIS.2": 2})
    yield "arrays", WCS(cards, fits.HDUList([fits.PrimaryHDU(), *arrays])), (7.0, 8.0)


@pytest.mark.parametrize("name", ["sip", "slice", "arrays"])
def test_astropy_coordinates_are_written_and_read_back(name, tmp_path):
    """Both readers get the positions that the object has (tag astropy/wcs/wcs of asdf-astropy). Tier: rest."""
    pytest.importorskip("asdf_astropy")
    import asdf

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wcs, pixel = next((wcs, pixel) for known, wcs, pixel in header_objects() if known == name)
        wanted = numpy.atleast_1d(wcs.pixel_to_world_values(*pixel))
        trilith.write(tmp_path / "x.asdf", {"wcs": wcs})
        found = trilith.wcs(tmp_path / "x.asdf", "wcs")
        numpy.testing.assert_allclose(numpy.atleast_1d(found.pixel_to_world_values(*pixel)), wanted, rtol=1e-12)
        numpy.testing.assert_allclose(numpy.atleast_1d(found.world_to_pixel_values(*wanted)), pixel, rtol=1e-8)
        with asdf.open(tmp_path / "x.asdf") as file:
            numpy.testing.assert_allclose(numpy.atleast_1d(file["wcs"].pixel_to_world_values(*pixel)), wanted, rtol=1e-9)
