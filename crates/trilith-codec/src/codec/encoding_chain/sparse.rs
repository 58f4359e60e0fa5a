//! `sparse`: only the bytes that are not zero, of the branch that never became ASDF (2015-01-05).
//!
//! A `u64` big-endian with the decoded length; then for every byte that is not zero a `u64` with its
//! position times 256 plus its value; then all ones. No document describes it, only the code did.

use std::io::Write;

use super::super::parallel_encode::write_all;
use super::super::stored_reader::file_byte;
use super::super::{Encoder, check_total};
use crate::bytes::{SourceRef, to_usize};
use crate::error::{Error, Result};
use crate::limits::Limits;

/// End of the list.
const END_OF_LIST: u64 = u64::MAX;

/// The decoded length, which is first.
pub(super) fn decoded_len(stored: &SourceRef) -> Result<u64> {
    let mut head = [0; 8];
    if stored.len() < 8 {
        return Err(truncated_error(stored, 0));
    }
    stored.read_at(0, &mut head)?;
    Ok(u64::from_be_bytes(head))
}

fn truncated_error(stored: &SourceRef, at: u64) -> Error {
    Error::malformed(format!("the sparse data is cut short after {} bytes", stored.len())).at_byte(file_byte(stored, at))
}

/// Decodes all of it.
pub(super) fn decode(stored: &SourceRef, limits: &Limits) -> Result<Vec<u8>> {
    let len = decoded_len(stored)?;
    limits.charge_memory(len, "decoding sparse data")?;
    // Zeros cost nothing here, so the ratio that holds for all codecs is the guard.
    if len > stored.len().saturating_mul(limits.ratio) {
        let what = format!("{} stored bytes claim to decode to {len} bytes with sparse", stored.len());
        return Err(Limits::exceeded_error("ratio", limits.ratio, what).at_byte(file_byte(stored, 0)));
    }
    limits.charge_decoding(len)?;
    let mut out = vec![0; to_usize(len)?];
    let mut piece = vec![0; 64 << 10];
    let mut at = 8;
    loop {
        let take = (stored.len() - at).min(piece.len() as u64) as usize & !7;
        let Some(bytes) = piece.get_mut(..take).filter(|bytes| !bytes.is_empty()) else {
            return Err(truncated_error(stored, at));
        };
        stored.read_at(at, bytes)?;
        for word in bytes.as_chunks::<8>().0 {
            let word = u64::from_be_bytes(*word);
            if word == END_OF_LIST {
                return Ok(out);
            }
            let byte = usize::try_from(word >> 8).ok().and_then(|place| out.get_mut(place)).ok_or_else(|| {
                let found = format!("sparse data names byte {}, but there are {len}", word >> 8);
                Error::malformed(found).at_byte(file_byte(stored, at))
            })?;
            *byte = word as u8;
            at += 8;
        }
    }
}

/// Writes the bytes that are not zero.
pub(super) struct SparseEncoder {
    total: u64,
    at: u64,
    begun: bool,
}

impl SparseEncoder {
    /// A writer of `total` bytes.
    pub(super) fn new(total: u64) -> Self {
        Self { total, at: 0, begun: false }
    }

    fn write_decoded_len(&mut self, out: &mut dyn Write) -> Result<()> {
        if self.begun {
            return Ok(());
        }
        self.begun = true;
        write_all(out, &self.total.to_be_bytes())
    }
}

impl Encoder for SparseEncoder {
    fn write(&mut self, data: &[u8], out: &mut dyn Write) -> Result<()> {
        self.write_decoded_len(out)?;
        let mut words = Vec::new();
        for part in data.chunks(64 << 10) {
            words.clear();
            for byte in part {
                if *byte != 0 {
                    words.extend_from_slice(&(self.at << 8 | u64::from(*byte)).to_be_bytes());
                }
                self.at += 1;
            }
            write_all(out, &words)?;
        }
        Ok(())
    }

    fn finish(&mut self, out: &mut dyn Write) -> Result<()> {
        self.write_decoded_len(out)?;
        check_total(Some(self.total), self.at)?;
        write_all(out, &END_OF_LIST.to_be_bytes())
    }
}
