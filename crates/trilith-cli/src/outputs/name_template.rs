//! The names of the outputs of several items: `{stem}` is the name of the input without its extension, `{item}` for
//! the path, `{n}` for a number. No two items may have one output, which is found out before anything is written.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use trilith::bytes::{is_url, name_of, path_of};
use trilith::{Error, Result};

use crate::item_arg::Item;

/// Maximum number of names that are made only to compare them.
const MOST: usize = 1_000_000;

/// The destination of each item's output, as `-o` gives it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Outputs<'o> {
    pattern: Option<&'o str>,
    /// Number of outputs of each item.
    count: usize,
    /// `true` if the command finds the path of an item below the one that is given.
    finds: bool,
}

impl<'o> Outputs<'o> {
    /// Creates the outputs: one for each item, or none.
    pub(crate) fn new(pattern: Option<&'o str>) -> Self {
        Self { pattern, count: 1, finds: false }
    }

    /// The outputs of a command that finds the path of an item below the one that is given.
    #[must_use]
    pub(crate) fn finding(self) -> Self {
        Self { finds: true, ..self }
    }

    /// Sets the number of outputs of each item.
    #[must_use]
    pub(crate) fn numbered(self, count: usize) -> Self {
        Self { count, ..self }
    }

    /// The file to write; None for standard output.
    pub(crate) fn file(self) -> Option<&'o str> {
        self.pattern.filter(|path| *path != "-")
    }

    /// The file that is written for an item.
    pub(crate) fn of(self, file: &str, path: &str) -> Option<String> {
        Some(named(self.file()?, file, path))
    }

    /// The file with a number that is written for an item.
    pub(crate) fn nth(self, number: usize, file: &str, path: &str) -> Option<String> {
        Some(named(&self.file()?.replace("{n}", &number.to_string()), file, path))
    }

    /// Refuses one file for several items.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](trilith::ErrorKind::InvalidInput) if it names one output for several items.
    pub(crate) fn check_several(self) -> Result<()> {
        match self.file() {
            Some(output) if !output.contains("{stem}") => {
                Err(Error::invalid_input(format!("several files cannot all be written to {output}"))
                    .hint("put {stem} into the name, which is that of the file without its ending"))
            }
            _ => Ok(()),
        }
    }

    /// Returns `true` if names with different numbers differ whatever the items are: one side of the number is the same in
    /// all names, and the other side begins with a character that is not a digit.
    fn keeps_numbers_apart(self) -> bool {
        let Some((before, after)) = self.file().and_then(|output| output.split_once("{n}")) else { return true };
        let is_same = |text: &str| !["{stem}", "{item}", "{n}"].iter().any(|word| text.contains(word));
        let parts = |c: Option<char>| c.is_none_or(|c| !c.is_ascii_digit() && c != '}' && c != '{');
        is_same(after) && parts(before.chars().next_back()) || is_same(before) && parts(after.chars().next())
    }
}

/// The outputs that items have claimed.
pub(crate) struct Claims<'o> {
    outputs: Outputs<'o>,
    /// The item of each output.
    taken: HashMap<PathBuf, String>,
    /// If paths are found later, the items of each name without its path: the text of the path, and the item.
    below: HashMap<String, BTreeMap<String, String>>,
}

impl<'o> Claims<'o> {
    /// Creates an empty set of claims.
    pub(crate) fn new(outputs: Outputs<'o>) -> Self {
        Self { outputs, taken: HashMap::new(), below: HashMap::new() }
    }

    /// Claims the outputs of an item.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](trilith::ErrorKind::InvalidInput) if another item may write one of them.
    pub(crate) fn claim(&mut self, item: &Item) -> Result<()> {
        let count = if self.outputs.keeps_numbers_apart() { self.outputs.count.min(1) } else { self.outputs.count };
        for number in 0..count {
            if self.taken.len() >= MOST && count > 1 {
                return Err(Error::invalid_input(
                    "cannot check whether two of these outputs have the same name: there are too many",
                )
                .hint("put {n} at the end of the name, after a character that is no digit: '{stem}_{n}.fits'"));
            }
            let Some(output) = self.outputs.nth(number, &item.file, item.path()) else { return Ok(()) };
            // Links make two names of one file, which are one output.
            let place = std::fs::canonicalize(path_of(&output)).unwrap_or_else(|_| path_of(&output).into_owned());
            if let Some(before) = self.taken.insert(place, label(item)) {
                return Err(is_taken(&before, item, &output));
            }
        }
        if self.outputs.finds { self.claim_below(item) } else { Ok(()) }
    }

    /// Claims every output whose path may be found below that of an item.
    fn claim_below(&mut self, item: &Item) -> Result<()> {
        let Some(output) = self.outputs.file().filter(|output| output.contains("{item}")) else { return Ok(()) };
        let (rest, text) = (named(&output.replace("{item}", "\0"), &item.file, ""), text_of(item.path()));
        let known = self.below.entry(rest).or_default();
        let ends: Vec<usize> = text.match_indices('_').map(|(at, _)| at).chain([0, text.len()]).collect();
        let above = ends.into_iter().find_map(|at| known.get(text.get(..at)?));
        let next = if text.is_empty() { String::new() } else { format!("{text}_") };
        let found = above
            .or_else(|| known.range(next.clone()..).next().filter(|(path, _)| path.starts_with(&next)).map(|(_, item)| item));
        if let Some(before) = found {
            return Err(is_taken(before, item, output));
        }
        known.insert(text, label(item));
        Ok(())
    }
}

#[cold]
fn is_taken(before: &str, item: &Item, output: &str) -> Error {
    Error::invalid_input(format!("cannot write {before} and {} to separate files: both may be {output}", label(item)))
        .hint("run the command for each of them")
}

/// The file with the path after it.
fn label(item: &Item) -> String {
    item.path.as_ref().map_or_else(|| item.file.clone(), |path| format!("{}#{path}", item.file))
}

/// A path as it is written in the name of a file.
fn text_of(path: &str) -> String {
    path.trim_start_matches('/').replace('/', "_")
}

/// The last part of the name of a file, of a URL without its query. In the name of a file of this machine `?`, `#` and `\` are
/// characters as any other.
pub(crate) fn last_part(file: &str) -> String {
    if is_url(file) {
        return file.split(['?', '#']).next().and_then(|path| path.rsplit('/').next()).unwrap_or(file).to_owned();
    }
    path_of(file).file_name().map_or_else(|| file.to_owned(), |name| name_of(Path::new(name)).into_owned())
}

/// The name of a file that is written for an item: `{stem}` in `output` is the name of the file without its
/// ending, `{item}` for the path.
pub(crate) fn named(output: &str, file: &str, path: &str) -> String {
    if !output.contains('{') {
        return output.to_owned();
    }
    let last = last_part(file);
    let stem = last.strip_suffix(".gz").unwrap_or(&last);
    let stem = stem.rsplit_once('.').map_or(stem, |(stem, _)| stem);
    let item = text_of(path);
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

    fn fits(outputs: Outputs<'_>, items: &[&str]) -> bool {
        let mut claims = Claims::new(outputs);
        items.iter().all(|item| claims.claim(&Item::parse(item)).is_ok())
    }

    #[test]
    fn no_two_items_have_one_output() {
        let stems = Outputs::new(Some("{stem}.npy"));
        assert!(fits(stems, &["a.asdf#/x", "b.asdf#/x", "no/c.asdf#/x"]));
        assert!(!fits(stems, &["a.asdf#/x", "no/a.fits#/x"]) && !fits(stems, &["a.asdf#/x", "a.asdf#/y"]));
        let items = Outputs::new(Some("{stem}_{item}.npy"));
        assert!(fits(items, &["a.asdf#/x", "a.asdf#/y", "a.asdf#/x/y", "a.asdf"]));
        assert!(!fits(items, &["a.asdf#/x/y", "a.asdf#/x_y"]) && !fits(items, &["a_b.asdf#/c", "a.asdf#/b/c"]));
    }

    #[test]
    fn path_found_later_claims_all_below() {
        let found = Outputs::new(Some("{stem}_{item}.png")).finding();
        assert!(fits(found, &["a.asdf#/x", "a.asdf#/y", "b.asdf", "a.asdf#/xy"]));
        for items in [["a.asdf", "a.asdf#/x"], ["a.asdf#/x/y", "a.asdf#/x"], ["a.asdf#/x", "a.asdf#/x_y"], ["a.asdf#", "a.asdf"]]
        {
            assert!(!fits(found, &items) && !fits(found, &[items[1], items[0]]), "{items:?}");
        }
        assert!(fits(Outputs::new(Some("{stem}.png")).finding(), &["a.asdf", "b.asdf"]));
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
            let outputs = Outputs::new(Some(pattern)).numbered(20);
            assert_eq!(fits(outputs, &["a.asdf", "a1.asdf", "1a.asdf"]), fit, "{pattern}");
        }
        let outputs = Outputs::new(Some("{item}_{n}_{stem}.npy")).numbered(20);
        assert!(fits(outputs, &["b.asdf#/a"]) && !fits(outputs, &["b.asdf#/a/1", "2_b.asdf#/a"]));
        assert!(fits(Outputs::new(Some("{stem}_{n}.npy")).numbered(usize::MAX), &["a.asdf", "b.asdf"]));
        assert!(!fits(Outputs::new(Some("{stem}{n}.npy")).numbered(usize::MAX), &["a.asdf", "b.asdf"]));
    }
}
