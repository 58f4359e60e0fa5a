"""Every reading command works on a pipe, without seeking."""

import json

import numpy as np
import peer


class Pipes(peer.Case):
    def setUp(self):
        super().setUp()
        self.path = self.folder / "a.asdf"
        self.array = np.arange(100_000, dtype=">i4")
        peer.write(self.path, {"a": self.array, "m": {"x": 1}}, codec="lz4")

    def test_what_a_file_says_it_says_through_a_pipe(self):
        for command in ("info", "tree", "blocks", "digest", "to-yaml"):
            with self.subTest(command=command):
                options = [] if command == "to-yaml" else ["--json"]
                whole = peer.trilith(command, self.path, *options)
                piped = peer.trilith(command, "-", *options, input=self.path.read_bytes())
                if options:
                    whole, piped = json.loads(whole), json.loads(piped)
                    whole.pop("file", None)
                    piped.pop("file", None)
                self.assertEqual(whole, piped)

    def test_one_item(self):
        self.assertEqual(peer.trilith("get", "-#/m/x", input=self.path.read_bytes()).strip(), b"1")

    def test_verify(self):
        peer.trilith("verify", "-", input=self.path.read_bytes())

    def test_standard_input_that_is_a_file(self):
        with open(self.path, "rb") as file:
            self.assertEqual(peer.trilith_json("info", "-", stdin=file)["family"], "asdf")

    def test_standard_output(self):
        copy = self.folder / "copy.asdf"
        copy.write_bytes(peer.trilith("convert", self.path, "-", "--codec", "zlib"))
        said = peer.trilith_json("digest", copy)
        self.assertEqual(peer.stripped(said["arrays"]["/a"]), peer.expected(self.array))

    def test_an_array_as_npy(self):
        target = self.folder / "a.npy"
        peer.trilith("get", f"{self.path}#/a", "-o", target)
        loaded = np.load(target, allow_pickle=False)
        self.assertTrue(peer.same(loaded, self.array))
        peer.trilith("get", f"{self.path}#/a", "--slice", "10:20:3", "-o", target)
        self.assertTrue(np.array_equal(np.load(target), self.array[10:20:3]))
