//! A file on a server that answers with parts of it.

use std::ops::Range;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use super::address::Address;
use super::client::Target;
use super::coalesce::{Job, jobs, pieces};
use super::disk_cache::Disk;
use super::fetch::{Fetcher, Paced, Together, no_size, persist, range_header};
use super::memory_cache::Cache;
use super::multipart;
use super::options::RemoteOptions;
use super::response::{Failure, Reply};
use super::response_headers::{Version, content_range, unsatisfied};
use super::shared;
use super::streaming::stream;
use super::unranged::WholeFile;
use crate::bytes::source::{end_in_file, merged};
use crate::bytes::{Access, Backing, MemorySource, Source, SourceRef, to_usize};
use crate::error::{Error, ErrorKind, Result};
use crate::threads::{lock, side_by_side};

/// The first request: as much holds the tree of most files.
const HEAD: u64 = 128 << 10;
/// The last bytes, where the index is; more of them if the tree was long.
const TAIL: Range<u64> = 64 << 10..256 << 10;
/// Reads of at least this size bypass the cache.
const DIRECT: u64 = 1 << 20;
/// Reads of more contiguous bytes than this are streamed to the reader.
const STREAM: u64 = 8 << 20;
/// Read along if one byte here and one there are asked for.
const ALONG: u64 = 512;
/// Read ahead at most if one byte after the other is asked for.
const AHEAD: u64 = 4 << 20;
/// A place so little after the last one counts as after it.
const NEAR: u64 = 64 << 10;

/// Bytes that another library fetches, range by range.
pub trait Parts: Send + Sync {
    /// Returns the number of bytes.
    fn size(&self) -> u64;

    /// Returns the name for messages.
    fn name(&self) -> &str;

    /// The bytes of each of these ranges, which are inside and do not overlap, in their order.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Io`](crate::ErrorKind::Io) if they cannot be had.
    fn fetch(&self, ranges: &[Range<u64>]) -> Result<Vec<Vec<u8>>>;
}

/// A source of bytes that another library fetches: with the cache, the read-ahead and the plans of remote
/// files.
pub fn by_parts(parts: Arc<dyn Parts>, options: &RemoteOptions) -> SourceRef {
    let (name, size) = (parts.name().to_owned(), parts.size());
    shared(RangedFile::new(name, size, Origin::Parts(parts), options.clone(), YES))
}

/// The origin of the bytes.
enum Origin {
    Server(Box<Fetcher>),
    Parts(Arc<dyn Parts>),
}

impl Origin {
    /// Fills `into` with the bytes from `start` on.
    fn fetch(&self, start: u64, into: &mut [u8]) -> Result<()> {
        let parts = match self {
            Self::Server(fetcher) => return fetcher.fetch(start, into),
            Self::Parts(parts) => parts,
        };
        let range = start..start + into.len() as u64;
        match parts.fetch(std::slice::from_ref(&range))?.first() {
            Some(bytes) if bytes.len() == into.len() => {
                into.copy_from_slice(bytes);
                Ok(())
            }
            _ => Err(Error::new(ErrorKind::Io, format!("{} returned another number of bytes than requested", parts.name()))
                .at_byte(start)),
        }
    }

    /// Fetches several ranges by one request.
    fn fetch_together(&self, ranges: &[Range<u64>]) -> Result<Together> {
        let parts = match self {
            Self::Server(fetcher) => return fetcher.fetch_together(ranges),
            Self::Parts(parts) => parts,
        };
        let found = parts.fetch(ranges)?;
        let right = found.len() == ranges.len()
            && found.iter().zip(ranges).all(|(bytes, range)| bytes.len() as u64 == range.end - range.start);
        if !right {
            return Err(Error::new(ErrorKind::Io, format!("{} returned other bytes than requested", parts.name())));
        }
        Ok(Together::Parts(ranges.iter().map(|range| range.start).zip(found).collect()))
    }

    /// Returns the number of bytes received, if that is counted.
    fn received(&self) -> u64 {
        match self {
            Self::Server(fetcher) => fetcher.received.load(Ordering::Relaxed),
            Self::Parts(_) => 0,
        }
    }
}

/// A remote file that is read by ranges.
pub(super) struct RangedFile {
    name: String,
    size: u64,
    origin: Origin,
    options: RemoteOptions,
    cache: Mutex<Cache>,
    disk: Option<Disk>,
    ahead: Mutex<Ahead>,
    /// Support of the server for several ranges in one request: not tried, yes, no.
    together: AtomicU8,
    told: AtomicU64,
    /// A warning about how the file is read.
    notice: Option<String>,
}

/// Place of the last fetch, and the number of bytes fetched ahead the next time.
#[derive(Debug)]
struct Ahead {
    last: Range<u64>,
    window: u64,
    /// Number of bytes of the front that are read at once.
    head: u64,
}

const UNTRIED: u8 = 0;
const YES: u8 = 1;
const NO: u8 = 2;

/// The kind of the first answer.
enum First {
    /// A part, which begins at this byte.
    Part(Box<Fetcher>, u64, Vec<u8>),
    Whole(Box<(Target, Reply)>),
    Empty,
}

/// Opens a file by one request: for its front, or only for the ranges in `first`.
pub(super) fn open(target: Target, first: &[Range<u64>]) -> Result<SourceRef> {
    let wanted = merged(first.to_vec(), NEAR);
    let name = target.address.shown();
    if wanted.len() > 1
        && let Some((size, version, parts)) = first_parts(&target, &wanted)?
        && !version.is_nameless()
    {
        return Ok(shared(RangedFile::open(name, Fetcher::new(target, size, version), &parts, YES)));
    }
    match first_answer(target, wanted.last().unwrap_or(&(0..HEAD)))? {
        First::Whole(opened) => WholeFile::open(opened.0, opened.1),
        First::Empty => Ok(shared(MemorySource::new(Vec::new(), name))),
        First::Part(fetcher, start, bytes) if fetcher.version.is_nameless() => {
            if start == 0 && bytes.len() as u64 == fetcher.size {
                return Ok(shared(MemorySource::new(bytes, name)));
            }
            // Without a version name two responses could belong to different versions, so one response brings the entire file.
            let reply = whole_answer(&fetcher.target)?;
            WholeFile::open(fetcher.target, reply)
        }
        First::Part(fetcher, start, bytes) => {
            // Object stores answer to a list of ranges with the whole object, or not at all.
            let together = if matches!(fetcher.target.address, Address::Object { .. }) { NO } else { UNTRIED };
            Ok(shared(RangedFile::open(name, *fetcher, &[(start, bytes)], together)))
        }
    }
}

/// Size and version of a file, and some of its bytes by the places where they begin.
type FirstParts = (u64, Version, Vec<(u64, Vec<u8>)>);

/// Requests several ranges at once. Returns None if the server does not support it.
fn first_parts(target: &Target, ranges: &[Range<u64>]) -> Result<Option<FirstParts>> {
    if matches!(target.address, Address::Object { .. }) {
        return Ok(None);
    }
    let most = ranges.iter().map(|range| range.end - range.start).max().unwrap_or(0);
    let header = range_header(ranges);
    let mut found = None;
    persist(target, |_| {
        let reply = target.get(&[("range", &header)])?;
        let kind = reply.headers.kind.clone().unwrap_or_default();
        if reply.status != 206 || !kind.to_ascii_lowercase().starts_with("multipart/byteranges") {
            // The single request reports any problem better.
            return Ok(());
        }
        let (version, mut parts, mut sizes) = (Version::of(&reply.headers), Vec::new(), Vec::new());
        multipart::read(Paced::new(reply, target.client.options.timeout), &kind, most, &mut |at, bytes, size| {
            parts.push((at, bytes));
            sizes.push(size);
            Ok(())
        })
        .map_err(|error| Failure::Again(target.error(error.to_string()), None))?;
        found = match sizes.first() {
            Some(Some(size)) if sizes.iter().all(|other| *other == Some(*size)) => Some((*size, version, parts)),
            _ => None,
        };
        Ok(())
    })?;
    Ok(found)
}

/// Requests the whole file.
fn whole_answer(target: &Target) -> Result<Reply> {
    let mut answer = None;
    persist(target, |_| {
        let reply = target.get(&[])?;
        if reply.status != 200 {
            return Err(target.refused(reply));
        }
        answer = Some(reply);
        Ok(())
    })?;
    answer.ok_or_else(|| no_size(target))
}

fn first_answer(target: Target, asked: &Range<u64>) -> Result<First> {
    let header = range_header(std::slice::from_ref(asked));
    let mut answer = None;
    persist(&target, |_| {
        let reply = target.get(&[("range", &header)])?;
        let range = reply.headers.range.as_deref();
        answer = Some(match reply.status {
            206 => {
                let bad = || {
                    let found: String = range.unwrap_or("no Content-Range").chars().take(80).collect();
                    Failure::Again(target.error(format!("the server answered with another part of the file: {found}")), None)
                };
                let (range, size) = range.and_then(content_range).ok_or_else(bad)?;
                let size = size.ok_or_else(|| Failure::Final(no_size(&target)))?;
                if range.start != asked.start || range.end > asked.end || range.end < asked.end.min(size) {
                    return Err(bad());
                }
                if let Some(name) = &reply.headers.encoding {
                    return Err(Failure::Final(target.error(format!("the server sends parts in the encoding {name:?}"))));
                }
                (reply, Some((range, size)))
            }
            200 => (reply, None),
            416 if range.and_then(unsatisfied) == Some(0) => (reply, None),
            416 if range.is_some_and(|range| unsatisfied(range).is_some()) => {
                let size = range.and_then(unsatisfied).unwrap_or(0);
                return Err(Failure::Final(
                    Error::malformed(format!("the file ends at byte {size}, but bytes from {} on were requested", asked.start))
                        .context(format!("reading {}", target.address.shown())),
                ));
            }
            416 => return Err(Failure::Again(target.error("the server answered 416 Range Not Satisfiable"), None)),
            _ => return Err(target.refused(reply)),
        });
        Ok(())
    })?;
    let Some((reply, part)) = answer else { return Err(no_size(&target)) };
    if reply.status == 416 {
        return Ok(First::Empty);
    }
    let Some((range, size)) = part else {
        return Ok(First::Whole(Box::new((target, reply))));
    };
    let version = Version::of(&reply.headers);
    let fetcher = Fetcher::new(target, size, version);
    let mut bytes = vec![0; to_usize(range.end - range.start)?];
    let mut done = 0;
    let mut body = Paced::new(reply, fetcher.target.client.options.timeout);
    while let Some(rest) = bytes.get_mut(done..).filter(|rest| !rest.is_empty()) {
        match std::io::Read::read(&mut body, rest) {
            Ok(n) if n > 0 => done += n,
            // Missing bytes are fetched like any others, with retries.
            _ => break,
        }
    }
    drop(body);
    fetcher.received.fetch_add(done as u64, Ordering::Relaxed);
    if fetcher.version.is_nameless() {
        // Missing bytes could come from another version.
        bytes.truncate(done);
    }
    let rest = bytes.get_mut(done..).unwrap_or_default();
    if !rest.is_empty() {
        fetcher.fetch(range.start + done as u64, rest)?;
    }
    Ok(First::Part(Box::new(fetcher), range.start, bytes))
}

impl RangedFile {
    /// A file on a server of which some bytes came already.
    fn open(name: String, fetcher: Fetcher, parts: &[(u64, Vec<u8>)], together: u8) -> Self {
        let options = fetcher.target.client.options.clone();
        let disk = options
            .cache_dir
            .as_deref()
            .and_then(|root| Disk::new(root, &fetcher.target.identity(), &fetcher.version, fetcher.size, options.cache_disk));
        let notice = fetcher.target.notice();
        let mut file = Self::new(name, fetcher.size, Origin::Server(Box::new(fetcher)), options, together);
        (file.disk, file.notice) = (disk, notice);
        for (start, bytes) in parts {
            let end = start + bytes.len() as u64;
            *lock(&file.ahead) = Ahead { last: *start..end, window: HEAD, head: end };
            file.keep(*start, bytes);
        }
        file
    }

    fn new(name: String, size: u64, origin: Origin, options: RemoteOptions, together: u8) -> Self {
        let cache = Mutex::new(Cache::new(options.cache));
        let ahead = Mutex::new(Ahead { last: 0..0, window: HEAD / 4, head: 0 });
        let (together, told) = (AtomicU8::new(together), AtomicU64::new(0));
        Self { name, size, origin, options, cache, disk: None, ahead, together, told, notice: None }
    }

    /// Reports the number of received bytes to the progress callback.
    fn tell(&self) {
        let received = self.origin.received();
        if let Some(watch) = &self.options.watch {
            // The difference is reported, because several files may share the callback.
            let before = self.told.swap(received, Ordering::Relaxed);
            watch(received.saturating_sub(before), None);
        }
    }

    /// Keeps what was fetched.
    fn keep(&self, start: u64, bytes: &[u8]) {
        lock(&self.cache).insert(start, bytes);
        if let Some(disk) = &self.disk {
            disk.keep(start, bytes);
        }
    }

    /// Takes what the disk has of these ranges into memory.
    fn load_from_disk(&self, ranges: &[Range<u64>]) {
        if let Some(disk) = &self.disk {
            for range in ranges {
                for (start, bytes) in disk.pieces(range.clone()) {
                    lock(&self.cache).insert(start, &bytes);
                }
            }
        }
    }

    /// Does requests side by side and keeps what they bring.
    fn run(&self, ranges: Vec<Range<u64>>) -> Result<()> {
        let mut todo = ranges;
        loop {
            let planned = jobs(todo, self.together.load(Ordering::Relaxed) != NO);
            let again = Mutex::new(Vec::new());
            side_by_side(planned, self.options.in_flight, |job| {
                match job {
                    Job::One(range) => {
                        let mut bytes = vec![0; to_usize(range.end - range.start)?];
                        self.origin.fetch(range.start, &mut bytes)?;
                        self.keep(range.start, &bytes);
                    }
                    Job::Together(ranges) => match self.origin.fetch_together(&ranges)? {
                        Together::Parts(parts) => {
                            self.together.store(YES, Ordering::Relaxed);
                            parts.iter().for_each(|(start, bytes)| self.keep(*start, bytes));
                        }
                        Together::No => {
                            self.together.store(NO, Ordering::Relaxed);
                            lock(&again).extend(ranges);
                        }
                    },
                }
                self.tell();
                Ok(())
            })?;
            todo = again.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
            if todo.is_empty() {
                return Ok(());
            }
        }
    }

    /// The bytes to fetch if a few are missing: more along, as the last reads suggest.
    fn widened(&self, missing: &Range<u64>) -> Range<u64> {
        let size = self.size;
        let mut ahead = lock(&self.ahead);
        let len = missing.end - missing.start;
        let grown = (ahead.window.max(len) * 4).min(AHEAD);
        let tail = (ahead.head / 2).clamp(TAIL.start, TAIL.end).min(size);
        let wide = if missing.start >= ahead.last.end && missing.start - ahead.last.end <= NEAR {
            ahead.window = grown;
            if ahead.last.end == ahead.head {
                ahead.head = missing.end.max(missing.start + grown);
            }
            missing.start..missing.end.max(missing.start + grown)
        } else if missing.end <= ahead.last.start && ahead.last.start - missing.end <= ALONG {
            ahead.window = grown;
            missing.start.min(missing.end.saturating_sub(grown))..missing.end
        } else if missing.start >= size - tail {
            ahead.window = tail;
            size - tail..size
        } else {
            ahead.window = ALONG;
            missing.start..missing.end.max(missing.start + ALONG)
        };
        // Cached bytes are not fetched again.
        let gaps = lock(&self.cache).missing(wide.start..wide.end.min(size));
        let own = gaps.into_iter().find(|gap| gap.start <= missing.start && gap.end >= missing.end);
        let wide = own.unwrap_or_else(|| missing.clone());
        ahead.last = wide.clone();
        wide
    }

    /// Reads a few bytes that are missing.
    fn fetch_few(&self, missing: &Range<u64>, offset: u64, into: &mut [u8]) -> Result<()> {
        let wide = self.widened(missing);
        let mut bytes = vec![0; to_usize(wide.end - wide.start)?];
        self.origin.fetch(wide.start, &mut bytes)?;
        self.keep(wide.start, &bytes);
        let from = bytes.get((missing.start - wide.start) as usize..(missing.end - wide.start) as usize);
        let to = into.get_mut((missing.start - offset) as usize..(missing.end - offset) as usize);
        if let (Some(from), Some(to)) = (from, to) {
            to.copy_from_slice(from);
        }
        Ok(())
    }

    /// Reads many bytes that are missing, side by side, straight to where they are wanted.
    fn fetch_much(&self, missing: &[Range<u64>], offset: u64, into: &mut [u8]) -> Result<()> {
        let (mut at, mut rest) = (offset, into);
        let mut parts = Vec::new();
        for piece in missing.iter().flat_map(|range| pieces(range.clone())) {
            let (_, behind) = std::mem::take(&mut rest).split_at_mut((piece.start - at) as usize);
            let (part, behind) = behind.split_at_mut((piece.end - piece.start) as usize);
            (at, rest) = (piece.end, behind);
            parts.push((piece.start, part));
        }
        side_by_side(parts, self.options.in_flight, |(start, part)| {
            self.origin.fetch(start, part)?;
            if let Some(disk) = &self.disk {
                disk.keep(start, part);
            }
            self.tell();
            Ok(())
        })
    }
}

impl Backing for RangedFile {
    fn version(&self) -> Option<String> {
        match &self.origin {
            Origin::Server(fetcher) => fetcher.version.text(),
            Origin::Parts(_) => None,
        }
    }

    fn notice(&self) -> Option<String> {
        self.notice.clone()
    }
}

impl Source for RangedFile {
    fn len(&self) -> u64 {
        self.size
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<()> {
        end_in_file(offset, into.len() as u64, self.size)?;
        let mut missing = lock(&self.cache).copy(offset, into);
        if !missing.is_empty() && self.disk.is_some() {
            self.load_from_disk(&missing);
            missing = lock(&self.cache).copy(offset, into);
        }
        if missing.iter().map(|range| range.end - range.start).sum::<u64>() >= DIRECT {
            return self.fetch_much(&missing, offset, into);
        }
        for range in &missing {
            self.fetch_few(range, offset, into)?;
        }
        if !missing.is_empty() {
            self.tell();
        }
        Ok(())
    }

    fn prefetch(&self, ranges: &[Range<u64>]) -> Result<()> {
        let size = self.size;
        let clipped = ranges.iter().map(|range| range.start..range.end.min(size)).collect();
        let wanted = merged(clipped, 0);
        let missing = |ranges: &[Range<u64>]| -> Vec<Range<u64>> {
            let cache = lock(&self.cache);
            ranges.iter().flat_map(|range| cache.missing(range.clone())).collect()
        };
        let mut todo = missing(&wanted);
        if !todo.is_empty() && self.disk.is_some() {
            self.load_from_disk(&todo);
            todo = missing(&wanted);
        }
        // Bytes that would not fit are fetched when they are read.
        let mut room = self.options.cache / 2;
        todo.retain_mut(|range| {
            range.end = range.end.min(range.start + room);
            room -= range.end - range.start;
            range.start < range.end
        });
        self.run(todo)
    }

    fn stream(&self, range: Range<u64>, piece: usize, take: &mut dyn FnMut(&mut [u8]) -> Result<()>) -> Result<bool> {
        let Origin::Server(fetcher) = &self.origin else { return Ok(false) };
        // Reading keeps the bytes that are kept between runs.
        let is_long = range.end <= self.size && range.end.saturating_sub(range.start) > STREAM;
        if !is_long || self.disk.is_some() || !(1..=STREAM as usize).contains(&piece) {
            return Ok(false);
        }
        stream(fetcher, range, piece, &|| self.tell(), take).map(|()| true)
    }

    fn backing(&self) -> Option<&dyn Backing> {
        Some(self)
    }

    fn access(&self) -> Access {
        Access::REQUEST
    }

    fn name(&self) -> &str {
        &self.name
    }
}
