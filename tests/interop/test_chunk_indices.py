"""Chunk indices of HDF5: every kind of index against h5py, and how far it is read.

Tier: rest. An index is read with its dataset, as far as a slice needs it, so a large or damaged one touches nothing else.
"""

import importlib.util
import itertools
import subprocess
import unittest

import numpy as np
from peer import PROGRAM, Case, sha256, trilith, trilith_json

HAS_H5PY = importlib.util.find_spec("h5py") is not None
if HAS_H5PY:
    import h5py

# Shape and chunk: with whole and cut chunks at the edges, and enough chunks for pages and inner nodes.
GRIDS = [((1000,), (3,)), ((37, 53), (5, 7)), ((9, 10, 11), (2, 3, 4)), ((5000,), (1,)), ((300, 60), (1, 3))]


def maximum(kind, shape):
    unlimited = h5py.h5s.UNLIMITED
    more = tuple(length + 5 for length in shape)
    return {
        "fixed": shape,
        "larger": tuple(2 * length for length in shape),
        "first": (unlimited, *more[1:]),
        "last": (*more[:-1], unlimited),
        "all": (unlimited,) * len(shape),
    }[kind]


def dataset(f, name, shape, chunk, kind, has_filter):
    """A dataset without a filter is allocated early, which has an index of its own kind."""
    create = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    create.set_chunk(chunk)
    create.set_fill_value(np.array(7, "<i4"))
    if has_filter:
        create.set_deflate(1)
    elif kind in ("fixed", "larger"):
        create.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
    space = h5py.h5s.create_simple(shape, maximum(kind, shape))
    return h5py.Dataset(h5py.h5d.create(f.id, name.encode(), h5py.h5t.py_create(np.dtype("<i4")), space, create))


def fill(array, random):
    for _ in range(random.integers(0, 5)):
        starts = [random.integers(0, length) for length in array.shape]
        region = tuple(slice(start, start + random.integers(1, 40)) for start in starts)
        array[region] = random.integers(0, 100, array[region].shape)


@unittest.skipUnless(HAS_H5PY, "h5py is not installed")
class ChunkIndices(Case):
    def file(self, version):
        random, path = np.random.default_rng(5), self.folder / f"{version}.h5"
        kinds = itertools.product(GRIDS, ("fixed", "larger", "first", "last", "all"), (False, True))
        with h5py.File(path, "w", libver=version) as f:
            for number, ((shape, chunk), kind, has_filter) in enumerate(kinds):
                fill(dataset(f, f"d{number}", shape, chunk, kind, has_filter), random)
        return path

    def test_every_index_and_grid_equal_h5py(self):
        for version in ("earliest", "latest"):
            path = self.file(version)
            found = {name: entry["sha256"] for name, entry in trilith_json("digest", path)["arrays"].items()}
            with h5py.File(path) as f:
                for name, array in f.items():
                    self.assertEqual(found["/" + name], sha256(array[()]), (version, name))

    def test_slices_of_few_chunks_equal_h5py(self):
        random, out = np.random.default_rng(6), self.folder / "out.npy"
        for version in ("earliest", "latest"):
            path = self.file(version)
            with h5py.File(path) as f:
                for name, array in f.items():
                    starts = [int(random.integers(0, length - 1)) for length in array.shape]
                    text = ",".join(f"{start}:{start + 2}" for start in starts)
                    trilith("get", f"{path}#/{name}", "--slice", text, "-o", out, "--overwrite")
                    region = tuple(slice(start, start + 2) for start in starts)
                    np.testing.assert_array_equal(np.load(out), array[region], f"{version} {name} {text}")

    def test_large_index_leaves_neighbor_and_slices_cheap(self):
        for version in ("earliest", "latest"):
            path = self.folder / f"many-{version}.h5"
            with h5py.File(path, "w", libver=version) as f:
                f.create_dataset("many", (100_000, 2), "u1", chunks=(1, 2), compression="gzip")[:] = 1
                f["small"] = np.arange(3)
            # The index alone has several megabytes.
            self.assertEqual(trilith("get", f"{path}#/small", "--limit", "work=300000").split(), [b"0", b"1", b"2"])
            part = trilith("get", f"{path}#/many", "--slice", "70000:70002", "--limit", "work=1000000")
            self.assertEqual(part.split(), [b"1"] * 4)

    def test_damaged_index_touches_no_other_dataset(self):
        path = self.folder / "damaged.h5"
        with h5py.File(path, "w", libver="earliest") as f:
            f.create_dataset("one", (400,), "i4", chunks=(1,))[:] = 1
            f.create_dataset("two", (400,), "i4", chunks=(2,))[:] = 2
            f["small"] = np.arange(3)
        data = path.read_bytes()
        node = data.index(b"TREE\x01\x01")
        path.write_bytes(data[:node] + b"EERT" + data[node + 4 :])
        self.assertIn("TREE", str(trilith_json("verify", path, status=1)))
        commands = [[PROGRAM, "get", f"{path}#/{name}", "--slice", "0:1"] for name in ("one", "two")]
        statuses = [subprocess.run(command, capture_output=True, check=False).returncode for command in commands]
        self.assertEqual(sorted(statuses), [0, 2])
        self.assertEqual(trilith("get", f"{path}#/small").split(), [b"0", b"1", b"2"])
        # A listing of all chunks has the others, too.
        text = trilith("layout", "from", path).decode()
        self.assertEqual(text.count("grid_unreadable"), 1)
        self.assertIn("small = ", text)
        self.assertGreater(len(trilith_json("blocks", path)["items"]), 200)


if __name__ == "__main__":
    unittest.main()
