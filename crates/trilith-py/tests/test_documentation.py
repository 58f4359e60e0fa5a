"""The examples of docstrings and of the README run as written."""

import doctest
import inspect
import os
import pathlib
import re

import numpy
import pytest

import trilith
import trilith._values
import trilith.asdf

README = pathlib.Path(__file__).parents[1] / "README.md"


def described():
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
            for method, value in vars(thing).items():
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
    """What begins with an underscore is ours alone."""
    assert all(not name.startswith("_") or name == "__version__" for name in trilith.__all__)


@pytest.mark.skipif(not README.exists(), reason="no README beside the tests")
def test_readme(tmp_path, monkeypatch):
    """All Python blocks, one after the other, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    assert len(blocks) >= 4
    scope = {}
    for block in blocks:
        exec(compile(block, str(README), "exec"), scope)
