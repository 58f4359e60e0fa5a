//! Encoding chains: the YAML in front of the data of a block, and the data that it describes.
//!
//! ASDF 0.1.0, "Block encoding" and the sections on built-in encodings.

use std::sync::Arc;

use super::report::{Found, Place};
use super::rule::Check;
use crate::asdf::{AsdfFile, Block, Ndarray, encoding_chain, walk};
use crate::bytes::{SourceRef, Window};
use crate::codec::{self, CodecId};
use crate::error::{ErrorKind, Result};
use crate::limits::Limits;
use crate::tree::{Node, Origin, Tree};

/// Looks at a block with the flag ENCODED.
pub(super) fn check(
    source: &SourceRef,
    block: &Block,
    file: Option<&AsdfFile>,
    limits: &Limits,
    found: &mut Found,
) -> Result<()> {
    let place = || Place::block(block.index, block.data_offset);
    let stored = block.stored(source)?;
    let yaml = match encoding_chain::yaml(block, &*stored, limits) {
        Ok(yaml) => yaml,
        Err(error) => return found.judge(Check::ChainEnd, place(), error),
    };
    let end = yaml.len();
    let tree = match Tree::parse_bytes(yaml, Origin::new(block.data_offset, 1), limits) {
        Ok(tree) => tree,
        Err(error) => return found.judge(Check::ChainYaml, place(), error),
    };
    let array = file.and_then(|file| array_of(file, block));
    let before = found.count();
    if !steps(tree.root(), array.as_ref(), &place, found) {
        return Ok(());
    }
    match encoding_chain::read(block, &*stored, limits) {
        Ok(_) if found.count() > before => Ok(()),
        Ok(_) => data(block, file, (&tree, end), &stored, limits, found),
        Err(error) => found.judge(Check::ChainEntry, place(), error),
    }
}

/// The shape and the item size of the array that a block holds.
struct Held {
    shape: Vec<u64>,
    item_size: u64,
}

fn array_of(file: &AsdfFile, block: &Block) -> Option<Held> {
    let nodes = walk::sourced(file).ok()?;
    nodes.into_iter().find_map(|(node, source)| {
        let number = source.as_i64()?;
        file.sections().block(number).ok().filter(|found| found.index == block.index)?;
        let array = Ndarray::read(node, file.limits()).ok()?;
        if array.offset != 0 || array.strides.is_some() {
            return None;
        }
        let made = encoding_chain::described(&array, block.data_size)?;
        Some(Held { shape: made.shape, item_size: made.item_size })
    })
}

/// Looks at the list. False if it is none, so that nothing more can be said.
fn steps(root: Node<'_>, array: Option<&Held>, place: &dyn Fn() -> Place, found: &mut Found) -> bool {
    if !root.is_sequence() {
        found.add(Check::ChainList, place(), "the encoding chain is not a list");
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
            found.add(
                Check::ChainEntry,
                place(),
                format!("the step {} is neither a name nor a pair of name and arguments", step.raw()),
            );
            return false;
        };
        let name = name.text().into_owned();
        let of_array = matches!(&*name, "tile" | "quantize");
        if let (true, Some(before)) = (of_array, &bytes_by) {
            found.add(
                Check::ChainOrder,
                place(),
                format!("{name} works on an array, but comes after {before}, which makes bytes"),
            );
        }
        match &*name {
            "tile" => tile(arguments, array, place, found),
            "quantize" => quantize(arguments, array, place, found),
            "zlib" if arguments.is_some_and(|arguments| !arguments.is_empty()) => {
                found.add(Check::ZlibArguments, place(), "zlib has arguments, expected none");
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
fn shape(node: Node<'_>) -> Option<Vec<u64>> {
    node.items().map(Node::as_u64).collect::<Option<Vec<u64>>>().filter(|_| node.is_sequence())
}

fn missing(arguments: Option<Node<'_>>, names: &[&str]) -> Vec<String> {
    names
        .iter()
        .filter(|name| arguments.and_then(|arguments| arguments.get(name)).is_none())
        .map(|name| (*name).to_owned())
        .collect()
}

fn tile(arguments: Option<Node<'_>>, array: Option<&Held>, place: &dyn Fn() -> Place, found: &mut Found) {
    let absent = missing(arguments, &["shape", "original_shape", "item_size"]);
    if !absent.is_empty() {
        found.add(Check::TileArguments, place(), format!("tile lacks {}", absent.join(", ")));
    }
    let get = |name: &str| arguments.and_then(|arguments| arguments.get(name));
    if let Some(stated) = get("shape") {
        let dims = array.map(|array| array.shape.len());
        if shape(stated).is_some_and(|stated| stated.contains(&0)) {
            found.add(Check::TileShape, place(), format!("the shape of tile is {}, expected integers from 1", stated.raw()));
        } else if shape(stated).is_none_or(|stated| dims.is_some_and(|dims| dims != stated.len())) {
            let expected = dims.map_or("a list of integers".to_owned(), |dims| format!("{dims} integers"));
            found.add(Check::TileShape, place(), format!("the shape of tile is {}, expected {expected}", stated.raw()));
        }
    }
    if let Some(stated) = get("original_shape")
        && shape(stated).is_none_or(|stated| array.is_some_and(|array| array.shape != stated))
    {
        let expected = array.map_or("a list of integers".to_owned(), |array| format!("{:?}", array.shape));
        found.add(Check::TileOriginal, place(), format!("the original_shape of tile is {}, expected {expected}", stated.raw()));
    }
    if let Some(stated) = get("item_size")
        && stated.as_u64().is_none_or(|stated| array.is_some_and(|array| array.item_size != stated))
    {
        let expected = array.map_or("an integer".to_owned(), |array| array.item_size.to_string());
        found.add(Check::TileItem, place(), format!("the item_size of tile is {}, expected {expected}", stated.raw()));
    }
}

fn quantize(arguments: Option<Node<'_>>, array: Option<&Held>, place: &dyn Fn() -> Place, found: &mut Found) {
    let absent = missing(arguments, &["dtype", "original_shape"]);
    if !absent.is_empty() {
        found.add(Check::QuantizeArguments, place(), format!("quantize lacks {}", absent.join(", ")));
    }
    let get = |name: &str| arguments.and_then(|arguments| arguments.get(name));
    if let Some(stated) = get("dtype") {
        let bits = stated.as_u64().filter(|bits| matches!(bits, 32 | 64));
        if bits.is_none_or(|bits| array.is_some_and(|array| array.item_size * 8 != bits)) {
            let expected = array.map_or("32 or 64".to_owned(), |array| (array.item_size * 8).to_string());
            found.add(Check::QuantizeBits, place(), format!("the dtype of quantize is {}, expected {expected}", stated.raw()));
        }
    }
    // After `tile` the shape may be that of the tiles, so it only has to be a shape that is large enough.
    if let Some(stated) = get("original_shape") {
        let size = |shape: &[u64]| shape.iter().try_fold(1u64, |all, n| all.checked_mul(*n));
        let stated_size = shape(stated).as_deref().and_then(size);
        let least = array.and_then(|array| size(&array.shape));
        if stated_size.is_none_or(|stated| least.is_some_and(|least| stated < least)) {
            let expected = array.map_or("a list of integers".to_owned(), |array| format!("{:?}", array.shape));
            found.add(
                Check::QuantizeShape,
                place(),
                format!("the original_shape of quantize is {}, expected {expected}", stated.raw()),
            );
        }
    }
}

/// Decodes the block.
fn data(
    block: &Block,
    file: Option<&AsdfFile>,
    (tree, end): (&Tree, usize),
    stored: &SourceRef,
    limits: &Limits,
    found: &mut Found,
) -> Result<()> {
    let place = || Place::block(block.index, block.data_offset);
    let Some(file) = file else { return Ok(()) };
    let number = i64::try_from(block.index).unwrap_or(i64::MAX);
    let decoded = file.block_checked(number).and_then(|data| codec::stream_source(&*data, &mut |_| Ok(())));
    let Err(error) = decoded else { return Ok(()) };
    if error.kind() != ErrorKind::Malformed {
        return found.judge(Check::DecodedSize, place(), error);
    }
    let names: Vec<String> = tree.root().items().map(|step| step.index(0).unwrap_or(step).text().into_owned()).collect();
    let behind = end as u64;
    let blob: SourceRef = Arc::new(Window::new(stored.clone(), behind, stored.len() - behind)?);
    let inflates = names.last().is_none_or(|last| last != "zlib") || codec::decoded_len(CodecId(*b"zlib"), &blob, limits).is_ok();
    let check = match () {
        () if !inflates => Check::ChainZlib,
        () if names.iter().any(|name| name == "quantize") => Check::QuantizeData,
        () => Check::DecodedSize,
    };
    found.add(check, place(), error.message());
    Ok(())
}
