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
use crate::threads::{helper, lock, within};

/// Bytes of the first request, and of each if several are under way.
const REQUEST: u64 = 8 << 20;
/// Bytes of a request to a fast server, where each pause between two counts.
const LARGE: u64 = 32 << 20;
/// Number of bytes a second below which one more parallel request is worthwhile.
const FAST: u64 = 400 << 20;

/// The requests of one reader, in order.
struct Line<'f> {
    fetcher: &'f Fetcher,
    /// Bytes given to the reader at once.
    piece: usize,
    end: u64,
    /// Requests under way at most.
    most: usize,
    state: Mutex<State>,
    turn: Condvar,
}

struct State {
    /// The first byte that was not requested yet.
    next: u64,
    requests: VecDeque<Request>,
    /// Number of requests that are finished and removed from the queue.
    gone: usize,
    free: Vec<Vec<u8>>,
    /// Requests that may be under way.
    flight: usize,
    stop: bool,
}

/// The state of a request.
#[derive(Default)]
struct Request {
    full: VecDeque<Vec<u8>>,
    done: bool,
    failed: Option<Error>,
}

/// Gives a range of a file to `take`, `piece` bytes at a time, the last time perhaps fewer. `tell` is
/// called as they come.
pub(super) fn stream(
    fetcher: &Fetcher,
    range: Range<u64>,
    piece: usize,
    tell: &dyn Fn(),
    take: &mut dyn FnMut(&mut [u8]) -> Result<()>,
) -> Result<()> {
    let state = State { next: range.start, requests: VecDeque::new(), gone: 0, free: Vec::new(), flight: 1, stop: false };
    let most = fetcher.target.client.options.in_flight;
    let line = Line { fetcher, piece, end: range.end, most, state: Mutex::new(state), turn: Condvar::new() };
    within(|scope| {
        let mut workers = 0;
        let result = loop {
            while workers < line.flight() {
                if !helper(scope, || line.work()) {
                    break;
                }
                workers += 1;
            }
            if workers == 0 {
                break Err(Error::io("starting a thread", std::io::ErrorKind::OutOfMemory.into()));
            }
            let mut bytes = match line.next() {
                Ok(Some(bytes)) => bytes,
                Ok(None) => break Ok(()),
                Err(error) => break Err(error),
            };
            tell();
            if let Err(error) = take(&mut bytes) {
                break Err(error);
            }
            lock(&line.state).free.push(bytes);
        };
        lock(&line.state).stop = true;
        line.turn.notify_all();
        result
    })
}

impl Line<'_> {
    /// Returns the number of workers there should be.
    fn flight(&self) -> usize {
        lock(&self.state).flight
    }

    /// The next bytes for the reader; None at the end.
    fn next(&self) -> Result<Option<Vec<u8>>> {
        let mut state = lock(&self.state);
        loop {
            let at_end = state.next == self.end;
            match state.requests.front_mut() {
                None if at_end => return Ok(None),
                None => {}
                Some(request) => {
                    if let Some(bytes) = request.full.pop_front() {
                        return Ok(Some(bytes));
                    }
                    if let Some(error) = request.failed.take() {
                        return Err(error);
                    }
                    if request.done {
                        state.requests.pop_front();
                        state.gone += 1;
                        self.turn.notify_all();
                        continue;
                    }
                }
            }
            state = self.turn.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Does requests until none is left.
    fn work(&self) {
        while let Some((number, range)) = self.begin() {
            let (started, len) = (Instant::now(), range.end - range.start);
            let mut fresh = |size: usize| {
                let mut bytes = lock(&self.state).free.pop().unwrap_or_default();
                bytes.resize(size, 0);
                bytes
            };
            let result = self.fetcher.fetch_along(range, self.piece, &mut fresh, &mut |bytes| self.deliver(number, bytes));
            let mut state = lock(&self.state);
            if started.elapsed() > Duration::from_micros(len.saturating_mul(1_000_000) / FAST) {
                state.flight = (state.flight * 2).min(self.most);
            }
            if let Some(request) = number.checked_sub(state.gone).and_then(|at| state.requests.get_mut(at)) {
                (request.done, request.failed) = (true, result.err());
            }
            drop(state);
            self.turn.notify_all();
        }
    }

    /// The next request, when there is room for what it brings: its number and its bytes.
    fn begin(&self) -> Option<(usize, Range<u64>)> {
        let mut state = lock(&self.state);
        loop {
            if state.stop || state.next == self.end {
                return None;
            }
            // One request beyond those in flight, because the reader still consumes the first one.
            if state.requests.len() <= state.flight {
                break;
            }
            state = self.turn.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let is_fast = state.flight == 1 && state.gone + state.requests.len() > 0;
        let piece = self.piece as u64;
        let size = (if is_fast { LARGE } else { REQUEST } / piece).max(1) * piece;
        let range = state.next..self.end.min(state.next.saturating_add(size));
        state.next = range.end;
        state.requests.push_back(Request::default());
        Some((state.gone + state.requests.len() - 1, range))
    }

    /// Puts bytes into the line; whether more are wanted.
    fn deliver(&self, number: usize, bytes: Vec<u8>) -> bool {
        let mut state = lock(&self.state);
        if let Some(request) = number.checked_sub(state.gone).and_then(|at| state.requests.get_mut(at)) {
            request.full.push_back(bytes);
        }
        let wanted = !state.stop;
        drop(state);
        self.turn.notify_all();
        wanted
    }
}
