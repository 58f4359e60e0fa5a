//! Output of one file of several, held back until it is its turn.

use std::io::{self, IsTerminal, Write};
use std::sync::{Arc, Mutex, PoisonError};

use trilith::Result;
use trilith_io::threads::Turn;

use crate::output::{Stdout, failed};

/// Maximum number of bytes that are held back before it is the file's turn; further output waits.
const AHEAD: usize = 1 << 20;
/// So much is kept in its turn, so that a few large pieces go out.
const PIECE: usize = 64 << 10;
/// So long may a line of JSON be that an error can still take back.
const LINE: usize = 64 << 20;

/// The stdout of all files.
#[derive(Clone)]
pub(crate) struct Shared(Arc<Mutex<io::BufWriter<Stdout>>>);

impl Default for Shared {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(io::BufWriter::with_capacity(PIECE, Stdout::open()))))
    }
}

impl Shared {
    fn write(&self, bytes: &[u8]) -> io::Result<()> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write_all(bytes)
    }

    /// Makes sure that everything is out.
    pub(crate) fn finish(&self) -> Result<()> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).flush().map_err(failed)
    }
}

/// The output of one file.
pub(crate) struct Held {
    bytes: Vec<u8>,
    turn: Turn,
    shared: Shared,
    /// `true` for a line of JSON, which is written as a whole or not at all.
    is_json: bool,
    has_begun: bool,
}

impl Held {
    /// Creates an empty output.
    pub(crate) fn new(turn: Turn, shared: Shared, is_json: bool) -> Self {
        Self { bytes: Vec::new(), turn, shared, is_json, has_begun: false }
    }

    /// Puts everything out; it must be its turn.
    pub(crate) fn release(self) -> Result<()> {
        self.shared.write(&self.bytes).map_err(failed)?;
        if io::stdout().is_terminal() { self.shared.finish() } else { Ok(()) }
    }

    /// Discards output that is not written yet, and writes this instead.
    pub(crate) fn replace(&mut self, line: &str) -> Result<()> {
        self.bytes.clear();
        if self.has_begun {
            self.bytes.push(b'\n');
        }
        self.bytes.extend_from_slice(line.as_bytes());
        Ok(())
    }
}

impl Write for Held {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.bytes.extend_from_slice(bytes);
        if self.bytes.len() < PIECE {
            return Ok(bytes.len());
        }
        if !self.turn.has_come() {
            if self.bytes.len() < AHEAD {
                return Ok(bytes.len());
            }
            if !self.turn.wait() {
                // Another file failed to write, so this output would have no reader either.
                return Err(io::ErrorKind::BrokenPipe.into());
            }
        }
        if self.bytes.len() >= if self.is_json { LINE } else { PIECE } {
            self.has_begun = true;
            self.shared.write(&self.bytes)?;
            self.bytes.clear();
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
