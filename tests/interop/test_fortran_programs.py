"""Random Fortran programs: gfortran compiles and runs each, and every value of its file is read under a layout.

The programs write scalars, arrays, strings and derived types of every kind, with records of unformatted files (markers of 4 and 8
bytes) or with stream access, in both byte orders. numpy makes the bytes that gfortran is expected to write. Rest;
`cargo xtask campaign fortran`.
"""

import os
import random
import shutil
import subprocess
import unittest

import numpy as np
import peer
import trilith

CASES = int(os.environ.get("TRILITH_CAMPAIGN", "12"))
SEED = int(os.environ.get("TRILITH_CAMPAIGN_SEED", "1"))
#: Declarations, with the type of numpy, and the one of the layout.
KINDS = [
    ("integer(int8)", "i1"),
    ("integer(int16)", "i2"),
    ("integer", "i4"),
    ("integer(8)", "i8"),
    ("real(real32)", "f4"),
    ("real(kind=real64)", "f8"),
    ("double precision", "f8"),
    ("complex", "c8"),
    ("complex(real64)", "c16"),
    ("logical", "i4"),
    ("logical(1)", "i1"),
    ("character(len=5)", "S5"),
    ("character", "S1"),
]


class Variable:
    """A variable of a program: its declaration, the statements that set it, and its values."""

    def __init__(self, chosen, name, types):
        self.name = name
        self.record = chosen.choice(types) if types and chosen.random() < 0.3 else None
        self.shape = tuple(chosen.choice([1, 2, 3]) for _ in range(chosen.choice([0, 0, 1, 1, 2, 3])))
        if self.record:
            self.declared, self.dtype, self.text = f"type({self.record.name})", self.record.dtype, self.record.text
        else:
            self.declared, self.text = chosen.choice(KINDS)
            self.dtype = np.dtype(self.text)
        # The first index of Fortran is the last one of numpy.
        self.values = np.zeros(self.shape[::-1], self.dtype)
        self.statements = []
        for index in np.ndindex(*self.shape):
            element = f"{name}({', '.join(str(at + 1) for at in index)})" if self.shape else name
            self.fill(chosen, element, self.declared, self.record, self.values, index[::-1])

    def fill(self, chosen, element, declared, record, values, index):
        if record:
            for member in record.members:
                for at in np.ndindex(*member.shape):
                    inner = f"({', '.join(str(n + 1) for n in at)})" if member.shape else ""
                    place = values[member.name][index] if member.shape else values[member.name]
                    where = at[::-1] if member.shape else index
                    self.fill(chosen, f"{element}%{member.name}{inner}", member.declared, None, place, where)
            return
        kind = declared.split("(")[0]
        number = chosen.randrange(-99, 100)
        if kind == "integer":
            text, value = f"{number}", number
        elif kind in ("real", "double precision"):
            text, value = f"{number / 4}", number / 4
        elif kind == "complex":
            text, value = f"({number / 4}, {-number / 2})", complex(number / 4, -number / 2)
        elif kind == "logical":
            text, value = (".true.", 1) if number > 0 else (".false.", 0)
        else:
            value = "".join(chosen.choice("abcXYZ 09") for _ in range(values.dtype.itemsize))
            text, value = f"'{value}'", value.encode()
        self.statements.append(f"  {element} = {text}")
        values[index] = value

    def declaration(self):
        shape = f", dimension({', '.join(map(str, self.shape))})" if self.shape else ""
        return f"  {self.declared}{shape} :: {self.name}"

    def layout(self, text):
        """The declaration of this item or member in a layout."""
        dims = [str(length) for length in self.shape[::-1]]
        if text.startswith("S"):
            dims.append(text[1:])
            text = "S1"
        return f"{self.name} = {text}" + (f"[{', '.join(dims)}]" if dims else "") + " %1"


class Record:
    """A derived type."""

    def __init__(self, chosen, name):
        self.name, self.members = name, []
        for number in range(chosen.randint(1, 4)):
            self.members.append(Variable(chosen, f"m{number}", []))
        # gfortran writes the components without padding.
        fields = [(member.name, member.dtype, member.shape[::-1]) for member in self.members]
        self.dtype = np.dtype(fields)
        self.text = "{ " + "  ".join(member.layout(member.text) for member in self.members) + " }"
        self.has_sequence = chosen.random() < 0.5

    def declaration(self):
        first = [f"type {self.name}"] + (["  sequence"] if self.has_sequence else [])
        return [*first, *(f"  {line.strip()}" for line in (member.declaration() for member in self.members)), f"end type {self.name}"]


class Program:
    """A program that writes one file."""

    def __init__(self, seed):
        chosen = random.Random(seed)
        self.is_stream = chosen.random() < 0.4
        self.marker = chosen.choice([4, 4, 4, 8])
        self.order = chosen.choice("<>")
        self.types = [Record(chosen, f"t{n}") for n in range(chosen.randint(0, 2))]
        self.records, number = [], 0
        for _ in range(chosen.randint(1, 4)):
            record = []
            # A record may be empty.
            for _ in range(chosen.choice([0, 1, 1, 2, 3])):
                record.append(Variable(chosen, f"v{number}", self.types))
                number += 1
            self.records.append(record)
        self.variables = [variable for record in self.records for variable in record]

    def source(self):
        lines = ["program main", "  use iso_fortran_env, only: int8, int16, real32, real64", "  implicit none"]
        for record in self.types:
            lines += record.declaration()
        lines += [variable.declaration() for variable in self.variables]
        access = "access='stream', form='unformatted'" if self.is_stream else "form='unformatted'"
        convert = "big_endian" if self.order == ">" else "little_endian"
        for variable in self.variables:
            lines += variable.statements
        lines.append(f"  open(unit=10, file='run.dat', {access}, convert='{convert}', status='replace')")
        for record in self.records:
            lines.append("  write(10) " + ", ".join(variable.name for variable in record))
        return "\n".join([*lines, "  close(10)", "end program main", ""])

    def stored(self, variable):
        """The values of a variable as they are in the file."""
        dtype = variable.dtype.newbyteorder(self.order)
        return variable.values.astype(dtype).tobytes()

    def expected(self):
        parts = []
        for record in self.records:
            content = b"".join(map(self.stored, record))
            length = np.array(len(content), f"{self.order}i{self.marker}").tobytes()
            parts += [content] if self.is_stream else [length, content, length]
        return b"".join(parts)

    def layout(self):
        lines = [self.order]
        for number, record in enumerate(self.records):
            items = [variable.layout(variable.text) for variable in record]
            marker = f"i{self.marker} %1"
            lines += items if self.is_stream else [f"_begin{number} = {marker}", *items, f"_end{number} = {marker}"]
        return "\n".join(lines) + "\n"


@unittest.skipUnless(shutil.which("gfortran"), "there is no gfortran")
class FortranPrograms(peer.Case):
    def test_layouts_read_what_programs_write(self):
        for seed in range(SEED * 100_000, SEED * 100_000 + CASES):
            program = Program(seed)
            (self.folder / "run.f90").write_text(program.source())
            words = ["gfortran", "-w", "-ffree-line-length-none", f"-frecord-marker={program.marker}", "-o", "run", "run.f90"]
            subprocess.run(words, cwd=self.folder, check=True, timeout=peer.TIME_LIMIT)
            subprocess.run(["./run"], cwd=self.folder, check=True, timeout=peer.TIME_LIMIT)
            path, layout = self.folder / "run.dat", self.folder / "run.dud"
            self.assertEqual(path.read_bytes(), program.expected(), f"{seed}: {program.source()}")
            layout.write_text(program.layout())
            self.assertIn("OK", peer.trilith("verify", path, "--layout", layout).decode(), seed)
            with trilith.open(path, layout=layout) as file:
                for variable in program.variables:
                    self.check_values(file[variable.name], variable.values, f"{seed}: {variable.name}")
            if not program.is_stream:
                self.check_records(program, path, seed)
            self.check_command(program, path, layout, seed)

    def check_values(self, found, expected, place):
        found = np.asarray(found[...] if isinstance(found, trilith.Array) else found)
        self.assertEqual(found.shape, expected.shape, place)
        if expected.dtype.names:
            for name in expected.dtype.names:
                self.check_values(found[name], expected[name], f"{place}.{name}")
            return
        if expected.dtype.kind == "S":
            found = np.char.encode(found, "latin1") if found.dtype.kind in "UT" else found
            expected, found = np.char.rstrip(expected), np.char.rstrip(found.astype(expected.dtype))
        np.testing.assert_array_equal(found, expected, place)

    def check_records(self, program, path, seed):
        """The records that Trilith finds without a layout."""
        if all(not record for record in program.records):
            return
        # A file without a layout of its name next to it.
        alone = shutil.copy(path, self.folder / "alone.dat")
        with trilith.open(alone) as file:
            found = [np.asarray(record[...]).tobytes() for record in file["records"]]
        expected = [b"".join(map(program.stored, record)) for record in program.records]
        self.assertEqual(found, expected, seed)

    def check_command(self, program, path, layout, seed):
        """One variable through the command."""
        numbers = [variable for variable in program.variables if variable.dtype.kind in "if"]
        for variable in numbers[:1]:
            target = self.folder / "out.npy"
            target.unlink(missing_ok=True)
            peer.trilith("get", f"{path}#/{variable.name}", "--layout", layout, "-o", target)
            np.testing.assert_array_equal(np.load(target), variable.values, f"{seed}: {variable.name}")


if __name__ == "__main__":
    unittest.main()
