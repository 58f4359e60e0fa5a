"""Sets of files that a simulation wrote: `trilith.open_set`, and raw files.

Rest; `cargo xtask campaign sets` takes more of the random ones.
"""

import ctypes
import os
import pickle
import random

import numpy as np
import pytest

import trilith

PARTICLE = np.dtype([("w", "<f8"), ("id", "<i8")])
LAYOUT = "<\n{ np : i8 time = f8  ## (s) simulation time\n}\nrho = f8[np, 2]\np = {w = f8 id = i8}[np]\n"
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
        assert float(dataset["p.w"].mean()) == np.concatenate(particles)["w"].mean()
        assert [value for value in dataset["p.id"].values.ravel() if value == value] == np.concatenate(particles)["id"].tolist()
        assert np.isnan(dataset["rho"].values).sum() == 2 * (3 * 4 - sum(COUNTS))
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


@pytest.mark.parametrize("seed", SEEDS)
def test_random_sets_match_numpy(tmp_path, seed):
    rng = random.Random(seed)
    axes = rng.choice([("n",), ("n", "3"), ("2", "n")])
    layout = trilith.Layout(f"<\n{{ n : i2  time = f4 }}\nx = i8[{', '.join(axes)}] %1\nq = {{ a = i2 b = f8 %1 }}[n] %1\n")
    record = np.dtype([("a", "<i2"), ("b", "<f8")])
    arrays, records = [], []
    for number in range(rng.randrange(2, 6)):
        count = rng.randrange(4)
        shape = [count if axis == "n" else int(axis) for axis in axes]
        arrays.append(2**62 + np.arange(np.prod(shape), dtype="<i8").reshape(shape))
        records.append(np.array([(k, k / 2) for k in range(count)], record))
        head = np.array([count], "<i2").tobytes() + b"\0\0" + np.array([number], "<f4").tobytes()
        (tmp_path / f"r{number}.dat").write_bytes(head + arrays[-1].tobytes() + records[-1].tobytes())
    layout.catalog(tmp_path / "r*.dat", tmp_path / "c.bd")
    each = trilith.open_set(tmp_path / "c.bd", shape="each")
    along = trilith.open_set(tmp_path / "c.bd", shape="along=n")
    for name, expected in (("x", arrays), ("q", records), ("q.b", [one["b"] for one in records])):
        for found, one in zip(each[name], expected):
            np.testing.assert_array_equal(found[...] if isinstance(found, trilith.Array) else found, one)
        axis = axes.index("n") if name == "x" else 0
        if any(one.size for one in expected):
            np.testing.assert_array_equal(along[name][...], np.concatenate(expected, axis))
            padded = trilith.open_set(tmp_path / "c.bd", shape="pad")[name][...]
            for found, one in zip(padded, expected):
                box = found[tuple(slice(0, length) for length in one.shape)]
                np.testing.assert_array_equal(np.asarray(box), one)
                assert not np.ma.getmaskarray(box).any() if one.dtype.names is None else True
                assert np.ma.count(found) == one.size if one.dtype.names is None else True


def test_raw_files_grow_under_their_layout(tmp_path):
    layout = trilith.Layout("< { n : i4 }\nx = f8[n, 2] %1\n")
    layout.write(tmp_path / "r.dat", n=1, x=np.ones((1, 2)), raw=True)
    with trilith.open(tmp_path / "r.dat", layout=layout) as f:
        f.append("x", np.array([[2.0, 3.0], [4.0, 5.0]]))
        assert f["x"].shape == (3, 2)
    expected = np.array(3, "<i4").tobytes() + np.array([1, 1, 2, 3, 4, 5], "<f8").tobytes()
    assert (tmp_path / "r.dat").read_bytes() == expected
    with trilith.open(tmp_path / "r.dat", layout=layout) as f, pytest.raises((ValueError, NotImplementedError)):
        f.extend({"y": np.ones(2)})
    assert (tmp_path / "r.dat").read_bytes() == expected
