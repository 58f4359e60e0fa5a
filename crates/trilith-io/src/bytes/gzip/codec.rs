//! Packing and unpacking what is compressed by DEFLATE (RFC 1951) outside of blocks.

use std::io::{BufRead, BufReader, Read, Write};
use std::sync::Arc;

use flate2::Compression;
use flate2::bufread::GzDecoder;
use flate2::write::{GzEncoder, ZlibEncoder};

use crate::bytes::source::{DerivedSource, SourceRef};
use crate::bytes::spool::spool;
use crate::error::{Error, ErrorKind, Result};
use crate::limits::Limits;

/// Unpacks a gzip file: up to 64 MiB are kept in memory, more in an unnamed temporary file.
///
/// # Errors
/// Returns [`ErrorKind::Malformed`] if it does not decode,
/// [`ErrorKind::Limit`] if it becomes more than [`Limits::zlib_ratio`] times as long or
/// longer than [`Limits::spool`].
pub fn gunzip(source: SourceRef, limits: &Limits) -> Result<SourceRef> {
    let limits = &limits.for_calls(source.len());
    let _call = limits.call();
    let name = source.name().to_owned();
    let honest = source.len().saturating_mul(limits.zlib_ratio).saturating_add(1 << 16);
    let (limit, value) = if honest < limits.spool { ("zlib_ratio", limits.zlib_ratio) } else { ("spool", limits.spool) };
    let packed = PackedReader { source: source.clone(), position: 0, error: None };
    let inner = MemberReader::new(BufReader::with_capacity(BUFFER_SIZE, packed));
    let mut unpacked = UnpackedWriter { inner, remaining: honest.min(limits.spool), limit, value, limits, error: None };
    let spooled = spool(&mut unpacked, &name, u64::MAX);
    let packed_error = unpacked.inner.into_inner().and_then(|packed| packed.into_inner().error);
    match (unpacked.error, packed_error) {
        (Some(error), None) if error.kind() == ErrorKind::Malformed => Err(error.context(name)),
        (_, Some(error)) | (Some(error), None) => Err(error),
        (None, None) => Ok(Arc::new(DerivedSource::new(spooled?, source))),
    }
}

/// Writes what `from` reads as a gzip file, without a name and a time, so that the same bytes give the same file.
///
/// # Errors
/// Returns [`ErrorKind::Io`] if the operating system reports an error.
pub fn gzip(from: &mut dyn Read, out: &mut dyn Write) -> Result<()> {
    let fail = |e| Error::io("writing", e);
    let mut encoder = GzEncoder::new(out, Compression::default());
    std::io::copy(from, &mut encoder).map_err(fail)?;
    encoder.finish().map(drop).map_err(fail)
}

/// Bytes of a gzip file that are read at once.
const BUFFER_SIZE: usize = 32 << 10;

/// The members of a gzip file one after the other (RFC 1952, section 2.2). Zeros may fill the file after each, as tapes have them: gzip
/// and Python skip them, too.
struct MemberReader<R: BufRead> {
    member: Option<GzDecoder<R>>,
    /// The packed bytes after the last member.
    rest: Option<R>,
}

impl<R: BufRead> MemberReader<R> {
    fn new(packed: R) -> Self {
        Self { member: Some(GzDecoder::new(packed)), rest: None }
    }

    fn into_inner(self) -> Option<R> {
        self.member.map(GzDecoder::into_inner).or(self.rest)
    }

    /// Skips the zeros after a member. Returns `true` if another one follows.
    fn skip_zeros(packed: &mut R) -> std::io::Result<bool> {
        loop {
            let bytes = packed.fill_buf()?;
            let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
            let (is_end, has_more) = (bytes.is_empty(), zeros < bytes.len());
            packed.consume(zeros);
            if is_end || has_more {
                return Ok(has_more);
            }
        }
    }
}

impl<R: BufRead> Read for MemberReader<R> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        while let Some(mut member) = self.member.take() {
            let read = member.read(into);
            if into.is_empty() || !matches!(read, Ok(0)) {
                self.member = Some(member);
                return read;
            }
            let mut packed = member.into_inner();
            match Self::skip_zeros(&mut packed) {
                Ok(true) => self.member = Some(GzDecoder::new(packed)),
                ended => {
                    self.rest = Some(packed);
                    return ended.map(|_| 0);
                }
            }
        }
        Ok(0)
    }
}

/// The packed bytes one after the other.
struct PackedReader {
    source: SourceRef,
    position: u64,
    error: Option<Error>,
}

impl Read for PackedReader {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let n = into.len().min(usize::try_from(self.source.len() - self.position).unwrap_or(usize::MAX));
        let Some(into) = into.get_mut(..n) else { return Ok(0) };
        if let Err(error) = self.source.read_at(self.position, into) {
            self.error = Some(error);
            return Err(std::io::ErrorKind::Other.into());
        }
        self.position += n as u64;
        Ok(n)
    }
}

/// The unpacked bytes, as long as there are not too many; keeps the error that the spool would blur.
struct UnpackedWriter<'a> {
    inner: MemberReader<BufReader<PackedReader>>,
    remaining: u64,
    /// The limit for the bytes, and its value.
    limit: &'static str,
    value: u64,
    limits: &'a Limits,
    error: Option<Error>,
}

impl Read for UnpackedWriter<'_> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        match self.inner.read(into) {
            Ok(n) if n as u64 > self.remaining => {
                self.error =
                    Some(Limits::exceeded_error(self.limit, self.value, "the gzip file becomes longer when it is unpacked"));
                Err(std::io::ErrorKind::Other.into())
            }
            Ok(n) => {
                self.remaining -= n as u64;
                if let Err(error) = self.limits.charge_decoding(n as u64) {
                    self.error = Some(error);
                    return Err(std::io::ErrorKind::Other.into());
                }
                Ok(n)
            }
            Err(error) => {
                self.error = Some(Error::malformed(format!("no valid gzip data: {error}")));
                Err(error)
            }
        }
    }
}

/// Unpacks gzip data in memory, up to `most` bytes and one more.
///
/// # Errors
/// Returns [`ErrorKind::Malformed`] if they do not decode.
pub fn gunzipped(bytes: &[u8], most: u64) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    let read = MemberReader::new(bytes).take(most.saturating_add(1)).read_to_end(&mut out);
    read.map_err(|e| Error::malformed(format!("the gzip data do not decode: {e}")))?;
    Ok(out)
}

/// Returns the output of `write` as a zlib stream of this level (0 to 9).
///
/// # Errors
/// Returns the errors of `write`.
pub fn deflated(level: u32, write: &mut dyn FnMut(&mut dyn Write) -> Result<()>) -> Result<Vec<u8>> {
    let mut out = ZlibEncoder::new(Vec::new(), Compression::new(level.min(9)));
    write(&mut out)?;
    out.finish().map_err(|e| Error::io("compressing", e))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::{MemorySource, is_gzip, read_vec};

    fn packed(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn unpack(bytes: Vec<u8>, limits: &Limits) -> Result<Vec<u8>> {
        let source = gunzip(Arc::new(MemorySource::new(bytes, "test")), limits)?;
        assert!(source.origin().is_some());
        read_vec(&*source, 0, source.len(), limits)
    }

    #[test]
    fn members_are_joined() {
        let both = [packed(b"one "), packed(b"two")].concat();
        assert!(is_gzip(&both));
        assert_eq!(unpack(both, &Limits::default()).unwrap(), b"one two");
    }

    #[test]
    fn zeros_after_members_are_skipped() {
        let (one, two, zeros) = (packed(b"one "), packed(b"two"), vec![0; 70_000]);
        let alone = [one.clone(), zeros.clone()].concat();
        let both = [one.clone(), zeros, two.clone(), vec![0]].concat();
        for (file, expected) in [(alone, &b"one "[..]), (both, b"one two")] {
            assert_eq!(unpack(file.clone(), &Limits::default()).unwrap(), expected);
            assert_eq!(gunzipped(&file, 100).unwrap(), expected);
        }
        let damaged = [one, vec![0, 7]].concat();
        let error = unpack(damaged, &Limits::default()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Malformed);
        assert!(error.to_string().starts_with("test: no valid gzip data"), "{error}");
        let empty = packed(b"");
        assert_eq!(unpack([empty, two].concat(), &Limits::default()).unwrap(), b"two");
    }

    #[test]
    fn what_is_packed_is_unpacked_again() {
        let bytes: Vec<u8> = (0..3u32 << 20).map(|n| (n / 7) as u8).collect();
        let mut file = Vec::new();
        gzip(&mut bytes.as_slice(), &mut file).unwrap();
        assert!(is_gzip(&file) && file.len() < bytes.len());
        assert!(unpack(file, &Limits::default()).unwrap() == bytes);
    }

    #[test]
    fn broken_and_exploding_files_are_errors() {
        let whole = packed(&[0; 1 << 20]);
        let cut = whole[..whole.len() / 2].to_vec();
        assert_eq!(unpack(cut, &Limits::default()).unwrap_err().kind(), ErrorKind::Malformed);
        let limits = Limits { zlib_ratio: 10, ..Limits::default() };
        assert_eq!(unpack(whole, &limits).unwrap_err().kind(), ErrorKind::Limit);
    }
}
