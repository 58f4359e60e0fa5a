//! Connections: their options, and the addresses that they may reach.

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ureq::Agent;
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{DefaultConnector, NextTimeout};

use super::address::is_public;
use super::options::RemoteOptions;
use crate::error::Result;
use crate::threads::lock;

/// Longest time that the machine itself may take to answer.
const METADATA_TIMEOUT: Duration = Duration::from_secs(2);

/// The proxy of connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Proxy {
    /// The proxy that the environment names, if the options allow it.
    FromEnvironment,
    /// No proxy.
    None,
}

/// Returns the connections to the services of the internet that give credentials.
pub(super) fn new_credentials_agent(options: &RemoteOptions) -> Result<Agent> {
    new_agent(options, Proxy::FromEnvironment, FilteringResolver::unrestricted())
}

/// Returns the connections to the machine itself, which gives credentials at once or never.
pub(super) fn new_metadata_agent(options: &RemoteOptions) -> Result<Agent> {
    let mut options = options.clone();
    options.timeout = options.timeout.min(METADATA_TIMEOUT);
    new_agent(&options, Proxy::None, FilteringResolver::unrestricted())
}

pub(super) fn new_agent(options: &RemoteOptions, proxy: Proxy, resolver: FilteringResolver) -> Result<Agent> {
    let wait = Some(options.timeout);
    let mut config = Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .max_redirects_will_error(false)
        .timeout_resolve(wait)
        .timeout_connect(wait)
        .timeout_recv_response(wait)
        .timeout_per_read(wait)
        .timeout_per_write(wait)
        .max_idle_connections(2 * options.in_flight)
        .max_idle_connections_per_host(options.in_flight)
        .accept_encoding("identity")
        .user_agent(concat!("trilith/", env!("CARGO_PKG_VERSION")));
    if proxy == Proxy::None || !options.environment {
        // A proxy would look names up where their addresses cannot be checked.
        config = config.proxy(None);
    }
    if let Some(path) = std::env::var_os("SSL_CERT_FILE").filter(|path| options.environment && !path.is_empty()) {
        let text = crate::bytes::read_text(&path, 16 << 20).map_err(|e| e.context("SSL_CERT_FILE"))?;
        let roots = ureq::tls::parse_pem(&text).filter_map(|item| match item {
            Ok(ureq::tls::PemItem::Certificate(certificate)) => Some(certificate),
            _ => None,
        });
        let roots = ureq::tls::RootCerts::new_with_certs(&roots.collect::<Vec<_>>());
        config = config.tls_config(ureq::tls::TlsConfig::builder().root_certs(roots).build());
    }
    Ok(Agent::with_parts(config.build(), DefaultConnector::default(), resolver))
}

/// Addresses at which a host was met, by host and port.
pub(super) type SeenAddresses = Arc<Mutex<HashMap<(String, u16), HashSet<IpAddr>>>>;

/// Looks names up, and lets only some of the addresses through.
#[derive(Debug)]
pub(super) struct FilteringResolver {
    pub(super) inner: DefaultResolver,
    pub(super) public_only: bool,
    pub(super) seen_addresses: SeenAddresses,
}

impl FilteringResolver {
    /// Returns a resolver that lets all addresses through.
    fn unrestricted() -> Self {
        Self { inner: DefaultResolver::default(), public_only: false, seen_addresses: SeenAddresses::default() }
    }
}

/// An address that a reference may not reach.
#[derive(Debug)]
pub(super) struct ForbiddenAddress(pub(super) IpAddr);

impl std::fmt::Display for ForbiddenAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} is not public", self.0)
    }
}

impl std::error::Error for ForbiddenAddress {}

impl Resolver for FilteringResolver {
    fn resolve(
        &self,
        uri: &ureq::http::Uri,
        config: &ureq::config::Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, ureq::Error> {
        let found = self.inner.resolve(uri, config, timeout)?;
        let port = uri.port_u16().unwrap_or(if uri.scheme_str() == Some("https") { 443 } else { 80 });
        let place = (uri.host().unwrap_or("").to_ascii_lowercase(), port);
        let mut met = lock(&self.seen_addresses);
        if !self.public_only {
            met.entry(place).or_default().extend(found.iter().map(std::net::SocketAddr::ip));
            return Ok(found);
        }
        let known = met.get(&place);
        let mut kept = self.empty();
        let mut refused = None;
        for address in found.iter() {
            if is_public(address.ip()) || known.is_some_and(|known| known.contains(&address.ip())) {
                kept.push(*address);
            } else {
                refused = Some(address.ip());
            }
        }
        match refused {
            Some(address) if kept.is_empty() => Err(ureq::Error::Other(Box::new(ForbiddenAddress(address)))),
            _ => Ok(kept),
        }
    }
}
