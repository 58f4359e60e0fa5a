"""Many objects in a bucket, beside s3fs with asdf: a table of 2,000 and a cutout from each of 200.

nginx answers as S3 answers without credentials: listings by pages of 1,000 keys, and ranges of objects. Its log counts both.
"""

import pathlib
import sys
import time

from harness import Table, measure

TESTS = pathlib.Path(__file__).resolve().parents[2] / "tests/remote"
PAGE = 1000
PLACE = "270,66"
SETUP = """
import sys, warnings
warnings.simplefilter("ignore")
import asdf, numpy, s3fs
bucket = s3fs.S3FileSystem(anon=True, client_kwargs={"endpoint_url": sys.argv[1]})
"""
TABLE = SETUP + """
import csv
with open(sys.argv[2], "w", newline="") as out:
    rows = csv.writer(out)
    for key in sorted(bucket.glob("bucket/table/*.asdf")):
        with bucket.open(key) as handle, asdf.open(handle, lazy_load=True, memmap=False) as file:
            rows.writerow([key, file["title"]])
"""
CUTOUTS = SETUP + """
import gwcs
for key in sorted(bucket.glob("bucket/images/*.asdf")):
    with bucket.open(key) as handle, asdf.open(handle, lazy_load=True, memmap=False) as file:
        x, y = file["meta"]["wcs"].forward_transform.inverse(270.0, 66.0)
        x, y = round(float(x)) - 50, round(float(y)) - 50
        cut = numpy.array(file["data"][y : y + 100, x : x + 100])
        asdf.AsdfFile({"data": cut}).write_to(f"{sys.argv[2]}/{key.split('/')[-1]}")
"""
LOCATION = """
    location ~ ^/bucket/?$ {{ default_type application/xml; root {root}; try_files /lists/$arg_prefix$page.xml =404; }}
"""
PAGES = """
  map $args $page {{ ~continuation-token=(?<token>[0-9]+) $token; default 0; }}
"""


def image(path):
    """An image of 2048 x 2048 numbers with positions on the sky: 270, 66 is at the pixel 1200, 900."""
    import files
    import numpy as np

    side = 2048
    data = np.random.default_rng(3).normal(100, 5, (side, side)).astype("<f4")
    tree = files.WCS.format(side - 1, side - 1, 1200, 900) + files.array("data", 0, "float32", [side, side])
    files.write(path, tree, [(b"\0" * 4, data.tobytes(), data.nbytes)])


def fill(root, folder, count, make):
    """One file under many names, and the pages of their listing, as S3 writes it."""
    keys = root / "bucket" / folder
    keys.mkdir(parents=True)
    make(keys / "0000.asdf")
    found = (keys / "0000.asdf").stat()
    tag = f"{int(found.st_mtime):x}-{found.st_size:x}"  # as nginx makes it: s3fs asks for the version that was listed
    for i in range(1, count):
        (keys / f"{i:04}.asdf").hardlink_to(keys / "0000.asdf")
    (root / "lists" / folder).mkdir(parents=True)
    for page, first in enumerate(range(0, count, PAGE)):
        last = min(first + PAGE, count)
        more = f"<IsTruncated>true</IsTruncated><NextContinuationToken>{page + 1}</NextContinuationToken>"
        text = '<?xml version="1.0" encoding="UTF-8"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
        text += f"<Name>bucket</Name><Prefix>{folder}/</Prefix><KeyCount>{last - first}</KeyCount><MaxKeys>{PAGE}</MaxKeys>"
        text += more if last < count else "<IsTruncated>false</IsTruncated>"
        for i in range(first, last):
            text += f"<Contents><Key>{folder}/{i:04}.asdf</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified>"
            text += f"<ETag>&quot;{tag}&quot;</ETag><Size>{found.st_size}</Size><StorageClass>STANDARD</StorageClass></Contents>"
        # The prefix of the request, as one client or the other writes it.
        for name in (f"{folder}/{page}.xml", f"{folder}%2F{page}.xml"):
            (root / "lists" / name).write_text(text + "</ListBucketResult>")


def tables(bench):
    sys.path.insert(0, str(TESTS))
    import files
    import servers

    if not servers.NGINX:
        return [Table("remote: no nginx on this machine", [], [])]
    table, images = (200, 20) if bench.small else (2000, 200)
    root = bench.folder / f"bucket-{table}"
    if not root.exists():
        root.mkdir()
        fill(root, "table", table, files.small)
        fill(root, "images", images, image)
    logs = bench.folder / "nginx"
    logs.mkdir(exist_ok=True)
    text = servers.CONFIGURATION.replace("    location /single/", LOCATION + "    location /single/").replace("  server {{", PAGES + "  server {{")
    servers.CONFIGURATION = text
    server = servers.Nginx(root, logs)
    host = f"http://127.0.0.1:{server.port}"
    ours = ["env", f"AWS_ENDPOINT_URL={host}", bench.program, "--quiet"]
    where = ["--remote", "anonymous=yes"]
    works = [
        (
            f"a value of each of {table} objects",
            [*ours, "table", "s3://bucket/table/*.asdf", *where, "-c", "title=/title", "-o", bench.out / "t.csv"],
            bench.python(TABLE, host, bench.out / "p.csv"),
        ),
        (
            f"a cutout of 100 x 100 of each of {images} images of 17 MB",
            [*ours, "cutout", "s3://bucket/images/*.asdf", *where, "--sky", PLACE, "--size", "100px", "-o", bench.out / "{stem}.asdf"],
            bench.python(CUTOUTS, host, bench.out),
        ),
    ]
    rows = []
    try:
        for what, mine, theirs in works:
            for who, command in (("trilith", mine), ("s3fs, asdf", theirs)):
                mark = server.mark()
                started = time.perf_counter()
                figures = measure(command)
                wall = time.perf_counter() - started
                requests = server.since(mark)
                sent = sum(sent for _, sent, _, _ in requests) / 1e6
                rows.append([what, who, len(requests), f"{sent:.2f}", f"{wall:.2f}", f"{figures['cpu_s']:.2f}"])
    finally:
        server.stop()
    return [Table("remote: objects of a bucket, one run", ["work", "who", "requests", "MB", "wall s", "CPU s"], rows)]
