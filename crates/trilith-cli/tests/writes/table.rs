//! The table of what is refused, in docs/updates.md: made from the cells, and compared with what is written there.

use std::collections::{BTreeMap, BTreeSet};

use trilith::asdf::TARGETS;

use super::Cell;
use super::case::{Outcome, Way};
use super::common::repository;

const BEGIN: &str = "<!-- refused: begin -->\n";
const END: &str = "<!-- refused: end -->\n";
const PAGE: &str = "docs/updates.md";

/// Says where the page is not what it should be; writes it anew where `BLESS` is set.
pub(crate) fn compare(cells: &[Cell<'_>]) -> Result<(), String> {
    let path = repository().join(PAGE);
    let page = std::fs::read_to_string(&path).expect("the page is there");
    let (before, rest) = page.split_once(BEGIN).expect("the page has the table");
    let (there, after) = rest.split_once(END).expect("the table has an end");
    let table = table(cells);
    if there == table {
        return Ok(());
    }
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(path, format!("{before}{BEGIN}{table}{END}{after}")).expect("the page can be written");
        return Ok(());
    }
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<BTreeSet<String>>();
    let (old, new) = (lines(there), lines(&table));
    let gone: Vec<String> = old.difference(&new).map(|line| format!("- {line}")).collect();
    let more: Vec<String> = new.difference(&old).map(|line| format!("+ {line}")).collect();
    Err(format!(
        "what is refused is not what {PAGE} says; `cargo xtask bless` writes it there, if it is meant:\n{}\n{}",
        gone.join("\n"),
        more.join("\n")
    ))
}

type Names = BTreeSet<String>;

/// One row for all commands that are refused alike.
fn table(cells: &[Cell<'_>]) -> String {
    let mut refused: BTreeMap<(&str, &str), BTreeMap<String, BTreeSet<Way>>> = BTreeMap::new();
    for cell in cells {
        if let Outcome::Refused(reason) = &cell.outcome {
            let kinds = refused.entry((reason, cell.operation.name)).or_default();
            kinds.entry(cell.kind.name.clone()).or_default().insert(cell.way);
        }
    }
    let mut rows: BTreeMap<(&str, Names, Names), Vec<&str>> = BTreeMap::new();
    for ((reason, operation), kinds) in &refused {
        let mut by_ways: BTreeMap<Names, Names> = BTreeMap::new();
        for (kind, ways) in kinds {
            let possible = cells.iter().filter(|cell| cell.operation.name == *operation && cell.kind.name == *kind);
            let all: BTreeSet<Way> = possible.map(|cell| cell.way).collect();
            let ways = if all == *ways {
                Names::from(["any".to_owned()])
            } else {
                ways.iter().map(|way| way.name().to_owned()).collect()
            };
            by_ways.entry(ways).or_default().insert(kind.clone());
        }
        for (ways, kinds) in by_ways {
            rows.entry((reason, kinds, ways)).or_default().push(operation);
        }
    }
    let mut text = "| command | kind of file | way | reason |\n|---|---|---|---|\n".to_owned();
    let join = |names: &Names| {
        let mut names = names.clone();
        if TARGETS.iter().all(|target| names.contains(target.name)) {
            names.retain(|name| TARGETS.iter().all(|target| target.name != name));
            names.insert("every generation".to_owned());
        }
        names.into_iter().collect::<Vec<_>>().join(", ")
    };
    let mut lines: Vec<String> = rows
        .iter()
        .map(|((reason, kinds, ways), operations)| {
            let operations: Vec<String> = operations.iter().map(|operation| format!("`{operation}`")).collect();
            format!("| {} | {} | {} | {} |\n", operations.join(", "), join(kinds), join(ways), reason.replace('|', "\\|"))
        })
        .collect();
    lines.sort();
    text.extend(lines);
    text
}
