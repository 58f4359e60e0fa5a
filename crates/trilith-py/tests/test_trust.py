"""Changes by other programs, and malicious files: nothing is lost, and nothing is endless."""

import bz2
import json
import os
import resource
import struct
import subprocess
import sys
import zlib

import numpy as np
import pytest

import trilith

HEAD = "#ASDF 1.0.0\n#ASDF_STANDARD 1.6.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n--- !core/asdf-1.1.0\n"
ND = "!core/ndarray-1.1.0"


def block(data, codec=b"\0\0\0\0", size=None):
    sizes = struct.pack(">QQQ", len(data), len(data), len(data) if size is None else size)
    return b"\xd3BLK\0\x30\0\0\0\0" + codec + sizes + bytes(16) + data


def asdf(path, tree, *blocks, begin=0, head=HEAD):
    """A file; the first block begins at this byte."""
    path.write_bytes((head + tree + "...\n").encode().ljust(begin, b"\0") + b"".join(blocks))
    return path


def command(*words):
    done = subprocess.run([sys.executable, "-m", "trilith", "--quiet", *map(str, words)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("in_place", [True, False])
@pytest.mark.parametrize("other_in_place", [True, False])
@pytest.mark.parametrize("listed", [True, False])
def test_what_another_writer_committed_is_not_overwritten(tmp_path, in_place, other_in_place, listed):
    path = tmp_path / "x.asdf"
    trilith.write(path, {"a": 1, "b": 2, "d": np.arange(10)})
    with trilith.open(path) as f:
        f["c"] = "x" * 400  # room to change it in place
        f.update()
    f = trilith.open(path)
    if listed:
        f.info()
    f["a"] = 11
    command("set", f"{path}#/b", 22, *(["--in-place"] if other_in_place else []))
    with pytest.raises(OSError):
        f.update(in_place=in_place)
    with trilith.open(path) as f:
        assert f["a"] == 1 and f["b"] == 22 and f.verify(deep=True) == []


@pytest.mark.parametrize("in_place", [True, False])
def test_a_file_that_was_replaced_is_not_written_into(tmp_path, in_place):
    tree = f"a: 1\nd: {ND} {{source: 0, datatype: uint8, shape: [%d]}}\n"
    path = asdf(tmp_path / "x.asdf", tree % 1000, block(bytes(1000)), begin=6000)
    new = asdf(tmp_path / "new.asdf", tree % 4000, block(bytes(4000)), begin=3000)
    assert path.stat().st_size == new.stat().st_size
    content = new.read_bytes()
    f = trilith.open(path)
    f.info()
    f["a"] = 2
    os.replace(new, path)
    with pytest.raises(OSError):
        f.update(in_place=in_place)
    assert path.read_bytes() == content


def test_edits_are_written_in_the_words_of_their_generation(tmp_path):
    path, old = tmp_path / "n.asdf", tmp_path / "n.finf"
    trilith.write(path, {"a": 1})
    command("convert", path, old, "--to", "finf-0.1")
    with trilith.open(old) as f:
        f["z"] = 1 + 2j
        f.set("i", np.arange(3), inline=True)
        f.update()
    text = old.read_bytes().decode()
    assert "dtype: int64" in text and "datatype: int64" not in text and "z: !core/complex" in text, text
    with trilith.open(old) as f:
        assert f["z"] == 1 + 2j and f["i"][...].tolist() == [0, 1, 2]


@pytest.mark.parametrize("address", ["http://127.0.0.1:9/x.asdf", "https://example.org/x.asdf", "s3://bucket/x.asdf"])
def test_what_pickles_name_is_a_file_of_this_machine(address):
    from trilith import _values

    with pytest.raises(FileNotFoundError):
        _values.opened(address, {})
    for wrong in (address, "x.asdf", open(os.devnull, "rb")):
        with pytest.raises(TypeError):
            _values.copied(wrong)


def tens(levels):
    return "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, levels))


def spread(path):
    arrays = "".join(f"d{n}: {ND} {{source: 0, datatype: uint8, shape: [{500_000_000 + n}], strides: [0]}}\n" for n in range(200))
    return asdf(path, arrays, block(bytes(8)))


def views(path):
    data = zlib.compress(bytes(40 << 20), 9)
    arrays = "".join(f"d{n}: {ND} {{source: 0, datatype: uint8, offset: {n}, shape: [41000000]}}\n" for n in range(1000))
    return asdf(path, arrays, block(data, b"zlib", 40 << 20))


def bomb(path):
    one, count = bz2.compress(bytes(45_899_235)), 1024
    array = f"a: {ND} {{source: 0, datatype: uint8, shape: [{45_899_235 * count}]}}\n"
    return asdf(path, array, block(one * count, b"bzp2", 45_899_235 * count))


def tags(path):
    head = HEAD.replace("%TAG ! ", f"%TAG !h! tag:{'x' * 300_000}/\n%TAG ! ")
    return asdf(path, "".join(f"n{n}: !h!x{n} 1\n" for n in range(60_000)), head=head)


def keys(path):
    arrays = "".join(f"  n{n}: {ND} {{source: 0, datatype: uint8, shape: [8]}}\n" for n in range(5_000))
    return asdf(path, f"? {'k' * 100_000}\n:\n{arrays}", block(bytes(8)))


def doubles(path):
    types = "".join(f"d{n}: &d{n} [{{name: a, datatype: *d{n - 1}}}, {{name: b, datatype: *d{n - 1}}}]\n" for n in range(1, 28))
    return asdf(path, f"d0: &d0 [{{name: a, datatype: uint8}}]\n{types}a: {ND} {{source: 0, datatype: *d27, shape: [1]}}\n", block(bytes(8)))


def inline(path):
    return asdf(path, f"a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n{tens(7)}a: {ND} [*a6, *a6]\n")


# What is done with each in a process of its own; whatever is refused is refused by a limit.
READ = """
import json, sys, trilith
refused = []
def tried(what, call):
    try:
        call()
    except trilith.LimitError as error:
        refused.append(what)
        assert "limit" in str(error) or "at most" in str(error), error
    except (ValueError, NotImplementedError) as error:
        refused.append(f"{what}: {error}"[:200])
def opened(call):
    with trilith.open(sys.argv[1]) as f:
        call(f)
tried("open", lambda: opened(lambda f: f.info()))
tried("digest", lambda: opened(lambda f: f.digest()))
tried("verify", lambda: opened(lambda f: f.verify(deep=True)))
def elements(f):
    node = f["a"] if "a" in f else f[next(iter(f))]
    if isinstance(node, trilith.Array):
        node[...].sum()
tried("elements", lambda: opened(elements))
print(json.dumps(refused))
"""


@pytest.mark.parametrize("make", [spread, views, bomb, tags, keys, doubles, inline])
def test_hostile_files_are_bounded_without_asking(tmp_path, make):
    path = make(tmp_path / "x.asdf")
    assert path.stat().st_size < 3 << 20
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    # A build for development takes long for the 4 GiB that are allowed by default.
    environment = {**os.environ, "TRILITH_LIMITS": "work=256M"}

    def bounded():
        resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
    done = subprocess.run([sys.executable, "-c", READ, path], capture_output=True, text=True, env=environment, preexec_fn=bounded)
    assert done.returncode == 0, done.stderr[-500:]
    refused = json.loads(done.stdout)
    assert refused, "each asks for too much somewhere"
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert after.ru_maxrss < 1 << 20, f"{after.ru_maxrss >> 10} MB"
    assert after.ru_utime - before.ru_utime < 60


def test_a_program_may_read_the_same_array_all_day(tmp_path):
    path = tmp_path / "x.asdf"
    trilith.write(path, {"a": np.zeros(1 << 20)}, codec="zlib")
    program = """
import sys, trilith
with trilith.open(sys.argv[1]) as f:
    for _ in range(20):
        assert f["a"][...].nbytes == 8 << 20 and len(f.digest()) == 1
"""
    # Together far more than one call may do.
    environment = {**os.environ, "TRILITH_LIMITS": "work=40M"}
    done = subprocess.run([sys.executable, "-c", program, path], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr[-500:]


def test_a_damaged_member_of_an_archive_is_an_error(tmp_path):
    """First tier: its CRC-32 is compared when it is read to its end, and before it gets a new checksum."""
    path = tmp_path / "x.npz"
    for save in (np.savez, np.savez_compressed):
        save(path, a=np.arange(2000), b=np.arange(3))
        content = bytearray(path.read_bytes())
        if save is np.savez:
            content[3000] ^= 1
        else:
            content[content.index(b"PK\x01\x02") + 16] ^= 1
        path.write_bytes(content)
        with trilith.open(path) as f:
            assert f["b"].read().tolist() == [0, 1, 2]
            assert f["a"][:2].tolist() == [0, 1]
            if save is np.savez_compressed:
                with pytest.raises(trilith.FormatError, match="CRC-32"):
                    f["a"].read()
            assert any("CRC-32" in problem for problem in f.verify())
        with pytest.raises(trilith.FormatError, match="CRC-32"):
            trilith.convert(path, tmp_path / "y.asdf")
        assert not (tmp_path / "y.asdf").exists()


def test_a_damaged_hdu_gets_no_right_sum(tmp_path):
    """First tier: CHECKSUM and DATASUM of FITS are compared before they are computed again, and before elements get an MD5."""
    fits = pytest.importorskip("astropy.io.fits")
    path = tmp_path / "x.fits"
    fits.HDUList([fits.PrimaryHDU(), fits.ImageHDU(np.arange(2000, dtype=">i4"), name="SCI")]).writeto(path, checksum=True)
    content = bytearray(path.read_bytes())
    content[2 * 2880 + 100] ^= 1
    path.write_bytes(content)
    with trilith.open(path) as f:
        assert f["fits/1/data"][:3].tolist() == [0, 1, 2]
        assert [problem.split()[3] for problem in f.verify()] == ["DATASUM", "CHECKSUM"]
        with pytest.raises(trilith.FormatError, match="DATASUM"):
            trilith.convert(path, tmp_path / "y.asdf")
        with pytest.raises(trilith.FormatError, match="DATASUM"):
            trilith.write(tmp_path / "y.asdf", {"a": f["fits/1/data"]})
        f["fits/1/header/OBJECT"] = "M31"
        with pytest.raises(trilith.FormatError, match="DATASUM"):
            f.update()
    assert path.read_bytes() == bytes(content) and not (tmp_path / "y.asdf").exists()
    with fits.open(path) as file:
        assert file[1].verify_datasum() == 0 == file[1].verify_checksum()
