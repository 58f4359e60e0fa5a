//! The table of foreign formats: what a file is, and what is done with it.

use super::recognize;
use crate::bytes::{Resolve, Source, SourceRef};
use crate::error::Result;
use crate::layout::Layout;
use crate::limits::Limits;

/// The place of magic bytes.
type MagicOffsets = &'static [usize];

/// Gives the layout of a file.
pub(super) type DeriveFn = fn(&SourceRef, &dyn Resolve, &Limits) -> Result<Layout>;

/// Treatment of the files of a format.
#[derive(Clone, Copy)]
pub(super) enum Support {
    /// The layout of the file is derived. The string is the name of the format, as `info` shows it.
    Derived(&'static str, DeriveFn),
    /// The file is refused. The string is the remedy.
    Unsupported(&'static str),
}

/// A way to recognise a file.
pub(super) enum MagicRule {
    /// Recognition by these magic bytes, at one of these offsets.
    Bytes(&'static [u8], MagicOffsets),
    /// Recognition by the first bytes (4 KiB, if the file has as many), and by further bytes if needed.
    #[allow(dead_code, reason = "for formats without a mark")]
    Check(fn(&[u8], &dyn Source) -> bool),
    /// Recognition by bytes anywhere in the file, since the first ones say nothing.
    Search(fn(&[u8], &dyn Source) -> bool),
}

/// A file format of other programs.
pub(super) struct ForeignFormat {
    /// A noun for a file of the format, with the article.
    pub name: &'static str,
    pub magic: MagicRule,
    pub support: Support,
}

const AT_START: MagicOffsets = &[0];
/// HDF5 may have a header of somebody else in front.
const HDF5_OFFSETS: MagicOffsets = &[0, 512, 1024, 2048];
/// The name of HDF5, as `info` shows it.
pub(super) const HDF5_NAME: &str = "HDF5";
const ADVICE_PICTURE: &str = "open it with an image viewer or Pillow";
pub(super) const ADVICE_PROGRAM: &str = "name a data file";
const ADVICE_UNFINISHED: &str = "finish() does that once all its regions are written, and abort() removes it (ParallelWriter::open, or trilith.resume in Python)";
const ADVICE_CDF: &str = "read it with cdflib";
pub(super) const ADVICE_ADIOS: &str = "read it with adios2";
const ADVICE_NIFTI: &str = "read it with nibabel";
const ADVICE_VTK: &str = "read it with PyVista or meshio";
const ADVICE_TABLE: &str = "read it with pandas, polars or DuckDB";

/// A format whose layout is derived by the module of that name.
const fn supported(name: &'static str, what: &'static str, mark: MagicRule, derivation: DeriveFn) -> ForeignFormat {
    ForeignFormat { name: what, magic: mark, support: Support::Derived(name, derivation) }
}

/// The derivation of a module whose files refer to no others.
macro_rules! alone {
    ($module:ident) => {
        |source, _, limits| super::$module::derive_layout(source, limits)
    };
}

/// A format that is refused.
const fn unsupported(what: &'static str, mark: &'static [u8], at: MagicOffsets, advice: &'static str) -> ForeignFormat {
    ForeignFormat { name: what, magic: MagicRule::Bytes(mark, at), support: Support::Unsupported(advice) }
}

/// A format without magic bytes that is refused.
const fn unsupported_check(what: &'static str, is_it: fn(&[u8], &dyn Source) -> bool, advice: &'static str) -> ForeignFormat {
    ForeignFormat { name: what, magic: MagicRule::Check(is_it), support: Support::Unsupported(advice) }
}

/// All known formats. The first one that matches counts.
pub(super) const FORMATS: &[ForeignFormat] = &[
    supported(
        HDF5_NAME,
        "an HDF5 file (as netCDF-4 files are)",
        MagicRule::Bytes(b"\x89HDF\r\n\x1a\n", HDF5_OFFSETS),
        super::hdf5::derive_layout,
    ),
    unsupported("an HDF4 file", b"\x0e\x03\x13\x01", AT_START, "read it with pyhdf, or convert it to HDF5 with h4toh5"),
    supported("netCDF-3", "a netCDF-3 file", MagicRule::Bytes(b"CDF\x01", AT_START), alone!(netcdf3)),
    supported("netCDF-3", "a netCDF-3 file (CDF-2)", MagicRule::Bytes(b"CDF\x02", AT_START), alone!(netcdf3)),
    supported("netCDF-3", "a netCDF-3 file (CDF-5)", MagicRule::Bytes(b"CDF\x05", AT_START), alone!(netcdf3)),
    supported("safetensors", "a safetensors file", MagicRule::Check(recognize::is_safetensors), alone!(safetensors)),
    supported("NPZ", "a numpy .npz archive", MagicRule::Check(recognize::is_npz), alone!(npz)),
    supported("PDB", "a PDB file", MagicRule::Bytes(b"!<<PDB:", AT_START), alone!(pdb)),
    supported("NPY", "a numpy .npy file", MagicRule::Bytes(b"\x93NUMPY", AT_START), alone!(npy)),
    supported("TIFF", "a TIFF image", MagicRule::Bytes(b"II*\0", AT_START), alone!(tiff)),
    supported("TIFF", "a TIFF image", MagicRule::Bytes(b"MM\0*", AT_START), alone!(tiff)),
    supported("BigTIFF", "a BigTIFF image", MagicRule::Bytes(b"II+\0", AT_START), alone!(tiff)),
    supported("BigTIFF", "a BigTIFF image", MagicRule::Bytes(b"MM\0+", AT_START), alone!(tiff)),
    // A user block may begin as a file of any format that is refused.
    supported(
        HDF5_NAME,
        "an HDF5 file (as netCDF-4 files are)",
        MagicRule::Search(recognize::is_hdf5),
        super::hdf5::derive_layout,
    ),
    unsupported("a PNG image", b"\x89PNG\r\n\x1a\n", AT_START, ADVICE_PICTURE),
    unsupported("a GIF image", b"GIF8", AT_START, ADVICE_PICTURE),
    unsupported("a JPEG image", b"\xff\xd8\xff", AT_START, ADVICE_PICTURE),
    unsupported("a JPEG 2000 image", b"\0\0\0\x0cjP  \r\n\x87\n", AT_START, ADVICE_PICTURE),
    unsupported("a PDF document", b"%PDF-", AT_START, "open it with a PDF viewer"),
    unsupported("a Parquet file", b"PAR1", AT_START, ADVICE_TABLE),
    unsupported("an Arrow file (as Feather files are)", b"ARROW1", AT_START, ADVICE_TABLE),
    unsupported("a Feather file", b"FEA1", AT_START, ADVICE_TABLE),
    unsupported("an SQLite database", b"SQLite format 3\0", AT_START, "open it with sqlite3"),
    unsupported("a MATLAB file", b"MATLAB 5.0 MAT-file", AT_START, "read it with scipy.io.loadmat"),
    unsupported("a ROOT file", b"root\0", AT_START, "read it with uproot"),
    unsupported("a NASA CDF file", b"\xcd\xf3\x00\x01", AT_START, ADVICE_CDF),
    unsupported("a NASA CDF file", b"\xcd\xf2\x60\x02", AT_START, ADVICE_CDF),
    unsupported_check("a VOTable", recognize::is_votable, "read it with astropy.table.Table.read, which can write it as FITS"),
    unsupported_check(
        "a Python pickle",
        recognize::is_pickle,
        "load it in Python, only if you trust it: a pickle may run any program",
    ),
    unsupported("a CZI image of Zeiss", b"ZISRAWFILE", AT_START, "read it with czifile, pylibCZIrw or bioio"),
    unsupported("an ND2 image of Nikon", b"\xda\xce\xbe\x0a", AT_START, "read it with nd2 or bioio"),
    unsupported_check("a LIF image of Leica", recognize::is_lif, "read it with liffile, readlif or bioio"),
    unsupported("a DICOM file", b"DICM", &[128], "read it with pydicom"),
    unsupported("a NIfTI image", b"n+1\0", &[344], ADVICE_NIFTI),
    unsupported("the header of a NIfTI image", b"ni1\0", &[344], ADVICE_NIFTI),
    unsupported("a NIfTI image", b"n+2\0", &[4], ADVICE_NIFTI),
    unsupported("the header of a NIfTI image", b"ni2\0", &[4], ADVICE_NIFTI),
    unsupported_check("an MRC image", recognize::is_mrc, "read it with mrcfile"),
    unsupported("a VTK file", b"# vtk DataFile Version", AT_START, ADVICE_VTK),
    unsupported_check("a VTK file", recognize::is_vtk_xml, ADVICE_VTK),
    unsupported("a BUFR file", b"BUFR", AT_START, "read it with ecCodes or pdbufr"),
    unsupported("an OpenEXR image", b"\x76\x2f\x31\x01", AT_START, "read it with OpenEXR or imageio"),
    unsupported("an ADIOS file (BP)", b"ADIOS-BP", AT_START, ADVICE_ADIOS),
    unsupported("an NRRD image", b"NRRD000", AT_START, "read it with pynrrd or SimpleITK"),
    unsupported("an IDL save file", b"SR\0\x04", AT_START, "read it with scipy.io.readsav"),
    unsupported("an IDL save file", b"SR\0\x06", AT_START, "restore it in IDL and save it without compression"),
    unsupported("a GRIB file", b"GRIB", AT_START, "read it with cfgrib or ecCodes"),
    unsupported(
        "a file compressed with Zstandard",
        b"\x28\xb5\x2f\xfd",
        AT_START,
        "unpack it with unzstd, and name the file that it held",
    ),
    unsupported(
        "a file compressed with compress (.Z)",
        b"\x1f\x9d",
        AT_START,
        "unpack it with uncompress, and name the file that it held",
    ),
    unsupported("a file compressed with bzip2", b"BZh", AT_START, "unpack it with bunzip2, and name the file that it held"),
    unsupported("a file compressed with xz", b"\xfd7zXZ\0", AT_START, "unpack it with unxz, and name the file that it held"),
    unsupported(
        "a file compressed with LZ4",
        b"\x04\x22\x4d\x18",
        AT_START,
        "unpack it with unlz4, and name the file that it held",
    ),
    unsupported("a tar archive", b"ustar", &[257], "unpack it with tar -xf, and name the files that it held"),
    unsupported("a 7z archive", b"7z\xbc\xaf\x27\x1c", AT_START, "unpack it with 7z x, and name the files that it held"),
    unsupported("an empty ZIP archive", b"PK\x05\x06", AT_START, ADVICE_PROGRAM),
    unsupported("a program (ELF)", b"\x7fELF", AT_START, ADVICE_PROGRAM),
    unsupported("a program (Windows)", b"MZ\x90\0", AT_START, ADVICE_PROGRAM),
    unsupported(
        "a Git LFS pointer, not the file itself",
        b"version https://git-lfs.github.com/",
        AT_START,
        "fetch the file with git lfs pull",
    ),
    unsupported("a git-annex pointer, not the file itself", b"/annex/objects/", AT_START, "fetch the file with git annex get"),
    unsupported(
        "unfinished: a file that several processes write, which none has put in its place yet",
        b"~ASDF 1.",
        AT_START,
        ADVICE_UNFINISHED,
    ),
    unsupported(
        "unfinished: a Dudley file that several processes write, which none has put in its place yet",
        b"~B<",
        AT_START,
        ADVICE_UNFINISHED,
    ),
    unsupported(
        "unfinished: a big-endian Dudley file that several processes write, which none has put in its place yet",
        b"~B>",
        AT_START,
        ADVICE_UNFINISHED,
    ),
    unsupported(
        "a part of an ASDF file: a block without header and tree",
        b"\xd3BLK",
        AT_START,
        "trilith repair FILE -o OUT recovers what is left",
    ),
    ForeignFormat {
        name: "an ADIOS file (BP3)",
        magic: MagicRule::Search(recognize::is_adios_bp3),
        support: Support::Unsupported(ADVICE_ADIOS),
    },
    // Fortran records have no magic bytes, so all other formats are tried first.
    supported(
        "Fortran records",
        "a file of unformatted Fortran records",
        MagicRule::Search(recognize::is_fortran),
        alone!(fortran),
    ),
];
