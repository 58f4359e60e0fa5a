//! Encoding chains as a file states them: the YAML in front of the data, or the codes of the branch.
//!
//! ASDF 0.1.0, "Block encoding"; generation E0 wrote one ASCII code a step into the block header.

use memchr::memmem;

use super::block::Block;
use super::ndarray::{Ndarray, ShapeDimension};
use crate::array::{Byteorder, Datatype, c_strides};
use crate::bytes::{Source, SourceRef, WindowSource, read_vec};
use crate::codec::encoding_chain::{self, BlockArray, ChainStep};
use crate::error::{Error, Result, ResultExt};
use crate::limits::Limits;
use crate::suggest::nearest;
use crate::tree::{Node, PrintOptions, TextOrigin, Tree, Value, print_value};

/// The steps of a block, in the order of encoding, and where its data begin.
///
/// # Errors
/// Returns [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) if the YAML is broken.
pub(crate) fn read_chain_steps(block: &Block, stored: &dyn Source, limits: &Limits) -> Result<(Vec<ChainStep>, u64)> {
    if !block.has_encoding_chain() {
        let codes = block.encoding_codes.iter().take_while(|code| **code != 0);
        return Ok((codes.map(|code| ChainStep::from_code(*code)).collect(), 0));
    }
    let yaml = read_chain_yaml(block, stored, limits)?;
    let end = yaml.len() as u64;
    let tree = Tree::parse_bytes(yaml, TextOrigin::new(block.data_offset, 1), limits)?;
    Ok((parse_chain_steps(tree.root())?, end))
}

/// The YAML at the beginning of a block with a chain, end marker included; it "may have any length".
///
/// # Errors
/// Returns [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) if it has no end marker, and
/// [`ErrorKind::Limit`](crate::ErrorKind::Limit) if it has none within [`Limits::text`].
pub(crate) fn read_chain_yaml(block: &Block, stored: &dyn Source, limits: &Limits) -> Result<Vec<u8>> {
    let mut len = 4096;
    loop {
        len = stored.len().min(len);
        let mut text = read_vec(stored, 0, len, limits)?;
        if let Some(end) = find_end(&text) {
            text.truncate(end);
            return Ok(text);
        }
        if len == stored.len() {
            let found = "the YAML of the encoding chain has no end marker (...)";
            return Err(Error::malformed(found).at_byte(block.data_offset));
        }
        if len >= limits.text {
            let found = "the YAML of the encoding chain has no end marker in that many bytes";
            return Err(Limits::exceeded_error("text", limits.text, found).at_byte(block.data_offset));
        }
        len = len.saturating_mul(8).min(limits.text);
    }
}

/// Reads a chain from text, as the command line gives it: `[[tile, {shape: [32, 32]}], zlib]`.
///
/// # Errors
/// Returns [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) if it is not a list of steps.
///
/// ```
/// use trilith::asdf::{ChainStep, parse_chain};
/// let steps = parse_chain("[[tile, {shape: [2, 3]}], zlib]", &trilith::Limits::default())?;
/// assert_eq!(steps[1], ChainStep::Zlib);
/// # Ok::<(), trilith::Error>(())
/// ```
pub fn parse(text: &str, limits: &Limits) -> Result<Vec<ChainStep>> {
    parse_chain_steps(Tree::parse(text, limits)?.root())
}

/// The chain as it is before the data, end marker included.
pub fn print(steps: &[ChainStep]) -> String {
    let list = |numbers: &Option<Vec<u64>>| numbers.as_ref().map(|n| Value::seq(n.iter().copied()));
    let items = steps.iter().map(|step| {
        let arguments: Vec<(&str, Option<Value>)> = match step {
            ChainStep::Tile { shape, original_shape, item_size } => vec![
                ("shape", Some(Value::seq(shape.iter().copied()))),
                ("original_shape", list(original_shape)),
                ("item_size", item_size.map(Value::from)),
            ],
            ChainStep::Quantize { bits, original_shape, quality, .. } => vec![
                ("dtype", bits.map(Value::from)),
                ("original_shape", list(original_shape)),
                ("quality", quality.map(Value::from)),
            ],
            _ => Vec::new(),
        };
        let stated = arguments.into_iter().filter_map(|(name, value)| value.map(|value| (name, value)));
        let stated: Vec<(&str, Value)> = stated.collect();
        if stated.is_empty() { Value::from(step.name()) } else { Value::seq([Value::from(step.name()), Value::map(stated)]) }
    });
    let mut options = PrintOptions::default();
    options.width = usize::MAX;
    format!("--- {}\n...\n", print_value(&Value::seq(items).flow(), 0, &options))
}

/// The byte after the line of the end marker.
fn find_end(text: &[u8]) -> Option<usize> {
    memmem::find_iter(text, b"\n...").find_map(|at| match text.get(at + 4..)? {
        [b'\n', ..] => Some(at + 5),
        [b'\r', b'\n', ..] => Some(at + 6),
        [] => Some(text.len()),
        _ => None,
    })
}

/// Returns the steps of a list of names, or of pairs of name and arguments.
fn parse_chain_steps(root: Node<'_>) -> Result<Vec<ChainStep>> {
    if !root.is_sequence() {
        return Err(root.error("the encoding chain is not a list"));
    }
    // The null encoding, elements in C order, is where a chain of steps on bytes begins anyway.
    let stated = root.items().filter(|node| !node.is_null() && node.text() != "null");
    stated.map(parse_chain_step).collect::<Result<Vec<_>>>().map_err(|e| e.context("the encoding chain"))
}

/// A name, or a pair of name and arguments.
fn parse_chain_step(node: Node<'_>) -> Result<ChainStep> {
    let (name, arguments) = if node.is_scalar() {
        (node, None)
    } else {
        let name = node.index(0).filter(|name| name.is_scalar());
        let name = name.ok_or_else(|| node.error("a step is a name, or a name and its arguments"))?;
        (name, node.index(1))
    };
    let known: &[&str] = match &*name.text() {
        "tile" => &["shape", "original_shape", "item_size"],
        "quantize" => &["dtype", "original_shape", "quality", "dither"],
        _ => &[],
    };
    if let Some(arguments) = arguments.filter(|_| !known.is_empty()) {
        check_arguments(&name.text(), arguments, known)?;
    }
    let get = |key: &str| arguments.and_then(|arguments| arguments.get(key));
    let number = |key: &str| {
        let wrong = |value: Node<'_>| value.error(format!("{key} is not a whole number from 0"));
        get(key).map(|value| value.as_u64().ok_or_else(|| wrong(value))).transpose()
    };
    let shape = |key: &str| {
        let wrong = |value: Node<'_>| value.error(format!("{key} is not a list of whole numbers from 0"));
        let read = |value: Node<'_>| {
            let items: Option<Vec<u64>> = value.items().map(Node::as_u64).collect();
            items.filter(|_| value.is_sequence()).ok_or_else(|| wrong(value))
        };
        get(key).map(read).transpose()
    };
    Ok(match &*name.text() {
        "tile" => ChainStep::Tile {
            shape: shape("shape")?.ok_or_else(|| node.error("tile has no shape").hint("add the argument shape"))?,
            original_shape: shape("original_shape")?,
            item_size: number("item_size")?,
        },
        "quantize" => ChainStep::Quantize {
            bits: match get("dtype").map(Node::text).as_deref() {
                Some("float32") => Some(32),
                Some("float64") => Some(64),
                _ => number("dtype")?,
            },
            original_shape: shape("original_shape")?,
            quality: match get("quality") {
                Some(value) => Some(value.as_f64().ok_or_else(|| value.error("quality is not a number"))?),
                None => None,
            },
            dither: get("dither").and_then(Node::as_bool).unwrap_or(false),
        },
        "zlib" => ChainStep::Zlib,
        "sparse" => ChainStep::Sparse,
        other => ChainStep::Unknown(other.to_owned()),
    })
}

/// Refuses arguments that a step does not have, and those without a value: they decide how bytes are decoded.
fn check_arguments(step: &str, arguments: Node<'_>, known: &'static [&'static str]) -> Result<()> {
    if !arguments.is_mapping() {
        return Err(arguments.error(format!("the arguments of {step} are {}, expected a mapping", arguments.source_text())));
    }
    for (name, value) in arguments.entries() {
        let key = name.text();
        if !known.contains(&&*key) {
            let error = name.error(format!("{step} has no argument {key}"));
            return Err(match nearest(&key, known.iter().copied()) {
                Some(near) => error.hint(format!("did you mean {near}?")),
                None => error,
            });
        }
        if value.is_null() {
            return Err(value.error(format!("{key} of {step} is null")).hint(format!("give {key} a value")));
        }
    }
    Ok(())
}

/// The names of the steps; None for a block without a chain or with one that cannot be read.
pub(crate) fn chain_step_names(block: &Block, source: &SourceRef, limits: &Limits) -> Option<Vec<String>> {
    if !block.has_encoding_chain() && block.encoding_codes == [0; 16] {
        return None;
    }
    let stored = block.stored_source(source).ok()?;
    let (steps, _) = read_chain_steps(block, &*stored, limits).ok()?;
    Some(steps.iter().map(|step| step.name().to_owned()).collect())
}

/// The array that fills a block of `len` bytes, as its ndarray describes it; None if that is a
/// view of a part, or leaves something open.
pub(crate) fn block_array(array: &Ndarray<'_>, len: u64) -> Option<BlockArray> {
    let datatype = array.datatype.as_ref()?;
    let item_size = datatype.item_size();
    let dims = array.shape.as_ref()?.iter().map(|dim| if let ShapeDimension::Fixed(n) = dim { Some(*n) } else { None });
    let shape: Vec<u64> = dims.collect::<Option<_>>()?;
    let bytes = shape.iter().try_fold(item_size, |bytes, n| bytes.checked_mul(*n))?;
    let in_order = array.strides.as_ref().is_none_or(|strides| c_strides(&shape, item_size).is_ok_and(|c| c == *strides));
    let big_endian = array.byteorder == Byteorder::Big;
    (array.offset == 0 && in_order && bytes == len).then_some(BlockArray { shape, item_size, big_endian })
}

/// Checks that an array over a block has the floats that the block's chain makes.
///
/// # Errors
/// Returns [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) for other elements, and the errors of [`read_chain_steps`].
pub(super) fn is_consistent(block: &Block, stored: &dyn Source, array: &Ndarray<'_>, limits: &Limits) -> Result<()> {
    let (steps, _) = read_chain_steps(block, stored, limits)?;
    let quantized = steps.iter().find_map(|step| if let ChainStep::Quantize { bits, .. } = step { Some(*bits) } else { None });
    let (Some(bits), Some(datatype)) = (quantized, &array.datatype) else { return Ok(()) };
    let of_array = datatype.item_size().saturating_mul(8);
    if matches!(datatype, Datatype::Float32 | Datatype::Float64) && bits.is_none_or(|bits| bits == of_array) {
        return Ok(());
    }
    let made = bits.map_or_else(|| "floats".to_owned(), |bits| format!("floats of {bits} bits (the argument dtype)"));
    let found = format!("quantize makes {made}, but the datatype of the array is {datatype}");
    Err(Error::malformed(found).at_byte(block.data_offset).context("the encoding chain"))
}

/// Returns `true` if the chain of a block makes floats, whose byte order it does not state.
pub(super) fn makes_floats(block: &Block, stored: &dyn Source, limits: &Limits) -> Result<bool> {
    Ok(read_chain_steps(block, stored, limits)?.0.iter().any(is_quantize))
}

fn is_quantize(step: &ChainStep) -> bool {
    matches!(step, ChainStep::Quantize { .. })
}

/// Returns `true` if the array in a block has something to say about its chain.
fn needs_array(steps: &[ChainStep]) -> bool {
    steps.iter().any(|step| match step {
        ChainStep::Tile { original_shape, item_size, .. } => original_shape.is_none() || item_size.is_none(),
        ChainStep::Quantize { .. } => true,
        _ => false,
    })
}

/// The decoded bytes of a block with a chain; `array` finds the array that fills it, if the chain
/// leaves arguments to it, and `order` the byte order of floats that the chain makes.
///
/// # Errors
/// Returns [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) naming the first step that is unknown, and
/// [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) for steps in the wrong order or arguments that do not fit.
pub(crate) fn new_chain_decoder(
    block: &Block,
    stored: SourceRef,
    array: impl FnOnce() -> Option<BlockArray>,
    order: impl FnOnce() -> Result<Byteorder>,
    limits: &Limits,
) -> Result<SourceRef> {
    let (steps, start) = read_chain_steps(block, &*stored, limits)?;
    let doing = || "the encoding chain";
    if let Some(field) = block.generation.fields.encoding.filter(|_| !block.has_encoding_chain())
        && steps.iter().any(|step| matches!(step, ChainStep::Unknown(_)))
    {
        let codes: Vec<u8> = block.encoding_codes.iter().copied().take_while(|code| *code != 0).collect();
        let found = format!("unknown encoding {:?} in the field encoding of the block header", codes.escape_ascii().to_string());
        let at = block.data_offset - u64::from(block.header_size) + u64::from(field.offset);
        return Err(Error::unsupported(found).at_byte(at).hint("known are the codes z (zlib) and s (sparse)"));
    }
    encoding_chain::check(&steps).map_err(|e| e.at_byte(block.data_offset)).with_context(doing)?;
    let len = stored.len().saturating_sub(start);
    let data: SourceRef = std::sync::Arc::new(WindowSource::new(stored, start, len)?);
    let array = if needs_array(&steps) { array() } else { None };
    // The branch of codes stored no decoded size.
    let memory_size = block.has_encoding_chain().then_some(block.data_size);
    let order = if steps.iter().any(is_quantize) { order()? } else { Byteorder::Little };
    encoding_chain::decoder(&steps, data, memory_size, array.as_ref(), order, limits)
        .map_err(|e| e.at_byte(block.data_offset))
        .with_context(doing)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chains_are_printed_as_they_are_read() {
        let limits = Limits::default();
        let text = "--- [[tile, {shape: [32, 32]}], [quantize, {dtype: 32, quality: 4.0}], zlib]\n...\n";
        assert_eq!(print(&parse(text, &limits).unwrap()), text);
        assert_eq!(print(&parse("[null, zlib]", &limits).unwrap()), "--- [zlib]\n...\n");
        for (text, said) in [
            ("zlib", "the encoding chain is not a list"),
            ("[[tile, {}]]", "tile has no shape"),
            ("[[tile, {shape: [a]}]]", "shape is not a list of whole numbers"),
            ("[[]]", "a step is a name"),
        ] {
            let error = parse(text, &limits).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
    }
}
