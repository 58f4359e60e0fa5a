//! The `fits` list of a tree: a FITS file inside an ASDF file.
//!
//! ASDF 0.1.0dev, section 4.2 (`!fits/fits`), and fits/fits-1.0.0 of the later standards: a list of
//! {header: [[keyword, value, comment], …], data: ndarray}. A triple does not tell how a card was
//! spelt; if that cannot be made from it, the card itself is kept in a second list
//! ([`FitsTree::cards`]), so that the way back gives every byte again.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::sync::Arc;

use super::card::{Card, CardValue, RECORD_LEN};
use super::fits_file::FitsFile;
use super::hdu::{Hdu, HduKind};
use super::hdu_data::HduData;
use super::header::Header;
use super::heap;
use super::table::Column;
use crate::array::{Array, Byteorder, Datatype, Field, StructType};
use crate::bytes::to_usize;
use crate::error::{Result, ResultExt};
use crate::tree::{Node, Scalar, UNREADABLE, Value, ValueData};

/// Key of [`FitsTree::cards`], next to the `fits` list at the root of the tree.
pub const CARDS_KEY: &str = "fits_cards";

/// Key of [`FitsTree::heaps`].
pub const HEAP_KEY: &str = "fits_heap";

/// Characters that fits/fits-1.0.0 allows for keyword, value and comment.
const SCHEMA_MAX_CHARS: [usize; 3] = [8, 60, 60];

/// A FITS file as values of a tree.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct FitsTree {
    /// The `fits` list, without its tag.
    pub fits: Value,
    /// Cards whose spelling the list does not tell, as [HDU, card, text]; None if there are none.
    pub cards: Option<Value>,
    /// The columns of varying length: {HDU: {column: [one ndarray for each row]}}, views of the bytes of the
    /// HDU. They say nothing that its bytes do not, and are not read back. None if there are none.
    pub heaps: Option<Value>,
    /// `true` if the list keeps to the lengths that the schema fits/fits-1.0.0 allows. Cards may be longer; then
    /// the tag `tag:astropy.org:astropy/fits/fits-1.0.0`, which has no such rule, is right.
    pub is_strict: bool,
}

/// A node of a tree that the parts made of it hold.
#[derive(Debug, Clone, Copy)]
pub enum ConsumedNode<'t> {
    /// A node, without those below it.
    Node(Node<'t>),
    /// A node and all below it.
    All(Node<'t>),
    /// The node that describes the elements of an ndarray.
    Array(Node<'t>),
}

/// Makes the `fits` list; `data` gives the node for the data of an HDU, from [`FitsFile::writable_array`] or [`FitsFile::array`],
/// and None for an HDU without data. If the array cannot be read, `data` may leave it out, describe it by the reason, or
/// return the error.
///
/// # Errors
/// Returns the errors of `data`, and an error for a broken HDU.
///
/// ```
/// # use std::sync::Arc;
/// # use trilith_fits::fits::*;
/// # use trilith_io::{Limits, bytes::MemorySource};
/// # use trilith_yaml::tree::Value;
/// # let mut bytes = Vec::new();
/// # write(&mut bytes, &[HduData::primary(None)?])?;
/// let fits = FitsFile::open(Arc::new(MemorySource::new(bytes, "example")), &Limits::default())?;
/// let listing = to_value(&fits, &mut |_| Ok(None))?;
/// let simple = &listing.fits.items()[0].get("header").unwrap().items()[0];
/// assert_eq!(simple.items()[0].as_str(), Some("SIMPLE"));
/// # Ok::<(), trilith_fits::Error>(())
/// ```
pub fn to_value(fits: &FitsFile, data: &mut dyn FnMut(&Hdu) -> Result<Option<Value>>) -> Result<FitsTree> {
    let list = Value::seq(hdu_items(fits, true, data).collect::<Result<Vec<_>>>()?);
    let (mut kept, mut is_strict) = (Vec::new(), true);
    let mut heaps = Value::map::<&str, Value>([]);
    for (hdu, item) in fits.hdus().iter().zip(list.items()) {
        let triples = item.get("header").map_or(&[][..], Value::items);
        for (at, (card, triple)) in hdu.header().cards().iter().zip(triples).enumerate() {
            // The schema allows no value that is undefined.
            let is_allowed = |(item, most): (&Value, usize)| {
                item.data != ValueData::Null && item.as_str().is_none_or(|text| text.len() <= most)
            };
            is_strict &= triple.items().iter().zip(SCHEMA_MAX_CHARS).all(is_allowed);
            if card_of(triple).map_or(true, |made| made.bytes() != card.bytes()) {
                let text: String = card.bytes().iter().map(|b| char::from(*b)).collect();
                kept.push(
                    Value::seq([Value::from(hdu.index()), Value::from(at), Value::from(text.trim_end_matches(' '))]).flow(),
                );
            }
        }
        if hdu.kind() == HduKind::Table
            && hdu.error().is_none()
            && let Some(node) = item.get("data")
            && let Some(views) = heap::build_heap_views(fits, hdu, node)?
        {
            heaps.set(hdu.index().to_string(), views);
        }
    }
    let cards = Some(kept).filter(|kept| !kept.is_empty()).map(Value::seq);
    let heaps = Some(heaps).filter(|heaps| !heaps.entries().is_empty());
    Ok(FitsTree { fits: list, cards, heaps, is_strict })
}

/// Makes the items of the `fits` list of a FITS file, one for each HDU, with or without the cards of its header. An item is the error of
/// `data` if that returns one.
pub fn hdu_items(
    fits: &FitsFile,
    has_cards: bool,
    data: &mut dyn FnMut(&Hdu) -> Result<Option<Value>>,
) -> impl Iterator<Item = Result<Value>> {
    fits.hdus().iter().map(move |hdu| {
        let cards = if has_cards { hdu.header().cards() } else { &[] };
        let mut item = Value::map([("header", Value::seq(cards.iter().map(|card| card_triple(card).flow())))]);
        if let Some(node) = data(hdu)? {
            item.set("data", node);
        }
        Ok(item)
    })
}

/// Reads a `fits` list. `cards` is the node under [`CARDS_KEY`], if it exists, and `array` opens the arrays.
///
/// `data` may also be a table of columns (core/table or astropy's), which becomes rows.
///
/// `taken` receives each node that belongs to an HDU. Other nodes belong to none of them.
///
/// A card of `cards` counts as long as it has the content of its triple in the `fits` list, so that changes of that list have
/// priority. If rows or HDUs were added, removed or moved, the cards move with them.
///
/// # Errors
/// Returns [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) at the line and column of an invalid list, and the
/// errors of `array`.
pub fn from_node(
    list: Node<'_>,
    cards: Option<Node<'_>>,
    array: &mut dyn FnMut(Node<'_>) -> Result<Array>,
    taken: &mut dyn FnMut(ConsumedNode<'_>) -> Result<()>,
) -> Result<Vec<HduData>> {
    if !list.is_sequence() {
        return Err(list.error("the fits node is not a list of HDUs"));
    }
    let rows_of = |item: Node<'_>| -> Result<Vec<Value>> {
        let header = item.require("header")?;
        if !header.is_sequence() {
            return Err(header.error("a FITS header is a list of [keyword, value, comment]"));
        }
        header.items().map(node_triple).collect()
    };
    let all = list.items().map(rows_of).collect::<Result<Vec<_>>>()?;
    let kept = KeptCards::from_list(cards, &all);
    let mut parts = Vec::new();
    taken(ConsumedNode::Node(list))?;
    for ((number, item), rows) in list.items().enumerate().zip(&all) {
        let header = item.require("header")?;
        taken(ConsumedNode::Node(item))?;
        taken(ConsumedNode::All(header))?;
        let mut made = Header::default();
        let mut same = kept.of_rows(number, rows);
        for ((at, node), given) in header.items().enumerate().zip(rows) {
            made.push(match same.get_mut(at).and_then(Option::take) {
                Some(card) => card,
                None => card_of(given).map_err(|e| node.error(e.to_string()))?,
            });
        }
        let data = item.get("data");
        if let Some(node) = data.filter(|node| node.is_null()) {
            taken(ConsumedNode::Node(node))?;
        }
        let data = data.filter(|node| !node.is_null()).map(|node| match node.get("columns") {
            Some(columns) => {
                taken(ConsumedNode::Node(node))?;
                from_columns(columns, &made, array, taken)
            }
            None => {
                taken(ConsumedNode::Array(node))?;
                array(node)
            }
        });
        let data = data.transpose().with_context(|| format!("HDU {number}"))?;
        parts.push(HduData::with_data(made, data));
    }
    Ok(parts)
}

/// The rows of a table that is given by its columns, each {name, data} (core/table, and what
/// asdf-astropy writes for the tables of FITS files). They are put together in memory.
fn from_columns(
    columns: Node<'_>,
    header: &Header,
    array: &mut dyn FnMut(Node<'_>) -> Result<Array>,
    taken: &mut dyn FnMut(ConsumedNode<'_>) -> Result<()>,
) -> Result<Array> {
    if !columns.is_sequence() {
        return Err(columns.error("the columns of a table are a list"));
    }
    let (mut fields, mut parts) = (Vec::new(), Vec::new());
    let mut rows = None;
    taken(ConsumedNode::Node(columns))?;
    for (number, column) in columns.items().enumerate() {
        let data = column.require("data")?;
        // A quantity: {value, unit}.
        let inner = data.get("value").unwrap_or(data);
        let values = array(inner)?;
        for node in [Some(column), Some(data), column.get("name")].into_iter().flatten() {
            taken(ConsumedNode::Node(node))?;
        }
        taken(ConsumedNode::Array(inner))?;
        let unit = column.get("unit").or_else(|| data.get("unit"));
        if let Some(unit) = unit.filter(|unit| header.text(&format!("TUNIT{}", number + 1)) == Some(&*unit.text())) {
            taken(ConsumedNode::Node(unit))?;
        }
        let Some((count, shape)) = values.shape().split_first() else {
            return Err(data.error("the column has no rows"));
        };
        if *rows.get_or_insert(*count) != *count {
            return Err(data.error(format!("the column has {count} rows, others have {}", rows.unwrap_or(0))));
        }
        let datatype = values.datatype().packed(Byteorder::Big);
        let name = column.get("name").and_then(|name| name.as_str());
        let field = name.map_or_else(
            || Field::without_name(datatype.clone(), Byteorder::Big),
            |name| Field::new(name, datatype.clone(), Byteorder::Big),
        );
        fields.push(field.with_shape(shape.to_vec()));
        parts.push(values);
    }
    let rows = rows.unwrap_or(0);
    let struct_type = StructType::packed_from(fields)?;
    let width = to_usize(struct_type.item_size())?;
    let size = struct_type.item_size().checked_mul(rows);
    let size = size.ok_or_else(|| columns.error("the table is larger than 2^64 bytes"))?;
    if let Some(first) = parts.first() {
        first.limits().charge_memory(size, "a table")?;
    }
    let mut bytes = vec![0; to_usize(size)?];
    for (field, values) in struct_type.fields().iter().zip(&parts) {
        let column = values.clone().without_mask().read_bytes(Byteorder::Big)?;
        let (at, len) = (to_usize(field.offset)?, column.len().checked_div(to_usize(rows)?).unwrap_or(0));
        for (row, cell) in bytes.chunks_exact_mut(width.max(1)).zip(column.chunks_exact(len.max(1))) {
            if let Some(place) = row.get_mut(at..at + len) {
                place.copy_from_slice(cell);
            }
        }
    }
    Array::from_bytes(bytes, Datatype::Struct(Arc::new(struct_type)), Byteorder::Big, vec![rows])
}

/// The cards kept next to the list.
struct KeptCards {
    /// Kept cards with their indices, by the number that the HDU had.
    cards: BTreeMap<usize, Vec<(usize, Card)>>,
    /// The number that each HDU had, if cards of it are kept.
    heading_cards: Vec<Option<usize>>,
}

impl KeptCards {
    /// Reads such a list and skips invalid entries; `all` are the rows of each HDU.
    fn from_list(list: Option<Node<'_>>, all: &[Vec<Value>]) -> Self {
        let mut cards = BTreeMap::<usize, Vec<(usize, Card)>>::new();
        for entry in list.into_iter().filter(|node| node.is_sequence()).flat_map(|node| node.items()) {
            let number = |at: usize| entry.index(at).and_then(|n| n.as_u64()).and_then(|n| usize::try_from(n).ok());
            let text = entry.index(2).and_then(|node| node.as_str());
            if let (Some(hdu), Some(at), Some(text)) = (number(0), number(1), text) {
                let mut bytes: Vec<u8> = text.chars().map(|c| u8::try_from(c as u32).unwrap_or(b'?')).collect();
                bytes.resize(bytes.len().next_multiple_of(RECORD_LEN), b' ');
                cards.entry(hdu).or_default().push((at, Card::parse(&bytes)));
            }
        }
        let before = numbers_before(&cards, all);
        Self { cards, heading_cards: before }
    }

    /// The cards of the rows of an HDU, if they are kept: each equals its row.
    fn of_rows(&self, number: usize, rows: &[Value]) -> Vec<Option<Card>> {
        let mut found = vec![None; rows.len()];
        let cards = self.heading_cards.get(number).copied().flatten().and_then(|before| self.cards.get(&before));
        let cards = cards.map_or(&[][..], Vec::as_slice);
        if cards_match(rows, cards) {
            for (at, card) in cards {
                if let Some(place) = found.get_mut(*at) {
                    *place = Some(card.clone());
                }
            }
            return found;
        }
        // Rows came, went or changed: of equal ones, one after the other.
        let mut left: HashMap<String, VecDeque<&Card>> = HashMap::new();
        for (_, card) in cards {
            left.entry(triple_key(&card_triple(card))).or_default().push_back(card);
        }
        for (row, place) in rows.iter().zip(&mut found) {
            *place = left.get_mut(&triple_key(row)).and_then(VecDeque::pop_front).cloned();
        }
        found
    }
}

/// Returns the number that each HDU had when the cards were kept: its present one if each card agrees with the row
/// in its place, else that of the most cards that agree with one of its rows.
fn numbers_before(cards: &BTreeMap<usize, Vec<(usize, Card)>>, all: &[Vec<Value>]) -> Vec<Option<usize>> {
    let mut before = vec![None; all.len()];
    let mut moved = Vec::new();
    for (hdu, cards) in cards {
        match (all.get(*hdu), before.get_mut(*hdu)) {
            (Some(rows), Some(place)) if cards_match(rows, cards) => *place = Some(*hdu),
            _ => moved.push((*hdu, cards.iter().map(|(_, card)| triple_key(&card_triple(card))).collect::<Vec<_>>())),
        }
    }
    let mut pairs = Vec::new();
    for (number, rows) in all.iter().enumerate().filter(|(number, _)| before.get(*number) == Some(&None)) {
        let keys: HashSet<String> = if moved.is_empty() { HashSet::new() } else { rows.iter().map(triple_key).collect() };
        for (hdu, cards) in &moved {
            let same = cards.iter().filter(|card| keys.contains(*card)).count();
            if same > 0 {
                pairs.push((std::cmp::Reverse(same), number.abs_diff(*hdu), number, *hdu));
            }
        }
    }
    pairs.sort_unstable();
    let mut taken = HashSet::new();
    for (_, _, number, hdu) in pairs {
        if let Some(place @ None) = before.get_mut(number)
            && taken.insert(hdu)
        {
            *place = Some(hdu);
        }
    }
    before
}

/// Values have no hash; their text has.
pub(super) fn triple_key(triple: &Value) -> String {
    format!("{triple:?}")
}

/// Returns `true` if each card equals the row in its place.
fn cards_match(rows: &[Value], cards: &[(usize, Card)]) -> bool {
    cards.iter().all(|(at, card)| rows.get(*at).is_some_and(|row| *row == card_triple(card)))
}

/// A card as the list writes it: [keyword, value, comment], the last ones left out if there are none.
pub(super) fn card_triple(card: &Card) -> Value {
    let comment = card.comment();
    let value = match card.value() {
        CardValue::Text(text) if card.is_commentary() && text.is_empty() => None,
        CardValue::Undefined if card.is_commentary() => None,
        CardValue::Undefined => Some(Value::null()),
        CardValue::Logical(value) => Some(Value::from(*value)),
        CardValue::Integer(n) => Some(match i64::try_from(*n) {
            Ok(n) => Value::from(n),
            // ASDF allows no larger numbers in its tree; BZERO of uint64 is a float as well.
            Err(_) if *n as f64 as i128 == *n => Value::from(*n as f64),
            Err(_) => Value::from(n.to_string()),
        }),
        CardValue::Float(x) => Some(Value::from(*x)),
        // YAML has no complex numbers that every reader of the list supports.
        CardValue::Complex(re, im) => Some(Value::from(format!("({re:?}, {im:?})"))),
        CardValue::Text(text) => Some(Value::from(text.as_str())),
    };
    match (card.keyword(), value, comment) {
        ("", None, _) => Value::seq::<Value>([]),
        (keyword, None, _) => Value::seq([keyword]),
        (keyword, Some(value), "") => Value::seq([keyword.into(), value]),
        (keyword, Some(value), comment) => Value::seq([keyword.into(), value, comment.into()]),
    }
}

/// Returns the card of a triple, in the fixed format.
pub(super) fn card_of(triple: &Value) -> Result<Card> {
    let items = triple.items();
    let keyword = items.first().and_then(Value::as_str).unwrap_or_default();
    let comment = items.get(2).and_then(Value::as_str).unwrap_or_default();
    let value = match items.get(1).map(|value| &value.data) {
        None | Some(ValueData::Null) if matches!(keyword, "" | "COMMENT" | "HISTORY") => CardValue::Text(String::new()),
        None | Some(ValueData::Null) => CardValue::Undefined,
        Some(ValueData::Bool(value)) => CardValue::Logical(*value),
        Some(ValueData::Int(n)) => CardValue::Integer((*n).into()),
        Some(ValueData::BigInt(digits)) => digits.parse().map_or_else(|_| CardValue::Text(digits.clone()), CardValue::Integer),
        Some(ValueData::Float(x)) => CardValue::Float(*x),
        Some(other) => CardValue::Text(Value::from(other.clone()).as_str().unwrap_or_default().to_owned()),
    };
    if keyword.is_empty() && items.len() < 2 {
        return Ok(Card::new_blank());
    }
    Card::new(keyword, value, comment)
}

/// Returns the triple of a node, in the form of [`card_triple`].
pub(super) fn node_triple(node: Node<'_>) -> Result<Value> {
    if !node.is_sequence() || node.len() > 3 {
        return Err(node.error("a FITS card is a list [keyword, value, comment]"));
    }
    let mut items = Vec::new();
    for (at, item) in node.items().enumerate() {
        if !item.is_scalar() {
            return Err(item.error("keyword, value and comment of a FITS card are scalars"));
        }
        items.push(match item.scalar() {
            Scalar::Bool(value) if at == 1 => Value::from(value),
            Scalar::Int(n) if at == 1 => Value::from(n),
            Scalar::BigInt(digits) if at == 1 => ValueData::BigInt(digits).into(),
            Scalar::Float(x) if at == 1 => Value::from(x),
            Scalar::Null if at == 1 => Value::null(),
            Scalar::Null => Value::from(""),
            // Keywords and comments are text whatever YAML takes them for: NO, 12, 2015-01-01.
            _ => Value::from(item.text().into_owned()),
        });
    }
    let is_commentary =
        items.first().and_then(Value::as_str).is_some_and(|keyword| matches!(keyword, "" | "COMMENT" | "HISTORY"));
    match items.len() {
        1 if !is_commentary => items.push(Value::null()),
        2 if is_commentary && items.get(1) == Some(&Value::null()) => drop(items.pop()),
        _ => {}
    }
    Ok(Value::seq(items))
}

/// The ndarray node of ASDF 1.x for the physical values of an HDU of the FITS file around the tree: `source: fits:2`, datatype,
/// byteorder and shape. A table with columns of varying length is a mapping of its columns, each an array or a list with one array
/// for each row. [`FitsFile::column_or_cell`] reads them.
///
/// # Errors
/// Returns [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) for broken keywords.
pub fn physical_node(fits: &FitsFile, hdu: &Hdu) -> Result<Option<Value>> {
    let is_without_data = match hdu.kind() {
        _ if hdu.error().is_some() => false,
        HduKind::Image => hdu.header().integer("NAXIS")? == Some(0),
        HduKind::Other => hdu.data().is_empty(),
        _ => false,
    };
    if is_without_data {
        return Ok(None);
    }
    // A fault of a header shows when its array is read.
    let (ragged, rows) = fits.ragged(hdu).unwrap_or_default();
    if ragged.is_empty() {
        return Ok(Some(node_of(&hdu.index().to_string(), fits.array(hdu))));
    }
    let mut columns = Value::map::<&str, Value>([]);
    for (at, (name, column)) in named_columns(hdu)?.into_iter().enumerate() {
        let spec = format!("{}:{at}", hdu.index());
        columns.set(
            name,
            match column.in_heap() {
                false => node_of(&spec, fits.column_or_cell(hdu, at, None)),
                true if rows.saturating_mul(ragged.len() as u64) <= heap::MAX_CELLS => {
                    Value::seq((0..rows).map(|row| source_only_node(&format!("{spec}:{row}")).flow()))
                }
                true => source_only_node(&spec),
            },
        );
    }
    Ok(Some(columns))
}

/// Does the same as [`physical_node`], for the stored values of an HDU. Returns None for an HDU without data.
pub fn stored_node(fits: &FitsFile, hdu: &Hdu) -> Option<Value> {
    let array = fits.writable_array(hdu).transpose()?;
    Some(node_of(&hdu.index().to_string(), array))
}

/// The node of an array. One that cannot be read is described as bytes, none of which are there, with the reason: asking
/// for the array returns it, too.
fn node_of(spec: &str, array: Result<Array>) -> Value {
    let why = match array {
        Ok(array) => return ndarray_node(spec, &array),
        Err(why) => why,
    };
    Value::map([
        ("source", Value::from(format!("fits:{spec}"))),
        ("datatype", "uint8".into()),
        ("byteorder", "big".into()),
        ("shape", Value::seq([0u64]).flow()),
        (UNREADABLE, why.message().into()),
    ])
    .tagged(NDARRAY_TAG)
}

/// Returns the columns of a table, each under a unique name: `col3` for one without, `_` after a name that is
/// taken.
///
/// # Errors
/// Returns the errors of [`columns`](super::columns).
pub fn named_columns(hdu: &Hdu) -> Result<Vec<(String, Column)>> {
    let mut names = HashSet::new();
    let mut named = Vec::new();
    for (at, column) in super::table::columns(hdu.header())?.into_iter().enumerate() {
        let mut name = if column.name.is_empty() { format!("col{}", at + 1) } else { column.name.clone() };
        while !names.insert(name.clone()) {
            name.push('_');
        }
        named.push((name, column));
    }
    Ok(named)
}

/// A node with only the place of its elements.
fn source_only_node(spec: &str) -> Value {
    Value::map([("source", Value::from(format!("fits:{spec}")))]).tagged(NDARRAY_TAG)
}

const NDARRAY_TAG: &str = "tag:stsci.edu:asdf/core/ndarray-1.1.0";

fn ndarray_node(spec: &str, array: &Array) -> Value {
    Value::map([
        ("source", Value::from(format!("fits:{spec}"))),
        ("datatype", datatype_value(array.datatype())),
        ("byteorder", array.byteorder().name().into()),
        ("shape", Value::seq(array.shape().iter().copied()).flow()),
    ])
    .tagged(NDARRAY_TAG)
}

/// The datatypes that FITS has; its structs do not nest.
pub(super) fn datatype_value(datatype: &Datatype) -> Value {
    match datatype {
        Datatype::Ascii(n) => Value::seq([Value::from("ascii"), Value::from(*n)]).flow(),
        Datatype::Struct(fields) => Value::seq(fields.fields().iter().map(|field| {
            let mut value = Value::map::<&str, Value>([]);
            if let Some(name) = &field.name {
                value.set("name", name.as_str());
            }
            value.set("datatype", datatype_value(&field.datatype));
            value.set("byteorder", field.byteorder.name());
            if !field.shape.is_empty() {
                value.set("shape", Value::seq(field.shape.iter().copied()).flow());
            }
            value.flow()
        })),
        plain => plain.name().into(),
    }
}
