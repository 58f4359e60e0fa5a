//! Work that waits for others: several jobs under way at the same time, whatever the number of cores.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::error::{Error, Result};

/// Does every job with `count` of them under way at the same time; after an error none is begun any more.
/// Of several errors that of the first job in order is given.
///
/// # Errors
/// What `work` returns.
pub(crate) fn side_by_side<J: Send>(jobs: Vec<J>, count: usize, work: impl Fn(J) -> Result<()> + Sync) -> Result<()> {
    let threads = count.min(jobs.len());
    let (queue, failed) = (Mutex::new(jobs.into_iter().enumerate()), Mutex::new(None::<(usize, Error)>));
    let stop = AtomicBool::new(false);
    let run = || {
        while !stop.load(Ordering::Relaxed) {
            let Some((at, job)) = queue.lock().unwrap_or_else(PoisonError::into_inner).next() else { return };
            if let Err(error) = work(job) {
                stop.store(true, Ordering::Relaxed);
                let mut failed = failed.lock().unwrap_or_else(PoisonError::into_inner);
                if failed.as_ref().is_none_or(|(first, _)| at < *first) {
                    *failed = Some((at, error));
                }
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads {
            // Where the system has no thread left, those that run do the work.
            if std::thread::Builder::new().spawn_scoped(scope, run).is_err() {
                break;
            }
        }
        run();
    });
    match failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some((_, error)) => Err(error),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_an_error_no_job_is_begun() {
        let done = Mutex::new(0);
        let failed = side_by_side((0..1000).collect(), 4, |n| {
            *done.lock().unwrap() += 1;
            if n == 10 { Err(Error::usage("ten")) } else { Ok(()) }
        });
        assert_eq!(failed.unwrap_err().message(), "ten");
        assert!(*done.lock().unwrap() < 1000);
        side_by_side((0..100).collect(), 4, |_: i32| Ok(())).unwrap();
    }

    #[test]
    fn the_first_of_several_errors_is_given() {
        let all = std::sync::Barrier::new(4);
        let failed = side_by_side((0..4).collect(), 4, |n| {
            all.wait();
            Err(Error::usage(format!("job {n}")))
        });
        assert_eq!(failed.unwrap_err().message(), "job 0");
    }
}
