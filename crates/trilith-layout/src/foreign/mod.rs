//! Files of other formats: their kind, and the layout of their content.
//!
//! A format is one row of a table (`formats.rs`): its name, its magic bytes, and its treatment. If the metadata of
//! a format give the places of its arrays, a *derivation* (one file or folder here) builds a Dudley layout of them. The
//! file is then opened as a stream under that layout, and needs no other reader. `layout from FILE` prints the layout
//! that opening uses. All other formats are refused by name, with advice.

mod formats;
mod fortran;
mod hdf5;
mod header_reader;
mod nested_dicts;
mod netcdf3;
mod netcdf_fill;
mod npy;
mod npz;
mod pdb;
mod recognize;
mod safetensors;
mod struct_strings;
mod tiff;
mod unsupported_formats;

use self::formats::{FORMATS, ForeignFormat, HDF5_NAME, MagicRule, Support};
use crate::bytes::{NoReferences, PartCheck, Resolve, Source, SourceRef, read_vec};
use crate::error::{ErrorKind, Result};
use crate::layout::Layout;
use crate::limits::Limits;
use crate::progress::Progress;

pub use hdf5::MetadataChecksums;
pub use npz::npz_arrays;
pub use recognize::has_user_block;
pub use unsupported_formats::refusal;
#[doc(hidden)]
pub use unsupported_formats::{dir_refusal, url_refusal};

/// Number of bytes that are examined to recognise a file.
const DETECT_LEN: u64 = 4 << 10;

/// The text of the layout of a file, derived from its own metadata.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct DerivedLayout {
    /// The name of the format of the file: `NPY`.
    pub format: &'static str,
    /// The layout, in the dialect of 2025.
    pub text: String,
}

/// The layout of a file of a foreign format, from its own metadata; None if it is of none whose layout can be derived.
/// Elements are not read, and no other file is opened: [`derive_with`] does that.
///
/// ```
/// use std::sync::Arc;
/// use trilith_array::Array;
/// use trilith_io::bytes::MemorySource;
/// use trilith_layout::{Limits, foreign};
/// let mut npy = Vec::new();
/// Array::from_slice(&[1i16, 2, 3], &[3])?.write_npy(&mut npy)?;
/// let derived = foreign::derive(&(Arc::new(MemorySource::new(npy, "x.npy")) as _), &Limits::default())?.unwrap();
/// assert_eq!(derived.format, "NPY");
/// assert!(derived.text.ends_with("data = <i2[3] @128\n"));
/// # Ok::<(), trilith_layout::Error>(())
/// ```
///
/// # Errors
/// Returns [`ErrorKind::Malformed`] if the metadata of the file are damaged,
/// [`ErrorKind::Unsupported`] for what no layout can say, and the errors of reading.
pub fn derive(source: &SourceRef, limits: &Limits) -> Result<Option<DerivedLayout>> {
    derive_with(source, &NoReferences, limits)
}

/// Does the same as [`fn@derive`]; `resolve` opens the files that an HDF5 file refers to.
///
/// # Errors
/// Returns the errors of [`fn@derive`]. A file that cannot be opened makes the items unreadable that need it.
pub fn derive_with(source: &SourceRef, resolve: &dyn Resolve, limits: &Limits) -> Result<Option<DerivedLayout>> {
    let Some((format, layout)) = derive_to_read(source, resolve, limits)? else { return Ok(None) };
    let text = layout.listed_text(limits).map_err(|e| e.context(format!("the layout derived from {}", source.name())))?;
    Ok(Some(DerivedLayout { format, text }))
}

/// Returns the layout of [`derive_with`], for a file that is read under it, and the name of the format.
///
/// # Errors
/// Returns the errors of [`derive_with`].
#[doc(hidden)]
pub fn derive_to_read(source: &SourceRef, resolve: &dyn Resolve, limits: &Limits) -> Result<Option<(&'static str, Layout)>> {
    let start = read_start(&**source)?;
    let Some(format) = recognize_format(&start, &**source) else { return Ok(None) };
    let derived = format.derive(source, resolve, limits);
    // A user block may begin with the magic bytes of a format of which it has nothing else.
    let is_empty = match &derived {
        Ok(derived) => derived.as_ref().is_some_and(|(_, layout)| layout.item_count() <= 1),
        Err(error) => matches!(error.kind(), ErrorKind::Malformed | ErrorKind::Unsupported),
    };
    let followed = if is_empty { hidden_format(format, &start, &**source) } else { None };
    followed.map_or(derived, |format| format.derive(source, resolve, limits))
}

/// Returns the row of HDF5 if a superblock follows a user block that begins as a file of another format.
fn hidden_format(format: &ForeignFormat, start: &[u8], source: &dyn Source) -> Option<&'static ForeignFormat> {
    let mut hdf5 = FORMATS.iter().filter(|format| matches!(format.support, Support::Derived(HDF5_NAME, _)));
    let is_other = !matches!(format.support, Support::Derived(HDF5_NAME, _));
    hdf5.find(|format| is_other && format.is_at(start, source))
}

/// Returns the comparison of uncompressed parts of a file of this format with the checksums that it states for them, if it has
/// any that decoding does not compare.
pub fn part_check(format: &str) -> Option<PartCheck> {
    match format {
        "NPZ" => Some(npz::part_check()),
        HDF5_NAME => Some(hdf5::metadata_check()),
        _ => None,
    }
}

/// Compares the CRC-32 of each member of an NPZ archive.
///
/// # Errors
/// Returns [`ErrorKind::Malformed`] if the directory of the archive is damaged, and the errors of reading.
#[doc(hidden)]
pub fn compare_members(source: &SourceRef, limits: &Limits, progress: Progress<'_>) -> Result<Vec<PartSum>> {
    npz::check_member_checksums(source, limits, progress)
}

/// Compares the checksums of the metadata of an HDF5 file that lead to items.
///
/// # Errors
/// Returns [`ErrorKind::Malformed`] if the superblock cannot be read, and the errors of reading.
#[doc(hidden)]
pub fn compare_metadata(source: &SourceRef, limits: &Limits) -> Result<MetadataChecksums> {
    hdf5::check_metadata_checksums(source, limits)
}

/// The path of a part of a file, and the comparison of its checksum.
pub type PartSum = (String, Result<()>);

/// The bytes by which a file is recognised.
fn read_start(source: &dyn Source) -> Result<Vec<u8>> {
    read_vec(source, 0, source.len().min(DETECT_LEN), &Limits::default())
}

/// Returns `true` if the first bytes of a file are those of a known format, also of one that is refused.
///
/// # Errors
/// Returns an error if the file cannot be read.
#[doc(hidden)]
pub fn has_known_start(source: &dyn Source) -> Result<bool> {
    let start = read_start(source)?;
    let by_start = |format: &&ForeignFormat| !matches!(format.magic, MagicRule::Search(_));
    Ok(FORMATS.iter().filter(by_start).any(|format| format.is_at(&start, source)))
}

/// Returns `true` if the first bytes of a file are those of a format that is read.
///
/// # Errors
/// Returns an error if the file cannot be read.
#[doc(hidden)]
pub fn has_readable_start(source: &dyn Source) -> Result<bool> {
    let start = read_start(source)?;
    let is_read =
        |format: &&ForeignFormat| matches!(format.support, Support::Derived(..)) && !matches!(format.magic, MagicRule::Search(_));
    Ok(FORMATS.iter().filter(is_read).any(|format| format.is_at(&start, source)))
}

/// The row of a file; the first that fits counts.
fn recognize_format(start: &[u8], source: &dyn Source) -> Option<&'static ForeignFormat> {
    FORMATS.iter().find(|format| format.is_at(start, source))
}

impl ForeignFormat {
    /// Returns the name of the format and the layout of a file; `None` if no layout can be derived.
    fn derive(&self, source: &SourceRef, resolve: &dyn Resolve, limits: &Limits) -> Result<Option<(&'static str, Layout)>> {
        let Support::Derived(name, derivation) = self.support else { return Ok(None) };
        let layout = derivation(source, resolve, limits);
        layout.map(|layout| Some((name, layout))).map_err(|e| e.context(format!("{}, {}", source.name(), self.name)))
    }

    /// Returns `true` if a file with these first bytes is of the format.
    fn is_at(&self, start: &[u8], source: &dyn Source) -> bool {
        match &self.magic {
            MagicRule::Bytes(mark, at) => at.iter().any(|at| start.get(*at..).is_some_and(|rest| rest.starts_with(mark))),
            MagicRule::Check(is_it) | MagicRule::Search(is_it) => is_it(start, source),
        }
    }
}

/// Hands over each beginning of a file, and the file with each of its bytes changed.
#[cfg(test)]
fn harmed(whole: &[u8], read: impl Fn(Vec<u8>)) {
    (0..whole.len()).for_each(|cut| read(whole[..cut].to_vec()));
    for (at, value) in (0..whole.len()).flat_map(|at| [0, 1, 0x7f, 0xff].map(|value| (at, value))) {
        let mut bytes = whole.to_vec();
        bytes[at] = value;
        read(bytes);
    }
}
