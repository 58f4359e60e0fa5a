//! Names of files as strings from which their paths come back.
//!
//! Names of files pass through the library and the command as strings: with `#/path` after them, in lists and patterns, in
//! templates of outputs. On Unix a name is any bytes. A byte that is not part of UTF-8 becomes two *noncharacters*, which Unicode
//! reserves for the inside of programs: U+FDD0 to U+FDDF for its first four bits, U+FDE0 to U+FDEF for the others. The bytes of
//! noncharacters in a name become such pairs, too, so that no two paths have one string.
//!
//! A URL may hold secrets: user and password, and a query that is a signature. In a name each of their bytes is such a pair in the
//! other order, so that no text that is made of names shows them: [`display_name`] puts `…` in their place.

use std::borrow::Cow;
use std::ffi::OsString;
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::backing::SourceBacking;
use super::local::LocalFile;
use super::source::Source;
use crate::percent::{encoded, strict_bytes};

const ESCAPE_HIGH: u32 = 0xfdd0;
const ESCAPE_LOW: u32 = 0xfde0;

/// Returns `true` for a character that may be a part of a pair.
fn is_reserved(c: char) -> bool {
    matches!(c, '\u{fdd0}'..='\u{fdef}')
}

/// Returns `true` if a string has such a character, all of which begin with one byte.
fn has_reserved(name: &str) -> bool {
    name.as_bytes().contains(&0xef) && name.contains(is_reserved)
}

/// Returns a path as a string, from which [`path_of`] makes the same path.
///
/// ```
/// # use std::path::Path;
/// use trilith_io::bytes::{name_of, path_of, display_name};
/// assert_eq!(name_of(Path::new("é.asdf")), "é.asdf");
/// # #[cfg(unix)]
/// # {
/// # use std::{ffi::OsStr, os::unix::ffi::OsStrExt};
/// let path = Path::new(OsStr::from_bytes(b"caf\xe9.asdf"));
/// assert_eq!(path_of(&name_of(path)), path);
/// assert_eq!(display_name(&name_of(path)), "caf\u{fffd}.asdf");
/// # }
/// ```
pub fn name_of(path: &Path) -> Cow<'_, str> {
    match path.to_str() {
        Some(text) if !has_reserved(text) => hidden_name(text),
        _ if cfg!(unix) => name_of_bytes(path.as_os_str().as_encoded_bytes()).into(),
        _ => path.to_string_lossy(),
    }
}

/// Returns the bytes of a path, as lists of names have them, as a string like that of [`name_of`].
pub fn name_of_bytes(bytes: &[u8]) -> String {
    let mut name = String::with_capacity(bytes.len() + 8);
    let pair = |byte: &u8| [ESCAPE_HIGH + u32::from(byte >> 4), ESCAPE_LOW + u32::from(byte & 15)];
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            if is_reserved(c) {
                name.extend(c.encode_utf8(&mut [0; 4]).as_bytes().iter().flat_map(pair).filter_map(char::from_u32));
            } else {
                name.push(c);
            }
        }
        name.extend(chunk.invalid().iter().flat_map(pair).filter_map(char::from_u32));
    }
    if let Cow::Owned(hidden) = hidden_name(&name) {
        return hidden;
    }
    name
}

/// Returns a name in which the secrets of a URL are hidden. They come back by [`path_of`].
///
/// ```
/// use trilith_io::bytes::{hidden_name, path_of, display_name};
/// let name = hidden_name("https://user:password@data.example/x.asdf?sig=1");
/// assert_eq!(display_name(&name), "https://…@data.example/x.asdf?…");
/// assert_eq!(path_of(&name).to_str(), Some("https://user:password@data.example/x.asdf?sig=1"));
/// ```
pub fn hidden_name(name: &str) -> Cow<'_, str> {
    let secrets = find_secret_ranges(name);
    if secrets.is_empty() {
        return name.into();
    }
    let (mut hidden, mut at) = (String::with_capacity(name.len() * 2), 0);
    for secret in secrets {
        hidden.push_str(&name[at..secret.start]);
        let pair = |byte: u8| [ESCAPE_LOW + u32::from(byte >> 4), ESCAPE_HIGH + u32::from(byte & 15)];
        hidden.extend(name[secret.clone()].bytes().flat_map(pair).filter_map(char::from_u32));
        at = secret.end;
    }
    hidden.push_str(&name[at..]);
    hidden.into()
}

/// The parts of a URL that are secrets and are not hidden yet. The keys of buckets have no query, but somebody may write one.
fn find_secret_ranges(name: &str) -> Vec<Range<usize>> {
    let Some(at) = name.find("://") else { return Vec::new() };
    // An argument may have words before the URL: NAME=URL.
    let scheme = name[..at].rfind(|c: char| !c.is_ascii_alphanumeric()).map_or(0, |before| before + 1);
    if scheme == at {
        return Vec::new();
    }
    // An unknown scheme may be a slip, and what follows it is as secret.
    let is_web = name.get(scheme..scheme + 4).is_some_and(|scheme| scheme.eq_ignore_ascii_case("http"));
    let start = at + 3;
    let end = name[start..].find(['/', '?', '#', '\\']).map_or(name.len(), |at| start + at);
    let authority = &name[start..end];
    let port = authority.rsplit_once(':').map(|(_, port)| port);
    let user = match authority.rfind('@') {
        // The name of a container is not a secret.
        Some(at) if is_web || authority[..at].contains(':') => Some(start..start + at),
        Some(_) => None,
        // A password with a slash: what seems to be its first part is not a port.
        None if port.is_some_and(|port| port.bytes().any(|b| !b.is_ascii_digit()) && !port.ends_with(']')) => {
            name.rfind('@').filter(|at| *at >= end).map(|at| start..at)
        }
        None => None,
    };
    let after = user.as_ref().map_or(start, |user| user.end);
    // After a `#` the name continues with a path in the file, which has no query.
    let query = name[after..].find(['?', '#']).filter(|at| name[after + at..].starts_with('?')).map(|at| after + at + 1);
    let query = query.map(|at| at..name[at..].find('#').map_or(name.len(), |end| at + end)).filter(|query| {
        let lower = name[query.clone()].to_ascii_lowercase();
        is_web || ["sig=", "signature=", "token="].iter().any(|word| lower.contains(word))
    });
    let is_open = |part: &Range<usize>| {
        let text = &name[part.clone()];
        text != "…" && text.chars().any(|c| !is_reserved(c))
    };
    user.into_iter().chain(query).filter(is_open).collect()
}

/// Returns a URL without its secrets, as a file may hold it; any other name unchanged.
pub fn public_name(name: &str) -> String {
    let shown = display_name(&hidden_name(name)).into_owned();
    if is_url(&shown) { shown.replacen("://…@", "://", 1).replacen("?…", "", 1) } else { name.to_owned() }
}

/// Returns `true` if a text is the URL of a remote file: `http://`, `https://`, `s3://`, `gs://`, `az://`, or another
/// scheme of these object stores (`s3a`, `gcs`, `azure`, `abfs`, `abfss`).
///
/// ```
/// use trilith_io::bytes::is_url;
/// assert!(is_url("s3://bucket/key") && is_url("HTTPS://host/x.asdf"));
/// assert!(!is_url("http.asdf") && !is_url("c:/x.asdf"));
/// ```
pub fn is_url(text: &str) -> bool {
    let scheme = text.split_once("://").map(|(scheme, _)| scheme.to_ascii_lowercase());
    scheme.is_some_and(|scheme| URLS.contains(&scheme.as_str()))
}

/// The schemes of remote files.
const URLS: [&str; 10] = ["http", "https", "s3", "s3a", "gs", "gcs", "az", "azure", "abfs", "abfss"];

/// Returns the path that a string is the name of.
pub fn path_of(name: &str) -> Cow<'_, Path> {
    if !has_reserved(name) || !(cfg!(unix) || is_url(name)) {
        return Path::new(name).into();
    }
    let mut bytes = Vec::with_capacity(name.len());
    for_each_unit(name, |part| match part {
        NameUnit::Char(c) => bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        NameUnit::Byte(byte) | NameUnit::Secret(byte) => bytes.push(byte),
    });
    path_of_bytes(bytes).map_or_else(|| Path::new(name).into(), Into::into)
}

/// Returns the path of a source of a file. Its name is for people, and cannot hold a path that is not UTF-8.
pub fn verbatim_path(source: &dyn Source) -> &Path {
    let exact = source
        .backing()
        .and_then(SourceBacking::local_file)
        .and_then(LocalFile::given_path)
        .filter(|path| path.to_str().is_none());
    exact.unwrap_or(Path::new(source.name()))
}

/// Returns a relative URI of the file with this name.
pub fn uri_of(name: &str) -> String {
    encoded(path_of(name).as_os_str().as_encoded_bytes())
}

/// Returns the name of the file that a relative URI means, or None for a broken escape.
pub fn name_in(uri: &str) -> Option<String> {
    strict_bytes(uri).map(|bytes| name_of_bytes(&bytes))
}

/// Returns the path with these bytes; None if this machine has no such path.
pub(super) fn path_of_bytes(bytes: Vec<u8>) -> Option<PathBuf> {
    #[cfg(unix)]
    let text: Option<OsString> = Some(std::os::unix::ffi::OsStringExt::from_vec(bytes));
    #[cfg(not(unix))]
    let text: Option<OsString> = String::from_utf8(bytes).ok().map(Into::into);
    text.map(Into::into)
}

/// Returns a name for people: each byte that is not part of UTF-8 is U+FFFD, and each secret of a URL is `…`. Text that is made
/// of names may be given, too.
pub fn display_name(name: &str) -> Cow<'_, str> {
    if !has_reserved(name) {
        return name.into();
    }
    let (mut shown, mut is_secret) = (String::with_capacity(name.len()), false);
    for_each_unit(name, |part| {
        let before = std::mem::replace(&mut is_secret, matches!(part, NameUnit::Secret(_)));
        match part {
            NameUnit::Char(c) => shown.push(c),
            NameUnit::Byte(_) => shown.push(char::REPLACEMENT_CHARACTER),
            NameUnit::Secret(_) if before => {}
            NameUnit::Secret(_) => shown.push('…'),
        }
    });
    shown.into()
}

/// Returns a path or URL for people, as [`display_name`].
pub fn shown_path(path: impl AsRef<Path>) -> String {
    display_name(&name_of(path.as_ref())).into_owned()
}

enum NameUnit {
    Char(char),
    Byte(u8),
    /// A byte of a secret in a URL.
    Secret(u8),
}

/// The characters of a name, and the bytes that are pairs.
fn for_each_unit(name: &str, mut take: impl FnMut(NameUnit)) {
    let digit = |c: char, first: u32| {
        u32::from(c).checked_sub(first).and_then(|digit| u8::try_from(digit).ok()).filter(|digit| *digit < 16)
    };
    let mut rest = name.chars();
    while let Some(c) = rest.next() {
        let pair = |first: u32, second: u32| {
            let (high, low) = digit(c, first).zip(rest.clone().next().and_then(|c| digit(c, second)))?;
            Some(high << 4 | low)
        };
        let part = pair(ESCAPE_HIGH, ESCAPE_LOW)
            .map(NameUnit::Byte)
            .or_else(|| pair(ESCAPE_LOW, ESCAPE_HIGH).map(NameUnit::Secret))
            .unwrap_or(NameUnit::Char(c));
        if !matches!(part, NameUnit::Char(_)) {
            rest.next();
        }
        take(part);
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::ffi::OsStrExt;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn path_name_round_trip(bytes in prop::collection::vec(prop_oneof![any::<u8>(), Just(0xef), Just(0xb7), 0x90u8..0xb0], 0..40)) {
            let path = Path::new(std::ffi::OsStr::from_bytes(&bytes));
            let name = name_of(path).into_owned();
            prop_assert_eq!(path_of(&name), path);
            prop_assert!(!display_name(&name).contains(is_reserved));
        }
    }

    #[test]
    fn url_secrets_hide_and_restore() {
        for (url, shown) in [
            ("https://u:p@a.example/x?sig=1", "https://…@a.example/x?…"),
            ("HTTP://u@a.example:80/x#/y", "HTTP://…@a.example:80/x#/y"),
            ("https://u:p@a.example/x?a=1&b=2#/y?z", "https://…@a.example/x?…#/y?z"),
            ("https://u:p/q@a.example/x", "https://…@a.example/x"),
            ("https://u:\u{e9}@a.example/x?s\u{fdd0}", "https://…@a.example/x?…"),
            ("https://a.example/a@b?", "https://a.example/a@b?"),
            ("https://[::1]:80/a@b", "https://[::1]:80/a@b"),
            ("s3://key:secret@bucket/x", "s3://…@bucket/x"),
            ("s3://bucket/night?/*.asdf", "s3://bucket/night?/*.asdf"),
            ("az://container/x?sv=1&sig=2", "az://container/x?…"),
            ("abfss://c@a.dfs.core.windows.net/x", "abfss://c@a.dfs.core.windows.net/x"),
            ("/rho=https://u@a.example/x?y", "/rho=https://…@a.example/x?…"),
            ("a@b/c?d=e", "a@b/c?d=e"),
            ("htps://u:p@a.example/x?X-Amz-Signature=1", "htps://…@a.example/x?…"),
            ("/rho=file://a@b/c?d=e", "/rho=file://a@b/c?d=e"),
        ] {
            let name = hidden_name(url);
            assert_eq!((display_name(&name), path_of(&name)), (shown.into(), Path::new(url).into()));
            assert_eq!(hidden_name(&name), name);
            assert_eq!(display_name(&name_of_bytes(url.as_bytes())), shown);
            assert_eq!(hidden_name(shown), shown);
            if is_url(url) {
                let public = public_name(&name);
                assert!(!public.contains('…') && public_name(&public) == public, "{public}");
                assert_eq!(public_name(shown), public);
            }
        }
    }

    #[test]
    fn names_of_utf_8_are_themselves() {
        for name in ["", "a.asdf", "é/ü", "\u{fffd}"] {
            assert_eq!((name_of(Path::new(name)), path_of(name)), (name.into(), Path::new(name).into()));
        }
        assert_eq!(path_of("\u{fdd0}a"), Path::new("\u{fdd0}a"));
    }
}
