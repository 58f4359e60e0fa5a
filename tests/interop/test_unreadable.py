"""One bad part of a file never hides the others, and never looks like an empty value: every command tells, and fails."""

import json
import subprocess

import numpy as np
import peer
from peer import expected, sha256, trilith, trilith_json

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
try:
    from astropy.io import fits
except ImportError:
    fits = None
try:
    from safetensors.numpy import load_file, save_file
except ImportError:
    save_file = None

GOOD = np.arange(6, dtype="<f4").reshape(2, 3)
UNSUPPORTED, MALFORMED = 2, 1
#: Cards of 80 bytes in a header, and blocks of them.
CARD, BLOCK = 80, 2880


def virtual(path):
    with h5py.File(path, "w") as file:
        file["good"] = GOOD
        layout = h5py.VirtualLayout((2,), "f8")
        layout[:] = h5py.VirtualSource("nowhere.h5", "x", (2,))
        file.create_virtual_dataset("bad", layout)
    return "/good", "/bad", UNSUPPORTED


def external(path):
    with h5py.File(path, "w") as file:
        file["good"] = GOOD
        file.create_dataset("bad", (2,), "f8", external=[(str(path) + ".raw", 0, 16)])
    return "/good", "/bad", UNSUPPORTED


def dangling(path):
    with h5py.File(path, "w") as file:
        file["good"], file["bad"] = GOOD, h5py.SoftLink("/nowhere")
    return "/good", "/bad", MALFORMED


def circular(path):
    """A link to itself."""
    with h5py.File(path, "w") as file:
        file["good"], file["bad"] = GOOD, h5py.SoftLink("/bad")
    return "/good", "/bad", MALFORMED


def other_file(path):
    with h5py.File(path, "w") as file:
        file["good"], file["bad"] = GOOD, h5py.ExternalLink("nowhere.h5", "/x")
    return "/good", "/bad", UNSUPPORTED


def no_filter(path):
    """A chunk that went through a filter which nobody knows."""
    with h5py.File(path, "w") as file:
        file["good"] = GOOD
        data = file.create_dataset("bad", data=np.arange(4.0), chunks=(4,), compression="gzip")
        at = data.id.get_chunk_info(0).byte_offset
    bytes_ = bytearray(path.read_bytes())
    self_ = bytes_.find(b"\x01\x00\x08\x00\x01\x00\x01\x00deflate")
    assert 0 < self_ < len(bytes_) and at
    bytes_[self_ : self_ + 2] = (40000).to_bytes(2, "little")
    path.write_bytes(bytes_)
    return "/good", "/bad", UNSUPPORTED


def attribute(path):
    """An attribute of lists of variable length in such lists."""
    with h5py.File(path, "w") as file:
        file["good"] = GOOD
        typed = h5py.h5t.vlen_create(h5py.h5t.vlen_create(h5py.h5t.STD_I32LE))
        h5py.h5a.create(file.id, b"bad", typed, h5py.h5s.create_simple((2,)))
    return "/good", '/"@bad"', UNSUPPORTED


def nested(path):
    """Lists of variable length in lists of variable length."""
    with h5py.File(path, "w") as file:
        file["good"] = GOOD
        inner = h5py.h5t.vlen_create(h5py.h5t.NATIVE_INT32)
        h5py.h5d.create(file.id, b"bad", h5py.h5t.vlen_create(inner), h5py.h5s.create_simple((2,)))
    return "/good", "/bad", UNSUPPORTED


def cut_variable(path):
    """A netCDF-3 file that ends in its last variable."""
    with netCDF4.Dataset(path, "w", format="NETCDF3_CLASSIC") as file:
        file.createDimension("y", 2)
        file.createDimension("x", 3)
        for name in ("good", "bad"):
            file.createVariable(name, "f4", ("y", "x"))[:] = GOOD
    path.write_bytes(path.read_bytes()[:-8])
    return "/good", "/bad", MALFORMED


def cut_member(path):
    """A member of an archive whose array is longer than the member."""
    np.savez(path, good=GOOD, bad=np.arange(3.0))
    bytes_ = path.read_bytes()
    assert bytes_.count(b"'shape': (3,)") == 1
    path.write_bytes(bytes_.replace(b"'shape': (3,)", b"'shape': (9,)"))
    return "/good", "/bad", MALFORMED


def webp(path):
    """A page in a compression that is not read."""
    with tifffile.TiffWriter(path) as file:
        file.write(GOOD, metadata=None)
        file.write(np.zeros((16, 16, 3), "u1"), photometric="rgb", compression="webp", metadata=None)
    return "/page0", "/page1", UNSUPPORTED


def tiles(path):
    """Tiles in a compression that FITS does not have."""
    fits.HDUList([fits.PrimaryHDU(), fits.ImageHDU(GOOD), fits.CompImageHDU(np.zeros((20, 30), "i2"))]).writeto(path)
    bytes_ = path.read_bytes()
    assert bytes_.count(b"'RICE_1  '") == 1
    path.write_bytes(bytes_.replace(b"'RICE_1  '", b"'RICE_9  '"))
    return "/fits/1/data", "/fits/2/data", UNSUPPORTED


def objects(path):
    np.savez(path, good=GOOD, bad=np.array([{1: 2}, None], dtype=object))
    return "/good", "/bad", UNSUPPORTED


def column(path):
    table = np.zeros(3, [("a", "<i4"), ("raw", "M8"), ("b", ">f8")])
    table["a"], table["b"] = [1, 2, 3], [0.5, 1.5, 2.5]
    np.save(path, table)
    return "/data", '/"data@raw"', UNSUPPORTED


def tensor(path):
    save_file({"good": GOOD, "bad": np.zeros(2, "u1")}, path)
    bytes_ = path.read_bytes()
    size = int.from_bytes(bytes_[:8], "little")
    header = json.loads(bytes_[8 : 8 + size])
    header["bad"] |= {"dtype": "F4", "shape": [4]}
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + bytes_[8 + size :])
    return "/good", "/bad", UNSUPPORTED


def directory(path):
    """The first directory names a next one behind the end of the file."""
    tifffile.imwrite(path, GOOD, metadata=None)
    bytes_ = bytearray(path.read_bytes())
    at = int.from_bytes(bytes_[4:8], "little")
    end = at + 2 + 12 * int.from_bytes(bytes_[at : at + 2], "little")
    bytes_[end : end + 4] = (1 << 28).to_bytes(4, "little")
    path.write_bytes(bytes_)
    return "/page0", "/page1", MALFORMED


def hdus(path):
    primary = fits.PrimaryHDU()
    fits.HDUList([primary, fits.ImageHDU(np.arange(4, dtype="i2")), fits.ImageHDU(GOOD)]).writeto(path)
    return bytearray(path.read_bytes())


def card(text):
    def make(path):
        bytes_ = hdus(path)
        end = bytes_.index(b"END ".ljust(CARD), BLOCK)
        bytes_[end : end + 2 * CARD] = text.encode().ljust(CARD) + b"END".ljust(CARD)
        path.write_bytes(bytes_)
        return "/fits/2/data", "/fits/1/data", MALFORMED

    return make


def axis(path):
    """A header that does not tell how long its data are."""
    bytes_ = hdus(path)
    at = bytes_.index(b"NAXIS1  =", BLOCK)
    bytes_[at : at + CARD] = b"NAXIS1  = 'four'".ljust(CARD)
    path.write_bytes(bytes_)
    return "/fits/2/data", "/fits/1/data", MALFORMED


def cut(blocks):
    def make(path):
        """HDUs 1 and 2, of which the last one is cut in its data or in its header."""
        fits.HDUList([fits.PrimaryHDU(), fits.ImageHDU(GOOD), fits.ImageHDU(np.zeros((2000,), "f8"))]).writeto(path)
        path.write_bytes(path.read_bytes()[: int(BLOCK * blocks)])
        return "/fits/1/data", "/fits/2/data", MALFORMED

    return make


def block(path):
    peer.write(path, {"good": GOOD, "bad": np.arange(3.0)})
    text = path.read_bytes()
    path.write_bytes(text.replace(b"source: 1", b"source: 7"))
    return "/good", "/bad", MALFORMED


FILES = {
    "virtual.h5": virtual, "external.h5": external, "dangling.h5": dangling, "circular.h5": circular, "other.h5": other_file, "attribute.h5": attribute,
    "no_filter.h5": no_filter,
    "cut.nc": cut_variable, "cut_member.npz": cut_member,
    "webp.tif": webp, "tiles.fits": tiles,
    "nested.h5": nested, "objects.npz": objects, "column.npy": column,
    "tensor.safetensors": tensor, "directory.tif": directory, "bzero.fits": card("BZERO   = 32768,0"),
    "bscale.fits": card("BSCALE  = 'abc'"), "axis.fits": axis, "cut_data.fits": cut(5.5), "no_data.fits": cut(4),
    "cut_header.fits": cut(3.1), "block.asdf": block,
}  # fmt: skip
#: Blocks of ASDF and data units of FITS are copied as they are.
COPIED = {"block.asdf", "tiles.fits"}
#: Filters of chunks are looked at when elements are read.
LATE = {"no_filter.h5", "webp.tif"}
#: The tree shows where elements should be.
PLACED = {"cut.nc", "cut_data.fits", *LATE}


def run(*arguments):
    return subprocess.run([peer.PROGRAM, *map(str, arguments)], capture_output=True, timeout=60, check=False)


class Unreadable(peer.Case):
    def made(self):
        for name, make in FILES.items():
            path = self.folder / name
            good, bad, status = make(path)
            yield name, path, good, bad, status

    def test_no_command_ends_well_with_an_item_that_cannot_be_read(self):
        for name, path, good, bad, status in self.made():
            commands = {
                "get": ["get", f"{path}#{bad}"],
                "get --json": ["get", f"{path}#{bad}", "--json"],
                "get -o": ["get", f"{path}#{bad}", "-o", self.folder / "x.npy"],
                "get root": ["get", f"{path}#/", "--json"],
                "stats": ["stats", f"{path}#{bad}"],
                "stats of all": ["stats", path],
                "show": ["show", f"{path}#{bad}"],
                "table": ["table", path, "-c", f"x={bad}@mean"],
                "manifest": ["manifest", path, "-o", self.folder / "x.json"],
                "convert": ["convert", path, self.folder / "x.asdf"],
                "convert to Dudley": ["convert", path, self.folder / "x.bd"],
            }
            without = ["convert", "get root"] if name in COPIED else []
            without += ["convert to Dudley"] if name == "tiles.fits" else []
            without += ["get root"] if name in PLACED else []
            commands = {command: arguments for command, arguments in commands.items() if command not in without}
            for command, arguments in commands.items():
                with self.subTest(name, command=command):
                    ended = run(*arguments)
                    self.assertEqual(ended.returncode, 2, ended.stdout[:200] + ended.stderr[:300])
                    self.assertTrue(ended.stderr)
            for command in ["digest", "verify --deep" if name in LATE else "verify"]:
                with self.subTest(name, command=command):
                    ended = run(*command.split(), path)
                    self.assertEqual(ended.returncode, status, ended.stdout[:200] + ended.stderr[:300])
                    self.assertIn(bad.encode() if command == "digest" else b"", ended.stderr + ended.stdout)
            self.assertFalse((self.folder / "x.asdf").exists() or (self.folder / "x.npy").exists())

    def test_the_others_are_there(self):
        for name, path, good, bad, status in self.made():
            with self.subTest(name):
                found = trilith_json("digest", path, status=status)
                array = np.load(path)[["a", "b"]] if name.startswith("column") else GOOD
                if name.startswith("column"):
                    kept = np.zeros(3, [("a", "<i4"), ("b", ">f8")])
                    kept["a"], kept["b"] = array["a"], array["b"]
                    self.assertEqual(trilith_json("get", f"{path}#{good}"), [list(row) for row in kept.tolist()])
                else:
                    # The fill value of the netCDF library is missing in its variables, so that they have a mask.
                    wanted = np.ma.array(array, mask=np.zeros(array.shape, bool)) if name.endswith(".nc") else array
                    self.assertEqual(found["arrays"][good], expected(wanted))
                self.assertIn(bad, found["errors"])
                tree = trilith("tree", path).decode()
                places = {"no_filter.h5": "hdf5:40000", "cut_data.fits": "in fits:2"}
                self.assertIn(places.get(name, bad[1:] if name in PLACED else "unreadable"), tree)

    def test_the_tree_says_why_as_json(self):
        for name, path, _good, bad, status in self.made():
            if name in COPIED | PLACED:
                continue
            with self.subTest(name):
                tree = trilith_json("tree", f"{path}#{bad}")
                self.assertEqual(list(tree), ["$error"])
                self.assertEqual(tree["$error"]["kind"], {1: "malformed", 2: "unsupported"}[status])
                self.assertTrue(tree["$error"]["message"])

    def test_what_is_skipped_is_listed(self):
        for name, path, good, bad, _status in self.made():
            if name in COPIED:
                continue
            with self.subTest(name):
                out = self.folder / "out.asdf"
                done = trilith_json("convert", path, out, "--skip-unreadable")
                self.assertEqual(len(done["losses"]), 1, done)
                self.assertIn("cannot be read", done["losses"][0]["message"])
                if not name.startswith("column"):
                    place = good.replace("/page0", "/page0")
                    self.assertEqual(trilith_json("digest", out)["arrays"][place]["sha256"], sha256(GOOD))
                if not name.endswith(".fits") and name != "cut.nc":
                    trilith("manifest", path, "-o", self.folder / "m.json", "--skip-unreadable")

    def test_a_superblock_that_says_more_than_there_is(self):
        path = self.folder / "cut.h5"
        with h5py.File(path, "w") as file:
            file["good"] = GOOD
            file["text"] = "x" * 3000
        whole = path.read_bytes()
        for user_block in [b"", bytes(512)]:
            (self.folder / "whole.h5").write_bytes(whole)
            trilith("verify", self.folder / "whole.h5")
            path.write_bytes(whole[:-1])
            self.assertIn("superblock", trilith("verify", path, status=1).decode())
            with h5py.File(path, "w", userblock_size=512 if not user_block else 1024) as file:
                file["good"] = GOOD
            whole = path.read_bytes()


    def test_tensors_that_their_library_refuses(self):
        """Bytes that belong to no tensor, and two tensors of one name: the tensors are there, and the file is not right."""
        path = self.folder / "x.safetensors"
        save_file({"good": GOOD, "other": np.arange(3)}, path)
        trilith("verify", path)
        whole = path.read_bytes()
        one = '{"dtype":"F32","shape":[2],"data_offsets":[%d,%d]}'
        twice = ('{"a":%s,"a":%s}' % (one % (0, 8), one % (8, 16))).encode()
        gap = ('{"a":%s,"b":%s}' % (one % (0, 8), one % (12, 20))).encode()
        made = {"bytes after": whole + b"xx", "two tensors": len(twice).to_bytes(8, "little") + twice + bytes(16),
                "begins at": len(gap).to_bytes(8, "little") + gap + bytes(20)}
        for words, content in made.items():
            with self.subTest(words):
                path.write_bytes(content)
                self.assertIn(words, trilith("verify", path, status=1).decode())
                trilith("get", f"{path}#/{'good' if words == 'bytes after' else 'a'}")
                with self.assertRaises(Exception):
                    load_file(path)


class NeverWritten(peer.Case):
    def test_slices_of_what_was_never_written(self):
        """However large it is, with chunks or without."""
        path = self.folder / "x.h5"
        with h5py.File(path, "w") as file:
            file.create_dataset("whole", (5_000_000_000,), "f8", fillvalue=2.5)
            file.create_dataset("chunks", (5_000_000_000,), "i2", chunks=(1000,), fillvalue=7)
            file.create_dataset("plane", (100_000, 100_000), "f4", chunks=(10, 100))
        for item, part, want in [("whole", "3:5", [2.5, 2.5]), ("chunks", "4999999998:", [7, 7]), ("plane", "99999,:2", [0, 0])]:
            self.assertEqual(trilith_json("get", f"{path}#/{item}", "--slice", part), want)
        trilith("verify", path)

    def test_attributes_are_in_the_order_in_which_they_were_made(self):
        path = self.folder / "x.nc"
        names = [f"name{n * 7 % 20}" for n in range(20)]
        with netCDF4.Dataset(path, "w") as file:
            file.setncatts({name: name for name in names})
        found = trilith_json("tree", path, "--attributes")["attributes"]
        self.assertEqual([name for name in found if name in names], names)


class CommittedTypes(peer.Case):
    def test_datasets_and_attributes_of_committed_types(self):
        for version in ["earliest", "v108", "v110", "v114", "latest"]:
            libver = version if version in ("earliest", "latest") else (version, "latest")
            for described in [False, True]:
                with self.subTest(version, described=described):
                    path = self.folder / "t.h5"
                    with h5py.File(path, "w", libver=libver) as file:
                        file["T"] = np.dtype("f8")
                        if described:
                            file["T"].attrs["said"] = "of the type" * 20
                            file["T"].attrs["more"] = np.arange(40.0)
                        file.create_dataset("d", data=[1.0, 2.0], dtype=file["T"])
                        file["d"].attrs.create("a", 2.5, dtype=file["T"])
                    found = trilith_json("digest", path)
                    self.assertEqual(found["arrays"]["/d"], expected(np.array([1.0, 2.0])))
                    trilith("verify", "--deep", path)
                    self.assertIn("a=2.5", trilith("tree", path).decode())

    def test_a_link_that_leads_back_is_a_name(self):
        """As h5py lists it: nothing of the file is damaged or lost, in any command."""
        path = self.folder / "back.h5"
        with h5py.File(path, "w") as file:
            file.create_dataset("d", data=GOOD, chunks=True, compression="gzip")
            group = file.create_group("g")
            group["e"], group["hard"], group["root"] = GOOD, group, file["/"]
            links = {"..": "/", "me": "/g", "near": "."}
            for name, target in links.items():
                group[name] = h5py.SoftLink(target)
        names = [*links, "hard", "root"]
        for command in (["verify"], ["verify", "--deep"], ["digest"], ["stats"], ["tree"], ["info"], ["validate"], ["search", "--key", "e"]):
            trilith(*command, path)
        self.assertEqual(trilith_json("digest", path)["arrays"], {"/d": expected(GOOD), "/g/e": expected(GOOD)})
        self.assertEqual({trilith_json("tree", path)["g"][name] for name in names}, {None})
        self.assertEqual(trilith("tree", path).decode().count("a link back to /g, the group that it is in"), 3)
        trilith("get", f'{path}#/g/".."')
        trilith("diff", path, path)
        trilith("manifest", path, "-o", self.folder / "back.json")
        for suffix in ("asdf", "bd", "fits"):
            with self.subTest(suffix):
                out = self.folder / f"back.{suffix}"
                done = trilith_json("convert", path, out)
                self.assertEqual((done["written"], [one for one in done["losses"] if suffix != "fits"]), (True, []))
                trilith("diff", path, out)
                self.assertIn("/g", trilith("tree", out, "--attributes").decode())

    def test_circular_links_lead_nowhere(self):
        """As for h5py, which says that there are too many links."""
        path, other = self.folder / "circle.h5", self.folder / "other.h5"
        with h5py.File(path, "w") as file:
            file["g/e"] = GOOD
            for name, target in {"self": "/g/self", "one": "two", "two": "one"}.items():
                file["g"][name] = h5py.SoftLink(target)
            file["g/outside"] = h5py.ExternalLink("other.h5", "/back")
        with h5py.File(other, "w") as file:
            file["back"] = h5py.ExternalLink("circle.h5", "/g/outside")
        names = ["self", "one", "two", "outside"]
        with h5py.File(path) as file:
            for name in names:
                with self.subTest(name):
                    with self.assertRaises((KeyError, OSError, RuntimeError)):
                        file["g"][name]
                    ended = run("get", f"{path}#/g/{name}")
                    self.assertEqual((ended.returncode, ended.stdout), (2, b""))
                    self.assertIn(b"leads to more than 16 links", ended.stderr)
        found = trilith_json("digest", path, status=1)
        self.assertEqual(found["arrays"], {"/g/e": expected(GOOD)})
        self.assertEqual(set(found["errors"]), {f"/g/{name}" for name in names})

    def test_links_lead_to_their_groups(self):
        path = self.folder / "s.h5"
        with h5py.File(path, "w") as file:
            file["g/d"] = GOOD
            file["soft"], file["hard"], file["g/deep/up"] = h5py.SoftLink("/g"), file["g"], GOOD
        names = ["/g/d", "/soft/d", "/hard/d", "/g/deep/up", "/soft/deep/up", "/hard/deep/up"]
        self.assertEqual(trilith_json("digest", path)["arrays"], {name: expected(GOOD) for name in names})

    def test_soft_links_lead_to_their_datasets(self):
        path = self.folder / "s.h5"
        with h5py.File(path, "w") as file:
            file["g/d"] = GOOD
            file["link"], file["g/near"], file["twice"] = h5py.SoftLink("/g/d"), h5py.SoftLink("d"), h5py.SoftLink("/link")
        found = trilith_json("digest", path)["arrays"]
        self.assertEqual(found, {name: expected(GOOD) for name in ["/g/d", "/g/near", "/link", "/twice"]})


if __name__ == "__main__":
    peer.unittest.main()
