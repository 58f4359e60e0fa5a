//! Objects that are written: each appears whole, by one conditional request, or not at all.
//!
//! The content waits in a temporary file until it is complete. A small object is one request. A large one goes up in parts,
//! which are not visible until the last request names them; Google Cloud takes the bytes of one session. The condition is that
//! there is still no such object, or still the one that was seen when the work began. So another writer's object is never
//! replaced unseen.

use std::fs::File;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use sha2::{Digest, Sha256};
use ureq::http::Method;
use url::Url;

use super::address::Address;
use super::bucket::{ObjectService, encoded_key, split_version};
use super::client::{RemoteTarget, RequestSpec};
use super::fetch::retry_loop;
use super::list::collect_element_texts;
use super::options::RemoteOptions;
use super::pending_upload::{AbortFn, PendingUpload};
use super::response::{Failure, Response, ResponseHeaders};
use super::store::ServiceEndpoint;
use crate::bytes::{base64, new_id, read_exact_at, to_usize};
use crate::error::{Error, ErrorKind, Result, SuggestedSetting};
use crate::suggest::hex;
use crate::threads::{for_each_concurrent, lock};

/// Maximum size of an object that is uploaded in one request.
const MAX_SINGLE_PUT: u64 = 32 << 20;
/// Maximum number of parts of an upload, which all services accept.
const MAX_PARTS: u64 = 10_000;
/// Number of parts under way at the same time, each of which is in memory.
const MAX_CONCURRENT_PARTS: usize = 4;
/// Maximum number of bytes of an answer that is read.
const MAX_RESPONSE_LEN: u64 = 1 << 20;

/// An object that is being written.
#[derive(Debug)]
pub(in crate::bytes) struct Upload {
    target: Arc<RemoteTarget>,
    service: ObjectService,
    condition: Precondition,
    /// The mark in the metadata by which a lost answer is told from another writer's object.
    id: String,
}

/// The state of the object that the upload depends on.
#[derive(Debug)]
enum Precondition {
    /// The object must not exist.
    IfNoneMatch,
    /// The object must still be this version.
    IfMatch { etag: Option<String>, generation: Option<String> },
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
    pub(in crate::bytes) fn start_upload(
        url: &str,
        options: &RemoteOptions,
        replace: bool,
        version: Option<&str>,
    ) -> Result<Self> {
        let address = Address::parse(url)?;
        let Address::Object { bucket, .. } = &address else {
            let message = format!("cannot write {}: Trilith writes to object stores, not to web servers", address.display());
            return Err(
                Error::unsupported(message).hint("write a local file and upload it, or use the s3://, gs:// or az:// URL")
            );
        };
        let service = bucket.service;
        if let Address::Object { key, .. } = &address
            && service == ObjectService::S3
            && split_version(key).1.is_some()
        {
            let message = format!("cannot write {}: a version of an object does not change", address.display());
            return Err(Error::invalid_input(message).hint("write to the URL without ?versionId="));
        }
        let id = hex(&new_id());
        let mut upload = Self {
            target: Arc::new(RemoteTarget::of_object(address, options, "writing")?),
            service,
            condition: Precondition::IfNoneMatch,
            id,
        };
        upload.condition = match upload.head_object()? {
            ExistingObject::Nothing => Precondition::IfNoneMatch,
            ExistingObject::Unknown if replace => Precondition::Any,
            ExistingObject::Unknown => Precondition::IfNoneMatch,
            ExistingObject::Object(_) if !replace => return Err(upload.already_exists_error()),
            ExistingObject::Object(reply) if version.is_some_and(|version| reply.headers.etag.as_deref() != Some(version)) => {
                return Err(upload.changed_error());
            }
            ExistingObject::Object(reply) => {
                Precondition::IfMatch { etag: reply.headers.etag, generation: reply.headers.generation }
            }
        };
        Ok(upload)
    }

    /// Returns the URL for messages.
    pub(in crate::bytes) fn display_url(&self) -> String {
        self.target.address.display()
    }

    /// Sends the content. When this returns, the object is there as a whole.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`] if another writer made the object meanwhile, and [`ErrorKind::Io`] if the service
    /// refuses the upload or does not answer. The object is then what it was.
    pub(in crate::bytes) fn commit(&self, file: &File) -> Result<()> {
        let len = file.metadata().map_err(to_temporary_file_error)?.len();
        match self.service {
            ObjectService::Google => self.upload_google_session(file, len),
            ObjectService::S3 | ObjectService::Azure
                if len <= MAX_SINGLE_PUT.min(self.target.client.options.part.saturating_mul(2)) =>
            {
                self.put_object(&self.read_part(file, 0..len)?)
            }
            ObjectService::S3 => self.upload_parts(file, len),
            ObjectService::Azure => self.upload_azure_blocks(file, len),
        }
    }

    fn head_object(&self) -> Result<ExistingObject> {
        let mut seen = ExistingObject::Unknown;
        retry_loop(&self.target, |_| {
            let reply = self.target.send_call(&self.build_state_request())?;
            seen = match reply.status {
                200..=299 | 416 => ExistingObject::Object(Box::new(reply)),
                404 => ExistingObject::Nothing,
                // S3 says so of an absent object to those who may not list the bucket.
                401 | 403 => ExistingObject::Unknown,
                _ => return Err(self.target.status_failure(reply)),
            };
            Ok(())
        })?;
        Ok(seen)
    }

    /// The request for the state of the object.
    fn build_state_request(&self) -> RequestSpec<'static> {
        match self.service {
            // A refusal of Google Cloud says why in its body.
            ObjectService::Google => RequestSpec::new(Method::GET, ServiceEndpoint::Object).with_header("range", "bytes=0-0"),
            ObjectService::S3 | ObjectService::Azure => RequestSpec::new(Method::HEAD, ServiceEndpoint::Object),
        }
    }

    /// Adds the condition under which the object may be put in place.
    fn add_condition_header<'a>(&self, call: RequestSpec<'a>) -> RequestSpec<'a> {
        match &self.condition {
            Precondition::IfNoneMatch => call.with_header("if-none-match", "*"),
            Precondition::IfMatch { etag: Some(etag), .. } => call.with_header("if-match", etag),
            Precondition::IfMatch { etag: None, .. } | Precondition::Any => call,
        }
    }

    fn with_precondition<'a>(&self, call: RequestSpec<'a>) -> RequestSpec<'a> {
        match self.service {
            ObjectService::S3 => call.with_header("x-amz-meta-trilithupload", &self.id),
            ObjectService::Azure => call.with_header("x-ms-meta-trilithupload", &self.id),
            ObjectService::Google => call,
        }
    }

    /// A request with a body, whose digest S3 compares.
    fn with_body<'a>(&self, call: RequestSpec<'a>, body: &'a [u8]) -> RequestSpec<'a> {
        let call = call.with_header("content-type", "application/octet-stream").with_body(body);
        match self.service {
            ObjectService::S3 => call.with_header("x-amz-content-sha256", hex(&Sha256::digest(body))),
            ObjectService::Google | ObjectService::Azure => call,
        }
    }

    fn put_object(&self, body: &[u8]) -> Result<()> {
        let call = self.add_condition_header(
            self.with_precondition(self.with_body(RequestSpec::new(Method::PUT, ServiceEndpoint::Object), body)),
        );
        let call = if self.service == ObjectService::Azure { call.with_header("x-ms-blob-type", "BlockBlob") } else { call };
        self.send_final(&call).map(drop)
    }

    /// Sends the request that puts the object in place. Returns the version that the answer names, if it names one.
    fn send_final(&self, call: &RequestSpec<'_>) -> Result<Option<String>> {
        let mut version = None;
        retry_loop(&self.target, |_| {
            let reply = self.target.send_call(call)?;
            match (reply.status, self.service) {
                (200..=299, _) => {
                    version = self.check_complete(reply)?;
                    Ok(())
                }
                // A writer at the same moment; the next try is told who was first.
                (409, ObjectService::S3) if call.method == Method::PUT => {
                    Err(Failure::Retryable(self.changed_error(), reply.headers.retry_after))
                }
                // The existing object may be ours, because the response to an earlier attempt may have been lost.
                (412, _) | (409, ObjectService::S3 | ObjectService::Azure) => self.own_upload_or(|| self.conflict_error()),
                (404, ObjectService::S3) if call.method == Method::POST => self.own_upload_or(|| self.aborted_error()),
                _ => Err(self.target.status_failure(reply)),
            }
        })?;
        Ok(version)
    }

    /// S3 answers to the last request of several parts before it knows the outcome.
    fn check_complete(&self, mut reply: Response) -> Result<Option<String>, Failure> {
        let text = error_text(&mut reply);
        match text.contains("<Error>") {
            true => {
                let code = collect_element_texts(&text, "Error/Code").pop().unwrap_or_default();
                Err(Failure::Retryable(self.target.network_error(format!("the server answered {code}")), None))
            }
            false => Ok(collect_element_texts(&text, "CompleteMultipartUploadResult/ETag").pop().or(reply.headers.etag)),
        }
    }

    fn own_upload_or(&self, error: impl Fn() -> Error) -> Result<(), Failure> {
        let reply = self.target.send_call(&self.build_state_request())?;
        match reply.headers.written_by.as_deref() {
            Some(id) if id == self.id => Ok(()),
            _ => Err(Failure::Permanent(error())),
        }
    }

    /// An object of S3 in parts.
    fn upload_parts(&self, file: &File, len: u64) -> Result<()> {
        let begin = self.with_precondition(
            self.with_body(RequestSpec::new(Method::POST, ServiceEndpoint::Object).with_query("uploads="), &[]),
        );
        let (upload, pending) = PendingUpload::start(|| {
            let text = self.send_expecting_text(&begin)?;
            let id = collect_element_texts(&text, "InitiateMultipartUploadResult/UploadId").pop();
            let id = id.ok_or_else(|| self.target.network_error("the server did not begin an upload in parts"))?;
            let upload = format!("uploadId={}", encoded_key(&id).replace('/', "%2F"));
            let (target, query) = (self.target.clone(), upload.clone());
            let abort = move || {
                target
                    .send_call(&RequestSpec::new(Method::DELETE, ServiceEndpoint::Object).with_query(query.as_str()))
                    .is_ok_and(|reply| is_given_up(&reply))
            };
            Ok((upload, self.display_url(), Box::new(abort) as AbortFn))
        })?;
        let done = self.sent_in_parts(file, len, &upload).and_then(|tags| {
            // Until here the upload can be given up.
            crate::interrupt::check()?;
            self.check_unchanged()?;
            let list: String =
                (1..).zip(&tags).map(|(n, tag)| format!("<Part><PartNumber>{n}</PartNumber><ETag>{tag}</ETag></Part>")).collect();
            let body = format!("<CompleteMultipartUpload>{list}</CompleteMultipartUpload>");
            let call = RequestSpec::new(Method::POST, ServiceEndpoint::Object).with_query(upload.as_str());
            self.send_final(&self.add_condition_header(self.with_body(call, body.as_bytes())))
        });
        if done.is_err() {
            // Parts of an upload that never ends cost money.
            pending.abort();
        }
        let version = done?;
        drop(pending);
        self.check_result(version.as_deref())
    }

    /// Compares the object with the condition once more, for services that ignore the condition of the last request of several parts.
    fn check_unchanged(&self) -> Result<()> {
        let is_changed = match (self.head_object()?, &self.condition) {
            (ExistingObject::Unknown, _) | (_, Precondition::Any) => false,
            (ExistingObject::Nothing, condition) => matches!(condition, Precondition::IfMatch { .. }),
            (ExistingObject::Object(reply), Precondition::IfMatch { etag, .. }) => reply.headers.etag != *etag,
            (ExistingObject::Object(_), Precondition::IfNoneMatch) => true,
        };
        if is_changed { Err(self.conflict_error()) } else { Ok(()) }
    }

    /// Checks that the object is this upload, and not that of a writer who ended at the same moment. `version` is that of the upload.
    fn check_result(&self, version: Option<&str>) -> Result<()> {
        let is_other = |headers: &ResponseHeaders| match (&headers.written_by, &headers.etag, version) {
            (Some(id), ..) => *id != self.id,
            (None, Some(found), Some(version)) => found.trim_matches('"') != version.trim_matches('"'),
            (None, ..) => false,
        };
        match self.head_object()? {
            ExistingObject::Object(reply) if is_other(&reply.headers) => {
                let message = format!("{} was replaced by another writer during this upload", self.display_url());
                Err(Error::new(ErrorKind::Io, message)
                    .hint("the object has the content of the other writer, because the service ignores conditional writes"))
            }
            ExistingObject::Nothing => {
                Err(Error::new(ErrorKind::Io, format!("{} was removed after this upload", self.display_url())))
            }
            ExistingObject::Object(_) | ExistingObject::Unknown => Ok(()),
        }
    }

    fn sent_in_parts(&self, file: &File, len: u64, upload: &str) -> Result<Vec<String>> {
        let tags = Mutex::new(Vec::new());
        self.each_part(len, |n, range| {
            let body = self.read_part(file, range)?;
            let call = self.with_body(
                RequestSpec::new(Method::PUT, ServiceEndpoint::Object).with_query(format!("partNumber={}&{upload}", n + 1)),
                &body,
            );
            let reply = self.send_until_accepted(&call)?;
            let tag = reply.headers.etag.ok_or_else(|| self.target.network_error("the server names no version of a part"))?;
            lock(&tags).push((n, tag.replace('&', "&amp;").replace('<', "&lt;")));
            Ok(())
        })?;
        let mut tags = tags.into_inner().unwrap_or_else(PoisonError::into_inner);
        tags.sort_unstable();
        Ok(tags.into_iter().map(|(_, tag)| tag).collect())
    }

    /// An object of Azure in blocks. Those that no list names vanish after a week.
    fn upload_azure_blocks(&self, file: &File, len: u64) -> Result<()> {
        // Two writers may send blocks at once: each has separate names, all of one length.
        let name = |n: u64| base64(format!("{}-{n:06}", self.id).as_bytes());
        self.each_part(len, |n, range| {
            let body = self.read_part(file, range)?;
            let id = encoded_key(&name(n)).replace('/', "%2F");
            let call = RequestSpec::new(Method::PUT, ServiceEndpoint::Object).with_query(format!("comp=block&blockid={id}"));
            self.send_until_accepted(&self.with_body(call, &body)).map(drop)
        })?;
        let list: String = (0..self.part_size(len).1).map(|n| format!("<Latest>{}</Latest>", name(n))).collect();
        let body = format!("<?xml version=\"1.0\" encoding=\"utf-8\"?><BlockList>{list}</BlockList>");
        let call = RequestSpec::new(Method::PUT, ServiceEndpoint::Object).with_query("comp=blocklist");
        self.send_final(&self.add_condition_header(self.with_precondition(self.with_body(call, body.as_bytes())))).map(drop)
    }

    /// An object of Google Cloud, in one session that goes on where it was interrupted.
    fn upload_google_session(&self, file: &File, len: u64) -> Result<()> {
        let (url, pending) = PendingUpload::start(|| {
            let url = self.session_url(len)?;
            let (target, session) = (self.target.clone(), url.clone());
            let abort = move || {
                target
                    .send_to(&session, &RequestSpec::new(Method::DELETE, ServiceEndpoint::Object))
                    .is_ok_and(|reply| is_given_up(&reply))
            };
            Ok((url, self.display_url(), Box::new(abort) as AbortFn))
        })?;
        let (mut at, mut is_sure) = (0, true);
        let done = retry_loop(&self.target, |brought| {
            loop {
                if !is_sure {
                    let call = self.with_body(RequestSpec::new(Method::PUT, ServiceEndpoint::Object), &[]);
                    let reply = self.target.send_to(&url, &call.with_header("content-range", format!("bytes */{len}")))?;
                    match self.accepted_bytes(reply, 0)? {
                        Some(next) => at = next,
                        None => return Ok(()),
                    }
                }
                crate::interrupt::check().map_err(Failure::Permanent)?;
                is_sure = false;
                let end = len.min(at.saturating_add(self.target.client.options.part));
                let body = self.read_part(file, at..end).map_err(Failure::Permanent)?;
                let range = if len == 0 { "bytes */0".to_owned() } else { format!("bytes {at}-{}/{len}", end.saturating_sub(1)) };
                let call = self
                    .with_body(RequestSpec::new(Method::PUT, ServiceEndpoint::Object), &body)
                    .with_header("content-range", range);
                let reply = self.target.send_to(&url, &call)?;
                match self.accepted_bytes(reply, at)? {
                    Some(next) => {
                        *brought += to_usize(next.saturating_sub(at)).unwrap_or(0);
                        (at, is_sure) = (next, true);
                    }
                    None => return Ok(()),
                }
            }
        });
        if done.is_err() {
            pending.abort();
        }
        done
    }

    /// Begins a session. Its URL is as good as a password, and no message shows it.
    fn session_url(&self, len: u64) -> Result<Url> {
        let Address::Object { key, .. } = &self.target.address else { return Err(self.aborted_error()) };
        let condition = match &self.condition {
            Precondition::IfNoneMatch => "&ifGenerationMatch=0".to_owned(),
            Precondition::IfMatch { generation: Some(number), .. } if number.bytes().all(|b| b.is_ascii_digit()) => {
                format!("&ifGenerationMatch={number}")
            }
            Precondition::IfMatch { .. } | Precondition::Any => String::new(),
        };
        let query = format!("uploadType=resumable&name={}{condition}", encoded_key(key).replace('/', "%2F"));
        let call = RequestSpec::new(Method::POST, ServiceEndpoint::Uploads)
            .with_query(query)
            .with_body(b"{}")
            .with_header("content-type", "application/json");
        let call = call.with_header("x-upload-content-length", len.to_string());
        let mut found = None;
        retry_loop(&self.target, |_| {
            let reply = self.target.send_call(&call)?;
            match reply.status {
                200..=299 => found = reply.headers.location.as_deref().and_then(|text| Url::parse(text).ok()),
                412 => return Err(Failure::Permanent(self.conflict_error())),
                _ => return Err(self.target.status_failure(reply)),
            }
            Ok(())
        })?;
        let home = self.target.service_url(ServiceEndpoint::Uploads)?;
        // The content goes to the service that was asked, whatever its answer says.
        let found = found.filter(|url| url.origin() == home.origin());
        found.ok_or_else(|| self.target.network_error("the server did not begin an upload"))
    }

    /// Returns the number of bytes that a session has, or None if the object is in place.
    fn accepted_bytes(&self, reply: Response, before: u64) -> Result<Option<u64>, Failure> {
        match reply.status {
            200 | 201 => Ok(None),
            308 => {
                let end =
                    reply.headers.stored_encoding.as_deref().and_then(|range| range.rsplit('-').next()?.parse::<u64>().ok());
                let next = end.map_or(0, |end| end.saturating_add(1));
                if next < before {
                    Err(Failure::Retryable(self.target.network_error("the server lost a part of the upload"), None))
                } else {
                    Ok(Some(next))
                }
            }
            412 => Err(Failure::Permanent(self.conflict_error())),
            404 | 410 => Err(Failure::Permanent(self.aborted_error())),
            _ => Err(self.target.status_failure(reply)),
        }
    }

    /// The length of each part, and how many there are.
    fn part_size(&self, len: u64) -> (u64, u64) {
        let part = self.target.client.options.part.max(len.div_ceil(MAX_PARTS).next_multiple_of(1 << 20));
        (part, len.div_ceil(part))
    }

    fn each_part(&self, len: u64, work: impl Fn(u64, Range<u64>) -> Result<()> + Sync) -> Result<()> {
        let (part, count) = self.part_size(len);
        let at_once = self.target.client.options.in_flight.min(MAX_CONCURRENT_PARTS);
        for_each_concurrent((0..count).collect(), at_once, |n| {
            crate::interrupt::check()?;
            work(n, n * part..len.min((n + 1) * part))
        })
    }

    fn read_part(&self, file: &File, range: Range<u64>) -> Result<Vec<u8>> {
        let mut bytes = vec![0; to_usize(range.end.saturating_sub(range.start))?];
        read_exact_at(file, range.start, &mut bytes).map_err(to_temporary_file_error)?;
        Ok(bytes)
    }

    /// Sends a request that changes nothing which others see, as often as it takes.
    fn send_until_accepted(&self, call: &RequestSpec<'_>) -> Result<Response> {
        let mut accepted = Response::empty();
        retry_loop(&self.target, |_| {
            let reply = self.target.send_call(call)?;
            match reply.status {
                200..=299 => accepted = reply,
                404 if call.query.contains("uploadId=") => return Err(Failure::Permanent(self.aborted_error())),
                _ => return Err(self.target.status_failure(reply)),
            }
            Ok(())
        })?;
        Ok(accepted)
    }

    fn send_expecting_text(&self, call: &RequestSpec<'_>) -> Result<String> {
        self.send_until_accepted(call).map(|mut reply| error_text(&mut reply))
    }

    #[cold]
    fn already_exists_error(&self) -> Error {
        Error::invalid_input(format!("{} already exists", self.display_url())).setting("", SuggestedSetting::Overwrite)
    }

    /// The error if the condition does not hold any more.
    #[cold]
    fn conflict_error(&self) -> Error {
        if matches!(self.condition, Precondition::IfNoneMatch) { self.already_exists_error() } else { self.changed_error() }
    }

    #[cold]
    fn changed_error(&self) -> Error {
        Error::new(ErrorKind::Io, format!("{} was changed by another writer", self.display_url()))
            .hint("nothing was written; try again")
    }

    #[cold]
    fn aborted_error(&self) -> Error {
        self.target.network_error("the server gave the upload up").hint("nothing was written; try again")
    }
}

/// The state of an object.
enum ExistingObject {
    Nothing,
    Object(Box<Response>),
    Unknown,
}

/// Returns `true` if the answer to a request to give an upload up says that there is none any more. Google Cloud answers 499.
fn is_given_up(reply: &Response) -> bool {
    matches!(reply.status, 200..=299 | 404 | 410 | 499)
}

fn error_text(reply: &mut Response) -> String {
    use std::io::Read;
    let mut text = Vec::new();
    let _ = reply.body.by_ref().take(MAX_RESPONSE_LEN).read_to_end(&mut text);
    String::from_utf8_lossy(&text).into_owned()
}

fn to_temporary_file_error(error: std::io::Error) -> Error {
    Error::io("reading a temporary file", error)
}
