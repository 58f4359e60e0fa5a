//! `trilith diff A B`: what differs, in tree and arrays.

use clap::Args;
use serde_json::json;
use trilith::Result;
use trilith::check::{DiffOptions, ItemDifference, DifferenceKind, diff_items};
use trilith::file::{AddressPattern, FileKind};

use crate::outcome::Outcome;
use crate::item_arg::ItemArg;
use crate::session::{FileRole, Session, name_file};
use crate::output::{Output, escape_controls};

/// Compare two files; exit status 0 if equal, 1 if different, 2 if an array cannot be read
///
/// The command compares values. Compression, byte order, strides and version do not matter. The command compares a
/// Dudley file with an ASDF file as `convert --physical` would write it, or with --stored as `convert` does. --layout applies to
/// both files, or to the one that is not an ASDF file. --layout-a and --layout-b apply to one each.
#[derive(Debug, Args)]
pub(crate) struct Diff {
    /// The first file, or - for standard input; with an optional #/path of one item
    #[arg(value_name = "A")]
    a: String,
    /// The second file, with an optional #/path of one item
    #[arg(value_name = "B")]
    b: String,
    /// Read the first file under this Dudley layout
    #[arg(long, value_name = "L.dud")]
    layout_a: Option<String>,
    /// Read the second file under this Dudley layout
    #[arg(long, value_name = "L.dud")]
    layout_b: Option<String>,
    /// Relative tolerance for numbers
    #[arg(long, value_name = "X", default_value_t = 0.0)]
    rtol: f64,
    /// Absolute tolerance for numbers
    #[arg(long, value_name = "X", default_value_t = 0.0)]
    atol: f64,
    /// Ignore a path and everything below it, an attribute as /path@NAME, or a name at any depth; * matches any text
    /// within a key, ** any number of keys (repeatable)
    #[arg(long, value_name = "PATTERN")]
    ignore: Vec<String>,
}

impl Diff {
    /// Prints the differences.
    pub(crate) fn run(&self, session: &Session<'_>) -> Result<Outcome> {
        let mut how = DiffOptions::default();
        (how.rtol, how.atol) = (self.rtol, self.atol);
        how.ignore = self.ignore.iter().map(|pattern| AddressPattern::parse(pattern)).collect::<Result<_>>()?;
        let (under_a, under_b) = self.select_layouts(session)?;
        let (item_a, item_b) = (ItemArg::parse(&self.a), ItemArg::parse(&self.b));
        let a = session.open(&item_a.file, FileRole::Under(under_a)).map_err(|error| name_file(error, &item_a.file))?;
        let b = session.open(&item_b.file, FileRole::Under(under_b)).map_err(|error| name_file(error, &item_b.file))?;
        let found = match (item_a.path(), item_b.path()) {
            ("", "") => a.diff(&b, &how)?,
            (path_a, path_b) => {
                let one = a.item(path_a).map_err(|error| name_file(error, &item_a.file))?;
                let other = b.item(path_b).map_err(|error| name_file(error, &item_b.file))?;
                diff_items(&one, &other, path_a, &how)?
            }
        };
        for pattern in how.ignore.iter().filter(|pattern| !pattern.has_matched()) {
            session.warn(&format!("--ignore {}: matches no item and no attribute of the files", pattern.text()));
        }
        session.print_json_or_text(
            || json!({"same": found.is_empty(), "differences": found.iter().map(difference_json).collect::<Vec<_>>()}),
            |out| found.iter().try_for_each(|difference| print_difference(out, difference)),
        )?;
        let outcome = |difference: &ItemDifference| match difference.kind {
            DifferenceKind::Unreadable => Outcome::Failed,
            _ => Outcome::Negative,
        };
        Ok(found.iter().map(outcome).fold(Outcome::Success, Outcome::max))
    }
}

impl Diff {
    /// The layout of each side.
    fn select_layouts<'o>(&'o self, session: &'o Session<'o>) -> Result<(Option<&'o str>, Option<&'o str>)> {
        let both = session.args.under.as_deref();
        let (mut a, mut b) = (self.layout_a.as_deref().or(both), self.layout_b.as_deref().or(both));
        if both.is_some() {
            // --layout applies to both files, but an ASDF file next to another file is compared as ASDF.
            let is_asdf = |argument: &str| -> Result<bool> {
                let item = ItemArg::parse(argument);
                let path = item.file.as_str();
                if path == "-" {
                    return Ok(false);
                }
                let source = session.open_source(path)?;
                Ok(session.detect_kind(&*source)? == Some(FileKind::Asdf))
            };
            match (is_asdf(&self.a)?, is_asdf(&self.b)?) {
                (true, false) => a = self.layout_a.as_deref(),
                (false, true) => b = self.layout_b.as_deref(),
                _ => {}
            }
        }
        Ok((a, b))
    }
}

fn difference_json(difference: &ItemDifference) -> serde_json::Value {
    let mut value = json!({
        "path": difference.path, "kind": difference.kind.name(), "a": difference.a, "b": difference.b,
    });
    if let Some(elements) = &difference.elements {
        value["elements"] = json!({
            "different": elements.differing, "of": elements.total, "max_abs": elements.max_abs,
            "max_rel": elements.max_rel, "first": elements.first_index,
        });
    }
    value
}

fn print_difference(out: &mut Output, difference: &ItemDifference) -> Result<()> {
    let path = if difference.path.is_empty() { "/" } else { &difference.path };
    out.write_line(&format!("{path}: {}", difference.kind.name()))?;
    if let Some(elements) = &difference.elements {
        let number = |value: Option<f64>| value.map_or("-".to_owned(), |v| format!("{v:.6e}"));
        out.write_line(&format!(
            "  {} of {} differ, first at {:?}, by at most {} (relative {})",
            elements.differing,
            elements.total,
            elements.first_index,
            number(elements.max_abs),
            number(elements.max_rel)
        ))?;
    }
    for (sign, side) in [("-", &difference.a), ("+", &difference.b)] {
        if let Some(said) = side {
            let short: String = said.chars().take(200).collect();
            out.write_line(&format!("  {sign} {}", escape_controls(&short)))?;
        }
    }
    Ok(())
}
