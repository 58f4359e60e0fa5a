//! A file of the ASDF family that is nowhere written: its bytes are made of arrays and blocks when they are read.

use std::sync::Arc;

use super::AsdfFile;
use super::block::{Block, BlockHeaderValues, STREAMED, fill_fields};
use super::generation::Generation;
use crate::array::{Array, Byteorder, PackedSource};
use crate::bytes::{ConcatenatedSource, DerivedSource, ExternalPart, MemorySource, SourceRef};
use crate::error::{Error, Result};
use crate::limits::Limits;

/// The parts of a file, from its first byte to its last.
pub(crate) struct VirtualFile {
    generation: &'static Generation,
    /// The file that it is made of, whose name it has.
    origin: SourceRef,
    /// Bytes that belong before the next part, from `start` on.
    pending: Vec<u8>,
    start: u64,
    head: Option<SourceRef>,
    parts: Vec<ExternalPart>,
}

impl VirtualFile {
    /// A file that begins with a header line, comments and a tree.
    pub(crate) fn new(
        generation: &'static Generation,
        origin: &SourceRef,
        (line, comments): (&str, &[impl AsRef<[u8]>]),
        tree: Option<&str>,
    ) -> Self {
        let mut head = Vec::new();
        for text in std::iter::once(line.as_bytes()).chain(comments.iter().map(AsRef::as_ref)) {
            head.extend_from_slice(text);
            head.push(b'\n');
        }
        let tree = tree.unwrap_or("");
        head.extend_from_slice(tree.as_bytes());
        if !tree.is_empty() && !tree.ends_with('\n') {
            head.push(b'\n');
        }
        Self { generation, origin: origin.clone(), pending: head, start: 0, head: None, parts: Vec::new() }
    }

    /// Adds an uncompressed block with the elements of an array.
    pub(crate) fn push_array(&mut self, array: Array, order: Byteorder) {
        self.push_bytes(Arc::new(PackedSource::new(array, order)), false);
    }

    /// Adds an uncompressed block with these bytes, perhaps a streamed one.
    pub(crate) fn push_bytes(&mut self, data: SourceRef, is_streamed: bool) {
        // The header of a streamed block has no sizes.
        let len = if is_streamed { 0 } else { data.len() };
        let values = BlockHeaderValues {
            flags: if is_streamed { STREAMED } else { 0 },
            compression: [0; 4],
            codes: [0; 16],
            allocated: len,
            used: len,
            data_size: len,
            checksum: None,
        };
        self.push_header(&values, self.generation.fields.size, &[]);
        self.push_data(data);
    }

    /// Adds a block of another file as it is stored there.
    ///
    /// # Errors
    /// Returns the errors of [`Block::stored_source`].
    pub(crate) fn push_block(&mut self, block: &Block, source: &SourceRef) -> Result<()> {
        let data: SourceRef = Arc::new(block.stored_window(source)?);
        let is_streamed = block.is_streamed();
        let used = if is_streamed { block.used } else { data.len() };
        let values = BlockHeaderValues {
            flags: block.flags,
            compression: block.compression,
            codes: block.encoding_codes,
            allocated: if is_streamed { block.allocated } else { used },
            used,
            data_size: if is_streamed { block.data_size } else { block.decoded_len() },
            checksum: block.checksum.as_deref(),
        };
        self.push_header(&values, self.generation.fields.size, &block.extra_header);
        self.push_data(data);
        Ok(())
    }

    fn push_header(&mut self, values: &BlockHeaderValues<'_>, size: u16, extra: &[u8]) {
        self.pending.extend_from_slice(self.generation.magic);
        let size_with_extra = usize::from(size) + extra.len();
        self.pending.extend_from_slice(&(size_with_extra as u16).to_be_bytes());
        self.pending.extend_from_slice(&fill_fields(&self.generation.fields, size, values));
        self.pending.extend_from_slice(extra);
    }

    /// Ends the bytes before a part, and adds it.
    fn push_data(&mut self, data: SourceRef) {
        self.push_pending();
        let len = data.len();
        if len > 0 {
            self.parts.push(ExternalPart { start: self.start, offset: 0, len, source: data });
            self.start += len;
        }
    }

    fn push_pending(&mut self) {
        let bytes = std::mem::take(&mut self.pending);
        let len = bytes.len() as u64;
        let source: SourceRef = Arc::new(MemorySource::new(bytes, self.origin.name()));
        match &self.head {
            None => self.head = Some(source),
            Some(_) if len > 0 => self.parts.push(ExternalPart { start: self.start, offset: 0, len, source }),
            Some(_) => {}
        }
        self.start += len;
    }

    /// Opens the file.
    ///
    /// # Errors
    /// Returns the errors of [`AsdfFile::open`].
    pub(crate) fn open(mut self, limits: &Limits) -> Result<AsdfFile> {
        self.push_pending();
        let head = self.head.ok_or_else(|| Error::invalid_input("a file without a header"))?;
        let bytes = ConcatenatedSource::new(head, self.parts)?;
        AsdfFile::open(Arc::new(DerivedSource::new(Arc::new(bytes), self.origin)), limits)
    }
}
