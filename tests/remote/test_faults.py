"""Every fault at every request: right bytes or a clear error, in time."""

import time

import pytest
import servers
from servers import FAULTS, trilith

# Faults that are over when the request is repeated, and those that mean another file.
REPEATED = {"reset", "refused", "stall", "short", "wrong range", "416", "503", "500"}
QUICK = {"TRILITH_REMOTE": "timeout=1,retries=2"}
LIMIT = 60


def digest(url, environment=QUICK):
    start = time.monotonic()
    out, said = trilith("digest", url, status=None, environment=environment, limit=LIMIT)
    return out, said, time.monotonic() - start


@pytest.fixture(scope="module")
def expected(web, small):
    return trilith("digest", small["path"])[0]


@pytest.fixture(scope="module")
def requests_needed(web, small):
    proxy = servers.Proxy(web.port)
    trilith("digest", proxy.url("small.asdf"))
    proxy.stop()
    return proxy.count


@pytest.mark.parametrize("prefix", ["", "plain/"])
@pytest.mark.parametrize("name", FAULTS)
def test_once_at_each_request(proxy, expected, requests_needed, name, prefix):
    for at in range(requests_needed if not prefix else 1):
        server = proxy(lambda number, head, at=at: FAULTS[name] if number == at else None)
        out, said, took = digest(server.url(prefix + "small.asdf"))
        assert took < 30
        if name in REPEATED:
            assert out == expected, (at, said)
        elif out != expected:
            # For the first request the file is as it is; later it is another, or gone.
            assert at > 0 or name in ("404", "412", "changed"), said
            assert "changed" in said if name == "changed" or name == "412" and at > 0 else ("404" in said or "412" in said), said
        if name in ("changed", "412") and at > 0:
            assert out != expected and "changed on the server" in said


@pytest.mark.parametrize("name", FAULTS)
def test_once_while_a_long_array_is_streamed(proxy, medium, name):
    """At the first of its long requests and at a later one; how many there are depends on how fast the bytes come."""
    import re

    expected = trilith("digest", medium["path"])[0]
    for at in (0, 2):
        long = []

        def plan(number, head, at=at, long=long):
            asked = re.search(r"(?i)range: bytes=(\d+)-(\d+)", head)
            if asked and int(asked[2]) - int(asked[1]) > 4 << 20:
                long.append(number)
                return FAULTS[name] if len(long) == at + 1 else None
            return None

        server = proxy(plan)
        out, said, took = digest(server.url("medium.asdf"))
        assert took < 30 and len(long) > at
        if name in REPEATED:
            assert out == expected, (at, said)
        else:
            assert out != expected and ("changed" in said or "404" in said), (at, said)
            assert not set(out.split()) - set(expected.split()), "whatever is printed is right"


@pytest.mark.parametrize("name", [name for name in FAULTS if name != "changed"])
def test_from_each_request_on(proxy, expected, requests_needed, name):
    """What does not go away is an error that names it, and no partial answer."""
    # A stall takes its time.
    for at in range(0, requests_needed, 3 if name == "stall" else 1):
        server = proxy(lambda number, head, at=at: FAULTS[name] if number >= at else None)
        out, said, took = digest(server.url("small.asdf"), {"TRILITH_REMOTE": "timeout=1,retries=1"})
        assert took < 40
        # Short answers bring something each time.
        assert out == expected if name in ("short", "reset", "stall") and out == expected else said, (at, said)
        if out != expected:
            assert not set(out.split()) - set(expected.split()), "whatever is printed is right"
            assert "127.0.0.1" in said, said


def test_a_file_that_changes_is_never_mixed(web, folder, proxy):
    """The server heeds If-Match: the second half of the new file is not put behind the first of the old."""
    path = folder / "changing.asdf"
    import files

    def fill(byte):
        new = folder / "new.asdf"
        data = bytes([byte]) * (4 << 20)
        files.write(new, files.array("a", 0, "uint8", [len(data)]), [(b"\0" * 4, data, len(data))])
        new.replace(path)

    fill(1)

    def plan(number, head):
        if number == 2:
            time.sleep(1.1)  # an mtime has seconds
            fill(2)

    server = proxy(plan)
    _, said = trilith("digest", server.url("changing.asdf"), status=None, environment=QUICK)
    assert "changed on the server" in said
    assert any("If-Match" in head or "if-match" in head for head in server.heads)


def test_a_weak_tag_is_compared_with_the_time(web, small, proxy):
    import re

    def weaken(client, head, body):
        client.sendall(re.sub(rb'(?i)etag: "', b'ETag: W/"', head) + b"\r\n\r\n" + body)

    server = proxy(lambda number, head: weaken)
    trilith("digest", server.url("small.asdf"))
    assert any("if-unmodified-since" in head.lower() for head in server.heads[1:])


@pytest.mark.parametrize("tag", ["weak", "none"])
def test_files_are_told_apart_without_a_strong_tag(proxy, expected, small, tag):
    """By the time, and by the tag if it is weak."""
    import re

    def answer(changed):
        def send(client, head, body):
            if tag == "weak":
                head = re.sub(rb'(?i)etag: "', b'ETag: W/"' + (b"other" if changed else b""), head)
            else:
                head = re.sub(rb"(?i)etag: [^\r]*\r\n", b"", head)
                if changed:
                    head = re.sub(rb"(?i)last-modified: [^\r]*", b"Last-Modified: Mon, 02 Jan 2023 00:00:00 GMT", head)
            client.sendall(head + b"\r\n\r\n" + body)

        return send

    server = proxy(lambda number, head: answer(False))
    assert digest(server.url("small.asdf"))[0] == expected
    count = server.count
    assert "if-unmodified-since" in server.heads[-1].lower()
    for at in range(1, count):
        server = proxy(lambda number, head, at=at: answer(number == at))
        out, said, _ = digest(server.url("small.asdf"))
        assert out != expected and "changed on the server" in said, (at, said)


def nameless(client, head, body):
    """An answer that does not say of which version it is."""
    import re

    head = re.sub(rb"(?i)\r\n(etag|last-modified): [^\r]*", b"", head)
    client.sendall(head + b"\r\n\r\n" + body)


def test_a_file_whose_versions_have_no_names_comes_by_one_answer(proxy, expected, small):
    server = proxy(lambda number, head: nameless)
    assert digest(server.url("small.asdf"))[0] == expected
    assert server.count == 2 and "range:" not in server.heads[1].lower()


def test_an_answer_that_names_no_version_may_be_of_any(proxy, expected, small):
    server = proxy(lambda number, head: nameless if number == 1 else None)
    out, said, _ = digest(server.url("small.asdf"))
    assert out != expected and "changed on the server" in said


def test_encoded_answers_are_refused(proxy):
    """A server that compresses although nobody asked: its bytes are not those of the file."""

    def packed(client, head, body):
        client.sendall(head + b"\r\nContent-Encoding: gzip\r\n\r\n" + body)

    for path in ("small.asdf", "plain/small.asdf"):
        for at in (0, 1):
            server = proxy(lambda number, head, at=at: packed if number == at else None)
            out, said, _ = digest(server.url(path))
            assert "encoding" in said if server.count > at else out, said


def test_a_server_that_asks_for_patience_is_given_it(proxy, expected):
    wait = servers.answer("503 Service Unavailable", "Retry-After: 2")
    server = proxy(lambda number, head: wait if number == 1 else None)
    out, _, took = digest(server.url("small.asdf"))
    assert out == expected and took >= 2


def test_dates_of_retry_after_are_obeyed(proxy, expected):
    """All forms of RFC 9110, against the clock of the server; a longer time than minutes is an error. (The rest tier.)"""
    import email.utils

    for clock in (time.time(), time.time() + 86_400):
        for form in ("%a, %d %b %Y %H:%M:%S GMT", "%A, %d-%b-%y %H:%M:%S GMT", "%a %b %e %H:%M:%S %Y"):
            date = time.strftime(form, time.gmtime(clock + 2))
            wait = servers.answer("503 Service Unavailable", f"Date: {email.utils.formatdate(clock, usegmt=True)}\r\nRetry-After: {date}")
            server = proxy(lambda number, head, wait=wait: wait if number == 1 else None)
            out, _, took = digest(server.url("small.asdf"))
            assert out == expected and 2 <= took < 20, date
    wait = servers.answer("429 Too Many Requests", "Retry-After: 3600")
    _, said, took = digest(proxy(lambda number, head: wait).url("small.asdf"))
    assert "try again in 3600 seconds" in said and took < 2, said


def test_a_slow_server_is_waited_for(proxy, expected):
    def slow(client, head, body):
        client.sendall(head + b"\r\n\r\n")
        for at in range(0, len(body), max(1, len(body) // 8)):
            client.sendall(body[at : at + max(1, len(body) // 8)])
            time.sleep(0.3)

    server = proxy(lambda number, head: slow if number == 2 else None)
    assert digest(server.url("small.asdf"), {"TRILITH_REMOTE": "timeout=1,retries=0"})[0] == expected


def test_hostile_answers_end(proxy, web, small):
    """Endless headers, lengths that cannot be, drops of a body: an error, in time."""
    huge = servers.answer("206 Partial Content", "Content-Range: bytes 0-18446744073709551614/18446744073709551615")
    negative = servers.answer("206 Partial Content", "Content-Range: bytes 5-2/100")
    loop = servers.answer("302 Found", "Location: /small.asdf")

    def endless(client, head, body):
        while True:
            client.sendall(b"X-Header: " + b"a" * 1000 + b"\r\n")

    def drops(client, head, body):
        client.sendall(head + b"\r\n\r\n")
        for at in range(60):
            client.sendall(body[at : at + 1])
            time.sleep(0.4)

    def bomb(client, head, body):
        client.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: a/b\r\n\r\n")
        for _ in range(400):
            client.sendall(bytes(1 << 20))

    for fault in (huge, negative, loop, endless, drops, bomb):
        server = proxy(lambda number, head, fault=fault: fault)
        start = time.monotonic()
        _, said = trilith("info", server.url("small.asdf"), status=2, environment={"TRILITH_REMOTE": "timeout=1,retries=1"})
        assert said.startswith("trilith: ") and time.monotonic() - start < 40, said
