//! Objects that are written: each appears whole, by one conditional request, or not at all.
//!
//! The content waits in a temporary file until it is complete. A small object is one request. A large one goes up in parts,
//! which are not visible until the last request names them; Google Cloud takes the bytes of one session. The condition is that
//! there is still no such object, or still the one that was seen when the work began. So another writer's object is never
//! replaced unseen.

use std::fs::File;
use std::ops::Range;
use std::sync::Mutex;

use sha2::{Digest, Sha256};
use ureq::http::Method;
use url::Url;

use super::address::Address;
use super::bucket::{Service, encoded_key};
use super::client::{Call, Target};
use super::fetch::persist;
use super::list::texts;
use super::options::RemoteOptions;
use super::response::{Failure, Reply};
use super::store::Place;
use crate::bytes::{base64, new_id, read_exact_at, to_usize};
use crate::error::{Error, ErrorKind, Result, Setting};
use crate::suggest::hex;
use crate::threads::{lock, side_by_side};

/// Maximum size of an object that is uploaded in one request.
const SINGLE: u64 = 32 << 20;
/// Maximum number of parts of an upload, which all services accept.
const PARTS: u64 = 10_000;
/// Number of parts under way at the same time, each of which is in memory.
const AT_ONCE: usize = 4;
/// Maximum number of bytes of an answer that is read.
const ANSWER: u64 = 1 << 20;

/// An object that is being written.
#[derive(Debug)]
pub(in crate::bytes) struct Upload {
    target: Target,
    service: Service,
    condition: Condition,
    /// The mark in the metadata by which a lost answer is told from another writer's object.
    id: String,
}

/// The state of the object that the upload depends on.
#[derive(Debug)]
enum Condition {
    /// The object must not exist.
    Absent,
    /// The object must still be this version.
    Same { etag: Option<String>, generation: Option<String> },
    /// The state cannot be seen with these credentials, and whatever is there is to be replaced.
    Any,
}

impl Upload {
    /// Looks at the object that will be written. It must not exist, unless the options allow to replace it; then it must
    /// stay the same until the upload ends. `version` is that of the same object, if the new content is made from it.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Unsupported`] for a URL of a web server, [`ErrorKind::InvalidInput`] if the object exists, and
    /// [`ErrorKind::Io`] if the service refuses the request or the object changed.
    pub(in crate::bytes) fn begin(url: &str, options: &RemoteOptions, replace: bool, version: Option<&str>) -> Result<Self> {
        let address = Address::parse(url)?;
        let Address::Object { bucket, .. } = &address else {
            let message = format!("cannot write {}: Trilith writes to object stores, not to web servers", address.shown());
            return Err(
                Error::unsupported(message).hint("write a local file and upload it, or use the s3://, gs:// or az:// URL")
            );
        };
        let service = bucket.service;
        let id = hex(&new_id());
        let mut upload =
            Self { target: Target::of_object(address, options, "writing")?, service, condition: Condition::Absent, id };
        upload.condition = match upload.look()? {
            Seen::Nothing => Condition::Absent,
            Seen::Unknown if replace => Condition::Any,
            Seen::Unknown => Condition::Absent,
            Seen::Object(_) if !replace => return Err(upload.exists()),
            Seen::Object(reply) if version.is_some_and(|version| reply.headers.etag.as_deref() != Some(version)) => {
                return Err(upload.changed());
            }
            Seen::Object(reply) => Condition::Same { etag: reply.headers.etag, generation: reply.headers.generation },
        };
        Ok(upload)
    }

    /// Returns the URL for messages.
    pub(in crate::bytes) fn shown(&self) -> String {
        self.target.address.shown()
    }

    /// Sends the content. When this returns, the object is there as a whole.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`] if another writer made the object meanwhile, and [`ErrorKind::Io`] if the service
    /// refuses the upload or does not answer. The object is then what it was.
    pub(in crate::bytes) fn commit(&self, file: &File) -> Result<()> {
        let len = file.metadata().map_err(spooled)?.len();
        match self.service {
            Service::Google => self.session(file, len),
            Service::S3 | Service::Azure if len <= SINGLE.min(self.target.client.options.part.saturating_mul(2)) => {
                self.single(&self.piece(file, 0..len)?)
            }
            Service::S3 => self.parts(file, len),
            Service::Azure => self.blocks(file, len),
        }
    }

    fn look(&self) -> Result<Seen> {
        let mut seen = Seen::Unknown;
        persist(&self.target, |_| {
            let reply = self.target.call(&self.head())?;
            seen = match reply.status {
                200..=299 | 416 => Seen::Object(Box::new(reply)),
                404 => Seen::Nothing,
                // S3 says so of an absent object to those who may not list the bucket.
                401 | 403 => Seen::Unknown,
                _ => return Err(self.target.refused(reply)),
            };
            Ok(())
        })?;
        Ok(seen)
    }

    /// The request for the state of the object.
    fn head(&self) -> Call<'static> {
        match self.service {
            // A refusal of Google Cloud says why in its body.
            Service::Google => Call::new(Method::GET, Place::Object).header("range", "bytes=0-0"),
            Service::S3 | Service::Azure => Call::new(Method::HEAD, Place::Object),
        }
    }

    /// Adds the condition under which the object may be put in place.
    fn conditional<'a>(&self, call: Call<'a>) -> Call<'a> {
        match &self.condition {
            Condition::Absent => call.header("if-none-match", "*"),
            Condition::Same { etag: Some(etag), .. } => call.header("if-match", etag),
            Condition::Same { etag: None, .. } | Condition::Any => call,
        }
    }

    fn marked<'a>(&self, call: Call<'a>) -> Call<'a> {
        match self.service {
            Service::S3 => call.header("x-amz-meta-trilithupload", &self.id),
            Service::Azure => call.header("x-ms-meta-trilithupload", &self.id),
            Service::Google => call,
        }
    }

    /// A request with a body, whose digest S3 compares.
    fn with_body<'a>(&self, call: Call<'a>, body: &'a [u8]) -> Call<'a> {
        let call = call.header("content-type", "application/octet-stream").body(body);
        match self.service {
            Service::S3 => call.header("x-amz-content-sha256", hex(&Sha256::digest(body))),
            Service::Google | Service::Azure => call,
        }
    }

    fn single(&self, body: &[u8]) -> Result<()> {
        let call = self.conditional(self.marked(self.with_body(Call::new(Method::PUT, Place::Object), body)));
        let call = if self.service == Service::Azure { call.header("x-ms-blob-type", "BlockBlob") } else { call };
        self.last(&call)
    }

    /// The request that puts the object in place.
    fn last(&self, call: &Call<'_>) -> Result<()> {
        persist(&self.target, |_| {
            let reply = self.target.call(call)?;
            match (reply.status, self.service) {
                (200..=299, _) => self.completed(reply),
                // A writer at the same moment; the next try is told who was first.
                (409, Service::S3) if call.method == Method::PUT => {
                    Err(Failure::Again(self.changed(), reply.headers.retry_after))
                }
                // The existing object may be ours, because the response to an earlier attempt may have been lost.
                (412, _) | (409, Service::S3 | Service::Azure) => self.own_or(|| self.conflict()),
                (404, Service::S3) if call.method == Method::POST => self.own_or(|| self.given_up()),
                _ => Err(self.target.refused(reply)),
            }
        })
    }

    /// S3 answers to the last request of several parts before it knows the outcome.
    fn completed(&self, mut reply: Reply) -> Result<(), Failure> {
        let text = answer(&mut reply);
        match text.contains("<Error>") {
            true => {
                let code = texts(&text, "Error/Code").pop().unwrap_or_default();
                Err(Failure::Again(self.target.error(format!("the server answered {code}")), None))
            }
            false => Ok(()),
        }
    }

    fn own_or(&self, error: impl Fn() -> Error) -> Result<(), Failure> {
        let reply = self.target.call(&self.head())?;
        match reply.headers.writer.as_deref() {
            Some(id) if id == self.id => Ok(()),
            _ => Err(Failure::Final(error())),
        }
    }

    /// An object of S3 in parts.
    fn parts(&self, file: &File, len: u64) -> Result<()> {
        let begin = self.marked(self.with_body(Call::new(Method::POST, Place::Object).query("uploads="), &[]));
        let text = self.answered(&begin)?;
        let id = texts(&text, "InitiateMultipartUploadResult/UploadId").pop();
        let id = id.ok_or_else(|| self.target.error("the server did not begin an upload in parts"))?;
        let upload = format!("uploadId={}", encoded_key(&id).replace('/', "%2F"));
        let done = self.sent_in_parts(file, len, &upload).and_then(|tags| {
            let list: String =
                (1..).zip(&tags).map(|(n, tag)| format!("<Part><PartNumber>{n}</PartNumber><ETag>{tag}</ETag></Part>")).collect();
            let body = format!("<CompleteMultipartUpload>{list}</CompleteMultipartUpload>");
            let call = Call::new(Method::POST, Place::Object).query(upload.as_str());
            self.last(&self.conditional(self.with_body(call, body.as_bytes())))
        });
        if done.is_err() {
            // Parts of an upload that never ends cost money.
            let _ = self.target.call(&Call::new(Method::DELETE, Place::Object).query(upload.as_str()));
        }
        done
    }

    fn sent_in_parts(&self, file: &File, len: u64, upload: &str) -> Result<Vec<String>> {
        let tags = Mutex::new(Vec::new());
        self.each_part(len, |n, range| {
            let body = self.piece(file, range)?;
            let call =
                self.with_body(Call::new(Method::PUT, Place::Object).query(format!("partNumber={}&{upload}", n + 1)), &body);
            let reply = self.accepted(&call)?;
            let tag = reply.headers.etag.ok_or_else(|| self.target.error("the server names no version of a part"))?;
            lock(&tags).push((n, tag.replace('&', "&amp;").replace('<', "&lt;")));
            Ok(())
        })?;
        let mut tags = tags.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        tags.sort_unstable();
        Ok(tags.into_iter().map(|(_, tag)| tag).collect())
    }

    /// An object of Azure in blocks. Those that no list names vanish after a week.
    fn blocks(&self, file: &File, len: u64) -> Result<()> {
        // Two writers may send blocks at once: each has separate names, all of one length.
        let name = |n: u64| base64(format!("{}-{n:06}", self.id).as_bytes());
        self.each_part(len, |n, range| {
            let body = self.piece(file, range)?;
            let id = encoded_key(&name(n)).replace('/', "%2F");
            let call = Call::new(Method::PUT, Place::Object).query(format!("comp=block&blockid={id}"));
            self.accepted(&self.with_body(call, &body)).map(drop)
        })?;
        let list: String = (0..self.cut(len).1).map(|n| format!("<Latest>{}</Latest>", name(n))).collect();
        let body = format!("<?xml version=\"1.0\" encoding=\"utf-8\"?><BlockList>{list}</BlockList>");
        let call = Call::new(Method::PUT, Place::Object).query("comp=blocklist");
        self.last(&self.conditional(self.marked(self.with_body(call, body.as_bytes()))))
    }

    /// An object of Google Cloud, in one session that goes on where it was interrupted.
    fn session(&self, file: &File, len: u64) -> Result<()> {
        let url = self.session_url(len)?;
        let (mut at, mut is_sure) = (0, true);
        let done = persist(&self.target, |brought| {
            loop {
                if !is_sure {
                    let call = self.with_body(Call::new(Method::PUT, Place::Object), &[]);
                    let reply = self.target.send_to(&url, &call.header("content-range", format!("bytes */{len}")))?;
                    match self.taken(reply, 0)? {
                        Some(next) => at = next,
                        None => return Ok(()),
                    }
                }
                is_sure = false;
                let end = len.min(at.saturating_add(self.target.client.options.part));
                let body = self.piece(file, at..end).map_err(Failure::Final)?;
                let range = if len == 0 { "bytes */0".to_owned() } else { format!("bytes {at}-{}/{len}", end.saturating_sub(1)) };
                let call = self.with_body(Call::new(Method::PUT, Place::Object), &body).header("content-range", range);
                let reply = self.target.send_to(&url, &call)?;
                match self.taken(reply, at)? {
                    Some(next) => {
                        *brought += to_usize(next.saturating_sub(at)).unwrap_or(0);
                        (at, is_sure) = (next, true);
                    }
                    None => return Ok(()),
                }
            }
        });
        if done.is_err() {
            let _ = self.target.send_to(&url, &Call::new(Method::DELETE, Place::Object));
        }
        done
    }

    /// Begins a session. Its URL is as good as a password, and no message shows it.
    fn session_url(&self, len: u64) -> Result<Url> {
        let Address::Object { key, .. } = &self.target.address else { return Err(self.given_up()) };
        let condition = match &self.condition {
            Condition::Absent => "&ifGenerationMatch=0".to_owned(),
            Condition::Same { generation: Some(number), .. } if number.bytes().all(|b| b.is_ascii_digit()) => {
                format!("&ifGenerationMatch={number}")
            }
            Condition::Same { .. } | Condition::Any => String::new(),
        };
        let query = format!("uploadType=resumable&name={}{condition}", encoded_key(key).replace('/', "%2F"));
        let call = Call::new(Method::POST, Place::Uploads).query(query).body(b"{}").header("content-type", "application/json");
        let call = call.header("x-upload-content-length", len.to_string());
        let mut found = None;
        persist(&self.target, |_| {
            let reply = self.target.call(&call)?;
            match reply.status {
                200..=299 => found = reply.headers.location.as_deref().and_then(|text| Url::parse(text).ok()),
                412 => return Err(Failure::Final(self.conflict())),
                _ => return Err(self.target.refused(reply)),
            }
            Ok(())
        })?;
        let home = self.target.url(Place::Uploads)?;
        // The content goes to the service that was asked, whatever its answer says.
        let found = found.filter(|url| url.origin() == home.origin());
        found.ok_or_else(|| self.target.error("the server did not begin an upload"))
    }

    /// Returns the number of bytes that a session has, or None if the object is in place.
    fn taken(&self, reply: Reply, before: u64) -> Result<Option<u64>, Failure> {
        match reply.status {
            200 | 201 => Ok(None),
            308 => {
                let end = reply.headers.stored.as_deref().and_then(|range| range.rsplit('-').next()?.parse::<u64>().ok());
                let next = end.map_or(0, |end| end.saturating_add(1));
                if next < before {
                    Err(Failure::Again(self.target.error("the server lost a part of the upload"), None))
                } else {
                    Ok(Some(next))
                }
            }
            412 => Err(Failure::Final(self.conflict())),
            404 | 410 => Err(Failure::Final(self.given_up())),
            _ => Err(self.target.refused(reply)),
        }
    }

    /// The length of each part, and how many there are.
    fn cut(&self, len: u64) -> (u64, u64) {
        let part = self.target.client.options.part.max(len.div_ceil(PARTS).next_multiple_of(1 << 20));
        (part, len.div_ceil(part))
    }

    fn each_part(&self, len: u64, work: impl Fn(u64, Range<u64>) -> Result<()> + Sync) -> Result<()> {
        let (part, count) = self.cut(len);
        let at_once = self.target.client.options.in_flight.min(AT_ONCE);
        side_by_side((0..count).collect(), at_once, |n| {
            crate::interrupt::check()?;
            work(n, n * part..len.min((n + 1) * part))
        })
    }

    fn piece(&self, file: &File, range: Range<u64>) -> Result<Vec<u8>> {
        let mut bytes = vec![0; to_usize(range.end.saturating_sub(range.start))?];
        read_exact_at(file, range.start, &mut bytes).map_err(spooled)?;
        Ok(bytes)
    }

    /// Sends a request that changes nothing which others see, as often as it takes.
    fn accepted(&self, call: &Call<'_>) -> Result<Reply> {
        let mut accepted = Reply::nothing();
        persist(&self.target, |_| {
            let reply = self.target.call(call)?;
            match reply.status {
                200..=299 => accepted = reply,
                404 if call.query.contains("uploadId=") => return Err(Failure::Final(self.given_up())),
                _ => return Err(self.target.refused(reply)),
            }
            Ok(())
        })?;
        Ok(accepted)
    }

    fn answered(&self, call: &Call<'_>) -> Result<String> {
        self.accepted(call).map(|mut reply| answer(&mut reply))
    }

    #[cold]
    fn exists(&self) -> Error {
        Error::invalid_input(format!("{} already exists", self.shown())).setting("", Setting::Overwrite)
    }

    /// The error if the condition does not hold any more.
    #[cold]
    fn conflict(&self) -> Error {
        if matches!(self.condition, Condition::Absent) { self.exists() } else { self.changed() }
    }

    #[cold]
    fn changed(&self) -> Error {
        Error::new(ErrorKind::Io, format!("{} was changed by another writer", self.shown()))
            .hint("nothing was written; try again")
    }

    #[cold]
    fn given_up(&self) -> Error {
        self.target.error("the server gave the upload up").hint("nothing was written; try again")
    }
}

/// The state of an object.
enum Seen {
    Nothing,
    Object(Box<Reply>),
    Unknown,
}

fn answer(reply: &mut Reply) -> String {
    use std::io::Read;
    let mut text = Vec::new();
    let _ = reply.body.by_ref().take(ANSWER).read_to_end(&mut text);
    String::from_utf8_lossy(&text).into_owned()
}

fn spooled(error: std::io::Error) -> Error {
    Error::io("reading a temporary file", error)
}
