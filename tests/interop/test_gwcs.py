"""World coordinates of GWCS trees, as instruments make them, against Python gwcs: forward, back, and by the inverse of the file."""

import pathlib
import subprocess
import tempfile
import unittest
import warnings

import asdf
import gwcs
import numpy as np
from astropy import coordinates
from astropy import units as u
from astropy.modeling import models as m
from astropy.modeling.rotations import RotationSequence3D
from gwcs import coordinate_frames as cf
from gwcs import geometry

import peer

DETECTOR = cf.Frame2D(name="detector", axes_order=(0, 1), unit=(u.pix, u.pix))
WORLD = cf.CelestialFrame(name="world", reference_frame=coordinates.ICRS(), unit=(u.deg, u.deg))


def distortion(random, degree, scale, size):
    """A polynomial that is nearly a scale."""
    names = {f"c{i}_{j}": random.normal() * scale * 0.3 / size ** (i + j - 1) / (1 + i + j) for i in range(degree + 1) for j in range(degree + 1 - i) if i + j > 1}
    return names


def pair(random, degree, scale, size):
    """Polynomials of both axes."""
    first = m.Polynomial2D(degree, c1_0=scale, c0_1=0.02 * scale, **distortion(random, degree, 1e-2 * scale, size))
    second = m.Polynomial2D(degree, c1_0=-0.015 * scale, c0_1=scale, **distortion(random, degree, 1e-2 * scale, size))
    return m.Mapping((0, 1, 0, 1)) | first & second


def to_sky(random):
    """From V2, V3 in arcsec to the sky, as Roman and JWST have it."""
    angles = [random.uniform(-0.2, 0.2), random.uniform(-0.2, 0.2), *random.uniform(-180, 180, 1), random.uniform(-80, 80), random.uniform(0, 360)]
    turn = RotationSequence3D([-angles[0], angles[1], -angles[2], -angles[3], -angles[4]], "zyxyz")
    scale = m.Scale(1 / 3600) & m.Scale(1 / 3600)
    return scale | geometry.SphericalToCartesian(wrap_lon_at=180) | turn | geometry.CartesianToSpherical(wrap_lon_at=360)


def boxed(transform, size):
    transform.bounding_box = ((-0.5, size[1] - 0.5), (-0.5, size[0] - 0.5))
    return transform


def with_inverse(transform, random, size, scale):
    """The transform with a rough inverse, as files have."""
    back = m.Mapping((0, 1, 0, 1)) | m.Polynomial2D(1, c1_0=1 / scale, c0_1=-0.02 / scale) & m.Polynomial2D(1, c1_0=0.015 / scale, c0_1=1 / scale)
    transform.inverse = back
    return transform


def roman(seed):
    """Level 2 of Roman, with the correction of tweakreg between two frames."""
    random = np.random.default_rng(seed)
    size = (4088, 4088)
    to_v2v3 = (m.Shift(-2043.5) & m.Shift(-2043.5)) | with_inverse(pair(random, 5, 0.11, 2000), random, 2000, 0.11) | (m.Shift(1300.0) & m.Shift(-700.0))
    aberration = m.Scale(1.0000432) & m.Scale(1.0000432) | m.Shift(-0.06) & m.Shift(0.03)
    # Into the tangent plane, moved there, and back.
    unit = m.Scale(1 / 3600) & m.Scale(1 / 3600)
    turn = RotationSequence3D([0.3, -0.2, 0.1], "zyx")
    plane = m.Mapping((1, 0, 2, 0)) | (m.Identity(1) & m.Identity(1) & m.Identity(2))
    tangent = m.Mapping((0, 1, 2)) | turn | m.Mapping((0, 1, 2, 0, 1, 2)) | (
        (m.Mapping((1,), n_inputs=3) / m.Mapping((0,), n_inputs=3)) & (m.Mapping((2,), n_inputs=3) / m.Mapping((0,), n_inputs=3))
    )
    del plane
    move = m.AffineTransformation2D([[1.00001, 2e-5], [-1e-5, 0.99998]], translation=[1e-6, -2e-6])
    back = m.Mapping((0, 0, 1)) | (m.Const1D(1.0) & m.Identity(2)) | turn.inverse
    correction = unit | geometry.SphericalToCartesian(wrap_lon_at=180) | tangent | move | back | geometry.CartesianToSpherical(wrap_lon_at=180) | unit.inverse
    # The way back through quotients has to be given.
    move_back = move.inverse
    correction.inverse = unit | geometry.SphericalToCartesian(wrap_lon_at=180) | tangent | move_back | back | geometry.CartesianToSpherical(wrap_lon_at=180) | unit.inverse
    frame = lambda name: cf.Frame2D(name=name, axes_order=(0, 1), axes_names=("v2", "v3"), unit=(u.arcsec, u.arcsec))
    steps = [
        (DETECTOR, boxed(to_v2v3, size)),
        (frame("v2v3"), aberration),
        (frame("v2v3vacorr"), correction),
        (frame("v2v3corr"), to_sky(random)),
        (WORLD, None),
    ]
    return gwcs.WCS(steps)


def nircam(seed):
    """Imaging of JWST without an inverse of its own in the polynomial step."""
    random = np.random.default_rng(seed)
    size = (2048, 2048)
    transform = (m.Shift(1.0) & m.Shift(1.0)) | (m.Shift(-1024.5) & m.Shift(-1024.5)) | with_inverse(pair(random, 5, 0.031, 1000), random, 1000, 0.031) | m.Shift(86.0) & m.Shift(-493.0)
    return gwcs.WCS([(DETECTOR, boxed(transform, size)), (cf.Frame2D(name="v2v3", unit=(u.arcsec, u.arcsec)), to_sky(random)), (WORLD, None)])


def chebyshev(seed):
    """Orthogonal polynomials, and none of them with an inverse."""
    random = np.random.default_rng(seed)
    size = (1024, 800)
    kind = [m.Chebyshev2D, m.Legendre2D][seed % 2]
    window = dict(x_domain=(0, 799), y_domain=(0, 1023))
    small = lambda: {f"c{i}_{j}": random.normal() * 0.1 for i in range(3) for j in range(3) if i + j > 1}
    first = kind(2, 2, c1_0=44.0, c0_1=1.0, **small(), **window)
    second = kind(2, 2, c0_1=56.0, c1_0=-2.0, **small(), **window)
    transform = boxed(m.Mapping((0, 1, 0, 1)) | first & second, size)
    return gwcs.WCS([(DETECTOR, transform), (cf.Frame2D(name="v2v3", unit=(u.arcsec, u.arcsec)), to_sky(random)), (WORLD, None)])


def resampled(seed):
    """A mosaic of JWST (i2d): an affine transform and a projection."""
    random = np.random.default_rng(seed)
    lon, lat, angle = random.uniform(0, 360), random.uniform(-85, 85), random.uniform(0, 2 * np.pi)
    turn = np.array([[-np.cos(angle), np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    transform = (m.Shift(-511.0) & m.Shift(-300.0)) | m.AffineTransformation2D(turn) | (m.Scale(1.7e-5) & m.Scale(1.7e-5)) | m.Pix2Sky_TAN() | m.RotateNative2Celestial(lon, lat, 180)
    return gwcs.WCS([(DETECTOR, boxed(transform, (600, 1024))), (WORLD, None)])


def fits_imaging(seed):
    """A mosaic of Roman (L3)."""
    from gwcs.fitswcs import FITSImagingWCSTransform

    random = np.random.default_rng(seed)
    projection = [m.Pix2Sky_TAN(), m.Pix2Sky_SIN(), m.Pix2Sky_STG(), m.Pix2Sky_ZEA()][seed % 4]
    angle = random.uniform(0, 2 * np.pi)
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    transform = FITSImagingWCSTransform(
        projection, crpix=[random.uniform(-4000, 4000), 700.0], crval=[random.uniform(0, 360), random.uniform(-70, 70)], cdelt=[-1.5e-5, 1.5e-5], pc=turn
    )
    return gwcs.WCS([(DETECTOR, boxed(transform, (700, 900))), (WORLD, None)])


def slit(seed):
    """A low-resolution spectrum: wavelengths by a table along y, positions along the slit."""
    random = np.random.default_rng(seed)
    rows = np.arange(-1.0, 301.0)
    table = m.Tabular1D(points=rows, lookup_table=14.0 - 9.0 * ((rows + 1) / 301) ** 1.5, bounds_error=False, fill_value=np.nan)
    positions = m.Mapping((0, 1, 0, 1)) | m.Polynomial2D(1, c0_0=10, c1_0=3e-5, c0_1=1e-6) & m.Polynomial2D(1, c0_0=-20, c1_0=1e-6, c0_1=3e-5)
    transform = m.Mapping((0, 1, 1)) | positions & table
    spectral = cf.SpectralFrame(name="wavelength", axes_order=(2,), unit=u.um, axes_names=("lambda",))
    world = cf.CompositeFrame([cf.CelestialFrame(name="sky", axes_order=(0, 1), reference_frame=coordinates.ICRS(), unit=(u.deg, u.deg)), spectral], name="world")
    del random
    return gwcs.WCS([(DETECTOR, boxed(transform, (300, 60))), (world, None)])


def cube(seed):
    """Two axes of the sky and one of wavelength, by quantities."""
    random = np.random.default_rng(seed)
    sky = (
        m.Shift(-20 * u.pix) & m.Shift(-30 * u.pix)
        | m.Multiply(-0.1 * u.arcsec / u.pix) & m.Multiply(0.1 * u.arcsec / u.pix)
        | m.Pix2Sky_TAN()
        | m.RotateNative2Celestial(random.uniform(0, 360) * u.deg, random.uniform(-70, 70) * u.deg, 180 * u.deg)
    )
    spectral = m.Linear1D(slope=2 * u.nm / u.pix, intercept=500 * u.nm)
    frame = cf.CompositeFrame(
        [cf.CelestialFrame(name="sky", axes_order=(0, 1), reference_frame=coordinates.ICRS(), unit=(u.deg, u.deg)), cf.SpectralFrame(name="wave", axes_order=(2,), unit=u.nm)],
        name="world",
    )
    detector = cf.CoordinateFrame(3, ["PIXEL"] * 3, (0, 1, 2), unit=(u.pix,) * 3, name="detector")
    return gwcs.WCS([(detector, sky & spectral), (frame, None)])


def miri(seed):
    """Imaging of MIRI: the parts of the distortion have inverses of other sizes than theirs, and only their chain is one."""
    random = np.random.default_rng(seed)
    size = (1024, 1032)
    split = m.Mapping((0, 1, 0, 1))
    split.inverse = m.Identity(2)
    first = m.Polynomial2D(2, c0_0=1.0, c1_0=0.11, c0_1=2e-4, c2_0=random.normal() * 1e-7)
    second = m.Polynomial2D(2, c0_0=-2.0, c1_0=1e-4, c0_1=0.11, c0_2=random.normal() * 1e-7)
    first.inverse = m.Polynomial2D(1, c0_0=-9.0, c1_0=1 / 0.11)
    second.inverse = m.Polynomial2D(1, c0_0=18.0, c0_1=1 / 0.11)
    join = m.Identity(2)
    join.inverse = m.Mapping((0, 1, 0, 1))
    transform = (m.Shift(-4.0) & m.Shift(-3.0)) | split | first & second | join
    return gwcs.WCS([(DETECTOR, boxed(transform, size)), (cf.Frame2D(name="v2v3", unit=(u.arcsec, u.arcsec)), to_sky(random)), (WORLD, None)])


TREES = [roman, miri, nircam, chebyshev, resampled, fits_imaging, slit, cube]


def apart(one, other):
    (a, b), (c, d) = np.radians(one), np.radians(other)
    return np.degrees(2 * np.arcsin(np.sqrt(np.sin((d - b) / 2) ** 2 + np.cos(b) * np.cos(d) * np.sin((c - a) / 2) ** 2)))


class Trees(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def sky(self, file, points, *words):
        np.save(self.folder / "in.npy", points)
        command = [peer.PROGRAM, "sky", str(file), "--points", str(self.folder / "in.npy"), "-o", str(self.folder / "out.npy"), "-q", *words]
        done = subprocess.run(command, capture_output=True, text=True)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        return np.load(self.folder / "out.npy")

    def check(self, wcs, what):
        file = self.folder / "x.asdf"
        asdf.AsdfFile({"wcs": wcs}).write_to(file)
        box = wcs.bounding_box
        try:
            box = box.bounding_box(order="F")
        except AttributeError:
            pass
        random = np.random.default_rng(1)
        intervals = [(0.0, 50.0)] * wcs.pixel_n_dim if box is None else box
        # Random pixels, the corners and the middles of the edges.
        inside = [random.uniform(low, high, 200) for low, high in intervals]
        if len(intervals) == 2:
            (a, b), (c, d) = intervals
            inside = [np.concatenate([inside[0], [a, a, b, b, a, (a + b) / 2]]), np.concatenate([inside[1], [c, d, d, c, (c + d) / 2, d]])]
        pixels = np.column_stack(inside)
        wanted = np.column_stack([getattr(x, "value", x) for x in np.atleast_2d(wcs(*pixels.T, with_bounding_box=False))])
        found = self.sky(file, pixels)
        self.assertTrue(np.isfinite(found).all(), f"{what}: NaN inside of the box")
        if wcs.world_n_dim > 1:
            far = apart(found[:, :2].T, wanted[:, :2].T).max()
            self.assertLess(far, 1e-12, what)
        else:
            far = 0.0
        others = np.abs(found[:, 2:] - wanted[:, 2:])
        self.assertLess(others.max(initial=0) / max(1.0, np.abs(wanted[:, 2:]).max(initial=1)), 1e-12, what)
        if wcs.pixel_n_dim == wcs.world_n_dim:
            back = self.sky(file, found, "--pixel")
            self.assertTrue(np.isfinite(back).all(), f"{what}: no way back")
            # Eight units in the last place of the world, or 1e-8 pixel.
            step = self.sky(file, pixels + np.eye(wcs.pixel_n_dim)[0], "--no-bounding-box")
            scale = np.abs(apart(step[:, :2].T, found[:, :2].T)).min()
            room = max(1e-8, 4 * np.spacing(np.abs(found[:, :2]).max()) / scale)
            self.assertLess(np.abs(back - pixels).max(), room, what)
            try:
                wanted = wcs.invert(*found.T, with_bounding_box=False)
            except (NotImplementedError, AttributeError, ValueError, u.UnitsError, TypeError):
                return far
            wanted = np.column_stack([getattr(x, "value", x) for x in wanted])
            by_file = self.sky(file, found, "--pixel", "--inverse", "file", "--no-bounding-box")
            self.assertLess(np.nanmax(np.abs(by_file - wanted)), 1e-7, f"{what}: inverse of the file")
        return far

    def test_trees_have_the_coordinates_of_gwcs(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for make in TREES:
                for seed in range(3):
                    with self.subTest(make.__name__, seed=seed):
                        self.check(make(seed), f"{make.__name__} {seed}")

    def test_old_files_have_the_defaults_that_asdf_fills_in(self):
        frame = "!<tag:stsci.edu:gwcs/frame2d-1.0.0> {name: %s, axes_names: [x, y], axes_order: [0, 1], axis_physical_types: ['custom:x', 'custom:y'], unit: [!unit/unit-1.0.0 pixel, !unit/unit-1.0.0 pixel]}"
        cases = {
            "rotate3d-1.2.0": "{phi: 5.0, psi: 180.0, theta: -72.0}",
            "healpix-1.1.0": "{}",
            "slant_orthographic-1.2.0": "{direction: pix2sky}",
            "bonne_equal_area-1.3.0": "{direction: pix2sky}",
            "airy-1.2.0": "{direction: pix2sky}",
            "gnomonic-1.1.0": "{}",
        }
        points = np.array([(3.0, 4.0), (-2.5, 7.0)])
        for standard in ("1.4.0", "1.5.0", "1.6.0"):
            for name, keys in cases.items():
                with self.subTest(name, standard=standard), warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    file = self.folder / "old.asdf"
                    file.write_text(
                        f"#ASDF 1.0.0\n#ASDF_STANDARD {standard}\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n--- !core/asdf-1.1.0\n"
                        f"wcs: !<tag:stsci.edu:gwcs/wcs-1.0.0>\n  name: ''\n  steps:\n"
                        f"  - !<tag:stsci.edu:gwcs/step-1.0.0>\n    frame: {frame % 'a'}\n    transform: !transform/{name} {keys}\n"
                        f"  - !<tag:stsci.edu:gwcs/step-1.0.0>\n    frame: {frame % 'b'}\n...\n"
                    )
                    try:
                        with asdf.open(file) as opened:
                            wanted = np.column_stack(opened["wcs"](*points.T, with_bounding_box=False))
                    except (TypeError, AttributeError):
                        wanted = None  # asdf leaves a mapping without a key that it does not fill in
                    command = [peer.PROGRAM, "sky", str(file), "--"] + [f"{x},{y}" for x, y in points]
                    done = subprocess.run(command, capture_output=True, text=True)
                    if done.returncode == 2:
                        self.assertIsNone(wanted, done.stderr)
                        self.assertIn("without direction", done.stderr)
                        continue
                    found = np.array([[float(value) for value in line.split()] for line in done.stdout.splitlines()])
                    self.assertIsNotNone(wanted, done.stdout)
                    self.assertLess(np.nanmax(np.abs(found - wanted)), 1e-9)


if __name__ == "__main__":
    unittest.main()
