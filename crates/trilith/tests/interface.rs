//! The public interface of the library as a list, `interface.txt`, so that a change of it is seen in a diff.
//!
//! The list is made from the text of the sources, which rustfmt has laid out: each item that is `pub` in a public module, or
//! re-exported from a private one, with its fields, variants and methods. Items with `#[doc(hidden)]` are public for our
//! own crates alone and not in the list. `BLESS=1` writes it.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test may stop where the source is not as expected"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

#[test]
fn the_interface_is_the_one_on_record() {
    let record = Path::new(env!("CARGO_MANIFEST_DIR")).join("interface.txt");
    let found = interface();
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&record, &found).unwrap();
        return;
    }
    let known = std::fs::read_to_string(&record).unwrap_or_default();
    let (old, new): (BTreeSet<&str>, BTreeSet<&str>) = (known.lines().collect(), found.lines().collect());
    let gone: Vec<_> = old.difference(&new).map(|line| format!("- {line}\n")).collect();
    let come: Vec<_> = new.difference(&old).map(|line| format!("+ {line}\n")).collect();
    let changes = [gone, come].concat().concat();
    assert!(known == found, "the public interface changed (`cargo xtask bless` records it, CHANGELOG.md tells it):\n{changes}");
}

/// The interface is what a newcomer can read through: at most twelve modules, and few types.
#[test]
fn the_interface_stays_small() {
    let modules = modules();
    let shown: Vec<&str> = modules.iter().filter(|m| m.is_public && m.path.contains("::")).map(|m| m.path.as_str()).collect();
    assert!(shown.len() <= 12, "{} public modules: {shown:?}", shown.len());
    let list = interface();
    let is_type = |line: &&str| {
        let rest = line.split_once(": ").map_or("", |(_, rest)| rest.trim_start_matches("#[non_exhaustive] "));
        ["pub struct ", "pub enum ", "pub trait ", "pub type "].iter().any(|start| rest.starts_with(start))
    };
    let types: Vec<&str> = list.lines().filter(is_type).collect();
    assert!(types.len() <= 150, "{} public types:\n{}", types.len(), types.join("\n"));
}

/// Whatever is public in a public module may grow without breaking those who use it, or says here why not.
#[test]
fn what_is_public_may_grow() {
    let mut faults = String::new();
    let modules = modules();
    for (path, item) in shown(&modules).iter().filter(|(_, item)| item.kind == "enum" || item.has_public_fields) {
        let closed = CLOSED.iter().any(|(name, _)| *name == item.name);
        if !item.may_grow && !closed {
            faults += &format!("  {path}: {} {}\n", item.kind, item.name);
        }
    }
    assert!(faults.is_empty(), "without #[non_exhaustive], and not in CLOSED of tests/interface.rs:\n{faults}");
}

/// What is complete, or what callers have to build or to match completely; each with the reason.
const CLOSED: &[(&str, &str)] = &[
    ("Byteorder", "there are two"),
    ("Span", "two numbers"),
    ("CodecId", "four bytes"),
    ("NodeKind", "YAML has three kinds of nodes"),
    ("Scalar", "whoever writes a scalar in another format must have a word for each kind"),
    ("Dialect", "whoever asks for the dialect must treat each"),
    ("LayoutOrigin", "whoever opens a file again must know each"),
    ("ChecksumOf", "the stored bytes or the decoded ones"),
    ("Container", "built by whoever opens what is around a file"),
    ("Loss", "built by every conversion"),
    ("Fault", "a fault of the text or any other error"),
    ("ArrayEntry", "a pair"),
    ("Part", "whoever writes a tree must treat each part"),
    ("Described", "built by whoever encodes a chain"),
    ("Value", "built by whoever writes a tree"),
    ("Child", "built by whoever adds a family"),
    ("Destination", "built by whoever adds a family"),
    ("Description", "built by whoever adds a family"),
    ("ListedArray", "built by whoever adds a family"),
    ("Act", "for tests"),
    ("Answer", "for tests"),
];

struct Module {
    /// As Rust names it.
    path: String,
    text: String,
    is_public: bool,
}

/// One item at the left margin.
#[derive(Default)]
struct Item {
    kind: String,
    name: String,
    /// What is public of it, one line each.
    lines: Vec<String>,
    may_grow: bool,
    /// Public for our own crates alone.
    is_hidden: bool,
    has_public_fields: bool,
}

fn interface() -> String {
    let modules = modules();
    let mut out = String::from("# The public interface, from the text of the sources. `cargo xtask bless` writes it.\n");
    for (path, item) in shown(&modules) {
        for line in &item.lines {
            out += &format!("{path}: {line}\n");
        }
    }
    out
}

/// The items that the documentation shows, each with its module.
fn shown(modules: &[Module]) -> Vec<(&str, Item)> {
    let all: BTreeMap<&str, Vec<Item>> = modules.iter().map(|module| (module.path.as_str(), items(&module.text))).collect();
    let public: BTreeSet<&str> = modules.iter().filter(|module| module.is_public).map(|module| module.path.as_str()).collect();
    let exported = exported(&all, &public);
    let mut found = Vec::new();
    for (path, items) in all {
        let is_public = public.contains(path);
        for item in items {
            let is_exported = exported.contains(&(path.to_owned(), item.name.clone()));
            if if is_public { !item.is_hidden } else { item.kind != "use" && is_exported } {
                found.push((path, item));
            }
        }
    }
    found
}

/// The names that public modules show of others, each with the module that it is written in.
fn exported(all: &BTreeMap<&str, Vec<Item>>, public: &BTreeSet<&str>) -> BTreeSet<(String, String)> {
    let uses = |module: &str| -> Vec<(bool, String, String)> {
        let items = all.get(module).into_iter().flatten().filter(|item| item.kind == "use");
        items
            .flat_map(|item| item.lines.iter().flat_map(|line| used(module, line)).map(|(m, n)| (item.is_hidden, m, n)))
            .collect()
    };
    let mut found = BTreeSet::new();
    let shown = public.iter().flat_map(|module| uses(module)).filter(|(is_hidden, ..)| !is_hidden);
    let mut todo: Vec<(String, String)> = shown.map(|(_, module, name)| (module, name)).collect();
    while let Some((module, name)) = todo.pop() {
        todo.extend(uses(&module).into_iter().filter(|(_, _, known)| *known == name).map(|(_, from, name)| (from, name)));
        found.insert((module, name));
    }
    found
}

/// The modules and names of `pub use a::{B, C}`.
fn used(module: &str, line: &str) -> Vec<(String, String)> {
    let path = line.trim_start_matches("#[non_exhaustive] ").trim_start_matches("pub use ");
    let Some((from, names)) = path.rsplit_once("::") else { return Vec::new() };
    let (from, names) = match path.split_once("::{") {
        Some((from, names)) => (from, names.trim_end_matches('}')),
        None => (from, names),
    };
    let from = from.strip_prefix("crate").map_or_else(|| format!("{module}::{from}"), |rest| format!("trilith{rest}"));
    names.split(',').map(|name| (from.clone(), name.trim().split(" as ").next().unwrap_or_default().to_owned())).collect()
}

fn words(text: &str) -> Vec<String> {
    text.split(|c: char| !(c.is_alphanumeric() || c == '_')).map(str::to_owned).collect()
}

/// The crates whose modules the library shows as its own.
const CRATES: [&str; 6] = ["trilith-io", "trilith-yaml", "trilith-array", "trilith-codec", "trilith-layout", "trilith"];

/// The modules of all crates, under the names that the facade gives them.
fn modules() -> Vec<Module> {
    let mut texts = BTreeMap::new();
    for name in CRATES {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name).join("src");
        let mut folders = vec![root.clone()];
        let mut files: Vec<PathBuf> = Vec::new();
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() { folders.push(path) } else { files.push(path) }
            }
        }
        files.retain(|path| path.extension().is_some_and(|end| end == "rs"));
        for path in files {
            let inside = path.strip_prefix(&root).unwrap().with_extension("");
            if inside.to_string_lossy().contains("tests") {
                continue;
            }
            let steps: Vec<_> =
                inside.iter().map(|step| step.to_string_lossy()).filter(|step| step != "mod" && step != "lib").collect();
            let module = ["trilith"].iter().map(|s| (*s).into()).chain(steps).collect::<Vec<_>>().join("::");
            // The facade comes last: its root is that of all.
            texts.insert(module, std::fs::read_to_string(path).unwrap());
        }
    }
    let is_public = |path: &str| {
        let steps: Vec<&str> = path.split("::").collect();
        (1..steps.len()).all(|n| texts.get(&steps[..n].join("::")).is_some_and(|text| shows(text, steps[n])))
    };
    texts.iter().map(|(path, text)| Module { path: path.clone(), text: text.clone(), is_public: is_public(path) }).collect()
}

/// Returns true if a source declares a public module that the documentation shows, or shows one of a lower crate.
fn shows(text: &str, module: &str) -> bool {
    let declared = text.find(&format!("\npub mod {module};"));
    let handed_on = || {
        text.match_indices("\npub use trilith_").map(|(at, _)| at).find(|at| {
            let line = text[at + 1..].lines().next().unwrap_or_default();
            words(line).iter().any(|word| word == module)
        })
    };
    let Some(at) = declared.or_else(handed_on) else { return false };
    let attributes = text[..at].lines().rev().take_while(|line| line.starts_with(['#', ' ', ')']));
    !attributes.into_iter().any(|line| line == HIDDEN)
}

/// The attribute of what is public for our own crates alone.
const HIDDEN: &str = "#[doc(hidden)]";

/// The public items of a source, and the implementations for types.
fn items(text: &str) -> Vec<Item> {
    // The tests at the end of a file; a module of tests may also be named at its beginning.
    let end = text.find("\n#[cfg(test)]\nmod tests {").unwrap_or(text.len());
    let lines: Vec<&str> = text.get(..end).unwrap_or(text).lines().collect();
    let mut found = Vec::new();
    let (mut at, mut may_grow, mut is_hidden) = (0, false, false);
    while let Some(line) = lines.get(at) {
        let start = at;
        // An item reaches to the line that closes it at the left margin.
        while !(lines[at].starts_with(['}', ')']) || (lines[at].ends_with([';', '}']) && !lines[at].starts_with(' '))) {
            let opens = at == start && !starts_item(line);
            at += 1;
            if opens || at >= lines.len() {
                break;
            }
        }
        at = (at + usize::from(starts_item(line))).max(start + 1).min(lines.len());
        may_grow =
            line.starts_with("#[non_exhaustive]") || (may_grow && (starts_item(line) || line.starts_with(['#', ' ', ')'])));
        is_hidden |= *line == HIDDEN;
        if starts_item(line) {
            found.extend(item(&lines[start..at], may_grow).map(|item| Item { is_hidden, ..item }));
            (may_grow, is_hidden) = (false, false);
        }
    }
    found
}

fn starts_item(line: &str) -> bool {
    line.starts_with("pub ") || line.starts_with("impl")
}

/// One item, as what is public of it.
fn item(lines: &[&str], may_grow: bool) -> Option<Item> {
    let head = signature(lines);
    let mut words_ = head.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| !word.is_empty());
    let mut made = Item { may_grow, ..Item::default() };
    let inner = |begins: &str| -> Vec<String> {
        let starts = (1..lines.len()).filter(|n| {
            let line = lines[*n];
            let mut attributes = lines[..*n].iter().rev().map(|line| line.trim_start()).take_while(|line| line.starts_with("#["));
            let is_shown = !attributes.any(|attribute| attribute == HIDDEN);
            is_shown && line.starts_with("    ") && !line.starts_with("     ") && line.trim_start().starts_with(begins)
        });
        starts.map(|n| signature(&lines[n..])).collect()
    };
    if head.starts_with("impl") {
        // `impl<'a> Trait for Type<'a>` belongs to the type.
        let of = head.rsplit(" for ").next().unwrap_or(&head);
        let of = if head.contains(" for ") { of } else { of.split_once(' ').map_or(of, |(_, rest)| rest) };
        made.name = words(of.trim_start_matches('&')).into_iter().find(|word| !word.is_empty())?;
        made.kind = "impl".into();
        let methods = inner("pub ");
        made.lines = if head.contains(" for ") {
            vec![head]
        } else {
            methods.iter().map(|line| format!("{}::{line}", made.name)).collect()
        };
        return Some(made);
    }
    words_.next();
    made.kind = words_.find(|word| !matches!(*word, "unsafe" | "async"))?.to_owned();
    made.name = words_.next().unwrap_or_default().to_owned();
    let open = if may_grow { "#[non_exhaustive] " } else { "" };
    made.lines.push(format!("{open}{head}"));
    let parts = match made.kind.as_str() {
        "struct" => inner("pub "),
        "trait" => [inner("fn "), inner("const "), inner("type ")].concat(),
        "enum" => inner("").into_iter().filter(|line| line.starts_with(char::is_uppercase)).collect(),
        _ => Vec::new(),
    };
    made.has_public_fields = made.kind == "struct" && (!parts.is_empty() || made.lines[0].contains("(pub "));
    made.lines.extend(parts.iter().map(|part| format!("{}::{part}", made.name)));
    Some(made)
}

/// The text from a line on up to the end of what it declares, on one line.
fn signature(lines: &[&str]) -> String {
    let mut text = String::new();
    for line in lines.iter().map(|line| line.trim()).filter(|line| !line.starts_with("//") && !line.starts_with('#')) {
        text.push_str(line);
        let deep = text.matches(['(', '[']).count() > text.matches([')', ']']).count();
        let braces = text.matches('{').count() > text.matches('}').count();
        let is_list = text.starts_with("pub use") || (text.ends_with('{') && text.starts_with(char::is_uppercase));
        let ends =
            line.ends_with([';', '{', '}', ',']) && !deep && !(braces && (is_list || text.starts_with(char::is_uppercase)));
        if ends {
            break;
        }
        text.push(' ');
    }
    let cut = match () {
        () if text.starts_with("pub use") => text.len(),
        () if text.starts_with(char::is_uppercase) => text.len(),
        () => text.find(" {").or_else(|| text.find(" = ").filter(|_| !text.starts_with("pub type"))).unwrap_or(text.len()),
    };
    text[..cut].trim_end_matches([';', ',', ' ']).replace("( ", "(").replace(", )", ")").replace(",)", ")")
}
