//! The licences of the libraries that are linked into a program: they require that their text goes with it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::command::{cargo_command, run_for_output};
use crate::fs::write_text;

/// Prefixes of the names of licence files.
const NAMES: &[&str] = &["license", "licence", "copying", "notice", "unlicense"];

/// Writes the licences of everything from elsewhere that a package of the workspace is linked with, each text once.
pub(super) fn write_licenses(package: &str, file: &Path) -> Result<(), String> {
    let mut tree = cargo_command(["tree", "--locked", "--edges", "normal", "--prefix", "none", "--no-dedupe"]);
    let list = run_for_output(tree.args(["--package", package, "--format", "{p}|{l}"]))?;
    let sources = list_registry_sources()?;
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut names: Vec<&str> = list.lines().filter(|line| !line.contains(" (/") && !line.contains(":\\")).collect();
    names.sort_unstable();
    names.dedup();
    for line in &names {
        let (name, licence) = line.split_once('|').unwrap_or((line, ""));
        let words: Vec<&str> = name.split_whitespace().collect();
        let [krate, version, ..] = words.as_slice() else { continue };
        let folder = format!("{krate}-{}", version.trim_start_matches('v'));
        let found: Vec<String> = sources.iter().flat_map(|source| texts_in(&source.join(&folder))).collect();
        let label = format!("{folder} ({licence})");
        if found.is_empty() {
            texts.entry(String::new()).or_default().push(label);
        } else {
            found.into_iter().for_each(|text| texts.entry(text).or_default().push(label.clone()));
        }
    }
    let mut all = String::from("Packages that are linked into Trilith, and their licences.\n");
    for (text, packages) in &texts {
        let text = if text.is_empty() { "These packages have only the name of their licence, not its text." } else { text };
        all.push_str(&format!("\n{}\n{}\n\n{}\n", "=".repeat(78), packages.join("\n"), text.trim()));
    }
    println!("licences of {} packages, {} files", names.len(), texts.len());
    write_text(file, &all)
}

/// Returns the folder of the sources that cargo has fetched.
fn list_registry_sources() -> Result<Vec<PathBuf>, String> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(std::env::home_dir()?.join(".cargo"))).ok_or("no CARGO_HOME and no home folder")?;
    let folder = home.join("registry/src");
    let entries = std::fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    Ok(entries.flatten().map(|entry| entry.path()).collect())
}

/// Returns the licences in the folder of a package.
fn texts_in(folder: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.sort();
    let licence = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        NAMES.iter().any(|known| name.starts_with(known)) && path.is_file()
    };
    files
        .iter()
        .filter(|path| licence(path))
        .filter_map(|path| std::fs::read_to_string(path).ok())
        .map(|text| text.replace('\r', ""))
        .collect()
}
