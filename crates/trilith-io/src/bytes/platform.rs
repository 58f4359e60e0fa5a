//! Operations that differ between operating systems. If there is none (WebAssembly without a host), files are
//! refused with an error, never with a panic: some functions of the standard library stop the program there.

use std::fs::{File, Metadata};
use std::io;
use std::path::PathBuf;
use std::time::SystemTime;

/// Fills `into` with the bytes of a file from `offset` on.
///
/// # Errors
/// Returns the error of the operating system, and an error if the file ends before.
#[cfg(unix)]
pub(super) fn read_exact_at(file: &File, offset: u64, into: &mut [u8]) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, into, offset)
}

#[cfg(windows)]
pub(super) fn read_exact_at(file: &File, mut offset: u64, mut into: &mut [u8]) -> io::Result<()> {
    while !into.is_empty() {
        let n = std::os::windows::fs::FileExt::seek_read(file, into, offset)?;
        if n == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        offset += n as u64;
        into = &mut into[n..];
    }
    Ok(())
}

#[cfg(not(any(unix, windows)))]
pub(super) fn read_exact_at(_: &File, _: u64, _: &mut [u8]) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Returns the identity of a file: device, number, and time of creation, since numbers are used again.
#[cfg(unix)]
pub(super) fn file_identity(metadata: &Metadata) -> [u64; 3] {
    use std::os::unix::fs::MetadataExt;
    let born = metadata.created().ok().and_then(|time| time.duration_since(SystemTime::UNIX_EPOCH).ok());
    [metadata.dev(), metadata.ino(), born.map_or(0, |born| born.as_nanos() as u64)]
}

/// Returns the identity of a file: its time of creation.
#[cfg(not(unix))]
pub(super) fn file_identity(metadata: &Metadata) -> [u64; 3] {
    let born = metadata.created().ok().and_then(|time| time.duration_since(SystemTime::UNIX_EPOCH).ok());
    [0, 0, born.map_or(0, |born| born.as_nanos() as u64)]
}

/// A number that no other process has at this time: for the names of temporary files.
pub(super) fn process_number() -> u32 {
    if cfg!(any(unix, windows)) { std::process::id() } else { 0 }
}

/// Returns the folder for temporary files.
///
/// # Errors
/// Returns an error if this system has no files.
pub(super) fn temporary_folder() -> io::Result<PathBuf> {
    if cfg!(any(unix, windows)) { Ok(std::env::temp_dir()) } else { Err(io::ErrorKind::Unsupported.into()) }
}
