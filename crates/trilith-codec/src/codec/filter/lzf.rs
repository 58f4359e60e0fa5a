//! LZF, the quick codec of h5py: bytes verbatim, and repetitions of what came before.

/// Decodes into `out`; how many bytes that gave, if it is valid.
pub(super) fn decode(mut input: &[u8], out: &mut [u8]) -> Option<usize> {
    let mut at = 0usize;
    let next = |input: &mut &[u8]| {
        let (byte, rest) = input.split_first()?;
        *input = rest;
        Some(usize::from(*byte))
    };
    while !input.is_empty() {
        let control = next(&mut input)?;
        if control < 32 {
            let (run, rest) = input.split_at_checked(control + 1)?;
            out.get_mut(at..at + run.len())?.copy_from_slice(run);
            (at, input) = (at + run.len(), rest);
            continue;
        }
        let mut len = control >> 5;
        if len == 7 {
            len += next(&mut input)?;
        }
        let distance = ((control & 31) << 8 | next(&mut input)?) + 1;
        let from = at.checked_sub(distance)?;
        for n in 0..len + 2 {
            *out.get_mut(at + n)? = *out.get(from + n)?;
        }
        at += len + 2;
    }
    Some(at)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn by_hand() {
        let mut out = [0; 12];
        assert_eq!(decode(b"\x02abc\xe0\x00\x02", &mut out), Some(12));
        assert_eq!(&out, b"abcabcabcabc");
    }

    proptest! {
        #[test]
        fn nothing_panics(bytes in proptest::collection::vec(any::<u8>(), 0..200), len in 0usize..400) {
            decode(&bytes, &mut vec![0; len]);
        }
    }
}
