//! Rows that arrive one after another, kept in a streamed block as they come, and the block closed at the end.
//!
//! A streamed block states no size and ends with its file (ASDF 1.x, "Streamed block"). Rows wait until a
//! checkpoint, which puts all whole rows at the end of the file as one [`FileUpdate`]. If the process is killed at any
//! moment, the file holds the rows of the last checkpoint, each of them whole.

use crate::bytes::shown_path;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

use super::streamed_block::{StreamRow, check_streams, create_stream};
use super::target_of;
use crate::array::{Array, Byteorder, Datatype};
use crate::asdf::{StreamEnd, Target, row_bytes, walk};
use crate::bytes::{FileUpdate, NewFile, PieceAccess, Source, WriteBasis, for_each_piece};
use crate::error::{Error, Result};
use crate::file::OpenOptions;
use crate::limits::Limits;
use crate::threads::spawn_daemon;
use crate::tree::TreePath;
use crate::writer::AsdfWriter;

/// Bytes that are taken from an input at once.
const BUFFER_SIZE: usize = 256 << 10;

/// The type of rows, and the interval between checkpoints.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RowOptions {
    /// The datatype and byte order of the rows that are handed in; None: those of the array that is there.
    pub datatype: Option<(Datatype, Byteorder)>,
    /// The shape of one row; None: that of the array that is there, or single elements.
    pub row_shape: Option<Vec<u64>>,
    /// The generation of a file that is begun; None is the newest.
    pub target: Option<&'static Target>,
    /// Rows are put into the file once this number of bytes of them wait.
    pub checkpoint_bytes: u64,
    /// Rows are put into the file at the latest so long after they came ([`RowWriter::push_input`]).
    pub checkpoint_interval: Duration,
}

impl Default for RowOptions {
    fn default() -> Self {
        Self {
            datatype: None,
            row_shape: None,
            target: None,
            checkpoint_bytes: 64 << 20,
            checkpoint_interval: Duration::from_secs(5),
        }
    }
}

/// A count of the rows that were added to an array.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RowReport {
    /// Rows that were added.
    pub rows: u64,
    /// Rows that there are now.
    pub total: u64,
    /// Number of checkpoints.
    pub checkpoints: u64,
    /// `true` if the array was begun.
    pub created: bool,
}

/// Adds rows to a streamed array, which it begins if there is none.
///
/// ```
/// use trilith::OpenOptions;
/// use trilith::array::{Byteorder, Datatype};
/// use trilith::{RowOptions, RowWriter};
/// # let folder = std::env::temp_dir().join(format!("trilith-rows-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder).unwrap();
/// # let path = folder.join("run.asdf");
/// let mut options = RowOptions::default();
/// options.datatype = Some((Datatype::Int16, Byteorder::Little));
/// options.row_shape = Some(vec![2]);
/// let mut rows = RowWriter::open(&path, "/run/te", options, OpenOptions::new())?;
/// rows.add(&[1, 0, 2, 0, 3])?;
/// rows.checkpoint()?;
/// assert_eq!(trilith::open(&path)?.array("/run/te")?.load::<i16>()?, [1, 2]);
/// rows.add(&[0, 4, 0])?;
/// assert_eq!(rows.finish()?.total, 2);
/// # std::fs::remove_dir_all(&folder).unwrap();
/// # Ok::<(), trilith::Error>(())
/// ```
pub struct RowWriter {
    path: PathBuf,
    item: String,
    opening: OpenOptions,
    /// The datatype and byte order of what is handed in.
    datatype: (Datatype, Byteorder),
    row_bytes: usize,
    every_bytes: u64,
    every: Duration,
    end: StreamEnd,
    /// Buffered full rows.
    update: FileUpdate,
    /// Offset of the next row.
    position: u64,
    /// Time at which the first buffered row came.
    bytes_since_checkpoint: Option<Instant>,
    /// The beginning of a row.
    partial_row: Vec<u8>,
    buffer: u64,
    added: RowReport,
}

impl RowWriter {
    /// Opens the streamed array at a tree path, or begins it: in the file that is there, or in a new one.
    ///
    /// # Errors
    /// Returns the errors of [`append_rows`](crate::asdf::append_rows) for an existing array. Returns
    /// [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if an array is begun without a datatype, if the file is of
    /// another generation than requested, and for rows without bytes. Returns
    /// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for a file that can have no streamed block, or
    /// that has one of another array. Returns [`ErrorKind::Limit`](crate::ErrorKind::Limit) for a row that is
    /// larger than the limit of memory.
    pub fn open(path: impl AsRef<Path>, item: &str, options: RowOptions, opening: OpenOptions) -> Result<Self> {
        let path = path.as_ref().to_path_buf();
        let item = TreePath::parse(item)?.to_string();
        let begun = create_if_missing(&path, &item, &options, &opening)?;
        let end = stream_end(&path, &item, &opening)?;
        let stored = end.array.datatype().packed(end.order);
        let given = options.datatype.unwrap_or((stored, end.order));
        let shape = end.array.shape().get(1..).unwrap_or_default();
        end.check_row_format(&given.0, Some(options.row_shape.as_deref().unwrap_or(shape)))
            .map_err(|e| e.at_path(item.clone()))?;
        let bytes = row_bytes(&given.0, shape)?;
        let limits = end.array.limits();
        if bytes > limits.memory {
            return Err(Limits::exceeded_error("memory", limits.memory, format_args!("one row has {bytes} bytes")));
        }
        let (at, total) = (end.offset, end.array.shape().first().copied().unwrap_or(0));
        Ok(Self {
            path,
            item,
            opening,
            datatype: given,
            row_bytes: crate::bytes::to_usize(bytes)?,
            every_bytes: options.checkpoint_bytes,
            every: options.checkpoint_interval,
            end,
            update: FileUpdate::new(),
            position: at,
            bytes_since_checkpoint: None,
            partial_row: Vec::new(),
            buffer: 0,
            added: RowReport { created: begun, total, ..RowReport::default() },
        })
    }

    /// Takes bytes of rows, one row after the other in C order; a piece may end anywhere in a row.
    ///
    /// # Errors
    /// Returns the errors of [`RowWriter::checkpoint`], which it calls if enough bytes wait.
    pub fn add(&mut self, mut bytes: &[u8]) -> Result<()> {
        while !bytes.is_empty() {
            let missing = self.row_bytes - self.partial_row.len();
            if !self.partial_row.is_empty() || bytes.len() < missing {
                let (head, rest) = bytes.split_at(missing.min(bytes.len()));
                self.partial_row.extend_from_slice(head);
                bytes = rest;
                if self.partial_row.len() == self.row_bytes {
                    let whole = std::mem::take(&mut self.partial_row);
                    self.push_rows(&whole)?;
                }
                continue;
            }
            let (rows, rest) = bytes.split_at(bytes.len() - bytes.len() % self.row_bytes);
            self.push_rows(rows)?;
            bytes = rest;
        }
        if self.buffer >= self.every_bytes { self.checkpoint() } else { Ok(()) }
    }

    /// Takes whole rows.
    fn push_rows(&mut self, rows: &[u8]) -> Result<()> {
        let count = (rows.len() / self.row_bytes) as u64;
        let row_shape = self.end.array.shape().get(1..).unwrap_or_default();
        let shape = [&[count], row_shape].concat();
        let array = Array::from_bytes(rows.to_vec(), self.datatype.0.clone(), self.datatype.1, shape)?;
        let (update, at) = (&mut self.update, &mut self.position);
        array.for_each_piece_in(self.end.order, 4 << 20, &mut |piece| {
            update.write_piece(*at, piece)?;
            *at += piece.len() as u64;
            Ok(())
        })?;
        self.buffer = self.buffer.saturating_add(rows.len() as u64);
        self.bytes_since_checkpoint.get_or_insert_with(Instant::now);
        self.added.rows += count;
        Ok(())
    }

    /// Puts all whole rows that wait into the file and syncs it. A crash at any moment leaves the file without
    /// them or with all of them.
    ///
    /// # Errors
    /// Returns the errors of [`FileUpdate::commit`]. The rows that waited are then not in the file.
    pub fn checkpoint(&mut self) -> Result<()> {
        if self.buffer == 0 {
            return Ok(());
        }
        std::mem::take(&mut self.update).commit(&*self.end.source)?;
        self.end = stream_end(&self.path, &self.item, &self.opening)?;
        (self.position, self.buffer, self.bytes_since_checkpoint) = (self.end.offset, 0, None);
        self.added.total = self.end.array.shape().first().copied().unwrap_or(0);
        self.added.checkpoints += 1;
        Ok(())
    }

    /// Takes all bytes of a source.
    ///
    /// # Errors
    /// Returns the errors of [`RowWriter::add`], and an error if the rows cannot be read.
    pub fn add_all(&mut self, rows: &dyn Source) -> Result<()> {
        for_each_piece(rows, 0..rows.len(), 4 << 20, PieceAccess::Copy, &mut |piece| self.add(piece))
    }

    /// Takes rows from an input until it ends. Those that came are put into the file in time also while no more
    /// come, so that a slow writer loses little.
    ///
    /// # Errors
    /// Returns the errors of [`RowWriter::checkpoint`], and [`ErrorKind::Io`](crate::ErrorKind::Io) if the input
    /// cannot be read. The whole rows before that are kept.
    pub fn push_input(&mut self, input: impl Read + Send + 'static) -> Result<()> {
        let pieces = read_ahead(input)?;
        loop {
            let piece = match self.bytes_since_checkpoint {
                None => pieces.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(since) => pieces.recv_timeout(self.every.saturating_sub(since.elapsed())),
            };
            match piece {
                Ok(Ok(bytes)) => self.add(&bytes)?,
                Ok(Err(error)) => {
                    self.checkpoint()?;
                    return Err(Error::io("reading the rows", error));
                }
                Err(RecvTimeoutError::Timeout) => self.checkpoint()?,
                Err(RecvTimeoutError::Disconnected) => return self.checkpoint(),
            }
            // If pieces never stop, no wait ends.
            if self.bytes_since_checkpoint.is_some_and(|since| since.elapsed() >= self.every) {
                self.checkpoint()?;
            }
        }
    }

    /// Puts the last rows into the file.
    ///
    /// # Errors
    /// Returns the errors of [`RowWriter::checkpoint`], and [`ErrorKind::Malformed`](crate::ErrorKind::Malformed)
    /// if the last row is not whole, which is left out: those before it are in the file.
    pub fn finish(mut self) -> Result<RowReport> {
        self.checkpoint()?;
        if self.partial_row.is_empty() {
            return Ok(self.added);
        }
        let (have, row, kept) = (self.partial_row.len(), self.row_bytes, self.added.rows);
        Err(Error::malformed(format!("the input ends within a row: {have} of {row} bytes")).hint(format!(
            "{kept} whole {} before it {} added",
            if kept == 1 { "row" } else { "rows" },
            if kept == 1 { "was" } else { "were" }
        )))
    }
}

/// Reads an input on a separate thread, so that the caller can do something else while it waits.
fn read_ahead(mut input: impl Read + Send + 'static) -> Result<Receiver<std::io::Result<Vec<u8>>>> {
    let (send, receive) = sync_channel(4);
    let read = move || loop {
        let mut piece = vec![0; BUFFER_SIZE];
        let got = match input.read(&mut piece) {
            Ok(0) => return,
            Ok(len) => {
                piece.truncate(len);
                Ok(piece)
            }
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => Err(error),
        };
        let is_over = got.is_err();
        if send.send(got).is_err() || is_over {
            return;
        }
    };
    match spawn_daemon("rows", read) {
        Some(_) => Ok(receive),
        None => Err(Error::io("starting a thread", std::io::ErrorKind::OutOfMemory.into())),
    }
}

/// Returns the end of an array in a file that it opens again.
fn stream_end(path: &Path, item: &str, opening: &OpenOptions) -> Result<StreamEnd> {
    StreamEnd::find_at_path(&opening.open(path)?.into_asdf()?, item)
}

/// Begins a streamed array if there is nothing at the path; whether it did.
fn create_if_missing(path: &Path, item: &str, options: &RowOptions, opening: &OpenOptions) -> Result<bool> {
    let shape = options.row_shape.as_deref().unwrap_or_default();
    let rows = || {
        let missing = || Error::not_found(format!("there is no array {item} in {} yet", shown_path(path)));
        let (datatype, order) = options.datatype.clone().ok_or_else(|| missing().hint("state the datatype of its rows"))?;
        row_bytes(&datatype, shape)?;
        Ok::<_, Error>((datatype, order))
    };
    if !path.exists() {
        let target = options.target.unwrap_or_else(Target::latest);
        check_streams(Some(target.generation()), target.name)?;
        let (datatype, order) = rows()?;
        let mut writer = AsdfWriter::generation(target.name)?;
        writer.rows(item, &datatype, order, shape)?;
        let mut out = NewFile::create(path, WriteBasis::Missing)?;
        writer.write_to(out.writer())?;
        return out.commit().map(|_| true);
    }
    let file = opening.open(path)?;
    if file.family() == "dudley" {
        return Err(Error::unsupported(format!("{} is a Dudley file, which has no streamed blocks", shown_path(path)))
            .hint("trilith append adds records to its lists"));
    }
    let file = file.into_asdf()?;
    if let Some(target) = options.target
        && target.name != target_of(&file).name
    {
        let message = format!("{} is there already, as a file of {}", shown_path(path), target_of(&file).name);
        return Err(Error::invalid_input(message).hint("leave the generation out, or convert the file"));
    }
    if walk::find(&file, item).is_ok() {
        return Ok(false);
    }
    let (datatype, byteorder) = rows()?;
    create_stream(&file, path, item, StreamRow { datatype: &datatype, byteorder, shape })?;
    Ok(true)
}
