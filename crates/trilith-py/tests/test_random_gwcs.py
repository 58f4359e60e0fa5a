"""Random GWCS pipelines, with and without units: forward, the inverse of the file and the exact inverse, against gwcs and astropy.modeling."""

import contextlib
import io
import os
import random
import warnings

import numpy as np
import pytest

asdf = pytest.importorskip("asdf")
gwcs = pytest.importorskip("gwcs")
import trilith  # noqa: E402
from astropy import coordinates as coord  # noqa: E402
from astropy import units as u  # noqa: E402
from astropy.modeling import fix_inputs, math_functions, projections  # noqa: E402
from astropy.modeling import models as m  # noqa: E402
from astropy.modeling import rotations as r  # noqa: E402
from astropy.modeling.bounding_box import ModelBoundingBox  # noqa: E402
from gwcs import coordinate_frames as cf  # noqa: E402
from gwcs import geometry  # noqa: E402
from gwcs.fitswcs import FITSImagingWCSTransform  # noqa: E402

PIPELINES = int(os.environ.get("TRILITH_CAMPAIGN", "120"))
SEED = int(os.environ.get("TRILITH_CAMPAIGN_SEED", "0"))
UFUNCS = ["Sin", "Cos", "Tan", "Arcsin", "Arccos", "Arctan", "Sinh", "Cosh", "Tanh", "Arcsinh", "Arccosh", "Arctanh", "Exp", "Exp2", "Expm1", "Log"]
UFUNCS += ["Log10", "Log2", "Log1p", "Sqrt", "Cbrt", "Absolute", "Fabs", "Square", "Reciprocal", "Negative", "Positive", "Rad2deg", "Deg2rad"]
# Power makes angles so large that their turns are rounded away.
PAIRS = ["Add", "Subtract", "Multiply", "Logaddexp", "Logaddexp2", "True_divide", "Hypot", "Arctan2"]
CODES = ["AZP", "SZP", "TAN", "STG", "SIN", "ARC", "ZEA", "AIR", "CYP", "CEA", "CAR", "MER", "SFL", "PAR", "MOL", "AIT", "COP", "COE", "COD", "COO", "BON", "PCO", "TSC", "HPX", "XPH"]
ANGLES = [u.deg, u.arcmin, u.arcsec, u.rad]


class Maker:
    """Draws transforms."""

    def __init__(self, seed):
        self.draw = random.Random(seed)
        self.numbers = np.random.default_rng(seed)

    def u(self, low, high):
        return self.draw.uniform(low, high)

    def angle(self, low, high):
        """An angle from degrees, as a quantity in any unit."""
        return (self.u(low, high) * u.deg).to(self.draw.choice(ANGLES))

    def polynomial(self):
        kind = self.draw.choice([m.Polynomial1D, m.Chebyshev1D, m.Legendre1D, m.Hermite1D])
        degree, words = self.draw.randint(0, 4), {}
        if self.draw.random() < 0.6:
            words["domain"] = (-60, self.u(30, 60))
        if self.draw.random() < 0.3:
            words["window"] = (-self.u(0.5, 2), 1)
        return kind(degree, **words, **{f"c{i}": self.u(-1, 1) / (1 if words else 10**i) for i in range(degree + 1)})

    def table(self):
        count = self.draw.randint(2, 9)
        words = {"bounds_error": False, "fill_value": self.draw.choice([None, np.nan, 2.5]), "method": self.draw.choice(["linear", "nearest"])}
        values = self.numbers.uniform(-10, 10, count)
        if self.draw.random() < 0.4:
            values = np.sort(values)[:: self.draw.choice([1, -1])]
        if self.draw.random() < 0.7:
            words["points"] = np.sort(self.numbers.uniform(-60, 60, count))
        return m.Tabular1D(lookup_table=values, **words)

    def one(self):
        """A transform of one number."""
        make = self.draw.choice([
            lambda: m.Shift(self.u(-50, 50)),
            lambda: m.Scale(self.u(-3, 3)),
            lambda: m.Multiply(self.u(-3, 3)),
            lambda: m.Linear1D(self.u(-3, 3), self.u(-5, 5)),
            self.polynomial,
            self.polynomial,
            self.table,
            lambda: m.Const1D(self.u(-5, 5)),
            lambda: m.Identity(1),
            lambda: getattr(math_functions, self.draw.choice(UFUNCS) + "Ufunc")(),
            lambda: self.draw.choice([m.Sine1D, m.Cosine1D])(self.u(0.5, 2), self.u(0.01, 0.1), self.u(0, 1)),
            lambda: m.RedshiftScaleFactor(self.u(0, 2)),
            lambda: m.Shift(100.0) | m.Logarithmic1D(self.u(1, 2), self.u(1, 3)),
            self.arithmetic,
        ])
        return make()

    def arithmetic(self):
        left, right = self.one(), self.one()
        return self.draw.choice([lambda: left + right, lambda: left - right, lambda: left * right, lambda: left / (right * m.Const1D(1.0) + m.Const1D(77.0))])()

    def projection(self, codes=CODES, ways=("Pix2Sky_", "Sky2Pix_")):
        code, words = self.draw.choice(codes), {}
        way = self.draw.choice(ways)
        if way == "Sky2Pix_" and code in ("HPX", "XPH"):
            code = "ZEA"  # wcslib mirrors longitudes above 180 degrees
        if code == "AZP":
            words = {"mu": self.u(-0.5, 3), "gamma": self.u(-40, 40)}
        elif code == "SZP":
            words = {"mu": self.u(1.1, 3), "phi0": self.u(-180, 180), "theta0": self.u(30, 90)}
        elif code == "SIN" and self.draw.random() < 0.6:
            words = {"xi": self.u(-0.5, 0.5), "eta": self.u(-0.5, 0.5)}
        elif code == "AIR":
            words = {"theta_b": self.u(10, 90)}
        elif code == "CYP":
            words = {"mu": self.u(0.2, 3), "lam": self.u(0.2, 3)}
        elif code == "CEA":
            words = {"lam": self.u(0.1, 1)}
        elif code in ("COP", "COE", "COD", "COO"):
            words = {"sigma": self.u(20, 80) * self.draw.choice([1, -1]), "delta": self.u(0, 15)}
        elif code == "BON":
            words = {"theta1": self.u(20, 80) * self.draw.choice([1, -1])}
        elif code == "HPX":
            words = {"H": float(self.draw.choice([2, 4, 6])), "X": float(self.draw.choice([3, 1]))}
        transform = getattr(projections, way + code)(**words)
        # wcslib also computes latitudes beyond a pole, which are none.
        return transform if way == "Pix2Sky_" else m.Identity(1) & m.Sine1D(85.0, 0.003, 0.1) | transform

    def surface(self):
        """A polynomial of two numbers."""
        kind = self.draw.choice([m.Polynomial2D, m.Polynomial2D, m.Chebyshev2D, m.Legendre2D])
        words = {}
        if self.draw.random() < 0.5:
            words = {"x_domain": (-60, self.u(20, 60)), "y_domain": (-self.u(30, 60), 55)}
        if kind is m.Polynomial2D:
            degree = self.draw.randint(0, 4)
            return kind(degree, **words, **{f"c{i}_{j}": self.u(-1, 1) / (1 if words else 10 ** (i + j)) for i in range(degree + 1) for j in range(degree + 1 - i)})
        a, b = self.draw.randint(0, 3), self.draw.randint(0, 3)
        return kind(a, b, **words, **{f"c{i}_{j}": self.u(-1, 1) / (1 if words else 30 ** (i + j)) for i in range(a + 1) for j in range(b + 1)})

    def two(self):
        """A transform of two numbers into two."""
        return self.draw.choice([
            lambda: self.one() & self.one(),
            lambda: m.AffineTransformation2D(self.numbers.uniform(-2, 2, (2, 2)), translation=self.numbers.uniform(-5, 5, 2)),
            lambda: m.Rotation2D(self.u(-360, 360)),
            lambda: m.Mapping((0, 1, 0, 1)) | (self.surface() & self.surface()),
            lambda: self.draw.choice([m.Mapping((1, 0)), m.Mapping((0, 0), n_inputs=2)]),
            self.projection,
            lambda: m.EulerAngleRotation(self.u(-180, 180), self.u(-180, 180), self.u(-180, 180), axes_order=self.draw.choice(["zxz", "xyz", "yzy", "zyx"])),
            lambda: m.RotateNative2Celestial(self.u(0, 360), self.u(-90, 90), self.u(0, 360)),
            lambda: m.RotateCelestial2Native(self.u(0, 360), self.u(-90, 90), self.u(0, 360)),
            self.sequence,
            lambda: m.Mapping((0, 1, 0)) | (m.Planar2D(self.u(-2, 2), self.u(-2, 2), self.u(-2, 2)) & self.one()),
            lambda: fix_inputs(m.Polynomial2D(1, c0_0=1, c1_0=self.u(-1, 1), c0_1=self.u(-1, 1)), {self.draw.choice(["x", "y", 0, 1]): self.u(-3, 3)}) & self.one(),
            lambda: m.Mapping((0, 1, 0)) | (getattr(math_functions, self.draw.choice(PAIRS) + "Ufunc")() & self.one()),
            self.fits_imaging,
            self.given_inverse,
        ])()

    def sequence(self):
        count = self.draw.randint(2, 4)
        turn = r.RotationSequence3D([self.u(-180, 180) for _ in range(count)], "".join(self.draw.choice("xyz") for _ in range(count)))
        return geometry.SphericalToCartesian(wrap_lon_at=360) | turn | geometry.CartesianToSpherical(wrap_lon_at=self.draw.choice([180, 360]))

    def fits_imaging(self):
        return FITSImagingWCSTransform(
            self.projection(ways=("Pix2Sky_",)),
            crpix=[self.u(-10, 10), self.u(-10, 10)],
            crval=[self.u(0, 360), self.u(-85, 85)],
            cdelt=[self.u(-0.1, 0.1), self.u(0.01, 0.1)],
            pc=self.numbers.uniform(-1, 1, (2, 2)),
        )

    def given_inverse(self):
        transform = self.two() | m.Identity(2)
        transform.inverse = m.Shift(1.0) & m.Shift(2.0)
        return transform

    def plain(self):
        transform = self.two()
        for _ in range(self.draw.randint(0, 2)):
            transform = transform | self.two()
        steps = [(self.frame("detector", (u.pix, u.pix)), transform)]
        if self.draw.random() < 0.3:
            first, second = ((-self.u(5, 30), self.u(5, 30)) for _ in range(2))
            box = (first, second)
            if self.draw.random() < 0.5:
                box = ModelBoundingBox(dict(zip(transform.inputs, box)), model=transform, order=self.draw.choice(["C", "F"]))
            transform.bounding_box = box
        if self.draw.random() < 0.5:
            steps.append((self.frame("middle", (u.one, u.one)), self.two()))
        return gwcs.WCS([*steps, (self.frame("world", (u.one, u.one)), None)])

    def frame(self, name, unit):
        count = len(unit)
        return cf.CoordinateFrame(count, ["SPATIAL"] * count, tuple(range(count)), name=name, unit=unit, axes_names=tuple("abc"[:count]))

    def to_angle(self):
        """From a pixel to an angle, with units."""
        unit = self.draw.choice([u.arcsec, u.arcmin, u.deg, u.mas])
        size = (self.u(0.5, 3) * u.arcsec).to(unit)
        way = self.draw.choice(["multiply", "linear", "shift"])
        if way == "linear":
            return m.Linear1D(size / u.pix, self.angle(-0.1, 0.1).to(unit))
        scale = m.Multiply(size / u.pix)
        return m.Shift(self.u(-20, 20) * u.pix) | scale if way == "shift" else scale

    def with_units(self):
        """Pixels to a plane of angles, often to the sky, and sometimes a spectral axis."""
        transform = self.to_angle() & self.to_angle()
        if self.draw.random() < 0.4:
            transform = m.Shift(self.u(-9, 9) * u.pix) & m.Shift(self.u(-9, 9) * u.pix) | transform
        if self.draw.random() < 0.3:
            transform = m.AffineTransformation2D(self.numbers.uniform(-2, 2, (2, 2)), translation=self.numbers.uniform(-5, 5, 2) * u.pix) | transform
        if self.draw.random() < 0.3:
            transform = transform | m.Rotation2D(self.angle(-180, 180))
        if self.draw.random() < 0.3:
            transform = transform | (m.Shift(self.angle(-1e-3, 1e-3)) & m.Shift(self.angle(-1e-3, 1e-3)))
        unit = self.draw.choice([u.deg, u.arcsec, u.arcmin, u.rad])
        if self.draw.random() < 0.6:
            transform = transform | self.projection(["TAN", "SIN", "ARC", "STG", "ZEA", "CAR"], ("Pix2Sky_",)) | m.RotateNative2Celestial(self.angle(0, 360), self.angle(-80, 80), self.angle(0, 360))
        sky = cf.CelestialFrame(reference_frame=coord.ICRS(), unit=(unit, unit), name="sky")
        if self.draw.random() < 0.6:
            return gwcs.WCS([(self.frame("detector", (u.pix, u.pix)), transform), (sky, None)])
        waves = self.draw.choice([u.nm, u.um, u.AA])
        spectral = self.draw.choice([
            lambda: m.Multiply(self.u(1, 2) * u.nm / u.pix) | m.Shift(self.u(1, 2) * u.um),
            lambda: m.Linear1D(self.u(1, 2) * u.AA / u.pix, self.u(500, 600) * u.nm),
            lambda: m.Tabular1D(points=np.arange(-50, 50) * u.pix, lookup_table=np.linspace(1, 2, 100) ** 2 * u.um, bounds_error=False, fill_value=None),
        ])()
        frame = cf.SpectralFrame(axes_order=(2,), unit=(waves,), axes_names=("wave",), name="spectral")
        world = cf.CompositeFrame([sky, frame], name="world")
        return gwcs.WCS([(self.frame("detector", (u.pix,) * 3), transform & spectral), (world, None)])


@contextlib.contextmanager
def half_turns():
    """Native longitudes within half a turn and no latitudes beyond a pole, for which projections are made. An inverse of gwcs has others."""
    evaluate, rotate = projections.Sky2PixProjection.evaluate, r.RotateCelestial2Native.evaluate
    # The one projection with a rule of its own: x and y are longitude and latitude.
    plain = projections.Sky2Pix_PlateCarree.__dict__["evaluate"]

    def within_half(angle):
        value = getattr(angle, "value", angle)
        return np.where(np.abs(value) > 180, value - 360 * np.round(value / 360), value) * getattr(angle, "unit", 1)

    def rotate_within_half(self, *given):
        phi, theta = rotate(self, *given)
        return within_half(phi), theta

    def on_sphere(phi, theta):
        latitude = getattr(theta, "value", theta)
        return within_half(phi), np.where(np.abs(latitude) > 90 + 1e-9, np.nan, theta)

    def project(self, phi, theta, *rest):
        return evaluate(self, *on_sphere(phi, theta), *rest)

    projections.Sky2PixProjection.evaluate = project
    projections.Sky2Pix_PlateCarree.evaluate = staticmethod(on_sphere)
    r.RotateCelestial2Native.evaluate = rotate_within_half
    try:
        yield
    finally:
        projections.Sky2PixProjection.evaluate, r.RotateCelestial2Native.evaluate = evaluate, rotate
        projections.Sky2Pix_PlateCarree.evaluate = plain


def relative_difference(found, wanted):
    """Differences that are no whole turn, in units of a number that is at least 1, for points that both have."""
    with np.errstate(all="ignore"):
        off = np.abs(found - wanted)
        off = np.fmin(off, np.abs(off - 360)) / np.maximum(1, np.abs(wanted))
    return np.where((found == wanted) | ~(np.isfinite(found) & np.isfinite(wanted)), 0, off)


def steps_of(transform):
    """The steps of a chain, which is a tree of pairs."""
    if getattr(transform, "op", None) == "|":
        return steps_of(transform.left) + steps_of(transform.right)
    return [transform]


def near_values(transform, numbers):
    """The values for numbers whose last digit differs: those at the start of each step."""
    steps = steps_of(transform)
    for at, step in enumerate(steps):
        for factor in (1 - 1e-15, 1 + 1e-15):
            near = [number * factor for number in numbers]
            for later in steps[at:]:
                near = np.atleast_2d(later(*near))
            yield np.array(near, float)
        numbers = np.atleast_2d(step(*numbers))


def compare(wcs, pixels, is_plain):
    """Compares one pipeline. Returns a word for what happened: a peer's refusal, or `equal`; a difference fails."""
    written = io.BytesIO()
    asdf.AsdfFile({"wcs": wcs, "data": np.zeros((5,) * len(pixels), "f4")}).write_to(written)
    # The file counts: asdf-astropy leaves out the units of polynomials.
    with asdf.open(io.BytesIO(written.getvalue()), lazy_load=False, memmap=False) as file:
        wcs = file["wcs"]
    with np.errstate(all="ignore"):
        try:
            wanted = np.array(wcs(*pixels, with_bounding_box=False) if is_plain else wcs.pixel_to_world_values(*pixels), float)
            boxed = np.array(wcs(*pixels), float) if is_plain else wanted
            moved = list(near_values(wcs.forward_transform, pixels)) if is_plain else []
        except Exception as error:  # noqa: BLE001 (each of its refusals is one)
            return f"the peer: {type(error).__name__}"
    try:
        own = trilith.open(written.getvalue())["data"].wcs
    except trilith.FormatError as error:
        # The peer finds no position with such parameters.
        assert "parameters without a projection" in str(error) and not np.isfinite(wanted).any()
        return "without a projection"
    found = np.array(own.pixel_to_world_values(*pixels, with_bounding_box=False), float)
    # The last digit of a number on the way is worth more than the difference that is allowed, after an exponential, for example.
    unsure = np.any([(relative_difference(one, wanted) > 1e-10).any(axis=0) for one in moved] or [np.zeros(len(pixels[0]), bool)], axis=0)
    found[:, unsure] = np.nan
    wanted[:, unsure] = np.nan
    # A point is missing as a whole.
    lost = ~np.isfinite(wanted).all(axis=0)
    assert (~np.isfinite(found).all(axis=0) == lost).all(), "points without coordinates"
    worst = relative_difference(found, wanted)[:, ~lost].max(initial=0)
    assert worst < 1e-9, f"forward: {worst}"
    if is_plain:
        found_boxed = np.array(own.pixel_to_world_values(*pixels), float)
        assert (np.isfinite(found_boxed).all(axis=0) == np.isfinite(boxed).all(axis=0)).all(), "bounding box"
    try:
        back = np.array(own.world_to_pixel_values(*found, with_bounding_box=False), float)
    except NotImplementedError as error:
        assert "no inverse" in str(error)
        return "equal, no inverse"
    again = np.array(own.pixel_to_world_values(*back, with_bounding_box=False), float)
    # A pixel is exact if it is off by 1e-10. The difference that this makes does not count, which may be a longitude far from the equator.
    near = [np.array(own.pixel_to_world_values(*(back + 1e-10 * step[:, None]), with_bounding_box=False), float) for step in np.eye(len(back))]
    allowed = np.minimum(np.max([relative_difference(one, again) for one in near], axis=0), 1e-9)
    exact = (relative_difference(again, found) - allowed)[:, ~np.isnan(back).any(axis=0)].max(initial=0)
    assert exact < 1e-9, f"exact inverse: {exact}"
    try:
        peer = wcs.backward_transform if is_plain else None
    except NotImplementedError:
        peer = None
    if peer is not None:
        with np.errstate(all="ignore"), half_turns():
            wanted_back = np.array(peer(*wanted), float)
            # The last digit of a coordinate may be worth more than the difference that is allowed, or decide at the end of a table.
            near = [np.array(peer(*(wanted * (1 + step))), float) for step in (-4e-16, 4e-16)]
        sure = np.all([(relative_difference(one, wanted_back) < 1e-8) & (np.isfinite(one) == np.isfinite(wanted_back)) for one in near], axis=(0, 1))
        try:
            from_file = np.array(own.world_to_pixel_values(*wanted, with_bounding_box=False, inverse="file"), float)
        except NotImplementedError as error:
            assert "no inverse" in str(error)
            return "equal, no inverse of the file"

        def leads_back(points):
            with np.errstate(all="ignore"):
                there = np.array(wcs(*points, with_bounding_box=False), float)
            return (relative_difference(there, wanted) < 1e-6).all(axis=0) & np.isfinite(there).all(axis=0)

        # Several pixels may have the same coordinates, and either of them is an inverse.
        either = leads_back(wanted_back) & leads_back(from_file)
        compared = np.isfinite(wanted).all(axis=0) & ~either & sure
        bad = relative_difference(from_file, wanted_back)[:, compared].max(initial=0)
        assert bad < 1e-6, f"inverse of the file: {bad}"
        missing = ~np.isfinite(from_file).all(axis=0) & np.isfinite(wanted_back).all(axis=0)
        assert not missing[compared].any(), "pixels of the inverse of the file that are missing"
    return "equal"


def test_random_pipelines_equal_gwcs():
    counts, differences = {}, []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in range(SEED * 100_003, SEED * 100_003 + PIPELINES):
            maker = Maker(seed)
            is_plain = seed % 3 > 0
            try:
                wcs = maker.plain() if is_plain else maker.with_units()
            except (ValueError, TypeError) as error:
                word = f"not made: {type(error).__name__}"
            else:
                pixels = np.random.default_rng(seed).uniform(-40, 40, (wcs.forward_transform.n_inputs, 25))
                try:
                    word = compare(wcs, pixels, is_plain)
                except Exception as error:  # noqa: BLE001 (a list of all is more useful than the first)
                    word = "different"
                    differences.append(f"seed {seed}: {type(error).__name__}: {str(error)[:300]}")
            counts[word] = counts.get(word, 0) + 1
    print(counts)
    assert not differences, "\n".join(differences)
    assert counts["equal"] > 0.3 * PIPELINES, counts
