//! Encoding chains on writing: which steps a block can have, and what quantising costs it.

use crate::array::{Array, Byteorder, Datatype};
use crate::bytes::{MemorySource, SourceRef, to_usize};
use crate::codec::encoding_chain::{self, BlockArray, ChainStep};
use crate::error::{Error, Result};
use crate::limits::Limits;

/// Refuses steps that no reader of ASDF 0.1.0 knows, and steps in the wrong order.
///
/// # Errors
/// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) naming the step.
pub(super) fn check_chain_steps(steps: &[ChainStep]) -> Result<()> {
    if let Some(step) =
        steps.iter().find(|step| !matches!(step, ChainStep::Tile { .. } | ChainStep::Quantize { .. } | ChainStep::Zlib))
    {
        return Err(Error::invalid_input(format!("the encoding {:?} is not one of ASDF 0.1.0", step.name()))
            .hint("there are tile, quantize and zlib"));
    }
    encoding_chain::check(steps).map_err(|error| Error::invalid_input(error.message().to_owned()))
}

/// The array that fills a block, as chains see it; None if the array is less or other than the
/// whole block in C order.
pub(super) fn block_array(array: &Array, order: Byteorder, block_len: u64) -> Option<BlockArray> {
    let fills = array.offset() == 0 && array.is_c_contiguous() && array.nbytes() == block_len && block_len > 0;
    fills.then(|| BlockArray {
        shape: array.shape().to_vec(),
        item_size: array.datatype().item_size(),
        big_endian: order == Byteorder::Big,
    })
}

/// The steps of an encoding chain that apply to a block.
pub(super) struct ApplicableSteps {
    /// The steps with all their arguments.
    pub(super) steps: Vec<ChainStep>,
    /// The array that fills the block; bytes if there is none.
    pub(super) array: BlockArray,
    /// Names of the steps that do not apply.
    pub(super) left_out: Vec<&'static str>,
}

/// Returns the steps that apply to a block, and the names of those that do not.
///
/// # Errors
/// Returns an error if the arguments do not fit.
pub(super) fn select_applicable_steps(steps: &[ChainStep], array: Option<(&BlockArray, &Datatype)>) -> Result<ApplicableSteps> {
    let mut left_out = Vec::new();
    let applies = |step: &&ChainStep| {
        let (fits, name) = match (step, array) {
            (ChainStep::Tile { shape, .. }, Some((described, _))) => (shape.len() == described.shape.len(), "tile"),
            (ChainStep::Quantize { .. }, Some((_, datatype))) => {
                (matches!(datatype, Datatype::Float32 | Datatype::Float64), "quantize")
            }
            (ChainStep::Tile { .. }, None) => (false, "tile"),
            (ChainStep::Quantize { .. }, None) => (false, "quantize"),
            _ => (true, ""),
        };
        if !fits {
            left_out.push(name);
        }
        fits
    };
    let kept: Vec<ChainStep> = steps.iter().filter(applies).cloned().collect();
    // Steps on bytes alone take nothing from it.
    let bytes = BlockArray { shape: Vec::new(), item_size: 1, big_endian: false };
    let described = array.map_or(bytes, |(described, _)| described.clone());
    let steps =
        encoding_chain::with_defaults(&kept, &described).map_err(|error| Error::invalid_input(error.message().to_owned()))?;
    Ok(ApplicableSteps { steps, array: described, left_out })
}

/// The error that quantising makes in the values.
pub(super) struct QuantizeError {
    /// The largest difference of finite values.
    pub(super) largest: f64,
    /// `true` if any value is another.
    pub(super) has_error: bool,
}

/// Compares the floats of a block with what its encoded bytes decode to.
///
/// # Errors
/// Returns an error if it does not decode.
pub(super) fn quantize_error(
    original: &SourceRef,
    encoded: &[u8],
    steps: &[ChainStep],
    array: &BlockArray,
    limits: &Limits,
) -> Result<QuantizeError> {
    const BUFFER_SIZE: u64 = 1 << 20;
    let stored: SourceRef = std::sync::Arc::new(MemorySource::new(encoded.to_vec(), "encoded"));
    let decoded = encoding_chain::decoder(steps, stored, Some(original.len()), Some(array), array.byteorder(), limits)?;
    let mut found = QuantizeError { largest: 0.0, has_error: false };
    let mut at = 0;
    while at < original.len() {
        let n = to_usize((original.len() - at).min(BUFFER_SIZE))?;
        let (mut before, mut after) = (vec![0; n], vec![0; n]);
        original.read_at(at, &mut before)?;
        decoded.read_at(at, &mut after)?;
        found.has_error |= before != after;
        for (x, y) in decode_floats(&before, array).zip(decode_floats(&after, array)) {
            if x.is_finite() {
                found.largest = found.largest.max((x - y).abs());
            }
        }
        at += n as u64;
    }
    Ok(found)
}

fn decode_floats<'b>(bytes: &'b [u8], array: &BlockArray) -> impl Iterator<Item = f64> + 'b {
    let (big, wide) = (array.big_endian, array.item_size == 8);
    bytes.chunks_exact(if wide { 8 } else { 4 }).map(move |item| {
        let bits = |bytes: &mut dyn Iterator<Item = &u8>| bytes.fold(0u64, |n, byte| n << 8 | u64::from(*byte));
        let bits = if big { bits(&mut item.iter()) } else { bits(&mut item.iter().rev()) };
        if wide { f64::from_bits(bits) } else { f64::from(f32::from_bits(bits as u32)) }
    })
}
