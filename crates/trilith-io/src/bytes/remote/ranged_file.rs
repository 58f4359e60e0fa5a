//! A file on a server that answers with parts of it.

use std::ops::Range;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use super::address::Address;
use super::client::RemoteTarget;
use super::coalesce::{RangeRequest, RangeSupport, even_pieces, plan_jobs};
use super::disk_cache::DiskCache;
use super::fetch::{Fetcher, MinRateReader, MultiRangeResult, no_size, range_header, retry_loop};
use super::into_shared;
use super::memory_cache::MemoryCache;
use super::multipart;
use super::options::RemoteOptions;
use super::response::{Failure, Response};
use super::response_headers::{FileVersion, content_range, parse_unsatisfied_size};
use super::streaming::stream_remote_range;
use super::unranged::UnrangedFile;
use crate::bytes::source::{coalesce_ranges, end_in_file};
use crate::bytes::{Access, MemorySource, Source, SourceBacking, SourceRef, to_usize};
use crate::error::{Error, ErrorKind, Result};
use crate::threads::{for_each_concurrent, lock};

/// The first request: as much holds the tree of most files.
const FIRST_REQUEST: u64 = 128 << 10;
/// The last bytes, where the index is; more of them if the tree was long.
const LAST_REQUEST: Range<u64> = 64 << 10..256 << 10;
/// Reads of at least this size bypass the cache.
const MIN_UNCACHED_READ: u64 = 1 << 20;
/// Reads of more contiguous bytes than this are streamed to the reader.
const MIN_STREAMED_READ: u64 = 8 << 20;
/// Read along if one byte here and one there are asked for.
const READ_AROUND: u64 = 512;
/// Read ahead at most if one byte after the other is asked for.
const MAX_READ_AHEAD: u64 = 4 << 20;
/// A place so little after the last one counts as after it.
const MAX_SEQUENTIAL_GAP: u64 = 64 << 10;

/// Bytes that another library fetches, range by range.
pub trait RangeFetcher: Send + Sync {
    /// Returns the number of bytes.
    fn size(&self) -> u64;

    /// Returns the name for messages.
    fn name(&self) -> &str;

    /// The bytes of each of these ranges, which are inside and do not overlap, in their order.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Io`] if they cannot be had.
    fn fetch_ranges(&self, ranges: &[Range<u64>]) -> Result<Vec<Vec<u8>>>;
}

/// A source of bytes that another library fetches: with the cache, the read-ahead and the plans of remote
/// files.
pub fn by_parts(parts: Arc<dyn RangeFetcher>, options: &RemoteOptions) -> SourceRef {
    let (name, size) = (parts.name().to_owned(), parts.size());
    into_shared(RangedFile::new(name, size, FetchOrigin::Parts(parts), options.clone(), MULTIRANGE_SUPPORTED))
}

/// The origin of the bytes.
enum FetchOrigin {
    Server(Box<Fetcher>),
    Parts(Arc<dyn RangeFetcher>),
}

impl FetchOrigin {
    /// Fills `into` with the bytes from `start` on.
    fn fetch_range(&self, start: u64, into: &mut [u8]) -> Result<()> {
        let parts = match self {
            Self::Server(fetcher) => return fetcher.fetch_range(start, into),
            Self::Parts(parts) => parts,
        };
        let range = start..start + into.len() as u64;
        match parts.fetch_ranges(std::slice::from_ref(&range))?.first() {
            Some(bytes) if bytes.len() == into.len() => {
                into.copy_from_slice(bytes);
                Ok(())
            }
            _ => Err(Error::new(ErrorKind::Io, format!("{} returned another number of bytes than requested", parts.name()))
                .at_byte(start)),
        }
    }

    /// Fetches several ranges by one request.
    fn fetch_together(&self, ranges: &[Range<u64>]) -> Result<MultiRangeResult> {
        let parts = match self {
            Self::Server(fetcher) => return fetcher.fetch_together(ranges),
            Self::Parts(parts) => parts,
        };
        let found = parts.fetch_ranges(ranges)?;
        let right = found.len() == ranges.len()
            && found.iter().zip(ranges).all(|(bytes, range)| bytes.len() as u64 == range.end - range.start);
        if !right {
            return Err(Error::new(ErrorKind::Io, format!("{} returned other bytes than requested", parts.name())));
        }
        Ok(MultiRangeResult::Parts(ranges.iter().map(|range| range.start).zip(found).collect()))
    }

    /// Returns the number of bytes received, if that is counted.
    fn received_byte_count(&self) -> u64 {
        match self {
            Self::Server(fetcher) => fetcher.received_bytes.load(Ordering::Relaxed),
            Self::Parts(_) => 0,
        }
    }
}

/// A remote file that is read by ranges.
pub(super) struct RangedFile {
    name: String,
    size: u64,
    origin: FetchOrigin,
    options: RemoteOptions,
    cache: Mutex<MemoryCache>,
    disk: Option<DiskCache>,
    read_ahead: Mutex<ReadAheadState>,
    /// Support of the server for several ranges in one request: not tried, yes, no.
    multi_range: AtomicU8,
    reported_bytes: AtomicU64,
    /// A warning about how the file is read.
    notice: Option<String>,
}

/// Place of the last fetch, and the number of bytes fetched ahead the next time.
#[derive(Debug)]
struct ReadAheadState {
    last_end: Range<u64>,
    window: u64,
    /// Number of bytes of the front that are read at once.
    is_head: u64,
}

const MULTIRANGE_UNKNOWN: u8 = 0;
const MULTIRANGE_SUPPORTED: u8 = 1;
const MULTIRANGE_UNSUPPORTED: u8 = 2;

/// The kind of the first answer.
enum FirstResponse {
    /// A part, which begins at this byte.
    Part(Box<Fetcher>, u64, Vec<u8>),
    Whole(Box<(RemoteTarget, Response)>),
    Empty,
}

/// Opens a file by one request: for its front, or only for the ranges in `first`.
pub(super) fn open_remote_file(target: RemoteTarget, first: &[Range<u64>]) -> Result<SourceRef> {
    let wanted = coalesce_ranges(first.to_vec(), MAX_SEQUENTIAL_GAP);
    let name = target.address.display();
    if wanted.len() > 1
        && let Some((size, version, parts)) = first_parts(&target, &wanted)?
        && !version.is_unknown()
    {
        return Ok(into_shared(RangedFile::open_remote_file(
            name,
            Fetcher::new(target, size, version),
            &parts,
            MULTIRANGE_SUPPORTED,
        )));
    }
    match first_answer(target, wanted.last().unwrap_or(&(0..FIRST_REQUEST)))? {
        FirstResponse::Whole(opened) => UnrangedFile::open_response(opened.0, opened.1),
        FirstResponse::Empty => Ok(into_shared(MemorySource::new(Vec::new(), name))),
        FirstResponse::Part(fetcher, start, bytes) if fetcher.version.is_unknown() => {
            if start == 0 && bytes.len() as u64 == fetcher.size {
                return Ok(into_shared(MemorySource::new(bytes, name)));
            }
            // Without a version name two responses could belong to different versions, so one response brings the entire file.
            let reply = request_whole(&fetcher.target)?;
            UnrangedFile::open_response(fetcher.target, reply)
        }
        FirstResponse::Part(fetcher, start, bytes) => {
            // Object stores answer to a list of ranges with the whole object, or not at all.
            let together = if matches!(fetcher.target.address, Address::Object { .. }) {
                MULTIRANGE_UNSUPPORTED
            } else {
                MULTIRANGE_UNKNOWN
            };
            Ok(into_shared(RangedFile::open_remote_file(name, *fetcher, &[(start, bytes)], together)))
        }
    }
}

/// Size and version of a file, and some of its bytes by the places where they begin.
type FirstRanges = (u64, FileVersion, Vec<(u64, Vec<u8>)>);

/// Requests several ranges at once. Returns None if the server does not support it.
fn first_parts(target: &RemoteTarget, ranges: &[Range<u64>]) -> Result<Option<FirstRanges>> {
    if matches!(target.address, Address::Object { .. }) {
        return Ok(None);
    }
    let most = ranges.iter().map(|range| range.end - range.start).max().unwrap_or(0);
    let header = range_header(ranges);
    let mut found = None;
    retry_loop(target, |_| {
        let reply = target.get(&[("range", &header)])?;
        let kind = reply.headers.content_type.clone().unwrap_or_default();
        if reply.status != 206 || !kind.to_ascii_lowercase().starts_with("multipart/byteranges") {
            // The single request reports any problem better.
            return Ok(());
        }
        let (version, mut parts, mut sizes) = (FileVersion::from_headers(&reply.headers), Vec::new(), Vec::new());
        multipart::read_parts(MinRateReader::new(reply, target.client.options.timeout), &kind, most, &mut |at, bytes, size| {
            parts.push((at, bytes));
            sizes.push(size);
            Ok(())
        })
        .map_err(|error| Failure::Retryable(target.network_error(error.to_string()), None))?;
        found = match sizes.first() {
            Some(Some(size)) if sizes.iter().all(|other| *other == Some(*size)) => Some((*size, version, parts)),
            _ => None,
        };
        Ok(())
    })?;
    Ok(found)
}

/// Requests the whole file.
fn request_whole(target: &RemoteTarget) -> Result<Response> {
    let mut answer = None;
    retry_loop(target, |_| {
        let reply = target.get(&[])?;
        if reply.status != 200 {
            return Err(target.status_failure(reply));
        }
        answer = Some(reply);
        Ok(())
    })?;
    answer.ok_or_else(|| no_size(target))
}

fn first_answer(target: RemoteTarget, asked: &Range<u64>) -> Result<FirstResponse> {
    let header = range_header(std::slice::from_ref(asked));
    let mut answer = None;
    retry_loop(&target, |_| {
        let reply = target.get(&[("range", &header)])?;
        let range = reply.headers.range.as_deref();
        answer = Some(match reply.status {
            206 => {
                let bad = || {
                    let found: String = range.unwrap_or("no Content-Range").chars().take(80).collect();
                    Failure::Retryable(
                        target.network_error(format!("the server answered with another part of the file: {found}")),
                        None,
                    )
                };
                let (range, size) = range.and_then(content_range).ok_or_else(bad)?;
                let size = size.ok_or_else(|| Failure::Permanent(no_size(&target)))?;
                if range.start != asked.start || range.end > asked.end || range.end < asked.end.min(size) {
                    return Err(bad());
                }
                if let Some(name) = &reply.headers.encoding {
                    return Err(Failure::Permanent(
                        target.network_error(format!("the server sends parts in the encoding {name:?}")),
                    ));
                }
                (reply, Some((range, size)))
            }
            200 => (reply, None),
            416 if range.and_then(parse_unsatisfied_size) == Some(0) => (reply, None),
            416 if range.is_some_and(|range| parse_unsatisfied_size(range).is_some()) => {
                let size = range.and_then(parse_unsatisfied_size).unwrap_or(0);
                return Err(Failure::Permanent(
                    Error::malformed(format!("the file ends at byte {size}, but bytes from {} on were requested", asked.start))
                        .context(format!("reading {}", target.address.display())),
                ));
            }
            416 => return Err(Failure::Retryable(target.network_error("the server answered 416 Range Not Satisfiable"), None)),
            _ => return Err(target.status_failure(reply)),
        });
        Ok(())
    })?;
    let Some((reply, part)) = answer else { return Err(no_size(&target)) };
    if reply.status == 416 {
        return Ok(FirstResponse::Empty);
    }
    let Some((range, size)) = part else {
        return Ok(FirstResponse::Whole(Box::new((target, reply))));
    };
    let version = FileVersion::from_headers(&reply.headers);
    let fetcher = Fetcher::new(target, size, version);
    let mut bytes = vec![0; to_usize(range.end - range.start)?];
    let mut done = 0;
    let mut body = MinRateReader::new(reply, fetcher.target.client.options.timeout);
    while let Some(rest) = bytes.get_mut(done..).filter(|rest| !rest.is_empty()) {
        match std::io::Read::read(&mut body, rest) {
            Ok(n) if n > 0 => done += n,
            // Missing bytes are fetched like any others, with retries.
            _ => break,
        }
    }
    drop(body);
    fetcher.received_bytes.fetch_add(done as u64, Ordering::Relaxed);
    if fetcher.version.is_unknown() {
        // Missing bytes could come from another version.
        bytes.truncate(done);
    }
    let rest = bytes.get_mut(done..).unwrap_or_default();
    if !rest.is_empty() {
        fetcher.fetch_range(range.start + done as u64, rest)?;
    }
    Ok(FirstResponse::Part(Box::new(fetcher), range.start, bytes))
}

impl RangedFile {
    /// A file on a server of which some bytes came already.
    fn open_remote_file(name: String, fetcher: Fetcher, parts: &[(u64, Vec<u8>)], together: u8) -> Self {
        let options = fetcher.target.client.options.clone();
        let disk = options.cache_dir.as_deref().and_then(|root| {
            DiskCache::new(root, &fetcher.target.cache_identity(), &fetcher.version, fetcher.size, options.cache_disk)
        });
        let notice = fetcher.target.notice();
        let mut file = Self::new(name, fetcher.size, FetchOrigin::Server(Box::new(fetcher)), options, together);
        (file.disk, file.notice) = (disk, notice);
        for (start, bytes) in parts {
            let end = start + bytes.len() as u64;
            *lock(&file.read_ahead) = ReadAheadState { last_end: *start..end, window: FIRST_REQUEST, is_head: end };
            file.cache(*start, bytes);
        }
        file
    }

    fn new(name: String, size: u64, origin: FetchOrigin, options: RemoteOptions, together: u8) -> Self {
        let cache = Mutex::new(MemoryCache::new(options.cache));
        let ahead = Mutex::new(ReadAheadState { last_end: 0..0, window: FIRST_REQUEST / 4, is_head: 0 });
        let (together, told) = (AtomicU8::new(together), AtomicU64::new(0));
        Self {
            name,
            size,
            origin,
            options,
            cache,
            disk: None,
            read_ahead: ahead,
            multi_range: together,
            reported_bytes: told,
            notice: None,
        }
    }

    /// Reports the number of received bytes to the progress callback.
    fn report_progress(&self) {
        let received = self.origin.received_byte_count();
        if let Some(watch) = &self.options.watch {
            // The difference is reported, because several files may share the callback.
            let before = self.reported_bytes.swap(received, Ordering::Relaxed);
            watch(received.saturating_sub(before), None);
        }
    }

    /// Keeps what was fetched.
    fn cache(&self, start: u64, bytes: &[u8]) {
        lock(&self.cache).insert(start, bytes);
        if let Some(disk) = &self.disk {
            disk.store(start, bytes);
        }
    }

    /// Takes what the disk has of these ranges into memory.
    fn load_from_disk(&self, ranges: &[Range<u64>]) {
        if let Some(disk) = &self.disk {
            for range in ranges {
                for (start, bytes) in disk.read_cached_pieces(range.clone()) {
                    lock(&self.cache).insert(start, &bytes);
                }
            }
        }
    }

    /// Does requests side by side and keeps what they bring.
    fn run(&self, ranges: Vec<Range<u64>>) -> Result<()> {
        let mut todo = ranges;
        loop {
            let support = match self.multi_range.load(Ordering::Relaxed) {
                MULTIRANGE_UNSUPPORTED => RangeSupport::Single,
                _ => RangeSupport::Multipart,
            };
            let planned = plan_jobs(todo, support);
            let again = Mutex::new(Vec::new());
            for_each_concurrent(planned, self.options.in_flight, |job| {
                match job {
                    RangeRequest::Single(range) => {
                        let mut bytes = vec![0; to_usize(range.end - range.start)?];
                        self.origin.fetch_range(range.start, &mut bytes)?;
                        self.cache(range.start, &bytes);
                    }
                    RangeRequest::Multipart(ranges) => match self.origin.fetch_together(&ranges)? {
                        MultiRangeResult::Parts(parts) => {
                            self.multi_range.store(MULTIRANGE_SUPPORTED, Ordering::Relaxed);
                            parts.iter().for_each(|(start, bytes)| self.cache(*start, bytes));
                        }
                        MultiRangeResult::Unsupported => {
                            self.multi_range.store(MULTIRANGE_UNSUPPORTED, Ordering::Relaxed);
                            lock(&again).extend(ranges);
                        }
                    },
                }
                self.report_progress();
                Ok(())
            })?;
            todo = again.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
            if todo.is_empty() {
                return Ok(());
            }
        }
    }

    /// The bytes to fetch if a few are missing: more along, as the last reads suggest.
    fn widen_range(&self, missing: &Range<u64>) -> Range<u64> {
        let size = self.size;
        let mut ahead = lock(&self.read_ahead);
        let len = missing.end - missing.start;
        let grown = (ahead.window.max(len) * 4).min(MAX_READ_AHEAD);
        let tail = (ahead.is_head / 2).clamp(LAST_REQUEST.start, LAST_REQUEST.end).min(size);
        let wide = if missing.start >= ahead.last_end.end && missing.start - ahead.last_end.end <= MAX_SEQUENTIAL_GAP {
            ahead.window = grown;
            if ahead.last_end.end == ahead.is_head {
                ahead.is_head = missing.end.max(missing.start + grown);
            }
            missing.start..missing.end.max(missing.start + grown)
        } else if missing.end <= ahead.last_end.start && ahead.last_end.start - missing.end <= READ_AROUND {
            ahead.window = grown;
            missing.start.min(missing.end.saturating_sub(grown))..missing.end
        } else if missing.start >= size - tail {
            ahead.window = tail;
            size - tail..size
        } else {
            ahead.window = READ_AROUND;
            missing.start..missing.end.max(missing.start + READ_AROUND)
        };
        // Cached bytes are not fetched again.
        let gaps = lock(&self.cache).missing_ranges(wide.start..wide.end.min(size));
        let own = gaps.into_iter().find(|gap| gap.start <= missing.start && gap.end >= missing.end);
        let wide = own.unwrap_or_else(|| missing.clone());
        ahead.last_end = wide.clone();
        wide
    }

    /// Reads a few bytes that are missing.
    fn fetch_small(&self, missing: &Range<u64>, offset: u64, into: &mut [u8]) -> Result<()> {
        let wide = self.widen_range(missing);
        let mut bytes = vec![0; to_usize(wide.end - wide.start)?];
        self.origin.fetch_range(wide.start, &mut bytes)?;
        self.cache(wide.start, &bytes);
        let from = bytes.get((missing.start - wide.start) as usize..(missing.end - wide.start) as usize);
        let to = into.get_mut((missing.start - offset) as usize..(missing.end - offset) as usize);
        if let (Some(from), Some(to)) = (from, to) {
            to.copy_from_slice(from);
        }
        Ok(())
    }

    /// Reads many bytes that are missing, side by side, straight to where they are wanted.
    fn fetch_large(&self, missing: &[Range<u64>], offset: u64, into: &mut [u8]) -> Result<()> {
        let (mut at, mut rest) = (offset, into);
        let mut parts = Vec::new();
        for piece in missing.iter().flat_map(|range| even_pieces(range.clone())) {
            let (_, behind) = std::mem::take(&mut rest).split_at_mut((piece.start - at) as usize);
            let (part, behind) = behind.split_at_mut((piece.end - piece.start) as usize);
            (at, rest) = (piece.end, behind);
            parts.push((piece.start, part));
        }
        for_each_concurrent(parts, self.options.in_flight, |(start, part)| {
            self.origin.fetch_range(start, part)?;
            if let Some(disk) = &self.disk {
                disk.store(start, part);
            }
            self.report_progress();
            Ok(())
        })
    }
}

impl SourceBacking for RangedFile {
    fn content_version(&self) -> Option<String> {
        match &self.origin {
            FetchOrigin::Server(fetcher) => fetcher.version.cache_key(),
            FetchOrigin::Parts(_) => None,
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
        let mut missing = lock(&self.cache).copy_cached(offset, into);
        if !missing.is_empty() && self.disk.is_some() {
            self.load_from_disk(&missing);
            missing = lock(&self.cache).copy_cached(offset, into);
        }
        if missing.iter().map(|range| range.end - range.start).sum::<u64>() >= MIN_UNCACHED_READ {
            return self.fetch_large(&missing, offset, into);
        }
        for range in &missing {
            self.fetch_small(range, offset, into)?;
        }
        if !missing.is_empty() {
            self.report_progress();
        }
        Ok(())
    }

    fn prefetch(&self, ranges: &[Range<u64>]) -> Result<()> {
        let size = self.size;
        let clipped = ranges.iter().map(|range| range.start..range.end.min(size)).collect();
        let wanted = coalesce_ranges(clipped, 0);
        let missing = |ranges: &[Range<u64>]| -> Vec<Range<u64>> {
            let cache = lock(&self.cache);
            ranges.iter().flat_map(|range| cache.missing_ranges(range.clone())).collect()
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
        let FetchOrigin::Server(fetcher) = &self.origin else { return Ok(false) };
        // Reading keeps the bytes that are kept between runs.
        let is_long = range.end <= self.size && range.end.saturating_sub(range.start) > MIN_STREAMED_READ;
        if !is_long || self.disk.is_some() || !(1..=MIN_STREAMED_READ as usize).contains(&piece) {
            return Ok(false);
        }
        stream_remote_range(fetcher, range, piece, &|| self.report_progress(), take).map(|()| true)
    }

    fn backing(&self) -> Option<&dyn SourceBacking> {
        Some(self)
    }

    fn access(&self) -> Access {
        Access::REQUEST
    }

    fn name(&self) -> &str {
        &self.name
    }
}
