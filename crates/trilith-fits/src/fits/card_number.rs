//! Numbers as headers spell them.

use crate::error::{Error, Result};

/// Reads a FITS number: `12`, `-1.5`, `.5`, `2.E3`, `1.0D-7`.
pub(super) fn parse_number(text: &str) -> Option<f64> {
    // The standard library would also take `nan` and `infinity`, which FITS has not.
    if !text.bytes().any(|b| b.is_ascii_digit())
        || !text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'+' | b'-' | b'.' | b'E' | b'D' | b'e' | b'd'))
    {
        return None;
    }
    match text.bytes().any(|b| matches!(b, b'D' | b'd')) {
        true => text.replace(['D', 'd'], "E").parse().ok(),
        false => text.parse().ok(),
    }
}

/// Writes a number with as many digits as read back the same, at most 20 characters of them if
/// possible; exponents below 1e-4 and from 1e16 on, as most writers of FITS do.
///
/// # Errors
/// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for what is not finite: FITS headers have no such numbers.
pub(super) fn print_number(x: f64) -> Result<String> {
    if !x.is_finite() {
        return Err(Error::invalid_input(format!("a FITS header cannot hold the number {x}")));
    }
    let scientific = format!("{x:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if x != 0.0 && !(-4..16).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        return Ok(format!("{digits}E{sign}{:02}", exponent.abs()));
    }
    let plain = x.to_string();
    Ok(if plain.contains('.') { plain } else { plain + ".0" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn print_parse_round_trip() {
        for x in [0.0, -0.0, 1.0, 0.1, 1e15, 1e16, 1.5e-5, 1e-4, f64::MAX, f64::MIN_POSITIVE, -2.5e300, 5e-324] {
            let text = print_number(x).unwrap();
            assert_eq!(parse_number(&text).map(f64::to_bits), Some(x.to_bits()), "{text}");
        }
        assert_eq!(print_number(1e16).unwrap(), "1E+16");
        assert_eq!(print_number(1.5e-5).unwrap(), "1.5E-05");
        assert_eq!(print_number(100.0).unwrap(), "100.0");
        assert!(print_number(f64::INFINITY).is_err());
    }
}
