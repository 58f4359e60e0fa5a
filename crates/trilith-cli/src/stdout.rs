//! Standard output next to the progress display.

use std::io::{self, IsTerminal as _, Write};
use std::sync::OnceLock;

use trilith::Error;

use crate::progress::with_bar_hidden;

/// Standard output without the line buffer of the standard library.
pub(crate) enum Stdout {
    Unbuffered(std::fs::File),
    LineBuffered(io::Stdout),
}

impl Stdout {
    /// Takes it.
    pub(crate) fn new() -> Self {
        Self::raw_stdout().map_or_else(|_| Self::LineBuffered(io::stdout()), Self::Unbuffered)
    }

    #[cfg(unix)]
    fn raw_stdout() -> io::Result<std::fs::File> {
        std::os::fd::AsFd::as_fd(&io::stdout()).try_clone_to_owned().map(Into::into)
    }

    #[cfg(not(unix))]
    fn raw_stdout() -> io::Result<std::fs::File> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

impl Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let write = || match self {
            Self::Unbuffered(out) => out.write(bytes),
            Self::LineBuffered(out) => out.write(bytes),
        };
        // The progress display is suspended, because both may be on one terminal.
        with_bar_hidden(write)
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Unbuffered(out) => out.flush(),
            Self::LineBuffered(out) => out.flush(),
        }
    }
}

/// Returns `true` if standard output is a terminal, which is found out once.
pub(crate) fn is_terminal() -> bool {
    static IS_TERMINAL: OnceLock<bool> = OnceLock::new();
    *IS_TERMINAL.get_or_init(|| io::stdout().is_terminal())
}

/// Writing to stdout failed.
pub(crate) fn stdout_error(error: io::Error) -> Error {
    Error::io("writing to stdout", error)
}
