"""Files of small foreign formats, made by their own libraries: the same arrays, attributes and refusals."""

import io
import itertools
import pathlib
import resource
import shutil
import struct
import subprocess
import tempfile
import unittest
import warnings
import zipfile

import numpy as np
import peer
from scipy.io import FortranFile, netcdf_file

try:
    import netCDF4
except ImportError:
    netCDF4 = None
try:
    import safetensors.numpy
except ImportError:
    safetensors = None

YORICK = shutil.which("yorick")


def digests(*arguments):
    """What `digest` says of a file: path to datatype, shape and SHA-256 of the elements as they are stored."""
    entries = peer.trilith_json("digest", "--stored", *arguments)["arrays"]
    return {path[1:]: entry for path, entry in entries.items()}


class Small(unittest.TestCase):
    """What holds for a file of any format."""

    maxDiff = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def holds(self, path, arrays, attributes=None):
        """The arrays of a file, its layout given back, and its copy as ASDF are those of the peer."""
        expected = {name: peer.expected(array) for name, array in arrays.items()}
        self.assertEqual(digests(path), expected)
        layout = path.with_suffix(".layout")
        peer.trilith("layout", "from", path, "-o", layout)
        self.assertEqual(digests(path, "--layout", layout), expected)
        peer.trilith("layout", "check", layout)
        copy = path.with_suffix(".asdf")
        peer.trilith("convert", path, copy)
        peer.trilith("diff", "--stored", path, copy)
        if attributes is not None:
            import asdf

            with asdf.open(copy) as file:
                stands = file["annotations"] if "annotations" in file else {}
                for name, said in attributes.items():
                    there = stands.get(f"/{name}" if name else "", {}).get("attributes", {})
                    there = {key: value["value"] if isinstance(value, dict) else value for key, value in there.items()}
                    for key, value in said.items():
                        np.testing.assert_array_equal(there[key], value, f"{name}: {key}")


class NetCDF3(Small):
    KINDS = ("i1", "S1", "i2", "i4", "f4", "f8")
    MORE = ("u1", "u2", "u4", "i8", "u8")

    def values(self, kind, shape, seed=0):
        random = np.random.default_rng(seed)
        if kind == "S1":
            return random.choice(np.array([b"a", b"b", b"Z"], "S1"), shape)
        return random.integers(0, 100, shape).astype(kind)

    def seen(self, values, is_length):
        """Characters as strings, if their last dimension is a length of strings: no other variable uses it otherwise."""
        values = np.asarray(values)
        return values.view(f"S{values.shape[-1]}")[..., 0] if values.dtype.kind == "S" and is_length else values

    def test_every_type_and_shape_of_scipy(self):
        for version, kind in itertools.product((1, 2), self.KINDS):
            path = self.folder / f"s{version}{kind}.nc"
            arrays = {}
            with netcdf_file(path, "w", version=version) as file:
                for name, length in (("time", None), ("x", 3), ("y", 5)):
                    file.createDimension(name, length)
                file.title, file.number, file.list = "a title", 7, np.array([1.5, 2.5], "f8")
                # scipy places a scalar over the records: netCDF4 makes those below.
                for name, dims in (("line", ("x",)), ("plane", ("x", "y")), ("rec", ("time", "y")), ("r0", ("time",))):
                    variable = file.createVariable(name, kind, dims)
                    variable.units = "m s-1"
                    variable.scale_factor = np.float64(0.25)
                    shape = tuple({"time": 4, "x": 3, "y": 5}[dim] for dim in dims)
                    values = self.values(kind, shape)
                    variable[:] = values
                    arrays[name] = self.seen(values, dims[-1] == "y")
            said = {"": {"title": "a title", "number": 7, "list": [1.5, 2.5]}, "rec": {"units": "m s-1", "scale_factor": 0.25}}
            with self.subTest(version=version, kind=kind):
                self.holds(path, arrays, said)

    @unittest.skipIf(netCDF4 is None, "netCDF4 is not installed")
    def test_every_form_of_netcdf4(self):
        forms = {"NETCDF3_CLASSIC": self.KINDS, "NETCDF3_64BIT_OFFSET": self.KINDS, "NETCDF3_64BIT_DATA": self.KINDS + self.MORE}
        for form, kinds in forms.items():
            for kind, count, others in itertools.product(kinds, (0, 1, 7), ((), ("f8",), ("i1", "S1"))):
                path = self.folder / f"{form}{kind}{count}{len(others)}.nc"
                arrays, said = {}, {}
                with netCDF4.Dataset(path, "w", format=form) as file:
                    file.createDimension("time", None)
                    file.createDimension("x", 3)
                    for name, dims in (("scalar", ()), ("fixed", ("x", "x"))):
                        arrays[name] = self.values(kind, tuple(3 for _ in dims), 9)
                        file.createVariable(name, kind, dims)[...] = arrays[name]
                    for number, each in enumerate((kind, *others)):
                        variable = file.createVariable(f"v{number}", each, ("time", "x"))
                        variable.set_auto_maskandscale(False)
                        variable.long_name = f"the variable {number} \N{DEGREE SIGN}"
                        variable.valid_range = np.array([0, 99], "i2")
                        values = self.values(each, (count, 3), number)
                        variable[:count] = values
                        arrays[f"v{number}"] = values
                        said[f"v{number}"] = {"long_name": variable.long_name, "valid_range": [0, 99]}
                with self.subTest(form=form, kind=kind, count=count, others=others):
                    self.holds(path, arrays, said)

    def test_an_unknown_number_of_records_follows_from_the_length(self):
        path = self.folder / "stream.nc"
        with netcdf_file(path, "w") as file:
            file.createDimension("time", None)
            file.createDimension("x", 3)
            for name, kind in (("a", "f8"), ("b", "i2")):
                file.createVariable(name, kind, ("time", "x"))[:] = np.arange(12).reshape(4, 3)
        content = bytearray(path.read_bytes())
        content[4:8] = b"\xff" * 4
        values = np.arange(12).reshape(4, 3)
        for cut in (0, 1, 2):  # the padding of the last record may be missing
            path.write_bytes(content[: len(content) - cut])
            self.holds(path, {"a": values.astype("f8"), "b": values.astype("i2")})
        path.write_bytes(content[:-3])
        self.assertEqual(digests(path)["a"]["shape"], [3, 3])

    def test_what_a_layout_cannot_write_as_it_is(self):
        path = self.folder / "odd.nc"
        with netcdf_file(path, "w") as file:
            file.createDimension("x", 2)
            file.dialect, file.grid_shape = "of the model", 5
            file.history = "first line\nsecond \"line\" \\ end"
            file.nothing = float("nan")
            file.createVariable("x-1 y", "f4", ("x",))[:] = [1, 2]
        said = {"dialect": "of the model", "grid_shape": 5, "nothing": float("nan")}
        self.holds(path, {'"x-1 y"': np.array([1, 2], "f4")}, {"": said})
        attributes = peer.trilith_json("tree", "--attributes", path)["attributes"]
        self.assertEqual(attributes["history"], 'first line\nsecond "line" \\ end')


class Safetensors(Small):
    @unittest.skipIf(safetensors is None, "safetensors is not installed")
    def test_every_datatype_of_numpy(self):
        kinds = ("?", "u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f2", "f4", "f8", "c8")
        for shape in ((), (0,), (5,), (2, 3, 4)):
            path = self.folder / f"t{len(shape)}{sum(shape)}.safetensors"
            random = np.random.default_rng(1)
            arrays = {f"a{kind.strip('?')}": np.asarray(random.integers(0, 2, shape)).astype(kind) for kind in kinds}
            safetensors.numpy.save_file(arrays, path, {"format": "np", "note": "two\nlines"})
            with self.subTest(shape=shape):
                self.holds(path, arrays, {"": {"format": "np", "note": "two\nlines"}})

    def file(self, header, data=b""):
        path = self.folder / "made.safetensors"
        path.write_bytes(struct.pack("<Q", len(header)) + header + data)
        return path

    def test_floats_that_layouts_have_not_are_named_bytes(self):
        for name, kind in (("BF16", "u2"), ("F8_E4M3", "u1"), ("F8_E5M2", "u1"), ("F8_E8M0", "u1")):
            values = np.arange(6).astype(kind)
            header = b'{"w":{"dtype":"%s","shape":[2,3],"data_offsets":[0,%d]}}' % (name.encode(), values.nbytes)
            path = self.file(header, values.tobytes())
            with self.subTest(name=name):
                self.holds(path, {"w": values.reshape(2, 3)}, {"w": {"safetensors_dtype": name}})

    def test_headers_that_lie_are_refused(self):
        for header in (
            b'{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}}',
            b'{"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}',
            b'{"w":{"dtype":"F32","shape":[4611686018427387904,8],"data_offsets":[0,0]}}',
            b'{"w":{"dtype":"F4","shape":[2],"data_offsets":[0,1]}}',
            b'{"w":{"dtype":"F32","shape":[0],"data_offsets":[4,0]}}',
            b'{"w":{"dtype":"F32"}}',
            b'{"w":1}',
            b'{"w":',
        ):
            with self.subTest(header=header):
                # What is damaged is a no; what is not read is a refusal.
                peer.trilith("digest", self.file(header), status=2 if b"F4" in header else 1)


class Npz(Small):
    def test_stored_and_deflated_members(self):
        random = np.random.default_rng(2)
        arrays = {
            "a": random.normal(size=(3, 4)),
            "group/b": np.arange(5, dtype=">i2"),
            "group/inner/c": np.array(["ab", "c\u00e9"]),
            "d e": np.array(3.5),
            "empty": np.zeros((0, 2), "f4"),
            "s": np.array([(1, 2.5), (3, 4.5)], [("n", "i4"), ("x", ">f8")]),
            "columns": np.asfortranarray(random.integers(0, 9, (3, 5, 2)).astype(">u4")),
            "cut": np.arange(24.0).reshape(4, 6)[::2, 1:],
        }
        for name, save in (("x.npz", np.savez), ("y.npz", np.savez_compressed)):
            path = self.folder / name
            save(path, **arrays)
            with self.subTest(path=name):
                self.holds(path, {'"d e"' if name == "d e" else name: array for name, array in arrays.items()})
                part = self.folder / "part.npy"
                peer.trilith("get", f"{path}#/columns", "--slice", "1:3,::2", "-o", part)
                np.testing.assert_array_equal(np.load(part), arrays["columns"][1:3, ::2])

    def test_a_deflated_member_of_which_the_size_is_wrong_is_an_error(self):
        path = self.folder / "x.npz"
        np.savez_compressed(path, a=np.zeros(1000), b=np.arange(3))
        content = bytearray(path.read_bytes())
        at = content.index(b"PK\x01\x02")
        for size in (0, 1, 127, 129, 8127, 8129, 1 << 31):
            content[at + 24 : at + 28] = struct.pack("<I", size)
            path.write_bytes(content)
            with self.subTest(size=size):
                ended = subprocess.run([peer.PROGRAM, "digest", path], capture_output=True, check=False)
                self.assertIn(ended.returncode, (1, 2))

    def test_a_wrong_crc_is_seen_and_not_vouched_for(self):
        """zip, 4.4.7: the CRC-32 of the decoded bytes. Rest of the tests."""
        arrays = {
            "a": np.arange(2000, dtype="i4"), "g/b": np.linspace(0, 1, 500), "t": np.array(["x\u00e9", "y"] * 300),
            "s": np.array([(1, 2.5)] * 200, [("n", "i4"), ("x", ">f8")]), "z": np.arange(300) > 7,
        }
        for save in (np.savez, np.savez_compressed):
            path = self.folder / "x.npz"
            for name in arrays:
                save(path, **arrays)
                with zipfile.ZipFile(path, "a") as archive:
                    archive.writestr("note.txt", b"a note " * 100)
                sums = peer.trilith_json("verify", path)["checksums"]
                self.assertEqual(sums, [{"where": f"/{key}", "kind": "CRC-32", "ok": True} for key in (*arrays, "note.txt")])
                with zipfile.ZipFile(path) as archive:
                    member = archive.getinfo(f"{name}.npy")
                content = bytearray(path.read_bytes())
                begin = content.index(f"{name}.npy".encode()) + len(name) + 4
                # In the middle of the elements; of deflated ones the stated CRC, since other bytes may not decode.
                stored = member.compress_type == zipfile.ZIP_STORED
                at = begin + member.compress_size - 30 if stored else content.index(member.CRC.to_bytes(4, "little"), begin)
                content[at] ^= 1
                path.write_bytes(content)
                with self.subTest(save=save.__name__, name=name):
                    self.assertEqual(zipfile.ZipFile(path).testzip(), f"{name}.npy")
                    for deep in ([], ["--deep"]):
                        report = peer.trilith_json("verify", path, *deep, status=1)
                        self.assertEqual([sum["where"] for sum in report["checksums"] if not sum["ok"]], [f"/{name}"])
                    item = f"{path}#/{name}"
                    peer.trilith("get", item, "-o", self.folder / "y.npy", status=2)
                    for ending in ("asdf", "bd", "fits"):
                        peer.trilith("convert", path, self.folder / f"y.{ending}", status=2)
                        self.assertFalse((self.folder / f"y.{ending}").exists())
                    peer.trilith("get", item, "--slice", "0:1")
                    peer.trilith("get", f"{path}#/{'a' if name != 'a' else 'z'}", "-o", self.folder / "other.npy")
                    if not stored:
                        peer.trilith("digest", path, status=1)
                    done = peer.trilith_json("convert", path, self.folder / "some.asdf", "--skip-unreadable")
                    self.assertEqual([loss["path"] for loss in done["losses"]], [f"/{name}"])
                    (self.folder / "some.asdf").unlink()

    def test_the_last_of_several_members_with_one_name_counts(self):
        """As in numpy. Rest of the tests."""
        path = self.folder / "x.npz"
        for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            with zipfile.ZipFile(path, "w", method) as archive, warnings.catch_warnings():
                warnings.simplefilter("ignore")
                for name, values in (("g/a", [1, 2]), ("b", [7]), ("g/a", [3.5]), ("g/a", [4, 5, 6])):
                    content = io.BytesIO()
                    np.save(content, np.array(values))
                    archive.writestr(f"{name}.npy", content.getvalue())
            stand = peer.trilith("get", f"{path}#/g/a").split()
            self.assertEqual([int(value) for value in stand], np.load(path)["g/a"].tolist())
            self.assertEqual(peer.trilith("get", f"{path}#/b").split(), [b"7"])
            self.assertEqual(peer.trilith("get", f"{path}#/g/a (2)").split(), [b"1", b"2"])
            copy = self.folder / "x.asdf"
            peer.trilith("convert", path, copy)
            self.assertEqual(peer.trilith("get", f"{copy}#/g/a").split(), stand)
            copy.unlink()

    def test_a_deflated_member_is_decoded_in_little_memory(self):
        """512 MiB that take 2 MiB in the file. Rest of the tests."""
        path, size = self.folder / "x.npz", 512 << 20
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            with archive.open("a.npy", "w", force_zip64=True) as file:
                np.lib.format.write_array_header_1_0(file, {"descr": "|u1", "fortran_order": False, "shape": (size,)})
                for _ in range(size >> 24):
                    file.write(bytes(1 << 24))
        for words in (["get", f"{path}#/a", "--slice", "0:3"], ["digest", path], ["verify", path], ["stats", path]):
            limit = lambda: resource.setrlimit(resource.RLIMIT_DATA, (200 << 20, 200 << 20))  # noqa: E731
            subprocess.run([peer.PROGRAM, *map(str, words)], check=True, capture_output=True, preexec_fn=limit)

    def test_objects_are_refused_by_name(self):
        path = self.folder / "o.npz"
        np.savez(path, o=np.array([{}, None]))
        peer.trilith("digest", path, status=2)


class Fortran(Small):
    def test_records_of_every_kind_of_mark(self):
        for kind in ("<i4", ">i4", "<i8", ">i8"):
            for number, lengths in enumerate(((24,), (16, 16, 16), (3, 0, 7), (5, 5, 1))):
                path = self.folder / f"r{kind[1:]}{kind[0] == '<'}{number}"
                random = np.random.default_rng(number)
                records = [random.integers(0, 256, length, dtype="u1") for length in lengths]
                with open(path, "wb") as file:
                    for record in records:
                        mark = np.array(len(record), kind).tobytes()
                        file.write(mark + record.tobytes() + mark)
                even = len(set(lengths)) == 1
                arrays = {"records": np.array(records)} if even else {f"records[{n}]": r for n, r in enumerate(records)}
                with self.subTest(kind=kind, lengths=lengths):
                    self.holds(path, arrays)

    def test_records_of_scipy(self):
        path = self.folder / "f.unf"
        values = [np.arange(4.0), np.arange(4.0) * 2]
        with FortranFile(path, "w") as file:
            for record in values:
                file.write_record(record)
        self.holds(path, {"records": np.array(values).view("u1")})

    def test_what_only_begins_like_records_is_not_taken_for_them(self):
        path = self.folder / "no"
        for content in (b"\1\0\0\0x\1\0\0\0y", b"\0" * 64, b"\1\0\0\0x\2\0\0\0", b"\4\0\0\0"):
            path.write_bytes(content)
            peer.trilith("info", path, status=2)

    @unittest.skipIf(shutil.which("gfortran") is None, "gfortran is not installed")
    def test_records_of_gfortran(self):
        source = self.folder / "w.f90"
        source.write_text(
            "program w\n real(8) :: x(3) = (/1d0,2d0,3d0/)\n integer :: n(5) = (/1,2,3,4,5/)\n"
            ' open(10, file="out", form="unformatted")\n write(10) x\n write(10) n\n close(10)\nend program\n'
        )
        # Pieces of at most 12 bytes make records of several.
        for options, pieces in ((), None), (("-fmax-subrecord-length=12",), (12, 12)):
            subprocess.run(["gfortran", *options, str(source), "-o", str(self.folder / "w")], check=True)
            subprocess.run([str(self.folder / "w")], cwd=self.folder, check=True)
            x, n = np.array([1.0, 2.0, 3.0]).view("u1"), np.arange(1, 6, dtype="i4").view("u1")
            if pieces is None:
                expected = {"records[0]": x, "records[1]": n}
            else:
                expected = {"records[0][0]": x[:12], "records[0][1]": x[12:], "records[1][0]": n[:12], "records[1][1]": n[12:]}
            found = digests(self.folder / "out")
            self.assertEqual(found, {name: peer.expected(array) for name, array in expected.items()})


@unittest.skipIf(YORICK is None, "yorick is not installed")
class Pdb(Small):
    """Files of yorick, with the numbers of C of several machines."""

    MACHINES = ("", "sun_primitives", "sun3_primitives", "dec_primitives", "alpha_primitives", "sgi64_primitives", "i86_primitives")

    def yorick(self, program):
        script = self.folder / "w.i"
        script.write_text(program + "\nquit;\n")
        done = subprocess.run([YORICK, "-batch", str(script)], cwd=self.folder, capture_output=True, check=False, text=True)
        self.assertNotIn("ERROR", done.stdout + done.stderr)

    def test_numbers_structs_texts_and_pointers(self):
        for machine in self.MACHINES:
            name = f"t{machine}.pdb"
            opened = f'createb("{name}"{", " + machine if machine else ""})'
            self.yorick(f"""
struct Pt {{ double x; int n(3); char name(8); short s; }}
struct Nest {{ long a; Pt p(2); float f; }}
f = {opened};
x = reform(indgen(24)*1.5, 2,3,4); i = indgen(5); sh = short(indgen(4)-2); c = char(indgen(10)); fl = float(indgen(3))/3;
z = [3+4i, -1i]; str = "hello"; strs = ["ab","cde","z"]; sc = 7.25;
p = Pt(x=1.5, n=[1,2,3], s=9); p.name(1:3) = ['a','b','c'];
pp = array(Pt, 4); pp.x = indgen(4)*0.5; pp.s = short(indgen(4));
n = Nest(a=5, f=2.5); n.p(2).x = 3.25; ptr = &[1.5,2.5,4.5];
save, f, x, i, sh, c, fl, z, str, strs, sc, p, pp, n, ptr; close, f;
""")
            long = "i8" if machine in ("", "alpha_primitives", "sgi64_primitives") else "i4"
            pt = [("x", "f8"), ("n", "i4", 3), ("name", "u1", 8), ("s", "i2")]
            nest = [("a", long), ("p", pt, 2), ("f", "f4")]
            one, many, deep = np.zeros((), pt), np.zeros(4, pt), np.zeros((), nest)
            one["x"], one["n"], one["s"], one["name"][:3] = 1.5, [1, 2, 3], 9, [97, 98, 99]
            many["x"], many["s"] = np.arange(1, 5) * 0.5, np.arange(1, 5)
            deep["a"], deep["f"] = 5, 2.5
            deep["p"]["x"][1] = 3.25
            arrays = {
                "x": (np.arange(1, 25) * 1.5).reshape(4, 3, 2),
                "i": np.arange(1, 6, dtype=long),
                "sh": np.arange(-1, 3, dtype="i2"),
                "c": np.arange(1, 11, dtype="u1"),
                "fl": np.arange(1, 4, dtype="f4") / np.float32(3),
                "z": np.array([3 + 4j, complex(0, -1)]),
                "str": np.array(b"hello"),
                "strs[0]": np.array(b"ab"),
                "strs[1]": np.array(b"cde"),
                "strs[2]": np.array(b"z"),
                "sc": np.array(7.25),
                "p": one,
                "pp": many,
                "n": deep,
                '"*ptr"': np.array([1.5, 2.5, 4.5]),
            }
            with self.subTest(machine=machine):
                found = digests(self.folder / name)
                found.pop("ptr")  # an address
                self.assertEqual(found, {name: peer.expected(array) for name, array in arrays.items()})
                peer.trilith("convert", self.folder / name, self.folder / "t.asdf")
                peer.trilith("diff", self.folder / name, self.folder / "t.asdf")

    def test_history_records_are_arrays(self):
        self.yorick("""
f = createb("h.pdb"); a = 1.0; save, f, a;
for (k=1;k<=7;k++) { t = k*0.5; y = indgen(3)*k; add_record, f, t, k; save, f, t, y; }
close, f;
""")
        steps = np.arange(1, 8)
        arrays = {"a": np.array(1.0), "t": steps * 0.5, "y": np.outer(steps, np.arange(1, 4))}
        self.holds(self.folder / "h.pdb", arrays)


if __name__ == "__main__":
    unittest.main()
