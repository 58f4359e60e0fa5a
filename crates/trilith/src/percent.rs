//! `%41` in URIs and tags.

use std::borrow::Cow;

/// `text` with its escapes undone; None for a broken escape, or where no UTF-8 comes out.
pub(crate) fn strictly_decoded(text: &str) -> Option<String> {
    let (bytes, sound) = decoded(text);
    String::from_utf8(bytes).ok().filter(|_| sound)
}

/// `text` with its escapes undone; what is no escape, or would be no UTF-8, stays as it is.
pub(crate) fn leniently_decoded(text: &str) -> Cow<'_, str> {
    if !text.contains('%') {
        return Cow::Borrowed(text);
    }
    String::from_utf8(decoded(text).0).map_or(Cow::Borrowed(text), Cow::Owned)
}

/// The bytes, and whether every `%` began an escape.
fn decoded(text: &str) -> (Vec<u8>, bool) {
    let mut out = Vec::with_capacity(text.len());
    let mut sound = true;
    let mut rest = text.as_bytes();
    let digit = |byte: u8| char::from(byte).to_digit(16);
    while let Some((&byte, after)) = rest.split_first() {
        let escape = match after {
            [high, low, ..] if byte == b'%' => digit(*high).zip(digit(*low)),
            _ => None,
        };
        if let Some((high, low)) = escape {
            out.push((high * 16 + low) as u8);
            rest = after.get(2..).unwrap_or(&[]);
        } else {
            sound &= byte != b'%';
            out.push(byte);
            rest = after;
        }
    }
    (out, sound)
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
