//! A conversion, written as it was worked out.

use std::collections::HashMap;
use std::io::{Seek, Write};

use super::plan::{BlockData, BlockForm, ConversionPlan, PlannedBlock};
use super::{BlockHint, ConvertReport, apply_hint};
use crate::asdf::virtual_file::VirtualFile;
use crate::asdf::{AsdfFile, BlockLocation, BlockOptions, BlockWriter, FileWriter, encoding_chain as text, walk};
use crate::bytes::{MemorySource, PieceAccess, SourceRef, for_each_piece, verify_backing};
use crate::codec::CodecId;
use crate::codec::encoding_chain::{self, BlockArray};
use crate::error::{Error, Result};
use crate::progress::Progress;

impl ConversionPlan<'_> {
    /// The decoded bytes of a block to be written, and what encoders may know about them. Those of an old block come through its array,
    /// which may complete an encoding chain.
    pub(super) fn source_and_hint<'a>(&'a self, data: &'a BlockData) -> Result<(SourceRef, Option<&'a BlockHint>)> {
        Ok(match data {
            BlockData::Block(index) => (self.file.block_data(*index as i64)?, self.hints.get(index)),
            BlockData::Elements(source, hint) => (source.clone(), Some(hint)),
        })
    }

    /// Writes the file into `out`, whose position must be its start. `progress` receives the number of decoded bytes.
    ///
    /// Check the losses first: this method writes the file in spite of them.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Io`](crate::ErrorKind::Io) if writing fails, and an error if a block does not decode.
    pub fn write<W: Write + Seek>(self, out: W, progress: Progress<'_>) -> Result<ConvertReport> {
        let _call = self.file.limits().call();
        self.check_decoding()?;
        let mut writer = FileWriter::new(out, self.target_generation(), self.options.write_options.clone());
        writer.header_of_bytes(self.target.header, &self.comments, self.tree.as_deref())?;
        writer.keep_unused(self.file.sections(), self.blocks.len())?;
        let mut done = ConvertReport::default();
        for (number, planned) in self.blocks.iter().enumerate() {
            let written = self.write_block(&mut writer, planned).map_err(|error| self.name_block_error(number, error))?;
            done.count_block(&written);
            progress.add(written.data_size);
        }
        let mut account = self.account;
        account.losses.extend(writer.finish()?);
        (done.losses, done.notes) = (account.losses, account.notes);
        Ok(done)
    }

    /// Adds to the error of writing a block the path of its array.
    pub(super) fn name_block_error(&self, number: usize, error: Error) -> Error {
        match self.blocks.get(number).map(|planned| &planned.data) {
            Some(BlockData::Block(index)) => walk::name_block_error(self.file, *index, error),
            _ => error,
        }
    }

    /// Adds to the error of opening the planned file the first block that cannot be read.
    fn name_unreadable_block(&self, error: Error) -> Error {
        let is_unreadable = |index: usize| {
            let read = |data: SourceRef| data.read_at(0, &mut vec![0; data.len().min(1) as usize]);
            self.file.block_data(index as i64).and_then(read).is_err()
        };
        let found =
            self.blocks.iter().position(|planned| matches!(planned.data, BlockData::Block(index) if is_unreadable(index)));
        found.map_or(error.copy(), |number| self.name_block_error(number, error))
    }

    /// Refuses blocks that are more to decode than the command may go through.
    fn check_decoding(&self) -> Result<()> {
        let mut blocks = Vec::new();
        let mut work = 0u64;
        for planned in &self.blocks {
            match (&planned.form, &planned.data) {
                (BlockForm::Copy, BlockData::Block(_)) | (BlockForm::Encoded { .. }, _) => {}
                (_, BlockData::Block(index)) => blocks.push(self.file.sections().block(*index as i64)?),
                (_, BlockData::Elements(source, _)) => work = work.saturating_add(source.len()),
            }
        }
        self.file.check_decoding(blocks)?;
        self.file.limits().check_work(work)
    }

    fn write_block<W: Write + Seek>(&self, writer: &mut FileWriter<W>, planned: &PlannedBlock) -> Result<BlockLocation> {
        let sections = self.file.sections();
        if let (BlockForm::Copy, BlockData::Block(index)) = (&planned.form, &planned.data) {
            let block = sections.block(*index as i64)?;
            return writer.copy_last_block(&block.stored_source(sections.source())?, block);
        }
        if let BlockForm::Encoded { text, bytes, len } = &planned.form {
            return writer.encoded(&MemorySource::new([text.as_bytes(), bytes].concat(), "encoded"), *len);
        }
        let (source, hint) = self.source_and_hint(&planned.data)?;
        let mut how = BlockOptions::default();
        let mut out: BlockWriter<'_, W> = match &planned.form {
            BlockForm::Chain { steps, array } => {
                // Steps on bytes alone are told their number.
                let is_bytes = array.shape.is_empty() && array.item_size == 1;
                let shape = if is_bytes { vec![source.len()] } else { array.shape.clone() };
                let described = BlockArray { shape, ..array.clone() };
                let encoder = encoding_chain::encoder(steps, &described, self.file.limits())?;
                writer.begin_encoded(&text::print(steps), encoder)?
            }
            BlockForm::Codec(codec) => {
                how.codec = *codec;
                how.encode.level = self.options.level.filter(|_| codec.is_some());
                how.encode.blosc = self.options.blosc;
                how.encode.total_len = Some(source.len());
                apply_hint(hint, &self.options, &mut how);
                writer.begin_block(&how)?
            }
            form => {
                how.streamed = matches!(form, BlockForm::Streamed);
                writer.begin_block(&how)?
            }
        };
        visit_bytes(&source, &mut |bytes| out.write(bytes))?;
        out.finish()
    }

    /// Returns the file that [`ConversionPlan::write`] would write, but for the codecs of its blocks: these are uncompressed. With it come
    /// the codecs that they would have.
    ///
    /// # Errors
    /// Returns the errors of reading the blocks, and [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for encoding chains.
    pub(super) fn into_file(self) -> Result<(AsdfFile, HashMap<usize, CodecId>)> {
        let sections = self.file.sections();
        let head = (self.target.header, &self.comments[..]);
        let mut made = VirtualFile::new(self.target_generation(), sections.source(), head, self.tree.as_deref());
        let mut codecs = HashMap::new();
        for (number, planned) in self.blocks.iter().enumerate() {
            match (&planned.form, &planned.data) {
                (BlockForm::Copy, BlockData::Block(index)) => {
                    made.push_block(sections.block(*index as i64)?, sections.source())?;
                    continue;
                }
                (BlockForm::Codec(Some(codec)), _) => drop(codecs.insert(number, *codec)),
                (BlockForm::Chain { .. } | BlockForm::Encoded { .. }, _) => {
                    return Err(Error::unsupported("encoding chains in a file that is not written"));
                }
                _ => {}
            }
            made.push_bytes(self.source_and_hint(&planned.data)?.0, matches!(planned.form, BlockForm::Streamed));
        }
        let file = made.open(self.file.limits()).map_err(|error| self.name_unreadable_block(error))?;
        let file = file.with_resolver(self.file.resolver().clone());
        Ok((file, codecs))
    }
}

/// Hands over all bytes, in order, after comparing them with their checksum.
pub(super) fn visit_bytes(source: &SourceRef, take: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
    verify_backing(&**source)?;
    for_each_piece(&**source, 0..source.len(), 8 << 20, PieceAccess::Borrow, take)
}
