//! The ends of the colours: [`IntervalMethod`], and the [`Limits`] that it gives for an array.

mod zscale;

use std::fmt;
use std::str::FromStr;

use trilith::{Array, Error, Result};

use crate::image::ValueRaster;
use crate::statistics::{Statistics, StatisticsOptions};

/// A way of choosing the two ends.
///
/// ```
/// use trilith_view::{Limits, IntervalMethod};
/// let array = trilith::Array::from_slice(&[1f32, 2.0, 4.0, f32::NAN], &[2, 2])?;
/// assert_eq!(IntervalMethod::MinMax.limits(&array)?, Limits { low: 1.0, high: 4.0 });
/// assert_eq!("percentile:99".parse::<IntervalMethod>()?, IntervalMethod::Percentile(0.5, 99.5));
/// # Ok::<(), trilith::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum IntervalMethod {
    /// The smallest and the greatest finite number.
    MinMax,
    /// Two percentiles of the finite numbers, the lower first.
    Percentile(f64, f64),
    /// The ends of a line through about 1,000 samples in order of size, without those far off: IRAF's zscale, as
    /// astropy's `ZScaleInterval` finds it.
    #[default]
    ZScale,
    /// Fixed numbers, whatever the array holds.
    Fixed(Limits),
}

/// The numbers at the two ends of the colours.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// Numbers up to this have the first colour.
    pub low: f64,
    /// Numbers from this on have the last colour.
    pub high: f64,
}

impl IntervalMethod {
    /// The names, as [`str::parse`] takes them; `percentile` is followed by the percentage between the ends, or
    /// both percentiles: `percentile:99`, `percentile:1,99.5`.
    pub const NAMES: [&'static str; 3] = ["minmax", "zscale", "percentile"];

    /// The ends for all of an array; 0 and 1 if none of its numbers is finite. All of it is read.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidInput`](trilith::ErrorKind::InvalidInput) if the elements are not numbers, and an error if
    /// they cannot be read.
    pub fn limits(&self, array: &Array) -> Result<Limits> {
        let found = match *self {
            Self::Fixed(cuts) => return Ok(cuts),
            Self::ZScale => zscale::zscale_limits(array)?,
            Self::MinMax => {
                let found = Statistics::compute(array, &StatisticsOptions::none())?;
                found.min.zip(found.max).map(|(low, high)| Limits { low: low.as_f64(), high: high.as_f64() })
            }
            Self::Percentile(low, high) => {
                let found = Statistics::compute(array, &StatisticsOptions::percentiles(&[low, high]))?;
                found.percentile(low).zip(found.percentile(high)).map(|(low, high)| Limits { low, high })
            }
        };
        Ok(found.unwrap_or(Limits { low: 0.0, high: 1.0 }))
    }

    /// The ends for what a raster shows: quick if the array is large, and a little different, since its pixels are
    /// means of several elements or a part of them.
    ///
    /// # Errors
    /// Returns the errors of [`IntervalMethod::limits`].
    pub fn limits_of_raster(&self, raster: &ValueRaster) -> Result<Limits> {
        self.limits(&raster.as_array()?)
    }
}

impl Limits {
    /// Returns the position of a number between the ends: 0 at and below the lower, 1 at and above the upper.
    pub fn normalize(&self, x: f64) -> f64 {
        if x <= self.low {
            0.0
        } else if x >= self.high {
            1.0
        } else {
            (x - self.low) / (self.high - self.low)
        }
    }
}

impl FromStr for IntervalMethod {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let wrong = || {
            Error::invalid_input(format!("{text:?} is not an interval"))
                .hint("minmax, zscale, percentile:99 or percentile:1,99.5; for two numbers --range")
        };
        let inside = |text: &str| text.trim().parse().ok().filter(|n: &f64| (0.0..=100.0).contains(n)).ok_or_else(wrong);
        match (text, text.strip_prefix("percentile:")) {
            ("minmax", _) => Ok(Self::MinMax),
            ("zscale", _) => Ok(Self::ZScale),
            ("percentile", _) => Ok(Self::Percentile(0.5, 99.5)),
            (_, Some(percent)) => match percent.split_once(',') {
                Some((low, high)) => {
                    let (low, high) = (inside(low)?, inside(high)?);
                    if low < high { Ok(Self::Percentile(low, high)) } else { Err(wrong()) }
                }
                None => {
                    let outside = (100.0 - inside(percent)?) / 2.0;
                    Ok(Self::Percentile(outside, 100.0 - outside))
                }
            },
            _ => Err(wrong()),
        }
    }
}

impl FromStr for Limits {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let wrong = || {
            Error::invalid_input(format!("{text:?} is not a range"))
                .hint("two numbers, the lower first, with a comma between: 0,1000")
        };
        let number = |text: &str| text.trim().parse().ok().filter(|n: &f64| n.is_finite()).ok_or_else(wrong);
        let (low, high) = text.split_once(',').ok_or_else(wrong)?;
        let cuts = Self { low: number(low)?, high: number(high)? };
        if cuts.low < cuts.high { Ok(cuts) } else { Err(wrong()) }
    }
}

impl fmt::Display for IntervalMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MinMax => f.write_str("minmax"),
            Self::ZScale => f.write_str("zscale"),
            Self::Percentile(low, high) => write!(f, "percentile:{low},{high}"),
            Self::Fixed(cuts) => write!(f, "{},{}", cuts.low, cuts.high),
        }
    }
}
