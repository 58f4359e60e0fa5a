//! Opening any file: what it is by its first bytes, and the resolvers that its references need.

use std::path::Path;
use std::sync::Arc;

use crate::asdf::{self, AsdfFile};
use crate::bytes::{self, Folder, OpenOptions, Resolve, Slice, SourceRef};
use crate::error::{Error, Result};
use crate::limits::Limits;

/// What a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FileKind {
    /// FINF or ASDF, any generation.
    Asdf,
    /// A FITS file, which may hold an ASDF file.
    Fits,
    /// A native Dudley file.
    Dudley,
}

impl FileKind {
    /// Tells the kind from the first bytes (80 are enough).
    ///
    /// ```
    /// use trilith::file::FileKind;
    /// assert_eq!(FileKind::detect(b"#ASDF 1.0.0\n"), Some(FileKind::Asdf));
    /// assert_eq!(FileKind::detect(b"SIMPLE  =                    T"), Some(FileKind::Fits));
    /// assert_eq!(FileKind::detect(b"hello"), None);
    /// ```
    pub fn detect(start: &[u8]) -> Option<Self> {
        if asdf::header::is_asdf(start) {
            Some(Self::Asdf)
        } else if start.starts_with(b"SIMPLE  =") {
            Some(Self::Fits)
        } else if start.starts_with(b"\x8dBD") {
            Some(Self::Dudley)
        } else {
            None
        }
    }
}

/// Opens a local file of the ASDF family; references may lead into its folder and those below.
///
/// # Errors
/// [`Kind::Io`](crate::Kind::Io) where it cannot be read, [`Kind::Unsupported`](crate::Kind::Unsupported)
/// where it is no such file, [`Kind::Malformed`](crate::Kind::Malformed) where it is a broken one.
///
/// ```no_run
/// let file = trilith::file::open_asdf("image.asdf")?;
/// let image = file.array_at("/data")?.load::<f32>()?;
/// # Ok::<(), trilith::Error>(())
/// ```
pub fn open_asdf(path: impl AsRef<Path>) -> Result<AsdfFile> {
    let limits = Limits::from_env()?;
    let options = OpenOptions::default();
    let source = bytes::open(path.as_ref(), options)?;
    open_asdf_source(source, resolver_for(path.as_ref(), options, &limits), &limits)
}

/// The sandbox of a file: its folder and those below.
pub fn resolver_for(path: &Path, options: OpenOptions, limits: &Limits) -> Arc<dyn Resolve> {
    Arc::new(Folder::new(path.parent().unwrap_or(Path::new(".")), options, limits.external_depth))
}

/// Opens a file of the ASDF family from bytes that are open already.
///
/// # Errors
/// As [`open_asdf`].
pub fn open_asdf_source(source: SourceRef, resolve: Arc<dyn Resolve>, limits: &Limits) -> Result<AsdfFile> {
    let mut start = [0; 80];
    let n = source.len().min(80) as usize;
    source.read_at(0, &mut start[..n])?;
    match FileKind::detect(&start[..n]) {
        Some(FileKind::Asdf) => Ok(AsdfFile::open(source, limits)?.with_resolver(resolve)),
        Some(FileKind::Fits) => Err(Error::unsupported("FITS files are not read yet").at_byte(0)),
        Some(FileKind::Dudley) => Err(Error::unsupported("native Dudley files are not read yet").at_byte(0)),
        None => Err(Error::unsupported(format!("{} is neither an ASDF nor a Dudley file", source.name()))
            .at_byte(0)
            .hint("an ASDF file begins with \"#ASDF 1.0.0\"")),
    }
}

/// Opens a file of the ASDF family in memory.
///
/// # Errors
/// As [`open_asdf`].
pub fn open_asdf_bytes(bytes: Vec<u8>) -> Result<AsdfFile> {
    open_asdf_source(Arc::new(Slice::new(bytes, "memory")), Arc::new(bytes::Nowhere), &Limits::from_env()?)
}
