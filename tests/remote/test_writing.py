"""Objects that are written, and patterns in buckets: with the emulators, and with a service that plays the faults."""

import os
import re
import signal
import subprocess
import sys
import time

import emulators
import files
import pytest
from emulators import ACCOUNT, ACCOUNT_KEY, Bucket
from servers import CLEAN, PROGRAM, trilith
from test_cloud import HOME, holds_no_secret, play  # noqa: F401

KEY = {"AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": "WJALRSECRET"}
LARGE = ["--remote", "part=5M"]


class Place:
    """A bucket of an emulator: its URL, what the command needs, and another way to its objects."""

    def __init__(self, url, environment, put, get, names):
        self.url, self.environment, self.put, self.get, self.names = url, HOME | environment, put, get, names

    def trilith(self, *arguments, **how):
        return trilith(*arguments, environment=self.environment, **how)


@pytest.fixture(scope="module")
def s3(tmp_path_factory):
    import boto3
    from botocore.config import Config

    server = emulators.start_moto(tmp_path_factory.mktemp("moto"))
    endpoint = f"http://127.0.0.1:{server.port}"
    login = {"aws_access_key_id": "AKIDEXAMPLE", "aws_secret_access_key": "WJALRSECRET", "region_name": "us-east-1"}
    client = boto3.client("s3", endpoint_url=endpoint, config=Config(s3={"addressing_style": "path"}), **login)
    client.create_bucket(Bucket="bucket")
    yield Place(
        "s3://bucket",
        KEY | {"AWS_ENDPOINT_URL": endpoint},
        lambda key, content: client.put_object(Bucket="bucket", Key=key, Body=content),
        lambda key: client.get_object(Bucket="bucket", Key=key)["Body"].read(),
        lambda: [found["Key"] for found in client.list_objects_v2(Bucket="bucket").get("Contents", [])],
    )
    server.stop()


@pytest.fixture(scope="module")
def google(tmp_path_factory):
    import json
    import urllib.parse
    import urllib.request

    server = emulators.start_google(tmp_path_factory.mktemp("google"))
    host = f"http://127.0.0.1:{server.port}"

    def ask(path, body=None, kind="application/octet-stream"):
        return urllib.request.urlopen(urllib.request.Request(f"{host}{path}", body, {"Content-Type": kind})).read()

    ask("/storage/v1/b", b'{"name": "bucket"}', "application/json")
    name = lambda key: urllib.parse.quote(key, safe="")  # noqa: E731
    yield Place(
        "gs://bucket",
        {"STORAGE_EMULATOR_HOST": host, "GCE_METADATA_HOST": "127.0.0.1:9"},
        lambda key, content: ask(f"/upload/storage/v1/b/bucket/o?uploadType=media&name={name(key)}", content),
        lambda key: ask(f"/storage/v1/b/bucket/o/{name(key)}?alt=media"),
        lambda: [item["name"] for item in json.loads(ask("/storage/v1/b/bucket/o")).get("items", [])],
    )
    server.stop()


@pytest.fixture(scope="module")
def azure(tmp_path_factory):
    if not emulators.azurite():
        pytest.skip("azurite is not installed: npm install azurite@3.35.0, and AZURITE names the folder")
    from azure.storage.blob import BlobServiceClient

    server = emulators.start_azurite(tmp_path_factory.mktemp("azurite"))
    endpoint = f"http://127.0.0.1:{server.port}/{ACCOUNT}"
    client = BlobServiceClient(endpoint, credential={"account_name": ACCOUNT, "account_key": ACCOUNT_KEY})
    container = client.create_container("bucket")
    yield Place(
        "az://bucket",
        {"AZURE_STORAGE_ENDPOINT": endpoint, "AZURE_STORAGE_ACCOUNT_NAME": ACCOUNT, "AZURE_STORAGE_ACCOUNT_KEY": ACCOUNT_KEY},
        lambda key, content: container.upload_blob(key, content, overwrite=True),
        lambda key: container.download_blob(key).readall(),
        lambda: [found.name for found in container.list_blobs()],
    )
    server.stop()


@pytest.fixture(scope="module")
def bulky(tmp_path_factory):
    """A file that goes up in three parts of 5 MiB."""
    path = tmp_path_factory.mktemp("bulky") / "bulky.asdf"
    data = files.noise(12_000_000, 9)
    files.write(path, "title: bulky\n" + files.array("a", 0, "uint8", [len(data)]), [(b"\0" * 4, data, len(data))])
    return {"path": path}


@pytest.fixture(params=["s3", "google", "azure"])
def place(request):
    return request.getfixturevalue(request.param)


def test_objects_are_written_whole_and_never_replaced_unseen(place, small, scratch):
    url, name = f"{place.url}/new/a b+c/x.asdf", "new/a b+c/x.asdf"
    copy = scratch / "copy.asdf"
    trilith("convert", small["path"], copy)
    place.trilith("convert", small["path"], url)
    assert place.get(name) == copy.read_bytes()
    _, said = place.trilith("convert", small["path"], url, status=2)
    assert "already exists" in said and "--overwrite" in said, said
    place.trilith("convert", small["path"], url, "--codec", "lz4", "--overwrite")
    assert place.get(name) != copy.read_bytes()
    # From an object to itself.
    place.trilith("convert", url, url, "--codec", "none", "--overwrite")
    place.trilith("diff", url, small["path"])
    for line in (("get", f"{url}#/a", "-o", f"{place.url}/new/a.npy"), ("table", url, "-c", "title=/title", "-o", f"{place.url}/new/t.csv")):
        place.trilith(*line)
        _, said = place.trilith(*line, status=2)
        assert "already exists" in said, said
    assert place.get("new/t.csv").decode() == f"file,title\n{url},small\n"
    # An input is not written over.
    _, said = place.trilith("get", f"{url}#/a", "-o", url, "--format", "raw", "--overwrite", status=2)
    assert "would be lost" in said, said


def test_a_large_object_goes_up_in_parts(place, bulky, scratch):
    copy = scratch / "copy.asdf"
    trilith("convert", bulky["path"], copy)
    place.trilith("convert", bulky["path"], f"{place.url}/large.asdf", *LARGE)
    assert place.get("large.asdf") == copy.read_bytes()
    _, said = place.trilith("convert", bulky["path"], f"{place.url}/large.asdf", *LARGE, status=2)
    assert "already exists" in said, said
    place.trilith("convert", bulky["path"], f"{place.url}/large.asdf", *LARGE, "--overwrite")


def test_objects_are_not_changed_in_place(place, small):
    place.put("edit.asdf", small["path"].read_bytes())
    url = f"{place.url}/edit.asdf"
    for line in (("set", f"{url}#/title", "other"), ("delete", f"{url}#/title")):
        _, said = place.trilith(*line, status=None)
        assert any(why in said for why in ("as a whole", "cannot be", "not streamed")), (line, said)
    assert place.get("edit.asdf") == small["path"].read_bytes()
    place.trilith("set", f"{url}#/title", "other", "-o", f"{place.url}/edited.asdf")
    assert place.trilith("get", f"{place.url}/edited.asdf#/title")[0] == b"other\n"
    _, said = place.trilith("explode", url, "-o", f"{place.url}/parts", status=2)
    assert "several files" in said and not os.path.exists(place.url.split("/")[0]), said


def test_patterns_and_folders_in_buckets(place, small):
    content = small["path"].read_bytes()
    keys = [f"night{n}/r{m}.asdf" for n in (1, 2) for m in (1, 2, 10)]
    for key in [*keys, "night1/notes.txt", "night1/deep/r1.asdf", "night1/.hidden.asdf", "night 3&4/ä[1].asdf", "night1.asdf"]:
        place.put(key, content)

    def found(pattern, *more):
        out = place.trilith("table", f"{place.url}/{pattern}", "-c", "t=/title", "--format", "csv", *more)[0].decode()
        return [line.split(f"{place.url}/", 1)[1].split(",")[0] for line in out.splitlines()[1:]]

    assert found("night1/*.asdf") == ["night1/r1.asdf", "night1/r2.asdf", "night1/r10.asdf"]
    assert found("night[12]/r?.asdf") == ["night1/r1.asdf", "night1/r2.asdf", "night2/r1.asdf", "night2/r2.asdf"]
    assert found("*/deep/*") == ["night1/deep/r1.asdf"]
    assert found("night1/**/*.asdf") == ["night1/deep/r1.asdf", "night1/r1.asdf", "night1/r2.asdf", "night1/r10.asdf"]
    assert found("night1/") == found("night1/**/*.asdf")
    assert found("night1/*.asdf", "--hidden")[0] == "night1/.hidden.asdf"
    assert found("night 3&4/*") == found("night 3&4/ä[1].asdf") == ["night 3&4/ä[1].asdf"]
    out = place.trilith("search", f"{place.url}/night2/*.asdf", "--key", "title")[0].decode()
    assert [line.split("#", 1)[0] for line in out.splitlines()] == [f"{place.url}/night2/r{m}.asdf" for m in (1, 2, 10)], out
    for nothing in ("night1/*.fits", "no*/x.asdf", "none/"):
        _, said = place.trilith("table", f"{place.url}/{nothing}", "-c", "t=/title", status=2)
        assert "no object fits the pattern" in said or "no file of a known format" in said, said


# What no emulator does.


def at(play, bucket, service):
    store = play((r".*", bucket.act))
    if service == "s3":
        return store, "s3://b/x.asdf", HOME | KEY | {"AWS_ENDPOINT_URL": store.url}
    azure = {"AZURE_STORAGE_ENDPOINT": store.url, "AZURE_STORAGE_ACCOUNT_NAME": "a", "AZURE_STORAGE_ACCOUNT_KEY": ACCOUNT_KEY}
    return store, "az://b/x.asdf", HOME | azure


def once(pattern, answer):
    """A fault for the first request that fits."""
    return lambda line, headers, body: answer if re.match(pattern, line) else "pass"


@pytest.mark.parametrize("service", ["s3", "azure"])
@pytest.mark.parametrize("size", ["small", "large"])
def test_faults_on_the_way(play, service, size, request, scratch):  # noqa: F811
    path = request.getfixturevalue("small" if size == "small" else "bulky")["path"]
    copy = scratch / "copy.asdf"
    trilith("convert", path, copy)
    part = "PUT" if size == "small" else r"PUT .*(partNumber|blockid)="
    slow = (503, {"Retry-After": "0"}, b"<Error><Code>SlowDown</Code></Error>")
    bucket = Bucket(service, [once(part, slow), once(part, None), once(part, (500, {}, b""))])
    _, url, environment = at(play, bucket, service)
    trilith("convert", path, url, *LARGE, environment=environment)
    assert bucket.objects["/b/x.asdf"][0] == copy.read_bytes()
    assert bucket.parts == {}
    # The answer is lost after the object is in place: the writer finds its own mark.
    last = {"small": "PUT", "large": "POST .*uploadId|PUT .*blocklist"}[size]
    bucket, is_lost = Bucket(service), []
    store, url, environment = at(play, bucket, service)

    def act(found, headers, body):
        if not is_lost and re.match(last, found.string):
            is_lost.append(1)
            bucket.act(found, headers, body)
            return None
        return bucket.act(found, headers, body)

    store.script[:] = [(r".*", act)]
    trilith("convert", path, url, *LARGE, environment=environment)
    assert bucket.objects["/b/x.asdf"][0] == copy.read_bytes()


@pytest.mark.parametrize("service", ["s3", "azure"])
@pytest.mark.parametrize("size", ["small", "large"])
@pytest.mark.parametrize("overwrite", [False, True])
def test_another_writer_is_never_replaced(play, service, size, overwrite, request):  # noqa: F811
    path = request.getfixturevalue("small" if size == "small" else "bulky")["path"]
    bucket = Bucket(service)
    if overwrite:
        bucket.put("/b/x.asdf", b"old")
    store, url, environment = at(play, bucket, service)
    come = []

    def act(found, headers, body):
        if re.match("PUT|POST", found.string) and not come:
            come.append(1)
            bucket.put("/b/x.asdf", b"another writer's")
        return bucket.act(found, headers, body)

    store.script[:] = [(r".*", act)]
    _, said = trilith("convert", path, url, *LARGE, *(["--overwrite"] if overwrite else []), environment=environment, status=2)
    assert ("changed by another writer" if overwrite else "already exists") in said, said
    assert bucket.objects["/b/x.asdf"][0] == b"another writer's"
    if service == "s3" and size == "large":
        assert bucket.parts == {} and store.count("DELETE") == 1, "parts that nobody wants are removed"
    holds_no_secret(said)


class Careless(Bucket):
    """A service that ignores conditions."""

    def refused(self, key, headers):
        return False


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("marked", [False, True])
def test_second_writer_is_noticed_without_conditions(play, bulky, overwrite, marked):  # noqa: F811
    """Another writer comes while the parts go up, or right after the last request. (The rest tier.)"""
    metadata = {"x-amz-meta-trilithupload": "another"} if marked else {}
    for moment in ("before", "after"):
        bucket = Careless("s3")
        if overwrite:
            bucket.put("/b/x.asdf", b"old")
        store, url, environment = at(play, bucket, "s3")
        come = []

        def act(found, headers, body, bucket=bucket, come=come, moment=moment):
            is_last = re.match("POST .*uploadId", found.string)
            if moment == "before" and "partNumber" in found.string and not come:
                come.append(1)
                bucket.put("/b/x.asdf", b"another writer's", **metadata)
            answer = bucket.act(found, headers, body)
            if is_last and moment == "after":
                bucket.put("/b/x.asdf", b"another writer's", **metadata)
            return answer

        store.script[:] = [(r".*", act)]
        options = ["--overwrite"] if overwrite else []
        _, said = trilith("convert", bulky["path"], url, *LARGE, *options, environment=environment, status=2)
        word = "replaced by another writer" if moment == "after" else "changed by another writer" if overwrite else "already exists"
        assert word in said, (moment, said)
        assert bucket.objects["/b/x.asdf"][0] == b"another writer's" and bucket.parts == {}
        holds_no_secret(said)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("moment", ["uploads=", "partNumber", "refused"])
def test_signal_removes_parts_of_upload(play, bulky, number, moment):  # noqa: F811
    """While the upload begins, while a part goes up, and if the service refuses to give the upload up. (The rest tier.)"""
    bucket = Bucket("s3")
    store, url, environment = at(play, bucket, "s3")
    wanted = "partNumber" if moment == "refused" else moment

    def act(found, headers, body):
        if wanted in found.string:
            time.sleep(1)
        if moment == "refused" and found.string.startswith("DELETE"):
            return 403, {}, b""
        return bucket.act(found, headers, body)

    store.script[:] = [(r".*", act)]
    process = subprocess.Popen(
        [PROGRAM, "convert", bulky["path"], url, *LARGE], env=CLEAN | environment, stderr=subprocess.PIPE, text=True
    )
    while not store.count(f".*{wanted}"):
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(number)
    _, said = process.communicate(timeout=20)
    assert process.returncode == -number
    assert store.count("DELETE /b/x.asdf.uploadId=an%2Fid%26x$") == 1 and bucket.objects == {}
    assert ("cannot remove the parts" in said) == (moment == "refused"), said
    holds_no_secret(said)


def test_interrupt_in_python_removes_parts(play, bulky):  # noqa: F811
    """(The rest tier.)"""
    bucket = Bucket("s3")
    store, url, environment = at(play, bucket, "s3")

    def act(found, headers, body):
        if "partNumber" in found.string:
            time.sleep(1)
        return bucket.act(found, headers, body)

    store.script[:] = [(r".*", act)]
    program = "import sys, trilith; trilith.convert(sys.argv[1], sys.argv[2])"
    process = subprocess.Popen(
        [sys.executable, "-c", program, bulky["path"], url],
        env=CLEAN | environment | {"TRILITH_REMOTE": "part=5M"},
        stderr=subprocess.PIPE,
        text=True,
    )
    while not store.count(".*partNumber"):
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=20)
    assert "KeyboardInterrupt" in said, said
    assert store.count("DELETE /b/x.asdf.uploadId") == 1 and bucket.objects == {}


def test_signal_ends_session_of_google(play, bulky):  # noqa: F811
    """(The rest tier.)"""
    session, ended = Session(), []
    store, environment = at_google(play, session)

    def act(found, headers, body):
        if found.string.startswith("PUT"):
            time.sleep(1)
        return session.act(found, headers, body)

    store.script[:0] = [(r"DELETE", lambda *_: ended.append(1) or (499, {}, b"")), (r"PUT", act)]
    process = subprocess.Popen([PROGRAM, "convert", bulky["path"], "gs://b/x.asdf", *LARGE], env=CLEAN | environment)
    while not store.count("PUT"):
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    assert process.wait(20) == -signal.SIGINT and ended


@pytest.mark.parametrize("service", ["s3", "azure"])
def test_denied_expired_and_interrupted_uploads_leave_nothing(play, service, small, bulky):  # noqa: F811
    for answer, word in (
        ((403, {}, b"<Error><Code>AccessDenied</Code><Message>WJALRSECRET</Message></Error>"), "403"),
        ((400, {}, b"<Error><Code>ExpiredToken</Code></Error>"), "ExpiredToken"),
        ((503, {"Retry-After": "0"}, b""), "503"),
        (None, "times in a row"),
    ):
        for path in (small["path"], bulky["path"]):
            bucket = Bucket(service)
            store, url, environment = at(play, bucket, service)
            store.script.insert(0, (r"PUT", lambda *_, answer=answer: answer))
            _, said = trilith("convert", path, url, *LARGE, "--remote", "retries=1", environment=environment, status=2)
            assert word in said and "writing" in said, said
            assert bucket.objects == {} and bucket.parts.keys() <= {"/b/x.asdf"} if service == "azure" else bucket.parts == {}
            holds_no_secret(said)


def test_s3_in_another_region_and_an_error_after_200(play, bulky, scratch):  # noqa: F811
    bucket = Bucket("s3")
    store, url, environment = at(play, bucket, "s3")
    errors = [b"<Error><Code>InternalError</Code></Error>"]

    def act(found, headers, body):
        if "/eu-central-1/s3/" not in headers["authorization"]:
            return 400, {"x-amz-bucket-region": "eu-central-1"}, b"<Error><Code>AuthorizationHeaderMalformed</Code></Error>"
        if errors and re.match("POST .*uploadId", found.string):
            return 200, {}, errors.pop()
        return bucket.act(found, headers, body)

    store.script[:] = [(r".*", act)]
    trilith("convert", bulky["path"], url, *LARGE, environment=environment)
    assert not errors and "/b/x.asdf" in bucket.objects


def test_every_request_is_signed_with_its_content(play, bulky):  # noqa: F811
    import hashlib

    from test_s3 import signature

    bucket = Bucket("s3")
    store, url, environment = at(play, bucket, "s3")
    secret = {"AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"}
    trilith("convert", bulky["path"], url, *LARGE, environment=environment | secret)
    store.script.insert(0, (r"GET /b/\?", lambda *_: (200, {}, b"<ListBucketResult><Contents><Key>x.asdf</Key></Contents></ListBucketResult>")))
    trilith("table", "s3://b/x*+ é/**/*", "s3://b/*", "-c", "t=/title", environment=environment | secret, status=None)
    assert {line.split(" ")[0] for line, _, _ in store.asked} == {"HEAD", "POST", "PUT", "GET"}
    for line, headers, body in store.asked:
        given = dict(part.strip().split("=", 1) for part in headers["authorization"].removeprefix("AWS4-HMAC-SHA256 ").split(","))
        head = "\r\n".join([f"{line} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())])
        assert given["Signature"] == signature(line.split(" ")[0], head, given), line
        assert headers["x-amz-content-sha256"] == hashlib.sha256(body).hexdigest(), line


class Session:
    """An upload session of Google Cloud, with conditions and faults."""

    def __init__(self, generation=0):
        self.generation, self.data, self.wanted, self.stored, self.faults = generation, b"", None, None, []

    def act(self, found, headers, body):
        line = found.string
        if line.startswith("GET"):
            return (206, {"ETag": '"e"', "x-goog-generation": str(self.generation)}, b"") if self.generation else (404, {}, b"")
        if line.startswith("POST"):
            self.wanted = int(re.search(r"ifGenerationMatch=(\d+)", line)[1])
            if self.wanted != self.generation:
                return 412, {}, b""
            return 200, {"Location": f"{self.url}/upload/x?upload_id=SASSIGNATURE"}, b""
        if line.startswith("DELETE"):
            self.data = b""
            return 499, {}, b""
        if self.faults and (fault := self.faults.pop(0)) != "pass":
            if fault == "half":
                self.data += body[: len(body) // 2]
                return None
            return fault
        start, total = re.match(r"bytes (?:(\d+)-\d+|\*)/(\d+)", headers["content-range"]).groups()
        if start is not None:
            assert int(start) == len(self.data), "bytes that are there are not sent again, and none is left out"
            self.data += body
        if len(self.data) < int(total):
            return 308, ({"Range": f"bytes=0-{len(self.data) - 1}"} if self.data else {}), b""
        if self.wanted != self.generation:
            return 412, {}, b""
        self.stored, self.generation = self.data, self.generation + 7
        return 200, {}, b"{}"


def at_google(play, session):
    store = play((r".*", session.act))
    session.url = store.url
    return store, HOME | {"STORAGE_EMULATOR_HOST": store.url, "GOOGLE_OAUTH_ACCESS_TOKEN": "GOOGLETOKEN", "GCE_METADATA_HOST": "127.0.0.1:9"}


def test_a_session_of_google_goes_on_where_it_was_interrupted(play, bulky, scratch):  # noqa: F811
    copy = scratch / "copy.asdf"
    trilith("convert", bulky["path"], copy)
    session = Session()
    slow = (503, {"Retry-After": "0"}, b"")
    session.faults = ["pass", "half", "pass", slow, None, "pass", "half"]
    store, environment = at_google(play, session)
    trilith("convert", bulky["path"], "gs://b/x.asdf", "--remote", "part=4M", environment=environment)
    assert session.stored == copy.read_bytes()
    assert all("authorization" not in {name.lower() for name in headers} for line, headers, _ in store.asked if line.startswith("PUT"))
    # A second time: the generation that is seen must stay.
    _, said = trilith("convert", bulky["path"], "gs://b/x.asdf", environment=environment, status=2)
    assert "already exists" in said, said
    session.data = b""
    trilith("convert", bulky["path"], "gs://b/x.asdf", "--overwrite", environment=environment)
    assert session.wanted == 7 and session.generation == 14


def test_google_refuses_what_another_writer_made_and_shows_no_session(play, small):  # noqa: F811
    for fault, word in (((403, {}, b""), "403"), ((410, {}, b""), "gave the upload up"), ((412, {}, b""), "already exists")):
        session = Session()
        session.faults = [fault]
        store, environment = at_google(play, session)
        _, said = trilith("convert", small["path"], "gs://b/x.asdf", environment=environment, status=2)
        assert word in said, said
        assert session.stored is None and store.count("DELETE") == 1
        holds_no_secret(said)
    session = Session()
    store, environment = at_google(play, session)
    session.url = "http://127.0.0.1:9"
    _, said = trilith("convert", small["path"], "gs://b/x.asdf", environment=environment, status=2)
    assert "did not begin an upload" in said, "the content goes nowhere else"
    holds_no_secret(said)


def test_a_web_server_is_not_written_to(web, small):
    _, said = trilith("convert", small["path"], web.url("new.asdf"), status=2)
    assert "object stores, not to web servers" in said, said


def test_listings_go_on_page_by_page_and_survive_faults(play, small):  # noqa: F811
    content = small["path"].read_bytes()
    pages = {None: (["n/a.asdf", "n/b.asdf"], "p/2"), "p%2F2": (["n/c.asdf"], None)}
    failed = []

    def listing(found, headers, body):
        token = re.search(r"continuation-token=([^&]+)", found.string)
        if token and not failed:
            failed.append(1)
            return 503, {"Retry-After": "0"}, b""
        keys, following = pages[token and token[1]]
        text = "".join(f"<Contents><Key>{key}</Key></Contents>" for key in keys)
        more = f"<NextContinuationToken>{following}</NextContinuationToken>" if following else ""
        return 200, {}, f"<ListBucketResult>{text}{more}</ListBucketResult>".encode()

    store = play((r"GET /b/\?list-type=2", listing), (r"GET /b/n/", lambda found, headers, body: emulators.part(content, headers)))
    environment = HOME | KEY | {"AWS_ENDPOINT_URL": store.url}
    out, _ = trilith("table", "s3://b/n/*.asdf", "-c", "t=/title", "--format", "csv", environment=environment)
    assert out.count(b",small") == 3 and failed
    store.script[0] = (r"GET /b/\?list-type=2", lambda *_: (403, {}, b"<Error><Code>AccessDenied</Code></Error>"))
    _, said = trilith("table", "s3://b/n/*.asdf", "-c", "t=/title", environment=environment, status=2)
    assert "listing s3://b/n/" in said and "403" in said and "AccessDenied" in said, said
    holds_no_secret(said)
    store.script[0] = (r"GET /b/\?list-type=2", lambda *_: (200, {}, b"<html>sign in</html>"))
    _, said = trilith("table", "s3://b/n/*.asdf", "-c", "t=/title", "--remote", "retries=0", environment=environment, status=2)
    assert "is not a listing" in said, said


def test_python_writes_objects_and_reads_those_of_s3fs_without_it(s3, scratch, monkeypatch):
    trilith_python = pytest.importorskip("trilith")
    s3fs = pytest.importorskip("s3fs")
    endpoint = s3.environment["AWS_ENDPOINT_URL"]
    options = {"key": "AKIDEXAMPLE", "secret": "WJALRSECRET", "endpoint_url": endpoint}
    url = "s3://bucket/python.asdf"
    trilith_python.write(url, {"a": [1, 2, 3]}, storage_options=options)
    with pytest.raises(ValueError, match="already exists; give overwrite=True"):
        trilith_python.write(url, {"a": 1}, storage_options=options)
    trilith_python.write(url, {"a": [1, 2, 4]}, storage_options=options, overwrite=True)
    with trilith_python.open(url, storage_options=options) as file:
        file.write_to("s3://bucket/python2.asdf", storage_options=options)
    trilith_python.convert(url, "s3://bucket/python.finf", storage_options=options, allow_loss=True)
    assert {"python.asdf", "python2.asdf", "python.finf"} <= set(s3.names())
    found = trilith_python.table(["s3://bucket/python*.asdf"], {"a": "/a/2"}, storage_options=options)
    assert found["a"] == [4, 4]
    fs = s3fs.S3FileSystem(**options)
    handle = fs.open("bucket/python.asdf")

    def refused(*arguments, **named):
        raise AssertionError("the bytes went through Python")

    monkeypatch.setattr(type(fs), "cat_ranges", refused)
    monkeypatch.setattr(type(fs), "cat_file", refused)
    with trilith_python.open(handle) as file:
        assert list(file["a"]) == [1, 2, 4]
