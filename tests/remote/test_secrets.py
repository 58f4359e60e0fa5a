"""User, password and signature of a URL are `…` in everything that the command and Python print and write. (The rest tier.)"""

import contextlib
import json
import re
import subprocess
import urllib.request
import warnings

import pytest
import servers
from servers import trilith

HEADER = "{ctype1: RA---TAN, ctype2: DEC--TAN, crpix1: 2.5, crpix2: 2, crval1: 10.0, crval2: 20.0, cdelt1: -0.001, cdelt2: 0.001}"
SECRETS = re.compile(b"USERNAME|PASSWORD|SIGNATURE|\xef\xb7[\x90-\xaf]")
SKY = ["--sky", "10,20", "--size", "1px"]

# Every subcommand that reads files: words with U for the URL of an ASDF file, F for that of a FITS file, N for that of an NPY file, and O for a new file.
READING = {
    "info": ["U", "-v U", "F"],
    "tree": ["U", "U#/meta", "F"],
    "blocks": ["U"],
    "digest": ["U", "F"],
    "verify": ["U", "--deep U", "F"],
    "validate": ["U", "F"],
    "describe": ["U#/data"],
    "search": ["U --key ctype", "F --value RA---TAN"],
    "diff": ["U F", "U other.asdf"],
    "stats": ["U#/data", "U"],
    "show": ["U#/data -o O.png", "U#/data"],
    "sky": ["U", "U#/data 1,1", "F --pixel 10,20", "U --points points.csv -o O.csv"],
    "refs": ["U"],
    "schema": ["check U"],
    "header": ["F", "U"],
    "check": ["U", "F"],
    "get": ["U#/data", "U#/data -o O.npy", "U#/data --explain", "U#/data --sky 10,20 --size 1px", "U#/none", "U#/data -o O.csv"],
    "cutout": [f"{name} {' '.join(SKY)} -o O.{form}" for name in "UF" for form in ("asdf", "fits", "npy", "png")],
    "table": [f"U F -c a=/meta/crpix1{out}" for out in ("", " -o O.csv", " -o O.parquet", " -o O.json")] + ["U F --covers 10,20 -c c=@centre"],
    "manifest": ["U -o O.json", "U F -o -"],
    "to-yaml": ["U"],
    "convert": ["U O.asdf", "U O.fits", "F O.asdf", "U O.h5", "U O.npz", "U O.csv"],
    "repack": ["U O.asdf", "U"],
    "set": ["U#/name new -o O.asdf", "U#/name new"],
    "insert": ["U#/more new -o O.asdf", "F#/fits/0/header/MORE 1 -o O.fits"],
    "rm": ["U#/name -o O.asdf", "U#/name"],
    "mv": ["U#/name other -o O.asdf"],
    "edit": ["U"],
    "update": ["U --from tree.yaml -o O.asdf"],
    "append": ["U#/data other.npy"],
    "stream": ["U#/data --from other.npy"],
    "history": ["add U seen -o O.asdf", "add U seen"],
    "repair": ["U -o O.asdf"],
    "explode": ["U -o O", "U"],
    "implode": ["U -o O.asdf", "U"],
    "resolve": ["U O.asdf", "U"],
    "layout": ["from N", "from U", "print U", "check U", "catalog U -o O.bd", "new U -o O.dud"],
}
WITHOUT_FILES = {"tour", "completions", "man", "view"}


@pytest.fixture
def urls(web, folder, scratch):
    local = folder / "secrets.asdf"
    if not local.exists():
        text = f"#ASDF 1.0.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n--- !core/asdf-1.1.0\nname: one\nmeta: {HEADER}\ndata: !core/ndarray-1.1.0 [[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12]]\n...\n"
        (folder / "inline.asdf").write_text(text)
        trilith("set", f"{folder}/inline.asdf#/data", "--from", npy(folder), "-o", local)
        trilith("convert", local, folder / "secrets.fits", "--quiet")
    (scratch / "points.csv").write_text("x,y\n1,1\n")
    (scratch / "tree.yaml").write_text("%YAML 1.1\n---\nname: two\n...\n")
    trilith("get", f"{local}#/data", "-o", scratch / "other.npy")
    (scratch / "other.asdf").write_bytes(local.read_bytes())
    secret = web.url("").replace("://", "://USERNAME:PASSWORD@")
    return {"U": f"{secret}secrets.asdf?sv=1&sig=SIGNATURE", "F": f"{secret}secrets.fits?sig=SIGNATURE", "N": f"{secret}numbers.npy?sig=SIGNATURE"}


def npy(folder):
    import struct

    header = b"{'descr': '<i8', 'fortran_order': False, 'shape': (3, 4), }".ljust(117) + b"\n"
    (folder / "numbers.npy").write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + struct.pack("<12q", *range(1, 13)))
    return folder / "numbers.npy"


def run(scratch, *words):
    ended = subprocess.run([servers.PROGRAM, *words], capture_output=True, timeout=60, cwd=scratch, env=servers.CLEAN | {"EDITOR": "true", "VISUAL": "true"}, check=False)
    for name, text in (("stdout", ended.stdout), ("stderr", ended.stderr)):
        assert not SECRETS.search(text), (words, name, text)
    return ended


def files_hold_none(scratch, words):
    for path in scratch.rglob("*"):
        assert not SECRETS.search(str(path).encode()), (words, path)
        assert path.name == "list" or not path.is_file() or not SECRETS.search(path.read_bytes()), (words, path)


def words_of(command, form, urls, number):
    def word(text):
        text = re.sub(r"^O(?=$|\.)", f"{command}{number}", text)
        return re.sub(r"^[UFN](?=$|#)", lambda found: urls[found[0]], text)

    return [command, *map(word, form.split())]


def test_every_subcommand_is_in_the_table():
    listed = set(re.findall(r"^  ([a-z-]+) +[A-Z]", trilith("help", "all")[0].decode(), re.M))
    assert listed == set(READING) | WITHOUT_FILES


@pytest.mark.parametrize("command", READING)
def test_no_output_has_a_secret(command, urls, scratch):
    ends = []
    for number, form in enumerate(READING[command]):
        for more in ([], ["--json"], ["--verbose"]):
            words = words_of(command, form, urls, number) + more
            ends.append((run(scratch, *words).returncode, words))
            files_hold_none(scratch, words)
    if command not in ("append", "stream", "edit", "schema"):
        assert 0 in [end for end, _ in ends], ends


@pytest.mark.parametrize("command", ["info", "verify", "validate", "digest", "stats", "search", "tree", "convert", "get", "cutout"])
def test_neither_has_that_of_many_files_and_of_those_that_fail(command, urls, scratch):
    missing = urls["U"].replace("secrets", "missing")
    more = {"search": ["--key", "ctype"], "convert": ["-o", "{stem}.npz"], "get": ["-o", "{stem}.npy"], "cutout": [*SKY, "-o", "{stem}.asdf"]}.get(command, [])
    wrong = urls["U"].replace("USERNAME", "USERNAME:PASS/WORD")
    (scratch / "list").write_text(f"{urls['U']}\n{missing}\n")
    for words in ([urls["U"], urls["F"], missing], [missing], [wrong], [urls["U"].replace("http", "https")], ["--files-from", "list"], [urls["U"], "--nonsense"], [f"--nonsense={urls['U']}"]):
        for json_form in ([], ["--json"]):
            run(scratch, command, *words, *more, *json_form)
            files_hold_none(scratch, words)


def test_references_are_to_the_url_without_its_secrets(urls, scratch, web):
    ended = run(scratch, "manifest", urls["U"], "-o", "refs.json")
    assert ended.returncode == 0 and b"leave out the user, password and signature" in ended.stderr, ended
    chunks = [entry for entry in json.loads((scratch / "refs.json").read_text())["refs"].values() if isinstance(entry, list)]
    assert {entry[0] for entry in chunks} == {web.url("secrets.asdf")}


def test_names_still_open_their_files(urls, scratch):
    """Names are hidden in memory, and files found by them: for outputs, in lists, and twice in one command."""
    assert run(scratch, "get", f"{urls['U']}#/name").stdout == b"one\n"
    (scratch / "list").write_text(f"{urls['U']}\n{urls['F']}\n")
    said = run(scratch, "table", "--files-from", "list", "-c", "name=/name", "--json").stdout
    rows = [json.loads(line) for line in said.splitlines()] if b"\n{" in said.strip() else json.loads(said)
    assert "secrets.asdf?…" in said.decode() and "…@127.0.0.1" in said.decode(), rows


def test_python_shows_none(urls, scratch, tmp_path):
    trilith_module = pytest.importorskip("trilith")
    with trilith_module.open(urls["U"]) as file:
        texts = [repr(file), str(file), file.name, repr(file["data"]), str(file["data"]), repr(file.path), repr(file["meta"])]
        cut = trilith_module.cutout(file, sky=(10.0, 20.0), size="1px")
        cut.write_to(tmp_path / "cut.asdf")
        texts.append(repr(cut))
    texts += [repr(trilith_module.covering([urls["U"], urls["F"]], 10.0, 20.0)), repr(trilith_module.table([urls["U"]], {"a": "/name"}))]
    assert len(trilith_module.covering([urls["U"], urls["F"]], 10.0, 20.0)) == 2
    for wrong in (urls["U"].replace("secrets", "missing"), urls["U"].replace("http", "https"), urls["U"].replace(":PASS", ":PASS/")):
        with pytest.raises(Exception) as caught:
            trilith_module.open(wrong)
        texts.append(repr(caught.value))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for files in ([urls["U"].replace("secrets", "missing"), urls["U"]], [urls["U"].replace("http://", "s3://")]):
            with contextlib.suppress(Exception):
                trilith_module.table(files, {"a": "/name"})
    texts += [str(warning.message) for warning in said]
    for text in texts:
        assert not SECRETS.search(text.encode()), text
    files_hold_none(tmp_path, "cut")


def test_the_viewer_shows_none(urls, scratch):
    words = [servers.PROGRAM, "view", urls["U"], urls["F"], "--no-browser", "--quiet"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=scratch, env=servers.CLEAN) as viewer:
        try:
            line = viewer.stdout.readline()
            assert not SECRETS.search(line), line
            address = line.decode().strip().partition("#")[0]
            for request in ("files", "file?file=0", "file?file=1", "item?file=0&path=/data", "blocks?file=0", "verify?file=0"):
                with urllib.request.urlopen(f"{address}api/{request}", timeout=60) as answer:
                    body = answer.read()
                assert not SECRETS.search(body), body
        finally:
            viewer.kill()
