"""Every way in which a file declares scale, offset and missing values, read by every command, Python, C, zarr and xarray.

The expected values are those of astropy, fitsio, netCDF4 and tifffile.
"""

import base64
import collections
import concurrent.futures
import csv
import ctypes
import dataclasses
import hashlib
import io
import json
import os
import pathlib
import struct
import subprocess
import sys
import warnings

import numpy as np
import pytest
import trilith

asdf = pytest.importorskip("asdf")
fits = pytest.importorskip("astropy.io.fits")
fitsio = pytest.importorskip("fitsio")
h5py = pytest.importorskip("h5py")
netCDF4 = pytest.importorskip("netCDF4")
tifffile = pytest.importorskip("tifffile")
xarray = pytest.importorskip("xarray")
pytest.importorskip("zarr")

PROGRAM = os.environ.get("TRILITH_BIN") or str(pathlib.Path(sys.executable).with_name("trilith"))
LIBRARY = pathlib.Path(os.environ.get("TRILITH_C", pathlib.Path(__file__).parents[3] / "target/debug/libtrilith.so"))


@dataclasses.dataclass
class Case:
    """An array of a file: what it means, and what is stored."""

    path: pathlib.Path
    item: str
    want: np.ma.MaskedArray
    stored: np.ndarray
    #: The column of the table that the item is.
    column: str | None = None
    #: What a manifest has to keep beside the stored values.
    attributes: dict = dataclasses.field(default_factory=dict)

    @property
    def is_declared(self):
        """Whether the file itself says what is missing, and not its library alone."""
        # `_Unsigned` alone declares no missing value, nor does a value that the type does not have or that no element is.
        is_plain = self.item[1] == "u" and self.item.endswith(("plain", "unfit", "outside"))
        return not is_plain and not self.item.endswith(("unset", "unfilled"))

    @property
    def name(self):
        return f"{self.path.name}#{self.item}"


def masked(values, mask=False):
    values = np.ma.array(values, mask=np.zeros(np.shape(values), bool) | mask)
    return values.astype(values.dtype.newbyteorder("="))


def with_cards(hdus, cards, number=0):
    """The bytes of a file with cards that astropy would apply when it writes."""
    out = io.BytesIO()
    fits.HDUList(hdus).writeto(out, output_verify="ignore")
    content = out.getvalue()
    start = fits.open(io.BytesIO(content))[number].fileinfo()["hdrLoc"]
    end = next(at for at in range(start, len(content), 80) if content[at : at + 80] == b"END".ljust(80))
    text = b"".join(f"{key:<8}= {value:>20}".ljust(80).encode() for key, value in cards.items()) + b"END".ljust(80)
    return content[:end] + text + content[end + len(text) :]


def as_fitsio(path, number, want, is_void):
    """Asserts that fitsio reads an image so. It makes whole numbers of some scaled ones, and fails for others."""
    try:
        there = fitsio.read(path, number)
    except OSError:
        return
    if there.dtype.kind == want.dtype.kind:
        np.testing.assert_allclose(there[~is_void], want[~is_void], rtol=1e-6)


IMAGES = {
    "plain": {}, "scale": {"BSCALE": 0.5}, "zero": {"BZERO": -7}, "both": {"BSCALE": 0.1, "BZERO": 10.0}, "blank": {"BLANK": 3},
    "all": {"BSCALE": 0.25, "BZERO": 3.0, "BLANK": 3},
}  # fmt: skip


def images(folder):
    for code, unsigned in (("u1", -128), (">i2", 1 << 15), (">i4", 1 << 31), (">i8", 1 << 63), (">f4", None), (">f8", None)):
        stored = np.arange(12).reshape(3, 4).astype(code)
        ways = IMAGES | ({} if unsigned is None else {"unsigned": {"BZERO": unsigned}})
        for name, cards in ways.items():
            path = folder / f"image_{code[-2:]}_{name}.fits"
            path.write_bytes(with_cards([fits.PrimaryHDU(stored)], cards))
            is_void = (stored == cards.get("BLANK", -1)) & (stored.dtype.kind != "f")
            want = fits.getdata(path)
            if code == ">i8" and name == "blank":
                want = stored  # astropy makes float64 of them, in which not all fit
            yield Case(path, "/fits/0/data", masked(want, is_void), stored, attributes=cards)
            as_fitsio(path, 0, want, is_void)


def tiles(folder):
    whole = (np.add.outer(np.arange(20), np.arange(30)) % 50).astype("i2")
    floats = np.random.default_rng(1).normal(100, 5, (20, 30)).astype("f4")
    floats[3, 4] = np.nan
    for method in ("RICE_1", "GZIP_2"):
        for name, data, cards in (
            ("plain", whole, {}), ("scale", whole, {"BSCALE": 0.5, "BZERO": 2.0}), ("blank", whole, {"BLANK": 7}),
            ("zblank", whole, {"ZBLANK": 7}), ("float", floats, {}),
        ):  # fmt: skip
            path = folder / f"tiles_{method}_{name}.fits"
            path.write_bytes(with_cards([fits.PrimaryHDU(), fits.CompImageHDU(data, compression_type=method)], cards, 1))
            want = fits.getdata(path, 1)
            is_void = (data == 7) if "blank" in name else np.zeros(data.shape, bool)
            stored = data if name != "float" else want
            yield Case(path, "/fits/1/data", masked(want, is_void), stored)
            as_fitsio(path, 1, want, is_void)


def columns(folder):
    ways = {"plain": {}, "scale": {"TSCAL1": 0.5}, "zero": {"TZERO1": 4.0}, "both": {"TSCAL1": 0.25, "TZERO1": 2.0}, "null": {"TNULL1": 3}}
    types = (("B", "u1", -128), ("I", ">i2", 1 << 15), ("J", ">i4", 1 << 31), ("K", ">i8", 1 << 63), ("E", ">f4", None), ("D", ">f8", None))
    for letter, code, unsigned in types:
        stored = np.arange(6).astype(code)
        for name, cards in (ways | ({} if unsigned is None else {"unsigned": {"TZERO1": unsigned}})).items():
            if letter == "K" and name in ("zero", "both"):
                continue  # astropy 8.0.2 fails
            if letter in "ED" and name == "null":
                continue
            path = folder / f"column_{letter}_{name}.fits"
            table = fits.BinTableHDU.from_columns([fits.Column("v", letter, array=stored)])
            path.write_bytes(with_cards([fits.PrimaryHDU(), table], cards, 1))
            want = np.asarray(fits.getdata(path, 1)["v"])
            if letter == "B" and name == "unsigned":
                want = want.astype("i1")
            want = masked(want, stored == 3 if name == "null" else False)
            yield Case(path, "/fits/1/data", want, stored, column="v", attributes=cards)
    path = folder / "column_L.fits"
    content = with_cards([fits.PrimaryHDU(), fits.BinTableHDU.from_columns([fits.Column("v", "L", array=[True, False, True])])], {}, 1)
    path.write_bytes(content.replace(b"TFT\0", b"TF\0\0"))
    want = masked(np.array([True, False, False]), [False, False, True])
    yield Case(path, "/fits/1/data", want, np.array([84, 70, 0], "i1"), column="v")
    path = folder / "column_text.fits"
    column = fits.Column("v", "I6", null="-1", array=np.arange(4) - 1)
    fits.HDUList([fits.PrimaryHDU(), fits.TableHDU.from_columns([column])]).writeto(path)
    want = masked(fits.getdata(path, 1)["v"], [True, False, False, False])
    yield Case(path, "/fits/1/data", want, np.char.mod("%6d", np.arange(4) - 1).astype("S6"), column="v")


CONVENTIONS = {
    "plain": {}, "scale": {"scale_factor": 0.5}, "offset": {"add_offset": 10.0},
    "single": {"scale_factor": np.float32(0.1), "add_offset": np.float32(3)}, "neutral": {"scale_factor": 1.0, "add_offset": 0.0},
    "fill": {"_FillValue": 3}, "missing": {"missing_value": 4}, "two": {"missing_value": [1, 2]},
    "range": {"valid_range": [2, 9]}, "min": {"valid_min": 5}, "max": {"valid_max": 6}, "unfit": {"valid_min": np.float64(2.5)},
    "outside": {"missing_value": np.float64(1e300)}, "all": {"scale_factor": 0.1, "add_offset": -1.0, "_FillValue": 3, "valid_min": 1},
    "unsigned": {"_Unsigned": "true"}, "packed_unsigned": {"_Unsigned": "true", "scale_factor": 0.5, "_FillValue": -1},
    "unset": None, "unfilled": None,
}  # fmt: skip
#: Attributes that are written in the type of the variable.
TYPED = ("_FillValue", "missing_value", "valid_range", "valid_min", "valid_max")


def typed(said, code):
    return {key: value if key not in TYPED or isinstance(value, np.float64) else np.array(value, code) for key, value in said.items()}


def conventions(folder):
    for form in ("NETCDF3_CLASSIC", "NETCDF3_64BIT_DATA", "NETCDF4", "HDF5"):
        path = folder / f"{form}.{'h5' if form == 'HDF5' else 'nc'}"
        codes = ["i1", "i2", "i4", "f4", "f8"] + (["u1", "u2", "i8", "u8"] if form in ("NETCDF3_64BIT_DATA", "NETCDF4") else [])
        said = {}
        made = h5py.File(path, "w") if form == "HDF5" else netCDF4.Dataset(path, "w", format=form)
        with made:
            if form != "HDF5":
                made.createDimension("y", 3)
                made.createDimension("x", 4)
            for code in codes:
                for name, given in CONVENTIONS.items():
                    if "unsigned" in name and code[0] != "i" or form == "HDF5" and given is None:
                        continue
                    attributes = typed(given or {}, code)
                    values = np.arange(12).reshape(3, 4).astype(code)
                    values[2, 3] = np.array(-1).astype(code)
                    item = f"{code}_{name}"
                    if form == "HDF5":
                        variable = made.create_dataset(item, data=values)
                        variable.attrs.update(attributes)
                    else:
                        fill = attributes.pop("_FillValue", False if name == "unfilled" else None)
                        variable = made.createVariable(item, code, ("y", "x"), fill_value=fill)
                        variable.set_auto_maskandscale(False)
                        variable.setncatts(attributes)
                        if given is None:
                            # One is the fill value of the library, and some were never written.
                            variable[:2] = np.where(values[:2] == 2, np.array(netCDF4.default_fillvals[code], code), values[:2])
                        else:
                            variable[:] = values
                    said[item] = attributes
        with netCDF4.Dataset(path) as opened:
            stored = {}
            for item, attributes in said.items():
                variable = opened[item]
                variable.set_auto_maskandscale(False)
                stored = np.asarray(variable[:])
                variable.set_auto_maskandscale(True)
                want = np.ma.array(variable[:])
                yield Case(path, f"/{item}", masked(np.ma.getdata(want), np.ma.getmaskarray(want)), stored, attributes=attributes)


def pictures(folder):
    for code, text in (("i2", "5"), ("f4", "5"), ("f4", "nan"), ("u1", "-9999"), ("f8", "-1.7976931348623157e+308")):
        data = np.arange(12).reshape(3, 4).astype(code)
        if code == "f8":
            data[1, 1] = np.finfo("f8").min
        if text == "nan":
            data[1, 1] = np.nan
        path = folder / f"nodata_{code}_{text}.tif"
        tifffile.imwrite(path, data, extratags=[(42113, "s", 0, text, True)], metadata=None)
        want = tifffile.imread(path)
        nodata = float(text)
        is_void = np.isnan(want) if np.isnan(nodata) else want == nodata
        yield Case(path, "/image", masked(want, is_void), want, attributes={"GDAL_NODATA": text})
    for text in ("7", None):
        path = folder / f"sparse_{text}.tif"
        tags = [(42113, "s", 0, text, True)] if text else []
        tifffile.imwrite(path, np.arange(48 * 32, dtype="i2").reshape(48, 32) + 100, tile=(16, 16), extratags=tags, metadata=None)
        with tifffile.TiffFile(path, mode="r+") as file:
            page = file.pages[0]
            for tag in ("TileOffsets", "TileByteCounts"):
                kept = list(page.tags[tag].value)
                kept[2] = 0
                page.tags[tag].overwrite(tuple(kept))
        want = tifffile.imread(path)
        yield Case(path, "/image", masked(want, want == 7 if text else False), want, attributes={"GDAL_NODATA": text} if text else {})


MAKERS = (images, tiles, columns, conventions, pictures)


@pytest.fixture(scope="module")
def cases(tmp_path_factory):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [case for make in MAKERS for case in make(tmp_path_factory.mktemp(make.__name__))]


class Tally:
    """Counts of comparisons and differences."""

    def __init__(self, reader):
        self.reader, self.counts, self.wrong = reader, collections.Counter(), []

    def same(self, case, found, want, how=""):
        self.counts[how] += 1
        try:
            np.testing.assert_array_equal(found, want)
        except (AssertionError, TypeError, ValueError) as error:
            self.wrong.append(f"{case.name} {how}: {str(error).strip()[:400]}")

    def elements(self, case, found, how="", dtype=True, mask=True):
        """A masked array, or a list in which missing elements are None."""
        if isinstance(found, list):
            leaves, dtype = flattened(found), False
            kind = case.want.dtype if case.want.dtype.kind in "fb" else object
            values = np.array([np.nan if one is None else one for one in leaves], object).astype(kind)
            found = np.ma.array(values, mask=[one is None for one in leaves]).reshape(case.want.shape)
        if mask:
            self.same(case, np.ma.getmaskarray(found), case.want.mask, f"{how} mask")
        if dtype:
            self.same(case, str(found.dtype.newbyteorder("=")), str(case.want.dtype), f"{how} dtype")
        seen = ~case.want.mask
        self.same(case, np.ma.getdata(found)[seen], case.want.data[seen], f"{how} values")

    def done(self):
        print(f"\n{self.reader}: {sum(self.counts.values())} comparisons: {dict(self.counts)}")
        assert not self.wrong, f"{len(self.wrong)} differ:\n" + "\n".join(self.wrong[:200])


def flattened(nested):
    return [leaf for one in nested for leaf in flattened(one)] if isinstance(nested, list) else [nested]


def run(*words, status=(0,)):
    done = subprocess.run([PROGRAM, *map(str, words)], capture_output=True, check=False, timeout=120)
    assert done.returncode in status, (words, done.returncode, done.stderr.decode()[:400])
    return done


def number(text, dtype):
    if text in ("", "--"):
        return None
    if dtype.kind == "b":
        return text in ("true", "True", "T")
    return int(text) if dtype.kind in "iu" else np.dtype(dtype).type(text)


def of_json(value, dtype):
    if isinstance(value, list):
        return [of_json(one, dtype) for one in value]
    return float(value) if isinstance(value, str) else dtype.type(value) if dtype.kind == "f" and value is not None else value


def sha256(array):
    return hashlib.sha256(np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<")).tobytes()).hexdigest()


def commanded(tally, cases, tmp_path):
    """All commands that read items of one file, each on all of these items."""
    tmp_path.mkdir()
    path = cases[0].path
    at = [f"{path}#{case.item}" for case in cases]

    def output(case, extension):
        return tmp_path / f"{path.stem}_{case.item.strip('/').replace('/', '_')}.{extension}"

    def saved(extension, *options, status=(0,)):
        # Each item has a file.
        return run("get", *at, *options, "-o", tmp_path / f"{{stem}}_{{item}}.{extension}", "--quiet", status=status)

    said = run("get", *at, "--json").stdout
    lines = [json.loads(said)] if len(cases) == 1 else [json.loads(line)["value"] for line in said.splitlines()]
    for case, value in zip(cases, lines, strict=True):
        tally.elements(case, of_json(value, case.want.dtype), "get --json")
    saved("txt", "--format", "text")
    saved("csv")
    saved("npy")
    for case in cases:
        want = case.want
        if not case.column:
            words = output(case, "txt").read_text().split()
            tally.elements(case, [number(word, want.dtype) for word in words], "get text")
        rows = list(csv.reader(io.StringIO(output(case, "csv").read_text())))[1 if case.column else 0 :]
        cells = [[None]] * want.size if not rows else rows
        tally.elements(case, [[number(cell, want.dtype) for cell in row] or [None] for row in cells], "get csv")
        found = np.load(output(case, "npy"))
        tally.elements(case, found[case.column] if case.column else found, "get npy", mask=False)
        output(case, "npy").unlink()
    saved("npy", "--stored", status=(0, 2))
    for case in cases:
        there = np.load(output(case, "npy")) if output(case, "npy").exists() else case.stored
        there = there[case.column] if there.dtype.names else there
        # Tiles and tables of text are stored as bytes, and integers of the other sign as what they are.
        if there.dtype == case.stored.dtype:
            tally.same(case, there, case.stored, "get --stored")
    numbers = [case for case in cases if case.want.dtype.kind in "iuf"]
    said = run("stats", *(f"{path}#{case.item}" for case in numbers), "--json").stdout if numbers else b""
    lines = [said] if len(numbers) == 1 else said.splitlines()
    finite = [case.want.compressed()[np.isfinite(case.want.compressed())] for case in numbers]
    for case, line, values in zip(numbers, lines, finite, strict=True):
        stats = json.loads(line)["arrays"][0]
        tally.same(case, [stats["masked"], stats["count"]], [case.want.mask.sum(), case.want.size], "stats counts")
        if values.size:
            tally.same(case, np.array([stats["min"], stats["max"]], values.dtype), [values.min(), values.max()], "stats")
    chosen = [(case, values) for case, values in zip(numbers, finite, strict=True) if values.size and not case.column]
    if chosen:
        columns = [f"{name}{n}={case.item}@{name}" for n, (case, _) in enumerate(chosen) for name in ("min", "max")]
        table = run("table", path, *(word for column in columns for word in ("-c", column)), "-o", "-").stdout.decode()
        row = next(csv.reader(table.splitlines()[1:]))[1:]
        for n, (case, values) in enumerate(chosen):
            tally.same(case, np.array(row[2 * n : 2 * n + 2], "f8"), np.array([values.min(), values.max()], "f8"), "table")
    digests = json.loads(run("digest", path, "--json").stdout)["arrays"]
    for case in cases:
        tally.same(case, digests[case.item]["sha256"], sha256(case.want.filled(0)), "digest")
        if case.want.mask.any():
            tally.same(case, digests[case.item].get("mask_sha256"), sha256(case.want.mask.astype("u1")), "digest mask")
    if cases[0].column:
        return
    wanted = {f"want{n}": case.want if case.want.mask.any() else case.want.data for n, case in enumerate(cases)}
    asdf.AsdfFile(wanted).write_to(tmp_path / "want.asdf")
    run("show", *at, "--origin", "upper", "-o", tmp_path / "{stem}_{item}.png", "--quiet")
    run("show", *(f"{tmp_path / 'want.asdf'}#/{name}" for name in wanted), "-o", tmp_path / "{stem}_{item}.png", "--quiet")
    for case, name in zip(cases, wanted, strict=True):
        same = output(case, "png").read_bytes() == (tmp_path / f"want_{name}.png").read_bytes()
        tally.same(case, same, True, "show")


def test_every_command(cases, tmp_path):
    tally = Tally("the command")
    # Python and C read the other types.
    some = {"NETCDF3_CLASSIC.nc": ("i2",), "NETCDF3_64BIT_DATA.nc": (), "NETCDF4.nc": ("i1", "i2", "f4"), "HDF5.h5": ("i2", "f4")}
    files = collections.defaultdict(list)
    for case in cases:
        if case.path.name not in some or case.item[1:3] in some[case.path.name]:
            files[case.path].append(case)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(lambda one: commanded(tally, one[1], tmp_path / str(one[0])), enumerate(files.values())))
    tally.done()


def test_whole_files(cases, tmp_path):
    tally = Tally("convert, diff and manifest")
    files = collections.defaultdict(list)
    for case in cases:
        files[case.path].append(case)
    for path, here in files.items():
        out = tmp_path / "x.asdf"
        run("convert", path, out, "--physical", "--quiet", "--overwrite")
        with asdf.open(out) as opened:
            for case in here:
                name = case.item[1:]
                if path.suffix == ".fits":
                    number_of = int(name.split("/")[1])
                    name = fits.open(path)[number_of].name
                    name = name if name in opened else f"HDU{number_of}"
                is_image = path.suffix == ".fits" and not case.column
                array = opened[name][case.column] if case.column else opened[name]["data"] if is_image else opened[name]
                tally.elements(case, np.ma.array(array[...]), "convert --physical")
        if not here[0].column:
            tree = {}
            for case in here:
                if path.suffix == ".fits":
                    tree["fits"] = [{"data": case.want}] if case.item == "/fits/0/data" else [{}, {"data": case.want}]
                else:
                    tree[case.item[1:]] = case.want
            with asdf.config_context() as config:
                config.remove_extension(package="asdf-astropy")
                asdf.AsdfFile(tree).write_to(tmp_path / "want.asdf")
            for a, b in ((path, tmp_path / "want.asdf"), (tmp_path / "want.asdf", path)):
                told = json.loads(run("diff", a, b, "--json", status=(0, 1)).stdout)["differences"]
                paths = {one["path"]: one for one in told}
                for case in here:
                    tally.same(case, paths.get(case.item), None, "diff")
        done = run("manifest", path, "-o", tmp_path / "m.json", status=(0, 2))
        if done.returncode:
            tally.same(here[0], bool(done.stderr), True, "manifest refused")
            continue
        refs = json.loads((tmp_path / "m.json").read_text())["refs"]
        for case in here:
            said = json.loads(refs[f"{case.item[1:]}/.zarray"])
            dtype = dict(said["dtype"])[case.column] if isinstance(said["dtype"], list) else said["dtype"]
            attributes = json.loads(refs.get(f"{case.item[1:]}/.zattrs", "{}"))
            # Elements that the document holds itself are physical ones. Those in the file are stored ones, with what the
            # conventions of netCDF say of them; else nothing may be declared.
            chunks = [value for key, value in refs.items() if key.startswith(f"{case.item[1:]}/") and "/." not in key]
            if path.suffix == ".fits" and all(isinstance(chunk, str) for chunk in chunks):
                tally.same(case, np.dtype(dtype).newbyteorder("=") == case.want.dtype, True, "manifest dtype")
                [held] = [chunk.encode() if not chunk.startswith("base64:") else base64.b64decode(chunk[7:]) for chunk in chunks]
                whole = [tuple(one) for one in said["dtype"]] if case.column else dtype
                held = np.frombuffer(held, whole).reshape(said["shape"])
                held = held[case.column] if case.column else held
                tally.same(case, held[~case.want.mask], case.want.data[~case.want.mask], "manifest values")
                tally.same(case, f"{case.item[1:]}_mask/.zarray" in refs, bool(case.want.mask.any()), "manifest mask")
                continue
            tally.same(case, str(np.dtype(dtype).newbyteorder("=")), str(case.stored.dtype.newbyteorder("=")), "manifest dtype")
            if path.suffix in (".nc", ".h5"):
                kept = {key: attributes.get(key) for key in case.attributes if key in ("scale_factor", "add_offset", "_Unsigned")}
                tally.same(case, [kept[key] for key in kept], [case.attributes[key] for key in kept], "manifest attributes")
            elif path.suffix == ".fits":
                # A mark of missing integers is Zarr's fill value, and floats have none.
                scaling = {key: value for key, value in case.attributes.items() if key != "BLANK"}
                tally.same(case, scaling, {}, "manifest of scaled values")
                if "BLANK" in case.attributes and case.stored.dtype.kind in "iu":
                    tally.same(case, said["fill_value"], case.attributes["BLANK"], "manifest fill value")
    tally.done()


def test_python(cases):
    tally = Tally("Python")
    for case in cases:
        with trilith.open(case.path) as f:
            array = f[case.item[1:]]
            found = np.ma.array(array.masked())
            tally.elements(case, found[case.column] if case.column else found)
            if not case.column:
                # As its engines, xarray takes no integer for the fill value of the library.
                is_float = case.want.dtype.kind == "f" or case.is_declared
                want = case.want.astype("f8").filled(np.nan) if is_float else np.ma.getdata(found)
                tally.same(case, array.to_xarray().values.astype("f8"), want, "to_xarray")
        with trilith.open(case.path, physical=False) as f:
            array = f[case.item[1:]]
            if isinstance(array, trilith.Array) and array.dtype == case.stored.dtype:
                tally.same(case, array[...], case.stored, "stored")
    tally.done()


def test_zarr(cases):
    tally = Tally("zarr")
    for path in dict.fromkeys(case.path for case in cases):
        group = trilith.zarr.open(path)
        for case in cases:
            if case.path != path:
                continue
            if case.column:
                array, mask = group[case.item[1:]], None
                values = array[...][case.column] if not hasattr(array, "keys") else array[case.column][...]
                tally.elements(case, np.ma.array(values), "values", mask=False)
                continue
            array = group[case.item[1:]]
            values = np.ma.array(array[...])
            if f"{case.item[1:]}_mask" in group:
                values.mask = group[f"{case.item[1:]}_mask"][...] != 0
            elif "_FillValue" in array.attrs:
                # Zarr v3 has floats as xarray writes them: in base64, as eight bytes.
                said = array.attrs["_FillValue"]
                said = struct.unpack("<d", base64.b64decode(said))[0] if isinstance(said, str) and array.dtype.kind == "f" else said
                fill = array.dtype.type(said)
                values.mask = np.isnan(values.data) if fill != fill else values.data == fill
            tally.elements(case, values)
            # Factors that change nothing may stay.
            if case.attributes.get("scale_factor") != 1.0:
                tally.same(case, sorted({"scale_factor", "add_offset"} & set(array.attrs)), [], "attributes")
    tally.done()


def test_xarray(cases):
    tally = Tally("xarray")
    for path in dict.fromkeys(case.path for case in cases):
        here = [case for case in cases if case.path == path]
        if path.suffix in (".nc", ".h5"):
            with xarray.open_dataset(path, engine="trilith") as ours, xarray.open_dataset(path, engine="netcdf4") as theirs:
                for case in here:
                    name = case.item[1:]
                    tally.same(case, str(ours[name].dtype), str(theirs[name].dtype), "dtype")
                    tally.same(case, ours[name].values, theirs[name].values, "values")
        elif not here[0].column:
            group = here[0].item.rsplit("/", 1)[0]
            with xarray.open_dataset(path, engine="trilith", group=group) as ours:
                want = here[0].want
                name = here[0].item.rsplit("/", 1)[1]
                tally.same(here[0], ours[name].values, want.astype("f8").filled(np.nan) if want.mask.any() else want.data, "values")
    tally.done()


def test_c(cases):
    if not LIBRARY.exists():
        pytest.skip(f"no {LIBRARY}")
    library, tally = ctypes.CDLL(str(LIBRARY)), Tally("C")
    pointer, codes = ctypes.c_void_p, {}
    header = pathlib.Path(__file__).parents[2] / "trilith-c/include/trilith.h"
    for line in header.read_text().splitlines():
        words = line.split()
        if len(words) == 3 and words[0] == "#define" and words[1].startswith("TRILITH_"):
            codes[words[1][len("TRILITH_") :].lower()] = words[2]
    for case in cases:
        file, array, error = pointer(), pointer(), pointer()
        assert library.trilith_open(str(case.path).encode(), None, ctypes.byref(file), ctypes.byref(error)) == 0
        assert library.trilith_array_at(file, case.item.encode(), ctypes.byref(array), ctypes.byref(error)) == 0
        if case.column:
            field = pointer()
            assert library.trilith_array_field(array, case.column.encode(), ctypes.byref(field), ctypes.byref(error)) == 0
            library.trilith_array_free(array)
            array = field
        name = "bool8" if case.want.dtype.kind == "b" else case.want.dtype.name
        found = np.zeros(case.want.shape, case.want.dtype)
        mask = np.zeros(case.want.shape, "u1")
        to, size, failed = found.ctypes.data_as(pointer), ctypes.c_size_t(found.nbytes), ctypes.byref(error)
        assert library.trilith_array_read(array, int(codes[name]), to, size, None, None, None, failed) == 0, case.name
        assert library.trilith_array_read_mask(array, mask.ctypes.data_as(pointer), ctypes.c_size_t(mask.nbytes), failed) == 0
        tally.elements(case, np.ma.array(found, mask=mask != 0))
        library.trilith_array_free(array)
        library.trilith_close(file)
    tally.done()
