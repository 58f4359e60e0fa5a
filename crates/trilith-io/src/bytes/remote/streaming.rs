//! Many bytes from front to back: requests one after the other or side by side, as the way to the server
//! asks for, given to the reader in order while the next ones come.
//!
//! A fast server is read by one connection, as any program would; if a request takes its time, more are
//! sent at once. The memory is used again and again, so that it stays in the caches of the processor.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::fetch::Fetcher;
use crate::error::{Error, Result};
use crate::threads::{lock, scope, spawn_helper};

/// Bytes of the first request, and of each if several are under way.
const REQUEST_SIZE: u64 = 8 << 20;
/// Bytes of a request to a fast server, where each pause between two counts.
const LARGE_REQUEST_SIZE: u64 = 32 << 20;
/// Number of bytes a second below which one more parallel request is worthwhile.
const FAST_BYTES_PER_SECOND: u64 = 400 << 20;

/// The requests of one reader, in order.
struct RequestQueue<'f> {
    fetcher: &'f Fetcher,
    /// Bytes given to the reader at once.
    piece: usize,
    end: u64,
    /// Requests under way at most.
    max_parallel: usize,
    state: Mutex<QueueState>,
    changed: Condvar,
}

struct QueueState {
    /// The first byte that was not requested yet.
    next: u64,
    requests: VecDeque<RangeState>,
    /// Number of requests that are finished and removed from the queue.
    failed: usize,
    free_buffers: Vec<Vec<u8>>,
    /// Requests that may be under way.
    parallel_requests: usize,
    is_stopped: bool,
}

/// The state of a request.
#[derive(Default)]
struct RangeState {
    complete_pieces: VecDeque<Vec<u8>>,
    is_done: bool,
    failed: Option<Error>,
}

/// Gives a range of a file to `take`, `piece` bytes at a time, the last time perhaps fewer. `tell` is
/// called as they come.
pub(super) fn stream_remote_range(
    fetcher: &Fetcher,
    range: Range<u64>,
    piece: usize,
    tell: &dyn Fn(),
    take: &mut dyn FnMut(&mut [u8]) -> Result<()>,
) -> Result<()> {
    let state = QueueState {
        next: range.start,
        requests: VecDeque::new(),
        failed: 0,
        free_buffers: Vec::new(),
        parallel_requests: 1,
        is_stopped: false,
    };
    let most = fetcher.target.client.options.in_flight;
    let line =
        RequestQueue { fetcher, piece, end: range.end, max_parallel: most, state: Mutex::new(state), changed: Condvar::new() };
    scope(|scope| {
        let mut workers = 0;
        let result = loop {
            while workers < line.fetch_parallel() {
                if !spawn_helper(scope, || line.run_worker()) {
                    break;
                }
                workers += 1;
            }
            if workers == 0 {
                break Err(Error::io("starting a thread", std::io::ErrorKind::OutOfMemory.into()));
            }
            let mut bytes = match line.next_batch() {
                Ok(Some(bytes)) => bytes,
                Ok(None) => break Ok(()),
                Err(error) => break Err(error),
            };
            tell();
            if let Err(error) = take(&mut bytes) {
                break Err(error);
            }
            lock(&line.state).free_buffers.push(bytes);
        };
        lock(&line.state).is_stopped = true;
        line.changed.notify_all();
        result
    })
}

impl RequestQueue<'_> {
    /// Returns the number of workers there should be.
    fn fetch_parallel(&self) -> usize {
        lock(&self.state).parallel_requests
    }

    /// The next bytes for the reader; None at the end.
    fn next_batch(&self) -> Result<Option<Vec<u8>>> {
        let mut state = lock(&self.state);
        loop {
            let at_end = state.next == self.end;
            match state.requests.front_mut() {
                None if at_end => return Ok(None),
                None => {}
                Some(request) => {
                    if let Some(bytes) = request.complete_pieces.pop_front() {
                        return Ok(Some(bytes));
                    }
                    if let Some(error) = request.failed.take() {
                        return Err(error);
                    }
                    if request.is_done {
                        state.requests.pop_front();
                        state.failed += 1;
                        self.changed.notify_all();
                        continue;
                    }
                }
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Does requests until none is left.
    fn run_worker(&self) {
        while let Some((number, range)) = self.next_request() {
            let (started, len) = (Instant::now(), range.end - range.start);
            let mut fresh = |size: usize| {
                let mut bytes = lock(&self.state).free_buffers.pop().unwrap_or_default();
                bytes.resize(size, 0);
                bytes
            };
            let result =
                self.fetcher.fetch_sequential(range, self.piece, &mut fresh, &mut |bytes| self.deliver_in_order(number, bytes));
            let mut state = lock(&self.state);
            if started.elapsed() > Duration::from_micros(len.saturating_mul(1_000_000) / FAST_BYTES_PER_SECOND) {
                state.parallel_requests = (state.parallel_requests * 2).min(self.max_parallel);
            }
            if let Some(request) = number.checked_sub(state.failed).and_then(|at| state.requests.get_mut(at)) {
                (request.is_done, request.failed) = (true, result.err());
            }
            drop(state);
            self.changed.notify_all();
        }
    }

    /// The next request, when there is room for what it brings: its number and its bytes.
    fn next_request(&self) -> Option<(usize, Range<u64>)> {
        let mut state = lock(&self.state);
        loop {
            if state.is_stopped || state.next == self.end {
                return None;
            }
            // One request beyond those in flight, because the reader still consumes the first one.
            if state.requests.len() <= state.parallel_requests {
                break;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let is_fast = state.parallel_requests == 1 && state.failed + state.requests.len() > 0;
        let piece = self.piece as u64;
        let size = (if is_fast { LARGE_REQUEST_SIZE } else { REQUEST_SIZE } / piece).max(1) * piece;
        let range = state.next..self.end.min(state.next.saturating_add(size));
        state.next = range.end;
        state.requests.push_back(RangeState::default());
        Some((state.failed + state.requests.len() - 1, range))
    }

    /// Puts bytes into the line; whether more are wanted.
    fn deliver_in_order(&self, number: usize, bytes: Vec<u8>) -> bool {
        let mut state = lock(&self.state);
        if let Some(request) = number.checked_sub(state.failed).and_then(|at| state.requests.get_mut(at)) {
            request.complete_pieces.push_back(bytes);
        }
        let wanted = !state.is_stopped;
        drop(state);
        self.changed.notify_all();
        wanted
    }
}
