"""Verdicts against Python asdf: every published example, and trees with one node changed.

Each case is a YAML document under a version of the standard. Python asdf validates it with the schemas
of the installed packages, we with the bundled ones (or with `--schemas-from-python`); both must say the
same. Cases on which Python ends with another exception than ValidationError are counted and left out.

Run by hand for more: python test_schema_oracle.py [CASES-PER-DOCUMENT [SEED]]
"""

import collections
import importlib.resources
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import unittest
import warnings

import asdf
import yaml
from asdf import schema, yamlutil

try:
    import asdf_astropy  # noqa: F401  (brings the extensions for unit, time, table, fits and transform)
except ImportError:
    asdf_astropy = None

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("TRILITH_BIN", str(ROOT / "target/debug/trilith"))
SHARED = pathlib.Path(os.environ.get("TRILITH_SHARED", ROOT.parent / "shared"))
PACKAGES = ["asdf_standard", "asdf_transform_schemas"]
MORE_PACKAGES = ["asdf_astropy", "asdf_coordinates_schemas", "asdf_wcs_schemas"]
BUNDLED = re.compile(r"asdf://asdf-format\.org/(core|transform|astronomy)/extensions/")
HEADER = "%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n--- "
HANDLES = {"!": "tag:stsci.edu:asdf/"}
LATEST = "1.6.0"

Case = collections.namedtuple("Case", "name standard text path")


# ---- documents ---------------------------------------------------------------------------------------


def resources(package):
    root = pathlib.Path(str(importlib.resources.files(package))) / "resources"
    return sorted(path for path in root.rglob("*.yaml") if "unstable" not in path.parts)


def examples(packages):
    """Every example of every schema of the packages that are there."""
    for package in packages:
        try:
            paths = resources(package)
        except ModuleNotFoundError:
            continue
        for path in paths:
            document = yaml.load(path.read_text(encoding="utf-8"), Loader=yamlutil.AsdfLoader)
            for index, example in enumerate(document.get("examples") or []):
                standards = [LATEST]
                if len(example) == 3:
                    standards = [example[1].removeprefix("asdf-standard-")]
                elif "stsci.edu" in document["id"]:
                    standards = [LATEST, "1.5.0"]
                for standard in standards:
                    yield Case(f"{path.stem}[{index}]@{standard}", standard, HEADER + "\n" + example[-1].rstrip() + "\n...\n", None)


def corpus():
    """The trees of the sample files that follow a released standard."""
    for path in sorted(SHARED.glob("corpus/*/*.asdf")):
        content = path.read_bytes()
        if not content.startswith(b"#ASDF 1.") or b"%YAML" not in content:
            continue
        head, tree = content.split(b"%YAML", 1)
        end = re.search(rb"\r?\n\.\.\.(\r?\n|$)", tree)
        standard = re.search(rb"#ASDF_STANDARD (\S+)", head)
        text = "%YAML" + tree[: end.end()].decode()
        if len(text) < 60_000:
            yield Case(f"{path.parent.name}/{path.stem}", standard.group(1).decode() if standard else "1.0.0", text, None)


# ---- changes -----------------------------------------------------------------------------------------


def nodes(root):
    """Every node with its parent, its place there and its path."""
    stack, seen = [(root, None, None, ())], set()
    while stack:
        node, parent, place, path = stack.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        yield node, parent, place, path
        if isinstance(node, yaml.SequenceNode):
            stack.extend((item, node, at, (*path, str(at))) for at, item in enumerate(node.value))
        elif isinstance(node, yaml.MappingNode):
            stack.extend((value, node, at, (*path, str(key.value))) for at, (key, value) in enumerate(node.value))


SCALARS = ["~", "true", "0", "1", "-1", "5", "1.5", "-0.0", ".nan", ".inf", "text", "", "big", "little", "1e3", "*", "float64", "int8",
           "2020-01-01", "2020-01-01T00:00:00", "9223372036854775808", "utc", "m", "B1950", "1+1j", "external.asdf"]  # fmt: skip
FLOWS = ["[]", "{}", "[1, 2]", "[[1, 2], [3, 4]]", "{a: 1}", "{$ref: '#/a'}", "[ascii, 4]", "[text, ~]", "!!omap [a: 1]",
         "[{name: a, datatype: int8}, float64]"]  # fmt: skip
TAGS = ["core/ndarray-1.0.0", "core/ndarray-1.1.0", "core/complex-1.0.0", "unit/unit-1.0.0", "unit/quantity-1.2.0", "unit/quantity-1.3.0",
        "time/time-1.1.0", "time/time-1.4.0", "core/software-1.0.0", "core/constant-1.0.0", "transform/shift-1.2.0", "transform/identity-1.1.0",
        "core/integer-1.1.0", "nothing/known-1.0.0"]  # fmt: skip


def compose(text):
    return yaml.compose(HEADER + text, Loader=yaml.CSafeLoader)


def put(parent, place, node):
    if isinstance(parent, yaml.SequenceNode):
        parent.value[place] = node
    else:
        parent.value[place] = (parent.value[place][0], node)


def misspelt(word, rng):
    if len(word) < 2:
        return word + "x"
    at = rng.randrange(len(word) - 1)
    return rng.choice([word[:at] + word[at + 1] + word[at] + word[at + 2 :], word[:at] + word[at + 1 :], word[:at] + "q" + word[at:]])


def changed(text, rng):
    """The document with one node changed, and the path of that node."""
    root = yaml.compose(text, Loader=yaml.CSafeLoader)
    everything = list(nodes(root))
    node, parent, place, path = rng.choice(everything)
    kind = rng.choice(["replace", "replace", "retag", "untag", "delete", "rename", "extra", "spell", "number", "repeat", "wrap"])
    if kind == "replace":
        new = compose(rng.choice(SCALARS + FLOWS))
        if rng.random() < 0.5 and node.tag.startswith("tag:stsci"):
            new.tag = node.tag
        if parent is None:
            root = new
        else:
            put(parent, place, new)
    elif kind == "retag":
        node.tag = "tag:stsci.edu:asdf/" + rng.choice(TAGS)
    elif kind == "untag":
        kinds = {yaml.MappingNode: "map", yaml.SequenceNode: "seq", yaml.ScalarNode: "str"}
        node.tag = "tag:yaml.org,2002:" + kinds[type(node)]
        if isinstance(node, yaml.ScalarNode):
            node.style = "'"  # else PyYAML writes the tag `!`, and reads it back as something else
    elif kind == "delete" and parent is not None:
        del parent.value[place]
        path = path[:-1]
    elif kind == "rename" and isinstance(parent, yaml.MappingNode):
        key, value = parent.value[place]
        new_key = yaml.ScalarNode("tag:yaml.org,2002:str", misspelt(str(key.value), rng))
        parent.value[place] = (new_key, value)
        path = path[:-1]
    elif kind == "extra" and isinstance(node, yaml.MappingNode):
        node.value.append((compose(rng.choice(["zzz", "data", "mask", "shape", "5", "true"])), compose(rng.choice(SCALARS + FLOWS))))
    elif kind == "spell" and isinstance(node, yaml.ScalarNode) and node.tag.endswith(":str"):
        node.value = misspelt(node.value, rng)
    elif kind == "number" and isinstance(node, yaml.ScalarNode) and node.tag.endswith((":int", ":float")):
        new = compose(rng.choice(["-3", "0", "7", "2.5", "'7'", "1e3"]))
        if parent is not None:
            put(parent, place, new)
    elif kind == "repeat" and isinstance(node, yaml.SequenceNode) and node.value:
        node.value.append(rng.choice(node.value))
    elif kind == "wrap" and parent is not None:
        put(parent, place, yaml.SequenceNode("tag:yaml.org,2002:seq", [node]))
    else:
        return None
    return yaml.serialize(root, Dumper=yaml.CSafeDumper, tags=HANDLES, version=(1, 1), explicit_start=True, explicit_end=True), path


def mutations(documents, each, seed):
    rng = random.Random(seed)
    for case in documents:
        made = 0
        for _ in range(each * 4):
            if made == each:
                break
            try:
                found = changed(case.text, rng)
            except (yaml.YAMLError, RecursionError):
                continue
            if found is not None:
                yield Case(f"{case.name}~{made}", case.standard, *found)
                made += 1


# ---- verdicts ----------------------------------------------------------------------------------------


class Python:
    """Python asdf, with the extensions of the bundled schemas only, or with all."""

    def __init__(self, everything):
        self.contexts = {}
        self.everything = everything

    def context(self, standard):
        if standard not in self.contexts:
            with asdf.config_context() as config:
                if not self.everything:
                    for extension in list(config.extensions):
                        if not BUNDLED.match(extension.extension_uri or ""):
                            config.remove_extension(extension)
                context = asdf.AsdfFile(version=standard)
                context._extension_manager = context.extension_manager
            self.contexts[standard] = context
        return self.contexts[standard]

    def verdict(self, case):
        """valid, invalid, or what else came up."""
        try:
            tree = yaml.load(case.text, Loader=yamlutil.AsdfLoader)
            schema.validate(tree, self.context(case.standard), reading=True)
        except asdf.ValidationError:
            return "invalid"
        except Exception as error:
            return type(error).__name__
        return "valid"


def ours(cases, everything):
    """Our verdict on each case, and the paths of the problems."""
    verdicts = []
    with tempfile.TemporaryDirectory() as folder:
        for start in range(0, len(cases), 400):
            names = []
            for at, case in enumerate(cases[start : start + 400]):
                name = pathlib.Path(folder) / f"{at}.asdf"
                name.write_text(f"#ASDF 1.0.0\n#ASDF_STANDARD {case.standard}\n{case.text}", encoding="utf-8")
                names.append(str(name))
            command = [PROGRAM, "validate", "--json", "--quiet", *names]
            if everything:
                command.insert(2, "--schemas-from-python")
            environment = os.environ | {"TRILITH_PYTHON": sys.executable}
            ended = subprocess.run(command, capture_output=True, check=False, env=environment)
            if ended.returncode not in (0, 1):
                raise AssertionError(f"ended with {ended.returncode}: {ended.stderr.decode()[:1000]}")
            # One document for one file, a line each for several.
            printed = ended.stdout.splitlines() if len(names) > 1 else [ended.stdout]
            for one in map(json.loads, printed):
                errors = [problem for problem in one["problems"] if problem["severity"] == "error"]
                paths = [problem["where"]["path"] for problem in errors]
                verdicts.append(("valid" if one["valid"] else "invalid", paths, errors))
    return verdicts


def near(paths, changed_path):
    """Whether a problem is told at the changed node, below or right above it."""
    for path in paths:
        keys = tuple(key.replace("~1", "/").replace("~0", "~") for key in (path or "").split("/")[1:])
        if keys[: len(changed_path)] == changed_path or changed_path[: len(keys)] == keys:
            return True
    return False


def compare(cases, everything=False):
    """Counts, and every case on which the verdicts differ."""
    warnings.simplefilter("ignore")
    python = Python(everything)
    counts, differ = collections.Counter(), []
    for case, (mine, paths, errors) in zip(cases, ours(cases, everything), strict=True):
        theirs = python.verdict(case)
        if theirs not in ("valid", "invalid"):
            counts["other: " + theirs] += 1
            continue
        counts[theirs] += 1
        if mine != theirs:
            counts["differ"] += 1
            differ.append((case, theirs, mine, errors[:2]))
        elif mine == "invalid" and case.path is not None and not near(paths, case.path):
            counts["elsewhere"] += 1
    return counts, differ


def report(what, counts, differ):
    print(f"{what}: {dict(counts)}", file=sys.stderr)
    return "\n".join(
        f"{case.name}: python says {theirs}, we {mine} {json.dumps(errors)[:400]}\n{case.text}" for case, theirs, mine, errors in differ[:5]
    )


@unittest.skipIf(asdf_astropy is None, "asdf-astropy is not installed")
class Verdicts(unittest.TestCase):
    def agree(self, what, cases, everything=False):
        cases = list(cases)
        counts, differ = compare(cases, everything)
        text = report(what, counts, differ)
        self.assertEqual(len(differ), 0, f"{what}: {len(differ)} of {len(cases)} verdicts differ\n{text}")
        return counts

    def test_published_examples(self):
        self.agree("examples", examples(PACKAGES))

    def test_published_examples_with_schemas_from_python(self):
        self.agree("examples, schemas from python", examples(PACKAGES + MORE_PACKAGES), everything=True)

    def test_changed_examples(self):
        counts = self.agree("changed examples", mutations(examples(PACKAGES), 3, 1))
        self.assertGreater(counts["invalid"], 100)

    def test_changed_corpus(self):
        documents = list(corpus())
        if not documents:
            self.skipTest(f"no sample files in {SHARED}")
        self.agree("corpus", documents)
        counts = self.agree("changed corpus", mutations(documents, 60, 2))
        self.assertGreater(counts["invalid"], 500)
        self.assertLess(counts["elsewhere"], counts["invalid"] / 10)


if __name__ == "__main__":
    EACH, SEED = (int(word) for word in (sys.argv[1:] + ["20", "3"])[:2]) if len(sys.argv) > 2 else (int((sys.argv + ["20"])[1]), 3)
    for everything in (False, True):
        documents = list(examples(PACKAGES + (MORE_PACKAGES if everything else []))) + list(corpus())
        print(report(f"everything={everything}", *compare(list(mutations(documents, EACH, SEED)), everything)))
