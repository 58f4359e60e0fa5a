//! Inputs that the outputs of a transform depend on.

use super::{Node, Transform};

impl Transform {
    /// Returns for each output whether it depends on each of the inputs.
    ///
    /// The structure of the transform decides, not its values: an output of a polynomial depends on all of its inputs.
    ///
    /// ```
    /// use trilith_wcs::Transform;
    ///
    /// let transform = Transform::parallel(vec![Transform::shift(1.0), Transform::scale(2.0)]);
    /// assert_eq!(transform.separability(), [[true, false], [false, true]]);
    /// ```
    pub fn separability(&self) -> Vec<Vec<bool>> {
        let inputs: Vec<u64> = (0..self.inputs).map(|axis| 1u64.checked_shl(axis as u32).unwrap_or(u64::MAX)).collect();
        let row = |found: &u64| inputs.iter().map(|input| found & input != 0).collect();
        self.propagate(&inputs).iter().map(row).collect()
    }

    /// The inputs that each output depends on, a bit each, if those of the inputs are known.
    fn propagate(&self, inputs: &[u64]) -> Vec<u64> {
        let union = |inputs: &[u64]| inputs.iter().fold(0, |all, one| all | one);
        match &self.node {
            Node::Identity | Node::Linear { .. } | Node::Divide(_) => inputs.to_vec(),
            Node::Chain(parts) => parts.iter().fold(inputs.to_vec(), |inputs, part| part.propagate(&inputs)),
            Node::Parallel(parts) => {
                let mut rest = inputs;
                let mut outputs = Vec::with_capacity(self.outputs);
                for part in parts {
                    let (own, others) = rest.split_at(part.inputs.min(rest.len()));
                    outputs.extend(part.propagate(own));
                    rest = others;
                }
                outputs
            }
            Node::Mapping(mapping) => mapping.iter().map(|from| inputs.get(*from).copied().unwrap_or(0)).collect(),
            Node::Matrix { matrix, .. } => matrix
                .chunks(self.inputs.max(1))
                .map(|row| row.iter().zip(inputs).filter(|(factor, _)| **factor != 0.0).fold(0, |all, (_, one)| all | one))
                .collect(),
            Node::Constant(_) => vec![0],
            Node::Arithmetic { left, right, .. } => {
                left.propagate(inputs).iter().zip(right.propagate(inputs)).map(|(left, right)| left | right).collect()
            }
            Node::FixedInputs { transform, values } => {
                let mut inner = inputs.to_vec();
                values.iter().for_each(|(input, _)| inner.insert((*input).min(inner.len()), 0));
                transform.propagate(&inner)
            }
            Node::WithInverse { forward, .. } | Node::OneWay { forward, .. } | Node::Coupled { forward, .. } => {
                forward.propagate(inputs)
            }
            _ => vec![union(inputs); self.outputs],
        }
    }
}
