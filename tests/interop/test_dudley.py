"""Dudley streams: numpy finds at our addresses, with our datatypes, the values that we read."""

import json
import random
import re
import shutil
import struct
import unittest

import asdf
import numpy as np
import peer

try:
    from scipy.io import netcdf_file
except ImportError:
    netcdf_file = None

SIGNATURES = {"<": b"\x8d<BD\r\n\x1a\n", ">": b"\x8d>BD\r\n\x1a\n"}
PRIMITIVES = {"u1": "u1", "u2": "u2", "u4": "u4", "u8": "u8", "i1": "i1", "i2": "i2", "i4": "i4", "i8": "i8"}
PRIMITIVES |= {"f2": "f2", "f4": "f4", "f8": "f8", "b1": "?", "c8": "c8", "c16": "c16"}


def native(path, order, data, layout):
    """A native file: header, data from byte 16 on, layout at the end."""
    header = SIGNATURES[order] + struct.pack(order + "q", 16 + len(data))
    path.write_bytes(header + data + layout.encode())


class Streams(peer.Case):
    def items(self, path, *options):
        return {item["path"]: item for item in peer.trilith_json("blocks", path, *options)["items"]}

    def memmap(self, path, item, dtype):
        shape = tuple(item["shape"])
        return np.memmap(path, dtype, "r", item["offset"], shape)

    def test_memmap_reads_equal_values(self):
        random = np.random.default_rng(1)
        for order in "<>":
            path = self.folder / "x.bd"
            rows = random.normal(size=(3, 4)).astype(order + "f8")
            data = struct.pack(order + "i4x", 3) + rows.tobytes()
            native(path, order, data, "N : i4  x = f8[N, 4]")
            item = self.items(path)["/x"]
            mapped = self.memmap(path, item, order + "f8")
            self.assertTrue(np.array_equal(mapped, rows))
            target = self.folder / "x.npy"
            peer.trilith("get", f"{path}#/x", "-o", target)
            self.assertTrue(np.array_equal(np.load(target), rows))
            self.assertEqual(peer.trilith_json("digest", path)["arrays"], {"/x": peer.expected(rows)})
            said = peer.trilith_json("info", path)
            self.assertEqual((said["family"], said["generation"], said["items"]), ("dudley", "dudley-2025", 2))

    def test_structs_are_aligned_as_numpy_aligns_them(self):
        random = np.random.default_rng(2)
        names = [name for name in PRIMITIVES if name[0] != "c"]
        for trial in range(40):
            members = []
            for n in range(random.integers(1, 8)):
                shape = tuple(int(x) for x in random.integers(1, 4, size=random.integers(0, 3)))
                members.append((f"m{n}", str(random.choice(names)), shape))
            dtype = np.dtype([(name, PRIMITIVES[kind], shape) for name, kind, shape in members], align=True)
            spelled = "  ".join(f"{m} = {k}" + (f"[{', '.join(map(str, s))}]" if s else "") for m, k, s in members)
            path = self.folder / "s.bd"
            raw = random.integers(0, 2, size=dtype.itemsize * 5, dtype="u1").tobytes()
            start = bytes(-16 % dtype.alignment)
            native(path, "<", start + raw, f"s = {{{spelled}}}[5] @{16 + len(start)}")
            item = self.items(path)["/s"]
            self.assertEqual(item["nbytes"], dtype.itemsize * 5, spelled)
            offsets = [int(part.split("@")[1].rstrip("},")) for part in item["datatype"].split() if "@" in part]
            self.assertEqual(offsets, [dtype.fields[name][1] for name in dtype.names], spelled)
            mapped = self.memmap(path, item, dtype)
            self.assertEqual(peer.trilith_json("digest", path)["arrays"]["/s"]["sha256"], peer.sha256(mapped), spelled)

    def test_a_member_with_its_stride(self):
        dtype = np.dtype([("a", "u1"), ("b", "f8", 2)], align=True)
        rows = np.zeros(4, dtype)
        rows["b"] = np.arange(8).reshape(4, 2)
        path = self.folder / "x.bd"
        native(path, "<", rows.tobytes(), "s = {a = u1  b = f8[2]}[4]")
        target = self.folder / "b.npy"
        peer.trilith("get", f"{path}#/s.b", "-o", target)
        self.assertTrue(np.array_equal(np.load(target), rows["b"]))
        peer.trilith("get", f"{path}#/s.b", "--slice", "1:3,0", "-o", target)
        self.assertTrue(np.array_equal(np.load(target), rows["b"][1:3, 0]))

    @unittest.skipIf(netcdf_file is None, "scipy is not there")
    def test_a_netcdf_file_under_a_layout(self):
        path, layout = self.folder / "x.nc", self.folder / "x.dud"
        with netcdf_file(path, "w") as out:
            out.createDimension("time", None)
            out.createDimension("x", 3)
            lat = out.createVariable("lat", "f8", ("x",))
            lat[:] = [1.5, 2.5, 3.5]
            t = out.createVariable("t", "f8", ("time",))
            s = out.createVariable("s", "i2", ("time", "x"))
            for n in range(4):
                t[n] = 10.0 + n
                s[n] = [n, n + 1, n + 2]
        with netcdf_file(path, "r", mmap=False) as read:
            begins = {name: variable for name, variable in read.variables.items()}
            expected = {name: variable[:].copy() for name, variable in begins.items()}
        raw = path.read_bytes()
        lat_at = raw.index(expected["lat"].astype(">f8").tobytes())
        t_at = raw.index(struct.pack(">d", 10.0))
        layout.write_text(
            f'>\nNREC : i4 @4\nx : 3\nlat = f8[x] @{lat_at}\n"" = {{ t = f8 %4  s = i2[x] %4 }}[NREC] @{t_at}\n'
        )
        for item, values in (("/lat", expected["lat"]), ("/t", expected["t"]), ("/s", expected["s"])):
            target = self.folder / "v.npy"
            peer.trilith("get", f"{path}#{item}", "--layout", layout, "-o", target)
            self.assertTrue(np.array_equal(np.load(target), values), item)
        self.assertEqual(t_at + 4 * 16, len(raw))

    def test_a_layout_of_an_asdf_file(self):
        arrays = {"a": np.arange(10.0), "b": np.arange(6, dtype=">i2").reshape(2, 3)}
        arrays["s"] = np.zeros(3, [("x", "<i4"), ("y", ">f8", (2,)), ("n", "S3")])
        arrays["s"]["y"] = np.arange(6).reshape(3, 2)
        path, layout = self.folder / "x.asdf", self.folder / "x.dud"
        asdf.AsdfFile({"g": arrays}).write_to(path, all_array_storage="internal")
        peer.trilith("layout", "describe", path, "-o", layout)
        items = self.items(path, "--layout", layout)
        for name, array in arrays.items():
            self.assertTrue(np.array_equal(self.memmap(path, items[f"/g/{name}"], array.dtype), array), name)
        said = peer.trilith_json("digest", path, "--layout", layout)["arrays"]
        self.assertEqual(said, {f"/g/{name}": peer.expected(array) for name, array in arrays.items()})

    def test_to_asdf_and_back(self):
        arrays = {name: array for name, array in peer.samples().items() if not np.ma.isMaskedArray(array)}
        first, stream, last = (self.folder / name for name in ("a.asdf", "b.bd", "c.asdf"))
        asdf.AsdfFile({"arrays": arrays, "meta": {"n": 3, "on": True, "names": ["x", "y"]}}).write_to(first)
        peer.trilith("convert", first, stream)
        before, between = (peer.trilith_json("digest", path)["arrays"] for path in (first, stream))
        self.assertEqual(before, between)
        peer.trilith("convert", stream, last)
        self.assertEqual(before, peer.trilith_json("digest", last)["arrays"])
        with asdf.open(last) as back:
            self.assertEqual(dict(back["meta"]), {"n": 3, "on": True, "names": ["x", "y"]})
            self.assertTrue(np.array_equal(back["arrays"]["structured"]["x"], arrays["structured"]["x"]))

    def test_records_appended_to_a_history(self):
        path, rows = self.folder / "h.bd", self.folder / "rows.npy"
        native(path, "<", struct.pack("<d", 0.5), "time = [f8]")
        for n in range(3):
            np.save(rows, np.array([1.0 + n, 10.0 + n]))
            peer.trilith("append", f"{path}#/time", rows)
        times = [self.memmap(path, item, "<f8") for item in self.items(path).values()]
        self.assertEqual([float(np.asarray(time).reshape(-1)[0]) for time in times], [0.5, 1.0, 10.0, 2.0, 11.0, 3.0, 12.0])

    def test_a_family_by_its_catalog(self):
        template, catalog = self.folder / "t.dud", self.folder / "c.bd"
        template.write_text("{ NX : i8  NY : i8  time = f8 }\nrho = f8[NY, NX]\nte = f4[NY-, NX-]\n")
        sizes = [(3, 2), (5, 4), (2, 2)]
        records = np.array([(nx, ny, 0.5 * n) for n, (nx, ny) in enumerate(sizes)], "i8,i8,f8")
        names = np.array([f"run{n}.bd" for n in range(3)], "S8")
        native(catalog, "<", names.tobytes() + records.tobytes(), "files = S1[3, 8]  records = {NX=i8 NY=i8 time=f8}[3]")
        values = np.arange(20.0)
        for name, (nx, ny) in zip(names, sizes):
            data = struct.pack("<qqd", nx, ny, 0.0) + values[: nx * ny].tobytes()
            te = np.arange((nx - 1) * (ny - 1), dtype="<f4")
            header = SIGNATURES["<"] + struct.pack("<q", 0)
            (self.folder / name.decode()).write_bytes(header + data + te.tobytes())
        said = json.loads(peer.trilith("layout", "locate", template, "--catalog", catalog, "/te", "--json"))
        self.assertEqual(len(said["files"]), 3)
        for place, (nx, ny) in zip(said["files"], sizes):
            self.assertEqual(place["shape"], [ny - 1, nx - 1])
            mapped = np.memmap(self.folder / place["file"], "<f4", "r", place["offset"], tuple(place["shape"]))
            self.assertTrue(np.array_equal(mapped.reshape(-1), np.arange(mapped.size)))
            peer.trilith("get", f"{self.folder / place['file']}#/te", "--layout", template, "-o", self.folder / "te.npy")
            self.assertTrue(np.array_equal(np.load(self.folder / "te.npy"), mapped))

    def test_structs_of_c_lie_where_compilers_put_them(self):
        compilers = [name for name in ("x86_64-linux-gnu-gcc", "aarch64-linux-gnu-gcc") if shutil.which(name)]
        if len(compilers) < 2:
            print("gcc-aarch64-linux-gnu or gcc-x86-64-linux-gnu is missing: places in structs are compared for one machine only")
        compilers = compilers or [name for name in ("cc",) if shutil.which(name)]
        if not compilers:
            self.skipTest("there is no C compiler")
        kinds = ["char", "short", "int", "long long", "float", "double", "float complex", "double _Complex"]
        kinds += ["enum small", "enum large", "enum wide"]
        chosen = random.Random(41)
        declared, structs = ["enum small { A, B = -3 };\nenum large { C = 4000000000 };\nenum wide { D = -1, E = 0x100000000 };"], []
        for number in range(30):
            members = []
            for n in range(chosen.randint(1, 6)):
                kind = chosen.choice([*kinds, f"struct s{number - 1}"] if number else kinds)
                members.append((f"m{n}", kind, chosen.choice(["", "", "[3]"])))
            body = " ".join(f"{kind} {name}{shape};" for name, kind, shape in members)
            packed, before, after = "__attribute__((packed))", "", ""
            form = chosen.randrange(6)
            if form == 0:
                before = packed
            elif form == 1:
                after = packed
            struct = f"struct {before} s{number} {{ {body} }} {after};"
            if form == 2:
                struct = f"#pragma pack(push, {chosen.choice([1, 2, 4, 8])})\n{struct}\n#pragma pack(pop)"
            declared.append(f"{struct}\nstruct s{number} v{number}[2];")
            structs.append([name for name, _, _ in members])
        header = self.folder / "c.h"
        header.write_text("\n".join(declared) + "\n")
        for dialect in ("2025", "2026"):
            layout = self.folder / f"c{dialect}.dud"
            peer.trilith("layout", "new", header, "--dialect", dialect, "-o", layout)
            items = peer.trilith_json("layout", "resolve", layout)["items"]
            self.assertEqual(len(items), len(structs))
            claims = []
            for number, (item, members) in enumerate(zip(items, structs)):
                inside = item["datatype"][1:-1]
                while re.search(r"\{[^{}]*\}", inside):
                    inside = re.sub(r"\{[^{}]*\}", "", inside)
                offsets = [int(offset) for offset in re.findall(r"@(\d+)", inside)]
                self.assertEqual(len(offsets), len(members), f"{dialect}: {item}")
                claims.append(f"sizeof v{number} == {item['nbytes']}")
                claims += [f"offsetof(struct s{number}, {name}) == {at}" for name, at in zip(members, offsets)]
            # The keyword of the language stands for the macro of <complex.h>, which a compiler for another machine may lack.
            source = self.folder / f"c{dialect}.c"
            source.write_text(
                '#include <stddef.h>\n#define complex _Complex\n#include "c.h"\n'
                + "".join(f'_Static_assert({claim}, "{claim}");\n' for claim in claims)
            )
            for compiler in compilers:
                ended = peer.subprocess.run([compiler, "-fsyntax-only", source], capture_output=True, text=True, check=False)
                self.assertEqual((ended.returncode, ended.stderr), (0, ""), f"{compiler}, {dialect}")

    def test_templates_of_c_describe_what_c_programs_write(self):
        if not shutil.which("cc"):
            self.skipTest("there is no C compiler")
        kinds = ["char", "short", "int", "long long", "float", "double", "float complex", "double complex", "struct cell"]
        shapes = ["", "[3]", "[nx]", "[ny][nx]", "[ny-1][nx+2]", "[nx*ny]", "[(ny-1)*(nx-1)]", "[2][ny]", "[ng]", "[2*ng][nx]"]
        for seed in range(8):
            chosen = random.Random(seed)

            def members(prefix, most, chosen=chosen):
                named = [f"{chosen.choice(kinds)} {prefix}{n}{chosen.choice(['', '', '[3]'])};" for n in range(chosen.randint(0, most))]
                return " ".join(named)

            arrays = [(f"a{n}", chosen.choice(kinds), chosen.choice(shapes)) for n in range(chosen.randint(2, 8))]
            (self.folder / "run.h").write_text(
                "#include <complex.h>\n#include <stddef.h>\nstruct cell { char id; double v; };\n"
                f"struct grid {{ {members('g', 2)} int nx; {members('h', 2)} size_t ny; }};\n"
                f"struct head {{ {members('m', 3)} struct grid grid; short ng; {members('n', 3)} }};\n#ifdef LAYOUT\nstruct head head;\n"
                + "".join(f"{kind} {name}{shape};\n" for name, kind, shape in arrays)
                + "#endif\n"
            )
            counts = [" * ".join(f"({dim})" for dim in re.findall(r"\[([^]]*)\]", shape)) or "1" for _, _, shape in arrays]
            (self.folder / "run.c").write_text(
                '#include <stdio.h>\n#include <stdlib.h>\n#include "run.h"\nint main(void) {\n  static struct head head;\n'
                f"  int nx = {chosen.randint(1, 4)}, ny = {chosen.randint(1, 3)}, ng = {chosen.choice([0, 2])};\n"
                "  head.grid.nx = nx; head.grid.ny = ny; head.ng = ng;\n"
                '  FILE *out = fopen("run.raw", "wb");\n  fwrite(&head, sizeof head, 1, out);\n'
                + "".join(
                    f'  {{ size_t size = sizeof({kind}), count = {count}; printf("{name} %ld %zu\\n", ftell(out), size * count);\n'
                    "    fwrite(calloc(count + 1, size), size, count, out); }\n"
                    for (name, kind, _), count in zip(arrays, counts)
                )
                + '  printf("end %ld 0\\n", ftell(out));\n  return 0;\n}\n'
            )
            run = dict(cwd=self.folder, capture_output=True, text=True, check=True)
            peer.subprocess.run(["cc", "-o", "run", "run.c"], **run)
            written = [line.split() for line in peer.subprocess.run(["./run"], **run).stdout.splitlines()]
            layout = self.folder / "run.dud"
            lengths = ["--length", "nx=head.grid.nx", "--length", "ny=grid.ny", "--length", "ng=head.ng"]
            peer.trilith("layout", "new", self.folder / "run.h", *lengths, "-o", layout, "--overwrite")
            told = peer.trilith_json("layout", "resolve", layout, "--data", self.folder / "run.raw", "--order", "little")
            items = {item["path"]: item for item in told["items"]}
            for name, at, size in written[:-1]:
                item, why = items[f"/{name}"], f"{seed}: {name}\n{layout.read_text()}"
                self.assertEqual(item["nbytes"], int(size), why)
                if int(size):
                    self.assertEqual(item["address"], int(at), why)
            if int(written[-2][2]):
                self.assertEqual(told["total"], int(written[-1][1]), f"{seed}\n{layout.read_text()}")

    def test_broken_streams_end_with_a_message(self):
        path = self.folder / "x.bd"
        native(path, "<", struct.pack("<i", 5), "N : i4  x = f8[N]")
        whole = path.read_bytes()
        for cut in range(0, len(whole), 3):
            path.write_bytes(whole[:cut])
            ended = peer.subprocess.run([peer.PROGRAM, "digest", str(path)], capture_output=True, timeout=60, check=False)
            self.assertIn(ended.returncode, (0, 1, 2))
            self.assertNotIn(b"panicked", ended.stderr)


if __name__ == "__main__":
    unittest.main()
