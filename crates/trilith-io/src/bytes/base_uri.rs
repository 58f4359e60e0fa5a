//! The base of relative references, and references relative to another base (RFC 3986, sections 4.2 and 5.2).

use std::path::{Component, Path, PathBuf};

use super::file_name::{is_url, path_of, path_of_bytes, public_name};
use crate::percent::{encoded, strict_bytes, strictly_decoded};

/// The base of the relative references of a file: its folder, or its URL.
///
/// ```
/// use trilith_io::bytes::BaseUri;
/// let (a, b) = (BaseUri::Folder("/data/a".into()), BaseUri::Folder("/data/b".into()));
/// let meant = a.join("sub/x.asdf").unwrap();
/// assert_eq!(meant, "file:///data/a/sub/x.asdf");
/// assert_eq!(b.relative(&meant), "../a/sub/x.asdf");
/// assert_eq!(BaseUri::None.relative(&meant), meant);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum BaseUri {
    /// Standard output, a pipe, memory: only absolute references mean something.
    #[default]
    None,
    /// A folder of this machine, absolute.
    Folder(PathBuf),
    /// The address of a remote file.
    Url(String),
}

impl BaseUri {
    /// Returns the base of the references of a file that is, or will be, at a path or a URL. It is
    /// [`BaseUri::None`] for `-` and for a pipe or a device.
    pub fn of_file(name: &str) -> Self {
        if is_url(name) {
            return Self::Url(public_name(name));
        }
        let path = &*path_of(name);
        if name == "-" || std::fs::metadata(path).is_ok_and(|there| !there.is_file() && !there.is_dir()) {
            return Self::None;
        }
        Self::of_folder(path.parent().unwrap_or(Path::new("")))
    }

    /// Returns the base of the references of files in a folder.
    pub fn of_folder(folder: &Path) -> Self {
        Self::Folder(canonicalize(folder))
    }

    /// The absolute URI of a file at a path or an address; None for what is nowhere.
    pub fn absolute_uri(name: &str) -> Option<String> {
        let base = Self::of_file(name);
        match &base {
            Self::None => None,
            Self::Folder(_) => base.join(&encoded(path_of(name).file_name()?.as_encoded_bytes())),
            Self::Url(_) => base.join(""),
        }
    }

    /// The absolute form of a reference without fragment; None if it means nothing here.
    pub fn join(&self, uri: &str) -> Option<String> {
        if uri_scheme(uri).is_some() {
            return Some(uri.to_owned());
        }
        match self {
            Self::None => None,
            Self::Folder(folder) => resolve_local_path(folder, uri).ok().map(|path| file_uri(&path)),
            #[cfg(feature = "remote")]
            Self::Url(address) => super::remote::join(address, uri),
            #[cfg(not(feature = "remote"))]
            Self::Url(_) => None,
        }
    }

    /// The shortest text that means, from here, what an absolute reference means: a relative one within the same
    /// tree of folders, else the absolute one.
    pub fn relative(&self, absolute: &str) -> String {
        let whole = || absolute.to_owned();
        let Self::Folder(folder) = self else { return whole() };
        if uri_scheme(absolute).is_none_or(|scheme| !scheme.eq_ignore_ascii_case("file")) {
            return whole();
        }
        let Ok(path) = resolve_local_path(folder, absolute) else { return whole() };
        let (own, there) = (components(folder), components(&path));
        let common = own.iter().zip(&there).take_while(|(a, b)| a == b).count();
        // Paths that share the root alone do not move together.
        if common == 0 || common == there.len() {
            return whole();
        }
        let up = std::iter::repeat_n("..".to_owned(), own.len() - common);
        let down = there.iter().skip(common).map(|name| encoded(name.as_encoded_bytes()));
        up.chain(down).collect::<Vec<_>>().join("/")
    }
}

/// The scheme of an absolute URI.
pub(super) fn uri_scheme(uri: &str) -> Option<&str> {
    let (scheme, _) = uri.split_once(':')?;
    let first = scheme.chars().next().is_some_and(|c| c.is_ascii_alphabetic());
    (first && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b))).then_some(scheme)
}

/// The path that a reference in a file of `folder` means: relative, absolute, or a `file:` URI of this machine.
/// It is found by its text alone; `..` takes back what is before it.
///
/// # Errors
/// Returns the reason if there is none.
pub(super) fn resolve_local_path(folder: &Path, uri: &str) -> Result<PathBuf, &'static str> {
    let text = match uri_scheme(uri) {
        None => uri,
        Some(scheme) if scheme.eq_ignore_ascii_case("file") => {
            let rest = uri.get(scheme.len() + 1..).unwrap_or("");
            let path = match rest.strip_prefix("//") {
                None => rest,
                Some(place) => match place.find('/') {
                    Some(at) if at == 0 || place.get(..at).is_some_and(|host| host.eq_ignore_ascii_case("localhost")) => {
                        place.get(at..).unwrap_or("")
                    }
                    _ => return Err("it names another machine"),
                },
            };
            if !path.starts_with('/') {
                return Err("a file: URI has an absolute path");
            }
            path
        }
        Some(_) => return Err("it is a URL, and none was allowed"),
    };
    if text.starts_with("//") {
        return Err("it names another machine");
    }
    let decoded = strict_bytes(text).ok_or("it is not a valid URI")?;
    if decoded.is_empty() || decoded.contains(&0) {
        return Err("it names no file");
    }
    let mut path = folder.to_path_buf();
    let relative = &*path_of_bytes(decoded).ok_or("it is not the name of a file")?;
    // On Windows the path of `file:///C:/x` is `C:/x`, without the slash before it.
    #[cfg(windows)]
    let relative = relative.strip_prefix("/").ok().filter(|rest| rest.is_absolute()).unwrap_or(relative);
    for part in relative.components() {
        match part {
            Component::Normal(name) => path.push(name),
            Component::CurDir => {}
            Component::ParentDir => {
                path.pop();
            }
            Component::RootDir => path.push(part),
            Component::Prefix(_) if uri_scheme(uri).is_some() => path.push(part),
            Component::Prefix(_) => return Err("it names a drive"),
        }
    }
    Ok(path)
}

/// The path that an absolute `file:` URI names; None for any other URI.
pub fn local_path(uri: &str) -> Option<PathBuf> {
    uri_scheme(uri).filter(|scheme| scheme.eq_ignore_ascii_case("file"))?;
    resolve_local_path(Path::new(""), uri).ok()
}

/// The folder that a person names by its path or by a `file:` URI, absolute.
///
/// # Errors
/// Returns the reason if the text names none.
pub fn folder_named(text: &str) -> Result<PathBuf, &'static str> {
    if uri_scheme(text).is_some_and(|scheme| scheme.eq_ignore_ascii_case("file")) {
        return resolve_local_path(Path::new(""), text);
    }
    if text.is_empty() {
        return Err("it is empty");
    }
    std::path::absolute(text).map_err(|_| "it is not a path")
}

/// A folder without links in its path, absolute also if it is not there.
pub(super) fn canonicalize(folder: &Path) -> PathBuf {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    std::fs::canonicalize(folder).or_else(|_| std::path::absolute(folder)).unwrap_or_else(|_| folder.to_path_buf())
}

/// An absolute path as a `file:` URI.
///
/// ```
/// # use std::path::Path;
/// assert_eq!(trilith_io::bytes::file_uri(Path::new("/a b/c.asdf")), "file:///a%20b/c.asdf");
/// ```
pub fn file_uri(path: &Path) -> String {
    let mut uri = "file://".to_owned();
    for part in path.components() {
        match part {
            Component::Normal(name) => {
                uri.push('/');
                uri.push_str(&encoded(name.as_encoded_bytes()));
            }
            // A drive keeps its colon, its share is not ours to name.
            Component::Prefix(prefix) => {
                uri.push('/');
                uri.push_str(&prefix.as_os_str().to_string_lossy().replace('\\', "/"));
            }
            Component::RootDir | Component::CurDir | Component::ParentDir => {}
        }
    }
    uri
}

fn components(path: &Path) -> Vec<&std::ffi::OsStr> {
    path.components().filter(|part| !matches!(part, Component::RootDir)).map(Component::as_os_str).collect()
}

/// A file name as a relative URI: what means something in one is written `%XX`.
///
/// ```
/// assert_eq!(trilith_io::bytes::percent_encode("a b.asdf"), "a%20b.asdf");
/// ```
pub fn percent_encode(name: &str) -> String {
    encoded(name.as_bytes())
}

/// Replaces `%41` by `A`; None for a broken escape or text that is not UTF-8 afterwards.
pub fn percent_decode(uri: &str) -> Option<String> {
    strictly_decoded(uri)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn at(path: &str) -> BaseUri {
        BaseUri::Folder(path.into())
    }

    #[test]
    fn join_resolves_references() {
        let base = at("/data/a");
        for (uri, meant) in [
            ("x.asdf", "file:///data/a/x.asdf"),
            ("./x.asdf", "file:///data/a/x.asdf"),
            ("../x.asdf", "file:///data/x.asdf"),
            ("s/../x.asdf", "file:///data/a/x.asdf"),
            ("../../../x.asdf", "file:///x.asdf"),
            ("/x.asdf", "file:///x.asdf"),
            ("%2e%2e/a%20b", "file:///data/a%20b"),
            ("http://h/x", "http://h/x"),
            ("file:///etc/x", "file:///etc/x"),
        ] {
            assert_eq!(base.join(uri).as_deref(), Some(meant), "{uri}");
        }
        for bad in ["", "//host/x", "%zz", "a%00"] {
            assert_eq!(base.join(bad), None, "{bad}");
        }
        assert_eq!((BaseUri::None.join("x"), BaseUri::None.join("s3://b/k").as_deref()), (None, Some("s3://b/k")));
    }

    #[test]
    fn relative_join_round_trip() {
        for folder in ["/data/a", "/data/a/b", "/data", "/other/place", "/data/a b/ü:#?%"] {
            for uri in ["x.asdf", "../x.asdf", "s/t/x.asdf", "/other/y", "file:///data/a%20b/%C3%BC%3A/z", "%3Ax", "a:b/x"] {
                let Some(meant) = at("/data/a").join(uri) else { panic!("{uri}") };
                let written = at(folder).relative(&meant);
                let (again, meant) = (at(folder).join(&written), at("/").join(&meant));
                assert_eq!(again, meant, "{uri} from {folder} is {written}");
            }
        }
        assert_eq!(at("/data/b").relative("file:///data/a/x"), "../a/x");
        assert_eq!(at("/other/b").relative("file:///data/a/x"), "file:///data/a/x");
        assert_eq!(at("/data").relative("https://h/x"), "https://h/x");
    }

    #[test]
    fn file_uri_rejects_other_hosts() {
        let path = |uri| resolve_local_path(Path::new("/d"), uri).ok();
        for good in ["file:///etc/x", "FILE:///etc/x", "file:/etc/x", "file://localhost/etc/x", "file:///etc/y/../x"] {
            assert_eq!(path(good).as_deref(), Some(Path::new("/etc/x")), "{good}");
        }
        for bad in ["file://host/etc/x", "file:x", "file:", "file://", "//host/x", "ftp://h/x", "c:/x"] {
            assert_eq!(path(bad), None, "{bad}");
        }
        assert_eq!(
            (uri_scheme("a b:c"), uri_scheme("1a:c"), uri_scheme("ab/c:d"), uri_scheme("fits:1")),
            (None, None, None, Some("fits"))
        );
    }
}
