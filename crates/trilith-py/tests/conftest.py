"""Fixtures that the tests share."""

import os
import pathlib

import pytest


def shared():
    """The material next to the repository, or None."""
    given = os.environ.get("TRILITH_SHARED")
    above = [folder / "shared" for folder in pathlib.Path(__file__).resolve().parents]
    for folder in ([pathlib.Path(given)] if given else []) + above:
        if (folder / "corpus").is_dir():
            return folder
    return None


@pytest.fixture
def corpus():
    """The folder of sample files; without it the test is skipped."""
    found = shared()
    if found is None:
        pytest.skip("no ../shared/corpus beside the repository")
    return found / "corpus"
