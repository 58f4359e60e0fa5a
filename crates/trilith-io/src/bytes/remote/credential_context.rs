//! The means by which credentials are fetched: our own connections, files, variables and programs, in the form that
//! `reqsign` takes.
//!
//! The interface of `reqsign` is asynchronous. Nothing here waits for anything but the system, so each call is driven to its end at once.

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;
use reqsign_core::{CommandExecute, CommandOutput, Context, Env, Error, FileRead, HttpSend, Result};
use ureq::Agent;
use ureq::http;

use super::response::parse_retry_after;

/// An answer to a request for credentials is short.
const MAX_RESPONSE_LEN: u64 = 1 << 20;
/// Maximum number of times that a request for credentials is repeated.
const MAX_RETRIES: u32 = 3;
/// The longest pause between two of them.
const MAX_BACKOFF: Duration = Duration::from_secs(10);

/// The variables that decide where credentials come from.
#[derive(Clone, Default)]
pub(super) struct EnvVars(pub(super) HashMap<String, String>);

impl std::fmt::Debug for EnvVars {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Variables").finish_non_exhaustive()
    }
}

impl EnvVars {
    /// Returns the environment variables of the process that concern object stores.
    pub(super) fn of_process() -> Self {
        // `reqsign` takes this one, which names a store, for the place of managed identities.
        const UNSUPPORTED_VARIABLE: &str = "AZBLOB_ENDPOINT";
        let of = |name: &str| {
            const VARIABLE_PREFIXES: [&str; 8] =
                ["AWS_", "GOOGLE_", "GCE_", "CLOUDSDK_", "AZURE_", "AZBLOB_", "MSI_", "IDENTITY_"];
            const VARIABLE_NAMES: [&str; 6] =
                ["HOME", "USERPROFILE", "APPDATA", "XDG_CONFIG_HOME", "STORAGE_EMULATOR_HOST", "SYSTEM_OIDCREQUESTURI"];
            name != UNSUPPORTED_VARIABLE
                && (VARIABLE_PREFIXES.iter().any(|prefix| name.starts_with(prefix)) || VARIABLE_NAMES.contains(&name))
        };
        let all = std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
        Self(all.filter(|(name, value)| of(name) && !value.trim().is_empty()).collect())
    }

    /// The value of the first of these variables that has one.
    pub(super) fn get(&self, names: &[&str]) -> Option<&str> {
        names.iter().find_map(|name| self.0.get(*name)).map(String::as_str)
    }

    fn find_home_path(&self) -> Option<PathBuf> {
        self.get(&["HOME", "USERPROFILE"]).map(PathBuf::from)
    }

    /// A file in a folder of the user's, or at the place that a variable names.
    pub(super) fn resolve_user_path(&self, variable: &str, beside: &str) -> Option<PathBuf> {
        let named = self.get(&[variable]).map(PathBuf::from);
        named
            .map(|path| {
                path.strip_prefix("~/").ok().zip(self.find_home_path()).map_or(path.clone(), |(rest, home)| home.join(rest))
            })
            .or_else(|| Some(self.find_home_path()?.join(beside)))
    }
}

impl Env for EnvVars {
    fn var(&self, key: &str) -> Option<String> {
        self.0.get(key).cloned()
    }

    fn vars(&self) -> HashMap<String, String> {
        self.0.clone()
    }

    fn home_dir(&self) -> Option<PathBuf> {
        self.find_home_path()
    }
}

/// Returns the context in which credentials are fetched: `far` for services of the internet, `near` for those of the machine, which
/// is asked directly.
pub(super) fn build_credentials_context(variables: EnvVars, far: Agent, near: Agent) -> Context {
    let wire = CredentialHttp { variables: variables.clone(), proxied_agent: far, direct_agent: near };
    Context::new()
        .with_file_read(CredentialFiles)
        .with_http_send(wire)
        .with_env(variables)
        .with_command_execute(CredentialPrograms)
}

#[derive(Debug)]
struct CredentialFiles;

impl FileRead for CredentialFiles {
    async fn file_read(&self, path: &str) -> Result<Vec<u8>> {
        let text = crate::bytes::read_text(std::path::Path::new(path), 1 << 20);
        text.map(|text| text.to_vec()).map_err(|error| Error::config_invalid(error.to_string()))
    }
}

#[derive(Debug)]
struct CredentialPrograms;

impl CommandExecute for CredentialPrograms {
    async fn command_execute<'a>(&'a self, program: &'a str, args: &'a [&'a str]) -> Result<CommandOutput> {
        let mut command = std::process::Command::new(program);
        let output = command.args(args).stdin(std::process::Stdio::null()).output();
        let output = output.map_err(|error| Error::config_invalid(format!("cannot run {program}")).with_source(error))?;
        Ok(CommandOutput { status: output.status.code().unwrap_or(-1), stdout: output.stdout, stderr: output.stderr })
    }
}

#[derive(Debug)]
struct CredentialHttp {
    variables: EnvVars,
    proxied_agent: Agent,
    direct_agent: Agent,
}

impl CredentialHttp {
    /// The address of a service of Amazon, at the endpoint that a variable names for it.
    fn with_endpoint(&self, uri: &http::Uri) -> Option<http::Uri> {
        let host = uri.host()?;
        let variable = match host {
            _ if !host.ends_with(".amazonaws.com") => return None,
            _ if host.starts_with("sts.") => "AWS_ENDPOINT_URL_STS",
            _ if host.starts_with("portal.sso.") => "AWS_ENDPOINT_URL_SSO",
            _ => return None,
        };
        let endpoint = self.variables.get(&[variable])?;
        let path = uri.path_and_query().map_or("/", http::uri::PathAndQuery::as_str);
        format!("{}{path}", endpoint.trim_end_matches('/')).parse().ok()
    }

    fn send_once(
        &self,
        request: &http::Request<Bytes>,
    ) -> std::result::Result<(http::Response<Bytes>, Option<Duration>), ureq::Error> {
        let (mut parts, body) = request.clone().into_parts();
        if let Some(uri) = self.with_endpoint(&parts.uri) {
            parts.uri = uri;
            parts.headers.remove(http::header::HOST);
        }
        let agent = if parts.uri.scheme_str() == Some("http") { &self.direct_agent } else { &self.proxied_agent };
        let mut response = agent.run(http::Request::from_parts(parts, body.to_vec()))?;
        let header = |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok());
        let wait = header("retry-after").and_then(|text| parse_retry_after(text, header("date")));
        let content = response.body_mut().with_config().limit(MAX_RESPONSE_LEN).read_to_vec()?;
        let (parts, _) = response.into_parts();
        Ok((http::Response::from_parts(parts, Bytes::from(content)), wait))
    }
}

impl HttpSend for CredentialHttp {
    async fn http_send(&self, request: http::Request<Bytes>) -> Result<http::Response<Bytes>> {
        let mut tries = 0;
        loop {
            let sent = self.send_once(&request);
            let (again, wait) = match &sent {
                Ok((response, wait)) => (matches!(response.status().as_u16(), 429 | 500 | 502..=504), *wait),
                Err(ureq::Error::Io(_) | ureq::Error::ConnectionFailed) => (request.uri().scheme_str() != Some("http"), None),
                Err(_) => (false, None),
            };
            tries += 1;
            if !again || tries > MAX_RETRIES {
                // The error names neither the request nor the response, because both hold secrets.
                let host = request.uri().host().unwrap_or_default().to_owned();
                return sent.map(|(response, _)| response).map_err(|_| Error::unexpected(format!("{host} does not answer")));
            }
            std::thread::sleep(wait.unwrap_or(Duration::from_millis(100 << tries)).min(MAX_BACKOFF));
        }
    }
}
