//! Input and requests of an evaluation: options, stored parameters, and the reason of a failure.

use super::diagnostic::DiagnosticCode;
use super::model::{Byteorder, Dialect, ItemId, Layout, Primitive, PrimitiveKind};
use super::spec_decisions;
use crate::Limits;
use crate::diagnostic::Diagnostic;
use crate::error::Error;

/// Options for evaluating a layout.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct EvaluateOptions {
    /// Addresses as in a native `.bd` file: 2025 begins at 16, after the signature. In 2026 native
    /// addresses begin at 0, which is byte 16 of the file.
    pub is_native: bool,
    /// The byte order of what the layout leaves open: the signature's or the caller's.
    pub byteorder: Option<Byteorder>,
    /// Limits on the cost of the evaluation.
    pub limits: Limits,
}

/// A stored parameter whose value is needed.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct ParamRequest {
    /// The layout address of its stored value; `None` if a length before it was left unknown.
    pub address: Option<u64>,
    /// Datatype of the value: an integer.
    pub datatype: Primitive,
    /// Byte order of the value, if known.
    pub byteorder: Option<Byteorder>,
    /// Number of stored parameters before it, including those of struct instances.
    pub ordinal: u64,
    /// `true` if it is the length of a compressed array (2026), which may stay unknown.
    pub is_length: bool,
    /// The item: the parameter, or the compressed array.
    pub item: ItemId,
}

/// The answer to a [`ParamRequest`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SuppliedValue {
    /// Value of the parameter.
    Value(i64),
    /// Bytes of the value as stored, at the start of the array.
    Bytes([u8; 8]),
    /// The stream ends before it; it has this number of bytes.
    TooFewBytes(u64),
    /// Unknown: only the length of a compressed array may be.
    Unknown,
    /// The caller gave no more values.
    Missing,
}

impl From<i64> for SuppliedValue {
    fn from(value: i64) -> Self {
        SuppliedValue::Value(value)
    }
}

impl ParamRequest {
    /// The value that bytes of a stream mean; `Ok(None)` if the byte order is not known and matters.
    ///
    /// # Errors
    /// Returns the value if it does not fit an `i64`.
    pub(crate) fn decode_value(&self, bytes: [u8; 8]) -> Result<Option<i64>, u64> {
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

/// The reason why an evaluation failed.
#[derive(Debug)]
pub enum EvaluationError {
    /// The layout and the stream do not fit: a code, and a place in the text of the layout.
    Text(Box<Diagnostic>),
    /// Any other error: an exceeded limit, or an error of the callback.
    Other(Error),
}

impl From<Error> for EvaluationError {
    fn from(error: Error) -> Self {
        EvaluationError::Other(error)
    }
}

impl From<EvaluationError> for Error {
    fn from(fault: EvaluationError) -> Self {
        match fault {
            EvaluationError::Text(diagnostic) => Error::from(*diagnostic),
            EvaluationError::Other(error) => error,
        }
    }
}

impl std::fmt::Display for EvaluationError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            EvaluationError::Text(found) => write!(f, "{}: {}", found.code, found.message),
            EvaluationError::Other(error) => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for EvaluationError {}

/// A stored value that was read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StoredValue {
    pub value: Option<i64>,
    pub item: ItemId,
}

impl Layout {
    pub(crate) fn error_at(&self, code: DiagnosticCode, span: crate::Span, message: impl Into<String>) -> EvaluationError {
        EvaluationError::Text(Box::new(code.to_diagnostic(span, message).locate(&self.text)))
    }

    /// The first automatic address.
    pub(crate) fn start_address(&self, options: &EvaluateOptions) -> u64 {
        if options.is_native && self.dialect == Dialect::D2025 { spec_decisions::NATIVE_START_2025 } else { 0 }
    }
}
