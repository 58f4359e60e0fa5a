"""Metadata of other formats are kept in the mapping `annotations`, which Python asdf reads without a warning. In the rest of the tests."""

import os
import unittest
import warnings

import asdf
import numpy as np
from peer import Case, trilith, trilith_json

try:
    import h5py
except ImportError:
    h5py = None
try:
    import netCDF4
except ImportError:
    netCDF4 = None
try:
    import tifffile
except ImportError:
    tifffile = None
try:
    from astropy.io import fits
except ImportError:
    fits = None

SCHEMA = "asdf://trilith/schemas/annotations-1.0.0"


def hdf5(path):
    with h5py.File(path, "w") as file:
        file.attrs["title"], file.attrs["large"], file.attrs["list"] = "run 7", np.uint64(2**64 - 1), np.array([1, 2], "i2")
        counts = file.create_dataset("g/counts", data=np.arange(4, dtype="i4"))
        counts.attrs["units"], counts.attrs["large"] = "adu", np.array([2**64 - 1, 1], "u8")
        x = file.create_dataset("g/x", data=np.arange(4.0))
        x.make_scale("x")
        counts.dims[0].attach_scale(x)
        file.create_dataset("g/state", data=np.array([0, 1], "i1"), dtype=h5py.enum_dtype({"OFF": 0, "ON": 1}, basetype="i1"))
        # Data with the names that the mapping and that of earlier versions have.
        file["annotations"], file["dudley/x"] = np.arange(3), np.arange(2)
        file["dudley"].attrs["dialect"] = "2025"
    return {"/g/counts": "adu"}


def netcdf(path):
    with netCDF4.Dataset(path, "w") as file:
        file.title = "temperatures"
        file.createDimension("x", 4)
        packed = file.createVariable("t", "i2", ("x",), fill_value=-999)
        packed.scale_factor, packed.units, packed.long_name = np.float32(0.5), "K", "at the surface"
        packed[:] = np.ma.masked_array([10, 11, 12, 13.0], [False, False, True, False])
        days = file.createVariable("time", "f8", ("x",))
        days.units, days[:] = "days since 2000-01-01", np.arange(4)
    return {"/t": "K", "/time": "days since 2000-01-01"}


def tiff(path):
    tifffile.imwrite(path, np.arange(48, dtype="u2").reshape(6, 8), description="six rows", metadata=None)
    return {}


def layout(path):
    raw, text = path.with_suffix(".raw"), path.with_suffix(".dud")
    raw.write_bytes(np.arange(6, dtype="<f8").tobytes())
    text.write_text('## of the run\nNX : 3\nx = <f8[2, NX]  ## along\n#: unit="m", level=2\n')
    trilith("convert", raw, path, "--layout", text)
    return {"/x": "m"}


FORMATS = [("h5", hdf5, h5py), ("nc", netcdf, netCDF4), ("tif", tiff, tifffile), ("bd", layout, True)]


def attributes(path):
    """The attributes of each item of a file, by its path."""
    found = {}

    def visit(item, at):
        if not isinstance(item, dict) or "attributes" not in item:
            return
        if item["attributes"]:
            found[at] = item["attributes"]
        if isinstance(item["value"], dict):
            for key, value in item["value"].items():
                visit(value, f"{at}/{key}")

    visit(trilith_json("tree", path, "--attributes"), "")
    return found


class Annotations(Case):
    maxDiff = None

    def files(self):
        for ending, make, there in FORMATS:
            if there:
                path = self.folder / f"x.{ending}"
                yield path, make(path)

    def test_python_asdf_opens_the_mapping_without_a_warning(self):
        for path, units in self.files():
            for options in ([], ["--physical"]):
                out = self.folder / f"{path.suffix[1:]}.asdf"
                trilith("convert", path, out, *options, "--quiet")
                self.assertTrue(trilith_json("validate", out)["valid"])
                with self.subTest(path.name, options=options), warnings.catch_warnings():
                    warnings.simplefilter("error")
                    with asdf.open(out) as opened:
                        (mapping,) = [value for value in opened.tree.values() if isinstance(value, dict) and value.get("schema") == SCHEMA]
                        for item, unit in units.items():
                            self.assertEqual(mapping[item]["unit"], unit)
                            array = opened
                            for key in item[1:].split("/"):
                                array = array[key]
                            self.assertIsInstance(array, asdf.tags.core.NDArrayType)

    def test_data_of_that_name_keep_it(self):
        if h5py is None:
            self.skipTest("h5py is not installed")
        path, out = self.folder / "x.h5", self.folder / "x.asdf"
        hdf5(path)
        trilith("convert", path, out)
        with asdf.open(out) as opened:
            self.assertEqual(opened["annotations"][...].tolist(), [0, 1, 2])
            self.assertEqual(opened["dudley"]["x"][...].tolist(), [0, 1])
            mapping = opened["annotations_2"]
            self.assertEqual(mapping[""]["attributes"]["title"], "run 7")
            self.assertEqual(mapping[""]["attributes"]["large"], {"value": 2**64 - 1, "datatype": "uint64"})
            self.assertEqual(list(mapping["/g/counts"]["attributes"]["large"]["value"]), [2**64 - 1, 1])
            self.assertEqual(mapping["/dudley"]["attributes"], {"dialect": "2025"})
            self.assertEqual(mapping["/g/state"]["enumeration"], {"OFF": 0, "ON": 1})
            self.assertEqual(mapping["/g/counts"]["axes"], ["x"])

    def test_attributes_are_those_of_the_original_file(self):
        for path, units in self.files():
            out, back = self.folder / "o.asdf", self.folder / "back.bd"
            trilith("convert", path, out, "--quiet")
            with self.subTest(path.name):
                wanted, found = attributes(path), attributes(out)
                self.assertTrue(wanted)
                for item, values in wanted.items():
                    # The reader of the other format applies these to the elements, and shows the others.
                    self.assertLessEqual(values.items(), found.get(item, {}).items(), item)
                for item, unit in units.items():
                    self.assertIn(unit.encode(), trilith("table", out, "-c", f"u={item}@unit", "--format", "csv"))
                said = trilith("convert", out, back, "--json", "--quiet")
                self.assertNotIn(b'"losses": [{', said)
                again = attributes(back)
                for item, values in wanted.items():
                    self.assertLessEqual(values.items(), again.get(item, {}).items(), item)

    def test_fits_units_and_coordinates(self):
        if fits is None:
            self.skipTest("astropy is not installed")
        path, out = self.folder / "x.fits", self.folder / "v.asdf"
        image = fits.ImageHDU(np.ones((8, 8), "i2"), name="SCI")
        cards = dict(CTYPE1="RA---TAN", CTYPE2="DEC--TAN", CRPIX1=4.0, CRPIX2=4.0, CRVAL1=10.0, CRVAL2=20.0, CDELT1=-1e-3, CDELT2=1e-3)
        image.header.update(cards | {"BUNIT": "MJy/sr", "BSCALE": 0.5, "BZERO": 3.0})
        columns = [fits.Column("Flux", "E", unit="Jy", array=[1.0, 2.0]), fits.Column("name", "3A", unit="none", array=["a", "b"]),
                   fits.Column("header", "J", null=2, unit="s", array=[1, 2]), fits.Column("v", "PJ()", unit="m", array=np.array([[1], [2, 3]], object))]
        packed = fits.CompImageHDU(np.ones((8, 8), "f4"), name="PACKED", compression_type="GZIP_1")
        packed.header.update(cards)
        fits.HDUList([fits.PrimaryHDU(), image, fits.BinTableHDU.from_columns(columns, name="CAT"), packed]).writeto(path)
        trilith("convert", path, out, "--physical")
        self.assertEqual(trilith("sky", out, "0,0"), trilith("sky", path, "0,0"))
        self.assertEqual(trilith("sky", f"{out}#/PACKED/data", "0,0"), trilith("sky", f"{path}#/fits/3/data", "0,0"))
        self.assertTrue(trilith_json("validate", out)["valid"])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with asdf.open(out) as opened, fits.open(path) as wanted:
                self.assertEqual(str(opened["SCI"]["data"].unit), "MJy / sr")
                np.testing.assert_array_equal(opened["SCI"]["data"].value, wanted["SCI"].data)
                self.assertIn(["CRVAL1", 10.0], opened["SCI"]["header"])
                self.assertEqual((str(opened["CAT"]["Flux"].unit), list(opened["CAT"]["Flux"].value)), ("Jy", [1.0, 2.0]))
                self.assertEqual((str(opened["CAT"]["header"].unit), opened["CAT"]["header"].mask.tolist()), ("s", [False, True]))
                self.assertIn(["TUNIT1", "Jy"], opened["CAT"]["header_2"])
                self.assertEqual(opened["annotations"]["/CAT/name"], {"unit": "none"})
                self.assertEqual(opened["annotations"]["/CAT/v"], {"unit": "m"})
                self.assertEqual(list(opened["PRIMARY"]), ["header"])

    def test_no_temporary_files(self):
        """Nothing but the output is written, whatever the options are."""
        environment = dict(os.environ, TMPDIR=str(self.folder / "none"))
        options = [[], ["--codec", "auto"], ["--codec", "lz4"], ["--rows", "2"], ["--align", "4096"], ["--no-checksums"], ["--physical"]]
        plans = [(".asdf", extra) for extra in options] + [(".fits", []), (".bd", []), (".asdf", ["--chunks", "2"])]
        paths = list(self.files())
        if fits is not None:
            path = self.folder / "y.fits"
            fits.PrimaryHDU(np.arange(12, dtype="i2").reshape(3, 4)).writeto(path)
            paths.append((path, {}))
        for path, _ in paths:
            for ending, extra in plans:
                with self.subTest(path.name, ending=ending, extra=extra):
                    folder = self.folder / "out"
                    folder.mkdir(exist_ok=True)
                    trilith("convert", path, folder / f"o{ending}", *extra, "--quiet", "--allow-loss", env=environment)
                    self.assertEqual([one.name for one in folder.iterdir()], [f"o{ending}"])
                    if ending == ".asdf" and not extra or extra[:1] == ["--codec"]:
                        found, wanted = (trilith_json("digest", one, "--stored")["arrays"] for one in (folder / "o.asdf", path))
                        self.assertLessEqual({str(one) for one in wanted.values()}, {str(one) for one in found.values()})
                    (folder / f"o{ending}").unlink()

    @unittest.skipIf(h5py is None, "h5py is missing")
    def test_attribute_called_dims_is_no_axis(self):
        """An attribute may have the name under which `tree` and `diff` show the names of axes."""
        for name, value in (("a", "one"), ("b", "two")):
            with h5py.File(self.folder / f"{name}.h5", "w") as file:
                x, file["y"] = file.create_dataset("x", data=np.arange(3.0)), [1, 2, 3]
                x.make_scale("x")
                file["y"].dims[0].attach_scale(x)
                file["y"].attrs["dims"] = value
        said = trilith("diff", self.folder / "a.h5", self.folder / "b.h5", status=1).decode()
        self.assertEqual(said.splitlines(), ["/y@dims: value", '  - "one"', '  + "two"'])
        self.assertIn('dims="one", dims=[x]', trilith("tree", self.folder / "a.h5").decode())
        self.assertEqual(trilith_json("get", f"{self.folder}/a.h5#/y@dims"), "one")


if __name__ == "__main__":
    unittest.main()
