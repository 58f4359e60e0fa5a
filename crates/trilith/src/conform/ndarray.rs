//! The sentence that an unreadable ndarray departs from.
//!
//! ASDF 0.1.0dev, 4.1.3: the problem is found from the node itself.

use super::rule::Check;
use crate::asdf::AsdfFile;
use crate::tree::Node;

/// The rule that the node of an ndarray of `file` breaks.
pub(super) fn violated_check(file: &AsdfFile, node: Node<'_>) -> Check {
    let [source, data, shape, strides, mask] = node.get_each(["source", "data", "shape", "strides", "mask"]);
    let is_open = |dim: Node<'_>| dim.as_str().is_some_and(|text| text == "*");
    if shape.is_some_and(|shape| shape.items().skip(1).any(is_open)) {
        return Check::OpenShape;
    }
    if strides.zip(shape).is_some_and(|(strides, shape)| strides.len() != shape.len()) {
        return Check::StrideLength;
    }
    if let Some(number) = source.and_then(|source| source.as_i64())
        && file.sections().block(number).is_err()
    {
        return if number < 0 { Check::SourceNegative } else { Check::SourceNumber };
    }
    if source.is_some_and(|source| source.as_str().is_some()) {
        return Check::SourceUri;
    }
    // If the array can be read without its mask, only the mask is at fault.
    if mask.is_some() && file.unmasked_array(node).is_ok() {
        return Check::MaskShape;
    }
    if data.is_some() { Check::InlineMatch } else { Check::ReadableArrays }
}
