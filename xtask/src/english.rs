//! Counts the habits that make documentation hard to read, and lets none of the counts grow.
//!
//! A sentence of documentation begins with a verb or a noun, not with a relative clause. Some words have a usual equivalent. Every area
//! has a recorded maximum for both: lower it when you have rewritten something.

use crate::files::read;
use crate::shell::root;
use crate::site::{files, prose};

/// An area, and how many sentences begin with one of [`FIRST`] and how many words are in [`WORDS`] at most.
const AREAS: &[(&str, usize, usize)] = &[
    ("README.md", 0, 0),
    ("docs", 0, 0),
    ("ARCHITECTURE.md", 0, 0),
    ("CHANGELOG.md", 0, 0),
    ("CONTRIBUTING.md", 0, 0),
    ("SECURITY.md", 0, 0),
    ("crates/trilith/src", 0, 0),
    ("crates/trilith-c", 0, 0),
    ("crates/trilith-cli/src", 0, 0),
    ("crates/trilith-py", 0, 0),
    ("crates/trilith-view/src", 0, 0),
    ("crates/trilith-wcs/src", 0, 0),
    ("crates/trilith-web/src", 0, 0),
    ("xtask/src", 0, 0),
];

/// Words that begin no sentence of documentation.
const FIRST: &[&str] = &["What", "Where", "Who", "Whoever", "Whatever", "Whose", "How"];

/// Words that have a usual equivalent.
const WORDS: &[(&str, &str)] = &[
    ("anew", "again"),
    ("whoever", "the noun"),
    ("nobody", "the noun"),
    ("truth value", "boolean"),
    ("truth values", "booleans"),
    ("texts", "strings"),
    ("of its own", "separate"),
    ("of their own", "separate"),
    ("catalogue", "catalog"),
    ("package of Debian", "Debian package"),
];

/// Fails if an area has more of a habit than it had.
pub fn check() -> Result<(), String> {
    let mut faults = String::new();
    for (area, first, words) in AREAS {
        let text = text_of(area)?;
        let (begin, used) = count(&text);
        println!("{area}: {} sentences begin with a relative word, {} words have a usual equivalent", begin.len(), used.len());
        for (found, most) in [(begin, first), (used, words)] {
            if found.len() > *most {
                faults.push_str(&format!("{area}: {} (at most {most}); rewrite the new one, which is one of\n", found.len()));
                found.iter().for_each(|line| faults.push_str(&format!("  {line}\n")));
            }
        }
    }
    if faults.is_empty() { Ok(()) } else { Err(faults) }
}

/// Paragraphs of an area: prose of its pages, or documentation comments of its sources.
fn text_of(area: &str) -> Result<Vec<String>, String> {
    let path = root().join(area);
    let paths = if path.is_dir() { files(&path) } else { vec![path] };
    let mut found = Vec::new();
    for path in paths {
        let paragraphs: fn(&str) -> Vec<String> = match path.extension().and_then(|extension| extension.to_str()) {
            Some("md") => of_page,
            Some("rs") => of_source,
            _ => continue,
        };
        found.extend(paragraphs(&read(&path)?));
    }
    Ok(found)
}

/// The paragraphs, headings, list items and table cells of a page.
fn of_page(page: &str) -> Vec<String> {
    let mut found = vec![String::new()];
    for line in prose(page) {
        let bare = line.trim_start_matches([' ', '#', '>', '-', '*', '|']);
        if bare.len() < line.len() || bare.is_empty() {
            found.push(String::new());
        }
        for (at, cell) in bare.split(" | ").enumerate() {
            if at > 0 {
                found.push(String::new());
            }
            join(&mut found, cell);
        }
    }
    found
}

/// The paragraphs of documentation comments.
fn of_source(source: &str) -> Vec<String> {
    let mut found = vec![String::new()];
    let mut fenced = false;
    for line in source.lines() {
        let line = line.trim_start();
        let comment = line.strip_prefix("///").or_else(|| line.strip_prefix("//!")).map_or("", str::trim);
        fenced ^= comment.starts_with("```");
        let bare = comment.trim_start_matches(['#', '-', '*', ' ']);
        if fenced || bare.len() < comment.len() || bare.is_empty() {
            found.push(String::new());
        }
        if !fenced {
            join(&mut found, bare);
        }
    }
    found
}

/// Adds a line to the last paragraph, without code.
fn join(paragraphs: &mut [String], line: &str) {
    let Some(last) = paragraphs.last_mut() else { return };
    let bare: Vec<&str> = line.split('`').enumerate().map(|(at, part)| if at % 2 == 0 { part } else { "_" }).collect();
    if !last.is_empty() {
        last.push(' ');
    }
    last.push_str(bare.concat().trim());
}

/// The sentences that begin with a relative word, and the words that have a usual equivalent, each with its place.
fn count(paragraphs: &[String]) -> (Vec<String>, Vec<String>) {
    let (mut begin, mut used) = (Vec::new(), Vec::new());
    for sentence in paragraphs.iter().flat_map(|paragraph| paragraph.split(". ")) {
        let first = sentence.split(|c: char| !c.is_alphabetic()).next().unwrap_or_default();
        if FIRST.contains(&first) && !sentence.ends_with('?') {
            begin.push(sentence.to_owned());
        }
        let words = format!(" {} ", sentence.replace(|c: char| !c.is_alphanumeric(), " "));
        let known = WORDS.iter().filter(|(word, _)| words.contains(&format!(" {word} ")));
        used.extend(known.map(|(word, better)| format!("{word} (write {better}): {sentence}")));
    }
    (begin, used)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_of_pages_and_sources_are_found() {
        let page = of_page(
            "# How it works\n\nA text. Where it is,\nit stays anew.\n\n```\nWhat\n```\n| a | Who reads |\n- `What` is code\n",
        );
        let (begin, used) = count(&page);
        assert_eq!(begin, ["How it works", "Where it is, it stays anew.", "Who reads |"]);
        assert_eq!(used, ["anew (write again): Where it is, it stays anew."]);
        let source = of_source("/// What is read.\n/// Where?\nfn x() {}\n//! Reads. Who\n/// ```\n/// How\n/// ```\n");
        assert_eq!(count(&source).0, ["What is read", "Who"]);
    }

    #[test]
    fn no_habit_grows() -> Result<(), String> {
        assert!(AREAS.iter().all(|(area, ..)| root().join(area).exists()));
        check()
    }
}
