//! The history of a file: a list below standard 1.2, a mapping `{entries, extensions}` from there on.

use std::time::{SystemTime, UNIX_EPOCH};

use super::Change;
use crate::codec::filter::number_formats::civil;
use crate::error::{Error, Result};
use crate::tree::{Edit, Node, Tree, TreePath, Value};

impl Change<'_> {
    /// Adds an entry to the history: a description with the current time (or `SOURCE_DATE_EPOCH`).
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if there is a history in another form than a list or a mapping with
    /// a list of entries; as [`Edit::append`](crate::tree::Edit::append).
    ///
    /// ```
    /// # let text = b"#ASDF 1.0.0\n#ASDF_STANDARD 1.6.0\n%YAML 1.1\n--- {a: 1}\n...\n";
    /// let file = trilith::open_asdf_bytes(text.to_vec())?;
    /// let mut change = trilith::Change::new(&file);
    /// change.add_history("dark subtracted")?;
    /// let entries = trilith::change::history(change.tree()?);
    /// assert_eq!(entries[0].get("description").unwrap().text(), "dark subtracted");
    /// # Ok::<(), trilith::Error>(())
    /// ```
    pub fn add_history(&mut self, text: &str) -> Result<()> {
        let entry = self.history_entry(text);
        self.add(|edit, tree| entry.add_to_history(edit, tree))
    }

    /// An entry for the history of the file.
    pub(crate) fn history_entry(&self, text: &str) -> HistoryEntry {
        let mut entry = Value::map([("description", Value::from(text)), ("time", Value::plain_scalar(current_time_text()))]);
        let sections = self.file().sections();
        // The documents before 1.0 define no such tag, and reserve their prefix for those that they define.
        if sections.generation().is_none_or(|row| row.major_version > 0) {
            entry = entry.tagged("tag:stsci.edu:asdf/core/history_entry-1.0.0");
        }
        let standard = sections.header().standard();
        let in_mapping = standard.is_some_and(|version| !matches!(version, "1.0.0" | "1.1.0"));
        HistoryEntry { value: entry, is_mapping_form: in_mapping }
    }
}

/// An entry of the history.
pub(crate) struct HistoryEntry {
    value: Value,
    /// A new history is a mapping with the entries.
    is_mapping_form: bool,
}

impl HistoryEntry {
    /// Adds the entry to the history of a tree.
    pub(crate) fn add_to_history(&self, edit: &mut Edit<'_>, tree: &Tree) -> Result<()> {
        let entry = &self.value;
        let history = tree.node_at_pointer("/history").filter(|node| !node.is_null());
        let is_map = history.map_or(self.is_mapping_form, Node::is_mapping);
        let list = if is_map { "/history/entries" } else { "/history" };
        if history.is_none() {
            let value = Value::seq([entry.clone()]);
            let value = if is_map { Value::map([("entries", value)]) } else { value };
            return edit.set(&TreePath::parse("/history")?, &value);
        }
        match tree.node_at_pointer(list).filter(|node| !node.is_null()) {
            Some(node) if node.is_sequence() => edit.append(&TreePath::parse(list)?, entry),
            None => edit.set(&TreePath::parse(list)?, &Value::seq([entry.clone()])),
            Some(node) => {
                let found = if node.is_mapping() { "a mapping" } else { "a scalar" };
                Err(Error::invalid_input(format!(
                    "cannot add to the history: {list} is not a list (expected a list, found {found})"
                ))
                .at_path(list)
                .hint("make it a list of entries with trilith edit, or rename it"))
            }
        }
    }
}

/// The entries of a tree's history, the oldest first.
pub fn history(tree: &Tree) -> Vec<Node<'_>> {
    let found =
        tree.node_at_pointer("/history").and_then(|node| if node.is_mapping() { node.get("entries") } else { Some(node) });
    found.filter(|node| node.is_sequence()).map(|node| node.items().collect()).unwrap_or_default()
}

/// The time as YAML writes it, in UTC, whole seconds.
fn current_time_text() -> String {
    let given = std::env::var("SOURCE_DATE_EPOCH").ok().and_then(|text| text.parse::<u64>().ok());
    let seconds = given.unwrap_or_else(|| SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs()));
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = civil(days.into());
    format!("{year:04}-{month:02}-{day:02} {:02}:{:02}:{:02}", rest / 3600, rest / 60 % 60, rest % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_of_days() {
        assert_eq!(civil(0), (1970, 1, 1));
        assert_eq!(civil(11_016), (2000, 2, 29));
        assert_eq!(civil(20_778), (2026, 11, 21));
    }
}
