"""TIFF files of tifffile and Pillow: every compression, predictor, type, byte order and arrangement that is read, and by name
what is not."""

import itertools
import json

import asdf
import numpy as np
from peer import Case, expected, sha256, trilith, trilith_json

try:
    import imagecodecs  # noqa: F401
    import tifffile
except ImportError:
    tifffile = None
from PIL import Image

CODES = ["u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f2", "f4", "f8"]
COMPRESSIONS = [None, "lzw", "deflate", "adobe_deflate", "packbits", "zstd"]
#: What the axes are, and what tifffile is told of them.
FORMS = {
    "grey": ((37, 45), {"photometric": "minisblack"}),
    "one row": ((1, 45), {"photometric": "minisblack", "rowsperstrip": 1}),
    "color": ((20, 33, 3), {"photometric": "rgb", "planarconfig": "contig"}),
    "planes": ((3, 20, 33), {"photometric": "rgb", "planarconfig": "separate"}),
}
CUTS = {"strip": {}, "strips": {"rowsperstrip": 7}, "tiles": {"tile": (16, 32)}}


def pixels(code, shape, seed=5):
    """A smooth image with some noise, so that codecs have repetitions and differences go both ways."""
    random = np.random.default_rng(seed)
    numbers = np.add.outer(np.arange(shape[0]) * 3, np.arange(int(np.prod(shape[1:])))).reshape(shape) % 100
    return (numbers + random.integers(0, 3, shape)).astype(code)


def written(folder):
    """Files, and the arrays that are in each."""
    cuts = itertools.cycle(CUTS)
    for code, compression, form, order in itertools.product(CODES, COMPRESSIONS, FORMS, "<>"):
        shape, how = FORMS[form]
        data = pixels(order + code, shape)
        can_predict = compression not in (None, "packbits") and code not in ("u8", "i8")
        for predictor in (False, True) if can_predict else (False,):
            cut = next(cuts)
            how = {key: value for key, value in {**how, **CUTS[cut]}.items() if cut != "tiles" or key != "rowsperstrip"}
            name = f"{code}-{compression}-{form}-{'big' if order == '>' else 'little'}-{predictor}-{cut}.tif"
            tifffile.imwrite(
                folder / name, data, byteorder=order, bigtiff=len(name) % 2 == 0, compression=compression, predictor=predictor, metadata=None, **how
            )
            yield folder / name, {"image": data}


class Tiff(Case):
    maxDiff = None

    def setUp(self):
        super().setUp()
        if tifffile is None:
            self.skipTest("tifffile and imagecodecs are not installed")

    def digests(self, files):
        listed = "".join(f"{path}\n" for path in files)
        said = trilith("digest", "--json", "--files-from", "-", input=listed.encode()).decode().splitlines()
        found = {entry["file"]: entry for entry in map(json.loads, said)}
        for path, arrays in files.items():
            entry = found[str(path)]
            with self.subTest(file=path.name):
                self.assertEqual(entry["errors"], {})
                digests = {name[1:].replace('"', ""): each for name, each in entry["arrays"].items()}
                self.assertEqual(set(digests), set(arrays))
                for name, array in arrays.items():
                    wanted = expected(array)
                    self.assertEqual((digests[name]["shape"], digests[name]["datatype"]), (wanted["shape"], wanted["datatype"]), name)
                    self.assertEqual(digests[name]["sha256"], sha256(array), name)

    def test_every_form_of_tifffile(self):
        files = dict(written(self.folder))
        self.assertGreater(len(files), 800)
        self.digests(files)

    def test_pages_and_smaller_versions(self):
        files = {}
        pages = [pixels("u2", (12 + n, 9), n) for n in range(5)]
        path = self.folder / "pages.tif"
        with tifffile.TiffWriter(path) as file:
            for page in pages:
                file.write(page, metadata=None, compression="zstd", rowsperstrip=5)
        files[path] = {f"page{n}": page for n, page in enumerate(pages)}
        path, levels = self.folder / "levels.ome.tif", [pixels("u1", (64 >> n, 96 >> n)) for n in range(3)]
        with tifffile.TiffWriter(path, bigtiff=True) as file:
            file.write(levels[0], subifds=2, tile=(16, 16), metadata=None)
            for level in levels[1:]:
                file.write(level, subfiletype=1, tile=(16, 16), metadata=None)
        files[path] = {"image": levels[0], "image@smaller/level0": levels[1], "image@smaller/level1": levels[2]}
        path, volume = self.folder / "volume.tif", pixels("f4", (20, 30, 40))
        tifffile.imwrite(path, volume, tile=(16, 16, 16), volumetric=True, metadata=None, compression="deflate")
        files[path] = {"image": volume}
        self.digests(files)

    def test_more_chunks_than_are_named_one_by_one(self):
        path, data = self.folder / "many.tif", pixels(">u2", (16 * 70, 16 * 70))
        tifffile.imwrite(path, data, tile=(16, 16), byteorder=">", compression="deflate", predictor=True, metadata=None)
        layout = trilith("layout", "from", path).decode()
        self.assertIn("grid_at", layout)
        self.assertLess(len(layout), 2000)
        found = json.loads(trilith("digest", "--json", path))["arrays"]
        self.assertEqual(found["/image"]["sha256"], sha256(data))
        self.assertEqual(found['/"image@bytes"']["shape"], [70 * 70])
        part = trilith("get", f"{path}#/image", "--slice", "100:300,700:710", "-o", self.folder / "part.npy")
        self.assertEqual(part, b"")
        np.testing.assert_array_equal(np.load(self.folder / "part.npy"), data[100:300, 700:710])

    def test_a_stack_of_imagej_with_one_directory(self):
        data = pixels(">u2", (3, 20, 15))
        for said, name in ((3, "all"), (4, "short"), (1, "one")):
            path = self.folder / f"{name}.tif"
            tifffile.imwrite(path, data[0], byteorder=">", metadata=None, description=f"ImageJ=1.54f\nimages={said}\nslices={said}\n")
            with open(path, "ab") as file:
                file.write(data[1:].tobytes())
        np.testing.assert_array_equal(tifffile.imread(self.folder / "all.tif"), data)
        found = {"all": data, "one": data[0]}
        self.digests({self.folder / f"{name}.tif": {"image": array} for name, array in found.items()})
        # The pages that ImageJ promises are missing, and the first one is there.
        short = json.loads(trilith("digest", "--json", self.folder / "short.tif", status=1))
        self.assertEqual(short["arrays"]["/image"]["shape"], [20, 15])
        self.assertIn("3 more pages", json.dumps(short["errors"]))

    def test_hyperstacks_of_imagej_are_one_array(self):
        files = {}
        shapes = [(3, 4, 2, 10, 12), (1, 4, 2, 10, 12), (5, 1, 1, 10, 12), (1, 1, 3, 10, 12), (1, 6, 1, 10, 12)]
        for (number, shape), code, compression in itertools.product(enumerate(shapes), ("u1", "u2", "f4"), (None, "zlib")):
            path = self.folder / f"{number}-{code}-{compression}.tif"
            data = pixels("u2", (shape[0] * shape[1] * shape[2], 120)).reshape(shape).astype(code)
            how = {"rowsperstrip": 4} if number % 2 else {}
            tifffile.imwrite(path, data, imagej=True, compression=compression, metadata={"axes": "TZCYX"}, **how)
            files[path] = {"image": tifffile.imread(path)}
            self.assertEqual(files[path]["image"].shape, tuple(n for n in shape if n > 1))
        for shape, axes in (((4, 10, 12, 3), "ZYXS"), ((2, 3, 10, 12, 3), "TZYXS")):
            path = self.folder / f"color-{axes}.tif"
            tifffile.imwrite(path, pixels("u1", (2, 2160))[:, : np.prod(shape) // 2].reshape(shape), imagej=True, metadata={"axes": axes})
            files[path] = {"image": tifffile.imread(path)}
            self.assertEqual(files[path]["image"].shape, shape)
        self.digests(files)
        path = self.folder / "0-u2-zlib.tif"
        facts = trilith_json("tree", path)
        self.assertIn("t", json.dumps(facts))
        self.assertIn('grid_dims=["t", "z", "c", "y", "x"]', trilith("layout", "from", path).decode())
        self.assertEqual(trilith_json("verify", path)["problems"], [])
        trilith("convert", path, self.folder / "a.asdf")
        with asdf.open(self.folder / "a.asdf") as copied:
            np.testing.assert_array_equal(copied["image"], files[path]["image"])
        trilith("get", f"{path}#/image", "--slice", "1,2:,::-1,3:5", "-o", self.folder / "part.npy")
        np.testing.assert_array_equal(np.load(self.folder / "part.npy"), files[path]["image"][1, 2:, ::-1, 3:5])

    def test_stacks_of_tifffile_have_their_shape(self):
        files = {}
        for number, shape in enumerate(((5, 10, 12), (1, 5, 10, 12), (2, 3, 10, 12), (2, 1, 10, 12), (4, 10, 12, 3), (2, 3, 10, 12, 3), (4, 3, 10, 12))):
            how = {"photometric": "rgb" if shape[-1] == 3 or shape == (4, 3, 10, 12) else "minisblack", "planarconfig": "separate" if shape == (4, 3, 10, 12) else None}
            for said in (None, "mine"):
                path = self.folder / f"{number}-{said}.tif"
                data = (np.arange(np.prod(shape)) % 251).astype("u1").reshape(shape)
                tifffile.imwrite(path, data, description=said, compression="zlib" if number % 2 else None, **how)
                files[path] = {"image": tifffile.imread(path)}
                self.assertEqual(files[path]["image"].shape, shape)
        path, two = self.folder / "two.tif", [pixels("u1", (2, 80)).reshape(2, 8, 10), pixels("u1", (2, 80)).reshape(2, 8, 10)]
        with tifffile.TiffWriter(path) as file:
            for data in two:
                file.write(data, photometric="minisblack", contiguous=False)
        files[path] = {f"page{number}": plane for number, plane in enumerate(np.concatenate(two))}
        self.digests(files)
        path = self.folder / "named.tif"
        tifffile.imwrite(path, np.zeros((2, 3, 8, 10), "u1"), photometric="minisblack", metadata={"axes": "TZYX"})
        self.assertIn('grid_dims=["t", "z", "y", "x"]', trilith("layout", "from", path).decode())

    def test_what_only_some_planes_of_a_stack_have_is_kept(self):
        path, data = self.folder / "a.tif", pixels("u2", (6, 80)).reshape(6, 8, 10)
        said = "ImageJ=1.54f\nimages=6\nslices=3\nframes=2\nhyperstack=true\n"
        with tifffile.TiffWriter(path) as file:
            for number, plane in enumerate(data):
                tags = [(65000, "s", 0, f"plane {number}", True), (65001, "H", 300, tuple(range(number // 5, 300 + number // 5)), True)]
                file.write(plane, description=said if number == 0 else None, metadata=None, compression="lzw", extratags=tags, software="same")
        self.digests({path: {"image": data.reshape(2, 3, 8, 10), "image@tag65001": np.arange(300, dtype="<u2"),
            "image@pages/page5/page5@tag65001": np.arange(1, 301, dtype="<u2")}})
        layout = trilith("layout", "from", path).decode()
        self.assertEqual([layout.count(f"plane {number}") for number in range(6)], [1] * 6)
        self.assertEqual(layout.count("same"), 1)

    def test_pages_that_are_no_stack_stay_pages(self):
        for name, said, shapes in (
            ("count", "images=6\nslices=6\n", [(8, 10)] * 5),
            ("shape", "images=3\nslices=3\n", [(8, 10), (8, 10), (8, 11)]),
            ("none", "images=3\nslices=0\n", [(8, 10)] * 3),
        ):
            path, data = self.folder / f"{name}.tif", [pixels("u1", shape, n) for n, shape in enumerate(shapes)]
            with tifffile.TiffWriter(path) as file:
                for number, plane in enumerate(data):
                    file.write(plane, description=f"ImageJ=1.54f\n{said}" if number == 0 else None, metadata=None)
            self.digests({path: {f"page{number}": plane for number, plane in enumerate(data)}})

    def test_images_of_ome_are_the_series_of_tifffile(self):
        files = {}
        for axes, shape in (("TZCYX", (3, 4, 2, 10, 12)), ("CTZYX", (2, 3, 4, 10, 12)), ("ZYX", (5, 10, 12)), ("TCYXS", (2, 3, 10, 12, 3)), ("CSYX", (2, 3, 10, 12))):
            path = self.folder / f"{axes}.ome.tif"
            how = {"photometric": "rgb" if "S" in axes else "minisblack", "planarconfig": "separate" if "SY" in axes else None}
            data = (np.arange(np.prod(shape)) % 251).astype("u1").reshape(shape)
            tifffile.imwrite(path, data, ome=True, metadata={"axes": axes}, compression="zlib", **how)
            with tifffile.TiffFile(path) as file:
                files[path] = {"image": file.series[0].asarray()}
            self.assertEqual(files[path]["image"].shape, shape)
        path, levels = self.folder / "levels.ome.tif", [pixels("u2", (3, 64 * 96 >> 2 * n)).reshape(3, 64 >> n, 96 >> n) for n in range(2)]
        with tifffile.TiffWriter(path, ome=True) as file:
            file.write(levels[0], subifds=1, tile=(16, 16), metadata={"axes": "CYX"}, photometric="minisblack")
            file.write(levels[1], subfiletype=1, tile=(16, 16), photometric="minisblack")
        files[path] = {"image": levels[0], "image@smaller/level0": levels[1]}
        path, two = self.folder / "two.ome.tif", [pixels("u2", (3, 80)).reshape(3, 8, 10), pixels("u1", (9, 7)), pixels("f4", (2, 30)).reshape(2, 5, 6)]
        with tifffile.TiffWriter(path, ome=True) as file:
            for data in two:
                file.write(data, metadata={"axes": "ZYX"[3 - data.ndim :]}, photometric="minisblack")
        with tifffile.TiffFile(path) as file:
            wanted = [series.asarray() for series in file.series]
        files[path] = {"series0": wanted[0], "page3": wanted[1], "series2": wanted[2]}
        self.digests(files)

    def test_samples_that_share_bytes(self):
        files = {}
        random = np.random.default_rng(7)
        bits = random.integers(0, 2, (13, 21)).astype(bool)
        for compression in (None, "packbits", "tiff_lzw", "tiff_adobe_deflate"):
            path = self.folder / f"bits-{compression}.tif"
            Image.fromarray(bits).save(path, compression=compression)
            files[path] = {"image": bits.astype("u1")}
        for count, order in itertools.product((2, 4, 10, 12, 14), "<>"):
            data = random.integers(0, 1 << count, (13, 21)).astype("u1" if count <= 8 else order + "u2")
            path = self.folder / f"packed-{count}-{'big' if order == '>' else 'little'}.tif"
            tifffile.imwrite(path, data, bitspersample=count, byteorder=order, metadata=None, photometric="minisblack")
            # tifffile turns the bytes round before it packs them, and not when it reads.
            files[path] = {"image": tifffile.imread(path)}
        self.digests(files)

    def test_tags_are_attributes(self):
        path = self.folder / "tags.tif"
        extra = [(33550, "d", 3, (2.0, 3.0, 0.0), True), (42113, "s", 0, "-9999", True), (65000, "H", 300, tuple(range(300)), True)]
        data = pixels("u1", (8, 9))
        tifffile.imwrite(path, data, description="two\nlines", software="somebody", resolution=(72, 36), extratags=extra, metadata=None)
        layout = trilith("layout", "from", path).decode()
        for said in ('ImageDescription="own:two%0Alines"', 'Software="somebody"', "XResolution=[72,1]", "ModelPixelScale=[2", 'GDAL_NODATA="-9999"'):
            self.assertIn(said, layout.replace(", ", ","))
        self.digests({path: {"image": data, "image@tag65000": np.arange(300, dtype="<u2")}})

    def test_tiles_that_were_never_written_have_the_value_of_gdal(self):
        path, data = self.folder / "sparse.tif", pixels("i2", (32, 48))
        for said in (None, "-9"):
            tags = [] if said is None else [(42113, "s", 0, said, True)]
            tifffile.imwrite(path, data, tile=(16, 16), compression="deflate", extratags=tags, metadata=None)
            with tifffile.TiffFile(path, mode="r+b") as file:
                for name in ("TileOffsets", "TileByteCounts"):
                    tag = file.pages[0].tags[name]
                    tag.overwrite([0 if number == 4 else value for number, value in enumerate(tag.value)])
            wanted = tifffile.imread(path)
            self.assertEqual(wanted[20, 20], int(said or 0))
            found = trilith("get", f"{path}#/image", "--stored", "--format", "json")
            np.testing.assert_array_equal(json.loads(found), wanted)

    def test_tiles_in_tags_of_strips_are_read(self):
        """libtiff takes either pair of tags for both, as old programs need it."""
        data = pixels("u2", (45, 70))
        for order, (strips, tiles), is_tiled in itertools.product("<>", (((273, 279), (324, 325)),), (True, False)):
            path = self.folder / f"{'tiles' if is_tiled else 'strips'}-{'big' if order == '>' else 'little'}.tif"
            cut = {"tile": (16, 32)} if is_tiled else {"rowsperstrip": 7}
            tifffile.imwrite(path, data, byteorder=order, compression="deflate", metadata=None, **cut)
            swapped = dict(zip(tiles, strips, strict=True) if is_tiled else zip(strips, tiles, strict=True))
            content = bytearray(path.read_bytes())
            with tifffile.TiffFile(path) as file:
                places = {tag.code: tag.offset for tag in file.pages[0].tags if tag.code in swapped}
            for code, place in places.items():
                content[place : place + 2] = swapped[code].to_bytes(2, "little" if order == "<" else "big")
            path.write_bytes(content)
            self.assertEqual(len(places), 2)
            self.digests({path: {"image": data}})

    def test_what_is_not_read_is_named(self):
        for code, name in ((34934, "tiff:jpegxr (JPEG XR)"), (22610, "tiff:jpegxr (JPEG XR)"), (34661, "tiff:jbig (JBIG)")):
            path = self.folder / f"{code}.tif"
            tifffile.imwrite(path, pixels("u1", (8, 8)), metadata=None)
            with tifffile.TiffFile(path, mode="r+b") as file:
                file.pages[0].tags["Compression"].overwrite(code)
            entry = json.loads(trilith("digest", "--json", path, status=2))
            self.assertIn(f"{name} is not available", json.dumps(entry["errors"]))
        for bits, name in ((32, "CInt16"), (64, "CInt32")):
            path = self.folder / f"complex{bits}.tif"
            tifffile.imwrite(path, pixels(f"i{bits // 8}", (8, 8)), metadata=None)
            with tifffile.TiffFile(path, mode="r+b") as file:
                file.pages[0].tags["SampleFormat"].overwrite(5)
            for command in ("get", "stats"):
                with self.assertRaisesRegex(AssertionError, rf"complex integers are not supported \({name}\)"):
                    trilith(command, f"{path}#/image")
        path, data = self.folder / "webp.tif", pixels("u1", (64, 64, 3))
        tifffile.imwrite(path, data, compression="webp", metadata=None)
        entry = json.loads(trilith("digest", "--json", path, status=2))
        self.assertIn("tiff:webp is not available", json.dumps(entry["errors"]))
        path = self.folder / "jpeg12.tif"
        tifffile.imwrite(path, pixels("u2", (64, 64)), bitspersample=12, compression="jpeg", metadata=None)
        entry = json.loads(trilith("digest", "--json", path, status=2))
        self.assertIn("JPEG image of samples that do not have 8 bits", json.dumps(entry["errors"]))

    def test_jpeg_is_what_tifffile_reads(self):
        path, random = self.folder / "jpeg.tif", np.random.default_rng(2)
        smooth = np.add.outer(np.arange(70), np.arange(90)[:, None] * [1, 2, 0.5]) % 250
        color = (smooth + random.integers(0, 5, (70, 90, 3))).astype("u1")
        forms = {
            "grey": (color[..., 0], {"photometric": "minisblack"}),
            "rgb": (color, {"photometric": "rgb"}),
            "rgb as it is": (color, {"photometric": "rgb", "compressionargs": {"level": 90, "outcolorspace": "rgb"}}),
            "planes": (color.transpose(2, 0, 1), {"photometric": "rgb", "planarconfig": "separate"}),
            "ycbcr": (color, {"photometric": "ycbcr", "subsampling": (1, 1)}),
            "ycbcr 2 1": (color, {"photometric": "ycbcr", "subsampling": (2, 1)}),
            "ycbcr 2 2": (color, {"photometric": "ycbcr", "subsampling": (2, 2)}),
        }
        for (name, (data, how)), cut in itertools.product(forms.items(), ({}, {"rowsperstrip": 16}, {"tile": (32, 48)})):
            with self.subTest(name, cut=cut):
                tifffile.imwrite(path, data, metadata=None, **{"compression": "jpeg", "compressionargs": {"level": 90}, **how, **cut})
                self.near(path, tifffile.imread(path))
        for mode, subsampling in itertools.product(("L", "RGB", "YCbCr", "CMYK"), (0, 2)):
            with self.subTest(mode, subsampling=subsampling):
                image = Image.fromarray(color).convert(mode)
                image.save(path, compression="jpeg", quality=92)
                self.near(path, tifffile.imread(path))

    def test_tables_of_jpeg_that_tiles_share(self):
        path = self.folder / "tables.tif"
        data = pixels("u1", (64, 96, 3))
        Image.fromarray(data).save(path, compression="jpeg", quality=80)
        with tifffile.TiffFile(path) as file:
            self.assertIn("JPEGTables", file.pages[0].tags)
        self.assertIn("grid_head", trilith("layout", "from", path).decode())
        self.near(path, tifffile.imread(path))
        layout = self.folder / "tables.dud"
        layout.write_bytes(trilith("layout", "from", path))
        self.assertEqual(trilith("digest", path, "--layout", layout), trilith("digest", path))
        cut = bytearray(path.read_bytes())
        with tifffile.TiffFile(path) as file:
            at, size = file.pages[0].dataoffsets[0], file.pages[0].databytecounts[0]
        cut[at + size // 2 : at + size] = (b"\xff\xc1" * size)[: size - size // 2]
        path.write_bytes(cut)
        trilith("digest", path, status=1)

    def near(self, path, wanted):
        out = self.folder / "jpeg.npy"
        out.unlink(missing_ok=True)
        trilith("get", f"{path}#/image", "-o", out)
        found = np.load(out)
        self.assertEqual((found.shape, found.dtype), (wanted.shape, wanted.dtype))
        off = np.abs(found.astype(int) - wanted)
        self.assertLess(off.mean(), 1)
        self.assertLessEqual(off.max(), 8)
