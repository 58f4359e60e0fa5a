//! A bucket and its access: endpoint, region, signer, and whether it is read with credentials.
//!
//! Buckets and credentials are shared by all files of a process that are opened with the same options and environment, so
//! that what one request learned holds for all.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Instant;

use sha2::{Digest, Sha256};
use url::Url;

use super::agent::{new_credentials_agent, new_metadata_agent};
use super::bucket::{Bucket, ObjectService, blob_host, encoded_key, split_version};
use super::credential_context::{self, EnvVars};
use super::credentials::{self, AzureAccount, CredentialSigner, CredentialSources};
use super::options::RemoteOptions;
use super::profile::AwsProfiles;
use super::response::{Failure, Response};
use crate::bytes::shown_path;
use crate::error::{Error, ErrorKind, Result, SuggestedSetting};
use crate::threads::lock;

/// The version of the interface of Azure that requests speak.
const AZURE_VERSION: &str = "2021-12-02";
/// SHA-256 of nothing, which is what a GET carries.
const EMPTY_SHA256: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
/// Maximum number of cached buckets, and of cached credentials.
const MAX_CACHED_STORES: usize = 256;

/// A bucket and the credentials for it.
pub(super) struct Store {
    bucket: Bucket,
    /// The service, if it is not that of the region.
    endpoint: Option<Url>,
    path_style: bool,
    /// Sent along with every request.
    fields: Vec<(&'static str, String)>,
    /// Source of credentials; `None` if only public objects may be read.
    signer: Option<Arc<dyn CredentialSigner>>,
    state: Mutex<BucketState>,
}

/// Facts learned from answers.
#[derive(Debug, Default)]
struct BucketState {
    region: String,
    access_mode: Option<AccessMode>,
    /// Reason why there are no credentials.
    credentials_problem: Option<String>,
    /// A warning that was not shown yet.
    notice: Option<String>,
}

/// A part of a service that a request is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ServiceEndpoint {
    Object,
    /// The list of objects.
    Bucket,
    /// The beginning of uploads to Google Cloud.
    Uploads,
}

/// The way in which a bucket is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AccessMode {
    Signed,
    Anonymous,
}

/// The credentials of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RequestAccess {
    /// No credentials.
    Anonymous,
    /// The credentials of the first source that has some.
    Signed(CredentialSources),
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store").field("bucket", &self.bucket.as_written).finish_non_exhaustive()
    }
}

/// Objects that all files of the process share, by a digest of everything that they depend on.
struct ProcessCache<T: ?Sized>(OnceLock<Mutex<HashMap<[u8; 32], Arc<T>>>>);

static STORES: ProcessCache<Store> = ProcessCache(OnceLock::new());
static LOGINS: ProcessCache<dyn CredentialSigner> = ProcessCache(OnceLock::new());

impl<T: ?Sized> ProcessCache<T> {
    fn get(&self, key: [u8; 32], make: impl FnOnce() -> Result<Arc<T>>) -> Result<Arc<T>> {
        let all = self.0.get_or_init(Mutex::default);
        if let Some(found) = lock(all).get(&key) {
            return Ok(found.clone());
        }
        let made = make()?;
        let mut all = lock(all);
        if all.len() >= MAX_CACHED_STORES {
            all.clear();
        }
        Ok(all.entry(key).or_insert(made).clone())
    }
}

/// A digest of what something depends on. Secrets are among it, so nothing else of it is kept.
fn hash_parts(parts: &[&[u8]]) -> [u8; 32] {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hash.finalize().into()
}

/// Settings of a bucket: the environment, the AWS files and the options.
struct BucketSettings<'o> {
    options: &'o RemoteOptions,
    variables: EnvVars,
    profiles: AwsProfiles,
}

impl Store {
    /// The bucket as the environment and the options describe it; without `credentials` only what is public is read.
    pub(super) fn new(bucket: &Bucket, options: &RemoteOptions, credentials: bool) -> Result<Arc<Self>> {
        let variables = if options.environment { EnvVars::of_process() } else { EnvVars::default() };
        let profile = options.store.profile.as_deref();
        let profiles = match bucket.service {
            ObjectService::S3 => AwsProfiles::read_files(&variables, profile)?,
            ObjectService::Google | ObjectService::Azure => AwsProfiles::default(),
        };
        let settings = BucketSettings { options, variables, profiles };
        let account = settings.resolve_account(bucket)?;
        let endpoint = settings.resolve_endpoint(bucket, &account)?;
        let region = settings.resolve_region();
        let mut known: Vec<(&String, &String)> = settings.variables.0.iter().collect();
        known.sort();
        let known = format!("{known:?} {:?} {:?} {:?}", options.store.secret_fields(), options.path_style, options.timeout);
        let who = hash_parts(&[
            known.as_bytes(),
            &settings.profiles.text,
            format!("{:?}", bucket.service).as_bytes(),
            account.name.as_bytes(),
        ]);
        let asks = credentials && !options.anonymous;
        if asks {
            settings.profiles.check_chosen_profile()?;
        }
        let what = hash_parts(&[&who, bucket.as_written.as_bytes(), &[u8::from(asks)]]);
        STORES.get(what, || {
            let login =
                if asks { Some(LOGINS.get(who, || settings.create_request_signer(bucket, &account, &region))?) } else { None };
            // A certificate covers one label before the endpoint, and a host name has no capitals.
            let plain = bucket.name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
            let path_style = options.path_style.unwrap_or(endpoint.is_some() || !plain);
            let fields = settings.collect_service_headers(bucket);
            let state = Mutex::new(BucketState { region, ..BucketState::default() });
            Ok(Arc::new(Self { bucket: bucket.clone(), endpoint, path_style, fields, signer: login, state }))
        })
    }

    /// The URL of an object, or of the part of the service that lists or takes objects.
    pub(super) fn build_request_url(&self, place: ServiceEndpoint, key: &str) -> Result<Url> {
        let name = &self.bucket.name;
        match (place, self.bucket.service) {
            (ServiceEndpoint::Object, _) => self.build_object_url(key),
            (ServiceEndpoint::Bucket, ObjectService::Google) => {
                url_of(&format!("{}/storage/v1/b/{name}/o", self.build_service_url()?))
            }
            (ServiceEndpoint::Uploads, _) => url_of(&format!("{}/upload/storage/v1/b/{name}/o", self.build_service_url()?)),
            (ServiceEndpoint::Bucket, ObjectService::S3) => self.build_object_url(""),
            (ServiceEndpoint::Bucket, ObjectService::Azure) => url_of(&format!("{}/{name}", self.build_service_url()?)),
        }
    }

    /// The URL of the service, without a slash at its end.
    fn build_service_url(&self) -> Result<String> {
        let endpoint = match (&self.endpoint, self.bucket.service) {
            (Some(endpoint), _) => endpoint.clone(),
            (None, ObjectService::S3) => {
                let region = &lock(&self.state).region;
                let cloud = if region.starts_with("cn-") { "amazonaws.com.cn" } else { "amazonaws.com" };
                Url::parse(&format!("https://s3.{region}.{cloud}"))
                    .map_err(|_| Error::invalid_input(format!("{region:?} is not a region of S3")))?
            }
            (None, ObjectService::Google) => url_of("https://storage.googleapis.com")?,
            (None, ObjectService::Azure) => return Err(no_account()),
        };
        Ok(endpoint.as_str().trim_end_matches('/').to_owned())
    }

    /// The URL of an object.
    pub(super) fn build_object_url(&self, key: &str) -> Result<Url> {
        let (key, version) = if self.bucket.service == ObjectService::S3 { split_version(key) } else { (key, None) };
        let mut url = self.build_key_url(&encoded_key(key))?;
        if let Some(version) = version {
            url.set_query(Some(&format!("versionId={}", encoded_key(version).replace('/', "%2F"))));
        }
        Ok(url)
    }

    /// The URL of a key that is percent-encoded.
    fn build_key_url(&self, key: &str) -> Result<Url> {
        let (name, base) = (&self.bucket.name, self.build_service_url()?);
        if self.bucket.service == ObjectService::S3 && !self.path_style {
            let (scheme, rest) = base.split_once("://").unwrap_or(("https", &base));
            let host = rest.split('/').next().unwrap_or(rest);
            let made = url_of(&format!("{scheme}://{name}.{rest}/{key}"));
            let right = |url: &Url| {
                url.host_str()
                    .is_some_and(|found| found.len() > name.len() && host.contains(found.get(name.len() + 1..).unwrap_or("?")))
            };
            return made.ok().filter(right).ok_or_else(|| {
                Error::invalid_input(format!("bucket {name:?} makes no host name"))
                    .setting("", SuggestedSetting::Remote("style=path"))
            });
        }
        url_of(&format!("{base}/{name}/{key}"))
    }

    /// Returns whether requests are signed, if it is known.
    pub(super) fn is_signed(&self) -> bool {
        self.signer.is_some() && lock(&self.state).access_mode == Some(AccessMode::Signed)
    }

    /// Returns the reason why there are no credentials.
    pub(super) fn credentials_problem(&self) -> Option<String> {
        lock(&self.state).credentials_problem.clone()
    }

    /// Returns `true` if the service answers anonymous requests as if the object did not exist.
    pub(super) fn hides_existence(&self) -> bool {
        self.bucket.service == ObjectService::Azure
    }

    /// Returns a hint that names the sources of credentials.
    pub(super) fn credentials_hint(&self) -> &'static str {
        match self.bucket.service {
            ObjectService::S3 => "the request was not signed: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE",
            ObjectService::Google => {
                "the request was not signed: run `gcloud auth application-default login`, or set GOOGLE_APPLICATION_CREDENTIALS"
            }
            ObjectService::Azure => {
                "the request was not signed: run `az login`, or set AZURE_STORAGE_ACCOUNT_KEY or AZURE_STORAGE_SAS_TOKEN"
            }
        }
    }

    /// A warning about the bucket, for the first reader.
    pub(super) fn take_bucket_warning(&self) -> Option<String> {
        lock(&self.state).notice.take()
    }

    /// Adds the headers of the service, and the signature if this is a signed request. Returns `false` if there are no
    /// credentials.
    fn sign(&self, head: &mut ureq::http::request::Parts, access: RequestAccess) -> Result<bool, String> {
        use ureq::http::{HeaderName, HeaderValue};
        for (name, value) in &self.fields {
            if let Ok(value) = HeaderValue::from_str(value) {
                head.headers.insert(HeaderName::from_static(name), value);
            }
        }
        let (RequestAccess::Signed(sources), Some(login)) = (access, &self.signer) else { return Ok(true) };
        if self.bucket.service == ObjectService::S3 {
            // A request with a body has its own.
            let digest = head.headers.entry(HeaderName::from_static("x-amz-content-sha256"));
            digest.or_insert(HeaderValue::from_static(EMPTY_SHA256));
        }
        let region = lock(&self.state).region.clone();
        login.sign_request(head, &region, sources)
    }

    /// Sends a request in the way that the bucket takes: with credentials if there are any, else without, and the other
    /// way round if that is refused. `send` gets what completes the head of a request.
    pub(super) fn send_authorized(&self, send: &dyn Fn(&SignFn<'_>) -> Result<Response, Failure>) -> Result<Response, Failure> {
        let (known, sent) = (lock(&self.state).access_mode, Instant::now());
        if self.signer.is_none() {
            return self.send_with_access(RequestAccess::Anonymous, send).map(|(reply, _)| reply);
        }
        if known != Some(AccessMode::Anonymous) {
            let sources = if known.is_some() { CredentialSources::All } else { CredentialSources::Configured };
            match self.send_with_access(RequestAccess::Signed(sources), send) {
                Ok((reply, true)) if !self.is_access_denied(&reply, AccessMode::Signed) => {
                    return Ok(self.remember_mode(reply, AccessMode::Signed, None));
                }
                Ok((reply, true)) => return self.retry_refused(reply, sent, known, send),
                Ok((_, false)) => {}
                Err(Failure::NoCredentials(problem)) if known.is_some() => {
                    return Err(Failure::Retryable(
                        Error::new(ErrorKind::Io, format!("the credentials cannot be renewed: {problem}")),
                        None,
                    ));
                }
                Err(Failure::NoCredentials(problem)) => lock(&self.state).credentials_problem = Some(problem),
                Err(failure) => return Err(failure),
            }
        }
        let (reply, _) = self.send_with_access(RequestAccess::Anonymous, send)?;
        if !self.is_access_denied(&reply, AccessMode::Anonymous) {
            let problem = lock(&self.state).credentials_problem.clone();
            let notice = problem
                .map(|why| format!("{} is read without credentials, because there are none: {why}", self.bucket.as_written));
            return Ok(self.remember_mode(reply, AccessMode::Anonymous, notice));
        }
        // Requesting credentials from the machine takes time, so it comes last.
        match self.send_with_access(RequestAccess::Signed(CredentialSources::All), send) {
            Ok((signed, true)) if !self.is_access_denied(&signed, AccessMode::Signed) => {
                Ok(self.remember_mode(signed, AccessMode::Signed, None))
            }
            Ok((signed, true)) => {
                lock(&self.state).access_mode = known.or(Some(AccessMode::Signed));
                Ok(signed)
            }
            Ok((_, false)) => Ok(reply),
            Err(Failure::NoCredentials(problem)) => {
                lock(&self.state).credentials_problem.get_or_insert(problem);
                Ok(reply)
            }
            Err(failure) => Err(failure),
        }
    }

    /// A signed request was refused: the credentials may be old, or the bucket may be open to everybody.
    fn retry_refused(
        &self,
        mut reply: Response,
        sent: Instant,
        known: Option<AccessMode>,
        send: &dyn Fn(&SignFn<'_>) -> Result<Response, Failure>,
    ) -> Result<Response, Failure> {
        let is_expired = reply.has_expired_credentials();
        if self.signer.as_ref().is_some_and(|login| login.forget_credentials(sent, is_expired))
            && let Ok((again, true)) = self.send_with_access(RequestAccess::Signed(CredentialSources::All), send)
        {
            if !self.is_access_denied(&again, AccessMode::Signed) {
                return Ok(self.remember_mode(again, AccessMode::Signed, None));
            }
            reply = again;
        }
        lock(&self.state).access_mode = Some(AccessMode::Signed);
        if known.is_none() {
            let (open, _) = self.send_with_access(RequestAccess::Anonymous, send)?;
            if !self.is_access_denied(&open, AccessMode::Anonymous) && open.status < 400 {
                let notice = format!(
                    "{} refused the credentials ({}), so it is read without them; --remote anonymous=yes sends none",
                    self.bucket.as_written, reply.status
                );
                return Ok(self.remember_mode(open, AccessMode::Anonymous, Some(notice)));
            }
        }
        Ok(reply)
    }

    /// Sends a request, and once more if the response names another region of the bucket. Returns `false` with an
    /// answer that means nothing if it could not be signed.
    fn send_with_access(
        &self,
        access: RequestAccess,
        send: &dyn Fn(&SignFn<'_>) -> Result<Response, Failure>,
    ) -> Result<(Response, bool), Failure> {
        let signed = std::cell::Cell::new(true);
        let finish = |head: &mut ureq::http::request::Parts| match self.sign(head, access) {
            Ok(found) => {
                signed.set(found);
                if found { Ok(()) } else { Err(Failure::NoCredentials(String::new())) }
            }
            Err(problem) => Err(Failure::NoCredentials(problem)),
        };
        let reply = match send(&finish) {
            Err(Failure::NoCredentials(_)) if !signed.get() => return Ok((Response::empty(), false)),
            reply => reply?,
        };
        let region = reply.headers.region.as_deref();
        if reply.status >= 300 && region.is_some_and(|region| self.moved_to(region)) {
            return Ok((send(&finish)?, true));
        }
        Ok((reply, true))
    }

    /// Takes the region that an answer names; whether that was news.
    fn moved_to(&self, region: &str) -> bool {
        let sane = !region.is_empty() && region.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
        let mut state = lock(&self.state);
        let news = sane && self.bucket.service == ObjectService::S3 && region != state.region;
        if news {
            region.clone_into(&mut state.region);
        }
        news
    }

    /// Returns `true` if an answer refuses access.
    fn is_access_denied(&self, reply: &Response, way: AccessMode) -> bool {
        match reply.status {
            401 | 403 => true,
            // Expired or unknown tokens.
            400 => way == AccessMode::Signed && self.bucket.service == ObjectService::S3,
            // Containers hide from those without credentials.
            404 | 409 => way == AccessMode::Anonymous && self.bucket.service == ObjectService::Azure,
            _ => false,
        }
    }

    fn remember_mode(&self, reply: Response, way: AccessMode, notice: Option<String>) -> Response {
        if reply.status < 300 || reply.status == 416 {
            let mut state = lock(&self.state);
            if state.access_mode != Some(way) {
                state.access_mode = Some(way);
                state.notice = notice.or(state.notice.take());
            }
        }
        reply
    }
}

/// A function that completes the head of a request before it is sent.
pub(super) type SignFn<'f> = dyn Fn(&mut ureq::http::request::Parts) -> Result<(), Failure> + 'f;

impl BucketSettings<'_> {
    /// The value of an option, else of the first variable that has one.
    fn option_or_env<'s>(&'s self, option: &'s Option<String>, names: &[&str]) -> Option<&'s str> {
        option.as_deref().or_else(|| self.variables.get(names))
    }

    fn resolve_region(&self) -> String {
        let named = self.option_or_env(&self.options.store.region, &["AWS_REGION", "AWS_DEFAULT_REGION"]).map(str::to_owned);
        named.or_else(|| self.profiles.profile_value(&self.profiles.name, "region")).unwrap_or_else(|| "us-east-1".to_owned())
    }

    /// The account that holds a container, with what opens it; nothing for other services.
    fn resolve_account(&self, bucket: &Bucket) -> Result<AzureAccount> {
        if bucket.service != ObjectService::Azure {
            return Ok(AzureAccount::default());
        }
        let store = &self.options.store;
        let connection = self.option_or_env(&store.connection_string, &["AZURE_STORAGE_CONNECTION_STRING"]).unwrap_or_default();
        let of = |name: &str| {
            let mut pairs = connection.split(';').filter_map(|pair| pair.split_once('='));
            pairs.find(|(key, _)| key.trim().eq_ignore_ascii_case(name)).map(|(_, value)| value.trim().to_owned())
        };
        let name =
            self.option_or_env(&store.account, &["AZURE_STORAGE_ACCOUNT_NAME", "AZURE_STORAGE_ACCOUNT", "AZBLOB_ACCOUNT_NAME"]);
        let name = name.map(str::to_owned).or_else(|| of("AccountName"));
        let named = bucket.host.as_deref().and_then(|host| host.split('.').next());
        let of_another = name.is_some() && named.is_some_and(|named| name.as_deref() != Some(named));
        let found = named.map(str::to_owned).or(name).ok_or_else(no_account)?;
        if of_another {
            // A key opens one account, and is not the business of another.
            return Ok(AzureAccount { name: found, ..AzureAccount::default() });
        }
        let key = self.option_or_env(
            &store.key,
            &["AZURE_STORAGE_ACCOUNT_KEY", "AZURE_STORAGE_KEY", "AZURE_STORAGE_ACCESS_KEY", "AZBLOB_ACCOUNT_KEY"],
        );
        let sas = self.option_or_env(&store.sas, &["AZURE_STORAGE_SAS_TOKEN", "AZURE_STORAGE_SAS_KEY"]);
        let (key, sas) =
            (key.map(str::to_owned).or_else(|| of("AccountKey")), sas.map(str::to_owned).or_else(|| of("SharedAccessSignature")));
        Ok(AzureAccount { name: found, key, sas_token: sas, endpoint: of("BlobEndpoint") })
    }

    /// The service that somebody named, or that of an account.
    fn resolve_endpoint(&self, bucket: &Bucket, account: &AzureAccount) -> Result<Option<Url>> {
        let store = &self.options.store;
        let (named, variable) = match bucket.service {
            ObjectService::S3 => {
                let names = ["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"];
                let named = self.option_or_env(&store.endpoint, &names).map(str::to_owned);
                (named.or_else(|| self.profiles.profile_value(&self.profiles.name, "endpoint_url")), "AWS_ENDPOINT_URL")
            }
            ObjectService::Google => {
                let named = self.option_or_env(&store.endpoint, &["STORAGE_EMULATOR_HOST"]).map(str::to_owned);
                let whole = |host: String| if host.contains("://") { host } else { format!("http://{host}") };
                (named.map(whole), "STORAGE_EMULATOR_HOST")
            }
            ObjectService::Azure => {
                let named = self
                    .option_or_env(&store.endpoint, &["AZURE_STORAGE_ENDPOINT", "AZURE_ENDPOINT", "AZURE_STORAGE_BLOB_ENDPOINT"]);
                let named = named.map(str::to_owned).or_else(|| account.endpoint.clone());
                let own = || bucket.host.clone().or_else(|| blob_host(&account.name)).map(|host| format!("https://{host}"));
                (named.or_else(own), "AZURE_STORAGE_ENDPOINT")
            }
        };
        let named = named.map(|text| {
            let url = Url::parse(&text).ok().filter(|url| matches!(url.scheme(), "http" | "https") && url.host_str().is_some());
            url.ok_or_else(|| Error::invalid_input(format!("{variable}={} is not a URL", shown_path(&text))))
        });
        named.transpose()
    }

    /// Returns the headers that every request to a service carries.
    fn collect_service_headers(&self, bucket: &Bucket) -> Vec<(&'static str, String)> {
        let store = &self.options.store;
        match bucket.service {
            ObjectService::S3 if store.requester_pays => vec![("x-amz-request-payer", "requester".to_owned())],
            ObjectService::S3 => Vec::new(),
            ObjectService::Google => store.project.iter().map(|project| ("x-goog-user-project", project.clone())).collect(),
            ObjectService::Azure => vec![("x-ms-version", AZURE_VERSION.to_owned())],
        }
    }

    /// Returns the signer.
    fn create_request_signer(&self, bucket: &Bucket, account: &AzureAccount, region: &str) -> Result<Arc<dyn CredentialSigner>> {
        let (far, near) = (new_credentials_agent(self.options)?, new_metadata_agent(self.options)?);
        let context = credential_context::build_credentials_context(self.variables.clone(), far, near);
        let store = &self.options.store;
        Ok(Arc::from(match bucket.service {
            ObjectService::S3 => credentials::new_aws_login(&context, &self.variables, &self.profiles, store, region),
            ObjectService::Google => credentials::new_google_login(context, &self.variables, store),
            ObjectService::Azure => credentials::new_azure_login(context, &self.variables, store, account),
        }))
    }
}

fn url_of(text: &str) -> Result<Url> {
    Url::parse(text).map_err(|error| Error::invalid_input(format!("{text:?} is not a URL: {error}")))
}

fn no_account() -> Error {
    Error::invalid_input("the URL names a container of Azure, but no account")
        .hint("write abfss://CONTAINER@ACCOUNT.dfs.core.windows.net/BLOB, or set AZURE_STORAGE_ACCOUNT_NAME")
}

#[cfg(test)]
mod tests {
    use super::super::bucket::parse_object_url;
    use super::*;

    fn store(url: &str, options: &[&str]) -> Arc<Store> {
        let mut given = RemoteOptions::default();
        options.iter().for_each(|option| given.set(option).unwrap());
        Store::new(&parse_object_url(url).unwrap().unwrap().0, &given, true).unwrap()
    }

    fn at(url: &str, options: &[&str]) -> String {
        store(url, options).build_object_url("a b/x.asdf").unwrap().to_string()
    }

    #[test]
    fn bucket_url_uses_path_or_host_style() {
        assert_eq!(at("s3://bucket/k", &["endpoint=http://localhost:9000"]), "http://localhost:9000/bucket/a%20b/x.asdf");
        assert_eq!(at("s3://bucket/k", &["region=eu-west-1"]), "https://bucket.s3.eu-west-1.amazonaws.com/a%20b/x.asdf");
        assert_eq!(at("s3://b.x/k", &[]), "https://s3.us-east-1.amazonaws.com/b.x/a%20b/x.asdf");
        let moved = store("s3://moved/k", &["region=eu-west-1"]);
        assert!(moved.moved_to("us-west-2") && !moved.moved_to("us-west-2") && !moved.moved_to("evil.example/"));
        assert_eq!(moved.build_object_url("k").unwrap().as_str(), "https://moved.s3.us-west-2.amazonaws.com/k");
        assert_eq!(at("gs://bucket/k", &[]), "https://storage.googleapis.com/bucket/a%20b/x.asdf");
        let own = "https://account.blob.core.windows.net/c/a%20b/x.asdf";
        assert_eq!(at("az://c/k", &["account=account"]), own);
        assert_eq!(at("abfss://c@account.dfs.core.windows.net/k", &[]), own);
        let azurite = ["endpoint=http://127.0.0.1:10000/devstoreaccount1", "account=devstoreaccount1"];
        assert_eq!(at("az://c/k", &azurite), "http://127.0.0.1:10000/devstoreaccount1/c/a%20b/x.asdf");
        let error = Store::new(&parse_object_url("az://c/k").unwrap().unwrap().0, &RemoteOptions::default(), true).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
    }

    #[test]
    fn account_key_is_not_used_for_other_account() {
        let bucket = parse_object_url("abfss://c@other.dfs.core.windows.net/k").unwrap().unwrap().0;
        let mut options = RemoteOptions::default();
        options.from_storage_options("account_name", "mine").unwrap();
        options.from_storage_options("account_key", "c2VjcmV0").unwrap();
        let settings = BucketSettings { options: &options, variables: EnvVars::default(), profiles: AwsProfiles::default() };
        assert!(settings.resolve_account(&bucket).unwrap().key.is_none());
        let own = parse_object_url("az://c/k").unwrap().unwrap().0;
        assert_eq!(settings.resolve_account(&own).unwrap().key.as_deref(), Some("c2VjcmV0"));
    }
}
