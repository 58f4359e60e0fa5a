"""Codecs that Python asdf lacks, against independent packages: zstandard, lz4.frame and blosc."""

import asdf
import blosc
import lz4.frame
import numpy as np
import peer
import zstandard

ARRAY = np.repeat(np.random.default_rng(7).normal(100, 5, (200, 300)).astype("<f4"), 20, axis=0)

DECODE = {
    "zstd": lambda stored, size: zstandard.ZstdDecompressor().decompress(stored, max_output_size=size),
    "lz4f": lambda stored, size: lz4.frame.decompress(stored),
    "blsc": lambda stored, size: blosc.decompress(stored),
}

ENCODE = {
    "zstd": lambda raw: zstandard.ZstdCompressor(level=3).compress(raw),
    "lz4f": lz4.frame.compress,
    "blsc": lambda raw: blosc.compress(raw, typesize=4),
}


class Codecs(peer.Case):
    def test_ours_decode_elsewhere(self):
        plain = self.folder / "plain.asdf"
        peer.write(plain, {"a": ARRAY})
        for codec, decode in DECODE.items():
            with self.subTest(codec=codec):
                path = self.folder / f"{codec}.asdf"
                peer.trilith("convert", plain, path, "--codec", codec)
                (block,) = peer.trilith_json("info", path)["blocks"]
                self.assertEqual(block["compression"], codec)
                start = block["data_offset"]
                stored = path.read_bytes()[start : start + block["used"]]
                self.assertEqual(len(stored), block["used"])
                self.assertEqual(decode(stored, block["data_size"]), ARRAY.tobytes())
                self.assertEqual(peer.trilith_json("digest", path)["arrays"]["/a"]["sha256"], peer.sha256(ARRAY))

    def test_theirs_decode_here(self):
        for codec, encode in ENCODE.items():
            with self.subTest(codec=codec):
                path = self.folder / f"{codec}.asdf"
                peer.write(path, {"a": ARRAY})
                replace_block(path, codec.encode(), encode(ARRAY.tobytes()))
                self.assertEqual(peer.stripped(peer.trilith_json("digest", path)["arrays"]["/a"]), peer.expected(ARRAY))

    def test_asdf_compression_reads_ours_and_writes_for_us(self):
        for codec in ENCODE:
            with self.subTest(codec=codec):
                theirs, ours = self.folder / "theirs.asdf", self.folder / "ours.asdf"
                peer.write(theirs, {"a": ARRAY}, codec=codec)
                self.assertEqual(peer.stripped(peer.trilith_json("digest", theirs)["arrays"]["/a"]), peer.expected(ARRAY))
                peer.trilith("convert", theirs, ours, "--codec", codec)
                with asdf.open(ours, validate_checksums=True) as opened:
                    self.assertTrue(peer.same(peer.load(opened["a"]), ARRAY))

    def test_an_unknown_codec_leaves_the_rest_usable(self):
        path = self.folder / "unknown.asdf"
        other = np.arange(10)
        peer.write(path, {"a": ARRAY, "b": other})
        change_codec(path, b"zzzz", 0)
        said = peer.trilith_json("digest", path, status=2)
        self.assertEqual(peer.stripped(said["arrays"]["/b"]), peer.expected(other))
        self.assertIn("zzzz", said["errors"]["/a"])


def change_codec(path, label, index):
    """Writes another compression label into a block header."""
    at = peer.trilith_json("info", path)["blocks"][index]["offset"]
    data = bytearray(path.read_bytes())
    data[at + 10 : at + 14] = label
    path.write_bytes(bytes(data))


def replace_block(path, label, stored):
    """Puts compressed bytes in place of the only block of a file, without checksum and index."""
    data = path.read_bytes()
    at = data.index(b"\xd3BLK")
    size = int.from_bytes(data[at + 30 : at + 38], "big")
    header = b"\0\0\0\0" + label + len(stored).to_bytes(8, "big") * 2 + size.to_bytes(8, "big") + bytes(16)
    path.write_bytes(data[:at] + b"\xd3BLK\0\x30" + header + stored)
