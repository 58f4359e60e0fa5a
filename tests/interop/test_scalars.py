"""Scalars of every spelling and tag through `set`, `insert` and `convert`, against Python asdf.

A value is written only if Python asdf opens the file and finds the same value. What it could not open is refused, or becomes a
string that is listed as a loss. Tier: rest.

`cargo xtask campaign scalars` takes 5,000 of them.
"""

import datetime
import io
import json
import math
import os
import pathlib
import random
import subprocess
import tempfile
import unittest

import asdf
from peer import PROGRAM, trilith, trilith_json

CASES = int(os.environ.get("TRILITH_CAMPAIGN", "60"))
SEED = int(os.environ.get("TRILITH_CAMPAIGN_SEED", "1"))
HEAD = "#ASDF 1.0.0\n#ASDF_STANDARD 1.6.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n--- !core/asdf-1.1.0\n"
TAGS = ["int", "float", "bool", "null", "str", "timestamp", "binary", "seq", "map", "set", "omap", "pairs"]
WORDS = ["yes", "No", "on", "OFF", "true", "tRUE", "null", "~", "=", "<<", "y", "nan", ".inf", "-.Inf", ".NaN", "maybe", "abc", "...", "---", "-", "?",
         "12x", "0b102", "0b11", "08", "017", "0x1F", "0xg", "1_000", "_1", "1e5", "1.5e+3", "1.2.3", "190:20:30", "1:60", "+", "'", '"', "it's",
         "aGVsbG8=", "aGVsbG8", "@@@", "x: y", "a #b", "[1", "{", "é", "a\tb", " ", "", "[1]", "[a, b]", "{a: 1}", "{a, b}", "[{a: 1}]",
         "{a: 1, a: 2}", "[1, [2]]", '"\\ud83d\\ude00"', '"\\x41"', "*x", "&x 1", "!!int", "!!str", "! 12", "! 2001-02-30"]  # fmt: skip


def number(pick):
    """A number in some spelling."""
    digits = str(pick.randrange(10 ** pick.choice([1, 3, 9, 18, 19])))
    return pick.choice(["", "-", "+"]) + pick.choice([digits, digits + ".", digits + ".5", "0" + digits, digits + "e3", digits + ".0e+03"])


def date(pick):
    """A date or a time, of which some do not exist."""
    day = f"{pick.choice([0, 1, 1900, 2000, 2001, 9999]):04}-{pick.randrange(14):02}-{pick.randrange(33):02}"
    if pick.random() < 0.4:
        return day
    time = f"{pick.randrange(26):02}:{pick.randrange(62):02}:{pick.randrange(62):02}"
    return day + pick.choice(["T", "t", " ", "  "]) + time + pick.choice(["", ".5", ".", ".123456789", "Z", " Z", "+1", "-05:30", "+24:00", "+23:59", ".5 -5"])


def scalar(pick):
    """One value as somebody types it."""
    text = pick.choice([number, date, lambda pick: pick.choice(WORDS), lambda pick: pick.choice(WORDS)])(pick)
    kind = pick.random()
    if kind < 0.4:
        return f"!!{pick.choice(TAGS)} {text}"
    if kind < 0.5:
        return f'!!{pick.choice(TAGS)} "{text}"' if '"' not in text and "\\" not in text else text
    if kind < 0.6:
        return json.dumps(text)
    return text


def plain(value):
    """A value of Python asdf as `tree --json` has it; None for what has a text of its own."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")
    # A string with a tag that Python asdf does not know is of a class of its own.
    return str(value) if isinstance(value, str) else value


def is_comparable(value):
    """Dates, bytes, sets and pairs are text or other collections in JSON."""
    if isinstance(value, dict):
        return not hasattr(value, "move_to_end") and all(is_comparable(item) for item in value.values())
    if isinstance(value, list):
        return all(is_comparable(item) for item in value)
    return value is None or isinstance(value, (bool, int, float, str))


class Scalars(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        pick = random.Random(SEED)
        self.values = [scalar(pick) for _ in range(CASES)]

    def written(self, command, place, value):
        """Sets or inserts a value: the tree if it is written; None if it is refused, and the file as before."""
        path = self.folder / "a.asdf"
        old = (HEAD + "l: [1]\n...\n").encode()
        path.write_bytes(old)
        ended = subprocess.run([PROGRAM, command, f"{path}#{place}", "--", value], capture_output=True, timeout=60, check=False)
        if ended.returncode != 0:
            self.assertIn(ended.returncode, (1, 2), (value, ended.stderr))
            self.assertEqual(path.read_bytes(), old, value)
            return None
        return path

    def test_set_and_insert_write_values_python_opens(self):
        for value in self.values:
            for command, place in [("set", "/k"), ("insert", "/l/-")]:
                path = self.written(command, place, value)
                if path is None:
                    continue
                with self.subTest(command=command, value=value):
                    with asdf.open(path) as file:
                        theirs = file.tree["k"] if command == "set" else file.tree["l"][-1]
                        ours = trilith_json("tree", path)
                        ours = ours["k"] if command == "set" else ours["l"][-1]
                        if is_comparable(theirs):
                            self.assertEqual(ours, plain(theirs))

    def test_refused_dates_do_not_exist(self):
        for value in self.values:
            if not value[:4].isdigit() or value[4:5] != "-":
                continue
            text = (HEAD + f"k: {value}\n...\n").encode()
            with self.subTest(value=value):
                try:
                    with asdf.open(io.BytesIO(text)) as file:
                        is_time = isinstance(file.tree["k"], (datetime.date, datetime.datetime))
                except ValueError:
                    self.assertIsNone(self.written("set", "/k", value))
                    continue
                if is_time:
                    self.assertIsNotNone(self.written("set", "/k", value))

    def test_converted_trees_open_in_python(self):
        for start in range(0, len(self.values), 50):
            lines = []
            for value in self.values[start : start + 50]:
                source = self.folder / "one.asdf"
                source.write_text(HEAD + f"k: {value}\n...\n", encoding="utf-8", newline="")
                # What is no YAML, or has keys that ASDF does not have, is another matter.
                ended = subprocess.run([PROGRAM, "tree", "--json", source], capture_output=True, timeout=60, check=False)
                if ended.returncode == 0 and "\n" not in value and b"neither a string" not in ended.stderr:
                    # PyYAML refuses two anchors of one name, which YAML 1.1 allows.
                    lines.append(f"k{len(lines)}: {value.replace('&x', f'&x{len(lines)}')}\n")
            source, target = self.folder / "all.asdf", self.folder / "out.asdf"
            source.write_text(HEAD + "".join(lines) + "...\n", encoding="utf-8", newline="")
            trilith("convert", source, target, "--to", "asdf-1.5", "--allow-loss")
            with self.subTest(lines=lines), asdf.open(target) as file:
                ours = trilith_json("tree", target)
                for key, theirs in file.tree.items():
                    if key.startswith("k") and is_comparable(theirs):
                        self.assertEqual(ours[key], plain(theirs), lines[int(key[1:])])


if __name__ == "__main__":
    unittest.main()
