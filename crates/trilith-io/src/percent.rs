//! Percent-encoding of URIs and tags (RFC 3986, section 2.1), by the crate `percent-encoding`.

use std::borrow::Cow;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str};

/// Bytes that must be encoded in a segment of a path.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b'!')
    .remove(b'$')
    .remove(b'&')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')')
    .remove(b'*')
    .remove(b'+')
    .remove(b',')
    .remove(b'=')
    .remove(b'@');

/// Encodes one segment of a path.
pub fn encoded(name: &[u8]) -> String {
    percent_encoding::percent_encode(name, RESERVED).to_string()
}

/// Decodes `text`. Returns `None` if an escape is broken, or if the result is not UTF-8.
pub fn strictly_decoded(text: &str) -> Option<String> {
    String::from_utf8(strict_bytes(text)?).ok()
}

/// Decodes `text` to any bytes. Returns `None` if an escape is broken.
#[doc(hidden)]
pub fn strict_bytes(text: &str) -> Option<Vec<u8>> {
    let is_escape = |rest: &str| rest.as_bytes().get(..2).is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit));
    if !text.split('%').skip(1).all(is_escape) {
        return None;
    }
    Some(percent_decode_str(text).collect())
}

/// Decodes `text`. Broken escapes stay, and so does a text that would not be UTF-8.
pub fn leniently_decoded(text: &str) -> Cow<'_, str> {
    percent_decode_str(text).decode_utf8().unwrap_or(Cow::Borrowed(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_that_are_none_stay_or_are_refused() {
        for (text, lenient) in [("a%2", "a%2"), ("%zz%41", "%zzA"), ("%ff", "%ff"), ("%", "%"), ("%%41", "%A")] {
            assert_eq!(leniently_decoded(text), lenient);
            assert_eq!(strictly_decoded(text), None, "{text}");
        }
        assert_eq!(leniently_decoded("%C3%A9é"), "éé");
        assert_eq!(strictly_decoded("%C3%A9é%2e").as_deref(), Some("éé."));
    }
}
