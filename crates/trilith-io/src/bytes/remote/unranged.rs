//! A file on a server that only gives it whole: read from front to back, once, into a temporary file.

use std::io::{Read, Write};
use std::sync::Mutex;

use super::client::RemoteTarget;
use super::fetch::{Fetcher, MinRateReader, retry_loop};
use super::into_shared;
use super::response::{Failure, Response};
use super::response_headers::FileVersion;
use crate::bytes::pieces::{Opaque, PieceDecoding};
use crate::bytes::source::end_in_file;
use crate::bytes::{Access, Source, SourceBacking, SourceRef, anonymous_file, read_exact_at, spool};
use crate::error::{Error, Result, SuggestedSetting};
use crate::threads::lock;

/// Read and written at once.
const BUFFER_SIZE: usize = 256 << 10;

/// A remote file that comes from front to back.
pub(super) struct UnrangedFile {
    name: String,
    fetcher: Fetcher,
    /// Maximum number of bytes to read.
    max_size: u64,
    body: Mutex<DownloadState>,
    file: std::fs::File,
}

struct DownloadState {
    /// The rest of the answer; None if the connection broke off.
    reader: Option<MinRateReader>,
    /// Number of bytes in the file.
    position: u64,
}

impl UnrangedFile {
    /// Takes over an answer that is the whole file.
    pub(super) fn open_response(target: RemoteTarget, reply: Response) -> Result<SourceRef> {
        let name = target.address.display();
        if let Some(encoding) = &reply.headers.encoding {
            return Err(target.network_error(format!("the server sends the file in the encoding {encoding:?}")));
        }
        let options = &target.client.options;
        let (stream, timeout) = (options.max_unranged_size(), options.timeout);
        let Some(size) = reply.headers.length else {
            return Self::of_unknown_size(&target, reply, stream, &name);
        };
        let version = FileVersion::from_headers(&reply.headers);
        let file = anonymous_file().map_err(|e| Error::io("making a temporary file", e))?;
        let body = Mutex::new(DownloadState { reader: Some(MinRateReader::new(reply, timeout)), position: 0 });
        let fetcher = Fetcher::new(target, size, version);
        Ok(into_shared(Self { name, fetcher, max_size: stream, body, file }))
    }

    /// The end is unknown: everything is read at once.
    fn of_unknown_size(target: &RemoteTarget, reply: Response, most: u64, name: &str) -> Result<SourceRef> {
        let body = MinRateReader::new(reply, target.client.options.timeout);
        let source = spool(body.take(most.saturating_add(1)), name, u64::MAX)?;
        if source.len() > most {
            return Err(Error::unsupported(format!(
                "the server of {name} sends neither parts of the file nor its size, which is more than {most} bytes"
            ))
            .setting("", SuggestedSetting::Download));
        }
        Ok(source)
    }

    /// Reads on until `end` bytes are in the file.
    fn download_to(&self, body: &mut DownloadState, end: u64) -> Result<()> {
        let mut buffer = vec![0; BUFFER_SIZE];
        retry_loop(&self.fetcher.target, |brought| {
            let mut reader = match body.reader.take() {
                Some(reader) => reader,
                None => self.restart(body.position)?,
            };
            while body.position < end {
                let n = match reader.read(&mut buffer) {
                    Ok(n) if n > 0 => n,
                    Ok(_) => return Err(self.broken_failure("the answer ended too early")),
                    Err(error) => return Err(self.broken_failure(&error.to_string())),
                };
                let bytes = buffer.get(..n).unwrap_or_default();
                (&self.file).write_all(bytes).map_err(|e| Failure::Permanent(Error::io("writing a temporary file", e)))?;
                *brought += n;
                body.position += n as u64;
                if let Some(watch) = &self.fetcher.target.client.options.watch {
                    watch(n as u64, Some(self.fetcher.size));
                }
            }
            body.reader = Some(reader).filter(|_| body.position < self.fetcher.size);
            Ok(())
        })
    }

    /// Requests the file again and skips the bytes that are there already, which must be the same.
    fn restart(&self, at: u64) -> Result<MinRateReader, Failure> {
        let target = &self.fetcher.target;
        let headers: Vec<(&str, &str)> = self.fetcher.version.precondition_header().into_iter().collect();
        let reply = target.get(&headers)?;
        let (version, found) = (&self.fetcher.version, FileVersion::from_headers(&reply.headers));
        // If versions have no names, the bytes are compared.
        let is_other =
            reply.headers.length != Some(self.fetcher.size) || !(version.is_unknown() || version.is_same_version(&found));
        if reply.status == 412 || reply.status == 200 && is_other {
            return Err(self.fetcher.changed_failure());
        }
        if reply.status != 200 {
            return Err(target.status_failure(reply));
        }
        let mut reader = MinRateReader::new(reply, target.client.options.timeout);
        let (mut past, mut theirs, mut ours) = (0, vec![0; BUFFER_SIZE], vec![0; BUFFER_SIZE]);
        while past < at {
            let n = (at - past).min(BUFFER_SIZE as u64) as usize;
            let n = match reader.read(theirs.get_mut(..n).unwrap_or_default()) {
                Ok(n) if n > 0 => n,
                Ok(_) => return Err(self.broken_failure("the answer ended too early")),
                Err(error) => return Err(self.broken_failure(&error.to_string())),
            };
            let kept = ours.get_mut(..n).unwrap_or_default();
            read_exact_at(&self.file, past, kept).map_err(|e| Failure::Permanent(Error::io("reading a temporary file", e)))?;
            if theirs.get(..n) != Some(&*kept) {
                return Err(self.fetcher.changed_failure());
            }
            past += n as u64;
        }
        Ok(reader)
    }

    fn broken_failure(&self, why: &str) -> Failure {
        Failure::Retryable(self.fetcher.target.network_error(why), None)
    }
}

impl SourceBacking for UnrangedFile {
    fn content_version(&self) -> Option<String> {
        self.fetcher.version.cache_key()
    }
}

impl Source for UnrangedFile {
    fn len(&self) -> u64 {
        self.fetcher.size
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<()> {
        let size = self.fetcher.size;
        let end = end_in_file(offset, into.len() as u64, size)?;
        let mut body = lock(&self.body);
        if end > body.position {
            if end > self.max_size && size > self.max_size {
                return Err(Error::unsupported(format!(
                    "the server of {} gives no parts of files, and this needs byte {offset} of its {size} bytes",
                    self.name
                ))
                .setting("", SuggestedSetting::Download));
            }
            self.download_to(&mut body, end)?;
        }
        drop(body);
        read_exact_at(&self.file, offset, into).map_err(|e| Error::io("reading a temporary file", e))
    }

    fn access(&self) -> Access {
        // A file up to the limit is kept completely in a local file.
        if self.fetcher.size > self.max_size { Access::SEQUENTIAL } else { Access::RANDOM }
    }

    fn backing(&self) -> Option<&dyn SourceBacking> {
        Some(self)
    }

    fn pieces(&self) -> Option<&dyn PieceDecoding> {
        Some(&Opaque("the server gives the file only as a whole"))
    }

    fn name(&self) -> &str {
        &self.name
    }
}
