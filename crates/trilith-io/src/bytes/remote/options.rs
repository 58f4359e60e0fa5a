//! Options for remote files: sizes, times, and permissions.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::address::Prefix;
use crate::error::{Error, Result};
use crate::limits::{for_each_env_assignment, parse_size};

/// Called now and then with the bytes that a download brought so far, and how many there will be if that
/// is known.
pub type DownloadProgress = Arc<dyn Fn(u64, Option<u64>) + Send + Sync>;

/// Options for reading remote files, and for writing objects.
///
/// ```
/// use trilith_io::bytes::RemoteOptions;
/// let mut options = RemoteOptions::default();
/// options.set("cache=256M")?;
/// options.allow("https://data.example.org/shared/")?;
/// assert_eq!(options.cache, 256 << 20);
/// # Ok::<(), trilith_io::Error>(())
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct RemoteOptions {
    /// Time without any data after which a request counts as failed.
    pub timeout: Duration,
    /// Number of times a request is repeated after 5xx, resets and timeouts without data.
    pub retries: u32,
    /// Requests under way at the same time.
    pub in_flight: usize,
    /// Bytes of one file kept in memory.
    pub cache: u64,
    /// Folder that keeps bytes between runs, if there is one.
    pub cache_dir: Option<PathBuf>,
    /// Bytes kept in that directory.
    pub cache_disk: u64,
    /// Bytes at the front of a file that may be read through if the server gives no ranges.
    pub unranged_limit: u64,
    /// `true` if the work reads all of the file anyway: if the server gives no ranges, up to `spool` bytes are
    /// then read through, once.
    pub whole: bool,
    /// Bytes of the temporary file that such work may need.
    pub spool: u64,
    /// `true` if a file of any size may be fetched whole if the server gives no ranges.
    pub download: bool,
    /// Whether proxies, certificates, and the credentials, regions and endpoints of object stores are taken from where the
    /// tools of these services look: environment variables (`HTTPS_PROXY`, `SSL_CERT_FILE`, `AWS_…`, `GOOGLE_…`, `AZURE_…`)
    /// and their files. Without it only credentials given by [`RemoteOptions::from_storage_options`] are sent.
    pub environment: bool,
    /// `true` if no credentials are sent to object stores.
    pub anonymous: bool,
    /// `true` if a written object may replace one that exists.
    pub overwrite: bool,
    /// Bytes of each part of a large object that is written.
    pub part: u64,
    /// Place of the bucket in S3 URLs: the path (true) or the host name (false).
    pub path_style: Option<bool>,
    /// Places of objects, and credentials.
    pub(super) store: StoreOptions,
    /// Places outside of the folder of a file to which its references may lead.
    pub(super) allowed: Vec<Prefix>,
    /// Progress callback.
    pub watch: Option<DownloadProgress>,
}

/// Places of objects, and credentials.
#[derive(Clone, Default)]
pub(super) struct StoreOptions {
    pub(super) endpoint: Option<String>,
    pub(super) region: Option<String>,
    pub(super) profile: Option<String>,
    pub(super) account: Option<String>,
    pub(super) project: Option<String>,
    pub(super) requester_pays: bool,
    pub(super) key: Option<String>,
    pub(super) secret: Option<String>,
    pub(super) token: Option<String>,
    pub(super) sas: Option<String>,
    pub(super) connection_string: Option<String>,
}

impl StoreOptions {
    /// All that is set, secrets included: what a login depends on. Not to be shown.
    pub(super) fn secret_fields(&self) -> Vec<&Option<String>> {
        let Self { endpoint, region, profile, account, project, key, secret, token, sas, connection_string, requester_pays: _ } =
            self;
        vec![endpoint, region, profile, account, project, key, secret, token, sas, connection_string]
    }
}

impl Default for RemoteOptions {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(30),
            retries: 4,
            in_flight: 8,
            cache: 64 << 20,
            cache_dir: None,
            cache_disk: 1 << 30,
            unranged_limit: 64 << 20,
            whole: false,
            spool: 4 << 30,
            download: false,
            environment: false,
            anonymous: false,
            overwrite: false,
            part: 16 << 20,
            path_style: None,
            store: StoreOptions::default(),
            allowed: Vec::new(),
            watch: None,
        }
    }
}

impl fmt::Debug for RemoteOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RemoteOptions")
            .field("timeout", &self.timeout)
            .field("retries", &self.retries)
            .field("in_flight", &self.in_flight)
            .field("cache", &self.cache)
            .field("cache_dir", &self.cache_dir)
            .field("download", &self.download)
            .field("allowed", &self.allowed)
            .finish_non_exhaustive()
    }
}

impl RemoteOptions {
    /// Returns the number of bytes that may be read of a file whose server supports no ranges.
    pub(super) fn max_unranged_size(&self) -> u64 {
        match (self.download, self.whole) {
            (true, _) => u64::MAX,
            (false, true) => self.unranged_limit.max(self.spool),
            (false, false) => self.unranged_limit,
        }
    }

    /// The names that [`RemoteOptions::set`] accepts.
    pub const OPTION_NAMES: &'static [&'static str] = &[
        "timeout",
        "retries",
        "in-flight",
        "cache",
        "cache-dir",
        "cache-disk",
        "stream",
        "spool",
        "download",
        "anonymous",
        "overwrite",
        "part",
        "style",
        "endpoint",
        "region",
        "profile",
        "account",
        "project",
        "requester-pays",
    ];

    /// Sets one option from `name=value`: seconds for `timeout`, sizes as 64M for `cache`, `cache-disk`,
    /// `stream`, `spool` and `part`, a path for `cache-dir`, `yes` or `no`, `path` or `virtual` for `style`, and strings for the place
    /// of a bucket: `endpoint`, `region`, `profile`, `account`, `project`.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for an unknown name or value.
    pub fn set(&mut self, assignment: &str) -> Result<()> {
        let (name, value) = assignment.split_once('=').ok_or_else(|| {
            Error::invalid_input(format!(
                "cannot set the remote option {assignment:?}: expected NAME=VALUE, such as anonymous=yes"
            ))
        })?;
        let number = || parse_size(value);
        let small = || number().map(|n| usize::try_from(n).unwrap_or(usize::MAX));
        let truth = || match value {
            "yes" | "true" | "1" => Ok(true),
            "no" | "false" | "0" => Ok(false),
            _ => Err(Error::invalid_input(format!("{value:?} is neither yes nor no"))),
        };
        let text = Some(value.to_owned()).filter(|text| !text.is_empty());
        match name {
            "timeout" => {
                let seconds = value.parse::<f64>().ok().filter(|s| (0.001..=1e6).contains(s));
                let seconds = seconds.ok_or_else(|| Error::invalid_input(format!("{value:?} is not a number of seconds")))?;
                self.timeout = Duration::from_secs_f64(seconds);
            }
            "retries" => self.retries = u32::try_from(number()?).unwrap_or(u32::MAX).min(100),
            "in-flight" => self.in_flight = small()?.clamp(1, 64),
            "cache" => self.cache = number()?,
            "cache-dir" => self.cache_dir = Some(PathBuf::from(value)).filter(|_| !value.is_empty()),
            "cache-disk" => self.cache_disk = number()?,
            "stream" => self.unranged_limit = number()?,
            "spool" => self.spool = number()?,
            "download" => self.download = truth()?,
            "anonymous" => self.anonymous = truth()?,
            "overwrite" => self.overwrite = truth()?,
            "part" => self.part = number()?.clamp(256 << 10, 1 << 30).next_multiple_of(256 << 10),
            "style" => {
                self.path_style = Some(match value {
                    "path" => true,
                    "virtual" => false,
                    _ => return Err(Error::invalid_input(format!("{value:?} is neither path nor virtual"))),
                });
            }
            "endpoint" => self.store.endpoint = text,
            "region" => self.store.region = text,
            "profile" => self.store.profile = text,
            "account" => self.store.account = text,
            "project" => self.store.project = text,
            "requester-pays" => self.store.requester_pays = truth()?,
            _ => {
                return Err(Error::unknown("remote option", name, Self::OPTION_NAMES.iter().copied()));
            }
        }
        Ok(())
    }

    /// Sets one option by the name that fsspec uses: `anon`, `key`, `secret`, `token`, `endpoint_url`, `region_name`,
    /// `profile`, `requester_pays` (s3fs), `token`, `project`, `requester_pays` (gcsfs), `account_name`, `account_key`,
    /// `sas_token`, `connection_string` (adlfs), or by a name of [`RemoteOptions::set`], with `_` or `-`. These options go before
    /// the environment.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if the name or the value is unknown.
    pub fn from_storage_options(&mut self, name: &str, value: &str) -> Result<()> {
        let text = Some(value.to_owned()).filter(|text| !text.is_empty());
        match name {
            "anon" => self.set(&format!("anonymous={}", value.to_ascii_lowercase()))?,
            // The names of gcsfs.
            "token" if value == "anon" => self.anonymous = true,
            "key" | "account_key" | "access_key_id" => self.store.key = text,
            "secret" | "secret_access_key" => self.store.secret = text,
            "token" | "session_token" => self.store.token = text,
            "sas_token" => self.store.sas = text,
            "connection_string" => self.store.connection_string = text,
            "endpoint_url" | "endpoint" | "account_host" => self.store.endpoint = text,
            "region_name" | "region" => self.store.region = text,
            "account_name" => self.store.account = text,
            "profile" | "project" => self.set(&format!("{name}={value}"))?,
            "requester_pays" => self.set(&format!("requester-pays={}", value.to_ascii_lowercase()))?,
            _ => {
                let own = name.replace('_', "-");
                if !Self::OPTION_NAMES.contains(&own.as_str()) {
                    let known = Self::STORAGE_OPTION_NAMES.iter().chain(Self::OPTION_NAMES);
                    return Err(Error::unknown("storage option", name, known.copied()));
                }
                self.set(&format!("{own}={value}"))?;
            }
        }
        Ok(())
    }

    /// The names that [`RemoteOptions::from_storage_options`] accepts besides those of [`RemoteOptions::set`].
    pub const STORAGE_OPTION_NAMES: &'static [&'static str] = &[
        "anon",
        "key",
        "secret",
        "token",
        "endpoint_url",
        "region_name",
        "profile",
        "requester_pays",
        "project",
        "account_name",
        "account_key",
        "sas_token",
        "connection_string",
    ];

    /// The defaults with [`RemoteOptions::environment`], changed by the environment variable `TRILITH_REMOTE`
    /// (`name=value,…`).
    ///
    /// # Errors
    /// Returns the errors of [`RemoteOptions::set`].
    pub fn from_env() -> Result<Self> {
        let mut options = Self { environment: true, ..Self::default() };
        for_each_env_assignment("TRILITH_REMOTE", |assignment| options.set(assignment))?;
        Ok(options)
    }

    /// Allows external references to URLs with the prefix `prefix`: `https://host/folder/`,
    /// `s3://bucket/`, or `https://` for every public host.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if the prefix is not the beginning of a URL.
    pub fn allow(&mut self, prefix: &str) -> Result<()> {
        self.allowed.push(Prefix::parse(prefix)?);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_set_by_name_reject_wrong_values() {
        let mut options = RemoteOptions::default();
        for good in ["timeout=0.5", "retries=0", "in-flight=3", "cache-dir=x", "stream=1G", "download=yes", "style=path"] {
            options.set(good).unwrap();
        }
        assert_eq!((options.timeout, options.in_flight, options.path_style), (Duration::from_millis(500), 3, Some(true)));
        for bad in ["timeout=-1", "timeout=x", "style=x", "download=perhaps", "nothing=1", "cache"] {
            assert!(options.set(bad).is_err(), "{bad}");
        }
    }
}
