//! Where everything lies: a layout evaluated for one stream.
//!
//! Addresses follow the text (section 5 of our specification): each item goes behind the one before,
//! rounded up to its alignment, or where `@` and `%` say. Stored parameters are asked for as their
//! turn comes, since each may decide the address of the next. A list that is repeated without stored
//! parameters is not walked: from its second repetition on all are alike, so two of them tell its
//! whole length.

use super::diagnostic::{Code, Diagnostic};
use super::machine::Machine;
use super::model::{Byteorder, Dialect, ItemId, Layout, Primitive, PrimitiveKind};
use super::walk::Walker;
use super::{decision, entry::Entry};
use crate::Limits;
use crate::error::{Error, Result};

/// How to evaluate a layout.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Options {
    /// Addresses as in a native `.bd` file: 2025 begins at 16, behind the signature. In 2026 native
    /// addresses begin at 0, which is byte 16 of the file.
    pub native: bool,
    /// The byte order of what the layout leaves open: the signature's or the caller's.
    pub order: Option<Byteorder>,
    /// What the evaluation may cost.
    pub limits: Limits,
}

/// A stored parameter whose value is needed.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct ParamRequest {
    /// Where it is stored, a layout address; `None` where a length before it was left unknown.
    pub address: Option<u64>,
    /// Its type: an integer.
    pub datatype: Primitive,
    /// Its byte order, where known.
    pub byteorder: Option<Byteorder>,
    /// How many stored parameters come before it, those of struct instances included.
    pub ordinal: u64,
    /// Whether it is the length of a compressed array (2026), which may stay unknown.
    pub is_length: bool,
    /// The item: the parameter, or the compressed array.
    pub item: ItemId,
}

/// The answer to a [`ParamRequest`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Supply {
    /// Its value.
    Value(i64),
    /// Its bytes as stored, in the first places.
    Bytes([u8; 8]),
    /// The stream ends before it; it has so many bytes.
    Short(u64),
    /// Unknown: only the length of a compressed array may be.
    Unknown,
    /// No more values were given.
    Missing,
}

impl From<i64> for Supply {
    fn from(value: i64) -> Self {
        Supply::Value(value)
    }
}

impl ParamRequest {
    /// The value that bytes of a stream mean; `Ok(None)` where the byte order is not known and matters.
    ///
    /// # Errors
    /// The value, where it does not fit an `i64`.
    pub(crate) fn decode(&self, bytes: [u8; 8]) -> std::result::Result<Option<i64>, u64> {
        let size = self.datatype.size() as usize;
        let mut word = [0u8; 8];
        match self.byteorder {
            Some(Byteorder::Big) => word[..size].iter_mut().zip(bytes[..size].iter().rev()).for_each(|(to, from)| *to = *from),
            Some(Byteorder::Little) => word[..size].copy_from_slice(&bytes[..size]),
            None if size == 1 => word[0] = bytes[0],
            None => return Ok(None),
        }
        let raw = u64::from_le_bytes(word);
        if self.datatype.kind() == PrimitiveKind::Unsigned {
            return i64::try_from(raw).map(Some).map_err(|_| raw);
        }
        let shift = 64 - 8 * size as u32;
        Ok(Some(((raw << shift) as i64) >> shift))
    }
}

/// Why an evaluation failed.
#[derive(Debug)]
pub enum Fault {
    /// The layout and the stream do not fit: a code, and a place in the text of the layout.
    Text(Box<Diagnostic>),
    /// Anything else: a limit, or what the callback said.
    Other(Error),
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Fault::Other(error)
    }
}

impl From<Fault> for Error {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Text(diagnostic) => Error::from(*diagnostic),
            Fault::Other(error) => error,
        }
    }
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Fault::Text(diagnostic) => write!(f, "{diagnostic}"),
            Fault::Other(error) => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for Fault {}

impl Layout {
    pub(crate) fn fault(&self, code: Code, span: crate::Span, message: impl Into<String>) -> Fault {
        Fault::Text(Box::new(Diagnostic::new(code, span, message).locate(&self.text)))
    }

    /// The first automatic address.
    pub(crate) fn start(&self, options: &Options) -> u64 {
        if options.native && self.dialect == Dialect::D2025 { decision::NATIVE_START_2025 } else { 0 }
    }

    /// Finds all addresses for one stream; `supply` gives the values of stored parameters, in order.
    ///
    /// ```
    /// use trilith::layout::{Layout, Options, Supply};
    /// let layout = Layout::read(b"N : <i4  name = S1[N]  x = <f8").unwrap();
    /// let found = layout.evaluate(&Options::default(), |request| {
    ///     assert_eq!((request.address, request.datatype.name()), (Some(0), "i4"));
    ///     Ok(Supply::Value(5))
    /// }).unwrap();
    /// assert_eq!(found.total(), Some(24));
    /// ```
    ///
    /// # Errors
    /// [`Fault::Text`] with E401 to E407, or E409 where values are missing; [`Fault::Other`] for limits
    /// and for what `supply` says.
    pub fn evaluate(
        &self,
        options: &Options,
        supply: impl FnMut(&ParamRequest) -> Result<Supply>,
    ) -> std::result::Result<Evaluation<'_>, Fault> {
        let mut evaluation = Evaluation {
            machine: Machine::new(self, options),
            start: self.start(options),
            starts: Vec::new(),
            ordinals: Vec::new(),
            record: Vec::new(),
            limits: options.limits.clone(),
        };
        evaluation.again(supply)?;
        Ok(evaluation)
    }

    /// As [`Layout::evaluate`], with the values of all stored parameters in order. The lengths of
    /// compressed arrays may be left out, all of them.
    ///
    /// # Errors
    /// As [`Layout::evaluate`]; E409 where `values` are too few or too many.
    pub fn evaluate_with(&self, options: &Options, values: &[i64]) -> std::result::Result<Evaluation<'_>, Fault> {
        let all = self.evaluate(options, supply_from(values, false));
        let with_all = match all {
            Ok(found) if found.record.len() == values.len() => return Ok(found),
            other => other,
        };
        if !self.filters.iter().any(|filter| filter.compresses) {
            return self.all_used(with_all?, values);
        }
        match self.evaluate(options, supply_from(values, true)) {
            Ok(found) if found.given() == values.len() => Ok(found),
            _ => self.all_used(with_all?, values),
        }
    }

    fn all_used<'l>(&self, found: Evaluation<'l>, values: &[i64]) -> std::result::Result<Evaluation<'l>, Fault> {
        let used = found.record.len();
        if used == values.len() {
            return Ok(found);
        }
        let last = found.record.last().map_or(ItemId::ROOT, |value| value.item);
        let message = format!("{} values were given, the layout has {used} stored parameters", values.len());
        Err(self.fault(Code::E409, self.item(last).span, message))
    }
}

fn supply_from(values: &[i64], skip_lengths: bool) -> impl FnMut(&ParamRequest) -> Result<Supply> {
    let mut next = values.iter();
    move |request| {
        if skip_lengths && request.is_length {
            return Ok(Supply::Unknown);
        }
        Ok(next.next().map_or(Supply::Missing, |&value| Supply::Value(value)))
    }
}

/// A stored value that was read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stored {
    pub value: Option<i64>,
    pub item: ItemId,
}

/// How far a layout goes along a longer one that begins like it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Reached {
    /// So many steps outside of lists that occupy the stream are the same.
    pub places: usize,
    /// Of the next, an extension, so many repetitions.
    pub again: u64,
}

/// A layout evaluated for one stream.
pub struct Evaluation<'l> {
    machine: Machine<'l>,
    start: u64,
    /// The cursor before each of the layout's top-level places.
    pub(crate) starts: Vec<u64>,
    /// How many stored values come before each, where that is not plain.
    pub(crate) ordinals: Vec<u32>,
    /// All stored values in order.
    pub(crate) record: Vec<Stored>,
    pub(crate) limits: Limits,
}

impl<'l> Evaluation<'l> {
    /// Evaluates the same layout for another stream, without allocating anew.
    ///
    /// # Errors
    /// As [`Layout::evaluate`].
    pub fn again(&mut self, mut supply: impl FnMut(&ParamRequest) -> Result<Supply>) -> std::result::Result<(), Fault> {
        let layout = self.machine.layout;
        self.machine.reset(self.start);
        self.starts.clear();
        self.ordinals.clear();
        self.record.clear();
        let record = &mut self.record;
        let machine = &mut self.machine;
        for &step in &layout.plan.places {
            self.starts.push(machine.cursor);
            if layout.plan.dynamic {
                self.ordinals.push(record.len() as u32);
            }
            machine.run_step(step, false, &mut supply, record)?;
        }
        Ok(())
    }

    /// The layout.
    pub fn layout(&self) -> &'l Layout {
        self.machine.layout
    }

    /// The largest end of an item; `None` where a length is not known.
    pub fn total(&self) -> Option<u64> {
        self.machine.known_total()
    }

    /// The next available address; `None` where a length is not known.
    pub fn next(&self) -> Option<u64> {
        super::machine::known(self.machine.cursor)
    }

    /// The values of all stored parameters in order; `None` for lengths that were left unknown.
    pub fn values(&self) -> impl Iterator<Item = Option<i64>> {
        self.record.iter().map(|stored| stored.value)
    }

    /// How many values were known.
    fn given(&self) -> usize {
        self.record.iter().filter(|stored| stored.value.is_some()).count()
    }

    /// All items that occupy the stream, in the order of the text: one entry for each element of a
    /// list and each member of a struct of indeterminate length. Lazy: a list of 10⁹ elements is only
    /// as long as it is read.
    pub fn entries(&self) -> Entries<'_, 'l> {
        Entries { walker: Walker::new(self, self.machine.clone()) }
    }

    /// The entries behind those of a layout that is a beginning of this one.
    pub(crate) fn entries_behind(&self, reached: Reached) -> std::result::Result<Entries<'_, 'l>, Fault> {
        let layout = self.layout();
        let mut walker = Walker::new(self, self.machine.clone());
        for &(list, place) in layout.plan.of_list.iter().filter(|(_, place)| (*place as usize) < reached.places) {
            walker.lengthen(list, super::find::grown(layout, &self.machine, place)?);
        }
        walker.seek(reached.places, self.starts.len());
        walker.pass(reached.again);
        Ok(Entries { walker })
    }

    /// How far this layout goes.
    pub(crate) fn reached(&self) -> Reached {
        Reached { places: self.starts.len(), again: 0 }
    }

    /// How many elements a list outside of lists has.
    pub(crate) fn list_len(&self, list: ItemId) -> std::result::Result<u64, Fault> {
        let layout = self.layout();
        let places = layout.plan.of_list.iter().filter(|(known, _)| *known == list);
        places
            .map(|(_, place)| super::find::grown(layout, &self.machine, *place))
            .try_fold(0u64, |sum, more| Ok(sum.saturating_add(more?)))
    }

    /// The entry at a path such as `/group/list[3]/x`, found without walking what lies before it.
    ///
    /// # Errors
    /// [`Kind::Limit`](crate::Kind::Limit) where finding it costs too much.
    pub fn find(&self, path: &str) -> std::result::Result<Option<Entry>, Fault> {
        super::find::find(self, self.machine.clone(), path)
    }

    /// The array that a path means in every element of a list.
    ///
    /// # Errors
    /// As [`Evaluation::find`].
    pub(crate) fn stack(&self, path: &str) -> std::result::Result<super::stack::Stack, Fault> {
        self.stacked(&self.machine, path)
    }

    /// Items that lie over one another (W11), for those who look for mistakes: overlaps are legal.
    ///
    /// # Errors
    /// A limit, where there are more than [`Limits::items`](crate::Limits) entries.
    pub fn overlaps(&self) -> std::result::Result<Vec<Diagnostic>, Fault> {
        let mut spots = Vec::new();
        for entry in self.entries() {
            if spots.len() as u64 >= self.limits.items {
                let limit = self.limits.items;
                return Err(Limits::exceeded("items", limit, format_args!("the layout has over {limit} items")).into());
            }
            let entry = entry?;
            // Members of instances lie in their struct.
            let is_member = self.layout().member_of_struct(entry.item);
            if let (Some(address), Some(size), false) = (entry.address, entry.nbytes, is_member) {
                spots.push((address, size, entry));
            }
        }
        spots.sort_by_key(|(address, ..)| *address);
        let mut found: Vec<Diagnostic> = Vec::new();
        let mut last: Option<(u64, &Entry)> = None;
        for (address, size, entry) in &spots {
            let end = address.saturating_add(*size);
            if let Some((before, other)) = last
                && *address < before
                && found.len() < 1000
            {
                let message = format!("{} at {address} begins inside of {}, which ends at {before}", entry.path, other.path);
                found.push(Diagnostic::new(Code::W11, self.layout().span(entry.item), message).locate(self.layout().text()));
            }
            if last.is_none_or(|(before, _)| end > before) {
                last = Some((end, entry));
            }
        }
        found.sort_by_key(|diagnostic| diagnostic.span.start);
        Ok(found)
    }

    pub(crate) fn begin(&self) -> u64 {
        self.start
    }
}

/// The entries of an [`Evaluation`], in the order of the text.
pub struct Entries<'e, 'l> {
    walker: Walker<'e, 'l>,
}

impl Iterator for Entries<'_, '_> {
    type Item = std::result::Result<Entry, Fault>;

    fn next(&mut self) -> Option<Self::Item> {
        self.walker.advance().transpose()
    }
}
