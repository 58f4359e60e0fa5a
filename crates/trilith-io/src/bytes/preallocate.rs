//! Room on a disk, asked for before much is written.

use std::fs::File;

use crate::error::Result;

/// Fewer bytes are not worth asking for.
#[cfg(target_os = "linux")]
const MIN_PREALLOCATE: u64 = 16 << 20;

/// Requests space for `bytes` bytes of a file before they are written, if the system supports it (Linux). The bytes are then
/// contiguous on the disk, and a lack of space is an error at once. The length and the content of the file do not change.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// let file = std::fs::File::create(dir.path().join("x"))?;
/// trilith_io::bytes::preallocate(&file, 20 << 20)?;
/// assert_eq!(file.metadata()?.len(), 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Returns [`ErrorKind::Io`](crate::ErrorKind::Io) if the disk does not have enough space. Other reports of the
/// system are not errors: space is then allocated while the bytes are written.
pub fn preallocate(file: &File, bytes: u64) -> Result<()> {
    #[cfg(target_os = "linux")]
    if bytes >= MIN_PREALLOCATE {
        use rustix::fs::{FallocateFlags, fallocate};
        if let Err(error @ rustix::io::Errno::NOSPC) = fallocate(file, FallocateFlags::KEEP_SIZE, 0, bytes) {
            return Err(crate::Error::io(format!("asking for room for {bytes} bytes"), error.into()));
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (file, bytes);
    Ok(())
}
