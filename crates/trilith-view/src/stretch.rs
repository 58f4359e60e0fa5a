//! The scale of the numbers between the two ends of an interval: [`IntensityStretch`].

use std::fmt;
use std::str::FromStr;

use trilith::{Error, Result};

/// A function from 0..=1 onto 0..=1 that never falls.
///
/// ```
/// use trilith_view::IntensityStretch;
/// let stretch: IntensityStretch = "sqrt".parse()?;
/// assert_eq!(stretch.apply(0.25), 0.5);
/// assert_eq!("power:2".parse::<IntensityStretch>()?.apply(0.5), 0.25);
/// # Ok::<(), trilith::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum IntensityStretch {
    /// Linear.
    #[default]
    Linear,
    /// The square root.
    Sqrt,
    /// log(1000 x + 1) / log(1001): differences of what is faint.
    Log,
    /// asinh(10 x) / asinh(10): linear if it is faint, logarithmic if it is bright.
    Asinh,
    /// x to this power, which is greater than 0.
    Power(f64),
}

/// The factor in [`IntensityStretch::Log`].
const LOG_FACTOR: f64 = 1000.0;
/// The factor in [`IntensityStretch::Asinh`].
const ASINH_FACTOR: f64 = 10.0;

impl IntensityStretch {
    /// The names, as [`str::parse`] takes them; `power` may have an exponent after it: `power:0.5`.
    pub const NAMES: [&'static str; 5] = ["linear", "sqrt", "log", "asinh", "power"];

    /// The function at `x`, which is brought into 0..=1 first.
    pub fn apply(self, x: f64) -> f64 {
        let x = x.clamp(0.0, 1.0);
        match self {
            Self::Linear => x,
            Self::Sqrt => x.sqrt(),
            Self::Log => (LOG_FACTOR * x).ln_1p() / LOG_FACTOR.ln_1p(),
            Self::Asinh => (ASINH_FACTOR * x).asinh() / ASINH_FACTOR.asinh(),
            Self::Power(exponent) => x.powf(exponent),
        }
    }
}

impl FromStr for IntensityStretch {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Ok(match text {
            "linear" => Self::Linear,
            "sqrt" => Self::Sqrt,
            "log" => Self::Log,
            "asinh" => Self::Asinh,
            "power" => Self::Power(2.0),
            _ => {
                let exponent = text.strip_prefix("power:").and_then(|number| number.parse().ok());
                let exponent = exponent.filter(|n: &f64| *n > 0.0 && n.is_finite()).ok_or_else(|| {
                    Error::invalid_input(format!("{text:?} is not a stretch"))
                        .hint(format!("one of {}, power:2", Self::NAMES.join(", ")))
                })?;
                Self::Power(exponent)
            }
        })
    }
}

impl fmt::Display for IntensityStretch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Linear => f.write_str("linear"),
            Self::Sqrt => f.write_str("sqrt"),
            Self::Log => f.write_str("log"),
            Self::Asinh => f.write_str("asinh"),
            Self::Power(exponent) => write!(f, "power:{exponent}"),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test")]

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_are_read_and_written() {
        for name in IntensityStretch::NAMES {
            let stretch: IntensityStretch = name.parse().unwrap();
            assert_eq!(stretch.to_string().parse::<IntensityStretch>().unwrap(), stretch);
            assert!((stretch.apply(0.0)).abs() < 1e-15 && (stretch.apply(1.0) - 1.0).abs() < 1e-15, "{name}");
        }
        for wrong in ["", "cubic", "power:", "power:0", "power:-1", "power:nan", "power:inf"] {
            assert!(wrong.parse::<IntensityStretch>().is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn none_falls_or_leaves_its_range(a in -0.5f64..1.5, b in -0.5f64..1.5, exponent in 0.1f64..5.0) {
            let stretches = [IntensityStretch::Linear, IntensityStretch::Sqrt, IntensityStretch::Log, IntensityStretch::Asinh, IntensityStretch::Power(exponent)];
            for stretch in stretches {
                let (low, high) = (stretch.apply(a.min(b)), stretch.apply(a.max(b)));
                prop_assert!((0.0..=1.0).contains(&low) && low <= high && high <= 1.0);
            }
        }
    }
}
