//! The public interface of each crate of the library as a list, `crates/NAME/interface.txt`, so that a diff shows a change of it.
//!
//! `cargo public-api` makes the list from the data of rustdoc, for which it needs a nightly compiler. Items with `#[doc(hidden)]`
//! serve our own crates alone and are not in the list.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command::{LIBRARY_CRATES, nightly_tool, repository_root, run_for_output, target_dir};
use crate::fs;
use crate::test::{PartOutcome, TierSelection};

/// The most modules that the crate `trilith` shows: a newcomer reads through them.
const MODULES: usize = 12;

/// The most types of these modules and of the root.
const TYPES: usize = 160;

/// Types that may not grow, since callers build them or match them completely. Each has its reason.
const CLOSED_TYPES: &[(&str, &str)] = &[
    ("Byteorder", "there are two"),
    ("Span", "two numbers"),
    ("CodecId", "four bytes"),
    ("NodeKind", "YAML has three kinds of nodes"),
    ("Scalar", "a writer of another format must have a word for each kind"),
    ("Dialect", "a caller must treat each"),
    ("LayoutOrigin", "a caller that opens a file again must know each"),
    ("ColorConversion", "a caller must treat each"),
    ("ExpectedImage", "built by callers of the decoder"),
    ("ChecksumScope", "the stored bytes or the decoded ones"),
    ("FitsContainer", "built by callers that open the file around a file"),
    ("Loss", "built by every conversion"),
    ("EvaluationError", "a fault of the text or any other error"),
    ("ArrayEntry", "a pair"),
    ("ExpandEvent", "a writer of a tree must treat each part"),
    ("BlockArray", "built by encoders of chains"),
    ("Value", "built by writers of trees"),
    ("ChildItem", "built by backends of other families"),
    ("ResolvedItem", "built by backends of other families"),
    ("ArrayDescription", "built by backends of other families"),
    ("ListedArray", "built by backends of other families"),
    ("FsOp", "for tests"),
    ("FaultAction", "for tests"),
];

/// Compares the interface of each crate with the one on record.
pub(crate) fn check_interfaces(_: TierSelection) -> Result<PartOutcome, String> {
    let tool = match install_public_api_tool() {
        Ok(path) => path,
        Err(reason) => return Ok(PartOutcome::Skipped(reason)),
    };
    let (mut faults, mut lists) = (String::new(), Vec::new());
    for package in LIBRARY_CRATES {
        let found = list_interface(&tool, package)?;
        let known = fs::read_text(&interface_path(package)).unwrap_or_default();
        faults += &diff_interfaces(package, &known, &found);
        faults += &unable_to_grow(&found);
        lists.push(found);
    }
    let all = lists.concat();
    let (modules, types) = collect_facade_names(&all);
    if modules.len() > MODULES {
        faults += &format!("{} public modules, {MODULES} are allowed: {modules:?}\n", modules.len());
    }
    if types.len() > TYPES {
        faults += &format!("{} public types, {TYPES} are allowed: {types:?}\n", types.len());
    }
    if faults.is_empty() { Ok(PartOutcome::Passed) } else { Err(faults) }
}

/// Writes the lists again.
pub(crate) fn write_interfaces() -> Result<(), String> {
    let tool = install_public_api_tool()?;
    for package in LIBRARY_CRATES {
        fs::write_text(&interface_path(package), &list_interface(&tool, package)?)?;
    }
    Ok(())
}

fn install_public_api_tool() -> Result<PathBuf, String> {
    nightly_tool("cargo-public-api", "^0.52")
}

fn interface_path(package: &str) -> PathBuf {
    repository_root().join("crates").join(package).join("interface.txt")
}

/// The interface of a crate with all of its features, one item on a line, without what follows from a derive or holds for all types.
fn list_interface(tool: &Path, package: &str) -> Result<String, String> {
    let mut command = Command::new(tool);
    command
        .current_dir(repository_root())
        .env("RUSTUP_TOOLCHAIN", "nightly")
        .env("CARGO_TARGET_DIR", target_dir().join("interface"));
    command.args(["public-api", "--package", package, "--all-features", "-sss", "--color", "never"]);
    run_for_output(&mut command)
}

/// The lines that a list lost, and its new ones.
fn diff_interfaces(package: &str, known: &str, found: &str) -> String {
    let (old, new): (BTreeSet<&str>, BTreeSet<&str>) = (known.lines().collect(), found.lines().collect());
    if known == found {
        return String::new();
    }
    let gone = old.difference(&new).map(|line| format!("- {line}\n"));
    let added = new.difference(&old).map(|line| format!("+ {line}\n"));
    let lines: String = gone.chain(added).collect();
    format!("the interface of {package} changed (`cargo xtask bless` records it, CHANGELOG.md tells it):\n{lines}")
}

/// Enums and structs with public fields that break callers when they grow, and that [`CLOSED`] does not name.
fn unable_to_grow(list: &str) -> String {
    let mut faults = String::new();
    for line in list.lines() {
        let Some((kind, path)) = ["pub enum ", "pub struct "].iter().find_map(|kind| Some((kind, line.strip_prefix(kind)?)))
        else {
            continue;
        };
        let path: &str = path.split(['<', '(', ' ']).next().unwrap_or_default();
        let name = path.rsplit("::").next().unwrap_or_default();
        let has_fields = list.lines().any(|line| line.starts_with(&format!("pub {path}::")));
        if (*kind == "pub enum " || has_fields) && !CLOSED_TYPES.iter().any(|(closed, _)| *closed == name) {
            faults += &format!("without #[non_exhaustive], and not in CLOSED of xtask/src/interface.rs: {line}\n");
        }
    }
    faults
}

/// The names of the modules and types that the facade shows, its own and those of lower crates.
fn collect_facade_names(lists: &str) -> (BTreeSet<&str>, BTreeSet<&str>) {
    let after = |start: &str| lists.lines().filter_map(|line| line.strip_prefix(start)).collect::<BTreeSet<_>>();
    let lower: BTreeSet<&str> = after("pub mod ").iter().filter_map(|path| path.split_once("::")).map(|(_, name)| name).collect();
    let own = after("pub mod trilith::").into_iter().filter(|name| !name.contains("::"));
    let modules: BTreeSet<&str> = own.chain(after("pub use trilith::").into_iter().filter(|name| lower.contains(name))).collect();
    let mut types = BTreeSet::new();
    for line in lists.lines().map(|line| line.trim_start_matches("#[non_exhaustive] ")) {
        let kinds = ["pub struct ", "pub enum ", "pub trait ", "pub type "];
        let Some(rest) = kinds.iter().find_map(|kind| line.strip_prefix(kind)) else { continue };
        let path = rest.split(['<', '(', ' ']).next().unwrap_or_default().trim_end_matches(':');
        let Some((inside, name)) = path.rsplit_once("::") else { continue };
        let mut steps = inside.split("::");
        let is_shown = steps.next() == Some("trilith") || steps.next().is_some_and(|module| modules.contains(module));
        // The type of a trait belongs to the trait.
        if is_shown && inside.split("::").all(|module| module.starts_with(char::is_lowercase)) {
            types.insert(name);
        }
    }
    (modules, types)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exhaustive_type_is_reported() {
        let list = "pub mod trilith\npub mod trilith::fits\npub use trilith::half\npub use trilith::bytes\npub struct trilith::Open\npub struct trilith::Pair\n\
                    pub trilith::Pair::left: u8\n#[non_exhaustive] pub enum trilith::Kind\npub enum trilith::Span\npub enum trilith::Mode\n";
        let faults = unable_to_grow(list);
        assert_eq!(faults.lines().count(), 2, "{faults}");
        assert!(faults.contains("trilith::Pair") && faults.contains("trilith::Mode"), "{faults}");
    }

    #[test]
    fn reexported_modules_and_types_are_counted() {
        let lists = "pub mod trilith_io::bytes\npub mod trilith_io::error\npub struct trilith_io::bytes::Window\n\
                     pub enum trilith_io::error::Setting\npub mod trilith\npub mod trilith::fits\npub use trilith::half\n\
                     pub use trilith::bytes\npub struct trilith::Open<'a>\npub trait trilith::Part: core::marker::Sync\n\
                     pub type trilith::Part::Out\n";
        let (modules, types) = collect_facade_names(lists);
        assert_eq!(modules.into_iter().collect::<Vec<_>>(), ["bytes", "fits"]);
        assert_eq!(types.into_iter().collect::<Vec<_>>(), ["Open", "Part", "Window"]);
    }
}
