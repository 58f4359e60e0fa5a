"""Writes seeds of the targets `foreign` and `hdf5`: `foreign_seeds.py FOLDER`.

They are the small ones among the files that tests/interop makes with the libraries of other formats.
"""

import pathlib
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/interop"))

import test_foreign_files as foreign  # noqa: E402
import test_tiff as tiff  # noqa: E402

LARGEST = 64 << 10
#: Which of the marks of targets/foreign.rs is none: what follows is a whole file.
NO_MARK = b"\x0a"


def main(out):
    makers = [make for make, there in foreign.MAKERS if there] + [tiff.written]
    with tempfile.TemporaryDirectory() as folder:
        for make in makers:
            own = pathlib.Path(folder, make.__name__)
            own.mkdir()
            for path, _ in make(own):
                data = path.read_bytes()
                path.unlink()
                if len(data) > LARGEST:
                    continue
                is_hdf5 = data.startswith(b"\x89HDF\r\n\x1a\n")
                target = out / ("hdf5" if is_hdf5 else "foreign")
                target.mkdir(parents=True, exist_ok=True)
                (target / f"{make.__name__}-{path.name}").write_bytes(data if is_hdf5 else NO_MARK + data)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
