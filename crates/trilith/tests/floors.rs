//! Holds the floors of ARCHITECTURE.md: a module imports only from lower floors, and neighbours on
//! one floor do not see each other. Only `bytes/` and `file.rs` reach the file system.
//!
//! The check reads the source text: comments and literals are dropped, `use` trees are flattened,
//! `self` and `super` are followed through inline modules, and a name that `lib.rs` re-exports
//! counts as its home module. A failure names file and line.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may stop where the source is not as expected")]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Module -> floor. A new top-level module must be entered here (and in ARCHITECTURE.md) first.
const FLOORS: &[(&str, u8)] = &[
    ("byteorder", 0),
    ("diagnostic", 0),
    ("error", 0),
    ("span", 0),
    ("glob", 0),
    ("limits", 0),
    ("json_pointer", 0),
    ("percent", 0),
    ("index", 0),
    ("interrupt", 0),
    ("progress", 0),
    ("sample", 0),
    ("suggest", 0),
    ("threads", 0),
    ("bytes", 1),
    ("yaml", 1),
    ("tree", 2),
    ("array", 2),
    ("codec", 3),
    ("condition", 3),
    ("core", 3),
    ("schema", 3),
    ("layout", 3),
    ("asdf", 4),
    ("dudley", 4),
    ("fits", 4),
    ("foreign", 4),
    ("file", 5),
    ("writer", 5),
    ("convert", 7),
    ("digest", 6),
    ("verify", 6),
    ("assemble", 6),
    ("search", 6),
    ("hierarchy", 6),
    ("parallel", 7),
    ("change", 8),
    ("check", 9),
    ("cutout", 9),
    ("diff", 8),
    ("repair", 7),
    ("validate", 6),
    ("table", 7),
    ("wcs", 6),
    ("conform", 7),
];

/// The files of floor 0 may see each other: an error of `limits` is an `error`, and a `span` may be both.
const GROUND: u8 = 0;

/// Asks the system how much memory there is, which no file of a user tells.
const MACHINE: &str = "limits/system_memory.rs";

/// The one place that starts threads.
const THREADS: &str = "threads.rs";

/// Files that see each other, each circle with the reason; there may be no others. Where a circle can be opened by moving
/// what both need into a third file, it is not entered here.
const CIRCLES: &[(&[&str], &str)] = &[
    (&["array/datatype", "array/struct_type"], "a datatype may be a structure, whose fields have datatypes"),
    (&["array/element", "array/handle", "array/mask", "array/numeric"], "an array has elements, some of which a mask hides"),
    (&["array/strided_copy", "array/transpose"], "two ways of copying that hand over to each other"),
    (&["asdf/builder", "asdf/inline_write"], "a builder writes inline arrays, whose datatypes it spells"),
    (
        &["asdf/block", "asdf/block_magic"],
        "a header is credible if a block follows it, and a block begins with a credible header",
    ),
    (
        &["asdf/asdf_file", "asdf/expand", "asdf/uris", "asdf/walk"],
        "a file is walked and expanded, which opens the files that it refers to",
    ),
    (
        &[
            "convert/dispatch",
            "convert/dudley",
            "convert/dudley_asdf",
            "convert/fits",
            "convert/items_to_asdf",
            "convert/tree_to_hdus",
        ],
        "one road for all families, by way of a file that is nowhere written, which each of them makes",
    ),
    (&["convert/plan", "convert/write_plan"], "a plan reads the bytes that its writer lists, to choose a codec for them"),
    (
        &["dudley/expected_values", "dudley/layout_values", "dudley/order_detection"],
        "the byte order of a raw file is the one in which it has its expected values, which are read in an order",
    ),
    (&["dudley/append", "dudley/append_rows"], "what is appended grows what is there, and the other way round"),
    (&["dudley/decompress", "dudley/jpeg", "dudley/png"], "images are decoded by forms of one type"),
    (&["dudley/dudley_file", "dudley/item_tree"], "a file has an outline, which is made of the file"),
    (
        &[
            "file/address_target",
            "file/asdf",
            "file/backend",
            "file/columns",
            "file/dudley",
            "file/expand",
            "file/file_set",
            "file/fits",
            "file/hdu_paths",
            "file/hdu_units",
            "file/item",
            "file/item_decoder",
            "file/item_header",
            "file/item_queries",
            "file/open",
        ],
        "a backend answers questions about items that hold it; an item has columns, which a FITS file describes, and a FITS file \
         may hold a file, which is opened",
    ),
    (
        &["fits/checksum", "fits/compressed_table", "fits/fits_file", "fits/heap", "fits/tiled_image", "fits/tree"],
        "an HDU is an array, a table or tiles, whose cells lie in a heap, and whose sums are compared before they are decoded",
    ),
    (
        &[
            "foreign/hdf5/attributes",
            "foreign/hdf5/chunk_index",
            "foreign/hdf5/data_layout",
            "foreign/hdf5/dataset",
            "foreign/hdf5/datatype",
            "foreign/hdf5/external_files",
            "foreign/hdf5/linked_file",
            "foreign/hdf5/references",
            "foreign/hdf5/varlen",
            "foreign/hdf5/virtual_dataset",
        ],
        "an element may be a reference, whose path is that of an object with elements",
    ),
    (
        &[
            "layout/escape",
            "layout/item_spec",
            "layout/lexer",
            "layout/model",
            "layout/note_value",
            "layout/static_facts",
            "layout/storage_field",
        ],
        "the model keeps what the lexer found, the plan made of it, and typed properties, each of which is spelled as an attribute",
    ),
    (&["layout/print", "layout/translate"], "one dialect is printed as the other"),
    (&["schema/hints", "schema/property_order", "schema/validate"], "what a schema says of order is found by validating"),
    (&["tree/edit", "tree/fits_cards"], "a card of FITS is found like a node, and edited as one"),
    (&["tree/build", "tree/children", "tree/key_index", "tree/node", "tree/walk"], "a node is a place in a tree of nodes"),
    (&["yaml/print", "yaml/value"], "a value that is a key is printed to be compared"),
];

/// The modules that may name `std::fs`.
const OPENERS: &[&str] = &["bytes", "file"];

fn floor(module: &str) -> Option<u8> {
    FLOORS.iter().find(|(name, _)| *name == module).map(|(_, floor)| *floor)
}

#[test]
fn modules_import_only_from_below() {
    let exports = reexports(&text_of(Path::new("lib.rs")));
    let mut faults = String::new();
    for file in files() {
        let text = text_of(&file);
        for fault in upward_imports(&file, &text, &exports) {
            writeln!(faults, "  {fault}").unwrap();
        }
    }
    assert!(faults.is_empty(), "imports from the same or a higher floor:\n{faults}");
}

#[test]
fn every_top_level_module_is_listed() {
    for file in files() {
        let (module, ..) = home(&file);
        assert!(
            module.is_empty() || floor(&module).is_some(),
            "{}: module `{module}` has no floor; enter it in tests/floors.rs",
            file.display()
        );
    }
}

#[test]
fn only_bytes_and_file_modules_use_file_system() {
    let mut faults = String::new();
    for file in files() {
        let (module, ..) = home(&file);
        if OPENERS.contains(&module.as_str()) || file == Path::new(MACHINE) {
            continue;
        }
        let text = text_of(&file);
        for use_ in file_system_uses(&file, &text) {
            writeln!(faults, "  {use_}").unwrap();
        }
    }
    assert!(faults.is_empty(), "file system used outside bytes/ and file.rs:\n{faults}");
}

#[test]
fn threads_are_started_in_one_place() {
    let mut faults = String::new();
    for file in files().into_iter().filter(|file| file != Path::new(THREADS)) {
        let text = text_of(&file);
        for path in paths(&text).iter().filter(|path| !path.in_tests) {
            let words: Vec<&str> = path.segments.iter().map(String::as_str).collect();
            if matches!(words[..], ["std", "thread", ..] | ["rayon", ..]) && words.last() != Some(&"sleep") {
                writeln!(faults, "  {}:{}: {}", file.display(), path.line, words.join("::")).unwrap();
            }
        }
    }
    assert!(faults.is_empty(), "threads outside threads.rs:\n{faults}");
}

#[test]
fn files_see_each_other_only_where_they_must() {
    let texts: BTreeMap<Vec<String>, String> = files()
        .into_iter()
        .filter(|file| !file.to_string_lossy().ends_with("tests.rs"))
        .map(|file| (module(&file), text_of(&file)))
        .collect();
    let found = circles(&texts);
    let known: Vec<Vec<String>> =
        CIRCLES.iter().map(|(files, _)| files.iter().map(|file| (*file).to_owned()).collect()).collect();
    let new: Vec<String> = found.iter().filter(|circle| !known.contains(circle)).map(|circle| circle.join(" ")).collect();
    assert!(new.is_empty(), "files that see each other:\n  {}\nmove what both need into a third", new.join("\n  "));
    let gone: Vec<_> = known.iter().filter(|circle| !found.contains(circle)).collect();
    assert!(gone.is_empty(), "circles that are open now: take them off the list: {gone:?}");
    assert!(CIRCLES.iter().all(|(_, reason)| !reason.is_empty()));

    let text = |own: &str| own.to_owned();
    let example = BTreeMap::from([
        (vec!["a".to_owned(), "one".to_owned()], text("use super::two::Two;")),
        (vec!["a".to_owned(), "two".to_owned()], text("fn f() { crate::a::three::g() }")),
        (vec!["a".to_owned(), "three".to_owned()], text("mod tests { use crate::a::one::One; }")),
    ]);
    assert!(circles(&example).is_empty(), "tests may look anywhere");
    let mut closed = example;
    closed.insert(vec!["a".to_owned(), "three".to_owned()], text("use crate::{a::one::One, b};"));
    assert_eq!(circles(&closed), [["a/one", "a/three", "a/two"]]);
}

#[test]
fn command_files_make_no_circle() {
    let root = sources_of("trilith-cli");
    let text = |file: &PathBuf| std::fs::read_to_string(root.join(file)).unwrap();
    let texts: BTreeMap<Vec<String>, String> = files_under(&root).iter().map(|file| (module(file), text(file))).collect();
    assert!(texts.len() > 50, "{}", texts.len());
    assert_eq!(circles(&texts), Vec::<Vec<String>>::new());
}

/// The files that see each other, directly or through others. A file above another in the folders only hands on what lies
/// below it.
fn circles(texts: &BTreeMap<Vec<String>, String>) -> Vec<Vec<String>> {
    let mut sees: BTreeMap<&Vec<String>, Vec<&Vec<String>>> = BTreeMap::new();
    for (own, text) in texts {
        for path in paths(text).iter().filter(|path| !path.in_tests) {
            let whole = absolute(path, own);
            let target = (1..=whole.len()).rev().find_map(|n| texts.get_key_value(&whole[..n]).map(|(key, _)| key));
            if let Some(target) = target.filter(|target| !own.starts_with(target) && !target.starts_with(own)) {
                sees.entry(own).or_default().push(target);
            }
        }
    }
    let reached = |from: &Vec<String>| {
        let (mut seen, mut todo) = (BTreeSet::new(), vec![from.clone()]);
        while let Some(next) = todo.pop() {
            for target in sees.get(&next).into_iter().flatten() {
                if seen.insert((*target).clone()) {
                    todo.push((*target).clone());
                }
            }
        }
        seen
    };
    let reach: BTreeMap<&Vec<String>, BTreeSet<Vec<String>>> = texts.keys().map(|own| (own, reached(own))).collect();
    let mut found: Vec<Vec<String>> = Vec::new();
    for (own, seen) in reach.iter().filter(|(own, seen)| seen.contains(**own)) {
        let sees_own = |other: &&Vec<String>| reach.get(*other).is_some_and(|back| back.contains(*own));
        let circle: Vec<String> = seen.iter().filter(sees_own).map(|module| module.join("/")).collect();
        if !found.contains(&circle) {
            found.push(circle);
        }
    }
    found
}

/// The module that a file is, from the root of the crate on.
fn module(file: &Path) -> Vec<String> {
    let mut parts: Vec<String> = file.with_extension("").iter().map(|part| part.to_string_lossy().into_owned()).collect();
    if parts.last().is_some_and(|last| last == "mod" || last == "lib") {
        parts.pop();
    }
    parts
}

/// A path from the root of the crate on; empty where it leads out of the crate.
fn absolute(path: &UsePath, own: &[String]) -> Vec<String> {
    let mut segments = path.segments.iter().peekable();
    let mut whole = match segments.next().map(String::as_str) {
        Some("crate") => return segments.cloned().collect(),
        Some("self") => own.to_vec(),
        Some("super") => own[..own.len().saturating_sub(1)].to_vec(),
        _ => return Vec::new(),
    };
    while segments.next_if(|segment| *segment == "super").is_some() {
        whole.pop();
    }
    whole.extend(segments.cloned());
    whole
}

#[test]
fn upward_imports_finds_every_import_form() {
    let exports = BTreeMap::from([("Error".to_owned(), "error".to_owned()), ("Opened".to_owned(), "file".to_owned())]);
    let found = |file: &str, text: &str| upward_imports(Path::new(file), text, &exports);

    let seen = found("tree/edit.rs", "//! use crate::file;\nuse crate::{error::Error, yaml, asdf::Block};\n");
    assert_eq!(seen, ["tree/edit.rs:2: `tree` (floor 2) uses `asdf` (floor 4)"]);
    assert_eq!(found("tree/mod.rs", "fn f() { crate::array::Array::new() }").len(), 1, "neighbours");
    assert_eq!(found("asdf/block.rs", "use super::super::dudley::Item;").len(), 1, "through super");
    assert_eq!(found("asdf/block.rs", "mod tests { use super::super::index; use super::super::super::fits; }").len(), 1);
    assert_eq!(found("codec/lz4.rs", "use crate::Opened;").len(), 1, "through a re-export");
    assert_eq!(
        found("codec/lz4.rs", "const S: &str = \"crate::file\"; // crate::file\n/* crate::file */ use crate::Error;").len(),
        0
    );
    assert_eq!(found("codec/lz4.rs", "use super::zlib; fn f<'a>(x: &'a u8) -> char { '\"' } use crate::codec::Codec;").len(), 0);
    assert_eq!(found("codec/lz4.rs", "use crate::*;").len(), 1, "a glob hides the floor");
    assert_eq!(found("codec/lz4.rs", "use crate::Nothing;").len(), 1, "an unknown name");

    let opens = |text: &str| file_system_uses(Path::new("tree/mod.rs"), text).len();
    assert_eq!(opens("use std::{fs, io};"), 1);
    assert_eq!(opens("fn f() { std::fs::read(p) }"), 1);
    assert_eq!(opens("use std::fs::File as F; fn f() { F::open(p) }"), 1);
    assert_eq!(opens("#[cfg(test)] mod tests { use std::fs; }"), 0, "tests may make files");
}

/// Every import of `text` that goes up or sideways, as `file:line: why`.
fn upward_imports(file: &Path, text: &str, exports: &BTreeMap<String, String>) -> Vec<String> {
    let (module, depth) = home(file);
    let mut faults = Vec::new();
    if module.is_empty() {
        return faults; // lib.rs: the front door sees everything
    }
    let own = floor(&module).unwrap_or(u8::MAX);
    for path in paths(text) {
        let Some(name) = root_name(&path, depth) else { continue };
        let place = format!("{}:{}", file.display(), path.line);
        if name == "*" {
            faults.push(format!("{place}: import what is needed by name, not `*` from the crate root"));
            continue;
        }
        let target = if floor(&name).is_some() { Some(name.as_str()) } else { exports.get(&name).map(String::as_str) };
        match target.and_then(|target| floor(target).map(|floor| (target, floor))) {
            None if path.is_macro => {} // macros of the crate live at its root, whatever their file
            None => faults.push(format!("{place}: `{name}` is not a module with a floor and no re-export of lib.rs")),
            Some((target, _)) if target == module => {}
            Some((_, GROUND)) if own == GROUND => {}
            Some((_, below)) if below < own => {}
            Some((target, floor)) => faults.push(format!("{place}: `{module}` (floor {own}) uses `{target}` (floor {floor})")),
        }
    }
    faults
}

/// Every use of `std::fs` outside test modules, as `file:line: what`.
fn file_system_uses(file: &Path, text: &str) -> Vec<String> {
    if file.file_stem().is_some_and(|stem| stem.to_string_lossy().ends_with("tests")) {
        return Vec::new();
    }
    let mut uses = Vec::new();
    for path in paths(text).iter().filter(|path| !path.in_tests) {
        let words: Vec<&str> = path.segments.iter().map(String::as_str).collect();
        let reaches = matches!(words[..], ["std", "fs", ..]);
        if reaches {
            uses.push(format!("{}:{}: {}", file.display(), path.line, words.join("::")));
        }
    }
    uses
}

/// Name -> module for everything that `lib.rs` re-exports.
fn reexports(lib: &str) -> BTreeMap<String, String> {
    let mut map = BTreeMap::new();
    for path in paths(lib) {
        let segments: Vec<&String> = path.segments.iter().filter(|s| *s != "self" && *s != "crate").collect();
        if let [module, .., name] = segments[..] {
            map.insert(path.alias.clone().unwrap_or_else(|| name.clone()), module.clone());
        }
    }
    map
}

/// The top-level module of a file, and how many modules deep the file itself is.
fn home(file: &Path) -> (String, usize) {
    let mut parts: Vec<String> = file.components().map(|part| part.as_os_str().to_string_lossy().into_owned()).collect();
    let last = parts.pop().unwrap();
    match last.trim_end_matches(".rs") {
        "lib" | "mod" => {}
        stem => parts.push(stem.to_owned()),
    }
    (parts.first().cloned().unwrap_or_default(), parts.len())
}

/// The name at the crate root that a path goes through, unless it stays in its own module.
fn root_name(path: &UsePath, file_depth: usize) -> Option<String> {
    let mut depth = file_depth + path.inline_depth;
    let mut segments = path.segments.iter().peekable();
    match segments.next()?.as_str() {
        "crate" => return segments.find(|s| *s != "self").cloned(),
        "self" => {}
        "super" => depth -= 1,
        _ => return None,
    }
    while segments.peek().is_some_and(|s| *s == "super") {
        segments.next();
        depth -= 1;
    }
    if depth == 0 { segments.next().cloned() } else { None }
}

/// One path of the source, with `use` groups multiplied out.
#[derive(Debug, Default, Clone)]
struct UsePath {
    segments: Vec<String>,
    alias: Option<String>,
    line: usize,
    /// How many inline modules enclose it.
    inline_depth: usize,
    in_tests: bool,
    is_macro: bool,
}

#[derive(Debug, Clone, PartialEq)]
enum Token {
    Word(String),
    Colons,
    Mark(char),
}

/// All paths of two segments or more in Rust source text.
fn paths(text: &str) -> Vec<UsePath> {
    let tokens = tokens(text);
    let mut found = Vec::new();
    let mut braces = 0usize;
    let mut modules: Vec<(usize, bool)> = Vec::new(); // depth of the opening brace; is it a test module
    let mut at = 0;
    while let Some((token, line)) = tokens.get(at) {
        let next = tokens.get(at + 1).map(|(token, _)| token);
        match token {
            Token::Word(word) if word == "mod" && matches!(tokens.get(at + 2), Some((Token::Mark('{'), _))) => {
                let in_tests = matches!(next, Some(Token::Word(name)) if name == "tests");
                modules.push((braces, in_tests));
                braces += 1;
                at += 3;
                continue;
            }
            Token::Mark('{') => braces += 1,
            Token::Mark('}') => {
                braces = braces.saturating_sub(1);
                if modules.last().is_some_and(|(depth, _)| *depth == braces) {
                    modules.pop();
                }
            }
            Token::Word(_) if next == Some(&Token::Colons) => {
                let start = UsePath {
                    line: *line,
                    inline_depth: modules.len(),
                    in_tests: modules.iter().any(|(_, tests)| *tests),
                    ..UsePath::default()
                };
                at = flatten(&tokens, at, &start, &mut found);
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    found
}

/// Reads one path or `use` tree from `at` on, adds what it names, and returns where it ends.
fn flatten(tokens: &[(Token, usize)], mut at: usize, prefix: &UsePath, found: &mut Vec<UsePath>) -> usize {
    let mut path = prefix.clone();
    loop {
        match tokens.get(at) {
            Some((Token::Word(word), line)) => {
                path.segments.push(word.clone());
                path.line = *line;
                at += 1;
                match tokens.get(at) {
                    Some((Token::Colons, _)) => at += 1,
                    next => {
                        path.is_macro = matches!(next, Some((Token::Mark('!'), _)));
                        if let (Some((Token::Word(as_), _)), Some((Token::Word(alias), _))) = (next, tokens.get(at + 1))
                            && as_ == "as"
                        {
                            path.alias = Some(alias.clone());
                            at += 2;
                        }
                        break;
                    }
                }
            }
            Some((Token::Mark('*'), _)) => {
                path.segments.push("*".to_owned());
                at += 1;
                break;
            }
            Some((Token::Mark('{'), _)) => {
                at += 1;
                while !matches!(tokens.get(at), None | Some((Token::Mark('}'), _))) {
                    match tokens.get(at) {
                        Some((Token::Mark(','), _)) => at += 1,
                        _ => {
                            let before = at;
                            at = flatten(tokens, at, &path, found);
                            if at == before {
                                at += 1;
                            }
                        }
                    }
                }
                return at + 1;
            }
            _ => break, // a generic argument list, a call: the path is over
        }
    }
    found.push(path);
    at
}

/// Source text as words, `::` and single marks; comments, strings, characters and lifetimes are dropped.
fn tokens(text: &str) -> Vec<(Token, usize)> {
    let bytes: Vec<char> = text.chars().collect();
    let mut out = Vec::new();
    let mut line = 1;
    let mut at = 0;
    while let Some(&c) = bytes.get(at) {
        let next = bytes.get(at + 1).copied();
        let start = at;
        match c {
            '/' if next == Some('/') => at = find(&bytes, at, |rest| rest[0] == '\n'),
            '/' if next == Some('*') => at = (find(&bytes, at + 2, |rest| rest.starts_with(&['*', '/'])) + 2).min(bytes.len()),
            '"' => at = string_end(&bytes, at + 1),
            '\'' => at = quote_end(&bytes, at),
            _ if c.is_alphanumeric() || c == '_' => {
                at = find(&bytes, at, |rest| !(rest[0].is_alphanumeric() || rest[0] == '_'));
                let word: String = bytes[start..at].iter().collect();
                let hashes = bytes[at..].iter().take_while(|c| **c == '#').count();
                let raw = matches!(word.as_str(), "r" | "br" | "cr") && bytes.get(at + hashes) == Some(&'"');
                if raw {
                    let end: Vec<char> = std::iter::once('"').chain(std::iter::repeat_n('#', hashes)).collect();
                    at = (find(&bytes, at + hashes + 1, |rest| rest.starts_with(&end)) + end.len()).min(bytes.len());
                } else {
                    out.push((Token::Word(word), line));
                }
            }
            ':' if next == Some(':') => {
                out.push((Token::Colons, line));
                at += 2;
            }
            _ => {
                if !c.is_whitespace() {
                    out.push((Token::Mark(c), line));
                }
                at += 1;
            }
        }
        line += bytes[start..at].iter().filter(|c| **c == '\n').count();
    }
    out
}

fn find(text: &[char], from: usize, stop: impl Fn(&[char]) -> bool) -> usize {
    (from..text.len()).find(|at| stop(&text[*at..])).unwrap_or(text.len())
}

/// The place after the closing quote of a string whose text starts at `at`.
fn string_end(text: &[char], mut at: usize) -> usize {
    while let Some(c) = text.get(at) {
        match c {
            '\\' => at += 2,
            '"' => return at + 1,
            _ => at += 1,
        }
    }
    text.len()
}

/// The place after a character literal or a lifetime that starts at `at`.
fn quote_end(text: &[char], at: usize) -> usize {
    if text.get(at + 1) == Some(&'\\') {
        return (find(text, at + 3, |rest| rest[0] == '\'') + 1).min(text.len());
    }
    if text.get(at + 2) == Some(&'\'') {
        return at + 3;
    }
    find(text, at + 1, |rest| !(rest[0].is_alphanumeric() || rest[0] == '_'))
}

/// The crates whose modules have floors; the facade shows all of them as its own.
const CRATES: [&str; 8] = [
    "trilith",
    "trilith-io",
    "trilith-yaml",
    "trilith-schema",
    "trilith-array",
    "trilith-codec",
    "trilith-fits",
    "trilith-layout",
];

/// The sources of the crate that a file is in.
fn source_root(file: &Path) -> PathBuf {
    let sources = CRATES.map(sources_of);
    sources.iter().find(|root| root.join(file).exists()).unwrap_or(&sources[0]).clone()
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn text_of(file: &Path) -> String {
    std::fs::read_to_string(source_root(file).join(file)).unwrap()
}

fn sources_of(name: &str) -> PathBuf {
    repository().join("crates").join(name).join("src")
}

/// Every Rust file below a folder, as a path from there on.
fn files_under(root: &Path) -> Vec<PathBuf> {
    let (mut found, mut folders) = (Vec::new(), vec![root.to_path_buf()]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                found.push(path.strip_prefix(root).unwrap().to_path_buf());
            }
        }
    }
    found
}

/// Every Rust file of the crates, as a path from the root of its crate on; of the facade alone with `lib.rs`.
fn files() -> Vec<PathBuf> {
    let mut found = BTreeSet::new();
    for name in CRATES {
        for file in files_under(&sources_of(name)) {
            assert!(found.insert(file.clone()) || file == Path::new("lib.rs"), "{}: in two crates", file.display());
        }
    }
    found.into_iter().collect()
}
