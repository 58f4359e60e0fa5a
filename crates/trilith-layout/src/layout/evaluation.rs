//! Evaluation of a layout for one stream: the place of every item.
//!
//! Addresses follow the text (section 5 of our specification): each item goes after the one before, rounded up to
//! its alignment, or to the place that `@` and `%` give. Stored parameters are requested in their turn, since each
//! may decide the address of the next. A list that is repeated without stored parameters is not walked: from its
//! second repetition on all are alike, so two of them tell its whole length.

use super::diagnostic::DiagnosticCode;
use super::evaluator::{Evaluator, ParamValues};
use super::model::{AddressRule, ItemId, Layout};
use super::param_request::{EvaluateOptions, EvaluationError, ParamRequest, StoredValue, SuppliedValue};
use crate::Limits;
use crate::error::Result;

impl Layout {
    /// Computes all addresses of one file. `supply` returns the values of stored parameters, in order.
    ///
    /// ```
    /// use trilith_layout::layout::{Layout, EvaluateOptions, SuppliedValue};
    /// let layout = Layout::read(b"N : <i4  name = S1[N]  x = <f8").unwrap();
    /// let found = layout.evaluate(&EvaluateOptions::default(), |request| {
    ///     assert_eq!((request.address, request.datatype.name()), (Some(0), "i4"));
    ///     Ok(SuppliedValue::Value(5))
    /// }).unwrap();
    /// assert_eq!(found.total(), Some(24));
    /// ```
    ///
    /// # Errors
    /// Returns [`EvaluationError::Text`] with E401 to E407, or with E409 if values are missing. Returns [`EvaluationError::Other`] if a
    /// limit would be exceeded, and for the errors of `supply`.
    pub fn evaluate(
        &self,
        options: &EvaluateOptions,
        supply: impl FnMut(&ParamRequest) -> Result<SuppliedValue>,
    ) -> std::result::Result<LayoutEvaluation<'_>, EvaluationError> {
        let mut evaluation = LayoutEvaluation {
            machine: Evaluator::new(self, options),
            start: self.start_address(options),
            param_starts: Vec::new(),
            ordinals: Vec::new(),
            recorded: Vec::new(),
            limits: options.limits.clone(),
        };
        evaluation.reevaluate(supply)?;
        Ok(evaluation)
    }

    /// Does the same as [`Layout::evaluate`], with the values of all stored parameters in order. The lengths of
    /// compressed arrays may be left out, all of them.
    ///
    /// # Errors
    /// Returns the errors of [`Layout::evaluate`], and E409 if `values` are too few or too many.
    pub fn evaluate_with(
        &self,
        options: &EvaluateOptions,
        values: &[i64],
    ) -> std::result::Result<LayoutEvaluation<'_>, EvaluationError> {
        let all = self.evaluate(options, supply_from(values, LengthValues::Present));
        let with_all = match all {
            Ok(found) if found.recorded.len() == values.len() => return Ok(found),
            other => other,
        };
        if !self.filters.iter().any(|filter| filter.compresses) {
            return self.all_used(with_all?, values);
        }
        match self.evaluate(options, supply_from(values, LengthValues::Absent)) {
            Ok(found) if found.known_count() == values.len() => Ok(found),
            _ => self.all_used(with_all?, values),
        }
    }

    fn all_used<'l>(
        &self,
        found: LayoutEvaluation<'l>,
        values: &[i64],
    ) -> std::result::Result<LayoutEvaluation<'l>, EvaluationError> {
        let used = found.recorded.len();
        if used == values.len() {
            return Ok(found);
        }
        let last = found.recorded.last().map_or(ItemId::ROOT, |value| value.item);
        let message = format!("{} values were given, the layout has {used} stored parameters", values.len());
        Err(self.error_at(DiagnosticCode::E409, self.item(last).span, message))
    }
}

/// The lengths of compressed arrays among the values of stored parameters.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LengthValues {
    /// Every length is among the values.
    Present,
    /// No length is among the values: all stay unknown.
    Absent,
}

/// Supplies the values of a list in their order.
fn supply_from(values: &[i64], lengths: LengthValues) -> impl FnMut(&ParamRequest) -> Result<SuppliedValue> {
    let mut next = values.iter();
    move |request| {
        if request.is_length && lengths == LengthValues::Absent {
            return Ok(SuppliedValue::Unknown);
        }
        Ok(next.next().map_or(SuppliedValue::Missing, |&value| SuppliedValue::Value(value)))
    }
}

/// A layout evaluated for one stream.
pub struct LayoutEvaluation<'l> {
    pub(super) machine: Evaluator<'l>,
    start: u64,
    /// The cursor before each of the layout's top-level places.
    pub(crate) param_starts: Vec<u64>,
    /// Number of stored values before each, if that is not simply its number.
    pub(crate) ordinals: Vec<u32>,
    /// All stored values in order.
    pub(crate) recorded: Vec<StoredValue>,
    pub(crate) limits: Limits,
}

impl<'l> LayoutEvaluation<'l> {
    /// Evaluates the same layout for another stream, without new allocations.
    ///
    /// # Errors
    /// Returns the errors of [`Layout::evaluate`].
    pub fn reevaluate(
        &mut self,
        mut supply: impl FnMut(&ParamRequest) -> Result<SuppliedValue>,
    ) -> std::result::Result<(), EvaluationError> {
        let layout = self.machine.layout;
        self.machine.reset(self.start);
        self.param_starts.clear();
        self.ordinals.clear();
        self.recorded.clear();
        let mut values = ParamValues { source: &mut supply, recorded: &mut self.recorded };
        let machine = &mut self.machine;
        for &step in &layout.plan.places {
            self.param_starts.push(machine.cursor);
            if layout.plan.dynamic {
                self.ordinals.push(values.recorded.len() as u32);
            }
            machine.run_step(step, AddressRule::Keep, &mut values)?;
        }
        Ok(())
    }

    /// The layout.
    pub fn layout(&self) -> &'l Layout {
        self.machine.layout
    }

    /// The largest end of an item; `None` if a length is not known.
    pub fn total(&self) -> Option<u64> {
        self.machine.total()
    }

    /// The next available address; `None` if a length is not known.
    pub fn next(&self) -> Option<u64> {
        super::evaluator::known_address(self.machine.cursor)
    }

    /// The values of all stored parameters in order; `None` for lengths that were left unknown.
    pub fn values(&self) -> impl Iterator<Item = Option<i64>> {
        self.recorded.iter().map(|stored| stored.value)
    }

    /// Returns the number of known values.
    fn known_count(&self) -> usize {
        self.recorded.iter().filter(|stored| stored.value.is_some()).count()
    }

    pub(crate) fn first_address(&self) -> u64 {
        self.start
    }
}
