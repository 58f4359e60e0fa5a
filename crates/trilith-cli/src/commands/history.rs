//! `trilith history add FILE TEXT`: an entry of the history.

use std::time::{SystemTime, UNIX_EPOCH};

use clap::{Args, Subcommand};
use trilith::asdf::AsdfFile;
use trilith::tree::{Edit, TreePath, Value};
use trilith::{Result, tree::Node};

use crate::Outcome;
use crate::options::Options;
use crate::rewrite::{Save, edit};

/// Add to the history of a file
#[derive(Debug, Args)]
pub struct History {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Add an entry with the current time (or SOURCE_DATE_EPOCH)
    Add {
        /// The file to change
        #[arg(value_name = "FILE")]
        file: String,
        /// What was done
        #[arg(value_name = "TEXT")]
        text: String,
        #[command(flatten)]
        save: Save,
    },
}

impl History {
    /// Changes the file.
    pub fn run(&self, options: &Options) -> Result<Outcome> {
        let Action::Add { file, text, save } = &self.action;
        edit(&format!("{file}#"), options, save, |edit, _, file| add(edit, file, text))
    }
}

/// A list below standard 1.2, a mapping {entries, extensions} from there on.
fn add(edit: &mut Edit<'_>, file: &AsdfFile, text: &str) -> Result<()> {
    let mut entry = Value::map([("description", Value::from(text)), ("time", Value::plain(now()))]);
    // The documents before 1.0 define no such tag, and reserve their prefix for those that they define.
    if file.sections().generation().is_none_or(|row| row.major > 0) {
        entry = entry.tagged("tag:stsci.edu:asdf/core/history_entry-1.0.0");
    }
    let history = file.tree().at("/history");
    let is_map = match history {
        Some(node) if !node.is_null() => node.is_mapping(),
        _ => file.sections().header().standard().is_some_and(|version| !matches!(version, "1.0.0" | "1.1.0")),
    };
    let list = if is_map { "/history/entries" } else { "/history" };
    if history.is_none_or(Node::is_null) {
        let value = Value::seq([entry]);
        let value = if is_map { Value::map([("entries", value)]) } else { value };
        return edit.set(&TreePath::parse("/history")?, &value);
    }
    match file.tree().at(list) {
        Some(node) if node.is_sequence() => edit.append(&TreePath::parse(list)?, &entry),
        _ => edit.set(&TreePath::parse(list)?, &Value::seq([entry])),
    }
}

/// The time as YAML writes it, in UTC, whole seconds.
fn now() -> String {
    let given = std::env::var("SOURCE_DATE_EPOCH").ok().and_then(|text| text.parse::<u64>().ok());
    let seconds = given.unwrap_or_else(|| SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs()));
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = civil(days as i64);
    format!("{year:04}-{month:02}-{day:02} {:02}:{:02}:{:02}", rest / 3600, rest / 60 % 60, rest % 60)
}

/// The date of a day counted from 1970-01-01, in the Gregorian calendar: years begin in March, so
/// that the leap day is the last of its year.
fn civil(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
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
