//! MD5 (RFC 1321): one stream at a time, and many streams side by side.
//!
//! MD5 is one serial chain per stream, so that one core cannot hash one stream faster than about
//! five clocks a byte and a quarter. Of several streams, though, each can have a lane of a SIMD register: 32
//! streams take hardly longer than one. `fearless_simd` picks the instructions at run time.

use std::sync::Mutex;

use fearless_simd::{Level, Simd, SimdBase, dispatch, u32x16};

use crate::bytes::{Source, SourceRef};
use crate::error::Result;
use crate::threads::{each, lock, threads};

/// The state before the first byte.
const START: [u32; 4] = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476];

/// The whole part of 2^32 times the absolute sine of 1, 2, … 64.
#[rustfmt::skip]
const SINES: [u32; 64] = [
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

/// MD5 of one stream.
#[derive(Clone)]
pub(crate) struct Md5 {
    state: [u32; 4],
    len: u64,
    /// What does not fill 64 bytes yet, and how many bytes that is.
    rest: [u8; 64],
    held: usize,
}

impl Md5 {
    /// Nothing hashed yet.
    pub(crate) fn new() -> Self {
        Self { state: START, len: 0, rest: [0; 64], held: 0 }
    }

    /// Hashes these bytes, too.
    pub(crate) fn update(&mut self, mut bytes: &[u8]) {
        self.len = self.len.wrapping_add(bytes.len() as u64);
        if self.held > 0 {
            let (now, later) = bytes.split_at(bytes.len().min(64 - self.held));
            self.hold(now);
            bytes = later;
            if self.held == 64 {
                compress(&mut self.state, &self.rest);
                self.held = 0;
            }
        }
        let (whole, rest) = bytes.split_at(bytes.len() & !63);
        compress(&mut self.state, whole);
        self.hold(rest);
    }

    /// Keeps bytes, for which there is room, until there are 64.
    fn hold(&mut self, bytes: &[u8]) {
        self.rest[self.held..self.held + bytes.len()].copy_from_slice(bytes);
        self.held += bytes.len();
    }

    /// The digest of everything.
    pub(crate) fn finish(mut self) -> [u8; 16] {
        let mut last = Vec::with_capacity(128);
        last.extend_from_slice(&self.rest[..self.held]);
        pad(&mut last, self.len);
        compress(&mut self.state, &last);
        digest(self.state)
    }

    /// The digest of these bytes.
    #[cfg(test)]
    pub(crate) fn of(bytes: &[u8]) -> [u8; 16] {
        let mut md5 = Self::new();
        md5.update(bytes);
        md5.finish()
    }
}

/// Fills up the last bytes of a stream of `len` bytes as MD5 wants: a one, zeros, the length in bits.
fn pad(rest: &mut Vec<u8>, len: u64) {
    rest.push(0x80);
    rest.resize(rest.len() + (120 - rest.len() % 64) % 64, 0);
    rest.extend_from_slice(&len.wrapping_mul(8).to_le_bytes());
}

fn digest(state: [u32; 4]) -> [u8; 16] {
    let mut bytes = [0; 16];
    for (four, word) in bytes.chunks_exact_mut(4).zip(state) {
        four.copy_from_slice(&word.to_le_bytes());
    }
    bytes
}

/// The sixteen words of 64 bytes.
#[inline(always)]
fn words(bytes: &[u8]) -> [u32; 16] {
    let mut words = [0; 16];
    for (word, four) in words.iter_mut().zip(bytes.chunks_exact(4)) {
        *word = u32::from_le_bytes([four[0], four[1], four[2], four[3]]);
    }
    words
}

/// Hashes whole pieces of 64 bytes.
fn compress(state: &mut [u32; 4], bytes: &[u8]) {
    // Out of the compiler's sight: it would add a known constant last, one clock later in each step.
    let sines = std::hint::black_box(&SINES);
    let [mut a, mut b, mut c, mut d] = *state;
    for piece in bytes.chunks_exact(64) {
        let words = words(piece);
        let before = (a, b, c, d);
        // What needs `b`, the value of the step before, is added last.
        macro_rules! of {
            (first, $sum:expr, $b:ident, $c:ident, $d:ident) => {
                $sum.wrapping_add($d ^ ($b & ($c ^ $d)))
            };
            (second, $sum:expr, $b:ident, $c:ident, $d:ident) => {
                $sum.wrapping_add($c & !$d).wrapping_add($b & $d)
            };
            (third, $sum:expr, $b:ident, $c:ident, $d:ident) => {
                $sum.wrapping_add(($c ^ $d) ^ $b)
            };
            (fourth, $sum:expr, $b:ident, $c:ident, $d:ident) => {
                $sum.wrapping_add($c ^ ($b | !$d))
            };
        }
        macro_rules! step {
            ($f:ident, $a:ident, $b:ident, $c:ident, $d:ident, $word:expr, $n:expr, $turn:expr) => {
                let sum = $a.wrapping_add(words[$word]).wrapping_add(sines[$n]);
                $a = of!($f, sum, $b, $c, $d).rotate_left($turn).wrapping_add($b);
            };
        }
        rounds!(step, a, b, c, d);
        (a, b) = (a.wrapping_add(before.0), b.wrapping_add(before.1));
        (c, d) = (c.wrapping_add(before.2), d.wrapping_add(before.3));
    }
    *state = [a, b, c, d];
}

/// Streams in one register of 512 bits, or in several narrower ones.
const LANES: usize = 16;

/// The states of `C` times [`LANES`] streams: word, group, lane.
type States<const C: usize> = [[[u32; LANES]; C]; 4];

/// Hashes `count` pieces of 64 bytes of each stream. Two groups hide how long each instruction takes.
#[inline(always)]
fn compress_lanes<S: Simd, const C: usize>(simd: S, states: &mut States<C>, data: &[[&[u8]; LANES]; C], count: usize) {
    // Loops rather than closures throughout: a closure would not be compiled for these instructions.
    let zero = u32x16::splat(simd, 0);
    let mut loaded = [[zero; C]; 4];
    for (to, from) in loaded.iter_mut().zip(states.iter()) {
        for (to, from) in to.iter_mut().zip(from) {
            *to = u32x16::from_slice(simd, from);
        }
    }
    let [mut a, mut b, mut c, mut d] = loaded;
    for n in 0..count {
        let mut turned = [[zero; 16]; C];
        for (turned, streams) in turned.iter_mut().zip(data) {
            for (row, stream) in turned.iter_mut().zip(streams) {
                *row = u32x16::from_slice(simd, &words(&stream[n * 64..n * 64 + 64]));
            }
            // Words of streams into streams of words: a transposition is four perfect shuffles of the rows.
            for _ in 0..4 {
                let mut next = [zero; 16];
                for i in 0..8 {
                    next[2 * i] = turned[i].zip_low(turned[i + 8]);
                    next[2 * i + 1] = turned[i].zip_high(turned[i + 8]);
                }
                *turned = next;
            }
        }
        let before = (a, b, c, d);
        macro_rules! of {
            (first, $b:expr, $c:expr, $d:expr) => {
                $d ^ ($b & ($c ^ $d))
            };
            (second, $b:expr, $c:expr, $d:expr) => {
                $c ^ ($d & ($b ^ $c))
            };
            (third, $b:expr, $c:expr, $d:expr) => {
                $b ^ $c ^ $d
            };
            (fourth, $b:expr, $c:expr, $d:expr) => {
                $c ^ ($b | !$d)
            };
        }
        macro_rules! step {
            ($f:ident, $a:ident, $b:ident, $c:ident, $d:ident, $word:expr, $n:expr, $turn:expr) => {
                for g in 0..C {
                    let sum = $a[g] + turned[g][$word] + SINES[$n] + of!($f, $b[g], $c[g], $d[g]);
                    $a[g] = ((sum << $turn) | (sum >> (32 - $turn))) + $b[g];
                }
            };
        }
        rounds!(step, a, b, c, d);
        for g in 0..C {
            (a[g], b[g]) = (a[g] + before.0[g], b[g] + before.1[g]);
            (c[g], d[g]) = (c[g] + before.2[g], d[g] + before.3[g]);
        }
    }
    for (to, from) in states.iter_mut().zip([a, b, c, d]) {
        for (to, from) in to.iter_mut().zip(from) {
            from.store_slice(to);
        }
    }
}

/// Bytes read at once from each stream: all of them together stay in the cache.
const PIECE: usize = 32 << 10;
/// Fewer streams than this are hashed faster one after the other.
const FEWEST: usize = 4;

/// The MD5 of each source, on all cores and in all their lanes. `progress` hears how many bytes were read.
pub(crate) fn many(sources: &[&SourceRef], progress: &(dyn Fn(u64) + Sync)) -> Vec<Result<[u8; 16]>> {
    many_at(Level::new(), sources, progress)
}

fn many_at(level: Level, sources: &[&SourceRef], progress: &(dyn Fn(u64) + Sync)) -> Vec<Result<[u8; 16]>> {
    let mut order: Vec<usize> = (0..sources.len()).collect();
    order.sort_by_key(|i| std::cmp::Reverse(sources[*i].len()));
    let (lanes, alone): (Vec<_>, Vec<_>) = (0..order.len()).partition(|place| has_company(&order, sources, *place));
    let workers = threads().min(lanes.len().div_ceil(FEWEST)).max(1);
    // As many at a time for each worker, so that all end together.
    let at_once = lanes.len().div_ceil(workers).min(2 * LANES);
    let queue = Mutex::new(lanes.into_iter().map(|place| order[place]));
    let next = || lock(&queue).next().and_then(|i| sources.get(i).map(|source| (i, *source)));
    let mut jobs: Vec<Option<usize>> = alone.into_iter().map(|place| Some(order[place])).collect();
    jobs.extend(std::iter::repeat_n(None, workers));
    let found = each(jobs, |job| {
        Ok(match job {
            Some(i) => vec![(i, one(&**sources[i], progress))],
            None if at_once > LANES => hash_lanes::<2>(level, at_once, &next, progress),
            None => hash_lanes::<1>(level, at_once, &next, progress),
        })
    });
    let mut digests: Vec<_> = found.into_iter().flatten().flatten().collect();
    digests.sort_by_key(|(i, _)| *i);
    digests.into_iter().map(|(_, digest)| digest).collect()
}

/// Whether at least [`FEWEST`] streams, that at this place of the order among them, are about as long:
/// one alone in its lane goes at half the speed that it would have by itself.
fn has_company(order: &[usize], sources: &[&SourceRef], place: usize) -> bool {
    // What is not optimised is slower by lanes than one after the other.
    if cfg!(debug_assertions) && !cfg!(test) {
        return false;
    }
    let len = |place: usize| order.get(place).and_then(|i| sources.get(*i)).map(|source| source.len());
    (0..FEWEST).any(|before| {
        let Some(first) = place.checked_sub(before) else { return false };
        matches!((len(first), len(first + FEWEST - 1)), (Some(longest), Some(shortest)) if shortest >= longest / 2)
    })
}

/// The MD5 of one source.
pub(crate) fn one(source: &dyn Source, progress: &(dyn Fn(u64) + Sync)) -> Result<[u8; 16]> {
    let mut md5 = Md5::new();
    let mut piece = vec![0; source.len().min(256 << 10) as usize];
    let mut at = 0;
    while at < source.len() {
        let n = (source.len() - at).min(piece.len() as u64) as usize;
        source.read_at(at, &mut piece[..n])?;
        md5.update(&piece[..n]);
        progress(n as u64);
        at += n as u64;
    }
    Ok(md5.finish())
}

/// One stream in its lane.
struct Stream<'a> {
    index: usize,
    source: &'a SourceRef,
    /// The next byte to read.
    at: u64,
    /// Bytes read, padded at the end of the stream, and how many of them are hashed.
    bytes: Vec<u8>,
    done: usize,
    ended: bool,
}

impl Stream<'_> {
    fn left(&self) -> usize {
        self.bytes.len() - self.done
    }

    /// Reads the next piece; behind the last one come MD5's own bytes.
    fn refill(&mut self) -> Result<()> {
        let len = self.source.len();
        let n = (len - self.at).min(PIECE as u64) as usize;
        self.done = 0;
        self.bytes.resize(n, 0);
        self.source.read_at(self.at, &mut self.bytes)?;
        self.at += n as u64;
        if n < PIECE {
            pad(&mut self.bytes, len);
            self.ended = true;
        }
        Ok(())
    }
}

/// Hashes streams, `at_once` side by side, until there is no next one.
fn hash_lanes<'a, const C: usize>(
    level: Level,
    at_once: usize,
    next: &dyn Fn() -> Option<(usize, &'a SourceRef)>,
    progress: &(dyn Fn(u64) + Sync),
) -> Vec<(usize, Result<[u8; 16]>)> {
    let mut states: States<C> = START.map(|word| [[word; LANES]; C]);
    let mut streams: Vec<Option<Stream<'a>>> = (0..at_once.min(C * LANES)).map(|_| None).collect();
    let mut digests = Vec::new();
    loop {
        for (lane, slot) in streams.iter_mut().enumerate() {
            let (group, lane) = (lane / LANES, lane % LANES);
            // Until there are bytes to hash in this lane, or no stream is left for it.
            loop {
                if let Some(stream) = slot {
                    if stream.left() > 0 {
                        break;
                    }
                    let before = stream.at;
                    let outcome = if stream.ended {
                        Some(Ok(digest([0, 1, 2, 3].map(|word| states[word][group][lane]))))
                    } else {
                        stream.refill().err().map(Err)
                    };
                    progress(stream.at - before);
                    let Some(outcome) = outcome else { continue };
                    digests.push((stream.index, outcome));
                }
                let Some((index, source)) = next() else {
                    *slot = None;
                    break;
                };
                let bytes = slot.take().map_or_else(Vec::new, |old| old.bytes);
                let mut fresh = Stream { index, source, at: 0, bytes, done: 0, ended: false };
                fresh.bytes.clear();
                *slot = Some(fresh);
                for (state, word) in states.iter_mut().zip(START) {
                    state[group][lane] = word;
                }
            }
        }
        let Some(first) = streams.iter().flatten().next() else { return digests };
        let count = streams.iter().flatten().map(Stream::left).min().unwrap_or(0) / 64;
        let mut data = [[first.bytes.get(first.done..).unwrap_or_default(); LANES]; C];
        for (lane, stream) in streams.iter().enumerate() {
            if let Some(stream) = stream {
                data[lane / LANES][lane % LANES] = stream.bytes.get(stream.done..).unwrap_or_default();
            }
        }
        dispatch!(level, simd => compress_lanes(simd, &mut states, &data, count));
        for stream in streams.iter_mut().flatten() {
            stream.done += count * 64;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    use md5::Digest as _;

    use super::*;
    use crate::bytes::Slice;

    fn expected(bytes: &[u8]) -> [u8; 16] {
        md5::Md5::digest(bytes).into()
    }

    fn noise(len: usize) -> Vec<u8> {
        (0..len as u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect()
    }

    #[test]
    fn the_examples_of_rfc_1321() {
        assert_eq!(Md5::of(b"")[..4], [0xd4, 0x1d, 0x8c, 0xd9]);
        assert_eq!(Md5::of(b"message digest")[..4], [0xf9, 0x6b, 0x69, 0x7d]);
    }

    #[test]
    fn every_length_and_cut_gives_what_another_implementation_gives() {
        let bytes = noise(300);
        for len in 0..bytes.len() {
            assert_eq!(Md5::of(&bytes[..len]), expected(&bytes[..len]), "{len} bytes");
            let mut md5 = Md5::new();
            bytes[..len].chunks(7).for_each(|part| md5.update(part));
            assert_eq!(md5.finish(), expected(&bytes[..len]), "{len} bytes by sevens");
        }
    }

    #[test]
    fn many_streams_of_any_lengths_give_what_each_gives_alone() {
        let best = Level::new();
        let mut levels = vec![best, Level::baseline()];
        #[cfg(target_arch = "x86_64")]
        levels.extend(best.as_avx2().map(|narrower| narrower.level()));
        let equal = vec![40_000; 18];
        let mixed: Vec<usize> = (0..40).map(|n| [0, 1, 55, 56, 63, 64, 65, 4096, PIECE - 1, PIECE, PIECE + 1][n % 11]).collect();
        for lens in [equal, mixed, vec![300_000, 10, 20, 30, 40], vec![5], vec![]] {
            let sources: Vec<SourceRef> = lens.iter().map(|n| Arc::new(Slice::new(noise(*n), "noise")) as SourceRef).collect();
            let wanted: Vec<_> = lens.iter().map(|n| expected(&noise(*n))).collect();
            for level in &levels {
                let read = AtomicU64::new(0);
                let sources: Vec<&SourceRef> = sources.iter().collect();
                let found = many_at(*level, &sources, &|n| {
                    read.fetch_add(n, Ordering::Relaxed);
                });
                assert_eq!(found.into_iter().map(|digest| digest.unwrap()).collect::<Vec<_>>(), wanted, "{level:?} {lens:?}");
                assert_eq!(read.into_inner(), lens.iter().sum::<usize>() as u64);
            }
        }
    }
}
