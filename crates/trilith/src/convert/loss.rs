//! What a form to be written cannot hold.

use crate::asdf::Target;
use crate::error::Error;

/// One thing that is not the same in the file written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loss {
    /// JSON Pointer of what it is about; None where it stands outside the tree.
    pub path: Option<String>,
    /// What changes, in words.
    pub message: String,
}

impl Loss {
    pub(super) fn at(path: &(impl std::fmt::Display + ?Sized), message: impl Into<String>) -> Self {
        Self { path: Some(path.to_string()), message: message.into() }
    }
}

impl std::fmt::Display for Loss {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.path.as_deref() {
            None => f.write_str(&self.message),
            Some("") => write!(f, "the root: {}", self.message),
            Some(path) => write!(f, "{path}: {}", self.message),
        }
    }
}

/// The refusal that names every loss.
pub(super) fn refusal(target: &Target, losses: &[Loss]) -> Error {
    let list: Vec<String> = losses.iter().map(Loss::to_string).collect();
    Error::usage(format!("{} cannot hold everything: {}", target.name, list.join("; ")))
        .hint("allow these losses, or choose another generation")
}
