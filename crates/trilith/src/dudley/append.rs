//! Appending to a native file, so that a crash at any moment leaves the old file or the new.
//!
//! Section 7.4 of our specification: new items go where the layout was, the longer layout goes behind
//! them. Header and old layout are saved in a journal first, which whoever opens the file next undoes.

use std::path::Path;
use std::sync::Arc;

use super::draft::{in_order, quoted};
use super::read::{DudleyFile, Items, LayoutOrigin};
use super::signature::Signature;
use super::write::{Supplier, evaluate_more, text_of, write_items};
use crate::array::Array;
use crate::bytes::{self, OpenOptions, SourceRef, Update};
use crate::error::{Error, Result};
use crate::layout::{ByteOrder, Dialect, Layout, Options};
use crate::limits::Limits;

/// Appends items to the native file at `path`: `text` is what the layout gains at its end, from the root
/// dict on; `params` are the values of stored parameters in it, `data` gives its arrays. Returns the new size.
///
/// # Errors
/// [`Kind::Usage`] where the file has no layout at its end or the text does not go with it, and as
/// [`NewStream::write`](super::NewStream::write).
pub fn append(path: &Path, text: &str, params: &[i64], data: Supplier<'_>, limits: &Limits) -> Result<u64> {
    let source = bytes::open(path, OpenOptions { map: false, ..OpenOptions::default() })?;
    let file = DudleyFile::open(source, None, limits)?;
    let Native { signature, old, values, total, start } = Native::of(&file)?;
    let next = old.evaluation().next().unwrap_or(0);
    if next < total {
        let message = format!("the layout goes on at address {next}, inside of what is there ({total} bytes)");
        return Err(Error::unsupported(message).hint("let the last item be the one that lies last"));
    }
    let mut count = 0u64;
    for entry in old.entries() {
        entry?;
        count += 1;
    }
    let longer = format!("{}/\n{text}\n", text_of(file.layout()));
    let layout =
        Layout::read(longer.as_bytes()).map_err(|e| Error::usage(format!("the longer layout is wrong: {}", e.message())))?;
    let options = Options { native: true, order: Some(signature.order), limits: limits.clone() };
    let (found, packed) = evaluate_more(&layout, &options, (&values, count), params, data)?;
    let total = found.total().and_then(|total| total.checked_add(file.base()));
    let total = total.ok_or_else(|| Error::usage("the size of the file is not known"))?;
    let change = Change { signature, start, source: Arc::clone(file.source()), total, text: longer };
    change.make(|update| {
        write_items(&found, file.base(), count, limits, packed, data, &mut |at, bytes| write_past(update, at, bytes, start))
            .map(drop)
    })
}

/// A native file with its layout at its end, before more is written to it.
pub(super) struct Native<'f> {
    pub signature: Signature,
    pub old: Items<'f>,
    /// The values of all stored parameters.
    pub values: Vec<i64>,
    /// The largest end of an item, a layout address.
    pub total: u64,
    /// The byte at which what may be overwritten begins: behind the last item.
    pub start: u64,
}

impl<'f> Native<'f> {
    pub fn of(file: &'f DudleyFile) -> Result<Self> {
        let (Some(signature), LayoutOrigin::Embedded(layout_at)) = (file.signature(), file.origin()) else {
            return Err(Error::usage("only a native file with its layout at its end can be appended to"));
        };
        let old = file.items()?;
        let mut values: Vec<i64> = Vec::new();
        for value in old.evaluation().values() {
            values.push(value.ok_or_else(|| Error::usage("a length in the file is not known"))?);
        }
        let total = old.evaluation().total().ok_or_else(|| Error::usage("the size of the file is not known"))?;
        let start = total.saturating_add(file.base()).max(Signature::LEN);
        if start > *layout_at {
            let message = format!("the layout at byte {layout_at} lies inside of the data, which end at {start}");
            return Err(Error::malformed(message));
        }
        Ok(Self { signature, old, values, total, start })
    }
}

/// A change at the end of a native file: from byte `start` on, and a new layout at byte `total`.
pub(super) struct Change {
    pub signature: Signature,
    pub start: u64,
    /// The file as it was read.
    pub source: SourceRef,
    pub total: u64,
    pub text: String,
}

impl Change {
    /// Makes it: `write` gives the data to the update. Returns the new size.
    pub fn make(self, write: impl FnOnce(&mut Update) -> Result<()>) -> Result<u64> {
        let mut update = Update::new();
        write(&mut update)?;
        let source = Arc::clone(&self.source);
        let size = self.end(&mut update)?;
        update.commit(&*source)?;
        Ok(size)
    }

    /// The layout behind the data, then the header that points to it.
    fn end(self, update: &mut Update) -> Result<u64> {
        let at = self.total.max(self.start);
        let mut text = self.text.into_bytes();
        let end = at.saturating_add(text.len() as u64);
        // What is left of the old end must not be read as layout: it becomes white space.
        let rest = bytes::to_usize(self.source.len().saturating_sub(end))?;
        text.resize(text.len() + rest, b'\n');
        write_past(update, at, &text, self.start)?;
        update.write(8, Signature { layout_at: Some(at), ..self.signature }.address_bytes().to_vec());
        Ok(at.saturating_add(text.len() as u64))
    }
}

/// Writes bytes behind the old data.
pub(super) fn write_past(update: &mut Update, at: u64, bytes: &[u8], start: u64) -> Result<()> {
    if at < start {
        return Err(Error::usage(format!("a new item would be written over old data, at byte {at}")));
    }
    update.put(at, bytes)
}

/// Appends records: `rows` has one axis more than the last item of a list (`/history/t`), and each of its
/// rows becomes one more of it; or `rows` goes on with an array that lies last and whose first dimension
/// is a stored parameter (`"" = {…}[NREC]`, the path `/""`). Returns the new size.
///
/// # Errors
/// As [`append`], and [`Kind::Unsupported`] for an array that cannot grow where it is.
pub fn append_records(path: &Path, list: &str, rows: &Array, limits: &Limits) -> Result<u64> {
    let Some(&count) = rows.shape().first() else {
        return Err(Error::usage("records have an axis that counts them"));
    };
    let file = DudleyFile::open(bytes::open(path, OpenOptions { map: false, ..OpenOptions::default() })?, None, limits)?;
    if let Some(entry) = file.items()?.evaluation().find(list)? {
        return super::grow::grow(&file, &entry, rows, limits);
    }
    let mut arrays = std::collections::VecDeque::new();
    for row in 0..count {
        arrays.push_back(rows.rows(row, 1)?.reshape(rows.shape().get(1..).unwrap_or(&[]))?);
    }
    let mut steps = Vec::new();
    for step in super::path::steps(list)? {
        match step {
            super::path::Step::Name(name) => steps.push(quoted(&name)?),
            _ => return Err(Error::usage(format!("{list} is no list of a dict"))),
        }
    }
    let way = steps.join("/");
    let text = match file.layout().dialect() {
        Dialect::D2025 => format!("{way} [{count}]"),
        Dialect::D2026 => format!("{way} [{}]", vec!["%0"; bytes::to_usize(count)?].join(", ")),
    };
    drop(file);
    let mut supply = in_order(&mut arrays);
    append(path, &text, &[], &mut supply, limits)
}

/// Appends the items of a dict to the root dict of a native file of 2025. Returns the new size.
///
/// # Errors
/// As [`append`] and [`Draft::layout`](super::Draft::layout).
pub fn append_draft(path: &Path, items: &super::Draft, limits: &Limits) -> Result<u64> {
    let (text, arrays) = items.layout()?;
    let text = text.strip_prefix("#: dialect=2025\n").unwrap_or(&text).to_owned();
    let mut arrays = std::collections::VecDeque::from(arrays);
    let mut supply = in_order(&mut arrays);
    append(path, &text, &items.params(), &mut supply, limits)
}

/// The byte order that this machine writes.
pub fn native_order() -> ByteOrder {
    if cfg!(target_endian = "big") { ByteOrder::Big } else { ByteOrder::Little }
}
