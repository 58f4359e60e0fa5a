"""YAML at random against PyYAML's C loader, which Python asdf stands on.

A document is grown from a grammar: every style of scalar with chomping and indentation indicators, flow and block collections,
anchors and aliases, merge keys, complex keys, tags in each spelling, comments, blank lines, other line breaks, markers. What PyYAML
reads, `trilith tree --json` must say as well; what it refuses is left out.

Run by hand for more: python test_yaml.py [DOCUMENTS [SEED]]
"""

import collections
import json
import math
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("TRILITH_BIN", str(ROOT / "target/debug/trilith"))
CORE = "tag:yaml.org,2002:"

PLAIN = ["a", "some text", "x:y", "it's", "a#b", "-x", "?x", ":x", "é µ", "http://a.b/c?d=e#f", "1", "-12", "017", "08", "0o17", "0x1F", "0b11",
         "1_000", "190:20:30", "-190:20:30.5", "1.5", "-.5", "+.5", "5.", ".5", "1e3", "1.0e3", "1.0e+3", "1e+3", "-1.5e-3", ".inf", "-.Inf", ".NaN",
         "nan", "true", "True", "TRUE", "tRUE", "yes", "No", "on", "OFF", "y", "n", "Y", "~", "null", "Null", "NULL", "nULL", "2001-12-14",
         "2001-12-14t21:59:43.10-05:00", "2001-12-14 21:59:43", "2001-1-1", "=", "1__0", "_1", "0_7", "+5", "-0", "-0.0", "9223372036854775808",
         "-9223372036854775809", "123456789012345678901234567890", "0x", "0b", "1:60", "12:30", "00", "0.", "1.2.3", "1,5", "@a"[1:], "a,b", "[a"[1:],
         "...a", "--- a"[4:], "e1", "1e", "0xg", "1.e+1", "._5", "+", "-.", ".", "1_0.5_0", "0:0", "1:2:3:4", "1:30.", "0x1_F", "-0x1F", "-0b1", "-017",
         "+0x1", "0b1_1", "_", "1_", "-1_0", "685_230.15", "0.1_5", "6.8523015e+5", "685.230_15e+03", "2001-12-14T", "01-01-2001", "12e03"]  # fmt: skip
QUOTED = ["", "a", "a b", "it''s", " lead", "trail ", "a: b", "# no", "- x", "[1]", "é", "12", "~"]
DOUBLE = ["", "a", "\\n", "\\t\\\\\\\"", "\\x41\\u00e9\\U0001F600", "a\\/b"[:1], "\\0\\a\\b\\e\\f\\v\\r", "\\N\\_\\L\\P", " x ", "\\ x", "#"]
TAGS = ["!!str ", "!!int ", "!!float ", "!local ", "!<tag:x.org,1:y> ", "!e!thing ", "!<tag:yaml.org,2002:str> ", "!e!a%21b ", "! "]
LINES = ["text", "more text", "a: b", "- c", "# no comment", "'q'", "é", "1", "x  y", "...x", "-", "{", "end "]


class Grower:
    """One random document."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.anchors = []
        self.made = 0
        self.budget = self.random.choice([3, 10, 30])

    def pick(self, many):
        return self.random.choice(many)

    def chance(self, of):
        return self.random.random() < of

    def gap(self):
        return " " * self.pick([1, 1, 1, 2, 3])

    def comment(self):
        return self.pick(["  # c", " # it's: [x", "\t# c"]) if self.chance(0.08) else ""

    def lines(self):
        """Blank lines and comments between others."""
        if not self.chance(0.12):
            return ""
        return self.pick(["\n", "\n\n", "# c\n", "   # c\n", "  \n", "#\n", "\t\n"])

    def properties(self):
        found = ""
        if self.chance(0.08):
            self.made += 1
            self.anchors.append(f"a{self.made}")
            found += f"&a{self.made} "
        return found

    def tag(self):
        return self.pick(TAGS) if self.chance(0.06) else ""

    def quoted(self, indent, one_line):
        kind = self.random.random()
        if kind < 0.5:
            parts, quote = [self.pick(QUOTED) for _ in range(self.pick([1, 1, 2, 3]))], "'"
        else:
            parts, quote = [self.pick(DOUBLE) for _ in range(self.pick([1, 1, 2, 3]))], '"'
        if one_line:
            return quote + " ".join(parts) + quote
        pad = " " * (indent + self.pick([0, 1, 2]))
        glue = self.pick([" ", "\n" + pad, "\n\n" + pad, "  \n" + pad])
        if quote == '"':
            glue = self.pick([glue, "\\\n" + pad, " \\\n" + pad + "\\ "])
        return quote + glue.join(parts) + quote

    def block_scalar(self, indent):
        """`|` or `>` with header and lines; `indent` is that of the lines."""
        chomp = self.pick(["", "-", "+"])
        first = ""
        step = self.pick([0, 0, 1, 2])
        if self.chance(0.25) and 1 <= self.relative <= 9:
            lead = self.pick(["", " ", "  "])
            head = self.pick([f"{self.relative}{chomp}", f"{chomp}{self.relative}"])
            pad, first = " " * indent, lead
        else:
            head, pad = chomp, " " * (indent + step)
        body = []
        for at in range(self.pick([0, 1, 2, 3, 4])):
            kind = self.random.random()
            if kind < 0.2:
                body.append(self.pick(["", "", pad]))
            elif kind < 0.35 and at > 0:
                body.append(pad + " " * self.pick([1, 2]) + self.pick(LINES))
            else:
                body.append(pad + (first if at == 0 else "") + self.pick(LINES))
        tail = self.pick([[], [], [""], ["", ""]])
        return self.pick("|>") + head + self.pick(["", "", " # c", " "]) + "\n" + "\n".join([*body, *tail]) + ("\n" if body or tail else "")

    def scalar_inline(self, indent, flow, one_line=False):
        kind = self.random.random()
        if kind < 0.08 and self.anchors and not one_line:
            return "*" + self.pick(self.anchors) + " "
        if kind < 0.65:
            text = self.pick(PLAIN)
            if flow:
                text = text.replace(",", ".").replace("?x", "x").replace(":x", "x")
                text = text.replace("-x", "x") if one_line else text
            elif not one_line and self.chance(0.1):
                pad = " " * (indent + self.pick([0, 1, 3]))
                text = "some" + self.pick(["\n", "\n\n", " \n"]) + pad + self.pick(["words", "'x", "#y"[1:], "[z"]) + self.pick(["", "\n" + pad + "more"])
            return text
        return self.quoted(indent, one_line)

    def flow(self, indent, depth):
        """A node within brackets, or a scalar."""
        self.budget -= 1
        if depth <= 0 or self.budget <= 0 or self.chance(0.5):
            if self.chance(0.04):
                return ""
            return self.properties() + self.tag() + self.scalar_inline(indent, True)
        pad = "\n" + " " * (indent + self.pick([0, 1]))
        space = lambda: self.pick(["", " ", " ", " ", pad, " # c" + pad])  # noqa: E731
        anchor = self.properties()
        count = self.pick([0, 1, 2, 3])
        items = []
        if self.chance(0.5):
            for _ in range(count):
                item = self.flow(indent, depth - 1)
                if self.chance(0.1):
                    item = f"{self.scalar_inline(indent, True, True)}: {item}"
                items.append((item or "x") + space())
            tail = "," if items and self.chance(0.15) else ""
            return f"{anchor}[{space()}{(',' + space()).join(items)}{tail}]"
        for _ in range(count):
            key = self.key(True, indent)
            value = self.flow(indent, depth - 1)
            items.append(self.pick([f"{key}: {value}", f"{key}: {value}", f"{key} : {value}", f"? {key} : {value}", f"{key}:{pad}{value}"]) + space())
        return f"{anchor}{{{space()}{(', ' + space()).join(items)}}}"

    def key(self, flow, indent):
        if self.chance(0.04) and self.anchors:
            return f"<<: *{self.pick(self.anchors)} , k{self.made}" if flow else "<<"
        if self.chance(0.5):
            self.made += 1
            return f"k{self.made}"
        text = self.scalar_inline(indent, flow, True)
        return (self.properties() if self.chance(0.3) else "") + (text or "k")

    def block(self, indent, depth, relative):
        """Lines of a node that starts on a line of its own; each ends with a break."""
        self.budget -= 1
        if depth <= 0 or self.budget <= 0:
            return " " * indent + self.scalar_inline(indent, False) + self.comment() + "\n"
        out = []
        step = self.pick([1, 2, 2, 2, 4])
        count = self.pick([1, 1, 2, 3, 4])
        pad = " " * indent
        if self.chance(0.4):
            for _ in range(count):
                out.append(self.lines() + pad + "-" + self.after(indent, step, depth, False))
        else:
            for _ in range(count):
                if self.chance(0.06):
                    inner = indent + 2
                    complex_key = self.pick([f"? {self.flow(inner, 1) or 'k'}\n", f"? - a\n{pad}  - b\n", f"? |\n{pad}  lines\n", f"? k{self.made}\n"])
                    out.append(pad + complex_key + pad + ":" + self.after(indent, step, depth, True))
                    continue
                key = self.key(False, indent)
                if key == "<<":
                    value = self.pick([f" *{self.pick(self.anchors)}", " {m1: 1, k1: 2}", f" [{{m2: 1}}, *{self.pick(self.anchors)}]"])
                    out.append(f"{pad}<<:{value}\n")
                else:
                    out.append(self.lines() + pad + key + self.pick(["", "", "", " "]) + ":" + self.after(indent, step, depth, True))
        return "".join(out)

    def after(self, indent, step, depth, mapping):
        """What follows a dash or a colon, up to the end of its last line."""
        kind = self.random.random()
        inner = indent + step
        if kind < 0.06:
            return self.comment() + "\n"
        if kind < 0.45:
            text = self.gap() + self.properties() + self.tag() + self.scalar_inline(inner, False)
            return text + ("" if "\n" in text else self.comment()) + "\n"
        if kind < 0.6:
            return self.gap() + self.properties() + self.flow(inner, 3) + self.comment() + "\n"
        if kind < 0.72:
            self.relative = step
            return self.gap() + self.tag() + self.block_scalar(inner)
        properties = self.properties() + (self.pick(["!local ", "!e!thing ", ""]) if self.chance(0.1) else "")
        if kind < 0.8 and not mapping and not properties:
            # The collection begins on the line of the dash.
            return " " * (step - 1 or 1) + self.block(indent + 1 + (step - 1 or 1), depth - 1, step).lstrip(" ")
        if mapping and self.chance(0.3):
            block = self.block(indent, depth - 1, 0)
            if block.lstrip().startswith("- "):
                return " " + properties + "\n" + block
            inner = indent + step
        return (" " + properties if properties else "") + self.comment() + "\n" + self.block(inner, depth - 1, step)

    def document(self):
        self.relative = 1
        head = self.pick(["", "", "%YAML 1.1\n"])
        head += "%TAG !e! tag:example.org,2000:\n"
        kind = self.random.random()
        if kind < 0.8:
            body = "---" + self.pick(["\n", "\n", " # c\n", " !local\n"]) + self.block(0, 4, 2)
        elif kind < 0.9:
            body = "--- " + self.flow(1, 4) + "\n"
        else:
            body = "--- " + self.block_scalar(1)
        end = self.pick(["...\n", "...\n", "", "... # c\n"])
        if end and not body.endswith("\n"):
            body += "\n"
        text = head + body + end
        if self.chance(0.1):
            text = text.replace("\n", "\r\n")
        elif self.chance(0.03):
            text = text.replace("\n", "\r")
        if self.chance(0.03):
            text = "\ufeff" + text
        return text


# ---- what PyYAML says --------------------------------------------------------------------------------


class Refused(Exception):
    """PyYAML, or a rule of the output, refuses the document."""


class Reader(yaml.SafeLoader.__mro__[0] if not hasattr(yaml, "CSafeLoader") else yaml.CSafeLoader):
    """Composes and resolves, and builds what `tree --json` prints."""


MAKERS = {
    "null": lambda loader, node: None,
    "bool": Reader.construct_yaml_bool,
    "int": Reader.construct_yaml_int,
    "float": Reader.construct_yaml_float,
}


def named(key):
    """A key as JSON has it: a null key is null, however it is written."""
    return "null" if key.tag == CORE + "null" else key.value


def said(loader, node, inside):
    """The node as `tree --json` has it."""
    if id(node) in inside:
        return ("cycle",)
    tag = node.tag.removeprefix(CORE) if node.tag.startswith(CORE) else None
    if isinstance(node, yaml.ScalarNode):
        try:
            value = MAKERS[tag](loader, node) if tag in MAKERS else node.value
        except (ValueError, LookupError, yaml.YAMLError) as error:
            raise Refused("a scalar that does not fit its tag") from error
        return value
    inside = inside | {id(node)}
    if isinstance(node, yaml.SequenceNode):
        return [said(loader, item, inside) for item in node.value]
    own = [named(key) if isinstance(key, yaml.ScalarNode) else repr(said(loader, key, inside)) for key, _ in node.value]
    if len(set(own)) != len(own) and not hasattr(node, "merge"):
        raise Refused("two keys with the same text")
    loader.flatten_mapping(node)
    found, texts = {}, {}
    for key, value in node.value:
        text = named(key) if isinstance(key, yaml.ScalarNode) else None
        if text is None:
            text = ("complex", repr(said(loader, key, inside)))
        identity = (key.tag, said(loader, key, inside)) if isinstance(key, yaml.ScalarNode) else text
        if texts.setdefault(text, repr(identity)) != repr(identity):
            raise Refused("two keys with the same text")
        found[text] = said(loader, value, inside)
    # Numbers that are one key to Python and two texts to us.
    values = [repr(identity) for identity in texts.values()]
    if len(set(values)) != len(values):
        raise Refused("one key in two spellings")
    return found


def theirs(text):
    loader = Reader(text)
    try:
        node = loader.get_single_node()
        return None if node is None else said(loader, node, frozenset())
    except (yaml.YAMLError, RecursionError, UnicodeError) as error:
        raise Refused(str(error)) from error
    finally:
        loader.dispose()


def ours(text, path):
    path.write_bytes(b"#ASDF 1.0.0\n" + text.encode())
    ended = subprocess.run([PROGRAM, "tree", "--json", "--quiet", str(path)], capture_output=True, check=False)
    if ended.returncode:
        return None, ended.stderr.decode()
    return json.loads(ended.stdout), ""


def same(mine, other):
    """Whether our JSON says what PyYAML's value is, in the same order."""
    if isinstance(other, tuple):
        return isinstance(mine, dict) and list(mine) == ["$ref"]
    if isinstance(other, dict):
        if not isinstance(mine, dict) or len(mine) != len(other):
            return False
        for (name, value), (key, wanted) in zip(mine.items(), other.items(), strict=True):
            if (not isinstance(key, tuple) and name != key) or not same(value, wanted):
                return False
        return True
    if isinstance(other, list):
        return isinstance(mine, list) and len(mine) == len(other) and all(same(a, b) for a, b in zip(mine, other, strict=True))
    if isinstance(other, float):
        if not math.isfinite(other):
            return mine == ("NaN" if math.isnan(other) else "Infinity" if other > 0 else "-Infinity")
        return isinstance(mine, float) and repr(mine) == repr(other)
    return type(mine) is type(other) and mine == other


def differences(seeds):
    """Counts, and each document that the two read differently: seed, text, what they said."""
    counts, found = collections.Counter(), []
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "t.asdf"
        for seed in seeds:
            text = Grower(seed).document()
            # The bytes of a file are given to both as they are.
            try:
                wanted = theirs(text.encode())
            except Refused as refusal:
                counts["left out" if "key" in str(refusal) else "refused"] += 1
                continue
            mine, problem = ours(text, path)
            if mine is None and problem:
                counts["refused by us"] += 1
                found.append((seed, text, wanted, problem))
            elif not same(mine, wanted):
                counts["different"] += 1
                found.append((seed, text, wanted, mine))
            else:
                counts["same"] += 1
    return counts, found


# ---- edits -------------------------------------------------------------------------------------------

VALUES = [("new", "new"), ("5", 5), ("'5'", "5"), ("[1, {a: x}]", [1, {"a": "x"}]), ("{k: 1.5, l: [true]}", {"k": 1.5, "l": [True]}),
          ("~", None), ("'a: b #c'", "a: b #c"), ('"two\\nlines"', "two\nlines"), ("1e3", "1e3"), ("[]", []), ("{}", {}), ("''", "")]  # fmt: skip


def places(value, path=()):
    """Every collection of a value with its path: keys that are text only, so that a path is clear."""
    if isinstance(value, dict):
        yield path, value
        for key, item in value.items():
            # A path names a null key by its text, which may be another.
            if isinstance(key, str) and key != "null":
                yield from places(item, (*path, key))
    elif isinstance(value, list):
        yield path, value
        for at, item in enumerate(value):
            yield from places(item, (*path, str(at)))


def pointer(path):
    return "".join("/" + key.replace("~", "~0").replace("/", "~1") for key in path)


def edited(value, rng):
    """One edit at random: the command's words, with the value changed in the same way."""
    path, place = rng.choice(list(places(value)))
    kind = rng.choice(["set", "set", "delete", "insert", "rename", "append"])
    yaml_text, new = rng.choice(VALUES)
    names = [key for key in place if isinstance(key, str) and key != "null"] if isinstance(place, dict) else []
    if isinstance(place, dict):
        if kind in ("insert", "append") or not names:
            if "new key" in place:
                return None
            place["new key"] = new
            return ["insert", pointer((*path, "new key")), yaml_text]
        name = rng.choice(names)
        where = pointer((*path, name))
        if kind == "set":
            place[name] = new
            return ["set", where, yaml_text]
        if kind == "delete":
            del place[name]
            return ["delete", where]
        other = rng.choice(["renamed", "re: named", "7 #", "é"])
        if other in place:
            return None
        pairs = [(other if key == name else key, item) for key, item in place.items()]
        place.clear()
        place.update(pairs)
        return ["rename", where, other]
    if kind in ("append", "rename") or not place:
        place.append(new)
        return ["insert", pointer((*path, "-")), yaml_text]
    at = rng.randrange(len(place))
    where = pointer((*path, str(at)))
    if kind == "set":
        place[at] = new
        return ["set", where, yaml_text]
    if kind == "delete":
        del place[at]
        return ["delete", where]
    place.insert(at, new)
    return ["insert", where, yaml_text]


def plain(text):
    """Whether edits of a document change one place only, and the value of a node is what is set."""
    return not any(mark in text for mark in ("*a", "<<", "!"))


def edits(seeds):
    """As `differences`, with one edit by the command in between: PyYAML reads the result.

    In a document with aliases, merge keys and tags an edit may change more than one place, or be refused, so only the text that it
    leaves is judged.
    """
    counts, found = collections.Counter(), []
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "t.asdf"
        for seed in seeds:
            text = Grower(seed).document()
            if "\ufeff" in text:
                # Behind the first line of a file it is no byte order mark.
                continue
            is_plain = plain(text.split("---", 1)[1])
            try:
                value = theirs(text.encode())
            except Refused:
                continue
            if not isinstance(value, (dict, list)):
                continue
            try:
                words = edited(value, random.Random(seed))
            except RecursionError:
                continue
            if words is None or "\0" in words[1]:
                continue
            path.write_bytes(b"#ASDF 1.0.0\n" + text.encode())
            # The values are YAML 1.1, as PyYAML reads them.
            as_yaml = ["--yaml"] if words[0] in ("set", "insert") else []
            command = [PROGRAM, words[0], *as_yaml, f"{path}#{words[1]}", *words[2:]]
            ended = subprocess.run(command, capture_output=True, check=False)
            after = path.read_bytes().removeprefix(b"#ASDF 1.0.0\n")
            try:
                read = theirs(after)
            except Refused as refusal:
                read = ("refused", str(refusal))
            counts[words[0]] += 1
            if not is_plain:
                counts["refused" if ended.returncode else "with aliases or tags"] += 1
                is_wrong = isinstance(read, tuple) or ended.returncode not in (0, 1, 2)
            else:
                is_wrong = ended.returncode or not alike(read, value)
            if is_wrong:
                counts["different"] += 1
                found.append((seed, f"{text}\n-> {words}\n{ended.stderr.decode()}{after.decode()}", value, read))
    return counts, found


def alike(a, b):
    """Equal, NaN too, in the same order."""
    if isinstance(a, dict) and isinstance(b, dict):
        return list(a) == list(b) and all(alike(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(alike, a, b))
    return repr(a) == repr(b)


class Yaml(unittest.TestCase):
    def test_edits_at_random(self):
        counts, found = edits(range(2500))
        print(f"YAML edited at random: {dict(counts)}", file=sys.stderr)
        shown = "\n".join(f"seed {seed}\n{text}\nwanted: {wanted!r}\nPyYAML: {read!r}" for seed, text, wanted, read in found[:3])
        self.assertEqual(len(found), 0, f"{dict(counts)}\n{shown}")
        self.assertGreater(sum(counts[kind] for kind in ("set", "insert", "delete", "rename")), 1000)
        self.assertGreater(counts["with aliases or tags"], 100)

    def test_documents_at_random(self):
        counts, found = differences(range(1000))
        print(f"YAML at random: {dict(counts)}", file=sys.stderr)
        shown = "\n".join(f"seed {seed}\n{text}\nPyYAML: {wanted!r}\nours: {mine!r}" for seed, text, wanted, mine in found[:3])
        self.assertEqual(len(found), 0, f"{dict(counts)}\n{shown}")
        self.assertGreater(counts["same"], 500)


if __name__ == "__main__":
    MANY, START = (int(word) for word in [*sys.argv[1:], "1000", "0"][:2]) if len(sys.argv) > 2 else (int([*sys.argv[1:], "1000"][0]), 0)
    tally, differ = differences(range(START, START + MANY))
    for seed, text, wanted, mine in differ[:20]:
        print(f"---------- seed {seed}\n{text!r}\n{text}\nPyYAML: {wanted!r}\nours:   {mine!r}")
    print(dict(tally))
    tally, differ = edits(range(START, START + MANY))
    for seed, text, wanted, read in differ[:20]:
        print(f"---------- seed {seed}\n{text}\nwanted: {wanted!r}\nPyYAML: {read!r}")
    print(dict(tally))
