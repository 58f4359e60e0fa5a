//! Opening files of any supported format.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::FileKind;
use super::file_set::{FileSet, FileSetOptions};
use super::fits::{ElementForm, HeaderDeclarations, ListingForm, open_fits_source};
use super::item::File;
use super::name_hint::explain_missing;
use super::permissions::ReferencePermissions;
use crate::array::Byteorder;
use crate::asdf::AsdfFile;
use crate::bytes::{self, LocalFile, LocalOptions, MemorySource, NoReferences, Resolve, SourceBacking, SourceRef};
use crate::dudley::{Catalog, DudleyFile, FileSelection, LayoutOrigin, ParamSetting, StreamOptions};
use crate::error::{Error, ErrorKind, Result};
use crate::foreign;
use crate::layout::Layout;
use crate::limits::Limits;

/// Opens any file: every generation of the ASDF family, FITS, gzip around either, a native Dudley file, a file of another format
/// whose layout can be derived, or a file of no known format with a layout of its name next to it (`x.dud` of `x.dat`). With the feature `remote` also an address,
/// `http(s)://…`, `s3://bucket/key`, `gs://bucket/object` or `az://container/blob`.
///
/// Only the header and the tree are read. References may lead into the folder of the file and those below; for
/// anything else there is [`OpenOptions`].
///
/// # Errors
/// Returns [`ErrorKind::Io`](crate::ErrorKind::Io) if it cannot be read,
/// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) if it is of no known format,
/// [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) if it is damaged.
///
/// ```no_run
/// let file = trilith::open("image.asdf")?;
/// let image = file.array("/data")?.load::<f32>()?;
/// # Ok::<(), trilith::Error>(())
/// ```
pub fn open(path_or_url: impl AsRef<Path>) -> Result<File> {
    OpenOptions::new().open(path_or_url)
}

/// Options for opening files.
///
/// ```
/// use trilith::{OpenOptions, layout::Layout};
/// // Any bytes under a layout.
/// let options = OpenOptions::new().layout(Layout::read(b"n = u1[2]")?);
/// assert_eq!(options.open_bytes(vec![5, 6])?.array("/n")?.load::<u8>()?, [5, 6]);
/// # Ok::<(), trilith::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct OpenOptions {
    limits: Limits,
    no_mmap: bool,
    allow: ReferencePermissions,
    #[cfg(feature = "remote")]
    remote: bytes::RemoteOptions,
    layout: Option<Layout>,
    byteorder: Option<Byteorder>,
    layout_params: Vec<(String, ParamSetting)>,
    stored_values: bool,
    encoded: bool,
    omits_cards: bool,
    series: FileSetOptions,
}

impl OpenOptions {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets limits on the cost of reading the file. With [`Limits::for_command`] all reads count towards one
    /// budget.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets whether a local file may be mapped into memory, so that elements can be borrowed. Otherwise it is read. If another
    /// process truncates a mapped file, the system ends this process.
    #[must_use]
    pub fn memory_map(mut self, map: bool) -> Self {
        self.no_mmap = !map;
        self
    }

    /// Sets the places besides the folder of the file that references may lead to.
    #[must_use]
    pub fn allow(mut self, allow: ReferencePermissions) -> Self {
        self.allow = allow;
        self
    }

    /// Sets the options for reading files on servers.
    #[cfg(feature = "remote")]
    #[must_use]
    pub fn remote(mut self, remote: bytes::RemoteOptions) -> Self {
        self.remote = remote;
        self
    }

    /// Sets whether arrays have the elements that are stored, rather than the physical values that the file
    /// declares by scale, offset, missing values, tiles, and the like.
    #[must_use]
    pub fn stored_values(mut self, stored: bool) -> Self {
        self.stored_values = stored;
        self
    }

    /// Sets whether arrays have their stored elements if attributes next to them define the decoding, as in netCDF. Arrays of
    /// other formats, such as FITS, have physical values. References for programs that apply such attributes need this.
    #[must_use]
    pub fn encoded(mut self, encoded: bool) -> Self {
        self.encoded = encoded;
        self
    }

    /// Sets whether the tree of a FITS file has the cards as rows of its lists `header`, as by default. The cards are attributes
    /// of their HDUs in any case, and a tree without the rows is faster to build.
    #[must_use]
    pub fn card_rows(mut self, has_rows: bool) -> Self {
        self.omits_cards = !has_rows;
        self
    }

    /// Reads the file under this layout, whatever its first bytes are.
    #[must_use]
    pub fn layout(mut self, layout: impl Into<Option<Layout>>) -> Self {
        self.layout = layout.into();
        self
    }

    /// Gives fixed parameters of the layout other values for this file, or for each file of a set.
    #[must_use]
    pub fn layout_params(mut self, params: Vec<(String, ParamSetting)>) -> Self {
        self.series.params.clone_from(&params);
        self.layout_params = params;
        self
    }

    /// Sets the byte order of data if neither layout nor file gives it.
    #[must_use]
    pub fn byteorder(mut self, order: impl Into<Option<Byteorder>>) -> Self {
        self.byteorder = order.into();
        self
    }

    /// Requires that the file is a catalog, and sets the layout of the files that it lists, or None if the catalog contains it.
    /// Each item is one array, whose first axis counts the files. A catalog that contains the layout needs no option.
    #[must_use]
    pub fn file_set_layout(mut self, template: impl Into<Option<Layout>>) -> Self {
        (self.series.must_be_catalog, self.series.template) = (true, template.into());
        self
    }

    /// Sets whether a catalog is opened as a file with lists of names and parameters. Otherwise, if a catalog contains the layout
    /// of its files, it is opened as the set of these files.
    #[must_use]
    pub fn open_catalog_only(mut self, itself: bool) -> Self {
        self.series.catalog_only = itself;
        self
    }

    /// Sets that the member files of a file set have no signature.
    #[must_use]
    pub fn without_signature(mut self, raw: bool) -> Self {
        self.series.without_signature = raw;
        self
    }

    /// Selects files of a file set, and the form of items whose shape differs between them.
    #[must_use]
    pub fn select_files(mut self, files: impl Into<FileSelection>) -> Self {
        self.series.selection = files.into();
        self
    }

    /// Opens a file at a path or a URL, as [`open`] does.
    ///
    /// # Errors
    /// Returns the errors of [`open`].
    pub fn open(&self, path_or_url: impl AsRef<Path>) -> Result<File> {
        retry_if_changed(|| self.source(&path_or_url), |source, resolve| self.open_source(source, resolve))
    }

    /// Returns the bytes of a file at a path or a URL, and the resolver of the files that it refers to.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Io`](crate::ErrorKind::Io) if it cannot be read.
    pub fn source(&self, path_or_url: impl AsRef<Path>) -> Result<(SourceRef, Arc<dyn Resolve>)> {
        let path = path_or_url.as_ref();
        if let Some(url) = path.to_str().filter(|text| bytes::is_url(text)) {
            return self.open_url(url).map_err(|error| match foreign::url_refusal(url) {
                Some(refusal) if error.kind() == ErrorKind::Io => error.hint(refusal.to_string()),
                _ => error,
            });
        }
        let source = bytes::open(path, self.local());
        let refusal = |error| dir_refusal(path).unwrap_or_else(|| explain_missing(&bytes::name_of(path), error));
        let source = source.map_err(refusal)?;
        let resolver = self.resolver_of(path, source.backing().and_then(SourceBacking::local_file));
        Ok((source, resolver))
    }

    #[cfg(feature = "remote")]
    fn open_url(&self, url: &str) -> Result<(SourceRef, Arc<dyn Resolve>)> {
        bytes::open_url(url, &self.remote_allowed()?, self.limits.external_depth)
    }

    #[cfg(not(feature = "remote"))]
    fn open_url(&self, _: &str) -> Result<(SourceRef, Arc<dyn Resolve>)> {
        Err(Error::unsupported("this build reads no remote files").hint("build it with the feature remote"))
    }

    /// Returns the options for servers, with the URLs that are allowed.
    #[cfg(feature = "remote")]
    fn remote_allowed(&self) -> Result<bytes::RemoteOptions> {
        let mut remote = self.remote.clone();
        for prefix in self.allow.addresses() {
            remote.allow(prefix)?;
        }
        Ok(remote)
    }

    /// Returns the options for reading local files.
    pub fn local(&self) -> LocalOptions {
        let mut options = LocalOptions::from_limits(&self.limits);
        options.memory_map = !self.no_mmap;
        options
    }

    /// Returns the resolver that opens the files that a local file refers to. The path `-` is standard input, which
    /// has no folder.
    pub fn resolver(&self, path: impl AsRef<Path>) -> Arc<dyn Resolve> {
        self.resolver_of(path.as_ref(), None)
    }

    /// Does the same as [`OpenOptions::resolver`], for a file that may be open.
    fn resolver_of(&self, path: &Path, file: Option<&LocalFile>) -> Arc<dyn Resolve> {
        let folder = self.allow.resolver_of(path, file, self.local(), &self.limits);
        #[cfg(feature = "remote")]
        if !self.allow.addresses().is_empty()
            && let Ok(remote) = self.remote_allowed()
        {
            return Arc::new(bytes::AllowListResolver::new(folder, remote, self.limits.external_depth));
        }
        folder
    }

    /// Opens a file from its bytes in memory. Relative references have no target.
    ///
    /// # Errors
    /// Returns the errors of [`open`].
    pub fn open_bytes(&self, bytes: Vec<u8>) -> Result<File> {
        self.open_source(Arc::new(MemorySource::new(bytes, "memory")), Arc::new(NoReferences))
    }

    /// Opens a file from an open source; `resolve` opens the files that it refers to.
    ///
    /// # Errors
    /// Returns the errors of [`open`].
    pub fn open_source(&self, source: SourceRef, resolve: Arc<dyn Resolve>) -> Result<File> {
        check_once(&source.clone(), || self.detect_and_open(source, resolve))
    }

    fn detect_and_open(&self, mut source: SourceRef, resolve: Arc<dyn Resolve>) -> Result<File> {
        let mut start = read_start(&source)?;
        // A layout describes any bytes, also those that begin like a gzip file.
        if (self.layout.is_none() || bytes::has_gzip_name(source.name())) && bytes::is_gzip(&start) {
            source = bytes::gunzip(source, &self.limits)?;
            start = read_start(&source)?;
        }
        if let Some(stream) = self.try_open_dudley(&source, &start, &resolve)? {
            return Ok(stream);
        }
        if own_kind(&source, &start).is_none()
            && let Some(derived) = foreign::derive_to_read(&source, &*resolve, &self.limits)?
        {
            let check = foreign::part_check(derived.0);
            let file = DudleyFile::open_derived(source, derived, &*resolve, self.byteorder, &self.limits)?;
            let file = file.with_check(check);
            return Ok(File::new(file.with_physical(!self.stored_values && !self.encoded)));
        }
        let elements = if self.stored_values { ElementForm::Stored } else { ElementForm::Physical };
        let form = ListingForm { elements, has_cards: !self.omits_cards };
        asdf_of(source, &start, resolve, &self.limits, form).map(File::new)
    }

    /// Returns the layout of a file of a foreign format, from its own metadata: that under which
    /// [`OpenOptions::open`] reads it; `resolve` opens the files that it refers to.
    ///
    /// # Errors
    /// Returns the errors of [`foreign::derive`], and [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for
    /// a file of any other format.
    pub fn layout_from(&self, source: &SourceRef, resolve: &dyn Resolve) -> Result<foreign::DerivedLayout> {
        let start = read_start(source)?;
        let name = source.name();
        let hint = match own_kind(source, &start) {
            Some(FileKind::Dudley) => "trilith layout print FILE.dud prints a layout, trilith tree FILE the content of a file",
            Some(_) => "trilith layout describe FILE prints the byte offsets of its arrays",
            None if bytes::is_gzip(&start) => "unpack it first: addresses count in the unpacked file",
            None => match foreign::derive_with(source, resolve, &self.limits)? {
                Some(derived) => return Ok(derived),
                None => return Err(foreign::refusal(&**source)?),
            },
        };
        Err(Error::unsupported(format!("{name} is not a file of a foreign format, whose layout can be derived")).hint(hint))
    }

    /// Opens a Dudley file, a set of them, or any file for which a layout is given. Returns None for anything else.
    fn try_open_dudley(&self, source: &SourceRef, start: &[u8], resolve: &Arc<dyn Resolve>) -> Result<Option<File>> {
        let FileSetOptions { must_be_catalog: is_required, catalog_only: is_refused, selection, .. } = &self.series;
        // A layout given with a family is that of its files: the catalog has its own.
        let layout = self.layout.as_ref().filter(|_| !is_required);
        let is_stream = match FileKind::detect(start) {
            _ if layout.is_some() => true,
            Some(kind) => kind == FileKind::Dudley,
            // A file of a known format says itself what it is, and on a server each look costs a request.
            None => !foreign::has_known_start(&**source)? && DudleyFile::has_sidecar_layout(source, &**resolve),
        };
        let is_set = *is_required || !selection.is_default() && !is_refused;
        let not_a_catalog = || Error::invalid_input(format!("{} is not the catalog of a file set", source.name()));
        if !is_stream {
            return if is_set { Err(not_a_catalog()) } else { Ok(None) };
        }
        let mut how = StreamOptions::default();
        (how.layout, how.order) = (layout.cloned(), self.byteorder);
        // The parameters of a set are those of its files, and a file without layout may be one.
        how.params = if layout.is_some() { self.layout_params.clone() } else { Vec::new() };
        let mut stream = DudleyFile::open_with(source.clone(), &**resolve, how.clone(), &self.limits)?;
        if layout.is_none() && !self.layout_params.is_empty() && matches!(stream.origin(), LayoutOrigin::Sidecar(_)) {
            how.params.clone_from(&self.layout_params);
            stream = DudleyFile::open_with(source.clone(), &**resolve, how, &self.limits)?;
        }
        let holds_layout = !is_refused && layout.is_none() && Catalog::holds_layout(&stream)?;
        match (*is_required || holds_layout, is_set) {
            (true, _) => {
                let series = FileSet::from_catalog(&stream, &self.series, self.byteorder, resolve.clone())?;
                Ok(Some(File::new(series)))
            }
            (false, true) => Err(not_a_catalog().hint("a catalog that holds the layout of its files: trilith layout catalog")),
            (false, false) => Ok(Some(File::new(stream))),
        }
    }
}

/// Returns the kind of a file that needs no layout; `None` also if its first bytes are only a user block of HDF5.
fn own_kind(source: &SourceRef, start: &[u8]) -> Option<FileKind> {
    let kind = FileKind::detect(start)?;
    (kind == FileKind::Dudley || !foreign::has_user_block(&**source)).then_some(kind)
}

/// Opens a file of the ASDF family, by its first bytes.
fn asdf_of(source: SourceRef, start: &[u8], resolve: Arc<dyn Resolve>, limits: &Limits, form: ListingForm) -> Result<AsdfFile> {
    match FileKind::detect(start) {
        Some(FileKind::Asdf) => {
            let file = AsdfFile::open(source, limits)?.with_resolver(resolve);
            Ok(match form.elements {
                ElementForm::Stored => file,
                ElementForm::Physical => file.with_meaning(Arc::new(HeaderDeclarations)),
            })
        }
        Some(FileKind::Fits) => open_fits_source(source, resolve, limits, form),
        Some(FileKind::Dudley) => {
            let what = format!("{} is a Dudley file; this works on files of the ASDF family", source.name());
            Err(Error::unsupported(what).hint("convert writes it as ASDF"))
        }
        None => Err(foreign::refusal(&*source)?),
    }
}

/// Opens a file of the ASDF family from an open source.
///
/// # Errors
/// Returns the errors of [`open`].
pub fn open_asdf_source(mut source: SourceRef, resolve: Arc<dyn Resolve>, limits: &Limits) -> Result<AsdfFile> {
    check_once(&source.clone(), || {
        let mut start = read_start(&source)?;
        if bytes::is_gzip(&start) {
            source = bytes::gunzip(source, limits)?;
            start = read_start(&source)?;
        }
        asdf_of(source, &start, resolve, limits, ListingForm { elements: ElementForm::Physical, has_cards: true })
    })
}

/// Does `work`, which opens a file by many small reads, and finds out once whether it was changed meanwhile. A source that is not the
/// file itself, such as its content before an update, checks each read.
pub(super) fn check_once<T>(source: &SourceRef, work: impl FnOnce() -> Result<T>) -> Result<T> {
    match source.backing().and_then(SourceBacking::local_file) {
        Some(file) if std::ptr::addr_eq(file, Arc::as_ptr(source)) => file.check_once(work),
        _ => work(),
    }
}

/// Opens a file of the ASDF family at a path or a URL, as [`open`] does.
///
/// # Errors
/// Returns the errors of [`open`], and [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for a file of
/// another family.
pub fn open_asdf(path: impl AsRef<Path>) -> Result<AsdfFile> {
    let read = |source, resolve| open_asdf_source(source, resolve, &Limits::default());
    retry_if_changed(|| OpenOptions::new().source(&path), read)
}

/// Retries the read if a writer changes the file meanwhile: the parts read before and after would not fit together.
fn retry_if_changed<T>(
    open: impl Fn() -> Result<(SourceRef, Arc<dyn Resolve>)>,
    read: impl Fn(SourceRef, Arc<dyn Resolve>) -> Result<T>,
) -> Result<T> {
    let mut wait = Duration::from_millis(1);
    loop {
        let (source, resolve) = open()?;
        let done = read(source.clone(), resolve);
        let again = wait < Duration::from_secs(1)
            && source.backing().and_then(SourceBacking::local_file).is_some()
            && source.backing().is_some_and(SourceBacking::is_changed);
        if !again {
            return done;
        }
        std::thread::sleep(wait);
        wait = wait * 5 / 4 + Duration::from_millis(1);
    }
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
/// Returns the errors of [`open_asdf`].
pub fn open_asdf_bytes(bytes: Vec<u8>) -> Result<AsdfFile> {
    open_asdf_source(Arc::new(MemorySource::new(bytes, "memory")), Arc::new(NoReferences), &Limits::default())
}

/// Returns the error for a path that leads to a directory which is a file of another format; None for any other path.
pub(super) fn dir_refusal(path: &Path) -> Option<Error> {
    let refusal = || foreign::dir_refusal(&bytes::name_of(path), |file| path.join(file).is_file());
    if path.is_dir() { refusal() } else { None }
}

/// Returns enough leading bytes to detect the format.
pub(super) fn read_start(source: &SourceRef) -> Result<Vec<u8>> {
    bytes::read_vec(&**source, 0, source.len().min(80), &Limits::default())
}
