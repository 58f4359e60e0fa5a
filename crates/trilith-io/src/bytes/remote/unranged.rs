//! A file on a server that only gives it whole: read from front to back, once, into a temporary file.

use std::io::{Read, Write};
use std::sync::Mutex;

use super::client::Target;
use super::fetch::{Fetcher, Paced, persist};
use super::response::{Failure, Reply};
use super::response_headers::Version;
use super::shared;
use crate::bytes::pieces::{Opaque, SourcePieces};
use crate::bytes::source::end_in_file;
use crate::bytes::{Access, Backing, Source, SourceRef, read_exact_at, spool, unnamed_file};
use crate::error::{Error, Result, Setting};
use crate::threads::lock;

/// Read and written at once.
const STEP: usize = 256 << 10;

/// A remote file that comes from front to back.
pub(super) struct WholeFile {
    name: String,
    fetcher: Fetcher,
    /// Maximum number of bytes to read.
    most: u64,
    body: Mutex<Body>,
    file: std::fs::File,
}

struct Body {
    /// The rest of the answer; None if the connection broke off.
    reader: Option<Paced>,
    /// Number of bytes in the file.
    at: u64,
}

impl WholeFile {
    /// Takes over an answer that is the whole file.
    pub(super) fn open(target: Target, reply: Reply) -> Result<SourceRef> {
        let name = target.address.shown();
        if let Some(encoding) = &reply.headers.encoding {
            return Err(target.error(format!("the server sends the file in the encoding {encoding:?}")));
        }
        let options = &target.client.options;
        let (stream, timeout) = (options.reach(), options.timeout);
        let Some(size) = reply.headers.length else {
            return Self::of_unknown_size(&target, reply, stream, &name);
        };
        let version = Version::of(&reply.headers);
        let file = unnamed_file().map_err(|e| Error::io("making a temporary file", e))?;
        let body = Mutex::new(Body { reader: Some(Paced::new(reply, timeout)), at: 0 });
        let fetcher = Fetcher::new(target, size, version);
        Ok(shared(Self { name, fetcher, most: stream, body, file }))
    }

    /// The end is unknown: everything is read at once.
    fn of_unknown_size(target: &Target, reply: Reply, most: u64, name: &str) -> Result<SourceRef> {
        let body = Paced::new(reply, target.client.options.timeout);
        let source = spool(body.take(most.saturating_add(1)), name, u64::MAX)?;
        if source.len() > most {
            return Err(Error::unsupported(format!(
                "the server of {name} sends neither parts of the file nor its size, which is more than {most} bytes"
            ))
            .setting("", Setting::Download));
        }
        Ok(source)
    }

    /// Reads on until `end` bytes are in the file.
    fn advance(&self, body: &mut Body, end: u64) -> Result<()> {
        let mut buffer = vec![0; STEP];
        persist(&self.fetcher.target, |brought| {
            let mut reader = match body.reader.take() {
                Some(reader) => reader,
                None => self.again(body.at)?,
            };
            while body.at < end {
                let n = match reader.read(&mut buffer) {
                    Ok(n) if n > 0 => n,
                    Ok(_) => return Err(self.broken("the answer ended too early")),
                    Err(error) => return Err(self.broken(&error.to_string())),
                };
                let bytes = buffer.get(..n).unwrap_or_default();
                (&self.file).write_all(bytes).map_err(|e| Failure::Final(Error::io("writing a temporary file", e)))?;
                *brought += n;
                body.at += n as u64;
                if let Some(watch) = &self.fetcher.target.client.options.watch {
                    watch(n as u64, Some(self.fetcher.size));
                }
            }
            body.reader = Some(reader).filter(|_| body.at < self.fetcher.size);
            Ok(())
        })
    }

    /// Requests the file again and skips the bytes that are there already, which must be the same.
    fn again(&self, at: u64) -> Result<Paced, Failure> {
        let target = &self.fetcher.target;
        let headers: Vec<(&str, &str)> = self.fetcher.version.condition().into_iter().collect();
        let reply = target.get(&headers)?;
        let (version, found) = (&self.fetcher.version, Version::of(&reply.headers));
        // If versions have no names, the bytes are compared.
        let is_other = reply.headers.length != Some(self.fetcher.size) || !(version.is_nameless() || version.agrees(&found));
        if reply.status == 412 || reply.status == 200 && is_other {
            return Err(self.fetcher.changed());
        }
        if reply.status != 200 {
            return Err(target.refused(reply));
        }
        let mut reader = Paced::new(reply, target.client.options.timeout);
        let (mut past, mut theirs, mut ours) = (0, vec![0; STEP], vec![0; STEP]);
        while past < at {
            let n = (at - past).min(STEP as u64) as usize;
            let n = match reader.read(theirs.get_mut(..n).unwrap_or_default()) {
                Ok(n) if n > 0 => n,
                Ok(_) => return Err(self.broken("the answer ended too early")),
                Err(error) => return Err(self.broken(&error.to_string())),
            };
            let kept = ours.get_mut(..n).unwrap_or_default();
            read_exact_at(&self.file, past, kept).map_err(|e| Failure::Final(Error::io("reading a temporary file", e)))?;
            if theirs.get(..n) != Some(&*kept) {
                return Err(self.fetcher.changed());
            }
            past += n as u64;
        }
        Ok(reader)
    }

    fn broken(&self, why: &str) -> Failure {
        Failure::Again(self.fetcher.target.error(why), None)
    }
}

impl Backing for WholeFile {
    fn version(&self) -> Option<String> {
        self.fetcher.version.text()
    }
}

impl Source for WholeFile {
    fn len(&self) -> u64 {
        self.fetcher.size
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<()> {
        let size = self.fetcher.size;
        let end = end_in_file(offset, into.len() as u64, size)?;
        let mut body = lock(&self.body);
        if end > body.at {
            if end > self.most && size > self.most {
                return Err(Error::unsupported(format!(
                    "the server of {} gives no parts of files, and this needs byte {offset} of its {size} bytes",
                    self.name
                ))
                .setting("", Setting::Download));
            }
            self.advance(&mut body, end)?;
        }
        drop(body);
        read_exact_at(&self.file, offset, into).map_err(|e| Error::io("reading a temporary file", e))
    }

    fn access(&self) -> Access {
        // A file up to the limit is kept completely in a local file.
        if self.fetcher.size > self.most { Access::SEQUENTIAL } else { Access::RANDOM }
    }

    fn backing(&self) -> Option<&dyn Backing> {
        Some(self)
    }

    fn pieces(&self) -> Option<&dyn SourcePieces> {
        Some(&Opaque("the server gives the file only as a whole"))
    }

    fn name(&self) -> &str {
        &self.name
    }
}
