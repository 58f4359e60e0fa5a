//! `trilith man`: manual pages from the same definitions as `--help`.

use std::path::{Path, PathBuf};

use clap::{Args, Command};
use serde_json::json;
use trilith::bytes::{AtomicFile, WriteBasis};
use trilith::{Error, Result};

use crate::outcome::Outcome;
use crate::help;
use crate::session::Session;
use crate::output::{Output, eprint_line};

/// Print a manual page, or install all of them
#[derive(Debug, Args)]
pub(crate) struct Man {
    /// The command (default: trilith itself)
    #[arg(value_name = "COMMAND")]
    command: Vec<String>,
    /// Write the pages of all commands into man1 of this folder, such as ~/.local/share/man
    #[arg(long, value_name = "DIR", conflicts_with = "command")]
    install: Option<PathBuf>,
}

impl Man {
    /// Prints it, or installs all.
    pub(crate) fn run(&self, session: &Session<'_>) -> Result<Outcome> {
        let pages = build_pages()?;
        if let Some(folder) = &self.install {
            return install_pages(&pages, folder, session);
        }
        let name = std::iter::once("trilith").chain(self.command.iter().map(String::as_str)).collect::<Vec<_>>().join("-");
        match pages.iter().find(|page| page.name == name || page.aliases.contains(&name)) {
            Some(page) => {
                session.print_json_or_text(|| json!({ "text": page.text }), |out| out.write_raw_text(&page.text))?;
                Ok(Outcome::Success)
            }
            None => {
                let names = pages.iter().filter_map(|page| page.name.strip_prefix("trilith-"));
                Err(Error::unknown("command", &self.command.join("-"), names))
            }
        }
    }
}

/// A manual page.
struct ManPage {
    name: String,
    /// The names that its command has besides.
    aliases: Vec<String>,
    text: String,
}

/// The pages of the command and its subcommands.
fn build_pages() -> Result<Vec<ManPage>> {
    let mut command = help::build_command().disable_help_subcommand(true);
    command.build();
    let mut waiting = vec![command];
    let mut pages = Vec::new();
    while let Some(command) = waiting.pop() {
        waiting.extend(command.get_subcommands().filter(|sub| !sub.is_hide_set()).cloned());
        pages.push(render_page(command)?);
    }
    pages.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(pages)
}

fn render_page(command: Command) -> Result<ManPage> {
    let name = command.get_display_name().unwrap_or_else(|| command.get_name()).to_owned();
    let parent = name.strip_suffix(command.get_name()).unwrap_or("trilith-").to_owned();
    let aliases = command.get_all_aliases().map(|alias| format!("{parent}{alias}")).collect();
    let mut text = Vec::new();
    clap_mangen::Man::new(command).render(&mut text).map_err(|e| Error::io("making a manual page", e))?;
    Ok(ManPage { name, aliases, text: String::from_utf8_lossy(&text).into_owned() })
}

fn install_pages(pages: &[ManPage], folder: &Path, session: &Session<'_>) -> Result<Outcome> {
    let folder = folder.join("man1");
    std::fs::create_dir_all(&folder).map_err(|e| Error::io(format!("making {}", folder.display()), e))?;
    for page in pages {
        let path = folder.join(format!("{}.1", page.name));
        let mut file = AtomicFile::create(&path, WriteBasis::Nothing)?;
        std::io::Write::write_all(&mut file, page.text.as_bytes())
            .map_err(|e| Error::io(format!("writing {}", path.display()), e))?;
        file.commit()?;
    }
    if session.args.json {
        let names: Vec<_> = pages.iter().map(|page| &page.name).collect();
        Output::print_json(&json!({ "folder": folder.display().to_string(), "pages": names }))?;
    } else if !session.args.quiet {
        eprint_line(&format!("{}: {} pages", folder.display(), pages.len()));
    }
    Ok(Outcome::Success)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_references_resolve() {
        let pages = build_pages().unwrap();
        assert!(pages.len() > 35 && pages.iter().any(|page| page.name == "trilith-layout-check"), "{}", pages.len());
        let mut references = 0;
        for page in &pages {
            for (at, _) in page.text.match_indices("(1)") {
                let before = page.text[..at].replace("\\-", "-");
                let name = before.rsplit(|c: char| !c.is_ascii_alphanumeric() && c != '-').next().unwrap_or("").to_owned();
                let name = name.strip_prefix("fR").unwrap_or(&name);
                references += 1;
                assert!(pages.iter().any(|page| page.name == name), "{} refers to {name}(1)", page.name);
            }
        }
        assert!(references > 30, "{references}");
    }
}
