//! The tree: the children of an item, one item with its details, and searching.

use std::collections::HashMap;

use serde_json::{Value, json};
use trilith::array::Datatype;
use trilith::array::attribute::ItemAttribute;
use trilith::asdf::{ElementsOrigin, Ndarray};
use trilith::file::{
    ArrayDescription, Backend, HduSummary, Item, ItemAddress, ItemKind, ItemLocation, ItemMetadata, children_text,
};
use trilith::interrupt::check;
use trilith::{Error, File, Result};

use super::arrays::item_at;
use super::columns::columns_of;
use super::{ViewerRequest, ViewerSession};
use crate::ImageOrigin;

/// Number of characters of a value that are shown in a line.
const MAX_VALUE_CHARS: usize = 200;
/// Maximum number of children in one answer.
const MAX_CHILDREN: u64 = 1000;

/// `tree`: some children of an item.
pub(super) fn answer_tree(session: &ViewerSession, request: &ViewerRequest) -> Result<Value> {
    let (offset, limit) = request.page_offset_limit(200, MAX_CHILDREN)?;
    let path = request.text_parameter("path");
    let opened = session.requested_file(request)?;
    let listed = opened.children(path)?;
    let backend = listed.backend(&opened.file);
    let children: Vec<Value> = listed
        .page_children(offset, limit)
        .map(|(index, child)| {
            let path = backend.child_path(path, &child, index);
            tree_line(backend, &child.place, child.name.as_deref(), index, &path)
        })
        .collect();
    Ok(json!({"path": path, "count": listed.len(), "offset": offset, "children": children}))
}

/// Returns one line of the tree.
fn tree_line(backend: &dyn Backend, place: &ItemLocation, name: Option<&str>, index: usize, path: &str) -> Value {
    let kind = backend.kind(place);
    let item = Item::new(backend, place.clone());
    let notes = item.metadata();
    let text = match kind {
        ItemKind::Array => {
            backend.describe(place).map_or_else(|error| format!("cannot be read: {error}"), |found| array_text(&found))
        }
        ItemKind::Mapping | ItemKind::List => children_text(&item),
        ItemKind::Reference => notes.reference.as_deref().map_or_else(|| "alias".to_owned(), |to| format!("→ {to}")),
        _ => backend.text(place).map_or_else(|error| error.to_string(), |text| shorten_text(&text)),
    };
    let hdu =
        if kind == ItemKind::Mapping { HduSummary::from_item(&item).filter(|_| item.header().owner().is_none()) } else { None };
    let (label, text) = match &hdu {
        Some(hdu) => (hdu.label(), hdu_text(&item, hdu)),
        None => (None, text),
    };
    json!({
        "name": name, "label": label, "index": index, "path": path, "kind": kind.name(), "text": text, "open": kind.is_collection(),
        "unit": notes.unit, "comment": notes.comment, "tag": notes.tag.map(short_tag), "role": notes.role,
    })
}

/// `search`: items and attributes (cards of a FITS header) whose name or value has a text in it, whatever its case.
pub(super) fn answer_search(session: &ViewerSession, request: &ViewerRequest) -> Result<Value> {
    let (skip, limit) = request.page_offset_limit(200, MAX_CHILDREN)?;
    let wanted = request.text_parameter("q").to_lowercase();
    if wanted.is_empty() {
        return Err(Error::invalid_input("nothing to search for").hint("give q"));
    }
    let opened = session.requested_file(request)?;
    let root = opened.file.root();
    let mut found = FoundLines { wanted: &wanted, lines: Vec::new(), skip, limit };
    let (mut walk, mut steps) = (root.walk(), 0u64);
    while let Some(visit) = walk.try_next()? {
        steps += 1;
        if steps.is_multiple_of(1000) {
            check()?;
        }
        let item = &visit.item;
        if item.header().is_card_list(visit.name.as_deref()) {
            // The cards are attributes of the HDU.
            walk.skip_children();
            continue;
        }
        let in_name = visit.name.as_deref().is_some_and(|name| found.fits(name));
        let is_value = matches!(item.kind(), ItemKind::Scalar | ItemKind::Text);
        let path = || walk.path();
        if in_name || is_value && item.text().is_ok_and(|text| found.fits(&text)) {
            found.push(|| tree_line(item.backend(), item.location(), visit.name.as_deref(), visit.index, &path()));
        }
        found.push_attributes(item, path)?;
        if found.is_full() {
            break;
        }
    }
    // The HDUs around an ASDF file are not children of its root.
    let is_embedded = root.as_asdf().is_some_and(|(file, _)| file.container().is_some_and(|container| container.hdu > 0));
    if is_embedded
        && !found.is_full()
        && let Ok(hdus) = opened.file.item("/fits")
    {
        for (number, (_, hdu)) in hdus.children()?.into_iter().enumerate() {
            found.push_attributes(&hdu, || format!("/fits/{number}"))?;
        }
    }
    let is_cut = found.is_full();
    found.lines.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
    Ok(json!({"more": is_cut, "children": found.lines}))
}

/// The lines that a search found, and one more if there are more than are asked for.
struct FoundLines<'w> {
    wanted: &'w str,
    lines: Vec<Value>,
    skip: u64,
    limit: u64,
}

impl FoundLines<'_> {
    fn fits(&self, text: &str) -> bool {
        contains_ignoring_case(text, self.wanted)
    }

    fn is_full(&self) -> bool {
        self.lines.len() as u64 > self.limit
    }

    fn push(&mut self, line: impl FnOnce() -> Value) {
        if self.skip > 0 {
            self.skip -= 1;
        } else if !self.is_full() {
            self.lines.push(line());
        }
    }

    /// Adds the attributes of an item that have the text.
    fn push_attributes(&mut self, item: &Item<'_>, path: impl Fn() -> String) -> Result<()> {
        let all = item.attributes()?;
        let mut counts: HashMap<&str, usize> = HashMap::new();
        for attribute in &all {
            let count = counts.entry(&attribute.name).or_insert(0);
            let index = *count;
            *count += 1;
            let value = attribute.value.to_string();
            if self.fits(&attribute.name) || self.fits(&value) {
                self.push(|| {
                    let path = path();
                    let address = ItemAddress::attribute(path.as_str(), &attribute.name, index).to_string();
                    json!({
                        "name": attribute.name, "index": index, "path": path, "address": address, "attribute": attribute.name,
                        "kind": "attribute", "text": shorten_text(&value), "open": false, "unit": attribute.unit,
                        "comment": attribute.comment,
                    })
                });
            }
        }
        Ok(())
    }
}

fn contains_ignoring_case(text: &str, wanted: &str) -> bool {
    text.to_lowercase().contains(wanted)
}

/// `item`: the details of an item.
pub(super) fn answer_item(session: &ViewerSession, request: &ViewerRequest) -> Result<Value> {
    let path = request.text_parameter("path");
    let opened = session.requested_file(request)?;
    let found = item_at(&opened, path)?;
    let kind = found.kind();
    let notes = found.metadata();
    let mut said = json!({
        "path": path, "kind": kind.name(), "views": Vec::<&str>::new(), "text": null, "count": null,
        "line": found.line_column().map(|(line, _)| line),
    });
    let Some(object) = said.as_object_mut() else { return Ok(said) };
    object.append(&mut metadata_json(&notes));
    object.insert("unit".to_owned(), json!(found.unit()));
    let hdu = HduSummary::from_item(&found).filter(|_| !path.is_empty());
    object.insert("hdu".to_owned(), json!(hdu.map(|hdu| json!({"label": hdu.label(), "kind": hdu.kind}))));
    object.insert("attributes".to_owned(), json!(attribute_rows(&header_attributes(&opened.file, path, &found)?)));
    match kind {
        ItemKind::Array => {
            match found.describe() {
                Ok(described) => object.insert("array".to_owned(), array_json(&described)),
                Err(error) => object.insert("problem".to_owned(), json!(error.to_string())),
            };
        }
        ItemKind::Mapping | ItemKind::List => {
            object.insert("summary".to_owned(), json!(children_text(&found)));
            // A list of numbers, or of equal arrays, is shown as an array.
            if let (ItemKind::List, Ok(array)) = (kind, found.as_array()) {
                let mut described = ArrayDescription::from_array(&array);
                described.storage = "a list".to_owned();
                object.insert("array".to_owned(), array_json(&described));
            }
        }
        _ => {
            let text = found.text()?;
            let (whole, lines) = (text.chars().count() <= 2000, text.lines().count());
            object.insert("text".to_owned(), json!(if whole { text.to_string() } else { shorten_text(&text) }));
            object.insert("lines".to_owned(), json!(lines));
        }
    }
    if object.get("array").is_some_and(|array| array["shape"].as_array().is_some_and(|shape| shape.len() > 1)) {
        let is_lower = ImageOrigin::Auto.is_lower(Some(&found));
        object.insert("origin".to_owned(), json!(if is_lower { "lower" } else { "upper" }));
        object.insert("axes".to_owned(), json!(found.axes()?.names));
    }
    object.insert("views".to_owned(), json!(available_views(&found)));
    Ok(said)
}

/// Returns the attributes that are shown next to an item: its own and those of the item that holds it. The list of the cards of a FITS
/// header has those cards, and so has an array of an ASDF file whose elements are those of an HDU.
fn header_attributes(file: &File, path: &str, item: &Item<'_>) -> Result<Vec<ItemAttribute>> {
    let name = path.rsplit('/').next();
    if item.header().is_card_list(name)
        && let Some((hdu, _)) = item.parent()
    {
        return hdu.attributes();
    }
    let all = item.header().attributes()?;
    if all.is_empty()
        && let Some((_, node)) = item.as_asdf()
        && item.kind() == ItemKind::Array
        && let Ok(Ndarray { origin: ElementsOrigin::FitsHdu(hdu), .. }) = Ndarray::parse(node, file.limits())
    {
        // An HDU that is missing is a problem of the array.
        return Ok(file.item(&format!("/fits/{hdu}")).and_then(|hdu| hdu.attributes()).unwrap_or_default());
    }
    Ok(all)
}

/// `IMAGE  float32 [60, 80]`, or the rows and columns of a table.
fn hdu_text(item: &Item<'_>, hdu: &HduSummary) -> String {
    let data = item.get("data").ok().flatten().and_then(|data| data.describe().ok());
    match data {
        Some(found) => match found.datatype.as_struct() {
            Some(row) => {
                let rows = found.shape.first().copied().unwrap_or(0);
                format!("{}  {rows} rows, {} columns", hdu.kind, row.fields().len())
            }
            None => format!("{}  {} {:?}", hdu.kind, datatype_text(&found.datatype), found.shape),
        },
        None => hdu.kind.clone(),
    }
}

/// The attributes of an item, one row each.
fn attribute_rows(attributes: &[ItemAttribute]) -> Vec<Value> {
    let row = |attribute: &ItemAttribute| {
        json!({
            "name": attribute.name, "value": attribute.value.to_string(), "unit": attribute.unit, "comment": attribute.comment,
        })
    };
    attributes.iter().map(row).collect()
}

fn metadata_json(notes: &ItemMetadata<'_>) -> serde_json::Map<String, Value> {
    let value = json!({
        "tag": notes.tag, "comment": notes.comment, "unit": notes.unit, "role": notes.role,
        "reference": notes.reference,
    });
    if let Value::Object(map) = value { map } else { serde_json::Map::new() }
}

fn array_json(found: &ArrayDescription) -> Value {
    json!({
        "datatype": datatype_text(&found.datatype), "shape": found.shape, "byteorder": found.byteorder.name(),
        "storage": found.storage, "offset": found.offset, "nbytes": found.nbytes, "filter": found.filter,
        "remarks": found.remarks, "is_complex": found.datatype.is_complex(), "item_size": found.datatype.item_size(),
    })
}

/// The ways in which an item can be looked at, the best one first.
fn available_views(item: &Item<'_>) -> Vec<&'static str> {
    if item.kind() == ItemKind::Text {
        return vec!["text"];
    }
    let has_columns = columns_of(item).is_ok_and(|columns| columns.is_some());
    let Ok(found) = item.describe().or_else(|_| item.as_array().map(|array| ArrayDescription::from_array(&array))) else {
        return if has_columns { vec!["table", "plot"] } else { vec![] };
    };
    let is_number = !found.datatype.is_text() && found.datatype.as_struct().is_none();
    match found.shape.len() {
        _ if found.datatype.as_struct().is_some() => vec!["table", "plot"],
        0 => vec![],
        1 if is_number => vec!["plot", "table"],
        1 => vec!["table"],
        // A handful of numbers is read more easily than looked at.
        2 if is_number && found.shape.iter().any(|length| *length < 4) => vec!["table", "image"],
        2 if is_number => vec!["image", "table"],
        _ if is_number => vec!["image"],
        _ => vec!["table"],
    }
}

/// `float32 [2048, 2048]  lz4`
fn array_text(found: &ArrayDescription) -> String {
    let remarks: String = found.remarks.iter().map(|remark| format!(", {remark}")).collect();
    format!("{} {:?}  {}{remarks}", shorten_text(&datatype_text(&found.datatype)), found.shape, found.storage)
}

/// A datatype for people: a name, a name with a length, or the fields of a structure.
pub(super) fn datatype_text(datatype: &Datatype) -> String {
    match datatype {
        Datatype::Ascii(n) | Datatype::Ucs4(n) | Datatype::Utf8(n) | Datatype::Ucs2(n) => format!("{}[{n}]", datatype.name()),
        Datatype::Struct(structure) => {
            let field = |(at, field): (usize, &trilith::array::Field)| {
                let shape = if field.shape.is_empty() { String::new() } else { format!(" {:?}", field.shape) };
                format!("{}: {}{shape}", field.name_or(at), datatype_text(&field.datatype))
            };
            let fields: Vec<String> = structure.fields().iter().enumerate().map(field).collect();
            format!("{{{}}}", fields.join(", "))
        }
        simple => simple.name().to_owned(),
    }
}

/// The beginning of a text that is too long for a line.
pub(super) fn shorten_text(text: &str) -> String {
    let line = text.lines().next().unwrap_or("");
    match line.char_indices().nth(MAX_VALUE_CHARS) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or("")),
        None if line.len() < text.trim_end().len() => format!("{line} …"),
        None => line.to_owned(),
    }
}

/// A tag without what all tags begin with: `core/ndarray-1.1.0`.
fn short_tag(tag: &str) -> &str {
    tag.split_once("asdf/").map_or(tag, |(_, rest)| rest)
}
