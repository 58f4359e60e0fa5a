//! Blocks that are one stream: to read byte n, everything before it is decoded.

use std::ops::Range;
use std::sync::{Mutex, OnceLock};

use super::stored_reader::{StoredReader, file_byte, whole_form};
use crate::bytes::{PieceDecoding, Source, SourceEncoding, SourceOrigin, SourceRef, stored_ranges, to_usize};
use crate::error::{Error, ErrorKind, Result};
use crate::interrupt;
use crate::limits::Limits;
use crate::threads::lock;

/// Bytes that are decoded before it is asked whether to go on.
const CANCEL_CHECK_BYTES: usize = 1 << 20;

/// The longest block that is decoded at once if somebody may give up: a tenth of a second.
const MAX_UNINTERRUPTED: u64 = 64 << 20;

/// A decoder in the middle of its work.
pub(super) trait PullDecoder: Send {
    /// Decodes the next bytes into the front of `into`; fewer than it holds only at the end, at
    /// which every checksum of the stream has been compared.
    fn decode_next(&mut self, into: &mut [u8]) -> Result<usize>;

    /// Returns the number of stored bytes that are used up.
    fn position(&self) -> u64;
}

/// The methods of a codec that works on streams.
pub(super) trait StreamCodec: Send + Sync {
    /// A decoder at the start of `stored`, which should decode to `len` bytes.
    fn open_stream(&self, stored: &SourceRef, len: u64, limits: &Limits) -> Result<Box<dyn PullDecoder>>;

    /// The word by which other programs know the codec, if they decode a whole stream of it.
    fn external_name(&self) -> Option<&'static str> {
        None
    }

    /// Decodes everything at once, if that is faster than by pieces; `None` if it is not. Nobody can stop it
    /// meanwhile.
    fn decode_all(&self, stored: &SourceRef, into: &mut [u8]) -> Option<Result<()>> {
        let _ = (stored, into);
        None
    }
}

/// A library's decoder, as [`EngineDecoder`] drives it.
pub(super) trait DecoderEngine: Send {
    /// Name of the decoded form, for messages.
    const NAME: &'static str;

    /// Decodes from `from` into `into`: how many bytes it took, how many it made, and whether the stream has ended.
    fn decode_step(&mut self, from: &[u8], into: &mut [u8]) -> (usize, usize, Result<bool>);

    /// Prepares for another stream after the end of one. Returns `true` if one begins at byte `at`.
    fn next_stream(&mut self, stored: &SourceRef, at: u64) -> Result<bool> {
        let _ = (stored, at);
        Ok(false)
    }
}

/// Streams decoded in order by one thread.
pub(super) struct EngineDecoder<E> {
    input: StoredReader,
    stored: SourceRef,
    engine: E,
    is_finished: bool,
}

impl<E: DecoderEngine> EngineDecoder<E> {
    /// Creates a decoder at the start of `stored`.
    pub(super) fn new(stored: SourceRef, engine: E) -> Self {
        Self { input: StoredReader::new(stored.clone()), stored, engine, is_finished: false }
    }

    fn error_at_position(&self, error: Error) -> Error {
        error.at_byte(file_byte(&self.stored, self.input.position()))
    }
}

impl<E: DecoderEngine> PullDecoder for EngineDecoder<E> {
    fn decode_next(&mut self, into: &mut [u8]) -> Result<usize> {
        let mut filled = 0;
        while !self.is_finished {
            let Some(rest) = into.get_mut(filled..).filter(|rest| !rest.is_empty()) else { break };
            let next = self.input.peek_bytes()?;
            let last = next.is_empty();
            let (taken, made, ended) = self.engine.decode_step(next, rest);
            self.input.skip(taken);
            filled += made;
            if ended.map_err(|error| self.error_at_position(error))? {
                self.is_finished = !self.engine.next_stream(&self.stored, self.input.position())?;
            } else if taken == 0 && made == 0 {
                let fate = if last { "is cut short" } else { "makes no progress" };
                return Err(self.error_at_position(Error::malformed(format!("the {} stream {fate}", E::NAME))));
            }
        }
        Ok(filled)
    }

    fn position(&self) -> u64 {
        self.input.position()
    }
}

/// A block that is one stream, as a source of its decoded bytes.
///
/// Reads that go forward share one running decoder, so that reading row after row decodes once and
/// holds nothing. The first read that goes back decodes the whole block and keeps it, or starts
/// again if [`Limits::memory`] does not let it be kept.
pub(super) struct StreamSource {
    codec: Box<dyn StreamCodec>,
    stored: SourceRef,
    len: u64,
    limits: Limits,
    running: Mutex<Option<RunningDecoder>>,
    decoded: OnceLock<Vec<u8>>,
}

struct RunningDecoder {
    decoder: Box<dyn PullDecoder>,
    /// Number of bytes that have come out.
    position: u64,
}

impl StreamSource {
    pub(super) fn new(opens: Box<dyn StreamCodec>, stored: SourceRef, len: u64, limits: &Limits) -> Self {
        Self { codec: opens, stored, len, limits: limits.clone(), running: Mutex::new(None), decoded: OnceLock::new() }
    }

    fn start_decoder(&self) -> Result<RunningDecoder> {
        Ok(RunningDecoder { decoder: self.codec.open_stream(&self.stored, self.len, &self.limits)?, position: 0 })
    }

    /// Decodes everything into `into`, which is as long as the block.
    fn decode_entire_block(&self, into: &mut [u8]) -> Result<()> {
        self.limits.charge_decoding(self.len)?;
        let at_once = self.len <= MAX_UNINTERRUPTED || !interrupt::is_cancellable();
        match at_once.then(|| self.codec.decode_all(&self.stored, into)).flatten() {
            Some(done) => done,
            None => self.decode_exact(&mut self.start_decoder()?, into),
        }
    }

    /// Decodes the next bytes until `into` is full; after the last of the block comes the check that it is.
    fn decode_exact(&self, running: &mut RunningDecoder, into: &mut [u8]) -> Result<()> {
        let mut filled = 0;
        while let Some(rest) = into.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            interrupt::check()?;
            let most = rest.len().min(CANCEL_CHECK_BYTES);
            match running.decoder.decode_next(rest.get_mut(..most).unwrap_or_default())? {
                0 => return Err(self.unexpected_end(running)),
                n => {
                    filled += n;
                    running.position += n as u64;
                }
            }
        }
        if running.position == self.len && running.decoder.decode_next(&mut [0])? > 0 {
            return Err(Error::malformed(format!("the block decodes to more than its {} bytes", self.len))
                .at_byte(file_byte(&self.stored, running.decoder.position())));
        }
        Ok(())
    }

    #[cold]
    fn unexpected_end(&self, running: &RunningDecoder) -> Error {
        Error::malformed(format!("the block decodes to {} bytes, expected {}", running.position, self.len))
            .at_byte(file_byte(&self.stored, running.decoder.position()))
    }

    /// Goes forward to `offset` and reads there.
    fn seek_forward(&self, running: &mut RunningDecoder, offset: u64, into: &mut [u8]) -> Result<()> {
        self.limits.charge_decoding((offset - running.position).saturating_add(into.len() as u64))?;
        let mut scratch = Vec::new();
        while running.position < offset {
            let step = (offset - running.position).min(256 << 10);
            scratch.resize(to_usize(step)?, 0);
            self.decode_exact(running, &mut scratch)?;
        }
        self.decode_exact(running, into)
    }

    /// Decodes the block once and keeps it, if the limits let it be kept.
    fn decode_and_cache(&self) -> Result<Option<&Vec<u8>>> {
        if self.limits.charge_memory(self.len, "keeping a decoded block").is_err() {
            return Ok(None);
        }
        let mut bytes = vec![0; to_usize(self.len)?];
        self.decode_entire_block(&mut bytes)?;
        Ok(Some(self.decoded.get_or_init(|| bytes)))
    }
}

impl PieceDecoding for StreamSource {
    fn stored_ranges(&self, range: Range<u64>) -> Result<Vec<Range<u64>>> {
        if range.is_empty() {
            return Ok(Vec::new());
        }
        stored_ranges(&*self.stored, 0..self.stored.len())
    }

    fn piece_len(&self, _range: Range<u64>) -> Result<Option<u64>> {
        Ok(Some(self.len))
    }

    fn encoding(&self) -> Result<SourceEncoding> {
        let word =
            self.codec.external_name().ok_or_else(|| Error::unsupported("no other program decodes its codec in pieces"))?;
        whole_form(word, &self.stored, self.len)
    }
}

impl Source for StreamSource {
    fn len(&self) -> u64 {
        self.len
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<()> {
        check_range(offset, into.len() as u64, self.len)?;
        if let Some(bytes) = self.view(offset, into.len() as u64) {
            into.copy_from_slice(bytes);
            return Ok(());
        }
        if into.len() as u64 == self.len {
            return self.decode_entire_block(into);
        }
        let mut slot = lock(&self.running);
        let mut running = match slot.take() {
            Some(running) if running.position <= offset => running,
            None => self.start_decoder()?,
            Some(_) => match self.decode_and_cache() {
                Ok(Some(bytes)) => {
                    drop(slot);
                    return copy_out(bytes, offset, into);
                }
                // If the block is cut short, the bytes before the cut can still be read any number of times.
                Err(error) if error.kind() != ErrorKind::Malformed => return Err(error),
                Ok(None) | Err(_) => self.start_decoder()?,
            },
        };
        // After an error the decoder is dropped: the next read meets the same error from the start.
        self.seek_forward(&mut running, offset, into)?;
        *slot = Some(running);
        Ok(())
    }

    fn view(&self, offset: u64, len: u64) -> Option<&[u8]> {
        let start = usize::try_from(offset).ok()?;
        self.decoded.get()?.get(start..start.checked_add(usize::try_from(len).ok()?)?)
    }

    fn prefetch(&self, ranges: &[Range<u64>]) -> Result<()> {
        // A read needs everything before its last byte, and the number of stored bytes for that is unknown.
        if ranges.iter().any(|range| !range.is_empty()) && self.decoded.get().is_none() {
            return self.stored.prefetch(std::slice::from_ref(&(0..self.stored.len())));
        }
        Ok(())
    }

    fn origin(&self) -> Option<SourceOrigin<'_>> {
        Some(SourceOrigin::Made(&*self.stored))
    }

    fn pieces(&self) -> Option<&dyn PieceDecoding> {
        Some(self)
    }
}

fn copy_out(bytes: &[u8], offset: u64, into: &mut [u8]) -> Result<()> {
    let start = to_usize(offset)?;
    let found = start.checked_add(into.len()).and_then(|end| bytes.get(start..end));
    into.copy_from_slice(found.ok_or_else(|| out_of_range(offset, into.len() as u64, bytes.len() as u64))?);
    Ok(())
}

/// Refuses a range that goes past the end of the decoded block.
pub(super) fn check_range(offset: u64, len: u64, size: u64) -> Result<()> {
    match offset.checked_add(len) {
        Some(end) if end <= size => Ok(()),
        _ => Err(out_of_range(offset, len, size)),
    }
}

#[cold]
fn out_of_range(offset: u64, len: u64, size: u64) -> Error {
    Error::malformed(format!("the block decodes to {size} bytes, but {len} bytes are expected from its byte {offset} on"))
}
