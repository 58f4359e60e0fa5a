"""Objects at several paths of a tree (anchors and aliases): random edits, compared with the same edits of Python objects.

Rest.
"""

import copy
import random
import subprocess

import asdf
import numpy as np
import pytest
from peer import PROGRAM, trilith, trilith_json


def tree_of(dice):
    """A random tree of dictionaries, lists, texts and arrays, some of them at several paths."""
    shared = []

    def value(depth):
        kind = dice.randrange(6 if depth < 3 else 2)
        if shared and dice.random() < 0.4:
            return dice.choice(shared)
        if kind == 0:
            return dice.randrange(100)
        if kind == 1:
            made = np.arange(dice.randrange(1, 4)) + dice.randrange(100)
        elif kind in (2, 3):
            made = [value(depth + 1) for _ in range(dice.randrange(1, 4))]
        else:
            made = {f"k{i}": value(depth + 1) for i in range(dice.randrange(1, 4))}
        shared.append(made)
        return made

    return {f"t{i}": value(0) for i in range(6)}


def paths(node, above=()):
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, child in items:
        yield (*above, key)
        yield from paths(child, (*above, key))


def plain(node, seen=None):
    """The content, and which collections and arrays are one object."""
    seen = {} if seen is None else seen
    if not isinstance(node, (dict, list, np.ndarray, asdf.tags.core.NDArrayType)):
        return node
    if id(node) in seen:
        return ("again", seen[id(node)])
    seen[id(node)] = len(seen)
    if isinstance(node, dict):
        return {key: plain(child, seen) for key, child in node.items()}
    if isinstance(node, list):
        return [plain(child, seen) for child in node]
    return ("array", np.asarray(node).tolist())


def edit(tree, dice):
    """Makes an edit in the objects, and returns the arguments of the command for it."""
    path = dice.choice(list(paths(tree)))
    name = "/".join(map(str, path))
    parent = tree
    for key in path[:-1]:
        parent = parent[key]
    kind = dice.randrange(4)
    if kind == 0:
        parent[path[-1]] = 7
        return ["set", f"x.asdf#/{name}", "7", "--replace"]
    if kind == 1:
        parent[path[-1]] = {"new": [1, 2]}
        return ["set", f"x.asdf#/{name}", "{new: [1, 2]}", "--replace"]
    if kind == 2:
        parent[path[-1]] = np.array([5, 6])
        np.save("five.npy", np.array([5, 6]))
        return ["set", f"x.asdf#/{name}", "--from", "five.npy"]
    del parent[path[-1]]
    return ["delete", f"x.asdf#/{name}"]


@pytest.mark.parametrize("seed", range(60))
def test_random_edits_of_shared_objects_are_those_of_python(seed, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    dice = random.Random(seed)
    tree = tree_of(dice)
    asdf.AsdfFile(tree).write_to("x.asdf")
    with asdf.open("x.asdf", memmap=False, lazy_load=False) as file:
        tree = copy.deepcopy({key: file[key] for key in tree})
    for _ in range(4):
        if not list(paths(tree)):
            break
        arguments = edit(tree, dice)
        if dice.random() < 0.5:
            arguments.append("--in-place")
        trilith(*arguments)
        with asdf.open("x.asdf", memmap=False, lazy_load=False, lazy_tree=False) as file:
            found = {key: file[key] for key in file.tree if key not in ("asdf_library", "history")}
            assert plain(found) == plain(tree), arguments


def test_a_change_inside_of_a_shared_mapping_names_its_other_paths(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shared = {"k": 1}
    asdf.AsdfFile({"a": shared, "b": shared}).write_to("x.asdf")
    done = subprocess.run([PROGRAM, "set", "x.asdf#/b/k", "2"], capture_output=True, text=True, check=True, timeout=60)
    assert "/b is also /a" in done.stderr
    assert trilith_json("tree", "x.asdf")["a"] == {"k": 2}
