"""Generated netCDF files of each format: the names, dimensions, types, values and masks of the netCDF4 package and of xarray.

Rest. `cargo xtask campaign netcdf --cases 2000` makes more files than the default.
"""

import os
import warnings

import numpy as np
import pytest

import trilith

netCDF4 = pytest.importorskip("netCDF4")
xarray = pytest.importorskip("xarray")
h5py = pytest.importorskip("h5py")

FILES = int(os.environ.get("TRILITH_CAMPAIGN", "60"))
SEED = int(os.environ.get("TRILITH_CAMPAIGN_SEED", "0"))
PARTS = 4
FORMATS = ("NETCDF3_CLASSIC", "NETCDF3_64BIT_OFFSET", "NETCDF3_64BIT_DATA", "NETCDF4", "NETCDF4", "NETCDF4", "NETCDF4_CLASSIC")
CLASSIC = ("i1", "i2", "i4", "f4", "f8", "S1")
NUMBERS = ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8")
MARKS = ("_FillValue", "missing_value", "valid_min", "valid_max", "valid_range", "flag_values", "flag_masks")


class Generator:
    """A random file."""

    def __init__(self, number):
        self.random = np.random.default_rng([SEED, number])
        self.format = FORMATS[number % len(FORMATS)]
        self.is_hdf5 = self.format.startswith("NETCDF4")
        self.has_types = self.format == "NETCDF4"
        self.chars = set()

    def chance(self, probability):
        return self.random.random() < probability

    def pick(self, values):
        return values[self.random.integers(len(values))]

    def write(self, path):
        with netCDF4.Dataset(path, "w", format=self.format) as file:
            file.title, file.number, file.numbers = "a title", np.int32(3), np.array([1.5, 2.5])
            self.fill(file, [], 0)
            is_marked = not self.chance(0.2) or not file.dimensions or not self.has_types
        if not is_marked:
            with h5py.File(path, "r+") as file:
                del file.attrs["_NCProperties"]

    def fill(self, group, above, depth):
        """The dimensions and variables of a group, and groups in it."""
        known = {dim.name: dim for dim in above}
        for number in range(self.random.integers(1, 5)):
            name = f"d{number}" if self.chance(0.7) else f"d{depth}_{number}"
            is_open = self.chance(0.25) and (self.has_types or not any(dim.isunlimited() for dim in known.values()))
            known[name] = group.createDimension(name, None if is_open else int(self.random.integers(1, 6)))
        if self.chance(0.5):
            known["chars"] = group.createDimension("chars", int(self.random.integers(1, 6)))
        dims = list(known.values())
        for name, dim in group.dimensions.items():
            if name != "chars" and self.chance(0.4):
                self.variable(group, name, self.ordered([dim, *(self.axes(dims, dim)[:1] if self.chance(0.2) else [])]))
        for number in range(self.random.integers(2, 7)):
            self.variable(group, f"v{number}", self.axes(dims))
        for number in range(self.random.integers(0, 3) if self.has_types and depth < 2 else 0):
            self.fill(group.createGroup(f"g{number}"), dims, depth + 1)

    def axes(self, dims, without=None):
        """Some dimensions for a variable."""
        left = [dim for dim in dims if dim is not without and dim.name != "chars"]
        chosen = [left[at] for at in self.random.permutation(len(left))[: self.random.integers(0, 4)]]
        return self.ordered(chosen)

    def ordered(self, dims):
        """In the classic formats only the first dimension of a variable may grow."""
        return dims if self.has_types else sorted(dims, key=lambda dim: not dim.isunlimited())

    def values(self, code, shape):
        if code == "S1":
            return self.random.choice(np.array([b"a", b"z", b" ", b"0"], "S1"), shape)
        if code == str:
            return self.random.choice(np.array(["", "one", "zwölf", "a b"], object), shape)
        dtype = np.dtype(code)
        if dtype.kind == "f":
            return self.random.normal(0, 20, shape).astype(dtype)
        info = np.iinfo(dtype)
        return self.random.integers(max(info.min, -40), min(info.max, 100), shape, endpoint=True).astype(dtype)

    def mark(self, code, count=None):
        """A number, or several, of the type of a variable or of another one."""
        other = self.pick(NUMBERS if self.has_types or self.format.endswith("DATA") else CLASSIC[:-1])
        code = code if code in NUMBERS and self.chance(0.6) else other
        return self.values(code, count or ())[()]

    def attributes(self, code):
        """Attributes about the elements of a number."""
        found = {}
        if self.chance(0.3):
            found["missing_value"] = self.mark(code, int(self.random.integers(1, 4))) if self.chance(0.8) else "n/a"
        if self.chance(0.2):
            found["valid_range"] = np.sort(self.mark(code, 2))
        if self.chance(0.2):
            found["valid_min"] = self.pick([self.mark(code), "-5", np.int16(300), np.float64(-0.5)])
        if self.chance(0.2):
            found["valid_max"] = self.pick([self.mark(code), "90.0", np.int16(-300), np.float64(1e30)])
        if self.chance(0.2):
            found["flag_values"] = self.mark(code, 3)
        if self.chance(0.3):
            found["scale_factor"] = self.pick([np.float32(0.5), np.float64(0.1), np.int16(1)])
        if self.chance(0.2):
            found["add_offset"] = self.pick([np.float32(0.5), np.float64(10.25)])
        if code in ("i1", "i2", "i4") and self.chance(0.1):
            found["_Unsigned"] = "true"
        found[self.pick(["unit", "units", "long_name"])] = self.pick(["m", "days", "K"])
        return found

    def variable(self, group, name, dims):
        code = self.pick(NUMBERS if self.has_types or self.format.endswith("DATA") else CLASSIC)
        if self.chance(0.15):
            # A list alone is an array with one more axis. netCDF-C crashes in lists, and in strings in the middle of a row, that
            # were never written.
            growing = [dim.isunlimited() for dim in dims]
            lists = ["list"] if dims and not any(growing) else []
            strings = [str] if not any(growing[1:]) else []
            code = self.pick(["S1", "S1", *strings, *lists] if self.has_types else ["S1"])
        names = [dim.name for dim in dims]
        shape = [int(self.random.integers(0, 4)) if dim.isunlimited() else len(dim) for dim in dims]
        if code == "S1" and "chars" in group.dimensions and self.chance(0.7):
            names.append("chars")
            shape.append(len(group.dimensions["chars"]))
        options = {}
        if code == "list":
            lists = group.vltypes.get("lists") or group.createVLType(self.pick(("i2", "f8")), "lists")
            variable = group.createVariable(name, lists, names)
            for index in np.ndindex(*shape):
                if self.chance(0.7):
                    variable[index] = self.values(lists.dtype.str[1:], int(self.random.integers(1, 4)))
            return
        if code != str and self.chance(0.3):
            options["fill_value"] = self.values(code, ())[()]
        if self.is_hdf5 and code != str and names:
            if self.chance(0.3):
                options |= {"zlib": True, "shuffle": self.chance(0.5), "fletcher32": self.chance(0.3)}
            if self.chance(0.2) and all(shape):
                options["chunksizes"] = [int(self.random.integers(1, length + 1)) for length in shape]
            options["endian"] = self.pick(["native", "big", "little"]) if code != "S1" else "native"
        variable = group.createVariable(name, code, names, **options)
        variable.set_auto_maskandscale(False)
        if code in NUMBERS:
            attributes = self.attributes(code)
            if options.get("endian") == "big":
                # xarray compares the bits of such fill values in the other order.
                attributes.pop("_Unsigned", None)
            variable.setncatts(attributes)
        values = self.values(code, shape)
        if 0 in shape or self.chance(0.1):
            return
        if not names:
            variable[...] = values
        elif self.chance(0.7):
            variable[tuple(slice(0, length) for length in shape)] = values
        else:
            # Some of the elements are never written.
            end = int(self.random.integers(0, shape[0])) + 1
            variable[(slice(0, end), *(slice(0, length) for length in shape[1:]))] = values[:end]


def plain(value):
    """A value that can be compared: NaN is equal to itself."""
    array = np.ma.asarray(value) if not isinstance(value, np.ma.MaskedArray) else value
    hidden = np.ma.getmaskarray(array)
    data = np.ma.getdata(array)
    if data.dtype.kind == "O":
        flat = [None if mask else np.asarray(one).tolist() for one, mask in zip(data.ravel(), hidden.ravel(), strict=True)]
    else:
        flat = [None if mask else one for one, mask in zip(data.ravel().tolist(), hidden.ravel().tolist(), strict=True)]
    return data.shape, [str(one) if isinstance(one, float) and one != one else one for one in flat]


def is_misread(group, variable):
    """Whether netCDF-C reads elements that were never written in the middle of a row: it puts all of them after the others."""
    dims = [found for name in variable.dimensions if (found := find_dimension(group, name)) is not None]
    return any(dim.isunlimited() for dim in dims[1:])


def find_dimension(group, name):
    """The dimension of a name in a group or above it."""
    while group is not None and name not in group.dimensions:
        group = group.parent
    return group.dimensions[name]


def elements(group, variable):
    """The elements, as netCDF4 reads them; one by one if it would misplace some."""
    read = variable[...]
    if not is_misread(group, variable) or 0 in variable.shape:
        return read
    ones = [variable[index] for index in np.ndindex(*variable.shape)]
    data = np.array([0 if one is np.ma.masked else np.ma.getdata(one)[()] for one in ones], np.ma.getdata(read).dtype)
    return np.ma.array(data, mask=[one is np.ma.masked for one in ones]).reshape(variable.shape)


def groups(group, path=""):
    """All groups, by their paths."""
    yield path, group
    for name, below in group.groups.items():
        yield from groups(below, f"{path}/{name}")


def check_elements(theirs, ours):
    """The variables and dimensions of a group."""
    for name, dim in theirs.dimensions.items():
        if name not in theirs.variables or name not in theirs.variables[name].dimensions:
            key = name if name not in theirs.variables else f"{name} (parameter)"
            assert ours[key] == len(dim), f"dimension {name}"
    for name, variable in theirs.variables.items():
        if isinstance(variable.datatype, netCDF4.VLType) or variable.dtype is str:
            continue
        # A fill value masks no characters but in xarray.
        variable.set_auto_mask(variable.dtype != "S1")
        try:
            wanted = elements(theirs, variable)
        except (TypeError, OverflowError, ValueError):
            # Marks that do not fit make netCDF4 fail.
            continue
        found = ours[name][...]
        if variable.dtype == "S1":
            found = np.ma.asarray(found)
            wanted = np.ma.getdata(wanted)
            if found.ndim < wanted.ndim:
                wanted = netCDF4.chartostring(wanted, encoding="none") if wanted.ndim else wanted
            assert np.asarray(found).tolist() == np.asarray(wanted).tolist(), name
            continue
        # The dtype of `masked` is that of no variable.
        same_type = np.ma.getdata(found).dtype.newbyteorder("=") == np.ma.getdata(wanted).dtype.newbyteorder("=")
        assert same_type or wanted is np.ma.masked, (name, found.dtype, wanted.dtype)
        assert plain(found) == plain(wanted), name


def check_datasets(path, group, how, misread):
    """The dataset that xarray makes of a group, of whose variables netCDF-C misreads some."""
    def opened(engine, **more):
        with xarray.open_dataset(path, engine=engine, group=group, **how, **more) as dataset:
            return dataset.load()

    def is_refused(name):
        try:
            opened("netcdf4", drop_variables=[other for other in misread if other != name])
        except Exception:
            return True
        return False

    drop = []
    for _ in range(20):
        try:
            theirs = opened("netcdf4", drop_variables=drop)
            break
        except Exception as error:
            # xarray cannot decode some marks, whichever engine reads them.
            refused = next((name for name in misread if name not in drop and is_refused(name)), None)
            if refused is None:
                raise AssertionError(f"{group}: {error}") from error
            drop.append(refused)
    if drop:
        # xarray joins characters along dimensions that other variables would have.
        drop += [name for name, variable in theirs.variables.items() if variable.dtype.kind in "SUO"]
        theirs = opened("netcdf4", drop_variables=drop)
    ours = opened("trilith", drop_variables=drop)
    assert set(ours.variables) == set(theirs.variables)
    assert set(ours.coords) == set(theirs.coords)
    assert dict(ours.sizes) == dict(theirs.sizes)
    assert ours.encoding["unlimited_dims"] <= theirs.encoding["unlimited_dims"]
    for name, wanted in theirs.variables.items():
        found = ours.variables[name]
        assert found.dims == wanted.dims, name
        assert found.dtype == wanted.dtype or wanted.dtype.kind == "O" or found.dtype.kind == "O", (name, found.dtype, wanted.dtype)
        assert misread[name] or plain(found.values) == plain(wanted.values), name
        assert set(found.attrs) == set(wanted.attrs), name
        for key, value in {**wanted.attrs, **{key: wanted.encoding[key] for key in MARKS if key in wanted.encoding}}.items():
            mine = found.attrs.get(key, found.encoding.get(key))
            assert plain(mine) == plain(value), (name, key, mine, value)
            if key in (*MARKS, "scale_factor", "add_offset"):
                assert np.asarray(mine).dtype == np.asarray(value).dtype, (name, key)


def check_file(number, path):
    """A generated file."""
    made = Generator(number)
    made.write(path)
    try:
        found = {}
        with netCDF4.Dataset(path) as theirs, trilith.open(path) as ours:
            for place, group in groups(theirs):
                check_elements(group, ours[place.strip("/")] if place else ours)
                found[place] = {name: is_misread(group, variable) for name, variable in group.variables.items()}
        # netCDF-C crashes if a file with lists is open twice.
        for place, misread in found.items():
            for how in ({}, {"decode_cf": False}):
                check_datasets(path, place or None, how, misread)
    except Exception as error:
        raise AssertionError(f"file {number}, {made.format}: {error}") from error
    path.unlink()


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.filterwarnings("ignore")
def test_generated_files_equal_netcdf4(tmp_path, part):
    for number in range(part, FILES, PARTS):
        check_file(number, tmp_path / f"{number}.nc")
