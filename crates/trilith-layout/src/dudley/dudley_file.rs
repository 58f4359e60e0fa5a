//! An open stream: its layout, and its arrays on asking.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use super::char_sets::{decode_text, presented_foreign, presented_varlen};
use super::chunk_grid::{ChunkChecksums, ChunkedArray};
use super::datatype::datatype_of;
use super::decompress::{UncompressedForm, decompress_array};
use super::external_parts::with_external_parts;
use super::item_tree::{ItemTreeId, OutlineKind, StreamOutline};
use super::param_settings::ParamSetting;
use super::signature::Signature;
use crate::array::Array;
use crate::bytes::{
    ChecksummedSource, MemorySource, NoReferences, PartCheck, Resolve, SourceBacking, SourceRef, TruncatedSource, WindowSource,
    read_vec,
};
use crate::diagnostic::Diagnostic;
use crate::error::{Error, Result, SuggestedSetting};
use crate::layout::{
    ArrayLocation, Attribute, Byteorder, Dialect, EvaluateOptions, ItemId, Layout, LayoutEntry, LayoutEvaluation, ParamRequest,
    ParseOptions, ResolvedType, StreamEntryKind, SuppliedValue, is_storage_attribute, parse, read_value,
};
use crate::limits::Limits;
use crate::progress::Progress;

/// Maximum depth of arrays that are put together of arrays that are put together themselves.
const MAX_VIRTUAL_DEPTH: usize = 5;

/// Facts about a stream before it is opened.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct StreamOptions {
    /// The layout; otherwise that at the end of the file, or the one next to it (`x.dud` of `x.bd`).
    pub layout: Option<Layout>,
    /// The byte order of whatever layout and signature leave open.
    pub order: Option<Byteorder>,
    /// The dialect of a layout that is found; otherwise it is told from the text.
    pub dialect: Option<Dialect>,
    /// Byte offset of address 0 in a file without signature.
    pub base_offset: u64,
    /// The values of fixed parameters of the layout for this file, by name.
    pub params: Vec<(String, ParamSetting)>,
}

/// The origin of the layout of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LayoutOrigin {
    /// The layout is in the file, at this byte offset.
    Embedded(u64),
    /// The layout is in the file of this name next to the data file.
    Sidecar(String),
    /// The caller gave the layout.
    Supplied,
    /// The layout was derived from the metadata of a file of this foreign format.
    Derived(&'static str),
}

/// A file and the layout that describes it.
///
/// ```
/// use std::sync::Arc;
/// use trilith_io::bytes::MemorySource;
/// use trilith_layout::{Limits, dudley::DudleyFile};
/// let mut bytes = b"\x8d<BD\r\n\x1a\n".to_vec();
/// bytes.extend(24u64.to_le_bytes());               // the layout is at byte 24
/// bytes.extend([2i32, 0x10203].map(i32::to_le_bytes).concat());
/// bytes.extend(b"N : i4  x = u1[N]");
/// let file = DudleyFile::open(Arc::new(MemorySource::new(bytes, "x.bd")), None, &Limits::default())?;
/// assert_eq!(file.array_at("/x")?.load::<u8>()?, [3, 2]);
/// # Ok::<(), trilith_layout::Error>(())
/// ```
pub struct DudleyFile {
    source: SourceRef,
    /// The file, followed by the parts of other files, if the layout has any.
    full_source: Option<SourceRef>,
    layout: Layout,
    origin: LayoutOrigin,
    /// Length of its text in bytes, if it was found in the file.
    layout_len: u64,
    warnings: Vec<Diagnostic>,
    signature: Option<Signature>,
    base_offset: u64,
    options: EvaluateOptions,
    /// The items as a tree, once somebody asked for it.
    outline: OnceLock<StreamOutline>,
    /// `true` if stored parameters after the end of the file count as 0.
    is_truncated: bool,
    /// `true` if the layout may have arrays in chunks.
    has_grids: bool,
    /// `true` if arrays have the values that their attributes declare, by the conventions of netCDF.
    pub(super) is_physical: bool,
    /// The comparison of the bytes of an item with the checksum that a file of another format states for them.
    check: Option<PartCheck>,
}

impl DudleyFile {
    /// Opens a file under the layout given, or else under the one at its end.
    ///
    /// # Errors
    /// Returns the errors of [`DudleyFile::open_with`].
    pub fn open(source: SourceRef, layout: Option<Layout>, limits: &Limits) -> Result<Self> {
        Self::open_with(source, &NoReferences, StreamOptions { layout, ..StreamOptions::default() }, limits)
    }

    /// Opens a file; `resolve` may find the layout next to it.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) for a damaged header or the first error of the
    /// layout, [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if there is no layout.
    pub fn open_with(source: SourceRef, resolve: &dyn Resolve, options: StreamOptions, limits: &Limits) -> Result<Self> {
        let limits = &limits.for_calls(source.len());
        let signature = Signature::read(&*source)?;
        let mut options = options;
        let FoundLayout { layout, origin, text_len, warnings } = match options.layout.take() {
            Some(layout) => FoundLayout { layout, origin: LayoutOrigin::Supplied, text_len: 0, warnings: Vec::new() },
            None => find_layout(&source, signature, resolve, options.dialect, limits)?,
        };
        let layout = if options.params.is_empty() {
            layout
        } else {
            let end_of = |layout: Layout| {
                let options = StreamOptions { layout: Some(layout), params: Vec::new(), ..options.clone() };
                let file = Self::open_with(source.clone(), resolve, options, limits)?;
                let total = file.locate_items()?.evaluation().total();
                Ok(total.and_then(|total| total.checked_add(file.base_offset())))
            };
            super::param_settings::apply_settings(layout, &options.params, source.len(), limits, &end_of)?
        };
        let base = match (signature, layout.dialect()) {
            (Some(_), Dialect::D2025) => 0,
            (Some(_), Dialect::D2026) => Signature::SIGNATURE_LEN,
            (None, _) => options.base_offset,
        };
        let order = signature.map(|signature| signature.order).or(options.order);
        let options = EvaluateOptions { is_native: signature.is_some(), byteorder: order, limits: limits.clone() };
        let (has_grids, outline, is_cut) = (layout.may_have_grids(), OnceLock::new(), false);
        let whole = with_external_parts(&source, &layout, resolve)?;
        Ok(Self {
            source,
            full_source: whole,
            layout,
            origin,
            layout_len: text_len,
            warnings,
            signature,
            base_offset: base,
            options,
            outline,
            is_truncated: is_cut,
            has_grids,
            is_physical: false,
            check: None,
        })
    }

    /// Opens a file of a foreign format under the layout that was derived from its own metadata.
    ///
    /// # Errors
    /// Returns the errors of [`DudleyFile::open_with`].
    #[doc(hidden)]
    pub fn open_derived(
        source: SourceRef,
        (format, layout): (&'static str, Layout),
        resolve: &dyn Resolve,
        order: Option<Byteorder>,
        limits: &Limits,
    ) -> Result<Self> {
        #[cfg(debug_assertions)]
        layout.assert_same_as_text(limits);
        let options = StreamOptions { layout: Some(layout), order, ..StreamOptions::default() };
        let file = Self::open_with(source, resolve, options, limits)?;
        Ok(Self { origin: LayoutOrigin::Derived(format), ..file })
    }

    /// Returns the file under a layout that lists every chunk of its arrays, which are read from their index.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Limit`](crate::ErrorKind::Limit) for more chunks than [`Limits::items`], and an error if an index cannot be
    /// read.
    #[doc(hidden)]
    pub fn with_listed_chunks(&self) -> Result<Self> {
        let mut options = ParseOptions::with_dialect(self.layout.dialect());
        options.limits = self.limits().clone();
        let text = self.layout.listed_text(self.limits())?;
        Ok(Self {
            source: self.source.clone(),
            full_source: self.full_source.clone(),
            layout: parse(text.as_bytes(), &options)?.into_layout()?,
            origin: self.origin.clone(),
            layout_len: self.layout_len,
            warnings: self.warnings.clone(),
            signature: self.signature,
            base_offset: self.base_offset,
            options: self.options.clone(),
            outline: OnceLock::new(),
            is_truncated: self.is_truncated,
            has_grids: self.has_grids,
            is_physical: self.is_physical,
            check: self.check.clone(),
        })
    }

    /// Returns `true` for a file of another format, whose layout is derived from its own metadata.
    #[doc(hidden)]
    pub fn is_foreign(&self) -> bool {
        matches!(self.origin, LayoutOrigin::Derived(_))
    }

    /// Returns an array of the file with its text decoded, as [`decode_text`](super::decode_text) does: that of other formats by their
    /// own rule.
    ///
    /// # Errors
    /// Returns an error if the elements cannot be read.
    #[doc(hidden)]
    pub fn decoded(&self, array: &Array) -> Result<Array> {
        if self.is_foreign() { presented_foreign(array) } else { decode_text(array) }
    }

    /// Returns an array of structs with strings of variable length with its text decoded, also if all is declared as ASCII.
    ///
    /// # Errors
    /// Returns an error if the elements cannot be read.
    #[doc(hidden)]
    pub fn decoded_varlen(&self, array: &Array) -> Result<Array> {
        presented_varlen(array)
    }

    /// Sets whether arrays have physical values: their attributes are then applied by the conventions of netCDF
    /// (`scale_factor`, `_FillValue`, and so on).
    #[doc(hidden)]
    pub fn with_physical(self, is_physical: bool) -> Self {
        Self { is_physical, ..self }
    }

    /// Sets the function by which the sources of items compare checksums ([`SourceBacking::verify_checksum`]).
    #[doc(hidden)]
    pub fn with_check(self, check: Option<PartCheck>) -> Self {
        Self { check, ..self }
    }

    /// Returns `true` if arrays have physical values.
    #[doc(hidden)]
    pub fn is_physical(&self) -> bool {
        self.is_physical
    }

    /// Makes stored parameters after the end of the file 0. Items after the first of them in the layout then have wrong
    /// offsets.
    #[doc(hidden)]
    pub fn cut_off(self) -> Self {
        Self { is_truncated: true, ..self }
    }

    /// Returns `true` if a layout of the name of a file is next to it.
    #[doc(hidden)]
    pub fn has_sidecar_layout(source: &SourceRef, resolve: &dyn Resolve) -> bool {
        let uri = sidecar_name(source.name()).map(|beside| beside.replace('%', "%25"));
        // Most files have no such layout, and a check for its absence is faster than the creation of an error.
        uri.is_some_and(|uri| !resolve.is_missing(&uri) && resolve.resolve(&uri).is_ok())
    }

    /// The bytes.
    pub fn source(&self) -> &SourceRef {
        &self.source
    }

    /// Returns `true` if items are in other files.
    #[doc(hidden)]
    pub fn has_external_parts(&self) -> bool {
        self.full_source.is_some()
    }

    /// Returns the byte of the file at which an entry begins; `None` if that is not known, or if it is in another file.
    #[doc(hidden)]
    pub fn offset_of(&self, entry: &LayoutEntry) -> Option<u64> {
        let at = entry.address.and_then(|address| address.checked_add(self.base_offset()))?;
        (!self.has_external_parts() || at < self.source.len()).then_some(at)
    }

    /// Returns the first byte after those that an item may have: the length of the file, together with the parts of other files that
    /// follow it.
    #[doc(hidden)]
    pub fn data_end(&self) -> u64 {
        self.full_source.as_ref().unwrap_or(&self.source).len()
    }

    /// The bytes in which what ends at a byte of the layout is: those of the file, unless it goes on in another one.
    pub(super) fn source_covering(&self, end: u64) -> &SourceRef {
        self.full_source.as_ref().filter(|_| end > self.source.len()).unwrap_or(&self.source)
    }

    /// Does the same as [`DudleyFile::source_covering`], for chunks, whose index may have a checksum.
    fn checked_source(&self, end: u64) -> SourceRef {
        let source = self.source_covering(end).clone();
        match self.check.clone() {
            None => source,
            Some(check) => {
                // The metadata are those of the file, also if elements are in other files.
                let file = self.source.clone();
                Arc::new(ChecksummedSource::new(source, move |_| check(&file, 0)))
            }
        }
    }

    /// The layout.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Returns the origin of the layout.
    pub fn origin(&self) -> &LayoutOrigin {
        &self.origin
    }

    /// The bytes after the terminator of a layout in the file.
    pub(super) fn trailing_bytes(&self) -> Result<Vec<u8>> {
        let LayoutOrigin::Embedded(at) = self.origin else { return Ok(Vec::new()) };
        let from = at.saturating_add(self.layout_len).min(self.source.len());
        read_vec(&*self.source, from, self.source.len() - from, &self.options.limits)
    }

    /// The header, if the file is native.
    pub fn signature(&self) -> Option<Signature> {
        self.signature
    }

    /// The byte of the file that is layout address 0.
    pub fn base_offset(&self) -> u64 {
        self.base_offset
    }

    /// The byte order of whatever the layout leaves open.
    pub fn byteorder(&self) -> Option<Byteorder> {
        self.layout.order().or(self.options.byteorder)
    }

    /// `dudley-2025` or `dudley-2026`.
    pub fn generation_name(&self) -> &'static str {
        match self.layout.dialect() {
            Dialect::D2025 => "dudley-2025",
            Dialect::D2026 => "dudley-2026",
        }
    }

    /// The limits that it was opened with.
    pub fn limits(&self) -> &Limits {
        &self.options.limits
    }

    /// Returns problems of the file and its layout that do not stop reading it.
    pub fn warnings(&self) -> Vec<String> {
        let notice = self.source.backing().and_then(SourceBacking::notice).into_iter();
        let damage = self.layout.unreadable(ItemId::ROOT).map(|error| error.to_string());
        notice.chain(damage).chain(self.warnings.iter().map(|warning| warning.to_string())).collect()
    }

    /// Returns the findings about the layout, with their places in its text.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.warnings
    }

    /// Reads the stored parameters and with them finds all addresses.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) if the stream is too short for a parameter or
    /// a value is impossible, [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if the byte order is not known.
    pub fn locate_items(&self) -> Result<StreamItems<'_>> {
        let found = self.layout.evaluate(&self.options, |request| self.read_stored_param(request))?;
        Ok(StreamItems { file: self, found })
    }

    /// The array at an item path; many are found faster through one [`DudleyFile::locate_items`].
    ///
    /// # Errors
    /// Returns the errors of [`StreamItems::array_at`].
    pub fn array_at(&self, path: &str) -> Result<Array> {
        self.locate_items()?.array_at(path)
    }

    fn read_stored_param(&self, request: &ParamRequest) -> Result<SuppliedValue> {
        let Some(address) = request.address else { return Ok(SuppliedValue::Unknown) };
        let size = request.datatype.size();
        let at = self.base_offset.checked_add(address);
        match at.and_then(|at| Some((at, at.checked_add(size)?))) {
            Some((at, end)) if end <= self.source.len() => {
                let mut bytes = [0; 8];
                let slot = bytes.get_mut(..size as usize).unwrap_or(&mut []);
                self.source.read_at(at, slot)?;
                Ok(SuppliedValue::Bytes(bytes))
            }
            _ if self.is_truncated => Ok(SuppliedValue::Value(0)),
            _ => Ok(SuppliedValue::TooFewBytes(self.source.len().saturating_sub(self.base_offset))),
        }
    }

    /// Returns the items as a tree, which is built once.
    ///
    /// # Errors
    /// Returns the errors of [`StreamItems::outline`].
    pub fn outline(&self) -> Result<&StreamOutline> {
        if let Some(known) = self.outline.get() {
            return Ok(known);
        }
        let made = self.locate_items()?.outline()?;
        Ok(self.outline.get_or_init(|| made))
    }

    /// Returns the attributes of the layout about the elements and the axes of an item, see [`is_storage_attribute`].
    ///
    /// # Errors
    /// Returns the errors of [`DudleyFile::outline`].
    pub fn storage_attributes(&self, id: ItemTreeId) -> Result<Vec<(&str, Attribute)>> {
        let Some(item) = self.outline()?.item(id) else { return Ok(Vec::new()) };
        let said = self.layout.attributes(item).filter(|(name, _)| is_storage_attribute(name));
        Ok(said.map(|(name, value)| (name, read_value(value))).collect())
    }

    /// Returns `true` if the layout may have arrays in chunks.
    #[doc(hidden)]
    pub fn has_grids(&self) -> bool {
        self.has_grids
    }

    /// The array in chunks that an item is, or why it cannot be read; None for any other item.
    #[doc(hidden)]
    pub fn grid(&self, path: &str) -> Result<Option<&Result<ChunkedArray>>> {
        if self.has_grids() { Ok(self.outline()?.grid_at_path(path)) } else { Ok(None) }
    }

    /// Reads the places of all chunks of an item, to find out whether they can be read; does nothing for an item without chunks.
    ///
    /// # Errors
    /// Returns the errors of [`ChunkedArray::check_index`].
    #[doc(hidden)]
    pub fn check_chunk_index(&self, entry: &LayoutEntry) -> Result<()> {
        self.check_stored_grid(entry, ChunkedArray::check_index)
    }

    /// Refuses an item whose chunks have filters that are not available; does nothing for an item without chunks.
    ///
    /// # Errors
    /// Returns the errors of [`ChunkedArray::check_filters`].
    #[doc(hidden)]
    pub fn check_chunk_filters(&self, entry: &LayoutEntry) -> Result<()> {
        self.check_stored_grid(entry, ChunkedArray::check_filters)
    }

    /// Checks an item whose chunks this file stores. An error begins with its path.
    fn check_stored_grid(
        &self,
        entry: &LayoutEntry,
        check: impl FnOnce(&ChunkedArray, &SourceRef, &Limits) -> Result<()>,
    ) -> Result<()> {
        match self.grid(&entry.path)? {
            Some(Ok(grid)) if !grid.is_mapped() => {
                check(grid, self.source_covering(grid.end()), self.limits()).map_err(|error| error.context(entry.path.clone()))
            }
            _ => Ok(()),
        }
    }

    /// Compares the checksums of the chunks of an item; None for an item without such checksums.
    ///
    /// # Errors
    /// Returns the errors of [`ChunkedArray::compare_checksums`].
    #[doc(hidden)]
    pub fn compare_chunk_checksums(&self, entry: &LayoutEntry, progress: Progress<'_>) -> Result<Option<ChunkChecksums>> {
        match self.grid(&entry.path)? {
            Some(Ok(grid)) => grid.compare_checksums(self.source_covering(grid.end()), self.limits(), progress),
            _ => Ok(None),
        }
    }

    /// Returns `true` if this file stores bytes of an item in chunks that no checksum covers, see
    /// [`ChunkedArray::has_bytes_without_checksum`].
    ///
    /// # Errors
    /// Returns the errors of [`ChunkedArray::has_bytes_without_checksum`].
    #[doc(hidden)]
    pub fn has_chunks_without_checksum(&self, entry: &LayoutEntry, is_covered: &dyn Fn(Range<u64>) -> bool) -> Result<bool> {
        match self.grid(&entry.path)? {
            Some(Ok(grid)) => grid.has_bytes_without_checksum(self.source_covering(grid.end()), self.limits(), is_covered),
            _ => Ok(false),
        }
    }

    /// Returns the array of [`DudleyFile::array_of`], with its stored elements.
    ///
    /// # Errors
    /// Returns the errors of [`DudleyFile::array_at`].
    pub fn stored_array_of(&self, entry: &LayoutEntry) -> Result<Array> {
        self.array_inside(entry, 0)
    }

    /// Returns the array of [`DudleyFile::stored_array_of`]. `depth` counts the virtual arrays that it is a source of.
    fn array_inside(&self, entry: &LayoutEntry, depth: usize) -> Result<Array> {
        if let Some(why) = self.unreadable(entry) {
            return Err(why.context(entry.path.clone()));
        }
        if let Some(grid) = self.grid(&entry.path)? {
            let array = match grid {
                Ok(grid) if grid.is_mapped() => grid.mapped(self.source.name(), self.limits(), &mut |path| {
                    // Sources are declared after what is made of them, so that none is a source of itself.
                    let outline = self.outline()?;
                    match outline.find(path)?.map(|id| outline.kind(id)) {
                        Some(OutlineKind::Data(source))
                            if source.item.index() > entry.item.index() && depth < MAX_VIRTUAL_DEPTH =>
                        {
                            self.array_inside(source, depth + 1)
                        }
                        _ => Err(Error::malformed(format!("no array {path} after it, of which it is made"))),
                    }
                }),
                Ok(grid) => grid.array(&self.checked_source(grid.end()), self.limits()),
                Err(why) => Err(Error::new(why.kind(), why.message())),
            };
            return array.map_err(|e| e.context(entry.path.clone()));
        }
        if entry.stride.is_some() {
            let items = self.locate_items()?;
            let array = items.stacked(&entry.path)?.ok_or_else(|| items.no_item(&entry.path))?;
            return super::declared_view::apply_attributes(&self.layout, entry.item, array)
                .map_err(|e| e.context(entry.path.clone()));
        }
        let whole = || {
            let mut shape = entry.shape.clone();
            let (datatype, order) = datatype_of(&entry.resolved_type, &mut shape)?;
            let (source, offset) = self.bytes_of(entry)?;
            let array = Array::new(source, offset, datatype, order, shape)?.with_limits(Arc::new(self.limits().clone()));
            super::declared_view::apply_attributes(&self.layout, entry.item, array)
        };
        whole().map_err(|e: Error| e.context(entry.path.clone()))
    }

    /// Returns the reason if the layout marks an item as unreadable.
    #[doc(hidden)]
    pub fn unreadable(&self, entry: &LayoutEntry) -> Option<Error> {
        if entry.kind == StreamEntryKind::Null { self.layout.unreadable(entry.item) } else { None }
    }

    /// The bytes in which an item is, and where it starts in them.
    fn bytes_of(&self, entry: &LayoutEntry) -> Result<(SourceRef, u64)> {
        let file = self;
        let filter = file.layout.filter_of(entry.item).filter(|filter| filter.compresses && entry.kind == StreamEntryKind::Data);
        let Some(address) = entry.address else {
            let has_elements = !entry.shape.contains(&0) && entry.resolved_type.size() != Some(0);
            if has_elements && entry.nbytes != Some(0) {
                return Err(Error::malformed("its byte offset is unknown, because a length before it is unknown"));
            }
            if has_elements && filter.is_some() {
                return Err(Error::malformed("no bytes are stored for a compressed array"));
            }
            return Ok((Arc::new(MemorySource::new(Vec::new(), file.source.name())), 0));
        };
        let start =
            file.base_offset.checked_add(address).ok_or_else(|| Error::malformed(format!("address {address} is too large")))?;
        let Some(filter) = filter else {
            // The existing part of a truncated array can be read.
            let end = start.saturating_add(entry.nbytes.unwrap_or(0));
            let home = file.source_covering(end).clone();
            let home = match file.check.clone() {
                None => home,
                Some(check) if end <= file.source.len() => {
                    Arc::new(ChecksummedSource::new(home, move |source| check(source, start)))
                }
                // The elements are in another file.
                Some(check) => {
                    let metadata = file.source.clone();
                    Arc::new(ChecksummedSource::new(home, move |_| check(&metadata, 0)))
                }
            };
            return Ok((TruncatedSource::with_declared_len(home, end), start));
        };
        let stored = entry.nbytes.ok_or_else(|| Error::malformed("the length of the compressed array is not known"))?;
        let window = WindowSource::new(file.source_covering(start.saturating_add(stored)).clone(), start, stored)?;
        Ok((decompress_array(filter, Arc::new(window), &UncompressedForm::from_entry(entry)?, file.limits())?, 0))
    }
}

impl std::fmt::Debug for DudleyFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DudleyFile")
            .field("name", &self.source.name())
            .field("layout", &self.layout)
            .field("signature", &self.signature)
            .finish_non_exhaustive()
    }
}

/// A layout, and where it was found.
struct FoundLayout {
    layout: Layout,
    origin: LayoutOrigin,
    text_len: u64,
    warnings: Vec<Diagnostic>,
}

/// The layout at the end of the file, or the one next to it.
fn find_layout(
    source: &SourceRef,
    signature: Option<Signature>,
    resolve: &dyn Resolve,
    dialect: Option<Dialect>,
    limits: &Limits,
) -> Result<FoundLayout> {
    let mut options = ParseOptions::default();
    options.dialect = dialect;
    options.limits = limits.clone();
    let (text, origin) = find_text(source, signature, resolve, limits)?;
    let said = match &origin {
        LayoutOrigin::Embedded(at) => format!("the layout at byte {at}"),
        LayoutOrigin::Sidecar(name) => name.clone(),
        LayoutOrigin::Supplied | LayoutOrigin::Derived(_) => String::new(),
    };
    // An unfinished update leaves NUL bytes in the layout. No program writes them there.
    let is_unfinished = matches!(origin, LayoutOrigin::Embedded(_)) && text.contains(&0);
    read_layout(&text, &options, origin).map_err(|error| match error.advice() {
        None if is_unfinished => error.context(said).hint(format!(
            "where {} was copied while it was appended to, copy it again with the journal next to it (.NAME.trilith-journal), \
             or give its layout",
            source.name()
        )),
        _ => error.context(said),
    })
}

/// Returns the text of the layout at the end of a native file, or of the layout file next to it.
///
/// # Errors
/// Returns `Malformed` for a damaged signature, `InvalidInput` if there is no layout.
pub fn layout_text(source: &SourceRef, resolve: &dyn Resolve, limits: &Limits) -> Result<Vec<u8>> {
    Ok(find_text(source, Signature::read(&**source)?, resolve, limits)?.0)
}

/// The text of the layout at the end of the file, up to the end of the file, or of the one next to it.
pub fn find_text(
    source: &SourceRef,
    signature: Option<Signature>,
    resolve: &dyn Resolve,
    limits: &Limits,
) -> Result<(Vec<u8>, LayoutOrigin)> {
    if let Some(at) = signature.and_then(|signature| signature.layout_offset) {
        return Ok((read_text(source, at, limits)?, LayoutOrigin::Embedded(at)));
    }
    let name = source.name();
    let beside = sidecar_name(name);
    let missing = || {
        let others = beside.as_ref().map_or(String::new(), |beside| format!(", and no {beside} next to it"));
        Error::invalid_input(format!("{name} has no layout: there is none in the file{others}"))
            .setting("", SuggestedSetting::Layout)
    };
    let Some(beside) = beside.clone() else { return Err(missing()) };
    let (found, _) = resolve.resolve(&beside.replace('%', "%25")).map_err(|_| missing())?;
    Ok((read_text(&found, 0, limits)?, LayoutOrigin::Sidecar(beside)))
}

/// Returns the name of the layout next to a file, or None for a layout itself.
fn sidecar_name(name: &str) -> Option<String> {
    let last = name.rsplit(['/', '\\']).next().unwrap_or(name);
    let stem = last.rsplit_once('.').map_or(last, |(stem, _)| stem);
    let beside = format!("{stem}.dud");
    (!stem.is_empty() && beside != last).then_some(beside)
}

fn read_text(source: &SourceRef, at: u64, limits: &Limits) -> Result<Vec<u8>> {
    let len = source.len().saturating_sub(at);
    if len > limits.text {
        return Err(Limits::exceeded_error("text", limits.text, format_args!("the layout is {len} bytes long")));
    }
    read_vec(&**source, at, len, limits)
}

fn read_layout(text: &[u8], options: &ParseOptions, origin: LayoutOrigin) -> Result<FoundLayout> {
    let parsed = parse(text, options)?;
    let (text_len, warnings) = (parsed.end as u64, parsed.diagnostics.clone());
    Ok(FoundLayout { layout: parsed.into_layout()?, origin, text_len, warnings })
}

/// The items of a stream at their addresses.
pub struct StreamItems<'f> {
    file: &'f DudleyFile,
    found: LayoutEvaluation<'f>,
}

impl<'f> StreamItems<'f> {
    /// The file.
    pub fn file(&self) -> &'f DudleyFile {
        self.file
    }

    /// The layout with the parameters of this stream.
    pub fn evaluation(&self) -> &LayoutEvaluation<'f> {
        &self.found
    }

    /// All items in the order of the text, up to [`Limits::items`].
    ///
    /// # Errors
    /// Returns the errors of [`DudleyFile::locate_items`] for each, and [`ErrorKind::Limit`](crate::ErrorKind::Limit) if a
    /// limit would be exceeded.
    pub fn entries(&self) -> impl Iterator<Item = Result<LayoutEntry>> + '_ {
        self.limit_entries(self.found.entries())
    }

    /// Returns the entries of [`StreamItems::entries`], with a long list of equal arrays as one entry.
    pub(super) fn condensed_entries(&self) -> impl Iterator<Item = Result<LayoutEntry>> + '_ {
        // Derived layouts describe lists in more detail.
        let least = if matches!(self.file.origin, LayoutOrigin::Derived(_)) || self.file.has_grids {
            u64::MAX
        } else {
            crate::layout::MIN_CONDENSED_LIST
        };
        self.limit_entries(self.found.condensed(least))
    }

    fn limit_entries<'i>(
        &'i self,
        entries: impl Iterator<Item = Result<LayoutEntry, crate::layout::EvaluationError>> + 'i,
    ) -> impl Iterator<Item = Result<LayoutEntry>> + 'i {
        let most = self.file.limits().items;
        entries.zip(0u64..).map_while(move |(entry, number)| match number.cmp(&most) {
            std::cmp::Ordering::Less => Some(entry.map_err(Error::from)),
            std::cmp::Ordering::Equal => Some(Err(Limits::exceeded_error("items", most, "the stream has more items"))),
            std::cmp::Ordering::Greater => None,
        })
    }

    /// The items as a tree.
    ///
    /// # Errors
    /// Returns the errors of [`StreamItems::entries`].
    pub fn outline(&self) -> Result<StreamOutline> {
        StreamOutline::build(self)
    }

    /// The item at a path such as `/group/list[3]/x`.
    ///
    /// # Errors
    /// Returns [`ErrorKind::NotFound`](crate::ErrorKind::NotFound) if there is none.
    pub fn entry(&self, path: &str) -> Result<LayoutEntry> {
        self.found.find(path)?.ok_or_else(|| self.no_item(path))
    }

    /// Returns the place of the array at a path, if there is one, as for [`StreamItems::array_at`]. A typedef with stored
    /// parameters is presented as its member without a name.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Limit`](crate::ErrorKind::Limit) if finding it costs too much.
    pub fn located(&self, path: &str) -> Result<Option<ArrayLocation>> {
        let found = self.found.locate(path)?;
        if found.as_ref().is_none_or(|found| found.typed == ResolvedType::Dynamic)
            && let Some(inner) = self.found.locate(&format!("{path}.\"\""))?
        {
            return Ok(Some(inner));
        }
        Ok(found)
    }

    /// Returns the array at a path: an item, a parameter, or a member of the structs of an item (`/records.time`;
    /// `/time` if the item has no name). For a list it returns the elements, as [`StreamItems::stacked`] does. If the
    /// array ends after the end of the file, its existing part can be read.
    ///
    /// # Errors
    /// Returns [`ErrorKind::NotFound`](crate::ErrorKind::NotFound) if there is none,
    /// [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if its byte order is not known, and
    /// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for a filter that is not available.
    pub fn array_at(&self, path: &str) -> Result<Array> {
        if self.file.has_grids()
            && let outline = self.file.outline()?
            && let Some(id) = outline.find(path)?.filter(|id| outline.is_grid(*id))
            && let OutlineKind::Data(entry) = outline.kind(id)
        {
            return self.file.array_of(entry);
        }
        let Some(found) = self.located(path)? else {
            let found = self.instance_at(path)?;
            return found.map_or_else(|| self.stacked(path), |array| Ok(Some(array)))?.ok_or_else(|| self.no_item(path));
        };
        let entry = match self.found.find(&found.path)? {
            Some(entry) => entry,
            None => return Err(self.no_item(path)),
        };
        self.array_from(&entry, found).map_err(|e| e.context(path.to_owned()))
    }

    /// One struct of an array of structs, or a member of it: `/s(0,1)`, `/s(0,1).member`. None if the path is not of
    /// this form, or leads to something else.
    ///
    /// # Errors
    /// Returns the errors of [`StreamItems::array_at`], and [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for a struct or
    /// a member that is not there.
    pub fn instance_at(&self, path: &str) -> Result<Option<Array>> {
        let Some((item, rest)) = path.rsplit_once('(') else { return Ok(None) };
        let Some((numbers, members)) = rest.split_once(')') else { return Ok(None) };
        let index: Option<Vec<u64>> = numbers.split(',').map(|number| number.trim().parse().ok()).collect();
        let is_struct = |found: &ArrayLocation| matches!(found.typed, ResolvedType::Struct(_));
        let (Some(index), Some(_)) = (index, self.located(item)?.filter(is_struct)) else { return Ok(None) };
        let mut array = self.array_at(item)?.scalar_at(&index).map_err(|e| e.context(path.to_owned()))?;
        for step in super::item_path::parse(members)? {
            let super::item_path::PathStep::Member(name) = step else { return Ok(None) };
            array = array.field(&name).map_err(|e| e.context(path.to_owned()))?;
        }
        Ok(Some(array))
    }

    /// The array that an entry of this stream is as it is stored, all of which is there.
    ///
    /// # Errors
    /// Returns the errors of [`StreamItems::array_at`], and [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) if it
    /// ends after the end of the file.
    pub fn array(&self, entry: &LayoutEntry) -> Result<Array> {
        let array = self.file.stored_array_of(entry)?;
        array.check_present().map_err(|e| e.context(entry.path.clone()))?;
        Ok(array)
    }

    /// The structs with stored parameters at a path as one array in which these are members; None if they are of several
    /// sizes, or if something else is there.
    pub(super) fn struct_array_at(&self, path: &str) -> Result<Option<Array>> {
        let entry = self.found.find(path)?.filter(|entry| entry.resolved_type == ResolvedType::Dynamic);
        let found = entry.as_ref().map(|entry| (entry, ArrayLocation::from_entry_members(entry)));
        found
            .filter(|(_, found)| found.typed != ResolvedType::Dynamic)
            .map(|(entry, found)| self.array_from(entry, found))
            .transpose()
    }

    /// An item, or a member of all its structs.
    fn array_from(&self, entry: &LayoutEntry, found: ArrayLocation) -> Result<Array> {
        if let Some(why) = self.file.unreadable(entry) {
            return Err(why);
        }
        let (source, offset) = self.file.bytes_of(entry)?;
        let inside = match (found.address, entry.address) {
            (Some(member), Some(item)) => member.saturating_sub(item),
            _ => 0,
        };
        let mut shape = found.shape;
        let (datatype, order) = datatype_of(&found.typed, &mut shape)?;
        // The characters of a string are contiguous, for any strides of the strings.
        let strides: Result<Vec<i64>> = found
            .strides
            .iter()
            .take(shape.len())
            .map(|stride| i64::try_from(*stride).map_err(|_| Error::malformed("a stride of more than 2^63 bytes")))
            .collect();
        let array = Array::strided(source, offset.saturating_add(inside), datatype, order, shape, strides?)?;
        let array = array.with_limits(Arc::new(self.file.limits().clone()));
        if found.path != entry.path {
            return Ok(array);
        }
        self.file.to_physical(entry.item, super::declared_view::apply_attributes(&self.file.layout, entry.item, array)?)
    }

    /// The error for a path that leads nowhere, with what may have been meant.
    pub fn no_item(&self, path: &str) -> Error {
        match self.file.layout.find_missing_name(path) {
            Some(missing) => Error::missing_key(&missing.name, &missing.names, 0),
            None => Error::not_found(format!("there is no item {path}")),
        }
        .at_path(path)
    }

    /// The path of the item that a value of a reference array means (dialect 2026): `&k`; None for a null
    /// reference.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for a value that means no item.
    pub fn referenced(&self, value: i64) -> Result<Option<String>> {
        if value == 0 || value == -1 {
            return Ok(None);
        }
        let by_id = self.file.layout.references().position(|(_, ids)| ids.contains(&value));
        let count = self.file.layout.references().count();
        let by_number = || usize::try_from(value).ok().and_then(|k| k.checked_sub(1)).filter(|k| *k < count);
        match by_id.or_else(by_number) {
            Some(at) => Ok(Some(format!("&{}", at + 1))),
            None => Err(Error::invalid_input(format!("{value} refers to no item: the layout has {count}"))),
        }
    }

    /// The lines of documentation of an item.
    pub fn docs(&self, item: ItemId) -> impl Iterator<Item = &'f str> {
        self.file.layout.docs(item)
    }
}
