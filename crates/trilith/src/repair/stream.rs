//! Saving the rest of a damaged or truncated native Dudley file.
//!
//! The layout is the one in the file, next to it, or given. If the header does not lead to it any more, its text is
//! searched for. As long as all data exist, they are copied byte for byte. Otherwise the remaining items are
//! rewritten under their names: arrays keep their whole rows, and lists end before the first element that is not
//! whole.

use std::collections::HashSet;
use std::io::{Seek, Write};
use std::sync::Arc;

use super::{ArrayState, RepairReport};
use crate::array::{Array, Index};
use crate::bytes::{NoReferences, Resolve, Source, SourceBacking, SourceOrigin, SourceRef, read_vec, spool_output};
use crate::dudley::{
    Draft, DudleyFile, ItemTreeId, LAYOUT_START, LayoutOrigin, OutlineKind, Signature, StreamOptions, StreamOutline,
};
use crate::error::{Error, ErrorKind, Result, SuggestedSetting};
use crate::layout::{Byteorder, ItemId, Layout, LayoutEntry, PrimitiveKind, ResolvedType, StreamEntryKind};
use crate::limits::Limits;
use crate::progress::Progress;
use crate::verify::{VerifyDepth, verify_stream};

/// Maximum depth of nested dicts and lists.
const MAX_DEPTH: usize = 200;
/// Number of places of a text that are tried as the start of a layout.
const MAX_TRIES: usize = 64;

/// The rest of a native Dudley file, ready to be written.
pub struct StreamSalvage {
    file: DudleyFile,
    order: Byteorder,
    content: RecoveredContent,
    doubtful_items: Vec<String>,
    report: RepairReport,
}

/// The content to write.
enum RecoveredContent {
    /// The file up to this byte, and the text of the layout.
    Same(u64, Vec<u8>),
    /// The items that are there.
    Parts(Box<Draft>),
}

/// Finds the readable parts of a native Dudley file. `layout` is its layout, if the caller has it. `resolve` may find the one
/// next to it.
///
/// ```
/// use std::sync::Arc;
/// use trilith::{Limits, bytes::{MemorySource, NoReferences}, check, dudley::DudleyFile, layout::Layout};
/// // Two of three numbers are there, and the layout that stood after them is not.
/// let mut bytes = b"\x8d<BD\r\n\x1a\n\x1c\0\0\0\0\0\0\0".to_vec();
/// bytes.extend([1i32, 2].map(i32::to_le_bytes).concat());
/// let source: trilith::bytes::SourceRef = Arc::new(MemorySource::new(bytes, "x.bd"));
/// let layout = Layout::read(b"x = i4[3]")?;
/// let mut left = check::salvage_stream(&source, Some(layout), &NoReferences, &Limits::default())?;
/// let written = left.verified()?;
/// assert!(!left.report().is_whole());
/// assert_eq!(DudleyFile::open(written, None, &Limits::default())?.array_at("/x")?.load::<i32>()?, [1, 2]);
/// # Ok::<(), trilith::Error>(())
/// ```
///
/// # Errors
/// Returns [`ErrorKind::Malformed`] if the signature is damaged, no layout is left, or a length that gives the
/// place of the data is missing. Returns [`ErrorKind::Io`] if the operating system reports an error, and
/// [`ErrorKind::Limit`] if a limit would be exceeded.
pub fn salvage_stream(
    source: &SourceRef,
    layout: Option<Layout>,
    resolve: &dyn Resolve,
    limits: &Limits,
) -> Result<StreamSalvage> {
    let limits = &limits.for_calls(source.len());
    let _call = limits.call();
    let mut notes: Vec<String> = source.backing().and_then(SourceBacking::notice).into_iter().collect();
    let start = read_vec(&**source, 0, source.len().min(Signature::SIGNATURE_LEN), limits)?;
    let order = Signature::order_in(&start)?;
    let FoundLayout { layout, text, data_end } = match layout {
        Some(layout) => FoundLayout { text: layout.text().as_bytes().to_vec(), layout, data_end: None },
        None => find_layout(source, order, resolve, limits, &mut notes)?,
    };
    let head = Signature::new(order, None).bytes();
    let readable = Arc::new(NewHeaderSource { head, inner: Arc::clone(source) });
    let mut how = StreamOptions::default();
    how.layout = Some(layout);
    let file = DudleyFile::open_with(readable, &NoReferences, how, limits)?.cut_off();
    let old_layout = Signature::read(&**source).ok().flatten().and_then(|signature| signature.layout_offset);
    let place = DataLimits { end: data_end.unwrap_or(source.len()).min(source.len()), old_layout };
    let mut report = RepairReport {
        generation: file.generation_name(),
        tree: Some(Vec::new()),
        blocks: Vec::new(),
        arrays: Vec::new(),
        items: Some(0),
        verify_problems: None,
        notes,
    };
    let (end, mut doubts) = survey_items(&file, &place, &mut report)?;
    if end.is_some() && (data_end.is_some() || old_layout.is_none()) {
        doubts.extend(file.signs_of_a_cut(data_end)?);
    }
    let left = match (end, data_end) {
        // Bytes that no item describes stay, too.
        (Some(_), Some(end)) => RecoveredContent::Same(end, text),
        (Some(end), None) => {
            if old_layout.is_none() && end < source.len() {
                report.notes.push(format!("the bytes from {end} on are left out, which the layout does not describe"));
            }
            RecoveredContent::Same(end, text)
        }
        (None, _) => {
            let outline = file.outline()?;
            let is_length = |(_, entry): &(ItemTreeId, &LayoutEntry)| {
                entry.kind == StreamEntryKind::Param && !place.contains_entry(&file, entry)
            };
            let misplaced = outline.entries().skip_while(|found| !is_length(found)).map(|(id, _)| id).collect();
            let mut parts = RecoveredItems { file: &file, outline, place: &place, misplaced, fates: Vec::new() };
            let draft = parts.draft_node(ItemTreeId::ROOT, "", 0)?.unwrap_or_else(|| Draft::dict::<&str>([]));
            report.arrays = parts.fates;
            RecoveredContent::Parts(Box::new(draft))
        }
    };
    Ok(StreamSalvage { file, order, content: left, doubtful_items: doubts, report })
}

/// A layout, its text, and the byte at which the data end, if that is known.
struct FoundLayout {
    layout: Layout,
    text: Vec<u8>,
    data_end: Option<u64>,
}

/// The layout that belongs to a file.
fn find_layout(
    source: &SourceRef,
    order: Byteorder,
    resolve: &dyn Resolve,
    limits: &Limits,
    notes: &mut Vec<String>,
) -> Result<FoundLayout> {
    let opened = DudleyFile::open_with(Arc::clone(source), resolve, StreamOptions::default(), limits);
    let (own, why) = match opened {
        Ok(file) => {
            let data_end = if let LayoutOrigin::Embedded(at) = file.origin() { Some(*at) } else { None };
            let text = match data_end {
                Some(at) => trim_tail(read_vec(&**source, at, source.len().saturating_sub(at), limits)?),
                None => file.layout().text().as_bytes().to_vec(),
            };
            // An empty layout is not accepted for a file with data.
            let is_right = data_end.is_none_or(|at| {
                let is_empty = file.layout().item_count() <= 1 && at > Signature::SIGNATURE_LEN;
                !is_empty && ends_before(file.layout(), source, order, limits, at)
            });
            let own = FoundLayout { layout: file.layout().clone(), text, data_end };
            if is_right {
                return Ok(own);
            }
            (Ok(own), "the rest describes nothing, or items inside of it".to_owned())
        }
        Err(error) if error.kind().is_request() || error.kind() == ErrorKind::Malformed => {
            let why = error.message().to_owned();
            (Err(error), why)
        }
        Err(error) => return Err(error),
    };
    let from = source.len().saturating_sub(limits.text);
    let bytes = read_vec(&**source, from, source.len() - from, limits)?;
    for at in memchr::memmem::rfind_iter(&bytes, LAYOUT_START.as_bytes()).take(MAX_TRIES) {
        let text = trim_tail(bytes.get(at..).unwrap_or(&[]).to_vec());
        let Ok(layout) = Layout::read(&text) else { continue };
        let place = from.saturating_add(at as u64);
        if own.as_ref().is_ok_and(|own| own.data_end == Some(place)) {
            continue;
        }
        // Bytes after its own layout are not described by it.
        if ends_before(&layout, source, order, limits, place) {
            notes.push(format!("the header does not lead to the layout, which was found at byte {place}: {why}"));
            return Ok(FoundLayout { layout, text, data_end: Some(place) });
        }
    }
    own.map_err(|error| error.setting("no layout is left in the file", SuggestedSetting::Layout))
}

/// Returns `true` if by a layout all items of a file end in front of a byte.
fn ends_before(layout: &Layout, source: &SourceRef, order: Byteorder, limits: &Limits, at: u64) -> bool {
    let readable = Arc::new(NewHeaderSource { head: Signature::new(order, None).bytes(), inner: Arc::clone(source) });
    let mut how = StreamOptions::default();
    how.layout = Some(layout.clone());
    let total = DudleyFile::open_with(readable, &NoReferences, how, limits)
        .and_then(|file| Ok(file.locate_items()?.evaluation().total().and_then(|total| total.checked_add(file.base_offset()))));
    total.is_ok_and(|total| total.is_some_and(|total| total <= at))
}

/// A text without what was left after its end.
fn trim_tail(mut text: Vec<u8>) -> Vec<u8> {
    let end = text.iter().rposition(|byte| !matches!(byte, 0 | b'\n' | b'\r' | b' ')).map_or(0, |last| last + 1);
    text.truncate(end);
    text.push(b'\n');
    text
}

/// Places that data may have.
struct DataLimits {
    end: u64,
    /// Offset of the layout in the header: bytes after it may have been written without the rest.
    old_layout: Option<u64>,
}

impl DataLimits {
    /// Returns `true` if all of an entry is there.
    fn contains_entry(&self, file: &DudleyFile, entry: &LayoutEntry) -> bool {
        let end = || entry.address?.checked_add(file.base_offset())?.checked_add(entry.nbytes?);
        entry.nbytes == Some(0) || end().is_some_and(|end| end <= self.end)
    }
}

/// Looks at every item: the byte at which they end where all are there, and what is in doubt.
fn survey_items(file: &DudleyFile, place: &DataLimits, report: &mut RepairReport) -> Result<(Option<u64>, Vec<String>)> {
    let items = file.locate_items()?;
    let (mut end, mut is_whole, mut unsure) = (Signature::SIGNATURE_LEN, true, Vec::new());
    for entry in items.entries() {
        let entry = entry?;
        if entry.kind == StreamEntryKind::Data && entry.resolved_type != ResolvedType::Dynamic {
            report.items = report.items.map(|count| count + 1);
        }
        let Some((at, size)) = entry.address.and_then(|at| at.checked_add(file.base_offset())).zip(entry.nbytes) else {
            is_whole &= entry.nbytes == Some(0);
            continue;
        };
        let behind = at.saturating_add(size);
        is_whole &=
            place.contains_entry(file, &entry) && (!is_compressed(file, &entry) || verify_compressed_array(file, &entry).is_ok());
        end = end.max(behind);
        if place.old_layout.is_some_and(|old| old < place.end && behind > old) {
            unsure.push(entry.path);
        }
    }
    let doubts = match (unsure.first(), unsure.last()) {
        (Some(first), Some(last)) if first != last => vec![format!("{first} to {last}: {UNFINISHED_APPEND_NOTE}")],
        (first, _) => first.into_iter().map(|only| format!("{only}: {UNFINISHED_APPEND_NOTE}")).collect(),
    };
    Ok((is_whole.then_some(end), doubts))
}

/// Remark on items in the region of an unfinished append.
const UNFINISHED_APPEND_NOTE: &str = "an append did not end, and not all of it may have been written";

fn is_compressed(file: &DudleyFile, entry: &LayoutEntry) -> bool {
    entry.kind == StreamEntryKind::Data && file.layout().filter_of(entry.item).is_some_and(|filter| filter.compresses)
}

/// An array that is stored compressed, all of which decodes.
fn verify_compressed_array(file: &DudleyFile, entry: &LayoutEntry) -> Result<Array> {
    let array = file.array_of(entry)?;
    array.for_each_piece(1 << 20, |_| Ok(()))?;
    Ok(array)
}

/// The items that are there.
struct RecoveredItems<'a> {
    file: &'a DudleyFile,
    outline: &'a StreamOutline,
    place: &'a DataLimits,
    /// Items after a missing length, and that length.
    misplaced: HashSet<ItemTreeId>,
    fates: Vec<(String, ArrayState)>,
}

impl RecoveredItems<'_> {
    /// A node and all below it that is there; None if nothing is. Recursion is limited by [`MAX_DEPTH`].
    fn draft_node(&mut self, id: ItemTreeId, path: &str, depth: usize) -> Result<Option<Draft>> {
        if depth > MAX_DEPTH {
            return Err(Error::limit(format!("dicts and lists nest more than {MAX_DEPTH} deep")));
        }
        let draft = match self.outline.kind(id) {
            OutlineKind::Data(_) | OutlineKind::Param(_, Some(_)) if self.misplaced.contains(&id) => {
                self.fates.push((path.to_owned(), ArrayState::Lost("a length that its byte offset needs is cut off".to_owned())));
                None
            }
            OutlineKind::Dict => {
                let mut items = Vec::new();
                for (name, child) in self.outline.children(id) {
                    let name = name.unwrap_or("");
                    if let Some(item) = self.draft_node(child, &format!("{path}/{name}"), depth + 1)? {
                        items.push((name, item));
                    }
                }
                Some(Draft::dict(items))
            }
            OutlineKind::List => Some(self.draft_list(id, path, depth)?),
            OutlineKind::Param(value, entry) => {
                let stored = entry.and_then(|entry| entry.resolved_type.primitive());
                let stored = stored.filter(|stored| stored.kind() == PrimitiveKind::Signed);
                Some(stored.map_or_else(|| Draft::fixed_param(value), |stored| Draft::stored_param(value, stored)))
            }
            OutlineKind::Data(entry) => self.draft_array(entry, path),
            OutlineKind::Null => None,
        };
        let Some(mut draft) = draft else { return Ok(None) };
        if let Some(item) = self.outline.item(id) {
            let layout = self.file.layout();
            draft.docs = layout.docs(item).map(str::to_owned).collect();
            let said = layout.attributes(item).filter(|(name, _)| item != ItemId::ROOT || *name != "dialect");
            draft.attributes = said.map(|(name, value)| (name.to_owned(), value.clone())).collect();
        }
        Ok(Some(draft))
    }

    /// The elements of a list in front of the first that is not whole.
    fn draft_list(&mut self, id: ItemTreeId, path: &str, depth: usize) -> Result<Draft> {
        let children = self.outline.children(id);
        let (of, mut items) = (children.len() as u64, Vec::new());
        for (n, (_, child)) in children.into_iter().enumerate() {
            let before = self.fates.len();
            let item = self.draft_node(child, &format!("{path}[{n}]"), depth + 1)?;
            if self.fates.len() > before {
                self.fates.truncate(before);
                let rows = items.len() as u64;
                let why = || ArrayState::Lost("none of its elements is there".to_owned());
                self.fates.push((path.to_owned(), if rows == 0 { why() } else { ArrayState::Truncated { rows, total: of } }));
                break;
            }
            items.extend(item);
        }
        Ok(Draft::list(items))
    }

    /// An array, or its whole rows.
    fn draft_array(&mut self, entry: &LayoutEntry, path: &str) -> Option<Draft> {
        let lost = |why: String| (path.to_owned(), ArrayState::Lost(why));
        let array = match is_compressed(self.file, entry) {
            true => verify_compressed_array(self.file, entry).map(|array| (array, None)),
            false => self.file.array_of(entry).map(|array| (array.clone(), array.rows_within(self.place.end))),
        };
        let (array, rows) = match array {
            Ok(found) => found,
            Err(error) => {
                self.fates.push(lost(error.message().to_owned()));
                return None;
            }
        };
        let of = array.shape().first().copied();
        match rows {
            None => Some(Draft::data(array)),
            Some(0) => {
                self.fates.push(lost("its bytes are not there".to_owned()));
                None
            }
            Some(rows) => {
                self.fates.push((path.to_owned(), ArrayState::Truncated { rows, total: of.unwrap_or(rows) }));
                let first = Index::Slice { start: None, stop: i64::try_from(rows).ok(), step: 1 };
                array.slice([first]).ok().map(Draft::data)
            }
        }
    }
}

impl StreamSalvage {
    /// Returns the list of what was found and lost.
    pub fn report(&self) -> &RepairReport {
        &self.report
    }

    /// Writes the readable parts into a temporary file and verifies it. Problems go into the report. Returns the written bytes.
    ///
    /// # Errors
    /// Returns the errors of [`StreamSalvage::write`], and [`ErrorKind::Limit`] if verifying would be too much.
    pub fn verified(&mut self) -> Result<SourceRef> {
        let written = spool_output("what is left", |out| self.write(out))?;
        let found = DudleyFile::open(Arc::clone(&written), None, self.file.limits());
        let mut wrong = match found.and_then(|file| verify_stream(&file, VerifyDepth::Decoded, Progress::default())) {
            Ok(report) => report.problems(),
            Err(error) if error.kind() == ErrorKind::Limit => return Err(error.context("verifying what is left")),
            Err(error) => vec![error.to_string()],
        };
        wrong.extend(self.doubtful_items.iter().cloned());
        self.report.verify_problems = Some(wrong);
        Ok(written)
    }

    /// Writes the readable parts as a native file with its layout at the end.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Io`] if writing fails, and an error if an item cannot be read.
    pub fn write<W: Write + Seek>(&self, mut out: W) -> Result<()> {
        let (end, text) = match &self.content {
            RecoveredContent::Same(end, text) => (*end, text),
            RecoveredContent::Parts(draft) => {
                return draft.write_as(self.file.layout().dialect(), self.order, self.file.limits(), &mut out).map(drop);
            }
        };
        let failed = |e| Error::io("writing what is left", e);
        out.write_all(&Signature::new(self.order, Some(end)).bytes()).map_err(failed)?;
        let mut at = Signature::SIGNATURE_LEN;
        while at < end {
            let piece = read_vec(&**self.file.source(), at, (end - at).min(1 << 20), self.file.limits())?;
            out.write_all(&piece).map_err(failed)?;
            at = at.saturating_add(piece.len() as u64);
        }
        out.write_all(text).map_err(failed)
    }
}

/// A file with another header.
struct NewHeaderSource {
    head: [u8; 16],
    inner: SourceRef,
}

impl Source for NewHeaderSource {
    fn len(&self) -> u64 {
        self.inner.len()
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<()> {
        self.inner.read_at(offset, into)?;
        let from = usize::try_from(offset).unwrap_or(usize::MAX);
        let head = self.head.get(from.min(self.head.len())..).unwrap_or(&[]);
        into.iter_mut().zip(head).for_each(|(byte, new)| *byte = *new);
        Ok(())
    }

    fn origin(&self) -> Option<SourceOrigin<'_>> {
        Some(SourceOrigin::Made(&*self.inner))
    }
}
