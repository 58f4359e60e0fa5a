"""Random C headers: the compiler runs a program that writes its variables, and the layout has each in its place.

A header with a declaration that no layout expresses is refused, with exit status 1 and its name. Rest; `cargo xtask campaign headers`.
"""

import os
import random
import shutil
import subprocess
import unittest

import peer

CASES = int(os.environ.get("TRILITH_CAMPAIGN", "24"))
SEED = int(os.environ.get("TRILITH_CAMPAIGN_SEED", "1"))
KINDS = ["char", "signed char", "unsigned short", "int", "long", "unsigned long long", "float", "double", "_Bool", "int16_t", "uint64_t"]
KINDS += ["float _Complex", "double _Complex", "real", "enum small", "enum wide", "void *", "struct node *", "node_t *", "int_least32_t"]
#: Declarations that no layout expresses, each with the words that name it.
REFUSED = [
    ("struct bad {{ int a : 3; int b; }} {};", "a bit field"),
    ("union bad {{ int a; float b; }} {};", "a union"),
    ("long double {};", "long double"),
    ("__int128 {};", "__int128"),
    ("struct bad {{ int a; }} __attribute__((aligned(32))) {};", "aligned"),
    ("struct bad {{ struct {{ int a; }}; }} {};", "without a name"),
    ("struct bad {{ _Alignas(32) int a; }} {};", "_Alignas"),
    ("struct bad {{ void (*f)(int); }} {};", "pointer to a function"),
]


class Header:
    """A header, and the variables that its program writes."""

    def __init__(self, seed):
        self.chosen = random.Random(seed)
        self.number = 0
        is_double = self.chosen.random() < 0.5
        self.lines = ["#include <stdint.h>", "#define USE_DOUBLE" if is_double else "#undef USE_DOUBLE", "#ifdef USE_DOUBLE"]
        self.lines += ["typedef double real;", "#else", "typedef float real;", "#endif", "#define N 3", "#define M (N + 1)"]
        self.lines += ["enum small { A, B = -3 };", f"enum wide {{ C = {self.chosen.choice(['4000000000', '0x100000000', '7'])} }};"]
        # Declarations that are no part of the file.
        self.lines += ["struct node;", "typedef struct node node_t, *node_p;", "extern int elsewhere;", "union other;", "int count(void);"]
        self.kinds = list(KINDS)
        for _ in range(self.chosen.randint(1, 4)):
            self.struct()
        self.refused = None
        self.variables = [f"v{n}" for n in range(self.chosen.randint(1, 5))]
        at = self.chosen.randrange(4 * len(self.variables))
        self.lines.append("#ifdef LAYOUT")
        for number, name in enumerate(self.variables):
            if number == at:
                text, self.refused = self.chosen.choice(REFUSED)
                self.lines.append(text.format("bad_one"))
            self.lines.append(f"{self.chosen.choice(self.kinds)} {name}{self.shape()};")
        self.lines.append("#endif")

    def shape(self, more=()):
        return self.chosen.choice(["", "", "[N]", "[2][M]", "[N - 1]", *more])

    def struct(self):
        self.number += 1
        name = f"s{self.number}"
        members = " ".join(f"{self.chosen.choice(self.kinds)} m{n}{self.shape(['[0]'])};" for n in range(self.chosen.randint(1, 5)))
        form = self.chosen.randrange(8)
        packed = "__attribute__((packed))"
        if form == 0:
            self.lines.append(f"struct {packed} {name} {{ {members} }};")
        elif form == 1:
            self.lines.append(f"typedef struct {{ {members} }} {packed} {name}_t;")
            self.kinds.append(f"{name}_t")
            return
        elif form == 2:
            self.lines += [f"#pragma pack(push, {self.chosen.choice([1, 2, 4, 8])})", f"struct {name} {{ {members} }};", "#pragma pack(pop)"]
        elif form == 3:
            self.lines += [f"typedef struct {name} {name}_t;", f"struct {name} {{ {members} {name}_t *next; }};"]
            self.kinds.append(f"{name}_t")
        else:
            self.lines.append(f"struct {name} {{ {members} }};")
        self.kinds.append(f"struct {name}")


@unittest.skipUnless(shutil.which("gcc"), "there is no gcc")
class Programs(peer.Case):
    def test_headers_describe_what_programs_write(self):
        for seed in range(SEED * 100_000, SEED * 100_000 + CASES):
            header = Header(seed)
            path, layout = self.folder / "run.h", self.folder / "run.dud"
            path.write_text("\n".join(header.lines) + "\n")
            if header.refused is not None:
                ended = subprocess.run(
                    [peer.PROGRAM, "layout", "new", path, "-o", layout, "--overwrite"], capture_output=True, text=True, check=False
                )
                self.assertEqual(ended.returncode, 1, f"{seed}: {ended.stderr}")
                self.assertIn(header.refused, ended.stderr, seed)
                continue
            program = "#define LAYOUT\n#include <stdio.h>\n#include <string.h>\n#include \"run.h\"\nint main(void) {\n"
            program += '  FILE *file = fopen("run.dat", "wb");\n'
            for number, name in enumerate(header.variables):
                program += f"  memset(&{name}, {number + 1}, sizeof {name});\n  fwrite(&{name}, sizeof {name}, 1, file);\n"
                program += f'  printf("%zu\\n", sizeof {name});\n'
            (self.folder / "run.c").write_text(program + "  return fclose(file);\n}\n")
            subprocess.run(["gcc", "-w", "-o", "run", "run.c"], cwd=self.folder, check=True, timeout=peer.TIME_LIMIT)
            sizes = subprocess.run(["./run"], cwd=self.folder, check=True, capture_output=True, text=True).stdout.split()
            peer.trilith("layout", "new", path, "-o", layout, "--overwrite")
            items = peer.trilith_json("layout", "resolve", layout, "--byteorder", "little")["items"]
            found = [(item["path"], item["address"], item["nbytes"]) for item in items if item["path"].startswith("/v")]
            expected, at = [], 0
            for name, size in zip(header.variables, map(int, sizes)):
                expected.append((f"/{name}", at if size else None, size))
                at += size
            self.assertEqual(found, expected, f"{seed}: {path.read_text()}")
            self.assertEqual((self.folder / "run.dat").stat().st_size, at)
            peer.trilith("verify", self.folder / "run.dat", "--layout", layout, "--byteorder", "little")


if __name__ == "__main__":
    unittest.main()
