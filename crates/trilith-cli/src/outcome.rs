//! The exit status of a command.

/// The result of a command, for the exit status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Outcome {
    /// The command is done, or its answer is yes: exit status 0.
    Success,
    /// The answer is no: different, invalid, nothing found, refused: exit status 1.
    Negative,
    /// The answer for some file is unknown, for a reason that was printed: exit status 2.
    Failed,
}
