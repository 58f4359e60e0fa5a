//! Content that the target form cannot hold.

use std::fmt;

use super::{ConvertOptions, ConvertReport};
use crate::array::Array;
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

/// Returns the path and the reason of a loss that [`LossAccount::skip_item`] made; None for another one.
pub(super) fn parse_unreadable_loss(loss: &Diagnostic) -> Option<(String, String)> {
    let reason = loss.message.strip_prefix(LEFT_OUT_MESSAGE).filter(|_| loss.code == UNREADABLE)?;
    Some((loss.path_text().to_owned(), reason.to_owned()))
}

/// The account of a conversion: each difference from the file that is read, and remarks without a loss. All writers of a conversion
/// report to one account.
#[derive(Debug, Default)]
pub(super) struct LossAccount {
    pub(super) losses: Vec<Diagnostic>,
    pub(super) notes: Vec<String>,
    /// `true` if the file is written whatever is lost.
    pub(super) allow_loss: bool,
    /// `true` if items that cannot be read are left out.
    pub(super) skip_unreadable: bool,
}

impl LossAccount {
    /// Creates an empty account.
    pub(super) fn new(options: &ConvertOptions) -> Self {
        let (allow_loss, skip_unreadable) = (options.allow_loss, options.skip_unreadable);
        Self { allow_loss, skip_unreadable, ..Self::default() }
    }

    /// Adds a loss at a path.
    pub(super) fn add_loss(&mut self, path: &(impl fmt::Display + ?Sized), what: impl Into<String>) {
        self.losses.push(Diagnostic::loss(path, what));
    }

    /// Adds the losses and notes of a part, and returns the rest of its report.
    pub(super) fn take_report(&mut self, mut report: ConvertReport) -> ConvertReport {
        self.losses.append(&mut report.losses);
        self.notes.append(&mut report.notes);
        report
    }

    /// Adds the loss of an item that cannot be read, if such items are skipped.
    ///
    /// # Errors
    /// Returns the reason if they are not, and `Io` or `Cancelled` in any case: a file that cannot be read now may be read later.
    pub(super) fn skip_item(&mut self, path: &str, why: Error) -> Result<()> {
        if self.skip_unreadable && !why.kind().is_transient() {
            let loss = Diagnostic::loss(path, format!("{LEFT_OUT_MESSAGE}{}", why.message()));
            self.losses.push(loss.code(UNREADABLE));
            return Ok(());
        }
        let why = why.in_item("", path);
        Err(match why.kind() {
            ErrorKind::Malformed | ErrorKind::Unsupported | ErrorKind::Limit => {
                why.add_hint("skip_unreadable (--skip-unreadable) leaves such items out")
            }
            _ => why,
        })
    }

    /// Adds the loss of damaged text that is kept although its checksum is wrong, if unreadable items are skipped.
    ///
    /// # Errors
    /// Returns the errors of [`LossAccount::skip_item`].
    pub(super) fn keep_damaged(&mut self, path: &str, why: Error) -> Result<()> {
        let message = format!("kept, although it is damaged: {}", why.message());
        self.skip_item(path, why)?;
        if let Some(loss) = self.losses.last_mut() {
            loss.message = message;
        }
        Ok(())
    }

    /// Reads all of an array that must be readable, so that this is known before the first byte is written.
    ///
    /// # Errors
    /// Returns the errors of reading, if items that cannot be read are skipped.
    pub(super) fn check_readable(&self, array: &Array) -> Result<()> {
        if !self.skip_unreadable {
            return Ok(());
        }
        array.verify_checksum()?;
        array.for_each_piece(1 << 20, |_| Ok(()))
    }

    /// Returns `true` if the file may not be written with the losses so far.
    pub(super) fn is_refused(&self) -> bool {
        !self.allow_loss && self.losses.iter().any(|loss| loss.code != UNREADABLE)
    }

    /// Closes the account: returns the report of the conversion.
    pub(super) fn into_report(self, mut report: ConvertReport) -> ConvertReport {
        (report.written, report.losses, report.notes) = (!self.is_refused(), self.losses, self.notes);
        report
    }
}
