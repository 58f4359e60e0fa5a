//! The objects that a pattern or a folder in a bucket means.
//!
//! One level of names is one listing, page by page; the levels below go on side by side. Only `**` and folders list everything that
//! begins so.

use std::sync::Mutex;

use serde_json::Value;
use ureq::http::Method;

use super::address::Address;
use super::bucket::{Bucket, ObjectService, encoded_key, parse_object_url, split_version};
use super::client::{RemoteTarget, RequestSpec};
use super::fetch::retry_loop;
use super::options::RemoteOptions;
use super::response::Failure;
use super::store::ServiceEndpoint;
use crate::error::{Error, Result};
use crate::glob::{GlobPattern, fits};
use crate::percent::strictly_decoded;
use crate::threads::{for_each_concurrent, lock};

/// Maximum number of bytes of a page.
const MAX_PAGE_BYTES: u64 = 64 << 20;
/// Maximum number of objects: the names of more would fill the memory.
const MAX_OBJECTS: usize = 10_000_000;

/// The meaning of a name in a bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListRequest {
    /// Objects whose keys fit a pattern.
    Pattern,
    /// All objects whose keys begin with a prefix that ends with a slash.
    Folder,
}

/// Returns the kind of a bucket URL that selects several objects. Returns None if it selects one object, or if it is not the URL
/// of a bucket.
pub fn classify_bucket_url(url: &str) -> Option<ListRequest> {
    let (bucket, key) = parse_object_url(url)?.ok()?;
    if bucket.service == ObjectService::S3 && split_version(&key).1.is_some() {
        return None;
    }
    // A blob at its address in the web has an address, not a pattern.
    let is_web = url.get(..6).is_some_and(|start| start.eq_ignore_ascii_case("https:"));
    if !is_web && GlobPattern::is_pattern(&key) {
        return Some(ListRequest::Pattern);
    }
    (key.is_empty() || key.ends_with('/')).then_some(ListRequest::Folder)
}

/// Returns the URLs of all objects that a pattern or a folder in a bucket selects, in the order of their keys. Keys with a part
/// that begins with a point are left out, unless `hidden` is set or the pattern names the point. In a folder, only keys count for
/// which `is_known` returns `true`.
///
/// # Errors
/// Returns [`ErrorKind::Io`](crate::ErrorKind::Io) if the service does not list the bucket.
pub fn objects(url: &str, hidden: bool, is_known: fn(&str) -> bool, options: &RemoteOptions) -> Result<Vec<String>> {
    let (bucket, key) = match parse_object_url(url) {
        Some(Ok(found)) => found,
        _ => return Err(Error::invalid_input(format!("{url:?} is not the URL of a bucket"))),
    };
    let address = Address::Object { bucket: bucket.clone(), key: key.clone() };
    let target = RemoteTarget::of_object(address, options, "listing")?;
    let lister = Lister { target, bucket, include_hidden: hidden, accepts: is_known, names: Mutex::default() };
    match classify_bucket_url(url) {
        Some(ListRequest::Pattern) => {
            let parts: Vec<&str> = key.split('/').collect();
            lister.list_level(String::new(), &parts)?;
        }
        _ => lister.list_prefix(&key, None)?,
    }
    let mut keys = lister.names.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    // An object of this very name goes before a pattern.
    if keys.contains(&key) {
        keys = vec![key];
    }
    keys.sort_by(|one, other| crate::glob::natural(one, other));
    keys.dedup();
    Ok(keys.into_iter().map(|key| format!("{}/{key}", lister.bucket.as_written)).collect())
}

/// The extent of a listing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ListDepth {
    /// The keys of one level, and the folders in it.
    OneLevel,
    /// The keys of all levels.
    AllLevels,
}

struct Lister {
    target: RemoteTarget,
    bucket: Bucket,
    include_hidden: bool,
    accepts: fn(&str) -> bool,
    names: Mutex<Vec<String>>,
}

/// One page of a listing.
#[derive(Debug, Default, PartialEq, Eq)]
struct ListPage {
    keys: Vec<String>,
    /// Prefixes that several keys share, each with a slash at its end.
    folders: Vec<String>,
    next: Option<String>,
}

impl Lister {
    /// Takes the objects below a prefix that fit the parts of a pattern.
    fn list_level(&self, mut prefix: String, parts: &[&str]) -> Result<()> {
        let mut parts = parts;
        while let [part, rest @ ..] = parts
            && !rest.is_empty()
            && !GlobPattern::is_pattern(part)
        {
            prefix = prefix + part + "/";
            parts = rest;
        }
        let Some((part, rest)) = parts.split_first() else { return Ok(()) };
        if *part == "**" {
            let pattern = parts.join("/");
            return self.list_prefix(&prefix, Some(&pattern));
        }
        let head = part.find(['*', '?', '[']).and_then(|at| part.get(..at)).unwrap_or(part);
        let mut folders = Vec::new();
        self.for_each_page(&format!("{prefix}{head}"), ListDepth::OneLevel, |page| {
            let is_wanted = |name: &str| (name == *part || fits(part, name)) && self.is_visible(name, part);
            let name = |key: &str| key.get(prefix.len()..).map(|name| name.trim_end_matches('/').to_owned());
            folders.extend(page.folders.into_iter().filter(|key| name(key).is_some_and(|name| is_wanted(&name))));
            if rest.is_empty() {
                self.add_keys(page.keys.into_iter().filter(|key| name(key).is_some_and(|name| is_wanted(&name))))?;
            }
            Ok(())
        })?;
        let at_once = self.target.client.options.in_flight;
        for_each_concurrent(folders, at_once, |folder| match rest {
            // A matching folder includes everything in it, as in a file system.
            [] => self.list_prefix(&folder, None),
            rest => self.list_level(folder, rest),
        })
    }

    /// Takes all objects whose keys begin so: those that fit a pattern, else those with the names of known files.
    fn list_prefix(&self, prefix: &str, pattern: Option<&str>) -> Result<()> {
        let fitting = pattern.map(GlobPattern::new);
        self.for_each_page(prefix, ListDepth::AllLevels, |page| {
            self.add_keys(page.keys.into_iter().filter(|key| {
                let rest = key.get(prefix.len()..).unwrap_or("");
                let is_wanted = match &fitting {
                    Some(pattern) => pattern.matches(rest),
                    None => (self.accepts)(rest),
                };
                is_wanted && rest.split('/').all(|name| self.is_visible(name, pattern.unwrap_or("")))
            }))
        })
    }

    fn is_visible(&self, name: &str, part: &str) -> bool {
        self.include_hidden || !name.starts_with('.') || part.starts_with('.')
    }

    fn add_keys(&self, keys: impl Iterator<Item = String>) -> Result<()> {
        let mut found = lock(&self.names);
        // Some tools create objects that represent folders. Their keys end with a slash.
        found.extend(keys.filter(|key| !key.ends_with('/')));
        match found.len() > MAX_OBJECTS {
            true => Err(Error::limit(format!("{} has more than {MAX_OBJECTS} objects that fit", self.target.address.display()))),
            false => Ok(()),
        }
    }

    /// Gives each page of a listing to `work`.
    fn for_each_page(&self, prefix: &str, depth: ListDepth, mut work: impl FnMut(ListPage) -> Result<()>) -> Result<()> {
        let mut next: Option<String> = None;
        loop {
            crate::interrupt::check()?;
            let page = self.fetch_page(&self.listing_query(prefix, depth, next.as_deref()))?;
            let more = page.next.clone();
            work(page)?;
            if more.is_none() || more == next {
                return Ok(());
            }
            next = more;
        }
    }

    fn listing_query(&self, prefix: &str, depth: ListDepth, next: Option<&str>) -> String {
        let value = |text: &str| encoded_key(text).replace('/', "%2F");
        let (start, token) = match self.bucket.service {
            ObjectService::S3 => ("list-type=2", "continuation-token"),
            ObjectService::Google => ("fields=nextPageToken%2Cprefixes%2Citems%2Fname", "pageToken"),
            ObjectService::Azure => ("restype=container&comp=list", "marker"),
        };
        let level = match depth {
            ListDepth::OneLevel => "&delimiter=%2F",
            ListDepth::AllLevels => "",
        };
        let next = next.map(|next| format!("&{token}={}", value(next))).unwrap_or_default();
        // An empty parameter is omitted, because signing methods disagree about empty values.
        let prefix = if prefix.is_empty() { String::new() } else { format!("&prefix={}", value(prefix)) };
        format!("{start}{level}{prefix}{next}")
    }

    fn fetch_page(&self, query: &str) -> Result<ListPage> {
        let mut page = ListPage::default();
        retry_loop(&self.target, |_| {
            use std::io::Read;
            let mut reply = self.target.send_call(&RequestSpec::new(Method::GET, ServiceEndpoint::Bucket).with_query(query))?;
            if reply.status != 200 {
                return Err(self.target.status_failure(reply));
            }
            let mut text = Vec::new();
            let broken = |error: std::io::Error| Failure::Retryable(self.target.network_error(error.to_string()), None);
            reply.body.by_ref().take(MAX_PAGE_BYTES).read_to_end(&mut text).map_err(broken)?;
            let bad = || Failure::Retryable(self.target.network_error("the response of the server is not a listing"), None);
            let text = String::from_utf8(text).map_err(|_| bad())?;
            page = match self.bucket.service {
                ObjectService::S3 => of_s3(&text),
                ObjectService::Google => of_google(&text),
                ObjectService::Azure => of_azure(&text),
            }
            .ok_or_else(bad)?;
            Ok(())
        })?;
        Ok(page)
    }
}

fn of_s3(text: &str) -> Option<ListPage> {
    if !text.contains("<ListBucketResult") {
        return None;
    }
    let of = |path: &str| collect_element_texts(text, &format!("ListBucketResult/{path}"));
    // Some services encode keys although no request asks for it, and state the encoding.
    let decoded = |keys: Vec<String>| match of("EncodingType").iter().any(|kind| kind == "url") {
        true => keys.iter().map(|key| strictly_decoded(&key.replace('+', " ")).unwrap_or_else(|| key.clone())).collect(),
        false => keys,
    };
    Some(ListPage {
        keys: decoded(of("Contents/Key")),
        folders: decoded(of("CommonPrefixes/Prefix")),
        next: of("NextContinuationToken").pop().filter(|next| !next.is_empty()),
    })
}

fn of_azure(text: &str) -> Option<ListPage> {
    if !text.contains("<EnumerationResults") {
        return None;
    }
    let of = |path: &str| collect_element_texts(text, &format!("EnumerationResults/{path}"));
    Some(ListPage {
        keys: of("Blobs/Blob/Name"),
        folders: of("Blobs/BlobPrefix/Name"),
        next: of("NextMarker").pop().filter(|next| !next.is_empty()),
    })
}

fn of_google(text: &str) -> Option<ListPage> {
    let found: Value = serde_json::from_str(text).ok()?;
    let found = found.as_object()?;
    let texts = |name: &str, of: fn(&Value) -> Option<&str>| -> Vec<String> {
        let all = found.get(name).and_then(Value::as_array);
        all.into_iter().flatten().filter_map(of).map(str::to_owned).collect()
    };
    Some(ListPage {
        keys: texts("items", |item| item.get("name")?.as_str()),
        folders: texts("prefixes", Value::as_str),
        next: found.get("nextPageToken").and_then(Value::as_str).map(str::to_owned),
    })
}

/// Returns the content of all elements of an XML document at this path of names, as `Result/Contents/Key`. The answers of
/// stores have neither comments nor sections of other kinds.
pub(super) fn collect_element_texts(xml: &str, path: &str) -> Vec<String> {
    let wanted: Vec<&str> = path.split('/').collect();
    let (mut open, mut found): (Vec<&str>, Vec<String>) = (Vec::new(), Vec::new());
    let mut rest = xml;
    while let Some(start) = rest.find('<') {
        let (text, tag) = (rest.get(..start).unwrap_or(""), rest.get(start + 1..).unwrap_or(""));
        let Some(end) = tag.find('>') else { break };
        let (inside, after) = (tag.get(..end).unwrap_or(""), tag.get(end + 1..).unwrap_or(""));
        rest = after;
        if inside.starts_with(['?', '!']) {
            continue;
        }
        if inside.starts_with('/') {
            if open == wanted {
                found.push(unescape_xml(text));
            }
            open.pop();
            continue;
        }
        let name = inside.split([' ', '\t', '\r', '\n', '/']).next().unwrap_or("");
        if inside.ends_with('/') {
            continue;
        }
        // No element of a listing nests deeper than this.
        if open.len() > 64 {
            break;
        }
        open.push(name);
    }
    found
}

/// Text with the characters that its references mean.
fn unescape_xml(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let name = from.get(1..).and_then(|from| from.find(';').and_then(|end| from.get(..end)));
        let letter = name.and_then(|name| match name {
            "amp" => Some('&'),
            "lt" => Some('<'),
            "gt" => Some('>'),
            "quot" => Some('"'),
            "apos" => Some('\''),
            number => {
                let number = number.strip_prefix('#')?;
                let code = match number.strip_prefix(['x', 'X']) {
                    Some(hex) => u32::from_str_radix(hex, 16).ok()?,
                    None => number.parse().ok()?,
                };
                char::from_u32(code)
            }
        });
        let len = match (letter, name) {
            (Some(letter), Some(name)) => {
                out.push(letter);
                name.len() + 2
            }
            _ => {
                out.push('&');
                1
            }
        };
        rest = from.get(len..).unwrap_or("");
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bucket_url_means_object_pattern_or_folder() {
        for (url, expected) in [
            ("s3://b/x.asdf", None),
            ("s3://b/n/*.asdf", Some(ListRequest::Pattern)),
            ("gs://b/x[0-9].asdf", Some(ListRequest::Pattern)),
            ("abfss://c@a.dfs.core.windows.net/?.asdf", Some(ListRequest::Pattern)),
            ("az://c/n/", Some(ListRequest::Folder)),
            ("s3://b", Some(ListRequest::Folder)),
            ("https://h/*.asdf", None),
            ("http://h/x?y", None),
            ("x*.asdf", None),
        ] {
            assert_eq!(classify_bucket_url(url), expected, "{url}");
        }
    }

    #[test]
    fn pages_of_all_services_are_read() {
        let s3 = "<?xml version=\"1.0\"?>\n<ListBucketResult xmlns=\"x\"><Name>b</Name><Prefix>a&amp;b/</Prefix><Contents><Key>a&amp;b/x y.asdf</Key>\
                  <Owner><ID>i</ID></Owner></Contents><CommonPrefixes><Prefix>a&amp;b/&#x65E5;/</Prefix></CommonPrefixes>\
                  <Contents><Key>a&amp;b/z</Key></Contents><NextContinuationToken>t/=+</NextContinuationToken></ListBucketResult>";
        let page = of_s3(s3).unwrap();
        assert_eq!((page.keys, page.folders), (vec!["a&b/x y.asdf".to_owned(), "a&b/z".to_owned()], vec!["a&b/日/".to_owned()]));
        assert_eq!(page.next.as_deref(), Some("t/=+"));
        let azure = "<EnumerationResults><Blobs><Blob><Name>x</Name></Blob><BlobPrefix><Name>d/</Name></BlobPrefix><Blob><Name>y</Name>\
                     </Blob></Blobs><NextMarker/></EnumerationResults>";
        let page = of_azure(azure).unwrap();
        assert_eq!((page.keys, page.folders, page.next), (vec!["x".to_owned(), "y".to_owned()], vec!["d/".to_owned()], None));
        let page = of_google(r#"{"items": [{"name": "x"}], "prefixes": ["d/"], "nextPageToken": "n"}"#).unwrap();
        assert_eq!((page.keys.len(), page.folders.len(), page.next.as_deref()), (1, 1, Some("n")));
        assert_eq!(of_google("{}"), Some(ListPage::default()));
        for bad in ["", "<html>", "<ListBucketResult", "[]", "<a><b></a>", "&#xFFFFFFFF;"] {
            let _ = (of_s3(bad), of_azure(bad), of_google(bad), unescape_xml(bad));
        }
    }
}
