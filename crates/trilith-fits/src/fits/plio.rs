//! PLIO coding of tiles: runs of zeros and of a "high" value that is set, raised and lowered.
//!
//! FITS Standard 4.0, section 10.4.3 and table 38.

/// Decodes `count` whole numbers from 0 to 2^24 - 1; None if the bytes are not such a list.
pub(super) fn decode_plio(bytes: &[u8], count: usize) -> Option<Vec<i32>> {
    let words: Vec<i32> = bytes.as_chunks().0.iter().map(|b| i32::from(i16::from_be_bytes(*b))).collect();
    // The third word is the length of the list, or negative in the form with a longer head.
    let (first, len) = match *words.get(2)? {
        len if len > 0 => (3, usize::try_from(len).ok()?),
        _ => {
            let (low, high) = (u16::try_from(*words.get(3)?).ok()?, u16::try_from(*words.get(4)?).ok()?);
            (usize::try_from(*words.get(1)?).ok()?, usize::from(high) << 15 | usize::from(low))
        }
    };
    let mut list = words.get(first..len)?.iter();
    let mut out: Vec<i32> = Vec::with_capacity(count);
    let mut high = 1i32;
    while out.len() < count {
        let Some(word) = list.next() else { break };
        let (code, data) = (*word as u16 >> 12, *word & 0xfff);
        let run = usize::try_from(data).ok()?.min(count - out.len());
        match code {
            // Zeros; zeros with the high value at their end; the high value all along.
            0 => out.resize(out.len() + run, 0),
            5 => {
                out.resize(out.len() + run, 0);
                if run == data as usize
                    && let Some(last) = out.last_mut().filter(|_| run > 0)
                {
                    *last = high;
                }
            }
            4 => out.resize(out.len() + run, high),
            // The high value: set, raised, lowered; raised or lowered and put out once.
            1 => high = list.next()?.checked_shl(12)?.checked_add(data)?,
            2 => high = high.checked_add(data)?,
            3 => high = high.checked_sub(data)?,
            6 | 7 => {
                high = if code == 6 { high.checked_add(data)? } else { high.checked_sub(data)? };
                out.push(high);
            }
            _ => return None,
        }
    }
    // Pixels beyond the list are zero.
    out.resize(count, 0);
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(words: &[i16]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_be_bytes()).collect()
    }

    #[test]
    fn decode_follows_every_instruction() {
        // The list is: two zeros; set high to 5; three highs; three zeros and a high; raise by 2 and put; lower by 1 and put;
        // raise by 1; lower by 2; one high.
        let code = |n: i16, data: i16| n << 12 | data;
        let body =
            [code(0, 2), code(1, 5), 0, code(4, 3), code(5, 4), code(6, 2), code(7, 1), code(2, 1), code(3, 2), code(4, 1)];
        let words = [&[0, 0, 3 + body.len() as i16][..], &body].concat();
        let want = [0, 0, 5, 5, 5, 0, 0, 0, 5, 7, 6, 5, 0];
        assert_eq!(decode_plio(&list(&words), 13).unwrap(), want);
        // The form with a head of seven words.
        let words = [&[0, 7, -100, 7 + body.len() as i16, 0, 0, 0][..], &body].concat();
        assert_eq!(decode_plio(&list(&words), 13).unwrap(), want);
        assert_eq!(decode_plio(&list(&words), 4).unwrap(), want[..4]);
    }

    #[test]
    fn what_is_no_list_is_nothing() {
        assert_eq!(decode_plio(&[], 1), None);
        assert_eq!(decode_plio(&list(&[0, 0, 9, 1]), 1), None);
        assert_eq!(decode_plio(&list(&[0, 0, 4, -1]), 1), None);
        assert_eq!(decode_plio(&list(&[0, 0, 4, 1 << 12]), 1), None);
    }
}
