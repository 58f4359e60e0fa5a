//! The address of a node: a JSON Pointer.

use std::fmt;

use crate::error::{Error, Result};
use crate::json_pointer;

/// The keys and numbers that lead from the root to a node (RFC 6901).
///
/// ```
/// use trilith_yaml::tree::TreePath;
/// let path = TreePath::parse("/a~1b/0")?;
/// assert_eq!(path.keys(), ["a/b", "0"]);
/// assert_eq!(path.to_string(), "/a~1b/0");
/// assert_eq!(TreePath::parse("a~1b/0")?, path);
/// # Ok::<(), trilith_yaml::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, PartialOrd, Ord)]
pub struct TreePath {
    keys: Vec<String>,
}

impl TryFrom<&str> for TreePath {
    type Error = Error;

    fn try_from(pointer: &str) -> Result<Self> {
        Self::parse(pointer)
    }
}

impl TryFrom<&String> for TreePath {
    type Error = Error;

    fn try_from(pointer: &String) -> Result<Self> {
        Self::parse(pointer)
    }
}

impl From<&TreePath> for TreePath {
    fn from(path: &TreePath) -> Self {
        path.clone()
    }
}

impl TreePath {
    /// The path of the root.
    pub fn root() -> Self {
        Self::default()
    }

    /// Parses `/a/b/0` or, as some writers have it, `a/b/0`; "" is the root.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for a `~` that is neither `~0` nor `~1`.
    pub fn parse(pointer: &str) -> Result<Self> {
        if pointer.is_empty() {
            return Ok(Self::root());
        }
        let body = pointer.strip_prefix('/').unwrap_or(pointer);
        let keys = body.split('/').map(|key| unescape_key(key, pointer)).collect::<Result<_>>()?;
        Ok(Self { keys })
    }

    /// The keys, from the root on, unescaped.
    pub fn keys(&self) -> &[String] {
        &self.keys
    }

    /// Bytes of all keys.
    #[doc(hidden)]
    pub fn text_len(&self) -> usize {
        self.keys.iter().map(String::len).sum()
    }

    /// Returns `true` if this is the path of the root.
    pub fn is_root(&self) -> bool {
        self.keys.is_empty()
    }

    /// The path without its last key, and that key; `None` for the root.
    pub fn split_last(&self) -> Option<(TreePath, &str)> {
        let (last, rest) = self.keys.split_last()?;
        Some((Self { keys: rest.to_vec() }, last))
    }

    /// Returns the path with one more key.
    #[must_use]
    pub fn join(&self, key: impl Into<String>) -> Self {
        let mut keys = self.keys.clone();
        keys.push(key.into());
        Self { keys }
    }

    /// Makes the path one key longer.
    pub fn push(&mut self, key: impl Into<String>) {
        self.keys.push(key.into());
    }

    /// Makes the path one key shorter, and returns that key.
    pub fn pop(&mut self) -> Option<String> {
        self.keys.pop()
    }

    /// Returns `true` if `self` is `other` or leads to it.
    pub fn leads_to(&self, other: &TreePath) -> bool {
        other.keys.starts_with(&self.keys)
    }
}

impl FromIterator<String> for TreePath {
    fn from_iter<I: IntoIterator<Item = String>>(keys: I) -> Self {
        Self { keys: keys.into_iter().collect() }
    }
}

impl std::str::FromStr for TreePath {
    type Err = Error;

    fn from_str(pointer: &str) -> Result<Self> {
        Self::parse(pointer)
    }
}

impl fmt::Display for TreePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for key in &self.keys {
            f.write_str("/")?;
            f.write_str(&json_pointer::escape_key(key))?;
        }
        Ok(())
    }
}

/// `~1` is `/` and `~0` is `~`.
fn unescape_key(key: &str, pointer: &str) -> Result<String> {
    let mut out = String::with_capacity(key.len());
    let mut parts = key.split('~');
    out.push_str(parts.next().unwrap_or(""));
    for part in parts {
        match part.as_bytes().first() {
            Some(b'0') => out.push('~'),
            Some(b'1') => out.push('/'),
            _ => {
                return Err(Error::invalid_input(format!("tree path {pointer:?} has a ~ that is neither ~0 nor ~1"))
                    .hint("write ~0 for ~ and ~1 for / within a key"));
            }
        }
        out.push_str(part.get(1..).unwrap_or(""));
    }
    Ok(out)
}

/// The number that a key of a sequence is: decimal digits without leading zeros.
pub fn index_of(key: &str) -> Option<usize> {
    let canonical = key == "0" || (!key.starts_with('0') && !key.is_empty() && key.bytes().all(|b| b.is_ascii_digit()));
    if canonical { key.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_those_of_rfc_6901() {
        for (pointer, keys) in [("", vec![]), ("/", vec![""]), ("/a~01", vec!["a~1"]), ("/m~0n/", vec!["m~n", ""])] {
            let path = TreePath::parse(pointer).unwrap();
            assert_eq!(path.keys(), keys, "{pointer}");
            assert_eq!(path.to_string(), pointer);
        }
        assert!(TreePath::parse("/a~2").is_err());
        assert!(TreePath::parse("/a~").is_err());
    }

    #[test]
    fn numbers_have_no_leading_zeros_and_no_sign() {
        assert_eq!(index_of("10"), Some(10));
        assert_eq!(index_of("0"), Some(0));
        for key in ["", "01", "+1", "-1", "a", "99999999999999999999999"] {
            assert_eq!(index_of(key), None, "{key}");
        }
    }
}
