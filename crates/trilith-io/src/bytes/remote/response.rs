//! Answers to requests, and the reasons why there is none.

use std::io::Read;
use std::time::{Duration, SystemTime};

use ureq::BodyReader;

use crate::error::Error;

/// An answer whose body was not read.
pub(super) struct Response {
    pub(super) status: u16,
    pub(super) headers: ResponseHeaders,
    pub(super) body: BodyReader<'static>,
    /// The code in the error document of an object store, after it was read.
    error_code: Option<String>,
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
        Self::new(0, ResponseHeaders::default(), body)
    }

    pub(super) fn new(status: u16, headers: ResponseHeaders, body: BodyReader<'static>) -> Self {
        Self { status, headers, body, error_code: None }
    }

    /// Reads the code in the error document of an object store, which takes the body.
    pub(super) fn error_code(&mut self) -> Option<&str> {
        if self.error_code.is_none() {
            let mut text = Vec::new();
            let _ = self.body.by_ref().take(4096).read_to_end(&mut text);
            let text = String::from_utf8_lossy(&text);
            let code = text.split_once("<Code>").and_then(|(_, rest)| rest.split_once("</Code>")).map(|(code, _)| code);
            let code = code.filter(|code| code.len() < 64 && code.bytes().all(|b| b.is_ascii_alphanumeric()));
            self.error_code = Some(code.unwrap_or_default().to_owned());
        }
        self.error_code.as_deref().filter(|code| !code.is_empty())
    }

    /// Returns `true` if the answer says that the credentials are not valid any more. S3 answers a HEAD with a status alone.
    pub(super) fn has_expired_credentials(&mut self) -> bool {
        match (self.status, self.error_code()) {
            (401, _) | (400, None) => true,
            (_, Some(code)) => matches!(code, "ExpiredToken" | "TokenRefreshRequired" | "InvalidToken" | "RequestExpired"),
            (_, None) => false,
        }
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
            retry_after: header("retry-after").and_then(|text| parse_retry_after(&text, header("date").as_deref())),
            location: header("location"),
            region: header("x-amz-bucket-region"),
            generation: header("x-goog-generation"),
            stored_encoding: header("range"),
            written_by: header("x-amz-meta-trilithupload").or_else(|| header("x-ms-meta-trilithupload")),
        }
    }
}

/// Returns the time of `Retry-After`: seconds, or a date (RFC 9110, section 10.2.3), which counts from the date of the answer,
/// because the clocks of both machines may differ.
pub(super) fn parse_retry_after(text: &str, date: Option<&str>) -> Option<Duration> {
    let text = text.trim();
    if !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()) {
        return Some(Duration::from_secs(text.parse().unwrap_or(u64::MAX)));
    }
    let parse = |text: &str| httpdate::parse_http_date(text.trim()).ok();
    let answered = date.and_then(parse).unwrap_or_else(SystemTime::now);
    Some(parse(text)?.duration_since(answered).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retry_after_takes_seconds_and_dates() {
        let answered = Some("Sun, 06 Nov 1994 08:49:30 GMT");
        for (text, seconds) in [
            ("7", Some(7)),
            (" 120 ", Some(120)),
            ("99999999999999999999999", Some(u64::MAX)),
            ("Sun, 06 Nov 1994 08:49:37 GMT", Some(7)),
            ("Sunday, 06-Nov-94 08:49:37 GMT", Some(7)),
            ("Sun Nov  6 08:49:37 1994", Some(7)),
            ("Sun, 06 Nov 1994 08:49:00 GMT", Some(0)),
            ("soon", None),
            ("-1", None),
            ("", None),
        ] {
            assert_eq!(parse_retry_after(text, answered), seconds.map(Duration::from_secs), "{text}");
        }
        let later = httpdate::fmt_http_date(SystemTime::now() + Duration::from_secs(100));
        let wait = parse_retry_after(&later, None).unwrap_or_default();
        assert!((98..=100).contains(&wait.as_secs()), "{wait:?}");
    }
}
