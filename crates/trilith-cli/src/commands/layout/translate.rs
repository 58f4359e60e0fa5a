//! `trilith layout translate --to 2026 FILE.dud`: the layout in the words of the other dialect.

use clap::Args;
use serde_json::{Value, json};
use trilith::Result;
use trilith::layout::Dialect;

use super::print::write_layout;
use super::{DialectArg, LayoutArg};
use crate::outcome::Outcome;
use crate::session::Session;
use crate::output::eprint_line;

/// Translate a layout to another dialect
///
/// Declarations that the other dialect does not have are listed. Unless --allow-loss is given, nothing is written
/// then and the exit status is 1.
#[derive(Debug, Args)]
pub(super) struct Translate {
    #[command(flatten)]
    input: LayoutArg,
    /// The dialect to translate to
    #[arg(long, value_name = "DIALECT")]
    to: DialectArg,
    /// Write it to this file
    #[arg(short, long, value_name = "OUT")]
    output: Option<String>,
    /// Translate even if something is lost
    #[arg(long)]
    allow_loss: bool,
}

impl Translate {
    /// Prints the translation.
    pub(super) fn run(&self, session: &Session<'_>) -> Result<Outcome> {
        let Some((layout, warnings)) = self.input.load_layout(session)? else { return Ok(Outcome::Negative) };
        self.input.print_warnings(session, layout.text(), &warnings);
        let translation = layout.translate(Dialect::from(self.to));
        let refused = !translation.is_faithful() && !self.allow_loss;
        for loss in translation.losses.iter().filter(|loss| !session.args.quiet || !loss.is_harmless) {
            let weight = if loss.is_harmless { "note" } else { "lost" };
            eprint_line(&format!("{weight}: {loss}"));
        }
        if refused && !session.args.json {
            return Ok(Outcome::Negative);
        }
        let report = {
            let losses: Vec<Value> = translation
                .losses
                .iter()
                .map(|loss| json!({"path": loss.path, "message": loss.message, "harmless": loss.is_harmless}))
                .collect();
            let text = if refused { Value::Null } else { json!(translation.text) };
            json!({"dialect": Dialect::from(self.to).name(), "text": text, "losses": losses})
        };
        let output = self.output.as_deref().filter(|_| !refused);
        write_layout(output, &translation.text, &[&self.input.file], report, session)?;
        Ok(if refused { Outcome::Negative } else { Outcome::Success })
    }
}
