"""Object stores: where credentials come from, what is sent to whom, and what is read without them."""

import datetime
import os

import emulators
import pytest
import servers
from emulators import ACCOUNT, ACCOUNT_KEY, Play, answer_json, part, private
from servers import trilith

HOME = {"HOME": os.devnull}
ROLE_KEY = "ASIAROLEKEYEXAMPLE00"
SECRETS = ["WJALRSECRET", "SESSIONTOKEN", "WEBIDENTITY", "SSOTOKEN", "GOOGLETOKEN", "SASSIGNATURE", "IMDSTOKEN"]


@pytest.fixture(scope="module")
def content(small):
    return small["path"].read_bytes()


@pytest.fixture(scope="module")
def expected(small):
    return trilith("digest", small["path"])[0]


@pytest.fixture
def play():
    made = []

    def make(*script):
        made.append(Play(list(script)))
        return made[-1]

    yield make
    for server in made:
        server.stop()


def later(**time):
    return (datetime.datetime.now(datetime.UTC) + datetime.timedelta(**time)).strftime("%Y-%m-%dT%H:%M:%SZ")


def holds_no_secret(*texts):
    for text in texts:
        assert not [secret for secret in SECRETS if secret in text], text


def sts(expiration=None, key=ROLE_KEY):
    """The answer of STS to AssumeRoleWithWebIdentity and AssumeRole."""

    def act(found, headers, body):
        action = "AssumeRoleWithWebIdentity" if b"WebIdentity" in body or b"WebIdentity" in found[0].encode() else "AssumeRole"
        text = (
            f'<{action}Response xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><{action}Result><Credentials>'
            f"<AccessKeyId>{key}</AccessKeyId><SecretAccessKey>WJALRSECRET</SecretAccessKey><SessionToken>SESSIONTOKEN</SessionToken>"
            f"<Expiration>{expiration or later(hours=1)}</Expiration></Credentials></{action}Result></{action}Response>"
        )
        return 200, {"Content-Type": "text/xml"}, text.encode()

    return act


def by_key(key):
    return lambda headers: f"Credential={key}/" in (headers.get("authorization") or "")


def test_a_web_identity_is_exchanged_once_for_all_files(play, content, expected, scratch):
    store = play((r"GET /b/", private(content, by_key(ROLE_KEY))))
    tokens = play((r"POST /", sts()))
    (scratch / "token").write_text("WEBIDENTITY")
    environment = HOME | {
        "AWS_ENDPOINT_URL_S3": store.url,
        "AWS_ENDPOINT_URL_STS": tokens.url,
        "AWS_ROLE_ARN": "arn:aws:iam::123456789012:role/reader",
        "AWS_WEB_IDENTITY_TOKEN_FILE": str(scratch / "token"),
    }
    out, said = trilith("digest", "s3://b/x.asdf", environment=environment)
    assert out == expected and said == ""
    trilith("table", "s3://b/x.asdf", "s3://b/y.asdf", "s3://b/z.asdf", "-c", "title=/title", environment=environment)
    assert len(tokens.asked) == 2, "one exchange for each process"
    assert all(headers.get("x-amz-security-token") == "SESSIONTOKEN" for _, headers, _ in store.asked)
    tokens.script[:] = [(r".*", lambda *_: (403, {}, b"<ErrorResponse><Error><Code>AccessDenied</Code><Message>WEBIDENTITY</Message></Error></ErrorResponse>"))]
    _, said = trilith("info", "s3://b/x.asdf", environment=environment, status=2)
    assert "403" in said and "not signed" in said, said
    holds_no_secret(said)


def test_credentials_are_renewed_before_they_expire(play, content, expected, scratch):
    # Good for a minute: `reqsign` renews two minutes before the end, so each request gets new ones.
    store = play((r"GET /b/", private(content, by_key(ROLE_KEY))))
    tokens = play((r"POST /", sts(later(seconds=60))))
    (scratch / "token").write_text("WEBIDENTITY")
    environment = HOME | {
        "AWS_ENDPOINT_URL_S3": store.url,
        "AWS_ENDPOINT_URL_STS": tokens.url,
        "AWS_ROLE_ARN": "arn:aws:iam::123456789012:role/reader",
        "AWS_WEB_IDENTITY_TOKEN_FILE": str(scratch / "token"),
    }
    assert trilith("digest", "s3://b/x.asdf", environment=environment)[0] == expected
    assert len(tokens.asked) >= len(store.asked) > 1
    # Where they cannot be renewed, those that are still good are used.
    calls = []

    def once(*arguments):
        calls.append(1)
        return sts(later(seconds=60))(*arguments) if len(calls) == 1 else (500, {}, b"")

    tokens.script[:] = [(r"POST /", once)]
    assert trilith("digest", "s3://b/x.asdf", environment=environment)[0] == expected


def test_versions_of_objects_are_read(play, content, expected):
    """`?versionId=` names one, and nothing is written to it. (The rest tier.)"""

    def act(found, headers, body):
        return part(content, headers) if found.string.endswith("?versionId=a.B%2F1%3D") else (200, {}, b"another version")

    store = play((r"GET /b/x", act))
    environment = HOME | {"AWS_ENDPOINT_URL_S3": store.url, "AWS_ACCESS_KEY_ID": ROLE_KEY, "AWS_SECRET_ACCESS_KEY": "WJALRSECRET"}
    assert trilith("digest", "s3://b/x.asdf?versionId=a.B/1=", environment=environment)[0] == expected
    _, said = trilith("convert", "s3://b/x.asdf?versionId=a.B/1=", "s3://b/x.asdf?versionId=1", environment=environment, status=2)
    assert "a version of an object does not change" in said, said


@pytest.mark.parametrize("refusal", [(403, "ExpiredToken"), (400, "ExpiredToken"), (400, "TokenRefreshRequired"), (403, "InvalidToken")])
def test_expired_token_is_renewed_while_reading(play, content, expected, refusal):
    """A token that the service gives up early, moments after it was fetched. (The rest tier.)"""
    status, code = refusal
    keys = ["FIRSTKEY", "SECONDKEY"]
    store = play()

    def act(found, headers, body):
        if by_key("FIRSTKEY")(headers) and store.count("GET") > 2:
            return status, {}, f"<Error><Code>{code}</Code></Error>".encode()
        return part(content, headers)

    store.script[:] = [(r"GET /b/", act)]
    login = lambda key: {"AccessKeyId": key, "SecretAccessKey": "WJALRSECRET", "Token": "SESSIONTOKEN", "Expiration": later(hours=1)}  # noqa: E731
    container = play((r"GET /login", lambda *_: answer_json(login(keys.pop(0)))))
    environment = HOME | {"AWS_ENDPOINT_URL_S3": store.url, "AWS_CONTAINER_CREDENTIALS_FULL_URI": f"{container.url}/login"}
    out, said = trilith("digest", "s3://b/x.asdf", environment=environment)
    assert out == expected and said == "", said
    assert len(container.asked) == 2 and store.count("GET") > 3
    # A source that has the same token again is asked once for a request.
    keys[:] = ["FIRSTKEY"] * 9
    store.asked.clear()
    _, said = trilith("digest", "s3://b/x.asdf", "--remote", "retries=0", environment=environment, status=None)
    assert code in said and 0 < len(keys), said
    holds_no_secret(said)


def test_expired_token_of_google_is_renewed(play, content, expected):
    """(The rest tier.)"""
    tokens = ["OLDTOKEN", "GOOGLETOKEN"]
    store = play()

    def act(found, headers, body):
        if not by_token("GOOGLETOKEN")(headers) and not (by_token("OLDTOKEN")(headers) and store.count("GET") < 4):
            return 401, {}, b""
        return part(content, headers)

    store.script[:] = [(r"GET /b/", act)]
    machine = play((r"GET /computeMetadata", lambda *_: answer_json({"access_token": tokens.pop(0), "expires_in": 3600, "token_type": "Bearer"})))
    environment = HOME | {"STORAGE_EMULATOR_HOST": store.url, "GCE_METADATA_HOST": f"127.0.0.1:{machine.port}"}
    assert trilith("digest", "gs://b/x.asdf", environment=environment)[0] == expected
    assert len(machine.asked) == 2


def test_endpoint_of_message_has_no_password():
    """(The rest tier.)"""
    for url, variable in (("s3://b/x", "AWS_ENDPOINT_URL"), ("gs://b/x", "STORAGE_EMULATOR_HOST")):
        _, said = trilith("info", url, environment=HOME | {variable: "htp://user:WJALRSECRET@host"}, status=2)
        assert "is not a URL" in said, said
        holds_no_secret(said)


def test_single_sign_on_in_both_forms(play, content, expected, scratch):
    import hashlib
    import json

    store = play((r"GET /b/", private(content, by_key("SSOKEY"))))
    soon = {"accessKeyId": "SSOKEY", "secretAccessKey": "WJALRSECRET", "sessionToken": "SESSIONTOKEN"}
    expiration = int((datetime.datetime.now(datetime.UTC) + datetime.timedelta(hours=1)).timestamp() * 1000)
    portal = play((r"GET /federation/credentials", lambda *_: answer_json({"roleCredentials": soon | {"expiration": expiration}})))
    cache = scratch / ".aws/sso/cache"
    cache.mkdir(parents=True)
    start = "https://start.example/start"
    token = {"startUrl": start, "region": "us-east-1", "accessToken": "SSOTOKEN", "expiresAt": later(hours=1)}
    for name in (start, "mine"):
        (cache / f"{hashlib.sha1(name.encode()).hexdigest()}.json").write_text(json.dumps(token))
    role = "sso_account_id = 123456789012\nsso_role_name = reader\nregion = us-east-1\n"
    (scratch / ".aws/config").write_text(
        f"[profile old]\nsso_start_url = {start}\nsso_region = us-east-1\n{role}"
        f"[profile new]\nsso_session = mine\n{role}[sso-session mine]\nsso_start_url = {start}\nsso_region = us-east-1\n"
    )
    environment = {"HOME": str(scratch), "AWS_ENDPOINT_URL_S3": store.url, "AWS_ENDPOINT_URL_SSO": portal.url}
    for profile in ("old", "new"):
        assert trilith("digest", "s3://b/x.asdf", environment=environment | {"AWS_PROFILE": profile})[0] == expected
    assert trilith("digest", "s3://b/x.asdf", "--remote", "profile=new", environment=environment)[0] == expected
    for path in cache.iterdir():
        path.write_text(json.dumps(token | {"expiresAt": later(hours=-1)}))
    for profile in ("old", "new"):
        _, said = trilith("info", "s3://b/x.asdf", environment=environment | {"AWS_PROFILE": profile}, status=2)
        assert "aws sso login" in said, said
        holds_no_secret(said)


def test_a_profile_runs_a_program_or_assumes_a_role(play, content, expected, scratch):
    store = play((r"GET /b/", private(content, lambda headers: by_key("PROGRAMKEY")(headers) or by_key(ROLE_KEY)(headers))))
    tokens = play((r"POST /", sts()), (r"GET /", sts()))
    program = scratch / "program"
    program.write_text('#!/bin/sh\necho \'{"Version": 1, "AccessKeyId": "PROGRAMKEY", "SecretAccessKey": "WJALRSECRET"}\'\n')
    program.chmod(0o755)
    (scratch / ".aws").mkdir()
    (scratch / ".aws/config").write_text(
        f"[profile program]\ncredential_process = {program}\n"
        "[profile role]\nrole_arn = arn:aws:iam::123456789012:role/reader\nsource_profile = program\nregion = us-east-1\n"
    )
    environment = {"HOME": str(scratch), "AWS_ENDPOINT_URL_S3": store.url, "AWS_ENDPOINT_URL_STS": tokens.url}
    for profile in ("program", "role"):
        assert trilith("digest", "s3://b/x.asdf", environment=environment | {"AWS_PROFILE": profile})[0] == expected
    assert len(tokens.asked) == 1 and any(by_key(ROLE_KEY)(headers) for _, headers, _ in store.asked)


def imds():
    role = {"Code": "Success", "AccessKeyId": "MACHINEKEY", "SecretAccessKey": "WJALRSECRET", "Token": "SESSIONTOKEN"}
    return [
        (r"PUT /latest/api/token", lambda *_: (200, {}, b"IMDSTOKEN")),
        (r"GET /latest/meta-data/iam/security-credentials/$", lambda *_: (200, {}, b"role")),
        (r"GET /latest/meta-data/iam/security-credentials/role", lambda *_: answer_json(role | {"Expiration": later(hours=1)})),
    ]


def test_the_machine_is_asked_only_after_a_refusal(play, content, expected):
    store = play((r"GET /b/", private(content, by_key("MACHINEKEY"))), (r"GET /open/", private(content, lambda headers: True)))
    machine = play(*imds())
    environment = HOME | {"AWS_ENDPOINT_URL_S3": store.url, "AWS_EC2_METADATA_SERVICE_ENDPOINT": machine.url}
    out, said = trilith("digest", "s3://open/x.asdf", environment=environment)
    assert (out, said, machine.asked) == (expected, "", [])
    assert trilith("digest", "s3://b/x.asdf", environment=environment)[0] == expected
    assert len(machine.asked) == 3
    refused = [line for line, headers, _ in store.asked if "/b/" in line and "authorization" not in {name.lower() for name in headers}]
    assert len(refused) == 1, "one anonymous request"
    asked = len(machine.asked)
    _, said = trilith("info", "s3://b/x.asdf", "--remote", "anonymous=yes", environment=environment, status=2)
    assert "403" in said and len(machine.asked) == asked


def test_credentials_that_are_refused_are_reported_and_left_out(play, content, expected):
    store = play((r"GET /b/", private(content, lambda headers: not headers.get("authorization"))))
    environment = HOME | {"AWS_ENDPOINT_URL_S3": store.url, "AWS_ACCESS_KEY_ID": "OLD", "AWS_SECRET_ACCESS_KEY": "WJALRSECRET"}
    _, said = trilith("info", "s3://b/x.asdf", environment=environment)
    assert "refused the credentials (403)" in said, said
    holds_no_secret(said)
    assert sum("authorization" in {name.lower() for name in headers} for _, headers, _ in store.asked) == 1


@pytest.mark.parametrize("status", [403, 400])
def test_a_bucket_that_is_closed_says_why(play, status):
    refusal = (status, {}, b"<Error><Code>ExpiredToken</Code></Error>")
    store = play((r"GET /b/", lambda *_: refusal))
    environment = HOME | {"AWS_ENDPOINT_URL_S3": store.url, "AWS_ACCESS_KEY_ID": "OLD", "AWS_SECRET_ACCESS_KEY": "WJALRSECRET"}
    _, said = trilith("info", "s3://b/x.asdf", environment=environment, status=2)
    assert f"{status}" in said and "ExpiredToken" in said, said
    holds_no_secret(said)


def test_throttling_and_another_region(play, content, expected):
    calls = []

    def act(found, headers, body):
        calls.append(1)
        if len(calls) == 1:
            return 503, {"Retry-After": "1"}, b"<Error><Code>SlowDown</Code></Error>"
        if "/eu-central-1/s3/" not in headers["authorization"]:
            return 400, {"x-amz-bucket-region": "eu-central-1"}, b"<Error><Code>AuthorizationHeaderMalformed</Code></Error>"
        return part(content, headers)

    store = play((r"GET /b/", act))
    environment = HOME | {"AWS_ENDPOINT_URL_S3": store.url, "AWS_ACCESS_KEY_ID": "K", "AWS_SECRET_ACCESS_KEY": "WJALRSECRET"}
    assert trilith("digest", "s3://b/x.asdf", environment=environment)[0] == expected


def test_an_object_that_is_replaced_is_an_error(play, content):
    calls = []

    def act(found, headers, body):
        calls.append(1)
        return part(content, headers, '"v1"' if len(calls) == 1 else '"v2"')

    for url, variable in (("s3://b/x.asdf", "AWS_ENDPOINT_URL_S3"), ("gs://b/x.asdf", "STORAGE_EMULATOR_HOST"), ("az://b/x.asdf", "AZURE_STORAGE_ENDPOINT")):
        calls.clear()
        store = play((r"GET /b/", act))
        _, said = trilith("digest", url, environment=HOME | {variable: store.url, "AZURE_STORAGE_ACCOUNT": "a"}, status=2)
        assert "changed" in said, said


# Google Cloud


@pytest.fixture(scope="module")
def google(content, tmp_path_factory):
    server = emulators.start_google(tmp_path_factory.mktemp("google"))
    import urllib.request

    host = f"http://127.0.0.1:{server.port}"
    urllib.request.urlopen(urllib.request.Request(f"{host}/storage/v1/b", b'{"name": "bucket"}', {"Content-Type": "application/json"}))
    for name in ("x.asdf", "a%20b/x.asdf"):
        urllib.request.urlopen(urllib.request.Request(f"{host}/upload/storage/v1/b/bucket/o?uploadType=media&name={name.replace('/', '%2F')}", content))
    yield host
    server.stop()


def test_google_without_credentials(google, expected):
    for url in ("gs://bucket/x.asdf", "gcs://bucket/x.asdf", "gs://bucket/a b/x.asdf"):
        out, said = trilith("digest", url, environment=HOME | {"STORAGE_EMULATOR_HOST": google})
        assert (out, said) == (expected, ""), url


def by_token(token):
    return lambda headers: headers.get("authorization") == f"Bearer {token}"


def test_google_asks_the_machine_after_a_refusal(play, content, expected):
    store = play((r"GET /b/", private(content, by_token("GOOGLETOKEN"), (401, {}, b""))), (r"GET /open/", private(content, lambda headers: True)))
    token = {"access_token": "GOOGLETOKEN", "expires_in": 3600, "token_type": "Bearer"}
    machine = play((r"GET /computeMetadata/v1/instance/service-accounts/default/token", lambda *_: answer_json(token)))
    environment = HOME | {"STORAGE_EMULATOR_HOST": store.url, "GCE_METADATA_HOST": f"127.0.0.1:{machine.port}"}
    assert trilith("digest", "gs://open/x.asdf", environment=environment)[0] == expected
    assert machine.asked == []
    assert trilith("digest", "gs://b/x.asdf", environment=environment)[0] == expected
    assert len(machine.asked) == 1


def test_google_token_and_broken_credentials(play, content, expected, scratch):
    store = play((r"GET /b/", private(content, by_token("GOOGLETOKEN"), (401, {}, b""))), (r"GET /open/", private(content, lambda headers: True)))
    environment = HOME | {"STORAGE_EMULATOR_HOST": store.url, "GCE_METADATA_HOST": "127.0.0.1:9"}
    assert trilith("digest", "gs://b/x.asdf", environment=environment | {"GOOGLE_OAUTH_ACCESS_TOKEN": "GOOGLETOKEN"})[0] == expected
    _, said = trilith("info", "gs://b/x.asdf", environment=environment, status=2)
    assert "401" in said and "gcloud auth application-default login" in said, said
    environment["GOOGLE_APPLICATION_CREDENTIALS"] = str(scratch / "missing.json")
    _, said = trilith("info", "gs://b/x.asdf", environment=environment, status=2)
    assert "missing.json" in said, said
    _, said = trilith("info", "gs://open/x.asdf", environment=environment)
    assert "missing.json" in said and "without credentials" in said, said


# Azure


@pytest.fixture(scope="module")
def azure(content, tmp_path_factory):
    if not emulators.azurite():
        pytest.skip("azurite is not installed: npm install azurite@3.35.0, and AZURITE names the folder")
    from azure.storage.blob import BlobServiceClient

    server = emulators.start_azurite(tmp_path_factory.mktemp("azurite"))
    endpoint = f"http://127.0.0.1:{server.port}/{ACCOUNT}"
    client = BlobServiceClient(endpoint, credential={"account_name": ACCOUNT, "account_key": ACCOUNT_KEY})
    for name, access in (("open", "blob"), ("closed", None)):
        container = client.create_container(name, public_access=access)
        for key in ("x.asdf", "a b+c%/ä.asdf"):
            container.upload_blob(key, content)
    yield endpoint
    server.stop()


def at_azure(azure, **more):
    return HOME | {"AZURE_STORAGE_ENDPOINT": azure, "AZURE_STORAGE_ACCOUNT_NAME": ACCOUNT, "AZURE_IMDS_ENDPOINT": "http://127.0.0.1:9", "PATH": "/nowhere", **more}


def signature(name):
    from azure.storage.blob import ContainerSasPermissions, generate_container_sas

    end = datetime.datetime.now(datetime.UTC) + datetime.timedelta(hours=1)
    return generate_container_sas(ACCOUNT, name, account_key=ACCOUNT_KEY, permission=ContainerSasPermissions(read=True), expiry=end)


def test_azure_without_credentials(azure, expected):
    for url in ("az://open/x.asdf", "abfs://open/x.asdf", "az://open/a b+c%/ä.asdf", f"abfss://open@{ACCOUNT}.dfs.core.windows.net/x.asdf"):
        out, said = trilith("digest", url, environment=at_azure(azure))
        assert (out, said) == (expected, ""), url


def test_azure_with_a_key_or_a_signature(azure, expected):
    sas = signature("closed")
    connection = f"DefaultEndpointsProtocol=http;AccountName={ACCOUNT};AccountKey={ACCOUNT_KEY};BlobEndpoint={azure};"
    for more in (
        {"AZURE_STORAGE_ACCOUNT_KEY": ACCOUNT_KEY},
        {"AZURE_STORAGE_SAS_TOKEN": sas},
        {"AZURE_STORAGE_SAS_TOKEN": f"?{sas}"},
        {"AZURE_STORAGE_CONNECTION_STRING": connection},
    ):
        for url in ("az://closed/x.asdf", "az://closed/a b+c%/ä.asdf", f"https://{ACCOUNT}.blob.core.windows.net/closed/a%20b+c%25/%C3%A4.asdf"):
            assert trilith("digest", url, environment=at_azure(azure, **more))[0] == expected, url
    assert trilith("digest", "az://closed/x.asdf", environment=HOME | {"AZURE_STORAGE_CONNECTION_STRING": connection})[0] == expected


def test_azure_says_what_is_missing_and_keeps_a_signature_to_itself(azure):
    _, said = trilith("info", "az://closed/x.asdf", environment=at_azure(azure), status=2)
    assert "az login" in said, said
    bad = signature("open").replace("sig=", "sig=SASSIGNATURE")
    _, said = trilith("info", "az://closed/x.asdf", environment=at_azure(azure, AZURE_STORAGE_SAS_TOKEN=bad), status=2)
    assert "403" in said, said
    holds_no_secret(said)
    _, said = trilith("info", "az://open/x.asdf", environment=HOME, status=2)
    assert "AZURE_STORAGE_ACCOUNT_NAME" in said, said


def test_azure_asks_the_machine_after_a_refusal(play, content, expected):
    store = play((r"GET /b/", private(content, by_token("AZURETOKEN"), (404, {}, b""))), (r"GET /open/", private(content, lambda headers: True)))
    token = {"access_token": "AZURETOKEN", "expires_on": str(int(datetime.datetime.now().timestamp()) + 3600), "expires_in": "3600"}
    machine = play((r"GET /", lambda *_: answer_json(token)))
    environment = at_azure(store.url, AZURE_IMDS_ENDPOINT=f"{machine.url}/token", AZURE_MSI_SECRET="IMDSTOKEN")
    assert trilith("digest", "az://open/x.asdf", environment=environment)[0] == expected
    assert machine.asked == []
    assert trilith("digest", "az://b/x.asdf", environment=environment)[0] == expected
    assert len(machine.asked) == 1


def test_redirects_and_references_get_no_credentials(play, content, web, small):
    elsewhere = servers.Proxy(web.port)
    store = play((r"GET /b/", lambda *_: (307, {"Location": elsewhere.url("small.asdf")}, b"")))
    for url, more in (
        ("gs://b/x.asdf", {"STORAGE_EMULATOR_HOST": store.url, "GOOGLE_OAUTH_ACCESS_TOKEN": "GOOGLETOKEN"}),
        ("az://b/x.asdf", {"AZURE_STORAGE_ENDPOINT": store.url, "AZURE_STORAGE_ACCOUNT": "a", "AZURE_STORAGE_SAS_TOKEN": "sv=1&sig=SASSIGNATURE"}),
        ("az://b/x.asdf", {"AZURE_STORAGE_ENDPOINT": store.url, "AZURE_STORAGE_ACCOUNT": "a", "AZURE_STORAGE_ACCOUNT_KEY": ACCOUNT_KEY}),
    ):
        _, said = trilith("info", url, "--allow", elsewhere.url(""), environment=HOME | more)
        holds_no_secret(said)
    elsewhere.stop()
    assert elsewhere.heads
    for head in elsewhere.heads:
        holds_no_secret(head)
        assert "authorization" not in head.lower(), head
    assert any("SASSIGNATURE" in line for line, _, _ in store.asked) and any(by_token("GOOGLETOKEN")(dict((k.lower(), v) for k, v in headers.items())) for _, headers, _ in store.asked)


# Python


def test_storage_options_as_fsspec_names_them(play, content, azure):
    trilith_python = pytest.importorskip("trilith")
    store = play((r"GET /b/", private(content, by_key("OPTIONKEY"))), (r"GET /open/", private(content, lambda headers: not headers.get("authorization"))))
    keys = {"key": "OPTIONKEY", "secret": "WJALRSECRET"}
    for more in ({"endpoint_url": store.url}, {"client_kwargs": {"endpoint_url": store.url, "region_name": "eu-west-1"}}):
        with trilith_python.open("s3://b/x.asdf", storage_options=keys | more) as file:
            assert file["title"] == "small"
        found = trilith_python.table(["s3://b/x.asdf"], {"title": "/title"}, storage_options=keys | more)
        assert found["title"] == ["small"]
    assert any("/eu-west-1/s3/" in headers.get("authorization", "") for _, headers, _ in store.asked)
    with trilith_python.open("s3://open/x.asdf", storage_options=keys | {"anon": True, "endpoint_url": store.url}) as file:
        assert file["title"] == "small"
    with trilith_python.open("gs://open/x.asdf", storage_options={"token": "anon", "endpoint_url": store.url}) as file:
        assert file["title"] == "small"
    options = {"account_name": ACCOUNT, "endpoint": azure}
    for more in ({"account_key": ACCOUNT_KEY}, {"sas_token": signature("closed")}):
        with trilith_python.open("az://closed/x.asdf", storage_options=options | more) as file:
            assert file["title"] == "small"
    with pytest.raises(ValueError, match="unknown storage option"):
        trilith_python.open("s3://b/x.asdf", storage_options={"nothing": 1})
    with pytest.raises(OSError) as raised:
        trilith_python.open("s3://b/x.asdf", storage_options=keys | {"key": "OTHER", "endpoint_url": store.url})
    holds_no_secret(str(raised.value), repr(raised.value))
