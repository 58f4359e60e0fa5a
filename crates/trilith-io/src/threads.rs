//! The one place that starts threads, and how many of them there may be: for codecs, hashes and copies ([`map_parallel`]), for
//! what waits for others (`for_each_concurrent`), and for what is fetched ahead (`ahead`).
//!
//! Work is spread over scoped threads that live as long as one call. There is no pool: with one
//! thread nothing is spawned at all, a lock held around a parallel call cannot meet a stolen task,
//! and calls inside of calls share one budget, so that many blocks decoded side by side do not
//! start threads by the square of the cores.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError, mpsc};
use std::thread::{Builder, Scope};
use std::time::{Duration, Instant};

pub use std::thread::JoinHandle;

use crate::error::Result;
use crate::interrupt;

/// Set by [`set_threads`]; 0 means not set.
static CONFIGURED: AtomicUsize = AtomicUsize::new(0);
/// Threads at work at this moment besides those that asked for work.
static ACTIVE_HELPERS: AtomicUsize = AtomicUsize::new(0);

/// Returns the number of threads that one call may use: that of [`set_threads`], else one for each core.
///
/// ```
/// trilith_io::threads::set_threads(Some(1));
/// assert_eq!(trilith_io::threads::threads(), 1);
/// trilith_io::threads::set_threads(None);
/// assert!(trilith_io::threads::threads() >= 1);
/// ```
pub fn threads() -> usize {
    static DEFAULT_THREADS: OnceLock<usize> = OnceLock::new();
    match CONFIGURED.load(Ordering::Relaxed) {
        0 => *DEFAULT_THREADS.get_or_init(|| std::thread::available_parallelism().map_or(1, NonZeroUsize::get)),
        n => n,
    }
}

/// Returns the number in the environment variable `TRILITH_THREADS`, if it is set to one. Programs that want to
/// follow it pass it to [`set_threads`]; the library does not read it by itself.
pub fn threads_from_env() -> Option<usize> {
    std::env::var("TRILITH_THREADS").ok()?.trim().parse().ok().filter(|n| *n > 0)
}

/// Sets how many threads may be used; `None` goes back to one for each core.
///
/// The bytes that come out, decoded or encoded, never depend on it.
pub fn set_threads(n: Option<usize>) {
    CONFIGURED.store(n.unwrap_or(0), Ordering::Relaxed);
}

/// Helpers taken out of the common budget, given back when dropped.
struct HelperPermits(usize);

impl HelperPermits {
    /// Takes up to `wanted` helpers. All calls together have at most one helper fewer than [`threads`].
    fn acquire(wanted: usize) -> Self {
        let most = threads().saturating_sub(1);
        let mut got = 0;
        let _ = ACTIVE_HELPERS.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |busy| {
            got = wanted.min(most.saturating_sub(busy));
            Some(busy + got)
        });
        Self(got)
    }
}

impl Drop for HelperPermits {
    fn drop(&mut self) {
        ACTIVE_HELPERS.fetch_sub(self.0, Ordering::Relaxed);
    }
}

/// Does every job, on as many threads as are free, and returns the results in the order of the jobs.
///
/// After a job fails, none is begun any more; the error is that of the first job in order that
/// failed, which is the one that a single thread would have met.
///
/// ```
/// let squares = trilith_io::threads::map_parallel(vec![1, 2, 3], |n| Ok(n * n))?;
/// assert_eq!(squares, [1, 4, 9]);
/// # Ok::<(), trilith_io::Error>(())
/// ```
///
/// # Errors
/// Returns the error of the first job that failed.
pub fn map_parallel<J: Send, R: Send>(jobs: Vec<J>, work: impl Fn(J) -> Result<R> + Sync) -> Result<Vec<R>> {
    let permits = HelperPermits::acquire(jobs.len().saturating_sub(1));
    map_with_helpers(&permits, jobs, work, || Ok(())).map(|((), done)| done)
}

/// Does `here` on this thread while other threads that are free do the jobs, and then helps with those that are left. Returns
/// the result of `here`, and those of the jobs in their order.
///
/// ```
/// let (sum, squares) = trilith_io::threads::map_during(vec![1, 2, 3], |n| Ok(n * n), || Ok(1 + 2))?;
/// assert_eq!((sum, squares), (3, vec![1, 4, 9]));
/// # Ok::<(), trilith_io::Error>(())
/// ```
///
/// # Errors
/// Returns the error of `here`, which ends the jobs, and otherwise that of the first job that failed.
pub fn map_during<J: Send, R: Send, H>(
    jobs: Vec<J>,
    work: impl Fn(J) -> Result<R> + Sync,
    here: impl FnOnce() -> Result<H>,
) -> Result<(H, Vec<R>)> {
    let permits = HelperPermits::acquire(jobs.len());
    interrupt::with_part(|| map_with_helpers(&permits, jobs, work, || here().inspect_err(|_| interrupt::end_part())))
}

/// Does `here`, then every job, on this thread and those that it has permits for.
fn map_with_helpers<J: Send, R: Send, H>(
    permits: &HelperPermits,
    jobs: Vec<J>,
    work: impl Fn(J) -> Result<R> + Sync,
    here: impl FnOnce() -> Result<H>,
) -> Result<(H, Vec<R>)> {
    if permits.0 == 0 {
        let made = here()?;
        let done: Result<_> = jobs.into_iter().map(|job| interrupt::check().and_then(|()| work(job))).collect();
        return Ok((made, done?));
    }
    let done: Vec<_> = jobs.iter().map(|_| Mutex::new(None)).collect();
    let made = start_in_order(jobs, permits.0, here, |at, job| {
        interrupt::check()?;
        let result = work(job)?;
        if let Some(done) = done.get(at) {
            *lock(done) = Some(result);
        }
        Ok(())
    })?;
    Ok((made, done.into_iter().filter_map(|done| done.into_inner().unwrap_or_else(PoisonError::into_inner)).collect()))
}

/// Does every job, begun in their order, on this number of threads and, after `here`, on this one. After an error none is begun
/// any more; of several errors that of `here`, or else of the first job in order, is given.
fn start_in_order<J: Send, H>(
    jobs: Vec<J>,
    besides: usize,
    here: impl FnOnce() -> Result<H>,
    work: impl Fn(usize, J) -> Result<()> + Sync,
) -> Result<H> {
    let jobs: Vec<_> = jobs.into_iter().map(|job| Mutex::new(Some(job))).collect();
    let mut made = None;
    let mut here = Some(here);
    let done = for_each_index(
        jobs.len(),
        besides,
        &mut || {
            made = here.take().map(|here| here());
            made.as_ref().is_some_and(Result::is_ok)
        },
        &|at| {
            let job = jobs.get(at).and_then(|job| lock(job).take());
            job.map_or(Ok(()), |job| work(at, job))
        },
    );
    match made {
        Some(Ok(made)) => done.map(|()| made),
        Some(Err(error)) => Err(error),
        // It is called in any case.
        None => Err(crate::Error::invalid_input("no work was done")),
    }
}

/// Does `here`, and the work of each number below `count` unless it returns false, as [`start_in_order`]. It is compiled once
/// for all kinds of jobs.
fn for_each_index(
    count: usize,
    besides: usize,
    here: &mut dyn FnMut() -> bool,
    work: &(dyn Fn(usize) -> Result<()> + Sync),
) -> Result<()> {
    let (next, failed) = (AtomicUsize::new(0), Mutex::new(None::<(usize, crate::Error)>));
    let begun = || {
        if !here() {
            next.store(count, Ordering::Relaxed);
        }
    };
    run_workers(besides, begun, &|| {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            if at >= count {
                return;
            }
            if let Err(error) = work(at) {
                next.store(count, Ordering::Relaxed);
                let mut failed = lock(&failed);
                if failed.as_ref().is_none_or(|(first, _)| at < *first) {
                    *failed = Some((at, error));
                }
            }
        }
    });
    failed.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), |(_, error)| Err(error))
}

/// Runs `work` on this number of threads and, after `here`, on this one, until it returns everywhere.
fn run_workers(besides: usize, here: impl FnOnce(), work: &(dyn Fn() + Sync)) {
    let busy = BusyCount::default();
    scope(|scope| {
        // If the system has no thread left, those that run do the work.
        let _ = (0..besides).all(|_| {
            let turn = busy.begin_task();
            spawn_helper(scope, move || {
                let _turn = turn;
                work();
            })
        });
        here();
        work();
        busy.wait_until_idle();
    });
}

/// Number of helpers at work.
#[derive(Default)]
struct BusyCount {
    count: Mutex<usize>,
    changed: Condvar,
}

/// A helper at work, until this value is dropped.
struct BusyGuard<'b>(&'b BusyCount);

impl BusyCount {
    fn begin_task(&self) -> BusyGuard<'_> {
        *lock(&self.count) += 1;
        BusyGuard(self)
    }

    /// Waits for all of them; who began the work is asked meanwhile whether it shall go on, and they hear of it.
    fn wait_until_idle(&self) {
        let mut count = lock(&self.count);
        while *count > 0 {
            let waited = self.changed.wait_timeout(count, Duration::from_millis(50));
            count = waited.unwrap_or_else(PoisonError::into_inner).0;
            drop(count);
            let _ = interrupt::check();
            count = lock(&self.count);
        }
    }
}

impl Drop for BusyGuard<'_> {
    fn drop(&mut self) {
        *lock(&self.0.count) -= 1;
        self.0.changed.notify_all();
    }
}

/// Does every job with `count` of them under way at the same time, whatever the number of cores: for work that waits for
/// others. After an error none is begun any more; of several errors that of the first job in order is given.
///
/// # Errors
/// Returns the errors of `work`.
pub fn for_each_concurrent<J: Send>(jobs: Vec<J>, count: usize, work: impl Fn(J) -> Result<()> + Sync) -> Result<()> {
    let others = count.min(jobs.len()).saturating_sub(1);
    start_in_order(jobs, others, || Ok(()), |_, job| work(job))
}

/// Does `work` here while `ahead` prepares the next step on a separate thread. The result of `ahead` is None if the
/// system has no thread left.
pub fn read_ahead<A: Send, W>(ahead: impl FnOnce() -> A + Send, work: impl FnOnce() -> W) -> (W, Option<A>) {
    scope(|scope| {
        let shared = interrupt::share_work();
        let ahead = Builder::new().spawn_scoped(scope, move || shared.run_as_helper(ahead));
        (work(), ahead.ok().and_then(|ahead| ahead.join().ok()))
    })
}

/// Does `produce`, which hands over values, while a separate thread takes them in their order: `limit` of them together, or those
/// that have come within `delay`. If `limit` is one, each is taken at once, on the thread that hands it over. If `take` fails,
/// handing over fails as well.
///
/// ```
/// use std::time::Duration;
/// let mut sum = 0;
/// let numbers = |send: &(dyn Fn(u64) -> _ + Sync)| (1..=100).try_for_each(send);
/// trilith_io::threads::take_batches(8, Duration::from_millis(1), numbers, |batch| {
///     sum += batch.iter().sum::<u64>();
///     Ok(())
/// })?;
/// assert_eq!(sum, 5050);
/// # Ok::<(), trilith_io::Error>(())
/// ```
///
/// # Errors
/// Returns the error of `take`, or else that of `produce`.
pub fn take_batches<T: Send>(
    limit: usize,
    delay: Duration,
    produce: impl FnOnce(&(dyn Fn(T) -> Result<()> + Sync)) -> Result<()>,
    take: impl FnMut(Vec<T>) -> Result<()> + Send,
) -> Result<()> {
    let (send, receive) = mpsc::sync_channel::<T>(limit);
    // The thread that takes owns both until it ends.
    let work = Mutex::new(Some((receive, take)));
    let outcome = Mutex::new(Ok(()));
    let take_all = || {
        let Some((receive, mut take)) = lock(&work).take() else { return };
        while let Ok(first) = receive.recv() {
            let (mut batch, end) = (vec![first], Instant::now() + delay);
            while batch.len() < limit
                && let Ok(next) = receive.recv_timeout(end.saturating_duration_since(Instant::now()))
            {
                batch.push(next);
            }
            if let Err(error) = take(batch) {
                *lock(&outcome) = Err(error);
                return;
            }
        }
    };
    let produced = scope(|scope| {
        if limit > 1 && spawn_helper(scope, take_all) {
            let cancelled = |_| crate::Error::new(crate::ErrorKind::Cancelled, "the work was given up");
            let hand_over = |value| send.send(value).map_err(cancelled);
            let produced = produce(&hand_over);
            drop(send);
            return produced;
        }
        // One is enough, or the system has no thread left.
        produce(&|value| lock(&work).as_mut().map_or(Ok(()), |(_, take)| take(vec![value])))
    });
    outcome.into_inner().unwrap_or_else(PoisonError::into_inner).and(produced)
}

/// Calls `work` with a scope for helper threads ([`spawn_helper`]), which end before this does.
pub(crate) fn scope<'e, R>(work: impl for<'s> FnOnce(&'s Scope<'s, 'e>) -> R) -> R {
    std::thread::scope(work)
}

/// Starts a thread; whether the system had one left.
pub(crate) fn spawn_helper<'s>(scope: &'s Scope<'s, '_>, work: impl FnOnce() + Send + 's) -> bool {
    let shared = interrupt::share_work();
    Builder::new().spawn_scoped(scope, move || shared.run_as_helper(work)).is_ok()
}

/// Starts a thread that outlives the call; None if the system has none left.
pub fn spawn_daemon<T: Send + 'static>(name: &str, work: impl FnOnce() -> T + Send + 'static) -> Option<JoinHandle<T>> {
    Builder::new().name(name.to_owned()).spawn(work).ok()
}

/// Runs `work` on a separate thread. This thread calls `go_on` periodically, and returns `None` once it is false,
/// so that the caller can still answer. The abandoned work then ends by itself.
///
/// ```
/// use std::time::Duration;
/// let sum = trilith_io::threads::run_watched(|| 1 + 2, Duration::from_millis(50), || true);
/// assert_eq!(sum, Some(3));
/// ```
pub fn run_watched<R: Send + 'static>(
    work: impl FnOnce() -> R + Send + 'static,
    every: Duration,
    mut go_on: impl FnMut() -> bool,
) -> Option<R> {
    let work = Arc::new(Mutex::new(Some(work)));
    let (send, receive) = mpsc::channel();
    let theirs = work.clone();
    let begun = spawn_daemon("trilith-work", move || {
        let work = lock(&theirs).take();
        // If the caller does not wait any more, the result is of no use.
        let _ = work.map(|work| send.send(work()));
    });
    if begun.is_none() {
        // The system has no thread left.
        return lock(&work).take().map(|work| work());
    }
    loop {
        match receive.recv_timeout(every) {
            Ok(result) => return Some(result),
            Err(mpsc::RecvTimeoutError::Timeout) if go_on() => {}
            // The callback returned `false`, or the work panicked and sent no result.
            Err(_) => return None,
        }
    }
}

/// The place of one job among those of [`map_in_order`].
#[derive(Debug, Clone)]
pub struct JobTurn {
    queue: Arc<JobQueue>,
    index: usize,
}

/// Progress of a row of jobs.
#[derive(Debug, Default)]
struct JobQueue {
    state: Mutex<JobQueueState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct JobQueueState {
    /// The first job whose result was not taken yet.
    next_result: usize,
    /// `true` if no job is begun any more.
    is_finished: bool,
    /// Number of threads that wait for a change. A change notifies them only if there are some, since that costs a system call.
    waiting: usize,
}

impl JobTurn {
    /// Returns the number of jobs before this one.
    pub fn index(&self) -> usize {
        self.index
    }

    /// Returns `true` if all jobs before this one are done and their results taken.
    pub fn is_current(&self) -> bool {
        lock(&self.queue.state).next_result == self.index
    }

    /// Waits until [`JobTurn::is_current`]; false if the work was given up meanwhile.
    pub fn wait(&self) -> bool {
        self.queue.wait_for_state(|state| state.next_result >= self.index)
    }
}

impl JobQueue {
    /// Waits for a state; false if the work is over before.
    fn wait_for_state(&self, is_there: impl Fn(&JobQueueState) -> bool) -> bool {
        let mut state = lock(&self.state);
        state.waiting += 1;
        let state = self.changed.wait_while(state, |state| !state.is_finished && !is_there(state));
        let mut state = state.unwrap_or_else(PoisonError::into_inner);
        state.waiting -= 1;
        !state.is_finished
    }

    fn update_state(&self, change: impl FnOnce(&mut JobQueueState)) {
        let is_awaited = {
            let mut state = lock(&self.state);
            change(&mut state);
            state.waiting > 0
        };
        if is_awaited {
            self.changed.notify_all();
        }
    }
}

/// Ends the work if a job panics, so that no thread waits for it.
struct PanicGuard<'l>(&'l JobQueue);

impl Drop for PanicGuard<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.update_state(|state| state.is_finished = true);
        }
    }
}

/// Does jobs as they come, on all free threads, and passes their results to `take` in the order of the jobs. Only a
/// few results wait for those before them, so that the memory does not grow with the number of jobs.
///
/// It uses `waiting` more threads than there are cores, for work that mostly waits, such as for servers. A job may
/// wait for its [`JobTurn`] to do something in the order of the jobs by itself. If `take` fails, no further job is
/// begun.
///
/// ```
/// let mut sum = Vec::new();
/// trilith_io::threads::map_in_order(0..100u64, 0, |n, _| n * n, |square| {
///     sum.push(square);
///     Ok(())
/// })?;
/// assert_eq!(sum[..4], [0, 1, 4, 9]);
/// # Ok::<(), trilith_io::Error>(())
/// ```
///
/// # Errors
/// Returns the first error of `take`.
pub fn map_in_order<J: Send, R: Send>(
    jobs: impl Iterator<Item = J> + Send,
    waiting: usize,
    work: impl Fn(J, &JobTurn) -> R + Sync,
    take: impl FnMut(R) -> Result<()> + Send,
) -> Result<()> {
    let mut permits: Vec<HelperPermits> = Vec::new();
    while let Some(permit) = Some(HelperPermits::acquire(1)).filter(|permit| permit.0 > 0) {
        permits.push(permit);
    }
    let most = permits.len() + waiting + 1;
    let line = Arc::new(JobQueue::default());
    let queue = Mutex::new(jobs.enumerate());
    let done = Mutex::new((BTreeMap::new(), take, Ok(())));
    let run = |_: Option<HelperPermits>| {
        let _ends = PanicGuard(&line);
        loop {
            let Some((at, job)) = lock(&queue).next() else { return };
            // At most this many jobs run ahead of the slowest one.
            if !line.wait_for_state(|state| at < state.next_result + 4 * most) {
                return;
            }
            let result = work(job, &JobTurn { queue: line.clone(), index: at });
            let mut done = lock(&done);
            let (results, take, outcome) = &mut *done;
            results.insert(at, result);
            let mut head = lock(&line.state).next_result;
            while let Some(next) = results.remove(&head) {
                if let Err(error) = take(next) {
                    *outcome = Err(error);
                    line.update_state(|state| state.is_finished = true);
                    return;
                }
                head += 1;
                line.update_state(|state| state.next_result = head);
            }
        }
    };
    scope(|scope| {
        let run = &run;
        let helpers = permits.into_iter().map(Some).chain((0..waiting).map(|_| None));
        for permit in helpers {
            // If the system has no thread left, those that run do the work. A permit is free again when its thread
            // has nothing left to do.
            if !spawn_helper(scope, move || run(permit)) {
                break;
            }
        }
        run(None);
    });
    done.into_inner().unwrap_or_else(PoisonError::into_inner).2
}

/// A lock whose holder cannot leave half-done work.
pub fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    #[test]
    fn each_keeps_order_and_returns_first_error() {
        let squares = map_parallel((0..100u64).collect(), |n| Ok(n * n)).unwrap();
        assert_eq!(squares, (0..100u64).map(|n| n * n).collect::<Vec<_>>());
        for _ in 0..20 {
            let failed =
                map_parallel(
                    (0..50u64).collect(),
                    |n| if n % 7 == 3 { Err(Error::malformed(format!("job {n}"))) } else { Ok(n) },
                );
            assert_eq!(failed.unwrap_err().message(), "job 3");
        }
    }

    #[test]
    fn results_come_in_order_and_few_wait() {
        let (begun, taken) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let mut seen = Vec::new();
        let work = |n: usize, turn: &JobTurn| {
            begun.fetch_add(1, Ordering::SeqCst);
            assert_eq!(turn.index(), n);
            if n.is_multiple_of(100) {
                // A slow job holds the others back, but only so far.
                std::thread::sleep(Duration::from_millis(2));
                assert!(begun.load(Ordering::SeqCst) <= taken.load(Ordering::SeqCst) + 4 * (threads() + 3) + 1);
            }
            if n.is_multiple_of(7) {
                assert!(turn.wait() && turn.is_current());
            }
            n
        };
        let take = |n| {
            taken.fetch_add(1, Ordering::SeqCst);
            seen.push(n);
            Ok(())
        };
        map_in_order(0..1000, 3, work, take).unwrap();
        assert_eq!(seen, (0..1000).collect::<Vec<_>>());
    }

    #[test]
    fn batches_keep_order_and_end_at_first_error() {
        for (limit, delay) in [(1, 0), (2, 0), (16, 0), (16, 1), (1000, 50)] {
            let (mut seen, mut longest) = (Vec::new(), 0);
            let numbers = |send: &(dyn Fn(u32) -> Result<()> + Sync)| (0..500).try_for_each(send);
            let take = |batch: Vec<u32>| {
                longest = longest.max(batch.len());
                seen.extend(batch);
                Ok(())
            };
            take_batches(limit, Duration::from_millis(delay), numbers, take).unwrap();
            assert_eq!(seen, (0..500).collect::<Vec<_>>(), "{limit}");
            assert!(longest <= limit);
            let take = |batch: Vec<u32>| if batch.contains(&70) { Err(Error::malformed("enough")) } else { Ok(()) };
            let endless = |send: &(dyn Fn(u32) -> Result<()> + Sync)| (0..).try_for_each(send);
            assert_eq!(take_batches(limit, Duration::ZERO, endless, take).unwrap_err().message(), "enough");
        }
        let mut taken = 0;
        let produce = |send: &(dyn Fn(u32) -> Result<()> + Sync)| send(1).and(Err(Error::malformed("no more")));
        let done = take_batches(4, Duration::ZERO, produce, |batch| {
            taken += batch.len();
            Ok(())
        });
        assert_eq!((done.unwrap_err().message(), taken), ("no more", 1));
    }

    #[test]
    fn work_ends_where_nobody_takes_its_results() {
        let begun = AtomicUsize::new(0);
        let work = |n: usize, turn: &JobTurn| {
            begun.fetch_add(1, Ordering::SeqCst);
            turn.wait();
            n
        };
        let take = |n| if n == 20 { Err(Error::invalid_input("enough")) } else { Ok(()) };
        assert_eq!(map_in_order(0.., 2, work, take).unwrap_err().message(), "enough");
        assert!(begun.load(Ordering::SeqCst) < 200);
    }

    #[test]
    fn calls_inside_of_calls_share_one_budget() {
        let sums =
            map_parallel((0..8u64).collect(), |a| Ok(map_parallel((0..8u64).collect(), |b| Ok(a * b))?.iter().sum::<u64>()))
                .unwrap();
        assert_eq!(sums.iter().sum::<u64>(), 28 * 28);
    }

    #[test]
    fn side_by_side_starts_no_job_after_error() {
        let done = Mutex::new(0);
        let failed = for_each_concurrent((0..1000).collect(), 4, |n| {
            *done.lock().unwrap() += 1;
            if n == 10 { Err(Error::invalid_input("ten")) } else { Ok(()) }
        });
        assert_eq!(failed.unwrap_err().message(), "ten");
        assert!(*done.lock().unwrap() < 1000);
        for_each_concurrent((0..100).collect(), 4, |_: i32| Ok(())).unwrap();
    }

    #[test]
    fn side_by_side_returns_first_of_several_errors() {
        let all = std::sync::Barrier::new(4);
        let failed = for_each_concurrent((0..4).collect(), 4, |n| {
            all.wait();
            Err(Error::invalid_input(format!("job {n}")))
        });
        assert_eq!(failed.unwrap_err().message(), "job 0");
    }

    #[test]
    fn who_watches_may_give_up() {
        let (send, receive) = mpsc::channel::<()>();
        let mut asked = 0;
        let given_up = run_watched(
            move || receive.recv().is_ok(),
            Duration::from_millis(1),
            || {
                asked += 1;
                asked < 3
            },
        );
        assert_eq!((given_up, asked), (None, 3));
        drop(send);
        assert_eq!(run_watched(|| 7, Duration::from_secs(60), || false), Some(7));
    }

    #[test]
    fn jobs_run_while_caller_does_other_work() {
        let squares = || (0..20u64).collect::<Vec<_>>();
        let (sum, done) = map_during(squares(), |n| Ok(n * n), || Ok(7)).unwrap();
        assert_eq!((sum, done), (7, (0..20).map(|n| n * n).collect()));
        assert_eq!(map_during(Vec::<u64>::new(), Ok, || Ok(7)).unwrap(), (7, vec![]));
        let failed = map_during(squares(), |n| if n > 3 { Err(Error::malformed(format!("job {n}"))) } else { Ok(n) }, || Ok(()));
        assert_eq!(failed.unwrap_err().message(), "job 4");
    }

    /// A job that ends only when the work is given up.
    fn wait_for_end(_: u32) -> Result<()> {
        loop {
            interrupt::check()?;
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn error_of_caller_ends_jobs() {
        let failed: Result<((), Vec<()>)> =
            map_during(vec![1, 2], wait_for_end, || Err(Error::invalid_input("the disk is full")));
        assert_eq!(failed.unwrap_err().message(), "the disk is full");
        // Only the part ends.
        let all = interrupt::with_callback(
            || true,
            || {
                let _: Result<((), Vec<()>)> =
                    map_during(vec![1], wait_for_end, || Err(Error::invalid_input("the disk is full")));
                interrupt::check()
            },
        );
        assert!(all.is_ok());
    }

    #[test]
    fn cancel_reaches_jobs_of_waiting_caller() {
        let done = interrupt::with_callback(|| false, || map_during(vec![1, 2, 3], wait_for_end, || Ok(())));
        assert_eq!(done.unwrap_err().kind(), crate::ErrorKind::Cancelled);
    }

    #[test]
    fn ahead_returns_both_results() {
        let (sum, next) = read_ahead(|| 7, || 1 + 2);
        assert_eq!((sum, next), (3, Some(7)));
    }
}
