"""Where references and redirects may lead, and where credentials never do."""

import base64

import files
import numpy as np
import pytest
import servers
from servers import trilith

TREE = "#ASDF 1.0.0\n#ASDF_STANDARD 1.6.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n--- !core/asdf-1.1.0\n"


@pytest.fixture
def tree(web, folder):
    """A folder with files that refer to others."""
    inside = folder / "a"
    (inside / "deep").mkdir(parents=True, exist_ok=True)
    data = np.arange(1000, dtype="<i4").tobytes()

    def block(path):
        files.write(path, files.array("own", 0, "int32", [1000]), [(b"\0" * 4, data, len(data))])

    for path in (inside / "near.asdf", inside / "deep/below.asdf", folder / "outside.asdf"):
        block(path)

    def refer(target, name="main.asdf"):
        (inside / name).write_text(
            TREE + f"x: !core/ndarray-1.1.0 {{source: '{target}', datatype: int32, byteorder: little, shape: [1000]}}\n"
            f"r: {{$ref: '{target}#/own'}}\n...\n"
        )
        return web.url(f"a/{name}")

    return refer


def read(url, *more, status=0):
    results = []
    for item in ("#/x", "#/r"):
        out, said = trilith("get", f"{url}{item}", "--slice", "990:", *more, status=status)
        results.append(out.split() == [str(n).encode() for n in range(990, 1000)] if not status else said)
    assert status or all(results), results
    return results


def test_references_within_the_folder_are_followed(web, tree):
    for target in ("near.asdf", "deep/below.asdf", "./near.asdf", "deep/../near.asdf", web.url("a/near.asdf")):
        read(tree(target))


def test_references_out_of_the_folder_need_an_allowed_prefix(web, tree):
    for target in ("../outside.asdf", "/outside.asdf", web.url("outside.asdf"), "deep/../../outside.asdf"):
        for said in read(tree(target), status=2):
            assert "refused" in said and "--allow" in said, said
        read(tree(target), "--allow", web.url("outside.asdf"))
        read(tree(target), "--allow", web.url(""))
        read(tree(target), "--allow", web.url("b/"), status=2)
    for target in ("%2e%2e/outside.asdf", "deep%2f..%2f..%2foutside.asdf", "file:///etc/passwd", "..\\\\outside.asdf"):
        read(tree(target), status=2)


def test_other_hosts_need_an_allowed_prefix_and_private_addresses_too(web, tree, proxy):
    """The same server under another name or port is another one."""
    other = proxy()
    for target in (other.url("a/near.asdf"), f"http://localhost:{web.port}/a/near.asdf", f"http://[::ffff:127.0.0.1]:{web.port}/a/near.asdf"):
        for said in read(tree(target), status=2):
            assert "refused" in said, said
    assert other.count == 0
    read(tree(other.url("a/near.asdf")), "--allow", other.url("a/"))
    # All hosts of a scheme are allowed, but none that is not public.
    for target in (other.url("a/near.asdf"), "http://169.254.169.254/latest/meta-data", "http://[::1]:1/", "http://10.0.0.1/", "http://0.0.0.0:1/", "http://2130706433/x", "http://0x7f.1/x", f"http://localhost:{web.port}/a/near.asdf", f"http://[::ffff:127.0.0.1]:{other.port}/a/near.asdf", "http://[fd00::1]/x", "http://[fe80::1]/x", "http://[64:ff9b::7f00:1]/x"):
        for said in read(tree(target), "--allow", "http://", status=2):
            assert "not public" in said, said


def test_local_files_refer_to_allowed_addresses_only(web, tree, scratch):
    tree("near.asdf")
    local = scratch / "local.asdf"
    url = web.url("a/near.asdf")
    local.write_text(
        TREE + f"x: !core/ndarray-1.1.0 {{source: '{url}', datatype: int32, byteorder: little, shape: [1000]}}\nr: {{$ref: '{url}#/own'}}\n...\n"
    )
    for said in read(local, status=2):
        assert "--allow" in said, said
    read(local, "--allow", web.url("a/"))
    # And a remote file that was reached so stays in its own folder.
    main = tree("near.asdf")
    local.write_text(TREE + f"r: {{$ref: '{main}#/x'}}\n...\n")
    out, _ = trilith("get", str(local) + "#/r", "--slice", "0:3", "--allow", main)
    assert out.split() == [b"0", b"1", b"2"]


def test_folders_that_were_allowed_are_not_for_remote_files(web, tree, scratch):
    """From file to file of this machine the permission goes on, to a file on a server it does not."""
    secret = scratch / "secret"
    secret.mkdir()
    data = np.arange(1000, dtype="<i4").tobytes()
    files.write(secret / "s.asdf", files.array("own", 0, "int32", [1000]), [(b"\0" * 4, data, len(data))])
    for target in (f"file://{secret}/s.asdf", f"{secret}/s.asdf", "../../../../../../../.." + f"{secret}/s.asdf"):
        for said in read(tree(target), "--allow", f"{secret}/", status=2):
            assert "refused" in said, said
    # A local file beside leads on to another, which leads there.
    first, second = scratch / "chain/first.asdf", scratch / "chain/second.asdf"
    first.parent.mkdir()
    second.write_text(TREE + f"r: {{$ref: '{secret}/s.asdf#/own'}}\n...\n")
    first.write_text(TREE + "r: {$ref: 'second.asdf#/r'}\n...\n")
    _, said = trilith("get", f"{first}#/r", status=2)
    assert "--allow" in said, said
    out, _ = trilith("get", f"{first}#/r", "--slice", "0:3", "--allow", f"{secret}/")
    assert out.split() == [b"0", b"1", b"2"]


def test_redirects_are_checked_again(web, tree, proxy):
    elsewhere = proxy()
    for target in (elsewhere.url("a/near.asdf"), elsewhere.url("outside.asdf")):
        found = servers.answer("302 Found", f"Location: {target}")
        redirecting = proxy(lambda number, head, found=found: found if "GET /a/gone.asdf" in head else None)
        # Somebody named the address, but not the one behind it, which is on this machine.
        _, said = trilith("info", redirecting.url("a/gone.asdf"), status=2)
        assert "not public" in said and "--allow" in said, said
        assert target not in said.split("--allow")[1], "an address that a server chose is not offered ready to paste"
        trilith("info", redirecting.url("a/gone.asdf"), "--allow", elsewhere.url(""))
        # A reference.
        tree("gone.asdf")
        for said in read(redirecting.url("a/main.asdf"), status=2):
            assert "redirects to" in said, said
        read(redirecting.url("a/main.asdf"), "--allow", target)
    within = servers.answer("302 Found", "Location: /a/near.asdf")
    out = servers.answer("302 Found", "Location: /outside.asdf")
    for location, status in ((within, 0), (out, 2)):
        redirecting = proxy(lambda number, head, location=location: location if "GET /a/gone.asdf" in head else None)
        read(redirecting.url("a/main.asdf"), status=status)
    trilith("info", proxy(lambda number, head: servers.answer("301 Moved", "Location: file:///etc/passwd")).url("x"), status=2)


def test_a_redirect_at_any_request(web, small, proxy):
    """Right bytes where it is allowed, an error where it is not."""
    expected, _ = trilith("digest", small["path"])
    elsewhere = proxy()
    found = servers.answer("307 Temporary Redirect", f"Location: {elsewhere.url('small.asdf')}")
    for at in range(6):
        redirecting = proxy(lambda number, head, at=at: found if number == at else None)
        out, said = trilith("digest", redirecting.url("small.asdf"), status=None)
        assert out == expected if redirecting.count <= at else "not public" in said, (at, said)
        redirecting = proxy(lambda number, head, at=at: found if number == at else None)
        assert trilith("digest", redirecting.url("small.asdf"), "--allow", elsewhere.url(""))[0] == expected


def test_credentials_stay_with_their_host(web, small, tree, proxy):
    word = base64.b64encode(b"name:pass word").decode()
    named = f"http://name:pass%20word@127.0.0.1:{web.port}/private/small.asdf"
    out, _ = trilith("digest", named)
    assert out == trilith("digest", small["path"])[0]
    _, said = trilith("info", web.url("private/small.asdf"), status=2)
    assert "401" in said
    elsewhere = proxy()
    redirecting = proxy(lambda number, head: servers.answer("302 Found", f"Location: {elsewhere.url('small.asdf')}"))
    url = f"http://name:pass%20word@127.0.0.1:{redirecting.port}/x.asdf"
    trilith("info", url, "--allow", elsewhere.url(""))
    assert any(word in head for head in redirecting.heads) and elsewhere.heads
    assert not any("authorization" in head.lower() for head in elsewhere.heads)
    # Nor with a reference to another host, nor with one that brings its own.
    asked = proxy()
    target = asked.url("a/near.asdf").replace("http://", "http://other:secret@")
    main = tree(target).replace("http://", "http://name:pass%20word@")
    read(main, "--allow", asked.url(""))
    assert asked.heads and not any("authorization" in head.lower() for head in asked.heads)
    # Messages do not hold them.
    _, said = trilith("info", f"http://name:pass%20word@127.0.0.1:{web.port}/none?signature=abc", status=2)
    assert "pass" not in said and "abc" not in said


def test_files_that_refer_to_each_other_end(web, folder):
    (folder / "round").mkdir(exist_ok=True)
    for name, other in (("a", "b"), ("b", "a")):
        (folder / f"round/{name}.asdf").write_text(TREE + f"r: {{$ref: '{other}.asdf#/r'}}\n...\n")
    _, said = trilith("get", web.url("round/a.asdf") + "#/r", status=None)
    assert said
