//! Appending to a native file, so that a crash at any moment leaves the old file or the new.
//!
//! Section 7.4 of our specification: new items go where the layout was, the longer layout goes behind
//! them. Header and old layout are saved in a journal first, which whoever opens the file next undoes.

use std::path::Path;

use super::draft::{in_order, quoted};
use super::read::{DudleyFile, LayoutOrigin};
use super::signature::Signature;
use super::write::{Supplier, evaluate, text_of, write_items};
use crate::array::Array;
use crate::bytes::{self, Journal, OpenOptions};
use crate::error::{Error, Kind, Result};
use crate::layout::{ByteOrder, Dialect, Layout, Options};
use crate::limits::Limits;

/// Appends items to the native file at `path`: `text` is what the layout gains at its end, from the root
/// dict on; `params` are the values of stored parameters in it, `data` gives its arrays. Returns the new size.
///
/// # Errors
/// [`Kind::Usage`] where the file has no layout at its end or the text does not go with it, and as
/// [`NewStream::write`](super::NewStream::write).
pub fn append(path: &Path, text: &str, params: &[i64], data: Supplier<'_>, limits: &Limits) -> Result<u64> {
    Journal::recover(path)?;
    let source = bytes::open(path, OpenOptions { map: false })?;
    let file = DudleyFile::open(source, None, limits)?;
    let (Some(signature), LayoutOrigin::Embedded(layout_at)) = (file.signature(), file.origin()) else {
        return Err(Error::usage("only a native file with its layout at its end can be appended to"));
    };
    let layout_at = *layout_at;
    let old = file.items()?;
    let mut values: Vec<i64> = Vec::new();
    for value in old.evaluation().values() {
        values.push(value.ok_or_else(|| Error::usage("a length in the file is not known"))?);
    }
    if file.layout().item_count() > 0 && has_compressed(file.layout()) {
        return Err(Error::unsupported("files with compressed arrays are not appended to yet"));
    }
    values.extend_from_slice(params);
    let (Some(total), Some(next)) = (old.evaluation().total(), old.evaluation().next()) else {
        return Err(Error::usage("the size of the file is not known"));
    };
    if next < total {
        let message = format!("the layout goes on at address {next}, inside of what is there ({total} bytes)");
        return Err(Error::unsupported(message).hint("let the last item be the one that lies last"));
    }
    let start = total.saturating_add(file.base()).max(Signature::LEN);
    if start > layout_at {
        return Err(Error::malformed(format!("the layout at byte {layout_at} lies inside of the data, which end at {start}")));
    }
    let mut count = 0u64;
    for entry in old.entries() {
        entry?;
        count += 1;
    }
    let longer = format!("{}/\n{text}\n", text_of(file.layout()));
    let layout =
        Layout::read(longer.as_bytes()).map_err(|e| Error::usage(format!("the longer layout is wrong: {}", e.message())))?;
    if has_compressed(&layout) {
        return Err(Error::unsupported("compressed arrays are not appended yet"));
    }
    let options = Options { native: true, order: Some(signature.order), limits: limits.clone() };
    let (found, packed) = evaluate(&layout, &options, &values, data)?;
    let old_len = file.source().len();
    let mut update = Journal::begin(path, &[8..16, start..old_len])?;
    if update.old_len() != old_len {
        update.roll_back()?;
        return Err(Error::new(Kind::Io, format!("{} was changed meanwhile", path.display())));
    }
    let written = (|| {
        write_items(&found, file.base(), count, limits, packed, data, &mut |at, bytes| {
            write_past(&mut update, at, bytes, start)
        })?;
        let total = found.total().and_then(|total| total.checked_add(file.base()));
        let at = total.ok_or_else(|| Error::usage("the size of the file is not known"))?.max(start);
        let mut text = longer.clone().into_bytes();
        let end = at.saturating_add(text.len() as u64);
        // What is left of the old end must not be read as layout: it becomes white space.
        let rest = bytes::to_usize(old_len.saturating_sub(end))?;
        text.resize(text.len() + rest, b'\n');
        write_past(&mut update, at, &text, start)?;
        update.write_at(8, &Signature { layout_at: Some(at), ..signature }.address_bytes())?;
        Ok(at.saturating_add(text.len() as u64))
    })();
    match written {
        Ok(size) => update.commit().map(|()| size),
        Err(error) => {
            update.roll_back()?;
            Err(error)
        }
    }
}

/// Writes bytes that may lie across the old end of the file.
fn write_past(update: &mut Journal, at: u64, bytes: &[u8], start: u64) -> Result<()> {
    if at < start {
        return Err(Error::usage(format!("a new item would be written over old data, at byte {at}")));
    }
    let inside = update.old_len().saturating_sub(at).min(bytes.len() as u64);
    let (old, new) = bytes.split_at_checked(bytes::to_usize(inside)?).unwrap_or((bytes, &[]));
    if !old.is_empty() {
        update.write_at(at, old)?;
    }
    if new.is_empty() { Ok(()) } else { update.write_at(at.saturating_add(inside), new) }
}

fn has_compressed(layout: &Layout) -> bool {
    let ids = (0..layout.item_count()).filter_map(|at| layout.item_at(at));
    ids.filter_map(|id| layout.opt_filter(id)).any(|filter| filter.compresses)
}

/// Appends records to a list: `rows` has one axis more than the last item of the list (`/history/t`), and
/// each of its rows becomes one more of it. Returns the new size.
///
/// # Errors
/// As [`append`].
pub fn append_records(path: &Path, list: &str, rows: &Array, limits: &Limits) -> Result<u64> {
    let Some(&count) = rows.shape().first() else {
        return Err(Error::usage("records have an axis that counts them"));
    };
    let file = DudleyFile::open(bytes::open(path, OpenOptions { map: false })?, None, limits)?;
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
