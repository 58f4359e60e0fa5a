"""HDF5 and netCDF-4 files of every version, layout, type, filter and byte order: every array against h5py's data."""

import importlib.util
import itertools
import json
import subprocess
import unittest

import numpy as np
from peer import PROGRAM, Case, sha256, trilith, trilith_json

HAS_H5PY = importlib.util.find_spec("h5py") is not None
if HAS_H5PY:
    import h5py

FILTERS = {
    "plain": {},
    "deflate": {"compression": "gzip"},
    "all": {"compression": "gzip", "shuffle": True, "fletcher32": True},
    "lzf": {"compression": "lzf", "shuffle": True},
    "fletcher32": {"fletcher32": True},
}
CODES = ["i1", "u1", "<i2", ">i2", "<u2", ">i4", "<u4", "<i8", ">u8", "<f2", ">f4", "<f4", "<f8", ">f8", "?", "c8", "c16"]


def attributes(f):
    f.attrs["title"] = 'a "quoted" title'
    f.attrs["lines"] = "two\nlines"
    f.attrs["n"], f.attrs["x"], f.attrs["flag"] = 3, 1.5, True
    f.attrs["list"] = np.arange(5, dtype=">i2")
    f.attrs["names"] = ["a", "b\u00e9"]
    f.attrs["fixed"] = np.bytes_("fix")
    f.attrs["matrix"] = np.arange(6.0).reshape(2, 3)
    f.attrs["complex"] = 1 + 2j
    f.attrs["empty"] = h5py.Empty("f4")


def types(f, random):
    for code in CODES:
        f.create_dataset("types/" + code, data=random.integers(0, 100, (3, 4)).astype(code))
    f["ascii"] = np.array([b"ab", b"cde"])
    f["scalar"], f["none"], f["null"] = 5.0, np.zeros((0, 3)), h5py.Empty("i4")
    f["texts"] = ["one", "zw\u00f6lf", ""]
    f["text"] = "hello"
    f["texts2"] = np.array([["a", "bb"], ["ccc", ""]], dtype=h5py.string_dtype())
    f.create_dataset(
        "texts_in_chunks",
        data=np.array(["x" * i for i in range(30)], dtype=object),
        dtype=h5py.string_dtype(),
        chunks=(7,),
        compression="gzip",
    )
    f["packed"] = np.zeros(3, dtype=[("a", "i1"), ("b", "<f8", (2,)), ("s", "S5")])
    aligned = np.zeros(2, dtype=np.dtype([("a", "i1"), ("b", "<f8")], align=True))
    aligned["b"] = [1, 2]
    f["aligned"] = aligned
    f["enum"] = np.array([1, 2, 1], dtype=h5py.enum_dtype({"A": 1, "B": 2}, basetype="i2"))
    f["opaque"] = np.array([b"abc", b"def"], dtype="V3")
    elements = f.create_dataset("elements", (2,), dtype=np.dtype(("<i4", (3,))))
    elements[...] = np.arange(6).reshape(2, 3)
    lists = f.create_dataset("lists", (3,), dtype=h5py.vlen_dtype("i4"))
    lists[0], lists[2] = [1, 2, 3], [4]


def storage(f, random):
    f["eight"] = np.arange(256).reshape((2,) * 8)
    f.create_dataset("unwritten", (4, 5), dtype="f4", fillvalue=7)
    f.create_dataset("unwritten_chunks", (40, 5), chunks=(10, 5), dtype="i2", fillvalue=-3)
    sparse = f.create_dataset("sparse", (20, 20), chunks=(6, 6), dtype="i4", fillvalue=9)
    sparse[7:9, 3:15] = 5
    f.create_dataset("maximum", data=np.arange(60).reshape(6, 10), chunks=(2, 3), maxshape=(20, 30), compression="gzip")
    creation = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    creation.set_layout(h5py.h5d.COMPACT)
    space = h5py.h5s.create_simple((4,))
    compact = h5py.h5d.create(f.id, b"compact", h5py.h5t.STD_I32LE, space, dcpl=creation)
    compact.write(h5py.h5s.ALL, h5py.h5s.ALL, np.array([1, 2, 3, 4], "i4"))
    shapes = {
        "fixed": ((37, 23), (8, 7), None),
        "one": ((8, 7), (8, 7), None),
        "rows": ((137, 5), (4, 5), (None, 5)),
        "columns": ((7, 133), (2, 4), (7, None)),
        "both": ((37, 43), (8, 9), (None, None)),
        "many": ((3000,), (2,), None),
        "many_rows": ((9000,), (3,), (None,)),
    }
    for (name, (shape, chunks, most)), (words, how) in itertools.product(shapes.items(), FILTERS.items()):
        data = random.integers(0, 50, shape).astype(">i4" if len(words) % 2 else "<f8")
        f.create_dataset(f"chunks/{name}/{words}", data=data, chunks=chunks, maxshape=most, **how)


def groups(f):
    f["soft"] = h5py.SoftLink("/types")
    f["again"] = f["scalar"]
    f["a.b"] = np.arange(3)
    f["with blank"] = np.arange(2)
    many = f.create_group("members")
    for i in range(300):
        many.create_dataset(f"d{i:04}", data=np.arange(i % 7))
    noted = f.create_group("noted")
    for i in range(60):
        noted.attrs[f"a{i}"] = i
    noted.attrs["long"] = "y" * 5000
    x = f.create_dataset("x", data=np.arange(4.0))
    x.make_scale("x")
    y = f.create_dataset("y", data=np.arange(3.0))
    y.make_scale("y")
    grid = f.create_dataset("grid", data=np.zeros((4, 3)))
    grid.dims[0].attach_scale(x)
    grid.dims[1].attach_scale(y)


def whole(path, **how):
    with h5py.File(path, "w", **how) as f:
        attributes(f)
        types(f, np.random.default_rng(1))
        storage(f, np.random.default_rng(2))
        groups(f)


def in_words(dataset):
    """The elements as Trilith presents them."""
    if dataset.shape is None or h5py.check_vlen_dtype(dataset.dtype):
        return None
    text = h5py.check_string_dtype(dataset.dtype)
    data = dataset[()]
    if text is not None and text.length is None:
        encoded = [s if isinstance(s, bytes) else s.encode() for s in np.ravel(np.asarray(data, dtype=object))]
        width = max(1, max(map(len, encoded), default=1))
        return np.array(encoded, dtype=f"S{width}").reshape(dataset.shape)
    data = np.asarray(data)
    if data.dtype.kind == "V" and data.dtype.names is None:
        return np.frombuffer(data.tobytes(), "u1").reshape(*data.shape, data.dtype.itemsize)
    return data


def paths_of(f):
    """Every dataset by its path, with h5py's data."""
    found = {}

    def walk(group, path, above):
        for name in group:
            if not isinstance(group.get(name, getlink=True), h5py.HardLink):
                continue
            item = group[name]
            if isinstance(item, h5py.Dataset):
                found[f"{path}/{name}"] = item
            elif item.id not in above:
                walk(item, f"{path}/{name}", [*above, item.id])

    walk(f, "", [f.id])
    return found


@unittest.skipUnless(HAS_H5PY, "h5py is not installed")
class Hdf5(Case):
    def compared(self, path):
        """How many arrays of the file have h5py's elements."""
        listed = trilith_json("digest", path)
        found = {path.replace('"', ""): entry for path, entry in listed["arrays"].items()}
        count = 0
        with h5py.File(path) as f:
            for name, dataset in paths_of(f).items():
                data = in_words(dataset)
                if data is None:
                    continue
                with self.subTest(file=path.name, dataset=name):
                    entry = found[name]
                    self.assertEqual(entry["shape"], list(data.shape))
                    self.assertEqual(entry["sha256"], sha256(data), entry)
                count += 1
        return count

    def test_every_array_of_every_version(self):
        count = 0
        for version, ordered in itertools.product(["earliest", "v108", "v110", "latest"], [False, True]):
            path = self.folder / f"{version}-{ordered}.h5"
            whole(path, libver=version if version in ("earliest", "latest") else (version, version), track_order=ordered)
            count += self.compared(path)
        path = self.folder / "user.h5"
        whole(path, userblock_size=1024)
        count += self.compared(path)
        self.assertGreater(count, 3000)

    def test_the_layout_given_back_reads_the_same(self):
        path, layout = self.folder / "a.h5", self.folder / "b.dud"
        whole(path)
        trilith("layout", "from", path, "-o", layout)
        self.assertEqual(trilith("digest", path), trilith("digest", path, "--layout", layout))

    def test_a_conversion_keeps_arrays_and_attributes(self):
        path, converted = self.folder / "a.h5", self.folder / "a.asdf"
        whole(path)
        trilith("convert", path, converted)
        self.assertEqual(trilith("diff", path, converted), b"")
        tree = trilith("tree", converted).decode()
        for said in ("title", "a54", "matrix"):
            self.assertIn(said, tree)

    def test_what_is_not_read_is_named(self):
        path = self.folder / "a.h5"
        with h5py.File(path, "w") as f:
            virtual = h5py.VirtualLayout(shape=(2,), dtype="i4")
            virtual[:] = h5py.VirtualSource("other.h5", "x", shape=(2,))
            f.create_virtual_dataset("virtual", virtual)
            f.create_dataset("outside", (3,), "i4", external=[("data.bin", 0, 12)])
        said = trilith("layout", "from", path)
        for named in (b"of a virtual dataset: cannot open the file other.h5", b"cannot open the file data.bin"):
            self.assertIn(named, said)

    def test_numbers_packed_into_their_bits(self):
        path, random = self.folder / "a.h5", np.random.default_rng(8)
        with h5py.File(path, "w") as f:
            for code, most, fill in itertools.product(("i1", "u1", "<i2", ">i4", "<u4", "<i8", ">u8"), (1, 40, 120), (None, 9)):
                data = random.integers(0, most, (13, 11)).astype(code)
                data[0, 0], data[5:7] = 0, most - 1
                name = f"whole-{code}-{most}-{fill}"
                f.create_dataset(name, data=data, chunks=(5, 4), scaleoffset=0, fillvalue=fill)
                f.create_dataset(name + "+", data=data, chunks=(5, 4), scaleoffset=True, shuffle=True, compression="gzip")
            for code, digits in itertools.product(("<f4", ">f4", "<f8", ">f8"), (0, 1, 3)):
                data = random.normal(0, 30, (13, 11)).astype(code)
                f.create_dataset(f"decimal-{code}-{digits}", data=data, chunks=(5, 4), scaleoffset=digits)
            f.create_dataset("wide", data=random.integers(-(1 << 62), 1 << 62, 50), chunks=(20,), scaleoffset=0)
            for code, at in itertools.product(("i1", "<u2", ">i4", "<i8"), (0, 3)):
                data = random.integers(0, 16, (13, 11)).astype(code)
                typed = h5py.h5t.py_create(data.dtype).copy()
                # Fewer bits in as many bytes are refused by newer libraries.
                typed.set_precision({1: 5, 2: 12, 4: 20, 8: 40}[data.dtype.itemsize])
                typed.set_offset(at)
                creation = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
                creation.set_chunk((5, 4))
                creation.set_filter(h5py.h5z.FILTER_NBIT, h5py.h5z.FLAG_OPTIONAL)
                name = f"bits-{code}-{at}"
                made = h5py.h5d.create(f.id, name.encode(), typed, h5py.h5s.create_simple(data.shape), dcpl=creation)
                made.write(h5py.h5s.ALL, h5py.h5s.ALL, data, mtype=h5py.h5t.py_create(data.dtype))
        ended = subprocess.run([PROGRAM, "digest", path, "--json"], capture_output=True, check=False)
        said = json.loads(ended.stdout)
        self.assertEqual(said["errors"], {})
        listed = {name.strip('/"'): entry for name, entry in said["arrays"].items()}
        with h5py.File(path) as f:
            for name, dataset in f.items():
                data = np.asarray(dataset[()])
                with self.subTest(name=name):
                    self.assertEqual(listed[name]["shape"], list(data.shape))
                    self.assertEqual(listed[name]["sha256"], sha256(data))

    def test_bfloat16_widened_is_what_the_library_makes_of_it(self):
        path, bits = self.folder / "b.h5", np.arange(1 << 16, dtype="u2")
        with h5py.File(path, "w") as f:
            for name, base in (("little", h5py.h5t.IEEE_F16LE), ("big", h5py.h5t.IEEE_F16BE)):
                typed = base.copy()
                typed.set_fields(15, 7, 8, 0, 7)
                typed.set_ebias(127)
                creation = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
                creation.set_chunk((5000,))
                made = h5py.h5d.create(f.id, name.encode(), typed, h5py.h5s.create_simple(bits.shape), dcpl=creation)
                stored = bits.astype(bits.dtype.newbyteorder(name))
                made.write(h5py.h5s.ALL, h5py.h5s.ALL, stored, mtype=typed)
                theirs = np.empty(bits.shape, "f4")
                made.read(h5py.h5s.ALL, h5py.h5s.ALL, theirs, mtype=h5py.h5t.NATIVE_FLOAT)
                f.flush()
                out = self.folder / "x.npy"
                trilith("get", f"{path}#/{name}", "--widen", "-o", out)
                np.testing.assert_array_equal(np.load(out), theirs)
                self.assertEqual(trilith_json("digest", path)["arrays"][f"/{name}"]["sha256"], sha256(bits))

    def test_slices(self):
        path = self.folder / "a.h5"
        with h5py.File(path, "w") as f:
            f.create_dataset("d", data=np.arange(10_000).reshape(100, 100), chunks=(7, 11), compression="gzip", shuffle=True)
        out = self.folder / "s.npy"
        trilith("get", f"{path}#/d", "--slice", "5:50:3,90:2:-4", "-o", out)
        self.assertTrue(np.array_equal(np.load(out), np.arange(10_000).reshape(100, 100)[5:50:3, 90:2:-4]))

    def test_lengths_that_no_file_has_cost_no_memory(self):
        """The stored length of a string or a list is compared with the heap, wherever the string is."""
        text, list_ = h5py.string_dtype(), h5py.vlen_dtype(np.dtype("i4"))
        struct = np.dtype([("p", "i4"), ("q", text), ("r", text, (2,))])
        rows = np.zeros(3, struct)
        rows["q"], rows["r"] = ["abcdefg"] * 3, [["abcdefg"] * 2] * 3
        makers = {
            "struct": lambda f: f.create_dataset("a", data=rows, dtype=struct),
            "chunks": lambda f: f.create_dataset("a", data=rows, dtype=struct, chunks=(2,)),
            "texts": lambda f: f.create_dataset("a", data=["abcdefg"] * 3, dtype=text),
            "text": lambda f: f.create_dataset("a", data="abcdefg", dtype=text),
            "lists": lambda f: f.create_dataset("a", (2,), dtype=list_).__setitem__(0, np.arange(7, dtype="i4")),
            "attribute": lambda f: f.attrs.create("a", "abcdefg", dtype=text),
            "attributes": lambda f: f.attrs.create("a", np.array([["abcdefg"] * 2] * 2, dtype=object), dtype=text),
            "attribute struct": lambda f: f.attrs.create("a", rows[:1], dtype=struct),
            "fixed": lambda f: f.create_dataset("a", (3,), dtype="S7", chunks=(2,)),
        }  # fmt: skip
        for name, make in makers.items():
            for length in (0xFFFFFFF0, 0x26000009, 0x01000000, 5000):
                path = self.folder / "length.h5"
                with h5py.File(path, "w") as file:
                    make(file)
                content = bytearray(path.read_bytes())
                # The length precedes the address of the heap; of a fixed string it ends the head of its datatype.
                seven, heap = (7).to_bytes(4, "little"), content.find(b"GCOL").to_bytes(8, "little", signed=True)
                at = content.find(b"\x13\1\0\0" + seven) + 4 if name == "fixed" else content.find(seven + heap)
                self.assertGreater(at, 3)
                content[at : at + 4] = length.to_bytes(4, "little")
                path.write_bytes(content)
                for command in (["verify", "--deep", path], ["digest", path], ["tree", path], ["info", path], ["stats", path],
                                ["convert", path, self.folder / "o.asdf", "--overwrite"], ["get", f"{path}#/a"]):  # fmt: skip
                    with self.subTest(name, length=length, command=command[0]):
                        done = subprocess.run(["bash", "-c", 'ulimit -v 1500000; exec "$@"', "-", PROGRAM, *command], capture_output=True)
                        self.assertIn(done.returncode, (0, 1, 2), done.stderr)
                        self.assertNotIn(b"panicked", done.stderr)
                        if command[0] == "verify" and name != "fixed":
                            self.assertEqual(done.returncode, 1, done)


if __name__ == "__main__":
    unittest.main()
