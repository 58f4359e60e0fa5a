//! The header line, the comments after it, and the tree as text.

use memchr::{memchr, memchr_iter, memmem};

use super::AsdfRules;
use super::report::{FindingLocation, Findings};
use super::rule::Check;
use crate::asdf::{AsdfSections, header, index};
use crate::bytes::{Source, SourceRef, read_vec, to_usize};
use crate::error::{Error, Result};
use crate::limits::Limits;

/// A byte order mark.
const UTF8_BOM: &[u8] = b"\xef\xbb\xbf";
/// Longest line that is looked at.
const MAX_LINE_LEN: u64 = 64 << 10;

/// Looks at the header line and, if the document has them, the comments. The byte after them; None if this
/// is not a file of the family at all.
pub(super) fn check_header(source: &dyn Source, law: &AsdfRules, limits: &Limits, found: &mut Findings) -> Result<Option<u64>> {
    let read = header::read_asdf_header(source, limits).map_or(MAX_LINE_LEN, |header| header.end.max(MAX_LINE_LEN));
    let start = read_vec(source, 0, source.len().min(read), limits)?;
    if start.starts_with(UTF8_BOM) {
        found.add_deviation(
            Check::HeaderLineFirst,
            FindingLocation::from_byte(0),
            "the file begins with a byte order mark (ef bb bf), expected the header line",
        );
        return Ok(None);
    }
    if !header::is_asdf(&start) {
        let first = start.get(..start.len().min(8)).unwrap_or(&[]).escape_ascii();
        found.add_deviation(
            Check::HeaderLineFirst,
            FindingLocation::from_byte(0),
            format!("the file begins with \"{first}\", expected \"{} \"", law.token),
        );
        return Ok(None);
    }
    let end = memchr(b'\n', &start);
    let line = start.get(..end.unwrap_or(start.len())).unwrap_or(&[]);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    match end {
        None => {
            found.add_deviation(Check::LineEnd, FindingLocation::from_byte(line.len() as u64), "the header line has no line end");
        }
        Some(_) if line.contains(&b'\r') => {
            let at = memchr(b'\r', line).unwrap_or(0) as u64;
            found.add_deviation(
                Check::LineEnd,
                FindingLocation::from_byte(at),
                "a carriage return alone, expected \\n or \\r\\n",
            );
        }
        Some(_) => {}
    }
    if std::str::from_utf8(line).is_err() {
        found.add_deviation(Check::HeaderText, FindingLocation::from_byte(0), "the header line is not valid UTF-8");
    }
    check_line(&String::from_utf8_lossy(line), law, found);
    let mut at = end.map_or(start.len(), |end| end + 1);
    while law.comments
        && let Some(rest) = start.get(at..).filter(|rest| rest.starts_with(b"#") && !rest.starts_with(index::INDEX_HEADER))
    {
        let len = memchr(b'\n', rest).map_or(rest.len(), |end| end + 1);
        if std::str::from_utf8(rest.get(..len).unwrap_or(&[])).is_err() {
            found.add_deviation(Check::HeaderText, FindingLocation::from_byte(at as u64), "the comment is not valid UTF-8");
        }
        at += len;
    }
    Ok(Some(at as u64))
}

/// Token, blank and version.
fn check_line(line: &str, law: &AsdfRules, found: &mut Findings) {
    let place = || FindingLocation::at_text(1, 1);
    let word = line.split([' ', '\t']).next().unwrap_or("");
    if word != law.token {
        found.add_deviation(Check::Token, place(), format!("the first word is {word:?}, expected {:?}", law.token));
    }
    let rest = line.get(word.len()..).unwrap_or("");
    let version = rest.trim();
    let column = |at: usize| FindingLocation::at_text(1, u32::try_from(at).unwrap_or(u32::MAX).saturating_add(1));
    if rest.strip_prefix(' ') != Some(version) {
        let found_ = rest.replace(version, "…");
        let message = format!("{found_:?} around the version, expected one space before it and nothing after it");
        found.add_deviation(Check::BlankAfterToken, column(word.len()), message);
    }
    let at = || column(word.len() + 1);
    if law.major > 0 {
        if let Some(why) = header::not_semantic(version) {
            found.add_deviation(Check::Version, at(), format!("the version is {version:?}: {why}"));
        } else if !version.starts_with(&format!("{}.", law.major)) {
            found.add_deviation(Check::Major, at(), format!("the version is {version}, expected {}.x", law.major));
        }
        return;
    }
    let mut parts = version.splitn(3, '.');
    for (check, name, expected) in
        [(Check::Major, "major", Some("0")), (Check::Minor, "minor", Some("1")), (Check::Micro, "micro", None)]
    {
        let Some(part) = parts.next() else {
            found.add_deviation(check, at(), format!("the version is {version:?}: the {name} number is missing"));
            continue;
        };
        if !header::is_number(part) {
            found.add_deviation(check, at(), format!("the {name} number is {part:?}, expected digits"));
        } else if expected.is_some_and(|expected| part.trim_start_matches('0') != expected.trim_start_matches('0')) {
            let message = format!("the {name} number is {part}, expected {}", expected.unwrap_or(""));
            found.add_deviation(check, at(), message);
        }
    }
}

/// Looks at what is between header and tree, and at the text of the tree. `end` is the byte after the header.
pub(super) fn check_text(
    source: &SourceRef,
    sections: &AsdfSections,
    end: u64,
    law: &AsdfRules,
    limits: &Limits,
    found: &mut Findings,
) -> Result<()> {
    let Some(tree) = sections.tree() else {
        match sections.first_block() {
            Some(first) if first > end => {
                let message = format!("{} bytes between the header and the first block, expected none", first - end);
                found.add_deviation(Check::MissingTree, FindingLocation::from_byte(end), message);
            }
            None if end < source.len() && sections.index_offset().is_none() => {
                found.add_deviation(
                    Check::VersionParts,
                    FindingLocation::from_byte(end),
                    "the bytes after the header are neither a tree nor a block",
                );
            }
            _ => {}
        }
        return Ok(());
    };
    if tree.start > end {
        report_content_before_tree(law, end, &format!("{} bytes", tree.start - end), found);
    }
    let text = read_vec(&**source, tree.start, tree.end - tree.start, limits)?;
    let place = |at: usize| {
        let before = text.get(..at).unwrap_or(&[]);
        let from = memchr::memrchr(b'\n', before).map_or(0, |at| at + 1);
        let column = String::from_utf8_lossy(before.get(from..).unwrap_or(&[])).chars().count() + 1;
        let lines = check_comments(source, tree.start).unwrap_or(0) + memchr_iter(b'\n', before).count();
        let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        FindingLocation { byte: Some(tree.start + at as u64), ..FindingLocation::at_text(count(lines + 1), count(column)) }
    };
    if text.starts_with(UTF8_BOM) {
        found.add_deviation(Check::Utf8, place(0), "the tree begins with a byte order mark (ef bb bf)");
    }
    if let Err(error) = std::str::from_utf8(&text) {
        found.add_deviation(Check::Utf8, place(error.valid_up_to()), "the tree is not valid UTF-8");
    }
    let alone = memchr_iter(b'\r', &text).find(|at| text.get(at + 1) != Some(&b'\n'));
    if let Some(at) = alone {
        found.add_deviation(Check::Newlines, place(at), "a carriage return alone, expected \\n or \\r\\n");
    }
    // Line breaks of YAML 1.1, of neither DOS nor UNIX.
    for (name, bytes) in [("U+0085", &b"\xc2\x85"[..]), ("U+2028", b"\xe2\x80\xa8"), ("U+2029", b"\xe2\x80\xa9")] {
        if let Some(at) = memmem::find(&text, bytes) {
            found.add_deviation(Check::Newlines, place(at), format!("the line break {name}, expected \\n or \\r\\n"));
        }
    }
    if tree.has_end_marker && text.ends_with(b"...") && tree.end < source.len() {
        found.add_deviation(
            Check::DocumentEndMarker,
            place(text.len()),
            "a block follows the end marker on its line, expected a line end",
        );
    }
    check_document_markers(text.strip_prefix(UTF8_BOM).unwrap_or(&text), tree.has_end_marker, &place, found);
    Ok(())
}

/// Returns the number of lines before a byte.
fn check_comments(source: &SourceRef, at: u64) -> Result<usize> {
    let before = read_vec(&**source, 0, at, &Limits::default())?;
    to_usize(memchr_iter(b'\n', &before).count() as u64)
}

/// Reports content between header and tree that belongs to neither.
pub(super) fn report_content_before_tree(law: &AsdfRules, at: u64, what: &str, found: &mut Findings) {
    if law.comments {
        found.add_deviation(
            Check::Comments,
            FindingLocation::from_byte(at),
            format!("{what} between header and tree, expected comment lines only"),
        );
    } else {
        found.add_deviation(
            Check::YamlLine,
            FindingLocation::from_byte(at),
            format!("{what} between header and tree, expected \"%YAML 1.1\" at once"),
        );
    }
}

/// The first line, and the lines that begin and end the document.
fn check_document_markers(text: &[u8], closed: bool, place: &dyn Fn(usize) -> FindingLocation, found: &mut Findings) {
    let first = text.split(|byte| *byte == b'\n').next().unwrap_or(&[]);
    let first = String::from_utf8_lossy(first.strip_suffix(b"\r").unwrap_or(first)).into_owned();
    let mut words = first.split_ascii_whitespace();
    match (words.next(), words.next()) {
        _ if first == "%YAML 1.1" => {}
        (Some("%YAML"), Some(version)) if version != "1.1" => {
            found.add_deviation(Check::YamlVersion, place(0), format!("the tree is YAML {version}, expected 1.1"));
        }
        _ => {
            let shown: String = first.chars().take(40).collect();
            found.add_deviation(Check::YamlLine, place(0), format!("the tree begins with {shown:?}, expected \"%YAML 1.1\""));
        }
    }
    let mut begins = 0;
    let mut at = 0;
    for line in text.split(|byte| *byte == b'\n') {
        let line_end = line.strip_suffix(b"\r").unwrap_or(line);
        if line.strip_prefix(b"---").is_some_and(|rest| rest.first().is_none_or(u8::is_ascii_whitespace)) {
            begins += 1;
            if begins == 2 {
                found.add_deviation(Check::OneDocument, place(at), "a second document begins here");
            }
        } else if line_end.starts_with(b"...") && line_end.trim_ascii_end() == b"..." && line_end != b"..." {
            found.add_deviation(Check::DocumentEndMarker, place(at), "the end marker is followed by blanks on its line");
        }
        at += line.len() + 1;
    }
    if begins == 0 {
        found.add_deviation(Check::OneDocument, place(0), "the line --- that begins the document is missing");
    }
    if !closed {
        found.add_deviation(Check::OneDocument, place(text.len()), "the line ... that ends the document is missing");
    }
}

/// Finds the rule that a file departs from whose parts cannot be told apart.
pub(super) fn report_unreadable_structure(
    source: &dyn Source,
    end: u64,
    error: Error,
    law: &AsdfRules,
    found: &mut Findings,
) -> Result<()> {
    let ahead = read_vec(source, end, source.len().saturating_sub(end).min(64), &Limits::default())?;
    match ahead.first() {
        Some(byte) if byte.is_ascii() && !ahead.starts_with(b"%") && !ahead.starts_with(b"---") => {
            let line = String::from_utf8_lossy(ahead.split(|byte| *byte == b'\n').next().unwrap_or(&[])).into_owned();
            report_content_before_tree(law, end, &format!("the line {line:?}"), found);
            Ok(())
        }
        _ => {
            let place =
                FindingLocation { byte: FindingLocation::from_error(&error).byte.or(Some(end)), ..FindingLocation::default() };
            found.record_error(Check::VersionParts, place, error)
        }
    }
}
