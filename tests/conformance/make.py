#!/usr/bin/env python3
"""Writes the files of the corpus and, in `cases.json` beside them, what is expected of whoever reads them.

    python3 tests/conformance/make.py           writes them
    python3 tests/conformance/make.py --check   says which differ from what it would write
"""

import json
import pathlib
import sys

from source import asdf, dudley

HERE = pathlib.Path(__file__).resolve().parent


def wanted():
    """Path and content of every file."""
    files, said = {}, {}
    for case in [*asdf.cases(), *dudley.cases()]:
        folder = HERE / case.document
        assert folder / case.name not in files, f"{case.name} is made twice"
        said.setdefault(folder / "cases.json", []).append(case.said)
        for name, data in {case.name: case.data, **case.beside}.items():
            assert files.setdefault(folder / name, data) == data, f"{name} is made twice"
    for path, cases in said.items():
        lines = ",\n".join(json.dumps(case, ensure_ascii=False) for case in cases)
        files[path] = f"[\n{lines}\n]\n".encode()
    return files


def main():
    """Writes or compares."""
    files = wanted()
    there = {path for folder in HERE.glob("*/cases.json") for path in folder.parent.iterdir()}
    if "--check" in sys.argv:
        wrong = sorted(str(path) for path in there ^ set(files))
        wrong += sorted(str(path) for path, data in files.items() if path.exists() and path.read_bytes() != data)
        print("\n".join(wrong))
        return 1 if wrong else 0
    for path in there - set(files):
        path.unlink()
    for path, data in files.items():
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)
    print(f"{len(files)} files")
    return 0


if __name__ == "__main__":
    sys.exit(main())
