"""HDF5 files that refer to other ones: links, data in external files, and virtual datasets. What h5py reads of those in the
folder is read, and what is outside of it is refused."""

import contextlib
import itertools
import json
import os
import unittest

import numpy as np
from peer import Case, expected, sha256, trilith, trilith_json

try:
    import h5py
except ImportError:
    h5py = None

VERSIONS = ["earliest", "v110", "v112", "latest"]


def version(name):
    return name if name in ("earliest", "latest") else (name, name)


@unittest.skipIf(h5py is None, "h5py is not installed")
class OtherFiles(Case):
    def same(self, path, every_command=True):
        """All datasets are those that h5py reads, also in the layout of the file and in its copy."""
        with h5py.File(path) as f:
            found = {}

            def visit(group, above):
                for name in group:
                    item = group[name]
                    if isinstance(item, h5py.Dataset):
                        found[f"{above}/{name}"] = item[()]
                    else:
                        visit(item, f"{above}/{name}")

            visit(f, "")
        wanted = {name: expected(np.asarray(data)) for name, data in found.items()}
        self.assertEqual(self.arrays(path), wanted)
        layout, copy = self.folder / "layout.dud", self.folder / "copy.asdf"
        layout.write_bytes(trilith("layout", "from", path))
        self.assertEqual(self.arrays(path, "--layout", layout), wanted)
        trilith("convert", path, copy)
        trilith("validate", copy)
        self.assertEqual(self.arrays(copy), wanted)
        trilith("verify", "--deep", path)
        if every_command:
            self.everywhere(path, found)
        return found

    def everywhere(self, path, found):
        """Every other command has the same elements, too."""
        out, told, copy = self.folder / "out.npy", trilith_json("tree", path), self.folder / "copy.bd"
        copy.unlink(missing_ok=True)
        trilith("convert", path, copy)
        self.assertEqual(self.arrays(copy), self.arrays(path))
        size, stats = path.stat().st_size, {entry["path"].replace('"', ""): entry for entry in trilith_json("stats", path)["arrays"]}
        for name, data in found.items():
            out.unlink(missing_ok=True)
            trilith("get", f"{path}#{name}", "-o", out)
            read = np.load(out)
            self.assertEqual((read.shape, read.dtype.newbyteorder("=")), (data.shape, data.dtype.newbyteorder("=")), name)
            np.testing.assert_array_equal(read, data, err_msg=name)
            said = stats[name]
            self.assertEqual((said["count"], said["min"], said["max"]), (data.size, data.min(), data.max()), name)
            self.assertAlmostEqual(said["mean"], data.mean(dtype="f8"), msg=name)
            entry = told
            for step in name.strip("/").split("/"):
                entry = entry[step]
            self.assertEqual((entry["datatype"], entry["shape"]), (data.dtype.newbyteorder("=").name, list(data.shape)), name)
            # What is not in the file itself has no place in it.
            self.assertTrue(entry["offset"] is None or entry["offset"] + data.nbytes <= size, name)
        # A manifest refers to what is in the file itself, and says of all else that it does not.
        manifest = self.folder / "m.json"
        trilith("manifest", path, "-o", manifest, "--inline", 0, "--skip")
        for key, place in json.loads(manifest.read_text())["refs"].items():
            if isinstance(place, list):
                self.assertLessEqual(place[1] + place[2], size, key)

    def arrays(self, path, *options):
        """The digests of the arrays by their paths, without quotes."""
        return {name.replace('"', ""): entry for name, entry in trilith_json("digest", path, *options)["arrays"].items()}

    def test_data_in_external_files(self):
        data = np.arange(60.0).reshape(5, 12)
        (self.folder / "deep").mkdir()
        for lib in VERSIONS:
            path = self.folder / f"a-{lib}.h5"
            # h5py looks for relative names in the folder of the process.
            with contextlib.chdir(self.folder), h5py.File(path, "w", libver=version(lib)) as f:
                f["own"] = np.arange(3)
                for name, files in {
                    "one": [("raw one.bin", 0, h5py.h5f.UNLIMITED)],
                    "later": [("raw 100%#.bin", 1000, data.nbytes)],
                    "cut": [("p0.bin", 8, 100), ("deep/p1.bin", 0, 204), ("p0.bin", 300, 176)],
                }.items():
                    f.create_dataset(name, data=data, external=files)
            with contextlib.chdir(self.folder):
                found = self.same(path, lib == VERSIONS[-1])
            np.testing.assert_array_equal(found["/cut"], data)
        (self.folder / "p0.bin").write_bytes(bytes(400))
        trilith("get", f"{path}#/cut", status=2)
        trilith("get", f"{path}#/own")

    def test_links_to_other_files(self):
        (self.folder / "deep").mkdir()
        with h5py.File(self.folder / "deep/c.h5", "w", userblock_size=1024) as f:
            f["z"] = np.arange(4)
        with h5py.File(self.folder / "deep/b.h5", "w") as f:
            f.create_dataset("g/packed", data=np.arange(100.0).reshape(10, 10), chunks=(3, 4), compression="gzip")
            f["g/big"] = np.arange(5, dtype=">f8")
            f["g/c"] = h5py.ExternalLink("c.h5", "/z")
            f["soft"] = h5py.SoftLink("/g/packed")
            f["back"] = h5py.ExternalLink("../a.h5", "/own")
        path = self.folder / "a.h5"
        with h5py.File(path, "w") as f:
            f["own"] = np.arange(3, dtype=">i2")
            f["group"] = h5py.ExternalLink("deep/b.h5", "/g")
            f["deep/soft"] = h5py.ExternalLink("deep/b.h5", "soft")
            f["back"] = h5py.ExternalLink("deep/b.h5", "/back")
            f["again"] = h5py.ExternalLink("./deep/b.h5", "/g/packed")
            # Links that lead to links in other files, and back.
            f["through"] = h5py.ExternalLink("deep/b.h5", "/g/c")
            f["over"] = h5py.SoftLink("/group/c")
            f["local"] = h5py.SoftLink("group/packed")
            layout = h5py.VirtualLayout((2, 4), "i8")
            layout[0], layout[1] = h5py.VirtualSource("deep/b.h5", "g/c", (4,)), h5py.VirtualSource(".", "over", (4,))
            f.create_virtual_dataset("virtual", layout)
        found = self.same(path)
        self.assertEqual(len(found), 11)
        self.assertEqual(found["/back"].tolist(), [0, 1, 2])
        self.assertEqual(found["/virtual"].tolist(), [[0, 1, 2, 3]] * 2)
        self.assertIn("deep/b.h5", trilith("layout", "from", path).decode().splitlines()[1])
        self.assertIn("through: int64 [4]  in another file, 32 B", trilith("tree", path).decode())
        trilith("manifest", path, "-o", self.folder / "m.json", "--inline", 0, status=2)

    def test_files_that_link_to_each_other(self):
        for name, other in (("a", "b"), ("b", "a")):
            with h5py.File(self.folder / f"{name}.h5", "w") as f:
                f["d"] = np.arange(3)
                f["other"] = h5py.ExternalLink(f"{other}.h5", "/")
                f["circle"] = h5py.ExternalLink(f"{other}.h5", "/circle")
                f["to"] = h5py.SoftLink("/other/to")
        tree = trilith("tree", self.folder / "a.h5").decode()
        # A link that leads in a circle leads nowhere, and one that leads back is a name.
        self.assertIn("circle: (unreadable: a link to /circle in the file b.h5, which leads to more than 16 links)", tree)
        self.assertIn("to: (unreadable: ", tree)
        self.assertIn("other: null  ## a link back to /other", tree)
        self.assertLess(len(tree), 6000)
        said = trilith_json("digest", self.folder / "a.h5", status=1)
        self.assertEqual({path.rsplit("/", 1)[-1] for path in said["errors"]}, {"circle", "to"})

    def test_what_is_outside_is_refused(self):
        inside = self.folder / "in"
        inside.mkdir()
        with h5py.File(self.folder / "secret.h5", "w") as f:
            f["d"] = np.arange(3.0)
        (self.folder / "secret.bin").write_bytes(bytes(24))
        os.symlink(self.folder / "secret.h5", inside / "link.h5")
        path = inside / "a.h5"
        with h5py.File(path, "w") as f:
            f["own"] = np.arange(3)
            f["up"] = h5py.ExternalLink("../secret.h5", "/d")
            f["absolute"] = h5py.ExternalLink(str(self.folder / "secret.h5"), "/d")
            f["symbolic"] = h5py.ExternalLink("link.h5", "/d")
            f["missing"] = h5py.ExternalLink("nowhere.h5", "/d")
            f.create_dataset("raw", (3,), "f8", external=[(str(self.folder / "secret.bin"), 0, 24)])
            layout = h5py.VirtualLayout((3,), "f8")
            layout[:] = h5py.VirtualSource(str(self.folder / "secret.h5"), "d", (3,))
            f.create_virtual_dataset("virtual", layout)
        said = trilith_json("digest", path, status=2)
        self.assertEqual(sorted(said["errors"]), ["/absolute", "/missing", "/raw", "/symbolic", "/up", "/virtual"])
        self.assertEqual(list(said["arrays"]), ["/own"])
        for name, why in said["errors"].items():
            self.assertIn("nowhere.h5" if name == "/missing" else "secret" if name != "/symbolic" else "link.h5", str(why), name)
        allowed = trilith_json("digest", path, "--allow", f"{self.folder}/", status=2)
        self.assertEqual(sorted(allowed["arrays"]), ["/absolute", "/own", "/raw", "/symbolic", "/up", "/virtual"])
        # A layout that somebody gives leads no further than the file.
        layout = self.folder / "given.dud"
        layout.write_text('# x\n  #: grid_files=["../secret.bin"]\n  #: grid_files_at=[4096, 0, 24]\nx = <f8[3] @4096\n')
        trilith("get", f"{path}#/x", "--layout", layout, status=2)

    def sources(self):
        random = np.random.default_rng(1)
        for number in range(4):
            data = random.integers(0, 1000, (6, 5, 4)).astype("f4")
            with h5py.File(self.folder / f"source number {number}.h5", "w") as f:
                f["plain"] = data
                f.create_dataset("packed", data=data, chunks=(2, 5, 3), compression="gzip", shuffle=True)
                f.create_dataset("big", data=data, dtype=">f4")
        return [f"source number {number}.h5" for number in range(4)]

    def test_virtual_datasets(self):
        files = self.sources()
        for lib, kind in itertools.product(VERSIONS, ("plain", "packed")):
            path = self.folder / f"v-{lib}-{kind}.h5"
            source = lambda number: h5py.VirtualSource(files[number], kind, (6, 5, 4), "f4")  # noqa: E731
            with h5py.File(path, "w", libver=version(lib)) as f:
                made = {}
                made["stack"] = h5py.VirtualLayout((4, 6, 5, 4), "f4")
                made["rows"] = h5py.VirtualLayout((24, 5, 4), "f4")
                made["turns"] = h5py.VirtualLayout((24, 5, 4), "f4")
                made["gaps"] = h5py.VirtualLayout((30, 5, 9), "f4")
                made["frame"] = h5py.VirtualLayout((4, 5), "f4")
                made["columns"] = h5py.VirtualLayout((6, 5, 8), "f4")
                for n in range(4):
                    made["stack"][n] = source(n)
                    made["rows"][6 * n : 6 * n + 6] = source(n)
                    made["turns"][n::4] = source(n)
                    made["gaps"][7 * n + 1 : 7 * n + 4, 1:4, 2 * n : 2 * n + 1] = source(n)[1:6:2, 2:5, 3:4]
                    made["frame"][n] = source(n)[n, :, 1]
                    made["columns"][..., 2 * n : 2 * n + 2] = source(n)[..., 1:3]
                for name, layout in made.items():
                    f.create_virtual_dataset(name, layout, fillvalue=-5)
                f["own"] = np.arange(24, dtype=">i2").reshape(4, 6)
                same = h5py.VirtualLayout((2, 3), ">i2")
                same[:] = h5py.VirtualSource(f["own"])[1:4:2, ::2]
                f.create_virtual_dataset("g/same", same)
                f.create_virtual_dataset("nothing", h5py.VirtualLayout((3, 2), "i4"), fillvalue=9)
            found = self.same(path, lib == VERSIONS[-1])
            self.assertEqual((found["/gaps"] == -5).sum(), found["/gaps"].size - 4 * 9)
            tree = trilith("tree", path).decode()
            self.assertNotIn("source0", tree)
            part = trilith_json("get", f"{path}#/turns", "--slice", "5:17:3,::-1,2")
            self.assertEqual(part, found["/turns"][5:17:3, ::-1, 2].tolist())

    def test_virtual_datasets_of_virtual_datasets_and_of_links(self):
        files = self.sources()
        inner, path = self.folder / "inner.h5", self.folder / "outer.h5"
        with h5py.File(inner, "w") as f:
            layout = h5py.VirtualLayout((12, 5, 4), "f4")
            layout[:6], layout[6:] = (h5py.VirtualSource(files[n], "packed", (6, 5, 4)) for n in range(2))
            f.create_virtual_dataset("v", layout)
            f["soft"] = h5py.SoftLink("/v")
        with h5py.File(path, "w") as f:
            layout = h5py.VirtualLayout((2, 12), "f4")
            layout[0], layout[1] = (h5py.VirtualSource("inner.h5", name, (12, 5, 4))[:, 1, 2] for name in ("v", "soft"))
            f.create_virtual_dataset("w", layout)
            f["link"] = h5py.ExternalLink("inner.h5", "/v")
            f["v@source0"] = np.arange(2)
        self.same(path)

    def test_virtual_datasets_that_are_refused(self):
        files, path = self.sources(), self.folder / "a.h5"
        with h5py.File(path, "w") as f:
            f["own"] = np.arange(3)
            for name, source in {
                "missing": h5py.VirtualSource("nowhere.h5", "plain", (6, 5, 4), "f4"),
                "lost": h5py.VirtualSource(files[0], "nothing", (6, 5, 4), "f4"),
                "swapped": h5py.VirtualSource(files[0], "big", (6, 5, 4), "f4"),
                "long": h5py.VirtualSource(files[0], "plain", (7, 5, 4), "f4"),
            }.items():
                layout = h5py.VirtualLayout(source.shape, "f4")
                layout[...] = source
                f.create_virtual_dataset(name, layout)
            itself = h5py.VirtualLayout((3,), "i8")
            itself[:] = h5py.VirtualSource(".", "itself", (3,), "i8")
            f.create_virtual_dataset("itself", itself)
            space = h5py.h5s.create_simple((3,), (h5py.h5s.UNLIMITED,))
            space.select_hyperslab((0,), (1,), (1,), (h5py.h5s.UNLIMITED,))
            blocks = space.copy()
            blocks.select_hyperslab((0,), (h5py.h5s.UNLIMITED,), (1,), (1,))
            for name, file, to, from_ in ("endless", files[0], space, space), ("numbered", "source %b.h5", blocks, h5py.h5s.create_simple((1,))):
                creation = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
                creation.set_virtual(to, file.encode(), b"plain", from_)
                h5py.h5d.create(f.id, name.encode(), h5py.h5t.IEEE_F32LE, h5py.h5s.create_simple((3,), (h5py.h5s.UNLIMITED,)), dcpl=creation)
        said = trilith_json("digest", path, status=2)
        self.assertEqual(sorted(said["errors"]), ["/endless", "/itself", "/long", "/lost", "/missing", "/numbered"])
        with h5py.File(path) as f:
            swapped = sha256(f["swapped"][...])
        self.assertEqual({name: array["sha256"] for name, array in said["arrays"].items() if name != "/own"}, {"/swapped": swapped})
        for name, word in {"missing": "nowhere.h5", "numbered": "%b", "endless": "no end"}.items():
            self.assertIn(word, str(said["errors"][f"/{name}"]))


if __name__ == "__main__":
    unittest.main()
