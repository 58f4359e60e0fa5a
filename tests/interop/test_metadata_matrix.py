"""Attributes of ten formats by one address: every question of the command, of Python, of C and of conversion, with the answer of the
peer.

Tier: rest. The peers are astropy, h5py, netCDF4, tifffile, asdf and safetensors' own header; a Dudley layout has none but its text.
`metadata_matrix.json` says why a format has no answer to a question; a test fails if a reason is not needed any more.
"""

import ctypes
import functools
import json
import pathlib
import struct
import subprocess
import tempfile
import unittest

import asdf
import h5py
import netCDF4
import numpy as np
import peer
import tifffile
import trilith
import xarray
from astropy.io import fits

# The name, value and datatype of one attribute of an array in each format, with the address of its owner and the unit of that.
FORMATS = {
    "x.fits": ("/fits/1", "EXPTIME", 12.5, "float64", "Jy"),
    "z.fits": ("/fits/1", "EXPTIME", 12.5, "float64", "Jy"),
    "x.h5": ("/run/hits", "gain", np.float32(0.1), "float32", "mJy"),
    "x4.nc": ("/te", "count", np.int16(300), "int16", "K"),
    "x3.nc": ("/te", "count", np.int16(300), "int16", "K"),
    "x.tif": ("/image", "Software", "maker 1.0", "text", None),
    "x.safetensors": ("", "maker", "someone", "text", None),
    "x.dud.raw": ("/x", "gain", 2.5, "float64", "m"),
    "x.bd": ("/x", "gain", 2.5, "float64", "m"),
    "x.asdf": ("/q/value", "unit", "m", "text", "m"),
}

# Arrays whose unit is asked for, where the attribute has another owner.
IMAGES = {"x.fits": "/fits/1/data", "z.fits": "/fits/1/data"}
QUESTIONS = {"peer", "get", "search", "diff", "table", "header", "python", "c", "convert"}

#: Cells without an answer, each with the reason.
REASONS = json.loads(pathlib.Path(__file__).with_name("metadata_matrix.json").read_text())
EMPTY_CELLS = {(name, question): reason for name, row in REASONS.items() for question, reason in row.items()}


def peer_answers(path):
    """The value of the attribute and the unit, as the library of the format reads them."""
    name = path.name
    owner, attribute, value, _, unit = FORMATS[name]
    if name.endswith(".fits"):
        header = fits.getheader(path, 1)
        return header[attribute], header["BUNIT"]
    if name == "x.h5":
        with h5py.File(path) as f:
            attrs = f[owner].attrs
            return attrs[attribute], attrs["units"]
    if name.endswith(".nc"):
        with netCDF4.Dataset(path) as f:
            variable = f[owner.strip("/")]
            return variable.getncattr(attribute), variable.units
    if name == "x.tif":
        with tifffile.TiffFile(path) as f:
            return f.pages[0].tags[attribute].value, None
    if name == "x.safetensors":
        data = path.read_bytes()
        header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
        return header["__metadata__"][attribute], None
    if name == "x.asdf":
        with asdf.open(path) as f:
            return f["q"][attribute] if isinstance(f["q"], dict) else str(f["q"].unit), unit
    return value, unit


@functools.cache
def c_library():
    """The C library of this build, with the types of the functions that are called."""
    library = ctypes.CDLL(str(pathlib.Path(peer.PROGRAM).with_name("libtrilith.so")))
    library.trilith_string_free.argtypes = [ctypes.c_void_p]
    return library


def c_attribute(path, item, name, layout):
    """The value and the datatype that C reads: a string unchanged, anything else as JSON."""
    library, error = c_library(), ctypes.c_void_p()

    def call(function, *words):
        code = getattr(library, function)(*words, ctypes.byref(error))
        assert code == 0, (function, code)

    options, file, found = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    value, datatype = ctypes.c_void_p(), ctypes.c_void_p()
    call("trilith_options_new", ctypes.byref(options))
    if layout:
        call("trilith_options_layout", options, layout.encode())
    call("trilith_open", str(path).encode(), options, ctypes.byref(file))
    call("trilith_item_at", file, item.encode(), ctypes.byref(found))
    call("trilith_item_attribute", found, name.encode(), ctypes.byref(value), ctypes.byref(datatype))
    texts = [ctypes.string_at(text.value).decode() if text.value else None for text in (value, datatype)]
    for text in (value, datatype):
        library.trilith_string_free(text)
    library.trilith_item_free(found)
    library.trilith_close(file)
    library.trilith_options_free(options)
    return texts


def run(*words):
    """Runs the command, and returns its status and its output as text."""
    return subprocess.run([peer.PROGRAM, *map(str, words)], capture_output=True, timeout=peer.TIME_LIMIT, check=False, text=True)


def write_files(folder, changed):
    """Writes a file of each format; the attribute has another value if it is to be `changed`."""
    other = {name: "other" if isinstance(row[2], str) else type(row[2])(7) for name, row in FORMATS.items()}
    value = {name: other[name] if changed else row[2] for name, row in FORMATS.items()}
    image = fits.ImageHDU(np.zeros((2, 3), "f4"), name="SCI")
    image.header["EXPTIME"] = (value["x.fits"], "[s] exposure")
    image.header["BUNIT"] = "Jy"
    fits.HDUList([fits.PrimaryHDU(), image]).writeto(folder / "x.fits")
    packed = fits.CompImageHDU(np.zeros((2, 3), "i4"), image.header, name="SCI")
    packed.header["EXPTIME"] = (value["z.fits"], "[s] exposure")
    fits.HDUList([fits.PrimaryHDU(), packed]).writeto(folder / "z.fits")
    with h5py.File(folder / "x.h5", "w") as f:
        data = f.create_dataset("run/hits", data=np.arange(6, dtype="i2").reshape(2, 3))
        data.attrs["gain"], data.attrs["units"] = value["x.h5"], "mJy"
    for name, form in (("x4.nc", "NETCDF4"), ("x3.nc", "NETCDF3_CLASSIC")):
        with netCDF4.Dataset(folder / name, "w", format=form) as f:
            f.createDimension("t", 3)
            variable = f.createVariable("te", "f4", ("t",))
            variable[:] = [1, 2, 3]
            variable.units, variable.count = "K", value[name]
    tifffile.imwrite(folder / "x.tif", np.zeros((2, 3), "u1"), software=value["x.tif"], metadata=None)
    header = json.dumps(
        {"__metadata__": {"maker": value["x.safetensors"]}, "x": {"dtype": "U8", "shape": [2], "data_offsets": [0, 2]}}
    ).encode()
    (folder / "x.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + b"\1\2")
    (folder / "x.dud").write_text(f'x = u1[2]\n  #: gain={value["x.bd"]!r}, unit="m"\n')
    (folder / "x.dud.raw").write_bytes(b"\1\2")
    peer.trilith("convert", "--layout", folder / "x.dud", folder / "x.dud.raw", folder / "x.bd")
    unit = "s" if changed else "m"
    trilith.write(folder / "x.asdf", {"q": trilith.TaggedDict({"value": np.arange(2.0), "unit": unit}, "tag:stsci.edu:asdf/unit/quantity-1.1.0")})


class MetadataMatrix(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.one, cls.two = (pathlib.Path(cls.folder.name, name) for name in ("one", "two"))
        for folder, changed in ((cls.one, False), (cls.two, True)):
            folder.mkdir()
            write_files(folder, changed)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def run_command(self, *words):
        layout = ["--layout", self.one / "x.dud"] if any("x.dud.raw" in str(word) for word in words) else []
        return run(*words, *layout)

    def each_cell(self, question, check):
        """Checks a question for each format; the formats without an answer have a reason."""
        for name, row in FORMATS.items():
            with self.subTest(format=name, question=question):
                check(name, (name, question) in EMPTY_CELLS, *row)

    def test_get_prints_value_and_datatype(self):
        def check(name, is_empty, path, attribute, value, datatype, _unit):
            done = self.run_command("get", "--json", f"{self.one / name}#{path or '/'}@{attribute}")
            if is_empty:
                self.assertNotEqual(done.returncode == 0 and attribute != "unit", True)
                return
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(json.loads(done.stdout), value if isinstance(value, str) else json.loads(str(value)))
            typed = self.run_command("get", f"{self.one / name}#{path or '/'}@{attribute}.datatype")
            self.assertEqual(typed.stdout.strip(), datatype)

        self.each_cell("get", check)

    def test_search_by_key_and_value(self):
        def check(name, is_empty, path, attribute, value, _datatype, _unit):
            found = self.run_command("search", self.one / name, "--key", f"^{attribute}$", "--value", f"=={value}")
            address = f"{self.one / name}#{path}@{attribute}: "
            self.assertEqual(any(line.startswith(address) for line in found.stdout.splitlines()), not is_empty, found.stdout)
            if is_empty:
                self.assertEqual(found.returncode, 0)

        self.each_cell("search", check)

    def test_diff_names_attribute_and_ignores_it(self):
        def check(name, is_empty, path, attribute, *_row):
            found = self.run_command("diff", self.one / name, self.two / name)
            if name.startswith("x.dud"):
                found = run("diff", self.one / name, self.two / name, "--layout-a", self.one / "x.dud", "--layout-b", self.two / "x.dud")
            self.assertEqual(found.returncode, 1, found.stderr)
            self.assertEqual(f"{path}@{attribute}: value" in found.stdout, not is_empty, found.stdout)
            pattern = "/q/unit" if is_empty else f"{path or '/'}@{attribute}" if path else f"@{attribute}"
            words = ["diff", self.one / name, self.two / name, "--ignore", pattern]
            if name.startswith("x.dud"):
                words += ["--layout-a", self.one / "x.dud", "--layout-b", self.two / "x.dud"]
            same = run(*words)
            self.assertEqual((same.returncode, same.stdout, same.stderr), (0, "", ""))
            odd = run(*words[:3], "--ignore", "nothing-of-this-name", *words[5:])
            self.assertIn("matches no item and no attribute", odd.stderr)

        self.each_cell("diff", check)

    def test_table_has_value_and_unit(self):
        def check(name, is_empty, path, attribute, value, _datatype, unit):
            words = ["table", self.one / name, "-c", f"v={path or '/'}@{attribute}", "-c", f"u={IMAGES.get(name, path or '/')}@unit", "--json"]
            found = self.run_command(*words)
            self.assertEqual(found.returncode, 0, found.stderr)
            row = json.loads(found.stdout.splitlines()[0]) if found.stdout.startswith("{\"file") else json.loads(found.stdout)
            row = row if "v" in row else row["rows"][0]
            if not is_empty:
                self.assertEqual(row["v"], value if isinstance(value, str) else json.loads(str(value)))
            self.assertEqual(row["u"], unit)

        self.each_cell("table", check)

    def test_header_lists_attribute(self):
        def check(name, _is_empty, path, attribute, value, datatype, _unit):
            done = self.run_command("header", "--json", self.one / name)
            items = {item["path"]: item["attributes"] for item in json.loads(done.stdout)["items"]}
            number = [hdu for hdu in items if hdu.startswith("/fits/1")]
            found = {one["name"]: one for one in items[number[0] if number else path or "/"]}[attribute]
            self.assertEqual(found["datatype"], datatype)
            self.assertEqual(found["value"], value if isinstance(value, str) else json.loads(str(value)))

        self.each_cell("header", check)

    def test_python_attributes_have_datatypes(self):
        def check(name, is_empty, path, attribute, value, _datatype, unit):
            layout = trilith.Layout.read(self.one / "x.dud") if name.startswith("x.dud") else None
            with trilith.open(self.one / name, layout=layout) as f:
                item = f[path.strip("/")] if path else f
                if not is_empty:
                    found = item.attrs[attribute]
                    self.assertEqual(found, value)
                    self.assertEqual(type(found), type(value) if isinstance(value, (str, np.generic)) else np.float64)
                    self.assertEqual(f[f"{path.strip('/') or ''}@{attribute}"], value)
                    json.dumps(item.attrs.to_dict())
                if path:
                    self.assertEqual(item.unit if name not in IMAGES else f["fits/1/data"].unit, unit)

        self.each_cell("python", check)

    def test_peers_read_expected_answers(self):
        def check(name, _is_empty, _path, _attribute, value, _datatype, unit):
            self.assertEqual(peer_answers(self.one / name), (value, unit))
            self.assertNotEqual(peer_answers(self.two / name)[0], value, name)

        changed = {name: row for name, row in FORMATS.items() if not name.startswith(("x.dud", "x.bd"))}
        for name, row in changed.items():
            with self.subTest(format=name):
                check(name, False, *row)

    def test_c_reads_value_and_datatype(self):
        def check(name, is_empty, path, attribute, value, datatype, _unit):
            layout = (self.one / "x.dud").read_text() if name.startswith("x.dud") else None
            text, found = c_attribute(self.one / name, path, attribute, layout)
            if is_empty:
                self.assertIsNone(text)
                return
            self.assertEqual(found, datatype)
            self.assertEqual(text if isinstance(value, str) else json.loads(text), value if isinstance(value, str) else json.loads(str(value)))

        self.each_cell("c", check)

    def test_conversion_keeps_value_and_type(self):
        def check(name, _is_empty, path, attribute, value, datatype, unit):
            asdf_copy, back = self.one / f"{name}.copy.asdf", self.one / f"{name}.back.bd"
            layout = ["--layout", self.one / "x.dud"] if name.startswith("x.dud") else []
            peer.trilith("convert", *layout, self.one / name, asdf_copy)
            if name.endswith(".fits"):
                back = back.with_suffix(".fits")
                peer.trilith("convert", asdf_copy, back)
                header, first = fits.getheader(back, 1), fits.getheader(self.one / name, 1)
                self.assertEqual((repr(header), header[attribute]), (repr(first), value))
                return
            peer.trilith("convert", asdf_copy, back, "--allow-loss")
            if name == "x.asdf":
                peer.trilith("convert", back, asdf_copy)
                self.assertEqual(peer.trilith("get", f"{asdf_copy}#/q/value@unit").decode().strip(), unit)
                return
            for copy in (asdf_copy, back):
                address = f"{copy}#{path or '/'}@{attribute}"
                self.assertEqual(peer.trilith("get", f"{address}.datatype").decode().strip(), datatype)
                found = json.loads(peer.trilith("get", "--json", address))
                self.assertEqual(found, value if isinstance(value, str) else json.loads(str(value)))

        self.each_cell("convert", check)

    def test_reasons_are_needed(self):
        for name, question in EMPTY_CELLS:
            self.assertIn(name, FORMATS)
            self.assertIn(question, QUESTIONS)


#: Values of attributes that h5py writes, and their datatypes.
HDF5_VALUES = {
    **{f"n_{kind}": np.dtype(kind).type(7) for kind in ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8", "c16")},
    "most": np.uint64(2**64 - 1),
    "least": np.int64(-(2**63)),
    "nan": np.float32("nan"),
    "list": np.array([1, 2, 3], "u2"),
    "matrix": np.arange(6, dtype="f4").reshape(2, 3),
    "text": "Zürich",
    "texts": np.array(["a", "bc"], h5py.string_dtype()),
    "fixed": np.bytes_(b"abc"),
    "yes": np.bool_(True),
    "odd name.x[1]": np.int8(3),
}


class AttributeTypes(unittest.TestCase):
    def test_hdf5_values_keep_datatypes(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "x.h5")
            with h5py.File(path, "w") as f:
                f["x"] = np.arange(3)
                f["x"].attrs.update(HDF5_VALUES)
                f["x"].attrs["empty"] = h5py.Empty("f4")
                f["x"].attrs["nul"] = np.bytes_(b"ab\0cd")
                f["x"].attrs["ref"] = f["x"].ref
                f["x"].attrs.create("state", 1, dtype=h5py.enum_dtype({"OFF": 0, "ON": 1}, basetype="i1"))
            with trilith.open(path) as f:
                attrs = f["x"].attrs
                for name, value in HDF5_VALUES.items():
                    with self.subTest(name=name):
                        found = attrs[name]
                        if isinstance(value, np.ndarray) and value.dtype.kind == "O":
                            self.assertEqual(list(found), list(value))
                        elif isinstance(value, (bytes, str)):
                            self.assertEqual(found, value if isinstance(value, str) else value.decode())
                        else:
                            np.testing.assert_array_equal(found, value)
                            self.assertEqual(np.asarray(found).dtype, np.asarray(value).dtype)
                self.assertIsNone(attrs["empty"])
                self.assertEqual(attrs["nul"], "ab\0cd")
                self.assertEqual((attrs["ref"], attrs["state"]), ("/x", 1))
                self.assertNotIn("x@matrix", list(f.keys()))
            json_of = json.loads(peer.trilith("header", "--json", path))["items"][0]["attributes"]
            values = {one["name"]: one["value"] for one in json_of}
            self.assertEqual(values["most"], 2**64 - 1)
            self.assertEqual((values["ref"], values["state"], values["empty"]), ({"reference": "/x"}, {"value": 1, "name": "ON"}, None))

    def test_float16_has_shortest_digits(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "x.h5")
            with h5py.File(path, "w") as f:
                f.attrs["half"] = np.float16(0.1)
            self.assertEqual(peer.trilith("get", f"{path}#/@half").decode().strip(), str(np.float16(0.1)))
            self.assertEqual(peer.trilith("search", path, "--value", "==0.1").decode().count("@half"), 1)

    def test_hdf5_attributes_become_typed_cards(self):
        """The peer is astropy."""
        with tempfile.TemporaryDirectory() as folder:
            path, copy = pathlib.Path(folder, "x.h5"), pathlib.Path(folder, "x.fits")
            with h5py.File(path, "w") as f:
                f["x"] = np.arange(3.0)
                f["x"].attrs.update({"flag": True, "big": np.uint64(2**64 - 1), "gain": np.float64(2.5), "text": "a", "units": "m"})
                f["x"].attrs["empty"] = h5py.Empty("f4")
                f["x"].attrs["pair"] = np.complex128(1 + 2j)
            peer.trilith("convert", path, copy)
            header = fits.getheader(copy, 1)
            values = {name: header[name] for name in ("FLAG", "BIG", "GAIN", "TEXT", "BUNIT", "PAIR")}
            self.assertEqual(values, {"FLAG": True, "BIG": 2**64 - 1, "GAIN": 2.5, "TEXT": "a", "BUNIT": "m", "PAIR": 1 + 2j})
            self.assertIs(type(values["FLAG"]), bool)
            self.assertIn("EMPTY", header)
            self.assertIsNone(header["EMPTY"])

    def test_netcdf_types_survive_xarray(self):
        kinds = ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8")
        with tempfile.TemporaryDirectory() as folder:
            path, copy = pathlib.Path(folder, "x.nc"), pathlib.Path(folder, "copy.nc")
            with netCDF4.Dataset(path, "w") as f:
                f.createDimension("t", 2)
                variable = f.createVariable("v", "f4", ("t",))
                variable[:] = [1, 2]
                for kind in kinds:
                    variable.setncattr(f"a_{kind}", np.dtype(kind).type(5))
                    variable.setncattr(f"l_{kind}", np.array([1, 2], kind))
            xarray.open_dataset(path, engine="trilith").to_netcdf(copy)
            with netCDF4.Dataset(path) as one, netCDF4.Dataset(copy) as other:
                for kind in kinds:
                    for name in (f"a_{kind}", f"l_{kind}"):
                        with self.subTest(name=name):
                            a, b = one["v"].getncattr(name), other["v"].getncattr(name)
                            np.testing.assert_array_equal(a, b)
                            self.assertEqual(np.asarray(a).dtype, np.asarray(b).dtype)


if __name__ == "__main__":
    unittest.main()
