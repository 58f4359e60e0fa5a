"""The server of our own answers as nginx does, so that it does not matter which of them the other tests ask."""

import email
import http.client

import pytest
import servers

SIZE = 1000
COMPARED = ("content-length", "content-range", "accept-ranges", "www-authenticate", "last-modified")

# Path, headers; `{tag}` and `{date}` are the file's own.
REQUESTS = [
    ("f.bin", {}),
    ("single/f.bin", {}),
    ("plain/f.bin", {}),
    ("%66.bin?query=1", {}),
    ("none.bin", {}),
    ("deep/../f.bin", {}),
    ("../f.bin", {}),
    ("private/f.bin", {}),
    ("private/f.bin", {"Authorization": "Basic bmFtZTpwYXNzIHdvcmQ="}),
    ("private/f.bin", {"Authorization": "Basic bmFtZTp3cm9uZw=="}),
    *[
        (place + "f.bin", {"Range": f"bytes={ranges}"})
        for place in ("", "single/", "plain/")
        for ranges in (
            "0-0",
            "0-99",
            "990-",
            "-10",
            "-5000",
            "990-5000",
            "1000-",
            "1000-2000",
            "0-9,20-29",
            "0-9,20-29,990-",
            "0-9,2000-3000",
            "0-999,0-999",
            "5-4",
            "x",
        )
    ],
    *[
        ("f.bin", {"Range": "bytes=10-19", name: value})
        for name, value in [
            ("If-Match", "{tag}"),
            ("If-Match", '"other"'),
            ("If-Match", '"other", {tag}'),
            ("If-Match", "*"),
            ("If-None-Match", "{tag}"),
            ("If-None-Match", '"other"'),
            ("If-Range", "{tag}"),
            ("If-Range", '"other"'),
            ("If-Range", "{date}"),
            ("If-Unmodified-Since", "{date}"),
            ("If-Unmodified-Since", "Thu, 01 Jan 2015 00:00:00 GMT"),
            ("If-Modified-Since", "{date}"),
            ("If-Modified-Since", "Thu, 01 Jan 2015 00:00:00 GMT"),
        ]
    ],
]


def ask(port, method, path, headers):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    connection.request(method, f"/{path}", headers=headers)
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer, body


def parts_of(answer, body):
    """The parts of an answer: (range, bytes) each; of a refusal none, since its text is the server's own."""
    if answer.status >= 400:
        return []
    if not answer.headers.get_content_type().startswith("multipart/"):
        return [(None, body)]
    head = f"Content-Type: {answer.headers['Content-Type']}\r\n\r\n".encode()
    return [(part["Content-Range"], part.get_payload(decode=True)) for part in email.message_from_bytes(head + body).get_payload()]


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    if not servers.NGINX:
        pytest.skip("no nginx to compare with (apt-get install nginx-light)")
    root = tmp_path_factory.mktemp("both")
    (root / "deep").mkdir()
    # Text, so that no line end of the parts is in doubt.
    (root / "f.bin").write_bytes((b"0123456789" * SIZE)[:SIZE])
    made = [kind(root, tmp_path_factory.mktemp("logs")) for kind in (servers.Nginx, servers.Web)]
    yield made
    for one in made:
        one.stop()


@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize(("path", "headers"), REQUESTS)
def test_both_servers_answer_alike(both, method, path, headers):
    said = []
    for one in both:
        first, _ = ask(one.port, "GET", "f.bin", {})
        own = {"tag": first.headers["ETag"], "date": first.headers["Last-Modified"]}
        answer, body = ask(one.port, method, path, {name: value.format(**own) for name, value in headers.items()})
        shown = {name: answer.headers.get(name) for name in COMPARED}
        if answer.status >= 400 or answer.headers.get_content_type().startswith("multipart/"):
            del shown["content-length"]  # of a text, or with a boundary, of the server's own
        if answer.status in (200, 206):
            assert answer.headers["ETag"] == own["tag"]
        said.append((answer.status, shown, parts_of(answer, body) if method == "GET" else None))
    assert said[0] == said[1]


def test_both_servers_count_alike(both):
    counts = []
    for one in both:
        with one.counted() as requests:
            ask(one.port, "GET", "f.bin", {"Range": "bytes=0-99,200-299"})
            ask(one.port, "GET", "none.bin", {})
        counts.append([(status, ranges, path) for status, _, ranges, path in requests])
        assert 200 < requests[0][1] < 1000, "the bytes of the answer, with its headers"
    assert counts[0] == counts[1]
