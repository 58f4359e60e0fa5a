//! A transform in two parts: one that is inverted by iteration, and one with an exact inverse.

use super::{Accuracy, Node, Transform};

/// The inverse of a transform in two steps.
///
/// Distortions come first, and what follows them, such as a projection, costs most. An iteration over the distortions alone needs no
/// trigonometry.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SplitInverse {
    /// The part that has no exact inverse, and an inverse near enough to start from; `None` if all has one.
    pub(crate) head: Option<(Transform, Transform)>,
    /// The inverse of the rest.
    pub(crate) tail_inverse: Transform,
}

impl Transform {
    /// Returns `true` if a formula or a table gives the inverse of the transform.
    fn is_analytic(&self) -> bool {
        match &self.node {
            Node::Identity
            | Node::Linear { .. }
            | Node::Divide(_)
            | Node::Matrix { .. }
            | Node::Rotation(_)
            | Node::ToCartesian { .. }
            | Node::ToSpherical { .. }
            | Node::ToSphere(_)
            | Node::ToPlane { .. } => true,
            Node::Mapping(_) => self.inputs == self.outputs,
            Node::Table(table) => table.inverse().is_some(),
            // The inverse of a table of one axis is exact.
            Node::WithInverse { forward, accuracy: Accuracy::Full, .. } => matches!(forward.node, Node::Coordinates(_)),
            Node::Chain(parts) | Node::Parallel(parts) => parts.iter().all(Self::is_analytic),
            _ => false,
        }
    }

    /// Returns the inverse in two steps; `None` if the transform does not end with a part that has an exact inverse.
    pub(crate) fn split_inverse(&self) -> Option<SplitInverse> {
        let parts = match &self.node {
            Node::Chain(parts) => parts.clone(),
            _ => vec![self.clone()],
        };
        let mut start = parts.iter().rposition(|part| !part.is_analytic()).map_or(0, |last| last + 1);
        // Both parts have as many inputs as outputs.
        while parts.get(start)?.inputs != self.inputs {
            start += 1;
        }
        let (head, tail) = parts.split_at(start);
        let tail_inverse = Self::chain(tail.to_vec()).ok()?.invert(Accuracy::Full).ok()?;
        let head = match head {
            [] => None,
            head => {
                let forward = Self::chain(head.to_vec()).ok()?;
                let rough = forward.approximate_inverse().ok()?;
                Some((forward, rough))
            }
        };
        ((tail_inverse.inputs, tail_inverse.outputs) == (self.outputs, self.inputs))
            .then_some(SplitInverse { head, tail_inverse })
    }
}
