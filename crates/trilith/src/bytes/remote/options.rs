//! Options for reading remote files: sizes, times, and permissions.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::address::Prefix;
use crate::error::{Error, Result};
use crate::limits::parse_size;

/// Called now and then with the bytes that a download brought so far, and how many there will be if that
/// is known.
pub type Watch = Arc<dyn Fn(u64, Option<u64>) + Send + Sync>;

/// Options for reading remote files.
///
/// ```
/// use trilith::bytes::RemoteOptions;
/// let mut options = RemoteOptions::default();
/// options.set("cache=256M")?;
/// options.allow("https://data.example.org/shared/")?;
/// assert_eq!(options.cache, 256 << 20);
/// # Ok::<(), trilith::Error>(())
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
    pub stream: u64,
    /// `true` if the work reads all of the file anyway: if the server gives no ranges, up to `spool` bytes are
    /// then read through, once.
    pub whole: bool,
    /// Bytes of the temporary file that such work may need.
    pub spool: u64,
    /// `true` if a file of any size may be fetched whole if the server gives no ranges.
    pub download: bool,
    /// `true` if proxies, certificates, and the credentials, region and endpoint of S3 are taken from where the
    /// tools of these services look: variables of the environment (`HTTPS_PROXY`, `SSL_CERT_FILE`, `AWS_…`) and the
    /// shared files of AWS. Without it S3 is asked without a name.
    pub environment: bool,
    /// `true` if to send no credentials to S3.
    pub anonymous: bool,
    /// Place of the bucket in S3 URLs: the path (true) or the host name (false).
    pub path_style: Option<bool>,
    /// URLs besides its own folder that the references of a file may lead to.
    pub(super) allowed: Vec<Prefix>,
    /// Progress callback.
    pub watch: Option<Watch>,
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
            stream: 64 << 20,
            whole: false,
            spool: 4 << 30,
            download: false,
            environment: false,
            anonymous: false,
            path_style: None,
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
    pub(super) fn reach(&self) -> u64 {
        match (self.download, self.whole) {
            (true, _) => u64::MAX,
            (false, true) => self.stream.max(self.spool),
            (false, false) => self.stream,
        }
    }

    /// The names that [`RemoteOptions::set`] knows.
    pub const NAMES: &'static [&'static str] = &[
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
        "style",
    ];

    /// Sets one option from `name=value`: seconds for `timeout`, sizes as 64M for `cache`, `cache-disk`,
    /// `stream` and `spool`, a path for `cache-dir`, `yes` or `no`, and `path` or `virtual` for `style`.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Usage`](crate::ErrorKind::Usage) for an unknown name or value.
    pub fn set(&mut self, assignment: &str) -> Result<()> {
        let (name, value) = assignment
            .split_once('=')
            .ok_or_else(|| Error::usage(format!("remote option {assignment:?} is not of the form NAME=VALUE")))?;
        let number = || parse_size(value);
        let small = || number().map(|n| usize::try_from(n).unwrap_or(usize::MAX));
        let truth = || match value {
            "yes" | "true" | "1" => Ok(true),
            "no" | "false" | "0" => Ok(false),
            _ => Err(Error::usage(format!("{value:?} is neither yes nor no"))),
        };
        match name {
            "timeout" => {
                let seconds = value.parse::<f64>().ok().filter(|s| (0.001..=1e6).contains(s));
                let seconds = seconds.ok_or_else(|| Error::usage(format!("{value:?} is not a number of seconds")))?;
                self.timeout = Duration::from_secs_f64(seconds);
            }
            "retries" => self.retries = u32::try_from(number()?).unwrap_or(u32::MAX).min(100),
            "in-flight" => self.in_flight = small()?.clamp(1, 64),
            "cache" => self.cache = number()?,
            "cache-dir" => self.cache_dir = Some(PathBuf::from(value)).filter(|_| !value.is_empty()),
            "cache-disk" => self.cache_disk = number()?,
            "stream" => self.stream = number()?,
            "spool" => self.spool = number()?,
            "download" => self.download = truth()?,
            "anonymous" => self.anonymous = truth()?,
            "style" => {
                self.path_style = Some(match value {
                    "path" => true,
                    "virtual" => false,
                    _ => return Err(Error::usage(format!("{value:?} is neither path nor virtual"))),
                });
            }
            _ => {
                return Err(Error::unknown("remote option", name, Self::NAMES.iter().copied()));
            }
        }
        Ok(())
    }

    /// The defaults with [`RemoteOptions::environment`], changed by the environment variable `TRILITH_REMOTE`
    /// (`name=value,…`).
    ///
    /// # Errors
    /// Returns the errors of [`RemoteOptions::set`].
    pub fn from_env() -> Result<Self> {
        let mut options = Self { environment: true, ..Self::default() };
        if let Ok(list) = std::env::var("TRILITH_REMOTE") {
            for assignment in list.split(',').filter(|part| !part.trim().is_empty()) {
                options.set(assignment.trim()).map_err(|e| e.context("TRILITH_REMOTE"))?;
            }
        }
        Ok(options)
    }

    /// Lets references out of a file lead to addresses that begin with `prefix`: `https://host/folder/`,
    /// `s3://bucket/`, or `https://` for every public host.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Usage`](crate::ErrorKind::Usage) if that is no beginning of an address.
    pub fn allow(&mut self, prefix: &str) -> Result<()> {
        self.allowed.push(Prefix::parse(prefix)?);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_set_by_name_and_a_wrong_value_is_named() {
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
