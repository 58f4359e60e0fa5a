//! One request after the other until its bytes are there: repeated if that helps, continued where an
//! answer broke off, and compared with the version of the file that was opened.

use std::io::Read;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::client::RemoteTarget;
use super::multipart;
use super::response::{Failure, Response};
use super::response_headers::{FileVersion, content_range, parse_unsatisfied_size};
use crate::error::{Error, Result};

/// The first pause before a request is repeated; each one is twice as long as the last.
const INITIAL_BACKOFF: Duration = Duration::from_millis(200);
const MAX_BACKOFF: Duration = Duration::from_secs(10);
/// The longest time that a server may ask to wait.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(300);
/// Time between two looks at whether a pause was given up.
const PAUSE_STEP: Duration = Duration::from_millis(50);
/// An answer that brought this number of bytes before it broke off does not count as a failure.
const MIN_PROGRESS: usize = 64 << 10;
/// Fewer bytes than this in a second, over this number of times the time in which something must come, are a stall.
const MIN_BYTES_PER_SECOND: u64 = 1024;
const RATE_WINDOW: u32 = 4;

/// A file as it was when it was opened.
#[derive(Debug)]
pub(super) struct Fetcher {
    pub(super) target: RemoteTarget,
    pub(super) size: u64,
    pub(super) version: FileVersion,
    pub(super) received_bytes: AtomicU64,
    /// `true` after another version of the file was seen. No more requests are sent then.
    is_stale: AtomicBool,
}

/// The result of a request for several ranges at once.
pub(super) enum MultiRangeResult {
    /// Offset in the file and bytes of each received range.
    Parts(Vec<(u64, Vec<u8>)>),
    /// The server does not do that.
    Unsupported,
}

/// Repeats `attempt` until it succeeds, fails for good, or fails too often without bringing anything.
/// It returns whether all is there, and counts what it brings in its argument.
pub(super) fn retry_loop(target: &RemoteTarget, mut attempt: impl FnMut(&mut usize) -> Result<(), Failure>) -> Result<()> {
    let (retries, mut failures) = (target.client.options.retries, 0);
    loop {
        let mut brought = 0;
        let leave = target.client.acquire_permit();
        let result = attempt(&mut brought);
        drop(leave);
        match result {
            Ok(()) => return Ok(()),
            Err(Failure::Permanent(error)) => return Err(error),
            Err(Failure::NoCredentials(problem)) => return Err(target.network_error(problem)),
            Err(Failure::Retryable(error, wait)) => {
                failures = if brought >= MIN_PROGRESS { 1 } else { failures + 1 };
                if failures > retries {
                    return Err(if retries > 0 { error.context(format!("{failures} times in a row")) } else { error });
                }
                let pause = INITIAL_BACKOFF.saturating_mul(1 << (failures - 1).min(16));
                // Jitter, so that parallel requests do not retry at once.
                let jitter = Duration::from_millis(u64::from(Instant::now().elapsed().subsec_nanos()) % 50);
                if let Some(wait) = wait.filter(|wait| *wait > MAX_RETRY_AFTER) {
                    let message = format!("the server asks to try again in {} seconds", wait.as_secs());
                    return Err(error.context(message));
                }
                sleep_or_cancel(wait.unwrap_or(pause.min(MAX_BACKOFF)) + jitter)?;
            }
        }
    }
}

/// Sleeps, unless the work of this thread is to end.
fn sleep_or_cancel(pause: Duration) -> Result<()> {
    let end = Instant::now() + pause;
    loop {
        crate::interrupt::check()?;
        let remaining = end.saturating_duration_since(Instant::now());
        if remaining.is_zero() {
            return Ok(());
        }
        std::thread::sleep(remaining.min(PAUSE_STEP));
    }
}

/// `bytes=0-9,20-29`.
pub(super) fn range_header(ranges: &[Range<u64>]) -> String {
    let list: Vec<String> = ranges.iter().map(|range| format!("{}-{}", range.start, range.end.saturating_sub(1))).collect();
    format!("bytes={}", list.join(","))
}

impl Fetcher {
    pub(super) fn new(target: RemoteTarget, size: u64, version: FileVersion) -> Self {
        Self { target, size, version, received_bytes: AtomicU64::new(0), is_stale: AtomicBool::new(false) }
    }

    /// Fills `into` with the bytes from `start` on.
    pub(super) fn fetch_range(&self, start: u64, into: &mut [u8]) -> Result<()> {
        let mut done = 0;
        retry_loop(&self.target, |brought| {
            let rest = into.get_mut(done..).unwrap_or_default();
            if rest.is_empty() {
                return Ok(());
            }
            let result = self.try_fetch(start + done as u64, rest, brought);
            done += *brought;
            result
        })
        .map_err(|error| error.at_byte(start + done as u64))
    }

    /// Sends one request. `brought` counts the received bytes, which are valid even if the response breaks off.
    fn try_fetch(&self, start: u64, into: &mut [u8], brought: &mut usize) -> Result<(), Failure> {
        let wanted = start..start + into.len() as u64;
        let (reply, range) = self.request_range(&wanted)?;
        let part = into.get_mut(..(range.end - range.start) as usize).unwrap_or_default();
        self.read_body(reply, part, brought)?;
        self.check_complete(&range, &wanted)
    }

    /// Requests one range. Returns the answer, and the bytes from its start on that it holds.
    fn request_range(&self, wanted: &Range<u64>) -> Result<(Response, Range<u64>), Failure> {
        let reply = self.request_ranges(std::slice::from_ref(wanted))?;
        let range = self.parse_part_range(&reply, reply.headers.range.as_deref())?;
        if range.start != wanted.start || range.end > wanted.end {
            return Err(self.wrong_range(&format!("bytes {}-{}", range.start, range.end - 1)));
        }
        Ok((reply, range))
    }

    /// Checks that an answer held all requested bytes.
    fn check_complete(&self, range: &Range<u64>, wanted: &Range<u64>) -> Result<(), Failure> {
        if range.end < wanted.end {
            return Err(Failure::Retryable(self.target.network_error("the response has fewer bytes than requested"), None));
        }
        Ok(())
    }

    /// Fetches a range from front to back: `fresh` gives memory for as many bytes as it is told, at most
    /// `piece`, and `full` takes it filled and says whether to go on.
    pub(super) fn fetch_sequential(
        &self,
        range: Range<u64>,
        piece: usize,
        fresh: &mut dyn FnMut(usize) -> Vec<u8>,
        full: &mut dyn FnMut(Vec<u8>) -> bool,
    ) -> Result<()> {
        let (mut at, mut bytes, mut filled) = (range.start, Vec::new(), 0);
        let mut step = |brought: &mut usize| {
            if at == range.end {
                return Ok(());
            }
            let wanted = at..range.end;
            let (reply, part) = self.request_range(&wanted)?;
            let mut body = MinRateReader::new(reply, self.target.client.options.timeout);
            while at < part.end {
                if filled == bytes.len() {
                    bytes = fresh((range.end - at).min(piece as u64) as usize);
                    filled = 0;
                }
                let most = bytes.len().min(filled.saturating_add((part.end - at) as usize));
                let n = self.read_some(&mut body, bytes.get_mut(filled..most).unwrap_or_default())?;
                (at, filled, *brought) = (at + n as u64, filled + n, *brought + n);
                if filled == bytes.len() && !full(std::mem::take(&mut bytes)) {
                    return Err(Failure::Permanent(self.target.network_error("the rest is not needed")));
                }
                filled = if bytes.is_empty() { 0 } else { filled };
            }
            // Reading to the end of the body lets the connection be reused.
            let _ = body.read(&mut [0]);
            self.check_complete(&part, &wanted)
        };
        retry_loop(&self.target, &mut step).map_err(|error| error.at_byte(at))
    }

    /// Requests ranges of this version of the file, and judges the status of the answer.
    fn request_ranges(&self, ranges: &[Range<u64>]) -> Result<Response, Failure> {
        if self.is_stale.load(Ordering::Relaxed) {
            return Err(self.changed_failure());
        }
        let list = range_header(ranges);
        let mut headers = vec![("range", list.as_str())];
        headers.extend(self.version.precondition_header());
        let reply = self.target.get(&headers)?;
        match reply.status {
            206 | 200 if !self.version.is_same_version(&FileVersion::from_headers(&reply.headers)) => Err(self.changed_failure()),
            206 => Ok(reply),
            200 if ranges.len() > 1 => Ok(reply),
            200 => {
                if reply.headers.length.is_some_and(|len| len != self.size) {
                    return Err(self.changed_failure());
                }
                Err(Failure::Retryable(
                    self.target.network_error("the server answered with the whole file instead of a part"),
                    None,
                ))
            }
            412 => Err(self.changed_failure()),
            416 => match reply.headers.range.as_deref().and_then(parse_unsatisfied_size) {
                Some(size) if size != self.size => Err(self.changed_failure()),
                _ if ranges.len() > 1 => Ok(reply),
                _ => Err(Failure::Retryable(self.target.network_error("the server answered 416 Range Not Satisfiable"), None)),
            },
            _ => Err(self.target.status_failure(reply)),
        }
    }

    /// The range of an answer, of this size of the file and not encoded.
    fn parse_part_range(&self, reply: &Response, range: Option<&str>) -> Result<Range<u64>, Failure> {
        if let Some(name) = &reply.headers.encoding {
            return Err(Failure::Permanent(
                self.target.network_error(format!("the server sends parts in the encoding {name:?}")),
            ));
        }
        let (range, size) = range.and_then(content_range).ok_or_else(|| self.wrong_range(range.unwrap_or("no Content-Range")))?;
        if size.is_some_and(|size| size != self.size) {
            return Err(self.changed_failure());
        }
        Ok(range)
    }

    #[cold]
    fn wrong_range(&self, found: &str) -> Failure {
        let found: String = found.chars().take(80).filter(|c| !c.is_control()).collect();
        Failure::Retryable(self.target.network_error(format!("the server answered with another part of the file: {found}")), None)
    }

    #[cold]
    pub(super) fn changed_failure(&self) -> Failure {
        self.is_stale.store(true, Ordering::Relaxed);
        let error = self.target.network_error("the file changed on the server while it was read");
        Failure::Permanent(error.hint("open it again"))
    }

    fn read_body(&self, reply: Response, into: &mut [u8], brought: &mut usize) -> Result<(), Failure> {
        let mut body = MinRateReader::new(reply, self.target.client.options.timeout);
        while let Some(rest) = into.get_mut(*brought..).filter(|rest| !rest.is_empty()) {
            *brought += self.read_some(&mut body, rest)?;
        }
        // Reading to the end of the body lets the connection be reused.
        let _ = body.read(&mut [0]);
        Ok(())
    }

    /// Reads the next bytes of a body. Fails if the body has ended.
    fn read_some(&self, body: &mut MinRateReader, into: &mut [u8]) -> Result<usize, Failure> {
        let again = |message: String| Failure::Retryable(self.target.network_error(message), None);
        match body.read(into) {
            Ok(0) => Err(again(format!("the answer ended {} bytes too early", into.len()))),
            Ok(n) => {
                self.received_bytes.fetch_add(n as u64, Ordering::Relaxed);
                Ok(n)
            }
            Err(error) => Err(again(error.to_string())),
        }
    }

    /// Fetches several ranges by one request, each as often as it takes.
    pub(super) fn fetch_together(&self, ranges: &[Range<u64>]) -> Result<MultiRangeResult> {
        let mut parts: Vec<(u64, Vec<u8>)> = Vec::new();
        let mut refused = false;
        retry_loop(&self.target, |brought| {
            let got = |range: &&Range<u64>| {
                !parts.iter().any(|(at, part)| *at == range.start && part.len() as u64 == range.end - range.start)
            };
            let left: Vec<Range<u64>> = ranges.iter().filter(got).cloned().collect();
            if left.is_empty() {
                return Ok(());
            }
            let reply = self.request_ranges(&left)?;
            let several = reply
                .headers
                .content_type
                .as_deref()
                .is_some_and(|kind| kind.to_ascii_lowercase().starts_with("multipart/byteranges"));
            if !several && left.len() > 1 {
                refused = true;
                return Ok(());
            }
            if !several {
                // The last response left one range only, so this one is not multipart.
                let range = self.parse_part_range(&reply, reply.headers.range.as_deref())?;
                if Some(&range) != left.first() {
                    return Err(self.wrong_range(&format!("bytes {}-{}", range.start, range.end - 1)));
                }
                let mut bytes = vec![0; (range.end - range.start) as usize];
                self.read_body(reply, &mut bytes, brought)?;
                parts.push((range.start, bytes));
                return Ok(());
            }
            self.read_multipart(reply, &left, &mut parts, brought)?;
            let whole = left
                .iter()
                .all(|range| parts.iter().any(|(at, part)| *at == range.start && part.len() as u64 == range.end - range.start));
            if whole {
                Ok(())
            } else {
                Err(Failure::Retryable(self.target.network_error("the response lacks requested ranges"), None))
            }
        })?;
        Ok(if refused { MultiRangeResult::Unsupported } else { MultiRangeResult::Parts(parts) })
    }

    fn read_multipart(
        &self,
        reply: Response,
        wanted: &[Range<u64>],
        parts: &mut Vec<(u64, Vec<u8>)>,
        brought: &mut usize,
    ) -> Result<(), Failure> {
        let kind = reply.headers.content_type.clone().unwrap_or_default();
        let most = wanted.iter().map(|range| range.end - range.start).max().unwrap_or(0);
        let mut changed = false;
        let body = MinRateReader::new(reply, self.target.client.options.timeout);
        let result = multipart::read_parts(body, &kind, most, &mut |at, bytes, size| {
            let range = at..at + bytes.len() as u64;
            changed |= size.is_some_and(|size| size != self.size);
            if changed || !wanted.contains(&range) {
                return Err(std::io::Error::other("the server answered with another part of the file"));
            }
            *brought += bytes.len();
            self.received_bytes.fetch_add(bytes.len() as u64, Ordering::Relaxed);
            parts.push((at, bytes));
            Ok(())
        });
        match result {
            Ok(()) => Ok(()),
            Err(_) if changed => Err(self.changed_failure()),
            Err(error) => Err(Failure::Retryable(self.target.network_error(error.to_string()), None)),
        }
    }
}

/// A body that must not come drop by drop.
pub(super) struct MinRateReader {
    reply: Response,
    timeout: Duration,
    /// Time spent waiting for a number of bytes, without the time that the reader spends meanwhile.
    elapsed: Duration,
    received: u64,
}

impl MinRateReader {
    pub(super) fn new(reply: Response, timeout: Duration) -> Self {
        Self { reply, timeout, elapsed: Duration::ZERO, received: 0 }
    }
}

impl Read for MinRateReader {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let since = Instant::now();
        let n = self.reply.body.read(into)?;
        self.elapsed += since.elapsed();
        self.received += n as u64;
        let window = self.timeout * RATE_WINDOW;
        if self.elapsed > window {
            if self.received < window.as_secs().max(1) * MIN_BYTES_PER_SECOND && n > 0 {
                return Err(std::io::ErrorKind::TimedOut.into());
            }
            (self.elapsed, self.received) = (Duration::ZERO, 0);
        }
        Ok(n)
    }
}

/// Refuses a file whose version cannot be read.
pub(super) fn no_size(target: &RemoteTarget) -> Error {
    target.network_error("the server does not report the size of the file")
}
