//! `trilith completions SHELL` and `trilith man`: made from the same definitions as `--help`.

use clap::{Args, CommandFactory};
use clap_complete::Shell;
use trilith::{Error, Result};

use crate::Outcome;
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
    pub fn run(&self) -> Result<Outcome> {
        // The generator cannot report that its output is closed: it writes to memory.
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut crate::Cli::command(), "trilith", &mut script);
        let mut out = Out::new();
        out.raw(&String::from_utf8_lossy(&script))?;
        out.finish()?;
        Ok(Outcome::Yes)
    }
}

/// Print the manual page
#[derive(Debug, Args)]
pub struct Man {}

impl Man {
    /// Prints it.
    pub fn run(&self) -> Result<Outcome> {
        let mut out = Out::new();
        clap_mangen::Man::new(crate::Cli::command()).render(&mut out).map_err(|e| Error::io("writing to stdout", e))?;
        out.finish()?;
        Ok(Outcome::Yes)
    }
}
