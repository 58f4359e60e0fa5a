"""Random edits of trees with anchors: names and objects are those of Python, in which a change of one name leaves the others.

PyYAML reads the tree after each edit. `cargo xtask campaign anchors --cases 2000` makes more edits than the default.
"""

import copy
import os
import random
import struct
import subprocess
import unittest

import numpy as np
import peer
import yaml

EDITS = int(os.environ.get("TRILITH_CAMPAIGN", "120"))
SEED = int(os.environ.get("TRILITH_CAMPAIGN_SEED", "1"))
EDITS_OF_FILE = 5
ARRAY_TAG = "!core/ndarray-1.1.0"
SHARED = "the change is in all of them"


class Map:
    """A mapping: its pairs, and the mappings that it merges."""

    def __init__(self, pairs=(), merged=()):
        self.pairs, self.merged = dict(pairs), list(merged)

    def get(self, key):
        if key in self.pairs:
            return self.pairs[key]
        return next((base.get(key) for base in self.merged if base.has(key)), None)

    def has(self, key):
        return key in self.pairs or self.is_merged(key)

    def is_merged(self, key):
        return any(base.has(key) for base in self.merged)

    def keys(self):
        return [*self.pairs, *{key for base in self.merged for key in base.keys() if key not in self.pairs}]


class Array:
    """An array whose elements are one number."""

    def __init__(self, number):
        self.number = number


class Document:
    """A random tree in which objects have several names."""

    def __init__(self, dice):
        self.dice, self.pool, self.arrays = dice, [], 0
        self.root = Map({f"k{n}": self.node(0) for n in range(dice.randint(3, 6))})

    def node(self, depth):
        dice = self.dice
        if self.pool and dice.random() < 0.45:
            return dice.choice(self.pool)
        kind = dice.randrange(10) if depth < 3 else dice.randrange(4)
        if kind < 3:
            made = dice.choice([dice.randint(-9, 99), f"text {dice.randint(0, 99)}", True, None, 2.5])
            # Scalars have names of their own in YAML alone: PyYAML gives equal ones.
            return made
        if kind == 3:
            self.arrays += 1
            made = Array(self.arrays)
        elif kind < 6:
            made = [self.node(depth + 1) for _ in range(dice.randint(0, 3))]
        else:
            bases = [node for node in self.pool if isinstance(node, Map)]
            merged = dice.sample(bases, min(len(bases), dice.randint(1, 2))) if bases and dice.random() < 0.4 else []
            made = Map({f"m{dice.randrange(6)}": self.node(depth + 1) for _ in range(dice.randint(0, 3))}, merged)
        self.pool.append(made)
        return made

    def text(self):
        return Printer(self).text()


class Printer:
    """Prints a document: the first place of an object has the anchor, the others are aliases."""

    def __init__(self, document):
        self.dice, self.counts, self.names, self.blocks = document.dice, {}, {}, []
        self.root = document.root
        self.count(self.root)

    def count(self, node):
        if isinstance(node, (Map, list, Array)):
            self.counts[id(node)] = self.counts.get(id(node), 0) + 1
            if self.counts[id(node)] == 1:
                for child in children(node):
                    self.count(child)

    def text(self):
        return self.block(self.root, 0).lstrip("\n")

    def head(self, node):
        """The alias of an object that is printed already, else None and the anchor that it gets."""
        if not isinstance(node, (Map, list, Array)) or self.counts[id(node)] < 2:
            return None, ""
        if id(node) in self.names:
            return "*" + self.names[id(node)], ""
        self.names[id(node)] = f"id{len(self.names):03}"
        return None, f"&{self.names[id(node)]} "

    def block(self, node, indent):
        """What follows a key or a dash: ` value`, or lines."""
        if not isinstance(node, (Map, list)) or (self.dice.random() < 0.3 and indent):
            return " " + self.flow(node)
        alias, anchor = self.head(node)
        if alias:
            return " " + alias
        pad = " " * indent
        lines = []
        if isinstance(node, list):
            lines = [f"{pad}-{self.block(item, indent + 2)}" for item in node]
        else:
            lines = [f"{pad}<<: {self.merged(node)}"] if node.merged else []
            lines += [f"{pad}{key}:{self.block(value, indent + 2)}" for key, value in node.pairs.items()]
        if not lines:
            return f" {anchor}{'[]' if isinstance(node, list) else '{}'}"
        return (f" {anchor}".rstrip() if anchor else "") + "\n" + "\n".join(lines)

    def merged(self, node):
        texts = [self.flow(base) for base in node.merged]
        return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"

    def flow(self, node):
        alias, anchor = self.head(node)
        if alias:
            return alias
        if isinstance(node, Array):
            self.blocks.append(node.number)
            source = len(self.blocks) - 1
            return f"{anchor}{ARRAY_TAG} {{source: {source}, datatype: int64, byteorder: little, shape: [2]}}"
        if isinstance(node, list):
            return f"{anchor}[{', '.join(self.flow(item) for item in node)}]"
        if isinstance(node, Map):
            parts = [f"<<: {self.merged(node)}"] if node.merged else []
            parts += [f"{key}: {self.flow(value)}" for key, value in node.pairs.items()]
            return f"{anchor}{{{', '.join(parts)}}}"
        return "null" if node is None else str(node).lower()


def children(node):
    if isinstance(node, Map):
        return [*node.merged, *node.pairs.values()]
    return node if isinstance(node, list) else []


def file_bytes(document):
    printer = Printer(document)
    text = printer.text()
    head = f"#ASDF 1.0.0\n#ASDF_STANDARD 1.6.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n--- !core/asdf-1.1.0\n{text}\n...\n"
    return head.encode() + b"".join(block(number) for number in printer.blocks)


def block(number):
    data = struct.pack("<qq", number, number)
    sizes = struct.pack(">QQQ", *[len(data)] * 3)
    return b"\xd3BLK\0\x30" + bytes(8) + sizes + bytes(16) + data


def blocks_of(content):
    """The number in each block of a file."""
    at, numbers = content.index(b"\n...\n") + 5, []
    while (at := content.find(b"\xd3BLK", at)) >= 0:
        size, = struct.unpack(">H", content[at + 4 : at + 6])
        allocated, used = struct.unpack(">QQ", content[at + 14 : at + 30])
        data = at + 6 + size
        numbers.append(struct.unpack("<q", content[data : data + 8])[0] if used else None)
        at = data + allocated
    return numbers


def composed(content):
    """The tree of a file as objects, by PyYAML: one node is one object."""
    text = content[content.index(b"%YAML") : content.index(b"\n...\n") + 5].decode()
    blocks, made = blocks_of(content), {}

    def build(node):
        if isinstance(node, yaml.ScalarNode):
            return yaml.SafeLoader("").construct_object(node)
        if id(node) in made:
            return made[id(node)]
        if isinstance(node, yaml.SequenceNode):
            made[id(node)] = result = []
            result.extend(build(item) for item in node.value)
            return result
        if node.tag.endswith("ndarray-1.1.0"):
            source = next(int(value.value) for key, value in node.value if key.value == "source")
            made[id(node)] = Array(blocks[source])
            return made[id(node)]
        made[id(node)] = result = Map()
        for key, value in node.value:
            if key.value == "<<":
                result.merged = [build(base) for base in (value.value if isinstance(value, yaml.SequenceNode) else [value])]
            else:
                result.pairs[key.value] = build(value)
        return result

    return build(yaml.compose(text, Loader=yaml.SafeLoader))


def canonical(root):
    """A text that is equal for two graphs if and only if they are: values, names, and which objects are one."""
    numbers, out = {}, []

    def visit(node):
        if not isinstance(node, (Map, list, Array)):
            out.append(repr(node))
            return
        if id(node) in numbers:
            out.append(f"*{numbers[id(node)]}")
            return
        numbers[id(node)] = len(numbers)
        out.append(f"&{numbers[id(node)]}")
        if isinstance(node, Array):
            out.append(f"array {node.number}")
        elif isinstance(node, list):
            out.append("[")
            for item in node:
                visit(item)
            out.append("]")
        else:
            out.append("{")
            for base in node.merged:
                out.append("<<")
                visit(base)
            for key in sorted(node.pairs):
                out.append(key)
                visit(node.pairs[key])
            out.append("}")

    visit(root)
    return " ".join(out)


def path_count(root, target):
    """Number of paths to an object, merges included."""
    found = 0
    stack = [root]
    while stack:
        node = stack.pop()
        found += node is target
        stack.extend(child for child in children(node) if isinstance(child, (Map, list)))
    return found


def pick(dice, root):
    """A path, and the container at its end."""
    path, node = "", root
    while dice.random() < 0.75:
        names = node.keys() if isinstance(node, Map) else range(len(node))
        inner = [name for name in names if isinstance(node.get(name) if isinstance(node, Map) else node[name], (Map, list))]
        if not inner:
            break
        name = dice.choice(inner)
        path, node = f"{path}/{name}", node.get(name) if isinstance(node, Map) else node[name]
    return path, node


class Refused(Exception):
    pass


class Edit:
    """A random edit: the words of the command, and the same in Python."""

    def __init__(self, dice, root, number):
        self.path, self.parent = pick(dice, root)
        self.number = number
        names = self.parent.keys() if isinstance(self.parent, Map) else list(range(len(self.parent)))
        self.name = dice.choice(names) if names else None
        self.kind = dice.choice(["set", "set", "array", "rm", "rm", "mv", "insert"]) if names else "insert"
        self.value = dice.choice([7, "word", [1, 2], {"x": 1, "y": [2]}])
        self.in_place = dice.random() < 0.3

    def words(self, file):
        inplace = ["--in-place"] if self.in_place else []
        item = f"{file}#{self.path}/{self.name}"
        if self.kind == "insert":
            new = "-" if isinstance(self.parent, list) else "new"
            return ["insert", f"{file}#{self.path}/{new}", flow_text(self.value), *inplace]
        if self.kind == "set":
            return ["set", item, flow_text(self.value), "--replace", *inplace]
        if self.kind == "array":
            return ["set", item, "--from", str(file.parent / "new.npy"), *inplace]
        return [self.kind, item, *(["renamed"] if self.kind == "mv" else []), *inplace]

    def apply(self):
        parent, name = self.parent, self.name
        if self.kind == "insert":
            if isinstance(parent, list):
                parent.append(as_model(self.value))
            elif "new" in parent.pairs:
                raise Refused
            else:
                parent.pairs["new"] = as_model(self.value)
            return
        if self.kind in ("set", "array"):
            value = Array(self.number) if self.kind == "array" else as_model(self.value)
            (parent.pairs if isinstance(parent, Map) else parent)[name] = value
            return
        if isinstance(parent, Map) and (name not in parent.pairs or parent.is_merged(name)):
            raise Refused
        if self.kind == "rm":
            del (parent.pairs if isinstance(parent, Map) else parent)[name]
        elif isinstance(parent, list) or "renamed" in parent.pairs:
            raise Refused
        else:
            parent.pairs["renamed"] = parent.pairs.pop(name)


def as_model(value):
    if isinstance(value, dict):
        return Map({key: as_model(item) for key, item in value.items()})
    return [as_model(item) for item in value] if isinstance(value, list) else value


def flow_text(value):
    return yaml.safe_dump(value, default_flow_style=True, width=1000).removesuffix("...\n").strip()


class Anchors(peer.Case):
    def test_random_edits_change_names_as_python(self):
        done = refused = 0
        number = 0
        while done + refused < EDITS:
            number += 1
            dice = random.Random(SEED * 1_000_003 + number)
            document = Document(dice)
            file = self.folder / "x.asdf"
            file.write_bytes(file_bytes(document))
            root = document.root
            self.assertEqual(canonical(composed(file.read_bytes())), canonical(root), document.text())
            for step in range(EDITS_OF_FILE):
                before, old = file.read_bytes(), copy.deepcopy(root)
                edit = Edit(dice, root, 1000 + step)
                np.save(self.folder / "new.npy", np.array([1000 + step] * 2, "<i8"))
                is_shared = path_count(root, edit.parent) > 1
                words = edit.words(file)
                ended = subprocess.run([peer.PROGRAM, *words], capture_output=True, text=True, timeout=peer.TIME_LIMIT, check=False)
                shown = f"{words}\n{before[: before.index(b'...')].decode()}--- after\n"
                shown += f"{file.read_bytes()[: file.read_bytes().index(b'...')].decode()}{ended.stderr}"
                try:
                    edit.apply()
                except Refused:
                    self.assertIn(ended.returncode, (1, 2), shown)
                    self.assertEqual(file.read_bytes(), before, shown)
                    root = old
                    refused += 1
                    continue
                self.assertEqual(ended.returncode, 0, shown)
                self.assertEqual(canonical(composed(file.read_bytes())), canonical(root), shown)
                self.assertEqual(SHARED in ended.stderr, is_shared, shown)
                done += 1
        print(f"{done} edits made, {refused} refused, of {number} trees with anchors")
        self.assertLess(refused, done)


if __name__ == "__main__":
    unittest.main()
