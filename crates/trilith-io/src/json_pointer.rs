//! Keys in a JSON Pointer (RFC 6901, section 3): `~0` is `~`, `~1` is `/`.

use std::borrow::Cow;

/// Escapes a key, so that it is one step of a pointer.
///
/// ```
/// use trilith_io::json_pointer::escape_key;
/// assert_eq!(escape_key("m/s"), "m~1s");
/// ```
pub fn escape_key(key: &str) -> Cow<'_, str> {
    // Two plain loops over bytes cost less than a search for two characters in a short text.
    if !key.bytes().any(|byte| matches!(byte, b'~' | b'/')) {
        return Cow::Borrowed(key);
    }
    Cow::Owned(key.replace('~', "~0").replace('/', "~1"))
}

/// Returns the key that a step of a pointer means. A `~` before anything but `0` and `1` stays as it is.
///
/// ```
/// use trilith_io::json_pointer::unescape_key;
/// assert_eq!(unescape_key("m~1s"), "m/s");
/// ```
pub fn unescape_key(step: &str) -> String {
    step.replace("~1", "/").replace("~0", "~")
}

/// Appends a step to a pointer.
pub fn push_key(pointer: &mut String, key: &str) {
    let key = escape_key(key);
    pointer.reserve(key.len() + 1);
    pointer.push('/');
    pointer.push_str(&key);
}
