//! Encoding chains: the YAML in front of the data of a block, and the data that it describes.
//!
//! ASDF 0.1.0, "Block encoding" and the sections on built-in encodings.

use std::sync::Arc;

use super::report::{FindingLocation, Findings};
use super::rule::Check;
use crate::asdf::{AsdfFile, Block, Ndarray, encoding_chain, walk};
use crate::bytes::{SourceRef, WindowSource};
use crate::codec::{self, CodecId};
use crate::error::{ErrorKind, Result};
use crate::limits::Limits;
use crate::tree::{Node, TextOrigin, Tree};

/// Looks at a block with the flag ENCODED.
pub(super) fn check_encoded_block(
    source: &SourceRef,
    block: &Block,
    file: Option<&AsdfFile>,
    limits: &Limits,
    found: &mut Findings,
) -> Result<()> {
    let place = || FindingLocation::from_block(block.index, block.data_offset);
    let stored = block.stored_source(source)?;
    let yaml = match encoding_chain::read_chain_yaml(block, &*stored, limits) {
        Ok(yaml) => yaml,
        Err(error) => return found.record_error(Check::ChainEnd, place(), error),
    };
    let end = yaml.len();
    let tree = match Tree::parse_bytes(yaml, TextOrigin::new(block.data_offset, 1), limits) {
        Ok(tree) => tree,
        Err(error) => return found.record_error(Check::ChainYaml, place(), error),
    };
    let array = file.and_then(|file| array_of(file, block));
    let before = found.deviation_count();
    if !check_steps(tree.root(), array.as_ref(), &place, found) {
        return Ok(());
    }
    match encoding_chain::read_chain_steps(block, &*stored, limits) {
        Ok(_) if found.deviation_count() > before => Ok(()),
        Ok(_) => check_decoded_data(block, file, (&tree, end), &stored, limits, found),
        Err(error) => found.record_error(Check::ChainEntry, place(), error),
    }
}

/// The shape and the item size of the array that a block holds.
struct BlockArray {
    shape: Vec<u64>,
    item_size: u64,
}

fn array_of(file: &AsdfFile, block: &Block) -> Option<BlockArray> {
    let nodes = walk::ndarrays_with_source(file).ok()?;
    nodes.into_iter().find_map(|(node, source)| {
        let number = source.as_i64()?;
        file.sections().block(number).ok().filter(|found| found.index == block.index)?;
        let array = Ndarray::parse(node, file.limits()).ok()?;
        if array.offset != 0 || array.strides.is_some() {
            return None;
        }
        let made = encoding_chain::block_array(&array, block.data_size)?;
        Some(BlockArray { shape: made.shape, item_size: made.item_size })
    })
}

/// Looks at the list. False if it is none, so that nothing more can be said.
fn check_steps(root: Node<'_>, array: Option<&BlockArray>, place: &dyn Fn() -> FindingLocation, found: &mut Findings) -> bool {
    if !root.is_sequence() {
        found.add_deviation(Check::ChainList, place(), "the encoding chain is not a list");
        return false;
    }
    let mut bytes_by: Option<String> = None;
    for step in root.items() {
        let named = if step.is_scalar() {
            Some((step, None))
        } else {
            step.index(0).filter(|_| step.is_sequence()).map(|name| (name, step.index(1)))
        };
        let is_ok = named.is_some_and(|(name, arguments)| {
            name.as_str().is_some() && step.len() <= 2 && arguments.is_none_or(|arguments| arguments.is_mapping())
        });
        let Some((name, arguments)) = named.filter(|_| is_ok) else {
            found.add_deviation(
                Check::ChainEntry,
                place(),
                format!("the step {} is neither a name nor a pair of name and arguments", step.source_text()),
            );
            return false;
        };
        let name = name.text().into_owned();
        let of_array = matches!(&*name, "tile" | "quantize");
        if let (true, Some(before)) = (of_array, &bytes_by) {
            found.add_deviation(
                Check::ChainOrder,
                place(),
                format!("{name} works on an array, but comes after {before}, which makes bytes"),
            );
        }
        match &*name {
            "tile" => check_tile(arguments, array, place, found),
            "quantize" => check_quantize(arguments, array, place, found),
            "zlib" if arguments.is_some_and(|arguments| !arguments.is_empty()) => {
                found.add_deviation(Check::ZlibArguments, place(), "zlib has arguments, expected none");
            }
            _ => {}
        }
        if name != "tile" {
            bytes_by.get_or_insert(name);
        }
    }
    true
}

/// A list of whole numbers.
fn parse_shape(node: Node<'_>) -> Option<Vec<u64>> {
    node.items().map(Node::as_u64).collect::<Option<Vec<u64>>>().filter(|_| node.is_sequence())
}

fn missing_arguments(arguments: Option<Node<'_>>, names: &[&str]) -> Vec<String> {
    names
        .iter()
        .filter(|name| arguments.and_then(|arguments| arguments.get(name)).is_none())
        .map(|name| (*name).to_owned())
        .collect()
}

fn check_tile(
    arguments: Option<Node<'_>>,
    array: Option<&BlockArray>,
    place: &dyn Fn() -> FindingLocation,
    found: &mut Findings,
) {
    let absent = missing_arguments(arguments, &["shape", "original_shape", "item_size"]);
    if !absent.is_empty() {
        found.add_deviation(Check::TileArguments, place(), format!("tile lacks {}", absent.join(", ")));
    }
    let get = |name: &str| arguments.and_then(|arguments| arguments.get(name));
    if let Some(stated) = get("shape") {
        let dims = array.map(|array| array.shape.len());
        if parse_shape(stated).is_some_and(|stated| stated.contains(&0)) {
            found.add_deviation(
                Check::TileShape,
                place(),
                format!("the shape of tile is {}, expected integers from 1", stated.source_text()),
            );
        } else if parse_shape(stated).is_none_or(|stated| dims.is_some_and(|dims| dims != stated.len())) {
            let expected = dims.map_or("a list of integers".to_owned(), |dims| format!("{dims} integers"));
            found.add_deviation(
                Check::TileShape,
                place(),
                format!("the shape of tile is {}, expected {expected}", stated.source_text()),
            );
        }
    }
    if let Some(stated) = get("original_shape")
        && parse_shape(stated).is_none_or(|stated| array.is_some_and(|array| array.shape != stated))
    {
        let expected = array.map_or("a list of integers".to_owned(), |array| format!("{:?}", array.shape));
        found.add_deviation(
            Check::TileOriginal,
            place(),
            format!("the original_shape of tile is {}, expected {expected}", stated.source_text()),
        );
    }
    if let Some(stated) = get("item_size")
        && stated.as_u64().is_none_or(|stated| array.is_some_and(|array| array.item_size != stated))
    {
        let expected = array.map_or("an integer".to_owned(), |array| array.item_size.to_string());
        found.add_deviation(
            Check::TileItem,
            place(),
            format!("the item_size of tile is {}, expected {expected}", stated.source_text()),
        );
    }
}

fn check_quantize(
    arguments: Option<Node<'_>>,
    array: Option<&BlockArray>,
    place: &dyn Fn() -> FindingLocation,
    found: &mut Findings,
) {
    let absent = missing_arguments(arguments, &["dtype", "original_shape"]);
    if !absent.is_empty() {
        found.add_deviation(Check::QuantizeArguments, place(), format!("quantize lacks {}", absent.join(", ")));
    }
    let get = |name: &str| arguments.and_then(|arguments| arguments.get(name));
    if let Some(stated) = get("dtype") {
        let bits = stated.as_u64().filter(|bits| matches!(bits, 32 | 64));
        if bits.is_none_or(|bits| array.is_some_and(|array| array.item_size * 8 != bits)) {
            let expected = array.map_or("32 or 64".to_owned(), |array| (array.item_size * 8).to_string());
            found.add_deviation(
                Check::QuantizeBits,
                place(),
                format!("the dtype of quantize is {}, expected {expected}", stated.source_text()),
            );
        }
    }
    // After `tile` the shape may be that of the tiles, so it only has to be a shape that is large enough.
    if let Some(stated) = get("original_shape") {
        let size = |shape: &[u64]| shape.iter().try_fold(1u64, |all, n| all.checked_mul(*n));
        let stated_size = parse_shape(stated).as_deref().and_then(size);
        let least = array.and_then(|array| size(&array.shape));
        if stated_size.is_none_or(|stated| least.is_some_and(|least| stated < least)) {
            let expected = array.map_or("a list of integers".to_owned(), |array| format!("{:?}", array.shape));
            found.add_deviation(
                Check::QuantizeShape,
                place(),
                format!("the original_shape of quantize is {}, expected {expected}", stated.source_text()),
            );
        }
    }
}

/// Decodes the block.
fn check_decoded_data(
    block: &Block,
    file: Option<&AsdfFile>,
    (tree, end): (&Tree, usize),
    stored: &SourceRef,
    limits: &Limits,
    found: &mut Findings,
) -> Result<()> {
    let place = || FindingLocation::from_block(block.index, block.data_offset);
    let Some(file) = file else { return Ok(()) };
    let number = i64::try_from(block.index).unwrap_or(i64::MAX);
    let decoded = file.block_checked(number).and_then(|data| codec::stream_source(&*data, &mut |_| Ok(())));
    let Err(error) = decoded else { return Ok(()) };
    let names: Vec<String> = tree.root().items().map(|step| step.index(0).unwrap_or(step).text().into_owned()).collect();
    let behind = end as u64;
    let blob: SourceRef = Arc::new(WindowSource::new(stored.clone(), behind, stored.len() - behind)?);
    if error.kind() != ErrorKind::Malformed {
        // A size that no stream of these bytes can have is wrong, and no question of limits.
        if names == ["zlib"]
            && let Ok((len, _)) = codec::decoded_len(CodecId(*b"zlib"), &blob, limits)
            && len != block.data_size
        {
            let message = format!("the data decode to {len} bytes, memory_size is {}", block.data_size);
            found.add_deviation(Check::DecodedSize, place(), message);
            return Ok(());
        }
        return found.record_error(Check::DecodedSize, place(), error);
    }
    let inflates = names.last().is_none_or(|last| last != "zlib") || codec::decoded_len(CodecId(*b"zlib"), &blob, limits).is_ok();
    let check = match () {
        () if !inflates => Check::ChainZlib,
        () if names.iter().any(|name| name == "quantize") => Check::QuantizeData,
        () => Check::DecodedSize,
    };
    found.add_deviation(check, place(), error.message());
    Ok(())
}
