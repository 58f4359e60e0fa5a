"""Values of FITS images beside astropy and fitsio, in memory: a scaled image on all cores, and compressed tiles on one thread."""

import os

from harness import Work

SIDE = 4096
MEASURE = """
import json, os, sys, time
{setup}
def read():
    {read}
best = None
for _ in range(5):
    cpu, wall = time.process_time(), time.perf_counter()
    read()
    found = (time.perf_counter() - wall, time.process_time() - cpu)
    best = found if best is None else min(best, found)
print(json.dumps({{"wall_s": best[0], "cpu_s": best[1]}}))
"""
TRILITH = MEASURE.format(
    setup="os.environ['TRILITH_THREADS'] = sys.argv[3]; import trilith", read="trilith.open(sys.argv[1])['fits/' + sys.argv[2] + '/data'][...]"
)
ASTROPY = MEASURE.format(setup="from astropy.io import fits", read="fits.getdata(sys.argv[1], int(sys.argv[2]))")
FITSIO = MEASURE.format(setup="import fitsio", read="fitsio.read(sys.argv[1], int(sys.argv[2]))")


def pixels():
    import numpy as np

    return np.random.default_rng(1).normal(1000, 20, (SIDE, SIDE))


def make_scaled(path):
    from astropy.io import fits

    fits.PrimaryHDU(pixels().astype("i2")).writeto(path)
    # Written behind the back of astropy, which would apply them.
    with open(path, "r+b") as file:
        header = file.read(2880)
        at = next(at for at in range(0, 2880, 80) if header[at : at + 80] == b"END".ljust(80))
        file.seek(at)
        file.write(b"BSCALE  = 0.1".ljust(80) + b"BZERO   = 10.0".ljust(80) + b"END".ljust(80))


def make_tiles(path, code):
    from astropy.io import fits

    how = {} if code == "i2" else {"quantize_method": 1, "dither_seed": 5}
    fits.CompImageHDU(pixels().astype(code), compression_type="RICE_1", **how).writeto(path)


def works(bench):
    scaled = bench.file("scaled.fits", make_scaled)
    whole, floats = (bench.file(f"tiles-{code}.fits", make_tiles, code) for code in ("i2", "f4"))
    cores = str(os.cpu_count())

    def row(name, what, path, number, threads, peers, wants):
        commands = {"trilith": bench.python(TRILITH, path, number, threads)}
        commands |= {who: bench.python(code, path, number) for who, code in peers.items()}
        return Work(name, what, commands, inner=True, by="wall_s", wants=wants)

    size = f"{SIDE} x {SIDE}"
    astropy_first, fitsio_first = {"astropy": ASTROPY, "fitsio": FITSIO}, {"fitsio": FITSIO, "astropy": ASTROPY}
    tiles = f"{size} int16 in tiles of RICE_1, one thread"
    dithered = f"{size} dithered float32 in tiles of RICE_1, one thread"
    return [
        row("fits-scaled", f"{size} int16 with BSCALE and BZERO", scaled, "0", cores, astropy_first, {"astropy": 2.5}),
        row("fits-rice", tiles, whole, "1", "1", fitsio_first, {"fitsio": 1, "astropy": 3}),
        row("fits-rice-float", dithered, floats, "1", "1", fitsio_first, {"fitsio": 1}),
    ]
