//! One item of a whole family of files, read as one array.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::datatype::datatype_of;
use super::family::{Catalog, Place};
use super::inflate::{Form, inflated};
use super::signature::Signature;
use crate::array::{Array, Datatype};
use crate::bytes::{Access, Resolve, Source, SourceRef, Window};
use crate::error::{Error, Result};
use crate::layout::{Byteorder, Filter, Layout, Located, Options};
use crate::limits::Limits;
use crate::threads::{lock, side_by_side};

impl Catalog {
    /// One item of the files `rows` of a family as one array: its first axis counts the files, the others
    /// are those of the item. Nothing is opened until elements are read, and then only the files that
    /// hold them; `resolve` opens a file by the name that the catalog has for it.
    ///
    /// ```
    /// # use std::{io::Cursor, sync::Arc};
    /// use trilith::array::Array;
    /// use trilith::dudley::{Catalog, Draft, DudleyFile};
    /// use trilith::layout::{Byteorder, Layout, Options};
    /// use trilith::{Limits, bytes::{NoReferences, MemorySource}};
    /// // A catalog of two files that have 3 and 3 cells.
    /// let catalog = Draft::dict([
    ///     ("files", Draft::data(Array::from_texts(&["a.bd", "b.bd"], &[2])?)),
    ///     ("records", Draft::data(Array::from_slice(&[3i64, 3], &[2, 1])?)),
    /// ]);
    /// let mut out = Cursor::new(Vec::new());
    /// catalog.write(Byteorder::Little, &Limits::default(), &mut out)?;
    /// let stream = DudleyFile::open(Arc::new(MemorySource::new(out.into_inner(), "c.bd")), None, &Limits::default())?;
    /// let template = Layout::read(b"{ N : i8 }  rho = f8[N]")?;
    /// let mut options = Options::default();
    /// (options.native, options.order) = (true, Some(Byteorder::Little));
    /// let rho = Catalog::read(&stream)?.array_at(&template, "/rho", 0..2, &options, Arc::new(NoReferences))?;
    /// assert_eq!(rho.shape(), [2, 3]);
    /// # Ok::<(), trilith::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Catalog::locate`]; [`ErrorKind::Usage`](crate::ErrorKind::Usage) where the item is not in every one of
    /// these files or has not the same shape in all. Reading fails where a file cannot be opened, is too
    /// short, or is not in the byte order that `options` say.
    pub fn array_at(
        &self,
        template: &Layout,
        item: &str,
        rows: Range<usize>,
        options: &Options,
        resolve: Arc<dyn Resolve>,
    ) -> Result<Array> {
        let mut first: Option<(String, Located)> = None;
        let mut pieces = Vec::new();
        let mut whole = None;
        let (mut row, mut missing) = (rows.start, Vec::new());
        options.limits.charge_memory((rows.len() as u64).saturating_mul(48), "the places of an item in a family")?;
        self.locate_rows(template, item, rows.clone(), options, &mut |place| {
            let Place { file, offset, found, compressed } = place;
            row += 1;
            let Some(found) = found else {
                missing.push((row - 1, file.to_owned()));
                return Ok(());
            };
            let inside = match (&compressed, found.address) {
                (Some(entry), Some(address)) => address.saturating_sub(entry.address.unwrap_or(address)),
                _ => 0,
            };
            if let Some(entry) = &compressed {
                whole = Some(Form::of(entry)?);
            }
            pieces.push(Piece {
                offset: offset.map(|at| at.saturating_sub(inside)),
                inside,
                stored: compressed.and_then(|entry| entry.nbytes),
            });
            match &first {
                Some((name, known)) => same_form(item, (name, known), (file, &found)),
                None => {
                    first = Some((file.to_owned(), found));
                    Ok(())
                }
            }
        })?;
        if !missing.is_empty() {
            return Err(omitted(item, &rows, &missing));
        }
        let Some((_, found)) = first else { return Err(Error::usage("no files are chosen")) };
        let mut shape = found.shape.clone();
        let (datatype, order) = datatype_of(&found.typed, &mut shape)?;
        let strides = found.strides.get(..shape.len()).unwrap_or(&[]);
        let too_large = || Error::malformed(format!("E406: {item} of {} files is too large", rows.len()));
        let span = extent(&datatype, &shape, strides).ok_or_else(too_large)?;
        let mut all_strides = Vec::new();
        for stride in std::iter::once(&span).chain(strides) {
            all_strides.push(i64::try_from(*stride).map_err(|_| too_large())?);
        }
        let joined = Joined {
            name: format!("{item} of {} files", rows.len()),
            len: span.checked_mul(rows.len() as u64).ok_or_else(too_large)?,
            files: self.shared_files(),
            first: rows.start,
            pieces,
            span,
            filter: template.filter_of(found.item).filter(|filter| filter.compresses).cloned(),
            whole,
            native: options.native,
            order: if template.order().is_none() { options.order } else { None },
            limits: options.limits.clone(),
            resolve,
            open: Mutex::default(),
        };
        shape.insert(0, rows.len() as u64);
        let array = Array::strided(Arc::new(joined), 0, datatype, order, shape, all_strides)?;
        Ok(array.with_limits(Arc::new(options.limits.clone())))
    }
}

/// Says which of the files `rows` have no such item, and how to choose the others.
fn omitted(item: &str, rows: &Range<usize>, missing: &[(usize, String)]) -> Error {
    const SHOWN: usize = 5;
    let names: Vec<_> = missing.iter().take(SHOWN).map(|(_, file)| file.as_str()).collect();
    let more = if missing.len() > SHOWN { ", …" } else { "" };
    let message = format!("{} of {} files have no item {item}: {}{more}", missing.len(), rows.len(), names.join(", "));
    let mut others = Vec::new();
    let mut from = rows.start;
    for row in missing.iter().map(|(row, _)| *row).chain([rows.end]) {
        if from < row {
            others.push(format!("{from}:{row}"));
        }
        from = row + 1;
    }
    let error = Error::usage(message).at_path(item);
    match others.len() {
        0 => error,
        1..=20 => error.hint(format!("choose the other files: {}", others.join(","))),
        _ => error.hint("choose files that have it"),
    }
}

/// Refuses files in which the item is not of the same form.
fn same_form(item: &str, (name, known): (&str, &Located), (file, found): (&str, &Located)) -> Result<()> {
    if known.shape != found.shape {
        let message = format!("{item} has the shape {:?} in {name} and {:?} in {file}", known.shape, found.shape);
        return Err(Error::usage(message).hint("choose files in which it has one shape"));
    }
    if known.typed != found.typed || known.strides != found.strides {
        return Err(Error::usage(format!("{item} is not stored alike in {name} and {file}")).hint("choose files that are alike"));
    }
    Ok(())
}

/// How many bytes it is from the first element to behind the last.
pub(super) fn extent(datatype: &Datatype, shape: &[u64], strides: &[u64]) -> Option<u64> {
    let mut span = datatype.item_size();
    for (dim, stride) in shape.iter().zip(strides) {
        match dim.checked_sub(1) {
            None => return Some(0),
            Some(more) => span = span.checked_add(more.checked_mul(*stride)?)?,
        }
    }
    Some(span)
}

/// Where the item lies in one file.
struct Piece {
    /// Byte of the file at which it is stored; None where it has no data.
    offset: Option<u64>,
    /// Of a compressed item: where the wanted member begins in it, and how many bytes are stored.
    inside: u64,
    stored: Option<u64>,
}

/// The bytes of the item in all files, one file behind the other; files are opened as they are read.
struct Joined {
    name: String,
    len: u64,
    files: Arc<Vec<String>>,
    first: usize,
    pieces: Vec<Piece>,
    span: u64,
    filter: Option<Filter>,
    /// The item before it was compressed.
    whole: Option<Form>,
    native: bool,
    /// The order that every signature must have, where the layout leaves it to them.
    order: Option<Byteorder>,
    limits: Limits,
    resolve: Arc<dyn Resolve>,
    /// The files read last: by their numbers, and the bytes that hold the item from this offset on.
    open: Mutex<BTreeMap<usize, Opened>>,
}

type Opened = (SourceRef, u64);

/// Files held open at the same time: half of what systems usually allow.
const OPEN: usize = 512;

impl Joined {
    /// The bytes that hold the item in a file.
    fn piece(&self, at: usize, wanted: Range<u64>) -> Result<Opened> {
        if let Some((source, start)) = self.last().get(&at) {
            return Ok((Arc::clone(source), *start));
        }
        // Nobody waits for the lock while a file is opened: others are opened meanwhile.
        let opened = self.opened(at, &[wanted])?;
        *self.last() = BTreeMap::from([(at, (Arc::clone(&opened.0), opened.1))]);
        Ok(opened)
    }

    fn last(&self) -> MutexGuard<'_, BTreeMap<usize, Opened>> {
        lock(&self.open)
    }

    /// Opens a file of which the bytes `wanted` of the item are read first.
    fn opened(&self, at: usize, wanted: &[Range<u64>]) -> Result<Opened> {
        let file = self.file(at);
        self.opened_as(at, file, wanted).map_err(|e| e.context(file.to_owned()))
    }

    fn opened_as(&self, at: usize, file: &str, wanted: &[Range<u64>]) -> Result<Opened> {
        let Some(Piece { offset: Some(offset), inside, stored }) = self.pieces.get(at) else {
            return Err(Error::malformed("it holds no data of the item"));
        };
        self.limits.charge_memory(stored.unwrap_or(0), "a compressed item")?;
        // What is needed of a remote file comes with one request: the signature, and the item.
        let signature = 0..if self.native { Signature::LEN } else { 0 };
        let mut ranges = vec![signature];
        match (&self.filter, stored) {
            (Some(_), stored) => ranges.push(*offset..offset.saturating_add(stored.unwrap_or(0))),
            (None, _) => {
                ranges.extend(wanted.iter().map(|part| offset.saturating_add(part.start)..offset.saturating_add(part.end)));
            }
        }
        let (source, _) = self.resolve.resolve_parts(&file.replace('%', "%25"), &ranges)?;
        if self.native {
            let found = Signature::read(&*source)?;
            let found = found.ok_or_else(|| Error::malformed("E404: it has no Dudley signature").at_byte(0))?;
            if let Some(order) = self.order.filter(|order| *order != found.order) {
                let message = format!("it is in {:?} order, but the family was opened in {order:?} order", found.order);
                return Err(Error::usage(message).hint("read the files of each byte order by themselves"));
            }
        }
        let (Some(filter), Some(whole)) = (&self.filter, &self.whole) else { return Ok((source, *offset)) };
        let stored = stored.ok_or_else(|| Error::usage("the stored length of the compressed item is not known"))?;
        let window = Window::new(source, *offset, stored)?;
        Ok((inflated(filter, Arc::new(window), whole, &self.limits)?, *inside))
    }
}

/// The bytes of one file that a read wants: the number of the file, from which byte of its item on, and where to.
type Part<'b> = (usize, u64, &'b mut [u8]);

impl Joined {
    fn read_part(&self, (at, from, into): Part<'_>) -> Result<()> {
        let (source, start) = self.piece(at, from..from.saturating_add(into.len() as u64))?;
        source.read_at(start.saturating_add(from), into).map_err(|e| e.context(self.file(at).to_owned()))
    }

    /// The file in which a byte lies, and which byte of its item that is.
    fn place(&self, offset: u64) -> Result<(usize, u64)> {
        let number = offset.checked_div(self.span).unwrap_or(0);
        let at = usize::try_from(number).ok().filter(|at| *at < self.pieces.len());
        let at = at.ok_or_else(|| Error::malformed(format!("byte {offset} is behind the last file")))?;
        Ok((at, offset - number * self.span))
    }

    /// What a file is called.
    fn file(&self, at: usize) -> &str {
        self.files.get(self.first.saturating_add(at)).map_or("", String::as_str)
    }
}

impl Source for Joined {
    fn len(&self) -> u64 {
        self.len
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<()> {
        let (mut offset, mut rest) = (offset, into);
        let mut parts: Vec<Part<'_>> = Vec::new();
        while !rest.is_empty() {
            let (at, from) = self.place(offset)?;
            let count = usize::try_from(self.span - from).unwrap_or(usize::MAX).min(rest.len());
            let (now, later) = std::mem::take(&mut rest).split_at_mut(count);
            parts.push((at, from, now));
            offset = offset.saturating_add(count as u64);
            rest = later;
        }
        side_by_side(parts, self.resolve.at_once(), |part| self.read_part(part))
    }

    fn prefetch(&self, ranges: &[Range<u64>]) -> Result<()> {
        // What must be decoded as a whole is held for one file at a time.
        if self.filter.is_some() {
            return Ok(());
        }
        let mut wanted: BTreeMap<usize, Vec<Range<u64>>> = BTreeMap::new();
        for range in ranges {
            let mut start = range.start;
            while start < range.end.min(self.len) && wanted.len() < OPEN {
                let (at, from) = self.place(start)?;
                let count = (self.span - from).min(range.end - start);
                wanted.entry(at).or_default().push(from..from.saturating_add(count));
                start = start.saturating_add(count);
            }
        }
        let opened = Mutex::new(BTreeMap::new());
        let done = side_by_side(wanted.into_iter().collect(), self.resolve.at_once(), |(at, wanted)| {
            let file = self.opened(at, &wanted)?;
            lock(&opened).insert(at, file);
            Ok(())
        });
        // Where not all can be held open (or one is missing), reading opens one after the other, and says so.
        let opened = opened.into_inner().unwrap_or_else(PoisonError::into_inner);
        *self.last() = if done.is_ok() { opened } else { BTreeMap::new() };
        Ok(())
    }

    fn access(&self) -> Access {
        if self.resolve.at_once() > 1 { Access::Requests } else { Access::Random }
    }

    fn stored(&self, _: Range<u64>) -> Result<Vec<Range<u64>>> {
        Err(Error::unsupported("the bytes are in many files").hint("`layout locate` says where in each"))
    }

    fn name(&self) -> &str {
        &self.name
    }
}
