//! Stored numbers: what their keywords say that they mean, and the rows of files that are written.
//!
//! FITS Standard 4.0, sections 4.4.2.5 (BSCALE, BZERO, BLANK) and 7.3.2 (TSCAL, TZERO). An unsigned
//! integer is stored as the signed one less by half the range, which is a flip of the highest bit.

use std::ops::Range;
use std::sync::Arc;

use crate::array::{Array, Byteorder, Datatype};
use crate::array::{DeclaredNumber, MissingRule, ValueDecoding, ValueTransform};
use crate::bytes::{PieceDecoding, Source, SourceOrigin, SourceRef, copy, end_in, stored_ranges, to_usize};
use crate::error::{Error, Result};
use crate::limits::Limits;

/// Bytes that are converted at once.
const BUFFER_SIZE: usize = 1 << 20;

/// The form of the values of an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ValueForm {
    /// Values as they are stored, but with their sign.
    Stored,
    /// Physical values: what the keywords say that the stored ones mean.
    Physical,
}

/// A scale, an offset, and the whole number that marks a missing value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Scaling {
    pub scale: f64,
    pub zero: f64,
    pub blank: Option<i64>,
}

impl Scaling {
    /// Values mean themselves.
    pub(super) const IDENTITY: Self = Self { scale: 1.0, zero: 0.0, blank: None };

    /// Returns the meaning of stored numbers: unsigned integers, or scaled to `float`, which is `float32` or
    /// `float64`.
    pub(super) fn value_decoding(self, number: StoredNumber, float: Datatype) -> ValueDecoding {
        // A blank counts for integers only.
        let blank = self.blank.filter(|_| number.is_integer());
        let missing = blank.map(|n| MissingRule::Equal(DeclaredNumber::Int(n.into()))).into_iter().collect();
        let reading = match self.unsigned_datatype(number) {
            Some(datatype) => ValueTransform::SignFlip(datatype),
            None if (self.scale, self.zero) == (1.0, 0.0) => ValueTransform::Identity,
            None => ValueTransform::Linear { scale: self.scale, offset: self.zero, into: float },
        };
        ValueDecoding { transform: reading, missing_rules: missing }
    }

    /// The integer type of another sign, if the offset means it.
    pub(super) fn unsigned_datatype(self, number: StoredNumber) -> Option<Datatype> {
        let (datatype, zero) = number.flip_sign()?;
        (self.scale == 1.0 && self.zero == zero).then_some(datatype)
    }
}

/// Conversion of the values of one type to another; all of them are big-endian.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum ValueOp {
    /// Unchanged.
    Copy,
    /// Flip the highest bit: signed to unsigned and back.
    FlipSign,
    /// 1 to `T`, 0 to `F`.
    Text,
    /// float16 to float32.
    PromoteFloat,
    /// Integers to wider integers.
    Extend { signed: bool },
    /// Characters of four bytes to ASCII; [`RowConversion::check_ascii`] finds those that are none.
    Narrow,
}

/// The types of stored numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StoredNumber {
    U8,
    I16,
    I32,
    I64,
    F32,
    F64,
}

impl StoredNumber {
    pub(super) fn datatype(self) -> Datatype {
        match self {
            Self::U8 => Datatype::Uint8,
            Self::I16 => Datatype::Int16,
            Self::I32 => Datatype::Int32,
            Self::I64 => Datatype::Int64,
            Self::F32 => Datatype::Float32,
            Self::F64 => Datatype::Float64,
        }
    }

    /// The type of another sign, and the offset that means it.
    pub(super) fn flip_sign(self) -> Option<(Datatype, f64)> {
        match self {
            Self::U8 => Some((Datatype::Int8, -128.0)),
            Self::I16 => Some((Datatype::Uint16, 32768.0)),
            Self::I32 => Some((Datatype::Uint32, 2_147_483_648.0)),
            Self::I64 => Some((Datatype::Uint64, 9_223_372_036_854_775_808.0)),
            Self::F32 | Self::F64 => None,
        }
    }

    /// Bytes of one.
    pub(super) fn size(self) -> usize {
        match self {
            Self::U8 => 1,
            Self::I16 => 2,
            Self::I32 | Self::F32 => 4,
            Self::I64 | Self::F64 => 8,
        }
    }

    pub(super) fn is_integer(self) -> bool {
        !matches!(self, Self::F32 | Self::F64)
    }
}

/// The conversion of one part of every row.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RowStep {
    pub op: ValueOp,
    /// Bytes of a row before and after, where the part is.
    pub from: Range<usize>,
    pub to: Range<usize>,
    /// Bytes of one value before.
    pub size: usize,
}

/// Conversion of a row of bytes to another row.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct RowConversion {
    pub steps: Vec<RowStep>,
    pub input_size: usize,
    pub output_size: usize,
}

impl RowConversion {
    /// Rows of a single value.
    pub(super) fn single_value(op: ValueOp, from: usize, to: usize) -> Self {
        Self { steps: vec![RowStep { op, from: 0..from, to: 0..to, size: from }], input_size: from, output_size: to }
    }

    /// Returns `true` if nothing is converted.
    pub(super) fn is_identity(&self) -> bool {
        self.input_size == self.output_size && self.steps.iter().all(|step| step.op == ValueOp::Copy && step.from == step.to)
    }

    /// Returns `true` if characters of four bytes become ASCII.
    pub(super) fn has_characters(&self) -> bool {
        self.steps.iter().any(|step| step.op == ValueOp::Narrow)
    }

    /// Refuses rows with characters that ASCII does not have.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if a value does not fit.
    pub(super) fn check_ascii(&self, input: &[u8]) -> Result<()> {
        for step in self.steps.iter().filter(|step| step.op == ValueOp::Narrow) {
            let cells = input.chunks_exact(self.input_size.max(1)).filter_map(|row| row.get(step.from.clone()));
            let mut characters = cells.flat_map(|cell| cell.as_chunks::<4>().0).map(|c| u32::from_be_bytes(*c));
            if let Some(other) = characters.find(|c| *c > 127) {
                let shown = char::from_u32(other).unwrap_or('?');
                return Err(Error::invalid_input(format!("a FITS table holds ASCII text only, but there is {shown:?}")));
            }
        }
        Ok(())
    }

    /// Converts whole rows.
    pub(super) fn convert_rows(&self, input: &[u8], output: &mut [u8]) {
        if let [step] = self.steps.as_slice()
            && step.from == (0..self.input_size)
            && step.to == (0..self.output_size)
            && step.size > 0
        {
            // Values are contiguous over the rows: one loop for all.
            return step.convert_values(input, output);
        }
        for (from, to) in input.chunks_exact(self.input_size.max(1)).zip(output.chunks_exact_mut(self.output_size.max(1))) {
            for step in &self.steps {
                if let (Some(from), Some(to)) = (from.get(step.from.clone()), to.get_mut(step.to.clone())) {
                    step.convert_values(from, to);
                }
            }
        }
    }
}

impl RowStep {
    fn convert_values(&self, from: &[u8], to: &mut [u8]) {
        match self.op {
            ValueOp::Copy => _ = copy(from, to),
            ValueOp::FlipSign => {
                copy(from, to);
                for byte in to.iter_mut().step_by(self.size.max(1)) {
                    *byte ^= 0x80;
                }
            }
            ValueOp::Text => map_bytes(from, to, |b| if b == 0 { b'F' } else { b'T' }),
            ValueOp::PromoteFloat => {
                for (to, from) in to.chunks_exact_mut(4).zip(from.as_chunks::<2>().0) {
                    to.copy_from_slice(&half::f16::from_be_bytes(*from).to_f32().to_be_bytes());
                }
            }
            ValueOp::Extend { signed } => {
                let size = self.size.max(1);
                let longer = to.len().checked_div(from.len() / size).unwrap_or(0).max(size);
                for (to, from) in to.chunks_exact_mut(longer).zip(from.chunks_exact(size)) {
                    let is_negative = signed && from.first().is_some_and(|byte| byte & 0x80 != 0);
                    let (above, below) = to.split_at_mut(longer - size);
                    above.fill(if is_negative { 0xff } else { 0 });
                    copy(from, below);
                }
            }
            ValueOp::Narrow => {
                for (to, from) in to.iter_mut().zip(from.as_chunks::<4>().0) {
                    *to = from[3];
                }
            }
        }
    }
}

fn map_bytes(from: &[u8], to: &mut [u8], f: impl Fn(u8) -> u8) {
    for (to, from) in to.iter_mut().zip(from) {
        *to = f(*from);
    }
}

/// Rows of another source, converted when they are read.
struct ConvertedRows {
    source: SourceRef,
    offset: u64,
    count: u64,
    rows: RowConversion,
    limits: Arc<Limits>,
}

/// The converted form of `count` rows that begin at byte `offset` of a source.
///
/// # Errors
/// Returns [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) if the source ends before the rows do.
pub(super) fn convert_source_rows(
    source: SourceRef,
    offset: u64,
    count: u64,
    rows: RowConversion,
    limits: &Arc<Limits>,
) -> Result<SourceRef> {
    let end = count.checked_mul(rows.input_size as u64).and_then(|n| n.checked_add(offset));
    if end.is_none_or(|end| end > source.len()) || count.checked_mul(rows.output_size as u64).is_none_or(|n| n > i64::MAX as u64)
    {
        let what = format!("{count} rows of {} bytes are expected from byte {offset} on", rows.input_size);
        return Err(Error::malformed(format!("the file ends at byte {}, but {what}", source.len())).at_byte(offset));
    }
    Ok(Arc::new(ConvertedRows { source, offset, count, rows, limits: Arc::clone(limits) }))
}

impl PieceDecoding for ConvertedRows {
    fn stored_ranges(&self, range: Range<u64>) -> Result<Vec<Range<u64>>> {
        stored_ranges(&*self.source, self.inner_range(&range))
    }
}

impl Source for ConvertedRows {
    fn len(&self) -> u64 {
        self.count * self.rows.output_size as u64
    }

    fn read_at(&self, offset: u64, mut into: &mut [u8]) -> Result<()> {
        end_in("array", offset, into.len() as u64, self.len())?;
        if into.is_empty() {
            return Ok(());
        }
        let (row_in, row_out) = (self.rows.input_size as u64, self.rows.output_size as u64);
        self.limits.charge_memory(row_in.max(row_out), "a row of a table")?;
        self.limits.charge_decoding(into.len() as u64)?;
        let at_once = (BUFFER_SIZE as u64 / row_in.max(row_out).max(1)).max(1);
        let (mut row, mut skip) = (offset / row_out, to_usize(offset % row_out)?);
        let (mut before, mut after) = (Vec::new(), Vec::new());
        while !into.is_empty() {
            let rows = (skip as u64 + into.len() as u64).div_ceil(row_out).min(at_once).min(self.count - row);
            before.resize(to_usize(rows * row_in)?, 0);
            after.resize(to_usize(rows * row_out)?, 0);
            self.source.read_at(self.offset + row * row_in, &mut before)?;
            self.rows.convert_rows(&before, &mut after);
            let made = after.get(skip..).unwrap_or_default();
            let n = made.len().min(into.len());
            let (now, later) = into.split_at_mut(n);
            copy(made, now);
            (into, skip, row) = (later, 0, row + rows);
        }
        Ok(())
    }

    fn prefetch(&self, ranges: &[Range<u64>]) -> Result<()> {
        let needed: Vec<_> = ranges.iter().map(|range| self.inner_range(range)).collect();
        self.source.prefetch(&needed)
    }

    fn origin(&self) -> Option<SourceOrigin<'_>> {
        Some(SourceOrigin::Made(&*self.source))
    }

    fn pieces(&self) -> Option<&dyn PieceDecoding> {
        Some(self)
    }
}

impl ConvertedRows {
    /// The bytes of the inner source that a range is made of.
    fn inner_range(&self, range: &Range<u64>) -> Range<u64> {
        let row_out = (self.rows.output_size as u64).max(1);
        let (first, last) = (range.start / row_out, range.end.div_ceil(row_out).min(self.count));
        let at = |row: u64| self.offset.saturating_add(row.saturating_mul(self.rows.input_size as u64));
        at(first)..at(last.max(first))
    }
}

/// An array of big-endian values that are rows of one value each.
pub(super) fn array_of(
    source: SourceRef,
    offset: u64,
    shape: Vec<u64>,
    number: StoredNumber,
    target: Option<(ValueOp, Datatype)>,
    limits: &Arc<Limits>,
) -> Result<Array> {
    let array = match target {
        None => Array::new(source, offset, number.datatype(), Byteorder::Big, shape)?,
        Some((how, datatype)) => {
            let count = crate::array::element_count(&shape)?;
            let rows = RowConversion::single_value(how, number.size(), to_usize(datatype.item_size())?);
            let source = convert_source_rows(source, offset, count, rows, limits)?;
            Array::new(source, 0, datatype, Byteorder::Big, shape)?
        }
    };
    Ok(array.with_limits(Arc::clone(limits)))
}
