"""Strings and lists of variable length in HDF5 files, wherever they may be: datasets, members of structs, attributes."""

import base64
import hashlib
import importlib.util
import itertools
import json
import resource
import subprocess
import unittest

import asdf
import numpy as np
from peer import PROGRAM, Case, trilith, trilith_json

HAS_H5PY = importlib.util.find_spec("h5py") is not None
if HAS_H5PY:
    import h5py
HAS_NETCDF4 = importlib.util.find_spec("netCDF4") is not None
if HAS_NETCDF4:
    import netCDF4

#: Megabytes that a process may take for strings of a few hundred kilobytes.
MOST = 100


def limited():
    resource.setrlimit(resource.RLIMIT_DATA, (MOST << 20, MOST << 20))


def within(*arguments, statuses=(0,)):
    """What a command prints that may take little memory and time."""
    ended = subprocess.run(
        [PROGRAM, "--threads", "1", *map(str, arguments)], capture_output=True, timeout=20, check=False, preexec_fn=limited
    )
    if ended.returncode not in statuses:
        raise AssertionError(f"{ended.returncode} {ended.stderr.decode()}")
    return ended.stdout, ended.stderr.decode()


def plain(value):
    """A value of h5py as JSON has it."""
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, np.ndarray):
        return [plain(item) for item in value]
    if isinstance(value, np.void):
        return [plain(value[name]) for name in value.dtype.names]
    return value.item() if isinstance(value, np.generic) else value


@unittest.skipUnless(HAS_H5PY, "h5py is not installed")
class Strings(Case):
    def test_strings_cost_what_they_hold(self):
        texts = [f"x{i}" for i in range(20_000)] + ["\u00e9" * 250_000]
        for number, how in enumerate(({}, {"chunks": (1000,), "compression": "gzip"}, {"chunks": (7,)})):
            path = self.folder / f"{number}.h5"
            with h5py.File(path, "w") as f:
                f.create_dataset("text", data=texts, dtype=h5py.string_dtype(), **how)
            with self.subTest(how=how):
                self.assertEqual(json.loads(within("get", f"{path}#/text", "--json")[0]), texts)
                lines = "".join(f"{text}\n" for text in texts).encode()
                self.assertEqual(within("get", f"{path}#/text", "--format", "csv")[0], lines)
                self.assertEqual(within("get", f"{path}#/text")[0].decode().split(), texts)
                self.assertEqual(within("get", f"{path}#/text", "--slice", "::-9999")[0].decode().split(), texts[::-9999])
                made = path.with_suffix(".asdf")
                said = within("convert", path, made)[1]
                self.assertIn("the strings of /text become lists", said)
                trilith("validate", made)
                with asdf.open(made) as af:
                    self.assertEqual(list(af["text"]), texts)

    def test_every_command_costs_what_the_strings_hold(self):
        texts = [f"x{i}" for i in range(20_000)] + ["\u00e9" * 250_000]
        other = [*texts[:7], "other", *texts[8:]]
        paths = {}
        for name, strings, how in (("a", texts, {}), ("same", texts, {"chunks": (1000,), "compression": "gzip"}), ("b", other, {})):
            paths[name] = self.folder / f"{name}.h5"
            with h5py.File(paths[name], "w") as f:
                f.create_dataset("text", data=strings, dtype=h5py.string_dtype(), **how)
        a, same, b = paths.values()
        hashed = hashlib.sha256()
        for text in texts:
            hashed.update(len(text.encode()).to_bytes(8, "little") + text.encode())
        for path in (a, same):
            found = json.loads(within("digest", path, "--json")[0])["arrays"]["/text"]
            self.assertEqual(found["sha256"], hashed.hexdigest())
            within("verify", "--deep", path)
        self.assertEqual(json.loads(within("diff", a, same, "--json")[0])["differences"], [])
        different = json.loads(within("diff", a, b, "--json", statuses=(1,))[0])["differences"]
        self.assertEqual(
            [(one["kind"], one["elements"]["different"], one["elements"]["first"]) for one in different], [("elements", 1, [7])]
        )
        within("stats", a, statuses=(2,))
        within("manifest", a, "-o", self.folder / "a.json", statuses=(2,))
        self.assertEqual(json.loads(within("tree", a, "--json", "--inline")[0]), {"text": texts})
        for words in (("info", a), ("tree", a), ("table", a, "-c", "x=/text"), ("search", a, "--key", "text"), ("blocks", a)):
            within(*words)
        for extension in ("asdf", "finf", "fits", "bd"):
            made = self.folder / f"made.{extension}"
            within("convert", a, made)
            if extension == "bd":
                # A list of strings is an attribute there.
                made, stream = self.folder / "back.asdf", made
                within("convert", stream, made)
            if extension != "fits":
                self.assertEqual(json.loads(within("get", f"{made}#/text", "--json")[0]), texts)
        self.assertTrue(json.loads(within("diff", a, self.folder / "made.asdf", "--json")[0])["same"])

    def test_padding_that_multiplies_a_file_is_told(self):
        path, out = self.folder / "a.h5", self.folder / "a.npy"
        with h5py.File(path, "w") as f:
            f.create_dataset("text", data=["x"] * 2000 + ["y" * 5000], dtype=h5py.string_dtype())
        ended = subprocess.run([PROGRAM, "get", f"{path}#/text", "-o", out], capture_output=True, check=True)
        self.assertIn(b"pads each to the longest", ended.stderr)
        self.assertEqual([str(text) for text in np.load(out)], ["x"] * 2000 + ["y" * 5000])

    def test_structs_show_strings_and_not_addresses(self):
        text, path = h5py.string_dtype(), self.folder / "a.h5"
        simple = np.dtype([("id", "i4"), ("name", text), ("v", ">f8")])
        deep = np.dtype([("k", "i2"), ("in", [("label", text), ("fix", "S4")]), ("more", text, (2,))])
        values = {
            "simple": np.array([(1, "alpha", 0.5), (2, "", 1.5), (3, "\u00fcber", -2)], simple),
            "deep": np.array([(1, ("one", b"ab"), ["p", "qq"]), (2, ("three", b"c"), ["", "r"])], deep),
        }
        kept = {}
        for version in ("earliest", "latest"):
            with h5py.File(path, "w", libver=version, userblock_size=512) as f:
                for name, data in values.items():
                    f.create_dataset(f"{name}/plain", data=data)
                    f.create_dataset(f"{name}/packed", data=data, chunks=(2,), compression="gzip", shuffle=True)
                    f.create_dataset(f"{name}/scalar", data=data[0])
                    f.create_dataset(f"{name}/none", (0,), data.dtype)
                    f.create_dataset(f"{name}/unwritten", (2,), data.dtype, chunks=(1,))
                    f.attrs[name] = data
            with h5py.File(path) as f:
                for name, kind in itertools.product(values, ("plain", "packed", "scalar", "none", "unwritten")):
                    kept[f"{name}/{kind}"] = plain(f[f"{name}/{kind}"][()])
                kept |= {f"@{name}": plain(data) for name, data in values.items()}
            for name, data in kept.items():
                with self.subTest(version=version, name=name):
                    self.assertEqual(trilith_json("get", f"{path}#/{name}"), data)
        rows = trilith("get", f"{path}#/simple/plain", "--format", "csv").decode().splitlines()
        self.assertEqual(rows, ["id,name,v", "1,alpha,0.5", '2,"",1.5', "3,\u00fcber,-2.0"])
        made = self.folder / "a.asdf"
        trilith("convert", path, made)
        trilith("verify", "--deep", made)
        with asdf.open(made) as af:
            self.assertEqual([str(row["name"]) for row in af["simple"]["packed"]], ["alpha", "", "\u00fcber"])

    def test_lists_in_structs_are_items(self):
        path = self.folder / "a.h5"
        with h5py.File(path, "w") as f:
            typed = np.dtype([("id", "i4"), ("list", h5py.vlen_dtype("i2")), ("name", h5py.string_dtype())])
            made = np.empty(2, typed)
            made[0], made[1] = (1, np.array([1, 2], "i2"), "a"), (2, np.array([3], "i2"), "bc")
            f.create_dataset("t", data=made)
        self.assertEqual(trilith_json("get", f"{path}#/t"), [[1, "a"], [2, "bc"]])
        self.assertEqual(trilith_json("get", f"{path}#/t@list"), [[1, 2], [3]])

    def test_attributes_of_many_strings_and_lists(self):
        path, text = self.folder / "a.h5", h5py.string_dtype()
        pair = np.empty(2, object)
        pair[0], pair[1] = np.array([1, 2], "i4"), np.array([3], "i4")
        with h5py.File(path, "w") as f:
            d = f.create_dataset("d", data=[1])
            d.attrs.create("plane", np.array([["a", "bb"], ["", "c\u00e9"]], object), dtype=text)
            d.attrs.create("many", [f"x{i}" for i in range(1500)], dtype=text)
            d.attrs.create("ragged", pair, dtype=h5py.vlen_dtype("i4"))
        self.assertEqual(trilith_json("get", f"{path}#/d@plane"), [["a", "bb"], ["", "c\u00e9"]])
        self.assertEqual(trilith_json("get", f"{path}#/d@many"), [f"x{i}" for i in range(1500)])
        self.assertEqual(trilith_json("get", f"{path}#/d@ragged"), [[1, 2], [3]])

    def test_fill_values_of_strings(self):
        path, text = self.folder / "a.h5", h5py.string_dtype()
        with h5py.File(path, "w") as f:
            for name, how in {"plain": {}, "chunks": {"chunks": (2,)}}.items():
                f.create_dataset(name, (3,), text, fillvalue="none", **how)
                f.create_dataset(name + "fixed", (3,), "S6", fillvalue=b"none", **how)
            f["chunks"][0] = "set"
        with h5py.File(path, "r+") as f:
            for name in f:
                self.assertEqual(trilith_json("get", f"{path}#/{name}"), plain(f[name][()]), name)

    def test_padding_of_fixed_strings_is_no_text(self):
        path = self.folder / "a.h5"
        kinds = {"nulls": h5py.h5t.STR_NULLPAD, "ended": h5py.h5t.STR_NULLTERM, "spaces": h5py.h5t.STR_SPACEPAD}
        stored = {"nulls": b"sw\0\0", "ended": b"sw\0x", "spaces": b"sw  "}
        with h5py.File(path, "w") as f:
            for name, kind in kinds.items():
                typed = h5py.h5t.C_S1.copy()
                typed.set_size(4)
                typed.set_strpad(kind)
                data = np.frombuffer(stored[name] + stored[name], "S4")
                f.create_group(name)
                for how in ("plain", "chunks"):
                    creation = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
                    if how == "chunks":
                        creation.set_chunk((1,))
                        creation.set_deflate(3)
                    made = h5py.h5d.create(f[name].id, how.encode(), typed, h5py.h5s.create_simple((2,)), dcpl=creation)
                    made.write(h5py.h5s.ALL, h5py.h5s.ALL, data, typed)
                attribute = h5py.h5a.create(f[name].id, b"said", typed, h5py.h5s.create_simple((1,)))
                attribute.write(data[:1], typed)
        for name, how in itertools.product(kinds, ("plain", "chunks")):
            self.assertEqual(trilith_json("get", f"{path}#/{name}/{how}"), ["sw", "sw"], (name, how))
        tree = trilith("tree", path, "--attributes").decode()
        self.assertEqual(tree.count('@said: "sw"'), 3)

    def test_user_blocks_of_any_size(self):
        for size in (512, 2048, 4096, 32768, 1 << 20):
            path = self.folder / f"{size}.h5"
            with h5py.File(path, "w", userblock_size=size) as f:
                f["d"] = np.arange(3)
            self.assertEqual(trilith_json("get", f"{path}#/d"), [0, 1, 2])


#: Bytes that are not UTF-8.
WRONG = [b"25 \xb0C", b"a\x81\xe9"]
#: Bytes of no declared encoding, and their text: UTF-8, else cp1252, else (0x81 is nothing in cp1252) Latin-1.
UNDECLARED = {b"Z\xc3\xbcrich 10 \xc2\xb5m": "Zürich 10 µm", b"25 \xb0C": "25 °C", b"10 \x80": "10 €", b"a\x81\xe9": "a\x81é", b"x": "x"}


@unittest.skipUnless(HAS_H5PY, "h5py is not installed")
class Encodings(Case):
    """One rule for the text of each format, and in each command. Rest."""

    stored, wanted = list(UNDECLARED), list(UNDECLARED.values())
    typed = np.dtype([("s", "S20"), ("i", "i4"), ("n", "S20", (2,))])

    def table(self):
        return np.array([(text, i, [text, b"y"]) for i, text in enumerate(self.stored)], dtype=self.typed)

    def files(self):
        """Writes the same text in each form. Returns the paths of arrays, and those of structs."""
        array, table = np.array(self.stored), self.table()
        np.save(self.folder / "a.npy", array)
        np.save(self.folder / "t.npy", table)
        np.savez(self.folder / "p.npz", s=array, t=table)
        np.savez_compressed(self.folder / "c.npz", s=array, t=table)
        with h5py.File(self.folder / "h.h5", "w") as f:
            f["plain"], f["t"] = array, table
            f.create_dataset("chunks", data=array, chunks=(2,), compression="gzip")
            f.create_dataset("t2", data=table, chunks=(2,), compression="gzip")
            f.create_dataset("variable", data=self.stored, dtype=h5py.string_dtype("ascii"))
            compact = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
            compact.set_layout(h5py.h5d.COMPACT)
            made = h5py.h5d.create(f.id, b"compact", h5py.h5t.py_create(array.dtype), h5py.h5s.create_simple((5,)), compact)
            made.write(h5py.h5s.ALL, h5py.h5s.ALL, array)
        arrays = ["a.npy#/data", "p.npz#/s", "c.npz#/s", *(f"h.h5#/{name}" for name in ("plain", "chunks", "variable", "compact"))]
        if HAS_NETCDF4:
            characters = array.astype("S14").view("S1").reshape(5, 14)
            for kind in ("NETCDF3_CLASSIC", "NETCDF3_64BIT_DATA", "NETCDF4", "NETCDF4_CLASSIC"):
                with netCDF4.Dataset(self.folder / f"{kind}.nc", "w", format=kind) as f:
                    for name, length in (("row", 5), ("record", None), ("width", 14)):
                        f.createDimension(name, length)
                    f.createVariable("a", "S1", ("row", "width"))[:] = characters
                    f.createVariable("b", "S1", ("record", "width"))[:] = characters
                    f.createVariable("n", "i4", ("record",))[:] = range(5)
                arrays += [f"{kind}.nc#/a", f"{kind}.nc#/b"]
        return arrays, ["t.npy#/data", "p.npz#/t", "c.npz#/t", "h.h5#/t", "h.h5#/t2"]

    def test_text_of_no_declared_encoding(self):
        arrays, structs = self.files()
        rows = [[text, i, [text, "y"]] for i, text in enumerate(self.wanted)]
        for path, wanted in [*((path, self.wanted) for path in arrays), *((path, rows) for path in structs)]:
            path = self.folder / path
            with self.subTest(path=path.name):
                self.assertEqual(trilith_json("get", path), wanted)
                self.assertEqual(trilith_json("get", path, "--slice", "1:3"), wanted[1:3])
                self.assertEqual(trilith_json("get", path, "--stored"), wanted)
                text = trilith("get", path, "--format", "csv").decode()
                self.assertTrue(all(one in text for one in self.wanted), text)

    def test_converted_files_hold_the_text(self):
        arrays, structs = self.files()
        for source in sorted({path.partition("#")[0] for path in arrays + structs}):
            for extension in ("asdf", "bd"):
                into = self.folder / f"{source}.{extension}"
                trilith("convert", self.folder / source, into)
                trilith("verify", "--deep", into)
                if extension == "asdf":
                    trilith("diff", self.folder / source, into)
                for name in (path.partition("#/")[2] for path in arrays if path.startswith(source)):
                    self.assertEqual(trilith_json("get", f"{into}#/{name}"), self.wanted, (into, name))
                for name in (path.partition("#/")[2] for path in structs if path.startswith(source)):
                    self.assertEqual([row[0] for row in trilith_json("get", f"{into}#/{name}")], self.wanted, (into, name))
            with asdf.open(self.folder / f"{source}.asdf") as f:
                for name in (path.partition("#/")[2] for path in arrays if path.startswith(source)):
                    self.assertEqual(np.asarray(f[name]).tolist(), self.wanted)
                for name in (path.partition("#/")[2] for path in structs if path.startswith(source)):
                    self.assertEqual(np.asarray(f[name])["s"].tolist(), self.wanted)

    def test_attributes_and_names(self):
        path = self.folder / "a.h5"
        with h5py.File(path, "w") as f:
            for owner in (f, f.create_group("g"), f.create_dataset("d", data=1)):
                owner.attrs["one"], owner.attrs["all"] = np.bytes_(self.stored[1]), np.array(self.stored)
                owner.attrs.create("variable", self.stored[1], dtype=h5py.string_dtype("ascii"))
                owner.attrs.create("utf8", np.array("µ".encode(), h5py.string_dtype("utf-8", 4)))
            f[b"25 \xb0C"] = 3
        tree = trilith("tree", path, "--attributes").decode()
        for said, count in {'@one: "25 °C"': 3, '@variable: "25 °C"': 3, '@utf8: "µ"': 3, '["Zürich 10 µm","25 °C","10 €"': 3}.items():
            self.assertEqual(tree.count(said), count, tree)
        self.assertEqual(trilith_json("get", f"{path}#/25 °C"), 3)

    @unittest.skipUnless(importlib.util.find_spec("tifffile"), "tifffile is not installed")
    def test_tags_of_tiff(self):
        import tifffile

        path = self.folder / "a.tif"
        for stored, wanted in UNDECLARED.items():
            tifffile.imwrite(path, np.zeros((2, 2), "u1"), metadata=None, extratags=[(315, 2, 0, stored, True)])
            self.assertIn(f'@Artist: "{wanted}"', trilith("tree", path, "--attributes").decode().replace("\\u0081", "\x81"))

    def test_declared_utf8_is_not_guessed(self):
        path = self.folder / "a.h5"
        wanted = ["ok", "µ", *({"base64": base64.b64encode(stored).decode()} for stored in WRONG), "end"]
        stored = [b"ok", "µ".encode(), *WRONG, b"end"]
        fixed, variable = h5py.string_dtype("utf-8", 8), h5py.string_dtype("utf-8")
        typed = np.dtype([("v", variable), ("f", fixed), ("i", "i4"), ("a", fixed, (2,)), ("in", [("q", fixed)])])
        table = np.array([(text, text, i, (text, b"y"), (text,)) for i, text in enumerate(stored)], typed)
        with h5py.File(path, "w") as f:
            for name, how in (("plain", {}), ("chunks", {"chunks": (2,), "compression": "gzip"})):
                f.create_dataset(f"fixed_{name}", data=np.array(stored, "S8").astype(fixed), dtype=fixed, **how)
                f.create_dataset(f"variable_{name}", data=stored, dtype=variable, **how)
                f.create_dataset(f"table_{name}", data=table, **how)
            f.create_dataset("one", data=WRONG[0], dtype=variable)
            f.attrs.create("one", WRONG[0], dtype=variable)
            f.attrs.create("fixed", np.array(WRONG[0], "S8").astype(fixed), dtype=fixed)
            f.attrs.create("all", np.array(stored, object), dtype=variable)
        rows = [[text, text, i, [text, "y"], [text]] for i, text in enumerate(wanted)]
        for name in ("fixed_plain", "fixed_chunks", "variable_plain", "variable_chunks", "table_plain", "table_chunks"):
            all_ = rows if name.startswith("table") else wanted
            with self.subTest(name):
                self.assertEqual(trilith_json("get", f"{path}#/{name}"), all_)
                # The other elements are not affected.
                for part in ("0:2", "-1:", "1:4"):
                    start, _, stop = part.partition(":")
                    cut = slice(int(start), int(stop) if stop else None)
                    ended = subprocess.run([PROGRAM, "get", f"{path}#/{name}", "--slice", part, "--json"], capture_output=True, check=True)
                    self.assertEqual(json.loads(ended.stdout), all_[cut])
                    self.assertEqual(b"shown as bytes" in ended.stderr, part == "1:4", ended.stderr)
                lines = trilith("get", f"{path}#/{name}", "--format", "csv").decode()
                self.assertTrue("25 \\xb0C" in lines and "µ" in lines, lines)
        self.assertEqual(trilith_json("get", f"{path}#/one"), wanted[2])
        tree = trilith("tree", path, "--attributes").decode()
        for name in ("one", "fixed"):
            self.assertIn(f'@{name}: {{"base64":"{wanted[2]["base64"]}"}}', tree)
        self.assertIn('@all: ["ok","µ",{"base64":', tree)
        for command in ("digest", "tree", "info", "verify"):
            trilith(command, path)
        self.assertIn(b"declared encoding", subprocess.run([PROGRAM, "verify", "--deep", path], capture_output=True, check=True).stderr)
        trilith("diff", path, path)
        for extension in ("asdf", "bd"):
            made = self.folder / f"made.{extension}"
            ended = subprocess.run([PROGRAM, "convert", path, made], capture_output=True, check=True)
            self.assertIn(b"not in their declared encoding, and become bytes", ended.stderr)
            trilith("verify", "--deep", made)
        trilith("validate", self.folder / "made.asdf")
        trilith("convert", self.folder / "made.bd", self.folder / "back.asdf")
        for made in ("made.asdf", "back.asdf"):
            with asdf.open(self.folder / made) as f:
                bytes_ = ["ok", "µ", *WRONG, "end"]
                # Attributes of the root of a Dudley file are keys of the tree.
                attributes = f["annotations"][""]["attributes"] if made == "made.asdf" else f
                self.assertEqual([list(f["fixed_plain"]), list(f["variable_chunks"]), list(attributes["all"])], [bytes_] * 3)
                self.assertEqual([attributes["one"], attributes["fixed"]], [WRONG[0]] * 2)
                # ASDF has no datatype for bytes, so such members of structs are arrays of them.
                members = np.asarray(f["table_chunks"])["f"]
                self.assertEqual([bytes(row).rstrip(b"\0") for row in members], stored)
                self.assertEqual(np.asarray(f["table_chunks"])["i"].tolist(), list(range(len(stored))))

    def test_strings_of_structs_end_at_nul(self):
        def text(length, pad=h5py.h5t.STR_NULLTERM):
            made = h5py.h5t.C_S1.copy()
            made.set_size(length)
            made.set_strpad(pad)
            return made

        inner = h5py.h5t.create(h5py.h5t.COMPOUND, 10)
        inner.insert(b"q", 1, text(6))
        inner.insert(b"b", 8, h5py.h5t.STD_I8LE)
        typed, at = h5py.h5t.create(h5py.h5t.COMPOUND, 60), 2
        array = h5py.h5t.array_create
        for name, member in (
            ("s", text(8)), ("n", h5py.h5t.STD_I32BE), ("a", array(text(4), (2,))), ("in", inner), ("ins", array(inner, (2,))),
            ("padded", text(6, h5py.h5t.STR_NULLPAD)),
        ):  # fmt: skip
            typed.insert(name.encode(), at, member)
            at += member.get_size()
        element = b"..ab\0cdefg\0\0\0\7x\0yzuvw\0" + b".in\0xxx.\1." + b".i0\0xxx.\2." + b".i1\0xxx.\3." + b"p\0qrst"
        data = np.frombuffer(element.ljust(60, b".") * 3, "V60")
        path, space = self.folder / "a.h5", h5py.h5s.create_simple((3,))
        with h5py.File(path, "w") as f:
            for name in ("plain", "chunks"):
                creation = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
                if name == "chunks":
                    creation.set_chunk((2,))
                    creation.set_deflate(3)
                h5py.h5d.create(f.id, name.encode(), typed, space, dcpl=creation).write(h5py.h5s.ALL, h5py.h5s.ALL, data, typed)
            h5py.h5a.create(f.id, b"said", typed, space).write(data, typed)
        with h5py.File(path) as f:
            wanted = f["plain"][()]
        self.assertEqual(wanted["s"].tolist(), [b"ab"] * 3)
        for name in ("plain", "chunks", "@said"):
            with self.subTest(name):
                self.assertEqual(trilith_json("get", f"{path}#/{name}"), plain(wanted))
                self.assertEqual(trilith_json("get", f"{path}#/{name}", "--slice", "1:3"), plain(wanted)[1:])
        for extension in ("asdf", "bd"):
            made = self.folder / f"made.{extension}"
            trilith("convert", path, made)
            trilith("verify", "--deep", made)
            self.assertEqual(trilith_json("get", f"{made}#/plain"), plain(wanted))
        # Stored elements are unchanged.
        self.assertEqual(trilith_json("get", f"{path}#/plain", "--stored")[0][0], "ab\0cdefg")

    @unittest.skipUnless(HAS_NETCDF4, "netCDF4 is not installed")
    def test_encoding_attribute_is_declaration(self):
        stored = [b"ok", "Zürich".encode(), b"Z\xfcrich", b"10 \x80", b"a\x81\xe9"]
        undeclared = ["ok", "Zürich", "Zürich", "10 €", "a\x81é"]
        names = {
            **dict.fromkeys(("utf-8", "UTF8", "shift_jis"), "utf-8"), **dict.fromkeys(("latin-1", "ISO-8859-1"), "latin-1"),
            **dict.fromkeys(("cp1252", "windows-1252"), "cp1252"), "ascii": None, "": None,
        }  # fmt: skip

        def text(data, codec):
            try:
                return data.decode(codec)
            except UnicodeDecodeError:
                return {"base64": base64.b64encode(data).decode()}

        for kind in ("NETCDF3_CLASSIC", "NETCDF3_64BIT_DATA", "NETCDF4", "NETCDF4_CLASSIC"):
            path = self.folder / f"{kind}.nc"
            with netCDF4.Dataset(path, "w", format=kind) as f:
                for name, length in (("row", 5), ("record", None), ("width", 8)):
                    f.createDimension(name, length)
                for number, name in enumerate(names):
                    for row in ("row", "record"):
                        made = f.createVariable(f"{row}{number}", "S1", (row, "width"))
                        made.set_auto_chartostring(False)
                        made[:] = np.array(stored, "S8").view("S1").reshape(5, 8)
                        if name:
                            made.setncattr("_Encoding", name)
            trilith("verify", "--deep", path)
            trilith("convert", path, self.folder / "a.asdf", "--overwrite")
            trilith("verify", "--deep", self.folder / "a.asdf")
            with asdf.open(self.folder / "a.asdf") as af:
                for number, (name, codec) in enumerate(names.items()):
                    wanted = [text(data, codec) for data in stored] if codec else undeclared
                    for row in ("row", "record"):
                        with self.subTest(kind=kind, name=name, row=row):
                            self.assertEqual(trilith_json("get", f"{path}#/{row}{number}"), wanted)
                            self.assertEqual(trilith_json("get", f"{path}#/{row}{number}", "--slice", "1:2"), wanted[1:2])
                            made = [text if isinstance(text, str) else base64.b64decode(text["base64"]) for text in wanted]
                            self.assertEqual(list(np.asarray(af[f"{row}{number}"], object)), made)



if __name__ == "__main__":
    unittest.main()
