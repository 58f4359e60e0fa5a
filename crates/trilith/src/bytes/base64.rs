//! Bytes as letters.

/// Bytes in base 64 (RFC 4648, section 4).
pub(crate) fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let number = group.iter().chain(&[0, 0]).take(3).fold(0u32, |n, b| n << 8 | u32::from(*b));
        for place in 0..4 {
            let letter = LETTERS[(number >> (18 - 6 * place)) as usize & 63] as char;
            text.push(if place <= group.len() { letter } else { '=' });
        }
    }
    text
}

/// The bytes that base 64 stands for; None where it is no base 64.
pub(crate) fn from_base64(text: &str) -> Option<Vec<u8>> {
    let text = text.trim();
    let body = text.trim_end_matches('=');
    if !text.len().is_multiple_of(4) || text.len() - body.len() > 2 {
        return None;
    }
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    for group in body.as_bytes().chunks(4) {
        let mut number = 0u32;
        for letter in group {
            let digit = match letter {
                b'A'..=b'Z' => letter - b'A',
                b'a'..=b'z' => letter - b'a' + 26,
                b'0'..=b'9' => letter - b'0' + 52,
                b'+' => 62,
                b'/' => 63,
                _ => return None,
            };
            number = number << 6 | u32::from(digit);
        }
        number <<= 6 * (4 - group.len());
        bytes.extend(number.to_be_bytes().iter().skip(1).take(group.len() - 1));
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_that_are_not_full_are_padded() {
        for bytes in [&b""[..], b"a", b"ab", b"abc", b"\0\xff>?"] {
            assert_eq!(from_base64(&base64(bytes)).as_deref(), Some(bytes));
        }
        assert!(["a", "ab=", "a===", "a*==", "abcde"].iter().all(|wrong| from_base64(wrong).is_none()));
        assert_eq!((base64(b"a"), base64(b"ab"), base64(b"abc")), ("YQ==".into(), "YWI=".into(), "YWJj".into()));
    }
}
