//! Buckets of object stores: the services, the URLs that name an object, and the hosts of Azure.

use url::Url;

use crate::bytes::percent_decode;

/// The services that keep objects in buckets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum ObjectService {
    /// Amazon S3, and what speaks its protocol.
    S3,
    /// Google Cloud Storage.
    Google,
    /// Azure Blob Storage, where a bucket is a container of an account.
    Azure,
}

/// A bucket, as a URL names it.
#[derive(Debug, Clone)]
pub(super) struct Bucket {
    pub(super) service: ObjectService,
    pub(super) name: String,
    /// The host of an Azure account, if the URL has it.
    pub(super) host: Option<String>,
    /// The URL without slash and key.
    pub(super) as_written: String,
}

impl PartialEq for Bucket {
    /// Compares what is named, not the form of the URL.
    fn eq(&self, other: &Self) -> bool {
        (self.service, &self.name, &self.host) == (other.service, &other.name, &other.host)
    }
}

impl Eq for Bucket {}

/// The endings of the hosts of Azure, by cloud; credentials go to no other.
const AZURE: [&str; 4] = ["core.windows.net", "core.usgovcloudapi.net", "core.chinacloudapi.cn", "fabric.microsoft.com"];

/// The schemes of buckets, and their services.
pub(super) fn service_from_scheme(scheme: &str) -> Option<ObjectService> {
    Some(match scheme {
        "s3" | "s3a" => ObjectService::S3,
        "gs" | "gcs" => ObjectService::Google,
        "az" | "azure" | "abfs" | "abfss" => ObjectService::Azure,
        _ => return None,
    })
}

/// Divides the URL of an object into its bucket and the rest, which is taken literally, or percent-decoded if the
/// URL is of the web. Returns `None` if `text` is not a URL of an object, and the reason if it is a wrong one.
pub(super) fn parse_object_url(text: &str) -> Option<Result<(Bucket, String), &'static str>> {
    let (scheme, rest) = text.split_once("://")?;
    let scheme = scheme.to_ascii_lowercase();
    if let Some(service) = service_from_scheme(&scheme) {
        return Some(from_parts(service, &scheme, rest));
    }
    if scheme == "https" { from_web_url(text).map(Ok) } else { None }
}

fn from_parts(service: ObjectService, scheme: &str, rest: &str) -> Result<(Bucket, String), &'static str> {
    let (place, key) = rest.split_once('/').unwrap_or((rest, ""));
    let (name, host) = match place.split_once('@') {
        Some((name, host)) if service == ObjectService::Azure => (name, Some(blob_host(host).ok_or(AZURE_FORM)?)),
        _ => (place, None),
    };
    let sane = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._$".contains(&b));
    if !sane {
        return Err(match service {
            ObjectService::S3 => "expected s3://BUCKET/KEY",
            ObjectService::Google => "expected gs://BUCKET/OBJECT",
            ObjectService::Azure => AZURE_FORM,
        });
    }
    let written = format!("{scheme}://{place}");
    Ok((Bucket { service, name: name.to_owned(), host, as_written: written }, key.to_owned()))
}

const AZURE_FORM: &str = "expected az://CONTAINER/BLOB or abfss://CONTAINER@ACCOUNT.dfs.core.windows.net/BLOB";

/// The host that serves the blobs of an account, from its name, or from one of its hosts.
pub(super) fn blob_host(text: &str) -> Option<String> {
    let text = text.to_ascii_lowercase();
    let is_label = |label: &str| !label.is_empty() && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    if is_label(&text) {
        return Some(format!("{text}.blob.core.windows.net"));
    }
    let (account, rest) = text.split_once('.')?;
    let (kind, cloud) = rest.split_once('.')?;
    let known = is_label(account) && matches!(kind, "blob" | "dfs") && AZURE.contains(&cloud);
    known.then(|| format!("{account}.blob.{cloud}"))
}

/// A blob at the host of its account. One with a query is left alone: it needs only its signature.
fn from_web_url(text: &str) -> Option<(Bucket, String)> {
    let url = Url::parse(text).ok()?;
    let plain = url.query().is_none() && url.username().is_empty() && url.password().is_none() && url.port().is_none();
    let host = url.host_str().filter(|host| plain && host.contains('.')).and_then(blob_host)?;
    let (name, key) = url.path().strip_prefix('/')?.split_once('/')?;
    let key = percent_decode(key)?;
    let written = format!("https://{host}/{name}");
    (!name.is_empty())
        .then(|| (Bucket { service: ObjectService::Azure, name: name.to_owned(), host: Some(host), as_written: written }, key))
}

/// Splits the key of an object of S3 and the version of it that `?versionId=` after the key names.
pub(super) fn split_version(key: &str) -> (&str, Option<&str>) {
    match key.rsplit_once("?versionId=") {
        Some((key, version)) if !key.is_empty() && !version.is_empty() => (key, Some(version)),
        _ => (key, None),
    }
}

/// Percent-encodes a key as the signatures of all services do: all but letters, digits, `-._~` and the slashes.
pub(super) fn encoded_key(key: &str) -> String {
    const KEY: &percent_encoding::AsciiSet =
        &percent_encoding::NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'/');
    percent_encoding::utf8_percent_encode(key, KEY).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bucket_urls_of_all_tools_name_same_object() {
        for (text, service, name, host, key) in [
            ("s3://b/k/x.asdf", ObjectService::S3, "b", None, "k/x.asdf"),
            ("S3A://b/a b%20", ObjectService::S3, "b", None, "a b%20"),
            ("gs://b.example/k", ObjectService::Google, "b.example", None, "k"),
            ("gcs://b/k", ObjectService::Google, "b", None, "k"),
            ("az://c/k", ObjectService::Azure, "c", None, "k"),
            ("abfs://c/k", ObjectService::Azure, "c", None, "k"),
            ("abfss://c@a.dfs.core.windows.net/d/k", ObjectService::Azure, "c", Some("a.blob.core.windows.net"), "d/k"),
            ("az://c@a/k", ObjectService::Azure, "c", Some("a.blob.core.windows.net"), "k"),
            ("https://a.blob.core.windows.net/c/d%20e/k", ObjectService::Azure, "c", Some("a.blob.core.windows.net"), "d e/k"),
            ("https://A.dfs.core.chinacloudapi.cn/c/k", ObjectService::Azure, "c", Some("a.blob.core.chinacloudapi.cn"), "k"),
        ] {
            let (bucket, found) = parse_object_url(text).unwrap().unwrap();
            assert_eq!(
                (bucket.service, bucket.name.as_str(), bucket.host.as_deref(), found.as_str()),
                (service, name, host, key)
            );
        }
        for web in
            ["https://a.example/c/k", "https://a.blob.core.windows.net/c/k?sig=x", "http://a.blob.core.windows.net/c/k", "x"]
        {
            assert!(parse_object_url(web).is_none(), "{web}");
        }
        for bad in [
            "s3:///k",
            "s3://u@b/k",
            "gs://b:1/k",
            "abfss://c@evil.example/k",
            "abfss://c@a.blob.core.windows.net.evil.example/k",
        ] {
            assert!(parse_object_url(bad).unwrap().is_err(), "{bad}");
        }
    }

    #[test]
    fn key_encoding_matches_signatures() {
        assert_eq!(encoded_key("a b+c%/ä=:@.asdf~_-"), "a%20b%2Bc%25/%C3%A4%3D%3A%40.asdf~_-");
    }
}
