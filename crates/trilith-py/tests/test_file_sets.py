"""Sets of files that a simulation wrote: `trilith.open_set`, and raw files.

Rest; `cargo xtask campaign sets` takes more of the random ones.
"""

import ctypes
import os
import pickle
import random
import subprocess

import numpy as np
import pytest

import trilith

PARTICLE = np.dtype([("w", "<f8"), ("id", "<i8")])
LAYOUT = "<\n{ np : i8 time = f8  ## (s) simulation time\n}\nrho = f8[np, 2]\np = {w = f8  ## weight (kg)\n id = i8}[np]  ## particles\n"
COUNTS = (3, 0, 1, 2)
CASES = int(os.environ.get("TRILITH_CAMPAIGN", "12"))
SEEDS = range(int(os.environ.get("TRILITH_CAMPAIGN_SEED", "0")) * 100_000, int(os.environ.get("TRILITH_CAMPAIGN_SEED", "0")) * 100_000 + CASES)


@pytest.fixture
def dumps(tmp_path):
    """A catalog of raw files, and the particles of each."""
    particles = []
    for number, count in enumerate(COUNTS):
        records = np.zeros(count, PARTICLE)
        records["w"], records["id"] = np.arange(count) + number, 2**53 + 1 + number
        rho = np.arange(2.0 * count) + 10 * number
        head = np.array([count], "<i8").tobytes() + np.array([number], "<f8").tobytes()
        (tmp_path / f"dump_{number}.dat").write_bytes(head + rho.tobytes() + records.tobytes())
        particles.append(records)
    trilith.Layout(LAYOUT).catalog(tmp_path / "dump_*.dat", tmp_path / "c.bd")
    return tmp_path / "c.bd", particles


def test_shapes_of_a_set(dumps):
    path, particles = dumps
    with pytest.raises(KeyError, match="has the shape"):
        trilith.open_set(path)["p"]
    padded = trilith.open_set(path, shape="pad")
    for name in ("w", "id"):
        for values in (padded["p"][...][name], padded[f"p.{name}"][...]):
            assert values.dtype == PARTICLE[name] and values.shape == (4, 3)
            for row, expected in zip(values, particles):
                np.testing.assert_array_equal(row.compressed(), expected[name])
    joined = trilith.open_set(path, shape="along=np")
    np.testing.assert_array_equal(joined["p"][...], np.concatenate(particles))
    np.testing.assert_array_equal(joined["p.id"][...], np.concatenate(particles)["id"])
    each = trilith.open_set(path, shape="each")
    assert len(each["p.w"]) == len(each["p"]) == 4
    for number, expected in enumerate(particles):
        np.testing.assert_array_equal(each["p"][number][...], expected)
        np.testing.assert_array_equal(each["p.w"][number][...], expected["w"])
        np.testing.assert_array_equal(each["p.id"][number - 4][...], expected["id"])
        assert each["rho"][number].shape == (COUNTS[number], 2)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(each["p.w"][3]))[...], particles[3]["w"])
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(padded["p"]))[...].mask["w"], padded["p"][...].mask["w"])
    with pytest.raises(IndexError):
        each["p"][4]


def test_choice_of_files(dumps):
    path, particles = dumps
    assert trilith.open_set(path, files=slice(2, 4), shape="pad")["p"].shape == (2, 2)
    assert trilith.open_set(path, files=[0, "2:3"], shape=["pad"])["time"][...].tolist() == [0, 2]
    found = trilith.open_set(path, where="time > 1.5", shape="along=np")
    np.testing.assert_array_equal(found["p.w"][...], np.concatenate(particles[2:])["w"])
    with pytest.raises(ValueError, match="shape"):
        trilith.open_set(path, shape="padded")
    with pytest.raises(ValueError, match="catalog"):
        trilith.open_set(path.parent / "dump_0.dat", layout=LAYOUT)
    # The catalog as the file that it is.
    names = trilith.open(path).tree["files"][...].astype(str)
    assert names.tolist() == [f"dump_{number}.dat" for number in range(4)]


def test_old_arguments_of_open_warn(dumps):
    path, _ = dumps
    for old in ({"files": "pad"}, {"where": "time > 1"}, {"family": True, "files": ["pad"]}):
        with pytest.warns(DeprecationWarning, match="open_set"):
            assert trilith.open(path, **old)["time"].shape[0] in (2, 4)


def test_sets_in_xarray(dumps):
    xarray = pytest.importorskip("xarray")
    path, particles = dumps
    for options in ({}, {"chunks": {}}):
        dataset = xarray.open_dataset(path, engine="trilith", shape="pad", **options)
        assert dataset["np_length"].values.tolist() == list(COUNTS) and "np_length" in dataset.coords
        assert dataset["time"].attrs["units"] == "s" and "simulation time" in dataset["time"].attrs["long_name"]
        assert dataset["p.w"].attrs == {"units": "kg", "long_name": "weight (kg)"} and dataset["p.id"].attrs == {}
        assert float(dataset["p.w"].mean()) == np.concatenate(particles)["w"].mean()
        assert [value for value in dataset["p.id"].values.ravel() if value == value] == np.concatenate(particles)["id"].tolist()
        assert np.isnan(dataset["rho"].values).sum() == 2 * (3 * 4 - sum(COUNTS))
    with pytest.warns(UserWarning, match="p is left out: its shape differs between the files"):
        assert "p" not in xarray.open_dataset(path, engine="trilith", shape="each")
    joined = xarray.open_dataset(path, engine="trilith", shape="along=np", where="time >= 2")
    np.testing.assert_array_equal(joined["p"].values["id"], np.concatenate(particles[2:])["id"])


def test_raw_files_are_those_of_the_program(tmp_path):
    class Header(ctypes.Structure):
        _fields_ = [("n", ctypes.c_int32), ("time", ctypes.c_double), ("flag", ctypes.c_int8)]

    class Particle(ctypes.Structure):
        _fields_ = [("w", ctypes.c_double), ("k", ctypes.c_int16)]

    layout = trilith.Layout("<\n{ n : i4  time = f8  flag = i1  _pad = u1[7] }\np = { w = f8 k = i2 }[n]\n")
    particles = (Particle * 2)(Particle(1.5, 7), Particle(2.5, 8))
    expected = bytes(Header(2, 0.25, -1)) + bytes(particles)
    values = {"n": 2, "time": np.float64(0.25), "flag": np.int8(-1), "_pad": np.zeros(7, "u1")}
    records = np.zeros(2, [("w", "f8"), ("k", "i2")])
    records["w"], records["k"] = [1.5, 2.5], [7, 8]
    layout.write(tmp_path / "r.dat", values, p=records, raw=True)
    assert (tmp_path / "r.dat").read_bytes() == expected
    with trilith.open(tmp_path / "r.dat", layout=layout) as f:
        np.testing.assert_array_equal(f["p"][...]["k"], [7, 8])


@pytest.mark.parametrize("seed", SEEDS)
def test_random_raw_files_match_numpy(tmp_path, seed):
    rng = random.Random(seed)
    order = rng.choice("<>")
    text, parts, values = f"{order}\n{{ n : i4  m : i8 %1 }}\n", [], {"n": rng.randrange(4), "m": rng.randrange(1, 4)}
    parts.append(np.array(values["n"], order + "i4").tobytes() + np.array(values["m"], order + "i8").tobytes())
    for number in range(rng.randrange(1, 6)):
        dims = [rng.choice(["n", "m", "2"]) for _ in range(rng.randrange(3))]
        shape = [values.get(dim, 2) for dim in dims]
        dtype = np.dtype(rng.choice(["i1", "u2", "i4", "u8", "f4", "f8", "c8", "c16"])).newbyteorder(order)
        raw = np.random.default_rng(seed + number).integers(0, 100, size=(*shape, dtype.itemsize), dtype="u1")
        array = np.ascontiguousarray(raw).view(dtype).reshape(shape)
        name = f"x{number}"
        text += f"{name} = {dtype.str[1:]}" + (f"[{', '.join(dims)}]" if dims else "") + " %1\n"
        values[name] = array
        parts.append(array.tobytes())
    layout = trilith.Layout(text)
    layout.write(tmp_path / "r.dat", values, raw=True)
    assert (tmp_path / "r.dat").read_bytes() == b"".join(parts), text


RECORD = np.dtype([("a", "i2"), ("b", "f8")])
MAGIC = 0x54524C54


class RandomSet:
    """Raw files of random counts: with 0 elements, ragged, in several byte orders, and with counts after the first array."""

    def __init__(self, folder, seed):
        rng = random.Random(seed)
        self.rng, self.path = rng, folder / "c.bd"
        self.axes = rng.choice([("n",), ("n", "3"), ("2", "n")])
        self.is_late, self.is_mixed = rng.random() < 0.4, rng.random() < 0.4
        self.orders = [rng.choice("<>") for _ in range(rng.randrange(2, 6))]
        if not self.is_mixed:
            self.orders = self.orders[:1] * len(self.orders)
        self.x, self.q, self.files = [], [], []
        for number, order in enumerate(self.orders):
            count, late = rng.randrange(4), rng.randrange(4)
            shape = [count if axis == "n" else int(axis) for axis in self.axes]
            self.x.append(2**62 + np.arange(np.prod(shape), dtype="i8").reshape(shape))
            self.q.append(np.array([(k - 2, k / 2) for k in range(late if self.is_late else count)], RECORD))
            words = [(MAGIC, "u4"), (count, "i2"), (number, "f4")]
            parts = [np.array(value, order + kind).tobytes() for value, kind in words] + [self.x[-1].astype(order + "i8").tobytes()]
            if self.is_late:
                parts.append(np.array(late, order + "i4").tobytes())
            parts.append(self.q[-1].astype(RECORD.newbyteorder(order)).tobytes())
            self.files.append(folder / f"r{number}.dat")
            self.files[-1].write_bytes(b"".join(parts))
        self.layout = trilith.Layout(self.text())
        self.layout.catalog(folder / "r*.dat", self.path)

    def text(self):
        order = "" if self.is_mixed else self.orders[0]
        expected, dims = f"#: expect_value={MAGIC}", ", ".join(self.axes)
        if not self.is_late:
            head = f"{order}\n{{ magic = u4 {expected}\n n : i2 %1  time = f4 %1 }}\n"
            return head + f"x = i8[{dims}] %1\nq = {{ a = i2 b = f8 %1 }}[n] %1\n"
        text = f"magic: ORDERu4 {expected}\nn = ORDERi2 %1  time: ORDERf4 %1\nx: ORDERi8({dims}) %1\nm = ORDERi4 %1\n"
        return (text + "q: { a: ORDERi2 b: ORDERf8 %1 }(m) %1\n").replace("ORDER", order)

    def items(self):
        """The items and members with the arrays of the files, and the axis whose length differs."""
        length = "m" if self.is_late else "n"
        yield "x", self.x, "n", self.axes.index("n")
        yield "q", self.q, length, 0
        yield "q.b", [records["b"] for records in self.q], length, 0


def values(found):
    return found[...] if isinstance(found, trilith.Array) else found


def check_padded(found, expected):
    """Compares one row for each file, None for a file that is missing, with the arrays of the files."""
    for row, one in zip(found, expected):
        if one is None:
            assert np.ma.count(row) == 0 if row.dtype.names is None else all(row.mask[name].all() for name in row.dtype.names)
            continue
        box = row[tuple(slice(0, length) for length in one.shape)]
        np.testing.assert_array_equal(np.asarray(box), one)
        if one.dtype.names is None:
            assert not np.ma.getmaskarray(box).any() and np.ma.count(row) == one.size


@pytest.mark.parametrize("seed", SEEDS)
def test_random_sets_match_numpy(tmp_path, seed):
    made = RandomSet(tmp_path, seed)
    each = trilith.open_set(made.path, shape="each")
    padded = trilith.open_set(made.path, shape="pad")
    assert each["time"][...].tolist() == list(range(len(made.files)))
    for name, expected, length, axis in made.items():
        for found, one in zip(each[name], expected):
            np.testing.assert_array_equal(values(found), one)
        if any(one.size for one in expected):
            along = trilith.open_set(made.path, shape=f"along={length}")
            np.testing.assert_array_equal(along[name][...], np.concatenate(expected, axis))
            check_padded(padded[name][...], expected)
    check_files(made)
    check_xarray(made)
    check_command(made)
    check_damage(made)


def check_files(made):
    """Each file by itself, in the byte order that it has."""
    for path, order, x, q in zip(made.files, made.orders, made.x, made.q):
        with trilith.open(path, layout=made.layout, byteorder="big" if order == ">" else "little") as file:
            np.testing.assert_array_equal(values(file["x"]), x)
            np.testing.assert_array_equal(values(file["q"]), q)


def check_xarray(made):
    xarray = pytest.importorskip("xarray")
    for options in ({}, {"chunks": {}}) if any(x.size for x in made.x) else ():
        with xarray.open_dataset(made.path, engine="trilith", shape="pad", **options) as dataset:
            for row, one in zip(dataset["x"].values, made.x):
                found = [value for value in row.ravel().tolist() if value is not None and value == value]
                assert found == one.ravel().tolist()
            if any(q.size for q in made.q):
                # Without a mask, records are one variable.
                members = dataset["q.b"].values if "q.b" in dataset.variables else dataset["q"].values["b"]
                for row, one in zip(members, made.q):
                    np.testing.assert_array_equal(row[: len(one)], one["b"])
                    assert np.isnan(row[len(one) :]).all()


def run_command(*words, status=0):
    program = os.environ.get("TRILITH_BIN")
    if program is None:
        pytest.skip("TRILITH_BIN is not set")
    ended = subprocess.run([program, *map(str, words)], capture_output=True, text=True, check=False)
    assert ended.returncode == status, f"{words}: {ended.stdout}{ended.stderr}"
    return ended.stdout + ended.stderr


def check_command(made):
    run_command("verify", made.path)
    run_command("layout", "catalog", "--check", made.path, made.path)
    target = made.path.parent / "out.npy"
    for name, expected, length, axis in made.items():
        if any(one.size for one in expected):
            run_command("get", f"{made.path}#/{name}", "--files", f"along={length}", "-o", target, "--overwrite")
            np.testing.assert_array_equal(np.load(target), np.concatenate(expected, axis))
            number = next(number for number, one in enumerate(expected) if one.size)
            run_command("get", f"{made.path}#/{name}", "--files", f"{number}:{number + 1}", "-o", target, "--overwrite")
            np.testing.assert_array_equal(np.load(target)[0], expected[number])


def check_damage(made):
    """A file that is missing is masked, and one that is cut off is named."""
    number = made.rng.randrange(len(made.files))
    others = [one for at, one in enumerate(made.x) if at != number]
    content = made.files[number].read_bytes()
    made.files[number].write_bytes(content[: made.rng.randrange(len(content))])
    assert made.files[number].name in run_command("layout", "catalog", "--check", made.path, made.path, status=1)
    assert made.files[number].name in run_command("verify", made.path, status=1)
    made.files[number].unlink()
    assert made.files[number].name in run_command("verify", made.path, status=1)
    if any(one.size for one in others):
        expected = [None if at == number else one for at, one in enumerate(made.x)]
        check_padded(trilith.open_set(made.path, shape="pad")["x"][...], expected)


def test_raw_files_grow_under_their_layout(tmp_path):
    layout = trilith.Layout("< { n : i4 }\nx = f8[n, 2] %1\n")
    layout.write(tmp_path / "r.dat", n=1, x=np.ones((1, 2)), raw=True)
    with trilith.open(tmp_path / "r.dat", layout=layout) as f:
        f.append("x", np.array([[2.0, 3.0], [4.0, 5.0]]))
        assert f["x"].shape == (3, 2)
    expected = np.array(3, "<i4").tobytes() + np.array([1, 1, 2, 3, 4, 5], "<f8").tobytes()
    assert (tmp_path / "r.dat").read_bytes() == expected
    with trilith.open(tmp_path / "r.dat", layout=layout) as f, pytest.raises(NotImplementedError, match="append"):
        f.extend({"y": np.ones(2)})
    assert (tmp_path / "r.dat").read_bytes() == expected


@pytest.mark.parametrize("order", ["little", "big"])
def test_elements_of_raw_files_are_set_in_place(tmp_path, order):
    layout = trilith.Layout("{ n : i4  time = f8 %1  k = u2 %1 }\nx = f4[n, 2] %1\np = { a = i2  b = f8 %1 }[n] %1\n")
    path, records = tmp_path / "r.dat", np.array([(1, 2.5), (3, 4.5)], [("a", "i2"), ("b", "f8")])
    head = {"n": 2, "time": np.float64(0.5), "k": np.uint16(7)}
    layout.write(path, head, x=np.ones((2, 2), "f4"), p=records, raw=True, byteorder=order)
    with trilith.open(path, layout=layout, byteorder=order) as f:
        f["time"] = 2.5
        f.set("k", 65535)
        f["x"] = np.full((2, 2), 3, "f4")
        f.set("/p", records[::-1].copy())
        assert f["x"][0, 0] == 1
        f.update()
        assert float(f["time"][...]) == 2.5 and int(f["k"][...]) == 65535 and f["x"][0, 0] == 3
        np.testing.assert_array_equal(f["p"][...], records[::-1])
    head.update(time=np.float64(2.5), k=np.uint16(65535))
    layout.write(tmp_path / "e.dat", head, x=np.full((2, 2), 3, "f4"), p=records[::-1].copy(), raw=True, byteorder=order)
    assert path.read_bytes() == (tmp_path / "e.dat").read_bytes()
    for key, value, error in (
        ("n", 1, NotImplementedError),
        ("x", 1.0, NotImplementedError),
        ("x", np.ones((3, 2), "f4"), ValueError),
        ("x", np.ones((2, 2)), ValueError),
        ("k", 65536, ValueError),
    ):
        with trilith.open(path, layout=layout, byteorder=order) as f:
            with pytest.raises(error):
                f[key] = value
            f.update()
    with trilith.open(path, layout=layout, byteorder=order) as f:
        for edit in (lambda: f.set("y", 1), lambda: f.delete("x"), lambda: f.rename("x", "y")):
            with pytest.raises(NotImplementedError):
                edit()
    assert path.read_bytes() == (tmp_path / "e.dat").read_bytes()


def test_catalogs_of_the_package_are_sorted_and_warn(tmp_path):
    layout = trilith.Layout("< { n : i4  time = f8 %1 }\nx = f8[n] %1\n")
    for number, time in ((1, 3.0), (2, 1.0), (10, 2.0)):
        layout.write(tmp_path / f"r{number}.dat", n=1, time=np.float64(time), x=np.ones(1), raw=True)
    with pytest.warns(UserWarning, match="time does not increase"):
        layout.catalog(tmp_path / "r*.dat", tmp_path / "c.bd")
    assert trilith.open_set(tmp_path / "c.bd")["time"][...].tolist() == [3, 1, 2]
    layout.catalog(tmp_path / "r*.dat", tmp_path / "s.bd", sort="time")
    assert trilith.open_set(tmp_path / "s.bd").files == ["r2.dat", "r10.dat", "r1.dat"]
    # A catalog is verified with its files, however it is opened.
    os.truncate(tmp_path / "r10.dat", 14)
    for opened in (trilith.open(tmp_path / "s.bd"), trilith.open_set(tmp_path / "s.bd")):
        assert ["r10.dat" in problem for problem in opened.verify()] == [True]
    (tmp_path / "r10.dat").unlink()
    assert ["r10.dat" in problem for problem in trilith.open(tmp_path / "s.bd").verify()] == [True]
    for options in ({"sort": "x"}, {"sort": "y"}, {"sort": "time", "add": True}):
        with pytest.raises((ValueError, KeyError)):
            layout.catalog(tmp_path / "r*.dat", tmp_path / "s.bd", **options)


def test_histories_without_a_count(tmp_path):
    layout = trilith.Layout("< { time = f8 }\nn : 1\nx = f8[n, 2]\n")
    counts = (3, 0, 1)
    for number, count in enumerate(counts):
        (tmp_path / f"h{number}.dat").write_bytes(np.arange(number, number + 1 + 2.0 * count, dtype="<f8").tobytes())
    layout.catalog(tmp_path / "h*.dat", tmp_path / "c.bd", params={"n": "fill"})
    expected = [np.arange(number + 1, number + 1 + 2.0 * count).reshape(count, 2) for number, count in enumerate(counts)]
    each = trilith.open_set(tmp_path / "c.bd", shape="each")
    for found, one in zip(each["x"], expected):
        np.testing.assert_array_equal(values(found), one)
    along = trilith.open_set(tmp_path / "c.bd", shape="along=n")
    np.testing.assert_array_equal(along["x"][...], np.concatenate(expected))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(along["x"]))[...], np.concatenate(expected))
    # The counts are an item of the set, which conditions know.
    assert [each["n"].tolist(), along["n"].tolist()] == [list(counts)] * 2
    assert trilith.open_set(tmp_path / "c.bd", shape="each", where="n > 0")["n"].tolist() == [3, 1]
    # A catalog without these values gets them when it is opened.
    layout.catalog([tmp_path / "h0.dat", tmp_path / "h2.dat"], tmp_path / "plain.bd")
    assert trilith.open_set(tmp_path / "plain.bd")["x"].shape == (2, 1, 2)
    filled = trilith.open_set(tmp_path / "plain.bd", shape="each", params={"n": "fill"})
    assert [x.shape for x in filled["x"]] == [(3, 2), (1, 2)]
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(filled["x"][0]))[...], expected[0])
    assert trilith.open_set(tmp_path / "plain.bd", params={"n": 0})["time"].shape == (2,)
    for params, message in (({"m": 1}, "no parameter m"), ({"time": 1}, "no parameter time"), ({"n": -2}, "-2")):
        with pytest.raises((ValueError, KeyError), match=message):
            trilith.open_set(tmp_path / "plain.bd", params=params)["x"]
    with pytest.raises(TypeError, match="fill"):
        trilith.open_set(tmp_path / "plain.bd", params={"n": "all"})
    xarray = pytest.importorskip("xarray")
    with xarray.open_dataset(tmp_path / "plain.bd", engine="trilith", shape="along=n", params={"n": "fill"}) as dataset:
        np.testing.assert_array_equal(dataset["x"].values, np.concatenate(expected))
        np.testing.assert_array_equal(dataset.coords["n_length"].values, [3, 1])


def test_byte_orders_are_found_by_size_or_refused(tmp_path):
    layout = trilith.Layout("{ n : i4  time = f4 }\nx = f8[n]\nq = { a = i2  b = f4 %1 }[n]\n")
    record = np.dtype([("a", "i2"), ("b", "f4")], align=False)
    for number, order in enumerate("<><"):
        q = np.array([(1, 2.5), (3, 4.5)], record).astype(record.newbyteorder(order))
        # The alignment of the struct is that of its first member.
        head = np.array(2, order + "i4").tobytes() + np.array(number, order + "f4").tobytes()
        (tmp_path / f"r{number}.dat").write_bytes(head + np.array([1.0, number], order + "f8").tobytes() + q.tobytes())
    layout.catalog(tmp_path / "r*.dat", tmp_path / "c.bd")
    found = trilith.open_set(tmp_path / "c.bd")
    assert found["time"][...].tolist() == [0, 1, 2]
    assert found["x"][...].tolist() == [[1, 0], [1, 1], [1, 2]]
    for name in ("a", "b"):
        assert found["q"][...][name].tolist() == found[f"q.{name}"][...].tolist() == [q.astype(record)[name].tolist()] * 3
    np.testing.assert_array_equal(found["q"][1:, 1]["b"], [4.5, 4.5])
    # Without elements the file has one size in both orders.
    (tmp_path / "r3.dat").write_bytes(np.array([0, 0], "<i4").tobytes())
    with pytest.raises(ValueError, match="r3.dat: it fits its layout in both byte orders"):
        layout.catalog(tmp_path / "r*.dat", tmp_path / "d.bd")
    (tmp_path / "r3.dat").write_bytes(np.array([5, 0], "<i4").tobytes())
    with pytest.raises(ValueError, match="r3.dat: it fits its layout in neither byte order"):
        layout.catalog(tmp_path / "r*.dat", tmp_path / "d.bd")
