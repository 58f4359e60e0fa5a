"""Descriptions with any key missing, null or misspelled, in each form in which a file says how its bytes are read.

The rule: what decides how bytes are read has a source in the file, in its standard or on the page of decisions. A key without such a
source, or one that is null, is refused by the reader and by `verify`, and both name it; a misspelled key is named with the one that
is meant. A key that may be left out, or whose default is documented, is marked in the tables below. Descriptions that are read have
the elements of the complete one.

The forms are ndarrays before ASDF 1.0 (FINF 0.1.0, 0.1.0dev and 0.1.0 have no schemas that Python asdf checks, so that the tables are
the peer), their masks, fields and external arrays, encoding chains, arrays of asdf-zarr, notes of layouts, NPY and safetensors headers,
and FITS cards. ASDF 1.x is in test_descriptions.py. Tier: rest.
"""

import json
import re
import struct
import subprocess

import numpy as np
import peer
from astropy.io import fits

VALUES = np.arange(48, dtype="<i2").reshape(6, 8)
# What becomes of a description without a key: it is refused, read as before, or read by a documented default.
REFUSED, SAME, DEFAULT = "refused", "same", "default"


def misspelled(key):
    """Two letters in the other order; of a short key the last one twice."""
    for at in range(len(key) - 1, 1, -1):
        if key[at] != key[at - 1] and (key[at] + key[at - 1]).isalnum():
            return key[: at - 1] + key[at] + key[at - 1] + key[at + 1 :]
    return key + key[-1]


def changes(keys):
    """Each key missing, null and misspelled."""
    for key in keys:
        rest = [(name, value) for name, value in keys.items() if name != key]
        at = list(keys).index(key)
        yield key, "missing", dict(rest)
        yield key, "null", {**keys, key: None}
        yield key, "misspelled", dict(rest[:at] + [(misspelled(key), keys[key])] + rest[at:])


def flow(value):
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)}: {flow(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(flow, value)) + "]"
    if isinstance(value, Tagged):
        return f"{value.tag} {flow(value.value)}"
    return json.dumps(value)


class Tagged:
    def __init__(self, tag, value):
        self.tag, self.value = tag, value


class Descriptions(peer.Case):
    def run_command(self, *words):
        ended = subprocess.run([peer.PROGRAM, *map(str, words)], capture_output=True, text=True, timeout=60, check=False)
        return ended.returncode, ended.stdout + ended.stderr

    def judge(self, label, path, item, key, change, outcome, expected):
        """Compares reader and `verify` with the outcome of a change."""
        out = self.folder / "read.npy"
        out.unlink(missing_ok=True)
        read, read_text = self.run_command("get", f"{path}#{item}", "-o", out)
        verified, verify_text = self.run_command("verify", path)
        with self.subTest(label, key=key, change=change, read=read_text, verify=verify_text):
            self.assertNotIn("panicked", read_text + verify_text)
            if outcome == REFUSED:
                self.assertNotEqual(read, 0)
                self.assertEqual(verified, 1)
                # The readers of NPY and safetensors name the place in their headers.
                is_named = label not in ("npy", "safetensors")
                words = re.escape(key).replace("dtype", "(dtype|datatype)")
                for text in (read_text, verify_text) if is_named else ():
                    self.assertRegex(text, words)
                if change == "misspelled" and is_named:
                    self.assertRegex(verify_text, f"did you mean {words}")
            else:
                self.assertEqual((read, verified), (0, 0))
                if outcome == SAME:
                    self.assertEqual(str(np.load(out).tolist()), str(expected.tolist()))
                if change == "misspelled":
                    self.assertIn(f"did you mean {key}", verify_text)

    def base(self, target, *words):
        """The header and the blocks of a file of a generation."""
        source, path = self.folder / "source.npy", self.folder / "base.asdf"
        np.save(source, VALUES)
        peer.trilith("convert", "-q", source, path, "--to", target, *words)
        content = path.read_bytes()
        block = content.index(b"\xd3BLK")
        end = content.find(b"#ASDF BLOCK INDEX")
        return content[: content.index(b"\n", content.index(b"\n---")+1) + 1], content[block : end if end > 0 else None]

    def test_ndarrays_of_early_generations(self):
        required = {"source": REFUSED, "shape": REFUSED, "byteorder": REFUSED, "offset": SAME, "strides": SAME}
        generations = {
            "finf-0.1": ("dtype", {**required, "dtype": DEFAULT, "byteorder": DEFAULT}),
            # The programs of 2014 wrote no `byteorder: big` under this tag.
            "asdf-0.1-dev": ("dtype", {**required, "dtype": REFUSED, "byteorder": DEFAULT}),
            "asdf-0.1": ("datatype", {**required, "datatype": REFUSED}),
        }
        for target, (datatype, outcomes) in generations.items():
            head, blocks = self.base(target)
            keys = {"source": 0, datatype: "int16", "byteorder": "little", "shape": [6, 8], "offset": 0, "strides": [16, 2]}
            for key, change, node in changes(keys):
                outcome = outcomes[key]
                # An optional key without a value, and one that is spelled so that it was not left out, are no defaults.
                if change == "null" or change == "misspelled" and outcome == DEFAULT:
                    outcome = REFUSED
                path = self.folder / "x.asdf"
                path.write_bytes(head + f"a: !core/ndarray {flow(node)}\n...\n".encode() + blocks)
                self.judge(target, path, "/a", key, change, outcome, VALUES)
            for keys in {**keys, "data": [1]}, {key: value for key, value in keys.items() if key != "source"}:
                path.write_bytes(head + f"a: !core/ndarray {flow(keys)}\n...\n".encode() + blocks)
                self.judge(target, path, "/a", "source", "with data, or without", REFUSED, VALUES)

    def test_fields_masks_and_external_arrays(self):
        for target, datatype in ("finf-0.1", "dtype"), ("asdf-0.1-dev", "dtype"), ("asdf-0.1", "datatype"):
            head, blocks = self.base(target)
            path, other = self.folder / "x.asdf", self.folder / "other.asdf"
            other.write_bytes(head.split(b"%YAML")[0] + blocks)
            whole = {"source": 0, datatype: "int16", "byteorder": "little", "shape": [6, 8]}
            for key, change, mask in changes(dict(whole)):
                is_default = change == "missing" and (target, key) in {
                    ("finf-0.1", "dtype"), ("finf-0.1", "byteorder"), ("asdf-0.1-dev", "byteorder")}
                node = {**whole, "mask": Tagged("!core/ndarray", mask)}
                path.write_bytes(head + f"a: !core/ndarray {flow(node)}\n...\n".encode() + blocks)
                self.judge(f"{target}, mask", path, "/a", key, change, DEFAULT if is_default else REFUSED, VALUES)
                node = {**mask, "source": "other.asdf"} if key != "source" else {**mask}
                if key == "source":
                    continue
                path.write_bytes(head + f"a: !core/ndarray {flow(node)}\n...\n".encode())
                self.judge(f"{target}, external", path, "/a", key, change, DEFAULT if is_default else REFUSED, VALUES)
            field = {"name": "x", datatype: "int16", "byteorder": "little", "shape": [2]}
            for key, change, made in changes(field):
                rows = VALUES.reshape(12, 4).view([("x", "<i2", (2,)), ("y", "<i4")]).reshape(12)
                node = {**whole, datatype: [made, {"name": "y", datatype: "int32"}], "shape": [12]}
                outcome = REFUSED if change == "null" or key == datatype else DEFAULT if key != "byteorder" else SAME
                path.write_bytes(head + f"a: !core/ndarray {flow(node)}\n...\n".encode() + blocks)
                # Without its shape a field has one element, and without its name none: the standard says so.
                if key == "shape" and change != "null":
                    node["shape"] = [12]
                self.judge(f"{target}, field", path, "/a", key, change, outcome, rows)

    def test_encoding_chains(self):
        tile = {"shape": [4, 4], "original_shape": [6, 8], "item_size": 2}
        head, blocks = self.base("asdf-0.1", "--encode", "[[tile, {shape: [4, 4]}], zlib]")
        old = blocks[blocks.index(b"--- [") : blocks.index(b"\n...\n")]
        keys = {"source": 0, "datatype": "int16", "byteorder": "little", "shape": [6, 8]}
        for key, change, arguments in changes(tile):
            inner = ",".join(f"{name}: {json.dumps(value, separators=(',', ':'))}" for name, value in arguments.items())
            new = f"--- [[tile,{{{inner}}}],zlib]".encode()
            self.assertLessEqual(len(new), len(old))
            path = self.folder / "x.asdf"
            made = blocks.replace(old, new.ljust(len(old)))
            path.write_bytes(head + f"a: !core/ndarray {flow(keys)}\n...\n".encode() + made)
            # The ndarray has the original shape and the size of an element.
            outcome = SAME if change == "missing" and key != "shape" else REFUSED
            self.judge("tile", path, "/a", key, change, outcome, VALUES)

    def test_quantize_in_encoding_chains(self):
        values = np.random.default_rng(1).random((6, 8)).astype("<f4") * 100
        path = self.folder / "x.asdf"
        np.save(self.folder / "q.npy", values)
        peer.trilith(
            "convert", "-q", self.folder / "q.npy", path, "--to", "asdf-0.1", "--encode", "[[quantize, {quality: 4}], zlib]", "--allow-loss")
        content = path.read_bytes()
        expected = self.folder / "expected.npy"
        self.assertEqual(self.run_command("get", f"{path}#/data", "-o", expected)[0], 0)
        old = content[content.index(b"--- [[") : content.index(b"\n...\n", content.index(b"--- [["))]
        keys = {"dtype": 32, "original_shape": [6, 8], "quality": 4.0}
        for key, change, arguments in changes(keys):
            inner = ",".join(f"{name}: {json.dumps(value, separators=(',', ':'))}" for name, value in arguments.items())
            new = f"--- [[quantize,{{{inner}}}],zlib]".encode()
            self.assertLessEqual(len(new), len(old))
            path.write_bytes(content.replace(old, new.ljust(len(old))))
            # The ndarray has the datatype and the shape, and the quality was needed only to encode.
            self.judge("quantize", path, "/data", key, change, SAME if change == "missing" else REFUSED, np.load(expected))

    def write_tree(self, text, standard="1.6.0"):
        """A file of 1.x with a tree, a block of four integers and one of four booleans."""
        path = self.folder / "x.asdf"
        blocks = b"".join(
            b"\xd3BLK" + struct.pack(">HI4sQQQ", 48, 0, b"", len(data), len(data), len(data)) + bytes(16) + data
            for data in (np.arange(1, 5, dtype="<i2").tobytes(), bytes([0, 1, 0, 0])))
        head = f"#ASDF 1.0.0\n#ASDF_STANDARD {standard}\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n--- !core/asdf-1.1.0\n"
        path.write_bytes(f"{head}{text}\n...\n".encode() + blocks)
        return path

    # Tags of the table, its columns, quantities and arrays, and whether the table has a list of names.
    SERIES = [
        ("!core/table-1.0.0", "!core/column-1.0.0", "!unit/quantity-1.1.0", "!core/ndarray-1.0.0", False, "1.5.0"),
        ("!table/table-1.1.0", "!table/column-1.1.0", "!unit/quantity-1.2.0", "!core/ndarray-1.1.0", False, "1.6.0"),
        ("!<tag:astropy.org:astropy/table/table-1.0.0>", "!core/column-1.0.0", "!unit/quantity-1.1.0", "!core/ndarray-1.0.0", True, "1.5.0"),
        ("!<tag:astropy.org:astropy/table/table-1.3.0>", "!table/column-1.2.0", "!unit/quantity-1.3.0", "!core/ndarray-1.1.0", True, "1.6.0"),
    ]

    def judge_rows(self, label, path, key, change, outcome, values):
        """Compares `get` of the column, `table` and `verify` with the outcome of a change."""
        results = {
            "get": self.run_command("get", f"{path}#/t/x", "--json"), "table": self.run_command("table", f"{path}#/t", "--json"),
            "verify": self.run_command("verify", path),
        }
        with self.subTest(label, key=key, change=change, results=results):
            self.assertNotIn("panicked", str(results))
            if outcome == REFUSED:
                self.assertEqual([status for status, _ in results.values()], [2, 2, 1])
                for _, text in results.values():
                    self.assertIn(key, text)
                    self.assertEqual(f"did you mean {key}" in text, change == "misspelled")
                return
            self.assertEqual([status for status, _ in results.values()], [0, 0, 0])
            self.assertEqual([json.loads(line)["x"] for line in results["table"][1].splitlines() if line.startswith("{")], values)
            self.assertEqual(f"did you mean {key}" in results["verify"][1], change == "misspelled")

    def test_columns_and_tables(self):
        for table, column, quantity, ndarray, has_names, standard in self.SERIES:
            array = Tagged(ndarray, {"source": 0, "datatype": "int16", "byteorder": "little", "shape": [4]})
            unit = Tagged("!unit/unit-1.0.0", "m")
            objects = {
                "column": (column, {"name": "x", "data": array, "unit": unit, "description": "d"}, {"name", "data"}),
                "quantity": (quantity, {"value": array, "unit": unit}, {"value", "unit"}),
            }
            for kind, (tag, keys, required) in objects.items():
                for key, change, made in [("", "none", keys), *changes(keys)]:
                    if kind == "quantity":
                        made = {"name": "x", "data": Tagged(tag, made)}
                        tag_of_column = column
                    else:
                        tag_of_column = tag
                    node = {"columns": [Tagged(tag_of_column, made)], **({"colnames": ["x"], "qtable": False} if has_names else {})}
                    path = self.write_tree(f"t: {table} {flow(node)}", standard)
                    outcome = REFUSED if key in required else SAME
                    self.judge_rows(f"{table}, {kind}", path, key, change, outcome, [1, 2, 3, 4])
            columns = [Tagged(column, {"name": "x", "data": array})]
            keys = {"columns": columns, **({"colnames": ["x"], "qtable": False} if has_names else {}), "meta": {}}
            for key, change, made in changes(keys):
                path = self.write_tree(f"t: {table} {flow(made)}", standard)
                outcome = REFUSED if key in ("columns", "colnames") else SAME
                self.judge_rows(table, path, key, change, outcome, [1, 2, 3, 4])
            # A column that is broken does not keep the others from being read.
            node = {"columns": [*columns, Tagged(column, {"name": "y"})], **({"colnames": ["x", "y"]} if has_names else {})}
            path = self.write_tree(f"t: {table} {flow(node)}", standard)
            self.assertEqual(self.run_command("get", f"{path}#/t/x")[0], 0)
            status, text = self.run_command("table", f"{path}#/t", "-c", "x", "--json")
            self.assertEqual((status, len(text.splitlines())), (0, 4), text)
            self.assertEqual(self.run_command("table", f"{path}#/t")[0], 2)

    def test_quantities_alone(self):
        for _, _, quantity, ndarray, _, standard in self.SERIES:
            array = Tagged(ndarray, {"source": 0, "datatype": "int16", "byteorder": "little", "shape": [4]})
            for value in array, 1.5:
                keys = {"value": value, "unit": Tagged("!unit/unit-1.0.0", "m")}
                for key, change, made in [("", "none", keys), *changes(keys)]:
                    path = self.write_tree(f"a: {quantity} {flow(made)}", standard)
                    results = [self.run_command("get", f"{path}#/a"), self.run_command("verify", path), self.run_command("validate", path)]
                    with self.subTest(quantity, key=key, change=change, results=results):
                        expected = [0, 0, 0] if change == "none" else [2, 1, 1]
                        self.assertEqual([status for status, _ in results], expected)
                        for _, text in results[:2] if change != "none" else ():
                            self.assertIn(key, text)
                            self.assertEqual(f"did you mean {key}" in text, change == "misspelled")

    def test_masks_of_columns(self):
        for table, column, _, ndarray, has_names, standard in self.SERIES:
            mask = {"source": 1, "datatype": "bool8", "byteorder": "little", "shape": [4]}
            for key, change, made in [("", "none", mask), *changes(mask)]:
                array = {"source": 0, "datatype": "int16", "byteorder": "little", "shape": [4], "mask": Tagged(ndarray, made)}
                columns = [Tagged(column, {"name": "x", "data": Tagged(ndarray, array)})]
                node = {"columns": columns, **({"colnames": ["x"]} if has_names else {})}
                path = self.write_tree(f"t: {table} {flow(node)}", standard)
                # A boolean has one byte, and so no order.
                outcome = SAME if change == "none" or key == "byteorder" and change != "null" else REFUSED
                self.judge_rows(f"{table}, mask", path, key, change, outcome, [1, None, 3, 4])

    def test_arrays_of_asdf_zarr(self):
        np.save(self.folder / "z.npy", VALUES)
        path = self.folder / "z.asdf"
        peer.trilith("convert", "-q", self.folder / "z.npy", path, "--chunks", "4,4")
        content = path.read_bytes()
        block, end = content.index(b"\xd3BLK"), content.index(b"#ASDF BLOCK INDEX")
        head = content[: content.index(b"\n", content.index(b"\n---") + 1) + 1]
        metadata = {
            "zarr_format": 2, "shape": [6, 8], "chunks": [4, 4], "dtype": "<i2", "compressor": None, "fill_value": 0,
            "filters": None, "order": "C",
        }
        null_is_right = {"compressor", "filters", "fill_value"}

        def write(metadata, key=".zarray", **node):
            node = {key: metadata, "chunk_block_map": 0} if not node else node
            tag = "!<asdf://asdf-format.org/zarr/tags/zarr-1.0.0>"
            path.write_bytes(head + f"a: {tag} {flow(node)}\n...\n".encode() + content[block:end])

        for key, change, made in changes(metadata):
            write(made)
            outcome = SAME if change == "null" and key in null_is_right else REFUSED
            self.judge("zarr", path, "/a", key, change, outcome, VALUES)
        for key, change, made in changes({".zarray": metadata, "chunk_block_map": 0}):
            write(metadata, **made)
            self.judge("zarr node", path, "/a", key, change, REFUSED, VALUES)
        for codec in {"id": "shuffle", "elementsize": 2}, {"id": "delta", "dtype": "<i2"}:
            for key, change, made in changes(codec):
                write({**metadata, "filters": [made]})
                self.judge("zarr codec", path, "/a", key, change, REFUSED, VALUES)
        # The codecs of numcodecs that are not known are refused by name, whatever keys they have.
        for codec in {"id": "quantize", "digits": 2, "dtype": "<f4"}, {"id": "fixedscaleoffset", "offset": 0, "scale": 1, "dtype": "<i2"}:
            for key, change, made in [("", "none", codec), *changes(codec)]:
                write({**metadata, "filters": [made]})
                for words in ("get", f"{path}#/a"), ("verify", path):
                    status, text = self.run_command(*words)
                    with self.subTest(codec["id"], key=key, change=change, text=text):
                        self.assertNotEqual(status, 0)
                        self.assertIn("id" if key == "id" and change != "misspelled" else codec["id"] if key != "id" else "id", text)
        for codec in {"id": "zlib", "level": 1}, {"id": "fletcher32"}:
            for key, change, made in changes({"id": codec["id"]}):
                rest = {name: value for name, value in codec.items() if name != "id"}
                write({**metadata, "filters": [{**rest, **made}]})
                self.judge("zarr codec", path, "/a", key, change, REFUSED, VALUES)
        for unknown, near in ("zlibb", "zlib"), ("blocs", "blosc"), ("jpeg2k", None):
            write({**metadata, "compressor": {"id": unknown}})
            for words in ("get", f"{path}#/a"), ("verify", path):
                status, text = self.run_command(*words)
                with self.subTest(unknown, words=words, text=text):
                    self.assertEqual(status, 2)
                    self.assertIn(unknown, text)
                    self.assertEqual(f"did you mean {near}" in text, near is not None)

    def test_notes_of_layouts(self):
        path, layout = self.folder / "x.bin", self.folder / "l.dud"
        chunks = [VALUES[row : row + 3, column : column + 4].tobytes() for row in (0, 3) for column in (0, 4)]
        path.write_bytes(b"".join(chunks))
        notes = {
            "grid_shape": "[6, 8]", "grid_chunk": "[3, 4]", "grid_type": '"<i2"', "grid_filters": '"shuffle(1)"',
            "grid_order": '"C"', "grid_edge": '"full"', "grid_fill": "1",
        }
        required = {"grid_shape", "grid_chunk"}

        def verify(notes):
            lines = "".join(f"  #: {name}{'' if value is None else '=' + value}\n" for name, value in notes.items())
            layout.write_text("a [ u1[24], u1[24], u1[24], u1[24] ]\n" + lines)
            return [self.run_command(*words, "--layout", layout) for words in (
                ("get", f"{path}#/a", "-o", self.folder / "read.npy"), ("verify", path))]

        for key, change, made in [("", "none", notes), *changes(notes)]:
            if (key, change) == ("grid_type", "missing"):
                # Then the items have the type of the elements, which are others.
                continue
            outcomes = verify(made)
            is_refused = change != "none" and (change != "missing" or key in required)
            with self.subTest("notes", key=key, change=change, outcomes=outcomes):
                for status, text in outcomes:
                    self.assertEqual(status != 0, is_refused)
                    if is_refused:
                        self.assertIn(key, text)
                    if is_refused and change == "misspelled":
                        self.assertIn(f"did you mean {key}", text)
                if not is_refused:
                    self.assertEqual(np.load(self.folder / "read.npy").tolist(), VALUES.tolist())
        for word, near in ("shufle(1)", "shuffle"), ("defalte", "deflate"), ("nonsense", None):
            for status, text in verify({**notes, "grid_filters": f'"{word}"'}):
                with self.subTest(word, text=text):
                    self.assertEqual(status, 2)
                    self.assertEqual(f"did you mean {near}" in text, near is not None)

    def test_headers_of_small_formats(self):
        header = {"descr": "<i2", "fortran_order": False, "shape": (6, 8)}
        for key, change, made in changes(header):
            text = (repr(made) + "\n").encode()
            path = self.folder / "x.npy"
            path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + VALUES.tobytes())
            self.judge("npy", path, "/data", key, change, REFUSED, VALUES)
        entry = {"dtype": "I16", "shape": [6, 8], "data_offsets": [0, 96]}
        for key, change, made in changes(entry):
            text = json.dumps({"data": made}).encode()
            path = self.folder / "x.safetensors"
            path.write_bytes(struct.pack("<Q", len(text)) + text + VALUES.tobytes())
            self.judge("safetensors", path, "/data", key, change, REFUSED, VALUES)

    def test_cards_of_fits(self):
        path = self.folder / "x.fits"
        samples = {
            "image": (fits.ImageHDU(VALUES.astype(">i2")), ["BITPIX", "NAXIS", "NAXIS1", "NAXIS2"]),
            "table": (
                fits.BinTableHDU.from_columns([fits.Column("x", "I", array=VALUES[:, 0])]),
                ["BITPIX", "NAXIS", "NAXIS1", "NAXIS2", "TFIELDS", "TFORM1"],
            ),
            "tiles": (
                fits.CompImageHDU(VALUES.astype(">i2"), compression_type="RICE_1"),
                ["NAXIS1", "NAXIS2", "TFIELDS", "TFORM1", "ZCMPTYPE", "ZBITPIX", "ZNAXIS", "ZNAXIS1", "ZNAXIS2"],
            ),
        }
        for name, (hdu, keys) in samples.items():
            fits.HDUList([fits.PrimaryHDU(), hdu]).writeto(path, overwrite=True)
            whole = path.read_bytes()
            for key in keys:
                at = whole.index(f"{key:<8}=".encode(), 2880)
                near = misspelled(key)
                cards = {
                    "missing": f"{'COMMENT no card':<80}", "misspelled": near.ljust(8) + whole[at + 8 : at + 80].decode(),
                    "null": f"{key:<8}= ".ljust(80),
                }
                for change, card in cards.items():
                    path.write_bytes(whole[:at] + card.encode() + whole[at + 80 :])
                    read, text = self.run_command("get", f"{path}#/fits/1/data")
                    verified, verify_text = self.run_command("verify", path)
                    with self.subTest(name, key=key, change=change, read=text, verify=verify_text):
                        self.assertNotEqual(read, 0)
                        self.assertEqual(verified, 1)
                        self.assertIn(key, verify_text)


if __name__ == "__main__":
    import unittest

    unittest.main()
