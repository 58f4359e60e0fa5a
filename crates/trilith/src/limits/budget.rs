//! What one command may do in all: sums over everything that it reads and writes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::Limits;
use crate::error::Result;

/// What every command may do, however small its input.
const ALWAYS: u64 = 4 << 30;
/// What it may do besides for each byte of its input.
const PER_BYTE: u64 = 1000;

/// What a command has read and done so far.
#[derive(Debug, Default)]
pub(crate) struct Spent {
    input: AtomicU64,
    work: AtomicU64,
    output: AtomicU64,
}

/// A counter that stays where it is rather than begin anew.
fn add(counter: &AtomicU64, bytes: u64) -> u64 {
    let before = counter.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |sum| Some(sum.saturating_add(bytes)));
    before.unwrap_or(u64::MAX).saturating_add(bytes)
}

impl Limits {
    /// These limits with a budget of its own for one command, or for one request of a service: whatever is read and
    /// written under them or their clones counts towards [`Limits::work`] and [`Limits::output`]. `input` is the size
    /// of the file that it is about.
    ///
    /// Limits without a budget count nothing: a program that reads the same array all day asks for that itself.
    ///
    /// ```
    /// use trilith::{Array, Kind, Limits};
    /// let mut limits = Limits::default();
    /// limits.work = 100;
    /// let array = Array::from_slice(&[1.5f64; 10], &[10])?.with_limits(limits.for_command(80).into());
    /// assert_eq!(array.load::<f64>()?.len(), 10);
    /// assert_eq!(array.load::<f64>().unwrap_err().kind(), Kind::Limit);
    /// # Ok::<(), trilith::Error>(())
    /// ```
    #[must_use]
    pub fn for_command(&self, input: u64) -> Self {
        let spent = Spent { input: AtomicU64::new(input), ..Spent::default() };
        Self { spent: Some(Arc::new(spent)), ..self.clone() }
    }

    /// Says that the command reads another file, of `bytes` bytes.
    pub fn add_input(&self, bytes: u64) {
        if let Some(spent) = &self.spent {
            add(&spent.input, bytes);
        }
    }

    /// Counts bytes that are decoded, hashed, compared or gone through.
    ///
    /// # Errors
    /// [`Kind::Limit`](crate::Kind::Limit) where those of the command are more than [`Limits::work`].
    pub fn charge_work(&self, bytes: u64) -> Result<()> {
        let Some(spent) = &self.spent else { return Ok(()) };
        let (sum, most) = (add(&spent.work, bytes), spent.most(self.work));
        if sum > most { Err(self.spent_all("work", sum, most, "the bytes decoded and gone through come to")) } else { Ok(()) }
    }

    /// Refuses work that is planned where it would be too much, without counting it; once it is refused, the budget is
    /// spent.
    ///
    /// # Errors
    /// As [`Limits::charge_work`].
    pub fn check_work(&self, bytes: u64) -> Result<()> {
        let Some(spent) = &self.spent else { return Ok(()) };
        let (sum, most) = (spent.work.load(Ordering::Relaxed).saturating_add(bytes), spent.most(self.work));
        if sum > most {
            add(&spent.work, bytes);
            return Err(self.spent_all("work", sum, most, "the bytes to go through come to"));
        }
        Ok(())
    }

    /// Counts bytes that are written.
    ///
    /// # Errors
    /// [`Kind::Limit`](crate::Kind::Limit) where those of the command are more than [`Limits::output`].
    pub fn charge_output(&self, bytes: u64) -> Result<()> {
        let Some(spent) = &self.spent else { return Ok(()) };
        let (sum, most) = (add(&spent.output, bytes), spent.most(self.output));
        if sum > most { Err(self.spent_all("output", sum, most, "the bytes written come to")) } else { Ok(()) }
    }

    #[cold]
    fn spent_all(&self, name: &str, sum: u64, most: u64, what: &str) -> crate::Error {
        let error = Self::exceeded(name, most, format_args!("{what} {sum}"));
        let set = if name == "work" { self.work } else { self.output };
        match &self.spent {
            Some(spent) if set == 0 => error.also(format!(
                "by default it is 4 GiB and {PER_BYTE} times the {} bytes of input",
                spent.input.load(Ordering::Relaxed)
            )),
            _ => error,
        }
    }
}

impl Spent {
    /// What may be spent: what was set, or what the input is worth.
    fn most(&self, set: u64) -> u64 {
        match set {
            0 => self.input.load(Ordering::Relaxed).saturating_mul(PER_BYTE).saturating_add(ALWAYS),
            set => set,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_share_a_budget_and_limits_without_one_count_nothing() {
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
    fn the_default_grows_with_the_input_and_says_so() {
        let limits = Limits::default().for_command(1 << 20);
        assert!(limits.charge_output((4 << 30) + (1000 << 20)).is_ok());
        let text = limits.charge_output(1).unwrap_err().to_string();
        assert!(text.contains("output=5343543296") && text.contains("4 GiB and 1000 times the 1048576 bytes"), "{text}");
        limits.add_input(1);
        assert!(limits.charge_output(900).is_ok());
    }
}
