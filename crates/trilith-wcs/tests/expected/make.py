"""Writes the expectations of the tests beside it, with wcslib through astropy.

    python make.py          # needs astropy and numpy
"""

import json
import pathlib
import warnings

import numpy as np
from astropy.io import fits
from astropy.wcs import WCS, InvalidTransformError

HERE = pathlib.Path(__file__).parent
PARAMETERS = {
    "AZP": [2.0, 30.0], "SZP": [2.0, 180.0, 60.0], "SIN": [0.1, -0.2], "AIR": [45.0], "CYP": [1.0, 0.7], "CEA": [0.8],
    "COP": [45.0, 25.0], "COE": [-45.0, 15.0], "COD": [45.0, 25.0], "COO": [45.0, 25.0], "BON": [45.0], "HPX": [4, 3],
}
CODES = "AZP SZP TAN STG SIN ARC ZEA AIR CYP CEA CAR MER SFL PAR MOL AIT COP COE COD COO BON PCO TSC CSC QSC HPX XPH".split()


def base(code, crval, scale):
    turn = np.deg2rad(25.0)
    return {
        "CTYPE1": f"RA---{code}", "CTYPE2": f"DEC--{code}", "CRVAL1": crval[0], "CRVAL2": crval[1], "CRPIX1": 101.5, "CRPIX2": 88.25,
        "CD1_1": -scale * np.cos(turn), "CD1_2": 1.1 * scale * np.sin(turn), "CD2_1": scale * np.sin(turn), "CD2_2": 1.1 * scale * np.cos(turn),
    }


def headers():
    for code in CODES:
        for crval in [(10.0, 20.0), (359.9, -35.0), (200.0, 0.0)]:
            cards = base(code, crval, 0.2)
            cards |= {f"PV2_{n}": value for n, value in enumerate(PARAMETERS.get(code, []), 1)}
            yield code, cards
    yield "pole", base("TAN", (0.0, 90.0), 0.001)
    yield "lonpole", base("CAR", (30.0, 40.0), 0.2) | {"LONPOLE": 150.0, "LATPOLE": -90.0}
    yield "galactic", base("AIT", (0.0, 0.0), 1.0) | {"CTYPE1": "GLON-AIT", "CTYPE2": "GLAT-AIT"}
    sip = base("TAN-SIP", (150.0, 2.0), 1e-4)
    sip |= {"A_ORDER": 3, "B_ORDER": 3, "A_0_2": 2e-6, "A_2_0": -1e-6, "A_1_1": 3e-6, "A_3_0": 1e-9, "B_0_2": 1e-6, "B_2_0": 4e-6, "B_1_1": -2e-6, "B_0_3": -2e-9}
    yield "SIP", sip
    yield "SIP with inverse", sip | {"AP_ORDER": 2, "BP_ORDER": 2, "AP_0_2": -2e-6, "AP_2_0": 1e-6, "AP_1_1": -3e-6, "BP_0_2": -1e-6, "BP_2_0": -4e-6, "BP_1_1": 2e-6}
    tpv = base("TPV", (150.0, 2.0), 1e-3)
    tpv |= {"PV1_0": 1e-5, "PV1_1": 1.001, "PV1_2": 2e-4, "PV1_3": 1e-4, "PV1_4": 1e-3, "PV1_5": -2e-3, "PV1_6": 1e-3, "PV1_7": 3e-3, "PV1_8": 1e-3, "PV1_9": 2e-3, "PV1_10": -1e-3, "PV1_11": 1e-3, "PV1_17": 2e-2, "PV1_23": -1e-2, "PV1_39": 0.1}
    tpv |= {"PV2_0": -1e-5, "PV2_1": 0.999, "PV2_2": -2e-4, "PV2_4": 2e-3, "PV2_5": 1e-3, "PV2_6": -1e-3, "PV2_7": 1e-3, "PV2_10": 2e-3, "PV2_16": 0.01, "PV2_24": 0.02, "PV2_31": 0.1}
    yield "TPV", tpv
    yield "TAN with PV", {**tpv, "CTYPE1": "RA---TAN", "CTYPE2": "DEC--TAN"}
    yield "CROTA", {"CTYPE1": "RA---TAN", "CTYPE2": "DEC--TAN", "CRVAL1": 10.0, "CRVAL2": -60.0, "CRPIX1": 100.0, "CRPIX2": 100.0, "CDELT1": -0.01, "CDELT2": 0.02, "CROTA2": 33.0}


def numbers(array):
    return [None if np.isnan(x) else float(x) for x in array]


def main():
    random = np.random.default_rng(20261125)
    found = []
    for name, cards in headers():
        header = fits.Header()
        for key, value in cards.items():
            header[key] = value
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                wcs = WCS(header)
            except InvalidTransformError:
                found.append({"name": name, "cards": cards})
                continue
        pixels = random.uniform(0, 200, (2, 12))
        world = wcs.all_pix2world(*pixels, 0)
        found.append({"name": name, "cards": cards, "x": numbers(pixels[0]), "y": numbers(pixels[1]), "lon": numbers(world[0]), "lat": numbers(world[1])})
    (HERE / "headers.json").write_text("[\n" + ",\n".join(json.dumps(one) for one in found) + "\n]\n")


if __name__ == "__main__":
    main()
