"""S3 as a service on loopback speaks it (moto), behind a guard that checks signatures."""

import hashlib
import hmac
import os
import re
import subprocess
import sys

import files
import pytest
import servers
from servers import CLEAN, trilith


KEY, SECRET = "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"


def signature(method, head, given):
    """The signature that a request must have, by the rules of AWS (version 4, in the headers); moto compares none."""
    path, _, query = head.split(" ", 2)[1].partition("?")
    lines = [line.split(":", 1) for line in head.splitlines()[1:] if ":" in line]
    headers = {name.strip().lower(): value.strip() for name, value in lines}
    _, day, region, service, last = given["Credential"].split("/")
    names = given["SignedHeaders"].split(";")
    assert {"host", "x-amz-date"} <= set(names)
    said = [f"{name}:{headers[name]}" for name in names]
    pairs = "&".join(sorted(query.split("&")))
    content = headers["x-amz-content-sha256"]
    canonical = "\n".join([method, path, pairs, *said, "", given["SignedHeaders"], content])
    scope = f"{day}/{region}/{service}/{last}"
    text = "\n".join(["AWS4-HMAC-SHA256", headers["x-amz-date"], scope, hashlib.sha256(canonical.encode()).hexdigest()])
    key = b"AWS4" + SECRET.encode()
    for word in (day, region, service, last, text):
        key = hmac.new(key, word.encode(), "sha256").digest()
    return key.hex()


def denied(code):
    return servers.answer("403 Forbidden", "Content-Type: application/xml", body=f"<Error><Code>{code}</Code></Error>".encode())


def guard(number, head):
    """Lets through what is public, and what is signed as it must be."""
    assert "X-Amz-Signature" not in head.split("\r\n", 1)[0], "a signature in an address stands in logs"
    found = re.search(r"(?im)^authorization: AWS4-HMAC-SHA256 (.*?)\r?$", head)
    given = dict(part.strip().split("=", 1) for part in found[1].split(",")) if found else {}
    if found and given["Signature"] != signature("GET", head, given):
        return denied("SignatureDoesNotMatch")
    return None if found or "/public/" in head else denied("AccessDenied")


@pytest.fixture(scope="module")
def moto(small, tmp_path_factory):
    """The buckets `bucket.one` and `bucket-two`, with an object for everybody and one for a user."""
    import boto3
    from botocore.config import Config

    port = servers.free_port()
    log = open(tmp_path_factory.mktemp("moto") / "log", "wb")
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    process = subprocess.Popen(command, env=CLEAN, stdout=log, stderr=log)
    servers.wait_for(port, 60)
    login = {"aws_access_key_id": KEY, "aws_secret_access_key": SECRET, "region_name": "us-east-1"}
    client = boto3.client("s3", endpoint_url=f"http://127.0.0.1:{port}", config=Config(s3={"addressing_style": "path"}), **login)
    tree = (
        "near: {$ref: 'x.asdf#/title'}\nfar: {$ref: 's3://bucket-two/public/x.asdf#/title'}\n"
        "up: {$ref: '../secret/x.asdf#/title'}\n...\n"
    )
    for bucket in ("bucket.one", "bucket-two"):
        client.create_bucket(Bucket=bucket)
        for name in ("public/x.asdf", "secret/x.asdf", "public/a b+c%/ä.asdf"):
            acl = {"ACL": "public-read"} if name.startswith("public") else {}
            client.put_object(Bucket=bucket, Key=name, Body=small["path"].read_bytes(), **acl)
        client.put_object(Bucket=bucket, Key="public/main.asdf", Body=files.HEADER + tree.encode(), ACL="public-read")
    yield port
    process.terminate()
    process.wait(10)
    log.close()


@pytest.fixture
def s3(moto):
    proxy = servers.Proxy(moto, guard)
    yield {"endpoint": f"http://127.0.0.1:{proxy.port}", "port": proxy.port, "proxy": proxy, "key": KEY, "secret": SECRET}
    proxy.stop()


@pytest.fixture(scope="module")
def expected(small):
    return trilith("digest", small["path"])[0]


def signed(s3, **more):
    return {
        "AWS_ENDPOINT_URL": s3["endpoint"],
        "AWS_ACCESS_KEY_ID": s3["key"],
        "AWS_SECRET_ACCESS_KEY": s3["secret"],
        "AWS_REGION": "us-east-1",
        "HOME": os.devnull,
        **more,
    }


def anonymous(s3):
    return {"AWS_ENDPOINT_URL": s3["endpoint"], "HOME": os.devnull}


def test_without_credentials(s3, expected):
    assert trilith("digest", "s3://bucket.one/public/x.asdf", environment=anonymous(s3))[0] == expected
    assert trilith("digest", "s3://bucket.one/public/a b+c%/ä.asdf", environment=anonymous(s3))[0] == expected
    _, said = trilith("info", "s3://bucket.one/secret/x.asdf", environment=anonymous(s3), status=2)
    assert "403" in said and "not signed" in said, said


def test_with_credentials_from_the_environment(s3, expected):
    assert trilith("digest", "s3://bucket.one/secret/x.asdf", environment=signed(s3))[0] == expected
    _, said = trilith("info", "s3://bucket.one/secret/x.asdf", environment=signed(s3, AWS_SECRET_ACCESS_KEY="wrong"), status=2)
    assert "403" in said and "SignatureDoesNotMatch" in said, said
    asked = ["--remote", "anonymous=yes"]
    assert trilith("digest", "s3://bucket.one/public/x.asdf", *asked, environment=signed(s3))[0] == expected
    trilith("info", "s3://bucket.one/secret/x.asdf", *asked, environment=signed(s3), status=2)


def test_with_credentials_from_a_profile(s3, expected, scratch):
    (scratch / "credentials").write_text(f"[mine]\naws_access_key_id = {s3['key']}\naws_secret_access_key = {s3['secret']}\n")
    (scratch / "config").write_text(f"[profile mine]\nregion = us-east-1\nendpoint_url = {s3['endpoint']}\n")
    environment = {
        "AWS_SHARED_CREDENTIALS_FILE": str(scratch / "credentials"),
        "AWS_CONFIG_FILE": str(scratch / "config"),
        "AWS_PROFILE": "mine",
        "HOME": os.devnull,
    }
    assert trilith("digest", "s3://bucket.one/secret/x.asdf", environment=environment)[0] == expected
    _, said = trilith("info", "s3://bucket.one/secret/x.asdf", environment=environment | {"AWS_PROFILE": "none"}, status=2)
    assert "there is no AWS profile" in said, said


def test_path_and_virtual_style(s3, expected):
    assert trilith("digest", "s3://bucket-two/secret/x.asdf", "--remote", "style=path", environment=signed(s3))[0] == expected
    assert s3["proxy"].heads[0].startswith("GET /bucket-two/secret/x.asdf HTTP/")
    # A proxy of the web is asked for any host: one that looks names up is not needed.
    environment = signed(s3, AWS_ENDPOINT_URL="http://s3.example", http_proxy=s3["endpoint"])
    s3["proxy"].plan = lambda number, head: servers.answer("404 Not Found")
    trilith("info", "s3://bucket-two/secret/x.asdf", "--remote", "style=virtual", environment=environment, status=2)
    assert "bucket-two.s3.example" in s3["proxy"].heads[-1].split("\r\n")[0]


def test_references_keep_to_the_folder_and_take_no_credentials_to_other_buckets(s3):
    main = "s3://bucket.one/public/main.asdf"
    assert trilith("get", main + "#/near", environment=signed(s3))[0] == b"small\n"
    for item in ("far", "up"):
        _, said = trilith("get", f"{main}#/{item}", environment=signed(s3), status=2)
        assert "refused" in said and "--allow" in said, said
    assert trilith("get", main + "#/up", "--allow", "s3://bucket.one/secret/", environment=signed(s3))[0] == b"small\n"
    assert trilith("get", main + "#/far", "--allow", "s3://bucket-two/", environment=signed(s3))[0] == b"small\n"
    assert any("/bucket-two/" in head for head in s3["proxy"].heads)
    for head in s3["proxy"].heads:
        # Signed in a header: logs of servers and proxies hold addresses.
        assert ("authorization: aws4-hmac-sha256 " in head.lower()) == ("/bucket.one/" in head), head
        assert "?" not in head.split("\r\n")[0], head


def test_a_redirect_takes_no_credentials_along(s3, web, small):
    elsewhere = servers.Proxy(web.port)
    found = servers.answer("307 Temporary Redirect", f"Location: {elsewhere.url('small.asdf')}")
    proxy = servers.Proxy(s3["port"], lambda number, head: found)
    environment = signed(s3, AWS_ENDPOINT_URL=f"http://127.0.0.1:{proxy.port}")
    trilith("info", "s3://bucket.one/secret/x.asdf", "--allow", elsewhere.url(""), environment=environment)
    proxy.stop(), elsewhere.stop()
    assert elsewhere.heads and not any("amz" in head.lower() or "authorization" in head.lower() for head in elsewhere.heads)


def test_another_region_is_learned(s3, small):
    region = servers.answer("301 Moved Permanently", "x-amz-bucket-region: eu-central-1")
    proxy = servers.Proxy(s3["port"], lambda number, head: None if "eu-central-1" in head else region)
    environment = signed(s3, AWS_ENDPOINT_URL=f"http://127.0.0.1:{proxy.port}")
    trilith("info", "s3://bucket.one/secret/x.asdf", environment=environment, status=None)
    proxy.stop()
    assert "/us-east-1/s3/" in proxy.heads[0] and "/eu-central-1/s3/" in proxy.heads[1]
