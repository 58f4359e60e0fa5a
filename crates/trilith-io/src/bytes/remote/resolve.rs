//! Places on the web that references out of a file may lead to: its own folder, and the URLs that a prefix allows.

use std::ops::Range;
use std::sync::Arc;

use super::super::base_uri::BaseUri;
use super::super::file_name::is_url;
use super::super::resolve::Resolve;
use super::address::Address;
use super::client::{Client, RemoteTarget, UrlOrigin};
use super::options::RemoteOptions;
use super::ranged_file;
use crate::bytes::SourceRef;
use crate::error::{Error, Result, ResultExt, SuggestedSetting};
use crate::threads::lock;

/// The result of a resolver.
type Opened = (SourceRef, Arc<dyn Resolve>);

/// Opens a file at a URL that the user gave, and returns the resolver of its references. It permits files in the folder of the
/// URL and below, `depth` times from file to file, and URLs that [`RemoteOptions::allow`] permits.
///
/// This costs one request, for the first bytes of the file.
///
/// ```no_run
/// use trilith_io::bytes::{RemoteOptions, open_url, read_vec};
/// let (source, resolve) = open_url("https://data.example.org/image.asdf", &RemoteOptions::from_env()?, 8)?;
/// let first = read_vec(&*source, 0, 5, &trilith_io::Limits::default())?;
/// # Ok::<(), trilith_io::Error>(())
/// ```
///
/// # Errors
/// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for what is not an address,
/// [`ErrorKind::Io`](crate::ErrorKind::Io) if the server does not give the file.
pub fn open_url(url: &str, options: &RemoteOptions, depth: u64) -> Result<Opened> {
    let address = Address::parse(url)?;
    let bucket = match &address {
        Address::Object { bucket, .. } => Some(bucket.clone()),
        Address::Web(_) => None,
    };
    let client = Client::new(options.clone(), bucket)?;
    let folder = SiblingResolver { root: address.clone(), base_url: address.clone(), client: client.clone(), depth };
    Ok((ranged_file::open_remote_file(RemoteTarget::new(client, address, UrlOrigin::User), &[])?, Arc::new(folder)))
}

/// The folder of a remote file, and those below it.
#[derive(Debug, Clone)]
struct SiblingResolver {
    /// The file whose folder it is.
    root: Address,
    /// The file in which the references are.
    base_url: Address,
    client: Arc<Client>,
    depth: u64,
}

impl SiblingResolver {
    fn open_reference(&self, uri: &str, first: &[Range<u64>]) -> Result<Opened> {
        let refused = |why: &str| Error::limit(format!("the reference {uri:?} is refused: {why}"));
        let depth = self.depth.checked_sub(1).ok_or_else(|| refused("too many files refer to each other"))?;
        let there = self.base_url.resolve_reference(uri).ok_or_else(|| refused("it is not an http or https URL"))?;
        let (root, trust) = if there.is_in_folder_of(&self.root) {
            (self.root.clone(), UrlOrigin::Reference(self.root.clone()))
        } else {
            let shown = there.display();
            let allowed = self.client.prefix_permission(&there).ok_or_else(|| {
                refused("it leads out of the file's folder")
                    .setting("if you trust it", SuggestedSetting::Allow(shown.to_string()))
            })?;
            (there.clone(), if allowed { UrlOrigin::User } else { UrlOrigin::Reference(there.clone()) })
        };
        let target = RemoteTarget::new(self.client.clone(), there.clone(), trust);
        let source = ranged_file::open_remote_file(target, first)
            .with_context(|| format!("opening {}, which the file refers to", there.display()))?;
        Ok((source, Arc::new(Self { root, base_url: there, depth, ..self.clone() })))
    }
}

impl Resolve for SiblingResolver {
    fn resolve(&self, uri: &str) -> Result<Opened> {
        self.open_reference(uri, &[])
    }

    fn resolve_parts(&self, uri: &str, ranges: &[Range<u64>]) -> Result<Opened> {
        self.open_reference(uri, ranges)
    }

    fn parallelism(&self) -> usize {
        self.client.options.in_flight
    }

    fn base(&self) -> BaseUri {
        BaseUri::Url(self.base_url.to_portable())
    }

    fn permits(&self, uri: &str) -> bool {
        let there = self.base_url.resolve_reference(uri);
        there.is_some_and(|there| there.is_in_folder_of(&self.root) || self.client.prefix_permission(&there).is_some())
    }
}

/// The absolute form of a reference in the file at an address, without name and password.
pub(crate) fn join(address: &str, uri: &str) -> Option<String> {
    Address::parse(address).ok()?.absolute_reference(uri)
}

/// Allows references out of local files to URLs that [`RemoteOptions::allow`] allows, and
/// everything else if `inner` allows.
pub struct AllowListResolver {
    inner: Arc<dyn Resolve>,
    options: RemoteOptions,
    client: std::sync::Mutex<Option<Arc<Client>>>,
    remaining_depth: u64,
}

impl AllowListResolver {
    /// Creates a resolver. `depth` is the length of a chain of remote files that refer to each other.
    pub fn new(inner: Arc<dyn Resolve>, options: RemoteOptions, depth: u64) -> Self {
        Self { inner, options, client: std::sync::Mutex::default(), remaining_depth: depth }
    }

    fn get_or_create_client(&self) -> Result<Arc<Client>> {
        let mut slot = lock(&self.client);
        let client = match slot.take() {
            Some(client) => client,
            None => Client::new(self.options.clone(), None)?,
        };
        *slot = Some(client.clone());
        Ok(client)
    }

    fn open_allowed_url(&self, uri: &str, first: &[Range<u64>]) -> Result<Opened> {
        let refused = |why: &str| Error::limit(format!("the reference {uri:?} is refused: {why}"));
        let address = Address::parse(uri).map_err(|e| refused(e.message()))?;
        let client = self.get_or_create_client()?;
        let allowed = client.prefix_permission(&address).ok_or_else(|| {
            refused("it is a URL that was not allowed")
                .setting("if you trust it", SuggestedSetting::Allow(address.display().to_string()))
        })?;
        let depth = self.remaining_depth.checked_sub(1).ok_or_else(|| refused("too many files refer to each other"))?;
        let trust = if allowed { UrlOrigin::User } else { UrlOrigin::Reference(address.clone()) };
        let beside = SiblingResolver { root: address.clone(), base_url: address.clone(), client: client.clone(), depth };
        let source = ranged_file::open_remote_file(RemoteTarget::new(client, address.clone(), trust), first)
            .with_context(|| format!("opening {}, which the file refers to", address.display()))?;
        Ok((source, Arc::new(beside)))
    }

    fn with_references(&self, (source, inner): Opened) -> Opened {
        let client = std::sync::Mutex::new(lock(&self.client).clone());
        (source, Arc::new(Self { inner, options: self.options.clone(), client, remaining_depth: self.remaining_depth }))
    }
}

impl Resolve for AllowListResolver {
    fn resolve(&self, uri: &str) -> Result<Opened> {
        if is_url(uri) {
            self.open_allowed_url(uri, &[])
        } else {
            self.inner.resolve(uri).map(|opened| self.with_references(opened))
        }
    }

    fn resolve_parts(&self, uri: &str, ranges: &[Range<u64>]) -> Result<Opened> {
        if is_url(uri) {
            return self.open_allowed_url(uri, ranges);
        }
        self.inner.resolve_parts(uri, ranges).map(|opened| self.with_references(opened))
    }

    fn parallelism(&self) -> usize {
        // A catalog on this machine may list files on servers.
        self.inner.parallelism().max(if self.options.allowed.is_empty() { 1 } else { self.options.in_flight })
    }

    fn base(&self) -> BaseUri {
        self.inner.base()
    }

    fn permits(&self, uri: &str) -> bool {
        if !is_url(uri) {
            return self.inner.permits(uri);
        }
        let (address, client) = (Address::parse(uri), self.get_or_create_client());
        address.is_ok_and(|address| client.is_ok_and(|client| client.prefix_permission(&address).is_some()))
    }

    fn is_missing(&self, uri: &str) -> bool {
        !is_url(uri) && self.inner.is_missing(uri)
    }
}
