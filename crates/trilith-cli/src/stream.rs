//! What the reading commands show of a Dudley stream.

use serde_json::{Value, json};
use trilith::array::{Byteorder, FloatText};
use trilith::dudley::{self, DudleyFile, Items, LayoutOrigin, OutlineId, Thing};
use trilith::layout::{Entry, EntryKind, ParseOptions, quoted_name};
use trilith::{Kind, Result};

use crate::Outcome;
use crate::json::{datatype, datatype_text, hex};
use crate::options::Options;
use crate::output::{Out, Table, clean, json_text, json_value, note, size};

/// `info`: what the stream is.
pub fn info(name: &str, file: &DudleyFile, options: &Options) -> Result<Outcome> {
    let mut out = Out::new();
    let count = match count(file) {
        Ok(count) => Some(count),
        Err(error) if error.kind() == Kind::Limit => None,
        Err(error) => return Err(error),
    };
    let signature = file.signature().map(|signature| hex(&signature.bytes()[..8]));
    let order = file.byteorder().map(order_name);
    let (at, beside) = match file.origin() {
        LayoutOrigin::Embedded(at) => (Some(*at), None),
        LayoutOrigin::Beside(name) => (None, Some(name.clone())),
        LayoutOrigin::Given => (None, options.under.clone()),
    };
    let length = file.layout().text_end();
    if options.json {
        out.json(&json!({
            "file": name, "family": "dudley", "generation": file.generation_name(), "header": null, "standard": null,
            "comments": [], "container": null, "signature": signature, "byteorder": order,
            "dialect": file.layout().dialect().name(), "layout": {"offset": at, "length": length, "file": beside},
            "template": file.layout().is_template(), "items": count, "blocks": [], "size": file.source().len(),
        }))?;
    } else {
        let layout = match (at, beside) {
            (Some(at), _) => format!("{} at byte {at}", size(length as u64)),
            (None, Some(beside)) => format!("{} in {beside}", size(length as u64)),
            (None, None) => size(length as u64),
        };
        let facts = [
            ("file", name.to_owned()),
            ("generation", file.generation_name().to_owned()),
            ("signature", signature.unwrap_or_else(|| "none".to_owned())),
            ("byteorder", order.unwrap_or("as the layout says of each item").to_owned()),
            ("size", size(file.source().len())),
            ("layout", layout),
            ("items", count.map_or("too many to count".to_owned(), |count| count.to_string())),
        ];
        for (fact, value) in facts {
            out.line(&format!("{fact:<12} {value}"))?;
        }
    }
    options.warn_all(file.warnings());
    out.finish()?;
    Ok(Outcome::Yes)
}

fn count(file: &DudleyFile) -> Result<u64> {
    let items = file.items()?;
    let mut count = 0;
    for entry in items.entries() {
        entry?;
        count += 1;
    }
    Ok(count)
}

fn order_name(order: Byteorder) -> &'static str {
    match order {
        Byteorder::Little => "little",
        Byteorder::Big => "big",
    }
}

/// `blocks`: every item and where it lies.
pub fn list(name: &str, file: &DudleyFile, options: &Options) -> Result<Outcome> {
    let items = file.items()?;
    let mut out = Out::new();
    let place = |entry: &Entry| entry.address.and_then(|address| address.checked_add(file.base()));
    if options.json {
        let mut list = Vec::new();
        for entry in items.entries() {
            let entry = entry?;
            let mut value = json!({
                "path": entry.path, "kind": entry.kind.name(), "address": entry.address, "offset": place(&entry),
                "datatype": entry.datatype, "shape": entry.shape, "nbytes": entry.nbytes,
            });
            if let (EntryKind::Param, Some(object)) = (entry.kind, value.as_object_mut()) {
                object.insert("value".to_owned(), json!(entry.value));
            }
            list.push(value);
        }
        out.json(&json!({"file": name, "items": list}))?;
    } else {
        let mut table = Table::new(&[">byte", ">bytes", "datatype", "shape", "item"]);
        for entry in items.entries() {
            let entry = entry?;
            let number = |n: Option<u64>| n.map_or("-".to_owned(), |n| n.to_string());
            let value = entry.value.map_or(String::new(), |value| format!(" = {value}"));
            let shape = format!("{:?}", entry.shape);
            let item = format!("{}{value}", entry.path);
            table.row(vec![number(place(&entry)), number(entry.nbytes), entry.datatype, shape, item]);
        }
        table.print(&mut out)?;
    }
    options.warn_all(file.warnings());
    out.finish()?;
    Ok(Outcome::Yes)
}

/// How `tree` shows a stream.
#[derive(Debug, Clone, Default)]
pub struct TreeOptions {
    /// As JSON.
    pub json: bool,
    /// With the elements of arrays, unless the path leads to a dict.
    pub values: bool,
    /// Write to this file.
    pub output: Option<String>,
    /// With the elements of arrays.
    pub inline: bool,
    /// So many levels (text only).
    pub depth: Option<usize>,
}

/// `tree`: dicts, lists, arrays and parameters from a path on.
pub fn tree(items: &Items<'_>, path: &str, options: &Options, how: &TreeOptions) -> Result<Outcome> {
    let outline = items.outline()?;
    let Some(root) = outline.find(path)? else {
        let error = items.no_item(path);
        let hint = error.opt_hint().map_or(String::new(), |hint| format!("; {hint}"));
        note(&format!("trilith: {}{hint}", error.message()));
        return Ok(Outcome::No);
    };
    let is_dict = |item| items.file().layout().kind(item) == trilith::layout::Kind::Dict;
    let inline = how.inline || (how.values && !outline.item(root).is_some_and(is_dict));
    let mut out = Out::to(how.output.as_deref())?;
    let shown = if how.json {
        json_tree(&mut out, items, &outline, root, inline)
    } else {
        text_tree(&mut out, items, &outline, root, options, how.depth.unwrap_or(usize::MAX))
    };
    shown?;
    out.finish()?;
    Ok(Outcome::Yes)
}

/// What `validate` says of a stream.
pub struct Verdict {
    /// Whether nothing is wrong.
    pub valid: bool,
    /// As `--json` shows it.
    pub json: Value,
    /// For people.
    pub text: String,
}

/// `validate`: the layout without error, the values of its parameters possible.
pub fn validate(name: &str, file: &DudleyFile, strict: bool) -> Result<Verdict> {
    let layout = file.layout();
    let how = ParseOptions { dialect: Some(layout.dialect()), limits: file.limits().clone() };
    let parsed = trilith::layout::parse(layout.text().get(..layout.text_end()).unwrap_or("").as_bytes(), &how)?;
    let mut problems = Vec::new();
    let (mut errors, mut warnings, mut text) = (0, 0, String::new());
    for found in &parsed.diagnostics {
        let is_error = strict || !found.code.is_warning();
        *(if is_error { &mut errors } else { &mut warnings }) += 1;
        problems.push(json!({
            "severity": if is_error { "error" } else { "warning" },
            "where": {"path": null, "line": found.line, "column": found.column, "byte": null, "block": null},
            "message": clean(&format!("{}: {}", found.code, found.message)), "schema": null,
            "hint": (!found.hint.is_empty()).then_some(&found.hint),
        }));
        text.push_str(&found.render(&parsed.text, name));
    }
    let addresses = file.items().and_then(|items| items.entries().try_for_each(|entry| entry.map(drop)));
    match addresses {
        Err(error) if matches!(error.kind(), Kind::Malformed | Kind::Usage) => {
            errors += 1;
            problems.push(crate::commands::error_json(&error));
            text.push_str(&format!("error: {error}\n"));
        }
        done => done?,
    }
    let said =
        if errors == 0 { "valid".to_owned() } else { format!("invalid, {errors} error{}", if errors == 1 { "" } else { "s" }) };
    let more =
        if warnings == 0 { String::new() } else { format!(", {warnings} warning{}", if warnings == 1 { "" } else { "s" }) };
    text.push_str(&format!("{name}: {said}{more}\n"));
    let json = json!({
        "file": name, "valid": errors == 0, "problems": problems, "errors": errors, "warnings": warnings, "notes": 0,
    });
    Ok(Verdict { valid: errors == 0, json, text })
}

/// An item as `search` sees it: where, its name, what it says.
pub struct Seen {
    /// Its item path.
    pub path: String,
    /// The name of an item of a dict.
    pub name: Option<String>,
    /// The value of a parameter.
    pub value: Option<i64>,
    /// Datatype and shape of an array.
    pub array: Option<(String, Vec<u64>)>,
    /// What it is, in a few words.
    pub said: String,
}

/// Shows every item of a stream, the root left out, in the order of the text.
pub fn visit(items: &Items<'_>, take: &mut dyn FnMut(Seen) -> Result<()>) -> Result<()> {
    let outline = items.outline()?;
    let mut todo = vec![(OutlineId::ROOT, String::new(), None::<String>)];
    while let Some((id, path, name)) = todo.pop() {
        let thing = outline.thing(id);
        let children = outline.children(id);
        let numbered = children.into_iter().enumerate().map(|(n, (name, child))| {
            let path = match name {
                Some(name) => format!("{path}/{}", quoted_name(name)),
                None => format!("{path}[{n}]"),
            };
            (child, path, name.map(str::to_owned))
        });
        let numbered: Vec<_> = numbered.collect();
        let count = numbered.len();
        todo.extend(numbered.into_iter().rev());
        if id == OutlineId::ROOT {
            continue;
        }
        let mut seen = Seen { path, name, value: None, array: None, said: format!("({count} items)") };
        match thing {
            Thing::Data(entry) => {
                let mut shape = entry.shape.clone();
                seen.path.clone_from(&entry.path);
                match dudley::datatype_of(&entry.typed, &mut shape) {
                    Ok((kind, _)) => {
                        seen.said = format!("{} {shape:?}", datatype_text(&kind));
                        seen.array = Some((datatype_text(&kind), shape));
                    }
                    Err(error) => seen.said = format!("(unreadable: {error})"),
                }
            }
            Thing::Param(value, entry) => {
                if let Some(entry) = entry {
                    seen.path.clone_from(&entry.path);
                }
                (seen.value, seen.said) = (Some(value), value.to_string());
            }
            Thing::Null => "null".clone_into(&mut seen.said),
            Thing::Dict | Thing::List => {}
        }
        take(seen)?;
    }
    Ok(())
}

/// An open collection: what is left of it, its closing bracket, whether it has a member already.
struct Open {
    left: std::vec::IntoIter<(Option<String>, OutlineId)>,
    close: &'static str,
    has_member: bool,
}

/// The children with the names that a mapping can have: parameters in the shadow of an array get another.
fn named(outline: &dudley::Outline, parent: OutlineId) -> Vec<(Option<String>, OutlineId)> {
    let children = outline.children(parent).into_iter();
    children
        .map(|(name, id)| {
            let shadowed = outline.is_shadowed(parent, id);
            (name.map(|name| if shadowed { format!("{name} (parameter)") } else { name.to_owned() }), id)
        })
        .collect()
}

fn json_tree(out: &mut Out, items: &Items<'_>, outline: &dudley::Outline, root: OutlineId, inline: bool) -> Result<()> {
    let mut open: Vec<Open> = Vec::new();
    let mut next = Some((None::<String>, root));
    loop {
        if let Some((name, id)) = next.take() {
            if let Some(name) = name {
                out.raw(&format!("{}:", json_text(&name)))?;
            }
            match outline.thing(id) {
                Thing::Dict => {
                    out.raw("{")?;
                    open.push(Open { left: named(outline, id).into_iter(), close: "}", has_member: false });
                }
                Thing::List => {
                    out.raw("[")?;
                    open.push(Open { left: named(outline, id).into_iter(), close: "]", has_member: false });
                }
                Thing::Param(value, _) => out.raw(&value.to_string())?,
                Thing::Null => out.raw("null")?,
                Thing::Data(entry) if inline => {
                    dudley::presented(&items.array(entry)?)?.write_json(&mut out.escaped(), FloatText::AsDouble)?;
                }
                Thing::Data(entry) => out.raw(&json_value(&described(items, entry)?))?,
            }
        }
        let Some(top) = open.last_mut() else { break };
        match top.left.next() {
            Some(child) => {
                if std::mem::replace(&mut top.has_member, true) {
                    out.raw(",")?;
                }
                next = Some(child);
            }
            None => {
                out.raw(top.close)?;
                open.pop();
            }
        }
    }
    out.raw("\n")
}

/// An array as JSON: what it is and at which byte of the file it lies.
fn described(items: &Items<'_>, entry: &Entry) -> Result<Value> {
    let mut shape = entry.shape.clone();
    let (kind, order) = dudley::datatype_of(&entry.typed, &mut shape)?;
    let offset = entry.address.and_then(|address| address.checked_add(items.file().base()));
    let mut value = json!({"offset": offset, "datatype": datatype(&kind), "shape": shape});
    if let (None, Some(object)) = (kind.as_struct(), value.as_object_mut()) {
        object.insert("byteorder".to_owned(), json!(order.name()));
    }
    if let (Some(filter), Some(object)) = (items.file().layout().opt_filter(entry.item), value.as_object_mut()) {
        object.insert("filter".to_owned(), json!(filter.name));
    }
    Ok(value)
}

fn text_tree(
    out: &mut Out,
    items: &Items<'_>,
    outline: &dudley::Outline,
    root: OutlineId,
    options: &Options,
    most: usize,
) -> Result<()> {
    let paint = |code: &str, text: &str| if options.colored() { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() };
    let mut left: Vec<(usize, String, OutlineId)> = vec![(0, String::new(), root)];
    while let Some((depth, name, id)) = left.pop() {
        let what = match outline.thing(id) {
            Thing::Param(value, _) => format!("{value}  (parameter)"),
            Thing::Null => "null".to_owned(),
            Thing::Data(entry) => paint("32", &clean(&array_text(items, entry))),
            Thing::Dict | Thing::List => {
                let children = named(outline, id);
                let summary = match children.len() {
                    0 => "(empty)".to_owned(),
                    n if depth == most => format!("({n} items)"),
                    _ => String::new(),
                };
                if depth < most {
                    let numbered = children.into_iter().enumerate();
                    left.extend(numbered.rev().map(|(n, (name, id))| (depth + 1, name.unwrap_or(format!("- {n}")), id)));
                }
                summary
            }
        };
        if depth == 0 && what.is_empty() {
            continue;
        }
        let label = if depth == 0 { String::new() } else { format!("{}: ", paint("36", &clean(&name))) };
        let docs: Vec<&str> = outline.item(id).into_iter().flat_map(|item| items.docs(item)).map(str::trim).collect();
        let docs = if docs.is_empty() { String::new() } else { format!("  ## {}", clean(&docs.join(" "))) };
        let line = format!("{}{label}{what}{docs}", "  ".repeat(depth.saturating_sub(1)));
        out.raw(line.trim_end())?;
        out.raw("\n")?;
    }
    Ok(())
}

/// `float64 [3, 4]  at byte 24, 96 B`.
fn array_text(items: &Items<'_>, entry: &Entry) -> String {
    let mut shape = entry.shape.clone();
    let kind = match dudley::datatype_of(&entry.typed, &mut shape) {
        Ok((kind, order)) => {
            let big = if order == Byteorder::Big && kind.as_struct().is_none() { " (big-endian)" } else { "" };
            format!("{}{big}", datatype_text(&kind))
        }
        Err(error) => return format!("(unreadable: {error})"),
    };
    let place = match entry.address.and_then(|address| address.checked_add(items.file().base())) {
        Some(at) => format!("at byte {at}"),
        None => "no data".to_owned(),
    };
    let bytes = entry.nbytes.map_or(String::new(), |n| format!(", {}", size(n)));
    let filter = items.file().layout().opt_filter(entry.item).map_or(String::new(), |filter| format!(", {}", filter.name));
    format!("{kind} {shape:?}  {place}{bytes}{filter}")
}
