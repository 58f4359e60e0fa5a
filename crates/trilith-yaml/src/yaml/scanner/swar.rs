//! Eight bytes of text at a time: where blanks or a plain scalar may end, without a branch for each byte.

const ONES: u64 = u64::from_ne_bytes([1; 8]);
const HIGH: u64 = ONES * 0x80;

/// Eight bytes, the first of them lowest.
#[inline(always)]
pub(super) fn load_word(bytes: &[u8], at: usize) -> Option<u64> {
    let eight: [u8; 8] = bytes.get(at..at.checked_add(8)?)?.try_into().ok()?;
    Some(u64::from_le_bytes(eight))
}

/// The place of the first marked byte, 8 if none is.
#[inline(always)]
pub(super) fn first_marked(marks: u64) -> usize {
    marks.trailing_zeros() as usize / 8
}

/// Marks a byte that equals `wanted`: the first mark is right.
#[inline(always)]
fn bytes_equal(word: u64, wanted: u8) -> u64 {
    let other = word ^ (ONES * wanted as u64);
    other.wrapping_sub(ONES) & !other & HIGH
}

/// Marks bytes below `limit`, which is at most 0x80: the first mark is right.
#[inline(always)]
fn bytes_below(word: u64, limit: u8) -> u64 {
    word.wrapping_sub(ONES * limit as u64) & !word & HIGH
}

/// Returns the number of leading spaces among the bytes.
#[inline(always)]
pub(super) fn blank_bytes(word: u64) -> usize {
    first_marked(word ^ (ONES * b' ' as u64))
}

/// Marks what may end a plain scalar in a block: a line break, a colon, the sign of a comment.
#[inline(always)]
pub(super) fn block_ends(word: u64) -> u64 {
    bytes_equal(word, b'\n') | bytes_equal(word, b':') | bytes_equal(word, b'#')
}

/// Marks what may end a plain scalar between brackets, and some bytes that do not: blanks, most of what is below `-`, `_`, `|`,
/// `~`, and letters beyond ASCII.
#[inline(always)]
pub(super) fn flow_ends(word: u64) -> u64 {
    // `[` and `]` become `{` and `}`.
    let brackets = (((word & !HIGH) | (ONES * 0x20)) + ONES * (0x80 - 0x7b)) | word;
    bytes_below(word, b'-') | bytes_equal(word, b':') | (brackets & HIGH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_returns_lowest_matching_byte() {
        let flows = |byte: u8| byte < b'-' || byte == b':' || byte | 0x20 >= 0x7b;
        // The test tries each pair of adjacent bytes, because a borrow or carry may go from one byte into the next.
        for low in 0..=255u8 {
            for high in 0..=255u8 {
                for (at, around) in [(0, b"aZ0z.-aa"), (3, b"aZ0z.-aa"), (6, b"aZ0z.-aa"), (2, b"        ")] {
                    let mut bytes = *around;
                    (bytes[at], bytes[at + 1]) = (low, high);
                    let word = u64::from_le_bytes(bytes);
                    let place = bytes.iter().position(|byte| flows(*byte)).unwrap_or(8);
                    assert_eq!(first_marked(flow_ends(word)), place, "{bytes:?}");
                    let place = bytes.iter().position(|byte| b"\n:#".contains(byte)).unwrap_or(8);
                    assert_eq!(first_marked(block_ends(word)), place, "{bytes:?}");
                    assert_eq!(blank_bytes(word), bytes.iter().take_while(|byte| **byte == b' ').count(), "{bytes:?}");
                }
            }
        }
    }
}
