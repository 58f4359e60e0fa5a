//! Answers to requests, and the reasons why there is none.

use std::time::Duration;

use ureq::BodyReader;

use crate::error::Error;

/// An answer whose body was not read.
pub(super) struct Response {
    pub(super) status: u16,
    pub(super) headers: ResponseHeaders,
    pub(super) body: BodyReader<'static>,
}

/// The headers of an answer that matter here.
#[derive(Debug, Default, Clone)]
pub(super) struct ResponseHeaders {
    pub(super) range: Option<String>,
    pub(super) length: Option<u64>,
    pub(super) etag: Option<String>,
    pub(super) modified: Option<String>,
    pub(super) content_type: Option<String>,
    pub(super) encoding: Option<String>,
    pub(super) retry_after: Option<Duration>,
    pub(super) location: Option<String>,
    pub(super) region: Option<String>,
    /// The number of a version of an object of Google Cloud.
    pub(super) generation: Option<String>,
    /// The bytes of an upload that the service has.
    pub(super) stored_encoding: Option<String>,
    /// The mark that the writer of an object left in its metadata.
    pub(super) written_by: Option<String>,
}

impl Response {
    /// An answer that was never given.
    pub(super) fn empty() -> Self {
        let body = ureq::Body::builder().data(Vec::new()).into_reader();
        Self { status: 0, headers: ResponseHeaders::default(), body }
    }
}

/// The reason why a request failed, and whether it is worth repeating.
#[derive(Debug)]
pub(super) enum Failure {
    /// The request may be repeated, after this time if the server gives one.
    Retryable(Error, Option<Duration>),
    /// The request failed for good. Repeating it does not help.
    Permanent(Error),
    /// There are no credentials to sign it with, for this reason. It never leaves the module of the store.
    NoCredentials(String),
}

impl ResponseHeaders {
    pub(super) fn from_response<T>(response: &ureq::http::Response<T>) -> Self {
        let header = |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
        Self {
            range: header("content-range"),
            length: header("content-length").and_then(|text| text.trim().parse().ok()),
            etag: header("etag"),
            modified: header("last-modified"),
            content_type: header("content-type"),
            encoding: header("content-encoding").filter(|name| !name.eq_ignore_ascii_case("identity")),
            retry_after: header("retry-after").and_then(|text| text.trim().parse().ok()).map(Duration::from_secs),
            location: header("location"),
            region: header("x-amz-bucket-region"),
            generation: header("x-goog-generation"),
            stored_encoding: header("range"),
            written_by: header("x-amz-meta-trilithupload").or_else(|| header("x-ms-meta-trilithupload")),
        }
    }
}
