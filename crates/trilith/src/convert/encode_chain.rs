//! Encoding chains on writing: which steps a block can have, and what quantising costs it.

use crate::array::{Array, Byteorder, Datatype};
use crate::bytes::{MemorySource, SourceRef, to_usize};
use crate::codec::encoding_chain::{self, Described, Step};
use crate::error::{Error, Result};
use crate::limits::Limits;

/// Refuses steps that no reader of ASDF 0.1.0 knows, and steps in the wrong order.
///
/// # Errors
/// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) naming the step.
pub(super) fn check(steps: &[Step]) -> Result<()> {
    if let Some(step) = steps.iter().find(|step| !matches!(step, Step::Tile { .. } | Step::Quantize { .. } | Step::Zlib)) {
        return Err(Error::invalid_input(format!("the encoding {:?} is not one of ASDF 0.1.0", step.name()))
            .hint("there are tile, quantize and zlib"));
    }
    encoding_chain::check(steps).map_err(|error| Error::invalid_input(error.message().to_owned()))
}

/// The array that fills a block, as chains see it; None if the array is less or other than the
/// whole block in C order.
pub(super) fn described(array: &Array, order: Byteorder, block_len: u64) -> Option<Described> {
    let fills = array.offset() == 0 && array.is_c_contiguous() && array.nbytes() == block_len && block_len > 0;
    fills.then(|| Described {
        shape: array.shape().to_vec(),
        item_size: array.datatype().item_size(),
        big_endian: order == Byteorder::Big,
    })
}

/// The steps that apply to a block, with all their arguments, and the names of those that do not.
///
/// # Errors
/// Returns an error if the arguments do not fit.
pub(super) fn applicable(
    steps: &[Step],
    array: Option<(&Described, &Datatype)>,
) -> Result<(Vec<Step>, Described, Vec<&'static str>)> {
    let mut left_out = Vec::new();
    let applies = |step: &&Step| {
        let (fits, name) = match (step, array) {
            (Step::Tile { shape, .. }, Some((described, _))) => (shape.len() == described.shape.len(), "tile"),
            (Step::Quantize { .. }, Some((_, datatype))) => {
                (matches!(datatype, Datatype::Float32 | Datatype::Float64), "quantize")
            }
            (Step::Tile { .. }, None) => (false, "tile"),
            (Step::Quantize { .. }, None) => (false, "quantize"),
            _ => (true, ""),
        };
        if !fits {
            left_out.push(name);
        }
        fits
    };
    let kept: Vec<Step> = steps.iter().filter(applies).cloned().collect();
    // Steps on bytes alone take nothing from it.
    let bytes = Described { shape: Vec::new(), item_size: 1, big_endian: false };
    let described = array.map_or(bytes, |(described, _)| described.clone());
    let filled = encoding_chain::filled(&kept, &described).map_err(|error| Error::invalid_input(error.message().to_owned()))?;
    Ok((filled, described, left_out))
}

/// The error that quantising makes in the values.
pub(super) struct Error64 {
    /// The largest difference of finite values.
    pub(super) largest: f64,
    /// `true` if any value is another.
    pub(super) differs: bool,
}

/// Compares the floats of a block with what its encoded bytes decode to.
///
/// # Errors
/// Returns an error if it does not decode.
pub(super) fn quantize_error(
    original: &SourceRef,
    encoded: &[u8],
    steps: &[Step],
    array: &Described,
    limits: &Limits,
) -> Result<Error64> {
    const PIECE: u64 = 1 << 20;
    let stored: SourceRef = std::sync::Arc::new(MemorySource::new(encoded.to_vec(), "encoded"));
    let decoded = encoding_chain::decoder(steps, stored, Some(original.len()), Some(array), array.byteorder(), limits)?;
    let mut found = Error64 { largest: 0.0, differs: false };
    let mut at = 0;
    while at < original.len() {
        let n = to_usize((original.len() - at).min(PIECE))?;
        let (mut before, mut after) = (vec![0; n], vec![0; n]);
        original.read_at(at, &mut before)?;
        decoded.read_at(at, &mut after)?;
        found.differs |= before != after;
        for (x, y) in floats(&before, array).zip(floats(&after, array)) {
            if x.is_finite() {
                found.largest = found.largest.max((x - y).abs());
            }
        }
        at += n as u64;
    }
    Ok(found)
}

fn floats<'b>(bytes: &'b [u8], array: &Described) -> impl Iterator<Item = f64> + 'b {
    let (big, wide) = (array.big_endian, array.item_size == 8);
    bytes.chunks_exact(if wide { 8 } else { 4 }).map(move |item| {
        let bits = |bytes: &mut dyn Iterator<Item = &u8>| bytes.fold(0u64, |n, byte| n << 8 | u64::from(*byte));
        let bits = if big { bits(&mut item.iter()) } else { bits(&mut item.iter().rev()) };
        if wide { f64::from_bits(bits) } else { f64::from(f32::from_bits(bits as u32)) }
    })
}
