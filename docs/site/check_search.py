"""Checks the search of the built site: `python check_search.py SITE`.

A word of another tool must lead to the page with our line for it, and no word to a page for contributors.
"""

import json
import pathlib
import re
import sys

from sphinx.search.en import SearchEnglish

# A line of another tool, and a page that has ours.
LINES = {
    "fitsheader": "docs/how-to/fits-headers",
    "fitsdiff": "docs/how-to/compare-versions",
    "fitscheck": "docs/how-to/check-download",
    "fverify": "docs/coming-from/fits",
    "ftchecksum": "docs/how-to/check-download",
    "funpack": "docs/coming-from/fits",
    "listhead": "docs/how-to/fits-headers",
    "fthedit": "docs/how-to/fits-headers",
    "dfits fitsort": "docs/how-to/fits-headers",
    "CFITSIO": "docs/how-to/fits-headers",
    "imcopy": "docs/how-to/cut-out",
    "showtable": "docs/how-to/fits-tables",
    "astropy.table": "docs/how-to/fits-tables",
    "topcat": "docs/how-to/fits-tables",
    "h5diff": "docs/how-to/compare-versions",
    "h5repack": "docs/coming-from/h5py",
    "h5dump": "docs/how-to/read-hdf5",
    "h5ls": "docs/how-to/read-hdf5",
    "h5web": "docs/view",
    "ncdump -h": "docs/how-to/netcdf",
    "ncks": "docs/how-to/netcdf",
    "ncview": "docs/view",
    "nccmp": "docs/how-to/compare-versions",
    "cdo mergetime": "docs/how-to/netcdf",
    "asdftool info": "docs/coming-from/asdf",
    "asdftool edit": "docs/how-to/edit",
    "ds9": "docs/view",
    "fv": "docs/view",
    "gdalinfo": "docs/how-to/geotiff",
    "gdal_translate": "docs/how-to/geotiff",
    "tiffinfo": "docs/how-to/geotiff",
    "numpy.load": "docs/how-to/numpy",
    "open_mfdataset": "docs/how-to/join-files",
    "ncrcat": "docs/how-to/join-files",
    "rioxarray": "docs/how-to/geotiff",
    "reproject": "docs/how-to/sky",
    "astrocut": "docs/how-to/sky",
}
FOR_CONTRIBUTORS = ("decisions", "measurements", "conformance", "updates", "security", "ARCHITECTURE", "CONTRIBUTING", "SECURITY")


def main(site):
    text = (pathlib.Path(site) / "searchindex.js").read_text()
    index = json.loads(text[text.index("{") : text.rindex("}") + 1])
    names = index["docnames"]
    stem = SearchEnglish({}).stem

    def pages(word):
        found = set()
        for table in ("terms", "titleterms"):
            at = index[table].get(stem(word.lower()), [])
            found |= {names[number] for number in (at if isinstance(at, list) else [at])}
        return found

    faults = []
    for line, page in LINES.items():
        words = [word for word in re.findall(r"\w+", line) if len(word) > 1]
        found = set.intersection(*map(pages, words))
        if page not in found:
            faults.append(f"{line!r} does not lead to {page}, but to {sorted(found)}")
    numbers = {number for table in ("terms", "titleterms") for at in index[table].values() for number in (at if isinstance(at, list) else [at])}
    listed = {names[number] for number in numbers}
    faults += [f"{page} is in the search" for page in sorted(listed) if page.split("/")[-1] in FOR_CONTRIBUTORS or page.startswith(("tests/", "fuzz/"))]
    if faults:
        sys.exit("\n".join(faults))
    print(f"{len(LINES)} lines of other tools lead to their pages; {len(listed)} pages are searched")


if __name__ == "__main__":
    main(sys.argv[1])
