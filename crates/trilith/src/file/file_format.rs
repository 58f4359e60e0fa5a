//! The format that the name of a file promises: none is written under a name that promises another.

use std::path::Path;

use crate::asdf::AsdfFile;
use crate::bytes::display_name;
use crate::error::{Error, Result};

/// A format that is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FileFormat {
    /// A file of the ASDF family.
    Asdf,
    /// A native Dudley file.
    Dudley,
    /// A FITS file.
    Fits,
    /// A Dudley layout.
    Layout,
    /// YAML text.
    Yaml,
    /// JSON.
    Json,
    /// Comma-separated values.
    Csv,
    /// numpy's format of one array.
    Npy,
    /// Readable text.
    Text,
    /// JSON, a document a line.
    Lines,
    /// Parquet.
    Parquet,
    /// Arrow, a file of record batches.
    Arrow,
    /// A picture.
    Png,
    /// A drawing.
    Svg,
    /// The elements of an array alone.
    Raw,
}

impl FileFormat {
    /// Returns its name in messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Asdf => "ASDF",
            Self::Dudley => "Dudley",
            Self::Fits => "FITS",
            Self::Layout => "a Dudley layout",
            Self::Yaml => "YAML",
            Self::Json => "JSON",
            Self::Csv => "CSV",
            Self::Npy => "NPY",
            Self::Text => "text",
            Self::Lines => "JSON lines",
            Self::Parquet => "Parquet",
            Self::Arrow => "Arrow",
            Self::Png => "PNG",
            Self::Svg => "SVG",
            Self::Raw => "raw bytes",
        }
    }

    /// Returns the format that a file of the ASDF family is written in if it keeps its format.
    pub fn from_asdf(file: &AsdfFile) -> Self {
        if file.container().is_some() { Self::Fits } else { Self::Asdf }
    }

    /// Returns the format that the extension of a name means, if Trilith writes it.
    pub fn from_extension(path: &str) -> Option<Self> {
        Some(match extension(path)?.as_str() {
            "asdf" | "finf" => Self::Asdf,
            "bd" => Self::Dudley,
            "fits" | "fit" | "fts" => Self::Fits,
            "dud" => Self::Layout,
            "yaml" | "yml" => Self::Yaml,
            "json" => Self::Json,
            "csv" => Self::Csv,
            "npy" => Self::Npy,
            "txt" => Self::Text,
            "jsonl" | "ndjson" => Self::Lines,
            "parquet" => Self::Parquet,
            "arrow" | "feather" => Self::Arrow,
            "png" => Self::Png,
            "svg" => Self::Svg,
            _ => return None,
        })
    }
}

/// Endings of formats that we do not write, each with its name.
const UNWRITABLE_EXTENSIONS: &[(&str, &str)] = &[
    ("7z", "7z"),
    ("avif", "AVIF"),
    ("bmp", "BMP"),
    ("bp", "ADIOS2"),
    ("bz2", "bzip2"),
    ("cdf", "netCDF"),
    ("czi", "CZI"),
    ("db", "a database"),
    ("dcm", "DICOM"),
    ("exr", "OpenEXR"),
    ("fz", "tile-compressed FITS"),
    ("gif", "GIF"),
    ("grb", "GRIB"),
    ("grib", "GRIB"),
    ("grib2", "GRIB"),
    ("h5", "HDF5"),
    ("hdf", "HDF"),
    ("hdf5", "HDF5"),
    ("he5", "HDF5"),
    ("html", "HTML"),
    ("jp2", "JPEG 2000"),
    ("jpeg", "JPEG"),
    ("jpg", "JPEG"),
    ("lz4", "LZ4"),
    ("mat", "MATLAB"),
    ("mrc", "MRC"),
    ("nc", "netCDF"),
    ("nc4", "netCDF"),
    ("nd2", "ND2"),
    ("nii", "NIfTI"),
    ("npz", "NPZ"),
    ("orc", "ORC"),
    ("pdf", "PDF"),
    ("pickle", "a pickle"),
    ("pkl", "a pickle"),
    ("pt", "PyTorch"),
    ("root", "ROOT"),
    ("safetensors", "safetensors"),
    ("sqlite", "SQLite"),
    ("tar", "tar"),
    ("tgz", "tar"),
    ("tif", "TIFF"),
    ("tiff", "TIFF"),
    ("tsv", "tab-separated values"),
    ("vtk", "VTK"),
    ("webp", "WebP"),
    ("xls", "Excel"),
    ("xlsx", "Excel"),
    ("xml", "XML"),
    ("xz", "xz"),
    ("z", "compress"),
    ("zarr", "Zarr"),
    ("zip", "ZIP"),
    ("zst", "Zstandard"),
];

/// The ending of a name; after it `.gz` may say that the file is compressed as a whole.
fn extension(path: &str) -> Option<String> {
    let lower = path.to_ascii_lowercase();
    Some(Path::new(lower.strip_suffix(".gz").unwrap_or(&lower)).extension()?.to_str()?.to_owned())
}

/// The formats that are written, as advice.
const WRITTEN_FORMATS: &str = "convert writes ASDF (.asdf), FINF (.finf), Dudley (.bd) and FITS (.fits); \
                               get -o writes .npy, .csv, .json, .yaml, .txt and raw bytes of one item";

/// Checks that the extension of a name means the format that is written. `hint` tells the user how to write that format under
/// this name.
///
/// # Errors
/// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if the name promises another format.
pub fn check_name(path: &str, written: FileFormat, hint: &str) -> Result<()> {
    if is_stream(path) {
        return Ok(());
    }
    let foreign = extension(path).and_then(|ending| UNWRITABLE_EXTENSIONS.iter().find(|(known, _)| *known == ending));
    let promised = match (FileFormat::from_extension(path), foreign) {
        (Some(promised), _) if promised == written => return Ok(()),
        (Some(promised), _) => promised.name(),
        (None, Some((_, name))) => {
            let path = display_name(path);
            let advice = match written {
                FileFormat::Png | FileFormat::Svg => "pictures are .png and .svg files",
                FileFormat::Lines | FileFormat::Parquet | FileFormat::Arrow => hint,
                _ => WRITTEN_FORMATS,
            };
            return Err(
                Error::invalid_input(format!("cannot write {path}: {name} is not a format that Trilith writes")).hint(advice)
            );
        }
        (None, None) => return Ok(()),
    };
    let message = format!("cannot write {path}: its extension means {promised}, but the content would be {}", written.name());
    Err(Error::invalid_input(message).hint(hint.to_owned()))
}

/// Returns `true` if this is standard output, or a pipe or device with a name.
pub fn is_stream(path: &str) -> bool {
    path == "-" || std::fs::metadata(path).is_ok_and(|there| !there.is_file() && !there.is_dir())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_name_rejects_extension_of_other_format() {
        let fine = |path: &str, form| check_name(path, form, "").is_ok();
        for (path, form) in [
            ("x.asdf", FileFormat::Asdf),
            ("x.finf", FileFormat::Asdf),
            ("X.FITS", FileFormat::Fits),
            ("x", FileFormat::Asdf),
            ("x.r0001", FileFormat::Asdf),
            ("x.dat", FileFormat::Raw),
            ("x.npy", FileFormat::Npy),
            ("-", FileFormat::Raw),
        ] {
            assert!(fine(path, form), "{path}");
        }
        for (path, form) in [
            ("x.h5", FileFormat::Asdf),
            ("a/x.PNG", FileFormat::Raw),
            ("x.asdf", FileFormat::Raw),
            ("x.bd", FileFormat::Asdf),
            ("x.fits", FileFormat::Raw),
            ("x.asdf.gz", FileFormat::Raw),
            ("x.h5.gz", FileFormat::Asdf),
            ("x.csv", FileFormat::Asdf),
            ("x.fits.fz", FileFormat::Asdf),
            ("x.fits.fz", FileFormat::Fits),
            ("x.fits.Z", FileFormat::Fits),
        ] {
            assert!(!fine(path, form), "{path}");
        }
        assert!(
            UNWRITABLE_EXTENSIONS.is_sorted()
                && UNWRITABLE_EXTENSIONS.iter().all(|(ending, _)| FileFormat::from_extension(&format!("x.{ending}")).is_none())
        );
    }
}
