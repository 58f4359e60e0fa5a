"""Descriptions of arrays with any key missing, null or misspelled: reader, `verify`, `validate` and Python asdf.

Schemas core/ndarray-1.0.0 and 1.1.0 in the standards 1.0 to 1.6, `dependencies: source: [shape, datatype, byteorder]`. An array that Python asdf cannot make is no array here;
one that both make has the same elements. Tier: rest.
"""

import io
import itertools
import pathlib
import struct
import subprocess
import tempfile
import unittest

import asdf
import numpy as np
from peer import PROGRAM

# Each with the version of core/ndarray that it has; the descriptions take turns.
STANDARDS = [(f"1.{minor}.0", "1.1.0" if minor == 6 else "1.0.0") for minor in range(7)]
SAMPLES = {
    "numbers": {"source": "0", "datatype": "int16", "byteorder": "little", "shape": "[2]", "offset": "4", "strides": "[4]", "mask": "5"},
    "bytes": {"source": "0", "datatype": "uint8", "byteorder": "little", "shape": "[2]"},
    "text": {"source": "0", "datatype": "[ascii, 2]", "byteorder": "little", "shape": "[2]"},
    "inline": {"data": "[1, 2]", "datatype": "int16", "shape": "[2]", "mask": "1"},
    "both": {"source": "0", "data": "[1]", "datatype": "int16", "byteorder": "little", "shape": "[1]"},
    "fields": {"source": "0", "datatype": "[{FIELD}, {name: y, datatype: int16}]", "byteorder": "little", "shape": "[2]"},
}
FIELD = {"name": "x", "datatype": "int16", "byteorder": "big"}


def head(standard):
    return f"#ASDF 1.0.0\n#ASDF_STANDARD {standard}\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n--- !core/asdf-1.1.0\n"


def block(data):
    return b"\xd3BLK" + struct.pack(">HI4sQQQ", 48, 0, b"", len(data), len(data), len(data)) + bytes(16) + data


def misspelled(key):
    """Two letters in the other order."""
    return key[:-2] + key[-1] + key[-2]


def changed(keys):
    """A mapping with each key missing, null and misspelled, and as it is."""
    yield "unchanged", keys
    for key in keys:
        rest = list(keys.items())
        at = list(keys).index(key)
        yield f"no {key}", dict(rest[:at] + rest[at + 1 :])
        yield f"{key} null", {**keys, key: "null"}
        yield f"{key} misspelled", dict(rest[:at] + [(misspelled(key), keys[key])] + rest[at + 1 :])


def flow(keys):
    return ", ".join(f"{key}: {value}" for key, value in keys.items())


def descriptions():
    """Name and text of each."""
    for name, keys in SAMPLES.items():
        for (what, node), (of_field, field) in itertools.product(changed(keys), changed(FIELD)):
            if name == "fields" or of_field == "unchanged":
                yield f"{name}: {what}, field: {of_field}", flow(node).replace("FIELD", flow(field))


class Descriptions(unittest.TestCase):
    def run_command(self, *arguments):
        return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=60, check=False)

    def test_readers_and_verdicts_agree(self):
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        path = folder / "a.asdf"
        for (name, text), (standard, version) in zip(descriptions(), itertools.cycle(STANDARDS)):
            tree = f"{head(standard)}a: !core/ndarray-{version} {{{text}}}\n...\n"
            content = tree.encode() + block(struct.pack("<8h", *range(8)))
            path.write_bytes(content)
            try:
                with asdf.config_context() as config:
                    config.validate_on_read = True
                    with asdf.open(io.BytesIO(content)) as file:
                        theirs = np.ma.asarray(file["a"][:])
            except Exception:  # noqa: BLE001 - any failure of the peer
                theirs = None
            read = self.run_command("get", f"{path}#/a", "-o", folder / "a.npy")
            verify = self.run_command("verify", path)
            conform = self.run_command("verify", "--conform", "asdf-1.x", path)
            validate = self.run_command("validate", path)
            with self.subTest(name, text=text, standard=standard):
                # Single bytes have no order, so that a missing one decides nothing.
                is_decided = "byteorder" in name and name.startswith(("bytes", "text")) and "null" not in name
                self.assertEqual(read.returncode == 0, verify.returncode == 0, (read.stderr, verify.stdout))
                self.assertEqual(read.returncode == 0, conform.returncode == 0, conform.stdout)
                # Schema core/ndarray-1.0.0 does not say that there is one of source and data.
                origins = text.startswith(("source:", "data:")) + (", data:" in text)
                is_left_open = is_decided or version == "1.0.0" and origins != 1
                if not is_left_open:
                    self.assertEqual(read.returncode == 0, validate.returncode == 0, (read.stderr, validate.stdout))
                if not is_decided:
                    self.assertEqual(read.returncode == 0, theirs is not None, (read.stderr, theirs))
                if read.returncode == 0 and theirs is not None and theirs.dtype.names is None:
                    ours = np.ma.filled(np.load(folder / "a.npy"))
                    self.assertEqual(ours.astype(theirs.dtype).tolist(), np.ma.getdata(theirs).tolist())
                if read.returncode != 0 and name.endswith("misspelled, field: unchanged"):
                    self.assertIn("did you mean", read.stderr + verify.stdout + verify.stderr)


if __name__ == "__main__":
    unittest.main()
