//! A writer that counts what goes through it.

use std::io::{self, Seek, SeekFrom, Write};

use crate::limits::Limits;

/// Counts the written bytes towards [`Limits::output`], and returns an error beyond the limit.
///
/// The error comes out of the writer inside an [`io::Error`]. [`Error::io`](crate::Error::io) takes it out again.
///
/// ```
/// use std::io::Write;
/// use trilith_io::{Error, ErrorKind, Limits, bytes::CountingWriter};
/// let mut limits = Limits::default();
/// limits.output = 4;
/// let mut out = CountingWriter::new(Vec::new(), limits.for_command(0));
/// assert!(out.write_all(b"four").is_ok());
/// let refused = out.write_all(b"!").map_err(|error| Error::io("writing", error));
/// assert_eq!(refused.unwrap_err().kind(), ErrorKind::Limit);
/// assert_eq!(out.into_inner(), b"four");
/// ```
#[derive(Debug)]
pub struct CountingWriter<W> {
    out: W,
    limits: Box<Limits>,
}

impl<W> CountingWriter<W> {
    /// Counts what goes to `out`.
    pub fn new(out: W, limits: Limits) -> Self {
        Self { out, limits: Box::new(limits) }
    }

    /// Counts towards the budget of these limits from now on.
    pub(super) fn count_for(&mut self, limits: &Limits) {
        *self.limits = limits.clone();
    }

    /// The writer inside, while this goes on counting.
    pub(super) fn get_ref(&self) -> &W {
        &self.out
    }

    /// The writer inside.
    pub fn into_inner(self) -> W {
        self.out
    }
}

impl<W: Write> Write for CountingWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.limits.charge_output(bytes.len() as u64).map_err(io::Error::other)?;
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl<W: Seek> Seek for CountingWriter<W> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.out.seek(to)
    }
}
