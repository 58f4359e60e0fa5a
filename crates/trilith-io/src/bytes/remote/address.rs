//! URLs: the file that one names on the web or in a bucket, the files next to it, and the URLs that a prefix allows.
//!
//! The syntax is that of RFC 3986 as browsers read it (the WHATWG URL standard), so that no two readers see two
//! hosts in one URL.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use url::{ParseError, Position, Url};

use super::super::base_uri::percent_decode;
use super::super::file_name::{display_name, hidden_name, public_name};
use super::bucket::{self, Bucket, ObjectService};
use crate::error::{Error, Result};

/// The target of a URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Address {
    /// `http:` or `https:`.
    Web(Url),
    /// An object in a bucket; the key as its service knows it, with nothing encoded.
    Object { bucket: Bucket, key: String },
}

impl Address {
    /// Reads a URL that a person wrote. The key of an object is taken literally.
    pub(super) fn parse(text: &str) -> Result<Self> {
        let bad = |why: &str| Error::invalid_input(format!("{:?} is not a URL: {why}", display_text(text)));
        match bucket::parse_object_url(text) {
            Some(Ok((bucket, key))) => {
                return Self::from_object_key(bucket, key)
                    .ok_or_else(|| bad("the key of the object is missing, or a part of it is . or .."));
            }
            Some(Err(why)) => return Err(bad(why)),
            None => {}
        }
        let mut url = Url::parse(text).map_err(|error| match error {
            ParseError::IdnaError => {
                bad("its host is not ASCII").hint("write the host in its ASCII form, as in https://xn--mller-kva.example/x.asdf")
            }
            error => bad(&error.to_string()),
        })?;
        if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
            return Err(bad("expected http://, https://, s3://, gs:// or az://"));
        }
        url.set_fragment(None);
        Ok(Self::Web(url))
    }

    fn from_object_key(bucket: Bucket, key: String) -> Option<Self> {
        // Servers resolve such parts as folders do, which would name another key or bucket.
        let dotted = key.split('/').any(|part| matches!(part, "." | ".."));
        (!dotted && !key.is_empty() && !key.contains('\0')).then_some(Self::Object { bucket, key })
    }

    /// The object that an absolute reference names; its key is percent-encoded.
    fn from_absolute(reference: &str) -> Option<Self> {
        let end = reference.find(['?', '#']).unwrap_or(reference.len());
        let (bucket, key) = bucket::parse_object_url(reference.get(..end)?)?.ok()?;
        // The key of a URL of the web is decoded already.
        let key = if reference.get(..6).is_some_and(|start| start.eq_ignore_ascii_case("https:")) {
            key
        } else {
            percent_decode(&key)?
        };
        Self::from_object_key(bucket, key)
    }

    /// The address that `reference`, read in the file at this one, means; None if it is none of ours.
    pub(super) fn resolve_reference(&self, reference: &str) -> Option<Self> {
        // An encoded slash is a slash for some servers and a letter for others.
        let lower = reference.to_ascii_lowercase();
        if reference.is_empty() || reference.contains('\\') || lower.contains("%2f") || lower.contains("%5c") {
            return None;
        }
        if let Self::Object { bucket, .. } = self {
            return match super::super::base_uri::uri_scheme(reference) {
                None => Self::from_object_key(
                    bucket.clone(),
                    percent_decode(self.reference_url(reference)?.path().strip_prefix('/')?)?,
                ),
                Some(scheme) if matches!(scheme.to_ascii_lowercase().as_str(), "http" | "https") => {
                    Self::from_absolute(reference)
                        .filter(|there| matches!(there, Self::Object { bucket: other, .. } if other == bucket))
                        .or_else(|| self.to_web_address(Url::parse(reference).ok()?))
                }
                Some(_) => Self::from_absolute(reference),
            };
        }
        let joined = self.reference_url(reference)?;
        match joined.scheme() {
            "http" | "https" => self.to_web_address(joined),
            _ => Self::from_absolute(reference),
        }
    }

    /// The address of the web that a reference in this file leads to. A name and password in it are somebody else's.
    fn to_web_address(&self, mut joined: Url) -> Option<Self> {
        joined.host_str()?;
        joined.set_fragment(None);
        match self {
            Self::Web(url) if url.origin() == joined.origin() => {
                joined.set_username(url.username()).ok()?;
                joined.set_password(url.password()).ok()?;
            }
            _ => {
                joined.set_username("").ok()?;
                joined.set_password(None).ok()?;
            }
        }
        Some(Self::Web(joined))
    }

    /// The absolute form of a reference in the file at this address, to be written into another file: without
    /// name and password.
    pub(super) fn absolute_reference(&self, reference: &str) -> Option<String> {
        if let (Self::Object { bucket, .. }, None) = (self, super::super::base_uri::uri_scheme(reference)) {
            let there = self.reference_url(reference)?;
            return Some(format!("{}{}", bucket.as_written, &there[Position::BeforePath..]));
        }
        Some(without_password(self.reference_url(reference)?)?.into())
    }

    /// The address as it may be written into a file: without name, password and query.
    pub(super) fn to_portable(&self) -> String {
        match self {
            Self::Web(url) => public_name(url.as_str()),
            Self::Object { .. } => self.display(),
        }
    }

    /// A reference in this file as a URL. The host of an object's URL means nothing: only the path, which is
    /// percent-encoded, does.
    fn reference_url(&self, reference: &str) -> Option<Url> {
        match self {
            Self::Web(url) => url.join(reference).ok(),
            Self::Object { key, .. } => {
                let mut url = Url::parse("object://bucket/").ok()?;
                url.path_segments_mut().ok()?.clear().extend(key.split('/'));
                let joined = url.join(reference).ok()?;
                // `//host/path` leads out of the bucket.
                (!reference.starts_with("//")).then_some(joined)
            }
        }
    }

    /// Returns `true` if this is in the folder of `file`, or in one below it.
    pub(super) fn is_in_folder_of(&self, file: &Self) -> bool {
        let folder = |path: &str| path.rfind('/').map_or(0, |at| at + 1);
        match (self, file) {
            (Self::Web(own), Self::Web(file)) => {
                let path = file.path();
                own.origin() == file.origin() && own.path().starts_with(&path[..folder(path)])
            }
            (Self::Object { bucket, key }, Self::Object { bucket: other, key: file }) => {
                bucket == other && key.starts_with(&file[..folder(file)])
            }
            _ => false,
        }
    }

    /// Returns a form for messages: without the password, and without the query, which may be as good as one.
    pub(super) fn display(&self) -> String {
        match self {
            Self::Web(url) => display_url(url),
            Self::Object { bucket, key } => format!("{}/{key}", bucket.as_written),
        }
    }
}

fn without_password(mut url: Url) -> Option<Url> {
    if !url.username().is_empty() || url.password().is_some() {
        url.set_username("").ok()?;
        url.set_password(None).ok()?;
    }
    Some(url)
}

/// A URL as messages may name it.
pub(super) fn display_url(url: &Url) -> String {
    let mut url = url.clone();
    url.set_fragment(None);
    display_name(&hidden_name(url.as_str())).into_owned()
}

/// Text that was meant as an address, as messages may name it.
fn display_text(text: &str) -> &str {
    let end = text.find('?').unwrap_or(text.len());
    let text = &text[..end];
    text.rfind('@').map_or(text, |at| &text[at + 1..])
}

/// A beginning of addresses that references may lead to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Prefix {
    Web {
        scheme: String,
        /// Host and port; None for all of them.
        place: Option<(String, Option<u16>)>,
        path: String,
    },
    Object {
        service: ObjectService,
        /// The bucket; `None` for all buckets of the service.
        bucket: Option<Bucket>,
        key: String,
    },
}

impl Prefix {
    /// Reads `https://host/folder/`, `s3://bucket/folder/`, or `https://` for every host.
    pub(super) fn parse(text: &str) -> Result<Self> {
        let bad = || Error::invalid_input(format!("{text:?} allows nothing")).hint("write https://HOST/FOLDER/ or s3://BUCKET/");
        let (scheme, rest) = text.split_once("://").ok_or_else(bad)?;
        let scheme = scheme.to_ascii_lowercase();
        if let (Some(service), true) = (bucket::service_from_scheme(&scheme), rest.is_empty()) {
            return Ok(Self::Object { service, bucket: None, key: String::new() });
        }
        match bucket::parse_object_url(text) {
            Some(Ok((bucket, key))) => return Ok(Self::Object { service: bucket.service, bucket: Some(bucket), key }),
            Some(Err(why)) => return Err(bad().hint(why)),
            None => {}
        }
        if !matches!(scheme.as_str(), "http" | "https") {
            return Err(bad());
        }
        if rest.is_empty() {
            return Ok(Self::Web { scheme, place: None, path: String::new() });
        }
        let url = Url::parse(text).map_err(|_| bad())?;
        let host = url.host_str().ok_or_else(bad)?.to_owned();
        Ok(Self::Web { scheme, place: Some((host, url.port_or_known_default())), path: url.path().to_owned() })
    }

    /// Returns `true` if an address begins so.
    pub(super) fn allows(&self, address: &Address) -> bool {
        match (self, address) {
            (Self::Web { scheme, place, path }, Address::Web(url)) => {
                let there = (url.host_str().unwrap_or_default().to_owned(), url.port_or_known_default());
                scheme == url.scheme() && place.as_ref().is_none_or(|own| *own == there) && url.path().starts_with(path)
            }
            (Self::Object { service, bucket, key }, Address::Object { bucket: there, key: path }) => {
                *service == there.service && bucket.as_ref().is_none_or(|own| own == there) && path.starts_with(key)
            }
            // The host of an account of Azure allows its blobs as the web has them.
            (Self::Object { bucket: Some(bucket), key, .. }, Address::Web(url)) => {
                let same = bucket::parse_object_url(url.as_str().split('?').next().unwrap_or_default());
                same.is_some_and(|same| same.is_ok_and(|(there, path)| *bucket == there && path.starts_with(key)))
            }
            _ => false,
        }
    }

    /// Returns `true` if a person named the host.
    pub(super) fn names_host(&self) -> bool {
        match self {
            Self::Web { place, .. } => place.is_some(),
            Self::Object { bucket, .. } => bucket.is_some(),
        }
    }
}

/// Returns `true` if an address of the internet is open to everybody: not this machine, not its network, none of
/// the addresses that lead into one of these.
pub(super) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let shared = a == 100 && (64..128).contains(&b);
    let protocols = (a, b, c) == (192, 0, 0) || (a, b, c) == (192, 88, 99) || a == 198 && (18..20).contains(&b);
    !(a == 0
        || a >= 224
        || shared
        || protocols
        || address.is_loopback()
        || address.is_private()
        || address.is_link_local()
        || address.is_documentation())
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let segments = address.segments();
    let v4 = |high: u16, low: u16| Ipv4Addr::from(u32::from(high) << 16 | u32::from(low));
    match segments {
        // Mapped, compatible, translated: an address of version 4 in other clothes.
        [0, 0, 0, 0, 0, 0 | 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => is_public_v4(v4(high, low)),
        [0x2002, high, low, ..] => is_public_v4(v4(high, low)),
        // Teredo, documentation, and the block for translation inside of one network.
        [0x2001, 0 | 0xdb8, ..] | [0x64, 0xff9b, 1, ..] | [0x3fff, 0..=0xfff, ..] => false,
        // Only 2000::/3 is public: private, link-local and multicast addresses are outside.
        [first, ..] => first & 0xe000 == 0x2000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Address {
        Address::parse(text).unwrap()
    }

    #[test]
    fn references_outside_folder_are_detected() {
        let file = at("https://name:secret@host.example/a/b/x.asdf?token=1");
        let inside = |reference: &str| file.resolve_reference(reference).is_some_and(|there| there.is_in_folder_of(&file));
        for good in ["y.asdf", "c/y.asdf", "./y.asdf", "c/../y.asdf", "/a/b/y.asdf", "https://host.example/a/b/y", "y?z#w"] {
            assert!(inside(good), "{good}");
        }
        for bad in [
            "../y.asdf",
            "/y.asdf",
            "c/../../y",
            "%2e%2e/y.asdf",
            "//other.example/a/b/y",
            "http://host.example/a/b/y",
            "https://host.example:444/a/b/y",
            "https://host.example@evil.example/a/b/y",
            "c%2f..%2f..%2fy",
            "..\\y",
            "file:///etc/passwd",
            "",
        ] {
            assert!(!inside(bad), "{bad}");
        }
        assert_eq!(file.resolve_reference("y").unwrap().display(), "https://…@host.example/a/b/y");
        assert!(
            matches!(file.resolve_reference("y").unwrap(), Address::Web(url) if url.password() == Some("secret") && url.query().is_none())
        );
        assert!(
            matches!(file.resolve_reference("https://u:p@o.example/y").unwrap(), Address::Web(url) if url.password().is_none())
        );
    }

    #[test]
    fn object_keys_stay_raw_and_references_decode() {
        let file = at("s3://bucket/a b/100%/x.asdf");
        assert_eq!(file.resolve_reference("y%20z.asdf").unwrap(), at("s3://bucket/a b/100%/y z.asdf"));
        assert_eq!(file.resolve_reference("../y").unwrap(), at("s3://bucket/a b/y"));
        assert!(!file.resolve_reference("../y").unwrap().is_in_folder_of(&file));
        assert!(!file.resolve_reference("s3://other/a b/100%25/y").unwrap().is_in_folder_of(&file));
        // Tables of all scripts would be larger than what reads the files.
        assert!(Address::parse("https://m\u{fc}ller.example/x").is_err_and(|error| error.to_string().contains("not ASCII")));
        assert!(Address::parse("https://xn--mller-kva.example/x").is_ok());
        for bad in ["s3://", "s3://bucket", "s3://bucket/", "s3://b/../c/k", "s3://b:80/k", "s3://u@b/k", "ftp://a/b", "https://"]
        {
            assert!(Address::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn prefix_matches_whole_host_and_leading_path() {
        let allows = |prefix: &str, address: &str| Prefix::parse(prefix).unwrap().allows(&at(address));
        assert!(allows("https://a.example", "https://a.example/x"));
        assert!(allows("https://a.example:443/d/", "https://a.example/d/x"));
        assert!(allows("https://", "https://any.example/x"));
        assert!(allows("s3://bucket/d", "s3://bucket/d/x"));
        assert!(!allows("https://a.example", "https://a.example.evil.example/x"));
        assert!(!allows("https://a.example", "http://a.example/x"));
        assert!(!allows("https://a.example/d/", "https://a.example/e/x"));
        assert!(!allows("https://a.example/d/", "https://a.example/d/../e/x"));
        assert!(!allows("s3://bucket", "s3://bucket2/x"));
        assert!(Prefix::parse("a.example").is_err() && Prefix::parse("").is_err());
    }

    #[test]
    fn local_and_private_addresses_are_not_public() {
        for private in [
            "127.0.0.1",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "0.0.0.0",
            "100.64.0.1",
            "255.255.255.255",
            "224.0.0.1",
            "192.0.0.8",
            "198.18.0.1",
            "::1",
            "::",
            "fe80::1",
            "fc00::1",
            "fd00:ec2::254",
            "ff02::1",
            "::ffff:127.0.0.1",
            "::127.0.0.1",
            "64:ff9b::7f00:1",
            "2002:7f00:1::",
            "2001::1",
            "2001:db8::1",
            "fec0::1",
        ] {
            assert!(!is_public(private.parse().unwrap()), "{private}");
        }
        for public in ["93.184.216.34", "1.1.1.1", "2606:4700::1111", "64:ff9b::101:101", "::ffff:1.1.1.1"] {
            assert!(is_public(public.parse().unwrap()), "{public}");
        }
    }

    #[test]
    fn messages_hold_no_password_and_no_signature() {
        assert_eq!(at("https://u:p@a.example/x?X-Amz-Signature=1").display(), "https://…@a.example/x?…");
        let text = Address::parse("https://u:p@a b/x?sig").unwrap_err().to_string();
        assert!(!text.contains("u:p") && !text.contains("sig"), "{text}");
    }
}
