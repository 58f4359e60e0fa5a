"""What the interop tests share: the command under test, numpy's side of a digest, and sample arrays."""

import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest
import warnings

import asdf
import numpy as np

warnings.simplefilter("ignore")  # what Python asdf says of old interfaces is not what is tested here

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("TRILITH_BIN", str(ROOT / "target/debug/trilith"))
TIME_LIMIT = 120


def trilith(*arguments, status=0, **options):
    """Runs the command, insists on its exit status and gives what it printed (bytes)."""
    # Several outputs of a test have one name.
    is_rewritten = arguments[0] in ("convert", "repack", "resolve") and "--overwrite" not in arguments
    overwrite = ["--overwrite"] if is_rewritten else []
    ended = subprocess.run(
        [PROGRAM, *map(str, arguments), *overwrite], capture_output=True, timeout=TIME_LIMIT, check=False, **options
    )
    if ended.returncode != status:
        line = " ".join(map(str, arguments))
        said = ended.stderr.decode(errors="replace").strip()[:500]
        raise AssertionError(f"`trilith {line}` ended with {ended.returncode}, expected {status}: {said}")
    return ended.stdout


def trilith_json(*arguments, **options):
    """What the command prints with --json."""
    return json.loads(trilith(*arguments, "--json", **options))


def packed(dtype):
    """The same type little-endian and without padding."""
    if dtype.subdtype:
        base, shape = dtype.subdtype
        return np.dtype((packed(base), shape))
    if dtype.names:
        return np.dtype([(name, packed(dtype.fields[name][0])) for name in dtype.names])
    return dtype.newbyteorder("<")


def datatype(dtype):
    """A numpy type in the words of ASDF 1.6, without byteorder."""
    if dtype.names:
        fields = []
        for name in dtype.names:
            field = dtype.fields[name][0]
            base, shape = field.subdtype or (field, ())
            entry = {"name": name, "datatype": datatype(base)}
            fields.append(entry | ({"shape": list(shape)} if shape else {}))
        return fields
    if dtype.kind == "S":
        return ["ascii", dtype.itemsize]
    if dtype.kind == "U":
        return ["ucs4", dtype.itemsize // 4]
    return "bool8" if dtype.kind == "b" else dtype.name


def sha256(array):
    """Of the elements in C order, packed, little-endian."""
    array = np.ascontiguousarray(array)
    return hashlib.sha256(array.astype(packed(array.dtype)).tobytes()).hexdigest()


def expected(array):
    """The entry of `trilith digest --json` for an array."""
    entry = {"datatype": datatype(array.dtype), "shape": list(array.shape), "sha256": sha256(np.ma.getdata(array))}
    if np.ma.isMaskedArray(array):
        entry["mask_sha256"] = sha256(np.ma.getmaskarray(array).astype("u1"))
    return entry


def stripped(value):
    """The same value without byteorder anywhere."""
    if isinstance(value, dict):
        return {key: stripped(item) for key, item in value.items() if key != "byteorder"}
    if isinstance(value, list):
        return [stripped(item) for item in value]
    return value


def same(ours, theirs):
    """Equal in type (but for byte order), shape, values (NaN equals NaN) and mask."""
    if datatype(ours.dtype) != datatype(theirs.dtype) or ours.shape != theirs.shape:
        return False
    if not np.array_equal(np.ma.getmaskarray(ours), np.ma.getmaskarray(theirs)):
        return False
    if np.ma.isMaskedArray(theirs):
        hidden = np.ma.getmaskarray(theirs)
        return np.array_equal(np.ma.getdata(ours)[~hidden], np.ma.getdata(theirs)[~hidden])
    return sha256(ours) == sha256(theirs)


STRUCTURED = np.dtype([("x", "<i4"), ("y", ">f8"), ("s", "S3"), ("n", [("p", "u1"), ("q", "<f4", (2,))]), ("u", ">U2")])


def samples():
    """Name -> array, for every datatype that numpy and ASDF share, in both byte orders."""
    random = np.random.default_rng(6)
    arrays = {}
    for code in ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"):
        bounds = np.iinfo(code)
        numbers = random.integers(bounds.min, bounds.max, size=(3, 4), dtype=code, endpoint=True)
        numbers[0, :2] = bounds.min, bounds.max
        arrays[np.dtype(code).name] = numbers
    for code in ("f2", "f4", "f8", "c8", "c16"):
        numbers = random.normal(0, 100, size=(3, 4)).astype(code)
        numbers[0, :3] = -0.0, np.finfo(code).max, np.finfo(code).tiny
        if code[0] == "c":
            numbers.imag = numbers.real[::-1]
        arrays[np.dtype(code).name] = numbers
    arrays["float64_special"] = np.array([np.nan, np.inf, -np.inf, -0.0, 5e-324])
    arrays["bool8"] = np.array([[True, False, True], [False, False, True]])
    arrays["ascii"] = np.array([["", "a"], ["bcd", "ASDF!"]], dtype="S5")
    arrays["ucs4"] = np.array([["", "a"], ["\u00e9\u03b1", "\U0001f600xyz"]], dtype="U4")
    for name, array in list(arrays.items()):
        swapped = array.dtype.newbyteorder(">")
        if swapped != array.dtype:
            arrays[name + "_big"] = array.astype(swapped)
    structured = np.zeros(5, STRUCTURED)
    structured["x"] = np.arange(5) - 2
    structured["y"] = np.linspace(0, 1, 5)
    structured["s"] = [b"", b"a", b"bc", b"def", b"g"]
    structured["n"]["p"] = 255
    structured["n"]["q"] = random.normal(size=(5, 2))
    structured["u"] = "\u03b1z"
    arrays["structured"] = structured
    numbers = np.arange(24, dtype="<i4").reshape(2, 3, 4)
    arrays["fortran"] = np.asfortranarray(numbers)
    arrays["strided"] = numbers[:, ::-1, ::2]
    arrays["empty"] = np.zeros((0, 3), "f4")
    arrays["many"] = np.repeat(random.normal(100, 5, 40_000).astype("f4"), 30)  # more than one lz4 sub-block
    hidden = np.ma.array(np.arange(12.0).reshape(3, 4), mask=np.eye(3, 4, dtype=bool))
    arrays["masked"] = hidden
    return arrays


#: What Python asdf 6.0.0 refuses to write in this storage (integers above 63 bits in text), or takes minutes for.
CANNOT_WRITE = {"inline": {"int64", "int64_big", "uint64", "uint64_big", "many"}}

#: What it does not read back as it was: inline rows of nested fields, and the sign of a NaN in text.
CANNOT_READ = {"inline": CANNOT_WRITE["inline"] | {"structured", "float64_special", "float64_special_big"}}


def samples_without(left_out, storage):
    """The samples, except those that are left out of this storage."""
    return {name: array for name, array in samples().items() if name not in left_out.get(storage, ())}


def write(path, tree, storage="internal", codec=None):
    """Writes a tree with Python asdf."""
    made = asdf.AsdfFile(tree)
    made.write_to(path, all_array_storage=storage, all_array_compression=codec)


def load(array):
    """The elements of an array of an open file."""
    return array[...] if np.ma.isMaskedArray(array[...]) else np.asarray(array)


class Case(unittest.TestCase):
    """A test in a folder of its own."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="trilith-interop-"))
        self.addCleanup(shutil.rmtree, self.folder)


class CaseWithoutAstropy(Case):
    """Without asdf-astropy, which would make HDUs of a `fits` list: what stands in the tree is compared."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        asdf.get_config().extensions  # found once, not anew in the context
        cls.context = asdf.config_context()
        cls.context.__enter__().remove_extension(package="asdf-astropy")
        cls.addClassCleanup(cls.context.__exit__, None, None, None)


def shared():
    """The folder of material beside the repository, or None."""
    places = [os.environ.get("TRILITH_SHARED"), *(above / "shared" for above in ROOT.parents)]
    return next((pathlib.Path(p) for p in places if p and (pathlib.Path(p) / "corpus").is_dir()), None)
