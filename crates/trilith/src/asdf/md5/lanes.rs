//! MD5 of many streams, each in a lane of a SIMD register; `fearless_simd` picks the instructions at run time.

use std::sync::Mutex;

use fearless_simd::{Level, Simd, SimdBase, dispatch, u32x16};

use super::{INITIAL_STATE, T_TABLE, append_md5_padding, digest_from_state, digest_one, words_from_bytes};
use crate::bytes::Source;
use crate::error::Result;
use crate::progress::Progress;
use crate::threads::{lock, map_during, map_parallel, threads};

/// Streams in one register of 512 bits, or in several narrower ones.
const LANES: usize = 16;

/// The states of `C` times [`LANES`] streams: word, group, lane.
type LaneStates<const C: usize> = [[[u32; LANES]; C]; 4];

/// Hashes `count` pieces of 64 bytes of each stream. Two groups hide how long each instruction takes.
#[inline(always)]
fn compress_lanes<S: Simd, const C: usize>(simd: S, states: &mut LaneStates<C>, data: &[[&[u8]; LANES]; C], count: usize) {
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
                *row = u32x16::from_slice(simd, &words_from_bytes(&stream[n * 64..n * 64 + 64]));
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
                    let sum = $a[g] + turned[g][$word] + T_TABLE[$n] + of!($f, $b[g], $c[g], $d[g]);
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
const BUFFER_SIZE: usize = 32 << 10;
/// Fewer streams than this are hashed faster one after the other.
const MIN_LANES: usize = 4;

/// The MD5 of each source, on all cores and in all their lanes. `progress` receives the number of bytes read.
pub(crate) fn digest_many(sources: &[&dyn Source], progress: Progress<'_>) -> Vec<Result<[u8; 16]>> {
    digest_many_simd(Level::new(), sources, progress)
}

/// The MD5 of each source, as [`digest_many`], while `here` is done on this thread.
///
/// # Errors
/// Returns the error of `here`, and [`ErrorKind::Cancelled`](crate::ErrorKind::Cancelled).
pub(crate) fn digest_during<H>(sources: &[&dyn Source], here: impl FnOnce() -> Result<H>) -> Result<(H, Vec<Result<[u8; 16]>>)> {
    let (level, progress) = (Level::new(), Progress::default());
    // This thread helps only with what is left afterwards.
    let plan = LanePlan::new(sources, threads().saturating_sub(1));
    let (made, found) = map_during(plan.jobs(), |job| Ok(plan.run(level, job, progress)), here)?;
    Ok((made, sort_digests(found)))
}

fn digest_many_simd(level: Level, sources: &[&dyn Source], progress: Progress<'_>) -> Vec<Result<[u8; 16]>> {
    let plan = LanePlan::new(sources, threads());
    sort_digests(map_parallel(plan.jobs(), |job| Ok(plan.run(level, job, progress))).unwrap_or_default())
}

/// Puts digests into the order of their sources.
fn sort_digests(found: Vec<Vec<StreamDigest>>) -> Vec<Result<[u8; 16]>> {
    let mut digests: Vec<_> = found.into_iter().flatten().collect();
    digests.sort_by_key(|(i, _)| *i);
    digests.into_iter().map(|(_, digest)| digest).collect()
}

/// The digest of a source, with its number.
type StreamDigest = (usize, Result<[u8; 16]>);

/// The streams of several sources that share registers, and those that do not.
struct LanePlan<'a> {
    sources: &'a [&'a dyn Source],
    alone: Vec<usize>,
    /// Streams that no worker has begun yet, by their numbers.
    queue: Mutex<std::vec::IntoIter<usize>>,
    workers: usize,
    /// Number of streams that a worker hashes at a time.
    at_once: usize,
}

impl<'a> LanePlan<'a> {
    fn new(sources: &'a [&'a dyn Source], threads: usize) -> Self {
        let mut order: Vec<usize> = (0..sources.len()).collect();
        order.sort_by_key(|i| std::cmp::Reverse(sources[*i].len()));
        let (lanes, alone): (Vec<_>, Vec<_>) = (0..order.len()).partition(|place| has_other_lanes(&order, sources, *place));
        let workers = threads.min(lanes.len().div_ceil(MIN_LANES)).max(1);
        // Each worker hashes an equal number of streams at a time, so that all end together.
        let at_once = lanes.len().div_ceil(workers).min(2 * LANES);
        let numbers = |places: Vec<usize>| places.into_iter().map(|place| order[place]).collect::<Vec<_>>();
        Self { sources, alone: numbers(alone), queue: Mutex::new(numbers(lanes).into_iter()), workers, at_once }
    }

    /// Streams by themselves, and None for each worker with lanes.
    fn jobs(&self) -> Vec<Option<usize>> {
        let lanes = std::iter::repeat_n(None, if self.at_once == 0 { 0 } else { self.workers });
        self.alone.iter().map(|i| Some(*i)).chain(lanes).collect()
    }

    fn run(&self, level: Level, job: Option<usize>, progress: Progress<'_>) -> Vec<StreamDigest> {
        let next = || lock(&self.queue).next().and_then(|i| self.sources.get(i).map(|source| (i, *source)));
        match job {
            Some(i) => vec![(i, digest_one(self.sources[i], progress))],
            None if self.at_once > LANES => hash_lanes::<2>(level, self.at_once, &next, progress),
            None => hash_lanes::<1>(level, self.at_once, &next, progress),
        }
    }
}

/// Returns `true` if at least [`MIN_LANES`] streams, that at this place of the order among them, are about as long:
/// one alone in its lane goes at half the speed that it would have by itself.
fn has_other_lanes(order: &[usize], sources: &[&dyn Source], place: usize) -> bool {
    // Unoptimised code is slower by lanes than one after the other.
    if cfg!(debug_assertions) && !cfg!(test) {
        return false;
    }
    let len = |place: usize| order.get(place).and_then(|i| sources.get(*i)).map(|source| source.len());
    (0..MIN_LANES).any(|before| {
        let Some(first) = place.checked_sub(before) else { return false };
        matches!((len(first), len(first + MIN_LANES - 1)), (Some(longest), Some(shortest)) if shortest >= longest / 2)
    })
}

/// A stream in its lane.
struct Lane<'a> {
    index: usize,
    source: &'a dyn Source,
    /// The next byte to read.
    at: u64,
    /// Bytes read, padded at the end of the stream, and how many of them are hashed.
    bytes: Vec<u8>,
    done: usize,
    ended: bool,
}

impl Lane<'_> {
    fn remaining_len(&self) -> usize {
        self.bytes.len() - self.done
    }

    /// Reads the next piece; after the last one come MD5's own bytes.
    fn refill(&mut self) -> Result<()> {
        let len = self.source.len();
        let n = (len - self.at).min(BUFFER_SIZE as u64) as usize;
        self.done = 0;
        self.bytes.resize(n, 0);
        crate::interrupt::check()?;
        self.source.read_at(self.at, &mut self.bytes)?;
        self.at += n as u64;
        if n < BUFFER_SIZE {
            append_md5_padding(&mut self.bytes, len);
            self.ended = true;
        }
        Ok(())
    }
}

/// Hashes streams, `at_once` side by side, until there is no next one.
fn hash_lanes<'a, const C: usize>(
    level: Level,
    at_once: usize,
    next: &dyn Fn() -> Option<(usize, &'a dyn Source)>,
    progress: Progress<'_>,
) -> Vec<StreamDigest> {
    let mut states: LaneStates<C> = INITIAL_STATE.map(|word| [[word; LANES]; C]);
    let mut streams: Vec<Option<Lane<'a>>> = (0..at_once.min(C * LANES)).map(|_| None).collect();
    let mut digests = Vec::new();
    loop {
        for (lane, slot) in streams.iter_mut().enumerate() {
            let (group, lane) = (lane / LANES, lane % LANES);
            // Loops until there are bytes to hash in this lane, or no stream is left for it.
            loop {
                if let Some(stream) = slot {
                    if stream.remaining_len() > 0 {
                        break;
                    }
                    let before = stream.at;
                    let outcome = if stream.ended {
                        Some(Ok(digest_from_state([0, 1, 2, 3].map(|word| states[word][group][lane]))))
                    } else {
                        stream.refill().err().map(Err)
                    };
                    progress.add(stream.at - before);
                    let Some(outcome) = outcome else { continue };
                    digests.push((stream.index, outcome));
                }
                let Some((index, source)) = next() else {
                    *slot = None;
                    break;
                };
                let bytes = slot.take().map_or_else(Vec::new, |old| old.bytes);
                let mut fresh = Lane { index, source, at: 0, bytes, done: 0, ended: false };
                fresh.bytes.clear();
                *slot = Some(fresh);
                for (state, word) in states.iter_mut().zip(INITIAL_STATE) {
                    state[group][lane] = word;
                }
            }
        }
        let Some(first) = streams.iter().flatten().next() else { return digests };
        let count = streams.iter().flatten().map(Lane::remaining_len).min().unwrap_or(0) / 64;
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
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::super::tests::{expected, noise};
    use super::*;
    use crate::bytes::MemorySource;

    #[test]
    fn parallel_streams_match_single_hashes() {
        let best = Level::new();
        #[cfg(target_arch = "x86_64")]
        let narrower = best.as_avx2().map(|narrower| narrower.level());
        #[cfg(not(target_arch = "x86_64"))]
        let narrower = None;
        let levels: Vec<_> = [best, Level::baseline()].into_iter().chain(narrower).collect();
        let equal = vec![40_000; 18];
        let mixed: Vec<usize> =
            (0..40).map(|n| [0, 1, 55, 56, 63, 64, 65, 4096, BUFFER_SIZE - 1, BUFFER_SIZE, BUFFER_SIZE + 1][n % 11]).collect();
        for lens in [equal, mixed, vec![300_000, 10, 20, 30, 40], vec![5], vec![]] {
            let sources: Vec<MemorySource> = lens.iter().map(|n| MemorySource::new(noise(*n), "noise")).collect();
            let wanted: Vec<_> = lens.iter().map(|n| expected(&noise(*n))).collect();
            for level in &levels {
                let read = AtomicU64::new(0);
                let sources: Vec<&dyn Source> = sources.iter().map(|source| source as &dyn Source).collect();
                let count = |n| {
                    read.fetch_add(n, Ordering::Relaxed);
                };
                let found = digest_many_simd(*level, &sources, Progress::new(&count));
                assert_eq!(found.into_iter().map(|digest| digest.unwrap()).collect::<Vec<_>>(), wanted, "{level:?} {lens:?}");
                assert_eq!(read.into_inner(), lens.iter().sum::<usize>() as u64);
            }
        }
    }
}
