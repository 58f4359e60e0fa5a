//! Checks the names of items: one word has one meaning, and a name of one common word tells nothing.
//!
//! The glossary of ARCHITECTURE.md (*Words*) has a column of words that another word replaces: no item consists of one of these alone,
//! nor of a participle. A public type has two words. The name of a test has at most eight words and no article. Items of tests, methods of
//! traits that are implemented, and names that Python, C or the command line publish are not checked.

use std::collections::BTreeSet;
use std::path::Path;

use crate::command::repository_root;
use crate::fs::read_text;
use crate::site::list_rust_files;

/// Participles that were used as nouns.
const PARTICIPLES: &[&str] = &[
    "told", "said", "known", "found", "held", "kept", "made", "taken", "given", "shown", "meant", "wanted", "listed", "settled",
    "spelled",
];

/// Public types of one word: terms of a standard, of the field or of Rust that every reader knows.
const ONE_WORD: &[&str] = &[
    // Rust and its libraries
    "Access",
    "Cursor",
    "Diagnostic",
    "Error",
    "Limits",
    "Location",
    "Progress",
    "Resolve",
    "Result",
    "Severity",
    "Source",
    "Span",
    // files, trees and arrays
    "Array",
    "Attribute",
    "Backend",
    "Byteorder",
    "Change",
    "Codec",
    "Column",
    "Compression",
    "Datatype",
    "Digest",
    "Edit",
    "Field",
    "File",
    "Hierarchy",
    "Index",
    "Item",
    "Manifest",
    "Mask",
    "Node",
    "Query",
    "Row",
    "Scalar",
    "Table",
    "Tree",
    "Value",
    // ASDF and FITS
    "Block",
    "Card",
    "Checksum",
    "Encoder",
    "Generation",
    "Hdu",
    "Header",
    "Ndarray",
    "Target",
    "Validator",
    // Dudley
    "Catalog",
    "Dialect",
    "Layout",
    "Placement",
    "Primitive",
    "Signature",
    // coordinates and pictures
    "Frame",
    "Histogram",
    "Interpolation",
    "Palette",
    "Polynomial",
    "Preview",
    "Projection",
    "Statistics",
    "Transform",
    "Wcs",
];

/// Items that the models of foreign files and of metadata remove, by file: they keep their names until then.
const REMOVED_LATER: &[(&str, &[&str])] = &[
    ("trilith-codec/src/codec/global_heap.rs", &["Objects"]),
    ("trilith-io/src/bytes/parallel_draft.rs", &["Draft", "Writing"]),
    ("trilith-layout/src/dudley/new_item.rs", &["Draft"]),
    ("trilith-layout/src/dudley/source_annotations.rs", &["Notes"]),
    ("trilith-yaml/src/tree/expanded_size.rs", &["Expanded", "Known"]),
    ("trilith-yaml/src/tree/reference.rs", &["Place", "Places"]),
    ("trilith/src/asdf/walk.rs", &["Place"]),
];

/// Most words of the name of a test.
const MAX_TEST_WORDS: usize = 8;

/// Folders whose items are checked.
const FOLDERS: &[&str] = &["crates", "xtask/src"];

/// An item of a source file.
struct NamedItem {
    kind: String,
    name: String,
    is_public: bool,
    is_test: bool,
    line: usize,
}

/// Fails if the name of an item or of a test breaks a rule.
pub(crate) fn check_names() -> Result<(), String> {
    let replaced = replaced_words(&read_text(&repository_root().join("ARCHITECTURE.md"))?)?;
    let mut faults = String::new();
    let (mut items, mut tests) = (0, 0);
    for path in list_rust_files(FOLDERS) {
        let shown = path.strip_prefix(repository_root()).unwrap_or(&path).display().to_string();
        for item in named_items(&read_text(&path)?, is_test_file(&path)) {
            let reason = if item.is_test { test_fault(&item) } else { item_fault(&item, &path, &replaced) };
            *(if item.is_test { &mut tests } else { &mut items }) += 1;
            if let Some(reason) = reason {
                faults.push_str(&format!("{shown}:{}: {} `{}`: {reason}\n", item.line, item.kind, item.name));
            }
        }
    }
    println!("names: {items} items and {tests} tests");
    if faults.is_empty() { Ok(()) } else { Err(faults) }
}

/// Returns the words of the column *Replaces* of the glossary.
fn replaced_words(page: &str) -> Result<BTreeSet<String>, String> {
    let mut words = BTreeSet::new();
    let table = page.split_once("| concept | word | replaces |").ok_or("ARCHITECTURE.md has no glossary (*Words*)")?.1;
    for row in table.lines().skip(2).take_while(|line| line.starts_with('|')) {
        let cell = row.trim_end_matches([' ', '|']).rsplit('|').next().unwrap_or_default();
        words.extend(cell.split(',').map(|word| word.trim_matches([' ', '`']).to_lowercase()).filter(|word| !word.is_empty()));
    }
    Ok(words)
}

/// Returns `true` if the items of the file serve tests alone.
fn is_test_file(path: &Path) -> bool {
    path.components().any(|part| ["tests", "examples", "benches"].iter().any(|name| part.as_os_str() == *name))
        || path.to_string_lossy().ends_with("tests.rs")
}

/// Returns the items that a formatted source declares, without methods of traits that it implements and without items of its tests.
fn named_items(source: &str, is_test_file: bool) -> Vec<NamedItem> {
    let mut items = Vec::new();
    let (mut implemented, mut published, mut test_module, mut text) = (None, false, is_test_file, false);
    let mut attributes = String::new();
    for (number, line) in source.lines().enumerate() {
        let code = line.trim_start();
        let indent = line.len() - code.len();
        // A raw string over several lines holds code of other languages.
        if text {
            text = !(code.contains("\"#") || (code.ends_with("\";") || code == "\""));
            continue;
        }
        text = line.matches("r#\"").count() > line.matches("\"#").count();
        if implemented == Some(indent) && code.starts_with('}') {
            implemented = None;
            published = false;
        }
        if code.starts_with("#[") {
            attributes.push_str(code);
            continue;
        }
        if code.starts_with("//") || code.is_empty() {
            continue;
        }
        if code.starts_with("impl") && (code.contains(" for ") || attributes.contains("pymethods")) {
            implemented = Some(indent).filter(|_| !code.ends_with('}'));
            published = attributes.contains("pymethods");
        }
        if let Some((kind, name, is_public)) = declaration(code) {
            test_module |= kind == "mod" && ["cfg(test)", "cfg(all(test"].iter().any(|mark| attributes.contains(mark));
            let is_test = attributes.contains("#[test]") || attributes.contains("#[test_case");
            let is_published = published
                || ["pyfunction", "pyo3", "no_mangle", "pymodule", "pyclass"].iter().any(|word| attributes.contains(word));
            if is_test
                || !(test_module || attributes.contains("cfg(test)") || is_published || (implemented.is_some() && kind == "fn"))
            {
                items.push(NamedItem { kind, name, is_public, is_test, line: number + 1 });
            }
        }
        attributes.clear();
    }
    items
}

/// Returns the kind and the name of the item that a line declares, and whether it is public.
fn declaration(code: &str) -> Option<(String, String, bool)> {
    let is_public = code.starts_with("pub ");
    let mut words = code.split_whitespace().peekable();
    while let Some(word) = words.next() {
        match word {
            "pub" | "unsafe" | "async" | "extern" | "\"C\"" | "\"C-unwind\"" => {}
            "const" if words.peek().is_some_and(|next| ["fn", "unsafe", "extern"].contains(next)) => {}
            word if word.starts_with("pub(") => {}
            "in" => {}
            word if word.ends_with(')') && !word.contains('(') => {} // the path of `pub(in path)`
            "fn" | "struct" | "enum" | "union" | "trait" | "type" | "const" | "static" | "mod" => {
                let name = words.find(|next| !["mut", "ref"].contains(next))?;
                let end = name.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(name.len());
                return (end > 0).then(|| (word.to_owned(), name[..end].to_owned(), is_public));
            }
            _ => return None,
        }
    }
    None
}

/// Returns the words of an identifier, in lower case.
fn words_of(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let is_constant = !name.contains(|c: char| c.is_lowercase());
    for c in name.chars() {
        if c == '_' || (c.is_uppercase() && !is_constant) {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| c != '_') {
            word.extend(c.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Returns the rule that the name of an item breaks.
fn item_fault(item: &NamedItem, path: &Path, replaced: &BTreeSet<String>) -> Option<String> {
    let words = words_of(&item.name);
    let [word] = words.as_slice() else { return None };
    if REMOVED_LATER.iter().any(|(file, names)| path.ends_with(file) && names.contains(&item.name.as_str())) {
        return None;
    }
    if PARTICIPLES.contains(&word.as_str()) {
        return Some("a participle is no noun: name the thing".to_owned());
    }
    if replaced.contains(word) {
        return Some("the glossary of ARCHITECTURE.md replaces this word: take its word, or say which".to_owned());
    }
    let is_type = ["struct", "enum", "union", "trait", "type"].contains(&item.kind.as_str());
    let is_short = is_type && item.is_public && !ONE_WORD.contains(&item.name.as_str());
    is_short.then(|| "a public type has two words: say of what".to_owned())
}

/// Returns the rule that the name of a test breaks.
fn test_fault(item: &NamedItem) -> Option<String> {
    let words = words_of(&item.name);
    if words.len() > MAX_TEST_WORDS {
        return Some(format!("{} words; write subject, condition, expectation in at most {MAX_TEST_WORDS}", words.len()));
    }
    let article = words.iter().find(|word| ["a", "an", "the"].contains(&word.as_str()))?;
    Some(format!("leave out the article `{article}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the names that a source breaks a rule with. First tier.
    fn faults(source: &str) -> Vec<String> {
        let replaced = BTreeSet::from(["place".to_owned()]);
        let items = named_items(source, false).into_iter();
        let faulty = items.filter(|item| {
            let fault = if item.is_test { test_fault(item) } else { item_fault(item, Path::new("x.rs"), &replaced) };
            fault.is_some()
        });
        faulty.map(|item| item.name).collect()
    }

    #[test]
    fn replaced_words_participles_and_short_types_are_faults() {
        assert_eq!(faults("pub(crate) fn place() {}\nconst FOUND: u8 = 1;\npub struct Cell;\n"), ["place", "FOUND", "Cell"]);
        assert_eq!(faults("fn place_block() {}\nstruct Cell;\npub struct TableCell;\npub enum Node {}\n"), [""; 0]);
    }

    #[test]
    fn long_test_names_and_articles_are_faults() {
        let long =
            "#[test]\nfn one_two_three_four_five_six_seven_eight_nine() {}\n#[test]\nfn a_name() {}\n#[test]\nfn name() {}\n";
        assert_eq!(faults(long), ["one_two_three_four_five_six_seven_eight_nine", "a_name"]);
    }

    #[test]
    fn trait_methods_published_names_and_test_items_pass() {
        let source = "impl Read for X {\n    fn place() {}\n}\n#[pyfunction]\nfn place() {}\n#[cfg(test)]\nmod tests {\n    fn place() {}\n}\n";
        assert_eq!(faults(source), [""; 0]);
    }
}
