//! Encoding chains: how ASDF 0.1.0 stored blocks between 2014 and 2015, before it had codecs.
//!
//! A block whose flag ENCODED is set begins with a list of steps as YAML, applied in this order to
//! encode and backwards to decode (ASDF 0.1.0, *Block encoding*); before that, the branch named them
//! by letters in the block header. Reading the YAML is done elsewhere; here are the steps.
//!
//! Array steps ([`ChainStep::Tile`]) come before the one that makes bytes of an array
//! ([`ChainStep::Quantize`], or nothing: the elements in C order), and that before steps on bytes
//! ([`ChainStep::Zlib`], [`ChainStep::Sparse`]).

mod quantize;
mod sparse;
mod tile;

use std::io::Write;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use super::{CodecId, EncodeOptions, Encoder, stored_reader, stream};
use crate::byteorder::Byteorder;
use crate::bytes::{MemorySource, PieceDecoding, Source, SourceOrigin, SourceRef, stored_ranges, to_usize};
use crate::error::{Error, ErrorKind, Result};
use crate::limits::Limits;

/// Steps of quality if none is given: a fourth of the noise is one step.
const DEFAULT_QUALITY: f64 = 4.0;
/// Values that share one scale if there are no tiles.
const VALUES_PER_SCALE: u64 = 1 << 20;

/// One step of an encoding chain, with the arguments that are in the file.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ChainStep {
    /// The elements of the array rearranged into tiles.
    Tile {
        /// Elements of one tile along each axis.
        shape: Vec<u64>,
        /// Elements of the array along each axis; taken from the ndarray if it is not given.
        original_shape: Option<Vec<u64>>,
        /// Bytes of one element; taken from the ndarray if it is not given.
        item_size: Option<u64>,
    },
    /// Floats as scaled integers; lossy.
    Quantize {
        /// Bits of a float, 32 or 64 (the argument `dtype`); taken from the ndarray if not given.
        bits: Option<u64>,
        /// The shape of the array; nothing depends on it.
        original_shape: Option<Vec<u64>>,
        /// Number of quantization steps for each standard deviation of the noise, 4 unless given; for the writer only.
        quality: Option<f64>,
        /// `true` if the writer rounds at random, which preserves means.
        dither: bool,
    },
    /// Compression into one zlib stream.
    Zlib,
    /// Storage of only the bytes that are not zero, with their positions.
    Sparse,
    /// A step of another program.
    Unknown(String),
}

impl ChainStep {
    /// The step that a letter of the branch of 2015-01-05 names: `z` or `s`.
    ///
    /// ```
    /// use trilith_codec::codec::encoding_chain::ChainStep;
    /// assert_eq!(ChainStep::from_code(b'z'), ChainStep::Zlib);
    /// assert_eq!(ChainStep::from_code(b'q'), ChainStep::Unknown("q".into()));
    /// ```
    pub fn from_code(code: u8) -> Self {
        match code {
            b'z' => Self::Zlib,
            b's' => Self::Sparse,
            other => Self::Unknown([other].escape_ascii().to_string()),
        }
    }

    /// Returns the name of the step in a file.
    pub fn name(&self) -> &str {
        match self {
            Self::Tile { .. } => "tile",
            Self::Quantize { .. } => "quantize",
            Self::Zlib => "zlib",
            Self::Sparse => "sparse",
            Self::Unknown(name) => name,
        }
    }

    /// Returns `true` if it works on an array: it must come before the encodings of bytes.
    fn of_array(&self) -> bool {
        matches!(self, Self::Tile { .. } | Self::Quantize { .. })
    }
}

/// The array in a block, as its ndarray describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockArray {
    /// Elements along each axis.
    pub shape: Vec<u64>,
    /// Bytes of one element.
    pub item_size: u64,
    /// `true` if the first byte of an element is its highest.
    pub big_endian: bool,
}

impl BlockArray {
    /// The byte order of its elements.
    pub fn byteorder(&self) -> Byteorder {
        if self.big_endian { Byteorder::Big } else { Byteorder::Little }
    }
}

/// Checks the order of the steps: array steps before binary ones.
///
/// # Errors
/// Returns [`ErrorKind::Malformed`] for a wrong order, [`ErrorKind::Unsupported`] for a step that this library does
/// not know, by its name: the tree and other blocks of the file stay usable.
///
/// ```
/// use trilith_codec::codec::encoding_chain::{ChainStep, check};
/// assert!(check(&[ChainStep::Sparse, ChainStep::Zlib]).is_ok());
/// let error = check(&[ChainStep::Unknown("rice".into())]).unwrap_err();
/// assert_eq!(error.message(), "unknown encoding \"rice\"");
/// ```
pub fn check(steps: &[ChainStep]) -> Result<()> {
    for step in steps {
        if let ChainStep::Unknown(name) = step {
            return Err(
                Error::unknown("encoding", name, ["tile", "quantize", "zlib", "sparse"]).with_kind(ErrorKind::Unsupported)
            );
        }
    }
    let mut bytes_by: Option<&ChainStep> = None;
    for step in steps {
        match bytes_by {
            Some(before) if step.of_array() => {
                let found = format!("{} works on an array, but comes after {}, which makes bytes", step.name(), before.name());
                return Err(Error::malformed(found).context("checking the encoding chain"));
            }
            Some(_) if *step == ChainStep::Sparse => {
                return Err(Error::malformed("sparse is not the first step").context("checking the encoding chain"));
            }
            _ if matches!(step, ChainStep::Tile { .. }) => {}
            _ => bytes_by = Some(step),
        }
    }
    Ok(())
}

/// The steps with every argument that the document requires, taken from the array if it is not
/// given: what a writer puts into the file.
///
/// # Errors
/// Returns the errors of [`check`], and [`ErrorKind::Malformed`] for arguments that contradict each other.
pub fn with_defaults(steps: &[ChainStep], array: &BlockArray) -> Result<Vec<ChainStep>> {
    check(steps)?;
    let mut all = steps.to_vec();
    for step in &mut all {
        match step {
            ChainStep::Tile { original_shape, item_size, .. } => {
                original_shape.get_or_insert_with(|| array.shape.clone());
                item_size.get_or_insert(array.item_size);
            }
            ChainStep::Quantize { bits, original_shape, quality, .. } => {
                bits.get_or_insert(array.item_size.saturating_mul(8));
                original_shape.get_or_insert_with(|| array.shape.clone());
                quality.get_or_insert(DEFAULT_QUALITY);
            }
            _ => {}
        }
    }
    Ok(all)
}

/// The decoded bytes of a block with an encoding chain, as a source.
///
/// `stored` is what follows the YAML. With `memory_size` given nothing is decoded before the source
/// is read, and a chain of tiles alone reads only the tiles of a slice. The branch of 2015-01-05
/// stored no such size: without it, the block is decoded here. `array` fills arguments that do not
/// are in the file; quantized floats are in the byte order `order`.
///
/// # Errors
/// Returns the errors of [`check`], [`ErrorKind::Malformed`] for arguments that are
/// missing or do not fit the sizes, and [`ErrorKind::Limit`] if the limits do not allow
/// the sizes. Reading the source returns the errors that it returns for [`decoder`](super::decoder).
///
/// ```
/// use std::sync::Arc;
/// use trilith_io::bytes::MemorySource;
/// use trilith_codec::codec::encoding_chain::{BlockArray, ChainStep, decoder};
/// use trilith_codec::Limits;
///
/// // Two tiles of 2 by 2 bytes make an array of 2 by 4.
/// let steps = [ChainStep::Tile { shape: vec![2, 2], original_shape: None, item_size: None }];
/// let array = BlockArray { shape: vec![2, 4], item_size: 1, big_endian: false };
/// let order = trilith_io::Byteorder::Little;
/// let stored = Arc::new(MemorySource::new(b"abefcdgh".to_vec(), "memory"));
/// let source = decoder(&steps, stored, Some(8), Some(&array), order, &Limits::default())?;
/// let mut row = [0; 4];
/// source.read_at(4, &mut row)?;
/// assert_eq!(&row, b"efgh");
/// # Ok::<(), trilith_codec::Error>(())
/// ```
pub fn decoder(
    steps: &[ChainStep],
    stored: SourceRef,
    memory_size: Option<u64>,
    array: Option<&BlockArray>,
    order: Byteorder,
    limits: &Limits,
) -> Result<SourceRef> {
    check(steps)?;
    let plan = plan_steps(steps, memory_size, array, order)?;
    let mut data = StepInput::Known(stored);
    for (step, len) in plan.into_iter().rev() {
        data = data.decode_step(step, len, limits)?;
    }
    let source = data.into_source()?;
    match memory_size {
        Some(len) if len != source.len() => {
            Err(Error::malformed(format!("the encoding chain decodes to {} bytes, expected {len}", source.len()))
                .at_byte(stored_reader::file_byte(&source, 0)))
        }
        _ => Ok(source),
    }
}

/// A step with its arguments checked.
enum CheckedStep {
    Tile(tile::TileGrid),
    Quantize(quantize::FloatFormat),
    Zlib,
    Sparse,
}

/// Checks the arguments of each step. Returns each step with the number of bytes that it decodes to, if that can be known.
fn plan_steps(
    steps: &[ChainStep],
    memory_size: Option<u64>,
    array: Option<&BlockArray>,
    order: Byteorder,
) -> Result<Vec<(CheckedStep, Option<u64>)>> {
    let (first, mut len) = (memory_size, memory_size);
    let mut plan = Vec::with_capacity(steps.len());
    let missing = |step: &str, what: &str| {
        Error::malformed(format!("{step}: the argument {what} is missing, and there is no ndarray to take it from"))
    };
    for step in steps {
        let (ready, inner) = match step {
            ChainStep::Tile { shape, original_shape, item_size } => {
                let original = original_shape.as_ref().or(array.map(|a| &a.shape));
                let original = original.ok_or_else(|| missing("tile", "original_shape"))?;
                let item = item_size.or(array.map(|a| a.item_size)).ok_or_else(|| missing("tile", "item_size"))?;
                let grid = tile::TileGrid::new(shape, original, item)?;
                if let Some(len) = len.filter(|len| *len != grid.bytes) {
                    let found = format!("tile: an array of shape {original:?} has {} bytes, the block {len}", grid.bytes);
                    return Err(Error::malformed(found));
                }
                len = Some(grid.bytes);
                let tiled = grid.tiled;
                (CheckedStep::Tile(grid), Some(tiled))
            }
            ChainStep::Quantize { bits, original_shape, .. } => {
                let of_array = array.map(|a| a.item_size.saturating_mul(8));
                let bits = bits.or(of_array).ok_or_else(|| missing("quantize", "dtype"))?;
                if let Some(other) = of_array.filter(|other| *other != bits) {
                    let found = format!("quantize: dtype {bits}, but the elements of the array have {other} bits");
                    return Err(Error::malformed(found));
                }
                let float = quantize::FloatFormat::new(bits, order == Byteorder::Big)?;
                if let Some(len) = len.filter(|len| !len.is_multiple_of(float.width as u64)) {
                    return Err(quantize::no_floats(len, float));
                }
                if let (Some(shape), Some(first)) = (original_shape, first) {
                    let values = shape.iter().try_fold(1u64, |all, n| all.checked_mul(*n));
                    let is = |len: u64| values.and_then(|values| values.checked_mul(float.width as u64)) == Some(len);
                    // The shape may be that of the array in the block, or that of its tiled form.
                    if !is(first) && !len.is_some_and(is) {
                        let found = format!("quantize: original_shape {shape:?}, but the block has {first} bytes of floats");
                        return Err(Error::malformed(found));
                    }
                }
                (CheckedStep::Quantize(float), None)
            }
            ChainStep::Zlib => (CheckedStep::Zlib, None),
            ChainStep::Sparse => (CheckedStep::Sparse, None),
            ChainStep::Unknown(name) => return Err(Error::unsupported(format!("unknown encoding {name:?}"))),
        };
        plan.push((ready, len));
        len = inner;
    }
    Ok(plan)
}

/// A function that makes a source, once it is needed.
type SourceFactory = Arc<dyn Fn() -> Result<SourceRef> + Send + Sync>;

/// The input for undoing a step: a source, or one whose length only decoding can tell.
enum StepInput {
    Known(SourceRef),
    Unsized(SourceFactory),
}

impl StepInput {
    fn into_source(self) -> Result<SourceRef> {
        match self {
            Self::Known(source) => Ok(source),
            Self::Unsized(make) => make(),
        }
    }

    /// Returns the data before `step`, `len` bytes if the length is known.
    fn decode_step(self, step: CheckedStep, len: Option<u64>, limits: &Limits) -> Result<Self> {
        let limits = limits.clone();
        let step = Arc::new(step);
        match (self, len) {
            (Self::Known(stored), Some(_)) => undo_step(&step, stored, len, &limits).map(Self::Known),
            (Self::Known(stored), None) => Ok(Self::Unsized(Arc::new(move || undo_step(&step, stored.clone(), len, &limits)))),
            (Self::Unsized(inner), None) => Ok(Self::Unsized(Arc::new(move || undo_step(&step, inner()?, len, &limits)))),
            (Self::Unsized(inner), Some(known)) => {
                let make: SourceFactory = Arc::new(move || undo_step(&step, inner()?, len, &limits));
                Ok(Self::Known(Arc::new(LazySource { len: known, factory: make, source: OnceLock::new() })))
            }
        }
    }
}

/// Undoes one step on bytes that are there. Without a length, all is decoded now.
fn undo_step(step: &CheckedStep, stored: SourceRef, len: Option<u64>, limits: &Limits) -> Result<SourceRef> {
    match step {
        CheckedStep::Tile(grid) => Ok(Arc::new(tile::TiledSource::new(grid.clone(), stored, limits)?)),
        CheckedStep::Quantize(float) => {
            let len = len.ok_or_else(|| Error::malformed("quantize: the size of the array is not known"))?;
            Ok(Arc::new(quantize::QuantizedSource::new(*float, stored, len, limits)?))
        }
        CheckedStep::Zlib => match len {
            Some(len) => super::decoder(CodecId(*b"zlib"), stored, len, limits),
            None => inflate_all(&stored, limits),
        },
        CheckedStep::Sparse => match len {
            Some(len) => {
                let limits = limits.clone();
                let make: SourceFactory = Arc::new(move || decode_sparse(&stored, &limits));
                Ok(Arc::new(LazySource { len, factory: make, source: OnceLock::new() }))
            }
            None => decode_sparse(&stored, limits),
        },
    }
}

/// The items of this size that hold these bytes.
fn items_covering(item: u64, offset: u64, len: u64) -> Range<u64> {
    offset / item..(offset + len).div_ceil(item)
}

/// Reads bytes of an array of which `read` decodes whole items of this size.
fn read_items(
    limits: &Limits,
    doing: &'static str,
    item: u64,
    offset: u64,
    into: &mut [u8],
    read: impl Fn(&Range<u64>, &mut [u8]) -> Result<()>,
) -> Result<()> {
    if into.is_empty() {
        return Ok(());
    }
    limits.charge_decoding(into.len() as u64)?;
    let items = items_covering(item, offset, into.len() as u64);
    let (start, bytes) = (items.start * item, (items.end - items.start) * item);
    if start == offset && bytes == into.len() as u64 {
        return read(&items, into);
    }
    limits.charge_memory(bytes, doing)?;
    let mut whole = vec![0; to_usize(bytes)?];
    read(&items, &mut whole)?;
    let skip = to_usize(offset - start)?;
    if let Some(part) = whole.get(skip..skip + into.len()) {
        into.copy_from_slice(part);
    }
    Ok(())
}

fn decode_sparse(stored: &SourceRef, limits: &Limits) -> Result<SourceRef> {
    Ok(Arc::new(MemorySource::new(sparse::decode(stored, limits)?, stored.name())))
}

/// Inflates a stream of unknown length, which the ratio and the memory limit bound.
fn inflate_all(stored: &SourceRef, limits: &Limits) -> Result<SourceRef> {
    let most = stored.len().saturating_mul(limits.zlib_ratio);
    let mut pull = super::zlib::open_stream(stored, most, limits)?;
    let mut out = Vec::new();
    let mut piece = vec![0; 256 << 10];
    loop {
        let n = pull.decode_next(&mut piece)?;
        if n == 0 {
            return Ok(Arc::new(MemorySource::new(out, stored.name())));
        }
        let len = out.len() as u64 + n as u64;
        limits.charge_memory(len, "inflating a block of unknown length")?;
        limits.charge_decoding(n as u64)?;
        if len > most {
            let what = format!("{} stored bytes decode to more than {most} bytes with zlib", stored.len());
            return Err(
                Limits::exceeded_error("zlib_ratio", limits.zlib_ratio, what).at_byte(stored_reader::file_byte(stored, 0))
            );
        }
        out.extend_from_slice(piece.get(..n).unwrap_or(&[]));
    }
}

/// A source of known length that is made when it is first read.
struct LazySource {
    len: u64,
    factory: SourceFactory,
    source: OnceLock<SourceRef>,
}

impl LazySource {
    fn get_or_init(&self) -> Result<&SourceRef> {
        if let Some(made) = self.source.get() {
            return Ok(made);
        }
        let made = (self.factory)()?;
        if made.len() != self.len {
            return Err(Error::malformed(format!("an encoding step decodes to {} bytes, expected {}", made.len(), self.len)));
        }
        Ok(self.source.get_or_init(|| made))
    }
}

impl PieceDecoding for LazySource {
    fn stored_ranges(&self, range: Range<u64>) -> Result<Vec<Range<u64>>> {
        stored_ranges(&**self.get_or_init()?, range)
    }
}

impl Source for LazySource {
    fn len(&self) -> u64 {
        self.len
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<()> {
        stream::check_range(offset, into.len() as u64, self.len)?;
        self.get_or_init()?.read_at(offset, into)
    }

    fn view(&self, offset: u64, len: u64) -> Option<&[u8]> {
        self.source.get()?.view(offset, len)
    }

    fn prefetch(&self, ranges: &[Range<u64>]) -> Result<()> {
        self.get_or_init()?.prefetch(ranges)
    }

    fn available_len(&self) -> u64 {
        // The end of the bytes is not looked for, because that would decode the block.
        self.len
    }

    fn origin(&self) -> Option<SourceOrigin<'_>> {
        self.get_or_init().ok().map(|made| SourceOrigin::Made(&**made))
    }

    fn name(&self) -> &str {
        "an encoded block"
    }

    fn pieces(&self) -> Option<&dyn PieceDecoding> {
        Some(self)
    }
}

/// An encoder of a chain: the bytes of the array in C order go in, what follows the YAML comes out.
///
/// # Errors
/// Returns the errors of [`with_defaults`], and [`ErrorKind::InvalidInput`] for a quality that is not above 0.
pub fn encoder(steps: &[ChainStep], array: &BlockArray, limits: &Limits) -> Result<Box<dyn Encoder>> {
    let steps = with_defaults(steps, array)?;
    let total = array.shape.iter().try_fold(array.item_size, |all, n| all.checked_mul(*n));
    let total =
        total.ok_or_else(|| Error::invalid_input(format!("an array of shape {:?} has more than 2^64 bytes", array.shape)))?;
    let plan = plan_steps(&steps, Some(total), Some(array), array.byteorder()).map_err(|error| match error.kind() {
        // The caller gave these steps, not a file.
        ErrorKind::Malformed => Error::invalid_input(error.message()),
        _ => error,
    })?;
    let mut chain: Option<Box<dyn Encoder>> = None;
    let (mut chunk, mut len) = (VALUES_PER_SCALE, total);
    let mut inside: Option<quantize::TileRuns> = None;
    for ((ready, _), step) in plan.into_iter().zip(&steps) {
        let next: Box<dyn Encoder> = match (ready, step) {
            (CheckedStep::Tile(grid), _) => {
                // Padding of a second grid is not known to be so in the first: only one grid is examined.
                inside = if inside.is_none() { grid.inside_lookup() } else { None };
                chunk = grid.tile_items();
                len = grid.tiled;
                Box::new(tile::TileEncoder::new(grid, limits)?)
            }
            (CheckedStep::Quantize(float), ChainStep::Quantize { quality, dither, .. }) => {
                let plan = quantize::QuantizePlan { float, quality: quality.unwrap_or(DEFAULT_QUALITY), dither: *dither };
                Box::new(quantize::QuantizeEncoder::new(plan, chunk, len, inside.take())?)
            }
            (CheckedStep::Sparse, _) => Box::new(sparse::SparseEncoder::new(len)),
            _ => super::zlib::new_encoder(&EncodeOptions::default())?,
        };
        chain = Some(match chain {
            None => next,
            Some(first) => Box::new(PipedEncoder { first, then: next, buffer: Vec::new() }),
        });
    }
    Ok(chain.unwrap_or_else(|| Box::new(super::PlainEncoder)))
}

/// Encoder that passes the output of its first step to its second.
struct PipedEncoder {
    first: Box<dyn Encoder>,
    then: Box<dyn Encoder>,
    buffer: Vec<u8>,
}

impl Encoder for PipedEncoder {
    fn write(&mut self, data: &[u8], out: &mut dyn Write) -> Result<()> {
        // A few MiB at a time, so that the data between the steps stay small.
        for part in data.chunks(4 << 20) {
            self.first.write(part, &mut self.buffer)?;
            self.then.write(&self.buffer, out)?;
            self.buffer.clear();
        }
        Ok(())
    }

    fn finish(&mut self, out: &mut dyn Write) -> Result<()> {
        self.first.finish(&mut self.buffer)?;
        self.then.write(&self.buffer, out)?;
        self.buffer = Vec::new();
        self.then.finish(out)
    }
}

#[cfg(test)]
mod tests;
