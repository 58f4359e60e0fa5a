"""Files that are cut at a random byte, through `repair`: exit status 0 only if everything is there. Tier rest.

`convert` and `repack` of such an ASDF file end with 0 and without a warning only if everything is there, too.

`cargo xtask campaign cuts` takes TRILITH_CAMPAIGN cuts of each form of file; a run of the tests takes a sample. A third of the cuts are
at places that are hard to recognize: after a line of text, at the start of a block or an HDU, and in the last bytes of the file.
"""

import json
import os
import pathlib
import random
import subprocess
import tempfile
import unittest

import asdf
import h5py
import numpy as np
import peer

CUTS = int(os.environ.get("TRILITH_CAMPAIGN", "24"))
SEED = int(os.environ.get("TRILITH_CAMPAIGN_SEED", "0"))


def run(*words):
    done = subprocess.run([peer.PROGRAM, "-q", *map(str, words)], capture_output=True, text=True, timeout=120, check=False)
    return done.returncode, done.stdout, done.stderr


def content(path):
    """Every array with its digest, and every value."""
    arrays, tree = (json.loads(run(command, path, "--json")[1]) for command in ("digest", "tree"))
    return {name: entry["sha256"] for name, entry in arrays["arrays"].items()}, without_storage(tree)


def without_storage(value):
    """A tree without the names of files and places."""
    if isinstance(value, dict):
        left_out = {"file", "offset", "address", "stored", "line", "column"}
        return {key: without_storage(item) for key, item in value.items() if key not in left_out}
    return [without_storage(item) for item in value] if isinstance(value, list) else value


def tree(dice):
    numbers = np.random.default_rng(dice.randrange(2**32))
    arrays = {f"a{n}": numbers.integers(0, 9, dice.randint(1, 60)).astype(dice.choice("u1 i2 f8".split())) for n in range(4)}
    return {"name": "x" * dice.randint(0, 20), "list": [1, 2, {"deep": True}], "group": {"more": arrays.pop("a3")}, **arrays}


def write_asdf(path, dice):
    codec = dice.choice([None, "zlib", "bzp2"])
    asdf.AsdfFile(tree(dice)).write_to(path, all_array_compression=codec, include_block_index=dice.random() < 0.8)


def write_dudley(path, dice):
    """The last item has elements, because a layout that is cut before attributes or empty items shows nothing."""
    source = path.with_suffix(".h5")
    with h5py.File(source, "w", track_order=True) as file:
        for name, value in tree(dice).items():
            if isinstance(value, np.ndarray):
                file[name] = value
                file[name].attrs["unit"] = "m"
        group = file.create_group("group")
        group["inner"] = np.arange(dice.randint(1, 30))
        group["inner"].attrs["words"] = "of some length"
        file["last"] = np.arange(dice.randint(1, 30))
    dialect = dice.choice(["dudley-2025", "dudley-2026"])
    peer.trilith("convert", "-q", source, path, "--to", dialect)


def write_fits(path, dice):
    write_asdf(path.with_suffix(".asdf"), dice)
    peer.trilith("convert", "-q", path.with_suffix(".asdf"), path)


def write_converted(path, dice):
    """Another generation, or a codec of Trilith."""
    source = path.with_suffix(".source.asdf")
    write_asdf(source, dice)
    codecs = [["--codec", codec] for codec in "lz4 lz4f zstd blsc".split()]
    early = [["--to", target] for target in "finf-0.1 asdf-0.1-dev asdf-0.1".split()]
    options = dice.choice([*codecs, *early, ["--to", "asdf-0.1", "--codec", "zlib"]])
    peer.trilith("convert", "-q", source, path, *options, "--allow-loss")


FORMS = {
    "ASDF": (".asdf", write_asdf),
    "generations and codecs": (".asdf", write_converted),
    "Dudley": (".bd", write_dudley),
    "ASDF in FITS": (".fits", write_fits),
}


def cut_places(bytes_of, dice):
    """Random lengths, and those after marks."""
    marks = [at + 1 for at, byte in enumerate(bytes_of) if byte == 10]
    for mark in b"\xd3BLK", b"#ASDF BLOCK INDEX", b"XTENSION", b"#: dialect", b"...":
        at = bytes_of.find(mark)
        while at > 0:
            marks.append(at)
            at = bytes_of.find(mark, at + 1)
    marks += range(max(1, len(bytes_of) - 40), len(bytes_of))
    marks = [at for at in marks if 0 < at < len(bytes_of)]
    return dice.choice(marks) if dice.random() < 1 / 3 else dice.randrange(1, len(bytes_of))


class Cuts(unittest.TestCase):
    def test_repair_of_cut_file_reports_loss(self):
        for form, (suffix, write) in FORMS.items():
            with tempfile.TemporaryDirectory() as folder:
                folder = pathlib.Path(folder)
                counts, done = {}, 0
                while done < CUTS:
                    number = done // 20
                    dice = random.Random(f"{SEED} {form} {number}")
                    path, cut, out = (folder / f"{name}{suffix}" for name in ("whole", "cut", "out"))
                    path.unlink(missing_ok=True)
                    write(path, dice)
                    whole, expected = path.read_bytes(), content(path)
                    self.assertEqual(run("repair", path, "-o", out, "--overwrite")[0], 0)
                    for _ in range(min(20, CUTS - done)):
                        at = cut_places(whole, dice)
                        cut.write_bytes(whole[:at])
                        status, _, message = run("repair", cut, "-o", out, "--overwrite")
                        counts[status] = counts.get(status, 0) + 1
                        self.assertIn(status, (0, 1, 2), message)
                        label = f"{form}, seed {SEED}, file {number}, cut at {at} of {len(whole)}"
                        if status == 0:
                            self.assertEqual(content(out), expected, label)
                        # FITS ends at any HDU, and a layout at any line, so that a shorter file of these may be complete.
                        if suffix != ".asdf":
                            continue
                        copy = dice.choice(["convert", "repack"])
                        words = [peer.PROGRAM, copy, cut, out, "--overwrite"]
                        copied = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
                        self.assertIn(copied.returncode, (0, 1, 2), copied.stderr)
                        if copied.returncode == 0 and "warning: " not in copied.stderr:
                            self.assertEqual(content(out), expected, f"{copy}, {label}")
                    done += 20
            print(f"{form}: {CUTS} cuts; exit status: {dict(sorted(counts.items()))}")


if __name__ == "__main__":
    unittest.main()
