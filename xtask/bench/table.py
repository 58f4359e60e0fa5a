"""One row of values for each of many files: `trilith table` beside a loop over `asdf.open`, start-up included, and the memory of many.

`imports` is what the loop's Python takes before its first file: take it off for what the files cost.
"""

from harness import Table, Work, measure

PROLOGUE = "import sys, warnings; warnings.simplefilter('ignore'); import asdf, csv, pathlib\n"
LOOP = (
    PROLOGUE
    + """
def at(tree, path):
    for key in path.strip('/').split('/'):
        tree = tree[key]
    return tree
with open(sys.argv[2], 'w', newline='') as out:
    rows = csv.writer(out)
    for path in sorted(pathlib.Path(sys.argv[1]).iterdir()):
        with asdf.open(path) as f:
            rows.writerow([path, *(at(f.tree, column) for column in sys.argv[3:])])
"""
)


def make_small(folder, count):
    """Files as an instrument's log writes them: a dozen keys and a small array."""
    import pathlib

    import asdf
    import numpy as np

    pathlib.Path(folder).mkdir()
    for i in range(int(count)):
        meta = {"exposure": 139.8 + i, "filter": f"F{100 + i % 60}", "count": i, "observer": "Ada", "good": i % 7 != 0}
        meta |= {"pointing": {"ra": i / 100, "dec": -i / 100, "roll": 0.5}, "time": "2026-11-22T00:00:00"}
        asdf.AsdfFile({"meta": meta, "data": np.full(100, i, "f4")}).write_to(f"{folder}/r{i:06}.asdf")


def make_roman(folder, count):
    """Files with a tree of the size and shape of those of the Roman telescope: groups of metadata, polynomials, a log, compressed images."""
    import pathlib

    import asdf
    import numpy as np

    random = np.random.default_rng(3)
    pathlib.Path(folder).mkdir()
    image = np.round(random.normal(100, 5, (512, 512)).astype("f4") * 4) / 4
    for i in range(int(count)):
        groups = {f"group_{g:02}": {f"key_{k:02}": [None, k / 7, f"value {k}", k, k % 2 == 0][k % 5] for k in range(16)} for g in range(40)}
        meta = {"exposure": {"exposure_time": 139.8 + i, "ma_table_number": 3}, "instrument": {"optical_element": f"F{100 + i % 60}"}} | groups
        meta["wcs"] = {"steps": [{"coefficients": random.normal(size=(6, 6)).tolist(), "name": f"step {n}"} for n in range(20)]}
        tree = {"roman": {"meta": meta, "data": image, "err": image / 10, "dq": np.zeros((512, 512), "u4")}}
        tree["roman"]["cal_logs"] = [f"2026-11-22T00:00:{n % 60:02} :: step {n} done in {n / 10} s" for n in range(200)]
        asdf.AsdfFile(tree).write_to(f"{folder}/r{i:06}.asdf", all_array_compression="lz4")


def make_plain(folder, count):
    """Trees alone, a thousand in each folder: for memory, not for time."""
    import pathlib

    for i in range(int(count)):
        part = pathlib.Path(folder) / f"{i // 1000:03}"
        if i % 1000 == 0:
            part.mkdir(parents=True)
        meta = f"meta: {{exposure: {i / 7}, filter: F{100 + i % 60}, count: {i}, origin: STSCI}}"
        text = f"#ASDF 1.0.0\n#ASDF_STANDARD 1.6.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n--- !core/asdf-1.1.0\n{meta}\n...\n"
        (part / f"r{i:06}.asdf").write_text(text)


def table(bench, folder, out, columns):
    words = [word for name, path in columns.items() for word in ("-c", f"{name}={path}")]
    return [bench.program, "--quiet", "table", folder, *words, "-o", out]


def works(bench):
    out = bench.out

    def work(name, what, folder, columns, want):
        commands = {
            "trilith": table(bench, folder, out / "t.csv", columns),
            "asdf": bench.python(LOOP, folder, out / "p.csv", *columns.values()),
            "imports": bench.python(PROLOGUE),
        }
        return Work(name, what, commands, wants={"asdf": want})

    small, roman = (200, 20) if bench.small else (2000, 200)
    return [
        work(
            "table-small",
            f"a row of four values for each of {small:,} small files",
            bench.file(f"table-small-{small}", make_small, small),
            {"exposure": "/meta/exposure", "filter": "/meta/filter", "count": "/meta/count", "ra": "/meta/pointing/ra"},
            20,
        ),
        work(
            "table-roman",
            f"a row of two values for each of {roman} files with the tree of an image of the Roman telescope",
            bench.file(f"table-roman-{roman}", make_roman, roman),
            {"exposure": "/roman/meta/exposure/exposure_time", "filter": "/roman/meta/instrument/optical_element"},
            50,
        ),
    ]


def tables(bench):
    columns = {"exposure": "/meta/exposure", "filter": "/meta/filter", "count": "/meta/count", "origin": "/meta/origin"}
    rows = []
    for count in (1_000, 10_000) if bench.small else (1_000, 10_000, 100_000):
        folder = bench.file(f"table-plain-{count}", make_plain, count)
        bench.ready(folder)
        for ending in ("csv", "parquet"):
            figures = measure(table(bench, folder, bench.out / f"t.{ending}", columns))
            rows.append([f"{count:,} files to .{ending}", round(figures["cpu_s"], 3), round(figures["peak_mib"], 1)])
    return [Table("Many files: four columns", ["work", "CPU s", "peak MiB"], rows)]
