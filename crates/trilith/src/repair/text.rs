//! The rest of a tree's text: the lines that are YAML.

use memchr::memchr_iter;

use crate::error::{Error, ErrorKind, Location, Result};
use crate::limits::Limits;
use crate::tree::{TextOrigin, Tree};

/// Number of lines that are left out one by one; then everything after the last key that can be kept goes.
const MAX_SINGLE_REMOVALS: usize = 64;

/// The text without what is not YAML, ended as it should be; and each line left out, counted from 1, with the reason.
pub(super) fn salvage_tree_text(bytes: Vec<u8>, limits: &Limits) -> Result<(String, Vec<(u32, String)>)> {
    let mut lost = Vec::new();
    let text = decode_lossy_text(bytes, &mut lost);
    let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
    let end = lines.iter().position(|line| line.trim_end() == "...");
    if end.is_none() {
        lost.push((lines.len() as u32, "the end of the tree is missing".to_owned()));
    }
    lines.truncate(end.unwrap_or(lines.len()));
    for _ in 0..MAX_SINGLE_REMOVALS {
        match find_parse_problem(&lines, limits)? {
            None => return Ok((join_lines(&lines), lost)),
            Some(error) => {
                let last = lines.iter().rposition(|line| !line.trim().is_empty()).unwrap_or(0);
                let line = match error.location() {
                    Location::Text { line, .. } => (*line as usize).saturating_sub(1),
                    _ => last,
                };
                let Some(place) = lines.get_mut(line.min(last)) else { break };
                if place.trim().is_empty() {
                    break;
                }
                *place = "\n";
                lost.push((line.min(last) as u32 + 1, error.message().to_owned()));
            }
        }
    }
    // Keys at the margin begin something new: the most of them that make a tree stay.
    let margins: Vec<usize> = (0..lines.len())
        .filter(|at| lines.get(*at).is_some_and(|line| !line.starts_with([' ', '\t', '\n', '\r', '%', '#'])))
        .collect();
    let (mut good, mut bad) = (0, margins.len());
    while good + 1 < bad {
        let middle = good.midpoint(bad);
        let cut = margins.get(middle).copied().unwrap_or(lines.len());
        if find_parse_problem(lines.get(..cut).unwrap_or(&[]), limits)?.is_none() { good = middle } else { bad = middle }
    }
    let cut = margins.get(good).copied().unwrap_or(0);
    lost.push((cut as u32 + 1, format!("the {} lines from here on are left out", lines.len() - cut)));
    lines.truncate(cut);
    if find_parse_problem(&lines, limits)?.is_some() {
        lost.push((1, "nothing of the tree can be kept".to_owned()));
        return Ok(("%YAML 1.1\n--- {}\n...\n".to_owned(), lost));
    }
    Ok((join_lines(&lines), lost))
}

/// Returns the problem of these lines as a tree. Exceeded limits cannot be repaired.
fn find_parse_problem(lines: &[&str], limits: &Limits) -> Result<Option<Error>> {
    match Tree::parse_at(join_lines(lines), TextOrigin::default(), limits) {
        Ok(tree) if tree.root().is_scalar() && !tree.root().is_null() => Ok(Some(Error::malformed("the tree is not a mapping"))),
        Ok(_) => Ok(None),
        Err(error) if error.kind() == ErrorKind::Malformed => Ok(Some(error)),
        Err(error) => Err(error),
    }
}

fn join_lines(lines: &[&str]) -> String {
    let mut text: String = lines.concat();
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text.push_str("...\n");
    text
}

/// The bytes as text: what is not text becomes U+FFFD.
fn decode_lossy_text(bytes: Vec<u8>, lost: &mut Vec<(u32, String)>) -> String {
    let text = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let place = error.utf8_error().valid_up_to();
            let bytes = error.into_bytes();
            let line = memchr_iter(b'\n', bytes.get(..place).unwrap_or(&[])).count() as u32 + 1;
            lost.push((line, "bytes that are not UTF-8, here and perhaps further on, are replaced by \u{fffd}".to_owned()));
            String::from_utf8_lossy(&bytes).into_owned()
        }
    };
    let is_bad = |c: char| c.is_control() && !matches!(c, '\n' | '\r' | '\t' | '\u{85}');
    let Some(place) = text.find(is_bad) else { return text };
    let line = memchr_iter(b'\n', text.as_bytes().get(..place).unwrap_or(&[])).count() as u32 + 1;
    lost.push((line, "control characters, here and perhaps further on, are replaced by \u{fffd}".to_owned()));
    text.replace(is_bad, "\u{fffd}")
}
