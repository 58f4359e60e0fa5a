//! The table of foreign formats: what a file is, and what is done with it.

use super::recognize;
use crate::bytes::{Resolve, Source, SourceRef};
use crate::error::Result;
use crate::limits::Limits;

/// The place of magic bytes.
type At = &'static [usize];

/// Gives the text of the layout of a file.
pub(super) type Derivation = fn(&SourceRef, &dyn Resolve, &Limits) -> Result<String>;

/// Treatment of the files of a format.
#[derive(Clone, Copy)]
pub(super) enum Handled {
    /// The layout of the file is derived. The string is the name of the format, as `info` shows it.
    Derived(&'static str, Derivation),
    /// The file is refused. The string is the remedy.
    Refused(&'static str),
}

/// A way to recognise a file.
pub(super) enum Mark {
    /// Recognition by these magic bytes, at one of these offsets.
    Bytes(&'static [u8], At),
    /// Recognition by the first bytes (4 KiB, if the file has as many), and by further bytes if needed.
    #[allow(dead_code, reason = "for formats without a mark")]
    Check(fn(&[u8], &dyn Source) -> bool),
}

/// A file format of other programs.
pub(super) struct Format {
    /// A noun for a file of the format, with the article.
    pub what: &'static str,
    pub mark: Mark,
    pub handled: Handled,
}

const START: At = &[0];
/// HDF5 may have a header of somebody else in front.
const HDF5: At = &[0, 512, 1024, 2048];
const PICTURE: &str = "open it with an image viewer or Pillow";
pub(super) const PROGRAM: &str = "name a data file";
const UNFINISHED: &str = "finish() does that once all its regions are written, and abort() removes it (ParallelWriter::open, or trilith.resume in Python)";
const CDF: &str = "read it with cdflib";
const TABLE: &str = "read it with pandas, polars or DuckDB";

/// A format whose layout is derived by the module of that name.
const fn derived(name: &'static str, what: &'static str, mark: Mark, derivation: Derivation) -> Format {
    Format { what, mark, handled: Handled::Derived(name, derivation) }
}

/// The derivation of a module whose files refer to no others.
macro_rules! alone {
    ($module:ident) => {
        |source, _, limits| super::$module::derive(source, limits)
    };
}

/// A format that is refused.
const fn row(what: &'static str, mark: &'static [u8], at: At, advice: &'static str) -> Format {
    Format { what, mark: Mark::Bytes(mark, at), handled: Handled::Refused(advice) }
}

/// All known formats. The first one that matches counts.
pub(super) const FORMATS: &[Format] = &[
    derived("HDF5", "an HDF5 file (as netCDF-4 files are)", Mark::Bytes(b"\x89HDF\r\n\x1a\n", HDF5), super::hdf5::derive),
    row("an HDF4 file", b"\x0e\x03\x13\x01", START, "read it with pyhdf, or convert it to HDF5 with h4toh5"),
    derived("netCDF-3", "a netCDF-3 file", Mark::Bytes(b"CDF\x01", START), alone!(netcdf3)),
    derived("netCDF-3", "a netCDF-3 file (CDF-2)", Mark::Bytes(b"CDF\x02", START), alone!(netcdf3)),
    derived("netCDF-3", "a netCDF-3 file (CDF-5)", Mark::Bytes(b"CDF\x05", START), alone!(netcdf3)),
    derived("safetensors", "a safetensors file", Mark::Check(recognize::is_safetensors), alone!(safetensors)),
    derived("NPZ", "a numpy .npz archive", Mark::Check(recognize::is_npz), alone!(npz)),
    derived("PDB", "a PDB file", Mark::Bytes(b"!<<PDB:", START), alone!(pdb)),
    derived("NPY", "a numpy .npy file", Mark::Bytes(b"\x93NUMPY", START), alone!(npy)),
    derived("TIFF", "a TIFF image", Mark::Bytes(b"II*\0", START), alone!(tiff)),
    derived("TIFF", "a TIFF image", Mark::Bytes(b"MM\0*", START), alone!(tiff)),
    derived("BigTIFF", "a BigTIFF image", Mark::Bytes(b"II+\0", START), alone!(tiff)),
    derived("BigTIFF", "a BigTIFF image", Mark::Bytes(b"MM\0+", START), alone!(tiff)),
    row("a PNG image", b"\x89PNG\r\n\x1a\n", START, PICTURE),
    row("a GIF image", b"GIF8", START, PICTURE),
    row("a JPEG image", b"\xff\xd8\xff", START, PICTURE),
    row("a JPEG 2000 image", b"\0\0\0\x0cjP  \r\n\x87\n", START, PICTURE),
    row("a PDF document", b"%PDF-", START, "open it with a PDF viewer"),
    row("a Parquet file", b"PAR1", START, TABLE),
    row("an Arrow file", b"ARROW1", START, TABLE),
    row("an SQLite database", b"SQLite format 3\0", START, "open it with sqlite3"),
    row("a MATLAB file", b"MATLAB 5.0 MAT-file", START, "read it with scipy.io.loadmat"),
    row("a ROOT file", b"root\0", START, "read it with uproot"),
    row("a NASA CDF file", b"\xcd\xf3\x00\x01", START, CDF),
    row("a NASA CDF file", b"\xcd\xf2\x60\x02", START, CDF),
    Format {
        what: "a VOTable",
        mark: Mark::Check(recognize::is_votable),
        handled: Handled::Refused("read it with astropy.table.Table.read, which can write it as FITS"),
    },
    Format {
        what: "a Python pickle",
        mark: Mark::Check(recognize::is_pickle),
        handled: Handled::Refused("load it in Python, only if you trust it: a pickle may run any program"),
    },
    row("a GRIB file", b"GRIB", START, "read it with cfgrib or ecCodes"),
    row("a file compressed with Zstandard", b"\x28\xb5\x2f\xfd", START, "unpack it with unzstd, and name the file that it held"),
    row("a file compressed with compress (.Z)", b"\x1f\x9d", START, "unpack it with uncompress, and name the file that it held"),
    row("a file compressed with bzip2", b"BZh", START, "unpack it with bunzip2, and name the file that it held"),
    row("a file compressed with xz", b"\xfd7zXZ\0", START, "unpack it with unxz, and name the file that it held"),
    row("a file compressed with LZ4", b"\x04\x22\x4d\x18", START, "unpack it with unlz4, and name the file that it held"),
    row("a tar archive", b"ustar", &[257], "unpack it with tar -xf, and name the files that it held"),
    row("a 7z archive", b"7z\xbc\xaf\x27\x1c", START, "unpack it with 7z x, and name the files that it held"),
    row("an empty ZIP archive", b"PK\x05\x06", START, PROGRAM),
    row("a program (ELF)", b"\x7fELF", START, PROGRAM),
    row("a program (Windows)", b"MZ\x90\0", START, PROGRAM),
    row(
        "a Git LFS pointer, not the file itself",
        b"version https://git-lfs.github.com/",
        START,
        "fetch the file with git lfs pull",
    ),
    row("a git-annex pointer, not the file itself", b"/annex/objects/", START, "fetch the file with git annex get"),
    row("unfinished: a file that several processes write, which none has put in its place yet", b"~ASDF 1.", START, UNFINISHED),
    row("unfinished: a Dudley file that several processes write, which none has put in its place yet", b"~B<", START, UNFINISHED),
    row(
        "unfinished: a big-endian Dudley file that several processes write, which none has put in its place yet",
        b"~B>",
        START,
        UNFINISHED,
    ),
    row(
        "a part of an ASDF file: a block without header and tree",
        b"\xd3BLK",
        START,
        "trilith repair FILE -o OUT recovers what is left",
    ),
    // A longer header of somebody else is seldom, so that all others come first.
    derived("HDF5", "an HDF5 file (as netCDF-4 files are)", Mark::Check(recognize::is_hdf5), super::hdf5::derive),
    // Fortran records have no magic bytes, so all other formats are tried first.
    derived("Fortran records", "a file of unformatted Fortran records", Mark::Check(recognize::is_fortran), alone!(fortran)),
];
