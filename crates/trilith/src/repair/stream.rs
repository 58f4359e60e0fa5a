//! Saving the rest of a damaged or truncated native Dudley file.
//!
//! The layout is the one in the file, next to it, or given. If the header does not lead to it any more, its text is
//! searched for. As long as all data exist, they are copied byte for byte. Otherwise the remaining items are
//! rewritten under their names: arrays keep their whole rows, and lists end before the first element that is not
//! whole.

use std::collections::HashSet;
use std::io::{Seek, Write};
use std::sync::Arc;

use super::{ArrayFate, Report};
use crate::array::{Array, Index};
use crate::bytes::{Backing, NoReferences, Resolve, Source, SourceOrigin, SourceRef, read_vec, set_aside};
use crate::dudley::{Draft, DudleyFile, LayoutOrigin, Outline, OutlineId, Signature, StreamOptions, Thing};
use crate::error::{Error, ErrorKind, Result, Setting};
use crate::layout::{Byteorder, Entry, EntryKind, ItemId, Layout, PrimitiveKind, ResolvedType};
use crate::limits::Limits;
use crate::progress::Progress;
use crate::verify::verify_stream;

/// Maximum depth of nested dicts and lists.
const DEPTH: usize = 200;
/// Number of places of a text that are tried as the start of a layout.
const TRIES: usize = 64;
/// Start of the layouts that this library writes.
const MARK: &[u8] = b"#: dialect=";

/// The rest of a native Dudley file, ready to be written.
pub struct StreamSalvage {
    file: DudleyFile,
    order: Byteorder,
    left: Left,
    doubts: Vec<String>,
    report: Report,
}

/// The content to write.
enum Left {
    /// The file up to this byte, and the text of the layout.
    Same(u64, Vec<u8>),
    /// The items that are there.
    Parts(Box<Draft>),
}

/// Looks what is left of a native Dudley file. `layout` is its layout, if the caller has it; `resolve` may find the one
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
    let mut notes: Vec<String> = source.backing().and_then(Backing::notice).into_iter().collect();
    let start = read_vec(&**source, 0, source.len().min(Signature::LEN), limits)?;
    let order = Signature::order_in(&start)?;
    let Found { layout, text, data_end } = match layout {
        Some(layout) => Found { text: layout.text().as_bytes().to_vec(), layout, data_end: None },
        None => find(source, order, resolve, limits, &mut notes)?,
    };
    let head = Signature::new(order, None).bytes();
    let readable = Arc::new(Headed { head, inner: Arc::clone(source) });
    let mut how = StreamOptions::default();
    how.layout = Some(layout);
    let file = DudleyFile::open_with(readable, &NoReferences, how, limits)?.cut_off();
    let old_layout = Signature::read(&**source).ok().flatten().and_then(|signature| signature.layout_at);
    let place = Place { end: data_end.unwrap_or(source.len()).min(source.len()), old_layout };
    let mut report = Report {
        generation: file.generation_name(),
        tree: Some(Vec::new()),
        blocks: Vec::new(),
        arrays: Vec::new(),
        items: Some(0),
        wrong: None,
        notes,
    };
    let (end, mut doubts) = look(&file, &place, &mut report)?;
    if end.is_some() && (data_end.is_some() || old_layout.is_none()) {
        doubts.extend(file.signs_of_a_cut(data_end)?);
    }
    let left = match (end, data_end) {
        // Bytes that no item describes stay, too.
        (Some(_), Some(end)) => Left::Same(end, text),
        (Some(end), None) => {
            if old_layout.is_none() && end < source.len() {
                report.notes.push(format!("the bytes from {end} on are left out, which the layout does not describe"));
            }
            Left::Same(end, text)
        }
        (None, _) => {
            let outline = file.outline()?;
            let is_length = |(_, entry): &(OutlineId, &Entry)| entry.kind == EntryKind::Param && !place.holds(&file, entry);
            let misplaced = outline.entries().skip_while(|found| !is_length(found)).map(|(id, _)| id).collect();
            let mut parts = Parts { file: &file, outline, place: &place, misplaced, fates: Vec::new() };
            let draft = parts.draft(OutlineId::ROOT, "", 0)?.unwrap_or_else(|| Draft::dict::<&str>([]));
            report.arrays = parts.fates;
            Left::Parts(Box::new(draft))
        }
    };
    Ok(StreamSalvage { file, order, left, doubts, report })
}

/// A layout, its text, and the byte at which the data end, if that is known.
struct Found {
    layout: Layout,
    text: Vec<u8>,
    data_end: Option<u64>,
}

/// The layout that belongs to a file.
fn find(source: &SourceRef, order: Byteorder, resolve: &dyn Resolve, limits: &Limits, notes: &mut Vec<String>) -> Result<Found> {
    let opened = DudleyFile::open_with(Arc::clone(source), resolve, StreamOptions::default(), limits);
    let (own, why) = match opened {
        Ok(file) => {
            let data_end = if let LayoutOrigin::Embedded(at) = file.origin() { Some(*at) } else { None };
            let text = match data_end {
                Some(at) => trimmed(read_vec(&**source, at, source.len().saturating_sub(at), limits)?),
                None => file.layout().text().as_bytes().to_vec(),
            };
            // An empty layout is not accepted for a file with data.
            let is_right = data_end.is_none_or(|at| {
                let is_empty = file.layout().item_count() <= 1 && at > Signature::LEN;
                !is_empty && ends_before(file.layout(), source, order, limits, at)
            });
            let own = Found { layout: file.layout().clone(), text, data_end };
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
    for at in memchr::memmem::rfind_iter(&bytes, MARK).take(TRIES) {
        let text = trimmed(bytes.get(at..).unwrap_or(&[]).to_vec());
        let Ok(layout) = Layout::read(&text) else { continue };
        let place = from.saturating_add(at as u64);
        if own.as_ref().is_ok_and(|own| own.data_end == Some(place)) {
            continue;
        }
        // Bytes after its own layout are not described by it.
        if ends_before(&layout, source, order, limits, place) {
            notes.push(format!("the header does not lead to the layout, which was found at byte {place}: {why}"));
            return Ok(Found { layout, text, data_end: Some(place) });
        }
    }
    own.map_err(|error| error.setting("no layout is left in the file", Setting::Layout))
}

/// Returns `true` if by a layout all items of a file end in front of a byte.
fn ends_before(layout: &Layout, source: &SourceRef, order: Byteorder, limits: &Limits, at: u64) -> bool {
    let readable = Arc::new(Headed { head: Signature::new(order, None).bytes(), inner: Arc::clone(source) });
    let mut how = StreamOptions::default();
    how.layout = Some(layout.clone());
    let total = DudleyFile::open_with(readable, &NoReferences, how, limits)
        .and_then(|file| Ok(file.items()?.evaluation().total().and_then(|total| total.checked_add(file.base()))));
    total.is_ok_and(|total| total.is_some_and(|total| total <= at))
}

/// A text without what was left after its end.
fn trimmed(mut text: Vec<u8>) -> Vec<u8> {
    let end = text.iter().rposition(|byte| !matches!(byte, 0 | b'\n' | b'\r' | b' ')).map_or(0, |last| last + 1);
    text.truncate(end);
    text.push(b'\n');
    text
}

/// Places that data may have.
struct Place {
    end: u64,
    /// Offset of the layout in the header: bytes after it may have been written without the rest.
    old_layout: Option<u64>,
}

impl Place {
    /// Returns `true` if all of an entry is there.
    fn holds(&self, file: &DudleyFile, entry: &Entry) -> bool {
        let end = || entry.address?.checked_add(file.base())?.checked_add(entry.nbytes?);
        entry.nbytes == Some(0) || end().is_some_and(|end| end <= self.end)
    }
}

/// Looks at every item: the byte at which they end where all are there, and what is in doubt.
fn look(file: &DudleyFile, place: &Place, report: &mut Report) -> Result<(Option<u64>, Vec<String>)> {
    let items = file.items()?;
    let (mut end, mut is_whole, mut unsure) = (Signature::LEN, true, Vec::new());
    for entry in items.entries() {
        let entry = entry?;
        if entry.kind == EntryKind::Data && entry.typed != ResolvedType::Dynamic {
            report.items = report.items.map(|count| count + 1);
        }
        let Some((at, size)) = entry.address.and_then(|at| at.checked_add(file.base())).zip(entry.nbytes) else {
            is_whole &= entry.nbytes == Some(0);
            continue;
        };
        let behind = at.saturating_add(size);
        is_whole &= place.holds(file, &entry) && (!is_compressed(file, &entry) || decoded(file, &entry).is_ok());
        end = end.max(behind);
        if place.old_layout.is_some_and(|old| old < place.end && behind > old) {
            unsure.push(entry.path);
        }
    }
    let doubts = match (unsure.first(), unsure.last()) {
        (Some(first), Some(last)) if first != last => vec![format!("{first} to {last}: {DOUBT}")],
        (first, _) => first.into_iter().map(|only| format!("{only}: {DOUBT}")).collect(),
    };
    Ok((is_whole.then_some(end), doubts))
}

/// Remark on items in the region of an unfinished append.
const DOUBT: &str = "an append did not end, and not all of it may have been written";

fn is_compressed(file: &DudleyFile, entry: &Entry) -> bool {
    entry.kind == EntryKind::Data && file.layout().filter_of(entry.item).is_some_and(|filter| filter.compresses)
}

/// An array that is stored compressed, all of which decodes.
fn decoded(file: &DudleyFile, entry: &Entry) -> Result<Array> {
    let array = file.array_of(entry)?;
    array.for_each_piece(1 << 20, |_| Ok(()))?;
    Ok(array)
}

/// The items that are there.
struct Parts<'a> {
    file: &'a DudleyFile,
    outline: &'a Outline,
    place: &'a Place,
    /// Items after a missing length, and that length.
    misplaced: HashSet<OutlineId>,
    fates: Vec<(String, ArrayFate)>,
}

impl Parts<'_> {
    /// A node and all below it that is there; None if nothing is. Recursion is limited by [`DEPTH`].
    fn draft(&mut self, id: OutlineId, path: &str, depth: usize) -> Result<Option<Draft>> {
        if depth > DEPTH {
            return Err(Error::limit(format!("dicts and lists nest more than {DEPTH} deep")));
        }
        let draft = match self.outline.thing(id) {
            Thing::Data(_) | Thing::Param(_, Some(_)) if self.misplaced.contains(&id) => {
                self.fates.push((path.to_owned(), ArrayFate::Lost("a length that its byte offset needs is cut off".to_owned())));
                None
            }
            Thing::Dict => {
                let mut items = Vec::new();
                for (name, child) in self.outline.children(id) {
                    let name = name.unwrap_or("");
                    if let Some(item) = self.draft(child, &format!("{path}/{name}"), depth + 1)? {
                        items.push((name, item));
                    }
                }
                Some(Draft::dict(items))
            }
            Thing::List => Some(self.list(id, path, depth)?),
            Thing::Param(value, entry) => {
                let stored = entry.and_then(|entry| entry.typed.primitive());
                let stored = stored.filter(|stored| stored.kind() == PrimitiveKind::Signed);
                Some(stored.map_or_else(|| Draft::param(value), |stored| Draft::stored(value, stored)))
            }
            Thing::Data(entry) => self.data(entry, path),
            Thing::Null => None,
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
    fn list(&mut self, id: OutlineId, path: &str, depth: usize) -> Result<Draft> {
        let children = self.outline.children(id);
        let (of, mut items) = (children.len() as u64, Vec::new());
        for (n, (_, child)) in children.into_iter().enumerate() {
            let before = self.fates.len();
            let item = self.draft(child, &format!("{path}[{n}]"), depth + 1)?;
            if self.fates.len() > before {
                self.fates.truncate(before);
                let rows = items.len() as u64;
                let why = || ArrayFate::Lost("none of its elements is there".to_owned());
                self.fates.push((path.to_owned(), if rows == 0 { why() } else { ArrayFate::Cut { rows, of } }));
                break;
            }
            items.extend(item);
        }
        Ok(Draft::list(items))
    }

    /// An array, or its whole rows.
    fn data(&mut self, entry: &Entry, path: &str) -> Option<Draft> {
        let lost = |why: String| (path.to_owned(), ArrayFate::Lost(why));
        let array = match is_compressed(self.file, entry) {
            true => decoded(self.file, entry).map(|array| (array, None)),
            false => self.file.array_of(entry).map(|array| (array.clone(), array.rows_up_to(self.place.end))),
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
                self.fates.push((path.to_owned(), ArrayFate::Cut { rows, of: of.unwrap_or(rows) }));
                let first = Index::Range { start: None, stop: i64::try_from(rows).ok(), step: 1 };
                array.slice([first]).ok().map(Draft::data)
            }
        }
    }
}

impl StreamSalvage {
    /// Returns the list of what was found and lost.
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// Writes what is left into a temporary file and verifies that; what is wrong goes into the report. The bytes that
    /// were written are given back.
    ///
    /// # Errors
    /// Returns the errors of [`StreamSalvage::write`], and [`ErrorKind::Limit`] if verifying would be too much.
    pub fn verified(&mut self) -> Result<SourceRef> {
        let written = set_aside("what is left", |out| self.write(out))?;
        let found = DudleyFile::open(Arc::clone(&written), None, self.file.limits());
        let mut wrong = match found.and_then(|file| verify_stream(&file, true, Progress::default())) {
            Ok(report) => report.problems(),
            Err(error) if error.kind() == ErrorKind::Limit => return Err(error.context("verifying what is left")),
            Err(error) => vec![error.to_string()],
        };
        wrong.extend(self.doubts.iter().cloned());
        self.report.wrong = Some(wrong);
        Ok(written)
    }

    /// Writes what is left as a native file with its layout at the end.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Io`] if writing fails, and an error if an item cannot be read.
    pub fn write<W: Write + Seek>(&self, mut out: W) -> Result<()> {
        let (end, text) = match &self.left {
            Left::Same(end, text) => (*end, text),
            Left::Parts(draft) => {
                return draft.write_as(self.file.layout().dialect(), self.order, self.file.limits(), &mut out).map(drop);
            }
        };
        let failed = |e| Error::io("writing what is left", e);
        out.write_all(&Signature::new(self.order, Some(end)).bytes()).map_err(failed)?;
        let mut at = Signature::LEN;
        while at < end {
            let piece = read_vec(&**self.file.source(), at, (end - at).min(1 << 20), self.file.limits())?;
            out.write_all(&piece).map_err(failed)?;
            at = at.saturating_add(piece.len() as u64);
        }
        out.write_all(text).map_err(failed)
    }
}

/// A file with another header.
struct Headed {
    head: [u8; 16],
    inner: SourceRef,
}

impl Source for Headed {
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
