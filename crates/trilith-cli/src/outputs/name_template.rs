//! The names of the outputs of several items: `{stem}` is the name of the input without its extension, `{item}` for
//! the path, `{n}` for a number. No two items may have one output, which is found out before anything is written.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use trilith::bytes::{is_url, name_of, path_of};
use trilith::{Error, Result};

use crate::item_arg::ItemArg;

/// Maximum number of names that are made only to compare them.
const MAX_COMPARED_NAMES: usize = 1_000_000;

/// The destination of each item's output, as `-o` gives it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OutputTemplate<'o> {
    pattern: Option<&'o str>,
    /// Number of outputs of each item.
    count: usize,
    /// `true` if the command finds the path of an item below the one that is given.
    searches_below: bool,
}

impl<'o> OutputTemplate<'o> {
    /// Creates the outputs: one for each item, or none.
    pub(crate) fn new(pattern: Option<&'o str>) -> Self {
        Self { pattern, count: 1, searches_below: false }
    }

    /// The outputs of a command that finds the path of an item below the one that is given.
    #[must_use]
    pub(crate) fn with_recursive_search(self) -> Self {
        Self { searches_below: true, ..self }
    }

    /// Sets the number of outputs of each item.
    #[must_use]
    pub(crate) fn with_count(self, count: usize) -> Self {
        Self { count, ..self }
    }

    /// The file to write; None for standard output.
    pub(crate) fn output_path(self) -> Option<&'o str> {
        self.pattern.filter(|path| *path != "-")
    }

    /// The file that is written for an item.
    pub(crate) fn file_for_item(self, file: &str, path: &str) -> Option<String> {
        Some(expand_template(self.output_path()?, file, path))
    }

    /// The file with a number that is written for an item.
    pub(crate) fn nth_name(self, number: usize, file: &str, path: &str) -> Option<String> {
        Some(expand_template(&self.output_path()?.replace("{n}", &number.to_string()), file, path))
    }

    /// Refuses one file for several items.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](trilith::ErrorKind::InvalidInput) if it names one output for several items.
    pub(crate) fn check_several(self) -> Result<()> {
        match self.output_path() {
            Some(output) if !output.contains("{stem}") => {
                Err(Error::invalid_input(format!("several files cannot all be written to {output}"))
                    .hint("put {stem} into the name, which is that of the file without its extension"))
            }
            _ => Ok(()),
        }
    }

    /// Returns `true` if names with different numbers differ whatever the items are: one side of the number is the same in
    /// all names, and the other side begins with a character that is not a digit.
    fn is_unambiguous(self) -> bool {
        let Some((before, after)) = self.output_path().and_then(|output| output.split_once("{n}")) else { return true };
        let is_same = |text: &str| !["{stem}", "{item}", "{n}"].iter().any(|word| text.contains(word));
        let parts = |c: Option<char>| c.is_none_or(|c| !c.is_ascii_digit() && c != '}' && c != '{');
        is_same(after) && parts(before.chars().next_back()) || is_same(before) && parts(after.chars().next())
    }
}

/// The outputs that items have claimed.
pub(crate) struct ClaimedOutputs<'o> {
    outputs: OutputTemplate<'o>,
    /// The item of each output.
    claimed: HashMap<PathBuf, String>,
    /// If paths are found later, the items of each name without its path: the text of the path, and the item.
    claimed_prefixes: HashMap<String, BTreeMap<String, String>>,
}

impl<'o> ClaimedOutputs<'o> {
    /// Creates an empty set of claims.
    pub(crate) fn new(outputs: OutputTemplate<'o>) -> Self {
        Self { outputs, claimed: HashMap::new(), claimed_prefixes: HashMap::new() }
    }

    /// Claims the outputs of an item.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](trilith::ErrorKind::InvalidInput) if another item may write one of them.
    pub(crate) fn claim_outputs(&mut self, item: &ItemArg) -> Result<()> {
        let count = if self.outputs.is_unambiguous() { self.outputs.count.min(1) } else { self.outputs.count };
        for number in 0..count {
            if self.claimed.len() >= MAX_COMPARED_NAMES && count > 1 {
                return Err(Error::invalid_input(
                    "cannot check whether two of these outputs have the same name: there are too many",
                )
                .hint("put {n} at the end of the name, after a character that is not a digit: '{stem}_{n}.fits'"));
            }
            let Some(output) = self.outputs.nth_name(number, &item.file, item.path()) else { return Ok(()) };
            // Links make two names of one file, which are one output.
            let place = std::fs::canonicalize(path_of(&output)).unwrap_or_else(|_| path_of(&output).into_owned());
            if let Some(before) = self.claimed.insert(place, item_label(item)) {
                return Err(is_taken(&before, item, &output));
            }
        }
        if self.outputs.searches_below { self.claim_below(item) } else { Ok(()) }
    }

    /// Claims every output whose path may be found below that of an item.
    fn claim_below(&mut self, item: &ItemArg) -> Result<()> {
        let Some(output) = self.outputs.output_path().filter(|output| output.contains("{item}")) else { return Ok(()) };
        let (rest, text) = (expand_template(&output.replace("{item}", "\0"), &item.file, ""), display_item(item.path()));
        let known = self.claimed_prefixes.entry(rest).or_default();
        let ends: Vec<usize> = text.match_indices('_').map(|(at, _)| at).chain([0, text.len()]).collect();
        let above = ends.into_iter().find_map(|at| known.get(text.get(..at)?));
        let next = if text.is_empty() { String::new() } else { format!("{text}_") };
        let found = above
            .or_else(|| known.range(next.clone()..).next().filter(|(path, _)| path.starts_with(&next)).map(|(_, item)| item));
        if let Some(before) = found {
            return Err(is_taken(before, item, output));
        }
        known.insert(text, item_label(item));
        Ok(())
    }
}

#[cold]
fn is_taken(before: &str, item: &ItemArg, output: &str) -> Error {
    Error::invalid_input(format!("cannot write {before} and {} to separate files: both may be {output}", item_label(item)))
        .hint("run the command for each of them")
}

/// The file with the path after it.
fn item_label(item: &ItemArg) -> String {
    item.path.as_ref().map_or_else(|| item.file.clone(), |path| format!("{}#{path}", item.file))
}

/// A path as it is written in the name of a file.
fn display_item(path: &str) -> String {
    path.trim_start_matches('/').replace('/', "_")
}

/// The last part of the name of a file, of a URL without its query. In the name of a file of this machine `?`, `#` and `\` are
/// characters as any other.
fn last_part(file: &str) -> String {
    if is_url(file) {
        return file.split(['?', '#']).next().and_then(|path| path.rsplit('/').next()).unwrap_or(file).to_owned();
    }
    path_of(file).file_name().map_or_else(|| file.to_owned(), |name| name_of(Path::new(name)).into_owned())
}

/// The two parts of the name of a file, without its folder; `.gz` belongs to the ending.
pub(crate) fn split_extension(file: &str) -> (String, String) {
    if file == "-" {
        return ("stdin".to_owned(), "asdf".to_owned());
    }
    let name = last_part(file);
    let packed = name.len().checked_sub(3).filter(|at| name.get(*at..).is_some_and(|end| end.eq_ignore_ascii_case(".gz")));
    let (plain, gz) = name.split_at(packed.unwrap_or(name.len()));
    match plain.rsplit_once('.') {
        Some((stem, ending)) if !stem.is_empty() => (stem.to_owned(), format!("{ending}{gz}")),
        _ => (plain.to_owned(), format!("asdf{gz}")),
    }
}

/// The name of a file that is written for an item: `{stem}` in `output` is the name of the file without its
/// ending, `{item}` for the path.
pub(crate) fn expand_template(output: &str, file: &str, path: &str) -> String {
    if !output.contains('{') {
        return output.to_owned();
    }
    let last = last_part(file);
    let stem = last.strip_suffix(".gz").unwrap_or(&last);
    let stem = stem.rsplit_once('.').map_or(stem, |(stem, _)| stem);
    let item = display_item(path);
    // The names are filled in in one pass: inserted text is not searched again.
    let mut name = String::new();
    let mut rest = output;
    while let Some(at) = rest.find('{') {
        let (before, from) = rest.split_at(at);
        name.push_str(before);
        rest = if let Some(after) = from.strip_prefix("{stem}") {
            name.push_str(stem);
            after
        } else if let Some(after) = from.strip_prefix("{item}") {
            name.push_str(&item);
            after
        } else {
            name.push('{');
            from.strip_prefix('{').unwrap_or_default()
        };
    }
    name + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fits(outputs: OutputTemplate<'_>, items: &[&str]) -> bool {
        let mut claims = ClaimedOutputs::new(outputs);
        items.iter().all(|item| claims.claim_outputs(&ItemArg::parse(item)).is_ok())
    }

    #[test]
    fn no_two_items_have_one_output() {
        let stems = OutputTemplate::new(Some("{stem}.npy"));
        assert!(fits(stems, &["a.asdf#/x", "b.asdf#/x", "no/c.asdf#/x"]));
        assert!(!fits(stems, &["a.asdf#/x", "no/a.fits#/x"]) && !fits(stems, &["a.asdf#/x", "a.asdf#/y"]));
        let items = OutputTemplate::new(Some("{stem}_{item}.npy"));
        assert!(fits(items, &["a.asdf#/x", "a.asdf#/y", "a.asdf#/x/y", "a.asdf"]));
        assert!(!fits(items, &["a.asdf#/x/y", "a.asdf#/x_y"]) && !fits(items, &["a_b.asdf#/c", "a.asdf#/b/c"]));
    }

    #[test]
    fn path_found_later_claims_all_below() {
        let found = OutputTemplate::new(Some("{stem}_{item}.png")).with_recursive_search();
        assert!(fits(found, &["a.asdf#/x", "a.asdf#/y", "b.asdf", "a.asdf#/xy"]));
        for items in [["a.asdf", "a.asdf#/x"], ["a.asdf#/x/y", "a.asdf#/x"], ["a.asdf#/x", "a.asdf#/x_y"], ["a.asdf#", "a.asdf"]]
        {
            assert!(!fits(found, &items) && !fits(found, &[items[1], items[0]]), "{items:?}");
        }
        assert!(fits(OutputTemplate::new(Some("{stem}.png")).with_recursive_search(), &["a.asdf", "b.asdf"]));
    }

    #[test]
    fn numbers_do_not_make_two_names_one() {
        for (pattern, fit) in [
            ("{stem}_{n}.npy", true),
            ("{n}_{stem}.npy", true),
            ("{stem}{n}.npy", false),
            ("{n}{stem}.npy", false),
            ("{stem}_{n}_{item}.npy", true),
        ] {
            let outputs = OutputTemplate::new(Some(pattern)).with_count(20);
            assert_eq!(fits(outputs, &["a.asdf", "a1.asdf", "1a.asdf"]), fit, "{pattern}");
        }
        let outputs = OutputTemplate::new(Some("{item}_{n}_{stem}.npy")).with_count(20);
        assert!(fits(outputs, &["b.asdf#/a"]) && !fits(outputs, &["b.asdf#/a/1", "2_b.asdf#/a"]));
        assert!(fits(OutputTemplate::new(Some("{stem}_{n}.npy")).with_count(usize::MAX), &["a.asdf", "b.asdf"]));
        assert!(!fits(OutputTemplate::new(Some("{stem}{n}.npy")).with_count(usize::MAX), &["a.asdf", "b.asdf"]));
    }
}
