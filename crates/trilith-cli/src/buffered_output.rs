//! Output of one file of several, held back until it is its turn.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

use trilith::Result;
use trilith_io::threads::JobTurn;

use crate::stdout::{Stdout, is_terminal, stdout_error};

/// Maximum number of bytes that are held back before it is the file's turn; further output waits.
const MAX_BUFFERED: usize = 1 << 20;
/// So much is kept in its turn, so that a few large pieces go out.
const BUFFER_SIZE: usize = 64 << 10;
/// So long may a line of JSON be that an error can still take back.
const MAX_JSON_LINE: usize = 64 << 20;

/// The stdout of all files.
#[derive(Clone)]
pub(crate) struct SharedStdout(Arc<Mutex<io::BufWriter<Stdout>>>);

impl Default for SharedStdout {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(io::BufWriter::with_capacity(BUFFER_SIZE, Stdout::new()))))
    }
}

impl SharedStdout {
    fn write_bytes(&self, bytes: &[u8]) -> io::Result<()> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write_all(bytes)
    }

    /// Makes sure that everything is out.
    pub(crate) fn flush_all(&self) -> Result<()> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).flush().map_err(stdout_error)
    }
}

/// The output of one file.
pub(crate) struct BufferedOutput {
    bytes: Vec<u8>,
    turn: JobTurn,
    shared: SharedStdout,
    /// `true` for a line of JSON, which is written as a whole or not at all.
    is_json: bool,
    is_direct: bool,
}

impl BufferedOutput {
    /// Creates an empty output.
    pub(crate) fn new(turn: JobTurn, shared: SharedStdout, is_json: bool) -> Self {
        Self { bytes: Vec::new(), turn, shared, is_json, is_direct: false }
    }

    /// Puts everything out; it must be its turn.
    pub(crate) fn release(self) -> Result<()> {
        self.shared.write_bytes(&self.bytes).map_err(stdout_error)?;
        if is_terminal() { self.shared.flush_all() } else { Ok(()) }
    }

    /// Discards output that is not written yet, and writes this instead.
    pub(crate) fn replace_output(&mut self, line: &str) -> Result<()> {
        self.bytes.clear();
        if self.is_direct {
            self.bytes.push(b'\n');
        }
        self.bytes.extend_from_slice(line.as_bytes());
        Ok(())
    }
}

impl Write for BufferedOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.bytes.extend_from_slice(bytes);
        if self.bytes.len() < BUFFER_SIZE {
            return Ok(bytes.len());
        }
        if !self.turn.is_current() {
            if self.bytes.len() < MAX_BUFFERED {
                return Ok(bytes.len());
            }
            if !self.turn.wait() {
                // Another file failed to write, so this output would have no reader either.
                return Err(io::ErrorKind::BrokenPipe.into());
            }
        }
        if self.bytes.len() >= if self.is_json { MAX_JSON_LINE } else { BUFFER_SIZE } {
            self.is_direct = true;
            self.shared.write_bytes(&self.bytes)?;
            self.bytes.clear();
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
