"""HDF5, netCDF and TIFF files of other libraries, through every form: each value arrives, or is listed as a loss."""

import io
import json
import random
import struct
import subprocess
import zipfile

import numpy as np
import peer
import trilith as python
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

    def arrives(self, path, witnesses, *options):
        """Each witness is in the text of each form, or in a loss."""
        for form in FORMS:
            out = self.folder / f"w.{'bd' if form[0] == 'd' else 'fits' if form == 'fits' else 'asdf'}"
            out.unlink(missing_ok=True)
            words = ["convert", path, out, "--allow-loss", "--json", *options] + ([] if form == "fits" else ["--to", form])
            ended = subprocess.run([peer.PROGRAM, *map(str, words)], capture_output=True, timeout=peer.TIME_LIMIT, check=False)
            self.assertEqual(ended.returncode, 0, (path.name, form, ended.stderr))
            losses = " ".join(loss["message"] for loss in json.loads(ended.stdout)["losses"])
            text = out.read_bytes() + trilith("tree", out, "--attributes")
            for witness in witnesses:
                with self.subTest(path.name, form=form, witness=witness):
                    self.assertTrue(witness.encode() in text or witness in losses, losses)

    @peer.unittest.skipIf(h5py is None, "needs h5py")
    def test_hdf5_properties_beside_attributes(self):
        """Tier: rest. Comments, fill values, names of scales and of values are no attributes of HDF5."""
        path = self.folder / "p.h5"
        named = np.dtype([("e", h5py.enum_dtype({"ENUMNAME": 1, "OFF": 0}, "i1")), ("v", "f4")])
        with h5py.File(path, "w", userblock_size=512) as file:
            file["a"], file["x"], file["SECONDSCALE"] = [1, 2], [3.0, 4.0], [3.0, 5.0]
            file["x"].make_scale("SCALENAME")
            file["SECONDSCALE"].make_scale("y")
            file["a"].dims[0].attach_scale(file["x"])
            file["a"].dims[0].attach_scale(file["SECONDSCALE"])
            h5py.h5o.set_comment(file["a"].id, b"OBJECTCOMMENT")
            h5py.h5o.set_comment(file.id, b"ROOTCOMMENT")
            file.create_dataset("f", data=[1, 2], fillvalue=987654)
            file.create_dataset("g", shape=(4,), dtype="f4", chunks=(2,), fillvalue=123.25)
            file["a"].attrs.create("named", np.zeros(2, named), dtype=named)
        with open(path, "r+b") as raw:
            raw.write(b"USERBLOCK")
        words = ["OBJECTCOMMENT", "ROOTCOMMENT", "987654", "123.25", "SCALENAME", "SECONDSCALE", "ENUMNAME", "USERBLOCK"]
        self.arrives(path, words)
        with h5py.File(self.folder / "u.h5", "w", userblock_size=8192) as file:
            file["a"] = [1]
        with open(self.folder / "u.h5", "r+b") as raw:
            raw.write(b"X")
        self.arrives(self.folder / "u.h5", ["the user block"])

    @peer.unittest.skipIf(h5py is None, "needs h5py")
    def test_attributes_that_elements_do_not_follow_stay(self):
        """Tier: rest. netCDF4 ignores these values, so `--physical` keeps them."""
        path = self.folder / "q.h5"
        ignored = {"valid_min": "WITNESS", "_FillValue": 98765432, "valid_range": [98765432.0, 1, 2], "scale_factor": "NOFACTOR"}
        with h5py.File(path, "w") as file:
            for number, (name, value) in enumerate(ignored.items()):
                data = file.create_dataset(f"d{number}", data=np.array([1, 2], "i1"))
                data.attrs[name], data.attrs["missing_value"] = value, np.int8(2)
        self.arrives(path, ["WITNESS", "98765432", "valid_range", "NOFACTOR"], "--physical")

    def test_comments_of_archives_and_titles_of_fields(self):
        """Tier: rest."""
        content = io.BytesIO()
        np.save(content, np.zeros(2, [(("FIELDTITLE", "name"), "i4")]))
        path = self.folder / "p.npz"
        with zipfile.ZipFile(path, "w") as archive:
            member = zipfile.ZipInfo("a.npy")
            member.comment = b"MEMBERCOMMENT"
            archive.writestr(member, content.getvalue())
            archive.comment = b"ARCHIVECOMMENT"
        self.arrives(path, ["MEMBERCOMMENT", "ARCHIVECOMMENT", "FIELDTITLE"])

    @peer.unittest.skipIf(tifffile is None, "needs tifffile")
    def test_fractions_and_bytes_of_tiff_tags(self):
        """Tier: rest. tifffile returns both parts of a fraction, and bytes."""
        path = self.folder / "p.tif"
        tags = [(50000, 7, 9, b"WITNESS1a", True), (50001, "2I", 1, (1234567, 7), True), (50002, "2i", 1, (-3, 7), True)]
        image = np.zeros((3, 4), "u1")
        tifffile.imwrite(path, image, metadata=None, photometric="minisblack", extratags=tags)
        self.arrives(path, ["1234567"])
        out = self.folder / "t.asdf"
        trilith("convert", path, out)
        for one in (path, out):
            with python.open(one) as file, tifffile.TiffFile(path) as wanted:
                attrs = file["image"].attrs
                self.assertEqual(attrs["tag50000"], wanted.pages[0].tags[50000].value)
                self.assertEqual(attrs["tag50001"].tolist(), list(wanted.pages[0].tags[50001].value))
                self.assertEqual((attrs["tag50001"].dtype, attrs["tag50002"].dtype), ("uint32", "int32"))
        with open(path, "ab") as raw:
            raw.write(b"TRAILING")
        self.arrives(path, ["the last 8 bytes"])
        # tifffile does not write this tag.
        tifffile.imwrite(path, image, metadata=None, photometric="minisblack", extratags=[(50000, "I", 1, 8, True)])
        path.write_bytes(path.read_bytes().replace(struct.pack("<H", 50000), struct.pack("<H", 34665)))
        self.arrives(path, ["the EXIF metadata"])


if __name__ == "__main__":
    peer.unittest.main()
