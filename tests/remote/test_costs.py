"""What it costs, counted by the server's log: requests, and bytes with the headers of the answers."""

import hashlib
import json
import random
import struct

import files
import h5py
import numpy as np
import pytest
from servers import trilith


def cost(requests):
    return len(requests), sum(sent for _, sent, _, _ in requests)


def test_opening_and_info_of_a_gibibyte_with_16_lz4_blocks(web, large):
    assert 0.95 * 2**30 < large["size"] < 1.2 * 2**30
    with web.counted() as requests:
        out, _ = trilith("info", "--json", web.url("large.asdf"))
    said = json.loads(out)
    assert len(said["blocks"]) == 16 and said["block_index"]["valid"] is True
    assert {block["compression"] for block in said["blocks"]} == {"lz4"}
    count, sent = cost(requests)
    assert count <= 3 and sent <= 256 << 10, requests


def test_opening_and_info_where_each_range_is_a_request(web, large):
    with web.counted() as requests:
        out, _ = trilith("info", "--json", web.url("single/large.asdf"))
    assert len(json.loads(out)["blocks"]) == 16
    # It is found out once: the answer that would be the whole file is broken off.
    assert [status for status, *_ in requests].count(200) == 1
    count, sent = cost([request for request in requests if request[0] == 206])
    assert count <= 2 + 16 and sent <= 256 << 10, requests


@pytest.mark.parametrize("first", [5, (8 << 20) // 2 * 3 + 1234567])
def test_a_slice_of_8_mib_of_a_compressed_array(web, large, scratch, first):
    count = (8 << 20) // 2
    target = scratch / "slice.raw"
    with web.counted() as requests:
        trilith("get", web.url("large.asdf") + "#/a9", "--slice", f"{first}:{first + count}", "-o", target)
    assert target.read_bytes() == large["data"][2 * first : 2 * (first + count)]
    # The sub-blocks that hold it.
    chunks = (2 * (first + count) - 1) // (4 << 20) - 2 * first // (4 << 20) + 1
    stored = chunks * large["stored"] / (84 / 4)
    asked, sent = cost(requests)
    assert asked <= 6 and sent <= 1.2 * stored, (requests, stored)


def test_a_slice_of_8_mib_of_a_plain_array(web, plain, scratch):
    first, count = (500 << 20) // 8, (8 << 20) // 8
    target = scratch / "slice.raw"
    with web.counted() as requests:
        trilith("get", web.url("plain.asdf") + "#/data", "--slice", f"{first}:{first + count}", "-o", target)
    expected = bytearray(8 << 20)
    for at in range(0, 8 << 20, 1 << 20):
        expected[at : at + 8] = struct.pack("<d", (500 << 20) + at)
    assert target.read_bytes() == expected
    asked, sent = cost(requests)
    assert asked <= 6 and sent <= 1.2 * (8 << 20), requests


def test_a_hundred_cutouts_cost_less_than_3_percent_of_the_image(web, image, scratch):
    trilith_module = pytest.importorskip("trilith")
    chosen = random.Random(4)
    url = web.url("image.asdf")
    with web.counted() as requests:
        data = trilith_module.open(url)["data"]
        for _ in range(100):
            y, x = chosen.randrange(4088 - 32), chosen.randrange(4088 - 32)
            part = np.asarray(data[y : y + 32, x : x + 32])
            assert (part == image["data"][y : y + 32, x : x + 32]).all()
    asked, sent = cost(requests)
    assert sent < 0.03 * image["data"].nbytes and asked <= 3 + 100, (asked, sent)


def test_a_cutout_costs_its_rows_and_one_request(web, image, scratch):
    target = scratch / "cutout.raw"
    with web.counted() as requests:
        trilith("get", web.url("image.asdf") + "#/data", "--slice", "2000:2032,700:732", "-o", target)
    assert target.read_bytes() == image["data"][2000:2032, 700:732].tobytes()
    asked, sent = cost(requests)
    head_tail_and_header = cost(requests[:-1])[1]
    assert asked <= 4 and sent - head_tail_and_header < 32 * (128 + 256) + 1024, requests


@pytest.mark.parametrize("row", [40, 3000, 8100])
@pytest.mark.parametrize("words", [(), ("--only", "data")])
def test_a_cutout_by_position_costs_its_rows(web, sky, scratch, row, words):
    """Of an image of 1 GiB in lz4: the lengths of the pieces are asked for together, and then the pieces of all arrays."""
    out = scratch / "cutout.asdf"
    lon, lat = trilith("sky", sky["path"], f"20000,{row}")[0].decode().split()
    with web.counted() as requests:
        trilith("cutout", web.url("sky.asdf") + "#/data", "--sky", f"{lon},{lat}", "--size", "61px", *words, "-o", out)
    for name in ("data",) if words else ("data", "err"):
        trilith("get", f"{out}#/{name}", "-o", scratch / "cutout.npy", "--overwrite")
        low = max(row - 30, 0)
        np.testing.assert_array_equal(np.load(scratch / "cutout.npy"), sky["data"][low : row + 31, 19970:20031])
    asked, sent = cost(requests)
    # Two pieces of 3.2 MB for each array hold the rows, and two arrays of so many pieces have more lengths than fit in a request.
    assert asked <= (6 if words or row < 8000 else 7), requests
    assert sent <= (12e6 if words else 14e6), requests


@pytest.mark.parametrize("index", [True, False])
@pytest.mark.parametrize("size", [1024, 300_000])
def test_ten_thousand_blocks_are_not_ten_thousand_requests(web, folder, scratch, index, size):
    """With an index and without one, small blocks and large ones (which are holes here)."""
    path = folder / f"many-{index}-{size}.asdf"
    tree = "".join(files.array(f"a{n}", n, "uint8", [size]) for n in range(10_000))
    files.write(path, tree, [(b"\0" * 4, size, size)] * 10_000, index=index)
    target = scratch / "one.raw"
    with web.counted() as requests:
        trilith("get", web.url(path.name) + "#/a7777", "-o", target)
    assert target.read_bytes() == bytes(size)
    asked, sent = cost(requests)
    assert asked <= (10 if index else 130), asked
    assert sent < 12 << 20, sent
    with web.counted() as requests:
        out, _ = trilith("info", "--json", web.url(path.name))
    assert len(json.loads(out)["blocks"]) == 10_000
    asked, sent = cost(requests)
    assert asked <= 130 and sent < 14 << 20, (asked, sent)
    path.unlink()


def test_a_wrong_index_is_seen(web, folder, scratch):
    """One entry too few in the middle: the blocks behind it would be taken for others."""
    path = folder / "wrong.asdf"
    parts = [bytes([n]) * (1 << 20) for n in range(6)]
    tree = "".join(files.array(f"a{n}", n, "uint8", [1 << 20]) for n in range(6))
    files.write(path, tree, [(b"\0" * 4, part, len(part)) for part in parts])
    text = path.read_bytes()
    at = text.rindex(b"#ASDF BLOCK INDEX")
    lines = text[at:].split(b"\n")
    del lines[5]
    path.write_bytes(text[:at] + b"\n".join(lines))
    for prefix in ("", "single/"):
        for n in range(6):
            trilith("get", web.url(prefix + path.name) + f"#/a{n}", "-o", scratch / "x.raw")
            assert (scratch / "x.raw").read_bytes() == parts[n]
    out, _ = trilith("info", "--json", web.url(path.name))
    assert json.loads(out)["block_index"]["valid"] is False


def test_a_streamed_last_block(web, folder, scratch):
    path = folder / "streamed.asdf"
    data = files.noise(3 << 20, 9)
    tree = "s: !core/ndarray-1.1.0 {source: -1, datatype: int16, byteorder: little, shape: ['*', 512]}\n"
    files.write(path, tree, [], index=False)
    with open(path, "ab") as out:
        out.write(b"\xd3BLK" + struct.pack(">HI4sQQQ16s", 48, 1, b"\0" * 4, 0, 0, 0, bytes(16)) + data)
    with web.counted() as requests:
        trilith("get", web.url(path.name) + "#/s", "--slice", "1000:1010", "-o", scratch / "x.raw")
    assert (scratch / "x.raw").read_bytes() == data[1000 * 1024 : 1010 * 1024]
    assert cost(requests)[1] < 300 << 10, requests


def test_the_same_digests_as_of_the_local_file(web, small):
    local, _ = trilith("digest", small["path"])
    for prefix in ("", "single/", "plain/"):
        assert trilith("digest", web.url(prefix + "small.asdf"))[0] == local
    assert all(digest.encode() in local for digest in small["digests"])


def test_a_whole_read_is_few_requests_and_no_byte_twice(web, medium, scratch):
    for command, most in ((["get", web.url("medium.asdf") + "#/a", "-o", scratch / "a.raw"], len(medium["parts"][0])), (["digest", web.url("medium.asdf")], medium["size"])):
        with web.counted() as requests:
            out, _ = trilith(*command)
        asked, sent = cost(requests)
        assert asked <= 3 + 70 / 8 + 2 and sent < most * 1.01 + (512 << 10), requests
    assert (scratch / "a.raw").read_bytes() == medium["parts"][0]
    assert out == trilith("digest", medium["path"])[0]
    # A reader that has seen enough ends it.
    import subprocess

    import servers

    command = [servers.PROGRAM, "get", web.url("medium.asdf") + "#/a", "--format", "raw"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=servers.CLEAN) as reading:
        assert reading.stdout.read(1000) == medium["parts"][0][:1000]
        reading.stdout.close()
        assert reading.wait(20) == 0


def test_swapped_elements_are_streamed_too(web, folder, medium, scratch):
    path = folder / "big-endian.asdf"
    data = np.frombuffer(medium["parts"][0][: 20 << 20], "<i2")
    tree = files.array("x", 0, "int16", [data.size]).replace("little", "big")
    files.write(path, tree, [(b"\0" * 4, data.astype(">i2").tobytes(), data.nbytes)])
    trilith("get", web.url(path.name) + "#/x", "-o", scratch / "x.raw")
    assert (scratch / "x.raw").read_bytes() == data.tobytes()


def test_work_that_reads_all_streams_once_where_there_are_no_ranges(web, medium, scratch):
    url = web.url("plain/medium.asdf")
    for command in ("digest", "verify"):
        with web.counted() as requests:
            out, _ = trilith(command, url)
        assert out.replace(url.encode(), b"") == trilith(command, medium["path"])[0].replace(str(medium["path"]).encode(), b"")
        assert [status for status, *_ in requests] == [200] and requests[0][1] < medium["size"] + 2048, requests
    trilith("convert", "--to", "asdf-1.5", url, scratch / "out.asdf")
    for command in (["digest", url, "--remote", "spool=1M"], ["info", url], ["get", url + "#/b"]):
        _, said = trilith(*command, status=None)
        assert f"{medium['size']} bytes" in said and "--download" in said, said
    assert b"b" in trilith("info", url, "--download")[0]


def test_explain_shows_the_requests(web, image):
    out, _ = trilith("get", web.url("image.asdf") + "#/data", "--slice", "0:32,0:32", "--explain", "--json")
    said = json.loads(out)
    assert len(said["requests"]) == 1 and len(said["requests"][0]) == 32


def test_a_server_without_ranges(web, plain, small, scratch):
    # Small files come whole, and once.
    with web.counted() as requests:
        trilith("info", web.url("plain/small.asdf"))
    assert [status for status, *_ in requests] == [200]
    # Of a large one the front is read, and no more.
    with web.counted() as requests:
        out, _ = trilith("tree", web.url("plain/plain.asdf"))
    assert b"float64" in out
    assert cost(requests)[1] < 40 << 20, requests
    for command in (["info"], ["get"]):
        item = "#/after" if command == ["get"] else ""
        _, said = trilith(*command, web.url("plain/plain.asdf") + item, status=2)
        assert f"{plain['size']} bytes" in said and "--download" in said, said
    out, _ = trilith("get", web.url("plain/plain.asdf") + "#/after", "--download")
    assert out.split() == [b"97", b"98", b"99", b"100"]


def test_a_disk_cache_serves_the_second_run(web, image, scratch):
    where = ["--remote", f"cache-dir={scratch / 'cache'}"]
    item = web.url("image.asdf") + "#/data"
    sums = []
    costs = []
    for _ in range(2):
        with web.counted() as requests:
            trilith("get", item, "--slice", "100:400", "-o", scratch / "x.raw", *where)
        sums.append(hashlib.sha256((scratch / "x.raw").read_bytes()).digest())
        costs.append(cost(requests))
    assert sums[0] == sums[1] == hashlib.sha256(image["data"][100:400].tobytes()).digest()
    assert costs[1][0] <= 2 and costs[1][1] < 200 << 10, costs


def test_a_disk_cache_never_gives_other_bytes(web, folder, scratch):
    """Another version, a damaged store, and several processes at once."""
    import os
    import subprocess

    import servers

    path, where = folder / "kept.asdf", scratch / "cache"
    item, options = web.url("kept.asdf") + "#/a", ["--remote", f"cache-dir={where}"]

    def write(seed):
        data = files.noise(3 << 20, seed)
        files.write(path, files.array("a", 0, "int16", [len(data) // 2]), [(b"\0" * 4, data, len(data))])
        os.utime(path, (1_700_000_000 + seed, 1_700_000_000 + seed))
        return data

    def read():
        trilith("get", item, "-o", scratch / "x.raw", *options)
        return (scratch / "x.raw").read_bytes()

    for seed in (1, 2, 1):
        data = write(seed)
        assert read() == data
    kept = [file for file in where.rglob("*") if file.is_file()]
    assert kept
    for file in kept:
        content = bytearray(file.read_bytes())
        content[len(content) // 2] ^= 1
        file.write_bytes(content)
    assert read() == data
    for file in kept:
        file.write_bytes(b"")
    commands = [[servers.PROGRAM, "get", item, "-o", scratch / f"p{n}.raw", *options] for n in range(4)]
    running = [subprocess.Popen(command, env=servers.CLEAN, stderr=subprocess.DEVNULL) for command in commands]
    assert [process.wait(60) for process in running] == [0] * 4
    assert all((scratch / f"p{n}.raw").read_bytes() == data for n in range(4))
    assert not [file for file in where.rglob(".*") if file.is_file()], "nothing half-written is left"


def test_a_disk_cache_tells_queries_apart(web, small, scratch, proxy):
    """Two files of one size behind one path, with the same tag."""
    import re

    texts = [small["path"].read_bytes(), small["path"].read_bytes().replace(b"title: small", b"title: other")]

    def plan(number, head):
        text = texts["?b" in head]
        first, last = map(int, re.search(r"(?i)range: bytes=(\d+)-(\d+)", head).groups())
        part = text[first : last + 1]
        lines = [b"HTTP/1.1 206 Partial Content", b'ETag: "1"', b"Content-Range: bytes %d-%d/%d" % (first, first + len(part) - 1, len(text))]

        def send(client, _head, _body):
            client.sendall(b"\r\n".join([*lines, b"Content-Length: %d" % len(part), b"Connection: close", b"", part]))

        return send

    server = proxy(plan)
    for query, title in (("?a", b"small"), ("?b", b"other"), ("?a", b"small")):
        out, _ = trilith("get", server.url("small.asdf") + query + "#/title", "--remote", f"cache-dir={scratch / 'cache'}")
        assert out.strip() == title


@pytest.mark.parametrize("libver", ["earliest", "latest"])
def test_a_cutout_of_an_hdf5_file_of_many_chunks(web, folder, scratch, libver):
    """Nodes of the index, of which each leads to the next, are fetched level by level and not one by one."""
    data = np.random.default_rng(4).integers(0, 9, (4096, 4096), "u1")
    with h5py.File(folder / f"{libver}.h5", "w", libver=libver) as file:
        file.create_dataset("x", data=data, chunks=(32, 32), maxshape=(None, None), compression="gzip")
    target = scratch / "cutout.raw"
    with web.counted() as requests:
        trilith("get", web.url(f"{libver}.h5") + "#/x", "--slice", "3000:3032,1000:1032", "-o", target)
    assert target.read_bytes() == data[3000:3032, 1000:1032].tobytes()
    assert len(requests) <= 16, requests


@pytest.mark.parametrize("name", ["known.h5", "known.npy", "known.tif", "known.nc", "known.czi"])
def test_files_of_known_formats_cost_one_request(web, folder, name):
    """No layout is looked for next to them, also where there is one. In the rest of the tests."""
    path = folder / name
    if name.endswith(".h5"):
        with h5py.File(path, "w") as file:
            file["data"] = np.arange(3)
    elif name.endswith(".npy"):
        np.save(path, np.arange(3))
    elif name.endswith(".tif"):
        values = [(256, 3), (257, 1), (258, 8), (273, 8), (279, 3)]
        tags = b"".join(struct.pack("<HHII", tag, 4, 1, value) for tag, value in values)
        path.write_bytes(b"II*\0" + struct.pack("<I", 12) + bytes([0, 1, 2, 0]) + struct.pack("<H", len(values)) + tags + bytes(4))
    elif name.endswith(".nc"):
        path.write_bytes(b"CDF\x01" + bytes(28))
    else:
        path.write_bytes(b"ZISRAWFILE" + bytes(100))
    (folder / "known.dud").write_text("x = u1[2]\n")
    is_read = not name.endswith(".czi")
    with web.counted() as requests:
        trilith("tree", web.url(name), status=0 if is_read else 2)
    assert [status for status, *_ in requests] == [206], requests
    # A layout that is given counts.
    with web.counted() as requests:
        out, _ = trilith("get", web.url(name) + "#/x", "--layout", folder / "known.dud")
    assert out.split() == [str(byte).encode() for byte in path.read_bytes()[:2]]
    # Without a known format it is looked for.
    (folder / "unknown.dat").write_bytes(b"\xfe\xff\x01")
    (folder / "unknown.dud").write_text("x = u1[2]\n")
    out, _ = trilith("get", web.url("unknown.dat") + "#/x")
    assert out.split() == [b"254", b"255"]
