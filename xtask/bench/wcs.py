"""World coordinates and cutouts by position, beside gwcs, astropy and astrocut: whole processes, and inside of one.

The images are like those of the Roman telescope: 4088 x 4088 pixels as float32, float16 and uint32, and a GWCS with polynomials of
degree 5. The FITS images have the header of the Spitzer telescope that astropy has among its test data, and a header with the fewest
cards that describe an image. `imports` is the time that the peer's Python takes before its first file.
"""

from bulk import TIMED
from harness import Work

PLACE = 270.05, -65.9
QUIET = "import sys, warnings; warnings.simplefilter('ignore')\n"
GWCS = QUIET + "import asdf, gwcs\nfile = asdf.open(sys.argv[1]); wcs = file['roman']['meta']['wcs']\n"
PIXEL = GWCS + "print(*wcs(2043.5, 2043.5))\n"
COVERS = QUIET + """
import asdf, csv, gwcs, pathlib
place = float(sys.argv[3]), float(sys.argv[4])
with open(sys.argv[2], 'w', newline='') as out:
    rows = csv.writer(out)
    for path in sorted(pathlib.Path(sys.argv[1]).iterdir()):
        with asdf.open(path) as file:
            wcs = file['roman']['meta']['wcs']
            footprint = wcs.footprint()
            if wcs.in_image(*place):
                rows.writerow([path, footprint.tolist()])
"""
COVERS_FITS = QUIET + """
import csv, os
from astropy.coordinates import SkyCoord
from astropy.io import fits
from astropy.wcs import WCS
place = SkyCoord(float(sys.argv[3]), float(sys.argv[4]), unit='deg')
with open(sys.argv[2], 'w', newline='') as out:
    rows = csv.writer(out)
    for path in sorted(entry.path for entry in os.scandir(sys.argv[1])):
        wcs = WCS(fits.getheader(path))
        if wcs.footprint_contains(place):
            rows.writerow([path, wcs.calc_footprint().tolist()])
"""
# All arrays of the shape of the image and all metadata, as ours.
CUT = QUIET + """
import csv, pathlib
from astrocut import ASDFCutout
from astropy.coordinates import SkyCoord
out, positions, *images = sys.argv[1:]
if ',' in positions:
    rows = [positions.split(',')]
else:
    with open(positions, newline='') as file:
        rows = list(csv.reader(file))[1:]
places = [SkyCoord(float(lon), float(lat), unit='deg') for lon, lat in rows]
made = ASDFCutout(images, places, cutout_size=100, lite=False).write_as_asdf(out)
assert len(made) == len(places) * len(images)
"""


def coordinates(side, lon, lat):
    """From pixels by polynomials to the plane of the telescope, and by rotations to the sky."""
    import gwcs
    import numpy as np
    from astropy import coordinates as sky
    from astropy import units as u
    from astropy.modeling import fitting, models
    from gwcs import coordinate_frames as frames
    from gwcs.geometry import CartesianToSpherical, SphericalToCartesian

    v2, v3 = 1312.949, -1040.785
    random = np.random.default_rng(5)
    middle = (side - 1) / 2
    powers = [(i, j) for i in range(6) for j in range(6 - i) if i + j > 1]

    def distortion(along, across):
        # At the edge some 10 pixels by the terms of degree 2, and a tenth for each degree more.
        terms = {f"c{i}_{j}": random.normal(scale=1.1 * 10.0 ** (2 - i - j) / middle ** (i + j)) for i, j in powers}
        return models.Polynomial2D(5, c1_0=along, c0_1=across, **terms)

    there = distortion(0.1103, 3.4e-4), distortion(3.1e-4, 0.1083)
    y, x = np.mgrid[-middle:middle:40j, -middle:middle:40j]
    a, b = there[0](x, y), there[1](x, y)
    fit = fitting.LinearLSQFitter()
    back = [fit(models.Polynomial2D(5), a, b, wanted) for wanted in (x, y)]
    copies = models.Mapping((0, 1, 0, 1))
    polynomials = copies | there[0] & there[1]
    polynomials.inverse = copies | back[0] & back[1]
    # Turned so that north is about up: gwcs's numerical inverse finds no pixel elsewhere, but tries for minutes.
    mounted = models.AffineTransformation2D([[-0.5, -(0.75**0.5)], [-(0.75**0.5), 0.5]])
    optics = models.Shift(-middle) & models.Shift(-middle) | polynomials | mounted | models.Shift(v2) & models.Shift(v3)
    angles = [v2 / 3600, -v3 / 3600, 59.6, lat, -lon]
    turned = models.RotationSequence3D(angles, "zyxyz")
    degrees = models.Scale(1 / 3600) & models.Scale(1 / 3600)
    to_sky = degrees | SphericalToCartesian(wrap_lon_at=180) | turned | CartesianToSpherical(wrap_lon_at=360)
    detector = frames.Frame2D(name="detector", axes_names=("x", "y"), unit=(u.pix, u.pix))
    plane = frames.Frame2D(name="v2v3", axes_names=("v2", "v3"), unit=(u.arcsec, u.arcsec))
    world = frames.CelestialFrame(name="world", reference_frame=sky.ICRS())
    wcs = gwcs.WCS([(detector, optics), (plane, to_sky), (world, None)])
    wcs.bounding_box = ((-0.5, side - 0.5), (-0.5, side - 0.5))
    return wcs


def write(path, side, wcs, codec):
    """A file of the archive: an image of this side with its errors and flags, and groups of metadata."""
    import asdf
    import numpy as np

    random = np.random.default_rng(6)
    image = np.round(random.normal(100, 5, (side, side)).astype("f4") * 4) / 4
    meta = {f"group_{g:02}": {f"key_{k:02}": [None, k / 7, f"value {k}", k, k % 2 == 0][k % 5] for k in range(16)} for g in range(40)}
    roman = {"meta": meta | {"wcs": wcs}, "data": image, "err": np.sqrt(image).astype("f2")}
    roman["dq"] = (random.random((side, side)) < 0.01).astype("u4")
    asdf.AsdfFile({"roman": roman}).write_to(path, all_array_compression=None if codec == "none" else codec)


def make_image(path, side, codec):
    write(path, int(side), coordinates(int(side), *PLACE), codec)


def make_names(folder, count, side):
    """One image under many names: each program opens and reads it by each of them."""
    import os
    import pathlib

    pathlib.Path(folder).mkdir()
    make_image(f"{folder}/r000000.asdf", side, "lz4")
    for i in range(1, int(count)):
        os.link(f"{folder}/r000000.asdf", f"{folder}/r{i:06}.asdf")


def make_many(folder, count):
    """Small images that look at different places, every tenth of them at ours."""
    import pathlib

    pathlib.Path(folder).mkdir()
    for i in range(int(count)):
        place = PLACE if i % 10 == 0 else (i * 1.7 % 360, 80 - i * 0.8)
        wcs = coordinates(4088, *place)
        write(f"{folder}/r{i:06}.asdf", 16, wcs, "none")


def spitzer_header():
    """242 cards with SIP: of the camera IRAC."""
    from astropy.io import fits
    from astropy.utils.data import get_pkg_data_contents

    return fits.Header.fromstring(get_pkg_data_contents("data/irac_sip.hdr", package="astropy.wcs.tests"))


def short_header():
    """30 cards, without distortion."""
    from astropy.io import fits

    cards = {"SIMPLE": True, "BITPIX": 16, "NAXIS": 2, "NAXIS1": 64, "NAXIS2": 64, "EXTEND": True, "OBJECT": "FIELD"}
    cards |= {"TELESCOP": "SURVEY", "INSTRUME": "CAMERA", "FILTER": "r", "EXPTIME": 90.0, "DATE-OBS": "2026-03-01T02:03:04.5"}
    cards |= {"MJD-OBS": 61100.08547, "AIRMASS": 1.1, "GAIN": 1.5, "WCSAXES": 2, "CTYPE1": "RA---TAN", "CTYPE2": "DEC--TAN"}
    cards |= {"CUNIT1": "deg", "CUNIT2": "deg", "CRPIX1": 0.0, "CRPIX2": 0.0, "CRVAL1": 0.0, "CRVAL2": 0.0, "CD1_1": -5e-5, "CD1_2": 2e-5}
    return fits.Header(cards | {"CD2_1": 2e-5, "CD2_2": 5e-5, "RADESYS": "ICRS", "EQUINOX": 2000.0})


def make_headers(folder, count, header):
    """FITS images of zeros that look at random places, every hundredth of them at ours."""
    import pathlib

    import numpy as np

    header = {"spitzer": spitzer_header, "short": short_header}[header]()
    width, height = header["NAXIS1"], header["NAXIS2"]
    header.update({"BITPIX": 16, "NAXIS": 2, "CRPIX1": (width + 1) / 2, "CRPIX2": (height + 1) / 2})
    for keyword in ("BSCALE", "BZERO"):
        header.remove(keyword, ignore_missing=True)
    random = np.random.default_rng(8)
    pathlib.Path(folder).mkdir()
    for i in range(int(count)):
        place = PLACE if i % 100 == 0 else (random.uniform(0, 360), np.degrees(np.arcsin(random.uniform(-1, 1))))
        header["CRVAL1"], header["CRVAL2"] = (round(float(value), 9) for value in place)
        with open(f"{folder}/r{i:06}.fits", "wb") as file:
            file.write(header.tostring().encode())
            file.truncate(file.tell() + -(-width * height * 2 // 2880) * 2880)


def make_catalog(path, count, side):
    """Positions inside of the image."""
    import numpy as np

    side = int(side)
    x, y = np.random.default_rng(7).uniform(60, side - 60, (2, int(count)))
    lon, lat = coordinates(side, *PLACE)(x, y)
    with open(path, "w") as out:
        out.write("ra,dec\n" + "".join(f"{a:.12f},{b:.12f}\n" for a, b in zip(lon, lat)))


def works(bench):
    side, many, program, out = (1022, 20, bench.program, bench.out) if bench.small else (4088, 200, bench.program, bench.out)
    image = bench.file(f"wcs-{side}.asdf", make_image, side, "none")
    names = bench.file(f"wcs-names-{side}", make_names, 20, side)
    catalog = bench.file(f"wcs-catalog-{side}.csv", make_catalog, 20, side)
    folder = bench.file(f"wcs-many-{many}", make_many, many)
    lon, lat = PLACE
    peer = bench.peer("wcs")
    spread = f"import numpy as np\nx, y = np.random.default_rng(9).uniform(1, {side - 2}, (2, %d))\n"

    def inside(name, what, body, runs, count, want, calls=1):
        """Work on an open file. `calls` are made in a run."""
        mean = f"runs = {runs}\n" + TIMED.replace("/ runs,", f"/ runs / {calls},").replace("min(wall)", f"min(wall) / {calls}")
        code = GWCS + spread % count + mean + body + f"\ntimed(work, {runs})"
        commands = {"trilith": [peer, name, image, count], "gwcs": bench.python(code, image)}
        return Work(f"wcs-{name}", what, commands, inner=True, wants={"gwcs": want})

    def cut(where, size, *images):
        ours = [program, "--quiet", "cutout", *images, *where, "--size", f"{size}px", "-o", out / "{stem}_{n}.asdf"]
        return {"trilith": ours, "astrocut": bench.python(CUT, out, where[1], *images), "imports": bench.python("import astrocut, asdf")}

    def covers(header, want):
        count = 500 if bench.small else 10_000
        folder = bench.file(f"wcs-{header}-{count}", make_headers, count, header)
        return Work(
            f"wcs-covers-{header}",
            f"which of {count} FITS files hold a position, with their footprints; the {header} header",
            {
                "trilith": [program, "--quiet", "table", folder, "--covers", f"{lon},{lat}", "-c", "footprint=@footprint", "-o", out / "t.csv"],
                "astropy": bench.python(COVERS_FITS, folder, out / "p.csv", lon, lat),
            },
            by="wall_s",
            wants={"astropy": want},
        )

    sip = "def work(): wcs.to_fits_sip(max_pix_error=%s, max_inv_pix_error=%s)"
    fit = inside("fit", "a FITS header with SIP, at most 0.001 px off; by gwcs, and with its default of 0.25 px", sip % (1e-3, 1e-3), 5, 1, 10)
    fit.commands["gwcs 0.25 px"] = bench.python(GWCS + TIMED + sip % (0.25, 0.25) + "\ntimed(work, 5)", image)
    one = "def work():\n  for _ in range(20): %s\n"
    return [
        Work(
            "wcs-process",
            "open a file, print the position of a pixel",
            {
                "trilith": [program, "sky", f"{image}#/roman/data", "2043.5,2043.5" if side == 4088 else "500,500"],
                "gwcs": bench.python(PIXEL, image),
                "imports": bench.python(QUIET + "import asdf, gwcs"),
            },
            wants={"gwcs": 400},
            count=True,
        ),
        inside("pixel", "the position of one pixel, file open", one % "wcs(500.0, 500.0)", 5, 1, 1000, calls=20),
        inside("position", "the pixel of one position, file open", f"a, b = wcs(500.0, 500.0)\n{one % 'wcs.invert(a, b)'}", 5, 1, 1000, calls=20),
        inside("pixels", "the positions of 1,000,000 pixels", "def work(): wcs(x, y)", 5, 1_000_000, 2.5),
        inside("positions", "the pixels of 100,000 positions: ours exact, gwcs by the inverse of the file", "a, b = wcs(x, y)\ndef work(): wcs.invert(a, b)", 5, 100_000, 2),
        inside(
            "exact",
            "the pixels of 10,000 positions: ours exact, gwcs by numerical_inverse",
            "a, b = wcs(x, y)\ndef work(): wcs.numerical_inverse(a, b)",
            5,
            10_000,
            15,
        ),
        inside("footprint", "the footprint", one % "wcs.footprint()", 5, 1, 400, calls=20),
        fit,
        Work(
            "wcs-covers",
            f"which of {many} files hold a position, with their footprints",
            {
                "trilith": [program, "--quiet", "table", folder, "--covers", f"{lon},{lat}", "-c", "footprint=@footprint", "-o", out / "t.csv"],
                "gwcs": bench.python(COVERS, folder, out / "p.csv", lon, lat),
                "imports": bench.python(QUIET + "import asdf, gwcs"),
            },
            by="wall_s",  # our cores share the files, and the user waits for all of them
            wants={"gwcs": 150},
        ),
        covers("spitzer", 100),
        covers("short", 40),
        Work("wcs-cutouts", "20 cutouts of 100 x 100 of one file, written as ASDF", cut(("--points", catalog), 100, image), by="wall_s", wants={"astrocut": 200}),
        Work(
            "wcs-images",
            "a cutout of 100 x 100 of each of 20 files in lz4, written as ASDF",
            cut(("--sky", f"{lon},{lat}"), 100, *(names / f"r{i:06}.asdf" for i in range(20))),
            wants={"astrocut": 40},
        ),
    ]
