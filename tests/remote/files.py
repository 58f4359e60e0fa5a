"""Files to serve. What is large is made of a few parts again and again, so that it takes no time."""

import hashlib
import struct

import lz4.block
import numpy as np

HEADER = b"#ASDF 1.0.0\n#ASDF_STANDARD 1.6.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n--- !core/asdf-1.1.0\n"


def block_header(stored, decoded, codec=b"\0\0\0\0", digest=bytes(16)):
    return b"\xd3BLK" + struct.pack(">HI4sQQQ16s", 48, 0, codec, stored, stored, decoded, digest)


def lz4_stored(data, chunk=4 << 20):
    """As Python asdf stores it: sub-blocks of 4 MiB decoded."""
    out = []
    for at in range(0, len(data), chunk):
        part = lz4.block.compress(data[at : at + chunk], store_size=True)
        out.append(struct.pack(">I", len(part)) + part)
    return b"".join(out)


def write(path, entries, blocks, index=True):
    """A file with this text as its tree and these blocks: (codec, stored bytes, decoded length, perhaps MD5)."""
    with open(path, "wb") as out:
        out.write(HEADER + entries.encode() + b"...\n")
        offsets = []
        for codec, stored, decoded, *digest in blocks:
            offsets.append(out.tell())
            size = stored if isinstance(stored, int) else len(stored)
            out.write(block_header(size, decoded, codec, *digest))
            if isinstance(stored, int):
                out.seek(stored, 1)  # a hole
            else:
                out.write(stored)
        if index:
            lines = "".join(f"- {offset}\n" for offset in offsets)
            out.write(f"#ASDF BLOCK INDEX\n%YAML 1.1\n---\n{lines}...\n".encode())
    return path


def array(name, source, datatype, shape, extra=""):
    return f"{name}: !core/ndarray-1.1.0 {{source: {source}, datatype: {datatype}, byteorder: little, shape: {list(shape)}{extra}}}\n"


def noise(size, seed=1):
    """Little-endian int16 that lz4 makes a good half as long."""
    return np.random.default_rng(seed).normal(100, 12, size // 2).astype("<i2").tobytes()


def large_lz4(path):
    size = 84 << 20
    data = noise(size // 4) * 4
    stored = lz4_stored(data)
    # So much that 16 of them are 1 GiB and no more.
    tree = "".join(array(f"a{n}", n, "int16", [size // 2]) for n in range(16))
    path.write_bytes(b"")
    write(path, tree, [(b"lz4\0", stored, size)] * 16)
    return {"path": path, "data": data, "stored": len(stored), "size": path.stat().st_size}


def large_plain(path):
    size = 1 << 30
    write(path, array("data", 0, "float64", [size // 8]) + array("after", 1, "uint8", [4]), [(b"\0" * 4, size, size), (b"\0" * 4, b"abcd", 4)])
    # Something to tell places from each other.
    with open(path, "r+b") as out:
        start = path.read_bytes()[:2000].index(b"\xd3BLK") + 54
        for at in range(0, size, 1 << 20):
            out.seek(start + at)
            out.write(struct.pack("<d", at))
    return {"path": path, "start": start, "size": path.stat().st_size}


def image(path):
    side = 4088
    data = np.random.default_rng(2).integers(0, 60000, (side, side), dtype="uint32").astype("<f4")
    write(path, array("data", 0, "float32", [side, side]), [(b"\0" * 4, data.tobytes(), data.nbytes)])
    return {"path": path, "data": data, "size": path.stat().st_size}


WCS = """meta:
  wcs: !<tag:stsci.edu:gwcs/wcs-1.4.0>
    name: image
    steps:
    - !<tag:stsci.edu:gwcs/step-1.3.0>
      frame: detector
      transform: !<tag:stsci.edu:gwcs/fitswcs_imaging-1.0.0>
        bounding_box: !transform/property/bounding_box-1.2.0
          ignore: []
          intervals: {{x: [-0.5, {0}.5], y: [-0.5, {1}.5]}}
          order: F
        crpix: !core/ndarray-1.1.0 [{2}.0, {3}.0]
        crval: !core/ndarray-1.1.0 [270.0, 66.0]
        cdelt: !core/ndarray-1.1.0 [-3.0e-5, 3.0e-5]
        pc: !core/ndarray-1.1.0 [[1.0, 0.0], [0.0, 1.0]]
        inputs: [x, y]
        outputs: [lon, lat]
        projection: !transform/gnomonic-1.4.0 {{direction: pix2sky, inputs: [x, y], outputs: [phi, theta]}}
    - !<tag:stsci.edu:gwcs/step-1.3.0>
      frame: !<tag:stsci.edu:gwcs/celestial_frame-1.2.0>
        axes_names: [lon, lat]
        axes_order: [0, 1]
        name: icrs
        reference_frame: !<tag:astropy.org:astropy/coordinates/frames/icrs-1.1.0> {{frame_attributes: {{}}}}
        unit: [!unit/unit-1.0.0 deg, !unit/unit-1.0.0 deg]
      transform: null
"""


def sky(path):
    """An image of 1 GiB with positions on the sky, and another array of its shape: 270, 66 is at the pixel 20000, 3000."""
    wide, high = 32768, 8192
    data = noise(wide * high // 16, 8) * 32
    stored = lz4_stored(data)
    tree = WCS.format(wide - 1, high - 1, 20000, 3000) + array("data", 0, "int16", [high, wide]) + array("err", 1, "int16", [high, wide])
    write(path, tree, [(b"lz4\0", stored, len(data))] * 2)
    return {"path": path, "data": np.frombuffer(data, "<i2").reshape(high, wide), "size": path.stat().st_size}


def medium(path):
    """More than is read without ranges for a part of it, in two arrays, the first of which is streamed in several requests."""
    parts = [noise(10 << 20, 6) * 7, noise(1 << 20, 7)]
    tree = "".join(array(name, n, "int16", [len(parts[n]) // 2]) for n, name in enumerate("ab"))
    digests = [hashlib.md5(part, usedforsecurity=False).digest() for part in parts]
    blocks = [(b"\0" * 4, part, len(part), digest) for part, digest in zip(parts, digests)]
    write(path, tree, blocks)
    return {"path": path, "parts": parts, "size": path.stat().st_size}


def small(path):
    import zlib

    parts = [noise(300_000, 3), noise(700_000, 4), noise(500_000, 5)]
    stored = [parts[0], lz4_stored(parts[1], 100_000), zlib.compress(parts[2])]
    codecs = [b"\0" * 4, b"lz4\0", b"zlib"]
    tree = "".join(array(name, n, "int16", [len(parts[n]) // 2]) for n, name in enumerate("abc"))
    write(path, "title: small\n" + tree, list(zip(codecs, stored, map(len, parts))))
    return {"path": path, "parts": dict(zip("abc", parts)), "digests": [hashlib.sha256(part).hexdigest() for part in parts]}
