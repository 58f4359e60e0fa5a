"""HDF5 files in other forms than one file from its first byte on, and links that lead back. Rest tier, as all interop modules."""

import importlib.util
import resource
import struct
import subprocess
import unittest

import numpy as np
from peer import PROGRAM, Case, trilith, trilith_json

HAS_H5PY = importlib.util.find_spec("h5py") is not None
if HAS_H5PY:
    import h5py

BEGINNINGS = {
    "pdf": b"%PDF-1.4\n",
    "fits": b"SIMPLE  =                    T / conforms to FITS standard".ljust(80),
    "asdf": b"#ASDF 1.0.0\n#ASDF_STANDARD 1.6.0\n%YAML 1.1\n--- {}\n...\n",
    "png": b"\x89PNG\r\n\x1a\n",
    "zip": b"PK\x05\x06",
    "text": b"#!/bin/sh\nexit 0\n",
}


def failure(*arguments):
    """The message of a command that has to end with status 2."""
    ended = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, check=False)
    assert ended.returncode == 2, ended
    return ended.stderr.decode()


@unittest.skipUnless(HAS_H5PY, "needs h5py")
class UserBlocks(Case):
    def test_signature_after_user_block_wins(self):
        for size in 512, 1024, 2048, 4096, 65536:
            for name, start in BEGINNINGS.items():
                path = self.folder / f"{name}{size}.h5"
                with h5py.File(path, "w", userblock_size=size) as f:
                    f["x"] = np.arange(5)
                with path.open("r+b") as f:
                    f.write(start)
                with self.subTest(name, size=size):
                    self.assertEqual(trilith_json("get", f"{path}#/x"), [0, 1, 2, 3, 4])
                    trilith("verify", path)

    def test_empty_start_of_other_format_is_user_block(self):
        marks = [b"CDF\x01", b"CDF\x05", b"II*\0", b"MM\0*", b"II+\0", b"\x93NUMPY", b"\x93NUMPY\x01\0 text", b"II*\0 text", b"!<<PDB:", b"PK\x03\x04" + bytes(22) + b"\5\0\0\0x.npy"]
        for size in 512, 4096, 65536:
            for number, mark in enumerate(marks):
                path = self.folder / f"{number}-{size}.h5"
                with h5py.File(path, "w", userblock_size=size) as f:
                    f["x"] = np.arange(5)
                with path.open("r+b") as f:
                    f.write(mark)
                with self.subTest(mark, size=size), h5py.File(path) as f:
                    self.assertEqual(trilith_json("get", f"{path}#/x"), f["x"][...].tolist())
                    self.assertEqual(trilith_json("info", path)["format"], "HDF5")
                    trilith("verify", path)

    def test_array_of_hdf5_bytes_stays_array(self):
        path = self.folder / "x.npy"
        with h5py.File(self.folder / "x.h5", "w") as f:
            f["x"] = 1
        data = np.frombuffer(bytes(4096 - 128) + (self.folder / "x.h5").read_bytes(), "u1")
        np.save(path, data)
        self.assertEqual(path.read_bytes()[4096:4100], b"\x89HDF")
        self.assertEqual(trilith_json("info", path)["format"], "NPY")
        self.assertEqual(trilith_json("get", f"{path}#/data", "--slice", "3968:3972"), list(b"\x89HDF"))

    def test_embedded_hdf5_leaves_asdf_alone(self):
        inner, outer = self.folder / "x.h5", self.folder / "x.asdf"
        with h5py.File(inner, "w") as f:
            f["x"] = 1
        tree = "#ASDF 1.0.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n--- !core/asdf-1.1.0\nh5: !core/ndarray-1.0.0\n  source: 0\n  datatype: uint8\n  byteorder: little\n  shape: [{}]\n...\n"
        data = inner.read_bytes()
        tree = tree.format(len(data)).encode()
        # The data begin at byte 512: a gap of spaces in the tree is as long as it has to be.
        tree = tree.replace(b"\n...\n", b"\n#" + b" " * (512 - 54 - len(tree) - 2) + b"\n...\n")
        block = b"\xd3BLK" + struct.pack(">HI4sQQQ", 48, 0, b"\0" * 4, len(data), len(data), len(data)) + b"\0" * 16
        outer.write_bytes(tree + block + data)
        self.assertEqual(outer.read_bytes()[512:516], b"\x89HDF")
        self.assertEqual(trilith_json("get", f"{outer}#/h5")[:4], list(b"\x89HDF"))

    def test_moved_superblock_moves_end_of_file(self):
        path, moved = self.folder / "a.h5", self.folder / "b.h5"
        for libver in "earliest", "latest":
            with h5py.File(path, "w", userblock_size=1024, libver=libver) as f:
                f["x"] = np.arange(1000)
            whole = path.read_bytes()
            for made in whole[1024:], whole[512:], bytes(1024) + whole:
                moved.write_bytes(made)
                trilith("verify", "--deep", moved)
                self.assertEqual(trilith_json("get", f"{moved}#/x", "--slice", "998:"), [998, 999])
                moved.write_bytes(made[:-8])
                self.assertIn(b"truncated", trilith("verify", moved, status=1))


@unittest.skipUnless(HAS_H5PY, "needs h5py")
class Members(Case):
    def test_members_of_several_files_are_named(self):
        for libver in "earliest", "latest":
            with h5py.File(self.folder / f"{libver}-%d.h5", "w", driver="family", memb_size=4096, libver=libver) as f:
                f["x"] = np.arange(3000)
            with h5py.File(self.folder / libver, "w", driver="split", libver=libver) as f:
                f["x"] = np.arange(3000)
            for command in "tree", "verify", "info":
                self.assertIn("first member of a family", failure(command, self.folder / f"{libver}-0.h5"))
                self.assertIn("split or multi", failure(command, self.folder / f"{libver}-m.h5"))
                for later in f"{libver}-1.h5", f"{libver}-r.h5":
                    self.assertIn("a later member of a family", failure(command, self.folder / later))

    def test_objects_of_no_known_kind_hide_nothing(self):
        path = self.folder / "a.h5"
        with h5py.File(path, "w", libver="latest") as f:
            f["x"], f["kind"] = np.arange(3), np.dtype("i4")
            place = h5py.h5o.get_info(f["kind"].id).addr
        whole = bytearray(path.read_bytes())
        at = whole.index(bytes([3]), place + 16)
        whole[at] = 0
        path.write_bytes(whole)
        self.assertEqual(trilith_json("get", f"{path}#/x"), [0, 1, 2])
        self.assertIn("not a group, dataset or datatype", trilith("tree", path).decode())


@unittest.skipUnless(HAS_H5PY, "needs h5py")
class Links(Case):
    def test_links_that_lead_back_are_names(self):
        path, out = self.folder / "a.silo", self.folder / "a.asdf"
        with h5py.File(path, "w") as f:
            f["x"], f["g/y"] = np.arange(3), np.arange(4)
            f["g/.."], f["g/self"], f["g/here"] = h5py.SoftLink("/"), f["g"], h5py.SoftLink("/g")
            f["outside"] = h5py.ExternalLink("a.silo", "/g")
        for command in ["verify"], ["verify", "--deep"], ["digest"], ["stats"], ["info"], ["tree"], ["validate"], ["search", "--key", "y"]:
            with self.subTest(command):
                trilith(*command, path)
        self.assertEqual(trilith("diff", path, path), b"")
        trilith("convert", path, out)
        trilith("verify", "--deep", out)
        self.assertEqual(trilith_json("get", f"{out}#/g/y"), [0, 1, 2, 3])
        self.assertIn("hdf5_link", trilith("to-yaml", out).decode())
        with h5py.File(self.folder / "b.silo", "w") as f:
            f["x"], f["g/y"], f["g/.."] = np.arange(3), np.arange(4), h5py.SoftLink("/g")
        self.assertIn("..", trilith("diff", path, self.folder / "b.silo", status=1).decode())


    def test_paths_lead_through_links_back(self):
        path = self.folder / "a.h5"
        with h5py.File(path, "w") as f:
            f["a/x"], f["a/deep.er/y"] = np.arange(3), np.arange(4)
            f["a"].attrs["unit"] = "m"
            f["a/self"], f["a/me"], f["a/.."] = h5py.SoftLink("/"), f["a"], h5py.SoftLink("/")
            f["a/deep.er/up"], f["b"] = h5py.SoftLink("/a/deep.er"), h5py.SoftLink("/a")
        paths = ["/a/self/a/x", "/a/me/x", "/a/me/me/self/b/me/x", "/a/deep.er/up/y", "/b/deep.er/up/up/y", '/a/".."/a/x', "/a/self/a/self/b/x"]
        with h5py.File(path) as f:
            for name in paths:
                with self.subTest(name):
                    expected = f[name.replace('"', "").replace("a/../", "a/self/")][...].tolist()
                    self.assertEqual(trilith_json("get", f"{path}#{name}"), expected)
            self.assertEqual(set(trilith_json("get", f"{path}#/a/self")), set(f["a/self"]))
            self.assertEqual(trilith_json("get", f"{path}#/a/me@unit"), f["a/me"].attrs["unit"])
        self.assertIsNone(trilith_json("get", f"{path}#/a")["self"])
        ended = subprocess.run([PROGRAM, "get", f"{path}#/a/self/q"], capture_output=True, check=False)
        self.assertEqual((ended.returncode, ended.stdout), (1, b""))
        self.assertIn(b"there are: a, b", ended.stderr)


@unittest.skipUnless(HAS_H5PY, "needs h5py")
class Sizes(Case):
    def bounded(self, *arguments):
        """The status of a command that has 700 MB of address space."""
        limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (700 << 20, 700 << 20))
        ended = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, check=False, preexec_fn=limit, timeout=60)
        self.assertIn(ended.returncode, (0, 1, 2), ended.stderr[-300:])
        return ended

    def test_lengths_beyond_heap_are_refused(self):
        path = self.folder / "a.h5"
        with h5py.File(path, "w") as f:
            f.create_dataset("rows", data=np.array([(0, "abcdefg")] * 3, [("p", "i4"), ("q", h5py.string_dtype())]))
            f.create_dataset("texts", data=["hijklmn"] * 3, dtype=h5py.string_dtype())
            f.attrs["one"] = "opqrstu"
            f["x"] = np.arange(3)
        whole = path.read_bytes()
        # The length in the descriptor of an element alone, and that of the object in the heap as well.
        for text in b"abcdefg", b"hijklmn", b"opqrstu":
            heap = whole.index(text) - 8
            for size in 0x26000009, 0xFFFFFFF0:
                for change_heap in False, True:
                    made = bytearray(whole)
                    for at in range(len(made) - 16):
                        if made[at : at + 4] == struct.pack("<I", 7) and 0 < struct.unpack_from("<Q", made, at + 4)[0] < heap:
                            made[at : at + 4] = struct.pack("<I", size)
                    if change_heap:
                        made[heap : heap + 8] = struct.pack("<Q", 2**40)
                    path.write_bytes(made)
                    for command in ["tree"], ["digest"], ["verify", "--deep"], ["stats"]:
                        with self.subTest(command, text=text, size=size, heap=change_heap):
                            self.bounded(*command, path)
                    self.assertEqual(trilith_json("get", f"{path}#/x"), [0, 1, 2])

    def test_unwritten_dataset_takes_little_memory(self):
        path = self.folder / "u.h5"
        with h5py.File(path, "w") as f:
            f.create_dataset("whole", (2**27, 1), "i8")
            f.create_dataset("chunked", (2**27, 1), "i8", chunks=(1000, 1))
        # Each dataset has 1 GiB.
        self.assertEqual(self.bounded("verify", "--deep", path).returncode, 0)

    def test_datasets_beyond_64_bits_touch_no_other(self):
        path = self.folder / "h.h5"
        with h5py.File(path, "w") as f:
            f["small"] = np.arange(3)
            f.create_dataset("huge", (2**62, 2**10), "f8", chunks=(1000, 10))
            f.create_dataset("more", (2**63 - 1, 2**63 - 1, 2**40), "f8", chunks=(10, 10, 10))
            f.create_dataset("texts", (2**62, 4), h5py.string_dtype(), chunks=(10, 4))
            f.create_dataset("references", (2**62, 4), h5py.ref_dtype, chunks=(10, 4))
        for command in ["info"], ["tree"], ["search", "--key", "small"]:
            self.assertEqual(self.bounded(*command, path).returncode, 0, command)
        self.assertEqual(trilith_json("get", f"{path}#/small"), [0, 1, 2])
        for command in ["digest"], ["verify", "--deep"]:
            self.assertIn(self.bounded(*command, path).returncode, (1, 2))
        self.assertEqual(self.bounded("convert", path, self.folder / "h.asdf", "--skip-unreadable").returncode, 0)


if __name__ == "__main__":
    unittest.main()
