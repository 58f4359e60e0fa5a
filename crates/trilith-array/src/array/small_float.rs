//! Floating-point numbers of 8 and 16 bits that are not a [`Datatype`] here, widened to 32 bits, which hold each of them exactly.

use std::ops::Range;
use std::sync::Arc;

use super::{Array, Byteorder, Datatype};
use crate::bytes::{MemorySource, PieceDecoding, Source, SourceOrigin, SourceRef, end_in, index_ranges, stored_ranges, to_usize};
use crate::error::{Error, Result};

/// Bytes of the stored elements that are widened at once.
const BUFFER_SIZE: usize = 64 << 10;

/// The layout of a small float: a sign, an exponent of N bits with this bias, and a mantissa of N bits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SmallFloat {
    exponent: u32,
    mantissa: u32,
    bias: i32,
    special: NonFinite,
}

/// The patterns that are not finite numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
enum NonFinite {
    /// Infinities and NaNs use the largest exponent, as in IEEE 754.
    Ieee,
    /// The pattern of all ones after the sign is NaN; there are no infinities.
    AllOnes,
    /// The sign alone is NaN; there are no infinities, and no second zero.
    SignOnly,
    /// A power of two without a sign, of which all ones are NaN.
    MaxExponent,
}

/// Formats, each with all its names.
const NAMES: &[(&[&str], SmallFloat)] = &[
    (&["BF16", "bfloat16"], SmallFloat { exponent: 8, mantissa: 7, bias: 127, special: NonFinite::Ieee }),
    (&["F8_E5M2", "float8_e5m2"], SmallFloat { exponent: 5, mantissa: 2, bias: 15, special: NonFinite::Ieee }),
    (&["F8_E4M3", "float8_e4m3fn"], SmallFloat { exponent: 4, mantissa: 3, bias: 7, special: NonFinite::AllOnes }),
    (&["F8_E5M2FNUZ", "float8_e5m2fnuz"], SmallFloat { exponent: 5, mantissa: 2, bias: 16, special: NonFinite::SignOnly }),
    (&["F8_E4M3FNUZ", "float8_e4m3fnuz"], SmallFloat { exponent: 4, mantissa: 3, bias: 8, special: NonFinite::SignOnly }),
    (&["F8_E8M0", "float8_e8m0fnu"], SmallFloat { exponent: 8, mantissa: 0, bias: 127, special: NonFinite::MaxExponent }),
];

impl SmallFloat {
    /// The one of a name.
    pub fn from_name(name: &str) -> Option<Self> {
        NAMES.iter().find(|(names, _)| names.contains(&name)).map(|(_, float)| *float)
    }

    /// The datatype in which its bits are presented.
    pub fn bits(self) -> Datatype {
        if 1 + self.exponent + self.mantissa > 9 { Datatype::Uint16 } else { Datatype::Uint8 }
    }

    /// The number that a pattern of bits is.
    pub fn to_f32(self, bits: u32) -> f32 {
        if self.special == NonFinite::MaxExponent {
            return if bits == 0xff { f32::NAN } else { 2f64.powi(bits as i32 - self.bias) as f32 };
        }
        let low = |count: u32| (1u32 << count) - 1;
        let (fraction, exponent) = (bits & low(self.mantissa), bits >> self.mantissa & low(self.exponent));
        let negative = bits >> (self.mantissa + self.exponent) & 1 == 1;
        let sign = if negative { -1.0 } else { 1.0 };
        let is_top = exponent == low(self.exponent);
        match self.special {
            NonFinite::Ieee if is_top && fraction == 0 => return sign * f32::INFINITY,
            NonFinite::Ieee if is_top => return f32::NAN,
            NonFinite::AllOnes if is_top && fraction == low(self.mantissa) => return f32::NAN,
            NonFinite::SignOnly if negative && exponent == 0 && fraction == 0 => return f32::NAN,
            _ => {}
        }
        // Numbers next to zero have no leading one.
        let (whole, power) = if exponent == 0 { (0.0, 1) } else { (1.0, exponent as i32) };
        let mantissa = whole + f64::from(fraction) / f64::from(1u32 << self.mantissa);
        // Exact: a 64-bit number has room for each of them.
        sign * (mantissa * 2f64.powi(power - self.bias)) as f32
    }

    /// Returns an array of the bits of such numbers as one of 32-bit floats. Elements are widened as they are read.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for an array of another datatype.
    pub fn widen_array(self, array: &Array) -> Result<Array> {
        if *array.datatype() != self.bits() {
            return Err(Error::invalid_input(format!(
                "an array of {}, expected {}, to be widened",
                array.datatype(),
                self.bits()
            )));
        }
        let (inner, start, order) = match array.is_c_contiguous() {
            true => (array.source().clone(), array.offset(), array.byteorder()),
            false => {
                let bytes = array.read_bytes(Byteorder::Little)?;
                (Arc::new(MemorySource::new(bytes, array.source().name())) as SourceRef, 0, Byteorder::Little)
            }
        };
        let size = self.bits().item_size();
        let len = array.nbytes() / size;
        let wide = WidenedSource { inner, offset: start, len, size, order, format: self };
        let made = Array::new(Arc::new(wide), 0, Datatype::Float32, Byteorder::Little, array.shape().to_vec())?;
        Ok(made.with_limits(array.limits().clone()))
    }
}

/// The elements as little-endian 32-bit floats.
struct WidenedSource {
    inner: SourceRef,
    offset: u64,
    /// Elements.
    len: u64,
    /// Bytes of an element as it is stored.
    size: u64,
    order: Byteorder,
    format: SmallFloat,
}

impl WidenedSource {
    /// Returns the place of the elements that a range of bytes is made of.
    fn stored_range(&self, range: &Range<u64>) -> Range<u64> {
        let at = |element: u64| self.offset.saturating_add(element.min(self.len).saturating_mul(self.size));
        at(range.start / 4)..at(range.end.div_ceil(4))
    }
}

impl PieceDecoding for WidenedSource {
    fn stored_ranges(&self, range: Range<u64>) -> Result<Vec<Range<u64>>> {
        stored_ranges(&*self.inner, self.stored_range(&range))
    }

    fn index(&self, range: Range<u64>) -> Result<Vec<Range<u64>>> {
        index_ranges(&*self.inner, self.stored_range(&range))
    }
}

impl Source for WidenedSource {
    fn len(&self) -> u64 {
        self.len.saturating_mul(4)
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<()> {
        end_in("array", offset, into.len() as u64, self.len())?;
        let (mut at, mut rest) = (offset, into);
        while !rest.is_empty() {
            let count = rest.len().min(BUFFER_SIZE);
            let (now, later) = std::mem::take(&mut rest).split_at_mut(count);
            let range = at..at.saturating_add(count as u64);
            let place = self.stored_range(&range);
            let mut bytes = vec![0; to_usize(place.end - place.start)?];
            self.inner.read_at(place.start, &mut bytes)?;
            let wide = bytes.chunks_exact(to_usize(self.size)?).flat_map(|bytes| {
                let bits = match self.order {
                    Byteorder::Little => bytes.iter().rev().fold(0, |bits, byte| bits << 8 | u32::from(*byte)),
                    Byteorder::Big => bytes.iter().fold(0, |bits, byte| bits << 8 | u32::from(*byte)),
                };
                self.format.to_f32(bits).to_le_bytes()
            });
            // A range may begin within an element.
            now.iter_mut().zip(wide.skip(to_usize(at % 4)?)).for_each(|(to, from)| *to = from);
            (at, rest) = (range.end, later);
        }
        Ok(())
    }

    fn prefetch(&self, ranges: &[Range<u64>]) -> Result<()> {
        let below: Vec<Range<u64>> = ranges.iter().map(|range| self.stored_range(range)).collect();
        self.inner.prefetch(&below)
    }

    fn origin(&self) -> Option<SourceOrigin<'_>> {
        Some(SourceOrigin::Made(&*self.inner))
    }

    fn pieces(&self) -> Option<&dyn PieceDecoding> {
        Some(self)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop")]
mod tests {
    use super::*;

    fn value(name: &str, bits: u32) -> f32 {
        SmallFloat::from_name(name).unwrap().to_f32(bits)
    }

    #[test]
    fn bfloat16_matches_upper_half_of_f32() {
        for bits in 0..=u32::from(u16::MAX) {
            let (found, wanted) = (value("BF16", bits), f32::from_bits(bits << 16));
            assert!(found.to_bits() == wanted.to_bits() || found.is_nan() && wanted.is_nan(), "{bits:#x}");
        }
    }

    #[test]
    fn e5m2_matches_upper_half_of_f16() {
        for bits in 0..=255u16 {
            let (found, wanted) = (value("F8_E5M2", bits.into()), half::f16::from_bits(bits << 8).to_f32());
            assert!(found.to_bits() == wanted.to_bits() || found.is_nan() && wanted.is_nan(), "{bits:#x}");
        }
    }

    #[test]
    fn limits_of_other_formats_match_definitions() {
        for (name, bits, wanted) in [
            ("F8_E4M3", 0x7e, 448.0),
            ("F8_E4M3", 0x01, 2f32.powi(-9)),
            ("F8_E4M3", 0x08, 2f32.powi(-6)),
            ("F8_E4M3", 0xfe, -448.0),
            ("F8_E4M3FNUZ", 0x7f, 240.0),
            ("F8_E4M3FNUZ", 0x01, 2f32.powi(-10)),
            ("F8_E5M2FNUZ", 0x7f, 57344.0),
            ("F8_E5M2FNUZ", 0x01, 2f32.powi(-17)),
            ("F8_E8M0", 0x00, 2f32.powi(-127)),
            ("F8_E8M0", 0x7f, 1.0),
            ("F8_E8M0", 0xfe, 2f32.powi(127)),
        ] {
            assert_eq!(value(name, bits), wanted, "{name} {bits:#x}");
        }
        for (name, bits) in
            [("F8_E4M3", 0x7f), ("F8_E4M3", 0xff), ("F8_E4M3FNUZ", 0x80), ("F8_E5M2FNUZ", 0x80), ("F8_E8M0", 0xff)]
        {
            assert!(value(name, bits).is_nan(), "{name} {bits:#x}");
        }
        assert!(value("F8_E4M3", 0x80).is_sign_negative());
    }

    #[test]
    fn partial_reads_match_whole_in_both_byte_orders() {
        let numbers: Vec<u16> = (0..40_000u32).map(|n| (n * 7 % 30_000) as u16).collect();
        for order in [Byteorder::Little, Byteorder::Big] {
            let bytes: Vec<u8> =
                numbers.iter().flat_map(|n| if order == Byteorder::Big { n.to_be_bytes() } else { n.to_le_bytes() }).collect();
            let source = Arc::new(MemorySource::new(bytes, "x")) as SourceRef;
            let array = Array::new(source, 0, Datatype::Uint16, order, vec![200, 200]).unwrap();
            let wide = SmallFloat::from_name("BF16").unwrap().widen_array(&array).unwrap();
            let wanted: Vec<f32> = numbers.iter().map(|n| f32::from_bits(u32::from(*n) << 16)).collect();
            assert_eq!(wide.load::<f32>().unwrap(), wanted);
            let whole: Vec<u8> = wanted.iter().flat_map(|n| n.to_le_bytes()).collect();
            for (from, len) in [(0, 1), (3, 6), (5, 70_000), (65_535, 65_537), (159_999, 1)] {
                let mut part = vec![0; len];
                wide.source().read_at(from as u64, &mut part).unwrap();
                assert_eq!(part, whole[from..from + len]);
            }
            assert!(wide.source().read_at(159_999, &mut [0; 2]).is_err());
            let turned =
                Array::strided(array.source().clone(), 0, Datatype::Uint16, order, vec![200, 200], vec![2, 400]).unwrap();
            let turned = SmallFloat::from_name("BF16").unwrap().widen_array(&turned).unwrap();
            assert_eq!(turned.load::<f32>().unwrap()[1], wanted[200]);
        }
        let other = Array::from_slice(&[1.0f32], &[1]).unwrap();
        assert!(SmallFloat::from_name("BF16").unwrap().widen_array(&other).is_err());
    }
}
