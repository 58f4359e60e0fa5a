"""Numbers that no datatype here has: odd widths, long doubles, dates, samples of 17 to 31 bits and floats of 24, and bitshuffle
around them."""

import importlib.util
import itertools
import struct
import unittest

import numpy as np
from peer import Case, trilith, trilith_json

HAS_H5PY = importlib.util.find_spec("h5py") is not None
HAS_PLUGIN = importlib.util.find_spec("hdf5plugin") is not None
HAS_TIFFFILE = importlib.util.find_spec("tifffile") is not None
if HAS_H5PY:
    import h5py
if HAS_PLUGIN:
    import hdf5plugin
if HAS_TIFFFILE:
    import tifffile


def tiff(path, data, width, bits=8, order=1, samples=1, kind=1, sign="<", predictor=1):
    """A TIFF file of one strip with these bytes."""
    rows = len(data) * 8 // (width * bits * samples)
    entries = [(256, 4, width), (257, 4, rows), (258, 3, bits), (259, 3, 1), (262, 3, 1), (266, 3, order)]
    entries += [(273, 4, 8), (277, 3, samples), (278, 4, rows), (279, 4, len(data)), (317, 3, predictor), (339, 3, kind)]
    body = struct.pack(sign + "2sHI", b"II" if sign == "<" else b"MM", 42, 8 + len(data)) + data + struct.pack(sign + "H", len(entries))
    for tag, form, value in entries:
        body += struct.pack(sign + "HHI", tag, form, 1) + struct.pack(sign + ("HH" if form == 3 else "I"), *((value, 0) if form == 3 else (value,)))
    path.write_bytes(body + struct.pack(sign + "I", 0))


class Numbers(Case):
    def values(self, path, item, dtype=None):
        out = self.folder / "out.npy"
        out.unlink(missing_ok=True)
        trilith("get", f"{path}#/{item}", "-o", out)
        return np.load(out) if dtype is None else np.load(out).astype(dtype)

    @unittest.skipUnless(HAS_H5PY and HAS_PLUGIN, "hdf5plugin is not installed")
    def test_bitshuffle_with_every_codec_block_and_item(self):
        path, random = self.folder / "a.h5", np.random.default_rng(3)
        with h5py.File(path, "w") as f:
            for code, cname, size, shape in itertools.product(
                ("u1", "<i2", ">f4", "f8"), ("none", "lz4", "zstd"), (0, 64), ((1000,), (37,), (5,), (60, 70))
            ):
                data = random.integers(0, 50, shape).astype(code)
                name = f"{code}-{cname}-{size}-{len(shape)}-{shape[0]}"
                how = hdf5plugin.Bitshuffle(nelems=size, cname=cname)
                f.create_dataset(name, data=data, chunks=tuple(min(n, 33) for n in shape), **how)
        with h5py.File(path) as f:
            for name, dataset in f.items():
                with self.subTest(name=name):
                    np.testing.assert_array_equal(self.values(path, name), dataset[()])

    @unittest.skipUnless(HAS_H5PY, "h5py is not installed")
    def test_whole_numbers_of_odd_widths(self):
        path = self.folder / "a.h5"
        kinds = {
            "i24": (h5py.h5t.STD_I32LE, 3, 24, 0, [1, -2, 70000]),
            "u24": (h5py.h5t.STD_U32BE, 3, 24, 0, [1, 2, 16_000_000]),
            "i12": (h5py.h5t.STD_I16LE, 2, 12, 0, [1, -2, 2000]),
            "u20": (h5py.h5t.STD_U32BE, 4, 20, 4, [1, 2, 70000]),
            "i40": (h5py.h5t.STD_I64LE, 5, 40, 0, [1, -2, 1 << 38]),
        }
        with h5py.File(path, "w") as f:
            for (name, (base, size, bits, at, data)), packed in itertools.product(kinds.items(), (False, True)):
                typed = base.copy()
                typed.set_precision(bits)
                typed.set_offset(at)
                typed.set_size(size)
                creation = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
                if packed:
                    creation.set_chunk((2,))
                    creation.set_shuffle()
                    creation.set_deflate(4)
                made = h5py.h5d.create(f.id, f"{name}{packed}".encode(), typed, h5py.h5s.create_simple((3,)), dcpl=creation)
                made.write(h5py.h5s.ALL, h5py.h5s.ALL, np.array(data, "i8"))
        sizes = {"i24": 4, "u24": 4, "i12": 2, "u20": 4, "i40": 8}
        for (name, (_, _, _, _, data)), packed in itertools.product(kinds.items(), (False, True)):
            array = self.values(path, f"{name}{packed}")
            self.assertEqual(array.tolist(), data, name)
            self.assertEqual(array.dtype, np.dtype(f"{name[0]}{sizes[name]}"), name)

    @unittest.skipUnless(HAS_H5PY, "h5py is not installed")
    def test_long_doubles(self):
        path = self.folder / "a.h5"
        data = np.array([1.5, -2.25, 0, -0.0, np.inf, np.nan, 1e300, 1e-310, np.longdouble(1) / 3, np.pi], np.longdouble)
        with h5py.File(path, "w") as f:
            f["plain"] = data
            f.create_dataset("packed", data=data.reshape(2, 5), chunks=(1, 3), compression="gzip")
            f.create_dataset("unwritten", (3,), np.longdouble, fillvalue=2.5)
        with h5py.File(path) as f:
            for name, dataset in f.items():
                np.testing.assert_array_equal(self.values(path, name), dataset[()].astype("f8"))

    @unittest.skipUnless(HAS_H5PY, "h5py is not installed")
    def test_odd_numbers_in_structs_arrays_and_attributes(self):
        path, longs = self.folder / "a.h5", np.array([1.5, -2.25, np.inf, 1e-5000 + np.longdouble(3), 0, np.pi], np.longdouble)
        inner = np.dtype([("y", np.longdouble, (2,)), ("s", "S3")])
        typed = np.dtype([("n", "i2"), ("x", np.longdouble), ("in", inner, (2,)), ("v", ">f4")])
        table = np.zeros(3, typed)
        table["n"], table["x"], table["v"] = [1, 2, 3], longs[:3], [0.5, 1.5, 2.5]
        table["in"]["y"], table["in"]["s"] = longs[3:5], b"ab"
        odd = h5py.h5t.STD_I32LE.copy()
        odd.set_precision(24)
        odd.set_size(3)
        pair = h5py.h5t.create(h5py.h5t.COMPOUND, 7)
        pair.insert(b"a", 0, h5py.h5t.STD_I32BE)
        pair.insert(b"b", 4, odd)
        with h5py.File(path, "w") as f:
            f["table"] = table
            f.create_dataset("packed", data=table, chunks=(2,), compression="gzip", shuffle=True)
            f.create_dataset("array", data=longs.reshape(3, 2)[:, :1], dtype=np.longdouble)
            f.attrs["one"], f.attrs["many"], f.attrs["plane"], f.attrs["struct"] = longs[0], longs[[0, 1, 4, 5]], longs.reshape(2, 3), table
            memory = h5py.h5t.py_create(np.dtype([("a", "i4"), ("b", "i4")]))
            numbers = np.array([(1, -2), (3, 70000)], [("a", "i4"), ("b", "i4")])
            h5py.h5d.create(f.id, b"pair", pair, h5py.h5s.create_simple((2,))).write(h5py.h5s.ALL, h5py.h5s.ALL, numbers, memory)
            h5py.h5a.create(f.id, b"odd", odd, h5py.h5s.create_simple((3,))).write(np.array([1, -2, 70000], "i4"))
            f.create_dataset("complex", data=longs + 2j * longs[::-1])
        with h5py.File(path) as f:
            wanted = [[int(row["n"]), float(row["x"]), [[[float(x) for x in part["y"]], part["s"].decode()] for part in row["in"]], float(row["v"])] for row in f["table"]]
            complex_ = f["complex"][()].astype("c16")
        for row in wanted:
            row[1] = "Infinity" if row[1] == np.inf else row[1]
        for name in ("table", "packed", "@struct"):
            self.assertEqual(trilith_json("get", f"{path}#/{name}"), wanted, name)
        self.assertEqual(trilith_json("get", f"{path}#/pair"), [[1, -2], [3, 70000]])
        np.testing.assert_array_equal(self.values(path, "@plane"), longs.reshape(2, 3).astype("f8"))
        np.testing.assert_array_equal(self.values(path, "complex"), complex_)
        attributes = trilith_json("tree", path, "--attributes")["attributes"]
        self.assertEqual(attributes["one"], 1.5)
        self.assertEqual(attributes["many"], [1.5, -2.25, 0, float(np.pi)])
        self.assertEqual(attributes["odd"], [1, -2, 70000])
        made = self.folder / "a.asdf"
        trilith("convert", path, made)
        trilith("verify", "--deep", made)
        self.assertEqual(trilith_json("get", f"{made}#/packed"), wanted)

    def test_long_doubles_of_numpy(self):
        longs = np.array([[1.5, -2.25, np.inf], [np.longdouble(1) / 3, 0, 1e300]], np.longdouble)
        longs[1, 2] *= longs[1, 2]
        for number, data in enumerate((longs, np.asfortranarray(longs), longs.astype(longs.dtype.newbyteorder(">")), longs[0] + 1j * longs[1])):
            path = self.folder / f"{number}.npy"
            np.save(path, data)
            with self.subTest(number=number):
                np.testing.assert_array_equal(self.values(path, "data"), data.astype("c16" if number == 3 else "f8"))
        np.savez_compressed(self.folder / "a.npz", x=longs, y=longs.T)
        np.testing.assert_array_equal(self.values(self.folder / "a.npz", "y"), longs.T.astype("f8"))
        self.assertIn("<f16", trilith("tree", self.folder / "0.npy", "--attributes").decode())
        # Numbers of 128 bits, and sums of two doubles, in the bytes that they have.
        others = {"quad": bytes(14) + b"\xff\x3f", "halves": bytes(12) + b"\0\x80\xfe\x3f", "thirds": b"\x55" * 14 + b"\xfd\x3f", "doubles": struct.pack("<dd", 1.5, 0)}
        for name, one in others.items():
            path = self.folder / f"{name}.npy"
            np.save(path, np.frombuffer(one * 3, np.longdouble))
            trilith("get", f"{path}#/data", status=2)

    def test_dates_and_long_doubles_in_structs_of_numpy(self):
        inner = np.dtype([("when", ">M8[ms]"), ("x", np.longdouble, (2,))])
        typed = np.dtype([("a", "<i4"), ("day", "<M8[D]"), ("long", "<m8[s]"), ("in", inner, (2,)), ("b", ">f8")], align=True)
        table = np.zeros((3, 2), typed)
        table["a"], table["day"], table["long"] = [[1, 2]] * 3, np.array(["2020-02-29", "NaT"], "M8[D]"), 7
        table["in"]["when"], table["in"]["x"], table["b"] = np.datetime64("1969-07-20T20:17:40.5"), [0.5, -3], 2.5
        part = [["1969-07-20T20:17:40.500", [0.5, -3.0]]] * 2
        wanted = [[[1, "2020-02-29", 7, part, 2.5], [2, "NaT", 7, part, 2.5]]] * 3
        np.save(self.folder / "a.npy", table)
        np.save(self.folder / "b.npy", np.asfortranarray(table))
        np.savez(self.folder / "c.npz", data=table)
        np.savez_compressed(self.folder / "d.npz", data=table)
        for name in ("a.npy", "b.npy", "c.npz", "d.npz"):
            self.assertEqual(trilith_json("get", f"{self.folder / name}#/data"), wanted, name)
            self.assertEqual(trilith_json("get", f"{self.folder / name}#/data", "--slice", "1:2,::-1"), [wanted[0][::-1]], name)
        self.assertIn("day=<M8[D] long=<m8[s] in.when=>M8[ms] in.x=<f16", trilith("tree", self.folder / "a.npy", "--attributes").decode())
        np.save(self.folder / "e.npy", table[:0])
        self.assertEqual(trilith_json("get", f"{self.folder / 'e.npy'}#/data"), [])
        trilith("convert", self.folder / "a.npy", self.folder / "a.asdf")
        self.assertEqual(trilith_json("get", f"{self.folder / 'a.asdf'}#/data"), wanted)

    def test_dates_of_numpy_are_dates(self):
        random = np.random.default_rng(1)
        for unit, order in itertools.product(("Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "25s"), "<>"):
            spread = {"Y": 2000, "M": 20_000, "W": 90_000, "D": 600_000}.get(unit, 10**9)
            numbers = random.integers(-spread // 10, spread, (4, 3))
            data = np.asfortranarray(numbers.astype(f"M8[{unit}]").astype(f"{order}M8[{unit}]"))
            data[0, 0] = "NaT"
            for number, array in enumerate((np.ascontiguousarray(data), data)):
                path = self.folder / f"a{number}.npy"
                np.save(path, array)
                # numpy gets the strings of numbers in the other byte order wrong.
                wanted = np.datetime_as_string(array.astype(array.dtype.newbyteorder("="))).tolist()
                with self.subTest(unit=unit, order=order, number=number):
                    self.assertEqual(trilith_json("get", f"{path}#/data"), wanted)
        path = self.folder / "d.npz"
        np.savez_compressed(path, when=np.array(["2020-02-29", "NaT"], "M8[D]"), other=np.arange(3))
        self.assertEqual(trilith_json("get", f"{path}#/when"), ["2020-02-29", "NaT"])
        path = self.folder / "m.npy"
        np.save(path, np.array([5, -3], "m8[s]"))
        self.assertEqual(trilith_json("get", f"{path}#/data"), [5, -3])
        self.assertIn("<m8[s]", trilith("tree", path, "--attributes").decode())

    def test_opaque_elements_of_numpy_are_bytes(self):
        random = np.random.default_rng(7)
        typed = np.dtype([("a", "<i4"), ("b", "V3"), ("in", [("c", ">f4"), ("d", "V2", (2,))], (2,)), ("e", "<M8[D]")])
        plain = np.frombuffer(random.bytes(3 * 4 * 5), "V5").reshape(3, 4)
        table = np.frombuffer(random.bytes(6 * typed.itemsize), typed).reshape(2, 3)
        table = table.copy()
        table["in"]["c"], table["e"] = 0.5, np.datetime64("2020-02-29")
        for name, array in (("plain", plain), ("table", table)):
            for form in (array, np.asfortranarray(array), array[:0]):
                files = [self.folder / f"{name}.npy", self.folder / f"{name}.npz", self.folder / f"{name}z.npz"]
                np.save(files[0], form)
                np.savez(files[1], data=form)
                np.savez_compressed(files[2], data=form)
                for path in files:
                    with self.subTest(path.name, order=form.flags.c_contiguous, shape=form.shape):
                        self.opaque(path, form)

    def opaque(self, path, array):
        def octets(part):
            return np.frombuffer(part.tobytes(), "u1").reshape(*part.shape, part.dtype.itemsize).tolist()

        found = trilith_json("get", f"{path}#/data")
        if array.dtype.names is None:
            self.assertEqual(found, octets(array))
            copied = path.with_suffix(".asdf")
            trilith("convert", path, copied, "--overwrite")
            self.assertEqual(trilith_json("get", f"{copied}#/data"), octets(array))
        else:
            inner = array["in"]
            rows = [
                [row["a"].item(), octets(row["b"]), [[0.5, octets(part["d"])] for part in row["in"]], "2020-02-29"] for row in array.ravel()
            ]
            self.assertEqual(np.array(found, dtype=object).reshape(-1, 4).tolist() if inner.size else found, np.array(rows, dtype=object).tolist())
        self.assertIn("V5" if array.dtype.names is None else "b=|V3 in.d=|V2", trilith("tree", path, "--attributes").decode())
        self.assertEqual(trilith_json("verify", path)["problems"], [])

    @unittest.skipUnless(HAS_H5PY, "h5py is not installed")
    def test_filters_that_are_not_read_are_refused_by_name(self):
        path = self.folder / "a.h5"
        names = {32013: "ZFP", 32018: "FCIDECOMP", 32026: "Blosc2"}
        with h5py.File(path, "w") as file:
            for number, name in names.items():
                how = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
                how.set_chunk((8,))
                how.set_filter(number, h5py.h5z.FLAG_OPTIONAL, (1, 2))
                space = h5py.h5s.create_simple((8,))
                dataset = h5py.h5d.create(file.id, name.encode(), h5py.h5t.NATIVE_FLOAT, space, how)
                dataset.write_direct_chunk((0,), bytes(20))
            file["good"] = [1, 2]
        for name in names.values():
            with self.assertRaisesRegex(AssertionError, name):
                trilith("get", f"{path}#/{name}")
        self.assertEqual(trilith_json("get", f"{path}#/good"), [1, 2])

    def test_structs_of_numpy_with_padding_and_arrays_of_arrays(self):
        for typed in (np.dtype("i1,i4,i1", align=True), np.dtype([("c", ("<f8", (5,)), (2,)), ("d", ("V2", (3,)), (2,))])):
            table = np.frombuffer(np.random.default_rng(3).bytes(3 * typed.itemsize), typed)
            path = self.folder / "a.npy"
            np.save(path, table)
            fields = trilith_json("digest", path)["arrays"]["/data"]["datatype"]
            self.assertEqual([field["name"] for field in fields], list(typed.names))
            for field in fields:
                column, out = table[field["name"]], self.folder / f"{typed.itemsize}-{field['name']}.npy"
                trilith("get", f"{path}#/data", "--field", field["name"], "-o", out)
                found = np.load(out)
                if column.dtype.kind == "V":
                    self.assertEqual(found.shape, (3, 2, 3, 2))
                    self.assertEqual(found.tobytes(), column.tobytes())
                else:
                    self.assertEqual(found.dtype, column.dtype)
                    self.assertEqual(found.tobytes(), column.tobytes())

    @unittest.skipUnless(HAS_TIFFFILE, "tifffile is not installed")
    def test_samples_of_17_to_31_bits_and_reversed_bits(self):
        random, path = np.random.default_rng(4), self.folder / "a.tif"
        for bits, order in itertools.product((1, 4, 8, 12, 16, 20, 24, 31), (1, 2)):
            data = random.integers(0, 256, 8 * bits * 5 // 8, dtype="u1").tobytes()
            tiff(path, data, 8, bits, order)
            with self.subTest(bits=bits, order=order):
                found = np.array(trilith_json("get", f"{path}#/image")).ravel()
                stored = np.frombuffer(data, "u1")
                if order == 2:
                    stored = np.packbits(np.unpackbits(stored, bitorder="little"))
                wide = np.unpackbits(stored).reshape(-1, bits)
                wanted = wide.astype("u8") @ (1 << np.arange(bits, dtype="u8")[::-1])
                if bits == 16:
                    wanted = stored.view("<u2")
                np.testing.assert_array_equal(found, wanted)
                if bits in (8, 16):
                    np.testing.assert_array_equal(found, tifffile.imread(path).ravel())

    @unittest.skipUnless(HAS_TIFFFILE, "tifffile is not installed")
    def test_floats_of_24_bits(self):
        import imagecodecs

        data, path = np.array([[0, 1, -2.5, 0.001, 65504], [np.inf, -np.inf, np.nan, 1e-19, 3.25]], "f4"), self.folder / "a.tif"
        for sign in "<>":
            stored = imagecodecs.float24_encode(data, byteorder=sign)
            tiff(path, stored, 5, 24, kind=3, sign=sign)
            wanted = tifffile.imread(path)
            np.testing.assert_array_equal(self.values(path, "image"), wanted)
            # The differences of bytes, of each row the most significant ones first.
            big = np.frombuffer(imagecodecs.float24_encode(wanted, byteorder=">"), "u1").reshape(2, 5, 3)
            rows = big.transpose(0, 2, 1).reshape(2, 15)
            rows = np.diff(rows, axis=1, prepend=np.zeros((2, 1), "u1"))
            tiff(path, rows.astype("u1").tobytes(), 5, 24, kind=3, sign=sign, predictor=3)
            np.testing.assert_array_equal(self.values(path, "image"), wanted)


if __name__ == "__main__":
    unittest.main()
