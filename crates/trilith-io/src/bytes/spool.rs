//! Pipes: bytes that come once and in order, kept so that they can be read at any place.

use std::io::{Read, Write};
use std::sync::Arc;

use super::local::{LocalFile, LocalOptions};
use super::platform::{process_number, temporary_folder};
use super::source::{MemorySource, SourceRef};
use crate::error::{Error, Result};
use crate::limits::Limits;

/// Maximum number of bytes of a pipe that are kept in memory. A longer one goes to an unnamed temporary file.
const MAX_IN_MEMORY: u64 = 64 << 20;

/// Reads everything from a pipe, in one pass, and gives it random access; at most `most` bytes
/// ([`Limits::spool`]).
///
/// # Errors
/// Returns [`ErrorKind::Io`](crate::ErrorKind::Io) if the operating system reports an error, and
/// [`ErrorKind::Limit`](crate::ErrorKind::Limit) if the pipe holds more bytes.
pub fn spool(from: impl Read, name: &str, most: u64) -> Result<SourceRef> {
    let fail = |e| Error::io(format!("reading {name}"), e);
    let mut spooled = SpoolBuffer::default();
    // One byte more than the limit shows that the pipe is too long.
    std::io::copy(&mut from.take(most.saturating_add(1)), &mut spooled).map_err(fail)?;
    if spooled.len() > most {
        return Err(Limits::exceeded_error("spool", most, format_args!("{name} is a pipe of more than {most} bytes")));
    }
    spooled.into_source(name)
}

/// Bytes that are written once, from front to back, and then read at any place.
#[derive(Debug, Default)]
pub struct SpoolBuffer {
    head: Vec<u8>,
    /// Temporary file with all bytes, if they are too many for memory.
    file: Option<std::fs::File>,
    len: u64,
}

#[allow(clippy::len_without_is_empty, reason = "callers that spool have bytes")]
impl SpoolBuffer {
    /// Returns the number of bytes.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Returns `true` if no byte is in a file.
    pub fn is_in_memory(&self) -> bool {
        self.file.is_none()
    }

    /// Fills `into` with what was written from `at` on.
    ///
    /// # Errors
    /// Returns the error of the operating system, and an error if fewer bytes were written.
    pub fn read_at(&self, at: u64, into: &mut [u8]) -> std::io::Result<()> {
        if let Some(file) = &self.file {
            return super::platform::read_exact_at(file, at, into);
        }
        let start = usize::try_from(at).ok();
        let part = start.and_then(|start| self.head.get(start..start.checked_add(into.len())?));
        into.copy_from_slice(part.ok_or(std::io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    /// The bytes, to be read at any place; `name` is what messages call them.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Io`](crate::ErrorKind::Io) if the operating system reports an error.
    pub fn into_source(self, name: &str) -> Result<SourceRef> {
        let Some(file) = self.file else { return Ok(Arc::new(MemorySource::new(self.head, name))) };
        let metadata = file.metadata().map_err(|e| Error::io(format!("reading {name}"), e))?;
        Ok(Arc::new(LocalFile::new(file, &metadata, name.to_owned(), LocalOptions::default())))
    }
}

impl Write for SpoolBuffer {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if self.file.is_none() && self.len + bytes.len() as u64 > MAX_IN_MEMORY {
            let mut file = anonymous_file()?;
            file.write_all(&self.head)?;
            self.head = Vec::new();
            self.file = Some(file);
        }
        match &mut self.file {
            Some(file) => file.write_all(bytes)?,
            None => self.head.extend_from_slice(bytes),
        }
        self.len += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Returns the output of `write` in an unnamed temporary file, to be read before it goes anywhere else.
///
/// # Errors
/// Returns the errors of `write`, and [`ErrorKind::Io`](crate::ErrorKind::Io) if the operating system reports an
/// error.
pub fn spool_output(name: &str, write: impl FnOnce(&mut std::io::BufWriter<std::fs::File>) -> Result<()>) -> Result<SourceRef> {
    let file = anonymous_file().map_err(|e| Error::io("making a temporary file", e))?;
    let mut out = std::io::BufWriter::with_capacity(1 << 20, file);
    write(&mut out)?;
    let fail = |e| Error::io("writing a temporary file", e);
    let file = out.into_inner().map_err(|e| fail(e.into_error()))?;
    let metadata = file.metadata().map_err(fail)?;
    Ok(Arc::new(LocalFile::new(file, &metadata, name.to_owned(), LocalOptions { memory_map: false, ..LocalOptions::default() })))
}

/// The bytes of a file without a name, which is still being written, to be read at any place.
///
/// # Errors
/// Returns [`ErrorKind::Io`](crate::ErrorKind::Io) if the operating system reports an error.
#[cfg(feature = "remote")]
pub(super) fn reopen_unnamed_file(file: &std::fs::File, name: &str) -> Result<SourceRef> {
    let fail = |e| Error::io("reading a temporary file", e);
    let file = file.try_clone().map_err(fail)?;
    let metadata = file.metadata().map_err(fail)?;
    Ok(Arc::new(LocalFile::new(file, &metadata, name.to_owned(), LocalOptions { memory_map: false, ..LocalOptions::default() })))
}

/// A temporary file without a name, so that the system removes it.
///
/// # Errors
/// Returns the error of the operating system.
pub fn anonymous_file() -> std::io::Result<std::fs::File> {
    let (file, path) = private_file("spool", "")?;
    std::fs::remove_file(&path)?;
    Ok(file)
}

/// Creates a file among the temporary ones of the system that no other user may read and that no link led to. Its
/// name can be guessed, and all users share the folder.
///
/// # Errors
/// Returns the error of the operating system.
pub fn private_file(what: &str, extension: &str) -> std::io::Result<(std::fs::File, std::path::PathBuf)> {
    let mut options = std::fs::OpenOptions::new();
    options.read(true).write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let (folder, process) = (temporary_folder()?, process_number());
    for attempt in 0u32..1000 {
        let path = folder.join(format!("trilith-{what}-{process}-{attempt}{extension}"));
        match options.open(&path) {
            Ok(file) => return Ok((file, path)),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(std::io::ErrorKind::AlreadyExists.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pipe_beyond_limit_is_refused() {
        let most = MAX_IN_MEMORY + 1000;
        for (limit, len) in [(10, 11), (most, most + 1)] {
            let error = spool(std::io::repeat(0), "-", limit).err().unwrap();
            assert_eq!(error.kind(), crate::ErrorKind::Limit);
            assert!(error.to_string().contains(&format!("limit spool={limit}")), "{error}");
            assert_eq!(spool(std::io::repeat(0).take(limit), "-", limit).unwrap().len(), limit);
            assert!(spool(std::io::repeat(0).take(len), "-", limit).is_err());
        }
    }

    #[cfg(unix)]
    #[test]
    fn temporary_file_is_private_and_ignores_symlinks() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let (file, path) = private_file("test", ".x").unwrap();
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        // If another user has put a link under the next name, another is taken.
        std::fs::remove_file(&path).unwrap();
        let victim = folder.path().join("victim");
        std::os::unix::fs::symlink(&victim, &path).unwrap();
        let (_, other) = private_file("test", ".x").unwrap();
        assert!(other != path && !victim.exists());
        std::fs::remove_file(&path).unwrap();
        std::fs::remove_file(&other).unwrap();
    }
}
