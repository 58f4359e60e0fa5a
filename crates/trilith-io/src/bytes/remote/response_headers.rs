//! Headers of an answer: which bytes these are, and of which version of the file.

use std::ops::Range;

use super::response::ResponseHeaders;

/// `bytes 5-8/20` or `bytes 5-8/*`: the range, and the size of the file if it is told.
pub(super) fn content_range(value: &str) -> Option<(Range<u64>, Option<u64>)> {
    let (range, size) = split_byte_range(value)?;
    let (first, last) = range.split_once('-')?;
    let (first, last): (u64, u64) = (parse_digits(first)?, parse_digits(last)?);
    let size = if size == "*" { None } else { Some(parse_digits(size)?) };
    let end = last.checked_add(1)?;
    (first <= last && size.is_none_or(|size| end <= size)).then_some((first..end, size))
}

/// `bytes */20`, as an answer 416 has it: the size of the file.
pub(super) fn parse_unsatisfied_size(value: &str) -> Option<u64> {
    let (range, size) = split_byte_range(value)?;
    if range == "*" { parse_digits(size) } else { None }
}

fn split_byte_range(value: &str) -> Option<(&str, &str)> {
    let (unit, rest) = value.trim().split_once(' ')?;
    let (range, size) = rest.split_once('/')?;
    unit.eq_ignore_ascii_case("bytes").then_some((range.trim(), size.trim()))
}

fn parse_digits(text: &str) -> Option<u64> {
    text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

/// The version of the file that an answer belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct FileVersion {
    pub(super) etag: Option<String>,
    pub(super) last_modified: Option<String>,
}

impl FileVersion {
    pub(super) fn from_headers(headers: &ResponseHeaders) -> Self {
        Self { etag: headers.etag.clone(), last_modified: headers.modified.clone() }
    }

    /// Returns `true` if nothing identifies this version.
    pub(super) fn is_unknown(&self) -> bool {
        self.etag.is_none() && self.last_modified.is_none()
    }

    /// Returns the server's name of the version.
    pub(super) fn cache_key(&self) -> Option<String> {
        self.etag.clone().or_else(|| self.last_modified.clone())
    }

    /// Returns `true` if another response names the same version. A response without a version may be of any.
    pub(super) fn is_same_version(&self, other: &Self) -> bool {
        let both = |a: &Option<String>, b: &Option<String>| Some(a.as_ref()? == b.as_ref()?);
        match (&self.etag, &other.etag) {
            // The time is of one server, the tag of the file.
            (Some(own), Some(theirs)) if is_strong(own) || is_strong(theirs) => own == theirs,
            _ => match (both(&self.etag, &other.etag), both(&self.last_modified, &other.last_modified)) {
                (None, None) => false,
                (etag, modified) => etag.unwrap_or(true) && modified.unwrap_or(true),
            },
        }
    }

    /// The header that requires this version, if there is one.
    pub(super) fn precondition_header(&self) -> Option<(&'static str, &str)> {
        match (&self.etag, &self.last_modified) {
            // A weak tag never matches here (RFC 9110, section 13.1.1).
            (Some(etag), _) if is_strong(etag) => Some(("if-match", etag)),
            (_, Some(modified)) => Some(("if-unmodified-since", modified)),
            _ => None,
        }
    }
}

fn is_strong(etag: &str) -> bool {
    etag.starts_with('"')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read_and_impossible_ones_are_not() {
        assert_eq!(content_range("bytes 5-8/20"), Some((5..9, Some(20))));
        assert_eq!(content_range("bytes 0-0/*"), Some((0..1, None)));
        for bad in
            ["bytes 8-5/20", "bytes 5-20/20", "items 0-1/2", "bytes */20", "bytes 0-18446744073709551615/*", "bytes +1-2/3"]
        {
            assert_eq!(content_range(bad), None, "{bad}");
        }
        assert_eq!(parse_unsatisfied_size("bytes */20"), Some(20));
    }

    #[test]
    fn strong_etag_decides_weak_etag_needs_time() {
        let version = |etag: &str, modified: &str| FileVersion { etag: Some(etag.into()), last_modified: Some(modified.into()) };
        assert!(version("\"a\"", "1").is_same_version(&version("\"a\"", "2")));
        assert!(!version("\"a\"", "1").is_same_version(&version("\"b\"", "1")));
        assert!(!version("W/\"a\"", "1").is_same_version(&version("W/\"a\"", "2")));
        let timed = FileVersion { etag: None, last_modified: Some("1".into()) };
        assert!(version("\"a\"", "1").is_same_version(&timed) && timed.is_same_version(&version("W/\"a\"", "1")));
        assert!(
            !version("\"a\"", "1").is_same_version(&FileVersion::default()),
            "an answer without a name may be of any version"
        );
        assert!(!FileVersion::default().is_same_version(&FileVersion::default()) && FileVersion::default().is_unknown());
        assert_eq!(version("\"a\"", "1").precondition_header(), Some(("if-match", "\"a\"")));
        assert_eq!(version("W/\"a\"", "1").precondition_header(), Some(("if-unmodified-since", "1")));
    }
}
