"""Damage in one item of a file of each format: an error of `convert`, `repack` or `get` names the file and the path of the item.

The peers write the files, and each sample is damaged within the stored elements of the item, so that only reading finds out.
Tier: rest.
"""

import pathlib
import re
import subprocess

import asdf
import h5py
import netCDF4
import numpy as np
import peer
import tifffile
from astropy.io import fits

VALUES = np.sort(np.random.default_rng(3).integers(0, 99, 2000)).reshape(40, 50).astype("<i4")
# The first two bytes of zlib streams; most elements follow the sixteenth byte.
ZLIB = [b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda"]
ROW = [VALUES[3:4].tobytes()[:40]]


def write_hdf5(path, **options):
    with h5py.File(path, "w") as file:
        file.create_dataset("run/hits", data=VALUES, chunks=(10, 50), **options)
        file["whole"] = np.arange(3)


def write_netcdf(path):
    with netCDF4.Dataset(path, "w") as file:
        group = file.createGroup("run")
        group.createDimension("y", 40)
        group.createDimension("x", 50)
        group.createVariable("hits", "i4", ("y", "x"), zlib=True, chunksizes=(10, 50))[:] = VALUES


def write_fits(path):
    fits.HDUList([fits.PrimaryHDU(), fits.CompImageHDU(VALUES, compression_type="GZIP_1", name="HITS")]).writeto(path)


def write_asdf(path, codec=None):
    asdf.AsdfFile({"run": {"hits": VALUES}, "whole": [1, 2]}).write_to(path, all_array_compression=codec)


def converted(*options):
    def write(path):
        write_asdf(path.with_name("source.asdf"))
        peer.trilith("convert", "-q", path.with_name("source.asdf"), path, *options)

    return write


# Name, how it is written, the path of the item, the bytes before the damage, and their distance.
SAMPLES = [
    ("deflate.h5", lambda path: write_hdf5(path, compression="gzip"), "/run/hits", ZLIB, 30),
    ("fletcher32.h5", lambda path: write_hdf5(path, fletcher32=True), "/run/hits", ROW, 2),
    ("deflate.nc", write_netcdf, "/run/hits", ZLIB, 30),
    ("tiles.tiff", lambda path: tifffile.imwrite(path, VALUES.astype("u2"), compression="zlib", tile=(16, 16)), "/image", ZLIB, 10),
    ("stored.npz", lambda path: np.savez(path, hits=VALUES), "/hits", ROW, 2),
    ("tiles.fits", write_fits, "/fits/1", [b"\x1f\x8b"], 14),
    ("stored.asdf", write_asdf, "/run/hits", ROW, 2),
    ("zlib.asdf", lambda path: write_asdf(path, "zlib"), "/run/hits", ZLIB, 10),
    ("chunks.asdf", converted("--chunks", "10,50", "--codec", "zlib"), "/run/hits", ZLIB, 10),
    ("early.asdf", converted("--to", "asdf-0.1", "--codec", "zlib"), "/run/hits", ZLIB, 10),
    ("zlib.bd", converted("--to", "dudley-2026", "--codec", "zlib"), "/run/hits", ZLIB, 10),
]
COMMANDS = {
    "to ASDF": ["convert", "{}", "o.asdf"],
    "to FITS": ["convert", "{}", "o.fits"],
    "to Dudley": ["convert", "{}", "o.bd"],
    "to another codec": ["convert", "{}", "o.asdf", "--to", "asdf-1.5", "--codec", "zstd"],
    "to chunks": ["convert", "{}", "o.asdf", "--to", "asdf-1.6", "--chunks", "7,7"],
    "physical": ["convert", "{}", "o.asdf", "--physical"],
    "repack": ["repack", "{}", "o.asdf", "--codec", "bzp2"],
    "get": ["get", "{}#ITEM", "-o", "o.npy"],
}


def damage(path, marks, distance):
    content = bytearray(path.read_bytes())
    places = [at.start() for mark in marks for at in re.finditer(re.escape(mark), bytes(content))]
    for at in places:
        for place in range(at + distance, min(at + distance + 4, len(content))):
            content[place] ^= 0xFF
    path.write_bytes(content)
    return len(places)


class ReadErrors(peer.Case):
    def test_errors_of_reading_name_file_and_path(self):
        for name, write, item, marks, distance in SAMPLES:
            path = pathlib.Path(self.folder) / name
            write(path)
            self.assertGreater(damage(path, marks, distance), 0, name)
            refused = 0
            for label, words in COMMANDS.items():
                target = f"{item}/data" if name.endswith(".fits") else item
                words = [word.format(name).replace("ITEM", target) for word in words]
                done = subprocess.run(
                    [peer.PROGRAM, *words, "--overwrite"][: None if label != "get" else -1], cwd=self.folder, capture_output=True, text=True,
                    timeout=60, check=False)
                with self.subTest(name, command=label, status=done.returncode, message=done.stderr):
                    self.assertNotIn("panicked", done.stderr)
                    # Blocks that are copied as they are keep their damage, and `repack` works on ASDF alone.
                    is_foreign = "write it as ASDF first" in done.stderr or "works on files of the ASDF family" in done.stderr
                    if done.returncode == 0 or is_foreign or "no arrays in chunks" in done.stderr or "its extension means" in done.stderr:
                        continue
                    refused += 1
                    first = done.stderr.splitlines()[0]
                    self.assertIn(name, first)
                    # A loss of copied blocks is one of the file.
                    if ": loss: block" not in first:
                        self.assertIn(item, first)
            self.assertGreaterEqual(refused, 3, name)


if __name__ == "__main__":
    import unittest

    unittest.main()
