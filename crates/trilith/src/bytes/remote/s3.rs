//! Objects in S3 and in what speaks its protocol: where they are, and who asks for them.
//!
//! Credentials come from where the AWS tools look first: the environment, then a profile of the shared
//! files. Requests are signed in their headers.

use std::path::PathBuf;
use std::time::SystemTime;

use rusty_s3::{Bucket, Credentials, UrlStyle};
use url::Url;

use super::options::RemoteOptions;
use super::sign::{Login, signed};
use crate::error::{Context, Error, Result, Setting};

/// A bucket and who asks.
#[derive(Debug)]
pub(super) struct Store {
    endpoint: Option<Url>,
    path_style: bool,
    bucket: String,
    region: String,
    credentials: Option<Credentials>,
}

/// Settings from the environment and the shared files.
struct Settings {
    profile: String,
    /// `true` if somebody chose the profile.
    chosen: bool,
    sections: Vec<(String, Vec<(String, String)>)>,
}

impl Store {
    /// The bucket as the environment describes it; without `credentials` the requests are not signed.
    pub(super) fn new(bucket: &str, options: &RemoteOptions, credentials: bool) -> Result<Self> {
        let settings = if options.environment { Settings::read()? } else { Settings::none() };
        let env = |name| if options.environment { env(name) } else { None };
        let endpoint = env("AWS_ENDPOINT_URL_S3").or_else(|| env("AWS_ENDPOINT_URL")).or_else(|| settings.value("endpoint_url"));
        let endpoint = endpoint
            .map(|text| Url::parse(&text).map_err(|e| Error::usage(format!("AWS_ENDPOINT_URL={text} is not an address: {e}"))));
        let endpoint = endpoint.transpose()?;
        let region = env("AWS_REGION").or_else(|| env("AWS_DEFAULT_REGION")).or_else(|| settings.value("region"));
        let credentials = if credentials && options.environment && !options.anonymous { settings.credentials()? } else { None };
        // A certificate covers one label before the endpoint, and a host name has no capitals.
        let plain = bucket.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
        let path_style = options.path_style.unwrap_or(endpoint.is_some() || !plain);
        let region = region.unwrap_or_else(|| "us-east-1".to_owned());
        Ok(Self { endpoint, path_style, bucket: bucket.to_owned(), region, credentials })
    }

    /// The same bucket in the region where it is said to be.
    pub(super) fn moved_to(&mut self, region: &str) -> bool {
        let sane = !region.is_empty() && region.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
        let news = sane && region != self.region;
        if news {
            region.clone_into(&mut self.region);
        }
        news
    }

    /// Returns `true` if requests are signed.
    pub(super) fn is_signed(&self) -> bool {
        self.credentials.is_some()
    }

    /// The address of the object, and what signs a request of it.
    pub(super) fn request(&self, key: &str) -> Result<(Url, Option<Login>)> {
        let endpoint = match &self.endpoint {
            Some(endpoint) => endpoint.clone(),
            None => Url::parse(&format!("https://s3.{}.amazonaws.com", self.region))
                .map_err(|_| Error::usage(format!("{:?} is not a region of S3", self.region)))?,
        };
        let style = if self.path_style { UrlStyle::Path } else { UrlStyle::VirtualHost };
        let bucket = Bucket::new(endpoint, style, self.bucket.clone(), self.region.clone())
            .map_err(|e| Error::usage(format!("bucket {:?}: {e}", self.bucket)).setting("", Setting::Remote("style=path")))?;
        let url = bucket.object_url(key);
        let login = self.credentials.as_ref().map(|who| signed(&url, &self.region, who, SystemTime::now()));
        Ok((url, login))
    }
}

impl Settings {
    /// Nothing is said.
    fn none() -> Self {
        Self { profile: String::new(), chosen: false, sections: Vec::new() }
    }

    fn read() -> Result<Self> {
        let chosen = env("AWS_PROFILE").or_else(|| env("AWS_DEFAULT_PROFILE"));
        let home = env("HOME").or_else(|| env("USERPROFILE")).map(PathBuf::from);
        let beside = |name: &str| home.as_ref().map(|home| home.join(".aws").join(name));
        let mut sections = Vec::new();
        for (variable, name) in [("AWS_SHARED_CREDENTIALS_FILE", "credentials"), ("AWS_CONFIG_FILE", "config")] {
            let Some(path) = env(variable).map(PathBuf::from).or_else(|| beside(name)).filter(|path| path.is_file()) else {
                continue;
            };
            let text = super::super::read_text(&path, 1 << 20).doing(|| format!("reading {}", path.display()))?;
            sections.extend(parse(&String::from_utf8_lossy(&text)));
        }
        Ok(Self { profile: chosen.clone().unwrap_or_else(|| "default".to_owned()), chosen: chosen.is_some(), sections })
    }

    /// The value of a key in the profile.
    fn value(&self, key: &str) -> Option<String> {
        let own = self.sections.iter().filter(|(name, _)| *name == self.profile);
        own.flat_map(|(_, pairs)| pairs).find(|(name, _)| name == key).map(|(_, value)| value.clone())
    }

    /// The environment's credentials, or else those of the profile; None asks without a name.
    fn credentials(&self) -> Result<Option<Credentials>> {
        // A profile that somebody chose is meant, whatever else the environment holds.
        if !self.chosen
            && let Some(found) = Credentials::from_env()
        {
            return Ok(Some(found));
        }
        match (self.value("aws_access_key_id"), self.value("aws_secret_access_key"), self.value("aws_session_token")) {
            (Some(key), Some(secret), Some(token)) => Ok(Some(Credentials::new_with_token(key, secret, token))),
            (Some(key), Some(secret), None) => Ok(Some(Credentials::new(key, secret))),
            _ if self.chosen => Err(Error::unsupported(format!("the AWS profile {:?} holds no access key", self.profile))
                .hint("only keys in the shared files are read; `aws configure export-credentials --format env` gives others")),
            _ => Ok(None),
        }
    }
}

/// A variable of the environment that says something.
fn env(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.trim().is_empty())
}

/// The sections of a shared file, `profile NAME` as NAME; indented lines belong to the key above them.
fn parse(text: &str) -> Vec<(String, Vec<(String, String)>)> {
    let mut sections: Vec<(String, Vec<(String, String)>)> = Vec::new();
    for line in text.lines() {
        let indented = line.starts_with([' ', '\t']);
        let line = line.trim();
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.split_once(']')).map(|(name, _)| name.trim()) {
            let name = name.strip_prefix("profile").filter(|rest| rest.starts_with([' ', '\t'])).map_or(name, str::trim);
            sections.push((name.to_owned(), Vec::new()));
        } else if let (false, Some((key, value)), Some((_, pairs))) = (indented, line.split_once('='), sections.last_mut()) {
            let value = value.split(" #").next().unwrap_or(value).trim();
            pairs.push((key.trim().to_ascii_lowercase(), value.to_owned()));
        }
    }
    sections
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(text: &str, profile: &str) -> Settings {
        Settings { profile: profile.to_owned(), chosen: true, sections: parse(text) }
    }

    #[test]
    fn a_profile_is_read_from_either_file() {
        let text = "[default]\naws_access_key_id = A\naws_secret_access_key=B # mine\n\n\
                    [profile other]\nregion = eu-west-1\ns3 =\n    endpoint_url = https://nested.example\n\
                    [other]\naws_access_key_id=C\naws_secret_access_key=D==\naws_session_token=E\n[sso]\nsso_session=x\n";
        assert_eq!(settings(text, "other").value("region").as_deref(), Some("eu-west-1"));
        assert_eq!(settings(text, "other").value("endpoint_url"), None);
        assert_eq!(settings(text, "other").credentials().unwrap().unwrap(), Credentials::new_with_token("C", "D==", "E"));
        assert_eq!(settings(text, "default").credentials().unwrap().unwrap(), Credentials::new("A", "B"));
        let error = settings(text, "sso").credentials().unwrap_err();
        assert_eq!(error.kind(), crate::ErrorKind::Unsupported);
    }

    fn store(endpoint: Option<&str>, path_style: bool) -> Store {
        Store {
            endpoint: endpoint.map(|text| Url::parse(text).unwrap()),
            path_style,
            bucket: "bucket".to_owned(),
            region: "eu-west-1".to_owned(),
            credentials: None,
        }
    }

    #[test]
    fn the_bucket_goes_into_the_path_or_into_the_host() {
        let address = |store: Store| store.request("a b/x.asdf").unwrap().0.to_string();
        assert_eq!(address(store(Some("http://localhost:9000"), true)), "http://localhost:9000/bucket/a%20b/x.asdf");
        assert_eq!(address(store(None, false)), "https://bucket.s3.eu-west-1.amazonaws.com/a%20b/x.asdf");
        let mut moved = store(None, false);
        assert!(moved.moved_to("us-west-2") && !moved.moved_to("us-west-2") && !moved.moved_to("evil.example/"));
        assert_eq!(address(moved), "https://bucket.s3.us-west-2.amazonaws.com/a%20b/x.asdf");
    }
}
