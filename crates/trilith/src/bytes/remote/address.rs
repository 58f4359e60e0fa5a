//! URLs: the files that `http(s)://` and `s3://` strings name, the files next to them, and the URLs that a prefix
//! allows.
//!
//! The syntax is that of RFC 3986 as browsers read it (the WHATWG URL standard), so that no two readers see two
//! hosts in one URL.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use url::{Position, Url};

use super::super::base::percent_decode;
use crate::error::{Error, Result};

/// The target of a URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Address {
    /// `http:` or `https:`.
    Web(Url),
    /// `s3://bucket/key`; the key as S3 knows it, with nothing encoded.
    S3 { bucket: String, key: String },
}

impl Address {
    /// Reads an address that a person wrote. The key of an S3 address is taken as it is.
    pub(super) fn parse(text: &str) -> Result<Self> {
        let bad = |why: &str| Error::usage(format!("{:?} is not an address: {why}", shown_text(text)));
        if let Some(rest) = strip_scheme(text, "s3") {
            let (bucket, key) = rest.split_once('/').unwrap_or((rest, ""));
            return Self::s3(bucket, key).ok_or_else(|| bad("expected s3://BUCKET/KEY"));
        }
        let mut url = Url::parse(text).map_err(|e| bad(&e.to_string()))?;
        if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
            return Err(bad("expected http://, https:// or s3://"));
        }
        url.set_fragment(None);
        Ok(Self::Web(url))
    }

    fn s3(bucket: &str, key: &str) -> Option<Self> {
        let sane = !bucket.is_empty() && bucket.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._".contains(&b));
        // Addresses resolve such parts as folders do, which would name another key or bucket.
        let dotted = key.split('/').any(|part| matches!(part, "." | ".."));
        (sane && !dotted && !key.is_empty() && !key.contains('\0'))
            .then(|| Self::S3 { bucket: bucket.to_owned(), key: key.to_owned() })
    }

    /// The address that `reference`, read in the file at this one, means; None if it is none of ours.
    pub(super) fn join(&self, reference: &str) -> Option<Self> {
        // An encoded slash is a slash for some servers and a letter for others.
        let lower = reference.to_ascii_lowercase();
        if reference.is_empty() || reference.contains('\\') || lower.contains("%2f") || lower.contains("%5c") {
            return None;
        }
        let joined = self.url()?.join(reference).ok()?;
        match joined.scheme() {
            "http" | "https" => {
                let mut joined = joined;
                joined.set_fragment(None);
                // A name and password in a reference are somebody else's.
                let own = matches!(self, Self::Web(url) if url.origin() == joined.origin());
                if !own {
                    joined.set_username("").ok()?;
                    joined.set_password(None).ok()?;
                } else if let Self::Web(url) = self {
                    joined.set_username(url.username()).ok()?;
                    joined.set_password(url.password()).ok()?;
                }
                Some(Self::Web(joined))
            }
            "s3" => Self::s3(joined.host_str()?, &percent_decode(joined.path().strip_prefix('/')?)?),
            _ => None,
        }
    }

    /// The absolute form of a reference in the file at this address, to be written into another file: without
    /// name and password.
    pub(super) fn joined(&self, reference: &str) -> Option<String> {
        let url = self.url()?.join(reference).ok()?;
        Some(without_password(url)?.into())
    }

    /// The address as it may be written into a file: without name and password.
    pub(super) fn written(&self) -> String {
        self.url().and_then(without_password).map_or_else(|| self.shown(), String::from)
    }

    /// Returns the URL that references are joined to.
    fn url(&self) -> Option<Url> {
        match self {
            Self::Web(url) => Some(url.clone()),
            Self::S3 { bucket, key } => {
                let mut url = Url::parse(&format!("s3://{bucket}/")).ok()?;
                url.path_segments_mut().ok()?.clear().extend(key.split('/'));
                Some(url)
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
            (Self::S3 { bucket, key }, Self::S3 { bucket: other, key: file }) => {
                bucket == other && key.starts_with(&file[..folder(file)])
            }
            _ => false,
        }
    }

    /// Returns a form for messages: without the password, and without the query, which may be as good as one.
    pub(super) fn shown(&self) -> String {
        match self {
            Self::Web(url) => shown_url(url),
            Self::S3 { bucket, key } => format!("s3://{bucket}/{key}"),
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
pub(super) fn shown_url(url: &Url) -> String {
    let query = if url.query().is_some() { "?…" } else { "" };
    format!("{}://{}{}{query}", url.scheme(), &url[Position::BeforeHost..Position::AfterPort], url.path())
}

/// Text that was meant as an address, as messages may name it.
fn shown_text(text: &str) -> &str {
    let end = text.find('?').unwrap_or(text.len());
    let text = &text[..end];
    text.rfind('@').map_or(text, |at| &text[at + 1..])
}

fn strip_scheme<'a>(text: &'a str, scheme: &str) -> Option<&'a str> {
    let (found, rest) = text.split_once("://")?;
    found.eq_ignore_ascii_case(scheme).then_some(rest)
}

/// A beginning of addresses that references may lead to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Prefix {
    scheme: String,
    /// Host and port; None for all of them.
    place: Option<(String, Option<u16>)>,
    path: String,
}

impl Prefix {
    /// Reads `https://host/folder/`, `s3://bucket/folder/`, or `https://` for every host.
    pub(super) fn parse(text: &str) -> Result<Self> {
        let bad = || Error::usage(format!("{text:?} allows nothing")).hint("write https://HOST/FOLDER/ or s3://BUCKET/");
        let scheme = ["http", "https", "s3"].into_iter().find(|scheme| strip_scheme(text, scheme).is_some()).ok_or_else(bad)?;
        let rest = strip_scheme(text, scheme).unwrap_or_default();
        if rest.is_empty() {
            return Ok(Self { scheme: scheme.to_owned(), place: None, path: String::new() });
        }
        if scheme == "s3" {
            let (bucket, path) = rest.split_once('/').unwrap_or((rest, ""));
            return Ok(Self { scheme: scheme.to_owned(), place: Some((bucket.to_owned(), None)), path: path.to_owned() });
        }
        let url = Url::parse(text).map_err(|_| bad())?;
        let host = url.host_str().ok_or_else(bad)?.to_owned();
        Ok(Self { scheme: scheme.to_owned(), place: Some((host, url.port_or_known_default())), path: url.path().to_owned() })
    }

    /// Returns `true` if an address begins so.
    pub(super) fn allows(&self, address: &Address) -> bool {
        let (scheme, place, path) = match address {
            Address::Web(url) => {
                (url.scheme(), (url.host_str().unwrap_or_default().to_owned(), url.port_or_known_default()), url.path())
            }
            Address::S3 { bucket, key } => ("s3", (bucket.clone(), None), key.as_str()),
        };
        self.scheme == scheme && self.place.as_ref().is_none_or(|own| *own == place) && path.starts_with(&self.path)
    }

    /// Returns `true` if a person named the host.
    pub(super) fn names_host(&self) -> bool {
        self.place.is_some()
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
        // Only 2000::/3 is given out: private, link-local and multicast addresses lie elsewhere.
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
    fn a_reference_stays_in_the_folder_of_the_file_or_is_seen_to_leave_it() {
        let file = at("https://name:secret@host.example/a/b/x.asdf?token=1");
        let inside = |reference: &str| file.join(reference).is_some_and(|there| there.is_in_folder_of(&file));
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
        assert_eq!(file.join("y").unwrap().shown(), "https://host.example/a/b/y");
        assert!(
            matches!(file.join("y").unwrap(), Address::Web(url) if url.password() == Some("secret") && url.query().is_none())
        );
        assert!(matches!(file.join("https://u:p@o.example/y").unwrap(), Address::Web(url) if url.password().is_none()));
    }

    #[test]
    fn keys_are_taken_as_they_are_and_references_to_them_are_decoded() {
        let file = at("s3://bucket/a b/100%/x.asdf");
        assert_eq!(file.join("y%20z.asdf").unwrap(), at("s3://bucket/a b/100%/y z.asdf"));
        assert_eq!(file.join("../y").unwrap(), at("s3://bucket/a b/y"));
        assert!(!file.join("../y").unwrap().is_in_folder_of(&file));
        assert!(!file.join("s3://other/a b/100%25/y").unwrap().is_in_folder_of(&file));
        for bad in ["s3://", "s3://bucket", "s3://bucket/", "s3://b/../c/k", "s3://b:80/k", "s3://u@b/k", "ftp://a/b", "https://"]
        {
            assert!(Address::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_prefix_ends_at_the_host_or_in_the_path() {
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
    fn addresses_of_this_machine_and_of_networks_are_not_public() {
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
        assert_eq!(at("https://u:p@a.example/x?X-Amz-Signature=1").shown(), "https://a.example/x?…");
        let text = Address::parse("https://u:p@a b/x?sig").unwrap_err().to_string();
        assert!(!text.contains("u:p") && !text.contains("sig"), "{text}");
    }
}
