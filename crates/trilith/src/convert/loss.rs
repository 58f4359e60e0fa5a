//! What a form to be written cannot hold.

use crate::asdf::Target;
use crate::diagnostic::Diagnostic;
use crate::error::Error;

/// The refusal that names every loss.
pub(super) fn refusal(target: &Target, losses: &[Diagnostic]) -> Error {
    let list: Vec<String> = losses.iter().map(Diagnostic::to_string).collect();
    Error::usage(format!("{} cannot hold everything: {}", target.name, list.join("; ")))
        .hint("allow these losses, or choose another generation")
}
