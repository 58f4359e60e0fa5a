//! Pipes: bytes that come once and in order, kept so that they can be read at any place.

use std::io::{Read, Seek, Write};
use std::sync::Arc;

use super::local::{LocalFile, OpenOptions};
use super::source::{Slice, SourceRef};
use crate::error::{Error, Result};

/// Up to here a pipe is kept in memory; beyond, in an unnamed temporary file.
const IN_MEMORY: u64 = 64 << 20;

/// Reads everything from a pipe, in one pass, and gives it random access.
///
/// # Errors
/// [`Kind::Io`](crate::Kind::Io).
pub fn spool(mut from: impl Read, name: &str) -> Result<SourceRef> {
    let fail = |e| Error::io(format!("reading {name}"), e);
    let mut head = Vec::new();
    from.by_ref().take(IN_MEMORY).read_to_end(&mut head).map_err(fail)?;
    if (head.len() as u64) < IN_MEMORY {
        return Ok(Arc::new(Slice::new(head, name)));
    }
    let mut file = unnamed_file().map_err(|e| Error::io("making a temporary file", e))?;
    file.write_all(&head).map_err(fail)?;
    drop(head);
    std::io::copy(&mut from, &mut file).map_err(fail)?;
    file.flush().map_err(fail)?;
    file.rewind().map_err(fail)?;
    let metadata = file.metadata().map_err(fail)?;
    Ok(Arc::new(LocalFile::new(file, &metadata, name.to_owned(), OpenOptions::default())))
}

/// A temporary file that has no name any more, so that nothing is left behind.
///
/// # Errors
/// What the system says.
pub fn unnamed_file() -> std::io::Result<std::fs::File> {
    for attempt in 0u32.. {
        let path = std::env::temp_dir().join(format!("trilith-spool-{}-{attempt}", std::process::id()));
        match std::fs::OpenOptions::new().read(true).write(true).create_new(true).open(&path) {
            Ok(file) => {
                std::fs::remove_file(&path)?;
                return Ok(file);
            }
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists && attempt < 1000 => {}
            Err(error) => return Err(error),
        }
    }
    Err(std::io::ErrorKind::AlreadyExists.into())
}
