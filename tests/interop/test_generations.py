"""Files of 2014 and 2015, converted by Trilith, read by today's Python asdf: equal values in every standard 1.x."""

import json
import pathlib
import shutil
import unittest

import asdf
import numpy as np
import peer

SHARED = peer.shared()
STANDARDS = ("1.0", "1.1", "1.2", "1.3", "1.4", "1.5", "1.6")


def samples_of_old():
    """Each sample before ASDF 1.0 with what its writer says it holds."""
    for kind in ("finf-*", "pasdf-*", "asdf010-*"):
        for said in sorted((SHARED / "corpus").glob(f"{kind}/**/*.expect.json")):
            expected = json.loads(said.read_text())
            path = said.parent / pathlib.Path(expected["file"]).name
            if path.exists() and path.suffix in (".asdf", ".finf"):
                yield path, expected


def at(tree, pointer):
    """The item at a JSON Pointer."""
    for key in pointer.split("/")[1:]:
        key = key.replace("~1", "/").replace("~0", "~")
        tree = tree[int(key)] if isinstance(tree, list) else tree[key]
    return tree


@unittest.skipUnless(SHARED, "no sample files beside the repository (TRILITH_SHARED names another place)")
class Generations(peer.CaseWithoutAstropy):
    def converted(self, path, standard):
        """The file in another standard, its external files (converted too) beside it."""
        folder = self.folder / standard
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        for other in path.parent.iterdir():
            if other.is_file() and other.stem.startswith(path.stem) and other.suffix == path.suffix:
                shutil.copyfile(other, folder / other.name)
        # Where they lie, so that the names of the parts stay as they are.
        made = folder / path.name
        for name in [made, *sorted(set(folder.iterdir()) - {made})]:
            peer.trilith("convert", name, name, "--to", f"asdf-{standard}")
        return made

    def holds(self, path, expected):
        with asdf.open(path, validate_checksums=True, lazy_load=False) as opened:
            opened.validate()
            for pointer, said in expected["arrays"].items():
                with self.subTest(array=pointer):
                    array = at(opened.tree, pointer)
                    array = array if np.ma.isMaskedArray(array) else peer.load(array)
                    self.assertEqual(peer.datatype(array.dtype), peer.stripped(said["dtype"]))
                    self.assertEqual(list(array.shape), said["shape"])
                    if not np.ma.isMaskedArray(array):
                        self.assertEqual(peer.sha256(array), said["sha256_le"])
                    else:
                        self.assertEqual(peer.expected(array)["mask_sha256"], said["mask_sha256"])
            absent = expected.get("may_be_absent", [])
            for pointer, value in expected.get("scalars", {}).items():
                if pointer not in absent and isinstance(value, (str, int, bool)):
                    with self.subTest(scalar=pointer):
                        self.assertEqual(at(opened.tree, pointer), value)


def reading(standard):
    def test(self):
        tried = 0
        for path, expected in samples_of_old():
            with self.subTest(sample=str(path.relative_to(SHARED))):
                self.holds(self.converted(path, standard), expected)
                tried += 1
        self.assertGreater(tried, 50)

    return test


for standard in STANDARDS:
    setattr(Generations, f"test_standard_{standard.replace('.', '_')}", reading(standard))


class Chosen(peer.Case):
    def test_every_form_and_back(self):
        tree = {name: array for name, array in peer.samples().items() if "float16" not in name and not name.startswith("many")}
        path = self.folder / "newest.asdf"
        asdf.AsdfFile(tree).write_to(path)
        for form in ("finf-0.1", "asdf-0.1-dev", "asdf-0.1", "asdf-1.0", "asdf-1.5"):
            with self.subTest(form=form):
                old, back = self.folder / f"{form}.asdf", self.folder / f"{form}-back.asdf"
                peer.trilith("convert", path, old, "--to", form)
                peer.trilith("convert", old, back, "--to", "asdf-1.6")
                with asdf.open(back, validate_checksums=True, lazy_load=False) as opened:
                    opened.validate()
                    for name, array in tree.items():
                        self.assertTrue(peer.same(peer.load(opened[name]), array), name)
                    # "Describes the ASDF library that produced the file" (schema core/asdf).
                    self.assertEqual(opened["asdf_library"]["name"], "trilith")
                    self.assertIn("extensions", opened["history"])


if __name__ == "__main__":
    unittest.main()
