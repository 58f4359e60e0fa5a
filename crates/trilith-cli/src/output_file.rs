//! Destination of a command's output file: a path, replaced safely, or standard output.

use std::io::{self, IsTerminal};

use trilith::asdf::AsdfFile;
pub(crate) use trilith::bytes::WriteSeek;
use trilith::bytes::{CompleteFile, NewFile, WriteBasis, WritePath, path_of};
use trilith::file::verify_written;
use trilith::{Error, Result};

use crate::output::current_limits;
use crate::session::Session;

/// A file being written.
pub(crate) struct OutputFile(NewFile);

impl OutputFile {
    /// Starts a file at a path or a URL, or on standard output (`-`), which is refused if that is a terminal. `basis` says
    /// what it is made from.
    pub(crate) fn create(path: &str, basis: WriteBasis<'_>, session: &Session<'_>) -> Result<Self> {
        if path != "-" {
            return NewFile::create(WritePath::from(path_of(path)).remote(session.remote_options()?), basis)
                .map(|new| Self(new.with_limits(&current_limits())));
        }
        if io::stdout().is_terminal() {
            return Err(Error::invalid_input("this is binary data and stdout is a terminal").hint("name a file, or pipe it on"));
        }
        NewFile::stream(Box::new(io::stdout()), "stdout").map(|new| Self(new.with_limits(&current_limits())))
    }

    /// Writes a text as a file that is made from no other, and returns its size.
    pub(crate) fn write_text(path: &str, text: &str, session: &Session<'_>) -> Result<u64> {
        let mut target = Self::create(path, WriteBasis::Nothing, session)?;
        target.writer().write_all(text.as_bytes()).map_err(|error| Error::io(format!("writing {path}"), error))?;
        target.commit(session)
    }

    /// Returns the destination to write to.
    pub(crate) fn writer(&mut self) -> &mut dyn WriteSeek {
        self.0.writer()
    }

    /// Does the same as [`OutputFile::commit`], after checking that the output can be opened; `from` is the file that
    /// it was made of.
    pub(crate) fn commit_checked(mut self, from: Option<&AsdfFile>, session: &Session<'_>) -> Result<u64> {
        if let Some(written) = self.0.reread_source()? {
            verify_written(written, from, session.limits())?;
        }
        self.commit(session)
    }

    /// Puts the file into place, prints its warnings, and returns its size.
    pub(crate) fn commit(self, session: &Session<'_>) -> Result<u64> {
        let written = self.0.commit()?;
        session.warn_all(written.warnings);
        Ok(written.size)
    }

    /// Ends the content, and asks the system to begin writing it to its disk.
    pub(crate) fn finish(self) -> Result<CompleteFile> {
        let mut complete = self.0.finish()?;
        complete.begin_writeback();
        Ok(complete)
    }

    /// Returns the file itself, for the library to write it.
    pub(crate) fn file_mut(&mut self) -> &mut NewFile {
        &mut self.0
    }

    /// The file itself, for the library.
    pub(crate) fn into_inner(self) -> NewFile {
        self.0
    }
}
