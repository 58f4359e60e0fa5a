//! A tree as HDUs for programs that read FITS only.
//!
//! An array that FITS can hold is stored in its HDU alone. Any other one that FITS has a form for (half floats, masked
//! elements, inline data) stays in the ASDF extension, and its HDU is a second form of it. Scalars become cards.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::CoordinateHeader;
use super::coordinates::{self, CoordinateHeaders};
use super::dudley_asdf::EARLY_KEY;
use super::quantity::is_quantity_tag;
use crate::array::attribute::{AttributeValue, NumberValue};
use crate::array::{Array, ElementValue};
use crate::asdf::annotations::ItemAnnotation;
use crate::asdf::{AsdfFile, walk};
use crate::error::{ErrorKind, Result};
use crate::file::annotations::attribute_name;
use crate::fits::{self, Card, CardValue, HduData, Header};
use crate::tree::{Node, NodeId, TreePath};
use crate::yaml::Scalar;

/// The longest EXTNAME.
const MAX_EXTNAME_LEN: usize = 60;
/// Number of paths that a note names.
const MAX_NAMED_PATHS: usize = 5;
/// Members of the root that say which programs wrote the file and what it was made of.
const PROVENANCE_KEYS: [&str; 3] = ["asdf_library", "history", EARLY_KEY];

/// The HDUs of a tree.
#[derive(Default)]
pub(super) struct HduList {
    /// The HDUs, the primary one first.
    pub hdus: Vec<HduData>,
    /// The sources of the arrays that are stored in an HDU alone.
    pub sources: BTreeMap<NodeId, String>,
    /// Content that readers of FITS see otherwise, or not at all.
    pub notes: Vec<String>,
}

/// Returns the HDUs of a tree.
///
/// # Errors
/// Returns `Limit` if the arrays are more than a command may go through, and what reading masks returns.
pub(super) fn hdus(file: &AsdfFile, coordinates: CoordinateHeader) -> Result<HduList> {
    let mut making = HduBuilder {
        file,
        headers: CoordinateHeaders::new(coordinates),
        shown: HduList::default(),
        remaining: Vec::new(),
        cards: Vec::new(),
        work: 0,
    };
    let mut arrays = HashSet::new();
    let (mut nodes, mut names) = (HashSet::new(), HashSet::new());
    let mut all = walk::arrays(file)?;
    all.sort_by_key(|listed| listed.path != "/data");
    let mut others = Vec::new();
    let worlds = coordinates::coordinate_paths(file)?;
    let is_coordinate = |path: &str| worlds.iter().any(|place| path.starts_with(place.as_str()));
    for listed in all {
        let here = listed.location.ok().filter(|found| std::ptr::eq(found.file(file), file)).map(|found| found.node(file).id());
        let Some(node) = here.and_then(|id| file.tree().node(id)) else {
            making.remaining.push(listed.path);
            continue;
        };
        arrays.insert(node.id());
        if is_coordinate(&listed.path) {
            continue;
        }
        // A name refers to one array. The numbers of a quantity are the array of that name.
        let quantity = listed.path.strip_suffix("/value").filter(|path| {
            let above = file.tree().node_at_pointer(path);
            above.is_some_and(|above| above.tag().is_some_and(is_quantity_tag))
        });
        let name = quantity.unwrap_or(&listed.path).trim_start_matches('/').to_uppercase();
        if !nodes.insert(node.id()) {
            continue;
        }
        if !is_name(&name) || !names.insert(name.clone()) {
            making.remaining.push(listed.path);
            continue;
        }
        match making.build_array_hdu(&listed.path, &name, node) {
            Ok(Some(part)) if listed.path == "/data" && fits::is_image_part(&part) => making.shown.hdus.push(part),
            Ok(Some(part)) => others.push(part),
            Ok(None) => {}
            Err(error) if matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::Unsupported | ErrorKind::Malformed) => {
                making.remaining.push(listed.path);
            }
            Err(error) => return Err(error),
        }
    }
    making.add_scalar_cards(&arrays);
    making.remaining.retain(|path| !is_coordinate(path));
    let HduBuilder { mut shown, remaining: left, cards, .. } = making;
    if shown.hdus.is_empty() {
        shown.hdus.push(HduData::primary(None)?);
    }
    shown.hdus.extend(others);
    if let Some(primary) = shown.hdus.first_mut() {
        let known: Vec<Card> = primary.header.cards().to_vec();
        let is_new = |card: &Card| known.iter().all(|other| other.keyword() != card.keyword());
        let added: Vec<Card> = cards.into_iter().filter(is_new).collect();
        primary.header = Header::new(known.iter().cloned().chain(added).collect());
    }
    if !left.is_empty() {
        let more = if left.len() > MAX_NAMED_PATHS { ", …" } else { "" };
        let named: Vec<&str> = left.iter().take(MAX_NAMED_PATHS).map(String::as_str).collect();
        shown
            .notes
            .push(format!("only the ASDF extension holds {}{more}: Trilith writes no HDU and no card for it", named.join(", ")));
    }
    Ok(shown)
}

/// Returns `true` if a name is an EXTNAME that leads to one HDU. A name of digits alone is the number of an HDU.
fn is_name(name: &str) -> bool {
    name.bytes().any(|b| !b.is_ascii_digit())
        && name.bytes().all(|b| b.is_ascii_graphic())
        && name.len() <= MAX_EXTNAME_LEN
        && name != "ASDF"
        && name != "PRIMARY"
        && !name.contains([',', '\''])
}

struct HduBuilder<'a> {
    file: &'a AsdfFile,
    headers: CoordinateHeaders,
    shown: HduList,
    /// The paths of what no HDU holds.
    remaining: Vec<String>,
    /// Cards of the primary HDU.
    cards: Vec<Card>,
    /// Bytes of the arrays so far.
    work: u64,
}

impl HduBuilder<'_> {
    /// The HDU of an array; None if it is a card, or in none.
    fn build_array_hdu(&mut self, path: &str, name: &str, node: Node<'_>) -> Result<Option<HduData>> {
        let array = match self.file.stored_array(node) {
            Err(error) if error.kind().is_transient() => return Err(error),
            Err(_) => None,
            Ok(array) => Some(array.with_item_name("", path)).filter(|array| !array.is_empty()),
        };
        let Some(array) = array else {
            self.remaining.push(path.to_owned());
            return Ok(None);
        };
        if array.shape().is_empty() && array.mask().is_none() && self.scalar_array(path, &array)? {
            return Ok(None);
        }
        // Work beyond the limit is refused before the first array is written.
        self.work = self.work.saturating_add(array.nbytes());
        self.file.limits().check_work(self.work)?;
        let is_masked = array.masked_count()? > 0;
        let bare = array.clone().without_mask();
        let mut changes = fits::losses(&bare);
        let is_primary = path == "/data" && fits::is_image(array.datatype());
        let made = match is_masked {
            true => HduData::masked_array(name, is_primary, &array)?,
            false if is_primary => Some(HduData::primary(Some(&bare))?),
            false => Some(HduData::extension(name, &bare)?),
        };
        let Some(mut part) = made else {
            self.remaining.push(path.to_owned());
            return Ok(None);
        };
        fits::check_characters(&part)?;
        for card in array_cards(self.file, path) {
            if part.header.card(card.keyword()).is_none() {
                part.header.push(card);
            }
        }
        if is_masked {
            let cards = part.header.cards().iter().filter(|card| is_null(card.keyword()));
            let named: Vec<String> = cards.map(|card| format!("{} = {}", card.keyword(), card.value())).collect();
            changes
                .push(format!("the mask, which becomes {}", if named.is_empty() { "NaN".to_owned() } else { named.join(", ") }));
        }
        if changes.is_empty() && node.get("source").is_some() {
            let source = if is_primary { "fits:0".to_owned() } else { format!("fits:{name},1") };
            self.shown.sources.insert(node.id(), source);
        } else if !changes.is_empty() {
            let place = if is_primary { "the primary HDU".to_owned() } else { format!("HDU {name}") };
            let changes = changes.join("; ");
            self.shown
                .notes
                .push(format!("{path}: {place} has a converted copy ({changes}); the array itself is in the ASDF extension"));
        }
        self.shown.notes.extend(self.headers.add_coordinate_cards(self.file, path, &array, &mut part)?);
        Ok(Some(part))
    }

    /// Makes a card of an array of one element without axes. Returns `false` if FITS has none for it.
    fn scalar_array(&mut self, path: &str, array: &Array) -> Result<bool> {
        if array.datatype().as_struct().is_some() {
            return Ok(false);
        }
        let value = match array.scalar()? {
            ElementValue::Bool(value) => CardValue::Logical(value),
            ElementValue::Int(value) => CardValue::Integer(value.into()),
            ElementValue::Uint(value) => CardValue::Integer(value.into()),
            ElementValue::Float(value, _) if value.is_finite() => CardValue::Float(value),
            ElementValue::Text(text) => CardValue::Text(text),
            _ => return Ok(false),
        };
        let Some(card) = TreePath::parse(path).ok().and_then(|path| build_scalar_card(path.keys(), &value, &HashMap::new()))
        else {
            return Ok(false);
        };
        self.cards.push(card);
        Ok(true)
    }

    /// Makes cards of the scalars in the mappings of the tree, and lists what else there is.
    fn add_scalar_cards(&mut self, arrays: &HashSet<NodeId>) {
        let mut found: Vec<(Vec<String>, Option<CardValue>)> = Vec::new();
        let root = self.file.tree().root();
        let (mut open, mut entered) = (vec![(Vec::new(), root)], HashSet::new());
        while let Some((path, node)) = open.pop() {
            if !entered.insert(node.id()) {
                continue;
            }
            let mut below = Vec::new();
            for (key, value) in node.pairs() {
                let key = key.text().into_owned();
                let value = value.alias_target().unwrap_or(value);
                let is_mapping = self.file.annotations().is_some_and(|mapping| mapping.id() == value.id());
                if arrays.contains(&value.id()) || (path.is_empty() && (is_mapping || PROVENANCE_KEYS.contains(&key.as_str()))) {
                    continue;
                }
                let path: Vec<String> = path.iter().cloned().chain([key]).collect();
                match value {
                    value if value.is_mapping() => below.push((path, value)),
                    value if value.is_sequence() => found.push((path, None)),
                    value => found.push((path, card_value(value))),
                }
            }
            open.extend(below.into_iter().rev());
        }
        found.extend(self.group_attributes(arrays));
        // A short keyword refers to one scalar.
        let mut uses: HashMap<String, usize> = HashMap::new();
        for (path, _) in found.iter().filter(|(_, value)| value.is_some()) {
            *uses.entry(path.last().map(|key| key.to_uppercase()).unwrap_or_default()).or_default() += 1;
        }
        for (path, value) in found {
            match value.and_then(|value| build_scalar_card(&path, &value, &uses)) {
                Some(card) => self.cards.push(card),
                None => self.remaining.push(path.iter().fold(TreePath::root(), |path, key| path.join(key.as_str())).to_string()),
            }
        }
    }
}

impl HduBuilder<'_> {
    /// The attributes of items that are not arrays, which have no separate header. The others are in the header of the array.
    fn group_attributes(&self, arrays: &HashSet<NodeId>) -> Vec<(Vec<String>, Option<CardValue>)> {
        let mapping = self.file.annotations();
        let mut found = Vec::new();
        for (path, said) in mapping.map_or_else(Vec::new, Node::pairs) {
            let Ok(path) = TreePath::parse(&path.text()) else { continue };
            let Some(node) = self.file.tree().find(&path) else { continue };
            let value = node.get("value").filter(|_| node.tag().is_some_and(is_quantity_tag));
            if arrays.contains(&node.id()) || value.is_some_and(|value| arrays.contains(&value.id())) {
                continue;
            }
            let Ok(said) = ItemAnnotation::from_node(said, self.file.limits()) else { continue };
            for attribute in said.item_attributes() {
                let value = attribute_card_value(&attribute.value);
                found.push((path.keys().iter().cloned().chain([attribute.name]).collect(), value));
            }
        }
        found
    }
}

/// Returns `true` if a card names the stored integer of masked elements.
fn is_null(keyword: &str) -> bool {
    keyword == "BLANK" || keyword.strip_prefix("TNULL").is_some_and(|column| column.parse::<u32>().is_ok())
}

/// Cards of what is said about an array: the unit of a quantity, and the attributes of a dataset of another format.
fn array_cards(file: &AsdfFile, path: &str) -> Vec<Card> {
    let mut cards: Vec<Card> = Vec::new();
    let mut unit = |unit: Option<&str>| {
        let text = unit.filter(|text| !text.is_empty() && text.is_ascii()).and_then(|text| Card::new("BUNIT", text, "").ok());
        cards.extend(text.filter(|card| card.bytes().len() == fits::RECORD_LEN));
    };
    let above = path.strip_suffix("/value").and_then(|parent| file.tree().node_at_pointer(parent));
    unit(above.and_then(|parent| parent.get("unit")).filter(|unit| unit.is_scalar()).map(Node::text).as_deref());
    let Some(node) = file.tree().node_at_pointer(path) else { return cards };
    let mut values: Vec<(String, Option<CardValue>)> = Vec::new();
    if let Some(said) = file.annotation(node).and_then(|said| ItemAnnotation::from_node(said, file.limits()).ok()) {
        unit(said.unit_text());
        values.extend(said.item_attributes().into_iter().map(|one| (one.name, attribute_card_value(&one.value))));
    } else if let Some(early) = file.tree().root().get(EARLY_KEY).and_then(|early| early.get("attributes")?.get(path)) {
        unit(early.get("units").filter(|unit| unit.is_scalar()).map(Node::text).as_deref());
        let scalars = early.pairs().into_iter().filter(|(_, value)| value.is_scalar());
        values.extend(scalars.map(|(key, value)| (attribute_name(&key.text()).into_owned(), card_value(value))));
    }
    let card = |(name, value): (String, Option<CardValue>)| build_scalar_card(&[name], &value?, &HashMap::new());
    cards.extend(values.into_iter().filter_map(card));
    cards
}

/// The value of an attribute; None if cards have none for it.
fn attribute_card_value(value: &AttributeValue) -> Option<CardValue> {
    Some(match value {
        AttributeValue::Empty => CardValue::Undefined,
        AttributeValue::Bool(value) => CardValue::Logical(*value),
        AttributeValue::Text(text) | AttributeValue::Reference(text) => CardValue::Text(text.clone()),
        AttributeValue::Number(number) => match number.value {
            NumberValue::Int(whole) => CardValue::Integer(whole),
            NumberValue::Float(value) if value.is_finite() => CardValue::Float(value),
            NumberValue::Complex(re, im) if re.is_finite() && im.is_finite() => CardValue::Complex(re, im),
            _ => return None,
        },
        _ => return None,
    })
}

/// The value of a scalar; None if cards have none for it.
fn card_value(node: Node<'_>) -> Option<CardValue> {
    Some(match node.scalar() {
        Scalar::Null => CardValue::Undefined,
        Scalar::Bool(value) => CardValue::Logical(value),
        Scalar::Int(value) => CardValue::Integer(value.into()),
        Scalar::BigInt(digits) => CardValue::Integer(digits.parse().ok()?),
        Scalar::Float(value) if value.is_finite() => CardValue::Float(value),
        Scalar::Float(_) => return None,
        Scalar::Str(text) | Scalar::Timestamp(text) => CardValue::Text(text.into_owned()),
        _ => return None,
    })
}

/// The card of a scalar: under the last key if that is a keyword which nothing else has, with the path as comment; else under
/// all keys, by the HIERARCH convention.
fn build_scalar_card(path: &[String], value: &CardValue, uses: &HashMap<String, usize>) -> Option<Card> {
    if let CardValue::Text(text) = value
        && !text.bytes().all(|byte| matches!(byte, b' '..=b'~'))
    {
        return None;
    }
    let last = path.last()?.to_uppercase();
    let is_keyword = (1..=8).contains(&last.len())
        && last.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
        && !fits::is_reserved(&last);
    if is_keyword && (path.len() == 1 || uses.get(&last).is_none_or(|uses| *uses == 1)) {
        let pointer = path.iter().fold(TreePath::root(), |path, key| path.join(key.as_str())).to_string();
        let comment = if path.len() > 1 && pointer.is_ascii() { pointer.as_str() } else { "" };
        let is_short = |card: &Card| card.bytes().len() == fits::RECORD_LEN;
        let commented = Card::new(&last, value.clone(), comment).ok().filter(is_short);
        return commented.or_else(|| Card::new(&last, value.clone(), "").ok());
    }
    let words = path.join(" ").to_uppercase();
    let is_plain = words.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b' '));
    // Readers disagree on what continues a long string of such a card.
    let made = if is_plain && !fits::is_reserved(&words) {
        Card::new(&format!("HIERARCH {words}"), value.clone(), "").ok()
    } else {
        None
    };
    made.filter(|card| card.bytes().len() == fits::RECORD_LEN)
}
