//! Formats of numbers in a PDB file: sizes, byte orders and forms of floats, in its first bytes.

use crate::bytes::{SourceRef, read_vec};
use crate::error::{Error, Result};
use crate::limits::Limits;

/// A float of 4 bytes of IEEE 754: its bits, those of its exponent and mantissa, where sign, exponent and mantissa are, and
/// whether its first bit is written.
const IEEE4: [u8; 7] = [32, 8, 23, 0, 1, 9, 0];
const IEEE8: [u8; 7] = [64, 11, 52, 0, 1, 12, 0];

/// The types of C that every file has.
#[derive(Debug, Clone, Copy)]
pub(super) struct CType {
    /// The spelling in a layout; None for a float of another form.
    pub spelled: Option<&'static str>,
    pub size: u64,
}

pub(super) struct PrimitiveFormats {
    pub pointer: CType,
    pub short: CType,
    pub integer: CType,
    pub long: CType,
    pub float: CType,
    pub double: CType,
    pub is_big: bool,
    /// The start of the chart of types and of the table of symbols.
    pub chart: u64,
    pub symbols: u64,
}

impl PrimitiveFormats {
    /// Reads the beginning of a file.
    pub(super) fn read(source: &SourceRef, limits: &Limits) -> Result<Self> {
        let start = read_vec(&**source, 0, source.len().min(512), limits)?;
        let cut = || Error::malformed("its beginning is cut short").at_byte(0);
        let line = start.iter().position(|byte| *byte == b'\n').ok_or_else(cut)? + 1;
        if !start.starts_with(b"!<<PDB:II>>!") {
            return Err(Error::unsupported("a PDB file of another version than II"));
        }
        let rest = start.get(line..).ok_or_else(cut)?;
        let count = usize::from(*rest.first().ok_or_else(cut)?);
        let (table, text) = rest.split_at_checked(count).ok_or_else(cut)?;
        let [_, pointer, short, integer, long, float, double, short_order, integer_order, long_order, tail @ ..] = table else {
            return Err(cut());
        };
        let (float_order, tail) = tail.split_at_checked((*float).into()).ok_or_else(cut)?;
        let (double_order, tail) = tail.split_at_checked((*double).into()).ok_or_else(cut)?;
        let (float_form, double_form) = (tail.get(..7).ok_or_else(cut)?, tail.get(7..14).ok_or_else(cut)?);
        let mut numbers = text
            .split(|byte| matches!(byte, b'\n' | 1))
            .filter(|part| !part.is_empty())
            .map_while(|part| std::str::from_utf8(part).ok()?.trim().parse::<u64>().ok());
        let mut next = || numbers.next().ok_or_else(cut);
        let (float_bias, double_bias, chart, symbols) = (next()?, next()?, next()?, next()?);
        let whole = |size: &u8, order: &u8| integer_format((*size).into(), *order == 1);
        Ok(Self {
            pointer: whole(pointer, long_order)?,
            short: whole(short, short_order)?,
            integer: whole(integer, integer_order)?,
            long: whole(long, long_order)?,
            float: float_format(float_order, float_form, float_bias),
            double: float_format(double_order, double_form, double_bias),
            is_big: *long_order == 1,
            chart,
            symbols,
        })
    }
}

/// A whole number of this number of bytes.
pub(super) fn integer_format(size: u64, is_big: bool) -> Result<CType> {
    let spelled = match (size, is_big) {
        (1, _) => "i1",
        (2, true) => ">i2",
        (2, false) => "<i2",
        (4, true) => ">i4",
        (4, false) => "<i4",
        (8, true) => ">i8",
        (8, false) => "<i8",
        _ => return Err(Error::unsupported(format!("whole numbers of {size} bytes"))),
    };
    Ok(CType { spelled: Some(spelled), size })
}

/// A float, by the order of its bytes counted from 1, its form and its bias.
fn float_format(order: &[u8], form: &[u8], bias: u64) -> CType {
    let is_big = order.iter().copied().eq(1..=order.len() as u8);
    let is_little = order.iter().rev().copied().eq(1..=order.len() as u8);
    let spelled = match (order.len(), bias) {
        (4, 127) if form == IEEE4 && is_big => Some(">f4"),
        (4, 127) if form == IEEE4 && is_little => Some("<f4"),
        (8, 1023) if form == IEEE8 && is_big => Some(">f8"),
        (8, 1023) if form == IEEE8 && is_little => Some("<f8"),
        _ => None,
    };
    CType { spelled, size: order.len() as u64 }
}
