//! A small server for the user's browser: localhost only, a secret in the URL, nothing to write.
//!
//! [`ServedSite::route_request`] decides the answer to a request, and [`run`] implements HTTP. [`trilith_view::requests`] answers
//! questions about the files on a few separate threads, so that one slow file does not keep the others waiting. A
//! client that disconnects sets a flag that ends the work on the answer.

mod connections;

use std::convert::Infallible;
use std::future::poll_fn;
use std::net::TcpListener;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::service::service_fn;
use hyper::{Method, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use trilith::{Error, Result};
use trilith_io::suggest::hex;
use trilith_view::assets;
use trilith_view::requests::{ViewerRequest, ViewerResponse, ViewerSession, respond};

use self::connections::{ConnectionGuard, ConnectionPool};

/// Maximum time for a request to arrive, and for a connection without data.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum time for an answer.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(600);

/// Content security policy of our pages: load from this server, and from nowhere else.
const CSP: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; connect-src 'self'; \
     base-uri 'none'; form-action 'none'";

/// The served files, and the URL.
pub(crate) struct ServedSite {
    session: ViewerSession,
    secret: String,
    port: u16,
    /// `true` if other pages that know the URL may show this one in a frame.
    embedded: bool,
}

/// The answer to a request.
#[derive(Debug)]
pub(crate) enum Route {
    /// A file of the page: what it is, and its content.
    Asset(&'static str, &'static [u8]),
    /// An answer about the files.
    Request(ViewerRequest),
    /// A refusal: a status and the reason.
    Rejected(StatusCode, &'static str),
}

impl ServedSite {
    /// A site at this port of this machine.
    pub(crate) fn new(session: ViewerSession, secret: String, port: u16) -> Self {
        Self { session, secret, port, embedded: false }
    }

    /// Sets whether other pages that know the URL, such as a notebook, may show the page in a frame.
    #[must_use]
    pub(crate) fn with_embedding(self, embedded: bool) -> Self {
        Self { embedded, ..self }
    }

    /// The address of the page.
    pub(crate) fn page_address(&self) -> String {
        format!("http://127.0.0.1:{}/{}/", self.port, self.secret)
    }

    /// Returns the answer to a request.
    pub(crate) fn route_request(&self, method: &Method, path: &str, query: &str, headers: &HeaderMap) -> Route {
        let refused = Route::Rejected;
        // A page elsewhere could use another name of this machine to bypass the same-origin policy of the browser.
        if !header_text(headers, header::HOST).is_some_and(|host| self.is_local_host(host)) {
            return refused(StatusCode::FORBIDDEN, "this server answers to 127.0.0.1 and localhost alone");
        }
        let origin = header_text(headers, header::ORIGIN);
        let is_own_origin =
            origin.is_none_or(|origin| origin.strip_prefix("http://").is_some_and(|host| self.is_local_host(host)));
        let site = header_text(headers, header::HeaderName::from_static("sec-fetch-site"));
        // A page in a frame sends its own requests; another page requests the frame itself.
        let is_frame = header_text(headers, header::HeaderName::from_static("sec-fetch-dest")) == Some("iframe");
        let is_embedding = self.embedded && is_frame && origin.is_none();
        if !is_own_origin || !is_embedding && site.is_some_and(|site| !matches!(site, "same-origin" | "none")) {
            return refused(StatusCode::FORBIDDEN, "a page of another site asks");
        }
        if method != Method::GET && method != Method::HEAD {
            return refused(StatusCode::METHOD_NOT_ALLOWED, "this server only gives: GET and HEAD");
        }
        let (secret, rest) = path.trim_start_matches('/').split_once('/').unwrap_or(("", ""));
        if !constant_time_eq(secret, &self.secret) {
            return refused(
                StatusCode::NOT_FOUND,
                "no such page; use the whole URL that `trilith view` printed, with its secret",
            );
        }
        if let Some(name) = rest.strip_prefix("api/") {
            return Route::Request(ViewerRequest::new(name, query));
        }
        match assets::asset(if rest.is_empty() { "index.html" } else { rest }) {
            Some((content_type, content)) => Route::Asset(content_type, content),
            None => refused(StatusCode::NOT_FOUND, "no such page"),
        }
    }

    /// Returns `true` if a browser on this machine uses this name for the server.
    fn is_local_host(&self, host: &str) -> bool {
        let port = format!(":{}", self.port);
        host.strip_suffix(&port).is_some_and(|name| matches!(name, "127.0.0.1" | "localhost" | "[::1]"))
    }
}

fn header_text(headers: &HeaderMap, name: header::HeaderName) -> Option<&str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?;
    // A value that is not text, and two values, are not ours: an empty name fits nothing.
    Some(value.to_str().ok().filter(|_| values.next().is_none()).unwrap_or(""))
}

/// Returns `true` if two strings are the same, in a time that does not depend on the place of a difference.
fn constant_time_eq(given: &str, secret: &str) -> bool {
    let differ = given.bytes().zip(secret.bytes()).fold(0, |all, (a, b)| all | (a ^ b));
    given.len() == secret.len() && differ == 0
}

/// Returns a secret that cannot be guessed: 128 random bits.
pub(crate) fn generate_secret() -> Result<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| Error::unsupported(format!("the system gives no random numbers: {error}")))?;
    Ok(hex(&bytes))
}

/// Serves until the process ends.
pub(crate) fn run(listener: TcpListener, site: ServedSite) -> Result<()> {
    let embedded = site.embedded;
    let fail = |error| Error::io("serving the page", error);
    listener.set_nonblocking(true).map_err(fail)?;
    let workers = trilith_io::threads::threads().clamp(4, 16);
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().max_blocking_threads(workers + 1).build().map_err(fail)?;
    let served = async {
        let served = tokio::spawn(accept_loop(listener, Arc::new(site)));
        if !embedded {
            return served.await.unwrap_or(Ok(()));
        }
        // A page that shows this one in a frame holds the other end, and may end without a word.
        let ended = tokio::task::spawn_blocking(|| std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink()));
        let _ = ended.await;
        Ok(())
    };
    let done = runtime.block_on(served).map_err(fail);
    runtime.shutdown_background();
    done
}

/// Content security policy that also forbids other pages to show ours in a frame.
const CSP_NO_FRAMES: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; connect-src 'self'; \
     base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

async fn accept_loop(listener: TcpListener, site: Arc<ServedSite>) -> std::io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let room = ConnectionPool::default();
    loop {
        // A connection that fails, or too many open files for a moment, does not end the server.
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let (site, guest) = (site.clone(), Arc::new(room.acquire().await));
        tokio::spawn(async move {
            let own = guest.clone();
            let service = service_fn(move |request| respond_to_request(site.clone(), own.clone(), request));
            let mut http = hyper::server::conn::http1::Builder::new();
            http.timer(TokioTimer::new()).header_read_timeout(REQUEST_TIMEOUT).max_buf_size(64 << 10);
            let mut served = pin!(http.serve_connection(TokioIo::new(stream), service));
            let mut away = pin!(guest.evicted());
            poll_fn(|context| match away.as_mut().poll(context).is_ready() || served.as_mut().poll(context).is_ready() {
                true => Poll::Ready(()),
                false => Poll::Pending,
            })
            .await;
        });
    }
}

/// Sets the flag when the answer is no longer waited for.
struct CancelOnDrop(Arc<AtomicBool>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

async fn respond_to_request(
    site: Arc<ServedSite>,
    guest: Arc<ConnectionGuard>,
    request: hyper::Request<Incoming>,
) -> Result<hyper::Response<Full<Bytes>>, Infallible> {
    let own = site.clone();
    let uri = request.uri();
    let route = site.route_request(request.method(), uri.path(), uri.query().unwrap_or(""), request.headers());
    let _served = (!matches!(route, Route::Rejected(..))).then(|| guest.begin_request());
    let (status, content_type, body) = match route {
        Route::Asset(content_type, content) => (StatusCode::OK, content_type, Bytes::from_static(content)),
        Route::Rejected(status, reason) => (status, "text/plain; charset=utf-8", Bytes::from_static(reason.as_bytes())),
        Route::Request(asked) => {
            let waiting = CancelOnDrop(Arc::default());
            let asked = asked.cancelled_by(waiting.0.clone());
            let work = tokio::task::spawn_blocking(move || respond(&site.session, &asked));
            let said = match tokio::time::timeout(RESPONSE_TIMEOUT, work).await {
                Ok(Ok(said)) => said,
                Ok(Err(_)) => {
                    ViewerResponse::error(&Error::unsupported("internal error while handling the request; please report it"))
                }
                Err(_) => ViewerResponse::error(&Error::unsupported("the answer took longer than ten minutes, and was given up")),
            };
            drop(waiting);
            (StatusCode::from_u16(said.status).unwrap_or(StatusCode::BAD_REQUEST), said.content_type, Bytes::from(said.body))
        }
    };
    let mut response = hyper::Response::new(Full::new(body));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    let policy = if own.embedded { HeaderValue::from_static(CSP) } else { HeaderValue::from_static(CSP_NO_FRAMES) };
    headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    if !own.embedded {
        headers.insert(header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    }
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    for (name, value) in [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-store"),
        (header::HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        (header::HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    Ok(response)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site() -> ServedSite {
        ServedSite::new(ViewerSession::new(|_| Err(Error::invalid_input("nothing"))), "s3cret".to_owned(), 4000)
    }

    fn status(method: &str, path: &str, headers: &[(&'static str, &str)]) -> u16 {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, HeaderValue::from_str(value).unwrap());
        }
        match site().route_request(&Method::from_bytes(method.as_bytes()).unwrap(), path, "", &map) {
            Route::Rejected(status, _) => status.as_u16(),
            _ => 200,
        }
    }

    const HERE: (&str, &str) = ("host", "127.0.0.1:4000");

    #[test]
    fn foreign_host_header_is_forbidden() {
        for host in ["127.0.0.1:4000", "localhost:4000", "[::1]:4000"] {
            assert_eq!(status("GET", "/s3cret/", &[("host", host)]), 200, "{host}");
        }
        for host in ["", "127.0.0.1", "127.0.0.1:4001", "evil.example:4000", "127.0.0.1.evil.example:4000", "localhost:4000:4000"]
        {
            assert_eq!(status("GET", "/s3cret/", &[("host", host)]), 403, "{host}");
        }
        assert_eq!(status("GET", "/s3cret/", &[]), 403, "no name at all");
        assert_eq!(status("GET", "/s3cret/", &[HERE, HERE]), 403, "two names");
        assert_eq!(status("GET", "/s3cret/", &[HERE, ("host", "evil.example:4000")]), 403, "two names");
    }

    #[test]
    fn pages_of_other_sites_are_refused() {
        for origin in ["http://127.0.0.1:4000", "http://localhost:4000"] {
            assert_eq!(status("GET", "/s3cret/api/files", &[HERE, ("origin", origin)]), 200, "{origin}");
        }
        for origin in ["null", "", "https://127.0.0.1:4000", "http://evil.example", "http://127.0.0.1:4001"] {
            assert_eq!(status("GET", "/s3cret/api/files", &[HERE, ("origin", origin)]), 403, "{origin}");
        }
        for (site, expected) in [("same-origin", 200), ("none", 200), ("cross-site", 403), ("same-site", 403), ("x", 403)] {
            assert_eq!(status("GET", "/s3cret/", &[HERE, ("sec-fetch-site", site)]), expected, "{site}");
        }
    }

    #[test]
    fn cross_site_frame_requires_embedding_and_secret() {
        let asked = |site: ServedSite, dest: &str, path: &str| {
            let mut map = HeaderMap::new();
            map.insert("host", HeaderValue::from_static("127.0.0.1:4000"));
            map.insert("sec-fetch-site", HeaderValue::from_static("cross-site"));
            map.insert("sec-fetch-dest", HeaderValue::from_str(dest).unwrap());
            !matches!(site.route_request(&Method::GET, path, "", &map), Route::Rejected(..))
        };
        assert!(asked(site().with_embedding(true), "iframe", "/s3cret/"));
        assert!(!asked(site().with_embedding(true), "empty", "/s3cret/api/files"), "what another page fetches is refused");
        assert!(!asked(site().with_embedding(true), "iframe", "/other/"), "the secret is needed");
        assert!(!asked(site(), "iframe", "/s3cret/"));
    }

    #[test]
    fn wrong_secret_and_other_methods_are_refused() {
        for path in ["/", "", "/s3cret", "/S3CRET/", "/s3cre/", "/s3crett/", "//s3cre/", "/index.html", "/api/files"] {
            assert_eq!(status("GET", path, &[HERE]), 404, "{path}");
        }
        assert_eq!(status("HEAD", "/s3cret/", &[HERE]), 200);
        for method in ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "BREW"] {
            assert_eq!(status(method, "/s3cret/api/files", &[HERE]), 405, "{method}");
        }
        for path in ["/s3cret/../../etc/passwd", "/s3cret/%2e%2e/x", "/s3cret/main.js/", "/s3cret/ "] {
            assert_eq!(status("GET", path, &[HERE]), 404, "{path}");
        }
    }
}
