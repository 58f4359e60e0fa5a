"""Files that Trilith changed, blocks and all, read by Python asdf: nothing else moved, and nothing is out of place."""

import itertools
import json
import shutil
import unittest

import asdf
import numpy as np
import peer


class Changes(peer.Case):
    def holds(self, path, expected):
        """Read in every way that Python asdf has: lazily, at once, mapped; its checksums and schemas agree."""
        for how in ({}, {"lazy_load": False}, {"memmap": True}):
            with asdf.open(path, validate_checksums=True, **how) as opened:
                opened.validate()
                for name, array in expected.items():
                    self.assertTrue(peer.same(peer.load(opened[name]), array), (name, how))
                self.assertEqual({name for name in opened.tree if name not in ("asdf_library", "history")}, set(expected))

    def test_arrays_changed_in_place_are_read(self):
        random = np.random.default_rng(2)
        path, new = self.folder / "x.asdf", self.folder / "new.npy"
        expected = {name: random.normal(size=(20, n)).astype("f4") for n, name in enumerate("abcd", 1)}
        for codec in (None, "zlib", "lz4"):
            asdf.AsdfFile(expected).write_to(path, all_array_compression=codec, pad_blocks=True)
            held = dict(expected)
            for step in range(12):
                name = "abcdefg"[step * 5 % 7]
                if step % 3 == 2 and name in held:
                    peer.trilith("delete", f"{path}#/{name}", "--in-place")
                    del held[name]
                else:
                    held[name] = random.normal(size=(3 + step * 7 % 30, 4)).astype("f8")
                    np.save(new, held[name])
                    told = peer.trilith_json("set", f"{path}#/{name}", "--from", new, "--in-place")
                    self.assertTrue(told["in_place"])
                self.holds(path, held)
            packed = self.folder / "packed.asdf"
            peer.trilith("repack", path, packed, "--order", "size", "--quiet")
            self.holds(packed, held)
            # What Python asdf makes of it, it can change again.
            with asdf.open(path, mode="rw") as opened:
                opened["more"] = np.arange(5)
                opened.update()
            self.holds(path, {**held, "more": np.arange(5)})

    def test_repack_keeps_no_more_than_the_arrays_need(self):
        """Python asdf may write the whole array that others are views of."""
        path, packed = self.folder / "x.asdf", self.folder / "packed.asdf"
        base = np.arange(200_000, dtype="f8")
        mask = np.zeros((20, 20), bool)
        mask[3] = True
        trees = {
            "one": {"a": base[100:500].reshape(20, 20)},
            "turned": {"a": base[100:500].reshape(20, 20)[::-2, ::3], "b": base[450:300:-7], "c": base[:0]},
            "masked": {"a": np.ma.masked_array(base[100:500].reshape(20, 20), mask)},
            "two blocks": {"a": base[1000:1010], "b": np.arange(3000, dtype="i2"), "c": np.arange(9000, dtype="i4")[5000:5002]},
        }
        for (name, tree), codec in itertools.product(trees.items(), (None, "zlib")):
            with self.subTest(name, codec=codec), asdf.config_context() as config:
                config.default_array_save_base = True
                asdf.AsdfFile(tree).write_to(path, all_array_compression=codec)
                said = peer.trilith_json("repack", path, packed)
                self.assertEqual(said["cropped"], 2 if name == "two blocks" else 1)
                self.assertLess(packed.stat().st_size, 20_000)
                peer.trilith("verify", "--deep", packed)
                peer.trilith("validate", packed)
                self.assertEqual(peer.trilith_json("digest", packed)["arrays"], peer.trilith_json("digest", path)["arrays"])
                with asdf.open(packed, validate_checksums=True) as opened:
                    for key, array in tree.items():
                        found = opened[key]
                        np.testing.assert_array_equal(np.ma.getdata(found[...]), np.ma.getdata(array))
                        np.testing.assert_array_equal(np.ma.getmaskarray(np.ma.array(found[...])), np.ma.getmaskarray(array))
                again = peer.trilith_json("repack", packed, self.folder / "again.asdf")
                self.assertEqual((again["cropped"], again["size"]), (0, said["size"]))

    @unittest.skipUnless(peer.shared(), "no ../shared/corpus beside the repository")
    def test_a_new_scalar_in_a_sample_file_is_read(self):
        count = 0
        for sample in sorted((peer.shared() / "corpus").glob("asdf-*/*.asdf")):
            path = self.folder / sample.name
            shutil.copyfile(sample, path)
            text = 'it\'s: "new" # \u03b1'
            for name in ("new text", "new/text"):
                peer.trilith("set", f"{path}#/{name.replace('/', '~1')}", json.dumps(text), "--quiet")
            with self.subTest(sample=sample.name), asdf.open(path, lazy_load=False, ignore_missing_extensions=True) as opened:
                self.assertEqual((opened["new text"], opened["new/text"]), (text, text))
                with asdf.open(sample, lazy_load=False) as before:
                    self.assertLessEqual(set(before.tree), set(opened.tree))
                count += 1
        self.assertGreater(count, 10)

    def test_exploded_files_are_read_and_changed(self):
        path, new = self.folder / "x.asdf", self.folder / "new.npy"
        expected = {"a": np.arange(6, dtype="<i2").reshape(2, 3), "b": np.linspace(0, 1, 4)}
        asdf.AsdfFile(expected).write_to(path)
        peer.trilith("explode", path, "--quiet")
        main = self.folder / "x_exploded.asdf"

        def holds(expected):
            with asdf.open(main, lazy_load=False) as opened:
                for name, array in expected.items():
                    # Python asdf leaves an external array as a note where it lies.
                    found = opened[name]
                    if isinstance(found, asdf.ExternalArrayReference):
                        with asdf.open(self.folder / str(found.fileuri), lazy_load=False) as beside:
                            found = beside._blocks.blocks[0].data.view(found.dtype).reshape(found.shape)
                    self.assertTrue(peer.same(np.asarray(found), array), name)

        holds(expected)
        expected["b"] = np.arange(9, dtype=">u4")
        np.save(new, expected["b"])
        peer.trilith("set", f"{main}#/b", "--from", new, "--in-place")
        expected["c"] = np.ones((2, 2), "f4")
        np.save(new, expected["c"])
        peer.trilith("insert", f"{main}#/c", "--from", new)
        holds(expected)
        self.assertEqual(len(list(self.folder.glob("x_exploded*.asdf"))), 4)
        whole = self.folder / "whole.asdf"
        peer.trilith("implode", main, "-o", whole, "--quiet")
        self.holds(whole, expected)


if __name__ == "__main__":
    unittest.main()
