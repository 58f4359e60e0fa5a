//! Rewriting a Dudley stream: compact, in the other byte order, in the other dialect and with its address base.

use std::io::{Seek, Write};

use super::dudley_file::{DudleyFile, StreamItems};
use super::write::NewStream;
use crate::array::Array;
use crate::diagnostic::Diagnostic;
use crate::error::{Error, Result};
use crate::layout::{
    Byteorder, ByteorderMarks, Dialect, Layout, LayoutEntry, ParseOptions, ResolvedType, StorageOptions, StreamEntryKind, parse,
};

/// Options for rewriting a stream.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct RewriteOptions {
    /// The dialect of its layout; None keeps that of the file.
    pub dialect: Option<Dialect>,
    /// The byte order of all numbers; None lets each keep its own.
    pub order: Option<Byteorder>,
    /// The form of storage of arrays.
    pub stored: StorageOptions,
}

impl DudleyFile {
    /// Writes the content as a native file. The items follow each other without gaps, with their documentation and attributes,
    /// whatever their old offsets. Returns a diagnostic for each thing that the new dialect cannot express, which is not in the
    /// new file. The dialect of 2025 has no compression, so compressed arrays become uncompressed there.
    ///
    /// ```
    /// # use std::{io::Cursor, sync::Arc};
    /// # use trilith_io::bytes::MemorySource;
    /// use trilith_layout::Limits;
    /// use trilith_layout::dudley::{DudleyFile, RewriteOptions};
    /// use trilith_layout::layout::{Byteorder, Layout};
    /// let layout = Layout::read(b"x = >u2[2] @3")?;
    /// let file = DudleyFile::open(Arc::new(MemorySource::new(vec![9, 9, 9, 0, 1, 0, 2], "x")), Some(layout), &Limits::default())?;
    /// let (mut out, mut how) = (Cursor::new(Vec::new()), RewriteOptions::default());
    /// how.order = Some(Byteorder::Little);
    /// file.rewrite(&how, &mut out)?;
    /// let bytes = out.into_inner();
    /// assert_eq!(bytes[16..], *b"\x01\0\x02\0#: dialect=2025\nx = u2[2]\n");
    /// # Ok::<(), trilith_layout::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for filters that are not available, an
    /// error if an item cannot be read, and the errors of [`NewStream::write`].
    pub fn rewrite<W: Write + Seek>(&self, how: &RewriteOptions, out: &mut W) -> Result<Vec<Diagnostic>> {
        if self.has_external_parts() {
            return Err(Error::unsupported("some of its items are in other files, to which it refers"));
        }
        let items = self.locate_items()?;
        let to = how.dialect.unwrap_or(self.layout().dialect());
        let marks = if how.order.is_some() { ByteorderMarks::Drop } else { ByteorderMarks::Keep };
        let compact = self.layout().compacted_as(to, marks, &how.stored);
        let mut options = ParseOptions { dialect: Some(to), ..ParseOptions::default() };
        options.limits = self.limits().clone();
        let layout = parse(compact.text.as_bytes(), &options)?.layout;
        let layout = layout.ok_or_else(|| Error::unsupported(format!("this layout cannot be written in the dialect of {to}")))?;
        let is_faithful = compact.is_faithful();
        let mut params = Vec::new();
        for entry in items.entries() {
            let entry = entry?;
            // The structs that 2026 leaves out take their parameters along.
            let is_kept = is_faithful || !in_struct(self.layout(), &entry);
            if entry.kind == StreamEntryKind::Param && is_kept && !entry.path.ends_with("#length") {
                params.push(entry.value.ok_or_else(|| Error::malformed(format!("the value of {} is not known", entry.path)))?);
            }
        }
        let mut new = NewStream::new(&layout, params);
        new.limits = self.limits().clone();
        new.order = how
            .order
            .or_else(|| self.signature().map(|signature| signature.order))
            .or(self.byteorder())
            .unwrap_or(Byteorder::Little);
        let mut arrays = OldArrays { items: &items, next: Box::new(items.entries()) };
        new.write(&mut |entry| arrays.array_for(entry), out)?;
        Ok(compact.losses.into_iter().filter(|loss| !loss.is_harmless).collect())
    }
}

/// Returns `true` if an entry is a member of a struct.
fn in_struct(layout: &Layout, entry: &LayoutEntry) -> bool {
    layout.parent(entry.item).is_some_and(|parent| layout.kind(parent) == crate::layout::ItemKind::Type)
}

/// The arrays of the old file for the items of the new one, which mostly come in the same order.
struct OldArrays<'i, 'f> {
    items: &'i StreamItems<'f>,
    next: Box<dyn Iterator<Item = Result<LayoutEntry>> + 'i>,
}

impl OldArrays<'_, '_> {
    fn array_for(&mut self, entry: &LayoutEntry) -> Result<Array> {
        // A few items may have been left out or have no data.
        for _ in 0..64 {
            match self.next.next().transpose()? {
                Some(old)
                    if old.path == entry.path
                        && old.kind == StreamEntryKind::Data
                        && old.resolved_type != ResolvedType::Dynamic =>
                {
                    return self.items.array(&old);
                }
                Some(_) => {}
                None => break,
            }
        }
        self.items.array_at(&entry.path)
    }
}
