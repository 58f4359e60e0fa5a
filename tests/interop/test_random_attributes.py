"""Random attributes of every type of HDF5, netCDF and FITS, through Python, JSON, ASDF, Dudley files and xarray: each value arrives with
its type, or is a loss that is listed.

Tier: rest. The peers are h5py, netCDF4, astropy and xarray. `cargo xtask campaign attributes` makes more files than the default. An array
of one element is its element, as netCDF has it, and strings of a fixed length are strings.
"""

import base64
import json
import os
import pathlib
import subprocess
import tempfile
import unittest
import warnings

import h5py
import netCDF4
import numpy as np
import peer
import trilith
import xarray
from astropy.io import fits

FILES = int(os.environ.get("TRILITH_CAMPAIGN", "24"))
SEED = int(os.environ.get("TRILITH_CAMPAIGN_SEED", "0"))
FORMATS = ("h5", "nc4", "nc3", "fits")
#: Where the attributes are, and the same place as xarray and FITS name it.
OWNERS = {"h5": "run/hits", "nc4": "te", "nc3": "te", "fits": "fits/1"}
INTEGERS = ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8")
FLOATS = ("f2", "f4", "f8")
TEXTS = (
    "plain", "", "two words", "ä°µ日", "1.5", "true", "null", "nan", "~", "- a: 1", "{a: 1}", "a\nb\tc", " edge ", "own:x", "%41", '"q"',
    "2020-01-01", "0x10", "1_000", "#x", "a: b", "'", "\\", "!!binary x", "=", "[1, 2]",
)
NAMES = (
    "a", "two words", "a.b", "a/b", "é", "type:x", "unit", "units", "shape", "datatype", "own:z", "$ref", "grid_dims", "axes", "doc", "a@b",
    "enum_names:x", "attributes", "value", "long_name", "comment", "~1", "%40",
)


class Generator:
    """A random file, and the values that its peer reads from it."""

    def __init__(self, number):
        self.format = FORMATS[number % len(FORMATS)]
        self.random = np.random.default_rng([SEED, number])

    def pick(self, values):
        return values[self.random.integers(len(values))]

    def integers(self, code, shape):
        info = np.iinfo(code)
        edges = np.array([info.min, info.max, 0, 1, 100], dtype=code)
        return edges[self.random.integers(0, 5, shape)]

    def floats(self, code, shape):
        info = np.finfo(code)
        edges = np.array([0.1, -0.0, np.nan, np.inf, -np.inf, info.max, info.tiny, 1e4, 3.0], dtype=code)
        return edges[self.random.integers(0, len(edges), shape)]

    def numbers(self, codes, shape):
        code = self.pick(codes)
        made = self.floats if code[0] == "f" else self.integers
        return np.asarray(made(code, shape), dtype=code)[()]

    def write(self, folder):
        """Writes the file; returns its path."""
        path = folder / f"x.{'nc' if self.format.startswith('nc') else self.format}"
        path.unlink(missing_ok=True)
        count = int(self.random.integers(3, 9))
        getattr(self, f"write_{self.format}")(path, [NAMES[at] for at in self.random.permutation(len(NAMES))[:count]])
        return path

    def write_h5(self, path, names):
        with h5py.File(path, "w", track_order=True) as file:
            owner = file.create_dataset("run/hits", data=np.arange(3, dtype="i2"), track_order=True)
            for name in names:
                self.hdf5_attribute(file, owner.attrs, name)

    def hdf5_attribute(self, file, attrs, name):
        shape = self.pick([(), (), (3,), (1,), (2, 3), (0,)])
        kind = self.pick(["int", "int", "float", "big", "complex", "bool", "text", "text", "texts", "fixed", "empty", "enum", "opaque", "ref", "refs", "struct"])
        if kind == "int":
            attrs[name] = self.numbers(INTEGERS, shape)
        elif kind == "float":
            attrs[name] = self.numbers(FLOATS, shape)
        elif kind == "big":
            value = np.asarray(self.numbers(("i2", "i4", "i8", "f4", "f8"), shape))
            attrs.create(name, value.astype(value.dtype.newbyteorder(">")))
        elif kind == "complex":
            code = self.pick(["c8", "c16"])
            attrs[name] = np.asarray(self.random.normal(size=shape) + 1j, dtype=code)[()]
        elif kind == "bool":
            attrs[name] = np.asarray(self.random.random(shape) < 0.5)[()]
        elif kind == "text":
            attrs[name] = self.pick(TEXTS)
        elif kind == "texts":
            attrs[name] = np.array([self.pick(TEXTS) for _ in range(3)], dtype=h5py.string_dtype())
        elif kind == "fixed":
            attrs[name] = np.array([b"ab", b"c", b""][: int(self.random.integers(1, 4))])
        elif kind == "empty":
            attrs[name] = h5py.Empty(self.pick(["f4", "i8", "S1"]))
        elif kind == "enum":
            base = self.pick(["i1", "u2", "i8"])
            attrs.create(name, np.ones(shape, base)[()], dtype=h5py.enum_dtype({"OFF": 0, "ON": 1}, base))
        elif kind == "opaque":
            attrs[name] = np.void(self.pick([b"\1\2", b"text", b"\xff\0"]))
        elif kind == "ref":
            attrs[name] = file["run/hits"].ref
        elif kind == "refs":
            attrs[name] = np.array([file["run"].ref, file["run/hits"].ref], dtype=h5py.ref_dtype)
        else:
            attrs[name] = np.array([(1, 2.5, b"x"), (3, 4.5, b"y")], dtype=[("n", "i4"), ("v", "f4"), ("s", "S2")])

    def write_nc4(self, path, names):
        self.netcdf(path, names, "NETCDF4", (*INTEGERS, "f4", "f8"))

    def write_nc3(self, path, names):
        self.netcdf(path, names, "NETCDF3_CLASSIC", ("i1", "i2", "i4", "f4", "f8"))

    def netcdf(self, path, names, form, codes):
        with netCDF4.Dataset(path, "w", format=form) as file:
            file.createDimension("t", 3)
            variable = file.createVariable("te", "f4", ("t",))
            variable[:] = [1, 2, 3]
            # Names of netCDF have no slash, and begin with a letter.
            for name in (name for name in names if "/" not in name and name[0].isalpha()):
                kind = self.pick(["number", "number", "numbers", "text", "texts"])
                if kind == "number":
                    variable.setncattr(name, self.numbers(codes, ()))
                elif kind == "numbers":
                    variable.setncattr(name, self.numbers(codes, (int(self.random.integers(1, 4)),)))
                elif kind == "texts" and form == "NETCDF4":
                    variable.setncattr_string(name, [self.pick(TEXTS) for _ in range(2)])
                else:
                    variable.setncattr(name, self.pick(TEXTS))

    def write_fits(self, path, names):
        image = fits.ImageHDU(np.zeros((2, 3), "f4"), name="SCI")
        for number, name in enumerate(names):
            # The words of other formats have no characters that a keyword could not have.
            keyword = self.pick([f"KEY{number}", f"HIERARCH LONG KEYWORD {number}"])
            values = (-5, 2**62, 1.5, 1e300, -0.0, True, False, "text", "", "it's", " edge", "1.5", complex(1, -2), None, "x" * 100, 12345678901234567890)
            comment = self.pick(["", "a comment", "[s] with a unit", "name " + name if name.isascii() else ""])
            image.header[keyword] = (self.pick(values), comment)
        fits.HDUList([fits.PrimaryHDU(), image]).writeto(path)

    def expected(self, path):
        """The attributes as the peer reads them."""
        if self.format == "h5":
            with h5py.File(path) as file:
                attrs = file["run/hits"].attrs
                return {name: self.reference(file, attrs[name]) for name in attrs}
        if self.format == "fits":
            with fits.open(path) as hdus:
                structure = {"XTENSION", "BITPIX", "NAXIS", "NAXIS1", "NAXIS2", "PCOUNT", "GCOUNT"}
                values = {key: card.value for card in hdus[1].header.cards if (key := card.keyword) not in structure}
                return {name: None if isinstance(value, fits.card.Undefined) else value for name, value in values.items()}
        with netCDF4.Dataset(path) as file:
            variable = file["te"]
            return {name: variable.getncattr(name) for name in variable.ncattrs()}

    @staticmethod
    def reference(file, value):
        if isinstance(value, h5py.Reference):
            return file[value].name
        if isinstance(value, np.ndarray) and h5py.check_ref_dtype(value.dtype):
            return [file[one].name for one in value]
        return value


def plain(value):
    """A value of any of the readers as one with a datatype name: (name, value)."""
    if value is None or isinstance(value, h5py.Empty):
        return "empty", None
    if isinstance(value, np.void) and value.dtype.names is None:
        return "bytes", value.tobytes()
    if isinstance(value, np.bytes_):
        return "text", value.decode()
    if isinstance(value, bytes):
        return "bytes", value
    if isinstance(value, str):
        return "text", value
    if isinstance(value, bool | np.bool_):
        return "bool", bool(value)
    if isinstance(value, int):
        return ("int64" if -(2**63) <= value < 2**63 else "large"), value
    if isinstance(value, float | complex) and not isinstance(value, np.generic):
        return ("float64" if isinstance(value, float) else "complex128"), value
    if isinstance(value, list | tuple):
        return plain(np.array(value, dtype=object) if any(isinstance(one, str) for one in value) else np.array(value))
    value = np.asarray(value)
    if value.size == 1 and value.ndim == 1:
        return plain(value[0])
    if value.dtype.kind in "SUO":
        return "text", np.vectorize(lambda text: text.decode() if isinstance(text, bytes) else text, otypes=[object])(value).tolist()
    if value.dtype.names:
        return "struct", [[part.decode() if isinstance(part, bytes) else part for part in row] for row in value.tolist()]
    return value.dtype.name, value.tolist()


def same(ours, theirs):
    """Whether two plain values are equal, NaN with NaN, and -0.0 with -0.0 alone."""
    if isinstance(ours, list) and isinstance(theirs, list):
        return len(ours) == len(theirs) and all(map(same, ours, theirs))
    if isinstance(ours, float) and isinstance(theirs, float):
        return repr(ours) == repr(theirs)
    return type(ours) is type(theirs) and ours == theirs


def from_json(value, datatype):
    """The plain value that the JSON form of an attribute stands for."""
    if isinstance(value, list):
        values = [from_json(one, datatype) for one in value]
        return values[0] if len(values) == 1 else values
    if isinstance(value, dict):
        if "base64" in value:
            return base64.b64decode(value["base64"])
        return value.get("reference", value.get("value"))
    if datatype.startswith("float") and value in ("NaN", "Infinity", "-Infinity"):
        return float(value.replace("Infinity", "inf"))
    if datatype.startswith("float") and value is not None:
        return float(np.dtype(datatype).type(value))
    if datatype.startswith("complex") and isinstance(value, str):
        return complex(np.dtype(datatype).type(complex(value)))
    return value


class RandomAttributes(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def compare(self, where, expected, found, losses=()):
        """Compares the attributes that were found with the expected ones; those that a loss names may be missing or different."""
        for name, value in expected.items():
            with self.subTest(where=where, name=name):
                if any(name in loss for loss in losses):
                    continue
                self.assertIn(name, found)
                datatype, value = plain(value)
                found_type, found_value = plain(found[name])
                is_same = same(found_value, value) and (found_type == datatype or datatype in ("struct", "large"))
                self.assertTrue(is_same, f"{found_type} {found_value!r} is not {datatype} {value!r}")

    def attrs(self, path, owner):
        with trilith.open(path) as file:
            attrs = file[owner].attrs
            return {name: attrs[name] for name in attrs}

    def test_attributes_arrive_in_every_form(self):
        for number in range(FILES):
            made = Generator(number)
            path = made.write(self.folder)
            expected, owner = made.expected(path), OWNERS[made.format]
            with self.subTest(file=number, format=made.format):
                self.compare((number, "python"), expected, self.attrs(path, owner))
                self.check_json(number, path, owner, expected)
                for form in ("asdf", "bd"):
                    self.check_conversion(number, path, owner, expected, form)
                if made.format.startswith("nc"):
                    self.check_xarray(number, path, expected)

    def check_json(self, number, path, owner, expected):
        items = json.loads(peer.trilith("header", path, "--json"))["items"]
        found = next((item["attributes"] for item in items if item["path"] == "/" + owner), [])
        found = {attribute["name"]: attribute for attribute in found}
        for name, value in expected.items():
            with self.subTest(where=(number, "json"), name=name):
                datatype, value = plain(value)
                stated = found[name]["datatype"]
                self.assertTrue(same(from_json(found[name]["value"], stated), value) or datatype == "struct", (found[name], value))
                known = {"text": ("text", "reference", "ascii", "utf8"), "bool": ("bool8",), "large": ("text", "uint64", "float64")}
                is_known = any(stated.strip("[").startswith(one) for one in known.get(datatype, (datatype,)))
                self.assertTrue(is_known or datatype == "struct", (found[name], datatype))

    def check_conversion(self, number, path, owner, expected, form):
        out = self.folder / f"y.{form}"
        out.unlink(missing_ok=True)
        done = subprocess.run(
            [peer.PROGRAM, "convert", path, out, "--allow-loss", "--json"], capture_output=True, timeout=peer.TIME_LIMIT, check=False, text=True
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        losses = [f"{loss['path']} {loss['message']}" for loss in json.loads(done.stdout)["losses"]]
        if not str(path).endswith(".fits"):
            found = self.attrs(out, owner)
            with trilith.open(out) as file:
                # Structs are items next to the one that has them.
                group, _, own = owner.rpartition("/")
                items = file[group] if group else file
                for name in (name for name, value in expected.items() if plain(value)[0] == "struct"):
                    found[name] = items[f"{own}@{name}"][...]
            self.compare((number, form), expected, found, losses)
        elif form == "asdf":
            back = self.folder / "z.fits"
            back.unlink(missing_ok=True)
            peer.trilith("convert", out, back)
            self.assertEqual(fits.getheader(path, 1), fits.getheader(back, 1))

    def check_xarray(self, number, path, expected):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ours = xarray.open_dataset(path, engine="trilith", decode_times=False, decode_cf=False).load()
            theirs = xarray.open_dataset(path, engine="netcdf4", decode_times=False, decode_cf=False).load()
            self.compare((number, "xarray"), theirs["te"].attrs, ours["te"].attrs)
            back = self.folder / "back.nc"
            form = "NETCDF4" if any(isinstance(value, list) for value in expected.values()) else None
            try:
                theirs.to_netcdf(back, engine="netcdf4", format=form)
            except Exception:  # xarray refuses the attribute, whoever read it
                return
            ours.to_netcdf(back, engine="netcdf4", format=form)
            with netCDF4.Dataset(back) as file:
                variable = file["te"]
                found = {name: variable.getncattr(name) for name in variable.ncattrs()}
            self.compare((number, "to_netcdf"), expected, found)
