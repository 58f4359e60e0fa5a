//! Transforms: functions of several numbers, evaluated for many points at once.

mod coordinate_table;
mod distortion_table;
mod function;
mod ravel;
mod selector;
mod separability;
mod split_inverse;

use std::sync::Arc;

pub(crate) use self::coordinate_table::CoordinateTable;
use self::distortion_table::evaluate_tables;
pub(crate) use self::distortion_table::{DistortionTable, GridAxis};
use self::function::Function;
use self::ravel::ArrayIndexing;
pub use self::selector::SelectorKey;
use self::selector::{LabelArray, Selector};
pub(crate) use self::split_inverse::SplitInverse;
use crate::polynomial::Polynomial;
use crate::projection::{Projection, gnomonic_plane, gnomonic_vector, wrap_180};
use crate::rotation::{RotationMatrix, transposed};
use crate::tabular::{Tabular1D, Tabular2D};
use crate::{Error, Result, WcsLimits};

/// Points that are evaluated together: all columns of them fit the fastest cache.
const BATCH_SIZE: usize = 256;

/// A function of some inputs with some outputs.
///
/// ```
/// use trilith_wcs::Transform;
///
/// let transform = Transform::chain(vec![Transform::shift(-1.0), Transform::scale(0.5)])?;
/// assert_eq!(transform.evaluate_point(&[3.0])?, [1.0]);
/// let back = transform.inverse().expect("both have an inverse");
/// assert_eq!(back.evaluate_point(&[1.0])?, [3.0]);
/// # Ok::<(), trilith_wcs::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Transform {
    node: Node,
    inputs: usize,
    outputs: usize,
}

/// Operation between the outputs of two transforms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ArithmeticOperation {
    /// Sum.
    Add,
    /// Difference.
    Subtract,
    /// Product.
    Multiply,
    /// Quotient.
    Divide,
    /// The left to the power of the right.
    Power,
}

/// The accuracy of an inverse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Accuracy {
    /// Enough for an inverse to hand out.
    Full,
    /// Enough to start an iteration.
    Approximate,
}

/// The longitudes that a projection takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NativeLongitudes {
    /// Numbers that are projected unchanged: most projections draw a longitude of 200 degrees to the right of 180 degrees.
    Verbatim,
    /// Directions on the sphere, so that whole turns do not count. An inverse takes these, because the transform after the projection
    /// may count longitudes from 0 to 360 degrees, but the projection is from -180 to 180 degrees.
    Directions,
}

impl NativeLongitudes {
    /// Returns the longitude that is projected.
    fn convert_longitude(self, phi: f64) -> f64 {
        if self == Self::Verbatim { phi } else { wrap_180(phi) }
    }
}

/// The parts of a transform that projects a plane onto the sky.
pub(crate) struct SkyProjection {
    /// The transform to the plane; `None` if the inputs are in the plane.
    pub(crate) to_plane: Option<Transform>,
    /// The projection of the plane.
    pub(crate) projection: Projection,
    /// The rotation from native to celestial directions.
    pub(crate) rotation: RotationMatrix,
}

#[derive(Debug, Clone, PartialEq)]
enum Node {
    Identity,
    Chain(Vec<Transform>),
    Parallel(Vec<Transform>),
    Mapping(Vec<usize>),
    Linear {
        slope: f64,
        intercept: f64,
    },
    /// Backwards, so that a quotient is rounded once.
    Divide(f64),
    /// Row by row, and what is added to each row.
    Matrix {
        matrix: Vec<f64>,
        offset: Vec<f64>,
    },
    Constant(f64),
    Polynomial(Polynomial),
    Rotation(RotationMatrix),
    ToCartesian {
        half: bool,
    },
    ToSpherical {
        half: bool,
    },
    ToSphere(Projection),
    ToPlane {
        projection: Projection,
        longitudes: NativeLongitudes,
    },
    Arithmetic {
        operation: ArithmeticOperation,
        left: Box<Transform>,
        right: Box<Transform>,
    },
    Table(Tabular1D),
    Table2(Tabular2D),
    FixedInputs {
        transform: Box<Transform>,
        values: Vec<(usize, f64)>,
    },
    /// With an inverse that was given, which may have other inputs and outputs than those of the transform, as in astropy: it is
    /// then part of the inverse of a chain.
    WithInverse {
        forward: Box<Transform>,
        inverse: Box<Transform>,
        accuracy: Accuracy,
    },
    /// A transform whose given inverse is not evaluated, with the reason.
    OneWay {
        forward: Box<Transform>,
        reason: String,
    },
    /// One transform for each element of an array. The last inputs, rounded, are the indices of the element.
    PerElement {
        shape: Vec<usize>,
        cases: Vec<Transform>,
    },
    /// A chain of a remapping and two parallel transforms that share inputs, but inverted from the right.
    Coupled {
        forward: Box<Transform>,
        inverse: Option<Box<Transform>>,
    },
    /// Terms of TPV for both axes.
    Tpv(Box<[[f64; 40]; 2]>),
    Function(Function),
    /// Indices to the number of an element.
    Ravel(ArrayIndexing),
    /// The number of an element to indices.
    Unravel(ArrayIndexing),
    LabelArray(LabelArray),
    Selector(Box<Selector>),
    /// Tables of values that are added to the first two pixel axes.
    Distortion(Box<[Option<DistortionTable>; 2]>),
    Coordinates(Arc<CoordinateTable>),
    /// The place of coordinates in a table.
    CoordinateSearch(Arc<CoordinateTable>),
}

impl Transform {
    fn new(node: Node, inputs: usize, outputs: usize) -> Self {
        Self { node, inputs, outputs }
    }

    /// Number of inputs.
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    /// Number of outputs.
    pub fn outputs(&self) -> usize {
        self.outputs
    }

    /// Returns the transform that changes nothing.
    pub fn identity(count: usize) -> Self {
        Self::new(Node::Identity, count, count)
    }

    /// Returns one transform after the other; none of them is [`Error::Invalid`].
    ///
    /// # Errors
    /// Returns [`Error::Invalid`] if one has not as many inputs as its predecessor has outputs.
    pub fn chain(parts: Vec<Self>) -> Result<Self> {
        let mut flat: Vec<Self> = Vec::with_capacity(parts.len());
        for part in parts {
            match part {
                Self { node: Node::Chain(inner), .. } => flat.extend(inner),
                Self { node: Node::Identity, inputs, .. } if flat.last().is_some_and(|last| last.outputs == inputs) => {}
                part => flat.push(part),
            }
        }
        if let Some([left, right]) = flat.windows(2).find(|pair| matches!(pair, [left, right] if left.outputs != right.inputs)) {
            return Err(Error::Invalid(format!("{} outputs are followed by {} inputs", left.outputs, right.inputs)));
        }
        if matches!(&flat[..], [Self { node: Node::Identity, .. }, _, ..]) {
            flat.remove(0);
        }
        let (Some(first), Some(last)) = (flat.first(), flat.last()) else {
            return Err(Error::Invalid("a chain of no transforms".to_owned()));
        };
        let (inputs, outputs) = (first.inputs, last.outputs);
        if flat.len() == 1 {
            return flat.pop().ok_or_else(|| Error::Invalid("a chain of no transforms".to_owned()));
        }
        Ok(Self::new(Node::Chain(flat), inputs, outputs))
    }

    /// Returns transforms side by side, each with its own inputs and outputs.
    pub fn parallel(parts: Vec<Self>) -> Self {
        let mut flat: Vec<Self> = Vec::with_capacity(parts.len());
        for part in parts {
            match part {
                Self { node: Node::Parallel(inner), .. } => flat.extend(inner),
                part => flat.push(part),
            }
        }
        let inputs = flat.iter().map(|part| part.inputs).sum();
        let outputs = flat.iter().map(|part| part.outputs).sum();
        Self::new(Node::Parallel(flat), inputs, outputs)
    }

    /// Returns the transform whose output `k` is the input `mapping[k]`.
    ///
    /// # Errors
    /// Returns [`Error::Invalid`] if there is no such input.
    pub fn remap(mapping: Vec<usize>, inputs: usize) -> Result<Self> {
        if let Some(input) = mapping.iter().find(|input| **input >= inputs) {
            return Err(Error::Invalid(format!("axis {input} of {inputs}")));
        }
        let outputs = mapping.len();
        Ok(Self::new(Node::Mapping(mapping), inputs, outputs))
    }

    /// Returns `x + offset`.
    pub fn shift(offset: f64) -> Self {
        Self::linear(1.0, offset)
    }

    /// Returns `x * factor`.
    pub fn scale(factor: f64) -> Self {
        Self::linear(factor, 0.0)
    }

    /// Returns `x * slope + intercept`.
    pub fn linear(slope: f64, intercept: f64) -> Self {
        Self::new(Node::Linear { slope, intercept }, 1, 1)
    }

    /// Returns the product with a matrix, given row by row, plus an offset for each row.
    ///
    /// # Errors
    /// Returns [`Error::Invalid`] if the matrix has not whole rows.
    pub fn matrix(matrix: Vec<f64>, offset: Vec<f64>) -> Result<Self> {
        let outputs = offset.len();
        if outputs == 0 || matrix.is_empty() || !matrix.len().is_multiple_of(outputs) {
            return Err(Error::Invalid(format!("a matrix of {} numbers in {outputs} rows", matrix.len())));
        }
        let inputs = matrix.len() / outputs;
        Ok(Self::new(Node::Matrix { matrix, offset }, inputs, outputs))
    }

    /// Returns the transform with one value, whatever its inputs are.
    pub fn constant(value: f64, inputs: usize) -> Self {
        Self::new(Node::Constant(value), inputs, 1)
    }

    /// Returns the value of a polynomial.
    pub fn polynomial(polynomial: Polynomial) -> Self {
        let inputs = polynomial.input_count();
        Self::new(Node::Polynomial(polynomial), inputs, 1)
    }

    /// Returns a rotation of vectors: three inputs, three outputs.
    pub fn rotation(matrix: RotationMatrix) -> Self {
        Self::new(Node::Rotation(matrix), 3, 3)
    }

    /// Returns the way from longitude and latitude in degrees to a unit vector. Its inverse has longitudes from -180 to 180
    /// degrees if `half` is set, else from 0 to 360 degrees.
    pub fn to_cartesian(half: bool) -> Self {
        Self::new(Node::ToCartesian { half }, 2, 3)
    }

    /// Returns the way from a vector to longitude and latitude in degrees, see [`Transform::to_cartesian`].
    pub fn to_spherical(half: bool) -> Self {
        Self::new(Node::ToSpherical { half }, 3, 2)
    }

    /// Returns a rotation of the sphere: longitude and latitude to longitude and latitude, in degrees.
    ///
    /// Longitudes are from -180 to 180 degrees if `half` is set, of what the inverse gives and of the outputs, else from 0 to 360.
    pub fn rotate_sphere(matrix: RotationMatrix, half: [bool; 2]) -> Self {
        let parts = vec![Self::to_cartesian(half[0]), Self::rotation(matrix), Self::to_spherical(half[1])];
        Self::new(Node::Chain(parts), 2, 2)
    }

    /// Returns the way from the plane of a projection to native longitude and latitude.
    pub fn to_sphere(projection: Projection) -> Self {
        Self::new(Node::ToSphere(projection), 2, 2)
    }

    /// Returns the way from native longitude and latitude to the plane of a projection.
    pub fn to_plane(projection: Projection) -> Self {
        Self::new(Node::ToPlane { projection, longitudes: NativeLongitudes::Verbatim }, 2, 2)
    }

    /// Returns an operation between the outputs of two transforms of the same inputs.
    ///
    /// # Errors
    /// Returns [`Error::Invalid`] if they differ in the number of inputs or outputs.
    pub fn arithmetic(operation: ArithmeticOperation, left: Self, right: Self) -> Result<Self> {
        if (left.inputs, left.outputs) != (right.inputs, right.outputs) {
            return Err(Error::Invalid(format!(
                "{operation:?} of transforms with {} and {} inputs, {} and {} outputs",
                left.inputs, right.inputs, left.outputs, right.outputs
            )));
        }
        let (inputs, outputs) = (left.inputs, left.outputs);
        Ok(Self::new(Node::Arithmetic { operation, left: Box::new(left), right: Box::new(right) }, inputs, outputs))
    }

    /// Returns the value of a table.
    pub fn table(table: Tabular1D) -> Self {
        Self::new(Node::Table(table), 1, 1)
    }

    /// Returns the value of a table of two axes.
    pub fn table2(table: Tabular2D) -> Self {
        Self::new(Node::Table2(table), 2, 1)
    }

    /// Returns a transform some inputs of which have fixed values.
    ///
    /// # Errors
    /// Returns [`Error::Invalid`] if there is no such input, or if it is fixed twice.
    pub fn fix_inputs(transform: Self, mut values: Vec<(usize, f64)>) -> Result<Self> {
        values.sort_by_key(|(input, _)| *input);
        let is_twice = values.windows(2).any(|pair| matches!(pair, [a, b] if a.0 == b.0));
        if is_twice || values.last().is_some_and(|(input, _)| *input >= transform.inputs) {
            return Err(Error::Invalid("an input that is not there, or is fixed twice".to_owned()));
        }
        let (inputs, outputs) = (transform.inputs - values.len(), transform.outputs);
        Ok(Self::new(Node::FixedInputs { transform: Box::new(transform), values }, inputs, outputs))
    }

    /// Returns a transform whose inverse is given.
    ///
    /// An inverse with other inputs and outputs than the transform has as outputs and inputs counts only as a part of a chain whose
    /// inverses fit each other.
    #[must_use]
    pub fn with_inverse(self, inverse: Self) -> Self {
        self.with_given_inverse(inverse, Accuracy::Full)
    }

    /// Returns a transform whose inverse is given, but is not evaluated. [`Transform::inverse`] says the reason.
    #[must_use]
    pub fn without_inverse(self, reason: impl Into<String>) -> Self {
        let (inputs, outputs) = (self.inputs, self.outputs);
        Self::new(Node::OneWay { forward: Box::new(self), reason: reason.into() }, inputs, outputs)
    }

    fn with_given_inverse(self, inverse: Self, accuracy: Accuracy) -> Self {
        let (inputs, outputs) = (self.inputs, self.outputs);
        Self::new(Node::WithInverse { forward: Box::new(self), inverse: Box::new(inverse), accuracy }, inputs, outputs)
    }

    /// Returns a transform with as many outputs as inputs that changes little, so that an iteration may start from its outputs.
    pub(crate) fn nearly_identity(self) -> Self {
        let count = self.inputs;
        self.with_given_inverse(Self::identity(count), Accuracy::Approximate)
    }

    /// Returns one of many transforms for each point: the last inputs are indices into an array of the shape, rounded to the
    /// nearest. Points outside of the array have no values.
    ///
    /// # Errors
    /// Returns [`Error::Invalid`] if there are not as many transforms as elements, or if they differ in inputs or outputs.
    pub fn per_element(shape: Vec<usize>, cases: Vec<Self>) -> Result<Self> {
        let count = shape.iter().try_fold(1usize, |count, length| count.checked_mul(*length));
        let Some(first) = cases.first().filter(|_| count == Some(cases.len())) else {
            return Err(Error::Invalid(format!("{} transforms for an array of {shape:?}", cases.len())));
        };
        let (inputs, outputs) = (first.inputs, first.outputs);
        if cases.iter().any(|case| (case.inputs, case.outputs) != (inputs, outputs)) {
            return Err(Error::Invalid("transforms that differ in inputs or outputs".to_owned()));
        }
        let count = inputs + shape.len();
        Ok(Self::new(Node::PerElement { shape, cases }, count, outputs))
    }

    /// Returns two transforms side by side, the last `shared` inputs of the left being the first of the right.
    ///
    /// # Errors
    /// Returns [`Error::Invalid`] if one has fewer inputs than they share.
    pub fn coupled(left: Self, right: Self, shared: usize) -> Result<Self> {
        if shared > left.inputs.min(right.inputs) {
            return Err(Error::Invalid(format!("{shared} shared inputs of {} and {}", left.inputs, right.inputs)));
        }
        let count = left.inputs + right.inputs - shared;
        let mapping = (0..left.inputs).chain(left.inputs - shared..count).collect();
        let inverse = Self::inverse_of_coupled(&left, &right, shared).ok().map(Box::new);
        let forward = Self::chain(vec![Self::remap(mapping, count)?, Self::parallel(vec![left, right])])?;
        let outputs = forward.outputs;
        Ok(Self::new(Node::Coupled { forward: Box::new(forward), inverse }, count, outputs))
    }

    /// The inverse of a coupled transform: the right one gives the indices with which the left one is inverted.
    fn inverse_of_coupled(left: &Self, right: &Self, shared: usize) -> Result<Self> {
        let back = left.invert_with_indices(shared)?;
        let right = right.invert(Accuracy::Full)?;
        let (world, pixels) = (left.outputs, right.outputs);
        let mapping = (0..world + shared).chain(world..world + pixels).collect();
        Self::chain(vec![
            Self::parallel(vec![Self::identity(world), right]),
            Self::remap(mapping, world + pixels)?,
            Self::parallel(vec![back, Self::identity(pixels)]),
        ])
    }

    /// The inverse of a transform that ends with one for each element, if the indices of the element are known.
    fn invert_with_indices(&self, count: usize) -> Result<Self> {
        if let Node::Chain(parts) = &self.node
            && let [before @ .., last] = &parts[..]
        {
            let back = before.iter().rev().map(|part| part.invert(Accuracy::Full));
            return Self::chain(std::iter::once(last.invert_with_indices(count)).chain(back).collect::<Result<_>>()?);
        }
        match &self.node {
            Node::PerElement { shape, cases } if shape.len() == count => {
                Self::per_element(shape.clone(), cases.iter().map(Self::inverse).collect::<Result<_>>()?)
            }
            _ => Err(Error::Unsupported("no inverse: transforms that share inputs".to_owned())),
        }
    }

    /// Returns the distortion of TPV: for each axis the coefficients `PVi_0` to `PVi_39`.
    pub(crate) fn from_tpv_terms(terms: [[f64; 40]; 2]) -> Self {
        Self::new(Node::Tpv(Box::new(terms)), 2, 2).nearly_identity()
    }

    /// Returns the parts of a transform that projects a plane onto the sky. `None` if it does not end so.
    pub(crate) fn split_projection(&self) -> Option<SkyProjection> {
        let Node::Chain(parts) = &self.node else { return None };
        let (before, last) = parts.split_at_checked(parts.len().checked_sub(4)?)?;
        let [
            Self { node: Node::ToSphere(projection), .. },
            Self { node: Node::ToCartesian { .. }, .. },
            Self { node: Node::Rotation(matrix), .. },
            Self { node: Node::ToSpherical { .. }, .. },
        ] = last
        else {
            return None;
        };
        let to_plane = if before.is_empty() { None } else { Some(Self::chain(before.to_vec()).ok()?) };
        Some(SkyProjection { to_plane, projection: *projection, rotation: *matrix })
    }

    /// Returns the inverse: the one that was given, else the analytic one; of a chain part by part.
    ///
    /// # Errors
    /// Returns [`Error::Unsupported`] that names the part that has none.
    pub fn inverse(&self) -> Result<Self> {
        self.ensure_inverse_fits(self.invert(Accuracy::Full)?)
    }

    /// An inverse, if it has the inputs and outputs of one.
    fn ensure_inverse_fits(&self, inverse: Self) -> Result<Self> {
        if (self.inputs, self.outputs) == (inverse.outputs, inverse.inputs) {
            return Ok(inverse);
        }
        Err(Error::Unsupported(format!(
            "no inverse: the one that is given has {} inputs and {} outputs (expected {} and {})",
            inverse.inputs, inverse.outputs, self.outputs, self.inputs
        )))
    }

    /// Does the same as [`Transform::inverse`], but accepts an inverse that is only near enough to start an
    /// iteration.
    pub(crate) fn approximate_inverse(&self) -> Result<Self> {
        self.ensure_inverse_fits(self.invert(Accuracy::Approximate)?)
    }

    /// An inverse that has at least an accuracy.
    fn invert(&self, least: Accuracy) -> Result<Self> {
        let none = |what: &str| Err(Error::Unsupported(format!("no inverse: {what}")));
        let back = |part: &Self| part.invert(least);
        Ok(match &self.node {
            Node::Identity => self.clone(),
            Node::Chain(parts) => Self::chain(parts.iter().rev().map(back).collect::<Result<_>>()?)
                .map_err(|error| Error::Unsupported(format!("no inverse: the inverses of a chain do not fit: {error}")))?,
            Node::Parallel(parts) => Self::parallel(parts.iter().map(back).collect::<Result<_>>()?),
            Node::Mapping(mapping) => {
                let place = |input: usize| mapping.iter().position(|from| *from == input);
                match (0..self.inputs).map(place).collect::<Option<Vec<_>>>() {
                    Some(back) => Self::remap(back, self.outputs)?,
                    None => return none("an axis is dropped"),
                }
            }
            Node::Linear { slope, .. } if *slope == 0.0 || !slope.is_finite() => return none("a factor is zero"),
            Node::Linear { slope, intercept } if *slope == 1.0 => Self::shift(-intercept),
            Node::Linear { slope, intercept } if *intercept == 0.0 => Self::new(Node::Divide(*slope), 1, 1),
            Node::Linear { slope, intercept } => {
                Self::chain(vec![Self::shift(-intercept), Self::new(Node::Divide(*slope), 1, 1)])?
            }
            Node::Divide(factor) => Self::scale(*factor),
            Node::Matrix { matrix, offset } => match invert_affine(matrix, offset) {
                Some((matrix, offset)) => Self::matrix(matrix, offset)?,
                None => return none("a matrix is singular"),
            },
            Node::Rotation(matrix) => Self::rotation(transposed(matrix)),
            Node::ToCartesian { half } => Self::to_spherical(*half),
            Node::ToSpherical { half } => Self::to_cartesian(*half),
            Node::ToSphere(projection) => {
                Self::new(Node::ToPlane { projection: *projection, longitudes: NativeLongitudes::Directions }, 2, 2)
            }
            Node::ToPlane { projection, .. } => Self::to_sphere(*projection),
            Node::Table(table) => match table.inverse() {
                Some(table) => Self::table(table),
                None => return none("a table is not monotonic"),
            },
            Node::WithInverse { inverse, accuracy, .. } if *accuracy == Accuracy::Full || least == Accuracy::Approximate => {
                (**inverse).clone()
            }
            Node::WithInverse { .. } => return none("a distortion without a given inverse"),
            Node::OneWay { forward, .. } if least == Accuracy::Approximate => forward.invert(least)?,
            Node::OneWay { reason, .. } => return none(reason),
            Node::Coupled { inverse: Some(inverse), .. } => (**inverse).clone(),
            Node::Function(function) => match function.inverse() {
                Some(inverse) => inverse,
                None => return none("a function without one"),
            },
            Node::Ravel(elements) => Self::new(Node::Unravel(elements.clone()), 1, elements.axis_rank()),
            Node::Unravel(elements) => Self::new(Node::Ravel(elements.clone()), elements.axis_rank(), 1),
            Node::Constant(_) => return none("a constant"),
            Node::Polynomial(_) => return none("a polynomial"),
            Node::Arithmetic { .. } => return none("arithmetic between transforms"),
            Node::Table2(_) => return none("a table of two axes"),
            Node::FixedInputs { .. } => return none("fixed inputs"),
            Node::PerElement { .. } => return none("a transform that varies"),
            Node::Coupled { .. } => return none("transforms that share inputs"),
            Node::Tpv(_) => return none("a distortion without a given inverse"),
            Node::LabelArray(_) => return none("labels of pixels"),
            Node::Distortion(_) => return none("the values of a distortion"),
            Node::Coordinates(_) | Node::CoordinateSearch(_) => return none("a table of coordinates"),
            Node::Selector(selector) => {
                let cases = selector.cases.iter().map(|(key, case)| Ok((*key, case.invert(least)?)));
                Self::selector(selector.key.invert(least)?, cases.collect::<Result<_>>()?, selector.fallback)
                    .map_err(|error| Error::Unsupported(format!("no inverse: {error}")))?
            }
        })
    }

    /// Returns the outputs at one point.
    ///
    /// # Errors
    /// Returns the errors of [`Transform::evaluate`].
    pub fn evaluate_point(&self, point: &[f64]) -> Result<Vec<f64>> {
        let columns: Vec<&[f64]> = point.iter().map(std::slice::from_ref).collect();
        Ok(self.evaluate(&columns)?.into_iter().filter_map(|column| column.first().copied()).collect())
    }

    /// Returns the outputs at many points: a slice for each input, a vector for each output. A point without a value is NaN.
    ///
    /// # Errors
    /// Returns [`Error::Invalid`] if there are more slices than inputs or fewer, or if they differ in length.
    pub fn evaluate(&self, inputs: &[&[f64]]) -> Result<Vec<Vec<f64>>> {
        let count = inputs.first().map_or(0, |column| column.len());
        if inputs.len() != self.inputs || inputs.iter().any(|column| column.len() != count) {
            let lengths: Vec<usize> = inputs.iter().map(|column| column.len()).collect();
            return Err(Error::Invalid(format!("columns of {lengths:?} points for {} inputs", self.inputs)));
        }
        let mut stack = ColumnStack::default();
        let mut outputs: Vec<Vec<f64>> = (0..self.outputs).map(|_| Vec::with_capacity(count)).collect();
        let mut start = 0;
        while start < count {
            let end = count.min(start + BATCH_SIZE);
            for column in inputs {
                stack.push(column.get(start..end).unwrap_or(&[]));
            }
            self.run(&mut stack, 0, end - start);
            for (output, column) in outputs.iter_mut().zip(&stack.columns) {
                output.extend_from_slice(column);
            }
            stack.truncate(0);
            start = end;
        }
        Ok(outputs)
    }

    /// Replaces the columns of the inputs, from `at` on, by the outputs.
    fn run(&self, stack: &mut ColumnStack, at: usize, count: usize) {
        match &self.node {
            Node::Identity => {}
            Node::Chain(parts) => {
                let mut rest = &parts[..];
                while let [first, after @ ..] = rest {
                    rest = after;
                    // The gnomonic projection of a vector needs no trigonometry.
                    match (&first.node, after) {
                        (Node::ToSphere(projection), [Self { node: Node::ToCartesian { .. }, .. }, after @ ..])
                            if projection.is_gnomonic() =>
                        {
                            stack.map_points(at, |[x, y]: [f64; 2]| gnomonic_vector(x, y));
                            rest = after;
                        }
                        (Node::ToSpherical { .. }, [Self { node: Node::ToPlane { projection, .. }, .. }, after @ ..])
                            if projection.is_gnomonic() =>
                        {
                            stack.map_points(at, gnomonic_plane);
                            rest = after;
                        }
                        _ => first.run(stack, at, count),
                    }
                }
            }
            Node::Parallel(parts) => {
                let mut end = at + self.inputs;
                for part in parts.iter().rev() {
                    end -= part.inputs;
                    part.run(stack, end, count);
                }
            }
            Node::Mapping(mapping) => stack.remap(at, self.inputs, mapping),
            Node::Linear { slope, intercept } if *slope == 1.0 => stack.map_column(at, |x| x + intercept),
            Node::Linear { slope, intercept } => stack.map_column(at, |x| x * slope + intercept),
            Node::Divide(factor) => stack.map_column(at, |x| x / factor),
            Node::Matrix { matrix, offset } => {
                let rows = matrix.chunks(self.inputs.max(1)).zip(offset);
                stack.replace_columns(at, self.inputs, self.outputs, |inputs, outputs| {
                    for ((row, offset), output) in rows.zip(outputs) {
                        output.fill(0.0);
                        for (factor, input) in row.iter().zip(inputs).filter(|(factor, _)| **factor != 0.0) {
                            output.iter_mut().zip(input).for_each(|(sum, x)| *sum += factor * x);
                        }
                        if *offset != 0.0 {
                            output.iter_mut().for_each(|sum| *sum += offset);
                        }
                    }
                });
            }
            Node::Constant(value) => stack.replace_columns(at, self.inputs, 1, |_, outputs| {
                outputs.iter_mut().for_each(|output| output.iter_mut().for_each(|place| *place = *value));
            }),
            Node::Polynomial(polynomial) => {
                stack.replace_columns(at, self.inputs, 1, |inputs, outputs| {
                    let variables = [inputs.first(), inputs.get(1)].map(|points| points.map_or(&[][..], Vec::as_slice));
                    if let Some(output) = outputs.first_mut() {
                        polynomial.evaluate_into(&variables, output);
                    }
                });
            }
            Node::Rotation([a, b, c]) => stack.map_points(at, |[x, y, z]: [f64; 3]| {
                let row = |row: &[f64; 3]| row[0] * x + row[1] * y + row[2] * z;
                [row(a), row(b), row(c)]
            }),
            Node::ToCartesian { .. } => stack.map_points(at, |[longitude, latitude]: [f64; 2]| {
                let ((sin_lon, cos_lon), (sin, cos)) = (longitude.to_radians().sin_cos(), latitude.to_radians().sin_cos());
                [cos * cos_lon, cos * sin_lon, sin]
            }),
            Node::ToSpherical { half } => {
                let half = *half;
                stack.map_points(at, move |vector| vector_to_spherical(vector, half));
            }
            Node::ToSphere(projection) => stack.map_points(at, |[x, y]: [f64; 2]| point_or_nan(projection.to_sphere(x, y))),
            Node::ToPlane { projection, longitudes } => {
                let longitudes = *longitudes;
                stack.map_points(at, |[phi, theta]: [f64; 2]| {
                    point_or_nan(projection.to_plane(longitudes.convert_longitude(phi), theta))
                });
            }
            Node::Arithmetic { operation, left, right } => {
                let end = at + self.inputs;
                stack.duplicate(at, self.inputs);
                right.run(stack, end, count);
                left.run(stack, at, count);
                stack.merge(at, self.outputs, *operation);
            }
            Node::Table(table) => stack.map_column(at, |x| table.value_at(x)),
            Node::Table2(table) => stack.map_points(at, |[x, y]: [f64; 2]| [table.value_at(x, y)]),
            Node::FixedInputs { transform, values } => {
                for (input, value) in values {
                    let mut column = stack.spare_column(count);
                    column.fill(*value);
                    stack.columns.insert((at + input).min(stack.columns.len()), column);
                }
                transform.run(stack, at, count);
            }
            Node::WithInverse { forward, .. } | Node::OneWay { forward, .. } | Node::Coupled { forward, .. } => {
                forward.run(stack, at, count);
            }
            Node::PerElement { shape, cases } => self.evaluate_per_element(shape, cases, stack, at, count),
            Node::LabelArray(labels) => stack.map_points(at, |[x, y]: [f64; 2]| [labels.label_at(x, y)]),
            Node::Selector(selector) => selector.run(stack, at, self.outputs),
            Node::Function(function) if self.inputs == 1 => stack.map_column(at, function.unary()),
            Node::Function(function) => {
                let function = function.binary();
                stack.map_points(at, |[x, y]: [f64; 2]| [function(x, y)]);
            }
            Node::Ravel(elements) => stack.replace_columns(at, self.inputs, 1, |inputs, outputs| {
                let value = |axis: usize, point: usize| {
                    inputs.get(axis).and_then(|column| column.get(point)).copied().unwrap_or(f64::NAN)
                };
                let places = outputs.iter_mut().flatten().enumerate();
                places.for_each(|(point, place)| *place = elements.ravel_index(|axis| value(axis, point)));
            }),
            Node::Unravel(elements) => stack.replace_columns(at, 1, self.outputs, |inputs, outputs| {
                let mut indices = vec![0.0; outputs.len()];
                for (point, number) in inputs.iter().flatten().enumerate() {
                    elements.unravel_index(*number, &mut indices);
                    for (column, index) in outputs.iter_mut().zip(&indices) {
                        if let Some(place) = column.get_mut(point) {
                            *place = *index;
                        }
                    }
                }
            }),
            Node::Distortion(tables) => stack.map_points(at, |[x, y]: [f64; 2]| evaluate_tables(tables, x, y)),
            Node::Coordinates(table) => {
                stack.map_rows(at, self.inputs, |point, out| table.evaluate_into(|axis| point[axis], out));
            }
            Node::CoordinateSearch(table) => {
                stack.map_rows(at, self.inputs, |point, out| table.search_into(|axis| point[axis], out));
            }
            Node::Tpv(terms) => {
                stack.map_points(at, |[x, y]: [f64; 2]| [evaluate_tpv(&terms[0], x, y), evaluate_tpv(&terms[1], y, x)]);
            }
        }
    }

    /// Runs for each point the transform that its indices name.
    fn evaluate_per_element(&self, shape: &[usize], cases: &[Self], stack: &mut ColumnStack, at: usize, count: usize) {
        let inner = self.inputs - shape.len();
        let mut results: Vec<Vec<f64>> = (0..self.outputs).map(|_| stack.spare_column(count)).collect();
        let mut single = ColumnStack::default();
        for point in 0..count {
            let value =
                |axis: usize| stack.columns.get(at + axis).and_then(|column| column.get(point)).copied().unwrap_or(f64::NAN);
            let index = shape.iter().enumerate().try_fold(0usize, |all, (axis, length)| {
                let place = value(inner + axis).round_ties_even();
                (place >= 0.0 && place < *length as f64).then(|| all * length + place as usize)
            });
            if let Some(case) = index.and_then(|index| cases.get(index)) {
                (0..inner).for_each(|axis| single.push(&[value(axis)]));
                case.run(&mut single, 0, 1);
            }
            for (output, result) in results.iter_mut().enumerate() {
                if let Some(place) = result.get_mut(point) {
                    *place = single.columns.get(output).and_then(|column| column.first()).copied().unwrap_or(f64::NAN);
                }
            }
            single.truncate(0);
        }
        let used: Vec<Vec<f64>> = stack.columns.splice(at..at + self.inputs, results).collect();
        stack.free_columns.extend(used);
    }

    /// Number of nodes, and how deep they are nested, for comparing with [`WcsLimits`].
    fn node_count_and_depth(&self) -> (usize, usize) {
        let below = |parts: &mut dyn Iterator<Item = &Self>| {
            parts.map(Self::node_count_and_depth).fold((1, 1), |(nodes, depth), (more, deep)| (nodes + more, depth.max(deep + 1)))
        };
        match &self.node {
            Node::Chain(parts) | Node::Parallel(parts) => below(&mut parts.iter()),
            Node::PerElement { cases, .. } => below(&mut cases.iter().take(1)),
            Node::Selector(selector) => below(&mut selector.cases.iter().map(|(_, case)| case).chain([&selector.key])),
            Node::Arithmetic { left, right, .. } => below(&mut [&**left, &**right].into_iter()),
            Node::WithInverse { forward, inverse, .. } => below(&mut [&**forward, &**inverse].into_iter()),
            Node::FixedInputs { transform, .. } => below(&mut [&**transform].into_iter()),
            Node::OneWay { forward, .. } | Node::Coupled { forward, .. } => below(&mut [&**forward].into_iter()),
            _ => (1, 1),
        }
    }

    /// Compares the transform with limits.
    ///
    /// # Errors
    /// Returns [`Error::Limit`] if it has too many nodes or axes, or if they are nested too deeply.
    pub fn check(&self, limits: &WcsLimits) -> Result<()> {
        let (nodes, depth) = self.node_count_and_depth();
        if nodes > limits.nodes {
            return Err(Error::Limit(format!("a transform of {nodes} nodes (at most {})", limits.nodes)));
        }
        if depth > limits.depth {
            return Err(Error::Limit(format!("a transform {depth} nodes deep (at most {})", limits.depth)));
        }
        if self.inputs.max(self.outputs) > limits.axes {
            return Err(Error::Limit(format!("a transform of {} axes (at most {})", self.inputs.max(self.outputs), limits.axes)));
        }
        Ok(())
    }
}

fn point_or_nan(found: Option<(f64, f64)>) -> [f64; 2] {
    found.map_or([f64::NAN; 2], |(x, y)| [x, y])
}

/// Longitude and latitude of a vector of any length, in degrees; the longitude of a pole is 0.
fn vector_to_spherical([x, y, z]: [f64; 3], half: bool) -> [f64; 2] {
    let square = x * x + y * y;
    // Squares of vectors that are neither tiny nor huge keep all digits.
    let across = if (1e-280..1e280).contains(&square) { square.sqrt() } else { x.hypot(y) };
    let longitude = if across == 0.0 { 0.0 } else { y.atan2(x).to_degrees() };
    let whole = if longitude < 0.0 && !half { longitude + 360.0 } else { longitude };
    [if whole >= 360.0 { 0.0 } else { whole }, z.atan2(across).to_degrees()]
}

/// The polynomial of TPV for one axis: `a` is the coordinate of that axis, `b` the other.
fn evaluate_tpv(terms: &[f64; 40], a: f64, b: f64) -> f64 {
    let r = a.hypot(b);
    let mut sum = terms[0] + terms[1] * a + terms[2] * b + terms[3] * r;
    let mut at = 4;
    for degree in 2..=7 {
        let mut term = |value: f64| {
            sum += terms.get(at).copied().unwrap_or(0.0) * value;
            at += 1;
        };
        (0..=degree).for_each(|power| term(a.powi(degree - power) * b.powi(power)));
        if degree % 2 == 1 {
            term(r.powi(degree));
        }
    }
    sum
}

/// The inverse of a square matrix with an offset, by Gauss and Jordan with pivots; None for a singular one.
fn invert_affine(matrix: &[f64], offset: &[f64]) -> Option<(Vec<f64>, Vec<f64>)> {
    let n = offset.len();
    if n == 0 || matrix.len() != n * n {
        return None;
    }
    if let ([a, b, c, d], [e, f]) = (matrix, offset) {
        let determinant = a * d - b * c;
        let is_regular = determinant != 0.0 && determinant.is_finite();
        let back = vec![d / determinant, -b / determinant, -c / determinant, a / determinant];
        let shift = vec![(b * f - d * e) / determinant, (c * e - a * f) / determinant];
        return is_regular.then_some((back, shift));
    }
    let mut rows: Vec<Vec<f64>> = matrix.chunks(n).map(<[f64]>::to_vec).collect();
    for (i, row) in rows.iter_mut().enumerate() {
        row.extend((0..n).map(|j| if i == j { 1.0 } else { 0.0 }));
    }
    for pivot in 0..n {
        let size = |row: &Vec<f64>| row.get(pivot).map_or(0.0, |x| x.abs());
        let best = (pivot..n).max_by(|a, b| size(&rows[*a]).total_cmp(&size(&rows[*b])))?;
        rows.swap(pivot, best);
        let scale = *rows.get(pivot)?.get(pivot)?;
        if scale == 0.0 || !scale.is_finite() {
            return None;
        }
        rows.get_mut(pivot)?.iter_mut().for_each(|x| *x /= scale);
        let chosen = rows.get(pivot)?.clone();
        for (i, row) in rows.iter_mut().enumerate().filter(|(i, _)| *i != pivot) {
            let _ = i;
            let factor = row.get(pivot).copied().unwrap_or(0.0);
            row.iter_mut().zip(&chosen).for_each(|(x, y)| *x -= factor * y);
        }
    }
    let back: Vec<f64> = rows.iter().flat_map(|row| row.iter().skip(n).copied()).collect();
    let shift = back.chunks(n).map(|row| -row.iter().zip(offset).map(|(x, y)| x * y).sum::<f64>()).collect();
    Some((back, shift))
}

/// Columns of numbers, one for each axis, and some to use again.
#[derive(Debug, Default)]
struct ColumnStack {
    columns: Vec<Vec<f64>>,
    free_columns: Vec<Vec<f64>>,
}

impl ColumnStack {
    fn spare_column(&mut self, count: usize) -> Vec<f64> {
        let mut column = self.free_columns.pop().unwrap_or_default();
        column.clear();
        column.resize(count, 0.0);
        column
    }

    fn push(&mut self, points: &[f64]) {
        let mut column = self.free_columns.pop().unwrap_or_default();
        column.clear();
        column.extend_from_slice(points);
        self.columns.push(column);
    }

    fn truncate(&mut self, at: usize) {
        while self.columns.len() > at {
            self.free_columns.extend(self.columns.pop());
        }
    }

    fn map_column(&mut self, at: usize, f: impl Fn(f64) -> f64) {
        if let Some(column) = self.columns.get_mut(at) {
            column.iter_mut().for_each(|x| *x = f(*x));
        }
    }

    /// Applies a function of some numbers to the columns from `at` on, point by point.
    fn map_points<const N: usize, const M: usize>(&mut self, at: usize, f: impl Fn([f64; N]) -> [f64; M]) {
        let count = self.columns.get(at).map_or(0, Vec::len);
        for _ in N..M {
            let column = self.spare_column(count);
            self.columns.insert((at + N).min(self.columns.len()), column);
        }
        let Some(columns) = self.columns.get_mut(at..at + N.max(M)) else { return };
        for point in 0..count {
            let mut inputs = [0.0; N];
            inputs.iter_mut().zip(&*columns).for_each(|(place, column)| *place = column.get(point).copied().unwrap_or(f64::NAN));
            for (column, value) in columns.iter_mut().zip(f(inputs)) {
                if let Some(place) = column.get_mut(point) {
                    *place = value;
                }
            }
        }
        for _ in M..N {
            let column = self.columns.remove(at + M);
            self.free_columns.push(column);
        }
    }

    /// Replaces the numbers of each point in some columns by as many others.
    fn map_rows(&mut self, at: usize, axes: usize, f: impl Fn(&[f64], &mut [f64])) {
        let (mut point, mut found) = (vec![0.0; axes], vec![0.0; axes]);
        for row in 0..self.columns.get(at).map_or(0, Vec::len) {
            let columns = self.columns.iter_mut().skip(at).take(axes);
            for (place, column) in point.iter_mut().zip(columns) {
                *place = column.get(row).copied().unwrap_or(f64::NAN);
            }
            f(&point, &mut found);
            let columns = self.columns.iter_mut().skip(at).take(axes);
            columns.zip(&found).for_each(|(column, value)| {
                if let Some(place) = column.get_mut(row) {
                    *place = *value;
                }
            });
        }
    }

    /// Computes columns from those from `at` on, and puts them in their place.
    fn replace_columns(&mut self, at: usize, inputs: usize, outputs: usize, f: impl FnOnce(&[Vec<f64>], &mut [Vec<f64>])) {
        let count = self.columns.get(at).map_or(0, Vec::len);
        let mut results: Vec<Vec<f64>> = (0..outputs).map(|_| self.spare_column(count)).collect();
        f(self.columns.get(at..at + inputs).unwrap_or(&[]), &mut results);
        let used: Vec<Vec<f64>> = self.columns.splice(at..at + inputs, results).collect();
        self.free_columns.extend(used);
    }

    fn remap(&mut self, at: usize, inputs: usize, mapping: &[usize]) {
        let count = self.columns.get(at).map_or(0, Vec::len);
        let mut results: Vec<Vec<f64>> = (0..mapping.len()).map(|_| self.spare_column(count)).collect();
        for (result, from) in results.iter_mut().zip(mapping) {
            if let Some(column) = self.columns.get(at + from) {
                result.copy_from_slice(column);
            }
        }
        let used: Vec<Vec<f64>> = self.columns.splice(at..at + inputs, results).collect();
        self.free_columns.extend(used);
    }

    /// Appends copies of columns.
    fn duplicate(&mut self, at: usize, count: usize) {
        for axis in 0..count {
            let points = self.columns.get(at).map_or(0, Vec::len);
            let mut copy = self.spare_column(points);
            if let Some(column) = self.columns.get(at + axis) {
                copy.copy_from_slice(column);
            }
            self.columns.insert((at + count + axis).min(self.columns.len()), copy);
        }
    }

    /// Combines columns with as many that follow them, which go.
    fn merge(&mut self, at: usize, count: usize, operation: ArithmeticOperation) {
        let right: Vec<Vec<f64>> = self.columns.drain(at + count..at + 2 * count).collect();
        for (left, right) in self.columns.iter_mut().skip(at).zip(&right) {
            left.iter_mut().zip(right).for_each(|(x, y)| {
                *x = match operation {
                    ArithmeticOperation::Add => *x + y,
                    ArithmeticOperation::Subtract => *x - y,
                    ArithmeticOperation::Multiply => *x * y,
                    ArithmeticOperation::Divide => *x / y,
                    ArithmeticOperation::Power => x.powf(*y),
                }
            });
        }
        self.free_columns.extend(right);
    }
}
