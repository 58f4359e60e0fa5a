"""Files of other formats as ASDF: each copy is valid, and Python asdf opens it, changes it and writes it again."""

import itertools
import json
import os
import subprocess
import threading

import asdf
import h5py
import numpy as np
import peer
import test_foreign_files
import test_tiff
import trilith as python
from peer import Case, trilith, trilith_json

try:
    from astropy.io import fits
except ImportError:
    fits = None

#: Files of each kind of those that are made; each is another version, type, shape and filter.
STEP = 53


def images(folder):
    """FITS files: images of every type, compressed ones, tables with and without a heap, and arrays without elements."""
    for number, code in enumerate(("u1", ">i2", ">i4", ">i8", ">f4", ">f8")):
        data, path = np.arange(60).reshape(4, 15).astype(code), folder / f"image-{number}.fits"
        made = [fits.PrimaryHDU(data), fits.ImageHDU(data[:0]), fits.CompImageHDU(np.ones((20, 30), code), compression_type="GZIP_1")]
        columns = [fits.Column("a", "J", array=[1, 2]), fits.Column("s", "5A", array=["x", "yz"])]
        columns.append(fits.Column("v", "PJ()", array=np.array([np.arange(2), np.arange(3)], object)))
        for table in (columns[:2], columns):
            made.append(fits.BinTableHDU.from_columns(table))
        made.append(fits.TableHDU.from_columns(columns[:2]))
        made.append(fits.BinTableHDU.from_columns(fits.ColDefs(columns[:2]), nrows=0))
        made[0].header["OBJECT"], made[0].header["HISTORY"] = "M31", "made"
        fits.HDUList(made).writeto(path)
        yield path, {}


class Conversions(Case):
    maxDiff = None

    def test_every_copy_is_valid_and_belongs_to_asdf(self):
        makers = [(make, there) for make, there in test_foreign_files.MAKERS if there]
        makers += [(images, fits), (test_tiff.written, test_tiff.tifffile)]
        count = 0
        for number, (make, there) in enumerate(makers):
            folder = self.folder / make.__name__
            folder.mkdir()
            files = [path for path, _ in make(folder)] if there else []
            for path in itertools.islice(files, number % 5, None, STEP if len(files) > STEP else 1):
                with self.subTest(path.name):
                    self.belongs(path)
                    count += 1
        self.assertGreater(count, 40)

    def belongs(self, path):
        copy, changed = path.with_suffix(".asdf"), self.folder / "changed.asdf"
        trilith("convert", path, copy)
        trilith("validate", copy)
        # asdf-astropy makes HDUs of a FITS file, and writes them with physical values and tables of columns.
        if path.suffix == ".fits":
            self.change(copy, changed)
            self.sums(changed)
        with asdf.config_context() as config:
            config.remove_extension(package="asdf-astropy")
            self.change(copy, changed)
        kept, again = self.sums(copy), self.sums(changed)
        again.remove(peer.expected(np.arange(3))["sha256"])
        self.assertEqual(again, kept)
        # A FITS file becomes its headers and the bytes of its data.
        if path.suffix != ".fits":
            self.assertEqual(kept, self.sums(path, "--stored"))

    def change(self, copy, changed):
        with asdf.open(copy) as file:
            file.validate()
            file["added"] = np.arange(3)
            file.add_history_entry("changed")
            file.write_to(changed)
        trilith("validate", changed)

    def sums(self, path, *options):
        """The digests of all arrays but those of strings, which have other datatypes in trees; paths are spelled differently there."""
        said = trilith_json("digest", path, *options)
        self.assertEqual(said["errors"], {}, json.dumps(said)[:500])
        return sorted(entry["sha256"] for entry in said["arrays"].values() if entry["datatype"][0] not in ("ascii", "utf8", "ucs4"))


class WithoutTemporaryFiles(Case):
    """Conversions need no folder for temporary files: nothing but the draft of the output appears, next to it. (The rest tier.)"""

    def watch(self, *words):
        """Converts without a folder for temporary files; returns the names that appear next to the output."""
        seen, is_done = set(), threading.Event()

        def look():
            while not is_done.is_set():
                seen.update(path.name for path in self.folder.iterdir())

        watcher = threading.Thread(target=look)
        watcher.start()
        try:
            trilith("convert", *words, env={**os.environ, "TMPDIR": "/dev/null/none"})
        finally:
            is_done.set()
            watcher.join()
        return seen

    def test_only_draft_appears(self):
        with h5py.File(self.folder / "x.h5", "w") as file:
            data = np.random.default_rng(1).integers(0, 9, (500, 400)).astype("i4")
            file.create_dataset("d", data=data, chunks=(50, 50), compression="gzip")
        trilith("convert", self.folder / "x.h5", self.folder / "old.asdf", "--to", "asdf-0.1")
        fits.PrimaryHDU(data).writeto(self.folder / "x.fits")
        before = {path.name for path in self.folder.iterdir()}
        for words in (["x.h5", "--codec", "auto"], ["x.h5", "--chunks", "100,100"], ["x.h5", "--to", "asdf-1.5", "--chunks", "100,100"],
                      ["old.asdf", "--to", "asdf-1.6", "--chunks", "100,100", "--codec", "zlib"], ["x.fits", "--codec", "auto"]):
            with self.subTest(words):
                out = self.folder / "y.asdf"
                out.unlink(missing_ok=True)
                seen = self.watch(self.folder / words[0], out, *words[1:])
                self.assertLessEqual(len(seen - before - {"y.asdf"}), 1, seen)
                key = "fits/0/data" if words[0] == "x.fits" else "d"
                np.testing.assert_array_equal(python.open(out)[key][...], data)

    def losses_and_tree(self, *words):
        said = subprocess.run([peer.PROGRAM, "convert", *words, "--overwrite", "--json"], capture_output=True, check=False).stdout
        trilith("convert", *words, "--overwrite", "--allow-loss")
        return [json.loads(said)["losses"], trilith_json("tree", words[1], "--inline")]

    def test_storage_options_change_no_loss(self):
        """Options for blocks change the storage of arrays only, for every format and generation. Rest."""
        half = np.arange(2000, dtype="f2")
        np.save(self.folder / "half.npy", half)
        np.save(self.folder / "text.npy", np.array(["ab", "ü"] * 1000))
        np.save(self.folder / "wide.npy", np.full(2000, 2**63, "u8"))
        with h5py.File(self.folder / "x.h5", "w") as file:
            file["h"], file["c"] = half, np.ones(2000, "c8")
            file["c"].attrs["wide"] = np.uint64(2**64 - 1)
        fits.PrimaryHDU(np.arange(4000, dtype=">i2").reshape(40, 100)).writeto(self.folder / "x.fits")
        for name, target in itertools.product(("half.npy", "text.npy", "wide.npy", "x.h5", "x.fits"),
                                              ("finf-0.1", "asdf-0.1", "asdf-1.0", "asdf-1.5", "asdf-1.6")):
            plain = self.losses_and_tree(self.folder / name, self.folder / "plain.asdf", "--to", target)
            for options in (["--no-checksums"], ["--codec", "auto"]):
                if target == "finf-0.1" and "auto" in options:
                    continue
                with self.subTest(name, to=target, options=options):
                    other = self.losses_and_tree(self.folder / name, self.folder / "other.asdf", "--to", target, *options)
                    self.assertEqual(other, plain)

    def test_level_without_codec_is_refused(self):
        """A level without a codec changes nothing, and is refused for every input and output. Rest."""
        np.save(self.folder / "x.npy", np.zeros(2000, "f4"))
        for name in ("x.asdf", "x.bd", "x.fits"):
            trilith("convert", self.folder / "x.npy", self.folder / name)
        for name, out, codec in itertools.product(("x.npy", "x.asdf", "x.bd", "x.fits"), ("o.asdf", "o.bd", "o.fits"),
                                                  ([], ["--codec", "none"])):
            with self.subTest(name, out=out, codec=codec):
                ended = subprocess.run([peer.PROGRAM, "convert", self.folder / name, self.folder / out, "--level", "3", *codec],
                                            capture_output=True, text=True, check=False)
                self.assertEqual(ended.returncode, 2)
                self.assertIn("a level was given, and no codec", ended.stderr)
