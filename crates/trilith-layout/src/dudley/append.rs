//! Appending to a native file, so that a crash at any moment leaves the old file or the new.
//!
//! Section 7.4 of our specification: new items are written in place of the layout, and the longer layout follows
//! them. Header and old layout are saved in a journal first, and the next opening of the file undoes it.

use std::path::Path;
use std::sync::Arc;

use super::dudley_file::{DudleyFile, LayoutOrigin, StreamItems, StreamOptions};
use super::layout_writer::arrays_in_order;
use super::signature::Signature;
use super::write::{DataSupplier, FilePlace, dialect_line, evaluate_more, write_items};
use crate::array::Array;
use crate::bytes::{self, DirectoryResolver, FileUpdate, LocalOptions, SourceRef};
use crate::error::{Error, Result, SuggestedSetting};
use crate::layout::{Byteorder, EvaluateOptions, Layout, LayoutEntry};
use crate::limits::Limits;
use crate::span::Span;

/// Appends items to the native file at `path`. `text` is added to the end of the layout, from the root dict on. `params` are the
/// values of stored parameters in it, and `data` returns its arrays. Returns the new size.
///
/// # Errors
/// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if the file has no layout or the text does not go with it,
/// and the errors of [`NewStream::write`](super::NewStream::write).
pub fn append(path: &Path, text: &str, params: &[i64], data: DataSupplier<'_>, limits: &Limits) -> Result<u64> {
    let file = open_for_append(path, StreamOptions::default(), limits)?;
    let longer = LayoutExtension { text: format!("{}/\n{text}\n", body_of(file.layout(), None)), extends_list: None };
    extend(&file, longer, params, data, &mut || Ok(()))
}

/// Opens a file that is to be appended to.
///
/// # Errors
/// Returns [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for a gzip file, whose content cannot be changed in place.
pub(super) fn open_for_append(path: &Path, how: StreamOptions, limits: &Limits) -> Result<DudleyFile> {
    let mut options = LocalOptions::default();
    options.memory_map = false;
    let folder = DirectoryResolver::new(path.parent().unwrap_or(Path::new(".")), options, limits.external_depth);
    let source = bytes::open(path, options)?;
    // A layout describes any bytes, also those that begin like a gzip file.
    if (how.layout.is_none() || bytes::has_gzip_name(path)) && bytes::is_packed(&*source)? {
        let what = format!("{} is a gzip file, and a Dudley file is changed in place", path.display());
        return Err(Error::unsupported(what).hint("unpack it, change it, and pack it again"));
    }
    DudleyFile::open_with(source, &folder, how, limits)
}

/// A layout text that becomes longer, by declarations or by a count in its last one.
struct LayoutExtension {
    /// Layout text without the line that ends a layout of 2025.
    text: String,
    /// Number of repetitions that the last extension of the layout had before.
    extends_list: Option<u64>,
}

/// Makes a file and its layout longer; `done` may still refuse when all data are written.
fn extend(
    file: &DudleyFile,
    longer: LayoutExtension,
    params: &[i64],
    data: DataSupplier<'_>,
    done: &mut dyn FnMut() -> Result<()>,
) -> Result<u64> {
    let limits = file.limits();
    let NativeTail { signature, old_items: old, values, file_len: total, start } = NativeTail::from_file(file)?;
    let Some(signature) = signature else {
        return Err(Error::unsupported(format!(
            "the layout of {} would have to change, which is outside of it",
            file.source().name()
        ))
        .hint("a file without signature grows in its last array, if its first dimension is a stored parameter"));
    };
    let next = old.evaluation().next().unwrap_or(0);
    if next < total {
        let message = format!("the layout continues at address {next}, inside of the existing data ({total} bytes)");
        return Err(Error::unsupported(message).hint("declare the item at the end of the file last"));
    }
    let mut from = old.evaluation().walk_extent();
    if let Some(again) = longer.extends_list {
        (from.places, from.again) = (from.places.saturating_sub(1), again);
    }
    let layout = Layout::read(longer.text.as_bytes())
        .map_err(|e| Error::invalid_input(format!("the longer layout is wrong: {}", e.message())))?;
    let options = EvaluateOptions { is_native: true, byteorder: Some(signature.order), limits: limits.clone() };
    let (found, packed) = evaluate_more(&layout, &options, (&values, from), params, data)?;
    let total = found.total().and_then(|total| total.checked_add(file.base_offset()));
    let total = total.ok_or_else(|| Error::invalid_input("the size of the file is not known"))?;
    let text = Some(stored_layout_text(file, longer.text)?);
    let change = TailUpdate { signature: Some(signature), start, source: Arc::clone(file.source()), total, text };
    let place = FilePlace { base: file.base_offset(), header_len: Signature::SIGNATURE_LEN };
    change.apply(|update| {
        write_items(&found, place, from, limits, packed, data, &mut |at, bytes| write_past(update, at, bytes, start))?;
        done()
    })
}

/// The text of a layout without the line that ends it, its dialect on record; with a number in it exchanged.
pub(super) fn body_of(layout: &Layout, edit: Option<(Span, i64)>) -> String {
    let mut text = layout.text().get(..layout.text_end()).unwrap_or("").to_owned();
    if let Some((span, number)) = edit
        && text.get(span.start as usize..span.end as usize).is_some()
    {
        text.replace_range(span.start as usize..span.end as usize, &number.to_string());
    }
    if layout.is_terminated() {
        // A run of `-` is a separate token: the token before it does not end in one.
        text.truncate(text.trim_end().trim_end_matches('-').len());
    }
    format!("{}{}\n", dialect_line(layout), text.trim_end())
}

/// A layout as it is stored: with the line that ends it, and what stood after that line.
pub(super) fn stored_layout_text(file: &DudleyFile, body: String) -> Result<Vec<u8>> {
    let mut text = body.into_bytes();
    if file.layout().is_terminated() && matches!(file.origin(), LayoutOrigin::Embedded(_)) {
        text.extend_from_slice(b"---\n");
        text.extend(file.trailing_bytes()?);
    }
    Ok(text)
}

/// A native or raw file before more is written to it.
pub(super) struct NativeTail<'f> {
    /// The signature; None for a file that holds the bytes of the layout alone.
    pub signature: Option<Signature>,
    pub old_items: StreamItems<'f>,
    /// The values of all stored parameters.
    pub values: Vec<i64>,
    /// The largest end of an item, a layout address.
    pub file_len: u64,
    /// The byte at which what may be overwritten begins: after the last item.
    pub start: u64,
}

impl<'f> NativeTail<'f> {
    pub(super) fn from_file(file: &'f DudleyFile) -> Result<Self> {
        let signature = file.signature();
        if file.is_foreign() {
            return Err(Error::unsupported(format!("{} is not a Dudley file", file.source().name()))
                .hint("only a file with the Dudley signature, or one under a layout, can be appended to"));
        }
        let header_len = signature.map_or(0, |_| Signature::SIGNATURE_LEN);
        let old = file.locate_items()?;
        let mut values: Vec<i64> = Vec::new();
        for value in old.evaluation().values() {
            values.push(value.ok_or_else(|| Error::invalid_input("a length in the file is not known"))?);
        }
        let total = old.evaluation().total().ok_or_else(|| Error::invalid_input("the size of the file is not known"))?;
        let start = total.saturating_add(file.base_offset()).max(header_len);
        check_free_tail(file, signature, start)?;
        Ok(Self { signature, old_items: old, values, file_len: total, start })
    }
}

/// Checks that the bytes from `start` on are free: only the layout may be there.
fn check_free_tail(file: &DudleyFile, signature: Option<Signature>, start: u64) -> Result<()> {
    let len = file.source().len();
    match (file.origin(), signature.and_then(|signature| signature.layout_offset)) {
        (LayoutOrigin::Embedded(at), _) if start > *at => {
            Err(Error::malformed(format!("the layout at byte {at} is inside the data, which end at {start}")))
        }
        (LayoutOrigin::Embedded(_), _) => Ok(()),
        (_, Some(_)) => Err(Error::invalid_input("the file has a layout at its end, which contradicts another one")
            .setting("", SuggestedSetting::NoLayout)),
        (_, None) if len < start => {
            Err(Error::malformed(format!("the file ends at byte {len}, and by the layout its data end at byte {start}")))
        }
        (_, None) if len > start => {
            let message = format!("the layout does not describe the bytes from {start} to {len}, which would be overwritten");
            Err(Error::invalid_input(message).hint("describe them in the layout, or cut them off"))
        }
        _ => Ok(()),
    }
}

/// A change at the end of a native file: from byte `start` on, and a new layout at byte `total`, if any.
pub(super) struct TailUpdate {
    /// The signature, if the file has one.
    pub signature: Option<Signature>,
    pub start: u64,
    /// The file as it was read.
    pub source: SourceRef,
    pub total: u64,
    /// New layout text; `None` if the layout is outside of the file and stays unchanged.
    pub text: Option<Vec<u8>>,
}

impl TailUpdate {
    /// Makes it: `write` gives the data to the update. Returns the new size.
    pub(super) fn apply(self, write: impl FnOnce(&mut FileUpdate) -> Result<()>) -> Result<u64> {
        let mut update = FileUpdate::new();
        write(&mut update)?;
        let source = Arc::clone(&self.source);
        let size = self.write_trailing_layout(&mut update)?;
        update.commit(&*source)?;
        Ok(size)
    }

    /// The layout after the data, then the header that points to it.
    fn write_trailing_layout(self, update: &mut FileUpdate) -> Result<u64> {
        let at = self.total.max(self.start);
        let Some(mut text) = self.text else { return Ok(at) };
        let end = at.saturating_add(text.len() as u64);
        // The rest of the old end must not be read as layout: it becomes white space.
        let rest = bytes::to_usize(self.source.len().saturating_sub(end))?;
        text.resize(text.len() + rest, b'\n');
        write_past(update, at, &text, self.start)?;
        if let Some(signature) = self.signature {
            update.write(8, Signature { layout_offset: Some(at), ..signature }.address_bytes().to_vec());
        }
        Ok(at.saturating_add(text.len() as u64))
    }
}

/// Writes bytes after the old data.
pub(super) fn write_past(update: &mut FileUpdate, at: u64, bytes: &[u8], start: u64) -> Result<()> {
    if at < start {
        return Err(Error::invalid_input(format!("a new item would be written over old data, at byte {at}")));
    }
    update.write_piece(at, bytes)
}

/// Appends records to a list or to the last array. For a list, `rows` has one axis more than its last item (`/history/t`), and
/// each row becomes one more item. An array must be the last item, and its first dimension a stored parameter (`"" = {…}[NREC]`,
/// the path `/""`). Returns the new size.
///
/// # Errors
/// Returns the errors of [`append_variables`].
pub fn append_records(path: &Path, list: &str, rows: &Array, limits: &Limits) -> Result<u64> {
    append_variables(path, &[(list.to_owned(), rows.clone())], &StreamOptions::default(), limits)
}

/// Appends records of several variables, all or none of them. They go to lists, to the items of a list whose elements are dicts
/// (`/history/te`, `/history/time`), or to the members of an array of structs that is the last item and whose first dimension is
/// a stored parameter (`/te`, `/time` of `"" = {…}[NREC]`). `how` may set the layout of the file. Returns the new size.
///
/// A list becomes longer by a count in the layout. If the layout is a separate file and has to change, the new layout goes to the
/// end of the data file. The separate file still describes the old content.
///
/// Several processes may append to one file. Each waits for the others, and adds its records after theirs.
///
/// # Errors
/// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if a path leads to nothing that can grow, or if records
/// are missing or have another shape or datatype. Returns [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported)
/// for an array that cannot grow in its place, and the errors of [`append`].
pub fn append_variables(path: &Path, variables: &[(String, Array)], how: &StreamOptions, limits: &Limits) -> Result<u64> {
    bytes::retry_if_replaced(|| try_append(path, variables, how.clone(), limits))
}

fn try_append(path: &Path, variables: &[(String, Array)], how: StreamOptions, limits: &Limits) -> Result<u64> {
    let params = how.params.clone();
    let file = open_for_append(path, how, limits)?;
    let items = file.locate_items()?;
    if let [(item, rows)] = variables
        && let Some(entry) = items.evaluation().find(item)?
    {
        return super::append_rows::append_rows(&file, &entry, rows, &params, limits);
    }
    if let Some((entry, rows)) = super::records::for_struct(&items, variables)? {
        return super::append_rows::append_rows(&file, &entry, &rows, &params, limits);
    }
    let mut more = super::records::RecordLists::for_variables(&items, variables)?;
    if more.is_empty() {
        return Ok(file.source().len());
    }
    let (text, again) = match more.only_list().zip(file.layout().last_extension()) {
        Some(((list, count), last)) if list == last.list => {
            let count = i64::try_from(count).ok().and_then(|count| last.count.checked_add(count));
            let count = count.ok_or_else(|| Error::invalid_input("E406: the list has too many elements"))?;
            (body_of(file.layout(), Some((last.count_span, count))), u64::try_from(last.count).ok())
        }
        _ => (format!("{}{}", body_of(file.layout(), None), more.added_layout_text(file.layout())?), None),
    };
    let more = std::cell::RefCell::new(&mut more);
    let mut supply = |entry: &LayoutEntry| more.borrow_mut().next_element_data(entry);
    extend(&file, LayoutExtension { text, extends_list: again }, &[], &mut supply, &mut || more.borrow().all_used())
}

/// Appends the items of a dict to the root dict of a native file of 2025. Returns the new size.
///
/// # Errors
/// Returns the errors of [`append`] and [`Draft::layout`](super::Draft::layout).
pub fn append_draft(path: &Path, items: &super::Draft, limits: &Limits) -> Result<u64> {
    let (text, arrays) = items.layout()?;
    let text = text.strip_prefix("#: dialect=2025\n").unwrap_or(&text).to_owned();
    let mut arrays = std::collections::VecDeque::from(arrays);
    let mut supply = arrays_in_order(&mut arrays);
    append(path, &text, &items.params(), &mut supply, limits)
}

/// The byte order that this machine writes.
pub fn native_order() -> Byteorder {
    if cfg!(target_endian = "big") { Byteorder::Big } else { Byteorder::Little }
}
