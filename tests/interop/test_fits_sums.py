"""FITS files of changed trees: astropy accepts every CHECKSUM and DATASUM, and a file that did not change stays equal. Tier rest."""

import json
import pathlib
import random
import tempfile
import unittest
import warnings

import numpy as np
import peer
from astropy.io import fits
from astropy.io.fits.verify import VerifyWarning

SEED = 20260


class Written(unittest.TestCase):
    def test_changed_trees_have_right_sums(self):
        chance = random.Random(SEED)
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            for number in range(15):
                columns = [fits.Column("id", "J", array=np.arange(5)), fits.Column("ok", "L", array=[True] * 5)]
                table = fits.BinTableHDU.from_columns(columns)
                image = fits.ImageHDU(np.arange(chance.randrange(1, 4000), dtype=chance.choice([">i2", ">f4", "u1"])))
                hdus = fits.HDUList([fits.PrimaryHDU(), image, table])
                for hdu in hdus:
                    hdu.header["EXPTIME"] = (12.5, "[s]")
                    chance.choice([hdu.add_checksum, hdu.add_datasum, lambda: None])()
                hdus.writeto(folder / "x.fits", overwrite=True)
                peer.trilith("convert", folder / "x.fits", folder / "x.asdf")
                peer.trilith("convert", folder / "x.asdf", folder / "same.fits")
                self.assertEqual((folder / "x.fits").read_bytes(), (folder / "same.fits").read_bytes())
                at, value = chance.randrange(3), chance.random()
                cards = json.loads(peer.trilith("get", f"{folder}/x.asdf#/fits/{at}/header", "--format", "json"))
                place = next(place for place, card in enumerate(cards) if card[0] == "EXPTIME")
                peer.trilith("set", f"{folder}/x.asdf#/fits/{at}/header/{place}/1", value)
                if number % 2:
                    np.save(folder / "new.npy", image.data[::-1])
                    peer.trilith("set", f"{folder}/x.asdf#/fits/1/data", "--from", folder / "new.npy")
                peer.trilith("convert", folder / "x.asdf", folder / "y.fits")
                peer.trilith("verify", folder / "y.fits")
                with warnings.catch_warnings():
                    warnings.simplefilter("error")
                    warnings.simplefilter("ignore", VerifyWarning)
                    with fits.open(folder / "y.fits", checksum=True) as f:
                        self.assertEqual(f[at].header["EXPTIME"], value)
                        stated = [{"CHECKSUM", "DATASUM"} & set(hdu.header) for hdu in hdus]
                        self.assertEqual([{"CHECKSUM", "DATASUM"} & set(hdu.header) for hdu in f], stated)


if __name__ == "__main__":
    unittest.main()
