//! Representation of files, nodes and arrays, as text and as HTML. Only the tree is read, never data, and no
//! reference is followed.

use trilith::array::attribute::ItemAttribute;
use trilith::array::{Array, Datatype, element_count};
use trilith::asdf::{ElementsOrigin, Ndarray, ShapeDimension};
use trilith::file::HduSummary;
use trilith::tree::Node;
use trilith::tree::Scalar;
use trilith::{File, Item, ItemKind, Limits};
use trilith_io::error::count_noun;
use trilith_view::preview::{display_size, escape_html};

/// Lines of a text, and levels below the top.
const MAX_LINES: usize = 40;
const MAX_LEVELS: usize = 6;
/// Rows of HTML.
const MAX_HTML_ROWS: usize = 400;
/// Characters of an item in one line.
const MAX_LINE_CHARS: usize = 100;
/// Characters of one value.
const MAX_VALUE_CHARS: usize = 60;

/// `float32 (2, 3), 24 B`
pub(crate) fn display_array(array: &Array) -> String {
    format!(
        "{}{}, {}",
        display_datatype(array.datatype()),
        display_shape(array.shape().iter().map(u64::to_string)),
        display_size(array.nbytes())
    )
}

/// Returns the description of an array as HTML.
pub(crate) fn array_html(array: &Array, tag: Option<&str>) -> String {
    let mask = if array.mask().is_some() { ", masked" } else { "" };
    let tag = tag.map(|tag| format!(" <small>{}</small>", escape_html(tag))).unwrap_or_default();
    format!("<div class=\"trilith\"><b>trilith.Array</b> {}{mask}{tag}</div>", escape_html(&display_array(array)))
}

/// Returns the description of a file in one line.
pub(crate) fn display_file(file: &File) -> String {
    let asdf = file.as_asdf().filter(|_| file.format() == file.generation());
    let standard = asdf.and_then(|file| file.sections().header().standard());
    let standard = standard.map(|standard| format!(", standard {standard}")).unwrap_or_default();
    let set = file.as_family().map(|set| format!(", {} files", set.catalog().len())).unwrap_or_default();
    let bytes = file.as_asdf().map_or_else(|| file.source().len(), |file| file.size());
    escape_controls(&format!("{:?}: {}{standard}{set}, {}", file.source().name(), file.format(), display_size(bytes)))
}

/// Returns an item in one line: the number of its members, and the first keys.
pub(crate) fn display_item(item: &Item<'_>, title: &str) -> String {
    let children = item.keyed_children().unwrap_or_default();
    let mut text = format!("<{title} of {}", children.len());
    for (at, key) in children.iter().filter_map(|(key, _)| key.clone()).enumerate() {
        text.push_str(if at == 0 { ": " } else { ", " });
        let key = truncate_to_line(&key_text(key));
        if text.chars().count() + key.chars().count() > MAX_LINE_CHARS {
            text.push('…');
            break;
        }
        text.push_str(&key);
    }
    text.push('>');
    text
}

/// An item and what is below it, indented.
pub(crate) fn display_tree(item: &Item<'_>, title: &str) -> String {
    let mut rows = ReprRows { rows: Vec::new(), max_rows: MAX_LINES, has_attributes: false, is_truncated: false };
    rows.add_children(item, 1);
    let mut text = format!("<{title} of {}>", len(item));
    for row in &rows.rows {
        text.push('\n');
        text.push_str(&"  ".repeat(row.level));
        text.push_str(&row.key);
        if !row.value.is_empty() {
            text.push_str(": ");
            text.push_str(&row.value);
        }
    }
    if rows.is_truncated {
        text.push_str("\n  …");
    }
    text
}

/// An item and what is below it as HTML that folds, with the number of its members after the title.
pub(crate) fn tree_html(item: &Item<'_>, title: &str) -> String {
    let count = count_noun(len(item), "item");
    format!("<div class=\"trilith\"><b>{}</b> of {count}{}</div>", escape_html(title), folding_list(item))
}

/// A file and its tree as HTML that folds.
pub(crate) fn file_html(file: &File) -> String {
    let title = escape_html(&format!("trilith.File {}", display_file(file)));
    format!("<div class=\"trilith\"><b>{title}</b>{}</div>", folding_list(&file.root()))
}

/// The members of an item as a list of HTML that folds.
fn folding_list(item: &Item<'_>) -> String {
    let mut rows = ReprRows { rows: Vec::new(), max_rows: MAX_HTML_ROWS, has_attributes: true, is_truncated: false };
    rows.add_attributes(item, 1);
    rows.add_children(item, 1);
    let mut html = "<ul>".to_owned();
    let mut level = 1;
    for (i, row) in rows.rows.iter().enumerate() {
        while level > row.level {
            html.push_str("</ul></details></li>");
            level -= 1;
        }
        let (key, value) = (escape_html(&row.key), escape_html(&row.value));
        if rows.rows.get(i + 1).is_some_and(|next| next.level > row.level) {
            let open = if row.level < 2 { " open" } else { "" };
            html.push_str(&format!("<li><details{open}><summary><b>{key}</b> {value}</summary><ul>"));
            level += 1;
        } else {
            html.push_str(&format!("<li><b>{key}</b>: {value}</li>"));
        }
    }
    while level > 1 {
        html.push_str("</ul></details></li>");
        level -= 1;
    }
    if rows.is_truncated {
        html.push_str("<li>…</li>");
    }
    html + "</ul>"
}

struct ReprRow {
    level: usize,
    key: String,
    value: String,
}

struct ReprRows {
    rows: Vec<ReprRow>,
    max_rows: usize,
    /// `true` if the attributes of each item are rows below it.
    has_attributes: bool,
    is_truncated: bool,
}

impl ReprRows {
    /// Adds the attributes of an item: cards of FITS, attributes of HDF5 and netCDF, tags of TIFF.
    fn add_attributes(&mut self, item: &Item<'_>, level: usize) {
        let all = if self.has_attributes { item.attributes().unwrap_or_default() } else { Vec::new() };
        for attribute in all {
            if self.rows.len() >= self.max_rows {
                self.is_truncated = true;
                return;
            }
            let (key, value) = attribute_texts(&attribute);
            self.rows.push(ReprRow { level, key, value });
        }
    }

    /// Adds the children of an item, at most [`MAX_LEVELS`] deep: the recursion is bounded.
    fn add_children(&mut self, item: &Item<'_>, level: usize) {
        for (n, (key, child)) in item.keyed_children().unwrap_or_default().into_iter().enumerate() {
            if self.rows.len() >= self.max_rows {
                self.is_truncated = true;
                return;
            }
            let key = key.map_or_else(|| n.to_string(), |key| truncate_to_line(&key_text(key)));
            let leaf = match child.header().is_card_list(Some(&key)) {
                true => Some(count_noun(len(&child), "card")),
                false => display_leaf(&child),
            };
            let what = || match child.flags().is_history {
                true => format!("list of {}", len(&child)),
                false if level >= MAX_LEVELS => format!("{} items", len(&child)),
                false => hdu_title(&child).unwrap_or_default(),
            };
            self.rows.push(ReprRow { level, key, value: leaf.clone().unwrap_or_else(what) });
            self.add_attributes(&child, level + 1);
            if leaf.is_none() && level < MAX_LEVELS {
                self.add_children(&child, level + 1);
            }
        }
    }
}

/// Returns name and kind of an HDU, such as `SCI, IMAGE`; `None` for any other item.
fn hdu_title(item: &Item<'_>) -> Option<String> {
    if item.kind() != ItemKind::Mapping || item.header().owner().is_some() {
        return None;
    }
    let hdu = HduSummary::from_item(item)?;
    let name = hdu.label().filter(|name| *name != hdu.kind);
    Some(truncate_to_line(&name.map_or_else(|| hdu.kind.clone(), |name| format!("{name}, {}", hdu.kind))))
}

/// The name of an attribute, and its value with its unit and comment, each on one line.
fn attribute_texts(attribute: &ItemAttribute) -> (String, String) {
    let mut value = truncate_to_line(&attribute.value.to_string());
    for (mark, part) in [(" ", &attribute.unit), (" / ", &attribute.comment)] {
        if let Some(part) = part.as_deref().filter(|part| !part.is_empty()) {
            value.push_str(mark);
            value.push_str(&truncate_to_line(part));
        }
    }
    (truncate_to_line(&format!("@{}", attribute.name)), value)
}

/// Returns the attributes of an item as HTML.
pub(crate) fn attributes_html(item: &Item<'_>) -> String {
    let all = item.attributes().unwrap_or_default();
    let rows = all.iter().take(MAX_HTML_ROWS).map(|attribute| {
        let (name, value) = attribute_texts(attribute);
        format!("<li><b>{}</b>: {}</li>", escape_html(&name), escape_html(&value))
    });
    let rows: String = rows.collect();
    if rows.is_empty() { rows } else { format!("<details open><summary>attributes</summary><ul>{rows}</ul></details>") }
}

/// A key.
fn key_text(key: Scalar<'_>) -> String {
    match key {
        Scalar::Null => "null".to_owned(),
        Scalar::Bool(value) => value.to_string(),
        Scalar::Int(value) => value.to_string(),
        Scalar::Float(value) => format!("{value:?}"),
        Scalar::BigInt(text) => text,
        Scalar::Str(text) | Scalar::Timestamp(text) | Scalar::Binary(text) => text.into_owned(),
    }
}

fn len(item: &Item<'_>) -> usize {
    item.keyed_children().map_or(0, |members| members.len())
}

/// The text for an item that is not entered.
fn display_leaf(item: &Item<'_>) -> Option<String> {
    match item.kind() {
        ItemKind::Array => Some(match item.as_asdf() {
            // The tree is shown without opening blocks or other files.
            Some((_, node)) => describe_array(item, node),
            None => item.describe().map_or_else(
                |_| "a broken array".to_owned(),
                |found| format!("{}{}", display_datatype(&found.datatype), display_shape(found.shape.iter().map(u64::to_string))),
            ),
        }),
        ItemKind::Reference => match item.metadata().reference {
            Some(target) => Some(format!("-> {}", truncate_to_line(&target))),
            None => {
                let anchor = item.as_asdf().and_then(|(_, node)| node.anchor()).unwrap_or("");
                Some(format!("*{}", truncate_to_line(anchor)))
            }
        },
        ItemKind::Mapping if len(item) == 0 => Some("{}".to_owned()),
        ItemKind::List if len(item) == 0 => Some("[]".to_owned()),
        ItemKind::Mapping | ItemKind::List => None,
        _ => Some(item.text().map_or_else(|error| error.to_string(), |text| truncate_to_line(&text))),
    }
}

/// Describes the array of an ndarray node.
fn describe_array(item: &Item<'_>, node: Node<'_>) -> String {
    let Ok(array) = Ndarray::parse(node, &Limits::default()) else { return "a broken ndarray".to_owned() };
    // The cell of a FITS column of variable length is described by its row, which is read for it.
    if matches!(array.origin, ElementsOrigin::FitsHdu(_)) && array.shape.is_none() {
        return item.array().map_or_else(|_| "a broken array".to_owned(), |array| display_array(&array));
    }
    let mut text = array.datatype.as_ref().map_or_else(|| "array".to_owned(), display_datatype);
    if let Some(dims) = &array.shape {
        let fixed: Option<Vec<u64>> =
            dims.iter().map(|dim| if let ShapeDimension::Fixed(n) = dim { Some(*n) } else { None }).collect();
        text.push_str(&display_shape(dims.iter().map(|dim| match dim {
            ShapeDimension::Fixed(n) => n.to_string(),
            _ => "*".to_owned(),
        })));
        let count = fixed.and_then(|shape| element_count(&shape).ok());
        if let (Some(count), Some(datatype)) = (count, &array.datatype) {
            text.push_str(&format!(", {}", display_size(count.saturating_mul(datatype.item_size()))));
        }
    }
    if array.mask.is_some() {
        text.push_str(", masked");
    }
    text
}

fn display_datatype(datatype: &Datatype) -> String {
    match datatype {
        Datatype::Struct(fields) => {
            let names: Vec<String> = fields.fields().iter().enumerate().take(6).map(|(i, field)| field.name_or(i)).collect();
            let more = if fields.fields().len() > names.len() { ", …" } else { "" };
            escape_controls(&format!("{{{}{more}}}", names.join(", ")))
        }
        Datatype::Ascii(n) | Datatype::Ucs4(n) | Datatype::Utf8(n) | Datatype::Ucs2(n) => format!("{}[{n}]", datatype.name()),
        plain => plain.name().to_owned(),
    }
}

fn display_shape(lengths: impl Iterator<Item = String>) -> String {
    let lengths: Vec<String> = lengths.collect();
    let comma = if lengths.len() == 1 { "," } else { "" };
    format!(" ({}{comma})", lengths.join(", "))
}

/// Returns the start of a string as one line of at most [`MAX_VALUE_CHARS`] characters.
fn truncate_to_line(text: &str) -> String {
    let cut: String = text.chars().take(MAX_VALUE_CHARS).collect();
    let more = if cut.len() < text.len() { "…" } else { "" };
    escape_controls(&cut) + more
}

/// Control characters of a file are shown, not obeyed.
fn escape_controls(text: &str) -> String {
    let shown = |c: char| c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    text.chars().map(|c| if shown(c) { c.escape_unicode().to_string() } else { c.to_string() }).collect()
}
