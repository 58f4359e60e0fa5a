"""The examples of docstrings and of the README run as written."""

import doctest
import importlib.util
import inspect
import itertools
import os
import pathlib
import re
import subprocess
import sys

import numpy
import pytest

import trilith
import trilith._values
import trilith.asdf

README = pathlib.Path(__file__).parents[1] / "README.md"
DOCS = pathlib.Path(__file__).parents[3] / "docs"


# Modules that need packages of their own.
OPTIONAL = {"trilith.zarr": "zarr", "trilith.virtual": "virtualizarr"}


def described():
    for module, package in OPTIONAL.items():
        if importlib.util.find_spec(package):
            made = importlib.import_module(module)
            yield made
            for name in made.__all__:
                yield getattr(made, name)
    yield trilith
    yield trilith.asdf
    yield trilith.asdf.open
    yield trilith.asdf.everywhere
    yield trilith._values.TaggedString
    for name in trilith.__all__:
        thing = getattr(trilith, name)
        if callable(thing):
            yield thing
        if inspect.isclass(thing):
            # Of what Python's own classes say nothing is run.
            owners = [owner for owner in thing.__mro__ if owner.__module__.startswith("trilith")]
            for method, value in itertools.chain.from_iterable(vars(owner).items() for owner in owners):
                if not method.startswith("_") and getattr(value, "__doc__", None):
                    yield value


def test_docstrings():
    finder = doctest.DocTestFinder(recurse=False, exclude_empty=True)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    seen = 0
    for thing in described():
        name = getattr(thing, "__name__", str(thing))
        for test in finder.find(thing, name, module=False, globs={}):
            seen += len(test.examples)
            runner.run(test)
    assert seen > 15
    assert runner.failures == 0


def test_the_native_half_says_nothing_that_is_not_typed():
    """Names that begin with an underscore are private."""
    assert all(not name.startswith("_") or name == "__version__" for name in trilith.__all__)


@pytest.mark.skipif(not README.exists(), reason="no README beside the tests")
def test_readme(tmp_path, monkeypatch):
    """All Python blocks, one after the other, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```(python|pycon)\n(.*?)```", README.read_text(), re.DOTALL)
    assert len(blocks) >= 4
    run(blocks, README)


@pytest.mark.skipif(not DOCS.exists(), reason="no docs above the tests")
def test_pages(tmp_path, monkeypatch):
    """The Python blocks of each page, in the folder that `trilith tour .` makes, with the archive of the tutorial.

    The values that a `pycon` block shows are compared.
    """
    monkeypatch.chdir(tmp_path)
    program = [sys.executable, "-m", "trilith"]
    subprocess.run([*program, "--quiet", "tour", "."], check=True, stdout=subprocess.DEVNULL)
    (tmp_path / "archive").mkdir()
    for name in ("observation", "observation-plain"):
        (tmp_path / "archive" / f"{name}.asdf").hardlink_to(tmp_path / f"{name}.asdf")
    seen = 0
    for page in [DOCS.parent / "README.md", *sorted(DOCS.rglob("*.md"))]:
        # A block that begins with spaces is a part of a list or of code.
        blocks = re.findall(r"^```(python|pycon)\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)
        run(blocks, page)
        seen += len(blocks)
    assert seen >= 10


def run(blocks, page):
    """Runs `python` blocks, and compares the results of `pycon` blocks; both share their names."""
    scope = {}
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    for language, block in blocks:
        if language == "pycon":
            session = doctest.DocTestParser().get_doctest(block, {}, page.name, str(page), 0)
            session.globs = scope
            runner.run(session, clear_globs=False)
        else:
            exec(compile(block, str(page), "exec"), scope)
    assert runner.failures == 0, page
