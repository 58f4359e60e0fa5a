"""Whole files by whole processes: listing, slicing, reading and writing, beside Python asdf and its neighbours."""

from harness import Table, Work, measure

PROLOGUE = "import sys, warnings; warnings.simplefilter('ignore'); import asdf, numpy as np\n"
LIST = "[print(k, n, a.dtype, a.shape) for k, g in f.tree.items() if k[:5] == 'group' for n, a in g.items()]"
CODECS = ("none", "zlib", "bzp2", "lz4", "lz4f", "zstd", "blsc")


def make_large(path, megabytes, codec):
    """One array of numbers as measured: noise in the low bits, so that compression has something to do and not all to win."""
    import asdf
    import numpy as np

    array = np.round(np.random.default_rng(1).normal(100, 5, int(megabytes) << 17), 2)
    asdf.AsdfFile({"a": array}).write_to(path, all_array_compression=None if codec == "none" else codec)


def make_many(path, count):
    import asdf
    import numpy as np

    tree = {}
    for i in range(int(count)):
        tree.setdefault(f"group{i // 100:03}", {})[f"array{i % 100:03}"] = np.full(100, i, "f4")
    asdf.AsdfFile(tree).write_to(path)


def make_image(path):
    import asdf
    import numpy as np

    random = np.random.default_rng(1)
    pixels = random.normal(100, 5, (1024, 1024)).astype("f4")
    counts = np.clip(random.poisson(100, (1024, 1024)), 0, 32767).astype("i2")
    asdf.AsdfFile({"float32": pixels, "int16": counts}).write_to(path)


def large(bench, codec):
    """One large float64 array; an eighth of it where the codec is slow."""
    megabytes = bench.megabytes // 8 if codec == "zlib" else bench.megabytes
    return bench.file(f"large-{codec}-{megabytes}.asdf", make_large, megabytes, codec)


def many(bench):
    return bench.file(f"many-{bench.count}.asdf", make_many, bench.count)


def works(bench):
    program, out = bench.program, bench.out
    rows = bench.megabytes << 17
    start, length = rows // 2 + 5, min(1 << 20, rows // 8)  # 8 MiB of float64 in the middle
    span = f"{start}:{start + length}"

    def asdf(body, path, *rest, options=""):
        return bench.python(PROLOGUE + f"f = asdf.open(sys.argv[1]{options}); " + body, path, *rest)

    def get(path, *words):
        return [program, "get", f"{path}#/a", *words, "-o", out / "t.npy"]

    plain, lz4 = large(bench, "none"), large(bench, "lz4")
    take = f"np.save(sys.argv[2], f['a'][{span}])"
    size = f"{length * 8 >> 20} MiB of {bench.megabytes} MiB"
    return [
        Work(
            "start",
            "nothing but starting",
            {"trilith": [program, "--version"], "asdf": bench.python(PROLOGUE)},
            count=True,
        ),
        Work(
            "list",
            f"open {many(bench).name} and list its arrays",
            {"trilith": [program, "tree", many(bench)], "asdf": asdf(LIST, many(bench))},
            wants={"asdf": 60},
            count=True,
        ),
        Work(
            "slice-plain",
            f"{size}, not compressed",
            {
                "trilith": get(plain, "--slice", span),
                "asdf": asdf(take, plain, out / "p.npy"),
                "asdf memmap": asdf(take, plain, out / "p.npy", options=", memmap=True"),
            },
        ),
        Work(
            "slice-lz4",
            f"{size}, lz4",
            {"trilith": get(lz4, "--slice", span), "asdf": asdf(take, lz4, out / "p.npy")},
        ),
        *(
            Work(
                f"read-{codec}",
                f"all of {large(bench, codec).name} to a .npy file",
                {
                    "trilith": get(large(bench, codec)),
                    "asdf": asdf("np.save(sys.argv[2], f['a'][...])", large(bench, codec), out / "p.npy"),
                },
            )
            for codec in ("none", "lz4", "zlib")
        ),
        *(
            Work(
                f"write-{codec}",
                f"read {plain.name}, write with MD5, codec {codec}",
                {
                    "trilith": [program, "convert", "--overwrite", plain, out / "t.asdf", "--codec", codec],
                    "asdf": asdf(
                        f"f.write_to(sys.argv[2], all_array_compression={None if codec == 'none' else codec!r})",
                        plain,
                        out / "p.asdf",
                    ),
                },
            )
            for codec in ("none", "lz4")
        ),
    ]


def tables(bench):
    image, sizes = bench.file("image.asdf", make_image), []
    bench.ready(image)
    for codec in CODECS:
        target = bench.out / f"{codec}.asdf"
        try:
            measure([bench.program, "convert", "--overwrite", image, target, "--codec", codec])
            sizes.append([codec, target.stat().st_size])
        except (RuntimeError, OSError) as problem:
            sizes.append([codec, str(problem)])
        target.unlink(missing_ok=True)
    return [Table("Size of an image file (float32 and int16, 1024 x 1024) by codec", ["codec", "bytes"], sizes)]
