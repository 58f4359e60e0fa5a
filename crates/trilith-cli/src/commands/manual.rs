//! `trilith completions SHELL` and `trilith man`: made from the same definitions as `--help`.

use clap::{Args, CommandFactory};
use clap_complete::Shell;
use serde_json::json;
use trilith::{Error, Result};

use crate::Outcome;
use crate::options::Options;
use crate::output::Out;

/// Print completions for a shell
#[derive(Debug, Args)]
pub struct Completions {
    /// The shell
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

impl Completions {
    /// Prints them.
    pub fn run(&self, options: &Options) -> Result<Outcome> {
        // The generator cannot report that its output is closed: it writes to memory.
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut crate::Cli::command(), "trilith", &mut script);
        print(&String::from_utf8_lossy(&script), options)
    }
}

/// Print the manual page
#[derive(Debug, Args)]
pub struct Man {}

impl Man {
    /// Prints it.
    pub fn run(&self, options: &Options) -> Result<Outcome> {
        let mut page = Vec::new();
        clap_mangen::Man::new(crate::Cli::command()).render(&mut page).map_err(|e| Error::io("making the page", e))?;
        print(&String::from_utf8_lossy(&page), options)
    }
}

fn print(text: &str, options: &Options) -> Result<Outcome> {
    let mut out = Out::new();
    if options.json {
        out.json(&json!({ "text": text }))?
    } else {
        out.raw(text)?
    }
    out.finish()?;
    Ok(Outcome::Yes)
}
