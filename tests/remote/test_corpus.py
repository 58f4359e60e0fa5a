"""The sample files of every generation: a remote one gives what the local one gives."""

import os
import pathlib
import subprocess

import pytest
import servers
from servers import trilith

SHARED = os.environ.get("TRILITH_SHARED")
pytestmark = pytest.mark.skipif(not SHARED, reason="no ../shared/corpus beside the repository")


def generations():
    corpus = pathlib.Path(SHARED or "/nonexistent") / "corpus"
    return sorted(path for path in corpus.glob("*") if path.is_dir())


@pytest.mark.parametrize("generation", generations(), ids=lambda path: path.name)
def test_digests(generation, tmp_path_factory):
    served = tmp_path_factory.mktemp("corpus")
    import shutil

    shutil.copytree(generation, served / "files", dirs_exist_ok=True)
    server = servers.counting(served, tmp_path_factory.mktemp("web"))
    try:
        compared = 0
        paths = [path for path in sorted((served / "files").rglob("*")) if path.suffix in (".asdf", ".finf", ".fits", ".bd")]
        for path in paths[:60]:
            name = str(path.relative_to(served))
            local = subprocess.run([servers.PROGRAM, "digest", path], capture_output=True, env=servers.CLEAN, timeout=60)
            url = server.url("/".join(map(quoted, name.split("/"))))
            remote = subprocess.run([servers.PROGRAM, "digest", url], capture_output=True, env=servers.CLEAN, timeout=60)
            assert remote.stdout == local.stdout and remote.returncode == local.returncode, (name, remote.stderr[:500], local.stderr[:500])
            compared += bool(local.stdout)
        assert compared or not paths
    finally:
        server.stop()


def quoted(part):
    from urllib.parse import quote

    return quote(part)
