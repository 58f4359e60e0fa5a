//! Strings that YAML can hold unquoted, and quoting of the others.

use super::event::{CollectionStyle, YamlScalarStyle};
use super::scalar::{Scalar, resolve};

/// Appends `text`, quoted if it must be in a collection of the style `parent` or if `style` requires it. Returns the style, and `true`
/// if the text is written without escapes.
pub(super) fn write_text(
    out: &mut String,
    text: &str,
    style: Option<YamlScalarStyle>,
    parent: CollectionStyle,
) -> (YamlScalarStyle, bool) {
    if style.is_none() && is_word(text) {
        out.push_str(text);
        return (YamlScalarStyle::Plain, true);
    }
    if !is_printable(text) || text.contains(['\n', '\t']) || style == Some(YamlScalarStyle::Double) {
        return (YamlScalarStyle::Double, write_double(out, text));
    }
    if style != Some(YamlScalarStyle::Single) && is_plain(text, parent) {
        out.push_str(text);
        return (YamlScalarStyle::Plain, true);
    }
    out.push('\'');
    out.push_str(&text.replace('\'', "''"));
    out.push('\'');
    (YamlScalarStyle::Single, !text.contains('\''))
}

/// Returns `true` if `text` is of ASCII letters, digits, `_` and `-`, begins with a letter and is longer than all
/// words that mean something else: what nearly every key is, and can be anywhere.
fn is_word(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() > 5
        && bytes[0].is_ascii_alphabetic()
        && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

/// Returns `true` if `text` needs no quotes in a collection of the style `parent` and every reader takes it for this text.
pub(crate) fn is_plain(text: &str, parent: CollectionStyle) -> bool {
    let bytes = text.as_bytes();
    let (Some(first), Some(last)) = (bytes.first(), bytes.last()) else { return false };
    if b"-?:,[]{}#&*!|>'\"%@` ".contains(first) || matches!(last, b' ' | b':') || text.starts_with("...") {
        return false;
    }
    if parent == CollectionStyle::Flow && text.contains([',', '[', ']', '{', '}', ':', '?']) {
        return false;
    }
    !text.contains(": ") && !text.contains(" #") && !is_misread(text)
}

/// Returns `true` if some reader of YAML 1.1 or 1.2 takes plain `text` for something else than text.
fn is_misread(text: &str) -> bool {
    if !matches!(resolve(text.into()), Scalar::Str(_)) || matches!(text, "=" | "<<") {
        return true;
    }
    if text.len() <= 5 {
        let word = text.to_ascii_lowercase();
        if matches!(word.as_str(), "y" | "n" | "yes" | "no" | "on" | "off" | "true" | "false" | "null" | "nan" | "inf") {
            return true;
        }
    }
    let body = text.strip_prefix(['-', '+']).unwrap_or(text).to_ascii_lowercase();
    let starts = body.bytes().next().is_some_and(|b| b.is_ascii_digit() || b == b'.');
    starts && (is_number(&body) || is_time(&body))
}

/// A number of YAML 1.2, JSON or a lax reader of 1.1, without sign and in lower case.
fn is_number(body: &str) -> bool {
    if matches!(body, ".inf" | ".nan" | ".") {
        return true;
    }
    for prefix in ["0x", "0o", "0b"] {
        if let Some(digits) = body.strip_prefix(prefix) {
            return digits.bytes().all(|b| b.is_ascii_hexdigit() || b == b'_');
        }
    }
    let (mantissa, exponent) = body.split_once('e').unwrap_or((body, "0"));
    let digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit() || b == b'_');
    let power = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    digits(whole) && digits(fraction) && digits(power)
}

/// Sixties, dates and times: digits with `:` or `-` between.
fn is_time(body: &str) -> bool {
    let numeric = |b: u8| b.is_ascii_digit() || b"_:.-+tz ".contains(&b);
    body.bytes().all(numeric) && body.contains([':', '-'])
}

/// Returns `true` if every character can be in YAML 1.1 outside quotes; its further line breaks cannot.
fn is_printable(text: &str) -> bool {
    text.chars().all(|c| match c {
        '\n' | '\t' | ' '..='~' => true,
        '\u{2028}' | '\u{2029}' | '\u{feff}' => false,
        c => c >= '\u{a0}' && !matches!(c, '\u{fffe}' | '\u{ffff}'),
    })
}

/// Returns `true` if `text` is to be written with `>` if there is room for lines.
pub(super) fn fits_folded(text: &str, style: Option<YamlScalarStyle>) -> bool {
    // Lines that are indented are not folded.
    style == Some(YamlScalarStyle::Folded) && fits_literal(text, style) && !text.contains("\n ")
}

/// Returns `true` if `text` is to be written with `|` if there is room for lines.
pub(super) fn fits_literal(text: &str, style: Option<YamlScalarStyle>) -> bool {
    let wanted = match style {
        None => text.trim_end_matches('\n').contains('\n'),
        Some(YamlScalarStyle::Literal | YamlScalarStyle::Folded) => true,
        Some(_) => false,
    };
    let body = text.trim_end_matches('\n');
    wanted
        && !body.is_empty()
        && is_printable(text)
        && !text.contains('\t')
        // Empty lines at the end would mix with those of the text around.
        && !text.ends_with("\n\n")
        // The first line tells the indentation.
        && !body.starts_with([' ', '\n'])
        && !body.split('\n').any(|line| line.ends_with(' '))
}

/// Appends `text` in quotation marks, and returns `true` if it has no escapes.
fn write_double(out: &mut String, text: &str) -> bool {
    out.push('"');
    let start = out.len();
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            '\0' => out.push_str("\\0"),
            '\x1b' => out.push_str("\\e"),
            ' '..='~' => out.push(c),
            c if c >= '\u{a0}' && !matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}') => out.push(c),
            c if (c as u32) < 0x100 => out.push_str(&format!("\\x{:02X}", c as u32)),
            c if (c as u32) < 0x10000 => out.push_str(&format!("\\u{:04X}", c as u32)),
            c => out.push_str(&format!("\\U{:08X}", c as u32)),
        }
    }
    let is_verbatim = out.get(start..) == Some(text);
    out.push('"');
    is_verbatim
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_plain() {
        for text in ["array000", "byteorder", "e-1-e-1", "infinity", "abcdef", "n_-_-_-", "x1e100", "falsey"] {
            assert!(is_word(text) && is_plain(text, CollectionStyle::Flow) && is_plain(text, CollectionStyle::Block), "{text}");
        }
        for text in ["false", "0x1234", "-abcdef", "1e1000", "a: bcdef", "ünüüüü", "."] {
            assert!(!is_word(text), "{text}");
        }
    }

    #[test]
    fn what_any_reader_would_misread_is_quoted() {
        for text in [
            "",
            "y",
            "N",
            "yes",
            "On",
            "null",
            "~",
            "1",
            "017",
            "0o17",
            "1e3",
            "-.5",
            ".5",
            "1_0",
            "0x1F",
            "190:20:30",
            "2001-12-14",
            "<<",
            "=",
            "- a",
            "a: b",
            "a #b",
            "a:",
            " a",
            "a ",
            "'a",
            "@a",
            "%a",
            "!a",
            "&a",
            "*a",
            "?",
            "-",
            ".inf",
            "NaN",
            "1.",
            "12e03",
            "+1",
            "...",
            "--- a",
        ] {
            assert!(!is_plain(text, CollectionStyle::Block), "{text}");
        }
        for text in ["a", "a b", "1.0.0", "a:b", "x-y", "µ", "a'b", "http://x.y/z#k", "1 m", "e3", "a,b"] {
            assert!(is_plain(text, CollectionStyle::Block), "{text}");
        }
        assert!(!is_plain("a,b", CollectionStyle::Flow));
    }

    #[test]
    fn odd_characters_are_escaped() {
        let mut out = String::new();
        write_text(&mut out, "a\u{2028}\u{7}é\u{1F600}", None, CollectionStyle::Block);
        assert_eq!(out, "\"a\\u2028\\x07é\u{1F600}\"");
    }
}
