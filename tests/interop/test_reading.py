"""Python asdf writes, Trilith reads: every datatype x codec x storage has the digest that numpy computes."""

import asdf
import numpy as np
import peer

CODECS = (None, "zlib", "bzp2", "lz4")
STORAGES = ("internal", "external", "inline")


class Reading(peer.Case):
    def agrees(self, path, tree):
        said = peer.trilith_json("digest", path)
        self.assertEqual(said["errors"], {})
        self.assertEqual(set(said["arrays"]), {f"/{name}" for name in tree})
        for name, array in tree.items():
            with self.subTest(array=name):
                self.assertEqual(peer.stripped(said["arrays"][f"/{name}"]), peer.expected(array))

    def test_streamed_blocks(self):
        for name, array in peer.samples().items():
            if array.ndim < 1 or not array.size or np.ma.isMaskedArray(array) or name == "structured":
                continue
            with self.subTest(array=name):
                path = self.folder / f"{name}.asdf"
                first = np.arange(7, dtype="<i2")
                rows = asdf.Stream(list(array.shape[1:]), array.dtype)
                with open(path, "wb") as file:
                    asdf.AsdfFile({"first": first, "rows": rows}).write_to(file)
                    file.write(np.ascontiguousarray(array).tobytes())
                self.agrees(path, {"first": first, "rows": array})

    def test_views_share_a_block(self):
        base = np.arange(100, dtype=">f4").reshape(10, 10)
        tree = {"base": base, "corner": base[:3, :3], "backwards": base[::-1, ::-2], "turned": base.T}
        path = self.folder / "views.asdf"
        made = asdf.AsdfFile(tree)
        for array in tree.values():
            made.set_array_save_base(array, True)
        made.write_to(path)
        self.assertEqual(len(peer.trilith_json("info", path)["blocks"]), 1)
        self.agrees(path, tree)

    def test_options_of_the_writer(self):
        tree = {"a": np.arange(1000.0), "b": np.ones(3, "u1")}
        for options in (
            {"pad_blocks": True},
            {"include_block_index": False},
            {"write_checksums": False},
            *({"version": version} for version in ("1.0.0", "1.1.0", "1.2.0", "1.3.0", "1.4.0", "1.5.0", "1.6.0")),
        ):
            with self.subTest(**options):
                path = self.folder / "options.asdf"
                asdf.AsdfFile(tree, version=options.pop("version", None)).write_to(path, **options)
                self.agrees(path, tree)
                peer.trilith("verify", path)


def reading(storage, codec):
    def test(self):
        arrays = peer.samples_without(peer.CANNOT_WRITE, storage)
        path = self.folder / "written.asdf"
        peer.write(path, arrays, storage, codec)
        if storage == "inline":  # text has no value under the mask, only a null, which counts as 0
            arrays["masked"] = np.ma.array(arrays["masked"].filled(0), mask=arrays["masked"].mask)
        self.agrees(path, arrays)
        if storage == "internal":
            compressions = {block["compression"] for block in peer.trilith_json("info", path)["blocks"]}
            self.assertLessEqual(compressions, {codec, None})
            peer.trilith("verify", path)

    return test


for storage in STORAGES:
    for codec in CODECS if storage != "inline" else (None,):
        setattr(Reading, f"test_{storage}_{codec or 'plain'}", reading(storage, codec))
