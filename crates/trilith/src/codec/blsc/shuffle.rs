//! The two rearrangements of Blosc: bytes of the same weight together, or bits.

/// Puts the first bytes of all items first, then the second bytes, and so on; what is less than an
/// item stays at the end.
pub(super) fn shuffle(item: usize, from: &[u8], to: &mut [u8]) {
    let n = from.len() / item.max(1);
    let (whole, rest) = from.split_at(n * item);
    let (planes, tail) = to.split_at_mut((n * item).min(to.len()));
    copy(rest, tail);
    match item {
        2 => shuffle_n::<2>(n, whole, planes),
        4 => shuffle_n::<4>(n, whole, planes),
        8 => shuffle_n::<8>(n, whole, planes),
        _ => {
            for (weight, plane) in planes.chunks_exact_mut(n.max(1)).enumerate() {
                for (byte, item) in plane.iter_mut().zip(whole.chunks_exact(item)) {
                    *byte = item.get(weight).copied().unwrap_or(0);
                }
            }
        }
    }
}

fn shuffle_n<const N: usize>(n: usize, from: &[u8], to: &mut [u8]) {
    let (items, _) = from.as_chunks::<N>();
    for (weight, plane) in to.chunks_exact_mut(n.max(1)).enumerate().take(N) {
        for (byte, item) in plane.iter_mut().zip(items) {
            *byte = item[weight];
        }
    }
}

/// The inverse of [`shuffle`].
pub(super) fn unshuffle(item: usize, from: &[u8], to: &mut [u8]) {
    let n = from.len() / item.max(1);
    let (planes, rest) = from.split_at(n * item);
    let (whole, tail) = to.split_at_mut((n * item).min(to.len()));
    copy(rest, tail);
    match item {
        2 => unshuffle_n::<2>(n, planes, whole),
        4 => unshuffle_n::<4>(n, planes, whole),
        8 => unshuffle_n::<8>(n, planes, whole),
        _ => {
            for (weight, plane) in planes.chunks_exact(n.max(1)).enumerate() {
                for (byte, item) in plane.iter().zip(whole.chunks_exact_mut(item)) {
                    if let Some(to) = item.get_mut(weight) {
                        *to = *byte;
                    }
                }
            }
        }
    }
}

/// Items by runs of 16, which the compiler turns into interleaving instructions.
fn unshuffle_n<const N: usize>(n: usize, from: &[u8], to: &mut [u8]) {
    const RUN: usize = 16;
    let mut planes: [&[u8]; N] = [&[]; N];
    for (plane, bytes) in planes.iter_mut().zip(from.chunks_exact(n.max(1))) {
        *plane = bytes;
    }
    let (items, _) = to.as_chunks_mut::<N>();
    let mut at = 0;
    let mut runs = items.chunks_exact_mut(RUN);
    for run in &mut runs {
        let mut bytes = [[0u8; RUN]; N];
        for (to, plane) in bytes.iter_mut().zip(planes) {
            if let Some(from) = plane.get(at..at + RUN) {
                to.copy_from_slice(from);
            }
        }
        for (index, item) in run.iter_mut().enumerate() {
            for (byte, plane) in item.iter_mut().zip(&bytes) {
                *byte = plane[index];
            }
        }
        at += RUN;
    }
    for item in runs.into_remainder() {
        for (byte, plane) in item.iter_mut().zip(planes) {
            *byte = plane.get(at).copied().unwrap_or(0);
        }
        at += 1;
    }
}

/// Puts the lowest bits of the first bytes of all items first, and so on. Blosc does this only
/// where the number of items is a multiple of 8, and leaves the bytes as they are otherwise.
pub(super) fn bit_shuffle(item: usize, from: &[u8], to: &mut [u8]) {
    let n = from.len() / item.max(1);
    if n % 8 != 0 {
        copy(from, to);
        return;
    }
    let (whole, rest) = from.split_at(n * item);
    let (rows, tail) = to.split_at_mut((n * item).min(to.len()));
    copy(rest, tail);
    let groups = n / 8;
    for (weight, plane) in rows.chunks_exact_mut(n.max(1)).enumerate() {
        for (group, items) in whole.chunks_exact(8 * item).enumerate() {
            let mut bits = 0u64;
            for at in (0..8).rev() {
                bits = bits << 8 | u64::from(items.get(at * item + weight).copied().unwrap_or(0));
            }
            for (row, byte) in transpose(bits).to_le_bytes().into_iter().enumerate() {
                if let Some(to) = plane.get_mut(row * groups + group) {
                    *to = byte;
                }
            }
        }
    }
}

/// The inverse of [`bit_shuffle`].
pub(super) fn bit_unshuffle(item: usize, from: &[u8], to: &mut [u8]) {
    let n = from.len() / item.max(1);
    if n % 8 != 0 {
        copy(from, to);
        return;
    }
    let (rows, rest) = from.split_at(n * item);
    let (whole, tail) = to.split_at_mut((n * item).min(to.len()));
    copy(rest, tail);
    let groups = n / 8;
    for (weight, plane) in rows.chunks_exact(n.max(1)).enumerate() {
        let mut bits: [&[u8]; 8] = [&[]; 8];
        for (row, bytes) in bits.iter_mut().zip(plane.chunks_exact(groups.max(1))) {
            *row = bytes;
        }
        for (group, items) in whole.chunks_exact_mut(8 * item).enumerate() {
            let mut word = [0u8; 8];
            for (byte, row) in word.iter_mut().zip(bits) {
                *byte = row.get(group).copied().unwrap_or(0);
            }
            let bytes = transpose(u64::from_le_bytes(word)).to_le_bytes();
            for (byte, item) in bytes.into_iter().zip(items.chunks_exact_mut(item)) {
                if let Some(to) = item.get_mut(weight) {
                    *to = byte;
                }
            }
        }
    }
}

/// The 8 by 8 bits of a word, rows and columns exchanged.
fn transpose(mut x: u64) -> u64 {
    let mut swap = (x ^ x >> 7) & 0x00aa_00aa_00aa_00aa;
    x ^= swap ^ swap << 7;
    swap = (x ^ x >> 14) & 0x0000_cccc_0000_cccc;
    x ^= swap ^ swap << 14;
    swap = (x ^ x >> 28) & 0x0000_0000_f0f0_f0f0;
    x ^ swap ^ swap << 28
}

fn copy(from: &[u8], to: &mut [u8]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to = *from;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn bytes_of_one_weight_stand_together() {
        let mut to = [0; 7];
        shuffle(3, b"abcABCx", &mut to);
        assert_eq!(&to, b"aAbBcCx");
    }

    #[test]
    fn bits_of_one_weight_stand_together() {
        let mut to = [0; 8];
        bit_shuffle(1, &[1, 0, 0, 0x80, 0, 0, 0, 1], &mut to);
        assert_eq!(to, [0b1000_0001, 0, 0, 0, 0, 0, 0, 0b0000_1000]);
    }

    proptest! {
        #[test]
        fn there_and_back(item in 1usize..20, bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
            let (mut there, mut back) = (vec![0; bytes.len()], vec![0; bytes.len()]);
            shuffle(item, &bytes, &mut there);
            unshuffle(item, &there, &mut back);
            prop_assert_eq!(&back, &bytes);
            bit_shuffle(item, &bytes, &mut there);
            bit_unshuffle(item, &there, &mut back);
            prop_assert_eq!(&back, &bytes);
        }
    }
}
