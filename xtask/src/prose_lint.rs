//! Counts the habits that make text hard to read, and lets none of the counts grow.
//!
//! A sentence begins with a verb or a noun, not with a relative clause. Some words have a usual equivalent. This holds for pages, documentation
//! comments, other comments, docstrings, help and messages. Every area has a recorded maximum for both habits: lower it when you have
//! rewritten something.

use crate::command::repository_root;
use crate::fs::read_text;
use crate::site::{list_files, list_rust_files, prose_lines};

/// An area, the maximum of sentences that begin with one of [`FIRST`], and the maximum of words in [`WORD_REPLACEMENTS`].
const AREAS: &[(&str, usize, usize)] = &[
    ("README.md", 0, 0),
    ("docs", 0, 0),
    ("docs/conformance.md", 0, 0),
    ("docs/decisions.md", 0, 0),
    ("docs/measurements.md", 0, 0),
    ("docs/security.md", 0, 0),
    ("docs/updates.md", 1, 0),
    ("ARCHITECTURE.md", 0, 0),
    ("CHANGELOG.md", 0, 0),
    ("CONTRIBUTING.md", 0, 0),
    ("SECURITY.md", 0, 0),
    ("crates/trilith/src", 0, 0),
    ("crates/trilith-array/src", 0, 0),
    ("crates/trilith-c", 0, 0),
    ("crates/trilith-cli/src", 0, 0),
    ("crates/trilith-codec/src", 0, 0),
    ("crates/trilith-fits/src", 0, 0),
    ("crates/trilith-io/src", 0, 0),
    ("crates/trilith-layout/src", 0, 0),
    ("crates/trilith-py", 0, 0),
    ("crates/trilith-schema/src", 0, 0),
    ("crates/trilith-view/src", 0, 0),
    ("crates/trilith-wcs/src", 0, 0),
    ("crates/trilith-web/src", 0, 0),
    ("crates/trilith-yaml/src", 0, 0),
    ("xtask/src", 0, 0),
];

/// Words that begin no sentence of documentation.
const FIRST: &[&str] = &["What", "Where", "Who", "Whoever", "Whatever", "Whose", "How"];

/// Words that have a usual equivalent.
const WORD_REPLACEMENTS: &[(&str, &str)] = &[
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
    ("behind", "after"),
    ("beside", "next to, or in addition to"),
    ("lie", "is, or is stored"),
    ("lies", "is, or is stored"),
    ("stands", "is"),
    ("all that", "everything that, or the noun"),
    ("so many", "the number"),
    ("mend", "fix"),
    ("mended", "fixed"),
];

/// Fails if an area has more of a habit than it had.
pub(crate) fn check_habits() -> Result<(), String> {
    let mut faults = String::new();
    for (area, first, words) in AREAS {
        let text = text_of(area)?;
        let (begin, used) = find_habits(&text);
        println!("{area}: {} sentences begin with a relative word, {} words have a usual equivalent", begin.len(), used.len());
        for (found, most) in [(begin, first), (used, words)] {
            if found.len() > *most {
                faults.push_str(&format!("{area}: {} (at most {most}); rewrite the new one, which is one of\n", found.len()));
                found.iter().for_each(|line| faults.push_str(&format!("  {line}\n")));
            }
        }
    }
    faults.push_str(&comments_without_subject()?);
    if faults.is_empty() { Ok(()) } else { Err(faults) }
}

/// Folders of Rust files whose comments are checked.
const SOURCE_FOLDERS: &[&str] = &["crates", "fuzz/src", "fuzz/targets", "xtask"];

/// Beginnings of comments that leave their noun to the reader.
const SUBJECTLESS: &[&str] = &["Of", "Those", "That of", "The same", "As", "Its", "Their", "So many", "Neither", "Not at all"];

/// Returns a line for each comment that begins without its subject.
fn comments_without_subject() -> Result<String, String> {
    let mut faults = String::new();
    for path in list_rust_files(SOURCE_FOLDERS) {
        for comment in of_comments(&read_text(&path)?, &["///", "//!", "//"]) {
            let starts = |first: &&&str| comment.strip_prefix(**first).is_some_and(|rest| rest.starts_with([' ', ',', '.', ':']));
            if let Some(first) = SUBJECTLESS.iter().find(starts) {
                faults.push_str(&format!("{}: a comment begins with \"{first}\", name its noun: {comment}\n", path.display()));
            }
        }
    }
    Ok(faults)
}

/// Paragraphs of an area: prose of its pages, comments and messages of its sources, docstrings. A file with a separate maximum is not
/// counted in its folder.
fn text_of(area: &str) -> Result<Vec<String>, String> {
    let path = repository_root().join(area);
    let paths = if path.is_dir() { list_files(&path) } else { vec![path] };
    let mut found = Vec::new();
    for path in paths.iter().filter(|path| is_counted(area, path)) {
        let parts: &[fn(&str) -> Vec<String>] = match path.extension().and_then(|extension| extension.to_str()) {
            Some("md") => &[of_page],
            Some("rs") => &[|source| of_comments(source, &["///", "//!"]), |source| of_comments(source, &["// "]), of_messages],
            Some("py" | "pyi") => &[of_docstrings],
            Some("h" | "hpp") => &[|source| of_comments(source, &["// ", "* ", "/* "])],
            _ => continue,
        };
        let text = read_text(path)?;
        parts.iter().for_each(|part| found.extend(part(&text)));
    }
    Ok(found)
}

/// Returns `true` if the file has no separate area, and is not about the habits themselves.
fn is_counted(area: &str, path: &std::path::Path) -> bool {
    let name = path.strip_prefix(repository_root()).unwrap_or(path);
    let is_separate = AREAS.iter().any(|(other, ..)| *other != area && std::path::Path::new(other) == name);
    !is_separate && !path.ends_with("src/prose_lint.rs")
}

/// The paragraphs, headings, list items and table cells of a page.
fn of_page(page: &str) -> Vec<String> {
    let mut found = vec![String::new()];
    for line in prose_lines(page) {
        let bare = line.trim_start_matches([' ', '#', '>', '-', '*', '|']);
        if bare.len() < line.len() || bare.is_empty() {
            found.push(String::new());
        }
        for (at, cell) in bare.split(" | ").enumerate() {
            if at > 0 {
                found.push(String::new());
            }
            append_to_paragraph(&mut found, cell);
        }
    }
    found
}

/// The paragraphs of comments that begin with one of these marks.
fn of_comments(source: &str, marks: &[&str]) -> Vec<String> {
    let mut found = vec![String::new()];
    let mut fenced = false;
    for line in source.lines() {
        let line = line.trim_start();
        let comment = marks.iter().find_map(|mark| line.strip_prefix(mark)).map_or("", str::trim);
        fenced ^= comment.starts_with("```");
        let bare = comment.trim_start_matches(['#', '-', '*', ' ', '/', '!']);
        if fenced || bare.len() < comment.len() || bare.is_empty() {
            found.push(String::new());
        }
        if !fenced {
            append_to_paragraph(&mut found, bare);
        }
    }
    found
}

/// The strings of three words or more, up to the tests of the file.
fn of_messages(source: &str) -> Vec<String> {
    let mut found = Vec::new();
    let program = source.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
    for line in program.lines().filter(|line| !line.trim_start().starts_with("//")) {
        let strings = line.replace("\\\"", "'");
        let texts = strings.split('"').skip(1).step_by(2).filter(|text| text.split(' ').count() > 2);
        found.extend(texts.map(str::to_owned));
    }
    found
}

/// The paragraphs of docstrings, without their examples.
fn of_docstrings(source: &str) -> Vec<String> {
    let mut found = vec![String::new()];
    for text in source.split("\"\"\"").skip(1).step_by(2) {
        found.push(String::new());
        for line in text.lines().map(str::trim) {
            if line.is_empty() || line.starts_with(">>>") || line.starts_with("...") {
                found.push(String::new());
            } else {
                append_to_paragraph(&mut found, line);
            }
        }
    }
    found
}

/// Adds a line to the last paragraph, without code.
fn append_to_paragraph(paragraphs: &mut [String], line: &str) {
    let Some(last) = paragraphs.last_mut() else { return };
    let bare: Vec<&str> = line.split('`').enumerate().map(|(at, part)| if at % 2 == 0 { part } else { "_" }).collect();
    if !last.is_empty() {
        last.push(' ');
    }
    last.push_str(bare.concat().trim());
}

/// The sentences that begin with a relative word, and the words that have a usual equivalent, each with its place.
fn find_habits(paragraphs: &[String]) -> (Vec<String>, Vec<String>) {
    let (mut begin, mut used) = (Vec::new(), Vec::new());
    for sentence in paragraphs.iter().flat_map(|paragraph| paragraph.split(". ")) {
        let first = sentence.split(|c: char| !c.is_alphabetic()).next().unwrap_or_default();
        if FIRST.contains(&first) && !sentence.ends_with('?') {
            begin.push(sentence.to_owned());
        }
        // Names of files, options and the like are not words.
        let edges = |c: char| !c.is_alphanumeric() && !"{}".contains(c);
        let words = sentence.split_whitespace().map(|word| word.trim_matches(edges));
        let words: Vec<&str> = words.map(|word| if word.contains(|c: char| "/#=_.{}".contains(c)) { "" } else { word }).collect();
        let words = format!(" {} ", words.join(" "));
        let known = WORD_REPLACEMENTS.iter().filter(|(word, _)| words.contains(&format!(" {word} ")));
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
        let (begin, used) = find_habits(&page);
        assert_eq!(begin, ["How it works", "Where it is, it stays anew.", "Who reads |"]);
        assert_eq!(used, ["anew (write again): Where it is, it stays anew."]);
        let source =
            of_comments("/// What is read.\n/// Where?\nfn x() {}\n//! Reads. Who\n/// ```\n/// How\n/// ```\n", &["///", "//!"]);
        assert_eq!(find_habits(&source).0, ["What is read", "Who"]);
        let messages = of_messages("f(\"it stays behind {x}\"); // \"a b\"\n#[cfg(test)]\nmod tests {\n\"it is behind\"");
        assert_eq!(find_habits(&messages).1, ["behind (write after): it stays behind {x}"]);
        let strings = of_docstrings("def f():\n    \"\"\"What it does.\n\n    >>> Where\n    \"\"\"\n");
        assert_eq!(find_habits(&strings).0, ["What it does."]);
    }

    #[test]
    fn no_habit_grows() -> Result<(), String> {
        assert!(AREAS.iter().all(|(area, ..)| repository_root().join(area).exists()));
        check_habits()
    }
}
