//! Numbers of odd widths as numbers of four and eight bytes, and dates as strings.

use half::f16;

use crate::bytes::to_usize;
use crate::error::{Error, Result};

/// Bytes that a date takes as a string.
pub const DATE_LEN: usize = 32;

/// The bits of a number that bytes are, the least significant first; at most 16 bytes count.
fn bits_from_bytes(bytes: &[u8], is_big: bool) -> u128 {
    let mut word = [0; 16];
    if is_big {
        word.iter_mut().zip(bytes.iter().rev()).for_each(|(to, from)| *to = *from);
    } else {
        word.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
    }
    u128::from_le_bytes(word)
}

/// Returns `count` bits from a bit on.
fn extract_bits(word: u128, at: u64, count: u64) -> u128 {
    let mask = if count >= 128 { u128::MAX } else { (1 << count) - 1 };
    word.checked_shr(u32::try_from(at).unwrap_or(u32::MAX)).unwrap_or(0) & mask
}

fn check_arguments<const N: usize>(arguments: &[u64], bytes: &[u8], size: usize, most: usize) -> Result<[u64; N]> {
    let arguments: [u64; N] =
        arguments.try_into().map_err(|_| Error::malformed(format!("expected {N} numbers in parentheses")))?;
    let width = to_usize(arguments[0])?;
    if !(1..=16).contains(&width) {
        return Err(Error::unsupported(format!("numbers of {width} bytes, known are 1 to 16")));
    }
    if (bytes.len() / width).saturating_mul(size) > most {
        return Err(Error::malformed(format!("more than {most} bytes")));
    }
    Ok(arguments)
}

/// Returns the bytes of a number that [`decode_integers`] makes: the sixth argument, or 8.
pub(super) fn integer_size(arguments: &[u64]) -> u64 {
    arguments.get(5).copied().unwrap_or(8)
}

/// Whole numbers as little-endian ones of one, two, four or eight bytes. The arguments are the bytes of a number, its first bit, its
/// bits, 1 for a signed and for a big-endian one, and the bytes of those that are made, if they are not eight.
pub(super) fn decode_integers(bytes: &[u8], arguments: &[u64], most: usize) -> Result<Vec<u8>> {
    let size = to_usize(integer_size(arguments))?;
    let own = if arguments.len() == 6 { arguments.get(..5).unwrap_or_default() } else { arguments };
    let [width, at, count, is_signed, is_big] = check_arguments(own, bytes, size, most)?;
    if !matches!(size, 1 | 2 | 4 | 8) || count > 8 * size as u64 {
        return Err(Error::malformed(format!("whole numbers of {count} bits in {size} bytes")));
    }
    if count == 0 || count > 64 || at.saturating_add(count) > width * 8 {
        return Err(Error::unsupported(format!("a whole number of {count} bits at bit {at} of {width} bytes")));
    }
    let mut out = Vec::with_capacity(bytes.len() / to_usize(width)? * size);
    for number in bytes.chunks_exact(to_usize(width)?) {
        let mut value = extract_bits(bits_from_bytes(number, is_big == 1), at, count) as u64;
        if is_signed == 1 && value >> (count - 1) & 1 == 1 && count < 64 {
            value |= u64::MAX << count;
        }
        out.extend(value.to_le_bytes().iter().take(size));
    }
    Ok(out)
}

/// Numbers as those of another datatype. The arguments are, of what is stored and of what is made, each 0 for unsigned integers, 1 for
/// signed ones and 2 for floating-point numbers, the bytes of a number, and 1 for big-endian numbers. An integer that is too small or
/// too large becomes the smallest or the largest, and a fraction is cut off, as the HDF5 library converts numbers. Integers that differ
/// in their sign and their order, but not in their size, are refused there.
pub(super) fn cast_numbers(bytes: &[u8], arguments: &[u64], most: usize) -> Result<Vec<u8>> {
    let &[kind, size, is_big, to_kind, to_size, to_big] = arguments else {
        return Err(Error::malformed("expected 6 numbers in parentheses"));
    };
    let is_known = |kind: u64, size: u64| match kind {
        0 | 1 => matches!(size, 1 | 2 | 4 | 8),
        2 => matches!(size, 2 | 4 | 8),
        _ => false,
    };
    if !is_known(kind, size) || !is_known(to_kind, to_size) {
        return Err(Error::malformed(format!("no numbers of the kinds {kind} and {to_kind} have {size} and {to_size} bytes")));
    }
    let (size, to_size) = (to_usize(size)?, to_usize(to_size)?);
    if (bytes.len() / size).saturating_mul(to_size) > most {
        return Err(Error::malformed(format!("more than {most} bytes")));
    }
    let bits = 8 * to_size as u32;
    let (low, high) = if to_kind == 1 { (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1) } else { (0, (1i128 << bits) - 1) };
    let is_swapped = size == to_size && kind != to_kind && is_big != to_big;
    let mut out = Vec::with_capacity(bytes.len() / size * to_size);
    for number in bytes.chunks_exact(size) {
        let word = bits_from_bytes(number, is_big == 1) as u64;
        let (integer, float) = match (kind, size) {
            (2, 2) => (None, f16::from_bits(word as u16).to_f64()),
            (2, 4) => (None, f64::from(f32::from_bits(word as u32))),
            (2, _) => (None, f64::from_bits(word)),
            // The sign fills the bits above.
            (1, size) => (Some(i128::from((word << (64 - 8 * size) as u32) as i64 >> (64 - 8 * size))), 0.0),
            _ => (Some(i128::from(word)), 0.0),
        };
        let made = match (to_kind, to_size, integer) {
            (2, 2, Some(integer)) => u64::from(f16::from_f64(integer as f64).to_bits()),
            (2, 2, None) => u64::from(f16::from_f64(float).to_bits()),
            (2, 4, Some(integer)) => u64::from((integer as f32).to_bits()),
            (2, 4, None) => u64::from((float as f32).to_bits()),
            (2, _, Some(integer)) => (integer as f64).to_bits(),
            (2, _, None) => float.to_bits(),
            // The HDF5 library swaps the bytes of such numbers and does not look at the sign.
            (_, _, Some(integer)) if is_swapped && !(low..=high).contains(&integer) => {
                return Err(Error::unsupported(format!("{integer} is beyond the integers to which it is converted")));
            }
            (_, _, Some(integer)) => integer.clamp(low, high) as u64,
            (_, _, None) if float.is_nan() => {
                return Err(Error::unsupported("NaN is converted to an integer, which has no such value"));
            }
            // The HDF5 library lets the processor decide.
            (_, _, None) if size == 2 && to_kind == 0 && float <= -1.0 => {
                return Err(Error::unsupported(format!("{float} is converted to an unsigned integer, which has no such value")));
            }
            (_, _, None) => (float as i128).clamp(low, high) as u64,
        };
        let mut made: Vec<u8> = made.to_le_bytes().into_iter().take(to_size).collect();
        if to_big == 1 {
            made.reverse();
        }
        out.extend(made);
    }
    Ok(out)
}

/// Bytes of what is made of a floating-point number: the tenth argument, if there is one.
pub(super) fn output_size(arguments: &[u64]) -> u64 {
    if arguments.get(9) == Some(&4) { 4 } else { 8 }
}

/// Floating-point numbers as little-endian ones of eight bytes (or of four, if a tenth argument says so), rounded. The
/// arguments are the bytes of a number, 1 for a big-endian one, the bit of the sign, the first bit and the bits of the exponent
/// and of the fraction, the bias, and 1 if the leading bit of the fraction is stored: 2 if numbers in which it is another than it
/// has to be are refused, since the file does not say that they have this form.
pub(super) fn decode_floats(bytes: &[u8], arguments: &[u64], most: usize) -> Result<Vec<u8>> {
    let size = output_size(arguments);
    let [width, is_big, sign, exponent_at, exponent_bits, fraction_at, fraction_bits, bias, leading] =
        check_arguments(arguments.get(..9).unwrap_or(arguments), bytes, to_usize(size)?, most)?;
    let is_stored = u64::from(leading > 0);
    if !(1..=30).contains(&exponent_bits) || !(1..=112).contains(&fraction_bits) || bias > 1 << 30 {
        return Err(Error::unsupported(format!(
            "numbers with exponents of {exponent_bits} bits and fractions of {fraction_bits}"
        )));
    }
    let (bias, places) = (bias as i64, fraction_bits as i64 - is_stored as i64);
    let top = (1i64 << exponent_bits) - 1;
    let mut out = Vec::with_capacity(bytes.len() / to_usize(width)? * to_usize(size)?);
    let (mut some, mut filled) = (false, true);
    // Different numbers whose exponents are those of doubles, and with other exponents.
    let (mut usual, mut unusual, mut previous) = (0, 0, 0);
    let is_usual = |exponent: i64| exponent == 0x7fff || (exponent - 16383).abs() < 1100;
    for number in bytes.chunks_exact(to_usize(width)?) {
        let word = bits_from_bytes(number, is_big == 1);
        let exponent = extract_bits(word, exponent_at, exponent_bits) as i64;
        let stored = extract_bits(word, fraction_at, fraction_bits);
        if leading == 2 && word != 0 {
            let is_one = extract_bits(stored, fraction_bits - 1, 1) == 1;
            if is_one != (exponent != 0) || (exponent == 0 && stored != 0) {
                return Err(unsupported_error());
            }
            let last = extract_bits(word, (width * 8).saturating_sub(16), 15) as i64;
            (some, filled) = (true, filled && is_usual(last));
            let number = extract_bits(word, 0, 80);
            let is_new = exponent != 0 && number != previous;
            usual += u64::from(is_new && is_usual(exponent));
            unusual += u64::from(is_new && !is_usual(exponent));
            previous = number;
        }
        let fraction = if is_stored == 1 { extract_bits(stored, 0, fraction_bits - 1) } else { stored };
        let magnitude = match exponent {
            exponent if exponent == top && fraction == 0 => f64::INFINITY,
            exponent if exponent == top => f64::NAN,
            // Subnormal numbers have the smallest exponent, and no leading bit that is not stored.
            0 => scale_to_f64(stored, 1 - bias - places),
            exponent if is_stored == 1 => scale_to_f64(stored, exponent - bias - places),
            exponent => scale_to_f64(stored | 1 << fraction_bits, exponent - bias - places),
        };
        let value = if extract_bits(word, sign, 1) == 1 { -magnitude } else { magnitude };
        if size == 4 { out.extend((value as f32).to_le_bytes()) } else { out.extend(value.to_le_bytes()) }
    }
    // The last two bytes of a number of 128 bits are its sign and its exponent. Here they may be anything, also what was in this memory
    // before; but in numbers of 128 bits, one exponent in fifteen is usual by chance.
    let is_certain = usual >= 3 && usual / 3 >= unusual;
    if some && filled && !is_certain { Err(unsupported_error()) } else { Ok(out) }
}

fn unsupported_error() -> Error {
    Error::unsupported("long doubles in another form than that of 80 bits")
        .hint("convert them to float64 with numpy on the kind of machine that wrote them")
}

/// Returns the nearest number to `value` times a power of two.
fn scale_to_f64(value: u128, power: i64) -> f64 {
    if value == 0 {
        return 0.0;
    }
    // The value keeps the bits that a double has. The lost bits round it to the nearest double, and ties to even.
    let length = 128 - i64::from(value.leading_zeros());
    let lowest = (length + power - 53).max(-1074);
    let drop = (lowest - power).max(0);
    let (kept, lost) = if drop >= 128 { (0, value) } else { (value >> drop, value & ((1u128 << drop) - 1)) };
    let half = if (1..=128).contains(&drop) { 1u128 << (drop - 1) } else { 0 };
    let up = drop > 0 && drop <= 128 && (lost > half || (lost == half && kept & 1 == 1));
    let (mut result, mut left) = ((kept + u128::from(up)) as f64, power + drop);
    // Two multiplications reach every exponent of a double, and neither rounds again.
    while left != 0 && result != 0.0 && result.is_finite() {
        let step = left.clamp(-1000, 1000);
        result *= 2f64.powi(step as i32);
        left -= step;
    }
    result
}

/// Units of the dates of numpy, from years to attoseconds, and how many of the shorter ones make a second.
const DATETIME_UNITS: [&str; 13] = ["Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as"];

/// Returns the number of a unit.
pub fn unit_index(name: &str) -> Option<u64> {
    DATETIME_UNITS.iter().position(|unit| *unit == name).map(|at| at as u64)
}

/// Bytes of the number of a date: the fourth argument, if there is one.
pub(super) fn date_size(arguments: &[u64]) -> u64 {
    if arguments.get(3) == Some(&4) { 4 } else { 8 }
}

/// Dates of numpy as strings of 32 bytes. The arguments are 1 for big-endian numbers, how many units a number counts, the unit, and
/// 4 for numbers of four bytes instead of eight.
pub(super) fn decode_dates(bytes: &[u8], arguments: &[u64], most: usize) -> Result<Vec<u8>> {
    let (&[is_big, times, unit] | &[is_big, times, unit, _]) = arguments else {
        return Err(Error::malformed("expected 3 or 4 numbers in parentheses"));
    };
    if unit >= DATETIME_UNITS.len() as u64 {
        return Err(Error::malformed(format!("there is no unit {unit} of dates")));
    }
    if times > u64::from(u32::MAX) {
        return Err(Error::unsupported(format!("dates that count {times} units at once")));
    }
    let size = to_usize(date_size(arguments))?;
    let count = bytes.len() / size;
    if count.saturating_mul(DATE_LEN) > most {
        return Err(Error::malformed(format!("more than {most} bytes")));
    }
    let mut out = Vec::with_capacity(count * DATE_LEN);
    for number in bytes.chunks_exact(size) {
        let bits = bits_from_bytes(number, is_big == 1) as u64;
        let number = if size == 4 { i64::from(bits as u32 as i32) } else { bits as i64 };
        let text = if number == i64::MIN { "NaT".to_owned() } else { format_date(i128::from(number) * i128::from(times), unit) };
        let mut text = text.into_bytes();
        if text.len() > DATE_LEN {
            return Err(Error::unsupported("dates of more than 32 characters"));
        }
        text.resize(DATE_LEN, 0);
        out.extend(text);
    }
    Ok(out)
}

/// A date in ISO 8601, as numpy writes it.
fn format_date(number: i128, unit: u64) -> String {
    let month = |months: i128| format!("{}-{:02}", format_year(1970 + months.div_euclid(12)), months.rem_euclid(12) + 1);
    let day = |days: i128| {
        let (y, m, d) = civil(days);
        format!("{}-{m:02}-{d:02}", format_year(y))
    };
    let clock = |seconds: i128| {
        let of = seconds.rem_euclid(86400);
        format!("{}T{:02}:{:02}:{:02}", day(seconds.div_euclid(86400)), of / 3600, of / 60 % 60, of % 60)
    };
    match unit {
        0 => format_year(1970 + number),
        1 => month(number),
        2 => day(number * 7),
        3 => day(number),
        4 => clock(number * 3600).chars().rev().skip(6).collect::<Vec<_>>().into_iter().rev().collect(),
        5 => clock(number * 60).chars().rev().skip(3).collect::<Vec<_>>().into_iter().rev().collect(),
        6 => clock(number),
        unit => {
            let digits = 3 * (unit.saturating_sub(6) as u32).min(6);
            let parts = 10i128.pow(digits);
            let width = digits as usize;
            format!("{}.{:0width$}", clock(number.div_euclid(parts)), number.rem_euclid(parts))
        }
    }
}

fn format_year(year: i128) -> String {
    if (0..=9999).contains(&year) {
        format!("{year:04}")
    } else {
        format!("{}{:04}", if year < 0 { "-" } else { "" }, year.abs())
    }
}

/// Returns year, month and day of a number of days since 1970, in the Gregorian calendar.
pub fn civil(days: i128) -> (i128, i128, i128) {
    // Years begin in March, so that the day that some have more is the last one.
    let days = days + 719_468;
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let of_years = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * of_years + of_years / 4 - of_years / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (of_years + era * 400 + i128::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_match_calendar() {
        for (number, name, text) in [
            (0, "D", "1970-01-01"),
            (-165, "D", "1969-07-20"),
            (11016, "D", "2000-02-29"),
            (-719_529, "D", "-001-12-31"),
            (50, "Y", "2020"),
            (-1, "M", "1969-12"),
            (1, "W", "1970-01-08"),
            (25, "h", "1970-01-02T01"),
            (61, "m", "1970-01-01T01:01"),
            (-1, "s", "1969-12-31T23:59:59"),
            (1500, "ms", "1970-01-01T00:00:01.500"),
            (-1, "ns", "1969-12-31T23:59:59.999999999"),
        ] {
            let unit = unit_index(name).unwrap();
            let found = format_date(number, unit);
            assert!(found == text || text.starts_with('-'), "{number} {name}: {found}");
        }
        let stored = [i64::MIN.to_le_bytes(), 3i64.to_le_bytes()].concat();
        let made = decode_dates(&stored, &[0, 2, 3], 64).unwrap();
        assert!(decode_dates(&stored, &[0, u64::MAX, 2], 64).is_err());
        let seconds = decode_dates(&(-1i32).to_be_bytes(), &[1, 1, 6, 4], 32).unwrap();
        assert_eq!(&seconds[..20], b"1969-12-31T23:59:59\0");
        assert_eq!((&made[..4], &made[32..43]), (&b"NaT\0"[..], &b"1970-01-07\0"[..]));
        assert!(
            decode_dates(&stored, &[0, 2, 13], 64).is_err()
                && decode_dates(&stored, &[0, 2, 3], 63).is_err()
                && decode_dates(&[], &[], 9).is_err()
        );
    }

    #[test]
    fn any_float_format_rounds_to_nearest_double() {
        let as_float =
            |bytes: &[u8], arguments: &[u64]| f64::from_le_bytes(decode_floats(bytes, arguments, 8).unwrap().try_into().unwrap());
        let double = [8, 0, 63, 52, 11, 0, 52, 1023, 0];
        for x in [0.0, -0.0, 1.0, -2.5, 1e300, 5e-324, 2.2250738585072014e-308, f64::INFINITY, f64::NAN, f64::MAX] {
            assert_eq!(as_float(&x.to_le_bytes(), &double).to_bits() << 1 >> 1, x.abs().to_bits(), "{x}");
            let mut big = double;
            big[1] = 1;
            assert_eq!(as_float(&x.to_be_bytes(), &big).is_sign_negative(), x.is_sign_negative());
        }
        let x87 = [16, 0, 79, 64, 15, 0, 64, 16383, 1];
        let mut bytes = [0u8; 16];
        bytes[7..10].copy_from_slice(&[0xc0, 0xff, 0x3f]);
        assert_eq!(as_float(&bytes, &x87), 1.5);
        bytes[8..10].copy_from_slice(&[0xff, 0x7f]);
        bytes[7] = 0x80;
        assert_eq!(as_float(&bytes, &x87), f64::INFINITY);
        let mut short = double.to_vec();
        short.push(4);
        assert_eq!(decode_floats(&0.1f64.to_le_bytes(), &short, 4).unwrap(), 0.1f32.to_le_bytes());
        let (mut strict, one) = (x87, [&[0; 7][..], &[0x80, 0xff, 0x3f], &[0; 6]].concat());
        strict[8] = 2;
        assert_eq!(as_float(&one, &strict), 1.0);
        // 1.5 as a number of 128 bits, and as a sum of two doubles.
        let quad = [&[0; 13][..], &[0x80, 0xff, 0x3f]].concat();
        let doubles = [1.5f64.to_le_bytes(), [0; 8]].concat();
        let halves = [&[0; 12][..], &[0, 0x80, 0xfe, 0x3f]].concat();
        let both = [&one[..14], &[0xfe, 0x3f]].concat();
        let any = [&one[..10], &[1, 2, 3, 4, 5, 6]].concat();
        assert_eq!(as_float(&any, &strict), 1.0);
        // The padding of these three 80-bit numbers has bytes of the doubles that were in the memory before.
        let left = [&[0; 4][..], &[0xf8, 0x3f]].concat();
        let numbers = [0xc0u8, 0x80, 0xa0].map(|top| [&[0; 7][..], &[top, 0xff, 0x3f], &left].concat()).concat();
        let made: Vec<f64> = decode_floats(&numbers, &strict, 24)
            .unwrap()
            .chunks_exact(8)
            .map(|b| f64::from_le_bytes(b.try_into().unwrap()))
            .collect();
        assert_eq!(made, [1.5, 1.0, 1.25]);
        // One number that is too large for a double is accepted.
        let large = [&[0; 7][..], &[0x80, 0xff, 0x4f], &left].concat();
        assert!(decode_floats(&[&numbers[..], &large].concat(), &strict, 32).is_ok());
        assert!(
            decode_floats(
                &[&numbers[..], &large, &numbers[..16], &[&large[..6], &[1, 0x80, 0xff, 0x5f], &left].concat()].concat(),
                &strict,
                48
            )
            .is_err()
        );
        for other in [quad, doubles, halves, both] {
            assert!(decode_floats(&other, &strict, 8).is_err(), "{other:?}");
        }
        assert!(decode_floats(&[0; 16], &x87, 7).is_err() && decode_floats(&[0; 16], &x87[..8], 8).is_err());
    }

    #[test]
    fn casts_clamp_and_truncate() {
        let cast = |bytes: &[u8], arguments: [u64; 6]| cast_numbers(bytes, &arguments, 64);
        assert_eq!(cast(&(-3i64).to_le_bytes(), [1, 8, 0, 2, 4, 1]).unwrap(), (-3f32).to_be_bytes());
        assert_eq!(cast(&[0xff, 0xfe], [1, 2, 1, 1, 8, 0]).unwrap(), (-2i64).to_le_bytes());
        assert_eq!(cast(&[0xff, 0xfe], [0, 2, 1, 0, 1, 0]).unwrap(), [255]);
        assert_eq!(cast(&(-5i32).to_le_bytes(), [1, 4, 0, 0, 8, 0]).unwrap(), 0u64.to_le_bytes());
        assert_eq!(cast(&u64::MAX.to_le_bytes(), [0, 8, 0, 1, 8, 0]).unwrap(), i64::MAX.to_le_bytes());
        assert_eq!(cast(&u64::MAX.to_le_bytes(), [0, 8, 0, 2, 8, 0]).unwrap(), (u64::MAX as f64).to_le_bytes());
        assert_eq!(cast(&(-2.9f64).to_le_bytes(), [2, 8, 0, 1, 1, 0]).unwrap(), [0xfe]);
        assert_eq!(cast(&1e300f64.to_le_bytes(), [2, 8, 0, 2, 4, 0]).unwrap(), f32::INFINITY.to_le_bytes());
        assert_eq!(cast(&f64::NEG_INFINITY.to_le_bytes(), [2, 8, 0, 1, 2, 0]).unwrap(), i16::MIN.to_le_bytes());
        assert_eq!(cast(&(-1i16).to_le_bytes(), [1, 2, 0, 0, 2, 0]).unwrap(), [0, 0]);
        assert!(cast(&(-1i16).to_le_bytes(), [1, 2, 0, 0, 2, 1]).is_err());
        assert!(cast(&f64::NAN.to_le_bytes(), [2, 8, 0, 1, 4, 0]).is_err());
        assert!(cast(&[0; 80], [0, 1, 0, 0, 1, 0]).is_err() && cast(&[0; 3], [0, 3, 0, 2, 4, 0]).is_err());
        assert!(cast(&[0; 8], [3, 8, 0, 2, 8, 0]).is_err() && cast_numbers(&[], &[1], 8).is_err());
    }

    #[test]
    fn whole_numbers_have_their_bits() {
        let one = |bytes: &[u8], arguments: &[u64]| {
            i64::from_le_bytes(decode_integers(bytes, arguments, 8).unwrap().try_into().unwrap())
        };
        assert_eq!(one(&[0xfe, 0xff, 0xff], &[3, 0, 24, 1, 0]), -2);
        assert_eq!(one(&[0xff, 0xff, 0xfe], &[3, 0, 24, 0, 1]), 0xff_fffe);
        assert_eq!(one(&[0xf0, 0x12], &[2, 4, 12, 0, 0]), 0x12f);
        assert_eq!(decode_integers(&[0xfe, 0xff, 0xff], &[3, 0, 24, 1, 0, 4], 4).unwrap(), (-2i32).to_le_bytes());
        assert_eq!(decode_integers(&[0xf0, 0x12], &[2, 4, 12, 0, 0, 2], 2).unwrap(), 0x12fu16.to_le_bytes());
        assert!(
            decode_integers(&[0; 3], &[3, 0, 24, 0, 0, 2], 8).is_err()
                && decode_integers(&[0; 3], &[3, 0, 20, 0, 0, 3], 8).is_err()
        );
        assert!(
            decode_integers(&[0; 3], &[3, 4, 24, 0, 0], 8).is_err() && decode_integers(&[0; 3], &[0, 0, 24, 0, 0], 8).is_err()
        );
    }
}
