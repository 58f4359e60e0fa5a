"""The standard's reference pairs: `to-yaml --inline --resolve` equals the reference by value."""

import math
import re
import unittest

import peer
import yaml


class Loader(yaml.SafeLoader):
    """YAML 1.1 with tags dropped, except that complex numbers become numbers."""


def untagged(loader, suffix, node):
    if isinstance(node, yaml.MappingNode):
        return loader.construct_mapping(node, deep=True)
    if isinstance(node, yaml.SequenceNode):
        return loader.construct_sequence(node, deep=True)
    if "core/complex" in node.tag:
        return number(node.value)
    plain = loader.resolve(yaml.ScalarNode, node.value, (True, False))
    return loader.construct_object(yaml.ScalarNode(plain, node.value))


Loader.add_multi_constructor("", untagged)

def number(text):
    """Text of core/complex as a number, or the text itself."""
    spelt = re.sub(r"[iIJ](?![nN])", "j", re.sub(r"\s", "", text))
    try:
        return complex(spelt.strip("()"))
    except ValueError:
        return text


def numbers(value):
    """Texts that are complex numbers become numbers, whatever way they are spelt."""
    if isinstance(value, dict):
        return {key: numbers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [numbers(item) for item in value]
    return number(value) if isinstance(value, str) and re.fullmatch(r"[-+()0-9.eEijJIinfaNA\s]+", value) else value


def equal(a, b):
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(equal(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(equal, a, b))
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, (int, float, complex)) and isinstance(b, (int, float, complex)):
        a, b = complex(a), complex(b)
        return same_float(a.real, b.real) and same_float(a.imag, b.imag)
    return type(a) is type(b) and a == b


def same_float(a, b):
    return a == b or math.isnan(a) and math.isnan(b)


class Reference(unittest.TestCase):
    @unittest.skipUnless(peer.shared(), "no ../shared/corpus beside the repository")
    def test_pairs(self):
        pairs = sorted((peer.shared() / "corpus").glob("reference-*/*.yaml"))
        self.assertTrue(pairs)
        for reference in pairs:
            with self.subTest(pair=f"{reference.parent.name}/{reference.stem}"):
                said = peer.trilith("to-yaml", reference.with_suffix(".asdf"), "--inline", "--resolve")
                ours, theirs = (yaml.load(text, Loader) for text in (said, reference.read_bytes()))
                self.assertTrue(equal(numbers(ours), numbers(theirs)), f"\n{ours}\nis not\n{theirs}")
                self.assertTrue(said.startswith(b"#ASDF 1.0.0\n"), "no header line")
