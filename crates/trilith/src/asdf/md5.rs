//! MD5 (RFC 1321): one stream at a time, and many streams side by side.
//!
//! MD5 is one serial chain per stream, so that one core cannot hash one stream faster than about
//! five clocks a byte and a quarter. Of several streams, though, each can have a lane of a SIMD register: 32
//! streams take hardly longer than one.

use crate::bytes::{PieceAccess, Source, for_each_piece};
use crate::error::Result;
use crate::progress::Progress;

#[cfg(not(target_family = "wasm"))]
pub(crate) use lanes::{digest_during, digest_many};

/// The state before the first byte.
const INITIAL_STATE: [u32; 4] = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476];

/// The whole part of 2^32 times the absolute sine of 1, 2, … 64.
#[rustfmt::skip]
const T_TABLE: [u32; 64] = [
    0xd76a_a478, 0xe8c7_b756, 0x2420_70db, 0xc1bd_ceee, 0xf57c_0faf, 0x4787_c62a, 0xa830_4613, 0xfd46_9501,
    0x6980_98d8, 0x8b44_f7af, 0xffff_5bb1, 0x895c_d7be, 0x6b90_1122, 0xfd98_7193, 0xa679_438e, 0x49b4_0821,
    0xf61e_2562, 0xc040_b340, 0x265e_5a51, 0xe9b6_c7aa, 0xd62f_105d, 0x0244_1453, 0xd8a1_e681, 0xe7d3_fbc8,
    0x21e1_cde6, 0xc337_07d6, 0xf4d5_0d87, 0x455a_14ed, 0xa9e3_e905, 0xfcef_a3f8, 0x676f_02d9, 0x8d2a_4c8a,
    0xfffa_3942, 0x8771_f681, 0x6d9d_6122, 0xfde5_380c, 0xa4be_ea44, 0x4bde_cfa9, 0xf6bb_4b60, 0xbebf_bc70,
    0x289b_7ec6, 0xeaa1_27fa, 0xd4ef_3085, 0x0488_1d05, 0xd9d4_d039, 0xe6db_99e5, 0x1fa2_7cf8, 0xc4ac_5665,
    0xf429_2244, 0x432a_ff97, 0xab94_23a7, 0xfc93_a039, 0x655b_59c3, 0x8f0c_cc92, 0xffef_f47d, 0x8584_5dd1,
    0x6fa8_7e4f, 0xfe2c_e6e0, 0xa301_4314, 0x4e08_11a1, 0xf753_7e82, 0xbd3a_f235, 0x2ad7_d2bb, 0xeb86_d391,
];

/// Four rounds of sixteen steps; `$step!(f, a, b, c, d, word, n, turn)` is one of them.
macro_rules! rounds {
    ($step:ident, $a:ident, $b:ident, $c:ident, $d:ident) => {
        rounds!(@round $step, $a, $b, $c, $d, 0, first, 1, 0, [7, 12, 17, 22]);
        rounds!(@round $step, $a, $b, $c, $d, 16, second, 5, 1, [5, 9, 14, 20]);
        rounds!(@round $step, $a, $b, $c, $d, 32, third, 3, 5, [4, 11, 16, 23]);
        rounds!(@round $step, $a, $b, $c, $d, 48, fourth, 7, 0, [6, 10, 15, 21]);
    };
    (@round $step:ident, $a:ident, $b:ident, $c:ident, $d:ident, $base:expr, $f:ident, $times:expr, $plus:expr, $turns:expr) => {
        rounds!(@four $step, $a, $b, $c, $d, $base, $f, $times, $plus, $turns);
        rounds!(@four $step, $a, $b, $c, $d, $base + 4, $f, $times, $plus, $turns);
        rounds!(@four $step, $a, $b, $c, $d, $base + 8, $f, $times, $plus, $turns);
        rounds!(@four $step, $a, $b, $c, $d, $base + 12, $f, $times, $plus, $turns);
    };
    (@four $step:ident, $a:ident, $b:ident, $c:ident, $d:ident, $n:expr, $f:ident, $times:expr, $plus:expr, $turns:expr) => {
        $step!($f, $a, $b, $c, $d, ($times * ($n) + $plus) % 16, $n, $turns[0]);
        $step!($f, $d, $a, $b, $c, ($times * ($n + 1) + $plus) % 16, $n + 1, $turns[1]);
        $step!($f, $c, $d, $a, $b, ($times * ($n + 2) + $plus) % 16, $n + 2, $turns[2]);
        $step!($f, $b, $c, $d, $a, ($times * ($n + 3) + $plus) % 16, $n + 3, $turns[3]);
    };
}

// Without vectors, lanes gain nothing, and a compiler for WebAssembly takes many minutes and gigabytes to emulate them.
#[cfg(not(target_family = "wasm"))]
mod lanes;

/// MD5 of one stream.
#[derive(Clone)]
pub(crate) struct Md5 {
    state: [u32; 4],
    len: u64,
    /// Bytes that do not fill 64 yet, and their number.
    tail_bytes: [u8; 64],
    tail: usize,
}

impl Md5 {
    /// Creates a hash of no bytes.
    pub(crate) fn new() -> Self {
        Self { state: INITIAL_STATE, len: 0, tail_bytes: [0; 64], tail: 0 }
    }

    /// The number of bytes hashed.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// Hashes these bytes, too.
    pub(crate) fn update(&mut self, mut bytes: &[u8]) {
        self.len = self.len.wrapping_add(bytes.len() as u64);
        if self.tail > 0 {
            let (now, later) = bytes.split_at(bytes.len().min(64 - self.tail));
            self.buffer_tail(now);
            bytes = later;
            if self.tail == 64 {
                compress([&mut self.state], [&self.tail_bytes]);
                self.tail = 0;
            }
        }
        let (whole, rest) = bytes.split_at(bytes.len() & !63);
        compress([&mut self.state], [whole]);
        self.buffer_tail(rest);
    }

    /// Keeps bytes, for which there is room, until there are 64.
    fn buffer_tail(&mut self, bytes: &[u8]) {
        self.tail_bytes[self.tail..self.tail + bytes.len()].copy_from_slice(bytes);
        self.tail += bytes.len();
    }

    /// The digest of everything.
    pub(crate) fn finish(mut self) -> [u8; 16] {
        let mut last = Vec::with_capacity(128);
        last.extend_from_slice(&self.tail_bytes[..self.tail]);
        append_md5_padding(&mut last, self.len);
        compress([&mut self.state], [&last]);
        digest_from_state(self.state)
    }

    /// The digest of these bytes.
    #[cfg(test)]
    pub(crate) fn of(bytes: &[u8]) -> [u8; 16] {
        let mut md5 = Self::new();
        md5.update(bytes);
        md5.finish()
    }
}

/// Fills up the last bytes of a stream of `len` bytes as MD5 requires: a one, zeros, the length in bits.
fn append_md5_padding(rest: &mut Vec<u8>, len: u64) {
    rest.push(0x80);
    rest.resize(rest.len() + (120 - rest.len() % 64) % 64, 0);
    rest.extend_from_slice(&len.wrapping_mul(8).to_le_bytes());
}

fn digest_from_state(state: [u32; 4]) -> [u8; 16] {
    let mut bytes = [0; 16];
    for (four, word) in bytes.chunks_exact_mut(4).zip(state) {
        four.copy_from_slice(&word.to_le_bytes());
    }
    bytes
}

/// The sixteen words of 64 bytes.
#[inline(always)]
fn words_from_bytes(bytes: &[u8]) -> [u32; 16] {
    let mut words = [0; 16];
    for (word, four) in words.iter_mut().zip(bytes.chunks_exact(4)) {
        *word = u32::from_le_bytes([four[0], four[1], four[2], four[3]]);
    }
    words
}

/// Hashes whole pieces of 64 bytes of several streams, as many of each. Each step waits for the one before, so that a core does
/// those of a second stream meanwhile.
fn compress<const N: usize>(states: [&mut [u32; 4]; N], data: [&[u8]; N]) {
    // The constants are hidden from the compiler, which would add a known constant last, one clock later in each step.
    let sines = std::hint::black_box(&T_TABLE);
    let [mut a, mut b, mut c, mut d] = std::array::from_fn(|word| std::array::from_fn::<u32, N, _>(|i| states[i][word]));
    let count = data.iter().map(|bytes| bytes.len() / 64).min().unwrap_or(0);
    for n in 0..count {
        let mut words = [[0; 16]; N];
        for (words, bytes) in words.iter_mut().zip(data) {
            *words = words_from_bytes(&bytes[n * 64..n * 64 + 64]);
        }
        let before = (a, b, c, d);
        // Terms with `b`, the value of the step before, are added last.
        macro_rules! of {
            (first, $sum:expr, $b:expr, $c:expr, $d:expr) => {
                $sum.wrapping_add($d ^ ($b & ($c ^ $d)))
            };
            (second, $sum:expr, $b:expr, $c:expr, $d:expr) => {
                $sum.wrapping_add($c & !$d).wrapping_add($b & $d)
            };
            (third, $sum:expr, $b:expr, $c:expr, $d:expr) => {
                $sum.wrapping_add(($c ^ $d) ^ $b)
            };
            (fourth, $sum:expr, $b:expr, $c:expr, $d:expr) => {
                $sum.wrapping_add($c ^ ($b | !$d))
            };
        }
        macro_rules! step {
            ($f:ident, $a:ident, $b:ident, $c:ident, $d:ident, $word:expr, $n:expr, $turn:expr) => {
                for i in 0..N {
                    let sum = $a[i].wrapping_add(words[i][$word]).wrapping_add(sines[$n]);
                    $a[i] = of!($f, sum, $b[i], $c[i], $d[i]).rotate_left($turn).wrapping_add($b[i]);
                }
            };
        }
        rounds!(step, a, b, c, d);
        for i in 0..N {
            (a[i], b[i]) = (a[i].wrapping_add(before.0[i]), b[i].wrapping_add(before.1[i]));
            (c[i], d[i]) = (c[i].wrapping_add(before.2[i]), d[i].wrapping_add(before.3[i]));
        }
    }
    for (i, state) in states.into_iter().enumerate() {
        *state = [a[i], b[i], c[i], d[i]];
    }
}

/// The MD5 of each stream in memory, three at a time on this thread, in little more time than the longest takes.
///
/// # Errors
/// Returns [`ErrorKind::Cancelled`](crate::ErrorKind::Cancelled).
pub(crate) fn digest_slices(streams: &[&[u8]]) -> Result<Vec<[u8; 16]>> {
    let mut order: Vec<usize> = (0..streams.len()).collect();
    order.sort_by_key(|i| std::cmp::Reverse(streams[*i].len()));
    let mut digests = vec![[0; 16]; streams.len()];
    for group in order.chunks(3) {
        crate::interrupt::check()?;
        let whole = [0, 1, 2].map(|place| {
            let bytes = group.get(place).map_or(&[][..], |i| streams[*i]);
            &bytes[..bytes.len() & !63]
        });
        let mut states = [INITIAL_STATE; 3];
        let [first, second, third] = &mut states;
        let (two, three) = (whole[1].len(), whole[2].len());
        compress([&mut *first, &mut *second, third], whole.map(|bytes| &bytes[..three]));
        compress([&mut *first, second], [&whole[0][three..two], &whole[1][three..]]);
        compress([first], [&whole[0][two..]]);
        for ((i, state), whole) in group.iter().zip(states).zip(whole) {
            let mut md5 = Md5 { state, len: whole.len() as u64, tail_bytes: [0; 64], tail: 0 };
            md5.update(&streams[*i][whole.len()..]);
            digests[*i] = md5.finish();
        }
    }
    Ok(digests)
}

/// The MD5 of one source.
pub(crate) fn digest_one(source: &dyn Source, progress: Progress<'_>) -> Result<[u8; 16]> {
    let mut md5 = Md5::new();
    // A map of a file would count as memory used.
    let access = if source.backing().is_none() { PieceAccess::Borrow } else { PieceAccess::Copy };
    for_each_piece(source, 0..source.len(), 256 << 10, access, &mut |piece| {
        crate::interrupt::check()?;
        md5.update(piece);
        progress.add(piece.len() as u64);
        Ok(())
    })?;
    Ok(md5.finish())
}

/// The MD5 of each source. `progress` receives the number of bytes read.
#[cfg(target_family = "wasm")]
pub(crate) fn digest_many(sources: &[&dyn Source], progress: Progress<'_>) -> Vec<Result<[u8; 16]>> {
    sources.iter().map(|source| digest_one(*source, progress)).collect()
}

/// Does `here`, then computes the MD5 of each source.
#[cfg(target_family = "wasm")]
pub(crate) fn digest_during<H>(sources: &[&dyn Source], here: impl FnOnce() -> Result<H>) -> Result<(H, Vec<Result<[u8; 16]>>)> {
    here().map(|made| (made, digest_many(sources, Progress::default())))
}

#[cfg(test)]
mod tests {
    use md5::Digest as _;

    use super::*;

    pub(super) fn expected(bytes: &[u8]) -> [u8; 16] {
        md5::Md5::digest(bytes).into()
    }

    pub(super) fn noise(len: usize) -> Vec<u8> {
        (0..len as u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect()
    }

    #[test]
    fn rfc_1321_examples_match() {
        assert_eq!(Md5::of(b"")[..4], [0xd4, 0x1d, 0x8c, 0xd9]);
        assert_eq!(Md5::of(b"message digest")[..4], [0xf9, 0x6b, 0x69, 0x7d]);
    }

    #[test]
    fn lengths_and_cuts_match_other_implementation() {
        let bytes = noise(300);
        for len in 0..bytes.len() {
            assert_eq!(Md5::of(&bytes[..len]), expected(&bytes[..len]), "{len} bytes");
            let mut md5 = Md5::new();
            bytes[..len].chunks(7).for_each(|part| md5.update(part));
            assert_eq!(md5.finish(), expected(&bytes[..len]), "{len} bytes by sevens");
        }
    }

    #[test]
    fn slices_match_other_implementation() {
        let bytes = noise(1000);
        for lens in [vec![], vec![0], vec![64, 64], vec![1000, 63, 128], vec![5, 0, 1000, 999, 64, 65, 320]] {
            let streams: Vec<&[u8]> = lens.iter().map(|len| &bytes[1000 - len..]).collect();
            let wanted: Vec<_> = streams.iter().map(|stream| expected(stream)).collect();
            assert_eq!(digest_slices(&streams).unwrap(), wanted, "{lens:?}");
        }
    }
}
