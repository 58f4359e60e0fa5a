//! A conversion, written as it was worked out.

use std::io::{Seek, Write};
use std::sync::Arc;

use super::ConvertReport;
use super::plan::{BlockData, BlockForm, ConversionPlan, PlannedBlock};
use crate::array::Byteorder;
use crate::asdf::{BlockLocation, BlockOptions, BlockWriter, FileWriter, encoding_chain as text};
use crate::bytes::{MemorySource, PieceAccess, SourceRef, for_each_piece, verify_backing};
use crate::codec::encoding_chain::{self, BlockArray};
use crate::error::{Result, ResultExt};
use crate::progress::Progress;

impl ConversionPlan<'_> {
    /// The decoded bytes of a block to be written.
    pub(super) fn open_decoded_bytes(&self, data: &BlockData) -> Result<SourceRef> {
        if let BlockData::Block(index) = data {
            let data = self.block_data(*index)?;
            verify_backing(&*data)?;
            return Ok(data);
        }
        let mut bytes = Vec::new();
        self.visit_decoded_bytes(data, &mut |part| {
            bytes.extend_from_slice(part);
            self.file.limits().charge_memory(bytes.len() as u64, "quantising a block")
        })?;
        Ok(Arc::new(MemorySource::new(bytes, "memory")))
    }

    /// The decoded bytes of an old block: through its array, which may complete an encoding chain.
    fn block_data(&self, index: usize) -> Result<SourceRef> {
        self.file.block_data(index as i64)
    }

    /// Hands over the decoded bytes of a block to be written.
    pub(super) fn visit_decoded_bytes(&self, data: &BlockData, take: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        match data {
            BlockData::Block(index) => {
                let source = self.block_data(*index)?;
                verify_backing(&*source)?;
                for_each_piece(&*source, 0..source.len(), 8 << 20, PieceAccess::Borrow, take)
            }
            BlockData::Array { array, change: None, order } => {
                verify_backing(&**array.source())?;
                array.for_each_piece_in(*order, 4 << 20, take)
            }
            BlockData::Array { array, change: Some(change), .. } => {
                verify_backing(&**array.source())?;
                array.for_each_piece_in(Byteorder::Little, 4 << 20, &mut |bytes: &[u8]| take(&change.cast_elements(bytes)?))
            }
        }
    }

    /// Writes the file into `out`, which is at its start; `progress` receives the number of decoded bytes.
    ///
    /// Losses were for the caller to look at: they are not refused here.
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
            let written = self.write_block(&mut writer, planned).with_context(|| format!("block {number}"))?;
            done.count_block(&written);
            progress.add(written.data_size);
        }
        let damaged = writer.finish()?;
        done.losses = self.losses;
        done.losses.extend(damaged);
        done.notes = self.notes;
        Ok(done)
    }

    /// Refuses blocks that are more to decode than the command may go through.
    fn check_decoding(&self) -> Result<()> {
        let mut blocks = Vec::new();
        let mut work = 0u64;
        for planned in &self.blocks {
            match (&planned.form, &planned.data) {
                (BlockForm::Copy, BlockData::Block(_)) | (BlockForm::Encoded { .. }, _) => {}
                (_, BlockData::Block(index)) => blocks.push(self.file.sections().block(*index as i64)?),
                (_, BlockData::Array { array, .. }) => work = work.saturating_add(array.nbytes()),
            }
        }
        self.file.check_decoding(blocks)?;
        self.file.limits().check_work(work)
    }

    fn write_block<W: Write + Seek>(&self, writer: &mut FileWriter<W>, planned: &PlannedBlock) -> Result<BlockLocation> {
        let sections = self.file.sections();
        let mut how = BlockOptions::default();
        let mut out: BlockWriter<'_, W> = match (&planned.form, &planned.data) {
            (BlockForm::Copy, BlockData::Block(index)) => {
                let block = sections.block(*index as i64)?;
                return writer.copy_last_block(&block.stored_source(sections.source())?, block);
            }
            (BlockForm::Encoded { text, bytes, len }, _) => {
                let stored = MemorySource::new([text.as_bytes(), bytes].concat(), "encoded");
                return writer.encoded(&stored, *len);
            }
            (BlockForm::Chain { steps, array }, _) => {
                let encoder = encoding_chain::encoder(steps, &self.fit_to_row(array, &planned.data)?, self.file.limits())?;
                writer.begin_encoded(&text::print(steps), encoder)?
            }
            (BlockForm::Streamed, _) => {
                how.streamed = true;
                writer.begin_block(&how)?
            }
            (BlockForm::Codec(codec), data) => {
                how.codec = *codec;
                how.encode.level = self.options.level.filter(|_| codec.is_some());
                how.encode.blosc = self.options.blosc;
                self.apply_hint(data, &mut how);
                writer.begin_block(&how)?
            }
            (BlockForm::Copy, BlockData::Array { .. }) => writer.begin_block(&how)?,
        };
        self.visit_decoded_bytes(&planned.data, &mut |bytes| out.write(bytes))?;
        out.finish()
    }

    /// Describes the data for an encoder of steps on bytes alone, with their number.
    fn fit_to_row(&self, array: &BlockArray, data: &BlockData) -> Result<BlockArray> {
        if !array.shape.is_empty() || array.item_size != 1 {
            return Ok(array.clone());
        }
        let len = match data {
            BlockData::Block(index) => self.block_data(*index)?.len(),
            BlockData::Array { array, .. } => array.nbytes(),
        };
        Ok(BlockArray { shape: vec![len], ..array.clone() })
    }

    /// Sets the parameters of the codec.
    fn apply_hint(&self, data: &BlockData, how: &mut BlockOptions) {
        match data {
            BlockData::Block(index) => {
                if let Some(hint) = self.hints.get(index) {
                    how.encode.item_size = usize::try_from(hint.item).unwrap_or(1).max(1);
                    how.encode.row_bytes = hint.row;
                    how.encode.rows = self.options.rows.filter(|_| hint.fills_block);
                }
                how.encode.total_len = self.block_data(*index).ok().map(|source| source.len());
            }
            BlockData::Array { array, .. } => {
                how.encode.item_size = usize::try_from(array.datatype().packed_size()).unwrap_or(1).max(1);
                how.encode.row_bytes =
                    array.shape().first().and_then(|rows| array.nbytes().checked_div(*rows)).filter(|row| *row > 0);
                how.encode.rows = self.options.rows.filter(|_| !array.shape().is_empty());
            }
        }
    }
}
