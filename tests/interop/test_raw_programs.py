"""Random dumps of C programs, written again in every way: the bytes are those of `fwrite` with padding of zeros.

A program in C writes the variables of a header. `layout new` makes the layout of this header. The command, the Python package and the
generated code in C, Fortran, Rust and Python read the dump and write it again. Rest; `cargo xtask campaign raw`.
"""

import os
import random
import shutil
import subprocess
import sys
import unittest

import numpy as np
import peer
import trilith

CASES = int(os.environ.get("TRILITH_CAMPAIGN", "10"))
SEED = int(os.environ.get("TRILITH_CAMPAIGN_SEED", "1"))
#: Layouts that one program of each language writes.
BATCH = 10
KINDS = ["signed char", "unsigned char", "short", "uint16_t", "int", "unsigned", "int64_t", "uint64_t", "float", "double"]
KINDS += ["float _Complex", "double _Complex", "_Bool", "enum color"]
TOOLS = ["gcc", "gfortran", "rustc"]


class Dump:
    """A header with a struct of lengths, other structs, and the variables that are written."""

    def __init__(self, seed, name):
        self.chosen, self.name, self.seed = random.Random(seed), name, seed
        self.lengths = {"n": self.chosen.randrange(4), "m": self.chosen.randint(1, 3)}
        self.structs, self.types, self.fills = [], {}, []
        self.head = self.struct("head", [("n", "int", ()), ("m", "int64_t", ())])
        for number in range(self.chosen.randint(0, 3)):
            self.struct(f"s{number}", [])
        self.variables = []
        for number in range(self.chosen.randint(1, 4)):
            kinds = [*KINDS, *(f"struct {known}" for known in self.types if known != "head")]
            dims = tuple(self.chosen.choice(["n", "m", "2", "n+1", "m-1"]) for _ in range(self.chosen.choice([0, 1, 1, 2])))
            self.variables.append((f"v{number}", self.chosen.choice(kinds), dims))

    def struct(self, name, members):
        members = list(members)
        for number in range(self.chosen.randint(1, 4)):
            nested = [f"struct {known}" for known in self.types if known != "head"] if name != "head" else []
            shape = self.chosen.choice([(), (), (2,), (2, 3)])
            members.append((f"m{number}", self.chosen.choice(KINDS + nested), shape))
        self.types[name] = members
        packed = self.chosen.choice(["", "", "", " __attribute__((packed))"])
        text = " ".join(f"{kind} {member}{''.join(f'[{length}]' for length in shape)};" for member, kind, shape in members)
        self.structs.append(f"struct{packed} {name} {{ {text} }};")
        return name

    def header(self):
        lines = ["#include <stdint.h>", "enum color { RED, GREEN = 7 };", *self.structs, "#ifdef LAYOUT", "struct head head;"]
        lines += [f"{kind} {name}{''.join(f'[{dim}]' for dim in dims)};" for name, kind, dims in self.variables]
        return "\n".join([*lines, "#endif", ""])

    def fill(self, place, kind, lines):
        """Statements that set a value: each byte of a number is one that no NaN and no string has trouble with."""
        if kind.startswith("struct "):
            for member, inner, shape in self.types[kind.split()[1]]:
                for index in np.ndindex(*shape):
                    self.fill(f"{place}.{member}{''.join(f'[{at}]' for at in index)}", inner, lines)
        elif kind == "_Bool":
            lines.append(f"  {place} = counter++ % 2;")
        else:
            lines.append(f"  fill(&{place}, sizeof {place});")

    def program(self):
        lines = ['#include <stdio.h>', '#include "run.h"', "static unsigned counter;"]
        lines.append("static void fill(void *at, size_t size) { for (size_t k = 0; k < size; k++) ((char *)at)[k] = 33 + counter++ % 64; }")
        lines += ["static struct head head;"]
        body = ['  FILE *file = fopen("run.dat", "wb");']
        self.fill("head", "struct head", body)
        body += [f"  head.n = {self.lengths['n']};", f"  head.m = {self.lengths['m']};", "  fwrite(&head, sizeof head, 1, file);"]
        for name, kind, dims in self.variables:
            shape = [self.length(dim) for dim in dims]
            if 0 in shape:
                continue
            lines.append(f"static {kind} {name}{''.join(f'[{length}]' for length in shape)};")
            for index in np.ndindex(*shape):
                self.fill(f"{name}{''.join(f'[{at}]' for at in index)}", kind, body)
            body.append(f"  fwrite(&{name}, sizeof {name}, 1, file);")
        return "\n".join([*lines, "int main(void) {", *body, "  return fclose(file);", "}", ""])

    def length(self, dim):
        """The length of a dimension. Suffixes of a length of 0 do not count in a layout, so a program has no elements then either."""
        name, more = dim[0], dim[1:]
        if name not in self.lengths:
            return int(dim)
        value = self.lengths[name]
        return value + int(more or 0) if value > 0 else 0


@unittest.skipUnless(all(map(shutil.which, TOOLS)), "there is no compiler of C, Fortran or Rust")
class RawPrograms(peer.Case):
    def test_raw_files_are_those_of_fwrite(self):
        seeds = range(SEED * 100_000, SEED * 100_000 + CASES)
        for start in range(0, CASES, BATCH):
            dumps = [Dump(seed, f"d{number}") for number, seed in enumerate(seeds[start : start + BATCH])]
            for dump in dumps:
                self.make(dump)
                self.check_command(dump)
                self.check_package(dump)
            self.check_generated(dumps)

    def make(self, dump):
        """Runs the program, and makes the layout of its header."""
        folder = self.folder / dump.name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        (folder / "run.h").write_text(dump.header())
        (folder / "run.c").write_text(dump.program())
        subprocess.run(["gcc", "-w", "-o", "run", "run.c"], cwd=folder, check=True, timeout=peer.TIME_LIMIT)
        subprocess.run(["./run"], cwd=folder, check=True, timeout=peer.TIME_LIMIT)
        dump.data, dump.layout = folder / "run.dat", folder / "run.dud"
        peer.trilith("layout", "new", folder / "run.h", "--length", "n=head.n", "--length", "m=head.m", "-o", dump.layout)
        dump.text = f"{dump.seed}: {dump.header()}\n{dump.layout.read_text()}\n{dump.lengths}"

    def check_command(self, dump):
        """Every item as .npy, and a file of them."""
        words, lengths = ["--layout", dump.layout, "--byteorder", "little"], dump.lengths
        items = peer.trilith_json("layout", "resolve", dump.layout, "--data", dump.data, "--byteorder", "little")["items"]
        columns = []
        for number, item in enumerate(items):
            name = item["path"].lstrip("/")
            if "value" in item and item["value"] is not None:
                continue
            target = dump.data.parent / f"{number}.npy"
            peer.trilith("get", f"{dump.data}#/{name}", *words, "-o", target)
            columns.append(f"{name}={target}")
        target = dump.data.parent / "command.dat"
        params = [f"{name}={value}" for name, value in lengths.items()]
        more = ["--from", *columns] if columns else []
        peer.trilith("layout", "write", dump.layout, target, "--raw", "--byteorder", "little", "--param", *params, *more)
        self.assertEqual(target.read_bytes(), dump.data.read_bytes(), dump.text)

    def check_package(self, dump):
        layout, values = trilith.Layout(dump.layout.read_text()), {}
        with trilith.open(dump.data, layout=layout, byteorder="little") as file:
            for name in file:
                values[name] = np.asarray(file[name][...]) if isinstance(file[name], trilith.Array) else file[name]
        target = dump.data.parent / "package.dat"
        layout.write(target, values, raw=True, byteorder="little")
        self.assertEqual(target.read_bytes(), dump.data.read_bytes(), dump.text)

    def check_generated(self, dumps):
        """A program of each language that reads all files and writes them."""
        for language in ("c", "fortran", "rust", "python"):
            for dump in dumps:
                extension = {"c": "h", "fortran": "f90", "rust": "rs", "python": "py"}[language]
                target = self.folder / f"{dump.name}.{extension}"
                words = ["--lang", language, "--raw", "--byteorder", "little", "-o", target, "--overwrite"]
                peer.trilith("layout", "code", dump.layout, *words)
            names = [dump.name for dump in dumps]
            for command in getattr(self, f"{language}_program")(names):
                ended = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=False, timeout=600)
                self.assertEqual(ended.returncode, 0, f"{language} {dumps[0].seed}: {ended.stdout}{ended.stderr}")
            for dump in dumps:
                found = (self.folder / f"{dump.name}.out").read_bytes()
                self.assertEqual(found, dump.data.read_bytes(), f"{language} {dump.text}")
                (self.folder / f"{dump.name}.out").unlink()

    def c_program(self, names):
        calls = "".join(
            f'  {{ struct {n} v; e = {n}_read("{n}/run.dat", &v); if (!e) e = {n}_write("{n}.out", &v); if (!e) {n}_free(&v); }}\n'
            "  if (e) { puts(e); return 1; }\n"
            for n in names
        )
        includes = "".join(f'#include "{name}.h"\n' for name in names)
        (self.folder / "main.c").write_text(f"{includes}int main(void) {{\n  const char *e;\n{calls}  return 0;\n}}\n")
        return [["gcc", "-w", "-o", "main.c.out", "main.c"], ["./main.c.out"]]

    def fortran_program(self, names):
        uses = "".join(f"  use {n}_layout, only: {n}_data, {n}_read, {n}_write\n" for n in names)
        types = "".join(f"  type({n}_data) :: v_{n}\n" for n in names)
        calls = "".join(
            f"  call {n}_read('{n}/run.dat', v_{n}, e)\n  if (e == '') call {n}_write('{n}.out', v_{n}, e)\n"
            f"  if (e /= '') then\n    print *, '{n}', e\n    stop 1\n  end if\n"
            for n in names
        )
        text = f"program main\n{uses}  implicit none\n{types}  character(len=80) :: e\n{calls}end program main\n"
        (self.folder / "main.f90").write_text(text)
        return [["gfortran", "-w", "-O0", "-o", "main.f.out", *(f"{name}.f90" for name in names), "main.f90"], ["./main.f.out"]]

    def rust_program(self, names):
        modules = "".join(f"mod {name};\n" for name in names)
        calls = "".join(f'    {n}::Content::read("{n}/run.dat")?.write("{n}.out")?;\n' for n in names)
        text = f"#![allow(warnings)]\n{modules}fn main() -> std::io::Result<()> {{\n{calls}    Ok(())\n}}\n"
        (self.folder / "main.rs").write_text(text)
        return [["rustc", "--edition", "2021", "-A", "warnings", "-o", "main.r.out", "main.rs"], ["./main.r.out"]]

    def python_program(self, names):
        calls = "".join(f"import {n}\n{n}.write('{n}.out', {n}.read('{n}/run.dat'))\n" for n in names)
        (self.folder / "main.py").write_text(calls)
        return [[sys.executable, "-B", "main.py"]]


if __name__ == "__main__":
    unittest.main()
