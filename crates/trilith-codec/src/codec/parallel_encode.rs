//! Cutting what is written into pieces that encode on their own, on all cores, in bounded memory.

use std::io::Write;

use super::EncodeOptions;
use crate::error::{Error, Result};
use crate::threads::{map_parallel, threads};

/// Bytes that a thread is started for, at least.
#[cfg(not(test))]
const MIN_THREAD_BYTES: usize = 1 << 20;
#[cfg(test)]
const MIN_THREAD_BYTES: usize = 1;

/// Input cut at fixed places, whatever the lengths of the writes.
pub(super) struct PieceSplitter {
    /// Bytes of every piece but the last.
    piece: usize,
    /// Bytes handed on at once: fixed at the start, because the number of threads may change between
    /// two writes.
    pieces_per_batch: usize,
    pending: Vec<u8>,
}

impl PieceSplitter {
    pub(super) fn new(piece: usize) -> Self {
        let piece = piece.max(1);
        let for_each = 2 * MIN_THREAD_BYTES.div_ceil(piece);
        Self { piece, pieces_per_batch: piece.saturating_mul(for_each * threads()), pending: Vec::new() }
    }

    /// Takes `data`; hands full pieces to `flush`, several at a time, as soon as there are enough
    /// to keep every thread busy.
    pub(super) fn push_data(&mut self, mut data: &[u8], mut flush: impl FnMut(&[&[u8]]) -> Result<()>) -> Result<()> {
        let group = self.pieces_per_batch;
        while !data.is_empty() {
            if self.pending.is_empty() && data.len() >= group {
                let (now, later) = data.split_at(group);
                flush(&now.chunks(self.piece).collect::<Vec<_>>())?;
                data = later;
                continue;
            }
            let (now, later) = data.split_at(data.len().min(group - self.pending.len()));
            self.pending.extend_from_slice(now);
            data = later;
            if self.pending.len() == group {
                flush(&self.pending.chunks(self.piece).collect::<Vec<_>>())?;
                self.pending.clear();
            }
        }
        Ok(())
    }

    /// Hands over what is left, the last piece perhaps shorter than the others.
    pub(super) fn finish(&mut self, mut flush: impl FnMut(&[&[u8]]) -> Result<()>) -> Result<()> {
        let pending = std::mem::take(&mut self.pending);
        if pending.is_empty() { Ok(()) } else { flush(&pending.chunks(self.piece).collect::<Vec<_>>()) }
    }
}

/// Returns the length of a piece: at most `most` bytes, in whole rows if a row fits, else in whole items.
pub(super) fn piece_len(options: &EncodeOptions, most: u64) -> Result<usize> {
    let unit =
        [options.row_bytes.unwrap_or(0), options.item_size as u64].into_iter().find(|n| (1..=most).contains(n)).unwrap_or(1);
    crate::bytes::to_usize(most - most % unit)
}

/// Encodes every piece, in parallel, and writes the results in order.
pub(super) fn encode_each<J: Send>(
    jobs: Vec<J>,
    out: &mut dyn Write,
    encode: impl Fn(J) -> Result<Vec<u8>> + Sync,
) -> Result<()> {
    for bytes in map_parallel(jobs, encode)? {
        write_all(out, &bytes)?;
    }
    Ok(())
}

/// Writes encoded bytes.
pub(super) fn write_all(out: &mut dyn Write, bytes: &[u8]) -> Result<()> {
    out.write_all(bytes).map_err(|error| Error::io("writing an encoded block", error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::threads::set_threads;

    #[test]
    fn fewer_threads_between_two_writes_change_no_piece() {
        let data: Vec<u8> = (0..200_u8).collect();
        let mut taken = Vec::new();
        set_threads(Some(8));
        let mut pieces = PieceSplitter::new(7);
        let mut flush = |cut: &[&[u8]]| {
            taken.extend(cut.iter().map(|piece| piece.to_vec()));
            Ok(())
        };
        pieces.push_data(&data[..100], &mut flush).unwrap();
        set_threads(Some(1));
        pieces.push_data(&data[100..], &mut flush).unwrap();
        pieces.finish(&mut flush).unwrap();
        set_threads(None);
        assert_eq!(taken, data.chunks(7).map(<[u8]>::to_vec).collect::<Vec<_>>());
    }
}
