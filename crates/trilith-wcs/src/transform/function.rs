//! Functions of one or two numbers by the names that numpy gives them.

use super::{Node, Transform};

type UnaryFn = fn(f64) -> f64;
type BinaryFn = fn(f64, f64) -> f64;

/// Functions of one number, by their names.
const UNARY_FUNCTIONS: &[(&str, UnaryFn)] = &[
    ("sin", f64::sin),
    ("cos", f64::cos),
    ("tan", f64::tan),
    ("arcsin", f64::asin),
    ("arccos", f64::acos),
    ("arctan", f64::atan),
    ("sinh", f64::sinh),
    ("cosh", f64::cosh),
    ("tanh", f64::tanh),
    ("arcsinh", f64::asinh),
    ("arccosh", f64::acosh),
    ("arctanh", f64::atanh),
    ("deg2rad", f64::to_radians),
    ("rad2deg", f64::to_degrees),
    ("negative", |x| -x),
    ("positive", |x| x),
    ("absolute", f64::abs),
    ("fabs", f64::abs),
    ("rint", f64::round_ties_even),
    ("exp", f64::exp),
    ("exp2", f64::exp2),
    ("log", f64::ln),
    ("log2", f64::log2),
    ("log10", f64::log10),
    ("expm1", f64::exp_m1),
    ("log1p", f64::ln_1p),
    ("sqrt", f64::sqrt),
    ("square", |x| x * x),
    ("cbrt", f64::cbrt),
    ("reciprocal", f64::recip),
];

/// Functions of two numbers, by their names.
const BINARY_FUNCTIONS: &[(&str, BinaryFn)] = &[
    ("arctan2", f64::atan2),
    ("hypot", f64::hypot),
    ("add", |x, y| x + y),
    ("subtract", |x, y| x - y),
    ("multiply", |x, y| x * y),
    ("true_divide", |x, y| x / y),
    ("divide", |x, y| x / y),
    ("power", f64::powf),
    ("fmod", |x, y| x % y),
    ("remainder", floored_remainder),
    ("mod", floored_remainder),
    ("floor_divide", floor_divide),
    ("logaddexp", |x, y| x.max(y) + (-(x - y).abs()).exp().ln_1p()),
    ("logaddexp2", |x, y| x.max(y) + (-(x - y).abs()).exp2().ln_1p() / std::f64::consts::LN_2),
];

/// Functions whose inverses are functions, too.
const INVERSE_PAIRS: &[(&str, &str)] = &[("sin", "arcsin"), ("tan", "arctan"), ("exp", "log"), ("deg2rad", "rad2deg")];

/// The rest of a division, with the sign of the divisor.
fn floored_remainder(x: f64, y: f64) -> f64 {
    let rest = x % y;
    if rest != 0.0 && (rest < 0.0) != (y < 0.0) { rest + y } else { rest }
}

/// The whole part of a quotient, which the remainder belongs to.
fn floor_divide(x: f64, y: f64) -> f64 {
    if y == 0.0 { x / y } else { ((x - floored_remainder(x, y)) / y).round_ties_even() }
}

/// A function, by its place in the tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Function {
    Unary(usize),
    Binary(usize),
}

impl Function {
    fn from_name(name: &str) -> Option<Self> {
        let one = UNARY_FUNCTIONS.iter().position(|known| known.0 == name).map(Self::Unary);
        one.or_else(|| BINARY_FUNCTIONS.iter().position(|known| known.0 == name).map(Self::Binary))
    }

    fn name(self) -> &'static str {
        match self {
            Self::Unary(at) => UNARY_FUNCTIONS.get(at).map_or("", |known| known.0),
            Self::Binary(at) => BINARY_FUNCTIONS.get(at).map_or("", |known| known.0),
        }
    }

    pub(super) fn unary(self) -> UnaryFn {
        match self {
            Self::Unary(at) => UNARY_FUNCTIONS.get(at).map_or(|_| f64::NAN, |known| known.1),
            Self::Binary(_) => |_| f64::NAN,
        }
    }

    pub(super) fn binary(self) -> BinaryFn {
        match self {
            Self::Binary(at) => BINARY_FUNCTIONS.get(at).map_or(|_, _| f64::NAN, |known| known.1),
            Self::Unary(_) => |_, _| f64::NAN,
        }
    }

    pub(super) fn inverse(self) -> Option<Transform> {
        let name = self.name();
        let back = INVERSE_PAIRS.iter().find_map(|(a, b)| match name {
            name if name == *a => Some(*b),
            name if name == *b => Some(*a),
            _ => None,
        });
        Transform::function(back?)
    }
}

impl Transform {
    /// Returns a function of one or two numbers by its name in numpy, as `arctan2`. `None` if there is no such function.
    ///
    /// ```
    /// use trilith_wcs::Transform;
    ///
    /// let length = Transform::function("hypot").expect("it is known");
    /// assert_eq!(length.evaluate_point(&[3.0, 4.0])?, [5.0]);
    /// assert!(Transform::function("gamma").is_none());
    /// # Ok::<(), trilith_wcs::Error>(())
    /// ```
    pub fn function(name: &str) -> Option<Self> {
        let function = Function::from_name(name)?;
        let inputs = if matches!(function, Function::Unary(_)) { 1 } else { 2 };
        Some(Self::new(Node::Function(function), inputs, 1))
    }
}
