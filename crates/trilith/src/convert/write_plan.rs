//! A conversion, written as it was worked out.

use std::io::{Seek, Write};
use std::sync::Arc;

use super::Converted;
use super::plan::{Data, Form, Plan, Planned};
use crate::array::Byteorder;
use crate::asdf::{BlockOptions, BlockWriter, FileWriter, Written, encoding_chain as text};
use crate::bytes::{MemorySource, SourceRef, in_pieces, verify_backing};
use crate::codec::encoding_chain::{self, Described};
use crate::error::{Context, Result};
use crate::progress::Progress;

impl Plan<'_> {
    /// The decoded bytes of a block to be written.
    pub(super) fn decoded(&self, data: &Data) -> Result<SourceRef> {
        if let Data::Block(index) = data {
            let data = self.block_data(*index)?;
            verify_backing(&*data)?;
            return Ok(data);
        }
        let mut bytes = Vec::new();
        self.feed(data, &mut |part| {
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
    pub(super) fn feed(&self, data: &Data, take: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        match data {
            Data::Block(index) => {
                let source = self.block_data(*index)?;
                verify_backing(&*source)?;
                in_pieces(&*source, 0..source.len(), 8 << 20, true, take)
            }
            Data::Array { array, change: None, order } => {
                verify_backing(&**array.source())?;
                array.pieces(*order, 4 << 20, take)
            }
            Data::Array { array, change: Some(change), .. } => {
                verify_backing(&**array.source())?;
                array.pieces(Byteorder::Little, 4 << 20, &mut |bytes: &[u8]| take(&change.apply(bytes)?))
            }
        }
    }

    /// Writes the file into `out`, which is at its start; `progress` receives the number of decoded bytes.
    ///
    /// Losses were for the caller to look at: they are not refused here.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Io`](crate::ErrorKind::Io) if writing fails, and an error if a block does not decode.
    pub fn write<W: Write + Seek>(self, out: W, progress: Progress<'_>) -> Result<Converted> {
        let _call = self.file.limits().call();
        self.check_decoding()?;
        let mut writer = FileWriter::new(out, self.row(), self.options.write.clone());
        writer.header_of_bytes(self.target.header, &self.comments, self.tree.as_deref())?;
        let mut done = Converted::default();
        for (number, planned) in self.blocks.iter().enumerate() {
            let written = self.write_block(&mut writer, planned).doing(|| format!("block {number}"))?;
            done.count(&written);
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
                (Form::Copy, Data::Block(_)) | (Form::Encoded { .. }, _) => {}
                (_, Data::Block(index)) => blocks.push(self.file.sections().block(*index as i64)?),
                (_, Data::Array { array, .. }) => work = work.saturating_add(array.nbytes()),
            }
        }
        self.file.check_decoding(blocks)?;
        self.file.limits().check_work(work)
    }

    fn write_block<W: Write + Seek>(&self, writer: &mut FileWriter<W>, planned: &Planned) -> Result<Written> {
        let sections = self.file.sections();
        let mut how = BlockOptions::default();
        let mut out: BlockWriter<'_, W> = match (&planned.form, &planned.data) {
            (Form::Copy, Data::Block(index)) => {
                let block = sections.block(*index as i64)?;
                return writer.copy_last(&block.stored(sections.source())?, block);
            }
            (Form::Encoded { text, bytes, len }, _) => {
                let stored = MemorySource::new([text.as_bytes(), bytes].concat(), "encoded");
                return writer.encoded(&stored, *len);
            }
            (Form::Chain { steps, array }, _) => {
                let encoder = encoding_chain::encoder(steps, &self.fitted(array, &planned.data)?, self.file.limits())?;
                writer.begin_encoded(&text::print(steps), encoder)?
            }
            (Form::Streamed, _) => {
                how.streamed = true;
                writer.begin(&how)?
            }
            (Form::Codec(codec), data) => {
                how.codec = *codec;
                how.encode.level = self.options.level.filter(|_| codec.is_some());
                how.encode.blosc = self.options.blosc;
                self.hint(data, &mut how);
                writer.begin(&how)?
            }
            (Form::Copy, Data::Array { .. }) => writer.begin(&how)?,
        };
        self.feed(&planned.data, &mut |bytes| out.write(bytes))?;
        out.finish()
    }

    /// Describes the data for an encoder of steps on bytes alone, with their number.
    fn fitted(&self, array: &Described, data: &Data) -> Result<Described> {
        if !array.shape.is_empty() || array.item_size != 1 {
            return Ok(array.clone());
        }
        let len = match data {
            Data::Block(index) => self.block_data(*index)?.len(),
            Data::Array { array, .. } => array.nbytes(),
        };
        Ok(Described { shape: vec![len], ..array.clone() })
    }

    /// Sets the parameters of the codec.
    fn hint(&self, data: &Data, how: &mut BlockOptions) {
        match data {
            Data::Block(index) => {
                if let Some(hint) = self.hints.get(index) {
                    how.encode.item_size = usize::try_from(hint.item).unwrap_or(1).max(1);
                    how.encode.row_bytes = hint.row;
                    how.encode.rows = self.options.rows.filter(|_| hint.fills);
                }
                how.encode.total = self.block_data(*index).ok().map(|source| source.len());
            }
            Data::Array { array, .. } => {
                how.encode.item_size = usize::try_from(array.datatype().packed_size()).unwrap_or(1).max(1);
                how.encode.row_bytes =
                    array.shape().first().and_then(|rows| array.nbytes().checked_div(*rows)).filter(|row| *row > 0);
                how.encode.rows = self.options.rows.filter(|_| !array.shape().is_empty());
            }
        }
    }
}
