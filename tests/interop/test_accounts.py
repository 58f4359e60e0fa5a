"""HDF5, netCDF and TIFF files of other libraries, through every form: each value arrives, or is listed as a loss."""

import json
import random
import subprocess

import numpy as np
import peer
from peer import datatype, sha256, trilith

try:
    import h5py
except ImportError:
    h5py = None
try:
    import netCDF4
except ImportError:
    netCDF4 = None
try:
    import tifffile
except ImportError:
    tifffile = None

FORMS = ("asdf-1.6", "asdf-1.0", "asdf-0.1", "finf-0.1", "dudley-2025", "dudley-2026", "fits")
#: Random files of each format.
FILES = 12
TYPES = ("i1", "u1", "<i2", ">i4", "<u8", "<f4", ">f8", "<c16", "S3")
NAMES = ("a", "data", "a b", "1", "é", "fits", "dudley", "history", "mask", "x.y")


def values(dice, shape=None):
    shape = dice.choice([(3,), (2, 2), (5, 1), ()]) if shape is None else shape
    kind = np.dtype(dice.choice(TYPES))
    numbers = np.array([dice.randrange(100) for _ in range(int(np.prod(shape)))]).reshape(shape)
    return numbers.astype(kind) if kind.kind != "S" else np.array(numbers, "S3")


def hdf5(path, dice):
    arrays, notes = {}, []
    with h5py.File(path, "w") as file:
        for _ in range(dice.randrange(1, 5)):
            group = dice.choice(["", "", "g/", "g/h/"])
            name = group + dice.choice(NAMES)
            if name in file or name == "g":
                continue
            array = values(dice)
            how = {}
            if array.ndim and dice.random() < 0.5:
                # A chunk may be longer than the axis.
                chunks = tuple(dice.choice([1, length, length + 4]) for length in array.shape)
                how = {"chunks": chunks, "maxshape": (None,) * array.ndim}
                how |= dice.choice([{}, {"compression": "gzip"}, {"shuffle": True, "fletcher32": True}])
            file.create_dataset(name, data=array, **how)
            arrays["/" + name] = array
            if dice.random() < 0.5:
                note = f"note{dice.randrange(10**6)}"
                file[name].attrs["comment"] = note
                notes.append(note)
        if dice.random() < 0.3:
            note = f"root{dice.randrange(10**6)}"
            file.attrs["title"] = note
            notes.append(note)
        if dice.random() < 0.3:
            layout = h5py.VirtualLayout((2,), "f8")
            layout[:] = h5py.VirtualSource("other.h5", "x", (2,))
            file.create_virtual_dataset("unreadable", layout)
    return arrays, notes


def netcdf(path, dice):
    arrays, notes = {}, []
    form = dice.choice(["NETCDF3_CLASSIC", "NETCDF3_64BIT_DATA", "NETCDF4"])
    with netCDF4.Dataset(path, "w", format=form) as file:
        file.createDimension("x", 3)
        file.createDimension("t", None)
        for name in dice.sample(["a", "data", "history", "mask", "flux"], dice.randrange(1, 4)):
            array = values(dice, (3,))
            if array.dtype.kind in "cS" or form == "NETCDF3_CLASSIC" and array.dtype.kind == "u" or array.dtype == "u8":
                array = np.arange(3, dtype="f8")
            variable = file.createVariable(name, array.dtype.newbyteorder("="), (dice.choice(["x", "t"]),))
            variable[:] = array
            arrays["/" + name] = array
            if dice.random() < 0.6:
                note = f"note{dice.randrange(10**6)}"
                variable.comment = note
                notes.append(note)
    return arrays, notes


def tiff(path, dice):
    shape = dice.choice([(4, 5), (16, 16), (3, 7)])
    array = np.array([dice.randrange(100) for _ in range(shape[0] * shape[1])]).reshape(shape)
    array = array.astype(dice.choice(["u1", "<u2", "<f4", "<i4"]))
    note = f"note{dice.randrange(10**6)}"
    how = dice.choice([{}, {"compression": "zlib"}, {"rowsperstrip": 2}, {"byteorder": ">"}])
    tifffile.imwrite(path, array, description=note, metadata=None, photometric="minisblack", **how)
    return {None: array}, [note]


class Accounts(peer.Case):
    def through(self, make, ending):
        compared = lost = 0
        for seed in range(FILES):
            dice = random.Random(seed)
            path = self.folder / f"x{seed}.{ending}"
            arrays, notes = make(path, dice)
            for form in FORMS:
                out = self.folder / f"y.{'bd' if form[0] == 'd' else 'fits' if form == 'fits' else 'asdf'}"
                out.unlink(missing_ok=True)
                words = ["convert", path, out, "--allow-loss", "--skip-unreadable", "--json"]
                words += [] if form == "fits" else ["--to", form]
                ended = subprocess.run([peer.PROGRAM, *map(str, words)], capture_output=True, timeout=peer.TIME_LIMIT, check=False)
                self.assertEqual(ended.returncode, 0, (seed, form, ended.stderr))
                said = json.loads(ended.stdout)
                losses = [loss["path"] or "" for loss in said["losses"]]
                # An item that is left out is an error of the digest, and a loss.
                ended = subprocess.run([peer.PROGRAM, "digest", out, "--json"], capture_output=True, timeout=peer.TIME_LIMIT, check=False)
                found = json.loads(ended.stdout)["arrays"]
                shas = {entry["sha256"] for entry in found.values()}
                text = trilith("tree", out, "--attributes") + trilith("to-yaml", out) if form[0] != "d" else trilith("layout", "print", out)
                with self.subTest(seed=seed, form=form):
                    for name, array in arrays.items():
                        entry = found.get(name) if name else None
                        arrived = entry and (entry["datatype"], entry["shape"]) == (datatype(array.dtype), list(array.shape))
                        if not arrived:
                            arrived = sha256(array) in shas
                        listed = any(name is None or name == loss or name.startswith(loss + "/") for loss in losses)
                        self.assertTrue(arrived and sha256(array) in shas or listed, (name, array, losses, found))
                        compared, lost = compared + 1, lost + (not arrived)
                    for note in notes:
                        self.assertTrue(note.encode() in text or losses, note)
        print(f"{ending}: {FILES} files, {compared} arrays compared, {lost} listed as lost")

    @peer.unittest.skipIf(h5py is None, "needs h5py")
    def test_hdf5(self):
        self.through(hdf5, "h5")

    @peer.unittest.skipIf(netCDF4 is None, "needs netCDF4")
    def test_netcdf(self):
        self.through(netcdf, "nc")

    @peer.unittest.skipIf(tifffile is None, "needs tifffile")
    def test_tiff(self):
        self.through(tiff, "tif")
