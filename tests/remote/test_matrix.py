"""Each way of being let in or turned away, at each kind of object store: what is read, what is said, and that no secret leaves."""

import json
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request

import pytest
from emulators import Play, part
from servers import CLEAN, PROGRAM, trilith
from test_cloud import HOME, content, expected, play  # noqa: F401

KEY, TOKEN = "WJALRSECRETKEYEXAMPLE", "SESSIONTOKENEXAMPLE"
SHARED_KEY = "U0hBUkVES0VZU0VDUkVUU0hBUkVES0VZU0VDUkVU"
SECRETS = [KEY, TOKEN, SHARED_KEY, "SASSIGNATURE", "GOOGLETOKEN"]


def has(header, *parts):
    """Whether a request has this header with all these parts."""
    return lambda line, headers: all(part in (headers.get(header) or "") for part in parts)


# What each store is called, how it is found, and the credentials that it takes: environment, and how they are seen in a request.
STORES = {
    "s3": {
        "url": "s3://b/x.asdf",
        "at": lambda url: {"AWS_ENDPOINT_URL_S3": url, "AWS_EC2_METADATA_DISABLED": "true"},
        "credentials": {
            "key": ({"AWS_ACCESS_KEY_ID": "AKIDKEY", "AWS_SECRET_ACCESS_KEY": KEY}, has("authorization", "Credential=AKIDKEY/")),
            "session": (
                {"AWS_ACCESS_KEY_ID": "ASIASESSION", "AWS_SECRET_ACCESS_KEY": KEY, "AWS_SESSION_TOKEN": TOKEN},
                has("x-amz-security-token", TOKEN),
            ),
        },
    },
    "google": {
        "url": "gs://b/x.asdf",
        "at": lambda url: {"STORAGE_EMULATOR_HOST": url, "GCE_METADATA_HOST": "127.0.0.1:9"},
        "credentials": {"token": ({"GOOGLE_OAUTH_ACCESS_TOKEN": "GOOGLETOKEN"}, has("authorization", "Bearer GOOGLETOKEN"))},
    },
    "azure": {
        "url": "az://b/x.asdf",
        "at": lambda url: {
            "AZURE_STORAGE_ENDPOINT": url,
            "AZURE_STORAGE_ACCOUNT_NAME": "account",
            "AZURE_IMDS_ENDPOINT": "http://127.0.0.1:9",
            "PATH": "/nowhere",
        },
        "credentials": {
            "key": ({"AZURE_STORAGE_ACCOUNT_KEY": SHARED_KEY}, has("authorization", "SharedKey account:")),
            "signature": ({"AZURE_STORAGE_SAS_TOKEN": "sv=2024&sp=r&sig=SASSIGNATURE"}, lambda line, headers: "sig=SASSIGNATURE" in line),
        },
    },
}
PAIRS = [(name, kind) for name, store in STORES.items() for kind in store["credentials"]]
REFUSED = {"s3": 403, "google": 401, "azure": 403}


def environment(name, server, kind=None):
    store = STORES[name]
    # Libraries that log when they are asked to must not log this.
    return HOME | {"RUST_LOG": "trace"} | store["at"](server.url) | (store["credentials"][kind][0] if kind else {})


def holds_no_secret(*texts):
    for text in texts:
        text = text if isinstance(text, str) else text.decode(errors="replace")
        assert not [secret for secret in SECRETS if secret in urllib.parse.unquote(text)], text


def said(out):
    holds_no_secret(*out)
    return out[1]


def guarded(bytes_, allowed, refusal):
    return lambda found, headers, body: part(bytes_, headers) if allowed(found.string, headers) else refusal


@pytest.mark.parametrize("name", STORES)
def test_anonymous(play, content, expected, name):  # noqa: F811
    store = play((r"GET /b/", lambda found, headers, body: part(content, headers)))
    out, words = trilith("digest", STORES[name]["url"], environment=environment(name, store))
    assert (out, words) == (expected, "")
    assert store.asked and not any(name.lower() == "authorization" for _, headers, _ in store.asked for name in headers)


@pytest.mark.parametrize(("name", "kind"), PAIRS)
def test_with_credentials(play, content, expected, name, kind):  # noqa: F811
    is_right = STORES[name]["credentials"][kind][1]
    store = play((r"GET /b/", guarded(content, is_right, (REFUSED[name], {}, b"<Error><Code>AccessDenied</Code></Error>"))))
    out = trilith("digest", STORES[name]["url"], environment=environment(name, store, kind))
    assert out == (expected, "")
    assert all(is_right(line, headers) for line, headers, _ in store.asked)


@pytest.mark.parametrize(("name", "kind"), PAIRS)
@pytest.mark.parametrize("code", ["ExpiredToken", "AccessDenied"])
def test_expired_and_denied(play, name, kind, code):  # noqa: F811
    """The answer repeats what was sent: what it says is shown, but not that."""

    def refuse(found, headers, body):
        sent = f"{found.string} {headers.get('authorization')} {headers.get('x-amz-security-token')}"
        return REFUSED[name], {}, f"<Error><Code>{code}</Code><Message>not so: {sent}</Message></Error>".encode()

    store = play((r"GET /b/", refuse))
    for command in (["info"], ["info", "--json"], ["table", "-c", "t=/title"]):
        out = trilith(command[0], STORES[name]["url"], *command[1:], environment=environment(name, store, kind), status=2)
        words = said(out) + out[0].decode()
        assert str(REFUSED[name]) in words and "x.asdf" in words, words
    # Without credentials it was tried, too, and only once for each command.
    is_right = STORES[name]["credentials"][kind][1]
    plain = [line for line, headers, _ in store.asked if not is_right(line, headers)]
    assert 1 <= len(plain) <= 4, plain


@pytest.mark.parametrize(("name", "kind"), PAIRS)
@pytest.mark.parametrize("status", [429, 503])
def test_throttled(play, content, expected, name, kind, status):  # noqa: F811
    is_right, calls = STORES[name]["credentials"][kind][1], []

    def act(found, headers, body):
        calls.append(time.monotonic())
        if len(calls) == 1:
            return status, {"Retry-After": "1"}, b"<Error><Code>SlowDown</Code></Error>"
        return part(content, headers) if is_right(found.string, headers) else (REFUSED[name], {}, b"")

    store = play((r"GET /b/", act))
    out = trilith("digest", STORES[name]["url"], environment=environment(name, store, kind))
    said(out)
    assert out[0] == expected and calls[1] - calls[0] >= 0.95, calls


@pytest.mark.parametrize(("name", "kind"), PAIRS)
@pytest.mark.parametrize("at", [1, 2])
def test_interrupted(play, content, expected, name, kind, at):  # noqa: F811
    is_right, calls = STORES[name]["credentials"][kind][1], []

    def act(found, headers, body):
        calls.append(1)
        if len(calls) == at:
            return None
        return part(content, headers) if is_right(found.string, headers) else (REFUSED[name], {}, b"")

    store = play((r"GET /b/", act))
    out = trilith("digest", STORES[name]["url"], environment=environment(name, store, kind))
    said(out)
    assert out[0] == expected


@pytest.mark.parametrize(("name", "kind"), PAIRS)
def test_replaced_under_way(play, content, name, kind):  # noqa: F811
    calls = []

    def act(found, headers, body):
        calls.append(1)
        return part(content, headers, '"v1"' if len(calls) == 1 else '"v2"')

    store = play((r"GET /b/", act))
    assert "changed" in said(trilith("digest", STORES[name]["url"], environment=environment(name, store, kind), status=2))


@pytest.mark.parametrize("kind", ["key", "session"])
def test_another_region(play, content, expected, kind):  # noqa: F811
    def act(found, headers, body):
        if "/eu-south-2/s3/" not in headers.get("authorization", ""):
            return 400, {"x-amz-bucket-region": "eu-south-2"}, b"<Error><Code>AuthorizationHeaderMalformed</Code></Error>"
        return part(content, headers)

    store = play((r"GET /b/", act))
    out = trilith("digest", "s3://b/x.asdf", environment=environment("s3", store, kind))
    said(out)
    assert out[0] == expected


@pytest.mark.parametrize(("name", "kind"), PAIRS)
def test_nothing_goes_elsewhere(play, content, name, kind):  # noqa: F811
    """By a redirect, by an array in another file, and by a reference: none of them takes credentials along."""
    elsewhere = Play([(r"GET /", lambda found, headers, body: part(content, headers))])
    head = "#ASDF 1.0.0\n#ASDF_STANDARD 1.6.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n--- !core/asdf-1.1.0\n"
    array = f"a: !core/ndarray-1.1.0 {{source: '{elsewhere.url}/small.asdf', datatype: int16, byteorder: little, shape: [2]}}\n"
    tree = (head + array + f"r: {{$ref: '{elsewhere.url}/small.asdf#/title'}}\n...\n").encode()
    store = play(
        (r"GET /b/x", lambda found, headers, body: (307, {"Location": f"{elsewhere.url}/small.asdf"}, b"")),
        (r"GET /b/y", lambda found, headers, body: part(tree, headers)),
    )
    where, url = environment(name, store, kind), STORES[name]["url"]
    said(trilith("info", url, "--allow", elsewhere.url, environment=where, status=None))
    other = url.replace("x.asdf", "y.asdf")
    for path in ("a", "r"):
        said(trilith("get", f"{other}#/{path}", "--allow", elsewhere.url, environment=where, status=None))
    elsewhere.stop()
    assert elsewhere.asked
    for line, headers, _ in elsewhere.asked:
        holds_no_secret(line, json.dumps(headers))
        assert not {"authorization", "x-amz-security-token"} & {name.lower() for name in headers}, headers


@pytest.mark.parametrize(("name", "kind"), PAIRS)
def test_the_page_of_the_viewer(play, content, name, kind):  # noqa: F811
    is_right = STORES[name]["credentials"][kind][1]
    store = play((r"GET /b/x", guarded(content, is_right, (REFUSED[name], {}, b""))))
    command = [PROGRAM, "view", "--no-browser", "--json", STORES[name]["url"]]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=CLEAN | environment(name, store, kind))
    try:
        text = b""
        while True:
            line = server.stdout.readline()
            assert line, server.stderr.read()
            text += line
            try:
                address = json.loads(text)["address"]
                break
            except json.JSONDecodeError:
                continue

        def ask(path):
            try:
                answer = urllib.request.urlopen(address + path, timeout=60)
            except urllib.error.HTTPError as error:
                answer = error
            return answer.read(), str(answer.headers)

        shown = [text, *ask(""), *ask("api/files"), *ask("api/tree?file=0&path="), *ask("api/info?file=0"), *ask("api/array?file=0&path=/a")]
        assert any(b"x.asdf" in part for part in shown if isinstance(part, bytes))
        # From now on the store refuses, and so the page has errors to show.
        store.script[:] = [(r".*", lambda found, headers, body: (403, {}, f"{found.string} {headers.get('authorization')}".encode()))]
        shown += [*ask("api/array?file=0&path=/c"), *ask("api/stats?file=0&path=/b")]
        holds_no_secret(*shown)
    finally:
        server.terminate()
        server.wait()
        holds_no_secret(server.stderr.read())
        server.stdout.close()
        server.stderr.close()
