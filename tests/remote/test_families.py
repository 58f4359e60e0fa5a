"""A family of Dudley streams on a server: located from its catalogue, each file asked once for one item."""

import json
import shutil
import subprocess

import numpy as np
import pytest
import servers
from servers import trilith

LAYOUT = "{ N : i8 }\npad = f8[N, 100]\nrho = f4[N, 10]\n"


@pytest.fixture(scope="module")
def family(folder, tmp_path_factory):
    """Three native files, in which `rho` lies behind some megabytes of others, and a catalogue of them."""
    where = folder / "family"
    where.mkdir()
    (where / "run.dud").write_text(LAYOUT)
    names, parts = [], []
    for number in range(3):
        n = 4000
        rho = (np.arange(n * 10, dtype="<f4") + number).reshape(n, 10)
        body = b"\x8d<BD\r\n\x1a\n" + (0).to_bytes(8, "little") + n.to_bytes(8, "little")
        name = f"part{number}.bd"
        (where / name).write_bytes(body + bytes(n * 800) + rho.tobytes())
        (where / f"part{number}.dud").write_text(LAYOUT)
        names.append(name)
        parts.append(rho)
    catalogue(where / "all.bd", names, [4000] * 3)
    return {"folder": where, "names": names, "parts": np.stack(parts)}


def catalogue(path, names, counts):
    """As Dudley streams have it: text of one width, and a vector of parameters for each file."""
    width = max(map(len, names))
    layout = f"files = S1[{len(names)}, {width}]\nrecords = i8[{len(names)}, 1]\n"
    data = b"".join(name.encode().ljust(width, b"\0") for name in names)
    data += bytes(-len(data) % 8) + np.array(counts, dtype="<i8").tobytes()
    head = b"\x8d<BD\r\n\x1a\n" + (16 + len(data)).to_bytes(8, "little")
    path.write_bytes(head + data + layout.encode())


def test_one_request_for_each_file(web, family, scratch):
    layout = family["folder"] / "run.dud"
    out = scratch / "rho.raw"
    command = ["get", "--layout", layout, "/rho", "-o", out, "--catalog"]
    trilith(*command, family["folder"] / "all.bd")
    assert out.read_bytes() == family["parts"].tobytes()
    with web.counted() as requests:
        trilith(*command, web.url("family/all.bd"))
    assert out.read_bytes() == family["parts"].tobytes()
    for name in family["names"]:
        asked = [request for request in requests if request[3].endswith(name)]
        assert len(asked) == 1 and asked[0][1] < 1.05 * family["parts"][0].nbytes + 2048, (name, asked)
    assert len([request for request in requests if request[3].endswith("all.bd")]) <= 3, requests


def test_files_are_read_side_by_side_and_in_order(web, family, scratch, proxy):
    """Sixteen files behind a slow way: as many at a time as requests may be under way, whole and in slices."""
    import threading
    import time

    catalogue(family["folder"] / "many.bd", [family["names"][n % 3] for n in range(16)], [4000] * 16)
    lock, now, most = threading.Lock(), 0, 0

    def plan(number, head):
        def slow(client, answer, body):
            nonlocal now, most
            with lock:
                now, most = now + 1, max(most, now + 1)
            time.sleep(0.3)
            with lock:
                now -= 1
            servers.passed(client, answer, body)

        return slow if "/part" in head else None

    server = proxy(plan)
    out = scratch / "rho.raw"
    for options, slices in (([], np.s_[:]), (["--slice", ":,5:7,1:4"], np.s_[:, 5:7, 1:4]), (["--slice", "14:1:-1,::1000"], np.s_[14:1:-1, ::1000])):
        expected = family["parts"][[n % 3 for n in range(16)]][slices]
        for flight in (8, 2):
            most, started = 0, time.monotonic()
            trilith("get", "--layout", family["folder"] / "run.dud", "/rho", *options, "-o", out, "--catalog", server.url("family/many.bd"), "--remote", f"in-flight={flight}")
            assert out.read_bytes() == expected.tobytes()
            assert 1 < most <= flight, most
            assert flight == 2 or time.monotonic() - started < 16 * 0.3 / 2


def test_the_file_that_fails_is_named(web, family, scratch, proxy):
    catalogue(family["folder"] / "gap.bd", ["part0.bd", "part1.bd", "gone.bd", "part2.bd"], [4000] * 4)
    for options in ([], ["--slice", ":,5:7"]):
        _, said = trilith("get", "--layout", family["folder"] / "run.dud", "/rho", *options, "-o", scratch / "x", "--catalog", web.url("family/gap.bd"), status=2)
        assert "gone.bd" in said and "404" in said and "part" not in said, said


def test_places_without_opening_a_file(web, family):
    with web.counted() as requests:
        out, _ = trilith("layout", "locate", family["folder"] / "run.dud", "/rho", "--catalog", web.url("family/all.bd"), "--json")
    assert len(json.loads(out)["files"]) == 3
    assert not [request for request in requests if "part" in request[3]]


def test_a_catalogue_does_not_lead_elsewhere(web, family, scratch):
    path = family["folder"] / "evil.bd"
    catalogue(path, ["../family/part0.bd", "http://127.0.0.1:1/x.bd"], [4000, 4000])
    _, said = trilith("get", "--layout", family["folder"] / "run.dud", "/rho", "-o", scratch / "x", "--catalog", web.url("family/evil.bd"), status=2)
    assert "refused" in said and "--allow" in said, said


def test_a_layout_beside_a_stream(web, family):
    out, _ = trilith("get", web.url("family/part1.bd") + "#/rho", "--slice", "0,0:3")
    assert out.split() == [b"1.0", b"2.0", b"3.0"]


def test_a_catalog_lists_files_by_their_urls(web, family, scratch):
    layout, catalog, out = family["folder"] / "run.dud", scratch / "urls.bd", scratch / "rho.raw"
    urls = [web.url(f"family/{name}") for name in family["names"]]
    trilith("layout", "catalog", layout, *urls[:2], "-o", catalog)
    trilith("layout", "catalog", catalog, *urls, "-o", catalog, "--add")
    trilith("get", f"{catalog}#/rho", "-o", out, "--allow", web.url("family/"))
    assert out.read_bytes() == family["parts"].tobytes()
    trilith("layout", "catalog", catalog, "--check", catalog)
    # A catalog of somebody else leads nowhere without leave.
    _, said = trilith("get", f"{catalog}#/rho", "-o", scratch / "x", status=2)
    assert "--allow" in said, said
