//! Losses of a command that makes one file of another: refused, or listed if that is allowed.

use clap::Args;
use serde_json::{Value, json};
use trilith::{Diagnostic, Result};

use crate::outcome::Outcome;
use crate::output::{Output, eprint_line};
use crate::session::Session;

/// Permission for losses.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct AllowLoss {
    /// Write OUT even if it cannot store everything, or contains damaged blocks; losses are reported
    #[arg(long)]
    pub allow_loss: bool,
}

impl AllowLoss {
    /// Returns `true` if the file is not to be written.
    pub(crate) fn is_refused(self, losses: &[Diagnostic]) -> bool {
        !losses.is_empty() && !self.allow_loss
    }
}

/// Lists what would be lost, on stderr or as JSON; nothing is written.
pub(crate) fn report_refused(input: &str, output: &str, losses: &[Diagnostic], session: &Session<'_>) -> Result<Outcome> {
    for loss in losses {
        eprint_line(&format!("trilith: {input}: loss: {loss}"));
    }
    eprint_line("trilith: nothing was written; add --allow-loss to write it anyway");
    if session.args.json {
        Output::print_json(&json!({ "file": output, "written": false, "losses": losses_json(losses) }))?;
    }
    Ok(Outcome::Negative)
}

/// Says on stderr what was lost. `--quiet` does not hide it: it is no warning, since the file lacks it now.
pub(crate) fn report_losses(input: &str, losses: &[Diagnostic]) {
    for loss in losses {
        eprint_line(&format!("trilith: {input}: lost: {loss}"));
    }
}

/// Losses as `--json` shows them.
pub(crate) fn losses_json(losses: &[Diagnostic]) -> Vec<Value> {
    losses.iter().map(|loss| json!({ "path": loss.path, "message": loss.message })).collect()
}
