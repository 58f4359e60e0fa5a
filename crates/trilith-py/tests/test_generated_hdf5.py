"""Generated HDF5 files: the names, datatypes, values, links and attributes that h5py reads.

Rest. `cargo xtask campaign hdf5 --cases 1000` makes more files than the default.
"""

import os

import numpy as np
import pytest

import trilith

h5py = pytest.importorskip("h5py")

FILES = int(os.environ.get("TRILITH_CAMPAIGN", "60"))
SEED = int(os.environ.get("TRILITH_CAMPAIGN_SEED", "0"))
PARTS = 4
NUMBERS = ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8")
LIBRARIES = ("earliest", "latest", "v108", "v110", "v112")
WORDS = ("", "one", "zwölf", "a b", "日本", "x" * 40)
FIELDS = ("number", "string", "bool", "struct", "array", "text", "complex", "enum", "structs", "texts")


class Generator:
    """A random file."""

    def __init__(self, number):
        self.random = np.random.default_rng([SEED, number])
        self.library = self.pick(LIBRARIES)

    def chance(self, probability):
        return self.random.random() < probability

    def pick(self, values):
        return values[self.random.integers(len(values))]

    def count(self, low, high):
        return int(self.random.integers(low, high))

    def write(self, path):
        options = {"libver": (self.library, "latest")} if self.library != "latest" else {"libver": "latest"}
        if self.chance(0.2):
            options["userblock_size"] = int(self.pick((512, 1024)))
        with h5py.File(path.with_suffix(".other.h5"), "w") as other:
            other["group/x"] = self.numbers("i4", (3,))
        with h5py.File(path, "w", track_order=self.chance(0.3), **options) as file:
            self.fill(file, 0)
            if self.chance(0.3):
                self.virtual(file)
            if self.chance(0.3):
                self.dates(file)
            self.link(file, path)
            self.describe(file)

    def fill(self, group, depth):
        """The datasets of a group, and groups in it."""
        for number in range(self.count(2, 7)):
            dataset = self.dataset(group, self.pick((f"v{number}", f"v {number}", f"größe.{number}")))
            if dataset is not None:
                self.describe(dataset)
        for number in range(self.count(0, 3) if depth < 2 else 0):
            inner = group.create_group(f"g{number}", track_order=self.chance(0.3))
            self.describe(inner)
            self.fill(inner, depth + 1)

    def virtual(self, group):
        """A dataset that is put together of others, which may have another type, and of elements that are nowhere."""
        # Trilith refuses what has no value in the other datatype, and integers whose sign the HDF5 library ignores as it swaps their bytes.
        sources = []
        for number in range(2):
            values = np.nan_to_num(self.numbers(self.pick(NUMBERS), (4,)), posinf=1, neginf=1)
            sources.append(group.create_dataset(f"part{number}", data=np.abs(values) if values.dtype == "f2" else values))
        layout = h5py.VirtualLayout((3, 4), np.dtype(self.pick(NUMBERS)) if self.chance(0.5) else sources[0].dtype)
        for number, source in enumerate(sources):
            layout[number] = h5py.VirtualSource(source)
        group.create_virtual_dataset("virtual", layout, fillvalue=7)

    def dates(self, group):
        """Dates as h5py stores those of numpy."""
        unit = self.pick(("s", "ms", "us", "D"))
        values = np.array(self.random.integers(0, 10**5, 4), f"M8[{unit}]")
        group["dates"] = values.astype(h5py.opaque_dtype(values.dtype))

    def link(self, file, path):
        """Links of each kind, in the root."""
        names = []
        file.visititems(lambda name, item: names.append(name))
        file["soft"] = h5py.SoftLink(f"/{self.pick(names)}")
        file["hard"] = file[self.pick(names)]
        file["external"] = h5py.ExternalLink(path.with_suffix(".other.h5").name, "/group/x")
        if self.chance(0.3):
            file["dangling"] = h5py.SoftLink("/absent")
        if self.chance(0.5):
            kind = h5py.ref_dtype
            values = [file[self.pick(names)].ref if self.chance(0.8) else h5py.Reference() for _ in range(3)]
            file.create_dataset("references", data=np.array(values, object), dtype=kind)

    def numbers(self, code, shape):
        dtype = np.dtype(code)
        if dtype.kind == "f":
            values = np.asarray(self.random.normal(0, 20, shape)).astype(dtype)
            if values.size and self.chance(0.2):
                values.ravel()[0] = self.pick((np.nan, np.inf, -0.0))
            return values
        info = np.iinfo(dtype)
        low, high = (info.min, info.max) if self.chance(0.3) else (max(info.min, -40), min(info.max, 100))
        return np.asarray(self.random.integers(low, high, shape, dtype=dtype.newbyteorder("="), endpoint=True)).astype(dtype)

    def number_type(self):
        return np.dtype(self.pick("<>") + self.pick(NUMBERS))

    def struct_type(self, depth=0):
        fields = []
        for number in range(self.count(1, 5)):
            kind = self.pick(FIELDS if depth == 0 else FIELDS[:3])
            counts = tuple(int(n) for n in self.random.integers(1, 4, self.count(1, 3)))
            dtype = {
                "number": self.number_type,
                "string": lambda: np.dtype(f"S{self.count(1, 9)}"),
                "bool": lambda: np.dtype("?"),
                "array": lambda: np.dtype((self.number_type(), counts)),
                "struct": lambda: self.struct_type(1),
                "text": h5py.string_dtype,
                "enum": lambda: h5py.enum_dtype({"OFF": 0, "ON": 1}, "u1"),
                "structs": lambda: np.dtype((self.struct_type(1), counts)),
                "texts": lambda: np.dtype((f"S{self.count(1, 5)}", counts)),
                "complex": lambda: np.dtype(self.pick(("c8", "c16"))),
            }[kind]()
            fields.append((self.pick((f"f{number}", f"f {number}", f"ä{number}")), dtype))
        return np.dtype(fields, align=depth == 0 and self.chance(0.3))

    def elements(self, dtype, shape):
        """Values of any datatype."""
        shape = shape if isinstance(shape, tuple) else (shape,)
        if dtype.subdtype:
            base, inner = dtype.subdtype
            return self.elements(base, shape + inner)
        if dtype.names:
            values = np.zeros(shape, dtype)
            for name in dtype.names:
                values[name] = self.elements(dtype[name], shape)
            return values
        if h5py.check_string_dtype(dtype) and dtype.kind == "O":
            words = WORDS if h5py.check_string_dtype(dtype).encoding == "utf-8" else [word for word in WORDS if word.isascii()]
            return np.asarray(self.random.choice(np.array(words, object), shape), object)
        if dtype.kind == "S":
            if h5py.check_string_dtype(dtype) and h5py.check_string_dtype(dtype).encoding == "utf-8":
                words = [word.encode() for word in WORDS if len(word.encode()) <= dtype.itemsize]
            else:
                words = [b"", b"a", b"zz"[: dtype.itemsize], b"x" * dtype.itemsize]
            return self.random.choice(np.array(words, f"S{dtype.itemsize}"), shape).astype(dtype)
        if dtype.kind == "b":
            return self.random.random(shape) < 0.5
        if dtype.kind == "c":
            half = np.dtype(f"f{dtype.itemsize // 2}")
            return (self.numbers(half, shape) + 1j * self.numbers(half, shape)).astype(dtype)
        if enum := h5py.check_enum_dtype(dtype):
            return self.random.choice(list(enum.values()), shape).astype(dtype)
        return self.numbers(dtype, shape)

    def any_type(self):
        return self.pick((
            self.number_type, self.number_type, self.number_type,
            lambda: np.dtype("?"),
            lambda: np.dtype(self.pick("<>") + self.pick(("c8", "c16"))),
            lambda: np.dtype(f"S{self.count(1, 12)}"),
            lambda: h5py.string_dtype("utf-8", self.count(1, 12)),
            h5py.string_dtype, lambda: h5py.string_dtype("ascii"),
            lambda: h5py.enum_dtype({"OFF": 0, "ON": 1, "Ü": 7}, self.pick(("i1", "u2", "i4"))),
            self.struct_type, self.struct_type,
            lambda: np.dtype((self.number_type(), (self.count(1, 4),))),
            lambda: np.dtype((self.struct_type(1), (self.count(1, 4),))),
        ))()

    def dataset(self, group, name):
        if name in group:
            return None
        if self.chance(0.05):
            return group.create_dataset(name, data=h5py.Empty(self.pick(("f4", "i2"))))
        if self.chance(0.07):
            # h5py misreads lists in the other order of bytes.
            lists = group.create_dataset(name, (self.count(1, 5),), h5py.vlen_dtype(np.dtype(self.pick(NUMBERS[:8]))))
            for at in range(lists.shape[0]):
                if self.chance(0.7):
                    lists[at] = self.numbers(lists.dtype.metadata["vlen"], self.count(0, 5))
            return lists
        dtype = self.any_type()
        shape = tuple(int(n) for n in self.random.integers(0 if self.chance(0.1) else 1, 9, self.count(0, 4)))
        options = {}
        is_plain = dtype.kind in "iuf" and not dtype.subdtype
        if shape and 0 not in shape and self.chance(0.6):
            options["chunks"] = tuple(self.count(1, length + 1) for length in shape)
            if self.chance(0.3):
                options["maxshape"] = tuple(None if self.chance(0.5) else length + self.count(0, 3) for length in shape)
            if self.chance(0.4):
                options["compression"] = self.pick(("gzip", "lzf"))
            options["shuffle"] = self.chance(0.4)
            options["fletcher32"] = self.chance(0.3) and not (dtype.hasobject)
            if is_plain and dtype.kind in "iu" and not dtype.metadata and self.chance(0.1):
                options = {"chunks": options["chunks"], "scaleoffset": 0}
        if is_plain and self.chance(0.3):
            options["fillvalue"] = self.numbers(dtype, ())[()]
        dataset = group.create_dataset(name, shape, dtype, **options)
        values = self.elements(dtype, shape)
        if "maxshape" in options and self.chance(0.5):
            dataset.resize([length if most is None else most for length, most in zip(shape, options["maxshape"], strict=True)])
            dataset.resize(shape[:-1] + (max(shape[-1] - 1, 0),))
            values = values[tuple(slice(0, length) for length in dataset.shape)]
        if 0 in dataset.shape or self.chance(0.1):
            return dataset
        if shape and self.chance(0.3):
            end = self.count(1, dataset.shape[0] + 1)
            dataset[:end] = values[:end]
        else:
            dataset[...] = values
        return dataset

    def describe(self, item):
        """Attributes of an item."""
        for number in range(self.count(0, 4)):
            name = self.pick((f"a{number}", f"a b{number}", f"ö{number}"))
            choice = self.count(0, 6)
            if choice == 0:
                item.attrs[name] = self.pick(WORDS)
            elif choice == 1:
                item.attrs[name] = np.bytes_(b"bytes")
            elif choice == 2:
                item.attrs[name] = self.numbers(self.number_type(), ())[()]
            elif choice == 3:
                item.attrs[name] = self.numbers(self.number_type(), (self.count(0, 4),))
            elif choice == 4:
                item.attrs[name] = self.numbers(self.number_type(), (2, 3))
            else:
                item.attrs[name] = [self.pick(WORDS) for _ in range(self.count(1, 4))]


def plain(value):
    """A value as nested lists of Python's own types: NaN is equal to itself, and text is text, however it is stored."""
    if isinstance(value, trilith.Array):
        value = value[...]
    if isinstance(value, np.ma.MaskedArray):
        assert not np.ma.getmaskarray(value).any()
        value = np.ma.getdata(value)
    if isinstance(value, (np.ndarray, np.void)) and value.dtype.names:
        if value.ndim == 0:
            return {name: plain(value[name]) for name in value.dtype.names}
        return [plain(one) for one in value]
    if isinstance(value, np.ndarray):
        return plain(value[()]) if value.ndim == 0 else [plain(one) for one in value]
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bytes):
        return value.rstrip(b"\0").decode()
    if isinstance(value, float) and value != value:
        return "nan"
    if isinstance(value, complex):
        return [plain(value.real), plain(value.imag)]
    return value


def flat(value):
    """The values of an attribute, in one list."""
    return np.ravel(np.array(plain(value), object)).tolist()


def same_type(ours, theirs):
    """Whether numpy's datatypes agree but for the order of bytes, and for text, which is read as text."""
    if theirs.kind in "OSU":
        return ours.kind in "SUO"
    if theirs.names:
        names = theirs.names == ours.names
        return names and all(same_type(ours[name].base, theirs[name].base) and ours[name].shape == theirs[name].shape for name in theirs.names)
    return ours.newbyteorder("=") == theirs.newbyteorder("=")


def check_attributes(theirs, ours, where, above=None):
    known = dict(ours.attrs) if hasattr(ours, "attrs") else {}
    for name, value in theirs.attrs.items():
        # An attribute of several axes may be an item in the group, or next to the dataset.
        is_group = isinstance(theirs, h5py.Group)
        found = known[name] if name in known else ours[f"@{name}"] if is_group else above[f"{where.rsplit('/', 1)[-1]}@{name}"]
        if np.size(value):
            # A list of one is shown as the one.
            assert flat(found) == flat(value), (where, name, found, value)


def check_dataset(theirs, ours, file, where):
    if theirs.shape is None:
        assert ours is None, where
        return
    if theirs.dtype.kind == "M":
        assert np.array([one.decode() for one in ours[...].tolist()], theirs.dtype).tolist() == theirs[...].tolist(), where
        return
    if theirs.dtype.metadata and "vlen" in theirs.dtype.metadata and not h5py.check_string_dtype(theirs.dtype):
        assert [plain(one) for one in ours] == [plain(one) for one in theirs[...]], where
        return
    assert ours.shape == theirs[()].shape if theirs.dtype.subdtype else ours.shape == theirs.shape, (where, ours.shape)
    found = ours[...]
    wanted = theirs[()]
    if h5py.check_ref_dtype(theirs.dtype):
        # An object may have several names.
        pairs = zip(found.ravel().tolist(), wanted.ravel(), strict=True)
        assert all(file[name] == file[reference] if reference else name == "" for name, reference in pairs), where
        return
    assert same_type(np.ma.getdata(found).dtype, np.asarray(wanted).dtype), (where, found.dtype, theirs.dtype)
    assert plain(found) == plain(wanted), where


def check_group(theirs, ours, file, where=""):
    names = {name for name in ours if "@" not in name}
    assert names == set(theirs), (where, names ^ set(theirs))
    for name in theirs:
        path = f"{where}/{name}"
        item = theirs.get(name)
        if item is None:
            with pytest.raises(trilith.FormatError):
                ours[name]
            continue
        mine = ours.get(name) if isinstance(item, h5py.Dataset) and item.shape is None else ours[name]
        if isinstance(item, h5py.Group):
            check_group(item, mine, file, path)
        else:
            check_dataset(item, mine, file, path)
        if mine is not None:
            check_attributes(item, mine, path, ours)


def check_file(number, path):
    """A generated file."""
    made = Generator(number)
    made.write(path)
    try:
        with h5py.File(path) as theirs, trilith.open(path) as ours:
            check_group(theirs, ours, theirs)
            check_attributes(theirs, ours, "/")
    except Exception as error:
        raise AssertionError(f"file {number}, libver {made.library}: {type(error).__name__}: {error}") from error
    path.unlink()


@pytest.mark.parametrize("part", range(PARTS))
def test_generated_files_equal_h5py(tmp_path, part):
    for number in range(part, FILES, PARTS):
        check_file(number, tmp_path / f"{number}.h5")
