"""The servers of a run, and the files that they serve."""

import pathlib

import files
import pytest
import servers


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("served")


@pytest.fixture(scope="session")
def web(folder, tmp_path_factory):
    server = servers.counting(folder, tmp_path_factory.mktemp("web"))
    yield server
    server.stop()


@pytest.fixture(scope="session")
def large(folder):
    """A file of 1 GiB with 16 lz4 blocks, made of one compressed block sixteen times."""
    return files.large_lz4(folder / "large.asdf")


@pytest.fixture(scope="session")
def plain(folder):
    """A file of 1 GiB with one plain array; most of it is a hole on the disk."""
    return files.large_plain(folder / "plain.asdf")


@pytest.fixture(scope="session")
def image(folder):
    """An image of 4088 x 4088 numbers."""
    return files.image(folder / "image.asdf")


@pytest.fixture(scope="session")
def sky(folder):
    """An image in lz4 with a GWCS, and another array of its shape."""
    return files.sky(folder / "sky.asdf")


@pytest.fixture(scope="session")
def medium(folder):
    """Two plain arrays of 70 and 1 MiB, with checksums."""
    return files.medium(folder / "medium.asdf")


@pytest.fixture(scope="session")
def small(folder):
    """Three arrays of some hundred kilobytes: plain, lz4 and zlib."""
    return files.small(folder / "small.asdf")


@pytest.fixture
def proxy(web):
    made = []

    def make(plan=lambda number, head: None):
        made.append(servers.Proxy(web.port, plan))
        return made[-1]

    yield make
    for server in made:
        server.stop()


@pytest.fixture
def scratch(tmp_path):
    return pathlib.Path(tmp_path)
