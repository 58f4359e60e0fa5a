"""One flipped bit in every kind of checksum of every format, before every kind of command: tier rest.

The table below has the outcome of each cell. `verify` has to find the bit, and no command may write it under a checksum that is right.

finds    exit status 1, and the list of checksums names this kind with "ok": false
refuses  an error, and no output
keeps    the bit is written, and `verify` of the output still finds it
drops    the bytes that decode are written without a checksum
reads    plain reading: no checksum is compared, because no decoder computes it
silent   the bit is covered by no checksum, and changes nothing that is read
writes   the output has what the undamaged file has
-        the command does not do this: the format is only read, has no positions on the sky, or is not repaired

Left out: HDF5 has no padding under a checksum, and older structures (libver="earliest") have no checksum at all; a ZIP archive has no
padding. TIFF, NPY and safetensors files have no checksums. ZHECKSUM is the sum of a header that no longer exists. The journal of an
update has a checksum, too: a damaged one is a test of the library (`leftover_journal.rs`).
"""

import gzip
import io
import json
import os
import pathlib
import struct
import subprocess
import tempfile
import unittest
import warnings
import zipfile
import zlib

import asdf
import h5py
import numpy as np
import peer
from astropy.io import fits

warnings.simplefilter("ignore")

COMMANDS = ("verify", "verify --deep", "check", "get", "get -o", "digest", "convert", "set", "cutout", "repair")

# format, checksum and place of the bit, then the outcome of each command in the order of COMMANDS
EXPECTED = """
ASDF MD5 data             finds    finds    finds    reads    refuses  reads    refuses  keeps    -        keeps
# the stored checksum itself
ASDF MD5 header           finds    finds    finds    reads    refuses  reads    refuses  keeps    -        keeps
# allocated bytes after the used ones, which the checksum of ASDF does not cover
ASDF MD5 padding          silent   silent   silent   reads    writes   reads    writes   writes   -        writes
# these decoders have checksums, too; repair keeps what decodes
ASDF MD5 zlib             finds    finds    finds    refuses  refuses  refuses  refuses  keeps    -        drops
ASDF MD5 bzp2             finds    finds    finds    refuses  refuses  refuses  refuses  keeps    -        drops
# the frames of lz4f and zstd that Trilith writes have no checksum
ASDF MD5 lz4              finds    finds    finds    reads    refuses  reads    refuses  keeps    -        keeps
ASDF MD5 lz4f             finds    finds    finds    reads    refuses  reads    refuses  keeps    -        keeps
ASDF MD5 zstd             finds    finds    finds    reads    refuses  reads    refuses  keeps    -        keeps
ASDF MD5 blsc             finds    finds    finds    reads    refuses  reads    refuses  keeps    -        keeps
ASDF MD5 in FITS          finds    finds    finds    reads    refuses  reads    refuses  keeps    refuses  keeps
FITS DATASUM data         finds    finds    finds    reads    refuses  reads    refuses  refuses  refuses  -
FITS DATASUM padding      finds    finds    finds    reads    refuses  reads    refuses  refuses  refuses  -
FITS DATASUM table        finds    finds    finds    reads    refuses  reads    refuses  refuses  -        -
# the stored sums themselves
FITS DATASUM card         finds    finds    finds    reads    refuses  reads    refuses  refuses  refuses  -
FITS CHECKSUM card        finds    finds    finds    reads    refuses  reads    refuses  refuses  refuses  -
FITS CHECKSUM header      finds    finds    finds    reads    refuses  reads    refuses  refuses  refuses  -
FITS CHECKSUM padding     finds    finds    finds    reads    refuses  reads    refuses  refuses  refuses  -
# an edit of the header does not compute a checksum of the tiles again
FITS ZDATASUM data        finds    finds    finds    reads    refuses  reads    refuses  keeps    refuses  -
FITS CRC-32 data          finds    finds    finds    refuses  refuses  refuses  refuses  keeps    refuses  -
# what an attribute holds
HDF5 lookup3 header       finds    finds    finds    reads    refuses  reads    refuses  -        -        -
# the byte offset of a chunk
HDF5 lookup3 index        finds    finds    finds    refuses  refuses  refuses  refuses  -        -        -
HDF5 lookup3 tree         finds    finds    finds    refuses  refuses  refuses  refuses  -        -        -
HDF5 lookup3 superblock   finds    finds    finds    reads    refuses  reads    refuses  -        -        -
HDF5 fletcher32 data      finds    finds    finds    refuses  refuses  refuses  refuses  -        -        -
# the checksum in a zlib stream, which only decoding compares
HDF5 adler32 data         silent   finds    silent   refuses  refuses  refuses  refuses  -        -        -
NPZ CRC-32 stored data    finds    finds    finds    refuses  refuses  refuses  refuses  -        -        -
NPZ CRC-32 stored sum     finds    finds    finds    refuses  refuses  refuses  refuses  -        -        -
NPZ CRC-32 deflated data  finds    finds    finds    refuses  refuses  refuses  refuses  -        -        -
NPZ CRC-32 deflated sum   finds    finds    finds    refuses  refuses  refuses  refuses  -        -        -
# set changes another item
Dudley fletcher32         finds    finds    finds    refuses  refuses  refuses  refuses  keeps    -        keeps
Dudley crc32c             finds    finds    finds    refuses  refuses  refuses  refuses  keeps    -        keeps
Dudley crc32              finds    finds    finds    refuses  refuses  refuses  refuses  keeps    -        keeps
Dudley gzip               finds    finds    finds    refuses  refuses  refuses  refuses  keeps    -        keeps
any CRC-32 data           finds    finds    finds    refuses  refuses  refuses  refuses  refuses  refuses  -
any CRC-32 trailer        finds    finds    finds    refuses  refuses  refuses  refuses  refuses  refuses  -
"""

VALUES = np.arange(4096, dtype=">i2").reshape(64, 64)


def wcs_cards():
    header = fits.Header()
    for axis, kind in (1, "RA---TAN"), (2, "DEC--TAN"):
        header[f"CTYPE{axis}"], header[f"CRVAL{axis}"], header[f"CRPIX{axis}"] = kind, 10.0, 32.0
        header[f"CDELT{axis}"], header[f"CUNIT{axis}"] = 0.001, "deg"
    header["OBJECT"] = "abcdef"
    return header


def image(extension):
    return fits.HDUList([fits.PrimaryHDU(), extension])


def written(hdus, **options):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "x.fits")
        hdus.writeto(path, **options)
        return path.read_bytes()


def plain_fits():
    return written(image(fits.ImageHDU(VALUES, wcs_cards(), name="SCI")), checksum=True)


def tiles(method, with_sum):
    content = written(image(fits.CompImageHDU(VALUES, wcs_cards(), name="SCI", compression_type=method)))
    if not with_sum:
        return content
    original = fits.ImageHDU(VALUES)
    original.add_checksum()
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "x.fits")
        path.write_bytes(content)
        with fits.open(path, disable_image_compression=True) as hdus:
            hdus[1].header["ZDATASUM"] = original.header["DATASUM"]
            return written(hdus)


def hdf5(libver="latest", **options):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "x.h5")
        with h5py.File(path, "w", libver=libver) as file:
            file.create_dataset("a", data=VALUES, **options)
            file["a"].attrs["word"] = np.bytes_(b"abcdef")
        return path.read_bytes()


def npz(save):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "x.npz")
        save(path, a=VALUES)
        return path.read_bytes()


def asdf_file(values=VALUES):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "x.asdf")
        asdf.AsdfFile({"a": values, "word": "abcdef"}).write_to(path, pad_blocks=1.0, all_array_storage="internal")
        return path.read_bytes()


def at(content, what, offset=0, last=False):
    place = content.rfind(what) if last else content.find(what)
    assert place >= 0, what
    return place + offset


def heap_byte(content):
    """A byte of the last tile of a compressed image."""
    with fits.open(io.BytesIO(content), disable_image_compression=True) as hdus:
        header, start = hdus[1].header, hdus[1].fileinfo()["datLoc"]
    return start + header["NAXIS1"] * header["NAXIS2"] + header["PCOUNT"] - 10


ELEMENTS = VALUES.tobytes()[1000:1016]


def converted(content, name, *options):
    """A file that Trilith makes of another one."""
    with tempfile.TemporaryDirectory() as folder:
        source, path = pathlib.Path(folder, "source.asdf"), pathlib.Path(folder, name)
        source.write_bytes(content)
        peer.trilith("convert", "-q", source, path, *options)
        return path.read_bytes()


def embedded():
    """An ASDF file in an HDU of a FITS file."""
    with tempfile.TemporaryDirectory() as folder:
        base, source, path = (pathlib.Path(folder, name) for name in ("base.fits", "source.asdf", "x.fits"))
        base.write_bytes(plain_fits())
        source.write_bytes(asdf_file(VALUES + 1))
        peer.trilith("convert", "-q", "--embed", base, source, path)
        return path.read_bytes()


def table():
    columns = [fits.Column("x", "I", array=VALUES[:, 5]), fits.Column("y", "E", array=np.arange(64))]
    hdu = fits.BinTableHDU.from_columns(columns, name="T")
    hdu.header["OBJECT"] = "abcdef"
    return written(image(hdu), checksum=True)


def crc32c(content):
    """RFC 3720, appendix B.4."""
    crc = 0xFFFFFFFF
    for byte in content:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return struct.pack("<I", crc ^ 0xFFFFFFFF)


def fletcher32(content):
    """The sum of HDF5: of 16-bit big-endian words."""
    first = second = 0
    for word in struct.unpack(f">{len(content) // 2}H", content):
        first = (first + word) % 65535
        second = (second + first) % 65535
    return struct.pack("<I", second << 16 | first)


# The kind, the filters by the words of layouts, and a stored chunk.
CHUNK_CHECKSUMS = [
    ("fletcher32", lambda chunk: "fletcher32", lambda chunk: chunk + fletcher32(chunk)),
    ("crc32c", lambda chunk: "crc32c", lambda chunk: chunk + crc32c(chunk)),
    ("crc32", lambda chunk: f"crc32({zlib.crc32(chunk)})", lambda chunk: chunk),
    ("gzip", lambda chunk: "gzip", lambda chunk: gzip.compress(chunk, mtime=0)),
]


def chunks(filters, encode):
    """A Dudley file with an array in one chunk, and the place of a byte in it."""
    chunk = VALUES.tobytes()
    stored = encode(chunk)
    notes = f'  #: grid_shape=[64, 64]\n  #: grid_chunk=[64, 64]\n  #: grid_type=">i2"\n  #: grid_filters="{filters(chunk)}"\n'
    layout = f"a = u1[{len(stored)}]\n{notes}n = <i4\n".encode()
    data = stored + bytes(-len(stored) % 4) + struct.pack("<i", 5)
    head = b"\x8d<BD\r\n\x1a\n" + struct.pack("<Q", 16 + len(data))
    return head + data + layout, 16 + len(stored) // 2


def samples():
    """Format, checksum and place; the name of the file; the content; the byte of the flipped bit; array and value to set."""
    content = asdf_file()
    block = content.find(b"\xd3BLK")
    items = "#/a", "#/word"
    yield "ASDF MD5 data", "x.asdf", content, at(content, ELEMENTS), *items
    yield "ASDF MD5 header", "x.asdf", content, block + 4 + 2 + 4 + 4 + 24, *items
    yield "ASDF MD5 padding", "x.asdf", content, block + 54 + VALUES.nbytes + 10, *items
    content, fits_items = plain_fits(), ("#/fits/SCI/data", "#/fits/SCI/header/OBJECT")
    yield "FITS DATASUM data", "x.fits", content, at(content, ELEMENTS), *fits_items
    yield "FITS DATASUM padding", "x.fits", content, at(content, VALUES.tobytes(), VALUES.nbytes + 9), *fits_items
    yield "FITS CHECKSUM header", "x.fits", content, at(content, b"abcdef"), *fits_items
    yield "FITS CHECKSUM padding", "x.fits", content, at(content, VALUES.tobytes(), -1), *fits_items
    content = tiles("RICE_1", True)
    yield "FITS ZDATASUM data", "x.fits", content, heap_byte(content), *fits_items
    content = tiles("GZIP_1", False)
    yield "FITS CRC-32 data", "x.fits", content, heap_byte(content), *fits_items
    content, items = hdf5(), ("#/a", "#/a@word")
    yield "HDF5 lookup3 header", "x.h5", content, at(content, b"abcdef"), *items
    content = hdf5(chunks=(8, 8), maxshape=(None, 64))
    yield "HDF5 lookup3 index", "x.h5", content, at(content, b"EAIB", 16), *items
    content = hdf5("earliest", chunks=(8, 8), compression="gzip", shuffle=True, fletcher32=True)
    with h5py.File(io.BytesIO(content)) as file:
        chunk = file["a"].id.get_chunk_info(3).byte_offset
    yield "HDF5 fletcher32 data", "x.h5", content, chunk + 10, *items
    for name, save in ("stored", np.savez), ("deflated", np.savez_compressed):
        content = npz(save)
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            member = archive.infolist()[0]
        start = at(content, b"a.npy") + 5 + int.from_bytes(content[28:30], "little")
        yield f"NPZ CRC-32 {name} data", "x.npz", content, start + member.compress_size // 2, "#/a", "#/a"
        yield f"NPZ CRC-32 {name} sum", "x.npz", content, at(content, b"PK\x01\x02", 16), "#/a", "#/a"
    content = gzip.compress(plain_fits(), mtime=0)
    yield "any CRC-32 data", "x.fits.gz", content, len(content) // 2, *fits_items
    yield "any CRC-32 trailer", "x.fits.gz", content, len(content) - 6, *fits_items
    for codec in "zlib", "bzp2", "lz4", "lz4f", "zstd", "blsc":
        content = converted(asdf_file(), "x.asdf", "--codec", codec)
        block = content.find(b"\xd3BLK")
        used = int.from_bytes(content[block + 22 : block + 30], "big")
        yield f"ASDF MD5 {codec}", "x.asdf", content, block + 54 + used // 2, "#/a", "#/word"
    content = embedded()
    place = at(content, b"\xd3BLK", 54 + 100)
    yield "ASDF MD5 in FITS", "asdf.fits", content, place, "#/a", "#/word"
    content = plain_fits()
    yield "FITS DATASUM card", "x.fits", content, at(content, b"DATASUM = '", 11, last=True), *fits_items
    yield "FITS CHECKSUM card", "x.fits", content, at(content, b"CHECKSUM= '", 11, last=True), *fits_items
    content = table()
    items = "#/fits/T/data/x", "#/fits/T/header/OBJECT"
    yield "FITS DATASUM table", "x.fits", content, at(content, VALUES[:, 5].tobytes()[:1], 0, last=True), *items
    content = hdf5("latest", compression="gzip")
    with h5py.File(io.BytesIO(content)) as file:
        chunk = file["a"].id.get_chunk_info(0)
    yield "HDF5 adler32 data", "x.h5", content, chunk.byte_offset + chunk.size // 2, "#/a", "#/a"
    content = hdf5()
    yield "HDF5 lookup3 superblock", "x.h5", content, at(content, b"\x89HDF", 30), "#/a", "#/a@word"
    content = hdf5(chunks=(8, 8), maxshape=(None, None))
    yield "HDF5 lookup3 tree", "x.h5", content, at(content, b"BTHD", 17), "#/a", "#/a@word"
    for name, filters, encode in CHUNK_CHECKSUMS:
        content, place = chunks(filters, encode)
        yield f"Dudley {name}", "x.bd", content, place, "#/a", "#/n"


def run(*words):
    done = subprocess.run([peer.PROGRAM, *words], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def has_wrong_sum(path, kind):
    status, out, _ = run("verify", str(path), "--json")
    report = json.loads(out) if out else {}
    if status and kind is not None and report.get("checksums"):
        assert any(not found["ok"] for found in report["checksums"] if found["kind"] == kind), (kind, out)
    return status != 0


def outcome(command, path, array, value, kind):
    """Runs a command, and says what came of it."""
    folder = path.parent
    address, item = str(path) + array, str(path) + value
    if command == "verify":
        return "finds" if has_wrong_sum(path, kind) else "silent"
    if command == "verify --deep":
        return {0: "silent", 1: "finds"}.get(run("verify", "--deep", str(path))[0])
    if command == "check":
        status, out, _ = run("check", str(path), "--json")
        assert json.loads(out)["ok"] is (status == 0)
        return {0: "silent", 1: "finds"}.get(status, f"status {status}")
    if command == "digest":
        return "reads" if run("digest", str(path))[0] == 0 else "refuses"
    if command == "get":
        return "reads" if run("get", address)[0] == 0 else "refuses"
    if command == "set" and path.name.split(".")[1] not in ("asdf", "fits", "bd"):
        return "-"
    if command == "cutout" and ("fits" not in path.name or array == "#/fits/T/data/x"):
        return "-"
    if command == "repair" and "asdf" not in path.name and path.suffix != ".bd":
        return "-"
    repaired = "y" + path.suffix
    out = folder / {"get -o": "y.npy", "cutout": "y.fits", "repair": repaired}.get(command, "y.asdf")
    words = {
        "get -o": ["get", address, "-o", str(out)],
        "convert": ["convert", str(path), str(out)],
        "set": ["set", item, "7" if path.suffix == ".bd" else "other"],
        "cutout": ["cutout", address, "--sky", "10.0,10.0", "--size", "9px", "-o", str(out)],
        "repair": ["repair", str(path), "-o", str(out)],
    }[command]
    before = path.read_bytes()
    status, _, message = run("-q", *words)
    if command == "set":
        out = path
        if path.read_bytes() == before:
            assert status != 0
            return "refuses"
    elif not out.exists():
        assert status != 0, message
        return "refuses"
    if out.suffix == ".npy":
        return "writes"
    wrong = has_wrong_sum(out, None)
    has_sum = bool(json.loads(run("verify", str(out), "--json")[1])["checksums"])
    path.write_bytes(before)
    return "keeps" if wrong else "writes" if has_sum else "drops"


class Matrix(unittest.TestCase):
    def test_no_command_vouches_for_flipped_bit(self):
        lines = []
        for name, file, content, byte, array, value in samples():
            words = []
            for command in COMMANDS:
                with tempfile.TemporaryDirectory() as folder:
                    path = pathlib.Path(folder, file)
                    damaged = bytearray(content)
                    path.write_bytes(damaged)
                    if command == "verify":
                        self.assertEqual(run("verify", str(path))[0], 0, name)
                    damaged[byte] ^= 1
                    path.write_bytes(damaged)
                    words.append(outcome(command, path, array, value, name.split()[1]))
            lines.append(f"{name:<26}" + "".join(f"{word:<9}" for word in words).rstrip())
        if os.environ.get("TRILITH_PRINT"):
            print("\n".join(lines))
        self.assertEqual(sorted(lines), sorted(line for line in EXPECTED.strip().splitlines() if not line.startswith("#")))


if __name__ == "__main__":
    unittest.main()
