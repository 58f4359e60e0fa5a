//! `trilith completions SHELL`: made from the same definitions as `--help`.

use clap::Args;
use clap_complete::Shell;
use serde_json::json;
use trilith::Result;

use crate::outcome::Outcome;
use crate::help;
use crate::session::Session;

/// Print completions for a shell
///
/// In bash, zsh and fish they complete commands, options, their values, files, and the items of a file after
/// `FILE#/`, which they query from trilith.
#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

impl Completions {
    /// Prints them.
    pub(crate) fn run(&self, session: &Session<'_>) -> Result<Outcome> {
        let script = match self.shell {
            Shell::Bash => include_str!("completions/trilith.bash").to_owned(),
            Shell::Zsh => include_str!("completions/trilith.zsh").to_owned(),
            Shell::Fish => include_str!("completions/trilith.fish").to_owned(),
            shell => {
                // The generator cannot report that its output is closed: it writes to memory.
                let mut script = Vec::new();
                clap_complete::generate(shell, &mut help::build_command(), "trilith", &mut script);
                String::from_utf8_lossy(&script).into_owned()
            }
        };
        session.print_json_or_text(|| json!({ "text": script }), |out| out.write_raw_text(&script))?;
        Ok(Outcome::Success)
    }
}
