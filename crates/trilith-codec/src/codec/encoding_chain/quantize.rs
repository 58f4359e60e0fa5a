//! `quantize`: floats as scaled integers of any number of bits, lossy.
//!
//! ASDF 0.1.0, *Built-in array-to-binary encodings*. The standard defines the stored form and decoding: chunks of
//! `encoded_bits` (u8), `offset` (f64), `scale` (f64), `nvalues` (u64), all big-endian, then the values in two's
//! complement, packed without gaps, highest bit first, filled up to the byte with zeros; `decoded = encoded * scale
//! + offset`, computed here in double precision, then rounded to the array's. No other program ever implemented it.
//!
//! The choice of the numbers is up to the writer. Here it is that of CFITSIO: the scale is the noise divided by
//! `quality`, the noise estimated by the median absolute third-order difference (F. Stoehr et al. 2007, *DER_SNR*,
//! ST-ECF Newsletter 42), which sources and gradients hardly touch. So the error is at most half a scale (a whole
//! scale with dithering) plus the rounding of the float itself.

use std::borrow::Cow;
use std::io::Write;
use std::ops::Range;
use std::sync::OnceLock;

use super::super::bit_io::BitWriter;
use super::super::parallel_encode::{PieceSplitter, encode_each};
use super::super::stored_reader::file_byte;
use super::super::stream::check_range;
use super::super::{Encoder, check_total};
use super::read_items;
use crate::bytes::{Cursor, PieceDecoding, Source, SourceOrigin, SourceRef, read_vec, stored_ranges, to_usize};
use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::threads::map_parallel;

/// Bytes before the values of a chunk.
const HEADER_LEN: u64 = 25;
/// Values unpacked at once: a multiple of 8, so that they begin at a byte.
const UNPACK_VALUES: u64 = 1 << 16;

/// The floats of an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FloatFormat {
    /// Bytes: 4 or 8.
    pub(super) width: usize,
    pub(super) big_endian: bool,
}

impl FloatFormat {
    /// Creates the float type for the argument `dtype`, which counts bits.
    pub(super) fn new(bits: u64, big_endian: bool) -> Result<Self> {
        match bits {
            32 | 64 => Ok(Self { width: bits as usize / 8, big_endian }),
            _ => Err(Error::malformed(format!("quantize: dtype {bits}, expected 32 or 64"))),
        }
    }

    fn store_float(self, value: f64, into: &mut [u8]) {
        match (self.width, into) {
            (4, into) => {
                let bits = (value as f32).to_bits();
                if let Some(to) = into.first_chunk_mut::<4>() {
                    *to = if self.big_endian { bits.to_be_bytes() } else { bits.to_le_bytes() };
                }
            }
            (_, into) => {
                let bits = value.to_bits();
                if let Some(to) = into.first_chunk_mut::<8>() {
                    *to = if self.big_endian { bits.to_be_bytes() } else { bits.to_le_bytes() };
                }
            }
        }
    }

    fn to_f64s(self, bytes: &[u8]) -> Vec<f64> {
        if self.width == 4 {
            let make = if self.big_endian { f32::from_be_bytes } else { f32::from_le_bytes };
            bytes.as_chunks::<4>().0.iter().map(|bytes| f64::from(make(*bytes))).collect()
        } else {
            let make = if self.big_endian { f64::from_be_bytes } else { f64::from_le_bytes };
            bytes.as_chunks::<8>().0.iter().map(|bytes| make(*bytes)).collect()
        }
    }
}

/// A chunk, as its header describes it.
#[derive(Debug, Clone, Copy)]
struct QuantizedChunk {
    bits: u32,
    offset: f64,
    scale: f64,
    /// Index of its first value, counted over all chunks, and the number of its values.
    values: (u64, u64),
    /// The start of its packed values in the stored bytes.
    at: u64,
}

/// Quantised values as a source of floats; a slice unpacks only what it needs.
pub(super) struct QuantizedSource {
    float: FloatFormat,
    stored: SourceRef,
    len: u64,
    limits: Limits,
    chunks: OnceLock<Vec<QuantizedChunk>>,
}

/// The error for a length that no number of floats has.
#[cold]
pub(super) fn no_floats(len: u64, float: FloatFormat) -> Error {
    Error::malformed(format!("quantize: {len} bytes are not a whole number of floats of {} bytes", float.width))
}

impl QuantizedSource {
    /// Floats of `len` bytes in all.
    pub(super) fn new(float: FloatFormat, stored: SourceRef, len: u64, limits: &Limits) -> Result<Self> {
        if !len.is_multiple_of(float.width as u64) {
            return Err(no_floats(len, float));
        }
        Ok(Self { float, stored, len, limits: limits.clone(), chunks: OnceLock::new() })
    }

    /// The chunks, found by hopping over them.
    fn load_chunk_table(&self) -> Result<&[QuantizedChunk]> {
        if let Some(chunks) = self.chunks.get() {
            return Ok(chunks);
        }
        let expected = self.len / self.float.width as u64;
        let (mut chunks, mut at, mut values) = (Vec::new(), 0, 0u64);
        while at < self.stored.len() {
            let place = file_byte(&self.stored, at);
            let fail = |message: String| Error::malformed(format!("quantize: {message}")).at_byte(place);
            let head = read_vec(&*self.stored, at, HEADER_LEN.min(self.stored.len() - at), &self.limits)?;
            let mut cursor = Cursor::new(&head, place);
            let bits = u32::from(cursor.u8()?);
            let (offset, scale, count) = (cursor.f64()?, cursor.f64()?, cursor.u64()?);
            if bits > 64 {
                return Err(fail(format!("values of {bits} bits, expected 0 to 64")));
            }
            if count > expected - values {
                return Err(fail(format!("a chunk of {count} values, but {} are left", expected - values)));
            }
            at += HEADER_LEN;
            let bytes = (u128::from(count) * u128::from(bits)).div_ceil(8);
            if bytes > u128::from(self.stored.len() - at) {
                return Err(fail(format!("{bytes} bytes of values, but {} are left", self.stored.len() - at)));
            }
            self.limits.charge_memory(48 * (chunks.len() as u64 + 1), "the table of quantized chunks")?;
            chunks.push(QuantizedChunk { bits, offset, scale, values: (values, count), at });
            values += count;
            at += bytes as u64;
        }
        if values != expected {
            return Err(Error::malformed(format!("quantize: {values} values, expected {expected}"))
                .at_byte(file_byte(&self.stored, self.stored.len())));
        }
        Ok(self.chunks.get_or_init(|| chunks))
    }

    /// The chunks that hold these values, with the part of each.
    fn chunk_parts(&self, range: &Range<u64>) -> Result<impl Iterator<Item = (QuantizedChunk, Range<u64>)>> {
        let chunks = self.load_chunk_table()?;
        let from = chunks.partition_point(|chunk| chunk.values.0 + chunk.values.1 <= range.start);
        let range = range.clone();
        let wanted = chunks.get(from..).unwrap_or(&[]).iter().take_while(move |chunk| chunk.values.0 < range.end);
        let (start, end) = (range.start, range.end);
        Ok(wanted.map(move |chunk| {
            let (first, count) = chunk.values;
            (*chunk, start.max(first) - first..end.min(first + count) - first)
        }))
    }

    /// Reads whole values.
    fn read_values(&self, range: &Range<u64>, into: &mut [u8]) -> Result<()> {
        let mut jobs = Vec::new();
        let mut rest = into;
        for (chunk, part) in self.chunk_parts(range)? {
            let mut from = part.start;
            while from < part.end {
                // Runs begin at multiples of 8 values, which are whole bytes.
                let to = (from / UNPACK_VALUES * UNPACK_VALUES + UNPACK_VALUES).min(part.end);
                let (now, later) = rest.split_at_mut(to_usize(to - from)? * self.float.width);
                rest = later;
                jobs.push((chunk, from..to, now));
                from = to;
            }
        }
        let work = |(chunk, part, into): (QuantizedChunk, Range<u64>, &mut [u8])| self.dequantize_part(&chunk, &part, into);
        if jobs.len() > 1 {
            map_parallel(jobs, work)?;
            return Ok(());
        }
        jobs.into_iter().try_for_each(work)
    }

    fn dequantize_part(&self, chunk: &QuantizedChunk, part: &Range<u64>, into: &mut [u8]) -> Result<()> {
        let (start, len) = packed_extent(chunk, part);
        let bytes = match self.stored.view(start, len) {
            Some(bytes) => Cow::Borrowed(bytes),
            None => Cow::Owned(read_vec(&*self.stored, start, len, &self.limits)?),
        };
        let skip = ((part.start % 8) * u64::from(chunk.bits)) as u32;
        let mut reader = SignedBits::new(&bytes, skip, chunk.bits);
        for to in into.chunks_exact_mut(self.float.width) {
            self.float.store_float(reader.next_value() as f64 * chunk.scale + chunk.offset, to);
        }
        Ok(())
    }
}

/// Returns the start of the packed values of a part, at a whole byte, and their number of bytes.
fn packed_extent(chunk: &QuantizedChunk, part: &Range<u64>) -> (u64, u64) {
    let bits = u128::from(chunk.bits);
    let start = u128::from(part.start / 8 * 8) * bits / 8;
    let end = (u128::from(part.end) * bits).div_ceil(8);
    (chunk.at.saturating_add(start as u64), (end - start) as u64)
}

/// Reads packed integers one after the other.
struct SignedBits<'a> {
    bytes: std::slice::Iter<'a, u8>,
    pending_bits: u128,
    count: u32,
    bits: u32,
}

impl<'a> SignedBits<'a> {
    /// Integers of `bits` bits after the first `skip` bits.
    fn new(bytes: &'a [u8], skip: u32, bits: u32) -> Self {
        let mut reader = Self { bytes: bytes.get(skip as usize / 8..).unwrap_or(&[]).iter(), pending_bits: 0, count: 0, bits };
        reader.fill_bits(skip % 8);
        reader.count -= skip % 8;
        reader
    }

    fn fill_bits(&mut self, bits: u32) {
        while self.count < bits {
            self.pending_bits = self.pending_bits << 8 | u128::from(self.bytes.next().copied().unwrap_or(0));
            self.count += 8;
        }
    }

    fn next_value(&mut self) -> i64 {
        // In a chunk of 0 bits every value is the offset.
        if self.bits == 0 {
            return 0;
        }
        self.fill_bits(self.bits);
        self.count -= self.bits;
        let raw = (self.pending_bits >> self.count) as u64;
        (raw << (64 - self.bits)) as i64 >> (64 - self.bits)
    }
}

impl PieceDecoding for QuantizedSource {
    fn stored_ranges(&self, range: Range<u64>) -> Result<Vec<Range<u64>>> {
        check_range(range.start, range.end.saturating_sub(range.start), self.len)?;
        let width = self.float.width as u64;
        let mut all = Vec::new();
        if !range.is_empty() {
            for (chunk, part) in self.chunk_parts(&(range.start / width..range.end.div_ceil(width)))? {
                let (start, len) = packed_extent(&chunk, &part);
                all.extend(stored_ranges(&*self.stored, start..start + len)?);
            }
        }
        Ok(all)
    }
}

impl Source for QuantizedSource {
    fn len(&self) -> u64 {
        self.len
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<()> {
        check_range(offset, into.len() as u64, self.len)?;
        let (doing, width) = ("unpacking quantized values", self.float.width as u64);
        read_items(&self.limits, doing, width, offset, into, |values, into| self.read_values(values, into))
    }

    fn origin(&self) -> Option<SourceOrigin<'_>> {
        Some(SourceOrigin::Made(&*self.stored))
    }

    fn pieces(&self) -> Option<&dyn PieceDecoding> {
        Some(self)
    }
}

/// Parameters of quantising.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct QuantizePlan {
    pub(super) float: FloatFormat,
    /// Steps for each standard deviation of the noise.
    pub(super) quality: f64,
    /// Rounds at random, up or down by how near, so that means stay true.
    pub(super) dither: bool,
}

/// Returns, for a tile by its number, the values that belong to the array, as runs in the tile's order.
pub(super) type TileRuns = Box<dyn Fn(u64) -> Vec<Range<u64>> + Send + Sync>;

/// Writes chunks.
pub(super) struct QuantizeEncoder {
    plan: QuantizePlan,
    /// The values that are not padding; None if all are.
    inside: Option<TileRuns>,
    pieces: PieceSplitter,
    total: u64,
    written: u64,
    /// Number of finished pieces: the seed of the dithering.
    values_written: u64,
}

impl QuantizeEncoder {
    /// Returns a writer of `total` bytes of floats, with a separate scale for every `chunk` values.
    pub(super) fn new(plan: QuantizePlan, chunk: u64, total: u64, inside: Option<TileRuns>) -> Result<Self> {
        if !(plan.quality.is_finite() && plan.quality > 0.0) {
            return Err(Error::invalid_input(format!("quantize: quality {}, expected a number above 0", plan.quality)));
        }
        let piece = to_usize(chunk.max(1).saturating_mul(plan.float.width as u64))?;
        Ok(Self { plan, inside, pieces: PieceSplitter::new(piece), total, written: 0, values_written: 0 })
    }

    fn encode_pieces(
        plan: QuantizePlan,
        inside: Option<&TileRuns>,
        done: &mut u64,
        pieces: &[&[u8]],
        out: &mut dyn Write,
    ) -> Result<()> {
        let jobs = pieces.iter().zip(*done..).map(|(piece, number)| (*piece, number)).collect();
        *done += pieces.len() as u64;
        encode_each(jobs, out, |(piece, number)| {
            let mut values = plan.float.to_f64s(piece);
            let runs = inside.map_or_else(Vec::new, |inside| inside(number));
            let real = fill_padding(&mut values, &runs);
            Ok(encode_chunks(&plan, &values, real.as_deref(), number))
        })
    }
}

impl Encoder for QuantizeEncoder {
    fn write(&mut self, data: &[u8], out: &mut dyn Write) -> Result<()> {
        self.written += data.len() as u64;
        let (plan, inside, done) = (self.plan, self.inside.as_ref(), &mut self.values_written);
        self.pieces.push_data(data, |pieces| Self::encode_pieces(plan, inside, done, pieces, out))
    }

    fn finish(&mut self, out: &mut dyn Write) -> Result<()> {
        check_total(Some(self.total), self.written)?;
        let (plan, inside, done) = (self.plan, self.inside.as_ref(), &mut self.values_written);
        self.pieces.finish(|pieces| Self::encode_pieces(plan, inside, done, pieces, out))
    }
}

/// The noise of values in their order: 1.4826 / √6 times the median of |2b − a − c| over values two
/// apart, which is the standard deviation if they are normally distributed around something smooth.
pub(super) fn noise_sigma(values: &[f64]) -> f64 {
    let mut differences: Vec<f64> = values
        .windows(5)
        .filter_map(|v| match v {
            [a, _, b, _, c] => Some((2.0 * b - a - c).abs()),
            _ => None,
        })
        .filter(|d| d.is_finite())
        .collect();
    if differences.is_empty() {
        return 0.0;
    }
    let middle = differences.len() / 2;
    let (_, median, _) = differences.select_nth_unstable_by(middle, f64::total_cmp);
    0.605_269_7 * *median
}

/// Gives the padding of a tile values that cost nothing, each that of the one before it, and returns the others;
/// None if there is no padding.
fn fill_padding(values: &mut [f64], runs: &[Range<u64>]) -> Option<Vec<f64>> {
    let mut real = Vec::new();
    for run in runs {
        real.extend_from_slice(values.get(run.start as usize..run.end as usize).unwrap_or(&[]));
    }
    if runs.is_empty() || real.len() == values.len() {
        return None;
    }
    let mut last = real.first().copied().unwrap_or(0.0);
    let mut at = 0;
    for run in runs.iter().map(|run| run.start as usize..run.end as usize).chain([values.len()..values.len()]) {
        values.get_mut(at..run.start).unwrap_or(&mut []).fill(last);
        last = run.end.checked_sub(1).and_then(|end| values.get(end)).copied().unwrap_or(last);
        at = run.end;
    }
    Some(real)
}

/// One piece of an array as chunks: a run of finite values shares its scale with all others of the
/// piece; runs of NaN and of each infinity are chunks of one bit with scale 0. Noise and range are those of `real`,
/// if some values are padding.
fn encode_chunks(plan: &QuantizePlan, values: &[f64], real: Option<&[f64]>, seed: u64) -> Vec<u8> {
    let finite: Vec<f64> = real.unwrap_or(values).iter().copied().filter(|v| v.is_finite()).collect();
    let least = finite.iter().copied().fold(f64::INFINITY, f64::min);
    let most = finite.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let middle = least / 2.0 + most / 2.0;
    let half = most / 2.0 - least / 2.0;
    // Without noise to go by: 32 bits. Never finer than what a double holds of the range.
    let noise = noise_sigma(&finite);
    let scale = if noise > 0.0 { noise / plan.quality } else { half / f64::from(1u32 << 31) };
    let scale = scale.max(half / (1u64 << 52) as f64);
    let mut random = SplitMix64(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5bd1_e995);
    let mut out = Vec::new();
    let same = |a: f64, b: f64| a.is_finite() && b.is_finite() || a.is_nan() && b.is_nan() || a == b;
    for run in values.chunk_by(|a, b| same(*a, *b)) {
        let first = run.first().copied().unwrap_or(0.0);
        if !first.is_finite() || half == 0.0 || scale == 0.0 {
            let offset = if first.is_finite() { middle } else { first };
            push_chunk_header(&mut out, 1, offset, 0.0, run.len());
            out.resize(out.len() + run.len().div_ceil(8), 0);
            continue;
        }
        let steps: Vec<i64> = run
            .iter()
            .map(|value| {
                let step = (value - middle) / scale;
                if plan.dither { (step + random.next_uniform()).floor() as i64 } else { step.round_ties_even() as i64 }
            })
            .collect();
        let bits = steps.iter().map(|step| 65 - (step ^ step >> 63).leading_zeros()).max().unwrap_or(1);
        push_chunk_header(&mut out, bits as u8, middle, scale, run.len());
        let mut writer = BitWriter::default();
        for step in steps {
            writer.write_bits(step as u64 & (u64::MAX >> (64 - bits)), bits);
        }
        out.extend_from_slice(&writer.into_bytes());
    }
    out
}

fn push_chunk_header(out: &mut Vec<u8>, bits: u8, offset: f64, scale: f64, values: usize) {
    out.push(bits);
    out.extend_from_slice(&offset.to_be_bytes());
    out.extend_from_slice(&scale.to_be_bytes());
    out.extend_from_slice(&(values as u64).to_be_bytes());
}

/// Uniform numbers in 0..1 that are the same every time (SplitMix64).
struct SplitMix64(u64);

impl SplitMix64 {
    fn next_uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ z >> 31) >> 11) as f64 / (1u64 << 53) as f64
    }
}
