//! Files compressed as a whole (`.fits.gz`), unpacked before anything is looked for, and tiles of images.

use std::io::Read;

use flate2::read::MultiGzDecoder;

use crate::bytes::{SourceRef, spool};
use crate::error::{Error, Result};
use crate::limits::Limits;

/// Whether bytes begin like a gzip file (RFC 1952).
pub fn is_gzip(start: &[u8]) -> bool {
    start.starts_with(&[0x1f, 0x8b, 8])
}

/// Unpacks a gzip file: up to 64 MiB are kept in memory, more in an unnamed temporary file.
///
/// # Errors
/// [`Kind::Malformed`](crate::Kind::Malformed) where it does not decode,
/// [`Kind::Limit`](crate::Kind::Limit) where it becomes more than [`Limits::zlib_ratio`] times as long
/// or longer than [`Limits::spool`].
pub fn gunzip(source: SourceRef, limits: &Limits) -> Result<SourceRef> {
    let name = source.name().to_owned();
    let honest = source.len().saturating_mul(limits.zlib_ratio).saturating_add(1 << 16);
    let (limit, value) = if honest < limits.spool { ("zlib_ratio", limits.zlib_ratio) } else { ("spool", limits.spool) };
    let inner = MultiGzDecoder::new(Stored { source, at: 0, failed: None });
    let mut unpacked = Unpacked { inner, left: honest.min(limits.spool), limit, value, limits, failed: None };
    let spooled = spool(&mut unpacked, &name, u64::MAX);
    match (unpacked.failed, unpacked.inner.into_inner().failed) {
        (_, Some(error)) | (Some(error), None) => Err(error),
        (None, None) => spooled,
    }
}

/// The packed bytes one after the other.
struct Stored {
    source: SourceRef,
    at: u64,
    failed: Option<Error>,
}

impl Read for Stored {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let n = into.len().min(usize::try_from(self.source.len() - self.at).unwrap_or(usize::MAX));
        let Some(into) = into.get_mut(..n) else { return Ok(0) };
        if let Err(error) = self.source.read_at(self.at, into) {
            self.failed = Some(error);
            return Err(std::io::ErrorKind::Other.into());
        }
        self.at += n as u64;
        Ok(n)
    }
}

/// The unpacked bytes, as long as there are not too many; keeps the error that the spool would blur.
struct Unpacked<'a> {
    inner: MultiGzDecoder<Stored>,
    left: u64,
    /// The limit that says how many, and its value.
    limit: &'static str,
    value: u64,
    limits: &'a Limits,
    failed: Option<Error>,
}

impl Read for Unpacked<'_> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        match self.inner.read(into) {
            Ok(n) if n as u64 > self.left => {
                self.failed = Some(Limits::exceeded(self.limit, self.value, "the gzip file becomes longer when it is unpacked"));
                Err(std::io::ErrorKind::Other.into())
            }
            Ok(n) => {
                self.left -= n as u64;
                if let Err(error) = self.limits.charge_work(n as u64) {
                    self.failed = Some(error);
                    return Err(std::io::ErrorKind::Other.into());
                }
                Ok(n)
            }
            Err(error) => {
                self.failed = Some(Error::malformed(format!("no valid gzip data: {error}")));
                Err(error)
            }
        }
    }
}

/// Unpacks a gzip tile of `count` values; gives back how many bytes each has.
pub(super) fn gunzipped(bytes: &[u8], count: usize, shuffled: bool) -> Result<(Vec<u8>, usize)> {
    let most = count as u64 * 8;
    let mut out = Vec::new();
    let read = MultiGzDecoder::new(bytes).take(most + 1).read_to_end(&mut out);
    read.map_err(|e| Error::malformed(format!("no valid gzip data: {e}")))?;
    if out.len() as u64 > most || count == 0 || !out.len().is_multiple_of(count) {
        return Err(Error::malformed(format!("{} bytes for {count} values", out.len())));
    }
    let width = out.len() / count;
    if shuffled {
        let planes: Vec<&[u8]> = out.chunks_exact(count).collect();
        out = (0..count).flat_map(|i| planes.iter().filter_map(move |plane| plane.get(i).copied())).collect();
    }
    Ok((out, width))
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::sync::Arc;

    use super::*;
    use crate::bytes::{Slice, read_vec};

    fn packed(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn unpack(bytes: Vec<u8>, limits: &Limits) -> Result<Vec<u8>> {
        let source = gunzip(Arc::new(Slice::new(bytes, "test")), limits)?;
        read_vec(&*source, 0, source.len(), limits)
    }

    #[test]
    fn members_are_joined() {
        let both = [packed(b"one "), packed(b"two")].concat();
        assert!(is_gzip(&both));
        assert_eq!(unpack(both, &Limits::default()).unwrap(), b"one two");
    }

    #[test]
    fn broken_and_exploding_files_are_errors() {
        let whole = packed(&[0; 1 << 20]);
        let cut = whole[..whole.len() / 2].to_vec();
        assert_eq!(unpack(cut, &Limits::default()).unwrap_err().kind(), crate::Kind::Malformed);
        let limits = Limits { zlib_ratio: 10, ..Limits::default() };
        assert_eq!(unpack(whole, &limits).unwrap_err().kind(), crate::Kind::Limit);
    }
}
