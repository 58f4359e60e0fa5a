"""Hundreds of small files of other formats, of every version, layout, filter, type and byte order that their own libraries
write; one process hashes them all, and every digest is that of the peer's data."""

import itertools
import json
import shutil
import subprocess

import numpy as np
from peer import Case, expected, sha256, trilith
from scipy.io import FortranFile, netcdf_file

try:
    import h5py
except ImportError:
    h5py = None
try:
    import netCDF4
except ImportError:
    netCDF4 = None
try:
    from safetensors.numpy import save_file
except ImportError:
    save_file = None

GFORTRAN = shutil.which("gfortran")
CODES = ["i1", "u1", "<i2", ">i2", "<u2", ">u2", "<i4", ">i4", "<u4", ">u4", "<i8", ">i8", "<u8", ">u8"]
CODES += ["<f2", ">f2", "<f4", ">f4", "<f8", ">f8", "<c8", ">c8", "<c16", ">c16", "?", "S5"]
RECORD = np.dtype([("a", "i1"), ("b", ">f8", (2,)), ("s", "S3")])
SHAPES = {"scalar": (), "empty": (0,), "hollow": (3, 0, 2), "line": (7,), "plane": (5, 6), "eight": (1, 2, 1, 3, 2, 1, 2, 2)}
FILTERS = {
    "plain": {},
    "deflate": {"compression": "gzip"},
    "shuffled": {"compression": "gzip", "compression_opts": 9, "shuffle": True},
    "all": {"compression": "gzip", "shuffle": True, "fletcher32": True},
    "lzf": {"compression": "lzf", "shuffle": True},
    "sum": {"fletcher32": True},
}
#: Shape, chunk and largest shape, by the index that HDF5 1.10 and later make of it.
INDEXES = {
    "single": ((8, 7), (8, 7), None),
    "implicit_or_fixed": ((37, 23), (8, 7), None),
    "extensible": ((37, 5), (4, 5), (None, 5)),
    "second_axis": ((7, 33), (2, 4), (7, None)),
    "tree": ((17, 13), (4, 5), (None, None)),
    "resizable": ((9, 10), (2, 3), (20, 30)),
    "many": ((1100,), (2,), None),
}


def values(code, shape, seed=3):
    """Elements of a type, the same each time."""
    random = np.random.default_rng(seed)
    if np.dtype(code) == RECORD:
        made = np.zeros(shape, RECORD)
        made["a"], made["b"], made["s"] = random.integers(0, 100, shape), random.normal(size=(*shape, 2)), b"xy"
        return made
    numbers = random.integers(0, 100, shape)
    return np.asarray(numbers.astype(code))


def hdf5_types(folder):
    for version, ordered in itertools.product(["earliest", "v108", "v110", "latest"], [False, True]):
        libver = version if version in ("earliest", "latest") else (version, version)
        for number, code in enumerate([*CODES, RECORD]):
            path = folder / f"types-{version}-{ordered}-{number}.h5"
            arrays = {}
            with h5py.File(path, "w", libver=libver, track_order=ordered) as file:
                for name, shape in SHAPES.items():
                    arrays[f"g/{name}"] = values(code, shape)
                    file.create_dataset(f"g/{name}", data=arrays[f"g/{name}"], track_order=ordered)
                creation = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
                creation.set_layout(h5py.h5d.COMPACT)
                arrays["compact"] = values(code, (3, 2))
                space, typed = h5py.h5s.create_simple((3, 2)), h5py.h5t.py_create(arrays["compact"].dtype, logical=True)
                made = h5py.h5d.create(file.id, b"compact", typed, space, dcpl=creation)
                made.write(h5py.h5s.ALL, h5py.h5s.ALL, arrays["compact"])
                arrays["unwritten"] = np.zeros((4, 3), code)
                file.create_dataset("unwritten", (4, 3), arrays["unwritten"].dtype)
            yield path, arrays


def hdf5_chunks(folder):
    codes = itertools.cycle(CODES)
    for version, (index, (shape, chunk, most)) in itertools.product(["earliest", "v110", "latest"], INDEXES.items()):
        libver = version if version in ("earliest", "latest") else (version, version)
        for words, how in FILTERS.items():
            path, code = folder / f"chunks-{version}-{index}-{words}.h5", next(codes)
            arrays = {"whole": values(code, shape), "part": np.full(shape, values(code, (), 9), code), "grown": values(code, shape)}
            arrays["part"][: shape[0] // 2] = values(code, (shape[0] // 2, *shape[1:]))
            with h5py.File(path, "w", libver=libver, userblock_size=512 if words == "sum" else 0) as file:
                how = {**how, "chunks": chunk, "maxshape": most}
                file.create_dataset("whole", data=arrays["whole"], **how)
                part = file.create_dataset("part", shape, code, fillvalue=arrays["part"].flat[-1], **how)
                part[: shape[0] // 2] = arrays["part"][: shape[0] // 2]
                if most is None:
                    del arrays["grown"]
                else:
                    grown = file.create_dataset("grown", (1,) * len(shape), code, **how)
                    grown.resize(shape)
                    grown[...] = arrays["grown"]
            yield path, arrays


def hdf5_szip(folder):
    """Every type of numbers, blocks that fit a line of a chunk and blocks that do not, data of every roughness."""
    random = np.random.default_rng(8)
    shapes = {"line": ((1000,), (130,)), "plane": ((37, 45), (8, 40)), "wide": ((3, 700), (2, 600))}
    for code, (form, (shape, chunk)), how in itertools.product(CODES[:14] + ["<f4", ">f4", "<f8"], shapes.items(), ("nn", "ec")):
        path, arrays = folder / f"szip-{CODES.index(code)}-{form}-{how}.h5", {}
        with h5py.File(path, "w") as file:
            for block, rough in itertools.product((2, 8, 10, 32), (1, 3, 100, 1 << 40)):
                smooth = np.cumsum(random.integers(-rough, rough + 1, shape), axis=-1)
                arrays[f"{block}/{rough}"] = (smooth * (random.random(shape) < 0.5) if rough == 3 else smooth).astype(code)
                file.create_dataset(f"{block}/{rough}", data=arrays[f"{block}/{rough}"], chunks=chunk, compression="szip", compression_opts=(how, block))
        yield path, arrays


def hdf5_texts(folder):
    for version, chunks in itertools.product(["earliest", "latest"], [None, (2,)]):
        path = folder / f"texts-{version}-{chunks}.h5"
        texts = ["one", "zw\u00f6lf", "", "x" * 50]
        with h5py.File(path, "w", libver=version) as file:
            file.create_dataset("texts", data=texts, dtype=h5py.string_dtype(), chunks=chunks)
            file.create_dataset("enum", data=np.array([1, 2, 1, 1]), dtype=h5py.enum_dtype({"A": 1, "B": 2}, basetype=">i2"), chunks=chunks)
        yield path, {"texts": np.array([text.encode() for text in texts], "S50"), "enum": np.array([1, 2, 1, 1], "i2")}


def netcdf4(folder):
    forms = {"NETCDF3_CLASSIC": 0, "NETCDF3_64BIT_OFFSET": 0, "NETCDF3_64BIT_DATA": 1, "NETCDF4_CLASSIC": 0, "NETCDF4": 1}
    for (form, large), records, packed in itertools.product(forms.items(), (0, 1, 5), (False, True)):
        kinds = ["i1", "i2", "i4", "f4", "f8", *(["u1", "u2", "u4", "i8", "u8"] if large else [])]
        for kind, order in itertools.product(kinds, ("little", "big") if form.startswith("NETCDF4") else ("native",)):
            path, arrays = folder / f"{form}-{records}-{packed}-{kind}-{order}.nc", {}
            with netCDF4.Dataset(path, "w", format=form) as file:
                file.createDimension("time", None)
                file.createDimension("x", 3)
                how = {"zlib": packed, "shuffle": packed, "endian": order} if order != "native" else {}
                variables = (("fixed", ("x",)), ("record", ("time", "x")), *((("wide", ("time", "x", "x")),) if packed else ()))
                for name, dims in variables:
                    arrays[name] = values(kind, tuple({"time": records, "x": 3}[dim] for dim in dims))
                    file.createVariable(name, kind, dims, **how)[: len(arrays[name])] = arrays[name]
            yield path, arrays


def scipy(folder):
    for version, kind, records in itertools.product((1, 2), ("i1", "i2", "i4", "f4", "f8"), (0, 3)):
        path, arrays = folder / f"scipy-{version}-{kind}-{records}.nc", {}
        with netcdf_file(path, "w", version=version) as file:
            file.createDimension("time", None)
            file.createDimension("x", 5)
            for name, dims in (("fixed", ("x",)), ("record", ("time", "x"))):
                arrays[name] = values(kind, tuple({"time": records, "x": 5}[dim] for dim in dims))
                file.createVariable(name, kind, dims)[:] = arrays[name]
        yield path, arrays


def numpy(folder):
    for number, code in enumerate([*CODES, RECORD, "<U4", ">U4"]):
        made = {}
        for name, shape in SHAPES.items():
            made[name] = values(code, shape)
            made["columns " + name] = np.asfortranarray(made[name])
            for version in ((1, 0), (2, 0), (3, 0)) if name == "plane" else ((1, 0),):
                path = folder / f"{number}-{name}-{version[0]}.npy"
                with open(path, "wb") as out:
                    np.lib.format.write_array(out, made[name], version)
                yield path, {"data": made[name]}
        for words, save in (("stored", np.savez), ("deflated", np.savez_compressed)):
            path = folder / f"{number}-{words}.npz"
            save(path, **made)
            yield path, made


def safetensors(folder):
    for number, code in enumerate(code for code in CODES if code[0] not in ">S" and code not in ("<c8", "<c16")):
        arrays = {name: values(code, shape) for name, shape in SHAPES.items()}
        path = folder / f"{number}.safetensors"
        save_file(arrays, path)
        yield path, arrays


def fortran(folder):
    for number, code in enumerate(("<i4", ">i4", "<f8", ">f8")):
        path, data = folder / f"{number}.f77", values(code, (4, 6))
        with FortranFile(path, "w", header_dtype=code[0] + "u4") as file:
            for row in data:
                file.write_record(row)
        yield path, {"records": np.frombuffer(data.tobytes(), "u1").reshape(4, -1)}


def gfortran(folder):
    source, program = folder / "w.f90", folder / "w"
    lines = []
    for name, order in (("little", "little_endian"), ("bigend", "big_endian")):
        lines.append(f"open(10, file='{name}.unf', form='unformatted', convert='{order}')")
        lines += ["write(10) [1, 2, 3]", "write(10) [4, 5, 6]", "close(10)"]
    source.write_text("\n".join([*lines, "end", ""]))
    subprocess.run([GFORTRAN, "-o", program, source], check=True)
    subprocess.run([program], check=True, cwd=folder)
    for name, order in (("little", "<"), ("bigend", ">")):
        rows = np.arange(1, 7, dtype=order + "i4").reshape(2, 3)
        yield folder / f"{name}.unf", {"records": np.frombuffer(rows.tobytes(), "u1").reshape(2, -1)}


MAKERS = [(hdf5_types, h5py), (hdf5_chunks, h5py), (hdf5_szip, h5py and h5py.h5z.filter_avail(h5py.h5z.FILTER_SZIP)), (hdf5_texts, h5py), (netcdf4, netCDF4), (safetensors, save_file), (gfortran, GFORTRAN)]
MAKERS += [(scipy, True), (numpy, True), (fortran, True)]


class Foreign(Case):
    maxDiff = None

    def test_every_array_of_hundreds_of_files(self):
        files = {}
        for make, there in MAKERS:
            folder = self.folder / make.__name__
            folder.mkdir()
            files.update(make(folder) if there else {})
        listed = "".join(f"{path}\n" for path in files)
        said = trilith("digest", "--json", "--files-from", "-", input=listed.encode()).decode().splitlines()
        found = {entry["file"]: entry for entry in map(json.loads, said)}
        count = 0
        for path, arrays in files.items():
            entry = found[str(path)]
            with self.subTest(file=path.name):
                self.assertEqual(entry["errors"], {})
                digests = {name[1:].replace('"', ""): each for name, each in entry["arrays"].items()}
                self.assertEqual(set(digests), set(arrays))
                for name, array in arrays.items():
                    wanted = expected(array)
                    self.assertEqual(digests[name]["sha256"], sha256(array), name)
                    self.assertEqual(digests[name]["shape"], wanted["shape"], name)
                    if array.dtype.kind not in "SV":
                        # Texts are those of the format: ASCII or UTF-8.
                        self.assertEqual(digests[name]["datatype"], wanted["datatype"], name)
                    count += 1
        if h5py and netCDF4 and save_file:
            self.assertGreater(len(files), 700)
        self.assertGreater(count, len(files))
