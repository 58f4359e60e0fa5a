"""Elements of HDF5 that no datatype of a layout has: references, dates, lists in arrays, and virtual datasets of converted numbers.
Rest tier, as all interop modules."""

import ctypes
import importlib.util
import struct
import unittest

import numpy as np
from peer import Case, sha256, trilith, trilith_json

HAS_H5PY = importlib.util.find_spec("h5py") is not None
if HAS_H5PY:
    import h5py


def name_of(f, reference):
    """The path to which a reference of h5py leads; no text for a null reference."""
    return f[reference].name if reference else ""


@unittest.skipUnless(HAS_H5PY, "needs h5py")
class References(Case):
    def make(self, **options):
        path = self.folder / "r.h5"
        with h5py.File(path, "w", **options) as f:
            f["x"] = np.arange(60.0).reshape(6, 10)
            f["#refs#/a b%"], f["g/é"] = np.arange(2), 7
            a, b, x = f["#refs#/a b%"], f["g/é"], f["x"]
            objects = [a.ref, b.ref, f["g"].ref, f.ref, h5py.Reference(), a.ref]
            f["cells"] = np.array(objects, dtype=h5py.ref_dtype).reshape(2, 3)
            f.create_dataset("packed", data=np.array(objects * 5, dtype=h5py.ref_dtype), chunks=(7,), compression="gzip")
            f.create_dataset("unwritten", (3,), dtype=h5py.ref_dtype)
            f["scalar"] = a.ref
            regions = [x.regionref[1:3, 2], x.regionref[::2, 1:4], h5py.RegionReference(), x.regionref[...]]
            f["regions"] = np.array(regions, dtype=h5py.regionref_dtype)
            space = h5py.h5s.create_simple((6, 10))
            space.select_elements(np.array([[0, 1], [5, 9]]))
            points = h5py.h5r.create(f.id, b"x", h5py.h5r.DATASET_REGION, space)
            space.select_hyperslab((0, 0), (1, 1), block=(2, 2))
            space.select_hyperslab((3, 4), (1, 1), block=(2, 3), op=h5py.h5s.SELECT_OR)
            boxes = h5py.h5r.create(f.id, b"x", h5py.h5r.DATASET_REGION, space)
            f["odd"] = np.array([points, boxes], dtype=h5py.regionref_dtype)
            inner = np.dtype([("r", h5py.ref_dtype), ("n", "i2")])
            rows = np.zeros(3, [("i", "i4"), ("r", h5py.ref_dtype), ("in", inner, (2,)), ("s", h5py.string_dtype()), ("g", h5py.regionref_dtype)])
            for n in range(3):
                rows[n] = (n, objects[n], [(objects[n + 1], n), (objects[n + 2], -n)], "text" * n, regions[n])
            f["rows"] = rows
            lists = f.create_dataset("lists", (3,), dtype=h5py.vlen_dtype(h5py.ref_dtype))
            lists[0], lists[2] = np.array([a.ref], dtype=h5py.ref_dtype), np.array([b.ref, f.ref], dtype=h5py.ref_dtype)
            x.attrs["r"], x.attrs["region"] = b.ref, regions[0]
            x.attrs["all"] = np.array(objects, dtype=h5py.ref_dtype)
            x.attrs["table"] = rows[["i", "r"]].astype([("i", "i4"), ("r", h5py.ref_dtype)])
        return path

    REGIONS = ["/x[1:3,2:3]", "/x[0:5:2,1:4]", "", "/x[...]"]

    def test_references_are_paths_in_each_storage(self):
        for options in {}, {"libver": "latest"}, {"userblock_size": 1024}:
            path = self.make(**options)
            with h5py.File(path) as f:
                expected = {
                    name: np.vectorize(lambda r, f=f: name_of(f, r), otypes=[object])(f[name][...]).tolist()
                    for name in ("cells", "packed", "unwritten")
                }
            self.assertEqual(expected["cells"][0], ["/#refs#/a b%", "/g/é", "/g"])
            expected |= {"scalar": "/#refs#/a b%", "regions": self.REGIONS, "odd": ["/x[0,1][5,9]", "/x[0:2,0:2][3:5,4:7]"]}
            expected["lists"] = [["/#refs#/a b%"], [], ["/g/é", "/"]]
            names = ["/#refs#/a b%", "/g/é", "/g", "/", ""]
            expected["rows"] = [
                [n, names[n], [[names[n + 1], n], [names[n + 2], -n]], "text" * n, self.REGIONS[n]] for n in range(3)
            ]
            for name, value in expected.items():
                with self.subTest(name, **options):
                    self.assertEqual(trilith_json("get", f"{path}#/{name}"), value)
                    self.assertEqual(trilith_json("get", f"{path}#/{name}", "--stored"), value)
            trilith("verify", "--deep", path)
            self.assertEqual(trilith("diff", path, path), b"")

    def test_references_survive_conversion(self):
        path, out = self.make(), self.folder / "r.asdf"
        trilith("convert", path, out)
        trilith("verify", "--deep", out)
        for name in "cells", "regions", "rows", "lists/2", "scalar":
            self.assertEqual(trilith_json("get", f"{out}#/{name}"), trilith_json("get", f"{path}#/{name}"), name)
        trilith("show", f"{path}#/rows")
        self.assertIn("/g/é", trilith("layout", "from", path).decode())

    def test_references_in_attributes_are_paths(self):
        path = self.make()
        layout = trilith("layout", "from", path).decode()
        self.assertIn('#: region="/x[1:3,2:3]"', layout)
        self.assertIn('#: r="/g/é"', layout)
        self.assertIn('#: all=["/#refs#/a b%", "/g/é", "/g", "/", "", "/#refs#/a b%"]', layout)
        self.assertEqual([row[1] for row in trilith_json("get", f"{path}#/x@table")], ["/#refs#/a b%", "/g/é", "/g"])

    def revised(self, libver):
        """A file with references in the form of HDF5 1.12, which only the C library writes."""
        path = self.folder / f"revised-{libver}.h5"
        loaded = [line.split()[-1] for line in open("/proc/self/maps") if "libhdf5-" in line and "h5py" in line]
        if not loaded:
            self.skipTest("needs the HDF5 library of h5py")
        library, handle = ctypes.CDLL(loaded[0]), ctypes.c_int64
        library.H5Dcreate2.restype = library.H5Acreate2.restype = handle
        kind, none, references = handle.in_dll(library, "H5T_STD_REF_g"), handle(0), (ctypes.c_uint8 * (64 * 7))()
        with h5py.File(path, "w", libver=libver) as f:
            f["x"], f["g/inner"] = np.arange(12).reshape(3, 4), [1, 2]
            f["x"].attrs["unit"] = 5
            box, points, all_of = (h5py.h5s.create_simple((3, 4)) for _ in range(3))
            box.select_hyperslab((1, 0), (1, 2))
            points.select_elements([(0, 1), (2, 3)])
            one, file = h5py.h5s.create_simple((7,)), handle(f.id.id)
            at = [ctypes.byref(references, 64 * n) for n in range(7)]
            calls = [library.H5Rcreate_object(file, name, none, at[n]) for n, name in enumerate((b"/x", b"/g"))]
            calls += [
                library.H5Rcreate_region(file, b"/x", handle(space.id), none, at[n])
                for n, space in enumerate((box, points, all_of), 2)
            ]
            calls.append(library.H5Rcreate_attr(file, b"/x", b"unit", none, at[5]))
            calls.append(dataset := library.H5Dcreate2(file, b"references", kind, handle(one.id), none, none, none))
            calls.append(library.H5Dwrite(handle(dataset), kind, none, none, none, references))
            calls.append(library.H5Dclose(handle(dataset)))
            calls.append(attribute := library.H5Acreate2(file, b"references", kind, handle(one.id), none, none))
            calls.append(library.H5Awrite(handle(attribute), kind, references))
            calls.append(library.H5Aclose(handle(attribute)))
            struct_type = h5py.h5t.create(h5py.h5t.COMPOUND, 72)
            calls.append(library.H5Tinsert(handle(struct_type.id), b"n", ctypes.c_size_t(0), handle(h5py.h5t.STD_I64LE.id)))
            calls.append(library.H5Tinsert(handle(struct_type.id), b"r", ctypes.c_size_t(8), kind))
            rows = b"".join(n.to_bytes(8, "little") + bytes(references)[64 * n : 64 * n + 64] for n in range(7))
            calls.append(dataset := library.H5Dcreate2(file, b"rows", handle(struct_type.id), handle(one.id), none, none, none))
            calls.append(library.H5Dwrite(handle(dataset), handle(struct_type.id), none, none, none, rows))
            calls.append(library.H5Dclose(handle(dataset)))
            self.assertTrue(all(status >= 0 for status in calls), calls)
        return path

    def test_revised_references_are_paths(self):
        paths = ["/x", "/g", "/x[1:2,0:2]", "/x[0,1][2,3]", "/x[...]", "/x@unit", ""]
        for libver in "earliest", "latest":
            with self.subTest(libver):
                path = self.revised(libver)
                self.assertEqual(trilith_json("get", f"{path}#/references"), paths)
                self.assertEqual(trilith_json("get", f"{path}#/rows"), [[n, text] for n, text in enumerate(paths)])
                items = trilith_json("header", path)["items"]
                stated = [one for item in items for one in item["attributes"] if one["name"] == "references"]
                self.assertEqual(stated[0]["value"], [{"reference": text} for text in paths])
                trilith("verify", "--deep", path)
                out = self.folder / f"{libver}.asdf"
                trilith("convert", path, out)
                self.assertEqual(trilith_json("get", f"{out}#/references"), paths)

    def test_dangling_references_hide_nothing(self):
        path = self.make()
        whole = bytearray(path.read_bytes())
        with h5py.File(path) as f:
            place, regions = f["cells"].id.get_offset(), f["regions"].id.get_offset()
        whole[place : place + 8] = struct.pack("<Q", 12345)
        whole[regions : regions + 8] = struct.pack("<Q", 12344)
        path.write_bytes(whole)
        found = trilith_json("get", f"{path}#/cells")
        self.assertEqual(found[0][:2], ["address 12345", "/g/é"])
        found = trilith_json("get", f"{path}#/regions")
        self.assertEqual(found, ["a region that cannot be read, at address 12344", *self.REGIONS[1:]])

    def test_strings_far_larger_than_file_stay_addresses(self):
        path = self.folder / "long.h5"
        with h5py.File(path, "w") as f:
            f["n" * 50_000] = 1
            f["r"] = np.array([f["n" * 50_000].ref] * 20_000, dtype=h5py.ref_dtype)
        found = trilith_json("get", f"{path}#/r")
        self.assertEqual((len(found), len(set(found)), type(found[0])), (20_000, 1, int))


@unittest.skipUnless(HAS_H5PY, "needs h5py")
class Dates(Case):
    UNITS = ["ns", "us", "ms", "s", "m", "h", "D", "W", "M", "Y"]

    def test_opaque_dates_equal_those_of_npy(self):
        path = self.folder / "d.h5"
        dates = {}
        with h5py.File(path, "w") as f:
            for unit in self.UNITS:
                for order in "<>":
                    values = np.array(["2020-02-29", "NaT", "1969-07-20"], f"M8[{unit}]").astype(f"{order}M8[{unit}]")
                    dates[f"{unit}{ord(order)}"] = values
                    f.create_dataset(f"{unit}{ord(order)}", data=values.astype(h5py.opaque_dtype(values.dtype)), chunks=(2,))
            rows = np.zeros(2, [("a", "i2"), ("t", "M8[us]"), ("d", "<m8[s]")])
            rows["t"], rows["d"] = ["2020-01-01", "NaT"], [5, "NaT"]
            stored = np.dtype([("a", "i2"), ("t", h5py.opaque_dtype("M8[us]")), ("d", h5py.opaque_dtype("<m8[s]"))])
            f["rows"] = rows.view(stored)
            f.create_dataset("spans", data=rows["d"].astype(h5py.opaque_dtype(rows["d"].dtype)))
            f["other"] = np.void(b"\x01\x02")
            f.create_dataset("unwritten", (2,), h5py.opaque_dtype("M8[D]"), chunks=(1,), maxshape=(None,))
            f.create_dataset("gaps", (2,), stored, chunks=(1,))
            filled = f.create_dataset("filled", (5,), stored, chunks=(2,), fillvalue=rows.view(stored)[0])
            filled[2:4] = rows.view(stored)
        for name, values in dates.items():
            np.save(self.folder / "d.npy", values)
            with self.subTest(name):
                self.assertEqual(trilith_json("get", f"{path}#/{name}"), trilith_json("get", f"{self.folder}/d.npy#/data"))
        np.save(self.folder / "d.npy", rows)
        self.assertEqual(trilith_json("get", f"{path}#/rows"), trilith_json("get", f"{self.folder}/d.npy#/data"))
        self.assertEqual(trilith_json("get", f"{path}#/spans"), [5, None])
        self.assertEqual(trilith_json("get", f"{path}#/other"), [1, 2])
        self.assertEqual(trilith_json("get", f"{path}#/unwritten"), ["1970-01-01", "1970-01-01"])
        for name in "gaps", "filled":
            # h5py has the fill value of structs that were never written.
            with h5py.File(path) as f:
                np.save(self.folder / "d.npy", f[name][...].view(rows.dtype))
            self.assertEqual(trilith_json("get", f"{path}#/{name}"), trilith_json("get", f"{self.folder}/d.npy#/data"), name)
        trilith("convert", path, self.folder / "d.asdf")
        trilith("verify", "--deep", self.folder / "d.asdf")

    def test_times_of_hdf5_count_seconds(self):
        path = self.folder / "t.h5"
        kinds = {"d32le": "<i4", "d32be": ">i4", "d64le": "<i8", "d64be": ">i8"}
        with h5py.File(path, "w") as f:
            for name in kinds:
                kind = getattr(h5py.h5t, "UNIX_" + name.upper())
                creation = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
                creation.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
                h5py.h5d.create(f.id, name.encode(), kind, h5py.h5s.create_simple((2,)), creation)
        whole = bytearray(path.read_bytes())
        with h5py.File(path) as f:
            for name, code in kinds.items():
                place = f[name].id.get_offset()
                made = np.array([-1, 86400], code).tobytes()
                whole[place : place + len(made)] = made
        path.write_bytes(whole)
        for name in kinds:
            self.assertEqual(trilith_json("get", f"{path}#/{name}"), ["1969-12-31T23:59:59", "1970-01-02T00:00:00"], name)


@unittest.skipUnless(HAS_H5PY, "needs h5py")
class Lists(Case):
    def test_lists_keep_axes_of_their_array(self):
        path = self.folder / "l.h5"
        with h5py.File(path, "w") as f:
            two = f.create_dataset("two", (2, 3), dtype=h5py.vlen_dtype("i2"))
            deep = f.create_dataset("deep", (2, 1, 2), dtype=h5py.vlen_dtype("f8"), chunks=(1, 1, 2))
            for at in np.ndindex(2, 3):
                two[at] = np.arange(sum(at))
            for at in np.ndindex(2, 1, 2):
                deep[at] = np.arange(at[0] + 2 * at[2]) / 2
            f.create_dataset("none", (2, 0), dtype=h5py.vlen_dtype("i4"))
            kind = h5py.h5t.array_create(h5py.h5t.vlen_create(h5py.h5t.NATIVE_INT32), (4,))
            h5py.h5d.create(f.id, b"elements", kind, h5py.h5s.create_simple((4,)))
            pair = np.dtype([("s", "S4"), ("n", "i4"), ("t", h5py.string_dtype())])
            pairs = f.create_dataset("pairs", (2,), dtype=h5py.vlen_dtype(pair))
            pairs[0] = np.array([(b"ab", 1, "one"), (b"", 2, "two and more")], pair)
            expected = {name: [[list(map(float, one)) for one in row] for row in f[name][...].reshape(2, -1)] for name in ("two", "deep")}
        self.assertEqual(trilith_json("get", f"{path}#/two"), expected["two"])
        self.assertEqual(trilith_json("get", f"{path}#/deep"), [[row] for row in expected["deep"]])
        self.assertEqual(trilith_json("get", f"{path}#/elements"), [[[]] * 4] * 4)
        self.assertEqual(trilith_json("get", f"{path}#/pairs"), [[["ab", 1, "one"], ["", 2, "two and more"]], []])
        self.assertEqual(trilith_json("get", f"{path}#/two[1][2]"), [0, 1, 2])
        trilith("convert", path, self.folder / "l.asdf")
        self.assertEqual(trilith_json("get", f"{self.folder}/l.asdf#/two/1/2"), [0, 1, 2])
        self.assertEqual(trilith("diff", path, self.folder / "l.asdf"), b"")

    def test_lists_in_arrays_of_members_keep_axes(self):
        path = self.folder / "m.h5"
        with h5py.File(path, "w") as f:
            kind = h5py.h5t.create(h5py.h5t.COMPOUND, 8 + 3 * 16)
            kind.insert(b"n", 0, h5py.h5t.NATIVE_INT64)
            kind.insert(b"l", 8, h5py.h5t.array_create(h5py.h5t.vlen_create(h5py.h5t.NATIVE_INT32), (3,)))
            h5py.h5d.create(f.id, b"rows", kind, h5py.h5s.create_simple((2,)))
        self.assertEqual(trilith_json("get", f"{path}#/rows@l"), [[[], [], []]] * 2)


@unittest.skipUnless(HAS_H5PY, "needs h5py")
class ListAttributes(Case):
    """Attributes that are arrays of lists of variable length, such as MATLAB_fields."""

    LISTS = {
        "MATLAB_fields": ("S1", (2,), [[b"x"], [b"n", b"m"]]),
        "numbers": ("<i4", (2, 2), [[], [0], [1, 2], [3, 4, 5]]),
        "reals": ("<f4", (2,), [[1.5, 2.5], [-0.25]]),
        "without": ("u1", (2,), [[], []]),
        "one": ("<i8", (1,), [[1, 2, 3]]),
    }

    def write(self, name):
        path = self.folder / name
        with h5py.File(path, "w") as f:
            f["st/x"] = 1
            for attribute, (code, shape, lists) in self.LISTS.items():
                values = np.empty(shape, object)
                for number, one in enumerate(lists):
                    values.flat[number] = np.array(one, code)
                f["st"].attrs.create(attribute, values, dtype=h5py.vlen_dtype(np.dtype(code)))
        return path

    @staticmethod
    def plain(value):
        value = value.tolist() if hasattr(value, "tolist") else value
        if isinstance(value, list):
            return [ListAttributes.plain(one) for one in value]
        return value.decode() if isinstance(value, bytes) else value

    def test_lists_are_values_of_their_attributes(self):
        path = self.write("a.h5")
        with h5py.File(path) as f:
            expected = {name: self.plain(value) for name, value in f["st"].attrs.items()}
        # A single list is the list itself.
        expected["one"] = expected["one"][0]
        self.assertEqual(trilith_json("info", f"{path}#/st")["attributes"], expected)
        [item] = trilith_json("header", path)["items"]
        self.assertEqual({one["name"]: one["value"] for one in item["attributes"]}, expected)
        tree = trilith("tree", path, "--attributes").decode()
        for name, value in expected.items():
            with self.subTest(name):
                self.assertEqual(trilith_json("get", f"{path}#/st@{name}"), value)
                self.assertIn(f"@{name}: ", tree)
                self.assertIn(f"#/st@{name}: ".encode(), trilith("search", "--key", f"^{name}$", path))
        trilith("convert", path, self.folder / "a.bd")
        self.assertEqual(trilith_json("info", f"{self.folder}/a.bd#/st")["attributes"], expected)

    def test_lists_are_compared(self):
        path, other = self.write("a.h5"), self.write("b.h5")
        trilith("diff", path, other)
        for name in self.LISTS:
            with self.subTest(name):
                other = self.write("b.h5")
                with h5py.File(other, "r+") as f:
                    del f["st"].attrs[name]
                said = trilith_json("diff", path, other, status=1)["differences"]
                self.assertEqual([(one["path"], one["kind"]) for one in said], [(f"/st@{name}", "removed")])
        values = np.empty(2, object)
        values[0], values[1] = np.array([1.5, 2.5], "<f4"), np.array([0.5], "<f4")
        other = self.write("b.h5")
        with h5py.File(other, "r+") as f:
            f["st"].attrs.create("reals", values, dtype=h5py.vlen_dtype(np.dtype("<f4")))
        said = trilith_json("diff", path, other, status=1)["differences"]
        self.assertEqual([(one["path"], one["kind"]) for one in said], [("/st@reals", "value")])

    def test_lists_in_structs_are_attributes_as_well(self):
        path = self.folder / "s.h5"
        dtype = np.dtype([("a", "i4"), ("l", h5py.vlen_dtype("i4")), ("s", h5py.string_dtype())])
        rows = np.zeros(2, dtype)
        rows["a"], rows["s"] = [1, 2], ["x", "yy"]
        rows["l"][0], rows["l"][1] = np.array([1, 2], "i4"), np.array([3], "i4")
        with h5py.File(path, "w") as f:
            f["x"] = 1
            f["x"].attrs.create("rows", rows, dtype=dtype)
        with h5py.File(path) as f:
            expected = [self.plain(one) for one in f["x"].attrs["rows"]["l"]]
        attributes = trilith_json("info", f"{path}#/x")["attributes"]
        self.assertEqual(attributes, {"rows": [[1, "x"], [2, "yy"]], "rows@l": expected})

    def test_unreadable_attributes_are_named_with_reasons(self):
        path, other = self.folder / "u.h5", self.folder / "o.h5"
        for name in path, other:
            with h5py.File(name, "w") as f:
                f["d"] = [1, 2]
                f["d"].attrs["s"], f["d"].attrs["n"] = "hello text here", 3
        whole = bytearray(path.read_bytes())
        at = whole.rindex((15).to_bytes(4, "little"), 0, whole.index(b"hello text here") - 16)
        whole[at : at + 4] = (10**6).to_bytes(4, "little")
        path.write_bytes(whole)
        with h5py.File(path) as f, self.assertRaises(OSError):
            f["d"].attrs["s"]
        reason = "1000000 bytes are expected"
        self.assertIn(f"@s = (unreadable: {reason}", trilith("header", path, status=2).decode())
        self.assertIn(f"  @s: (unreadable: {reason}", trilith("tree", path, "--attributes").decode())
        [item] = trilith_json("header", path, status=2)["items"]
        values = {one["name"]: (one["value"], one["datatype"]) for one in item["attributes"]}
        self.assertEqual(values["n"], (3, "int64"))
        self.assertEqual((values["s"][0]["$error"]["kind"], values["s"][1]), ("malformed", "unreadable"))
        for file in other, path:
            said = trilith_json("diff", path, file, status=2)["differences"]
            self.assertEqual([(one["path"], one["kind"], one["b"] is None) for one in said], [("/d@s", "unreadable", file == other)])
        trilith("get", f"{path}#/d@s", status=2)
        trilith("table", path, "-c", "s=/d@s", status=2)
        self.assertEqual(trilith("header", f"{path}#/d", "--key", "^n$"), b"@n = 3\n")


@unittest.skipUnless(HAS_H5PY, "needs h5py")
class Conversions(Case):
    CODES = ["i1", "u1", "<i2", ">u2", ">i4", "<u4", "<i8", ">u8", "<f4", ">f8"]

    @staticmethod
    def is_swapped(source, code):
        one, other = np.dtype("i2" if source == "unwritten" else source), np.dtype(code)
        return {one.kind, other.kind} == {"i", "u"} and one.itemsize == other.itemsize and one.byteorder != other.byteorder

    def test_virtual_datasets_convert_numbers_as_library(self):
        path = self.folder / "v.h5"
        numbers = [0, 1, -1, 127, 128, 255, 256, -129, 40000, -40000, 2**31, 2**53 + 1, 2**63 - 1, -(2**63)]
        with h5py.File(path, "w", libver="latest") as f:
            for code in self.CODES:
                dtype = np.dtype(code)
                values = [0.0, 2.9, -2.9, 1e30, -1e30, 300.5] if dtype.kind == "f" else None
                if values is None:
                    limits = np.iinfo(dtype)
                    values = [number for number in numbers if limits.min <= number <= limits.max]
                f.create_dataset("own/" + code, data=np.array(values, dtype), chunks=(4,), compression="gzip", fillvalue=3)
            f.create_dataset("own/unwritten", (4,), "i2", fillvalue=-5)
            for source in [*self.CODES, "unwritten"]:
                for code in self.CODES:
                    # The library swaps the bytes of integers that differ in order and sign alone, so that large ones wrap.
                    if self.is_swapped(source, code):
                        continue
                    shape = (2, *f["own/" + source].shape)
                    layout = h5py.VirtualLayout(shape, code)
                    layout[1] = h5py.VirtualSource(".", "own/" + source, shape[1:])
                    f.create_virtual_dataset(f"{source} to {code}", layout, fillvalue=9)
        with h5py.File(path) as f:
            expected = {name: sha256(f[name][...]) for name in f if " to " in name}
        found = {name.strip('/"'): array["sha256"] for name, array in trilith_json("digest", path)["arrays"].items()}
        for name, value in expected.items():
            with self.subTest(name):
                self.assertEqual(found[name], value)

    def test_conversions_without_sense_are_refused_by_name(self):
        path = self.folder / "w.h5"
        with h5py.File(path, "w", libver="latest") as f:
            f["text"], f["pairs"], f["nan"] = np.array([b"1", b"2"]), np.zeros(2, [("a", "i4")]), np.array([1.0, np.nan])
            f["sign"] = np.array([1, -1], "<i4")
            for source, code in ("text", "f4"), ("pairs", "f8"), ("nan", "i2"), ("sign", ">u4"):
                layout = h5py.VirtualLayout((2,), code)
                layout[:] = h5py.VirtualSource(".", source, (2,))
                f.create_virtual_dataset("v" + source, layout)
        said = trilith_json("digest", path, status=2)["errors"]
        self.assertEqual(sorted(said), ["/vnan", "/vpairs", "/vsign", "/vtext"])
        self.assertIn("are converted to float32", str(said["/vtext"]))
        self.assertIn("NaN", str(said["/vnan"]))
        self.assertIn("-1 is beyond the integers", str(said["/vsign"]))


if __name__ == "__main__":
    unittest.main()
