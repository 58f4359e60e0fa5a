//! The ndarray node: the description of an array in a tree, in every dialect.
//!
//! Schema core/ndarray of ASDF 1.x, of the 0.1.0dev document and of FINF: `source` or `data`,
//! `datatype` (`dtype` until 2015), `byteorder`, `shape`, `offset`, `strides`, `mask`. This is the
//! only place where a node becomes an [`Array`].

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::inline_read;
use super::zarr_metadata::{self, ZarrayMetadata};
use crate::array::{Array, Byteorder, Datatype, FIELD_COST, Field, Mask, StructType, stream_rows};
use crate::bytes::SourceRef;
use crate::error::{Error, Result, ResultExt};
use crate::limits::Limits;
use crate::suggest::nearest;
use crate::tree::{Node, NodeId, Scalar};

pub use super::zarr_metadata::is_chunked;

/// The keys of an ndarray that describe its elements: all but `mask`, which describes those of another array.
pub(crate) const ELEMENT_KEYS: [&str; 8] = ["byteorder", "datatype", "dtype", "source", "data", "strides", "offset", "shape"];

/// Returns `true` if a node is an array: by its tag, that of an ndarray of whatever generation or of an array in
/// chunks ([`is_chunked`]).
pub fn is_ndarray(node: Node<'_>) -> bool {
    node.tag().is_some_and(is_ndarray_tag)
}

/// Returns `true` if a whole tag is that of an array: `…core/ndarray-1.1.0`, `…core/ndarray`, FINF's `…ndarray`,
/// and `asdf://asdf-format.org/zarr/tags/zarr-1.0.0` of the extension asdf-zarr.
pub(crate) fn is_ndarray_tag(tag: &str) -> bool {
    let Some(name) = tag.strip_prefix("tag:stsci.edu:") else { return zarr_metadata::is_tag(tag) };
    // The search begins at the end, because this runs for every node and the last word is short.
    let slash = name.bytes().rposition(|byte| byte == b'/');
    let last = slash.and_then(|at| name.get(at + 1..)).unwrap_or(name);
    last == "ndarray" || last.strip_prefix("ndarray-").is_some_and(|version| version.starts_with(|c: char| c.is_ascii_digit()))
}

/// The place of the elements of an ndarray.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ElementSource<'t> {
    /// A block of this file; negative numbers count from the end.
    Block(i64),
    /// The first block of another file.
    External(String),
    /// An HDU of the FITS file around this one (`fits:NAME,VER`).
    FitsHdu(String),
    /// The tree itself, at this node.
    Inline(Node<'t>),
    /// Chunks, which are in blocks that this node names or in a store outside of the file.
    Chunks(Node<'t>),
}

/// One dimension of a shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ShapeDimension {
    /// A fixed length.
    Fixed(u64),
    /// `*`: the length that fills the block; for the first axis only.
    Streamed,
}

/// The content of an ndarray node, before anything is looked up.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Ndarray<'t> {
    /// The node itself.
    pub node: Node<'t>,
    /// The place of the elements.
    pub origin: ElementSource<'t>,
    /// The datatype; None if it is left to inference (inline data).
    pub datatype: Option<Datatype>,
    /// The byteorder of what states none itself.
    pub byteorder: Byteorder,
    /// The shape; None if it is left to inference.
    pub shape: Option<Vec<ShapeDimension>>,
    /// Bytes from the start of the block to the first element.
    pub offset: u64,
    /// Bytes from element to element along each dimension.
    pub strides: Option<Vec<i64>>,
    /// The mask, if there is one.
    pub mask: Option<Node<'t>>,
    /// A key that the description lacks, and what the programs of its time took for it.
    pub(crate) assumption: Option<&'static str>,
}

impl<'t> Ndarray<'t> {
    /// Reads the node.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) at the line and column of what is wrong.
    pub fn parse(node: Node<'t>, limits: &Limits) -> Result<Self> {
        if is_chunked(node) {
            return read_chunked_ndarray(node, limits);
        }
        if node.is_sequence() {
            return Ok(Self {
                node,
                origin: ElementSource::Inline(node),
                datatype: None,
                byteorder: Byteorder::Little,
                shape: None,
                offset: 0,
                strides: None,
                mask: None,
                assumption: None,
            });
        }
        if !node.is_mapping() {
            return Err(node.error("an ndarray is a mapping or a list, not a scalar"));
        }
        let keys = ["byteorder", "datatype", "dtype", "source", "data", "strides", "offset", "shape", "mask"];
        let [order, datatype, dtype, source, data, strides, offset, dims, mask] = node.get_each(keys);
        // Some writers keep a key without a value as null. Of data, null may be an element.
        let says = |value: Option<Node<'t>>| value.filter(|value| !value.is_null());
        let written = [order, datatype, dtype, source, strides, offset, dims, mask].map(|value| value.is_some());
        let [order, datatype, dtype, source] = [order, datatype, dtype, source].map(says);
        let [strides, offset, dims, mask] = [strides, offset, dims, mask].map(says);
        let stated = [order, datatype, dtype, source, strides, offset, dims, mask].map(|value| value.is_some());
        let is_complete = order.is_some() && datatype.or(dtype).is_some() && dims.is_some() && data.is_none();
        let is_checked = written != stated || source.is_some() && !is_complete;
        let assumption = if is_checked { check_complete(node, limits)? } else { None };
        let byteorder = order.map(parse_byteorder).transpose()?.unwrap_or(Byteorder::Big);
        // An element may be null, and so the data of an array without axes.
        let has_no_axes = dims.is_some_and(|dims| dims.is_sequence() && dims.is_empty());
        if let Some(data) = data.filter(|data| data.is_null() && !has_no_axes) {
            return Err(data.error("the data of an ndarray is null").hint("give data a list of elements"));
        }
        let datatype = datatype.or(dtype);
        let datatype = datatype.map(|d| read_datatype(d, byteorder, limits)).transpose()?;
        let origin = match (source, data) {
            (None, Some(data)) => ElementSource::Inline(data),
            (Some(source), _) => parse_origin(source)?,
            (None, None) => {
                let error = node.error("an ndarray has neither source nor data");
                return Err(match find_misspelt_key(node) {
                    Some((name, near)) => error.hint(format!("{name}: did you mean {near}?")),
                    None => error,
                });
            }
        };
        let strides = strides.map(|list| {
            list.items().map(|n| n.as_i64().ok_or_else(|| n.error("a stride is a whole number"))).collect::<Result<Vec<_>>>()
        });
        let offset = match offset {
            None => 0,
            Some(offset) => offset.as_u64().ok_or_else(|| offset.error("offset is not a whole number of bytes from 0"))?,
        };
        Ok(Self {
            node,
            origin,
            // FINF's code took a missing dtype for uint8 (in other files it is refused); inline data have their datatype.
            datatype: datatype.or_else(|| data.is_none().then_some(Datatype::Uint8)),
            byteorder,
            shape: dims.map(parse_shape).transpose()?,
            offset,
            strides: strides.transpose()?,
            mask,
            assumption,
        })
    }

    /// The array over the decoded bytes of its block.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) if an element would be outside.
    pub fn array_over(&self, source: SourceRef, limits: &Limits) -> Result<Array> {
        let datatype = self.datatype.clone().unwrap_or(Datatype::Uint8);
        self.array_at(source, datatype, limits).map_err(|e| self.node.locate(e))
    }

    fn array_at(&self, source: SourceRef, datatype: Datatype, limits: &Limits) -> Result<Array> {
        let available = source.len().saturating_sub(self.offset);
        let item = datatype.item_size();
        let open = |rest: &[u64]| match self.strides.as_ref().and_then(|s| s.first()) {
            None => stream_rows(available, rest, item),
            Some(0) => Err(self.node.error("a stride of 0 along the dimension * leaves open how many rows there are")),
            Some(stride) if *stride > 0 => Ok(available / stride.unsigned_abs()),
            // Rows go towards the beginning of the block: the first is at the offset, the last where there is room for it.
            Some(stride) => {
                let inner = self.strides.iter().flatten().skip(1).zip(rest);
                let before = inner
                    .filter(|(stride, _)| **stride < 0)
                    .try_fold(0u64, |sum, (stride, n)| sum.checked_add(stride.unsigned_abs().checked_mul(n.saturating_sub(1))?));
                let room = before.and_then(|before| self.offset.checked_sub(before));
                Ok(room.map_or(0, |room| room / stride.unsigned_abs()).saturating_add(1))
            }
        };
        let shape = match &self.shape {
            None => vec![available.checked_div(item).unwrap_or(0)],
            Some(dims) => {
                let rest = dims.get(1..).unwrap_or(&[]).iter().map(|dim| match dim {
                    ShapeDimension::Fixed(n) => Ok(*n),
                    ShapeDimension::Streamed => Err(self.node.error("only the first dimension of a shape can be *")),
                });
                let mut rest = rest.collect::<Result<Vec<u64>>>()?;
                match dims.first() {
                    Some(ShapeDimension::Fixed(n)) => rest.insert(0, *n),
                    Some(ShapeDimension::Streamed) => rest.insert(0, open(&rest)?),
                    None => {}
                }
                rest
            }
        };
        let array = match &self.strides {
            Some(strides) => Array::strided(source, self.offset, datatype, self.byteorder, shape, strides.clone()),
            None => Array::new(source, self.offset, datatype, self.byteorder, shape),
        }?;
        Ok(array.with_limits(Arc::new(limits.clone())))
    }

    /// The array of inline data.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) at the line and column of an element that does
    /// not fit.
    pub fn inline(&self, data: Node<'t>, limits: &Limits) -> Result<Array> {
        let shape = self.shape.as_ref().map(|dims| {
            dims.iter().map(|dim| if let ShapeDimension::Fixed(n) = dim { Some(*n) } else { None }).collect::<Vec<_>>()
        });
        inline_read::read_inline_array(data, self.datatype.as_ref(), shape.as_deref(), limits)
    }

    /// The mask if it is a number; None if it is an ndarray, which the caller resolves.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) if it is neither.
    pub fn scalar_mask(mask: Node<'_>) -> Result<Option<Mask>> {
        if is_ndarray(mask) || mask.is_sequence() || mask.is_mapping() {
            return Ok(None);
        }
        match mask.untagged() {
            Scalar::Float(value) if value.is_nan() => Ok(Some(Mask::Nan)),
            Scalar::Float(value) => Ok(Some(Mask::Float(value))),
            Scalar::Int(value) => Ok(Some(Mask::Integer(i128::from(value)))),
            Scalar::BigInt(digits) => match digits.parse() {
                Ok(value) => Ok(Some(Mask::Integer(value))),
                Err(_) => Err(mask.error("the mask is a number too large for any element")),
            },
            Scalar::Bool(value) => Ok(Some(Mask::Integer(i128::from(value)))),
            _ => match inline_read::complex(&mask.text()) {
                Some((re, im)) => Ok(Some(Mask::Complex(re, im))),
                None => Err(mask.error("a mask is a number, a complex number or an ndarray")),
            },
        }
    }
}

/// Refuses an ndarray whose elements are elsewhere, and that does not say what they are, and one with a key that is null. Returns what is taken for a missing key.
///
/// Schema core/ndarray-1.0.0, `dependencies: source: [shape, datatype, byteorder]`: any default would be a guess. FINF has defaults
/// for `dtype` and `byteorder`, those of its code, and so has the byteorder of the first months of ASDF 0.1.0dev, until October 2014:
/// its programs left out `byteorder: big`, and wrote `dtype` under a tag without a version.
///
/// # Errors
/// Returns [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) naming the key that is missing or null.
pub(crate) fn check_complete(node: Node<'_>, limits: &Limits) -> Result<Option<&'static str>> {
    const FINF: &str = "tag:stsci.edu:finf/";
    const DEV: &str = "tag:stsci.edu:asdf/0.1.0/core/ndarray";
    let is_finf = match node.tag() {
        Some(tag) => tag.starts_with(FINF),
        None => node.tree().tag_handles().any(|(_, prefix)| prefix.starts_with(FINF)),
    };
    for key in ["datatype", "dtype", "byteorder", "shape", "source", "offset", "strides", "mask"] {
        if let Some(value) = node.get(key).filter(|value| value.is_null()) {
            let is_optional = matches!(key, "offset" | "strides" | "mask") || node.get("data").is_some();
            let remove = if is_optional { ", or remove it" } else { "" };
            return Err(value.error(format!("the {key} of an ndarray is null")).hint(format!("give {key} a value{remove}")));
        }
    }
    // An HDU says what its elements are.
    if node.get("source").is_none_or(|source| source.text().starts_with("fits:")) {
        return Ok(None);
    }
    if node.get("data").is_some() {
        return Err(node.error("an ndarray has both source and data").hint("remove one of them"));
    }
    if node.get("shape").is_none() {
        return Err(missing_key_error(node, "shape"));
    }
    // A key that is spelled nearly so was not left out.
    let is_left_out = |key: &str| find_misspelt_key(node).is_none_or(|(_, near)| near != key);
    let datatype = match node.get("datatype").or_else(|| node.get("dtype")) {
        Some(datatype) => datatype,
        None if is_finf && is_left_out("dtype") && is_left_out("datatype") => return Ok(Some("no dtype, and is read as uint8")),
        None => return Err(missing_key_error(node, "datatype")),
    };
    if node.get("byteorder").is_some() || !needs_byteorder(datatype, limits)? {
        return Ok(None);
    }
    if is_finf && is_left_out("byteorder") {
        return Ok(None);
    }
    match node.tag() {
        Some(DEV) if node.get("datatype").is_none() && is_left_out("byteorder") => {
            Ok(Some("no byteorder, and is read as big-endian"))
        }
        _ => Err(missing_key_error(node, "byteorder")),
    }
}

/// Returns what is taken for a key that an ndarray lacks, if programs of its time took something for it. An array that is refused for it
/// has none.
pub(crate) fn find_assumption(node: Node<'_>, limits: &Limits) -> Option<&'static str> {
    let [source, order, datatype, dtype, shape] = node.get_each(["source", "byteorder", "datatype", "dtype", "shape"]);
    let is_complete = order.is_some() && datatype.or(dtype).is_some() && shape.is_some();
    source.filter(|source| !is_complete && !source.is_null())?;
    check_complete(node, limits).ok().flatten()
}

/// The error for a key that an ndarray lacks.
#[cold]
fn missing_key_error(node: Node<'_>, key: &'static str) -> Error {
    let error = node.error(format!("an ndarray with a source has no {key}"));
    // The datatype has two names.
    if let Some((name, near)) = find_misspelt_key(node).filter(|(_, near)| *near == key || key == "datatype" && *near == "dtype")
    {
        return error.hint(format!("{name}: did you mean {near}?"));
    }
    error.hint(format!("add {key}, if you know it from elsewhere; the file does not say it"))
}

/// Returns `true` if an element, or a field without a byte order, has numbers of more than one byte.
fn needs_byteorder(datatype: Node<'_>, limits: &Limits) -> Result<bool> {
    let mut open = vec![datatype];
    // Aliases make a million fields of a few lines: each is looked at once.
    let mut known = HashSet::new();
    while let Some(node) = open.pop() {
        if !known.insert(node.id()) {
            continue;
        }
        limits.charge_work(FIELD_COST)?;
        match simple_datatype(node)? {
            Some(Datatype::Ascii(_)) => {}
            Some(simple) => {
                if simple.item_size() > 1 {
                    return Ok(true);
                }
            }
            None => open.extend(node.items().filter_map(|field| match (field.is_mapping(), field.get("byteorder")) {
                (true, None) => field.get("datatype").or_else(|| field.get("dtype")),
                (true, Some(_)) => None,
                (false, _) => Some(field),
            })),
        }
    }
    Ok(false)
}

/// Returns the content of such a node. Shape and datatype are not known if its elements are somewhere else.
fn read_chunked_ndarray<'t>(node: Node<'t>, limits: &Limits) -> Result<Ndarray<'t>> {
    if !node.is_mapping() {
        return Err(node.error("an array in chunks is a mapping, as asdf-zarr writes it"));
    }
    let found = if zarr_metadata::is_in_blocks(node) { Some(ZarrayMetadata::read_zarray(node, limits)?) } else { None };
    let byteorder = found.as_ref().map_or(Byteorder::Little, |found| found.byteorder);
    let (shape, datatype) = found.map(|found| (found.chunking.shape, found.datatype)).unzip();
    let shape = shape.map(|shape| shape.into_iter().map(ShapeDimension::Fixed).collect());
    Ok(Ndarray {
        node,
        origin: ElementSource::Chunks(node),
        datatype,
        byteorder,
        shape,
        offset: 0,
        strides: None,
        mask: None,
        assumption: None,
    })
}

fn parse_origin<'t>(source: Node<'t>) -> Result<ElementSource<'t>> {
    if let Some(number) = source.as_i64() {
        return Ok(ElementSource::Block(number));
    }
    match source.as_str() {
        Some(text) => Ok(match text.strip_prefix("fits:") {
            Some(hdu) => ElementSource::FitsHdu(hdu.to_owned()),
            // A fragment is not a part of what a URI retrieves (RFC 3986, 3.5).
            None => ElementSource::External(text.split('#').next().unwrap_or("").to_owned()),
        }),
        None => Err(source.error("source is neither the number of a block nor a URI")),
    }
}

/// Reads `big` or `little`.
///
/// # Errors
/// Returns [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) for anything else.
pub(crate) fn parse_byteorder(node: Node<'_>) -> Result<Byteorder> {
    match &*node.text() {
        "big" => Ok(Byteorder::Big),
        "little" => Ok(Byteorder::Little),
        other => Err(node.error(format!("unknown byteorder {other:?}, expected big or little"))),
    }
}

fn parse_shape(node: Node<'_>) -> Result<Vec<ShapeDimension>> {
    if !node.is_sequence() {
        return Err(node.error("a shape is a list of whole numbers"));
    }
    node.items()
        .map(|dim| match dim.as_u64() {
            Some(n) => Ok(ShapeDimension::Fixed(n)),
            None if dim.text() == "*" => Ok(ShapeDimension::Streamed),
            None => Err(dim.error(format!("dimension {:?} is not a whole number from 0", dim.source_text()))),
        })
        .collect()
}

/// The datatype that a user writes, and its byte order: a name of ours (`float32`), a list as a tree has it
/// (`[ascii, 8]`, or the fields of a structure), or one of numpy's names (`>f4`), whose sign counts before `order`.
///
/// ```
/// use trilith::array::{Byteorder, Datatype};
/// use trilith::asdf::datatype_named;
/// let limits = trilith::Limits::default();
/// assert_eq!(datatype_named(">i2", None, &limits)?, (Datatype::Int16, Byteorder::Big));
/// let (row, _) = datatype_named("[{name: t, datatype: float64}, {name: n, datatype: int32}]", None, &limits)?;
/// assert_eq!(row.item_size(), 12);
/// # Ok::<(), trilith::Error>(())
/// ```
///
/// # Errors
/// Returns [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) naming the nearest known datatype.
pub fn datatype_named(text: &str, order: Option<Byteorder>, limits: &Limits) -> Result<(Datatype, Byteorder)> {
    let ours = order.unwrap_or(Byteorder::NATIVE);
    if let Some((datatype, own)) = crate::array::numpy_name(text) {
        return Ok((datatype, own.unwrap_or(ours)));
    }
    let tree = crate::tree::Tree::parse(text, limits)?;
    Ok((read_datatype(tree.root(), ours, limits)?, ours))
}

/// Reads a datatype: a name, `[ascii, n]`, `[ucs4, n]`, or the list of the fields of a structure.
///
/// `byteorder` is that of what states none itself.
///
/// # Errors
/// Returns [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) naming the nearest known datatype.
pub(crate) fn read_datatype(node: Node<'_>, byteorder: Byteorder, limits: &Limits) -> Result<Datatype> {
    // Structures within structures: what is being read, and the fields found so far.
    struct FieldLevel<'t> {
        fields: Vec<Field>,
        items: Vec<Node<'t>>,
        next: usize,
        /// Name and shape that the finished structure has in the one around it.
        name: Option<String>,
        shape: Vec<u64>,
        byteorder: Byteorder,
        /// Node of the structure, and the byte order around it.
        place: (NodeId, Byteorder),
    }
    if let Some(simple) = simple_datatype(node)? {
        return Ok(simple);
    }
    let start = |node, name, shape, byteorder| FieldLevel {
        fields: Vec::new(),
        items: Node::items(node).collect(),
        next: 0,
        name,
        shape,
        byteorder,
        place: (Node::id(node), byteorder),
    };
    // Aliases make a million fields of a few lines: what is the same is read once and shared.
    let mut known: HashMap<(NodeId, Byteorder), Arc<StructType>> = HashMap::new();
    let mut stack = vec![start(node, None, Vec::new(), byteorder)];
    loop {
        limits.charge_depth(stack.len(), "a structured datatype").with_context(|| format!("line {}", node.line_column().0))?;
        let Some(level) = stack.last_mut() else { return Err(node.error("no datatype")) };
        if let Some(item) = level.items.get(level.next).copied() {
            level.next += 1;
            let (inner, name, dims, order) = field_parts(item, level.byteorder)?;
            let made = known.get(&(inner.id(), order)).cloned().map(Datatype::Struct);
            match made.map_or_else(|| simple_datatype(inner), |made| Ok(Some(made)))? {
                Some(done) => level.fields.push(made_field(name, done, order, dims)),
                None => stack.push(start(inner, name, dims, order)),
            }
            continue;
        }
        let Some(done) = stack.pop() else { return Err(node.error("no datatype")) };
        let made = Arc::new(StructType::packed_from(done.fields).map_err(|e| node.locate(e))?);
        known.insert(done.place, made.clone());
        match stack.last_mut() {
            Some(outer) => outer.fields.push(made_field(done.name, Datatype::Struct(made), done.byteorder, done.shape)),
            None => {
                // Reading elements goes through all of them.
                limits.charge_work(FIELD_COST.saturating_mul(made.total_fields()))?;
                return Ok(Datatype::Struct(made));
            }
        }
    }
}

fn made_field(name: Option<String>, datatype: Datatype, byteorder: Byteorder, shape: Vec<u64>) -> Field {
    match name {
        Some(name) => Field::new(name, datatype, byteorder),
        None => Field::without_name(datatype, byteorder),
    }
    .with_shape(shape)
}

/// Returns a key that an ndarray or a field of it does not have, and the one that is spelt nearly so: without it the elements may be
/// read otherwise.
pub(crate) fn find_misspelt_key(node: Node<'_>) -> Option<(String, &'static str)> {
    const FIELD_KEYS: [&str; 5] = ["name", "datatype", "dtype", "byteorder", "shape"];
    const NODE_KEYS: [&str; 9] = ["byteorder", "datatype", "dtype", "source", "data", "strides", "offset", "shape", "mask"];
    let misspelt = |node: Node<'_>, known: &'static [&'static str]| {
        let unknown = node.entries().map(|(name, _)| name.text().into_owned()).filter(|name| !known.contains(&name.as_str()));
        unknown.into_iter().find_map(|name| {
            let near = nearest(&name, known.iter().copied())?;
            let key = known.iter().find(|key| **key == near && node.get(key).is_none())?;
            Some((name, *key))
        })
    };
    let fields = node.get("datatype").or_else(|| node.get("dtype"));
    let fields = fields.into_iter().flat_map(Node::items).filter(|field| field.is_mapping());
    misspelt(node, &NODE_KEYS).or_else(|| fields.into_iter().find_map(|field| misspelt(field, &FIELD_KEYS)))
}

/// Datatype node, name, shape and byteorder of one field.
fn field_parts(item: Node<'_>, byteorder: Byteorder) -> Result<(Node<'_>, Option<String>, Vec<u64>, Byteorder)> {
    if !item.is_mapping() {
        return Ok((item, None, Vec::new(), byteorder));
    }
    for key in ["name", "datatype", "dtype", "byteorder", "shape"] {
        if let Some(value) = item.get(key).filter(|value| value.is_null()) {
            return Err(value.error(format!("the {key} of a field is null")).hint(format!("give {key} a value, or remove it")));
        }
    }
    let inner = item
        .get("datatype")
        .or_else(|| item.get("dtype"))
        .ok_or_else(|| item.suggest_key(item.error("a field has no datatype"), "datatype"))?;
    let order = item.get("byteorder").map(parse_byteorder).transpose()?.unwrap_or(byteorder);
    let name = item.get("name").map(|name| name.text().into_owned());
    let mut dims = Vec::new();
    for dim in item.get("shape").map(parse_shape).transpose()?.unwrap_or_default() {
        match dim {
            ShapeDimension::Fixed(n) => dims.push(n),
            ShapeDimension::Streamed => return Err(item.error("the shape of a field has no *")),
        }
    }
    Ok((inner, name, dims, order))
}

/// A datatype that is not a structure; None if it is one.
fn simple_datatype(node: Node<'_>) -> Result<Option<Datatype>> {
    if node.is_scalar() {
        let name = node.text();
        return match Datatype::from_name(&name) {
            Some(found) => Ok(Some(found)),
            None => {
                let hint = match &*name {
                    "ascii" | "ucs4" => Some(format!("a text type has a length: [{name}, 8]")),
                    name => nearest(name, Datatype::known_names()).map(|near| format!("did you mean {near}?")),
                };
                let error = node.error(format!("unknown datatype {name:?}"));
                Err(match hint {
                    Some(hint) => error.hint(hint),
                    None => error,
                })
            }
        };
    }
    if !node.is_sequence() {
        return Err(node.error("a datatype is a name or a list"));
    }
    let mut items = node.items();
    let name = items.next().filter(|first| first.is_scalar()).map(Node::text);
    let Some(name) = name.filter(|name| *name == "ascii" || *name == "ucs4") else { return Ok(None) };
    let error = |found: String| Err(node.error(found).hint(format!("a text type is a pair of name and length: [{name}, 8]")));
    match (items.next(), items.next()) {
        (Some(length), None) => match length.as_u64() {
            Some(length) => Datatype::with_length(&name, length).map(Some).map_err(|e| node.locate(e)),
            None => {
                error(format!("the length of the datatype {name} is {}, expected a whole number from 0", length.source_text()))
            }
        },
        (None, _) => error(format!("the datatype {name} has no length")),
        (Some(_), Some(_)) => error(format!("the datatype {name} is a list of {} items, expected two", node.len())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_era_tags_its_arrays() {
        for tag in [
            "tag:stsci.edu:finf/0.1.0/ndarray",
            "tag:stsci.edu:finf/0.1.0/core/ndarray",
            "tag:stsci.edu:asdf/0.1.0/core/ndarray",
            "tag:stsci.edu:asdf/core/ndarray-0.1.0",
            "tag:stsci.edu:asdf/core/ndarray-1.1.0",
            "asdf://asdf-format.org/zarr/tags/zarr-1.0.0",
        ] {
            assert!(is_ndarray_tag(tag), "{tag}");
        }
        for tag in ["tag:stsci.edu:asdf/core/ndarrayish", "tag:yaml.org,2002:seq", "tag:stsci.edu:asdf/core/ndarray-x"] {
            assert!(!is_ndarray_tag(tag), "{tag}");
        }
    }
}
