"""What is seen of arrays: statistics as numpy's, intervals as astropy's, pictures as matplotlib's."""

import pathlib
import tempfile
import unittest

import asdf
import matplotlib
import numpy as np
from astropy.visualization import AsinhStretch, LogStretch, PercentileInterval, PowerStretch, SqrtStretch, ZScaleInterval
from PIL import Image

import peer

PERCENTS = [0, 0.1, 1, 25, 33.3, 50, 75, 99, 99.97, 100]


def images():
    """50 images: of several types and sizes, with outliers, gradients, not a number, a mask, and nothing at all in them."""
    rng = np.random.default_rng(1)
    found = []
    for n in range(30):
        shape = tuple(rng.integers(1, 400, 2))
        image = rng.normal(rng.uniform(-100, 1000), rng.uniform(0.1, 50), shape)
        image += np.linspace(0, rng.uniform(0, 100), shape[1])
        image[rng.random(shape) < 0.01] += rng.uniform(100, 1e5)
        if n % 3 == 0:
            image[rng.random(shape) < rng.uniform(0, 0.6)] = np.nan
        if n % 5 == 0:
            image[rng.random(shape) < 0.05] = np.inf
        found.append(image.astype(["f4", "f8", ">f4", "f2"][n % 4]))
    for n, dtype in enumerate(["u1", "i1", "u2", "i2", ">i2", "u4", "i4", "u8", "i8", "?"] * 2):
        shape = tuple(rng.integers(1, 300, 2))
        # Where most numbers are the same, zscale hangs on roundings: truth values are as often false as true.
        numbers = rng.random(shape) < 0.5 if dtype == "?" else rng.poisson(40 if n < 10 else 9, shape)
        found.append(numbers.astype(dtype))
    found[2] = np.full((70, 30), 5.0)
    found[4] = np.array([[1.0, 2.0, 4.0]])
    found[6] = np.full((4, 5), np.nan)
    found[8] = np.linspace(0, 1, 100_000).astype("f4").reshape(250, 400)
    found[9] = np.tile(np.array([0.0] * 6 + [1e9] * 4, "f8"), (100, 10))
    assert len(found) == 50
    return found


def finite(image):
    """As both sides look at it: astropy's intervals know no truth values, and halves overflow there."""
    values = image.astype("f8") if image.dtype.kind == "b" else image.astype("f4") if image.dtype == "f2" else image
    return values[np.isfinite(values)]


class Seeing(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.place = pathlib.Path(cls.folder.name)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def file(self, name, codec=None, **tree):
        path = self.place / name
        asdf.AsdfFile(tree).write_to(path, all_array_compression=codec)
        return path

    def near(self, found, wanted, what, relative=1e-12):
        scale = max(abs(wanted), 1e-300)
        self.assertLessEqual(abs(found - wanted) / scale, relative, f"{what}: {found!r}, expected {wanted!r}")

    def test_intervals_are_those_of_astropy(self):
        for n, image in enumerate(images()):
            values = finite(image)
            path = self.file(f"interval-{n}.asdf", [None, "lz4", "zlib"][n % 3], data=image)
            if values.size == 0:
                shown = peer.trilith_json("show", f"{path}#/data")
                self.assertEqual((shown["low"], shown["high"]), (0, 1))
                continue
            for name, interval in [("zscale", ZScaleInterval()), ("percentile:99", PercentileInterval(99))]:
                low, high = (float(end) for end in interval.get_limits(values))
                shown = peer.trilith_json("show", f"{path}#/data", "--interval", name)
                scale = max(abs(low), abs(high), 1e-300)
                what = f"image {n} ({image.dtype}, {image.shape}), {name}: {shown['low']}, {shown['high']}; {low}, {high}"
                # The line is fitted by other sums.
                self.assertLessEqual(abs(shown["low"] - low) / scale, 1e-11, what)
                self.assertLessEqual(abs(shown["high"] - high) / scale, 1e-11, what)

    def test_statistics_are_those_of_numpy(self):
        for n, image in enumerate(images()):
            path = self.file(f"stats-{n}.asdf", [None, "lz4"][n % 2], data=image)
            words = ["--percentiles", ",".join(map(str, PERCENTS)), "--bins", 17]
            (found,) = peer.trilith_json("stats", f"{path}#/data", *words)["arrays"]
            values = image[np.isfinite(image)]
            self.assertEqual(found["count"], image.size)
            self.assertEqual(found["finite"], values.size)
            self.assertEqual(found["nan"], int(np.isnan(image).sum()) if image.dtype.kind == "f" else 0)
            self.assertEqual(found["infinite"], int(np.isinf(image).sum()) if image.dtype.kind == "f" else 0)
            if values.size == 0:
                self.assertIsNone(found["mean"])
                continue
            doubles = values.astype("f8")
            self.assertEqual(found["min"], int(values.min()) if image.dtype.kind in "iub" else float(values.min()))
            self.assertEqual(found["max"], int(values.max()) if image.dtype.kind in "iub" else float(values.max()))
            self.near(found["mean"], doubles.mean(), f"mean of {n}")
            if doubles.std() > 0:
                self.near(found["std"], doubles.std(), f"std of {n}", 1e-9)
            for percentile in found["percentiles"]:
                self.assertEqual(percentile["error"], 0)
                self.near(percentile["value"], np.percentile(doubles, percentile["percent"]), f"{n}: {percentile}", 1e-13)
            counts, edges = np.histogram(doubles, bins=17)
            self.assertEqual(found["histogram"]["counts"], counts.tolist(), n)
            self.assertEqual((found["histogram"]["low"], found["histogram"]["high"]), (edges[0], edges[-1]))
            (quick,) = peer.trilith_json("stats", f"{path}#/data", *words, "--quick")["arrays"]
            for rough, exact in zip(quick["percentiles"], found["percentiles"], strict=True):
                self.assertLessEqual(abs(rough["value"] - exact["value"]), rough["error"] + 1e-12 * abs(exact["value"]))

    def test_large_numbers_are_exact_and_masked_ones_left_out(self):
        whole = np.array([2**63 - 1, -(2**63), 2**53 + 1], "i8")
        masked = np.ma.masked_array(np.arange(100.0).reshape(10, 10), mask=np.arange(100).reshape(10, 10) % 3 == 0)
        path = self.file("exact.asdf", whole=whole, masked=masked, z=np.array([3 + 4j, 0]))
        found = {entry["path"]: entry for entry in peer.trilith_json("stats", path)["arrays"]}
        self.assertEqual((found["/whole"]["min"], found["/whole"]["max"]), (-(2**63), 2**63 - 1))
        self.assertEqual(found["/masked"]["masked"], int(masked.mask.sum()))
        self.near(found["/masked"]["mean"], masked.mean(), "mean")
        self.near(found["/masked"]["median"], float(np.ma.median(masked)), "median")
        self.assertEqual(found["/z"]["max"], 5)

    def test_a_large_array_is_exact_in_every_type(self):
        rng = np.random.default_rng(5)
        for dtype in ["f4", "f8", "i4", "u2"]:
            # Most of them share their first digits, so that they are counted digit by digit.
            values = (rng.random(6_000_000) * 1e-3 + 1000).astype(dtype)
            values[:1000] = rng.integers(0, 50_000, 1000)
            path = self.file(f"large-{dtype}.asdf", data=values)
            (found,) = peer.trilith_json("stats", path, "--percentiles", "0.001,50,99.99")["arrays"]
            for percentile in found["percentiles"]:
                wanted = np.percentile(values.astype("f8"), percentile["percent"])
                self.near(percentile["value"], wanted, f"{dtype} {percentile}", 1e-13)

    def test_colour_maps_are_those_of_matplotlib(self):
        ramp = np.arange(256, dtype="f8")[None, :]
        path = self.file("ramp.asdf", data=ramp)
        for name in ["gray", "viridis", "plasma", "inferno", "magma", "cividis", "coolwarm"]:
            for name in [name, f"{name}_r"]:
                out = self.place / f"{name}.png"
                peer.trilith("show", f"{path}#/data", "--interval", "minmax", "--cmap", name, "-o", out)
                ours = np.asarray(Image.open(out).convert("RGB")).astype(int)
                theirs = matplotlib.colormaps[name](ramp / 255, bytes=True)[:, :, :3].astype(int)
                self.assertLessEqual(abs(ours - theirs).max(), 1, name)

    def test_pictures_are_those_of_matplotlib(self):
        rng = np.random.default_rng(3)
        image = rng.gamma(2, 100, (90, 130)).astype("f4")
        path = self.file("picture.asdf", "lz4", data=image)
        stretches = {"linear": None, "sqrt": SqrtStretch(), "log": LogStretch(), "asinh": AsinhStretch()}
        stretches["power:3"] = PowerStretch(3)
        low, high = 10.0, 900.0
        for name, stretch in stretches.items():
            out = self.place / "picture.png"
            peer.trilith("show", f"{path}#/data", "--range", f"{low},{high}", "--stretch", name, "--cmap", "magma", "-o", out)
            share = np.clip((image.astype("f8") - low) / (high - low), 0, 1)
            share = share if stretch is None else stretch(share)
            theirs = matplotlib.colormaps["magma"](share, bytes=True)[:, :, :3].astype(int)
            ours = np.asarray(Image.open(out).convert("RGB")).astype(int)
            # A number at the edge of two colours may fall to either: the maps differ by less than 4 from one to the next.
            self.assertLessEqual(abs(ours - theirs).max(), 5, name)
            self.assertGreater((abs(ours - theirs) <= 1).mean(), 0.999, name)

    def test_resampling_takes_means_and_maxima(self):
        rng = np.random.default_rng(4)
        image = rng.normal(0, 1, (128, 256)).astype("f4")
        path = self.file("resample.asdf", data=image)
        blocks = image.astype("f8").reshape(16, 8, 32, 8)
        for how, wanted in [("mean", blocks.mean((1, 3))), ("max", blocks.max((1, 3))), ("nearest", image[4::8, 4::8])]:
            out = self.place / "resampled.png"
            words = ["--width", 32, "--resample", how, "--range=-3,3", "-o", out]
            peer.trilith("show", f"{path}#/data", *words)
            ours = np.asarray(Image.open(out)).astype(int)
            theirs = np.clip(np.clip((wanted + 3) / 6, 0, 1) * 256, 0, 255).astype(int)
            self.assertEqual(ours.shape, (16, 32))
            self.assertLessEqual(abs(ours - theirs).max(), 1, how)

    def test_what_is_no_number_has_its_own_colour(self):
        image = np.ma.masked_array(np.linspace(0, 1, 600).reshape(20, 30).astype("f4"), mask=False)
        image[3, 4] = np.ma.masked
        image.data[5, 6] = np.nan
        path = self.file("bad.asdf", data=image)
        out = self.place / "bad.png"
        peer.trilith("show", f"{path}#/data", "--cmap", "viridis", "-o", out)
        ours = np.asarray(Image.open(out).convert("RGB"))
        self.assertEqual(ours[3, 4].tolist(), [0x80, 0x20, 0x20])
        self.assertEqual(ours[5, 6].tolist(), [0x20, 0x50, 0xA0])


if __name__ == "__main__":
    unittest.main()
