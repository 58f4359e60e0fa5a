//! Sums over everything that one command, or one call of the library, reads and writes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use super::Limits;
use crate::error::{Error, Result};

/// Amount that every command may use, however small its input is.
const BASE_BUDGET: u64 = 4 << 30;
/// Additional amount for each byte of its input.
const BUDGET_PER_INPUT_BYTE: u64 = 1000;

/// The amounts that a command, or the present calls, have read and done so far.
#[derive(Debug, Default)]
pub(crate) struct BudgetUse {
    input: AtomicU64,
    work: AtomicU64,
    decoded: AtomicU64,
    output: AtomicU64,
    /// Number of present calls, if each call has a separate budget.
    active_calls: Option<AtomicUsize>,
    /// Number of budgets that they share: one for each that began since the last time without any call.
    budgets: AtomicU64,
}

/// A call in progress. All work until it is dropped counts as one sum.
#[derive(Debug)]
#[must_use]
pub struct CallGuard(Option<Arc<BudgetUse>>);

impl Drop for CallGuard {
    fn drop(&mut self) {
        if let Some(calls) = self.0.as_ref().and_then(|spent| spent.active_calls.as_ref()) {
            calls.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// Adds to a counter, which stays at its maximum rather than wrap around.
fn saturating_add_to(counter: &AtomicU64, bytes: u64) -> u64 {
    let before = counter.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |sum| Some(sum.saturating_add(bytes)));
    before.unwrap_or(u64::MAX).saturating_add(bytes)
}

impl Limits {
    /// Returns these limits with a separate budget for one command, or for one request of a service. Everything
    /// that is read and written under them or their clones counts towards [`Limits::work`] and [`Limits::output`].
    /// `input` is the size of the file.
    ///
    /// Files that are opened under limits without a budget get one for each call instead (reading an array, a
    /// digest, a conversion), so that a program may read the same array all day.
    ///
    /// ```
    /// use trilith_io::{ErrorKind, Limits};
    /// let mut limits = Limits::default();
    /// limits.work = 100;
    /// let limits = limits.for_command(80);
    /// limits.charge_work(80)?;
    /// assert_eq!(limits.charge_work(80).unwrap_err().kind(), ErrorKind::Limit);
    /// # Ok::<(), trilith_io::Error>(())
    /// ```
    #[must_use]
    pub fn for_command(&self, input: u64) -> Self {
        let spent = BudgetUse { input: AtomicU64::new(input), ..BudgetUse::default() };
        Self { spent: Some(Arc::new(spent)), ..self.clone() }
    }

    /// Returns these limits with a budget of this size for each call, unless they have a budget already. Opening a
    /// file uses it, so that no single call does endless work.
    pub fn for_calls(&self, input: u64) -> Self {
        if self.spent.is_some() {
            return self.clone();
        }
        let spent = BudgetUse { input: AtomicU64::new(input), active_calls: Some(AtomicUsize::new(0)), ..BudgetUse::default() };
        Self { spent: Some(Arc::new(spent)), ..self.clone() }
    }

    /// Begins a call that reads many arrays. All work until the guard is dropped counts as one sum. Without such a guard, each
    /// read counts separately.
    pub fn call(&self) -> CallGuard {
        let spent = self.spent.as_ref().filter(|spent| spent.active_calls.is_some());
        if let Some((spent, calls)) = spent.and_then(|spent| Some((spent, spent.active_calls.as_ref()?))) {
            if calls.fetch_add(1, Ordering::Relaxed) == 0 {
                spent.work.store(0, Ordering::Relaxed);
                spent.decoded.store(0, Ordering::Relaxed);
                spent.output.store(0, Ordering::Relaxed);
                spent.budgets.store(1, Ordering::Relaxed);
            } else {
                saturating_add_to(&spent.budgets, 1);
            }
        }
        CallGuard(spent.cloned())
    }

    /// Adds another file of `bytes` bytes to the input of the command.
    pub fn add_input(&self, bytes: u64) {
        if let Some(spent) = &self.spent {
            saturating_add_to(&spent.input, bytes);
        }
    }

    /// Counts bytes that are hashed, compared or gone through.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Limit`](crate::ErrorKind::Limit) if those of the command are more than
    /// [`Limits::work`].
    pub fn charge_work(&self, bytes: u64) -> Result<()> {
        self.charge_sum(|spent| &spent.work, bytes, "the bytes gone through come to")
    }

    /// Counts bytes that a codec makes. They have a separate sum, because they are gone through afterwards: so a byte that is
    /// decoded and gone through counts once towards [`Limits::work`].
    ///
    /// # Errors
    /// Returns [`ErrorKind::Limit`](crate::ErrorKind::Limit) if those of the command are more than
    /// [`Limits::work`].
    #[doc(hidden)]
    pub fn charge_decoding(&self, bytes: u64) -> Result<()> {
        self.charge_sum(|spent| &spent.decoded, bytes, "the bytes decoded come to")
    }

    /// Takes the bytes of an array off both sums, before another pass over what one call has gone through already: the sums
    /// count bytes, and an algorithm has few passes.
    #[doc(hidden)]
    pub fn discount_pass(&self, bytes: u64) {
        let Some(spent) = &self.spent else { return };
        for sum in [&spent.work, &spent.decoded] {
            // The update always succeeds.
            let _ = sum.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |sum| Some(sum.saturating_sub(bytes)));
        }
    }

    fn charge_sum(&self, sum: impl Fn(&BudgetUse) -> &AtomicU64, bytes: u64, what: &str) -> Result<()> {
        crate::interrupt::check()?;
        let Some(spent) = &self.spent else { return Ok(()) };
        let (sum, most) = (spent.add_to_sum(sum(spent), bytes), spent.allowed_max(self.work));
        if sum > most { Err(self.check_exhausted("work", sum, most, what)) } else { Ok(()) }
    }

    /// Refuses work that is planned if it would be too much, without counting it; once it is refused, the budget is
    /// spent.
    ///
    /// # Errors
    /// Returns the errors of [`Limits::charge_work`].
    pub fn check_work(&self, bytes: u64) -> Result<()> {
        crate::interrupt::check()?;
        let Some(spent) = &self.spent else { return Ok(()) };
        let before = if spent.is_idle() { 0 } else { spent.work.load(Ordering::Relaxed) };
        let (sum, most) = (before.saturating_add(bytes), spent.allowed_max(self.work));
        if sum > most {
            spent.add_to_sum(&spent.work, bytes);
            return Err(self.check_exhausted("work", sum, most, "the bytes to go through come to"));
        }
        Ok(())
    }

    /// Counts bytes that are written.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Limit`](crate::ErrorKind::Limit) if those of the command are more than
    /// [`Limits::output`].
    pub fn charge_output(&self, bytes: u64) -> Result<()> {
        crate::interrupt::check()?;
        let Some(spent) = &self.spent else { return Ok(()) };
        let (sum, most) = (spent.add_to_sum(&spent.output, bytes), spent.allowed_max(self.output));
        if sum > most { Err(self.check_exhausted("output", sum, most, "the bytes written come to")) } else { Ok(()) }
    }

    #[cold]
    fn check_exhausted(&self, name: &str, sum: u64, most: u64, what: &str) -> Error {
        let error = Self::exceeded_error(name, most, format_args!("{what} {sum}"));
        let set = if name == "work" { self.work } else { self.output };
        match &self.spent {
            Some(spent) if set == 0 => error.add_hint(format!(
                "by default it is 4 GiB and {BUDGET_PER_INPUT_BYTE} times the {} bytes of input",
                spent.input.load(Ordering::Relaxed)
            )),
            _ => error,
        }
    }
}

impl BudgetUse {
    /// Returns `true` if each call has its own budget and none is going on.
    fn is_idle(&self) -> bool {
        self.active_calls.as_ref().is_some_and(|calls| calls.load(Ordering::Relaxed) == 0)
    }

    /// Adds to what has been done, if that is a sum.
    fn add_to_sum(&self, counter: &AtomicU64, bytes: u64) -> u64 {
        if self.is_idle() { bytes } else { saturating_add_to(counter, bytes) }
    }

    /// Returns the amount that may be used: the given one, or that for the input, for each call that began.
    fn allowed_max(&self, set: u64) -> u64 {
        let one = match set {
            0 => self.input.load(Ordering::Relaxed).saturating_mul(BUDGET_PER_INPUT_BYTE).saturating_add(BASE_BUDGET),
            set => set,
        };
        if self.active_calls.is_none() || self.is_idle() {
            return one;
        }
        one.saturating_mul(self.budgets.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_share_budget_plain_limits_count_nothing() {
        let limits = Limits { work: 10, ..Limits::default() };
        assert!(limits.charge_work(u64::MAX).is_ok());
        let (one, other) = (limits.for_command(0), limits.for_command(0));
        let clone = one.clone();
        assert!(one.charge_work(6).is_ok() && clone.charge_work(4).is_ok() && other.charge_work(10).is_ok());
        assert!(clone.check_work(0).is_ok() && clone.check_work(1).is_err() && clone.check_work(0).is_err());
        assert!(
            other.check_work(0).is_ok()
                && one.charge_work(1).is_err()
                && one.charge_work(u64::MAX).is_err()
                && one.charge_work(1).is_err()
        );
    }

    #[test]
    fn calls_and_outside_reads_have_separate_budgets() {
        let limits = Limits { work: 10, ..Limits::default() }.for_calls(0);
        assert!(limits.charge_work(10).is_ok() && limits.charge_work(10).is_ok() && limits.charge_work(11).is_err());
        for _ in 0..2 {
            let _call = limits.call();
            assert!(limits.charge_work(6).is_ok() && limits.charge_work(5).is_err());
        }
        let one = limits.call();
        assert!(limits.charge_work(10).is_ok() && limits.check_work(1).is_err());
        drop(one);
        let (one, other) = (limits.call(), limits.clone().for_calls(7).call());
        assert!(limits.charge_work(20).is_ok() && limits.charge_work(1).is_err());
        drop((one, other));
        assert!(limits.check_work(10).is_ok() && limits.charge_output(1 << 40).is_err());
        let command = limits.for_command(0);
        assert!(command.charge_work(6).is_ok());
        let _call = command.call();
        assert!(command.charge_work(5).is_err(), "a call within a command counts towards it");
    }

    #[test]
    fn decoded_bytes_have_their_own_sum() {
        let limits = Limits { work: 10, ..Limits::default() }.for_command(0);
        assert!(limits.charge_decoding(10).is_ok() && limits.charge_work(10).is_ok());
        assert!(limits.charge_decoding(1).is_err() && limits.charge_work(1).is_err());
        limits.discount_pass(10);
        assert!(limits.charge_work(9).is_ok() && limits.charge_work(1).is_err());
        limits.discount_pass(u64::MAX);
        assert!(limits.charge_work(10).is_ok() && limits.charge_decoding(10).is_ok());
        // Outside of calls nothing is summed up, so there is nothing to take off.
        let calls = Limits { work: 10, ..Limits::default() }.for_calls(0);
        calls.discount_pass(5);
        assert!(calls.charge_decoding(10).is_ok() && calls.charge_decoding(11).is_err());
    }

    #[test]
    fn default_output_limit_grows_with_input() {
        let limits = Limits::default().for_command(1 << 20);
        assert!(limits.charge_output((4 << 30) + (1000 << 20)).is_ok());
        let text = limits.charge_output(1).unwrap_err().to_string();
        assert!(text.contains("output=5343543296") && text.contains("4 GiB and 1000 times the 1048576 bytes"), "{text}");
        limits.add_input(1);
        assert!(limits.charge_output(900).is_ok());
    }
}
