//! Byte and bit shuffling, in Blosc and other formats: bytes, or bits, of the same significance are grouped.

/// Items moved at once: a multiple of what vector registers hold, of a length that the compiler
/// knows, so that it uses them.
const RUN_ITEMS: usize = 32;

/// Kernels for items of the length of an integer: a run of items becomes one integer each.
macro_rules! kernels {
    ($shuffle:ident, $unshuffle:ident, $integer:ty, $bytes:literal) => {
        fn $shuffle(n: usize, from: &[u8], to: &mut [u8]) {
            let (items, _) = from.as_chunks::<$bytes>();
            let mut planes: [&mut [u8]; $bytes] = std::array::from_fn(|_| <&mut [u8]>::default());
            for (plane, bytes) in planes.iter_mut().zip(to.chunks_exact_mut(n.max(1))) {
                *plane = bytes;
            }
            let (runs, rest) = items.as_chunks::<RUN_ITEMS>();
            for (at, run) in runs.iter().enumerate() {
                let words: [$integer; RUN_ITEMS] = std::array::from_fn(|i| <$integer>::from_le_bytes(run[i]));
                for (weight, plane) in planes.iter_mut().enumerate() {
                    let bytes: [u8; RUN_ITEMS] = std::array::from_fn(|i| (words[i] >> (8 * weight)) as u8);
                    if let Some(to) = plane.get_mut(at * RUN_ITEMS..at * RUN_ITEMS + RUN_ITEMS) {
                        to.copy_from_slice(&bytes);
                    }
                }
            }
            for (at, item) in (n - rest.len()..).zip(rest) {
                for (byte, plane) in item.iter().zip(&mut planes) {
                    if let Some(to) = plane.get_mut(at) {
                        *to = *byte;
                    }
                }
            }
        }

        fn $unshuffle(n: usize, from: &[u8], to: &mut [u8]) {
            let mut planes: [&[u8]; $bytes] = [&[]; $bytes];
            for (plane, bytes) in planes.iter_mut().zip(from.chunks_exact(n.max(1))) {
                *plane = bytes;
            }
            let (items, _) = to.as_chunks_mut::<$bytes>();
            let (runs, rest) = items.as_chunks_mut::<RUN_ITEMS>();
            for (at, run) in runs.iter_mut().enumerate() {
                let mut words: [$integer; RUN_ITEMS] = [0; RUN_ITEMS];
                for (weight, plane) in planes.iter().enumerate() {
                    let Some(bytes) = plane.get(at * RUN_ITEMS..).and_then(|bytes| bytes.first_chunk::<RUN_ITEMS>()) else {
                        continue;
                    };
                    for (word, byte) in words.iter_mut().zip(bytes) {
                        *word |= <$integer>::from(*byte) << (8 * weight);
                    }
                }
                for (item, word) in run.iter_mut().zip(words) {
                    *item = word.to_le_bytes();
                }
            }
            for (at, item) in (n - rest.len()..).zip(rest) {
                for (byte, plane) in item.iter_mut().zip(planes) {
                    *byte = plane.get(at).copied().unwrap_or(0);
                }
            }
        }
    };
}

kernels!(shuffle_2, unshuffle_2, u16, 2);
kernels!(shuffle_4, unshuffle_4, u32, 4);
kernels!(shuffle_8, unshuffle_8, u64, 8);

/// Puts the first bytes of all items first, then the second bytes, and so on; what is less than an
/// item stays at the end.
pub(super) fn shuffle(item: usize, from: &[u8], to: &mut [u8]) {
    let n = from.len() / item.max(1);
    let (whole, rest) = from.split_at(n * item);
    let (planes, tail) = to.split_at_mut((n * item).min(to.len()));
    copy_bytes(rest, tail);
    match item {
        2 => shuffle_2(n, whole, planes),
        4 => shuffle_4(n, whole, planes),
        8 => shuffle_8(n, whole, planes),
        _ => {
            for (weight, plane) in planes.chunks_exact_mut(n.max(1)).enumerate() {
                for (byte, item) in plane.iter_mut().zip(whole.chunks_exact(item)) {
                    *byte = item.get(weight).copied().unwrap_or(0);
                }
            }
        }
    }
}

/// The inverse of [`shuffle`].
pub(super) fn unshuffle(item: usize, from: &[u8], to: &mut [u8]) {
    let n = from.len() / item.max(1);
    let (planes, rest) = from.split_at(n * item);
    let (whole, tail) = to.split_at_mut((n * item).min(to.len()));
    copy_bytes(rest, tail);
    match item {
        2 => unshuffle_2(n, planes, whole),
        4 => unshuffle_4(n, planes, whole),
        8 => unshuffle_8(n, planes, whole),
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

/// Puts the lowest bits of the first bytes of all items first, and so on. Blosc does this only
/// if the number of items is a multiple of 8, and leaves the bytes unchanged otherwise.
pub(super) fn bit_shuffle(item: usize, from: &[u8], to: &mut [u8]) {
    let n = from.len() / item.max(1);
    if !n.is_multiple_of(8) {
        copy_bytes(from, to);
        return;
    }
    let whole = n * item;
    let mut planes = vec![0; from.len()];
    shuffle(item, from, &mut planes);
    copy_bytes(planes.get(whole..).unwrap_or(&[]), to.get_mut(whole..).unwrap_or_default());
    for (plane, rows) in planes.chunks_exact(n.max(1)).zip(to.chunks_exact_mut(n.max(1))).take(item) {
        let mut at = 0;
        let (blocks, rest) = plane.as_chunks::<64>();
        for block in blocks {
            let mut words = to_words(block);
            for word in &mut words {
                *word = transpose_bits(*word);
            }
            transpose_bytes(&mut words);
            for (row, word) in rows.chunks_exact_mut((n / 8).max(1)).zip(words) {
                if let Some(to) = row.get_mut(at..at + 8) {
                    to.copy_from_slice(&word.to_le_bytes());
                }
            }
            at += 8;
        }
        for word in rest.as_chunks::<8>().0 {
            let bytes = transpose_bits(u64::from_le_bytes(*word)).to_le_bytes();
            for (row, byte) in rows.chunks_exact_mut((n / 8).max(1)).zip(bytes) {
                if let Some(to) = row.get_mut(at) {
                    *to = byte;
                }
            }
            at += 1;
        }
    }
}

/// The inverse of [`bit_shuffle`].
pub(super) fn bit_unshuffle(item: usize, from: &[u8], to: &mut [u8]) {
    let n = from.len() / item.max(1);
    if !n.is_multiple_of(8) {
        copy_bytes(from, to);
        return;
    }
    let mut planes = from.to_vec();
    for (rows, plane) in from.chunks_exact(n.max(1)).zip(planes.chunks_exact_mut(n.max(1))).take(item) {
        let mut bits: [&[u8]; 8] = [&[]; 8];
        for (row, bytes) in bits.iter_mut().zip(rows.chunks_exact((n / 8).max(1))) {
            *row = bytes;
        }
        let mut at = 0;
        let (blocks, rest) = plane.as_chunks_mut::<64>();
        for block in blocks {
            let mut words = bits.map(|row| row.get(at..).and_then(|row| row.first_chunk()).map_or(0, |b| u64::from_le_bytes(*b)));
            transpose_bytes(&mut words);
            for (to, word) in block.as_chunks_mut::<8>().0.iter_mut().zip(words) {
                *to = transpose_bits(word).to_le_bytes();
            }
            at += 8;
        }
        for to in rest.as_chunks_mut::<8>().0 {
            let word = bits.map(|row| row.get(at).copied().unwrap_or(0));
            *to = transpose_bits(u64::from_le_bytes(word)).to_le_bytes();
            at += 1;
        }
    }
    unshuffle(item, &planes, to);
}

fn to_words(block: &[u8; 64]) -> [u64; 8] {
    let (words, _) = block.as_chunks::<8>();
    std::array::from_fn(|at| words.get(at).map_or(0, |word| u64::from_le_bytes(*word)))
}

/// The 8 by 8 bytes of eight words, rows and columns exchanged.
fn transpose_bytes(words: &mut [u64; 8]) {
    for (apart, shift, mask) in [(4, 32, 0xffff_ffff), (2, 16, 0xffff_0000_ffff), (1, 8, 0x00ff_00ff_00ff_00ff_u64)] {
        for low in (0..8).filter(|at| at & apart == 0) {
            let (a, b) = (words[low], words[low + apart]);
            words[low] = a & mask | (b & mask) << shift;
            words[low + apart] = a >> shift & mask | b & !mask;
        }
    }
}

/// The 8 by 8 bits of a word, rows and columns exchanged.
fn transpose_bits(mut x: u64) -> u64 {
    let mut swap = (x ^ x >> 7) & 0x00aa_00aa_00aa_00aa;
    x ^= swap ^ swap << 7;
    swap = (x ^ x >> 14) & 0x0000_cccc_0000_cccc;
    x ^= swap ^ swap << 14;
    swap = (x ^ x >> 28) & 0x0000_0000_f0f0_f0f0;
    x ^ swap ^ swap << 28
}

fn copy_bytes(from: &[u8], to: &mut [u8]) {
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

    /// The definition: bit b of byte j of item i is bit i of row 8 j + b.
    fn slow(item: usize, from: &[u8], to: &mut [u8]) {
        let n = from.len() / item;
        for at in 0..n * item * 8 {
            let (i, j, b) = (at / (8 * item), at / 8 % item, at % 8);
            let place = (8 * j + b) * n + i;
            to[place / 8] |= (from[i * item + j] >> b & 1) << (place % 8);
        }
    }

    proptest! {
        #[test]
        fn bit_shuffle_eq_naive_definition(item in 1usize..20, n in 1usize..30, bytes in proptest::collection::vec(any::<u8>(), 20 * 240)) {
            let bytes = &bytes[..8 * n * item];
            let (mut fast, mut naive) = (vec![0; bytes.len()], vec![0; bytes.len()]);
            bit_shuffle(item, bytes, &mut fast);
            slow(item, bytes, &mut naive);
            prop_assert_eq!(fast, naive);
        }

        #[test]
        fn there_and_back(item in 1usize..20, bytes in proptest::collection::vec(any::<u8>(), 0..3000)) {
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
