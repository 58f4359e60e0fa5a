//! Requests: who may be asked, where a redirect may lead, and which answers are worth asking again.

use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use ureq::Agent;
use ureq::http::header::AUTHORIZATION;
use ureq::http::request::Parts;
use ureq::http::{HeaderValue, Method};
use ureq::unversioned::resolver::DefaultResolver;
use url::Url;

use super::address::{Address, display_url, is_public};
use super::agent::{FilteringResolver, ForbiddenAddress, Proxy, new_agent};
use super::bucket::Bucket;
use super::options::RemoteOptions;
use super::response::{Failure, Response, ResponseHeaders};
use super::store::{ServiceEndpoint, SignFn, Store};
use crate::error::{Error, ErrorKind, Result, SuggestedSetting};
use crate::threads::lock;

/// Maximum number of redirects that are followed.
const MAX_REDIRECTS: usize = 8;

/// The connections of a file and of those that it refers to.
#[derive(Debug)]
pub(super) struct Client {
    /// Agent for URLs that a person named. It connects to any IP address.
    user_agent: Agent,
    /// Agent for URLs that a file or a redirect names. It connects to public IP addresses, and to those found for a named host.
    reference_agent: Agent,
    pub(super) options: RemoteOptions,
    /// The bucket that a person named, for which credentials are meant.
    bucket: Option<Bucket>,
    stores: Mutex<Vec<(Bucket, Arc<Store>)>>,
    /// Requests that may still be begun, of all files together.
    free_slots: Mutex<usize>,
    slot_freed: Condvar,
}

/// Leave for a request, until it is over.
pub(super) struct RequestPermit<'c>(&'c Client);

impl Drop for RequestPermit<'_> {
    fn drop(&mut self) {
        *lock(&self.0.free_slots) += 1;
        self.0.slot_freed.notify_one();
    }
}

/// The origin of a URL: a person or a file.
#[derive(Debug, Clone)]
pub(super) enum UrlOrigin {
    /// A person, or the beginning of it by `--allow`.
    User,
    /// A file: it must be in the folder of this one.
    Reference(Address),
}

/// An address, and on whose word it is asked.
#[derive(Debug)]
pub(super) struct RemoteTarget {
    pub(super) client: Arc<Client>,
    pub(super) address: Address,
    pub(super) trust: UrlOrigin,
    /// Target of the last redirect: tried first the next time.
    redirected: Mutex<Option<Url>>,
    /// The work that the request does, for messages.
    operation: &'static str,
}

/// A request that is more than a GET of the object: what to do, and with which part of the service.
pub(super) struct RequestSpec<'a> {
    pub(super) method: Method,
    pub(super) place: ServiceEndpoint,
    /// Percent-encoded.
    pub(super) query: String,
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) body: &'a [u8],
}

impl<'a> RequestSpec<'a> {
    pub(super) fn new(method: Method, place: ServiceEndpoint) -> Self {
        Self { method, place, query: String::new(), headers: Vec::new(), body: &[] }
    }

    pub(super) fn with_query(mut self, query: impl Into<String>) -> Self {
        self.query = query.into();
        self
    }

    pub(super) fn with_header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    pub(super) fn with_body(mut self, body: &'a [u8]) -> Self {
        self.body = body;
        self
    }
}

impl Client {
    /// `bucket` is the one that a person named, if any.
    pub(super) fn new(options: RemoteOptions, bucket: Option<Bucket>) -> Result<Arc<Self>> {
        let met = Arc::new(Mutex::new(HashMap::new()));
        let named = new_agent(
            &options,
            Proxy::FromEnvironment,
            FilteringResolver { inner: DefaultResolver::default(), public_only: false, seen_addresses: met.clone() },
        )?;
        let wary = new_agent(
            &options,
            Proxy::None,
            FilteringResolver { inner: DefaultResolver::default(), public_only: true, seen_addresses: met },
        )?;
        let free = Mutex::new(options.in_flight.max(1));
        Ok(Arc::new(Self {
            user_agent: named,
            reference_agent: wary,
            options,
            bucket,
            stores: Mutex::default(),
            free_slots: free,
            slot_freed: Condvar::new(),
        }))
    }

    /// Waits until a request may be sent.
    pub(super) fn acquire_permit(&self) -> RequestPermit<'_> {
        let mut free = lock(&self.free_slots);
        while *free == 0 {
            free = self.slot_freed.wait(free).unwrap_or_else(PoisonError::into_inner);
        }
        *free -= 1;
        RequestPermit(self)
    }

    /// Returns Some if a prefix allows a URL: `true` if one of these names its host.
    pub(super) fn prefix_permission(&self, address: &Address) -> Option<bool> {
        let allowing = self.options.allowed.iter().filter(|prefix| prefix.allows(address));
        allowing.map(|prefix| prefix.names_host()).max()
    }

    /// The bucket and its access: with credentials if the user named it.
    fn open_store(&self, bucket: &Bucket) -> Result<Arc<Store>> {
        let mut stores = lock(&self.stores);
        if let Some((_, store)) = stores.iter().find(|(own, _)| own == bucket) {
            return Ok(store.clone());
        }
        let store = Store::new(bucket, &self.options, self.bucket.as_ref() == Some(bucket))?;
        stores.push((bucket.clone(), store.clone()));
        Ok(store)
    }

    /// The store of an object; `None` for files of the web.
    fn store_of(&self, address: &Address) -> Option<Arc<Store>> {
        match address {
            Address::Object { bucket, .. } => self.open_store(bucket).ok(),
            Address::Web(_) => None,
        }
    }
}

/// Returns `true` if an address is not public by its form.
fn is_private(url: &Url) -> bool {
    match url.host() {
        Some(url::Host::Ipv4(ip)) => !is_public(ip.into()),
        Some(url::Host::Ipv6(ip)) => !is_public(ip.into()),
        Some(url::Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        None => true,
    }
}

/// Returns a hint that allows a refused URL. A URL that is not public is not offered ready to paste, because a
/// server chose it.
fn allow_hint(to: &Url) -> String {
    match is_private(to) {
        true => "it is an address of this machine or of a private network; permit its host with --allow".to_owned(),
        false => format!("if you trust it, add --allow {}", display_url(to)),
    }
}

/// The value of `Authorization` for the name and password in a URL.
fn basic_authorization(url: &Url) -> Option<String> {
    if url.username().is_empty() && url.password().is_none() {
        return None;
    }
    let decoded = |text: &str| crate::bytes::percent_decode(text).unwrap_or_else(|| text.to_owned());
    let login = format!("{}:{}", decoded(url.username()), decoded(url.password().unwrap_or("")));
    Some(format!("Basic {}", crate::bytes::base64(login.as_bytes())))
}

impl RemoteTarget {
    pub(super) fn new(client: Arc<Client>, address: Address, trust: UrlOrigin) -> Self {
        Self { client, address, trust, redirected: Mutex::default(), operation: "reading" }
    }

    /// An object or a bucket that a person named, and what is done with it: `writing`, `listing`.
    pub(super) fn of_object(address: Address, options: &RemoteOptions, doing: &'static str) -> Result<Self> {
        let bucket = match &address {
            Address::Object { bucket, .. } => Some(bucket.clone()),
            Address::Web(_) => None,
        };
        Ok(Self { operation: doing, ..Self::new(Client::new(options.clone(), bucket)?, address, UrlOrigin::User) })
    }

    /// Sends a request of another kind, and gives back whatever answer came. It follows no redirect.
    pub(super) fn send_call(&self, call: &RequestSpec<'_>) -> Result<Response, Failure> {
        let Address::Object { bucket, key } = &self.address else {
            return Err(Failure::Permanent(Error::unsupported(format!("{} is not in an object store", self.address.display()))));
        };
        let store = self.client.open_store(bucket).map_err(Failure::Permanent)?;
        let asked = store.send_authorized(&|finish| {
            let mut url = store.build_request_url(call.place, key).map_err(Failure::Permanent)?;
            if !call.query.is_empty() {
                url.set_query(Some(&call.query));
            }
            self.send_call_to_url(&url, Some(finish), call)
        });
        asked.map_err(|failure| self.with_operation(failure))
    }

    /// A failure with what was to be done.
    fn with_operation(&self, failure: Failure) -> Failure {
        let doing = |error: Error| error.context(format!("{} {}", self.operation, self.address.display()));
        match failure {
            Failure::NoCredentials(problem) => Failure::Permanent(self.network_error(problem)),
            Failure::Retryable(error, wait) => Failure::Retryable(doing(error), wait),
            Failure::Permanent(error) => Failure::Permanent(doing(error)),
        }
    }

    /// Returns the URL of a part of the service.
    pub(super) fn service_url(&self, place: ServiceEndpoint) -> Result<Url> {
        match &self.address {
            Address::Object { bucket, key } => self.client.open_store(bucket)?.build_request_url(place, key),
            Address::Web(url) => Ok(url.clone()),
        }
    }

    /// Sends a request to a URL that the service gave for it, which needs no signature.
    pub(super) fn send_to(&self, url: &Url, call: &RequestSpec<'_>) -> Result<Response, Failure> {
        self.send_call_to_url(url, None, call).map_err(|failure| self.with_operation(failure))
    }

    fn send_call_to_url(&self, url: &Url, finish: Option<&SignFn<'_>>, call: &RequestSpec<'_>) -> Result<Response, Failure> {
        let headers: Vec<(&str, &str)> = call.headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        send_http_request(&self.client.user_agent, url, finish, &call.method, &headers, call.body)
    }

    /// Returns the identity of this file for a cache of bytes: with the query, and with the service that holds a
    /// bucket. Do not show it.
    pub(super) fn cache_identity(&self) -> String {
        match &self.address {
            Address::Object { bucket, key } => {
                let url = self.client.open_store(bucket).and_then(|store| store.build_object_url(key));
                url.map_or_else(|_| self.address.display(), String::from)
            }
            Address::Web(url) => format!("{} {} {}", url.scheme(), url.username(), &url[url::Position::BeforeHost..]),
        }
    }

    /// A warning about how the file is read, once.
    pub(super) fn notice(&self) -> Option<String> {
        self.client.store_of(&self.address)?.take_bucket_warning()
    }

    /// Sends a GET with these headers, follows redirects, and gives back whatever answer is not an error.
    pub(super) fn get(&self, headers: &[(&str, &str)]) -> Result<Response, Failure> {
        let moved = lock(&self.redirected).clone();
        if let Some(url) = moved {
            match self.follow_redirects(url, None, headers) {
                // Redirect targets are often valid for a limited time: these statuses lead back to the first URL.
                Ok(reply) if !matches!(reply.status, 400 | 401 | 403 | 404 | 410) => return Ok(reply),
                Err(failure @ Failure::Retryable(..)) => return Err(failure),
                _ => *lock(&self.redirected) = None,
            }
        }
        match &self.address {
            Address::Web(url) => {
                let mut url = url.clone();
                let login = basic_authorization(&url);
                let _ = (url.set_username(""), url.set_password(None));
                let finish = |head: &mut Parts| {
                    let value = login.as_deref().and_then(|login| HeaderValue::from_str(login).ok());
                    value.map(|value| head.headers.insert(AUTHORIZATION, value));
                    Ok(())
                };
                self.follow_redirects(url, Some(&finish), headers)
            }
            Address::Object { bucket, key } => {
                let store = self.client.open_store(bucket).map_err(Failure::Permanent)?;
                // The region, and with it the address, may change from one try to the next.
                let asked = store.send_authorized(&|finish| {
                    self.follow_redirects(store.build_object_url(key).map_err(Failure::Permanent)?, Some(finish), headers)
                });
                asked.map_err(|failure| match failure {
                    Failure::NoCredentials(problem) => Failure::Permanent(self.network_error(problem)),
                    failure => failure,
                })
            }
        }
    }

    fn follow_redirects(
        &self,
        mut url: Url,
        mut login: Option<&SignFn<'_>>,
        headers: &[(&str, &str)],
    ) -> Result<Response, Failure> {
        let start = url.clone();
        let mut agent = self.select_agent();
        for _ in 0..MAX_REDIRECTS {
            let reply = send_http_request(agent, &url, login, &Method::GET, headers, &[])?;
            let elsewhere = matches!(reply.status, 301 | 302 | 303 | 307 | 308);
            // S3 sends the region instead of a URL.
            let Some(location) = reply.headers.location.as_deref().filter(|_| elsewhere && reply.headers.region.is_none()) else {
                if url != start && reply.status < 300 {
                    *lock(&self.redirected) = Some(url);
                }
                return Ok(reply);
            };
            let next = url.join(location).map_err(|_| Failure::Permanent(self.network_error("a redirect has no URL")))?;
            agent = self.select_redirect_agent(agent, &url, &next).map_err(Failure::Permanent)?;
            // A signature for one object is not valid for another.
            if next.origin() != url.origin() || matches!(self.address, Address::Object { .. }) {
                login = None;
            }
            url = next;
            let _ = (url.set_username(""), url.set_password(None));
        }
        Err(Failure::Permanent(self.network_error("redirects lead to redirects without an end")))
    }

    fn select_agent(&self) -> &Agent {
        match &self.trust {
            UrlOrigin::User => &self.client.user_agent,
            // The proxy, which a person named as well, is where the addresses are looked up.
            UrlOrigin::Reference(_) if self.client.user_agent.config().proxy().is_some() => &self.client.user_agent,
            UrlOrigin::Reference(_) => &self.client.reference_agent,
        }
    }

    /// Returns the agent that may follow a redirect, if any may.
    fn select_redirect_agent<'a>(&'a self, agent: &'a Agent, from: &Url, to: &Url) -> Result<&'a Agent> {
        let refused = |why: &str| {
            Error::limit(format!("{} redirects to {}, which {why}", self.address.display(), display_url(to))).hint(allow_hint(to))
        };
        if !matches!(to.scheme(), "http" | "https") {
            return Err(refused("is not an http or https URL"));
        }
        if from.scheme() == "https" && to.scheme() == "http" {
            return Err(refused("is not encrypted, but the first URL is"));
        }
        let address = Address::Web(to.clone());
        match self.client.prefix_permission(&address) {
            Some(true) => return Ok(&self.client.user_agent),
            Some(false) => return Ok(&self.client.reference_agent),
            None => {}
        }
        let same = from.origin() == to.origin();
        match &self.trust {
            UrlOrigin::User if same => Ok(agent),
            UrlOrigin::User => Ok(&self.client.reference_agent),
            UrlOrigin::Reference(root @ Address::Web(_)) if address.is_in_folder_of(root) => Ok(agent),
            UrlOrigin::Reference(Address::Object { .. }) if same && from.path() == to.path() => Ok(agent),
            UrlOrigin::Reference(_) => Err(refused("is outside the folder of the file that refers to it")),
        }
    }

    /// An error of the network or the server, with the address.
    pub(super) fn network_error(&self, message: impl Into<String>) -> Error {
        Error::new(ErrorKind::Io, message).context(format!("{} {}", self.operation, self.address.display()))
    }

    /// Interprets an answer that is not a success.
    pub(super) fn status_failure(&self, mut reply: Response) -> Failure {
        let (status, wait) = (reply.status, reply.headers.retry_after);
        let name = ureq::http::StatusCode::from_u16(status).ok().and_then(|code| code.canonical_reason()).unwrap_or("");
        let store = self.client.store_of(&self.address);
        let code = store.as_ref().and_then(|_| reply.error_code());
        let code = code.map(|code| format!(": {code}")).unwrap_or_default();
        let error = self.network_error(format!("the server answered {status} {name}{code}"));
        match (status, store) {
            (408 | 425 | 429 | 500 | 502..=504, _) => Failure::Retryable(error, wait),
            (400 | 401 | 403, Some(store)) if store.is_signed() => Failure::Permanent(error),
            (401 | 403 | 404 | 409, Some(store)) if status < 404 || store.hides_existence() => {
                Failure::Permanent(match store.credentials_problem() {
                    Some(problem) => error.hint(format!("the request was not signed: {problem}")),
                    None => error.hint(store.credentials_hint()),
                })
            }
            _ => Failure::Permanent(error),
        }
    }
}

fn send_http_request(
    agent: &Agent,
    url: &Url,
    login: Option<&SignFn<'_>>,
    method: &Method,
    headers: &[(&str, &str)],
    body: &[u8],
) -> Result<Response, Failure> {
    let mut request = ureq::http::Request::builder().method(method.clone()).uri(url.as_str());
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let carries = matches!(*method, Method::PUT | Method::POST);
    if carries {
        // Signatures cover it.
        request = request.header("content-length", body.len());
    }
    let request = request.body(()).map_err(|error| classify_transfer_error(error.into(), url))?;
    let (mut head, ()) = request.into_parts();
    if let Some(login) = login {
        login(&mut head)?;
    }
    let sent = match carries {
        true => agent.run(ureq::http::Request::from_parts(head, body)),
        false => agent.run(ureq::http::Request::from_parts(head, ())),
    };
    match sent {
        Ok(response) => {
            let headers = ResponseHeaders::from_response(&response);
            Ok(Response::new(response.status().as_u16(), headers, response.into_body().into_reader()))
        }
        Err(error) => Err(classify_transfer_error(error, url)),
    }
}

/// Returns the reason of a failed transfer, and whether it may succeed the next time.
fn classify_transfer_error(error: ureq::Error, url: &Url) -> Failure {
    let host = url.host_str().unwrap_or("");
    let said = |message: String| Error::new(ErrorKind::Io, message).context(format!("asking {host}"));
    match error {
        ureq::Error::Other(other) => match other.downcast::<ForbiddenAddress>() {
            Ok(refused) => {
                let error = Error::limit(format!("{host} is at {}, an address that is not public", refused.0));
                // A URL that is not public by its form is not offered ready to paste, because a server or a file chose it.
                Failure::Permanent(match is_private(url) {
                    true => error.hint(allow_hint(url)),
                    false => error.setting("if you trust it", SuggestedSetting::Allow(display_url(url).to_string())),
                })
            }
            Err(other) => Failure::Permanent(said(other.to_string())),
        },
        ureq::Error::Tls(_) | ureq::Error::Rustls(_) | ureq::Error::Pem(_) | ureq::Error::BadUri(_) | ureq::Error::Http(_) => {
            Failure::Permanent(said(error.to_string()))
        }
        ureq::Error::Io(inner) if inner.get_ref().is_some_and(|e| e.to_string().contains("certificate")) => {
            Failure::Permanent(said(inner.to_string()).hint("a file of further roots can be named in SSL_CERT_FILE"))
        }
        // An unreachable resolver may answer the next time; one without such a name will not.
        ureq::Error::Io(inner) if inner.to_string().contains("lookup") => match inner.to_string().contains("emporary") {
            true => Failure::Retryable(said(inner.to_string()), None),
            false => Failure::Permanent(said(format!("there is no such host ({inner})"))),
        },
        ureq::Error::Timeout(_) => Failure::Retryable(said("no answer in time".to_owned()), None),
        ureq::Error::HostNotFound => Failure::Permanent(said("there is no such host".to_owned())),
        other => Failure::Retryable(said(other.to_string()), None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn basic_login_encoding_matches_rfc_7617() {
        let login = basic_authorization(&Url::parse("https://Aladdin:open%20sesame@host.example/").unwrap());
        assert_eq!(login.as_deref(), Some("Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="));
        assert_eq!(basic_authorization(&Url::parse("https://host.example/").unwrap()), None);
    }

    fn target(allow: &[&str], trust: UrlOrigin) -> RemoteTarget {
        let mut options = RemoteOptions::default();
        allow.iter().for_each(|prefix| options.allow(prefix).unwrap());
        let address = Address::parse("https://data.example/a/x.asdf").unwrap();
        RemoteTarget::new(Client::new(options, None).unwrap(), address, trust)
    }

    #[test]
    fn redirect_is_checked_like_reference() {
        let from = Url::parse("https://data.example/a/x.asdf").unwrap();
        let led = |target: &RemoteTarget, to: &str| {
            target.select_redirect_agent(target.select_agent(), &from, &Url::parse(to).unwrap()).map(|_| ())
        };
        let named = target(&[], UrlOrigin::User);
        assert!(led(&named, "https://data.example/b/x").is_ok());
        assert!(led(&named, "https://other.example/x").is_ok(), "by the wary connections");
        assert!(led(&named, "http://data.example/a/x.asdf").is_err(), "not encrypted any more");
        assert!(led(&named, "file:///etc/passwd").is_err());
        let beside = UrlOrigin::Reference(Address::parse("https://data.example/a/main.asdf").unwrap());
        let reference = target(&["https://ok.example/d/"], beside);
        assert!(led(&reference, "https://data.example/a/b/x").is_ok());
        assert!(led(&reference, "https://ok.example/d/x").is_ok());
        for bad in ["https://data.example/b/x", "https://other.example/a/x", "https://ok.example/e/x"] {
            assert_eq!(led(&reference, bad).unwrap_err().kind(), ErrorKind::Limit, "{bad}");
        }
    }
}
