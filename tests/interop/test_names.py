"""Names, attributes and strings of files of other formats: those of the format's own library, whatever they are."""

import itertools
import pathlib
import random
import tempfile
import unittest
import urllib.parse

import asdf
import numpy as np
import peer

try:
    import h5py
    import netCDF4
except ImportError:
    h5py = netCDF4 = None

# Words of layouts, of the trees that are made of them, and keys that mean something to readers of ASDF.
WORDS = {
    "grid_mapping": "crs",
    "grid_mapping_name": "lambert_conformal_conic",
    "grid_type": "lambert",
    "grid_fill": "none",
    "grid_scale": 2.0,
    "grid_offset": 1.5,
    "grid_shape": [2, 2],
    "grid_chunk": [2, 2],
    "grid_dims": "own",
    "grid_float32": "scale_factor",
    "grid_filters": "deflate",
    "grid_unreadable": "no",
    "grid_member": "data",
    "grid_at": "/x",
    "dialect": "2026",
    "hdf5_type": "bfloat16",
    "safetensors_dtype": "BF16",
    "asdf_tag": "!core/ndarray-1.1.0",
    "asdf_type:dialect": "yaml",
    "asdf_value": "1",
    "history": "2020 made",
    "asdf_library": "numpy",
    "dudley": "x",
    "$ref": "#/nowhere",
    "<<": "merge",
    "own:x": 3,
    "own:%41": "own:%42",
    "two\nlines": "a\r\nb\n",
    "nan": "nan",
    "number": float("nan"),
    "numbers": [1.5, float("-inf")],
    "strings": ["nan", "a\nb", ""],
    "empty": "",
    "é b": "ü",
}


def plain(value):
    """An attribute of h5py or netCDF4 as JSON has it."""
    if isinstance(value, np.ndarray):
        return [plain(one) for one in value]
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, float) and not np.isfinite(value):
        return "NaN" if np.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value.decode() if isinstance(value, bytes) else value


class InFolder(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def converts(self, path):
        """The copy as ASDF is valid, the same, and Python asdf changes and writes it; so is the copy of the copy as Dudley."""
        copy, changed, back = path.with_suffix(".asdf"), self.folder / "changed.asdf", path.with_suffix(".bd")
        peer.trilith("convert", path, copy)
        peer.trilith("validate", copy)
        peer.trilith("verify", "--deep", copy)
        peer.trilith("diff", "--stored", path, copy)
        with asdf.open(copy) as file:
            file.validate()
            file["added"] = 1
            file.add_history_entry("changed")
            file.write_to(changed)
        peer.trilith("validate", changed)
        peer.trilith("convert", copy, back)
        self.assertEqual(peer.trilith("diff", "--stored", path, back), b"")


@unittest.skipIf(h5py is None, "h5py or netCDF4 is not installed")
class Names(InFolder):
    def test_no_attribute_of_a_file_is_taken_for_a_word_of_layouts_or_trees(self):
        path = self.folder / "words.h5"
        with h5py.File(path, "w") as file:
            chunked = file.create_dataset("chunked", data=np.arange(16.0).reshape(4, 4), chunks=(2, 2), compression="gzip")
            made = [file, chunked, file.create_dataset("plain", data=np.arange(16.0).reshape(4, 4)), file.create_group("g")]
            for item, (name, value) in itertools.product(made, WORDS.items()):
                item.attrs[name] = value
        with h5py.File(path) as file:
            expected = {name: plain(value) for name, value in file.attrs.items()}
        tree = peer.trilith_json("tree", "--attributes", path)
        self.assertEqual(tree["attributes"], expected)
        for name in ("chunked", "plain", "g"):
            self.assertEqual(tree["value"][name]["attributes"], expected, name)
            told = peer.trilith_json("info", f"{path}#/{name}")
            self.assertEqual(told["attributes"], expected, name)
        digests = peer.trilith_json("digest", path)["arrays"]
        self.assertEqual(digests["/chunked"], peer.expected(np.arange(16.0).reshape(4, 4)))
        self.assertEqual(digests["/plain"], peer.expected(np.arange(16.0).reshape(4, 4)))
        layout = path.with_suffix(".layout")
        peer.trilith("layout", "from", path, "-o", layout)
        self.assertEqual(peer.trilith_json("tree", "--attributes", path, "--layout", layout), tree)
        self.converts(path)

    def test_items_with_names_that_mean_something_in_a_tree(self):
        path = self.folder / "items.h5"
        with h5py.File(path, "w") as file:
            for number, name in enumerate(["history", "asdf_library", "dudley", "$ref", "<<", "fits", "own:x", "grid_x"]):
                file[name] = np.arange(number + 1)
            file["g/$ref"] = np.arange(3)
            file.attrs["title"] = "all"
        self.converts(path)

    def test_every_netcdf_file_has_a_history(self):
        for kind in ("NETCDF3_CLASSIC", "NETCDF3_64BIT_OFFSET", "NETCDF3_64BIT_DATA", "NETCDF4", "NETCDF4_CLASSIC"):
            path = self.folder / f"{kind}.nc"
            with netCDF4.Dataset(path, "w", format=kind) as file:
                file.history, file.grid_label = "2020 made", "gn"
                file.createDimension("x", 3)
                values = file.createVariable("v", "f4", ("x",))
                values.grid_mapping, values[:] = "crs", [1, 2, 3]
            tree = peer.trilith_json("tree", "--attributes", path)
            self.assertEqual(tree["attributes"]["history"], "2020 made")
            self.assertEqual(tree["attributes"]["grid_label"], "gn")
            self.assertEqual(tree["value"]["v"]["attributes"]["grid_mapping"], "crs")
            self.converts(path)

    def test_any_name_is_addressed_by_its_pointer_and_percent_encoded(self):
        seed = random.Random(7)
        names = ["#refs#", "a#b", "x#length", "a\nb", "\x01c", "x.y", "x[1]", "x(0)", 'q"q', "b\\s", " ", "~0", "p%20q", "&1", "é"]
        names += ["".join(seed.choices("a#[](.\"\\ ~%&:=@'\n\té", k=seed.randint(1, 6))) for _ in range(25)]
        names = [name for name in dict.fromkeys(names) if name not in (".", "..")]
        path = self.folder / "names.h5"
        with h5py.File(path, "w") as file:
            for number, name in enumerate(names):
                file[name] = number
                file[f"group/{name}/{name}"] = number
        for number, name in enumerate(names):
            pointer = name.replace("~", "~0").replace("/", "~1")
            encoded = urllib.parse.quote(pointer, safe="")
            for way in (f"/{pointer}", f"/{encoded}", f"/group/{encoded}/{encoded}"):
                self.assertEqual(peer.trilith("get", f"{path}#{way}", "--format", "json").strip(), b"%d" % number, way)
        self.converts(path)


if __name__ == "__main__":
    unittest.main()
