//! Content that the target form cannot hold.

use super::ConvertOptions;
use crate::array::Array;
use crate::bytes::verify_backing;
use crate::diagnostic::Diagnostic;
use crate::error::{Error, ErrorKind, Result};

/// The refusal that names every loss.
pub(super) fn losses_error(name: &str, losses: &[Diagnostic], other: &str) -> Error {
    let list: Vec<String> = losses.iter().map(Diagnostic::to_string).collect();
    Error::invalid_input(format!("{name} cannot hold everything: {}", list.join("; ")))
        .hint(format!("allow these losses, or choose another {other}"))
}

/// The code of the loss of an item that could not be read and was left out because the caller asked for that.
pub(super) const UNREADABLE: &str = "unreadable";

const LEFT_OUT_MESSAGE: &str = "left out, since it cannot be read: ";

/// Returns the path and the reason of a loss that [`to_unreadable_loss`] made; None for another one.
pub(super) fn parse_unreadable_loss(loss: &Diagnostic) -> Option<(String, String)> {
    let reason = loss.message.strip_prefix(LEFT_OUT_MESSAGE).filter(|_| loss.code == UNREADABLE)?;
    Some((loss.path_text().to_owned(), reason.to_owned()))
}

/// Returns `true` if a conversion with these losses may not be written.
pub(super) fn is_refused(losses: &[Diagnostic], options: &ConvertOptions) -> bool {
    !options.allow_loss && losses.iter().any(|loss| loss.code != UNREADABLE)
}

/// Returns the loss of an item that cannot be read if such items are skipped.
///
/// # Errors
/// Returns the reason if they are not, and `Io` or `Cancelled` in any case: a file that cannot be read now may be read later.
pub(super) fn to_unreadable_loss(path: &str, why: Error, skip: bool) -> Result<Diagnostic> {
    if skip && !why.kind().is_transient() {
        return Ok(Diagnostic::loss(path, format!("{LEFT_OUT_MESSAGE}{}", why.message())).code(UNREADABLE));
    }
    Err(match why.kind() {
        ErrorKind::Malformed | ErrorKind::Unsupported | ErrorKind::Limit => {
            why.add_hint("skip_unreadable (--skip-unreadable) leaves such items out")
        }
        _ => why,
    })
}

/// Returns the loss of damaged text that is kept although its checksum is wrong, if unreadable items are skipped.
///
/// # Errors
/// Returns the errors of [`to_unreadable_loss`].
pub(super) fn to_damaged_loss(path: &str, why: Error, skip: bool) -> Result<Diagnostic> {
    let message = format!("kept, although it is damaged: {}", why.message());
    let mut loss = to_unreadable_loss(path, why, skip)?;
    loss.message = message;
    Ok(loss)
}

/// Reads all of an array, and compares its checksum, so that it is known to be readable before the first byte is written.
pub(super) fn check_readable(array: &Array) -> Result<()> {
    verify_backing(&**array.source())?;
    array.for_each_piece(1 << 20, |_| Ok(()))
}
