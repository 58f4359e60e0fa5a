"""Content of unused space, after the tree and between blocks: Python asdf skips it, and no command loses it without a word."""

import json
import struct
import subprocess
import unittest

import asdf
import numpy as np
import peer

NOTE = "the content of unused space is left out"
NODE = "!core/ndarray-1.1.0 {source: %d, datatype: uint8, byteorder: big, shape: [2]}"
HEAD = f"#ASDF 1.0.0\n#ASDF_STANDARD 1.6.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n--- !core/asdf-1.1.0\na: {NODE % 0}\nb: {NODE % 1}\n...\n"
CONTENTS = {"text": b"unused", "bytes": bytes(20) + bytes(range(0x80, 0xA0))}


def block(data):
    return b"\xd3BLK" + struct.pack(">HI4sQQQ16s", 48, 0, b"", len(data), len(data), len(data), b"") + data


class UnusedSpace(peer.Case):
    def files(self):
        """Files with content in one of the spaces, by name and content."""
        for name, content in CONTENTS.items():
            yield f"{name} after the tree", content, HEAD.encode() + content + block(b"\1\2") + block(b"\3\4")
            yield f"{name} between blocks", content, HEAD.encode() + block(b"\1\2") + content + block(b"\3\4")

    def run_command(self, *words, status=0):
        ended = subprocess.run([peer.PROGRAM, *map(str, words)], capture_output=True, text=True, timeout=peer.TIME_LIMIT, check=False)
        self.assertEqual(ended.returncode, status, f"{words}: {ended.stderr}")
        return ended

    def check(self, path):
        arrays = peer.trilith_json("digest", path)["arrays"]
        self.assertEqual([arrays[name]["sha256"] for name in ("/a", "/b")], [peer.sha256(np.array(data, "u1")) for data in ([1, 2], [3, 4])])

    def test_other_file_leaves_content_out_with_note(self):
        file, out = self.folder / "x.asdf", self.folder / "out.asdf"
        for name, content, whole in self.files():
            for words in (["convert"], ["convert", "--to", "asdf-1.3"], ["convert", "--codec", "zlib"], ["repack"]):
                with self.subTest(name, words=words):
                    file.write_bytes(whole)
                    out.unlink(missing_ok=True)
                    ended = self.run_command(words[0], file, out, *words[1:], "--json")
                    self.assertIn(NOTE, ended.stderr)
                    self.assertTrue(any(NOTE in note for note in json.loads(ended.stdout)["notes"]))
                    self.assertNotIn(content.strip(b"\0"), out.read_bytes())
                    self.assertEqual(file.read_bytes(), whole)
                    self.check(out)
                    with asdf.open(out) as opened:
                        np.testing.assert_array_equal(opened["b"], [3, 4])
            for words in (["explode", file, "-o", self.folder / "parts", "--overwrite"], ["resolve", file, self.folder / "r.asdf", "--overwrite"]):
                with self.subTest(name, words=words[0]):
                    self.assertIn(NOTE, self.run_command(*words).stderr)

    def test_same_name_keeps_content(self):
        file, new = self.folder / "x.asdf", self.folder / "new.npy"
        np.save(new, np.array([9, 9], "u1"))
        edits = (
            ["set", f"{file}#/c", "5"], ["set", f"{file}#/c", "long " * 2000], ["insert", f"{file}#/n", "--from", new],
            ["history", "add", file, "checked"], ["mv", f"{file}#/a", "a2"], ["convert", file, file, "--codec", "zlib"],
            ["convert", file, file, "--to", "asdf-1.2"], ["update", file],
        )  # fmt: skip
        for name, content, whole in self.files():
            content = content.strip(b"\0")
            for words in edits:
                for more in ([], ["--in-place"]) if words[0] != "convert" else ([],):
                    with self.subTest(name, words=words[:3], in_place=bool(more)):
                        file.write_bytes(whole)
                        ended = self.run_command(*words, *more)
                        self.assertNotIn(NOTE, ended.stderr)
                        self.assertEqual(file.read_bytes().count(content), 1)
                        if words[0] == "mv":
                            peer.trilith("mv", f"{file}#/a2", "a")
                        self.check(file)

    def test_repack_over_itself_needs_permission(self):
        file = self.folder / "x.asdf"
        for name, content, whole in self.files():
            with self.subTest(name):
                file.write_bytes(whole)
                ended = self.run_command("repack", file, file, status=2)
                self.assertIn("--drop-gaps", ended.stderr)
                self.run_command("repack", file, file, "--drop-unused", status=2)
                self.assertEqual(file.read_bytes(), whole)
                ended = self.run_command("repack", file, file, "--drop-gaps")
                self.assertIn(NOTE, ended.stderr)
                self.assertNotIn(content.strip(b"\0"), file.read_bytes())
                self.check(file)
        # Zeros and blanks are no content.
        for blanks in (bytes(100), b" " * 30 + b"\n"):
            file.write_bytes(HEAD.encode() + blanks + block(b"\1\2") + bytes(8) + block(b"\3\4"))
            self.assertNotIn(NOTE, self.run_command("repack", file, file).stderr)
            self.check(file)


if __name__ == "__main__":
    unittest.main()
