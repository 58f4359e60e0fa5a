"""Each provider of objects with each way of failing, and none that shows a credential: one table for reading.

Emulators grant and refuse, but none expires, throttles, or breaks off; `emulators.Play` does. A row is a fault, a column a provider.
"""

import json
import re
import subprocess
import urllib.request

import pytest
import servers
from emulators import part
from servers import trilith
from test_cloud import HOME, SECRETS, content, expected, play  # noqa: F401

ACCESS = "AKIDSECRETPART"
NOWHERE = {"AWS_EC2_METADATA_SERVICE_ENDPOINT": "http://127.0.0.1:9", "GCE_METADATA_HOST": "127.0.0.1:9", "AZURE_IMDS_ENDPOINT": "http://127.0.0.1:9"}


class Provider:
    """How a service is addressed, asked with a credential, and how it says no."""

    def __init__(self, scheme, place, credential, is_signed, denied, expired):
        self.scheme, self.place, self.credential = scheme, place, credential
        self.is_signed, self.denied, self.expired = is_signed, denied, expired

    def environment(self, store, signed=True):
        found = HOME | NOWHERE | {"PATH": "/nowhere"} | self.place(store.url)
        return found | self.credential if signed else found

    def url(self, key="x.asdf"):
        return f"{self.scheme}://b/{key}"


def lower(headers):
    return {name.lower(): value for name, value in headers.items()}


def refusal(status, code):
    return status, {"Content-Type": "application/xml"}, f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>no</Message></Error>".encode()


PROVIDERS = {
    "s3": Provider(
        "s3",
        lambda url: {"AWS_ENDPOINT_URL": url},
        {"AWS_ACCESS_KEY_ID": ACCESS, "AWS_SECRET_ACCESS_KEY": "WJALRSECRET", "AWS_SESSION_TOKEN": "SESSIONTOKEN"},
        lambda line, headers: "authorization" in lower(headers) or "x-amz-security-token" in lower(headers) or "x-amz-" in line.lower(),
        refusal(403, "AccessDenied"),
        refusal(400, "ExpiredToken"),
    ),
    "google": Provider(
        "gs",
        lambda url: {"STORAGE_EMULATOR_HOST": url},
        {"GOOGLE_OAUTH_ACCESS_TOKEN": "GOOGLETOKEN"},
        lambda line, headers: "authorization" in lower(headers),
        refusal(403, "AccessDenied"),
        refusal(401, "AuthenticationRequired"),
    ),
    "azure": Provider(
        "az",
        lambda url: {"AZURE_STORAGE_ENDPOINT": url, "AZURE_STORAGE_ACCOUNT_NAME": "a"},
        {"AZURE_STORAGE_SAS_TOKEN": "sv=2024-11-04&sr=c&sig=SASSIGNATURE"},
        lambda line, headers: "authorization" in lower(headers) or "sig=" in line,
        refusal(403, "AuthorizationFailure"),
        refusal(403, "AuthenticationFailed"),
    ),
}


@pytest.fixture(params=PROVIDERS)
def provider(request):
    return PROVIDERS[request.param]


class Store:
    """The answers of a bucket whose objects are for those with a credential, with a fault on the way."""

    def __init__(self, provider, content, fault=None, is_open=False):
        self.provider, self.content, self.fault, self.is_open, self.count = provider, content, fault, is_open, 0

    def act(self, found, headers, body):
        self.count += 1
        if self.fault and (answer := self.fault(self.count, headers)) is not None:
            return answer
        if not self.is_open and not self.provider.is_signed(found.string, headers):
            return self.provider.denied
        return part(self.content, headers)


# Each: what is answered to the n-th request in place of the content (None: the content), and what is said (None: all is well).
CUT = {"Connection": "close"}
READING = {
    "sound": (lambda provider, content: lambda n, headers: None, None),
    "throttled at first": (lambda provider, content: lambda n, headers: (503, {"Retry-After": "0"}, refusal(503, "SlowDown")[2]) if n == 1 else None, None),
    "too many requests": (lambda provider, content: lambda n, headers: (429, {"Retry-After": "0"}, b"") if n == 2 else None, None),
    "an error of the service": (lambda provider, content: lambda n, headers: (500, {}, b"") if n == 1 else None, None),
    "cut off": (
        lambda provider, content: lambda n, headers: (200, {"ETag": '"v1"', "Content-Length": str(len(content)), **CUT}, content[:1000]) if n == 1 else None,
        None,
    ),
    "denied": (lambda provider, content: lambda n, headers: provider.denied, r"403"),
    "expired from the start": (lambda provider, content: lambda n, headers: provider.expired, r"40[013]"),
    "expired under way": (lambda provider, content: lambda n, headers: provider.expired if n > 1 else None, r"40[013]"),
    "replaced under way": (lambda provider, content: lambda n, headers: part(content, {k: v for k, v in headers.items() if k.lower() == "range"}, '"v2"') if n > 1 else None, r"changed"),
    "missing": (lambda provider, content: lambda n, headers: refusal(404, "NoSuchKey"), r"404|not found|does not exist"),
}


def test_every_provider_with_every_fault(provider, play, content, expected, scratch):  # noqa: F811
    for name, (fault, complaint) in READING.items():
        store = play((r"(GET|HEAD) /b/", Store(provider, content, fault(provider, content)).act))
        environment = provider.environment(store)
        # Ranges of one array, so that there are several requests; and everything.
        for words in (["digest", provider.url()], ["get", provider.url() + "#/b", "-o", scratch / "b.npy", "--overwrite"]):
            store.script[:] = [(r"(GET|HEAD) /b/", Store(provider, content, fault(provider, content)).act)]
            out, said = trilith(*words, environment=environment, status=None)
            secrets = [secret for secret in [*SECRETS, ACCESS] if secret.encode() in out or secret in said]
            assert not secrets, (name, said)
            if complaint is None:
                assert said == "" or "b.npy" in said, (name, words, said)
                assert words[0] == "get" or out == expected, (name, said)
            elif len(store.asked) > 1 or "under way" not in name:
                # A file that came by the first answer is whole, whatever would have come after it.
                assert re.search(complaint, said), (name, words, said)
                assert not (scratch / "b.npy").exists(), name
            (scratch / "b.npy").unlink(missing_ok=True)


def test_open_objects_need_no_credential_and_get_none(provider, play, content, expected):  # noqa: F811
    store = play((r"(GET|HEAD) /b/", Store(provider, content, is_open=True).act))
    out, said = trilith("digest", provider.url(), environment=provider.environment(store, signed=False))
    assert (out, said) == (expected, "")
    out, said = trilith("digest", provider.url(), "--remote", "anonymous=yes", environment=provider.environment(store))
    assert (out, said) == (expected, "")
    assert store.asked and not any(provider.is_signed(line, headers) for line, headers, _ in store.asked)


def referring(url):
    import files

    return files.HEADER + f'far: {{$ref: "{url}#/title"}}\n...\n'.encode()


@pytest.mark.parametrize("target", PROVIDERS)
def test_references_take_no_credential_to_another_bucket(provider, target, play, content):  # noqa: F811
    elsewhere = PROVIDERS[target]
    far = f"{elsewhere.scheme}://other/x.asdf"
    other = play((r"(GET|HEAD) /other/", Store(elsewhere, content, is_open=True).act))
    store = play((r"(GET|HEAD) /b/", Store(provider, referring(far)).act), (r"(GET|HEAD) /other/", Store(elsewhere, content, is_open=True).act))
    # Only the bucket that was named on the command line gets what is known of its service.
    environment = elsewhere.environment(other) | provider.environment(store)
    _, said = trilith("get", provider.url("main.asdf") + "#/far", environment=environment, status=2)
    assert "--allow" in said, said
    out, said = trilith("get", provider.url("main.asdf") + "#/far", "--allow", f"{elsewhere.scheme}://other/", environment=environment, status=None)
    asked = [(line, headers) for server in (store, other) for line, headers, _ in server.asked if "/other/" in line]
    assert out == b"small\n" and asked, said
    for line, headers in asked:
        assert not provider.is_signed(line, headers) and not elsewhere.is_signed(line, headers), (line, headers)


def test_the_viewer_shows_no_credential(provider, play, content):  # noqa: F811
    store = play((r"(GET|HEAD) /b/", Store(provider, content).act))
    environment = servers.CLEAN | provider.environment(store)
    words = [servers.PROGRAM, "view", "--no-browser", "--json", provider.url()]
    server = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment)
    try:
        text = b""
        while not text.endswith(b"}\n"):
            line = server.stdout.readline()
            assert line, f"trilith view ended: {text!r}"
            text += line
        base = json.loads(text)["address"].split("#")[0]
        shown = []
        for path in ("", "api/files", "api/tree?file=0", "api/tree?file=0&path=/b", "api/info?file=0", "api/blocks?file=0", "api/explain?file=0&path=/b"):
            try:
                with urllib.request.urlopen(base + path, timeout=60) as answer:
                    shown.append(answer.read())
            except urllib.error.HTTPError as error:
                shown.append(error.read())
        assert b"small" in b"".join(shown) or store.asked, shown
    finally:
        server.terminate()
        _, said = server.communicate(timeout=20)
    for text in [*shown, said]:
        assert not [secret for secret in [*SECRETS, ACCESS] if secret.encode() in text], text[:500]


def test_another_region_is_learned_and_told(play, content, expected):  # noqa: F811
    """S3 only: the other services have no regions in their addresses."""
    provider = PROVIDERS["s3"]

    def act(found, headers, body):
        if "/eu-central-1/s3/" not in headers["authorization"]:
            return 301, {"x-amz-bucket-region": "eu-central-1"}, refusal(301, "PermanentRedirect")[2]
        return part(content, headers)

    store = play((r"(GET|HEAD) /b/", act))
    assert trilith("digest", provider.url(), environment=provider.environment(store))[0] == expected
