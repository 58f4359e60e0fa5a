//! Names of files as strings from which their paths come back.
//!
//! Names of files pass through the library and the command as strings: with `#/path` after them, in lists and patterns, in
//! templates of outputs. On Unix a name is any bytes. A byte that is not part of UTF-8 becomes two *noncharacters*, which Unicode
//! reserves for the inside of programs: U+FDD0 to U+FDDF for its first four bits, U+FDE0 to U+FDEF for the others. The bytes of
//! noncharacters in a name become such pairs, too, so that no two paths have one string.

use std::borrow::Cow;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::backing::Backing;
use super::local::LocalFile;
use super::source::Source;
use crate::percent::{encoded, strict_bytes};

const HIGH: u32 = 0xfdd0;
const LOW: u32 = 0xfde0;

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
/// use trilith::bytes::{name_of, path_of, shown_name};
/// assert_eq!(name_of(Path::new("é.asdf")), "é.asdf");
/// # #[cfg(unix)]
/// # {
/// # use std::{ffi::OsStr, os::unix::ffi::OsStrExt};
/// let path = Path::new(OsStr::from_bytes(b"caf\xe9.asdf"));
/// assert_eq!(path_of(&name_of(path)), path);
/// assert_eq!(shown_name(&name_of(path)), "caf\u{fffd}.asdf");
/// # }
/// ```
pub fn name_of(path: &Path) -> Cow<'_, str> {
    match path.to_str() {
        Some(text) if !has_reserved(text) => text.into(),
        _ if cfg!(unix) => name_of_bytes(path.as_os_str().as_encoded_bytes()).into(),
        _ => path.to_string_lossy(),
    }
}

/// Returns the bytes of a path, as lists of names have them, as a string like that of [`name_of`].
pub fn name_of_bytes(bytes: &[u8]) -> String {
    let mut name = String::with_capacity(bytes.len() + 8);
    let pair = |byte: &u8| [HIGH + u32::from(byte >> 4), LOW + u32::from(byte & 15)];
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
    name
}

/// Returns the path that a string is the name of.
pub fn path_of(name: &str) -> Cow<'_, Path> {
    if !cfg!(unix) || !has_reserved(name) {
        return Path::new(name).into();
    }
    let mut bytes = Vec::with_capacity(name.len());
    parts(name, |part| match part {
        Part::Char(c) => bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        Part::Byte(byte) => bytes.push(byte),
    });
    path_of_bytes(bytes).map_or_else(|| Path::new(name).into(), Into::into)
}

/// Returns the path of a source of a file. Its name is for people, and cannot hold a path that is not UTF-8.
pub(crate) fn exact_path(source: &dyn Source) -> &Path {
    let exact =
        source.backing().and_then(Backing::local_file).and_then(LocalFile::given_path).filter(|path| path.to_str().is_none());
    exact.unwrap_or(Path::new(source.name()))
}

/// Returns a relative URI of the file with this name.
pub(crate) fn uri_of(name: &str) -> String {
    encoded(path_of(name).as_os_str().as_encoded_bytes())
}

/// Returns the name of the file that a relative URI means, or None for a broken escape.
pub(crate) fn name_in(uri: &str) -> Option<String> {
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

/// Returns a name for people: each byte that is not part of UTF-8 is U+FFFD.
pub fn shown_name(name: &str) -> Cow<'_, str> {
    if !has_reserved(name) {
        return name.into();
    }
    let mut shown = String::with_capacity(name.len());
    parts(name, |part| match part {
        Part::Char(c) => shown.push(c),
        Part::Byte(_) => shown.push(char::REPLACEMENT_CHARACTER),
    });
    shown.into()
}

enum Part {
    Char(char),
    Byte(u8),
}

/// The characters of a name, and the bytes that are pairs.
fn parts(name: &str, mut take: impl FnMut(Part)) {
    let digit = |c: char, first: u32| {
        u32::from(c).checked_sub(first).and_then(|digit| u8::try_from(digit).ok()).filter(|digit| *digit < 16)
    };
    let mut rest = name.chars();
    while let Some(c) = rest.next() {
        let low = rest.clone().next().and_then(|c| digit(c, LOW));
        match (digit(c, HIGH), low) {
            (Some(high), Some(low)) => {
                rest.next();
                take(Part::Byte(high << 4 | low));
            }
            _ => take(Part::Char(c)),
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::ffi::OsStrExt;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_path_comes_back_from_its_name(bytes in prop::collection::vec(prop_oneof![any::<u8>(), Just(0xef), Just(0xb7), 0x90u8..0xb0], 0..40)) {
            let path = Path::new(std::ffi::OsStr::from_bytes(&bytes));
            let name = name_of(path).into_owned();
            prop_assert_eq!(path_of(&name), path);
            prop_assert!(!shown_name(&name).contains(is_reserved));
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
