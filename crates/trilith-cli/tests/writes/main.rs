//! Nothing is lost: every writing command, on every kind of file, in every way of naming its input and its output.
//!
//! Each cell is judged by one rule. Either the command ends with 0, what was asked is there, and everything else is what
//! it was: arrays, values, HDUs, blocks, other files, links, modes. Or it ends with 2 (1 where it answers no), gives
//! a reason, and not a byte of any file is another. What is refused stands in a table of docs/updates.md.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may stop where something is not as expected")]
#![allow(clippy::disallowed_methods, reason = "a test lays out files of its own")]
#![cfg(unix)]

mod case;
#[path = "../common/mod.rs"]
mod common;
mod content;
mod damage;
mod file_kinds;
mod operations;
mod table;

use case::{Outcome, WAYS, Way};
use common::{in_parallel, is_sampled, sample};
use file_kinds::Kind;
use operations::{ALL, ENDLESS, Operation, READING, WITHOUT_FILE};

/// One combination and how it ended.
pub(crate) struct Cell<'t> {
    /// The use of a command.
    pub operation: &'t Operation,
    /// The kind of its file.
    pub kind: &'t Kind,
    /// How it is named.
    pub way: Way,
    /// How it ended.
    pub outcome: Outcome,
}

#[test]
fn every_writing_command_succeeds_or_refuses_without_loss() {
    let kinds = file_kinds::all();
    let of_kinds =
        |operation: &'static Operation| kinds.iter().filter(|kind| (operation.of)(kind)).map(move |kind| (operation, kind));
    let pairs = ALL.iter().flat_map(of_kinds);
    let only = std::env::var("CELLS").unwrap_or_default();
    let all: Vec<(&Operation, &Kind, Way)> = pairs
        .flat_map(|(operation, kind)| WAYS.iter().map(move |way| (operation, kind, *way)))
        .filter(|(operation, kind, way)| format!("{} | {} | {}", operation.name, kind.name, way.name()).contains(&only))
        .collect();
    let all = if only.is_empty() { sample("writing matrix", all, 8) } else { all };
    let judged = in_parallel(&all, |(operation, kind, way)| {
        case::judge(operation, kind, *way).map(|outcome| Cell { operation, kind, way: *way, outcome })
    });
    let cells: Vec<Cell<'_>> = judged.into_iter().flatten().collect();
    let count = |is: fn(&Outcome) -> bool| cells.iter().filter(|cell| is(&cell.outcome)).count();
    let done = count(|outcome| *outcome == Outcome::Done);
    let refused = count(|outcome| matches!(outcome, Outcome::Refused(_)));
    common::say(&format!(
        "writing matrix: {} uses of writing commands x {} kinds of files x {} ways = {} cells; {done} done, {refused} refused, \
         {} against the rule",
        ALL.len(),
        kinds.len(),
        WAYS.len(),
        cells.len(),
        cells.len() - done - refused,
    ));
    // For comparing two states of the program.
    if let Some(path) = std::env::var_os("CELLS_INTO") {
        let line = |cell: &Cell<'_>| {
            format!("{} | {} | {} | {:?}\n", cell.operation.name, cell.kind.name, cell.way.name(), cell.outcome)
        };
        std::fs::write(path, cells.iter().map(line).collect::<String>()).unwrap();
    }
    let table = if only.is_empty() && !is_sampled() { table::compare(&cells) } else { Ok(()) };
    let failed: Vec<String> = cells.iter().filter_map(failure).collect();
    assert!(failed.is_empty(), "{} of {} cells:\n{}", failed.len(), cells.len(), failed.join("\n"));
    table.unwrap_or_else(|why| panic!("{why}"));
}

fn failure(cell: &Cell<'_>) -> Option<String> {
    let Outcome::Failed(why) = &cell.outcome else { return None };
    Some(format!("{} | {} | {} | {why}", cell.operation.name, cell.kind.name, cell.way.name()))
}

#[test]
fn no_command_accepts_block_with_flipped_bit() {
    let kinds: Vec<_> = file_kinds::all().iter().flat_map(damage::damaged).collect();
    let allows = |operation: &Operation| ["convert", "repack", "explode", "implode", "resolve"].contains(&operation.command);
    let of_kind = |damaged: &'_ damage::Damaged, operation: &Operation| (operation.of)(&damaged.kind);
    let all: Vec<_> = kinds
        .iter()
        .flat_map(|damaged| ALL.iter().map(move |operation| (damaged, operation)))
        .filter(|(damaged, operation)| of_kind(damaged, operation))
        .flat_map(|(damaged, operation)| [Way::OwnName, Way::OntoInput, Way::StandardInput].map(|way| (damaged, operation, way)))
        .flat_map(|(damaged, operation, way)| [false, true].map(|insists| (damaged, operation, way, insists)))
        .filter(|(_, operation, _, insists)| !insists || allows(operation))
        .collect();
    let all = sample("damage matrix", all, 8);
    let outcomes = in_parallel(&all, |(damaged, operation, way, insists)| damage::judge(operation, damaged, *way, *insists));
    let (mut refused, mut failing, mut verify) = (0, 0, Vec::new());
    for (outcome, (damaged, operation, way, _)) in outcomes.into_iter().zip(&all) {
        match outcome {
            None => {}
            Some(damage::Outcome::Refused) => refused += 1,
            Some(damage::Outcome::Failing) => failing += 1,
            Some(damage::Outcome::Verifies(what)) => {
                verify.push(format!("{} | {} | {} | {what}", operation.name, damaged.kind.name, way.name()));
            }
        }
    }
    common::say(&format!(
        "damage matrix: {} uses of writing commands, {} files with a flipped bit: {refused} write no damaged elements, {failing} \
         write them under a failing checksum, {} outputs verify",
        ALL.len(),
        kinds.len(),
        verify.len()
    ));
    assert!(verify.is_empty(), "{}", verify.join("\n"));
    assert!(is_sampled() || kinds.len() > 8 && failing > 100, "{} {failing}", kinds.len());
}

#[test]
fn every_subcommand_is_listed_as_reading_or_writing() {
    let leaves = leaves(&trilith_cli::command(), "");
    let writes = |leaf: &str| ALL.iter().any(|operation| operation.command == leaf) || WITHOUT_FILE.contains(&leaf);
    for (leaf, has_output) in &leaves {
        let reads = READING.contains(&leaf.as_str()) || ENDLESS.contains(&leaf.as_str());
        assert!(reads != writes(leaf), "`trilith {leaf}` must be either in READING or in the operations of tests/writes");
        assert!(!(reads && *has_output), "`trilith {leaf}` has an output: it is not a reading command");
    }
    let is_there = |command: &str| leaves.iter().any(|(leaf, _)| leaf == command);
    let known = READING.iter().chain(WITHOUT_FILE).chain(ENDLESS).copied().chain(ALL.iter().map(|operation| operation.command));
    known.for_each(|command| assert!(is_there(command), "there is no `trilith {command}`"));
}

/// Every subcommand without subcommands of its own, and whether it names an output.
fn leaves(command: &clap::Command, path: &str) -> Vec<(String, bool)> {
    let below = command.get_subcommands().filter(|sub| sub.get_name() != "help");
    let found: Vec<_> = below.flat_map(|sub| leaves(sub, format!("{path} {}", sub.get_name()).trim())).collect();
    if !found.is_empty() {
        return found;
    }
    let is_output =
        |argument: &clap::Arg| ["output", "out", "in_place", "to_file", "data_out"].contains(&argument.get_id().as_str());
    vec![(path.to_owned(), command.get_arguments().any(is_output))]
}

#[test]
fn reading_never_writes() {
    let kinds = file_kinds::all();
    let all: Vec<_> = READING
        .iter()
        .flat_map(|command| kinds.iter().flat_map(move |kind| [(command, kind, false), (command, kind, true)]))
        .collect();
    let all = sample("reading matrix", all, 8);
    let failed: Vec<String> = in_parallel(&all, |(command, kind, by_link)| case::reads_only(command, kind, *by_link).err())
        .into_iter()
        .flatten()
        .collect();
    common::say(&format!(
        "reading matrix: {} reading commands x {} kinds of files = {} cells; 0 wrote",
        READING.len(),
        kinds.len(),
        all.len()
    ));
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}
