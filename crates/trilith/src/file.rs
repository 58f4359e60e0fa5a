//! Opening any file: what it is by its first bytes, and the resolvers that its references need.

mod fits;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::array::Array;
use crate::asdf::{self, AsdfFile};
use crate::bytes::{self, Folder, LocalOptions, Resolve, Slice, SourceRef};
use crate::dudley::{DudleyFile, Signature, StreamOptions};
use crate::error::{Error, Result};
use crate::fits::FitsFile;
use crate::limits::Limits;

pub use fits::{Inner, fits_around, open_fits, open_fits_file, toward, write_around};

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
        } else if Signature::is_at(start) {
            Some(Self::Dudley)
        } else {
            None
        }
    }
}

/// An open file of either family.
#[derive(Debug)]
pub enum AnyFile {
    /// FINF or ASDF, any generation, or what FITS holds.
    Asdf(AsdfFile),
    /// A Dudley stream: native, or any file under a layout.
    Dudley(DudleyFile),
}

impl AnyFile {
    /// The array at a tree path (ASDF) or an item path (Dudley).
    ///
    /// # Errors
    /// As [`AsdfFile::array_at`] or [`DudleyFile::array_at`].
    pub fn array_at(&self, path: &str) -> Result<Array> {
        match self {
            AnyFile::Asdf(file) => file.array_at(path),
            AnyFile::Dudley(file) => file.array_at(path),
        }
    }

    /// The bytes that the file is read from.
    pub fn source(&self) -> &SourceRef {
        match self {
            AnyFile::Asdf(file) => file.sections().source(),
            AnyFile::Dudley(file) => file.source(),
        }
    }

    /// What is odd about the file but does not stop reading it.
    pub fn warnings(&self) -> Vec<String> {
        match self {
            AnyFile::Asdf(file) => file.warnings(),
            AnyFile::Dudley(file) => file.warnings(),
        }
    }
}

/// Opens a file of either family from bytes that are open already. With a layout in `options` any file
/// is a stream under that layout, whatever its first bytes are; a file of no known kind is one where a
/// layout of its name lies beside it (`x.dud` of `x.dat`).
///
/// # Errors
/// As [`open_asdf`] and [`DudleyFile::open_with`].
pub fn open_any(source: SourceRef, resolve: Arc<dyn Resolve>, options: StreamOptions, limits: &Limits) -> Result<AnyFile> {
    let start = first_bytes(&source)?;
    let is_stream = match FileKind::detect(&start) {
        _ if options.layout.is_some() => true,
        Some(kind) => kind == FileKind::Dudley,
        None => !bytes::is_gzip(&start) && DudleyFile::has_layout_beside(&source, &*resolve),
    };
    if is_stream {
        return DudleyFile::open_with(source, &*resolve, options, limits).map(AnyFile::Dudley);
    }
    open_asdf_source(source, resolve, limits).map(AnyFile::Asdf)
}

/// Opens a file of the ASDF family at a path, or (with the feature `remote`) at an address
/// `http(s)://…` or `s3://bucket/key`; references may lead into its folder and those below.
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
    if let Some(url) = path.as_ref().to_str().filter(|text| bytes::is_url(text)) {
        let (source, resolve) = open_url(url, &limits)?;
        return open_asdf_source(source, resolve, &limits);
    }
    let options = LocalOptions::default();
    let source = bytes::open(path.as_ref(), options)?;
    open_asdf_source(source, resolver_for(path.as_ref(), options, &limits), &limits)
}

#[cfg(feature = "remote")]
fn open_url(url: &str, limits: &Limits) -> Result<(SourceRef, Arc<dyn Resolve>)> {
    bytes::open_url(url, &bytes::RemoteOptions::from_env()?, limits.external_depth)
}

#[cfg(not(feature = "remote"))]
fn open_url(_: &str, _: &Limits) -> Result<(SourceRef, Arc<dyn Resolve>)> {
    Err(Error::unsupported("this build reads no remote files").hint("build it with the feature remote"))
}

/// The sandbox of a file: its folder and those below.
pub fn resolver_for(path: &Path, options: LocalOptions, limits: &Limits) -> Arc<dyn Resolve> {
    Permissions::default().resolver(path, options, limits)
}

/// Where references out of a file may lead besides its own folder: folders of this machine, and addresses.
///
/// ```
/// use trilith::file::Permissions;
/// assert!(Permissions::read(["..", "https://data.example.org/shared/"]).is_ok());
/// assert!(Permissions::read(["no-such-folder/"]).is_err());
/// ```
#[derive(Debug, Clone, Default)]
pub struct Permissions {
    folders: Vec<PathBuf>,
    addresses: Vec<String>,
}

impl Permissions {
    /// Reads what a person allows: `DIR/` (relative to the working directory), `file:///DIR/`, or the beginning of
    /// addresses, such as `https://host/folder/`, `s3://bucket/` or `https://`.
    ///
    /// # Errors
    /// [`Kind::Usage`](crate::Kind::Usage) for what is neither a folder that is there nor an address.
    pub fn read<T: AsRef<str>>(list: impl IntoIterator<Item = T>) -> Result<Self> {
        let mut read = Self::default();
        for text in list {
            let text = text.as_ref();
            if bytes::is_url(text) {
                read.addresses.push(text.to_owned());
            } else {
                read.folders.push(allowed_folder(text)?);
            }
        }
        Ok(read)
    }

    /// The folders, absolute.
    pub fn folders(&self) -> &[PathBuf] {
        &self.folders
    }

    /// The beginnings of addresses.
    pub fn addresses(&self) -> &[String] {
        &self.addresses
    }

    /// What resolves the references of a file of this machine; not those to addresses. `-` is standard input, which
    /// has no folder.
    pub fn resolver(&self, path: &Path, options: LocalOptions, limits: &Limits) -> Arc<dyn Resolve> {
        let own = match path.parent() {
            _ if path == Path::new("-") => Folder::nowhere(options, limits.external_depth),
            folder => Folder::new(folder.unwrap_or(Path::new(".")), options, limits.external_depth),
        };
        Arc::new(self.folders.iter().fold(own, Folder::allowing))
    }

    /// What resolves the references of a file of this machine, those to the addresses allowed by `remote` included.
    #[cfg(feature = "remote")]
    pub fn resolver_with(
        &self,
        path: &Path,
        options: LocalOptions,
        remote: bytes::RemoteOptions,
        limits: &Limits,
    ) -> Arc<dyn Resolve> {
        let folder = self.resolver(path, options, limits);
        if self.addresses.is_empty() {
            return folder;
        }
        Arc::new(bytes::Allowed::new(folder, remote, limits.external_depth))
    }
}

/// A folder that a person allows.
fn allowed_folder(text: &str) -> Result<PathBuf> {
    let hint = "write --allow DIR/, file:///DIR/, https://HOST/FOLDER/ or s3://BUCKET/";
    let folder = bytes::folder_named(text).map_err(|why| Error::usage(format!("{text:?} allows nothing: {why}")).hint(hint))?;
    if !folder.is_dir() {
        let message = format!("{text:?} allows nothing: there is no folder {}", folder.display());
        return Err(Error::usage(message).hint(hint));
    }
    Ok(folder)
}

/// Opens a file of the ASDF family from bytes that are open already.
///
/// # Errors
/// As [`open_asdf`].
pub fn open_asdf_source(mut source: SourceRef, resolve: Arc<dyn Resolve>, limits: &Limits) -> Result<AsdfFile> {
    let mut start = first_bytes(&source)?;
    if bytes::is_gzip(&start) {
        source = bytes::gunzip(source, limits)?;
        start = first_bytes(&source)?;
    }
    match FileKind::detect(&start) {
        Some(FileKind::Asdf) => Ok(AsdfFile::open(source, limits)?.with_resolver(resolve)),
        Some(FileKind::Fits) => open_fits(FitsFile::open(source, limits)?, resolve),
        Some(FileKind::Dudley) => {
            Err(Error::unsupported("a native Dudley file, where one of the ASDF family is expected").at_byte(0))
        }
        None => Err(Error::unsupported(format!("{} is neither an ASDF nor a Dudley file", source.name()))
            .at_byte(0)
            .hint("an ASDF file begins with \"#ASDF 1.0.0\"; any other is read under a Dudley layout with --layout L.dud")),
    }
}

/// As many bytes as it takes to tell what a file is.
fn first_bytes(source: &SourceRef) -> Result<Vec<u8>> {
    bytes::read_vec(&**source, 0, source.len().min(80), &Limits::default())
}

/// Opens a file of the ASDF family in memory.
///
/// ```
/// let file = trilith::open_asdf_bytes(b"#ASDF 1.0.0\n%YAML 1.1\n--- {exposure: 139.8}\n...\n".to_vec())?;
/// assert_eq!(file.tree().root().get("exposure").and_then(|node| node.as_f64()), Some(139.8));
/// # Ok::<(), trilith::Error>(())
/// ```
///
/// # Errors
/// As [`open_asdf`].
pub fn open_asdf_bytes(bytes: Vec<u8>) -> Result<AsdfFile> {
    open_asdf_source(Arc::new(Slice::new(bytes, "memory")), Arc::new(bytes::Nowhere), &Limits::from_env()?)
}
