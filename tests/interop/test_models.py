"""Random compound models of astropy and gwcs, as asdf-astropy writes them: the same values, or a refusal that names the tag."""

import json
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
from astropy.io import fits
from astropy.modeling import models as m
from astropy.modeling import projections
from astropy.modeling.bounding_box import CompoundBoundingBox, ModelBoundingBox
from astropy.modeling.rotations import RotationSequence3D, SphericalRotationSequence
from astropy.wcs import WCS
from gwcs import coordinate_frames as cf
from gwcs import geometry

import peer

POINTS = 40
COUNT = 150


def frame(count, name):
    return cf.CoordinateFrame(count, ["SPATIAL"] * count, tuple(range(count)), unit=(u.one,) * count, name=name)


class Maker:
    """Models by their numbers of inputs and outputs. Values stay about as large as they are."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)

    def number(self, scale=1.0):
        return float(self.random.normal() * scale)

    def positive(self):
        return float(self.random.uniform(0.5, 2.0))

    def choose(self, makers):
        return makers[self.random.integers(len(makers))]()

    def interval(self):
        low = self.number()
        return low, low + self.positive()

    def one(self, depth):
        """One number from one."""
        points = np.sort(self.random.uniform(-3, 3, 7))
        terms = {f"c{i}": self.number() for i in range(3)}
        window = dict(domain=self.interval(), window=self.interval())
        simple = [
            lambda: m.Shift(self.number()),
            lambda: m.Scale(self.positive()),
            lambda: m.Multiply(-self.positive()),
            lambda: m.Linear1D(self.positive(), self.number()),
            lambda: m.Identity(1),
            lambda: m.Const1D(self.number()),
            lambda: m.Polynomial1D(2, **terms, **window),
            lambda: m.Chebyshev1D(2, **terms, **window),
            lambda: m.Legendre1D(2, **terms, **window),
            lambda: m.Hermite1D(2, **terms),
            lambda: m.Tabular1D(points, np.sort(self.random.normal(size=7)), bounds_error=False, fill_value=None),
            lambda: m.Tabular1D(points, self.random.normal(size=7), bounds_error=False, fill_value=-1.0),
            lambda: m.Tabular1D(points, self.random.normal(size=7), bounds_error=False, method="nearest"),
            lambda: m.Sine1D(self.number(), self.number(), self.number()),
            lambda: m.Cosine1D(self.number(), self.number(), self.number()),
            lambda: m.Tangent1D(self.number(), 0.1, self.number(0.1)),
            lambda: m.ArcTangent1D(self.positive(), self.positive(), self.number()),
            lambda: m.math.SinhUfunc(),
            lambda: m.math.ArctanUfunc(),
            lambda: m.math.Log1pUfunc(),
            lambda: m.RedshiftScaleFactor(self.positive()),
            lambda: m.math.AbsoluteUfunc() | m.math.SqrtUfunc(),
        ]
        compound = [
            lambda: self.one(depth - 1) | self.one(depth - 1),
            lambda: self.one(depth - 1) + self.one(depth - 1),
            lambda: self.one(depth - 1) - self.one(depth - 1),
            lambda: self.one(depth - 1) * self.one(depth - 1),
            lambda: self.one(depth - 1) / (m.Const1D(self.positive())),
            lambda: (self.one(depth - 1) | m.math.AbsoluteUfunc()) ** m.Const1D(self.positive()),
            lambda: m.Mapping((0, 0)) | self.two_to_one(depth - 1),
        ]
        return self.choose(compound if depth > 0 and self.random.random() < 0.7 else simple)

    def two_to_one(self, depth):
        points = [np.sort(self.random.uniform(-3, 3, n)) for n in (4, 5)]
        grid = self.random.normal(size=(4, 5))
        terms = {f"c{i}_{j}": self.number() for i in range(3) for j in range(3)}
        triangle = {name: value for name, value in terms.items() if int(name[1]) + int(name[3]) < 3}
        windows = dict(x_domain=self.interval(), y_domain=self.interval(), x_window=self.interval(), y_window=self.interval())
        simple = [
            lambda: m.Polynomial2D(2, **triangle),
            lambda: m.Polynomial2D(2, **triangle, **windows),
            lambda: m.Chebyshev2D(2, 2, **terms, **windows),
            lambda: m.Legendre2D(2, 2, **terms, **windows),
            # The recurrence of astropy counts from the wrong number for higher degrees of y.
            lambda: m.Hermite2D(2, 1, **{name: value for name, value in terms.items() if int(name[3]) < 2}),
            lambda: m.Planar2D(self.number(), self.number(), self.number()),
            lambda: m.Const2D(self.number()),
            lambda: m.Tabular2D(points, grid, bounds_error=False, fill_value=None),
            lambda: m.Tabular2D(points, grid, bounds_error=False, fill_value=2.5),
            lambda: m.Tabular2D(points, grid, bounds_error=False, method="nearest"),
            lambda: m.math.Arctan2Ufunc(),
            lambda: m.math.HypotUfunc(),
            lambda: m.math.RemainderUfunc(),
            lambda: m.math.Floor_divideUfunc(),
            lambda: m.Mapping((1,), n_inputs=2),
        ]
        compound = [
            lambda: self.two(depth - 1) | self.two_to_one(depth - 1),
            lambda: self.two_to_one(depth - 1) + self.two_to_one(depth - 1),
            lambda: self.two_to_one(depth - 1) - self.two_to_one(depth - 1),
            lambda: m.fix_inputs(self.three(depth - 1) | m.Mapping((0,), n_inputs=3), {int(self.random.integers(3)): self.number()}),
        ]
        return self.choose(compound if depth > 0 and self.random.random() < 0.6 else simple)

    def two(self, depth):
        # Of PCO wcslib loses digits near the equator; CSC has seven digits.
        names = [code for code in projections.projcodes if code not in ("CSC", "PCO", "XPH", "ZPN")]
        code = str(self.random.choice(names))
        conic = dict(sigma=45.0, delta=15.0) if code in ("COP", "COE", "COD", "COO") else {}
        angles = lambda count: [float(angle) for angle in self.random.uniform(-180, 180, count)]
        axes = "".join(self.random.choice(list("xyz"), 3))
        simple = [
            lambda: m.Mapping((1, 0)),
            lambda: m.AffineTransformation2D(self.random.normal(size=(2, 2)), self.random.normal(size=2)),
            lambda: m.Rotation2D(angles(1)[0]),
            lambda: m.Mapping((0, 1, 0, 1)) | self.two_to_one(0) & self.two_to_one(0),
            lambda: getattr(m, f"Pix2Sky_{code}")(**conic),
            # Latitudes beyond a pole are no positions.
            lambda: m.RotateCelestial2Native(*angles(3)) | getattr(m, f"Sky2Pix_{code}")(**conic),
            lambda: m.RotateNative2Celestial(*angles(3)),
            lambda: m.RotateCelestial2Native(*angles(3)),
            lambda: m.EulerAngleRotation(*angles(3), str(self.random.choice(["zxz", "zyx", "xyz"]))),
            lambda: SphericalRotationSequence(angles(3), axes),
            lambda: geometry.SphericalToCartesian(wrap_lon_at=180) | self.three(0) | geometry.CartesianToSpherical(wrap_lon_at=[180, 360][depth % 2]),
        ]
        compound = [
            lambda: self.one(depth - 1) & self.one(depth - 1),
            lambda: self.two(depth - 1) | self.two(depth - 1),
            lambda: self.two(depth - 1) + self.two(depth - 1),
            lambda: self.two(depth - 1) * self.two(depth - 1),
            lambda: m.Mapping((0, 1, 1)) | self.two_to_one(depth - 1) & self.one(depth - 1),
            lambda: m.Mapping((0, 1, 0)) | self.three(depth - 1) | m.Mapping((2, 0), n_inputs=3),
        ]
        return self.choose(compound if depth > 0 and self.random.random() < 0.7 else simple)

    def three(self, depth):
        makers = [
            lambda: RotationSequence3D([self.number(60.0) for _ in range(4)], "zyxz"),
            lambda: m.Mapping((2, 0, 1)),
            lambda: self.two(depth - 1 if depth > 0 else 0) & self.one(0),
            lambda: self.one(0) & self.two(depth - 1 if depth > 0 else 0),
        ]
        return self.choose(makers)


def values_of(model, points):
    """The values of a model, a column for each output. Constants have one value for all points."""
    found = model(*points.T)
    return np.column_stack([np.broadcast_to(column, len(points)) for column in (found if model.n_outputs > 1 else [found])])


def wcs(model):
    return gwcs.WCS([(frame(model.n_inputs, "from"), model), (frame(model.n_outputs, "to"), None)])


class Models(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def sky(self, item, points, *words):
        np.save(self.folder / "in.npy", points)
        command = [peer.PROGRAM, "sky", item, "--points", str(self.folder / "in.npy"), "-o", str(self.folder / "out.npy"), "-q", *words]
        done = subprocess.run(command, capture_output=True, text=True)
        self.assertIn(done.returncode, (0, 1), f"{item}: {done.stderr}")
        return np.load(self.folder / "out.npy")

    def test_random_models_have_the_values_of_astropy(self):
        made, tree = {}, {}
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            for seed in range(COUNT):
                maker = Maker(seed)
                model = maker.choose([lambda: maker.one(4), lambda: maker.two(3), lambda: maker.two_to_one(3), lambda: maker.three(3)])
                points = maker.random.normal(size=(POINTS, model.n_inputs)) * 2
                try:
                    values = values_of(model, points)
                except ValueError:
                    # astropy does not evaluate a constant in some compounds.
                    continue
                made[f"m{seed}"], tree[f"m{seed}"] = (model, points, values), wcs(model)
            self.assertGreater(len(made), 0.8 * COUNT)
            asdf.AsdfFile(tree).write_to(self.folder / "models.asdf")
            for name, (model, points, values) in made.items():
                with self.subTest(name, model=str(model)):
                    found = self.sky(f"{self.folder / 'models.asdf'}#/{name}", points)
                    # What a tiny change of the input changes is no fault of the function.
                    moved = values_of(model, points * (1 + 3e-15))
                    room = 1e-11 * np.maximum(1, np.abs(values)) + 100 * np.abs(moved - values)
                    # At a jump both sides are right.
                    there = np.isfinite(values) & np.isfinite(moved) & (np.abs(moved - values) < 1e-6 * np.maximum(1, np.abs(values)))
                    self.assertLess((np.abs(found - values)[there] - room[there]).max(initial=-1), 0)
                    missing = np.isnan(values) & np.isnan(moved)
                    self.assertTrue(np.isnan(found[missing]).all())
                    self.assertTrue(np.isfinite(found[there]).all())

    def test_an_image_with_other_coordinates_is_not_cut_with_those_of_its_neighbour(self):
        detector = cf.Frame2D(name="detector", unit=(u.pix, u.pix))
        sky = cf.CelestialFrame(name="world", reference_frame=coordinates.ICRS(), unit=(u.deg, u.deg))
        tree = {}
        for number, lon in enumerate((30.0, 31.0)):
            model = m.Shift(-150) & m.Shift(-150) | m.Scale(1e-3) & m.Scale(1e-3) | m.Pix2Sky_TAN() | m.RotateNative2Celestial(lon, 40, 180)
            model.bounding_box = ((-0.5, 299.5), (-0.5, 299.5))
            image = np.arange(90000, dtype="f4").reshape(300, 300)
            tree[f"i{number}"] = {"data": image, "meta": {"wcs": gwcs.WCS([(detector, model), (sky, None)])}}
        tree["mask"] = np.zeros((300, 300), "u1")
        asdf.AsdfFile(tree).write_to(self.folder / "two.asdf")
        out = self.folder / "cut.asdf"
        done = subprocess.run([peer.PROGRAM, "cutout", f"{self.folder / 'two.asdf'}#/i1/data", "--sky", "31,40", "--size", "5px", "-o", out], capture_output=True, text=True)
        self.assertIn("/i0/data is left out", done.stderr)
        with asdf.open(out) as file:
            self.assertEqual(file["i1"]["data"].shape, (5, 5))
            self.assertEqual(file["mask"].shape, (5, 5))
            self.assertNotIn("data", file["i0"])
            np.testing.assert_allclose(file["i1"]["meta"]["wcs"](2, 2), (31, 40), atol=1e-9)

    def test_models_that_are_no_coordinates_are_named(self):
        others = {
            "gaussian2d": m.Gaussian2D(),
            "sersic2d": m.Sersic2D(),
            "exponential1d": m.Exponential1D(1, 2),
            "spline1d": m.Spline1D(knots=np.array([0, 0, 0, 0, 1, 1, 1, 1.0]), coeffs=np.array([1, 2, 3, 4, 0, 0, 0, 0.0]), degree=3),
            "direction_cosines": geometry.ToDirectionCosines(),
            "hermite": m.Hermite2D(2, 2),
        }
        asdf.AsdfFile({name: wcs(model) for name, model in others.items()}).write_to(self.folder / "others.asdf")
        for name, model in others.items():
            item = f"{self.folder / 'others.asdf'}#/{name}"
            done = subprocess.run([peer.PROGRAM, "sky", item, ",".join(["1"] * model.n_inputs)], capture_output=True, text=True)
            self.assertEqual(done.returncode, 2, done.stdout)
            self.assertIn(name, done.stderr.split(f"#/{name}")[-1])
            self.assertIn("not supported", done.stderr)

    def test_bounding_boxes_of_every_kind(self):
        shifts = lambda: m.Shift(1.0) & m.Shift(2.0) & m.Shift(3.0)
        ignored = shifts()
        ignored.bounding_box = ModelBoundingBox.validate(ignored, ((0, 3), (-1, 5)), ignored=[ignored.inputs[2]], order="C")
        ordered = shifts()
        ordered.bounding_box = ModelBoundingBox.validate(ordered, ((-1, 5), (0, 3), (2, 4)), order="F")
        several = shifts()
        boxes = {(1.0,): ((-1, 5), (0, 3)), (2.0,): ((2, 4), (1, 2))}
        several.bounding_box = CompoundBoundingBox.validate(several, boxes, selector_args=[(several.inputs[2], True)], order="F")
        tree = {name: wcs(model) for name, model in (("ignored", ignored), ("ordered", ordered), ("several", several))}
        asdf.AsdfFile(tree).write_to(self.folder / "boxes.asdf")
        grid = np.stack(np.meshgrid(np.arange(-2, 7.0), np.arange(-1, 5.0), [1.0, 2.0, 4.0]), -1).reshape(-1, 3)
        inside = {
            "ignored": (grid[:, 0] >= -1) & (grid[:, 0] <= 5) & (grid[:, 1] >= 0) & (grid[:, 1] <= 3),
            "ordered": ((grid >= [-1, 0, 2]) & (grid <= [5, 3, 4])).all(axis=1),
            "several": np.zeros(len(grid), bool),
        }
        for (key,), ((a, b), (c, d)) in boxes.items():
            inside["several"] |= (grid[:, 2] == key) & (grid[:, 0] >= a) & (grid[:, 0] <= b) & (grid[:, 1] >= c) & (grid[:, 1] <= d)
        for name, wanted in inside.items():
            found = self.sky(f"{self.folder / 'boxes.asdf'}#/{name}", grid)
            np.testing.assert_array_equal(np.isfinite(found).all(axis=1), wanted, name)
            np.testing.assert_array_equal(found[wanted], grid[wanted] + [1, 2, 3], name)

    def test_frames_say_which_axis_is_which(self):
        detector = cf.Frame2D(name="detector", unit=(u.pix, u.pix))
        sky = lambda frame, **more: cf.CelestialFrame(name="world", reference_frame=frame, unit=(u.deg, u.deg), **more)
        tangent = m.Shift(-5) & m.Shift(-5) | m.Scale(1e-3) & m.Scale(1e-3) | m.Pix2Sky_TAN() | m.RotateNative2Celestial(30, 40, 180)
        turned = tangent | m.Mapping((1, 0))
        made = {
            "icrs": (tangent, sky(coordinates.ICRS())),
            "swapped": (turned, sky(coordinates.ICRS(), axes_order=(1, 0))),
            "fk5": (tangent, sky(coordinates.FK5(equinox="J1975"))),
            "fk4": (tangent, sky(coordinates.FK4(equinox="B1900"))),
            "galactic": (tangent, sky(coordinates.Galactic())),
        }
        tree = {}
        for name, (model, frame) in made.items():
            model = model.copy()
            model.bounding_box = ((-0.5, 9.5), (-0.5, 9.5))
            tree[name] = {"data": np.zeros((10, 10), "u1"), "meta": {"wcs": gwcs.WCS([(detector, model), (frame, None)])}}
            asdf.AsdfFile(tree[name]).write_to(self.folder / f"{name}.asdf")
        heads = {"icrs": ("ICRS", None), "swapped": ("ICRS", None), "fk5": ("FK5", 1975.0), "fk4": ("FK4", 1900.0), "galactic": ("Galactic", None)}
        for name, (reference, equinox) in heads.items():
            file = self.folder / f"{name}.asdf"
            about = json.loads(peer.trilith("sky", f"{file}#/data", "--json"))
            self.assertEqual((about["reference"], about["equinox"]), (reference, equinox), name)
            types = [axis["type"] for axis in about["world_axes"]]
            self.assertEqual(types, list(tree[name]["meta"]["wcs"].output_frame.axis_physical_types), name)
            # The position of the middle, by astropy with the frame of each.
            place = tree[name]["meta"]["wcs"].pixel_to_world(5, 5)
            self.assertLess(np.hypot(about["centre"][0] - place.spherical.lon.deg, about["centre"][1] - place.spherical.lat.deg), 2e-3, name)
            # The header says the same.
            out = self.folder / f"{name}.fits"
            place_text = f"{about['centre'][0]!r},{about['centre'][1]!r}"
            peer.trilith("cutout", f"{file}#/data", "--sky", place_text, "--sky-frame", "native", "--size", "9px", "-o", out, "-q")
            with fits.open(out) as cut, warnings.catch_warnings():
                warnings.simplefilter("ignore")
                header = next(hdu.header for hdu in cut if "CTYPE1" in hdu.header)
                found = WCS(header).pixel_to_world(4, 4)
            self.assertEqual(found.frame.name, place.frame.name, name)
            self.assertTrue(found.frame.is_equivalent_frame(place.frame) or name == "fk4", f"{name}: {found.frame}, {place.frame}")
            wanted = tree[name]["meta"]["wcs"].pixel_to_world(4.0, 4.0)
            start = 0 if found.separation(wanted).deg < 1e-9 else 1
            wanted = tree[name]["meta"]["wcs"].pixel_to_world(4.0 + start, 4.0 + start)
            self.assertLess(found.separation(wanted).deg, 1e-9, name)


if __name__ == "__main__":
    unittest.main()
