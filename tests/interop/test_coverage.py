"""Which parts of a file have a checksum: tier rest.

h5py, astropy and asdf write files in which each part has a checksum or none, at random. `verify` has to name the parts without one, and
the summary their number. A flipped bit of such a part has to pass, and one of any other part has to be found: the number is right.
"""

import gzip
import pathlib
import random
import re
import tempfile
import unittest

import asdf
import h5py
import numpy as np
import peer
from astropy.io import fits

SEED = 20260
NOUNS = {"HDU": "HDUs", "header": "headers", "block": "blocks", "dataset": "datasets"}


def summary(counts):
    """The words of the summary for the numbers of parts: {noun: (without, total)}."""
    words = []
    for noun, (without, total) in counts.items():
        if without:
            words.append(f"{without} of {total} {noun if total == 1 else NOUNS[noun]} {'has' if without == 1 else 'have'} none")
    return ", ".join(words)


class Coverage(unittest.TestCase):
    def setUp(self):
        self.random = random.Random(SEED)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def check(self, path, expected, bits):
        """Compares the parts without a checksum, {noun: (paths, total)}, and flips a bit of each part: {byte: is it covered?}."""
        report = peer.trilith_json("verify", path)
        found = {part["part"]: (set(part["where"]), part["total"]) for part in report["coverage"]}
        self.assertEqual({noun: found[noun] for noun in expected}, expected)
        self.assertTrue(all(part["without_checksum"] == len(part["where"]) for part in report["coverage"]))
        text = peer.trilith("verify", path).decode().rstrip()
        counts = summary({noun: (len(paths), total) for noun, (paths, total) in expected.items()})
        if report["checksums"]:
            self.assertRegex(text, r": OK \((\d+ blocks?, )?\d+ checksums?" + re.escape(f"; {counts}" if counts else "") + r"\)$")
        else:
            self.assertTrue(text.endswith("OK (no checksums: structure only)"), text)
        lines = peer.trilith("verify", "-v", path).decode().splitlines()
        bare = {line.split(": ")[1] for line in lines if line.endswith(": no checksum")}
        self.assertEqual(bare, set().union(*(paths for paths, _ in expected.values())))
        content = path.read_bytes()
        for byte, is_covered in bits.items():
            damaged = bytearray(content)
            damaged[byte] ^= 1
            path.write_bytes(damaged)
            peer.trilith("verify", path, status=1 if is_covered else 0)
            peer.trilith("check", path, status=1 if is_covered else 0)
        path.write_bytes(content)
        # The checksum of a gzip file covers every part.
        whole = path.with_name(path.name + ".gz")
        whole.write_bytes(gzip.compress(content))
        self.assertEqual(peer.trilith_json("verify", whole)["coverage"], [])

    def test_fits_hdus(self):
        for number in range(12):
            hdus = fits.HDUList([fits.PrimaryHDU(np.arange(6, dtype=">i2"))])
            hdus.extend(fits.ImageHDU(np.arange(9, dtype=">f4"), name=f"E{at}") for at in range(self.random.randrange(4)))
            kinds = [self.random.choice(["none", "data", "whole"]) for _ in hdus]
            for hdu, kind in zip(hdus, kinds, strict=True):
                hdu.header["OBSERVER"] = "Leavitt"
                if kind == "data":
                    hdu.add_datasum()
                elif kind == "whole":
                    hdu.add_checksum()
            path = self.folder / f"f{number}.fits"
            hdus.writeto(path)
            bits = {}
            with fits.open(path) as written:
                for at, kind in enumerate(kinds):
                    place = written[at].fileinfo()
                    bits[place["datLoc"] + 1] = kind != "none"
                    header = path.read_bytes()[place["hdrLoc"] : place["datLoc"]]
                    bits[place["hdrLoc"] + header.index(b"Leavitt")] = kind == "whole"
            where = lambda wanted, end="": {f"/fits/{at}{end}" for at, kind in enumerate(kinds) if kind == wanted}  # noqa: E731
            self.check(path, {"HDU": (where("none"), len(kinds)), "header": (where("data", "/header"), len(kinds))}, bits)

    def test_hdf5_datasets(self):
        for number in range(12):
            path = self.folder / f"h{number}.h5"
            latest = number % 2 == 0
            bare, bits, total = set(), {}, 0
            with h5py.File(path, "w", libver="latest" if latest else "earliest") as f:
                for name in "abcdef"[: self.random.randrange(1, 7)]:
                    total += 1
                    kind = self.random.choice(["sum", "chunks", "contiguous", "compact", "strings", "deflated sum"])
                    values = np.arange(100, dtype="i4")
                    if kind in ("sum", "deflated sum"):
                        codec = "gzip" if "deflated" in kind else None
                        f.create_dataset(name, data=values, chunks=(40,), fletcher32=True, compression=codec)
                    elif kind == "strings":
                        f.create_dataset(name, data=["a", "bc"], dtype=h5py.string_dtype())
                    elif kind == "compact":
                        storage = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
                        storage.set_layout(h5py.h5d.COMPACT)
                        space = h5py.h5s.create_simple((100,))
                        made = h5py.h5d.create(f.id, name.encode(), h5py.h5t.STD_I32LE, space, dcpl=storage)
                        made.write(h5py.h5s.ALL, h5py.h5s.ALL, values)
                    else:
                        f.create_dataset(name, data=values, chunks=(40,) if kind == "chunks" else None)
                    # An object header of the newest form covers what is in it.
                    is_covered = kind.endswith("sum") or kind == "compact" and latest
                    if not is_covered:
                        bare.add(f"/{name}")
                    f.flush()
                    if kind in ("sum", "deflated sum", "chunks"):
                        bits[f[name].id.get_chunk_info(0).byte_offset + 8] = is_covered
                    elif kind == "contiguous":
                        bits[f[name].id.get_offset() + 8] = is_covered
            content = path.read_bytes()
            if (at := content.find(np.arange(100, dtype="i4").tobytes())) > 0 and at + 8 not in bits and not any(
                at <= bit < at + 400 for bit in bits
            ):
                bits[at + 8] = latest
            self.check(path, {"dataset": (bare, total)}, bits)

    def test_asdf_blocks(self):
        for number in range(8):
            count = self.random.randrange(1, 5)
            path = self.folder / f"a{number}.asdf"
            asdf.AsdfFile({f"a{at}": np.arange(20, dtype="u1") + at for at in range(count)}).write_to(path)
            content, bare, bits = bytearray(path.read_bytes()), set(), {}
            starts = [match.start() for match in re.finditer(re.escape(b"\xd3BLK"), content)]
            self.assertEqual(len(starts), count)
            for at, start in enumerate(starts):
                has_sum = self.random.random() < 0.5
                if not has_sum:
                    content[start + 38 : start + 54] = bytes(16)
                    bare.add(f"block {at}")
                bits[start + 54 + 3] = has_sum
            path.write_bytes(content)
            self.check(path, {"block": (bare, count)}, bits)

    def test_asdf_in_fits(self):
        for sums in ([], [0], [1], [0, 1, 2], [2]):
            path = self.folder / f"e{len(sums)}{sums[-1:]}.fits"
            source = self.folder / "source.asdf"
            asdf.AsdfFile({"image": np.arange(9, dtype="f4"), "half": np.arange(8, dtype="f2")}).write_to(source)
            peer.trilith("convert", source, path)
            with fits.open(path) as f:
                copies = fits.HDUList([hdu.copy() for hdu in f])
            for at in sums:
                copies[at].add_checksum()
            copies.writeto(path, overwrite=True)
            count = len(copies)
            hdus = {f"/fits/{at}" for at in range(count) if at not in sums}
            report = peer.trilith_json("verify", path)
            blocks = next(part["total"] for part in report["coverage"] if part["part"] == "block")
            self.check(path, {"block": (set(), blocks), "HDU": (hdus, count), "header": (set(), count)}, {})


if __name__ == "__main__":
    unittest.main()
