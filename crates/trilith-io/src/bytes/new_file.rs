//! Destinations of a new file: a path, whose old file is replaced safely, or a stream such as a pipe.

use std::io::{self, BufWriter, IsTerminal, Read, Seek, Write};
use std::path::Path;

use super::atomic_file::AtomicFile;
use super::backing::SourceBacking;
use super::counting_writer::CountingWriter;
use super::gzip::{gzip, has_gzip_name, is_packed};
use super::lock::WriteBasis;
use super::source::SourceRef;
use super::spool::anonymous_file;
use super::write_path::WritePath;
use crate::error::{Error, Result};
use crate::limits::Limits;

/// A file that is being written.
///
/// A path is [replaced](AtomicFile) when the file is committed. A pipe or a device, by name or as a stream, cannot
/// go back to fill in sizes, so the content waits in a temporary file and is copied out at the end. The same holds
/// for a gzip file: one whose name ends in `.gz`, and one that was a gzip file and is rewritten.
pub struct NewFile {
    kind: NewFileKind,
    /// Content that is compressed when it is complete.
    unpacked: Option<BufWriter<CountingWriter<std::fs::File>>>,
}

enum NewFileKind {
    Path(Box<BufWriter<CountingWriter<AtomicFile>>>),
    Stream(BufWriter<CountingWriter<std::fs::File>>, Box<dyn Write + Send>, String),
}

/// A destination that can be written and repositioned.
pub trait WriteSeek: Write + Seek {}
impl<T: Write + Seek> WriteSeek for T {}

/// The result of writing a new file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct WriteReport {
    /// Length of the file in bytes.
    pub size: u64,
    /// Properties of the replaced file that could not be kept: a group, an extended attribute.
    pub warnings: Vec<String>,
}

impl NewFile {
    /// Starts a file at a path; `basis` is the file that its content is made from.
    ///
    /// # Errors
    /// Returns the errors of [`AtomicFile::create`], and [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for a
    /// terminal.
    pub fn create(path: impl Into<WritePath>, basis: WriteBasis<'_>) -> Result<Self> {
        let target = path.into();
        let path = target.path();
        if target.is_url() || !std::fs::metadata(path).is_ok_and(|there| !there.is_file() && !there.is_dir()) {
            return Self::create_regular(target, basis);
        }
        let name = path.display().to_string();
        let out = std::fs::OpenOptions::new().write(true).open(path).map_err(|e| Error::io(format!("opening {name}"), e))?;
        if out.is_terminal() {
            return Err(
                Error::invalid_input(format!("this is binary data and {name} is a terminal")).hint("name a file, or pipe it on")
            );
        }
        Self::stream(Box::new(out), name)
    }

    /// Starts a file at a path, as [`NewFile::create`] does, but refuses a pipe and a device: a call of a library does not wait for the
    /// reader of a pipe.
    ///
    /// # Errors
    /// Returns the errors of [`AtomicFile::create`].
    pub fn create_regular(path: impl Into<WritePath>, basis: WriteBasis<'_>) -> Result<Self> {
        let target = path.into();
        let unpacked = if needs_gzip(target.path(), basis)? { Some(spool_file()?) } else { None };
        let out = BufWriter::with_capacity(1 << 20, wrap_uncounted(AtomicFile::create(target, basis)?));
        Ok(Self { kind: NewFileKind::Path(Box::new(out)), unpacked })
    }

    /// Starts a file that is copied into `out` when it is committed. Messages call it `name`.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Io`](crate::ErrorKind::Io) if there is no place for a temporary file.
    pub fn stream(out: Box<dyn Write + Send>, name: impl Into<String>) -> Result<Self> {
        Ok(Self { kind: NewFileKind::Stream(spool_file()?, out, name.into()), unpacked: None })
    }

    /// Requests space for the uncompressed content of a file that is known to have N bytes.
    ///
    /// # Errors
    /// Returns the errors of [`AtomicFile::reserve`].
    pub fn reserve(&self, bytes: u64) -> Result<()> {
        match &self.kind {
            NewFileKind::Path(out) if self.unpacked.is_none() => out.get_ref().get_ref().reserve(bytes),
            _ => Ok(()),
        }
    }

    /// Counts what is written towards [`Limits::output`].
    #[must_use]
    pub fn with_limits(mut self, limits: &Limits) -> Self {
        if let Some(unpacked) = &mut self.unpacked {
            unpacked.get_mut().count_for(limits);
        }
        match &mut self.kind {
            NewFileKind::Path(out) => out.get_mut().count_for(limits),
            NewFileKind::Stream(out, ..) => out.get_mut().count_for(limits),
        }
        self
    }

    /// Returns the destination to write to.
    pub fn writer(&mut self) -> &mut dyn WriteSeek {
        if let Some(unpacked) = &mut self.unpacked {
            return unpacked;
        }
        match &mut self.kind {
            NewFileKind::Path(out) => out,
            NewFileKind::Stream(out, ..) => out,
        }
    }

    /// Returns the written content, to be read before it is put into place. Returns None for a stream, and for
    /// content that is still to be compressed.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Io`](crate::ErrorKind::Io) if the operating system reports an error.
    pub fn reread_source(&mut self) -> Result<Option<SourceRef>> {
        match &mut self.kind {
            NewFileKind::Path(out) if self.unpacked.is_none() => {
                out.flush().map_err(|e| Error::io("writing", e))?;
                out.get_ref().get_ref().reread_source().map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Puts the file into place.
    ///
    /// # Errors
    /// Returns the errors of [`NewFile::finish`] and [`CompleteFile::commit`].
    pub fn commit(self) -> Result<WriteReport> {
        self.finish()?.commit()
    }

    /// Ends the content. The file waits next to its place, to be put there with others: [`CompleteFile::commit_all`].
    ///
    /// # Errors
    /// Returns [`ErrorKind::Io`](crate::ErrorKind::Io) if the operating system reports an error.
    pub fn finish(mut self) -> Result<CompleteFile> {
        let fail = |e| Error::io("writing", e);
        if let Some(unpacked) = self.unpacked.take() {
            let mut unpacked = unpacked.into_inner().map_err(|e| fail(e.into_error()))?.into_inner();
            unpacked.rewind().map_err(fail)?;
            gzip(&mut unpacked, &mut self.writer())?;
        }
        match self.kind {
            NewFileKind::Path(out) => {
                let mut file = out.into_inner().map_err(|e| fail(e.into_error()))?.into_inner();
                let size = file.seek(io::SeekFrom::End(0)).map_err(fail)?;
                Ok(CompleteFile(CompleteContent::Path(size, file)))
            }
            NewFileKind::Stream(out, to, name) => {
                let content = out.into_inner().map_err(|e| fail(e.into_error()))?.into_inner();
                Ok(CompleteFile(CompleteContent::Stream(content, to, name)))
            }
        }
    }
}

/// A file whose content is complete, but which is not in place yet. If it is dropped, nothing was written.
pub struct CompleteFile(CompleteContent);

/// The content of a complete file.
#[allow(clippy::large_enum_variant, reason = "there is one for each file that is written")]
enum CompleteContent {
    /// The size and the file.
    Path(u64, AtomicFile),
    /// The content, the stream that it is copied into, and its name.
    Stream(std::fs::File, Box<dyn Write + Send>, String),
}

impl CompleteFile {
    /// Asks the system to begin writing the content to its disk, if it can (Linux), so that a sync later waits less.
    pub fn begin_writeback(&mut self) {
        if let CompleteContent::Path(_, file) = &mut self.0 {
            file.begin_writeback();
        }
    }

    /// Puts the file into place.
    ///
    /// # Errors
    /// Returns the errors of [`AtomicFile::commit`], and [`ErrorKind::Io`](crate::ErrorKind::Io) if a stream cannot be written.
    pub fn commit(self) -> Result<WriteReport> {
        let (mut reports, done) = Self::commit_all(vec![self]);
        done.map(|()| reports.pop().unwrap_or_default())
    }

    /// Puts files into place, in their order, with fewer syncs than one after the other: see [`AtomicFile::commit_all`]. Returns a
    /// report of each file that is in place, and the first error. No file after that of the error is put in place.
    ///
    /// # Errors
    /// Returns the errors of [`CompleteFile::commit`].
    pub fn commit_all(files: Vec<Self>) -> (Vec<WriteReport>, Result<()>) {
        let (mut reports, mut sizes, mut group) = (Vec::with_capacity(files.len()), Vec::new(), Vec::new());
        for CompleteFile(content) in files {
            match content {
                CompleteContent::Path(size, file) => {
                    sizes.push(size);
                    group.push(file);
                }
                CompleteContent::Stream(content, to, name) => {
                    let written = commit_group(&mut sizes, &mut group, &mut reports).and_then(|()| copy_out(content, to, &name));
                    match written {
                        Ok(size) => reports.push(WriteReport { size, warnings: Vec::new() }),
                        Err(error) => return (reports, Err(error)),
                    }
                }
            }
        }
        let done = commit_group(&mut sizes, &mut group, &mut reports);
        (reports, done)
    }
}

/// Puts the files into place, and adds a report of each of them.
fn commit_group(sizes: &mut Vec<u64>, files: &mut Vec<AtomicFile>, reports: &mut Vec<WriteReport>) -> Result<()> {
    let (warnings, done) = AtomicFile::commit_all(std::mem::take(files));
    reports.extend(sizes.drain(..).zip(warnings).map(|(size, warnings)| WriteReport { size, warnings }));
    done
}

/// Wraps `out` with the default limits, until those of the caller are set.
fn wrap_uncounted<W>(out: W) -> CountingWriter<W> {
    CountingWriter::new(out, Limits::default())
}

fn spool_file() -> Result<BufWriter<CountingWriter<std::fs::File>>> {
    let file = anonymous_file().map_err(|e| Error::io("making a temporary file", e))?;
    Ok(BufWriter::with_capacity(1 << 20, wrap_uncounted(file)))
}

/// Returns `true` if a file has the name of a gzip file, or if it is a gzip file that is rewritten.
fn needs_gzip(path: &Path, basis: WriteBasis<'_>) -> Result<bool> {
    if has_gzip_name(path) {
        return Ok(true);
    }
    match basis {
        WriteBasis::Nothing | WriteBasis::Missing => Ok(false),
        WriteBasis::SameAs(read) | WriteBasis::LockedBy(read) => {
            Ok(read.backing().and_then(SourceBacking::local_file).is_some_and(|local| local.is_at_path(path)) && is_packed(read)?)
        }
    }
}

fn copy_out(mut file: std::fs::File, mut to: Box<dyn Write + Send>, name: &str) -> Result<u64> {
    let fail = |e| Error::io("reading a temporary file", e);
    let fail_there = |e| Error::io(format!("writing to {name}"), e);
    file.rewind().map_err(fail)?;
    let mut piece = vec![0; 1 << 20];
    let mut size = 0;
    loop {
        let n = file.read(&mut piece).map_err(fail)?;
        if n == 0 {
            break;
        }
        to.write_all(piece.get(..n).unwrap_or_default()).map_err(fail_there)?;
        size += n as u64;
    }
    to.flush().map_err(fail_there)?;
    Ok(size)
}
