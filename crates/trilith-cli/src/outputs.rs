//! What a command may write where: never over something that it reads, never under a name that promises another
//! format, and never over a file that nobody asked it to replace.

use std::path::{Path, PathBuf};

use serde_json::Value;
use trilith::asdf::AsdfFile;
use trilith::bytes::is_one_file;
use trilith::{Error, Result};

use crate::options::Options;
use crate::output::{Out, note};

/// A format that a command writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
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

impl Form {
    /// What it is called in messages.
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

    /// What a file of the ASDF family is written as where it stays what it is.
    pub fn of(file: &AsdfFile) -> Self {
        if file.container().is_some() { Self::Fits } else { Self::Asdf }
    }

    /// The format that a name promises, if its ending names one that we write.
    pub fn promised(path: &str) -> Option<Self> {
        Some(match ending(path)?.as_str() {
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
const FOREIGN: &[(&str, &str)] = &[
    ("7z", "7z"),
    ("avif", "AVIF"),
    ("bmp", "BMP"),
    ("bz2", "bzip2"),
    ("cdf", "netCDF"),
    ("db", "a database"),
    ("gif", "GIF"),
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
    ("nc", "netCDF"),
    ("nc4", "netCDF"),
    ("npz", "NPZ"),
    ("orc", "ORC"),
    ("pdf", "PDF"),
    ("pickle", "a pickle"),
    ("pkl", "a pickle"),
    ("pt", "PyTorch"),
    ("safetensors", "safetensors"),
    ("sqlite", "SQLite"),
    ("tar", "tar"),
    ("tif", "TIFF"),
    ("tiff", "TIFF"),
    ("tsv", "tab-separated values"),
    ("webp", "WebP"),
    ("xls", "Excel"),
    ("xlsx", "Excel"),
    ("xml", "XML"),
    ("xz", "xz"),
    ("zarr", "Zarr"),
    ("zip", "ZIP"),
    ("zst", "Zstandard"),
];

/// The ending of a name; behind it `.gz` may say that the file is compressed as a whole.
fn ending(path: &str) -> Option<String> {
    let lower = path.to_ascii_lowercase();
    Some(Path::new(lower.strip_suffix(".gz").unwrap_or(&lower)).extension()?.to_str()?.to_owned())
}

/// Refuses a name that promises another format than what is written. `hint` says how to ask for it all the same.
///
/// # Errors
/// [`ErrorKind::Usage`](trilith::ErrorKind::Usage).
pub fn check_name(path: &str, written: Form, hint: &str) -> Result<()> {
    if is_stream(path) {
        return Ok(());
    }
    let foreign = ending(path).and_then(|ending| FOREIGN.iter().find(|(known, _)| *known == ending));
    let promised = match (Form::promised(path), foreign) {
        (Some(promised), _) if promised == written => return Ok(()),
        (Some(promised), _) => promised.name(),
        (None, Some((_, name))) => name,
        (None, None) => return Ok(()),
    };
    let message = format!("the name {path} promises {promised}, but {} would be written", written.name());
    Err(Error::usage(message).hint(hint.to_owned()))
}

/// Where what comes of each item is written: what `-o` says.
#[derive(Debug, Clone, Copy)]
pub struct Outputs<'o>(pub Option<&'o str>);

impl<'o> Outputs<'o> {
    /// The file to write; None for standard output.
    pub fn file(self) -> Option<&'o str> {
        self.0.filter(|path| *path != "-")
    }

    /// The file that is written for an item.
    pub fn of(self, file: &str, path: &str) -> Option<String> {
        Some(named(self.file()?, file, path))
    }

    /// Refuses one file for several items.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`](trilith::ErrorKind::Usage).
    pub fn check_several(self) -> Result<()> {
        match self.file() {
            Some(output) if !output.contains("{stem}") => {
                Err(Error::usage(format!("several files cannot all be written to {output}"))
                    .hint("put {stem} into the name, which is that of the file without its ending"))
            }
            _ => Ok(()),
        }
    }
}

/// The name of a file that is written for an item: `{stem}` in `output` stands for the name of the file without its
/// ending, `{item}` for the path.
pub fn named(output: &str, file: &str, path: &str) -> String {
    if !output.contains('{') {
        return output.to_owned();
    }
    let last = file.split(['?', '#']).next().unwrap_or(file).rsplit(['/', '\\']).next().unwrap_or(file);
    let stem = last.strip_suffix(".gz").unwrap_or(last);
    let stem = stem.rsplit_once('.').map_or(stem, |(stem, _)| stem);
    let item = path.trim_start_matches('/').replace('/', "_");
    output.replace("{stem}", stem).replace("{item}", &item)
}

/// Whether this is standard output, or a pipe or device with a name.
pub fn is_stream(path: &str) -> bool {
    path == "-" || std::fs::metadata(path).is_ok_and(|there| !there.is_file() && !there.is_dir())
}

impl Options {
    /// Refuses an output that is something the command reads, by whatever name: its data would be gone. `rewritten`
    /// are the inputs that the output is another form of; these may be written over, since the new file is put
    /// into place when it is complete.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`](trilith::ErrorKind::Usage).
    pub fn check_inputs(&self, path: &str, rewritten: &[&str]) -> Result<()> {
        let there = Path::new(path);
        if is_stream(path) || !there.exists() || rewritten.iter().any(|input| is_one_file(there, Path::new(input))) {
            return Ok(());
        }
        match self.inputs().iter().find(|input| is_one_file(there, Path::new(input))) {
            Some(input) if Path::new(input).file_name() == there.file_name() => {
                Err(Error::usage(format!("{path} is read by this command, and would be lost")))
            }
            Some(input) => Err(Error::usage(format!("{path} is {input}, which this command reads, and would be lost"))),
            None => return Ok(()),
        }
        .map_err(|error| error.hint("write to another file"))
    }
}

/// Refuses to replace files that nobody asked to replace.
///
/// # Errors
/// [`ErrorKind::Usage`](trilith::ErrorKind::Usage) with the first of them that is there.
pub fn check_absent<'a>(paths: impl IntoIterator<Item = &'a PathBuf>, overwrite: bool) -> Result<()> {
    if overwrite {
        return Ok(());
    }
    match paths.into_iter().find(|path| std::fs::symlink_metadata(path).is_ok_and(|there| !there.is_dir())) {
        Some(path) => Err(Error::usage(format!("{} already exists", path.display())).hint("--overwrite replaces it")),
        None => Ok(()),
    }
}

/// Says what was written: one JSON document on stdout, or a line on stderr; nothing where the file itself went to
/// stdout.
///
/// # Errors
/// [`ErrorKind::Io`](trilith::ErrorKind::Io).
pub fn told(output: &str, json: &Value, line: &str, options: &Options) -> Result<()> {
    if output == "-" {
        return Ok(());
    }
    if options.json {
        let mut out = Out::new();
        out.json(json)?;
        return out.finish();
    }
    if !options.quiet {
        note(line);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_promises_its_format_and_an_unknown_ending_promises_nothing() {
        let fine = |path: &str, form| check_name(path, form, "").is_ok();
        for (path, form) in [
            ("x.asdf", Form::Asdf),
            ("x.finf", Form::Asdf),
            ("X.FITS", Form::Fits),
            ("x", Form::Asdf),
            ("x.r0001", Form::Asdf),
            ("x.dat", Form::Raw),
            ("x.npy", Form::Npy),
            ("-", Form::Raw),
        ] {
            assert!(fine(path, form), "{path}");
        }
        for (path, form) in [
            ("x.h5", Form::Asdf),
            ("a/x.PNG", Form::Raw),
            ("x.asdf", Form::Raw),
            ("x.bd", Form::Asdf),
            ("x.fits", Form::Raw),
            ("x.asdf.gz", Form::Raw),
            ("x.h5.gz", Form::Asdf),
            ("x.csv", Form::Asdf),
        ] {
            assert!(!fine(path, form), "{path}");
        }
        assert!(FOREIGN.is_sorted() && FOREIGN.iter().all(|(ending, _)| Form::promised(&format!("x.{ending}")).is_none()));
    }
}
