"""Random TIFF files of tifffile and GDAL: types, compressions, strips and tiles, planes, byte orders, numbers of no data, scales and
masks. Their values and masks are those that the peers read.

`cargo xtask campaign tiff --cases 700` makes more files than the default. In the rest of the tests.
"""

import os
import unittest

import numpy as np
import peer
import rasterio
import tifffile

FILES = int(os.environ.get("TRILITH_CAMPAIGN", "80"))
SEED = int(os.environ.get("TRILITH_CAMPAIGN_SEED", "0"))
CODES = ("u1", "i1", "u2", "i2", "u4", "i4", "f4", "f8")
COMPRESSIONS = (None, "lzw", "deflate", "zstd", "packbits")


def pixels(random, code, shape):
    """Numbers of which some are in each file: 5 may be that of no data."""
    data = random.integers(0, 9, shape).astype(code)
    if data.dtype.kind != "f":
        data.flat[random.integers(data.size)] = np.iinfo(code).max
    elif random.random() < 0.3:
        data.flat[random.integers(data.size)] = np.nan
    return data


def by_tifffile(random, path):
    """A file of tifffile, and its stored values."""
    code, is_planar = str(random.choice(CODES)), random.random() < 0.3
    height, width = (int(n) for n in random.integers(1, 60, 2))
    samples = int(random.choice([1, 1, 2, 3, 5]))
    shape = (height, width) if samples == 1 else (samples, height, width) if is_planar else (height, width, samples)
    options = {"photometric": "minisblack", "metadata": None, "bigtiff": bool(random.random() < 0.3)}
    if samples > 1:
        options["planarconfig"] = "separate" if is_planar else "contig"
        options["extrasamples"] = [0] * (samples - 1)
    compression = random.choice(COMPRESSIONS)
    if compression is not None:
        options |= {"compression": compression, "predictor": bool(compression != "packbits" and random.random() < 0.5)}
    if random.random() < 0.4:
        options["tile"] = (16, 32)
    elif random.random() < 0.7:
        options["rowsperstrip"] = int(random.integers(1, height + 1))
    nodata = "5" if random.random() < 0.4 else None
    if nodata is not None:
        options["extratags"] = [(42113, "s", 0, nodata, True)]
    data = pixels(random, code, shape)
    tifffile.imwrite(path, data, byteorder=str(random.choice(["<", ">"])), **options)
    found = tifffile.imread(path)
    np.testing.assert_array_equal(found, data)
    values = np.ma.array(found, mask=found == 5 if nodata else False)
    return [values], options | {"dtype": code, "shape": shape}


def by_gdal(random, path):
    """A file of GDAL, with the physical values of its image and of the smaller versions."""
    bits = int(random.choice([0, 0, 0, 0, 1, 4, 12, 20, 24]))
    code = str(random.choice(CODES)) if bits == 0 else "u1" if bits < 8 else "u2" if bits < 16 else "u4"
    count, height, width = (int(n) for n in random.integers([1, 20, 20], [4, 90, 90]))
    data = pixels(random, code, (count, height, width)) if bits == 0 else random.integers(0, 1 << bits, (count, height, width)).astype(code)
    options = {"interleave": str(random.choice(["pixel", "band"])), "endianness": str(random.choice(["little", "big"]))}
    compression = random.choice(COMPRESSIONS)
    if compression is not None:
        options["compress"] = compression
        if bits == 0 and compression != "packbits" and random.random() < 0.5:
            options["predictor"] = 3 if code[0] == "f" else 2
    if random.random() < 0.4:
        options |= {"tiled": True, "blockxsize": 16, "blockysize": 32}
    if bits:
        options["nbits"] = bits
    nodata = 5 if random.random() < 0.4 and bits in (0, 12, 20, 24) else None
    affine = {"crs": "EPSG:32632", "transform": rasterio.transform.from_origin(5e5, 6e6, 10, 10)}
    size = {"count": count, "height": height, "width": width, "dtype": np.dtype(code).name, "nodata": nodata}
    is_masked, has_levels, is_scaled = random.random(3) < [0.4, 0.3, 0.4]
    with rasterio.Env(GDAL_TIFF_INTERNAL_MASK=True):
        with rasterio.open(path, "w", driver="GTiff", **size, **affine, **options) as file:
            file.write(data)
            if is_scaled:
                file.scales = tuple(float(n) for n in random.choice([1, 0.5, 0.001], count))
                file.offsets = tuple(float(n) for n in random.choice([0, 2, -7.5], count))
            if is_masked:
                file.write_mask(random.random((height, width)) < 0.7)
        if has_levels:
            with rasterio.open(path, "r+") as file:
                file.build_overviews([2, 4])
    wanted = []
    for level in range(3 if has_levels else 1):
        with rasterio.open(path, **({"overview_level": level - 1} if level else {})) as file:
            read = file.read(masked=True)
        with rasterio.open(path) as file:
            scale, offset = (np.reshape(each, (count, 1, 1)) for each in (file.scales, file.offsets))
        values = read if (scale == 1).all() and (offset == 0).all() else read.astype("f8") * scale + offset
        # One band has no axis of samples.
        wanted.append(values[0] if count == 1 else values if options["interleave"] == "band" else np.moveaxis(values, 0, -1))
    return wanted, options | size | {"mask": bool(is_masked), "levels": bool(has_levels), "scaled": bool(is_scaled)}


class GeneratedTiff(unittest.TestCase):
    def test_values_and_masks_equal_peers(self):
        random = np.random.default_rng(SEED)
        with peer.tempfile.TemporaryDirectory() as folder:
            for number in range(FILES):
                path = f"{folder}/{number}.tif"
                wanted, said = (by_tifffile, by_gdal)[number % 2](random, path)
                with self.subTest(number=number, **{name: str(value) for name, value in said.items()}):
                    self.compare(path, wanted)
                os.remove(path)

    def compare(self, path, wanted):
        names = [name for name in peer.trilith_json("tree", path) if "@" not in name]
        self.assertEqual(len(names), len(wanted), names)
        for name, values in zip(names, wanted, strict=True):
            masked = np.ma.getmaskarray(values)
            ours = np.array(peer.trilith_json("get", f"{path}#/{name}"), dtype=object)
            self.assertEqual(ours.shape, values.shape)
            np.testing.assert_array_equal(np.equal(ours, None), masked)
            numbers = np.where(masked, 0, ours).astype(values.dtype)
            np.testing.assert_allclose(numbers, np.where(masked, 0, values.data), rtol=1e-12, equal_nan=True)
