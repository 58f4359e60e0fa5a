"""Trilith writes, Python asdf reads: equal values, valid checksums, masks kept."""

import asdf
import numpy as np
import peer

CODECS = ("none", "zlib", "bzp2", "lz4")
STORAGES = ("internal", "external", "inline")


class Writing(peer.Case):
    def reads(self, path, tree, validate=True):
        with asdf.open(path, validate_checksums=True, lazy_load=False) as opened:
            if validate:
                opened.validate()
            for name, array in tree.items():
                with self.subTest(array=name):
                    ours = peer.load(opened[name])
                    self.assertTrue(peer.same(ours, array), f"{name}: {ours!r} is not {array!r}")

    def compressions(self, path):
        return {block["compression"] for block in peer.trilith_json("info", path)["blocks"] if block["used"]}

    def test_streamed_blocks(self):
        for name, array in peer.samples().items():
            if not array.size or np.ma.isMaskedArray(array) or name == "structured":
                continue
            with self.subTest(array=name):
                path, copy = self.folder / f"{name}.asdf", self.folder / f"{name}-copy.asdf"
                rows = asdf.Stream(list(array.shape[1:]), array.dtype)
                with open(path, "wb") as file:
                    asdf.AsdfFile({"rows": rows}).write_to(file)
                    file.write(np.ascontiguousarray(array).tobytes())
                peer.trilith("convert", path, copy)
                self.reads(copy, {"rows": array})

    def test_rows_that_were_streamed(self):
        for name, array in peer.samples().items():
            if not array.size or not array.ndim or array.dtype.kind not in "iufcSU" or np.ma.isMaskedArray(array):
                continue
            with self.subTest(array=name):
                path, raw = self.folder / f"{name}.asdf", self.folder / f"{name}.raw"
                raw.write_bytes(np.ascontiguousarray(array).tobytes())
                shape = ["--row-shape", ",".join(map(str, array.shape[1:]))] if array.ndim > 1 else []
                dtype = "f2" if array.dtype == np.float16 else array.dtype.str
                peer.trilith("stream", f"{path}#/run/rows", "--dtype", dtype, *shape, "--from", raw)
                with asdf.open(path) as opened:
                    opened.validate()
                    self.assertTrue(peer.same(peer.load(opened["run"]["rows"]), array), name)
                peer.trilith("stream", f"{path}#/run/rows", "--from", raw, "--finalise", "--codec", "zlib")
                self.assertEqual(self.compressions(path), {"zlib"})
                with asdf.open(path, validate_checksums=True, lazy_load=False) as opened:
                    opened.validate()
                    both = np.concatenate([array, array])
                    self.assertTrue(peer.same(peer.load(opened["run"]["rows"]), both), f"{name}, finalised")

    def test_rows_streamed_into_a_file_of_theirs(self):
        path, raw = self.folder / "theirs.asdf", self.folder / "rows.raw"
        tree = {"a": np.arange(1000.0), "b": np.ones(3, "u1")}
        asdf.AsdfFile(tree).write_to(path)
        rows = np.arange(12, dtype=">i4").reshape(4, 3)
        raw.write_bytes(rows.tobytes())
        peer.trilith("stream", f"{path}#/rows", "--dtype", ">i4", "--row-shape", "3", "--from", raw)
        self.reads(path, {**tree, "rows": rows})
        (self.folder / "none").write_bytes(b"")
        peer.trilith("stream", f"{path}#/rows", "--from", self.folder / "none", "--finalise")
        self.reads(path, {**tree, "rows": rows})

    def test_codec_of_each_block_is_kept(self):
        tree = {codec: np.arange(5000, dtype="i4") for codec in ("plain", "zlib", "bzp2", "lz4")}
        path, copy = self.folder / "mixed.asdf", self.folder / "copy.asdf"
        made = asdf.AsdfFile(tree)
        for codec, array in tree.items():
            made.set_array_compression(array, None if codec == "plain" else codec)
        made.write_to(path)
        peer.trilith("convert", path, copy)
        before = [block["compression"] for block in peer.trilith_json("info", path)["blocks"]]
        after = [block["compression"] for block in peer.trilith_json("info", copy)["blocks"]]
        self.assertEqual(before, after)
        self.reads(copy, tree)

    def test_metadata_survives(self):
        tree = {"text": "caf\u00e9 \u03b1 \U0001f600", "number": 10**12, "float": 1e-300, "yes": "yes", "null": [None, True]}
        path, copy = self.folder / "meta.asdf", self.folder / "copy.asdf"
        made = asdf.AsdfFile({"meta": tree, "a": np.arange(3)})
        made.add_history_entry("made for a test", {"name": "peer", "author": "a", "homepage": "http://b.c", "version": "1"})
        made.write_to(path)
        peer.trilith("convert", path, copy, "--codec", "lz4")
        with asdf.open(copy) as opened:
            self.assertEqual(opened["meta"], tree)
            self.assertEqual(opened.get_history_entries()[0]["description"], "made for a test")

    def test_every_standard(self):
        tree = {"a": np.arange(1000.0), "b": np.ones(3, "u1")}
        for version in ("1.0", "1.1", "1.2", "1.3", "1.4", "1.5", "1.6"):
            with self.subTest(version=version):
                path, copy = self.folder / "plain.asdf", self.folder / f"{version}.asdf"
                peer.write(path, tree)
                peer.trilith("convert", path, copy, "--to", f"asdf-{version}")
                # `history.extensions`, which 1.2 brought, stays: the schemas of 1.0 and 1.1 do not know it
                self.reads(copy, tree, validate=version >= "1.2")
                with asdf.open(copy) as opened:
                    self.assertEqual(str(opened.version), f"{version}.0")


def writing(storage, codec):
    def test(self):
        arrays = peer.samples_without(peer.CANNOT_READ, storage)
        path, copy = self.folder / "theirs.asdf", self.folder / "ours.asdf"
        peer.write(path, arrays, storage)
        peer.trilith("convert", path, copy, "--codec", codec)
        self.reads(copy, arrays)
        peer.trilith("verify", copy)
        if storage == "internal":
            self.assertEqual(self.compressions(copy), {None if codec == "none" else codec})

    return test


for storage in STORAGES:
    for codec in CODECS:
        setattr(Writing, f"test_{storage}_{codec}", writing(storage, codec))
