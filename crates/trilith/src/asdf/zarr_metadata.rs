//! The nodes of the extension asdf-zarr: their tag, their keys, and the metadata of an array of Zarr v2.

use crate::array::ChunkShape;
use crate::array::{Byteorder, Datatype, ElementValue, FloatPrecision, PyLiteral, numpy_datatype, numpy_descr};
use crate::bytes::{from_base64, to_usize};
use crate::codec::filter::FilterPipeline;
use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::suggest::nearest;
use crate::tree::{Node, Scalar, Value};

/// Start of the tags of these nodes; a version follows.
const TAG_PREFIX: &str = "asdf://asdf-format.org/zarr/tags/zarr-";
/// The tag of the version that is written.
pub(crate) const TAG: &str = "asdf://asdf-format.org/zarr/tags/zarr-1.0.0";
/// The key of the metadata.
pub(crate) const ZARRAY_KEY: &str = ".zarray";
/// The key of the number of the block that names the others.
pub(crate) const BLOCK_MAP_KEY: &str = "chunk_block_map";
/// The key of a place outside of the file.
pub(super) const STORE_KEY: &str = "store";
/// Maximum depth of a nested datatype.
const MAX_DEPTH: usize = 64;

/// Returns `true` if a whole tag is that of an array in chunks.
pub(super) fn is_tag(tag: &str) -> bool {
    tag.strip_prefix(TAG_PREFIX).is_some_and(|version| version.starts_with(|c: char| c.is_ascii_digit()))
}

/// Returns `true` if a node is an array in chunks, by its tag.
///
/// ```
/// use trilith::asdf::{is_chunked, is_ndarray};
/// let tree = trilith::Tree::parse("!<asdf://asdf-format.org/zarr/tags/zarr-1.0.0> {store: x.zarr}", &Default::default())?;
/// assert!(is_chunked(tree.root()) && is_ndarray(tree.root()));
/// # Ok::<(), trilith::Error>(())
/// ```
pub fn is_chunked(node: Node<'_>) -> bool {
    node.tag().is_some_and(is_tag)
}

/// Returns `true` if the chunks are in blocks: a node that names no store lacks a key of those that say so.
pub(super) fn is_in_blocks(node: Node<'_>) -> bool {
    let has_store = node.get(STORE_KEY).is_some_and(|store| !store.is_null());
    !has_store || node.get(ZARRAY_KEY).is_some() && node.get(BLOCK_MAP_KEY).is_some()
}

/// The datatype and shape of an array, and the storage of its chunks.
pub(super) struct ZarrayMetadata {
    pub chunking: ChunkShape,
    pub datatype: Datatype,
    pub byteorder: Byteorder,
    /// The bytes of an element that was never written.
    pub fill_value: Vec<u8>,
    pub filters: FilterPipeline,
    /// `true` if the elements of a chunk are in Fortran order.
    pub is_column_major: bool,
}

impl ZarrayMetadata {
    /// Reads `.zarray` of a node.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) if it does not say what it must,
    /// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for a datatype or a version that is not known
    /// here.
    pub(super) fn read_zarray(node: Node<'_>, limits: &Limits) -> Result<Self> {
        let said = node.require(ZARRAY_KEY)?;
        if !said.is_mapping() {
            return Err(said.error(format!("{ZARRAY_KEY} is {}, expected the metadata of an array of Zarr", said.source_text())));
        }
        let format = said.require("zarr_format")?;
        match format.as_i64() {
            Some(2) => {}
            Some(other) => return Err(said.locate(Error::unsupported(format!("an array of Zarr v{other}, expected v2")))),
            None => return Err(format.error(format!("zarr_format is {}, expected 2", format.source_text()))),
        }
        let (shape, chunk) = (parse_lengths(said, "shape")?, parse_lengths(said, "chunks")?);
        if shape.len() != chunk.len() || chunk.contains(&0) {
            return Err(said.error(format!("chunks of {chunk:?} do not fit an array of {shape:?}")));
        }
        // Zarr v2, "Metadata": they must be there. A default would be a guess at how the chunks are stored.
        for key in ["compressor", "fill_value", "filters", "order"] {
            said.require(key)?;
        }
        let dtype = said.require("dtype")?;
        let (datatype, byteorder) =
            parse_dtype_literal(dtype, 0).and_then(|literal| numpy_datatype(&literal)).map_err(|error| dtype.locate(error))?;
        if let Some(structure) = datatype.as_struct() {
            limits.charge_work(crate::array::FIELD_COST.saturating_mul(structure.total_fields()))?;
        }
        let columns = match said.get("order").map(|order| order.text().into_owned()).as_deref() {
            None | Some("C") => false,
            Some("F") => true,
            Some(other) => return Err(said.error(format!("the order of elements is {other:?}, expected C or F"))),
        };
        let fill = fill_value(said.get("fill_value"), &datatype, byteorder)?;
        let cut = ChunkShape { shape, chunk, item: datatype.item_size(), trims_edges: false };
        Ok(Self { chunking: cut, datatype, byteorder, fill_value: fill, filters: parse_filters(said)?, is_column_major: columns })
    }
}

fn parse_lengths(said: Node<'_>, key: &str) -> Result<Vec<u64>> {
    let node = said.require(key)?;
    if !node.is_sequence() {
        return Err(node.error(format!("{key} is {}, expected a list of lengths", node.source_text())));
    }
    node.items()
        .map(|item| item.as_u64().ok_or_else(|| item.error(format!("{key}: a length is a whole number from 0"))))
        .collect()
}

/// A datatype as numpy writes it; recursion is limited by [`MAX_DEPTH`].
fn parse_dtype_literal(node: Node<'_>, depth: usize) -> Result<PyLiteral> {
    if depth > MAX_DEPTH {
        return Err(Error::limit(format!("a datatype nests more than {MAX_DEPTH} deep")));
    }
    if node.is_sequence() {
        return node.items().map(|item| parse_dtype_literal(item, depth + 1)).collect::<Result<_>>().map(PyLiteral::List);
    }
    match node.as_u64() {
        Some(number) => Ok(PyLiteral::Int(number)),
        None if node.is_null() => Err(node.error("the dtype of an array of Zarr is null")),
        None if node.is_scalar() => Ok(PyLiteral::Text(node.text().into_owned())),
        None => Err(node.error("a datatype of numpy is a name or a list of fields")),
    }
}

/// The filters and the compressor by the words that they have here.
fn parse_filters(said: Node<'_>) -> Result<FilterPipeline> {
    let mut words: Vec<String> = Vec::new();
    if let Some(list) = said.get("filters").filter(|list| !list.is_null()) {
        if !list.is_sequence() {
            return Err(list.error("the filters of Zarr are a list of codecs, or null"));
        }
        for filter in list.items() {
            words.extend(filter_name(filter)?);
        }
    }
    if let Some(compressor) = said.get("compressor").filter(|compressor| !compressor.is_null()) {
        words.extend(filter_name(compressor)?);
    }
    FilterPipeline::parse(&words.join(" "))
}

/// The word for a codec of numcodecs; None if nothing is to be undone.
fn filter_name(codec: Node<'_>) -> Result<Option<String>> {
    let id = codec.require("id")?;
    let id = id.as_str().ok_or_else(|| id.error(format!("the id of a codec is {}, expected its name", id.source_text())))?;
    let plain = match &*id {
        "zlib" => "deflate",
        "gzip" => "gzip",
        "zstd" => "zstd",
        "lz4" => "lz4size",
        "blosc" => "blosc",
        "bz2" => "bzip2",
        "fletcher32" => "fletcher32",
        "shuffle" => {
            check_codec_keys(codec, &["id", "elementsize"])?;
            // Numcodecs would take 4 for a missing size; every program writes it, and another size gives other values.
            let size = codec.require("elementsize")?;
            let size = size.as_u64().ok_or_else(|| size.error("elementsize of shuffle is not a number of bytes"))?;
            return Ok(Some(format!("shuffle({size})")));
        }
        "delta" => return delta_filter_word(codec).map(Some),
        // `bitround` is lossy on encode and needs no decoding.
        "bitround" => return Ok(None),
        // Filters are refused when a chunk is decoded, so that everything else can be seen.
        other => return Ok(Some(format!("numcodecs:{}", other.replace([' ', '(', ')'], "_")))),
    };
    Ok(Some(plain.to_owned()))
}

/// Refuses a codec with a key that its kind does not have: numcodecs does so, and a misspelt key decides how bytes are decoded.
fn check_codec_keys(codec: Node<'_>, known: &'static [&'static str]) -> Result<()> {
    let unknown = codec.entries().map(|(name, _)| name).find(|name| !known.contains(&&*name.text()));
    let Some(name) = unknown else { return Ok(()) };
    let error = name.error(format!("the codec {} has no key {}", codec.require("id")?.text(), name.text()));
    Err(match nearest(&name.text(), known.iter().copied()) {
        Some(near) => error.hint(format!("did you mean {near}?")),
        None => error,
    })
}

/// Differences of whole numbers of the type that they have themselves.
fn delta_filter_word(codec: Node<'_>) -> Result<String> {
    check_codec_keys(codec, &["id", "dtype", "astype"])?;
    let typed = |name: &str| codec.get(name).filter(|node| !node.is_null());
    let dtype = codec.require("dtype")?;
    let (datatype, order) =
        parse_dtype_literal(dtype, 0).and_then(|found| numpy_datatype(&found)).map_err(|error| dtype.locate(error))?;
    let is_same = typed("astype").is_none_or(|other| other.text() == dtype.text());
    if !is_same || !datatype.is_integer() {
        return Ok("numcodecs:delta-of-another-type".to_owned());
    }
    Ok(format!("delta({},0,1,{})", datatype.item_size(), u8::from(order == Byteorder::Big)))
}

/// The bytes of `fill_value`; zeros if none is given.
fn fill_value(said: Option<Node<'_>>, datatype: &Datatype, order: Byteorder) -> Result<Vec<u8>> {
    let size = to_usize(datatype.item_size())?;
    let Some(said) = said.filter(|said| !said.is_null()) else { return Ok(vec![0; size]) };
    let wrong = || said.error(format!("fill_value {} is not an element of the type {datatype}", said.source_text()));
    if said.untagged() == Scalar::Int(0) {
        return Ok(vec![0; size]);
    }
    if matches!(datatype, Datatype::Struct(_) | Datatype::Ascii(_)) {
        let mut bytes = from_base64(&said.text()).filter(|bytes| bytes.len() <= size).ok_or_else(wrong)?;
        bytes.resize(size, 0);
        return Ok(bytes);
    }
    let value = match (datatype, said.untagged()) {
        (Datatype::Bool8, Scalar::Bool(value)) => ElementValue::Bool(value),
        (Datatype::Bool8, Scalar::Int(value)) => ElementValue::Bool(value != 0),
        (Datatype::Ucs4(_), _) => ElementValue::Text(said.text().into_owned()),
        (number, _) if number.is_complex() => {
            let parts: Option<Vec<f64>> = said.items().map(parse_json_float).collect();
            match (parts.as_deref(), parse_json_float(said)) {
                (Some([re, im]), _) => ElementValue::Complex(*re, *im, FloatPrecision::Double),
                (_, Some(re)) => ElementValue::Complex(re, 0.0, FloatPrecision::Double),
                _ => return Err(wrong()),
            }
        }
        (number, _) if number.is_float() => {
            ElementValue::Float(parse_json_float(said).ok_or_else(wrong)?, FloatPrecision::Double)
        }
        (_, Scalar::Int(value)) => ElementValue::Int(value),
        (_, Scalar::BigInt(digits)) => ElementValue::Uint(digits.parse().map_err(|_| wrong())?),
        (_, Scalar::Float(value)) if value.fract() == 0.0 && value.abs() < 2f64.powi(53) => ElementValue::Int(value as i64),
        _ => return Err(wrong()),
    };
    let mut bytes = Vec::with_capacity(size);
    value.encode(datatype, order, &mut bytes).map_err(|_| wrong())?;
    Ok(bytes)
}

/// A number, or the name that JSON gives to one that is not finite.
fn parse_json_float(node: Node<'_>) -> Option<f64> {
    match (node.untagged(), &*node.text()) {
        (Scalar::Float(value), _) => Some(value),
        (Scalar::Int(value), _) => Some(value as f64),
        (_, "NaN") => Some(f64::NAN),
        (_, "Infinity") => Some(f64::INFINITY),
        (_, "-Infinity") => Some(f64::NEG_INFINITY),
        (Scalar::BigInt(digits), _) => digits.parse().ok(),
        _ => None,
    }
}

/// The metadata of a new array, whose chunks are little-endian, in C order and, but for the codec of their blocks, as they
/// are.
///
/// # Errors
/// Returns [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for a datatype that numpy does not have.
pub(super) fn new_metadata(datatype: &Datatype, shape: &[u64], chunk: &[u64]) -> Result<Value> {
    let lengths = |lengths: &[u64]| Value::seq(lengths.iter().copied()).flow();
    let fill = match datatype {
        Datatype::Bool8 => Value::from(false),
        number if number.is_complex() => Value::seq([0.0, 0.0]).flow(),
        number if number.is_float() => Value::from(0.0),
        number if number.is_integer() => Value::from(0),
        _ => Value::null(),
    };
    Ok(Value::map([
        ("zarr_format", Value::from(2)),
        ("shape", lengths(shape)),
        ("chunks", lengths(chunk)),
        ("dtype", dtype_value(&numpy_descr(datatype)?)),
        ("compressor", Value::null()),
        ("fill_value", fill),
        ("filters", Value::null()),
        ("order", Value::from("C")),
    ]))
}

/// A datatype of numpy as a value of a tree; it nests no deeper than structures do.
fn dtype_value(literal: &PyLiteral) -> Value {
    match literal {
        PyLiteral::List(items) => Value::seq(items.iter().map(dtype_value)).flow(),
        PyLiteral::Int(number) => Value::from(*number),
        PyLiteral::Text(text) => Value::from(text.as_str()),
        _ => Value::null(),
    }
}
